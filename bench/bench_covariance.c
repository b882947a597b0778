/* SPDX-License-Identifier: Apache-2.0 */
/* Covariance of square data, the whole of S: on a queue against cuBLAS's syrk alone (NVIDIA) and OpenMP loops
 * with BLIS's syrk (CPU), and of pinned host data over several devices. Clocks, ceilings and the options of
 * all programs: bench/measure.h.
 *
 * Variants are those of trans. Flops: those of the product, n² (n + 1). Bytes: the data read twice, S written
 * once. The floor is the greater of the bytes' and the flops' time at --peak (10^12 flop/s; known for Hopper
 * alone; 0: none). syrk leaves out the means, the centring and the upper triangle. */
#include "bench/peers/loops.h"
#include "bench/series.h"
#include "offload/runtime/cublas.h"

#ifdef DAVIT_WITH_CUDA
#include <cublas_v2.h>
#endif

typedef struct problem {
  const bench_site *site;
  davit_type type;
  char trans;
  int64_t n;
  double peak;
  BENCH_VECTORS(*d, *mean, *s);
  bench_spread spread;
} problem;

static davit_status queue_call(void *argument) {
  const problem *p = argument;
  return davit_queue_covariance(
      p->site->queue, p->type, p->trans, p->n, p->n, p->d, p->n, p->mean, NULL, p->n, p->s, p->n,
      &(davit_covariance_options){.mean_divisor = (double)p->n, .divisor = (double)(p->n - 1)});
}

#ifdef DAVIT_WITH_CUDA
static davit_status syrk_call(void *argument) {
  const problem *p = argument;
  double one = 1, zero = 0;
  float onef = 1, zerof = 0;
  cublasOperation_t op = p->trans == 'T' ? CUBLAS_OP_N : CUBLAS_OP_T;
  cublasStatus_t status = p->type == DAVIT_DOUBLE
                              ? DVT_CUBLAS(Dsyrk_v2_64)(p->site->cublas, CUBLAS_FILL_MODE_LOWER, op, p->n,
                                                        p->n, &one, p->d, p->n, &zero, p->s, p->n)
                              : DVT_CUBLAS(Ssyrk_v2_64)(p->site->cublas, CUBLAS_FILL_MODE_LOWER, op, p->n,
                                                        p->n, &onef, p->d, p->n, &zerof, p->s, p->n);
  return dvt_cublas_status((int)status, "syrk");
}
#else
#define syrk_call NULL
#endif

static davit_status loop_call(void *argument) {
  const problem *p = argument;
  return peer_loop_covariance(p->type, p->n, p->n, p->d, p->s);
}

static davit_status plain_call(void *argument) {
  const problem *p = argument;
  return davit_covariance(p->type, p->trans, p->n, p->n, p->d, p->n, p->mean, NULL, p->n, p->s, p->n,
                          &(davit_covariance_options){.mean_divisor = (double)p->n,
                                                      .divisor = (double)(p->n - 1),
                                                      .devices = p->spread.devices,
                                                      .device_count = p->spread.count});
}

static bench_case case_of(const problem *p, const char *form) {
  const double n = (double)p->n;
  return (bench_case){.operation = "covariance",
                      .type = bench_type_name(p->type),
                      .variant = p->trans == 'T' ? "T" : "N",
                      .form = form,
                      .rows = p->n,
                      .cols = p->n,
                      .bytes = 3 * n * n * (double)davit_type_bytes(p->type),
                      .flops = n * n * (n + 1),
                      .peak = p->peak};
}

static bool make_operands(problem *p, int place, int64_t n) {
  return bench_vectors_open(place, p->type, (int64_t[4]){n * n, n, n * n}, p->operand);
}

static void measure(problem *p) {
  const bench_case what = case_of(p, "queue");
  const bench_peers peers = {"syrk", p->site->cublas ? syrk_call : NULL, "loop",
                             p->trans == 'N' ? loop_call : NULL};
  bench_queue_row(p->site, &what, queue_call, &peers, p);
}

static void on_device(problem *p) {
  const bench_values sizes =
      bench_sizes("sizes", p->site->gpu ? "1024,1500,2000,2300,3000,8192" : "512,1024");
  const bench_kinds types = bench_types("ds");
  for (int t = 0; t < types.count; t++) {
    p->type = types.at[t];
    const bool made = make_operands(p, bench_place(p->site), bench_largest(&sizes));
    for (const char *trans = "NT"; *trans && made; trans++)
      for (int i = 0; i < sizes.count; i++) {
        p->trans = *trans;
        p->n = sizes.at[i];
        measure(p);
      }
    bench_vectors_close(p->operand);
  }
}

/* From pinned memory ("plain") or pageable one. */
static void from_host(problem *p, int place) {
  const char *form = place == DAVIT_PINNED ? "plain" : "pageable";
  const bench_values sizes = bench_sizes("plain", p->site->gpu ? "3000,8192" : "512");
  p->type = DAVIT_DOUBLE;
  p->trans = 'N';
  for (int i = 0; i < sizes.count; i++) {
    p->n = sizes.at[i];
    bench_case what = case_of(p, form);
    what.link_bytes = what.bytes / 3;
    if (make_operands(p, place, p->n))
      bench_series(&p->spread, p->site, what, plain_call, p);
    bench_vectors_close(p->operand);
  }
  davit_memory_trim(DAVIT_PINNED);
}

static void measure_site(const bench_site *site, const bench_spread *spread) {
  problem p = {.site = site, .peak = bench_peak(site->device)};
  on_device(&p);
  if (!spread)
    return;
  p.spread = *spread;
  from_host(&p, DAVIT_PINNED);
  from_host(&p, DAVIT_PAGEABLE);
}

static const char usage[] = "bench_covariance [--sizes 1024,1500,2000,2300,3000,8192] [--plain 3000,8192] "
                            "[--peak 66.9]\n" BENCH_OPTIONS;

int main(int argc, char **argv) {
  return bench_run("covariance", usage, argc, argv, measure_site);
}
