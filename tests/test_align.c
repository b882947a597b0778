/* SPDX-License-Identifier: Apache-2.0 */
/* One pair: local alignment against general gaps in O(n^3) and against the reference, in any number of threads and with
 * any columns kept on the way; properties of alignments. test_align_parasail.c compares with parasail. */
#include "tests/alignments.h"

static sequence sequence_of(const char *text, const char *letters) {
  sequence s = sequence_new((int64_t)strlen(text));
  for (int64_t i = 0; i < s.length; i++)
    s.symbols[i] = (uint8_t)(strchr(letters, text[i]) - letters);
  return s;
}

/* ---- one pair ---- */

/* The maximum over every gap that leads to a pair of positions. */
static int32_t by_general_gaps(const davit_align_scoring *scoring, const sequence *q, const sequence *t) {
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

/* Of the alignments with this score it ends first in the target, then in the query: a shorter target or query
 * scores less. */
static void expect_first_end(const davit_align_scoring *scoring, const sequence *q, const sequence *t,
                             const davit_align_result *a) {
  const sequence less_target = {a->target_end - 1, t->symbols}, to_end = {a->target_end, t->symbols};
  const sequence less_query = {a->query_end - 1, q->symbols}, to_query_end = {a->query_end, q->symbols};
  assert_true(reference(scoring, q, &less_target) < a->score);
  assert_true(reference(scoring, &less_query, &to_end) < a->score);
  assert_int_equal(reference(scoring, &to_query_end, &to_end), a->score);
}

CASE(test_general_gaps) {
  const int repeats = scaled(4000);
  uint64_t random = 1;
  int gapped = 0;
  for (int repeat = 0; repeat < repeats; repeat++) {
    int8_t matrix[SQUARE];
    const int symbols = 1 + random_below(&random, 4);
    fill_random(symbols, -4, 6, &random, matrix);
    const davit_align_scoring scoring = scoring_of(symbols, matrix, 1 + random_below(&random, 7),
                                                   1 + random_below(&random, repeat % 3 ? 2 : 9));
    sequence q = random_sequence(random_below(&random, 20), symbols, &random),
             t = random_sequence(random_below(&random, 20), symbols, &random);
    const int32_t score = by_general_gaps(&scoring, &q, &t);
    assert_int_equal(reference(&scoring, &q, &t), score);
    static const int64_t limits[] = {0, 1, 7, 40, 1 << 20};
    for (int l = 0; l < COUNT(limits); l++)
      expect_alignment(&scoring, &q, &t, limits[l], score);
    davit_align_result a;
    CHECK(davit_align_trace(&scoring, q.length, q.symbols, t.length, t.symbols, &a, NULL, NULL));
    if (score > 0)
      expect_first_end(&scoring, &q, &t, &a);
    gapped += a.query_end - a.query_begin != a.target_end - a.target_begin;
  }
  assert_true(gapped > repeats / 20);
}

/* The same alignment, or one of the same cells, whatever columns are kept on the way and by however many threads it is
 * found. */
static void expect_any_spacing(const davit_align_scoring *scoring, const sequence *q, const sequence *t,
                               davit_align_mode mode) {
  static const int64_t spacings[] = {32, 64, 96, 256, 1024, 2048};
  SCOPE;
  davit_align_result a, b;
  trace_keeping(scoring, q, t, mode, 4000, 0, 1, &a);
  for (int k = 0; k < COUNT(spacings); k++) {
    const char *one = trace_keeping(scoring, q, t, mode, 4000, spacings[k], 1, &b),
               *three = trace_keeping(scoring, q, t, mode, 4000, spacings[k], 3, &b);
    assert_memory_equal(&a, &b, sizeof a);
    assert_string_equal(one, three);
    assert_int_equal(score_of_columns(scoring, q, t, &b, one), a.score);
  }
}

/* Similar sequences, behind and before something else; few symbols and free openings leave many best alignments, and
 * pieces of other lengths shift the diagonal. */
CASE(test_kept_columns) {
  static const davit_align_mode modes[] = {DAVIT_ALIGN_LOCAL, DAVIT_ALIGN_GLOBAL, DAVIT_ALIGN_SEMIGLOBAL};
  const int repeats = scaled(60);
  uint64_t random = 7;
  for (int repeat = 0; repeat < repeats; repeat++) {
    int8_t matrix[SQUARE];
    const int symbols = repeat % 5 == 0 ? 1 + repeat % 2 : 4, change = 2 + random_below(&random, 20);
    const davit_align_scoring scoring =
        scoring_of(symbols, matrix, 1 + random_below(&random, 7), 1 + random_below(&random, 3));
    fill_diagonal(symbols, 1 + repeat % 3, (int8_t)-random_below(&random, 5), matrix);
    sequence q = random_sequence(1 + random_below(&random, 700), symbols, &random),
             t = random_sequence(1 + random_below(&random, repeat % 8 ? 900 : 5000), symbols, &random);
    for (int64_t j = random_below(&random, 200), i = random_below(&random, 100); j < t.length && i < q.length;
         i++, j++) {
      if (random_below(&random, change))
        t.symbols[j] = q.symbols[i];
      else if (random_below(&random, 4) == 0)
        *(random_below(&random, 2) ? &i : &j) += random_below(&random, random_below(&random, 8) ? 4 : 150);
    }
    for (int mode = 0; mode < COUNT(modes); mode++)
      expect_any_spacing(&scoring, &q, &t, modes[mode]);
  }
}

/* A worked example: h of each prefix of rows and of columns. */
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

CASE(test_worked_example) {
  int8_t matrix[16];
  fill_diagonal(4, 2, -3, matrix);
  const davit_align_scoring scoring = scoring_of(4, matrix, 2, 2);
  sequence rows = sequence_of(worked_rows, "ACGT"), cols = sequence_of(worked_cols, "ACGT");
  for (int64_t m = 0; m <= rows.length; m++)
    for (int64_t n = 0; n <= cols.length; n++) {
      const sequence q = {m, rows.symbols}, t = {n, cols.symbols};
      assert_int_equal(reference(&scoring, &q, &t), worked_best(m, n));
      expect_alignment(&scoring, &q, &t, 0, worked_best(m, n));
      expect_alignment(&scoring, &t, &q, 20, worked_best(m, n));
    }
  davit_align_result a;
  char *cigar;
  CHECK(davit_align_trace(&scoring, cols.length, cols.symbols, rows.length, rows.symbols, &a, &cigar, NULL));
  assert_int_equal(a.score, 8);
  assert_int_equal(a.query_end, 8);
  assert_int_equal(a.target_end, 9);
  assert_string_equal(cigar, "4=");
  davit_free(cigar);
}

/* Every number of threads finds the same stretches, and columns with the same score. */
CASE(test_thread_counts) {
  static const int threads[] = {1, 2, 3, 7};
  uint64_t random = 17;
  const davit_align_scoring scoring = protein(11, 1);
  for (int repeat = 0; repeat < 4; repeat++) {
    sequence q = random_sequence(repeat % 2 ? 1500 : 4000, 20, &random),
             t = repeat < 2 ? relative_of(&q, 20, &random) : random_sequence(2600, 20, &random);
    davit_align_result first = {0}, a;
    for (int k = 0; k < COUNT(threads); k++) {
      const char *cigar = trace(&scoring, &q, &t, DAVIT_ALIGN_LOCAL, 1000, threads[k], &a);
      first = k ? first : a;
      assert_memory_equal(&a, &first, sizeof a);
      assert_int_equal(score_of_columns(&scoring, &q, &t, &a, cigar), a.score);
    }
    assert_int_equal(reference(&scoring, &q, &t), first.score);
    for (davit_align_mode mode = DAVIT_ALIGN_GLOBAL; mode <= DAVIT_ALIGN_SEMIGLOBAL; mode++) {
      int64_t *scratch = kept(2 * (size_t)(q.length + 1) * sizeof *scratch);
      const int64_t score =
          dvt_ref_align_ends(mode, &scoring, q.length, q.symbols, t.length, t.symbols, scratch);
      for (int k = 0; k < COUNT(threads); k++) {
        const char *cigar = trace(&scoring, &q, &t, mode, 1000, threads[k], &a);
        first = k ? first : a;
        assert_memory_equal(&a, &first, sizeof a);
        assert_int_equal(a.score, score);
        assert_int_equal(score_of_columns(&scoring, &q, &t, &a, cigar), score);
      }
    }
  }
}

CASE(test_mode_arguments) {
  const davit_align_scoring scoring = protein(11, 1), dear = protein(INT32_MAX, 1);
  const davit_align_trace_options global = {.mode = DAVIT_ALIGN_GLOBAL},
                                  semiglobal = {.mode = DAVIT_ALIGN_SEMIGLOBAL},
                                  unknown = {.mode = (davit_align_mode)3};
  const uint8_t symbols[4] = {0, 1, 2, 3};
  davit_align_result a;
  char *cigar;
  REFUSED(davit_align_trace(&scoring, 4, symbols, 4, symbols, &a, NULL, &unknown),
          "options->mode is 3, not 0 to 2");
  REFUSED(davit_align_trace(&dear, 4, symbols, 4, symbols, &a, NULL, &global),
          "gaps over all of 4 and 4 symbols");
  CHECK(davit_align_trace(&dear, 4, symbols, 4, symbols, &a, NULL, &semiglobal));
  CHECK(davit_align_trace(&scoring, 0, NULL, 4, symbols, &a, &cigar, &global));
  assert_string_equal(cigar, "4D");
  assert_true(a.score == -14 && a.target_end == 4);
  CHECK(davit_free(cigar));
  CHECK(davit_align_trace(&scoring, 4, symbols, 0, NULL, &a, &cigar, &semiglobal));
  assert_true(a.score == 0 && a.query_end == 0 && !*cigar);
  CHECK(davit_free(cigar));
}

static void put_run(sequence *s, uint8_t symbol, int64_t count) {
  memset(s->symbols + s->length, symbol, (size_t)count);
  s->length += count;
}

/* Two begins have the same score: one with less of the target and far more of the query, in the rows of
 * another thread, which reaches that column later. */
CASE(test_begins_far_apart) {
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
  const davit_align_scoring scoring = scoring_of(SYMBOLS, matrix, 1, 1);
  sequence q = {0, kept(5000)}, t = {0, kept(5000)};
  put_run(&q, 2, FAR);
  put_run(&q, 3, BETWEEN);
  put_run(&q, 1, NEAR);
  put_run(&q, 0, 100);
  put_run(&t, 4, FOREIGN);
  put_run(&t, 1, NEAR);
  put_run(&t, 2, FAR);
  put_run(&t, 0, 100);
  for (int threads = 1; threads < 8; threads++) {
    davit_align_result a;
    assert_string_equal(trace(&scoring, &q, &t, DAVIT_ALIGN_LOCAL, 0, threads, &a), "40=3088I100=");
    assert_int_equal(a.score, (100 + NEAR) * EACH - FAR);
    assert_true(a.query_begin == 0 && a.target_begin == FOREIGN + NEAR);
  }
}

/* ---- properties ---- */

CASE(test_self) {
  uint64_t random = 4;
  const davit_align_scoring scoring = protein(11, 1);
  for (int length = 1; length < 2000; length = length * 3 + 1) {
    sequence s = random_sequence(length, 20, &random);
    int32_t score = 0;
    char wanted[32];
    davit_align_result a;
    for (int i = 0; i < length; i++)
      score += score_of(&scoring, s.symbols[i], s.symbols[i]);
    snprintf(wanted, sizeof wanted, "%d=", length);
    for (int limit = 0; limit < 2; limit++) {
      assert_string_equal(trace(&scoring, &s, &s, DAVIT_ALIGN_LOCAL, limit << 20, 0, &a), wanted);
      assert_int_equal(a.score, score);
      assert_true(a.query_begin == 0 && a.query_end == length);
      assert_true(a.target_begin == 0 && a.target_end == length);
    }
  }
}

/* Query and target are exchanged, and the matrix's rows and columns. */
CASE(test_transposed) {
  uint64_t random = 5;
  for (int repeat = 0; repeat < scaled(100); repeat++) {
    int8_t matrix[SQUARE], transposed[SQUARE];
    fill_random(6, -5, 5, &random, matrix);
    for (int q = 0; q < 6; q++)
      for (int t = 0; t < 6; t++)
        transposed[t + q * 6] = matrix[q + t * 6];
    const davit_align_scoring one = scoring_of(6, matrix, 7, 2), other = scoring_of(6, transposed, 7, 2);
    sequence q = random_sequence(random_below(&random, 200), 6, &random),
             t = random_sequence(random_below(&random, 200), 6, &random);
    const int32_t score = reference(&one, &q, &t);
    assert_int_equal(reference(&other, &t, &q), score);
    expect_alignment(&one, &q, &t, 64, score);
    expect_alignment(&other, &t, &q, 64, score);
  }
}

/* The same symbol added to both never lowers the score. */
CASE(test_growing) {
  uint64_t random = 6;
  int8_t dna[16];
  fill_diagonal(4, 1, -2, dna);
  const davit_align_scoring scoring = scoring_of(4, dna, 3, 1);
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
}

static sequence joined(const sequence *a, const sequence *middle, int64_t count, const sequence *b) {
  sequence s = sequence_new(a->length + count + b->length);
  memcpy(s.symbols, a->symbols, (size_t)a->length);
  memcpy(s.symbols + a->length, middle->symbols, (size_t)count);
  memcpy(s.symbols + a->length + count, b->symbols, (size_t)b->length);
  return s;
}

/* One gap of any length, with cuts of the target at its begin, inside it and at its end. The gap's symbol is
 * nowhere else, so that there is one best alignment. */
CASE(test_one_gap) {
  int8_t matrix[25];
  fill_diagonal(5, 2, -3, matrix);
  const davit_align_scoring scoring = scoring_of(5, matrix, 6, 1);
  uint64_t random = 7;
  for (int length = 1; length <= 60; length++)
    for (int before = 40; before < 100; before += 7) {
      sequence head = random_sequence(before, 4, &random), tail = random_sequence(70, 4, &random),
               foreign = sequence_new(length);
      memset(foreign.symbols, 4, (size_t)length);
      head.symbols[before - 1] = 0; /* so that the gap cannot be moved */
      tail.symbols[0] = 1;
      sequence with = joined(&head, &foreign, length, &tail), without = joined(&head, &foreign, 0, &tail);
      char wanted[64];
      davit_align_result a;
      snprintf(wanted, sizeof wanted, "%d=%dD70=", before, length);
      assert_string_equal(trace(&scoring, &without, &with, DAVIT_ALIGN_LOCAL, 0, 0, &a), wanted);
      snprintf(wanted, sizeof wanted, "%d=%dI70=", before, length);
      assert_string_equal(trace(&scoring, &with, &without, DAVIT_ALIGN_LOCAL, 0, 0, &a), wanted);
    }
}

/* Penalties and scores at the ends of their ranges. */
CASE(test_extremes) {
  static const int32_t gaps[][2] = {{INT32_MAX, INT32_MAX}, {INT32_MAX, 1}, {1, INT32_MAX}, {1, 1}};
  uint64_t random = 8;
  int8_t matrix[SQUARE];
  for (int g = 0; g < COUNT(gaps); g++)
    for (int fill = 0; fill < 3; fill++) {
      for (int i = 0; i < SQUARE; i++)
        matrix[i] = fill == 0 ? INT8_MIN : fill == 1 ? INT8_MAX : i % 33 ? INT8_MIN : INT8_MAX;
      const davit_align_scoring scoring = scoring_of(32, matrix, gaps[g][0], gaps[g][1]);
      sequence q = random_sequence(500, 32, &random), t = relative_of(&q, 32, &random);
      const int32_t score = reference(&scoring, &q, &t);
      assert_true(fill ? score > 0 : score == 0);
      expect_alignment(&scoring, &q, &t, 0, score);
      expect_alignment(&scoring, &q, &t, 1 << 20, score);
    }
}

/* ---- refusals ---- */

CASE(test_bad_trace) {
  int8_t matrix[9] = {0};
  const davit_align_scoring scoring = scoring_of(3, matrix, 2, 1);
  davit_align_result a = {.score = -7};
  char *cigar = (char *)matrix;
  uint8_t foreign[3] = {0, 3, 0}, three[3] = {0, 1, 2};
  REFUSED(davit_align_trace(&scoring, 3, foreign, 3, three, &a, &cigar, NULL), "query: symbol 1 is 3");
  REFUSED(davit_align_trace(&scoring, 3, three, 3, foreign, &a, &cigar, NULL), "target: symbol 1 is 3");
  assert_true(a.score == -7 && cigar == (char *)matrix);
  CHECK(davit_align_trace(&scoring, 0, NULL, 0, NULL, &a, &cigar, NULL));
  assert_true(a.score == 0 && !*cigar);
  davit_free(cigar);
}

/* Where there is an NVIDIA device, long pairs are aligned on it: the same result as on the host. */
CASE(test_long_pairs_on_a_device) {
  static const davit_align_mode modes[] = {DAVIT_ALIGN_LOCAL, DAVIT_ALIGN_GLOBAL, DAVIT_ALIGN_SEMIGLOBAL};
  static const int host = DAVIT_HOST;
  int8_t matrix[16];
  uint64_t random = 3;
  int count, device = 0;
  davit_device_info info = {.kind = DAVIT_DEVICE_CPU};
  CHECK(davit_device_count(&count));
  for (; device < count; device++) {
    CHECK(davit_device_describe(device, &info));
    if (info.kind == DAVIT_DEVICE_NVIDIA)
      break;
  }
  if (device == count)
    skip();
  for (int i = 0; i < 16; i++)
    matrix[i] = i % 5 == 0 ? 5 : -4;
  const davit_align_scoring scoring = {.symbols = 4, .matrix = matrix, .gap_open = 10, .gap_extend = 1};
  const sequence q = random_sequence(150000, 4, &random), t = relative_of(&q, 4, &random);
  for (int i = 0; i < COUNT(modes); i++) {
    davit_align_result a, b;
    char *on_device, *on_host;
    CHECK(davit_align_trace(&scoring, q.length, q.symbols, t.length, t.symbols, &a, &on_device,
                            &(davit_align_trace_options){&device, 1, modes[i], {0}}));
    CHECK(davit_align_trace(&scoring, q.length, q.symbols, t.length, t.symbols, &b, &on_host,
                            &(davit_align_trace_options){&host, 1, modes[i], {0}}));
    assert_memory_equal(&a, &b, sizeof a);
    assert_string_equal(on_device, on_host);
    CHECK(davit_free(on_device));
    CHECK(davit_free(on_host));
  }
}

/* Lengths whose score may pass 2^31 - 1 are refused before anything is computed. */
CASE(test_too_long) {
  const int64_t length = INT32_MAX / INT8_MAX + 1;
  int8_t matrix[1] = {INT8_MAX};
  const davit_align_scoring scoring = scoring_of(1, matrix, 2, 1);
  uint8_t *symbols = kept((size_t)length);
  memset(symbols, 0, (size_t)length);
  davit_align_result a;
  CHECK_FAILS(davit_align_trace(&scoring, length, symbols, length, symbols, &a, NULL, NULL),
              DAVIT_INVALID_ARGUMENT, "2^31");
  CHECK(davit_align_trace(&scoring, length, symbols, 1, symbols, &a, NULL, NULL));
  assert_int_equal(a.score, INT8_MAX);
}
