/* SPDX-License-Identifier: Apache-2.0 */
/* The routines of level 3 beside gemm: on a queue with square operands on the device, which on NVIDIA is
 * cuBLAS, and the plain forms over 1, 2 … devices with operands in pinned host memory. The peer of every row
 * is gemm of the same type, order, form and devices, scaled to the routine's flops, so that `ratio` is the
 * routine's rate by that of gemm. Clocks, ceilings and the options of all programs: bench/measure.h.
 *
 * Flops are those that the result needs: half of a product's for a triangle of C or of A, four times as many
 * for complex numbers. --real and --complex are the orders of matrices of such numbers (0: leave out). */
#include <string.h>

#include "bench/series.h"
#include "ref/blas.h"

typedef struct problem {
  const bench_site *site;
  dvt_routine routine;
  const struct kind *kind;
  int64_t n;
  davit_queue *queue; /* NULL: over the devices */
  const int *devices;
  int device_count;
  BENCH_VECTORS(*a, *b, *c);
} problem;

static const char *const names[] = {"gemm", "symm", "hemm", "syrk", "herk", "syr2k", "her2k", "trmm", "trsm"};

#define CALL(name, ...)                                                                                      \
  (p->queue ? davit_queue_##name(p->queue, __VA_ARGS__, NULL) : davit_##name(__VA_ARGS__, &options))

/* The routines of a type: those of all, then those that complex ones have besides. */
#define COMMON(t)                                                                                            \
  case DVT_GEMM:                                                                                             \
    return CALL(t##gemm, 'N', 'N', n, n, n, 1, p->a, n, p->b, n, 0, p->c, n);                                \
  case DVT_SYMM:                                                                                             \
    return CALL(t##symm, 'L', 'L', n, n, 1, p->a, n, p->b, n, 0, p->c, n);                                   \
  case DVT_SYRK:                                                                                             \
    return CALL(t##syrk, 'L', 'N', n, n, 1, p->a, n, 0, p->c, n);                                            \
  case DVT_SYR2K:                                                                                            \
    return CALL(t##syr2k, 'L', 'N', n, n, 1, p->a, n, p->b, n, 0, p->c, n);                                  \
  case DVT_TRMM:                                                                                             \
    return CALL(t##trmm, 'L', 'L', 'N', 'N', n, n, 1, p->a, n, p->c, n);                                     \
  case DVT_TRSM:                                                                                             \
    return CALL(t##trsm, 'L', 'L', 'N', 'N', n, n, 1, p->a, n, p->c, n);
#define HERMITIAN(t)                                                                                         \
  case DVT_HEMM:                                                                                             \
    return CALL(t##hemm, 'L', 'L', n, n, 1, p->a, n, p->b, n, 0, p->c, n);                                   \
  case DVT_HERK:                                                                                             \
    return CALL(t##herk, 'L', 'N', n, n, 1, p->a, n, 0, p->c, n);                                            \
  case DVT_HER2K:                                                                                            \
    return CALL(t##her2k, 'L', 'N', n, n, 1, p->a, n, p->b, n, 0, p->c, n);
#define OF_TYPE(t, ...)                                                                                      \
  static davit_status call_##t(const problem *p) {                                                           \
    const davit_level3_options options = {.devices = p->devices, .device_count = p->device_count};           \
    const int64_t n = p->n;                                                                                  \
    switch (p->routine) { COMMON(t) __VA_ARGS__ default : return DAVIT_UNSUPPORTED; }                        \
  }
OF_TYPE(d)
OF_TYPE(s)
OF_TYPE(z, HERMITIAN(z))
OF_TYPE(c, HERMITIAN(c))

static const struct kind {
  char letter;
  const char *name;
  davit_status (*call)(const problem *p);
  davit_type real;
  bool complex;
} kinds[] = {{'d', "f64", call_d, DAVIT_DOUBLE, false},
             {'z', "c128", call_z, DAVIT_DOUBLE, true},
             {'s', "f32", call_s, DAVIT_FLOAT, false},
             {'c', "c64", call_c, DAVIT_FLOAT, true}};

static davit_status call(void *argument) {
  const problem *p = argument;
  return p->kind->call(p);
}

static double flops_of(const problem *p) {
  const bool half =
      p->routine == DVT_SYRK || p->routine == DVT_HERK || p->routine == DVT_TRMM || p->routine == DVT_TRSM;
  return (half ? 1 : 2) * (p->kind->complex ? 4 : 1) * (double)p->n * (double)p->n * (double)p->n;
}

static bench_case case_of(const problem *p) {
  return (bench_case){.operation = names[p->routine],
                      .type = p->kind->name,
                      .form = p->queue ? "queue" : "plain",
                      .rows = p->n,
                      .cols = p->n,
                      .devices = p->queue ? 0 : p->device_count,
                      .flops = flops_of(p),
                      .peak = p->kind->real == DAVIT_DOUBLE ? bench_peak(p->site->device) : 0};
}

/* A row of each routine; that of gemm comes first and is the measure of the others. */
static void measure_all(problem *p) {
  bench_time gemm = {0};
  double gemm_flops = 1;
  for (p->routine = 0; p->routine < DVT_ROUTINES; p->routine++) {
    const bool hermitian = p->routine == DVT_HEMM || p->routine == DVT_HERK || p->routine == DVT_HER2K;
    if (hermitian && !p->kind->complex)
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
  const int64_t parts = p->kind->complex ? 2 : 1, square = parts * p->n * p->n;
  const bool is_double = p->kind->real == DAVIT_DOUBLE;
  const size_t element = (size_t)parts * (is_double ? sizeof(double) : sizeof(float));
  if (!bench_vectors_open(place, p->kind->real, (int64_t[BENCH_OPERANDS]){square, square, square},
                          p->operand))
    return false;
  char *diagonal = bench_memory(DAVIT_PAGEABLE, (size_t)p->n * element);
  if (!diagonal)
    return false;
  memset(diagonal, 0, (size_t)p->n * element);
  for (int64_t i = 0; i < p->n; i++)
    memcpy(diagonal + (size_t)i * element,
           is_double ? (void *)&(double){(double)p->n} : &(float){(float)p->n}, element / (size_t)parts);
  const bool made = davit_copy_2d(1, p->n, element, diagonal, 1, p->a, p->n + 1) == DAVIT_SUCCESS;
  davit_free(diagonal);
  return made;
}

static void measure(const bench_site *site, const bench_spread *spread, const struct kind *kind, int64_t n) {
  problem p = {.site = site, .kind = kind, .n = n, .queue = site->queue};
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
  const int64_t real = bench_whole("real", site->gpu ? 16384 : 768);
  const int64_t complex = bench_whole("complex", site->gpu ? 8192 : 384);
  const char *types = bench_option("types", "d,z");
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const int64_t n = kinds[i].complex ? complex : real;
    if (n > 0 && strchr(types, kinds[i].letter))
      measure(site, spread, &kinds[i], n);
  }
}

static const char usage[] =
    "bench_level3 [--real 16384] [--complex 8192] [--types d,z,s,c] [--peak 66.9]\n" BENCH_OPTIONS;

int main(int argc, char **argv) {
  return bench_run("level3", usage, argc, argv, measure_site);
}
