/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of a global alignment by Myers and Miller (1988), in memory linear in m + n. The target is
 * halved, the forward scores of the first half are added to the backward scores of the second, and where the
 * sum is a maximum the query is divided. A gap of target symbols may go on through the cut, and is then
 * opened on neither side of it. What is left, once it is small enough, is traced through a matrix of bytes.
 *
 * Large rectangles are divided one level after the other: on a device all of a level at the same time, on the
 * host each by all threads. Then each thread takes rectangles of its own. Where a rectangle is divided
 * depends on nothing but the rectangle.
 *
 * A gap of k symbols costs first + k extend. A rectangle has `corners`: what a gap of target symbols pays for
 * being opened in its first or closed in its last corner, which is `first`, or 0 if it goes on there. */
#include <davit/memory.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "src/align_columns.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/error.h"
#include "src/runtime/memory.h"

enum {
  SHARED_CELLS = 16,      /* times those of a matrix: larger rectangles are the work of all threads */
  PIECES = 4,             /* for each thread */
  WORKER_CELLS = 1 << 22, /* and more of them take longer than to wake a thread */
  WORKER_BYTES = 1 << 26  /* for the vectors of all threads but one */
};
#define DEVICE_RATE 1.5e12 /* cells a second of many sweeps at once */

typedef struct corners {
  int64_t first, last;
} corners;

/* ---- one thread's rectangles ---- */

typedef struct worker {
  const dvt_trace *trace;
  dvt_align_team team;
  int64_t *vectors; /* 4 of as many rows as any of its rectangles has */
  int64_t rows;
  uint8_t *steps; /* the matrix */
  char *columns;  /* of its rectangle, so far */
  int64_t used;
} worker;

/* h and d of sweeps forward (0) and backward (1). */
static int64_t *h_of(const worker *w, int way) {
  return w->vectors + 2 * way * (w->rows + 1);
}

static int64_t *d_of(const worker *w, int way) {
  return h_of(w, way) + w->rows + 1;
}

static void emit(worker *w, char column, int64_t count) {
  for (int64_t k = 0; k < count; k++)
    w->columns[w->used++] = column;
}

static void reverse(char *text, int64_t count) {
  for (int64_t i = 0; i < count / 2; i++) {
    const char moved = text[i];
    text[i] = text[count - 1 - i];
    text[count - 1 - i] = moved;
  }
}

int64_t dvt_walk_back(const dvt_align_stretch *s, int state, dvt_step_at *step_at, const void *steps,
                      char *columns) {
  int64_t i = s->m, j = s->n, used = 0;
  while (i > 0 && j > 0) {
    const int step = step_at(steps, i, j);
    if (state == DVT_ALIGN_BOTH)
      state = step & DVT_ALIGN_I ? DVT_ALIGN_I : step & DVT_ALIGN_ORIGIN;
    if (state == DVT_ALIGN_BOTH) {
      columns[used++] = s->query[--i] == s->target[--j] ? '=' : 'X';
    } else if (state == DVT_ALIGN_D) {
      columns[used++] = 'D';
      j--;
      state = step & DVT_ALIGN_D_EXTENDS ? DVT_ALIGN_D : DVT_ALIGN_BOTH;
    } else {
      columns[used++] = 'I';
      i--;
      const bool extends = i > 0 && step_at(steps, i, j) & DVT_ALIGN_I_EXTENDS;
      state = extends ? DVT_ALIGN_I : DVT_ALIGN_BOTH;
    }
  }
  for (; i > 0; i--)
    columns[used++] = 'I';
  for (; j > 0; j--)
    columns[used++] = 'D';
  reverse(columns, used);
  return used;
}

/* Steps of a sweep over a rectangle. */
typedef struct noted {
  const dvt_align_tiling *tiling;
  const dvt_align_stretch *s;
  const uint8_t *steps;
} noted;

static int step_of_sweep(const void *steps, int64_t i, int64_t j) {
  const noted *n = steps;
  return dvt_align_step(n->tiling, n->s, n->steps, i, j);
}

static void solve_by_matrix(worker *w, const dvt_align_stretch *s, corners c) {
  const dvt_align_costs *costs = &w->trace->costs;
  const noted noted = {&w->team.tiling, s, w->steps};
  int64_t *h = h_of(w, 0), *d = d_of(w, 0);
  dvt_align_edge(costs, s->m, c.first, h, d);
  dvt_align_sweep(costs, s, &w->team, h, d, w->steps, NULL);
  const int state = d[s->m] + costs->first - c.last > h[s->m] ? DVT_ALIGN_D : DVT_ALIGN_BOTH;
  w->used += dvt_walk_back(s, state, step_of_sweep, &noted, w->columns + w->used);
}

/* The sweeps on both sides of the cut behind target symbol n / 2. */
static dvt_align_stretch before_cut(const dvt_align_stretch *s) {
  return (dvt_align_stretch){s->query, s->target, s->m, s->n / 2, 1};
}

static dvt_align_stretch behind_cut(const dvt_align_stretch *s) {
  return (dvt_align_stretch){s->query + s->m - 1, s->target + s->n - 1, s->m, s->n - s->n / 2, -1};
}

static void pass_both(worker *w, const dvt_align_stretch *s, corners c) {
  const dvt_align_costs *costs = &w->trace->costs;
  const dvt_align_stretch before = before_cut(s), behind = behind_cut(s);
  dvt_align_edge(costs, s->m, c.first, h_of(w, 0), d_of(w, 0));
  dvt_align_sweep(costs, &before, &w->team, h_of(w, 0), d_of(w, 0), NULL, NULL);
  dvt_align_edge(costs, s->m, c.last, h_of(w, 1), d_of(w, 1));
  dvt_align_sweep(costs, &behind, &w->team, h_of(w, 1), d_of(w, 1), NULL, NULL);
}

/* Where the best path meets the cut, after both sweeps: in row *row, and *through if a gap of target symbols
 * goes on there. */
static void find_meeting(const worker *w, int64_t m, int64_t *row, bool *through) {
  const int64_t *h = h_of(w, 0), *d = d_of(w, 0), *rh = h_of(w, 1), *rd = d_of(w, 1);
  int64_t best = INT64_MIN;
  for (int64_t i = 0; i <= m; i++) {
    const int64_t meet = h[i] + rh[m - i], gone = d[i] + rd[m - i] + w->trace->costs.first;
    if (dvt_at_least(meet, gone) > best) {
      best = dvt_at_least(meet, gone);
      *row = i;
      *through = gone > meet;
    }
  }
}

/* A rectangle, and target symbols in a gap that come before it. */
typedef struct piece {
  dvt_align_stretch s;
  corners c;
  int64_t before;
  int64_t begin, used; /* its columns in those of all */
} piece;

/* The halves on both sides of a meeting. Of a gap that goes on, the symbols on both sides of the cut are
 * settled: each half is left with a gap that may end in its corner. */
static void divide(const piece *p, int64_t first, int64_t row, bool through, piece *left, piece *right) {
  const dvt_align_stretch *s = &p->s;
  const int64_t cut = s->n / 2, settled = through, between = through ? 0 : first;
  *left = (piece){{s->query, s->target, row, cut - settled, 1}, {p->c.first, between}, p->before, 0, 0};
  *right = (piece){{s->query + row, s->target + cut + settled, s->m - row, s->n - cut - settled, 1},
                   {between, p->c.last},
                   2 * settled,
                   0,
                   0};
}

static void solve(worker *w, const piece *p) {
  const dvt_align_stretch *s = &p->s;
  emit(w, 'D', p->before);
  if (s->m == 0) {
    emit(w, 'D', s->n);
  } else if (s->n <= 1 || s->n <= w->trace->cells / s->m) {
    solve_by_matrix(w, s, p->c);
  } else {
    piece left, right;
    int64_t row = 0;
    bool through = false;
    pass_both(w, s, p->c);
    find_meeting(w, s->m, &row, &through);
    divide(p, w->trace->costs.first, row, through, &left, &right);
    left.before = 0;
    solve(w, &left);
    solve(w, &right);
  }
}

/* ---- large rectangles ---- */

typedef struct pieces {
  piece *at;
  int64_t count, room;
} pieces;

static davit_status add(pieces *list, const piece *p) {
  if (!dvt_grow(&list->at, &list->room, list->count + 1, 16, sizeof *list->at))
    return DAVIT_OUT_OF_HOST_MEMORY;
  list->at[list->count++] = *p;
  return DAVIT_SUCCESS;
}

/* On the host, as soon as there are some pieces for each thread, these are better than sweeps that all
 * share. A device divides as far as a matrix goes. */
static bool is_large(const dvt_trace *t, const piece *p) {
  const int64_t share = t->all.m * (t->all.n / (PIECES * t->threads)),
                most = t->wavefront ? t->cells : dvt_at_least(SHARED_CELLS * t->cells, share);
  return p->s.n > 1 && p->s.m > 0 && p->s.n > most / p->s.m;
}

/* Whether a device would divide the large ones of the list sooner than the host. */
static bool is_for_device(const dvt_trace *t, const pieces *list) {
  double host = 0, longest = 0, cells = 0;
  for (int64_t k = 0; k < list->count; k++)
    if (is_large(t, &list->at[k])) {
      const dvt_align_stretch *s = &list->at[k].s;
      const double seconds = t->wavefront ? dvt_align_wavefront_seconds(s->m, s->n / 2) : 0;
      longest = seconds > longest ? seconds : longest;
      host += dvt_trace_host_seconds(s->m, s->n, t->team.threads);
      cells += (double)s->m * (double)s->n;
    }
  return t->wavefront && longest + cells / DEVICE_RATE < host;
}

/* Both sweeps of as many large pieces from *next on as one launch takes. */
static davit_status launch(const dvt_trace *t, const pieces *list, int64_t *next) {
  dvt_align_wavefront_sweep sweeps[DVT_ALIGN_WAVEFRONT_SWEEPS];
  int count = 0;
  for (; *next < list->count && count < DVT_ALIGN_WAVEFRONT_SWEEPS; ++*next) {
    const piece *p = &list->at[*next];
    if (is_large(t, p)) {
      sweeps[count++] = (dvt_align_wavefront_sweep){before_cut(&p->s), p->c.first};
      sweeps[count++] = (dvt_align_wavefront_sweep){behind_cut(&p->s), p->c.last};
    }
  }
  return count > 0 ? dvt_align_wavefront_sweeps(t->wavefront, count, sweeps, false) : DAVIT_SUCCESS;
}

/* The next level: a list with the halves of large pieces, and the small ones as they are. *divided: whether
 * there were large ones. `w` has all threads and room for the largest. */
static davit_status next_level(worker *w, const pieces *list, pieces *level, bool *divided) {
  const dvt_trace *t = w->trace;
  const bool device = is_for_device(t, list);
  int64_t launched = 0;
  int which = 0;
  *divided = false;
  for (int64_t k = 0; k < list->count; k++) {
    const piece *p = &list->at[k];
    piece left, right;
    int64_t row = 0;
    bool through = false;
    if (!is_large(t, p)) {
      DVT_TRY(add(level, p));
      continue;
    }
    if (device && k >= launched) {
      DVT_TRY(launch(t, list, &launched));
      which = 0;
    }
    if (device)
      for (int way = 0; way < 2; way++)
        dvt_align_wavefront_column(t->wavefront, which++, h_of(w, way), d_of(w, way));
    else
      pass_both(w, &p->s, p->c);
    find_meeting(w, p->s.m, &row, &through);
    divide(p, t->costs.first, row, through, &left, &right);
    DVT_TRY(add(level, &left));
    DVT_TRY(add(level, &right));
    *divided = true;
  }
  return DAVIT_SUCCESS;
}

static davit_status divide_large(worker *w, pieces *list) {
  for (bool divided = true; divided;) {
    pieces level = {0};
    const davit_status status = next_level(w, list, &level, &divided);
    free(list->at);
    *list = level;
    DVT_TRY(status);
  }
  return DAVIT_SUCCESS;
}

/* ---- all threads ---- */

static davit_status open_worker(worker *w, const dvt_trace *t, int64_t rows, int64_t columns, int threads) {
  const int64_t most = dvt_at_least(t->cells, rows);
  const bool whole = rows == 0 || columns <= most / rows;
  w->trace = t;
  w->rows = rows;
  w->vectors = dvt_allocate((size_t)rows + 1, 4 * sizeof *w->vectors);
  w->steps = dvt_allocate_raw(dvt_align_steps_bytes(whole ? rows * columns : most));
  if (!w->vectors || !w->steps)
    return DAVIT_OUT_OF_HOST_MEMORY;
  return dvt_align_team_open(&t->costs, rows, columns, threads, &w->team);
}

static void close_worker(worker *w) {
  dvt_align_team_close(&w->team);
  free(w->vectors);
  free(w->steps);
}

/* Where the columns of each piece begin, at least; *rows and *columns become those of the largest. Gives as many
 * threads as the cells are worth. */
static int64_t place_columns(pieces *list, int64_t *rows, int64_t *columns) {
  int64_t begin = 0;
  double cells = 0;
  for (int64_t k = 0; k < list->count; k++) {
    piece *p = &list->at[k];
    p->begin = begin;
    begin += p->before + p->s.m + p->s.n;
    *rows = dvt_at_least(*rows, p->s.m);
    *columns = dvt_at_least(*columns, p->s.n);
    cells += (double)p->s.m * (double)p->s.n;
  }
  return 1 + (int64_t)(cells / (double)WORKER_CELLS);
}

static void solve_at(worker *w, pieces *list, int64_t k, char *columns) {
  piece *p = &list->at[k];
  w->columns = columns + p->begin;
  w->used = 0;
  solve(w, p);
  p->used = w->used;
}

/* A piece after the other, each by one thread; one alone by all of them. */
static davit_status solve_all(const dvt_trace *t, pieces *list, char *columns) {
  int64_t rows = 0, most = 0;
  const int64_t worth = dvt_at_most(place_columns(list, &rows, &most), list->count);
  const int64_t each = 4 * (rows + 1) * (int64_t)sizeof(int64_t);
  const int count =
      (int)dvt_at_most(dvt_at_most(t->threads, worth), 1 + WORKER_BYTES / dvt_at_least(each, 1));
  worker *workers = dvt_allocate((size_t)count, sizeof *workers);
  davit_status status = workers ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
  for (int i = 0; i < count && status == DAVIT_SUCCESS; i++)
    status = open_worker(&workers[i], t, rows, most, count > 1 ? 1 : t->threads);
  if (status == DAVIT_SUCCESS && count > 1) {
#pragma omp parallel for num_threads(count) schedule(dynamic, 1)
    for (int64_t k = 0; k < list->count; k++)
      solve_at(&workers[omp_get_thread_num()], list, k, columns);
  }
  /* One thread goes without OpenMP, whose region takes it a microsecond. */
  for (int64_t k = 0; k < list->count && status == DAVIT_SUCCESS && count == 1; k++)
    solve_at(&workers[0], list, k, columns);
  for (int i = 0; workers && i < count; i++)
    close_worker(&workers[i]);
  free(workers);
  return status;
}

/* ---- the string ---- */

/* A number in decimal digits; where they end. */
static char *put_number(int64_t number, char *at) {
  char digits[20];
  int count = 0;
  do
    digits[count++] = (char)('0' + number % 10);
  while ((number /= 10) > 0);
  while (count > 0)
    *at++ = digits[--count];
  return at;
}

char *dvt_put_columns(const char *columns, int64_t count, char *at) {
  for (int64_t i = 0, end; i < count; i = end) {
    for (end = i + 1; end < count && columns[end] == columns[i];)
      end++;
    at = put_number(end - i, at);
    *at++ = columns[i];
  }
  *at = 0;
  return at;
}

/* The string for the user. */
static davit_status make_cigar(const char *columns, int64_t count, char **cigar) {
  char *at;
  DVT_TRY(dvt_malloc(2 * (size_t)count + 1, DAVIT_PAGEABLE, (void **)&at));
  *cigar = at;
  dvt_put_columns(columns, count, at);
  return DAVIT_SUCCESS;
}

/* The score of a global alignment, by its columns. */
static int64_t score_of(const dvt_align_costs *costs, const dvt_align_stretch *s, const char *columns,
                        int64_t count) {
  int64_t score = 0, i = 0, j = 0;
  for (int64_t k = 0; k < count; k++) {
    const bool gap = columns[k] == 'I' || columns[k] == 'D', opens = k == 0 || columns[k] != columns[k - 1];
    score -= gap ? costs->extend + (opens ? costs->first : 0) : 0;
    score += gap              ? 0
             : costs->profile ? costs->profile[i + s->target[j] * costs->m]
                              : costs->matrix[s->query[i] + s->target[j] * costs->symbols];
    i += columns[k] != 'D';
    j += columns[k] != 'I';
  }
  return score;
}

static davit_status find(dvt_trace *t, pieces *list, char *columns, davit_align_result *a, char **cigar) {
  worker all = {.trace = t, .team = t->team, .vectors = t->vectors, .rows = t->all.m};
  int64_t used = 0;
  DVT_TRY(divide_large(&all, list));
  DVT_TRY(solve_all(t, list, columns));
  for (int64_t k = 0; k < list->count; used += list->at[k++].used)
    memmove(columns + used, columns + list->at[k].begin, (size_t)list->at[k].used);
  if (dvt_trace_is_scored_by_columns(t))
    a->score = (int32_t)score_of(&t->costs, &t->all, columns, used);
  return make_cigar(columns, used, cigar);
}

/* Between the cells that are known. */
static davit_status add_all(const dvt_trace *t, const davit_align_result *a, pieces *list) {
  const corners c = {t->costs.first, t->costs.first};
  int64_t i = a->query_begin, j = a->target_begin;
  for (int k = t->crossed - 1; k >= -1; k--) {
    const int64_t row = k < 0 ? a->query_end : t->crosspoints[k].row,
                  column = k < 0 ? a->target_end : t->crosspoints[k].column;
    DVT_TRY(add(list, &(piece){{t->all.query + i, t->all.target + j, row - i, column - j, 1}, c, 0, 0, 0}));
    i = row;
    j = column;
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_trace_columns(dvt_trace *t, davit_align_result *a, char **cigar) {
  pieces list = {0};
  const int64_t most = a->query_end - a->query_begin + a->target_end - a->target_begin;
  char *columns = dvt_allocate((size_t)most + 1, 1);
  davit_status status = columns ? add_all(t, a, &list) : DAVIT_OUT_OF_HOST_MEMORY;
  if (status == DAVIT_SUCCESS)
    status = find(t, &list, columns, a, cigar);
  free(list.at);
  free(columns);
  return status;
}
