/* compare_points_bf for one size of a block. A row is a point, compared with all that come later; tiles of
 * BLOCK points pass through shared memory, so a point is read once for each block of rows. */
#include "bench/study/closest_tree.h"

/* Compares `own` with tile[first … count). */
STUDY_INLINE void NAME(row)(const SPACE dvt_study_point *tile, int first, int count, dvt_study_point own,
                            float *least, dvt_study_two_points *best) {
  float nearest = *least;
  dvt_study_point partner = {0, 0};
  for (int i = first; i < count; i++) {
    float square = dvt_study_square(own, tile[i]);
    if (square < nearest) {
      nearest = square;
      partner = tile[i];
    }
  }
  if (nearest < *least) {
    *least = nearest;
    *best = (dvt_study_two_points){own.x, own.y, partner.x, partner.y};
  }
}

/* P3: thread i has row i. P3b: thread i of half as many has rows i and rows - 1 - i, which are n - 1
 * comparisons together, or n for odd n, whose last row has none and is left out. */
STUDY_INLINE void NAME(compare_points_bf)(int64_t team, int64_t teams, const bool balanced, int64_t n,
                                          const dvt_study_point *points, float *dist,
                                          dvt_study_two_points *pairs, int64_t *comparisons) {
  SHARED(dvt_study_point, cache, BLOCK);
  SHARED(float, cache_dist, BLOCK);
  SHARED(dvt_study_two_points, cache_pairs, BLOCK);
  PRIVATE(dvt_study_point, low, BLOCK);
  PRIVATE(dvt_study_point, high, BLOCK);
  PRIVATE(float, least, BLOCK);
  PRIVATE(dvt_study_two_points, best, BLOCK);
  PRIVATE(int64_t, compared, BLOCK);
  const int64_t tiles = (n + BLOCK - 1) / BLOCK, last = (n & ~(int64_t)1) - 1;
  const int64_t rows = balanced ? n / 2 : n, blocks = (rows + BLOCK - 1) / BLOCK;
  for (int64_t block = team; block < blocks; block += teams) {
    PHASE(t, BLOCK) {
      const int64_t row = block * BLOCK + t;
      OWN(low, t) = points[row < rows ? row : 0];
      OWN(high, t) = balanced ? points[row < rows ? last - row : 0] : OWN(low, t);
      OWN(least, t) = INFINITY;
      OWN(best, t) = (dvt_study_two_points){0, 0, 0, 0};
      OWN(compared, t) = 0;
    }
    for (int64_t tile = block; tile < tiles; tile++) {
      const int64_t start = tile * BLOCK;
      const int count = n - start < BLOCK ? (int)(n - start) : BLOCK;
      PHASE(t, count)
      cache[t] = points[start + t];
      BARRIER();
      PHASE(t, BLOCK) {
        const int64_t row = block * BLOCK + t, other = last - row;
        if (row < rows) {
          const int first = tile == block ? t + 1 : 0;
          NAME(row)(cache, first, count, OWN(low, t), &OWN(least, t), &OWN(best, t));
          OWN(compared, t) += first < count ? count - first : 0;
        }
        if (balanced && row < rows && other + 1 < start + count) {
          const int first = other + 1 > start ? (int)(other + 1 - start) : 0;
          NAME(row)(cache, first, count, OWN(high, t), &OWN(least, t), &OWN(best, t));
          OWN(compared, t) += count - first;
        }
      }
      BARRIER();
    }
    PHASE(t, BLOCK) {
      cache_dist[t] = OWN(least, t);
      cache_pairs[t] = OWN(best, t);
      if (comparisons && block * BLOCK + t < rows)
        comparisons[block * BLOCK + t] = OWN(compared, t);
    }
    BARRIER();
    NAME(least)(cache_dist, cache_pairs);
    PHASE(t, 1) {
      dist[block] = cache_dist[t];
      pairs[block] = cache_pairs[t];
    }
    BARRIER();
  }
}

#define COMPARE(form, balanced)                                                                              \
  STUDY_INLINE void NAME(form##_body)(BRUTE_PARAMETERS) {                                                    \
    (void)n, (void)points, (void)dist, (void)pairs, (void)comparisons;                                       \
    ON_GPU(NAME(compare_points_bf), balanced, BRUTE_ARGUMENTS);                                              \
  }                                                                                                          \
  static void NAME(form##_grid)(int device, int teams, BRUTE_PARAMETERS) {                                   \
    const int threads = NAME(threads);                                                                       \
    PRAGMA(omp target teams ompx_bare num_teams(teams) thread_limit(threads) device(device)                  \
               is_device_ptr(points, dist, pairs, comparisons))                                              \
    NAME(form##_body)(BRUTE_ARGUMENTS);                                                                      \
  }                                                                                                          \
  static void NAME(form##_block)(int64_t team, int64_t teams, BRUTE_PARAMETERS) {                            \
    NAME(compare_points_bf)(team, teams, balanced, BRUTE_ARGUMENTS);                                         \
  }

COMPARE(rows, false)
COMPARE(balanced, true)
#undef COMPARE

static const form NAME(form) = {{NAME(rows_grid), NAME(balanced_grid)},
                                {NAME(rows_block), NAME(balanced_block)}};
