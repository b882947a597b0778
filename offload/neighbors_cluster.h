/* SPDX-License-Identifier: Apache-2.0 */
/* DBSCAN. Sets of core points are trees of parents, each a lower position, of the position of the set; a point that is
 * no core point has none. Any thread joins two sets by pointing the higher root to the lower one, so that the sets do
 * not depend on the order. What does not depend on the kind of points is here, the searches are in
 * neighbors_cluster.inc.
 * Source: Prokopenko, Lebrun-Grandie, Arndt, Fast Tree-Based Algorithms for DBSCAN on GPUs (2021); here the tree's
 * boxes serve as its dense cells. */
#ifndef DAVIT_OFFLOAD_NEIGHBORS_CLUSTER_H
#define DAVIT_OFFLOAD_NEIGHBORS_CLUSTER_H

#include "offload/neighbors_work.h"

/* Of the core points of each set the first in the caller's order is known afterwards, and the parent of each is its
 * root.
 * Nobody else may change a parent meanwhile: one that was halved late would lead to a point on the way. */
INLINE void cluster_first_body(work *w, int64_t unused, int64_t unused_too) {
  const clusters *s = &w->clusters;
  (void)unused, (void)unused_too;
  FOR_OWN(p, w->tree.n) {
    uint32_t root = load_shared(&s->parent[p]), next = root;
    if (root == nobody)
      continue;
    while ((next = load_shared(&s->parent[root])) != root)
      root = next;
    store_shared(&s->parent[p], root);
    if (s->number[p] < load_shared(&s->first[root]))
      __scoped_atomic_fetch_min(&s->first[root], s->number[p], __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  }
}

/* A one for the first core point of each set, in the caller's order, and 0 for all other points. */
INLINE void cluster_mark_body(work *w, int64_t unused, int64_t unused_too) {
  const clusters *s = &w->clusters;
  (void)unused, (void)unused_too;
  FOR_OWN(p, w->tree.n) {
    const uint32_t parent = s->parent[p];
    s->rank[s->number[p]] = parent != nobody && s->first[parent] == s->number[p];
  }
}

/* Labels of core points. The ones are sums now. */
INLINE void cluster_name_body(work *w, int64_t unused, int64_t unused_too) {
  clusters *s = &w->clusters;
  (void)unused, (void)unused_too;
  FOR_OWN(p, w->tree.n) {
    const uint32_t parent = s->parent[p];
    if (p == w->tree.n - 1)
      s->count = s->rank[p];
    if (parent == nobody)
      continue;
    s->cluster[p] = s->rank[s->first[parent]] - 1;
    w->a.labels[s->number[p]] = s->cluster[p];
  }
}

#define CLUSTER_STEPS(X)                                                                                     \
  X(CLUSTER_FIRST, cluster_first)                                                                            \
  X(CLUSTER_MARK, cluster_mark)                                                                              \
  X(CLUSTER_NAME, cluster_name)

#endif
