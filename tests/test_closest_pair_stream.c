/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of the closest pair on a GPU without one: their kernels thread by thread, and what launches
 * them, against all pairs and divide and conquer, and against the same stages on the CPU. */
#include <omp.h>

#include "tests/emulator.h"
/* The source under test. So few records count as more than a cache holds that they go to their places in
 * steps. */
#define DVT_CLOSEST_CACHE (1 << 15)
#define dvt_closest_bytes emulated_closest_bytes
#define dvt_closest_perform emulated_closest_perform
#define dvt_closest_sample emulated_closest_sample
#define dvt_closest_fit emulated_closest_fit
#include "offload/closest_pair.c"
#undef dvt_closest_bytes
#undef dvt_closest_perform
/* The same stages on the CPU. */
size_t dvt_closest_bytes(const dvt_closest_site *site, dvt_closest_stage last);
davit_status dvt_closest_perform(const dvt_closest_site *site, dvt_closest_stage stage,
                                 dvt_closest_state *state);
#include "tests/points.h"

enum { TEAMS = 3, STEPS_FROM = DVT_CLOSEST_CACHE / 16 };

/* ---- kernels by name ---- */

#define BODY_OF(kind, name)                                                                                  \
  static void run_##kind##_##name(void *arguments) {                                                         \
    const dvt_argument *a = arguments;                                                                       \
    closest_##kind##_##name##_body(&(work){(int64_t)a[0], (int64_t)a[1], (int64_t)a[2],                      \
                                           emulator_pointer(a + 3), emulator_pointer(a + 4),                 \
                                           emulator_pointer(a + 5), emulator_pointer(a + 6),                 \
                                           emulator_pointer(a + 7), emulator_pointer(a + 8)});               \
  }
#define ROW_OF(kind, name) {"closest_" #kind "_" #name, run_##kind##_##name},
#define OF_FLOAT2(STEP, name) OF(float2, name)
#define OF_FLOAT3(STEP, name) OF(float3, name)
#define OF_DOUBLE2(STEP, name) OF(double2, name)
#define OF_DOUBLE3(STEP, name) OF(double3, name)
#define OF_ALL                                                                                               \
  STEPS_OF_ALL(OF_FLOAT2)                                                                                    \
  STEPS_OF_ALL(OF_FLOAT3)                                                                                    \
  STEPS_OF_ALL(OF_DOUBLE2) STEPS_OF_ALL(OF_DOUBLE3) STEPS_OF_GPUS(OF_FLOAT2) STEPS_OF_GPUS(OF_FLOAT3)
#define OF BODY_OF
OF_ALL
#undef OF
#define OF ROW_OF

/* The scan has tests of its own. */
static void run_scan(void *arguments) {
  const dvt_argument *a = arguments;
  const uint32_t *x = emulator_pointer(a + 1);
  uint32_t *y = emulator_pointer(a + 7), sum = 0;
  if (dvt_team() == 0 && dvt_thread() == 0)
    for (int64_t i = 0; i < (int64_t)a[0]; i++)
      y[i] = sum += x[i];
}

const emulator_kernel emulator_kernels[] = {OF_ALL{"dvt_int32_sum_scan_region", run_scan}};

/* ---- points ---- */

/* The closest pair by the reference. */
static davit_closest_pair_result closest(const cloud *c) {
  void *scratch = kept(dvt_ref_closest_scratch(c->n));
  const davit_closest_pair_result right =
      c->n <= 3000 ? dvt_ref_closest_brute(c->type, c->dim, c->n, c->points)
                   : dvt_ref_closest_divide(c->type, c->dim, c->n, c->points, 2, scratch);
  return right;
}

/* ---- stages ---- */

static bool is_pair(davit_closest_pair_result a, davit_closest_pair_result b) {
  return a.i == b.i && a.j == b.j && memcmp(&a.distance, &b.distance, sizeof a.distance) == 0;
}

/* A GPU with a stream, or the CPU; without memory. */
static dvt_closest_site site_of(const cloud *c, bool gpu, dvt_closest_state *staged) {
  static char stream; /* its address alone is used */
  return (dvt_closest_site){.device = omp_get_initial_device(),
                            .gpu = gpu,
                            .threads = 2,
                            .teams = gpu ? TEAMS : 0,
                            .stream = gpu ? (dvt_stream *)(void *)&stream : NULL,
                            .type = c->type,
                            .dim = c->dim,
                            .n = c->n,
                            .points = c->points,
                            .parts = 1,
                            .staged = staged};
}

static int in_order(const void *a, const void *b) {
  const davit_closest_pair_result *x = a, *y = b;
  return dvt_pair_before(x->distance, x->i, x->j, y) ? -1 : dvt_pair_before(y->distance, y->i, y->j, x);
}

/* One part of a stage; what is beside its memory stays as it is. */
static void perform_part(const cloud *c, bool gpu, dvt_closest_stage stage, int part, int parts,
                         dvt_closest_state *state) {
  dvt_closest_state staged;
  dvt_closest_site site = site_of(c, gpu, &staged);
  site.part = part;
  site.parts = parts;
  site.capacity = state->capacity;
  const size_t bytes = (gpu ? emulated_closest_bytes : dvt_closest_bytes)(&site, stage);
  CHECK(emulated_workspace(NULL, bytes, &site.memory));
  CHECK((gpu ? emulated_closest_perform : dvt_closest_perform)(&site, stage, state));
  assert_false(emulator_busy);
  assert_true(emulator_free());
}

/* The stage in `parts` parts; the CPU knows and finds the same. */
static dvt_closest_state perform(const cloud *c, dvt_closest_stage stage, dvt_closest_state given,
                                 int parts) {
  dvt_closest_state all = {0};
  for (int part = 0; part < parts; part++) {
    dvt_closest_state s = given, host;
    s.pair = DVT_NO_PAIR;
    s.ranks = s.bound = 0;
    s.stop = s.counter = s.members = 0;
    host = s;
    perform_part(c, true, stage, part, parts, &s);
    perform_part(c, false, stage, part, parts, &host);
    assert_int_equal(s.bad, host.bad);
    assert_memory_equal(s.low, host.low, (size_t)c->dim * sizeof(double));
    assert_memory_equal(s.high, host.high, (size_t)c->dim * sizeof(double));
    assert_memory_equal(&s.known, &host.known, sizeof s.known);
    const bool grid = stage == DVT_CLOSEST_DENSE || stage == DVT_CLOSEST_HASHED;
    if (grid)
      assert_int_equal(dvt_closest_is_crowded(&s), dvt_closest_is_crowded(&host));
    if (grid && !dvt_closest_is_crowded(&s)) {
      assert_memory_equal(&s.grid, &host.grid, sizeof s.grid);
      assert_int_equal(s.ranks, host.ranks);
      assert_int_equal(s.members, host.members);
    }
    const uint32_t stop = part > 0 ? all.stop : 0;
    const davit_closest_pair_result first = part > 0 ? all.pair : DVT_NO_PAIR;
    all = s;
    all.stop = stop | dvt_closest_is_crowded(&s);
    dvt_pair_offer(first.distance, first.i, first.j, &all.pair);
  }
  return all;
}

static void expect_pair(const cloud *c, davit_closest_pair_result right, const char *what,
                        davit_closest_pair_result is) {
  if (!is_pair(is, right))
    fail_msg("%s of %lld, %s, dim %d: (%lld, %lld) at %g, not (%lld, %lld) at %g", what, (long long)c->n,
             davit_type_string(c->type), c->dim, (long long)is.i, (long long)is.j, is.distance,
             (long long)right.i, (long long)right.j, right.distance);
}

/* All stages, each if it has something to say. Returns whether a grid was found to be of use. */
static bool run_stages(const cloud *c, int parts) {
  const dvt_closest_state begin = {.known = __builtin_inf()};
  const davit_closest_pair_result right = closest(c);
  bool useful = false;
  if (c->n <= 3000)
    expect_pair(c, right, "all pairs", perform(c, DVT_CLOSEST_BRUTE, begin, parts).pair);
  dvt_closest_state s = perform(c, DVT_CLOSEST_DENSE, begin, parts);
  assert_true(s.bad == INT64_MAX);
  if (!dvt_closest_is_crowded(&s) && s.pair.distance * (1 + 0x1p-16) <= s.grid.width) {
    expect_pair(c, right, "dense grid", s.pair);
    useful = true;
  }
  for (int round = 0; round < DVT_CLOSEST_ROUNDS; round++) {
    s.known = __builtin_inf();
    s.sample = emulated_closest_sample(c->n, round);
    s.seed = round;
    const dvt_closest_state hashed = perform(c, DVT_CLOSEST_HASHED, s, parts);
    assert_true(hashed.known >= right.distance);
    if (hashed.known > 0 && !dvt_closest_is_crowded(&hashed)) {
      expect_pair(c, right, "hashed grid", hashed.pair);
      useful = true;
    }
  }
  s.sample = 0;
  s.known = right.distance * 3;
  if (s.known > 0 && s.known < 0x1p1022)
    expect_pair(c, right, "hashed grid without a sample", perform(c, DVT_CLOSEST_HASHED, s, parts).pair);
  if (right.distance == 0)
    expect_pair(c, right, "equal points", perform(c, DVT_CLOSEST_EQUAL, s, parts).pair);
  return useful;
}

static void run(const char *data, davit_type type, int dim, int64_t n, int parts, bool useful) {
  cloud c = cloud_of(generator_named(data), type, dim, n);
  assert_true(run_stages(&c, parts) || !useful);
}

/* ---- tests ---- */

CASE(test_kinds) {
  static const int64_t sizes[] = {64, 65, 700, STEPS_FROM - 1};
  for (int v = 0; v < 4; v++)
    for (int s = 0; s < COUNT(sizes); s++)
      if (!left_out())
        run("uniform", real_type(v), 2 + v / 2, sizes[s], 1 + (s + v) % 4, true);
}

CASE(test_data) {
  static const struct {
    const char *data;
    bool useful;
  } all[] = {
      {"vertical line", true}, {"lattice", false}, {"crowd", true}, {"heaps", false}, {"one place", false}};
  for (int v = 0; v < 4; v++)
    for (int d = 0; d < COUNT(all); d++)
      if (!left_out())
        run(all[d].data, real_type(v), 2 + v / 2, 1500 + 7 * d, 1 + (d + v) % 4, all[d].useful);
  run("tiny", DAVIT_DOUBLE, 2, 500, 1, false);
  run("tiny", DAVIT_DOUBLE, 3, 500, 2, false);
}

/* The pairs within a limit: a GPU keeps those that the CPU keeps, in any order, where there is room for all,
 * and as many as there is room for elsewhere; without room it counts them. */
static void collect_both(const cloud *c, double radius, int64_t capacity, int part, int parts) {
  dvt_closest_state host = {.known = radius,
                            .bad = INT64_MAX,
                            .capacity = capacity,
                            .limit = {INT64_MAX, INT64_MAX, radius}},
                    gpu = host;
  const size_t bytes = (size_t)capacity * sizeof *host.pairs;
  host.pairs = kept(bytes + 1);
  gpu.pairs = kept(bytes + 1);
  perform_part(c, false, DVT_CLOSEST_COLLECT, part, parts, &host);
  perform_part(c, true, DVT_CLOSEST_COLLECT, part, parts, &gpu);
  assert_int_equal(host.stop, gpu.stop);
  if (capacity > 0 && host.found > (uint64_t)capacity) {
    assert_true(gpu.found > (uint64_t)capacity);
    assert_int_equal(gpu.held, capacity);
    return;
  }
  assert_int_equal(gpu.found, host.found);
  assert_int_equal(gpu.held, host.held);
  if (host.held == 0)
    return;
  qsort(host.pairs, (size_t)host.held, sizeof *host.pairs, in_order);
  qsort(gpu.pairs, (size_t)gpu.held, sizeof *gpu.pairs, in_order);
  assert_memory_equal(gpu.pairs, host.pairs, (size_t)host.held * sizeof *host.pairs);
}

CASE(test_collecting) {
  static const char *const names[] = {"uniform", "lattice", "crowd", "vertical line"};
  for (int v = 0; v < 4; v++)
    for (int d = 0; d < COUNT(names); d++) {
      SCOPE;
      const cloud c = cloud_of(generator_named(names[d]), real_type(v), 2 + v / 2, 700 + d);
      const davit_closest_pair_result first = closest(&c);
      for (int step = 0; step < 4; step++)
        for (int part = 0; part < 2; part++)
          if (!left_out())
            collect_both(&c, first.distance * (1 << 2 * step) + 0x1p-60,
                         step == 3   ? 40
                         : step == 2 ? 0
                                     : 5000,
                         part, 2);
    }
}

/* The slabs of `parts` devices: each has about as many points, and each pair within the radius is one device's. */
static void divide(const cloud *c, int parts, double radius) {
  uint64_t alone = 0, found = 0;
  for (int shared = 1; shared <= parts; shared += parts - 1)
    for (int part = 0; part < shared; part++) {
      dvt_closest_state s = perform(c, DVT_CLOSEST_BOX, (dvt_closest_state){.known = radius}, 1);
      s.limit = (davit_closest_pair_result){INT64_MAX, INT64_MAX, radius};
      perform_part(c, part % 2, DVT_CLOSEST_COLLECT, part, shared, &s);
      assert_int_equal(s.stop, 0);
      *(shared == 1 ? &alone : &found) += s.found;
      if (shared > 1)
        assert_in_range(s.members, c->n / parts * 2 / 3,
                        c->n / parts * 3 / 2 + c->n / 8); /* with neighbours */
    }
  assert_true(alone > 500);
  assert_int_equal(found, alone);
}

/* Columns so far from the origin that each x of a double is a cell. */
static cloud far_columns(int64_t n, double from) {
  uint64_t random = 3;
  const cloud c = cloud_new(DAVIT_DOUBLE, 2, n);
  for (int64_t i = 0; i < n; i++)
    put(&c, i, from * (1 + (double)(i % 40) / 100), 200 * uniform(&random), 0);
  return c;
}

CASE(test_slabs) {
  enum { N = 4000 };
  for (int parts = 2; parts <= 4; parts++) {
    SCOPE;
    const cloud all[] = {cloud_of(generator_named("uniform"), DAVIT_FLOAT, 2, N),
                         cloud_of(generator_named("uniform"), DAVIT_DOUBLE, 3, N),
                         cloud_of(generator_named("signed"), DAVIT_DOUBLE, 2, N), far_columns(N, 1e20),
                         far_columns(N, -1e20)};
    static const double radius[] = {0.01, 0.04, 0.02, 0.5, 0.5};
    for (int c = 0; c < COUNT(all); c++)
      divide(&all[c], parts, radius[c]);
  }
}

/* Records that go to their places in steps: as few as do, with parts of all lengths, so many that a part has
 * several windows, and counted in two launches. */
CASE(test_steps) {
  const int64_t most = scaled(PROBED * 16) + 4077;
  const int64_t sizes[] = {STEPS_FROM + 1, 4096, 4097, 20011, most};
  for (int s = 0; s < COUNT(sizes); s++) {
    const int before = emulator_launches;
    run(s % 2 ? "crowd" : "uniform", DAVIT_FLOAT, 2 + s % 2, sizes[s], 1 + s % 3, true);
    assert_true(emulator_launches > before);
  }
}

/* Every record comes to its own place, whatever is found there. */
CASE(test_places) {
  quad nothing;                           /* its address alone is used */
  for (int bits = 0; bits < 32; bits++) { /* parts are whole tiles, and numbered by a place's bits */
    const parting to = parting_of(&nothing, INT64_C(1) << 32, INT64_C(1) << bits);
    assert_true(to.shift[0] >= 11 && to.shift[1] >= WINDOW_BITS);
    assert_int_equal(to.shift[0] + to.bits[0], bits > 12 ? bits : 12);
    assert_int_equal(to.shift[1] + to.bits[1], to.shift[0]);
    assert_true(to.bits[0] <= PART_BITS && to.bits[1] <= PART_BITS);
  }
  for (int dim = 2; dim <= 3; dim++) {
    cloud c = cloud_of(0, DAVIT_FLOAT, dim, 9001);
    dvt_closest_state staged, s = {.known = __builtin_inf()};
    dvt_closest_site site = site_of(&c, true, &staged);
    CHECK(emulated_workspace(NULL, emulated_closest_bytes(&site, DVT_CLOSEST_DENSE), &site.memory));
    CHECK(emulated_closest_perform(&site, DVT_CLOSEST_DENSE, &s));
    const layout l = layout_of(&site, DVT_CLOSEST_DENSE);
    const uint32_t *table = (const uint32_t *)(const void *)((char *)site.memory + l.table);
    char *seen = kept_zeros((size_t)c.n);
    for (int64_t at = 0; at < c.n; at++) {
      const char *record = (char *)site.memory + l.records + 16 * at;
      uint32_t index;
      memcpy(&index, record + (size_t)dim * sizeof(float), sizeof index);
      assert_true(index < c.n && !seen[index]);
      seen[index] = 1;
      assert_memory_equal(record, (char *)c.points + (size_t)index * (size_t)dim * sizeof(float),
                          (size_t)dim * sizeof(float));
      const float *p = (const float *)(const void *)record;
      const int64_t bucket = bucket_of(&s.grid, (point){p[0], p[1], dim > 2 ? p[dim - 1] : 0}, dim);
      assert_in_range(at, table[bucket - 1], table[bucket] - 1);
    }
    assert_true(emulator_free());
  }
}

/* A launch that is refused is the stage's failure. */
CASE(test_refused) {
  cloud c = cloud_of(0, DAVIT_FLOAT, 2, STEPS_FROM + 1);
  dvt_closest_state staged;
  dvt_closest_site site = site_of(&c, true, &staged);
  davit_closest_pair_result pair; /* with room for one */
  site.capacity = 1;
  CHECK(emulated_workspace(NULL, emulated_closest_bytes(&site, DVT_CLOSEST_COLLECT), &site.memory));
  for (int stage = 0; stage <= DVT_CLOSEST_COLLECT; stage++) {
    const dvt_closest_state begin = {
        .known = 0.5, .pairs = &pair, .sample = stage == DVT_CLOSEST_HASHED ? 100 : 0};
    dvt_closest_state s = begin;
    const int first = emulator_launches;
    CHECK(emulated_closest_perform(&site, (dvt_closest_stage)stage, &s));
    const int launches = emulator_launches - first;
    assert_true(launches > 0);
    for (int k = 0; k < launches; k++) {
      s = begin;
      emulator_fails_at = emulator_launches + k;
      CHECK_FAILS(emulated_closest_perform(&site, (dvt_closest_stage)stage, &s), DAVIT_DEVICE_ERROR,
                  "refused");
      assert_false(emulator_busy);
    }
    emulator_fails_at = -1;
  }
  assert_true(emulator_free());
}
