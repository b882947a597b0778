/* SPDX-License-Identifier: Apache-2.0 */
/* davit factor: Cholesky's factor of a positive definite matrix. */
#include <davit/solve.h>
#include <string.h>

#include "ref/solve.h"
#include "src/base/arithmetic.h"
#include "src/cli/definite.h"
#include "src/cli/formats/compare.h"
#include "src/cli/frame/job.h"

/* A C-order A has in memory the conjugate's factor U, whose transpose is L: L in C order. */
typedef struct cholesky {
  cli_job job;
  const char *a_path;
  bool upper;
  cli_array a, l;
} cholesky;

static int prepare(void *state) {
  cholesky *c = state;
  const double n = (double)c->job.sizes->whole;
  c->job.rate.amount = cli_flops(c->a.type) / 2 * (n * n * n / 3);
  return CLI_OK;
}

/* L has the order of A. */
static int create(void *state) {
  cholesky *c = state;
  c->l.fortran = c->a.fortran;
  return CLI_OK;
}

/* The library leaves the other half alone, which becomes 0. */
static void restore(void *state, cli_array *l) {
  const cholesky *c = state;
  const bool lower = cli_half_of(&c->a, c->upper) == 'L';
  const size_t n = (size_t)l->shape[0], bytes = cli_type_bytes(l->type);
  cli_restore(l, &c->a);
  for (size_t j = 0; j < n; j++)
    memset((char *)l->data + (lower ? j * n : j * n + j + 1) * bytes, 0, (lower ? j : n - j - 1) * bytes);
}

/* On the CPU the library's own call is the reference. */
static davit_status work(void *state, cli_array *l, bool reference) {
  (void)reference;
  const cholesky *c = state;
  const char half = cli_half_of(&c->a, c->upper);
  const int64_t n = c->job.sizes->here;
  const davit_solve_options options = {CLI_DEVICES(c)};
#define FACTOR(p, T) davit_##p##potrf(half, n, l->data, dvt_at_least(n, 1), &options)
  return CLI_OF_FIELD(l->type, FACTOR);
}

/* The bound of the factor's rounding (Higham 2002, theorem 10.3). */
static int check(void *state, cli_check *check) {
  cholesky *c = state;
  const char half = cli_half_of(&c->a, c->upper);
  const int64_t n = c->job.sizes->here, ld = dvt_at_least(n, 1);
  cli_array *residual = &c->job.reference;
  double norm = 0, error = 0;
  int code = cli_array_create_like(c->a.type, &c->a, CLI_MEMORY_PLAIN, residual);
  if (code != CLI_OK)
    return code;
  cli_restore(residual, &c->a);
  const dvt_level3 update =
      dvt_potrf_update(cli_number_type(c->a.type), half, n, n, c->l.data, ld, residual->data, ld);
  code = cli_status(dvt_level3_host(&(dvt_site){.threads = dvt_threads()}, &update));
  if (code == CLI_OK)
    code = cli_half_norm(&c->job, &c->a, half, &norm);
  if (code == CLI_OK)
    code = cli_half_norm(&c->job, residual, half, &error);
  *check = (cli_check){.measure = c->upper ? "||A - U^H U||_1 / ||A||_1 <= (n + 1) eps"
                                           : "||A - L L^H||_1 / ||A||_1 <= (n + 1) eps",
                       .error = error == 0 ? 0 : error / norm,
                       .bound = ((double)n + 1) * cli_rounding(c->a.type)};
  return code;
}

/* Matrices are written in Fortran order. */
static int finish(void *state) {
  cholesky *c = state;
  return c->job.output.path ? cli_array_to_fortran(&c->l) : CLI_OK;
}

const cli_command cli_command_factor = {
    .name = "factor",
    .summary = "Cholesky's factor of a positive definite matrix, A = L L^H",
    .description =
        "Computes the lower triangular L with A = L L^H, or with --upper the upper triangular U with A = "
        "U^H U; ^H is the conjugate transpose. Only that half of A is read. If A is not positive "
        "definite, the exit code is 1. With --check the CPU multiplies the factor out.",
    .examples = "davit factor A.npy -o L.npy\n"
                "davit factor A.npy -o U.npy --upper --check\n",
    .operands = CLI_PLACES(CLI_PLACE(cholesky, a_path, "A", CLI_DEFINITE_HELP)),
    .options =
        CLI_OPTIONS(CLI_RESULT_OPTION("L"), CLI_OPTION(FLAG, cholesky, upper, "--upper", NULL,
                                                       .help = "read the upper half of A, and compute U")),
    .common = CLI_COMMON_ARRAYS,
    .small_bytes = 1 << 20,
    .state = sizeof(cholesky),
    .arrays =
        CLI_ARRAYS(CLI_OPERAND(cholesky, a, FIELD, "nn", .scratch = true), CLI_CREATED(cholesky, l, "nn")),
    .result = offsetof(cholesky, l),
    .restore = restore,
    .sizes = {"n"},
    .unit = CLI_GFLOPS,
    .prepare = prepare,
    .create = create,
    .work = work,
    .check = check,
    .finish = finish,
};
