/* SPDX-License-Identifier: Apache-2.0 */
/* Level 3 of BLAS against its definitions: every routine, type and combination of flags.
 *
 * The oracle is plain loops in long double over the matrices as the flags show them. The error is bounded in
 * Frobenius' norm as by SLATE's testers, 3 eps (sqrt(length + 2) |alpha| |A| |B| + 2 |beta| |C|), a solution
 * by its residual; complex arithmetic counts twice. Everything that a routine must not read is NaN: guard
 * zones, gaps, the half of a matrix that is not stored, a unit diagonal, C for beta = 0, the inputs for alpha
 * = 0. A complex matrix is a real one of twice the rows (tests/dense.h). */
#include "tests/problem.h"

#include <complex.h>

#include "offload/blas.h"
#include "offload/runtime/stream.h"

/* The half that must not be read becomes NaN, and of a hermitian diagonal the imaginary parts. */
static void hide_half(const problem *p, dense *x, int64_t order) {
  for (int64_t j = 0; j < order; j++)
    for (int64_t i = 0; i < order; i++)
      if (outside(p->uplo, i, j))
        set_element(p, x, i, j, (double)NAN, (double)NAN);
      else if (i == j && is_hermitian(p->routine))
        dense_set(x, 2 * i + 1, j, (double)NAN);
}

/* A triangle whose inverse is no larger than itself. */
static void temper(const problem *p, dense *x, int64_t order) {
  for (int64_t j = 0; j < order; j++)
    for (int64_t i = 0; i < order; i++) {
      const wide value = element(p, x, i, j) / (long double)(i == j ? 1 : order);
      set_element(p, x, i, j, (double)creall(value) + (i == j), (double)cimagl(value));
      if (i == j && p->diag == 'U')
        set_element(p, x, i, j, (double)NAN, (double)NAN);
    }
}

static bool vanishes(const problem *p) {
  return p->alpha == 0 || (!is_square(p->routine) && !is_triangular(p->routine) && p->k == 0);
}

/* A, B and C; the triangular routines have no B. */
static void make(const problem *p, const int places[3], dense o[3]) {
  const bool ta = p->transa != 'N', tb = p->routine == DVT_GEMM ? p->transb != 'N' : ta;
  const bool none = vanishes(p), c_counts = is_triangular(p->routine) ? !none : p->beta != 0;
  int64_t rows = p->m, cols = p->k;
  if (is_square(p->routine) || is_triangular(p->routine))
    rows = cols = order_of(p);
  o[0] = new_matrix(p, ta && !is_triangular(p->routine) ? cols : rows,
                    ta && !is_triangular(p->routine) ? rows : cols, 3, places[0], none ? UNSET : 1);
  if (!none && (is_square(p->routine) || is_triangular(p->routine))) {
    if (is_triangular(p->routine))
      temper(p, &o[0], rows);
    hide_half(p, &o[0], rows);
    dense_give(&o[0]);
  }
  rows = p->routine == DVT_GEMM ? p->k : is_square(p->routine) ? p->m : p->n;
  cols = is_pair(p->routine) ? p->k : p->n;
  o[1] = new_matrix(p, tb ? cols : rows, tb ? rows : cols, 1, places[1], none ? UNSET : 2);
  o[2] = new_matrix(p, p->m, p->n, 2, places[2], c_counts ? 3 : UNSET);
  if (is_update(p->routine)) {
    hide_half(p, &o[2], p->n);
    dense_give(&o[2]);
  }
}

/* ---- the oracle ---- */

/* Element (i, j) of op(X). */
static wide op(const problem *p, const dense *x, char trans, int64_t i, int64_t j) {
  const wide value = trans == 'N' ? element(p, x, i, j) : element(p, x, j, i);
  return trans == 'C' ? conjl(value) : value;
}

/* Element (i, j) of the matrix that the stored half of A stands for, op() applied. */
static wide whole(const problem *p, const dense *a, int64_t i, int64_t j) {
  if (is_triangular(p->routine)) {
    const int64_t row = p->transa == 'N' ? i : j, col = p->transa == 'N' ? j : i;
    if (i == j && p->diag == 'U')
      return 1;
    return outside(p->uplo, row, col) ? 0 : op(p, a, p->transa, i, j);
  }
  const bool mirrored = outside(p->uplo, i, j);
  const wide value = mirrored ? element(p, a, j, i) : element(p, a, i, j);
  if (p->routine == DVT_HEMM)
    return i == j ? creall(value) : mirrored ? conjl(value) : value;
  return value;
}

/* The factors of the product, op applied: left is m × length, right length × n. */
static wide left(const problem *p, const dense o[3], const dense *c, int64_t i, int64_t l) {
  if (p->routine == DVT_GEMM || is_update(p->routine))
    return op(p, &o[0], p->transa, i, l);
  return p->side == 'L' ? whole(p, &o[0], i, l) : c ? element_was(p, c, i, l) : element(p, &o[1], i, l);
}

static char other(const problem *p) {
  return p->transa != 'N' ? 'N' : is_hermitian(p->routine) ? 'C' : 'T';
}

static wide right(const problem *p, const dense o[3], const dense *c, int64_t l, int64_t j) {
  if (p->routine == DVT_GEMM)
    return op(p, &o[1], p->transb, l, j);
  if (is_update(p->routine)) {
    const wide value = op(p, &o[is_pair(p->routine)], other(p), l, j);
    return value;
  }
  return p->side == 'R' ? whole(p, &o[0], l, j) : c ? element_was(p, c, l, j) : element(p, &o[1], l, j);
}

static int64_t length_of(const problem *p) {
  return is_square(p->routine) || is_triangular(p->routine) ? order_of(p) : p->k;
}

/* The second product of syr2k and her2k. */
static wide second(const problem *p, const dense o[3], int64_t i, int64_t j) {
  wide sum = 0;
  for (int64_t l = 0; l < p->k; l++)
    sum += op(p, &o[1], p->transa, i, l) * op(p, &o[0], other(p), l, j);
  return (is_hermitian(p->routine) ? conjl(p->alpha) : (wide)p->alpha) * sum;
}

static long double square(wide x) {
  return creall(x) * creall(x) + cimagl(x) * cimagl(x);
}

typedef struct norms {
  long double left, right, c, error;
} norms;

/* What C should be at (i, j), of what it was. */
static wide should_be(const problem *p, const dense o[3], int64_t i, int64_t j) {
  const dense *c = &o[2], *in_place = p->routine == DVT_TRMM ? c : NULL;
  const bool real = is_hermitian(p->routine) && is_update(p->routine) && i == j;
  wide sum = 0;
  if (!vanishes(p)) {
    for (int64_t l = 0; l < length_of(p); l++)
      sum += left(p, o, in_place, i, l) * right(p, o, in_place, l, j);
    sum *= (wide)p->alpha;
    if (is_pair(p->routine))
      sum += second(p, o, i, j);
  }
  if (p->beta != 0 && !is_triangular(p->routine)) {
    const wide was = element_was(p, c, i, j);
    sum += (wide)p->beta * (real ? creall(was) : was);
  }
  return real ? creall(sum) : sum;
}

/* op(A) X - alpha B at (i, j). */
static wide residual(const problem *p, const dense o[3], int64_t i, int64_t j) {
  wide sum = 0;
  for (int64_t l = 0; l < order_of(p); l++)
    sum += p->side == 'L' ? whole(p, &o[0], i, l) * element(p, &o[2], l, j)
                          : element(p, &o[2], i, l) * whole(p, &o[0], l, j);
  return sum - (wide)p->alpha * element_was(p, &o[2], i, j);
}

/* Squares of norms of the factors. */
static void measure(const problem *p, const dense o[3], norms *s) {
  const int64_t length = length_of(p);
  const dense *in_place = p->routine == DVT_TRMM ? &o[2] : NULL;
  const bool solves = p->routine == DVT_TRSM;
  for (int64_t l = 0; l < length; l++) {
    for (int64_t i = 0; i < p->m; i++)
      s->left += square(solves && p->side == 'R' ? element(p, &o[2], i, l) : left(p, o, in_place, i, l));
    for (int64_t j = 0; j < p->n; j++)
      s->right += square(solves && p->side == 'L' ? element(p, &o[2], l, j) : right(p, o, in_place, l, j));
  }
}

static void expect(const problem *p, dense o[3]) {
  norms s = {0};
  dense *c = &o[2];
  dense_take(c);
  assert_true(dense_as_image(&o[0]) && (is_triangular(p->routine) || dense_as_image(&o[1])));
  const bool solves = p->routine == DVT_TRSM && !vanishes(p);
  const size_t bytes = davit_type_bytes(p->type);
  const bool unchanged = is_update(p->routine) && vanishes(p) && p->beta == 1;
  for (int64_t j = 0; j < p->n; j++)
    for (int64_t i = 0; i < p->m; i++) {
      const char *now = (char *)dense_image(c) + (size_t)(i + j * leading(p, c)) * bytes,
                 *was = c->before + c->start + (size_t)(i + j * leading(p, c)) * bytes;
      const bool real = is_hermitian(p->routine) && i == j;
      if ((unchanged && !real) || (is_update(p->routine) && outside(p->uplo, i, j))) {
        assert_memory_equal(now, was, bytes);
        continue;
      }
      s.error += square(solves ? residual(p, o, i, j) : element(p, c, i, j) - should_be(p, o, i, j));
      if (p->beta != 0 && !is_triangular(p->routine))
        s.c += is_hermitian(p->routine) && i == j ? powl(creall(element_was(p, c, i, j)), 2)
                                                  : square(element_was(p, c, i, j));
    }
  if (!vanishes(p))
    measure(p, o, &s);
  const long double eps = (long double)element_epsilon(part_of(p->type)) * (is_complex(p->type) ? 2 : 1);
  const long double terms = (long double)(is_pair(p->routine) ? 2 : 1);
  const long double alpha = solves ? 1 : cabsl((wide)p->alpha);
  const long double bound =
      3 * eps *
      (terms * sqrtl(terms * (long double)length_of(p) + 2) * alpha * sqrtl(s.left * s.right) +
       2 * cabsl((wide)p->beta) * sqrtl(s.c));
  if (!(sqrtl(s.error) <= bound)) /* NaN fails, too */
    fail_msg("%s type %d side %c uplo %c trans %c %c diag %c m %lld n %lld k %lld alpha %g %g beta %g %g: "
             "%Lg > %Lg",
             problem_names[p->routine], (int)p->type, p->side, p->uplo, p->transa, p->transb, p->diag,
             (long long)p->m, (long long)p->n, (long long)p->k, creal(p->alpha), cimag(p->alpha),
             creal(p->beta), cimag(p->beta), sqrtl(s.error), bound);
}

/* Factors that the routine takes: real ones where it is hermitian. */
static void set_factors(problem *p, int which) {
  static const double parts[] = {0, 1, -1, 0.7};
  p->alpha = parts[which % 4];
  p->beta = is_triangular(p->routine) ? 0 : parts[which / 4 % 4];
  if (is_complex(p->type) && p->routine != DVT_HERK && which % 4 == 3)
    p->alpha = __builtin_complex(0.7, 0.25);
  if (is_complex(p->type) && p->routine != DVT_HERK && p->routine != DVT_HER2K && which / 4 % 4 == 3 &&
      !is_triangular(p->routine))
    p->beta = __builtin_complex(0.7, -0.5);
  if (part_of(p->type) == DAVIT_FLOAT) {
    p->alpha = (float _Complex)p->alpha;
    p->beta = (float _Complex)p->beta;
  }
}

/* ---- the forms ---- */

static dvt_stream *stream;

enum { HOST_FORM, REGION_FORM, STREAM_FORM, FORMS };

static void try_form(problem *p, int form) {
  static const dvt_form forms[FORMS] = {dvt_level3_host, dvt_level3_region, dvt_level3_stream};
  const int place = form == HOST_FORM ? DAVIT_PAGEABLE : 0;
  const dvt_site site = {.device = form == HOST_FORM ? DAVIT_HOST : 0, .stream = stream, .threads = 1};
  dense o[3];
  make(p, (int[]){place, place, place}, o);
  const dvt_level3 g = problem_arguments(p, o);
  CHECK(forms[form](&site, &g));
  if (form == STREAM_FORM)
    CHECK(dvt_stream_synchronize(stream));
  expect(p, o);
}

static void try_forms(problem *p) {
  for (int form = 0; form < FORMS; form++) {
    SCOPE;
    if ((form == REGION_FORM && device_count() == 0) || (form == STREAM_FORM && !stream))
      continue;
    try_form(p, form);
  }
}

static void try_shapes(problem *p) {
  static const int64_t shapes[][3] = {{0, 3, 2}, {3, 0, 2}, {1, 1, 1},   {2, 3, 0},  {3, 2, 5},
                                      {5, 9, 3}, {9, 5, 2}, {17, 9, 33}, {33, 17, 9}};
  static int turn;
  for (int s = 0; s < COUNT(shapes); s++) {
    set_sizes(p, shapes[s][0], shapes[s][1], shapes[s][2]);
    set_factors(p, s < 5 ? turn++ % 16 : s % 2 ? 15 : turn++ % 16);
    try_forms(p);
  }
}

/* Systems that are not left to cuBLAS on NVIDIA's GPUs. */
static void try_large_solve(problem *p) {
  enum { ORDER = 257, LINES = 260 };
  if (p->routine != DVT_TRSM)
    return;
  SCOPE;
  set_sizes(p, p->side == 'L' ? ORDER : LINES, p->side == 'L' ? LINES : ORDER, 1);
  set_factors(p, 15);
  try_form(p, STREAM_FORM);
}

CASE(test_forms) {
  if (device_count() > 0)
    (void)dvt_stream_acquire(0, &stream);
  for (int t = 0; t < COUNT(problem_types); t++)
    each_flags(problem_types[t], try_shapes);
  if (stream)
    each_flags(DAVIT_DOUBLE, try_large_solve);
  if (stream)
    dvt_stream_release(stream);
  stream = NULL;
}

/* Calls that more than one product was needed for, by routine and side, and those that gave up tiles for
 * others. */
static int tiled[DVT_ROUTINES][2], evicting[DVT_ROUTINES];

/* On the queue of a device. */
static void try_queue(const problem *p, int device) {
  SCOPE;
  const int place = place_for(device);
  dense o[3];
  make(p, (int[]){place, place, place}, o);
  davit_queue *queue = new_queue(device, 1);
  const dvt_level3 g = problem_arguments(p, o);
  CHECK(call_level3(&g, queue, NULL));
  finish(queue);
  expect(p, o);
}

/* Over devices, with operands at several places, and tiles that need not fit. */
static void try_spread(const problem *p, const int places[3], int count, int64_t tile, bool tight) {
  SCOPE;
  int devices[MAX_PLACES] = {DAVIT_HOST};
  for (int i = 0; i < device_count(); i++)
    devices[i] = i;
  dense o[3];
  make(p, places, o);
  davit_level3_report report;
  const davit_level3_options options = {.devices = devices,
                                        .device_count = count,
                                        .tile = tile,
                                        .separate_memory = tight || tile == 16,
                                        .cache_bytes = tight ? 18 * 64 * davit_type_bytes(p->type) : 0,
                                        .report = &report};
  const dvt_level3 g = problem_arguments(p, o);
  CHECK(call_level3(&g, NULL, &options));
  expect(p, o);
  tiled[p->routine][p->side == 'R'] += report.products > report.device_count;
  evicting[p->routine] += report.evictions > 0;
}

static void try_calls(problem *p) {
  static uint64_t seed = 7;
  static int turn;
  const int all = device_count() > 4 ? 4 : device_count() > 0 ? device_count() : 1;
  for (int tight = 0; tight < 2; tight++) {
    int places[3];
    set_sizes(p, random_below(&seed, 20) + 15, random_below(&seed, 20) + 15, random_below(&seed, 40) + 20);
    set_factors(p, turn++ % 3 ? 15 : random_below(&seed, 16));
    if (!tight)
      try_queue(p, device_count() > 0 ? random_below(&seed, device_count() + 1) - 1 : DAVIT_HOST);
    for (int i = 0; i < 3; i++)
      places[i] = tight ? DAVIT_PAGEABLE : dense_place(random_below(&seed, 4));
    try_spread(p, places, 1 + random_below(&seed, all), tight ? 8 : 8 * random_below(&seed, 4), tight);
  }
}

/* Triangles in tiles, whose products are not left to cuBLAS on NVIDIA's GPUs. */
static void try_large_product(problem *p) {
  enum { ORDER = 530, LINES = 40 };
  static int turn;
  if (p->routine != DVT_TRMM)
    return;
  set_sizes(p, p->side == 'L' ? ORDER : LINES, p->side == 'L' ? LINES : ORDER, 1);
  set_factors(p, turn++ % 3 ? 15 : 12);
  try_spread(p, (int[]){DAVIT_PAGEABLE, DAVIT_PINNED, DAVIT_PAGEABLE}, 1, ORDER / 2, false);
}

CASE(test_calls) {
  for (int t = 0; t < COUNT(problem_types); t++)
    each_flags(problem_types[t], try_calls);
  each_flags(DAVIT_DOUBLE, try_large_product);
  if (device_count() > 0)
    each_flags(DAVIT_COMPLEX_FLOAT, try_large_product);
  for (dvt_routine r = 0; r < DVT_ROUTINES; r++) {
    assert_true(tiled[r][0] > 0 && evicting[r] > 0);
    assert_true(tiled[r][1] > 0 || (!is_square(r) && !is_triangular(r)));
  }
}

static void calls_as_regions(void) {
  each_flags(DAVIT_COMPLEX_DOUBLE, try_calls);
  each_flags(DAVIT_FLOAT, try_calls);
}

CASE(test_calls_as_regions) {
  without_blas(calls_as_regions);
}

/* ---- several callers ---- */

enum { CALLERS = 4, ORDER = 40 };

typedef struct caller {
  int number;
  double result[DVT_ROUTINES][ORDER * ORDER];
  davit_status status;
} caller;

/* Every real routine, beginning with another one in each thread. */
static void *call_all(void *argument) {
  caller *me = argument;
  int devices[] = {DAVIT_HOST, 1};
  const bool two = device_count() > 1;
  devices[0] = two ? 0 : DAVIT_HOST;
  const davit_level3_options options = {.devices = devices, .device_count = two ? 2 : 1, .tile = 16};
  for (int turn = 0; turn < DVT_ROUTINES; turn++) {
    const dvt_routine r = (dvt_routine)((turn + me->number) % DVT_ROUTINES);
    double a[ORDER * ORDER], b[ORDER * ORDER], *c = me->result[r];
    for (int i = 0; i < ORDER * ORDER; i++) {
      a[i] = (i % 7 - 3) / 8.0 + (i % (ORDER + 1) == 0) * ORDER;
      b[i] = (i % 11 - 5) / 3.0;
      c[i] = (i % 5 - 2) / 7.0;
    }
    const dvt_level3 g = {r, DAVIT_DOUBLE, 'L', 'L',   'N', 'N', 'N',  ORDER, ORDER, ORDER, 1,
                          a, ORDER,        b,   ORDER, 0.5, c,   ORDER};
    const davit_status status = is_hermitian(r) ? DAVIT_SUCCESS : call_level3(&g, NULL, &options);
    me->status = status == DAVIT_SUCCESS ? me->status : status;
  }
  return NULL;
}

/* Threads that call at the same time get the bits that a single one gets. */
CASE(test_several_callers) {
  SCOPE;
  caller *callers = kept((CALLERS + 1) * sizeof *callers);
  for (int i = 0; i <= CALLERS; i++) {
    callers[i].number = i;
    callers[i].status = DAVIT_SUCCESS;
  }
  call_all(&callers[CALLERS]);
  in_threads(CALLERS, call_all, callers, sizeof *callers);
  for (int i = 0; i < CALLERS; i++) {
    CHECK(callers[i].status);
    assert_memory_equal(callers[i].result, callers[CALLERS].result, sizeof callers[i].result);
  }
}

/* ---- failures ---- */

typedef struct attempt {
  const problem *p;
  dense o[3];
} attempt;

/* By tiles that travel, over up to two devices. What is read is as it was, whatever fails; C is made anew. */
static davit_status call_by_tiles(void *argument) {
  attempt *t = argument;
  int devices[2];
  const int count = two_devices(devices) ? 2 : 1;
  if (device_count() == 0)
    devices[0] = DAVIT_HOST;
  const davit_level3_options options = {
      .devices = devices, .device_count = count, .tile = 32, .separate_memory = true};
  const dvt_level3 g = problem_arguments(t->p, t->o);
  dense_give(&t->o[2]);
  const davit_status status = call_level3(&g, NULL, &options);
  assert_true(dense_as_image(&t->o[0]) && (is_triangular(t->p->routine) || dense_as_image(&t->o[1])));
  return status;
}

CASE(test_failures) {
  static const int places[] = {DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PAGEABLE};
  for (dvt_routine r = DVT_SYMM; r < DVT_ROUTINES; r++) { /* gemm: test_inject.c */
    SCOPE;
    problem p = {r,        problem_types[is_hermitian(r) ? 2 : r % 2], 'L', 'L', 'N', 'N', 'N', .alpha = 0.5,
                 .beta = 1};
    set_sizes(&p, 70, 70, 50);
    attempt t = {.p = &p};
    make(&p, places, t.o);
    fail_everywhere(call_by_tiles, &t);
    expect(&p, t.o);
  }
}

/* ---- the complex numbers of C and what is refused ---- */

CASE(test_refusals) {
  double x[64] = {0}, y[64] = {0}, z[64] = {0};
  davit_complex_double u[64] = {0}, v[64] = {0}, w[64] = {0};
  const int64_t huge = INT64_C(1) << 30;
  REFUSED(davit_dsymm('L', 'U', huge, 4, 1, x, huge, y, huge, 0, z, huge, NULL),
          "lda is 1073741824: more than any");
  REFUSED(davit_dsyrk('U', 'N', huge, 4, 1, x, huge, 0, z, huge, NULL), "ldc is 1073741824: more than any");
  REFUSED(davit_dtrsm('R', 'U', 'N', 'U', 4, huge, 1, x, huge, y, 4, NULL),
          "lda is 1073741824: more than any");
  REFUSED(davit_zher2k('U', 'N', 4, INT64_MAX, 1, u, 4, v, 4, 0, w, 4, NULL), "k is 9223372036854775807");
  REFUSED(davit_dsymm('X', 'U', 4, 4, 1, x, 4, y, 4, 0, z, 4, NULL), "side is 'X', not 'L' or 'R'");
  REFUSED(davit_dsymm('L', 'N', 4, 4, 1, x, 4, y, 4, 0, z, 4, NULL), "uplo is 'N'");
  REFUSED(davit_dsymm('L', 'U', 4, 2, 1, x, 3, y, 4, 0, z, 4, NULL), "lda is 3, less than 4");
  REFUSED(davit_dsymm('R', 'U', 4, 2, 1, x, 1, y, 4, 0, z, 4, NULL), "lda is 1, less than 2");
  REFUSED(davit_dsyrk('U', 'Q', 4, 4, 1, x, 4, 0, z, 4, NULL), "trans is 'Q'");
  REFUSED(davit_zsyrk('U', 'C', 4, 4, 1, u, 4, 0, w, 4, NULL), "trans is 'C', not 'N' or 'T'");
  REFUSED(davit_zherk('U', 'T', 4, 4, 1, u, 4, 0, w, 4, NULL), "trans is 'T', not 'N' or 'C'");
  REFUSED(davit_zher2k('U', 'N', 4, -1, 1, u, 4, v, 4, 0, w, 4, NULL), "k is -1");
  REFUSED(davit_dsyr2k('U', 'T', 4, 5, 1, x, 5, y, 4, 0, z, 4, NULL), "ldb is 4, less than 5");
  REFUSED(davit_dtrmm('L', 'U', 'N', 'X', 4, 4, 1, x, 4, y, 4, NULL), "diag is 'X', not 'N' or 'U'");
  REFUSED(davit_dtrsm('L', 'U', 'N', 'U', 4, 4, 1, x, 4, y, 3, NULL), "ldb is 3");
  REFUSED(davit_dtrsm('L', 'U', 'N', 'U', 4, 4, 1, NULL, 4, y, 4, NULL), "a is NULL");
  REFUSED(davit_dtrsm('L', 'U', 'N', 'U', 4, 4, 1, x, 4, x + 3, 4, NULL), "b overlaps a");
  REFUSED(davit_dsyrk('L', 'N', 4, 4, 1, x, 4, 0, x + 8, 4, NULL), "c overlaps a");
  REFUSED(davit_zgemm('N', 'N', 4, 4, 4, 1, u, 4, NULL, 4, 0, w, 4, NULL), "b is NULL");
}
