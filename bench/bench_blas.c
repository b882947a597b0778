/* SPDX-License-Identifier: Apache-2.0 */
/* BLAS on a queue with data on the device, against cuBLAS called directly (NVIDIA), BLIS on one thread (the
 * CPU and host-offload devices) and davit's own target kernels; and the plain forms of gemv, axpy and dot
 * on pinned host data over several devices. Double precision, random operands. Clocks, ceilings and the
 * options of all programs: bench/measure.h.
 *
 * Sizes are by default those that fill a GPU, and small ones on the CPU; 0 leaves an operation out. The floor
 * of gemm is the time of the flops at --peak (10^12 flop/s; known for Hopper alone; 0: none). The peer of the
 * target kernels is the queue's row. */
#include "bench/series.h"
#include "offload/blas.h"
#include "offload/runtime/cublas.h"

#ifdef DAVIT_WITH_CUDA
#include <cublas_v2.h>
#endif

typedef enum operation { GEMM, GEMV, AXPY, DOT, OPERATIONS } operation;
static const char *const names[] = {"gemm", "gemv", "axpy", "dot"};

/* Operands: gemm a b c, gemv a (matrix) b (x) c (y), axpy a (x) c (y), dot a b c (the result). */
typedef struct problem {
  const bench_site *site;
  operation what;
  int64_t n;
  BENCH_VECTORS(*a, *b, *c);
  bench_spread spread;
} problem;

/* ---- a call of each form ---- */

static davit_status queue_call(void *argument) {
  const problem *p = argument;
  davit_queue *queue = p->site->queue;
  const int64_t n = p->n;
  switch (p->what) {
  case GEMM:
    return davit_queue_dgemm(queue, 'N', 'N', n, n, n, 1, p->a, n, p->b, n, 0, p->c, n, NULL);
  case GEMV:
    return davit_queue_dgemv(queue, 'N', n, n, 1, p->a, n, p->b, 1, 0, p->c, 1, NULL);
  case AXPY:
    return davit_queue_daxpy(queue, n, 0.5, p->a, 1, p->c, 1, NULL);
  default:
    return davit_queue_ddot(queue, n, p->a, 1, p->b, 1, p->c, NULL);
  }
}

/* A form that returns when it is done, with the same arguments. */
static davit_status call_form(const problem *p, const dvt_form forms[OPERATIONS], const dvt_site *site) {
  const int64_t n = p->n;
  const dvt_level3 gemm = {.type = DAVIT_DOUBLE,
                           .transa = 'N',
                           .transb = 'N',
                           .m = n,
                           .n = n,
                           .k = n,
                           .alpha = 1,
                           .a = p->a,
                           .lda = n,
                           .b = p->b,
                           .ldb = n,
                           .c = p->c,
                           .ldc = n};
  const dvt_gemv gemv = {DAVIT_DOUBLE, 'N', n, n, 1, p->a, n, p->b, 1, 0, p->c, 1};
  const dvt_axpy axpy = {DAVIT_DOUBLE, n, 0.5, p->a, 1, p->c, 1};
  const dvt_dot dot = {DAVIT_DOUBLE, n, p->a, 1, p->b, 1, p->c, false, false};
  const void *const arguments[OPERATIONS] = {&gemm, &gemv, &axpy, &dot};
  return forms[p->what](site, arguments[p->what]);
}

static davit_status target_call(void *argument) {
  static const dvt_form forms[] = {dvt_level3_region, dvt_gemv_region, dvt_axpy_region, dvt_dot_region};
  const problem *p = argument;
  return call_form(p, forms, &(dvt_site){.device = p->site->device});
}

static davit_status blis_call(void *argument) {
  static const dvt_form forms[] = {dvt_level3_host, dvt_gemv_host, dvt_axpy_host, dvt_dot_host};
  return call_form(argument, forms, &(dvt_site){.device = DAVIT_HOST, .threads = 1});
}

static davit_status plain_call(void *argument) {
  const problem *p = argument;
  const int64_t n = p->n;
  const int *devices = p->spread.devices, count = p->spread.count;
  const davit_gemv_options gemv = {.devices = devices, .device_count = count};
  const davit_axpy_options axpy = {.devices = devices, .device_count = count};
  const davit_dot_options dot = {.devices = devices, .device_count = count};
  return p->what == GEMV   ? davit_dgemv('N', n, n, 1, p->a, n, p->b, 1, 0, p->c, 1, &gemv)
         : p->what == AXPY ? davit_daxpy(n, 0.5, p->a, 1, p->c, 1, &axpy)
                           : davit_ddot(n, p->a, 1, p->b, 1, p->c, &dot);
}

#ifdef DAVIT_WITH_CUDA
static davit_status cublas_call(void *argument) {
  const double one = 1, zero = 0, half = 0.5;
  const problem *p = argument;
  const int64_t n = p->n;
  const cublasOperation_t as_is = CUBLAS_OP_N;
  cublasHandle_t h = p->site->cublas;
  const cublasPointerMode_t mode = p->what == DOT ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST;
  cublasStatus_t status = DVT_CUBLAS(SetPointerMode_v2)(h, mode);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = p->what == GEMM
                 ? DVT_CUBLAS(Dgemm_v2_64)(h, as_is, as_is, n, n, n, &one, p->a, n, p->b, n, &zero, p->c, n)
             : p->what == GEMV
                 ? DVT_CUBLAS(Dgemv_v2_64)(h, as_is, n, n, &one, p->a, n, p->b, 1, &zero, p->c, 1)
             : p->what == AXPY ? DVT_CUBLAS(Daxpy_v2_64)(h, n, &half, p->a, 1, p->c, 1)
                               : DVT_CUBLAS(Ddot_v2_64)(h, n, p->a, 1, p->b, 1, p->c);
  return dvt_cublas_status((int)status, names[p->what]);
}
#else
#define cublas_call NULL
#endif

/* ---- rows ---- */

/* Of the plain forms, what goes to the devices, which is never less than what comes back. */
static bench_case case_of(const problem *p, const char *form) {
  const double n = (double)p->n;
  const double flops[] = {[GEMM] = 2 * n * n * n, [GEMV] = 2 * n * n, [AXPY] = 2 * n, [DOT] = 2 * n},
               elements[] = {[GEMM] = 0, [GEMV] = n * n + 2 * n, [AXPY] = 3 * n, [DOT] = 2 * n};
  return (bench_case){.operation = names[p->what],
                      .type = "f64",
                      .form = form,
                      .rows = p->n,
                      .bytes = 8 * elements[p->what],
                      .flops = flops[p->what],
                      .peak = p->what == GEMM ? bench_peak(p->site->device) : 0};
}

static bool make_operands(problem *p, int place) {
  const int64_t n = p->n, square = n * n, matrix = p->what == GEMM ? square : n;
  return bench_vectors_open(place, DAVIT_DOUBLE,
                            (int64_t[4]){p->what == GEMV ? square : matrix, matrix, matrix}, p->operand);
}

static void free_operands(problem *p, int place) {
  bench_vectors_close(p->operand);
  davit_memory_trim(place);
}

static void on_device(problem *p) {
  const bench_peers peers = {"cublas", p->site->cublas ? cublas_call : NULL, "blis", blis_call};
  const bench_case queue = case_of(p, "queue"), target = case_of(p, "target");
  if (make_operands(p, bench_place(p->site))) {
    const bench_time time = bench_queue_row(p->site, &queue, queue_call, &peers, p);
    if (p->site->device != DAVIT_HOST) {
      const bench_time region = bench_wall_time(p->site, target_call, p);
      bench_report(p->site, &target, &region, "queue", &time);
    }
  }
  free_operands(p, bench_place(p->site));
}

/* From pinned memory ("plain") or pageable one. */
static void from_host(problem *p, int place) {
  const char *form = place == DAVIT_PINNED ? "plain" : "pageable";
  bench_case what = case_of(p, form);
  what.link_bytes = p->what == GEMV ? what.bytes : 2 * 8 * (double)p->n;
  if (make_operands(p, place))
    bench_series(&p->spread, p->site, what, plain_call, p);
  free_operands(p, place);
}

static void measure_site(const bench_site *site, const bench_spread *spread) {
  const int64_t large[] = {8192, 16384, 1 << 28, 1 << 28}, small[] = {384, 2048, 1 << 21, 1 << 21};
  problem p = {.site = site};
  for (p.what = GEMM; p.what < OPERATIONS; p.what++) {
    p.n = bench_whole(names[p.what], (site->gpu ? large : small)[p.what]);
    if (p.n < 1)
      continue;
    on_device(&p);
    if (!spread || p.what == GEMM)
      continue;
    p.spread = *spread;
    from_host(&p, DAVIT_PINNED);
    from_host(&p, DAVIT_PAGEABLE);
  }
}

static const char usage[] = "bench_blas [--gemm 8192] [--gemv 16384] [--axpy 268435456] [--dot 268435456] "
                            "[--peak 66.9]\n" BENCH_OPTIONS;

int main(int argc, char **argv) {
  return bench_run("blas", usage, argc, argv, measure_site);
}
