/* SPDX-License-Identifier: Apache-2.0 */
/* davit solve: A X = B, or the least squares where A is not square. */
#include <complex.h>
#include <davit/solve.h>
#include <string.h>

#include "ref/blas.h"
#include "src/base/arithmetic.h"
#include "src/cli/formats/compare.h"
#include "src/cli/frame/job.h"
#include "src/cli/norms.h"

/* With --spd the library gets the conjugate of a C-order A, so it is asked for conj(A) conj(X) = conj(B): `b` and `x`
 * are conjugates from `prepare` to `finish`. */
typedef struct systems {
  cli_job job;
  const char *a_path, *b_path;
  bool definite, upper, refine;
  cli_array a, b, x;
  cli_array factor; /* A before a run, its factor afterwards */
  cli_array
      sides; /* least squares: B before a run, X afterwards, in as many rows as the longer of them has */
  cli_array gradient; /* of the check */
  int *ipiv;
  davit_solve_report report;
} systems;

enum { M, N, K }; /* of job.sizes */

static bool is_square(const systems *s) {
  return s->job.sizes[M].whole == s->job.sizes[N].whole;
}

static void conjugate(const systems *s, cli_array *array) {
  if (!s->a.fortran)
    cli_array_conjugate(array);
}

static void set_rate(systems *s) {
  const double m = (double)s->job.sizes[M].whole, n = (double)s->job.sizes[N].whole,
               k = (double)s->job.sizes[K].whole, least = fmin(m, n);
  const double factor = s->definite ? n * n * n / 3 : least * least * (fmax(m, n) - least / 3);
  const double once = is_square(s) ? factor + 2 * n * n * k : 2 * factor + (4 * m * n - least * least) * k;
  s->job.rate.amount = cli_flops(s->a.type) / 2 * once;
}

static int prepare(void *state) {
  systems *s = state;
  if ((s->definite || s->refine) && !is_square(s))
    return cli_shape_fail(s->a_path, &s->a, "a square matrix");
  set_rate(s);
  if (!s->definite)
    CLI_TRY(cli_array_to_fortran(&s->a));
  conjugate(s, &s->b);
  return cli_array_to_fortran(&s->b);
}

/* X has the dimensions of B. */
static int create(void *state) {
  systems *s = state;
  const int64_t m = s->job.sizes[M].here, n = s->job.sizes[N].here;
  s->x.ndim = s->b.ndim;
  CLI_ROOM(&s->job, s->ipiv, n + 1);
  return is_square(s)
             ? CLI_OK
             : cli_array_create(s->a.type, 2, m > n ? m : n, s->job.sizes[K].here, s->job.memory, &s->sides);
}

/* The first rows of each column, as many as both have. */
static void copy_rows(const cli_array *from, cli_array *to) {
  const size_t element = cli_type_bytes(from->type), from_column = (size_t)from->shape[0] * element,
               to_column = (size_t)to->shape[0] * element;
  for (size_t j = 0; j < (size_t)to->shape[1] && from_column && to_column; j++)
    memcpy((char *)to->data + j * to_column, (const char *)from->data + j * from_column,
           from_column < to_column ? from_column : to_column);
}

static void restore(void *state, cli_array *x) {
  systems *s = state;
  if (is_square(s))
    cli_restore(x, &s->b);
  else
    copy_rows(&s->b, &s->sides);
  cli_restore(&s->factor, &s->a);
}

/* On the CPU the library's own call is the reference. */
static davit_status work(void *state, cli_array *x, bool reference) {
  (void)reference;
  systems *s = state;
  const char half = cli_half_of(&s->a, s->upper);
  const int64_t m = s->job.sizes[M].here, n = s->job.sizes[N].here, k = s->job.sizes[K].here,
                lda = dvt_at_least(m, 1), ldx = dvt_at_least(n, 1);
  const davit_solve_options options = {CLI_DEVICES(s), .report = &s->report,
                                       .arithmetic =
                                           s->refine ? DAVIT_ARITHMETIC_MIXED : DAVIT_ARITHMETIC_NATIVE};
#define DEFINITE(p, T) davit_##p##posv(half, n, k, s->factor.data, lda, x->data, ldx, &options)
#define SQUARE(p, T) davit_##p##gesv(n, k, s->factor.data, lda, s->ipiv, x->data, ldx, &options)
#define LEAST(p, T)                                                                                          \
  davit_##p##gels('N', m, n, k, s->factor.data, lda, s->sides.data, lda > ldx ? lda : ldx, &options)
  if (s->definite)
    return CLI_OF_FIELD(x->type, DEFINITE);
  if (is_square(s))
    return CLI_OF_FIELD(x->type, SQUARE);
  const davit_status status = CLI_OF_FIELD(x->type, LEAST);
  copy_rows(&s->sides, x);
  return status;
}

/* ---- check ---- */

static int multiply(const dvt_level3 *product) {
  return cli_status(dvt_level3_host(&(dvt_site){.threads = dvt_threads()}, product));
}

/* B - A X in job.reference. */
static int compute_residual(systems *s) {
  const int64_t m = s->job.sizes[M].here, n = s->job.sizes[N].here, ldm = dvt_at_least(m, 1);
  cli_array *residual = &s->job.reference;
  CLI_TRY(cli_array_create_like(s->b.type, &s->b, CLI_MEMORY_PLAIN, residual));
  cli_restore(residual, &s->b);
  dvt_level3 product =
      dvt_subtract_product(cli_number_type(s->a.type), 'N', 'N', m, s->job.sizes[K].here, n, s->a.data, ldm,
                           s->x.data, dvt_at_least(n, 1), residual->data, ldm);
  if (s->definite) {
    product.routine = cli_is_complex(s->a.type) ? DVT_HEMM : DVT_SYMM;
    product.side = 'L';
    product.uplo = cli_half_of(&s->a, s->upper);
  }
  return multiply(&product);
}

/* A^H (B - A X), which is 0 where the residual is the shortest. */
static int compute_gradient(systems *s) {
  const int64_t m = s->job.sizes[M].here, n = s->job.sizes[N].here, ldm = dvt_at_least(m, 1);
  CLI_TRY(cli_array_create_like(s->x.type, &s->x, CLI_MEMORY_PLAIN, &s->gradient));
  const dvt_level3 product = dvt_gemm_of(cli_number_type(s->a.type), cli_is_complex(s->a.type) ? 'C' : 'T',
                                         'N', n, s->job.sizes[K].here, m, 1, s->a.data, ldm,
                                         s->job.reference.data, ldm, 0, s->gradient.data, dvt_at_least(n, 1));
  return multiply(&product);
}

static double norm_of(const cli_array *array, int64_t j) {
  const int64_t n = array->shape[0];
  double norm = 0;
  for (int64_t i = 0; i < n; i++)
    norm = cli_larger(norm, cabs((double _Complex)cli_element(array, i + j * n)));
  return norm;
}

/* The largest of ||e_j|| / (||A||_inf ||x_j|| + ||b_j||), the normwise backward error if e is the residual (Rigal and
 * Gaches 1967). */
static double worst_of(const systems *s, const cli_array *e, double norm) {
  double worst = 0;
  for (int64_t j = 0; j < s->job.sizes[K].here; j++) {
    const double error = norm_of(e, j), scale = norm * norm_of(&s->x, j) + norm_of(&s->b, j);
    worst = cli_larger(worst, error == 0 ? 0 : error / scale);
  }
  return worst;
}

#define BACKWARD_ERROR "max_j ||b_j - A x_j||_inf / (||A||_inf ||x_j||_inf + ||b_j||_inf) <= "

/* The bounds are those of the factorisations' rounding (Higham 2002, theorems 10.4, 9.4 and 20.3). What was refined has
 * an error that does not grow with the factors. */
static int check_system(systems *s, double norm, cli_check *check) {
  const double m = (double)s->job.sizes[M].whole, n = (double)s->job.sizes[N].whole;
  const bool lu = is_square(s) && !s->definite && s->report.arithmetic == DAVIT_ARITHMETIC_NATIVE,
             bounded = s->definite || (is_square(s) && !lu);
  double growth = norm;
  if (lu)
    CLI_TRY(cli_lu_norm(&s->job, &s->factor, &growth));
  const double steps = bounded ? n + 1 : lu ? 3 * (n + 1) * (norm > 0 ? growth / norm : 1) : m + n;
  *check = (cli_check){.measure = bounded ? BACKWARD_ERROR "(n + 1) eps"
                                  : lu    ? BACKWARD_ERROR "3 (n + 1) eps || |L| |U| ||_inf / ||A||_inf"
                                          : BACKWARD_ERROR "(m + n) eps",
                       .error = worst_of(s, &s->job.reference, norm),
                       .bound = steps * cli_rounding(s->a.type)};
  return CLI_OK;
}

static int check_least_squares(systems *s, double norm, cli_check *check) {
  const double columns = cli_column_norm(&s->a),
               sizes = (double)(s->job.sizes[M].whole + s->job.sizes[N].whole);
  CLI_TRY(compute_gradient(s));
  *check = (cli_check){
      .measure =
          "max_j ||A^H (b_j - A x_j)||_inf / (||A||_1 (||A||_inf ||x_j||_inf + ||b_j||_inf)) <= (m + n) eps",
      .error = columns > 0 ? worst_of(s, &s->gradient, norm) / columns : 0,
      .bound = sizes * cli_rounding(s->a.type)};
  return CLI_OK;
}

static int check(void *state, cli_check *check) {
  systems *s = state;
  double norm = 0;
  CLI_TRY(compute_residual(s));
  CLI_TRY(s->definite ? cli_half_norm(&s->job, &s->a, cli_half_of(&s->a, s->upper), &norm)
                      : cli_row_norm(&s->job, &s->a, &norm));
  return s->job.sizes[M].whole > s->job.sizes[N].whole ? check_least_squares(s, norm, check)
                                                       : check_system(s, norm, check);
}

static int finish(void *state) {
  systems *s = state;
  if (s->refine && s->report.arithmetic == DAVIT_ARITHMETIC_NATIVE)
    cli_remark("not refined%s: A was factored in its own type",
               s->report.iterations > 0 ? ", because it does not converge" : "");
  conjugate(s, &s->x);
  return CLI_OK;
}

const cli_command cli_command_solve = {
    .name = "solve",
    .summary = "systems of linear equations A X = B, and least squares",
    .description =
        "Solves A X = B. A square A is factored by LU with partial pivoting, or with --spd by Cholesky. If A "
        "has more rows than columns, each column x of X minimises ||b - A x|| for its column b of B; if it "
        "has fewer, x is the shortest solution of A x = b. Both use QR, and A must have full rank. X has one "
        "row for each column of A, and is a vector if B is one. The exit code is 1 if A is singular or not "
        "positive definite. With --check, the CPU computes the backward error of each column, or for least "
        "squares how far the residual is from being orthogonal to the columns of A.",
    .examples = "davit solve A.npy b.npy -o x.npy\n"
                "davit solve A.npy B.npy -o X.npy --spd --upper --check\n"
                "davit solve A.npy b.npy -o x.npy --refine\n",
    .operands =
        CLI_PLACES(CLI_PLACE(systems, a_path, "A", "a matrix: float64, float32, complex128 or complex64"),
                   CLI_PLACE(systems, b_path, "B", "a vector or a matrix of the same type")),
    .options = CLI_OPTIONS(
        CLI_RESULT_OPTION("X"),
        CLI_OPTION(FLAG, systems, definite, "--spd", NULL,
                   .help = "take A as symmetric, or complex Hermitian, and positive definite: half the work; "
                           "only its lower half is read"),
        CLI_OPTION(FLAG, systems, upper, "--upper", NULL, .needs = "--spd",
                   .help = "read the upper half of A instead of the lower"),
        CLI_OPTION(FLAG, systems, refine, "--refine", NULL,
                   .help = "factor a square float64 or complex128 A in lower precision, and refine X to full "
                           "accuracy; if that does not converge or is slower, factor A as usual")),
    .common = CLI_COMMON_ARRAYS,
    .small_bytes = 1 << 20,
    .state = sizeof(systems),
    .arrays = CLI_ARRAYS(CLI_OPERAND(systems, a, FIELD, "mn", .scratch = true),
                         CLI_OPERAND(systems, b, FIELD, "mk", .scratch = true, .vector = true),
                         CLI_CREATED(systems, x, "nk"), CLI_CREATED(systems, factor, "mn"),
                         CLI_FREED(systems, sides), CLI_FREED(systems, gradient)),
    .result = offsetof(systems, x),
    .restore = restore,
    .sizes = {"m", "n", "k"},
    .unit = CLI_GFLOPS,
    .prepare = prepare,
    .create = create,
    .work = work,
    .check = check,
    .finish = finish,
};
