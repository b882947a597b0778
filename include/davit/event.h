/* Events: points in a queue's work that other queues, and the host, can wait for.
 *
 * An event belongs to no device. Recording it starts a new generation: waits enqueued before keep the old
 * one, and the end of old work never completes a later record. States:
 *
 *   UNRECORDED -> record -> RECORDED -> (the work is reached) -> COMPLETE -> check or synchronize -> CHECKED
 *   RECORDED -> (the work failed) -> ERROR                    reset, soft_reset: any -> UNRECORDED
 *
 * Thread safety: any thread may call any function on any event; an event may be destroyed while queues
 * still wait for it. */
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

/* Frees the event without waiting. NULL is allowed. */
DAVIT_API davit_status davit_event_destroy(davit_event *event);

/* Records the event after all work enqueued so far on the queue's current sub-queue. A NULL queue makes the event
 * CHECKED at once. An event that is still RECORDED on another device is DAVIT_INVALID_STATE. */
DAVIT_API davit_status davit_event_record(davit_event *event, davit_queue *queue);

/* The state now; never waits. */
DAVIT_API davit_status davit_event_query(davit_event *event, davit_event_state *state);

/* Waits while the event is RECORDED; then it is CHECKED, or ERROR, and the work's status is returned.
 * An UNRECORDED event returns at once. */
DAVIT_API davit_status davit_event_synchronize(davit_event *event);

/* COMPLETE becomes CHECKED; DAVIT_INVALID_STATE in every other state. */
DAVIT_API davit_status davit_event_check(davit_event *event);

/* Back to UNRECORDED: reset waits for the recorded work first, soft_reset does not. */
DAVIT_API davit_status davit_event_reset(davit_event *event);
DAVIT_API davit_status davit_event_soft_reset(davit_event *event);

/* "unrecorded", "recorded", "complete", "checked", "error"; "unknown" for a foreign number. */
DAVIT_API const char *davit_event_state_string(davit_event_state state);

#ifdef __cplusplus
}
#endif
#endif
