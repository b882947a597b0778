/* SPDX-License-Identifier: Apache-2.0 */
/* davit solve: A X = B with a positive definite A. */
#include <complex.h>
#include <davit/solve.h>

#include "ref/blas.h"
#include "src/base/arithmetic.h"
#include "src/cli/definite.h"
#include "src/cli/formats/compare.h"
#include "src/cli/frame/job.h"

/* Of a C-order A the library gets the conjugate, so it is asked for conj(A) conj(X) = conj(B): `b` and `x` are
 * conjugates from `prepare` to `finish`. */
typedef struct systems {
  cli_job job;
  const char *a_path, *b_path;
  bool upper;
  cli_array a, b, x;
  cli_array factor; /* A before a run, its factor afterwards */
} systems;

enum { N, K }; /* of job.sizes */

static void conjugate(const systems *s, cli_array *array) {
  if (!s->a.fortran)
    cli_array_conjugate(array);
}

static int prepare(void *state) {
  systems *s = state;
  const double n = (double)s->job.sizes[N].whole, k = (double)s->job.sizes[K].whole;
  s->job.rate.amount = cli_flops(s->a.type) / 2 * (n * n * n / 3 + 2 * n * n * k);
  conjugate(s, &s->b);
  return cli_array_to_fortran(&s->b);
}

/* X has the shape of B. */
static int create(void *state) {
  systems *s = state;
  s->x.ndim = s->b.ndim;
  return CLI_OK;
}

static void restore(void *state, cli_array *x) {
  systems *s = state;
  cli_restore(x, &s->b);
  cli_restore(&s->factor, &s->a);
}

/* On the CPU the library's own call is the reference. */
static davit_status work(void *state, cli_array *x, bool reference) {
  (void)reference;
  const systems *s = state;
  const char half = cli_half_of(&s->a, s->upper);
  const int64_t n = s->job.sizes[N].here, k = s->job.sizes[K].here, ld = dvt_at_least(n, 1);
  const davit_solve_options options = {CLI_DEVICES(s)};
#define SOLVE(p, T) davit_##p##posv(half, n, k, s->factor.data, ld, x->data, ld, &options)
  return CLI_OF_FIELD(x->type, SOLVE);
}

/* ---- check ---- */

/* B - A X in job.reference. */
static int compute_residual(systems *s) {
  const int64_t n = s->job.sizes[N].here, k = s->job.sizes[K].here, ld = dvt_at_least(n, 1);
  cli_array *residual = &s->job.reference;
  const int code = cli_array_create_like(s->b.type, &s->b, CLI_MEMORY_PLAIN, residual);
  if (code != CLI_OK)
    return code;
  cli_restore(residual, &s->b);
  const dvt_level3 product = {.routine = cli_is_complex(s->a.type) ? DVT_HEMM : DVT_SYMM,
                              .type = cli_number_type(s->a.type),
                              .side = 'L',
                              .uplo = cli_half_of(&s->a, s->upper),
                              .m = n,
                              .n = k,
                              .alpha = -1,
                              .a = s->a.data,
                              .lda = ld,
                              .b = s->x.data,
                              .ldb = ld,
                              .beta = 1,
                              .c = residual->data,
                              .ldc = ld};
  return cli_status(dvt_level3_host(&(dvt_site){.threads = dvt_threads()}, &product));
}

static double column_norm(const cli_array *array, int64_t j) {
  const int64_t n = array->shape[0];
  double norm = 0;
  for (int64_t i = 0; i < n; i++)
    norm = cli_larger(norm, cabs((double _Complex)cli_element(array, i + j * n)));
  return norm;
}

/* The normwise backward error (Rigal and Gaches 1967), and the bound of its rounding (Higham 2002, theorem 10.4). */
static int check(void *state, cli_check *check) {
  systems *s = state;
  double norm = 0, worst = 0;
  int code = compute_residual(s);
  if (code == CLI_OK)
    code = cli_half_norm(&s->job, &s->a, cli_half_of(&s->a, s->upper), &norm);
  for (int64_t j = 0; j < s->job.sizes[K].here && code == CLI_OK; j++) {
    const double error = column_norm(&s->job.reference, j);
    const double scale = norm * column_norm(&s->x, j) + column_norm(&s->b, j);
    worst = cli_larger(worst, error == 0 ? 0 : error / scale);
  }
  *check = (cli_check){.measure =
                           "max_j ||b_j - A x_j||_inf / (||A||_inf ||x_j||_inf + ||b_j||_inf) <= (n + 1) eps",
                       .error = worst,
                       .bound = ((double)s->job.sizes[N].whole + 1) * cli_rounding(s->a.type)};
  return code;
}

static int finish(void *state) {
  systems *s = state;
  conjugate(s, &s->x);
  return CLI_OK;
}

const cli_command cli_command_solve = {
    .name = "solve",
    .summary = "systems of linear equations with a positive definite matrix, A X = B",
    .description =
        "Solves A X = B by Cholesky's factorisation of A. Only the lower half of A is read; the upper "
        "one is taken for its conjugate transpose. X has the shape of B. If A is not positive definite, "
        "the exit code is 1. With --check the CPU computes the backward error of each column.",
    .examples = "davit solve A.npy b.npy -o x.npy\n"
                "davit solve A.npy B.npy -o X.npy --upper --check\n",
    .operands = CLI_PLACES(CLI_PLACE(systems, a_path, "A", CLI_DEFINITE_HELP),
                           CLI_PLACE(systems, b_path, "B", "a vector or a matrix of the same type")),
    .options = CLI_OPTIONS(CLI_RESULT_OPTION("X"),
                           CLI_OPTION(FLAG, systems, upper, "--upper", NULL,
                                      .help = "read the upper half of A in place of the lower one")),
    .common = CLI_COMMON_ARRAYS,
    .small_bytes = 1 << 20,
    .state = sizeof(systems),
    .arrays = CLI_ARRAYS(CLI_OPERAND(systems, a, FIELD, "nn", .scratch = true),
                         CLI_OPERAND(systems, b, FIELD, "nk", .scratch = true, .vector = true),
                         CLI_CREATED(systems, x, "nk"), CLI_CREATED(systems, factor, "nn")),
    .result = offsetof(systems, x),
    .restore = restore,
    .sizes = {"n", "k"},
    .unit = CLI_GFLOPS,
    .prepare = prepare,
    .create = create,
    .work = work,
    .check = check,
    .finish = finish,
};
