/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over one alignment on a GPU without one: the kernels lane by lane, and what launches them, against
 * the passes of the CPU. */
#include "tests/emulator.h"
/* The source under test. */
#include "tests/align_wavefront.h"
/* Traces with the device, whatever the host would take. */
#define dvt_align_wavefront_seconds(m, n) 0.0
#define dvt_team emulated_team /* the type; the emulator has a function of that name */
#define dvt_check_scoring emulated_check_scoring
#define dvt_check_sequence emulated_check_sequence
#define dvt_largest_entry emulated_largest_entry
#define dvt_check_score_range emulated_check_score_range
#define dvt_check_cost_range emulated_check_cost_range
#define dvt_align_trace emulated_trace
#define davit_align_trace emulated_davit_trace
#define dvt_check_offsets emulated_check_offsets
#define dvt_check_symbols emulated_check_symbols
#define dvt_check_sequences emulated_check_sequences
#define dvt_align_on_shares emulated_align_on_shares
#define dvt_walk_back emulated_walk_back
#define dvt_put_columns emulated_put_columns
#define dvt_trace_columns emulated_trace_columns
#define dvt_trace_cross emulated_trace_cross
#include "src/align_trace.c"
#define load load_kept
#include "src/align_crosspoints.c"
#define launch launch_passes_of_level
#include "src/align_columns.c"
#undef dvt_align_trace
#undef dvt_team
#include "tests/support.h"

/* The library's. */
davit_status dvt_align_trace(const davit_align_scoring *scoring, int64_t m, const uint8_t *query, int64_t n,
                             const uint8_t *target, int64_t cells, int64_t every, int threads,
                             davit_align_result *result, char **cigar,
                             const davit_align_trace_options *options);

const emulator_kernel emulator_kernels[] = {WAVE_KERNELS};

typedef struct pair {
  dvt_align_costs costs;
  int8_t matrix[32 * 32];
  int64_t m, n;
  uint8_t *query, *target;
} pair;

/* A profile of the query in the place of the matrix, whose entries it has with some less. */
static void make_profile(pair *p, uint64_t *random) {
  const int symbols = p->costs.symbols;
  int8_t *profile = kept((size_t)(p->m * symbols));
  for (int64_t i = 0; i < p->m; i++)
    for (int k = 0; k < symbols; k++)
      profile[i + k * p->m] = (int8_t)(p->matrix[p->query[i] + k * symbols] - random_below(random, 3));
  p->costs.matrix = NULL;
  p->costs.profile = profile;
  p->costs.query = p->query;
  p->costs.m = p->m;
}

static bool profiled; /* whether pairs have one */

/* The target is the query with some symbols changed, left out and put in, behind something else. */
static void make_pair(int symbols, int64_t m, int64_t n, int most, int64_t first, int64_t extend,
                      uint64_t seed, pair *p) {
  uint64_t random = seed;
  *p = (pair){
      .costs = {.matrix = p->matrix, .symbols = symbols, .largest = most, .first = first, .extend = extend},
      .m = m,
      .n = n};
  for (int i = 0; i < symbols * symbols; i++)
    p->matrix[i] = (int8_t)(i % (symbols + 1) == 0 ? most : random_below(&random, 6) - 5);
  p->query = kept(2 * (size_t)m + 1); /* room for more than one pass at a time */
  p->target = kept(3 * (size_t)n + 1);
  for (int64_t i = 0; i < m; i++)
    p->query[i] = (uint8_t)random_below(&random, symbols);
  for (int64_t j = 0, i = -n / 7; j < n; j++, i++) {
    const bool alike = i >= 0 && i < m && random_below(&random, 12) > 0;
    p->target[j] = alike ? p->query[i] : (uint8_t)random_below(&random, symbols);
    i += random_below(&random, 40) == 0 ? random_below(&random, 9) - 4 : 0;
  }
  if (profiled)
    make_profile(p, &random);
}

typedef struct vectors {
  int64_t *h, *d;
} vectors;

static vectors make_vectors(int64_t m) {
  const size_t bytes = ((size_t)m + 1) * sizeof(int64_t);
  return (vectors){kept(bytes), kept(bytes)};
}

enum { EVERY = 32 };

static dvt_align_kept make_kept(const dvt_align_stretch *s) {
  const size_t columns = (size_t)dvt_align_kept_columns(s->n, EVERY);
  return (dvt_align_kept){EVERY, kept(columns * 2 * ((size_t)s->m + 1) * sizeof(int32_t) + 1)};
}

/* All rows of each column, then those in the middle. */
static void expect_kept(const dvt_align_wavefront *wave, const dvt_align_stretch *s,
                        const dvt_align_kept *wanted) {
  for (int64_t which = 0; which < dvt_align_kept_columns(s->n, EVERY); which++)
    for (int part = 0; part < 2; part++) {
      const int64_t first = part ? 1 + s->m / 3 : 1, last = part ? s->m - s->m / 4 : s->m;
      const int32_t *h, *d, *column = wanted->columns + which * 2 * (s->m + 1);
      CHECK(dvt_align_wavefront_kept(wave, s->m, which, first, last, &h, &d));
      for (int64_t i = first; i <= last; i++)
        if (h[i - first] != column[i] || d[i - first] != column[s->m + 1 + i])
          fail_msg("%lld by %lld, kept column %lld, row %lld: %d and %d, not %d and %d", (long long)s->m,
                   (long long)s->n, (long long)which, (long long)i, h[i - first], d[i - first], column[i],
                   column[s->m + 1 + i]);
    }
}

static void expect_column(const dvt_align_wavefront *wave, int which, const dvt_align_stretch *s,
                          const vectors *wanted) {
  const vectors found = make_vectors(s->m);
  dvt_align_wavefront_column(wave, which, found.h, found.d);
  for (int64_t i = 0; i <= s->m; i++)
    if (wanted->h[i] != found.h[i] || wanted->d[i] != found.d[i])
      fail_msg("%lld by %lld, step %d, row %lld: %lld and %lld, not %lld and %lld", (long long)s->m,
               (long long)s->n, s->step, (long long)i, (long long)found.h[i], (long long)found.d[i],
               (long long)wanted->h[i], (long long)wanted->d[i]);
}

/* All at the same time. */
static void expect_passes(const pair *p, const dvt_align_wavefront *wave, int count,
                          const dvt_align_wavefront_sweep *passes) {
  CHECK(dvt_align_wavefront_sweeps(wave, count, passes, count == 1));
  for (int k = 0; k < count; k++) {
    const dvt_align_stretch *s = &passes[k].s;
    const vectors wanted = make_vectors(s->m);
    dvt_align_team team;
    CHECK(dvt_align_team_open(&p->costs, s->m, s->n, 1, &team));
    dvt_align_edge(&p->costs, s->m, passes[k].first, wanted.h, wanted.d);
    const dvt_align_kept kept_columns = make_kept(s);
    dvt_align_sweep(&p->costs, s, &team, wanted.h, wanted.d, NULL, &kept_columns);
    dvt_align_team_close(&team);
    expect_column(wave, k, s, &wanted);
    if (count == 1)
      expect_kept(wave, s, &kept_columns);
  }
}

static void expect_best(const pair *p, const dvt_align_wavefront *wave, const dvt_align_stretch *s,
                        bool local) {
  const vectors v = make_vectors(s->m);
  dvt_align_team team;
  dvt_align_cell found;
  CHECK(dvt_align_team_open(&p->costs, s->m, s->n, 1, &team));
  if (local)
    dvt_align_local_edge(s->m, v.h, v.d);
  else
    dvt_align_edge(&p->costs, s->m, p->costs.first, v.h, v.d);
  const dvt_align_kept kept_columns = make_kept(s);
  const dvt_align_cell wanted =
      dvt_align_best(&p->costs, s, local ? 0 : DVT_ALIGN_NONE, INT64_MAX, &team, v.h, v.d, &kept_columns);
  dvt_align_team_close(&team);
  CHECK(dvt_align_wavefront_best(wave, s, local, true, &found));
  if (!local)
    expect_column(wave, 0, s, &v);
  expect_kept(wave, s, &kept_columns);
  if (wanted.score != found.score || wanted.row != found.row || wanted.column != found.column)
    fail_msg("%lld by %lld, step %d: %lld at %lld, %lld, not %lld at %lld, %lld", (long long)s->m,
             (long long)s->n, s->step, (long long)found.score, (long long)found.row, (long long)found.column,
             (long long)wanted.score, (long long)wanted.row, (long long)wanted.column);
}

static void expect_all(const pair *p) {
  void *memory, *staging = kept(dvt_align_wavefront_staging_bytes(2 * p->m));
  dvt_align_wavefront wave;
  assert_true(dvt_align_wavefront_fits(&p->costs, p->m, p->n));
  CHECK(emulated_workspace(&emulator_site, dvt_align_wavefront_bytes(&p->costs, 2 * p->m, 3 * p->n, EVERY),
                           &memory));
  CHECK(dvt_align_wavefront_open(NULL, &p->costs, 2 * p->m, p->query, 3 * p->n, p->target, NULL, EVERY,
                                 memory, staging, &wave));
  const dvt_align_stretch ahead = {p->query, p->target, p->m, p->n, 1},
                          back = {p->query + p->m - 1, p->target + p->n - 1, p->m, p->n, -1},
                          part = {p->query + p->m / 3, p->target + p->n / 4, p->m - p->m / 3, p->n - p->n / 4,
                                  1};
  const dvt_align_wavefront_sweep passes[] = {{ahead, p->costs.first}, {back, 0}, {part, p->costs.first}};
  expect_passes(p, &wave, 1, passes);
  expect_passes(p, &wave, 3, passes);
  expect_best(p, &wave, &ahead, true);
  expect_best(p, &wave, &back, false);
  expect_best(p, &wave, &part, true);
  assert_false(emulator_busy);
  assert_true(emulator_free());
}

/* For all numbers of rows. */
static void use_shape(int k) {
  for (int i = 0; i < COUNT(shapes); i++)
    shapes[i].most = i < k ? 0 : INT64_MAX;
}

/* Sizes around those of strips (128, 256 and 512 rows) and blocks (32 columns). */
CASE(test_sizes) {
  static const int64_t rows[] = {1, 3, 127, 128, 129, 257, 513, 700},
                       columns[] = {1, 31, 32, 33, 64, 95, 290};
  pair p;
  uint64_t seed = 1;
  for (int k = 0; k < COUNT(shapes); k++)
    for (int i = 0; i < COUNT(rows); i++)
      for (int j = (i + k) % 2; j < COUNT(columns); j += 2) {
        if (left_out())
          continue;
        use_shape(k);
        make_pair(i % 2 ? 4 : 24, rows[i], columns[j], 2 + j, (i + j) % 3 * 5, 1 + i % 2, seed++, &p);
        expect_all(&p);
      }
}

CASE(test_costs) {
  pair p;
  use_shape(0);
  make_pair(24, 300, 500, 127, 1000, 1, 1, &p);
  expect_all(&p);
  make_pair(4, 500, 300, 1, 0, 3, 2, &p);
  expect_all(&p);
  make_pair(1, 200, 200, 3, 1, 1, 3, &p); /* many cells with the best score */
  expect_all(&p);
  make_pair(32, 150, 150, 0, 7, 2, 4, &p); /* none above 0 */
  expect_all(&p);
  make_pair(4, 260, 260, 5, (1 << 26), 1000, 5, &p);
  expect_all(&p);
}

static int crossed;

static void expect_trace(const pair *p, davit_align_mode mode, int64_t cells, int64_t every) {
  const davit_align_scoring scoring = {.symbols = p->costs.symbols,
                                       .matrix = p->costs.matrix,
                                       .profile = p->costs.profile,
                                       .gap_open = (int32_t)(p->costs.first + p->costs.extend),
                                       .gap_extend = (int32_t)p->costs.extend};
  davit_align_result wanted, found;
  char *wanted_cigar, *cigar;
  CHECK(dvt_align_trace(&scoring, p->m, p->query, p->n, p->target, cells, every, 1, &wanted, &wanted_cigar,
                        &(davit_align_trace_options){.mode = mode}));
  dvt_trace t = {.costs = p->costs,
                 .all = {p->query, p->target, p->m, p->n, 1},
                 .mode = mode,
                 .threads = 1,
                 .cells = cells,
                 .every = every};
  CHECK(run_with_wave(&emulator_site, &(device_trace){&t, &found, &cigar},
                      kept(dvt_align_wavefront_staging_bytes(p->m))));
  assert_true(emulator_free());
  crossed += t.crossed;
  assert_int_equal(found.score, wanted.score);
  assert_int_equal(found.query_begin, wanted.query_begin);
  assert_int_equal(found.query_end, wanted.query_end);
  assert_int_equal(found.target_begin, wanted.target_begin);
  assert_int_equal(found.target_end, wanted.target_end);
  assert_string_equal(cigar, wanted_cigar);
  CHECK(davit_free(cigar));
  CHECK(davit_free(wanted_cigar));
}

/* Whole alignments whose passes run on the device: those of the host, to the column. */
CASE(test_traces) {
  static const davit_align_mode modes[] = {DAVIT_ALIGN_LOCAL, DAVIT_ALIGN_GLOBAL, DAVIT_ALIGN_SEMIGLOBAL};
  pair p;
  use_shape(0);
  for (int mode = 0; mode < COUNT(modes); mode++)
    for (uint64_t seed = 1; seed < 4; seed++) {
      make_pair(4, 150 + 80 * (int64_t)seed, 400 - 90 * (int64_t)seed, 3, 4, 1, seed, &p);
      if (!left_out())
        expect_trace(&p, modes[mode], DVT_ALIGN_TRACE_CELLS, 0);
      emulator_launches = 0;
      if (!left_out())
        expect_trace(&p, modes[mode], 300, 0);
      expect_trace(&p, modes[mode], 300, 32);
      assert_true(emulator_launches >= 1);
    }
  assert_true(crossed > 20);
}

/* Sweeps in both orders over all rows of a profile and over a part of them, and whole alignments. */
CASE(test_profiles) {
  static const davit_align_mode modes[] = {DAVIT_ALIGN_LOCAL, DAVIT_ALIGN_GLOBAL, DAVIT_ALIGN_SEMIGLOBAL};
  static const int64_t rows[] = {1, 3, 127, 128, 129, 257, 513, 700}, columns[] = {1, 33, 95, 290};
  pair p;
  profiled = true;
  for (int i = 0; i < COUNT(rows); i++)
    for (int k = 0; k < COUNT(shapes); k++) {
      use_shape(k);
      make_pair(i % 2 ? 4 : 24, rows[i], columns[(i + k) % COUNT(columns)], 5, 4, 1, (uint64_t)(3 * i + k),
                &p);
      if (!left_out())
        expect_all(&p);
    }
  use_shape(0);
  for (int mode = 0; mode < COUNT(modes); mode++) {
    make_pair(4, 230, 310, 3, 4, 1, (uint64_t)mode, &p);
    expect_trace(&p, modes[mode], 300, 32);
  }
  profiled = false;
}

CASE(test_scores_that_do_not_fit) {
  const dvt_align_costs costs = {.largest = 127, .first = 10, .extend = 1};
  assert_true(dvt_align_wavefront_fits(&costs, 1000000, 4000000));
  assert_false(dvt_align_wavefront_fits(&costs, 5000000, 5000000));
  assert_false(
      dvt_align_wavefront_fits(&(dvt_align_costs){.largest = 1, .first = 1 << 28, .extend = 1}, 10, 10));
  assert_false(dvt_align_wavefront_fits(&(dvt_align_costs){.largest = 1, .extend = 1000}, 200000, 200000));
  assert_false(dvt_align_wavefront_fits(&(dvt_align_costs){.largest = 0, .extend = 1}, 1, INT64_C(1) << 30));
}

/* Each launch of a trace is refused in turn: a status, and nothing is running when it returns. */
CASE(test_refused_launches) {
  pair p;
  davit_align_result result;
  char *cigar = NULL;
  int refused = 0;
  const dvt_site site = {.stream = (dvt_stream *)(void *)&refused, .workspace = emulated_workspace};
  use_shape(0);
  make_pair(4, 200, 180, 5, 3, 1, 1, &p);
  for (;; refused++) {
    dvt_trace t = {
        .costs = p.costs, .all = {p.query, p.target, p.m, p.n, 1}, .threads = 1, .cells = 300, .every = 96};
    emulator_launches = 0;
    emulator_fails_at = refused;
    const davit_status status = run_on_device(&site, &(device_trace){&t, &result, &cigar});
    assert_true(emulator_free());
    assert_false(emulator_busy);
    if (status == DAVIT_SUCCESS)
      break;
    assert_int_equal(status, DAVIT_DEVICE_ERROR);
    assert_null(cigar);
  }
  emulator_fails_at = -1;
  assert_true(refused >= 4);
  CHECK(davit_free(cigar));
}
