/* SPDX-License-Identifier: Apache-2.0 */
/* The task graph: lanes carried by OpenMP tasks with `depend`.
 *
 * One thread, the generator, owns the graph. It takes commands from a lock-free inbox, joins commands of a
 * lane that arrive together into segments, and generates one task per segment:
 *
 *   depend(inout: lane)                     segments of a lane run in order
 *   depend(in: record ...)                  the records the segment waits for
 *   depend(out: record)                     the record it ends with
 *
 * A segment of STREAMED commands is a plain task: it places its work in the lane's device stream and ends
 * there; the device orders what the stream holds, and a wait of one stream for another's record becomes a
 * wait inside the device. A segment of BLOCKING commands is a detached task: its body hands the segment to a
 * host thread (src/runtime/pool.h) and the thread fulfils the task's event at the end. So no OpenMP thread
 * ever blocks, whatever user functions do. A host thread that must wait for a record in a stream waits for a
 * bridge: a detached task that the device's own notification fulfils.
 *
 * Why one generator: `depend` orders only siblings. Why detached tasks and not `target nowait`: hidden helper
 * tasks mixed with detached ones in one graph abort LLVM 19's libomp in about every second run of a stress
 * test, and nothing can tell the generator that one has ended (docs/queue.md).
 *
 * The team has two threads only because a team of one runs tasks at once; the second sleeps. The generator
 * runs the ready tasks itself, by `taskyield`, each of which runs at most one task (run_ready). */
#include <omp.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/base/allocate.h"
#include "src/base/fork.h"
#include "src/base/team.h"
#include "src/base/thread.h"
#include "src/runtime/lane.h"
#include "src/runtime/pool.h"

enum { MAX_WAITS = 48, IDLE_SPINS = 60 };

static _Atomic(dvt_command *) inbox; /* newest first */
static atomic_ullong fulfilled;      /* detached tasks ended by other threads */
static atomic_bool sleeping, leaving;
static atomic_int fulfilling; /* threads in omp_fulfill_event() */
static _Thread_local bool is_generator;
static sem_t wake_up, begun, started, parked, park, left;
static _Atomic(dvt_command *) unhanded; /* blocking segments that found no thread in a callback */
static unsigned long long bodies;       /* task bodies run: the generator's own */
static bool team_is_two;
static int thread_limit, active_levels; /* of the OpenMP runtime */
static int generator_process;
static bool may_begin;

static void wake(void) {
  if (atomic_load(&sleeping) && atomic_exchange(&sleeping, false))
    sem_post(&wake_up);
}

static void submit(dvt_command *command) {
  command->next = atomic_load_explicit(&inbox, memory_order_relaxed);
  while (!atomic_compare_exchange_weak(&inbox, &command->next, command)) {
  }
  wake();
}

static void fulfil(uintptr_t event) {
  atomic_fetch_add(&fulfilling, 1);
  if (atomic_load(&leaving) && !is_generator) { /* the OpenMP runtime is being taken down */
    atomic_fetch_sub(&fulfilling, 1);
    for (;;)
      pause();
  }
  omp_fulfill_event((omp_event_handle_t)event);
  atomic_fetch_sub(&fulfilling, 1);
  atomic_fetch_add(&fulfilled, 1);
  wake();
}

/* ---- segments: lists of commands of one lane, waits first, a record last ---- */

static bool is_blocking(const dvt_command *first) {
  for (const dvt_command *c = first; c; c = c->next)
    if (c->kind == DVT_BLOCKING)
      return true;
  return false;
}

/* A lane's waits at the head of a segment. On a stream the device waits; records of host lanes are over by
 * now, because the task depended on them. */
static void begin(dvt_command *first) {
  dvt_lane *lane = first->lane;
  for (dvt_command *c = first; c && c->kind == DVT_WAIT; c = c->next) {
    if (lane->stream && c->record->mark && dvt_record_query(c->record) == DVT_RECORD_ISSUED) {
      davit_status status = dvt_stream_wait(lane->stream, c->record->mark);
      if (status != DAVIT_SUCCESS)
        dvt_lane_fail(lane, status, davit_last_error());
    }
    dvt_command_pass_failure(c);
  }
}

static void finish(dvt_command *first) {
  for (dvt_command *c = first, *next; c; c = next) {
    next = c->next;
    dvt_command_free(c);
  }
}

/* Places a record in the lane's stream. On a stopped lane it fails, but no sooner than what the stream
 * already holds is over: who waits for it may free that work's memory. */
static void record_in_stream(dvt_command *command) {
  dvt_lane *lane = command->lane;
  dvt_mark *mark = NULL;
  davit_status status = dvt_stream_mark(lane->stream, &mark);
  if (status != DAVIT_SUCCESS) {
    dvt_lane_fail(lane, status, davit_last_error());
    dvt_stream_synchronize(lane->stream); /* with no mark to be had, the generator itself waits */
    dvt_command_finish_record(command);
  } else if (atomic_load(&lane->failed)) {
    status = dvt_lane_error(lane);
    dvt_record_fail_at(command->record, mark, status, davit_last_error());
  } else {
    dvt_record_issue(command->record, mark);
  }
}

static void run_commands(dvt_command *first) {
  for (dvt_command *c = first; c; c = c->next)
    if (c->kind == DVT_RECORD) {
      if (c->record->on_stream)
        record_in_stream(c);
      else
        dvt_command_finish_record(c);
    } else if (c->kind != DVT_WAIT) {
      dvt_command_work(c);
    }
}

/* On a host thread: the whole blocking segment, its record too, then the task's end. */
static void run_blocking(void *argument) {
  dvt_command *first = argument;
  uintptr_t event = first->event;
  run_commands(first);
  finish(first);
  fulfil(event);
}

/* False when no thread can be had. The lane is stopped then, so run_blocking() returns at once, and may be
 * called on the generator. */
static bool hand_over(dvt_command *first) {
  const davit_status status = dvt_pool_run(run_blocking, first);
  if (status != DAVIT_SUCCESS)
    dvt_lane_fail(first->lane, status, davit_last_error());
  return status == DAVIT_SUCCESS;
}

/* A callback of the device runtime must not call the device, and the segment's record may be placed in the
 * stream, so the generator ends a segment that finds no thread. */
static void stream_drained(void *argument, davit_status status) {
  dvt_command *first = argument;
  if (status != DAVIT_SUCCESS)
    dvt_lane_fail(first->lane, status, davit_last_error());
  if (hand_over(first))
    return;
  first->next_segment = atomic_load(&unhanded);
  while (!atomic_compare_exchange_weak(&unhanded, &first->next_segment, first)) {
  }
  wake();
}

static bool end_unhanded(void) {
  dvt_command *first = atomic_exchange(&unhanded, NULL);
  const bool any = first != NULL;
  for (dvt_command *next; first; first = next) {
    next = first->next_segment;
    run_blocking(first);
  }
  return any;
}

/* Blocking work on a lane with a stream starts when the stream has drained; often it has already. */
static void start_blocking(dvt_command *first) {
  dvt_lane *lane = first->lane;
  begin(first);
  if (lane->stream) {
    dvt_mark *mark = NULL;
    bool drained = false;
    davit_status status = dvt_stream_query(lane->stream, &drained);
    if (status == DAVIT_SUCCESS && !drained)
      status = dvt_stream_mark(lane->stream, &mark);
    if (mark) {
      status = dvt_mark_notify(mark, stream_drained, first);
      dvt_mark_free(mark); /* the notification has its place in the stream; the mark may be recorded anew */
      if (status == DAVIT_SUCCESS)
        return;
    }
    if (status != DAVIT_SUCCESS)
      dvt_lane_fail(lane, status, davit_last_error());
  }
  if (!hand_over(first))
    run_blocking(first);
}

static void run_streamed(dvt_command *first) {
  begin(first);
  run_commands(first);
  finish(first);
}

/* ---- bridges: the end of a record in a stream, for lanes of host threads ---- */

static void bridge_reached(void *argument, davit_status status) {
  dvt_record *record = argument;
  dvt_record_finish(record, status, davit_last_error());
  uintptr_t event = record->bridge_event;
  dvt_record_drop(record);
  fulfil(event);
}

static void start_bridge(dvt_record *record) {
  if (dvt_record_query(record) != DVT_RECORD_ISSUED) {
    bridge_reached(record, DAVIT_SUCCESS); /* over already: finishing again changes nothing */
    return;
  }
  davit_status status = dvt_mark_notify(record->mark, bridge_reached, record);
  if (status != DAVIT_SUCCESS)
    bridge_reached(record, status);
}

static void generate_bridge(dvt_record *record) {
  if (record->bridged)
    return;
  record->bridged = true;
  dvt_record_hold(record);
  char *issued = &record->issued_token, *done = &record->done_token;
  omp_event_handle_t event = (omp_event_handle_t)0;
#pragma omp task detach(event) depend(in : *issued) depend(out : *done) firstprivate(record)
  {
    bodies++;
    record->bridge_event = (uintptr_t)event;
    start_bridge(record);
  }
}

/* ---- the generator ---- */

/* The address whose dependence stands for "the lane may go on past this record". */
static char *awaited(const dvt_lane *lane, dvt_record *record) {
  if (!record->on_stream)
    return &record->done_token;
  if (lane->stream)
    return &record->issued_token;
  generate_bridge(record);
  return &record->done_token;
}

static void generate(dvt_command *first) {
  dvt_lane *lane = first->lane;
  char *in[MAX_WAITS], *out[1], *token = &lane->token;
  int ins = 0, outs = 0;
  for (dvt_command *c = first; c; c = c->next)
    if (c->kind == DVT_WAIT)
      in[ins++] = awaited(lane, c->record);
    else if (c->kind == DVT_RECORD)
      out[outs++] = c->record->on_stream ? &c->record->issued_token : &c->record->done_token;
  if (is_blocking(first)) {
    omp_event_handle_t event = (omp_event_handle_t)0;
#pragma omp task detach(event) depend(inout : *token) depend(iterator(int i = 0 : ins), in : *in[i])         \
    depend(iterator(int i = 0 : outs), out : *out[i]) firstprivate(first)
    {
      bodies++;
      first->event = (uintptr_t)event;
      start_blocking(first);
    }
  } else {
#pragma omp task depend(inout : *token) depend(iterator(int i = 0 : ins), in : *in[i])                       \
    depend(iterator(int i = 0 : outs), out : *out[i]) firstprivate(first)
    {
      bodies++;
      run_streamed(first);
    }
  }
}

/* The open segment of a lane while a batch is sorted; lanes that had one are linked. */
typedef struct opened {
  dvt_command *first;
  int waits;
  bool works; /* it has more than waits */
  dvt_command_kind kind;
  struct dvt_lane *next_open;
  bool listed;
} opened;

/* The segments of a batch in the order in which the graph gets them, and the lanes that have had an open one.
 */
typedef struct batch {
  dvt_command *first, **end;
  dvt_lane *open;
} batch;

static void close_segment(batch *b, opened *segment) {
  *b->end = segment->first;
  b->end = &segment->first->next_segment;
  segment->first = NULL;
}

static void append(opened *segment, dvt_command *command) {
  command->next = NULL;
  if (segment->first) {
    segment->first->last->next = command;
  } else {
    command->next_segment = NULL;
    segment->first = command;
    segment->works = false;
    segment->waits = 0;
    segment->kind = DVT_WAIT;
  }
  segment->first->last = command;
}

/* A record ends its segment, so that whoever waits for the record comes later in the graph; a wait begins
 * one; streamed and blocking work do not mix. The record of blocking work on a lane with a stream is placed
 * by the thread that did the work. */
static void sort(batch *b, dvt_command *command) {
  dvt_lane *lane = command->lane;
  opened *segment = lane->backend;
  if (command->kind == DVT_WAIT) {
    if (segment->first && (segment->works || segment->waits == MAX_WAITS))
      close_segment(b, segment);
    append(segment, command);
    segment->waits++;
  } else {
    const bool ends = command->kind == DVT_RECORD;
    if (segment->first && segment->works && !ends && segment->kind != command->kind)
      close_segment(b, segment);
    append(segment, command);
    segment->works = true;
    segment->kind = command->kind;
    if (ends)
      close_segment(b, segment);
  }
  if (segment->first && !segment->listed) {
    segment->listed = true;
    segment->next_open = b->open;
    b->open = lane;
  }
}

static dvt_command *take_inbox(void) {
  dvt_command *newest = atomic_exchange(&inbox, NULL), *oldest = NULL;
  while (newest) {
    dvt_command *next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  return oldest;
}

/* All commands are sorted before the first task is generated: with 256 tasks ready, libomp runs a further one
 * where it is generated, and a lane is closed and freed as soon as its last segment has run. */
static bool take_batch(void) {
  batch b = {.first = NULL, .end = &b.first};
  for (dvt_command *command = take_inbox(), *next; command; command = next) {
    next = command->next;
    sort(&b, command);
  }
  for (dvt_lane *lane = b.open; lane;) {
    opened *segment = lane->backend;
    if (segment->first)
      close_segment(&b, segment);
    segment->listed = false;
    lane = segment->next_open;
  }
  bool any = b.first != NULL;
  for (dvt_command *first = b.first, *next; first; first = next) {
    next = first->next_segment;
    generate(first);
  }
  return any;
}

/* Runs what is ready. A yield that ran no body either ended a fulfilled task or found nothing; as no more
 * than `owed` tasks can have been fulfilled, the last two of them found nothing. (A fulfilment that is not
 * counted yet may take the place of a counted one; its own count then comes later and wakes the generator
 * again.) */
static void run_ready(unsigned long long owed) {
  for (unsigned long long idle = 0; idle < owed + 2;) {
    unsigned long long before = bodies;
#pragma omp taskyield
    idle += bodies == before;
  }
}

static void wait_for(sem_t *semaphore) {
  while (sem_wait(semaphore) != 0) {
  }
}

static bool has_news(unsigned long long seen) {
  return atomic_load(&inbox) || atomic_load(&unhanded) || atomic_load(&fulfilled) != seen ||
         atomic_load(&leaving);
}

static void doze(unsigned long long seen) {
  for (int i = 0; i < IDLE_SPINS; i++) {
    if (has_news(seen))
      return;
    sched_yield();
  }
  atomic_store(&sleeping, true);
  if (has_news(seen) && atomic_exchange(&sleeping, false))
    return; /* else somebody has woken the generator already, and the semaphore says so */
  wait_for(&wake_up);
}

static void generate_until_left(void) {
  unsigned long long seen = 0;
  while (!atomic_load(&leaving)) {
    bool any = end_unhanded();
    any |= take_batch();
    unsigned long long now = atomic_load(&fulfilled);
    if (any || now != seen) {
      run_ready(now - seen);
      seen = now;
    } else {
      doze(seen);
    }
  }
}

static void *generator(void *argument) {
  wait_for(&begun);
  if (!may_begin)
    return argument;
  omp_set_dynamic(0);
  thread_limit = omp_get_thread_limit();
  active_levels = omp_get_max_active_levels();
#pragma omp parallel num_threads(thread_limit > 1 ? 2 : 1) /* or libomp prints a warning */
  {
    const bool two = omp_get_num_threads() == 2, first = omp_get_thread_num() == 0;
    if (first) {
      team_is_two = two;
      is_generator = true;
      dvt_thread_begin();
      sem_post(&started);
    }
    if (first && two)
      generate_until_left();
    if (two)
      sem_post(first ? &left : &parked);
    while (two)
      sem_wait(&park);
  }
  return argument;
}

static void *return_at_once(void *argument) {
  return argument;
}

/* Where the OpenMP runtime cannot make the team's second thread, it ends the process. So one is tried, while
 * the generator's thread waits to begin. */
static davit_status begin_generator(pthread_t thread) {
  pthread_t second;
  const davit_status status = dvt_thread_start(return_at_once, NULL, &second);
  may_begin = status == DAVIT_SUCCESS;
  if (may_begin)
    pthread_join(second, NULL);
  sem_post(&begun);
  if (!may_begin)
    pthread_join(thread, NULL);
  return status;
}

/* At the end of the process the OpenMP runtime does not wait for its idle workers while the generator's
 * region is open, but frees a table that they read when they go to sleep. From here on they stay awake.
 * Without the region, as in a child after fork(), it waits for them, and would not wake those that sleep
 * already. */
static void keep_workers_awake(void) {
  if (dvt_process() == generator_process)
    kmp_set_defaults("KMP_BLOCKTIME=infinite");
}

/* The generator is made once and sleeps when the library is stopped: ending its parallel region after other
 * threads have completed its tasks, and beginning another, trips an assertion of libomp's allocator. If it
 * cannot be made, the next start tries again. */
static davit_status make_generator(void) {
  pthread_t thread;
  sem_t *const all[] = {&wake_up, &begun, &park, &started, &parked, &left};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    sem_init(all[i], 0, 0);
  DVT_TRY(dvt_thread_start(generator, NULL, &thread));
  DVT_TRY(begin_generator(thread));
  wait_for(&started);
  if (!team_is_two) {
    pthread_join(thread, NULL);
    return davit_fail(DAVIT_UNSUPPORTED,
                      "the OpenMP runtime gives no team of two threads (its thread limit is %d, its limit of "
                      "active levels %d); DAVIT_BACKEND=threads works without",
                      thread_limit, active_levels);
  }
  pthread_detach(thread);
  generator_process = dvt_process();
  (void)atexit(keep_workers_awake);
  wait_for(&parked); /* or a process that ends at once would catch the second thread on its way */
  return DAVIT_SUCCESS;
}

static davit_status start(void) {
  return team_is_two ? DAVIT_SUCCESS : make_generator();
}

static void stop(void) {
  dvt_pool_stop();
  while (!atomic_load(&sleeping)) /* its last yields may not be over */
    sched_yield();
}

/* After this neither the generator nor a fulfilment enters the OpenMP runtime again. The generator never
 * blocks, so it answers at once. */
static void leave(void) {
  atomic_store(&leaving, true);
  wake();
  wait_for(&left);
  while (atomic_load(&fulfilling) > 0)
    sched_yield();
}

/* ---- lanes ---- */

static davit_status open_lane(dvt_lane *lane) {
  lane->backend = dvt_allocate(1, sizeof(opened));
  if (!lane->backend)
    return DAVIT_OUT_OF_HOST_MEMORY;
  if (dvt_lane_wants_stream(lane)) {
    davit_status status = dvt_stream_acquire(lane->device, &lane->stream);
    if (status != DAVIT_SUCCESS) {
      free(lane->backend);
      return status;
    }
    lane->marks_records = true;
  }
  return DAVIT_SUCCESS;
}

static void close_lane(dvt_lane *lane) {
  if (lane->stream)
    dvt_stream_release(lane->stream);
  free(lane->backend);
}

dvt_backend dvt_backend_openmp = {"openmp", start, stop, leave, open_lane, close_lane, submit, NULL};
