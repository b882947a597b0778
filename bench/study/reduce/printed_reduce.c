/* SPDX-License-Identifier: Apache-2.0 */
/* K1 … K6 as printed, in a model of a block: barriers are between the statements of printed_block(), warps
 * and lanes run in the order that the launch gives. */
#include "bench/study/reduce/printed.h"

enum { MAX_BLOCK = 1024 };

typedef struct block_state {
  const study_printed_launch *launch;
  study_guard *shared;
  int32_t s[MAX_BLOCK];
} block_state;

static int32_t get(block_state *b, int i) {
  return study_inside(b->shared, i) ? b->s[i] : STUDY_POISON;
}

static void set(block_state *b, int i, int32_t value) {
  if (study_inside(b->shared, i))
    b->s[i] = value;
}

static int32_t sum_of(int32_t a, int32_t b) {
  return (int32_t)((uint32_t)a + (uint32_t)b);
}

/* What thread `tid` adds in a step: s[left] += s[right], if it is active. */
typedef bool pair_of(int tid, int step, int block, int *left, int *right);

static bool k1_pair(int tid, int step, int block, int *left, int *right) {
  (void)block;
  *left = tid;
  *right = tid + step;
  return tid % (2 * step) == 0;
}

static bool k2_pair(int tid, int step, int block, int *left, int *right) {
  *left = 2 * tid * step;
  *right = *left + step;
  return *left < block;
}

static bool k3_pair(int tid, int step, int block, int *left, int *right) {
  (void)block;
  *left = tid;
  *right = tid + step;
  return tid < step;
}

/* The last warp: no thread below 32 is left out. */
static bool warp_pair(int tid, int step, int block, int *left, int *right) {
  (void)block;
  *left = tid;
  *right = tid + step;
  return tid < STUDY_WARP;
}

/* One statement in one warp, its lanes in step: all read before any writes. */
static void warp_in_step(block_state *b, int warp, pair_of *pair, int step) {
  int32_t sum[STUDY_WARP] = {0};
  int to[STUDY_WARP], left, right;
  for (int lane = 0; lane < STUDY_WARP; lane++) {
    int tid = warp * STUDY_WARP + lane;
    to[lane] = -1;
    if (tid < b->launch->block && pair(tid, step, b->launch->block, &left, &right)) {
      sum[lane] = sum_of(get(b, left), get(b, right));
      to[lane] = left;
    }
  }
  for (int lane = 0; lane < STUDY_WARP; lane++)
    if (to[lane] >= 0)
      set(b, to[lane], sum[lane]);
}

static int warps_of(const block_state *b) {
  return (b->launch->block + STUDY_WARP - 1) / STUDY_WARP;
}

static int turn(const block_state *b, int i, int count) {
  return b->launch->descending ? count - 1 - i : i;
}

/* A statement between two barriers, in all warps. */
static void statement(block_state *b, pair_of *pair, int step) {
  for (int w = 0; w < warps_of(b); w++)
    warp_in_step(b, turn(b, w, warps_of(b)), pair, step);
}

/* K2's loop without a barrier in it: a warp runs all steps without waiting. */
static void k2_tree(block_state *b) {
  for (int w = 0; w < warps_of(b); w++)
    for (int step = 1; step < b->launch->block; step *= 2)
      warp_in_step(b, turn(b, w, warps_of(b)), k2_pair, step);
}

/* The unrolled stages of the last warp, which have no barrier: in step, or each lane on its own. */
static void last_warp(block_state *b) {
  int block = b->launch->block;
  if (b->launch->lockstep) {
    for (int step = 32; step > 0; step /= 2)
      if (block >= 2 * step)
        warp_in_step(b, 0, warp_pair, step);
    return;
  }
  int lanes = block < STUDY_WARP ? block : STUDY_WARP;
  for (int i = 0; i < lanes; i++) {
    int tid = turn(b, i, lanes);
    for (int step = 32; step > 0; step /= 2)
      if (block >= 2 * step)
        set(b, tid, sum_of(get(b, tid), get(b, tid + step)));
  }
}

static void unrolled_tree(block_state *b) {
  for (int step = 512; step >= 64; step /= 2)
    if (b->launch->block >= 2 * step)
      statement(b, k3_pair, step);
  last_warp(b);
}

static int32_t load(const int32_t *x, int64_t i, study_guard *input) {
  return study_inside(input, i) ? x[i] : STUDY_POISON;
}

static int32_t loaded(int kernel, const study_printed_launch *launch, int64_t team, int tid, int64_t size,
                      const int32_t *x, study_guard *input) {
  int64_t block = launch->block, i = team * (kernel < 4 ? block : 2 * block) + tid;
  if (kernel < 4)
    return load(x, i, input);
  if (kernel < 6)
    return sum_of(load(x, i, input), load(x, i + block, input));
  int32_t sum = 0;
  for (; i < size; i += 2 * block * launch->teams)
    sum = sum_of(sum, sum_of(load(x, i, input), load(x, i + block, input)));
  return sum;
}

void study_printed_reduce(int kernel, const study_printed_launch *launch, int64_t length, const int32_t *x,
                          int64_t size, int32_t *partials, study_guard *input, study_guard *shared) {
  *input = study_guard_of(length);
  *shared = study_guard_of(launch->block);
  for (int64_t team = 0; team < launch->teams; team++) {
    block_state b = {.launch = launch, .shared = shared};
    for (int tid = 0; tid < launch->block; tid++)
      b.s[tid] = loaded(kernel, launch, team, tid, size, x, input);
    if (kernel == 1)
      for (int step = 1; step < launch->block; step *= 2)
        statement(&b, k1_pair, step);
    else if (kernel == 2)
      k2_tree(&b);
    else if (kernel < 5)
      for (int step = launch->block / 2; step > 0; step /= 2)
        statement(&b, k3_pair, step);
    else
      unrolled_tree(&b);
    partials[team] = b.s[0];
  }
}
