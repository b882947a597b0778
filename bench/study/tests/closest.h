/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the closest pair share: sets of points, and what a program leaves behind. */
#ifndef DAVIT_STUDY_TESTS_CLOSEST_H
#define DAVIT_STUDY_TESTS_CLOSEST_H

#include "bench/study/tests/study.h"

#include <math.h>

#include "bench/study/closest/closest.h"
#include "bench/study/closest/points.h"

/* Sizes of a team that have kernels. */
enum { BLOCKS = 7 };
extern const int closest_blocks[BLOCKS];

/* WIDE_ROW: x = i and y within 0.1, in any order of y; one pair across the middle is nearer than the rest,
 * and far apart in y order. Few points of a batch are in its strip. */
#define INPUTS_LIST(INPUT)                                                                                   \
  INPUT(UNIFORM)                                                                                             \
  INPUT(SIGNED)                                                                                              \
  INPUT(NORMAL_1)                                                                                            \
  INPUT(NORMAL_5)                                                                                            \
  INPUT(LATTICE)                                                                                             \
  INPUT(VERTICAL)                                                                                            \
  INPUT(HORIZONTAL) INPUT(COLUMNS) INPUT(EQUAL) INPUT(DUPLICATES) INPUT(CLUSTERS) INPUT(WIDE_ROW)
#define INPUT_NUMBER(name) name,
typedef enum input { INPUTS_LIST(INPUT_NUMBER) INPUTS } input;
extern const char *const input_names[INPUTS];

void generate(study_distribution distribution, int v, int bits, uint64_t seed, int64_t n, study_point *p);
study_point *points_of(input which, int64_t n, uint64_t seed);

/* The minimum by all pairs on one core. */
float right_distance(int64_t n, const study_point *p);

/* The distance between the points of a pair. */
float between(const study_two_points *pair);

/* The result has this distance, and its pair has it and is one of the points'. */
void is_closest(const study_closest *is, float distance, int64_t n, const study_point *p, const char *what);

/* P5's result is right, and so are its steps. */
void divides(const study_divide *d, int device, int64_t n, const study_point *p, float right,
             const char *what);

/* Sorts each batch; ties by the other coordinate. */
void sort_batches(study_key key, int64_t batches, int64_t length, study_point *p);

/* What teams leave behind: a distance and a pair each, on a device, and on the host when it is taken. */
typedef struct candidates {
  int64_t count;
  float *dist, *on_dist;
  study_two_points *pairs, *on_pairs;
} candidates;

/* With what lies in `dist` and `pairs`, or NULL. */
candidates candidates_at(int device, int64_t count, const float *dist, const study_two_points *pairs);
void candidates_take(candidates *c);

#endif
