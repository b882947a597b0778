/* davit dot: the sum of x_i y_i. */
#include <davit/dot.h>
#include <inttypes.h>
#include <math.h>

#include "ref/ref.h"
#include "src/cli/formats/compare.h"
#include "src/cli/formats/operand.h"
#include "src/cli/frame/job.h"

typedef struct product {
  cli_job job;
  cli_array x, y;
  double result;
} product;

static int load(product *p, const char *const paths[2]) {
  int code = cli_read_vector(paths[0], p->job.memory, NULL, &p->x);
  if (code == CLI_OK)
    code = cli_read_vector(paths[1], p->job.memory, &p->x, &p->y);
  return code == CLI_OK && p->y.shape[0] != p->x.shape[0]
             ? cli_shape_fail(paths[1], &p->y, "a vector of %" PRId64, p->x.shape[0])
             : code;
}

/* ---- work ---- */

#define DEFINE_MULTIPLY(p, T)                                                                                \
  static davit_status multiply_##p(const product *q, double *result, bool reference) {                       \
    T sum = 0;                                                                                               \
    davit_status status = DAVIT_SUCCESS;                                                                     \
    if (reference)                                                                                           \
      sum = dvt_ref_##p##dot(q->x.shape[0], q->x.data, 1, q->y.data, 1);                                     \
    else                                                                                                     \
      status = davit_##p##dot(                                                                               \
          q->x.shape[0], q->x.data, 1, q->y.data, 1, &sum,                                                   \
          &(davit_dot_options){.devices = q->job.devices.ids, .device_count = q->job.devices.count});        \
    *result = (double)sum;                                                                                   \
    return status;                                                                                           \
  }
CLI_FOR_PRECISIONS(DEFINE_MULTIPLY)
#undef DEFINE_MULTIPLY

static void prepare(void *state) {
  product *p = state;
  p->result = 0;
}

static davit_status work(void *state) {
  product *p = state;
  return (p->x.type == CLI_F8 ? multiply_d : multiply_s)(p, &p->result, p->job.devices.reference);
}

/* The bound of gemm for a result of one element. */
static int check(void *state, cli_check *check) {
  product *p = state;
  double reference;
  (p->x.type == CLI_F8 ? multiply_d : multiply_s)(p, &reference, true);
  const double norms = cli_norm(&p->x, CLI_NONFINITE_FAILS) * cli_norm(&p->y, CLI_NONFINITE_FAILS);
  *check = (cli_check){.measure = "|r - r_ref| <= 3 eps sqrt(n + 2) ||x||_2 ||y||_2",
                       .error = fabs(p->result - reference),
                       .bound = 3 * cli_epsilon(p->x.type) * sqrt((double)p->x.shape[0] + 2) * norms};
  return CLI_OK;
}

/* ---- report ---- */

static double gflops(const product *p) {
  return 2e-9 * (double)p->x.shape[0] / p->job.seconds;
}

static void print_text(FILE *file, const void *state) {
  const product *p = state;
  fprintf(file, "n %" PRId64 ", %s\nresult %.*g\n%.6g s, %.6g GFLOP/s\n", p->x.shape[0],
          cli_type_name(p->x.type), p->x.type == CLI_F8 ? 17 : 9, p->result, p->job.seconds, gflops(p));
}

static void print_json(cli_json *json, const void *state) {
  const product *p = state;
  cli_json_real(json, "gflops", gflops(p));
  cli_json_integer(json, "n", p->x.shape[0]);
  cli_json_real(json, "result", p->result);
}

/* ---- command ---- */

static int compute(product *p, const cli_command *self, const char *const paths[2]) {
  static const cli_job_steps steps = {prepare, work, check, {print_text, print_json}};
  int code = cli_job_open(&p->job, self, NULL);
  if (code == CLI_OK)
    code = load(p, paths);
  return code == CLI_OK ? cli_job_run(&p->job, &steps, NULL, p) : code;
}

static int run(const cli_command *self, int argc, char **argv) {
  product p = {0};
  const char *paths[2];
  const cli_option options[] = {{0}};
  int code = cli_options_parse(self, options, argc, argv, &p.job.common, paths, 2);
  if (code == CLI_OK)
    code = compute(&p, self, paths);
  cli_job_close(&p.job);
  cli_array_free(&p.x);
  cli_array_free(&p.y);
  return code;
}

const cli_command cli_command_dot = {
    .name = "dot",
    .summary = "dot product of two vectors",
    .usage = "davit dot X Y [options]\n\n"
             "The sum of x_i y_i. X and Y are float64 or float32 vectors of one length and type.\n\n",
    .common = CLI_COMMON_NUMERIC,
    .run = run,
};
