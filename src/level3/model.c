/* SPDX-License-Identifier: Apache-2.0 */
#include "src/level3/model.h"

#include "src/level3/rule.h"
#include <math.h>

void dvt_model_elements(const dvt_plan_shape *shape, double elements[DVT_POOLS]) {
  uint8_t rows[DVT_MATRICES], cols[DVT_MATRICES], same[DVT_DIMS];
  shape->rule->layout(shape, rows, cols, same);
  for (int x = 0; x < DVT_POOLS; x++)
    elements[x] = (double)shape->length[rows[x]] * (double)shape->length[cols[x]];
}

double dvt_model_product(const dvt_model_device *d, double m, double n, double k) {
  if (m <= 0 || n <= 0 || k <= 0)
    return d->launch;
  const double area = m * n / (m * n + d->area), depth = k / (k + d->depth);
  const double slower = d->tall > 0 && m > d->tall ? 1.15 : 1;
  return d->launch + slower * 2 * m * n * k / (d->rate * area * depth);
}

static double least(double a, double b) {
  return a < b ? a : b;
}

double dvt_model_host_load(const dvt_model *model, double up, double down) {
  const double both = model->all_both * (1 / model->all_up + 1 / model->all_down) / 2;
  const double share_up = up / model->all_up, share_down = down / model->all_down;
  return fmax(fmax(share_up, share_down), (share_up + share_down) / fmax(both, 1));
}

static const double far_apart = 65536;

/* 1 for rows of up to 0.8 of the length, 0 for those of 1.2 and more. */
static double shorter_than(double row, double length) {
  return length > 0 ? fmin(fmax(3 - 2.5 * row / length, 0), 1) : 0;
}

double dvt_model_strided(const dvt_model_device *d, double row, double pitch) {
  if (row <= 0 || row >= pitch)
    return 1;
  const double looked_up = 0.5 * shorter_than(row, d->far_row) + 0.12 * shorter_than(row, 2 * d->far_row);
  return (row + d->row) / row + (pitch >= far_apart ? looked_up : 0);
}

double dvt_model_weight(const dvt_model_device *d, double row, double pitch) {
  if (row <= 0 || row >= pitch)
    return 1;
  return sqrt(fmod(pitch, far_apart) == 0 ? dvt_model_strided(d, row, pitch) : (row + d->row) / row);
}

/* ---- floors and the formula ---- */

/* Elements of matrices as their tiles are read. */
static void volumes(const dvt_plan_shape *shape, double elements[DVT_POOLS]) {
  dvt_model_elements(shape, elements);
  const dvt_dealing dealing = shape->rule->dealing(shape);
  if (dealing == DVT_DEAL_TRIANGLE)
    elements[DVT_C] /= 2;
  else if (dealing != DVT_DEAL_BLOCKS)
    elements[DVT_A] /= 2;
  if (!shape->rule->uniform)
    elements[DVT_B] = 0; /* C is in its place */
}

static double flops(const dvt_plan_shape *shape) {
  const double all = 2 * (double)shape->length[0] * (double)shape->length[1] * (double)shape->length[2];
  return shape->rule->dealing(shape) == DVT_DEAL_BLOCKS ? all : all / 2;
}

void dvt_model_floors(const dvt_model *model, const dvt_plan_shape *shape, int devices,
                      dvt_prediction *prediction) {
  double rate = 0, up = 0, down = 0, both = 0, elements[DVT_POOLS], to = 0, from = 0, copied = 0;
  volumes(shape, elements);
  for (int d = 0; d < devices; d++) {
    rate += model->device[d].rate;
    up += model->device[d].up;
    down += model->device[d].down;
    both += model->device[d].both;
  }
  for (int x = 0; x < DVT_POOLS; x++)
    if (model->on_host[x] && !shape->device[0].resident[x]) {
      const double bytes = elements[x] * (double)shape->element;
      const double up_bytes = x != DVT_C || shape->load_c ? bytes : 0, down_bytes = x == DVT_C ? bytes : 0;
      to += up_bytes;
      from += down_bytes;
      copied += model->pageable[x] ? up_bytes + down_bytes : 0;
    }
  prediction->floor_arithmetic = flops(shape) / rate;
  prediction->floor_link = fmax(fmax(to / up, from / down), (to + from) / both);
  prediction->floor_link = fmax(prediction->floor_link, dvt_model_host_load(model, to, from));
  prediction->floor_link = fmax(prediction->floor_link, copied / model->host_copy);
}

/* What the formula knows of a choice: the tiles of a device's block. */
typedef struct guess {
  double tile[DVT_DIMS];      /* their length */
  double tiles[DVT_DIMS];     /* how many, without the short first and last ones, */
  double all_tiles[DVT_DIMS]; /* and with them */
  double bytes[DVT_POOLS];    /* of each matrix on the host links, all devices together */
  double slower[DVT_POOLS];   /* than bytes that follow each other: on the link, */
  double weight[DVT_POOLS];   /* and in the host's memory */
  double copies;
} guess;

static void guess_links(const dvt_model *model, const dvt_plan_shape *shape, guess *g) {
  uint8_t rows[DVT_MATRICES], cols[DVT_MATRICES], same[DVT_DIMS];
  double elements[DVT_POOLS];
  shape->rule->layout(shape, rows, cols, same);
  volumes(shape, elements);
  for (int x = 0; x < DVT_POOLS; x++) {
    g->bytes[x] = 0;
    g->slower[x] = g->weight[x] = 1;
    if (shape->device[0].resident[x] || !model->on_host[x] || elements[x] == 0)
      continue;
    const double row = g->tile[rows[x]] * (double)shape->element;
    g->bytes[x] = elements[x] * (double)shape->element;
    if (!model->pageable[x]) {
      g->slower[x] = dvt_model_strided(&model->device[0], row, (double)shape->pitch[x]);
      g->weight[x] = dvt_model_weight(&model->device[0], row, (double)shape->pitch[x]);
    }
    g->copies += g->all_tiles[rows[x]] * g->all_tiles[cols[x]];
  }
}

static void guess_tiles(const dvt_plan_shape *shape, const dvt_plan_choice *choice, guess *g) {
  for (int x = 0; x < DVT_DIMS; x++) {
    const bool with_short = (x == DVT_DIM_K && choice->lead > 0) || (x == DVT_DIM_N && choice->last > 0);
    const double block = (double)shape->length[x] / choice->grid[x];
    const double most = least(block, (double)choice->tile[x]);
    g->tiles[x] = most > 0 ? ceil(block / most) : 1;
    g->tile[x] = block / g->tiles[x]; /* cuts are nearly even */
    g->all_tiles[x] = g->tiles[x] + with_short;
  }
}

/* What a tile at an end counts as: a short one gains half of what it is shorter. */
static double guess_end(int64_t length, double tile) {
  return length > 0 ? 0.5 * (least((double)length, tile) + tile) : tile;
}

/* Tiles that come over the busiest of the links, as few cannot be divided evenly. Short ones count as a quarter, on top
 * of the others' bytes. */
static double on_one_link(double tiles, double all_tiles, int links) {
  return ceil(tiles / links) + 0.25 * (all_tiles - tiles) / links;
}

/* A tile that several devices need comes over the link of one of them. Bytes of A and B of one link. */
static double guess_shared(const int grid[DVT_DIMS], const guess *g) {
  const double m = g->tiles[DVT_DIM_M], n = g->tiles[DVT_DIM_N], k = g->tiles[DVT_DIM_K];
  const double all_n = g->all_tiles[DVT_DIM_N], all_k = g->all_tiles[DVT_DIM_K];
  const double tile_of_a = g->bytes[DVT_A] / (grid[0] * grid[2] * m * k) * g->slower[DVT_A];
  const double tile_of_b = g->bytes[DVT_B] / (grid[1] * grid[2] * n * k) * g->slower[DVT_B];
  return on_one_link(m * k, m * all_k, grid[1]) * tile_of_a +
         on_one_link(n * k, all_n * all_k, grid[0]) * tile_of_b;
}

/* 0.9, 1.2 (on one device, too) and the half of short tiles at the ends are fitted, so that choices which are fast when
 * they are played come first. */
double dvt_model_guess(const dvt_model *model, const dvt_plan_shape *shape, const dvt_plan_choice *choice) {
  const int *grid = choice->grid, devices = grid[0] * grid[1] * grid[2];
  const dvt_model_device *d = &model->device[devices - 1]; /* the slowest */
  const double element = (double)shape->element;
  guess g = {.copies = 0};
  double count = 1, steps = 1, volume = 1, elements[DVT_POOLS];
  guess_tiles(shape, choice, &g);
  for (int x = 0; x < DVT_DIMS; x++) {
    count *= g.tiles[x];
    steps *= g.all_tiles[x];
    volume *= fmax((double)shape->length[x], 1);
  }
  guess_links(model, shape, &g);
  volumes(shape, elements);
  const double lead = guess_end(choice->lead, g.tile[DVT_DIM_K]),
               last = guess_end(choice->last, g.tile[DVT_DIM_N]);
  double arithmetic =
      count * dvt_model_product(d, g.tile[0], g.tile[1], g.tile[2]) * flops(shape) / (2 * volume);
  arithmetic =
      fmax(arithmetic, (steps + g.copies) * (model->enqueue + (devices - 1) * model->enqueue_beside));
  /* Links carry each tile once, or, without peers, what each device needs. */
  const bool shares = devices == 1 || shape->peer[0][devices - 1];
  const double more = shares ? 1 : 0.5 * (grid[0] + grid[1]);
  double way[2] = {0}, work[2] = {0}; /* up and down: what they cost the host's memory, and the links */
  double copied = 0;
  for (int x = 0; x < DVT_POOLS; x++)
    for (int down = 0; down < 2; down++) {
      const double bytes = x != DVT_C              ? (down ? 0 : g.bytes[x] * more)
                           : down || shape->load_c ? g.bytes[x]
                                                   : 0;
      way[down] += bytes * g.weight[x];
      work[down] += bytes * g.slower[x];
      copied += model->pageable[x] ? bytes : 0;
    }
  double link = fmax(work[0] / (devices * d->up), work[1] / (devices * d->down));
  link = fmax(link, (work[0] + work[1]) / (devices * d->both));
  link = fmax(link, dvt_model_host_load(model, way[0], way[1]));
  link = fmax(link, copied / model->host_copy);
  link = fmax(link, shares ? 1.2 * guess_shared(grid, &g) / d->up : 0);
  link += g.copies * d->latency;
  const double start = (g.bytes[DVT_A] > 0 ? g.tile[0] * lead * element / d->up + d->latency : 0) +
                       (g.bytes[DVT_B] > 0 ? lead * g.tile[1] * element / d->up + d->latency : 0);
  const double end = g.bytes[DVT_C] > 0 ? g.tile[0] * last * element / d->down + d->latency : 0;
  const double sums =
      grid[2] > 1 ? (grid[2] - 1) * (elements[DVT_C] / (grid[0] * grid[1]) * element / (d->peer * grid[2]) +
                                     2 * (d->latency + d->launch))
                  : 0;
  /* They carry the first tiles before all products, and the last ones after them. */
  link = fmax(link - 0.9 * (start + end), 0);
  const double shorter = least(arithmetic, link), longer = fmax(arithmetic, link);
  const double overlap = longer > 0 ? 0.35 * shorter * (shorter / longer) * (shorter / longer) : 0;
  return model->start + (devices - 1) * model->start_device + start + end + sums +
         (d->serial ? arithmetic + link : longer + overlap);
}
