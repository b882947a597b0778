/* SPDX-License-Identifier: Apache-2.0 */
/* SimMatrix and SW as they are printed, defects and all, as models on the CPU.
 *
 * Nothing here has undefined behaviour: what the printed code leaves to chance (memory that is not
 * initialised, which thread writes last) is an argument. Reads outside an array are counted and not done.
 * Products and sums are rounded one by one. */
#ifndef DAVIT_STUDY_ALIGN_PRINTED_H
#define DAVIT_STUDY_ALIGN_PRINTED_H

#include <stdint.h>

/* SimMatrix: rows and columns from 1 on of d, which has window + 1 rows and n + 1 columns; row and column 0
 * are not written. The norms of both frames are computed for each element again; a frame of zeros makes 0 /
 * 0. */
void study_printed_similarities(int width, int64_t window, int64_t n, const float *movie,
                                const float *pattern, long thresh, float *d);

/* SW and the search for the maximum element, row and column 0 included. Memory that is not initialised: row
 * and column 0 of H are `h`, those of E and F are `gaps`. p: a permutation of all of 0 … window, the padding
 * row too, slot by slot; NULL: none. */
float study_printed_score(int64_t window, int64_t n, const float *d, float penalty, const int *p, float h,
                          float gaps);

/* Frames behind the movie that so many threads read, each the window of its number: the tail of a short
 * movie, the surplus threads of the last block, and V3's and V5's threads, if the window has the thread's
 * number and not the block's. */
int64_t study_printed_frames_outside(int64_t frames, int64_t window, int64_t threads);

/* The value of maxv_dev of a window after V3, if all threads read it before any writes. `initial` is its
 * value before, own[t] the score of thread t. Larger scores are written in the order of the threads. */
float study_printed_maximum(float initial, int threads, const float *own);

#endif
