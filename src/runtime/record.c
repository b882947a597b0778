/* SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/record.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/cancel.h"
#include "src/base/ending.h"
#include "src/base/fork.h"
#include "src/base/order.h"
#include "src/base/thread.h"
#include "src/runtime/statistics.h"

/* Waiting threads sleep on one of a few condition variables chosen by the record's address: records come
 * by the million, and a condition variable in each would cost more than the record. */
enum {
  STRIPES = 64,
  SPIN_NS =
      200000, /* a thread yields for so long before it sleeps, as waking it takes longer than short work */
  POLL_NS = 30000,    /* asks a device without pause for so long, */
  YIELD_NS = 2000000, /* then yields between two questions, as short work is over before a sleep, */
  NAP_NS = 20000,     /* then sleeps: a 200th of the time waited so far, within limits */
  NAP_SHARE = 200,
  NAP_MAXIMUM_NS = 200000
};

static struct stripe {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  atomic_int waiters;
} stripes[STRIPES];

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static dvt_record *pool;

/* Enough for what is in the graph at a time, but for thousands of busy queues: then a record has its own. */
enum { POOLED_ADDRESSES = 4096 };
static dvt_addresses pooled[POOLED_ADDRESSES];
static int used, returned[POOLED_ADDRESSES], returned_count; /* of them; under pool_lock */

static void initialise(void) {
  for (int i = 0; i < STRIPES; i++) {
    pthread_mutex_init(&stripes[i].lock, NULL);
    pthread_cond_init(&stripes[i].changed, NULL);
    atomic_store(&stripes[i].waiters, 0);
  }
}

__attribute__((constructor)) static void hold_at_fork(void) {
  static const dvt_fork_part part = {.lock = &pool_lock, .child = initialise};
  dvt_on_fork(DVT_FORK_RECORDS, &part);
}

static struct stripe *stripe_of(const dvt_record *record) {
  return &stripes[((uintptr_t)record / sizeof(dvt_record)) % STRIPES];
}

dvt_record *dvt_record_new(int device, bool on_stream, bool timed) {
  pthread_once(&once, initialise);
  pthread_mutex_lock(&pool_lock);
  dvt_record *record = pool;
  if (record)
    pool = record->next_free;
  pthread_mutex_unlock(&pool_lock);
  if (!record) {
    record = dvt_allocate(1, sizeof *record);
    if (!record)
      return NULL;
  }
  atomic_store(&record->references, 1);
  atomic_store(&record->state, DVT_RECORD_PENDING);
  record->device = device;
  record->on_stream = on_stream;
  record->timed = timed;
  record->event = NULL;
  record->traced.trace = 0;
  record->traced.ns = 0;
  record->addresses = NULL;
  record->time_ns = 0;
  record->error.status = DAVIT_SUCCESS;
  record->has_callback = record->generated = record->certain = false;
  record->parked = NULL;
  record->failed_pending = false;
  return record;
}

dvt_record *dvt_record_hold(dvt_record *record) {
  atomic_fetch_add(&record->references, 1);
  return record;
}

void dvt_record_drop(dvt_record *record) {
  if (!record || atomic_fetch_sub(&record->references, 1) != 1)
    return;
  dvt_device_event_free(record->event);
  record->event = NULL;
  pthread_mutex_lock(&pool_lock);
  if (record->addresses && record->addresses != &record->own)
    returned[returned_count++] = (int)(record->addresses - pooled);
  record->next_free = pool;
  pool = record;
  pthread_mutex_unlock(&pool_lock);
}

dvt_addresses *dvt_record_addresses(dvt_record *record) {
  if (record->addresses)
    return record->addresses;
  pthread_mutex_lock(&pool_lock);
  if (returned_count > 0)
    record->addresses = &pooled[returned[--returned_count]];
  else
    record->addresses = used < POOLED_ADDRESSES ? &pooled[used++] : &record->own;
  pthread_mutex_unlock(&pool_lock);
  return record->addresses;
}

void dvt_records_trim(void) {
  pthread_mutex_lock(&pool_lock);
  while (pool) {
    dvt_record *record = pool;
    pool = record->next_free;
    free(record);
  }
  pthread_mutex_unlock(&pool_lock);
}

static void wake(dvt_record *record) {
  struct stripe *stripe = stripe_of(record);
  if (atomic_load(&stripe->waiters) == 0)
    return;
  pthread_mutex_lock(&stripe->lock);
  pthread_cond_broadcast(&stripe->changed);
  pthread_mutex_unlock(&stripe->lock);
}

static void reached(void *argument, davit_status status) {
  dvt_record *record = argument;
  dvt_record_finish(record, status, davit_last_error());
  dvt_record_drop(record);
}

void dvt_record_fail_pending(dvt_record *record, davit_status status, const char *message) {
  record->failed_pending = true;
  record->error.status = status;
  snprintf(record->error.message, sizeof record->error.message, "%s", message);
}

/* The calls that ask a device. */
static davit_status query(dvt_device_event *event, bool *is_reached) {
  dvt_count_add(DVT_COUNT_BACKEND_CALLS, 1);
  DVT_INSIDE;
  return dvt_device_event_query(event, is_reached);
}

static davit_status notify(dvt_record *record) {
  dvt_count_add(DVT_COUNT_BACKEND_CALLS, 1);
  DVT_INSIDE;
  return dvt_device_event_notify(record->event, reached, record);
}

void dvt_record_issue(dvt_record *record, dvt_device_event *event) {
  record->event = event;
  if (record->timed) {
    dvt_record_hold(record);
    if (notify(record) != DAVIT_SUCCESS)
      dvt_record_drop(record); /* then the time is read when somebody asks */
  }
  int expected = DVT_RECORD_PENDING;
  atomic_compare_exchange_strong(&record->state, &expected, DVT_RECORD_ISSUED);
  wake(record);
}

void dvt_record_finish(dvt_record *record, davit_status status, const char *message) {
  /* Of several finishers (a query, a notification) one wins the right to write. */
  enum { FINISHING = 100 };
  dvt_order_before(record);
  int state = atomic_load(&record->state);
  do {
    if (state != DVT_RECORD_PENDING && state != DVT_RECORD_ISSUED)
      return;
  } while (!atomic_compare_exchange_weak(&record->state, &state, FINISHING));
  record->time_ns = dvt_now_ns();
  if (!record->failed_pending) {
    record->error.status = status;
    if (status != DAVIT_SUCCESS)
      snprintf(record->error.message, sizeof record->error.message, "%s", message);
  }
  atomic_store(&record->state, record->error.status == DAVIT_SUCCESS ? DVT_RECORD_DONE : DVT_RECORD_FAILED);
  wake(record);
}

dvt_record_state dvt_record_known(const dvt_record *record) {
  const int state = atomic_load(&record->state);
  if (state == DVT_RECORD_DONE || state == DVT_RECORD_FAILED)
    dvt_order_after(record);
  /* Between the two writes of dvt_record_finish() the record still counts as on its way. */
  return state > DVT_RECORD_FAILED ? DVT_RECORD_ISSUED : (dvt_record_state)state;
}

dvt_record_state dvt_record_query(dvt_record *record) {
  if (atomic_load(&record->state) == DVT_RECORD_ISSUED) {
    bool is_reached = false;
    davit_status status = query(record->event, &is_reached);
    if (is_reached || status != DAVIT_SUCCESS)
      dvt_record_finish(record, status, davit_last_error());
  }
  return dvt_record_known(record);
}

static bool issued_or_over(dvt_record *record) {
  return atomic_load(&record->state) != DVT_RECORD_PENDING;
}

/* Sleeps until the condition holds. A waiter is counted before it looks at the state and a finisher looks at
 * the count after it wrote the state, so one of the two always sees the other.
 *
 * A region on a GPU may wait for work that does not end: that is outside (ending.h). When the process ends, most work
 * does not: then nobody waits longer than until the deadline. */
static void sleep_until(dvt_record *record, bool (*condition)(dvt_record *)) {
  const int64_t until = dvt_now_ns() + SPIN_NS;
  do {
    if (condition(record))
      return;
    sched_yield();
  } while (dvt_now_ns() < until);
  const int depth = dvt_ending_step_out();
  struct stripe *stripe = stripe_of(record);
  pthread_mutex_lock(&stripe->lock);
  atomic_fetch_add(&stripe->waiters, 1);
  for (bool more = true; more && !condition(record);)
    more = dvt_ending_is_here()
               ? pthread_cond_timedwait(&stripe->changed, &stripe->lock, dvt_ending_deadline()) == 0
               : pthread_cond_wait(&stripe->changed, &stripe->lock) == 0;
  atomic_fetch_sub(&stripe->waiters, 1);
  pthread_mutex_unlock(&stripe->lock);
  dvt_ending_step_in(depth);
}

void dvt_record_wait_issued(dvt_record *record) {
  DVT_UNCANCELLED;
  sleep_until(record, issued_or_over);
}

/* A callback of CUDA's would tell, but comes milliseconds late while copies are queued behind the event (an H100 with
 * CUDA 13): the device is asked again and again, at intervals that make the wait little longer than it has to be. */
void dvt_poll(bool (*is_over)(void *argument), void *argument) {
  const int64_t begin = dvt_now_ns();
  while (!is_over(argument)) {
    const int64_t waited = dvt_now_ns() - begin;
    if (waited < POLL_NS)
      continue;
    if (waited < YIELD_NS) {
      sched_yield();
      continue;
    }
    const int64_t nap = dvt_at_most(dvt_at_least(waited / NAP_SHARE, NAP_NS), NAP_MAXIMUM_NS);
    const int depth = dvt_ending_step_out();
    dvt_nap(nap);
    dvt_ending_step_in(depth);
  }
}

static bool is_reached(void *record) {
  return dvt_record_query(record) != DVT_RECORD_ISSUED;
}

davit_status dvt_record_wait(dvt_record *record) {
  DVT_UNCANCELLED;
  dvt_record_wait_issued(record);
  if (atomic_load(&record->state) == DVT_RECORD_ISSUED)
    dvt_poll(is_reached, record);
  sleep_until(record, dvt_record_is_over);
  if (!dvt_record_is_over(record))
    return davit_fail(DAVIT_WORK_FAILED, "the process ends, and the work that is waited for was abandoned");
  dvt_order_after(record);
  if (record->error.status != DAVIT_SUCCESS)
    return davit_fail(record->error.status, "%s", record->error.message);
  return DAVIT_SUCCESS;
}

/* ---- many at once ---- */

static bool is_issued(const dvt_record *record) {
  return record && atomic_load(&record->state) == DVT_RECORD_ISSUED;
}

/* A record on `stream` behind the events of all ISSUED ones of its device, in *joined. */
static davit_status join_in(dvt_stream *stream, dvt_record *const *records, int count, dvt_record **joined) {
  const int device = records[0]->device;
  dvt_device_event *event = NULL;
  for (int i = 0; i < count; i++)
    if (is_issued(records[i]) && records[i]->device == device)
      DVT_TRY(dvt_stream_wait(stream, records[i]->event));
  DVT_TRY(dvt_stream_record(stream, &event));
  *joined = dvt_record_new(device, true, false);
  if (*joined)
    dvt_record_issue(*joined, event);
  else
    dvt_device_event_free(event);
  return *joined ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
}

/* Of those of the first record's device. The stream has an owner again when what it waits for is over. */
static void join_device(dvt_record *const *records, int count) {
  const int device = records[0]->device;
  dvt_stream *stream = NULL;
  dvt_record *joined = NULL;
  DVT_INSIDE;
  davit_status status = dvt_stream_acquire(device, DVT_STREAM_MIXED, &stream);
  if (status == DAVIT_SUCCESS) {
    status = join_in(stream, records, count, &joined);
    if (status == DAVIT_SUCCESS)
      status = dvt_record_wait(joined);
    else
      (void)dvt_stream_synchronize(stream);
    dvt_record_drop(joined);
    dvt_stream_release(stream);
  }
  for (int i = 0; i < count && status == DAVIT_SUCCESS; i++)
    if (is_issued(records[i]) && records[i]->device == device)
      dvt_record_finish(records[i], DAVIT_SUCCESS, ""); /* one that is to fail does */
  if (status != DAVIT_SUCCESS)
    dvt_error_clear();
}

void dvt_records_join(dvt_record *const *records, int count) {
  for (int i = 0; i < count; i++) {
    int others = 0;
    for (int j = i + 1; j < count && is_issued(records[i]); j++)
      others += is_issued(records[j]) && records[j]->device == records[i]->device;
    if (others > 0)
      join_device(records + i, count - i);
  }
}
