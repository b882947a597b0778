/* SPDX-License-Identifier: Apache-2.0 */
/* The dot product: on a queue, and spread over devices. 2 n flops over 2 n elements read. */
#include <davit/dot.h>
#include <string.h>

#include "offload/blas.h"
#include "src/runtime/memory.h"
#include "src/runtime/operation.h"
#include "src/runtime/spread.h"

static davit_status check(void *arguments) {
  const dvt_dot *g = arguments;
  DVT_TRY(dvt_check_length("n", g->n));
  DVT_TRY(dvt_check_increment("incx", g->incx, g->n));
  DVT_TRY(dvt_check_increment("incy", g->incy, g->n));
  if (!g->result)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "result is NULL");
  if (g->n > 0 && (!g->x || !g->y))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s is NULL", g->x ? "y" : "x");
  return DAVIT_SUCCESS;
}

static const dvt_operation operation = {.name = "dot",
                                        .bytes = sizeof(dvt_dot),
                                        .check = check,
                                        .stream = dvt_dot_stream,
                                        .prepare = dvt_blas_prepare,
                                        .host = dvt_dot_host,
                                        .region = dvt_dot_region,
                                        .region_on_host = true,
                                        .serial = true};

static davit_status use_mapped(void *arguments, int device) {
  dvt_dot *g = arguments;
  return DVT_USE_MAPPED(device, {"x", &g->x, g->n == 0}, {"y", &g->y, g->n == 0});
}

static davit_status enqueue(davit_queue *queue, dvt_dot *g, const davit_dot_options *options) {
  dvt_lane *lane = dvt_queue_lane(queue);
  if (!lane)
    return DAVIT_INVALID_ARGUMENT;
  DVT_TRY(DVT_CHECK_QUEUE_OPTIONS(options));
  DVT_TRY(check(g));
  if (DVT_MAPPED(options))
    DVT_TRY(use_mapped(g, lane->device));
  g->on_device = !dvt_place_is_host(lane->device) && dvt_place_of(g->result) == lane->device;
  return dvt_operation_submit_result(lane, &operation, g, 0, &g->result, davit_type_bytes(g->type));
}

/* ---- over several devices ---- */

/* Chunks of fixed length, whatever the devices: the partial sums, and so the bits, are the same for any
 * number of devices of one kind. */
enum { CHUNK = 1 << 20 };

static davit_status run_chunk(dvt_spread *run, dvt_spread_lane *lane, const dvt_dot *g, char *sums,
                              int64_t chunk) {
  size_t element = davit_type_bytes(g->type);
  int64_t begin = chunk * CHUNK, end = g->n - begin < CHUNK ? g->n : begin + CHUNK;
  dvt_spread_chunk x = dvt_spread_cut(g->x, g->n, g->incx, begin, end, element);
  dvt_spread_chunk y = dvt_spread_cut(g->y, g->n, g->incy, begin, end, element);
  void *at_x, *at_y;
  size_t pitch_x, pitch_y;
  DVT_TRY(dvt_spread_operand(run, lane, 0, true, x.base, x.pitch, x.row_bytes, x.cols, &at_x, &pitch_x));
  DVT_TRY(dvt_spread_operand(run, lane, 1, true, y.base, y.pitch, y.row_bytes, y.cols, &at_y, &pitch_y));
  dvt_dot part = {g->type,
                  end - begin,
                  at_x,
                  dvt_spread_step(g->incx, pitch_x, element),
                  at_y,
                  dvt_spread_step(g->incy, pitch_y, element),
                  sums + (size_t)chunk * element,
                  g->conjugate,
                  false};
  return dvt_operation_submit(lane->lane, &operation, &part, 0);
}

static davit_status run_all(dvt_spread *run, const dvt_dot *g, char *sums, int64_t chunks) {
  for (int i = 0; i < run->devices; i++) {
    const dvt_span range = dvt_spread_range(chunks, i, run->devices);
    for (int64_t chunk = range.begin; chunk < range.end; chunk++)
      DVT_TRY(run_chunk(run, &run->device[i].lane[chunk % DVT_SPREAD_LANES], g, sums, chunk));
  }
  return DAVIT_SUCCESS;
}

/* In double, as far as the type is narrower. A complex sum is two of real numbers. */
static void add_up(const dvt_dot *g, const void *sums, int64_t chunks) {
  const int parts = g->type >= DAVIT_COMPLEX_FLOAT ? 2 : 1;
  const bool wide = dvt_real_type(g->type) == DAVIT_DOUBLE;
  const double *doubles = sums;
  const float *floats = sums;
  for (int part = 0; part < parts; part++) {
    double sum = 0;
    for (int64_t i = part; i < parts * chunks; i += parts)
      sum += wide ? doubles[i] : (double)floats[i];
    if (wide)
      ((double *)g->result)[part] = sum;
    else
      ((float *)g->result)[part] = (float)sum;
  }
}

static davit_status spread(dvt_dot *g, const davit_dot_options *options) {
  int chosen[DVT_MAX_DEVICES], count;
  DVT_TRY(check(g));
  DVT_TRY(DVT_CHOOSE_WITH_MAPPED(options, chosen, &count));
  if (DVT_MAPPED(options))
    DVT_TRY(use_mapped(g, chosen[0]));
  int64_t chunks = g->n > 0 ? (g->n + CHUNK - 1) / CHUNK : 0;
  size_t element = davit_type_bytes(g->type);
  void *sums = NULL;
  davit_status status = DAVIT_SUCCESS;
  if (chunks == 1 && dvt_spread_is_short(&operation, chosen, count, options && options->devices, 3,
                                         (const void *[]){g->x, g->y, g->result},
                                         0)) /* one thread works on a chunk anyway */
    return dvt_operation_run_here(chosen[0], &operation, g, DVT_ALONE);
  if (chunks > 0) {
    DVT_TRY(dvt_malloc((size_t)chunks * element, DAVIT_PINNED, &sums));
    dvt_spread run;
    status = dvt_spread_open(&run, chosen, count, CHUNK * element);
    if (status == DAVIT_SUCCESS)
      status = dvt_spread_close(&run, run_all(&run, g, sums, chunks));
  }
  if (status == DAVIT_SUCCESS)
    add_up(g, sums, chunks);
  davit_free(sums);
  return status;
}

/* ---- the calls ---- */

#define DEFINE(name, T, TYPE, conjugate)                                                                     \
  davit_status davit_##name(int64_t n, const T *x, int64_t incx, const T *y, int64_t incy, T *result,        \
                            const davit_dot_options *options) {                                              \
    return spread(&(dvt_dot){TYPE, n, x, incx, y, incy, result, conjugate, false}, options);                 \
  }                                                                                                          \
  davit_status davit_queue_##name(davit_queue *queue, int64_t n, const T *x, int64_t incx, const T *y,       \
                                  int64_t incy, T *result, const davit_dot_options *options) {               \
    return enqueue(queue, &(dvt_dot){TYPE, n, x, incx, y, incy, result, conjugate, false}, options);         \
  }
DEFINE(ddot, double, DAVIT_DOUBLE, false)
DEFINE(sdot, float, DAVIT_FLOAT, false)
DEFINE(zdotu, davit_complex_double, DAVIT_COMPLEX_DOUBLE, false)
DEFINE(cdotu, davit_complex_float, DAVIT_COMPLEX_FLOAT, false)
DEFINE(zdotc, davit_complex_double, DAVIT_COMPLEX_DOUBLE, true)
DEFINE(cdotc, davit_complex_float, DAVIT_COMPLEX_FLOAT, true)
