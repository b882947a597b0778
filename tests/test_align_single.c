/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over one pair along its anti-diagonals against the plain form, cell by cell: what they find, and the columns
 * along their steps, for all kinds, bands, costs, widths and vectors. */
#include "offload/align_pairs_single.h"
#include "src/align_columns.h"
#include "tests/alignments.h"

enum { LONGEST = 90 };

typedef struct pass_problem {
  davit_align_scoring scoring;
  dvt_pair_part part;
} pass_problem;

/* Read forward or backward, in a band that holds the first cell, and the last one if `whole`. */
static pass_problem random_problem(uint64_t *random, bool whole) {
  const int symbols = 1 + random_below(random, 25), m = random_below(random, LONGEST),
            n = random_below(random, 3) ? random_below(random, LONGEST) : m,
            width = random_below(random, 2) ? 2 * LONGEST : random_below(random, 12);
  const int open = random_below(random, 14), extend = random_below(random, 5);
  int8_t *matrix = kept((size_t)(symbols * symbols));
  fill_random(symbols, -8, 8, random, matrix);
  pass_problem p = {.scoring = scoring_of(symbols, matrix, open + 5, extend + 1)};
  const sequence q = random_sequence(m, symbols, random), t = random_below(random, 2)
                                                                  ? relative_of(&q, symbols, random)
                                                                  : random_sequence(n, symbols, random);
  const int64_t apart = whole ? t.length - q.length : 0;
  p.part = (dvt_pair_part){.query = q.symbols,
                           .target = t.symbols,
                           .m = q.length,
                           .n = t.length,
                           .step = 1,
                           .low = (apart < 0 ? apart : 0) - random_below(random, width + 1),
                           .high = (apart > 0 ? apart : 0) + random_below(random, width + 1)};
  if (p.part.low < -p.part.m)
    p.part.low = -p.part.m;
  if (p.part.high > p.part.n)
    p.part.high = p.part.n;
  if (random_below(random, 2) && p.part.m > 0 && p.part.n > 0) {
    p.part.query += p.part.m - 1;
    p.part.target += p.part.n - 1;
    p.part.step = -1;
  }
  return p;
}

static void expect_cell(const pass_problem *p, int kind, int64_t x_drop, const dvt_pair_cell *is,
                        const dvt_pair_cell *wish) {
  const bool none = wish->score < INT32_MIN && is->score <= INT32_MIN / 2; /* nothing counts */
  if (is->row != wish->row || is->column != wish->column || (!none && is->score != wish->score))
    fail_msg("kind %d, %lld x %lld in %lld … %lld, X %lld: %lld at %lld %lld, not %lld at %lld %lld", kind,
             (long long)p->part.m, (long long)p->part.n, (long long)p->part.low, (long long)p->part.high,
             (long long)x_drop, (long long)is->score, (long long)is->row, (long long)is->column,
             (long long)wish->score, (long long)wish->row, (long long)wish->column);
}

/* ---- columns ---- */

static int single_step(const void *trail, int64_t i, int64_t j) {
  return dvt_pair_trail_step(trail, -1, i, j);
}

typedef struct plain_steps {
  const uint8_t *at;
  int64_t height, high;
} plain_steps;

static int plain_step(const void *steps, int64_t i, int64_t j) {
  const plain_steps *s = steps;
  return s->at[(j - 1) * s->height + i - dvt_pair_first_row(s->high, j)];
}

/* Of an extension, by anti-diagonals. */
typedef struct noted_steps {
  dvt_pair_rows rows[2 * LONGEST * 2 + 64];
  uint8_t steps[2 * LONGEST * 2 + 64][LONGEST + 2];
} noted_steps;

static uint8_t *note(void *owner, int64_t number, dvt_pair_rows rows) {
  noted_steps *n = owner;
  n->rows[number] = rows;
  return n->steps[number];
}

static int noted(const noted_steps *n, int64_t i, int64_t j) {
  const dvt_pair_rows rows = n->rows[i + j];
  return i >= rows.from && i <= rows.to ? n->steps[i + j][i - rows.from] : 0;
}

static int noted_step(const void *steps, int64_t i, int64_t j) {
  return (noted(steps, i, j) & ~DVT_ALIGN_D_EXTENDS) | (noted(steps, i, j - 1) & DVT_ALIGN_D_EXTENDS);
}

static void expect_columns(const dvt_pair_part *part, int64_t m, int64_t n, const dvt_pair_trail *trail,
                           dvt_step_at *step_at, const void *steps) {
  const int64_t back =
      part->step < 0; /* the walk compares symbols from the first one on, whatever they are */
  const dvt_align_stretch s = {part->query - back * (part->m - 1), part->target - back * (part->n - 1), m, n,
                               1};
  char *is = kept((size_t)(m + n) + 1), *wish = kept((size_t)(m + n) + 1);
  const int64_t right = dvt_walk_back(&s, DVT_ALIGN_BOTH, step_at, steps, wish);
  assert_int_equal(dvt_walk_back(&s, DVT_ALIGN_BOTH, single_step, trail, is), right);
  assert_memory_equal(is, wish, (size_t)right);
}

/* ---- passes ---- */

static void compare_passes(uint64_t *random, bool wide, dvt_pair_memory *memory, dvt_pair_trail *trail) {
  SCOPE;
  for (int kind = DVT_PAIR_LOCAL; kind <= DVT_PAIR_GLOBAL; kind++) {
    const pass_problem p = random_problem(random, kind >= DVT_PAIR_ENDS);
    const dvt_pair_part *part = &p.part;
    const int64_t height = dvt_ref_align_height(part);
    const dvt_pair_single single = {&p.scoring, (dvt_pair_kind)kind, -1, wide};
    int64_t *scratch = kept(2 * (size_t)(part->m + 1) * sizeof *scratch);
    uint8_t *steps = kept((size_t)(height * part->n) + 1);
    dvt_pair_extension found;
    const dvt_pair_cell right = dvt_ref_align_pass(&p.scoring, single.kind, part, scratch, steps);
    assert_true(dvt_pair_single_pass(&single, part, memory, NULL, &found));
    expect_cell(&p, kind, -1, &found.end, &right);
    assert_false(found.dropped);
    assert_true(dvt_pair_single_pass(&single, part, memory, trail, &found));
    expect_cell(&p, kind, -1, &found.end, &right);
    if (kind == DVT_PAIR_GLOBAL)
      expect_columns(part, part->m, part->n, trail, plain_step, &(plain_steps){steps, height, part->high});
  }
}

static void compare_extensions(uint64_t *random, bool wide, dvt_pair_memory *memory, dvt_pair_trail *trail) {
  SCOPE;
  const pass_problem p = random_problem(random, false);
  const dvt_pair_part *part = &p.part;
  const int64_t x_drop = random_below(random, 4) ? random_below(random, 60) : INT32_MAX;
  const dvt_pair_single single = {&p.scoring, DVT_PAIR_BEGIN, x_drop, wide};
  int64_t *scratch = kept(4 * (size_t)(part->m + 3) * sizeof *scratch);
  noted_steps *steps = kept(sizeof *steps);
  dvt_pair_extension right, found;
  for (size_t k = 0; k < COUNT(steps->rows); k++)
    steps->rows[k] = DVT_PAIR_NO_ROWS;
  assert_true(dvt_ref_align_extend(&p.scoring, part, x_drop, scratch, note, steps, &right));
  for (int noting = 0; noting < 2; noting++) {
    assert_true(dvt_pair_single_pass(&single, part, memory, noting ? trail : NULL, &found));
    expect_cell(&p, DVT_PAIR_BEGIN, x_drop, &found.end, &right.end);
    assert_int_equal(found.dropped, right.dropped);
  }
  expect_columns(part, found.end.row, found.end.column, trail, noted_step, steps);
}

static void compare(void (*one)(uint64_t *, bool, dvt_pair_memory *, dvt_pair_trail *)) {
  dvt_pair_memory memory = {0};
  dvt_pair_trail trail = {0};
  EACH_CPU(variant)
    for (int wide = 0; wide < 2; wide++) {
      uint64_t random = 20261130 + (uint64_t)wide;
      for (int round = 0; round < scaled(2000); round++)
        one(&random, wide, &memory, &trail);
    }
  free(memory.at);
  dvt_pair_trail_free(&trail);
}

CASE(test_passes) {
  compare(compare_passes);
}

CASE(test_extensions) {
  compare(compare_extensions);
}

/* Scores and costs at the limit of 32 bits. */
CASE(test_large_costs) {
  dvt_pair_memory memory = {0};
  uint64_t random = 7;
  for (int round = 0; round < 200; round++) {
    pass_problem p = random_problem(&random, true);
    const int64_t longest = p.part.m + p.part.n + 8;
    p.scoring.gap_extend = (int)((DVT_PAIR_SINGLE_RANGE - 128 * LONGEST) / longest);
    p.scoring.gap_open = p.scoring.gap_extend;
    for (int kind = DVT_PAIR_LOCAL; kind <= DVT_PAIR_GLOBAL; kind++) {
      const dvt_pair_single single = {&p.scoring, (dvt_pair_kind)kind, -1, false};
      int64_t *scratch = kept(2 * (size_t)(p.part.m + 1) * sizeof *scratch);
      dvt_pair_extension found;
      const dvt_pair_cell right = dvt_ref_align_pass(&p.scoring, single.kind, &p.part, scratch, NULL);
      assert_true(dvt_pair_single_pass(&single, &p.part, &memory, NULL, &found));
      expect_cell(&p, kind, -1, &found.end, &right);
    }
  }
  free(memory.at);
}
