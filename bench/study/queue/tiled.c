/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/study/queue/tiled.h"

#include <stdlib.h>
#include <string.h>

#include "bench/study/common/site.h"

enum { A, B, C, MATRICES };
enum { LOADS, PRODUCTS, STORES, QUEUES };

const char *const study_routine_names[STUDY_ROUTINES] = {"dgemm", "dgemv", "daxpy"};

/* A matrix cut into tiles; 0 columns: there is none. */
typedef struct grid {
  int64_t rows, cols, down, across;
} grid;

/* Tiles lie dense, one after the other down the columns of tiles. */
typedef struct site {
  int device;
  davit_queue *queue[QUEUES];
  double *memory[MATRICES];
  davit_event **loaded[MATRICES], **computed;
  bool *known[MATRICES]; /* `loaded` has been recorded in this run */
} site;

struct study_tiled {
  study_routine routine;
  int64_t tile, terms;
  grid matrix[MATRICES];
  int sites;
  site site[STUDY_TILED_DEVICES];
};

typedef struct tile {
  int64_t row, col, rows, cols; /* its first element, its size */
  int64_t number, offset;       /* among the tiles; in a device's memory */
} tile;

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static tile tile_of(const study_tiled *t, int matrix, int64_t i, int64_t j) {
  const grid *g = &t->matrix[matrix];
  tile one = {.row = i * t->tile, .col = j * t->tile, .number = i + j * g->down};
  one.rows = least(t->tile, g->rows - one.row);
  one.cols = least(t->tile, g->cols - one.col);
  one.offset = one.col * g->rows + one.row * one.cols;
  return one;
}

static int64_t tiles_of(const grid *g) {
  return g->down * g->across;
}

/* ---- sizes ---- */

void study_tiled_counts(study_routine routine, int64_t n, int64_t counts[3]) {
  const bool axpy = routine == STUDY_DAXPY;
  counts[A] = axpy ? n : n * n;
  counts[B] = axpy ? 0 : routine == STUDY_DGEMV ? n : n * n;
  counts[C] = routine == STUDY_DGEMM ? n * n : n;
}

int64_t study_tiled_tile(study_routine routine, int64_t n) {
  const int64_t part = study_quotient_up(n, routine == STUDY_DGEMM ? 8 : 4);
  const int64_t low = routine == STUDY_DGEMM ? 512 : 1, high = routine == STUDY_DGEMM ? 4096 : 8192;
  return routine == STUDY_DAXPY ? part : part < low ? low : least(part, high);
}

static grid grid_of(int64_t n, int64_t count, int64_t tile) {
  const int64_t cols = count / n;
  return (grid){n, cols, cols ? study_quotient_up(n, tile) : 0, study_quotient_up(cols, tile)};
}

/* ---- before and after ---- */

static davit_status open_events(int64_t count, davit_event ***events) {
  *events = calloc((size_t)count + 1, sizeof **events);
  if (!*events)
    return davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory for %lld events", (long long)count);
  for (int64_t i = 0; i < count; i++)
    DVT_TRY(davit_event_create(&(*events)[i]));
  return DAVIT_SUCCESS;
}

static void close_events(int64_t count, davit_event **events) {
  for (int64_t i = 0; events && i < count; i++)
    (void)davit_event_destroy(events[i]);
  free(events);
}

static davit_status open_site(const study_tiled *t, int device, int subqueues, site *s) {
  study_site place;
  s->device = device;
  DVT_TRY(study_site_of(device, &place));
  for (int q = 0; q < QUEUES; q++)
    DVT_TRY(davit_queue_create(device, &s->queue[q], &(davit_queue_options){.subqueues = subqueues}));
  for (int x = 0; x < MATRICES; x++) {
    const grid *g = &t->matrix[x];
    if (tiles_of(g) == 0)
      continue;
    s->known[x] = calloc((size_t)tiles_of(g), sizeof *s->known[x]);
    if (!s->known[x])
      return davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory for %lld tiles", (long long)tiles_of(g));
    DVT_TRY(davit_malloc((size_t)(g->rows * g->cols) * sizeof(double), place.place, (void **)&s->memory[x]));
    DVT_TRY(open_events(tiles_of(g), &s->loaded[x]));
  }
  return open_events(tiles_of(&t->matrix[C]), &s->computed);
}

static davit_status close_site(const study_tiled *t, site *s) {
  davit_status status = DAVIT_SUCCESS;
  for (int q = 0; q < QUEUES; q++) {
    const davit_status end = davit_queue_destroy(s->queue[q]);
    status = status == DAVIT_SUCCESS ? end : status;
  }
  for (int x = 0; x < MATRICES; x++) {
    close_events(tiles_of(&t->matrix[x]), s->loaded[x]);
    (void)davit_free(s->memory[x]);
    free(s->known[x]);
  }
  close_events(tiles_of(&t->matrix[C]), s->computed);
  return status;
}

static davit_status open_sites(study_tiled *t, const study_tiled_options *options) {
  for (int i = 0; i < options->device_count; i++) {
    t->sites++;
    DVT_TRY(open_site(t, options->devices[i], options->subqueues, &t->site[i]));
  }
  return DAVIT_SUCCESS;
}

davit_status study_tiled_open(study_routine routine, int64_t n, const study_tiled_options *options,
                              study_tiled **tiled) {
  int64_t counts[MATRICES];
  STUDY_REQUIRE(n >= 1 && n <= 1 << 30, "n is %lld: not 1 to 2^30", (long long)n);
  STUDY_REQUIRE(options->tile >= 0, "tile is %lld", (long long)options->tile);
  STUDY_REQUIRE(options->device_count >= 1 && options->device_count <= STUDY_TILED_DEVICES,
                "device_count is %d: not 1 to %d", options->device_count, STUDY_TILED_DEVICES);
  study_tiled *t = calloc(1, sizeof *t);
  if (!t)
    return davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory for a run by tiles");
  t->routine = routine;
  t->tile = options->tile > 0 ? options->tile : study_tiled_tile(routine, n);
  t->terms = routine == STUDY_DAXPY ? 1 : study_quotient_up(n, t->tile);
  study_tiled_counts(routine, n, counts);
  for (int x = 0; x < MATRICES; x++)
    t->matrix[x] = grid_of(n, counts[x], t->tile);
  const davit_status status = open_sites(t, options);
  if (status == DAVIT_SUCCESS)
    *tiled = t;
  else
    (void)study_tiled_close(t);
  return status;
}

davit_status study_tiled_close(study_tiled *t) {
  davit_status status = DAVIT_SUCCESS;
  for (int i = 0; t && i < t->sites; i++) {
    const davit_status end = close_site(t, &t->site[i]);
    status = status == DAVIT_SUCCESS ? end : status;
  }
  free(t);
  return status;
}

/* ---- a run ---- */

/* Products wait for a tile of an operand, which is loaded if this is the first need of it. */
static davit_status need(const study_tiled *t, site *s, const double *operand, int matrix, const tile *one) {
  const grid *g = &t->matrix[matrix];
  davit_event *loaded = s->loaded[matrix][one->number];
  if (!s->known[matrix][one->number]) {
    int subqueue;
    DVT_TRY(davit_queue_request_subqueue(s->queue[LOADS], &subqueue));
    DVT_TRY(davit_queue_copy_2d(s->queue[LOADS], one->rows, one->cols, sizeof(double),
                                operand + one->row + one->col * g->rows, g->rows,
                                s->memory[matrix] + one->offset, one->rows));
    DVT_TRY(davit_event_record(loaded, s->queue[LOADS]));
    s->known[matrix][one->number] = true;
  }
  return davit_queue_wait(s->queue[PRODUCTS], loaded);
}

static davit_status multiply(const study_tiled *t, const site *s, const tile *a, const tile *b, const tile *c,
                             double alpha, double beta) {
  davit_queue *queue = s->queue[PRODUCTS];
  const double *left = s->memory[A] + a->offset;
  double *out = s->memory[C] + c->offset;
  switch (t->routine) {
  case STUDY_DGEMM:
    return davit_queue_dgemm(queue, 'N', 'N', c->rows, c->cols, a->cols, alpha, left, a->rows,
                             s->memory[B] + b->offset, b->rows, beta, out, c->rows, NULL);
  case STUDY_DGEMV:
    return davit_queue_dgemv(queue, 'N', a->rows, a->cols, alpha, left, a->rows, s->memory[B] + b->offset, 1,
                             beta, out, 1, NULL);
  default:
    return davit_queue_daxpy(queue, c->rows, alpha, left, 1, out, 1, NULL);
  }
}

static davit_status store(const study_tiled *t, site *s, double *c, const tile *one) {
  const grid *g = &t->matrix[C];
  int subqueue;
  DVT_TRY(davit_event_record(s->computed[one->number], s->queue[PRODUCTS]));
  DVT_TRY(davit_queue_request_subqueue(s->queue[STORES], &subqueue));
  DVT_TRY(davit_queue_wait(s->queue[STORES], s->computed[one->number]));
  return davit_queue_copy_2d(s->queue[STORES], one->rows, one->cols, sizeof(double),
                             s->memory[C] + one->offset, one->rows, c + one->row + one->col * g->rows,
                             g->rows);
}

static davit_status enqueue_output(const study_tiled *t, site *s, const study_operands *o, int64_t i,
                                   int64_t j) {
  const tile c = tile_of(t, C, i, j);
  int subqueue;
  DVT_TRY(davit_queue_request_subqueue(s->queue[PRODUCTS], &subqueue));
  if (t->routine == STUDY_DAXPY || o->beta != 0)
    DVT_TRY(need(t, s, o->c, C, &c));
  for (int64_t k = 0; k < t->terms; k++) {
    const tile a = tile_of(t, A, i, k), b = tile_of(t, B, k, j);
    DVT_TRY(need(t, s, o->a, A, &a));
    if (tiles_of(&t->matrix[B]) > 0)
      DVT_TRY(need(t, s, o->b, B, &b));
    DVT_TRY(multiply(t, s, &a, &b, &c, o->alpha, k == 0 ? o->beta : 1));
  }
  return store(t, s, o->c, &c);
}

static davit_status enqueue_all(study_tiled *t, const study_operands *o) {
  const grid *g = &t->matrix[C];
  for (int64_t j = 0; j < g->across; j++)
    for (int64_t i = 0; i < g->down; i++)
      DVT_TRY(enqueue_output(t, &t->site[(i + j * g->down) % t->sites], o, i, j));
  return DAVIT_SUCCESS;
}

davit_status study_tiled_run(study_tiled *t, const study_operands *o) {
  for (int i = 0; i < t->sites; i++)
    for (int x = 0; x < MATRICES; x++)
      if (t->site[i].known[x])
        memset(t->site[i].known[x], 0, (size_t)tiles_of(&t->matrix[x]) * sizeof *t->site[i].known[x]);
  davit_status status = enqueue_all(t, o);
  for (int i = 0; i < t->sites; i++)
    for (int q = 0; q < QUEUES; q++) {
      const davit_status end = davit_queue_synchronize(t->site[i].queue[q]);
      status = status == DAVIT_SUCCESS ? end : status;
    }
  return status;
}
