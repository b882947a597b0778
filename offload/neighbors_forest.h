/* SPDX-License-Identifier: Apache-2.0 */
/* Borůvka's rounds: each component takes the first edge that leads out of it, in the order of (distance, i, j). No two
 * edges are equal in that order, so edges close no circle but that of two components that take the same edge. What does
 * not depend on the kind of points is here, the same on the CPU and on GPUs; the search for the nearest point of
 * another component is in neighbors_forest.inc. */
#ifndef DAVIT_OFFLOAD_NEIGHBORS_FOREST_H
#define DAVIT_OFFLOAD_NEIGHBORS_FOREST_H

#include "offload/neighbors_work.h"

enum {
  JUMPS =
      256, /* steps towards the root that a pass makes at most; what it finds, the next pass begins with */
  JUMP_PASSES = 4 /* JUMPS^JUMP_PASSES is the most components that there are */
};

static const uint64_t no_bound = UINT64_C(0x7ff0000000000000); /* infinity */

/* Each point is a component. */
INLINE void forest_begin_body(work *w, int64_t unused, int64_t unused_too) {
  const forest *f = &w->forest;
  (void)unused, (void)unused_too;
  FOR_OWN(p, w->tree.n) {
    f->component[p] = (uint32_t)p;
    f->nearest[p] = nobody;
    f->distance[p] = 0;
  }
}

/* Labels of the children of a level, which are leaves or the nodes of the level below. */
INLINE void forest_mark_body(work *w, int64_t level, int64_t unused) {
  const tree *t = &w->tree;
  const forest *f = &w->forest;
  const int64_t below = level > 0 ? t->leaf_count : t->n;
  const int64_t children = level > 0 ? t->count[level - 1] : t->leaf_count,
                all = level > 1 ? t->count[level - 2] : below;
  const uint32_t *from = level > 0 ? f->label + t->first[level - 1] * FAN : f->component;
  (void)unused;
  FOR_OWN(child, children) {
    const uint32_t *own = from + child * FAN, one = own[0];
    const int64_t count = all - child * FAN < FAN ? all - child * FAN : FAN;
    bool same = true;
    for (int64_t c = 1; c < count; c++)
      same = same && own[c] == one;
    f->label[t->first[level] * FAN + child] = same ? one : nobody;
  }
}

INLINE void forest_reset_body(work *w, int64_t unused, int64_t unused_too) {
  const forest *f = &w->forest;
  (void)unused, (void)unused_too;
  FOR_OWN(c, f->components) {
    f->bound[c] = no_bound;
    f->pair[c] = UINT64_MAX;
  }
}

/* Whether the way out of its component may begin at the point, as far as is known. */
INLINE bool has_to_search(const forest *f, int64_t p) {
  return f->nearest[p] == nobody && f->distance[p] <= bound_of(f, f->component[p]);
}

INLINE uint64_t pair_of(uint32_t a, uint32_t b) {
  return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

/* The edge of point p, if it is as long as that of its component. */
INLINE bool edge_of(const forest *f, int64_t p, uint64_t *pair) {
  const uint32_t nearest = f->nearest[p];
  if (nearest == nobody || bits_of(f->distance[p]) != f->bound[f->component[p]])
    return false;
  *pair = pair_of(f->number[p], f->number[nearest]);
  return true;
}

INLINE void forest_choose_body(work *w, int64_t unused, int64_t unused_too) {
  const forest *f = &w->forest;
  (void)unused, (void)unused_too;
  FOR_OWN(p, w->tree.n) {
    uint64_t pair;
    if (edge_of(f, p, &pair))
      lower_shared(&f->pair[f->component[p]], pair);
  }
}

/* Of a component's edge one end is in the component. */
INLINE void forest_hook_body(work *w, int64_t unused, int64_t unused_too) {
  const forest *f = &w->forest;
  (void)unused, (void)unused_too;
  FOR_OWN(p, w->tree.n) {
    uint64_t pair;
    if (edge_of(f, p, &pair) && pair == f->pair[f->component[p]])
      f->next[f->component[p]] = f->component[f->nearest[p]];
  }
}

/* Of two components that take the same edge the first becomes a root. */
INLINE void forest_root_body(work *w, int64_t unused, int64_t unused_too) {
  const forest *f = &w->forest;
  (void)unused, (void)unused_too;
  FOR_OWN(c, f->components) {
    const uint32_t next = load_shared(&f->next[c]);
    const bool root = (uint32_t)c < next && load_shared(&f->next[next]) == (uint32_t)c;
    if (root)
      store_shared(&f->next[c], (uint32_t)c);
    f->rank[c] = root;
  }
}

/* The edges of all but the roots. Ranks are sums now. */
INLINE void forest_emit_body(work *w, int64_t unused, int64_t unused_too) {
  forest *f = &w->forest;
  (void)unused, (void)unused_too;
  FOR_OWN(c, f->components) {
    const int64_t place = f->found + c - f->rank[c];
    if (c == f->components - 1)
      f->roots = f->rank[c];
    if (f->next[c] == (uint32_t)c)
      continue;
    f->length[place] = f->bound[c];
    f->edge[place] = f->pair[c];
  }
}

/* Towards the roots. */
INLINE void forest_jump_body(work *w, int64_t unused, int64_t unused_too) {
  const forest *f = &w->forest;
  (void)unused, (void)unused_too;
  FOR_OWN(c, f->components) {
    uint32_t at = load_shared(&f->next[c]), next = nobody;
    for (int jump = 0; jump < JUMPS && (next = load_shared(&f->next[at])) != at; jump++)
      at = next;
    store_shared(&f->next[c], at);
  }
}

INLINE void forest_relabel_body(work *w, int64_t unused, int64_t unused_too) {
  const forest *f = &w->forest;
  (void)unused, (void)unused_too;
  FOR_OWN(p, w->tree.n) {
    f->component[p] = f->rank[f->next[f->component[p]]] - 1;
  }
}

/* The keys of the edges by their ends, packed in `bits` each, or by their lengths, in the order so far. */
INLINE void forest_edge_keys_body(work *w, int64_t from, int64_t bits) {
  const forest *f = &w->forest;
  const order *o = &w->order;
  FOR_OWN(e, o->count) {
    if (bits > 0)
      o->index[from][e] = (uint32_t)e;
    const uint64_t edge = f->edge[o->index[from][e]];
    o->key[from][e] = bits > 0 ? edge >> 32 << bits | (uint32_t)edge : f->length[o->index[from][e]];
  }
}

INLINE void forest_edges_body(work *w, int64_t from, int64_t unused) {
  const forest *f = &w->forest;
  const order *o = &w->order;
  (void)unused;
  FOR_OWN(e, o->count) {
    const uint64_t edge = f->edge[o->index[from][e]];
    w->a.edges[e] = (davit_closest_pair_result){(int64_t)(edge >> 32), (int64_t)(uint32_t)edge,
                                                distance_of(f->length[o->index[from][e]])};
  }
}

#define FOREST_STEPS(X)                                                                                      \
  X(BEGIN, forest_begin)                                                                                     \
  X(MARK, forest_mark)                                                                                       \
  X(RESET, forest_reset)                                                                                     \
  X(CHOOSE, forest_choose)                                                                                   \
  X(HOOK, forest_hook)                                                                                       \
  X(ROOT, forest_root)                                                                                       \
  X(EMIT, forest_emit)                                                                                       \
  X(JUMP, forest_jump)                                                                                       \
  X(RELABEL, forest_relabel)                                                                                 \
  X(EDGE_KEYS, forest_edge_keys)                                                                             \
  X(EDGES, forest_edges)

#endif
