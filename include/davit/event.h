/* SPDX-License-Identifier: Apache-2.0 */
/* Events: points in the work of a queue. Other queues and the host can wait for them.
 *
 * An event belongs to no device. Each recording starts a new generation of the event. A wait refers to the
 * generation that was current when the wait was enqueued, and work recorded earlier never completes a later
 * generation. The states:
 *
 *   UNRECORDED  never recorded, or reset
 *   RECORDED    recorded; the work before it has not finished
 *   COMPLETE    the work has finished
 *   CHECKED     the work has finished, and the host has seen it (check or synchronize)
 *   ERROR       the work failed
 *
 * Thread safety: any thread may call any function on any event, and may destroy an event while queues still
 * wait for it. */
#ifndef DAVIT_EVENT_H
#define DAVIT_EVENT_H

#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum davit_event_state {
  DAVIT_EVENT_UNRECORDED,
  DAVIT_EVENT_RECORDED,
  DAVIT_EVENT_COMPLETE,
  DAVIT_EVENT_CHECKED,
  DAVIT_EVENT_ERROR
} davit_event_state;

DAVIT_API davit_status davit_event_create(davit_event **event);

/* Frees the event and does not wait for it. NULL is allowed. */
DAVIT_API davit_status davit_event_destroy(davit_event *event);

/* Records the event after all work enqueued so far on the current sub-queue of `queue`. With queue NULL the
 * event becomes CHECKED at once. DAVIT_INVALID_STATE if the event is still RECORDED on another device. */
DAVIT_API davit_status davit_event_record(davit_event *event, davit_queue *queue);

/* Writes the current state. Never waits. */
DAVIT_API davit_status davit_event_query(davit_event *event, davit_event_state *state);

/* Waits while the event is RECORDED. Then the event is CHECKED, or ERROR, and the status of the work is
 * returned. Returns at once if the event is UNRECORDED. */
DAVIT_API davit_status davit_event_synchronize(davit_event *event);

/* Changes COMPLETE to CHECKED. DAVIT_INVALID_STATE in every other state. */
DAVIT_API davit_status davit_event_check(davit_event *event);

/* Changes any state to UNRECORDED. davit_event_reset() first waits for the recorded work,
 * davit_event_soft_reset() does not. */
DAVIT_API davit_status davit_event_reset(davit_event *event);
DAVIT_API davit_status davit_event_soft_reset(davit_event *event);

/* "unrecorded", "recorded", "complete", "checked" or "error"; "unknown" for any other number. */
DAVIT_API const char *davit_event_state_string(davit_event_state state);

#ifdef __cplusplus
}
#endif
#endif
