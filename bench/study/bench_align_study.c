/* SPDX-License-Identifier: Apache-2.0 */
/* The source's tables on alignment, measured anew (bench/study/docs/align-study.md): A, every program with one effect, and B, V2 with 1
 * to 6 effects, each beside serial times that were measured as well.
 *
 * By default the first device that work is spread over; where that is the CPU, the movie is short. The movie is
 * synthetic: 62 features a frame, each effect in every third window with noise. 775 windows are two hours.
 *
 * Times are medians of the repeats after one that is not counted; the rows have means and the best as well. A
 * program's time has unit vectors, the host's permutations, copies both ways and launches, no allocation. GCUPS are
 * 10^9 cells of all alignments a second. `natural` random numbers are the device's for V1, V3 and V4, the host's for V2
 * and V5. V4a takes half as many units a launch until the device's heap has room for them. All scores are compared with the
 * serial ones. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/study/align/align.h"

enum { MOST = 64, MOST_EFFECTS = 6, WIDTH = 62 };

typedef struct study {
  int argc;
  char **argv;
  bool gpu;
  int device, repeats, cpu_repeats;
  const char *random;
  study_align options;
  study_effect effects[MOST_EFFECTS];
  study_align_input input;
  float *movie, *patterns;
  int64_t score_count;
  float *scores, *right; /* of the program that runs; of the serial one */
} study;

typedef struct program {
  study_align_program number;
  const char *name;
  study_align_random natural;
} program;

static const program serial = {STUDY_ALIGN_SERIAL, "S", STUDY_ALIGN_BY_HOST};
static const program on_cpu = {STUDY_ALIGN_CPU, "CPU", STUDY_ALIGN_BY_HOST};
static const program v2 = {STUDY_ALIGN_V2, "V2", STUDY_ALIGN_BY_HOST};
static const program on_device[] = {
    {STUDY_ALIGN_V1, "V1", STUDY_ALIGN_BY_DEVICE},   {STUDY_ALIGN_V2, "V2", STUDY_ALIGN_BY_HOST},
    {STUDY_ALIGN_V3, "V3", STUDY_ALIGN_BY_DEVICE},   {STUDY_ALIGN_V4A, "V4a", STUDY_ALIGN_BY_DEVICE},
    {STUDY_ALIGN_V4B, "V4b", STUDY_ALIGN_BY_DEVICE}, {STUDY_ALIGN_V5, "V5", STUDY_ALIGN_BY_HOST}};

/* ---- the movie ---- */

static float *features_of(int64_t frames, uint64_t seed) {
  const int64_t count = frames * WIDTH;
  float *features = malloc((size_t)count * sizeof *features);
  if (!features) {
    fprintf(stderr, "no memory for %lld frames\n", (long long)frames);
    exit(4);
  }
  bench_check(davit_random(DAVIT_FLOAT, count, seed, features), "features");
  for (int64_t i = 0; i < count; i++)
    features[i] -= 0.5f;
  return features;
}

static void make_movie(study *s, int64_t windows, int64_t pattern, uint64_t seed) {
  const int64_t window = s->options.window, kept = pattern < window ? pattern : window;
  s->movie = features_of(windows * window, seed);
  s->patterns = features_of(MOST_EFFECTS * pattern, seed + 1);
  for (int e = 0; e < MOST_EFFECTS; e++)
    s->effects[e] = (study_effect){pattern, s->patterns + e * pattern * WIDTH};
  for (int64_t w = 0; w < windows; w += 3)
    for (int64_t i = 0; i < kept * WIDTH; i++) {
      float *at = &s->movie[(w * window + (window - kept) / 2) * WIDTH + i];
      *at = s->effects[w / 3 % MOST_EFFECTS].features[i] + 0.5f * *at;
    }
  s->input = (study_align_input){WIDTH, windows * window, s->movie, 1, s->effects};
}

/* The right scores with so many effects have to be computed anew. */
static void use_effects(study *s, int count) {
  s->input.effect_count = count;
  s->score_count =
      study_align_windows(s->input.frames, s->options.window) * count * (s->options.permutations + 1);
  free(s->scores);
  free(s->right);
  s->scores = malloc((size_t)s->score_count * sizeof *s->scores);
  s->right = NULL;
  if (!s->scores) {
    fprintf(stderr, "no memory for %lld scores\n", (long long)s->score_count);
    exit(4);
  }
}

/* ---- runs ---- */

typedef struct result {
  double median, mean, best; /* ms */
  study_align_times times;   /* of the last run */
  study_align_random random;
  int threads;
  int repeats;
} result;

/* Once; smaller launches while V4a's threads find the heap full. */
static study_align_times run_once(study *s, study_align *a) {
  const size_t most = (size_t)1 << 30, least = (size_t)1 << 16;
  study_align_times times;
  davit_status status = study_align_run(a, s->device, &s->input, s->scores, &times);
  if (a->program == STUDY_ALIGN_V4A)
    for (size_t bytes = a->memory_bytes ? a->memory_bytes : most;
         status == DAVIT_OUT_OF_DEVICE_MEMORY && bytes > least; bytes /= 2) {
      a->memory_bytes = bytes;
      status = study_align_run(a, s->device, &s->input, s->scores, &times);
    }
  bench_check(status, "alignment");
  return times;
}

/* Serial scores are kept as the right ones, all others compared with them. */
static void check(study *s, const program *p) {
  if (!s->right) {
    s->right = s->scores;
    s->scores = malloc((size_t)s->score_count * sizeof *s->scores);
    if (!s->scores)
      exit(4);
  } else if (memcmp(s->scores, s->right, (size_t)s->score_count * sizeof *s->scores) != 0) {
    fprintf(stderr, "%s has other scores than the serial program\n", p->name);
    exit(4);
  }
}

static study_align_random random_of(const study *s, const program *p) {
  return strcmp(s->random, "host") == 0     ? STUDY_ALIGN_BY_HOST
         : strcmp(s->random, "device") == 0 ? STUDY_ALIGN_BY_DEVICE
                                            : p->natural;
}

static result measure(study *s, const program *p, int threads) {
  const bool host = p->number == STUDY_ALIGN_SERIAL || p->number == STUDY_ALIGN_CPU;
  result r = {.random = random_of(s, p), .threads = threads, .repeats = host ? s->cpu_repeats : s->repeats};
  study_align a = s->options;
  double each[MOST], sum = 0;
  a.program = p->number;
  a.random = r.random;
  a.threads = threads;
  for (int i = r.repeats > 1 ? -1 : 0; i < r.repeats; i++) {
    r.times = run_once(s, &a);
    if (i >= 0)
      sum += each[i] = r.times.total_ms;
  }
  check(s, p);
  r.median = bench_median(each, r.repeats);
  r.mean = sum / r.repeats;
  r.best = each[0]; /* sorted by the median */
  return r;
}

/* ---- rows ---- */

static double gcups(const study *s, double ms) {
  return study_align_cells(&s->options, &s->input) / ms * 1e-6;
}

static void row(const study *s, const char *table, const program *p, const result *r, double serial_ms,
                double cpu_ms) {
  const bool host = p->number == STUDY_ALIGN_SERIAL || p->number == STUDY_ALIGN_CPU;
  bench_row();
  bench_text("table", table);
  bench_text("program", p->name);
  bench_number("device", host ? DAVIT_HOST : s->device);
  bench_number("host_threads", host && r->threads ? r->threads : omp_get_max_threads());
  if (!host)
    bench_text("random", r->random == STUDY_ALIGN_BY_HOST ? "host" : "device");
  bench_number("windows", (double)study_align_windows(s->input.frames, s->options.window));
  bench_number("window", (double)s->options.window);
  bench_number("pattern", (double)s->effects[0].frames);
  bench_number("effects", s->input.effect_count);
  bench_number("runs", s->options.permutations + 1);
  bench_number("repeats", r->repeats);
  bench_number("ms", r->median);
  bench_number("mean_ms", r->mean);
  bench_number("best_ms", r->best);
  bench_number("prepare_ms", r->times.prepare_ms);
  bench_number("transfer_ms", r->times.transfer_ms);
  bench_number("kernel_ms", r->times.kernel_ms);
  bench_number("launches", (double)r->times.launches);
  bench_number("gcups", gcups(s, r->median));
  bench_number("speedup_serial", serial_ms / r->median);
  if (cpu_ms > 0)
    bench_number("speedup_cpu", cpu_ms / r->median);
}

/* ---- tables ---- */

static void line(const study *s, const program *p, const result *r, double serial_ms, double cpu_ms) {
  row(s, "programs", p, r, serial_ms, cpu_ms);
  fprintf(stderr, "%-4s %7d %12.2f %12.2f %9.4f %10.2f", p->name, r->threads, r->median, r->times.kernel_ms,
          gcups(s, r->median), serial_ms / r->median);
  if (cpu_ms > 0)
    fprintf(stderr, " %10.2f", cpu_ms / r->median);
  fprintf(stderr, "\n");
}

/* Table A: one effect. */
static void table_programs(study *s) {
  const int threads = atoi(bench_option(s->argc, s->argv, "threads", "0"));
  use_effects(s, 1);
  fprintf(stderr, "\nEvery program, one effect (threads 0: all)\n"
                  "     threads           ms   kernels ms     GCUPS        x S      x CPU\n");
  const result one = measure(s, &serial, 1), cpu_one = measure(s, &on_cpu, 1),
               cpu = measure(s, &on_cpu, threads);
  line(s, &serial, &one, one.median, cpu.median);
  line(s, &on_cpu, &cpu_one, one.median, cpu.median);
  line(s, &on_cpu, &cpu, one.median, cpu.median);
  for (size_t i = 0; i < sizeof on_device / sizeof *on_device; i++) {
    const result r = measure(s, &on_device[i], 0);
    line(s, &on_device[i], &r, one.median, cpu.median);
  }
}

/* Table B: V2 by the number of effects. */
static void table_effects(study *s) {
  int64_t counts[MOST_EFFECTS];
  const int most = bench_list(bench_option(s->argc, s->argv, "effects", "1,2,3,4,5,6"), counts, MOST_EFFECTS);
  double first = 0;
  fprintf(stderr, "\nV2 by the number of effects, serial times measured\n"
                  "effects     S ms        V2 ms     GCUPS        x S   x V2 with the first number\n");
  for (int i = 0; i < most; i++) {
    if (counts[i] < 1 || counts[i] > MOST_EFFECTS)
      continue;
    use_effects(s, (int)counts[i]);
    const result one = measure(s, &serial, 1), r = measure(s, &v2, 0);
    first = first > 0 ? first : r.median;
    row(s, "effects", &serial, &one, one.median, 0);
    row(s, "effects", &v2, &r, one.median, 0);
    fprintf(stderr, "%7d %10.2f %10.2f %9.4f %10.2f %10.2f\n", s->input.effect_count, one.median, r.median,
            gcups(s, r.median), one.median / r.median, r.median / first);
  }
}

static const struct {
  const char *name;
  void (*measure)(study *s);
} tables[] = {{"programs", table_programs}, {"effects", table_effects}};

/* ---- options ---- */

static int64_t whole(const study *s, const char *name, const char *gpu, const char *cpu) {
  return strtoll(bench_option(s->argc, s->argv, name, s->gpu ? gpu : cpu), NULL, 10);
}

static int repeats_of(int64_t asked) {
  return (int)(asked < 1 ? 1 : asked > MOST ? MOST : asked);
}

static void read_options(study *s) {
  char fallback[16];
  int first, count;
  davit_device_info info;
  bench_check(davit_device_defaults(1, &first, &count), "devices");
  snprintf(fallback, sizeof fallback, "%d", first);
  s->device = atoi(bench_option(s->argc, s->argv, "device", fallback));
  bench_check(davit_device_describe(s->device, &info), "device");
  s->gpu = info.kind != DAVIT_DEVICE_CPU && info.kind != DAVIT_DEVICE_HOST_OFFLOAD;
  s->repeats = repeats_of(whole(s, "repeats", "10", "3"));
  s->cpu_repeats = repeats_of(whole(s, "cpu-repeats", "3", "3"));
  s->random = bench_option(s->argc, s->argv, "random", "natural");
  s->options = study_align_defaults();
  s->options.window = whole(s, "window", "200", "200");
  s->options.permutations = (int)whole(s, "permutations", "100", "100");
  s->options.rounded = whole(s, "rounded", "0", "0") != 0;
  s->options.seed = (uint64_t)whole(s, "seed", "1", "1");
}

static const char usage[] = "bench_align_study [--device 0] [--tables programs,effects] [--windows "
                            "775] [--window 200] [--pattern 108]\n"
                            "                  [--permutations 100] [--effects 1,2,3,4,5,6] [--random "
                            "natural|host|device] [--threads 0]\n"
                            "                  [--rounded 0] [--seed 1] [--repeats 10] [--cpu-repeats 3]\n";

int main(int argc, char **argv) {
  bench_options(usage, argc, argv);
  study s = {.argc = argc, .argv = argv};
  read_options(&s);
  const int64_t windows = whole(&s, "windows", "775", "4"), pattern = whole(&s, "pattern", "108", "108");
  if (windows < 1 || pattern < 1 || s.options.window < 1) {
    fprintf(stderr, "windows, window and pattern are at least 1\n");
    return 2;
  }
  make_movie(&s, windows, pattern, s.options.seed);
  const char *wanted = bench_option(argc, argv, "tables", "programs,effects");
  bench_begin("align_study", argc, argv);
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    if (strstr(wanted, tables[i].name))
      tables[i].measure(&s);
  bench_end();
  free(s.scores);
  free(s.right);
  free(s.movie);
  free(s.patterns);
  bench_check(davit_finalize(), "finalize");
  return 0;
}
