/* SPDX-License-Identifier: Apache-2.0 */
/* The lecture's kernels (bench/study/docs/reduction-ladder.md), every result checked:
 *
 *   ladder     10^9 bytes of input per second of K1 … K6, each step and all steps together, beside a copy, the
 *              compiler's reduction clause, davit_reduce() and the forms for the CPU; sums of random ints.
 *              --each: elements a thread of K6, a row for each
 *   blocks     the same kernels by the threads of a team
 *   operators  every operator of the library over each of its types
 *   model      K6 by the elements of a thread, beside the model's cost, n + p log2 p operations for p threads.
 *              When all lanes of a GPU are busy, time is in proportion to the cost; an operation takes what it
 *              takes in the row with the most elements
 *   scans      P1 … P4, read and written bytes, beside a copy and davit_scan()
 *
 * A copy counts the bytes that it reads and those that it writes; of_copy is a rate by the copy's.
 *
 * Kernels run in launches that wait. A kernel's time is the mean of --launches launches of its first grid,
 * one after another, minus that of a kernel that does nothing, measured in the same way; both are in the row.
 * (2^22 ints stay in the cache of a large GPU from launch to launch.) `whole` is a call for the result on the
 * host, with all levels, allocations and waits; so are the rows of what is no rung. Medians over the
 * repeats. */
#include <davit/davit.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "bench/study/program.h"
#include "bench/study/reduce/cpu.h"
#include "bench/study/reduce/model.h"
#include "bench/study/reduce/reduce.h"
#include "bench/study/reduce/scan.h"
#include "ref/ref.h"

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
  int32_t *x, *partials, *copied; /* on the device */
  int32_t right;
  double empty;    /* ms of a launch of nothing */
  double copy_gbs; /* read and written */
} problem;

typedef struct job {
  const problem *p;
  study_reduction r;
  study_cpu_form form;
  int32_t result;
  study_scan scan; /* of the table of scans */
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

static void copy(job *j) {
  bench_check(davit_copy((size_t)j->p->n * sizeof(int32_t), j->p->x, j->p->copied), "copy");
}

static void scan_tiles(job *j) {
  bench_check(study_scan_tiles(&j->scan, j->p->o->site.device, j->p->n, j->p->x, j->p->copied, NULL), "scan");
}

static void scan_grid(job *j) {
  bench_check(study_scan_grid(&j->scan, j->p->o->site.device, j->p->n, j->p->x, j->p->copied), "scan");
}

static void scan_product(job *j) {
  const davit_scan_options options = {.devices = &j->p->o->site.device, .device_count = 1};
  bench_check(
      davit_scan(DAVIT_SUM, DAVIT_INT32, DAVIT_SCAN_INCLUSIVE, j->p->n, j->p->x, j->p->copied, &options),
      "davit_scan");
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
  return study_measure(j->p->o, run_launches, &(launches){run, j, count}, 0).median;
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
  study_number("of_copy", 2, gbs(p, ms[number]) / p->copy_gbs);
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

static void copy_row(const problem *p) {
  begin_row(p, "copy");
  study_number("whole_us", 1, 2e-3 * (double)p->n * sizeof(int32_t) / p->copy_gbs);
  study_number("whole_gbs", 1, p->copy_gbs);
}

/* ---- one n ---- */

static int32_t random_int(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int32_t)(*state >> 33);
}

/* The input and the rate of a copy. close_problem() gives the memory back. */
static problem open_problem(const study_options *o, int64_t n) {
  problem p = {.o = o, .block = (int)bench_whole("block", 256), .n = n};
  const size_t bytes = (size_t)n * sizeof(int32_t);
  const int place = o->site.place;
  int32_t *host = study_host_memory((int64_t)bytes, 1);
  const study_block blocks[] = {
      {&p.x, bytes, place}, {&p.partials, bytes / 2 + sizeof(int32_t), place}, {&p.copied, bytes, place}};
  uint64_t state = 1;
  for (int64_t i = 0; i < n; i++)
    host[i] = random_int(&state);
  p.host = host;
  p.launches = bench_count("launches", o->site.gpu ? 20 : 1);
  study_reference_reduce(STUDY_SUM, n, host, &p.right);
  bench_check(study_allocate(blocks, 3), "memory");
  bench_check(davit_copy(bytes, host, p.x), "copy");
  job j = {.p = &p};
  p.empty = time_of(nothing, &j, p.launches);
  p.copy_gbs = 2 * gbs(&p, time_of(copy, &j, p.launches));
  return p;
}

static void close_problem(problem *p) {
  const study_block blocks[] = {{&p->x, 0, 0}, {&p->partials, 0, 0}, {&p->copied, 0, 0}};
  study_free(blocks, 3);
  free((void *)(uintptr_t)p->host);
}

static void ladder_of(problem *p, const bench_values *each) {
  const int64_t workers = study_workers(p->n);
  double ms[RUNGS];
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
  copy_row(p);
  plain_row(p, "reduction clause", clause, 0);
  plain_row(p, "davit_reduce", product, 0);
  plain_row(p, "CPU, clause", on_cpu, STUDY_CPU_CLAUSE);
  plain_row(p, "CPU, padded", on_cpu, STUDY_CPU_PADDED);
  plain_row(p, "CPU, unpadded", on_cpu, STUDY_CPU_UNPADDED);
}

/* ---- tables ---- */

static bench_values sizes_of(const study_options *o) {
  return bench_sizes("n", o->site.gpu ? "4194304,67108864,268435456" : "65536");
}

static void ladder(void *argument) {
  const study_options *o = argument;
  const bench_values sizes = sizes_of(o), each = bench_sizes("each", "8,64");
  for (int i = 0; i < sizes.count; i++) {
    problem p = open_problem(o, sizes.at[i]);
    ladder_of(&p, &each);
    close_problem(&p);
  }
}

/* Measures a kernel, whose time it returns, and begins its row. */
static double kernel_row(const problem *p, job *j, const char *name) {
  const double ms = time_of(one_grid, j, p->launches) - p->empty;
  begin_row(p, name);
  study_number("block", 0, j->r.block);
  study_number("kernel_us", 1, 1e3 * ms);
  study_number("gbs", 1, gbs(p, ms));
  study_number("of_copy", 2, gbs(p, ms) / p->copy_gbs);
  return ms;
}

/* The largest n by the threads of a team; 8 elements a thread in K6. */
static void by_blocks(void *argument) {
  const bench_values sizes = sizes_of(argument), blocks = bench_sizes("blocks", "64,128,256,512,1024");
  problem p = open_problem(argument, bench_largest(&sizes));
  study_begin_table("blocks", "the kernels by the threads of a team");
  for (int i = 0; i < RUNGS; i++)
    for (int b = 0; b < blocks.count; b++) {
      job j = {.p = &p,
               .r = {.kernel = rungs[i].kernel, .block = (int)blocks.at[b], .last_warp = rungs[i].last_warp}};
      kernel_row(&p, &j, rungs[i].name);
      whole(&j);
      check_result(&j, rungs[i].name);
    }
  close_problem(&p);
}

/* Floating elements whose results are exact in any order; the bits of integers, odd ones for products. */
static void fill_elements(davit_operator op, davit_type type, int64_t n, void *x) {
  uint64_t state = 1;
  for (int64_t i = 0; i < n; i++) {
    const int32_t word = random_int(&state) | (op == DAVIT_PROD);
    const double exact = op == DAVIT_PROD ? (word & 2) - 1 : op == DAVIT_SUM ? (word >> 20) % 3 - 1 : word;
    if (type == DAVIT_FLOAT)
      ((float *)x)[i] = (float)exact;
    else if (type == DAVIT_DOUBLE)
      ((double *)x)[i] = exact;
    else if (type == DAVIT_INT32)
      ((int32_t *)x)[i] = word;
    else
      ((int64_t *)x)[i] = (int64_t)word << 20 | 1;
  }
}

static void operator_rows(const study_options *o, davit_operator op, davit_type type, int64_t n) {
  const size_t element = davit_type_bytes(type), bytes = (size_t)n * element;
  problem p = {.o = o, .n = n * (int64_t)element / (int64_t)sizeof(int32_t)};
  void *host = study_host_memory((int64_t)bytes, 1);
  uint64_t right = 0, is = 0;
  const study_block blocks[] = {{&p.x, bytes, o->site.place},
                                {&p.partials, bytes / 2 + element, o->site.place}};
  p.launches = bench_count("launches", o->site.gpu ? 20 : 1);
  fill_elements(op, type, n, host);
  dvt_ref_reduce(op, type, n, host, &right);
  bench_check(study_allocate(blocks, 2), "memory");
  bench_check(davit_copy(bytes, host, p.x), "copy");
  job j = {.p = &p};
  p.empty = time_of(nothing, &j, p.launches);
  p.n = n;
  study_row();
  study_text("operator", davit_operator_string(op));
  study_text("type", davit_type_string(type));
  bench_number("n", (double)n);
  bench_number("device", o->site.device);
  bench_number("block", STUDY_LIBRARY_BLOCK);
  for (int i = 0; i < RUNGS; i++) {
    static const char *const keys[RUNGS] = {"k1_gbs", "k2_gbs",          "k3_gbs", "k4_gbs",
                                            "k5_gbs", "k5_shuffles_gbs", "k6_gbs", "k6_shuffles_gbs"};
    j.r = (study_reduction){STUDY_LIBRARY(op, type), rungs[i].kernel, STUDY_LIBRARY_BLOCK, rungs[i].last_warp,
                            .each = 64};
    const double ms = time_of(one_grid, &j, p.launches) - p.empty;
    bench_check(study_reduce(&j.r, o->site.device, n, p.x, &is), "reduction");
    if (is != right)
      study_give_up("%s, %s of %s, is wrong", rungs[i].name, davit_operator_string(op),
                    davit_type_string(type));
    study_number(keys[i], 1, 1e-6 * (double)bytes / ms);
  }
  study_free(blocks, 2);
  free(host);
}

static void operators(void *argument) {
  const study_options *o = argument;
  const int64_t n = bench_whole("elements", o->site.gpu ? 1 << 26 : 1 << 16);
  study_begin_table("operators", "%lld elements, 64 a thread in K6: GB/s of the kernels", (long long)n);
  for (int op = 0; op < DAVIT_OPERATOR_COUNT; op++)
    for (int type = 0; type < DVT_MONOID_TYPES; type++)
      operator_rows(o, (davit_operator)op, (davit_type)type, n);
}

static void model(void *argument) {
  const bench_values sizes = sizes_of(argument), each = bench_sizes("model-each", "256,128,64,32,16,8,4,2");
  problem p = open_problem(argument, bench_largest(&sizes));
  double unit = 0; /* ms of an operation */
  study_begin_table("model", "K6 with shuffles by the elements of a thread, beside the model's cost");
  for (int e = 0; e < each.count; e++) {
    job j = {.p = &p, .r = {.kernel = 6, .block = p.block, .last_warp = STUDY_SHUFFLES, .each = each.at[e]}};
    const int64_t workers = study_partials(&j.r, p.n) * p.block;
    const study_cost cost = study_cost_of(p.n, workers);
    const double ms = kernel_row(&p, &j, "K6 shuffles");
    unit = e ? unit : ms / cost.cost;
    study_number("each", 0, (double)each.at[e]);
    study_number("workers", 0, (double)workers);
    study_number("cost", 0, cost.cost);
    study_number("model_us", 1, 1e3 * unit * cost.cost);
    study_number("measured_by_model", 2, ms / (unit * cost.cost));
    study_number("optimal", 0, cost.optimal);
    whole(&j);
    check_result(&j, "K6");
  }
  close_problem(&p);
}

static void check_scan(const job *j, int64_t tile, const char *name) {
  const problem *p = j->p;
  int32_t *is = study_host_memory(p->n, sizeof *is), *right = study_host_memory(tile, sizeof *right);
  bench_check(davit_copy((size_t)p->n * sizeof *is, p->copied, is), "copy");
  for (int64_t first = 0; first < p->n; first += tile) {
    const int64_t count = p->n - first < tile ? p->n - first : tile;
    study_reference_scan(STUDY_SUM, false, count, p->host + first, right);
    if (memcmp(is + first, right, (size_t)count * sizeof *is) != 0)
      study_give_up("%s is wrong in the tile from %lld on", name, (long long)first);
  }
  free(is);
  free(right);
}

/* A scan reads and writes each element; of a whole_scan the tiles are one. */
static void scan_row(const problem *p, const char *name, void (*run)(job *), study_scan_form form,
                     bool whole_scan) {
  job j = {.p = p, .scan = {.form = form, .block = p->block}};
  const double ms = time_of(run, &j, p->launches);
  check_scan(&j, whole_scan ? p->n : study_scan_tile(&j.scan), name);
  begin_row(p, name);
  study_number("us", 1, 1e3 * ms);
  study_number("empty_us", 1, 1e3 * p->empty);
  study_number("gbs", 1, 2 * gbs(p, ms));
  study_number("of_copy", 2, 2 * gbs(p, ms) / p->copy_gbs);
  study_number("levels", 0, whole_scan && run == scan_grid ? study_scan_levels(&j.scan, p->n) : NAN);
}

static void scans(void *argument) {
  const bench_values sizes = sizes_of(argument);
  for (int i = 0; i < sizes.count; i++) {
    problem p = open_problem(argument, sizes.at[i]);
    study_begin_table("scans", "inclusive sums of %lld ints, block %d; a copy reaches %.1f GB/s",
                      (long long)p.n, p.block, p.copy_gbs);
    scan_row(&p, "P1, blocks", scan_tiles, STUDY_NAIVE, false);
    scan_row(&p, "P2, warps", scan_tiles, STUDY_WARP_SCAN, false);
    scan_row(&p, "P3, blocks", scan_tiles, STUDY_BLOCK_SCAN, false);
    scan_row(&p, "P3 over 8 a thread", scan_tiles, STUDY_SEVERAL, false);
    scan_row(&p, "P4 of P1", scan_grid, STUDY_NAIVE, true);
    scan_row(&p, "P4 of P3", scan_grid, STUDY_BLOCK_SCAN, true);
    scan_row(&p, "P4, 8 a thread", scan_grid, STUDY_SEVERAL, true);
    scan_row(&p, "davit_scan", scan_product, STUDY_NAIVE, true);
    close_problem(&p);
  }
}

static const study_table tables[] = {{"ladder", .measure = ladder},
                                     {"blocks", .measure = by_blocks},
                                     {"operators", .measure = operators},
                                     {"model", .measure = model},
                                     {"scans", .measure = scans}};

static const char usage[] =
    "bench_reduction_ladder [--device 0] [--tables ladder,blocks,operators,model,scans]\n"
    "                       [--n 4194304,67108864,268435456] [--block 256] [--each 8,64]\n"
    "                       [--blocks 64,128,256,512,1024] [--elements 67108864] [--model-each 256,...]\n"
    "                       [--repeats 5] [--cell-seconds 0] [--launches 20]\n";

int main(int argc, char **argv) {
  study_options o = study_options_read(usage, argc, argv, 5, 5, 0);
  return study_measure_tables(&o, "reduction_ladder", sizeof tables / sizeof *tables, tables, &o);
}
