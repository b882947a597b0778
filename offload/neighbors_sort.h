/* SPDX-License-Identifier: Apache-2.0 */
/* One pass of the sort of keys and numbers: by one digit of the keys; those with equal digits stay in their order. On
 * the CPU a thread counts and moves a part of the keys. On a GPU a team takes TILE keys: the scan of the counts of all
 * teams, digit after digit, says where they go, and a warp that counts 32 at a time knows the rank of each key among the
 * team's keys with its digit. */
#ifndef DAVIT_OFFLOAD_NEIGHBORS_SORT_H
#define DAVIT_OFFLOAD_NEIGHBORS_SORT_H

#include "offload/neighbors_work.h"
#include "offload/runtime/launch.h"
#include "offload/scan_here.h"

static int64_t tiles_of(int64_t count) {
  return dvt_divide_up(count, TILE);
}

/* ---- on the CPU ---- */

typedef struct pass {
  const uint64_t *key;
  const uint32_t *index;
  uint64_t *to_key;
  uint32_t *to_index;
  int64_t count;
  uint32_t *counts; /* of each thread */
  int shift;
} pass;

INLINE uint32_t digit_of(uint64_t key, int shift) {
  return (uint32_t)(key >> shift) & ((1u << DIGIT_BITS_HOST) - 1);
}

/* The counts become the places of each thread's first keys. */
static void place_digits(uint32_t *counts, int threads) {
  uint32_t sum = 0;
  for (int digit = 0; digit < 1 << DIGIT_BITS_HOST; digit++)
    for (int thread = 0; thread < threads; thread++) {
      uint32_t *at = &counts[(thread << DIGIT_BITS_HOST) + digit], here = *at;
      *at = sum;
      sum += here;
    }
}

/* In each thread of a team: keys keep their order among equal digits. */
static void sort_part(const pass *p) {
  const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
  const int64_t begin = p->count / threads * thread + p->count % threads * thread / threads,
                end = p->count / threads * (thread + 1) + p->count % threads * (thread + 1) / threads;
  uint32_t *own = p->counts + ((size_t)thread << DIGIT_BITS_HOST);
  memset(own, 0, sizeof *own << DIGIT_BITS_HOST);
  for (int64_t i = begin; i < end; i++)
    own[digit_of(p->key[i], p->shift)]++;
#pragma omp barrier
#pragma omp single
  place_digits(p->counts, threads);
  for (int64_t i = begin; i < end; i++) {
    const uint32_t to = own[digit_of(p->key[i], p->shift)]++;
    p->to_key[to] = p->key[i];
    p->to_index[to] = p->index[i];
  }
}

static void sort_digit_here(const work *w, int threads, int shift) {
  const order *o = &w->order;
  const int64_t from = w->sorted;
  const pass p = {o->key[from], o->index[from], o->key[1 - from], o->index[1 - from], o->count,
                  w->counts,    shift};
#pragma omp parallel num_threads(threads)
  sort_part(&p);
}

/* ---- on a GPU ---- */

#ifdef DVT_GPU
enum { WARPS = THREADS / 32 };

INLINE uint32_t gpu_digit(uint64_t key, int64_t shift) {
  return (uint32_t)(key >> shift) & (DIGITS - 1);
}

/* The place of the thread's item in the order. */
INLINE int64_t item_of(int64_t tile, int e) {
  return tile * TILE + (int64_t)(dvt_thread() / 32) * 32 * ITEMS + e * 32 + dvt_lane_number();
}

/* Adds the warp's digits to its counts. The rank of the lane's digit among equal ones. */
INLINE uint32_t rank_of(DVT_TEAM uint32_t *counts, uint32_t digit, bool valid) {
  uint32_t same = dvt_ballot(valid);
#pragma unroll
  for (int bit = 0; bit < DIGIT_BITS; bit++) {
    const bool set = digit >> bit & 1;
    const uint32_t sets = dvt_ballot(set);
    same &= set ? sets : ~sets;
  }
  const uint32_t before = same & ((1u << dvt_lane_number()) - 1), counted = counts[digit];
  dvt_barrier_warp();
  if (valid && before == 0)
    counts[digit] = counted + (uint32_t)__builtin_popcount(same);
  dvt_barrier_warp();
  return counted + (uint32_t)__builtin_popcount(before);
}

/* Of the team's tile, for each warp and digit; the ranks of the thread's items. */
INLINE void count_tile(const work *w, DVT_TEAM uint32_t (*counts)[DIGITS], int64_t from, int64_t shift,
                       int64_t tile, uint32_t rank[ITEMS]) {
  const order *o = &w->order;
  dvt_barrier();
  for (int warp = 0; warp < WARPS; warp++)
    counts[warp][dvt_thread()] = 0;
  dvt_barrier();
#pragma unroll
  for (int e = 0; e < ITEMS; e++) {
    const int64_t i = item_of(tile, e);
    const bool valid = i < o->count;
    rank[e] = rank_of(counts[dvt_thread() / 32], valid ? gpu_digit(o->key[from][i], shift) : 0, valid);
  }
  dvt_barrier();
}

/* Of the tile's keys, as many as have each digit. */
INLINE void count_digits_body(work *w, int64_t from, int64_t shift) {
  DVT_SHARED uint32_t counts[DIGITS];
  const order *o = &w->order;
  const int64_t tiles = (o->count + TILE - 1) / TILE;
  for (int64_t tile = dvt_team(); tile < tiles; tile += dvt_teams()) {
    counts[dvt_thread()] = 0;
    dvt_barrier();
#pragma unroll
    for (int e = 0; e < ITEMS; e++) {
      const int64_t i = item_of(tile, e);
      if (i < o->count)
        __scoped_atomic_fetch_add(&counts[gpu_digit(o->key[from][i], shift)], 1, __ATOMIC_RELAXED,
                                  __MEMORY_SCOPE_WRKGRP);
    }
    dvt_barrier();
    w->counts[dvt_thread() * tiles + tile] = counts[dvt_thread()];
  }
}

/* The sum of the numbers of the threads before this one. */
INLINE uint32_t sum_before(DVT_TEAM uint32_t *of_warps, uint32_t number) {
  const int lane = dvt_lane_number(), warp = dvt_thread() / 32;
  uint32_t sum = number;
  for (int step = 1; step < 32; step *= 2) {
    const uint32_t before = dvt_shuffle(sum, lane - step);
    sum += lane >= step ? before : 0;
  }
  if (lane == 31)
    of_warps[warp] = sum;
  dvt_barrier();
  for (int other = 0; other < warp; other++)
    sum += of_warps[other];
  return sum - number;
}

/* Counts become places in the tile's order by digits. Of the thread's digit: how far its keys go from there. */
INLINE uint32_t place_tile(DVT_TEAM uint32_t (*counts)[DIGITS], DVT_TEAM uint32_t *of_warps, uint32_t to) {
  const int digit = dvt_thread();
  uint32_t all = 0;
  for (int warp = 0; warp < WARPS; warp++) {
    const uint32_t here = counts[warp][digit];
    counts[warp][digit] = all;
    all += here;
  }
  const uint32_t begin = sum_before(of_warps, all);
  for (int warp = 0; warp < WARPS; warp++)
    counts[warp][digit] += begin;
  return to - begin;
}

/* Keys, and then numbers, are brought into the order of the digits in the team's memory, so that neighbouring threads
 * write to neighbouring places. */
INLINE void move_digits_body(work *w, int64_t from, int64_t shift) {
  DVT_SHARED uint32_t counts[WARPS][DIGITS], far[DIGITS], of_warps[WARPS];
  DVT_SHARED uint64_t sorted[TILE];
  const order *o = &w->order;
  const int64_t tiles = (o->count + TILE - 1) / TILE;
  for (int64_t tile = dvt_team(); tile < tiles; tile += dvt_teams()) {
    uint32_t place[ITEMS], to[ITEMS];
    count_tile(w, counts, from, shift, tile, place);
    const int64_t at = dvt_thread() * tiles + tile,
                  length = o->count - tile * TILE < TILE ? o->count - tile * TILE : TILE;
    far[dvt_thread()] = place_tile(counts, of_warps, at > 0 ? w->counts[at - 1] : 0);
    dvt_barrier();
#pragma unroll
    for (int e = 0; e < ITEMS; e++) {
      const int64_t i = item_of(tile, e);
      if (i >= o->count)
        continue;
      const uint64_t key = o->key[from][i];
      place[e] += counts[dvt_thread() / 32][gpu_digit(key, shift)];
      sorted[place[e]] = key;
    }
    dvt_barrier();
#pragma unroll
    for (int e = 0; e < ITEMS; e++) {
      const int j = e * THREADS + dvt_thread();
      if (j >= length)
        continue;
      const uint64_t key = sorted[j];
      to[e] = far[gpu_digit(key, shift)] + (uint32_t)j;
      o->key[1 - from][to[e]] = key;
    }
    dvt_barrier();
#pragma unroll
    for (int e = 0; e < ITEMS; e++) {
      const int64_t i = item_of(tile, e);
      if (i < o->count)
        sorted[place[e]] = o->index[from][i];
    }
    dvt_barrier();
#pragma unroll
    for (int e = 0; e < ITEMS; e++) {
      const int j = e * THREADS + dvt_thread();
      if (j < length)
        o->index[1 - from][to[e]] = (uint32_t)sorted[j];
    }
  }
}
#endif

DVT_REGION(neighbors_count_digits, count_digits_body, THREADS, (w), (work * w, int64_t from, int64_t shift),
           w, from, shift)
DVT_REGION(neighbors_move_digits, move_digits_body, THREADS, (w), (work * w, int64_t from, int64_t shift), w,
           from, shift)

/* `used` is the GPU's. */
static davit_status sort_digit_there(const dvt_here *site, int most, work *used, int64_t count,
                                     uint32_t *counts, char *slots, int64_t from, int64_t shift) {
  const int teams = (int)dvt_at_most(tiles_of(count), most);
  DVT_RUN(site, neighbors_count_digits, teams, THREADS, used, from, shift);
  DVT_TRY(dvt_scan_here(site, DAVIT_INT32, counts, tiles_of(count) * DIGITS, slots));
  DVT_RUN(site, neighbors_move_digits, teams, THREADS, used, from, shift);
  return DAVIT_SUCCESS;
}

#endif
