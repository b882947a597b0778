/* SPDX-License-Identifier: Apache-2.0 */
/* The closest pair on the CPU: all pairs, and divide and conquer.
 *
 * Divide and conquer: Shamos and Hoey, Closest-point Problems (1975); in space Bentley and Shamos, Divide and
 * Conquer in Multidimensional Space (1976). Points are sorted by (x, y, z, index) and split by rank, so equal
 * coordinates need no special case. Equal points are neighbours and are found first. The halves are returned
 * in the order of the next axis and merged. In the strip about the cut each point is compared with those that
 * follow within the distance found so far. In space the strip is divided once more, by the second axis. The
 * axes are ordered by the extent of the points, the longest first. O(n log n) in the plane, O(n log^2 n) in
 * space, or O(n log n) if the strips are thin.
 *
 * Memory: three copies of the points, as records of doubles of 32 bytes each. */
#include <string.h>

#include "ref/closest_pair.h"
#include "ref/ref.h"

enum { FEW = 24, MIN_BLOCK = 1 << 12, MAX_BLOCKS = 1024, MAX_DIM = 3 };

typedef struct record {
  double at[MAX_DIM];
  int64_t index;
} record;

static double coordinate(davit_type type, const void *points, int64_t at) {
  return type == DAVIT_DOUBLE ? ((const double *)points)[at] : (double)((const float *)points)[at];
}

/* The order of the axes in records: coordinate k of a point is at[place[k]]. Sums are rounded, so a distance
 * needs the points' own order. */
typedef struct frame {
  int dim, place[MAX_DIM];
} frame;

static double between(const record *a, const record *b, const frame *f) {
  const int x = f->place[0], y = f->place[1], z = f->place[2];
  return dvt_pair_distance(a->at[x] - b->at[x], a->at[y] - b->at[y], a->at[z] - b->at[z]);
}

/* ---- all pairs ---- */

davit_closest_pair_result dvt_ref_closest_brute(davit_type type, int dim, int64_t n, const void *points) {
  davit_closest_pair_result best = DVT_NO_PAIR;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = i + 1; j < n; j++) {
      double d[MAX_DIM] = {0};
      for (int k = 0; k < dim; k++)
        d[k] = coordinate(type, points, i * dim + k) - coordinate(type, points, j * dim + k);
      dvt_pair_offer(dvt_pair_distance(d[0], d[1], d[2]), i, j, &best);
    }
  return best;
}

/* ---- order ---- */

/* By the coordinates from `axis` on, then by the index. */
static bool before(const record *a, const record *b, int axis) {
  for (int k = axis; k < MAX_DIM; k++)
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
  sort(r, spare, half, axis);
  sort(r + half, spare + half, n - half, axis);
  merge(r, spare, half, n, axis);
}

/* ---- divide and conquer ---- */

/* Records in the order of `axis`: each with those that follow within the distance on that axis. */
static void compare(const record *r, int64_t n, int axis, const frame *f, davit_closest_pair_result *best) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = i + 1; j < n && r[j].at[axis] - r[i].at[axis] <= best->distance; j++)
      dvt_pair_offer(between(&r[i], &r[j], f), r[i].index, r[j].index, best);
}

static davit_closest_pair_result conquer(record *r, record *spare, record *more, int64_t n, int axis,
                                         const frame *f, davit_closest_pair_result best);

/* Both halves are conquered, so in the order of the axis after `axis`; `cut` is where they meet on `axis`. */
static davit_closest_pair_result join(record *r, record *spare, record *more, int64_t half, int64_t n,
                                      double cut, int axis, const frame *f, davit_closest_pair_result best) {
  merge(r, spare, half, n, axis + 1);
  int64_t strip = 0;
  for (int64_t i = 0; i < n; i++)
    if (__builtin_fabs(r[i].at[axis] - cut) <= best.distance)
      spare[strip++] = r[i];
  if (axis + 2 < f->dim)
    return conquer(spare, more, more, strip, axis + 1, f, best);
  compare(spare, strip, axis + 1, f, &best);
  return best;
}

/* The closest pair of records in the order of `axis`, or `best` if that comes before. They are left in the
 * order of the next axis. */
static davit_closest_pair_result conquer(record *r, record *spare, record *more, int64_t n, int axis,
                                         const frame *f, davit_closest_pair_result best) {
  if (n <= FEW) {
    compare(r, n, axis, f, &best);
    insertion_sort(r, n, axis + 1);
    return best;
  }
  const int64_t half = n / 2;
  const double cut = r[half].at[axis];
  best = conquer(r, spare, more, half, axis, f, best);
  best = conquer(r + half, spare + half, more + half, n - half, axis, f, best);
  return join(r, spare, more, half, n, cut, axis, f, best);
}

/* Of records in order, in which equal points are neighbours: the first pair of equal points. */
static davit_closest_pair_result equal_pair(const record *r, int64_t n) {
  davit_closest_pair_result best = DVT_NO_PAIR;
  for (int64_t i = 1; i < n; i++)
    if (r[i].at[0] == r[i - 1].at[0] && r[i].at[1] == r[i - 1].at[1] && r[i].at[2] == r[i - 1].at[2])
      dvt_pair_offer(0, r[i - 1].index, r[i].index, &best);
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

/* The longest axis comes first. */
static frame order_axes(record *r, int64_t n, int dim) {
  double extents[MAX_DIM];
  int coordinate_at[MAX_DIM] = {0, 1, 2};
  for (int k = 0; k < dim; k++)
    extents[k] = extent(r, n, k);
  for (int k = 0; k < dim; k++)
    for (int other = k + 1; other < dim; other++)
      if (extents[other] > extents[k]) {
        const double moved = extents[k];
        const int named = coordinate_at[k];
        extents[k] = extents[other];
        extents[other] = moved;
        coordinate_at[k] = coordinate_at[other];
        coordinate_at[other] = named;
        swap_axes(r, n, k, other);
      }
  frame f = {.dim = dim};
  for (int k = 0; k < MAX_DIM; k++)
    f.place[coordinate_at[k]] = k;
  return f;
}

/* ---- with threads ---- */

/* The records are cut into `count` blocks, a power of two. Threads work on a block each, then on two blocks
 * each, and so on: not with tasks, as those of LLVM 19's libomp are not safe with teams of threads that come
 * and go. */
typedef struct blocks {
  int64_t n;
  int threads, count;
  frame frame;
  record *r, *spare, *more;
  double cut[MAX_BLOCKS]; /* where a block begins on the first axis */
} blocks;

static int64_t first_of(const blocks *b, int block) {
  return b->n / b->count * block + b->n % b->count * block / b->count;
}

static void sort_all(blocks *b) {
#pragma omp parallel for num_threads(b->threads) schedule(dynamic, 1)
  for (int k = 0; k < b->count; k++)
    sort(b->r + first_of(b, k), b->spare + first_of(b, k), first_of(b, k + 1) - first_of(b, k), 0);
  for (int width = 1; width < b->count; width *= 2) {
#pragma omp parallel for num_threads(b->threads) schedule(dynamic, 1)
    for (int k = 0; k < b->count; k += 2 * width) {
      const int64_t begin = first_of(b, k);
      merge(b->r + begin, b->spare + begin, first_of(b, k + width) - begin,
            first_of(b, k + 2 * width) - begin, 0);
    }
  }
}

static davit_closest_pair_result conquer_all(blocks *b) {
  davit_closest_pair_result best = DVT_NO_PAIR;
  for (int k = 0; k < b->count; k++)
    b->cut[k] = b->r[first_of(b, k)].at[0];
  for (int width = 0; width < b->count; width = width ? 2 * width : 1) {
    const davit_closest_pair_result before_all = best;
#pragma omp parallel for num_threads(b->threads) schedule(dynamic, 1)
    for (int k = 0; k < b->count; k += width ? 2 * width : 1) {
      const int64_t begin = first_of(b, k), end = first_of(b, k + (width ? 2 * width : 1));
      record *r = b->r + begin, *spare = b->spare + begin, *more = b->more + begin;
      const davit_closest_pair_result found =
          width ? join(r, spare, more, first_of(b, k + width) - begin, end - begin, b->cut[k + width], 0,
                       &b->frame, before_all)
                : conquer(r, spare, more, end - begin, 0, &b->frame, before_all);
#pragma omp critical(closest_divide)
      dvt_pair_offer(found.distance, found.i, found.j, &best);
    }
  }
  return best;
}

size_t dvt_ref_closest_scratch(int64_t n) {
  return 3 * (size_t)n * sizeof(record);
}

davit_closest_pair_result dvt_ref_closest_divide(davit_type type, int dim, int64_t n, const void *points,
                                                 int threads, void *scratch) {
  record *r = scratch;
  blocks b = {.n = n, .threads = threads, .count = 1, .r = r, .spare = r + n, .more = r + 2 * n};
  while (b.count < MAX_BLOCKS && threads > 1 && b.count < 4 * threads && n / b.count > MIN_BLOCK)
    b.count *= 2;
  copy_points(type, dim, n, points, threads, r);
  b.frame = order_axes(r, n, dim);
  sort_all(&b);
  const davit_closest_pair_result equal = equal_pair(r, n);
  return equal.distance > 0 ? conquer_all(&b) : equal;
}

/* ---- the first pairs ---- */

static void swap_pairs(davit_closest_pair_result *a, davit_closest_pair_result *b) {
  const davit_closest_pair_result moved = *a;
  *a = *b;
  *b = moved;
}

static bool comes_before(const davit_closest_pair_result *a, const davit_closest_pair_result *b) {
  return dvt_pair_before(a->distance, a->i, a->j, b);
}

/* The median of the first, the middle and the last of several pairs. */
static davit_closest_pair_result middle_of(const davit_closest_pair_result *pairs, int64_t n) {
  const davit_closest_pair_result *a = pairs, *b = pairs + n / 2, *c = pairs + n - 1;
  if (comes_before(b, a)) {
    const davit_closest_pair_result *moved = a;
    a = b;
    b = moved;
  }
  return comes_before(c, a) ? *a : comes_before(c, b) ? *c : *b;
}

/* Hoare's partition; no two pairs are equal. What is before *left comes before what is from *right on; a pair
 * between them is in its place. */
static void part_pairs(davit_closest_pair_result *pairs, int64_t n, int64_t *left, int64_t *right) {
  const davit_closest_pair_result middle = middle_of(pairs, n);
  int64_t low = 0, high = n - 1;
  while (low <= high) {
    while (comes_before(&pairs[low], &middle))
      low++;
    while (comes_before(&middle, &pairs[high]))
      high--;
    if (low <= high)
      swap_pairs(&pairs[low++], &pairs[high--]);
  }
  *left = high + 1;
  *right = low;
}

void dvt_ref_pairs_select(davit_closest_pair_result *pairs, int64_t n, int64_t k) {
  while (n > 1) {
    int64_t left, right;
    part_pairs(pairs, n, &left, &right);
    if (k <= left) {
      n = left;
    } else if (k > right) {
      pairs += right;
      n -= right;
      k -= right;
    } else {
      return;
    }
  }
}

static void sort_pairs(davit_closest_pair_result *pairs, int64_t n) {
  while (n > FEW) {
    int64_t left, right;
    part_pairs(pairs, n, &left, &right);
    const bool shorter = left < n - right; /* is the first part */
    sort_pairs(shorter ? pairs : pairs + right, shorter ? left : n - right);
    pairs += shorter ? right : 0;
    n = shorter ? n - right : left;
  }
  for (int64_t i = 1; i < n; i++)
    for (int64_t j = i; j > 0 && comes_before(&pairs[j], &pairs[j - 1]); j--)
      swap_pairs(&pairs[j], &pairs[j - 1]);
}

/* Blocks of equal length, which are divided by selection, level by level, and then sorted. */
void dvt_ref_pairs_sort(davit_closest_pair_result *pairs, int64_t n, int64_t k, int threads) {
  int count = 1;
  dvt_ref_pairs_select(pairs, n, k);
  n = k;
  while (count < MAX_BLOCKS && threads > 1 && count < 4 * threads && n / count > MIN_BLOCK)
    count *= 2;
  for (int width = count; width > 1; width /= 2) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int b = 0; b < count; b += width) {
      const int64_t begin = n * b / count, middle = n * (b + width / 2) / count,
                    end = n * (b + width) / count;
      dvt_ref_pairs_select(pairs + begin, end - begin, middle - begin);
    }
  }
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int b = 0; b < count; b++)
    sort_pairs(pairs + n * b / count, n * (b + 1) / count - n * b / count);
}

static void offer(dvt_pair_list *list, double distance, int64_t a, int64_t b) {
  const davit_closest_pair_result pair = {a < b ? a : b, a < b ? b : a, distance};
  if (comes_before(&list->limit, &pair))
    return;
  if (list->capacity == 0) {
    list->count++;
    return;
  }
  list->pairs[list->count++] = pair;
  if (list->count < list->capacity)
    return;
  dvt_ref_pairs_select(list->pairs, list->count, list->k);
  list->count = list->k;
  list->limit = list->pairs[list->k - 1];
}

void dvt_ref_pairs_brute(davit_type type, int dim, int64_t n, const void *points, dvt_pair_list *list) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = i + 1; j < n; j++) {
      double d[MAX_DIM] = {0};
      for (int k = 0; k < dim; k++)
        d[k] = coordinate(type, points, i * dim + k) - coordinate(type, points, j * dim + k);
      if (dvt_pair_square(d[0], d[1], d[2]) <= dvt_pair_limit(list->limit.distance))
        offer(list, dvt_pair_distance(d[0], d[1], d[2]), i, j);
    }
}

/* Of many equal points only the first are looked at: those behind them are in their order. */
static bool is_behind(const dvt_pair_list *list, const record *r) {
  return list->limit.distance == 0 && r->index > list->limit.i;
}

void dvt_ref_pairs_sweep(davit_type type, int dim, int64_t n, const void *points, int threads, void *scratch,
                         dvt_pair_list *list) {
  record *r = scratch;
  copy_points(type, dim, n, points, threads, r);
  const frame f = order_axes(r, n, dim);
  sort(r, r + n, n, 0);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = i + 1; j < n && !is_behind(list, &r[i]); j++) {
      if (!(r[j].at[0] - r[i].at[0] <= list->limit.distance))
        break;
      offer(list, between(&r[i], &r[j], &f), r[i].index, r[j].index);
    }
}
