/* SPDX-License-Identifier: Apache-2.0 */
/* Many pairs on a GPU without one: the kernels thread by thread, what launches them, and the batches that lanes make,
 * against the form for the host, which test_align_pairs.c compares with oracles. */
#include "tests/emulator.h"
/* The sources under test. */
#define dvt_pairs_stream emulated_pairs_stream
#include "offload/align_pairs_stream.c"
#undef NAME
#define dvt_team emulated_team /* the type; the emulator has a function of that name */
#define dvt_pairs_has_device_form emulated_pairs_has_device_form
#define dvt_pairs_device_seconds emulated_pairs_device_seconds
#define dvt_pairs_device_block emulated_pairs_device_block
#define dvt_pairs_on_devices emulated_pairs_on_devices
#define run run_batches
#include "src/align_pairs_device.c"
#undef run
#undef dvt_team
#include "tests/alignments.h"
#include "tests/support.h"

#define ENDS(name)                                                                                           \
  static void run_##name(void *arguments) {                                                                  \
    const dvt_argument *a = arguments;                                                                       \
    name(emulator_pointer(a), (int64_t)a[1], emulator_pointer(a + 2), emulator_pointer(a + 3),               \
         emulator_pointer(a + 4), (int64_t)a[5], emulator_pointer(a + 6), emulator_pointer(a + 7),           \
         emulator_pointer(a + 8), (int64_t)a[9], (int64_t)a[10], (int64_t)a[11], (int64_t)a[12],             \
         (int64_t)a[13]);                                                                                    \
  }
#define COLUMNS_OF(name)                                                                                     \
  static void run_##name(void *arguments) {                                                                  \
    const dvt_argument *a = arguments;                                                                       \
    name(emulator_pointer(a), (int64_t)a[1], emulator_pointer(a + 2), emulator_pointer(a + 3),               \
         emulator_pointer(a + 4), (int64_t)a[5], emulator_pointer(a + 6), emulator_pointer(a + 7),           \
         emulator_pointer(a + 8), (int64_t)a[9], emulator_pointer(a + 10), (int64_t)a[11],                   \
         emulator_pointer(a + 12), (int64_t)a[13], (int64_t)a[14], (int64_t)a[15], (int64_t)a[16]);          \
  }
#define BODIES(words)                                                                                        \
  ENDS(local_scores_##words)                                                                                 \
  ENDS(local_ends_##words)                                                                                   \
  ENDS(local_begins_##words)                                                                                 \
  ENDS(edge_ends_##words)                                                                                    \
  ENDS(edge_begins_##words)                                                                                  \
  ENDS(extension_ends_##words)                                                                               \
  COLUMNS_OF(find_columns_##words)
BODIES(two)
BODIES(one)

#define DROP_OF(name)                                                                                        \
  static void run_##name(void *arguments) {                                                                  \
    const dvt_argument *a = arguments;                                                                       \
    name(emulator_pointer(a), emulator_pointer(a + 1), emulator_pointer(a + 2), (int64_t)a[3],               \
         emulator_pointer(a + 4), emulator_pointer(a + 5), (int64_t)a[6], (int64_t)a[7], (int64_t)a[8],      \
         emulator_pointer(a + 9), (int64_t)a[10], emulator_pointer(a + 11));                                 \
  }
DROP_OF(drop_ends)
DROP_OF(drop_columns)

static void run_move_strings(void *arguments) {
  const dvt_argument *a = arguments;
  move_strings(emulator_pointer(a), emulator_pointer(a + 1), emulator_pointer(a + 2), emulator_pointer(a + 3),
               emulator_pointer(a + 4), (int64_t)a[5], (int64_t)a[6], emulator_pointer(a + 7));
}

#define ROWS_OF(words)                                                                                       \
  {"pairs_local_scores_" #words, run_local_scores_##words},                                                  \
      {"pairs_local_ends_" #words, run_local_ends_##words},                                                  \
      {"pairs_local_begins_" #words, run_local_begins_##words},                                              \
      {"pairs_edge_ends_" #words, run_edge_ends_##words},                                                    \
      {"pairs_edge_begins_" #words, run_edge_begins_##words},                                                \
      {"pairs_extension_ends_" #words, run_extension_ends_##words}, {                                        \
    "pairs_columns_" #words, run_find_columns_##words                                                        \
  }
const emulator_kernel emulator_kernels[] = {ROWS_OF(two),
                                            ROWS_OF(one),
                                            {"pairs_drop_ends", run_drop_ends},
                                            {"pairs_drop_columns", run_drop_columns},
                                            {"pairs_move_strings", run_move_strings}};

/* ---- problems ---- */

typedef struct pair {
  sequence q, t;
} pair;

static davit_align_sequences sequences_of(int64_t count, const pair *pairs, bool queries) {
  int64_t *offsets = kept((size_t)(count + 1) * sizeof *offsets);
  offsets[0] = 0;
  for (int64_t k = 0; k < count; k++)
    offsets[k + 1] = offsets[k] + (queries ? pairs[k].q : pairs[k].t).length;
  uint8_t *symbols = kept((size_t)offsets[count] + 1);
  for (int64_t k = 0; k < count; k++)
    memcpy(symbols + offsets[k], (queries ? pairs[k].q : pairs[k].t).symbols,
           (size_t)(queries ? pairs[k].q : pairs[k].t).length);
  return (davit_align_sequences){count, offsets, symbols};
}

/* A site whose scratch memory is checked and freed when more is asked for. */
static bool is_used;

static davit_status workspace_again(const dvt_site *site, size_t bytes, void **pointer) {
  if (is_used)
    assert_true(emulator_free());
  is_used = true;
  return emulated_workspace(site, bytes, pointer);
}

static void end_workspace(void) {
  if (is_used)
    assert_true(emulator_free());
  is_used = false;
}

typedef struct answer {
  davit_align_result *results;
  dvt_pairs_text *texts;
} answer;

static dvt_pairs problem_of(const davit_align_scoring *scoring, const davit_align_sequences *queries,
                            const davit_align_sequences *targets, const davit_align_pairs_options *options,
                            int full, int64_t block) {
  dvt_pairs p = {.scoring = *scoring,
                 .queries = queries,
                 .targets = targets,
                 .mode = options->mode,
                 .band = options->band,
                 .x_drop = options->x_drop,
                 .full = full > 0,
                 .strings = full > 1,
                 .block = block};
  for (int k = 0; k < scoring->symbols * scoring->symbols; k++) {
    p.largest = dvt_at_least(p.largest, scoring->matrix[k]);
    p.smallest = dvt_at_least(p.smallest, -scoring->matrix[k]);
    p.likes[k % scoring->symbols] = (int8_t)dvt_at_least(p.likes[k % scoring->symbols], scoring->matrix[k]);
  }
  p.scoring.gap_extend = (int32_t)dvt_at_most(scoring->gap_extend, scoring->gap_open);
  p.costs = (dvt_pair_costs){p.scoring.gap_open, p.scoring.gap_extend, p.likes};
  return p;
}

static size_t device_bytes = 1 << 28;

static davit_status run_all(dvt_pairs *p) {
  const dvt_site site = {.workspace = workspace_again};
  const int64_t count = p->queries->count;
  device_worker d;
  p->costs.likes = p->likes;
  p->results = p->full ? kept((size_t)(count + 1) * sizeof *p->results) : NULL;
  p->scores = p->full ? NULL : kept((size_t)(count + 1) * sizeof *p->scores);
  p->texts = kept((size_t)(count / p->block + 1) * sizeof *p->texts);
  memset(p->texts, 0, (size_t)(count / p->block + 1) * sizeof *p->texts);
  davit_status status = open_device_worker(&d, p, device_bytes);
  for (int64_t b = 0; b * p->block < count && status == DAVIT_SUCCESS; b++)
    status = run_block(&d, &site, b);
  assert_false(emulator_busy);
  close_device_worker(&d);
  end_workspace();
  return status;
}

static void free_texts(const dvt_pairs *p) {
  for (int64_t b = 0; b * p->block < p->queries->count; b++)
    free(p->texts[b].at);
}

/* Scores alone, stretches, and strings, in blocks of so many pairs. */
static void expect_as_host(const davit_align_scoring *scoring, int64_t count, const pair *pairs,
                           davit_align_pairs_options options, int64_t block) {
  SCOPE;
  const davit_align_sequences queries = sequences_of(count, pairs, true),
                              targets = sequences_of(count, pairs, false);
  davit_align_result *wanted = kept((size_t)count * sizeof *wanted + 1);
  char *cigars;
  CHECK(davit_align_pairs(scoring, &queries, &targets, NULL, wanted, &cigars, &options));
  for (int full = 0; full < 3; full++) {
    dvt_pairs p = problem_of(scoring, &queries, &targets, &options, full, block);
    CHECK(run_all(&p));
    for (int64_t k = 0; k < count; k++) {
      davit_align_result is = full ? p.results[k] : (davit_align_result){.score = p.scores[k]},
                         wish = wanted[k];
      if (full == 2 && strcmp(p.texts[k / block].at + is.cigar, cigars + wish.cigar) != 0)
        fail_msg("mode %d, band %lld, X %lld, pair %lld (%lld x %lld): %s, not %s", (int)options.mode,
                 (long long)options.band, (long long)options.x_drop, (long long)k,
                 (long long)pairs[k].q.length, (long long)pairs[k].t.length, p.texts[k / block].at + is.cigar,
                 cigars + wish.cigar);
      is.cigar = wish.cigar = 0;
      if (full == 0)
        wish = (davit_align_result){.score = wish.score};
      if (memcmp(&is, &wish, sizeof is) != 0)
        fail_msg(
            "mode %d, band %lld, X %lld, full %d, pair %lld (%lld x %lld): %d %d %d at %lld %lld %lld %lld, "
            "not %d %d %d at %lld %lld %lld %lld",
            (int)options.mode, (long long)options.band, (long long)options.x_drop, full, (long long)k,
            (long long)pairs[k].q.length, (long long)pairs[k].t.length, is.score, is.banded, is.dropped,
            (long long)is.query_begin, (long long)is.query_end, (long long)is.target_begin,
            (long long)is.target_end, wish.score, wish.banded, wish.dropped, (long long)wish.query_begin,
            (long long)wish.query_end, (long long)wish.target_begin, (long long)wish.target_end);
    }
    free_texts(&p);
  }
  davit_free(cigars);
}

static void expect_in_all_modes(const davit_align_scoring *scoring, int64_t count, const pair *pairs,
                                int64_t band, int64_t block) {
  for (davit_align_mode mode = DAVIT_ALIGN_LOCAL; mode <= DAVIT_ALIGN_EXTENSION; mode++)
    expect_as_host(scoring, count, pairs, (davit_align_pairs_options){.mode = mode, .band = band}, block);
}

/* One in three is random; lengths from 0 on. */
static void fill_pairs(int64_t count, int m, int n, int symbols, uint64_t *random, pair *pairs) {
  for (int64_t k = 0; k < count; k++) {
    pairs[k].q = random_sequence(random_below(random, m + 1), symbols, random);
    pairs[k].t = k % 3 ? relative_of(&pairs[k].q, symbols, random)
                       : random_sequence(random_below(random, n + 1), symbols, random);
  }
}

/* ---- cases ---- */

static const int32_t gaps[][2] = {{3, 1}, {2, 2}, {1, 5}, {7, 2}, {100, 30}, {11, 1}};

CASE(test_small_pairs) {
  static const int alphabets[] = {1, 2, 4, 5, 6, 20, 31, 32};
  uint64_t random = 51;
  int8_t matrix[SQUARE];
  pair pairs[150];
  for (int repeat = 0; repeat < scaled(120); repeat++) {
    const int symbols = alphabets[repeat % COUNT(alphabets)], count = 1 + random_below(&random, COUNT(pairs));
    fill_random(symbols, -5, 5, &random, matrix);
    const int32_t *gap = gaps[repeat % COUNT(gaps)];
    const davit_align_scoring scoring = scoring_of(symbols, matrix, gap[0], gap[1]);
    fill_pairs(count, repeat % 2 ? 9 : 40, 50, symbols, &random, pairs);
    expect_in_all_modes(&scoring, count, pairs, 0, repeat % 3 ? COUNT(pairs) : 40);
  }
}

/* Rows around those of a strip, columns around those of a word, and far from square. */
CASE(test_lengths) {
  static const int lengths[] = {1, 3, 4, 15, 16, 17, 31, 32, 33, 48, 49, 150};
  uint64_t random = 52;
  const davit_align_scoring scoring = protein(12, 1);
  pair pairs[COUNT(lengths) * COUNT(lengths) + 2];
  int count = 0;
  for (int i = 0; i < COUNT(lengths); i++)
    for (int j = 0; j < COUNT(lengths); j++, count++) {
      pairs[count].q = random_sequence(lengths[i], 20, &random);
      pairs[count].t = random_sequence(lengths[j], 20, &random);
      for (int k = 0; k < lengths[i] && k < lengths[j]; k++)
        pairs[count].t.symbols[lengths[j] - 1 - k] = pairs[count].q.symbols[lengths[i] - 1 - k];
    }
  pairs[count++] = (pair){random_sequence(1, 20, &random), random_sequence(1100, 20, &random)};
  pairs[count++] = (pair){random_sequence(1100, 20, &random), random_sequence(1, 20, &random)};
  expect_in_all_modes(&scoring, count, pairs, 0, COUNT(pairs));
  expect_in_all_modes(&scoring, count, pairs, 3, COUNT(pairs));
}

CASE(test_bands) {
  static const int64_t bands[] = {1, 2, 5, 17, 100, INT64_MAX};
  uint64_t random = 53;
  int8_t matrix[SQUARE];
  pair pairs[70];
  for (int repeat = 0; repeat < scaled(120); repeat++) {
    const int symbols = repeat % 4 ? 4 : 8;
    fill_random(symbols, -4, 4, &random, matrix);
    const int32_t *gap = gaps[repeat % COUNT(gaps)];
    const davit_align_scoring scoring = scoring_of(symbols, matrix, gap[0], gap[1]);
    fill_pairs(COUNT(pairs), repeat % 3 ? 12 : 60, 80, symbols, &random, pairs);
    expect_in_all_modes(&scoring, COUNT(pairs), pairs, bands[repeat / 6 % COUNT(bands)], COUNT(pairs));
  }
}

/* Scores, costs of gaps, and costs in a band that 16 bits do not hold; together with pairs for which they do. */
CASE(test_wide) {
  uint64_t random = 54;
  int8_t matrix[SQUARE];
  pair pairs[40];
  static const int32_t dear[][2] = {{11, 1}, {999, 7}, {1001, 1}, {20000, 20000}, {300000000, 3}};
  fill_diagonal(4, 127, -128, matrix);
  for (int repeat = 0; repeat < COUNT(dear); repeat++) {
    const davit_align_scoring scoring = scoring_of(4, matrix, dear[repeat][0], dear[repeat][1]);
    fill_pairs(COUNT(pairs), repeat == 0 ? 140 : 60, 200, 4, &random, pairs);
    pairs[1].q = pairs[1].t = random_sequence(300, 4, &random);
    expect_in_all_modes(&scoring, COUNT(pairs), pairs, 0, COUNT(pairs));
    expect_in_all_modes(&scoring, COUNT(pairs), pairs, 9, COUNT(pairs));
  }
}

/* N matches nothing, not even itself. */
CASE(test_letters_that_match_nothing) {
  uint64_t random = 55;
  int8_t matrix[SQUARE];
  pair pairs[20];
  fill_diagonal(5, 2, -3, matrix);
  matrix[24] = -3;
  const davit_align_scoring scoring = scoring_of(5, matrix, 7, 2);
  for (int k = 0; k < COUNT(pairs); k++) {
    pairs[k].q = random_sequence(60, 5, &random);
    pairs[k].t = relative_of(&pairs[k].q, 5, &random);
    if (k < 3)
      memset(pairs[k].q.symbols, 4, 60);
  }
  expect_in_all_modes(&scoring, COUNT(pairs), pairs, 0, COUNT(pairs));
}

/* Pairs that the device does not take, between those that it takes: empty ones, long ones. */
CASE(test_pairs_for_the_host) {
  uint64_t random = 56;
  const davit_align_scoring scoring = protein(12, 1);
  pair pairs[9];
  fill_pairs(COUNT(pairs), 30, 40, 20, &random, pairs);
  pairs[0].q.length = pairs[4].t.length = pairs[8].q.length = pairs[8].t.length = 0;
  pairs[2].q = random_sequence(300, 20, &random);
  pairs[2].t = relative_of(&pairs[2].q, 20, &random);
  pairs[6] = (pair){random_sequence(2, 20, &random), random_sequence(DVT_PAIRS_LONGEST + 1, 20, &random)};
  expect_in_all_modes(&scoring, COUNT(pairs), pairs, 0, COUNT(pairs));
  expect_in_all_modes(&scoring, COUNT(pairs), pairs, 20, 4);
}

/* Little memory: one team, none; strings in more parts than one. */
CASE(test_little_memory) {
  uint64_t random = 57;
  const davit_align_scoring scoring = protein(12, 1);
  pair pairs[200];
  fill_pairs(COUNT(pairs), 40, 60, 20, &random, pairs);
  for (device_bytes = 1 << 10; device_bytes <= 1 << 24; device_bytes *= 8)
    expect_in_all_modes(&scoring, COUNT(pairs), pairs, 0, COUNT(pairs));
  device_bytes = 1 << 28;
}

/* The sort of many pairs, by lengths that differ. */
CASE(test_order) {
  uint64_t random = 58;
  int8_t matrix[SQUARE];
  fill_diagonal(4, 2, -3, matrix);
  const davit_align_scoring scoring = scoring_of(4, matrix, 7, 2);
  const int count = scaled(3000);
  pair *pairs = kept((size_t)count * sizeof *pairs);
  fill_pairs(count, 12, 12, 4, &random, pairs);
  expect_as_host(&scoring, count, pairs, (davit_align_pairs_options){0}, count);
}

/* ---- extensions with an X-drop ---- */

static davit_align_pairs_options drop_of(int64_t x_drop, int64_t band) {
  return (davit_align_pairs_options){.mode = DAVIT_ALIGN_EXTENSION, .x_drop = x_drop, .band = band};
}

CASE(test_drops) {
  static const int64_t drops[] = {1, 2, 5, 9, 20, 60, 200, 33000}, bands[] = {0, 0, 1, 4, 40};
  uint64_t random = 61;
  int8_t matrix[SQUARE];
  pair pairs[40];
  for (int repeat = 0; repeat < scaled(160); repeat++) {
    const int symbols = repeat % 4 ? 4 : 20;
    fill_random(symbols, -4, 4, &random, matrix);
    for (int k = 0; k < symbols && repeat % 5; k++) /* so that related sequences go on */
      matrix[k * symbols + k] = (int8_t)(2 + repeat % 4);
    const int32_t *gap = gaps[repeat % COUNT(gaps)];
    const davit_align_scoring scoring = scoring_of(symbols, matrix, gap[0], gap[1]);
    fill_pairs(COUNT(pairs), repeat % 3 ? 40 : 100, 60, symbols, &random, pairs);
    expect_as_host(&scoring, COUNT(pairs), pairs,
                   drop_of(drops[repeat % COUNT(drops)], bands[repeat / 8 % COUNT(bands)]),
                   repeat % 2 ? 25 : COUNT(pairs));
  }
}

/* Far more rows than have slots, of which few count at a time; and of one symbol, all of which count: the host's. */
CASE(test_long_drops) {
  uint64_t random = 62;
  int8_t matrix[SQUARE];
  pair pairs[6];
  fill_diagonal(4, 2, -3, matrix);
  const davit_align_scoring scoring = scoring_of(4, matrix, 5, 2);
  for (int k = 0; k < COUNT(pairs); k++) {
    pairs[k].q = random_sequence(1 + random_below(&random, 500), 4, &random);
    pairs[k].t = relative_of(&pairs[k].q, 4, &random);
    if (k % 3 == 0)
      memset(pairs[k].q.symbols, 0, (size_t)pairs[k].q.length);
    if (k % 6 == 0)
      memset(pairs[k].t.symbols, 0, (size_t)pairs[k].t.length);
  }
  expect_as_host(&scoring, COUNT(pairs), pairs, drop_of(150, 0), COUNT(pairs));
}

/* Two ways that lead away from each other, each by a gap, 80 matches, a gap and 80 matches, to more rows than have slots;
 * from there on one of them matches, that of the query's first rows or of its last. */
CASE(test_too_many_rows) {
  uint64_t random = 63;
  int8_t matrix[SQUARE];
  pair pairs[2];
  fill_diagonal(20, 5, 0, matrix);
  const davit_align_scoring scoring = scoring_of(20, matrix, 6, 6);
  sequence q = random_sequence(400, 20, &random), t = random_sequence(560, 20, &random);
  memcpy(q.symbols + 240, q.symbols, 80);
  memcpy(t.symbols, q.symbols + 80, 80);
  memcpy(t.symbols + 80, q.symbols, 80);
  memcpy(t.symbols + 240, q.symbols + 80, 80);
  memcpy(t.symbols + 320, q.symbols + 160, 240);
  pairs[0] = (pair){q, t};
  pairs[1] = (pair){t, q};
  expect_as_host(&scoring, COUNT(pairs), pairs, drop_of(520, 0), COUNT(pairs));
}

/* ---- failures ---- */

/* A symbol that the alphabet lacks, anywhere among those that are copied, or among those of pairs for the host. */
CASE(test_foreign_symbols) {
  uint64_t random = 60;
  const davit_align_scoring scoring = protein(12, 1);
  pair pairs[30];
  fill_pairs(COUNT(pairs), 60, 60, 20, &random, pairs);
  pairs[29] = (pair){random_sequence(2, 20, &random), random_sequence(DVT_PAIRS_LONGEST + 1, 20, &random)};
  for (int which = 0; which < 2; which++) {
    const davit_align_sequences all[] = {sequences_of(COUNT(pairs), pairs, true),
                                         sequences_of(COUNT(pairs), pairs, false)};
    for (int64_t at = 0; at < all[which].offsets[COUNT(pairs)]; at += at < 600 ? 1 : 3001) {
      uint8_t *symbol = (uint8_t *)(uintptr_t)&all[which].symbols[at], before = *symbol;
      dvt_pairs p = problem_of(&scoring, &all[0], &all[1], &(davit_align_pairs_options){0}, at % 3, 29);
      *symbol = (uint8_t)(scoring.symbols + at % 9 * 20);
      assert_int_equal(run_all(&p), DAVIT_INVALID_ARGUMENT);
      free_texts(&p);
      *symbol = before;
    }
  }
}

static davit_status story(void *argument) {
  dvt_pairs p = *(dvt_pairs *)argument;
  const davit_status status = run_all(&p);
  free_texts(&p);
  return status;
}

static pair some_pairs[20];

static dvt_pairs make_story(const davit_align_scoring *scoring, davit_align_sequences *queries,
                            davit_align_sequences *targets) {
  uint64_t random = 59;
  fill_pairs(COUNT(some_pairs), 30, 40, 20, &random, some_pairs);
  some_pairs[3].q.length = 0;
  *queries = sequences_of(COUNT(some_pairs), some_pairs, true);
  *targets = sequences_of(COUNT(some_pairs), some_pairs, false);
  return problem_of(scoring, queries, targets, &(davit_align_pairs_options){0}, 2, COUNT(some_pairs));
}

/* Memory of the host is refused in turn. */
CASE(test_failures) {
  const davit_align_scoring scoring = protein(12, 1);
  davit_align_sequences queries, targets;
  dvt_pairs p = make_story(&scoring, &queries, &targets);
  fail_everywhere(story, &p);
}

/* Each launch is refused in turn; nothing is running when the call returns. */
CASE(test_refused_launches) {
  const davit_align_scoring scoring = protein(12, 1);
  davit_align_sequences queries, targets;
  dvt_pairs p = make_story(&scoring, &queries, &targets);
  int refused = 0;
  for (;; refused++) {
    emulator_launches = 0;
    emulator_fails_at = refused;
    const davit_status status = story(&p);
    if (status == DAVIT_SUCCESS)
      break;
    assert_int_equal(status, DAVIT_DEVICE_ERROR);
  }
  emulator_fails_at = -1;
  assert_int_equal(refused, 4); /* ends, begins, columns, strings */
}
