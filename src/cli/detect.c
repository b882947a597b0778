/* SPDX-License-Identifier: Apache-2.0 */
/* davit detect: effects in a stream.
 *
 * The stream is searched in blocks of whole windows, so that it may be longer than memory. Permutations
 * depend only on the seed, their number and the length of the window, and a block that is not the last ends
 * with its last window, so the detections are those of the whole stream. Rows are kept in a temporary file
 * until the end. */
#include <davit/detect.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/ref.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/cli/formats/frames.h"
#include "src/cli/frame/job.h"
#include "src/cli/sound_options.h"

/* Size of a block. Its runs take a core a few seconds, and an H200 a tenth of one; progress is reported
 * between blocks. */
enum {
  BLOCK = 1 << 16,       /* frames, and */
  BLOCK_BYTES = 1 << 28, /* of features, or one window */
  RUNS = 1 << 24,        /* of all windows and effects, or of */
  FEWEST = 32            /* windows: fewer would not fill a CPU's vectors */
};

typedef struct effect {
  char *name;
  cli_array features;
} effect;

typedef struct search {
  cli_job job;
  const char *path;
  cli_list paths; /* of the effects */
  cli_output output;
  davit_features_options sound;
  davit_detect_options options;
  effect *effects;
  davit_detect_effect *patterns; /* the same, for the library */
  davit_detector *detector;      /* made by the first block */
  cli_frames stream;
  int64_t step;          /* windows of a block that is not the last */
  int64_t capacity;      /* frames of such a block and one more */
  float *frames;         /* of the block */
  int64_t held, count;   /* frames in memory, and of these in the block */
  int64_t first, window; /* the block's first frame, and number of its first window, in the stream */
  davit_detect_hit *found, *right;
  int64_t windows; /* in the block */
  FILE *rows;
  davit_detect_hit *hits; /* frames and windows are the stream's */
  int64_t hit_count, hit_capacity;
  int64_t differences;
  double effect_seconds; /* of the effects' features */
} search;

/* ---- effects ---- */

enum { NUMBER = 24 }; /* characters that "#2" may need */

/* The file's name without folders and ending, and without characters that would break a line of the table. */
static char *base_name(search *s, const char *path) {
  const char *slash = strrchr(path, '/'), *start = slash && slash[1] ? slash + 1 : path;
  char *name = cli_job_memory(&s->job, strlen(start) + NUMBER, 1);
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
  char *name = base_name(s, path);
  if (!name)
    return CLI_DEVICE;
  const size_t length = strlen(name);
  for (int number = 2; is_taken(s, e, name); number++)
    snprintf(name + length, NUMBER, "#%d", number);
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
  for (int64_t got = 1; code == CLI_OK && got > 0;)
    code = cli_frames_append(&file, features, &got);
  if (code == CLI_OK)
    code = check_effect(s, &file, features);
  s->effect_seconds += file.seconds;
  cli_frames_close(&file);
  s->patterns[e] = (davit_detect_effect){.frames = features->shape[0], .features = features->data};
  return code;
}

static int load_effects(search *s) {
  const size_t count = (size_t)s->paths.count;
  s->effects = cli_job_memory(&s->job, count, sizeof *s->effects);
  s->patterns = cli_job_memory(&s->job, count, sizeof *s->patterns);
  int code = s->effects && s->patterns ? CLI_OK : CLI_DEVICE;
  for (int e = 0; e < s->paths.count && code == CLI_OK; e++)
    code = load_effect(s, e);
  return code;
}

/* ---- blocks ---- */

static int64_t hop_of(const search *s) {
  return s->options.hop ? s->options.hop : s->options.window;
}

/* Windows of a block: as many as it has room for; fewer where that is so much work that progress would be
 * seldom. */
static int64_t choose_step(const search *s) {
  const int64_t block = dvt_at_most(BLOCK, BLOCK_BYTES / s->stream.width / (int64_t)sizeof *s->frames),
                window = s->options.window, beyond = window < block ? block - window : 0,
                fitting = 1 + beyond / hop_of(s),
                worked = RUNS / ((s->options.permutations + 1) * s->paths.count) / FEWEST * FEWEST,
                most = worked > FEWEST ? worked : FEWEST;
  return fitting < most ? fitting : most;
}

static int make_block(search *s) {
  const int64_t window = s->options.window;
  s->step = choose_step(s);
  s->capacity = dvt_at_most(window + (s->step - 1) * hop_of(s), cli_frames_most(&s->stream)) + 1;
  const size_t most = (size_t)s->step * (size_t)s->paths.count;
  s->frames = cli_job_memory(&s->job, (size_t)s->capacity * (size_t)s->stream.width, sizeof *s->frames);
  s->found = cli_job_memory(&s->job, most, sizeof *s->found);
  s->right = cli_job_memory(&s->job, s->job.common.check ? most : 0, sizeof *s->right);
  s->rows = tmpfile();
  if (!s->rows)
    return cli_fail(CLI_FAILED, "no temporary file can be made");
  return s->frames && s->found && s->right ? CLI_OK : CLI_DEVICE;
}

/* Reads one frame more than a block of whole windows has, to know whether the block is the last. */
static int read_block(search *s) {
  int64_t got = 0;
  const int code =
      cli_frames_read(&s->stream, s->capacity - s->held, s->frames + s->held * s->stream.width, &got);
  s->held += got;
  s->count = s->held < s->capacity ? s->held : s->capacity - 1;
  return code == CLI_OK ? cli_status(davit_detect_windows(s->count, &s->windows, &s->options)) : code;
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

static davit_status by_reference(const search *s, davit_detect_hit *detections) {
  return dvt_ref_detect(s->stream.width, s->count, s->frames, s->paths.count, s->patterns, &s->options,
                        detections);
}

static davit_status work(void *state, cli_array *unused, bool reference) {
  search *s = state;
  (void)unused;
  memset(s->found, 0, (size_t)(s->windows * s->paths.count) * sizeof *s->found);
  if (reference)
    return by_reference(s, s->found);
  if (!s->detector) {
    s->options.devices = s->job.devices.ids;
    s->options.device_count = s->job.devices.count;
    const davit_status status =
        davit_detector_create(s->stream.width, s->paths.count, s->patterns, &s->detector, &s->options);
    if (status != DAVIT_SUCCESS)
      return status;
  }
  return davit_detect(s->detector, s->count, s->frames, s->found);
}

static void count_cells(search *s) {
  double effects = 0;
  for (int e = 0; e < s->paths.count; e++)
    effects += (double)s->patterns[e].frames;
  for (int64_t w = 0; w < s->windows; w++) {
    const int64_t left = s->count - w * hop_of(s),
                  length = left < s->options.window ? left : s->options.window;
    s->job.rate.amount += (double)length * effects * (double)(s->options.permutations + 1);
  }
}

static bool same(double a, double b) {
  return a <= b && a >= b;
}

static bool alike(const davit_detect_hit *a, const davit_detect_hit *b) {
  return a->window == b->window && a->effect == b->effect && a->onset == b->onset && a->offset == b->offset &&
         same(a->score, b->score) && same(a->null_mean, b->null_mean) && same(a->null_sd, b->null_sd) &&
         same(a->z, b->z) && same(a->p_value, b->p_value) && a->detected == b->detected;
}

static int check_block(search *s) {
  if (!s->job.common.check)
    return CLI_OK;
  const int code = cli_status(by_reference(s, s->right));
  if (code != CLI_OK)
    return code;
  for (int64_t i = 0; i < s->windows * s->paths.count; i++)
    s->differences += !alike(&s->found[i], &s->right[i]);
  return CLI_OK;
}

/* ---- rows ---- */

static double seconds_of(const search *s, int64_t frames) {
  return (double)frames * (double)s->sound.frame / s->sound.rate;
}

static const char *decision_of(const davit_detect_hit *d) {
  return d->detected ? "detected" : "-";
}

static void print_row(const search *s, const davit_detect_hit *d) {
  fprintf(s->rows, "%s\t%" PRId64 "\t%.3f\t%.3f\t%.6g\t%.6g\t%.6g\t%.6g\t%.6g\t%s\n",
          s->effects[d->effect].name, d->window, seconds_of(s, d->onset), seconds_of(s, d->offset), d->score,
          d->null_mean, d->null_sd, d->z, d->p_value, decision_of(d));
}

static int keep_hit(search *s, const davit_detect_hit *d) {
  if (s->hit_count == s->hit_capacity) {
    const int64_t more = s->hit_capacity ? 2 * s->hit_capacity : 64;
    davit_detect_hit *hits = dvt_reallocate(s->hits, (size_t)more, sizeof *hits);
    if (!hits)
      return cli_fail(CLI_DEVICE, "not enough memory for %" PRId64 " hits", more);
    s->hits = hits;
    s->hit_capacity = more;
  }
  s->hits[s->hit_count++] = *d;
  return CLI_OK;
}

/* Prints the rows of the block, with the numbers of the stream, and keeps the hits. */
static int take_block(search *s) {
  int code = CLI_OK;
  for (int64_t i = 0; i < s->windows * s->paths.count && code == CLI_OK; i++) {
    davit_detect_hit d = s->found[i];
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

static int search_block(search *s) {
  cli_progress_at(&s->job.progress, seconds_of(s, s->first), cli_frames_seconds(&s->stream),
                  "seconds of sound");
  int code = read_block(s);
  if (code == CLI_OK)
    code = cli_job_measure(&s->job);
  if (code == CLI_OK)
    code = check_block(s);
  count_cells(s);
  return code == CLI_OK ? take_block(s) : code;
}

static int run(void *state) {
  search *s = state;
  fputs("effect\twindow\tonset_s\toffset_s\tscore\tnull_mean\tnull_sd\tz\tp_value\tdecision\n", s->rows);
  int code = search_block(s);
  while (code == CLI_OK && !is_last(s)) {
    next_block(s);
    code = search_block(s);
  }
  return code;
}

static int check(void *state, cli_check *check) {
  const search *s = state;
  *check = (cli_check){.measure = "rows that differ", .error = (double)s->differences};
  return CLI_OK;
}

/* ---- report ---- */

static void print_hit(cli_json *json, const search *s, const davit_detect_hit *d) {
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

static void report(cli_json *json, const void *state) {
  const search *s = state;
  cli_json_real(json, "seconds_features", s->stream.seconds + s->effect_seconds);
  cli_json_integer(json, "frames", s->first + s->count);
  cli_json_integer(json, "windows", s->window + s->windows);
  cli_json_open_array(json, "effects");
  for (int e = 0; e < s->paths.count; e++)
    cli_json_string(json, NULL, s->effects[e].name);
  cli_json_close_array(json);
}

static void json(cli_json *json, const void *state) {
  const search *s = state;
  cli_json_open_array(json, "hits");
  for (int64_t i = 0; i < s->hit_count; i++)
    print_hit(json, s, &s->hits[i]);
  cli_json_close_array(json);
}

/* ---- command ---- */

static void set_defaults(void *state) {
  search *s = state;
  s->sound = cli_sound_defaults;
  (void)davit_detect_defaults(&s->options);
}

static double or_zero(double given) {
  return given > 0 ? given : DAVIT_DETECT_ZERO;
}

/* Checks what depends on several options. */
static int check_options(search *s) {
  davit_detect_options *o = &s->options;
  o->threshold = or_zero(o->threshold);
  o->alpha = or_zero(o->alpha);
  o->coverage = or_zero(o->coverage);
  if (!cli_is_given(s->job.command, &s->job.common, "--block") && o->block > o->window)
    o->block = o->window;
  o->seed = s->job.common.seed;
  if (o->hop > o->window)
    return cli_fail(CLI_USAGE, "--hop takes at most the window's %" PRId64 " frames, not %" PRId64, o->window,
                    o->hop);
  if (o->block > o->window)
    return cli_fail(CLI_USAGE, "--block takes at most the window's %" PRId64 " frames, not %" PRId64,
                    o->window, o->block);
  if (o->round && o->gap_penalty > floor(o->gap_penalty))
    return cli_fail(CLI_USAGE, "--gap-penalty takes a whole number when --round is given");
  return CLI_OK;
}

static int load(void *state) {
  search *s = state;
  s->job.rate.unit = CLI_GCUPS;
  int code = check_options(s);
  if (code == CLI_OK)
    code = cli_frames_open(s->path, &s->sound, &s->stream);
  if (code == CLI_OK)
    code = load_effects(s);
  return code == CLI_OK ? make_block(s) : code;
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

static void release(void *state) {
  search *s = state;
  cli_frames_close(&s->stream);
  for (int e = 0; s->effects && e < s->paths.count; e++)
    cli_array_free(&s->effects[e].features);
  if (s->rows)
    fclose(s->rows);
  free(s->hits);
  davit_detector_destroy(s->detector);
}

const cli_command cli_command_detect = {
    .name = "detect",
    .summary = "effects in a stream of sound",
    .description = "Searches each effect in STREAM; both are sound or both feature vectors. Prints a row for "
                   "each window and effect: effect, window, onset_s, offset_s, score, null_mean, null_sd, z, "
                   "p_value, decision.\n\nSTREAM stands before --effect. For feature vectors --rate and "
                   "--frame only say how long a frame lasts.",
    .examples =
        "davit detect stream.wav --effect door.wav shot.wav --window 50\n"
        "davit detect stream.wav --effect door.wav --window 50 --hop 25 --alpha 0.05 --json -o rows.tsv\n",
    .operands =
        CLI_PLACES(CLI_PLACE(search, path, "STREAM", "sound, or feature vectors (.npy, frames x features)")),
    .options = CLI_OPTIONS(
        CLI_OPTION(LIST, search, paths, "--effect", "E ...", .required = true,
                   .help = "the effects: all arguments up to the next option. Their names are those of the "
                           "files, without folder and ending; the second effect of a name is NAME#2"),
        CLI_OPTION(OUTPUT, search, output, "-o", "FILE", .value = "-", .otherwise = "standard output",
                   .help = "write the rows there; with --json, rows are written only to a file"),
        CLI_OPTION(WHOLE, search, options.window, "--window", "W", .minimum = 1,
                   .maximum = DAVIT_DETECT_WINDOW_MAXIMUM,
                   .help = "frames of a window; no effect may be longer"),
        CLI_OPTION(WHOLE, search, options.hop, "--hop", "H", .minimum = 1,
                   .maximum = DAVIT_DETECT_WINDOW_MAXIMUM, .otherwise = "the window",
                   .help = "frames from one window to the next, at most a window"),
        CLI_OPTION(REAL, search, options.threshold, "--threshold", "T", .maximum = 100,
                   .help = "a similarity below T counts as -T"),
        CLI_OPTION(REAL, search, options.gap_penalty, "--gap-penalty", "G",
                   .maximum = DAVIT_DETECT_GAP_PENALTY_MAXIMUM, .above = true,
                   .help = "the first frame of a gap costs 100 + G, each further one G"),
        CLI_OPTION(FLAG, search, options.round, "--round", NULL,
                   .help = "round similarities to whole numbers; --gap-penalty must be whole too"),
        CLI_OPTION(WHOLE, search, options.permutations, "--permutations", "R", .minimum = 1,
                   .maximum = DAVIT_DETECT_PERMUTATIONS_MAXIMUM, .help = "size of the null distribution"),
        CLI_OPTION(WHOLE, search, options.block, "--block", "B", .minimum = 1,
                   .maximum = DAVIT_DETECT_WINDOW_MAXIMUM,
                   .help = "frames that stay together in permutations, at most a window"),
        CLI_OPTION(REAL, search, options.alpha, "--alpha", "P", .maximum = 1,
                   .help = "an effect is detected if its p-value is at most P"),
        CLI_OPTION(REAL, search, options.coverage, "--coverage", "C", .maximum = 1,
                   .help = "and its score at least C times 100 for each of its frames"),
        CLI_SOUND_OPTIONS(search)),
    .common = CLI_COMMON_COMPUTE | CLI_COMMON_SEED,
    .state = sizeof(search),
    .defaults = set_defaults,
    .read = load,
    .run = run,
    .work = work,
    .check = check,
    .write = write_rows,
    .json = json,
    .report = report,
    .release = release,
};
