/* SPDX-License-Identifier: Apache-2.0 */
/* Boruvka's rounds: each tree of the forest takes the first edge that leads out of it, in the order of
 * (distance, i, j). No two edges are equal in that order, so the edges never close a circle. */
#ifndef DAVIT_OFFLOAD_NEIGHBORS_FOREST_H
#define DAVIT_OFFLOAD_NEIGHBORS_FOREST_H

#include "offload/neighbors_work.h"

static const uint64_t no_bound = UINT64_C(0x7ff0000000000000); /* infinity */

/* Each point is a tree. */
static void begin_forest(const forest *f, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    f->tree_of[i] = (uint32_t)i;
    f->nearest[i] = nobody;
    f->bound[i] = no_bound;
  }
}

/* Between the rounds `tree_of` leads to a lower number, or to itself at the lowest of a tree. */
static uint32_t root_of(const forest *f, uint32_t i) {
  while (f->tree_of[i] != i)
    i = f->tree_of[i] = f->tree_of[f->tree_of[i]];
  return i;
}

static davit_closest_pair_result edge_of(const forest *f, uint64_t i) {
  const int64_t a = (int64_t)i, b = f->nearest[i];
  return (davit_closest_pair_result){a < b ? a : b, a < b ? b : a, f->distance[i]};
}

/* In the place of its bound each tree gets the point from which its first edge leads. */
static void choose_edges(const forest *f, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    f->bound[i] = UINT64_MAX;
  for (int64_t i = 0; i < n; i++) {
    const uint32_t root = f->tree_of[i];
    if (f->nearest[i] == nobody)
      continue;
    const davit_closest_pair_result edge = edge_of(f, (uint64_t)i), best = f->bound[root] == UINT64_MAX
                                                                               ? DVT_NO_PAIR
                                                                               : edge_of(f, f->bound[root]);
    if (dvt_pair_before(edge.distance, edge.i, edge.j, &best))
      f->bound[root] = (uint64_t)i;
  }
}

/* What is known for the next round: a tree's bound is the shortest way out that its points know. */
static void begin_round(const forest *f, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    f->tree_of[i] = f->tree_of[f->tree_of[i]]; /* lower numbers lead to roots already */
    f->bound[i] = no_bound;
  }
  for (int64_t i = 0; i < n; i++) {
    if (f->nearest[i] != nobody && f->tree_of[f->nearest[i]] == f->tree_of[i])
      f->nearest[i] = nobody;
    if (f->nearest[i] != nobody)
      lower_bound_of(f, f->tree_of[i], f->distance[i]);
  }
}

/* Adds the edges to those found before; how many there are now. */
static int64_t join_trees(const forest *f, int64_t n, davit_closest_pair_result *edges, int64_t found) {
  choose_edges(f, n);
  for (int64_t i = 0; i < n; i++) {
    if (f->bound[i] == UINT64_MAX)
      continue;
    const davit_closest_pair_result edge = edge_of(f, f->bound[i]);
    const uint32_t a = root_of(f, (uint32_t)edge.i), b = root_of(f, (uint32_t)edge.j);
    if (a == b)
      continue;
    f->tree_of[a > b ? a : b] = a > b ? b : a;
    edges[found++] = edge;
  }
  begin_round(f, n);
  return found;
}

#endif
