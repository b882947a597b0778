/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/study/closest/sort.h"

#include <stdbool.h>

#include "bench/study/closest/closest.h"
#include "bench/study/common/kernel.h"

enum { TILE = 1024, PAIRS = TILE / 2, FAR_THREADS = 256 };

/* ---- comparators ---- */

STUDY_INLINE bool before(study_point a, study_point b, int key) {
  float ka = key == STUDY_BY_Y ? a.y : a.x, kb = key == STUDY_BY_Y ? b.y : b.x;
  float oa = key == STUDY_BY_Y ? a.x : a.y, ob = key == STUDY_BY_Y ? b.x : b.y;
  return ka < kb || (ka == kb && oa < ob);
}

/* What comparator `c` of a stage connects: `low` and low + reach, ascending or not. False: `c` has nothing
 * to do. */
typedef struct link {
  int64_t low;
  bool ascending;
} link;

/* Bitonic: stage `reach` of the merge that gives sorted runs of `size`; every second one descends, but
 * those that are whole batches. */
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

/* Runs of `size` from `first` to `last` in tiles of TILE points, which hold whole runs; stages reach at
 * most `farthest`. */
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
          if (l.ascending ? before(b, a, key) : before(a, b, key)) {
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
      if (l.ascending ? before(b, a, key) : before(a, b, key)) {
        sorted[l.low] = b;
        sorted[l.low + reach] = a;
      }
    }
  }
}

/* ---- grids ---- */

#ifdef DVT_GPU
#define ON_GPU(kernel, ...) kernel(dvt_team(), __VA_ARGS__)
#else
#define ON_GPU(kernel, ...) ((void)0)
#endif

#define STAGES int64_t n, int64_t length, int64_t first, int64_t last

/* The kernels of one network and key, once for GPUs and once for the CPU. */
#define SORT(name, SORT_NUMBER, KEY)                                                                         \
  STUDY_INLINE void name##_near_body(STAGES, const study_point *source, study_point *sorted) {               \
    (void)n, (void)length, (void)first, (void)last, (void)source, (void)sorted;                              \
    ON_GPU(near_stages, SORT_NUMBER, KEY, n, length, first, last, source, sorted);                           \
  }                                                                                                          \
  static void name##_near_grid(int device, int teams, STAGES, const study_point *source,                     \
                               study_point *sorted) {                                                        \
    PRAGMA(omp target teams ompx_bare num_teams(teams) thread_limit(PAIRS) device(device)                    \
               is_device_ptr(source, sorted))                                                                \
    name##_near_body(n, length, first, last, source, sorted);                                                \
  }                                                                                                          \
  static void name##_near_block(int64_t team, STAGES, const study_point *source, study_point *sorted) {      \
    near_stages(team, SORT_NUMBER, KEY, n, length, first, last, source, sorted);                             \
  }                                                                                                          \
  STUDY_INLINE void name##_far_body(STAGES, study_point *sorted) {                                           \
    (void)n, (void)length, (void)first, (void)last, (void)sorted;                                            \
    ON_GPU(far_stage, SORT_NUMBER, KEY, n, length, first, last, sorted);                                     \
  }                                                                                                          \
  static void name##_far_grid(int device, int teams, STAGES, study_point *sorted) {                          \
    PRAGMA(omp target teams ompx_bare num_teams(teams) thread_limit(FAR_THREADS) device(device)              \
               is_device_ptr(sorted))                                                                        \
    name##_far_body(n, length, first, last, sorted);                                                         \
  }                                                                                                          \
  static void name##_far_block(int64_t team, STAGES, study_point *sorted) {                                  \
    far_stage(team, SORT_NUMBER, KEY, n, length, first, last, sorted);                                       \
  }

SORT(bitonic_x, STUDY_BITONIC, STUDY_BY_X)
SORT(bitonic_y, STUDY_BITONIC, STUDY_BY_Y)
SORT(odd_even_x, STUDY_ODD_EVEN, STUDY_BY_X)
SORT(odd_even_y, STUDY_ODD_EVEN, STUDY_BY_Y)

typedef struct form {
  void (*near_grid)(int device, int teams, STAGES, const study_point *source, study_point *sorted);
  void (*near_block)(int64_t team, STAGES, const study_point *source, study_point *sorted);
  void (*far_grid)(int device, int teams, STAGES, study_point *sorted);
  void (*far_block)(int64_t team, STAGES, study_point *sorted);
} form;

#define FORM(name) {name##_near_grid, name##_near_block, name##_far_grid, name##_far_block}
static const form forms[STUDY_SORTS][2] = {{FORM(bitonic_x), FORM(bitonic_y)},
                                           {FORM(odd_even_x), FORM(odd_even_y)}};

/* Where a sort runs. */
typedef struct site {
  const form *f;
  int device;
  bool gpu;
  int64_t n, length;
  study_point *sorted;
} site;

static int64_t quotient_up(int64_t n, int64_t by) {
  return n / by + (n % by != 0);
}

static void run_near(const site *s, int64_t first, int64_t last, const study_point *source) {
  int64_t teams = quotient_up(s->n, TILE);
  if (s->gpu)
    s->f->near_grid(s->device, (int)teams, s->n, s->length, first, last, source, s->sorted);
  else
    for (int64_t team = 0; team < teams; team++)
      s->f->near_block(team, s->n, s->length, first, last, source, s->sorted);
}

static void run_far(const site *s, int64_t size, int64_t reach) {
  int64_t teams = quotient_up(s->n / 2, FAR_THREADS);
  if (s->gpu)
    s->f->far_grid(s->device, (int)teams, s->n, s->length, size, reach, s->sorted);
  else
    for (int64_t team = 0; team < teams; team++)
      s->f->far_block(team, s->n, s->length, size, reach, s->sorted);
}

davit_status study_sort_points(study_sort sort, study_key key, int device, int64_t batches, int64_t length,
                               const study_point *source, study_point *sorted) {
  site s = {NULL, device, false, batches * length, length, sorted};
  if ((unsigned)sort >= STUDY_SORTS)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "sort is %d, which is none", (int)sort);
  if (length < 1 || (length & (length - 1)) != 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "length is %lld, not a power of two", (long long)length);
  if (batches < 0 || batches > ((int64_t)1 << 38) / length)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "batches is %lld", (long long)batches);
  davit_status status = study_closest_on_gpu(device, &s.gpu);
  if (status != DAVIT_SUCCESS || s.n == 0)
    return status;
  s.f = &forms[sort][key == STUDY_BY_Y];
  run_near(&s, 2, length < TILE ? length : TILE, source);
  for (int64_t size = 2 * TILE; size <= length; size *= 2)
    for (int64_t reach = size / 2; reach > 0; reach /= 2) {
      if (sort == STUDY_BITONIC && reach < TILE) { /* what is left of the merge lies within tiles */
        run_near(&s, size, size, sorted);
        break;
      }
      run_far(&s, size, reach);
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
