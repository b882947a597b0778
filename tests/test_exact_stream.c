/* SPDX-License-Identifier: Apache-2.0 */
/* Exact products on devices with streams, without a GPU: the kernels of offload/exact.c thread by thread on the
 * threads of tests/stream.h, and products of integers by plain loops. What they compute has the bits of the host's
 * form. */
#include "tests/stream_blas.h"

#include "tests/emulator.h"
#undef dvt_launch_grid
#define dvt_launch_grid enqueued_launch_grid /* in the order of the stream */
static davit_status enqueued_launch_grid(dvt_kernel *kernel, dvt_stream *stream, const dvt_grid *grid,
                                         const dvt_argument *arguments, int count);
/* The source under test. */
#define dvt_exact_measure_stream emulated_measure
#define dvt_exact_cut_stream emulated_cut
#define dvt_exact_multiply_stream emulated_multiply
#define dvt_exact_mirror_stream emulated_mirror
#define dvt_exact_sum_bytes emulated_sum_bytes
#include "offload/exact.c"
#include "src/exact/rows.c"
#undef dvt_stream_synchronize /* of tests/stream.h */
#include "tests/exact.h"

/* ---- kernels ---- */

#define POINTER(i) emulator_pointer(a + (i))
#define INTEGER(i) ((int64_t)a[i])
#define SMALL(i) ((int)INTEGER(i))
#define MEASURE(T, kind)                                                                                     \
  static void run_##T##_measure_##kind(void *arguments) {                                                    \
    const dvt_argument *a = arguments;                                                                       \
    T##_measure_##kind(POINTER(0), INTEGER(1), INTEGER(2), INTEGER(3), INTEGER(4), SMALL(5), SMALL(6),       \
                       POINTER(7), POINTER(8), INTEGER(9), INTEGER(10), POINTER(11));                        \
  }
#define CUT(T, kind)                                                                                         \
  static void run_##T##_cut_##kind(void *arguments) {                                                        \
    const dvt_argument *a = arguments;                                                                       \
    T##_cut_##kind(POINTER(0), INTEGER(1), INTEGER(2), INTEGER(3), INTEGER(4), SMALL(5), POINTER(6),         \
                   POINTER(7), INTEGER(8), INTEGER(9), SMALL(10), SMALL(11), SMALL(12));                     \
  }
#define JOIN(T, kind)                                                                                        \
  static void run_##T##_join_##kind(void *arguments) {                                                       \
    const dvt_argument *a = arguments;                                                                       \
    T##_join_##kind(POINTER(0), INTEGER(1), INTEGER(2), INTEGER(3), INTEGER(4), INTEGER(5), POINTER(6),      \
                    POINTER(7), SMALL(8), SMALL(9), SMALL(10), emulator_double(a + 11),                      \
                    emulator_double(a + 12), emulator_double(a + 13), emulator_double(a + 14), POINTER(15),  \
                    INTEGER(16), SMALL(17), SMALL(18), INTEGER(19));                                         \
  }
#define MIRROR(T)                                                                                            \
  static void run_##T##_mirror(void *arguments) {                                                            \
    const dvt_argument *a = arguments;                                                                       \
    T##_mirror(POINTER(0), INTEGER(1), INTEGER(2), SMALL(3), SMALL(4), SMALL(5), POINTER(6));                \
  }
#define EACH_KERNEL(T)                                                                                       \
  MEASURE(T, real)                                                                                           \
  MEASURE(T, complex)                                                                                        \
  CUT(T, real_2)                                                                                             \
  CUT(T, real_3)                                                                                             \
  CUT(T, complex_2)                                                                                          \
  CUT(T, complex_3)                                                                                          \
  JOIN(T, real_2)                                                                                            \
  JOIN(T, real_3)                                                                                            \
  JOIN(T, real_4)                                                                                            \
  JOIN(T, complex_2)                                                                                         \
  JOIN(T, complex_3)                                                                                         \
  JOIN(T, complex_4)                                                                                         \
  MIRROR(T)
EACH_KERNEL(float)
EACH_KERNEL(double)
#undef MEASURE
#undef CUT
#undef JOIN
#undef MIRROR

static void run_growth(void *arguments) {
  const dvt_argument *a = arguments;
  find_growth(POINTER(0), INTEGER(1), SMALL(2), INTEGER(3), INTEGER(4), INTEGER(5), INTEGER(6), POINTER(7),
              POINTER(8), POINTER(9), SMALL(10), INTEGER(11));
}

#define MEASURE(T, kind) {"exact_" #T "_measure_" #kind "_region", run_##T##_measure_##kind},
#define CUT(T, kind) {"exact_" #T "_cut_" #kind "_region", run_##T##_cut_##kind},
#define JOIN(T, kind) {"exact_" #T "_join_" #kind "_region", run_##T##_join_##kind},
#define MIRROR(T) {"exact_" #T "_mirror_region", run_##T##_mirror},
const emulator_kernel emulator_kernels[] = {EACH_KERNEL(float)
                                                EACH_KERNEL(double){"dvt_exact_growth_region", run_growth}};

/* ---- stands in for offload/runtime/launch.c and offload/exact_stream.c ---- */

typedef struct launch {
  void (*body)(void *arguments);
  dvt_grid grid;
  dvt_argument arguments[DVT_MAX_ARGUMENTS];
} launch;

static void run_launch(void *argument) {
  launch *l = argument;
  emulator_run((int)l->grid.teams, l->grid.threads, l->body, l->arguments);
  free(l);
}

static davit_status enqueued_launch_grid(dvt_kernel *kernel, dvt_stream *stream, const dvt_grid *grid,
                                         const dvt_argument *arguments, int count) {
  const emulator_kernel *found = emulator_kernels;
  DVT_TRY(device_call());
  while (strcmp(found->function, kernel->function))
    found++;
  launch *l = malloc(sizeof *l);
  l->body = found->body;
  l->grid = *grid;
  memcpy(l->arguments, arguments, (size_t)count * sizeof *arguments);
  push(stream, (item){.run = run_launch, .argument = l});
  return DAVIT_SUCCESS;
}

/* What cuBLASLt is asked for is for it. */
static void run_integers(void *argument) {
  dvt_exact_integers *p = argument;
  if (p->m % GROUP || p->n % GROUP || p->length % GROUP || p->pitch % GROUP || p->length > DVT_EXACT_RUN ||
      (uintptr_t)p->a % 16 || (uintptr_t)p->b % 16 || (uintptr_t)p->c % 16)
    abort();
  for (int plane = 0; plane < p->count; plane++)
    for (int64_t j = 0; j < p->n; j++)
      for (int64_t i = 0; i < p->m; i++) {
        const int8_t *a = (const int8_t *)p->a + plane * p->plane_a + i * p->pitch,
                     *b = (const int8_t *)p->b + plane * p->plane_b + j * p->pitch;
        int64_t sum = 0;
        for (int64_t h = 0; h < p->length; h++)
          sum += a[h] * b[h];
        if (sum != (int32_t)sum)
          abort();
        ((int32_t *)p->c)[plane * p->plane_c + j * p->m + i] = (int32_t)sum;
      }
  free(p);
}

davit_status dvt_exact_integers_stream(const dvt_site *site, const dvt_exact_integers *product) {
  DVT_TRY(device_call());
  dvt_exact_integers *copy = malloc(sizeof *copy);
  *copy = *product;
  push(site->stream, (item){.run = run_integers, .argument = copy});
  return DAVIT_SUCCESS;
}

davit_status dvt_exact_prepare(const dvt_site *site) {
  return dvt_blas_prepare(site);
}

LEVEL3_STANDS_IN

NO_FORM(add)

/* ---- both forms ---- */

enum { FORM_HOST, FORM_STREAM, FORM_COUNT };
static const dvt_site host_site = {.device = DAVIT_HOST, .threads = 2};
static dvt_site stream_site;

static void wait_for(davit_status status) {
  CHECK(status);
  CHECK(dvt_stream_synchronize(stream_site.stream));
}

static void *kept_planes(size_t bytes) { /* of rubbish, at multiples of 256 */
  char *block = kept(bytes + 256);
  memset(block, 0x5c, bytes + 256);
  return block + (256 - (uintptr_t)block % 256);
}

static int64_t in_groups(int64_t count) {
  return (count + GROUP - 1) / GROUP * GROUP;
}

typedef struct both {
  davit_type type;
  int64_t count[2], length, pitch; /* vectors of either side */
  dvt_exact_vectors v[FORM_COUNT][2];
  dvt_exact_need need[FORM_COUNT];
} both;

static double part_at(const both *g, int side, int64_t i, int64_t h, int part) {
  const dvt_exact_vectors *v = &g->v[FORM_HOST][side];
  const int64_t at = (i * v->step + h * v->stride) * dvt_exact_parts(g->type) + part;
  const double x = element_at(part_type(g->type), v->x, at);
  return part && v->conjugate ? -x : x;
}

/* Elements behind each other or beside those of other vectors, from any address on. */
static void make_side(both *g, int side, int windows, uint64_t *seed) {
  const int parts = dvt_exact_parts(g->type), spread_of = random_below(seed, 3) * 10;
  const bool beside = random_below(seed, 2);
  const int64_t count = g->count[side], pad = random_below(seed, 3), shift = random_below(seed, 5),
                step = beside ? 1 : g->length + pad, stride = beside ? count + pad : 1;
  const size_t element = davit_type_bytes(g->type);
  char *x = kept((size_t)((g->length + pad) * (count + pad) + shift) * element) + (size_t)shift * element;
  for (int64_t i = 0; i < count; i++) {
    const int power = random_power(seed, dvt_exact_is_long(g->type) ? 900 : 90),
              empty = random_below(seed, 8) == 0;
    for (int64_t h = 0; h < g->length; h++)
      for (int p = 0; p < parts; p++)
        element_set(part_type(g->type), x, (i * step + h * stride) * parts + p,
                    empty || random_below(seed, 9) == 0
                        ? 0
                        : ldexp(random_unit(seed), power + random_power(seed, spread_of)));
  }
  for (int form = 0; form < FORM_COUNT; form++) {
    const size_t number = form == FORM_HOST ? sizeof(double) : 1;
    const int64_t plane = in_groups(count) * g->pitch + (form == FORM_STREAM) * 256;
    g->v[form][side] =
        (dvt_exact_vectors){.type = g->type,
                            .side = side,
                            .conjugate = parts == 2 && random_below(seed, 2),
                            .count = count,
                            .length = g->length,
                            .x = x,
                            .step = step,
                            .stride = stride,
                            .vector = kept_planes((size_t)in_groups(count) * sizeof(dvt_exact_vector)),
                            .coarse = kept_planes((size_t)(plane * windows) * number),
                            .pitch = g->pitch,
                            .plane = plane,
                            .windows = windows};
    g->v[form][side].conjugate = g->v[FORM_HOST][side].conjugate;
  }
}

/* ---- measuring ---- */

static void try_measure(both *g) {
  for (int side = 0; side < 2; side++) {
    dvt_exact_vectors *host = &g->v[FORM_HOST][side], *stream = &g->v[FORM_STREAM][side];
    host->need = &g->need[FORM_HOST];
    stream->need = &g->need[FORM_STREAM];
    CHECK(dvt_exact_measure_host(&host_site, host));
    wait_for(dvt_exact_measure_stream(&stream_site, stream));
    assert_memory_equal(stream->vector, host->vector, (size_t)host->count * sizeof *host->vector);
    for (int window = 0; window < host->windows; window++)
      for (int64_t i = 0; i < host->count; i++)
        for (int64_t h = 0; h < in_groups(g->length); h++) {
          const double should =
              h < g->length ? ((double *)host->coarse)[window * host->plane + i * host->pitch + h] : 0;
          assert_true(should == ((int8_t *)stream->coarse)[window * stream->plane + i * stream->pitch + h]);
        }
  }
  assert_memory_equal(&g->need[FORM_STREAM], &g->need[FORM_HOST], sizeof(dvt_exact_need));
}

/* ---- cutting ---- */

static int modulo(__int128 value, int p) {
  const int rest = (int)(value % p);
  return rest < 0 ? rest + p : rest;
}

/* Residues that are as small as they can be; those of A are multiplied by the inverses. */
static void expect_residues(const both *g, int side, const dvt_exact_choice *choice) {
  const dvt_exact_vectors *v = &g->v[FORM_STREAM][side];
  const int parts = dvt_exact_parts(g->type), planes = parts == 2 ? 3 : 1;
  for (int l = 0; l < choice->moduli; l++) {
    const int p = dvt_exact_modulus(l), fold = side == 0 ? dvt_exact_inverse(choice->moduli, l) : 1;
    for (int64_t i = 0; i < v->count; i++)
      for (int64_t h = 0; h < in_groups(g->length); h++) {
        __int128 integer[3] = {0, 0, 0};
        for (int part = 0; part < parts && h < g->length; part++)
          integer[part] = (__int128)dvt_exact_integer(part_at(g, side, i, h, part),
                                                      dvt_exact_shift(&v->vector[i], choice->bits[side]));
        integer[2] = integer[0] + integer[1];
        for (int plane = 0; plane < planes; plane++) {
          const int is = ((const int8_t *)v->planes)[(l * planes + plane) * v->plane + i * v->pitch + h];
          if (modulo(is, p) != modulo(modulo(integer[plane], p) * fold, p) || 2 * is > p || 2 * is < -p)
            fail_msg("modulo %d of (%lld, %lld), plane %d: %d", p, (long long)i, (long long)h, plane, is);
        }
      }
  }
}

static void try_cut(both *g, const dvt_exact_choice *choice) {
  for (int form = 0; form < FORM_COUNT; form++)
    for (int side = 0; side < 2; side++) {
      dvt_exact_vectors *v = &g->v[form][side];
      const size_t number = form == FORM_HOST ? sizeof(double) : 1;
      v->choice = *choice;
      v->planes = kept_planes(
          (size_t)(v->plane * dvt_exact_planes(g->type, choice, side, form == FORM_STREAM)) * number);
      if (form == FORM_HOST)
        CHECK(dvt_exact_cut_host(&host_site, v));
      else
        wait_for(dvt_exact_cut_stream(&stream_site, v));
    }
  for (int side = 0; side < 2; side++)
    expect_residues(g, side, choice);
}

/* ---- multiplying ---- */

static dvt_exact_tile tile_of(const both *g, int form, bool looks, uint64_t *seed) {
  const dvt_exact_vectors *a = &g->v[form][0], *b = &g->v[form][1];
  dvt_exact_tile t = {.type = g->type,
                      .rows = g->count[0],
                      .columns = g->count[1],
                      .length = g->length,
                      .vector = {a->vector, b->vector},
                      .planes = {looks ? a->coarse : a->planes, looks ? b->coarse : b->planes},
                      .pitch = a->pitch,
                      .plane = {a->plane, b->plane},
                      .choice = a->choice,
                      .windows = a->windows};
  if (form == FORM_STREAM) { /* room for as many sums as it is sometimes */
    t.need = looks ? &g->v[form][0].need[0] : NULL;
    t.sum_bytes = dvt_exact_sum_bytes(&t, GROUP * (1 + random_below(seed, (int)in_groups(t.rows) / GROUP)),
                                      GROUP * (1 + random_below(seed, (int)in_groups(t.columns) / GROUP)));
    t.sums = kept_planes(t.sum_bytes);
  }
  return t;
}

static void try_growth(both *g, uint64_t *seed) {
  for (int form = 0; form < FORM_COUNT; form++) {
    dvt_exact_tile t = tile_of(g, form, true, seed);
    t.need = &g->need[form];
    if (form == FORM_HOST)
      CHECK(dvt_exact_multiply_host(&host_site, &t));
    else
      wait_for(dvt_exact_multiply_stream(&stream_site, &t));
  }
  assert_memory_equal(&g->need[FORM_STREAM], &g->need[FORM_HOST], sizeof(dvt_exact_need));
}

static void try_multiply(both *g, uint64_t *seed) {
  const int parts = dvt_exact_parts(g->type);
  const int64_t ldc = g->count[0] + random_below(seed, 4);
  const size_t bytes = (size_t)(ldc * g->count[1] + 4) * davit_type_bytes(g->type);
  const double _Complex factors[] = {1, 0.7, 0, -2};
  const double _Complex turn = parts == 2 ? 0.25i : 0, alpha = factors[random_below(seed, 2)] + turn,
                        beta = factors[random_below(seed, 4)];
  char *c[FORM_COUNT];
  for (int form = 0; form < FORM_COUNT; form++) {
    uint64_t same = 7;
    c[form] = kept(bytes);
    for (int64_t i = 0; beta != 0 && i < (int64_t)(bytes / davit_type_bytes(g->type)) * parts; i++)
      element_set(part_type(g->type), c[form], i, random_unit(&same));
    dvt_exact_tile t = tile_of(g, form, false, seed);
    t.alpha = alpha;
    t.beta = beta;
    t.c = c[form] + 2 * davit_type_bytes(g->type);
    t.ldc = ldc;
    if (form == FORM_HOST)
      CHECK(dvt_exact_multiply_host(&host_site, &t));
    else
      wait_for(dvt_exact_multiply_stream(&stream_site, &t));
  }
  if (memcmp(c[FORM_HOST], c[FORM_STREAM], bytes))
    fail_msg("%lld x %lld x %lld of type %d, %d moduli, %d and %d bits: other bits", (long long)g->count[0],
             (long long)g->count[1], (long long)g->length, (int)g->type, g->v[0][0].choice.moduli,
             g->v[0][0].choice.bits[0], g->v[0][0].choice.bits[1]);
}

/* Bits of A and B for which the moduli have room, at most as many as there are. */
static dvt_exact_choice random_choice(int most_moduli, uint64_t *seed) {
  dvt_exact_choice choice = {.moduli = 3 + random_below(seed, most_moduli - 2)};
  const int room = dvt_exact_room(choice.moduli), most = DVT_EXACT_MOST_BITS,
            least = room - most > 10 ? room - most : 10, end = room - least;
  choice.bits[0] = least + random_below(seed, end - least + 1);
  choice.bits[1] = room - choice.bits[0];
  return choice;
}

static void try_forms(davit_type type, int64_t rows, int64_t columns, int64_t length, int most_moduli,
                      uint64_t *seed) {
  SCOPE;
  both g = {.type = type,
            .count = {rows, columns},
            .length = length,
            .pitch = in_groups(length) + GROUP * random_below(seed, 2)};
  const dvt_exact_choice choice = random_choice(most_moduli, seed);
  const int windows = random_below(seed, 2) ? 1 : DVT_EXACT_WINDOWS;
  for (int side = 0; side < 2; side++)
    make_side(&g, side, windows, seed);
  try_measure(&g);
  try_growth(&g, seed);
  try_cut(&g, &choice);
  try_multiply(&g, seed);
}

CASE(test_forms) {
  uint64_t seed = 1;
  CHECK(dvt_stream_acquire(devices[0], DVT_STREAM_MIXED, &stream_site.stream));
  for (int turn = 0; turn < scaled(12); turn++)
    for (int v = 0; v < COUNT(problem_types); v++) {
      emulator_descending = turn % 2;
      try_forms(problem_types[v], 1 + random_below(&seed, turn % 4 ? 40 : 300), 1 + random_below(&seed, 60),
                1 + random_below(&seed, turn % 3 ? 50 : 700), DVT_EXACT_MOST, &seed);
    }
}

/* Vectors for which sums of 32 bits are too short. */
CASE(test_runs) {
  uint64_t seed = 2;
  for (int v = 0; v < COUNT(problem_types); v++)
    if (!left_out())
      for (int turn = 0; turn < 2; turn++)
        try_forms(problem_types[v], 1 + random_below(&seed, 3), 1 + random_below(&seed, 3),
                  DVT_EXACT_RUN + random_below(&seed, 20) - 3, 4, &seed);
}

/* ---- the whole product ---- */

static int give_exact_streams(void **state) {
  give_streams(state);
  memcpy(exact_devices, devices, sizeof devices);
  exact_spread = spread;
  return 0;
}

/* Later vectors need more than the first ones say. */
static void try_product(davit_type type, uint64_t *seed) {
  SCOPE;
  const int turn = random_below(seed, 4),
            places[3] = {DAVIT_PAGEABLE, turn % 2 ? DAVIT_PINNED : DAVIT_PAGEABLE, DAVIT_PAGEABLE};
  trial t =
      trial_new(type, 1 + random_below(seed, 90), 1 + random_below(seed, 90), 1 + random_below(seed, 60));
  t.beta = random_below(seed, 3) ? 0 : 0.5;
  t.options.moduli = random_below(seed, 3) ? 0 : random_below(seed, 21);
  t.options.separate_memory = true;
  trial_set_layout(&t, seed);
  trial_fill(&t, (operands){.wild = 20, .inside = turn * (trial_is_long(&t) ? 4 : 2)}, seed);
  trial_lay_out(&t, places, seed);
  const dense given = t.o[2];
  trial host = t;
  const int at[] = {DAVIT_HOST};
  host.options.devices = at;
  trial_run(&host);
  trial_expect_exact(&host);
  for (int count = 1; count <= spread; count++) {
    t.o[2] = given;
    dense_give(&t.o[2]);
    t.options.device_count = count;
    t.options.cache_bytes = random_below(seed, 2) ? 0 : (size_t)(t.k + 16) * 6000 + 200000;
    trial_run(&t);
    trial_expect_exact(&t);
    assert_memory_equal(t.o[2].image, host.o[2].image, host.o[2].bytes);
  }
}

CASE(test_products) {
  uint64_t seed = 3;
  for (int turn = 0; turn < scaled(4); turn++)
    for (int v = 0; v < COUNT(problem_types); v++)
      try_product(problem_types[v], &seed);
}

/* Natively, over streams as well. */
CASE(test_not_finite) {
  uint64_t seed = 6;
  for (int v = 0; v < COUNT(problem_types); v++)
    for (int side = 0; side < 2; side++) {
      SCOPE;
      trial t = trial_new(problem_types[v], 40, 30, 20);
      t.beta = side;
      t.options.device_count = spread < 2 ? spread : 2;
      t.options.separate_memory = true;
      trial_fill(&t, (operands){.phi = 0}, &seed);
      trial_number(&t, side, random_below(&seed, 30), 7)[0] = side ? (double)NAN : (double)INFINITY;
      trial_lay_out(&t, all_pageable, &seed);
      trial_run(&t);
      assert_non_null(t.report.why_native);
      trial_expect_native(&t);
    }
}

/* Tiles of C are computed faster than they are stored. */
CASE(test_slow_stores) {
  const int places[3] = {DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PINNED}; /* C is stored without staging */
  uint64_t seed = 5;
  trial t = trial_new(DAVIT_FLOAT, 160, 16, 5);
  t.options.separate_memory = true;
  t.options.cache_bytes = 40000;
  trial_fill(&t, (operands){.phi = 0}, &seed);
  trial_lay_out(&t, places, &seed);
  slow_copies = (struct slow_copies){t.o[2].there, t.o[2].there + t.o[2].bytes, 150};
  trial_run(&t);
  slow_copies.end = slow_copies.begin;
  trial_expect_exact(&t);
  trial_expect_bound(&t, "slow stores");
  assert_true(t.report.products > 4);
}

/* A stream is lost at any call: a status and a sentence, or another way to the same numbers. */
CASE(test_lost_streams) {
  uint64_t seed = 4;
  bool lost = true;
  int failures = 0;
  for (int until = 1; lost; until++) {
    SCOPE;
    trial t = trial_new(DAVIT_DOUBLE, 30, 20, 10);
    t.options.device_count = spread < 2 ? spread : 2;
    t.options.separate_memory = true;
    trial_fill(&t, (operands){.phi = 0}, &seed);
    trial_lay_out(&t, all_pageable, &seed);
    atomic_store(&device_calls.until_lost, until);
    dvt_error_clear();
    const davit_status status = trial_call(&t);
    lost = atomic_exchange(&device_calls.until_lost, 0) == 0;
    if (status != DAVIT_SUCCESS) {
      assert_true(lost && status == DAVIT_DEVICE_LOST && *davit_last_error());
      failures++;
    } else {
      dense_take(&t.o[2]);
      trial_expect_bound(&t, "a lost stream");
    }
    assert_true(until < 1000);
  }
  assert_true(failures > 20);
}

int main(void) {
  return run_cases(give_exact_streams, finalize);
}
