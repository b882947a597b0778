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
  bool conjugate;
  cli_array x, y, result; /* `result`: one element */
} product;

static int load(void *state) {
  product *p = state;
  int code =
      cli_read_vector(CLI_COMPLEX_NUMBERS, p->x_path, &p->job.common.reading, p->job.memory, NULL, &p->x);
  if (code == CLI_OK)
    code = cli_read_vector_of(CLI_COMPLEX_NUMBERS, p->x.shape[0], p->y_path, &p->job.common.reading,
                              p->job.memory, &p->x, &p->y);
  if (code == CLI_OK)
    code = cli_array_create(p->x.type, 0, 1, 1, CLI_MEMORY_PLAIN, &p->result);
  p->job.rate = (cli_rate){CLI_GFLOPS, cli_flops(p->x.type) * (double)p->x.shape[0]};
  return code;
}

/* Of real numbers there is one product. */
static davit_status dot_d(const product *q, double *r, const davit_dot_options *options) {
  return davit_ddot(q->x.shape[0], q->x.data, 1, q->y.data, 1, r, options);
}

static davit_status dot_s(const product *q, float *r, const davit_dot_options *options) {
  return davit_sdot(q->x.shape[0], q->x.data, 1, q->y.data, 1, r, options);
}

static davit_status dot_z(const product *q, double _Complex *r, const davit_dot_options *options) {
  return (q->conjugate ? davit_zdotc : davit_zdotu)(q->x.shape[0], q->x.data, 1, q->y.data, 1, r, options);
}

static davit_status dot_c(const product *q, float _Complex *r, const davit_dot_options *options) {
  return (q->conjugate ? davit_cdotc : davit_cdotu)(q->x.shape[0], q->x.data, 1, q->y.data, 1, r, options);
}

static davit_status work(void *state, cli_array *result, bool reference) {
  const product *p = state;
  const davit_dot_options options = {CLI_DEVICES(p)};
  if (!reference)
    return CLI_CALL_FIELD(p->x.type, dot, p, result->data, &options);
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
static int check(void *state, cli_check *check) {
  product *p = state;
  const int code = cli_job_reference(&p->job);
  if (code != CLI_OK)
    return code;
  const double norms = cli_norm(&p->x, CLI_NONFINITE_FAILS) * cli_norm(&p->y, CLI_NONFINITE_FAILS);
  *check = (cli_check){.measure = "|r - r_ref| <= 3 eps sqrt(n + 2) ||x||_2 ||y||_2",
                       .error = cli_distance(&p->result, &p->job.reference, CLI_NONFINITE_FAILS),
                       .bound = 3 * cli_rounding(p->x.type) * sqrt((double)p->x.shape[0] + 2) * norms};
  return CLI_OK;
}

static void report(cli_json *json, const void *state) {
  const product *p = state;
  cli_json_integer(json, "n", p->x.shape[0]);
}

const cli_command cli_command_dot = {
    .name = "dot",
    .summary = "dot product of two vectors",
    .description = "Prints the sum of x_i y_i. Of complex vectors that is without conjugation, unless "
                   "--conjugate says so.",
    .examples = "davit dot x.npy y.npy\n",
    .operands =
        CLI_PLACES(CLI_PLACE(product, x_path, "X", "a float64, float32, complex128 or complex64 vector"),
                   CLI_PLACE(product, y_path, "Y", "a vector of the same length and type")),
    .options = CLI_OPTIONS(CLI_OPTION(FLAG, product, conjugate, "--conjugate", NULL,
                                      .help = "of complex vectors the sum of conj(x_i) y_i")),
    .common = CLI_COMMON_TABLE | CLI_COMMON_COMPUTE,
    .small_bytes = 4 << 20,
    .state = sizeof(product),
    CLI_ARRAYS(product, x, result),
    .result = offsetof(product, result),
    .read = load,
    .work = work,
    .check = check,
    .report = report,
};
