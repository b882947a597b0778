/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbours against all distances in order, compared by (distance, index) to the last bit. */
#include <davit/neighbors.h>

#include "ref/closest_pair.h"
#include "tests/points.h"

typedef struct neighbor {
  double distance;
  int64_t index;
} neighbor;

/* Queries, NULL: the points themselves; and where it runs: on a queue of `device` if there are no `devices`. */
typedef struct question {
  const cloud *c, *queries;
  int device;
  const int *devices;
  int device_count;
} question;

static int64_t queries_of(const question *q) {
  return q->queries ? q->queries->n : q->c->n;
}

/* ---- the oracle ---- */

static int in_order(const void *a, const void *b) {
  const neighbor *x = a, *y = b;
  if (x->distance != y->distance)
    return x->distance < y->distance ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

/* All other points in order; how many. */
static int64_t all_from(const question *q, int64_t query, neighbor *all) {
  const cloud *c = q->c, *from = q->queries ? q->queries : c;
  int64_t count = 0;
  for (int64_t i = 0; i < c->n; i++)
    if (q->queries || i != query)
      all[count++] =
          (neighbor){dvt_pair_distance(get(from, query, 0) - get(c, i, 0), get(from, query, 1) - get(c, i, 1),
                                       get(from, query, 2) - get(c, i, 2)),
                     i};
  qsort(all, (size_t)count, sizeof *all, in_order);
  return count;
}

/* ---- calls ---- */

static davit_neighbors_options options_of(const question *q) {
  return (davit_neighbors_options){.devices = q->devices, .device_count = q->device_count};
}

static void *points_at(const cloud *c, int place) {
  zone z = zone_of(c->points, cloud_bytes(c), place, davit_type_bytes(c->type));
  return zone_data(&z);
}

static void nearest(const question *q, int64_t k, int64_t *indices, double *distances) {
  const davit_neighbors_options o = options_of(q);
  const cloud *c = q->c;
  const int64_t m = queries_of(q);
  SCOPE;
  const size_t bytes = (size_t)(m * k) * sizeof *indices;
  if (q->devices) {
    zone to = zone_of(indices, bytes, DAVIT_PAGEABLE, 0), far = zone_of(distances, bytes, DAVIT_PAGEABLE, 0);
    CHECK(davit_neighbors(c->type, c->dim, c->n, c->points, m, q->queries ? q->queries->points : NULL, k,
                          zone_data(&to), zone_data(&far), &o));
    zone_take(&to, indices);
    zone_take(&far, distances);
    return;
  }
  const int place = place_for(q->device);
  davit_queue *queue = new_queue(q->device, 1);
  zone to = zone_of(indices, bytes, place, 8), far = zone_of(distances, bytes, place, 8);
  CHECK(davit_queue_neighbors(queue, c->type, c->dim, c->n, points_at(c, place), m,
                              q->queries ? points_at(q->queries, place) : NULL, k, zone_data(&to),
                              zone_data(&far), NULL));
  finish(queue);
  zone_take(&to, indices);
  zone_take(&far, distances);
}

static void count_within(const question *q, double radius, int64_t *offsets) {
  const davit_neighbors_options o = options_of(q);
  const cloud *c = q->c;
  const int64_t m = queries_of(q);
  SCOPE;
  const size_t bytes = (size_t)(m + 1) * sizeof *offsets;
  if (q->devices) {
    zone to = zone_of(offsets, bytes, DAVIT_PAGEABLE, 0);
    CHECK(davit_radius_count(c->type, c->dim, c->n, c->points, m, q->queries ? q->queries->points : NULL,
                             radius, zone_data(&to), &o));
    zone_take(&to, offsets);
    return;
  }
  const int place = place_for(q->device);
  davit_queue *queue = new_queue(q->device, 1);
  zone to = zone_of(offsets, bytes, place, 8);
  CHECK(davit_queue_radius_count(queue, c->type, c->dim, c->n, points_at(c, place), m,
                                 q->queries ? points_at(q->queries, place) : NULL, radius, zone_data(&to),
                                 NULL));
  finish(queue);
  zone_take(&to, offsets);
}

static void within(const question *q, double radius, const int64_t *offsets, int64_t *indices,
                   double *distances) {
  const davit_neighbors_options o = options_of(q);
  const cloud *c = q->c;
  const int64_t m = queries_of(q);
  SCOPE;
  const size_t bytes = (size_t)offsets[m] * sizeof *indices, ends = (size_t)(m + 1) * sizeof *offsets;
  const int place = q->devices ? DAVIT_PAGEABLE : place_for(q->device);
  zone to = zone_of(indices, bytes, place, 8), far = zone_of(distances, bytes, place, 8),
       from = zone_of(offsets, ends, place, 8);
  if (q->devices) {
    CHECK(davit_radius(c->type, c->dim, c->n, c->points, m, q->queries ? q->queries->points : NULL, radius,
                       zone_data(&from), zone_data(&to), zone_data(&far), &o));
  } else {
    davit_queue *queue = new_queue(q->device, 1);
    CHECK(davit_queue_radius(queue, c->type, c->dim, c->n, points_at(c, place), m,
                             q->queries ? points_at(q->queries, place) : NULL, radius, zone_data(&from),
                             zone_data(&to), zone_data(&far), NULL));
    finish(queue);
  }
  zone_take(&to, indices);
  zone_take(&far, distances);
}

/* ---- comparing ---- */

static void expect_row(const question *q, const char *what, int64_t query, const neighbor *right,
                       int64_t count, const int64_t *indices, const double *distances) {
  for (int64_t j = 0; j < count; j++)
    if (indices[j] != right[j].index || memcmp(&distances[j], &right[j].distance, sizeof *distances) != 0)
      fail_msg("%s, %s, dim %d, n %lld, %s, query %lld: neighbour %lld of %lld is %lld at %.17g, not %lld at "
               "%.17g",
               q->c->name, davit_type_string(q->c->type), q->c->dim, (long long)q->c->n, what,
               (long long)query, (long long)j, (long long)count, (long long)indices[j], distances[j],
               (long long)right[j].index, right[j].distance);
}

/* The rows of all queries, each of n places. */
static neighbor *rows_of(const question *q) {
  const int64_t m = queries_of(q);
  neighbor *rows = kept((size_t)(m * q->c->n) * sizeof *rows);
  for (int64_t i = 0; i < m; i++)
    all_from(q, i, rows + i * q->c->n);
  return rows;
}

static void expect_nearest(const question *q, const neighbor *rows, int64_t k) {
  SCOPE;
  const int64_t m = queries_of(q);
  int64_t *indices = kept((size_t)(m * k) * sizeof *indices);
  double *distances = kept((size_t)(m * k) * sizeof *distances);
  nearest(q, k, indices, distances);
  for (int64_t i = 0; i < m; i++)
    expect_row(q, "nearest", i, rows + i * q->c->n, k, indices + i * k, distances + i * k);
}

static int64_t up_to(const neighbor *all, int64_t count, double radius) {
  int64_t within = 0;
  while (within < count && all[within].distance <= radius)
    within++;
  return within;
}

static void expect_within(const question *q, const neighbor *rows, double radius) {
  SCOPE;
  const int64_t m = queries_of(q), most = q->queries ? q->c->n : q->c->n - 1;
  int64_t *offsets = kept((size_t)(m + 1) * sizeof *offsets);
  count_within(q, radius, offsets);
  assert_int_equal(offsets[0], 0);
  for (int64_t i = 0; i < m; i++)
    assert_int_equal(offsets[i + 1] - offsets[i], up_to(rows + i * q->c->n, most, radius));
  int64_t *indices = kept((size_t)(offsets[m] + 1) * sizeof *indices);
  double *distances = kept((size_t)(offsets[m] + 1) * sizeof *distances);
  within(q, radius, offsets, indices, distances);
  for (int64_t i = 0; i < m; i++)
    expect_row(q, "within", i, rows + i * q->c->n, offsets[i + 1] - offsets[i], indices + offsets[i],
               distances + offsets[i]);
}

/* Some of the ways to keep what is found, and a radius that is a distance or just below one. */
static void expect_all(const question *q, int turn) {
  static const int64_t ks[] = {1, 2, 8, 9, 16, 17, 32, 33, 60, 100, INT64_MAX};
  SCOPE;
  const neighbor *rows = rows_of(q);
  const int64_t most = q->queries ? q->c->n : q->c->n - 1;
  for (int i = turn % 3; i < COUNT(ks); i += 3)
    expect_nearest(q, rows, ks[i] < most ? ks[i] : most);
  const double middle = rows[most / 3].distance, radii[] = {middle, 0, nextafter(middle, 0), INFINITY};
  expect_within(q, rows, radii[turn % COUNT(radii)]);
}

/* ---- tests ---- */

CASE(test_all_data) {
  static const int64_t sizes[] = {2, 8, 9, 65, 170};
  int turn = 0;
  for (int s = 0; s < COUNT(sizes); s++)
    for (int g = 0; g < GENERATORS; g++) {
      SCOPE;
      const int v = turn++;
      cloud c = any_cloud_of(g, v, sizes[s]), other = any_cloud_of((g + v) % GENERATORS, v, 50);
      const question themselves = {.c = &c, .device = DAVIT_HOST}, others = {.c = &c, .queries = &other};
      expect_all(&themselves, v / 2);
      expect_all(&others, v / 3);
    }
}

CASE(test_every_device) {
  EACH_DEVICE(device)
    for (int g = 0; g < GENERATORS; g += 4) {
      SCOPE;
      cloud c = any_cloud_of(g, device + g, 150), same = any_cloud_of(g, device + g, 150);
      const question themselves = {.c = &c, .device = device},
                     places = {.c = &c, .queries = &same, .device = device};
      expect_all(&themselves, g);
      expect_all(&places, g + 1);
    }
}

/* One to all devices, each with memory of its own for what it gets. */
CASE(test_several_devices) {
  int devices[MAX_PLACES], count = plain_devices(devices);
  for (int always = 0; always < 2; always++) {
    dvt_split_always(always);
    for (int used = 1; used <= count; used++)
      for (int g = used % 5; g < GENERATORS; g += 5) {
        SCOPE;
        cloud c = any_cloud_of(g, used + g, 111), other = any_cloud_of(0, used + g, 3 * used);
        const question themselves = {.c = &c, .devices = devices, .device_count = used},
                       others = {.c = &c, .queries = &other, .devices = devices, .device_count = used};
        expect_all(&themselves, g + always);
        expect_all(&others, g);
      }
    dvt_split_always(false);
  }
}

/* Fewer queries than devices. */
CASE(test_few_queries) {
  int devices[MAX_PLACES], count = plain_devices(devices);
  cloud c = any_cloud_of(0, 0, 99), one = any_cloud_of(1, 0, 1);
  dvt_split_always(true);
  const question q = {.c = &c, .queries = &one, .devices = devices, .device_count = count};
  expect_all(&q, 0);
  dvt_split_always(false);
}

CASE(test_where_operands_are) {
  int places[MAX_PLACES], count = all_places(places);
  cloud c = cloud_of(0, DAVIT_FLOAT, 3, 500);
  neighbor all[500];
  const question q = {.c = &c};
  for (int p = 0; p < count; p++)
    for (int to = 0; to < count; to++) {
      SCOPE;
      int64_t indices[500 * 3], offsets[501];
      zone points = zone_of(c.points, cloud_bytes(&c), places[p], 0),
           found = zone_of(indices, sizeof indices, places[to], 0),
           counted = zone_of(offsets, sizeof offsets, places[to], 0);
      CHECK(davit_neighbors(c.type, 3, c.n, zone_data(&points), c.n, NULL, 3, zone_data(&found), NULL, NULL));
      zone_take(&found, indices);
      CHECK(
          davit_radius_count(c.type, 3, c.n, zone_data(&points), c.n, NULL, 0.1, zone_data(&counted), NULL));
      zone_take(&counted, offsets);
      zone rows = zone_new((size_t)offsets[c.n] * sizeof(int64_t), places[p], 0);
      CHECK(davit_radius(c.type, 3, c.n, zone_data(&points), c.n, NULL, 0.1, zone_data(&counted),
                         zone_data(&rows), NULL, NULL));
      int64_t *row = kept((size_t)offsets[c.n] * sizeof *row);
      zone_take(&rows, row);
      for (int64_t i = 0; i < c.n; i += 7) {
        all_from(&q, i, all);
        for (int j = 0; j < 3; j++)
          assert_int_equal(indices[3 * i + j], all[j].index);
        for (int64_t j = offsets[i]; j < offsets[i + 1]; j++)
          assert_int_equal(row[j], all[j - offsets[i]].index);
      }
    }
}

CASE(test_variants) {
  EACH_CPU(variant)
    for (int g = 0; g < GENERATORS; g += 3) {
      SCOPE;
      cloud c = any_cloud_of(g, g + variant, 222);
      const question q = {.c = &c, .device = DAVIT_HOST};
      expect_all(&q, g);
    }
}

/* Many points, of which the rows of a few are compared: no kind of points takes long. */
CASE(test_large) {
  enum { K = 10, ROWS = 4 };
  const int64_t n = scaled(200000) + 1000;
  for (int g = 0; g < GENERATORS; g++) {
    SCOPE;
    cloud c = any_cloud_of(g, g, n);
    const question q = {.c = &c, .device = DAVIT_HOST};
    int64_t *indices = kept((size_t)n * K * sizeof *indices);
    double *distances = kept((size_t)n * K * sizeof *distances);
    neighbor *all = kept((size_t)n * sizeof *all);
    nearest(&q, K, indices, distances);
    for (int r = 0; r < ROWS; r++) {
      const int64_t i = r * 7919 % n;
      all_from(&q, i, all);
      expect_row(&q, "nearest", i, all, K, indices + i * K, distances + i * K);
    }
  }
}

/* All points but one in one cell of the box, as of a far outlier, and many equal points seen from elsewhere. */
CASE(test_crowds) {
  const int64_t n = scaled(300000) + 5000;
  for (int v = 0; v < 8; v++) {
    SCOPE;
    cloud c = cloud_of(v < 4 ? generator_named("uniform") : generator_named("one place"), real_type(v),
                       2 + v / 2 % 2, n),
          other = cloud_of(0, real_type(v), 2 + v / 2 % 2, 1000);
    if (v < 4)
      put(&c, n / 2, v % 2 ? 1e300 : 1e30, -1e30, 1e30);
    const question q = {.c = &c, .queries = &other};
    int64_t *indices = kept(4 * 1000 * sizeof *indices);
    double *distances = kept(4 * 1000 * sizeof *distances);
    neighbor *all = kept((size_t)n * sizeof *all);
    nearest(&q, 4, indices, distances);
    for (int64_t i = 0; i < 1000; i += 500) {
      all_from(&q, i, all);
      expect_row(&q, "crowd", i, all, 4, indices + 4 * i, distances + 4 * i);
    }
  }
}

/* Long lists, of so many queries that each warp of a GPU has some: some rows, and all of a GPU as on the CPU. */
CASE(test_long_lists) {
  static const int64_t ks[] = {33, 100, 257, 700, 1152, 2400};
  const bool gpu = device_count() > 0 && is_gpu(0);
  for (int i = 0; i < COUNT(ks); i++)
    for (int v = i % 2; v < 4; v += 2) {
      SCOPE;
      const int g = (5 * v + 2 * i) % GENERATORS;
      const int64_t k = ks[i], n = k <= 100 ? scaled(60000) + 2500 : 2500 + k;
      cloud c = any_cloud_of(g, v, n), other = any_cloud_of(g, v, 100 + scaled(400));
      question q = {.c = &c, .queries = k <= 100 ? NULL : &other, .device = DAVIT_HOST};
      const int64_t m = queries_of(&q);
      const size_t bytes = (size_t)(m * k) * sizeof(int64_t);
      int64_t *right = kept(bytes), *is = kept(bytes);
      double *far = kept(bytes), *is_far = kept(bytes);
      neighbor *all = kept((size_t)n * sizeof *all);
      nearest(&q, k, right, far);
      for (int64_t row = 0; row < m; row += m / 5) {
        all_from(&q, row, all);
        expect_row(&q, "long list", row, all, k, right + row * k, far + row * k);
      }
      if (!gpu)
        continue;
      q.device = 0;
      nearest(&q, k, is, is_far);
      assert_memory_equal(is, right, bytes);
      assert_memory_equal(is_far, far, bytes);
    }
}

/* Radii that hold a large part of the points: boxes count as a whole, and counting costs what their surface does. */
CASE(test_wide_radii) {
  const int64_t n = scaled(60000) + 2000;
  for (int v = 0; v < 8; v++) {
    SCOPE;
    const double radius = v % 2 ? 0.31 : 1.5;
    cloud c = any_cloud_of(0, v / 2, n), other = any_cloud_of(0, v / 2, 300);
    const question themselves = {.c = &c, .device = DAVIT_HOST}, others = {.c = &c, .queries = &other};
    int64_t *offsets = kept((size_t)(n + 1) * sizeof *offsets);
    neighbor *all = kept((size_t)n * sizeof *all);
    count_within(&themselves, radius, offsets);
    for (int64_t i = 0; i < n; i += n / 20)
      assert_int_equal(offsets[i + 1] - offsets[i], up_to(all, all_from(&themselves, i, all), radius));
    count_within(&others, radius, offsets);
    for (int64_t i = 0; i < 300; i += 50)
      assert_int_equal(offsets[i + 1] - offsets[i], up_to(all, all_from(&others, i, all), radius));
  }
}

/* ---- bad input ---- */

CASE(test_not_finite) {
  static const double values[] = {NAN, INFINITY, -INFINITY};
  int devices[MAX_PLACES], count = plain_devices(devices);
  int64_t indices[2000], offsets[2001];
  for (int v = 0; v < COUNT(values); v++)
    EACH_DEVICE(device) {
      SCOPE;
      cloud c = cloud_of(0, real_type(v), 2 + v % 2, 2000), good = cloud_of(0, real_type(v), 2 + v % 2, 2000);
      element_set(c.type, c.points, 1789 * c.dim + c.dim - 1, values[v]);
      element_set(c.type, c.points, 1234 * c.dim + v % c.dim, values[v]);
      zone bad = zone_of(c.points, cloud_bytes(&c), place_for(device), 0),
           fine = zone_of(good.points, cloud_bytes(&c), place_for(device), 0),
           to = zone_of(offsets, sizeof offsets, place_for(device), 0);
      davit_queue *queue = new_queue(device, 1);
      CHECK(davit_queue_neighbors(queue, c.type, c.dim, c.n, zone_data(&bad), c.n, NULL, 1, zone_data(&to),
                                  NULL, NULL));
      REFUSED(davit_queue_synchronize(queue), "points: point 1234 ");
      CHECK(davit_queue_radius_count(queue, c.type, c.dim, c.n, zone_data(&fine), c.n, zone_data(&bad), 1,
                                     zone_data(&to), NULL));
      REFUSED(davit_queue_synchronize(queue), "queries: query 1234 ");
      finish(queue);
      for (int always = 0; always < 2; always++) {
        const davit_neighbors_options o = {.devices = devices, .device_count = count};
        dvt_split_always(always);
        REFUSED(davit_neighbors(c.type, c.dim, c.n, c.points, c.n, NULL, 1, indices, NULL, &o),
                "point 1234 ");
        REFUSED(davit_neighbors(c.type, c.dim, c.n, good.points, c.n, c.points, 1, indices, NULL, &o),
                "query 1234 ");
        dvt_split_always(false);
      }
    }
}

/* Offsets of another radius: nothing is written beyond their rows. */
CASE(test_wrong_offsets) {
  cloud c = cloud_of(0, DAVIT_DOUBLE, 2, 300);
  int64_t offsets[301], row[300];
  double far[300];
  for (int i = 0; i <= 300; i++)
    offsets[i] = i;
  zone to = zone_of(row, sizeof row, DAVIT_PAGEABLE, 0),
       distances = zone_of(far, sizeof far, DAVIT_PAGEABLE, 0);
  REFUSED(davit_radius(c.type, 2, 300, c.points, 300, NULL, 0.5, offsets, zone_data(&to),
                       zone_data(&distances), NULL),
          "offsets: the row of query ");
  zone_take(&to, row);
  zone_take(&distances, far);
  offsets[300] = -5;
  REFUSED(davit_radius(c.type, 2, 300, c.points, 300, NULL, 0.5, offsets, row, far, NULL),
          "offsets: the last is -5");
  offsets[300] = 7;
  REFUSED(davit_radius(c.type, 2, 300, c.points, 300, NULL, 0.5, offsets, NULL, NULL, NULL),
          "indices is NULL");
}

CASE(test_bad_arguments) {
  const davit_type d = DAVIT_DOUBLE;
  const double points[12] = {0, 1, 2, 3};
  int wrong = -7;
  const davit_neighbors_options unknown = {.devices = &wrong, .device_count = 1};
  int64_t indices[12] = {-1}, offsets[7] = {-1};
  double far[12] = {-1};
  REFUSED_BOTH("type", neighbors, DAVIT_INT32, 2, 4, points, 4, NULL, 1, indices, far, NULL);
  REFUSED_BOTH("dim is 1", neighbors, d, 1, 4, points, 4, NULL, 1, indices, far, NULL);
  REFUSED_BOTH("dim is 4", neighbors, d, 4, 4, points, 4, NULL, 1, indices, far, NULL);
  REFUSED_BOTH("n is 0", neighbors, d, 2, 0, points, 0, NULL, 1, indices, far, NULL);
  REFUSED_BOTH("m is 3, not n, which is 4", neighbors, d, 2, 4, points, 3, NULL, 1, indices, far, NULL);
  REFUSED_BOTH("k is 0", neighbors, d, 2, 4, points, 4, NULL, 0, indices, far, NULL);
  REFUSED_BOTH("k is 4, more than the 3 points that a point has beside it", neighbors, d, 2, 4, points, 4,
               NULL, 4, indices, far, NULL);
  REFUSED_BOTH("k is 5, more than the 4 points that there are", neighbors, d, 2, 4, points, 2, points, 5,
               indices, far, NULL);
  REFUSED_BOTH("k is 1, more than the 0 points", neighbors, d, 2, 1, points, 1, NULL, 1, indices, far, NULL);
  REFUSED_BOTH("radius is nan", radius_count, d, 2, 4, points, 4, NULL, NAN, offsets, NULL);
  REFUSED_BOTH("radius is -1", radius_count, d, 2, 4, points, 4, NULL, -1, offsets, NULL);
  REFUSED_BOTH("radius is nan", radius, d, 2, 4, points, 4, NULL, NAN, offsets, indices, far, NULL);
  CHECK_FAILS(davit_neighbors(d, 2, INT64_C(1) << 32, points, 4, points, 1, indices, far, NULL),
              DAVIT_UNSUPPORTED, "n is 4294967296");
  CHECK_FAILS(davit_neighbors(d, 2, 4, points, 4, NULL, 1, indices, far, &unknown), DAVIT_UNKNOWN_DEVICE,
              "-7");
  assert_int_equal(indices[0], -1);
  assert_int_equal(offsets[0], -1);
}

/* No queries; one point. */
CASE(test_nothing_to_do) {
  const float points[3] = {1, 2, 3};
  int64_t offsets[2] = {-1, -1}, index = -1;
  double far = -1;
  for (int always = 0; always < 2; always++) {
    dvt_split_always(always);
    CHECK(davit_neighbors(DAVIT_FLOAT, 3, 1, points, 0, NULL, 1, &index, &far, NULL));
    CHECK(davit_neighbors(DAVIT_FLOAT, 3, 1, points, 0, points, 1, NULL, NULL, NULL));
    CHECK(davit_radius_count(DAVIT_FLOAT, 3, 1, points, 0, points, 1, offsets, NULL));
    assert_int_equal(offsets[0], 0);
    assert_int_equal(offsets[1], -1);
    CHECK(davit_radius(DAVIT_FLOAT, 3, 1, points, 0, points, 1, offsets, &index, &far, NULL));
    assert_int_equal(index, -1);
    dvt_split_always(false);
  }
  CHECK(davit_radius_count(DAVIT_FLOAT, 3, 1, points, 1, NULL, INFINITY, offsets, NULL));
  assert_int_equal(offsets[1], 0);
  CHECK(davit_radius(DAVIT_FLOAT, 3, 1, points, 1, NULL, INFINITY, offsets, NULL, NULL, NULL));
  CHECK(davit_neighbors(DAVIT_FLOAT, 3, 1, points, 1, points, 1, &index, &far, NULL));
  assert_int_equal(index, 0);
  assert_true(far == 0);
}

static davit_status spread_over_all(void *argument) {
  const cloud *c = argument;
  int devices[MAX_PLACES], count = plain_devices(devices);
  const davit_neighbors_options o = {.devices = devices, .device_count = count};
  int64_t indices[3 * 500], offsets[501];
  davit_status status = davit_neighbors(c->type, c->dim, c->n, c->points, c->n, NULL, 3, indices, NULL, &o);
  if (status == DAVIT_SUCCESS)
    status = davit_radius_count(c->type, c->dim, c->n, c->points, c->n, NULL, 0, offsets, &o);
  if (status == DAVIT_SUCCESS)
    status = davit_radius(c->type, c->dim, c->n, c->points, c->n, NULL, 0, offsets, indices, NULL, &o);
  return status;
}

CASE(test_failures) {
  cloud c = cloud_of(0, DAVIT_FLOAT, 2, 150);
  dvt_split_always(true);
  fail_everywhere(spread_over_all, &c);
  dvt_split_always(false);
}
