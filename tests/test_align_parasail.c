/* SPDX-License-Identifier: Apache-2.0 */
/* One pair in all modes against parasail, and matrices: by name against parasail's tables and BLAST's scales, and
 * that of bases. */
#include "tests/alignments.h"

#include <ctype.h>
#include <math.h>
#include <parasail.h>
#include <parasail/matrix_lookup.h>

#include "src/cli/formats/matrix.h"

static const char generic_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef";

/* parasail's form of a matrix, symbol k being letter k, for its striped functions: their rows are the
 * target's symbols, those of parasail_sw() the query's. */
static parasail_matrix_t *parasail_matrix_of(const davit_align_scoring *scoring) {
  char letters[MAX_SYMBOLS + 1] = "";
  memcpy(letters, generic_letters, (size_t)scoring->symbols);
  parasail_matrix_t *matrix = parasail_matrix_create_case_sensitive(letters, 1, -1);
  assert_non_null(matrix);
  for (int q = 0; q < scoring->symbols; q++)
    for (int t = 0; t < scoring->symbols; t++)
      parasail_matrix_set_value(matrix, t, q, scoring->matrix[q + t * scoring->symbols]);
  return matrix;
}

static char *text_of(const sequence *s) {
  char *text = kept((size_t)s->length + 1);
  for (int64_t i = 0; i < s->length; i++)
    text[i] = generic_letters[s->symbols[i]];
  text[s->length] = 0;
  return text;
}

/* parasail's plain loops are right for all penalties, its vectors (2.6: striped and scan) only if an opening
 * costs more than an extension: else they stop following gaps too early. */
static int32_t by_parasail(const davit_align_scoring *scoring, const parasail_matrix_t *matrix,
                           const sequence *q, const sequence *t, bool vectors) {
  if (q->length == 0 || t->length == 0)
    return 0;
  char *query = text_of(q), *target = text_of(t);
  const int m = (int)q->length, n = (int)t->length, open = scoring->gap_open, extend = scoring->gap_extend;
  parasail_result_t *result = vectors ? parasail_sw_striped_32(query, m, target, n, open, extend, matrix)
                                      : parasail_sw(target, n, query, m, open, extend, matrix);
  assert_non_null(result);
  const int32_t score = parasail_result_get_score(result);
  parasail_result_free(result);
  return score;
}

/* parasail's edges of a global alignment cost what an extension costs, even if it is dearer than an
 * opening. */
static void expect_mode_as_parasail(const davit_align_scoring *scoring, const parasail_matrix_t *matrix,
                                    davit_align_mode mode, const sequence *q, const sequence *t) {
  const int m = (int)q->length, n = (int)t->length, open = scoring->gap_open, extend = scoring->gap_extend;
  int64_t *scratch = kept(2 * (size_t)(m + 1) * sizeof *scratch);
  const int64_t score = dvt_ref_align_ends(mode, scoring, m, q->symbols, n, t->symbols, scratch);
  if (m && n && (mode == DAVIT_ALIGN_SEMIGLOBAL || extend <= open)) {
    parasail_result_t *theirs = (mode == DAVIT_ALIGN_GLOBAL ? parasail_nw : parasail_sg)(
        text_of(t), n, text_of(q), m, open, extend, matrix);
    assert_non_null(theirs);
    assert_int_equal(parasail_result_get_score(theirs), score);
    parasail_result_free(theirs);
  }
  const davit_align_trace_options options = {.mode = mode};
  davit_align_result a, b;
  for (int64_t cells = 0; cells <= DVT_ALIGN_TRACE_CELLS; cells += DVT_ALIGN_TRACE_CELLS) {
    const char *cigar = trace(scoring, q, t, mode, cells, 1 + (int)cells % 3, &a);
    assert_int_equal(a.score, score);
    assert_int_equal(score_of_columns(scoring, q, t, &a, cigar), score);
  }
  CHECK(davit_align_trace(scoring, m, q->symbols, n, t->symbols, &b, NULL, &options));
  assert_memory_equal(&a, &b, sizeof a);
  if (mode == DAVIT_ALIGN_GLOBAL)
    assert_true(a.query_begin == 0 && a.target_begin == 0 && a.query_end == m && a.target_end == n);
  else
    assert_true((a.query_begin == 0 || a.target_begin == 0) &&
                (a.query_end == m || a.target_end == n || m * n == 0));
}

static void expect_as_parasail(const davit_align_scoring *scoring, const sequence *q, const sequence *t) {
  parasail_matrix_t *matrix = parasail_matrix_of(scoring);
  const int32_t score = by_parasail(scoring, matrix, q, t, false);
  if (scoring->gap_open > scoring->gap_extend)
    assert_int_equal(by_parasail(scoring, matrix, q, t, true), score);
  expect_mode_as_parasail(scoring, matrix, DAVIT_ALIGN_GLOBAL, q, t);
  expect_mode_as_parasail(scoring, matrix, DAVIT_ALIGN_SEMIGLOBAL, q, t);
  parasail_matrix_free(matrix);
  assert_int_equal(reference(scoring, q, t), score);
  expect_alignment(scoring, q, t, 0, score);
  expect_alignment(scoring, q, t, -1, score);
}

static void expect_parasail_matrix(const davit_align_matrix *m) {
  char name[16] = "";
  for (int i = 0, to = 0; m->name[i]; i++)
    if (m->name[i] != '.')
      name[to++] = (char)tolower(m->name[i]);
  const parasail_matrix_t *theirs = parasail_matrix_lookup(name);
  assert_non_null(theirs);
  const bool bases = name[0] == 'n';
  assert_int_equal(m->symbols,
                   theirs->size - bases); /* to NUC.4.4 parasail adds a symbol for other letters */
  assert_int_equal(strlen(m->letters), m->symbols);
  for (int q = 0; q < m->symbols; q++)
    for (int t = 0; t < m->symbols; t++)
      assert_int_equal(m->scores[q + t * m->symbols], theirs->matrix[q * theirs->size + t]);
  for (int c = 0; c < 256; c++) { /* parasail has no letters that count as others */
    const bool other = c && c < 128 && strchr(bases ? "Uu" : "UuOoJj", c);
    assert_int_equal(theirs->mapper[c],
                     other || m->code[c] == DAVIT_ALIGN_NO_SYMBOL ? theirs->size - 1 : m->code[c]);
    assert_true(!other || m->code[c] == m->code[bases ? 'T' : 'X']);
  }
}

CASE(test_matrices) {
  static const char *const names[] = {"BLOSUM45", "BLOSUM50", "BLOSUM62", "BLOSUM80", "BLOSUM90",
                                      "PAM30",    "PAM70",    "PAM250",   "NUC.4.4"};
  static davit_align_matrix all[COUNT(names)], found;
  int count = -1;
  CHECK(davit_align_matrix_list(0, NULL, &count));
  assert_int_equal(count, COUNT(names));
  CHECK(davit_align_matrix_list(COUNT(all), all, &count));
  for (int k = 0; k < COUNT(names); k++) {
    assert_string_equal(all[k].name, names[k]);
    CHECK(davit_align_matrix_find(names[k], &found));
    assert_memory_equal(&found, &all[k], sizeof found);
    expect_parasail_matrix(&found);
  }
  CHECK(davit_align_matrix_find("nuc44", &found));
  assert_string_equal(found.name, "NUC.4.4");
  CHECK(davit_align_matrix_list(1, &found, &count));
  assert_string_equal(found.name, names[0]);
  REFUSED(davit_align_matrix_find("PAM2", &found), "name is 'PAM2', not one of: BLOSUM45, ");
}

/* The lambda of a matrix without gaps: sum of p p exp(lambda s) = 1, with the frequencies of amino acids of
 * A. B. Robinson and L. R. Robinson (1991), in the order of the letters. */
static double lambda_of(const davit_align_matrix *m) {
  static const double frequencies[] = {78.05, 51.29, 44.87, 53.64, 19.25, 42.64, 62.95, 73.77, 21.99, 51.42,
                                       90.19, 57.44, 22.43, 38.56, 52.03, 71.20, 58.41, 13.30, 32.16, 64.41};
  double low = 0.05, high = 1;
  for (int step = 0; step < 50; step++) {
    const double middle = (low + high) / 2;
    double sum = 0, all = 0;
    for (int i = 0; i < COUNT(frequencies); i++)
      for (int j = 0; j < COUNT(frequencies); j++) {
        sum += frequencies[i] * frequencies[j] * exp(middle * m->scores[i + j * m->symbols]);
        all += frequencies[i] * frequencies[j];
      }
    *(sum > all ? &high : &low) = middle;
  }
  return low;
}

/* BLAST's statistics (src/cli/align_scheme.c) are those of these scales: its lambda of matrices without gaps. That of
 * BLOSUM80 is another one. */
CASE(test_scales) {
  static const struct {
    const char *name;
    double lambda;
  } wanted[] = {{"BLOSUM45", 0.2291}, {"BLOSUM50", 0.2318}, {"BLOSUM62", 0.3176}, {"BLOSUM90", 0.3346},
                {"PAM30", 0.3400},    {"PAM70", 0.3345},    {"PAM250", 0.2252}};
  davit_align_matrix matrix;
  for (int k = 0; k < COUNT(wanted); k++) {
    CHECK(davit_align_matrix_find(wanted[k].name, &matrix));
    assert_true(fabs(lambda_of(&matrix) - wanted[k].lambda) < 1e-4);
  }
  CHECK(davit_align_matrix_find("BLOSUM80", &matrix));
  assert_true(fabs(lambda_of(&matrix) - 0.3430) > 0.1);
}

CASE(test_bases) {
  davit_align_matrix dna;
  cli_matrix_dna(5, -4, &dna);
  assert_string_equal(dna.letters, "ACGTN");
  assert_int_equal(dna.code['u'], dna.code['T']);
  for (const char *c = "RYSWKMBDHVrn"; *c; c++)
    assert_int_equal(dna.code[(int)*c], dna.code['N']);
  assert_int_equal(dna.code['E'], DAVIT_ALIGN_NO_SYMBOL);
  for (int i = 0; i < 25; i++)
    assert_int_equal(dna.scores[i], i % 6 == 0 && i < 24 ? 5 : -4);
}

CASE(test_parasail) {
  static const int64_t lengths[] = {0, 1, 2, 3, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 255, 375, 1000};
  static const int32_t gaps[][2] = {{11, 1}, {10, 10}, {5, 2}, {1, 1}, {3, 7}, {200, 100}};
  uint64_t random = 2;
  for (int a = 0; a < COUNT(lengths); a++)
    for (int b = 0; b < COUNT(lengths); b++) {
      const int32_t *gap = gaps[(a + b) % COUNT(gaps)];
      int8_t dna[16], any[SQUARE];
      fill_diagonal(4, 2, -3, dna);
      fill_random(31, -9, 7, &random, any);
      const davit_align_scoring scorings[] = {protein(gap[0], gap[1]), scoring_of(4, dna, gap[0], gap[1]),
                                              scoring_of(31, any, gap[0], gap[1])};
      const davit_align_scoring *scoring = &scorings[(a * 5 + b) % 3];
      sequence q = random_sequence(lengths[a], scoring->symbols, &random),
               t = random_sequence(lengths[b], scoring->symbols, &random),
               r = relative_of(&q, scoring->symbols, &random);
      expect_as_parasail(scoring, &q, &t);
      expect_as_parasail(scoring, &q, &r);
    }
}

/* Pairs at once: parasail's plain loops, one by one. */
CASE(test_many_pairs) {
  enum { PAIRS = 60 };
  typedef parasail_result_t *aligner(const char *, int, const char *, int, int, int,
                                     const parasail_matrix_t *);
  static aligner *const aligners[] = {parasail_sw, parasail_nw, parasail_sg};
  uint64_t random = 4;
  const davit_align_scoring scoring = protein(11, 1);
  parasail_matrix_t *matrix = parasail_matrix_of(&scoring);
  uint8_t *queries = kept(400 * PAIRS), *targets = kept(2000 * PAIRS);
  int64_t begins[PAIRS + 1] = {0}, ends[PAIRS + 1] = {0};
  for (int k = 0; k < PAIRS; k++) {
    const sequence q = random_sequence(1 + random_below(&random, 300), 20, &random),
                   t = k % 2 ? relative_of(&q, 20, &random) : random_sequence(200 + k, 20, &random);
    memcpy(queries + begins[k], q.symbols, (size_t)q.length);
    memcpy(targets + ends[k], t.symbols, (size_t)t.length);
    begins[k + 1] = begins[k] + q.length;
    ends[k + 1] = ends[k] + t.length;
  }
  const davit_align_sequences all[2] = {{PAIRS, begins, queries}, {PAIRS, ends, targets}};
  for (davit_align_mode mode = DAVIT_ALIGN_LOCAL; mode <= DAVIT_ALIGN_SEMIGLOBAL; mode++) {
    int32_t scores[PAIRS];
    CHECK(davit_align_pairs(&scoring, &all[0], &all[1], scores, NULL, NULL,
                            &(davit_align_pairs_options){.mode = mode}));
    for (int k = 0; k < PAIRS; k++) {
      const sequence q = {begins[k + 1] - begins[k], queries + begins[k]},
                     t = {ends[k + 1] - ends[k], targets + ends[k]};
      if (q.length == 0 || t.length == 0)
        continue;
      parasail_result_t *theirs =
          aligners[mode](text_of(&t), (int)t.length, text_of(&q), (int)q.length, 11, 1, matrix);
      assert_non_null(theirs);
      assert_int_equal(scores[k], parasail_result_get_score(theirs));
      parasail_result_free(theirs);
    }
  }
  parasail_matrix_free(matrix);
}

/* parasail's form of a profile: places are rows. Its plain functions and its vectors both take it as the query's. */
static parasail_matrix_t *parasail_profile_of(const davit_align_scoring *scoring, int64_t m) {
  char letters[MAX_SYMBOLS + 1] = "";
  int *values = kept((size_t)(m * scoring->symbols) * sizeof *values);
  memcpy(letters, generic_letters, (size_t)scoring->symbols);
  for (int64_t j = 0; j < m; j++)
    for (int t = 0; t < scoring->symbols; t++)
      values[j * scoring->symbols + t] = scoring->profile[j + t * m];
  parasail_matrix_t *matrix = parasail_matrix_pssm_create_case_sensitive(letters, values, (int)m);
  assert_non_null(matrix);
  return matrix;
}

CASE(test_profiles) {
  static const int64_t lengths[] = {1, 2, 15, 16, 17, 63, 65, 100, 375};
  typedef parasail_result_t *aligner(const char *, int, const char *, int, int, int,
                                     const parasail_matrix_t *);
  static aligner *const aligners[] = {parasail_sw, parasail_nw, parasail_sg};
  uint64_t random = 5;
  for (int k = 0; k < COUNT(lengths); k++)
    for (davit_align_mode mode = DAVIT_ALIGN_LOCAL; mode <= DAVIT_ALIGN_SEMIGLOBAL; mode++) {
      const sequence q = random_sequence(lengths[k], 20, &random),
                     t = random_sequence(1 + random_below(&random, 300), 20, &random);
      int8_t *profile = kept((size_t)q.length * 20);
      for (int64_t i = 0; i < 20 * q.length; i++)
        profile[i] = (int8_t)(random_below(&random, 17) - 9);
      const davit_align_scoring scoring = {
          .symbols = 20, .gap_open = 11 - k % 3, .gap_extend = 1 + k % 2, .profile = profile};
      parasail_matrix_t *matrix = parasail_profile_of(&scoring, q.length);
      parasail_result_t *theirs = aligners[mode](text_of(&q), (int)q.length, text_of(&t), (int)t.length,
                                                 scoring.gap_open, scoring.gap_extend, matrix);
      davit_align_result a;
      assert_non_null(theirs);
      const char *cigar = trace(&scoring, &q, &t, mode, DVT_ALIGN_TRACE_CELLS, 1, &a);
      assert_int_equal(a.score, parasail_result_get_score(theirs));
      assert_int_equal(score_of_columns(&scoring, &q, &t, &a, cigar), a.score);
      if (mode == DAVIT_ALIGN_LOCAL) {
        assert_int_equal(by_parasail(&scoring, matrix, &q, &t, true), a.score);
        assert_int_equal(reference(&scoring, &q, &t), a.score);
      }
      parasail_result_free(theirs);
      parasail_matrix_free(matrix);
    }
}

CASE(test_long_pairs) {
  const int sizes[][2] = {{20000, 3000}, {12000, 12000}};
  uint64_t random = 3;
  const davit_align_scoring scoring = protein(11, 1);
  parasail_matrix_t *matrix = parasail_matrix_of(&scoring);
  for (int k = 0; k < COUNT(sizes); k++) {
    sequence q = random_sequence(scaled(sizes[k][0]), 20, &random),
             t = k ? relative_of(&q, 20, &random) : random_sequence(scaled(sizes[k][1]), 20, &random);
    expect_alignment(&scoring, &q, &t, -1, by_parasail(&scoring, matrix, &q, &t, true));
  }
  parasail_matrix_free(matrix);
}
