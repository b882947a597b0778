/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of many pairs share: sequences, calls of davit_align_pairs() for everything that it may return, and the
 * columns of an alignment from whole matrices. */
#ifndef DAVIT_TESTS_ALIGN_PAIRS_H
#define DAVIT_TESTS_ALIGN_PAIRS_H

#include "src/align_pairs.h"
#include "tests/alignments.h"

/* Sequences one after the other. */
typedef struct list {
  davit_align_sequences view;
  int64_t *offsets;
  uint8_t *symbols;
} list;

static inline list list_of(int64_t count, const sequence *all) {
  list t = {.offsets = kept((size_t)(count + 1) * sizeof(int64_t))};
  t.offsets[0] = 0;
  for (int64_t k = 0; k < count; k++)
    t.offsets[k + 1] = t.offsets[k] + all[k].length;
  t.symbols = kept((size_t)t.offsets[count] + 1);
  for (int64_t k = 0; k < count; k++)
    memcpy(t.symbols + t.offsets[k], all[k].symbols, (size_t)all[k].length);
  t.view = (davit_align_sequences){count, t.offsets, t.symbols};
  return t;
}

typedef struct pair {
  sequence q, t;
} pair;

typedef struct problem {
  davit_align_scoring scoring;
  int64_t count;
  const pair *pairs;
  list queries, targets;
  davit_align_pairs_options options;
} problem;

static inline problem problem_of(const davit_align_scoring *scoring, int64_t count, const pair *pairs,
                                 davit_align_mode mode, int64_t band) {
  sequence *q = kept((size_t)(count + 1) * sizeof *q), *t = kept((size_t)(count + 1) * sizeof *t);
  for (int64_t k = 0; k < count; k++) {
    q[k] = pairs[k].q;
    t[k] = pairs[k].t;
  }
  return (problem){
      *scoring, count, pairs, list_of(count, q), list_of(count, t), {.mode = mode, .band = band}};
}

typedef struct wanted {
  davit_align_result result;
  const char *cigar;
} wanted;

/* Whether a device may have pairs: a GPU is there. */
static inline bool has_devices(void) {
  int devices[16], count;
  CHECK(davit_device_defaults(COUNT(devices), devices, &count));
  return count > 0 && dvt_pairs_has_device_form(devices[0]);
}

/* Three calls: everything, stretches alone, scores alone; by the devices, too, where there are some. */
static inline void expect_pairs(const problem *p, const wanted *right) {
  SCOPE;
  const size_t bytes = (size_t)p->count * sizeof(davit_align_result);
  zone z = zone_new(bytes, DAVIT_PAGEABLE, 8),
       y = zone_new((size_t)p->count * sizeof(int32_t), DAVIT_PAGEABLE, 4);
  davit_align_result *results = kept(bytes + 1);
  int32_t *scores = kept((size_t)p->count * sizeof *scores + 1);
  for (int call = 0; call < (has_devices() ? 6 : 3); call++) {
    const int full = call % 3;
    char *cigars = NULL;
    CHECK(dvt_align_pairs(&p->scoring, &p->queries.view, &p->targets.view, call >= 3,
                          full == 1 ? NULL : zone_data(&y), full ? zone_data(&z) : NULL,
                          full == 2 ? &cigars : NULL, &p->options));
    if (full)
      zone_take(&z, results);
    if (full != 1)
      zone_take(&y, scores);
    for (int64_t k = 0; k < p->count; k++) {
      davit_align_result wish = right[k].result, is = results[k];
      if (full != 1 && scores[k] != wish.score)
        fail_msg("mode %d, pair %lld (%lld x %lld): score %d, not %d", (int)p->options.mode, (long long)k,
                 (long long)p->pairs[k].q.length, (long long)p->pairs[k].t.length, scores[k], wish.score);
      is.cigar = 0;
      if (full && memcmp(&is, &wish, sizeof is) != 0)
        fail_msg(
            "mode %d, pair %lld (%lld x %lld): %d %d %d at %lld %lld %lld %lld, not %d %d %d at %lld %lld "
            "%lld %lld",
            (int)p->options.mode, (long long)k, (long long)p->pairs[k].q.length,
            (long long)p->pairs[k].t.length, is.score, is.banded, is.dropped, (long long)is.query_begin,
            (long long)is.query_end, (long long)is.target_begin, (long long)is.target_end, wish.score,
            wish.banded, wish.dropped, (long long)wish.query_begin, (long long)wish.query_end,
            (long long)wish.target_begin, (long long)wish.target_end);
      if (full == 2)
        assert_string_equal(cigars + results[k].cigar, right[k].cigar);
    }
    davit_free(cigars);
  }
}

/* One in three is related; lengths from 0 on. */
static inline pair *random_pairs(int64_t count, int m, int n, int symbols, uint64_t *random) {
  pair *pairs = kept((size_t)count * sizeof *pairs);
  for (int64_t k = 0; k < count; k++) {
    pair *p = &pairs[k];
    p->q = random_sequence(random_below(random, m + 1), symbols, random);
    p->t = k % 3 ? random_sequence(random_below(random, n + 1), symbols, random)
                 : relative_of(&p->q, symbols, random);
  }
  return pairs;
}

/* ---- whole matrices ---- */

enum { MOST = 40 };
#define NOTHING (INT32_MIN / 4)

typedef struct matrices {
  int h[MOST + 1][MOST + 1], d[MOST + 1][MOST + 1], f[MOST + 1][MOST + 1];
} matrices;

static inline int larger(int a, int b) {
  return a > b ? a : b;
}

/* Back from the end: of equal steps the match first, then the gap of target symbols; a gap opens where it may. */
static inline const char *columns_of(const davit_align_scoring *scoring, const pair *p,
                                     const davit_align_result *r, const matrices *x) {
  char *text = kept(4 * MOST + 8), columns[2 * MOST + 1];
  int64_t i = r->query_end, j = r->target_end, used = 0;
  const int open = scoring->gap_open;
  char state = 'M';
  while (i > r->query_begin || j > r->target_begin) {
    const bool both = i > r->query_begin && j > r->target_begin;
    if (state == 'M' && both &&
        x->h[i][j] == x->h[i - 1][j - 1] + score_of(scoring, p->q.symbols[i - 1], p->t.symbols[j - 1])) {
      columns[used++] = p->q.symbols[--i] == p->t.symbols[--j] ? '=' : 'X';
      continue;
    }
    if (state == 'M')
      state = j > r->target_begin && x->h[i][j] == x->d[i][j] ? 'D' : 'I';
    columns[used++] = state;
    const bool opens =
        state == 'D' ? x->d[i][j] == x->h[i][j - 1] - open : x->f[i][j] == x->h[i - 1][j] - open;
    *(state == 'D' ? &j : &i) -= 1;
    if (opens)
      state = 'M';
  }
  char *at = text;
  *at = 0;
  for (int64_t k = used - 1, count = 0; k >= 0; k--) {
    count++;
    if (k == 0 || columns[k - 1] != columns[k]) {
      at += sprintf(at, "%lld%c", (long long)count, columns[k]);
      count = 0;
    }
  }
  return text;
}

#endif
