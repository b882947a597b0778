/* SPDX-License-Identifier: Apache-2.0 */
/* The sources' code as it is printed, defects and all, run by a model of a GPU on the CPU.
 *
 * Nothing here has undefined behaviour: accesses outside an array are counted by a guard (trace.h), give a
 * fixed value, and change nothing; a loop that does not end is stopped. What the printed code leaves to
 * chance (which block or warp runs first, whether lanes run in step) is an argument, and any value of it is
 * what a real device may do. */
#ifndef DAVIT_STUDY_REDUCE_PRINTED_H
#define DAVIT_STUDY_REDUCE_PRINTED_H

#include "bench/study/common/trace.h"

/* The value of an int that was never written, or lies outside its array. */
enum { STUDY_POISON = 0x01010101 };

/* ---- reduction ---- */

typedef struct study_printed_launch {
  int block;
  int64_t teams;
  bool lockstep;   /* lanes of a warp run in step, as before Volta; else each runs to the next barrier */
  bool descending; /* warps, and lanes that are not in step, take their turns from the last to the first */
} study_printed_launch;

/* K1 … K6 over an array of `length` ints; `size` is K6's argument. partials: one for each team. `input`
 * counts the reads of the array, `shared` the accesses to a block's memory of `block` ints. */
void study_printed_reduce(int kernel, const study_printed_launch *launch, int64_t length, const int32_t *x,
                          int64_t size, int32_t *partials, study_guard *input, study_guard *shared);

/* ---- scans ---- */

/* s holds what it holds before the call: the printed loop adds to it. n > 0. */
void study_printed_sequential_scan(int64_t n, const int32_t *a, int32_t *s);

/* P1 in one block of n threads; false: still running after `most_steps` steps of its loop. */
bool study_printed_naive_scan(int n, uint32_t *values, int64_t most_steps);

/* P2 in one warp of 32: `values` become what the function leaves in memory, `returned` what it returns. */
void study_printed_warp_scan(bool exclusive, bool lockstep, uint32_t values[32], uint32_t returned[32]);

typedef struct study_printed_block {
  bool exclusive;
  bool aliased;    /* sdata is the memory that the values are in, as with one dynamic shared array for both */
  bool descending; /* in step 2 the last warp comes first */
} study_printed_block;

/* P3 in one block of n threads, at most 1024, in step: on numbers with +, on numbers with ×, and on words,
 * joined end to end. Values become what the function returns; `unwritten` counts the entries of sdata that
 * are read before they are written. */
void study_printed_block_scan(const study_printed_block *how, int n, uint32_t *values, int *unwritten);
void study_printed_block_scan_product(const study_printed_block *how, int n, uint32_t *values,
                                      int *unwritten);

/* Words joined end to end spell the order of the operands. */
enum { STUDY_PRINTED_LETTERS = 128 };
typedef struct study_printed_word {
  char text[4 * STUDY_PRINTED_LETTERS];
} study_printed_word;
study_printed_word study_printed_join(study_printed_word left, study_printed_word right);
void study_printed_block_scan_words(const study_printed_block *how, int n, study_printed_word *values,
                                    int *unwritten);

/* P4 as the lecture describes it, with block scans that are right: "the last element of each block" is taken
 * from what the block's scan returned. */
void study_printed_grid_scan(bool exclusive, int block, int64_t n, const uint32_t *x, uint32_t *y);

/* The sequential segmented scan; the guards count the reads of `a`. */
void study_printed_segments(int64_t n, const int32_t *a, const int32_t *segments, int32_t *out,
                            study_guard *reads);

#endif
