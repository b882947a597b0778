/* SPDX-License-Identifier: Apache-2.0 */
/* When events of device streams were reached, on the host's clock.
 *
 * An anchor is an event whose moment on the host's clock is known: it is placed in an empty stream and asked
 * for until it is reached, so its moment lies within one round trip, and is taken to be the middle. The
 * device measures how long before or after it other events were reached. The caller has a lock. */
#ifndef DAVIT_SRC_RUNTIME_TRACE_CLOCK_H
#define DAVIT_SRC_RUNTIME_TRACE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "offload/runtime/stream.h"

typedef struct dvt_anchor dvt_anchor;

/* An anchor of the stream's device, held; NULL if there is none to be had. *error_ns is half the round trip
 * of a new one, taken at *host_ns, and 0 of one that was there: an anchor serves for 10 s. */
dvt_anchor *dvt_anchor_of(dvt_stream *stream, int64_t *host_ns, int64_t *error_ns);
void dvt_anchor_drop(dvt_anchor *anchor); /* NULL is allowed */

/* When the event, which has been reached, was; false if the device does not say. */
bool dvt_anchor_time(const dvt_anchor *anchor, dvt_device_event *event, int64_t *ns);

/* Gives back the streams. */
void dvt_anchors_end(void);

/* In a child after fork(): they are the parent's. */
void dvt_anchors_forget(void);

#endif
