/* SPDX-License-Identifier: Apache-2.0 */
/* QR, products with Q, and least squares: errors as LAPACK's testers measure them against a Q that is made here,
 * reflector by reflector; what must stay as it is, over types, shapes, places, devices, blocks and slabs. */
#include "tests/solving.h"

/* ---- problems ---- */

typedef struct problem {
  davit_type type;
  int64_t m, n, k; /* k reflectors */
  dense a;
  number *full; /* as it was */
  zone tau;
} problem;

/* `graded`: rows and columns are scaled by powers of 2. */
static problem problem_new(davit_type type, int64_t m, int64_t n, int64_t extra_ld, int place, int tau,
                           bool graded, uint64_t seed) {
  problem p = {.type = type,
               .m = m,
               .n = n,
               .k = least_of(m, n),
               .a = dense_new(type, m, n, extra_ld, 0, place, seed + 1)};
  p.tau = zone_new((size_t)p.k * davit_type_bytes(type), tau, 0);
  p.full = values_of(&p.a, m, n);
  for (int64_t j = 0; j < n && graded; j++)
    for (int64_t i = 0; i < m; i++)
      p.full[i + j * m] *= ldexp(1, (int)(i * 7 % 21 + j * 7 % 21) - 20);
  give_values(&p.a, m, n, p.full);
  p.full = values_of(&p.a, m, n);
  return p;
}

static davit_status geqrf(problem *p, const davit_solve_options *o) {
  return BY_TYPE(p->type, davit_, geqrf, p->m, p->n, dense_there(&p->a), dense_ld(&p->a), zone_data(&p->tau),
                 o);
}

static davit_status ormqr(const problem *p, char side, char trans, dense *c, const davit_solve_options *o) {
  return BY_KIND(p->type, davit_, ormqr, unmqr, side, trans, c->rows / c->parts, c->cols, p->k,
                 dense_there(&p->a), dense_ld(&p->a), zone_data(&p->tau), dense_there(c), dense_ld(c), o);
}

/* ---- what must hold ---- */

static number tau_at(const problem *p, const void *tau, int64_t j) {
  const davit_type part = part_type(p->type);
  return p->a.parts == 1 ? element_at(part, tau, j)
                         : __builtin_complex(element_at(part, tau, 2 * j), element_at(part, tau, 2 * j + 1));
}

/* Q, m × m, of the first k reflectors that lie in A: Q = H1 (H2 (…)). */
static number *q_of(const problem *p, int64_t k) {
  const int64_t m = p->m;
  number *q = numbers(m, m), *v = numbers(m, 1);
  void *tau = kept((size_t)p->k * davit_type_bytes(p->type) + 1);
  zone_take(&p->tau, tau);
  for (int64_t i = 0; i < m; i++)
    q[i + i * m] = 1;
  for (int64_t r = k - 1; r >= 0; r--) {
    for (int64_t i = r; i < m; i++)
      v[i] = i == r ? 1 : number_at(&p->a, i, r);
    for (int64_t j = r; j < m; j++) {
      number sum = 0;
      for (int64_t i = r; i < m; i++)
        sum += conj(v[i]) * q[i + j * m];
      sum *= tau_at(p, tau, r);
      for (int64_t i = r; i < m; i++)
        q[i + j * m] -= v[i] * sum;
    }
  }
  return q;
}

static number *r_of(const dense *a, int64_t k, int64_t n) {
  number *r = numbers(k, n);
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i <= j && i < k; i++)
      r[i + j * k] = number_at(a, i, j);
  return r;
}

/* ‖A - Q R‖ / (m ‖A‖ eps), and the diagonal of R is real. */
static const number *expect_factored(problem *p, const char *what) {
  const int64_t m = p->m, n = p->n, k = p->k;
  dense_take(&p->a);
  const number *q = q_of(p, k), *r = r_of(&p->a, k, n);
  for (int64_t i = 0; i < k; i++)
    assert_true(cimag(r[i + i * k]) == 0);
  expect_orthogonal(p->type, m, m, q, what);
  expect_small(norm_of(minus_product(p->full, m, n, k, q, r), m, n), (double)m * norm_of(p->full, m, n),
               p->type, what, m, n);
  return q;
}

/* op(Q) C or C op(Q) for all letters, with the reflectors of p, whose Q is q. */
static void expect_products(const problem *p, const number *q, int64_t other, int place,
                            const davit_solve_options *options) {
  const int64_t order = p->m;
  for (const char *side = "LR"; *side; side++)
    for (int turn = 0; turn < 2; turn++) {
      SCOPE;
      const char trans = turn == 0 ? 'N' : p->a.parts == 1 ? 'T' : 'C';
      const int64_t m = *side == 'L' ? order : other, n = *side == 'L' ? other : order;
      dense c = dense_new(p->type, m, n, 1, 0, place, 77);
      const number *before = values_of(&c, m, n), *op = with_trans(trans, q, order, order);
      CHECK(ormqr(p, *side, trans, &c, options));
      dense_take(&c);
      number *minus =
          *side == 'L' ? minus_product(NULL, m, n, m, op, before) : minus_product(NULL, m, n, n, before, op);
      const number *after = values_of(&c, m, n);
      for (int64_t i = 0; i < m * n; i++)
        minus[i] += after[i];
      expect_small(norm_of(minus, m, n), (double)order * norm_of(before, m, n), p->type, "a product with Q",
                   m, n);
    }
}

/* The first n columns of Q, of k reflectors: in a copy of the factored matrix, whose other columns are noise. */
static void expect_columns(const problem *p, int64_t n, int64_t k, int place,
                           const davit_solve_options *options) {
  SCOPE;
  const int64_t m = p->m;
  dense columns = dense_new(p->type, m, n, 2, 0, place, 55);
  for (int64_t j = 0; j < k; j++)
    for (int64_t i = 0; i < m; i++)
      put_number(&columns, i, j, number_at(&p->a, i, j));
  dense_give(&columns);
  CHECK(BY_KIND(p->type, davit_, orgqr, ungqr, m, n, k, dense_there(&columns), dense_ld(&columns),
                zone_data(&p->tau), options));
  dense_take(&columns);
  number *made = values_of(&columns, m, n);
  const number *q = q_of(p, k);
  expect_orthogonal(p->type, m, n, made, "columns of Q");
  for (int64_t i = 0; i < m * n; i++)
    made[i] -= q[i];
  expect_small(norm_of(made, m, n), (double)m, p->type, "columns of Q", m, n);
}

static void expect_all(problem *p, int place, const davit_solve_options *options, const char *what) {
  const number *q = expect_factored(p, what);
  if (p->m == 0)
    return;
  expect_products(p, q, 9, place, options);
  expect_columns(p, p->k, p->k, place, options);
  expect_columns(p, (p->k + p->m) / 2, p->k / 2, place, options);
  expect_columns(p, p->k, 0, place, options);
}

/* ---- factors ---- */

static const int64_t shapes[][2] = {{0, 0},   {0, 5},   {5, 0},   {1, 1},   {1, 9},
                                    {9, 1},   {2, 3},   {16, 16}, {31, 33}, {97, 60},
                                    {60, 97}, {100, 7}, {7, 100}, {48, 48}, {109, 65}};

CASE(test_shapes) {
  int places[MAX_PLACES];
  const int count = all_places(places);
  for (int t = 0; t < COUNT(types); t++)
    for (int s = 0; s < COUNT(shapes); s++) {
      SCOPE;
      problem p = problem_new(types[t], shapes[s][0], shapes[s][1], s % 3, places[(t + s) % count],
                              places[(2 * t + s + 1) % count], s % 2, (uint64_t)s);
      CHECK(geqrf(&p, NULL));
      expect_all(&p, places[(t + 2 * s) % count], NULL, "plain");
    }
}

static size_t beside(davit_type type, int64_t width) {
  return (2 * (size_t)width + 1) * (size_t)width * davit_type_bytes(type);
}

/* With each panel the numbers of its diagonal's square and tau come back. */
static void expect_report(const spread_call *c, const problem *p, int64_t block, bool tau_on_host) {
  int64_t squares = 0;
  for (int64_t k = 0; k < p->k; k += block) {
    const int64_t rank = least_of(block, p->k - k);
    squares += rank * (rank + tau_on_host) * (int64_t)davit_type_bytes(p->type);
  }
  expect_blocks(c, p->type, p->m, p->n, block, squares);
  if (tau_on_host && c->options.cache_bytes == 0)
    assert_true(c->report.bytes_from_peers ==
                bytes_of_panels(p->type, p->m, p->n, block, c->options.device_count, beside));
}

/* Over some devices, by blocks, with as much memory as they need or less. */
static void try_blocks(davit_type type, int64_t m, int64_t n, int64_t block, int devices, size_t cache_bytes,
                       int place, int tau, bool graded) {
  SCOPE;
  spread_call c;
  spread_over(&c, devices, block, cache_bytes);
  problem p = problem_new(type, m, n, 1, place, tau, graded, (uint64_t)(m + n));
  CHECK(geqrf(&p, &c.options));
  if (place_is_host(place))
    expect_report(&c, &p, block, place_is_host(tau));
  expect_all(&p, place, &c.options, cache_bytes ? "slabs" : "blocks");
}

CASE(test_blocks) {
  static const int64_t of_blocks[][3] = {{1, 1, 1},     {3, 2, 1},     {9, 9, 2},     {50, 23, 7},
                                         {23, 50, 7},   {64, 64, 16},  {77, 110, 32}, {110, 77, 40},
                                         {90, 70, 200}, {20, 120, 16}, {120, 20, 16}};
  int places[MAX_PLACES];
  const int count = all_places(places);
  for (int t = 0; t < COUNT(types); t++)
    for (int s = 0; s < COUNT(of_blocks); s++)
      for (int devices = 1; devices <= 4; devices++)
        if (!left_out()) {
          const int64_t *shape = of_blocks[s];
          try_blocks(types[t], shape[0], shape[1], shape[2], devices, 0, places[(s + devices) % count],
                     places[(s + t) % count], (t + devices) % 2);
        }
}

/* Slots and one to four blocks fit, of 9 to 11. */
CASE(test_slabs) {
  static const int64_t of_slabs[][2] = {{100, 100}, {70, 110}, {130, 90}};
  const int64_t block = 10;
  for (int t = 0; t < COUNT(types); t++)
    for (int s = 0; s < COUNT(of_slabs); s++)
      for (int devices = 1; devices <= 3; devices++)
        for (int blocks = 1; blocks * devices < 5; blocks++)
          if (!left_out())
            try_blocks(types[t], of_slabs[s][0], of_slabs[s][1], block, devices,
                       cache_for(types[t], of_slabs[s][0], block, beside(types[t], block), blocks),
                       s % 2 ? DAVIT_PAGEABLE : DAVIT_PINNED, DAVIT_PAGEABLE, false);
}

CASE(test_too_little_memory) {
  SCOPE;
  spread_call c;
  spread_over(&c, 1, 50, 1000);
  problem p = problem_new(DAVIT_DOUBLE, 100, 100, 0, DAVIT_PINNED, DAVIT_PAGEABLE, false, 1);
  CHECK_FAILS(geqrf(&p, &c.options), DAVIT_OUT_OF_DEVICE_MEMORY, "blocks of 50");
  assert_false(c.report.written);
  assert_true(dense_as_image(&p.a));
}

CASE(test_full_devices) {
  SCOPE;
  spread_call c;
  spread_over_full(&c);
  problem p = problem_new(DAVIT_DOUBLE, 90, 70, 1, DAVIT_PAGEABLE, DAVIT_PINNED, false, 1);
  CHECK(geqrf(&p, &c.options));
  expect_host(&c, 70);
  expect_all(&p, DAVIT_PAGEABLE, &c.options, "full devices");
}

/* One device that is named works where the matrix lies. */
CASE(test_named_device) {
  int places[MAX_PLACES];
  const int count = all_places(places);
  EACH_DEVICE(device) {
    SCOPE;
    davit_solve_report report;
    const davit_solve_options options = {.devices = &device, .device_count = 1, .report = &report};
    problem p = problem_new(types[(device + 1) % 4], 90, 70, 2, place_for(device),
                            places[(device + 1) % count], false, 3);
    CHECK(geqrf(&p, &options));
    expect_in_place(&report, 70);
    expect_all(&p, place_for(device), &options, "named");
  }
}

/* C and A lie in different places. */
CASE(test_places_of_products) {
  int places[MAX_PLACES];
  const int count = all_places(places);
  for (int i = 0; i < count; i++)
    for (int j = 0; j < count; j++) {
      SCOPE;
      spread_call c;
      spread_over(&c, 2, 16, 0);
      problem p = problem_new(types[(i + j) % 4], 50, 30, 2, places[i], places[(i + j) % count], false, 3);
      CHECK(geqrf(&p, NULL));
      const number *q = expect_factored(&p, "places");
      expect_products(&p, q, 21, places[j], NULL);
      expect_products(&p, q, 70, places[j], &c.options);
    }
}

/* Zeros have Q = I, and what is no number ends. */
CASE(test_no_numbers) {
  for (int t = 0; t < COUNT(types); t++)
    for (int i = 0; i < 6; i++) {
      SCOPE;
      spread_call c;
      spread_over(&c, 1 + i % 3, 16, 0);
      problem p = problem_new(types[t], 60, 50, 0, DAVIT_PAGEABLE, DAVIT_PAGEABLE, false, 5);
      for (int64_t j = 0; j < 60 * 50; j++)
        if (i < 2 || j == 30 + 30 * 60)
          put_number(&p.a, j % 60, j / 60, i < 2 ? 0 : i < 4 ? (double)NAN : (double)INFINITY);
      dense_give(&p.a);
      memset(p.full, 0, 60 * 50 * sizeof *p.full);
      CHECK(geqrf(&p, i % 2 ? &c.options : NULL));
      if (i < 2)
        expect_factored(&p, "zeros");
    }
}

/* ---- least squares ---- */

typedef struct squares {
  davit_type type;
  char trans;
  int64_t m, n, nrhs;
  dense a, b;
  const number *full, *right;
} squares;

static squares squares_new(davit_type type, bool adjoint, int64_t m, int64_t n, int64_t nrhs, int place,
                           int other) {
  squares s = {.type = type,
               .trans = !adjoint                ? 'N'
                        : is_complex_type(type) ? 'C'
                                                : 'T',
               .m = m,
               .n = n,
               .nrhs = nrhs,
               .a = dense_new(type, m, n, 1, 0, place, (uint64_t)(m + n)),
               .b = dense_new(type, m > n ? m : n, nrhs, 2, 0, other, 21)};
  s.full = values_of(&s.a, m, n);
  s.right = values_of(&s.b, m > n ? m : n, nrhs);
  return s;
}

static davit_status gels(squares *s, const davit_solve_options *o) {
  return BY_TYPE(s->type, davit_, gels, s->trans, s->m, s->n, s->nrhs, dense_there(&s->a), dense_ld(&s->a),
                 dense_there(&s->b), dense_ld(&s->b), o);
}

static number *first_rows(const number *x, int64_t rows, int64_t first, int64_t cols) {
  number *some = numbers(first, cols);
  for (int64_t j = 0; j < cols; j++)
    memcpy(some + j * first, x + j * rows, (size_t)first * sizeof *some);
  return some;
}

static double length_of(const number *x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++)
    sum += creal(x[i] * conj(x[i]));
  return sqrt(sum);
}

/* X is in the range of A', whose columns become orthonormal by Gram and Schmidt, twice. */
static void expect_shortest(const squares *s, int64_t rows, int64_t cols, number *basis, number *x) {
  const double before = norm_of(x, rows, s->nrhs);
  for (int64_t j = 0; j < cols + s->nrhs; j++) {
    number *v = j < cols ? basis + j * rows : x + (j - cols) * rows;
    for (int64_t k = 0; k < 2 * least_of(j, cols); k++) {
      const number *u = basis + k % least_of(j, cols) * rows;
      number sum = 0;
      for (int64_t i = 0; i < rows; i++)
        sum += conj(u[i]) * v[i];
      for (int64_t i = 0; i < rows; i++)
        v[i] -= u[i] * sum;
    }
    const double length = length_of(v, rows);
    for (int64_t i = 0; i < rows && j < cols; i++)
      v[i] /= length;
  }
  expect_small(norm_of(x, rows, s->nrhs), (double)rows * before, s->type, "the shortest solution", s->m,
               s->n);
}

/* With the equations op(A) X = B, `rows` of them with `cols` unknowns. */
static void expect_least_squares(const squares *s, int64_t rows, int64_t cols, const number *a,
                                 const number *x) {
  const int64_t most = rows > cols ? rows : cols, nrhs = s->nrhs;
  const number *right = first_rows(s->right, most, rows, nrhs), *solution = first_rows(x, most, cols, nrhs),
               *rest = minus_product(right, rows, nrhs, cols, a, solution);
  const double of_a = norm_of(a, rows, cols), of_x = norm_of(solution, cols, nrhs),
               unit = of_a * of_x + norm_of(right, rows, nrhs);
  if (rows <= cols) {
    expect_small(norm_of(rest, rows, nrhs), (double)most * unit, s->type, "equations", s->m, s->n);
    if (rows < cols)
      expect_shortest(s, cols, rows, adjoint_of(a, rows, cols), first_rows(x, most, cols, nrhs));
    return;
  }
  const number *normal = minus_product(NULL, cols, nrhs, rows, adjoint_of(a, rows, cols), rest);
  expect_small(norm_of(normal, cols, nrhs), (double)most * of_a * unit, s->type, "normal equations", s->m,
               s->n);
  for (int64_t j = 0; j < nrhs; j++) { /* the residual's length */
    const double is = length_of(x + cols + j * most, rows - cols), should = length_of(rest + j * rows, rows);
    expect_small(fabs(is - should), (double)most * unit, s->type, "the residual", s->m, s->n);
  }
}

/* R' R of what A has become is A' A; of a wide one L L' is A A'. */
static void expect_left(squares *s) {
  const int64_t m = s->m, n = s->n, k = least_of(m, n);
  const bool wide = m < n;
  const number *tall = wide ? adjoint_of(s->full, m, n) : s->full;
  number *r = numbers(k, k);
  for (int64_t j = 0; j < k; j++)
    for (int64_t i = 0; i <= j; i++)
      r[i + j * k] = wide ? conj(number_at(&s->a, j, i)) : number_at(&s->a, i, j);
  const number *square = minus_product(NULL, k, k, wide ? n : m, adjoint_of(tall, wide ? n : m, k), tall);
  number *minus = numbers(k, k);
  for (int64_t i = 0; i < k * k; i++)
    minus[i] = -square[i];
  expect_small(norm_of(minus_product(minus, k, k, k, adjoint_of(r, k, k), r), k, k),
               (double)(wide ? n : m) * norm_of(square, k, k), s->type, "what gels has left", m, n);
}

static void expect_solution(squares *s) {
  const int64_t m = s->m, n = s->n, nrhs = s->nrhs;
  const bool adjoint = s->trans != 'N';
  dense_take(&s->a);
  dense_take(&s->b);
  const number *x = values_of(&s->b, m > n ? m : n, nrhs);
  if (nrhs > 0 && m > 0 && n > 0)
    expect_left(s);
  if (m > 0 && n > 0)
    expect_least_squares(s, adjoint ? n : m, adjoint ? m : n, with_trans(adjoint ? 'C' : 'N', s->full, m, n),
                         x);
  else
    assert_true(norm_of(x, m > n ? m : n, nrhs) == 0);
}

static void try_squares(davit_type type, bool adjoint, int64_t m, int64_t n, int64_t nrhs, int place,
                        int other, const davit_solve_options *options) {
  SCOPE;
  squares s = squares_new(type, adjoint, m, n, nrhs, place, other);
  CHECK(gels(&s, options));
  expect_solution(&s);
}

static davit_status queue_gels(davit_queue *queue, squares *s, int *info) {
  return BY_TYPE(s->type, davit_queue_, gels, queue, s->trans, s->m, s->n, s->nrhs, dense_there(&s->a),
                 dense_ld(&s->a), dense_there(&s->b), dense_ld(&s->b), info, NULL);
}

/* A second matrix has a column of zeros in its middle. */
static void try_queued_squares(int device, davit_type type, bool adjoint, int64_t m, int64_t n, int64_t nrhs,
                               int info_place) {
  SCOPE;
  davit_queue *queue = queue_of(device);
  const int place = place_for(device);
  squares s = squares_new(type, adjoint, m, n, nrhs, place, place),
          bad = squares_new(type, adjoint, m, n, nrhs, place, place);
  int *info = kept_at(2 * sizeof *info, info_place), found[2] = {-1, -1};
  const int64_t k = least_of(m, n), at = k / 2;
  for (int64_t i = 0; i < (m < n ? n : m) && k > 0; i++)
    put_number(&bad.a, m < n ? at : i, m < n ? i : at, 0);
  dense_give(&bad.a);
  CHECK(queue_gels(queue, &s, info));
  CHECK(queue_gels(queue, &bad, info + 1));
  CHECK(davit_queue_synchronize(queue));
  CHECK(davit_copy(sizeof found, info, found));
  expect_solution(&s);
  assert_int_equal(found[0], 0);
  assert_int_equal(found[1], k > 0 && nrhs > 0 ? at + 1 : 0);
}

CASE(test_queued_squares) {
  static const int64_t wanted[][3] = {{60, 30, 2}, {30, 60, 3}, {41, 41, 1}, {0, 7, 2}, {7, 0, 2}, {9, 4, 0}};
  EACH_DEVICE(device)
    for (int t = 0; t < COUNT(types); t++)
      for (int i = 0; i < COUNT(wanted); i++)
        for (int adjoint = 0; adjoint < 2; adjoint++)
          try_queued_squares(device, types[t], adjoint, wanted[i][0], wanted[i][1], wanted[i][2],
                             i % 2 ? DAVIT_PAGEABLE : place_for(device));
}

/* At home; with the factors in blocks where there is room for B, and in slabs so narrow that tiles of the triangle are
 * short, too. */
CASE(test_least_squares) {
  static const int64_t of_squares[][3] = {{0, 4, 2},   {4, 0, 2},    {5, 3, 0},    {1, 1, 1},
                                          {9, 1, 3},   {1, 9, 3},    {40, 40, 5},  {90, 33, 7},
                                          {33, 90, 7}, {60, 50, 70}, {80, 120, 2}, {100, 80, 30}};
  int places[MAX_PLACES];
  const int count = all_places(places);
  for (int t = 0; t < COUNT(types); t++)
    for (int i = 0; i < COUNT(of_squares); i++)
      for (int adjoint = 0; adjoint < 2; adjoint++) {
        const int64_t *size = of_squares[i], most = size[0] > size[1] ? size[0] : size[1];
        try_squares(types[t], adjoint, size[0], size[1], size[2], places[(t + i) % count], places[i % count],
                    NULL);
        for (int devices = 1; devices <= 3; devices++) {
          spread_call c;
          if (left_out())
            continue;
          spread_over(&c, devices, 16, 0);
          try_squares(types[t], adjoint, size[0], size[1], size[2], places[(i + devices) % count],
                      places[t % count], &c.options);
          if (least_of(size[0], size[1]) < 80)
            continue;
          spread_over(&c, devices, 4, cache_for(types[t], most, 4, beside(types[t], 4), 1));
          try_squares(types[t], adjoint, size[0], size[1], size[2], DAVIT_PAGEABLE, DAVIT_PINNED, &c.options);
        }
      }
}

/* A column of zeros, of a wide matrix a row: R(k, k) is exactly 0. */
CASE(test_rank) {
  for (int t = 0; t < COUNT(types); t++)
    for (int i = 0; i < 8; i++) {
      SCOPE;
      const int64_t m = i & 1 ? 30 : 50, n = i & 1 ? 50 : 30, zero = i & 2 ? 0 : 21;
      spread_call c;
      char words[32];
      spread_over(&c, 2, 8, 0);
      squares s = squares_new(types[t], i & 4, m, n, 3, DAVIT_PINNED, DAVIT_PAGEABLE);
      for (int64_t j = 0; j < 50; j++)
        put_number(&s.a, m < n ? zero : j, m < n ? j : zero, 0);
      dense_give(&s.a);
      snprintf(words, sizeof words, "R(%lld, %lld) is 0", (long long)zero + 1, (long long)zero + 1);
      c.options.block = t % 2 ? 8 : 0;
      CHECK_FAILS(gels(&s, &c.options), DAVIT_SINGULAR, words);
      assert_true(c.report.failed == zero + 1 && c.report.written);
    }
}

/* ---- queues ---- */

static void try_queue(int device, davit_type type, int64_t m, int64_t n, int tau) {
  SCOPE;
  davit_queue *queue = queue_of(device);
  const int place = place_for(device);
  const int64_t k = least_of(m, n);
  const char trans = is_complex_type(type) ? 'C' : 'T';
  problem p = problem_new(type, m, n, 1, place, tau, false, 3);
  dense c = dense_new(type, m, k, 1, 0, place, 8), columns = dense_new(type, m, k, 0, 0, place, 9);
  for (int64_t i = 0; i < m * k; i++) /* C is Q, and becomes the unit matrix */
    put_number(&c, i % m, i / m, i % m == i / m);
  dense_give(&c);
  CHECK(BY_TYPE(type, davit_queue_, geqrf, queue, m, n, dense_there(&p.a), dense_ld(&p.a), zone_data(&p.tau),
                NULL));
  CHECK(BY_KIND(type, davit_queue_, ormqr, unmqr, queue, 'L', 'N', m, k, k, dense_there(&p.a), dense_ld(&p.a),
                zone_data(&p.tau), dense_there(&c), dense_ld(&c), NULL));
  CHECK(davit_queue_synchronize(queue));
  const number *q = expect_factored(&p, "queue");
  dense_take(&c);
  number *made = values_of(&c, m, k);
  for (int64_t i = 0; i < m * k; i++)
    made[i] -= q[i];
  expect_small(norm_of(made, m, k), (double)m, type, "queue, a product with Q", m, k);
  for (int64_t i = 0; i < m * k; i++)
    put_number(&columns, i % m, i / m, number_at(&p.a, i % m, i / m));
  dense_give(&columns);
  CHECK(BY_KIND(type, davit_queue_, orgqr, ungqr, queue, m, k, k, dense_there(&columns), dense_ld(&columns),
                zone_data(&p.tau), NULL));
  CHECK(BY_KIND(type, davit_queue_, ormqr, unmqr, queue, 'L', trans, m, k, k, dense_there(&p.a),
                dense_ld(&p.a), zone_data(&p.tau), dense_there(&columns), dense_ld(&columns), NULL));
  CHECK(davit_queue_synchronize(queue));
  dense_take(&columns);
  made = values_of(&columns, m, k);
  for (int64_t i = 0; i < k; i++)
    made[i + i * m] -= 1;
  expect_small(norm_of(made, m, k), (double)m, type, "queue, columns of Q", m, k);
}

CASE(test_queues) {
  EACH_DEVICE(device)
    for (int t = 0; t < COUNT(types); t++) {
      try_queue(device, types[t], 1 + 30 * (t % 3), 1 + 20 * t, place_for(device));
      try_queue(device, types[t], 110, 100, place_for(device));
      try_queue(device, types[t], 70, 90, DAVIT_PINNED);
    }
}

/* ---- the rest ---- */

CASE(test_same_bits) {
  spread_call c;
  spread_over(&c, 3, 32, 0);
  for (int turn = 0; turn < scaled(20); turn++) {
    SCOPE;
    problem one = problem_new(DAVIT_DOUBLE, 150, 140, 0, DAVIT_PINNED, DAVIT_PAGEABLE, true, 1),
            other = problem_new(DAVIT_DOUBLE, 150, 140, 0, DAVIT_PINNED, DAVIT_PAGEABLE, true, 1);
    CHECK(geqrf(&one, &c.options));
    CHECK(geqrf(&other, &c.options));
    assert_memory_equal(dense_there(&one.a), dense_there(&other.a), 150 * 140 * sizeof(double));
    assert_memory_equal(zone_data(&one.tau), zone_data(&other.tau), 140 * sizeof(double));
  }
}

/* In blocks over two devices: a wide matrix, all of which is put back, and Q of a tall one. The scenario makes its
 * matrices anew by no call of davit's, and what succeeds leaves the same bits. */
typedef struct story {
  spread_call c;
  squares s;
  problem p;
  char *results, *columns;
} story;

static davit_status solve_in_blocks(void *argument) {
  story *s = argument;
  memcpy(s->s.a.there, s->s.a.image, s->s.a.bytes);
  memcpy(s->s.b.there, s->s.b.image, s->s.b.bytes);
  memcpy(s->p.a.there, s->p.a.image, s->p.a.bytes);
  DVT_TRY(gels(&s->s, &s->c.options));
  DVT_TRY(geqrf(&s->p, &s->c.options));
  DVT_TRY(
      davit_zungqr(30, 30, 30, dense_there(&s->p.a), dense_ld(&s->p.a), zone_data(&s->p.tau), &s->c.options));
  if (!s->results) {
    s->results = memcpy(kept(s->s.b.bytes), s->s.b.there, s->s.b.bytes);
    s->columns = memcpy(kept(s->p.a.bytes), s->p.a.there, s->p.a.bytes);
  }
  assert_memory_equal(s->s.b.there, s->results, s->s.b.bytes);
  assert_memory_equal(s->p.a.there, s->columns, s->p.a.bytes);
  return DAVIT_SUCCESS;
}

CASE(test_failures) {
  story s = {.s = squares_new(DAVIT_DOUBLE, false, 20, 30, 3, DAVIT_PAGEABLE, DAVIT_PAGEABLE),
             .p = problem_new(DAVIT_COMPLEX_DOUBLE, 30, 30, 0, DAVIT_PAGEABLE, DAVIT_PAGEABLE, false, 1)};
  spread_over(&s.c, 2, 8, (size_t)1 << 20);
  CHECK(solve_in_blocks(&s));
  fail_everywhere(solve_in_blocks, &s);
}

CASE(test_refused) {
  double a[16] = {1}, b[8] = {1}, tau[4] = {1};
  davit_complex_double *z = (davit_complex_double *)(void *)a, *w = (davit_complex_double *)(void *)b;
  davit_solve_report report;
  davit_queue *queue = queue_of(DAVIT_HOST);
  REFUSED(davit_dgeqrf(4, 4, a, 3, tau, NULL), "lda is 3");
  REFUSED(davit_dgeqrf(4, 4, a, 4, tau, &(davit_solve_options){.block = -1}), "options->block is -1");
  REFUSED(davit_dormqr('L', 'C', 4, 2, 2, a, 4, tau, b, 4, NULL), "trans");
  REFUSED(davit_zunmqr('L', 'T', 2, 2, 1, z, 2, w, w, 2, NULL), "trans");
  REFUSED(davit_dormqr('L', 'N', 4, 2, 5, a, 4, tau, b, 4, NULL), "k is 5, but m is 4");
  REFUSED(davit_dormqr('R', 'N', 4, 2, 3, a, 4, tau, b, 4, NULL), "k is 3, but n is 2");
  REFUSED(davit_dormqr('L', 'N', 4, 2, 2, a, 3, tau, b, 4, NULL), "lda is 3");
  REFUSED(davit_dormqr('L', 'N', 4, 2, 2, a, 4, tau, b, 3, NULL), "ldc is 3");
  REFUSED(davit_dormqr('L', 'N', 4, 2, 2, a, 4, tau, a + 4, 4, NULL), "c overlaps a");
  REFUSED(davit_dorgqr(4, 5, 2, a, 4, tau, NULL), "m is 4, n is 5");
  REFUSED(davit_dorgqr(4, 2, 3, a, 4, tau, NULL), "k is 3");
  REFUSED(davit_dorgqr(4, 2, 2, a, 3, tau, NULL), "lda is 3");
  REFUSED(davit_dgels('C', 4, 2, 1, a, 4, b, 4, NULL), "trans");
  REFUSED(davit_dgels('N', 4, 2, 1, a, 3, b, 4, NULL), "lda is 3");
  REFUSED(davit_dgels('N', 2, 4, 1, a, 2, b, 3, NULL), "ldb is 3");
  REFUSED(davit_dgels('N', 4, 2, 1, a, 4, a + 4, 4, NULL), "b overlaps a");
  REFUSED(davit_queue_dgeqrf(queue, 4, 4, a, 4, tau, &(davit_solve_options){.report = &report}),
          "options->report");
  REFUSED(davit_queue_dorgqr(queue, 4, 4, 4, a, 4, tau, &(davit_solve_options){.cache_bytes = 1}),
          "options->cache_bytes");
  assert_true(a[0] == 1 && b[0] == 1 && tau[0] == 1);
}
