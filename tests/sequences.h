/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of alignment share: sequences, scorings, the reference's score, and memory that is freed
 * when a test ends. */
#ifndef DAVIT_TESTS_SEQUENCES_H
#define DAVIT_TESTS_SEQUENCES_H

#include "tests/elements.h"

enum { MAX_SYMBOLS = DAVIT_ALIGN_SYMBOLS_MAXIMUM, SQUARE = MAX_SYMBOLS * MAX_SYMBOLS };

/* ---- scoring ---- */

static inline davit_align_scoring scoring_of(int symbols, const int8_t *matrix, int32_t gap_open,
                                             int32_t gap_extend) {
  return (davit_align_scoring){
      .symbols = symbols, .matrix = matrix, .gap_open = gap_open, .gap_extend = gap_extend};
}

static davit_align_matrix protein_matrix;

static inline davit_align_scoring protein(int32_t gap_open, int32_t gap_extend) {
  CHECK(davit_align_matrix_find("BLOSUM62", &protein_matrix));
  return scoring_of(protein_matrix.symbols, protein_matrix.scores, gap_open, gap_extend);
}

static inline void fill_diagonal(int symbols, int8_t match, int8_t mismatch, int8_t *matrix) {
  for (int i = 0; i < symbols * symbols; i++)
    matrix[i] = i % symbols == i / symbols ? match : mismatch;
}

/* Not symmetric; scores of equal symbols are somewhat larger. */
static inline void fill_random(int symbols, int least, int most, uint64_t *random, int8_t *matrix) {
  for (int i = 0; i < symbols * symbols; i++) {
    const int score = least + random_below(random, most - least + 1);
    matrix[i] = (int8_t)(i % symbols == i / symbols && score < 0 ? -score - 1 : score);
  }
}

/* ---- sequences ---- */

typedef struct sequence {
  int64_t length;
  uint8_t *symbols;
} sequence;

static inline sequence sequence_new(int64_t length) {
  return (sequence){length, kept((size_t)length)};
}

static inline sequence random_sequence(int64_t length, int symbols, uint64_t *random) {
  sequence s = sequence_new(length);
  for (int64_t i = 0; i < length; i++)
    s.symbols[i] = (uint8_t)random_below(random, symbols);
  return s;
}

/* A relative: some symbols are others, some are lost, some repeated runs come in. */
static inline sequence relative_of(const sequence *s, int symbols, uint64_t *random) {
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

static inline int32_t reference(const davit_align_scoring *scoring, const sequence *q, const sequence *t) {
  int32_t *scratch = kept((size_t)(2 * (q->length + 1)) * sizeof *scratch);
  const int32_t score = dvt_ref_align_score(scoring, q->length, q->symbols, t->length, t->symbols, scratch);
  return score;
}

#endif
