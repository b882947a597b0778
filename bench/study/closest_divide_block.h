/* The kernels of P5 for one size of a block, `base`. */
#include "bench/study/closest_tree.h"

STUDY_INLINE void NAME(brute_force)(int64_t team, int64_t teams, int64_t n, const dvt_study_point *sx,
                                    float *dist, dvt_study_two_points *pairs) {
  SHARED(dvt_study_point, cache, BLOCK);
  SHARED(float, cache_dist, BLOCK);
  SHARED(dvt_study_two_points, cache_pairs, BLOCK);
  for (int64_t block = team; block < dvt_study_quotient(n, BLOCK); block += teams) {
    PHASE(t, BLOCK)
    cache[t] = sx[block * BLOCK + t];
    BARRIER();
    PHASE(t, BLOCK) {
      const dvt_study_point own = cache[t];
      dvt_study_point partner = {0, 0};
      float least = INFINITY;
      for (int i = t + 1; i < BLOCK; i++) {
        float distance = dvt_study_distance(own, cache[i]);
        if (distance < least) {
          least = distance;
          partner = cache[i];
        }
      }
      cache_dist[t] = least;
      cache_pairs[t] = (dvt_study_two_points){own.x, own.y, partner.x, partner.y};
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

/* flags[k]: a point of block k of sy is at most delta from its batch's middle line. Any thread's `true`
 * into one word of the block is an OR. */
STUDY_INLINE void NAME(find_vertical_strip)(int64_t team, int64_t teams, int64_t n, int64_t length,
                                            float delta, const dvt_study_point *sx, const dvt_study_point *sy,
                                            bool *flags) {
  SHARED(bool, has, 1);
  for (int64_t block = team; block < dvt_study_quotient(n, BLOCK); block += teams) {
    const float middle = sx[dvt_study_batch_start(block * BLOCK, length) + length / 2].x;
    PHASE(t, 1)
    has[t] = false;
    BARRIER();
    PHASE(t, BLOCK) {
      if (__builtin_fabsf(sy[block * BLOCK + t].x - middle) <= delta)
        has[0] = true;
    }
    BARRIER();
    PHASE(t, 1)
    flags[block] = has[t];
    BARRIER();
  }
}

/* Each thread compares its point with those that follow in y within the batch, in at most `limit` flagged
 * blocks: `seen` is the same in all threads of the block, as all read the same flags. What is nearest so
 * far is an argument, not dist[0], which a block may be writing. */
STUDY_INLINE void NAME(compare_strip_points)(int64_t team, int64_t teams, const bool merged,
                                             const bool counting, STRIP_PARAMETERS) {
  SHARED(dvt_study_point, cache, BLOCK);
  SHARED(float, cache_dist, BLOCK);
  SHARED(dvt_study_two_points, cache_pairs, BLOCK);
  PRIVATE(dvt_study_point, own, BLOCK);
  PRIVATE(float, least, BLOCK);
  PRIVATE(dvt_study_two_points, best, BLOCK);
  PRIVATE(dvt_study_strip_count, count, BLOCK);
  for (int64_t block = team; block < dvt_study_quotient(n, BLOCK); block += teams) {
    if (!flags[block])
      continue;
    const int64_t start = dvt_study_batch_start(block * BLOCK, length);
    const int64_t end = dvt_study_quotient(start + length, BLOCK);
    const float middle = sx[start + length / 2].x;
    PHASE(t, BLOCK) {
      OWN(own, t) = sy[block * BLOCK + t];
      OWN(least, t) = delta;
      OWN(best, t) = (dvt_study_two_points){x1, y1, x2, y2};
      OWN(count, t) = (dvt_study_strip_count){1, 0, 0, 0, 0};
    }
    int seen = 0;
    for (int64_t tile = block; tile < end && seen < limit; tile++) {
      if (!flags[tile])
        continue;
      seen++;
      PHASE(t, BLOCK)
      cache[t] = sy[tile * BLOCK + t];
      BARRIER();
      PHASE(t, BLOCK) {
        const dvt_study_point p = OWN(own, t);
        const bool inside = __builtin_fabsf(p.x - middle) <= delta;
        const int first = tile == block ? t + 1 : 0;
        float nearest = OWN(least, t);
        dvt_study_point partner = {0, 0};
        if (merged) {
          for (int i = first; i < BLOCK; i++) {
            float distance = dvt_study_distance(p, cache[i]);
            if (distance < nearest && inside && __builtin_fabsf(cache[i].x - middle) <= delta) {
              nearest = distance;
              partner = cache[i];
            }
          }
        } else if (inside) {
          for (int i = first; i < BLOCK; i++)
            if (__builtin_fabsf(cache[i].x - middle) <= delta) {
              float distance = dvt_study_distance(p, cache[i]);
              if (counting)
                OWN(count, t).taken++;
              if (distance < nearest) {
                nearest = distance;
                partner = cache[i];
                if (counting)
                  OWN(count, t).nearer++;
              }
            }
          if (counting) {
            OWN(count, t).inside = 1;
            OWN(count, t).tests += (uint32_t)(BLOCK - first);
          }
        }
        if (nearest < OWN(least, t)) {
          OWN(least, t) = nearest;
          OWN(best, t) = (dvt_study_two_points){p.x, p.y, partner.x, partner.y};
        }
      }
      BARRIER();
    }
    PHASE(t, BLOCK) {
      cache_dist[t] = OWN(least, t);
      cache_pairs[t] = OWN(best, t);
      if (counting)
        counts[block * BLOCK + t] = OWN(count, t);
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

/* ---- grids ---- */

STUDY_INLINE void NAME(brute_body)(int64_t n, const dvt_study_point *sx, float *dist,
                                   dvt_study_two_points *pairs) {
  (void)n, (void)sx, (void)dist, (void)pairs;
  ON_GPU(NAME(brute_force), n, sx, dist, pairs);
}

static void NAME(brute_grid)(int device, int teams, int64_t n, const dvt_study_point *sx, float *dist,
                             dvt_study_two_points *pairs) {
  const int threads = NAME(threads);
#pragma omp target teams ompx_bare num_teams(teams) thread_limit(threads) device(device)                     \
    is_device_ptr(sx, dist, pairs)
  NAME(brute_body)(n, sx, dist, pairs);
}

static void NAME(brute_block)(int64_t team, int64_t teams, int64_t n, const dvt_study_point *sx, float *dist,
                              dvt_study_two_points *pairs) {
  NAME(brute_force)(team, teams, n, sx, dist, pairs);
}

STUDY_INLINE void NAME(find_body)(int64_t n, int64_t length, float delta, const dvt_study_point *sx,
                                  const dvt_study_point *sy, bool *flags) {
  (void)n, (void)length, (void)delta, (void)sx, (void)sy, (void)flags;
  ON_GPU(NAME(find_vertical_strip), n, length, delta, sx, sy, flags);
}

static void NAME(find_grid)(int device, int teams, int64_t n, int64_t length, float delta,
                            const dvt_study_point *sx, const dvt_study_point *sy, bool *flags) {
  const int threads = NAME(threads);
#pragma omp target teams ompx_bare num_teams(teams) thread_limit(threads) device(device)                     \
    is_device_ptr(sx, sy, flags)
  NAME(find_body)(n, length, delta, sx, sy, flags);
}

static void NAME(find_block)(int64_t team, int64_t teams, int64_t n, int64_t length, float delta,
                             const dvt_study_point *sx, const dvt_study_point *sy, bool *flags) {
  NAME(find_vertical_strip)(team, teams, n, length, delta, sx, sy, flags);
}

#define STRIP(form, merged, counting)                                                                        \
  STUDY_INLINE void NAME(form##_body)(STRIP_PARAMETERS) {                                                    \
    (void)n, (void)length, (void)limit, (void)delta, (void)x1, (void)y1, (void)x2, (void)y2, (void)sx;       \
    (void)sy, (void)flags, (void)dist, (void)pairs, (void)counts;                                            \
    ON_GPU(NAME(compare_strip_points), merged, counting, STRIP_ARGUMENTS);                                   \
  }                                                                                                          \
  static void NAME(form##_grid)(int device, int teams, STRIP_PARAMETERS) {                                   \
    const int threads = NAME(threads);                                                                       \
    PRAGMA(omp target teams ompx_bare num_teams(teams) thread_limit(threads) device(device)                  \
               is_device_ptr(sx, sy, flags, dist, pairs, counts))                                            \
    NAME(form##_body)(STRIP_ARGUMENTS);                                                                      \
  }                                                                                                          \
  static void NAME(form##_block)(int64_t team, int64_t teams, STRIP_PARAMETERS) {                            \
    NAME(compare_strip_points)(team, teams, merged, counting, STRIP_ARGUMENTS);                              \
  }

STRIP(separate, false, false)
STRIP(merged, true, false)
STRIP(counting, false, true)
#undef STRIP

static const form NAME(form) = {
    NAME(brute_grid),
    NAME(brute_block),
    NAME(find_grid),
    NAME(find_block),
    {NAME(separate_grid), NAME(merged_grid), NAME(counting_grid)},
    {NAME(separate_block), NAME(merged_block), NAME(counting_block)},
};
