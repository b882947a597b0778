/* SPDX-License-Identifier: Apache-2.0 */
/* atax's one-pass kernels on a GPU without one: offload/atax_pass.inc and atax_panel.inc thread by thread,
 * in clusters, and what launches them, against plain loops. The elements are small integers, so every order
 * of the sums gives the same numbers. */
#include "tests/emulator.h"
/* The source under test. */
#define dvt_atax_device emulated_atax_device
#define dvt_atax_host emulated_atax_host
#define dvt_atax_fit emulated_atax_fit
#define dvt_gemv_stream emulated_gemv_stream
#include "offload/atax.c"
#include "tests/elements.h"

/* ---- kernels by name ---- */

#define PASS_BODY(type, columns)                                                                             \
  static void run_##type##_pass_##columns(void *arguments) {                                                 \
    const dvt_argument *a = arguments;                                                                       \
    type##_pass_##columns(emulator_pointer(a), (int64_t)a[1], emulator_pointer(a + 2),                       \
                          emulator_pointer(a + 3), emulator_pointer(a + 4), (int64_t)a[5], (int64_t)a[6],    \
                          (int64_t)a[7], (int64_t)a[8], (int64_t)a[9]);                                      \
  }
#define BODIES(type)                                                                                         \
  PASS_BODY(type, 1)                                                                                         \
  PASS_BODY(type, 4)                                                                                         \
  PASS_BODY(type, 12)                                                                                        \
  static void run_##type##_panels(void *arguments) {                                                         \
    const dvt_argument *a = arguments;                                                                       \
    type##_panels_pass(emulator_pointer(a), (int64_t)a[1], emulator_pointer(a + 2), emulator_pointer(a + 3), \
                       emulator_pointer(a + 4), (int64_t)a[5], (int64_t)a[6], (int64_t)a[7], (int64_t)a[8],  \
                       (int64_t)a[9]);                                                                       \
  }                                                                                                          \
  static void run_##type##_sums(void *arguments) {                                                           \
    const dvt_argument *a = arguments;                                                                       \
    type##_add_up(emulator_pointer(a), emulator_pointer(a + 1), (int64_t)a[2], (int64_t)a[3], (int64_t)a[4], \
                  (int64_t)a[5]);                                                                            \
  }
BODIES(float)
BODIES(double)

#define ROWS(type)                                                                                           \
  {#type "_atax_pass_1", run_##type##_pass_1}, {#type "_atax_pass_4", run_##type##_pass_4},                  \
      {#type "_atax_pass_12", run_##type##_pass_12}, {#type "_atax_panels", run_##type##_panels}, {          \
    #type "_atax_sums", run_##type##_sums                                                                    \
  }
const emulator_kernel emulator_kernels[] = {ROWS(float), ROWS(double)};

static int products; /* by the vendor's library, which stays away */

davit_status emulated_gemv_stream(const dvt_site *site, const void *gemv) {
  (void)site, (void)gemv;
  products++;
  return DAVIT_SUCCESS;
}

/* ---- cases ---- */

typedef struct atax_case {
  davit_type type;
  char trans;
  int64_t m, n, extra_ld;
  int shift; /* elements from a multiple of 16 bytes to where A and x begin */
  bool no_tmp, add;
  int launches; /* of davit's kernels that it takes: 2, or 0 where the library computes two products */
} atax_case;

static double *integers(davit_type type, int64_t count, int64_t most, uint64_t *seed, void **typed) {
  double *values = kept((size_t)count * sizeof *values + 1);
  *typed = kept((size_t)count * davit_type_bytes(type) + 16);
  for (int64_t i = 0; i < count; i++) {
    values[i] = (double)((int64_t)(next_random(seed) % (uint64_t)(2 * most + 1)) - most);
    element_set(type, *typed, i, values[i]);
  }
  return values;
}

static double element_of(const atax_case *c, const double *a, int64_t lda, int64_t i, int64_t j) {
  return c->trans == 'N' ? a[i + j * lda] : a[j + i * lda];
}

static void expect_result(const atax_case *c, const double *a, const double *x, const double *before,
                          int64_t lda, const void *tmp, const void *y) {
  const int64_t inner = c->trans == 'N' ? c->m : c->n, outer = c->trans == 'N' ? c->n : c->m;
  double *right = kept((size_t)outer * sizeof *right);
  for (int64_t j = 0; j < outer; j++)
    right[j] = c->add ? before[j] : 0;
  for (int64_t i = 0; i < inner; i++) {
    double row = 0;
    for (int64_t j = 0; j < outer; j++)
      row += element_of(c, a, lda, i, j) * x[j];
    for (int64_t j = 0; j < outer; j++)
      right[j] += element_of(c, a, lda, i, j) * row;
    if (element_at(c->type, tmp, i) != (c->no_tmp ? 77 : row))
      fail_msg("%c m %lld n %lld: tmp[%lld] is %g, not %g", c->trans, (long long)c->m, (long long)c->n,
               (long long)i, element_at(c->type, tmp, i), row);
  }
  for (int64_t j = 0; j < outer; j++)
    if (element_at(c->type, y, j) != right[j])
      fail_msg("%c m %lld n %lld type %d: y[%lld] is %g, not %g", c->trans, (long long)c->m, (long long)c->n,
               (int)c->type, (long long)j, element_at(c->type, y, j), right[j]);
}

static void expect_atax(const atax_case *c) {
  SCOPE;
  const size_t element = davit_type_bytes(c->type);
  const int64_t lda = c->m + c->extra_ld, inner = c->trans == 'N' ? c->m : c->n,
                outer = c->trans == 'N' ? c->n : c->m;
  uint64_t seed = (uint64_t)(c->m * 1000 + c->n);
  void *a, *x, *y, *tmp;
  const double *a_values = integers(c->type, c->shift + lda * c->n, 3, &seed, &a),
               *x_values = integers(c->type, c->shift + outer, 3, &seed, &x),
               *y_values = integers(c->type, outer, 3, &seed, &y);
  (void)integers(c->type, inner, 0, &seed, &tmp);
  for (int64_t i = 0; i < inner; i++)
    element_set(c->type, tmp, i, 77);
  dvt_site site = emulator_site;
  site.stream = (dvt_stream *)(uintptr_t)16; /* there is one; nobody looks at it */
  emulator_launches = products = 0;
  const dvt_atax g = {.type = c->type,
                      .trans = c->trans,
                      .m = c->m,
                      .n = c->n,
                      .a = (char *)a + (size_t)c->shift * element,
                      .lda = lda,
                      .x = (char *)x + (size_t)c->shift * element,
                      .tmp = c->no_tmp ? NULL : tmp,
                      .y = y,
                      .add = c->add};
  CHECK(emulated_atax_device(&site, &g));
  assert_int_equal(emulator_launches, c->launches);
  assert_int_equal(products, c->launches ? 0 : 2);
  if (c->launches) {
    expect_result(c, a_values + c->shift, x_values + c->shift, y_values, lda, tmp, y);
    assert_true(emulator_free());
  } else if (c->no_tmp)
    assert_true(emulator_free());
}

/* Both orders of the threads' turns, and copies that are there as early or as late as they may be. */
static void expect_all(const atax_case *cases, int count) {
  for (int k = 0; k < count; k++)
    for (int v = 0; v < 2; v++) {
      if (left_out())
        continue;
      atax_case c = cases[k];
      c.type = v == k % 2 ? DAVIT_DOUBLE : DAVIT_FLOAT;
      c.no_tmp = (v + k) % 3 == 0;
      c.add = (v + k) % 3 == 1;
      emulator_descending = v != k / 2 % 2;
      emulator_eager = v;
      expect_atax(&c);
    }
  emulator_descending = emulator_eager = false;
}

/* One cluster of one team and many pieces, teams that have one piece, clusters of two, three and five teams;
 * ends within a chunk, a piece, a warp's columns. */
CASE(test_panels) {
  static const atax_case cases[] = {{.trans = 'N', .m = 1, .n = 60, .extra_ld = 3, .launches = 2},
                                    {.trans = 'N', .m = 600, .n = 70, .launches = 2},
                                    {.trans = 'N', .m = 150, .n = 199, .extra_ld = 2, .launches = 2},
                                    {.trans = 'N', .m = 35, .n = 1500, .extra_ld = 1, .launches = 2},
                                    {.trans = 'N', .m = 84, .n = 1540, .launches = 2},
                                    {.trans = 'N', .m = 20, .n = 3073, .launches = 2}};
  expect_all(cases, COUNT(cases));
}

/* What the library's two products compute: more columns than a cluster holds, columns that do not begin at
 * multiples of 16 bytes, warps that would be mostly empty, longer columns than a team holds. */
CASE(test_products) {
  static const atax_case cases[] = {{DAVIT_FLOAT, 'N', 20, 24577, .launches = 0},
                                    {DAVIT_DOUBLE, 'N', 21, 100, .launches = 0},
                                    {DAVIT_DOUBLE, 'N', 20, 100, .shift = 1, .launches = 0},
                                    {DAVIT_DOUBLE, 'N', 20, 47, .launches = 0},
                                    {DAVIT_DOUBLE, 'T', 12289, 3, .no_tmp = true, .launches = 0}};
  for (int k = 0; k < COUNT(cases); k++)
    expect_atax(&cases[k]);
}

/* Groups of one, four and twelve columns, aligned or not. */
CASE(test_columns) {
  static const atax_case cases[] = {{.trans = 'T', .m = 50, .n = 77, .extra_ld = 2, .launches = 2},
                                    {.trans = 'T', .m = 61, .n = 9, .extra_ld = 2, .shift = 1, .launches = 2},
                                    {.trans = 'T', .m = 500, .n = 20, .launches = 2},
                                    {.trans = 'T', .m = 1600, .n = 7, .launches = 2}};
  expect_all(cases, COUNT(cases));
}

/* An infinity in x makes every element of y infinite or NaN as the definition has it: what lies past the end
 * of A adds nothing. */
CASE(test_infinity) {
  enum { M = 19, N = 50, LD = 20 };
  SCOPE;
  double a[LD * N], x[N], y[N];
  for (int i = 0; i < LD * N; i++)
    a[i] = 1;
  for (int j = 0; j < N; j++)
    x[j] = j == 7 ? INFINITY : 1;
  dvt_site site = emulator_site;
  site.stream = (dvt_stream *)(uintptr_t)16;
  CHECK(emulated_atax_device(
      &site,
      &(dvt_atax){.type = DAVIT_DOUBLE, .trans = 'N', .m = M, .n = N, .a = a, .lda = LD, .x = x, .y = y}));
  for (int j = 0; j < N; j++)
    assert_true(isinf(y[j]));
  assert_true(emulator_free());
}

/* Either launch is refused. */
CASE(test_refused) {
  double a[64 * 64] = {0}, x[64] = {0}, y[64];
  dvt_site site = emulator_site;
  site.stream = (dvt_stream *)(uintptr_t)16;
  for (int at = 0; at < 2; at++) {
    emulator_launches = 0;
    emulator_fails_at = at;
    assert_int_equal(emulated_atax_device(&site, &(dvt_atax){.type = DAVIT_DOUBLE,
                                                             .trans = "NT"[at],
                                                             .m = 64,
                                                             .n = 64,
                                                             .a = a,
                                                             .lda = 64,
                                                             .x = x,
                                                             .y = y}),
                     DAVIT_DEVICE_ERROR);
    assert_true(emulator_free());
  }
  emulator_fails_at = -1;
}
