/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbours of points, on GPUs and on the CPU's threads: the same steps with the same numbers.
 *
 *   keys      the place of each point on Hilbert's curve through the box of all points
 *   sort      by the key, and by the number of the point among equal keys: digit after digit, from the last on
 *   leaves    LEAF points that follow each other, coordinate after coordinate, and their box
 *   levels    nodes of FAN boxes, up to the one node of the last level
 *   search    each query by itself, in the order of the curve, so that neighbours in time read the same nodes
 *
 * A query looks at one leaf first, its own, or the one that the nearest boxes lead to. So it knows early how far its
 * neighbours are, and then visits the tree from left to right and leaves out the boxes that are farther. With each box
 * stands the minimum of its points' numbers: a box that is just as far as the farthest neighbour so far is left out if
 * all its numbers are higher. Equal points stand in the order of their numbers, so of many equal points few are looked
 * at.
 *
 * Where one box has all points but one cell has most of them, as with a far outlier, the curve orders nothing. Many
 * leaves are crowded then: their points have one key but not one place. The points are sorted once more, by the bits of
 * their coordinates, as numbers that grow with them: their cells are as fine as the coordinates are. That takes a
 * word of key for each 32 bits in the plane, and for each 21 in space.
 *
 * Squares decide nearly everything. A distance is computed only of points within the limit of what is known, and of
 * boxes within 2^-40 of it. Rounding is monotonic, so no point is nearer than its box.
 *
 * Bytes of a point: 12 of floats in the plane to 28 of doubles in space in leaves, a seventh of 20 to 52 in nodes, and
 * 24 for the sort. */
#include "offload/neighbors.h"

#include <stdlib.h>
#include <string.h>

#include "offload/closest_pair.h"
#include "offload/kernel/instance.h"
#include "offload/neighbors_cluster.h"
#include "offload/neighbors_forest.h"
#include "offload/neighbors_pool.h"
#include "offload/neighbors_sort.h"
#include "offload/neighbors_work.h"
#include "offload/runtime/space.h"
#include "offload/scan_here.h"
#include "ref/ref.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/cpu.h"
#include "src/base/error.h"

/* ---- the kinds of points ---- */

#define SEARCHES(X)                                                                                          \
  X(LIST_8, list_8, KEEP_LIST, 8)                                                                            \
  X(LIST_12, list_12, KEEP_LIST, 12)                                                                         \
  X(LIST_16, list_16, KEEP_LIST, 16)                                                                         \
  X(LIST_32, list_32, KEEP_LIST, LIST)                                                                       \
  X(HEAP, heap, KEEP_HEAP, 0)                                                                                \
  X(COUNT, count, KEEP_COUNT, 0)                                                                             \
  X(ROWS, rows, KEEP_ROW, 0)                                                                                 \
  X(CHECK, check, KEEP_CHECK, 0)
#define STEPS_OF_KINDS(X)                                                                                    \
  X(KEYS, keys)                                                                                              \
  X(LEAVES, leaves)                                                                                          \
  X(LEVEL, level)                                                                                            \
  X(KNOWN, known)                                                                                            \
  X(PICK, pick)                                                                                              \
  X(LEAVE, leave)                                                                                            \
  X(CORE, core)                                                                                              \
  X(TIGHT, tight)                                                                                            \
  X(JOIN, join)                                                                                              \
  X(BORDER, border)                                                                                          \
  SEARCHES(X)
#define ENUMERATOR(STEP, ...) STEP,
typedef enum step { STEPS_OF_KINDS(ENUMERATOR) STEPS } step;

/* Steps that do not depend on the kind: X(STEP, name). */
#define PLAIN_STEPS(X) FOREST_STEPS(X) CLUSTER_STEPS(X)
typedef enum plain_step { PLAIN_STEPS(ENUMERATOR) ALL_PLAIN_STEPS } plain_step;
#undef ENUMERATOR

typedef void region(int device, int teams, work *w, int64_t a, int64_t b);

/* The forms of a step. */
typedef struct action {
  dvt_kernel *kernel;
  region *region;
  void (*host)(work *w, int64_t a, int64_t b); /* in each thread */
} action;

typedef struct kind {
  size_t point_bytes, leaf_bytes, node_bytes;
  action step[STEPS], pooled; /* pooled: of a GPU alone */
} kind;

#define PLAIN_REGION(STEP, name)                                                                             \
  DVT_REGION(neighbors_##name, name##_body, THREADS, (w), (work * w, int64_t a, int64_t b), w, a, b)         \
  static dvt_kernel name##_kernel = DVT_KERNEL(neighbors_##name);
PLAIN_STEPS(PLAIN_REGION)
#undef PLAIN_REGION

#define PLAIN_ROW(STEP, name) [STEP] = {&name##_kernel, neighbors_##name, name##_body},
static const action plain_steps[ALL_PLAIN_STEPS] = {PLAIN_STEPS(PLAIN_ROW)};
#undef PLAIN_ROW

#ifndef DVT_GPU
typedef double octet __attribute__((ext_vector_type(8)));
typedef int64_t octet_mask __attribute__((ext_vector_type(8)));

INLINE octet larger(octet a, octet b) {
  const octet_mask is_first = a > b;
  return (octet)((is_first & (octet_mask)a) | (~is_first & (octet_mask)b));
}

INLINE uint32_t bits_where(octet_mask mask) {
  typedef bool bits __attribute__((ext_vector_type(8)));
  const bits set = __builtin_convertvector(mask, bits);
  uint8_t byte;
  memcpy(&byte, &set, sizeof byte);
  return byte;
}
#endif

#define NAME(x) DVT_PASTE(neighbors_, T, DVT_PASTE(DIM, _, x))
#define T float
#define DIM 2
#include "offload/neighbors.inc"
#undef DIM
#define DIM 3
#include "offload/neighbors.inc"
#undef DIM
#undef T
#define T double
#define DIM 2
#include "offload/neighbors.inc"
#undef DIM
#define DIM 3
#include "offload/neighbors.inc"
#undef DIM
#undef T
#undef NAME

static const kind *kind_of(davit_type type, int dim) {
  static const kind *const kinds[2][2] = {{&neighbors_float2_kind, &neighbors_float3_kind},
                                          {&neighbors_double2_kind, &neighbors_double3_kind}};
  return kinds[type == DAVIT_DOUBLE][dim == 3];
}

/* ---- memory ---- */

/* Offsets: first is what the box is found with; the arguments, leaves, nodes, keys, numbers, counts of the sort, for a
 * spanning tree words and for clusters, too, half words of each point, and labels; and on a GPU what scans need. */
typedef struct layout {
  size_t work, leaves, nodes, keys, indices, counts, words, halves, labels, slots, end;
} layout;

enum { WORDS = 3, HALVES = 5 };

static tree tree_of(int64_t n) {
  tree t = {.n = n, .leaf_count = dvt_divide_up(n, LEAF)};
  int64_t below = t.leaf_count, nodes = 0;
  do {
    below = dvt_divide_up(below, FAN);
    t.first[t.levels] = nodes;
    t.count[t.levels++] = below;
    nodes += below;
  } while (below > 1);
  return t;
}

static dvt_closest_site box_site(const dvt_neighbors_site *site, const dvt_neighbors *a, const void *points,
                                 int64_t n) {
  return (dvt_closest_site){.device = site->device,
                            .gpu = site->gpu,
                            .threads = site->threads,
                            .teams = site->teams,
                            .stream = site->stream,
                            .type = a->type,
                            .dim = a->dim,
                            .n = n,
                            .points = points,
                            .parts = 1,
                            .memory = site->memory,
                            .staged = site->staged};
}

static layout layout_of(const dvt_neighbors_site *site, const dvt_neighbors *a) {
  const kind *k = kind_of(a->type, a->dim);
  const tree t = tree_of(a->n);
  const int64_t longest = dvt_at_least(a->n, a->m);
  const dvt_closest_site box = box_site(site, a, a->points, a->n);
  const size_t counts = dvt_scan_bytes(DAVIT_INT32, tiles_of(longest) * DIGITS),
               offsets = dvt_scan_bytes(DAVIT_INT64, a->m);
  layout l = {.work = dvt_closest_bytes(&box, DVT_CLOSEST_BOX)};
  l.leaves = l.work + dvt_aligned_up(sizeof(work));
  l.nodes = l.leaves + dvt_aligned_up((size_t)t.leaf_count * k->leaf_bytes);
  l.keys = l.nodes + dvt_aligned_up((size_t)(t.first[t.levels - 1] + 1) * k->node_bytes);
  l.indices = l.keys + 2 * dvt_aligned_up((size_t)longest * sizeof(uint64_t));
  l.counts = l.indices + 2 * dvt_aligned_up((size_t)longest * sizeof(uint32_t));
  l.words =
      l.counts + dvt_aligned_up(site->gpu ? (size_t)tiles_of(longest) * DIGITS * sizeof(uint32_t)
                                          : (size_t)site->threads * sizeof(uint32_t) << DIGIT_BITS_HOST);
  const bool spans = a->task == DVT_NEIGHBORS_SPAN, labels = spans || a->task == DVT_NEIGHBORS_CLUSTER;
  l.halves = l.words + (spans ? WORDS * dvt_aligned_up((size_t)a->n * sizeof(uint64_t)) : 0);
  l.labels = l.halves + (labels ? HALVES * dvt_aligned_up((size_t)a->n * sizeof(uint32_t)) : 0);
  l.slots =
      l.labels + (labels ? dvt_aligned_up((size_t)(t.first[t.levels - 1] + 1) * FAN * sizeof(uint32_t)) : 0);
  l.end = l.slots + (!site->gpu ? 0 : counts > offsets ? counts : offsets);
  return l;
}

size_t dvt_neighbors_bytes(const dvt_neighbors_site *site, const dvt_neighbors *a) {
  return layout_of(site, a).end;
}

/* ---- steps ---- */

typedef struct run {
  const dvt_neighbors_site *site;
  dvt_here here;
  const kind *kind;
  work *w;    /* the host's */
  work *used; /* the one that the steps use: on a GPU its copy */
  char *slots;
} run;

static davit_status run_teams(const run *r, const action *action, int64_t teams, int threads, int64_t a,
                              int64_t b) {
  const dvt_neighbors_site *site = r->site;
  const int some = (int)dvt_at_most(teams, site->teams);
  if (site->stream)
    return dvt_launch(action->kernel, site->stream, some, threads, 0, DVT_ARGUMENTS(r->used, a, b));
  action->region(site->device, some, r->used, a, b);
  return DAVIT_SUCCESS;
}

static davit_status run_action(const run *r, const action *action, int64_t count, int64_t a, int64_t b) {
  const dvt_neighbors_site *site = r->site;
  if (site->gpu)
    return run_teams(r, action, dvt_divide_up(count, THREADS), THREADS, a, b);
#pragma omp parallel num_threads(site->threads)
  action->host(r->used, a, b);
  return DAVIT_SUCCESS;
}

static davit_status run_step(const run *r, step which, int64_t count, int64_t a, int64_t b) {
  return run_action(r, &r->kind->step[which], count, a, b);
}

static davit_status run_plain(const run *r, plain_step which, int64_t count, int64_t a, int64_t b) {
  return run_action(r, &plain_steps[which], count, a, b);
}

/* A GPU gets the host's arguments, or gives back what its steps have written there. Waits for the steps before. */
static davit_status copy_work(const run *r, bool in) {
  const dvt_neighbors_site *site = r->site;
  const size_t bytes = sizeof *r->w;
  if (!site->gpu)
    return DAVIT_SUCCESS;
  if (!site->stream)
    return dvt_space_copy(in ? r->used : r->w, bytes, in ? site->device : DAVIT_PAGEABLE, in ? r->w : r->used,
                          bytes, in ? DAVIT_PAGEABLE : site->device, bytes, 1);
  if (in)
    memcpy(site->staged, r->w, bytes);
  davit_status status = in ? dvt_stream_copy_bytes(site->stream, r->used, site->staged, bytes)
                           : dvt_stream_copy_bytes(site->stream, site->staged, r->used, bytes),
               end = dvt_stream_synchronize(site->stream);
  if (status == DAVIT_SUCCESS && end == DAVIT_SUCCESS && !in)
    memcpy(r->w, site->staged, bytes);
  return status == DAVIT_SUCCESS ? end : status;
}

/* ---- the sort ---- */

/* Sorts by the lowest bits of the keys. */
static davit_status sort_by_key(const run *r, int bits) {
  work *w = r->w;
  const int step = r->site->gpu ? DIGIT_BITS : DIGIT_BITS_HOST;
  for (int shift = 0; shift < bits; shift += step) {
    if (r->site->gpu)
      DVT_TRY(sort_digit_there(&r->here, r->site->teams, r->used, w->order.count, w->counts, r->slots,
                               w->sorted, shift));
    else
      sort_digit_here(w, r->site->threads, shift);
    w->sorted = 1 - w->sorted;
  }
  return DAVIT_SUCCESS;
}

/* The words of the keys, from the last on. */
static int64_t words_of(const work *w) {
  return dvt_divide_up(8 * (int64_t)davit_type_bytes(w->a.type), cell_bits(w->a.dim));
}

static davit_status sort(const run *r, const void *points, int64_t count, bool by_bits) {
  work *w = r->w;
  const int64_t last = by_bits ? words_of(w) - 1 : -1, first = by_bits ? 0 : -1;
  w->order.points = points;
  w->order.count = count;
  w->sorted = 0;
  for (int64_t word = last; word >= first; word--) {
    w->word = word;
    DVT_TRY(copy_work(r, true));
    DVT_TRY(run_step(r, KEYS, count, w->sorted, word == last));
    DVT_TRY(sort_by_key(r, w->a.dim * cell_bits(w->a.dim)));
  }
  return DAVIT_SUCCESS;
}

/* ---- the work ---- */

static davit_status find_box(const dvt_neighbors_site *site, const dvt_neighbors *a, const void *points,
                             int64_t n, const char *name, const char *one, int64_t first,
                             dvt_closest_state *s) {
  const dvt_closest_site box = box_site(site, a, points, n);
  *s = (dvt_closest_state){.bad = INT64_MAX};
  DVT_TRY(dvt_closest_perform(&box, DVT_CLOSEST_BOX, s));
  return s->bad < n ? davit_fail(DAVIT_INVALID_ARGUMENT, "%s: %s %lld has a coordinate that is not finite",
                                 name, one, (long long)(s->bad + first))
                    : DAVIT_SUCCESS;
}

static davit_status build(const run *r, const dvt_closest_state *box) {
  work *w = r->w;
  for (int k = 0; k < w->a.dim; k++) {
    const double half = box->high[k] / 2 - box->low[k] / 2;
    w->low[k] = box->low[k];
    w->half = half > w->half ? half : w->half;
  }
  for (int by_bits = 0; by_bits < 2; by_bits++) {
    w->crowded = 0;
    DVT_TRY(sort(r, w->a.points, w->a.n, by_bits));
    DVT_TRY(run_step(r, LEAVES, w->tree.leaf_count, w->sorted, 0));
    const int64_t sorted = w->sorted;
    DVT_TRY(copy_work(r, false)); /* the GPU's does not know where the sort has ended */
    w->sorted = sorted;
    if (w->crowded <= w->tree.leaf_count / 16)
      break;
  }
  for (int level = 1; level < w->tree.levels; level++)
    DVT_TRY(run_step(r, LEVEL, w->tree.count[level - 1], level, 0));
  return DAVIT_SUCCESS;
}

static step list_of(int64_t k) {
  return k <= 8 ? LIST_8 : k <= 12 ? LIST_12 : k <= 16 ? LIST_16 : LIST_32;
}

static davit_status find_nearest(const run *r) {
  const dvt_neighbors *a = &r->w->a;
  const bool lists = a->k <= (r->site->gpu && a->dim == 2 ? LIST_IN_PLANE : LIST);
  const int64_t warps = r->site->gpu ? pool_warps(a->k) : 0;
  if (!lists && warps > 0)
    return run_teams(r, &r->kind->pooled, dvt_divide_up(a->m, warps), 32 * (int)warps, warps, 0);
  return run_step(r, lists ? list_of(a->k) : HEAP, a->m, 0, 0);
}

/* Numbers of neighbours become offsets. */
static davit_status add_up(const run *r) {
  const dvt_neighbors *a = &r->w->a;
  DVT_TRY(dvt_fill_words(&r->here, (uint32_t *)(void *)a->offsets, 2, 0));
  return dvt_scan_here(&r->here, DAVIT_INT64, a->offsets + 1, a->m, r->slots);
}

/* Before anything is written: whether each row is as long as what is within the radius. */
static davit_status check_rows(const run *r) {
  DVT_TRY(run_step(r, CHECK, r->w->a.m, 0, 0));
  DVT_TRY(copy_work(r, false));
  return r->w->wrong == INT64_MAX
             ? DAVIT_SUCCESS
             : davit_fail(DAVIT_INVALID_ARGUMENT,
                          "offsets: the row of query %lld is not as long as the radius wants",
                          (long long)(r->w->a.first + r->w->wrong));
}

static davit_status search(const run *r) {
  work *w = r->w;
  const dvt_neighbors *a = &w->a;
  const char *queries =
      a->queries ? a->queries : (const char *)a->points + (size_t)a->first * r->kind->point_bytes;
  w->own_order = !a->queries && a->m == a->n;
  w->wrong = INT64_MAX;
  if (!w->own_order)
    DVT_TRY(sort(r, queries, a->m, w->word >= 0));
  DVT_TRY(copy_work(r, true));
  if (a->task == DVT_NEIGHBORS_NEAREST)
    DVT_TRY(find_nearest(r));
  if (a->task == DVT_NEIGHBORS_COUNT) {
    DVT_TRY(run_step(r, COUNT, a->m, 0, 0));
    DVT_TRY(add_up(r));
  }
  if (a->task == DVT_NEIGHBORS_WITHIN) {
    DVT_TRY(check_rows(r));
    DVT_TRY(run_step(r, ROWS, a->m, 0, 0));
  }
  return copy_work(r, false);
}

static work begin_work(const dvt_neighbors_site *site, const dvt_neighbors *a) {
  const layout l = layout_of(site, a);
  char *memory = site->memory;
  const size_t longest = (size_t)dvt_at_least(a->n, a->m);
  work w = {
      .a = *a,
      .order = {.key = {(uint64_t *)(void *)(memory + l.keys),
                        (uint64_t *)(void *)(memory + l.keys + dvt_aligned_up(longest * sizeof(uint64_t)))},
                .index = {(uint32_t *)(void *)(memory + l.indices),
                          (uint32_t *)(void *)(memory + l.indices +
                                               dvt_aligned_up(longest * sizeof(uint32_t)))}},
      .tree = tree_of(a->n),
      .counts = (uint32_t *)(void *)(memory + l.counts)};
  w.tree.leaves = memory + l.leaves;
  w.tree.nodes = memory + l.nodes;
  return w;
}

static run run_of(const dvt_neighbors_site *site, work *w) {
  const layout l = layout_of(site, &w->a);
  char *memory = site->memory;
  return (run){.site = site,
               .here = {site->device, site->gpu, site->threads, site->stream},
               .kind = kind_of(w->a.type, w->a.dim),
               .w = w,
               .used = site->gpu ? (work *)(void *)(memory + l.work) : w,
               .slots = memory + l.slots};
}

/* ---- the minimum spanning tree ---- */

/* The `at`-th array of half a word, or of a word, for each point. */
static uint32_t *halves_of(const run *r, int at) {
  const size_t bytes = dvt_aligned_up((size_t)r->w->a.n * sizeof(uint32_t));
  return (uint32_t *)(void *)((char *)r->site->memory + layout_of(r->site, &r->w->a).halves +
                              (size_t)at * bytes);
}

static void *words_of_points(const run *r, int at) {
  const size_t bytes = dvt_aligned_up((size_t)r->w->a.n * sizeof(uint64_t));
  return (char *)r->site->memory + layout_of(r->site, &r->w->a).words + (size_t)at * bytes;
}

static uint32_t *labels_of(const run *r) {
  return (uint32_t *)(void *)((char *)r->site->memory + layout_of(r->site, &r->w->a).labels);
}

/* Arrays of the sort serve the components meanwhile. */
static forest forest_of(const run *r) {
  const work *w = r->w;
  return (forest){.components = w->a.n,
                  .number = w->order.index[w->sorted],
                  .component = halves_of(r, 0),
                  .nearest = halves_of(r, 1),
                  .list = halves_of(r, 2),
                  .next = halves_of(r, 3),
                  .rank = halves_of(r, 4),
                  .distance = words_of_points(r, 0),
                  .length = words_of_points(r, 1),
                  .edge = words_of_points(r, 2),
                  .label = labels_of(r),
                  .bound = w->order.key[0],
                  .pair = w->order.key[1]};
}

static davit_status choose_edges(const run *r) {
  const work *w = r->w;
  const tree *t = &w->tree;
  for (int level = 0; level < t->levels; level++)
    DVT_TRY(run_plain(r, MARK, level > 0 ? t->count[level - 1] : t->leaf_count, level, 0));
  DVT_TRY(run_plain(r, RESET, w->forest.components, 0, 0));
  DVT_TRY(run_step(r, KNOWN, t->n, 0, 0));
  if (r->site->gpu)
    DVT_TRY(run_step(r, PICK, t->leaf_count, 0, 0));
  DVT_TRY(run_step(r, LEAVE, t->n, 0, 0));
  DVT_TRY(run_plain(r, CHOOSE, t->n, 0, 0));
  return run_plain(r, HOOK, t->n, 0, 0);
}

static davit_status join_components(const run *r) {
  const forest *f = &r->w->forest;
  DVT_TRY(run_plain(r, ROOT, f->components, 0, 0));
  DVT_TRY(dvt_scan_here(&r->here, DAVIT_INT32, f->rank, f->components, r->slots));
  DVT_TRY(run_plain(r, EMIT, f->components, 0, 0));
  for (int pass = 0; pass < JUMP_PASSES; pass++)
    DVT_TRY(run_plain(r, JUMP, f->components, 0, 0));
  return run_plain(r, RELABEL, r->w->tree.n, 0, 0);
}

static davit_status sort_edges(const run *r) {
  work *w = r->w;
  const int64_t count = w->a.n - 1;
  const int bits = 64 - __builtin_clzll((uint64_t)count | 1);
  w->order.count = count;
  w->sorted = 0;
  DVT_TRY(copy_work(r, true));
  DVT_TRY(run_plain(r, EDGE_KEYS, count, w->sorted, bits));
  DVT_TRY(sort_by_key(r, 2 * bits));
  DVT_TRY(run_plain(r, EDGE_KEYS, count, w->sorted, 0));
  DVT_TRY(sort_by_key(r, 64));
  return run_plain(r, EDGES, count, w->sorted, 0);
}

static davit_status span(const run *r) {
  work *w = r->w;
  forest *f = &w->forest;
  *f = forest_of(r);
  DVT_TRY(copy_work(r, true));
  DVT_TRY(run_plain(r, BEGIN, w->a.n, 0, 0));
  while (f->components > 1) {
    f->picked = 0;
    DVT_TRY(copy_work(r, true));
    DVT_TRY(choose_edges(r));
    DVT_TRY(join_components(r));
    DVT_TRY(copy_work(r, false));
    f->found += f->components - f->roots;
    f->components = f->roots;
  }
  if (w->a.n > 1)
    DVT_TRY(sort_edges(r));
  return copy_work(r, false);
}

/* ---- clusters ---- */

static davit_status cluster(const run *r) {
  work *w = r->w;
  const tree *t = &w->tree;
  w->clusters = (clusters){.number = w->order.index[w->sorted],
                           .parent = halves_of(r, 0),
                           .first = halves_of(r, 1),
                           .cluster = halves_of(r, 2),
                           .rank = halves_of(r, 3),
                           .label = labels_of(r)};
  DVT_TRY(copy_work(r, true));
  DVT_TRY(run_step(r, CORE, t->n, 0, 0));
  for (int level = 0; level < t->levels; level++)
    DVT_TRY(run_step(r, TIGHT, level > 0 ? t->count[level - 1] : t->leaf_count, level, 0));
  DVT_TRY(run_step(r, JOIN, t->n, 0, 0));
  DVT_TRY(run_plain(r, CLUSTER_FIRST, t->n, 0, 0));
  DVT_TRY(run_plain(r, CLUSTER_MARK, t->n, 0, 0));
  DVT_TRY(dvt_scan_here(&r->here, DAVIT_INT32, w->clusters.rank, t->n, r->slots));
  DVT_TRY(run_plain(r, CLUSTER_NAME, t->n, 0, 0));
  DVT_TRY(run_step(r, BORDER, t->n, 0, 0));
  DVT_TRY(copy_work(r, false));
  *w->a.clusters = w->clusters.count;
  return DAVIT_SUCCESS;
}

/* ---- the task ---- */

davit_status dvt_neighbors_perform(const dvt_neighbors_site *site, const dvt_neighbors *a) {
  dvt_closest_state points, queries;
  DVT_TRY(find_box(site, a, a->points, a->n, "points", "point", 0, &points));
  if (a->queries)
    DVT_TRY(find_box(site, a, a->queries, a->m, "queries", "query", a->first, &queries));
  work w = begin_work(site, a);
  const run r = run_of(site, &w);
  DVT_TRY(build(&r, &points));
  return a->task == DVT_NEIGHBORS_SPAN      ? span(&r)
         : a->task == DVT_NEIGHBORS_CLUSTER ? cluster(&r)
                                            : search(&r);
}
