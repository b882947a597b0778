/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbours on the CPU in the plainest way: each query is compared with all points. */
#include "ref/closest_pair.h"
#include "ref/ref.h"

static double coordinate(davit_type type, const void *points, int64_t at) {
  return type == DAVIT_DOUBLE ? ((const double *)points)[at] : (double)((const float *)points)[at];
}

static bool comes_before(double distance, int64_t index, double than, int64_t last) {
  return distance < than || (distance == than && index < last);
}

/* A row in order, of `room` places of which `count` are taken: the last falls out where it is full. */
static void insert(int64_t room, int64_t count, double distance, int64_t index, int64_t *indices,
                   double *distances) {
  int64_t at = count < room ? count : room;
  if (at == room && (room == 0 || !comes_before(distance, index, distances[room - 1], indices[room - 1])))
    return;
  at -= at == room;
  for (; at > 0 && comes_before(distance, index, distances[at - 1], indices[at - 1]); at--) {
    indices[at] = indices[at - 1];
    distances[at] = distances[at - 1];
  }
  indices[at] = index;
  distances[at] = distance;
}

static double between(davit_type type, int dim, const void *from, int64_t query, const void *points,
                      int64_t i) {
  double d[3] = {0};
  for (int k = 0; k < dim; k++)
    d[k] = coordinate(type, from, query * dim + k) - coordinate(type, points, i * dim + k);
  return dvt_pair_distance(d[0], d[1], d[2]);
}

int64_t dvt_ref_neighbors(davit_type type, int dim, int64_t n, const void *points, const void *queries,
                          int64_t query, double radius, int64_t room, int64_t *indices, double *distances) {
  const void *from = queries ? queries : points;
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) {
    const double distance = between(type, dim, from, query, points, i);
    if (distance <= radius && (queries || i != query))
      insert(room, count++, distance, i, indices, distances);
  }
  return count;
}

/* By (distance, i, j), whichever end comes first. */
static bool edge_before(const davit_closest_pair_result *a, const davit_closest_pair_result *b) {
  const int64_t i = b->i < b->j ? b->i : b->j, j = b->i < b->j ? b->j : b->i;
  const davit_closest_pair_result than = {i, j, b->distance};
  return dvt_pair_before(a->distance, a->i < a->j ? a->i : a->j, a->i < a->j ? a->j : a->i, &than);
}

/* Prim's: the tree grows from point 0. */
void dvt_ref_emst(davit_type type, int dim, int64_t n, const void *points, davit_closest_pair_result *edges) {
  /* edges[e] is the first edge from the tree to the point that is its i, for now, of those that the tree has not. */
  for (int64_t e = 0; e < n - 1; e++)
    edges[e] = (davit_closest_pair_result){e + 1, 0, between(type, dim, points, 0, points, e + 1)};
  for (int64_t e = 0; e < n - 1; e++) {
    int64_t first = e;
    for (int64_t other = e + 1; other < n - 1; other++)
      first = edge_before(&edges[other], &edges[first]) ? other : first;
    const davit_closest_pair_result taken = edges[first];
    edges[first] = edges[e];
    edges[e] = taken;
    for (int64_t other = e + 1; other < n - 1; other++) {
      const davit_closest_pair_result way = {edges[other].i, taken.i,
                                             between(type, dim, points, edges[other].i, points, taken.i)};
      if (edge_before(&way, &edges[other]))
        edges[other] = way;
    }
  }
  for (int64_t e = 0; e < n - 1; e++) {
    const davit_closest_pair_result edge = edges[e];
    edges[e].i = edge.i < edge.j ? edge.i : edge.j;
    edges[e].j = edge.i < edge.j ? edge.j : edge.i;
  }
  if (n > 1)
    dvt_ref_pairs_sort(edges, n - 1, n - 1, 1);
}
