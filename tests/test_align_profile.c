/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles in the place of a matrix: scores, hits and traces against a matrix of three states, cell by cell; and
 * those of a matrix written as a profile against the matrix. */
#include "tests/alignments.h"
#include "tests/databases.h"

/* ---- the oracle ---- */

enum { NONE = -(1 << 29) };

typedef struct cell {
  int64_t match, along, down; /* the best that ends in a pair, in a gap of target symbols, of query symbols */
} cell;

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t best_of(const cell *c) {
  return larger(c->match, larger(c->along, c->down));
}

static cell first_of(davit_align_mode mode, const davit_align_scoring *scoring, int64_t gap, bool along) {
  if (mode != DAVIT_ALIGN_GLOBAL || gap == 0)
    return (cell){0, NONE, NONE};
  const int64_t score = -gap_cost(scoring, gap);
  return along ? (cell){NONE, score, NONE} : (cell){NONE, NONE, score};
}

/* Row by row; a gap may follow the other kind of gap. */
static int64_t expected(davit_align_mode mode, const davit_align_scoring *scoring, const sequence *q,
                        const sequence *t) {
  const int64_t open = scoring->gap_open, extend = gap_cost(scoring, 2) - open;
  cell *row = kept(((size_t)t->length + 1) * sizeof *row);
  int64_t best = mode == DAVIT_ALIGN_LOCAL ? 0 : NONE;
  for (int64_t j = 0; j <= t->length; j++)
    row[j] = first_of(mode, scoring, j, true);
  for (int64_t i = 1; i <= q->length; i++) {
    cell corner = row[0];
    row[0] = first_of(mode, scoring, i, false);
    for (int64_t j = 1; j <= t->length; j++) {
      const cell above = row[j], before = row[j - 1];
      cell c = {best_of(&corner) + score_at(scoring, q, i - 1, t->symbols[j - 1]),
                larger(before.along - extend, best_of(&before) - open),
                larger(above.down - extend, best_of(&above) - open)};
      if (mode == DAVIT_ALIGN_LOCAL)
        c.match = larger(c.match, 0);
      if (mode == DAVIT_ALIGN_LOCAL || i == q->length || j == t->length)
        best = larger(best, best_of(&c));
      corner = above;
      row[j] = c;
    }
  }
  if (mode == DAVIT_ALIGN_GLOBAL)
    return best_of(&row[t->length]);
  return q->length && t->length ? best : 0;
}

/* ---- profiles ---- */

/* A place likes its query symbol most; what it likes beside is its own. */
static int8_t *random_profile(const sequence *q, int symbols, int least, int most, uint64_t *random) {
  int8_t *profile = kept((size_t)(q->length * symbols));
  for (int64_t j = 0; j < q->length; j++)
    for (int t = 0; t < symbols; t++)
      profile[j + t * q->length] =
          (int8_t)(t == q->symbols[j] ? most - random_below(random, 1 + most / 8)
                                      : least + random_below(random, (most - least) / 2 + 1));
  return profile;
}

static davit_align_scoring with_profile(int symbols, const int8_t *profile, int32_t gap_open,
                                        int32_t gap_extend) {
  return (davit_align_scoring){
      .symbols = symbols, .gap_open = gap_open, .gap_extend = gap_extend, .profile = profile};
}

/* Scores and hits on each list of devices, with every kind of vectors, and the reference's scores. */
static void expect_search(const targets *t, const davit_align_scoring *scoring, const sequence *q) {
  device_list *lists = kept((MAX_PLACES + 2) * sizeof *lists);
  const int count = device_lists(lists);
  int32_t *wanted = kept((size_t)t->view.count * sizeof *wanted);
  for (int64_t k = 0; k < t->view.count; k++) {
    const sequence target = target_at(t, k);
    wanted[k] = (int32_t)expected(DAVIT_ALIGN_LOCAL, scoring, q, &target);
    assert_int_equal(reference(scoring, q, &target), wanted[k]);
  }
  for (int l = 0; l < count; l++) {
    davit_align_database *database = database_on(t, scoring->symbols, &lists[l]);
    EACH_CPU(variant)
      expect_scores(database, t, scoring, q, wanted);
    expect_hits(database, t, scoring, q, 10, wanted);
    CHECK(davit_align_scores(database, scoring, q->length, NULL, wanted)); /* the symbols are not read */
    expect_scores(database, t, scoring, q, wanted);
    CHECK(davit_align_database_destroy(database));
  }
}

/* ---- searches ---- */

/* Lengths of queries around those of vectors and of the columns that are looked up together. */
CASE(test_search) {
  enum { MANY = 150 };
  static const int64_t lengths[] = {0, 1, 2, 31, 32, 33, 63, 64, 65, 97, 300};
  static const int32_t gaps[][2] = {{12, 1}, {5, 2}, {1, 1}, {3, 200}, {130, 1}};
  uint64_t random = 1;
  for (int k = 0; k < COUNT(lengths); k++) {
    const int symbols = k % 3 == 0 ? 4 : k % 3 == 1 ? 20 : 32;
    const sequence q = random_sequence(lengths[k], symbols, &random);
    sequence all[MANY];
    for (int i = 0; i < MANY; i++)
      all[i] = i % 9 ? random_sequence(random_below(&random, 90), symbols, &random)
                     : relative_of(&q, symbols, &random);
    const targets t = targets_of(MANY, all);
    const int8_t *profile = random_profile(&q, symbols, -9, 8, &random);
    const davit_align_scoring scoring =
        with_profile(symbols, profile, gaps[k % COUNT(gaps)][0], gaps[k % COUNT(gaps)][1]);
    if (!left_out())
      expect_search(&t, &scoring, &q);
  }
}

/* Scores beyond bytes and beyond 16 bits: of few targets of a batch, of many, and of single ones. */
CASE(test_large_scores) {
  enum { MANY = 40 };
  uint64_t random = 2;
  const sequence q = random_sequence(700, 20, &random);
  const int8_t *profile = random_profile(&q, 20, -128, 127, &random);
  const davit_align_scoring scoring = with_profile(20, profile, 40, 3);
  for (int related = 1; related <= MANY; related += 13) {
    sequence all[MANY];
    for (int i = 0; i < MANY; i++)
      all[i] = i < related ? relative_of(&q, 20, &random) : random_sequence(300, 20, &random);
    all[0].symbols = q.symbols;
    all[0].length = q.length;
    const targets t = targets_of(MANY, all);
    if (!left_out())
      expect_search(&t, &scoring, &q);
  }
}

/* The query in two halves, with 30 other symbols between, around the end of the fourth of the 64 lanes that a target may
 * be folded in: one lane has it whole if it goes on far enough. */
static void put_across_lanes(const sequence *q, sequence *t) {
  const int64_t half = q->length / 2, begin = (t->length + 63) / 64 * 4 - half / 2;
  memcpy(t->symbols + begin, q->symbols, (size_t)half);
  memcpy(t->symbols + begin + half + 30, q->symbols + half, (size_t)(q->length - half));
}

/* Few long targets: folded, striped, and in tiles by all threads. */
CASE(test_long_targets) {
  static const int64_t lengths[][2] = {{20, 60000}, {40, 60000}, {300, 20000}, {2000, 9000}};
  uint64_t random = 3;
  for (int k = 0; k < COUNT(lengths); k++) {
    const sequence q = random_sequence(lengths[k][0], 20, &random);
    sequence all[] = {random_sequence(lengths[k][1], 20, &random), relative_of(&q, 20, &random),
                      random_sequence(5000, 20, &random), random_sequence(10, 20, &random)};
    put_across_lanes(&q, &all[0]);
    const targets t = targets_of(COUNT(all), all);
    const int8_t *profile = random_profile(&q, 20, -8, 9, &random);
    const davit_align_scoring scoring = with_profile(20, profile, 11, 1);
    if (!left_out())
      expect_search(&t, &scoring, &q);
  }
}

/* ---- traces ---- */

static void expect_trace(const davit_align_scoring *scoring, const sequence *q, const sequence *t,
                         davit_align_mode mode, int64_t cells, int threads) {
  davit_align_result a;
  const char *cigar = trace(scoring, q, t, mode, cells, threads, &a);
  assert_int_equal(a.score, expected(mode, scoring, q, t));
  assert_int_equal(score_of_columns(scoring, q, t, &a, cigar), a.score);
}

CASE(test_traces) {
  static const davit_align_mode modes[] = {DAVIT_ALIGN_LOCAL, DAVIT_ALIGN_GLOBAL, DAVIT_ALIGN_SEMIGLOBAL};
  static const int64_t lengths[] = {0, 1, 2, 40, 129, 600};
  uint64_t random = 4;
  for (int k = 0; k < COUNT(lengths); k++)
    for (int related = 0; related < 2; related++)
      for (int m = 0; m < COUNT(modes); m++) {
        const sequence q = random_sequence(lengths[k], 20, &random),
                       t = related ? relative_of(&q, 20, &random) : random_sequence(150, 20, &random);
        const int8_t *profile = random_profile(&q, 20, -9, 8, &random);
        const davit_align_scoring scoring = with_profile(20, profile, 7 + k, 1 + k % 3);
        if (left_out())
          continue;
        expect_trace(&scoring, &q, &t, modes[m], 0, 1);
        expect_trace(&scoring, &q, &t, modes[m], DVT_ALIGN_TRACE_CELLS, 3);
      }
}

/* A short query in a long target, which is folded; and rows of several bands. */
CASE(test_long_traces) {
  uint64_t random = 5;
  const sequence q = random_sequence(60, 20, &random),
                 t = random_sequence(scaled(200000) + 20000, 20, &random);
  const sequence long_query = random_sequence(3000, 20, &random), kin = relative_of(&long_query, 20, &random);
  memcpy(t.symbols + t.length / 3, q.symbols, (size_t)q.length);
  const davit_align_scoring scoring = with_profile(20, random_profile(&q, 20, -9, 8, &random), 11, 1),
                            other = with_profile(20, random_profile(&long_query, 20, -9, 8, &random), 11, 1);
  expect_trace(&scoring, &q, &t, DAVIT_ALIGN_LOCAL, -1, 4);
  expect_trace(&other, &long_query, &kin, DAVIT_ALIGN_LOCAL, 5000, 4);
  expect_trace(&other, &long_query, &kin, DAVIT_ALIGN_GLOBAL, -1, 4);
}

/* ---- a matrix written as a profile ---- */

CASE(test_same_as_matrix) {
  uint64_t random = 6;
  const davit_align_scoring by_matrix = protein(12, 1);
  for (int k = 0; k < 12; k++) {
    const sequence q = random_sequence(1 + k * k * 7, 24, &random), t = relative_of(&q, 24, &random);
    int8_t *profile = kept((size_t)q.length * 24);
    for (int64_t j = 0; j < q.length; j++)
      for (int s = 0; s < 24; s++)
        profile[j + s * q.length] = by_matrix.matrix[q.symbols[j] + s * 24];
    const davit_align_scoring by_profile = with_profile(24, profile, 12, 1);
    davit_align_result a, b;
    for (davit_align_mode mode = 0; mode <= DAVIT_ALIGN_SEMIGLOBAL; mode++) {
      const char *cigar = trace(&by_matrix, &q, &t, mode, 400, 2, &a);
      assert_string_equal(trace(&by_profile, &q, &t, mode, 400, 2, &b), cigar);
      assert_memory_equal(&a, &b, sizeof a);
    }
  }
}

/* ---- what is refused ---- */

CASE(test_refused) {
  static const int8_t profile[3 * 4];
  static const uint8_t symbols[4];
  static const int64_t offsets[] = {0, 4};
  const davit_align_sequences one = {1, offsets, symbols};
  davit_align_scoring scoring = with_profile(4, profile, 2, 1);
  davit_align_database *database;
  davit_align_result result;
  int32_t score = 7;
  CHECK(davit_align_database_create(&one, 4, &database, NULL));
  CHECK(davit_align_scores(database, &scoring, 3, NULL, &score));
  assert_int_equal(score, 0);
  REFUSED(davit_align_trace(&scoring, 3, NULL, 4, symbols, &result, NULL, NULL), "query is NULL");
  REFUSED(davit_align_pairs(&scoring, &one, &one, &score, NULL, NULL, NULL),
          "scoring->profile is of one query, and here there are many");
  scoring.matrix = profile;
  REFUSED(davit_align_scores(database, &scoring, 3, NULL, &score),
          "scoring->matrix and scoring->profile exclude each other");
  scoring.profile = NULL;
  REFUSED(davit_align_scores(database, &scoring, 3, NULL, &score), "query is NULL");
  scoring.matrix = NULL;
  REFUSED(davit_align_scores(database, &scoring, 3, symbols, &score), "scoring->matrix is NULL");
  CHECK(davit_align_database_destroy(database));
}
