/* SPDX-License-Identifier: Apache-2.0 */
/* Portions of windows, which devices take until none is left.
 *
 * A device's worker takes a portion, gets its scores from the device, and tests the significance of them on the host's
 * threads. A GPU has three workers, two of which may have it compute at a time, so that one portion is copied or
 * tested while others are computed. (Two workers alone come to test at the same time: a GPU shares its time between
 * them, so they end together, and it has nothing to do.) Portions become smaller towards the end. A window that
 * the stream's end cuts short is a portion of its own, with orders of its own. Memory: portion_bytes of scores a
 * worker. */
#include "src/detect_search.h"

#include <davit/memory.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "ref/detect.h"
#include "ref/permutation.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/error.h"
#include "src/base/limit.h"
#include "src/base/team.h"
#include "src/runtime/memory.h"
#include "src/runtime/place.h"
#include "src/runtime/tuning.h"
#include "src/shape.h"

enum {
  UNIT = 32, /* windows: what a CPU's vectors hold */
  GPU_WORKERS = 3,
  GPU_SCORING = 2,  /* of these, at a time */
  GPU_PORTIONS = 4, /* of a worker */
  GPU_PORTION_RUNS = 1 << 18,
  GPU_LAST_RUNS = 1 << 16,
  GPU_PORTION_WINDOWS = 4096 /* at most: each has a profile in the GPU's memory */
};
static const int64_t portion_bytes = INT64_C(1) << 26; /* of scores */

davit_status dvt_detect_orders(const davit_detector *d, int64_t permutations, int64_t length,
                               uint16_t **orders) {
  const davit_detect_options *o = &d->options;
  uint16_t *made;
  DVT_TRY(dvt_malloc((size_t)((permutations + 1) * length) * sizeof *made, d->memory, (void **)&made));
  enum { COST = 4 }; /* of a number of an order, in features */
  const dvt_team team = dvt_team_begin(dvt_detect_threads(COST * permutations * length));
#pragma omp parallel for num_threads(team.threads) schedule(static)
  for (int64_t r = 0; r <= permutations; r++)
    dvt_block_permutation(o->seed, (uint64_t)r, (int)length, (int)o->block, made + r * length);
  dvt_team_end(&team);
  *orders = made;
  return DAVIT_SUCCESS;
}

/* ---- portions ---- */

/* What the workers of a search share. Windows [0, whole) have the full length, a last one may be shorter. */
typedef struct detection {
  const davit_detector *detector;
  const dvt_detect_request *request;
  dvt_detect_task task; /* of all whole windows; scores and `transposed` belong to workers */
  uint16_t *short_orders;
  int64_t windows, whole, short_length; /* 0: no shorter window */
  int64_t portion, smallest;            /* windows that a worker takes at a time */
  int gpus;                             /* that share the host's threads for judging */
  int workers;
  atomic_llong next; /* the first window that nobody has taken */
} detection;

static davit_status prepare(detection *d) {
  const davit_detector *detector = d->detector;
  const dvt_detect_request *request = d->request;
  const davit_detect_options *o = &request->options;
  const int64_t last = dvt_detect_length(request->frames, o, d->windows - 1);
  const dvt_detect_gaps gaps = dvt_detect_gaps_of(o);
  d->short_length = last < o->window ? last : 0;
  d->whole = d->windows - (d->short_length ? 1 : 0);
  if (d->short_length)
    DVT_TRY(dvt_detect_orders(detector, dvt_detect_shuffles(o), d->short_length, &d->short_orders));
  d->task = (dvt_detect_task){.width = detector->width,
                              .windows = d->whole,
                              .window = o->window,
                              .hop = dvt_detect_hop(o),
                              .stream = request->stream,
                              .effect_count = request->effect_count,
                              .effects = request->effects->ranges + request->first_effect,
                              .features = request->effects->frames,
                              .runs = dvt_detect_shuffles(o) + 1,
                              .orders = request->orders,
                              .threshold = (float)o->threshold,
                              .gap_open = gaps.open,
                              .gap_extend = gaps.extend,
                              .round = o->round};
  return DAVIT_SUCCESS;
}

/* Windows [begin, end) as a task. */
static dvt_detect_task portion_of(const detection *d, int64_t begin, int64_t end, const float *transposed,
                                  float *scores) {
  dvt_detect_task t = d->task;
  t.windows = end - begin;
  t.stream += begin * t.hop * t.width;
  t.transposed = transposed;
  t.scores = scores;
  if (begin == d->whole) {
    t.window = d->short_length;
    t.orders = d->short_orders;
  }
  return t;
}

/* The end of the portion that begins with window `begin`. */
static int64_t portion_end(const detection *d, int64_t begin) {
  const int64_t left = d->whole - begin, share = dvt_divide_up(left, d->workers),
                wanted = dvt_at_most(dvt_at_least(share, d->smallest), d->portion);
  return left > 0 ? begin + dvt_at_most(wanted, left) : begin + 1; /* the shorter window */
}

/* The next portion; false: there is none left. */
static bool take_portion(detection *d, int64_t *begin, int64_t *end) {
  long long next = atomic_load(&d->next);
  do {
    if (next >= d->windows)
      return false;
    *begin = next;
    *end = portion_end(d, next);
  } while (!atomic_compare_exchange_weak(&d->next, &next, *end));
  return true;
}

/* Windows first … of a portion that begins with window `begin`, as many as are traced together, and effect e. */
static void test_windows(const detection *d, const dvt_detect_task *t, int64_t begin, int64_t first, int e,
                         void *memory) {
  const int64_t count = dvt_at_most(t->windows - first, DVT_DETECT_TRACED);
  int64_t onset[DVT_DETECT_TRACED], offset[DVT_DETECT_TRACED];
  dvt_detect_trace(t, e, first, count, memory, onset, offset);
  for (int64_t k = 0; k < count; k++) {
    const float *scores = t->scores + ((first + k) * t->effect_count + e) * t->runs;
    const int64_t window = begin + first + k, frame = window * t->hop;
    davit_detect_hit *result = &d->request->hits[window * t->effect_count + e];
    *result = (davit_detect_hit){.window = window,
                                 .effect = d->request->first_effect + e,
                                 .onset = frame + onset[k],
                                 .offset = frame + offset[k],
                                 .score = scores[0]};
    if (t->runs > 1)
      dvt_ref_detect_significance(d->request->effects->full[result->effect], scores + 1, &d->request->options,
                                  result);
  }
}

static davit_status test_portion(const detection *d, const dvt_detect_task *t, int64_t begin, int threads) {
  if (d->request->scores) {
    memcpy(d->request->scores + begin, t->scores, (size_t)t->windows * sizeof *t->scores);
    return DAVIT_SUCCESS;
  }
  const int64_t groups = dvt_divide_up(t->windows, DVT_DETECT_TRACED);
  atomic_bool failed = false;
  const dvt_team team = dvt_team_begin((int)dvt_at_most(groups * t->effect_count, threads));
#pragma omp parallel num_threads(team.threads)
  {
    void *memory = dvt_allocate_aligned(dvt_detect_trace_bytes(t));
    if (!memory)
      atomic_store(&failed, true);
#pragma omp for schedule(dynamic)
    for (int64_t i = 0; i < groups * t->effect_count; i++)
      if (memory)
        test_windows(d, t, begin, i / t->effect_count * DVT_DETECT_TRACED, (int)(i % t->effect_count),
                     memory);
    free(memory);
  }
  dvt_team_end(&team);
  return atomic_load(&failed)
             ? davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory to judge %lld windows", (long long)t->windows)
             : DAVIT_SUCCESS;
}

/* ---- workers ---- */

/* One of a call, on a lane of its own. */
typedef struct worker {
  detection *d;
  const float *transposed;
  sem_t *free; /* of its GPU: how many more may have it compute; NULL: it is none */
} worker;

static const dvt_operation scoring = {.name = "detect",
                                      .bytes = sizeof(dvt_detect_task),
                                      .stream = dvt_detect_stream,
                                      .host = dvt_detect_host,
                                      .region = dvt_detect_region,
                                      .region_on_host = true};

/* Of an effect of 108 frames in a window of 200, scores in whole numbers. */
davit_status dvt_detect_kernel(int device, dvt_stream *stream, dvt_kernel_fit *fit) {
  const dvt_detect_task t = {.window = 200,
                             .runs = 10000,
                             .threshold = 50,
                             .gap_open = 133,
                             .gap_extend = 33,
                             .round = true,
                             .threads = dvt_tuned(device, DVT_TUNE_DETECT_TEAM_THREADS, 0)};
  return dvt_detect_fit(stream, &t, 108, fit);
}

static davit_status score(const worker *w, const dvt_site *site, const dvt_detect_task *t) {
  while (w->free && sem_wait(w->free) != 0) /* a signal may interrupt it */
    ;
  const davit_status status = dvt_operation_run(site, &scoring, t);
  if (w->free)
    sem_post(w->free);
  return status;
}

static davit_status take_portions(const worker *w, const dvt_site *site, float *scores) {
  detection *d = w->d;
  int64_t begin, end;
  const int share = w->free ? dvt_device_threads(DAVIT_HOST) / (d->gpus * (GPU_WORKERS - 1)) : site->threads,
            threads = share > 0 ? share : 1;
  while (take_portion(d, &begin, &end)) {
    dvt_detect_task t = portion_of(d, begin, end, w->transposed, scores);
    t.threads = dvt_tuned(site->device, DVT_TUNE_DETECT_TEAM_THREADS, 0);
    DVT_TRY(score(w, site, &t));
    DVT_TRY(test_portion(d, &t, begin, threads));
  }
  return DAVIT_SUCCESS;
}

static davit_status work(const dvt_site *site, const void *arguments) {
  const worker *w = arguments;
  detection *d = w->d;
  const size_t windows = (size_t)dvt_at_most(d->portion, dvt_at_least(d->whole, 1));
  float *scores = NULL;
  davit_status status = dvt_malloc(windows * (size_t)(d->task.effect_count * d->task.runs) * sizeof *scores,
                                   site->stream ? DAVIT_PINNED : DAVIT_PAGEABLE, (void **)&scores);
  if (status == DAVIT_SUCCESS)
    status = take_portions(w, site, scores);
  davit_status freed = davit_free(scores);
  if (status != DAVIT_SUCCESS)
    atomic_store(&d->next, d->windows); /* the others need not go on */
  return status == DAVIT_SUCCESS ? freed : status;
}

/* On a CPU as many windows as the scores' memory allows, but enough portions for all workers, and always full
 * vectors. A GPU computes one portion while another is tested, so its workers get several each, if these
 * still fill the GPU; the last ones become smaller, so that all end at about the same time. */
static void choose_portion(detection *d) {
  const int64_t each = d->task.effect_count * d->task.runs * (int64_t)sizeof(float),
                shares = dvt_divide_up(d->whole, dvt_at_least(d->workers, 1)), unit = d->gpus ? 1 : UNIT;
  int64_t portion = dvt_at_most(portion_bytes / each, shares);
  if (d->gpus)
    portion = dvt_at_most(portion, dvt_at_least(dvt_divide_up(shares, GPU_PORTIONS),
                                                dvt_at_most(GPU_PORTION_WINDOWS,
                                                            dvt_divide_up(GPU_PORTION_RUNS, d->task.runs))));
  d->portion = dvt_at_least(dvt_divide_up(portion, unit), 1) * unit;
  d->smallest = d->gpus ? dvt_divide_up(GPU_LAST_RUNS, d->task.runs) : d->portion;
}

/* What the host's threads take for their work; on GPUs they test only. */
static davit_status check_memory(const detection *d) {
  const size_t test_significance = dvt_detect_trace_bytes(&d->task),
               score = d->gpus < d->detector->device_count ? dvt_detect_score_bytes(&d->task) : 0;
  return dvt_check_memory((size_t)dvt_threads() * (test_significance > score ? test_significance : score));
}

static davit_status run_workers(detection *d) {
  dvt_lane *lanes[DVT_MAX_DEVICES * GPU_WORKERS];
  worker workers[DVT_MAX_DEVICES * GPU_WORKERS];
  sem_t scoring_at_once[DVT_MAX_DEVICES];
  int count = 0;
  dvt_error first = {.status = DAVIT_SUCCESS};
  for (int i = 0; i < d->detector->device_count; i++) {
    const int device = d->detector->devices[i];
    const bool gpu = !dvt_device_find(device)->shares_host_memory;
    d->gpus += gpu;
    sem_init(&scoring_at_once[i], 0, GPU_SCORING);
    for (int k = 0; k < (gpu ? GPU_WORKERS : 1) && first.status == DAVIT_SUCCESS; k++) {
      workers[count] = (worker){d, d->request->effects->transposed[i], gpu ? &scoring_at_once[i] : NULL};
      dvt_error_keep(&first, dvt_lane_open(device, &lanes[count]));
      count += first.status == DAVIT_SUCCESS;
    }
  }
  d->workers = count;
  choose_portion(d);
  if (first.status == DAVIT_SUCCESS)
    dvt_error_keep(&first, check_memory(d));
  for (int i = 0; i < count && first.status == DAVIT_SUCCESS; i++)
    dvt_error_keep(&first, dvt_lane_submit(lanes[i], DVT_BLOCKING, work, &workers[i], sizeof workers[i]));
  for (int i = 0; i < count; i++)
    dvt_error_keep(&first, dvt_lane_close(lanes[i]));
  for (int i = 0; i < d->detector->device_count; i++)
    sem_destroy(&scoring_at_once[i]);
  return dvt_error_report(&first);
}

davit_status dvt_detect_search(const davit_detector *detector, const dvt_detect_request *request) {
  detection d = {.detector = detector,
                 .request = request,
                 .windows = dvt_detect_windows(request->frames, &request->options)};
  davit_status status = prepare(&d);
  if (status == DAVIT_SUCCESS)
    status = run_workers(&d);
  davit_free(d.short_orders);
  return status;
}
