/* SPDX-License-Identifier: Apache-2.0 */
/* davit dot: the sum of x_i y_i. */
#include <davit/dot.h>

#include "ref/blas.h"
#include "src/cli/formats/compare.h"
#include "src/cli/frame/job.h"

typedef struct product {
  cli_job job;
  const char *x_path, *y_path;
  bool conjugate;
  cli_array x, y, result; /* `result`: one element */
} product;

/* Of real numbers there is one product. */
static davit_status multiply(const product *p, void *result, const davit_dot_options *options) {
  const int64_t n = p->x.shape[0];
  const void *x = p->x.data, *y = p->y.data;
  switch (p->x.type) {
  case CLI_F8:
    return davit_ddot(n, x, 1, y, 1, result, options);
  case CLI_F4:
    return davit_sdot(n, x, 1, y, 1, result, options);
  case CLI_C16:
    return (p->conjugate ? davit_zdotc : davit_zdotu)(n, x, 1, y, 1, result, options);
  default:
    return (p->conjugate ? davit_cdotc : davit_cdotu)(n, x, 1, y, 1, result, options);
  }
}

static davit_status work(void *state, cli_array *result, bool reference) {
  const product *p = state;
  if (!reference)
    return multiply(p, result->data, &(davit_dot_options){CLI_DEVICES(p)});
  return dvt_dot_host(NULL, &(dvt_dot){.type = cli_number_type(p->x.type),
                                       .n = p->x.shape[0],
                                       .x = p->x.data,
                                       .incx = 1,
                                       .y = p->y.data,
                                       .incy = 1,
                                       .result = result->data,
                                       .conjugate = p->conjugate});
}

/* The bound of gemm for a result of one element. */
static double bound(const void *state) {
  const product *p = state;
  return cli_product_bound(p->x.shape[0], 1, &p->x, &p->y, 0, &(cli_array){0});
}

const cli_command cli_command_dot = {
    .name = "dot",
    .summary = "dot product of two vectors",
    .description = "Prints the sum of x_i y_i. Complex vectors are conjugated only with --conjugate.",
    .examples = "davit dot x.npy y.npy\n",
    .operands =
        CLI_PLACES(CLI_PLACE(product, x_path, "X", "a float64, float32, complex128 or complex64 vector"),
                   CLI_PLACE(product, y_path, "Y", "a vector of the same length and type")),
    .options = CLI_OPTIONS(CLI_OPTION(FLAG, product, conjugate, "--conjugate", NULL,
                                      .help = "for complex vectors, print the sum of conj(x_i) y_i")),
    .common = CLI_COMMON_TABLE | CLI_COMMON_COMPUTE,
    .small_bytes = 4 << 20,
    .state = sizeof(product),
    .arrays = CLI_ARRAYS(CLI_OPERAND(product, x, FIELD, "n"), CLI_OPERAND(product, y, FIELD, "n"),
                         CLI_CREATED(product, result, "", .scratch = true)),
    .result = offsetof(product, result),
    .sizes = {"n"},
    .unit = CLI_GFLOPS,
    .work = work,
    .measure = "|r - r_ref| <= 3 eps sqrt(n + 2) ||x||_2 ||y||_2",
    .error = cli_job_distance,
    .bound = bound,
};
