/* SPDX-License-Identifier: Apache-2.0 */
/* The barriers of the study's kernels: their texts in the form for GPUs, thread by thread (tests/emulator.h).
 * A thread goes on until it meets a barrier, the first one first or the last one first, so a barrier that is
 * not there lets it read what others have not written, or write what others have not read. */
#include "tests/emulator.h"

#include <math.h>

/* The fields and the members of a struct with a launch's arguments. */
#define EACH_OF(m, ...)                                                                                      \
  EACH_OF_(__VA_ARGS__, M16, M15, M14, M13, M12, M11, M10, M9, M8, M7, M6, M5, M4, M3, M2, M1)(m, __VA_ARGS__)
#define EACH_OF_(a, b, c, d, e, f, g, h, i, j, k, l, n, o, p, q, which, ...) which
#define M1(m, x) m##_LAST(x)
#define M2(m, x, ...) m(x) M1(m, __VA_ARGS__)
#define M3(m, x, ...) m(x) M2(m, __VA_ARGS__)
#define M4(m, x, ...) m(x) M3(m, __VA_ARGS__)
#define M5(m, x, ...) m(x) M4(m, __VA_ARGS__)
#define M6(m, x, ...) m(x) M5(m, __VA_ARGS__)
#define M7(m, x, ...) m(x) M6(m, __VA_ARGS__)
#define M8(m, x, ...) m(x) M7(m, __VA_ARGS__)
#define M9(m, x, ...) m(x) M8(m, __VA_ARGS__)
#define M10(m, x, ...) m(x) M9(m, __VA_ARGS__)
#define M11(m, x, ...) m(x) M10(m, __VA_ARGS__)
#define M12(m, x, ...) m(x) M11(m, __VA_ARGS__)
#define M13(m, x, ...) m(x) M12(m, __VA_ARGS__)
#define M14(m, x, ...) m(x) M13(m, __VA_ARGS__)
#define M15(m, x, ...) m(x) M14(m, __VA_ARGS__)
#define M16(m, x, ...) m(x) M15(m, __VA_ARGS__)
#define FIELD(declaration) declaration;
#define FIELD_LAST(declaration) declaration;
#define MEMBER(name) l->name,
#define MEMBER_LAST(name) l->name

/* A grid of common/kernel.h in the emulator. */
#define STUDY_GRID(name, threads, pointers, call)                                                            \
  struct name##_launch {                                                                                     \
    EACH_OF(FIELD, PARAMETERS)                                                                               \
  };                                                                                                         \
  static void name##_body(PARAMETERS) {                                                                      \
    const int64_t team = dvt_team(), teams = dvt_teams();                                                    \
    (void)team, (void)teams;                                                                                 \
    call;                                                                                                    \
  }                                                                                                          \
  static void name##_thread(void *launch) {                                                                  \
    const struct name##_launch *l = launch;                                                                  \
    name##_body(EACH_OF(MEMBER, ARGUMENTS));                                                                 \
  }                                                                                                          \
  static void name(const study_site *site, int64_t teams, PARAMETERS) {                                      \
    (void)site;                                                                                              \
    emulator_run((int)teams, threads, name##_thread, &(struct name##_launch){ARGUMENTS});                    \
  }

#include "bench/study/tests/closest.h"

#include "bench/study/align/launch.h"
#include "bench/study/closest/closest.h"
#include "bench/study/common/kernel.h"
#include "bench/study/dense/point.h"
#include "bench/study/reduce/cpu.h"
#include "bench/study/reduce/reduce.h"
#include "bench/study/reduce/scan.h"

const emulator_kernel emulator_kernels[] = {{0}}; /* bodies are run directly */

#define EACH_ORDER(down) for (int down = 0; down < 2 && (emulator_descending = down, true); down++)

/* ---- the dense kernels ---- */

#define PARAMETERS int64_t p, int64_t q, double r, const double *in, const double *in2, double *out
#define ARGUMENTS p, q, r, in, in2, out
typedef struct sized {
  void (*run[2])(const study_site *site, int64_t teams, PARAMETERS);
} sized;
#define LANES_OF(block) ((block) < 32 ? (block) : 32)

#define NAME(x) DVT_PASTE(atax_, x, )
#define BLOCK 64
#include "bench/study/dense/atax.inc"
#undef NAME
#undef BLOCK
#define NAME(x) DVT_PASTE(product_, x, )
#define BLOCK 8
#include "bench/study/dense/product.inc"
#undef NAME
#undef BLOCK
#undef PARAMETERS
#undef ARGUMENTS

static double *random_doubles(int64_t n, uint64_t seed) {
  double *x = host_memory(n, sizeof *x);
  for (int64_t i = 0; i < n; i++)
    x[i] = random_unit(&seed) - 0.3;
  return x;
}

static void near(int64_t n, const double *is, const double *right) {
  for (int64_t i = 0; i < n; i++)
    assert_true(fabs(is[i] - right[i]) < 1e-11);
}

/* Several pieces of the vector and several teams, whose memory holds what the one before left. */
CASE(test_atax) {
  enum { NX = 131, NY = 197 };
  const double *a = random_doubles(NX * NY, 1), *x = random_doubles(NY, 2);
  double tmp[NX] = {0}, y[NY] = {0}, is[NY];
  for (int i = 0; i < NX; i++)
    for (int j = 0; j < NY; j++)
      tmp[i] += a[i * NY + j] * x[j];
  for (int i = 0; i < NX; i++)
    for (int j = 0; j < NY; j++)
      y[j] += a[i * NY + j] * tmp[i];
  EACH_ORDER(down) {
    atax_forms.run[0](NULL, (NX + 1) / 2, NX, NY, 0, a, x, is);
    near(NX, is, tmp);
    atax_forms.run[1](NULL, (NY + 63) / 64, NX, NY, 0, a, tmp, is);
    near(NY, is, y);
  }
}

CASE(test_covariance) {
  enum { M = 29, N = 21 };
  const double *d = random_doubles(M * N, 3);
  double right[N * N] = {0}, is[N * N];
  for (int k = 0; k < M; k++)
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++)
        right[i * N + j] += d[k * N + i] * d[k * N + j];
  EACH_ORDER(down) {
    for (int symmetric = 0; symmetric < 2; symmetric++) {
      memset(is, 0, sizeof is);
      product_forms.run[0](NULL, symmetric ? 6 : 9, M, N, symmetric, d, d, is);
      near(N * N, is, right);
    }
  }
}

/* ---- reductions and scans ---- */

#define T uint64_t
#define IDENTITY STUDY_COMPOSE_IDENTITY
#define COMBINE(left, right) study_compose(left, right)
#define BLOCK 128
#define NAME(x) DVT_PASTE(scan_, x, )
#include "bench/study/reduce/scan.inc"
#undef NAME
#undef T
#undef IDENTITY
#undef COMBINE

#define T int32_t
#define IDENTITY STUDY_SUM_IDENTITY
#define COMBINE(left, right) study_add(left, right)
#define COMMUTES
#define NAME(x) DVT_PASTE(reduce_, x, )
#include "bench/study/reduce/reduce.inc"
#undef NAME
#undef BLOCK
#undef T
#undef IDENTITY
#undef COMBINE
#undef COMMUTES

CASE(test_reductions) {
  enum { N = 4000, TEAMS = 6 };
  EACH_ORDER(down)
  for (int form = 0; form < STUDY_REDUCE_FORMS; form++) {
    const int32_t *x = random_words(N, 5 + (uint64_t)form);
    const int tile = form < STUDY_K4 ? 128 : 256;
    int32_t partials[TEAMS], right[TEAMS] = {0};
    for (int i = 0; i < (form < STUDY_K6_BARRIERS ? TEAMS * tile : N); i++)
      right[i / tile % TEAMS] = study_add(right[i / tile % TEAMS], x[i]);
    reduce_forms.form[form](NULL, TEAMS, partials, x, N);
    assert_memory_equal(partials, right, sizeof right);
  }
}

/* Inclusive and exclusive sums of each tile, and the tiles' own. */
static void tiles_right(int form, int tile, bool exclusive) {
  enum { N = 3001 };
  const uint64_t *x = random_words(2 * (int64_t)N, 11 + (uint64_t)form);
  uint64_t y[N], totals[N / 32 + 1], right;
  const int team = form == STUDY_WARP_SCAN ? 128 : tile;
  scan_forms.form[form](NULL, (N + team - 1) / team, 0, N, x, y, form == STUDY_WARP_SCAN ? NULL : totals,
                        exclusive);
  for (int first = 0; first < N; first += tile) {
    const int count = N - first < tile ? N - first : tile;
    uint64_t should[N];
    study_reference_scan(STUDY_COMPOSE, exclusive, count, x + first, should);
    assert_memory_equal(y + first, should, (size_t)count * sizeof *y);
    study_reference_reduce(STUDY_COMPOSE, count, x + first, &right);
    assert_true(form == STUDY_WARP_SCAN || totals[first / tile] == right);
  }
}

CASE(test_scans) {
  static const int tiles[STUDY_SCAN_FORMS] = {128, 32, 128, 128 * STUDY_SCAN_EACH};
  EACH_ORDER(down)
  for (int form = 0; form < STUDY_SCAN_FORMS; form++)
    for (int exclusive = 0; exclusive < (form == STUDY_NAIVE ? 1 : 2); exclusive++)
      tiles_right(form, tiles[form], exclusive);
}

/* ---- the closest pair ---- */

typedef struct brute_form {
  void (*compare[2])(const study_site *site, int64_t teams, int64_t n, const study_point *points, float *dist,
                     study_two_points *pairs, int64_t *comparisons);
  void (*minimum)(const study_site *site, int64_t teams, int64_t m, float *dist, study_two_points *pairs);
} brute_form;

#define STRIP_PARAMETERS                                                                                     \
  int64_t n, int64_t length, int limit, float delta, float x1, float y1, float x2, float y2,                 \
      const study_point *sx, const study_point *sy, const bool *flags, float *dist, study_two_points *pairs, \
      study_strip_count *counts
#define STRIP_ARGUMENTS n, length, limit, delta, x1, y1, x2, y2, sx, sy, flags, dist, pairs, counts

typedef struct divide_form {
  void (*brute)(const study_site *site, int64_t teams, int64_t n, const study_point *sx, float *dist,
                study_two_points *pairs);
  void (*find)(const study_site *site, int64_t teams, int64_t n, int64_t length, float delta,
               const study_point *sx, const study_point *sy, bool *flags);
  void (*strip[3])(const study_site *site, int64_t teams, STRIP_PARAMETERS);
} divide_form;

#define BLOCK 32
#define form brute_form
#define NAME(x) DVT_PASTE(brute_, x, )
#include "bench/study/closest/brute.inc"
#undef NAME
#undef form
#define form divide_form
#define NAME(x) DVT_PASTE(divide_, x, )
#include "bench/study/closest/divide.inc"
#undef NAME
#undef form
#undef BLOCK

#define study_sort_points emulated_sort_points
#define study_sort_comparators emulated_sort_comparators
#define study_sort_launches emulated_sort_launches
#include "bench/study/closest/sort.c"

CASE(test_all_pairs) {
  enum { N = 203 };
  const study_point *p = points_of(UNIFORM, N, 7);
  EACH_ORDER(down)
  for (int balanced = 0; balanced < 2; balanced++) {
    const study_brute b = {.threads = 32, .balanced = balanced};
    const int64_t count = study_brute_candidates(&b, N);
    float dist[7], right = right_distance(N, p);
    study_two_points pairs[7];
    brute_forms.compare[balanced](NULL, 2, N, p, dist, pairs, NULL); /* a team has several blocks */
    for (int64_t k = 0; k < count; k++)
      assert_true(between(&pairs[k]) == sqrtf(dist[k]) && sqrtf(dist[k]) >= right);
    brute_forms.minimum(NULL, 1, count, dist, pairs);
    assert_true(sqrtf(dist[0]) == right && between(&pairs[0]) == right);
  }
}

/* The base of P5 and one step of it over the whole set: flags, then the strip. */
static void divide_right(uint64_t seed) {
  enum { N = 256, BLOCKS_OF_32 = N / 32 };
  study_point *sx = points_of(SIGNED, N, seed), sy[N];
  sort_batches(STUDY_BY_X, 1, N, sx);
  memcpy(sy, sx, sizeof sy);
  sort_batches(STUDY_BY_Y, 1, N, sy);
  EACH_ORDER(down) {
    float dist[BLOCKS_OF_32], of_block[BLOCKS_OF_32], minimum = INFINITY;
    study_two_points pairs[BLOCKS_OF_32];
    bool flags[BLOCKS_OF_32];
    divide_forms.brute(NULL, 3, N, sx, dist, pairs);
    for (int b = 0; b < BLOCKS_OF_32; b++) {
      assert_true(dist[b] == right_distance(32, sx + 32 * b) && between(&pairs[b]) == dist[b]);
      minimum = fminf(minimum, dist[b]);
    }
    divide_forms.find(NULL, 3, N, N, minimum, sx, sy, flags);
    for (int b = 0; b < BLOCKS_OF_32; b++) {
      bool has = false;
      for (int i = 32 * b; i < 32 * b + 32; i++)
        has |= fabsf(sy[i].x - sx[N / 2].x) <= minimum;
      assert_true(flags[b] == has);
      flags[b] = true; /* so that all teams work below */
      of_block[b] = dist[b] = INFINITY;
      for (int i = 32 * b; i < 32 * b + 32; i++)
        for (int j = i + 1; j < N; j++)
          of_block[b] = fminf(of_block[b], study_distance(sy[i], sy[j]));
    }
    divide_forms.strip[0](NULL, 3, N, N, N, 10, 0, 0, 0, 0, sx, sy, flags, dist, pairs, NULL);
    for (int b = 0; b < BLOCKS_OF_32; b++)
      assert_true(dist[b] == of_block[b] && between(&pairs[b]) == dist[b]);
  }
}

CASE(test_divide) {
  for (uint64_t seed = 0; seed < 40; seed++) {
    SCOPE;
    divide_right(seed);
  }
}

CASE(test_sorts) {
  enum { N = 2048 };
  EACH_ORDER(down)
  for (int sort = 0; sort < STUDY_SORTS; sort++) {
    const study_point *p = points_of(UNIFORM, N, 13 + (uint64_t)sort);
    study_point right[N], is[N];
    memcpy(right, p, sizeof right);
    sort_batches(STUDY_BY_Y, N / 512, 512, right);
    near_kernels[sort][STUDY_BY_Y](NULL, N / TILE, N, 512, 2, 512, p, is);
    assert_memory_equal(is, right, sizeof is);
  }
}

/* ---- the introduction's product of matrices ---- */

#include "bench/study/closest/product.inc"

#undef PARAMETERS
#undef ARGUMENTS
#define PARAMETERS int64_t n, const float *a, const float *b, float *c
#define ARGUMENTS n, a, b, c
GRID(product_in_tiles, SIDE *SIDE, (a, b, c), product_tiled(team, n, a, b, c))
GRID(product_as_it_is, SIDE *SIDE, (a, b, c), product(team, n, a, b, c))

/* Small whole numbers, so that the sums are exact. */
CASE(test_matrix_product) {
  enum { N = 53, TEAMS = 16 };
  uint64_t seed = 17;
  float *a = host_memory(2 * N * N, sizeof *a), *b = a + N * N, right[N * N] = {0}, is[N * N];
  for (int i = 0; i < 2 * N * N; i++)
    a[i] = (float)random_below(&seed, 64) - 31;
  for (int i = 0; i < N; i++)
    for (int k = 0; k < N; k++)
      for (int j = 0; j < N; j++)
        right[i * N + j] += a[i * N + k] * b[k * N + j];
  EACH_ORDER(down) {
    product_in_tiles(NULL, TEAMS, N, a, b, is);
    assert_memory_equal(is, right, sizeof right);
    memset(is, 0, sizeof is);
    product_as_it_is(NULL, TEAMS, N, a, b, is);
    assert_memory_equal(is, right, sizeof right);
  }
}
#undef PARAMETERS
#undef ARGUMENTS

/* ---- V5 of the alignment ---- */

#define TEAM_BARRIER() dvt_barrier()
#include "bench/study/align/tiles.inc"

static void align_by_tiles(void *task) {
  align_unit_by_tiles(task, dvt_team(), dvt_thread(), 32);
}

/* Several tiles, more runs than threads, and patterns that end inside a tile; orders of the host's. */
CASE(test_tiles) {
  enum {
    WIDTH = 3,
    WINDOW = 12,
    WINDOWS = 3,
    EFFECTS = 2,
    RUNS = 37,
    TILE_COLUMNS = 5,
    UNITS = WINDOWS * EFFECTS
  };
  const int64_t starts[EFFECTS + 1] = {0, 17, 31};
  uint64_t seed = 19;
  float *movie = host_memory(WINDOWS * WINDOW * WIDTH, sizeof *movie),
        *patterns = host_memory(starts[EFFECTS] * WIDTH, sizeof *patterns);
  uint16_t *orders = host_memory((RUNS - 1) * WINDOW, sizeof *orders);
  float scores[2][UNITS * RUNS];
  for (int i = 0; i < WINDOWS * WINDOW * WIDTH; i++)
    movie[i] = (float)random_unit(&seed);
  for (int i = 0; i < starts[EFFECTS] * WIDTH; i++)
    patterns[i] = (float)random_unit(&seed);
  for (int r = 1; r < RUNS; r++)
    dvt_permutation(5, (uint64_t)r, WINDOW, &orders[(r - 1) * WINDOW]);
  study_align_task task = {.movie = movie,
                           .patterns = patterns,
                           .starts = starts,
                           .orders = orders,
                           .scores = scores[0],
                           .window = WINDOW,
                           .count = UNITS,
                           .width = WIDTH,
                           .effects = EFFECTS,
                           .runs = RUNS,
                           .tile_columns = TILE_COLUMNS,
                           .threshold = 50,
                           .open = 33,
                           .extend = 33};
  task.slot_floats = study_align_full_floats(WINDOW, 17);
  task.matrices = host_memory(task.slot_floats, sizeof(float));
  study_align_cpu_serial(&task);
  task.slot_floats = RUNS * study_align_tile_run_floats(WINDOW, TILE_COLUMNS);
  task.matrices = host_memory(UNITS * task.slot_floats, sizeof(float));
  task.scores = scores[1];
  EACH_ORDER(down) {
    memset(scores[1], 0, sizeof scores[1]);
    emulator_run(UNITS, 32, align_by_tiles, &task);
    assert_memory_equal(scores[1], scores[0], sizeof scores[0]);
  }
}
