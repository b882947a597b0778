/* SPDX-License-Identifier: Apache-2.0 */
/* One local alignment in full, in memory linear in m + n, by passes over its matrix (align_pass.h):
 *
 *   end      Forward, scores kept at 0 or more: the best score and the first cell that has it.
 *   begin    Backward from there, until the score is reached.
 *   columns  What lies between is one global alignment, by Myers and Miller (1988): the target is halved, the
 *            forward scores of the first half are added to the backward scores of the second, and where the
 *            sum is a maximum the query is divided. A gap of target symbols may go on through the cut, and is
 *            then opened on neither side of it. Small rectangles are traced through a matrix of bytes.
 *
 * A gap of k symbols costs first + k extend, first = gap_open - gap_extend. Gaps may adjoin, so an extension
 * costs at most gap_open; first is 0 or more. A rectangle has `corners`: what a gap of target symbols pays
 * for being opened in its first or closed in its last corner, which is `first`, or 0 if it goes on there.
 *
 * Cost: at most 4 m n cells; 33 m + n bytes, the larger of m and DVT_ALIGN_TRACE_CELLS and an eighth more for
 * the matrix, 70 KiB a thread, half of them of its stack, and the string. What is kept of a pass has 64 bits:
 * scores of global alignments may be far below 0, and no sum of penalties overflows. */
#include <davit/memory.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "offload/align_pass.h"
#include "src/align.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/error.h"
#include "src/base/team.h"
#include "src/runtime/operation.h"

/* ---- checks ---- */

davit_status dvt_check_scoring(const davit_align_scoring *scoring) {
  DVT_TRY(dvt_check_pointer("scoring", scoring));
  DVT_TRY(
      dvt_check_reserved("scoring", scoring->reserved, sizeof scoring->reserved / sizeof *scoring->reserved));
  if (scoring->symbols < 1 || scoring->symbols > DAVIT_ALIGN_SYMBOLS_MAXIMUM)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "scoring->symbols is %d, not 1 to %d", scoring->symbols,
                      DAVIT_ALIGN_SYMBOLS_MAXIMUM);
  DVT_TRY(dvt_check_pointer("scoring->matrix", scoring->matrix));
  if (scoring->gap_open < 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "scoring->gap_open is %d, less than 1", scoring->gap_open);
  if (scoring->gap_extend < 1)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "scoring->gap_extend is %d, less than 1", scoring->gap_extend);
  return DAVIT_SUCCESS;
}

davit_status dvt_check_sequence(const char *name, const char *length_name, int64_t length,
                                const uint8_t *sequence, int symbols) {
  DVT_TRY(dvt_check_length(length_name, length));
  if (length > 0)
    DVT_TRY(dvt_check_pointer(name, sequence));
  for (int64_t i = 0; i < length; i++)
    if (sequence[i] >= symbols)
      return davit_fail(DAVIT_INVALID_ARGUMENT, "%s: symbol %lld is %d, not below %d", name, (long long)i,
                        sequence[i], symbols);
  return DAVIT_SUCCESS;
}

int dvt_largest_entry(const davit_align_scoring *scoring) {
  int largest = 0;
  for (int k = 0; k < scoring->symbols * scoring->symbols; k++)
    largest = scoring->matrix[k] > largest ? scoring->matrix[k] : largest;
  return largest;
}

davit_status dvt_check_score_range(const davit_align_scoring *scoring, int64_t m, int64_t n) {
  const int64_t shorter = dvt_at_most(m, n);
  const int largest = dvt_largest_entry(scoring);
  if (largest > 0 && shorter > INT32_MAX / largest)
    return davit_fail(DAVIT_INVALID_ARGUMENT,
                      "%lld symbols of a query and of a target, each scoring up to %d, may pass 2^31 - 1",
                      (long long)shorter, largest);
  return DAVIT_SUCCESS;
}

/* ---- the ends ---- */

typedef struct trace {
  dvt_align_costs costs;
  dvt_align_team team;
  int64_t cells;            /* of a rectangle that is traced through a matrix */
  int64_t *vectors;         /* 4 of m + 1 */
  int64_t *h, *d, *rh, *rd; /* they */
  uint8_t *steps;           /* the matrix */
  char *columns;            /* of the alignment, so far */
  int64_t used;
} trace;

static void find_end(trace *t, const dvt_align_stretch *s, davit_align_result *a) {
  dvt_align_local_edge(s->m, t->h, t->d);
  const dvt_align_cell end = dvt_align_best(&t->costs, s, 0, INT64_MAX, &t->team, t->h, t->d);
  a->score = (int32_t)end.score;
  a->query_end = end.row;
  a->target_end = end.column;
}

/* Of the stretches that end there and score the same, the one with the shortest target, then the shortest
 * query. */
static void find_begin(trace *t, const dvt_align_stretch *s, davit_align_result *a) {
  const dvt_align_stretch back = {s->query + a->query_end - 1, s->target + a->target_end - 1, a->query_end,
                                  a->target_end, -1};
  dvt_align_edge(&t->costs, back.m, t->costs.first, t->h, t->d);
  const dvt_align_cell begin =
      dvt_align_best(&t->costs, &back, DVT_ALIGN_NONE, a->score, &t->team, t->h, t->d);
  a->query_begin = a->query_end - begin.row;
  a->target_begin = a->target_end - begin.column;
}

/* ---- the columns ---- */

static void emit(trace *t, char column, int64_t count) {
  for (int64_t k = 0; k < count; k++)
    t->columns[t->used++] = column;
}

/* From the last cell back to an edge; the columns come out in reverse. `state` is where the path is: in h
 * (DVT_ALIGN_BOTH) or in a gap. */
static void walk_back(trace *t, const dvt_align_stretch *s, int state) {
  int64_t i = s->m, j = s->n;
  while (i > 0 && j > 0) {
    const int step = dvt_align_step(&t->team.tiling, s, t->steps, i, j);
    if (state == DVT_ALIGN_BOTH)
      state = step & DVT_ALIGN_ORIGIN;
    if (state == DVT_ALIGN_BOTH) {
      emit(t, s->query[--i] == s->target[--j] ? '=' : 'X', 1);
    } else if (state == DVT_ALIGN_D) {
      emit(t, 'D', 1);
      j--;
      state = step & DVT_ALIGN_D_EXTENDS ? DVT_ALIGN_D : DVT_ALIGN_BOTH;
    } else {
      emit(t, 'I', 1);
      i--;
      const bool extends = i > 0 && dvt_align_step(&t->team.tiling, s, t->steps, i, j) & DVT_ALIGN_I_EXTENDS;
      state = extends ? DVT_ALIGN_I : DVT_ALIGN_BOTH;
    }
  }
  emit(t, 'I', i);
  emit(t, 'D', j);
}

static void reverse(char *text, int64_t count) {
  for (int64_t i = 0; i < count / 2; i++) {
    const char moved = text[i];
    text[i] = text[count - 1 - i];
    text[count - 1 - i] = moved;
  }
}

/* What a gap of target symbols pays for its opening in the corners of a rectangle. */
typedef struct corners {
  int64_t first, last;
} corners;

static void solve_by_matrix(trace *t, const dvt_align_stretch *s, corners c) {
  const int64_t start = t->used;
  dvt_align_edge(&t->costs, s->m, c.first, t->h, t->d);
  dvt_align_pass(&t->costs, s, &t->team, t->h, t->d, t->steps);
  walk_back(t, s, t->d[s->m] + t->costs.first - c.last > t->h[s->m] ? DVT_ALIGN_D : DVT_ALIGN_BOTH);
  reverse(t->columns + start, t->used - start);
}

/* Where the best path meets the cut behind target symbol `cut`: in row *row, and *through if a gap of target
 * symbols goes on there. */
static void find_meeting(trace *t, const dvt_align_stretch *s, corners c, int64_t cut, int64_t *row,
                         bool *through) {
  const dvt_align_stretch before = {s->query, s->target, s->m, cut, 1};
  const dvt_align_stretch after = {s->query + s->m - 1, s->target + s->n - 1, s->m, s->n - cut, -1};
  dvt_align_edge(&t->costs, s->m, c.first, t->h, t->d);
  dvt_align_pass(&t->costs, &before, &t->team, t->h, t->d, NULL);
  dvt_align_edge(&t->costs, s->m, c.last, t->rh, t->rd);
  dvt_align_pass(&t->costs, &after, &t->team, t->rh, t->rd, NULL);
  int64_t best = INT64_MIN;
  for (int64_t i = 0; i <= s->m; i++) {
    const int64_t meet = t->h[i] + t->rh[s->m - i], pass = t->d[i] + t->rd[s->m - i] + t->costs.first;
    if (dvt_at_least(meet, pass) > best) {
      best = dvt_at_least(meet, pass);
      *row = i;
      *through = pass > meet;
    }
  }
}

static void solve(trace *t, const dvt_align_stretch *s, corners c) {
  if (s->m == 0) {
    emit(t, 'D', s->n);
    return;
  }
  if (s->n <= 1 || s->n <= t->cells / s->m) {
    solve_by_matrix(t, s, c);
    return;
  }
  int64_t row = 0;
  bool through = false;
  const int64_t cut = s->n / 2;
  find_meeting(t, s, c, cut, &row, &through);
  /* Of a gap that goes on, the symbols on both sides of the cut are settled: each half is left with a gap
   * that may end in its corner. */
  const int64_t settled = through;
  const dvt_align_stretch left = {s->query, s->target, row, cut - settled, 1};
  const dvt_align_stretch right = {s->query + row, s->target + cut + settled, s->m - row,
                                   s->n - cut - settled, 1};
  solve(t, &left, (corners){c.first, through ? 0 : t->costs.first});
  emit(t, 'D', 2 * settled);
  solve(t, &right, (corners){through ? 0 : t->costs.first, c.last});
}

/* ---- the string ---- */

/* The string for the user. A run of k columns takes no more than 2 k characters. */
static davit_status make_cigar(const trace *t, char **cigar) {
  const size_t bytes = 2 * (size_t)t->used + 1;
  char *at;
  DVT_TRY(davit_malloc(bytes, DAVIT_PAGEABLE, (void **)&at));
  *cigar = at;
  *at = '\0';
  for (int64_t i = 0, end; i < t->used; i = end) {
    for (end = i + 1; end < t->used && t->columns[end] == t->columns[i];)
      end++;
    at += snprintf(at, bytes - (size_t)(at - *cigar), "%lld%c", (long long)(end - i), t->columns[i]);
  }
  return DAVIT_SUCCESS;
}

/* ---- the call ---- */

static davit_status allocate(trace *t, int64_t m, int64_t n, int threads) {
  t->vectors = dvt_allocate((size_t)m + 1, 4 * sizeof *t->vectors);
  if (!t->vectors)
    return DAVIT_OUT_OF_HOST_MEMORY;
  t->h = t->vectors;
  t->d = t->h + m + 1;
  t->rh = t->d + m + 1;
  t->rd = t->rh + m + 1;
  return dvt_align_team_open(&t->costs, m, n, threads, &t->team);
}

static davit_status find_columns(trace *t, const dvt_align_stretch *s, char **cigar) {
  const int64_t most = dvt_at_least(t->cells, s->m);
  const bool whole = s->m == 0 || s->n <= most / s->m;
  t->columns = dvt_allocate((size_t)(s->m + s->n) + 1, 1);
  t->steps = dvt_allocate(dvt_align_steps_bytes(whole ? s->m * s->n : most), 1);
  if (!t->columns || !t->steps)
    return DAVIT_OUT_OF_HOST_MEMORY;
  solve(t, s, (corners){t->costs.first, t->costs.first});
  return make_cigar(t, cigar);
}

static davit_status run(trace *t, const dvt_align_stretch *s, int threads, davit_align_result *result,
                        char **cigar) {
  davit_align_result a = {0};
  DVT_TRY(allocate(t, s->m, s->n, threads));
  find_end(t, s, &a);
  if (a.score > 0)
    find_begin(t, s, &a);
  const int64_t q = a.query_begin, j = a.target_begin;
  const dvt_align_stretch between = {s->query + q, s->target + j, a.query_end - q, a.target_end - j, 1};
  if (cigar)
    DVT_TRY(find_columns(t, &between, cigar));
  *result = a;
  return DAVIT_SUCCESS;
}

davit_status dvt_align_trace(const davit_align_scoring *scoring, int64_t m, const uint8_t *query, int64_t n,
                             const uint8_t *target, int64_t cells, int threads, davit_align_result *result,
                             char **cigar) {
  static const uint8_t nothing[1];
  DVT_TRY(dvt_check_scoring(scoring));
  DVT_TRY(dvt_check_sequence("query", "m", m, query, scoring->symbols));
  DVT_TRY(dvt_check_sequence("target", "n", n, target, scoring->symbols));
  DVT_TRY(dvt_check_score_range(scoring, m, n));
  DVT_TRY(dvt_check_pointer("result", result));
  const int64_t open = scoring->gap_open, extend = dvt_at_most(scoring->gap_extend, open);
  trace t = {.costs = {scoring->matrix, scoring->symbols, dvt_largest_entry(scoring), open - extend, extend},
             .cells = cells};
  const dvt_align_stretch all = {m ? query : nothing, n ? target : nothing, m, n, 1};
  const dvt_team team = dvt_team_begin(threads ? threads : dvt_threads());
  const davit_status status = run(&t, &all, threads ? threads : team.threads, result, cigar);
  dvt_team_end(&team);
  dvt_align_team_close(&t.team);
  free(t.vectors);
  free(t.steps);
  free(t.columns);
  return status;
}

davit_status davit_align_trace(const davit_align_scoring *scoring, int64_t m, const uint8_t *query, int64_t n,
                               const uint8_t *target, davit_align_result *result, char **cigar) {
  return dvt_align_trace(scoring, m, query, n, target, DVT_ALIGN_TRACE_CELLS, 0, result, cigar);
}
