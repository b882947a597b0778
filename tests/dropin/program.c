/* SPDX-License-Identifier: Apache-2.0 */
/* A C program on the drop-in: errors, OpenMP regions, the end of the process, and integers of 64 bits.
 *
 *   program errors      wrong calls reach this program's xerbla_ and cblas_xerbla, with number and name
 *   program stop        a wrong call ends the program (built without an xerbla_ of its own)
 *   program openmp      products inside a parallel region
 *   program exit        products in a handler of atexit()
 *   program lapack      systems and least squares, in a parallel region too; info; wrong calls where xerbla_ is its own
 *   program ilp64       (built with 64-bit integers) products, and errors by their number
 *
 * Says what is wrong and exits 1, or exits 0. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef PROGRAM_ILP64
typedef int64_t integer;
#else
typedef int integer;
#endif

void dgemm_(const char *, const char *, const integer *, const integer *, const integer *, const double *,
            const double *, const integer *, const double *, const integer *, const double *, double *,
            const integer *, size_t, size_t);
void dgemv_(const char *, const integer *, const integer *, const double *, const double *, const integer *,
            const double *, const integer *, const double *, double *, const integer *, size_t);
void dtrsm_(const char *, const char *, const char *, const char *, const integer *, const integer *,
            const double *, const double *, const integer *, double *, const integer *, size_t, size_t,
            size_t, size_t);
void cblas_dgemm(int, int, int, integer, integer, integer, double, const double *, integer, const double *,
                 integer, double, double *, integer);
void dpotrf_(const char *, const integer *, double *, const integer *, integer *, size_t);
void dpotrs_(const char *, const integer *, const integer *, const double *, const integer *, double *,
             const integer *, integer *, size_t);
void dposv_(const char *, const integer *, const integer *, double *, const integer *, double *,
            const integer *, integer *, size_t);
void dgetrf_(const integer *, const integer *, double *, const integer *, integer *, integer *);
void dgetrs_(const char *, const integer *, const integer *, const double *, const integer *, const integer *,
             double *, const integer *, integer *, size_t);
void dgesv_(const integer *, const integer *, double *, const integer *, integer *, double *, const integer *,
            integer *);
void dgeqrf_(const integer *, const integer *, double *, const integer *, double *, double *, const integer *,
             integer *);
void dormqr_(const char *, const char *, const integer *, const integer *, const integer *, const double *,
             const integer *, const double *, double *, const integer *, double *, const integer *, integer *,
             size_t, size_t);
void dorgqr_(const integer *, const integer *, const integer *, double *, const integer *, const double *,
             double *, const integer *, integer *);
void dgels_(const char *, const integer *, const integer *, const integer *, double *, const integer *,
            double *, const integer *, double *, const integer *, integer *, size_t);
double ddot_(const integer *, const double *, const integer *, const double *, const integer *);

enum { N = 48 };
static double a[N * N], b[N * N];
static int wrong;

static void check(bool right, const char *what) {
  if (!right) {
    printf("wrong: %s\n", what);
    wrong = 1;
  }
}

/* Small integers, so that every order of the sums gives the same bits. */
static void fill(void) {
  for (int i = 0; i < N * N; i++) {
    a[i] = i * 7 % 11 - 5;
    b[i] = i * 5 % 13 - 6;
  }
}

static bool is_product(const double *c) {
  for (int j = 0; j < N; j++)
    for (int i = 0; i < N; i++) {
      double sum = 0;
      for (int l = 0; l < N; l++)
        sum += a[i + l * N] * b[l + j * N];
      if (c[i + j * N] != sum)
        return false;
    }
  return true;
}

static bool multiply(void) {
  static const integer n = N;
  static const double one = 1, zero = 0;
  double *c = malloc(sizeof(double[N * N]));
  dgemm_("N", "n", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n, 1, 1);
  const bool right = is_product(c);
  free(c);
  return right;
}

/* ---- errors ---- */

#ifdef PROGRAM_XERBLA
static int reported, reported_cblas;
static char name[32], name_cblas[32];

void xerbla_(const char *routine, const integer *argument, size_t length);
void xerbla_(const char *routine, const integer *argument, size_t length) {
  snprintf(name, sizeof name, "%.*s", (int)length, routine);
  reported = (int)*argument;
}

void cblas_xerbla(integer argument, const char *routine, const char *format, ...);
void cblas_xerbla(integer argument, const char *routine, const char *format, ...) {
  (void)format;
  snprintf(name_cblas, sizeof name_cblas, "%s", routine);
  reported_cblas = (int)argument;
}

static void expect(int argument, const char *routine) {
  if (reported != argument || strcmp(name, routine) != 0) {
    printf("wrong: argument %d of '%s' was reported in place of %d of '%s'\n", reported, name, argument,
           routine);
    wrong = 1;
  }
  reported = 0;
  name[0] = 0;
}

static void errors(void) {
  const integer n = N, minus = -1, small = N - 1;
  const double one = 1;
  double c[1] = {3};
  dgemm_("X", "N", &n, &n, &n, &one, a, &n, b, &n, &one, c, &n, 1, 1);
  expect(1, "DGEMM ");
  dgemm_("N", "X", &minus, &n, &n, &one, a, &n, b, &n, &one, c, &n, 1, 1);
  expect(2, "DGEMM ");
  dgemm_("N", "N", &minus, &minus, &n, &one, a, &n, b, &n, &one, c, &n, 1, 1);
  expect(3, "DGEMM ");
  dgemm_("N", "N", &n, &n, &n, &one, a, &small, b, &small, &one, c, &n, 1, 1);
  expect(8, "DGEMM ");
  dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &one, c, &small, 1, 1);
  expect(13, "DGEMM ");
  dtrsm_("L", "U", "N", "?", &n, &n, &one, a, &n, c, &n, 1, 1, 1, 1);
  expect(4, "DTRSM ");
  dtrsm_("R", "U", "N", "U", &n, &n, &one, a, &n, c, &small, 1, 1, 1, 1);
  expect(11, "DTRSM ");
  dgemv_("N", &n, &n, &one, a, &n, b, &(integer){0}, &one, c, &(integer){1}, 1);
  expect(8, "DGEMV ");
  cblas_dgemm(102, 111, 111, N, N, N, 1, a, N, b, N, 1, c, N - 1);
  expect(13, "DGEMM ");
  cblas_dgemm(102, 7, 111, N, N, N, 1, a, N, b, N, 1, c, N);
  check(reported_cblas == 2 && strcmp(name_cblas, "cblas_dgemm") == 0, "an unknown enumerator");
  check(c[0] == 3, "a wrong call has written");
  check(multiply(), "the product after wrong calls");
}
#else
static void errors(void) {
  const integer n = N, small = 1;
  const double one = 1;
  dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &small, &one, a, &n, 1, 1);
  puts("the program goes on");
  wrong = 1;
}
#endif

/* ---- systems ---- */

/* A symmetric matrix with a large diagonal, and its product with a vector of ones. Both halves differ from what they
 * are if they are written. */
static void make_system(double *s, double *sums) {
  for (int j = 0; j < N; j++)
    sums[j] = 0;
  for (int j = 0; j < N; j++)
    for (int i = 0; i < N; i++)
      sums[i] += s[i + j * N] = i == j ? 400 : a[i * j % (N * N)];
}

static bool are_ones(const double *x) {
  for (int i = 0; i < N; i++)
    if (!(x[i] - 1 < 1e-12 && x[i] - 1 > -1e-12))
      return false;
  return true;
}

static bool solve(const char *uplo, bool at_once) {
  const integer n = N, one = 1;
  integer info = 77, info_of_factor = 0;
  double *s = malloc(sizeof(double[N * N])), x[N];
  make_system(s, x);
  const double above = s[N], below = s[1];
  if (at_once) {
    dposv_(uplo, &n, &one, s, &n, x, &n, &info, 1);
  } else {
    dpotrf_(uplo, &n, s, &n, &info_of_factor, 1);
    dpotrs_(uplo, &n, &one, s, &n, x, &n, &info, 1);
  }
  const bool lower = *uplo == 'l';
  const bool right =
      info == 0 && info_of_factor == 0 && are_ones(x) && (lower ? s[N] == above : s[1] == below);
  free(s);
  return right;
}

/* The same system with its first row behind the others, so that each step of LU exchanges a row with the last. */
static void exchange_rows(double *s, double *sums) {
  for (int j = 0; j <= N; j++) {
    double *column = j < N ? s + j * N : sums;
    const double first = column[0];
    memmove(column, column + 1, sizeof(double[N - 1]));
    column[N - 1] = first;
  }
}

static void solve_by_lu(bool at_once) {
  const integer n = N, one = 1;
  integer info[2] = {77, 77}, ipiv[N + 1], unlike = 0;
  double s[N * N], x[N], y[N];
  make_system(s, x);
  exchange_rows(s, x);
  for (int i = 0; i <= N; i++)
    ipiv[i] = -77;
  if (at_once) {
    dgesv_(&n, &one, s, &n, ipiv, x, &n, info);
  } else {
    dgetrf_(&n, &n, s, &n, ipiv, info);
    memcpy(y, x, sizeof y);
    dgetrs_("n", &n, &one, s, &n, ipiv, x, &n, info, 1);
    check(info[0] == 0 && are_ones(x), "dgetrs");
    make_system(s, y);
    for (int i = 0; i < N; i++)
      y[i] = 0;
    exchange_rows(s, x);
    for (int j = 0; j < N; j++)
      for (int i = 0; i < N; i++)
        y[j] += s[i + j * N];
    dgetrf_(&n, &n, s, &n, ipiv, info);
    dgetrs_("T", &n, &one, s, &n, ipiv, y, &n, info, 1);
    memcpy(x, y, sizeof x);
  }
  for (int i = 0; i < N; i++)
    unlike += ipiv[i] != N;
  check(unlike == 0 && ipiv[N] == -77, "the pivots");
  check(info[0] == 0 && info[1] == 77 && are_ones(x), at_once ? "dgesv" : "dgetrs of the transpose");
}

/* X = R^-1 Q' B, with Q as reflectors and as a matrix; and by dgels. */
static void solve_by_qr(void) {
  enum { WORK = 64 * N };
  const integer n = N, one = 1, room = WORK;
  const double unit = 1;
  integer info = 77;
  double s[N * N], q[N * N], x[N], y[N], sums[N], tau[N], work[WORK];
  make_system(s, sums);
  memcpy(x, sums, sizeof x);
  dgels_("N", &n, &n, &one, s, &n, x, &n, work, &room, &info, 1);
  check(info == 0 && work[0] >= 2 * (double)n && are_ones(x), "dgels");
  make_system(s, x);
  dgeqrf_(&n, &n, s, &n, tau, work, &room, &info);
  check(info == 0 && work[0] >= (double)n, "dgeqrf");
  memcpy(q, s, sizeof q);
  dormqr_("L", "t", &n, &one, &n, s, &n, tau, x, &n, work, &room, &info, 1, 1);
  check(info == 0 && work[0] >= 1, "dormqr");
  dorgqr_(&n, &n, &n, q, &n, tau, work, &room, &info);
  check(info == 0 && work[0] >= (double)n, "dorgqr");
  for (int j = 0; j < N; j++) {
    y[j] = 0;
    for (int i = 0; i < N; i++)
      y[j] += q[i + j * N] * sums[i];
  }
  dtrsm_("L", "U", "N", "N", &n, &one, &unit, s, &n, x, &n, 1, 1, 1, 1);
  dtrsm_("L", "U", "N", "N", &n, &one, &unit, s, &n, y, &n, 1, 1, 1, 1);
  check(are_ones(x) && are_ones(y), "the solutions by Q");
}

static void is_singular(void) {
  const integer n = N, one = 1;
  integer info = 77, ipiv[N];
  double s[N * N], x[N];
  make_system(s, x);
  const double before = x[30];
  for (int i = 0; i < N; i++)
    s[i + 20 * N] = 0;
  dgesv_(&n, &one, s, &n, ipiv, x, &n, &info);
  check(info == 21 && x[30] == before && ipiv[N - 1] == N, "dgesv of a singular matrix");
}

static void is_indefinite(void) {
  const integer n = N, one = 1;
  integer info[2] = {77, 77};
  double s[N * N], x[N];
  make_system(s, x);
  const double before = x[30];
  s[20 + 20 * N] = -1;
  dposv_("U", &n, &one, s, &n, x, &n, &info[0], 1);
  check(info[0] == 21 && x[30] == before, "dposv of an indefinite matrix");
  make_system(s, x);
  s[20 + 20 * N] = -1;
  dpotrf_("L", &n, s, &n, &info[0], 1);
  check(info[0] == 21 && info[1] == 77, "dpotrf of an indefinite matrix");
}

static void wrong_systems(void) {
#ifdef PROGRAM_XERBLA
  const integer n = N, minus = -1, small = N - 1;
  integer info = 0;
  double s[1] = {3}, work[1];
  dpotrf_("X", &n, s, &n, &info, 1);
  check(info == -1, "info of a wrong letter");
  expect(1, "DPOTRF");
  dpotrf_("L", &n, s, &small, &info, 1);
  check(info == -4, "info of a wrong leading dimension");
  expect(4, "DPOTRF");
  dpotrs_("U", &n, &n, s, &n, s, &small, &info, 1);
  check(info == -7, "info of a wrong ldb");
  expect(7, "DPOTRS");
  dposv_("U", &n, &minus, s, &n, s, &n, &info, 1);
  check(info == -3, "info of a wrong nrhs");
  expect(3, "DPOSV ");
  dgetrf_(&minus, &n, s, &n, NULL, &info);
  check(info == -1, "info of a wrong m");
  expect(1, "DGETRF");
  dgetrs_("?", &n, &n, s, &n, NULL, s, &n, &info, 1);
  check(info == -1, "info of a wrong trans");
  expect(1, "DGETRS");
  dgesv_(&n, &n, s, &n, NULL, s, &small, &info);
  check(info == -7, "info of a wrong ldb");
  expect(7, "DGESV ");
  dgeqrf_(&n, &n, s, &n, s, work, &small, &info);
  check(info == -7, "info of too little room");
  expect(7, "DGEQRF");
  dormqr_("L", "C", &n, &n, &n, s, &n, s, s, &n, work, &n, &info, 1, 1);
  check(info == -2, "info of the adjoint of a real matrix");
  expect(2, "DORMQR");
  dormqr_("R", "N", &n, &n, &(integer){N + 1}, s, &n, s, s, &n, work, &n, &info, 1, 1);
  check(info == -5, "info of too many reflectors");
  expect(5, "DORMQR");
  dorgqr_(&n, &(integer){N + 1}, &n, s, &n, s, work, &n, &info);
  check(info == -2, "info of too many columns");
  expect(2, "DORGQR");
  dgels_("N", &n, &n, &n, s, &n, s, &n, work, &(integer){2 * N - 1}, &info, 1);
  check(info == -10, "info of too little room");
  expect(10, "DGELS ");
  check(s[0] == 3, "a wrong call has written");
#endif
}

static void lapack(void) {
  int right = 0;
  check(solve("l", false) && solve("U", false) && solve("l", true) && solve("U", true), "the systems");
  solve_by_lu(false);
  solve_by_lu(true);
  solve_by_qr();
  is_indefinite();
  is_singular();
  wrong_systems();
#pragma omp parallel for num_threads(4) reduction(+ : right)
  for (int i = 0; i < 16; i++)
    right += solve(i % 2 ? "l" : "U", i % 3);
  check(right == 16, "systems in a parallel region");
}

/* ---- regions, the end, 64 bits ---- */

static void openmp(void) {
  int right = 0;
#pragma omp parallel for num_threads(4) reduction(+ : right)
  for (int i = 0; i < 16; i++)
    right += multiply();
  check(right == 16, "products in a parallel region");
}

static void at_exit(void) {
  if (!multiply()) {
    puts("wrong: the product at exit");
    fflush(stdout);
    _Exit(1);
  }
}

#ifdef PROGRAM_ILP64
static void ilp64(void) {
  const integer n = N, large = INT64_C(1) << 33, one = 1;
  check(multiply(), "the product");
  double c[N * N];
  cblas_dgemm(101, 111, 111, N, N, N, 1, b, N, a, N, 0, c, N); /* row-major, so c is the transpose of b' a' */
  check(is_product(c), "the row-major product");
  double sum = 0;
  for (int i = 0; i < N; i++)
    sum += a[i] * b[i];
  check(ddot_(&n, a, &one, b, &one) == sum, "ddot");
  check(ddot_(&one, a, &large, b, &large) == a[0] * b[0], "ddot with an increment of 64 bits");
}
#else
static void ilp64(void) {
  exit(2);
}
#endif

int main(int count, char **words) {
  const char *what = count == 2 ? words[1] : "";
  setvbuf(stdout, NULL, _IONBF, 0);
  fill();
  if (strcmp(what, "errors") == 0 || strcmp(what, "stop") == 0)
    errors();
  else if (strcmp(what, "openmp") == 0)
    openmp();
  else if (strcmp(what, "exit") == 0) {
    atexit(at_exit); /* before devices are started, and after */
    check(multiply(), "the product");
    atexit(at_exit);
  } else if (strcmp(what, "lapack") == 0)
    lapack();
  else if (strcmp(what, "ilp64") == 0)
    ilp64();
  else
    return 2;
  return wrong;
}
