/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting of batches of points on the device by sorting networks: bitonic, and odd-even merge sort as the
 * alternative.
 *
 * Points are ordered by the key and, where it is the same, by the other coordinate, so that the result does
 * not depend on the network. Infinite coordinates are allowed, NaN are not. Sizes up to 1024 run in a block's
 * shared memory; larger ones take a launch for each stage that reaches farther, odd-even merges for every
 * stage. */
#ifndef DAVIT_STUDY_CLOSEST_SORT_H
#define DAVIT_STUDY_CLOSEST_SORT_H

#include <davit/status.h>

#include "bench/study/closest/point.h"

typedef enum study_sort { STUDY_BITONIC, STUDY_ODD_EVEN, STUDY_SORTS } study_sort;

/* sorted[0 … batches length) = each of the batches of `source`, sorted. length is a power of two. Memory of
 * the device; source and sorted may be the same. */
davit_status study_sort_points(study_sort sort, study_key key, int device, int64_t batches, int64_t length,
                               const study_point *source, study_point *sorted);

/* Comparators of that, and launches. */
int64_t study_sort_comparators(study_sort sort, int64_t batches, int64_t length);
int64_t study_sort_launches(study_sort sort, int64_t length);

#endif
