/* SPDX-License-Identifier: Apache-2.0 */
/* The routines of level 3 beside gemm: on a queue with square operands on the device, which on NVIDIA is
 * cuBLAS, and the plain forms over 1, 2 … devices with operands in pinned host memory. The peer of every row
 * is gemm of the same type, order, form and devices, scaled to the routine's flops, so that `ratio` is the
 * routine's rate by that of gemm. Clocks, ceilings and the options of all programs: bench/measure.h.
 *
 * Flops are those that the result needs: half of a product's for a triangle of C or of A, four times as many
 * for complex numbers. --double and --complex are the orders (0: leave out). */
#include <string.h>

#include "bench/series.h"
#include "ref/blas.h"

typedef struct problem {
  const bench_site *site;
  dvt_routine routine;
  bool complex;
  int64_t n;
  davit_queue *queue; /* NULL: over the devices */
  const int *devices;
  int device_count;
  BENCH_VECTORS(*a, *b, *c);
} problem;

static const char *const names[] = {"gemm", "symm", "hemm", "syrk", "herk", "syr2k", "her2k", "trmm", "trsm"};

#define CALL(name, ...)                                                                                      \
  (p->queue ? davit_queue_##name(p->queue, __VA_ARGS__, NULL) : davit_##name(__VA_ARGS__, &options))

static davit_status call(void *argument) {
  const problem *p = argument;
  const davit_level3_options options = {.devices = p->devices, .device_count = p->device_count};
  const int64_t n = p->n;
  if (p->complex)
    switch (p->routine) {
    case DVT_GEMM:
      return CALL(zgemm, 'N', 'N', n, n, n, 1, p->a, n, p->b, n, 0, p->c, n);
    case DVT_SYMM:
      return CALL(zsymm, 'L', 'L', n, n, 1, p->a, n, p->b, n, 0, p->c, n);
    case DVT_HEMM:
      return CALL(zhemm, 'L', 'L', n, n, 1, p->a, n, p->b, n, 0, p->c, n);
    case DVT_SYRK:
      return CALL(zsyrk, 'L', 'N', n, n, 1, p->a, n, 0, p->c, n);
    case DVT_HERK:
      return CALL(zherk, 'L', 'N', n, n, 1, p->a, n, 0, p->c, n);
    case DVT_SYR2K:
      return CALL(zsyr2k, 'L', 'N', n, n, 1, p->a, n, p->b, n, 0, p->c, n);
    case DVT_HER2K:
      return CALL(zher2k, 'L', 'N', n, n, 1, p->a, n, p->b, n, 0, p->c, n);
    case DVT_TRMM:
      return CALL(ztrmm, 'L', 'L', 'N', 'N', n, n, 1, p->a, n, p->c, n);
    default:
      return CALL(ztrsm, 'L', 'L', 'N', 'N', n, n, 1, p->a, n, p->c, n);
    }
  switch (p->routine) {
  case DVT_GEMM:
    return CALL(dgemm, 'N', 'N', n, n, n, 1, p->a, n, p->b, n, 0, p->c, n);
  case DVT_SYMM:
    return CALL(dsymm, 'L', 'L', n, n, 1, p->a, n, p->b, n, 0, p->c, n);
  case DVT_SYRK:
    return CALL(dsyrk, 'L', 'N', n, n, 1, p->a, n, 0, p->c, n);
  case DVT_SYR2K:
    return CALL(dsyr2k, 'L', 'N', n, n, 1, p->a, n, p->b, n, 0, p->c, n);
  case DVT_TRMM:
    return CALL(dtrmm, 'L', 'L', 'N', 'N', n, n, 1, p->a, n, p->c, n);
  default:
    return CALL(dtrsm, 'L', 'L', 'N', 'N', n, n, 1, p->a, n, p->c, n);
  }
}

static double flops_of(const problem *p) {
  const bool half =
      p->routine == DVT_SYRK || p->routine == DVT_HERK || p->routine == DVT_TRMM || p->routine == DVT_TRSM;
  return (half ? 1 : 2) * (p->complex ? 4 : 1) * (double)p->n * (double)p->n * (double)p->n;
}

static bench_case case_of(const problem *p) {
  return (bench_case){.operation = names[p->routine],
                      .type = p->complex ? "c128" : "f64",
                      .form = p->queue ? "queue" : "plain",
                      .rows = p->n,
                      .cols = p->n,
                      .devices = p->queue ? 0 : p->device_count,
                      .flops = flops_of(p),
                      .peak = bench_peak(p->site->device)};
}

/* A row of each routine; that of gemm comes first and is the measure of the others. */
static void measure_all(problem *p) {
  bench_time gemm = {0};
  double gemm_flops = 1;
  for (p->routine = 0; p->routine < DVT_ROUTINES; p->routine++) {
    const bool hermitian = p->routine == DVT_HEMM || p->routine == DVT_HERK || p->routine == DVT_HER2K;
    if (hermitian && !p->complex)
      continue;
    const bench_case what = case_of(p);
    const bench_time time = p->queue ? bench_queue_time(p->site, call, p) : bench_wall_time(p->site, call, p);
    if (p->routine == DVT_GEMM) {
      gemm = time;
      gemm_flops = what.flops;
      bench_report(p->site, &what, &time, NULL, NULL);
      continue;
    }
    bench_time scaled = gemm;
    scaled.median *= what.flops / gemm_flops;
    bench_report(p->site, &what, &time, "gemm", &scaled);
  }
}

/* Random operands; the diagonal of A is its order, so that solutions stay small from call to call. */
static bool open_operands(problem *p, int place) {
  const int64_t parts = p->complex ? 2 : 1, square = parts * p->n * p->n;
  const size_t element = (size_t)parts * sizeof(double);
  if (!bench_vectors_open(place, DAVIT_DOUBLE, (int64_t[BENCH_OPERANDS]){square, square, square}, p->operand))
    return false;
  double *diagonal = bench_memory(DAVIT_PAGEABLE, (size_t)p->n * element);
  if (!diagonal)
    return false;
  memset(diagonal, 0, (size_t)p->n * element);
  for (int64_t i = 0; i < p->n; i++)
    diagonal[i * parts] = (double)p->n;
  const bool made = davit_copy_2d(1, p->n, element, diagonal, 1, p->a, p->n + 1) == DAVIT_SUCCESS;
  davit_free(diagonal);
  return made;
}

static void measure(const bench_site *site, const bench_spread *spread, bool complex, int64_t n) {
  problem p = {.site = site, .complex = complex, .n = n, .queue = site->queue};
  if (open_operands(&p, bench_place(site)))
    measure_all(&p);
  bench_vectors_close(p.operand);
  davit_memory_trim(bench_place(site));
  p.queue = NULL;
  if (!spread)
    return;
  if (open_operands(&p, DAVIT_PINNED))
    for (int i = 0; i < spread->counts.count; i++) {
      p.devices = spread->devices;
      p.device_count = (int)spread->counts.at[i];
      if (p.device_count <= spread->most)
        measure_all(&p);
    }
  bench_vectors_close(p.operand);
  davit_memory_trim(DAVIT_PINNED);
}

static void measure_site(const bench_site *site, const bench_spread *spread) {
  const int64_t real = bench_whole("double", site->gpu ? 16384 : 768);
  const int64_t complex = bench_whole("complex", site->gpu ? 8192 : 384);
  if (real > 0)
    measure(site, spread, false, real);
  if (complex > 0)
    measure(site, spread, true, complex);
}

static const char usage[] = "bench_level3 [--double 16384] [--complex 8192] [--peak 66.9]\n" BENCH_OPTIONS;

int main(int argc, char **argv) {
  return bench_run("level3", usage, argc, argv, measure_site);
}
