/* The closest pair on the CPU: all pairs, and divide and conquer.
 *
 * Divide and conquer: Shamos and Hoey, Closest-point Problems (1975). Points are ordered by (x, y, z, index) and split by
 * rank, so that equal coordinates need no care. A half comes back ordered by y; the halves are merged, and the points of the
 * strip about the cut are compared with those that follow within the distance found so far. The axes are taken by
 * the extent of the points, the longest first: 2-D O(n log n); in 3-D the same for points whose strips are as thin as those
 * of a cloud, a lattice or a plane are, O(n^1.5 log n) at worst.
 *
 * Points are copied into records of doubles, 32 bytes each, twice; tasks take parts of more than TASK points. */
#include <string.h>

#include "ref/closest_pair.h"
#include "ref/ref.h"

enum { TASK = 1 << 13, FEW = 24, MOST_DIM = 3 };

typedef struct record {
  double at[MOST_DIM];
  int64_t index;
} record;

static double coordinate(davit_type type, const void *points, int64_t at) {
  return type == DAVIT_DOUBLE ? ((const double *)points)[at] : (double)((const float *)points)[at];
}

static double between(const record *a, const record *b) {
  return dvt_pair_distance(a->at[0] - b->at[0], a->at[1] - b->at[1], a->at[2] - b->at[2]);
}

/* ---- all pairs ---- */

davit_pair dvt_ref_closest_brute(davit_type type, int dim, int64_t n, const void *points) {
  davit_pair best = DVT_NO_PAIR;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = i + 1; j < n; j++) {
      double d[MOST_DIM] = {0};
      for (int k = 0; k < dim; k++)
        d[k] = coordinate(type, points, i * dim + k) - coordinate(type, points, j * dim + k);
      dvt_pair_offer(dvt_pair_distance(d[0], d[1], d[2]), i, j, &best);
    }
  return best;
}

/* ---- order ---- */

/* By the coordinates from `axis` on, then by the index. */
static bool before(const record *a, const record *b, int axis) {
  for (int k = axis; k < MOST_DIM; k++)
    if (a->at[k] != b->at[k])
      return a->at[k] < b->at[k];
  return a->index < b->index;
}

static void insertion_sort(record *r, int64_t n, int axis) {
  for (int64_t i = 1; i < n; i++) {
    const record moved = r[i];
    int64_t j = i;
    for (; j > 0 && before(&moved, &r[j - 1], axis); j--)
      r[j] = r[j - 1];
    r[j] = moved;
  }
}

/* The first `half` and the rest of n records, both in order, become one order. */
static void merge(record *r, record *spare, int64_t half, int64_t n, int axis) {
  if (!before(&r[half], &r[half - 1], axis))
    return;
  memcpy(spare, r, (size_t)half * sizeof *r);
  int64_t left = 0, right = half, to = 0;
  while (left < half && right < n)
    r[to++] = before(&r[right], &spare[left], axis) ? r[right++] : spare[left++];
  memcpy(r + to, spare + left, (size_t)(half - left) * sizeof *r);
}

static void sort(record *r, record *spare, int64_t n, int axis) {
  if (n <= FEW) {
    insertion_sort(r, n, axis);
    return;
  }
  const int64_t half = n / 2;
  if (n > TASK) {
#pragma omp task
    sort(r, spare, half, axis);
    sort(r + half, spare + half, n - half, axis);
#pragma omp taskwait
  } else {
    sort(r, spare, half, axis);
    sort(r + half, spare + half, n - half, axis);
  }
  merge(r, spare, half, n, axis);
}

/* ---- divide and conquer ---- */

/* Records in the order of the second coordinate. */
static void compare_strip(const record *strip, int64_t n, davit_pair *best) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = i + 1; j < n && strip[j].at[1] - strip[i].at[1] <= best->distance; j++)
      dvt_pair_offer(between(&strip[i], &strip[j]), strip[i].index, strip[j].index, best);
}

/* The closest pair of records in order, which are left in the order of the second coordinate. */
static davit_pair conquer(record *r, record *spare, int64_t n) {
  davit_pair best = DVT_NO_PAIR, other;
  if (n <= FEW) {
    insertion_sort(r, n, 1);
    compare_strip(r, n, &best);
    return best;
  }
  const int64_t half = n / 2;
  const double cut = r[half].at[0];
  if (n > TASK) {
#pragma omp task shared(best)
    best = conquer(r, spare, half);
    other = conquer(r + half, spare + half, n - half);
#pragma omp taskwait
  } else {
    best = conquer(r, spare, half);
    other = conquer(r + half, spare + half, n - half);
  }
  dvt_pair_offer(other.distance, other.i, other.j, &best);
  merge(r, spare, half, n, 1);
  int64_t strip = 0;
  for (int64_t i = 0; i < n; i++)
    if (__builtin_fabs(r[i].at[0] - cut) <= best.distance)
      spare[strip++] = r[i];
  compare_strip(spare, strip, &best);
  return best;
}

static void copy_points(davit_type type, int dim, int64_t n, const void *points, int threads, record *r) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < n; i++) {
    r[i] = (record){.index = i};
    for (int k = 0; k < dim; k++)
      r[i].at[k] = coordinate(type, points, i * dim + k);
  }
}

static double extent(const record *r, int64_t n, int axis) {
  double low = r[0].at[axis], high = low;
  for (int64_t i = 1; i < n; i++) {
    low = r[i].at[axis] < low ? r[i].at[axis] : low;
    high = r[i].at[axis] > high ? r[i].at[axis] : high;
  }
  return high - low;
}

static void swap_axes(record *r, int64_t n, int a, int b) {
  for (int64_t i = 0; i < n; i++) {
    const double moved = r[i].at[a];
    r[i].at[a] = r[i].at[b];
    r[i].at[b] = moved;
  }
}

/* The longest axis first. */
static void order_axes(record *r, int64_t n, int dim) {
  double extents[MOST_DIM];
  for (int k = 0; k < dim; k++)
    extents[k] = extent(r, n, k);
  for (int k = 0; k < dim; k++)
    for (int other = k + 1; other < dim; other++)
      if (extents[other] > extents[k]) {
        const double moved = extents[k];
        extents[k] = extents[other];
        extents[other] = moved;
        swap_axes(r, n, k, other);
      }
}

size_t dvt_ref_closest_scratch(int64_t n) {
  return 2 * (size_t)n * sizeof(record);
}

davit_pair dvt_ref_closest_divide(davit_type type, int dim, int64_t n, const void *points, int threads,
                                  void *scratch) {
  davit_pair best = DVT_NO_PAIR;
  record *r = scratch;
  copy_points(type, dim, n, points, threads, r);
  order_axes(r, n, dim);
#pragma omp parallel num_threads(threads)
#pragma omp single
  {
    sort(r, r + n, n, 0);
    best = conquer(r, r + n, n);
  }
  return best;
}
