/* Sorting of batches of points on the device by sorting networks: bitonic, and odd-even merge sort as the
 * alternative.
 *
 * Points are ordered by the key and, where it is the same, by the other coordinate, so that the result
 * does not depend on the network. Infinite coordinates are allowed, NaN are not. Sizes up to 1024 run in a
 * block's shared memory; larger ones take a launch for each stage that reaches farther, odd-even merges
 * for every stage. */
#ifndef DAVIT_BENCH_STUDY_CLOSEST_SORT_H
#define DAVIT_BENCH_STUDY_CLOSEST_SORT_H

#include <davit/status.h>

#include "bench/study/closest_point.h"

typedef enum dvt_study_sort { DVT_STUDY_BITONIC, DVT_STUDY_ODD_EVEN, DVT_STUDY_SORTS } dvt_study_sort;

typedef enum dvt_study_key { DVT_STUDY_BY_X, DVT_STUDY_BY_Y } dvt_study_key;

/* sorted[0 … batches length) = each of the batches of `source`, sorted. length is a power of two. Memory
 * of the device; source and sorted may be the same. */
davit_status dvt_study_sort_points(dvt_study_sort sort, dvt_study_key key, int device, int64_t batches,
                                   int64_t length, const dvt_study_point *source, dvt_study_point *sorted);

/* Comparators of that, and launches. */
int64_t dvt_study_sort_comparators(dvt_study_sort sort, int64_t batches, int64_t length);
int64_t dvt_study_sort_launches(dvt_study_sort sort, int64_t length);

#endif
