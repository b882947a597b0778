/* SPDX-License-Identifier: Apache-2.0 */
/* What the steps of a search for neighbours share: their arguments, the order of points, and what a query has
 * found. On the CPU a step runs in each thread of a parallel region. */
#ifndef DAVIT_OFFLOAD_NEIGHBORS_WORK_H
#define DAVIT_OFFLOAD_NEIGHBORS_WORK_H

#include <omp.h>
#include <string.h>

#include "offload/kernel/gpu.h"
#include "offload/neighbors_state.h"
#include "ref/closest_pair.h"

#define INLINE static inline __attribute__((always_inline))

#ifndef DVT_NEIGHBORS_ITEMS
#define DVT_NEIGHBORS_ITEMS 16
#endif

enum {
  THREADS = 256,
  LEAF = 8, /* points of a leaf */
  FAN = 8,  /* children of a node */
  LEVELS = 12,
  LIST = 32, /* the longest sorted list of a query's nearest; longer ones are heaps, or pools on a GPU */
  LIST_IN_PLANE = 16,   /* on a GPU, where pools of more are faster in the plane */
  DIGIT_BITS_HOST = 11, /* of a pass of the CPU's sort */
  DIGIT_BITS = 8,       /* of a pass of a GPU's sort */
  DIGITS = 1 << DIGIT_BITS,
  ITEMS = DVT_NEIGHBORS_ITEMS, /* of a thread, which a GPU sorts at once */
  TILE = THREADS * ITEMS,
  CHUNK = 512 /* queries that a thread of the CPU takes at once */
};

static const uint32_t nobody = UINT32_MAX, several = UINT32_MAX - 1; /* no position */

/* Points or queries in their order along the curve. */
typedef struct order {
  int64_t count;
  const void *points;
  uint64_t *key[2]; /* a pass of the sort goes from one to the other */
  uint32_t *index[2];
} order;

/* The tree. Level 0 is that of the nodes whose children are leaves; the last has one node. Leaf i is child i % FAN of
 * node i / FAN of level 0, and so on. */
typedef struct tree {
  int64_t n, leaf_count;
  int levels;
  int64_t first[LEVELS]; /* node of a level */
  int64_t count[LEVELS];
  void *leaves, *nodes;
} tree;

/* A forest that grows to one tree over the points, which are known by their positions in the order of the leaves. Its
 * trees, the components, have numbers from 0 on. Trees choose the first edge that leads out of them, in the order of
 * (distance, i, j). */
typedef struct forest {
  int64_t components, roots; /* roots: of the round */
  int64_t found;             /* edges */
  uint32_t picked;           /* points of the list */
  const uint32_t *number;    /* of a point, in the order of the caller */
  uint32_t *component, *nearest,
      *list;               /* of a point; the nearest of another component, if it is known; points that have
                                         * to search */
  double *distance;        /* from a point to its nearest, or where that is not known a bound below */
  uint32_t *label;         /* of each child of a node: the component of all its points, or nobody */
  uint64_t *bound, *pair;  /* of a component: bits of the distance of its edge, and the edge, i above j */
  uint32_t *next, *rank;   /* the component that the edge leads to; number of roots up to this one */
  uint64_t *length, *edge; /* edges found: bits of the distance, and i above j */
} forest;

/* Sets of core points, by their positions: the parent, itself of a root and nobody of a point that is no core point; of
 * a root the first core point in the caller's order; of core points the cluster. By the caller's order: number of
 * clusters that begin up to a point. For each child of a node a core point that stands for all in it, or nobody, or
 * `several`. */
typedef struct clusters {
  const uint32_t *number;
  uint32_t *parent, *first, *cluster, *rank, *label;
  int64_t count;
} clusters;

/* The arguments of a step. */
typedef struct work {
  dvt_neighbors a;
  order order; /* of the points, and then of the queries */
  tree tree;
  double low[3], half; /* the box of the points: its lowest corner, and half of its longest side */
  int64_t word;      /* of the bits of coordinates that make the keys; below 0: their places in the box do */
  uint32_t *counts;  /* of the sort */
  int64_t sorted;    /* which of the order's arrays has the result */
  bool own_order;    /* the queries are all points, in the order of the tree */
  int64_t crowded;   /* leaves whose points have one key, but not one place */
  forest forest;     /* of the minimum spanning tree */
  clusters clusters; /* of DBSCAN */
  int64_t wrong;     /* the first query whose row is too long or too short, INT64_MAX if none */
} work;

_Static_assert(sizeof(work) <= DVT_NEIGHBORS_STAGED, "no room for the arguments");

/* ---- shares of threads ---- */

/* FOR_OWN(i, n): a loop over the numbers below n that belong to this thread. */
#ifdef DVT_GPU
/* Before loops over a list, whose length is a constant on a GPU alone. */
#define UNROLL DVT_PRAGMA(unroll)
#define FOR_OWN(i, n)                                                                                        \
  for (int64_t i = (int64_t)dvt_team() * THREADS + dvt_thread(); i < (n); i += (int64_t)dvt_teams() * THREADS)
#else
#define UNROLL
#define FOR_OWN(i, n) DVT_PRAGMA(omp for schedule(static)) for (int64_t i = 0; i < (n); i++)
#endif

/* ---- keys ---- */

/* Hilbert's curve: the place on it of a cell of 2^bits cells a side, after Skilling. */
INLINE uint64_t spread_2(uint32_t x) {
  uint64_t s = x;
  s = (s | s << 16) & UINT64_C(0x0000ffff0000ffff);
  s = (s | s << 8) & UINT64_C(0x00ff00ff00ff00ff);
  s = (s | s << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
  s = (s | s << 2) & UINT64_C(0x3333333333333333);
  return (s | s << 1) & UINT64_C(0x5555555555555555);
}

INLINE uint64_t spread_3(uint32_t x) {
  uint64_t s = x & 0x1fffff;
  s = (s | s << 32) & UINT64_C(0x001f00000000ffff);
  s = (s | s << 16) & UINT64_C(0x001f0000ff0000ff);
  s = (s | s << 8) & UINT64_C(0x100f00f00f00f00f);
  s = (s | s << 4) & UINT64_C(0x10c30c30c30c30c3);
  return (s | s << 2) & UINT64_C(0x1249249249249249);
}

/* Bit j is the sum modulo 2 of the bits above j. */
INLINE uint32_t sums_above(uint32_t x) {
  x >>= 1;
#pragma unroll
  for (int shift = 1; shift < 32; shift *= 2)
    x ^= x >> shift;
  return x;
}

INLINE uint64_t curve(uint32_t cell[3], int dim, int bits) {
#pragma unroll 1
  for (uint32_t bit = UINT32_C(1) << (bits - 1); bit > 1; bit >>= 1) {
    const uint32_t below = bit - 1;
#pragma unroll
    for (int k = 0; k < dim; k++) {
      const uint32_t inverts = cell[k] & bit ? below : 0, differ = (cell[0] ^ cell[k]) & (below ^ inverts);
      cell[0] ^= differ ^ inverts;
      cell[k] ^= k > 0 ? differ : 0;
    }
  }
#pragma unroll
  for (int k = 1; k < dim; k++)
    cell[k] ^= cell[k - 1];
  const uint32_t flips = sums_above(cell[dim - 1]);
#pragma unroll
  for (int k = 0; k < dim; k++)
    cell[k] ^= flips;
  return dim == 2 ? spread_2(cell[0]) << 1 | spread_2(cell[1])
                  : spread_3(cell[0]) << 2 | spread_3(cell[1]) << 1 | spread_3(cell[2]);
}

/* Of a side. */
INLINE int cell_bits(int dim) {
  return dim == 2 ? 32 : 21;
}

INLINE uint32_t cell_in_box(double x, double low, double half, int bits) {
  const double most = (double)(UINT32_MAX >> (32 - bits)), at = half > 0 ? (x * 0.5 - low * 0.5) / half : 0;
  return at > 0 ? at < 1 ? (uint32_t)(at * most) : (uint32_t)most : 0;
}

/* The bits of a coordinate as a number that grows with it, of which each word takes some, from the highest on. */
INLINE uint32_t cell_of_bits(uint64_t ordered, int64_t word, int bits) {
  const int shift = 64 - bits * (int)(word + 1);
  return (uint32_t)(shift >= 0 ? ordered >> shift : ordered << -shift) & (UINT32_MAX >> (32 - bits));
}

INLINE uint64_t ordered_float(float x) {
  uint32_t bits;
  x += 0.0f; /* both zeros are one */
  memcpy(&bits, &x, sizeof bits);
  return (uint64_t)(bits >> 31 ? ~bits : bits | UINT32_C(1) << 31) << 32;
}

INLINE uint64_t ordered_double(double x) {
  uint64_t bits;
  x += 0.0;
  memcpy(&bits, &x, sizeof bits);
  return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

/* ---- what a query has to visit ---- */

/* Bits of the children that are left, for each of up to 16 levels, in registers: the level that comes first on top. */
typedef struct pile {
  uint64_t low, high;
} pile;

INLINE void put_on(pile *p, uint32_t children) {
  p->high = p->high << FAN | p->low >> (64 - FAN);
  p->low = p->low << FAN | children;
}

INLINE uint32_t take_from(pile *p) {
  const uint32_t children = (uint32_t)p->low & ((1u << FAN) - 1);
  p->low = p->low >> FAN | p->high << (64 - FAN);
  p->high >>= FAN;
  return children;
}

/* ---- words that several threads change ---- */

INLINE uint32_t load_shared(const uint32_t *at) {
  return __scoped_atomic_load_n(at, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

INLINE void store_shared(uint32_t *at, uint32_t value) {
  __scoped_atomic_store_n(at, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

/* Of many threads few find that theirs is the minimum so far. */
INLINE void lower_shared(uint64_t *at, uint64_t value) {
  if (value < __scoped_atomic_load_n(at, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE))
    __scoped_atomic_fetch_min(at, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

/* Distances are not negative, so their bits are in their order. */
INLINE uint64_t bits_of(double distance) {
  uint64_t bits;
  memcpy(&bits, &distance, sizeof bits);
  return bits;
}

INLINE double distance_of(uint64_t bits) {
  double distance;
  memcpy(&distance, &bits, sizeof distance);
  return distance;
}

INLINE double bound_of(const forest *f, uint32_t component) {
  return distance_of(__scoped_atomic_load_n(&f->bound[component], __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE));
}

/* ---- sets of core points ----
 * Other threads join sets meanwhile. All accesses are atomic and relaxed, which is enough, as nothing but parents is
 * read:
 *   - only a root gets a parent that is not itself, by compare-and-swap, and once: it is no root again;
 *   - a parent is in the same set and lower, so every way ends at a root, however old the values on it are;
 *   - a store that halves a way may be late and undo another, but what it stores is still on the way to the root;
 *   - equal roots, however old, are one set. Roots that differ are compared again where the swap fails, and it fails
 *     only where another thread's has not. */

/* The root of a core point. What is passed on the way gets a parent nearer to it. */
INLINE uint32_t set_of(const clusters *s, uint32_t p) {
  for (;;) {
    const uint32_t parent = load_shared(&s->parent[p]);
    if (parent == p)
      return p;
    const uint32_t next = load_shared(&s->parent[parent]);
    if (next != parent)
      store_shared(&s->parent[p], next);
    p = next;
  }
}

/* The root of both. */
INLINE uint32_t join_sets(const clusters *s, uint32_t a, uint32_t b) {
  for (;;) {
    a = set_of(s, a);
    b = set_of(s, b);
    if (a == b)
      return a;
    uint32_t high = a > b ? a : b;
    const uint32_t low = a > b ? b : a;
    if (__scoped_atomic_compare_exchange_n(&s->parent[high], &high, low, false, __ATOMIC_RELAXED,
                                           __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE))
      return low;
  }
}

/* ---- what a query has found ---- */

/* How it is kept: the few nearest in order, more as a heap in their row, all in a row, the nearest that is in another
 * component, whether one is near a box, a number, to see whether the row is long enough, whether enough are near to
 * make a core point, sets of core points that are joined, or the first cluster that is near. From KEEP_COUNT on a box
 * may be dealt with as a whole. */
typedef enum keeping {
  KEEP_LIST,
  KEEP_HEAP,
  KEEP_ROW,
  KEEP_FOREIGN,
  KEEP_ANY_FOREIGN,
  KEEP_COUNT,
  KEEP_CHECK,
  KEEP_CORE,
  KEEP_JOIN,
  KEEP_BORDER
} keeping;

typedef struct query {
  double x, y, z;
  double upper[3]; /* of a box: its other corner */
  uint32_t self;   /* the point that it is, or nobody */
  /* Points that come before (farthest, last) count. Squares above `limit` are farther; those from `near` on may be as
   * far. */
  double farthest, limit, near;
  uint32_t last;
#ifdef DVT_GPU
  float float_limit, float_near; /* for squares of floats */
#endif
  const forest *forest;
  const clusters *clusters;
  uint32_t own;        /* component; position of a core point; cluster of a border point so far */
  int64_t found, room; /* points; of the row, or k */
  uint32_t set;        /* of a core point: its root, some time ago */
  int64_t *row;
  double *row_distance;
  double distance[LIST];
  uint32_t index[LIST];
} query;

INLINE bool comes_before(double distance, int64_t index, double than, int64_t last) {
  return distance < than || (distance == than && index < last);
}

INLINE void set_limit(query *q, double farthest, uint32_t last) {
  q->farthest = farthest;
  q->last = last;
  q->limit = dvt_pair_limit(farthest);
  q->near = farthest < 0x1p-459 || farthest > 0x1p499 ? 0 : farthest * farthest * (1 - 0x1p-40);
#ifdef DVT_GPU
  q->float_limit = (float)q->limit * (1 + 0x1p-20f) + 0x1p-140f;
  q->float_near = (float)q->near * (1 - 0x1p-20f) - 0x1p-140f;
#endif
}

/* Nothing is within the limit any more. */
INLINE void give_up(query *q) {
  q->farthest = q->limit = -1;
#ifdef DVT_GPU
  q->float_limit = -1;
#endif
}

/* What other points of the component have found meanwhile. */
INLINE void tighten(query *q) {
  const double bound = bound_of(q->forest, q->own);
  if (bound < q->farthest)
    set_limit(q, bound, nobody);
}

/* A heap's last point is the first of the row. */
INLINE void sift_down(int64_t *row, double *distance, int64_t at, int64_t count) {
  const int64_t index = row[at];
  const double far = distance[at];
  for (int64_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && comes_before(distance[child], row[child], distance[child + 1], row[child + 1]))
      child++;
    if (!comes_before(far, index, distance[child], row[child]))
      break;
    row[at] = row[child];
    distance[at] = distance[child];
  }
  row[at] = index;
  distance[at] = far;
}

INLINE void sort_heap(int64_t *row, double *distance, int64_t count) {
  for (int64_t end = count - 1; end > 0; end--) {
    const int64_t index = row[0];
    const double far = distance[0];
    row[0] = row[end];
    distance[0] = distance[end];
    row[end] = index;
    distance[end] = far;
    sift_down(row, distance, 0, end);
  }
}

INLINE void make_heap(int64_t *row, double *distance, int64_t count) {
  for (int64_t at = count / 2 - 1; at >= 0; at--)
    sift_down(row, distance, at, count);
}

/* A list has `most` places. Those that are not wanted stand in front: nothing comes before what they hold. */
INLINE void begin_list(query *q, int most) {
  UNROLL
  for (int j = 0; j < most; j++) {
    q->distance[j] = j < most - q->room ? -1 : __builtin_inf();
    q->index[j] = nobody;
  }
}

#ifdef DVT_GPU
INLINE void insert(query *q, double distance, uint32_t index, int most) {
  UNROLL
  for (int j = 0; j < most; j++) {
    const bool first = comes_before(distance, index, q->distance[j], q->index[j]);
    const double other = q->distance[j];
    const uint32_t others = q->index[j];
    q->distance[j] = first ? distance : other;
    q->index[j] = first ? index : others;
    distance = first ? other : distance;
    index = first ? others : index;
  }
}
#else
INLINE void insert(query *q, double distance, uint32_t index, int most) {
  int at = most - 1;
  for (; at > 0 && comes_before(distance, index, q->distance[at - 1], q->index[at - 1]); at--) {
    q->distance[at] = q->distance[at - 1];
    q->index[at] = q->index[at - 1];
  }
  q->distance[at] = distance;
  q->index[at] = index;
}
#endif

/* A point that counts, or not, at a position of the tree. `how` and `most` are constants. */
INLINE void offer(query *q, keeping how, int most, double distance, uint32_t index, uint32_t position) {
  if (index == q->self || !comes_before(distance, index, q->farthest, q->last))
    return;
  switch (how) {
  case KEEP_LIST:
    insert(q, distance, index, most);
    set_limit(q, q->distance[most - 1], q->index[most - 1]);
    return;
  case KEEP_FOREIGN:
    q->index[0] = position;
    q->distance[0] = distance;
    set_limit(q, distance, index);
    return;
  case KEEP_HEAP:
    q->row[0] = index;
    q->row_distance[0] = distance;
    sift_down(q->row, q->row_distance, 0, q->room);
    set_limit(q, q->row_distance[0], (uint32_t)q->row[0]);
    return;
  case KEEP_ROW:
    q->row[q->found] = index;
    q->row_distance[q->found++] = distance;
    return;
  case KEEP_CORE:
    if (++q->found >= q->room)
      give_up(q);
    return;
  case KEEP_JOIN:
    q->set = join_sets(q->clusters, q->set, position);
    return;
  case KEEP_BORDER:
    q->own = q->clusters->cluster[position];
    return;
  default:
    q->found++;
  }
}

#endif
