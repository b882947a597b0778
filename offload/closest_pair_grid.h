/* SPDX-License-Identifier: Apache-2.0 */
/* Points, cells and grids of the search for a closest pair, and the choice of a grid: for the CPU and for
 * kernels. All devices of a search choose the same grid: products are not fused, and no function but sqrt is
 * called. */
#ifndef DAVIT_OFFLOAD_CLOSEST_PAIR_GRID_H
#define DAVIT_OFFLOAD_CLOSEST_PAIR_GRID_H

#include <string.h>

#include "offload/closest_pair_state.h"
#include "ref/closest_pair.h"

enum {
  RUN = 32, /* cells with neighbouring buckets */
  MIN_BITS = 7,
  PER_CELL = 2,        /* points, in a dense grid of evenly spread ones */
  DENSE_BUCKETS = 128, /* beyond the number of points: the rims of small grids */
  CROWD_DENSE = 1024,
  RANKS_DENSE = 8, /* times n */
  CROWD_HASHED = 4096,
  CROWD_COLLECT = UINT16_MAX, /* ranks have 16 bits */
  RANKS_HASHED = 32,
  SAMPLED = 1024 /* points whose coordinates divide the slabs */
};

#define INLINE static inline __attribute__((always_inline))

/* ---- the bits of numbers ---- */

INLINE uint64_t bits_of(double x) {
  uint64_t bits;
  x += 0.0; /* both zeros are one */
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

INLINE double from_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

INLINE uint64_t mixed(uint64_t h) {
  h ^= h >> 32;
  h *= UINT64_C(0xd6e8feb86659fd93);
  h ^= h >> 32;
  h *= UINT64_C(0xd6e8feb86659fd93);
  return h ^ h >> 32;
}

/* ---- points and cells ---- */

typedef struct point {
  double x, y, z;
} point;

INLINE bool is_same(point a, point b) {
  return a.x == b.x && a.y == b.y && a.z == b.z;
}

INLINE double along(point p, int64_t axis) {
  return axis == 0 ? p.x : axis == 1 ? p.y : p.z;
}

/* The number of the cell along one axis, in the order of x, which slabs need. */
INLINE int64_t hashed_cell(const dvt_closest_grid *g, double x) {
  if (__builtin_fabs(x) > g->most) {
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits < 0 ? INT64_MIN - bits : bits;
  }
  const double u = x * g->factor[0] * g->factor[1];
  const int64_t cell = (int64_t)u;
  return cell - ((double)cell > u);
}

/* The bucket of the first cell of a run. */
INLINE int64_t hashed_run(const dvt_closest_grid *g, int64_t run, int64_t y, int64_t z) {
  const uint64_t h = mixed(mixed(mixed((uint64_t)run) + (uint64_t)y) + (uint64_t)z);
  return 1 + (int64_t)(h >> g->shift);
}

INLINE int64_t dense_bucket(const dvt_closest_grid *g, point p, int dim) {
  const int64_t x = (int64_t)((p.x - g->origin[0]) * g->scale),
                y = (int64_t)((p.y - g->origin[1]) * g->scale),
                z = dim > 2 ? (int64_t)((p.z - g->origin[2]) * g->scale) : 0;
  return g->first + x + y * g->pitch[0] + (dim > 2 ? z * g->pitch[1] : 0);
}

INLINE int64_t hashed_bucket(const dvt_closest_grid *g, point p, int dim) {
  const int64_t x = hashed_cell(g, p.x);
  return hashed_run(g, x >> 5, hashed_cell(g, p.y), dim > 2 ? hashed_cell(g, p.z) : 0) + (x & (RUN - 1));
}

INLINE int64_t bucket_of(const dvt_closest_grid *g, point p, int dim) {
  return g->hashed ? hashed_bucket(g, p, dim) : dense_bucket(g, p, dim);
}

/* The number of the cell at x of the axis that slabs divide. */
INLINE int64_t cell_along(const dvt_closest_grid *g, double x) {
  return g->hashed ? hashed_cell(g, x) : (int64_t)((x - g->from) * g->scale);
}

/* Whether the device compares the point with others, or may need it to compare with. */
INLINE bool is_own(const dvt_closest_grid *g, point p) {
  const int64_t cell = g->slab ? cell_along(g, along(p, g->axis)) : 0;
  return !g->slab || (cell >= g->begin && cell < g->end);
}

INLINE bool is_needed(const dvt_closest_grid *g, point p) {
  const int64_t cell = cell_along(g, along(p, g->axis));
  return (cell >= g->begin || cell + 1 == g->begin) && (cell < g->end || cell == g->end);
}

/* Where the k-th of `parts` equal shares of n elements begins. */
INLINE int64_t share_of(int64_t n, int64_t k, int64_t parts) {
  return n / parts * k + n % parts * k / parts;
}

/* The k-th point in a random order: a permutation of the numbers below n, by a Feistel network on the next
 * even number of bits, repeated until the number is below n. */
INLINE int64_t shuffled(int64_t k, int64_t n, int64_t seed) {
  int half = 1;
  while (INT64_C(1) << 2 * half < n)
    half++;
  const uint64_t low = (UINT64_C(1) << half) - 1;
  uint64_t x = (uint64_t)k;
  do {
    uint64_t a = x >> half, b = x & low;
    for (int round = 0; round < 4; round++) {
      const uint64_t c = a ^ (mixed(b + ((uint64_t)(seed * 4 + round) << 40)) & low);
      a = b;
      b = c;
    }
    x = a << half | b;
  } while (x >= (uint64_t)n);
  return (int64_t)x;
}

/* ---- the choice of a grid ---- */

INLINE int hash_bits(int64_t n) {
  int bits = MIN_BITS;
  while (INT64_C(1) << bits < n)
    bits++;
  return bits;
}

/* The maximum number of buckets of a grid. A hashed grid has them all: 2^hash_bits(), a run, and bucket 0. */
INLINE int64_t most_buckets(int64_t n, bool hashed) {
  const int64_t all = 1 + (INT64_C(1) << hash_bits(n)) + RUN;
  return hashed || n + DENSE_BUCKETS > all ? all : n + DENSE_BUCKETS;
}

/* Slabs cut the longest side of the box. */
INLINE int longest_side(const dvt_closest_state *s, int dim) {
  int axis = 0;
  double longest = -1;
#pragma unroll
  for (int k = 0; k < dim; k++) {
    const double half = s->high[k] / 2 - s->low[k] / 2;
    axis = half > longest ? k : axis;
    longest = half > longest ? half : longest;
  }
  return axis;
}

/* Whether sampled coordinate j, which is x, is before the k-th, which is y, in ascending order. */
INLINE bool is_before(double x, int j, double y, int k) {
  return x < y || (!(y < x) && j < k);
}

/* This device's slab, from the coordinates of the points with which it and the next begin. */
INLINE void plan_slab(dvt_closest_state *s, int axis, double first, double next) {
  dvt_closest_grid *g = &s->grid;
  g->axis = axis;
  g->from = axis == 0 ? g->origin[0] : axis == 1 ? g->origin[1] : g->origin[2];
  g->begin = s->part == 0 ? INT64_MIN : cell_along(g, first);
  g->end = s->part == s->parts - 1 ? INT64_MAX : cell_along(g, next);
  g->slab = 1;
}

/* 2^k for a k whose power is a normal number, or above: infinity. */
INLINE double power_of_two(int k) {
  return k > 1023 ? __builtin_inf() : from_bits((uint64_t)(k + 1023) << 52);
}

/* The minimum e such that x < 2^e, for positive x. */
INLINE int exponent_above(double x) {
  const bool tiny = x < 0x1p-1022;
  return (int)(bits_of(tiny ? x * 0x1p54 : x) >> 52) - 1022 - (tiny ? 54 : 0);
}

/* The cube root of x from 0 to 1 by Newton's method, to about 14 digits; 0 for x below 2^-1000. */
INLINE double cube_root(double x) {
#pragma STDC FP_CONTRACT OFF
  if (!(x > 0x1p-1000))
    return 0;
  double root = from_bits(bits_of(x) / 3 + UINT64_C(0x2a9f7893782da1ce));
  for (int i = 0; i < 4; i++)
    root = (root + root + x / (root * root)) / 3;
  return root;
}

/* The width of a cell such that the box has about `cells`; the box's longest side is 1. Sides shorter than a
 * cell are one cell wide. */
INLINE double cell_of(double a, double b, double c, double cells) {
#pragma STDC FP_CONTRACT OFF
  const double longer = a > b ? a : b, shorter = a > b ? b : a;
  const double middle = c > longer ? longer : c > shorter ? c : shorter;
  const double shortest = c < shorter ? c : shorter;
  const double solid = cube_root(middle * shortest / cells), flat = __builtin_sqrt(middle / cells);
  if (shortest >= solid && solid > 0)
    return solid;
  return middle >= flat && flat > 0 ? flat : 1 / cells;
}

/* A dense grid of the box; false if there is none. */
INLINE bool plan_dense(dvt_closest_state *s, int64_t n, int dim) {
#pragma STDC FP_CONTRACT OFF
  const int64_t most = most_buckets(n, false);
  double extent[3] = {0, 0, 0}, longest = 0;
#pragma unroll
  for (int k = 0; k < 3; k++) {
    extent[k] = k < dim ? s->high[k] - s->low[k] : 0;
    longest = extent[k] > longest ? extent[k] : longest;
  }
  double width = longest * cell_of(extent[0] / longest, extent[1] / longest, extent[2] / longest,
                                   (double)n / (double)PER_CELL);
  if (s->bad < n || !(width > 0x1p-1000 && longest < 0x1p1000))
    return false;
  double cells[3], buckets;
  for (;; width *= 1.0625) {
#pragma unroll
    for (int k = 0; k < 3; k++)
      cells[k] = __builtin_floor(extent[k] * (1 / width)) + 1;
    buckets = 1 + (cells[0] + 2) * (cells[1] + 2) * (dim > 2 ? cells[2] + 2 : 1);
    if (buckets <= (double)most)
      break;
  }
  const int64_t row = (int64_t)cells[0] + 2, layer = row * ((int64_t)cells[1] + 2);
  s->grid = (dvt_closest_grid){.buckets = (int64_t)buckets,
                               .origin = {s->low[0], s->low[1], dim > 2 ? s->low[2] : 0},
                               .width = width,
                               .scale = 1 / width,
                               .first = 2 + row + (dim > 2 ? layer : 0),
                               .pitch = {row, layer},
                               .crowd = CROWD_DENSE,
                               .ranks = RANKS_DENSE * n};
  return true;
}

/* Cells of the minimum power of two above the known distance; false if that is 0, or there is none below
 * 2^1022. */
INLINE bool plan_hashed(dvt_closest_state *s, int64_t n) {
  if (s->sample) {
    s->known = s->pair.distance < s->known ? s->pair.distance : s->known;
    s->pair = DVT_NO_PAIR;
    s->bound = 0;
  }
  if (!(s->known > 0 && s->known < 0x1p1022))
    return false;
  const int exponent = exponent_above(s->known);
  s->grid =
      (dvt_closest_grid){.hashed = 1,
                         .buckets = most_buckets(n, true),
                         .factor = {power_of_two(-(exponent / 2)), power_of_two(exponent / 2 - exponent)},
                         .most = power_of_two(53 + exponent),
                         .shift = 64 - hash_bits(n),
                         .crowd = s->collects ? CROWD_COLLECT : CROWD_HASHED,
                         .ranks = s->collects ? INT64_MAX : RANKS_HASHED * n};
  return true;
}

#endif
