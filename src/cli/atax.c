/* davit atax: y = Aᵀ (A x). */
#include <davit/atax.h>
#include <inttypes.h>
#include <math.h>

#include "ref/ref.h"
#include "src/cli/formats/compare.h"
#include "src/cli/formats/operand.h"
#include "src/cli/frame/job.h"

typedef struct product {
  cli_job job;
  cli_array a, x, y;
  cli_array reference; /* y of --check */
  cli_array tmp;       /* A x, for the reference */
  cli_operand matrix;
} product;

/* ---- operands ---- */

typedef struct arguments {
  const char *paths[2], *output;
} arguments;

static int load(product *p, const arguments *given) {
  int code = cli_read_matrix(given->paths[0], p->job.memory, NULL, &p->a);
  if (code == CLI_OK)
    code = cli_read_vector(given->paths[1], p->job.memory, &p->a, &p->x);
  if (code != CLI_OK)
    return code;
  p->matrix = cli_operand_of(&p->a, false);
  if (p->x.shape[0] != p->a.shape[1])
    return cli_shape_fail(given->paths[1], &p->x, "a vector of %" PRId64, p->a.shape[1]);
  code = cli_array_create(p->a.type, 1, p->a.shape[0], 1, CLI_MEMORY_PLAIN, &p->tmp);
  return code == CLI_OK ? cli_array_create(p->a.type, 1, p->a.shape[1], 1, p->job.memory, &p->y) : code;
}

/* ---- work ---- */

/* y is zeros before. */
static davit_status multiply(const product *p, void *y, bool reference) {
  const cli_operand *a = &p->matrix;
  if (!reference)
    return davit_atax(
        cli_number_type(p->a.type), a->trans, a->rows, a->cols, p->a.data, a->ld, p->x.data, NULL, y,
        &(davit_atax_options){.devices = p->job.devices.ids, .device_count = p->job.devices.count});
  if (!p->a.bytes) /* the reference takes no NULL */
    return DAVIT_SUCCESS;
  if (p->a.type == CLI_F8)
    dvt_ref_datax(a->trans, a->rows, a->cols, p->a.data, a->ld, p->x.data, p->tmp.data, y);
  else
    dvt_ref_satax(a->trans, a->rows, a->cols, p->a.data, a->ld, p->x.data, p->tmp.data, y);
  return DAVIT_SUCCESS;
}

static void prepare(void *state) {
  product *p = state;
  cli_restore(&p->y, NULL);
}

static davit_status work(void *state) {
  product *p = state;
  return multiply(p, p->y.data, p->job.devices.reference);
}

/* The bound of gemv for each of the two products: the error of A x passes through Aᵀ. */
static int check(void *state, cli_check *check) {
  product *p = state;
  const int code = cli_array_create(p->a.type, 1, p->y.shape[0], 1, CLI_MEMORY_PLAIN, &p->reference);
  if (code != CLI_OK)
    return code;
  cli_restore(&p->reference, NULL);
  multiply(p, p->reference.data, true);
  const double norm = cli_norm(&p->a, CLI_NONFINITE_PASSES);
  const double terms = sqrt((double)p->a.shape[0] + 2) + sqrt((double)p->a.shape[1] + 2);
  *check = (cli_check){.measure = "||y - y_ref||_2 <= 3 eps (sqrt(m + 2) + sqrt(n + 2)) ||A||_F^2 ||x||_2",
                       .error = cli_distance(&p->y, &p->reference, CLI_NONFINITE_PASSES),
                       .bound = 3 * cli_epsilon(p->a.type) * terms * norm * norm *
                                cli_norm(&p->x, CLI_NONFINITE_PASSES)};
  return CLI_OK;
}

/* ---- report ---- */

/* A is counted once: that is the least that has to be read. */
static double gbytes_per_s(const product *p) {
  return 1e-9 * (double)(p->a.bytes + p->x.bytes + p->y.bytes) / p->job.seconds;
}

static void print_text(FILE *file, const void *state) {
  const product *p = state;
  fprintf(file, "A %" PRId64 " x %" PRId64 ", %s\n%.6g s, %.6g GB/s\n", p->a.shape[0], p->a.shape[1],
          cli_type_name(p->a.type), p->job.seconds, gbytes_per_s(p));
}

static void print_json(cli_json *json, const void *state) {
  const product *p = state;
  cli_json_integer(json, "m", p->a.shape[0]);
  cli_json_integer(json, "n", p->a.shape[1]);
  cli_json_real(json, "gbytes_per_s", gbytes_per_s(p));
}

/* ---- command ---- */

static int compute(product *p, const cli_command *self, const arguments *given) {
  static const cli_job_steps steps = {prepare, work, check, {print_text, print_json}};
  int code = cli_job_open(&p->job, self, given->output);
  if (code == CLI_OK)
    code = load(p, given);
  return code == CLI_OK ? cli_job_run(&p->job, &steps, &p->y, p) : code;
}

static int run(const cli_command *self, int argc, char **argv) {
  product p = {0};
  arguments given = {0};
  const cli_option options[] = {{"o", CLI_OPTION_TEXT, &given.output}, {0}};
  int code = cli_options_parse(self, options, argc, argv, &p.job.common, given.paths, 2);
  if (code == CLI_OK)
    code = compute(&p, self, &given);
  cli_job_close(&p.job);
  cli_array *const arrays[] = {&p.a, &p.x, &p.y, &p.reference, &p.tmp};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
    cli_array_free(arrays[i]);
  return code;
}

const cli_command cli_command_atax = {
    .name = "atax",
    .summary = "product with a matrix and its transpose, y = A^T (A x)",
    .usage =
        "davit atax A X [-o Y] [options]\n\n"
        "y = A^T (A x). A is a float64 or float32 matrix, X a vector of the same type. A GPU reads A once\n"
        "if it is in C order with rows of at most 12288 float64 or 24576 float32, else twice, as two "
        "products.\n\n"
        "  -o Y             write the result (.npy, or .mtx when the name ends so)\n",
    .common = CLI_COMMON_NUMERIC,
    .run = run,
};
