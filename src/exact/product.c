/* SPDX-License-Identifier: Apache-2.0 */
#include "src/exact/product.h"

#include <math.h>

#include "src/base/arithmetic.h"
#include "src/runtime/memory.h"

/* ---- shares ---- */

/* Vectors of op(X) of `count` rows, or of as many columns; 'C' is of complex numbers alone. */
static dvt_exact_side side_of(const void *x, int64_t ld, char op, bool columns, int64_t count) {
  const bool beside = (op == 'N') != columns;
  return (dvt_exact_side){.x = x,
                          .place = dvt_place_of(x),
                          .count = count,
                          .step = beside ? 1 : ld,
                          .stride = beside ? ld : 1,
                          .conjugate = op == 'C'};
}

void dvt_exact_describe(dvt_exact_call *p) {
  const dvt_level3 *g = p->g;
  const bool right = g->side == 'R';
  p->element = davit_type_bytes(g->type);
  p->c_place = dvt_place_of(g->c);
  p->mirrored = DVT_EXACT_NOTHING;
  p->length = dvt_exact_length(g);
  p->pitch = dvt_exact_padded(p->length);
  switch (g->routine) {
  case DVT_SYRK:
  case DVT_HERK:
    p->side[0] = side_of(g->a, g->lda, g->transa, false, g->n);
    p->side[1] = p->side[0];
    p->side[1].conjugate = g->routine == DVT_HERK && g->transa == 'N';
    break;
  case DVT_SYMM:
  case DVT_HEMM:
    p->mirrored = right;
    p->side[right] = side_of(g->a, p->length, 'N', right, p->length);
    p->side[!right] = side_of(g->b, g->ldb, 'N', !right, right ? g->m : g->n);
    break;
  default:
    p->side[0] = side_of(g->a, g->lda, g->transa, false, g->m);
    p->side[1] = side_of(g->b, g->ldb, g->transb, true, g->n);
  }
}

static bool reaches(const dvt_exact_call *p, int device, int place) {
  return p->options->separate_memory ? place == device && device != DAVIT_HOST
                                     : dvt_place_reached(device, place);
}

/* Where the share of device w begins, as a part of all: of a triangle in columns of equal areas. */
static double share_begin(const dvt_exact_call *p, int w) {
  const double part = (double)w / p->workers;
  return !dvt_level3_is_update(p->g) ? part : p->g->uplo == 'U' ? sqrt(part) : 1 - sqrt(1 - part);
}

/* Each device has its share of the longer side; of a triangle columns, and the rows that these have. */
davit_status dvt_exact_share_out(dvt_exact_call *p) {
  const int64_t count[2] = {p->g->m, p->g->n};
  const bool update = dvt_level3_is_update(p->g);
  const int split = count[0] > count[1] && !update ? 0 : 1;
  const int64_t groups = dvt_divide_up(count[split], DVT_EXACT_GROUP);
  p->workers = (int)dvt_at_most(p->options->device_count, groups);
  for (int w = 0; w < p->workers; w++) {
    dvt_exact_worker *e = &p->worker[w];
    e->device = p->options->devices[w];
    e->streams = dvt_path_on(e->device, &dvt_exact_multiply_operation) == DVT_ON_STREAM;
    for (int s = 0; s < 2; s++) {
      e->brings[s] = !reaches(p, e->device, p->side[s].place);
      e->all[s] = (dvt_exact_range){0, count[s]};
    }
    e->all[split] = (dvt_exact_range){
        (int64_t)((double)groups * share_begin(p, w)) * DVT_EXACT_GROUP,
        dvt_at_most((int64_t)((double)groups * share_begin(p, w + 1)) * DVT_EXACT_GROUP, count[split])};
    if (w == p->workers - 1)
      e->all[split].end = count[split];
    if (update && p->g->uplo == 'L')
      e->all[0].begin = e->all[1].begin;
    else if (update)
      e->all[0].end = e->all[1].end;
    if (p->mirrored != DVT_EXACT_NOTHING) {
      e->brings_square = e->brings[p->mirrored];
      e->brings[p->mirrored] = false;
    }
    e->stores = !reaches(p, e->device, p->c_place);
    if ((e->bytes = p->options->cache_bytes) == 0)
      DVT_TRY(dvt_memory_usable(e->device, true, &e->bytes));
    p->report->devices[w].device = e->device;
  }
  p->report->device_count = p->workers;
  return DAVIT_SUCCESS;
}

/* ---- memory ---- */

/* Planes of the choice, or of one that is likely. */
static int count_planes(const dvt_exact_call *p, const dvt_exact_worker *e, int s) {
  const int bits = dvt_exact_is_long(p->g->type) ? 62 : 32;
  const dvt_exact_choice likely = {(int)dvt_at_least(p->options->moduli, dvt_exact_usual(p->g->type)),
                                   {bits, bits}};
  return dvt_exact_planes_of(p, e, s, p->choice.moduli ? &p->choice : &likely);
}

/* A device's memory, from its beginning: `at` moves on. NULL: only counts. */
static void *take(char *memory, size_t *at, size_t bytes) {
  void *here = memory ? memory + *at : NULL;
  *at += dvt_aligned_up(bytes);
  return here;
}

/* How many bytes a slab takes, and where its parts lie. */
static size_t lay_out(const dvt_exact_call *p, dvt_exact_worker *e) {
  size_t at = 0;
  bool brings = false;
  e->need = take(e->memory, &at, sizeof *e->need);
  for (int s = 0; s < 2; s++) {
    const size_t plane = (size_t)dvt_exact_plane(p, e, s) * dvt_exact_number_bytes(e);
    e->planes_held[s] = count_planes(p, e, s);
    e->vector[s] = take(e->memory, &at, (size_t)dvt_exact_padded(e->most[s]) * sizeof(dvt_exact_vector));
    e->coarse[s] = take(e->memory, &at, plane * (size_t)p->windows);
    e->planes[s] = take(e->memory, &at, plane * (size_t)e->planes_held[s]);
    brings |= e->brings[s];
  }
  for (int i = 0; i < DVT_EXACT_PANELS && brings; i++)
    e->panels[i] = take(
        e->memory, &at,
        (size_t)(dvt_at_least(e->brings[0] ? e->panel[0] : 0, e->brings[1] ? e->panel[1] : 0) * p->pitch) *
            p->element);
  for (int i = 0; i < DVT_EXACT_TILES && e->stores; i++)
    e->tiles[i] =
        take(e->memory, &at,
             (size_t)(dvt_at_most(e->most[0], DVT_EXACT_TILE) * dvt_at_most(e->most[1], DVT_EXACT_TILE)) *
                 p->element);
  e->sums = take(e->memory, &at, e->sum_bytes);
  if (p->mirrored != DVT_EXACT_NOTHING)
    e->square =
        take(e->memory, &at, (size_t)(p->side[p->mirrored].count * p->side[p->mirrored].count) * p->element);
  return at;
}

/* Sums of as much of a tile as keeps the device busy. */
static size_t find_sum_bytes(const dvt_exact_call *p, const dvt_exact_worker *e) {
  const int64_t rows = dvt_at_most(e->most[0], DVT_EXACT_SQUARE),
                columns = dvt_at_most(e->most[1], DVT_EXACT_SQUARE);
  const dvt_exact_tile likely = {
      .type = p->g->type, .length = p->length, .choice = {.moduli = DVT_EXACT_MOST}};
  return e->streams ? dvt_exact_sum_bytes(&likely, rows, columns) : 0;
}

/* Slabs become shorter, the longer side first, and panels with them, until they fit. False: none does. */
static bool fit(const dvt_exact_call *p, dvt_exact_worker *e) {
  int64_t panel = DVT_EXACT_PANEL;
  for (int s = 0; s < 2; s++)
    e->most[s] = dvt_at_least(dvt_exact_padded(e->all[s].end - e->all[s].begin),
                              DVT_EXACT_GROUP); /* also of nothing */
  for (;;) {
    const int64_t longest = dvt_at_least(e->most[0], e->most[1]), least = 256;
    for (int s = 0; s < 2; s++)
      e->panel[s] = e->brings[s]
                        ? dvt_at_most(dvt_exact_lies_apart(&p->side[s]) ? 2 * panel : panel, e->most[s])
                        : e->most[s];
    e->sum_bytes = find_sum_bytes(p, e);
    e->held = lay_out(p, e);
    if (e->held <= e->bytes)
      return true;
    if (longest <= DVT_EXACT_GROUP)
      return false;
    const int s = e->most[0] >= e->most[1] ? 0 : 1;
    e->most[s] = dvt_exact_padded(e->most[s] / 2);
    if (panel > least && panel * 8 > longest)
      panel /= 2;
    else if (panel > longest)
      panel = dvt_exact_padded(longest);
  }
}

davit_status dvt_exact_find_memory(dvt_exact_call *p, bool *fits) {
  *fits = true;
  for (int w = 0; w < p->workers && *fits; w++) {
    dvt_exact_worker *e = &p->worker[w];
    void *memory = NULL;
    if (e->memory)
      continue;
    for (;;) {
      *fits = fit(p, e);
      if (!*fits)
        break;
      const davit_status status = dvt_malloc(e->held, e->device, &memory);
      if (status == DAVIT_SUCCESS)
        break;
      if (status != DAVIT_OUT_OF_DEVICE_MEMORY && status != DAVIT_OUT_OF_HOST_MEMORY)
        return status;
      dvt_error_clear();
      e->bytes /= 2;
    }
    e->memory = memory;
    lay_out(p, e);
  }
  return DAVIT_SUCCESS;
}

void dvt_exact_free_memory(dvt_exact_call *p) {
  for (int w = 0; w < p->workers; w++) {
    davit_free(p->worker[w].memory);
    p->worker[w].memory = NULL;
  }
}
