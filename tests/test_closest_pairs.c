/* SPDX-License-Identifier: Apache-2.0 */
/* The first k pairs within a radius against all pairs in order, compared by (distance, i, j) to the last
 * bit. */
#include "ref/closest_pair.h"
#include "tests/points.h"

typedef davit_closest_pair_result found_pair;

enum { BRUTE = DAVIT_CLOSEST_PAIR_BRUTE, DIVIDE = DAVIT_CLOSEST_PAIR_DIVIDE, GRID = DAVIT_CLOSEST_PAIR_GRID };
static const int algorithms[] = {DAVIT_CLOSEST_PAIR_AUTO, BRUTE, DIVIDE, GRID};

/* ---- all pairs in order ---- */

typedef struct ordered {
  int64_t count;
  found_pair *pairs;
} ordered;

static int in_order(const void *a, const void *b) {
  const found_pair *x = a, *y = b;
  if (x->distance != y->distance)
    return x->distance < y->distance ? -1 : 1;
  if (x->i != y->i)
    return x->i < y->i ? -1 : 1;
  return x->j < y->j ? -1 : x->j > y->j;
}

static ordered all_pairs(const cloud *c) {
  ordered all = {c->n * (c->n - 1) / 2, kept((size_t)(c->n * (c->n - 1) / 2) * sizeof *all.pairs)};
  found_pair *to = all.pairs;
  for (int64_t i = 0; i < c->n; i++)
    for (int64_t j = i + 1; j < c->n; j++)
      *to++ = (found_pair){i, j,
                           dvt_pair_distance(get(c, i, 0) - get(c, j, 0), get(c, i, 1) - get(c, j, 1),
                                             get(c, i, 2) - get(c, j, 2))};
  qsort(all.pairs, (size_t)all.count, sizeof *all.pairs, in_order);
  return all;
}

static int64_t count_within(const ordered *all, double radius) {
  int64_t count = 0;
  while (count < all->count && all->pairs[count].distance <= radius)
    count++;
  return count;
}

/* ---- comparing ---- */

typedef struct wanted {
  int64_t k;
  double radius;
} wanted;

/* Where it runs: on a queue of `device` if there are no `devices`. */
typedef struct way {
  int algorithm, device;
  const int *devices;
  int device_count;
} way;

static davit_closest_pair_options options_of(const way *w) {
  return (davit_closest_pair_options){.algorithm = (davit_closest_pair_algorithm)w->algorithm,
                                      .devices = w->devices,
                                      .device_count = w->device_count};
}

static int64_t search(const cloud *c, wanted want, const way *w, found_pair *pairs) {
  const davit_closest_pair_options o = options_of(w);
  int64_t count = -1;
  if (w->devices) {
    CHECK(davit_closest_pairs(c->type, c->dim, c->n, c->points, want.k, want.radius, pairs, &count, &o));
    return count;
  }
  SCOPE;
  davit_queue *queue = new_queue(w->device, 1);
  zone points = zone_of(c->points, cloud_bytes(c), place_for(w->device), davit_type_bytes(c->type));
  CHECK(davit_queue_closest_pairs(queue, c->type, c->dim, c->n, zone_data(&points), want.k, want.radius,
                                  pairs, &count, &o));
  finish(queue);
  return count;
}

static int64_t counted(const cloud *c, double radius, const way *w) {
  const davit_closest_pair_options o = options_of(w);
  int64_t count = -1;
  if (w->devices) {
    CHECK(davit_closest_pairs_count(c->type, c->dim, c->n, c->points, radius, &count, &o));
    return count;
  }
  SCOPE;
  davit_queue *queue = new_queue(w->device, 1);
  zone points = zone_of(c->points, cloud_bytes(c), place_for(w->device), 0);
  CHECK(
      davit_queue_closest_pairs_count(queue, c->type, c->dim, c->n, zone_data(&points), radius, &count, &o));
  finish(queue);
  return count;
}

/* `right` has the pairs in order, at least as many as are wanted. */
static void expect_pairs(const cloud *c, wanted want, const way *w, const found_pair *right, int64_t count) {
  SCOPE;
  const size_t bytes = (size_t)count * sizeof *right;
  found_pair *found = kept(bytes + 1);
  zone pairs = zone_of(found, bytes, DAVIT_PAGEABLE, 0); /* no room for more */
  const int64_t is = search(c, want, w, zone_data(&pairs));
  zone_take(&pairs, found);
  if (is != count)
    fail_msg("%s, dim %d, n %lld, k %lld, radius %g, algorithm %d: %lld pairs, not %lld", c->name, c->dim,
             (long long)c->n, (long long)want.k, want.radius, w->algorithm, (long long)is, (long long)count);
  for (int64_t p = 0; p < count; p++)
    if (in_order(&found[p], &right[p]) != 0)
      fail_msg("%s, dim %d, n %lld, k %lld, radius %g, algorithm %d: pair %lld is (%lld, %lld) at %.17g, not "
               "(%lld, %lld) at %.17g",
               c->name, c->dim, (long long)c->n, (long long)want.k, want.radius, w->algorithm, (long long)p,
               (long long)found[p].i, (long long)found[p].j, found[p].distance, (long long)right[p].i,
               (long long)right[p].j, right[p].distance);
}

static void expect_right(const cloud *c, const ordered *all, wanted want, const way *w) {
  const int64_t within = count_within(all, want.radius);
  expect_pairs(c, want, w, all->pairs, within < want.k ? within : want.k);
}

/* Some k, without and with a radius that is the distance of a pair, or just below it. */
static void expect_all(const cloud *c, const ordered *all, const way *w) {
  const int64_t ks[] = {1, 2, 37, c->n, all->count, all->count + 5};
  const double middle = all->pairs[all->count / 3].distance;
  const double radii[] = {0, all->pairs[0].distance, middle, nextafter(middle, 0), INFINITY};
  for (int k = 0; k < COUNT(ks); k++)
    expect_right(c, all, (wanted){ks[k], INFINITY}, w);
  for (int r = 0; r < COUNT(radii); r++) {
    expect_right(c, all, (wanted){r % 2 ? all->count : 5, radii[r]}, w);
    assert_int_equal(counted(c, radii[r], w), count_within(all, radii[r]));
  }
}

/* ---- tests ---- */

CASE(test_all_data) {
  static const int64_t sizes[] = {2, 3, 65, 300};
  for (int g = 0; g < GENERATORS; g++)
    for (int s = 0; s < COUNT(sizes); s++) {
      SCOPE;
      if (left_out())
        continue;
      const cloud c = any_cloud_of(g, g + s, sizes[s]);
      const ordered all = all_pairs(&c);
      for (int a = 0; a < COUNT(algorithms); a++)
        expect_all(&c, &all, &(way){.algorithm = algorithms[a], .device = DAVIT_HOST});
      if (device_count() > 0)
        expect_all(&c, &all, &(way){.algorithm = GRID, .device = 0});
    }
}

/* Larger ones: by cells as by sweeping, on every device and on several. */
CASE(test_large) {
  const int64_t n = scaled(30011 - 2000) + 2000, k = n / 3;
  int devices[MAX_PLACES];
  const int count = plain_devices(devices);
  for (int g = 0; g < GENERATORS; g++) {
    SCOPE;
    const cloud c = any_cloud_of(g, g, n);
    found_pair *right = kept((size_t)k * sizeof *right);
    const way sweep = {.algorithm = DIVIDE, .device = DAVIT_HOST};
    const int64_t found = search(&c, (wanted){k, INFINITY}, &sweep, right);
    assert_int_equal(found, k);
    for (int device = DAVIT_HOST; device < device_count() && device < 1; device++)
      expect_pairs(&c, (wanted){k, INFINITY}, &(way){.algorithm = GRID, .device = device}, right, k);
    for (int travel = 1; travel >= 0; travel--) {
      dvt_split_always(travel);
      expect_pairs(&c, (wanted){k, INFINITY},
                   &(way){.algorithm = GRID, .devices = devices, .device_count = count}, right, k);
    }
  }
}

CASE(test_where_the_points_are) {
  int places[MAX_PLACES];
  const int count = all_places(places);
  const cloud c = cloud_of(0, DAVIT_FLOAT, 2, 700);
  const ordered all = all_pairs(&c);
  for (int p = 0; p < count; p++) {
    SCOPE;
    zone points = zone_of(c.points, cloud_bytes(&c), places[p], 0);
    cloud there = c;
    there.points = zone_data(&points);
    for (int a = 0; a < COUNT(algorithms); a++)
      EACH_DEVICE(device) {
        const way w = {.algorithm = algorithms[a], .devices = &device, .device_count = 1};
        expect_right(&there, &all, (wanted){500, INFINITY}, &w);
        expect_right(&there, &all, (wanted){500, all.pairs[100].distance}, &w);
        assert_int_equal(counted(&there, all.pairs[100].distance, &w),
                         count_within(&all, all.pairs[100].distance));
      }
    zone_take(&points, c.points);
  }
}

/* More equal points than a cell can count, before and behind others. */
CASE(test_a_crowd) {
  enum { EQUAL = 66000, OTHERS = 200, N = EQUAL + OTHERS, K = 3000 };
  for (int front = 0; front < 2; front++) {
    SCOPE;
    const cloud c = cloud_new(DAVIT_DOUBLE, 2, N);
    const int64_t first = front ? 0 : OTHERS, other = front ? EQUAL : 0;
    for (int64_t i = 0; i < EQUAL; i++)
      put(&c, first + i, 0.5, 0.25, 0);
    for (int64_t i = 0; i < OTHERS; i++)
      put(&c, other + i, (double)i + 1, 3, 0);
    found_pair *right = kept(K * sizeof *right);
    for (int64_t p = 0; p < K; p++) /* all of the first of them */
      right[p] = (found_pair){first, first + 1 + p, 0};
    for (int device = DAVIT_HOST; device < device_count() && device < 1; device++)
      expect_pairs(&c, (wanted){K, INFINITY}, &(way){.algorithm = GRID, .device = device}, right, K);
  }
}

/* As many pairs at one distance as there are points, twice: those with the minimum numbers. */
CASE(test_ties) {
  enum { SIDE = 200, K = 1000 };
  SCOPE;
  const cloud c = cloud_new(DAVIT_FLOAT, 2, SIDE * SIDE);
  found_pair *right = kept(K * sizeof *right);
  for (int64_t i = 0; i < SIDE * SIDE; i++)
    put(&c, i, (double)(i % SIDE), (double)(i / SIDE), 0);
  for (int64_t i = 0, p = 0; p < K; i++) {
    if (i % SIDE + 1 < SIDE)
      right[p++] = (found_pair){i, i + 1, 1};
    if (p < K)
      right[p++] = (found_pair){i, i + SIDE, 1};
  }
  for (int device = DAVIT_HOST; device < device_count() && device < 1; device++)
    expect_pairs(&c, (wanted){K, INFINITY}, &(way){.algorithm = GRID, .device = device}, right, K);
  assert_int_equal(counted(&c, 1, &(way){.algorithm = GRID, .device = DAVIT_HOST}), 2 * SIDE * (SIDE - 1));
}

/* So many pairs are within the first limit that those at hand decide the next, which leaves exactly K. */
CASE(test_too_many) {
  enum { HALF = 257, K = 3 };
  SCOPE;
  const cloud c = cloud_new(DAVIT_DOUBLE, 2, 2 * HALF);
  uint64_t random = 11;
  for (int64_t i = 0; i < c.n; i++)
    put(&c, i, 1e-3 * uniform(&random) + (double)(i % 2), 1e-3 * uniform(&random) + (double)(i % 2), 0);
  const ordered all = all_pairs(&c);
  for (int device = DAVIT_HOST; device < device_count() && device < 1; device++)
    for (int64_t k = 1; k <= K; k++)
      expect_right(&c, &all, (wanted){k, INFINITY}, &(way){.algorithm = GRID, .device = device});
}

CASE(test_failures) {
  float points[] = {0, 0, 1, 1, 5, 5}, nan[] = {0, 0, NAN, 1, 5, 5};
  found_pair pairs[3];
  int64_t count = -1;
#define PAIRS(k, radius) davit_closest_pairs(DAVIT_FLOAT, 2, 3, points, k, radius, pairs, &count, NULL)
  REFUSED(PAIRS(0, 1), "k is 0");
  REFUSED(PAIRS(INT64_MAX, 1), "k is 9223372036854775807");
  REFUSED(PAIRS(1, -1), "radius is -1");
  REFUSED(PAIRS(1, NAN), "radius is nan");
  REFUSED(davit_closest_pairs_count(DAVIT_FLOAT, 4, 3, points, 1, &count, NULL), "dim is 4");
  REFUSED(davit_closest_pairs_count(DAVIT_FLOAT, 2, 3, nan, 1, &count, NULL),
          "point 1 has a coordinate that is not finite");
  REFUSED(davit_closest_pairs_count(DAVIT_FLOAT, 2, 3, points, -0.5, &count, NULL), "radius is -0.5");
  assert_int_equal(count, -1);
#undef PAIRS
}

typedef struct attempt {
  const cloud *c;
  way w;
} attempt;

static davit_status try_pairs(void *argument) {
  const attempt *t = argument;
  const davit_closest_pair_options o = options_of(&t->w);
  found_pair pairs[100];
  int64_t count;
  return davit_closest_pairs(t->c->type, t->c->dim, t->c->n, t->c->points, 100, INFINITY, pairs, &count, &o);
}

CASE(test_without_memory) {
  int devices[MAX_PLACES];
  const int count = plain_devices(devices);
  const cloud c = cloud_of(generator_named("lattice"), DAVIT_FLOAT, 2, 300);
  for (int travel = 1; travel >= 0; travel--) {
    attempt t = {&c, {.algorithm = travel ? GRID : DIVIDE, .devices = devices, .device_count = count}};
    dvt_split_always(travel);
    fail_everywhere(try_pairs, &t);
  }
}
