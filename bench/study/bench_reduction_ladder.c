/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder of reduction kernels (bench/study/docs/reduction-ladder.md): 10^9 bytes of input per second of K1 … K6,
 * each step and all steps together, beside the compiler's reduction clause, davit_reduce() and the CPU's
 * forms. Sums of random ints, each checked.
 *
 * By default the first device that work is spread over; the CPU gets a smaller n. --each: elements a
 * thread of K6, a row for each.
 *
 * Kernels run in launches that wait. A kernel's time is that of --launches launches of its first grid, one
 * after another, divided by their number, minus that of a kernel that does nothing, measured in the same
 * way; both are in the row. (With 2^22 ints the input stays in the cache of a large GPU from launch to
 * launch.) `whole` is a call for the result on the host, all levels, allocations and waits included; so
 * are the rows of what is no rung. Medians over the repeats. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/study/reduce/cpu.h"
#include "bench/study/reduce/model.h"
#include "bench/study/reduce/reduce.h"

enum { MOST = 64, RUNGS = 8 };

typedef struct rung {
  const char *name, *remark;
  int kernel, before; /* the rung whose step this is; -1: the first */
  study_last_warp last_warp;
} rung;

static const rung rungs[RUNGS] = {
    {"K1", "divergent warps, slow remainder", 1, -1, STUDY_BARRIERS},
    {"K2", "bank conflicts", 2, 0, STUDY_BARRIERS},
    {"K3", "idle threads", 3, 1, STUDY_BARRIERS},
    {"K4", "the loop", 4, 2, STUDY_BARRIERS},
    {"K5", "not cost-optimal", 5, 3, STUDY_BARRIERS},
    {"K5 shuffles", "not cost-optimal", 5, 3, STUDY_SHUFFLES},
    {"K6", "", 6, 4, STUDY_BARRIERS},
    {"K6 shuffles", "", 6, 5, STUDY_SHUFFLES},
};

typedef struct problem {
  int device, block, repeats, launches;
  int64_t n;
  const int32_t *host;
  int32_t *x, *partials; /* on the device */
  int32_t right;
  double empty; /* seconds of a launch of nothing */
} problem;

typedef struct job {
  const problem *p;
  study_reduction r;
  int32_t result;
} job;

/* ---- what is measured ---- */

static void one_grid(job *j) {
  bench_check(study_reduce_grid(&j->r, j->p->device, j->p->n, j->p->x, j->p->partials), "grid");
}

static void nothing(job *j) {
  bench_check(study_empty_grid(j->p->device, j->p->n, j->p->x, j->p->partials), "empty grid");
}

static void whole(job *j) {
  bench_check(study_reduce(&j->r, j->p->device, j->p->n, j->p->x, &j->result), "reduction");
}

static void clause(job *j) {
  j->result = study_clause_sum(j->p->device, j->p->n, j->p->x);
}

static void product(job *j) {
  const int *devices = &j->p->device;
  bench_check(davit_reduce(DAVIT_SUM, DAVIT_INT32, j->p->n, j->p->x, &j->result,
                           &(davit_reduce_options){.devices = devices, .device_count = 1}),
              "davit_reduce");
}

static void cpu_clause(job *j) {
  j->result = study_cpu_sum(STUDY_CPU_CLAUSE, omp_get_max_threads(), j->p->n, j->p->host);
}

static void cpu_padded(job *j) {
  j->result = study_cpu_sum(STUDY_CPU_PADDED, omp_get_max_threads(), j->p->n, j->p->host);
}

static void cpu_unpadded(job *j) {
  j->result = study_cpu_sum(STUDY_CPU_UNPADDED, omp_get_max_threads(), j->p->n, j->p->host);
}

/* Seconds of one call, of `launches` after one another; the median. */
static double time_of(void (*run)(job *), job *j, int launches) {
  double times[MOST];
  for (int i = -1; i < j->p->repeats; i++) {
    double start = bench_now();
    for (int l = 0; l < launches; l++)
      run(j);
    times[i < 0 ? 0 : i] = (bench_now() - start) / launches;
  }
  return bench_median(times, j->p->repeats);
}

static void check_result(const job *j, const char *name) {
  if (j->result == j->p->right)
    return;
  fprintf(stderr, "%s gives %d, not %d\n", name, j->result, j->p->right);
  exit(4);
}

static double gbs(const problem *p, double seconds) {
  return 1e-9 * (double)p->n * sizeof(int32_t) / seconds;
}

/* ---- rows ---- */

/* Warps of a block of K1 … K6 that diverge and the worst conflict of its first warp, by the model. */
static void count(const job *j, int *divergent, int *ways) {
  study_trace trace = {0};
  bench_check(study_trace_block(&j->r, j->p->n, j->p->host, &trace), "trace");
  *divergent = study_divergent_warps(&trace);
  *ways = 0;
  for (int step = 0; step <= trace.step; step++) {
    int of_step = study_conflict_ways(&trace, step, 0);
    *ways = of_step > *ways ? of_step : *ways;
  }
  study_trace_free(&trace);
}

static void begin_row(const problem *p, const char *name) {
  bench_row();
  bench_text("kernel", name);
  bench_number("n", (double)p->n);
  bench_number("device", p->device);
}

/* Measures a rung; `seconds` has the kernels' times of the rungs so far. */
static void ladder_row(const problem *p, int number, int64_t each, double *seconds) {
  const rung *r = &rungs[number];
  job j = {.p = p, .r = {.kernel = r->kernel, .block = p->block, .last_warp = r->last_warp, .each = each}};
  int divergent, ways;
  double raw = time_of(one_grid, &j, p->launches), all = time_of(whole, &j, 1);
  check_result(&j, r->name);
  seconds[number] = raw - p->empty;
  double step = r->before < 0 ? 1 : seconds[r->before] / seconds[number],
         total = seconds[0] / seconds[number];
  int64_t warps = study_launched_warps(&j.r, p->n);
  study_cost cost = study_cost_of(p->n, study_partials(&j.r, p->n) * p->block);
  count(&j, &divergent, &ways);
  begin_row(p, r->name);
  bench_number("block", p->block);
  bench_number("each", r->kernel == 6 ? (double)each : r->kernel < 4 ? 1 : 2);
  bench_number("launch_us", 1e6 * raw);
  bench_number("empty_us", 1e6 * p->empty);
  bench_number("kernel_us", 1e6 * seconds[number]);
  bench_number("gbs", gbs(p, seconds[number]));
  bench_number("step", step);
  bench_number("cumulative", total);
  bench_number("whole_us", 1e6 * all);
  bench_number("whole_gbs", gbs(p, all));
  bench_number("launched_warps", (double)warps);
  bench_number("divergent_warps_per_block", divergent);
  bench_number("conflict_ways", ways);
  bench_number("model_efficiency", cost.efficiency);
  bench_number("model_cost_optimal", cost.optimal);
  bench_text("remark", r->remark);
  char name[32];
  snprintf(name, sizeof name, r->kernel == 6 ? "%s, each %lld" : "%s", r->name, (long long)each);
  fprintf(stderr, "%-20s %9.1f %8.1f %6.2f/%-6.2f %9.1f %8.1f %10lld %4d %4d %6.2f%c %s\n", name,
          1e6 * seconds[number], gbs(p, seconds[number]), step, total, 1e6 * all, gbs(p, all),
          (long long)warps, divergent, ways, cost.efficiency, cost.optimal ? '*' : ' ', r->remark);
}

static void plain_row(const problem *p, const char *name, void (*run)(job *)) {
  job j = {.p = p};
  double all = time_of(run, &j, 1);
  check_result(&j, name);
  begin_row(p, name);
  bench_number("whole_us", 1e6 * all);
  bench_number("whole_gbs", gbs(p, all));
  fprintf(stderr, "%-20s %9s %8s %6s/%-6s %9.1f %8.1f\n", name, "", "", "", "", 1e6 * all, gbs(p, all));
}

/* ---- one n ---- */

static void fill(int32_t *x, int64_t n) {
  uint64_t state = 1;
  for (int64_t i = 0; i < n; i++) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    x[i] = (int32_t)(state >> 33);
  }
}

static void table_head(const problem *p) {
  int64_t workers = study_workers(p->n);
  fprintf(stderr,
          "\n%lld ints, device %d, block %d; an empty launch takes %.1f us (taken off), %d launches each\n"
          "model: n / log2 n = %lld workers, %lld elements each, E = %.2f\n"
          "%-20s %9s %8s %6s/%-6s %9s %8s %10s %4s %4s %6s\n",
          (long long)p->n, p->device, p->block, 1e6 * p->empty, p->launches, (long long)workers,
          (long long)(p->n / workers), study_cost_of(p->n, workers).efficiency, "kernel", "us", "GB/s",
          "step", "all", "whole us", "GB/s", "warps", "div", "ways", "E");
}

static void measure(problem *p, const int64_t *each, int each_count) {
  size_t bytes = (size_t)p->n * sizeof(int32_t);
  int place = p->device == DAVIT_HOST ? DAVIT_PAGEABLE : p->device;
  int32_t *host = malloc(bytes);
  void *x, *partials;
  double seconds[RUNGS];
  if (!host) {
    fprintf(stderr, "no memory for %lld ints\n", (long long)p->n);
    exit(4);
  }
  fill(host, p->n);
  p->host = host;
  study_reference_reduce(STUDY_SUM, p->n, host, &p->right);
  bench_check(davit_malloc(bytes, place, &x), "memory");
  bench_check(davit_malloc(bytes / 2 + sizeof(int32_t), place, &partials), "memory");
  bench_check(davit_copy(bytes, host, x), "copy");
  p->x = x;
  p->partials = partials;
  job empty = {.p = p};
  p->empty = time_of(nothing, &empty, p->launches);
  table_head(p);
  for (int i = 0; i < RUNGS; i++)
    for (int e = 0; e < (rungs[i].kernel == 6 ? each_count : 1); e++)
      ladder_row(p, i, each[e], seconds);
  plain_row(p, "reduction clause", clause);
  plain_row(p, "davit_reduce", product);
  plain_row(p, "CPU, clause", cpu_clause);
  plain_row(p, "CPU, padded", cpu_padded);
  plain_row(p, "CPU, unpadded", cpu_unpadded);
  bench_check(davit_free(x), "memory");
  bench_check(davit_free(partials), "memory");
  free(host);
}

static const char usage[] = "bench_reduction_ladder [--device 0] [--n 4194304,67108864,268435456] "
                            "[--block 256] [--each 8,64]\n"
                            "                       [--repeats 5] [--launches 20]\n";

int main(int argc, char **argv) {
  bench_options(usage, argc, argv);
  problem p = {0};
  int64_t sizes[MOST], each[MOST];
  int first, count_of_devices;
  char fallback[16];
  davit_device_info info;
  bench_check(davit_device_defaults(1, &first, &count_of_devices), "devices");
  snprintf(fallback, sizeof fallback, "%d", first);
  p.device = atoi(bench_option(argc, argv, "device", fallback));
  bench_check(davit_device_describe(p.device, &info), "device");
  bool gpu = info.kind != DAVIT_DEVICE_CPU && info.kind != DAVIT_DEVICE_HOST_OFFLOAD;
  p.block = atoi(bench_option(argc, argv, "block", "256"));
  p.repeats = atoi(bench_option(argc, argv, "repeats", "5"));
  p.repeats = p.repeats < 1 ? 1 : p.repeats > MOST ? MOST : p.repeats;
  p.launches = atoi(bench_option(argc, argv, "launches", gpu ? "20" : "1"));
  p.launches = p.launches < 1 ? 1 : p.launches;
  int size_count =
      bench_list(bench_option(argc, argv, "n", gpu ? "4194304,67108864,268435456" : "262144"), sizes, MOST);
  int each_count = bench_list(bench_option(argc, argv, "each", "8,64"), each, MOST);
  bench_begin("reduction_ladder", argc, argv);
  for (int i = 0; i < size_count; i++)
    if ((p.n = sizes[i]) > 0)
      measure(&p, each, each_count);
  bench_end();
  bench_check(davit_finalize(), "finalize");
  return 0;
}
