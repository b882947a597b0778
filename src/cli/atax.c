/* SPDX-License-Identifier: Apache-2.0 */
/* davit atax: y = Aᵀ (A x). */
#include <davit/atax.h>
#include <math.h>

#include "ref/ref.h"
#include "src/cli/formats/compare.h"
#include "src/cli/frame/job.h"

typedef struct product {
  cli_job job;
  const char *a_path, *x_path;
  cli_array a, x, y;
  cli_array tmp; /* A x, for the reference */
} product;

/* y is zeros before. */
static davit_status work(void *state, cli_array *y, bool reference) {
  const product *p = state;
  const cli_operand a = cli_operand_of(&p->a, false);
  if (!reference)
    return davit_atax(cli_number_type(p->a.type), a.trans, a.rows, a.cols, p->a.data, a.ld, p->x.data, NULL,
                      y->data, &(davit_atax_options){CLI_DEVICES(p)});
  if (!p->a.bytes) /* the reference takes no NULL */
    return DAVIT_SUCCESS;
#define MULTIPLY(l, T)                                                                                       \
  dvt_ref_##l##atax(a.trans, a.rows, a.cols, p->a.data, a.ld, p->x.data, p->tmp.data, y->data)
  CLI_OF_PRECISION(y->type, MULTIPLY);
  return DAVIT_SUCCESS;
}

static double distance(const void *state) {
  const product *p = state;
  return cli_distance(&p->y, &p->job.reference, CLI_NONFINITE_PASSES);
}

/* The bound of gemv for each of the two products: the error of A x passes through Aᵀ. */
static double bound(const void *state) {
  const product *p = state;
  const double norm = cli_norm(&p->a, CLI_NONFINITE_PASSES);
  const double terms = sqrt((double)p->a.shape[0] + 2) + sqrt((double)p->a.shape[1] + 2);
  return 3 * cli_epsilon(p->a.type) * terms * norm * norm * cli_norm(&p->x, CLI_NONFINITE_PASSES);
}

const cli_command cli_command_atax = {
    .name = "atax",
    .summary = "product with a matrix and its transpose, y = A^T (A x)",
    .description = "Computes y = A^T (A x). On NVIDIA GPUs, A is read only once if it is in C order with "
                   "rows of at most 12288 float64 or 24576 float32; from compute capability 9.0 on also if "
                   "it is in Fortran order with 48 to 24576 columns that are multiples of 16 bytes long. "
                   "Otherwise it is read twice, as two products.",
    .examples = "davit atax A.npy x.npy -o y.npy\n",
    .operands = CLI_PLACES(CLI_PLACE(product, a_path, "A", "a float64 or float32 matrix"),
                           CLI_PLACE(product, x_path, "X", "a vector of the same type")),
    .options = CLI_OPTIONS(CLI_RESULT_OPTION("Y")),
    .common = CLI_COMMON_ARRAYS,
    .small_bytes = 4 << 20,
    .state = sizeof(product),
    .arrays = CLI_ARRAYS(CLI_OPERAND(product, a, FLOATING, "mn"), CLI_OPERAND(product, x, FLOATING, "n"),
                         CLI_CREATED(product, y, "n"), CLI_CREATED(product, tmp, "m", .scratch = true)),
    .result = offsetof(product, y),
    .sizes = {"m", "n"},
    .unit = CLI_GBYTES, /* A is counted once: that is the minimum to read */
    .work = work,
    .measure = "||y - y_ref||_2 <= 3 eps (sqrt(m + 2) + sqrt(n + 2)) ||A||_F^2 ||x||_2",
    .error = distance,
    .bound = bound,
};
