/* SPDX-License-Identifier: Apache-2.0 */
/* The closest pair against all pairs, compared by (distance, i, j) to the last bit. */
#include "tests/points.h"

/* ---- comparing ---- */

static davit_closest_pair_result brute(const cloud *c) {
  return dvt_ref_closest_brute(c->type, c->dim, c->n, c->points);
}

enum {
  AUTO = DAVIT_CLOSEST_PAIR_AUTO,
  BRUTE = DAVIT_CLOSEST_PAIR_BRUTE,
  DIVIDE = DAVIT_CLOSEST_PAIR_DIVIDE,
  GRID = DAVIT_CLOSEST_PAIR_GRID,
  ALGORITHMS = 4
};

static void expect(const cloud *c, davit_closest_pair_result right, davit_closest_pair_result is) {
  if (is.i != right.i || is.j != right.j || memcmp(&is.distance, &right.distance, sizeof is.distance) != 0)
    fail_msg("%s, %s, dim %d, n %lld: (%lld, %lld) at %.17g, not (%lld, %lld) at %.17g", c->name,
             davit_type_string(c->type), c->dim, (long long)c->n, (long long)is.i, (long long)is.j,
             is.distance, (long long)right.i, (long long)right.j, right.distance);
}

static davit_closest_pair_options by(int algorithm, const int *devices, int count) {
  return (davit_closest_pair_options){
      .algorithm = (davit_closest_pair_algorithm)algorithm, .devices = devices, .device_count = count};
}

static davit_closest_pair_result nowhere(void) {
  return (davit_closest_pair_result){-1, -1, NAN};
}

static davit_closest_pair_result on_queue(const cloud *c, int device, int algorithm) {
  SCOPE;
  davit_closest_pair_result pair = nowhere();
  davit_queue *queue = new_queue(device, 1);
  zone points = zone_of(c->points, cloud_bytes(c), place_for(device), 0);
  void *after = kept(cloud_bytes(c));
  const davit_closest_pair_options o = by(algorithm, NULL, 0);
  CHECK(davit_queue_closest_pair(queue, c->type, c->dim, c->n, zone_data(&points), &pair, &o));
  finish(queue);
  zone_take(&points, after);
  assert_memory_equal(after, c->points, cloud_bytes(c));
  return pair;
}

static davit_closest_pair_result anywhere(const cloud *c, int algorithm, const int *devices, int count) {
  davit_closest_pair_result pair = nowhere();
  const davit_closest_pair_options o = by(algorithm, devices, count);
  CHECK(davit_closest_pair(c->type, c->dim, c->n, c->points, &pair, &o));
  return pair;
}

/* ---- tests ---- */

/* 16 points, whose two closest pairs are at the same distance. */
CASE(test_worked_example) {
  static float points[] = {4, 0, 9, 12, 10, 7,  0,  8,  14, 10, 8,  14, 3,  1, 7,  3,
                           1, 9, 2, 13, 6,  11, 12, 15, 5,  2,  13, 4,  15, 6, 11, 5};
  for (int a = 0; a < ALGORITHMS; a++) {
    const cloud c = {"worked example", DAVIT_FLOAT, 2, 16, points};
    const davit_closest_pair_result pair = anywhere(&c, a, NULL, 0);
    assert_int_equal(pair.i, 0);
    assert_int_equal(pair.j, 6);
    assert_true(pair.distance == sqrt(2));
  }
}

/* Larger ones, against divide and conquer. */
CASE(test_large) {
  const int64_t n = scaled(100003 - 1000) + 1000;
  for (int g = 0; g < GENERATORS; g++)
    for (int v = g % 2; v < 4; v += 2) {
      cloud c = any_cloud_of(g, v, n);
      const davit_closest_pair_result right = anywhere(&c, DIVIDE, NULL, 0);
      for (int device = DAVIT_HOST; device < device_count() && device < 1; device++)
        expect(&c, right, on_queue(&c, device, GRID));
    }
}

/* So many that GPUs bring their records to their places in steps, and (on a GPU, and of floats) beyond what
 * the first two steps divide into windows: the pair of all, then pairs of equal points here and there. */
CASE(test_many) {
  const int device = device_count() > 0 ? 0 : DAVIT_HOST;
  const bool gpu = is_gpu(device);
  for (int v = 0; v < 4 + gpu; v++) {
    SCOPE;
    const int64_t n = v == 4 ? (INT64_C(1) << 26) + 54321 : scaled(gpu ? 3200000 : 300000) + 1024;
    cloud c = cloud_of(0, real_type(v), v < 2 ? 2 : 3, n);
    const davit_closest_pair_result right = anywhere(&c, DIVIDE, NULL, 0);
    uint64_t random = (uint64_t)n;
    expect(&c, right, on_queue(&c, device, GRID));
    assert_true(right.distance > 0);
    for (int trial = 0; trial < (gpu ? 6 : 1); trial++) {
      const int64_t a = (int64_t)(next_random(&random) % (uint64_t)n),
                    b = (a + 1 + (int64_t)(next_random(&random) % (uint64_t)(n - 1))) % n;
      const double x = get(&c, b, 0), y = get(&c, b, 1), z = get(&c, b, c.dim - 1);
      put(&c, b, get(&c, a, 0), get(&c, a, 1), get(&c, a, c.dim - 1));
      expect(&c, (davit_closest_pair_result){a < b ? a : b, a < b ? b : a, 0}, on_queue(&c, device, GRID));
      put(&c, b, x, y, z);
    }
  }
}

/* A cell with a crowd, and the closest pair in it, in the slab of one device alone. */
CASE(test_crowd_in_one_slab) {
  enum { SPREAD = 6000, CROWD = 2000, N = SPREAD + CROWD };
  int devices[MAX_PLACES], count = plain_devices(devices);
  dvt_split_always(true);
  for (int left = 0; left < 2; left++) {
    SCOPE;
    uint64_t random = 5;
    cloud c = cloud_new(DAVIT_DOUBLE, 2, N);
    for (int64_t i = 0; i < SPREAD; i++)
      put(&c, i, (double)(i / 60) / 100, (double)(i % 60) / 60, 0);
    for (int64_t i = SPREAD; i < N; i++)
      put(&c, i, (left ? 0.001 : 0.981) + 1e-4 * uniform(&random), 0.505 + 1e-4 * uniform(&random), 0);
    expect(&c, anywhere(&c, DIVIDE, NULL, 0), anywhere(&c, GRID, devices, count));
  }
  dvt_split_always(false);
}

CASE(test_where_the_points_are) {
  int places[MAX_PLACES], count = all_places(places);
  cloud c = cloud_of(0, DAVIT_FLOAT, 2, 1201);
  const davit_closest_pair_result right = brute(&c);
  for (int p = 0; p < count; p++) {
    zone points = zone_of(c.points, cloud_bytes(&c), places[p], 0);
    cloud there = c;
    there.points = zone_data(&points);
    for (int a = 0; a < ALGORITHMS; a++) {
      expect(&c, right, anywhere(&there, a, NULL, 0));
      EACH_DEVICE(device)
        expect(&c, right, anywhere(&there, a, &device, 1));
    }
    zone_take(&points, c.points);
  }
}

static void all_algorithms(void) {
  for (int g = 0; g < GENERATORS; g++) {
    SCOPE;
    const cloud c = any_cloud_of(g, g, 700);
    const davit_closest_pair_result right = brute(&c);
    for (int device = DAVIT_HOST; device < device_count() && device < 1; device++)
      for (int a = 0; a < ALGORITHMS; a++)
        expect(&c, right, on_queue(&c, device, a));
  }
}

CASE(test_without_streams) {
  without_blas(all_algorithms);
}

CASE(test_variants) {
  EACH_CPU(variant)
    for (int g = 0; g < GENERATORS; g++) {
      cloud c = any_cloud_of(g, g + 1, 777);
      expect(&c, brute(&c), on_queue(&c, DAVIT_HOST, BRUTE));
    }
}

CASE(test_again_and_again) {
  EACH_DEVICE(device) {
    cloud c = cloud_of(generator_named("lattice"), DAVIT_FLOAT, 2, 40000);
    const davit_closest_pair_result right = on_queue(&c, device, GRID);
    for (int repeat = 0; repeat < 20; repeat++)
      expect(&c, right, on_queue(&c, device, GRID));
  }
}

/* Coordinates are multiples of 2^-10 below 2^10, so that motions by quarters of a turn, mirrors and shifts by
 * powers of two are exact: the pair stays. A permutation takes the pair with it, or to one that comes before
 * it at the same distance. */
CASE(test_motion) {
  enum { N = 5000 };
  uint64_t random = 5;
  for (int dim = 2; dim <= 3; dim++) {
    cloud c = cloud_new(DAVIT_FLOAT, dim, N), moved = cloud_new(DAVIT_FLOAT, dim, N);
    for (int64_t i = 0; i < N; i++)
      put(&c, i, ldexp((double)(next_random(&random) % (1 << 20)), -10),
          ldexp((double)(next_random(&random) % (1 << 20)), -10),
          ldexp((double)(next_random(&random) % (1 << 20)), -10));
    const davit_closest_pair_result right = anywhere(&c, GRID, NULL, 0);
    for (int motion = 0; motion < 4; motion++) {
      for (int64_t i = 0; i < N; i++) {
        const double x = get(&c, i, 0), y = get(&c, i, 1), z = dim > 2 ? get(&c, i, 2) : 0;
        if (motion == 0)
          put(&moved, i, -y, x, z);
        else if (motion == 1)
          put(&moved, i, x - 1024, y + 512, z);
        else if (motion == 2)
          put(&moved, i, x, -y, -z);
        else
          put(&moved, i, 0x1p40 * x, 0x1p40 * y, 0x1p40 * z);
      }
      davit_closest_pair_result is = anywhere(&moved, GRID, NULL, 0);
      is.distance = motion == 3 ? is.distance * 0x1p-40 : is.distance;
      expect(&moved, right, is);
    }
    for (int64_t i = 0; i < N; i++)
      put(&moved, (i * 7 + 3) % N, get(&c, i, 0), get(&c, i, 1), dim > 2 ? get(&c, i, 2) : 0);
    const davit_closest_pair_result is = anywhere(&moved, GRID, NULL, 0);
    assert_true(is.distance == right.distance);
    expect(&moved, brute(&moved), is);
  }
}

/* Columns of a random rotation. */
static void rotation(uint64_t *random, double axis[3][3]) {
  for (int a = 0; a < 3; a++) {
    for (int k = 0; k < 3; k++)
      axis[a][k] = 2 * uniform(random) - 1;
    for (int b = 0; b < a; b++) {
      double product = 0;
      for (int k = 0; k < 3; k++)
        product += axis[a][k] * axis[b][k];
      for (int k = 0; k < 3; k++)
        axis[a][k] -= product * axis[b][k];
    }
    const double length = sqrt(axis[a][0] * axis[a][0] + axis[a][1] * axis[a][1] + axis[a][2] * axis[a][2]);
    for (int k = 0; k < 3; k++)
      axis[a][k] /= length;
  }
}

/* Lattices, turned and shaken a little: the closest pair is about as far apart as a cell is wide, in any
 * direction. With an outlier all other points are in one cell of the dense grid, and the hashed one has to do
 * it. */
CASE(test_every_direction) {
  int devices[MAX_PLACES], count = all_devices(devices);
  const int repeats = scaled(150);
  for (int repeat = 0; repeat < repeats; repeat++)
    for (int v = 0; v < 4; v++) {
      const int dim = 2 + v % 2, side = dim == 2 ? 20 : 7, n = dim == 2 ? side * side : side * side * side;
      uint64_t random = (uint64_t)repeat * 4 + (uint64_t)v;
      double axis[3][3], flat = 6.283185307179586 * uniform(&random);
      rotation(&random, axis);
      if (dim == 2) {
        axis[0][0] = axis[1][1] = cos(flat);
        axis[0][1] = sin(flat);
        axis[1][0] = -sin(flat);
      }
      cloud c = cloud_new(real_type(repeat + 1), dim, n);
      for (int i = 0; i < n; i++) {
        const int place[3] = {i % side, i / side % side, dim > 2 ? i / side / side : 0};
        double at[3] = {0};
        for (int a = 0; a < dim; a++)
          for (int k = 0; k < dim; k++)
            at[k] += (place[a] + 0.06 * uniform(&random)) * axis[a][k];
        put(&c, i, at[0], at[1], at[2]);
      }
      if (v > 1)
        put(&c, n / 3, 1e5, 1e5, 1e5);
      const davit_closest_pair_result right = brute(&c);
      expect(&c, right, on_queue(&c, devices[repeat % count], GRID));
      expect(&c, right, on_queue(&c, DAVIT_HOST, DIVIDE));
    }
}

/* Few points in a solid box, about as far apart as a cell of the dense grid is wide. */
CASE(test_wider_than_cells) {
  const int repeats = scaled(3000);
  uint64_t random = 11;
  for (int repeat = 0; repeat < repeats; repeat++) {
    cloud c = cloud_new(real_type(repeat + 1), 3, 64);
    const double shake = 0.03 * uniform(&random);
    for (int i = 0; i < 64; i++)
      put(&c, i, i % 4 + shake * uniform(&random), i / 4 % 4 + shake * uniform(&random),
          i / 16 + shake * uniform(&random));
    expect(&c, brute(&c), anywhere(&c, GRID, &(int){DAVIT_HOST}, 1));
  }
}

/* Both forms name the first point that is not finite. */
static void expect_not_finite(const cloud *c, int device, int algorithm) {
  const davit_closest_pair_options o = by(algorithm, NULL, 0);
  davit_closest_pair_result pair = nowhere();
  zone points = zone_of(c->points, cloud_bytes(c), place_for(device), 0);
  davit_queue *queue = new_queue(device, 1);
  CHECK(davit_queue_closest_pair(queue, c->type, c->dim, c->n, zone_data(&points), &pair, &o));
  REFUSED(davit_queue_synchronize(queue), "point 1234 ");
  finish(queue);
  REFUSED(davit_closest_pair(c->type, c->dim, c->n, c->points, &pair, &o), "point 1234 ");
  assert_int_equal(pair.i, -1);
}

CASE(test_not_finite) {
  static const double values[] = {NAN, INFINITY, -INFINITY};
  for (int v = 0; v < COUNT(values); v++)
    EACH_DEVICE(device)
      for (int a = 0; a < ALGORITHMS; a++)
        for (int dim = 2; dim <= 3; dim++) {
          cloud c = cloud_of(0, real_type(a + 1), dim, 2000);
          element_set(c.type, c.points, 1789 * dim + dim - 1, values[v]);
          element_set(c.type, c.points, 1234 * dim + v % dim, values[v]);
          expect_not_finite(&c, device, a);
        }
}

/* The points are not read, so a few stand for many. */
CASE(test_algorithm) {
  const double points[4] = {0};
  const int host = DAVIT_HOST;
  const struct {
    int64_t n;
    int wanted, taken;
  } cases[] = {{512, AUTO, BRUTE},
               {513, AUTO, GRID},
               {63, GRID, BRUTE},
               {64, GRID, GRID},
               {INT64_C(1) << 32, AUTO, DIVIDE},
               {9000, BRUTE, BRUTE},
               {2, DIVIDE, DIVIDE}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    davit_closest_pair_algorithm taken;
    const davit_closest_pair_options o = by(cases[i].wanted, &host, 1);
    CHECK(davit_closest_pair_plan(DAVIT_FLOAT, 3, cases[i].n, points, &taken, &o));
    assert_int_equal(taken, cases[i].taken);
  }
}

CASE(test_bad_arguments) {
  const davit_closest_pair_options other = by(9, NULL, 0), none = by(0, NULL, 2);
  const davit_type d = DAVIT_DOUBLE;
  double points[12] = {0};
  int wrong = -7;
  const davit_closest_pair_options unknown = by(0, &wrong, 1);
  davit_closest_pair_result pair = nowhere();
  davit_closest_pair_algorithm taken = DAVIT_CLOSEST_PAIR_AUTO;
  REFUSED(davit_closest_pair(DAVIT_INT32, 2, 4, points, &pair, NULL), "type");
  REFUSED(davit_closest_pair(d, 1, 4, points, &pair, NULL), "dim is 1");
  REFUSED(davit_closest_pair(d, 4, 4, points, &pair, NULL), "dim is 4");
  REFUSED_BOTH("n is 1", closest_pair, d, 2, 1, points, &pair, NULL);
  REFUSED(davit_closest_pair(d, 2, 4, points, &pair, &other), "options->algorithm is 9");
  CHECK_FAILS(davit_closest_pair(d, 2, 4, points, &pair, &unknown), DAVIT_UNKNOWN_DEVICE, "-7");
  REFUSED(davit_closest_pair(d, 2, 4, points, &pair, &none), "devices");
  REFUSED(davit_closest_pair_plan(d, 2, 1, points, &taken, NULL), "n is 1");
  CHECK_FAILS(davit_closest_pair_plan(d, 2, 4, points, &taken, &unknown), DAVIT_UNKNOWN_DEVICE, "-7");
  assert_int_equal(taken, AUTO);
  assert_int_equal(pair.i, -1);
}

typedef struct attempt {
  const cloud *c;
  int algorithm;
} attempt;

static davit_status spread_over_all(void *argument) {
  attempt *t = argument;
  int devices[MAX_PLACES], count = plain_devices(devices);
  const davit_closest_pair_options o = by(t->algorithm, devices, count);
  davit_closest_pair_result pair;
  return davit_closest_pair(t->c->type, t->c->dim, t->c->n, t->c->points, &pair, &o);
}

CASE(test_failures) {
  static const char *const names[] = {"lattice", "heaps"};
  for (int v = 0; v < COUNT(names); v++) {
    cloud c = cloud_of(generator_named(names[v]), DAVIT_FLOAT, 2, 300);
    attempt grid = {&c, GRID}, divide = {&c, DIVIDE};
    dvt_split_always(true);
    fail_everywhere(spread_over_all, &grid);
    dvt_split_always(false);
    fail_everywhere(spread_over_all, &divide);
  }
}
