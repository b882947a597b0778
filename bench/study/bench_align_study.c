/* SPDX-License-Identifier: Apache-2.0 */
/* The source's tables on alignment, measured again (bench/study/docs/align-study.md): `programs`, every
 * program with one effect, and `effects`, V2 with 1 to 6 effects; each beside serial times of the same run.
 *
 * --movie and --patterns name files of one's own, sound or .npy with the features of frames; `scores` then
 * has each window's and effect's score beside those of the permutations. Without them the movie is synthetic:
 * 62 features a frame, each effect in every third window with noise. 775 windows are two hours. Where the
 * device is the CPU, it is short.
 *
 * Times are medians of the repeats after one that is not counted (program.h), and the parts of a time those of
 * that run; the rows have means and the best as well. A program's time has unit vectors, the host's
 * permutations, copies both ways and launches, no allocation. GCUPS are 10^9 cells of all alignments a second.
 * `natural` random numbers are the device's for V1, V3 and V4, the host's for V2 and V5. V4a takes half as many
 * units a launch until the device's heap has room for them. All scores are compared with the serial ones. */
#include <davit/davit.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "bench/study/align/align.h"
#include "bench/study/program.h"
#include "src/cli/fail.h"
#include "src/cli/formats/frames.h"

enum { MAX_EFFECTS = 6, WIDTH = 62 };

typedef struct study {
  const study_options *o;
  int cpu_repeats;
  const char *random;
  study_align options;
  study_effect effects[MAX_EFFECTS];
  study_align_input input;
  bool own_files;
  float *movie, *patterns; /* the synthetic ones */
  cli_array files[1 + MAX_EFFECTS];
  int effect_count; /* that there are */
  int64_t score_count;
  float *scores, *right; /* of the program that runs; of the serial one */
} study;

typedef struct program {
  study_align_program number;
  const char *name;
  study_align_random natural;
} program;

/* Whether --program, which has commas, names the program; without it all are chosen. */
static bool is_chosen(const program *p) {
  const char *names = bench_option("program", "all");
  bool chosen = !strcmp(names, "all");
  while (*names && !chosen) {
    const size_t length = strcspn(names, ",");
    chosen = strlen(p->name) == length && !strncmp(names, p->name, length);
    names += length + (names[length] == ',');
  }
  return chosen;
}

static const program serial = {STUDY_ALIGN_SERIAL, "S", STUDY_ALIGN_BY_HOST};
static const program on_cpu = {STUDY_ALIGN_CPU, "CPU", STUDY_ALIGN_BY_HOST};
static const program on_device[] = {
    {STUDY_ALIGN_V1, "V1", STUDY_ALIGN_BY_DEVICE},   {STUDY_ALIGN_V2, "V2", STUDY_ALIGN_BY_HOST},
    {STUDY_ALIGN_V3, "V3", STUDY_ALIGN_BY_DEVICE},   {STUDY_ALIGN_V4A, "V4a", STUDY_ALIGN_BY_DEVICE},
    {STUDY_ALIGN_V4B, "V4b", STUDY_ALIGN_BY_DEVICE}, {STUDY_ALIGN_V5, "V5", STUDY_ALIGN_BY_HOST}};

/* Whether all names in --program are programs; else says which is none. */
static bool programs_exist(void) {
  const char *names = bench_option("program", "all");
  if (!strcmp(names, "all"))
    return true;
  for (size_t length; *names; names += length + (names[length] == ',')) {
    bool known = false;
    length = strcspn(names, ",");
    for (size_t p = 0; p < sizeof on_device / sizeof *on_device; p++)
      known |= strlen(on_device[p].name) == length && !strncmp(names, on_device[p].name, length);
    if (!known) {
      fprintf(stderr, "there is no program '%.*s'; there are: all, or V1, V2, V3, V4a, V4b and V5\n",
              (int)length, names);
      return false;
    }
  }
  return true;
}

/* ---- the movie ---- */

static float *features_of(int64_t frames, uint64_t seed) {
  const int64_t count = frames * WIDTH;
  float *features = study_host_memory(count, sizeof *features);
  bench_check(davit_random(DAVIT_FLOAT, count, seed, features), "features");
  for (int64_t i = 0; i < count; i++)
    features[i] -= 0.5f;
  return features;
}

static void make_movie(study *s, int64_t windows, int64_t pattern, uint64_t seed) {
  const int64_t window = s->options.window, kept = pattern < window ? pattern : window;
  s->movie = features_of(windows * window, seed);
  s->patterns = features_of(MAX_EFFECTS * pattern, seed + 1);
  for (int e = 0; e < MAX_EFFECTS; e++)
    s->effects[e] = (study_effect){pattern, s->patterns + e * pattern * WIDTH};
  for (int64_t w = 0; w < windows; w += 3)
    for (int64_t i = 0; i < kept * WIDTH; i++) {
      float *at = &s->movie[(w * window + (window - kept) / 2) * WIDTH + i];
      *at = s->effects[w / 3 % MAX_EFFECTS].features[i] + 0.5f * *at;
    }
  s->effect_count = MAX_EFFECTS;
  s->input = (study_align_input){WIDTH, windows * window, s->movie, 1, s->effects};
}

/* The frames of a file; ends the program, which has said why, if they cannot be read. */
static cli_array read_frames(const char *path, int *width) {
  const davit_features_options standard = {.rate = DAVIT_FEATURES_RATE, .frame = DAVIT_FEATURES_FRAME};
  cli_frames file = {0};
  cli_array frames = {0};
  int code = cli_frames_open(path, &standard, false, &file);
  for (int64_t got = 1; code == CLI_OK && got > 0;)
    code = cli_frames_append(&file, &frames, &got);
  if (code == CLI_OK && *width && file.width != *width)
    code = cli_fail(CLI_INPUT, "%s: frames of %d features, the movie's have %d", path, file.width, *width);
  *width = file.width;
  cli_frames_close(&file);
  if (code != CLI_OK)
    exit(code);
  return frames;
}

static void read_movie(study *s, const char *movie, const char *patterns) {
  int width = 0;
  char path[4096];
  s->own_files = true;
  s->files[0] = read_frames(movie, &width);
  for (; *patterns; patterns += strspn(patterns, ",")) {
    const size_t length = strcspn(patterns, ",");
    if (s->effect_count == MAX_EFFECTS || length >= sizeof path)
      exit(cli_fail(CLI_USAGE, "--patterns names more than %d files", MAX_EFFECTS));
    memcpy(path, patterns, length);
    path[length] = 0;
    cli_array *file = &s->files[1 + s->effect_count];
    *file = read_frames(path, &width);
    s->effects[s->effect_count++] = (study_effect){file->shape[0], file->data};
    patterns += length;
  }
  if (s->effect_count == 0)
    exit(cli_fail(CLI_USAGE, "--movie needs --patterns"));
  s->input = (study_align_input){width, s->files[0].shape[0], s->files[0].data, 1, s->effects};
}

/* The right scores for this number of effects are computed by the next serial run. */
static void use_effects(study *s, int count) {
  s->input.effect_count = count;
  s->score_count =
      study_align_windows(s->input.frames, s->options.window) * count * (s->options.permutations + 1);
  free(s->scores);
  free(s->right);
  s->scores = study_host_memory(s->score_count, sizeof *s->scores);
  s->right = NULL;
}

/* ---- runs ---- */

typedef struct result {
  const program *program;
  study_time ms;
  study_align_times times; /* of the run that ms.median is from */
  study_align_random random;
  int threads;
} result;

typedef struct job {
  study *s;
  study_align a;
  study_align_times times;
} job;

/* Smaller launches while V4a's threads find the heap full. */
static double run_once(void *argument) {
  job *j = argument;
  const int device = j->s->o->site.device;
  davit_status status = study_align_run(&j->a, device, &j->s->input, j->s->scores, &j->times);
  size_t bytes = j->a.memory_bytes ? j->a.memory_bytes : (size_t)1 << 30;
  for (; j->a.program == STUDY_ALIGN_V4A && status == DAVIT_OUT_OF_DEVICE_MEMORY && bytes > (size_t)1 << 16;
       bytes /= 2) {
    j->a.memory_bytes = bytes;
    status = study_align_run(&j->a, device, &j->s->input, j->s->scores, &j->times);
  }
  bench_check(status, "alignment");
  return j->times.total_ms;
}

/* Serial scores are kept as the right ones, all others compared with them. */
static void check(study *s, const program *p) {
  const int64_t bytes = s->score_count * (int64_t)sizeof *s->scores;
  if (!s->right) {
    s->right = s->scores;
    s->scores = study_host_memory(bytes, 1);
  } else if (memcmp(s->scores, s->right, (size_t)bytes) != 0) {
    study_give_up("%s has other scores than the serial program", p->name);
  }
}

static bool on_host(const program *p) {
  return p->number == STUDY_ALIGN_SERIAL || p->number == STUDY_ALIGN_CPU;
}

static result measure(study *s, const program *p, int threads) {
  result r = {.program = p, .threads = threads};
  study_options o = *s->o;
  o.repeats = on_host(p) ? s->cpu_repeats : o.repeats;
  r.random = strcmp(s->random, "host") == 0     ? STUDY_ALIGN_BY_HOST
             : strcmp(s->random, "device") == 0 ? STUDY_ALIGN_BY_DEVICE
                                                : p->natural;
  job j = {s, s->options, {0}};
  j.a.program = p->number;
  j.a.random = r.random;
  j.a.threads = threads;
  r.ms = study_measure(&o, run_once, &j, sizeof j);
  r.times = j.times;
  check(s, p);
  return r;
}

/* ---- tables ---- */

/* cpu_ms: NAN where it was not measured. */
static void row(const study *s, const result *r, double serial_ms, double cpu_ms) {
  const bool host = on_host(r->program);
  study_row();
  study_text("program", r->program->name);
  bench_number("device", host ? DAVIT_HOST : s->o->site.device);
  study_number("host_threads", 0, host && r->threads ? r->threads : omp_get_max_threads());
  bench_text("random", host ? "" : r->random == STUDY_ALIGN_BY_HOST ? "host" : "device");
  bench_number("windows", (double)study_align_windows(s->input.frames, s->options.window));
  bench_number("window", (double)s->options.window);
  bench_number("pattern", (double)s->effects[0].frames);
  study_number("effects", 0, s->input.effect_count);
  bench_number("runs", s->options.permutations + 1);
  study_number("repeats", 0, r->ms.repeats);
  study_number("ms", 2, r->ms.median);
  bench_number("mean_ms", r->ms.mean);
  bench_number("best_ms", r->ms.best);
  bench_number("prepare_ms", r->times.prepare_ms);
  bench_number("transfer_ms", r->times.transfer_ms);
  study_number("kernel_ms", 2, r->times.kernel_ms);
  bench_number("launches", (double)r->times.launches);
  study_number("gcups", 4, study_align_cells(&s->options, &s->input) / r->ms.median * 1e-6);
  study_number("speedup_serial", 2, serial_ms / r->ms.median);
  study_number("speedup_cpu", 2, cpu_ms / r->ms.median);
}

/* Table A: one effect. */
static void table_programs(void *context) {
  study *s = context;
  const int threads = (int)bench_whole("threads", 0);
  use_effects(s, 1);
  study_begin_table("programs", "every program, one effect");
  const result one = measure(s, &serial, 1), cpu_one = measure(s, &on_cpu, 1),
               cpu = measure(s, &on_cpu, threads);
  row(s, &one, one.ms.median, cpu.ms.median);
  row(s, &cpu_one, one.ms.median, cpu.ms.median);
  row(s, &cpu, one.ms.median, cpu.ms.median);
  for (size_t i = 0; i < sizeof on_device / sizeof *on_device; i++)
    if (is_chosen(&on_device[i])) {
      const result r = measure(s, &on_device[i], 0);
      row(s, &r, one.ms.median, cpu.ms.median);
    }
}

/* The scores of one's own files, by the program for the CPU. */
static void table_scores(void *context) {
  study *s = context;
  if (!s->own_files)
    return;
  const int runs = s->options.permutations + 1;
  use_effects(s, s->effect_count);
  measure(s, &on_cpu, 0);
  study_begin_table("scores", "each window and effect beside %d permutations", runs - 1);
  for (int64_t unit = 0; unit < s->score_count / runs; unit++) {
    const float *score = s->right + unit * runs;
    double sum = 0;
    int no_less = 0;
    for (int r = 1; r < runs; r++) {
      sum += (double)score[r];
      no_less += score[r] >= score[0];
    }
    study_row();
    study_number("window", 0, (double)(unit / s->effect_count));
    study_number("effect", 0, (double)(unit % s->effect_count));
    study_number("score", 2, (double)score[0]);
    study_number("mean_of_permutations", 2, sum / (runs - 1));
    study_number("no_less", 0, no_less);
  }
}

/* Table B: V2 by the number of effects. */
static void table_effects(void *context) {
  study *s = context;
  const bench_values counts = bench_sizes("effects", "1,2,3,4,5,6");
  study_begin_table("effects", "V2 by the number of effects");
  for (int i = 0; i < counts.count; i++) {
    if (counts.at[i] > s->effect_count)
      continue;
    use_effects(s, (int)counts.at[i]);
    const result one = measure(s, &serial, 1), r = measure(s, &on_device[1], 0);
    row(s, &one, one.ms.median, NAN);
    row(s, &r, one.ms.median, NAN);
  }
}

static const study_table tables[] = {{"programs", .measure = table_programs},
                                     {"effects", .measure = table_effects},
                                     {"scores", .measure = table_scores},
                                     STUDY_REGION};

static const char usage[] =
    "bench_align_study [--device 0] [--tables programs,effects,scores,region] [--windows 775] [--window "
    "200]\n"
    "                  [--pattern 108]\n"
    "                  [--permutations 100] [--effects 1,2,3,4,5,6] [--random "
    "natural|host|device] [--threads 0]\n"
    "                  [--movie FILE] [--patterns FILE,...] [--program all|V1,V2,V3,V4a,V4b,V5]\n"
    "                  [--threshold 50] [--penalty 33] [--rounded 0] [--seed 1]\n"
    "                  [--repeats 10] [--cpu-repeats 3] [--cell-seconds 60]\n";

int main(int argc, char **argv) {
  const study_options o = study_options_read(usage, argc, argv, 10, 3, 60);
  study s = {.o = &o, .random = bench_option("random", "natural"), .options = study_align_defaults()};
  const int64_t windows = bench_whole("windows", o.site.gpu ? 775 : 4), pattern = bench_whole("pattern", 108);
  s.cpu_repeats = bench_count("cpu-repeats", 3);
  s.options.window = bench_whole("window", 200);
  s.options.permutations = (int)bench_whole("permutations", 100);
  s.options.threshold = strtof(bench_option("threshold", "50"), NULL);
  s.options.penalty = strtof(bench_option("penalty", "33"), NULL);
  s.options.rounded = bench_whole("rounded", 0) != 0;
  s.options.seed = (uint64_t)bench_whole("seed", 1);
  if (windows < 1 || pattern < 1 || s.options.window < 1) {
    fprintf(stderr, "windows, window and pattern are at least 1\n");
    return 2;
  }
  if (strcmp(s.random, "natural") != 0 && strcmp(s.random, "host") != 0 && strcmp(s.random, "device") != 0) {
    fprintf(stderr, "there are no random numbers '%s'; there are: natural, host and device\n", s.random);
    return 2;
  }
  if (!programs_exist())
    return 2;
  const char *movie = bench_option("movie", NULL);
  if (movie)
    read_movie(&s, movie, bench_option("patterns", ""));
  else
    make_movie(&s, windows, pattern, s.options.seed);
  const int code = study_measure_tables(&o, "align_study", sizeof tables / sizeof *tables, tables, &s);
  for (int i = 0; i <= MAX_EFFECTS; i++)
    cli_array_free(&s.files[i]);
  free(s.scores);
  free(s.right);
  free(s.movie);
  free(s.patterns);
  return code;
}
