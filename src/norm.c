/* SPDX-License-Identifier: Apache-2.0 */
/* nrm2 and asum: on a queue, and spread over devices. n elements read. */
#include <davit/norm.h>

#include "offload/blas.h"
#include "src/runtime/memory.h"
#include "src/runtime/operation.h"
#include "src/runtime/spread.h"

/* The sign of an increment does not matter here: it is dropped. */
static davit_status check(void *arguments) {
  dvt_norm *g = arguments;
  DVT_TRY(dvt_check_length("n", g->n));
  DVT_TRY(dvt_check_increment("incx", g->incx, g->n));
  g->incx = g->incx < 0 ? -g->incx : g->incx;
  if (g->n > 0)
    DVT_TRY(dvt_check_pointer("x", g->x));
  return dvt_check_pointer("result", g->result);
}

static const dvt_operation operation = {.name = "norm",
                                        .bytes = sizeof(dvt_norm),
                                        .check = check,
                                        .stream = dvt_norm_stream,
                                        .prepare = dvt_blas_prepare,
                                        .host = dvt_norm_host,
                                        .region = dvt_norm_region,
                                        .region_on_host = true,
                                        .serial = true};

static davit_status use_mapped(void *arguments, int device) {
  dvt_norm *g = arguments;
  return DVT_USE_MAPPED(device, {"x", &g->x, g->n == 0});
}

static davit_status enqueue(davit_queue *queue, dvt_norm *g, const davit_norm_options *options) {
  dvt_lane *lane = dvt_queue_lane(queue);
  if (!lane)
    return DAVIT_INVALID_ARGUMENT;
  DVT_TRY(DVT_CHECK_QUEUE_OPTIONS(options));
  DVT_TRY(check(g));
  if (DVT_MAPPED(options))
    DVT_TRY(use_mapped(g, lane->device));
  g->on_device = !dvt_place_is_host(lane->device) && dvt_place_of(g->result) == lane->device;
  return dvt_operation_submit_result(lane, &operation, g, 0, &g->result,
                                     davit_type_bytes(dvt_real_type(g->type)));
}

/* ---- over several devices ---- */

/* Chunks of fixed length, whatever the devices: their norms, and so the bits, are the same for any number of
 * devices of one kind. The norm of the norms is the result: a sum for asum, a scaled sum of squares for nrm2.
 * */
enum { CHUNK = 1 << 20 };

static davit_status run_chunk(dvt_spread *run, dvt_spread_lane *lane, const dvt_norm *g, char *norms,
                              int64_t chunk) {
  const size_t element = davit_type_bytes(g->type), real = davit_type_bytes(dvt_real_type(g->type));
  const int64_t begin = chunk * CHUNK, end = g->n - begin < CHUNK ? g->n : begin + CHUNK;
  const dvt_spread_chunk x = dvt_spread_cut(g->x, g->n, g->incx, begin, end, element);
  void *at;
  size_t pitch;
  DVT_TRY(dvt_spread_operand(run, lane, 0, true, x.base, x.pitch, x.row_bytes, x.cols, &at, &pitch));
  const dvt_norm part = {g->type,
                         g->squares,
                         end - begin,
                         at,
                         dvt_spread_step(g->incx, pitch, element),
                         norms + (size_t)chunk * real,
                         false};
  return dvt_operation_submit(lane->lane, &operation, &part, 0);
}

static davit_status run_all(dvt_spread *run, const dvt_norm *g, char *norms, int64_t chunks) {
  for (int i = 0; i < run->devices; i++) {
    const dvt_span range = dvt_spread_range(chunks, i, run->devices);
    for (int64_t chunk = range.begin; chunk < range.end; chunk++)
      DVT_TRY(run_chunk(run, &run->device[i].lane[chunk % DVT_SPREAD_LANES], g, norms, chunk));
  }
  return DAVIT_SUCCESS;
}

static davit_status spread(dvt_norm *g, const davit_norm_options *options) {
  int chosen[DVT_MAX_DEVICES], count;
  DVT_TRY(check(g));
  DVT_TRY(DVT_CHOOSE_WITH_MAPPED(options, chosen, &count));
  if (DVT_MAPPED(options))
    DVT_TRY(use_mapped(g, chosen[0]));
  const int64_t chunks = (g->n + CHUNK - 1) / CHUNK;
  const davit_type real = dvt_real_type(g->type);
  void *norms = NULL;
  davit_status status = DAVIT_SUCCESS;
  if (chunks == 1 && dvt_spread_is_short(&operation, chosen, count, options && options->devices, 2,
                                         (const void *[]){g->x, g->result}, 0)) /* as in dot.c */
    return dvt_operation_run_here(chosen[0], &operation, g, DVT_ALONE);
  if (chunks > 0) {
    DVT_TRY(dvt_malloc((size_t)chunks * davit_type_bytes(real), DAVIT_PINNED, &norms));
    dvt_spread run;
    status = dvt_spread_open(&run, chosen, count, CHUNK * davit_type_bytes(g->type));
    if (status == DAVIT_SUCCESS)
      status = dvt_spread_close(&run, run_all(&run, g, norms, chunks));
  }
  if (status == DAVIT_SUCCESS)
    status = dvt_norm_host(&(dvt_site){.threads = 1},
                           &(dvt_norm){real, g->squares, chunks, norms, 1, g->result, false});
  davit_free(norms);
  return status;
}

/* ---- the calls ---- */

#define DEFINE(name, T, P, TYPE, squares)                                                                    \
  davit_status davit_##name(int64_t n, const T *x, int64_t incx, P *result,                                  \
                            const davit_norm_options *options) {                                             \
    return spread(&(dvt_norm){TYPE, squares, n, x, incx, result, false}, options);                           \
  }                                                                                                          \
  davit_status davit_queue_##name(davit_queue *queue, int64_t n, const T *x, int64_t incx, P *result,        \
                                  const davit_norm_options *options) {                                       \
    return enqueue(queue, &(dvt_norm){TYPE, squares, n, x, incx, result, false}, options);                   \
  }
DEFINE(dnrm2, double, double, DAVIT_DOUBLE, true)
DEFINE(snrm2, float, float, DAVIT_FLOAT, true)
DEFINE(dznrm2, davit_complex_double, double, DAVIT_COMPLEX_DOUBLE, true)
DEFINE(scnrm2, davit_complex_float, float, DAVIT_COMPLEX_FLOAT, true)
DEFINE(dasum, double, double, DAVIT_DOUBLE, false)
DEFINE(sasum, float, float, DAVIT_FLOAT, false)
DEFINE(dzasum, davit_complex_double, double, DAVIT_COMPLEX_DOUBLE, false)
DEFINE(scasum, davit_complex_float, float, DAVIT_COMPLEX_FLOAT, false)
