/* SPDX-License-Identifier: Apache-2.0 */
/* davit gemm: C = alpha op(A) op(B) + beta C. */
#include <complex.h>
#include <davit/level3.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ref/blas.h"
#include "src/cli/blas_options.h"
#include "src/cli/formats/array_file.h"
#include "src/cli/formats/compare.h"
#include "src/cli/formats/operand.h"
#include "src/cli/frame/job.h"
#include "src/cli/ranks.h"

typedef enum arithmetic { ARITHMETIC_NATIVE, ARITHMETIC_EMULATED } arithmetic;

/* Ranks divide C into a grid of blocks, one each. A rank reads the rows of op(A) and the columns of op(B)
 * that its block needs, and multiplies them as one rank would. */
typedef struct product {
  cli_job job;
  const char *a_path, *b_path, *c0_path;
  cli_output output;
  double _Complex alpha, beta;
  int transa, transb;
  arithmetic arithmetic;
  int64_t tile, m, n, k; /* of this rank's block of C */
  int64_t all_m, all_n;  /* of C */
  int grid[2];           /* ranks along the rows and columns of C; rank r is in row r % grid[0] */
  cli_operand left, right;
  davit_level3_report report;
  bool explain;
  davit_level3_explanation explanation;
  cli_array a, b, c0, c; /* without --c0, `c0` is empty */
} product;

/* ---- the grid ---- */

enum { STEP = 64 }; /* blocks begin at its multiples */

/* The rows (dimension 0) or columns (1) of C from which on the blocks in row or column `at` of the grid
 * reach. */
static int64_t block_begin(const product *p, int dimension, int at) {
  return cli_part_begin(dimension ? p->all_n : p->all_m, STEP, at, p->grid[dimension]);
}

/* Where rank `rank` is in the grid. */
static int place_of(const product *p, int dimension, int rank) {
  return dimension ? rank / p->grid[0] : rank % p->grid[0];
}

/* The part of an operand whose rows or columns become those of C; `rows`: in the file. */
static cli_part part_of(const product *p, int dimension, bool rows) {
  return (cli_part){.cut = rows ? CLI_CUT_ROWS : CLI_CUT_COLS,
                    .index = place_of(p, dimension, cli_ranks_rank()),
                    .count = p->grid[dimension],
                    .step = STEP};
}

/* The grid for which ranks read least. */
static void choose_grid(product *p) {
  const int ranks = cli_ranks_count();
  double least = INFINITY;
  for (int rows = 1; rows <= ranks; rows++) {
    const double read = (double)p->all_m / rows + (double)p->all_n * rows / ranks;
    if (ranks % rows == 0 && read < least) {
      least = read;
      p->grid[0] = rows;
      p->grid[1] = ranks / rows;
    }
  }
}

/* The shape of C, as far as the files say it at their beginnings. */
static int peek(product *p) {
  cli_array a, b;
  bool known_a = false, known_b = false;
  int code = cli_array_peek(p->a_path, &p->job.common.reading, &a, &known_a);
  if (code == CLI_OK)
    code = cli_array_peek(p->b_path, &p->job.common.reading, &b, &known_b);
  const bool known = known_a && known_b;
  p->all_m = known ? a.shape[p->transa ? 1 : 0] : 1;
  p->all_n = known ? b.shape[p->transb ? 0 : 1] : 1;
  return code;
}

/* ---- operands ---- */

static int load_c0(product *p) {
  cli_part part = part_of(p, 0, true);
  int code = cli_check_scalar("alpha", p->alpha, p->a.type);
  if (code == CLI_OK)
    code = cli_check_scalar("beta", p->beta, p->a.type);
  if (code == CLI_OK && p->c0_path)
    code = cli_read_matrix(CLI_COMPLEX_NUMBERS, p->c0_path, &p->job.common.reading, CLI_MEMORY_PLAIN, &p->a,
                           &part, &p->c0);
  p->beta = p->c0_path ? p->beta : 0;
  if (code != CLI_OK || !p->c0_path)
    return code;
  if (part.all.shape[0] != p->all_m || part.all.shape[1] != p->all_n)
    return cli_shape_fail(p->c0_path, &part.all, "%" PRId64 " x %" PRId64, p->all_m, p->all_n);
  part = part_of(p, 1, false);
  code = cli_part_take(&part, &p->c0);
  return code == CLI_OK ? cli_array_to_fortran(&p->c0) : code;
}

static int load_operands(product *p) {
  cli_part a = part_of(p, 0, !p->transa), b = part_of(p, 1, p->transb);
  int code =
      cli_read_matrix(CLI_COMPLEX_NUMBERS, p->a_path, &p->job.common.reading, p->job.memory, NULL, &a, &p->a);
  if (code == CLI_OK)
    code = cli_read_matrix(CLI_COMPLEX_NUMBERS, p->b_path, &p->job.common.reading, p->job.memory, &p->a, &b,
                           &p->b);
  if (code != CLI_OK)
    return code;
  cli_part_note(&a);
  cli_part_note(&b);
  if (p->transa == CLI_CONJUGATED)
    cli_array_conjugate(&p->a);
  if (p->transb == CLI_CONJUGATED)
    cli_array_conjugate(&p->b);
  p->left = cli_operand_of(&p->a, p->transa);
  p->right = cli_operand_of(&p->b, p->transb);
  p->m = p->left.op_rows;
  p->k = p->left.op_cols;
  p->n = p->right.op_cols;
  p->all_m = a.whole;
  p->all_n = b.whole;
  p->job.rate =
      (cli_rate){CLI_GFLOPS, cli_flops(p->a.type) * (double)p->all_m * (double)p->all_n * (double)p->k};
  return p->right.op_rows == p->k
             ? load_c0(p)
             : cli_shape_fail(p->b_path, &b.all, "%" PRId64 " %s, the other dimension of the product", p->k,
                              p->transb ? "columns" : "rows");
}

static int load(void *state) {
  product *p = state;
  if (p->arithmetic == ARITHMETIC_EMULATED)
    return cli_fail(CLI_USAGE,
                    "--arithmetic emulated: cuBLAS has variables for it, which work here too "
                    "(CUBLAS_EMULATE_DOUBLE_PRECISION=1); it is slower on the cards that were measured");
  int code = cli_ranks_several() ? peek(p) : CLI_OK;
  choose_grid(p);
  cli_ranks_note(p->grid[0]);
  if (code == CLI_OK)
    code = load_operands(p);
  return code == CLI_OK ? cli_array_create(p->a.type, 2, p->m, p->n, p->job.memory, &p->c) : code;
}

#define DEFINE_MULTIPLY(p, T)                                                                                \
  static davit_status multiply_##p(const product *q, T *c, bool reference,                                   \
                                   const davit_level3_options *options) {                                    \
    const cli_operand *a = &q->left, *b = &q->right;                                                         \
    const int64_t ldc = q->m > 0 ? q->m : 1;                                                                 \
    const T alpha = (T)q->alpha, beta = (T)q->beta;                                                          \
    if (!reference)                                                                                          \
      return davit_##p##gemm(a->trans, b->trans, q->m, q->n, q->k, alpha, q->a.data, a->ld, q->b.data,       \
                             b->ld, beta, c, ldc, options);                                                  \
    return dvt_level3_host(&(dvt_site){.threads = dvt_threads()},                                            \
                           &(dvt_level3){.type = cli_number_type(q->a.type),                                 \
                                         .transa = a->trans,                                                 \
                                         .transb = b->trans,                                                 \
                                         .m = q->m,                                                          \
                                         .n = q->n,                                                          \
                                         .k = q->k,                                                          \
                                         .alpha = q->alpha,                                                  \
                                         .a = q->a.data,                                                     \
                                         .lda = a->ld,                                                       \
                                         .b = q->b.data,                                                     \
                                         .ldb = b->ld,                                                       \
                                         .beta = q->beta,                                                    \
                                         .c = c,                                                             \
                                         .ldc = ldc});                                                       \
  }
CLI_FOR_FIELDS(DEFINE_MULTIPLY)
#undef DEFINE_MULTIPLY

static void show_progress(void *state, int64_t done, int64_t all) {
  product *p = state;
  cli_progress_at(&p->job.progress, (double)done, (double)all, "products of tiles");
}

/* Of several runs the runs are counted. */
static davit_status work(void *state, cli_array *c, bool reference) {
  product *p = state;
  const bool once = p->job.common.repeat <= 1 && !p->job.common.warmup;
  const davit_level3_options options = {CLI_DEVICES(p),
                                        .tile = p->tile,
                                        .report = &p->report,
                                        .explanation = p->explain ? &p->explanation : NULL,
                                        .progress = once && p->job.progress.running ? show_progress : NULL,
                                        .progress_context = p};
  return CLI_CALL_FIELD(p->a.type, multiply, p, c->data, reference, &options);
}

/* ---- several ranks ---- */

static int divides(const void *state, bool *divided) {
  const product *p = state;
  const int code = cli_divides_on_devices(state, divided);
  *divided = *divided && !p->explain;
  return code;
}

/* Puts a block, column-major without gaps, where it belongs in C. */
static void place_block(const product *p, int rank, const char *block, cli_array *c) {
  const size_t bytes = cli_type_bytes(c->type);
  const int row = place_of(p, 0, rank), col = place_of(p, 1, rank);
  const int64_t begin = block_begin(p, 0, row), m = block_begin(p, 0, row + 1) - begin;
  for (int64_t j = block_begin(p, 1, col); j < block_begin(p, 1, col + 1); j++, block += (size_t)m * bytes)
    if (m > 0)
      memcpy((char *)c->data + (size_t)(j * p->all_m + begin) * bytes, block, (size_t)m * bytes);
}

static size_t block_bytes(const product *p, int rank) {
  const int row = place_of(p, 0, rank), col = place_of(p, 1, rank);
  return (size_t)(block_begin(p, 0, row + 1) - block_begin(p, 0, row)) *
         (size_t)(block_begin(p, 1, col + 1) - block_begin(p, 1, col)) * cli_type_bytes(p->c.type);
}

static void collect(const product *p, cli_array *c, cli_array *block) {
  place_block(p, 0, p->c.data, c);
  for (int rank = 1; rank < cli_ranks_count(); rank++) {
    cli_ranks_receive(rank, block_bytes(p, rank), block->data);
    place_block(p, rank, block->data, c);
  }
}

/* The operands of the check are whole. */
static int load_again(product *p) {
  cli_array_free(&p->a);
  cli_array_free(&p->b);
  cli_array_free(&p->c0);
  p->grid[0] = p->grid[1] = 1;
  return load_operands(p);
}

static int gather(void *state) {
  product *p = state;
  const bool lead = cli_ranks_lead();
  size_t most = 0;
  for (int rank = 1; rank < cli_ranks_count(); rank++)
    most = block_bytes(p, rank) > most ? block_bytes(p, rank) : most;
  cli_array c = {0}, block = {0};
  int code = lead ? cli_array_create(p->c.type, 2, p->all_m, p->all_n, CLI_MEMORY_PLAIN, &c) : CLI_OK;
  if (lead && code == CLI_OK)
    code = cli_array_create(CLI_U1, 1, (int64_t)most, 1, CLI_MEMORY_PLAIN, &block);
  code = cli_ranks_agree(code);
  if (code == CLI_OK && lead)
    collect(p, &c, &block);
  else if (code == CLI_OK)
    cli_ranks_send(p->c.bytes, p->c.data);
  cli_array_free(&block);
  if (!lead || code != CLI_OK) {
    cli_array_free(&c);
    return code;
  }
  cli_array_free(&p->c);
  p->c = c;
  return p->job.common.check ? load_again(p) : CLI_OK;
}

/* SLATE's bound for gemm (Gates et al., SLATE Users' Guide; test/test_gemm.cc). */
static int check(void *state, cli_check *check) {
  product *p = state;
  const int code = cli_job_reference(&p->job);
  if (code == CLI_OK)
    *check = (cli_check){
        .measure = "||C - C_ref||_F <= 3 eps (sqrt(k + 2) |alpha| ||A||_F ||B||_F + 2 |beta| ||C0||_F)",
        .error = cli_distance(&p->c, &p->job.reference, CLI_NONFINITE_FAILS),
        .bound = cli_product_bound(p->k, cabs(p->alpha), &p->a, &p->b, cabs(p->beta), &p->c0)};
  return code;
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
  report_tiles(json, report);
  cli_json_integer(json, "m", p->all_m);
  cli_json_integer(json, "n", p->all_n);
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

static const cli_choice arithmetics[] = {
    {"native", ARITHMETIC_NATIVE, "that of the element type"},
    {"emulated", ARITHMETIC_EMULATED, "refused: cuBLAS has variables for it, which work here too"},
    {0}};

static const cli_choice tiles[] = {{"auto", 0, NULL}, {0}};

const cli_command cli_command_gemm = {
    .name = "gemm",
    .summary = "matrix product, C = alpha op(A) op(B) + beta C0",
    .description = "Computes C = alpha op(A) op(B) + beta C0 on several devices, op(A) being A, its "
                   "transpose or the conjugate "
                   "of that.",
    .examples = "davit gemm A.npy B.npy -o C.npy\n"
                "davit gemm A.npy B.npy --transa --alpha 2 --c0 C.npy --beta -1 -o D.npy --check -v\n",
    .operands =
        CLI_PLACES(CLI_PLACE(product, a_path, "A", "a float64, float32, complex128 or complex64 matrix"),
                   CLI_PLACE(product, b_path, "B", "a matrix of the same type")),
    .options = CLI_OPTIONS(
        CLI_RESULT_OPTION(product, "C"), CLI_ALPHA_OPTION(product), CLI_BETA_OPTION(product, "C0"),
        CLI_OPTION(TEXT, product, c0_path, "--c0", "FILE",
                   .help = "C before the product; without it that term is left out"),
        CLI_TRANSPOSE_OPTION(product, transa, "A"), CLI_TRANSPOSE_OPTION(product, transb, "B"),
        CLI_OPTION(WHOLE, product, tile, "--tile", "N", .minimum = 1, .choices = tiles, .value = "auto",
                   .help = "rows and columns of a tile"),
        CLI_OPTION(CHOICE, product, arithmetic, "--arithmetic", "A", .choices = arithmetics,
                   .value = "native", .help = "how products are computed"),
        CLI_OPTION(
            FLAG, product, explain, "--explain", NULL,
            .help =
                "print what was chosen, its predicted time by part, the alternatives, and the figures used")),
    .common = CLI_COMMON_TABLE | CLI_COMMON_COMPUTE | CLI_COMMON_FORCE,
    .small_bytes = 1 << 20,
    .of_devices = (const char *const[]){"--tile", "--explain", "--arithmetic", NULL},
    .state = sizeof(product),
    CLI_ARRAYS(product, a, c),
    .result = offsetof(product, c),
    .initial = offsetof(product, c0),
    .read = load,
    .work = work,
    .divides = divides,
    .gather = gather,
    .check = check,
    .report = report,
    .print = print,
    .print_is_aside = true,
};
