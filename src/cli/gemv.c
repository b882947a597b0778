/* SPDX-License-Identifier: Apache-2.0 */
/* davit gemv: y = alpha op(A) x + beta y. */
#include <complex.h>
#include <davit/gemv.h>
#include <davit/scal.h>
#include <string.h>

#include "ref/blas.h"
#include "src/cli/blas_options.h"
#include "src/cli/formats/compare.h"
#include "src/cli/frame/job.h"

typedef struct product {
  cli_job job;
  const char *a_path, *x_path, *y0_path;
  double _Complex alpha, beta;
  int trans;
  cli_array a, x, y0, y; /* without --y0, `y0` is empty */
} product;

/* beta y0 is a sum of nothing more, where BLAS leaves y0 as it is. */
static davit_status scale(const product *q, cli_array *y) {
  static const int host = DAVIT_HOST;
  const davit_scal_options options = {.devices = &host, .device_count = 1};
#define SCALE(p, T) davit_##p##scal(y->shape[0], (T)q->beta, y->data, 1, &options)
  if (q->y0_path && q->beta != 0)
    return CLI_OF_FIELD(y->type, SCALE);
  memset(y->data, 0, (size_t)y->shape[0] * cli_type_bytes(y->type));
  return DAVIT_SUCCESS;
}

static davit_status work(void *state, cli_array *y, bool reference) {
  const product *q = state;
  const cli_operand a = cli_operand_of(&q->a, q->trans);
  const davit_gemv_options options = {CLI_DEVICES(q)};
  if (q->x.shape[0] == 0 && y->shape[0] > 0)
    return scale(q, y);
#define MULTIPLY(p, T)                                                                                       \
  davit_##p##gemv(a.trans, a.rows, a.cols, (T)q->alpha, q->a.data, a.ld, q->x.data, 1, (T)q->beta, y->data,  \
                  1, &options)
  return reference
             ? dvt_gemv_host(NULL, &(dvt_gemv){cli_number_type(y->type), a.trans, a.rows, a.cols, q->alpha,
                                               q->a.data, a.ld, q->x.data, 1, q->beta, y->data, 1})
             : CLI_OF_FIELD(y->type, MULTIPLY);
}

/* The bound of gemm for a result of one column. */
static double bound(const void *state) {
  const product *p = state;
  return cli_product_bound(p->x.shape[0], cabs(p->alpha), &p->a, &p->x, cabs(p->beta), &p->y0);
}

const cli_command cli_command_gemv = {
    .name = "gemv",
    .summary = "matrix-vector product, y = alpha op(A) x + beta y0",
    .description =
        "Computes y = alpha op(A) x + beta y0, where op(A) is A, its transpose or its conjugate transpose.",
    .examples = "davit gemv A.npy x.npy -o y.npy\n"
                "davit gemv A.npy x.npy --trans --y0 y.npy --beta -1 -o z.npy\n",
    .operands =
        CLI_PLACES(CLI_PLACE(product, a_path, "A", "a float64, float32, complex128 or complex64 matrix"),
                   CLI_PLACE(product, x_path, "X", "a vector of the same type")),
    .options = CLI_OPTIONS(CLI_RESULT_OPTION("Y"), CLI_ALPHA_OPTION(product), CLI_BETA_OPTION(product, "y0"),
                           CLI_OPTION(TEXT, product, y0_path, "--y0", "FILE",
                                      .help = "y before the product; without it, beta y0 is left out"),
                           CLI_TRANSPOSE_OPTION(product, trans, "A")),
    .common = CLI_COMMON_ARRAYS,
    .small_bytes = 4 << 20,
    .state = sizeof(product),
    .arrays = CLI_ARRAYS(CLI_OPERAND(product, a, FIELD, "mn", .trans = offsetof(product, trans)),
                         CLI_OPERAND(product, x, FIELD, "n"),
                         CLI_OPERAND(product, y0, FIELD, "m", .factor = offsetof(product, beta)),
                         CLI_CREATED(product, y, "m")),
    .result = offsetof(product, y),
    .initial = offsetof(product, y0),
    .sizes = {"m", "n"},
    .unit = CLI_GFLOPS,
    .work = work,
    .measure = "||y - y_ref||_2 <= 3 eps (sqrt(n + 2) |alpha| ||A||_F ||x||_2 + 2 |beta| ||y0||_2)",
    .error = cli_job_distance,
    .bound = bound,
};
