/* davit gemv: y = alpha op(A) x + beta y. */
#include <davit/gemv.h>
#include <inttypes.h>
#include <math.h>

#include "ref/ref.h"
#include "src/cli/formats/compare.h"
#include "src/cli/formats/operand.h"
#include "src/cli/frame/job.h"

typedef struct product {
  cli_job job;
  cli_array a, x, y0, y;
  cli_array reference; /* y of --check */
  cli_operand matrix;
  double alpha, beta;
} product;

/* ---- operands ---- */

typedef struct arguments {
  cli_real alpha, beta;
  const char *paths[2], *y0, *output;
  bool trans;
} arguments;

static int load(product *p, const arguments *given) {
  const cli_memory memory = p->job.memory;
  int code = cli_read_matrix(given->paths[0], memory, NULL, &p->a);
  if (code == CLI_OK)
    code = cli_read_vector(given->paths[1], memory, &p->a, &p->x);
  if (code != CLI_OK)
    return code;
  p->matrix = cli_operand_of(&p->a, given->trans);
  if (p->x.shape[0] != p->matrix.op_cols)
    return cli_shape_fail(given->paths[1], &p->x, "a vector of %" PRId64, p->matrix.op_cols);
  return cli_array_create(p->a.type, 1, p->matrix.op_rows, 1, memory, &p->y);
}

static int load_y0(product *p, const arguments *given) {
  int code = cli_scalar(&given->alpha, "alpha", p->a.type, 1, &p->alpha);
  if (code == CLI_OK)
    code = cli_scalar(&given->beta, "beta", p->a.type, given->y0 ? 1 : 0, &p->beta);
  if (code != CLI_OK || !given->y0)
    return code;
  code = cli_read_vector(given->y0, CLI_MEMORY_PLAIN, &p->a, &p->y0);
  if (code == CLI_OK && p->y0.shape[0] != p->matrix.op_rows)
    return cli_shape_fail(given->y0, &p->y0, "a vector of %" PRId64, p->matrix.op_rows);
  return code;
}

/* ---- work ---- */

#define DEFINE_MULTIPLY(p, T)                                                                                \
  static davit_status multiply_##p(const product *q, cli_array *y, bool reference) {                         \
    const cli_operand *a = &q->matrix;                                                                       \
    if (!reference)                                                                                          \
      return davit_##p##gemv(                                                                                \
          a->trans, a->rows, a->cols, (T)q->alpha, q->a.data, a->ld, q->x.data, 1, (T)q->beta, y->data, 1,   \
          &(davit_gemv_options){.devices = q->job.devices.ids, .device_count = q->job.devices.count});       \
    dvt_ref_##p##gemv(a->trans, a->rows, a->cols, (T)q->alpha, q->a.data, a->ld, q->x.data, 1, (T)q->beta,   \
                      y->data, 1);                                                                           \
    return DAVIT_SUCCESS;                                                                                    \
  }
CLI_FOR_PRECISIONS(DEFINE_MULTIPLY)
#undef DEFINE_MULTIPLY

static void prepare(void *state) {
  product *p = state;
  cli_restore(&p->y, p->y0.ndim ? &p->y0 : NULL);
}

static davit_status work(void *state) {
  product *p = state;
  return (p->a.type == CLI_F8 ? multiply_d : multiply_s)(p, &p->y, p->job.devices.reference);
}

/* The bound of gemm for a result of one column. */
static int check(void *state, cli_check *check) {
  product *p = state;
  const int code = cli_array_create(p->a.type, 1, p->y.shape[0], 1, CLI_MEMORY_PLAIN, &p->reference);
  if (code != CLI_OK)
    return code;
  cli_restore(&p->reference, p->y0.ndim ? &p->y0 : NULL);
  (p->a.type == CLI_F8 ? multiply_d : multiply_s)(p, &p->reference, true);
  const double product_norm =
      fabs(p->alpha) * cli_norm(&p->a, CLI_NONFINITE_FAILS) * cli_norm(&p->x, CLI_NONFINITE_FAILS);
  const double addend_norm = p->y0.ndim ? fabs(p->beta) * cli_norm(&p->y0, CLI_NONFINITE_FAILS) : 0;
  const double terms = (double)p->x.shape[0];
  *check = (cli_check){
      .measure = "||y - y_ref||_2 <= 3 eps (sqrt(n + 2) |alpha| ||A||_F ||x||_2 + 2 |beta| ||y0||_2)",
      .error = cli_distance(&p->y, &p->reference, CLI_NONFINITE_FAILS),
      .bound = 3 * cli_epsilon(p->a.type) * (sqrt(terms + 2) * product_norm + 2 * addend_norm)};
  return CLI_OK;
}

/* ---- report ---- */

static double gflops(const product *p) {
  return 2e-9 * (double)p->a.shape[0] * (double)p->a.shape[1] / p->job.seconds;
}

static void print_text(FILE *file, const void *state) {
  const product *p = state;
  fprintf(file, "A %" PRId64 " x %" PRId64 ", %s\n%.6g s, %.6g GFLOP/s\n", p->a.shape[0], p->a.shape[1],
          cli_type_name(p->a.type), p->job.seconds, gflops(p));
}

static void print_json(cli_json *json, const void *state) {
  const product *p = state;
  cli_json_real(json, "gflops", gflops(p));
  cli_json_integer(json, "m", p->matrix.op_rows);
  cli_json_integer(json, "n", p->matrix.op_cols);
}

/* ---- command ---- */

static int compute(product *p, const cli_command *self, const arguments *given) {
  static const cli_job_steps steps = {prepare, work, check, {print_text, print_json}};
  int code = cli_job_open(&p->job, self, given->output);
  if (code == CLI_OK)
    code = load(p, given);
  if (code == CLI_OK)
    code = load_y0(p, given);
  return code == CLI_OK ? cli_job_run(&p->job, &steps, &p->y, p) : code;
}

static int run(const cli_command *self, int argc, char **argv) {
  product p = {0};
  arguments given = {0};
  const cli_option options[] = {
      {"o", CLI_OPTION_TEXT, &given.output},         {"alpha", CLI_OPTION_REAL, &given.alpha},
      {"beta", CLI_OPTION_REAL, &given.beta},        {"y0", CLI_OPTION_TEXT, &given.y0},
      {"trans", CLI_OPTION_TRANSPOSE, &given.trans}, {0}};
  int code = cli_options_parse(self, options, argc, argv, &p.job.common, given.paths, 2);
  if (code == CLI_OK)
    code = compute(&p, self, &given);
  cli_job_close(&p.job);
  cli_array *const arrays[] = {&p.a, &p.x, &p.y0, &p.y, &p.reference};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
    cli_array_free(arrays[i]);
  return code;
}

const cli_command cli_command_gemv = {
    .name = "gemv",
    .summary = "matrix-vector product, y = alpha op(A) x + beta y",
    .usage = "davit gemv A X [-o Y] [options]\n\n"
             "y = alpha op(A) x + beta y. A is a float64 or float32 matrix, X a vector of the same type.\n\n"
             "  -o Y             write the result (.npy, or .mtx when the name ends so)\n"
             "  --alpha X        default 1\n"
             "  --beta X         default 1 with --y0, else 0\n"
             "  --y0 FILE        y before the product; without it y starts as zeros\n"
             "  --trans [N|T]    use the transpose of A\n",
    .common = CLI_COMMON_NUMERIC,
    .run = run,
};
