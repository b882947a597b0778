/* SPDX-License-Identifier: Apache-2.0 */
/* The points are counted in the cells of a grid over their box. Two cells whose corners are within the radius, however
 * the points lie in them, give the product of their counts, and such a cell by itself n (n - 1) / 2. The finer the
 * cells, the better the bound, and the more pairs of cells there are: `parts` of the radius are the longest side of a
 * cell. Distances have 1e-6 to spare, so that rounding does not matter. */
#include "src/cli/pairs_bound.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "src/base/allocate.h"
#include "src/base/arithmetic.h"

enum { DIMS = 3, MOST_PARTS = 32, LEAST_PARTS = 2 };
static const double most_cells = 1 << 20, most_work = 1 << 26; /* pairs of cells */

typedef struct grid {
  double low[DIMS], extent[DIMS], side[DIMS];
  int64_t cells[DIMS]; /* at least 1 */
  int64_t all;         /* their product */
  int reach;           /* cells in each direction that may be within the radius */
  int64_t *count;      /* of points in each cell, the first axis fastest */
} grid;

static double coordinate(const cli_coordinates *c, int64_t i, int axis) {
  return axis < c->dim ? (double)cli_number(&c->points, i * c->dim + axis) : 0;
}

static void find_box(const cli_coordinates *c, grid *g) {
  for (int axis = 0; axis < DIMS; axis++) {
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < c->n && axis < c->dim; i++) {
      const double at = coordinate(c, i, axis);
      low = fmin(low, at);
      high = fmax(high, at);
    }
    g->low[axis] = axis < c->dim ? low : 0;
    g->extent[axis] = axis < c->dim ? high - low : 0;
  }
}

/* Cells of at most radius / parts; false if there are too many of them, or of their pairs, or they are too small. */
static bool cut(double radius, int parts, grid *g) {
  double all = 1, work = 1;
  for (int axis = 0; axis < DIMS; axis++) {
    const double cells = g->extent[axis] > 0 ? fmax(ceil(g->extent[axis] / radius * parts), 1) : 1;
    all *= cells;
    work *= cells > 1 ? 2 * parts + 1 : 1;
    if (!(all <= most_cells))
      return false;
    g->cells[axis] = (int64_t)cells;
    g->side[axis] = g->extent[axis] / cells;
    if (cells > 1 && g->side[axis] < DBL_MIN)
      return false;
  }
  g->all = (int64_t)all;
  g->reach = parts;
  return all * work <= most_work;
}

static int64_t cell_of(const cli_coordinates *c, const grid *g, int64_t i) {
  int64_t cell = 0;
  for (int axis = c->dim - 1; axis >= 0; axis--) {
    const double at = g->side[axis] > 0 ? (coordinate(c, i, axis) - g->low[axis]) / g->side[axis] : 0;
    cell = cell * g->cells[axis] + dvt_at_most((int64_t)at, g->cells[axis] - 1);
  }
  return cell;
}

/* How far apart points may be whose cells are that far from each other. */
static double farthest(const grid *g, const int64_t by[DIMS]) {
  double far = 0;
  for (int axis = 0; axis < DIMS; axis++)
    far = hypot(far, (double)(llabs(by[axis]) + 1) * g->side[axis]);
  return far;
}

/* The pairs of points in cells that are so far from each other. */
static double pairs_of(const grid *g, const int64_t by[DIMS]) {
  const int64_t row = g->cells[0], plane = row * g->cells[1], shift = by[0] + by[1] * row + by[2] * plane;
  double pairs = 0;
  for (int64_t z = dvt_at_least(-by[2], 0); z < g->cells[2] - dvt_at_least(by[2], 0); z++)
    for (int64_t y = dvt_at_least(-by[1], 0); y < g->cells[1] - dvt_at_least(by[1], 0); y++)
      for (int64_t x = dvt_at_least(-by[0], 0); x < row - dvt_at_least(by[0], 0); x++) {
        const int64_t *count = g->count + x + y * row + z * plane;
        pairs += (double)count[0] * (double)(shift ? count[shift] : count[0] - 1);
      }
  return shift ? pairs : pairs / 2;
}

/* Each pair of cells once: the last distance that is not 0 is above it. */
static double sum_pairs(const grid *g, double radius) {
  double pairs = 0;
  int64_t by[DIMS], most[DIMS];
  for (int axis = 0; axis < DIMS; axis++)
    most[axis] = dvt_at_most(g->reach, g->cells[axis] - 1);
  for (by[2] = 0; by[2] <= most[2]; by[2]++)
    for (by[1] = by[2] ? -most[1] : 0; by[1] <= most[1]; by[1]++)
      for (by[0] = by[2] || by[1] ? -most[0] : 0; by[0] <= most[0]; by[0]++)
        if (farthest(g, by) * (1 + 1e-6) <= radius)
          pairs += pairs_of(g, by);
  return pairs;
}

int cli_pairs_at_least(const cli_coordinates *c, double radius, int64_t *pairs) {
  const double all = 0.5 * (double)c->n * (double)(c->n - 1);
  grid g = {.count = NULL};
  int parts = MOST_PARTS;
  find_box(c, &g);
  while (parts >= LEAST_PARTS && !cut(radius, parts, &g))
    parts--;
  *pairs = 0;
  if (parts < LEAST_PARTS)
    return CLI_OK;
  g.count = dvt_allocate((size_t)g.all, sizeof *g.count);
  if (!g.count)
    return cli_fail(CLI_DEVICE, "not enough memory for %lld x %zu bytes", (long long)g.all, sizeof *g.count);
  for (int64_t i = 0; i < c->n; i++)
    g.count[cell_of(c, &g, i)]++;
  const double found = fmin(sum_pairs(&g, radius), all);
  *pairs = found < 0x1p62 ? (int64_t)found : INT64_C(1) << 62;
  free(g.count);
  return CLI_OK;
}
