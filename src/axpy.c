/* SPDX-License-Identifier: Apache-2.0 */
/* y = alpha x + y: on a queue, and spread over devices. 2 n flops over 3 n elements moved; where operands lie
 * on the host the link's 3 n elements are the floor. */
#include <davit/axpy.h>

#include "offload/blas.h"
#include "src/runtime/operation.h"
#include "src/runtime/spread.h"
#include "src/runtime/tuning.h"

static davit_status check(void *arguments) {
  const dvt_axpy *g = arguments;
  DVT_TRY(dvt_check_length("n", g->n));
  DVT_TRY(dvt_check_increment("incx", g->incx, g->n));
  DVT_TRY(dvt_check_increment("incy", g->incy, g->n));
  if (g->n > 0 && (!g->x || !g->y))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s is NULL", g->x ? "y" : "x");
  return DAVIT_SUCCESS;
}

static davit_status use_mapped(void *arguments, int device) {
  dvt_axpy *g = arguments;
  return DVT_USE_MAPPED(device, {"x", &g->x, g->n == 0}, {"y", &g->y, g->n == 0});
}

static const dvt_operation operation = {.name = "axpy",
                                        .bytes = sizeof(dvt_axpy),
                                        .check = check,
                                        .stream = dvt_axpy_stream,
                                        .prepare = dvt_blas_prepare,
                                        .host = dvt_axpy_host,
                                        .region = dvt_axpy_region,
                                        .region_on_host = true,
                                        .serial = true,
                                        .use_mapped = use_mapped};

/* ---- over several devices ---- */

enum { CHUNK = 1 << 20 };

static davit_status run_chunk(dvt_spread *run, dvt_spread_lane *lane, const dvt_axpy *g, int64_t begin,
                              int64_t end) {
  size_t element = davit_type_bytes(g->type);
  dvt_spread_chunk x = dvt_spread_cut(g->x, g->n, g->incx, begin, end, element);
  dvt_spread_chunk y = dvt_spread_cut(g->y, g->n, g->incy, begin, end, element);
  void *at_x, *at_y;
  size_t pitch_x, pitch_y;
  DVT_TRY(dvt_spread_operand(run, lane, 0, true, x.base, x.pitch, x.row_bytes, x.cols, &at_x, &pitch_x));
  DVT_TRY(dvt_spread_operand(run, lane, 1, true, y.base, y.pitch, y.row_bytes, y.cols, &at_y, &pitch_y));
  dvt_axpy part = {g->type,
                   end - begin,
                   g->alpha,
                   at_x,
                   dvt_spread_step(g->incx, pitch_x, element),
                   at_y,
                   dvt_spread_step(g->incy, pitch_y, element)};
  DVT_TRY(dvt_operation_submit(lane->lane, &operation, &part, 0));
  return dvt_spread_store(lane, at_y, pitch_y, y.base, y.pitch, y.row_bytes, y.cols);
}

static davit_status run_all(dvt_spread *run, const dvt_axpy *g) {
  int64_t chunk = (int64_t)(run->buffer_bytes / davit_type_bytes(g->type));
  for (int i = 0; i < run->devices; i++) {
    const dvt_span range = dvt_spread_range(g->n, i, run->devices);
    int64_t begin = range.begin;
    for (int turn = 0; begin < range.end; turn++) {
      int64_t stop = range.end - begin < chunk ? range.end : begin + chunk;
      DVT_TRY(run_chunk(run, &run->device[i].lane[turn % DVT_SPREAD_LANES], g, begin, stop));
      begin = stop;
    }
  }
  return DAVIT_SUCCESS;
}

static davit_status spread(dvt_axpy *g, const davit_axpy_options *options) {
  int chosen[DVT_MAX_DEVICES], count;
  DVT_TRY(check(g));
  if (dvt_vectors_overlap(g->x, g->n, g->incx, g->y, g->n, g->incy, davit_type_bytes(g->type)))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "y overlaps x");
  DVT_TRY(DVT_CHOOSE_WITH_MAPPED(options, chosen, &count));
  if (DVT_MAPPED(options))
    DVT_TRY(use_mapped(g, chosen[0]));
  if (g->n == 0 || g->alpha == 0)
    return DAVIT_SUCCESS;
  if (dvt_spread_is_short(&operation, chosen, count, options && options->devices, 2,
                          (const void *[]){g->x, g->y}, 2 * (double)g->n * (double)davit_type_bytes(g->type)))
    return dvt_operation_run_here(chosen[0], &operation, g, DVT_ALONE);
  dvt_spread run;
  size_t chunk = (size_t)dvt_tuned(chosen[0], DVT_TUNE_AXPY_CHUNK, CHUNK);
  DVT_TRY(dvt_spread_open(&run, chosen, count, chunk * davit_type_bytes(g->type)));
  return dvt_spread_close(&run, run_all(&run, g));
}

/* ---- the calls ---- */

#define DEFINE(p, T, TYPE)                                                                                   \
  davit_status davit_##p##axpy(int64_t n, T alpha, const T *x, int64_t incx, T *y, int64_t incy,             \
                               const davit_axpy_options *options) {                                          \
    return spread(&(dvt_axpy){TYPE, n, (double _Complex)alpha, x, incx, y, incy}, options);                  \
  }                                                                                                          \
  davit_status davit_queue_##p##axpy(davit_queue *queue, int64_t n, T alpha, const T *x, int64_t incx, T *y, \
                                     int64_t incy, const davit_axpy_options *options) {                      \
    DVT_TRY(DVT_CHECK_QUEUE_OPTIONS(options));                                                               \
    return dvt_operation_enqueue(queue, &operation,                                                          \
                                 &(dvt_axpy){TYPE, n, (double _Complex)alpha, x, incx, y, incy},             \
                                 DVT_MAPPED(options));                                                       \
  }
DEFINE(d, double, DAVIT_DOUBLE)
DEFINE(s, float, DAVIT_FLOAT)
DEFINE(z, davit_complex_double, DAVIT_COMPLEX_DOUBLE)
DEFINE(c, davit_complex_float, DAVIT_COMPLEX_FLOAT)
