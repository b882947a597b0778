/* Local alignment against general gaps in O(n^3), against the reference and against parasail; the columns of
 * an alignment score what it says, whichever way they were found. */
#include "tests/elements.h"

#include <parasail.h>
#include <parasail/matrix_lookup.h>
#include <stdio.h>

#include "ref/ref.h"
#include "src/align.h"
#include "src/cli/formats/matrix.h"

enum { MOST_SYMBOLS = DAVIT_ALIGN_MOST_SYMBOLS, SQUARE = MOST_SYMBOLS * MOST_SYMBOLS };

/* ---- scoring ---- */

static cli_matrix protein_matrix;

static davit_scoring protein(int32_t gap_open, int32_t gap_extend) {
  cli_matrix_blosum62(&protein_matrix);
  return (davit_scoring){protein_matrix.symbols, protein_matrix.scores, gap_open, gap_extend};
}

static void fill_diagonal(int symbols, int8_t match, int8_t mismatch, int8_t *matrix) {
  for (int i = 0; i < symbols * symbols; i++)
    matrix[i] = i % symbols == i / symbols ? match : mismatch;
}

/* Not symmetric; scores of equal symbols are somewhat larger. */
static void fill_random(int symbols, int least, int most, uint64_t *random, int8_t *matrix) {
  for (int i = 0; i < symbols * symbols; i++) {
    const int score = least + random_below(random, most - least + 1);
    matrix[i] = (int8_t)(i % symbols == i / symbols && score < 0 ? -score - 1 : score);
  }
}

/* Gaps may adjoin, so an extension never costs more than an opening. */
static int64_t gap_cost(const davit_scoring *scoring, int64_t length) {
  const int64_t open = scoring->gap_open, extend = scoring->gap_extend < open ? scoring->gap_extend : open;
  return length ? open + (length - 1) * extend : 0;
}

static int score_of(const davit_scoring *scoring, uint8_t q, uint8_t t) {
  return scoring->matrix[q + t * scoring->symbols];
}

/* ---- sequences ---- */

typedef struct sequence {
  int64_t length;
  uint8_t *symbols;
} sequence;

static sequence sequence_new(int64_t length) {
  return (sequence){length, poisoned((size_t)length)};
}

static sequence random_sequence(int64_t length, int symbols, uint64_t *random) {
  sequence s = sequence_new(length);
  for (int64_t i = 0; i < length; i++)
    s.symbols[i] = (uint8_t)random_below(random, symbols);
  return s;
}

/* A relative: some symbols are others, some are lost, some repeated runs come in. */
static sequence relative_of(const sequence *s, int symbols, uint64_t *random) {
  sequence r = sequence_new(3 * s->length + 64);
  r.length = 0;
  for (int64_t i = 0; i < s->length; i++) {
    const int chance = random_below(random, 100);
    if (chance < 2)
      i += random_below(random, 30);
    else if (chance < 4)
      for (int k = random_below(random, 30); k > 0 && r.length < 2 * s->length; k--)
        r.symbols[r.length++] = (uint8_t)random_below(random, symbols);
    else
      r.symbols[r.length++] = chance < 30 ? (uint8_t)random_below(random, symbols) : s->symbols[i];
  }
  return r;
}

static void sequence_drop(sequence *s) {
  free(s->symbols);
  s->symbols = NULL;
}

static sequence sequence_of(const char *text, const char *letters) {
  sequence s = sequence_new((int64_t)strlen(text));
  for (int64_t i = 0; i < s.length; i++)
    s.symbols[i] = (uint8_t)(strchr(letters, text[i]) - letters);
  return s;
}

static int32_t reference(const davit_scoring *scoring, const sequence *q, const sequence *t) {
  int32_t *scratch = poisoned((size_t)(2 * (q->length + 1)) * sizeof *scratch);
  const int32_t score = dvt_ref_align_score(scoring, q->length, q->symbols, t->length, t->symbols, scratch);
  free(scratch);
  return score;
}

/* ---- what an alignment has to be ---- */

/* The score of the columns, which have to be those of the stretches. */
static int64_t score_of_columns(const davit_scoring *scoring, const sequence *q, const sequence *t,
                                const davit_alignment *a, const char *cigar) {
  int64_t i = a->query_begin, j = a->target_begin, score = 0;
  char before = 0;
  while (*cigar) {
    char *end;
    const int64_t count = strtoll(cigar, &end, 10);
    assert_true(end > cigar && count > 0 && strchr("=XID", *end) && *end != before);
    before = *end;
    cigar = end + 1;
    if (before == 'I' || before == 'D') {
      score -= gap_cost(scoring, count);
      i += before == 'I' ? count : 0;
      j += before == 'D' ? count : 0;
      continue;
    }
    for (int64_t k = 0; k < count; k++, i++, j++) {
      assert_true(i < q->length && j < t->length);
      assert_true((q->symbols[i] == t->symbols[j]) == (before == '='));
      score += score_of(scoring, q->symbols[i], t->symbols[j]);
    }
  }
  assert_int_equal(i, a->query_end);
  assert_int_equal(j, a->target_end);
  return score;
}

/* Of the alignments that score so it ends first in the target, then in the query: less of either does not
 * score so. */
static void expect_first_end(const davit_scoring *scoring, const sequence *q, const sequence *t,
                             const davit_alignment *a) {
  const sequence less_target = {a->target_end - 1, t->symbols}, to_end = {a->target_end, t->symbols};
  const sequence less_query = {a->query_end - 1, q->symbols}, to_query_end = {a->query_end, q->symbols};
  assert_true(reference(scoring, q, &less_target) < a->score);
  assert_true(reference(scoring, &less_query, &to_end) < a->score);
  assert_int_equal(reference(scoring, &to_query_end, &to_end), a->score);
}

static void expect_alignment(const davit_scoring *scoring, const sequence *q, const sequence *t,
                             int64_t cells, int32_t score) {
  davit_alignment a, b;
  char *cigar = NULL;
  CHECK(dvt_align_trace(scoring, q->length, q->symbols, t->length, t->symbols, cells, 1, &a, &cigar));
  CHECK(davit_align_trace(scoring, q->length, q->symbols, t->length, t->symbols, &b, NULL));
  assert_memory_equal(&a, &b, sizeof a);
  assert_int_equal(a.score, score);
  assert_true(0 <= a.query_begin && a.query_begin <= a.query_end && a.query_end <= q->length);
  assert_true(0 <= a.target_begin && a.target_begin <= a.target_end && a.target_end <= t->length);
  const int64_t is = score_of_columns(scoring, q, t, &a, cigar);
  if (is != score)
    fail_msg("%lld x %lld, limit %lld: the columns score %lld, not %d", (long long)q->length,
             (long long)t->length, (long long)cells, (long long)is, score);
  if (score == 0)
    assert_true(a.query_end == 0 && a.target_end == 0 && !*cigar);
  free(cigar);
}

/* ---- one pair ---- */

/* Every pair of positions by every gap that may lead there. */
static int32_t by_general_gaps(const davit_scoring *scoring, const sequence *q, const sequence *t) {
  enum { MOST = 32 };
  int64_t h[MOST][MOST] = {{0}}, best = 0;
  assert_true(q->length < MOST && t->length < MOST);
  for (int64_t i = 1; i <= q->length; i++)
    for (int64_t j = 1; j <= t->length; j++) {
      int64_t x = h[i - 1][j - 1] + score_of(scoring, q->symbols[i - 1], t->symbols[j - 1]);
      for (int64_t k = 1; k <= i; k++)
        if (h[i - k][j] - gap_cost(scoring, k) > x)
          x = h[i - k][j] - gap_cost(scoring, k);
      for (int64_t k = 1; k <= j; k++)
        if (h[i][j - k] - gap_cost(scoring, k) > x)
          x = h[i][j - k] - gap_cost(scoring, k);
      h[i][j] = x > 0 ? x : 0;
      best = h[i][j] > best ? h[i][j] : best;
    }
  return (int32_t)best;
}

static void test_general_gaps(void **state) {
  (void)state;
  const int repeats = scaled(4000);
  uint64_t random = 1;
  int gapped = 0;
  for (int repeat = 0; repeat < repeats; repeat++) {
    int8_t matrix[SQUARE];
    const int symbols = 1 + random_below(&random, 4);
    fill_random(symbols, -4, 6, &random, matrix);
    const davit_scoring scoring = {symbols, matrix, 1 + random_below(&random, 7),
                                   1 + random_below(&random, repeat % 3 ? 2 : 9)};
    sequence q = random_sequence(random_below(&random, 20), symbols, &random),
             t = random_sequence(random_below(&random, 20), symbols, &random);
    const int32_t score = by_general_gaps(&scoring, &q, &t);
    assert_int_equal(reference(&scoring, &q, &t), score);
    static const int64_t limits[] = {0, 1, 7, 40, 1 << 20};
    for (int l = 0; l < COUNT(limits); l++)
      expect_alignment(&scoring, &q, &t, limits[l], score);
    davit_alignment a;
    CHECK(davit_align_trace(&scoring, q.length, q.symbols, t.length, t.symbols, &a, NULL));
    if (score > 0)
      expect_first_end(&scoring, &q, &t, &a);
    gapped += a.query_end - a.query_begin != a.target_end - a.target_begin;
    sequence_drop(&q);
    sequence_drop(&t);
  }
  assert_true(gapped > repeats / 20);
}

/* The matrix of the thesis with its errors corrected: H of each prefix of rows and of columns. */
static const char worked_rows[] = "TCTATATCCGT", worked_cols[] = "ATGCATCCCATGAC";
static const int worked[11][14] = {
    {0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0}, {0, 0, 0, 2, 0, 0, 4, 2, 2, 0, 0, 0, 0, 2},
    {0, 2, 0, 0, 0, 2, 2, 1, 0, 0, 2, 0, 0, 0}, {2, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 2, 0},
    {0, 4, 2, 0, 0, 4, 2, 0, 0, 0, 4, 2, 0, 0}, {2, 2, 1, 0, 2, 2, 1, 0, 0, 2, 2, 1, 4, 2},
    {0, 4, 2, 0, 0, 4, 2, 0, 0, 0, 4, 2, 2, 1}, {0, 2, 1, 4, 2, 2, 6, 4, 2, 0, 2, 1, 0, 4},
    {0, 0, 0, 3, 1, 0, 4, 8, 6, 4, 2, 0, 0, 2}, {0, 0, 2, 1, 0, 0, 2, 6, 5, 3, 1, 4, 2, 0},
    {0, 2, 0, 0, 0, 2, 0, 4, 3, 2, 5, 3, 1, 0}};

static int32_t worked_best(int64_t rows, int64_t cols) {
  int best = 0;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++)
      best = worked[i][j] > best ? worked[i][j] : best;
  return best;
}

static void test_worked_example(void **state) {
  (void)state;
  int8_t matrix[16];
  fill_diagonal(4, 2, -3, matrix);
  const davit_scoring scoring = {4, matrix, 2, 2};
  sequence rows = sequence_of(worked_rows, "ACGT"), cols = sequence_of(worked_cols, "ACGT");
  for (int64_t m = 0; m <= rows.length; m++)
    for (int64_t n = 0; n <= cols.length; n++) {
      const sequence q = {m, rows.symbols}, t = {n, cols.symbols};
      assert_int_equal(reference(&scoring, &q, &t), worked_best(m, n));
      expect_alignment(&scoring, &q, &t, 0, worked_best(m, n));
      expect_alignment(&scoring, &t, &q, 20, worked_best(m, n));
    }
  davit_alignment a;
  char *cigar;
  CHECK(davit_align_trace(&scoring, cols.length, cols.symbols, rows.length, rows.symbols, &a, &cigar));
  assert_int_equal(a.score, 8);
  assert_int_equal(a.query_end, 8);
  assert_int_equal(a.target_end, 9);
  assert_string_equal(cigar, "4=");
  free(cigar);
  sequence_drop(&rows);
  sequence_drop(&cols);
}

/* ---- parasail ---- */

static const char generic_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef";

/* Its matrix for ours, symbol k being letter k, for its striped functions: they take rows for the target's
 * symbols, where parasail_sw() takes them for the query's. */
static parasail_matrix_t *parasail_matrix_of(const davit_scoring *scoring) {
  char letters[MOST_SYMBOLS + 1] = "";
  memcpy(letters, generic_letters, (size_t)scoring->symbols);
  parasail_matrix_t *matrix = parasail_matrix_create_case_sensitive(letters, 1, -1);
  assert_non_null(matrix);
  for (int q = 0; q < scoring->symbols; q++)
    for (int t = 0; t < scoring->symbols; t++)
      parasail_matrix_set_value(matrix, t, q, scoring->matrix[q + t * scoring->symbols]);
  return matrix;
}

static char *text_of(const sequence *s) {
  char *text = poisoned((size_t)s->length + 1);
  for (int64_t i = 0; i < s->length; i++)
    text[i] = generic_letters[s->symbols[i]];
  text[s->length] = 0;
  return text;
}

/* Its plain loops are right for all penalties, its vectors (parasail 2.6: striped and scan) only where an
 * opening costs more than an extension: else they stop following gaps too early. */
static int32_t by_parasail(const davit_scoring *scoring, const parasail_matrix_t *matrix, const sequence *q,
                           const sequence *t, bool vectors) {
  if (q->length == 0 || t->length == 0)
    return 0;
  char *query = text_of(q), *target = text_of(t);
  const int m = (int)q->length, n = (int)t->length, open = scoring->gap_open, extend = scoring->gap_extend;
  parasail_result_t *result = vectors ? parasail_sw_striped_32(query, m, target, n, open, extend, matrix)
                                      : parasail_sw(target, n, query, m, open, extend, matrix);
  assert_non_null(result);
  const int32_t score = parasail_result_get_score(result);
  parasail_result_free(result);
  free(query);
  free(target);
  return score;
}

static void expect_as_parasail(const davit_scoring *scoring, const sequence *q, const sequence *t) {
  parasail_matrix_t *matrix = parasail_matrix_of(scoring);
  const int32_t score = by_parasail(scoring, matrix, q, t, false);
  if (scoring->gap_open > scoring->gap_extend)
    assert_int_equal(by_parasail(scoring, matrix, q, t, true), score);
  parasail_matrix_free(matrix);
  assert_int_equal(reference(scoring, q, t), score);
  expect_alignment(scoring, q, t, 0, score);
  expect_alignment(scoring, q, t, DVT_ALIGN_TRACE_CELLS, score);
}

static void test_matrices(void **state) {
  (void)state;
  const davit_scoring blosum = protein(11, 1);
  const parasail_matrix_t *theirs = parasail_matrix_lookup("blosum62");
  assert_int_equal(blosum.symbols, theirs->size);
  for (int c = 0; c < 128; c++) {
    const int code = protein_matrix.code[c];
    const bool rare = c && strchr("UuOoJj", c); /* which the matrix lacks: X here, foreign there */
    assert_int_equal(theirs->mapper[c], rare || code == CLI_FOREIGN_LETTER ? 23 : code);
    assert_true(!rare || code == protein_matrix.code['X']);
  }
  for (int q = 0; q < blosum.symbols; q++)
    for (int t = 0; t < blosum.symbols; t++)
      assert_int_equal(blosum.matrix[q + t * blosum.symbols], theirs->matrix[q * theirs->size + t]);
  cli_matrix dna;
  cli_matrix_dna(5, -4, &dna);
  assert_string_equal(dna.letters, "ACGTN");
  assert_int_equal(dna.code['u'], dna.code['T']);
  for (const char *c = "RYSWKMBDHVrn"; *c; c++)
    assert_int_equal(dna.code[(int)*c], dna.code['N']);
  assert_int_equal(dna.code['E'], CLI_FOREIGN_LETTER);
  for (int i = 0; i < 25; i++)
    assert_int_equal(dna.scores[i], i % 6 == 0 && i < 24 ? 5 : -4);
}

static void test_parasail(void **state) {
  (void)state;
  static const int64_t lengths[] = {0, 1, 2, 3, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 255, 375, 1000};
  static const int32_t gaps[][2] = {{11, 1}, {10, 10}, {5, 2}, {1, 1}, {3, 7}, {200, 100}};
  uint64_t random = 2;
  for (int a = 0; a < COUNT(lengths); a++)
    for (int b = 0; b < COUNT(lengths); b++) {
      const int32_t *gap = gaps[(a + b) % COUNT(gaps)];
      int8_t dna[16], any[SQUARE];
      fill_diagonal(4, 2, -3, dna);
      fill_random(31, -9, 7, &random, any);
      const davit_scoring scorings[] = {
          protein(gap[0], gap[1]), {4, dna, gap[0], gap[1]}, {31, any, gap[0], gap[1]}};
      const davit_scoring *scoring = &scorings[(a * 5 + b) % 3];
      sequence q = random_sequence(lengths[a], scoring->symbols, &random),
               t = random_sequence(lengths[b], scoring->symbols, &random),
               r = relative_of(&q, scoring->symbols, &random);
      expect_as_parasail(scoring, &q, &t);
      expect_as_parasail(scoring, &q, &r);
      sequence_drop(&q);
      sequence_drop(&t);
      sequence_drop(&r);
    }
}

/* Any number of threads finds the same stretches, and columns that score the same. */
static void test_thread_counts(void **state) {
  (void)state;
  static const int threads[] = {1, 2, 3, 7};
  uint64_t random = 17;
  const davit_scoring scoring = protein(11, 1);
  for (int repeat = 0; repeat < 4; repeat++) {
    sequence q = random_sequence(repeat % 2 ? 1500 : 4000, 20, &random),
             t = repeat < 2 ? relative_of(&q, 20, &random) : random_sequence(2600, 20, &random);
    davit_alignment first = {0}, a;
    for (int k = 0; k < COUNT(threads); k++) {
      char *cigar;
      CHECK(
          dvt_align_trace(&scoring, q.length, q.symbols, t.length, t.symbols, 1000, threads[k], &a, &cigar));
      first = k ? first : a;
      assert_memory_equal(&a, &first, sizeof a);
      assert_int_equal(score_of_columns(&scoring, &q, &t, &a, cigar), a.score);
      free(cigar);
    }
    assert_int_equal(reference(&scoring, &q, &t), first.score);
    sequence_drop(&q);
    sequence_drop(&t);
  }
}

static void put_run(sequence *s, uint8_t symbol, int64_t count) {
  memset(s->symbols + s->length, symbol, (size_t)count);
  s->length += count;
}

/* Two begins score the same: one with less of the target and far more of the query, in the rows of another
 * thread, which comes to that column later. */
static void test_begins_far_apart(void **state) {
  (void)state;
  enum {
    SYMBOLS = 5,
    EACH = 127,
    FOREIGN = 2200,
    NEAR = 16,
    FAR = 40,
    BETWEEN = FAR * EACH + FAR - NEAR * (EACH + 1)
  };
  int8_t matrix[SYMBOLS * SYMBOLS];
  fill_diagonal(SYMBOLS, EACH, -EACH, matrix);
  const davit_scoring scoring = {SYMBOLS, matrix, 1, 1};
  sequence q = {0, poisoned(5000)}, t = {0, poisoned(5000)};
  put_run(&q, 2, FAR);
  put_run(&q, 3, BETWEEN);
  put_run(&q, 1, NEAR);
  put_run(&q, 0, 100);
  put_run(&t, 4, FOREIGN);
  put_run(&t, 1, NEAR);
  put_run(&t, 2, FAR);
  put_run(&t, 0, 100);
  for (int threads = 1; threads < 8; threads++) {
    davit_alignment a;
    char *cigar;
    CHECK(dvt_align_trace(&scoring, q.length, q.symbols, t.length, t.symbols, 0, threads, &a, &cigar));
    assert_int_equal(a.score, (100 + NEAR) * EACH - FAR);
    assert_true(a.query_begin == 0 && a.target_begin == FOREIGN + NEAR);
    assert_string_equal(cigar, "40=3088I100=");
    free(cigar);
  }
  sequence_drop(&q);
  sequence_drop(&t);
}

static void test_long_pairs(void **state) {
  (void)state;
  const int sizes[][2] = {{20000, 3000}, {12000, 12000}};
  uint64_t random = 3;
  const davit_scoring scoring = protein(11, 1);
  parasail_matrix_t *matrix = parasail_matrix_of(&scoring);
  for (int k = 0; k < COUNT(sizes); k++) {
    sequence q = random_sequence(scaled(sizes[k][0]), 20, &random),
             t = k ? relative_of(&q, 20, &random) : random_sequence(scaled(sizes[k][1]), 20, &random);
    expect_alignment(&scoring, &q, &t, DVT_ALIGN_TRACE_CELLS, by_parasail(&scoring, matrix, &q, &t, true));
    sequence_drop(&q);
    sequence_drop(&t);
  }
  parasail_matrix_free(matrix);
}

/* ---- properties ---- */

static void test_self(void **state) {
  (void)state;
  uint64_t random = 4;
  const davit_scoring scoring = protein(11, 1);
  for (int length = 1; length < 2000; length = length * 3 + 1) {
    sequence s = random_sequence(length, 20, &random);
    int32_t score = 0;
    char wanted[32], *cigar;
    davit_alignment a;
    for (int i = 0; i < length; i++)
      score += score_of(&scoring, s.symbols[i], s.symbols[i]);
    snprintf(wanted, sizeof wanted, "%d=", length);
    for (int limit = 0; limit < 2; limit++) {
      CHECK(dvt_align_trace(&scoring, length, s.symbols, length, s.symbols, limit << 20, 0, &a, &cigar));
      assert_int_equal(a.score, score);
      assert_true(a.query_begin == 0 && a.query_end == length);
      assert_true(a.target_begin == 0 && a.target_end == length);
      assert_string_equal(cigar, wanted);
      free(cigar);
    }
    sequence_drop(&s);
  }
}

/* Query and target change places with the matrix's rows and columns. */
static void test_transposed(void **state) {
  (void)state;
  uint64_t random = 5;
  for (int repeat = 0; repeat < scaled(100); repeat++) {
    int8_t matrix[SQUARE], transposed[SQUARE];
    fill_random(6, -5, 5, &random, matrix);
    for (int q = 0; q < 6; q++)
      for (int t = 0; t < 6; t++)
        transposed[t + q * 6] = matrix[q + t * 6];
    const davit_scoring one = {6, matrix, 7, 2}, other = {6, transposed, 7, 2};
    sequence q = random_sequence(random_below(&random, 200), 6, &random),
             t = random_sequence(random_below(&random, 200), 6, &random);
    const int32_t score = reference(&one, &q, &t);
    assert_int_equal(reference(&other, &t, &q), score);
    expect_alignment(&one, &q, &t, 64, score);
    expect_alignment(&other, &t, &q, 64, score);
    sequence_drop(&q);
    sequence_drop(&t);
  }
}

/* The same symbol behind both never makes the score fall. */
static void test_growing(void **state) {
  (void)state;
  uint64_t random = 6;
  int8_t dna[16];
  fill_diagonal(4, 1, -2, dna);
  const davit_scoring scoring = {4, dna, 3, 1};
  sequence q = random_sequence(300, 4, &random), t = random_sequence(300, 4, &random);
  int32_t before = 0;
  for (int64_t length = 0; length < 200; length++) {
    const sequence a = {length + 1, q.symbols}, b = {length + 1, t.symbols};
    t.symbols[length] = random_below(&random, 2) ? t.symbols[length] : q.symbols[length];
    const int32_t score = reference(&scoring, &a, &b);
    assert_true(score >= before);
    expect_alignment(&scoring, &a, &b, 100, score);
    before = score;
  }
  sequence_drop(&q);
  sequence_drop(&t);
}

static sequence joined(const sequence *a, const sequence *middle, int64_t count, const sequence *b) {
  sequence s = sequence_new(a->length + count + b->length);
  memcpy(s.symbols, a->symbols, (size_t)a->length);
  memcpy(s.symbols + a->length, middle->symbols, (size_t)count);
  memcpy(s.symbols + a->length + count, b->symbols, (size_t)b->length);
  return s;
}

/* One gap of any length, which the cuts of the target meet at its begin, inside and at its end. The symbol of
 * the gap is that of no other place, so that there is one best alignment. */
static void test_one_gap(void **state) {
  (void)state;
  int8_t matrix[25];
  fill_diagonal(5, 2, -3, matrix);
  const davit_scoring scoring = {5, matrix, 6, 1};
  uint64_t random = 7;
  for (int length = 1; length <= 60; length++)
    for (int before = 40; before < 100; before += 7) {
      sequence head = random_sequence(before, 4, &random), tail = random_sequence(70, 4, &random),
               foreign = sequence_new(length);
      memset(foreign.symbols, 4, (size_t)length);
      head.symbols[before - 1] = 0; /* so that the gap cannot be moved */
      tail.symbols[0] = 1;
      sequence with = joined(&head, &foreign, length, &tail), without = joined(&head, &foreign, 0, &tail);
      char wanted[64], *cigar;
      davit_alignment a;
      snprintf(wanted, sizeof wanted, "%d=%dD70=", before, length);
      CHECK(dvt_align_trace(&scoring, without.length, without.symbols, with.length, with.symbols, 0, 0, &a,
                            &cigar));
      assert_string_equal(cigar, wanted);
      free(cigar);
      snprintf(wanted, sizeof wanted, "%d=%dI70=", before, length);
      CHECK(dvt_align_trace(&scoring, with.length, with.symbols, without.length, without.symbols, 0, 0, &a,
                            &cigar));
      assert_string_equal(cigar, wanted);
      free(cigar);
      sequence_drop(&head);
      sequence_drop(&tail);
      sequence_drop(&foreign);
      sequence_drop(&with);
      sequence_drop(&without);
    }
}

/* Penalties and scores at the ends of their ranges. */
static void test_extremes(void **state) {
  (void)state;
  static const int32_t gaps[][2] = {{INT32_MAX, INT32_MAX}, {INT32_MAX, 1}, {1, INT32_MAX}, {1, 1}};
  uint64_t random = 8;
  int8_t matrix[SQUARE];
  for (int g = 0; g < COUNT(gaps); g++)
    for (int fill = 0; fill < 3; fill++) {
      for (int i = 0; i < SQUARE; i++)
        matrix[i] = fill == 0 ? INT8_MIN : fill == 1 ? INT8_MAX : i % 33 ? INT8_MIN : INT8_MAX;
      const davit_scoring scoring = {32, matrix, gaps[g][0], gaps[g][1]};
      sequence q = random_sequence(500, 32, &random), t = relative_of(&q, 32, &random);
      const int32_t score = reference(&scoring, &q, &t);
      assert_true(fill ? score > 0 : score == 0);
      expect_alignment(&scoring, &q, &t, 0, score);
      expect_alignment(&scoring, &q, &t, 1 << 20, score);
      sequence_drop(&q);
      sequence_drop(&t);
    }
}

/* ---- databases ---- */

typedef struct targets {
  davit_sequences view;
  int64_t *offsets;
  uint8_t *symbols;
} targets;

static targets targets_of(int64_t count, const sequence *all) {
  targets t = {.offsets = poisoned((size_t)(count + 1) * sizeof(int64_t))};
  t.offsets[0] = 0;
  for (int64_t k = 0; k < count; k++)
    t.offsets[k + 1] = t.offsets[k] + all[k].length;
  t.symbols = poisoned((size_t)t.offsets[count]);
  for (int64_t k = 0; k < count; k++)
    memcpy(t.symbols + t.offsets[k], all[k].symbols, (size_t)all[k].length);
  t.view = (davit_sequences){count, t.offsets, t.symbols};
  return t;
}

static sequence target_at(const targets *t, int64_t k) {
  return (sequence){t->offsets[k + 1] - t->offsets[k], t->symbols + t->offsets[k]};
}

static void targets_drop(targets *t) {
  free(t->offsets);
  free(t->symbols);
}

static int32_t *expected_scores(const targets *t, const davit_scoring *scoring, const sequence *q) {
  int32_t *scores = poisoned((size_t)t->view.count * sizeof *scores);
  for (int64_t k = 0; k < t->view.count; k++) {
    const sequence target = target_at(t, k);
    scores[k] = reference(scoring, q, &target);
  }
  return scores;
}

static void expect_scores(davit_database *database, const targets *t, const davit_scoring *scoring,
                          const sequence *q, const int32_t *wanted) {
  const size_t bytes = (size_t)t->view.count * sizeof(int32_t);
  zone z = zone_new(bytes, DAVIT_PAGEABLE, 4);
  int32_t *scores = poisoned(bytes);
  CHECK(davit_align_scores(database, scoring, q->length, q->symbols, zone_data(&z)));
  zone_take(&z, scores);
  for (int64_t k = 0; k < t->view.count; k++)
    if (scores[k] != wanted[k])
      fail_msg("query of %lld, target %lld of %lld: %d, not %d", (long long)q->length, (long long)k,
               (long long)(t->offsets[k + 1] - t->offsets[k]), scores[k], wanted[k]);
  free(scores);
  zone_drop(&z);
}

/* The best, by looking for the next one again and again. */
static void expect_hits(davit_database *database, const targets *t, const davit_scoring *scoring,
                        const sequence *q, int64_t top, const int32_t *wanted) {
  const size_t bytes = (size_t)top * sizeof(davit_hit);
  zone z = zone_new(bytes, DAVIT_PAGEABLE, 8);
  davit_hit *hits = poisoned(bytes);
  bool *taken = calloc((size_t)t->view.count + 1, sizeof *taken);
  int64_t found = -1, count = 0;
  CHECK(davit_align_search(database, scoring, q->length, q->symbols, top, zone_data(&z), &found));
  zone_take(&z, hits);
  for (; count < top; count++) {
    int64_t best = -1;
    for (int64_t k = 0; k < t->view.count; k++)
      if (!taken[k] && wanted[k] > 0 && (best < 0 || wanted[k] > wanted[best]))
        best = k;
    if (best < 0)
      break;
    taken[best] = true;
    assert_true(count < found);
    assert_int_equal(hits[count].target, best);
    assert_int_equal(hits[count].score, wanted[best]);
  }
  assert_int_equal(found, count);
  free(taken);
  free(hits);
  zone_drop(&z);
}

/* By every device alone, by all of them, and by those of no choice. */
typedef struct device_list {
  int count;
  int devices[MOST_PLACES];
} device_list;

static int device_lists(device_list lists[MOST_PLACES + 2]) {
  int all[MOST_PLACES], count = all_devices(all), kept = 0;
  for (int d = 0; d < count && d < 3; d++)
    lists[kept++] = (device_list){1, {all[d]}};
  lists[kept].count = count < 16 ? count : 16;
  memcpy(lists[kept++].devices, all, sizeof all);
  lists[kept++] = (device_list){0, {0}};
  return kept;
}

static davit_database *database_on(const targets *t, int symbols, const device_list *list) {
  davit_database *database = NULL;
  CHECK(davit_database_create(&t->view, symbols, list->count ? list->devices : NULL, list->count, &database));
  assert_non_null(database);
  return database;
}

/* One query after the other by one database, on all lists of devices. */
static void expect_all(const targets *t, const davit_scoring *scoring, int queries, const sequence *query) {
  device_list *lists = poisoned((MOST_PLACES + 2) * sizeof *lists);
  const int count = device_lists(lists);
  int32_t *wanted[8];
  assert_true(queries <= COUNT(wanted));
  for (int q = 0; q < queries; q++)
    wanted[q] = expected_scores(t, scoring, &query[q]);
  for (int l = 0; l < count; l++) {
    davit_database *database = database_on(t, scoring->symbols, &lists[l]);
    for (int q = 0; q < queries; q++) {
      expect_scores(database, t, scoring, &query[q], wanted[q]);
      expect_hits(database, t, scoring, &query[q], 10, wanted[q]);
    }
    CHECK(davit_database_destroy(database));
  }
  for (int q = 0; q < queries; q++)
    free(wanted[q]);
  free(lists);
}

/* ---- what is in them ---- */

static void test_small_databases(void **state) {
  (void)state;
  static const int64_t lengths[] = {0, 1, 2, 33, 375};
  uint64_t random = 9;
  const davit_scoring scoring = protein(11, 1);
  sequence queries[COUNT(lengths)], many[40];
  for (int q = 0; q < COUNT(lengths); q++)
    queries[q] = random_sequence(lengths[q], 24, &random);
  for (int k = 0; k < COUNT(many); k++)
    many[k] = random_sequence(k % 3 ? k * k % 97 : 0, 24, &random);
  static const int counts[] = {0, 1, 2, 3, 31, 32, 33, 40};
  for (int c = 0; c < COUNT(counts); c++) {
    targets t = targets_of(counts[c], many);
    expect_all(&t, &scoring, COUNT(queries), queries);
    targets_drop(&t);
  }
  for (int q = 0; q < COUNT(queries); q++)
    sequence_drop(&queries[q]);
  for (int k = 0; k < COUNT(many); k++)
    sequence_drop(&many[k]);
}

static void test_random_database(void **state) {
  (void)state;
  enum { MANY = 1000 };
  static const int64_t lengths[] = {0, 1, 33, 375, 1000};
  const int count = scaled(MANY);
  uint64_t random = 10;
  int8_t any[SQUARE];
  fill_random(20, -6, 5, &random, any);
  const davit_scoring scorings[] = {protein(11, 1), {20, any, 4, 3}};
  sequence queries[COUNT(lengths)], many[MANY];
  for (int q = 0; q < COUNT(lengths); q++)
    queries[q] = random_sequence(lengths[q], 20, &random);
  for (int k = 0; k < count; k++)
    many[k] = k % 10 ? random_sequence(random_below(&random, k % 7 ? 200 : 600), 20, &random)
                     : relative_of(&queries[k / 10 % COUNT(lengths)], 20, &random);
  targets t = targets_of(count, many);
  for (int s = 0; s < COUNT(scorings); s++)
    expect_all(&t, &scorings[s], COUNT(queries), queries);
  targets_drop(&t);
  for (int q = 0; q < COUNT(queries); q++)
    sequence_drop(&queries[q]);
  for (int k = 0; k < count; k++)
    sequence_drop(&many[k]);
}

/* A sequence that scores `score` with itself: symbol 1 scores 127, symbol 0 scores 1. */
static sequence scoring_itself(int score) {
  sequence s = sequence_new(score / 127 + score % 127);
  memset(s.symbols, 0, (size_t)s.length);
  memset(s.symbols, 1, (size_t)(score / 127));
  return s;
}

/* Scores on both sides of what narrow words hold. */
static void test_score_limits(void **state) {
  (void)state;
  static const int scores[] = {126,  127,   128,   129,   253,   254,   255,   256,   257,   2047,  2048,
                               2049, 32766, 32767, 32768, 32769, 65534, 65535, 65536, 65537, 70000, 100000};
  int8_t matrix[9] = {1, -128, -128, -128, 127, -128, -128, -128, -128};
  const davit_scoring scoring = {3, matrix, 1000, 1000};
  sequence s[COUNT(scores)];
  for (int k = 0; k < COUNT(scores); k++)
    s[k] = scoring_itself(scores[k]);
  targets t = targets_of(COUNT(scores), s);
  for (int k = 0; k < COUNT(scores); k++)
    assert_int_equal(reference(&scoring, &s[k], &s[k]), scores[k]);
  for (int k = 0; k < COUNT(scores); k += 7)
    expect_all(&t, &scoring, COUNT(scores) - k < 7 ? COUNT(scores) - k : 7, &s[k]);
  targets_drop(&t);
  for (int k = 0; k < COUNT(scores); k++)
    sequence_drop(&s[k]);
}

/* W and C, which score 11 and 9 with themselves. */
static sequence heavy_sequence(int64_t length, uint64_t *random) {
  sequence s = random_sequence(length, 2, random);
  for (int64_t i = 0; i < length; i++)
    s.symbols[i] = s.symbols[i] ? 17 : 4;
  return s;
}

/* Long targets among short ones, whose scores pass 65535 by many steps and with gaps. */
static void test_long_targets(void **state) {
  (void)state;
  uint64_t random = 11;
  const davit_scoring scoring = protein(11, 1);
  sequence queries[2] = {heavy_sequence(scaled(8000), &random), random_sequence(300, 20, &random)};
  sequence all[6] = {random_sequence(10, 20, &random), relative_of(&queries[0], 20, &random),
                     random_sequence(0, 20, &random),  relative_of(&queries[1], 20, &random),
                     sequence_new(queries[0].length),  random_sequence(scaled(100000) / 20, 20, &random)};
  memcpy(all[4].symbols, queries[0].symbols, (size_t)queries[0].length);
  targets t = targets_of(COUNT(all), all);
  expect_all(&t, &scoring, 2, queries);
  targets_drop(&t);
  for (int k = 0; k < COUNT(all); k++)
    sequence_drop(&all[k]);
  sequence_drop(&queries[0]);
  sequence_drop(&queries[1]);
}

static void test_extreme_databases(void **state) {
  (void)state;
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
      const davit_scoring scoring = {32, matrix, gaps[g][0], gaps[g][1]};
      expect_all(&t, &scoring, 1, &query);
    }
  targets_drop(&t);
  for (int k = 0; k < COUNT(all); k++)
    sequence_drop(&all[k]);
  sequence_drop(&query);
}

/* A database outlives its targets' memory and takes one scoring after the other. */
static void test_own_memory(void **state) {
  (void)state;
  uint64_t random = 13;
  sequence all[50], query = random_sequence(120, 4, &random);
  for (int k = 0; k < COUNT(all); k++)
    all[k] = random_sequence(random_below(&random, 300), 4, &random);
  targets t = targets_of(COUNT(all), all), lent = targets_of(COUNT(all), all);
  davit_database *database = database_on(&lent, 4, &(device_list){0, {0}});
  targets_drop(&lent);
  for (int repeat = 0; repeat < 10; repeat++) {
    int8_t matrix[16];
    fill_random(4, -4, 4, &random, matrix);
    const davit_scoring scoring = {4, matrix, 1 + repeat, 1 + repeat % 3};
    const sequence q = {query.length - 11 * repeat, query.symbols};
    int32_t *wanted = expected_scores(&t, &scoring, &q);
    expect_scores(database, &t, &scoring, &q, wanted);
    free(wanted);
  }
  CHECK(davit_database_destroy(database));
  targets_drop(&t);
  sequence_drop(&query);
  for (int k = 0; k < COUNT(all); k++)
    sequence_drop(&all[k]);
}

/* Equal targets come in their own order; `top` at, below and above the number of targets. */
static void test_ties(void **state) {
  (void)state;
  enum { MANY = 70 };
  uint64_t random = 14;
  int8_t dna[16];
  fill_diagonal(4, 1, -9, dna);
  const davit_scoring scoring = {4, dna, 9, 9};
  sequence query = random_sequence(40, 4, &random), all[MANY];
  for (int k = 0; k < MANY; k++)
    all[k] = (sequence){k % 5 * 3, query.symbols}; /* scores 0, 3, 6, 9 and 12, or by chance a little more */
  targets t = targets_of(MANY, all);
  int32_t *wanted = expected_scores(&t, &scoring, &query);
  device_list *lists = poisoned((MOST_PLACES + 2) * sizeof *lists);
  const int count = device_lists(lists);
  static const int64_t tops[] = {0, 1, 2, 13, 14, 15, 56, 57, 69, 70, 71, 500};
  for (int l = 0; l < count; l++) {
    davit_database *database = database_on(&t, 4, &lists[l]);
    for (int k = 0; k < COUNT(tops); k++)
      expect_hits(database, &t, &scoring, &query, tops[k], wanted);
    CHECK(davit_database_destroy(database));
  }
  free(lists);
  free(wanted);
  targets_drop(&t);
  sequence_drop(&query);
}

/* ---- threads ---- */

typedef struct caller {
  pthread_t thread;
  davit_database *database;
  const targets *t;
  const davit_scoring *scoring;
  sequence query;
  bool right;
} caller;

static void *call_often(void *argument) {
  caller *c = argument;
  int32_t *wanted = expected_scores(c->t, c->scoring, &c->query);
  int32_t *scores = poisoned((size_t)c->t->view.count * sizeof *scores);
  c->right = true;
  for (int repeat = 0; repeat < 10; repeat++) {
    davit_alignment a;
    const sequence first = target_at(c->t, 0);
    c->right = c->right &&
               davit_align_scores(c->database, c->scoring, c->query.length, c->query.symbols, scores) ==
                   DAVIT_SUCCESS &&
               !memcmp(scores, wanted, (size_t)c->t->view.count * sizeof *scores) &&
               davit_align_trace(c->scoring, c->query.length, c->query.symbols, first.length, first.symbols,
                                 &a, NULL) == DAVIT_SUCCESS &&
               a.score == wanted[0];
  }
  free(scores);
  free(wanted);
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  enum { CALLERS = 4 };
  uint64_t random = 15;
  const davit_scoring scoring = protein(11, 1);
  sequence all[60];
  for (int k = 0; k < COUNT(all); k++)
    all[k] = random_sequence(1 + random_below(&random, 150), 20, &random);
  targets t = targets_of(COUNT(all), all);
  davit_database *database = database_on(&t, scoring.symbols, &(device_list){0, {0}});
  caller callers[CALLERS];
  for (int k = 0; k < CALLERS; k++) {
    callers[k] = (caller){.database = database,
                          .t = &t,
                          .scoring = &scoring,
                          .query = random_sequence(50 + 60 * k, 20, &random)};
    assert_int_equal(pthread_create(&callers[k].thread, NULL, call_often, &callers[k]), 0);
  }
  for (int k = 0; k < CALLERS; k++) {
    assert_int_equal(pthread_join(callers[k].thread, NULL), 0);
    assert_true(callers[k].right);
    sequence_drop(&callers[k].query);
  }
  CHECK(davit_database_destroy(database));
  targets_drop(&t);
  for (int k = 0; k < COUNT(all); k++)
    sequence_drop(&all[k]);
}

/* ---- refusals ---- */

static const davit_status bad = DAVIT_INVALID_ARGUMENT;
static uint8_t three[3] = {0, 1, 2};

static void expect_scoring_refused(const davit_scoring *scoring, davit_database *database,
                                   const char *words) {
  davit_alignment a;
  davit_hit hit;
  int32_t scores[2];
  int64_t found;
  CHECK_FAILS(davit_align_trace(scoring, 3, three, 3, three, &a, NULL), bad, words);
  CHECK_FAILS(davit_align_scores(database, scoring, 3, three, scores), bad, words);
  CHECK_FAILS(davit_align_search(database, scoring, 3, three, 1, &hit, &found), bad, words);
}

static davit_database *two_targets(void) {
  static const int64_t offsets[] = {0, 1, 3};
  const davit_sequences view = {2, offsets, three};
  davit_database *database = NULL;
  CHECK(davit_database_create(&view, 3, NULL, 0, &database));
  return database;
}

static void test_bad_scoring(void **state) {
  (void)state;
  int8_t matrix[9] = {0};
  davit_database *database = two_targets();
  const davit_scoring good = {3, matrix, 2, 1};
  davit_scoring s = good;
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
  CHECK(davit_database_destroy(database));
}

static void test_bad_trace(void **state) {
  (void)state;
  int8_t matrix[9] = {0};
  const davit_scoring scoring = {3, matrix, 2, 1};
  davit_alignment a = {.score = -7};
  char *cigar = (char *)matrix;
  uint8_t foreign[3] = {0, 3, 0};
  CHECK_FAILS(davit_align_trace(&scoring, -1, three, 3, three, &a, &cigar), bad, "m is -1");
  CHECK_FAILS(davit_align_trace(&scoring, 3, NULL, 3, three, &a, &cigar), bad, "query is NULL");
  CHECK_FAILS(davit_align_trace(&scoring, 3, three, -1, three, &a, &cigar), bad, "n is -1");
  CHECK_FAILS(davit_align_trace(&scoring, 3, three, 3, NULL, &a, &cigar), bad, "target is NULL");
  CHECK_FAILS(davit_align_trace(&scoring, 3, foreign, 3, three, &a, &cigar), bad, "query: symbol 1 is 3");
  CHECK_FAILS(davit_align_trace(&scoring, 3, three, 3, foreign, &a, &cigar), bad, "target: symbol 1 is 3");
  CHECK_FAILS(davit_align_trace(&scoring, 3, three, 3, three, NULL, &cigar), bad, "alignment is NULL");
  assert_true(a.score == -7 && cigar == (char *)matrix);
  CHECK(davit_align_trace(&scoring, 0, NULL, 0, NULL, &a, &cigar));
  assert_true(a.score == 0 && !*cigar);
  free(cigar);
}

static void test_bad_database(void **state) {
  (void)state;
  static const int64_t offsets[] = {0, 1, 3}, falling[] = {0, 2, 1}, negative[] = {-1, 1, 3};
  static const uint8_t foreign[3] = {0, 3, 0};
  davit_database *database = NULL;
  int wrong = -7;
  davit_sequences view = {2, offsets, three};
  CHECK_FAILS(davit_database_create(NULL, 3, NULL, 0, &database), bad, "targets is NULL");
  CHECK_FAILS(davit_database_create(&view, 0, NULL, 0, &database), bad, "symbols is 0");
  CHECK_FAILS(davit_database_create(&view, 33, NULL, 0, &database), bad, "symbols is 33");
  CHECK_FAILS(davit_database_create(&view, 3, NULL, 0, NULL), bad, "database is NULL");
  CHECK_FAILS(davit_database_create(&view, 3, NULL, 2, &database), bad, "devices");
  CHECK_FAILS(davit_database_create(&view, 3, &wrong, 1, &database), DAVIT_UNKNOWN_DEVICE, "-7");
  view.count = -1;
  CHECK_FAILS(davit_database_create(&view, 3, NULL, 0, &database), bad, "count is -1");
  view = (davit_sequences){2, NULL, three};
  CHECK_FAILS(davit_database_create(&view, 3, NULL, 0, &database), bad, "offsets is NULL");
  view = (davit_sequences){2, offsets, NULL};
  CHECK_FAILS(davit_database_create(&view, 3, NULL, 0, &database), bad, "symbols is NULL");
  view = (davit_sequences){2, falling, three};
  CHECK_FAILS(davit_database_create(&view, 3, NULL, 0, &database), bad, "offsets");
  view = (davit_sequences){2, negative, three};
  CHECK_FAILS(davit_database_create(&view, 3, NULL, 0, &database), bad, "offsets");
  view = (davit_sequences){2, offsets, foreign};
  CHECK_FAILS(davit_database_create(&view, 3, NULL, 0, &database), bad, "targets");
  assert_null(database);
  CHECK(davit_database_destroy(NULL));
}

static void test_bad_search(void **state) {
  (void)state;
  int8_t matrix[9] = {0};
  const davit_scoring scoring = {3, matrix, 2, 1}, narrow = {2, matrix, 2, 1};
  uint8_t foreign[3] = {0, 3, 0};
  davit_hit hit;
  int32_t scores[2] = {-7, -7};
  int64_t found = -7;
  davit_database *database = two_targets();
  CHECK_FAILS(davit_align_scores(NULL, &scoring, 3, three, scores), bad, "database is NULL");
  CHECK_FAILS(davit_align_scores(database, &narrow, 1, three, scores), bad, "symbols");
  CHECK_FAILS(davit_align_scores(database, &scoring, -1, three, scores), bad, "m is -1");
  CHECK_FAILS(davit_align_scores(database, &scoring, 3, NULL, scores), bad, "query is NULL");
  CHECK_FAILS(davit_align_scores(database, &scoring, 3, foreign, scores), bad, "query: symbol 1 is 3");
  CHECK_FAILS(davit_align_scores(database, &scoring, 3, three, NULL), bad, "scores is NULL");
  CHECK_FAILS(davit_align_search(NULL, &scoring, 3, three, 1, &hit, &found), bad, "database is NULL");
  CHECK_FAILS(davit_align_search(database, &scoring, 3, NULL, 1, &hit, &found), bad, "query is NULL");
  CHECK_FAILS(davit_align_search(database, &scoring, 3, three, -1, &hit, &found), bad, "top is -1");
  CHECK_FAILS(davit_align_search(database, &scoring, 3, three, 1, NULL, &found), bad, "hits is NULL");
  CHECK_FAILS(davit_align_search(database, &scoring, 3, three, 1, &hit, NULL), bad, "found is NULL");
  assert_true(scores[0] == -7 && scores[1] == -7 && found == -7);
  CHECK(davit_database_destroy(database));
}

/* Lengths whose score may pass 2^31 - 1 are refused before anything is computed. */
static void test_too_long(void **state) {
  (void)state;
  const int64_t length = INT32_MAX / INT8_MAX + 1;
  int8_t matrix[1] = {INT8_MAX};
  const davit_scoring scoring = {1, matrix, 2, 1};
  uint8_t *symbols = calloc((size_t)length, 1);
  davit_alignment a;
  CHECK_FAILS(davit_align_trace(&scoring, length, symbols, length, symbols, &a, NULL), bad, "2^31");
  CHECK(davit_align_trace(&scoring, length, symbols, 1, symbols, &a, NULL));
  assert_int_equal(a.score, INT8_MAX);
  free(symbols);
}

typedef struct attempt {
  const targets *t;
  const davit_scoring *scoring;
  const sequence *query;
  const int32_t *wanted;
} attempt;

static davit_status search_and_trace(const attempt *x, davit_database *database) {
  int32_t *scores = poisoned((size_t)x->t->view.count * sizeof *scores);
  davit_hit hits[3];
  davit_alignment a;
  int64_t found;
  char *cigar = NULL;
  const sequence *q = x->query, t = target_at(x->t, 1);
  davit_status status = davit_align_scores(database, x->scoring, q->length, q->symbols, scores);
  if (status == DAVIT_SUCCESS)
    assert_memory_equal(scores, x->wanted, (size_t)x->t->view.count * sizeof *scores);
  if (status == DAVIT_SUCCESS)
    status = davit_align_search(database, x->scoring, q->length, q->symbols, 3, hits, &found);
  if (status == DAVIT_SUCCESS)
    status = davit_align_trace(x->scoring, q->length, q->symbols, t.length, t.symbols, &a, &cigar);
  free(cigar);
  free(scores);
  return status;
}

static davit_status whole_story(void *argument) {
  const attempt *x = argument;
  int devices[MOST_PLACES], count = all_devices(devices);
  davit_database *database = NULL;
  davit_status status =
      davit_database_create(&x->t->view, x->scoring->symbols, devices, count < 16 ? count : 16, &database);
  if (status == DAVIT_SUCCESS)
    status = search_and_trace(x, database);
  davit_status end = davit_database_destroy(database);
  return status == DAVIT_SUCCESS ? end : status;
}

static void test_failures(void **state) {
  (void)state;
  uint64_t random = 16;
  const davit_scoring scoring = protein(11, 1);
  sequence query = random_sequence(60, 20, &random), all[20];
  for (int k = 0; k < COUNT(all); k++)
    all[k] = random_sequence(5 + 3 * k, 20, &random);
  targets t = targets_of(COUNT(all), all);
  int32_t *wanted = expected_scores(&t, &scoring, &query);
  attempt x = {&t, &scoring, &query, wanted};
  fail_everywhere(whole_story, &x);
  free(wanted);
  targets_drop(&t);
  sequence_drop(&query);
  for (int k = 0; k < COUNT(all); k++)
    sequence_drop(&all[k]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_worked_example),
      cmocka_unit_test(test_general_gaps),
      cmocka_unit_test(test_matrices),
      cmocka_unit_test(test_parasail),
      cmocka_unit_test(test_long_pairs),
      cmocka_unit_test(test_thread_counts),
      cmocka_unit_test(test_begins_far_apart),
      cmocka_unit_test(test_self),
      cmocka_unit_test(test_transposed),
      cmocka_unit_test(test_growing),
      cmocka_unit_test(test_one_gap),
      cmocka_unit_test(test_extremes),
      cmocka_unit_test(test_small_databases),
      cmocka_unit_test(test_random_database),
      cmocka_unit_test(test_score_limits),
      cmocka_unit_test(test_long_targets),
      cmocka_unit_test(test_extreme_databases),
      cmocka_unit_test(test_own_memory),
      cmocka_unit_test(test_ties),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_bad_scoring),
      cmocka_unit_test(test_bad_trace),
      cmocka_unit_test(test_bad_database),
      cmocka_unit_test(test_bad_search),
      cmocka_unit_test(test_too_long),
      cmocka_unit_test(test_failures),
  };
  return cmocka_run_group_tests(tests, NULL, elements_stop);
}
