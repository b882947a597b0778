/* davit detect: effects in a stream.
 *
 * The stream is searched in blocks of whole windows, so that it may be longer than memory. Permutations depend on the seed, their
 * number and the length of the window alone, and a block that is not the last ends with its last window: so the detections are those of the
 * whole. Rows are kept in a temporary file until all is well. */
#include <davit/detect.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/ref.h"
#include "src/cli/formats/frames.h"
#include "src/cli/frame/old_job.h"

/* Of a block. Its runs take a core some seconds, and an H200 a tenth of one; progress is told between blocks. */
enum {
  BLOCK = 1 << 16, /* frames, or one window */
  RUNS = 1 << 24,  /* of all windows and effects, or of */
  LEAST = 32       /* windows: fewer leave lanes of a CPU's vectors without one */
};

typedef struct effect {
  char *name;
  cli_array features;
} effect;

typedef struct search {
  cli_old_job job;
  davit_features_options sound;
  davit_detect_options options;
  cli_list paths;
  effect *effects;
  davit_effect *patterns; /* the same, for the library */
  cli_frames stream;
  int64_t step,
      capacity;        /* windows of a block that is not the last, and frames: of such a block and one more */
  float *frames;       /* of the block */
  int64_t held, count; /* frames in memory, and of these in the block */
  int64_t first, window; /* the block's first frame, and number of its first window, in the stream */
  davit_detection *found, *right;
  int64_t windows; /* in the block */
  FILE *rows;
  davit_detection *hits; /* frames and windows are the stream's */
  int64_t hit_count, hit_capacity;
  int64_t differences;
  double cells, effect_seconds; /* of the effects' features */
} search;

/* ---- effects ---- */

/* The file's name without folders and ending, and without what would break a line of the table. */
static char *base_name(const char *path) {
  const char *slash = strrchr(path, '/'), *start = slash && slash[1] ? slash + 1 : path;
  char *name = malloc(strlen(start) + 24); /* room for a number */
  if (!name)
    return NULL;
  strcpy(name, start);
  char *dot = strrchr(name, '.');
  if (dot && dot != name)
    *dot = 0;
  for (char *c = name; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 127)
      *c = '?';
  return name;
}

static bool is_taken(const search *s, int count, const char *name) {
  for (int e = 0; e < count; e++)
    if (!strcmp(s->effects[e].name, name))
      return true;
  return false;
}

/* The second effect called NAME is NAME#2. */
static int name_effect(search *s, int e, const char *path) {
  char *name = base_name(path);
  if (!name)
    return cli_fail(CLI_DEVICE, "not enough memory for a name");
  const size_t length = strlen(name);
  for (int number = 2; is_taken(s, e, name); number++)
    snprintf(name + length, 24, "#%d", number);
  s->effects[e].name = name;
  return CLI_OK;
}

static int check_effect(const search *s, const cli_frames *file, const cli_array *features) {
  if (file->width != s->stream.width)
    return cli_fail(CLI_INPUT, "%s: expected frames of %d features, as the stream's, found %d", file->name,
                    s->stream.width, file->width);
  if (features->shape[0] > s->options.window)
    return cli_fail(CLI_INPUT, "%s: expected at most %" PRId64 " frames, as a window has, found %" PRId64,
                    file->name, s->options.window, features->shape[0]);
  return CLI_OK;
}

static int load_effect(search *s, int e) {
  cli_frames file = {0};
  cli_array *features = &s->effects[e].features;
  int code = name_effect(s, e, s->paths.values[e]);
  if (code == CLI_OK)
    code = cli_frames_open(s->paths.values[e], &s->sound, &file);
  if (code == CLI_OK)
    code = cli_frames_read_all(&file, features);
  if (code == CLI_OK)
    code = check_effect(s, &file, features);
  s->effect_seconds += file.seconds;
  cli_frames_close(&file);
  s->patterns[e] = (davit_effect){.frames = features->shape[0], .features = features->data};
  return code;
}

static int load_effects(search *s) {
  const size_t count = (size_t)s->paths.count;
  s->effects = calloc(count, sizeof *s->effects);
  s->patterns = calloc(count, sizeof *s->patterns);
  if (!s->effects || !s->patterns)
    return cli_fail(CLI_DEVICE, "not enough memory for %zu effects", count);
  int code = CLI_OK;
  for (int e = 0; e < s->paths.count && code == CLI_OK; e++)
    code = load_effect(s, e);
  return code;
}

/* ---- blocks ---- */

static int64_t hop_of(const search *s) {
  return s->options.hop ? s->options.hop : s->options.window;
}

/* Windows of a block: as many as it has room for, unless that is a lot of work, of which the progress line is to say more. */
static int64_t choose_step(const search *s) {
  const int64_t window = s->options.window, beyond = window < BLOCK ? BLOCK - window : 0,
                fitting = 1 + beyond / hop_of(s),
                worked = RUNS / ((s->options.permutations + 1) * s->paths.count) / LEAST * LEAST,
                most = worked > LEAST ? worked : LEAST;
  return fitting < most ? fitting : most;
}

static int make_block(search *s) {
  const int64_t window = s->options.window;
  s->step = choose_step(s);
  s->capacity = window + (s->step - 1) * hop_of(s) + 1;
  const size_t most = (size_t)s->step * (size_t)s->paths.count;
  s->frames = malloc((size_t)s->capacity * (size_t)s->stream.width * sizeof *s->frames);
  s->found = calloc(most, sizeof *s->found);
  s->right = s->job.common.check ? calloc(most, sizeof *s->right) : NULL;
  s->rows = tmpfile();
  if (!s->rows)
    return cli_fail(CLI_FAILED, "no temporary file can be made");
  return s->frames && s->found && (s->right || !s->job.common.check)
             ? CLI_OK
             : cli_fail(CLI_DEVICE, "not enough memory for %" PRId64 " frames", s->capacity);
}

/* One frame more than a block of whole windows tells that the block is not the last. */
static int read_block(search *s) {
  int64_t got = 0;
  const int code =
      cli_frames_read(&s->stream, s->capacity - s->held, s->frames + s->held * s->stream.width, &got);
  s->held += got;
  s->count = s->held < s->capacity ? s->held : s->capacity - 1;
  s->windows = davit_detect_windows(s->count, &s->options);
  return code;
}

static bool is_last(const search *s) {
  return s->held < s->capacity;
}

static void next_block(search *s) {
  const int64_t moved = s->step * hop_of(s);
  s->held -= moved;
  s->first += moved;
  s->window += s->step;
  memmove(s->frames, s->frames + moved * s->stream.width,
          (size_t)(s->held * s->stream.width) * sizeof *s->frames);
}

/* ---- work ---- */

static davit_status by_reference(const search *s, davit_detection *detections) {
  return dvt_ref_detect(s->stream.width, s->count, s->frames, s->paths.count, s->patterns, &s->options,
                        detections);
}

static void prepare(void *state) {
  search *s = state;
  memset(s->found, 0, (size_t)(s->windows * s->paths.count) * sizeof *s->found);
}

static davit_status work(void *state) {
  search *s = state;
  if (s->job.devices.reference)
    return by_reference(s, s->found);
  return davit_detect(s->stream.width, s->count, s->frames, s->paths.count, s->patterns, &s->options,
                      s->job.devices.ids, s->job.devices.count, s->found);
}

static void count_cells(search *s) {
  double effects = 0;
  for (int e = 0; e < s->paths.count; e++)
    effects += (double)s->patterns[e].frames;
  for (int64_t w = 0; w < s->windows; w++) {
    const int64_t left = s->count - w * hop_of(s),
                  length = left < s->options.window ? left : s->options.window;
    s->cells += (double)length * effects * (double)(s->options.permutations + 1);
  }
}

static bool same(double a, double b) {
  return a <= b && a >= b;
}

static bool alike(const davit_detection *a, const davit_detection *b) {
  return a->window == b->window && a->effect == b->effect && a->onset == b->onset && a->offset == b->offset &&
         same(a->score, b->score) && same(a->null_mean, b->null_mean) && same(a->null_sd, b->null_sd) &&
         same(a->z, b->z) && same(a->p_value, b->p_value) && a->detected == b->detected;
}

static int check_block(search *s) {
  if (!s->job.common.check)
    return CLI_OK;
  const davit_status status = by_reference(s, s->right);
  if (status != DAVIT_SUCCESS)
    return cli_status(status);
  for (int64_t i = 0; i < s->windows * s->paths.count; i++)
    s->differences += !alike(&s->found[i], &s->right[i]);
  return CLI_OK;
}

/* ---- rows ---- */

static double seconds_of(const search *s, int64_t frames) {
  return (double)frames * (double)s->sound.frame / s->sound.rate;
}

static const char *decision_of(const davit_detection *d) {
  return d->detected ? "detected" : "-";
}

static void print_row(const search *s, const davit_detection *d) {
  fprintf(s->rows, "%s\t%" PRId64 "\t%.3f\t%.3f\t%.6g\t%.6g\t%.6g\t%.6g\t%.6g\t%s\n",
          s->effects[d->effect].name, d->window, seconds_of(s, d->onset), seconds_of(s, d->offset), d->score,
          d->null_mean, d->null_sd, d->z, d->p_value, decision_of(d));
}

static int keep_hit(search *s, const davit_detection *d) {
  if (s->hit_count == s->hit_capacity) {
    const int64_t more = s->hit_capacity ? 2 * s->hit_capacity : 64;
    davit_detection *hits = realloc(s->hits, (size_t)more * sizeof *hits);
    if (!hits)
      return cli_fail(CLI_DEVICE, "not enough memory for %" PRId64 " hits", more);
    s->hits = hits;
    s->hit_capacity = more;
  }
  s->hits[s->hit_count++] = *d;
  return CLI_OK;
}

/* From the block's numbers to the stream's. */
static int take_block(search *s) {
  int code = CLI_OK;
  for (int64_t i = 0; i < s->windows * s->paths.count && code == CLI_OK; i++) {
    davit_detection d = s->found[i];
    d.window += s->window;
    d.onset += s->first;
    d.offset += s->first;
    print_row(s, &d);
    if (d.detected)
      code = keep_hit(s, &d);
  }
  if (code == CLI_OK && ferror(s->rows))
    return cli_fail(CLI_FAILED, "the temporary file of the rows cannot be written");
  return code;
}

static void say_position(search *s) {
  cli_progress_at(&s->job.progress, seconds_of(s, s->first), cli_frames_seconds(&s->stream),
                  "seconds of sound");
}

static int search_block(search *s) {
  say_position(s);
  int code = read_block(s);
  if (code == CLI_OK)
    code = cli_old_job_measure_part(&s->job, work, prepare, s);
  if (code == CLI_OK)
    code = check_block(s);
  count_cells(s);
  return code == CLI_OK ? take_block(s) : code;
}

static int search_stream(search *s) {
  fputs("effect\twindow\tonset_s\toffset_s\tscore\tnull_mean\tnull_sd\tz\tp_value\tdecision\n", s->rows);
  cli_progress_start(&s->job.progress, s->job.command->name, s->job.common.quiet);
  int code = search_block(s);
  while (code == CLI_OK && !is_last(s)) {
    next_block(s);
    code = search_block(s);
  }
  cli_progress_stop(&s->job.progress);
  if (s->job.common.check)
    s->job.check = (cli_check){.measure = "rows that differ", .error = (double)s->differences};
  return code;
}

/* ---- report ---- */

static double features_seconds(const search *s) {
  return s->stream.seconds + s->effect_seconds;
}

static double gcups(const search *s) {
  return 1e-9 * s->cells / s->job.seconds;
}

static void print_text(FILE *file, const void *state) {
  const search *s = state;
  fprintf(file,
          "%.3f s of %s, %" PRId64 " windows, %d effects: %" PRId64
          " detected\n%.6g s, %.6g GCUPS; features %.3g s\n",
          seconds_of(s, s->first + s->count), s->stream.name, s->window + s->windows, s->paths.count,
          s->hit_count, s->job.seconds, gcups(s), features_seconds(s));
}

static void print_hit(cli_json *json, const search *s, const davit_detection *d) {
  cli_json_open_object(json, NULL);
  cli_json_string(json, "effect", s->effects[d->effect].name);
  cli_json_integer(json, "window", d->window);
  cli_json_real(json, "onset_s", seconds_of(s, d->onset));
  cli_json_real(json, "offset_s", seconds_of(s, d->offset));
  cli_json_real(json, "score", d->score);
  cli_json_real(json, "null_mean", d->null_mean);
  cli_json_real(json, "null_sd", d->null_sd);
  cli_json_real(json, "z", d->z);
  cli_json_real(json, "p_value", d->p_value);
  cli_json_string(json, "decision", decision_of(d));
  cli_json_close_object(json);
}

static void print_json(cli_json *json, const void *state) {
  const search *s = state;
  cli_json_real(json, "seconds_features", features_seconds(s));
  cli_json_integer(json, "frames", s->first + s->count);
  cli_json_integer(json, "windows", s->window + s->windows);
  cli_json_open_array(json, "effects");
  for (int e = 0; e < s->paths.count; e++)
    cli_json_string(json, NULL, s->effects[e].name);
  cli_json_close_array(json);
  cli_json_real(json, "gcups", gcups(s));
  cli_json_open_array(json, "hits");
  for (int64_t i = 0; i < s->hit_count; i++)
    print_hit(json, s, &s->hits[i]);
  cli_json_close_array(json);
}

/* ---- command ---- */

typedef struct arguments {
  const char *stream, *output;
  cli_frames_options frames;
  int64_t window, hop, permutations, block;
  cli_old_real threshold, gap_penalty, alpha, coverage;
  bool round;
} arguments;

static bool within(const cli_old_real *given, double least, double most) {
  return !given->given || (given->value >= least && given->value <= most);
}

static int check_arguments(const arguments *a, const davit_detect_options *o) {
  if (o->window > UINT16_MAX)
    return cli_fail(CLI_USAGE, "--window takes at most 65535 frames, not %" PRId64, o->window);
  if (o->hop > o->window)
    return cli_fail(CLI_USAGE, "--hop takes at most the window's %" PRId64 " frames, not %" PRId64, o->window,
                    o->hop);
  if (o->permutations > 1000000)
    return cli_fail(CLI_USAGE, "--permutations takes at most 1000000, not %" PRId64, o->permutations);
  if (o->block > o->window)
    return cli_fail(CLI_USAGE, "--block takes at most the window's %" PRId64 " frames, not %" PRId64,
                    o->window, o->block);
  if (!within(&a->threshold, 0, 100))
    return cli_fail(CLI_USAGE, "--threshold takes a number from 0 to 100");
  if (!within(&a->alpha, 0, 1))
    return cli_fail(CLI_USAGE, "--alpha takes a number from 0 to 1");
  if (!within(&a->coverage, 0, 1))
    return cli_fail(CLI_USAGE, "--coverage takes a number from 0 to 1");
  if (!(o->gap_penalty > 0 && o->gap_penalty <= 1e4))
    return cli_fail(CLI_USAGE, "--gap-penalty takes a number above 0, at most 10000");
  if (o->round && o->gap_penalty > floor(o->gap_penalty))
    return cli_fail(CLI_USAGE, "--gap-penalty takes a whole number when --round is given");
  return CLI_OK;
}

static int read_arguments(search *s, const arguments *a) {
  davit_detect_options *o = &s->options;
  *o = davit_detect_defaults();
  if (!s->paths.count)
    return cli_fail(CLI_USAGE, "--effect is missing");
  o->window = a->window ? a->window : o->window;
  o->hop = a->hop ? a->hop : o->hop;
  o->permutations = a->permutations ? a->permutations : o->permutations;
  o->block = a->block ? a->block : o->block < o->window ? o->block : o->window;
  o->threshold = a->threshold.given ? a->threshold.value : o->threshold;
  o->gap_penalty = a->gap_penalty.given ? a->gap_penalty.value : o->gap_penalty;
  o->alpha = a->alpha.given ? a->alpha.value : o->alpha;
  o->coverage = a->coverage.given ? a->coverage.value : o->coverage;
  o->round = a->round;
  o->seed = s->job.common.seed;
  const int code = check_arguments(a, o);
  return code == CLI_OK ? cli_frames_options_read(&a->frames, &s->sound) : code;
}

static bool write_rows(FILE *file, const void *state) {
  const search *s = state;
  char bytes[1 << 14];
  size_t got;
  rewind(s->rows);
  while ((got = fread(bytes, 1, sizeof bytes, s->rows)) > 0)
    if (fwrite(bytes, 1, got, file) != got)
      return false;
  return !ferror(s->rows);
}

static int compute(search *s, const cli_command *self, const arguments *a) {
  static const cli_old_job_report report = {print_text, print_json};
  const char *output = a->output ? a->output : s->job.common.json ? NULL : "-";
  s->job.write = write_rows;
  int code = cli_old_job_open(&s->job, self, output);
  if (code == CLI_OK)
    code = cli_frames_open(a->stream, &s->sound, &s->stream);
  if (code == CLI_OK)
    code = load_effects(s);
  if (code == CLI_OK)
    code = make_block(s);
  if (code == CLI_OK)
    code = search_stream(s);
  return code == CLI_OK ? cli_old_job_finish(&s->job, NULL, &report, s) : code;
}

static void release(search *s) {
  cli_old_job_close(&s->job);
  cli_frames_close(&s->stream);
  for (int e = 0; s->effects && e < s->paths.count; e++) {
    free(s->effects[e].name);
    cli_array_free(&s->effects[e].features);
  }
  if (s->rows)
    fclose(s->rows);
  void *const blocks[] = {s->paths.values, s->effects, s->patterns, s->frames, s->found, s->right, s->hits};
  for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
    free(blocks[i]);
}

static int run(const cli_command *self, int argc, char **argv) {
  search s = {.paths.values = calloc((size_t)argc, sizeof(char *))};
  arguments a = {0};
  const cli_old_option options[] = {{"o", CLI_OLD_TEXT, &a.output},
                                    {"effect", CLI_OLD_LIST, &s.paths},
                                    {"rate", CLI_OLD_REAL, &a.frames.rate},
                                    {"frame", CLI_OLD_SIZE, &a.frames.frame},
                                    {"binning", CLI_OLD_TEXT, &a.frames.binning},
                                    {"window", CLI_OLD_SIZE, &a.window},
                                    {"hop", CLI_OLD_SIZE, &a.hop},
                                    {"threshold", CLI_OLD_REAL, &a.threshold},
                                    {"gap-penalty", CLI_OLD_REAL, &a.gap_penalty},
                                    {"permutations", CLI_OLD_SIZE, &a.permutations},
                                    {"block", CLI_OLD_SIZE, &a.block},
                                    {"round", CLI_OLD_FLAG, &a.round},
                                    {"alpha", CLI_OLD_REAL, &a.alpha},
                                    {"coverage", CLI_OLD_REAL, &a.coverage},
                                    {0}};
  int code = s.paths.values ? cli_old_parse(self, options, argc, argv, &s.job.common, &a.stream, 1)
                            : cli_fail(CLI_DEVICE, "not enough memory for the arguments");
  if (code == CLI_OK)
    code = read_arguments(&s, &a);
  if (code == CLI_OK)
    code = compute(&s, self, &a);
  release(&s);
  return code;
}

const cli_command cli_command_detect = {
    .name = "detect",
    .summary = "effects in a stream of sound",
    .usage =
        "davit detect STREAM --effect E ... [options]\n\n"
        "Where each effect E is in STREAM, both sound or both feature vectors (.npy, frames x "
        "features). A row for "
        "each\n"
        "window and effect: effect, window, onset_s, offset_s, score, null_mean, null_sd, z, p_value, "
        "decision. "
        "What\n"
        "stands between --effect and the next option are effects, so STREAM comes before.\n\n"
        "  --effect E ...   the effects; their names are those of the files\n"
        "  -o FILE          the rows (default: standard output, nothing with --json)\n"
        "  --window W       frames of a window (default 200)\n"
        "  --hop H          frames from one window to the next (default: the window)\n"
        "  --threshold T    what is less similar counts as -T; 0 to 100 (default 50)\n"
        "  --gap-penalty G  the first frame of a gap costs 100 + G, each further one G (default 33)\n"
        "  --round          whole similarities\n"
        "  --permutations R the null distribution's size (default 100)\n"
        "  --block B        frames that stay together in permutations (default 3)\n"
        "  --alpha P        detected is what has a p-value of at most P (default 0.01)\n"
        "  --coverage C     and a score of at least C times 100 for each of the effect's frames (default "
        "0.3)\n"
        "  --rate R         of sound: samples a second (default 22050)\n"
        "  --frame N        samples of a frame (default 1024); of feature vectors it says what a frame "
        "lasts\n"
        "  --binning B      shared (default) or hard; see davit help features\n",
    .common = CLI_COMMON_NUMERIC | CLI_COMMON_SEED,
    .old_run = run,
};
