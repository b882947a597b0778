/* SPDX-License-Identifier: Apache-2.0 */
/* The null distribution of an effect's scores from the stream itself: the steps between the scores, which
 * the reference and the library share, so that both decide alike.
 *
 * 1. The effect of n frames is scored in segments of 2 n frames, one every n frames.
 * 2. A segment stands out if its score is far above the bulk of the segments. The frames of its alignment
 *    are left out: they may be the effect. What remains is the rest. Where too many alignments stand out
 *    for that, as those of short effects often do, only those near the effect's own score are.
 * 3. A drawn window is made of blocks of 4 n neighbouring frames of the rest, from random places on. The
 *    rest is a circle. The scores of `permutations` drawn windows are the null distribution.
 *
 * All on the host, in one order of operations. */
#ifndef DAVIT_REF_DETECT_NULL_H
#define DAVIT_REF_DETECT_NULL_H

#include <davit/detect.h>

/* Sounds, as levels: the length of each frame's feature vector. */
typedef struct dvt_detect_levels {
  double *level; /* of each frame */
  double mean;
} dvt_detect_levels;

/* The mean, from the first frame to the last. */
double dvt_detect_mean_level(int64_t frames, const double *level);

/* Makes the unit vectors of frames more than `floor_db` below the mean level 0: they match nothing.
 * Returns how many frames keep their vector, and the range [*begin, *end) from the first of these to the
 * last. If all levels are 0, or the floor is infinite, all keep it. */
int64_t dvt_detect_gate(int width, int64_t frames, const dvt_detect_levels *levels, double floor_db,
                        float *units, int64_t *begin, int64_t *end);

/* The level of frames [begin, end) over the mean, in dB; 0 for none, and where the mean is 0. */
double dvt_detect_level_db(const dvt_detect_levels *levels, int64_t begin, int64_t end);

/* Options of a search in segments for an effect of `effect` frames. */
davit_detect_options dvt_detect_segments(const davit_detect_options *options, int64_t effect);

/* Writes the frames of the rest in their order, and returns how many there are. segments[count] are scored;
 * `full` is the score of the effect, of `effect` frames, against itself; `sorted` is scratch of `count`
 * elements. */
int64_t dvt_detect_rest(int64_t frames, int64_t effect, int64_t count, const davit_detect_hit *segments,
                        double full, float *sorted, int64_t *rest);

/* Frame i of drawn window r, of `window` frames: rest[picked[i]]. */
void dvt_detect_draw(uint64_t seed, int64_t r, int64_t effect, int64_t window, int64_t rest, int64_t *picked);

/* A null distribution; count is 0 if the rest is shorter than the effect. */
typedef struct dvt_detect_drawn {
  int64_t count;
  float *scores; /* sorted by dvt_detect_sum_up() */
  double mean, sd;
} dvt_detect_drawn;

void dvt_detect_sum_up(dvt_detect_drawn *drawn);

/* Fills in what follows from the score. Without a null distribution p_value is 1. */
void dvt_detect_significance_drawn(const dvt_detect_drawn *drawn, double full,
                                   const davit_detect_options *options, davit_detect_hit *hit);

#endif
