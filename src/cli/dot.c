/* SPDX-License-Identifier: Apache-2.0 */
/* davit dot: the sum of x_i y_i. */
#include <davit/dot.h>
#include <math.h>

#include "ref/blas.h"
#include "src/cli/formats/compare.h"
#include "src/cli/formats/operand.h"
#include "src/cli/frame/job.h"

typedef struct product {
  cli_job job;
  const char *x_path, *y_path;
  cli_array x, y, result; /* `result`: one element */
} product;

static int load(void *state) {
  product *p = state;
  int code = cli_read_vector(p->x_path, p->job.memory, NULL, &p->x);
  if (code == CLI_OK)
    code = cli_read_vector_of(p->x.shape[0], p->y_path, p->job.memory, &p->x, &p->y);
  if (code == CLI_OK)
    code = cli_array_create(p->x.type, 0, 1, 1, CLI_MEMORY_PLAIN, &p->result);
  p->job.rate = (cli_rate){CLI_GFLOPS, 2 * (double)p->x.shape[0]};
  return code;
}

#define DEFINE_MULTIPLY(p, T)                                                                                \
  static davit_status multiply_##p(const product *q, T *result, bool reference) {                            \
    const int64_t n = q->x.shape[0];                                                                         \
    if (!reference)                                                                                          \
      return davit_##p##dot(n, q->x.data, 1, q->y.data, 1, result, &(davit_dot_options){CLI_DEVICES(q)});    \
    return dvt_dot_host(                                                                                     \
        NULL, &(dvt_dot){cli_number_type(q->x.type), n, q->x.data, 1, q->y.data, 1, result, false, false});  \
  }
CLI_FOR_PRECISIONS(DEFINE_MULTIPLY)
#undef DEFINE_MULTIPLY

static davit_status work(void *state, cli_array *result, bool reference) {
  const product *p = state;
  return p->x.type == CLI_F8 ? multiply_d(p, result->data, reference)
                             : multiply_s(p, result->data, reference);
}

/* The bound of gemm for a result of one element. */
static int check(void *state, cli_check *check) {
  product *p = state;
  const int code = cli_job_reference(&p->job);
  if (code != CLI_OK)
    return code;
  const double norms = cli_norm(&p->x, CLI_NONFINITE_FAILS) * cli_norm(&p->y, CLI_NONFINITE_FAILS);
  *check = (cli_check){.measure = "|r - r_ref| <= 3 eps sqrt(n + 2) ||x||_2 ||y||_2",
                       .error = cli_distance(&p->result, &p->job.reference, CLI_NONFINITE_FAILS),
                       .bound = 3 * cli_epsilon(p->x.type) * sqrt((double)p->x.shape[0] + 2) * norms};
  return CLI_OK;
}

static void report(cli_json *json, const void *state) {
  const product *p = state;
  cli_json_integer(json, "n", p->x.shape[0]);
}

const cli_command cli_command_dot = {
    .name = "dot",
    .summary = "dot product of two vectors",
    .description = "Prints the sum of x_i y_i.",
    .examples = "davit dot x.npy y.npy\n",
    .operands = CLI_PLACES(CLI_PLACE(product, x_path, "X", "a float64 or float32 vector"),
                           CLI_PLACE(product, y_path, "Y", "a vector of the same length and type")),
    .common = CLI_COMMON_COMPUTE,
    .state = sizeof(product),
    CLI_ARRAYS(product, x, result),
    .result = offsetof(product, result),
    .read = load,
    .work = work,
    .check = check,
    .report = report,
};
