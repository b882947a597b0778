/* SPDX-License-Identifier: Apache-2.0 */
/* davit detect: effects in a stream.
 *
 * Effects that share windows and frames are a group, with a detector of its own; by default each effect is
 * one, and its windows are twice as long as it is. The stream is read once for each length of frame, in
 * blocks, so that it may be longer than memory. With --null window a block ends with a whole window, and
 * rows are those of the whole stream, because orders depend only on the seed, their number and the length
 * of the window. With --null stream a block is what scores are compared with: it has at least BLOCK
 * frames, if the stream has so many, and the next one begins a window before its end. Rows are kept until
 * the end (detect_rows.h). Several ranks all read the stream, and search the groups of its blocks in turn. */
#include <davit/detect.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/cli/detect_search.h"
#include "src/cli/ranks.h"
#include "src/cli/sound_options.h"

/* Size of a block. With --null window its runs take a core a few seconds, and an H200 a tenth of one;
 * progress is reported between blocks. */
enum {
  BLOCK = 1 << 16,       /* frames, and */
  BLOCK_BYTES = 1 << 28, /* of features, or one window */
  RUNS = 1 << 24,        /* of all windows and effects, or of */
  FEWEST = 32,           /* windows: fewer would not fill a CPU's vectors */
  WINDOW_EFFECTS = 2,    /* effects that a window of one effect has room for */
  STREAM_EFFECTS = 8,    /* and a stream that an effect can be compared with */
  SHARED_WINDOW = 200,
  MOST_A_MINUTE = 5, /* hits by chance; an effect with more is too short for its hits to mean much */
  ORDERS = 100       /* default of --permutations with --null window */
};

/* ---- plan ---- */

static void make_groups(detect_search *s) {
  const bool shared = detect_is_shared(s);
  s->group_count = shared ? 1 : s->paths.count;
  for (int g = 0; g < s->group_count; g++) {
    const int64_t fitting = dvt_at_least(WINDOW_EFFECTS * s->span[g], s->patterns[g].frames),
                  window = shared ? s->options.window : dvt_at_most(fitting, DAVIT_DETECT_WINDOW_MAXIMUM);
    s->groups[g] = (detect_group){.first = g,
                                  .count = shared ? s->paths.count : 1,
                                  .window = window,
                                  .hop = shared ? (s->options.hop ? s->options.hop : window) : s->span[g],
                                  .frame = s->frame[g]};
  }
}

/* Hits of an effect in a minute of a stream without it: its windows, of which those that overlap count as one. */
static double chance_a_minute(const detect_search *s, int e) {
  const detect_group *g = &s->groups[detect_is_shared(s) ? 0 : e];
  const double step_s = (double)dvt_at_least(g->hop, s->span[e]) * s->effects[e].frame_s;
  return s->rows.fdr > 0 ? 0 : 60 / step_s * detect_rows_chance(&s->rows);
}

/* Effects that these options cannot find, or hardly, and those that they often find by chance. */
static void note_effects(detect_search *s) {
  const bool by_window = s->options.null == DAVIT_DETECT_NULL_WINDOW;
  const int64_t fewest = by_window ? 4 * s->options.block : CLI_FRAMES_SUITED;
  const double lowest = 1 / (double)(s->options.permutations + 1);
  for (int e = 0; e < s->paths.count; e++) {
    s->effects[e].frame_s = (double)s->frame[e] / s->sound.rate;
    if (s->span[e] < fewest)
      s->effects[e].notes |= DETECT_SHORT;
    if (s->rows.fdr <= 0 && s->rows.alpha < lowest)
      s->effects[e].notes |= DETECT_ALPHA;
    if (chance_a_minute(s, e) > (double)MOST_A_MINUTE)
      s->effects[e].notes |= DETECT_BRIEF;
  }
}

/* ---- blocks ---- */

/* Windows of a block: as many as it has room for; fewer where that is so much work that progress would be
 * seldom. */
static int64_t choose_step(const detect_search *s, const detect_group *g, int64_t block) {
  const int64_t beyond = g->window < block ? block - g->window : 0, fitting = 1 + beyond / g->hop,
                worked = RUNS / ((s->options.permutations + 1) * s->paths.count) / FEWEST * FEWEST,
                most = worked > FEWEST ? worked : FEWEST;
  return fitting < most ? fitting : most;
}

static void choose_block(detect_search *s) {
  const int64_t block = dvt_at_most(BLOCK, BLOCK_BYTES / s->stream.width / (int64_t)sizeof *s->frames);
  const detect_group *g = s->groups;
  const int64_t longest = detect_longest_window(s);
  if (s->options.null == DAVIT_DETECT_NULL_WINDOW) {
    const int64_t step = choose_step(s, g, block);
    s->moved = step * g->hop;
    s->part = g->window + s->moved - g->hop;
    s->capacity = s->part + 1;
  } else {
    s->moved = dvt_at_least(block, longest);
    s->moved = detect_is_shared(s) ? dvt_divide_up(s->moved, g->hop) * g->hop : s->moved;
    s->part = detect_is_shared(s) ? longest + s->moved - g->hop : longest + s->moved;
    s->capacity = s->part + s->moved + 1;
  }
  const int64_t most = cli_frames_most(&s->stream);
  s->capacity = most < s->capacity ? most + 1 : s->capacity;
  s->part = dvt_at_most(s->part, s->capacity - 1);
}

static int make_block(detect_search *s) {
  int64_t most = 0;
  choose_block(s);
  for (int k = 0; k < s->group_count; k++) {
    const detect_group *g = &s->groups[k];
    const int64_t beyond = s->capacity - g->window;
    most = dvt_at_least(most, (beyond > 0 ? 1 + dvt_divide_up(beyond, g->hop) : 1) * g->count);
  }
  CLI_ROOM(&s->job, s->frames, s->capacity * s->stream.width);
  CLI_ROOM(&s->job, s->found, most);
  CLI_ROOM(&s->job, s->right, s->job.common.check ? most : 0);
  return CLI_OK;
}

/* Reads one frame more than a block has, to know whether the block is the last. */
static int read_block(detect_search *s) {
  int64_t got = 0;
  const int code = detect_copies_read(s, s->capacity - s->held, s->frames + s->held * s->stream.width, &got);
  s->held += got;
  s->count = s->held < s->capacity ? s->held : s->part;
  return code;
}

static bool is_last(const detect_search *s) {
  return s->held < s->capacity;
}

/* ---- work ---- */

static bool same(double a, double b) {
  return a <= b && a >= b;
}

static bool alike(const davit_detect_hit *a, const davit_detect_hit *b) {
  return a->window == b->window && a->effect == b->effect && a->onset == b->onset && a->offset == b->offset &&
         same(a->score, b->score) && same(a->null_mean, b->null_mean) && same(a->null_sd, b->null_sd) &&
         same(a->z, b->z) && same(a->p_value, b->p_value) && same(a->level_db, b->level_db) &&
         a->detected == b->detected;
}

static int check_block(detect_search *s) {
  if (!s->job.common.check)
    return CLI_OK;
  CLI_TRY(cli_status(detect_by_reference(s, s->right)));
  for (int64_t i = 0; i < s->windows * s->at->count; i++)
    s->differences += !alike(&s->found[i], &s->right[i]);
  return CLI_OK;
}

static double seconds_of(const detect_search *s, int64_t frames) {
  return (double)frames * (double)s->stream.options.frame / s->sound.rate;
}

/* The rows of the group in the block, with the numbers of the stream. */
static int take_rows(detect_search *s, const detect_group *g) {
  for (int64_t i = 0; i < s->windows * g->count; i++) {
    davit_detect_hit d = s->found[i];
    d.effect += g->first;
    d.window += g->windows;
    d.onset += s->first;
    d.offset += s->first;
    CLI_TRY(detect_rows_add(&s->rows, &d));
  }
  return CLI_OK;
}

/* Those of the next block, which begins before the end of this one, go on. */
static void count_windows(detect_search *s, detect_group *g) {
  const int64_t moved = dvt_divide_up(s->moved, g->hop);
  g->windows += is_last(s) ? s->windows : dvt_at_most(s->windows, moved);
  s->all_windows = dvt_at_least(s->all_windows, g->windows);
}

/* Notes the rows of the group in the block; whether they are this rank's. */
static int begin_turn(detect_search *s, const detect_group *g, bool *mine) {
  const int64_t turn = s->turn_count;
  *mine = turn % cli_ranks_count() == cli_ranks_rank();
  if (!cli_ranks_several())
    return CLI_OK;
  if (!dvt_grow(&s->turns, &s->turn_room, turn + 1, 64, sizeof *s->turns))
    return cli_status(DAVIT_OUT_OF_HOST_MEMORY);
  s->turns[s->turn_count++] = s->windows * g->count;
  return CLI_OK;
}

static int search_windows(detect_search *s, const detect_group *g) {
  CLI_TRY(detect_search_block(s));
  CLI_TRY(check_block(s));
  CLI_TRY(detect_copies_find(s));
  return take_rows(s, g);
}

static int search_group(detect_search *s, detect_group *g) {
  bool mine = true;
  detect_count_block(s, g);
  CLI_TRY(begin_turn(s, g, &mine));
  CLI_TRY(mine ? search_windows(s, g) : detect_rows_skip(&s->rows, s->windows * g->count));
  count_windows(s, g);
  return CLI_OK;
}

static void note_levels(detect_search *s) {
  for (int64_t i = 0; i < s->count; i++) {
    double square = 0;
    for (int k = 0; k < s->stream.width; k++)
      square += pow((double)s->frames[i * s->stream.width + k], 2);
    detect_rows_level(&s->rows, seconds_of(s, s->first + i), (float)sqrt(square));
  }
  s->rows.length_s = fmax(s->rows.length_s, seconds_of(s, s->first + s->count));
}

static int search_block(detect_search *s) {
  cli_progress_at(&s->job.progress, seconds_of(s, s->first), cli_frames_seconds(&s->stream),
                  "seconds of sound");
  CLI_TRY(read_block(s));
  s->block = s->frames;
  if (s->picture.path)
    note_levels(s);
  for (int k = 0; k < s->group_count; k++)
    if (s->groups[k].frame == s->stream.options.frame)
      CLI_TRY(search_group(s, &s->groups[k]));
  return CLI_OK;
}

/* The stream in frames of one length. */
static int search_stream(detect_search *s) {
  s->held = s->first = 0;
  CLI_TRY(detect_copies_restart(s));
  CLI_TRY(search_block(s));
  while (!is_last(s)) {
    detect_copies_forget(s, s->moved);
    detect_forget(s, s->moved);
    CLI_TRY(search_block(s));
  }
  s->all_frames = s->first + s->count;
  return CLI_OK;
}

static int open_again(detect_search *s, int64_t frame) {
  davit_features_options sound = s->sound;
  s->stream_seconds += s->stream.seconds;
  cli_frames_close(&s->stream);
  sound.frame = frame;
  return cli_frames_open(s->path, &sound, false, &s->stream);
}

static int set_frame(detect_search *s, int64_t frame) {
  if (s->stream.options.frame != frame)
    CLI_TRY(s->stream.options.frame == 0 ? cli_frames_set_frame(&s->stream, frame) : open_again(s, frame));
  s->stream.options.binning = detect_binning(s, frame);
  return CLI_OK;
}

/* The longest frame that is shorter than `frame`, or 0. */
static int64_t next_frame(const detect_search *s, int64_t frame) {
  int64_t next = 0;
  for (int k = 0; k < s->group_count; k++)
    if (s->groups[k].frame < frame)
      next = dvt_at_least(next, s->groups[k].frame);
  return next;
}

static void note_stream(detect_search *s) {
  for (int e = 0; e < s->paths.count; e++)
    if (s->options.null == DAVIT_DETECT_NULL_STREAM && s->frame[e] == s->stream.options.frame &&
        s->all_frames < STREAM_EFFECTS * s->patterns[e].frames)
      s->effects[e].notes |= DETECT_STREAM;
}

static int run(void *state) {
  detect_search *s = state;
  if (s->live)
    return detect_live_run(s);
  for (int64_t frame = next_frame(s, INT64_MAX); frame > 0; frame = next_frame(s, frame)) {
    CLI_TRY(set_frame(s, frame));
    CLI_TRY(search_stream(s));
    note_stream(s);
  }
  return CLI_OK;
}

/* ---- several ranks ---- */

enum { HITS = 256 }; /* sent at a time */

/* Rows that `rank` has found, from there to rank 0, which takes what is sent even when it can write no more. */
static int pass_rows(detect_search *s, int rank, int64_t row, int64_t count) {
  davit_detect_hit hits[HITS] = {0};
  int code = CLI_OK;
  for (int64_t at = 0; at < count; at += HITS) {
    const int64_t now = dvt_at_most(count - at, HITS);
    if (cli_ranks_lead())
      cli_ranks->receive(rank, (size_t)now * sizeof *hits, hits);
    if (code == CLI_OK)
      code = cli_ranks_lead() ? detect_rows_put(&s->rows, row + at, now, hits)
                              : detect_rows_get(&s->rows, row + at, now, hits);
    if (!cli_ranks_lead())
      cli_ranks->send((size_t)now * sizeof *hits, hits);
  }
  return code;
}

static void note_for_ranks(const detect_search *s) {
  cli_ranks_note(s->stream.width);
  for (int e = 0; e < s->paths.count; e++) {
    const davit_detect_effect *effect = &s->patterns[e];
    const size_t bytes = (size_t)effect->frames * (size_t)s->stream.width * sizeof *effect->features;
    cli_ranks_note(s->frame[e]);
    cli_ranks_note((int64_t)cli_ranks_digest(CLI_RANKS_DIGEST, bytes, effect->features));
  }
}

/* How long the stream is shows when it has been read: a rank with another one would send other rows. */
static int compare_turns(const detect_search *s) {
  cli_ranks_note(s->turn_count);
  for (int64_t turn = 0; turn < s->turn_count; turn++)
    cli_ranks_note(s->turns[turn]);
  return cli_ranks_agree(cli_ranks_compare_notes());
}

/* In the order in which one rank finds them. */
static int gather(void *state) {
  detect_search *s = state;
  const int64_t own = s->differences;
  int code = CLI_OK;
  CLI_TRY(compare_turns(s));
  for (int64_t turn = 0, row = 0; turn < s->turn_count; row += s->turns[turn++]) {
    const int rank = (int)(turn % cli_ranks_count());
    const bool mine = rank > 0 && (cli_ranks_lead() || rank == cli_ranks_rank());
    const int now = mine ? pass_rows(s, rank, row, s->turns[turn]) : CLI_OK;
    code = code == CLI_OK ? now : code;
  }
  CLI_TRY(cli_ranks_agree(code));
  return cli_status(cli_ranks->reduce(DAVIT_SUM, DAVIT_INT64, 1, &own, &s->differences));
}

static int check(void *state, cli_check *check) {
  const detect_search *s = state;
  *check = (cli_check){.measure = "rows that differ", .error = (double)s->differences};
  return CLI_OK;
}

static void warn_of_brief(const detect_search *s) {
  for (int e = 0; e < s->paths.count; e++)
    if (s->effects[e].notes & DETECT_BRIEF)
      cli_remark("%s: %.3g s of sound are so short that chance alone may give %.3g hits a minute at --alpha "
                 "%g; a longer piece of the sound, a lower --alpha or --fdr makes hits more certain",
                 s->effects[e].name, (double)s->span[e] * s->effects[e].frame_s, chance_a_minute(s, e),
                 s->rows.alpha);
}

static void warn(const detect_search *s) {
  static const char *const why[] = {
      "fewer than 8 frames of the effect are loud enough: it may be missed; use a shorter --frame",
      "--alpha is below 1 / (--permutations + 1): nothing can be detected",
      "the stream is shorter than 8 times the effect, too short to compare with; use --null window"};
  for (int e = 0; e < s->paths.count; e++)
    for (int k = 0; k < 3; k++)
      if (s->effects[e].notes >> k & 1)
        cli_remark("%s: %s", s->effects[e].name, why[k]);
  warn_of_brief(s);
}

/* A p-value of 0.01 is met by one in a hundred windows in which nothing is. */
static void say_what_chance_does(const detect_search *s) {
  const detect_rows *r = &s->rows;
  const int64_t hits = r->hits;
  if (hits > 0 && r->fdr > 0)
    cli_remark("%" PRId64 " hit%s; expect up to about %.3g of them by chance (--fdr %g)", hits,
               CLI_PLURAL(hits), detect_rows_by_chance(r), r->fdr);
  else if (hits > 0)
    cli_remark("%" PRId64 " hit%s; expect up to about %.3g by chance alone, in %" PRId64
               " decision%s at --alpha %g; --fdr limits their share",
               hits, CLI_PLURAL(hits), detect_rows_by_chance(r), r->count, CLI_PLURAL(r->count), r->alpha);
}

/* With --fdr, whether p-values can be low enough depends on the number of rows. */
static void warn_of_fdr(const detect_search *s) {
  const detect_rows *r = &s->rows;
  int64_t needed;
  if (!detect_rows_are_too_coarse(r, &needed))
    return;
  for (int e = 0; e < s->paths.count; e++)
    s->effects[e].notes |= DETECT_ALPHA;
  cli_remark("--fdr %g detects nothing: of %" PRId64 " decision%s %" PRId64
             " %s the lowest possible p-value, 1 / (--permutations + 1), but %" PRId64 " would be needed",
             r->fdr, r->count, CLI_PLURAL(r->count), r->ranks[1], r->ranks[1] == 1 ? "has" : "have", needed);
}

static int finish(void *state) {
  detect_search *s = state;
  if (!s->live) {
    warn(s);
    CLI_TRY(detect_rows_decide(&s->rows));
    warn_of_fdr(s);
  }
  say_what_chance_does(s);
  return CLI_OK;
}

/* ---- report ---- */

static void report(cli_json *json, const void *state) {
  const detect_search *s = state;
  cli_json_real(json, "seconds_features", s->stream_seconds + s->stream.seconds + s->effect_seconds);
  cli_json_real(json, "seconds_copies", s->copies.seconds);
  cli_json_real(json, "rate", s->sound.rate);
  cli_json_integer(json, "frames", s->all_frames);
  cli_json_integer(json, "windows", s->all_windows);
  cli_json_integer(json, "decisions", s->rows.count);
  cli_json_real(json, "p_bound", s->rows.p_value);
  cli_json_real(json, "expected_by_chance", detect_rows_by_chance(&s->rows));
  cli_json_open_array(json, "effects");
  for (int e = 0; e < s->paths.count; e++)
    cli_json_string(json, NULL, s->effects[e].name);
  cli_json_close_array(json);
  cli_json_open_array(json, "frame");
  for (int e = 0; e < s->paths.count; e++)
    cli_json_integer(json, NULL, s->frame[e]);
  cli_json_close_array(json);
  cli_json_open_array(json, "notes");
  for (int e = 0; e < s->paths.count; e++)
    cli_json_string(json, NULL, detect_notes(s->effects[e].notes));
  cli_json_close_array(json);
}

static void json(cli_json *json, const void *state) {
  detect_rows_json(json, &((const detect_search *)state)->rows);
}

static bool write_rows(FILE *file, const void *state) {
  const detect_search *s = state;
  return s->live || detect_rows_table(file, &s->rows);
}

static bool write_labels(FILE *file, const void *state) {
  return detect_rows_labels(file, &((const detect_search *)state)->rows);
}

static bool write_picture(FILE *file, const void *state) {
  return detect_rows_picture(file, &((const detect_search *)state)->rows);
}

/* ---- command ---- */

static void set_defaults(void *state) {
  detect_search *s = state;
  const davit_detect_options stream = {.null = DAVIT_DETECT_NULL_STREAM};
  s->sound = cli_sound_defaults;
  s->sound.frame = 0;
  (void)davit_detect_defaults(&s->options);
  s->rows.alpha = s->options.alpha;
  s->rows.speeds = 1;
  s->options.null = stream.null;
  s->options.window = 0;
  s->options.permutations = 999;
}

static double or_zero(double given) {
  return given > 0 ? given : DAVIT_DETECT_ZERO;
}

static int check_windows(detect_search *s) {
  davit_detect_options *o = &s->options;
  const bool by_window = o->null == DAVIT_DETECT_NULL_WINDOW;
  if (o->window == 0 && (o->hop > 0 || by_window))
    o->window = SHARED_WINDOW;
  if (o->window > 0 && o->hop > o->window)
    return cli_fail(CLI_USAGE, "--hop takes at most the window's %" PRId64 " frame%s, not %" PRId64,
                    o->window, CLI_PLURAL(o->window), o->hop);
  if (!cli_job_given(&s->job, "--block") && by_window)
    o->block = dvt_at_most(o->block, o->window);
  if (by_window && o->block > o->window)
    return cli_fail(CLI_USAGE, "--block takes at most the window's %" PRId64 " frame%s, not %" PRId64,
                    o->window, CLI_PLURAL(o->window), o->block);
  return CLI_OK;
}

/* Checks what depends on several options. */
static int check_options(detect_search *s) {
  davit_detect_options *o = &s->options;
  const bool by_window = o->null == DAVIT_DETECT_NULL_WINDOW;
  o->threshold = cli_job_given(&s->job, "--threshold") ? or_zero(o->threshold) : 0;
  o->coverage = cli_job_given(&s->job, "--coverage") ? or_zero(o->coverage) : 0;
  o->alpha = 1; /* decisions are made when all p-values are known */
  o->floor_db = cli_job_given(&s->job, "--floor") ? or_zero(o->floor_db) : 0;
  o->effect_floor_db = cli_job_given(&s->job, "--effect-floor") ? or_zero(o->effect_floor_db) : 0;
  o->seed = s->job.common.seed;
  if (by_window && !cli_job_given(&s->job, "--permutations"))
    o->permutations = ORDERS;
  s->any_binning = !by_window && !cli_job_given(&s->job, "--binning") && !cli_job_given(&s->job, "--frame");
  if (by_window && s->sound.frame == 0)
    s->sound.frame = DAVIT_FEATURES_FRAME;
  if (!by_window && cli_job_given(&s->job, "--block"))
    return cli_fail(CLI_USAGE, "--block needs --null window");
  if (o->round && o->gap_penalty > floor(o->gap_penalty))
    return cli_fail(CLI_USAGE, "--gap-penalty takes a whole number when --round is given");
  return check_windows(s);
}

/* Features that davit computed are powers and their changes. */
static int choose_bands(detect_search *s) {
  davit_detect_options *o = &s->options;
  if (!cli_job_given(&s->job, "--bands") && o->null == DAVIT_DETECT_NULL_STREAM &&
      s->stream.width == DAVIT_FEATURES_WIDTH)
    o->bands = DAVIT_FEATURES_BANDS;
  return 2 * o->bands <= s->stream.width
             ? CLI_OK
             : cli_fail(CLI_USAGE, "--bands takes at most half of the %d feature%s of a frame, not %" PRId64,
                        s->stream.width, CLI_PLURAL(s->stream.width), o->bands);
}

static int load(void *state) {
  detect_search *s = state;
  s->job.rate.unit = CLI_GCUPS;
  CLI_TRY(check_options(s));
  CLI_TRY(cli_frames_open(s->path, &s->sound, detect_may_be_live(s), &s->stream));
  s->live = s->stream.sound && cli_sound_is_live(s->stream.sound);
  CLI_TRY(choose_bands(s));
  if (!cli_job_given(&s->job, "--rate"))
    CLI_TRY(detect_choose_rate(s));
  CLI_TRY(detect_stretch(s));
  CLI_TRY(detect_load_effects(s));
  s->rows.effects = s->effects;
  s->rows.effect_count = s->paths.count;
  s->rows.permutations = s->options.permutations;
  make_groups(s);
  note_effects(s);
  note_for_ranks(s);
  if (s->live) {
    warn(s);
    return detect_live_begin(s);
  }
  CLI_TRY(detect_rows_open(&s->rows));
  CLI_TRY(make_block(s));
  return detect_copies_begin(s);
}

static void release(void *state) {
  detect_search *s = state;
  cli_frames_close(&s->stream);
  for (int e = 0; s->features && e < s->paths.count; e++)
    cli_array_free(&s->features[e]);
  for (int g = 0; g < s->group_count; g++)
    davit_detector_destroy(s->groups[g].detector);
  detect_rows_close(&s->rows);
  detect_copies_release(s);
  free(s->turns);
}

static const cli_choice nulls[] = {
    {"stream", DAVIT_DETECT_NULL_STREAM, "windows drawn from the stream, without the parts that stand out"},
    {"window", DAVIT_DETECT_NULL_WINDOW, "the window itself, with its frames in random order"},
    {0}};

const cli_command cli_command_detect = {
    .name = "detect",
    .summary = "short sounds (effects) in a long recording",
    .description =
        "Searches STREAM for each effect; all are sounds, or all are feature vectors. Prints a row for each "
        "occurrence, or with --all for each window and effect: effect, window, onset_s, offset_s, score, "
        "null_mean, null_sd, z, p_value, decision, level_db, note, correlation.\n\nThe decision is "
        "'detected' once for each occurrence, and 'repeated' for other windows that show the same one. About "
        "one in a hundred windows without an effect has a p-value of at most 0.01; a line on standard error "
        "says how many such hits to expect, and --fdr limits their share. A correlation above 0 marks an "
        "exact copy. The note says why an effect is hard to find (short, alpha, stream), or that it is too "
        "short for its hits to be certain (brief: chance alone is expected to give more than 5 a "
        "minute).\n\nIf STREAM is -, a pipe of WAV or AU sound, rows are printed as soon as they are "
        "certain, and scores are compared with the last two minutes; -o, --json, --labels, --plot, --fdr, "
        "--stretch, --check and --null window read the whole pipe first.\n\nSTREAM stands before --effect. "
        "Sounds are compared at the lowest rate of the files, at most 22050, unless --rate is given. For "
        "feature vectors, --rate and --frame only say how long a frame lasts.",
    .examples = "davit detect stream.wav --effect door.wav shot.wav --labels hits.txt --plot hits.svg\n"
                "davit detect stream.wav --effect door.wav --fdr 0.05 --json -o rows.tsv\n"
                "davit detect stream.wav --effect door.wav --null window --window 50 --hop 25\n",
    .operands = CLI_PLACES(
        CLI_PLACE(detect_search, path, "STREAM", "sound, or feature vectors (.npy, frames x features)")),
    .options = CLI_OPTIONS(
        CLI_OPTION(LIST, detect_search, paths, "--effect", "E ...", .required = true,
                   .help = "the effects: all arguments up to the next option. Each is named after its file, "
                           "without folder and ending; a second one of the same name is NAME#2"),
        CLI_ROWS_OPTION,
        CLI_OPTION(FLAG, detect_search, rows.all, "--all", NULL,
                   .help = "write the rows of all windows, not only the detected ones"),
        CLI_OPTION(FLAG, detect_search, copies.off, "--no-copies", NULL,
                   .help = "do not compare samples to find exact copies that the alignment misses"),
        CLI_OPTION(REAL, detect_search, stretch, "--stretch", "P", .maximum = 20,
                   .help = "also look for effects up to P percent slower or faster, named NAME@SPEED"),
        CLI_OPTION(OUTPUT, detect_search, labels, "--labels", "FILE", .write = write_labels,
                   .help = "write the hits as labels for Audacity"),
        CLI_OPTION(OUTPUT, detect_search, picture, "--plot", "FILE", .write = write_picture,
                   .help = "draw the stream's level, the scores and the hits (SVG)"),
        CLI_OPTION(CHOICE, detect_search, options.null, "--null", "WHAT", .choices = nulls, .value = "stream",
                   .help = "what a score is compared with"),
        CLI_OPTION(WHOLE, detect_search, options.window, "--window", "W", .minimum = 1,
                   .maximum = DAVIT_DETECT_WINDOW_MAXIMUM,
                   .otherwise = "twice the effect, or 200 with --null window or --hop",
                   .help = "frames in a window, for all effects; no effect may be longer"),
        CLI_OPTION(WHOLE, detect_search, options.hop, "--hop", "H", .minimum = 1,
                   .maximum = DAVIT_DETECT_WINDOW_MAXIMUM,
                   .otherwise = "the length of the effect, or a window with --null window or --window",
                   .help = "frames from one window to the next, at most a window"),
        CLI_OPTION(WHOLE, detect_search, options.bands, "--bands", "B", .maximum = 1 << 19,
                   .otherwise = "31 for frames of 62 features; otherwise, or with --null window, 0",
                   .help = "the first B features are powers and the next B their changes: compare what is "
                           "unusual in the stream; 0: compare the features as they are"),
        CLI_OPTION(REAL, detect_search, options.threshold, "--threshold", "T", .maximum = 100,
                   .otherwise = "30, or 50 without bands", .help = "a similarity below T counts as -T"),
        CLI_OPTION(REAL, detect_search, options.gap_penalty, "--gap-penalty", "G",
                   .maximum = DAVIT_DETECT_GAP_PENALTY_MAXIMUM, .above = true,
                   .help = "the first frame of a gap costs 100 + G, each further one G"),
        CLI_OPTION(FLAG, detect_search, options.round, "--round", NULL,
                   .help = "round similarities to whole numbers; --gap-penalty must be whole too"),
        CLI_OPTION(WHOLE, detect_search, options.permutations, "--permutations", "R", .minimum = 1,
                   .maximum = DAVIT_DETECT_PERMUTATIONS_MAXIMUM,
                   .otherwise = "999, or 100 with --null window", .help = "size of the null distribution"),
        CLI_OPTION(WHOLE, detect_search, options.block, "--block", "B", .minimum = 1,
                   .maximum = DAVIT_DETECT_WINDOW_MAXIMUM,
                   .help =
                       "with --null window: frames that stay together in random orders, at most a window"),
        CLI_OPTION(REAL, detect_search, options.floor_db, "--floor", "DB", .maximum = 1000,
                   .otherwise = "40, or none with --null window",
                   .help = "frames more than DB decibels below the stream's mean level match nothing"),
        CLI_OPTION(REAL, detect_search, options.effect_floor_db, "--effect-floor", "DB", .maximum = 1000,
                   .otherwise = "25, or none with --null window",
                   .help = "likewise for frames of an effect and its mean level"),
        CLI_OPTION(REAL, detect_search, rows.alpha, "--alpha", "P", .maximum = 1,
                   .help = "an effect is detected if its p-value is at most P"),
        CLI_OPTION(REAL, detect_search, rows.fdr, "--fdr", "Q", .maximum = 1, .above = true,
                   .excludes = "--alpha", .otherwise = "--alpha decides",
                   .help = "instead of --alpha: the expected share of false detections is at most Q, over "
                           "all windows and effects, by the rule of Benjamini and Hochberg"),
        CLI_OPTION(FLAG, detect_search, rows.any_dependence, "--any-dependence", NULL, .needs = "--fdr",
                   .help = "with --fdr: by the rule of Benjamini and Yekutieli, for any dependence between "
                           "windows and effects"),
        CLI_OPTION(REAL, detect_search, options.coverage, "--coverage", "C", .maximum = 1,
                   .otherwise = "0.2, or 0.3 without bands",
                   .help =
                       "an effect is detected only if it scores at least C times its score against itself"),
        CLI_SOUND_OPTIONS(detect_search,
                          .otherwise = "1024, halved until 8 frames of the effect are loud enough, down to "
                                       "64, and then --binning is hard; 1024 with --null window")),
    .common = CLI_COMMON_COMPUTE | CLI_COMMON_SEED,
    .state = sizeof(detect_search),
    .defaults = set_defaults,
    .read = load,
    .run = run,
    .work = detect_work,
    .divides = cli_divides,
    .gather = gather,
    .check = check,
    .finish = finish,
    .write = write_rows,
    .json = json,
    .report = report,
    .release = release,
};
