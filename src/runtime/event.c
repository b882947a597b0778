/* SPDX-License-Identifier: Apache-2.0 */
/* Events: a handle on the newest record, under a lock of its own. */
#include <davit/event.h>

#include <stdlib.h>

#include "src/base/allocate.h"
#include "src/base/check.h"
#include "src/base/ending.h"
#include "src/base/fork.h"
#include "src/runtime/lane.h"
#include "src/runtime/statistics.h"

struct davit_event {
  pthread_mutex_t lock;
  dvt_record *record; /* NULL: UNRECORDED, or CHECKED if checked */
  bool checked;
  int process;
};

davit_status davit_event_create(davit_event **event) {
  DVT_TRY(dvt_check_pointer("event", event));
  davit_event *made = dvt_allocate(1, sizeof *made);
  if (!made)
    return DAVIT_OUT_OF_HOST_MEMORY;
  pthread_mutex_init(&made->lock, NULL);
  made->process = dvt_process();
  *event = made;
  return DAVIT_SUCCESS;
}

davit_status davit_event_destroy(davit_event *event) {
  if (!event || event->process != dvt_process())
    return DAVIT_SUCCESS;
  dvt_record_drop(event->record);
  pthread_mutex_destroy(&event->lock);
  free(event);
  return DAVIT_SUCCESS;
}

/* The event's record, held for the caller; NULL if there is nothing to wait for. */
static dvt_record *record_of(davit_event *event, bool *unrecorded) {
  pthread_mutex_lock(&event->lock);
  *unrecorded = !event->record && !event->checked;
  dvt_record *record = event->record && !event->checked ? dvt_record_hold(event->record) : NULL;
  pthread_mutex_unlock(&event->lock);
  return record;
}

/* The record that somebody asks to wait for. To wait for what nobody has recorded is allowed, and probably a
 * mistake: it is counted, and traces have a warning. `lane` waits; NULL: the calling thread does. */
static dvt_record *awaited(davit_event *event, dvt_lane *lane) {
  bool unrecorded;
  dvt_record *record = record_of(event, &unrecorded);
  if (unrecorded)
    dvt_count_add(DVT_COUNT_UNRECORDED_WAITS, 1);
  if (unrecorded && dvt_tracing())
    dvt_trace_warn(lane ? &lane->timeline : NULL, "wait for an unrecorded event");
  return record;
}

static davit_status check(const davit_event *event) {
  DVT_TRY(dvt_check_pointer("event", event));
  return dvt_check_process("event", event->process);
}

/* Lets the old record go; its work and its waiters keep it as long as they need. */
static void replace(davit_event *event, dvt_record *record, bool checked) {
  dvt_record_drop(event->record);
  event->record = record;
  event->checked = checked;
}

static davit_event_state state_of(davit_event *event) {
  if (event->checked)
    return DAVIT_EVENT_CHECKED;
  if (!event->record)
    return DAVIT_EVENT_UNRECORDED;
  switch (dvt_record_query(event->record)) {
  case DVT_RECORD_DONE:
    return DAVIT_EVENT_COMPLETE;
  case DVT_RECORD_FAILED:
    return DAVIT_EVENT_ERROR;
  default:
    return DAVIT_EVENT_RECORDED;
  }
}

davit_status davit_event_record(davit_event *event, davit_queue *queue) {
  DVT_TRY(check(event));
  dvt_lane *lane = queue ? dvt_queue_lane(queue) : NULL;
  davit_status status = DAVIT_SUCCESS;
  if (queue && !lane)
    return DAVIT_INVALID_ARGUMENT;
  DVT_INSIDE_IF(lane &&
                dvt_lane_is_gpu(lane)); /* the record may be placed at once, and nobody enters with a lock */
  pthread_mutex_lock(&event->lock);
  if (!lane) {
    replace(event, NULL, true);
  } else if (state_of(event) == DAVIT_EVENT_RECORDED && event->record->device != lane->device) {
    status = davit_fail(DAVIT_INVALID_STATE, "the event is still recorded on device %d; reset it first",
                        event->record->device);
  } else {
    dvt_record *record = NULL;
    status = dvt_lane_record(lane, false, &record);
    if (status == DAVIT_SUCCESS)
      replace(event, record, false);
  }
  pthread_mutex_unlock(&event->lock);
  return status;
}

davit_status davit_event_query(davit_event *event, davit_event_state *state) {
  DVT_TRY(check(event));
  DVT_TRY(dvt_check_pointer("state", state));
  pthread_mutex_lock(&event->lock);
  *state = state_of(event);
  pthread_mutex_unlock(&event->lock);
  return DAVIT_SUCCESS;
}

/* Waits for `record`, that of the event, and drops it. */
static davit_status finish(davit_event *event, dvt_record *record) {
  const dvt_wait wait = dvt_wait_begin("davit_event_synchronize");
  davit_status status = dvt_record_wait(record);
  pthread_mutex_lock(&event->lock);
  if (event->record == record && status == DAVIT_SUCCESS)
    event->checked = true;
  pthread_mutex_unlock(&event->lock);
  dvt_record_drop(record);
  return dvt_wait_end(&wait, status);
}

davit_status davit_event_synchronize(davit_event *event) {
  DVT_TRY(check(event));
  DVT_TRY(dvt_may_wait());
  dvt_record *record = awaited(event, NULL);
  return record ? finish(event, record) : DAVIT_SUCCESS;
}

davit_status davit_event_check(davit_event *event) {
  DVT_TRY(check(event));
  pthread_mutex_lock(&event->lock);
  davit_event_state state = state_of(event);
  if (state == DAVIT_EVENT_COMPLETE)
    event->checked = true;
  pthread_mutex_unlock(&event->lock);
  if (state == DAVIT_EVENT_COMPLETE)
    return DAVIT_SUCCESS;
  return davit_fail(DAVIT_INVALID_STATE, "only a complete event can be checked, this one is %s",
                    davit_event_state_string(state));
}

davit_status davit_event_soft_reset(davit_event *event) {
  DVT_TRY(check(event));
  pthread_mutex_lock(&event->lock);
  replace(event, NULL, false);
  pthread_mutex_unlock(&event->lock);
  return DAVIT_SUCCESS;
}

davit_status davit_event_reset(davit_event *event) {
  DVT_TRY(check(event));
  DVT_TRY(dvt_may_wait());
  bool unrecorded;
  dvt_record *record = record_of(event, &unrecorded);
  davit_status status = record ? finish(event, record) : DAVIT_SUCCESS;
  davit_event_soft_reset(event);
  return status;
}

const char *davit_event_state_string(davit_event_state state) {
  static const char *const names[] = {"unrecorded", "recorded", "complete", "checked", "error"};
  return (unsigned)state < sizeof names / sizeof *names ? names[state] : "unknown";
}

davit_status davit_queue_wait(davit_queue *queue, davit_event *event) {
  dvt_lane *lane = dvt_queue_lane(queue);
  if (!lane)
    return DAVIT_INVALID_ARGUMENT;
  DVT_TRY(check(event));
  dvt_record *record = awaited(event, lane);
  if (!record)
    return DAVIT_SUCCESS;
  davit_status status = dvt_lane_wait(lane, record);
  dvt_record_drop(record);
  return status;
}
