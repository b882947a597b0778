/* SPDX-License-Identifier: Apache-2.0 */
/* davit factor: a matrix by Cholesky, LU or QR. */
#include <davit/solve.h>
#include <string.h>

#include "ref/factored.h"
#include "ref/lu.h"
#include "ref/solve.h"
#include "src/base/arithmetic.h"
#include "src/cli/formats/compare.h"
#include "src/cli/frame/job.h"
#include "src/cli/norms.h"

enum { CHOLESKY, LU, QR };

/* Cholesky: a C-order A has in memory the conjugate's factor U, whose transpose is L: L in C order. */
typedef struct factors {
  cli_job job;
  const char *a_path;
  int kind;
  bool upper;
  cli_output pivots_output, tau_output;
  cli_array a, f;
  cli_array pivots, tau; /* pivots are LAPACK's until `finish` */
  cli_array l, u;        /* of the check */
} factors;

enum { M, N }; /* of job.sizes */

static int64_t least(const factors *c) {
  const int64_t m = c->job.sizes[M].here, n = c->job.sizes[N].here;
  return m < n ? m : n;
}

static void set_rate(factors *c) {
  const double m = (double)c->job.sizes[M].whole, n = (double)c->job.sizes[N].whole, k = fmin(m, n),
               lu = k * k * (fmax(m, n) - k / 3);
  c->job.rate.amount = cli_flops(c->a.type) / 2 *
                       (c->kind == CHOLESKY ? n * n * n / 3
                        : c->kind == LU     ? lu
                                            : 2 * lu);
}

static int prepare(void *state) {
  factors *c = state;
  if (c->upper && c->kind != CHOLESKY)
    return cli_fail(CLI_USAGE, "--upper needs --kind cholesky");
  if (c->pivots_output.path && c->kind != LU)
    return cli_fail(CLI_USAGE, "--pivots needs --kind lu");
  if (c->tau_output.path && c->kind != QR)
    return cli_fail(CLI_USAGE, "--tau needs --kind qr");
  set_rate(c);
  if (c->kind != CHOLESKY)
    return cli_array_to_fortran(&c->a);
  return c->job.sizes[M].whole == c->job.sizes[N].whole ? CLI_OK
                                                        : cli_shape_fail(c->a_path, &c->a, "a square matrix");
}

/* Cholesky's factor has the order of A. */
static int create(void *state) {
  factors *c = state;
  c->f.fortran = c->a.fortran;
  return c->kind == LU   ? cli_array_create(CLI_I4, 1, least(c), 1, CLI_MEMORY_PLAIN, &c->pivots)
         : c->kind == QR ? cli_array_create(c->a.type, 1, least(c), 1, CLI_MEMORY_PLAIN, &c->tau)
                         : CLI_OK;
}

/* The library leaves the other half of Cholesky's alone, which becomes 0. */
static void restore(void *state, cli_array *f) {
  const factors *c = state;
  const bool lower = cli_half_of(&c->a, c->upper) == 'L';
  const size_t n = (size_t)f->shape[0], bytes = cli_type_bytes(f->type);
  cli_restore(f, &c->a);
  for (size_t j = 0; j < n && c->kind == CHOLESKY; j++)
    memset((char *)f->data + (lower ? j * n : j * n + j + 1) * bytes, 0, (lower ? j : n - j - 1) * bytes);
}

/* On the CPU the library's own call is the reference. */
static davit_status work(void *state, cli_array *f, bool reference) {
  (void)reference;
  const factors *c = state;
  const char half = cli_half_of(&c->a, c->upper);
  const int64_t m = c->job.sizes[M].here, n = c->job.sizes[N].here, ld = dvt_at_least(m, 1);
  const davit_solve_options options = {CLI_DEVICES(c)};
#define BY_CHOLESKY(p, T) davit_##p##potrf(half, n, f->data, ld, &options)
#define BY_LU(p, T) davit_##p##getrf(m, n, f->data, ld, c->pivots.data, &options)
#define BY_QR(p, T) davit_##p##geqrf(m, n, f->data, ld, c->tau.data, &options)
  return c->kind == CHOLESKY ? CLI_OF_FIELD(f->type, BY_CHOLESKY)
         : c->kind == LU     ? CLI_OF_FIELD(f->type, BY_LU)
                             : CLI_OF_FIELD(f->type, BY_QR);
}

/* ---- check ---- */

static int on_cpu(davit_status (*form)(const dvt_site *, const void *), const void *arguments) {
  return cli_status(form(&(dvt_site){.threads = dvt_threads()}, arguments));
}

static int copy_a(factors *c) {
  CLI_TRY(cli_array_create_like(c->a.type, &c->a, CLI_MEMORY_PLAIN, &c->job.reference));
  cli_restore(&c->job.reference, &c->a);
  return CLI_OK;
}

/* The bound of the factor's rounding (Higham 2002, theorem 10.3). */
static int check_cholesky(factors *c, cli_check *check) {
  const char half = cli_half_of(&c->a, c->upper);
  const int64_t n = c->job.sizes[N].here, ld = dvt_at_least(n, 1);
  cli_array *residual = &c->job.reference;
  double norm = 0, error = 0;
  CLI_TRY(copy_a(c));
  const dvt_level3 update =
      dvt_potrf_update(cli_number_type(c->a.type), half, n, n, c->f.data, ld, residual->data, ld);
  CLI_TRY(on_cpu(dvt_level3_host, &update));
  CLI_TRY(cli_half_norm(&c->job, &c->a, half, &norm));
  CLI_TRY(cli_half_norm(&c->job, residual, half, &error));
  *check = (cli_check){.measure = c->upper ? "||A - U^H U||_1 / ||A||_1 <= (n + 1) eps"
                                           : "||A - L L^H||_1 / ||A||_1 <= (n + 1) eps",
                       .error = error == 0 ? 0 : error / norm,
                       .bound = ((double)n + 1) * cli_rounding(c->a.type)};
  return CLI_OK;
}

/* The upper triangle (trapezoid) of the factor, in a matrix of so many rows that has 0 elsewhere. */
static int take_upper(factors *c, int64_t rows) {
  const size_t element = cli_type_bytes(c->f.type);
  const int64_t m = c->f.shape[0], n = c->f.shape[1];
  CLI_TRY(cli_array_create(c->f.type, 2, rows, n, CLI_MEMORY_PLAIN, &c->u));
  cli_restore(&c->u, NULL);
  for (int64_t j = 0; j < n && c->u.bytes; j++)
    memcpy((char *)c->u.data + (size_t)(j * rows) * element,
           (const char *)c->f.data + (size_t)(j * m) * element,
           (size_t)(j + 1 < least(c) ? j + 1 : least(c)) * element);
  return CLI_OK;
}

/* L with its ones. */
static int take_lower(factors *c) {
  const int64_t m = c->f.shape[0], k = least(c);
  CLI_TRY(cli_array_create(c->f.type, 2, m, k, CLI_MEMORY_PLAIN, &c->l));
  if (c->l.bytes == 0)
    return CLI_OK;
  memcpy(c->l.data, c->f.data, c->l.bytes);
  return on_cpu(dvt_unit_host,
                &(dvt_unit){.type = cli_number_type(c->f.type), .m = m, .n = k, .a = c->l.data, .ld = m});
}

/* Rows of A, in job.reference, in the order that LU has found. */
static int exchange_rows(factors *c) {
  const int64_t m = c->f.shape[0], k = least(c);
  int *scratch;
  CLI_ROOM(&c->job, scratch, m + 4 * k);
  int *to = scratch + m, *from = to + 2 * k;
  const int64_t count = dvt_pivots_to_rows(c->pivots.data, 0, 0, k, m, scratch, to, from);
  return on_cpu(dvt_permute_host, &(dvt_permute){.type = cli_number_type(c->f.type),
                                                 .n = c->f.shape[1],
                                                 .a = c->job.reference.data,
                                                 .lda = dvt_at_least(m, 1),
                                                 .count = count,
                                                 .to = to,
                                                 .from = from});
}

/* The bound of the factors' rounding (Higham 2002, theorem 9.3). */
static int check_lu(factors *c, cli_check *check) {
  const int64_t m = c->f.shape[0], n = c->f.shape[1], k = least(c);
  double scale = 0, error = 0;
  CLI_TRY(copy_a(c));
  if (k > 0)
    CLI_TRY(exchange_rows(c));
  CLI_TRY(take_lower(c));
  CLI_TRY(take_upper(c, k));
  const dvt_level3 product =
      dvt_subtract_product(cli_number_type(c->f.type), 'N', 'N', m, n, k, c->l.data, dvt_at_least(m, 1),
                           c->u.data, dvt_at_least(k, 1), c->job.reference.data, dvt_at_least(m, 1));
  if (k > 0)
    CLI_TRY(on_cpu(dvt_level3_host, &product));
  CLI_TRY(cli_row_norm(&c->job, &c->job.reference, &error));
  CLI_TRY(cli_lu_norm(&c->job, &c->f, &scale));
  *check = (cli_check){.measure = "||A - P L U||_inf / || |L| |U| ||_inf <= (min(m, n) + 1) eps",
                       .error = error == 0 ? 0 : error / scale,
                       .bound = (double)(k + 1) * cli_rounding(c->a.type)};
  return CLI_OK;
}

/* The bound of the factors' rounding (Higham 2002, theorem 19.4). */
static int check_qr(factors *c, cli_check *check) {
  const int64_t m = c->f.shape[0], n = c->f.shape[1], k = least(c);
  CLI_TRY(take_upper(c, m));
  if (k > 0)
    CLI_TRY(on_cpu(dvt_ormqr_host, &(dvt_ormqr){.type = cli_number_type(c->f.type),
                                                .side = 'L',
                                                .trans = 'N',
                                                .m = m,
                                                .n = n,
                                                .k = k,
                                                .a = c->f.data,
                                                .lda = m,
                                                .tau = c->tau.data,
                                                .c = c->u.data,
                                                .ldc = m}));
  const double error = cli_distance(&c->a, &c->u, CLI_NONFINITE_FAILS);
  *check = (cli_check){.measure = "||A - Q R||_F / ||A||_F <= (m + n) eps",
                       .error = error == 0 ? 0 : error / cli_norm(&c->a, CLI_NONFINITE_FAILS),
                       .bound = (double)(m + n) * cli_rounding(c->a.type)};
  return CLI_OK;
}

static int check(void *state, cli_check *check) {
  factors *c = state;
  return c->kind == CHOLESKY ? check_cholesky(c, check)
         : c->kind == LU     ? check_lu(c, check)
                             : check_qr(c, check);
}

/* Pivots are written as NumPy numbers rows; matrices in Fortran order. */
static int finish(void *state) {
  factors *c = state;
  int32_t *pivots = c->pivots.data;
  for (int64_t i = 0; i < least(c) && pivots; i++)
    pivots[i]--;
  return c->job.output.path ? cli_array_to_fortran(&c->f) : CLI_OK;
}

static const cli_choice kinds[] = {{"cholesky", CHOLESKY, "A = L L^H, for a positive definite A; F is L"},
                                   {"lu", LU, "A = P L U; F has L below the diagonal, and U"},
                                   {"qr", QR, "A = Q R; F has R, and Q as reflectors below the diagonal"},
                                   {0}};

const cli_command cli_command_factor = {
    .name = "factor",
    .summary = "Cholesky, LU or QR factorisation of a matrix",
    .description = "Computes the Cholesky factor of A: the lower triangular L with A = L L^H, or with "
                   "--upper the upper triangular U with A = U^H U; ^H is the conjugate transpose. Only that "
                   "half of A is read. With --kind lu or qr, A may be any matrix, and F is the result of "
                   "LAPACK's getrf or geqrf. The exit code is 1 if A is not positive definite, or for LU "
                   "singular. With --check, the CPU multiplies the factors and compares the product with A.",
    .examples = "davit factor A.npy -o L.npy\n"
                "davit factor A.npy -o F.npy --kind lu --pivots p.npy --check\n",
    .operands = CLI_PLACES(CLI_PLACE(factors, a_path, "A",
                                     "a matrix: float64, float32, complex128 or complex64; for Cholesky "
                                     "symmetric, or complex Hermitian, and positive definite")),
    .options = CLI_OPTIONS(
        CLI_RESULT_OPTION("F"),
        CLI_OPTION(CHOICE, factors, kind, "--kind", "KIND", .choices = kinds, .value = "cholesky",
                   .help = "the factorisation"),
        CLI_OPTION(FLAG, factors, upper, "--upper", NULL,
                   .help = "Cholesky: read the upper half of A, and compute U"),
        CLI_OPTION(OUTPUT, factors, pivots_output, "--pivots", "FILE", .array = offsetof(factors, pivots),
                   .help = "LU: write the row, counted from 0, that each row was swapped with; "
                           "scipy.linalg.lu_solve takes F and this file"),
        CLI_OPTION(OUTPUT, factors, tau_output, "--tau", "FILE", .array = offsetof(factors, tau),
                   .help = "QR: write the factors tau of the reflectors")),
    .common = CLI_COMMON_ARRAYS,
    .small_bytes = 1 << 20,
    .state = sizeof(factors),
    .arrays = CLI_ARRAYS(CLI_OPERAND(factors, a, FIELD, "mn", .scratch = true), CLI_CREATED(factors, f, "mn"),
                         CLI_FREED(factors, pivots), CLI_FREED(factors, tau), CLI_FREED(factors, l),
                         CLI_FREED(factors, u)),
    .result = offsetof(factors, f),
    .restore = restore,
    .sizes = {"m", "n"},
    .unit = CLI_GFLOPS,
    .prepare = prepare,
    .create = create,
    .work = work,
    .check = check,
    .finish = finish,
};
