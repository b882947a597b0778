/* SPDX-License-Identifier: Apache-2.0 */
/* The source's tables on the closest pair, measured anew (bench/study/docs/closest-study.md): every program by size
 * and launch shape, its speed-up over the program for one core, the share of sorting and of each kernel,
 * the limit of 8 flagged blocks, load balance; and the layouts and streams of the introduction.
 *
 * By default the first device that work is spread over; where that is the CPU, sizes are small. A table
 * for each name.
 *
 * Times are medians of the repeats after one that is not counted; the rows have the means as well. A
 * program's time is without allocations and with its copies unless a column says `kernels`; parts of a
 * time are those of the last run. All pairs on one core take n^2 steps: beyond --cpu-most points their
 * time is that of --cpu-most times the square of the ratio, and marked ~. Every result is compared with
 * P4's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/study/closest/background.h"
#include "bench/study/closest/closest.h"
#include "bench/study/closest/points.h"

enum { MOST = 64 };

typedef struct study {
  int argc;
  char **argv;
  bool gpu;
  int device, repeats;
  int64_t cpu_most;
  study_points source;
  int64_t n; /* of the points below */
  study_point *points;
  float right;
} study;

typedef struct times {
  double median, mean; /* ms */
} times;

/* ---- options, rows ---- */

static const char *option(const study *s, const char *name, const char *gpu, const char *cpu) {
  return bench_option(s->argc, s->argv, name, s->gpu ? gpu : cpu);
}

static int list(const study *s, const char *name, const char *gpu, const char *cpu, int64_t *values) {
  return bench_list(option(s, name, gpu, cpu), values, MOST);
}

static void row(const study *s, const char *table) {
  bench_row();
  bench_text("table", table);
  bench_number("n", (double)s->n);
  bench_number("device", s->device);
}

static void title(const char *words) {
  fprintf(stderr, "\n%s\n", words);
}

/* ---- points ---- */

static void check(const study *s, const study_closest *is, const char *program) {
  if (is->distance == s->right)
    return;
  fprintf(stderr, "%s, n %lld: %.9g, not %.9g\n", program, (long long)s->n, (double)is->distance,
          (double)s->right);
  exit(4);
}

static void use_points(study *s, int64_t n) {
  study_closest right;
  if (s->n == n)
    return;
  free(s->points);
  s->points = malloc((size_t)n * sizeof *s->points);
  if (!s->points) {
    fprintf(stderr, "no memory for %lld points\n", (long long)n);
    exit(4);
  }
  s->n = n;
  bench_check(study_points_make(&s->source, n, s->points), "points");
  bench_check(study_closest_divide_cpu(n, s->points, 8, &right, NULL), "P4");
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
  study_divide_report *report;
} job;

/* A run; milliseconds. */
typedef double (*run)(job *j);

static double run_cpu(job *j) {
  double start = bench_now();
  bench_check(study_closest_cpu(j->s->n, j->s->points, &j->result), "P1");
  return 1e3 * (bench_now() - start);
}

static double run_blocked(job *j) {
  double start = bench_now();
  bench_check(study_closest_blocked(j->s->n, j->b, j->s->points, &j->result), "P2");
  return 1e3 * (bench_now() - start);
}

static double run_brute(job *j) {
  bench_check(
      study_closest_brute(&j->brute, j->s->device, j->s->n, j->s->points, &j->result, NULL, &j->brute_times),
      "P3");
  return j->brute_times.total_ms;
}

static double run_divide_cpu(job *j) {
  bench_check(study_closest_divide_cpu(j->s->n, j->s->points, j->cutoff, &j->result, &j->divide_cpu), "P4");
  return j->divide_cpu.sort_ms + j->divide_cpu.search_ms;
}

static double run_divide(job *j) {
  bench_check(study_closest_divide(&j->divide, j->s->device, j->s->n, j->s->points, &j->result, j->report),
              "P5");
  return j->report->total_ms;
}

static times measure(run once, job *j, int repeats, const char *program) {
  double each[MOST], sum = 0;
  for (int i = repeats > 1 ? -1 : 0; i < repeats; i++) {
    double ms = once(j);
    if (i >= 0)
      sum += each[i] = ms;
  }
  check(j->s, &j->result, program);
  return (times){bench_median(each, repeats), sum / repeats};
}

static job job_of(study *s) {
  static study_divide_report report;
  return (job){.s = s, .cutoff = 8, .report = &report};
}

/* P1, or what it would take. */
static double one_core(study *s, bool *measured) {
  static int64_t known_n;
  static double known_ms;
  *measured = s->n <= s->cpu_most;
  if (known_n != (*measured ? s->n : s->cpu_most)) {
    study most = *s;
    most.points = NULL;
    most.n = 0;
    use_points(&most, *measured ? s->n : s->cpu_most);
    job j = job_of(&most);
    known_ms = measure(run_cpu, &j, s->gpu ? 1 : s->repeats, "P1").median;
    known_n = most.n;
    free(most.points);
  }
  double ratio = (double)s->n / (double)known_n;
  return known_ms * ratio * ratio;
}

/* ---- tables ---- */

/* Tables 3.1 and 3.2: all pairs on one core, plain and in blocks. */
static void table_blocked(study *s) {
  int64_t sizes[MOST], blocks[MOST];
  int size_count = list(s, "cpu", "8192,16384,32768", "2048,4096", sizes);
  int block_count =
      list(s, "blocks", "128,256,512,1024,2048,4096,8192,16384,32768", "128,512,2048,4096", blocks);
  title("P1 and P2: all pairs on one core, ms by block size B, and the gain over P1");
  for (int i = 0; i < size_count; i++) {
    bool measured;
    use_points(s, sizes[i]);
    s->cpu_most = s->cpu_most > s->n ? s->cpu_most : s->n;
    double plain = one_core(s, &measured);
    row(s, "blocked");
    bench_number("b", 0);
    bench_number("ms", plain);
    fprintf(stderr, "%9lld  plain %10.2f\n", (long long)s->n, plain);
    for (int b = 0; b < block_count; b++) {
      job j = job_of(s);
      j.b = blocks[b];
      if (j.b > s->n)
        continue;
      times t = measure(run_blocked, &j, s->gpu ? 3 : s->repeats, "P2");
      row(s, "blocked");
      bench_number("b", (double)j.b);
      bench_number("ms", t.median);
      bench_number("mean_ms", t.mean);
      bench_number("gain", plain / t.median);
      fprintf(stderr, "%9lld %6lld %10.2f %6.2f\n", (long long)s->n, (long long)j.b, t.median,
              plain / t.median);
    }
  }
}

/* Table 3.4: all pairs on the GPU by threads of a block. */
static void table_brute(study *s) {
  int64_t sizes[MOST], threads[MOST], teams[MOST];
  int size_count = list(s, "brute", "65536,131072,262144,524288,1048576", "2048,4096", sizes);
  int thread_count = list(s, "threads", "64,128,256,512,1024", "64,256", threads);
  int team_count = list(s, "teams", "0", "0", teams);
  double sum = 0;
  int count = 0;
  title("P3: all pairs on the device by threads of a block (ms; kernels alone; x one core, ~ reckoned)\n"
        "        n   threads    teams         ms    kernels   one core ms        x");
  for (int i = 0; i < size_count; i++)
    for (int t = 0; t < thread_count; t++)
      for (int g = 0; g < team_count; g++) {
        bool measured;
        use_points(s, sizes[i]);
        double cpu = one_core(s, &measured);
        job j = job_of(s);
        j.brute = (study_brute){(int)threads[t], teams[g], false};
        times ms = measure(run_brute, &j, s->repeats, "P3");
        double kernels = j.brute_times.compare_ms + j.brute_times.reduce_ms, ratio = cpu / ms.median;
        sum += ratio;
        count++;
        row(s, "brute");
        bench_number("threads", (double)threads[t]);
        bench_number("teams", (double)(teams[g] ? teams[g] : study_brute_candidates(&j.brute, s->n)));
        bench_number("ms", ms.median);
        bench_number("mean_ms", ms.mean);
        bench_number("kernels_ms", kernels);
        bench_number("reduce_ms", j.brute_times.reduce_ms);
        bench_number("transfer_ms", j.brute_times.transfer_ms);
        bench_number("one_core_ms", cpu);
        bench_number("one_core_measured", measured);
        bench_number("speedup", ratio);
        fprintf(stderr, "%9lld %9lld %8lld %10.3f %10.3f %c%12.2f %8.1f\n", (long long)s->n,
                (long long)threads[t], (long long)teams[g], ms.median, kernels, measured ? ' ' : '~', cpu,
                ratio);
      }
  if (count)
    fprintf(stderr, "average x %.1f\n", sum / count);
}

/* Fig 3.9: equal work for all threads. */
static void table_balance(study *s) {
  int64_t sizes[MOST];
  int size_count = list(s, "brute", "65536,131072,262144,524288,1048576", "2048,4096", sizes);
  title("P3 and P3b: rows as they are, and complementary ones for equal work (ms)\n"
        "        n       rows   balanced    ratio  comparisons of a thread: rows     balanced");
  for (int i = 0; i < size_count; i++) {
    times ms[2];
    int64_t least[2], greatest[2];
    use_points(s, sizes[i]);
    for (int balanced = 0; balanced < 2; balanced++) {
      job j = job_of(s);
      j.brute = (study_brute){256, 0, balanced};
      int64_t rows = study_brute_rows(&j.brute, s->n),
              *comparisons = malloc((size_t)rows * sizeof *comparisons);
      if (!comparisons)
        exit(4);
      ms[balanced] = measure(run_brute, &j, s->repeats, "P3b");
      bench_check(study_closest_brute(&j.brute, s->device, s->n, s->points, &j.result, comparisons, NULL),
                  "P3b");
      least[balanced] = greatest[balanced] = comparisons[0];
      for (int64_t k = 1; k < rows; k++) {
        least[balanced] = comparisons[k] < least[balanced] ? comparisons[k] : least[balanced];
        greatest[balanced] = comparisons[k] > greatest[balanced] ? comparisons[k] : greatest[balanced];
      }
      free(comparisons);
    }
    row(s, "balance");
    bench_number("rows_ms", ms[0].median);
    bench_number("balanced_ms", ms[1].median);
    bench_number("rows_least", (double)least[0]);
    bench_number("rows_greatest", (double)greatest[0]);
    bench_number("balanced_least", (double)least[1]);
    bench_number("balanced_greatest", (double)greatest[1]);
    fprintf(stderr, "%9lld %10.3f %10.3f %8.2f  %12lld … %-8lld %9lld … %-8lld\n", (long long)s->n,
            ms[0].median, ms[1].median, ms[0].median / ms[1].median, (long long)least[0],
            (long long)greatest[0], (long long)least[1], (long long)greatest[1]);
  }
}

/* Table 4.1: divide and conquer on one core. */
static void table_divide_cpu(study *s) {
  int64_t sizes[MOST], cutoffs[MOST];
  int size_count = list(s, "divide", "131072,524288,1048576,2097152,4194304", "8192,16384", sizes);
  int cutoff_count = list(s, "cutoff", "3,8", "3,8", cutoffs);
  title("P4: divide and conquer on one core (ms)\n        n  cut-off     search      total   sort %");
  for (int i = 0; i < size_count; i++)
    for (int c = 0; c < cutoff_count; c++) {
      job j = job_of(s);
      use_points(s, sizes[i]);
      j.cutoff = (int)cutoffs[c];
      times ms = measure(run_divide_cpu, &j, s->gpu ? 3 : s->repeats, "P4");
      double share = 100 * j.divide_cpu.sort_ms / (j.divide_cpu.sort_ms + j.divide_cpu.search_ms);
      row(s, "divide-cpu");
      bench_number("cutoff", j.cutoff);
      bench_number("search_ms", ms.median * (1 - 0.01 * share));
      bench_number("ms", ms.median);
      bench_number("mean_ms", ms.mean);
      bench_number("sort_percent", share);
      bench_number("comparisons", (double)j.divide_cpu.comparisons);
      fprintf(stderr, "%9lld %8d %10.2f %10.2f %8.1f\n", (long long)s->n, j.cutoff,
              ms.median * (1 - 0.01 * share), ms.median, share);
    }
}

/* Tables 4.3 and 4.4: divide and conquer on the GPU by threads of a block. */
static void table_divide(study *s) {
  int64_t sizes[MOST], bases[MOST];
  int size_count = list(s, "divide", "131072,524288,1048576,2097152,4194304", "8192,16384", sizes);
  int base_count = list(s, "base", "64,128,256,512", "64,128,256", bases);
  double sum = 0;
  int count = 0;
  title("P5: divide and conquer on the device by base = threads of a block (ms; x P4)\n"
        "        n    base         ms    P4 ms        x   sort %");
  for (int i = 0; i < size_count; i++) {
    use_points(s, sizes[i]);
    job cpu = job_of(s);
    double one = measure(run_divide_cpu, &cpu, s->gpu ? 3 : s->repeats, "P4").median;
    double least = INFINITY;
    int64_t best = 0;
    for (int b = 0; b < base_count; b++) {
      job j = job_of(s);
      j.divide = (study_divide){.base = (int)bases[b]};
      times ms = measure(run_divide, &j, s->repeats, "P5");
      double sort = 100 * study_divide_sum(j.report).sort_ms / j.report->total_ms;
      sum += one / ms.median;
      count++;
      best = ms.median < least ? bases[b] : best;
      least = ms.median < least ? ms.median : least;
      row(s, "divide");
      bench_number("base", (double)bases[b]);
      bench_number("steps", j.report->steps);
      bench_number("ms", ms.median);
      bench_number("mean_ms", ms.mean);
      bench_number("transfer_ms", j.report->transfer_ms);
      bench_number("one_core_ms", one);
      bench_number("speedup", one / ms.median);
      bench_number("sort_percent", sort);
      fprintf(stderr, "%9lld %7lld %10.3f %8.2f %8.2f %8.1f\n", (long long)s->n, (long long)bases[b],
              ms.median, one, one / ms.median, sort);
    }
    fprintf(stderr, "%9lld    best base %lld\n", (long long)s->n, (long long)best);
  }
  if (count)
    fprintf(stderr, "average x %.2f\n", sum / count);
}

static void share_row(const study *s, const char *kernel, double ms, double all, double without_sort) {
  row(s, "kernels");
  bench_text("kernel", kernel);
  bench_number("ms", ms);
  bench_number("percent", 100 * ms / all);
  bool sort = strcmp(kernel, "bitonicSort") == 0;
  bench_number("percent_without_sort", sort ? NAN : 100 * ms / without_sort);
  fprintf(stderr, "%-20s %10.3f %8.1f", kernel, ms, 100 * ms / all);
  if (sort)
    fprintf(stderr, "\n");
  else
    fprintf(stderr, " %8.1f\n", 100 * ms / without_sort);
}

/* The share of each kernel of P5; the source has 68 % for compareStripPoints without the sorts. */
static void table_kernels(study *s) {
  int64_t sizes[MOST];
  int size_count = list(s, "kernels", "1048576", "16384", sizes);
  for (int i = 0; i < size_count; i++) {
    job j = job_of(s);
    use_points(s, sizes[i]);
    j.divide = (study_divide){.base = 128};
    measure(run_divide, &j, s->repeats, "P5");
    study_divide_shares sum = study_divide_sum(j.report);
    double without = sum.brute_ms + sum.reduce_ms + sum.strip_ms + sum.compare_ms,
           all = without + sum.sort_ms;
    fprintf(stderr, "\nP5: kernels, %lld points, base 128, %d steps (the last run)\n%-20s %10s %8s %8s\n",
            (long long)s->n, j.report->steps, "kernel", "ms", "%", "no sort");
    share_row(s, "bitonicSort", sum.sort_ms, all, without);
    share_row(s, "bruteForce", sum.brute_ms, all, without);
    share_row(s, "minDistReduction", sum.reduce_ms, all, without);
    share_row(s, "findVerticalStrip", sum.strip_ms, all, without);
    share_row(s, "compareStripPoints", sum.compare_ms, all, without);
  }
}

/* The limit of 8 flagged blocks on and off, without flags at all, and where the strip is asked for; the
 * counts of a run. */
static void table_limit(study *s) {
  enum { LIMIT, MERGED, NO_LIMIT, EVERY_BLOCK, COUNT };
  static const char *const names[] = {"limit", "limit, merged", "no limit", "every block"};
  int64_t sizes[MOST];
  int size_count = list(s, "limit", "131072,1048576", "4096,16384", sizes);
  title("P5: the limit of 8 flagged blocks (base 128, ms), and what compareStripPoints does in all steps\n"
        "        n variant          no sort    compare        tests   taken %  inside %  divergent warps %");
  for (int i = 0; i < size_count; i++)
    for (int v = 0; v < COUNT; v++) {
      use_points(s, sizes[i]);
      job j = job_of(s);
      j.divide = (study_divide){.base = 128, .unlimited = v >= NO_LIMIT, .every_block = v == EVERY_BLOCK};
      j.divide.strip_test = v == MERGED ? STUDY_STRIP_MERGED : STUDY_STRIP_SEPARATE;
      measure(run_divide, &j, s->repeats, "P5");
      study_divide_shares sum = study_divide_sum(j.report);
      double without = sum.brute_ms + sum.reduce_ms + sum.strip_ms + sum.compare_ms;
      study_step all = {0};
      if (v != MERGED) {
        j.divide.counting = true;
        run_divide(&j);
        for (int k = 0; k < j.report->steps; k++) {
          const study_step *step = &j.report->step[k];
          all.worked += step->worked;
          all.inside += step->inside;
          all.tests += step->tests;
          all.taken += step->taken;
          all.warps += step->warps;
          all.divergent_warps += step->divergent_warps;
        }
      }
      double taken = 100 * (double)all.taken / (double)all.tests,
             inside = 100 * (double)all.inside / (double)all.worked;
      double divergent = 100 * (double)all.divergent_warps / (double)all.warps;
      row(s, "limit");
      bench_text("variant", names[v]);
      bench_number("without_sort_ms", without);
      bench_number("compare_ms", sum.compare_ms);
      bench_number("tests", v != MERGED ? (double)all.tests : NAN);
      bench_number("taken_percent", taken);
      bench_number("inside_percent", inside);
      bench_number("divergent_warps_percent", divergent);
      fprintf(stderr, "%9lld %-14s %9.3f %10.3f", (long long)s->n, names[v], without, sum.compare_ms);
      if (v != MERGED)
        fprintf(stderr, " %12lld %9.1f %9.1f %9.1f", (long long)all.tests, taken, inside, divergent);
      fprintf(stderr, "\n");
    }
}

/* Bitonic and odd-even merge sort in P5. */
static void table_sorts(study *s) {
  static const char *const names[STUDY_SORTS] = {"bitonic", "odd-even"};
  int64_t sizes[MOST];
  int size_count = list(s, "sorts", "131072,1048576", "4096,16384", sizes);
  title("P5: the sorts of a run (base 128, ms)\n        n sort          sorts    total  comparators");
  for (int i = 0; i < size_count; i++)
    for (int k = 0; k < STUDY_SORTS; k++) {
      use_points(s, sizes[i]);
      job j = job_of(s);
      j.divide = (study_divide){.base = 128, .sort = (study_sort)k};
      times ms = measure(run_divide, &j, s->repeats, "P5");
      double sort = study_divide_sum(j.report).sort_ms;
      row(s, "sorts");
      bench_text("sort", names[k]);
      bench_number("sort_ms", sort);
      bench_number("ms", ms.median);
      bench_number("comparators", (double)j.report->comparators);
      bench_number("launches_by_x", (double)study_sort_launches(j.divide.sort, j.report->n));
      fprintf(stderr, "%9lld %-9s %9.3f %8.3f %12lld\n", (long long)s->n, names[k], sort, ms.median,
              (long long)j.report->comparators);
    }
}

static void *device_memory(const study *s, int64_t bytes) {
  void *pointer;
  bench_check(davit_malloc((size_t)bytes, study_closest_place(s->device), &pointer), "memory");
  bench_check(davit_fill((size_t)bytes, 1, pointer), "fill");
  return pointer;
}

typedef davit_status (*of_pixels)(int device, study_layout layout, int64_t n, const uint8_t *pixels,
                                  uint8_t *out);

static double pixels_ms(const study *s, of_pixels kernel, study_layout layout, int64_t n, const uint8_t *in,
                        uint8_t *out) {
  double each[MOST];
  for (int i = -1; i < s->repeats; i++) {
    double start = bench_now();
    bench_check(kernel(s->device, layout, n, in, out), "pixels");
    each[i < 0 ? 0 : i] = 1e3 * (bench_now() - start);
  }
  return bench_median(each, s->repeats);
}

static double norms_ms(const study *s, bool soa, int64_t n, const float *in, float *out) {
  double each[MOST];
  for (int i = -1; i < s->repeats; i++) {
    double start = bench_now();
    bench_check(study_norms(s->device, soa, n, in, out), "norms");
    each[i < 0 ? 0 : i] = 1e3 * (bench_now() - start);
  }
  return bench_median(each, s->repeats);
}

static void layout_row(const char *data, const char *layout, int64_t n, double all, double one) {
  bench_row();
  bench_text("table", "layouts");
  bench_text("data", data);
  bench_text("layout", layout);
  bench_number("n", (double)n);
  bench_number("all_ms", all);
  bench_number("one_ms", one);
  fprintf(stderr, "%-8s %-12s %10.4f", data, layout, all);
  if (isfinite(one))
    fprintf(stderr, " %10.4f", one);
  fprintf(stderr, "\n");
}

static void table_layouts(study *s) {
  static const char *const names[STUDY_LAYOUTS] = {"aos", "aos padded", "soa"};
  int64_t n = strtoll(option(s, "elements", "16777216", "262144"), NULL, 10);
  void *in = device_memory(s, 8 * n), *out = device_memory(s, 4 * n);
  fprintf(stderr, "\nLayouts: %lld elements, a launch that waits (ms): all members wanted, and one\n",
          (long long)n);
  for (int l = 0; l < STUDY_LAYOUTS; l++)
    layout_row("pixels", names[l], n, pixels_ms(s, study_grey, (study_layout)l, n, in, out),
               pixels_ms(s, study_red, (study_layout)l, n, in, out));
  layout_row("points", "aos", n, norms_ms(s, false, n, in, out), NAN);
  layout_row("points", "soa", n, norms_ms(s, true, n, in, out), NAN);
  bench_check(davit_free(in), "free");
  bench_check(davit_free(out), "free");
}

static void table_streams(study *s) {
  static const char *const names[] = {"depth first", "breadth first"};
  int64_t n = strtoll(option(s, "elements", "16777216", "262144"), NULL, 10);
  study_streams streams = {.n = n};
  void *host[2];
  for (int i = 0; i < 2; i++)
    bench_check(davit_malloc((size_t)n * sizeof(int32_t), DAVIT_PINNED, &host[i]), "pinned memory");
  memset(host[0], 1, (size_t)n * sizeof(int32_t));
  streams.input = host[0];
  streams.output = host[1];
  streams.device_input = device_memory(s, 4 * n);
  streams.device_output = device_memory(s, 4 * n);
  bench_check(davit_queue_create(s->device, &streams.queue, &(davit_queue_options){.subqueues = 2}), "queue");
  fprintf(stderr, "\nTwo streams: copy in, kernel, copy out of two halves of %lld ints (ms between events)\n",
          (long long)n);
  for (int order = 0; order < 2; order++) {
    double each[MOST];
    streams.breadth_first = order;
    for (int i = -1; i < s->repeats; i++)
      bench_check(study_streams_run(&streams, &each[i < 0 ? 0 : i]), "streams");
    double ms = bench_median(each, s->repeats);
    bench_row();
    bench_text("table", "streams");
    bench_text("order", names[order]);
    bench_number("n", (double)n);
    bench_number("ms", ms);
    fprintf(stderr, "%-14s %10.3f\n", names[order], ms);
  }
  bench_check(davit_queue_destroy(streams.queue), "queue");
  bench_check(davit_free(streams.device_input), "free");
  bench_check(davit_free(streams.device_output), "free");
  bench_check(davit_free(host[0]), "free");
  bench_check(davit_free(host[1]), "free");
}

/* ---- main ---- */

static const struct {
  const char *name;
  void (*measure)(study *s);
} tables[] = {{"blocked", table_blocked},       {"brute", table_brute},   {"balance", table_balance},
              {"divide-cpu", table_divide_cpu}, {"divide", table_divide}, {"kernels", table_kernels},
              {"limit", table_limit},           {"sorts", table_sorts},   {"layouts", table_layouts},
              {"streams", table_streams}};

/* Whether the comma-separated list has the name. */
static bool has(const char *names, const char *name) {
  size_t length = strlen(name);
  for (const char *at = names; (at = strstr(at, name)) != NULL; at += length)
    if ((at == names || at[-1] == ',') && (at[length] == ',' || at[length] == 0))
      return true;
  return false;
}

static void read_options(study *s) {
  char fallback[16];
  int first, count;
  bench_check(davit_device_defaults(1, &first, &count), "devices");
  snprintf(fallback, sizeof fallback, "%d", first);
  s->device = atoi(bench_option(s->argc, s->argv, "device", fallback));
  bench_check(study_closest_on_gpu(s->device, &s->gpu), "device");
  s->repeats = atoi(option(s, "repeats", "10", "3"));
  s->repeats = s->repeats < 1 ? 1 : s->repeats > MOST ? MOST : s->repeats;
  s->cpu_most = strtoll(option(s, "cpu-most", "131072", "8192"), NULL, 10);
  static const char *const names[STUDY_DISTRIBUTIONS] = {"uniform", "signed", "normal"};
  const char *distribution = option(s, "distribution", names[0], names[0]);
  int number_of = 0;
  while (number_of < STUDY_DISTRIBUTIONS && strcmp(names[number_of], distribution) != 0)
    number_of++;
  s->source.distribution = (study_distribution)number_of; /* a name that is none: the points' error says so */
  s->source.v = atoi(option(s, "v", "1", "1"));
  s->source.seed = strtoull(option(s, "seed", "1", "1"), NULL, 10);
}

static const char usage[] =
    "bench_closest_study [--device 0] [--tables "
    "blocked,brute,balance,divide-cpu,divide,kernels,limit,sorts,layouts,streams]\n"
    "                    [--cpu 8192,...] [--brute 65536,...] [--threads 64,128,256,512,1024] [--teams 0] "
    "[--blocks 128,512,...]\n"
    "                    [--divide 131072,...] [--base 64,128,256,512] [--cutoff 8] [--cpu-most 131072] "
    "[--elements 16777216]\n"
    "                    [--limit 131072,...] [--sorts 131072,...] [--kernels 1048576] [--distribution "
    "uniform|signed|normal] [--v 1] [--seed 1] [--repeats 10]\n";

int main(int argc, char **argv) {
  bench_options(usage, argc, argv);
  study s = {.argc = argc, .argv = argv};
  read_options(&s);
  const char *wanted = bench_option(argc, argv, "tables", NULL);
  bench_begin("closest_study", argc, argv);
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    if (!wanted || has(wanted, tables[i].name))
      tables[i].measure(&s);
  bench_end();
  free(s.points);
  bench_check(davit_finalize(), "finalize");
  return 0;
}
