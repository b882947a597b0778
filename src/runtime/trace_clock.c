/* SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/trace_clock.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/base/clock.h"

enum { ROUND_TRIPS = 8, MANY = 100 };

struct dvt_anchor {
  int references;
  dvt_device_event *event;
  int64_t host_ns;
};

static struct device {
  dvt_stream *stream; /* for round trips */
  dvt_anchor *newest;
} devices[DVT_MAX_ORDINALS];

void dvt_anchor_drop(dvt_anchor *anchor) {
  if (!anchor || --anchor->references > 0)
    return;
  dvt_device_event_free(anchor->event);
  free(anchor);
}

/* NULL if the event is not reached before patience_ns. */
static dvt_anchor *round_trip(dvt_stream *stream, int64_t patience_ns, int64_t *error_ns) {
  dvt_anchor *made = dvt_allocate(1, sizeof *made);
  bool reached = false;
  if (!made)
    return NULL;
  made->references = 1;
  const int64_t before = dvt_now_ns();
  int64_t after = before;
  davit_status status = dvt_stream_record_timed(stream, &made->event);
  for (int asked = 0; status == DAVIT_SUCCESS && !reached && after < patience_ns; asked++) {
    if (asked > MANY)
      sched_yield();
    status = dvt_device_event_query(made->event, &reached);
    after = dvt_now_ns();
  }
  if (!reached) {
    dvt_anchor_drop(made);
    return NULL;
  }
  made->host_ns = before + (after - before) / 2;
  *error_ns = 1 + (after - before) / 2;
  return made;
}

/* The best of a few round trips; of fewer if they take long. */
static dvt_anchor *new_anchor(dvt_stream *stream, int64_t *error_ns) {
  const int64_t begin = dvt_now_ns(), enough_ns = begin + 10000000, patience_ns = begin + 1000000000;
  dvt_anchor *best = NULL;
  *error_ns = 0;
  for (int i = 0; i < ROUND_TRIPS && dvt_now_ns() < (best ? enough_ns : patience_ns); i++) {
    int64_t one_ns = 0;
    dvt_anchor *one = round_trip(stream, best ? enough_ns : patience_ns, &one_ns);
    if (!one || (best && one_ns >= *error_ns)) {
      dvt_anchor_drop(one);
      continue;
    }
    dvt_anchor_drop(best);
    best = one;
    *error_ns = one_ns;
  }
  return best;
}

/* CUDA gives the time between two events in single precision, so an anchor is replaced before that loses a
 * microsecond. */
dvt_anchor *dvt_anchor_of(dvt_stream *stream, int64_t *host_ns, int64_t *error_ns) {
  const int64_t longest_ns = 10000000000;
  struct device *d = &devices[dvt_stream_ordinal(stream)];
  *error_ns = 0;
  if (!d->newest || dvt_now_ns() - d->newest->host_ns > longest_ns) {
    if (!d->stream &&
        dvt_stream_acquire(dvt_stream_device(stream), DVT_STREAM_MIXED, &d->stream) != DAVIT_SUCCESS)
      return NULL;
    dvt_anchor *made = new_anchor(d->stream, error_ns);
    if (made) {
      dvt_anchor_drop(d->newest);
      d->newest = made;
    }
  }
  if (!d->newest)
    return NULL;
  *host_ns = d->newest->host_ns;
  d->newest->references++;
  return d->newest;
}

bool dvt_anchor_time(const dvt_anchor *anchor, dvt_device_event *event, int64_t *ns) {
  double milliseconds = 0;
  if (dvt_device_event_elapsed(anchor->event, event, &milliseconds) != DAVIT_SUCCESS)
    return false;
  *ns = anchor->host_ns + (int64_t)(1e6 * milliseconds);
  return true;
}

void dvt_anchors_end(void) {
  for (int i = 0; i < DVT_MAX_ORDINALS; i++) {
    dvt_anchor_drop(devices[i].newest);
    if (devices[i].stream)
      dvt_stream_release(devices[i].stream);
  }
  memset(devices, 0, sizeof devices);
}

void dvt_anchors_forget(void) {
  memset(devices, 0, sizeof devices);
}
