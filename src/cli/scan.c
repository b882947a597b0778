/* davit scan: prefix sums, products, minima and maxima, of one sequence or of segments. */
#include <davit/scan.h>
#include <inttypes.h>
#include <math.h>

#include "ref/ref.h"
#include "src/cli/formats/compare.h"
#include "src/cli/formats/operand.h"
#include "src/cli/frame/job.h"

typedef struct prefix {
  cli_job job;
  cli_array x, flags, y; /* without --flags, `flags` is empty */
  cli_array reference;   /* y of --check */
  davit_operator op;
  davit_scan_kind kind;
} prefix;

/* ---- operands ---- */

typedef struct arguments {
  const char *path, *op, *flags, *output;
  bool exclusive;
} arguments;

static int load(prefix *p, const arguments *given) {
  const cli_memory memory = p->job.memory;
  p->kind = given->exclusive ? DAVIT_SCAN_EXCLUSIVE : DAVIT_SCAN_INCLUSIVE;
  int code = cli_read_number_vector(given->path, memory, &p->x);
  if (code == CLI_OK && given->flags)
    code = cli_read_flags(given->flags, memory, given->path, &p->x, &p->flags);
  return code == CLI_OK ? cli_array_create(p->x.type, 1, p->x.shape[0], 1, memory, &p->y) : code;
}

/* ---- work ---- */

static davit_status scan(const prefix *p, void *y, bool reference) {
  const int64_t n = p->x.shape[0];
  const davit_type type = cli_number_type(p->x.type);
  const cli_device_set *devices = &p->job.devices;
  if (reference) {
    dvt_ref_scan(p->op, type, p->kind, n, p->x.data, p->flags.data, y);
    return DAVIT_SUCCESS;
  }
  return p->flags.ndim
             ? davit_segmented_scan(
                   p->op, type, p->kind, n, p->x.data, p->flags.data, y,
                   &(davit_scan_options){.devices = devices->ids, .device_count = devices->count})
             : davit_scan(p->op, type, p->kind, n, p->x.data, y,
                          &(davit_scan_options){.devices = devices->ids, .device_count = devices->count});
}

static void prepare(void *state) {
  prefix *p = state;
  cli_restore(&p->y, NULL);
}

static davit_status work(void *state) {
  prefix *p = state;
  return scan(p, p->y.data, p->job.devices.reference);
}

/* ---- check ---- */

/* Whole numbers, minima and maxima are what they are, in any order. */
static int check_exact(prefix *p, cli_check *check) {
  const int code = cli_array_create(p->x.type, 1, p->x.shape[0], 1, CLI_MEMORY_PLAIN, &p->reference);
  if (code != CLI_OK)
    return code;
  scan(p, p->reference.data, true);
  *check = (cli_check){.measure = "count of y_i != y_ref_i = 0",
                       .error = (double)cli_differences(&p->y, &p->reference)};
  return CLI_OK;
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
    if (p->kind == DAVIT_SCAN_INCLUSIVE)
      cli_running_add(&running, cli_number(&p->x, i));
    const double error = cli_running_error(&running, p->x.type, cli_number(&p->y, i));
    const double bound = cli_running_bound(&running, p->x.type, 0.5 * (double)running.terms);
    if (error > 0)
      worst = fmax(worst, error / bound);
    if (isnan(error))
      return error;
    if (p->kind == DAVIT_SCAN_EXCLUSIVE)
      cli_running_add(&running, cli_number(&p->x, i));
  }
  return worst;
}

static int check(void *state, cli_check *check) {
  prefix *p = state;
  if (!cli_is_floating(p->x.type) || p->op == DAVIT_MIN || p->op == DAVIT_MAX)
    return check_exact(p, check);
  *check = (cli_check){
      .measure = p->op == DAVIT_SUM ? "max_i |y_i - y_ref_i| / (k eps sum |x_j|) <= 1 over the k terms of y_i"
                                    : "max_i |y_i - y_ref_i| / (k eps |y_ref_i|) <= 1 of the k terms of y_i",
      .error = worst_error(p),
      .bound = 1};
  return CLI_OK;
}

/* ---- report ---- */

static double gbytes_per_s(const prefix *p) {
  return 1e-9 * (double)(p->x.bytes + p->flags.bytes + p->y.bytes) / p->job.seconds;
}

static void print_text(FILE *file, const void *state) {
  const prefix *p = state;
  fprintf(file, "%s %s of %" PRId64 " %s%s\n%.6g s, %.6g GB/s\n",
          p->kind == DAVIT_SCAN_INCLUSIVE ? "inclusive" : "exclusive", davit_operator_string(p->op),
          p->x.shape[0], cli_type_name(p->x.type), p->flags.ndim ? " in segments" : "", p->job.seconds,
          gbytes_per_s(p));
}

static void print_json(cli_json *json, const void *state) {
  const prefix *p = state;
  cli_json_string(json, "op", davit_operator_string(p->op));
  cli_json_bool(json, "exclusive", p->kind == DAVIT_SCAN_EXCLUSIVE);
  cli_json_integer(json, "n", p->x.shape[0]);
  cli_json_real(json, "gbytes_per_s", gbytes_per_s(p));
}

/* ---- command ---- */

static int compute(prefix *p, const cli_command *self, const arguments *given) {
  static const cli_job_steps steps = {prepare, work, check, {print_text, print_json}};
  int code = cli_job_open(&p->job, self, given->output);
  if (code == CLI_OK)
    code = load(p, given);
  return code == CLI_OK ? cli_job_run(&p->job, &steps, &p->y, p) : code;
}

static int run(const cli_command *self, int argc, char **argv) {
  prefix p = {0};
  arguments given = {0};
  const cli_option options[] = {{"o", CLI_OPTION_TEXT, &given.output},
                                {"op", CLI_OPTION_TEXT, &given.op},
                                {"exclusive", CLI_OPTION_FLAG, &given.exclusive},
                                {"flags", CLI_OPTION_TEXT, &given.flags},
                                {0}};
  int code = cli_options_parse(self, options, argc, argv, &p.job.common, &given.path, 1);
  if (code == CLI_OK)
    code = cli_operator(given.op, &p.op);
  if (code == CLI_OK)
    code = compute(&p, self, &given);
  cli_job_close(&p.job);
  cli_array *const arrays[] = {&p.x, &p.flags, &p.y, &p.reference};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
    cli_array_free(arrays[i]);
  return code;
}

const cli_command cli_command_scan = {
    .name = "scan",
    .summary = "prefix sums, products, minima or maxima",
    .usage =
        "davit scan X [-o Y] [options]\n\n"
        "y_i = x_0 op ... op x_i. X is a vector of float64, float32, int64 or int32. Integers wrap "
        "around.\n\n"
        "  -o Y             write the result (.npy, or .mtx when the name ends so)\n"
        "  --op OP          sum (default), prod, min or max\n"
        "  --exclusive      y_i = x_0 op ... op x_{i-1}; y_0 is the operator's identity\n"
        "  --flags F        segments: a uint8 or bool vector of X's length, not 0 where a segment begins\n",
    .common = CLI_COMMON_NUMERIC,
    .run = run,
};
