/* SPDX-License-Identifier: Apache-2.0 */
/* Many pairs on an NVIDIA device: the instances of align_pairs_kernel.inc, the way back along noted steps, and what
 * launches them. Kernels follow each other: ends, begins, columns; each pair's result lies in the device's memory in
 * between. Strings are written from their ends on, each where it has room, and are then moved together. */
#include "offload/align_pairs_stream.h"

#include <string.h>

#include "offload/warp.h"
#include "src/base/arithmetic.h"
#include "src/base/error.h"

enum {
  PAD_SCORE = INT8_MIN,
  TABLE_PITCH = DAVIT_ALIGN_SYMBOLS_MAXIMUM + 4,
  TABLE_LIKES = (DAVIT_ALIGN_SYMBOLS_MAXIMUM + 1) * TABLE_PITCH, /* where they begin */
  TABLE_BYTES = (TABLE_LIKES + DAVIT_ALIGN_SYMBOLS_MAXIMUM + 15) / 16 * 16,
  NARROW_NONE = -15500, /* the score of what cannot be */
  WIDE_NONE = -(1 << 29),
  MARGIN = 16, /* bytes around sequences: words are loaded whole */
  MOVE_THREADS = 256
};

typedef struct dvt_pair_spot {
  int32_t score, row, column;
} dvt_pair_spot;

/* A dvt_pair_part in fewer registers. */
typedef struct pair_part {
  const uint8_t *query, *target;
  int32_t m, n, step, low, high;
} pair_part;

#ifdef DVT_NVIDIA
DVT_INLINE void fetch_table(const char *table) {
  dvt_fetch_profile(table, TABLE_BYTES, 32);
}

DVT_INLINE dvt_pair_costs costs_of(const char *table, int64_t open, int64_t extend) {
  return (dvt_pair_costs){open, extend, (const int8_t *)table + TABLE_LIKES};
}

DVT_INLINE pair_part small_part(const dvt_pair_part *p) {
  return (pair_part){p->query,         p->target,       (int32_t)p->m,   (int32_t)p->n,
                     (int32_t)p->step, (int32_t)p->low, (int32_t)p->high};
}

DVT_INLINE bool counts(const pair_part *p, int32_t i, int32_t j) {
  return p->low <= j - i && j - i <= p->high;
}

DVT_INLINE int32_t larger_of(int32_t a, int32_t b) {
  return a > b ? a : b;
}

/* The largest of the warp. */
DVT_INLINE int32_t warp_most(int32_t x) {
  for (int apart = 1; apart < 32; apart *= 2)
    x = larger_of(x, (int32_t)dvt_shuffle((uint32_t)x, dvt_lane_number() ^ apart));
  return x;
}

/* ---- the way back ---- */

enum {
  WALK_BOTH,
  WALK_D,
  WALK_I,
  WALK_FROM_I
}; /* FROM_I: whether a gap of query symbols goes on is yet to be seen */

typedef struct pair_walk {
  const uint8_t *query, *target;
  int32_t i, j, run;
  int state, shift; /* shift: of the bits of this pair's steps */
  char letter;      /* of the run, */
  char *at;         /* which will be written before this */
} pair_walk;

/* A pair without a text is none. */
DVT_INLINE pair_walk begin_walk(const pair_part *p, char *end, int shift) {
  if (end)
    end[-1] = 0;
  return (pair_walk){p->query, p->target, end ? p->m : 0,      end ? p->n : 0, 0, WALK_BOTH,
                     shift,    0,         end ? end - 1 : NULL};
}

DVT_INLINE void put_run(pair_walk *w) {
  if (w->run > 0)
    *--w->at = w->letter;
  for (int32_t rest = w->run; rest > 0; rest /= 10)
    *--w->at = (char)('0' + rest % 10);
}

DVT_INLINE void put_columns(pair_walk *w, char letter, int32_t count) {
  if (letter != w->letter) {
    put_run(w);
    w->letter = letter;
    w->run = 0;
  }
  w->run += count;
}

/* By the bits of a cell's steps: which of match and gap, whether a gap of query symbols is better, whether gaps of
 * target and of query symbols began before. */
DVT_INLINE void walk_step(pair_walk *w, const uint32_t *words) {
  const int bit = w->shift + (w->i - 1) % 16;
  if (w->state == WALK_FROM_I)
    w->state = words[3] >> bit & 1 ? WALK_I : WALK_BOTH;
  if (w->state == WALK_BOTH)
    w->state = words[1] >> bit & 1 ? WALK_I : words[0] >> bit & 1 ? WALK_D : WALK_BOTH;
  if (w->state == WALK_BOTH) {
    w->i--;
    w->j--;
    put_columns(w, w->query[w->i] == w->target[w->j] ? '=' : 'X', 1);
  } else if (w->state == WALK_D) {
    w->j--;
    put_columns(w, 'D', 1);
    w->state = words[2] >> bit & 1 ? WALK_D : WALK_BOTH;
  } else {
    w->i--;
    put_columns(w, 'I', 1);
    w->state = WALK_FROM_I;
  }
}

/* What is left along an edge. */
DVT_INLINE void end_walk(pair_walk *w) {
  if (w->i > 0)
    put_columns(w, 'I', w->i);
  if (w->j > 0)
    put_columns(w, 'D', w->j);
  put_run(w);
}

/* All walks of a thread at the same time, as each waits for memory; steps: the lane's, for so many columns. */
DVT_INLINE void walk_back(int count, pair_walk *w, const char *steps, int64_t columns) {
  for (bool any = true; any;) {
    uint32_t words[2][4];
    any = false;
#pragma unroll
    for (int k = 0; k < 2; k++)
      if (k < count && w[k].i > 0 && w[k].j > 0)
        dvt_load_16(steps + ((w[k].i - 1) / 16 * columns + w[k].j - 1) * 512, words[k]);
#pragma unroll
    for (int k = 0; k < 2; k++)
      if (k < count && w[k].i > 0 && w[k].j > 0) {
        walk_step(&w[k], words[k]);
        any = true;
      }
  }
#pragma unroll
  for (int k = 0; k < 2; k++)
    if (k < count)
      end_walk(&w[k]);
}

/* String k is that of item order[k]; those from `first` on go where `place` says, a warp for each. */
DVT_INLINE void move_strings(const char *texts, const dvt_pair_item *items, const dvt_pair_found *found,
                             const int32_t *order, const int64_t *place, int64_t first, int64_t count,
                             char *to) {
  const int64_t warps = MOVE_THREADS / 32, step = dvt_teams() * warps;
  for (int64_t k = first + dvt_team() * warps + dvt_thread() / 32; k < first + count; k += step) {
    const int32_t length = found[order[k]].length;
    const char *from = texts + items[order[k]].text - length;
    for (int32_t i = dvt_lane_number(); i < length; i += 32)
      to[place[k] - place[first] + i] = from[i];
  }
}
#endif

DVT_NVIDIA_REGION(pairs_move_strings, move_strings, MOVE_THREADS, (texts, items, found, order, place, to),
                  (const char *texts, const dvt_pair_item *items, const dvt_pair_found *found,
                   const int32_t *order, const int64_t *place, int64_t first, int64_t count, char *to),
                  texts, items, found, order, place, first, count, to)

#define ENDS_PARAMETERS                                                                                      \
  const char *table, int64_t symbols, const dvt_pair_item *items, dvt_pair_found *found,                     \
      const dvt_pair_group *groups, int64_t count, const uint8_t *queries, const uint8_t *targets,           \
      char *borders, int64_t border_bytes, int64_t open, int64_t extend, int64_t kind, int64_t masked
#define ENDS_ARGUMENTS                                                                                       \
  table, symbols, items, found, groups, count, queries, targets, borders, border_bytes, open, extend, kind,  \
      masked
#define COLUMNS_PARAMETERS                                                                                   \
  const char *table, int64_t symbols, const dvt_pair_item *items, dvt_pair_found *found,                     \
      const dvt_pair_group *groups, int64_t count, const uint8_t *queries, const uint8_t *targets,           \
      char *borders, int64_t border_bytes, char *steps, int64_t step_bytes, char *texts, int64_t open,       \
      int64_t extend, int64_t mode, int64_t masked
#define COLUMNS_ARGUMENTS                                                                                    \
  table, symbols, items, found, groups, count, queries, targets, borders, border_bytes, steps, step_bytes,   \
      texts, open, extend, mode, masked

#define ROWS 16
#define NAME(x) DVT_PASTE(x, _, two)
#define T dvt_pair
#define PAIR 2
#define ALL(x) dvt_pair_of((int)(x))
#include "offload/align_pairs_kernel.inc"
#undef NAME
#undef T
#undef PAIR
#undef ALL
#define NAME(x) DVT_PASTE(x, _, one)
#define T int32_t
#define PAIR 1
#define ALL(x) ((int32_t)(x))
#include "offload/align_pairs_kernel.inc"
#undef NAME
#undef T
#undef PAIR
#undef ALL
#undef ROWS
#include "offload/align_pairs_drop.inc"

/* ---- memory ---- */

/* What a batch has in the device's memory. */
typedef struct device_batch {
  char *table;
  dvt_pair_item *items;
  dvt_pair_found *found;
  dvt_pair_group *groups;
  int32_t *order;
  int64_t *places;
  uint8_t *queries, *targets;
  char *texts, *packed;
  char *borders, *steps; /* of teams */
  size_t border_bytes, step_bytes;
  int64_t teams;
} device_batch;

/* Memory of a batch as it is handed out; `at` NULL: only counted. */
typedef struct batch_memory {
  char *at;
  size_t used;
} batch_memory;

static void *take(batch_memory *m, size_t bytes) {
  void *here = m->at ? m->at + m->used : NULL;
  m->used += dvt_aligned_up(bytes);
  return here;
}

static uint8_t *take_symbols_of(batch_memory *m, int64_t count) {
  uint8_t *here = take(m, (size_t)count + 2 * MARGIN);
  return here ? here + MARGIN : NULL;
}

/* All but what teams have; how many bytes it takes. */
static size_t lay_out(const dvt_pairs_work *w, char *memory, device_batch *b) {
  batch_memory m = {memory, 0};
  const size_t count = (size_t)w->count, text = w->columns ? (size_t)w->text_bytes : 0;
  b->table = take(&m, TABLE_BYTES);
  b->items = take(&m, count * sizeof *b->items);
  b->found = take(&m, count * sizeof *b->found);
  b->groups = take(&m, (size_t)w->groups * sizeof *b->groups);
  b->order = take(&m, w->columns ? count * sizeof *b->order : 0);
  b->places = take(&m, w->columns ? count * sizeof *b->places : 0);
  b->queries = take_symbols_of(&m, w->query_symbols);
  b->targets = take_symbols_of(&m, w->target_symbols);
  b->texts = take(&m, text);
  b->packed = take(&m, text < w->staging_bytes ? text : w->staging_bytes);
  return m.used;
}

static size_t border_bytes(const dvt_pairs_work *w, const dvt_pair_group *g) {
  return w->x_drop > 0 ? 0 : ((size_t)g->columns + 1) * 2 * 32 * sizeof(int32_t);
}

static size_t step_bytes(const dvt_pairs_work *w, const dvt_pair_group *g) {
  return !w->columns     ? 0
         : w->x_drop > 0 ? (size_t)(g->rows + g->columns + 1 + DROP_STAGED) * DROP_STEP_BYTES
                         : (size_t)dvt_divide_up(g->rows, 16) * (size_t)g->columns * 512;
}

/* As many teams as run at once, or as there is memory for. */
static davit_status measure_teams(const dvt_pairs_work *w, int64_t residents, size_t rest, device_batch *b) {
  b->border_bytes = b->step_bytes = 0;
  for (int64_t g = 0; g < w->groups; g++) {
    const size_t border = dvt_aligned_up(border_bytes(w, &w->group[g])),
                 step = dvt_aligned_up(step_bytes(w, &w->group[g]));
    b->border_bytes = border > b->border_bytes ? border : b->border_bytes;
    b->step_bytes = step > b->step_bytes ? step : b->step_bytes;
  }
  const size_t each = b->border_bytes + b->step_bytes;
  if (rest > w->memory_bytes || each > w->memory_bytes - rest)
    return davit_fail(DAVIT_OUT_OF_DEVICE_MEMORY, "%lld pairs take more than %zu bytes of the device",
                      (long long)w->count, w->memory_bytes);
  b->teams = dvt_at_most(residents, w->x_drop > 0 ? w->count : w->groups);
  if (each > 0)
    b->teams = dvt_at_most(b->teams, (int64_t)((w->memory_bytes - rest) / each));
  return DAVIT_SUCCESS;
}

/* ---- what is sent ---- */

static void fill_table(const davit_align_scoring *s, char *table) {
  memset(table, PAD_SCORE, TABLE_BYTES);
  memset(table + TABLE_LIKES, 0, DAVIT_ALIGN_SYMBOLS_MAXIMUM);
  for (int q = 0; q < s->symbols; q++)
    for (int t = 0; t < s->symbols; t++) {
      const int8_t score = s->matrix[q + t * s->symbols];
      char *likes = &table[TABLE_LIKES + q];
      table[q * TABLE_PITCH + t] = score;
      *likes = score > (signed char)*likes ? score : *likes;
    }
}

/* `table` is in use until the stream is waited for. */
static davit_status send(dvt_stream *stream, const dvt_pairs_work *w, const device_batch *b, char *table) {
  const size_t count = (size_t)w->count;
  fill_table(w->scoring, table);
  DVT_TRY(dvt_stream_copy_bytes(stream, b->table, table, TABLE_BYTES));
  DVT_TRY(dvt_stream_copy_bytes(stream, b->items, w->items, count * sizeof *w->items));
  DVT_TRY(dvt_stream_copy_bytes(stream, b->groups, w->group, (size_t)w->groups * sizeof *w->group));
  if (w->columns)
    DVT_TRY(dvt_stream_copy_bytes(stream, b->order, w->order, count * sizeof *w->order));
  DVT_TRY(dvt_stream_copy_bytes(stream, b->queries, w->queries, (size_t)w->query_symbols));
  return dvt_stream_copy_bytes(stream, b->targets, w->targets, (size_t)w->target_symbols);
}

/* ---- launches ---- */

enum { LOCAL_SCORES, LOCAL_ENDS, LOCAL_BEGINS, EDGE_ENDS, EDGE_BEGINS, EXTENSION_ENDS, COLUMNS, PASSES };
static dvt_kernel kernels[2][PASSES] = {
    {DVT_KERNEL(pairs_local_scores_two), DVT_KERNEL(pairs_local_ends_two), DVT_KERNEL(pairs_local_begins_two),
     DVT_KERNEL(pairs_edge_ends_two), DVT_KERNEL(pairs_edge_begins_two), DVT_KERNEL(pairs_extension_ends_two),
     DVT_KERNEL(pairs_columns_two)},
    {DVT_KERNEL(pairs_local_scores_one), DVT_KERNEL(pairs_local_ends_one), DVT_KERNEL(pairs_local_begins_one),
     DVT_KERNEL(pairs_edge_ends_one), DVT_KERNEL(pairs_edge_begins_one), DVT_KERNEL(pairs_extension_ends_one),
     DVT_KERNEL(pairs_columns_one)}};

static size_t team_bytes(const dvt_pairs_work *w, bool wide) {
  return TABLE_BYTES +
         (size_t)(w->scoring->symbols + 1) * (size_t)(wide ? symbol_bytes_one : symbol_bytes_two);
}

typedef struct batch_launch {
  dvt_stream *stream;
  const dvt_pairs_work *work;
  const device_batch *batch;
} batch_launch;

/* The groups in 16 bits, then those in 32. */
static davit_status launch_pass(const batch_launch *l, int pass, dvt_pair_kind kind) {
  const dvt_pairs_work *w = l->work;
  const device_batch *b = l->batch;
  const davit_align_scoring *s = w->scoring;
  for (int wide = 0; wide < 2; wide++) {
    const int64_t first = wide ? w->narrow : 0, count = wide ? w->groups - w->narrow : w->narrow,
                  teams = dvt_at_most(count, b->teams);
    dvt_kernel *kernel = &kernels[wide][pass];
    if (count == 0)
      continue;
    if (pass == COLUMNS)
      DVT_TRY(dvt_launch(kernel, l->stream, teams, 32, team_bytes(w, wide),
                         DVT_ARGUMENTS(b->table, s->symbols, b->items, b->found, b->groups + first, count,
                                       b->queries, b->targets, b->borders, (int64_t)b->border_bytes, b->steps,
                                       (int64_t)b->step_bytes, b->texts, s->gap_open, s->gap_extend,
                                       (int64_t)w->mode, w->masked)));
    else
      DVT_TRY(dvt_launch(kernel, l->stream, teams, 32, team_bytes(w, wide),
                         DVT_ARGUMENTS(b->table, s->symbols, b->items, b->found, b->groups + first, count,
                                       b->queries, b->targets, b->borders, (int64_t)b->border_bytes,
                                       s->gap_open, s->gap_extend, (int64_t)kind, w->masked)));
  }
  return DAVIT_SUCCESS;
}

static dvt_kernel drop_kernels[] = {DVT_KERNEL(pairs_drop_ends), DVT_KERNEL(pairs_drop_columns)};

static davit_status launch_drop(const batch_launch *l) {
  const dvt_pairs_work *w = l->work;
  const device_batch *b = l->batch;
  return dvt_launch(&drop_kernels[w->columns], l->stream, b->teams, 32, DROP_TEAM_BYTES,
                    DVT_ARGUMENTS(b->table, b->items, b->found, w->count, b->queries, b->targets,
                                  w->scoring->gap_open, w->scoring->gap_extend, w->x_drop, b->steps,
                                  (int64_t)b->step_bytes, b->texts));
}

static davit_status launch_passes(const batch_launch *l) {
  const dvt_pairs_work *w = l->work;
  const bool local = w->mode == DAVIT_ALIGN_LOCAL, global = w->mode == DAVIT_ALIGN_GLOBAL,
             extension = w->mode == DAVIT_ALIGN_EXTENSION;
  if (w->x_drop > 0)
    return launch_drop(l);
  if (extension)
    DVT_TRY(launch_pass(l, EXTENSION_ENDS, DVT_PAIR_BEGIN));
  else if (local)
    DVT_TRY(launch_pass(l, w->full ? LOCAL_ENDS : LOCAL_SCORES, DVT_PAIR_LOCAL));
  else if (!global || !w->columns) /* else the last pass has the scores */
    DVT_TRY(launch_pass(l, EDGE_ENDS, global ? DVT_PAIR_GLOBAL : DVT_PAIR_ENDS));
  if (w->full && !global && !extension)
    DVT_TRY(local ? launch_pass(l, LOCAL_BEGINS, DVT_PAIR_BEGIN)
                  : launch_pass(l, EDGE_BEGINS, DVT_PAIR_BEGINS));
  return w->columns ? launch_pass(l, COLUMNS, DVT_PAIR_GLOBAL) : DAVIT_SUCCESS;
}

/* ---- what comes back ---- */

/* Strings from `first` on that fit the staging buffer together. */
static int64_t strings_together(const dvt_pairs_work *w, int64_t first, int64_t *bytes) {
  int64_t k = first;
  for (*bytes = 0; k < w->count && *bytes + w->found[w->order[k]].length <= (int64_t)w->staging_bytes; k++)
    *bytes += w->found[w->order[k]].length;
  return k - first;
}

static davit_status fetch_strings(const batch_launch *l) {
  static dvt_kernel kernel = DVT_KERNEL(pairs_move_strings);
  const dvt_pairs_work *w = l->work;
  const device_batch *b = l->batch;
  int64_t all = 0;
  for (int64_t k = 0; k < w->count; k++) {
    w->places[k] = all;
    all += w->found[w->order[k]].length;
  }
  if (all == 0) /* all were left to the host */
    return DAVIT_SUCCESS;
  char *to = w->strings(w->owner, all);
  if (!to)
    return DAVIT_OUT_OF_HOST_MEMORY;
  DVT_TRY(dvt_stream_copy_bytes(l->stream, b->places, w->places, (size_t)w->count * sizeof *w->places));
  for (int64_t first = 0, count, bytes; first < w->count; first += count) {
    count = strings_together(w, first, &bytes);
    DVT_TRY(dvt_launch(
        &kernel, l->stream, dvt_at_most(dvt_divide_up(count, MOVE_THREADS / 32), 1024), MOVE_THREADS, 0,
        DVT_ARGUMENTS(b->texts, b->items, b->found, b->order, b->places, first, count, b->packed)));
    DVT_TRY(dvt_stream_copy_bytes(l->stream, w->staging, b->packed, (size_t)bytes));
    DVT_TRY(dvt_stream_synchronize(l->stream));
    memcpy(to + w->places[first], w->staging, (size_t)bytes);
  }
  return DAVIT_SUCCESS;
}

static davit_status run(const dvt_site *site, const dvt_pairs_work *w, device_batch *b, char *table) {
  const batch_launch l = {site->stream, w, b};
  DVT_TRY(send(site->stream, w, b, table));
  DVT_TRY(launch_passes(&l));
  DVT_TRY(dvt_stream_copy_bytes(site->stream, w->found, b->found, (size_t)w->count * sizeof *w->found));
  DVT_TRY(dvt_stream_synchronize(site->stream));
  return w->columns ? fetch_strings(&l) : DAVIT_SUCCESS;
}

davit_status dvt_pairs_stream(const dvt_site *site, const void *work) {
  const dvt_pairs_work *w = work;
  const bool wide = w->narrow == 0;
  device_batch b;
  char table[TABLE_BYTES];
  int residents;
  void *memory;
  const size_t rest = lay_out(w, NULL, &b);
  DVT_TRY(w->x_drop > 0
              ? dvt_launch_residents(&drop_kernels[w->columns], site->stream, 32, DROP_TEAM_BYTES, &residents)
              : dvt_launch_residents(&kernels[wide][w->columns ? COLUMNS : LOCAL_ENDS], site->stream, 32,
                                     team_bytes(w, wide), &residents));
  DVT_TRY(measure_teams(w, residents, rest, &b));
  DVT_TRY(site->workspace(site, rest + (size_t)b.teams * (b.border_bytes + b.step_bytes), &memory));
  lay_out(w, memory, &b);
  b.borders = (char *)memory + rest;
  b.steps = b.borders + (size_t)b.teams * b.border_bytes;
  const davit_status status = run(site, w, &b, table);
  if (status != DAVIT_SUCCESS)
    dvt_stream_synchronize(site->stream); /* what was enqueued still uses the
                                             table and the caller's memory */
  return status;
}
