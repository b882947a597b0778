/* SPDX-License-Identifier: Apache-2.0 */
/* The closest-pair listings as they are printed, defects and all, as models on the CPU.
 *
 * As in printed.h there is no undefined behaviour here: reads outside an array are counted by a guard and
 * give a value that is an argument, loops that do not end are stopped, and what a GPU leaves to chance is an
 * argument. */
#ifndef DAVIT_STUDY_CLOSEST_PRINTED_H
#define DAVIT_STUDY_CLOSEST_PRINTED_H

#include "bench/study/closest/closest.h"
#include "bench/study/common/trace.h"

/* ---- one core ---- */

/* P1: the inner loop runs while `j * N`, and the pair goes to copies of the caller's pointers. Given up when
 * `most` reads have gone outside; until then, what is outside is infinitely far away. */
float study_printed_closest_cpu(int64_t n, const study_point *points, const study_point *p1,
                                const study_point *p2, int64_t most, study_guard *reads);

/* P2: the pair goes to copies of the caller's pointers. */
float study_printed_closest_blocked(int64_t n, int64_t b, const study_point *points, const study_point *p1,
                                    const study_point *p2);

/* P4: sx is split by rank and sy by x < middle, which differ where points have x = middle; of these none is
 * left of the line, so two of them are never compared across it. sx and sy have the points in x and y order.
 * The distance. */
float study_printed_closest_divide(int64_t n, const study_point *const *sx, const study_point *const *sy,
                                   int cutoff);

/* ---- P5 ---- */

enum {
  STUDY_NO_ABS = 1,        /* findVerticalStrip: x - Lx for |x - Lx| */
  STUDY_ALWAYS_TRUE = 2,   /* findVerticalStrip: `true` for `block_has_sp` */
  STUDY_NEVER_RESET = 4,   /* the flags keep what an earlier step set */
  STUDY_SQUARED_DELTA = 8, /* delta is a square, as the other program has it, and is compared with a width */
  STUDY_SHIFT_DOWN = 16    /* batchLength >> 1 for << 1 */
};

/* P5 with these defects, run sequentially; n and base are powers of two. limit: flagged blocks, 8 in the
 * source. *steps: passes of the loop over batches, up to `most`, when the loop is given up. */
study_closest study_printed_divide(int defects, int64_t n, int64_t base, int64_t limit,
                                   const study_point *points, int most, int *steps);

/* Passes that a warp makes through compareStripPoints' loop when `flagged` blocks follow. block_count is a
 * word of the block that thread 0 sets to 0 and counts up, with no barrier to the reads of the loop's
 * condition. early: the warp reads before thread 0 has written; stale: what the word held before it was set
 * to 0. */
int study_printed_strip_passes(bool early, int stale, int flagged);

/* Two blocks that take delta and its pair from dist[0] and pairs[0] while block 0 writes what it has found
 * there; the second one reads between the two writes and finds nothing nearer. dist and pairs have 2 entries;
 * dist[0], pairs[0] are the minimum so far. */
void study_printed_delta_race(const study_closest *found, float dist[2], study_two_points pairs[2]);

/* ---- P3 ---- */

/* The candidate of block `block`: threads beyond n stay outside the loop, so the shared words of these hold
 * `stale`, and barriers are reached by *arrived threads of the block. The tree halves `threads`, which may be
 * no power of two. The square. */
float study_printed_candidate(int threads, int64_t n, const study_point *points, int64_t block, float stale,
                              int *arrived);

/* minDistReduction: thread t begins with dist[t] without asking for m; `outside` is found there. */
float study_printed_min_dist(int threads, int64_t m, const float *dist, float outside, study_guard *reads);

#endif
