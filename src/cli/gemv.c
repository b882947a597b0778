/* SPDX-License-Identifier: Apache-2.0 */
/* davit gemv: y = alpha op(A) x + beta y. */
#include <complex.h>
#include <davit/gemv.h>
#include <math.h>

#include "ref/blas.h"
#include "src/cli/blas_options.h"
#include "src/cli/formats/compare.h"
#include "src/cli/formats/operand.h"
#include "src/cli/frame/job.h"

typedef struct product {
  cli_job job;
  const char *a_path, *x_path, *y0_path;
  cli_output output;
  double _Complex alpha, beta;
  int trans;
  cli_operand matrix;
  cli_array a, x, y0, y; /* without --y0, `y0` is empty */
} product;

static int load_y0(product *p) {
  int code = cli_check_scalar("alpha", p->alpha, p->a.type);
  if (code == CLI_OK)
    code = cli_check_scalar("beta", p->beta, p->a.type);
  if (code == CLI_OK && p->y0_path)
    code = cli_read_vector_of(CLI_COMPLEX_NUMBERS, p->matrix.op_rows, p->y0_path, &p->job.common.reading,
                              CLI_MEMORY_PLAIN, &p->a, &p->y0);
  p->beta = p->y0_path ? p->beta : 0;
  return code;
}

static int load(void *state) {
  product *p = state;
  int code = cli_read_matrix(CLI_COMPLEX_NUMBERS, p->a_path, &p->job.common.reading, p->job.memory, NULL,
                             NULL, &p->a);
  if (code != CLI_OK)
    return code;
  if (p->trans == CLI_CONJUGATED)
    cli_array_conjugate(&p->a);
  p->matrix = cli_operand_of(&p->a, p->trans);
  p->job.rate = (cli_rate){CLI_GFLOPS, cli_flops(p->a.type) * (double)p->a.shape[0] * (double)p->a.shape[1]};
  code = cli_read_vector_of(CLI_COMPLEX_NUMBERS, p->matrix.op_cols, p->x_path, &p->job.common.reading,
                            p->job.memory, &p->a, &p->x);
  if (code == CLI_OK)
    code = load_y0(p);
  return code == CLI_OK ? cli_array_create(p->a.type, 1, p->matrix.op_rows, 1, p->job.memory, &p->y) : code;
}

#define DEFINE_MULTIPLY(p, T)                                                                                \
  static davit_status multiply_##p(const product *q, T *y, bool reference) {                                 \
    const cli_operand *a = &q->matrix;                                                                       \
    const T alpha = (T)q->alpha, beta = (T)q->beta;                                                          \
    if (!reference)                                                                                          \
      return davit_##p##gemv(a->trans, a->rows, a->cols, alpha, q->a.data, a->ld, q->x.data, 1, beta, y, 1,  \
                             &(davit_gemv_options){CLI_DEVICES(q)});                                         \
    return dvt_gemv_host(NULL, &(dvt_gemv){cli_number_type(q->a.type), a->trans, a->rows, a->cols, alpha,    \
                                           q->a.data, a->ld, q->x.data, 1, beta, y, 1});                     \
  }
CLI_FOR_FIELDS(DEFINE_MULTIPLY)
#undef DEFINE_MULTIPLY

static davit_status work(void *state, cli_array *y, bool reference) {
  const product *p = state;
  return CLI_CALL_FIELD(p->a.type, multiply, p, y->data, reference);
}

/* The bound of gemm for a result of one column. */
static int check(void *state, cli_check *check) {
  product *p = state;
  const int code = cli_job_reference(&p->job);
  if (code == CLI_OK)
    *check = (cli_check){
        .measure = "||y - y_ref||_2 <= 3 eps (sqrt(n + 2) |alpha| ||A||_F ||x||_2 + 2 |beta| ||y0||_2)",
        .error = cli_distance(&p->y, &p->job.reference, CLI_NONFINITE_FAILS),
        .bound = cli_product_bound(p->matrix.op_cols, cabs(p->alpha), &p->a, &p->x, cabs(p->beta), &p->y0)};
  return code;
}

static void report(cli_json *json, const void *state) {
  const product *p = state;
  cli_json_integer(json, "m", p->matrix.op_rows);
  cli_json_integer(json, "n", p->matrix.op_cols);
}

const cli_command cli_command_gemv = {
    .name = "gemv",
    .summary = "matrix-vector product, y = alpha op(A) x + beta y0",
    .description =
        "Computes y = alpha op(A) x + beta y0, op(A) being A, its transpose or the conjugate of that.",
    .examples = "davit gemv A.npy x.npy -o y.npy\n"
                "davit gemv A.npy x.npy --trans --y0 y.npy --beta -1 -o y.npy\n",
    .operands =
        CLI_PLACES(CLI_PLACE(product, a_path, "A", "a float64, float32, complex128 or complex64 matrix"),
                   CLI_PLACE(product, x_path, "X", "a vector of the same type")),
    .options = CLI_OPTIONS(CLI_RESULT_OPTION(product, "Y"), CLI_ALPHA_OPTION(product),
                           CLI_BETA_OPTION(product, "y0"),
                           CLI_OPTION(TEXT, product, y0_path, "--y0", "FILE",
                                      .help = "y before the product; without it that term is left out"),
                           CLI_TRANSPOSE_OPTION(product, trans, "A")),
    .common = CLI_COMMON_TABLE | CLI_COMMON_COMPUTE | CLI_COMMON_FORCE,
    .small_bytes = 4 << 20,
    .state = sizeof(product),
    CLI_ARRAYS(product, a, y),
    .result = offsetof(product, y),
    .initial = offsetof(product, y0),
    .read = load,
    .work = work,
    .check = check,
    .report = report,
};
