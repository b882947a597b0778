/* SPDX-License-Identifier: Apache-2.0 */
/* davit atax: y = Aᵀ (A x). */
#include <davit/atax.h>
#include <math.h>

#include "ref/ref.h"
#include "src/cli/formats/compare.h"
#include "src/cli/formats/operand.h"
#include "src/cli/frame/job.h"

typedef struct product {
  cli_job job;
  const char *a_path, *x_path;
  cli_output output;
  cli_operand matrix;
  cli_array a, x, y;
  cli_array tmp; /* A x, for the reference */
} product;

static int load(void *state) {
  product *p = state;
  int code =
      cli_read_matrix(CLI_REAL_NUMBERS, p->a_path, &p->job.common.reading, p->job.memory, NULL, NULL, &p->a);
  if (code == CLI_OK)
    code = cli_read_vector_of(CLI_REAL_NUMBERS, p->a.shape[1], p->x_path, &p->job.common.reading,
                              p->job.memory, &p->a, &p->x);
  if (code != CLI_OK)
    return code;
  p->matrix = cli_operand_of(&p->a, false);
  code = cli_array_create(p->a.type, 1, p->a.shape[0], 1, CLI_MEMORY_PLAIN, &p->tmp);
  if (code == CLI_OK)
    code = cli_array_create(p->a.type, 1, p->a.shape[1], 1, p->job.memory, &p->y);
  /* A is counted once: that is the minimum to read. */
  p->job.rate = (cli_rate){CLI_GBYTES, (double)(p->a.bytes + p->x.bytes + p->y.bytes)};
  return code;
}

/* y is zeros before. */
static davit_status work(void *state, cli_array *y, bool reference) {
  const product *p = state;
  const cli_operand *a = &p->matrix;
  if (!reference)
    return davit_atax(cli_number_type(p->a.type), a->trans, a->rows, a->cols, p->a.data, a->ld, p->x.data,
                      NULL, y->data, &(davit_atax_options){CLI_DEVICES(p)});
  if (!p->a.bytes) /* the reference takes no NULL */
    return DAVIT_SUCCESS;
  if (p->a.type == CLI_F8)
    dvt_ref_datax(a->trans, a->rows, a->cols, p->a.data, a->ld, p->x.data, p->tmp.data, y->data);
  else
    dvt_ref_satax(a->trans, a->rows, a->cols, p->a.data, a->ld, p->x.data, p->tmp.data, y->data);
  return DAVIT_SUCCESS;
}

/* The bound of gemv for each of the two products: the error of A x passes through Aᵀ. */
static int check(void *state, cli_check *check) {
  product *p = state;
  const int code = cli_job_reference(&p->job);
  if (code != CLI_OK)
    return code;
  const double norm = cli_norm(&p->a, CLI_NONFINITE_PASSES);
  const double terms = sqrt((double)p->a.shape[0] + 2) + sqrt((double)p->a.shape[1] + 2);
  *check = (cli_check){.measure = "||y - y_ref||_2 <= 3 eps (sqrt(m + 2) + sqrt(n + 2)) ||A||_F^2 ||x||_2",
                       .error = cli_distance(&p->y, &p->job.reference, CLI_NONFINITE_PASSES),
                       .bound = 3 * cli_epsilon(p->a.type) * terms * norm * norm *
                                cli_norm(&p->x, CLI_NONFINITE_PASSES)};
  return CLI_OK;
}

static void report(cli_json *json, const void *state) {
  const product *p = state;
  cli_json_integer(json, "m", p->a.shape[0]);
  cli_json_integer(json, "n", p->a.shape[1]);
}

const cli_command cli_command_atax = {
    .name = "atax",
    .summary = "product with a matrix and its transpose, y = A^T (A x)",
    .description = "Computes y = A^T (A x). A GPU reads A once if it is in C order with rows of at most "
                   "12288 float64 or 24576 float32, else twice, as two products.",
    .examples = "davit atax A.npy x.npy -o y.npy\n",
    .operands = CLI_PLACES(CLI_PLACE(product, a_path, "A", "a float64 or float32 matrix"),
                           CLI_PLACE(product, x_path, "X", "a vector of the same type")),
    .options = CLI_OPTIONS(CLI_RESULT_OPTION(product, "Y")),
    .common = CLI_COMMON_TABLE | CLI_COMMON_COMPUTE | CLI_COMMON_FORCE,
    .small_bytes = 4 << 20,
    .state = sizeof(product),
    CLI_ARRAYS(product, a, tmp),
    .result = offsetof(product, y),
    .read = load,
    .work = work,
    .check = check,
    .report = report,
};
