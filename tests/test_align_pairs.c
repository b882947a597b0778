/* SPDX-License-Identifier: Apache-2.0 */
/* Many pairs: without a band against davit_align_trace(), which test_align_parasail.c compares with parasail; with one
 * against an oracle that keeps whole matrices and tries every begin. */
#include "tests/align_pairs.h"

/* ---- without a band ---- */

static wanted *traces_by(const problem *p, int threads) {
  wanted *right = kept((size_t)(p->count + 1) * sizeof *right);
  for (int64_t k = 0; k < p->count; k++)
    right[k].cigar =
        trace(&p->scoring, &p->pairs[k].q, &p->pairs[k].t, p->options.mode, -1, threads, &right[k].result);
  return right;
}

static wanted *traces_of(const problem *p) {
  return traces_by(p, 1);
}

/* In all modes, by every kind of vectors. */
static void expect_as_traces(const davit_align_scoring *scoring, int64_t count, const pair *pairs) {
  for (davit_align_mode mode = DAVIT_ALIGN_LOCAL; mode <= DAVIT_ALIGN_SEMIGLOBAL; mode++) {
    const problem p = problem_of(scoring, count, pairs, mode, 0);
    const wanted *right = traces_of(&p);
    for (int variant = 0; next_cpu(variant); variant++)
      expect_pairs(&p, right);
  }
}

CASE(test_small_pairs) {
  static const int alphabets[] = {1, 2, 4, 5, 6, 20, 32};
  static const int32_t gaps[][2] = {{3, 1}, {2, 2}, {1, 5}, {7, 2}, {100, 30}};
  uint64_t random = 31;
  int8_t matrix[SQUARE];
  for (int repeat = 0; repeat < scaled(350); repeat++) {
    const int symbols = alphabets[repeat % COUNT(alphabets)], most = repeat % 2 ? 4 : 60;
    const int32_t *gap = gaps[repeat % COUNT(gaps)];
    fill_random(symbols, -5, 5, &random, matrix);
    const davit_align_scoring scoring = scoring_of(symbols, matrix, gap[0], gap[1]);
    const int64_t count = random_below(&random, 40);
    expect_as_traces(&scoring, count, random_pairs(count, most, 2 * most, symbols, &random));
  }
}

/* Several blocks, by several threads, on every list of devices. */
CASE(test_many_pairs) {
  uint64_t random = 32;
  const davit_align_scoring scoring = protein(11, 1);
  const int64_t count = 300;
  const pair *pairs = random_pairs(count, 80, 120, 20, &random);
  int devices[MAX_PLACES];
  const int places = all_devices(devices);
  problem p = problem_of(&scoring, count, pairs, DAVIT_ALIGN_SEMIGLOBAL, 0);
  const wanted *right = traces_of(&p);
  for (int threads = 1; threads < 5; threads++) {
    CHECK(davit_set_threads(threads));
    p.options.device_count = threads < places ? threads : places;
    p.options.devices = devices;
    expect_pairs(&p, right);
  }
  CHECK(davit_set_threads(0));
}

/* Lengths that differ much go side by side with few others, or with none. */
CASE(test_unequal_lengths) {
  static const int sizes[][2] = {{1, 5000},   {5000, 1},  {3, 20000}, {33000, 5}, {300, 4000},
                                 {1500, 900}, {40, 1025}, {40, 1024}, {1, 1},     {200, 200},
                                 {0, 7},      {7, 0},     {0, 0},     {16, 16}};
  uint64_t random = 33;
  int8_t dna[16];
  fill_diagonal(4, 2, -3, dna);
  const davit_align_scoring scoring = scoring_of(4, dna, 7, 2);
  pair pairs[3 * COUNT(sizes)];
  for (int k = 0; k < COUNT(pairs); k++) {
    const int *size = sizes[k % COUNT(sizes)];
    pairs[k].q = random_sequence(scaled(size[0]), 4, &random);
    pairs[k].t = random_sequence(size[1], 4, &random);
  }
  expect_as_traces(&scoring, COUNT(pairs), pairs);
}

/* Many alignments score the same; davit_align_trace() traces each pair through one matrix. With a band that leaves no cell
 * out, and on a GPU, up to 2^22 cells go side by side. */
CASE(test_whole_pairs) {
  static const int sizes[][2] = {{500, 2000},  {900, 1100},  {1024, 1024},
                                 {1024, 1025}, {1024, 4096}, {1024, 4097}};
  uint64_t random = 37;
  for (int symbols = 2; symbols < 4; symbols++) {
    int8_t matrix[SQUARE];
    fill_diagonal(symbols, 1, -1, matrix);
    const davit_align_scoring scoring = scoring_of(symbols, matrix, symbols, 1);
    pair pairs[COUNT(sizes)];
    for (int k = 0; k < COUNT(pairs); k++) {
      pairs[k].q = random_sequence(sizes[k][0], symbols, &random);
      pairs[k].t = random_sequence(sizes[k][1], symbols, &random);
    }
    for (davit_align_mode mode = DAVIT_ALIGN_LOCAL; mode <= DAVIT_ALIGN_SEMIGLOBAL; mode++) {
      problem p = problem_of(&scoring, COUNT(pairs), pairs, mode, 0);
      const wanted *right = traces_by(&p, 2);
      expect_pairs(&p, right);
      p.options.band = 5000;
      expect_pairs(&p, right);
    }
  }
}

/* Targets that davit_align_trace() folds, with many alignments that score the same: about the places where lanes begin,
 * and anywhere. */
CASE(test_folded_targets) {
  uint64_t random = 38;
  int8_t matrix[16];
  fill_diagonal(4, 2, -3, matrix);
  for (int repeat = 0; repeat < scaled(30); repeat++) {
    const int64_t n = 16384 + random_below(&random, 15000), height = (n + 63) / 64;
    const davit_align_scoring scoring = scoring_of(4, matrix, 3 + repeat % 3, 1 + repeat % 2);
    const int symbols = repeat % 3 ? 4 : 2;
    pair pairs[12]; /* enough to go side by side */
    for (int k = 0; k < COUNT(pairs); k++) {
      const sequence q = random_sequence(20 + random_below(&random, 10), symbols, &random),
                     t = random_sequence(n, symbols, &random);
      for (int copies = repeat % 5; copies > 0; copies--)
        memcpy(t.symbols + height * (1 + random_below(&random, 62)) - random_below(&random, 40), q.symbols,
               (size_t)q.length);
      pairs[k] = (pair){q, t};
    }
    const problem p = problem_of(&scoring, COUNT(pairs), pairs, DAVIT_ALIGN_LOCAL, 0);
    expect_pairs(&p, traces_by(&p, 1 + repeat % 3));
  }
}

/* Lengths whose scores alone are found by striping: unrelated pairs, and after related ones. */
CASE(test_striped_scores) {
  uint64_t random = 39;
  int8_t dna[16];
  fill_diagonal(4, 2, -3, dna);
  const davit_align_scoring scoring = scoring_of(4, dna, 7, 2);
  for (int length = 190; length < 700; length += 97) {
    pair pairs[70];
    for (int k = 0; k < COUNT(pairs); k++) {
      pairs[k].q = random_sequence(length + k % 20, 4, &random);
      pairs[k].t =
          k / 20 % 2 ? relative_of(&pairs[k].q, 4, &random) : random_sequence(length + 30, 4, &random);
    }
    const problem p = problem_of(&scoring, scaled(COUNT(pairs)), pairs, DAVIT_ALIGN_LOCAL, 0);
    expect_pairs(&p, traces_of(&p));
  }
}

/* Scores and costs about the limits of 16 bits, some beside others that are small. */
CASE(test_limits_of_words) {
  uint64_t random = 34;
  int8_t heavy[9];
  fill_diagonal(3, 127, -128, heavy);
  static const int32_t gaps[][2] = {{1000, 1000}, {10000, 1},         {10600, 10},
                                    {12000, 1},   {INT32_MAX / 4, 3}, {60, 60}};
  for (int k = 0; k < COUNT(gaps); k++) {
    const davit_align_scoring scoring = scoring_of(3, heavy, gaps[k][0], gaps[k][1]);
    pair pairs[40];
    for (int l = 0; l < COUNT(pairs); l++) {
      pairs[l].q = random_sequence(l % 5 ? 230 + l : 20, 3, &random);
      pairs[l].t = l % 2 ? relative_of(&pairs[l].q, 3, &random) : pairs[l].q;
    }
    expect_as_traces(&scoring, COUNT(pairs), pairs);
  }
}

/* Equal but for a run in the query alone and, after 30 symbols, one of this length in the target alone, or the other way
 * round: as far from the diagonal as an alignment with that score can go. */
CASE(test_shifts) {
  uint64_t random = 37;
  int8_t dna[16];
  fill_diagonal(4, 5, -9, dna);
  for (int run = 1; run < 20; run++)
    for (int extend = 1; extend < 4; extend++) {
      const davit_align_scoring scoring = scoring_of(4, dna, 2 + extend, extend);
      pair pairs[16];
      for (int k = 0; k < COUNT(pairs); k++) {
        const sequence one = random_sequence(90 + run, 4, &random);
        sequence other = sequence_new(90 + run);
        memcpy(other.symbols, one.symbols, 30);
        memcpy(other.symbols + 30, one.symbols + 30 + run, 30);
        memset(other.symbols + 60, one.symbols[60 + run] ^ 1, (size_t)run);
        memcpy(other.symbols + 60 + run, one.symbols + 60 + run, 30);
        pairs[k] = run % 2 ? (pair){one, other} : (pair){other, one};
      }
      expect_as_traces(&scoring, COUNT(pairs), pairs);
    }
}

/* ---- with a band ---- */

typedef struct banded {
  const davit_align_scoring *scoring;
  const pair *pair;
  int64_t low, high;
  davit_align_mode mode;
} banded;

/* From (i0, j0) on; where an alignment may begin: there alone, in all cells (local), in row and column 0. */
static void fill(const banded *b, int64_t i0, int64_t j0, bool anywhere, matrices *x) {
  const int open = b->scoring->gap_open, extend = larger(0, b->scoring->gap_extend);
  for (int64_t i = i0; i <= b->pair->q.length; i++)
    for (int64_t j = j0; j <= b->pair->t.length; j++) {
      const bool begins =
          (i == i0 && j == j0) || (anywhere && (b->mode == DAVIT_ALIGN_LOCAL || i == 0 || j == 0));
      int *h = &x->h[i][j], *d = &x->d[i][j], *f = &x->f[i][j];
      *h = *d = *f = NOTHING;
      if (j - i < b->low || j - i > b->high)
        continue;
      if (j > j0)
        *d = larger(x->d[i][j - 1] - extend, x->h[i][j - 1] - open);
      if (i > i0)
        *f = larger(x->f[i - 1][j] - extend, x->h[i - 1][j] - open);
      *h = larger(larger(*d, *f), begins ? 0 : NOTHING);
      if (i > i0 && j > j0)
        *h = larger(*h, x->h[i - 1][j - 1] +
                            score_of(b->scoring, b->pair->q.symbols[i - 1], b->pair->t.symbols[j - 1]));
    }
}

static void find_end(const banded *b, const matrices *x, davit_align_result *r) {
  const int64_t m = b->pair->q.length, n = b->pair->t.length;
  int best = b->mode == DAVIT_ALIGN_LOCAL ? 0 : NOTHING;
  r->query_end = b->mode == DAVIT_ALIGN_GLOBAL ? m : 0;
  r->target_end = b->mode == DAVIT_ALIGN_GLOBAL ? n : 0;
  if (b->mode == DAVIT_ALIGN_GLOBAL) {
    r->score = x->h[m][n];
    return;
  }
  for (int pass = 0; pass < 2; pass++) /* the last row comes before the last column */
    for (int64_t j = 1; j <= n; j++)
      for (int64_t i = 1; i <= m; i++)
        if (x->h[i][j] > best && (b->mode == DAVIT_ALIGN_LOCAL || (pass ? j == n : i == m))) {
          best = x->h[i][j];
          r->query_end = i;
          r->target_end = j;
        }
  r->score = best;
}

/* Whether an alignment from (i, j) to the end has the score. */
static bool is_begin(const banded *b, const davit_align_result *r, int64_t i, int64_t j, matrices *x) {
  if (j - i < b->low || j - i > b->high || (b->mode == DAVIT_ALIGN_SEMIGLOBAL && i > 0 && j > 0))
    return false;
  fill(b, i, j, false, x);
  return x->h[r->query_end][r->target_end] == r->score;
}

/* Local: with the fewest target symbols, then query symbols. Semiglobal: where the query begins, with the fewest target
 * symbols, else where the target does, with the fewest query symbols. */
static void find_begin(const banded *b, davit_align_result *r, matrices *x) {
  if (b->mode == DAVIT_ALIGN_SEMIGLOBAL)
    for (int64_t j = r->target_end; j >= 0; j--)
      if (is_begin(b, r, 0, j, x)) {
        r->target_begin = j;
        return;
      }
  for (int64_t j = b->mode == DAVIT_ALIGN_LOCAL ? r->target_end : 0; j >= 0; j--)
    for (int64_t i = r->query_end; i >= 0; i--)
      if (is_begin(b, r, i, j, x)) {
        r->query_begin = i;
        r->target_begin = j;
        return;
      }
  fail_msg("no alignment begins anywhere");
}

static wanted oracle(const problem *p, const pair *pair) {
  matrices *x = kept(sizeof *x);
  davit_align_scoring cheaper = p->scoring;
  cheaper.gap_extend = cheaper.gap_extend < cheaper.gap_open ? cheaper.gap_extend : cheaper.gap_open;
  const int64_t m = pair->q.length, n = pair->t.length,
                band = p->options.band < 2 * MOST ? p->options.band : 2 * MOST;
  banded b = {&cheaper, pair, (n < m ? n - m : 0) - band, (n > m ? n - m : 0) + band, p->options.mode};
  wanted w = {.cigar = ""};
  w.result.banded = b.low > -m || b.high < n;
  fill(&b, 0, 0, p->options.mode != DAVIT_ALIGN_GLOBAL, x);
  find_end(&b, x, &w.result);
  const bool empty = m == 0 || n == 0;
  if ((p->options.mode == DAVIT_ALIGN_LOCAL && w.result.score == 0) ||
      (p->options.mode == DAVIT_ALIGN_SEMIGLOBAL && empty)) {
    w.result = (davit_align_result){.banded = w.result.banded};
    return w;
  }
  if (p->options.mode != DAVIT_ALIGN_GLOBAL)
    find_begin(&b, &w.result, x);
  fill(&b, w.result.query_begin, w.result.target_begin, false, x);
  w.cigar = columns_of(&cheaper, pair, &w.result, x);
  return w;
}

static void expect_as_oracle(const davit_align_scoring *scoring, int64_t count, const pair *pairs,
                             int64_t band) {
  for (davit_align_mode mode = DAVIT_ALIGN_LOCAL; mode <= DAVIT_ALIGN_SEMIGLOBAL; mode++) {
    const problem p = problem_of(scoring, count, pairs, mode, band);
    wanted *right = kept((size_t)(count + 1) * sizeof *right);
    for (int64_t k = 0; k < count; k++)
      right[k] = oracle(&p, &pairs[k]);
    for (int variant = 0; next_cpu(variant); variant++)
      expect_pairs(&p, right);
  }
}

/* Side by side, and with gap costs that 16 bits do not hold one by one; a band as wide as the matrix is none. */
CASE(test_bands) {
  static const int32_t gaps[][2] = {{3, 1}, {2, 2}, {1, 5}, {7, 2}, {11000, 1}, {20000, 20000}};
  static const int64_t bands[] = {1, 2, 5, 17, 100, INT64_MAX};
  uint64_t random = 35;
  int8_t matrix[SQUARE];
  for (int repeat = 0; repeat < scaled(360); repeat++) {
    const int symbols = repeat % 4 ? 3 : 8, most = repeat % 3 ? 7 : 18;
    fill_random(symbols, -4, 4, &random, matrix);
    const int32_t *gap = gaps[repeat % COUNT(gaps)];
    const davit_align_scoring scoring = scoring_of(symbols, matrix, gap[0], gap[1]);
    pair pairs[20];
    for (int k = 0; k < COUNT(pairs); k++) {
      pairs[k].q = random_sequence(random_below(&random, most), symbols, &random);
      pairs[k].t = random_sequence(random_below(&random, most), symbols, &random);
    }
    expect_as_oracle(&scoring, COUNT(pairs), pairs, bands[repeat / 6 % COUNT(bands)]);
  }
}

/* Gaps so dear that 32 bits do not hold them: as others in which nothing has a gap. */
CASE(test_bands_of_dear_gaps) {
  uint64_t random = 36;
  int8_t matrix[SQUARE];
  for (int repeat = 0; repeat < 20; repeat++) {
    fill_random(4, -4, 4, &random, matrix);
    const pair *pairs = random_pairs(20, 10, 20, 4, &random);
    const davit_align_scoring dear = scoring_of(4, matrix, INT32_MAX, 1 + repeat),
                              never = scoring_of(4, matrix, 20000, 1);
    const problem p = problem_of(&dear, 20, pairs, DAVIT_ALIGN_LOCAL, 1 + repeat % 7),
                  q = problem_of(&never, 20, pairs, DAVIT_ALIGN_LOCAL, 1 + repeat % 7);
    wanted *right = kept(20 * sizeof *right);
    for (int k = 0; k < 20; k++)
      right[k] = oracle(&q, &pairs[k]);
    expect_pairs(&p, right);
  }
}

/* Of the same alignments with scores 50 times as high, which 16 bits do not hold: they go one by one. */
static wanted *fiftieths_of(const problem *p) {
  wanted *right = kept((size_t)p->count * sizeof *right);
  davit_align_result *results = kept((size_t)p->count * sizeof *results);
  static const int host = DAVIT_HOST;
  int8_t matrix[SQUARE];
  davit_align_scoring high = p->scoring;
  davit_align_pairs_options options = p->options;
  char *cigars;
  for (int i = 0; i < high.symbols * high.symbols; i++)
    matrix[i] = (int8_t)(50 * p->scoring.matrix[i]);
  high.matrix = matrix;
  high.gap_open *= 50;
  high.gap_extend *= 50;
  options.devices = &host;
  options.device_count = 1;
  CHECK(davit_align_pairs(&high, &p->queries.view, &p->targets.view, NULL, results, &cigars, &options));
  for (int64_t k = 0; k < p->count; k++) {
    char *cigar = kept(strlen(cigars + results[k].cigar) + 1);
    right[k] = (wanted){results[k], strcpy(cigar, cigars + results[k].cigar)};
    right[k].result.cigar = 0;
    right[k].result.score /= 50;
  }
  davit_free(cigars);
  return right;
}

/* The cells of the band are few, those of the matrix many; two lengths apart, and all of one. */
CASE(test_long_bands) {
  static const int64_t lengths[][2] = {{1500, 1450}, {2100, 2000}, {2500, 2900}, {5000, 5010}};
  uint64_t random = 36;
  int8_t matrix[SQUARE];
  fill_diagonal(4, 2, -2, matrix);
  const davit_align_scoring scoring = scoring_of(4, matrix, 3, 1);
  pair pairs[20];
  for (int k = 0; k < COUNT(pairs); k++) {
    const int64_t *length = lengths[k % COUNT(lengths)];
    pairs[k].q = random_sequence(length[0], 4, &random);
    pairs[k].t = random_sequence(length[1], 4, &random);
    for (int64_t i = 0; i < length[0] && i < length[1]; i++)
      if (random_below(&random, 10) > 0)
        pairs[k].t.symbols[i] = pairs[k].q.symbols[i];
  }
  for (davit_align_mode mode = DAVIT_ALIGN_LOCAL; mode <= DAVIT_ALIGN_SEMIGLOBAL; mode++) {
    const problem p = problem_of(&scoring, COUNT(pairs), pairs, mode, 12);
    expect_pairs(&p, fiftieths_of(&p));
  }
}

/* ---- refusals ---- */

static davit_status align_two(const davit_align_scoring *scoring, const davit_align_sequences *queries,
                              const davit_align_sequences *targets,
                              const davit_align_pairs_options *options) {
  int32_t scores[2];
  davit_align_result results[2];
  char *cigars = NULL;
  const davit_status status = davit_align_pairs(scoring, queries, targets, scores, results, &cigars, options);
  davit_free(cigars);
  return status;
}

CASE(test_bad_pairs) {
  static const int64_t offsets[] = {0, 1, 3}, falling[] = {0, 2, 1};
  static const uint8_t symbols[] = {0, 1, 2}, foreign[] = {0, 3, 0};
  int8_t matrix[9] = {0};
  const davit_align_scoring scoring = scoring_of(3, matrix, 2, 1), dear = scoring_of(3, matrix, INT32_MAX, 1);
  const davit_align_sequences good = {2, offsets, symbols}, one = {1, offsets, symbols},
                              down = {2, falling, symbols}, strange = {2, offsets, foreign};
  int wrong = -7;
  int32_t scores[2] = {-7, -7};
  char *cigars;
  CHECK(align_two(&scoring, &good, &good, NULL));
  REFUSED(align_two(&scoring, &good, &one, NULL), "queries->count is 2, targets->count 1");
  REFUSED(align_two(&scoring, &down, &good, NULL), "queries->offsets[2] is 1, after 2");
  REFUSED(align_two(&scoring, &good, &strange, NULL), "targets: symbol 0 of target 1 is 3");
  REFUSED(align_two(&scoring, &strange, &good, NULL), "queries: symbol 0 of query 1 is 3");
  REFUSED(align_two(&scoring, &good, &good, &(davit_align_pairs_options){.mode = (davit_align_mode)4}),
          "options->mode is 4");
  REFUSED(align_two(&scoring, &good, &good, &(davit_align_pairs_options){.band = -1}), "options->band is -1");
  REFUSED(align_two(&scoring, &good, &good, &(davit_align_pairs_options){.x_drop = 1}),
          "options->x_drop is 1, and options->mode no extension");
  REFUSED(align_two(&scoring, &good, &good,
                    &(davit_align_pairs_options){.mode = DAVIT_ALIGN_EXTENSION, .x_drop = -1}),
          "options->x_drop is -1");
  REFUSED(align_two(&dear, &good, &good, &(davit_align_pairs_options){.mode = DAVIT_ALIGN_EXTENSION}),
          "gaps over all of 2 and 2 symbols");
  CHECK_FAILS(
      align_two(&scoring, &good, &good, &(davit_align_pairs_options){.devices = &wrong, .device_count = 1}),
      DAVIT_UNKNOWN_DEVICE, "-7");
  REFUSED(align_two(&dear, &good, &good, &(davit_align_pairs_options){.mode = DAVIT_ALIGN_GLOBAL}),
          "gaps over all of 2 and 2 symbols");
  REFUSED(davit_align_pairs(&scoring, &good, &good, NULL, NULL, NULL, NULL), "scores and results are NULL");
  REFUSED(davit_align_pairs(&scoring, &good, &good, scores, NULL, &cigars, NULL), "results is NULL");
  assert_true(scores[0] == -7 && scores[1] == -7);
  const davit_align_sequences none = {0};
  CHECK(davit_align_pairs(&scoring, &none, &none, NULL, NULL, NULL, NULL));
}

/* ---- failures ---- */

static davit_status story(void *argument) {
  const problem *p = argument;
  davit_align_result *results = kept((size_t)p->count * sizeof *results);
  char *cigars = NULL;
  const davit_status status =
      davit_align_pairs(&p->scoring, &p->queries.view, &p->targets.view, NULL, results, &cigars, &p->options);
  if (status == DAVIT_SUCCESS)
    assert_int_equal(strlen(cigars + results[0].cigar) > 0, true);
  else
    assert_null(cigars);
  davit_free(cigars);
  return status;
}

/* In one block and by a team, side by side, one by one, and plain. */
CASE(test_failures) {
  uint64_t random = 36;
  const davit_align_scoring scoring = protein(11, 1), dear = protein(20000, 1);
  pair pairs[70];
  for (int k = 0; k < COUNT(pairs); k++) {
    pairs[k].q = random_sequence(30 + k % 3, 20, &random);
    pairs[k].t = relative_of(&pairs[k].q, 20, &random);
  }
  pairs[1].t = random_sequence(1500, 20, &random);
  CHECK(davit_set_threads(2));
  for (int kind = 0; kind < 4; kind++) {
    problem p = problem_of(kind < 2 ? &scoring : &dear, kind == 1 ? COUNT(pairs) : 20, pairs,
                           DAVIT_ALIGN_GLOBAL, kind == 3 ? 9 : 0);
    fail_everywhere(story, &p);
  }
  CHECK(davit_set_threads(0));
}
