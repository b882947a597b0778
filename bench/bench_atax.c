/* SPDX-License-Identifier: Apache-2.0 */
/* y = Aᵀ (A x): on a queue against two cuBLAS gemv (NVIDIA) and OpenMP loops (CPU), over several devices,
 * each with its own slab of columns, and of pinned host data. Clocks, ceilings and the options of all
 * programs: bench/measure.h.
 *
 * Square matrices and, with --long, those of 100 x long and long x 100 elements; variants are those of trans.
 * Bytes: A once, and the vectors. --slabs is the order of the 'T' matrix that the devices share (strong) or
 * that each has (weak); the partial y of each device stays where it is, and the rows are timed by the host
 * over a batch that all queues work off, then waited for together. */
#include "bench/peers/loops.h"
#include "bench/series.h"
#include "offload/runtime/cublas.h"

#ifdef DAVIT_WITH_CUDA
#include <cublas_v2.h>
#endif

enum { SHORT = 100 };

typedef struct problem {
  const bench_site *site;
  davit_type type;
  char trans;
  int64_t m, n;
  void *a;
  BENCH_VECTORS(*x, *tmp, *y);
  bench_slab slabs[BENCH_MOST];
  bench_spread spread;
  int batch;
} problem;

static davit_status queue_call(void *argument) {
  const problem *p = argument;
  return davit_queue_atax(p->site->queue, p->type, p->trans, p->m, p->n, p->a, p->m, p->x, p->tmp, p->y,
                          NULL);
}

#ifdef DAVIT_WITH_CUDA
static davit_status gemv(const problem *p, bool transposed, const void *x, void *y) {
  double one = 1, zero = 0;
  float onef = 1, zerof = 0;
  cublasOperation_t op = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasStatus_t status =
      p->type == DAVIT_DOUBLE
          ? DVT_CUBLAS(Dgemv_v2_64)(p->site->cublas, op, p->m, p->n, &one, p->a, p->m, x, 1, &zero, y, 1)
          : DVT_CUBLAS(Sgemv_v2_64)(p->site->cublas, op, p->m, p->n, &onef, p->a, p->m, x, 1, &zerof, y, 1);
  return dvt_cublas_status((int)status, "gemv");
}
static davit_status cublas_call(void *argument) {
  const problem *p = argument;
  davit_status status = gemv(p, p->trans == 'T', p->x, p->tmp);
  return status == DAVIT_SUCCESS ? gemv(p, p->trans != 'T', p->tmp, p->y) : status;
}
#else
#define cublas_call NULL
#endif

static davit_status loop_call(void *argument) {
  const problem *p = argument;
  return peer_loop_atax(p->type, p->trans, p->m, p->n, p->a, p->m, p->x, p->tmp, p->y);
}

static davit_status enqueue_slab(const bench_slab *s, const void *argument) {
  const problem *p = argument;
  return davit_queue_atax(s->queue, p->type, 'T', p->m, s->cols, s->operand[0], p->m, s->operand[1],
                          s->operand[2], s->operand[3], NULL);
}

static davit_status slabs_call(void *argument) {
  const problem *p = argument;
  return bench_slabs_call(&p->spread, p->batch, p->slabs, enqueue_slab, p);
}

static davit_status plain_call(void *argument) {
  const problem *p = argument;
  return davit_atax(p->type, p->trans, p->m, p->n, p->a, p->m, p->x, p->tmp, p->y,
                    &(davit_atax_options){.devices = p->spread.devices, .device_count = p->spread.count});
}

static bench_case case_of(const problem *p, const char *form, int64_t cols) {
  const double elements = (double)p->m * (double)cols;
  const double vectors = p->trans == 'T' ? (double)(2 * p->m + cols) : (double)(p->m + 2 * cols);
  return (bench_case){.operation = "atax",
                      .type = bench_type_name(p->type),
                      .variant = p->trans == 'T' ? "T" : "N",
                      .form = form,
                      .rows = p->m,
                      .cols = cols,
                      .bytes = (elements + vectors) * (double)davit_type_bytes(p->type),
                      .flops = 4 * elements};
}

/* ---- on one device ---- */

static bool make_vectors(problem *p, int place) {
  const int64_t longest = p->m > p->n ? p->m : p->n;
  return bench_vectors_open(place, p->type, (int64_t[4]){longest, longest, longest}, p->operand);
}

static void measure(problem *p) {
  const bench_case what = case_of(p, "queue", p->n);
  const bench_peers peers = {"two gemv", p->site->cublas ? cublas_call : NULL, "loop", loop_call};
  bench_queue_row(p->site, &what, queue_call, &peers, p);
}

static void both_variants(problem *p, int64_t m, int64_t n) {
  p->m = m;
  p->n = n;
  if (make_vectors(p, bench_place(p->site)))
    for (const char *trans = "TN"; *trans; trans++) {
      p->trans = *trans;
      measure(p);
    }
  bench_vectors_close(p->operand);
}

static void on_device(problem *p) {
  const bench_values sizes = bench_sizes("sizes", p->site->gpu ? "4096,8000,10000,12000" : "1024,4096");
  const int64_t other = bench_whole("long", p->site->gpu ? 1000000 : 100000);
  const bench_kinds types = bench_types("ds");
  const int64_t largest = bench_largest(&sizes) * bench_largest(&sizes);
  for (int t = 0; t < types.count; t++) {
    p->type = types.at[t];
    p->a = bench_vector(bench_place(p->site), p->type, largest > SHORT * other ? largest : SHORT * other);
    for (int i = 0; i < sizes.count && p->a; i++)
      both_variants(p, sizes.at[i], sizes.at[i]);
    if (other > 0 && p->a) {
      both_variants(p, SHORT, other);
      both_variants(p, other, SHORT);
    }
    davit_free(p->a);
  }
}

/* ---- over several devices ---- */

static bench_case divide(void *argument, bool weak) {
  problem *p = argument;
  const int64_t cols = weak ? p->n : p->n / p->spread.count;
  for (int d = 0; d < p->spread.count; d++)
    p->slabs[d].cols = cols;
  return case_of(p, weak ? "slabs, weak" : "slabs, strong", cols * p->spread.count);
}

static void in_slabs(problem *p) {
  const bench_kinds types = bench_types("ds");
  p->m = p->n = bench_whole("slabs", p->site->gpu ? 12000 : 2048);
  p->trans = 'T';
  p->batch = p->site->gpu ? 20 : 2;
  for (int t = 0; t < types.count && p->n > 0; t++) {
    p->type = types.at[t];
    if (!bench_slabs_open(&p->spread, p->type, (int64_t[4]){p->m * p->n, p->m, p->n, p->m}, p->slabs))
      continue;
    bench_both_series(&p->spread, p->site, p->batch, divide, slabs_call, p);
    bench_slabs_close(&p->spread, p->slabs);
  }
}

/* From pinned memory ("plain") or pageable one. */
static void from_host(problem *p, int place) {
  const char *form = place == DAVIT_PINNED ? "plain" : "pageable";
  p->m = p->n = bench_whole("plain", p->site->gpu ? 12000 : 2048);
  p->type = DAVIT_DOUBLE;
  if (p->n < 1 || !(p->a = bench_vector(place, p->type, p->m * p->n)))
    return;
  const bool made = make_vectors(p, place);
  for (const char *trans = "TN"; *trans && made; trans++) {
    p->trans = *trans;
    bench_case what = case_of(p, form, p->n);
    what.link_bytes = what.bytes;
    bench_series(&p->spread, p->site, what, plain_call, p);
  }
  bench_vectors_close(p->operand);
  davit_free(p->a);
  davit_memory_trim(DAVIT_PINNED);
}

static void measure_site(const bench_site *site, const bench_spread *spread) {
  problem p = {.site = site};
  on_device(&p);
  if (!spread)
    return;
  p.spread = *spread;
  in_slabs(&p);
  from_host(&p, DAVIT_PINNED);
  from_host(&p, DAVIT_PAGEABLE);
}

static const char usage[] = "bench_atax [--sizes 4096,8000,10000,12000] [--long 1000000] [--slabs 12000] "
                            "[--plain 12000]\n" BENCH_OPTIONS;

int main(int argc, char **argv) {
  return bench_run("atax", usage, argc, argv, measure_site);
}
