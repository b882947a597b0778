/* SPDX-License-Identifier: Apache-2.0 */
/* davit scan: prefix sums, products, minima and maxima, of one sequence or of segments. */
#include <davit/scan.h>
#include <math.h>

#include "ref/ref.h"
#include "src/cli/formats/compare.h"
#include "src/cli/formats/operand.h"
#include "src/cli/frame/job.h"
#include "src/cli/operator.h"

typedef struct prefix {
  cli_job job;
  const char *path, *flags_path;
  cli_output output;
  davit_operator op;
  bool exclusive;
  cli_array x, flags, y; /* without --flags, `flags` is empty */
} prefix;

static int load(void *state) {
  prefix *p = state;
  const cli_memory memory = p->job.memory;
  int code = cli_read_number_vector(p->path, &p->job.common.raw, memory, &p->x);
  if (code == CLI_OK && p->flags_path)
    code = cli_read_flags(p->flags_path, memory, p->path, &p->x, &p->flags);
  if (code == CLI_OK)
    code = cli_array_create(p->x.type, 1, p->x.shape[0], 1, memory, &p->y);
  p->job.rate = (cli_rate){CLI_GBYTES, (double)(p->x.bytes + p->flags.bytes + p->y.bytes)};
  return code;
}

static davit_status work(void *state, cli_array *y, bool reference) {
  const prefix *p = state;
  const int64_t n = p->x.shape[0];
  const davit_type type = cli_number_type(p->x.type);
  const davit_scan_kind kind = p->exclusive ? DAVIT_SCAN_EXCLUSIVE : DAVIT_SCAN_INCLUSIVE;
  const davit_scan_options options = {CLI_DEVICES(p)};
  if (reference) {
    dvt_ref_scan(p->op, type, kind, n, p->x.data, p->flags.data, y->data);
    return DAVIT_SUCCESS;
  }
  return p->flags.ndim
             ? davit_segmented_scan(p->op, type, kind, n, p->x.data, p->flags.data, y->data, &options)
             : davit_scan(p->op, type, kind, n, p->x.data, y->data, &options);
}

/* The largest error of an element, relative to its bound. A term of a sum of k goes through k additions at
 * most, in whatever order they are done. */
static double worst_error(const prefix *p) {
  const uint8_t *flags = p->flags.data;
  cli_running running = cli_running_start(p->op);
  double worst = 0;
  for (int64_t i = 0; i < p->x.shape[0]; i++) {
    if (flags && flags[i])
      running = cli_running_start(p->op);
    if (!p->exclusive)
      cli_running_add(&running, cli_number(&p->x, i));
    const double error = cli_running_error(&running, p->x.type, cli_number(&p->y, i));
    const double bound = cli_running_bound(&running, p->x.type, 0.5 * (double)running.terms);
    if (error > 0)
      worst = fmax(worst, error / bound);
    if (isnan(error))
      return error;
    if (p->exclusive)
      cli_running_add(&running, cli_number(&p->x, i));
  }
  return worst;
}

/* Whole numbers, minima and maxima have no rounding. */
static int check(void *state, cli_check *check) {
  prefix *p = state;
  if (cli_is_floating(p->x.type) && (p->op == DAVIT_SUM || p->op == DAVIT_PROD)) {
    *check =
        (cli_check){.measure = p->op == DAVIT_SUM
                                   ? "max_i |y_i - y_ref_i| / (k eps sum |x_j|) <= 1 over the k terms of y_i"
                                   : "max_i |y_i - y_ref_i| / (k eps |y_ref_i|) <= 1 of the k terms of y_i",
                    .error = worst_error(p),
                    .bound = 1};
    return CLI_OK;
  }
  const int code = cli_job_reference(&p->job);
  *check = (cli_check){.measure = "count of y_i != y_ref_i = 0",
                       .error = (double)cli_differences(&p->y, &p->job.reference)};
  return code;
}

static void report(cli_json *json, const void *state) {
  const prefix *p = state;
  cli_json_string(json, "op", davit_operator_string(p->op));
  cli_json_bool(json, "exclusive", p->exclusive);
  cli_json_integer(json, "n", p->x.shape[0]);
}

const cli_command cli_command_scan = {
    .name = "scan",
    .summary = "prefix sums, products, minima or maxima",
    .description = "Computes y_i = x_0 op ... op x_i. Integers wrap around.",
    .examples = "davit scan x.npy -o y.npy\n"
                "davit scan x.npy --op max --exclusive --flags flags.npy -o y.npy\n",
    .operands = CLI_PLACES(CLI_PLACE(prefix, path, "X", "a vector of float64, float32, int64 or int32")),
    .options = CLI_OPTIONS(
        CLI_RESULT_OPTION(prefix, "Y"), CLI_OPERATOR_OPTION(prefix),
        CLI_OPTION(FLAG, prefix, exclusive, "--exclusive", NULL,
                   .help = "y_i = x_0 op ... op x_{i-1}; y_0 is the operator's identity"),
        CLI_OPTION(TEXT, prefix, flags_path, "--flags", "F",
                   .help = "segments: a uint8 or bool vector of X's length, not 0 where a segment begins")),
    .common = CLI_COMMON_RAW | CLI_COMMON_COMPUTE | CLI_COMMON_FORCE,
    .state = sizeof(prefix),
    CLI_ARRAYS(prefix, x, y),
    .result = offsetof(prefix, y),
    .read = load,
    .work = work,
    .check = check,
    .report = report,
};
