/* SPDX-License-Identifier: Apache-2.0 */
/* davit gemm: C = alpha op(A) op(B) + beta C. */
#include <complex.h>
#include <davit/level3.h>
#include <inttypes.h>
#include <math.h>

#include "ref/blas.h"
#include "src/base/arithmetic.h"
#include "src/cli/blas_options.h"
#include "src/cli/formats/compare.h"
#include "src/cli/frame/job.h"
#include "src/cli/ranks.h"

typedef struct product {
  cli_job job;
  const char *a_path, *b_path, *c0_path;
  double _Complex alpha, beta;
  int transa, transb;
  davit_arithmetic arithmetic;
  int64_t tile;
  davit_level3_report report;
  bool explain;
  davit_level3_explanation explanation;
  cli_array a, b, c0, c; /* without --c0, `c0` is empty */
} product;

enum { M, N, K }; /* of job.sizes */

static void show_progress(void *state, int64_t done, int64_t all) {
  product *p = state;
  cli_progress_at(&p->job.progress, (double)done, (double)all, "products of tiles");
}

/* Of several runs the runs are counted. Exact sums are no reference, but the CPU has them too. */
static davit_status work(void *state, cli_array *c, bool reference) {
  product *p = state;
  const davit_level3_processes ranks = {.maxima = cli_ranks_several() ? cli_ranks->maxima : NULL};
  const bool exact = p->arithmetic == DAVIT_ARITHMETIC_EXACT && c != &p->job.reference;
  const bool once = p->job.common.repeat <= 1 && !p->job.common.warmup;
  const cli_operand a = cli_operand_of(&p->a, p->transa), b = cli_operand_of(&p->b, p->transb);
  const cli_size *sizes = p->job.sizes;
  const dvt_level3 g = dvt_gemm_of(cli_number_type(p->a.type), a.trans, b.trans, sizes[M].here, sizes[N].here,
                                   sizes[K].here, p->alpha, p->a.data, a.ld, p->b.data, b.ld, p->beta,
                                   c->data, dvt_at_least(sizes[M].here, 1));
  const davit_level3_options options = {CLI_DEVICES(p),
                                        .tile = p->tile,
                                        .report = &p->report,
                                        .explanation = p->explain ? &p->explanation : NULL,
                                        .progress = once && p->job.progress.running ? show_progress : NULL,
                                        .progress_context = p,
                                        .arithmetic =
                                            exact ? DAVIT_ARITHMETIC_EXACT : DAVIT_ARITHMETIC_NATIVE,
                                        .exact_bits = exact,
                                        .processes = exact && cli_ranks_several() ? &ranks : NULL};
#define MULTIPLY(l, T)                                                                                       \
  davit_##l##gemm(g.transa, g.transb, g.m, g.n, g.k, (T)g.alpha, g.a, g.lda, g.b, g.ldb, (T)g.beta, g.c,     \
                  g.ldc, &options)
  return reference && !exact ? dvt_level3_host(&(dvt_site){.threads = dvt_threads()}, &g)
                             : CLI_OF_FIELD(c->type, MULTIPLY);
}

static int divides(const void *state, bool *divided) {
  const product *p = state;
  const int code = cli_divides_on_devices(state, divided);
  *divided = *divided && !p->explain;
  return code;
}

static bool is_exact(const product *p) {
  return p->report.arithmetic == DAVIT_ARITHMETIC_EXACT;
}

/* SLATE's bound for gemm (Gates et al., SLATE Users' Guide; test/test_gemm.cc), and what an exact product may differ
 * by. */
static double bound(const void *state) {
  const product *p = state;
  const int64_t k = p->job.sizes[K].whole, most = 64;
  const double of_reference = cli_product_bound(k, cabs(p->alpha), &p->a, &p->b, cabs(p->beta), &p->c0);
  return is_exact(p)
             ? of_reference + (double)dvt_at_most(k, most) * cli_rounding(p->a.type) * cabs(p->alpha) *
                                  cli_norm(&p->a, CLI_NONFINITE_FAILS) * cli_norm(&p->b, CLI_NONFINITE_FAILS)
             : of_reference;
}

static int check(void *state, cli_check *check) {
  product *p = state;
  const int code = cli_job_compare(&p->job, check);
  if (code == CLI_OK && is_exact(p))
    check->measure =
        "||C - C_ref||_F <= eps ((3 sqrt(k + 2) + min(k, 64)) |alpha| ||A||_F ||B||_F + 6 |beta| "
        "||C0||_F)";
  return code;
}

static void report_arithmetic(cli_json *json, const product *p) {
  cli_json_string(json, "arithmetic", is_exact(p) ? "exact" : "native");
  if (is_exact(p))
    cli_json_integer(json, "moduli", p->report.moduli);
  if (p->report.why_native)
    cli_json_string(json, "why_native", p->report.why_native);
}

static void remark(const void *state) {
  const product *p = state;
  if (p->report.why_native)
    cli_remark("multiplied natively: %s", p->report.why_native);
}

/* For people in words, as one number does not describe tiles that are no squares. */
static void report_tiles(cli_json *json, const davit_level3_report *report) {
  char text[128];
  if (!json->lines) {
    cli_json_integer(json, "tile", report->tile);
    cli_json_integer(json, "tile_m", report->tile_m);
    cli_json_integer(json, "tile_n", report->tile_n);
    cli_json_integer(json, "tile_k", report->tile_k);
    return;
  }
  snprintf(text, sizeof text, "at most %" PRId64 " x %" PRId64 " of C, %" PRId64 " of k", report->tile_m,
           report->tile_n, report->tile_k);
  cli_json_string(json, "tiles", report->products > 1 ? text : "none");
}

static void report(cli_json *json, const void *state) {
  const product *p = state;
  const davit_level3_report *report = &p->report;
  report_arithmetic(json, p);
  report_tiles(json, report);
  cli_job_report_sizes(json, &p->job);
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

/* The figures that the prediction is made of: a device's, then the host's. */
static void print_figures(int device) {
  davit_level3_figure figures[16];
  int count = 0;
  if (davit_level3_figures(device, 16, figures, &count) != DAVIT_SUCCESS)
    return;
  for (int i = 0; i < count && i < 16; i++)
    printf("figure\t%s\t%.4g %s\t%s\n", figures[i].name, figures[i].value, figures[i].unit,
           figures[i].measured ? "measured" : "built in");
}

static void print(const void *state) {
  const product *p = state;
  const davit_level3_explanation *e = &p->explanation;
  if (!p->explain)
    return;
  if (p->job.devices.reference) {
    printf("chosen\tthe CPU reference, which is not planned\n");
    return;
  }
  if (is_exact(p)) {
    printf("chosen\texact sums in %d moduli, which are not planned\n", p->report.moduli);
    return;
  }
  printf("predicted\t%.3f ms\narithmetic\t%.3f ms\nload\t%.3f ms\npeer\t%.3f ms\nstore\t%.3f ms\n",
         1e3 * e->seconds, 1e3 * e->arithmetic, 1e3 * e->load, 1e3 * e->peer, 1e3 * e->store);
  printf("floor of arithmetic\t%.3f ms\nfloor of the link\t%.3f ms\n", 1e3 * e->floor_arithmetic,
         1e3 * e->floor_link);
  for (int i = 0; i < e->count; i++)
    printf("%s\t%d x %d x %d devices\ttiles of %" PRId64 " x %" PRId64 " x %" PRId64 "\t%.3f ms\n",
           i ? "alternative" : "chosen", e->choices[i].grid_m, e->choices[i].grid_n, e->choices[i].grid_k,
           e->choices[i].tile_m, e->choices[i].tile_n, e->choices[i].tile_k, 1e3 * e->choices[i].seconds);
  if (e->count == 0)
    printf("chosen\tone device, without tiles\n");
  davit_device_info info;
  const int first = p->job.devices.ids[0];
  if (davit_device_describe(first, &info) == DAVIT_SUCCESS && info.kind != DAVIT_DEVICE_CPU &&
      info.kind != DAVIT_DEVICE_HOST_OFFLOAD)
    print_figures(first);
  print_figures(DAVIT_HOST);
}

static const cli_choice arithmetics[] = {{"native", DAVIT_ARITHMETIC_NATIVE, "in the type of the elements"},
                                         {"exact", DAVIT_ARITHMETIC_EXACT,
                                          "with exact integer sums: the same bits on all devices and with "
                                          "any number of ranks, and faster on many GPUs"},
                                         {0}};

static const cli_choice tiles[] = {{"auto", 0, NULL}, {0}};

const cli_command cli_command_gemm = {
    .name = "gemm",
    .summary = "matrix product, C = alpha op(A) op(B) + beta C0",
    .description = "Computes C = alpha op(A) op(B) + beta C0, where op(A) is A, its transpose or its "
                   "conjugate transpose. The devices share the work.",
    .examples = "davit gemm A.npy B.npy -o C.npy\n"
                "davit gemm A.npy B.npy --transa --alpha 2 --c0 C.npy --beta -1 -o D.npy --check -v\n",
    .operands =
        CLI_PLACES(CLI_PLACE(product, a_path, "A", "a float64, float32, complex128 or complex64 matrix"),
                   CLI_PLACE(product, b_path, "B", "a matrix of the same type")),
    .options =
        CLI_OPTIONS(CLI_RESULT_OPTION("C"), CLI_ALPHA_OPTION(product), CLI_BETA_OPTION(product, "C0"),
                    CLI_OPTION(TEXT, product, c0_path, "--c0", "FILE",
                               .help = "C before the product; without it, beta C0 is left out"),
                    CLI_TRANSPOSE_OPTION(product, transa, "A"), CLI_TRANSPOSE_OPTION(product, transb, "B"),
                    CLI_OPTION(WHOLE, product, tile, "--tile", "N", .minimum = 1, .choices = tiles,
                               .value = "auto", .help = "rows and columns of a tile"),
                    CLI_OPTION(CHOICE, product, arithmetic, "--arithmetic", "A", .choices = arithmetics,
                               .value = "native", .help = "how products are computed"),
                    CLI_OPTION(FLAG, product, explain, "--explain", NULL,
                               .help = "print the chosen plan, its predicted times, the alternatives, and "
                                       "the machine parameters used")),
    .common = CLI_COMMON_ARRAYS,
    .small_bytes = 1 << 20,
    .of_devices = (const char *const[]){"--tile", "--explain", "--arithmetic", NULL},
    .state = sizeof(product),
    .arrays = CLI_ARRAYS(CLI_OPERAND(product, a, FIELD, "mk", .trans = offsetof(product, transa)),
                         CLI_OPERAND(product, b, FIELD, "kn", .trans = offsetof(product, transb)),
                         CLI_OPERAND(product, c0, FIELD, "mn", .factor = offsetof(product, beta)),
                         CLI_CREATED(product, c, "mn")),
    .result = offsetof(product, c),
    .initial = offsetof(product, c0),
    .sizes = {"m", "n", "k"},
    .unit = CLI_GFLOPS,
    .cut = "mn",
    .step = 64,
    .work = work,
    .divides = divides,
    .measure = "||C - C_ref||_F <= 3 eps (sqrt(k + 2) |alpha| ||A||_F ||B||_F + 2 |beta| ||C0||_F)",
    .error = cli_job_distance,
    .bound = bound,
    .check = check,
    .remark = remark,
    .report = report,
    .print = print,
    .print_is_aside = true,
};
