/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbours on a GPU without one: the kernels thread by thread, and what launches them, against the same work on the
 * CPU. */
#include <omp.h>

#include "tests/emulator.h"
#define DVT_NEIGHBORS_ITEMS 1 /* tiles are small */
/* The source under test. The box of the points is found by kernels that have a test of their own. */
#define dvt_closest_perform emulated_closest_perform
#define dvt_closest_bytes emulated_closest_bytes
#define dvt_neighbors_bytes emulated_neighbors_bytes
#define dvt_neighbors_perform emulated_neighbors_perform
#include "offload/neighbors.c"
#undef dvt_closest_perform
#undef dvt_closest_bytes
#undef dvt_neighbors_bytes
#undef dvt_neighbors_perform
/* The same on the CPU. */
davit_status dvt_closest_perform(const dvt_closest_site *site, dvt_closest_stage stage,
                                 dvt_closest_state *state);
size_t dvt_closest_bytes(const dvt_closest_site *site, dvt_closest_stage last);
size_t dvt_neighbors_bytes(const dvt_neighbors_site *site, const dvt_neighbors *a);
davit_status dvt_neighbors_perform(const dvt_neighbors_site *site, const dvt_neighbors *a);
#include "tests/points.h"

enum { TEAMS = 2 };

davit_status emulated_closest_perform(const dvt_closest_site *site, dvt_closest_stage stage,
                                      dvt_closest_state *state) {
  dvt_closest_site host = *site;
  host.gpu = false;
  host.stream = NULL;
  host.threads = 1;
  return dvt_closest_perform(&host, stage, state);
}

size_t emulated_closest_bytes(const dvt_closest_site *site, dvt_closest_stage last) {
  return dvt_closest_bytes(site, last);
}

/* ---- kernels by name ---- */

#define BODY_OF(kind, name)                                                                                  \
  static void run_##kind##_##name(void *arguments) {                                                         \
    const dvt_argument *a = arguments;                                                                       \
    neighbors_##kind##_##name##_body(emulator_pointer(a), (int64_t)a[1], (int64_t)a[2]);                     \
  }
#define ROW_OF(kind, name) {"neighbors_" #kind "_" #name, run_##kind##_##name},
#define OF_FLOAT2(STEP, name, ...) OF(float2, name)
#define OF_FLOAT3(STEP, name, ...) OF(float3, name)
#define OF_DOUBLE2(STEP, name, ...) OF(double2, name)
#define OF_DOUBLE3(STEP, name, ...) OF(double3, name)
#define OF_ALL                                                                                               \
  STEPS_OF_KINDS(OF_FLOAT2)                                                                                  \
  STEPS_OF_KINDS(OF_FLOAT3)                                                                                  \
  STEPS_OF_KINDS(OF_DOUBLE2)                                                                                 \
  STEPS_OF_KINDS(OF_DOUBLE3) OF(float2, pooled) OF(float3, pooled) OF(double2, pooled) OF(double3, pooled)
#define OF BODY_OF
OF_ALL
#undef OF
#define OF ROW_OF

#define PLAIN_BODY(STEP, name)                                                                               \
  static void run_##name(void *arguments) {                                                                  \
    const dvt_argument *a = arguments;                                                                       \
    name##_body(emulator_pointer(a), (int64_t)a[1], (int64_t)a[2]);                                          \
  }
PLAIN_STEPS(PLAIN_BODY)
#define PLAIN_KERNEL(STEP, name) {"neighbors_" #name, run_##name},

static void run_count_digits(void *arguments) {
  const dvt_argument *a = arguments;
  count_digits_body(emulator_pointer(a), (int64_t)a[1], (int64_t)a[2]);
}

static void run_move_digits(void *arguments) {
  const dvt_argument *a = arguments;
  move_digits_body(emulator_pointer(a), (int64_t)a[1], (int64_t)a[2]);
}

/* The scan has tests of its own. */
#define SCAN(T, name)                                                                                        \
  static void name(void *arguments) {                                                                        \
    const dvt_argument *a = arguments;                                                                       \
    const T *x = emulator_pointer(a + 1);                                                                    \
    T *y = emulator_pointer(a + 7), sum = 0;                                                                 \
    if (dvt_team() == 0 && dvt_thread() == 0)                                                                \
      for (int64_t i = 0; i < (int64_t)a[0]; i++)                                                            \
        y[i] = sum += x[i];                                                                                  \
  }
SCAN(uint32_t, run_scan_32)
SCAN(int64_t, run_scan_64)

const emulator_kernel emulator_kernels[] = {
    OF_ALL PLAIN_STEPS(PLAIN_KERNEL){"neighbors_count_digits", run_count_digits},
    {"neighbors_move_digits", run_move_digits},
    {"dvt_int32_sum_scan_region", run_scan_32},
    {"dvt_int64_sum_scan_region", run_scan_64}};

/* ---- the work on both ---- */

static davit_status perform(const dvt_neighbors *a, bool gpu) {
  static char stream; /* its address alone is used */
  char staged[DVT_NEIGHBORS_STAGED];
  dvt_neighbors_site site = {.device = omp_get_initial_device(),
                             .gpu = gpu,
                             .threads = 2,
                             .teams = gpu ? TEAMS : 0,
                             .stream = gpu ? (dvt_stream *)(void *)&stream : NULL,
                             .staged = staged};
  CHECK(emulated_workspace(NULL, (gpu ? emulated_neighbors_bytes : dvt_neighbors_bytes)(&site, a),
                           &site.memory));
  const davit_status status = (gpu ? emulated_neighbors_perform : dvt_neighbors_perform)(&site, a);
  assert_false(emulator_busy);
  assert_true(emulator_free());
  return status;
}

static dvt_neighbors of(const cloud *c, const cloud *queries, dvt_neighbors_task task) {
  return (dvt_neighbors){.task = task,
                         .type = c->type,
                         .dim = c->dim,
                         .n = c->n,
                         .points = c->points,
                         .m = queries ? queries->n : c->n,
                         .queries = queries ? queries->points : NULL};
}

/* Rows of `count` neighbours in all. */
static void expect_rows(dvt_neighbors a, int64_t count, const char *name) {
  SCOPE;
  const size_t bytes = (size_t)count * sizeof(int64_t);
  int64_t *right = kept(bytes), *is = kept(bytes);
  double *far = kept(bytes), *is_far = kept(bytes);
  a.indices = right;
  a.distances = far;
  CHECK(perform(&a, false));
  zone to = zone_of(is, bytes, DAVIT_PAGEABLE, 8), distances = zone_of(is_far, bytes, DAVIT_PAGEABLE, 8);
  a.indices = zone_data(&to);
  a.distances = zone_data(&distances);
  CHECK(perform(&a, true));
  zone_take(&to, is);
  zone_take(&distances, is_far);
  for (int64_t i = 0; i < count; i++)
    if (is[i] != right[i] || memcmp(&is_far[i], &far[i], sizeof *far) != 0)
      fail_msg("%s, n %lld, task %d, k %lld: place %lld has %lld, not %lld", name, (long long)a.n,
               (int)a.task, (long long)a.k, (long long)i, (long long)is[i], (long long)right[i]);
}

static void expect_nearest(const cloud *c, const cloud *queries, int64_t k) {
  dvt_neighbors a = of(c, queries, DVT_NEIGHBORS_NEAREST);
  a.k = k;
  expect_rows(a, a.m * k, c->name);
}

/* The radius is the distance of one of the k nearest. */
static void expect_within(const cloud *c, const cloud *queries, int64_t k) {
  SCOPE;
  dvt_neighbors a = of(c, queries, DVT_NEIGHBORS_NEAREST);
  a.k = k;
  double *far = kept((size_t)(a.m * a.k) * sizeof *far);
  int64_t *indices = kept((size_t)(a.m * a.k) * sizeof *indices);
  int64_t *offsets = kept((size_t)(a.m + 1) * sizeof *offsets), *is = kept((size_t)(a.m + 1) * sizeof *is);
  a.indices = indices;
  a.distances = far;
  CHECK(perform(&a, false));
  a = of(c, queries, DVT_NEIGHBORS_COUNT);
  a.radius = far[a.m * k / 2];
  a.offsets = offsets;
  CHECK(perform(&a, false));
  a.offsets = is;
  CHECK(perform(&a, true));
  assert_memory_equal(is, offsets, (size_t)(a.m + 1) * sizeof *is);
  a.task = DVT_NEIGHBORS_WITHIN;
  if (offsets[a.m] > 0)
    expect_rows(a, offsets[a.m], c->name);
}

static void expect_tree(const cloud *c) {
  SCOPE;
  const size_t bytes = (size_t)(c->n - 1) * sizeof(davit_closest_pair_result);
  davit_closest_pair_result *right = kept(bytes), *is = kept(bytes);
  dvt_neighbors a = of(c, NULL, DVT_NEIGHBORS_SPAN);
  a.edges = right;
  CHECK(perform(&a, false));
  zone edges = zone_of(is, bytes, DAVIT_PAGEABLE, 8);
  a.edges = zone_data(&edges);
  CHECK(perform(&a, true));
  zone_take(&edges, is);
  for (int64_t e = 0; e < c->n - 1; e++)
    if (memcmp(&is[e], &right[e], sizeof *is) != 0)
      fail_msg("%s, dim %d, n %lld: edge %lld is (%lld, %lld), not (%lld, %lld)", c->name, c->dim,
               (long long)c->n, (long long)e, (long long)is[e].i, (long long)is[e].j, (long long)right[e].i,
               (long long)right[e].j);
}

/* The radius is the distance of one of the nearest. */
static void expect_clusters(const cloud *c, int64_t least) {
  SCOPE;
  const size_t bytes = (size_t)c->n * sizeof(int64_t);
  int64_t *right = kept(bytes), *is = kept(bytes), count = -1, right_count = -1;
  double *far = kept(bytes);
  dvt_neighbors a = of(c, NULL, DVT_NEIGHBORS_NEAREST);
  a.k = 1;
  a.indices = right;
  a.distances = far;
  CHECK(perform(&a, false));
  a = of(c, NULL, DVT_NEIGHBORS_CLUSTER);
  a.radius = 2 * far[c->n / 2];
  a.least = least;
  a.labels = right;
  a.clusters = &right_count;
  CHECK(perform(&a, false));
  zone labels = zone_of(is, bytes, DAVIT_PAGEABLE, 8);
  a.labels = zone_data(&labels);
  a.clusters = &count;
  CHECK(perform(&a, true));
  zone_take(&labels, is);
  assert_int_equal(count, right_count);
  assert_memory_equal(is, right, bytes);
}

/* ---- tests ---- */

CASE(test_trees_and_clusters) {
  for (int g = 0; g < GENERATORS; g += scaled(10) > 1 ? 1 : 3) {
    cloud c = any_cloud_of(g, g, 45 + 80 * (g % 4));
    emulator_descending = g % 2;
    expect_tree(&c);
    expect_clusters(&c, 1 + g % 5);
  }
}

CASE(test_all_data) {
  static const int64_t ks[] = {1, 8, 10, 16, 20, 32, 40};
  for (int g = 0; g < GENERATORS; g += scaled(10) > 1 ? 1 : 3) {
    SCOPE;
    cloud c = any_cloud_of(g, g, 45 + 30 * (g % 5)), other = any_cloud_of((g + 5) % GENERATORS, g, 33);
    emulator_descending = g % 2;
    if (g % 2)
      expect_within(&c, g % 4 == 1 ? NULL : &other, ks[g % COUNT(ks)]);
    else
      expect_nearest(&c, g % 4 ? NULL : &other, ks[g / 2 % COUNT(ks)]);
  }
}

/* Lists that the lanes of a warp keep: of one query or of several for each, in pools that never fill, that are full in
 * between, and that are sorted in several chunks; and those that are too long for a pool. */
CASE(test_pools) {
  static const struct {
    int64_t n, m, k; /* m: queries, 0: the points */
  } sizes[] = {{18, 0, 17},   {34, 0, 33},    {90, 0, 40},    {400, 30, 100},  {700, 5, 250},  {900, 4, 256},
               {900, 3, 257}, {1300, 2, 554}, {1300, 2, 555}, {2000, 2, 1152}, {2000, 2, 1153}};
  for (int s = 0; s < COUNT(sizes); s++)
    for (int turn = 0; turn < (scaled(10) > 1 ? 8 : 2); turn++) {
      SCOPE;
      const int g = (turn * 11 + s) % GENERATORS;
      cloud c = any_cloud_of(g, s + turn, sizes[s].n),
            other = any_cloud_of((g + turn) % GENERATORS, s + turn, sizes[s].m ? sizes[s].m : 2);
      emulator_descending = turn % 2;
      expect_nearest(&c, sizes[s].m ? &other : NULL, sizes[s].k);
    }
}

/* Several tiles of the sort, in several teams and, of one, one after the other. */
CASE(test_tiles) {
  for (int v = 0; v < 2; v++) {
    SCOPE;
    cloud c = any_cloud_of(v, v, (int64_t)TEAMS * TILE + 100);
    dvt_neighbors a = of(&c, NULL, DVT_NEIGHBORS_NEAREST);
    a.k = 1;
    expect_rows(a, a.m, c.name);
  }
}

/* A far outlier: the bits of the coordinates make the keys. */
CASE(test_outlier) {
  for (int v = 0; v < 4; v++) {
    SCOPE;
    cloud c = any_cloud_of(0, v, 300), other = any_cloud_of(1, v, 20);
    put(&c, 250, v % 2 ? 1e300 : 1e30, 0, 0);
    expect_nearest(&c, v < 2 ? NULL : &other, 3);
  }
}

/* Part of the points as queries, as one of several devices has them. */
CASE(test_part) {
  cloud c = any_cloud_of(2, 3, 300);
  dvt_neighbors a = of(&c, NULL, DVT_NEIGHBORS_NEAREST);
  a.first = 37;
  a.m = 100;
  a.k = 5;
  expect_rows(a, a.m * a.k, c.name);
}

CASE(test_refused) {
  cloud c = any_cloud_of(0, 1, 100);
  int64_t offsets[101], rows[200];
  double far[200];
  dvt_neighbors a = of(&c, NULL, DVT_NEIGHBORS_WITHIN);
  a.radius = 10;
  for (int i = 0; i <= 100; i++)
    offsets[i] = 2 * i;
  a.offsets = offsets;
  a.indices = rows;
  a.distances = far;
  REFUSED(perform(&a, true), "offsets: the row of query 0 ");
}

/* Each launch is refused in turn. */
CASE(test_launches_fail) {
  cloud c = any_cloud_of(0, 0, 100);
  int64_t indices[100];
  double far[100];
  dvt_neighbors a = of(&c, NULL, DVT_NEIGHBORS_NEAREST);
  a.k = 1;
  a.indices = indices;
  a.distances = far;
  emulator_launches = 0;
  CHECK(perform(&a, true));
  const int launches = emulator_launches;
  for (int n = 0; n < launches; n++) {
    static char stream;
    char staged[DVT_NEIGHBORS_STAGED];
    dvt_neighbors_site site = {
        .gpu = true, .teams = TEAMS, .stream = (dvt_stream *)(void *)&stream, .staged = staged};
    CHECK(emulated_workspace(NULL, emulated_neighbors_bytes(&site, &a), &site.memory));
    emulator_launches = 0;
    emulator_fails_at = n;
    CHECK_FAILS(emulated_neighbors_perform(&site, &a), DAVIT_DEVICE_ERROR, "is refused");
    assert_true(emulator_free());
  }
  emulator_fails_at = -1;
}
