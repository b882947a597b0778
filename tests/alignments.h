/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of one pair share: alignments in columns, and that the columns score what the alignment says,
 * whichever way they were found. */
#ifndef DAVIT_TESTS_ALIGNMENTS_H
#define DAVIT_TESTS_ALIGNMENTS_H

#include "tests/sequences.h"

#include "src/align.h"

/* Gaps may adjoin, so an extension never costs more than an opening. */
static inline int64_t gap_cost(const davit_align_scoring *scoring, int64_t length) {
  const int64_t open = scoring->gap_open, extend = scoring->gap_extend < open ? scoring->gap_extend : open;
  return length ? open + (length - 1) * extend : 0;
}

static inline int score_of(const davit_align_scoring *scoring, uint8_t q, uint8_t t) {
  return scoring->matrix[q + t * scoring->symbols];
}

/* Of the query's place i, where there may be a profile. */
static inline int score_at(const davit_align_scoring *scoring, const sequence *q, int64_t i, uint8_t t) {
  return scoring->profile ? scoring->profile[i + t * q->length] : score_of(scoring, q->symbols[i], t);
}

/* The score of the columns, which must cover the stretches. */
static inline int64_t score_of_columns(const davit_align_scoring *scoring, const sequence *q,
                                       const sequence *t, const davit_align_result *a, const char *cigar) {
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
      score += score_at(scoring, q, i, t->symbols[j]);
    }
  }
  assert_int_equal(i, a->query_end);
  assert_int_equal(j, a->target_end);
  return score;
}

/* The columns of the alignment, which is `a`. */
static inline const char *trace_keeping(const davit_align_scoring *scoring, const sequence *q,
                                        const sequence *t, davit_align_mode mode, int64_t cells,
                                        int64_t every, int threads, davit_align_result *a) {
  char *cigar = NULL;
  CHECK(dvt_align_trace(scoring, q->length, q->symbols, t->length, t->symbols, cells, every, threads, a,
                        &cigar, &(davit_align_trace_options){.mode = mode}));
  char *copy = strcpy(kept(strlen(cigar) + 1), cigar);
  CHECK(davit_free(cigar));
  return copy;
}

static inline const char *trace(const davit_align_scoring *scoring, const sequence *q, const sequence *t,
                                davit_align_mode mode, int64_t cells, int threads, davit_align_result *a) {
  return trace_keeping(scoring, q, t, mode, cells, -1, threads, a);
}

static inline void expect_alignment(const davit_align_scoring *scoring, const sequence *q, const sequence *t,
                                    int64_t cells, int32_t score) {
  SCOPE;
  davit_align_result a, b;
  const char *cigar = trace(scoring, q, t, DAVIT_ALIGN_LOCAL, cells, 1, &a);
  CHECK(davit_align_trace(scoring, q->length, q->symbols, t->length, t->symbols, &b, NULL, NULL));
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
}

#endif
