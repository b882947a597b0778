/* SPDX-License-Identifier: Apache-2.0 */
/* Databases of targets: scores and hits of queries on every list of devices against the reference. */
#include "tests/databases.h"

/* ---- contents ---- */

CASE(test_small_databases) {
  static const int64_t lengths[] = {0, 1, 2, 33, 375};
  uint64_t random = 9;
  const davit_align_scoring scoring = protein(11, 1);
  sequence queries[COUNT(lengths)], many[40];
  for (int q = 0; q < COUNT(lengths); q++)
    queries[q] = random_sequence(lengths[q], 24, &random);
  for (int k = 0; k < COUNT(many); k++)
    many[k] = random_sequence(k % 3 ? k * k % 97 : 0, 24, &random);
  static const int counts[] = {0, 1, 2, 3, 31, 32, 33, 40};
  for (int c = 0; c < COUNT(counts); c++) {
    targets t = targets_of(counts[c], many);
    expect_all(&t, &scoring, COUNT(queries), queries);
  }
}

CASE(test_random_database) {
  enum { MANY = 1000 };
  static const int64_t lengths[] = {0, 1, 33, 375, 1000};
  const int count = scaled(MANY);
  uint64_t random = 10;
  int8_t any[SQUARE];
  fill_random(20, -6, 5, &random, any);
  const davit_align_scoring scorings[] = {protein(11, 1), scoring_of(20, any, 4, 3)};
  sequence queries[COUNT(lengths)], many[MANY];
  for (int q = 0; q < COUNT(lengths); q++)
    queries[q] = random_sequence(lengths[q], 20, &random);
  for (int k = 0; k < count; k++)
    many[k] = k % 10 ? random_sequence(random_below(&random, k % 7 ? 200 : 600), 20, &random)
                     : relative_of(&queries[k / 10 % COUNT(lengths)], 20, &random);
  targets t = targets_of(count, many);
  for (int s = 0; s < COUNT(scorings); s++)
    expect_all(&t, &scorings[s], COUNT(queries), queries);
}

/* A sequence that scores `score` with itself: symbol 1 scores 127, symbol 0 scores 1. */
static sequence scoring_itself(int score) {
  sequence s = sequence_new(score / 127 + score % 127);
  memset(s.symbols, 0, (size_t)s.length);
  memset(s.symbols, 1, (size_t)(score / 127));
  return s;
}

/* Scores below and above the limits of narrow words. */
CASE(test_score_limits) {
  static const int scores[] = {126,  127,   128,   129,   253,   254,   255,   256,   257,   2047,  2048,
                               2049, 32766, 32767, 32768, 32769, 65534, 65535, 65536, 65537, 70000, 100000};
  int8_t matrix[9] = {1, -128, -128, -128, 127, -128, -128, -128, -128};
  const davit_align_scoring scoring = scoring_of(3, matrix, 1000, 1000);
  sequence s[COUNT(scores)];
  for (int k = 0; k < COUNT(scores); k++)
    s[k] = scoring_itself(scores[k]);
  targets t = targets_of(COUNT(scores), s);
  for (int k = 0; k < COUNT(scores); k++)
    assert_int_equal(reference(&scoring, &s[k], &s[k]), scores[k]);
  for (int k = 0; k < COUNT(scores); k += 7)
    expect_all(&t, &scoring, COUNT(scores) - k < 7 ? COUNT(scores) - k : 7, &s[k]);
}

/* W and C, which score 11 and 9 with themselves. */
static sequence heavy_sequence(int64_t length, uint64_t *random) {
  sequence s = random_sequence(length, 2, random);
  for (int64_t i = 0; i < length; i++)
    s.symbols[i] = s.symbols[i] ? 17 : 4;
  return s;
}

/* Long targets among short ones, whose scores pass 65535 by many steps and with gaps. */
CASE(test_long_targets) {
  uint64_t random = 11;
  const davit_align_scoring scoring = protein(11, 1);
  sequence queries[2] = {heavy_sequence(scaled(8000), &random), random_sequence(300, 20, &random)};
  sequence all[6] = {random_sequence(10, 20, &random), relative_of(&queries[0], 20, &random),
                     random_sequence(0, 20, &random),  relative_of(&queries[1], 20, &random),
                     sequence_new(queries[0].length),  random_sequence(scaled(100000) / 20, 20, &random)};
  memcpy(all[4].symbols, queries[0].symbols, (size_t)queries[0].length);
  targets t = targets_of(COUNT(all), all);
  expect_all(&t, &scoring, 2, queries);
}

CASE(test_extreme_databases) {
  static const int32_t gaps[][2] = {
      {INT32_MAX, INT32_MAX}, {INT32_MAX, 1}, {1, INT32_MAX}, {1, 1}, {127, 3}, {128, 128}, {255, 256},
      {40000, 70000}};
  uint64_t random = 12;
  int8_t matrix[SQUARE];
  sequence query = random_sequence(200, 32, &random), all[20];
  for (int k = 0; k < COUNT(all); k++)
    all[k] = k % 2 ? relative_of(&query, 32, &random) : random_sequence(17 * k, 32, &random);
  targets t = targets_of(COUNT(all), all);
  for (int g = 0; g < COUNT(gaps); g++)
    for (int fill = 0; fill < 4; fill++) {
      for (int i = 0; i < SQUARE; i++)
        matrix[i] = fill == 0   ? INT8_MIN
                    : fill == 1 ? INT8_MAX
                    : fill == 2 ? (int8_t)(i % 33 ? INT8_MIN : INT8_MAX)
                                : (int8_t)(random_below(&random, 256) - 128);
      const davit_align_scoring scoring = scoring_of(32, matrix, gaps[g][0], gaps[g][1]);
      expect_all(&t, &scoring, 1, &query);
    }
}

/* A database outlives its targets' memory and takes one scoring after the other. */
CASE(test_own_memory) {
  uint64_t random = 13;
  sequence all[50], query = random_sequence(120, 4, &random);
  for (int k = 0; k < COUNT(all); k++)
    all[k] = random_sequence(random_below(&random, 300), 4, &random);
  targets t = targets_of(COUNT(all), all), lent = targets_of(COUNT(all), all);
  davit_align_database *database = database_on(&lent, 4, &(device_list){0, {0}});
  for (int repeat = 0; repeat < 10; repeat++) {
    int8_t matrix[16];
    fill_random(4, -4, 4, &random, matrix);
    const davit_align_scoring scoring = scoring_of(4, matrix, 1 + repeat, 1 + repeat % 3);
    const sequence q = {query.length - 11 * repeat, query.symbols};
    int32_t *wanted = expected_scores(&t, &scoring, &q);
    expect_scores(database, &t, &scoring, &q, wanted);
  }
  CHECK(davit_align_database_destroy(database));
}

/* Equal targets keep their order; `top` at, below and above the number of targets. */
CASE(test_ties) {
  enum { MANY = 70 };
  uint64_t random = 14;
  int8_t dna[16];
  fill_diagonal(4, 1, -9, dna);
  const davit_align_scoring scoring = scoring_of(4, dna, 9, 9);
  sequence query = random_sequence(40, 4, &random), all[MANY];
  for (int k = 0; k < MANY; k++)
    all[k] = (sequence){k % 5 * 3, query.symbols}; /* scores 0, 3, 6, 9 and 12, or by chance a little more */
  targets t = targets_of(MANY, all);
  int32_t *wanted = expected_scores(&t, &scoring, &query);
  device_list *lists = kept((MAX_PLACES + 2) * sizeof *lists);
  const int count = device_lists(lists);
  static const int64_t tops[] = {0, 1, 2, 13, 14, 15, 56, 57, 69, 70, 71, 500};
  for (int l = 0; l < count; l++) {
    davit_align_database *database = database_on(&t, 4, &lists[l]);
    for (int k = 0; k < COUNT(tops); k++)
      expect_hits(database, &t, &scoring, &query, tops[k], wanted);
    CHECK(davit_align_database_destroy(database));
  }
}

/* ---- one pair ---- */

static void put_run(sequence *s, uint8_t symbol, int64_t count) {
  memset(s->symbols + s->length, symbol, (size_t)count);
  s->length += count;
}

/* Its score by the CPU, by every kind of vectors. */
static void expect_pair(const davit_align_scoring *scoring, const sequence *q, const sequence *t) {
  const targets one = targets_of(1, t);
  const int32_t wanted = reference(scoring, q, t);
  davit_align_database *database = database_on(&one, scoring->symbols, &(device_list){1, {DAVIT_HOST}});
  for (int variant = 0; next_cpu(variant); variant++)
    expect_scores(database, &one, scoring, q, &wanted);
  CHECK(davit_align_database_destroy(database));
}

/* Every length of a query around those that fill vectors, related and not: bytes hold the score, do not, or not
 * from the middle of the target on. */
CASE(test_pairs) {
  static const int32_t gaps[][2] = {{7, 2}, {11, 1}, {1, 1}, {3, 3}, {60, 40}, {127, 1}, {128, 1}, {200, 90}};
  uint64_t random = 17;
  int8_t dna[16], any[SQUARE];
  fill_diagonal(4, 2, -3, dna);
  fill_random(24, -9, 12, &random, any);
  for (int64_t m = 1; m < 300; m += m < 70 ? 1 : 1 + random_below(&random, 20)) {
    const int32_t *gap = gaps[m % COUNT(gaps)];
    const davit_align_scoring scorings[] = {scoring_of(4, dna, gap[0], gap[1]),
                                            scoring_of(24, any, gap[0], gap[1])};
    for (int s = 0; s < COUNT(scorings); s++) {
      const int symbols = scorings[s].symbols;
      const sequence q = random_sequence(m, symbols, &random),
                     t = random_sequence(1 + random_below(&random, 400), symbols, &random),
                     r = relative_of(&q, symbols, &random);
      const sequence late = {t.length + r.length, kept((size_t)(t.length + r.length))};
      memcpy(late.symbols, t.symbols, (size_t)t.length);
      memcpy(late.symbols + t.length, r.symbols, (size_t)r.length);
      expect_pair(&scorings[s], &q, &t);
      expect_pair(&scorings[s], &q, &r);
      expect_pair(&scorings[s], &q, &late);
    }
  }
}

/* Scores about the largest that bytes hold, in every column of a block. */
CASE(test_pairs_at_the_limit_of_bytes) {
  int8_t matrix[4];
  fill_diagonal(2, 1, -1, matrix);
  const davit_align_scoring scoring = scoring_of(2, matrix, 2, 1);
  for (int64_t score = 250; score < 262; score++)
    for (int64_t before = 0; before < 66; before += 1 + before % 7) {
      sequence q = sequence_new(score), t = sequence_new(before + score + 40);
      memset(q.symbols, 0, (size_t)score);
      memset(t.symbols, 1, (size_t)t.length);
      memset(t.symbols + before, 0, (size_t)score);
      assert_int_equal(reference(&scoring, &q, &t), score);
      expect_pair(&scoring, &q, &t);
    }
}

/* A gap of query symbols over some lanes, and over all. */
CASE(test_pairs_with_long_gaps) {
  int8_t matrix[9];
  fill_diagonal(3, 5, -9, matrix);
  for (int extend = 1; extend < 4; extend++)
    for (int64_t gap = 0; gap < 400; gap += 1 + gap / 3) {
      const davit_align_scoring scoring = scoring_of(3, matrix, 3 + extend, extend);
      sequence q = sequence_new(gap + 400), t = sequence_new(400);
      memset(q.symbols, 1, (size_t)q.length);
      memset(q.symbols, 0, 300);
      memset(q.symbols + 300, 2, (size_t)gap);
      memset(t.symbols, 0, 300);
      memset(t.symbols + 300, 1, 100);
      expect_pair(&scoring, &q, &t);
      const sequence head = {200 + gap, q.symbols + 200}, tail = {200, t.symbols + 200}; /* shorter ones */
      expect_pair(&scoring, &head, &tail);
    }
}

/* One zero, gap, zero, gap, …: the alignment spans nearly as many target symbols as one may. */
static void plant_stretched(sequence *t, int64_t at, int64_t zeros, int64_t gap) {
  for (int64_t i = 0; i < zeros && at + i * (gap + 1) < t->length; i++)
    t->symbols[at + i * (gap + 1)] = 0;
}

/* Targets that are folded, one alone and several by 1 to 3 threads, with one good alignment each, which begins before,
 * at and behind every place where a lane or a piece ends. Scores fit bytes, 16 bits, or neither. */
CASE(test_folded_targets) {
  static const int64_t lengths[] = {4096, 4097, 9000, 70000};
  uint64_t random = 21;
  int8_t matrix[9];
  fill_diagonal(3, 5, -9, matrix);
  const davit_align_scoring scoring = scoring_of(3, matrix, 1, 1);
  sequence q = sequence_new(5);
  memset(q.symbols, 0, 5);
  for (int k = 0; k < COUNT(lengths); k++)
    for (int64_t repeat = 0; repeat < scaled(40); repeat++) {
      const int64_t n = lengths[k], height = (n + 63) / 64;
      sequence t = sequence_new(n);
      memset(t.symbols, 2, (size_t)n);
      plant_stretched(&t, height * (1 + random_below(&random, 63)) - random_below(&random, 40), 5, 4);
      CHECK(davit_set_threads(1 + (int)repeat % 3));
      expect_pair(&scoring, &q, &t);
    }
  CHECK(davit_set_threads(0));
}

/* Reads of a genome, most of whose scores pass bytes. */
CASE(test_reads_and_genomes) {
  uint64_t random = 22;
  int8_t dna[16];
  fill_diagonal(4, 5, -4, dna);
  const sequence genome = random_sequence(60000, 4, &random);
  for (int k = 0; k < scaled(80); k++) {
    const sequence part = {1 + random_below(&random, 60), genome.symbols + random_below(&random, 59000)},
                   q = k % 3 ? part : relative_of(&part, 4, &random);
    const davit_align_scoring scoring = scoring_of(4, dna, 1 + random_below(&random, 20), 2 + k % 9);
    CHECK(davit_set_threads(1 + k % 4));
    expect_pair(&scoring, &q, &genome);
  }
  CHECK(davit_set_threads(0));
}

/* Several folded targets, long ones that are not, and a batch. */
CASE(test_genomes_among_others) {
  uint64_t random = 23;
  const davit_align_scoring scoring = protein(11, 1);
  sequence all[9], queries[3];
  for (int k = 0; k < COUNT(all); k++)
    all[k] = random_sequence(k < 3 ? 8000 * (k + 1) : 50 * k, 20, &random);
  for (int k = 0; k < COUNT(queries); k++)
    queries[k] = (sequence){4 + 20 * k, all[k].symbols + 3000};
  const targets t = targets_of(COUNT(all), all);
  expect_all(&t, &scoring, COUNT(queries), queries);
}

/* Costs above 127, which signed bytes hold in two parts or not at all, leave too little of a score for what follows. */
CASE(test_pairs_with_dear_gaps) {
  static const struct {
    int32_t open, extend;
    int64_t gap, tail;
  } tries[] = {{200, 1, 1, 26}, {70, 70, 3, 41}, {70, 65, 3, 39}, {128, 90, 2, 30}, {127, 127, 1, 25}};
  int8_t matrix[9];
  fill_diagonal(3, 5, -128, matrix);
  for (int k = 0; k < COUNT(tries); k++) {
    const davit_align_scoring scoring = scoring_of(3, matrix, tries[k].open, tries[k].extend);
    sequence q = {0, kept(200)}, t = {0, kept(200)};
    put_run(&q, 0, 48);
    put_run(&t, 0, 48);
    put_run(&q, 1, tries[k].gap);
    put_run(&q, 2, tries[k].tail);
    put_run(&t, 2, tries[k].tail);
    assert_int_equal(reference(&scoring, &q, &t), 48 * 5);
    expect_pair(&scoring, &q, &t);
  }
}

/* A long target by several threads, with a band of rows for each. Costs that do not suit bytes need fewer. */
CASE(test_long_pairs_by_threads) {
  uint64_t random = 20;
  int8_t dna[16];
  fill_diagonal(4, 2, -3, dna);
  const sequence q = random_sequence(4500, 4, &random),
                 targets[2] = {relative_of(&q, 4, &random), random_sequence(3000, 4, &random)};
  for (int threads = 1; threads < 10; threads *= 3) {
    CHECK(davit_set_threads(threads));
    for (int k = 0; k < 4; k++) {
      const davit_align_scoring scoring = scoring_of(4, dna, k % 2 ? 200 : 7, 2);
      expect_pair(&scoring, &q, &targets[k / 2]);
    }
  }
  CHECK(davit_set_threads(0));
}

static int64_t backend_calls(void) {
  davit_statistics now;
  CHECK(davit_statistics_read(&now));
  return (int64_t)now.backend_calls;
}

/* What one thread does is no command: the calling one computes it. */
CASE(test_a_pair_is_no_command) {
  uint64_t random = 18;
  const davit_align_scoring scoring = protein(11, 1);
  const sequence q = random_sequence(50, 20, &random), t = random_sequence(100, 20, &random),
                 many[2] = {t, random_sequence(20000, 20, &random)};
  const targets one = targets_of(1, &t), two = targets_of(2, many);
  davit_align_database *small = database_on(&one, scoring.symbols, &(device_list){1, {DAVIT_HOST}}),
                       *large = database_on(&two, scoring.symbols, &(device_list){1, {DAVIT_HOST}});
  int32_t scores[2];
  CHECK(davit_set_threads(2));
  const int64_t before = backend_calls();
  CHECK(davit_align_scores(small, &scoring, q.length, q.symbols, scores));
  assert_int_equal(backend_calls(), before);
  CHECK(davit_align_scores(large, &scoring, q.length, q.symbols, scores));
  assert_true(backend_calls() > before);
  CHECK(davit_set_threads(0));
  CHECK(davit_align_database_destroy(small));
  CHECK(davit_align_database_destroy(large));
}

/* ---- threads ---- */

typedef struct caller {
  davit_align_database *database;
  const targets *t;
  const davit_align_scoring *scoring;
  sequence query;
  bool right;
} caller;

static void *call_often(void *argument) {
  caller *c = argument;
  int32_t *wanted = expected_scores(c->t, c->scoring, &c->query);
  int32_t *scores = kept((size_t)c->t->view.count * sizeof *scores);
  c->right = true;
  for (int repeat = 0; repeat < 10; repeat++) {
    davit_align_result a;
    const sequence first = target_at(c->t, 0);
    c->right = c->right &&
               davit_align_scores(c->database, c->scoring, c->query.length, c->query.symbols, scores) ==
                   DAVIT_SUCCESS &&
               !memcmp(scores, wanted, (size_t)c->t->view.count * sizeof *scores) &&
               davit_align_trace(c->scoring, c->query.length, c->query.symbols, first.length, first.symbols,
                                 &a, NULL, NULL) == DAVIT_SUCCESS &&
               a.score == wanted[0];
  }
  return NULL;
}

CASE(test_threads) {
  enum { CALLERS = 4 };
  uint64_t random = 15;
  const davit_align_scoring scoring = protein(11, 1);
  sequence all[60];
  for (int k = 0; k < COUNT(all); k++)
    all[k] = random_sequence(1 + random_below(&random, 150), 20, &random);
  targets t = targets_of(COUNT(all), all);
  davit_align_database *database = database_on(&t, scoring.symbols, &(device_list){0, {0}});
  caller callers[CALLERS];
  for (int k = 0; k < CALLERS; k++)
    callers[k] = (caller){database, &t, &scoring, random_sequence(50 + 60 * k, 20, &random), false};
  in_threads(CALLERS, call_often, callers, sizeof *callers);
  for (int k = 0; k < CALLERS; k++)
    assert_true(callers[k].right);
  CHECK(davit_align_database_destroy(database));
}

/* ---- refusals ---- */

static uint8_t three[3] = {0, 1, 2};

static void expect_scoring_refused(const davit_align_scoring *scoring, davit_align_database *database,
                                   const char *words) {
  davit_align_result a;
  davit_align_hit hit;
  int32_t scores[2];
  int64_t found;
  REFUSED(davit_align_trace(scoring, 3, three, 3, three, &a, NULL, NULL), words);
  REFUSED(davit_align_scores(database, scoring, 3, three, scores), words);
  REFUSED(davit_align_search(database, scoring, 3, three, 1, &hit, &found), words);
}

static davit_align_database *two_targets(void) {
  static const int64_t offsets[] = {0, 1, 3};
  const davit_align_sequences view = {2, offsets, three};
  davit_align_database *database = NULL;
  CHECK(davit_align_database_create(&view, 3, &database, NULL));
  return database;
}

CASE(test_bad_scoring) {
  int8_t matrix[9] = {0};
  davit_align_database *database = two_targets();
  const davit_align_scoring good = scoring_of(3, matrix, 2, 1);
  davit_align_scoring s = good;
  expect_scoring_refused(NULL, database, "scoring is NULL");
  s.symbols = 0;
  expect_scoring_refused(&s, database, "symbols is 0");
  s.symbols = 33;
  expect_scoring_refused(&s, database, "symbols is 33");
  s = good;
  s.matrix = NULL;
  expect_scoring_refused(&s, database, "matrix is NULL");
  s = good;
  s.gap_open = 0;
  expect_scoring_refused(&s, database, "gap_open is 0");
  s.gap_open = INT32_MIN;
  expect_scoring_refused(&s, database, "gap_open is -2147483648");
  s = good;
  s.gap_extend = -1;
  expect_scoring_refused(&s, database, "gap_extend is -1");
  s = good;
  s.reserved[2] = 1;
  expect_scoring_refused(&s, database, "scoring->reserved[2] is 1");
  CHECK(davit_align_database_destroy(database));
}

CASE(test_bad_database) {
  static const int64_t offsets[] = {0, 1, 3}, falling[] = {0, 2, 1}, negative[] = {-1, 1, 3};
  static const uint8_t foreign[3] = {0, 3, 0};
  davit_align_database *database = NULL;
  int wrong = -7;
  davit_align_sequences view = {2, offsets, three};
  REFUSED(davit_align_database_create(&view, 33, &database, NULL), "symbols is 33");
  davit_align_database_options options = {.device_count = 2};
  REFUSED(davit_align_database_create(&view, 3, &database, &options), "devices");
  options = (davit_align_database_options){.devices = &wrong, .device_count = 1};
  CHECK_FAILS(davit_align_database_create(&view, 3, &database, &options), DAVIT_UNKNOWN_DEVICE, "-7");
  view.count = -1;
  REFUSED(davit_align_database_create(&view, 3, &database, NULL), "count is -1");
  view = (davit_align_sequences){2, NULL, three};
  REFUSED(davit_align_database_create(&view, 3, &database, NULL), "offsets is NULL");
  view = (davit_align_sequences){2, offsets, NULL};
  REFUSED(davit_align_database_create(&view, 3, &database, NULL), "symbols is NULL");
  view = (davit_align_sequences){2, falling, three};
  REFUSED(davit_align_database_create(&view, 3, &database, NULL), "offsets");
  view = (davit_align_sequences){2, negative, three};
  REFUSED(davit_align_database_create(&view, 3, &database, NULL), "offsets");
  view = (davit_align_sequences){2, offsets, foreign};
  REFUSED(davit_align_database_create(&view, 3, &database, NULL), "targets");
  assert_null(database);
  CHECK(davit_align_database_destroy(NULL));
}

CASE(test_bad_search) {
  int8_t matrix[9] = {0};
  const davit_align_scoring scoring = scoring_of(3, matrix, 2, 1), narrow = scoring_of(2, matrix, 2, 1);
  uint8_t foreign[3] = {0, 3, 0};
  int32_t scores[2] = {-7, -7};
  davit_align_database *database = two_targets();
  REFUSED(davit_align_scores(database, &narrow, 1, three, scores), "symbols");
  REFUSED(davit_align_scores(database, &scoring, 3, foreign, scores), "query: symbol 1 is 3");
  assert_true(scores[0] == -7 && scores[1] == -7);
  CHECK(davit_align_database_destroy(database));
}

typedef struct attempt {
  const targets *t;
  const davit_align_scoring *scoring;
  const sequence *query;
  const int32_t *wanted;
} attempt;

static davit_status search_and_trace(const attempt *x, davit_align_database *database) {
  int32_t *scores = kept((size_t)x->t->view.count * sizeof *scores);
  davit_align_hit hits[3];
  davit_align_result a;
  int64_t found;
  char *cigar = NULL;
  const sequence *q = x->query, t = target_at(x->t, 1);
  davit_status status = davit_align_scores(database, x->scoring, q->length, q->symbols, scores);
  if (status == DAVIT_SUCCESS)
    assert_memory_equal(scores, x->wanted, (size_t)x->t->view.count * sizeof *scores);
  if (status == DAVIT_SUCCESS)
    status = davit_align_search(database, x->scoring, q->length, q->symbols, 3, hits, &found);
  if (status == DAVIT_SUCCESS)
    status = davit_align_trace(x->scoring, q->length, q->symbols, t.length, t.symbols, &a, &cigar, NULL);
  davit_free(cigar);
  return status;
}

static davit_status whole_story(void *argument) {
  const attempt *x = argument;
  int devices[MAX_PLACES], count = all_devices(devices);
  davit_align_database *database = NULL;
  const davit_align_database_options options = {.devices = devices, .device_count = count < 16 ? count : 16};
  davit_status status = davit_align_database_create(&x->t->view, x->scoring->symbols, &database, &options);
  if (status == DAVIT_SUCCESS)
    status = search_and_trace(x, database);
  davit_status end = davit_align_database_destroy(database);
  return status == DAVIT_SUCCESS ? end : status;
}

CASE(test_failures) {
  uint64_t random = 16;
  const davit_align_scoring scoring = protein(11, 1);
  sequence query = random_sequence(60, 20, &random), all[20];
  for (int k = 0; k < COUNT(all); k++)
    all[k] = random_sequence(5 + 3 * k, 20, &random);
  targets t = targets_of(COUNT(all), all);
  int32_t *wanted = expected_scores(&t, &scoring, &query);
  attempt x = {&t, &scoring, &query, wanted};
  fail_everywhere(whole_story, &x);
}

static davit_status story_of_a_pair(void *argument) {
  static const int host = DAVIT_HOST;
  const attempt *x = argument;
  int32_t score = x->wanted[0];
  davit_align_database *database = NULL;
  const davit_align_database_options options = {.devices = &host, .device_count = 1};
  davit_status status = davit_align_database_create(&x->t->view, x->scoring->symbols, &database, &options);
  if (status == DAVIT_SUCCESS)
    status = davit_align_scores(database, x->scoring, x->query->length, x->query->symbols, &score);
  assert_int_equal(score, x->wanted[0]);
  const davit_status end = davit_align_database_destroy(database);
  return status == DAVIT_SUCCESS ? end : status;
}

CASE(test_failures_of_a_pair) {
  uint64_t random = 19;
  const davit_align_scoring scoring = protein(11, 1);
  const sequence query = random_sequence(60, 20, &random), target = relative_of(&query, 20, &random);
  const targets t = targets_of(1, &target);
  const int32_t *wanted = expected_scores(&t, &scoring, &query);
  attempt x = {&t, &scoring, &query, wanted};
  fail_everywhere(story_of_a_pair, &x);
}
