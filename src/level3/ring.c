/* SPDX-License-Identifier: Apache-2.0 */
/* Pageable memory: tiles pass through small pinned buffers in strips, copied by many host threads.
 *
 * A device's threads take strips of its loads and stores, both in the plan's order. They take all loads if
 * one of them is pageable, and likewise all stores: the steps of a stream are issued in the plan's order,
 * which no two threads would keep. A tile that needs no buffer is one strip. A load's strip is packed
 * into a buffer of the thread and enqueued on the load stream; a store's strip is enqueued on the store
 * stream, awaited and unpacked, which also takes the page faults of a fresh C. A step is issued with its last
 * strip. While loads are left at most half of the threads may wait for stores, and only for tiles that are
 * computed.
 *
 * A thread has two buffers of STRIP_BYTES: 32 threads have 64 MiB. They are cut from pieces of pinned memory that
 * the threads allocate one after another, as they come, and that the pool of pinned memory keeps: a piece takes the
 * driver 0.6 ms, in which it does no copy (1 MiB by cudaHostAlloc() takes it 1.3 to 5). Threads that get no buffers
 * end; where no thread gets any, the driver's own copy of pageable memory is left. */
#include "src/level3/ring.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/ending.h"
#include "src/base/team.h"
#include "src/base/thread.h"
#include "src/level3/figures.h"
#include "src/runtime/memory.h"
#include "src/runtime/place.h"

enum { STRIP_BYTES = 1 << 20, BUFFERS = 2, MOST_THREADS = 32, LEAST_THREADS = 2, NAP_NS = 20000 };
enum { OF_THREAD = BUFFERS * STRIP_BYTES, PIECE = 4 * OF_THREAD };

/* A step on its way, and the next strip of it. */
typedef struct queue {
  pthread_mutex_t taking, enqueueing;
  int32_t *step;
  atomic_int *left; /* of each step: strips that are not enqueued */
  int64_t steps, issued;
  atomic_llong at;
  dvt_copy copy;     /* of step[at], if `begun` */
  bool begun, whole; /* copied as it is, without a buffer */
  size_t row, col;   /* the next strip begins there */
} queue;

typedef struct strip {
  int64_t index; /* of the step in the queue */
  dvt_copy copy;
  bool whole;
} strip;

/* Pinned memory for buffers. */
typedef struct pieces {
  pthread_mutex_t allocating;
  void *piece[MOST_THREADS];
  int count;
  size_t left; /* bytes of the last one */
} pieces;

struct dvt_ring {
  dvt_engine *engine;
  pieces pinned;
  queue loads, stores;
  bool takes_loads, takes_stores;
  atomic_int threads, storing, alive;
};

static bool is_pageable(const dvt_engine *e, const dvt_step *step) {
  const int place = e->run->place[dvt_pool_of(step->out.matrix)];
  return dvt_place_is_host(place) && place != DAVIT_PINNED;
}

bool dvt_ring_takes(const dvt_engine *e, const dvt_step *step) {
  return e->ring && ((step->kind == DVT_STEP_LOAD && e->ring->takes_loads) ||
                     (step->kind == DVT_STEP_STORE && e->ring->takes_stores));
}

bool dvt_ring_takes_loads(const dvt_engine *e) {
  return e->ring && e->ring->takes_loads;
}

/* ---- strips ---- */

/* Some whole columns, or a part of one. */
static dvt_copy cut_strip(queue *q) {
  dvt_copy all = q->copy, one = all;
  if (q->whole) {
    q->col = all.cols;
    return one;
  }
  const size_t row = all.row_bytes > 0 ? all.row_bytes : 1, most = row <= STRIP_BYTES ? STRIP_BYTES / row : 1;
  one.cols = most < all.cols - q->col ? most : all.cols - q->col;
  one.row_bytes = all.row_bytes - q->row < STRIP_BYTES ? all.row_bytes - q->row : STRIP_BYTES;
  one.source = (const char *)all.source + q->col * all.source_pitch + q->row;
  one.destination = (char *)all.destination + q->col * all.destination_pitch + q->row;
  q->row += one.row_bytes;
  if (q->row >= all.row_bytes) {
    q->row = 0;
    q->col += one.cols;
  }
  return one;
}

static int count_strips(const dvt_copy *all) {
  const int64_t row = (int64_t)all->row_bytes, strip = STRIP_BYTES, cols = (int64_t)all->cols;
  return (int)(row > strip ? dvt_divide_up(row, strip) * cols
                           : dvt_divide_up(cols, row > 0 ? strip / row : strip));
}

/* Whether the next step of the queue may begin: what it depends on is issued, so that its stream can wait for
 * that. Threads do not wait for it themselves, as what they wait for may be the store that one of them has to
 * do. A store begins when its tile is computed: until then its buffer is of more use to a load. */
static bool is_ready(const dvt_ring *r, const queue *q) {
  const dvt_running *run = r->engine->run;
  const dvt_step *step = &run->plan->step[q->step[q->at]];
  for (int32_t i = 0; i < step->waits; i++) {
    const dvt_step_state *other = &run->state[run->plan->wait[step->first_wait + i]];
    bool over = atomic_load(&other->issued);
    if (over && q == &r->stores && other->mark && dvt_mark_query(other->mark, &over) != DAVIT_SUCCESS)
      over = true; /* waiting for it will say why */
    if (!over)
      return false;
  }
  return true;
}

/* With q->taking held: the stream waits for what the step at hand depends on. */
static davit_status begin_step(dvt_ring *r, queue *q) {
  dvt_engine *e = r->engine;
  const int32_t number = q->step[q->at];
  q->copy = dvt_step_copy(e, &e->run->plan->step[number]);
  q->row = q->col = 0;
  q->whole = !is_pageable(e, &e->run->plan->step[number]);
  atomic_store(&q->left[q->at], q->whole ? 1 : count_strips(&q->copy));
  pthread_mutex_lock(&q->enqueueing);
  davit_status status = dvt_step_wait(e, number);
  pthread_mutex_unlock(&q->enqueueing);
  q->begun = status == DAVIT_SUCCESS;
  if (q->begun && dvt_step_writes(&e->run->plan->step[number]))
    atomic_store(&e->run->written, true);
  return status;
}

/* The next strip; false if there is none now, or with a failure. */
static bool take(dvt_ring *r, queue *q, strip *s, davit_status *status) {
  pthread_mutex_lock(&q->taking);
  bool any = q->at < q->steps && (q->begun || is_ready(r, q));
  if (any && !q->begun) {
    *status = begin_step(r, q);
    any = *status == DAVIT_SUCCESS;
  }
  if (any) {
    *s = (strip){q->at, cut_strip(q), q->whole};
    if (q->col >= q->copy.cols) {
      q->at++;
      q->begun = false;
    }
  }
  pthread_mutex_unlock(&q->taking);
  return any;
}

/* With q->enqueueing held: one strip more is on its stream. Steps are issued in their order, as who waits for
 * a step takes those before it on the stream for over, too. */
static davit_status count_strip(dvt_ring *r, queue *q, int64_t index) {
  atomic_fetch_sub(&q->left[index], 1);
  for (; q->issued < q->steps && atomic_load(&q->left[q->issued]) == 0; q->issued++)
    DVT_TRY(dvt_step_issue(r->engine, q->step[q->issued]));
  return DAVIT_SUCCESS;
}

/* ---- a thread ---- */

typedef struct buffers {
  void *memory[BUFFERS];
  dvt_mark *mark[BUFFERS]; /* when the buffer is free again */
  int next;
} buffers;

static davit_status await_mark(dvt_mark **mark) {
  davit_status status = *mark ? dvt_mark_wait(*mark) : DAVIT_SUCCESS;
  dvt_mark_free(*mark);
  *mark = NULL;
  return status;
}

static void pack(void *destination, size_t destination_pitch, const void *source, size_t source_pitch,
                 size_t row_bytes, size_t cols) {
  for (size_t j = 0; j < cols; j++)
    memcpy((char *)destination + j * destination_pitch, (const char *)source + j * source_pitch, row_bytes);
}

static davit_status enqueue_strip(dvt_ring *r, queue *q, int role, const strip *s, dvt_copy c,
                                  dvt_mark **mark) {
  dvt_stream *stream = r->engine->stream[role];
  pthread_mutex_lock(&q->enqueueing);
  dvt_span *span =
      dvt_tracing() ? dvt_span_work(&r->engine->trail[role], "copy", "stream", c.row_bytes * c.cols) : NULL;
  if (span)
    dvt_span_begin(span, stream);
  davit_status status = dvt_stream_copy(stream, c.destination, c.destination_pitch, c.source, c.source_pitch,
                                        c.row_bytes, c.cols);
  if (span)
    dvt_span_end(span, stream, false);
  if (status == DAVIT_SUCCESS) {
    status = dvt_stream_mark(stream, mark);
    if (status != DAVIT_SUCCESS) /* nobody else waits for the copy before its buffer is freed */
      (void)dvt_stream_synchronize(stream);
  }
  if (status == DAVIT_SUCCESS)
    status = count_strip(r, q, s->index);
  pthread_mutex_unlock(&q->enqueueing);
  return status;
}

static davit_status carry_whole(dvt_ring *r, queue *q, int role, const strip *s) {
  dvt_mark *mark = NULL;
  const davit_status status = enqueue_strip(r, q, role, s, s->copy, &mark);
  dvt_mark_free(mark);
  return status;
}

static davit_status carry_load(dvt_ring *r, buffers *b, const strip *s) {
  const int at = b->next;
  dvt_copy c = s->copy;
  b->next = (at + 1) % BUFFERS;
  DVT_TRY(await_mark(&b->mark[at]));
  pack(b->memory[at], c.row_bytes, c.source, c.source_pitch, c.row_bytes, c.cols);
  c.source = b->memory[at];
  c.source_pitch = c.row_bytes;
  return enqueue_strip(r, &r->loads, DVT_ROLE_LOAD, s, c, &b->mark[at]);
}

static davit_status carry_store(dvt_ring *r, buffers *b, const strip *s) {
  const int at = b->next;
  dvt_copy c = s->copy;
  b->next = (at + 1) % BUFFERS;
  DVT_TRY(await_mark(&b->mark[at]));
  c.destination = b->memory[at];
  c.destination_pitch = c.row_bytes;
  DVT_TRY(enqueue_strip(r, &r->stores, DVT_ROLE_STORE, s, c, &b->mark[at]));
  DVT_TRY(await_mark(&b->mark[at]));
  pack(s->copy.destination, s->copy.destination_pitch, b->memory[at], c.row_bytes, c.row_bytes, c.cols);
  return DAVIT_SUCCESS;
}

static bool has_steps(queue *q) {
  return atomic_load(&q->at) < q->steps;
}

/* One strip, or a nap; false when there is nothing left, or after a failure. */
static bool carry_strip(dvt_ring *r, buffers *b, davit_status *status) {
  strip s;
  const bool loads = has_steps(&r->loads);
  const int most = loads ? (int)dvt_at_least(atomic_load(&r->alive) / 2, 1) : MOST_THREADS;
  bool any = false;
  if (atomic_fetch_add(&r->storing, 1) < most && take(r, &r->stores, &s, status)) {
    any = true;
    *status = s.whole ? carry_whole(r, &r->stores, DVT_ROLE_STORE, &s) : carry_store(r, b, &s);
  }
  atomic_fetch_sub(&r->storing, 1);
  if (!any && *status == DAVIT_SUCCESS && take(r, &r->loads, &s, status)) {
    any = true;
    *status = s.whole ? carry_whole(r, &r->loads, DVT_ROLE_LOAD, &s) : carry_load(r, b, &s);
  }
  if (!any && *status == DAVIT_SUCCESS) {
    if (!has_steps(&r->loads) && !has_steps(&r->stores))
      return false;
    dvt_nap(NAP_NS);
  }
  return *status == DAVIT_SUCCESS;
}

/* Memory for the buffers of one thread, NULL if there is none: a part of a piece, or, where so much cannot be had, a
 * piece of its own. */
static char *take_memory(pieces *p) {
  char *memory = NULL;
  pthread_mutex_lock(&p->allocating);
  for (size_t bytes = PIECE; p->left == 0 && bytes >= OF_THREAD; bytes /= 4)
    if (dvt_malloc(bytes, DAVIT_PINNED, &p->piece[p->count]) == DAVIT_SUCCESS) {
      p->count++;
      p->left = bytes;
    }
  if (p->left > 0) {
    p->left -= OF_THREAD;
    memory = (char *)p->piece[p->count - 1] + p->left;
  }
  pthread_mutex_unlock(&p->allocating);
  return memory;
}

static bool open_buffers(dvt_ring *r, buffers *b) {
  char *memory = take_memory(&r->pinned);
  *b = (buffers){.next = 0};
  for (int i = 0; i < BUFFERS && memory; i++)
    b->memory[i] = memory + i * STRIP_BYTES;
  return memory;
}

static void close_buffers(buffers *b) {
  for (int i = 0; i < BUFFERS; i++)
    (void)await_mark(&b->mark[i]);
}

/* Without any pinned memory: the driver copies pageable memory itself. */
static davit_status carry_plainly(dvt_ring *r) {
  queue *const queues[] = {&r->loads, &r->stores};
  davit_status status = DAVIT_SUCCESS;
  while (status == DAVIT_SUCCESS && (has_steps(&r->loads) || has_steps(&r->stores)) &&
         !atomic_load(&r->engine->run->failed)) {
    bool any = false;
    for (int i = 0; i < 2 && status == DAVIT_SUCCESS; i++) {
      strip s;
      dvt_mark *mark = NULL;
      if (!take(r, queues[i], &s, &status))
        continue;
      any = true;
      status = enqueue_strip(r, queues[i], i ? DVT_ROLE_STORE : DVT_ROLE_LOAD, &s, s.copy, &mark);
      const davit_status end = await_mark(&mark);
      status = status == DAVIT_SUCCESS ? end : status;
    }
    if (!any)
      dvt_nap(NAP_NS);
  }
  return status;
}

static void ring_thread(void *argument) {
  dvt_ring *r = argument;
  dvt_running *run = r->engine->run;
  buffers b;
  davit_status status = DAVIT_SUCCESS;
  dvt_error_clear();
  dvt_ending_follow();
  bool works = open_buffers(r, &b);
  if (!works && atomic_fetch_sub(&r->alive, 1) == 1) { /* the last one, and no thread has buffers */
    status = carry_plainly(r);
  } else {
    while (works && !atomic_load(&run->failed))
      works = carry_strip(r, &b, &status);
    close_buffers(&b);
  }
  dvt_ending_leave();
  if (status != DAVIT_SUCCESS)
    dvt_running_fail(run, status);
  dvt_running_leave(run);
}

/* ---- before and after ---- */

static davit_status open_queue(queue *q, dvt_ring *r, dvt_step_kind kind) {
  const dvt_running *run = r->engine->run;
  pthread_mutex_init(&q->taking, NULL);
  pthread_mutex_init(&q->enqueueing, NULL);
  for (int pass = 0; pass < 2; pass++) {
    q->steps = 0;
    for (int32_t i = 0; i < run->plan->steps; i++) {
      const dvt_step *step = &run->plan->step[i];
      if (step->device != r->engine->index || step->kind != kind || !dvt_ring_takes(r->engine, step))
        continue;
      if (pass)
        q->step[q->steps] = i;
      q->steps++;
    }
    if (pass == 0) {
      q->step = dvt_allocate((size_t)q->steps + 1, sizeof *q->step);
      q->left = dvt_allocate((size_t)q->steps + 1, sizeof *q->left);
      if (!q->step || !q->left)
        return DAVIT_OUT_OF_HOST_MEMORY;
      for (int64_t i = 0; i < q->steps; i++)
        atomic_store(&q->left[i], INT_MAX); /* until it begins */
    }
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_ring_open(dvt_engine *e) {
  int streamed = 0;
  for (int i = 0; i < e->run->plan->devices; i++)
    streamed += e->run->engine[i].streams;
  if (!e->streams)
    return DAVIT_SUCCESS;
  dvt_ring *r = e->ring = dvt_allocate(1, sizeof *r);
  if (!r)
    return DAVIT_OUT_OF_HOST_MEMORY;
  r->engine = e;
  pthread_mutex_init(&r->pinned.allocating, NULL);
  for (int32_t i = 0; i < e->run->plan->steps; i++) {
    const dvt_step *step = &e->run->plan->step[i];
    const bool pageable = step->device == e->index && is_pageable(e, step);
    r->takes_loads |= pageable && step->kind == DVT_STEP_LOAD;
    r->takes_stores |= pageable && step->kind == DVT_STEP_STORE;
  }
  DVT_TRY(open_queue(&r->loads, r, DVT_STEP_LOAD));
  DVT_TRY(open_queue(&r->stores, r, DVT_STEP_STORE));
  if (r->loads.steps + r->stores.steps == 0)
    return DAVIT_SUCCESS;
  const int share = dvt_copying_threads() / streamed;
  const int threads = share < LEAST_THREADS ? LEAST_THREADS : share > MOST_THREADS ? MOST_THREADS : share;
  atomic_store(&r->alive, threads);
  for (int i = 0; i < threads; i++) {
    davit_status status = dvt_running_start(e->run, ring_thread, r);
    if (status != DAVIT_SUCCESS && i == 0)
      return status;
    if (status != DAVIT_SUCCESS) /* fewer threads do it as well, if they have buffers */
      return atomic_fetch_sub(&r->alive, threads - i) == threads - i ? status : DAVIT_SUCCESS;
  }
  return DAVIT_SUCCESS;
}

void dvt_ring_close(dvt_engine *e) {
  dvt_ring *r = e->ring;
  if (!r)
    return;
  queue *const queues[] = {&r->loads, &r->stores};
  for (int i = 0; i < 2; i++) {
    free(queues[i]->step);
    free(queues[i]->left);
    pthread_mutex_destroy(&queues[i]->taking);
    pthread_mutex_destroy(&queues[i]->enqueueing);
  }
  for (int i = 0; i < r->pinned.count; i++)
    davit_free(r->pinned.piece[i]);
  pthread_mutex_destroy(&r->pinned.allocating);
  free(r);
  e->ring = NULL;
}
