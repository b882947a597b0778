/* SPDX-License-Identifier: Apache-2.0 */
/* Queues: a row of lanes, a registry of queues, and the commands that are not BLAS.
 *
 * Which sub-queue is current is kept per thread and queue, by the thread: two producers that take turns can
 * never send each other's work to the wrong sub-queue.
 *
 * Queues are counted: a device-wide synchronisation holds those it waits for, and whoever lets go of one last
 * frees it. Destroying waits for the queue's work and never for who holds it, because that one may be waiting
 * for the very work that destroys. */
#include "src/runtime/lane.h"

#include <davit/event.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "offload/runtime/profile.h"
#include "src/base/allocate.h"
#include "src/base/check.h"
#include "src/base/ending.h"
#include "src/base/fork.h"
#include "src/base/order.h"
#include "src/runtime/memory.h"

struct davit_queue {
  int process; /* that made it */
  int device;
  int subqueues;
  unsigned long long number; /* of no other queue: names it in the choices of threads */
  int references;            /* the owner's and those of device-wide calls; under registry_lock */
  davit_queue *next;
  dvt_lane *lanes[];
};

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static davit_queue *registry;
static atomic_ullong queues_made;

static void forget_queues(void) {
  registry = NULL;
}

__attribute__((constructor)) static void hold_at_fork(void) {
  static const dvt_fork_part part = {.lock = &registry_lock, .child = forget_queues};
  dvt_on_fork(DVT_FORK_QUEUES, &part);
}

static davit_status check(const davit_queue *queue) {
  DVT_TRY(dvt_check_pointer("queue", queue));
  return dvt_check_process("queue", queue->process);
}

/* ---- the current sub-queue of a thread ---- */

/* A thread keeps its choices itself, so that they end with it. */
typedef struct choice {
  unsigned long long queue;
  int subqueue;
} choice;

typedef struct choices {
  choice *entry;
  int count;
  int64_t capacity;
} choices;

static _Thread_local choices mine;
static pthread_key_t at_thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void forget_choices(void *argument) {
  choices *all = argument;
  free(all->entry);
  *all = (choices){0};
}

static void make_key(void) {
  pthread_key_create(&at_thread_end, forget_choices);
}

/* The calling thread's entry for the queue, NULL if it has not chosen. */
static choice *find_choice(const davit_queue *queue) {
  for (int i = 0; i < mine.count; i++)
    if (mine.entry[i].queue == queue->number)
      return &mine.entry[i];
  return NULL;
}

/* The calling thread's sub-queue: 0 unless it has chosen another. */
static int chosen(const davit_queue *queue) {
  const choice *found = find_choice(queue);
  return found ? found->subqueue : 0;
}

static bool is_registered(unsigned long long number) {
  const davit_queue *one = registry;
  while (one && one->number != number)
    one = one->next;
  return one;
}

/* Those of queues that have been destroyed. */
static void drop_dead_choices(void) {
  int kept = 0;
  pthread_mutex_lock(&registry_lock);
  for (int i = 0; i < mine.count; i++)
    if (is_registered(mine.entry[i].queue))
      mine.entry[kept++] = mine.entry[i];
  pthread_mutex_unlock(&registry_lock);
  mine.count = kept;
}

static davit_status make_room(void) {
  if (mine.count < mine.capacity)
    return DAVIT_SUCCESS;
  drop_dead_choices();
  if (2 * mine.count < mine.capacity)
    return DAVIT_SUCCESS;
  return dvt_grow(&mine.entry, &mine.capacity, mine.capacity + 1, 8, sizeof *mine.entry)
             ? DAVIT_SUCCESS
             : DAVIT_OUT_OF_HOST_MEMORY;
}

static davit_status choose(davit_queue *queue, int subqueue) {
  choice *found = find_choice(queue);
  if (!found) {
    DVT_TRY(make_room());
    pthread_once(&once, make_key);
    pthread_setspecific(at_thread_end, &mine);
    found = &mine.entry[mine.count++];
    found->queue = queue->number;
  }
  found->subqueue = subqueue;
  return DAVIT_SUCCESS;
}

dvt_lane *dvt_queue_lane(davit_queue *queue) {
  if (check(queue) != DAVIT_SUCCESS)
    return NULL;
  return queue->lanes[queue->subqueues == 1 ? 0 : chosen(queue)];
}

/* ---- life ---- */

static void free_queue(davit_queue *queue) {
  for (int i = 0; i < queue->subqueues; i++)
    dvt_lane_release(queue->lanes[i]);
  free(queue);
}

static void drop(davit_queue *queue) {
  pthread_mutex_lock(&registry_lock);
  bool last = --queue->references == 0;
  pthread_mutex_unlock(&registry_lock);
  if (last)
    free_queue(queue);
}

static davit_status check_options(const davit_queue_options *o) {
  enum { MAX_SUBQUEUES = 64 };
  DVT_TRY(DVT_CHECK_OPTIONS(o));
  if (o->subqueues < 0 || o->subqueues > MAX_SUBQUEUES)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->subqueues is %d, not 1 to %d", o->subqueues,
                      MAX_SUBQUEUES);
  if (o->interop && o->stream)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->interop and options->stream are both set");
  if (o->subqueues > 1 && (o->interop || o->stream))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->subqueues is %d, but options->%s is one stream",
                      o->subqueues, o->interop ? "interop" : "stream");
  return DAVIT_SUCCESS;
}

davit_status davit_queue_create(int device, davit_queue **queue, const davit_queue_options *options) {
  const davit_queue_options o = options ? *options : (davit_queue_options){.subqueues = 1};
  const int subqueues = o.subqueues ? o.subqueues : 1;
  DVT_TRY(dvt_check_pointer("queue", queue));
  DVT_TRY(check_options(&o));
  DVT_TRY(dvt_resolve_device(device, &device));
  if ((o.interop || o.stream) && !dvt_lane_has_stream(device))
    return davit_fail(DAVIT_UNSUPPORTED, "device %d has no streams, but options->%s is set", device,
                      o.interop ? "interop" : "stream");
  davit_queue *made = dvt_allocate(1, sizeof *made + (size_t)subqueues * sizeof(dvt_lane *));
  if (!made)
    return DAVIT_OUT_OF_HOST_MEMORY;
  made->device = device;
  made->process = dvt_process();
  made->number = 1 + atomic_fetch_add(&queues_made, 1);
  for (; made->subqueues < subqueues; made->subqueues++) {
    davit_status status = dvt_lane_open_on(device, o.interop, o.stream, &made->lanes[made->subqueues]);
    if (status != DAVIT_SUCCESS) {
      free_queue(made);
      return status;
    }
    made->lanes[made->subqueues]->timeline.queue = (int)made->number;
    made->lanes[made->subqueues]->timeline.subqueue = made->subqueues;
  }
  pthread_mutex_lock(&registry_lock);
  made->references = 1;
  made->next = registry;
  registry = made;
  pthread_mutex_unlock(&registry_lock);
  *queue = made;
  return DAVIT_SUCCESS;
}

static bool inside(const davit_queue *queue) {
  const dvt_lane *current = dvt_lane_current();
  for (int i = 0; current && i < queue->subqueues; i++)
    if (queue->lanes[i] == current)
      return true;
  return false;
}

static void leave_registry(davit_queue *queue) {
  pthread_mutex_lock(&registry_lock);
  davit_queue **at = &registry;
  while (*at != queue)
    at = &(*at)->next;
  *at = queue->next;
  pthread_mutex_unlock(&registry_lock);
}

davit_status davit_queue_destroy(davit_queue *queue) {
  if (!queue || queue->process != dvt_process())
    return DAVIT_SUCCESS;
  if (inside(queue))
    return davit_fail(DAVIT_WOULD_DEADLOCK, "a queue's own work cannot destroy the queue");
  DVT_TRY(dvt_may_wait());
  leave_registry(queue);
  dvt_error first = {.status = DAVIT_SUCCESS};
  const dvt_wait wait = dvt_wait_begin("davit_queue_destroy");
  for (int i = 0; i < queue->subqueues; i++)
    dvt_error_keep(&first, dvt_lane_finish(queue->lanes[i]));
  drop(queue);
  return dvt_wait_end(&wait, dvt_error_report(&first));
}

davit_status davit_queue_device(const davit_queue *queue, int *device) {
  DVT_TRY(check(queue));
  DVT_TRY(dvt_check_pointer("device", device));
  *device = queue->device;
  return DAVIT_SUCCESS;
}

davit_status davit_queue_synchronize(davit_queue *queue) {
  DVT_TRY(check(queue));
  if (inside(queue))
    return davit_fail(DAVIT_WOULD_DEADLOCK, "a queue's own work cannot wait for the queue");
  const dvt_wait wait = dvt_wait_begin("davit_queue_synchronize");
  return dvt_wait_end(&wait, dvt_lanes_synchronize(queue->lanes, queue->subqueues));
}

/* `name` is that of the argument which the caller fills, by what `member` gives. */
static davit_status share(davit_queue *queue, const char *name, void **argument,
                          void *(*member)(dvt_stream *stream)) {
  DVT_TRY(check(queue));
  DVT_TRY(dvt_check_pointer(name, argument));
  if (inside(queue))
    return davit_fail(DAVIT_WOULD_DEADLOCK, "a queue's own work cannot wait for the queue");
  dvt_lane *lane = dvt_queue_lane(queue);
  void *const found = lane->stream ? member(lane->stream) : NULL;
  if (lane->stream && !found)
    return davit_fail(DAVIT_UNSUPPORTED, "the queue's stream does not come from an interop object of OpenMP");
  DVT_TRY(dvt_lane_share(lane));
  *argument = found;
  return DAVIT_SUCCESS;
}

davit_status davit_queue_interop(davit_queue *queue, void **interop) {
  return share(queue, "interop", interop, dvt_stream_interop);
}

davit_status davit_queue_stream(davit_queue *queue, void **stream) {
  return share(queue, "stream", stream, dvt_stream_native);
}

/* ---- sub-queues ---- */

davit_status davit_queue_request_subqueue(davit_queue *queue, int *subqueue) {
  DVT_TRY(check(queue));
  DVT_TRY(dvt_check_pointer("subqueue", subqueue));
  int next = (chosen(queue) + 1) % queue->subqueues;
  DVT_TRY(choose(queue, next));
  *subqueue = next;
  return DAVIT_SUCCESS;
}

davit_status davit_queue_set_subqueue(davit_queue *queue, int subqueue) {
  DVT_TRY(check(queue));
  if (subqueue < 0 || subqueue >= queue->subqueues)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "subqueue is %d, the queue has 0 to %d", subqueue,
                      queue->subqueues - 1);
  return choose(queue, subqueue);
}

davit_status davit_queue_subqueue(davit_queue *queue, int *subqueue, int *subqueues) {
  DVT_TRY(check(queue));
  DVT_TRY(dvt_check_pointer("subqueue", subqueue));
  DVT_TRY(dvt_check_pointer("subqueues", subqueues));
  *subqueue = chosen(queue);
  *subqueues = queue->subqueues;
  return DAVIT_SUCCESS;
}

davit_status davit_queue_label(davit_queue *queue, const char *label) {
  dvt_lane *lane = dvt_queue_lane(queue);
  if (!lane)
    return DAVIT_INVALID_ARGUMENT;
  dvt_timeline_label(&lane->timeline, label);
  return DAVIT_SUCCESS;
}

/* ---- device-wide ---- */

/* The queues of a device, each held; NULL with count 0 if there are none. */
static davit_status hold_queues(int device, davit_queue ***queues, int *count) {
  pthread_mutex_lock(&registry_lock);
  int n = 0;
  for (davit_queue *q = registry; q; q = q->next)
    n += q->device == device;
  davit_queue **held = n ? dvt_allocate((size_t)n, sizeof(davit_queue *)) : NULL;
  *count = 0;
  for (davit_queue *q = registry; held && q; q = q->next)
    if (q->device == device) {
      q->references++;
      held[(*count)++] = q;
    }
  pthread_mutex_unlock(&registry_lock);
  *queues = held;
  return n && !held ? DAVIT_OUT_OF_HOST_MEMORY : DAVIT_SUCCESS;
}

static void drop_queues(davit_queue **queues, int count) {
  for (int i = 0; i < count; i++)
    drop(queues[i]);
  free(queues);
}

static davit_status synchronize_all(davit_queue **queues, int count) {
  int lanes = 0;
  for (int i = 0; i < count; i++) {
    if (inside(queues[i]))
      return davit_fail(DAVIT_WOULD_DEADLOCK, "a queue's own work cannot wait for the queue's device");
    lanes += queues[i]->subqueues;
  }
  dvt_lane **all = dvt_allocate((size_t)lanes + 1, sizeof(dvt_lane *));
  if (!all)
    return DAVIT_OUT_OF_HOST_MEMORY;
  lanes = 0;
  for (int i = 0; i < count; i++)
    for (int j = 0; j < queues[i]->subqueues; j++)
      all[lanes++] = queues[i]->lanes[j];
  const dvt_wait wait = dvt_wait_begin("davit_device_synchronize");
  davit_status status = dvt_lanes_synchronize(all, lanes);
  free(all);
  return dvt_wait_end(&wait, status);
}

davit_status davit_device_synchronize(int device) {
  DVT_TRY(dvt_resolve_device(device, &device));
  davit_queue **queues;
  int count;
  DVT_TRY(hold_queues(device, &queues, &count));
  davit_status status = synchronize_all(queues, count);
  drop_queues(queues, count);
  return status;
}

davit_status davit_device_check(int device) {
  DVT_TRY(dvt_resolve_device(device, &device));
  davit_queue **queues;
  int count;
  DVT_TRY(hold_queues(device, &queues, &count));
  dvt_ending_enter();
  davit_status status = dvt_device_error(dvt_device_find(device));
  dvt_ending_leave();
  for (int i = 0; i < count; i++)
    for (int j = 0; j < queues[i]->subqueues && status == DAVIT_SUCCESS; j++)
      status = dvt_lane_error(queues[i]->lanes[j]);
  drop_queues(queues, count);
  return status;
}

/* ---- commands ---- */

/* A function of the program's, one of the three. */
typedef struct function_arguments {
  davit_host_function host;
  davit_region region;
  davit_nowait_region nowait;
  void *argument;
} function_arguments;

/* A function of the program's may end its thread, by pthread_exit() or because somebody has cancelled it. Its command
 * has failed then. What else the thread had to do is done by the cleanup handlers of those who called: the lane's
 * (batch.c, task.c, backend_openmp.c, backend_threads.c), the pool's and the generator's. */
static void function_ended(void *argument) {
  dvt_lane *lane = argument;
  dvt_profile_pop();
  (void)dvt_ending_step_out();
  dvt_order_before(lane);
  dvt_lane_fail(lane, DAVIT_WORK_FAILED, "a function that the queue ran has ended its thread");
}

/* Nothing of davit's is under way in the function, so it may be cancelled, and at the latest at its end: the next one
 * on this thread is not meant. */
static davit_status run_host_function(const dvt_site *site, const void *arguments) {
  const function_arguments *a = arguments;
  const int depth = dvt_ending_step_out();
  davit_status status;
  int before;
  pthread_cleanup_push(function_ended, site->owner);
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
  status = a->host(a->argument);
  pthread_testcancel();
  pthread_setcancelstate(before, NULL);
  pthread_cleanup_pop(0);
  dvt_ending_step_in(depth);
  return status;
}

static davit_status run_region(const dvt_site *site, const void *arguments) {
  const function_arguments *a = arguments;
  const int device = site->device == DAVIT_HOST ? omp_get_initial_device() : site->device; /* OpenMP's */
  const davit_region_site where = {.device = device, .order = site->order};
  davit_status status;
  pthread_cleanup_push(function_ended, site->owner);
  status = a->region ? a->region(device, a->argument) : a->nowait(&where, a->argument);
  pthread_cleanup_pop(0);
  return status;
}

static davit_status enqueue_function(dvt_lane *lane, dvt_command_kind kind, const char *name, dvt_form form,
                                     const function_arguments *arguments) {
  const dvt_work work = {.form = form, .name = name, .stream = true};
  return dvt_lane_submit_work(lane, kind, &work, arguments, sizeof *arguments);
}

davit_status davit_queue_host_function(davit_queue *queue, davit_host_function function, void *argument) {
  dvt_lane *lane = dvt_queue_lane(queue);
  const function_arguments a = {.host = function, .argument = argument};
  if (!lane)
    return DAVIT_INVALID_ARGUMENT;
  DVT_TRY(dvt_check_pointer("function", function));
  return enqueue_function(lane, DVT_BLOCKING, "host function", run_host_function, &a);
}

davit_status davit_queue_region(davit_queue *queue, davit_region region, void *argument) {
  dvt_lane *lane = dvt_queue_lane(queue);
  const function_arguments a = {.region = region, .argument = argument};
  if (!lane)
    return DAVIT_INVALID_ARGUMENT;
  DVT_TRY(dvt_check_pointer("region", region));
  const bool on_host = dvt_device_find(lane->device)->shares_host_memory; /* where it may open teams */
  return enqueue_function(lane, on_host ? DVT_BLOCKING : DVT_TRANSFER, "region", run_region, &a);
}

davit_status davit_queue_region_nowait(davit_queue *queue, davit_nowait_region region, void *argument) {
  dvt_lane *lane = dvt_queue_lane(queue);
  const function_arguments a = {.nowait = region, .argument = argument};
  if (!lane)
    return DAVIT_INVALID_ARGUMENT;
  DVT_TRY(dvt_check_pointer("region", region));
  DVT_TRY(dvt_region_prepare());
  return enqueue_function(lane, DVT_REGION, "nowait region", run_region, &a);
}
