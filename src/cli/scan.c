/* SPDX-License-Identifier: Apache-2.0 */
/* davit scan: prefix sums, products, minima and maxima, of one sequence or of segments. */
#include <davit/scan.h>
#include <math.h>
#include <string.h>

#include "ref/ref.h"
#include "src/cli/formats/array_file.h"
#include "src/cli/formats/compare.h"
#include "src/cli/formats/operand.h"
#include "src/cli/frame/job.h"
#include "src/cli/operator.h"
#include "src/cli/ranks.h"

typedef struct prefix {
  cli_job job;
  const char *path, *flags_path;
  cli_output output;
  davit_operator op;
  bool exclusive;
  bool divided;          /* among ranks */
  int64_t n;             /* of all ranks */
  cli_array x, flags, y; /* without --flags, `flags` is empty */
} prefix;

/* Sums and products of floats are left to rank 0: their rounding depends on how the vector is divided. */
static int choose_part(const prefix *p, cli_part *part) {
  cli_array x;
  bool known = false;
  const int code = cli_array_peek(p->path, &p->job.common.reading, &x, &known);
  const bool exact = known && (!cli_is_floating(x.type) || p->op == DAVIT_MIN || p->op == DAVIT_MAX);
  *part = (cli_part){.index = cli_ranks_rank(), .count = exact ? cli_ranks_count() : 1};
  return code;
}

static int load_part(prefix *p, cli_part *part) {
  const cli_memory memory = p->job.memory;
  const cli_reading other = cli_reading_of_other(&p->job.common.reading);
  int code = cli_read_number_vector(CLI_REAL_NUMBERS, p->path, &p->job.common.reading, memory, part, &p->x);
  p->n = part->whole;
  cli_part_note(part);
  if (code == CLI_OK && p->flags_path)
    code = cli_read_flags(p->flags_path, &other, memory, p->path, p->n, part, &p->flags);
  const double bytes = (double)(2 * cli_type_bytes(p->x.type) + (p->flags_path ? 1 : 0));
  p->job.rate = (cli_rate){CLI_GBYTES, bytes * (double)p->n};
  return code;
}

static int load(void *state) {
  prefix *p = state;
  cli_part part = {.count = 1};
  int code = cli_ranks_several() ? choose_part(p, &part) : CLI_OK;
  p->divided = part.count > 1;
  cli_ranks_note(p->divided);
  if (p->divided)
    cli_job_on_host(&p->job);
  if (code == CLI_OK)
    code = load_part(p, &part);
  return code == CLI_OK ? cli_array_create(p->x.type, 1, p->x.shape[0], 1, p->job.memory, &p->y) : code;
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
  if (p->divided)
    return cli_ranks_scan(p->op, type, kind, n, p->x.data, p->flags.data, y->data);
  return p->flags.ndim
             ? davit_segmented_scan(p->op, type, kind, n, p->x.data, p->flags.data, y->data, &options)
             : davit_scan(p->op, type, kind, n, p->x.data, y->data, &options);
}

/* ---- several ranks ---- */

static void collect(const prefix *p, cli_array *y) {
  const size_t bytes = cli_type_bytes(y->type);
  const int ranks = cli_ranks_count();
  if (p->y.bytes)
    memcpy(y->data, p->y.data, p->y.bytes);
  for (int rank = 1; rank < ranks; rank++) {
    const int64_t begin = cli_part_begin(p->n, 0, rank, ranks),
                  end = cli_part_begin(p->n, 0, rank + 1, ranks);
    cli_ranks_receive(rank, (size_t)(end - begin) * bytes, (char *)y->data + (size_t)begin * bytes);
  }
}

/* The operands of the check are whole. */
static int load_again(prefix *p) {
  cli_part whole = {.count = 1};
  cli_array_free(&p->x);
  cli_array_free(&p->flags);
  p->divided = false;
  return load_part(p, &whole);
}

static int gather(void *state) {
  prefix *p = state;
  cli_array y = {0};
  if (!p->divided)
    return CLI_OK;
  const bool lead = cli_ranks_lead();
  const int code =
      cli_ranks_agree(lead ? cli_array_create(p->y.type, 1, p->n, 1, CLI_MEMORY_PLAIN, &y) : CLI_OK);
  if (code == CLI_OK && lead)
    collect(p, &y);
  else if (code == CLI_OK)
    cli_ranks_send(p->y.bytes, p->y.data);
  if (code != CLI_OK || !lead) {
    cli_array_free(&y);
    return code;
  }
  cli_array_free(&p->y);
  p->y = y;
  return p->job.common.check ? load_again(p) : CLI_OK;
}

/* ---- the check ---- */

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
  cli_json_integer(json, "n", p->n);
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
    .common = CLI_COMMON_RAW | CLI_COMMON_TABLE | CLI_COMMON_COMPUTE | CLI_COMMON_FORCE,
    .small_bytes = 4 << 20,
    .state = sizeof(prefix),
    CLI_ARRAYS(prefix, x, y),
    .result = offsetof(prefix, y),
    .read = load,
    .work = work,
    .divides = cli_divides_on_devices,
    .gather = gather,
    .check = check,
    .report = report,
};
