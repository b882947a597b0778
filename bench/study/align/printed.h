/* SPDX-License-Identifier: Apache-2.0 */
/* SimMatrix and SW as they are printed, defects and all, as models on the CPU.
 *
 * Nothing here has undefined behaviour: what the printed code leaves to chance (memory that nobody
 * initialised, which thread writes last) is an argument, and reads outside an array are counted, not done.
 * Products and sums are rounded one by one. */
#ifndef DAVIT_STUDY_ALIGN_PRINTED_H
#define DAVIT_STUDY_ALIGN_PRINTED_H

#include <stdint.h>

/* SimMatrix: rows and columns from 1 on of d, which has window + 1 rows and n + 1 columns; row and column 0
 * are not written. The norms of both frames are computed anew for each element; a frame of zeros makes 0 /
 * 0. */
void study_printed_similarities(int width, int64_t window, int64_t n, const float *movie,
                                const float *pattern, long thresh, float *d);

/* SW and the search for the maximum element, row and column 0 included. What nobody initialised: row and
 * column 0 of H are `h`, those of E and F `gaps`. p: a permutation of all of 0 … window, the padding row too,
 * slot by slot; NULL: none. */
float study_printed_score(int64_t window, int64_t n, const float *d, float penalty, const int *p, float h,
                          float gaps);

/* Frames behind the movie that so many threads read, each the window of its number: the tail of a short
 * movie, the surplus threads of the last block, and V3's and V5's threads, if the window has the thread's
 * number and not the block's. */
int64_t study_printed_frames_outside(int64_t frames, int64_t window, int64_t threads);

/* What V3's threads leave in maxv_dev of their window, if all read it before any writes: `initial` is what
 * lay there, own[t] the score of thread t, and those that are greater are written from thread 0 on. */
float study_printed_maximum(float initial, int threads, const float *own);

#endif
