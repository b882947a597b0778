/* minDistReduction for one size of a block: thread t takes every BLOCK-th candidate, the tree the rest. */
#include "bench/study/closest_tree.h"

STUDY_INLINE void NAME(min_dist_reduction)(int64_t team, int64_t m, float *dist,
                                           dvt_study_two_points *pairs) {
  SHARED(float, cache_dist, BLOCK);
  SHARED(dvt_study_two_points, cache_pairs, BLOCK);
  (void)team;
  PHASE(t, BLOCK) {
    float least = INFINITY;
    int64_t at = 0;
    for (int64_t i = t; i < m; i += BLOCK)
      if (dist[i] < least) {
        least = dist[i];
        at = i;
      }
    cache_dist[t] = least;
    cache_pairs[t] = pairs[at];
  }
  BARRIER();
  NAME(least)(cache_dist, cache_pairs);
  PHASE(t, 1) {
    dist[0] = cache_dist[t];
    pairs[0] = cache_pairs[t];
  }
}

STUDY_INLINE void NAME(body)(int64_t m, float *dist, dvt_study_two_points *pairs) {
  (void)m, (void)dist, (void)pairs;
  ON_GPU(NAME(min_dist_reduction), m, dist, pairs);
}

static void NAME(grid)(int device, int64_t m, float *dist, dvt_study_two_points *pairs) {
  const int threads = NAME(threads);
#pragma omp target teams ompx_bare num_teams(1) thread_limit(threads) device(device)                         \
    is_device_ptr(dist, pairs)
  NAME(body)(m, dist, pairs);
}

static void NAME(block)(int64_t m, float *dist, dvt_study_two_points *pairs) {
  NAME(min_dist_reduction)(0, m, dist, pairs);
}

static const form NAME(form) = {NAME(grid), NAME(block)};
