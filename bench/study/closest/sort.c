/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/study/closest/sort.h"

#include "bench/study/common/kernel.h"

enum { TILE = 1024, PAIRS = TILE / 2, FAR_THREADS = 256 };

/* ---- comparators ---- */

/* What comparator `c` of a stage connects: `low` and low + reach, ascending or not. False: `c` has nothing to
 * do. */
typedef struct link {
  int64_t low;
  bool ascending;
} link;

/* Bitonic: stage `reach` of the merge that gives sorted runs of `size`; every second one descends, but those
 * that are whole batches. */
STUDY_INLINE bool bitonic(int64_t c, int64_t size, int64_t reach, int64_t length, link *l) {
  l->low = 2 * c - (c & (reach - 1));
  l->ascending = (l->low & (length - 1) & size) == 0;
  return true;
}

/* Odd-even: stage `reach` of the merge that gives runs of `size`. Behind the first stage the groups of
 * comparators begin `reach` later, and those that would leave the run are not there. */
STUDY_INLINE bool odd_even(int64_t c, int64_t size, int64_t reach, link *l) {
  l->low = 2 * c - (c & (reach - 1)) + (2 * reach == size ? 0 : reach);
  l->ascending = true;
  return (l->low & (size - 1)) + reach < size;
}

/* ---- kernels: one block each ---- */

/* Runs of `size` from `first` to `last` in tiles of TILE points, which hold whole runs; stages reach at most
 * `farthest`. */
STUDY_INLINE void near_stages(int64_t team, int sort, int key, int64_t n, int64_t length, int64_t first,
                              int64_t last, const study_point *source, study_point *sorted) {
  SHARED(study_point, s, TILE);
  const int64_t start = team * TILE;
  const int count = n - start < TILE ? (int)(n - start) : TILE;
  PHASE(t, PAIRS) {
    if (t < count)
      s[t] = source[start + t];
    if (t + PAIRS < count)
      s[t + PAIRS] = source[start + t + PAIRS];
  }
  BARRIER();
  for (int64_t size = first; size <= last; size *= 2)
    for (int reach = size < TILE ? (int)(size / 2) : PAIRS; reach > 0; reach /= 2) {
      PHASE(t, PAIRS) {
        link l;
        bool works = sort == STUDY_BITONIC ? bitonic(start / 2 + t, size, reach, length, &l)
                                           : odd_even(start / 2 + t, size, reach, &l);
        const int low = (int)(l.low - start), high = low + reach;
        if (works && high < count) {
          study_point a = s[low], b = s[high];
          if (l.ascending ? study_before(b, a, key) : study_before(a, b, key)) {
            s[low] = b;
            s[high] = a;
          }
        }
      }
      BARRIER();
    }
  PHASE(t, PAIRS) {
    if (t < count)
      sorted[start + t] = s[t];
    if (t + PAIRS < count)
      sorted[start + t + PAIRS] = s[t + PAIRS];
  }
}

/* One stage in the device's memory, in place; n is a multiple of `size`. */
STUDY_INLINE void far_stage(int64_t team, int sort, int key, int64_t n, int64_t length, int64_t size,
                            int64_t reach, study_point *sorted) {
  PHASE(t, FAR_THREADS) {
    const int64_t c = team * FAR_THREADS + t;
    link l = {0, true};
    bool works = c < n / 2 &&
                 (sort == STUDY_BITONIC ? bitonic(c, size, reach, length, &l) : odd_even(c, size, reach, &l));
    if (works) {
      study_point a = sorted[l.low], b = sorted[l.low + reach];
      if (l.ascending ? study_before(b, a, key) : study_before(a, b, key)) {
        sorted[l.low] = b;
        sorted[l.low + reach] = a;
      }
    }
  }
}

/* ---- grids ---- */

#define PARAMETERS                                                                                           \
  int64_t n, int64_t length, int64_t first, int64_t last, const study_point *source, study_point *sorted
#define ARGUMENTS n, length, first, last, source, sorted

typedef void kernel(const study_site *site, int64_t teams, PARAMETERS);

/* The kernels of one network and key. Far stages take `size` and `reach` in place of the first and the last
 * run. */
#define SORT(name, network, key)                                                                             \
  GRID(name##_near, PAIRS, (source, sorted), near_stages(team, network, key, ARGUMENTS))                     \
  GRID(name##_far, FAR_THREADS, (source, sorted),                                                            \
       far_stage(team, network, key, n, length, first, last, sorted))
SORT(bitonic_x, STUDY_BITONIC, STUDY_BY_X)
SORT(bitonic_y, STUDY_BITONIC, STUDY_BY_Y)
SORT(odd_even_x, STUDY_ODD_EVEN, STUDY_BY_X)
SORT(odd_even_y, STUDY_ODD_EVEN, STUDY_BY_Y)

static kernel *const near_kernels[STUDY_SORTS][2] = {{bitonic_x_near, bitonic_y_near},
                                                     {odd_even_x_near, odd_even_y_near}};
static kernel *const far_kernels[STUDY_SORTS][2] = {{bitonic_x_far, bitonic_y_far},
                                                    {odd_even_x_far, odd_even_y_far}};

davit_status study_sort_points(study_sort sort, study_key key, int device, int64_t batches, int64_t length,
                               const study_point *source, study_point *sorted) {
  study_site site;
  STUDY_REQUIRE((unsigned)sort < STUDY_SORTS, "sort is %d, which is none", (int)sort);
  STUDY_REQUIRE(length >= 1 && (length & (length - 1)) == 0, "length is %lld, not a power of two",
                (long long)length);
  STUDY_REQUIRE(batches >= 0 && batches <= ((int64_t)1 << 38) / length, "batches is %lld",
                (long long)batches);
  DVT_TRY(study_site_of(device, &site));
  const int64_t n = batches * length, tiles = study_quotient_up(n, TILE),
                far_teams = study_quotient_up(n / 2, FAR_THREADS);
  kernel *const near_kernel = near_kernels[sort][key == STUDY_BY_Y];
  kernel *const far_kernel = far_kernels[sort][key == STUDY_BY_Y];
  near_kernel(&site, tiles, n, length, 2, length < TILE ? length : TILE, source, sorted);
  for (int64_t size = 2 * TILE; size <= length; size *= 2)
    for (int64_t reach = size / 2; reach > 0; reach /= 2) {
      if (sort == STUDY_BITONIC && reach < TILE) { /* the rest of the merge lies within tiles */
        near_kernel(&site, tiles, n, length, size, size, sorted, sorted);
        break;
      }
      far_kernel(&site, far_teams, n, length, size, reach, sorted, sorted);
    }
  return DAVIT_SUCCESS;
}

int64_t study_sort_comparators(study_sort sort, int64_t batches, int64_t length) {
  int64_t count = 0, log = 0;
  for (int64_t size = 2; size <= length; size *= 2) {
    log++;
    int64_t merge = sort == STUDY_BITONIC ? size / 2 * log : size / 2 * (log - 1) + 1;
    count += length / size * merge;
  }
  return batches * count;
}

int64_t study_sort_launches(study_sort sort, int64_t length) {
  int64_t launches = 1, stages = study_shift_of(TILE);
  for (int64_t size = 2 * TILE; size <= length; size *= 2) {
    stages++;
    launches += sort == STUDY_BITONIC ? stages - study_shift_of(TILE) + 1 : stages;
  }
  return launches;
}
