/* SPDX-License-Identifier: Apache-2.0 */
#include "src/gemm/plan.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/error.h"

/* A tile in a slot. Slots of a device form a list from the least to the most recently used. */
typedef struct slot {
  int64_t tile; /* key, -1: empty */
  int64_t used; /* the product that used it last: slots of the product at hand are not given away */
  int32_t older, newer;
} slot;

/* The state of planning one device. */
typedef struct planner {
  const dvt_plan_device *limits;
  int64_t row0, row1, col0, col1; /* its block of C, in tiles */
  int64_t panel_m, panel_n;       /* the panel it works on at a time */
  int64_t panel_i, panel_j;       /* where the panel starts */
  int64_t split;                  /* k-outer below, tile by tile from here */
  int64_t phase, cursor, k;       /* position in the panel */
  bool done;
  slot *slot;
  int64_t slots, capacity;
  int32_t oldest, newest;
  int32_t *place[DVT_MATRICES]; /* tile -> slot, -1 if none */
  int64_t imports, products;
} planner;

typedef struct planning {
  const dvt_plan_shape *shape;
  dvt_plan *plan;
  planner device[DVT_PLAN_DEVICES];
  bool shares; /* tiles are imported once and passed on */
} planning;

int64_t dvt_tile_length(int64_t length, int64_t piece, int64_t index) {
  int64_t rest = length - index * piece;
  return rest < piece ? rest : piece;
}

/* Pieces of nearly equal length, at most `tile`, a multiple of 32 where that is possible. */
static int64_t even_piece(int64_t length, int64_t tile) {
  if (length <= tile)
    return length > 0 ? length : 1;
  int64_t piece = dvt_divide_up(length, dvt_divide_up(length, tile));
  return dvt_at_most(tile, dvt_divide_up(piece, 32) * 32);
}

/* ---- the sequence ---- */

static davit_status emit(dvt_plan *plan, const dvt_step *step) {
  if (plan->steps == plan->capacity) {
    int64_t capacity = plan->capacity ? 2 * plan->capacity : 256;
    dvt_step *grown = dvt_allocate((size_t)capacity, sizeof *grown);
    if (!grown)
      return DAVIT_OUT_OF_HOST_MEMORY;
    if (plan->steps)
      memcpy(grown, plan->step, (size_t)plan->steps * sizeof *grown);
    free(plan->step);
    plan->step = grown;
    plan->capacity = capacity;
  }
  plan->step[plan->steps++] = *step;
  return DAVIT_SUCCESS;
}

/* ---- slots ---- */

static int64_t tile_count(const dvt_plan *plan, dvt_matrix matrix) {
  return matrix == DVT_A   ? plan->tiles_m * plan->tiles_k
         : matrix == DVT_B ? plan->tiles_k * plan->tiles_n
                           : plan->tiles_m * plan->tiles_n;
}

static int64_t tile_index(const dvt_plan *plan, dvt_matrix matrix, int64_t i, int64_t j, int64_t k) {
  return matrix == DVT_A   ? k * plan->tiles_m + i
         : matrix == DVT_B ? j * plan->tiles_k + k
                           : j * plan->tiles_m + i;
}

static void unlink_slot(planner *d, int32_t s) {
  slot *one = &d->slot[s];
  *(one->older < 0 ? &d->oldest : &d->slot[one->older].newer) = one->newer;
  *(one->newer < 0 ? &d->newest : &d->slot[one->newer].older) = one->older;
}

static void link_newest(planner *d, int32_t s) {
  d->slot[s].older = d->newest;
  d->slot[s].newer = -1;
  *(d->newest < 0 ? &d->oldest : &d->slot[d->newest].newer) = s;
  d->newest = s;
}

static void touch(planner *d, int32_t s) {
  unlink_slot(d, s);
  link_newest(d, s);
  d->slot[s].used = d->products;
}

/* A slot for a new tile: a fresh one, or the one used longest ago. Tiles of C leave by store alone: a tile
 * whose products have begun is never given up, which `used` = forever says. */
enum { FOREVER = -1 };

static int32_t take_slot(planning *p, int which) {
  planner *d = &p->device[which];
  if (d->slots < d->capacity) {
    int32_t s = (int32_t)d->slots++;
    d->slot[s].tile = -1;
    link_newest(d, s);
    return s;
  }
  for (int32_t s = d->oldest; s >= 0; s = d->slot[s].newer) {
    slot *one = &d->slot[s];
    if (one->tile >= 0 && (one->used == FOREVER || one->used == d->products))
      continue;
    if (one->tile >= 0) {
      int64_t matrix = one->tile % DVT_MATRICES;
      d->place[matrix][one->tile / DVT_MATRICES] = -1;
      p->plan->evictions += matrix != DVT_C; /* tiles of C have gone home by then */
    }
    p->plan->evicts[which] = true;
    one->tile = -1;
    return s;
  }
  return -1; /* cannot be: dvt_plan_build() made sure of three slots beyond the panel */
}

static int32_t slot_of(planning *p, int which, dvt_matrix matrix, int64_t index) {
  return p->device[which].place[matrix][index];
}

static int32_t settle(planning *p, int which, dvt_matrix matrix, int64_t index) {
  planner *d = &p->device[which];
  int32_t s = take_slot(p, which);
  if (s < 0)
    return s;
  d->slot[s].tile = index * DVT_MATRICES + matrix;
  d->place[matrix][index] = s;
  touch(d, s);
  return s;
}

/* ---- fetching ---- */

static davit_status load(planning *p, int which, dvt_matrix matrix, int64_t i, int64_t j, int64_t k) {
  int32_t s = settle(p, which, matrix, tile_index(p->plan, matrix, i, j, k));
  if (s < 0)
    return davit_fail(DAVIT_INTERNAL_ERROR, "the tile cache is too small for its plan");
  dvt_step step = {.kind = DVT_STEP_LOAD,
                   .device = (uint8_t)which,
                   .matrix = (uint8_t)matrix,
                   .i = (int32_t)i,
                   .j = (int32_t)j,
                   .k = (int32_t)k,
                   .slot = {-1, -1, -1}};
  step.slot[matrix] = s;
  p->device[which].imports++;
  return emit(p->plan, &step);
}

/* Whether the device's block needs the tile at some time. */
static bool needs(const planner *d, dvt_matrix matrix, int64_t i, int64_t j) {
  return matrix == DVT_A ? i >= d->row0 && i < d->row1 : j >= d->col0 && j < d->col1;
}

/* Who brings the tile over the host link: of those who need it, the one that has brought least. */
static int importer(const planning *p, int which, dvt_matrix matrix, int64_t i, int64_t j) {
  int best = which;
  for (int e = 0; e < p->plan->devices; e++)
    if (needs(&p->device[e], matrix, i, j) && !p->device[e].limits->resident[matrix] &&
        p->device[e].imports < p->device[best].imports)
      best = e;
  return best;
}

static davit_status fetch(planning *p, int which, dvt_matrix matrix, int64_t i, int64_t j, int64_t k,
                          int32_t *slot_out) {
  planner *d = &p->device[which];
  int64_t index = tile_index(p->plan, matrix, i, j, k);
  *slot_out = -1;
  if (d->limits->resident[matrix])
    return DAVIT_SUCCESS;
  int32_t s = slot_of(p, which, matrix, index);
  if (s < 0 && p->shares && matrix != DVT_C) {
    int source = -1;
    for (int e = 0; e < p->plan->devices && source < 0; e++)
      if (!p->device[e].limits->resident[matrix] && slot_of(p, e, matrix, index) >= 0)
        source = e;
    if (source < 0) {
      source = importer(p, which, matrix, i, j);
      DVT_TRY(load(p, source, matrix, i, j, k));
    }
    if (source != which) {
      s = settle(p, which, matrix, index);
      dvt_step step = {.kind = DVT_STEP_PEER,
                       .device = (uint8_t)which,
                       .matrix = (uint8_t)matrix,
                       .from_device = (uint8_t)source,
                       .i = (int32_t)i,
                       .j = (int32_t)j,
                       .k = (int32_t)k,
                       .slot = {-1, -1, -1},
                       .from_slot = slot_of(p, source, matrix, index)};
      step.slot[matrix] = s;
      DVT_TRY(emit(p->plan, &step));
    }
  } else if (s < 0) {
    DVT_TRY(load(p, which, matrix, i, j, k));
  }
  s = slot_of(p, which, matrix, index);
  touch(d, s);
  *slot_out = s;
  return DAVIT_SUCCESS;
}

/* The tile of C: loaded if it counts, else an empty slot; kept until stored. */
static davit_status fetch_c(planning *p, int which, int64_t i, int64_t j, int32_t *slot_out) {
  planner *d = &p->device[which];
  int64_t index = tile_index(p->plan, DVT_C, i, j, 0);
  *slot_out = -1;
  if (d->limits->resident[DVT_C])
    return DAVIT_SUCCESS;
  int32_t s = slot_of(p, which, DVT_C, index);
  if (s < 0) {
    if (p->shape->load_c)
      DVT_TRY(load(p, which, DVT_C, i, j, 0));
    else if (settle(p, which, DVT_C, index) < 0)
      return davit_fail(DAVIT_INTERNAL_ERROR, "the tile cache is too small for its plan");
    s = slot_of(p, which, DVT_C, index);
  }
  touch(d, s);
  d->slot[s].used = FOREVER;
  *slot_out = s;
  return DAVIT_SUCCESS;
}

static davit_status product(planning *p, int which, int64_t i, int64_t j, int64_t k) {
  planner *d = &p->device[which];
  d->products++;
  dvt_step step = {.kind = DVT_STEP_PRODUCT,
                   .device = (uint8_t)which,
                   .first = k == 0,
                   .last = k == p->plan->tiles_k - 1,
                   .i = (int32_t)i,
                   .j = (int32_t)j,
                   .k = (int32_t)k};
  DVT_TRY(fetch_c(p, which, i, j, &step.slot[DVT_C]));
  step.slot[DVT_A] = step.slot[DVT_B] = -1;
  if (p->shape->k > 0) {
    DVT_TRY(fetch(p, which, DVT_A, i, j, k, &step.slot[DVT_A]));
    DVT_TRY(fetch(p, which, DVT_B, i, j, k, &step.slot[DVT_B]));
  }
  DVT_TRY(emit(p->plan, &step));
  if (!step.last || step.slot[DVT_C] < 0)
    return DAVIT_SUCCESS;
  /* Home it goes; the slot may be used again, late enough for the store to be over. */
  d->slot[step.slot[DVT_C]].used = 0;
  step.kind = DVT_STEP_STORE;
  step.slot[DVT_A] = step.slot[DVT_B] = -1;
  return emit(p->plan, &step);
}

/* ---- the order on one device ---- */

/* Position `cursor` of a rows × cols panel in growing corners: every prefix needs few rows and columns. */
static void corner(int64_t rows, int64_t cols, int64_t cursor, int64_t *i, int64_t *j) {
  int64_t square = dvt_at_most(rows, cols), shell = 0;
  while (shell < square && (shell + 1) * (shell + 1) <= cursor)
    shell++;
  if (shell < square) {
    int64_t rest = cursor - shell * shell; /* the shell: up column `shell`, then along row `shell` */
    *i = rest <= shell ? rest : shell;
    *j = rest <= shell ? shell : rest - shell - 1;
  } else if (rows > cols) {
    *i = cursor / cols;
    *j = cursor % cols;
  } else {
    *i = cursor % rows;
    *j = cursor / rows;
  }
}

static int64_t panel_rows(const planner *d) {
  return dvt_at_most(d->panel_m, d->row1 - d->panel_i);
}

static int64_t panel_cols(const planner *d) {
  return dvt_at_most(d->panel_n, d->col1 - d->panel_j);
}

/* k is cut so that what the tile-by-tile part needs fits in the slots beside the panel of C. */
static void start_panel(planner *d, const dvt_plan *plan) {
  int64_t rows = panel_rows(d), cols = panel_cols(d);
  int64_t spare = d->capacity - (d->limits->resident[DVT_C] ? 0 : rows * cols);
  int64_t per_k = (d->limits->resident[DVT_A] ? 0 : rows) + (d->limits->resident[DVT_B] ? 0 : cols);
  int64_t fits = per_k > 0 ? spare / per_k : plan->tiles_k;
  int64_t tail = dvt_at_most(fits, dvt_divide_up(plan->tiles_k, 2));
  d->split = plan->tiles_k - (tail > 1 ? tail : 1);
  d->cursor = d->k = 0;
  d->phase = d->split > 0 ? 0 : 1;
  if (d->phase == 1)
    d->k = d->split;
}

static void next_panel(planner *d, const dvt_plan *plan) {
  d->panel_i += d->panel_m;
  if (d->panel_i >= d->row1) {
    d->panel_i = d->row0;
    d->panel_j += d->panel_n;
  }
  d->done = d->panel_j >= d->col1;
  if (!d->done)
    start_panel(d, plan);
}

/* One product, then on to the next position. */
static davit_status advance(planning *p, int which) {
  planner *d = &p->device[which];
  int64_t rows = panel_rows(d), cols = panel_cols(d), i, j;
  corner(rows, cols, d->cursor, &i, &j);
  DVT_TRY(product(p, which, d->panel_i + i, d->panel_j + j, d->k));
  bool last_tile = d->cursor == rows * cols - 1;
  if (d->phase == 0) {
    d->cursor = last_tile ? 0 : d->cursor + 1;
    if (last_tile && ++d->k == d->split)
      d->phase = 1;
  } else if (++d->k == p->plan->tiles_k) {
    d->k = d->split;
    d->cursor++;
    if (last_tile)
      next_panel(d, p->plan);
  }
  return DAVIT_SUCCESS;
}

/* ---- dealing ---- */

/* The grid of devices that makes the longest half perimeter of a block shortest. */
static void choose_grid(int devices, int64_t tiles_m, int64_t tiles_n, int *rows, int *cols) {
  int64_t best = INT64_MAX;
  int best_used = 0;
  *rows = *cols = 1;
  for (int r = 1; r <= devices; r++)
    for (int c = 1; r * c <= devices; c++) {
      if (r > tiles_m || c > tiles_n)
        continue;
      int64_t largest = dvt_divide_up(tiles_m, r) * dvt_divide_up(tiles_n, c);
      int64_t cost = largest * (tiles_m + tiles_n) + dvt_divide_up(tiles_m, r) + dvt_divide_up(tiles_n, c);
      if (cost < best || (cost == best && r * c < best_used)) {
        best = cost;
        best_used = r * c;
        *rows = r;
        *cols = c;
      }
    }
}

int64_t dvt_plan_largest_block(int64_t m, int64_t n, int64_t tile, int devices) {
  int64_t piece_m = even_piece(m, tile), piece_n = even_piece(n, tile);
  int rows, cols;
  choose_grid(devices, dvt_divide_up(m, piece_m), dvt_divide_up(n, piece_n), &rows, &cols);
  return dvt_at_most(m, dvt_divide_up(dvt_divide_up(m, piece_m), rows) * piece_m) *
         dvt_at_most(n, dvt_divide_up(dvt_divide_up(n, piece_n), cols) * piece_n);
}

static int64_t panel_slots(const planner *d) {
  int64_t rows = d->panel_m, cols = d->panel_n;
  return (d->limits->resident[DVT_C] ? 0 : rows * cols) + (d->limits->resident[DVT_A] ? 0 : rows) +
         (d->limits->resident[DVT_B] ? 0 : cols);
}

/* Every tile the device will ever hold. */
static int64_t block_slots(const planner *d, const dvt_plan *plan) {
  int64_t rows = d->row1 - d->row0, cols = d->col1 - d->col0;
  return (d->limits->resident[DVT_C] ? 0 : rows * cols) +
         (d->limits->resident[DVT_A] ? 0 : rows * plan->tiles_k) +
         (d->limits->resident[DVT_B] ? 0 : cols * plan->tiles_k);
}

static davit_status prepare(planning *p, int which) {
  planner *d = &p->device[which];
  const dvt_plan *plan = p->plan;
  d->panel_m = d->row1 - d->row0;
  d->panel_n = d->col1 - d->col0;
  int64_t whole = block_slots(d, plan);
  d->capacity = dvt_at_most(d->limits->slots, whole);
  while (panel_slots(d) > d->capacity && d->panel_m * d->panel_n > 1)
    *(d->panel_m >= d->panel_n ? &d->panel_m : &d->panel_n) =
        dvt_divide_up(d->panel_m >= d->panel_n ? d->panel_m : d->panel_n, 2);
  if (panel_slots(d) > d->capacity)
    return davit_fail(DAVIT_OUT_OF_DEVICE_MEMORY,
                      "a tile product needs %lld tiles on the device, the cache holds %lld",
                      (long long)panel_slots(d), (long long)d->capacity);
  if (d->capacity < whole)
    p->shares = false; /* a tile brought for another may be gone before it is used */
  d->panel_i = d->row0;
  d->panel_j = d->col0;
  d->oldest = d->newest = -1;
  d->slot = dvt_allocate((size_t)d->capacity + 1, sizeof *d->slot);
  if (!d->slot)
    return DAVIT_OUT_OF_HOST_MEMORY;
  for (int x = 0; x < DVT_MATRICES; x++) {
    size_t count = (size_t)tile_count(plan, (dvt_matrix)x);
    d->place[x] = dvt_allocate(count, sizeof(int32_t));
    if (!d->place[x])
      return DAVIT_OUT_OF_HOST_MEMORY;
    memset(d->place[x], -1, count * sizeof(int32_t));
  }
  start_panel(d, plan);
  return DAVIT_SUCCESS;
}

static davit_status deal(planning *p) {
  dvt_plan *plan = p->plan;
  int rows, cols;
  choose_grid(p->shape->devices, plan->tiles_m, plan->tiles_n, &rows, &cols);
  plan->devices = rows * cols;
  p->shares = p->shape->peers && plan->devices > 1;
  for (int w = 0; w < plan->devices; w++) {
    planner *d = &p->device[w];
    int r = w % rows, c = w / rows;
    d->limits = &p->shape->device[w];
    d->row0 = plan->tiles_m * r / rows;
    d->row1 = plan->tiles_m * (r + 1) / rows;
    d->col0 = plan->tiles_n * c / cols;
    d->col1 = plan->tiles_n * (c + 1) / cols;
    DVT_TRY(prepare(p, w));
  }
  return DAVIT_SUCCESS;
}

static davit_status sequence(planning *p) {
  for (bool any = true; any;) {
    any = false;
    for (int w = 0; w < p->plan->devices; w++)
      if (!p->device[w].done) {
        DVT_TRY(advance(p, w));
        any = true;
      }
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_plan_build(const dvt_plan_shape *shape, dvt_plan *plan) {
  *plan = (dvt_plan){0};
  plan->tile_m = even_piece(shape->m, shape->tile);
  plan->tile_n = even_piece(shape->n, shape->tile);
  plan->tile_k = even_piece(shape->k, shape->tile);
  plan->tiles_m = dvt_divide_up(shape->m, plan->tile_m);
  plan->tiles_n = dvt_divide_up(shape->n, plan->tile_n);
  plan->tiles_k = shape->k > 0 ? dvt_divide_up(shape->k, plan->tile_k) : 1;
  planning *p = dvt_allocate(1, sizeof *p);
  if (!p)
    return DAVIT_OUT_OF_HOST_MEMORY;
  p->shape = shape;
  p->plan = plan;
  davit_status status = deal(p);
  if (status == DAVIT_SUCCESS)
    status = sequence(p);
  for (int w = 0; w < plan->devices; w++) {
    planner *d = &p->device[w];
    plan->slots[w] = d->slots;
    free(d->slot);
    for (int x = 0; x < DVT_MATRICES; x++)
      free(d->place[x]);
  }
  free(p);
  if (status != DAVIT_SUCCESS)
    dvt_plan_free(plan);
  return status;
}

void dvt_plan_free(dvt_plan *plan) {
  free(plan->step);
  plan->step = NULL;
}
