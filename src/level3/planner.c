/* SPDX-License-Identifier: Apache-2.0 */
#include "src/level3/plan.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/error.h"
#include "src/level3/planning.h"

static const char no_buffer[] = "the tile cache is too small for its plan";

static dvt_operand tile_of_c(int64_t i, int64_t j) {
  return (dvt_operand){DVT_C, 'N', (int32_t)i, (int32_t)j};
}

/* ---- partial sums ---- */

static bool has_terms(const dvt_planner *d) {
  return d->k1 > d->k0;
}

/* Parts of k that contribute to the block of a device, which is part 0 of it or another one. */
static int active_parts(const dvt_planning *p, int device) {
  int count = 0;
  for (int part = 0; part < p->parts; part++)
    count += has_terms(&p->device[device % p->blocks + part * p->blocks]);
  return count;
}

/* The device that stores tile (i, j) of the block of `device`: where C lies on one of its devices that one,
 * else the devices of the parts in turn. */
static int owner_of(const dvt_planning *p, int device, int64_t i, int64_t j) {
  const int block = device % p->blocks;
  int turn = p->parts > 1 ? (int)((i + j) % active_parts(p, device)) : 0, chosen = -1;
  for (int part = 0; part < p->parts; part++) {
    const int w = block + part * p->blocks;
    if (!has_terms(&p->device[w]))
      continue;
    if (p->device[w].limits->resident[DVT_C])
      return w;
    if (turn-- == 0)
      chosen = w;
  }
  return chosen;
}

static bool is_in_place(const dvt_planning *p, int device, int64_t i, int64_t j) {
  return p->device[device].limits->resident[DVT_C] && owner_of(p, device, i, j) == device;
}

/* ---- fetching ---- */

static int product_role(int64_t i, int64_t j) {
  return (i + j) & 1 ? DVT_ROLE_PRODUCT_2 : DVT_ROLE_PRODUCT;
}

/* A step on a tile, in a tile buffer or in place. */
static dvt_step step_of(dvt_step_kind kind, int which, int role, const dvt_operand *tile, int32_t buffer) {
  return (dvt_step){.kind = (uint8_t)kind,
                    .device = (uint8_t)which,
                    .role = (uint8_t)role,
                    .out = *tile,
                    .out_buffer = buffer,
                    .left_buffer = -1,
                    .right_buffer = -1};
}

static int64_t elements(const dvt_planning *p, const dvt_operand *tile) {
  return dvt_tile_rows(p->plan, tile) * dvt_tile_cols(p->plan, tile);
}

static davit_status load(dvt_planning *p, int which, const dvt_operand *tile) {
  const int32_t s = dvt_tile_buffer_take(p, which, tile);
  if (s < 0)
    return davit_fail(DAVIT_OUT_OF_DEVICE_MEMORY, no_buffer);
  dvt_step step = step_of(DVT_STEP_LOAD, which, DVT_ROLE_LOAD, tile, s);
  DVT_TRY(dvt_emit(p, &step, NULL, NULL, dvt_tile_buffer_at(p, which, tile->matrix, s)));
  p->device[which].imports += elements(p, tile);
  return DAVIT_SUCCESS;
}

/* Copies a tile from another device's tile buffer into this one's, as a tile of `as`. */
static davit_status copy_over(dvt_planning *p, int which, const dvt_operand *as, int source,
                              const dvt_operand *tile) {
  const int32_t from = dvt_tile_buffer_find(p, source, tile), s = dvt_tile_buffer_take(p, which, as);
  if (s < 0)
    return davit_fail(DAVIT_OUT_OF_DEVICE_MEMORY, no_buffer);
  dvt_step step = step_of(DVT_STEP_PEER, which, DVT_ROLE_PEER, tile, s);
  p->device[source].exports += elements(p, tile);
  step.from_device = (uint8_t)source;
  step.from_buffer = from;
  return dvt_emit(p, &step, dvt_tile_buffer_at(p, source, tile->matrix, from), NULL,
                  dvt_tile_buffer_at(p, which, as->matrix, s));
}

static bool needs(const dvt_planning *p, int device, const dvt_operand *tile) {
  const dvt_planner *d = &p->device[device];
  return !d->done && !d->limits->resident[dvt_pool_of(tile->matrix)] && d->need[tile->matrix] &&
         d->need[tile->matrix][dvt_tile_index(p->plan, tile)];
}

/* Whether a tile that the device imports now is still there when it needs it: always if it keeps everything,
 * else if the device is at about the same place in k. */
static bool will_keep(const dvt_planning *p, int device, int which) {
  const dvt_planner *d = &p->device[device], *w = &p->device[which];
  const int64_t apart = d->number > w->number ? d->number - w->number : w->number - d->number;
  return !d->evicts || (apart <= p->terms_per_k && d->by_tile == w->by_tile);
}

/* Who brings the tile over the host link: of those who need it, the one that has brought least. */
static int importer(const dvt_planning *p, int which, const dvt_operand *tile) {
  int best = which;
  for (int e = 0; e < p->plan->devices; e++)
    if (e != which && p->shape->peer[e][which] && p->device[e].imports < p->device[best].imports &&
        needs(p, e, tile) && will_keep(p, e, which) && dvt_tile_buffer_has_room(p, e, tile->matrix))
      best = e;
  return best;
}

/* Whom to copy the tile from: of those who have it, the one that has given least; -1: nobody has it. */
static int holder(const dvt_planning *p, int which, const dvt_operand *tile) {
  int best = -1;
  for (int e = 0; e < p->plan->devices; e++)
    if (e != which && p->shape->peer[e][which] && !p->device[e].limits->resident[dvt_pool_of(tile->matrix)] &&
        dvt_tile_buffer_find(p, e, tile) >= 0 && (best < 0 || p->device[e].exports < p->device[best].exports))
      best = e;
  return best;
}

/* A tile that is there. One of C, before it is computed or after, stays for the panel. */
static davit_status use(dvt_planning *p, int which, const dvt_operand *tile, int32_t *buffer) {
  *buffer = dvt_tile_buffer_find(p, which, tile);
  dvt_tile_buffer_touch(p, which, tile->matrix, *buffer);
  if (tile->matrix == DVT_C)
    dvt_tile_buffer_at(p, which, DVT_C, *buffer)->held = true;
  return DAVIT_SUCCESS;
}

/* An operand of a product at hand. */
static davit_status fetch(dvt_planning *p, int which, const dvt_operand *tile, int32_t *buffer) {
  *buffer = -1;
  if (tile->matrix < 0 || p->device[which].limits->resident[dvt_pool_of(tile->matrix)])
    return DAVIT_SUCCESS;
  if (dvt_tile_buffer_find(p, which, tile) < 0) {
    int source = tile->matrix == DVT_A || tile->matrix == DVT_B ? holder(p, which, tile) : -1;
    if (source < 0) {
      source = importer(p, which, tile);
      if (source != which)
        DVT_TRY(load(p, source, tile));
    }
    DVT_TRY(source == which || source < 0 ? load(p, which, tile) : copy_over(p, which, tile, source, tile));
  }
  return use(p, which, tile, buffer);
}

/* The tile of C: loaded if it counts, else an empty tile buffer; kept until it is stored. */
static davit_status fetch_c(dvt_planning *p, int which, const dvt_operand *tile, int32_t *buffer) {
  *buffer = -1;
  if (is_in_place(p, which, tile->row, tile->col))
    return DAVIT_SUCCESS;
  if (dvt_tile_buffer_find(p, which, tile) < 0) {
    /* A tile on the diagonal of a triangle goes home with the half that is not written. */
    const bool counts =
        p->shape->load_c || (p->distribution == DVT_DISTRIBUTE_TRIANGLE && tile->row == tile->col);
    if (counts && owner_of(p, which, tile->row, tile->col) == which)
      DVT_TRY(load(p, which, tile));
    else if (dvt_tile_buffer_take(p, which, tile) < 0)
      return davit_fail(DAVIT_OUT_OF_DEVICE_MEMORY, no_buffer);
  }
  return use(p, which, tile, buffer);
}

/* ---- steps ---- */

static davit_status store(dvt_planning *p, int which, const dvt_operand *tile) {
  const int32_t s = dvt_tile_buffer_find(p, which, tile);
  if (s < 0)
    return DAVIT_SUCCESS; /* in place */
  dvt_step step = step_of(DVT_STEP_STORE, which, DVT_ROLE_STORE, tile, s);
  DVT_TRY(dvt_emit(p, &step, dvt_tile_buffer_at(p, which, DVT_C, s), NULL, NULL));
  if (p->rule->uniform)
    dvt_tile_buffer_release(p, which, DVT_C, s); /* in place others may still read it: next_panel() lets go */
  return DAVIT_SUCCESS;
}

/* The owner's tile += the partial sum of another device. */
static davit_status add_partial(dvt_planning *p, int owner, int from, const dvt_operand *tile) {
  dvt_operand as = *tile;
  as.matrix = DVT_SUM; /* a name for the copy, which the rules that divide k do not use */
  p->device[owner].products++;
  DVT_TRY(copy_over(p, owner, &as, from, tile));
  dvt_tile_buffer_release(p, from, DVT_C, dvt_tile_buffer_find(p, from, tile));
  const int32_t partial = dvt_tile_buffer_find(p, owner, &as), sum = dvt_tile_buffer_find(p, owner, tile);
  dvt_step step = step_of(DVT_STEP_ADD, owner, product_role(tile->row, tile->col), tile, sum);
  step.left_buffer = partial;
  DVT_TRY(dvt_emit(p, &step, dvt_tile_buffer_at(p, owner, DVT_SUM, partial), NULL,
                   dvt_tile_buffer_at(p, owner, DVT_C, sum)));
  dvt_tile_buffer_release(p, owner, DVT_SUM, partial);
  return DAVIT_SUCCESS;
}

/* A device is done with its terms of the tile. The last one has the sums added, in ascending k. */
static davit_status finish(dvt_planning *p, int which, const dvt_operand *tile) {
  if (p->parts == 1)
    return store(p, which, tile);
  uint8_t *finished = &p->finished[dvt_tile_index(p->plan, tile)];
  if (++*finished < active_parts(p, which))
    return DAVIT_SUCCESS;
  const int owner = owner_of(p, which, tile->row, tile->col);
  for (int part = 0; part < p->parts; part++) {
    const int from = which % p->blocks + part * p->blocks;
    if (from != owner && has_terms(&p->device[from]))
      DVT_TRY(add_partial(p, owner, from, tile));
  }
  return store(p, owner, tile);
}

static void find_term(const dvt_planning *p, int which, int64_t i, int64_t j, int64_t number,
                      dvt_term *term) {
  const dvt_planner *d = &p->device[which];
  *term = (dvt_term){.alpha = DVT_ALPHA, .left.matrix = -1, .right.matrix = -1};
  p->rule->term(p->shape, p->plan, i, j, number, term);
  if (!p->rule->uniform)
    return;
  if (p->shape->length[DVT_DIM_K] == 0)
    term->left.matrix = term->right.matrix = -1;
  term->beta = number > d->k0 * p->terms_per_k     ? DVT_ONE
               : owner_of(p, which, i, j) == which ? DVT_BETA
                                                   : DVT_ZERO;
}

static davit_status product(dvt_planning *p, int which, int64_t i, int64_t j, int64_t number) {
  const dvt_operand tile = tile_of_c(i, j);
  dvt_step step = step_of(DVT_STEP_PRODUCT, which, product_role(i, j), &tile, -1);
  find_term(p, which, i, j, number, &step.term);
  if (step.term.kernel == DVT_ROUTINES)
    return DAVIT_SUCCESS;
  p->device[which].products++;
  DVT_TRY(fetch_c(p, which, &tile, &step.out_buffer));
  DVT_TRY(fetch(p, which, &step.term.left, &step.left_buffer));
  DVT_TRY(fetch(p, which, &step.term.right, &step.right_buffer));
  p->plan->products++;
  return dvt_emit(p, &step, dvt_tile_buffer_at(p, which, step.term.left.matrix, step.left_buffer),
                  dvt_tile_buffer_at(p, which, step.term.right.matrix, step.right_buffer),
                  dvt_tile_buffer_at(p, which, DVT_C, step.out_buffer));
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

static int64_t panel_rows(const dvt_planner *d) {
  return dvt_at_most(d->panel_m, d->row1 - d->panel_i);
}

static int64_t panel_cols(const dvt_planner *d) {
  return dvt_at_most(d->panel_n, d->col1 - d->panel_j);
}

static void position(const dvt_planning *p, const dvt_planner *d, int64_t *i, int64_t *j) {
  const int64_t rows = panel_rows(d), cols = panel_cols(d);
  const bool down = p->rule->descends && p->rule->descends(p->shape);
  if (p->distribution == DVT_DISTRIBUTE_COLUMNS) {
    *i = down ? rows - 1 - d->cursor / cols : d->cursor / cols;
    *j = d->cursor % cols;
  } else if (p->distribution == DVT_DISTRIBUTE_ROWS) {
    *i = d->cursor % rows;
    *j = down ? cols - 1 - d->cursor / rows : d->cursor / rows;
  } else {
    corner(rows, cols, d->cursor, i, j);
  }
  *i += d->panel_i;
  *j += d->panel_j;
}

/* Where outputs are operands, those of the last panel may leave. */
static void let_go(dvt_planner *d) {
  dvt_pool *pool = &d->pool[DVT_C];
  for (int64_t s = 0; s < pool->buffers; s++)
    pool->buffer[s].held = false;
}

/* k is cut so that what the tile-by-tile part needs fits in the tile buffers beside the panel of C. Over B there is
 * no such part. */
static void start_panel(dvt_planning *p, dvt_planner *d) {
  const int64_t rows = panel_rows(d), cols = panel_cols(d), length = d->k1 - d->k0;
  d->cursor = 0;
  d->split = 0;
  if (p->rule->uniform) {
    int64_t tail = dvt_divide_up(length * (p->choice->by_tile > 0 ? p->choice->by_tile : 2), 4);
    for (int x = DVT_A; x <= DVT_B; x++) {
      int64_t per_k = 0;
      dvt_term term = {.left.matrix = -1, .right.matrix = -1};
      p->rule->term(p->shape, p->plan, d->panel_i, d->panel_j, d->k0 * p->terms_per_k, &term);
      const bool left = term.left.matrix == x, right = term.right.matrix == x;
      const bool both = p->distribution == DVT_DISTRIBUTE_TRIANGLE && (left || right);
      per_k += left || both ? rows : 0;
      per_k += right || both ? cols : 0;
      if (per_k > 0 && !d->limits->resident[x] && d->evicts)
        tail = dvt_at_most(tail, d->pool[x].capacity / per_k);
    }
    d->split = p->rule->over_b ? d->k1 : d->k1 - (tail > 1 ? tail : 1);
  }
  d->by_tile = d->split <= d->k0;
  d->number = d->k0 * p->terms_per_k;
}

static void next_panel(dvt_planning *p, dvt_planner *d) {
  d->panel_i += d->panel_m;
  if (d->panel_i >= d->row1) {
    d->panel_i = d->row0;
    d->panel_j += d->panel_n;
  }
  d->done = d->panel_j >= d->col1;
  if (!p->rule->uniform)
    let_go(d);
  if (!d->done)
    start_panel(p, d);
}

/* Past the tile at the cursor, to the next output. */
static bool next_tile(const dvt_planning *p, dvt_planner *d) {
  int64_t i, j;
  do {
    if (++d->cursor == panel_rows(d) * panel_cols(d))
      return false;
    position(p, d, &i, &j);
  } while (!dvt_is_output(p, i, j));
  return true;
}

static bool first_tile(const dvt_planning *p, dvt_planner *d) {
  int64_t i, j;
  d->cursor = 0;
  position(p, d, &i, &j);
  return dvt_is_output(p, i, j) || next_tile(p, d);
}

/* One product, then on to the next position. */
static davit_status advance(dvt_planning *p, int which) {
  dvt_planner *d = &p->device[which];
  const int64_t per = p->terms_per_k;
  int64_t i, j;
  if (d->cursor == 0 && !first_tile(p, d)) {
    next_panel(p, d);
    return DAVIT_SUCCESS;
  }
  position(p, d, &i, &j);
  const dvt_operand tile = tile_of_c(i, j);
  const int64_t last = p->rule->uniform ? d->k1 * per : p->rule->terms(p->shape, p->plan, i, j);
  DVT_TRY(product(p, which, i, j, d->number));
  d->number++;
  if (!d->by_tile) { /* all terms of one k of the tile, then the next tile */
    if (d->number % per)
      return DAVIT_SUCCESS;
    const int64_t k = d->number / per;
    if (p->rule->over_b && k == p->rule->terms(p->shape, p->plan, i, j))
      DVT_TRY(finish(p, which, &tile));
    if (next_tile(p, d)) {
      d->number = (k - 1) * per;
      return DAVIT_SUCCESS;
    }
    d->cursor = 0;
    d->by_tile = k == d->split;
    if (k == d->k1)
      next_panel(p, d);
    return DAVIT_SUCCESS;
  }
  if (d->number < last)
    return DAVIT_SUCCESS;
  DVT_TRY(finish(p, which, &tile));
  d->number = d->split > d->k0 ? d->split * per : d->k0 * per;
  if (!next_tile(p, d))
    next_panel(p, d);
  return DAVIT_SUCCESS;
}

static davit_status sequence(dvt_planning *p) {
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

/* ---- pools ---- */

/* Everything a device will ever hold, in tiles. */
typedef struct demand {
  int64_t tiles[DVT_POOLS];
  int64_t outputs;
} demand;

static void note(dvt_planning *p, int which, const dvt_operand *operand, demand *all) {
  dvt_planner *d = &p->device[which];
  if (operand->matrix < 0 || operand->matrix == DVT_C || d->limits->resident[dvt_pool_of(operand->matrix)])
    return;
  uint8_t *need = &d->need[operand->matrix][dvt_tile_index(p->plan, operand)];
  all->tiles[dvt_pool_of(operand->matrix)] += !*need;
  *need = 1;
}

/* Goes through the terms of the block. */
static void find_demand(dvt_planning *p, int which, demand *all) {
  dvt_planner *d = &p->device[which];
  *all = (demand){{0}, 0};
  for (int64_t j = d->col0; j < d->col1; j++)
    for (int64_t i = d->row0; i < d->row1; i++) {
      if (!dvt_is_output(p, i, j))
        continue;
      const int64_t first = p->rule->uniform ? d->k0 * p->terms_per_k : 0;
      const int64_t last =
          p->rule->uniform ? d->k1 * p->terms_per_k : p->rule->terms(p->shape, p->plan, i, j);
      for (int64_t number = first; number < last; number++) {
        dvt_term term;
        find_term(p, which, i, j, number, &term);
        note(p, which, &term.left, all);
        note(p, which, &term.right, all);
      }
      all->outputs++;
      all->tiles[DVT_C] += !is_in_place(p, which, i, j);
    }
  if (p->parts > 1)
    all->tiles[DVT_C] += 2; /* copies of partial sums on their way */
}

static size_t bytes_of(const dvt_plan *plan, const int64_t tiles[DVT_POOLS]) {
  size_t sum = 0;
  for (int x = 0; x < DVT_POOLS; x++)
    sum += (size_t)tiles[x] * plan->buffer_bytes[x];
  return sum;
}

/* For tiles. Of a rule over B both streams of products have room for a tile beside them. */
static size_t room_for_tiles(const dvt_planning *p, const dvt_planner *d) {
  const size_t beside = p->rule->over_b ? 2 * p->plan->buffer_bytes[DVT_C] : 0;
  return d->limits->bytes > beside ? d->limits->bytes - beside : 0;
}

/* Tiles that a panel of rows × cols needs beside each other, with operands for `depth` steps of k. */
static void panel_tiles(const dvt_planning *p, const dvt_planner *d, int64_t rows, int64_t cols,
                        int64_t depth, int64_t tiles[DVT_POOLS]) {
  memset(tiles, 0, DVT_POOLS * sizeof *tiles);
  if (!p->rule->uniform) {
    tiles[DVT_C] = rows * cols;
    tiles[DVT_A] = depth;
    return;
  }
  dvt_term term = {.left.matrix = -1, .right.matrix = -1};
  p->rule->term(p->shape, p->plan, d->row0, d->col0, d->k0 * p->terms_per_k, &term);
  const int operands[] = {term.left.matrix, term.right.matrix};
  for (int x = 0; x < 2; x++)
    if (operands[x] >= 0 &&
        p->distribution == DVT_DISTRIBUTE_TRIANGLE) /* rows and columns are of the same matrices */
      tiles[operands[x]] = depth * (rows + cols);
    else if (operands[x] >= 0)
      tiles[operands[x]] += depth * (x == 0 ? rows : cols) * p->terms_per_k;
  if (p->rule->over_b) /* one row (column) of the panel after the other needs a tile of A */
    tiles[DVT_A] = depth + 1;
  tiles[DVT_C] = rows * cols;
  for (int x = 0; x < DVT_POOLS; x++)
    tiles[x] = d->limits->resident[x] ? 0 : tiles[x];
}

/* The block does not fit: panels, and what is left for operands. */
static davit_status find_panels(dvt_planning *p, dvt_planner *d, const demand *all,
                                int64_t tiles[DVT_POOLS]) {
  const size_t most = room_for_tiles(p, d);
  int64_t depth = 2;
  for (;;) {
    panel_tiles(p, d, d->panel_m, d->panel_n, depth, tiles);
    if (bytes_of(p->plan, tiles) <= most)
      break;
    int64_t *longer = p->distribution == DVT_DISTRIBUTE_COLUMNS ? &d->panel_n
                      : p->distribution == DVT_DISTRIBUTE_ROWS  ? &d->panel_m
                      : d->panel_m >= d->panel_n                ? &d->panel_m
                                                                : &d->panel_n;
    if (*longer > 1)
      *longer = dvt_divide_up(*longer, 2);
    else if (--depth == 0)
      return davit_fail(DAVIT_OUT_OF_DEVICE_MEMORY,
                        "a tile product needs %zu bytes for tiles on the device, the cache holds %zu",
                        bytes_of(p->plan, tiles), most);
  }
  for (;;) { /* the rest for operands, in the same proportion */
    int64_t more[DVT_POOLS];
    panel_tiles(p, d, d->panel_m, d->panel_n, depth + 1, more);
    const bool enough_a = more[DVT_A] == 0 || more[DVT_A] > all->tiles[DVT_A];
    const bool enough_b = more[DVT_B] == 0 || more[DVT_B] > all->tiles[DVT_B];
    if (bytes_of(p->plan, more) > most || (enough_a && enough_b))
      break;
    memcpy(tiles, more, sizeof more);
    depth++;
  }
  d->evicts = true;
  return p->parts > 1 ? davit_fail(DAVIT_OUT_OF_DEVICE_MEMORY, "partial sums of k do not fit on the device")
                      : DAVIT_SUCCESS;
}

/* In place, and everything fits: two lines of tiles at a time, so that arithmetic starts when few tiles of C are
 * there. Those of A stay for the next lines. */
static void find_lines(const dvt_planning *p, dvt_planner *d) {
  enum { LINES = 2 };
  if (p->rule->uniform)
    return;
  if (p->distribution == DVT_DISTRIBUTE_COLUMNS)
    d->panel_n = dvt_at_most(d->panel_n, LINES);
  else if (p->distribution == DVT_DISTRIBUTE_ROWS)
    d->panel_m = dvt_at_most(d->panel_m, LINES);
}

static davit_status open_tables(dvt_planning *p, dvt_planner *d) {
  for (int x = 0; x < DVT_MATRICES; x++) {
    const size_t count = (size_t)dvt_tile_count(p->plan, x);
    d->place[x] = dvt_allocate_raw(count * sizeof(int32_t));
    d->need[x] = dvt_allocate(count, 1);
    if (!d->place[x] || !d->need[x])
      return DAVIT_OUT_OF_HOST_MEMORY;
    memset(d->place[x], -1, count * sizeof(int32_t));
  }
  return DAVIT_SUCCESS;
}

static davit_status prepare(dvt_planning *p, int which) {
  dvt_planner *d = &p->device[which];
  demand all;
  d->panel_m = d->row1 - d->row0;
  d->panel_n = d->col1 - d->col0;
  d->panel_i = d->row0;
  d->panel_j = d->col0;
  DVT_TRY(open_tables(p, d));
  find_demand(p, which, &all);
  d->done = all.outputs == 0 || (p->rule->uniform && !has_terms(d));
  int64_t tiles[DVT_POOLS] = {0};
  if (!d->done) {
    memcpy(tiles, all.tiles, sizeof tiles);
    if (bytes_of(p->plan, tiles) > room_for_tiles(p, d))
      DVT_TRY(find_panels(p, d, &all, tiles));
    else
      find_lines(p, d);
  }
  for (int x = 0; x < DVT_POOLS; x++)
    DVT_TRY(dvt_pool_open(&d->pool[x], tiles[x]));
  if (!d->done)
    start_panel(p, d);
  return DAVIT_SUCCESS;
}

/* A tile buffer holds the largest tile of its matrix. */
static void find_buffer_bytes(dvt_planning *p) {
  dvt_plan *plan = p->plan;
  int64_t longest[DVT_DIMS] = {0};
  for (int x = 0; x < DVT_DIMS; x++)
    for (int64_t i = 0; i < plan->cut[x].tiles; i++)
      longest[x] = dvt_at_least(longest[x], dvt_cut_length(&plan->cut[x], i));
  for (int x = 0; x < DVT_POOLS; x++)
    plan->buffer_bytes[x] =
        (size_t)longest[plan->layout.rows[x]] * (size_t)longest[plan->layout.cols[x]] * p->shape->element;
}

/* ---- all of it ---- */

static davit_status build(dvt_planning *p) {
  DVT_TRY(dvt_distribute(p));
  memset(p->known, -1, (size_t)(p->plan->devices * DVT_ROLES) * sizeof *p->known);
  find_buffer_bytes(p);
  if (p->parts > 1) {
    p->finished = dvt_allocate((size_t)dvt_tile_count(p->plan, DVT_C), 1);
    if (!p->finished)
      return DAVIT_OUT_OF_HOST_MEMORY;
  }
  for (int w = 0; w < p->plan->devices; w++)
    DVT_TRY(prepare(p, w));
  return sequence(p);
}

davit_status dvt_plan_build(const dvt_plan_shape *shape, const dvt_plan_choice *choice, dvt_plan *plan) {
  *plan = (dvt_plan){.devices = 0};
  dvt_planning *p = dvt_allocate(1, sizeof *p);
  if (!p)
    return DAVIT_OUT_OF_HOST_MEMORY;
  p->shape = shape;
  p->choice = choice;
  p->rule = shape->rule;
  p->plan = plan;
  p->terms_per_k = p->rule->terms_per_k > 0 ? p->rule->terms_per_k : 1;
  davit_status status = build(p);
  for (int w = 0; w < plan->devices; w++) {
    dvt_planner *d = &p->device[w];
    for (int x = 0; x < DVT_POOLS; x++) {
      plan->buffers[w][x] = d->pool[x].buffers;
      dvt_pool_close(&d->pool[x]);
    }
    for (int x = 0; x < DVT_MATRICES; x++) {
      free(d->place[x]);
      free(d->need[x]);
    }
  }
  free(p->finished);
  free(p);
  if (status != DAVIT_SUCCESS)
    dvt_plan_free(plan);
  return status;
}

void dvt_plan_free(dvt_plan *plan) {
  for (int x = 0; x < DVT_DIMS; x++) {
    bool shared = false;
    for (int y = 0; y < x; y++)
      shared = shared || plan->cut[y].start == plan->cut[x].start;
    if (!shared)
      free(plan->cut[x].start);
  }
  for (int x = 0; x < DVT_DIMS; x++)
    plan->cut[x].start = NULL;
  free(plan->step);
  free(plan->wait);
  plan->step = NULL;
  plan->wait = NULL;
}
