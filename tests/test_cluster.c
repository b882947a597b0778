/* SPDX-License-Identifier: Apache-2.0 */
/* DBSCAN against a walk from core point to core point, as its authors describe it, and the minimum spanning tree
 * against Prim's, over all distances. */
#include <davit/cluster.h>

#include "ref/closest_pair.h"
#include "tests/points.h"

static double between(const cloud *c, int64_t i, int64_t j) {
  return dvt_pair_distance(get(c, i, 0) - get(c, j, 0), get(c, i, 1) - get(c, j, 1),
                           get(c, i, 2) - get(c, j, 2));
}

static bool is_core(const cloud *c, int64_t i, double eps, int64_t least) {
  int64_t near = 0;
  for (int64_t j = 0; j < c->n; j++)
    near += between(c, i, j) <= eps;
  return near >= least;
}

/* Takes all that is reached from core point i into the cluster; points that have one already stay in theirs. */
static void walk(const cloud *c, double eps, const bool *core, int64_t from, int64_t cluster,
                 int64_t *labels) {
  int64_t *ways = kept((size_t)c->n * sizeof *ways), count = 0;
  labels[from] = cluster;
  ways[count++] = from;
  while (count > 0) {
    const int64_t i = ways[--count];
    for (int64_t j = 0; core[i] && j < c->n; j++)
      if (labels[j] == -1 && between(c, i, j) <= eps) {
        labels[j] = cluster;
        ways[count++] = j;
      }
  }
}

static int64_t by_walks(const cloud *c, double eps, int64_t least, int64_t *labels) {
  bool *core = kept((size_t)c->n);
  int64_t clusters = 0;
  for (int64_t i = 0; i < c->n; i++) {
    core[i] = is_core(c, i, eps, least);
    labels[i] = -1;
  }
  for (int64_t i = 0; i < c->n; i++)
    if (core[i] && labels[i] == -1)
      walk(c, eps, core, i, clusters++, labels);
  return clusters;
}

/* Points at `from`, labels at `to`. */
static void expect_labels_at(const cloud *c, double eps, int64_t least, int from, int to,
                             const davit_cluster_options *o) {
  SCOPE;
  const size_t bytes = (size_t)c->n * sizeof(int64_t);
  int64_t *right = kept(bytes), *is = kept(bytes), clusters = -1;
  const int64_t wanted = by_walks(c, eps, least, right);
  zone points = zone_of(c->points, cloud_bytes(c), from, 0), labels = zone_of(is, bytes, to, 8);
  CHECK(
      davit_dbscan(c->type, c->dim, c->n, zone_data(&points), eps, least, zone_data(&labels), &clusters, o));
  zone_take(&labels, is);
  for (int64_t i = 0; i < c->n; i++)
    if (is[i] != right[i])
      fail_msg("%s, dim %d, n %lld, eps %g, min_points %lld: point %lld has label %lld, not %lld", c->name,
               c->dim, (long long)c->n, eps, (long long)least, (long long)i, (long long)is[i],
               (long long)right[i]);
  assert_int_equal(clusters, wanted);
}

static void expect_labels(const cloud *c, double eps, int64_t least, const davit_cluster_options *o) {
  expect_labels_at(c, eps, least, DAVIT_PAGEABLE, DAVIT_PAGEABLE, o);
}

CASE(test_all_data) {
  static const int64_t sizes[] = {2, 40, 150};
  static const int64_t least[] = {1, 2, 4, 9};
  for (int s = 0; s < COUNT(sizes); s++)
    for (int g = 0; g < GENERATORS; g++) {
      SCOPE;
      cloud c = any_cloud_of(g, g + s, sizes[s]);
      double far = 0;
      for (int64_t i = 1; i < c.n; i++)
        far = fmax(far, between(&c, 0, i));
      expect_labels(&c, far / 8, least[(g + s) % COUNT(least)], NULL);
      expect_labels(&c, g % 2 ? 0 : far / 20, least[g % COUNT(least)], NULL);
    }
}

/* One cluster after another in the plane, with border points between them that two would take. */
CASE(test_borders) {
  cloud c = cloud_new(DAVIT_DOUBLE, 2, 11);
  const double x[] = {11, 10, 9, 8, 7, 4.5, 0, 1, 2, 3, 20};
  c.name = "borders";
  for (int i = 0; i < 11; i++)
    put(&c, i, x[i], 0, 0);
  for (int least = 1; least <= 4; least++) {
    expect_labels(&c, 1, least, NULL);
    expect_labels(&c, 2.5, least, NULL);
  }
  expect_labels(&c, INFINITY, 11, NULL);
  expect_labels(&c, INFINITY, 12, NULL);
}

CASE(test_several_devices) {
  int devices[MAX_PLACES], count = plain_devices(devices);
  dvt_split_always(true);
  for (int used = 1; used <= count; used++) {
    SCOPE;
    cloud c = any_cloud_of(generator_named("clusters"), used, 200);
    const davit_cluster_options o = {.devices = devices, .device_count = used};
    expect_labels(&c, 1e-6, 5, &o);
  }
  dvt_split_always(false);
}

/* Radii from those of single points to one that holds all, with as many points as one has there and more. */
CASE(test_dense) {
  for (int v = 0; v < 4; v++) {
    SCOPE;
    cloud c = any_cloud_of(generator_named(v % 2 ? "clusters" : "uniform"), v, scaled(2000) + 700);
    const double unit = v % 2 ? 1e-6 : 1;
    for (double share = 0.01; share < 4; share *= 2.3)
      expect_labels(&c, unit * share, 1 + (int64_t)(40 * share), NULL);
    expect_labels(&c, INFINITY, c.n, NULL);
  }
}

/* Points at `from`, edges at `to`. */
static void expect_tree(const cloud *c, int from, int to, const davit_cluster_options *o) {
  SCOPE;
  const size_t bytes = (size_t)(c->n - 1) * sizeof(davit_closest_pair_result);
  davit_closest_pair_result *right = kept(bytes), *is = kept(bytes);
  dvt_ref_emst(c->type, c->dim, c->n, c->points, right);
  zone points = zone_of(c->points, cloud_bytes(c), from, 0), edges = zone_of(is, bytes, to, 8);
  CHECK(davit_emst(c->type, c->dim, c->n, zone_data(&points), zone_data(&edges), o));
  zone_take(&edges, is);
  for (int64_t e = 0; e < c->n - 1; e++)
    if (memcmp(&is[e], &right[e], sizeof *is) != 0)
      fail_msg("%s, dim %d, n %lld: edge %lld is (%lld, %lld) at %.17g, not (%lld, %lld) at %.17g", c->name,
               c->dim, (long long)c->n, (long long)e, (long long)is[e].i, (long long)is[e].j, is[e].distance,
               (long long)right[e].i, (long long)right[e].j, right[e].distance);
}

static void expect_tree_here(const cloud *c) {
  expect_tree(c, DAVIT_PAGEABLE, DAVIT_PAGEABLE, NULL);
}

CASE(test_trees) {
  static const int64_t sizes[] = {2, 3, 8, 9, 65, 300};
  for (int s = 0; s < COUNT(sizes); s++)
    for (int g = 0; g < GENERATORS; g++) {
      cloud c = any_cloud_of(g, g + s, sizes[s]);
      expect_tree_here(&c);
    }
}

CASE(test_places) {
  EACH_DEVICE(device) {
    SCOPE;
    cloud c = any_cloud_of(generator_named("clusters"), device + 1, 250);
    const davit_cluster_options o = {.devices = &device, .device_count = 1};
    const int place = place_for(device);
    expect_labels_at(&c, 3e-7, 4, place, place, NULL);
    expect_labels_at(&c, 3e-7, 4, DAVIT_PAGEABLE, place, &o);
    expect_labels_at(&c, 3e-7, 4, place, DAVIT_PINNED, &o);
    expect_tree(&c, place, DAVIT_PAGEABLE, NULL);
    expect_tree(&c, DAVIT_PINNED, place, &o);
    expect_tree(&c, place, place, &o);
  }
}

/* Rounds with many threads. */
CASE(test_large_tree) {
  cloud c = any_cloud_of(generator_named("clusters"), 1, scaled(5000) + 1500);
  expect_tree_here(&c);
}

/* Gaps that grow: the first edge of each point leads to the one before it, so all join in one round, along a path that
 * takes more than one pass. */
CASE(test_path) {
  for (int way = -1; way <= 1; way += 2) {
    SCOPE;
    cloud c = cloud_new(DAVIT_DOUBLE, 2, 1200);
    c.name = "path";
    for (int64_t i = 0; i < c.n; i++)
      put(&c, 7 * i % c.n, (double)(way * i * i), 0, 0);
    expect_tree_here(&c);
  }
}

/* ---- so many points that threads meet on the ways to roots ---- */

static void label(const cloud *c, double eps, int64_t least, int device, int64_t *labels, int64_t *clusters) {
  const davit_cluster_options o = {.devices = &device, .device_count = 1};
  CHECK(davit_dbscan(c->type, c->dim, c->n, c->points, eps, least, labels, clusters, &o));
}

/* The CPU and a device against the labels that are right. */
static void expect_everywhere(const cloud *c, double eps, int64_t least, const int64_t *right,
                              int64_t wanted) {
  SCOPE;
  int devices[MAX_PLACES], count = plain_devices(devices);
  const size_t bytes = (size_t)c->n * sizeof(int64_t);
  int64_t *is = kept(bytes), clusters;
  for (int d = 0; d < count && d < 2; d++) {
    label(c, eps, least, devices[d], is, &clusters);
    for (int64_t i = 0; i < c->n; i++)
      if (is[i] != right[i])
        fail_msg("%s, %s, dim %d, n %lld, device %d: point %lld has label %lld, not %lld", c->name,
                 davit_type_string(c->type), c->dim, (long long)c->n, devices[d], (long long)i,
                 (long long)is[i], (long long)right[i]);
    assert_int_equal(clusters, wanted);
  }
}

/* Clusters that are far apart, of which each has the points with one number. */
static void expect_groups(const cloud *c, double eps, int64_t least, const int64_t *number, int64_t groups) {
  SCOPE;
  int64_t *name = kept((size_t)groups * sizeof *name), *right = kept((size_t)c->n * sizeof *right), next = 0;
  for (int64_t g = 0; g < groups; g++)
    name[g] = -1;
  for (int64_t i = 0; i < c->n; i++) {
    if (name[number[i]] < 0)
      name[number[i]] = next++;
    right[i] = name[number[i]];
  }
  expect_everywhere(c, eps, least, right, groups);
}

/* Lines of points that are eps apart, in an order that is not theirs: each core point has two others to be joined with,
 * along the longest way that there is. */
CASE(test_lines) {
  for (int v = 0; v < 4; v++)
    for (int64_t length = 1000; length < 1000000000; length *= 1000000) {
      SCOPE;
      const int64_t n = scaled(400000) + 3000;
      cloud c = cloud_new(real_type(v), 2 + v / 2, n);
      int64_t *line = kept((size_t)n * sizeof *line);
      c.name = "lines";
      for (int64_t i = 0; i < n; i++) {
        const int64_t at = i * 7919 % n;
        put(&c, i, v < 2 ? 0 : (double)(at + 3 * (at / length)), v < 2 ? (double)(at + 3 * (at / length)) : 0,
            0);
        line[i] = at / length;
      }
      expect_groups(&c, 1, 2, line, (n + length - 1) / length);
    }
}

/* Balls in which all points are near each other, and places that have many points each. */
CASE(test_balls) {
  for (int v = 0; v < 8; v++) {
    SCOPE;
    const int64_t n = scaled(400000) + 3000, balls = v < 4 ? 1 : 77;
    const double size = v % 2 ? 0 : 0.5;
    uint64_t random = (uint64_t)v + 1;
    cloud c = cloud_new(real_type(v / 2), 2 + v / 4, n);
    int64_t *ball = kept((size_t)n * sizeof *ball);
    c.name = v % 2 ? "places" : "balls";
    for (int64_t i = 0; i < n; i++) {
      ball[i] = i * 7919 % balls;
      put(&c, i, (double)(10 * (ball[i] / 8)) + size * uniform(&random),
          (double)(10 * (ball[i] % 8)) + size * uniform(&random), size * uniform(&random));
    }
    expect_groups(&c, v % 2 ? 0 : 1, n / balls / 2, ball, balls);
  }
}

/* A net of points in which most are joined, in one cluster or in many, with noise between. */
CASE(test_devices_agree) {
  for (int v = 0; v < 8; v++) {
    SCOPE;
    const int dim = 2 + v / 2 % 2;
    const int64_t n = scaled(1000000) + 5000;
    const double near = v < 4 ? 8 : 30,
                 eps = dim == 2 ? sqrt(near / (3.14159 * (double)n)) : cbrt(near / (4.18879 * (double)n));
    cloud c = cloud_of(0, real_type(v), dim, n);
    int64_t *right = kept((size_t)n * sizeof *right), wanted;
    label(&c, eps, 8, DAVIT_HOST, right, &wanted);
    assert_true(v >= 4 || wanted > 1);
    expect_everywhere(&c, eps, 8, right, wanted);
  }
}

CASE(test_trees_agree) {
  for (int dim = 2; dim <= 3; dim++) {
    SCOPE;
    const int64_t n = scaled(1000000) + 5000;
    cloud c = cloud_of(0, DAVIT_FLOAT, dim, n);
    const size_t bytes = (size_t)(n - 1) * sizeof(davit_closest_pair_result);
    davit_closest_pair_result *right = kept(bytes), *edges = kept(bytes);
    const int host = DAVIT_HOST;
    const davit_cluster_options o = {.devices = &host, .device_count = 1};
    CHECK(davit_emst(c.type, dim, n, c.points, right, &o));
    int devices[MAX_PLACES], count = plain_devices(devices);
    for (int d = 0; d < count && d < 2; d++) {
      const davit_cluster_options there = {.devices = &devices[d], .device_count = 1};
      CHECK(davit_emst(c.type, dim, n, c.points, edges, &there));
      assert_memory_equal(edges, right, bytes);
    }
  }
}

CASE(test_bad_trees) {
  double points[8] = {0, 1, 2, 3};
  davit_closest_pair_result edges[3] = {{.i = 7}};
  REFUSED(davit_emst(DAVIT_INT32, 2, 4, points, edges, NULL), "type");
  REFUSED(davit_emst(DAVIT_DOUBLE, 1, 4, points, edges, NULL), "dim is 1");
  REFUSED(davit_emst(DAVIT_DOUBLE, 2, 0, points, edges, NULL), "n is 0");
  points[5] = INFINITY;
  REFUSED(davit_emst(DAVIT_DOUBLE, 2, 4, points, edges, NULL), "point 2 ");
  assert_int_equal(edges[0].i, 7);
  CHECK(davit_emst(DAVIT_DOUBLE, 2, 1, points, NULL, NULL));
}

CASE(test_bad_arguments) {
  const davit_type d = DAVIT_DOUBLE;
  double points[8] = {0, 1, 2, 3};
  int64_t labels[4] = {7}, clusters = 7;
  REFUSED(davit_dbscan(DAVIT_INT32, 2, 4, points, 1, 2, labels, &clusters, NULL), "type");
  REFUSED(davit_dbscan(d, 4, 4, points, 1, 2, labels, &clusters, NULL), "dim is 4");
  REFUSED(davit_dbscan(d, 2, 0, points, 1, 2, labels, &clusters, NULL), "n is 0");
  REFUSED(davit_dbscan(d, 2, 4, points, NAN, 2, labels, &clusters, NULL), "eps is nan");
  REFUSED(davit_dbscan(d, 2, 4, points, -1, 2, labels, &clusters, NULL), "eps is -1");
  REFUSED(davit_dbscan(d, 2, 4, points, 1, 0, labels, &clusters, NULL), "min_points is 0");
  CHECK_FAILS(davit_dbscan(d, 2, INT64_C(1) << 32, points, 1, 2, labels, &clusters, NULL), DAVIT_UNSUPPORTED,
              "n is ");
  points[3] = NAN;
  REFUSED(davit_dbscan(d, 2, 4, points, 1, 2, labels, &clusters, NULL), "point 1 ");
  assert_int_equal(labels[0], 7);
  assert_int_equal(clusters, 7);
}

static davit_status cluster_all(void *argument) {
  const cloud *c = argument;
  int64_t labels[300], clusters;
  davit_closest_pair_result edges[300];
  const davit_status status =
      davit_dbscan(c->type, c->dim, c->n, c->points, 0.05, 3, labels, &clusters, NULL);
  return status == DAVIT_SUCCESS ? davit_emst(c->type, c->dim, c->n, c->points, edges, NULL) : status;
}

CASE(test_failures) {
  cloud c = cloud_of(0, DAVIT_FLOAT, 2, 300);
  fail_everywhere(cluster_all, &c);
}
