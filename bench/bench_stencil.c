/* SPDX-License-Identifier: Apache-2.0 */
/* The 3 x 3 stencil: on a queue against a plain CUDA kernel (NVIDIA) and an OpenMP loop (CPU; there the plain form
 * as well), over several devices, each with its own slab of columns, and of pinned host data. Clocks, ceilings and
 * the options of all programs: bench/measure.h.
 *
 * Matrices are square, with ld = n. Bytes: each element read once and written once. --slabs is the order of the
 * matrix that the devices share (strong, with one column of a neighbour on each side) or that each has (weak); the
 * rows are timed by the host over a batch that all queues work off, then waited for together. */
#include "bench/peers/loops.h"
#include "bench/series.h"

typedef struct problem {
  const bench_site *site;
  davit_type type;
  int64_t n;
  BENCH_VECTORS(*a, *b);
  bench_slab slabs[BENCH_MOST];
  bench_spread spread;
  int batch;
} problem;

static davit_status here_call(void *argument) {
  const problem *p = argument;
  return davit_stencil(p->type, p->n, p->n, p->a, p->n, NULL, p->b, p->n,
                       &(davit_stencil_options){.devices = &p->site->device, .device_count = 1});
}

static davit_status queue_call(void *argument) {
  const problem *p = argument;
  return davit_queue_stencil(p->site->queue, p->type, p->n, p->n, p->a, p->n, NULL, p->b, p->n, NULL);
}

static davit_status cuda_call(void *argument) {
  const problem *p = argument;
  return bench_cuda(p->site->cub->stencil(p->site->stream, p->type, (int)p->n, (int)p->n, p->a, (int)p->n,
                                          davit_stencil_coefficients, p->b, (int)p->n),
                    "plain kernel");
}

static davit_status loop_call(void *argument) {
  const problem *p = argument;
  peer_loop_stencil(p->type, p->n, p->n, p->a, p->n, davit_stencil_coefficients, p->b, p->n);
  return DAVIT_SUCCESS;
}

static davit_status enqueue_slab(const bench_slab *s, const void *argument) {
  const problem *p = argument;
  return davit_queue_stencil(s->queue, p->type, p->n, s->cols, s->operand[0], p->n, NULL, s->operand[1], p->n,
                             NULL);
}

static davit_status slabs_call(void *argument) {
  const problem *p = argument;
  return bench_slabs_call(&p->spread, p->batch, p->slabs, enqueue_slab, p);
}

static davit_status plain_call(void *argument) {
  const problem *p = argument;
  return davit_stencil(
      p->type, p->n, p->n, p->a, p->n, NULL, p->b, p->n,
      &(davit_stencil_options){.devices = p->spread.devices, .device_count = p->spread.count});
}

static bench_case case_of(const problem *p, const char *form, int64_t cols) {
  const double elements = (double)p->n * (double)cols;
  return (bench_case){.operation = "stencil",
                      .type = bench_type_name(p->type),
                      .form = form,
                      .rows = p->n,
                      .cols = cols,
                      .bytes = 2 * elements * (double)davit_type_bytes(p->type),
                      .flops = 17 * elements};
}

/* ---- on one device ---- */

static void measure(problem *p) {
  const bench_case what = case_of(p, "queue", p->n);
  const bench_peers peers = {"plain CUDA", p->site->cub ? cuda_call : NULL, "loop", loop_call};
  bench_queue_row(p->site, &what, queue_call, &peers, p);
  bench_plain_row(p->site, &what, here_call, &peers, p);
}

static void on_device(problem *p) {
  const bench_values sizes =
      bench_sizes("sizes", p->site->gpu ? "1024,4096,9000,9001,16384" : "1024,4096,4097,8192");
  const int64_t square = bench_largest(&sizes) * bench_largest(&sizes);
  const bench_kinds types = bench_types("ds");
  for (int t = 0; t < types.count; t++) {
    p->type = types.at[t];
    if (bench_vectors_open(bench_place(p->site), p->type, (int64_t[4]){square, square}, p->operand))
      for (int i = 0; i < sizes.count; i++) {
        p->n = sizes.at[i];
        measure(p);
      }
    bench_vectors_close(p->operand);
  }
}

/* ---- over several devices ---- */

/* One column more at each border that a neighbour has. */
static bench_case divide(void *argument, bool weak) {
  problem *p = argument;
  const int count = p->spread.count;
  const int64_t each = weak ? p->n : p->n / count;
  for (int d = 0; d < count; d++)
    p->slabs[d].cols = weak ? each : each + (d > 0) + (d + 1 < count);
  return case_of(p, weak ? "slabs, weak" : "slabs, strong", each * count);
}

static void in_slabs(problem *p) {
  const bench_kinds types = bench_types("ds");
  p->n = bench_whole("slabs", p->site->gpu ? 16384 : 2048);
  p->batch = p->site->gpu ? 20 : 2;
  for (int t = 0; t < types.count && p->n > 2; t++) {
    p->type = types.at[t];
    if (!bench_slabs_open(&p->spread, p->type, (int64_t[4]){p->n * p->n, p->n * p->n}, p->slabs))
      continue;
    bench_both_series(&p->spread, p->site, p->batch, divide, slabs_call, p);
    bench_slabs_close(&p->spread, p->slabs);
  }
}

/* From pinned memory ("plain") or pageable one. */
static void from_host(problem *p, int place) {
  const char *form = place == DAVIT_PINNED ? "plain" : "pageable";
  p->n = bench_whole("plain", p->site->gpu ? 9000 : 2048);
  p->type = DAVIT_DOUBLE;
  bench_case what = case_of(p, form, p->n);
  what.link_bytes = what.bytes / 2;
  if (p->n > 0 && bench_vectors_open(place, p->type, (int64_t[4]){p->n * p->n, p->n * p->n}, p->operand))
    bench_series(&p->spread, p->site, what, plain_call, p);
  bench_vectors_close(p->operand);
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

static const char usage[] =
    "bench_stencil [--sizes 1024,4096,9000,9001,16384] [--slabs 16384] [--plain 9000]\n" BENCH_OPTIONS;

int main(int argc, char **argv) {
  return bench_run("stencil", usage, argc, argv, measure_site);
}
