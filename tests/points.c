/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/points.h"

size_t cloud_bytes(const cloud *c) {
  return (size_t)(c->n * c->dim) * davit_type_bytes(c->type);
}

cloud cloud_new(davit_type type, int dim, int64_t n) {
  cloud c = {"made by hand", type, dim, n, NULL};
  c.points = kept(cloud_bytes(&c));
  return c;
}

void put(const cloud *c, int64_t i, double x, double y, double z) {
  const double at[3] = {x, y, z};
  for (int k = 0; k < c->dim; k++)
    element_set(c->type, c->points, i * c->dim + k, at[k]);
}

double get(const cloud *c, int64_t i, int k) {
  return k < c->dim ? element_at(c->type, c->points, i * c->dim + k) : 0;
}

double uniform(uint64_t *random) {
  return (double)(next_random(random) >> 11) * 0x1p-53;
}

/* ---- generators ---- */

/* Where the i-th point lies. */
typedef struct point {
  double x, y, z;
} point;

/* What a generator is given. `cloud` has the points before the i-th. */
typedef struct draw {
  const cloud *c;
  int64_t i;
  uint64_t *random;
} draw;

static point anywhere(draw d) {
  const double x = uniform(d.random), y = uniform(d.random);
  return (point){x, y, uniform(d.random)};
}

static point moved(point p, double scale, point by) {
  return (point){scale * p.x + by.x, scale * p.y + by.y, scale * p.z + by.z};
}

static double below(draw d, uint64_t most) {
  return (double)(next_random(d.random) % most);
}

static bool is_double(draw d) {
  return d.c->type == DAVIT_DOUBLE;
}

static point both_signs(draw d) {
  return moved(anywhere(d), 2, (point){-1, -1, -1});
}

/* Around the origin and finer and finer. */
static point sharp(draw d) {
  return moved(anywhere(d), ldexp(1, -(int)below(d, 60)), (point){0, 0, 0});
}

static point vertical(draw d) {
  return (point){0.25, uniform(d.random), -3};
}

static point horizontal(draw d) {
  return (point){1e3 * uniform(d.random), 7, 5};
}

static point diagonal(draw d) {
  const double t = uniform(d.random);
  return (point){t, 1 - t, t};
}

static point columns(draw d) {
  return (point){below(d, 5), uniform(d.random), below(d, 3)};
}

/* Distances that are all alike, in an order that is mixed. */
static point lattice(draw d) {
  const int64_t n = d.c->n, side = (int64_t)ceil(pow((double)n, 1.0 / d.c->dim)), step = 1 + 2 * (n % 3);
  const int64_t at = n % step ? d.i * step % n : d.i;
  return (point){(double)(at % side), (double)(at / side % side), (double)(at / side / side)};
}

static point one_place(draw d) {
  const double x = (double)d.c->n * 1e-3;
  return (point){x, -x, 0};
}

/* Zeros of both signs are one place. */
static point zeros(draw d) {
  if (d.i % 7 != 3)
    return (point){(double)d.i, 0, 0};
  return (point){-0.0, below(d, 2) > 0 ? -0.0 : 0.0, 0};
}

static point one_duplicate(draw d) {
  const int64_t from = d.c->n / 3;
  if (d.i + 1 < d.c->n)
    return anywhere(d);
  return (point){get(d.c, from, 0), get(d.c, from, 1), get(d.c, from, 2)};
}

/* Half of the points at a few places, the rest far away. */
static point heaps(draw d) {
  return d.i % 2 ? (point){below(d, 5), 0, 1} : moved(anywhere(d), 1e6, (point){0, 0, 0});
}

static point wide_row(draw d) {
  if (d.i == d.c->n / 2)
    return (point){(double)(d.i - 1) + 0.25, 0, 0};
  return (point){(double)d.i, 1e-3 * uniform(d.random), 1e-3 * uniform(d.random)};
}

static point two_clusters(draw d) {
  const double far = d.i % 2 ? 0 : 1e5;
  return moved(anywhere(d), 1e-2, (point){far, far, 0});
}

/* Clusters of neighbours in the array, far from each other. */
static point clusters(draw d) {
  uint64_t seed = (uint64_t)(d.i / 300);
  return moved(anywhere(d), 1e-6, anywhere((draw){d.c, d.i, &seed}));
}

/* All but a few points in one thousandth of the box. */
static point crowd(draw d) {
  const bool inside = d.i % 64;
  return moved(anywhere(d), inside ? 0x1p-10 : 1, inside ? (point){0.25, 0.25, 0.25} : (point){0, 0, 0});
}

/* Pairs at distance 1 whose places have many low zero bits. */
static point sparse_pairs(draw d) {
  const int64_t side = 1 << 12, pair = d.i / 2;
  return (point){(double)(pair % side * 4096 + d.i % 2), (double)(pair / side * 4096), below(d, 2) * 4096};
}

static point great(draw d) {
  return moved(both_signs(d), is_double(d) ? 1.7e308 : 3e38, (point){0, 0, 0});
}

static point tiny(draw d) {
  return moved(anywhere(d), is_double(d) ? 1e-300 : 1e-38, (point){0, 0, 0});
}

static point denormal(draw d) {
  const double smallest = is_double(d) ? 0x1p-1074 : 0x1p-149, x = below(d, 100000), y = below(d, 100000);
  return (point){smallest * x, smallest * y, smallest * below(d, 100000)};
}

/* All magnitudes there are. */
static double any_magnitude(draw d) {
  const int range = is_double(d) ? 2000 : 250;
  const double unit = 2 * uniform(d.random) - 1;
  return ldexp(unit, (int)below(d, (uint64_t)range) - range / 2);
}

static point all_magnitudes(draw d) {
  const double x = any_magnitude(d), y = any_magnitude(d);
  return (point){x, y, any_magnitude(d)};
}

/* Far from the origin beside the extent, so that few bits are left. */
static point far_away(draw d) {
  const double far = is_double(d) ? 0x1p40 : 4096, x = uniform(d.random);
  return (point){far + x, far - uniform(d.random), far};
}

/* Many pairs at exactly one distance. */
static point ties(draw d) {
  const double x = below(d, 100003);
  return (point){x, 3 * below(d, 100003), 0};
}

static const struct {
  const char *name;
  point (*draw)(draw d);
} generators[GENERATORS] = {{"uniform", anywhere},
                            {"signed", both_signs},
                            {"sharp", sharp},
                            {"vertical line", vertical},
                            {"horizontal line", horizontal},
                            {"diagonal", diagonal},
                            {"columns", columns},
                            {"lattice", lattice},
                            {"one place", one_place},
                            {"zeros", zeros},
                            {"one duplicate", one_duplicate},
                            {"heaps", heaps},
                            {"wide row", wide_row},
                            {"two clusters", two_clusters},
                            {"clusters", clusters},
                            {"crowd", crowd},
                            {"sparse pairs", sparse_pairs},
                            {"great", great},
                            {"tiny", tiny},
                            {"denormal", denormal},
                            {"all magnitudes", all_magnitudes},
                            {"far away", far_away},
                            {"ties", ties}};

int generator_named(const char *name) {
  int which = 0;
  while (strcmp(generators[which].name, name) != 0)
    which++;
  return which;
}

cloud cloud_of(int which, davit_type type, int dim, int64_t n) {
  uint64_t random = (uint64_t)which * 1000003 + (uint64_t)n;
  cloud c = cloud_new(type, dim, n);
  c.name = generators[which].name;
  for (int64_t i = 0; i < n; i++) {
    const point p = generators[which].draw((draw){&c, i, &random});
    put(&c, i, p.x, p.y, p.z);
  }
  return c;
}

cloud any_cloud_of(int which, int v, int64_t n) {
  return cloud_of(which, real_type(v), 2 + v / 2 % 2, n);
}
