/* davit gemm: C = alpha op(A) op(B) + beta C. */
#include <davit/gemm.h>
#include <inttypes.h>
#include <math.h>

#include "ref/ref.h"
#include "src/cli/formats/compare.h"
#include "src/cli/formats/operand.h"
#include "src/cli/frame/job.h"

typedef struct product {
  cli_job job;
  cli_array a, b, c0, c;
  cli_array reference; /* C of --check */
  cli_operand left, right;
  int64_t m, n, k;
  double alpha, beta;
  davit_gemm_options options;
  davit_gemm_report report;
} product;

/* ---- operands ---- */

typedef struct arguments {
  cli_real alpha, beta;
  const char *paths[2], *c0, *output;
  bool transa, transb;
  int64_t tile;
} arguments;

static int load(product *p, const arguments *given) {
  const cli_memory memory = p->job.memory;
  int code = cli_read_matrix(given->paths[0], memory, NULL, &p->a);
  if (code == CLI_OK)
    code = cli_read_matrix(given->paths[1], memory, &p->a, &p->b);
  if (code != CLI_OK)
    return code;
  p->left = cli_operand_of(&p->a, given->transa);
  p->right = cli_operand_of(&p->b, given->transb);
  p->m = p->left.op_rows;
  p->k = p->left.op_cols;
  p->n = p->right.op_cols;
  if (p->right.op_rows != p->k)
    return cli_shape_fail(given->paths[1], &p->b, "%" PRId64 " %s, the other dimension of the product", p->k,
                          given->transb ? "columns" : "rows");
  return cli_array_create(p->a.type, 2, p->m, p->n, memory, &p->c);
}

static int load_c0(product *p, const arguments *given) {
  int code = cli_scalar(&given->alpha, "alpha", p->a.type, 1, &p->alpha);
  if (code == CLI_OK)
    code = cli_scalar(&given->beta, "beta", p->a.type, given->c0 ? 1 : 0, &p->beta);
  if (code != CLI_OK || !given->c0)
    return code;
  code = cli_read_matrix(given->c0, CLI_MEMORY_PLAIN, &p->a, &p->c0);
  if (code != CLI_OK)
    return code;
  if (p->c0.shape[0] != p->m || p->c0.shape[1] != p->n)
    return cli_shape_fail(given->c0, &p->c0, "%" PRId64 " x %" PRId64, p->m, p->n);
  return cli_array_to_fortran(&p->c0);
}

/* ---- work ---- */

#define DEFINE_MULTIPLY(p, T)                                                                                \
  static davit_status multiply_##p(const product *q, cli_array *c, bool reference) {                         \
    const cli_operand *a = &q->left, *b = &q->right;                                                         \
    if (!reference)                                                                                          \
      return davit_##p##gemm(a->trans, b->trans, q->m, q->n, q->k, (T)q->alpha, q->a.data, a->ld, q->b.data, \
                             b->ld, (T)q->beta, c->data, q->m > 0 ? q->m : 1, &q->options);                  \
    dvt_ref_##p##gemm(a->trans, b->trans, q->m, q->n, q->k, (T)q->alpha, q->a.data, a->ld, q->b.data, b->ld, \
                      (T)q->beta, c->data, q->m > 0 ? q->m : 1, cli_threads());                              \
    return DAVIT_SUCCESS;                                                                                    \
  }
CLI_FOR_PRECISIONS(DEFINE_MULTIPLY)
#undef DEFINE_MULTIPLY

static void prepare(void *state) {
  product *p = state;
  cli_restore(&p->c, p->c0.ndim ? &p->c0 : NULL);
}

static davit_status work(void *state) {
  product *p = state;
  return (p->a.type == CLI_F8 ? multiply_d : multiply_s)(p, &p->c, p->job.devices.reference);
}

/* SLATE's bound for gemm (Gates et al., SLATE Users' Guide; test/test_gemm.cc). */
static int check(void *state, cli_check *check) {
  product *p = state;
  const int code = cli_array_create(p->a.type, 2, p->m, p->n, CLI_MEMORY_PLAIN, &p->reference);
  if (code != CLI_OK)
    return code;
  cli_restore(&p->reference, p->c0.ndim ? &p->c0 : NULL);
  (p->a.type == CLI_F8 ? multiply_d : multiply_s)(p, &p->reference, true);
  const double product_norm =
      fabs(p->alpha) * cli_norm(&p->a, CLI_NONFINITE_FAILS) * cli_norm(&p->b, CLI_NONFINITE_FAILS);
  const double addend_norm = p->c0.ndim ? fabs(p->beta) * cli_norm(&p->c0, CLI_NONFINITE_FAILS) : 0;
  *check = (cli_check){
      .measure = "||C - C_ref||_F <= 3 eps (sqrt(k + 2) |alpha| ||A||_F ||B||_F + 2 |beta| ||C0||_F)",
      .error = cli_distance(&p->c, &p->reference, CLI_NONFINITE_FAILS),
      .bound = 3 * cli_epsilon(p->a.type) * (sqrt((double)p->k + 2) * product_norm + 2 * addend_norm)};
  return CLI_OK;
}

/* ---- report ---- */

static double gflops(const product *p) {
  return 2e-9 * (double)p->m * (double)p->n * (double)p->k / p->job.seconds;
}

static void print_text(FILE *file, const void *state) {
  const product *p = state;
  for (int i = 0; i < p->report.device_count; i++)
    fprintf(file, "%s%" PRId64 " on device %d%s", i ? ", " : "tile products: ", p->report.devices[i].products,
            p->report.devices[i].device, i + 1 < p->report.device_count ? "" : "\n");
  fprintf(file, "C %" PRId64 " x %" PRId64 ", inner dimension %" PRId64 ", %s", p->m, p->n, p->k,
          cli_type_name(p->a.type));
  if (p->report.tile)
    fprintf(file, ", tile %" PRId64, p->report.tile);
  fprintf(file, "\n%.6g s, %.6g GFLOP/s\n", p->job.seconds, gflops(p));
}

static void print_json(cli_json *json, const void *state) {
  const product *p = state;
  const davit_gemm_report *report = &p->report;
  cli_json_real(json, "gflops", gflops(p));
  cli_json_integer(json, "tile", report->tile);
  cli_json_integer(json, "m", p->m);
  cli_json_integer(json, "n", p->n);
  cli_json_integer(json, "k", p->k);
  cli_json_integer(json, "products", report->products);
  cli_json_integer(json, "evictions", report->evictions);
  cli_json_integer(json, "bytes_from_host", report->bytes_from_host);
  cli_json_integer(json, "bytes_to_host", report->bytes_to_host);
  cli_json_integer(json, "bytes_from_peers", report->bytes_from_peers);
  cli_json_integer(json, "cache_bytes", report->cache_bytes);
  cli_json_open_array(json, "device_products");
  for (int i = 0; i < report->device_count; i++) {
    cli_json_open_object(json, NULL);
    cli_json_integer(json, "device", report->devices[i].device);
    cli_json_integer(json, "products", report->devices[i].products);
    cli_json_close_object(json);
  }
  cli_json_close_array(json);
}

/* ---- command ---- */

static int compute(product *p, const cli_command *self, const arguments *given) {
  static const cli_job_steps steps = {prepare, work, check, {print_text, print_json}};
  int code = cli_job_open(&p->job, self, given->output);
  if (code == CLI_OK)
    code = load(p, given);
  if (code == CLI_OK)
    code = load_c0(p, given);
  p->options = (davit_gemm_options){.devices = p->job.devices.ids,
                                    .device_count = p->job.devices.count,
                                    .tile = given->tile,
                                    .report = &p->report};
  return code == CLI_OK ? cli_job_run(&p->job, &steps, &p->c, p) : code;
}

static int run(const cli_command *self, int argc, char **argv) {
  product p = {0};
  arguments given = {0};
  const cli_option options[] = {
      {"o", CLI_OPTION_TEXT, &given.output},           {"alpha", CLI_OPTION_REAL, &given.alpha},
      {"beta", CLI_OPTION_REAL, &given.beta},          {"c0", CLI_OPTION_TEXT, &given.c0},
      {"transa", CLI_OPTION_TRANSPOSE, &given.transa}, {"transb", CLI_OPTION_TRANSPOSE, &given.transb},
      {"tile", CLI_OPTION_AUTO_SIZE, &given.tile},     {0}};
  int code = cli_options_parse(self, options, argc, argv, &p.job.common, given.paths, 2);
  if (code == CLI_OK)
    code = compute(&p, self, &given);
  cli_job_close(&p.job);
  cli_array *const arrays[] = {&p.a, &p.b, &p.c0, &p.c, &p.reference};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
    cli_array_free(arrays[i]);
  return code;
}

const cli_command cli_command_gemm = {
    .name = "gemm",
    .summary = "matrix product, C = alpha op(A) op(B) + beta C",
    .usage = "davit gemm A B [-o C] [options]\n\n"
             "C = alpha op(A) op(B) + beta C on several devices. A and B are float64 or float32 matrices.\n\n"
             "  -o C             write the result (.npy, or .mtx when the name ends so)\n"
             "  --alpha X        default 1\n"
             "  --beta X         default 1 with --c0, else 0\n"
             "  --c0 FILE        C before the product; without it C starts as zeros\n"
             "  --transa [N|T]   use the transpose of A\n"
             "  --transb [N|T]   use the transpose of B\n"
             "  --tile N|auto    rows and columns of a tile (default auto)\n",
    .common = CLI_COMMON_NUMERIC,
    .run = run,
};
