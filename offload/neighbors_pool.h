/* SPDX-License-Identifier: Apache-2.0 */
/* Many nearest neighbours of a query on a GPU, by the 32 lanes of a warp. Points that count are collected in the warp's
 * part of the team's memory, its pool. A full pool is sorted and cut to the k nearest, and the farthest of these is the
 * limit from then on. So a point costs a comparison, and a sort is shared by as many points as the pool has room for.
 *
 * Sorts are bitonic, with all comparisons in one direction: the first step of a stage compares mirrored places. What
 * lies behind the last point counts as infinite and is never moved. CHUNK points are sorted in registers, row in a
 * lane, and only steps between places that are farther apart than that go through memory.
 *
 * The text for one kind of points is neighbors_pool.inc. Source: Batcher, Sorting Networks and Their Applications
 * (1968); the pool as a queue in front of what is sorted: Johnson, Douze, Jégou, Billion-Scale Similarity Search with
 * GPUs (2017). */
#ifndef DAVIT_OFFLOAD_NEIGHBORS_POOL_H
#define DAVIT_OFFLOAD_NEIGHBORS_POOL_H

#include "offload/neighbors_work.h"

enum {
  POOL_WARPS = 4,
  POOL = POOL_WARPS * 448, /* points in the team's memory, which the warps that work share evenly */
  IN_LANE = 4,
  POOL_CHUNK = 32 * IN_LANE
};

/* Warps of a team that work, so that each has room for k points and half as many more; 0: k is too large. */
static inline int64_t pool_warps(int64_t k) {
  int64_t warps = POOL_WARPS;
  while (warps > 0 && POOL / warps < k + k / 2 + 64)
    warps /= 2;
  return warps;
}

#ifdef DVT_GPU
/* A warp's pool: how many points fit and are there, and how many are wanted. */
typedef struct pool {
  DVT_TEAM double *distance;
  DVT_TEAM uint32_t *index;
  int capacity, count, wanted;
} pool;

/* Of a query that has been answered. */
typedef struct place {
  double x, y, z, farthest;
  uint32_t last;
} place;

/* Where point e is: so that lanes l that access points IN_LANE l + r meet no other in a bank. */
INLINE int pool_place(int e) {
  return e ^ (e >> 4 & (IN_LANE - 1));
}

/* A lane's points of a chunk: lane l has IN_LANE of them, from the IN_LANE l-th on. */
typedef struct row {
  double distance[IN_LANE];
  uint32_t index[IN_LANE];
} row;

DVT_DEFINE_SHUFFLE(double, shuffle_distance)

INLINE void order_inside(row *x, int a, int b) {
  const bool swaps = comes_before(x->distance[b], x->index[b], x->distance[a], x->index[a]);
  const double distance = swaps ? x->distance[a] : x->distance[b];
  const uint32_t index = swaps ? x->index[a] : x->index[b];
  x->distance[a] = swaps ? x->distance[b] : x->distance[a];
  x->index[a] = swaps ? x->index[b] : x->index[a];
  x->distance[b] = distance;
  x->index[b] = index;
}

/* The lower lane of two gets the point of both that comes first. */
INLINE void take_first(row *x, int r, double distance, uint32_t index, bool lower) {
  const bool takes = comes_before(distance, index, x->distance[r], x->index[r]) == lower;
  x->distance[r] = takes ? distance : x->distance[r];
  x->index[r] = takes ? index : x->index[r];
}

/* With the lane whose number differs in the bits of `lanes`. */
INLINE void order_lanes(row *x, int lanes, bool mirrored) {
  const int other = dvt_lane_number() ^ lanes;
  const bool lower = dvt_lane_number() < other;
#pragma unroll
  for (int r = 0; r < IN_LANE / 2; r++) {
    const int s = IN_LANE - 1 - r, to_r = mirrored ? s : r, to_s = mirrored ? r : s;
    const double at_r = shuffle_distance(x->distance[to_r], other),
                 at_s = shuffle_distance(x->distance[to_s], other);
    const uint32_t index_r = dvt_shuffle(x->index[to_r], other), index_s = dvt_shuffle(x->index[to_s], other);
    take_first(x, r, at_r, index_r, lower);
    take_first(x, s, at_s, index_s, lower);
  }
}

/* The steps of a stage after the mirrored one: between lanes that are `lanes` apart and less, then in each lane. */
INLINE void finish_stage(row *x, int lanes) {
#pragma unroll 1
  for (; lanes > 0; lanes /= 2)
    order_lanes(x, lanes, false);
#pragma unroll
  for (int apart = IN_LANE / 2; apart > 0; apart /= 2)
#pragma unroll
    for (int r = 0; r < IN_LANE; r++)
      if (!(r & apart))
        order_inside(x, r, r | apart);
}

INLINE void sort_inside(row *x) {
#pragma unroll
  for (int size = 2; size <= IN_LANE; size *= 2) {
#pragma unroll
    for (int r = 0; r < IN_LANE; r++)
      if (r % size < size / 2)
        order_inside(x, r, r ^ (size - 1));
#pragma unroll
    for (int apart = size / 4; apart > 0; apart /= 2)
#pragma unroll
      for (int r = 0; r < IN_LANE; r++)
        if (!(r & apart))
          order_inside(x, r, r | apart);
  }
}

/* Sorts each chunk of the pool, or finishes a stage of a longer sort in it. */
INLINE void order_chunks(const pool *p, bool sorts) {
#pragma unroll 1
  for (int chunk = 0; chunk < p->count; chunk += POOL_CHUNK) {
    const int first = chunk + IN_LANE * dvt_lane_number();
    row x;
#pragma unroll
    for (int r = 0; r < IN_LANE; r++) {
      const int at = pool_place(first + r);
      x.distance[r] = first + r < p->count ? p->distance[at] : __builtin_inf();
      x.index[r] = first + r < p->count ? p->index[at] : nobody;
    }
    if (sorts) {
      sort_inside(&x);
#pragma unroll 1
      for (int lanes = 1; lanes < 32; lanes *= 2) {
        order_lanes(&x, 2 * lanes - 1, true);
        finish_stage(&x, lanes / 2);
      }
    } else {
      finish_stage(&x, 16);
    }
#pragma unroll
    for (int r = 0; r < IN_LANE; r++)
      if (first + r < p->count) {
        const int at = pool_place(first + r);
        p->distance[at] = x.distance[r];
        p->index[at] = x.index[r];
      }
  }
  dvt_barrier_warp();
}

/* A step of a stage between places that are far apart: places e and e + half of 2 half, or of the first step mirrored
 * ones. */
INLINE void order_far(const pool *p, int half, bool mirrored) {
#pragma unroll 1
  for (int t = dvt_lane_number();; t += 32) {
    const int low = t & (half - 1), e = 2 * t - low, other = e + (mirrored ? 2 * half - 1 - 2 * low : half);
    if (e >= p->count)
      break;
    if (other >= p->count)
      continue;
    const int at = pool_place(e), to = pool_place(other);
    const double near = p->distance[at], far = p->distance[to];
    const uint32_t near_index = p->index[at], far_index = p->index[to];
    if (comes_before(far, far_index, near, near_index)) {
      p->distance[at] = far;
      p->index[at] = far_index;
      p->distance[to] = near;
      p->index[to] = near_index;
    }
  }
  dvt_barrier_warp();
}

INLINE void sort_pool(const pool *p) {
  dvt_barrier_warp();
  order_chunks(p, true);
#pragma unroll 1
  for (int half = POOL_CHUNK; half < p->count; half *= 2) {
    order_far(p, half, true);
#pragma unroll 1
    for (int apart = half / 2; apart >= POOL_CHUNK; apart /= 2)
      order_far(p, apart, false);
    order_chunks(p, false);
  }
}

/* Leaves the nearest, in order, and lowers the query's limit. */
INLINE void cut_pool(pool *p, query *q) {
  sort_pool(p);
  if (p->count < p->wanted)
    return;
  const int last = pool_place(p->wanted - 1);
  p->count = p->wanted;
  set_limit(q, p->distance[last], p->index[last]);
}

/* A point of each lane that has one which counts; there is room. */
INLINE void put_in_pool(pool *p, uint32_t who, double distance, uint32_t index) {
  const int lane = dvt_lane_number(),
            at = pool_place(p->count + __builtin_popcount(who & ((1u << lane) - 1)));
  if (who >> lane & 1) {
    p->distance[at] = distance;
    p->index[at] = index;
  }
  p->count += __builtin_popcount(who);
}

/* The k nearest of the query `before` bound those of this one. From another place as many are no farther than both are
 * apart more. The margins are for the roundings of distances, and for those of the smallest numbers. At the same place
 * points are queries in the order of their numbers, so where this point is among the nearest of the one before, that
 * one is in its stead among those of this one, and not behind the last. */
INLINE void limit_by(query *q, const place *before) {
  const double apart = dvt_pair_distance(q->x - before->x, q->y - before->y, q->z - before->z);
  if (apart > 0 || before->farthest == __builtin_inf())
    set_limit(q, (before->farthest + apart) * (1 + 0x1p-40) + 0x1p-1060, nobody);
  else
    set_limit(q, before->farthest, before->last + 1);
}
#endif

#endif
