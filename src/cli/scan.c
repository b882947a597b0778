/* SPDX-License-Identifier: Apache-2.0 */
/* davit scan: prefix sums, products, minima and maxima, of one sequence or of segments. */
#include <davit/scan.h>
#include <math.h>

#include "ref/ref.h"
#include "src/cli/formats/array_file.h"
#include "src/cli/formats/compare.h"
#include "src/cli/frame/job.h"
#include "src/cli/ranks.h"

typedef struct prefix {
  cli_job job;
  const char *x_path, *flags_path;
  davit_operator op;
  bool exclusive;
  cli_array x, flags, y; /* without --flags, `flags` is empty */
} prefix;

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
  if (p->job.sizes->count > 1)
    return cli_ranks->scan(p->op, type, kind, n, p->x.data, p->flags.data, y->data);
  return p->flags.ndim
             ? davit_segmented_scan(p->op, type, kind, n, p->x.data, p->flags.data, y->data, &options)
             : davit_scan(p->op, type, kind, n, p->x.data, y->data, &options);
}

static bool is_exact(const prefix *p, cli_type type) {
  return !cli_is_floating(type) || p->op == DAVIT_MIN || p->op == DAVIT_MAX;
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
  if (is_exact(p, p->x.type))
    return cli_job_compare(&p->job, check);
  *check = (cli_check){
      .measure = p->op == DAVIT_SUM ? "max_i |y_i - y_ref_i| / (k eps sum |x_j|) <= 1 over the k terms of y_i"
                                    : "max_i |y_i - y_ref_i| / (k eps |y_ref_i|) <= 1 of the k terms of y_i",
      .error = worst_error(p),
      .bound = 1};
  return CLI_OK;
}

static void report(cli_json *json, const void *state) {
  const prefix *p = state;
  cli_json_string(json, "op", davit_operator_string(p->op));
  cli_json_bool(json, "exclusive", p->exclusive);
  cli_job_report_sizes(json, &p->job);
}

static const cli_choice operators[] = {{"sum", DAVIT_SUM, NULL},
                                       {"prod", DAVIT_PROD, NULL},
                                       {"min", DAVIT_MIN, NULL},
                                       {"max", DAVIT_MAX, NULL},
                                       {0}};

const cli_command cli_command_scan = {
    .name = "scan",
    .summary = "prefix sums, products, minima or maxima",
    .description = "Computes y_i = x_0 op ... op x_i. Integers wrap around.",
    .examples = "davit scan x.npy -o y.npy\n"
                "davit scan x.npy --op max --exclusive --flags flags.npy -o y.npy\n",
    .operands = CLI_PLACES(CLI_PLACE(prefix, x_path, "X", "a vector of float64, float32, int64 or int32")),
    .options = CLI_OPTIONS(
        CLI_RESULT_OPTION("Y"),
        CLI_OPTION(CHOICE, prefix, op, "--op", "OP", .choices = operators, .value = "sum",
                   .help = "the operator"),
        CLI_OPTION(FLAG, prefix, exclusive, "--exclusive", NULL,
                   .help = "y_i = x_0 op ... op x_{i-1}; y_0 is the operator's identity"),
        CLI_OPTION(TEXT, prefix, flags_path, "--flags", "F",
                   .help = "a uint8 or bool vector as long as X; a new segment begins where it is not 0")),
    .common = CLI_COMMON_RAW | CLI_COMMON_ARRAYS,
    .small_bytes = 4 << 20,
    .state = sizeof(prefix),
    .arrays = CLI_ARRAYS(CLI_OPERAND(prefix, x, REAL, "n"), CLI_OPERAND(prefix, flags, HEADS, "n"),
                         CLI_CREATED(prefix, y, "n")),
    .result = offsetof(prefix, y),
    .sizes = {"n"},
    .unit = CLI_GBYTES,
    .cut = "n",
    .ranks_on_host = true,
    .work = work,
    .divides = cli_divides_on_devices,
    .measure = "count of y_i != y_ref_i = 0",
    .check = check,
    .report = report,
};
