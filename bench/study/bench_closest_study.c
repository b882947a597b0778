/* SPDX-License-Identifier: Apache-2.0 */
/* The source's tables on the closest pair, measured again (bench/study/docs/closest-study.md): every program
 * by size and launch shape, its speed-up over the program for one core, the share of sorting and of each
 * kernel, the limit of 8 flagged blocks, load balance; and the tables of its introduction (introduction.h). Where
 * the device is the CPU, sizes are small.
 *
 * Times are medians of the repeats after one that is not counted (program.h); the rows have means as well, and
 * how many repeats there were: --repeats as long as they fit into --cell-seconds. Parts of a time are those of
 * the median run. A program's time is without allocations and with its copies, unless a column says `kernels`.
 * All pairs on one core take n^2 steps: beyond --cpu-most points their time is that of the largest measured
 * size times the square of the ratio, and one_core_measured is 0. With --together N, N cells of P1 and P2 run
 * at the same time, each on a core, where one takes longer than --cell-seconds. A size is left out if a run
 * would take longer than --patience seconds (0: none is), by the time of the largest size measured so far; P5
 * with every block has a time of its own, and only its rows are left out. Every result is compared with P4's. */
#include <davit/davit.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/study/closest/closest.h"
#include "bench/study/closest/points.h"
#include "bench/study/introduction.h"
#include "bench/study/program.h"

typedef struct study {
  const study_options *o;
  int64_t cpu_most;
  double patience_ms; /* 0: no end to it */
  int together;
  study_points source;
  int64_t n; /* of the points below */
  study_point *points;
  float right; /* NAN: not known yet */
} study;

static void row(const study *s) {
  study_row();
  study_number("n", 0, (double)s->n);
  bench_number("device", s->o->site.device);
}

/* The repeats of two times in one row. */
static int fewer(study_time a, study_time b) {
  return a.repeats < b.repeats ? a.repeats : b.repeats;
}

static const char *const distributions[STUDY_DISTRIBUTIONS] = {"uniform", "signed", "normal"};

static void use_points(study *s, int64_t n) {
  if (s->n == n)
    return;
  free(s->points);
  s->points = study_host_memory(n, sizeof *s->points);
  s->n = n;
  s->right = NAN; /* not known yet */
  bench_check(study_points_make(&s->source, n, s->points), "points");
}

static void use_right(study *s) {
  study_closest right;
  bench_check(study_closest_divide_cpu(s->n, s->points, 8, &right, NULL), "P4");
  s->right = right.distance;
}

/* ---- what is measured ---- */

typedef struct job {
  study *s;
  int64_t b; /* P2 */
  int cutoff;
  study_brute brute;
  study_divide divide;
  study_closest result;
  study_divide_cpu divide_cpu;
  study_brute_times brute_times;
  study_divide_report report;
} job;

static double run_cpu(void *argument) {
  job *j = argument;
  const double start = bench_now();
  bench_check(study_closest_cpu(j->s->n, j->s->points, &j->result), "P1");
  return 1e3 * (bench_now() - start);
}

static double run_blocked(void *argument) {
  job *j = argument;
  const double start = bench_now();
  bench_check(study_closest_blocked(j->s->n, j->b, j->s->points, &j->result), "P2");
  return 1e3 * (bench_now() - start);
}

static double run_brute(void *argument) {
  job *j = argument;
  bench_check(study_closest_brute(&j->brute, j->s->o->site.device, j->s->n, j->s->points, &j->result, NULL,
                                  &j->brute_times),
              "P3");
  return j->brute_times.total_ms;
}

static double run_divide_cpu(void *argument) {
  job *j = argument;
  bench_check(study_closest_divide_cpu(j->s->n, j->s->points, j->cutoff, &j->result, &j->divide_cpu), "P4");
  return j->divide_cpu.sort_ms + j->divide_cpu.search_ms;
}

static double run_divide(void *argument) {
  job *j = argument;
  bench_check(
      study_closest_divide(&j->divide, j->s->o->site.device, j->s->n, j->s->points, &j->result, &j->report),
      "P5");
  return j->report.total_ms;
}

/* The last time of each program and size. A program takes sizes from seven options at most. */
typedef struct known_time {
  const char *program;
  int64_t n;
  double ms;
} known_time;
enum { PROGRAMS = 7, SIZES = 7 * BENCH_MOST };
static known_time known[PROGRAMS * SIZES];
static int known_count;

/* What was measured for n points, otherwise for the largest size; NULL: nothing. */
static known_time *known_of(const char *program, int64_t n) {
  known_time *largest = NULL;
  for (known_time *k = known; k < known + known_count; k++) {
    if (strcmp(k->program, program) != 0)
      continue;
    if (k->n == n)
      return k;
    if (!largest || k->n > largest->n)
      largest = k;
  }
  return largest;
}

static void remember(const char *program, int64_t n, double ms) {
  known_time *k = known_of(program, n);
  if (!k || k->n != n)
    k = &known[known_count++];
  *k = (known_time){program, n, ms};
}

/* What a run over n points is expected to take; 0: not known. */
static double expected_ms(const char *program, int64_t n) {
  const known_time *k = known_of(program, n);
  const bool all_pairs = program[1] < '4'; /* P1, P2, P3 */
  return k ? k->ms * pow((double)n / (double)k->n, all_pairs ? 2 : 1.1) : 0;
}

/* Whether a size is left out, because a run would take longer than --patience. */
static bool too_long(const study *s, const char *program, int64_t n) {
  const double ms = expected_ms(program, n);
  if (s->patience_ms <= 0 || ms <= s->patience_ms)
    return false;
  study_remark("%s, n %lld: left out, as a run would take %.3g s", program, (long long)n, 1e-3 * ms);
  return true;
}

/* The first result of P4 is what the others are compared with. */
static void check(job *j, const char *program) {
  study *s = j->s;
  if (isnan(s->right) && strcmp(program, "P4") == 0)
    s->right = j->result.distance;
  else if (isnan(s->right))
    use_right(s);
  if (j->result.distance != s->right)
    study_give_up("%s, n %lld: %.9g, not %.9g", program, (long long)s->n, (double)j->result.distance,
                  (double)s->right);
}

static study_time measure(double (*run)(void *), job *j, const char *program) {
  const study_time ms = study_measure(j->s->o, run, j, sizeof *j);
  check(j, program);
  remember(program, j->s->n, ms.median);
  return ms;
}

static job job_of(study *s, int64_t n) {
  use_points(s, n);
  return (job){.s = s, .cutoff = 8, .divide = {.base = 128}};
}

/* P1, or what it would take by the largest that was measured. */
static double one_core(const study *s, bool *measured) {
  const int64_t least = s->n < s->cpu_most ? s->n : s->cpu_most;
  const known_time *k = known_of("P1", s->n);
  if (!k || (k->n != s->n && (s->n == least || k->n < least))) {
    study most = *s;
    most.points = NULL;
    most.n = 0;
    job j = job_of(&most, least);
    measure(run_cpu, &j, "P1");
    free(most.points);
  }
  *measured = known_of("P1", s->n)->n == s->n;
  return expected_ms("P1", s->n);
}

/* ---- tables ---- */

static bench_values sizes_of(const study *s, const char *name, const char *gpu, const char *cpu) {
  return bench_sizes(name, s->o->site.gpu ? gpu : cpu);
}

#define BRUTE_SIZES "65536,131072,262144,524288,1048576,2097152,4194304", "2048,4096"
#define DIVIDE_SIZES "131072,262144,524288,1048576,2097152,4194304,8388608,16777216", "8192,16384"
#define DIVIDE_CPU_SIZES                                                                                     \
  "131072,262144,524288,1048576,2097152,4194304,8388608,16777216,33554432", "8192,16384"

/* The sums of speed-ups by threads of a team, for their averages. */
typedef struct averages {
  int count;
  int64_t threads[BENCH_MOST];
  double sum[BENCH_MOST], all;
} averages;

static void add_speedup(averages *a, int column, int64_t threads, double speedup) {
  a->count = a->count > column ? a->count : column + 1;
  a->threads[column] = threads;
  a->sum[column] += speedup;
  a->all += speedup;
}

/* A row for each number of threads, and one for all, 0. */
static void average_rows(const averages *a, const char *table, int sizes) {
  if (sizes * a->count == 0)
    return;
  study_begin_table(table, "average speed-ups over %d sizes, by threads of a team; 0: all", sizes);
  for (int c = 0; c <= a->count; c++) {
    study_row();
    study_number("threads", 0, c < a->count ? (double)a->threads[c] : 0);
    study_number("speedup", 2, c < a->count ? a->sum[c] / sizes : a->all / (sizes * a->count));
  }
}

/* P1 (b 0) or P2. */
static double run_all_pairs(void *argument) {
  const job *j = argument;
  return j->b ? run_blocked(argument) : run_cpu(argument);
}

/* All cells of a size at the same time, so many as --together says, each on a core and once. */
static void measure_together(const study *s, int count, job *jobs, study_time *times) {
#pragma omp parallel for num_threads(s->together) schedule(dynamic, 1)
  for (int c = 0; c < count; c++) {
    const double ms = run_all_pairs(&jobs[c]);
    times[c] = (study_time){ms, ms, ms, 1};
  }
  for (int c = 0; c < count; c++)
    check(&jobs[c], jobs[c].b ? "P2" : "P1");
  remember("P1", s->n, times[0].median);
}

/* Tables 3.1 and 3.2 for one size: all pairs on one core, plain and in blocks. */
static void table_blocked(void *context, int64_t n) {
  study *s = context;
  const bench_values blocks = sizes_of(
      s, "blocks", "128,256,512,1024,2048,4096,8192,16384,32768,65536,131072,262144", "128,512,2048,4096");
  const bool together = s->together > 1 && expected_ms("P1", n) > s->o->cell_ms;
  job jobs[BENCH_MOST + 1] = {job_of(s, n)};
  study_time ms[BENCH_MOST + 1];
  int count = 1;
  if (too_long(s, "P1", n))
    return;
  for (int b = 0; b < blocks.count; b++)
    if (blocks.at[b] <= n) {
      jobs[count] = jobs[0];
      jobs[count++].b = blocks.at[b];
    }
  if (together)
    measure_together(s, count, jobs, ms);
  for (int c = 0; c < count; c++) {
    if (!together)
      ms[c] = measure(run_all_pairs, &jobs[c], c ? "P2" : "P1");
    row(s);
    study_number("b", 0, (double)jobs[c].b);
    study_times(ms[c]);
    study_number("together", 0, together ? (count < s->together ? count : s->together) : 1);
    study_number("gain", 2, ms[0].median / ms[c].median);
  }
}

/* A row of P3, whose speed-up it returns. */
static double brute_row(study *s, int64_t n, int threads, int64_t teams) {
  bool measured;
  job j = job_of(s, n);
  const double cpu = one_core(s, &measured);
  j.brute = (study_brute){threads, teams, false};
  const study_time ms = measure(run_brute, &j, "P3");
  row(s);
  study_number("threads", 0, threads);
  study_number("teams", 0, (double)(teams ? teams : study_brute_candidates(&j.brute, n)));
  study_times(ms);
  study_number("kernels_ms", 3, j.brute_times.compare_ms + j.brute_times.reduce_ms);
  bench_number("reduce_ms", j.brute_times.reduce_ms);
  bench_number("transfer_ms", j.brute_times.transfer_ms);
  study_number("one_core_ms", 2, cpu);
  study_number("one_core_measured", 0, measured);
  study_number("speedup", 1, cpu / ms.median);
  return cpu / ms.median;
}

/* Table 3.4: all pairs on the GPU by threads of a team. */
static void table_brute(void *context) {
  study *s = context;
  const bench_values sizes = sizes_of(s, "brute", BRUTE_SIZES),
                     threads = sizes_of(s, "threads", "64,128,256,512,1024", "64,256"),
                     teams = bench_list("teams", "0");
  averages all = {0};
  study_begin_table("brute", "P3: all pairs on the device by threads of a team, beside one core");
  int measured = 0;
  for (int i = 0; i < sizes.count && !too_long(s, "P3", sizes.at[i]); i++, measured++)
    for (int t = 0; t < threads.count; t++)
      for (int g = 0; g < teams.count; g++)
        add_speedup(&all, t * teams.count + g, threads.at[t],
                    brute_row(s, sizes.at[i], (int)threads.at[t], teams.at[g]));
  average_rows(&all, "brute-average", measured);
}

/* Fig 3.9: equal work for all threads. */
static void table_balance(void *context, int64_t n) {
  study *s = context;
  study_time ms[2];
  int64_t fewest[2], most[2];
  if (too_long(s, "P3b", n))
    return;
  for (int balanced = 0; balanced < 2; balanced++) {
    job j = job_of(s, n);
    j.brute = (study_brute){256, 0, balanced};
    const int64_t rows = study_brute_rows(&j.brute, s->n);
    int64_t *comparisons = study_host_memory(rows, sizeof *comparisons);
    ms[balanced] = measure(run_brute, &j, "P3b");
    bench_check(
        study_closest_brute(&j.brute, s->o->site.device, s->n, s->points, &j.result, comparisons, NULL),
        "P3b");
    fewest[balanced] = most[balanced] = comparisons[0];
    for (int64_t k = 1; k < rows; k++) {
      fewest[balanced] = comparisons[k] < fewest[balanced] ? comparisons[k] : fewest[balanced];
      most[balanced] = comparisons[k] > most[balanced] ? comparisons[k] : most[balanced];
    }
    free(comparisons);
  }
  row(s);
  study_number("rows_ms", 3, ms[0].median);
  study_number("balanced_ms", 3, ms[1].median);
  study_number("repeats", 0, fewer(ms[0], ms[1]));
  study_number("rows_minimum", 0, (double)fewest[0]);
  study_number("rows_maximum", 0, (double)most[0]);
  study_number("balanced_minimum", 0, (double)fewest[1]);
  study_number("balanced_maximum", 0, (double)most[1]);
}

/* Table 4.1: divide and conquer on one core. */
static void table_divide_cpu(void *context) {
  study *s = context;
  const bench_values sizes = sizes_of(s, "divide-cpu", DIVIDE_CPU_SIZES),
                     cutoffs = bench_sizes("cutoff", "3,8");
  study_begin_table("divide-cpu", "P4: divide and conquer on one core");
  for (int i = 0; i < sizes.count && !too_long(s, "P4", sizes.at[i]); i++)
    for (int c = 0; c < cutoffs.count; c++) {
      job j = job_of(s, sizes.at[i]);
      j.cutoff = (int)cutoffs.at[c];
      const study_time ms = measure(run_divide_cpu, &j, "P4");
      row(s);
      study_number("cutoff", 0, j.cutoff);
      study_number("search_ms", 2, j.divide_cpu.search_ms);
      study_times(ms);
      study_number("sort_percent", 1, 100 * j.divide_cpu.sort_ms / ms.median);
      bench_number("comparisons", (double)j.divide_cpu.comparisons);
    }
}

/* Tables 4.3 and 4.4: divide and conquer on the GPU by threads of a team. */
static void table_divide(void *context) {
  study *s = context;
  const bench_values sizes = sizes_of(s, "divide", DIVIDE_SIZES),
                     bases = sizes_of(s, "base", "64,128,256,512", "64,128,256");
  averages all = {0};
  study_begin_table("divide", "P5: divide and conquer on the device by base = threads of a team, beside P4");
  int measured = 0;
  for (int i = 0; i < sizes.count && !too_long(s, "P4", sizes.at[i]) && !too_long(s, "P5", sizes.at[i]);
       i++, measured++) {
    job cpu = job_of(s, sizes.at[i]);
    const double one = measure(run_divide_cpu, &cpu, "P4").median;
    for (int b = 0; b < bases.count; b++) {
      job j = job_of(s, sizes.at[i]);
      j.divide.base = (int)bases.at[b];
      const study_time ms = measure(run_divide, &j, "P5");
      add_speedup(&all, b, bases.at[b], one / ms.median);
      row(s);
      study_number("base", 0, (double)bases.at[b]);
      bench_number("steps", j.report.steps);
      study_times(ms);
      bench_number("transfer_ms", j.report.transfer_ms);
      study_number("one_core_ms", 2, one);
      study_number("speedup", 2, one / ms.median);
      study_number("sort_percent", 1, 100 * study_divide_sum(&j.report).sort_ms / j.report.total_ms);
    }
  }
  average_rows(&all, "divide-average", measured);
}

static double without_sort(const study_divide_shares *sum) {
  return sum->brute_ms + sum->reduce_ms + sum->strip_ms + sum->compare_ms;
}

static void share_row(const study *s, const char *kernel, int repeats, double ms, double all,
                      double without) {
  row(s);
  study_text("kernel", kernel);
  study_number("repeats", 0, repeats);
  study_number("ms", 3, ms);
  study_number("percent", 1, 100 * ms / all);
  study_number("percent_without_sort", 1, 100 * ms / without);
}

/* The share of each kernel of P5; the source has 68 % for compareStripPoints without the sorts. */
static void table_kernels(void *context, int64_t n) {
  study *s = context;
  if (too_long(s, "P5", n))
    return;
  job j = job_of(s, n);
  const int repeats = measure(run_divide, &j, "P5").repeats;
  const study_divide_shares sum = study_divide_sum(&j.report);
  const double without = without_sort(&sum), all = without + sum.sort_ms;
  share_row(s, "bitonicSort", repeats, sum.sort_ms, all, NAN);
  share_row(s, "bruteForce", repeats, sum.brute_ms, all, without);
  share_row(s, "minDistReduction", repeats, sum.reduce_ms, all, without);
  share_row(s, "findVerticalStrip", repeats, sum.strip_ms, all, without);
  share_row(s, "compareStripPoints", repeats, sum.compare_ms, all, without);
}

/* The sums of the counts of all steps. */
static study_step counts_of(const study_divide_report *report) {
  study_step all = {0};
  for (int k = 0; k < report->steps; k++) {
    const study_step *step = &report->step[k];
    all.worked += step->worked;
    all.inside += step->inside;
    all.tests += step->tests;
    all.taken += step->taken;
    all.warps += step->warps;
    all.divergent_warps += step->divergent_warps;
  }
  return all;
}

/* P5 by whether it tests every block, which takes far longer. */
static const char *const divide_programs[] = {"P5", "P5 with every block"};

/* The limit of 8 flagged blocks on and off, without flags at all, and where the strip is tested; the counts
 * of a run, which the merged test does not have. */
static void table_limit(void *context, int64_t n) {
  enum { LIMIT, MERGED, NO_LIMIT, EVERY_BLOCK, VARIANTS };
  static const char *const names[] = {"limit", "limit, merged", "no limit", "every block"};
  study *s = context;
  const bool left_out[] = {too_long(s, divide_programs[0], n), too_long(s, divide_programs[1], n)};
  for (int v = 0; v < VARIANTS; v++) {
    if (left_out[v == EVERY_BLOCK])
      continue;
    job j = job_of(s, n);
    j.divide.unlimited = v >= NO_LIMIT;
    j.divide.every_block = v == EVERY_BLOCK;
    j.divide.strip_test = v == MERGED ? STUDY_STRIP_MERGED : STUDY_STRIP_SEPARATE;
    const study_time ms = measure(run_divide, &j, divide_programs[j.divide.every_block]);
    const study_divide_shares sum = study_divide_sum(&j.report);
    j.divide.counting = v != MERGED;
    if (j.divide.counting)
      run_divide(&j);
    const study_step all = counts_of(&j.report);
    row(s);
    study_text("variant", names[v]);
    study_times(ms);
    study_number("without_sort_ms", 3, without_sort(&sum));
    study_number("compare_ms", 3, sum.compare_ms);
    study_number("tests", 0, v != MERGED ? (double)all.tests : NAN);
    study_number("taken_percent", 1, 100 * (double)all.taken / (double)all.tests);
    study_number("inside_percent", 1, 100 * (double)all.inside / (double)all.worked);
    study_number("divergent_warps_percent", 1, 100 * (double)all.divergent_warps / (double)all.warps);
  }
}

/* Of all sorts of a run. Each is waited for, so what a launch costs counts so often. */
static int64_t sort_launches(const job *j) {
  int64_t launches = study_sort_launches(j->divide.sort, j->report.n);
  for (int64_t length = 2 * (int64_t)j->divide.base; length <= j->report.n; length *= 2)
    launches += study_sort_launches(j->divide.sort, length);
  return launches;
}

/* Bitonic and odd-even merge sort in P5. */
static void table_sorts(void *context, int64_t n) {
  static const char *const names[STUDY_SORTS] = {"bitonic", "odd-even"};
  study *s = context;
  if (too_long(s, "P5", n))
    return;
  for (int k = 0; k < STUDY_SORTS; k++) {
    job j = job_of(s, n);
    j.divide.sort = (study_sort)k;
    const study_time ms = measure(run_divide, &j, "P5");
    row(s);
    study_text("sort", names[k]);
    study_number("sort_ms", 3, study_divide_sum(&j.report).sort_ms);
    study_times(ms);
    study_number("comparators", 0, (double)j.report.comparators);
    study_number("launches_by_x", 0, (double)study_sort_launches(j.divide.sort, j.report.n));
    study_number("sort_launches", 0, (double)sort_launches(&j));
  }
}

/* All that P5 may be made of: either sort, the strip tested before or after the distance, the limit of 8
 * flagged blocks, none, or no flags. */
static void table_combinations(void *context, int64_t n) {
  static const char *const sorts[STUDY_SORTS] = {"bitonic", "odd-even"},
                           *const tests[] = {"separate", "merged"},
                           *const limits[] = {"limit", "no limit", "every block"};
  study *s = context;
  const bool left_out[] = {too_long(s, divide_programs[0], n), too_long(s, divide_programs[1], n)};
  for (int variant = 0; variant < 12; variant++) {
    const int sort = variant / 6, merged = variant / 3 % 2, limit = variant % 3;
    if (left_out[limit == 2])
      continue;
    job j = job_of(s, n);
    j.divide.sort = (study_sort)sort;
    j.divide.strip_test = merged ? STUDY_STRIP_MERGED : STUDY_STRIP_SEPARATE;
    j.divide.unlimited = limit > 0;
    j.divide.every_block = limit == 2;
    const study_time ms = measure(run_divide, &j, divide_programs[j.divide.every_block]);
    const study_divide_shares sum = study_divide_sum(&j.report);
    row(s);
    study_text("sort", sorts[sort]);
    study_text("strip", tests[merged]);
    study_text("limit", limits[limit]);
    study_times(ms);
    study_number("sort_ms", 3, sum.sort_ms);
    study_number("sort_launches", 0, (double)sort_launches(&j));
    study_number("without_sort_ms", 3, without_sort(&sum));
  }
}

/* A row of P4 and P5: times, and counts of the points' work, which no machine changes. */
static void distribution_row(study *s, int64_t n) {
  job cpu = job_of(s, n), j = cpu;
  const study_time p4 = measure(run_divide_cpu, &cpu, "P4"), p5 = measure(run_divide, &j, "P5");
  const study_divide_shares sum = study_divide_sum(&j.report);
  j.divide.counting = true;
  run_divide(&j);
  const study_step all = counts_of(&j.report);
  row(s);
  study_text("distribution", distributions[s->source.distribution]);
  study_number("v", 0, s->source.distribution == STUDY_NORMAL ? s->source.v : NAN);
  study_number("p4_ms", 2, p4.median);
  study_number("p4_search_ms", 2, cpu.divide_cpu.search_ms);
  study_number("p4_comparisons", 0, (double)cpu.divide_cpu.comparisons);
  study_number("p5_ms", 3, p5.median);
  study_number("p5_without_sort_ms", 3, without_sort(&sum));
  study_number("p5_tests", 0, (double)all.tests);
  study_number("repeats", 0, fewer(p4, p5));
}

/* Both programs over each of the source's sets of points. */
static void table_distributions(void *context, int64_t n) {
  enum { DEVIATIONS = 5 };
  const study *given = context;
  if (too_long(given, "P4", n) || too_long(given, "P5", n))
    return;
  for (int set = 0; set < STUDY_NORMAL + DEVIATIONS; set++) {
    study s = *given;
    s.points = NULL;
    s.n = 0;
    s.source.distribution = set < STUDY_NORMAL ? (study_distribution)set : STUDY_NORMAL;
    s.source.v = set < STUDY_NORMAL ? 1 : set - STUDY_NORMAL + 1;
    distribution_row(&s, n);
    free(s.points);
  }
}

/* From which size on divide and conquer is faster on the device: P3 with 256 threads, P5 with base 128. */
static void table_crossover(void *context) {
  study *s = context;
  const bench_values sizes =
      sizes_of(s, "crossover", "1024,2048,4096,8192,16384,32768,65536,131072,262144,524288,1048576",
               "256,512,1024,2048,4096,8192");
  int64_t from = 0; /* P5 is faster at this size and all that follow */
  study_begin_table("crossover", "P3 and P5 on the device; which is faster");
  for (int i = 0; i < sizes.count && !too_long(s, "P3", sizes.at[i]) && !too_long(s, "P5", sizes.at[i]);
       i++) {
    job all = job_of(s, sizes.at[i]), divide = all;
    all.brute = (study_brute){256, 0, false};
    const study_time p3 = measure(run_brute, &all, "P3"), p5 = measure(run_divide, &divide, "P5");
    from = p5.median > p3.median ? 0 : from ? from : s->n;
    row(s);
    study_number("p3_ms", 3, p3.median);
    study_number("p5_ms", 3, p5.median);
    study_number("repeats", 0, fewer(p3, p5));
    study_number("p3_by_p5", 2, p3.median / p5.median);
  }
  study_begin_table("crossover-from", "the size from which on P5 is faster than P3");
  study_row();
  study_number("n", 0, from ? (double)from : NAN);
}

static void table_layouts(void *context) {
  study_table_layouts(((const study *)context)->o);
}

static void table_memory(void *context) {
  study_table_memory(((const study *)context)->o);
}

static void table_streams(void *context) {
  study_table_streams(((const study *)context)->o);
}

static const study_table tables[] = {
    {"blocked", NULL, "P1 (b 0) and P2: all pairs on one core by block size, and the gain over P1", "cpu",
     "8192,16384,32768,65536,131072,262144,524288", "2048,4096", table_blocked},
    {"brute", .measure = table_brute},
    {"balance", NULL, "P3, and P3b with equal work; the fewest and the most comparisons of a thread", "brute",
     BRUTE_SIZES, table_balance},
    {"divide-cpu", .measure = table_divide_cpu},
    {"divide", .measure = table_divide},
    {"kernels", NULL, "P5: shares of the kernels, base 128, in the median run", "kernels", "1048576", "16384",
     table_kernels},
    {"limit", NULL, "P5: the limit of 8 flagged blocks, base 128; the work of compareStripPoints", "limit",
     "131072,1048576", "4096,16384", table_limit},
    {"sorts", NULL, "P5: the sorts of a run, base 128", "sorts", "131072,1048576", "4096,16384", table_sorts},
    {"combinations", NULL, "P5: both sorts, both strip tests, three limits, base 128", "combinations",
     "1048576", "8192", table_combinations},
    {"crossover", .measure = table_crossover},
    {"distributions", NULL, "P4 and P5 (base 128) by the distribution of the points", "distributions",
     "1048576", "16384", table_distributions},
    {"layouts", .measure = table_layouts},
    {"memory", .measure = table_memory},
    {"streams", .measure = table_streams},
    STUDY_REGION};

static const char usage[] =
    "bench_closest_study [--device 0] [--tables "
    "blocked,brute,balance,divide-cpu,divide,kernels,limit,sorts,\n"
    "                     combinations,crossover,distributions,layouts,memory,streams,region]\n"
    "                    [--cpu 8192,...] [--brute 65536,...] [--threads 64,128,256,512,1024] [--teams 0]\n"
    "                    [--blocks 128,256,...] [--divide 131072,...] [--divide-cpu 131072,...]\n"
    "                    [--base 64,128,256,512] [--cutoff 3,8] [--cpu-most 131072] [--elements 16777216]\n"
    "                    [--limit 131072,...] [--sorts 131072,...] [--combinations 1048576]\n"
    "                    [--crossover 1024,...] [--kernels 1048576] [--distributions 1048576]\n"
    "                    [--distribution uniform|signed|normal]\n"
    "                    [--v 1] [--seed 1] [--repeats 10] [--cell-seconds 10] [--patience 0] [--together "
    "1]\n";

int main(int argc, char **argv) {
  const study_options o = study_options_read(usage, argc, argv, 10, 3, 10);
  study s = {.o = &o, .cpu_most = bench_whole("cpu-most", o.site.gpu ? 131072 : 8192)};
  s.patience_ms = 1e3 * atof(bench_option("patience", "0"));
  s.together = bench_count("together", 1);
  const char *distribution = bench_option("distribution", distributions[0]);
  int number = 0; /* the points' error names a distribution that does not exist */
  while (number < STUDY_DISTRIBUTIONS && strcmp(distributions[number], distribution) != 0)
    number++;
  s.source = (study_points){.distribution = (study_distribution)number,
                            .v = (int)bench_whole("v", 1),
                            .seed = (uint64_t)bench_whole("seed", 1)};
  const int code = study_measure_tables(&o, "closest_study", sizeof tables / sizeof *tables, tables, &s);
  free(s.points);
  return code;
}
