/* SPDX-License-Identifier: Apache-2.0 */
/* Extensions of many pairs: without an X-drop against the best of the global alignments of all beginnings; with one
 * against an oracle that keeps whole matrices and leaves out what has dropped, word by word as the header says; long
 * ones in lanes against the plain form, which the oracle has judged. */
#include "tests/align_pairs.h"

static problem extensions_of(const davit_align_scoring *scoring, int64_t count, const pair *pairs,
                             int64_t band, int64_t x_drop) {
  problem p = problem_of(scoring, count, pairs, DAVIT_ALIGN_EXTENSION, band);
  p.options.x_drop = x_drop;
  return p;
}

static void expect_by_every_vector(const problem *p, const wanted *right) {
  for (int variant = 0; next_cpu(variant); variant++)
    expect_pairs(p, right);
}

/* ---- the oracle ---- */

static davit_align_scoring cheaper(const davit_align_scoring *scoring) {
  davit_align_scoring s = *scoring;
  s.gap_extend = s.gap_extend < s.gap_open ? s.gap_extend : s.gap_open;
  return s;
}

static bool is_in_band(const problem *p, const pair *pair, int64_t i, int64_t j) {
  const int64_t apart = pair->t.length - pair->q.length, low = apart < 0 ? apart : 0,
                high = apart > 0 ? apart : 0;
  return p->options.band == 0 || (low - (j - i) <= p->options.band && j - i - high <= p->options.band);
}

static void fill_cell(const davit_align_scoring *s, const pair *pair, int64_t i, int64_t j, matrices *x) {
  int *h = &x->h[i][j], *d = &x->d[i][j], *f = &x->f[i][j];
  *h = i + j == 0 ? 0 : NOTHING;
  *d = j > 0 ? larger(x->d[i][j - 1] - s->gap_extend, x->h[i][j - 1] - s->gap_open) : NOTHING;
  *f = i > 0 ? larger(x->f[i - 1][j] - s->gap_extend, x->h[i - 1][j] - s->gap_open) : NOTHING;
  if (i > 0 && j > 0)
    *h = x->h[i - 1][j - 1] + score_of(s, pair->q.symbols[i - 1], pair->t.symbols[j - 1]);
  *h = larger(*h, larger(*d, *f));
}

static wanted oracle(const problem *p, const pair *pair) {
  const davit_align_scoring s = cheaper(&p->scoring);
  const int64_t m = pair->q.length, n = pair->t.length;
  matrices *x = kept(sizeof *x);
  wanted w = {.result.dropped = 1};
  int best = 0;
  for (int64_t number = 0; number <= m + n; number++) {
    const int before = best;
    for (int64_t i = 0; i <= m; i++) {
      const int64_t j = number - i;
      if (j < 0 || j > n)
        continue;
      fill_cell(&s, pair, i, j, x);
      const bool dropped = p->options.x_drop > 0 && x->h[i][j] < before - p->options.x_drop;
      if (dropped || !is_in_band(p, pair, i, j))
        x->h[i][j] = x->d[i][j] = x->f[i][j] = NOTHING;
      else if (i == m || j == n)
        w.result.dropped = 0;
      w.result.banded = w.result.banded || !is_in_band(p, pair, i, j);
      best = larger(best, x->h[i][j]);
    }
  }
  w.result.score = best;
  for (int64_t j = n; j >= 0; j--)
    for (int64_t i = m; i >= 0; i--)
      if (x->h[i][j] == best) {
        w.result.query_end = i;
        w.result.target_end = j;
      }
  w.cigar = columns_of(&s, pair, &w.result, x);
  return w;
}

static void expect_as_oracle(const problem *p) {
  wanted *right = kept((size_t)(p->count + 1) * sizeof *right);
  for (int64_t k = 0; k < p->count; k++)
    right[k] = oracle(p, &p->pairs[k]);
  expect_by_every_vector(p, right);
}

/* Side by side, and with gap costs that 16 bits do not hold one by one. */
CASE(test_drops) {
  static const int32_t gaps[][2] = {{3, 1}, {2, 2}, {1, 5}, {7, 2}, {11000, 1}, {40000, 33000}};
  static const int64_t drops[] = {1, 2, 3, 5, 9, 20, 60, 33000, INT64_MAX, 0}, bands[] = {0, 0, 1, 4};
  uint64_t random = 71;
  int8_t matrix[SQUARE];
  for (int repeat = 0; repeat < scaled(960); repeat++) {
    const int symbols = repeat % 4 ? 3 : 8, most = repeat % 3 ? MOST : 7;
    fill_random(symbols, -4, 4, &random, matrix);
    for (int k = 0; k < symbols && repeat % 5; k++) /* so that related sequences go on */
      matrix[k * symbols + k] = (int8_t)(2 + repeat % 4);
    const int32_t *gap = gaps[repeat / 10 % COUNT(gaps)];
    const davit_align_scoring scoring = scoring_of(symbols, matrix, gap[0], gap[1]);
    const int64_t count = random_below(&random, 40);
    pair *pairs = random_pairs(count, most, most, symbols, &random);
    for (int64_t k = 0; k < count; k++)
      pairs[k].t.length = pairs[k].t.length < MOST ? pairs[k].t.length : MOST;
    const problem p = extensions_of(&scoring, count, pairs, bands[repeat / 60 % COUNT(bands)],
                                    drops[repeat % COUNT(drops)]);
    expect_as_oracle(&p);
  }
}

/* A drop of just X, and of one more, on every anti-diagonal: matches, a mismatch that costs X, matches. */
CASE(test_edge_of_the_drop) {
  uint64_t random = 72;
  int8_t matrix[SQUARE];
  for (int cost = 1; cost < 20; cost++) {
    fill_diagonal(4, 3, (int8_t)-cost, matrix);
    const davit_align_scoring scoring = scoring_of(4, matrix, 40, 40);
    pair pairs[20];
    for (int k = 0; k < COUNT(pairs); k++) {
      pairs[k].q = random_sequence(30, 4, &random);
      pairs[k].t = sequence_new(30);
      memcpy(pairs[k].t.symbols, pairs[k].q.symbols, 30);
      pairs[k].t.symbols[k] ^= 1;
    }
    for (int64_t drop = cost - 1; drop <= cost + 1; drop++) {
      const problem p = extensions_of(&scoring, COUNT(pairs), pairs, 0, drop);
      if (drop > 0)
        expect_as_oracle(&p);
    }
  }
}

/* Equal but for `different` symbols in the midst, or at the end. */
static pair interrupted(int length, int first, int different, uint64_t *random) {
  const pair p = {random_sequence(length, 4, random), sequence_new(length)};
  for (int j = 0; j < length; j++)
    p.t.symbols[j] = p.q.symbols[j] ^ (j >= first && j < first + different);
  return p;
}

/* Matches, mismatches that cost as much as the two gaps around them, and matches that are worth more than both: a large
 * part of what an extension can drop at all. */
CASE(test_deep_drop) {
  uint64_t random = 78;
  int8_t matrix[SQUARE];
  pair pairs[20];
  fill_diagonal(4, 127, -128, matrix);
  const davit_align_scoring scoring = scoring_of(4, matrix, 64, 64);
  for (int k = 0; k < COUNT(pairs); k++)
    pairs[k] = interrupted(40, 10, 10, &random);
  for (int64_t drop = 1100; drop < 1400; drop += 50) {
    const problem p = extensions_of(&scoring, COUNT(pairs), pairs, 0, drop);
    expect_as_oracle(&p);
  }
}

/* ---- without a drop ---- */

/* The best global alignment of beginnings, of equal ones the first in the target, then in the query. */
static wanted best_beginning(const davit_align_scoring *scoring, const pair *pair) {
  wanted w = {.cigar = ""};
  for (int64_t j = 1; j <= pair->t.length; j++)
    for (int64_t i = 1; i <= pair->q.length; i++) {
      const sequence q = {.symbols = pair->q.symbols, .length = i},
                     t = {.symbols = pair->t.symbols, .length = j};
      davit_align_result r;
      const char *cigar = trace(scoring, &q, &t, DAVIT_ALIGN_GLOBAL, DVT_ALIGN_TRACE_CELLS, 1, &r);
      if (r.score > w.result.score)
        w = (wanted){r, cigar};
    }
  return w;
}

CASE(test_extensions) {
  static const int32_t gaps[][2] = {{3, 1}, {2, 2}, {7, 2}, {20000, 1}};
  uint64_t random = 73;
  int8_t matrix[SQUARE];
  for (int repeat = 0; repeat < scaled(16); repeat++) {
    const int32_t *gap = gaps[repeat % COUNT(gaps)];
    fill_diagonal(5, 3, -2, matrix);
    const davit_align_scoring scoring = scoring_of(5, matrix, gap[0], gap[1]);
    const int64_t count = 18;
    const pair *pairs = random_pairs(count, 16, 20, 5, &random);
    wanted *right = kept((size_t)count * sizeof *right);
    for (int64_t k = 0; k < count; k++)
      right[k] = best_beginning(&scoring, &pairs[k]);
    const problem none = extensions_of(&scoring, count, pairs, 0, 0),
                  far = extensions_of(&scoring, count, pairs, 0, 1000);
    expect_by_every_vector(&none, right);
    expect_by_every_vector(&far, right);
  }
}

/* ---- long ones ---- */

static uint8_t *note(void *owner, int64_t number, dvt_pair_rows rows) {
  return dvt_pair_trail_add(owner, number, rows, rows.to - rows.from + 1);
}

static int step_of(const void *trail, int64_t i, int64_t j) {
  return dvt_pair_trail_step(trail, -1, i, j);
}

static wanted plain(const problem *p, const pair *pair) {
  const davit_align_scoring s = cheaper(&p->scoring);
  const int64_t m = pair->q.length, n = pair->t.length;
  const dvt_pair_part part = {pair->q.symbols, pair->t.symbols, m, n, 1, -m, n};
  dvt_pair_trail trail = {0};
  dvt_pair_extension found;
  int64_t *scratch = kept(4 * (size_t)(m + 3) * sizeof *scratch);
  assert_true(dvt_pair_trail_begin(&trail, m + n + 1));
  assert_true(dvt_ref_align_extend(&s, &part, p->options.x_drop, scratch, note, &trail, &found));
  const dvt_align_stretch stretch = {part.query, part.target, found.end.row, found.end.column, 1};
  char *columns = kept((size_t)(m + n) + 1), *cigar = kept(2 * (size_t)(m + n) + 1);
  dvt_put_columns(columns, dvt_walk_back(&stretch, DVT_ALIGN_BOTH, step_of, &trail, columns), cigar);
  dvt_pair_trail_free(&trail);
  return (wanted){{.score = (int32_t)found.end.score,
                   .query_end = found.end.row,
                   .target_end = found.end.column,
                   .dropped = found.dropped},
                  cigar};
}

/* Related to a certain place, and random from there on; lengths that differ. */
static pair *long_pairs(int64_t count, int length, int symbols, uint64_t *random) {
  pair *pairs = kept((size_t)count * sizeof *pairs);
  for (int64_t k = 0; k < count; k++) {
    pair *p = &pairs[k];
    p->q = random_sequence(length / 2 + random_below(random, length), symbols, random);
    p->t = relative_of(&p->q, symbols, random);
    for (int64_t j = random_below(random, 2 * length); j < p->t.length; j++)
      p->t.symbols[j] = (uint8_t)random_below(random, symbols);
  }
  return pairs;
}

CASE(test_long_pairs) {
  static const int alphabets[] = {4, 20, 5, 6, 32};
  static const int64_t drops[] = {10, 1000, 40, 100};
  uint64_t random = 74;
  int8_t matrix[SQUARE];
  bool ends[2] = {false};
  for (int repeat = 0; repeat < 2 + scaled(38); repeat++) {
    const int symbols = alphabets[repeat % COUNT(alphabets)], length = repeat % 3 ? 150 : 700;
    fill_diagonal(symbols, 4, -3, matrix);
    const davit_align_scoring scoring = scoring_of(symbols, matrix, 7, 2);
    const int64_t count = 37;
    const pair *pairs = long_pairs(count, length, symbols, &random);
    const problem p = extensions_of(&scoring, count, pairs, 0, drops[repeat % COUNT(drops)]);
    wanted *right = kept((size_t)count * sizeof *right);
    for (int64_t k = 0; k < count; k++) {
      right[k] = plain(&p, &pairs[k]);
      assert_int_equal(score_of_columns(&scoring, &pairs[k].q, &pairs[k].t, &right[k].result, right[k].cigar),
                       right[k].result.score);
      ends[right[k].result.dropped] = true;
    }
    expect_by_every_vector(&p, right);
  }
  assert_true(ends[0] && ends[1]);
}

/* A drop of more than 16 bits hold, to the end. */
CASE(test_far_drop) {
  uint64_t random = 79;
  int8_t matrix[SQUARE];
  pair pairs[5];
  wanted right[COUNT(pairs)];
  fill_diagonal(4, 100, -128, matrix);
  const davit_align_scoring scoring = scoring_of(4, matrix, 40000, 40000);
  for (int k = 0; k < COUNT(pairs); k++)
    pairs[k] = interrupted(290, 20, 270, &random);
  for (int64_t drop = 31000; drop < 37000; drop += 1000) {
    const problem p = extensions_of(&scoring, COUNT(pairs), pairs, 0, drop);
    for (int k = 0; k < COUNT(pairs); k++) {
      right[k] = plain(&p, &pairs[k]);
      assert_int_equal(right[k].result.dropped, drop < 270 * 128);
    }
    expect_by_every_vector(&p, right);
  }
}

/* Several blocks, by several threads, whatever devices are named. */
CASE(test_many_pairs) {
  uint64_t random = 77;
  const davit_align_scoring scoring = protein(11, 1);
  const int64_t count = 300;
  const pair *pairs = long_pairs(count, 40, 20, &random);
  int devices[MAX_PLACES];
  const int places = all_devices(devices);
  problem p = extensions_of(&scoring, count, pairs, 0, 25);
  wanted *right = kept((size_t)count * sizeof *right);
  for (int64_t k = 0; k < count; k++)
    right[k] = plain(&p, &pairs[k]);
  for (int threads = 1; threads < 5; threads++) {
    CHECK(davit_set_threads(threads));
    p.options.device_count = threads < places ? threads : places;
    p.options.devices = devices;
    expect_pairs(&p, right);
  }
  CHECK(davit_set_threads(0));
}

/* Beyond what goes side by side: long, and a pair beside short ones; without a drop through davit_align_trace(). */
CASE(test_very_long_pairs) {
  uint64_t random = 75;
  int8_t matrix[SQUARE];
  fill_diagonal(4, 1, -2, matrix);
  const davit_align_scoring scoring = scoring_of(4, matrix, 3, 1);
  pair pairs[4];
  for (int k = 0; k < COUNT(pairs); k++) {
    pairs[k].q = random_sequence(k == 1 ? 33000 : k == 2 ? 20000 : 50, 4, &random);
    pairs[k].t = relative_of(&pairs[k].q, 4, &random);
  }
  const problem p = extensions_of(&scoring, COUNT(pairs), pairs, 0, 15);
  wanted right[COUNT(pairs)];
  for (int k = 0; k < COUNT(pairs); k++)
    right[k] = plain(&p, &pairs[k]);
  expect_pairs(&p, right);
  pair square = {random_sequence(1500, 4, &random), {0}};
  square.t = relative_of(&square.q, 4, &random);
  const problem whole = extensions_of(&scoring, 1, &square, 0, 0);
  problem last = whole;
  last.options.x_drop = INT64_MAX;
  const wanted one = plain(&last, &square);
  expect_pairs(&whole, &one);
}

/* ---- failures ---- */

static davit_status story(void *argument) {
  const problem *p = argument;
  davit_align_result *results = kept((size_t)p->count * sizeof *results);
  char *cigars = NULL;
  const davit_status status =
      davit_align_pairs(&p->scoring, &p->queries.view, &p->targets.view, NULL, results, &cigars, &p->options);
  if (status != DAVIT_SUCCESS)
    assert_null(cigars);
  davit_free(cigars);
  return status;
}

/* Side by side, by the plain form, and without a drop one by one. */
CASE(test_failures) {
  uint64_t random = 76;
  const davit_align_scoring scoring = protein(11, 1), dear = protein(30000, 1);
  pair *pairs = long_pairs(20, 40, 20, &random);
  for (int kind = 0; kind < 3; kind++) {
    problem p = extensions_of(kind ? &dear : &scoring, 20, pairs, 0, kind == 2 ? 0 : 3000 / (kind ? 1 : 100));
    fail_everywhere(story, &p);
  }
}
