/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over the matrix of an alignment, in words of every width by every variant of instructions, against
 * the plain recurrence: every score and step, the best cell, and what ends a pass. */
#include "tests/elements.h"

#include "offload/align_sweep.h"

enum { MAX_SYMBOLS = 32 };

typedef struct problem {
  int8_t matrix[MAX_SYMBOLS * MAX_SYMBOLS];
  dvt_align_costs costs;
  dvt_align_stretch s;
  int64_t floor;  /* 0: a local alignment, that begins anywhere; else a global one, */
  int64_t corner; /* whose gap in the first corner costs this to open */
} problem;

/* What a pass gives. */
typedef struct outcome {
  int64_t *h, *d;
  uint8_t *steps; /* column-major */
  dvt_align_cell best;
  dvt_align_kept kept;
} outcome;

enum { EVERY = 32 };

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static outcome outcome_new(const problem *p) {
  const size_t bytes = (size_t)(p->s.m + 1) * sizeof(int64_t);
  const size_t columns = (size_t)dvt_align_kept_columns(p->s.n, EVERY);
  outcome o = {
      kept(bytes), kept(bytes), kept((size_t)(p->s.m * p->s.n) + 1), {0}, {EVERY, kept(columns * bytes + 1)}};
  if (p->floor == 0)
    dvt_align_local_edge(p->s.m, o.h, o.d);
  else
    dvt_align_edge(&p->costs, p->s.m, p->corner, o.h, o.d);
  return o;
}

/* ---- the plain recurrence ---- */

static void plain_column(const problem *p, int64_t j, outcome *o) {
  const int64_t extend = p->costs.extend, open = p->costs.first + extend;
  const int8_t *scores = p->matrix + p->s.target[(j - 1) * p->s.step] * p->costs.symbols;
  int64_t diagonal = o->h[0], gap = DVT_ALIGN_NONE;
  o->d[0] -= extend;
  o->h[0] = larger(o->d[0], p->floor);
  for (int64_t i = 1; i <= p->s.m; i++) {
    const int64_t both = diagonal + scores[p->s.query[(i - 1) * p->s.step]];
    const bool d_extends = o->d[i] - extend > o->h[i] - open;
    diagonal = o->h[i];
    o->d[i] = larger(o->d[i] - extend, o->h[i] - open);
    gap = larger(gap - extend, o->h[i - 1] - open);
    const int64_t h = larger(larger(both, p->floor), larger(o->d[i], gap));
    o->h[i] = h;
    const int origin = h == both ? DVT_ALIGN_BOTH : h == o->d[i] ? DVT_ALIGN_D : DVT_ALIGN_I;
    o->steps[(j - 1) * p->s.m + i - 1] = (uint8_t)(origin | (d_extends ? DVT_ALIGN_D_EXTENDS : 0) |
                                                   (gap - extend > h - open ? DVT_ALIGN_I_EXTENDS : 0));
    if (h > o->best.score)
      o->best = (dvt_align_cell){h, i, j};
  }
}

static int32_t kept_score(int64_t score) {
  return (int32_t)larger(score, DVT_ALIGN_KEPT_NONE);
}

static outcome plain(const problem *p) {
  outcome o = outcome_new(p);
  int32_t *to = o.kept.columns;
  for (int64_t j = 1; j <= p->s.n; j++) {
    plain_column(p, j, &o);
    if (j % EVERY || j == p->s.n)
      continue;
    for (int64_t i = 0; i <= p->s.m; i++)
      *to++ = kept_score(o.h[i]);
    for (int64_t i = 0; i <= p->s.m; i++)
      *to++ = kept_score(o.d[i]);
  }
  return o;
}

/* ---- the passes ---- */

static void expect_scores(const problem *p, const outcome *o, const outcome *wanted) {
  for (int64_t i = 0; i <= p->s.m; i++)
    if (o->h[i] != wanted->h[i] || (p->s.n > 0 && o->d[i] != wanted->d[i]))
      fail_msg("%lld x %lld, row %lld: h %lld and d %lld, not %lld and %lld", (long long)p->s.m,
               (long long)p->s.n, (long long)i, (long long)o->h[i], (long long)o->d[i],
               (long long)wanted->h[i], (long long)wanted->d[i]);
}

static void expect_kept(const problem *p, const outcome *o, const outcome *wanted) {
  const int64_t words = dvt_align_kept_columns(p->s.n, EVERY) * 2 * (p->s.m + 1);
  for (int64_t k = 0; k < words; k++)
    if (o->kept.columns[k] != wanted->kept.columns[k])
      fail_msg("%lld x %lld, word %lld of the columns: %d, not %d", (long long)p->s.m, (long long)p->s.n,
               (long long)k, o->kept.columns[k], wanted->kept.columns[k]);
}

static void expect_cell(const dvt_align_cell *cell, const dvt_align_cell *wanted) {
  assert_int_equal(cell->score, wanted->score);
  assert_int_equal(cell->column, wanted->column);
  assert_int_equal(cell->row, wanted->row);
}

static void expect_best(const problem *p, dvt_align_team *team, const outcome *wanted) {
  outcome o = outcome_new(p);
  o.best = dvt_align_best(&p->costs, &p->s, p->floor, INT64_MAX, team, o.h, o.d, NULL);
  expect_scores(p, &o, wanted);
  expect_cell(&o.best, &wanted->best);
  if (!left_out()) {
    o = outcome_new(p);
    o.best = dvt_align_best(&p->costs, &p->s, p->floor, INT64_MAX, team, o.h, o.d, &o.kept);
    expect_scores(p, &o, wanted);
    expect_kept(p, &o, wanted);
  }
  expect_cell(&o.best, &wanted->best);
  if (wanted->best.score == 0)
    return;
  o = outcome_new(p);
  o.best = dvt_align_best(&p->costs, &p->s, p->floor, wanted->best.score, team, o.h, o.d, NULL);
  expect_cell(&o.best, &wanted->best);
}

static void expect_steps(const problem *p, dvt_align_team *team, const outcome *wanted) {
  const size_t bytes = dvt_align_steps_bytes(p->s.m * p->s.n);
  outcome o = outcome_new(p);
  zone steps = zone_new(bytes, DAVIT_PAGEABLE, 1);
  uint8_t *taken = kept(bytes);
  dvt_align_sweep(&p->costs, &p->s, team, o.h, o.d, zone_data(&steps), NULL);
  expect_scores(p, &o, wanted);
  zone_take(&steps, taken);
  for (int64_t j = 1; j <= p->s.n; j++)
    for (int64_t i = 1; i <= p->s.m; i++) {
      const int step = dvt_align_step(&team->tiling, &p->s, taken, i, j);
      const int should = wanted->steps[(j - 1) * p->s.m + i - 1];
      if (step != should)
        fail_msg("%lld x %lld, row %lld, column %lld: step %d, not %d", (long long)p->s.m, (long long)p->s.n,
                 (long long)i, (long long)j, step, should);
    }
  if (left_out())
    return;
  o = outcome_new(p);
  dvt_align_sweep(&p->costs, &p->s, team, o.h, o.d, NULL, &o.kept);
  expect_scores(p, &o, wanted);
  expect_kept(p, &o, wanted);
}

/* By all variants. *widths gets a bit for the number of lanes, which is 8, 16 or 32. */
static void expect_pass(const problem *p, int threads, int *widths) {
  SCOPE;
  outcome wanted = plain(p);
  EACH_CPU(variant) {
    dvt_align_team team;
    CHECK(dvt_align_team_open(&p->costs, p->s.m, p->s.n, threads, &team));
    *widths |= team.tiling.lanes;
    expect_best(p, &team, &wanted);
    if (p->floor != 0)
      expect_steps(p, &team, &wanted);
    dvt_align_team_close(&team);
  }
}

/* ---- what they are asked ---- */

/* The cost of opening beyond that of extending, and of extending. */
typedef struct gaps {
  int64_t first, extend;
} gaps;

static const gaps all_gaps[] = {{0, 1},        {3, 2},    {10, 1},      {0, 9},       {23, 3},
                                {70, 1},       {400, 30}, {0, 2000000}, {6000000, 1}, {INT32_MAX - 1, 1},
                                {0, INT32_MAX}};

/* Entries about as large as gaps allow gaps to matter; `ties`: few different ones. */
static void fill(problem *p, int symbols, bool ties, uint64_t *random) {
  const int most = p->costs.first + p->costs.extend > 100 ? 127 : 7;
  p->costs.matrix = p->matrix;
  p->costs.symbols = symbols;
  p->costs.largest = 0;
  for (int k = 0; k < symbols * symbols; k++) {
    const int other = ties ? -1 : random_below(random, most + 3) - most;
    p->matrix[k] = (int8_t)(k % symbols == k / symbols ? (ties ? 1 : 1 + random_below(random, most)) : other);
    p->costs.largest = p->matrix[k] > p->costs.largest ? p->matrix[k] : p->costs.largest;
  }
}

/* The target is the query with stretches left out and put in. */
static void fill_symbols(int symbols, int64_t m, uint8_t *query, int64_t n, uint8_t *target,
                         uint64_t *random) {
  for (int64_t i = 0; i < m; i++)
    query[i] = (uint8_t)random_below(random, symbols);
  for (int64_t i = 0, j = 0; j < n; i++, j++) {
    target[j] = i < m && random_below(random, 8) ? query[i] : (uint8_t)random_below(random, symbols);
    const int jump = random_below(random, 50) ? 0 : random_below(random, 41) - 20;
    i = larger(i + jump, 0);
  }
}

static void check(int64_t m, int64_t n, const gaps *g, int threads, uint64_t *random, int *widths) {
  uint8_t *query = kept((size_t)m), *target = kept((size_t)n);
  const int kind = random_below(random, 8), symbols = kind & 1 ? 4 : 1 + random_below(random, MAX_SYMBOLS);
  problem p = {.costs = {.first = g->first, .extend = g->extend}};
  fill(&p, symbols, kind & 2, random);
  fill_symbols(symbols, m, query, n, target, random);
  p.s = kind & 4 ? (dvt_align_stretch){query + m - 1, target + n - 1, m, n, -1}
                 : (dvt_align_stretch){query, target, m, n, 1};
  expect_pass(&p, threads, widths);
  p.floor = DVT_ALIGN_NONE;
  p.corner = random_below(random, 2) ? g->first : 0;
  expect_pass(&p, threads, widths);
}

/* Rows about the widths of vectors, lanes and strips, and no less of columns. */
CASE(test_edges) {
  static const int64_t rows[] = {1,   2,   7,   8,   9,   15,  16,  17,  31,  32,  33,
                                 47,  63,  64,  65,  100, 127, 128, 129, 130, 240, 241,
                                 255, 256, 257, 300, 481, 511, 512, 513, 545, 1025};
  uint64_t random = 1;
  int widths = 0;
  for (int r = 0; r < COUNT(rows); r++)
    for (int g = 0; g < COUNT(all_gaps); g++) {
      check(rows[r], 1 + random_below(&random, 70), &all_gaps[g], 1, &random, &widths);
      check(1 + random_below(&random, 70), rows[r], &all_gaps[g], 1, &random, &widths);
    }
  assert_int_equal(widths, 8 | 16 | 32);
}

/* Columns about the ends of blocks, where scores are counted anew. */
CASE(test_blocks) {
  static const int64_t columns[] = {1023, 1024, 1025, 2047, 2048, 2049, 3100};
  uint64_t random = 2;
  int widths = 0;
  for (int c = 0; c < COUNT(columns); c++)
    for (int g = c % 2; g < COUNT(all_gaps); g += 2)
      check(1 + random_below(&random, 300), columns[c], &all_gaps[g], 1, &random, &widths);
  assert_int_equal(widths, 8 | 16 | 32);
}

/* Bands of rows, of which the last may be cut short. */
CASE(test_bands) {
  static const int64_t rows[] = {1024, 1025, 1280, 1537};
  uint64_t random = 3;
  int widths = 0;
  for (int r = 0; r < COUNT(rows); r++)
    for (int g = r; g < COUNT(all_gaps); g += COUNT(rows))
      check(rows[r], 2040 + random_below(&random, 1100), &all_gaps[g], 2 + random_below(&random, 3), &random,
            &widths);
  assert_int_equal(widths, 8 | 16 | 32);
}

/* Nothing but ties: every symbol scores the same with every other. */
CASE(test_one_score) {
  uint8_t symbols[1100] = {0};
  int widths = 0;
  for (int score = -1; score <= 1; score++)
    for (int64_t m = 500; m < 1100; m += 512) {
      problem p = {.matrix = {(int8_t)score}, .s = {symbols, symbols, m, 1100, 1}};
      p.costs =
          (dvt_align_costs){.matrix = p.matrix, .symbols = 1, .largest = score > 0 ? score : 0, .extend = 1};
      expect_pass(&p, 1, &widths);
      p.floor = DVT_ALIGN_NONE;
      expect_pass(&p, 1, &widths);
    }
}

/* The largest differences that words of a width have to hold: nothing but matches, and no match at all. */
CASE(test_ranges) {
  uint8_t one[1500], other[1500];
  int widths = 0;
  for (int largest = 1; largest < 128; largest += 14)
    for (int gap = 1 + largest % 3 * 10; gap < 64; gap += 30) {
      problem p = {.matrix = {(int8_t)largest, INT8_MIN, INT8_MIN, (int8_t)largest}};
      p.costs = (dvt_align_costs){.matrix = p.matrix, .symbols = 2, .largest = largest, .extend = gap};
      const int64_t m = 300 + largest * 3, n = 1000 + largest * 3;
      for (int64_t k = 0; k < COUNT(one); k++) {
        one[k] = k >= m / 2;
        other[k] = k < n / 3;
      }
      p.s = (dvt_align_stretch){one, other, m, n, 1};
      p.floor = DVT_ALIGN_NONE;
      p.corner = 0;
      expect_pass(&p, 1, &widths);
    }
  assert_int_equal(widths, 16 | 32);
}
