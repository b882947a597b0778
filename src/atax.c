/* SPDX-License-Identifier: Apache-2.0 */
/* y = opᵀ(A) (op(A) x): on a queue, and spread over devices. 4 m n flops over m n elements of A, each read
 * once by a device: where A lies on the host the link's m n elements are the floor. */
#include <davit/atax.h>
#include <string.h>

#include "offload/atax.h"
#include "offload/blas.h"
#include "offload/runtime/device.h"
#include "offload/runtime/space.h"
#include "src/base/arithmetic.h"
#include "src/base/team.h"
#include "src/runtime/memory.h"
#include "src/runtime/operation.h"
#include "src/runtime/spread.h"
#include "src/runtime/tuning.h"
#include "src/shape.h"

/* Whether the vector, an output, shares an element with another argument. */
static davit_status check_output(const dvt_atax *g, const char *name, const void *vector, int64_t length) {
  size_t element = davit_type_bytes(g->type);
  if (dvt_vectors_overlap(vector, length, 1, g->x, dvt_atax_outer(g), 1, element))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s overlaps x", name);
  if (dvt_blocks_overlap(g->a, g->lda, g->m, g->n, vector, length > 0 ? length : 1, length, 1, element))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s overlaps a", name);
  return DAVIT_SUCCESS;
}

static davit_status check_pointers(const dvt_atax *g) {
  bool empty = g->m == 0 || g->n == 0;
  if (!empty && (!g->a || !g->x))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s is NULL", g->a ? "x" : "a");
  if (!g->y && dvt_atax_outer(g) > 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "y is NULL");
  if (g->tmp && dvt_vectors_overlap(g->tmp, dvt_atax_inner(g), 1, g->y, dvt_atax_outer(g), 1,
                                    davit_type_bytes(g->type)))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "tmp overlaps y");
  if (empty)
    return DAVIT_SUCCESS;
  DVT_TRY(check_output(g, "y", g->y, dvt_atax_outer(g)));
  return g->tmp ? check_output(g, "tmp", g->tmp, dvt_atax_inner(g)) : DAVIT_SUCCESS;
}

static davit_status check(void *arguments) {
  dvt_atax *g = arguments;
  DVT_TRY(dvt_check_floating(g->type));
  DVT_TRY(dvt_check_trans("trans", g->type, g->trans, &g->trans));
  DVT_TRY(dvt_check_length("m", g->m));
  DVT_TRY(dvt_check_length("n", g->n));
  DVT_TRY(dvt_check_ld("lda", g->lda, g->m, g->n));
  return check_pointers(g);
}

/* Sums over nothing. */
static davit_status fill_zero(const dvt_site *site, const void *arguments) {
  const dvt_atax *g = arguments;
  struct {
    void *pointer;
    size_t bytes;
  } outputs[] = {{g->y, (size_t)dvt_atax_outer(g) * davit_type_bytes(g->type)},
                 {g->tmp, (size_t)dvt_atax_inner(g) * davit_type_bytes(g->type)}};
  for (int i = 0; i < 2; i++)
    if (outputs[i].pointer && outputs[i].bytes > 0)
      DVT_TRY(site->stream ? dvt_stream_fill(site->stream, outputs[i].pointer, 0, outputs[i].bytes)
                           : dvt_space_fill(outputs[i].pointer, site->device, 0, outputs[i].bytes));
  return DAVIT_SUCCESS;
}

static const dvt_operation operation = {.name = "atax",
                                        .bytes = sizeof(dvt_atax),
                                        .check = check,
                                        .stream = dvt_atax_device,
                                        .prepare = dvt_blas_prepare,
                                        .host = dvt_atax_host,
                                        .region = dvt_atax_device,
                                        .region_on_host = true,
                                        .tuned_threads = DVT_TUNE_ATAX_THREADS};

static davit_status submit(dvt_lane *lane, const dvt_atax *g) {
  if (g->m == 0 || g->n == 0)
    return dvt_lane_submit(lane, lane->stream ? DVT_STREAMED : DVT_TRANSFER, fill_zero, g, sizeof *g);
  dvt_atax tuned = *g;
  tuned.teams =
      dvt_tuned(lane->device, DVT_TUNE_ATAX_TEAMS, 0) * dvt_device_find(lane->device)->info.compute_units;
  return dvt_operation_submit(lane, &operation, &tuned, 0);
}

/* Of columns of 8192. */
davit_status dvt_atax_kernel(int device, dvt_stream *stream, dvt_kernel_fit *fit) {
  (void)device;
  return dvt_atax_fit(stream, &(dvt_atax){.type = DAVIT_DOUBLE, .trans = 'T', .m = 8192, .n = 8192}, fit);
}

static davit_status use_mapped(dvt_atax *g, int device) {
  const bool unread = g->m == 0 || g->n == 0;
  return DVT_USE_MAPPED(device, {"a", &g->a, unread}, {"x", &g->x, unread},
                        {"tmp", &g->tmp, dvt_atax_inner(g) == 0}, {"y", &g->y, dvt_atax_outer(g) == 0});
}

davit_status davit_queue_atax(davit_queue *queue, davit_type type, char trans, int64_t m, int64_t n,
                              const void *a, int64_t lda, const void *x, void *tmp, void *y,
                              const davit_atax_options *options) {
  dvt_lane *lane = dvt_queue_lane(queue);
  if (!lane)
    return DAVIT_INVALID_ARGUMENT;
  DVT_TRY(DVT_CHECK_QUEUE_OPTIONS(options));
  dvt_atax g = {type, trans, m, n, a, lda, x, tmp, y, false, 0};
  DVT_TRY(check(&g));
  if (DVT_MAPPED(options))
    DVT_TRY(use_mapped(&g, lane->device));
  return submit(lane, &g);
}

/* ---- over several devices ---- */

/* Elements of tmp stand for rows of op(A), which are independent: each lane takes a range of them, chunk by
 * chunk, and adds to a y of its own. These are added up on the host, in the order of the lanes. A chunk of A
 * is at most CHUNK bytes, one row of op(A) at least. */
enum { CHUNK = 32 << 20, OPERAND_A = 0, OPERAND_TMP = 1, OPERAND_X = 2 };

typedef struct spread_run {
  dvt_spread vector;
  const dvt_atax *g;
  int64_t chunk; /* rows of op(A) */
  int lanes;
  char *sums; /* pinned: the lanes' ys */
  void *y[DVT_MAX_DEVICES * DVT_SPREAD_LANES];
} spread_run;

static dvt_spread_lane *lane_of(spread_run *run, int lane) {
  return &run->vector.device[lane / DVT_SPREAD_LANES].lane[lane % DVT_SPREAD_LANES];
}

static davit_status run_chunk(spread_run *run, int lane, const void *x, int64_t begin, int64_t end,
                              bool add) {
  const dvt_atax *g = run->g;
  dvt_spread_lane *on = lane_of(run, lane);
  size_t element = davit_type_bytes(g->type), pitch, rows, count = (size_t)(end - begin);
  dvt_atax part = *g;
  char *block = (char *)(uintptr_t)g->a + (size_t)(g->trans == 'N' ? begin : begin * g->lda) * element;
  *(g->trans == 'N' ? &part.m : &part.n) = end - begin;
  rows = (size_t)part.m * element;
  void *a, *tmp = NULL, *home = g->tmp ? (char *)g->tmp + (size_t)begin * element : NULL;
  DVT_TRY(dvt_spread_operand(&run->vector, on, OPERAND_A, true, block, (size_t)g->lda * element, rows,
                             (size_t)part.n, &a, &pitch));
  part.a = a;
  part.lda = (int64_t)(pitch / element);
  if (home)
    DVT_TRY(dvt_spread_operand(&run->vector, on, OPERAND_TMP, false, home, count * element, count * element,
                               1, &tmp, &pitch));
  part.x = x;
  part.tmp = tmp;
  part.y = run->y[lane];
  part.add = add;
  DVT_TRY(submit(on->lane, &part));
  return home ? dvt_spread_store(on, tmp, pitch, home, count * element, count * element, 1) : DAVIT_SUCCESS;
}

static davit_status run_lane(spread_run *run, int lane) {
  const dvt_atax *g = run->g;
  dvt_spread_lane *on = lane_of(run, lane);
  size_t bytes = (size_t)dvt_atax_outer(g) * davit_type_bytes(g->type), pitch;
  const dvt_span range = dvt_spread_range(dvt_atax_inner(g), lane, run->lanes);
  if (range.begin == range.end)
    return DAVIT_SUCCESS;
  void *x;
  DVT_TRY(dvt_malloc(bytes, on->lane->device, &run->y[lane]));
  DVT_TRY(dvt_spread_operand(&run->vector, on, OPERAND_X, true, (void *)(uintptr_t)g->x, bytes, bytes, 1, &x,
                             &pitch));
  for (int64_t i = range.begin; i < range.end; i += run->chunk)
    DVT_TRY(run_chunk(run, lane, x, i, dvt_at_most(i + run->chunk, range.end), i > range.begin));
  return dvt_spread_store(on, run->y[lane], bytes, run->sums + (size_t)lane * bytes, bytes, bytes, 1);
}

/* The first of the lanes' ys becomes the sum of all. */
static void add_up(const spread_run *run) {
  int64_t length = dvt_atax_outer(run->g),
          used = dvt_atax_inner(run->g) < run->lanes ? dvt_atax_inner(run->g) : run->lanes;
  for (int64_t k = 1; k < used; k++)
    for (int64_t i = 0; i < length; i++)
      if (run->g->type == DAVIT_DOUBLE)
        ((double *)(void *)run->sums)[i] += ((double *)(void *)run->sums)[k * length + i];
      else
        ((float *)(void *)run->sums)[i] += ((float *)(void *)run->sums)[k * length + i];
}

static davit_status run_all(spread_run *run) {
  DVT_TRY(dvt_malloc((size_t)run->lanes * (size_t)dvt_atax_outer(run->g) * davit_type_bytes(run->g->type),
                     DAVIT_PINNED, (void **)&run->sums));
  for (int lane = 0; lane < run->lanes; lane++)
    DVT_TRY(run_lane(run, lane));
  return DAVIT_SUCCESS;
}

static davit_status spread(const dvt_atax *g, const int *devices, int count) {
  size_t element = davit_type_bytes(g->type), row = (size_t)dvt_atax_outer(g) * element;
  spread_run run = {.g = g,
                    .lanes = count * DVT_SPREAD_LANES,
                    .chunk = dvt_tuned(devices[0], DVT_TUNE_ATAX_CHUNK_BYTES, CHUNK) / (int64_t)row};
  run.chunk = run.chunk > 1 ? run.chunk : 1;
  DVT_TRY(dvt_spread_open(&run.vector, devices, count, (size_t)run.chunk * row));
  davit_status status = dvt_spread_close(&run.vector, run_all(&run));
  if (status == DAVIT_SUCCESS) {
    add_up(&run);
    status = davit_copy(row, run.sums, g->y);
  }
  for (int lane = 0; lane < run.lanes; lane++)
    davit_free(run.y[lane]);
  davit_free(run.sums);
  return status;
}

/* All of it by one device that reaches everything, or nothing to multiply. */
static davit_status run_alone(const dvt_atax *g, int device) {
  dvt_lane *lane;
  DVT_TRY(dvt_lane_open(device, &lane));
  return dvt_lane_end(lane, submit(lane, g));
}

/* All of it by the host, with so many threads whoever calls, as the bits depend on them; 0: those of the device. */
static davit_status run_at_home(const dvt_atax *g, int device, int threads) {
  dvt_lane *lane;
  if ((double)g->m * (double)g->n * (double)davit_type_bytes(g->type) <= (double)DVT_SHORT_BYTES)
    threads = DVT_ALONE;
  if (dvt_operation_runs_here(device, &operation, threads))
    return dvt_operation_run_here(device, &operation, g, threads);
  DVT_TRY(dvt_lane_open(device, &lane));
  return dvt_lane_end(lane, dvt_operation_submit(lane, &operation, g, threads));
}

davit_status davit_atax(davit_type type, char trans, int64_t m, int64_t n, const void *a, int64_t lda,
                        const void *x, void *tmp, void *y, const davit_atax_options *options) {
  int chosen[DVT_MAX_DEVICES], count;
  dvt_atax g = {type, trans, m, n, a, lda, x, tmp, y, false, 0};
  DVT_TRY(check(&g));
  DVT_TRY(DVT_CHOOSE_WITH_MAPPED(options, chosen, &count));
  if (DVT_MAPPED(options))
    DVT_TRY(use_mapped(&g, chosen[0]));
  if (m == 0 || n == 0) {
    size_t bytes = davit_type_bytes(g.type);
    DVT_TRY(dvt_atax_outer(&g) > 0 ? davit_fill((size_t)dvt_atax_outer(&g) * bytes, 0, g.y) : DAVIT_SUCCESS);
    return g.tmp && dvt_atax_inner(&g) > 0 ? davit_fill((size_t)dvt_atax_inner(&g) * bytes, 0, g.tmp)
                                           : DAVIT_SUCCESS;
  }
  if (dvt_spread_is_home(chosen, count, options && options->devices, 4,
                         (const void *[]){g.a, g.x, g.tmp, g.y}))
    return run_at_home(&g, chosen[0], count > 1 ? dvt_threads() : 0);
  if (count == 1 && dvt_place_reached(chosen[0], dvt_place_of(g.a)) &&
      dvt_place_reached(chosen[0], dvt_place_of(g.x)) &&
      (!g.tmp || dvt_place_reached(chosen[0], dvt_place_of(g.tmp))) &&
      dvt_place_reached(chosen[0], dvt_place_of(g.y)))
    return run_alone(&g, chosen[0]);
  return spread(&g, chosen, count);
}
