/* SPDX-License-Identifier: Apache-2.0 */
/* A stage for each device with streams. Copies that are under way at the same time share its threads, the helpers, each
 * with a pair of pinned strips: what goes up is packed into one and enqueued, what comes down is enqueued, awaited and
 * unpacked, which also takes the page faults of fresh memory; meanwhile the other strip travels.
 *
 * Helpers take strips of the oldest copy that has some, of one down first; but while there are copies up, by half of
 * them at most, and not before what the stream held is over: until then they are of more use to a copy up. They come
 * from the pool: each of the first calls three more, as long as there are strips for them, and they stay a moment for
 * the next copy. The last one gives the strips back, which the pool of pinned memory keeps. Where none can be had, the
 * driver copies pageable memory itself. */
#include "src/runtime/staging.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/clock.h"
#include "src/base/ending.h"
#include "src/base/error.h"
#include "src/base/team.h"
#include "src/base/thread.h"
#include "src/runtime/memory.h"
#include "src/runtime/pool.h"
#include "src/runtime/tuning.h"

enum {
  STRIP_BYTES = 1 << 20,
  MOST_STRIP_BYTES = 4 << 20, /* longer ones leave few threads strips */
  MOST_BYTES = 64 << 20,      /* of all strips of a device */
  MOST_THREADS = 32,
  PER_PAIR = 2,
  PER_PIECE =
      4, /* pairs that are allocated at once: a piece takes the driver 0.6 ms, in which it does no copy */
  STAY_NS =
      2000000, /* that a helper without work looks for some: a product that others wait for takes so long */
  NAP_NS = 20000
};

typedef struct pair {
  char *memory[PER_PAIR];
  dvt_device_event *event[PER_PAIR]; /* when the strip is free again; NULL: now */
  int next;                          /* strip to use */
  struct pair *newer;                /* among those that nobody has */
} pair;

/* A copy on its way, under the stage's lock but for `enqueueing` and what does not change. */
typedef struct request {
  struct request *next;
  dvt_copy copy;
  bool up, ready;
  dvt_stream *stream;
  dvt_device_event *event; /* what the stream held before a copy down */
  pthread_mutex_t enqueueing;
  size_t row, col; /* the next strip begins there */
  int at_work;     /* threads that have a strip of it */
  dvt_error error;
  dvt_notify over;
  void *argument;
} request;

typedef struct stage {
  pthread_mutex_t lock, allocating;
  size_t strip_bytes;
  request *first, **end; /* those with strips left */
  int ups;               /* among them */
  int requests;          /* that are not over */
  int helpers;
  int unpacking; /* threads that have a strip of a copy down */
  bool asking;   /* a helper asks whether a copy down is ready, */
  int64_t asked; /* which was asked at that time, by the clock, for the last time */
  int pairs, most;
  pair pair[MOST_THREADS], *oldest, *newest;
  void *piece[MOST_THREADS];
  int pieces;
} stage;

static stage stages[DVT_MAX_ORDINALS];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_int busy; /* stages with requests */

static void make_stages(void) {
  for (int i = 0; i < DVT_MAX_ORDINALS; i++) {
    stages[i].end = &stages[i].first;
    pthread_mutex_init(&stages[i].lock, NULL);
    pthread_mutex_init(&stages[i].allocating, NULL);
  }
}

/* ---- strips of pinned memory ---- */

static davit_status await_event(dvt_device_event **event) {
  const davit_status status = *event ? dvt_device_event_wait(*event) : DAVIT_SUCCESS;
  dvt_device_event_free(*event);
  *event = NULL;
  return status;
}

/* With the lock held. */
static void give_pair(stage *s, pair *one) {
  one->newer = NULL;
  *(s->oldest ? &s->newest->newer : &s->oldest) = one;
  s->newest = one;
}

/* With the lock held: those that were used longest ago come first, as they are likely to be free. */
static pair *take_free(stage *s) {
  pair *one = s->oldest;
  if (one)
    s->oldest = one->newer;
  return one;
}

/* More pairs, or fewer where so much memory cannot be had. Not under the lock, as others are at work. */
static void allocate_piece(stage *s) {
  const size_t strip = s->strip_bytes;
  const int room = s->most - s->pairs;
  void *memory = NULL;
  int pairs = room < PER_PIECE ? room : PER_PIECE;
  while (pairs > 0 && dvt_malloc((size_t)(pairs * PER_PAIR) * strip, DAVIT_PINNED, &memory) != DAVIT_SUCCESS)
    pairs /= 4;
  if (pairs <= 0)
    return;
  pthread_mutex_lock(&s->lock);
  s->piece[s->pieces++] = memory;
  for (int i = 0; i < pairs; i++) {
    pair *one = &s->pair[s->pairs++];
    *one = (pair){.next = 0};
    for (int k = 0; k < PER_PAIR; k++)
      one->memory[k] = (char *)memory + (size_t)(i * PER_PAIR + k) * strip;
    give_pair(s, one);
  }
  pthread_mutex_unlock(&s->lock);
}

/* NULL: there is none for this thread. */
static pair *take_pair(stage *s) {
  pthread_mutex_lock(&s->lock);
  pair *one = take_free(s);
  pthread_mutex_unlock(&s->lock);
  if (one)
    return one;
  pthread_mutex_lock(&s->allocating);
  pthread_mutex_lock(&s->lock);
  one = take_free(s);
  pthread_mutex_unlock(&s->lock);
  if (!one && s->pairs < s->most) {
    allocate_piece(s);
    pthread_mutex_lock(&s->lock);
    one = take_free(s);
    pthread_mutex_unlock(&s->lock);
  }
  pthread_mutex_unlock(&s->allocating);
  return one;
}

/* With the lock held, which is released meanwhile, by the last helper: the events may be behind long work. */
static void free_pairs(stage *s) {
  pair pairs[MOST_THREADS];
  void *piece[MOST_THREADS];
  const int count = s->pairs, pieces = s->pieces;
  memcpy(pairs, s->pair, sizeof pairs);
  memcpy(piece, s->piece, sizeof piece);
  s->pairs = s->pieces = 0;
  s->oldest = NULL;
  pthread_mutex_unlock(&s->lock);
  for (int i = 0; i < count; i++)
    for (int k = 0; k < PER_PAIR; k++)
      (void)await_event(&pairs[i].event[k]);
  for (int i = 0; i < pieces; i++)
    davit_free(piece[i]);
  pthread_mutex_lock(&s->lock);
}

/* ---- strips of a copy ---- */

/* With the lock held: behind all others. */
static void link_request(stage *s, request *r) {
  r->next = NULL;
  *s->end = r;
  s->end = &r->next;
  s->ups += r->up;
}

/* With the lock held: out of the list, as one that has no strips left is. */
static void unlink_request(stage *s, request *r) {
  for (request **at = &s->first; *at; at = &(*at)->next)
    if (*at == r) {
      *at = r->next;
      s->end = *at ? s->end : at;
      s->ups -= r->up;
      return;
    }
}

/* With the lock held: some whole columns, or a part of one. */
static dvt_copy cut_strip(stage *s, request *r) {
  const dvt_copy *all = &r->copy;
  dvt_copy one = *all;
  const size_t most = all->row_bytes <= s->strip_bytes ? s->strip_bytes / all->row_bytes : 1;
  one.cols = most < all->cols - r->col ? most : all->cols - r->col;
  one.row_bytes = all->row_bytes - r->row < s->strip_bytes ? all->row_bytes - r->row : s->strip_bytes;
  one.source = (const char *)all->source + r->col * all->source_pitch + r->row;
  one.destination = (char *)all->destination + r->col * all->destination_pitch + r->row;
  r->row += one.row_bytes;
  if (r->row >= all->row_bytes) {
    r->row = 0;
    r->col += one.cols;
  }
  if (r->col >= all->cols)
    unlink_request(s, r);
  return one;
}

static int64_t count_strips(const stage *s, const dvt_copy *all) {
  const int64_t row = (int64_t)all->row_bytes, strip = (int64_t)s->strip_bytes, cols = (int64_t)all->cols;
  return row > strip ? dvt_divide_up(row, strip) * cols : dvt_divide_up(cols, strip / row);
}

static void pack(char *destination, size_t destination_pitch, const char *source, size_t source_pitch,
                 size_t row_bytes, size_t cols) {
  for (size_t j = 0; j < cols; j++)
    memcpy(destination + j * destination_pitch, source + j * source_pitch, row_bytes);
}

static davit_status enqueue(request *r, const dvt_copy *c, dvt_device_event **event) {
  pthread_mutex_lock(&r->enqueueing);
  davit_status status = dvt_stream_copy(r->stream, c->destination, c->destination_pitch, c->source,
                                        c->source_pitch, c->row_bytes, c->cols);
  if (status == DAVIT_SUCCESS) {
    status = dvt_stream_record(r->stream, event);
    if (status != DAVIT_SUCCESS) /* nobody else waits for the copy before its strip is used again */
      (void)dvt_stream_synchronize(r->stream);
  }
  pthread_mutex_unlock(&r->enqueueing);
  return status;
}

static davit_status carry(request *r, pair *p, const dvt_copy *one) {
  const int at = p->next;
  dvt_copy c = *one;
  p->next = (at + 1) % PER_PAIR;
  DVT_TRY(await_event(&p->event[at]));
  if (r->up) {
    pack(p->memory[at], c.row_bytes, c.source, c.source_pitch, c.row_bytes, c.cols);
    c.source = p->memory[at];
    c.source_pitch = c.row_bytes;
    return enqueue(r, &c, &p->event[at]);
  }
  c.destination = p->memory[at];
  c.destination_pitch = c.row_bytes;
  DVT_TRY(enqueue(r, &c, &p->event[at]));
  DVT_TRY(await_event(&p->event[at]));
  pack(one->destination, one->destination_pitch, p->memory[at], c.row_bytes, c.row_bytes, c.cols);
  return DAVIT_SUCCESS;
}

/* With the lock held, which is released meanwhile: the copy is over. */
static void finish(stage *s, request *r) {
  if (--s->requests == 0)
    atomic_fetch_sub(&busy, 1);
  pthread_mutex_unlock(&s->lock);
  dvt_device_event_free(r->event);
  pthread_mutex_destroy(&r->enqueueing);
  r->over(r->argument, dvt_error_report(&r->error));
  free(r);
  pthread_mutex_lock(&s->lock);
}

/* With the lock held, which is released meanwhile. */
static void work_on(stage *s, request *r, pair *p) {
  const dvt_copy one = cut_strip(s, r);
  r->at_work++;
  s->unpacking += !r->up;
  pthread_mutex_unlock(&s->lock);
  const davit_status status = carry(r, p, &one);
  pthread_mutex_lock(&s->lock);
  s->unpacking -= !r->up;
  if (status != DAVIT_SUCCESS && r->error.status == DAVIT_SUCCESS) {
    dvt_error_keep(&r->error, status);
    unlink_request(s, r);
    r->col = r->copy.cols;
  }
  if (--r->at_work == 0 && r->col >= r->copy.cols)
    finish(s, r);
}

/* The driver's way, with the lock held, which is released meanwhile. */
static void carry_plainly(stage *s, request *r) {
  const dvt_copy *c = &r->copy;
  unlink_request(s, r);
  r->col = r->copy.cols;
  r->at_work++;
  pthread_mutex_unlock(&s->lock);
  davit_status status = dvt_stream_copy(r->stream, c->destination, c->destination_pitch, c->source,
                                        c->source_pitch, c->row_bytes, c->cols);
  if (status == DAVIT_SUCCESS)
    status = dvt_stream_synchronize(r->stream);
  pthread_mutex_lock(&s->lock);
  dvt_error_keep(&r->error, status);
  if (--r->at_work == 0)
    finish(s, r);
}

/* ---- helpers ---- */

/* With the lock held: a copy that a helper may work on. */
static request *choose(const stage *s) {
  const int most = s->ups > 0 ? (int)dvt_at_least(s->helpers / 2, 1) : MOST_THREADS;
  request *first_up = NULL;
  for (request *r = s->first; r; r = r->next) {
    if (!r->up && r->ready && s->unpacking < most)
      return r;
    if (r->up && !first_up)
      first_up = r;
  }
  return first_up;
}

static int64_t strips_left(const stage *s) {
  int64_t strips = 0;
  for (const request *r = s->first; r; r = r->next)
    strips += r->up || r->ready ? count_strips(s, &r->copy) : 1;
  return strips;
}

static void help(void *argument);

/* One more where there is work for it. With the lock held, which is released meanwhile. */
static void call_helper(stage *s) {
  const int share = (int)dvt_at_least(dvt_stage_threads() / dvt_at_least(atomic_load(&busy), 1), 1);
  if (s->helpers >= share || s->helpers >= strips_left(s))
    return;
  s->helpers++;
  pthread_mutex_unlock(&s->lock);
  dvt_ending_hold(); /* until it is inside */
  const bool called = dvt_pool_run(help, s) == DAVIT_SUCCESS;
  pthread_mutex_lock(&s->lock);
  if (!called) {
    dvt_ending_drop();
    dvt_error_clear();
    s->helpers--;
  }
}

/* With the lock held, which is released meanwhile: one helper at a time asks for a copy down that is not ready, each in
 * turn. What fails is ready: its strips will say why. */
static void ask(stage *s) {
  request *r = s->first;
  while (r && (r->up || r->ready))
    r = r->next;
  if (!r || s->asking || dvt_now_ns() < s->asked + NAP_NS)
    return;
  bool reached = false;
  s->asking = true;
  r->at_work++;
  pthread_mutex_unlock(&s->lock);
  const davit_status status = dvt_device_event_query(r->event, &reached);
  pthread_mutex_lock(&s->lock);
  r->at_work--;
  s->asking = false;
  s->asked = dvt_now_ns();
  r->ready = reached || status != DAVIT_SUCCESS;
  if (r->ready) {
    call_helper(s);
  } else {
    unlink_request(s, r);
    link_request(s, r);
  }
}

/* With the lock held, which is released meanwhile. Where a copy could not be called helpers for, it is the calling
 * thread that does this. */
static void do_all(stage *s, pair *p) {
  int64_t until = dvt_now_ns() + STAY_NS;
  while (s->first || dvt_now_ns() < until) {
    ask(s);
    request *r = choose(s);
    if (r) {
      p ? work_on(s, r, p) : carry_plainly(s, r);
      until = dvt_now_ns() + STAY_NS;
      continue;
    }
    if (s->helpers > 1 && dvt_now_ns() >= until)
      return;
    pthread_mutex_unlock(&s->lock);
    dvt_nap(NAP_NS);
    pthread_mutex_lock(&s->lock);
  }
}

static void help(void *argument) {
  enum { CALLS = 3 };
  stage *s = argument;
  dvt_error_clear();
  dvt_ending_follow();
  dvt_ending_drop();
  pthread_mutex_lock(&s->lock);
  for (int i = 0; i < CALLS; i++)
    call_helper(s);
  pthread_mutex_unlock(&s->lock);
  pair *p = take_pair(s);
  pthread_mutex_lock(&s->lock);
  if (p || s->pairs == 0) /* others have strips */
    do_all(s, p);
  while (s->helpers == 1 && s->first) { /* and have left meanwhile */
    p = p ? p : take_free(s);
    do_all(s, p);
  }
  if (p)
    give_pair(s, p);
  if (--s->helpers == 0)
    free_pairs(s);
  pthread_mutex_unlock(&s->lock);
  dvt_ending_leave();
}

/* Not all that davit may use: some enqueue, and a thread that has no CPU holds up its strip. 32 of 64 CPUs copied up to
 * 1.7 times as fast as all of them (docs/notes/gemm.md). */
int dvt_stage_threads(void) {
  const int all = dvt_threads();
  return (int)dvt_at_most(all - all / 4, MOST_THREADS);
}

/* ---- a copy ---- */

/* With the lock held. */
static void enlist(stage *s, request *r) {
  if (s->helpers == 0) {
    const int64_t tuned = dvt_tuned(dvt_stream_device(r->stream), DVT_TUNE_COPY_STAGE_BYTES, STRIP_BYTES);
    s->strip_bytes = (size_t)dvt_at_most(tuned, MOST_STRIP_BYTES);
    s->most =
        (int)dvt_at_most(dvt_at_least((int64_t)(MOST_BYTES / (PER_PAIR * s->strip_bytes)), 1), MOST_THREADS);
  }
  if (s->requests++ == 0)
    atomic_fetch_add(&busy, 1);
  link_request(s, r);
}

davit_status dvt_stage_begin(dvt_stream *stream, const dvt_copy *copy, dvt_notify over, void *argument) {
  stage *s = &stages[dvt_stream_ordinal(stream)];
  dvt_device_event *event = NULL;
  const bool up = copy->destination_place >= 0;
  pthread_once(&once, make_stages);
  if (!up)
    DVT_TRY(dvt_stream_record(stream, &event));
  request *r = dvt_allocate(1, sizeof *r);
  if (!r) {
    dvt_device_event_free(event);
    return DAVIT_OUT_OF_HOST_MEMORY;
  }
  *r = (request){
      .copy = *copy, .up = up, .stream = stream, .event = event, .over = over, .argument = argument};
  pthread_mutex_init(&r->enqueueing, NULL);
  pthread_mutex_lock(&s->lock);
  enlist(s, r);
  call_helper(s);
  if (s->helpers == 0) { /* none can be called */
    s->helpers++;
    pthread_mutex_unlock(&s->lock);
    dvt_ending_hold();
    help(s);
  } else {
    pthread_mutex_unlock(&s->lock);
  }
  return DAVIT_SUCCESS;
}

/* ---- and wait ---- */

typedef struct waiting {
  sem_t over;
  dvt_error error;
} waiting;

static void end_waiting(void *argument, davit_status status) {
  waiting *w = argument;
  dvt_error_keep(&w->error, status);
  sem_post(&w->over);
}

davit_status dvt_stage(dvt_stream *stream, const dvt_copy *copy) {
  waiting w = {.error = {.status = DAVIT_SUCCESS}};
  if (copy->row_bytes == 0 || copy->cols == 0)
    return DAVIT_SUCCESS;
  sem_init(&w.over, 0, 0);
  const davit_status status = dvt_stage_begin(stream, copy, end_waiting, &w);
  while (status == DAVIT_SUCCESS && sem_wait(&w.over) != 0) {
  }
  sem_destroy(&w.over);
  return status == DAVIT_SUCCESS ? dvt_error_report(&w.error) : status;
}
