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

int64_t dvt_ref_neighbors(davit_type type, int dim, int64_t n, const void *points, const void *queries,
                          int64_t query, double radius, int64_t room, int64_t *indices, double *distances) {
  const void *from = queries ? queries : points;
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) {
    double d[3] = {0};
    for (int k = 0; k < dim; k++)
      d[k] = coordinate(type, from, query * dim + k) - coordinate(type, points, i * dim + k);
    const double distance = dvt_pair_distance(d[0], d[1], d[2]);
    if (distance <= radius && (queries || i != query))
      insert(room, count++, distance, i, indices, distances);
  }
  return count;
}
