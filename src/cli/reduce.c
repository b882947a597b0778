/* davit reduce: the sum, product, least or greatest of all elements. */
#include <davit/reduce.h>
#include <inttypes.h>
#include <math.h>

#include "ref/ref.h"
#include "src/cli/formats/compare.h"
#include "src/cli/formats/operand.h"
#include "src/cli/frame/job.h"

typedef struct reduction {
  cli_job job;
  cli_array x;
  cli_array result;    /* one element */
  cli_array reference; /* that of --check */
  davit_operator op;
} reduction;

/* ---- work ---- */

static davit_status reduce(const reduction *r, void *result, bool reference) {
  const int64_t n = cli_array_count(&r->x);
  const davit_type type = cli_number_type(r->x.type);
  if (!reference)
    return davit_reduce(
        r->op, type, n, r->x.data, result,
        &(davit_reduce_options){.devices = r->job.devices.ids, .device_count = r->job.devices.count});
  dvt_ref_reduce(r->op, type, n, r->x.data, result);
  return DAVIT_SUCCESS;
}

static void prepare(void *state) {
  reduction *r = state;
  cli_restore(&r->result, NULL);
}

static davit_status work(void *state) {
  reduction *r = state;
  return reduce(r, r->result.data, r->job.devices.reference);
}

/* ---- check ---- */

/* Whole numbers, the least and the greatest are what they are, in any order. */
static int check_exact(reduction *r, cli_check *check) {
  const int code = cli_array_create(r->x.type, 0, 1, 1, CLI_MEMORY_PLAIN, &r->reference);
  if (code != CLI_OK)
    return code;
  reduce(r, r->reference.data, true);
  const double error = (double)fabsl(cli_number(&r->result, 0) - cli_number(&r->reference, 0));
  *check = (cli_check){.measure = "|r - r_ref| = 0",
                       .error = cli_differences(&r->result, &r->reference) ? error : 0};
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

/* ---- report ---- */

static double gbytes_per_s(const reduction *r) {
  return 1e-9 * (double)r->x.bytes / r->job.seconds;
}

static void print_text(FILE *file, const void *state) {
  const reduction *r = state;
  fprintf(file, "%s of %" PRId64 " %s\nresult ", davit_operator_string(r->op), cli_array_count(&r->x),
          cli_type_name(r->x.type));
  if (cli_is_floating(r->x.type))
    fprintf(file, "%.*Lg\n", r->x.type == CLI_F8 ? 17 : 9, cli_number(&r->result, 0));
  else
    fprintf(file, "%" PRId64 "\n", cli_integer(&r->result, 0));
  fprintf(file, "%.6g s, %.6g GB/s\n", r->job.seconds, gbytes_per_s(r));
}

static void print_json(cli_json *json, const void *state) {
  const reduction *r = state;
  cli_json_string(json, "op", davit_operator_string(r->op));
  cli_json_integer(json, "n", cli_array_count(&r->x));
  if (cli_is_floating(r->x.type))
    cli_json_real(json, "result", (double)cli_number(&r->result, 0));
  else
    cli_json_integer(json, "result", cli_integer(&r->result, 0));
  cli_json_real(json, "gbytes_per_s", gbytes_per_s(r));
}

/* ---- command ---- */

static int compute(reduction *r, const cli_command *self, const char *path) {
  static const cli_job_steps steps = {prepare, work, check, {print_text, print_json}};
  int code = cli_job_open(&r->job, self, NULL);
  if (code == CLI_OK)
    code = cli_read_numbers(path, r->job.memory, &r->x);
  if (code == CLI_OK)
    code = cli_array_create(r->x.type, 0, 1, 1, CLI_MEMORY_PLAIN, &r->result);
  return code == CLI_OK ? cli_job_run(&r->job, &steps, NULL, r) : code;
}

static int run(const cli_command *self, int argc, char **argv) {
  reduction r = {0};
  const char *path, *op = NULL;
  bool ordered; /* changes nothing: the library has one order */
  const cli_option options[] = {{"op", CLI_OPTION_TEXT, &op}, {"ordered", CLI_OPTION_FLAG, &ordered}, {0}};
  int code = cli_options_parse(self, options, argc, argv, &r.job.common, &path, 1);
  if (code == CLI_OK)
    code = cli_operator(op, &r.op);
  if (code == CLI_OK)
    code = compute(&r, self, path);
  cli_job_close(&r.job);
  cli_array *const arrays[] = {&r.x, &r.result, &r.reference};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
    cli_array_free(arrays[i]);
  return code;
}

const cli_command cli_command_reduce = {
    .name = "reduce",
    .summary = "sum, product, least or greatest of all elements",
    .usage =
        "davit reduce X [options]\n\n"
        "One value from all elements of X, an array of float64, float32, int64 or int32. Integers wrap\n"
        "around; the least or greatest of floats is NaN as soon as one of them is. No elements give 0,\n"
        "1, and for min and max the greatest and least number of the type (infinities of floats).\n\n"
        "  --op OP          sum (default), prod, min or max\n"
        "  --ordered        the same bits on all devices and from run to run: always so (--devices cpu, a\n"
        "                   loop from left to right, may round differently)\n",
    .common = CLI_COMMON_NUMERIC,
    .run = run,
};
