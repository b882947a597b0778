/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder of reduction kernels (bench/study/docs/reduction-ladder.md): 10^9 bytes of input per second of
 * K1 … K6, each step and all steps together, beside the compiler's reduction clause, davit_reduce() and the
 * forms for the CPU. Sums of random ints, each checked. --each: elements a thread of K6, a row for each.
 *
 * Kernels run in launches that wait. A kernel's time is the mean of --launches launches of its first grid,
 * one after another, minus that of a kernel that does nothing, measured in the same way; both are in the row.
 * (2^22 ints stay in the cache of a large GPU from launch to launch.) `whole` is a call for the result on the
 * host, with all levels, allocations and waits; so are the rows of what is no rung. Medians over the
 * repeats. */
#include <davit/davit.h>
#include <omp.h>
#include <stdlib.h>

#include "bench/study/program.h"
#include "bench/study/reduce/cpu.h"
#include "bench/study/reduce/model.h"
#include "bench/study/reduce/reduce.h"

typedef struct rung {
  const char *name, *remark;
  int kernel, before; /* the rung whose step this is; -1: the first */
  study_last_warp last_warp;
} rung;

static const rung rungs[] = {
    {"K1", "divergent warps, slow remainder", 1, -1, STUDY_BARRIERS},
    {"K2", "bank conflicts", 2, 0, STUDY_BARRIERS},
    {"K3", "idle threads", 3, 1, STUDY_BARRIERS},
    {"K4", "the loop", 4, 2, STUDY_BARRIERS},
    {"K5", "not cost-optimal", 5, 3, STUDY_BARRIERS},
    {"K5 shuffles", "not cost-optimal", 5, 3, STUDY_SHUFFLES},
    {"K6", "", 6, 4, STUDY_BARRIERS},
    {"K6 shuffles", "", 6, 5, STUDY_SHUFFLES},
};
enum { RUNGS = sizeof rungs / sizeof *rungs };

typedef struct problem {
  const study_options *o;
  int block, launches;
  int64_t n;
  const int32_t *host;
  int32_t *x, *partials; /* on the device */
  int32_t right;
  double empty; /* ms of a launch of nothing */
} problem;

typedef struct job {
  const problem *p;
  study_reduction r;
  study_cpu_form form;
  int32_t result;
} job;

/* ---- what is measured ---- */

static void one_grid(job *j) {
  bench_check(study_reduce_grid(&j->r, j->p->o->site.device, j->p->n, j->p->x, j->p->partials), "grid");
}

static void nothing(job *j) {
  bench_check(study_empty_grid(j->p->o->site.device, j->p->n, j->p->x, j->p->partials), "empty grid");
}

static void whole(job *j) {
  bench_check(study_reduce(&j->r, j->p->o->site.device, j->p->n, j->p->x, &j->result), "reduction");
}

static void clause(job *j) {
  j->result = study_clause_sum(j->p->o->site.device, j->p->n, j->p->x);
}

static void product(job *j) {
  const davit_reduce_options options = {.devices = &j->p->o->site.device, .device_count = 1};
  bench_check(davit_reduce(DAVIT_SUM, DAVIT_INT32, j->p->n, j->p->x, &j->result, &options), "davit_reduce");
}

static void on_cpu(job *j) {
  j->result = study_cpu_sum(j->form, omp_get_max_threads(), j->p->n, j->p->host);
}

typedef struct launches {
  void (*run)(job *);
  job *j;
  int count;
} launches;

/* Milliseconds of a launch. */
static double run_launches(void *argument) {
  const launches *l = argument;
  const double start = bench_now();
  for (int i = 0; i < l->count; i++)
    l->run(l->j);
  return 1e3 * (bench_now() - start) / l->count;
}

static double time_of(void (*run)(job *), job *j, int count) {
  return study_measure(j->p->o->repeats, run_launches, &(launches){run, j, count}).median;
}

static void check_result(const job *j, const char *name) {
  if (j->result != j->p->right)
    study_give_up("%s gives %d, not %d", name, j->result, j->p->right);
}

static double gbs(const problem *p, double ms) {
  return 1e-6 * (double)p->n * sizeof(int32_t) / ms;
}

/* ---- rows ---- */

/* Warps of a team of K1 … K6 that diverge and the worst conflict of its first warp, by the model. */
static void count(const job *j, int *divergent, int *ways) {
  study_trace trace = {0};
  bench_check(study_trace_block(&j->r, j->p->n, j->p->host, &trace), "trace");
  *divergent = study_divergent_warps(&trace);
  *ways = 0;
  for (int step = 0; step <= trace.step; step++) {
    const int of_step = study_conflict_ways(&trace, step, 0);
    *ways = of_step > *ways ? of_step : *ways;
  }
  study_trace_free(&trace);
}

static void begin_row(const problem *p, const char *name) {
  study_row();
  study_text("kernel", name);
  bench_number("n", (double)p->n);
  bench_number("device", p->o->site.device);
}

/* Measures a rung; `ms` has the kernels' times of the rungs so far. */
static void ladder_row(const problem *p, int number, int64_t each, double *ms) {
  const rung *r = &rungs[number];
  job j = {.p = p, .r = {.kernel = r->kernel, .block = p->block, .last_warp = r->last_warp, .each = each}};
  int divergent, ways;
  const double raw = time_of(one_grid, &j, p->launches), all = time_of(whole, &j, 1);
  check_result(&j, r->name);
  ms[number] = raw - p->empty;
  const study_cost cost = study_cost_of(p->n, study_partials(&j.r, p->n) * p->block);
  count(&j, &divergent, &ways);
  begin_row(p, r->name);
  bench_number("block", p->block);
  study_number("each", 0, r->kernel == 6 ? (double)each : r->kernel < 4 ? 1 : 2);
  bench_number("launch_us", 1e3 * raw);
  bench_number("empty_us", 1e3 * p->empty);
  study_number("kernel_us", 1, 1e3 * ms[number]);
  study_number("gbs", 1, gbs(p, ms[number]));
  study_number("step", 2, r->before < 0 ? 1 : ms[r->before] / ms[number]);
  study_number("cumulative", 2, ms[0] / ms[number]);
  study_number("whole_us", 1, 1e3 * all);
  study_number("whole_gbs", 1, gbs(p, all));
  study_number("launched_warps", 0, (double)study_launched_warps(&j.r, p->n));
  study_number("divergent_warps_per_block", 0, divergent);
  study_number("conflict_ways", 0, ways);
  study_number("model_efficiency", 2, cost.efficiency);
  study_number("model_cost_optimal", 0, cost.optimal);
  study_text("remark", r->remark);
}

static void plain_row(const problem *p, const char *name, void (*run)(job *), study_cpu_form form) {
  job j = {.p = p, .form = form};
  const double all = time_of(run, &j, 1);
  check_result(&j, name);
  begin_row(p, name);
  study_number("whole_us", 1, 1e3 * all);
  study_number("whole_gbs", 1, gbs(p, all));
}

/* ---- one n ---- */

static void measure(problem *p, const bench_values *each) {
  const int64_t workers = study_workers(p->n);
  const size_t bytes = (size_t)p->n * sizeof(int32_t);
  const int place = p->o->site.place;
  int32_t *host = study_host_memory((int64_t)bytes, 1);
  const study_block blocks[] = {{&p->x, bytes, place}, {&p->partials, bytes / 2 + sizeof(int32_t), place}};
  double ms[RUNGS];
  uint64_t state = 1;
  for (int64_t i = 0; i < p->n; i++) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    host[i] = (int32_t)(state >> 33);
  }
  p->host = host;
  study_reference_reduce(STUDY_SUM, p->n, host, &p->right);
  bench_check(study_allocate(blocks, 2), "memory");
  bench_check(davit_copy(bytes, host, p->x), "copy");
  job empty = {.p = p};
  p->empty = time_of(nothing, &empty, p->launches);
  study_begin_table(
      "ladder",
      "%lld ints, device %d, block %d; an empty launch takes %.1f us (taken off), %d launches each; "
      "model: n / log2 n = %lld workers, %lld elements each, efficiency %.2f",
      (long long)p->n, p->o->site.device, p->block, 1e3 * p->empty, p->launches, (long long)workers,
      (long long)(p->n / workers), study_cost_of(p->n, workers).efficiency);
  for (int i = 0; i < RUNGS; i++)
    for (int e = 0; e < (rungs[i].kernel == 6 ? each->count : 1); e++)
      ladder_row(p, i, each->at[e], ms);
  study_begin_table("ladder", "what is no rung");
  plain_row(p, "reduction clause", clause, 0);
  plain_row(p, "davit_reduce", product, 0);
  plain_row(p, "CPU, clause", on_cpu, STUDY_CPU_CLAUSE);
  plain_row(p, "CPU, padded", on_cpu, STUDY_CPU_PADDED);
  plain_row(p, "CPU, unpadded", on_cpu, STUDY_CPU_UNPADDED);
  study_free(blocks, 2);
  free(host);
}

static void ladder(void *argument) {
  const study_options *o = argument;
  const bench_values sizes = bench_sizes("n", o->site.gpu ? "4194304,67108864,268435456" : "262144"),
                     each = bench_sizes("each", "8,64");
  problem p = {.o = o, .block = (int)bench_whole("block", 256)};
  p.launches = bench_count("launches", o->site.gpu ? 20 : 1);
  for (int i = 0; i < sizes.count; i++) {
    p.n = sizes.at[i];
    measure(&p, &each);
  }
}

static const char usage[] =
    "bench_reduction_ladder [--device 0] [--n 4194304,67108864,268435456] [--block 256] "
    "[--each 8,64] [--repeats 5]\n"
    "                       [--launches 20]\n";

int main(int argc, char **argv) {
  study_options o = study_options_read(usage, argc, argv, 5, 5);
  return study_measure_tables(&o, "reduction_ladder", 1, &(study_table){"ladder", .measure = ladder}, &o);
}
