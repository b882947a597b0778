/* SPDX-License-Identifier: Apache-2.0 */
/* A call from its front to the end: where the operands lie, which devices there are, what is chosen. */
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "offload/runtime/cublas.h"
#include "offload/runtime/device.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/cancel.h"
#include "src/base/ending.h"
#include "src/base/fork.h"
#include "src/base/inject.h"
#include "src/base/team.h"
#include "src/base/thread.h"
#include "src/level3/run.h"
#include "src/runtime/lane.h"
#include "src/runtime/memory.h"

enum { DVT_NOWHERE = INT_MIN }; /* a matrix that is not read */

/* ---- devices and places ---- */

static void find_places(dvt_level3_call *s) {
  const dvt_level3 *g = &s->arguments;
  const void *const base[] = {g->a, g->b, g->c};
  for (int x = 0; x < DVT_POOLS; x++)
    s->places[x] = (x == DVT_C || g->k > 0) && base[x] ? dvt_place_of(base[x]) : DVT_NOWHERE;
}

static bool reaches(const dvt_level3_call *s, int device, int pool) {
  const int place = s->places[pool];
  if (place == DVT_NOWHERE || (place == device && device != DAVIT_HOST))
    return true;
  return !s->options->separate_memory && dvt_device_find(device)->shares_host_memory &&
         dvt_place_is_host(place);
}

static int reached(const dvt_level3_call *s, int device) {
  int count = 0;
  for (int x = 0; x < DVT_POOLS; x++)
    count += reaches(s, device, x) && s->places[x] != DVT_NOWHERE;
  return count;
}

/* Those that reach most operands first, and the faster ones first among those. */
static void order_devices(dvt_level3_call *s) {
  const int count = s->options->device_count;
  dvt_model model;
  dvt_model_of(s->options->devices, count, s->arguments.type, &model);
  double weight[DVT_PLAN_DEVICES];
  for (int i = 0; i < count; i++) {
    const int device = s->options->devices[i];
    const double mine = 1e30 * reached(s, device) + model.device[i].rate;
    int at = i;
    for (; at > 0 && weight[at - 1] < mine; at--) {
      weight[at] = weight[at - 1];
      s->devices[at] = s->devices[at - 1];
    }
    weight[at] = mine;
    s->devices[at] = device;
  }
  s->shape.devices = count;
}

static void find_peers(dvt_level3_call *s) {
  for (int i = 0; i < s->shape.devices; i++)
    for (int j = 0; j < s->shape.devices; j++) {
      const dvt_device *one = dvt_device_find(s->devices[i]), *other = dvt_device_find(s->devices[j]);
      const bool same = one->shares_host_memory && other->shares_host_memory && dvt_peers_wanted();
      s->shape.peer[i][j] = i == j || same || (dvt_device_peers(one, other) && dvt_device_peers(other, one));
    }
}

/* Bytes of all matrices, and of partial sums of C. */
static double bytes_of_all(const dvt_plan_shape *shape) {
  double elements[DVT_POOLS];
  dvt_model_elements(shape, elements);
  return (elements[DVT_A] + elements[DVT_B] + 2 * elements[DVT_C]) * (double)shape->element;
}

/* Where all fits twice into what any device has, none is asked: that would take much of a short call. */
static davit_status find_memory(dvt_level3_call *s) {
  const bool fits = 2 * bytes_of_all(&s->shape) <= (double)((size_t)1 << 30); /* and give_less() is there */
  for (int i = 0; i < s->shape.devices; i++) {
    size_t *bytes = &s->shape.device[i].bytes;
    if ((*bytes = s->options->cache_bytes) == 0)
      DVT_TRY(dvt_memory_usable(s->devices[i], !fits, bytes));
  }
  return DAVIT_SUCCESS;
}

/* A device whose free memory is unknown, or that others have filled meanwhile, may not hold the tile buffers of a
 * plan: then half of them, unless the caller has said how many bytes. */
static void give_less(dvt_level3_call *s, const dvt_plan *plan, int device) {
  size_t used = 0;
  for (int pool = 0; pool < DVT_POOLS; pool++)
    used += (size_t)plan->buffers[device][pool] * plan->buffer_bytes[pool];
  s->again = used > 0 && s->options->cache_bytes == 0;
  s->shape.device[device].bytes = used / 2;
}

/* Whether outputs replace tiles of the matrix, B or C, that others are made from. */
static bool replaces(const dvt_rule *rule, int matrix) {
  return matrix != DVT_A && (rule->over_b || (!rule->uniform && matrix == DVT_C));
}

static void set_up(dvt_level3_call *s) {
  const dvt_level3 *g = &s->arguments;
  s->shape = (dvt_plan_shape){.rule = s->rule,
                              .length = {g->m, g->n, g->k},
                              .side = g->side,
                              .uplo = g->uplo,
                              .transa = g->transa,
                              .transb = g->transb,
                              .element = davit_type_bytes(g->type),
                              .load_c = !s->rule->uniform || g->beta != 0};
  const int64_t ld[] = {g->lda, g->ldb, g->ldc};
  for (int x = 0; x < DVT_POOLS; x++)
    s->shape.pitch[x] = (size_t)ld[x] * s->shape.element;
  find_places(s);
  order_devices(s);
  dvt_model_of(s->devices, s->shape.devices, s->arguments.type, &s->model);
  for (int i = 0; i < s->shape.devices; i++) {
    s->in_place[i] = true;
    for (int x = 0; x < DVT_POOLS; x++) {
      const bool here = reaches(s, s->devices[i], x);
      s->in_place[i] = s->in_place[i] && here;
      /* The plan must not overwrite what it has not read. */
      s->shape.device[i].resident[x] = here && !replaces(s->rule, x);
    }
    s->shape.device[i].rate = s->model.device[i].rate;
  }
  for (int x = 0; x < DVT_POOLS; x++) {
    s->model.on_host[x] = s->places[x] == DVT_NOWHERE || dvt_place_is_host(s->places[x]);
    s->model.pageable[x] = s->model.on_host[x] && s->places[x] != DAVIT_PINNED;
    s->model.owner[x] = -1;
    for (int i = 0; i < s->shape.devices; i++)
      if (s->devices[i] == s->places[x])
        s->model.owner[x] = i;
  }
  find_peers(s);
}

/* ---- one device that reaches everything ---- */

static davit_status run_form(const dvt_level3_call *s, int device, const dvt_operation *operation,
                             davit_level3_report *report) {
  const dvt_level3 *g = &s->arguments;
  const dvt_site host = {.device = device, .threads = dvt_threads()};
  dvt_lane *lane;
  if (dvt_path_on(device, operation) == DVT_ON_HOST) {
    report->written = true;
    return dvt_host_form(operation->host, &host, g);
  }
  DVT_TRY(dvt_lane_open(device, &lane));
  report->written = true;
  return dvt_lane_end(lane, dvt_operation_submit(lane, operation, g, 0));
}

static double whole_seconds(const dvt_level3_call *s, int index) {
  const double all = dvt_model_product(&s->model.device[index], (double)s->arguments.m,
                                       (double)s->arguments.n, (double)s->arguments.k);
  return s->rule->distribution(&s->shape) == DVT_DISTRIBUTE_BLOCKS ? all : all / 2;
}

/* The host itself, where the caller leaves the devices to davit and the operands lie there. */
static double host_seconds(const dvt_level3_call *s) {
  if (!s->any_device || s->options->tile || s->options->separate_memory ||
      dvt_device_find(s->devices[0])->shares_host_memory)
    return INFINITY;
  for (int x = 0; x < DVT_POOLS; x++)
    if (s->places[x] != DVT_NOWHERE && !dvt_place_is_host(s->places[x]))
      return INFINITY;
  const dvt_model_device host = dvt_model_host(dvt_threads(), s->arguments.type);
  return dvt_model_product(&host, (double)s->arguments.m, (double)s->arguments.n, (double)s->arguments.k);
}

/* ---- predictions ---- */

static bool predicts(const dvt_level3_call *s) {
  return s->options->predict_threads > 0;
}

/* Seconds of the call by BLIS, on as many threads as the caller asks about. */
static double blis_seconds(const dvt_level3_call *s) {
  const dvt_rule *rule = s->rule;
  const dvt_model_device host = dvt_model_host(s->options->predict_threads, s->arguments.type);
  const double product =
      dvt_model_product(&host, (double)s->arguments.m, (double)s->arguments.n, (double)s->arguments.k);
  return product * (rule->terms_per_k ? rule->terms_per_k : 1) /
         (rule->distribution(&s->shape) == DVT_DISTRIBUTE_BLOCKS ? 1 : 2);
}

/* Whether the caller asks for a prediction alone, and none of the choices on devices can be faster than BLIS: then they
 * are not looked at, which would take longer than short calls do. */
static bool is_answered_by_floors(const dvt_level3_call *s) {
  dvt_prediction p;
  if (!predicts(s))
    return false;
  dvt_model_floors(&s->model, &s->shape, s->shape.devices, &p);
  const double seconds = fmax(p.floor_arithmetic, p.floor_link), host = blis_seconds(s);
  *s->options->explanation = (davit_level3_explanation){
      .seconds = seconds, .floor_arithmetic = p.floor_arithmetic, .floor_link = p.floor_link, .host = host};
  return seconds >= host;
}

/* The maximum lengths of tiles. */
static void set_tiles(davit_level3_report *report, int64_t m, int64_t n, int64_t k) {
  report->tile_m = m;
  report->tile_n = n;
  report->tile_k = k;
  report->tile = dvt_at_least(dvt_at_least(m, n), k);
}

static davit_status run_whole(const dvt_level3_call *s, int device, davit_level3_report *report) {
  const dvt_operation *operation = &dvt_level3_operations[s->arguments.routine];
  if (s->options->explanation) {
    const double seconds = device == s->devices[0] ? whole_seconds(s, 0) : host_seconds(s);
    *s->options->explanation =
        (davit_level3_explanation){.seconds = seconds, .arithmetic = seconds, .floor_arithmetic = seconds};
  }
  if (predicts(s)) {
    s->options->explanation->host = blis_seconds(s);
    return DAVIT_SUCCESS;
  }
  set_tiles(report, s->arguments.m, s->arguments.n, s->arguments.k);
  report->device_count = 1;
  report->products = 1;
  report->devices[0].device = device;
  report->devices[0].products = 1;
  if (dvt_injected(DVT_INJECT_RUN))
    return davit_fail(DAVIT_DEVICE_LOST, "device %d does not answer", device);
  const int64_t begin = dvt_now_ns();
  const davit_status status = run_form(s, device, operation, report);
  if (dvt_tracing())
    dvt_trace_thread(operation->name, "compute", begin, dvt_now_ns());
  const davit_level3_options *options = s->options;
  if (options->progress && status == DAVIT_SUCCESS)
    options->progress(options->progress_context, 1, 1);
  return status;
}

/* ---- several devices, or tiles ---- */

/* Whether two divide the work into the same blocks and tiles. Those of equal lengths may differ in the order of their
 * work, which is not told. */
static bool are_divided_alike(const dvt_plan_choice *a, const dvt_plan_choice *b) {
  return memcmp(a->grid, b->grid, sizeof a->grid) == 0 && memcmp(a->tile, b->tile, sizeof a->tile) == 0;
}

/* The choices that can be told apart, the best of those that cannot. */
static void list_choices(const dvt_chosen *chosen, davit_level3_explanation *e) {
  for (int i = 0; i < chosen->count; i++) {
    const dvt_plan_choice *c = &chosen->candidate[i].choice;
    bool listed = false;
    for (int j = 0; j < i && !listed; j++)
      listed = are_divided_alike(c, &chosen->candidate[j].choice);
    if (listed)
      continue;
    e->choices[e->count].grid_m = c->grid[DVT_DIM_M];
    e->choices[e->count].grid_n = c->grid[DVT_DIM_N];
    e->choices[e->count].grid_k = c->grid[DVT_DIM_K];
    e->choices[e->count].tile_m = c->tile[DVT_DIM_M];
    e->choices[e->count].tile_n = c->tile[DVT_DIM_N];
    e->choices[e->count].tile_k = c->tile[DVT_DIM_K];
    e->choices[e->count++].seconds = chosen->candidate[i].seconds;
  }
}

/* Simulating the plan once more says what its time is made of. */
static davit_status explain(const dvt_level3_call *s, const dvt_chosen *chosen, const dvt_plan *plan) {
  davit_level3_explanation *e = s->options->explanation;
  dvt_prediction p;
  if (!e)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_simulate(&s->model, &s->shape, plan, &p));
  *e = (davit_level3_explanation){.seconds = p.seconds,
                                  .arithmetic = p.arithmetic,
                                  .load = p.load,
                                  .peer = p.peer,
                                  .store = p.store,
                                  .floor_arithmetic = p.floor_arithmetic,
                                  .floor_link = p.floor_link};
  list_choices(chosen, e);
  return DAVIT_SUCCESS;
}

/* What was remembered may not fit any more. */
static davit_status build_plan(const dvt_level3_call *s, int64_t tile, dvt_chosen *chosen, dvt_plan *plan) {
  davit_status status = dvt_plan_build(&s->shape, &chosen->candidate[0].choice, plan);
  if (status != DAVIT_OUT_OF_DEVICE_MEMORY)
    return status;
  DVT_TRY(dvt_choose(&s->model, &s->shape, tile, false, chosen));
  return dvt_plan_build(&s->shape, &chosen->candidate[0].choice, plan);
}

static davit_status run_plan(dvt_level3_call *s, int64_t tile, dvt_chosen *chosen,
                             davit_level3_report *report) {
  const dvt_plan_choice *choice = &chosen->candidate[0].choice;
  dvt_plan plan;
  int full;
  DVT_TRY(build_plan(s, tile, chosen, &plan));
  davit_status status = dvt_plan_run(s, &plan, report, &full, &s->begun);
  if (full >= 0)
    give_less(s, &plan, full);
  set_tiles(report, choice->tile[DVT_DIM_M], choice->tile[DVT_DIM_N], choice->tile[DVT_DIM_K]);
  if (status == DAVIT_SUCCESS)
    status = explain(s, chosen, &plan);
  dvt_plan_free(&plan);
  return status;
}

/* By tiles, or as a whole in a place where that takes so many seconds. */
static davit_status run_chosen(dvt_level3_call *s, int64_t tile, double whole, double host,
                               davit_level3_report *report) {
  dvt_chosen chosen = {.count = 0};
  const bool remembered = !s->again;
  s->again = false;
  const davit_status status = dvt_choose(&s->model, &s->shape, tile, remembered, &chosen);
  const bool full =
      status == DAVIT_OUT_OF_DEVICE_MEMORY && !isinf(fmin(whole, host)); /* they need no tiles */
  if (status != DAVIT_SUCCESS && !full)
    return status;
  if (full)
    dvt_error_clear();
  const double best = full ? fmin(whole, host) : chosen.candidate[0].seconds;
  if (whole <= best)
    return run_whole(s, s->devices[0], report);
  if (host < best || full)
    return run_whole(s, DAVIT_HOST, report);
  if (predicts(s)) {
    s->options->explanation->seconds = best;
    list_choices(&chosen, s->options->explanation);
    return DAVIT_SUCCESS;
  }
  return run_plan(s, tile, &chosen, report);
}

/* Whether tiles of that length may be halved: short ones only while a plan of them stays small. */
static bool may_halve(const dvt_level3_call *s, int64_t tile) {
  const int64_t shortest = 64, most_products = INT64_C(1) << 20;
  double products = 1;
  for (int x = 0; x < DVT_DIMS; x++)
    products *= (double)dvt_divide_up(dvt_at_least(s->shape.length[x], 1), dvt_at_least(tile / 2, 1));
  return tile > shortest || (tile > 1 && products <= (double)most_products);
}

/* On a device that turns out to be too full tiles are halved, but not the caller's. What it says if
 * nothing helps is the error of its first allocation. */
static davit_status run_smaller(dvt_level3_call *s, int64_t tile, double whole, double host,
                                davit_level3_report *report) {
  const int64_t wanted = s->options->tile;
  int64_t smaller = report->tile;
  dvt_error full = {.status = DAVIT_SUCCESS};
  for (;;) {
    const davit_status status = run_chosen(s, tile, whole, host, report);
    if (status != DAVIT_OUT_OF_DEVICE_MEMORY || s->begun)
      return status;
    dvt_error_keep(&full, status);
    if (s->again) {
      tile = wanted;
    } else if (!wanted && may_halve(s, smaller)) {
      smaller /= 2;
      tile = smaller;
    } else {
      return dvt_error_report(&full);
    }
  }
}

static davit_status run_best(dvt_level3_call *s, davit_level3_report *report) {
  const double at_once = 200e-6; /* seconds: a search takes longer than it saves (docs/notes/gemm.md, Cost) */
  const dvt_level3 *g = &s->arguments;
  const int64_t tile = s->options->tile;
  if (is_answered_by_floors(s))
    return DAVIT_SUCCESS;
  const double host = host_seconds(s), whole = s->in_place[0] && !tile ? whole_seconds(s, 0) : INFINITY;
  report->tile = dvt_at_least(dvt_at_least(g->m, g->n), g->k);
  if (whole < at_once || (s->shape.devices == 1 && !isinf(whole)))
    return run_whole(s, s->devices[0], report);
  if (host < at_once)
    return run_whole(s, DAVIT_HOST, report);
  DVT_TRY(find_memory(s));
  return run_smaller(s, tile, whole, host, report);
}

static bool has_gpu(const davit_level3_options *options) {
  bool any = false;
  for (int i = 0; i < options->device_count; i++)
    any |= !dvt_device_find(options->devices[i])->shares_host_memory;
  return any;
}

/* The first product of a process loads cuBLAS. */
typedef struct loading {
  bool begun;
  pthread_t thread;
} loading;

static void *load_cublas(void *unused) {
  (void)unused;
  dvt_cublas_load();
  return NULL;
}

/* Beside the choice of a plan, memory for tiles and its threads, if the devices will surely be used: what the host
 * does sooner is shorter than that. */
static void begin_loading(loading *l, const dvt_level3_call *s) {
  const double most = 50e-3;
  const dvt_device *first = dvt_device_find(s->devices[0]);
  const bool wanted = dvt_lane_has_stream(s->devices[0]) && !first->shares_host_memory &&
                      !dvt_cublas_is_loaded() && host_seconds(s) > most && !predicts(s);
  l->begun = wanted && dvt_thread_start(load_cublas, NULL, &l->thread) == DAVIT_SUCCESS;
  if (wanted && !l->begun)
    dvt_error_clear(); /* the first handle will load it */
}

static void end_loading(const loading *l) {
  if (l->begun)
    pthread_join(l->thread, NULL);
}

davit_status dvt_level3_run(const dvt_level3 *g, const davit_level3_options *options, bool any_device) {
  DVT_UNCANCELLED;
  const int64_t start = dvt_now_ns();
  davit_level3_report report = {0};
  DVT_TRY(dvt_may_wait());
  if (options->explanation)
    *options->explanation = (davit_level3_explanation){0};
  davit_status status = DAVIT_SUCCESS;
  if (g->m > 0 && g->n > 0) {
    dvt_level3_call *s = dvt_allocate(1, sizeof *s);
    if (!s)
      return DAVIT_OUT_OF_HOST_MEMORY;
    s->rule = dvt_rule_of(g->routine);
    s->arguments = *g;
    s->options = options;
    s->any_device = any_device;
    dvt_backend_hold();
    DVT_INSIDE_IF(has_gpu(options));
    set_up(s);
    loading cublas;
    begin_loading(&cublas, s);
    status = run_best(s, &report);
    end_loading(&cublas);
    dvt_backend_drop();
    free(s);
    report.seconds = 1e-9 * (double)(dvt_now_ns() - start);
  }
  if (status == DAVIT_SUCCESS && options->report)
    *options->report = report;
  else if (options->report)
    options->report->written = report.written;
  return status;
}
