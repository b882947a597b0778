/* SPDX-License-Identifier: Apache-2.0 */
#include <davit/timer.h>
#include <stdlib.h>

#include "src/base/allocate.h"
#include "src/base/check.h"
#include "src/base/ending.h"
#include "src/base/fork.h"
#include "src/runtime/lane.h"

struct davit_timer {
  dvt_record *start, *stop;
  int process;
};

davit_status davit_timer_create(davit_timer **timer) {
  DVT_TRY(dvt_check_pointer("timer", timer));
  davit_timer *made = dvt_allocate(1, sizeof *made);
  if (!made)
    return DAVIT_OUT_OF_HOST_MEMORY;
  made->process = dvt_process();
  *timer = made;
  return DAVIT_SUCCESS;
}

davit_status davit_timer_destroy(davit_timer *timer) {
  if (!timer || timer->process != dvt_process())
    return DAVIT_SUCCESS;
  dvt_record_drop(timer->start);
  dvt_record_drop(timer->stop);
  free(timer);
  return DAVIT_SUCCESS;
}

static davit_status check(const davit_timer *timer) {
  DVT_TRY(dvt_check_pointer("timer", timer));
  return dvt_check_process("timer", timer->process);
}

static davit_status record(davit_queue *queue, dvt_record **newest) {
  dvt_lane *lane = dvt_queue_lane(queue);
  if (!lane)
    return DAVIT_INVALID_ARGUMENT;
  dvt_record *made = NULL;
  DVT_TRY(dvt_lane_record(lane, true, &made));
  dvt_record_drop(*newest);
  *newest = made;
  return DAVIT_SUCCESS;
}

davit_status davit_timer_start(davit_timer *timer, davit_queue *queue) {
  DVT_TRY(check(timer));
  DVT_TRY(record(queue, &timer->start));
  dvt_record_drop(timer->stop);
  timer->stop = NULL;
  return DAVIT_SUCCESS;
}

davit_status davit_timer_stop(davit_timer *timer, davit_queue *queue) {
  DVT_TRY(check(timer));
  return record(queue, &timer->stop);
}

static davit_status elapsed_between(dvt_device_event *start, dvt_device_event *stop, double *milliseconds) {
  DVT_INSIDE;
  return dvt_device_event_elapsed(start, stop, milliseconds);
}

davit_status davit_timer_elapsed(davit_timer *timer, double *milliseconds) {
  DVT_TRY(check(timer));
  DVT_TRY(dvt_check_pointer("milliseconds", milliseconds));
  if (!timer->start) {
    *milliseconds = 0;
    return DAVIT_SUCCESS;
  }
  if (!timer->stop)
    return davit_fail(DAVIT_INVALID_STATE, "the timer was started and not stopped");
  const dvt_wait wait = dvt_wait_begin("davit_timer_elapsed");
  davit_status status = dvt_record_wait(timer->start);
  if (status == DAVIT_SUCCESS)
    status = dvt_record_wait(timer->stop);
  DVT_TRY(dvt_wait_end(&wait, status));
  if (timer->start->event && timer->stop->event && timer->start->device == timer->stop->device)
    return elapsed_between(timer->start->event, timer->stop->event, milliseconds);
  *milliseconds = 1e-6 * (double)(timer->stop->time_ns - timer->start->time_ns);
  return DAVIT_SUCCESS;
}
