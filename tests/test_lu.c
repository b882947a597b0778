/* SPDX-License-Identifier: Apache-2.0 */
/* LU with partial pivoting and the systems solved with it: backward errors as LAPACK's testers measure them, its
 * pivots, the first pivot that is 0, what must stay as it is, over types, shapes, places, devices, blocks and slabs. */
#include "tests/solving.h"

/* ---- problems ---- */

/* GRADED: rows and columns are scaled by powers of 2. GROWS is Wilkinson's matrix, whose factor grows to 2^(n - 1),
 * exactly; KAHAN's is triangular and badly conditioned. What is exactly singular: a column of zeros, a row that is
 * there twice (all steps are exact), nothing but zeros. */
typedef enum kind { RANDOM, GRADED, GROWS, KAHAN, ZERO_COLUMN, ROW_TWICE, ZEROS } kind;

typedef struct problem {
  davit_type type;
  int64_t m, n;
  dense a;
  number *full; /* as it was */
  zone ipiv;
  int *pivots; /* as they came back */
} problem;

static number of_kind(kind k, number random, int64_t i, int64_t j, int64_t n) {
  switch (k) {
  case GRADED:
    return random * ldexp(1, (int)(i * 7 % 21 + j * 7 % 21) - 20);
  case GROWS:
    return i == j || j == n - 1 ? 1 : i > j ? -1 : 0;
  case KAHAN:
    return (i == j ? 1 : i < j ? -0.7 : 0) * pow(0.714, (double)i);
  case ZERO_COLUMN:
    return j == 2 * n / 3 ? 0 : random;
  case ZEROS:
    return 0;
  default:
    return random;
  }
}

/* L U with halves below the ones of L, so that its pivots are the ones, and a row of L that is there twice. */
static void make_row_twice(number *full, int64_t m, int64_t n, uint64_t seed) {
  const int64_t k = least_of(m, n);
  number *l = numbers(m, k), *u = numbers(k, n);
  for (int64_t j = 0; j < k; j++) {
    for (int64_t i = 0; i < m; i++)
      l[i + j * m] = i == j ? 1 : i > j ? 0.5 * (random_below(&seed, 3) - 1) : 0;
    for (int64_t i = 0; i <= j; i++)
      u[i + j * k] = i == j ? 1 : random_below(&seed, 5) - 2;
  }
  for (int64_t j = 0; j < k; j++)
    l[k - 1 + j * m] = l[k / 3 + j * m];
  const number *product = minus_product(NULL, m, n, k, l, u);
  for (int64_t i = 0; i < m * n; i++)
    full[i] = -product[i];
}

static problem problem_new(davit_type type, int64_t m, int64_t n, int64_t extra_ld, int place, int pivots,
                           kind k, uint64_t seed) {
  problem p = {.type = type, .m = m, .n = n, .a = dense_new(type, m, n, extra_ld, 0, place, seed + 1)};
  const size_t bytes = (size_t)least_of(m, n) * sizeof(int);
  p.full = values_of(&p.a, m, n);
  p.ipiv = zone_new(bytes, pivots, 0);
  p.pivots = kept(bytes + 1);
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < m; i++)
      p.full[i + j * m] = of_kind(k, p.full[i + j * m], i, j, n);
  if (k == ROW_TWICE)
    make_row_twice(p.full, m, n, seed);
  give_values(&p.a, m, n, p.full);
  p.full = values_of(&p.a, m, n);
  return p;
}

static davit_status getrf(problem *p, const davit_solve_options *o) {
  return BY_TYPE(p->type, davit_, getrf, p->m, p->n, dense_there(&p->a), dense_ld(&p->a), zone_data(&p->ipiv),
                 o);
}

static davit_status getrs(const problem *p, char trans, int64_t nrhs, const dense *b,
                          const davit_solve_options *o) {
  return BY_TYPE(p->type, davit_, getrs, trans, p->n, nrhs, dense_there(&p->a), dense_ld(&p->a),
                 zone_data(&p->ipiv), dense_there(b), dense_ld(b), o);
}

static davit_status gesv(problem *p, int64_t nrhs, const dense *b, const davit_solve_options *o) {
  return BY_TYPE(p->type, davit_, gesv, p->n, nrhs, dense_there(&p->a), dense_ld(&p->a), zone_data(&p->ipiv),
                 dense_there(b), dense_ld(b), o);
}

/* ---- what must hold ---- */

static void expect_factored(problem *p, const char *what) {
  zone_take(&p->ipiv, p->pivots);
  dense_take(&p->a);
  expect_lu(&p->a, p->type, p->m, p->n, p->full, p->pivots, what);
}

/* Single precision may take another one of two that are almost equal. */
static void expect_pivots_of_lapack(const problem *p) {
  const int64_t k = least_of(p->m, p->n);
  int *pivots = kept((size_t)k * sizeof *pivots + 1), info;
  if (part_type(p->type) == DAVIT_DOUBLE && lapack_getrf(p->type, p->m, p->n, p->full, pivots, &info))
    assert_memory_equal(pivots, p->pivots, (size_t)k * sizeof *pivots);
}

/* ---- factors ---- */

static const int64_t shapes[][2] = {{0, 0},   {0, 5},     {5, 0},   {1, 1},   {1, 9},   {9, 1},
                                    {2, 3},   {16, 16},   {31, 33}, {97, 60}, {60, 97}, {100, 7},
                                    {7, 100}, {130, 130}, {48, 48}, {129, 65}};

CASE(test_shapes) {
  int places[MAX_PLACES];
  const int count = all_places(places);
  for (int t = 0; t < COUNT(types); t++)
    for (int s = 0; s < COUNT(shapes); s++) {
      SCOPE;
      problem p = problem_new(types[t], shapes[s][0], shapes[s][1], s % 3, places[(t + s) % count],
                              places[(2 * t + s + 1) % count], s % 2 ? RANDOM : GRADED, (uint64_t)s);
      CHECK(getrf(&p, NULL));
      expect_factored(&p, "plain");
      if (s % 2)
        expect_pivots_of_lapack(&p);
    }
}

/* Over some devices, by blocks, with as much memory as they need or less. */
static void try_blocks(davit_type type, int64_t m, int64_t n, int64_t block, int devices, size_t cache_bytes,
                       int place, int pivots, kind k) {
  SCOPE;
  spread_call c;
  spread_over(&c, devices, block, cache_bytes);
  problem p = problem_new(type, m, n, 1, place, pivots, k, (uint64_t)(m + n));
  CHECK(getrf(&p, &c.options));
  expect_factored(&p, "blocks");
  if (place_is_host(place))
    expect_blocks(&c, type, m, n, block, 0);
  if (place_is_host(place) && cache_bytes == 0)
    assert_true(c.report.bytes_from_peers ==
                bytes_of_panels(type, m, n, block, c.options.device_count, NULL));
  if (k == RANDOM)
    expect_pivots_of_lapack(&p);
}

CASE(test_blocks) {
  static const int64_t of_blocks[][3] = {{1, 1, 1},     {3, 2, 1},     {9, 9, 2},
                                         {50, 23, 7},   {23, 50, 7},   {64, 64, 16},
                                         {97, 130, 32}, {130, 97, 40}, {150, 90, INT64_C(1) << 33},
                                         {20, 120, 16}, {120, 20, 16}};
  static const kind kinds[] = {RANDOM, GRADED, GROWS, KAHAN};
  int places[MAX_PLACES];
  const int count = all_places(places);
  for (int t = 0; t < COUNT(types); t++)
    for (int s = 0; s < COUNT(of_blocks); s++)
      for (int devices = 1; devices <= 4; devices++)
        if (!left_out()) {
          const int64_t *shape = of_blocks[s];
          const kind k = shape[0] == shape[1] ? kinds[(t + devices) % 4] : kinds[(t + devices) % 2];
          try_blocks(types[t], shape[0], shape[1], shape[2], devices, 0, places[(s + devices) % count],
                     places[(s + t) % count], k);
        }
}

static size_t beside(int64_t block) {
  return 5 * (size_t)block * sizeof(int);
}

/* Slots and one to four blocks fit, of 9 to 11. */
CASE(test_slabs) {
  static const int64_t of_slabs[][2] = {{160, 160}, {90, 170}, {190, 130}};
  const int64_t block = 16;
  for (int t = 0; t < COUNT(types); t++)
    for (int s = 0; s < COUNT(of_slabs); s++)
      for (int devices = 1; devices <= 3; devices++)
        for (int blocks = 1; blocks * devices < 5; blocks++)
          if (!left_out())
            try_blocks(types[t], of_slabs[s][0], of_slabs[s][1], block, devices,
                       cache_for(types[t], of_slabs[s][0], block, beside(block), blocks) + (size_t)(13 * t),
                       s % 2 ? DAVIT_PAGEABLE : DAVIT_PINNED, DAVIT_PAGEABLE, RANDOM);
}

CASE(test_too_little_memory) {
  SCOPE;
  spread_call c;
  spread_over(&c, 1, 50, 1000);
  problem p = problem_new(DAVIT_DOUBLE, 100, 100, 0, DAVIT_PINNED, DAVIT_PAGEABLE, RANDOM, 1);
  CHECK_FAILS(getrf(&p, &c.options), DAVIT_OUT_OF_DEVICE_MEMORY, "blocks of 50");
  assert_false(c.report.written);
  assert_true(dense_as_image(&p.a));
}

CASE(test_full_devices) {
  int places[MAX_PLACES];
  const int count = all_places(places);
  for (int i = 0; i < count; i++) {
    SCOPE;
    spread_call c;
    spread_over_full(&c);
    problem p = problem_new(DAVIT_DOUBLE, 130, 90, 1, DAVIT_PAGEABLE, places[i], RANDOM, 1);
    CHECK(getrf(&p, &c.options));
    expect_host(&c, 90);
    expect_factored(&p, "full devices");
    expect_pivots_of_lapack(&p);
  }
}

/* One device that is named works where the matrix lies. */
CASE(test_named_device) {
  int places[MAX_PLACES];
  const int count = all_places(places);
  EACH_DEVICE(device) {
    SCOPE;
    davit_solve_report report;
    const davit_solve_options options = {.devices = &device, .device_count = 1, .report = &report};
    const davit_type type = types[(device + 1) % 4];
    problem p = problem_new(type, 90, 70, 2, place_for(device), places[(device + 1) % count], RANDOM, 3);
    CHECK(getrf(&p, &options));
    expect_factored(&p, "named");
    expect_in_place(&report, 70);
  }
}

/* ---- what is singular ---- */

/* U(k, k) is exactly 0, A is factored all the same, and B is as it was. */
static void try_singular(davit_type type, int64_t n, kind k, int64_t block, int devices, size_t cache_bytes) {
  SCOPE;
  spread_call c;
  spread_over(&c, devices, block, cache_bytes);
  c.options.separate_memory = block > 0;
  problem p = problem_new(type, n, n, 1, DAVIT_PINNED, DAVIT_PAGEABLE, k, 7);
  dense b = dense_new(type, n, 3, 0, 0, DAVIT_PAGEABLE, 6);
  const int64_t failed = k == ZEROS ? 1 : k == ZERO_COLUMN ? 2 * n / 3 + 1 : n;
  int *pivots = kept((size_t)n * sizeof *pivots), theirs;
  char words[64];
  snprintf(words, sizeof words, "U(%lld, %lld) is 0", (long long)failed, (long long)failed);
  CHECK_FAILS(gesv(&p, 3, &b, &c.options), DAVIT_SINGULAR, words);
  assert_true(c.report.failed == failed && c.report.written);
  assert_true(dense_as_image(&b));
  expect_factored(&p, "singular");
  if (lapack_getrf(type, n, n, p.full, pivots, &theirs))
    assert_int_equal(theirs, failed);
}

CASE(test_singular) {
  static const int64_t orders[] = {1, 2, 16, 33, 90};
  for (int t = 0; t < COUNT(types); t++)
    for (int i = 0; i < COUNT(orders); i++)
      for (kind k = ZERO_COLUMN; k <= ZEROS; k++) {
        const int64_t n = orders[i];
        if (k == ROW_TWICE && n < 2)
          continue;
        try_singular(types[t], n, k, 0, 1, 0);
        if (!left_out())
          try_singular(types[t], n, k, 8, 1 + (int)k % 3, 0);
        if (n > 60 && !left_out())
          try_singular(types[t], n, k, 8, 2, cache_for(types[t], n, 8, beside(8), 2));
      }
}

/* Where there is no number, the calls end all the same, with rows of the matrix as pivots. */
CASE(test_nan_ends) {
  static const double values[] = {(double)NAN, (double)INFINITY};
  static const int64_t places[] = {-1, 0, 35 + 35 * 70, 69 + 59 * 70}; /* -1: everywhere */
  for (int t = 0; t < COUNT(types); t++)
    for (int i = 0; i < 16; i++) {
      SCOPE;
      spread_call c;
      spread_over(&c, 1 + i % 3, 16, 0);
      problem p = problem_new(types[t], 70, 60, 0, DAVIT_PAGEABLE, DAVIT_PAGEABLE, RANDOM, 5);
      for (int64_t j = 0; j < 70 * 60; j++)
        if (places[i / 4] == -1 || j == places[i / 4])
          dense_put(&p.a, j % 70, j / 70, values[i % 2], 1);
      dense_give(&p.a);
      const davit_status status = getrf(&p, i & 2 ? &c.options : NULL);
      assert_true(status == DAVIT_SUCCESS || status == DAVIT_SINGULAR);
      zone_take(&p.ipiv, p.pivots);
      exchange_rows(p.full, 70, 60, p.pivots, 60);
    }
}

/* ---- systems ---- */

/* gesv, then getrs with its factors. */
static void try_systems(davit_type type, int64_t n, int64_t nrhs, int place, int other,
                        const davit_solve_options *options) {
  SCOPE;
  problem p = problem_new(type, n, n, 2, place, other, RANDOM, (uint64_t)(n + nrhs));
  dense x = dense_new(type, n, nrhs, 1, 0, other, 9);
  const number *b = values_of(&x, n, nrhs);
  CHECK(gesv(&p, nrhs, &x, options));
  expect_solves(type, n, nrhs, p.full, b, &x, "gesv");
  for (const char *trans = "NTC"; *trans; trans++) {
    dense again = dense_new(type, n, nrhs, 0, 0, place, 10);
    b = values_of(&again, n, nrhs);
    CHECK(getrs(&p, *trans, nrhs, &again, options));
    expect_solves(type, n, nrhs, with_trans(*trans, p.full, n, n), b, &again, "getrs");
  }
  expect_factored(&p, "gesv");
}

/* At home; with the factors in blocks where there is room for B beside them; and in slabs so narrow that the systems'
 * tiles are short, too. */
CASE(test_systems) {
  static const int64_t of_systems[][2] = {{0, 3}, {1, 1}, {5, 0}, {33, 1}, {64, 7}, {100, 40}, {20, 150}};
  int places[MAX_PLACES];
  const int count = all_places(places);
  for (int t = 0; t < COUNT(types); t++)
    for (int s = 0; s < COUNT(of_systems); s++) {
      const int64_t n = of_systems[s][0], nrhs = of_systems[s][1];
      spread_call c;
      try_systems(types[t], n, nrhs, places[(t + s) % count], places[s % count], NULL);
      for (int devices = 1; devices <= 3; devices++) {
        if (left_out())
          continue;
        spread_over(&c, devices, 24, 0);
        try_systems(types[t], n, nrhs, DAVIT_PAGEABLE, places[(s + devices) % count], &c.options);
        if (n < 90)
          continue;
        spread_over(&c, devices, 4, cache_for(types[t], n, 4, beside(4), 1));
        try_systems(types[t], n, nrhs, places[s % count], DAVIT_PINNED, &c.options);
      }
    }
}

/* ---- queues ---- */

static void try_queue(int device, davit_type type, int64_t n, int info_place, int pivots) {
  SCOPE;
  davit_queue *queue = queue_of(device);
  const int place = place_for(device);
  problem p = problem_new(type, n, n, 1, place, pivots, RANDOM, 3),
          bad = problem_new(type, n, n, 1, place, pivots, ZERO_COLUMN, 4),
          tall = problem_new(type, n + 13, n, 1, place, pivots, RANDOM, 5);
  dense x = dense_new(type, n, 3, 0, 0, place, 8), y = dense_new(type, n, 2, 2, 0, place, 9);
  const number *b = values_of(&x, n, 3), *c = values_of(&y, n, 2);
  int *info = kept_at(3 * sizeof *info, info_place), found[3];
  CHECK(BY_TYPE(type, davit_queue_, gesv, queue, n, 3, dense_there(&p.a), dense_ld(&p.a), zone_data(&p.ipiv),
                dense_there(&x), dense_ld(&x), info, NULL));
  CHECK(BY_TYPE(type, davit_queue_, getrs, queue, 'T', n, 2, dense_there(&p.a), dense_ld(&p.a),
                zone_data(&p.ipiv), dense_there(&y), dense_ld(&y), NULL));
  CHECK(BY_TYPE(type, davit_queue_, getrf, queue, n, n, dense_there(&bad.a), dense_ld(&bad.a),
                zone_data(&bad.ipiv), info + 1, NULL));
  CHECK(BY_TYPE(type, davit_queue_, getrf, queue, n + 13, n, dense_there(&tall.a), dense_ld(&tall.a),
                zone_data(&tall.ipiv), info + 2, NULL));
  CHECK(davit_queue_synchronize(queue));
  CHECK(davit_copy(sizeof found, info, found));
  assert_true(found[0] == 0 && found[1] == 2 * n / 3 + 1 && found[2] == 0);
  expect_factored(&p, "queue");
  expect_factored(&bad, "queue, singular");
  expect_factored(&tall, "queue, tall");
  expect_solves(type, n, 3, p.full, b, &x, "queue, gesv");
  expect_solves(type, n, 2, with_trans('T', p.full, n, n), c, &y, "queue, getrs");
}

CASE(test_queues) {
  EACH_DEVICE(device)
    for (int t = 0; t < COUNT(types); t++) {
      const int here = place_for(device);
      try_queue(device, types[t], 1 + 40 * (t % 3), DAVIT_PAGEABLE, here);
      try_queue(device, types[t], 110, DAVIT_PINNED, DAVIT_PINNED);
      try_queue(device, types[t], 70, here, here);
    }
}

/* ---- the rest ---- */

CASE(test_same_bits) {
  spread_call c;
  spread_over(&c, 3, 32, 0);
  for (int turn = 0; turn < scaled(20); turn++) {
    SCOPE;
    problem one = problem_new(DAVIT_DOUBLE, 150, 140, 0, DAVIT_PINNED, DAVIT_PAGEABLE, GRADED, 1),
            other = problem_new(DAVIT_DOUBLE, 150, 140, 0, DAVIT_PINNED, DAVIT_PAGEABLE, GRADED, 1);
    CHECK(getrf(&one, &c.options));
    CHECK(getrf(&other, &c.options));
    assert_memory_equal(dense_there(&one.a), dense_there(&other.a), 150 * 140 * sizeof(double));
    assert_memory_equal(zone_data(&one.ipiv), zone_data(&other.ipiv), 140 * sizeof(int));
  }
}

/* In blocks over two devices, with B beside them. The scenario makes its matrices anew by no call of davit's, and what
 * succeeds leaves the same bits. */
typedef struct story {
  spread_call c;
  problem p;
  dense b;
  char *results;
} story;

static davit_status solve_in_blocks(void *argument) {
  story *s = argument;
  memcpy(s->p.a.there, s->p.a.image, s->p.a.bytes);
  memcpy(s->b.there, s->b.image, s->b.bytes);
  DVT_TRY(gesv(&s->p, 4, &s->b, &s->c.options));
  if (!s->results)
    s->results = memcpy(kept(s->b.bytes), s->b.there, s->b.bytes);
  assert_memory_equal(s->b.there, s->results, s->b.bytes);
  return DAVIT_SUCCESS;
}

CASE(test_failures) {
  story s = {.p = problem_new(DAVIT_DOUBLE, 30, 30, 0, DAVIT_PAGEABLE, DAVIT_PAGEABLE, RANDOM, 1),
             .b = dense_new(DAVIT_DOUBLE, 30, 4, 0, 0, DAVIT_PAGEABLE, 2)};
  spread_over(&s.c, 2, 8, (size_t)1 << 20);
  const number *b = values_of(&s.b, 30, 4);
  CHECK(solve_in_blocks(&s));
  fail_everywhere(solve_in_blocks, &s);
  expect_solves(DAVIT_DOUBLE, 30, 4, s.p.full, b, &s.b, "after failures");
}

CASE(test_refused) {
  double a[16] = {1}, b[8] = {1};
  int info, ipiv[4] = {1, 2, 3, 4};
  davit_solve_report report;
  davit_queue *queue = queue_of(DAVIT_HOST);
  REFUSED(davit_dgetrf(4, 4, a, 3, ipiv, NULL), "lda is 3");
  REFUSED(davit_dgetrf(0, 0, a, 0, ipiv, NULL), "lda is 0");
  REFUSED(davit_dgetrf(4, 4, a, 4, ipiv, &(davit_solve_options){.block = -1}), "options->block is -1");
  REFUSED(davit_dgetrs('N', 4, 1, a, 3, ipiv, b, 4, NULL), "lda is 3");
  REFUSED(davit_dgesv(4, 2, a, 4, ipiv, b, 3, NULL), "ldb is 3");
  REFUSED(davit_dgesv(4, 2, a, 4, ipiv, a + 8, 4, NULL), "b overlaps a");
  REFUSED(davit_queue_dgetrf(queue, 4, 4, a, 4, ipiv, &info, &(davit_solve_options){.report = &report}),
          "options->report");
  REFUSED(davit_queue_dgetrs(queue, 'N', 4, 1, a, 4, ipiv, b, 4, &(davit_solve_options){.block = 2}),
          "options->block");
  assert_true(a[0] == 1 && b[0] == 1 && ipiv[0] == 1);
}
