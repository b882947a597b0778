/* SPDX-License-Identifier: Apache-2.0 */
/* davit reduce: the sum, product, minimum or maximum of all elements. */
#include <davit/reduce.h>
#include <math.h>

#include "ref/ref.h"
#include "src/cli/formats/compare.h"
#include "src/cli/formats/operand.h"
#include "src/cli/frame/job.h"
#include "src/cli/operator.h"

typedef struct reduction {
  cli_job job;
  const char *path;
  davit_operator op;
  bool ordered;        /* changes nothing: the library has one order */
  cli_array x, result; /* `result`: one element */
} reduction;

static int load(void *state) {
  reduction *r = state;
  const int code = cli_read_numbers(r->path, r->job.memory, &r->x);
  r->job.rate = (cli_rate){CLI_GBYTES, (double)r->x.bytes};
  return code == CLI_OK ? cli_array_create(r->x.type, 0, 1, 1, CLI_MEMORY_PLAIN, &r->result) : code;
}

static davit_status work(void *state, cli_array *result, bool reference) {
  const reduction *r = state;
  const int64_t n = cli_array_count(&r->x);
  const davit_type type = cli_number_type(r->x.type);
  if (!reference)
    return davit_reduce(r->op, type, n, r->x.data, result->data, &(davit_reduce_options){CLI_DEVICES(r)});
  dvt_ref_reduce(r->op, type, n, r->x.data, result->data);
  return DAVIT_SUCCESS;
}

/* Whole numbers, minima and maxima have no rounding. */
static int check_exact(reduction *r, cli_check *check) {
  const int code = cli_job_reference(&r->job);
  const cli_array *reference = &r->job.reference;
  if (code != CLI_OK)
    return code;
  const double error = (double)fabsl(cli_number(&r->result, 0) - cli_number(reference, 0));
  *check =
      (cli_check){.measure = "|r - r_ref| = 0", .error = cli_differences(&r->result, reference) ? error : 0};
  return CLI_OK;
}

/* The library adds in a tree, the reference from left to right. */
static int check(void *state, cli_check *check) {
  reduction *r = state;
  if (!cli_is_floating(r->x.type) || r->op == DAVIT_MIN || r->op == DAVIT_MAX)
    return check_exact(r, check);
  const int64_t n = cli_array_count(&r->x);
  cli_running running = cli_running_start(r->op);
  for (int64_t i = 0; i < n; i++)
    cli_running_add(&running, cli_number(&r->x, i));
  const bool tree = !r->job.devices.reference;
  const double depth = tree ? 8 + log2((double)n + 1) : 0.5 * (double)n;
  *check = (cli_check){.measure = r->op == DAVIT_PROD ? "|r - r_ref| <= n eps |r_ref|"
                                  : tree              ? "|r - r_ref| <= 2 eps (8 + log2(n + 1)) sum |x_i|"
                                                      : "|r - r_ref| <= n eps sum |x_i|",
                       .error = cli_running_error(&running, r->x.type, cli_number(&r->result, 0)),
                       .bound = cli_running_bound(&running, r->x.type, depth)};
  return CLI_OK;
}

static void report(cli_json *json, const void *state) {
  const reduction *r = state;
  cli_json_string(json, "op", davit_operator_string(r->op));
  cli_json_integer(json, "n", cli_array_count(&r->x));
}

const cli_command cli_command_reduce = {
    .name = "reduce",
    .summary = "sum, product, minimum or maximum of all elements",
    .description = "Prints one value from all elements of X. Integers wrap around; the minimum or maximum of "
                   "floats is NaN as soon as one of them is. No elements give 0, 1, and for min and max the "
                   "maximum and minimum number of the type (infinities of floats).",
    .examples = "davit reduce x.npy\n"
                "davit reduce A.npy --op max\n",
    .operands = CLI_PLACES(CLI_PLACE(reduction, path, "X", "an array of float64, float32, int64 or int32")),
    .options = CLI_OPTIONS(
        CLI_OPERATOR_OPTION(reduction),
        CLI_OPTION(
            FLAG, reduction, ordered, "--ordered", NULL,
            .help = "the same bits on all devices and from run to run; that is always so, with and without "
                    "this option (--devices cpu, a loop from left to right, may round differently)")),
    .common = CLI_COMMON_COMPUTE,
    .state = sizeof(reduction),
    CLI_ARRAYS(reduction, x, result),
    .result = offsetof(reduction, result),
    .read = load,
    .work = work,
    .check = check,
    .report = report,
};
