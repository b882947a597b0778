/* SPDX-License-Identifier: Apache-2.0 */
/* x = alpha x: on a queue, and spread over devices. n flops over 2 n elements moved; where x lies on the host
 * the link's n elements each way are the floor. */
#include <davit/scal.h>

#include "offload/blas.h"
#include "src/runtime/operation.h"
#include "src/runtime/spread.h"

/* The sign of an increment does not matter here: it is dropped. */
static davit_status check(void *arguments) {
  dvt_scal *g = arguments;
  DVT_TRY(dvt_check_length("n", g->n));
  DVT_TRY(dvt_check_increment("incx", g->incx, g->n));
  g->incx = g->incx < 0 ? -g->incx : g->incx;
  return g->n > 0 ? dvt_check_pointer("x", g->x) : DAVIT_SUCCESS;
}

static davit_status use_mapped(void *arguments, int device) {
  dvt_scal *g = arguments;
  return DVT_USE_MAPPED(device, {"x", &g->x, g->n == 0});
}

static const dvt_operation operation = {.name = "scal",
                                        .bytes = sizeof(dvt_scal),
                                        .check = check,
                                        .stream = dvt_scal_stream,
                                        .prepare = dvt_blas_prepare,
                                        .host = dvt_scal_host,
                                        .region = dvt_scal_region,
                                        .region_on_host = true,
                                        .serial = true,
                                        .use_mapped = use_mapped};

/* ---- over several devices ---- */

enum { CHUNK = 1 << 20 };

static davit_status run_chunk(dvt_spread *run, dvt_spread_lane *lane, const dvt_scal *g, int64_t begin,
                              int64_t end) {
  const size_t element = davit_type_bytes(g->type);
  const dvt_spread_chunk x = dvt_spread_cut(g->x, g->n, g->incx, begin, end, element);
  void *at;
  size_t pitch;
  DVT_TRY(dvt_spread_operand(run, lane, 0, true, x.base, x.pitch, x.row_bytes, x.cols, &at, &pitch));
  const dvt_scal part = {g->type, end - begin, g->alpha, at, dvt_spread_step(g->incx, pitch, element)};
  DVT_TRY(dvt_operation_submit(lane->lane, &operation, &part, 0));
  return dvt_spread_store(lane, at, pitch, x.base, x.pitch, x.row_bytes, x.cols);
}

static davit_status run_all(dvt_spread *run, const dvt_scal *g) {
  for (int i = 0; i < run->devices; i++) {
    const dvt_span range = dvt_spread_range(g->n, i, run->devices);
    int64_t begin = range.begin;
    for (int turn = 0; begin < range.end; turn++) {
      const int64_t end = range.end - begin < CHUNK ? range.end : begin + CHUNK;
      DVT_TRY(run_chunk(run, &run->device[i].lane[turn % DVT_SPREAD_LANES], g, begin, end));
      begin = end;
    }
  }
  return DAVIT_SUCCESS;
}

static davit_status spread(dvt_scal *g, const davit_scal_options *options) {
  int chosen[DVT_MAX_DEVICES], count;
  DVT_TRY(check(g));
  DVT_TRY(DVT_CHOOSE_WITH_MAPPED(options, chosen, &count));
  if (DVT_MAPPED(options))
    DVT_TRY(use_mapped(g, chosen[0]));
  if (g->n == 0 || g->alpha == 1)
    return DAVIT_SUCCESS;
  if (dvt_spread_is_short(&operation, chosen, count, options && options->devices, 1, (const void *[]){g->x},
                          (double)g->n * (double)davit_type_bytes(g->type)))
    return dvt_operation_run_here(chosen[0], &operation, g, DVT_ALONE);
  dvt_spread run;
  DVT_TRY(dvt_spread_open(&run, chosen, count, CHUNK * davit_type_bytes(g->type)));
  return dvt_spread_close(&run, run_all(&run, g));
}

/* ---- the calls ---- */

#define DEFINE(p, T, TYPE)                                                                                   \
  davit_status davit_##p##scal(int64_t n, T alpha, T *x, int64_t incx, const davit_scal_options *options) {  \
    return spread(&(dvt_scal){TYPE, n, (double _Complex)alpha, x, incx}, options);                           \
  }                                                                                                          \
  davit_status davit_queue_##p##scal(davit_queue *queue, int64_t n, T alpha, T *x, int64_t incx,             \
                                     const davit_scal_options *options) {                                    \
    DVT_TRY(DVT_CHECK_QUEUE_OPTIONS(options));                                                               \
    return dvt_operation_enqueue(queue, &operation, &(dvt_scal){TYPE, n, (double _Complex)alpha, x, incx},   \
                                 DVT_MAPPED(options));                                                       \
  }
DEFINE(d, double, DAVIT_DOUBLE)
DEFINE(s, float, DAVIT_FLOAT)
DEFINE(z, davit_complex_double, DAVIT_COMPLEX_DOUBLE)
DEFINE(c, davit_complex_float, DAVIT_COMPLEX_FLOAT)
