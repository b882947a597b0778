/* SPDX-License-Identifier: Apache-2.0 */
/* davit demo: a product, a sum and an alignment of data made on the spot, each checked by other means.
 *
 * The product is checked as Freivalds did (1977): C x is compared with A (B x) for a vector x, which costs
 * n^2 and uses nothing of the library. The sum is compared with one in long double. The sequences are the
 * example of Durbin et al., Biological Sequence Analysis (1998), section 2.3, whose answer is printed there. */
#include <davit/align.h>
#include <davit/level3.h>
#include <davit/reduce.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/error.h"
#include "src/cli/frame/job.h"

typedef struct demo {
  cli_job job;
  int64_t n, numbers;
  double *a, *b, *c, *x, *terms;
  davit_level3_report product;
  double sum, product_seconds, sum_seconds, align_seconds;
  double product_error, product_bound, sum_error, sum_bound;
  davit_align_result alignment;
  char *cigar;
} demo;

enum { KNOWN_SCORE = 28, GAP = 8, NUMBERS_OF_ONE_ROW = 4000 };
static const char query[] = "HEAGAWGHEE", target[] = "PAWHEAE", known_cigar[] = "2=1I2=";

/* Each array, from 0 to 3, has a seed of its own. */
static uint64_t seed_of(const demo *d, uint64_t array) {
  return d->job.common.seed ^ array << 62;
}

static int load(void *state) {
  demo *d = state;
  const size_t n = (size_t)d->n;
  d->numbers = d->n * NUMBERS_OF_ONE_ROW;
  CLI_ROOM(&d->job, d->a, n * n);
  CLI_ROOM(&d->job, d->b, n * n);
  CLI_ROOM(&d->job, d->c, n * n);
  CLI_ROOM(&d->job, d->x, 2 * n);
  CLI_ROOM(&d->job, d->terms, d->numbers);
  CLI_TRY(cli_status(davit_random(DAVIT_DOUBLE, d->n * d->n, seed_of(d, 0), d->a)));
  CLI_TRY(cli_status(davit_random(DAVIT_DOUBLE, d->n * d->n, seed_of(d, 1), d->b)));
  return cli_status(davit_random(DAVIT_DOUBLE, d->n, seed_of(d, 2), d->x));
}

/* ---- the product ---- */

/* y_i = sum of m_ij x_j, of a column-major matrix. */
static void multiply(int64_t n, const double *m, const double *x, double *y) {
  memset(y, 0, (size_t)n * sizeof *y);
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < n; i++)
      y[i] += m[i + j * n] * x[j];
}

static double norm(int64_t count, const double *x) {
  long double squares = 0;
  for (int64_t i = 0; i < count; i++)
    squares += (long double)x[i] * x[i];
  return (double)sqrtl(squares);
}

static void check_product(demo *d) {
  const int64_t n = d->n;
  double *with_c = d->x + n, *y = d->terms,
         *bx = d->terms + n; /* the sum is computed later, from new terms */
  multiply(n, d->b, d->x, bx);
  multiply(n, d->a, bx, y);
  multiply(n, d->c, d->x, with_c);
  for (int64_t i = 0; i < n; i++)
    y[i] -= with_c[i];
  d->product_error = norm(n, y);
  d->product_bound =
      9 * DBL_EPSILON * sqrt((double)n + 2) * norm(n * n, d->a) * norm(n * n, d->b) * norm(n, d->x);
}

static davit_status run_product(demo *d) {
  const davit_level3_options options = {CLI_DEVICES(d), .report = &d->product};
  const double start = dvt_now();
  const davit_status status =
      davit_dgemm('N', 'N', d->n, d->n, d->n, 1, d->a, d->n, d->b, d->n, 0, d->c, d->n, &options);
  d->product_seconds = dvt_now() - start;
  return status;
}

/* ---- the sum ---- */

static davit_status run_sum(demo *d) {
  const davit_reduce_options options = {CLI_DEVICES(d)};
  const double start = dvt_now();
  const davit_status status = davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, d->numbers, d->terms, &d->sum, &options);
  d->sum_seconds = dvt_now() - start;
  long double wanted = 0;
  for (int64_t i = 0; i < d->numbers; i++)
    wanted += d->terms[i];
  d->sum_error = (double)fabsl(d->sum - wanted);
  d->sum_bound = 2 * DBL_EPSILON * (8 + log2((double)d->numbers + 1)) * (double)wanted;
  return status;
}

/* ---- the alignment ---- */

static davit_status run_alignment(demo *d) {
  davit_align_matrix matrix;
  uint8_t q[sizeof query], t[sizeof target];
  DVT_TRY(davit_align_matrix_find("BLOSUM50", &matrix));
  for (size_t i = 0; i < sizeof query; i++)
    q[i] = matrix.code[(unsigned char)query[i]];
  for (size_t i = 0; i < sizeof target; i++)
    t[i] = matrix.code[(unsigned char)target[i]];
  const davit_align_scoring scoring = {
      .symbols = matrix.symbols, .matrix = matrix.scores, .gap_open = GAP, .gap_extend = GAP};
  const double start = dvt_now();
  const davit_status found =
      davit_align_trace(&scoring, sizeof query - 1, q, sizeof target - 1, t, &d->alignment, &d->cigar, NULL);
  d->align_seconds = dvt_now() - start;
  return found;
}

static davit_status run_all(demo *d) {
  DVT_TRY(run_product(d)); /* the first call loads libraries, too */
  DVT_TRY(run_product(d));
  check_product(d);
  DVT_TRY(davit_random(DAVIT_DOUBLE, d->numbers, seed_of(d, 3), d->terms));
  DVT_TRY(run_sum(d));
  return run_alignment(d);
}

static int run(void *state) {
  demo *d = state;
  CLI_TRY(cli_status(run_all(d)));
  d->job.seconds.median = d->product_seconds + d->sum_seconds + d->align_seconds;
  if (!(d->product_error <= d->product_bound))
    return cli_fail(CLI_FAILED, "the product is wrong: ||C x - A (B x)|| is %g, above its bound %g",
                    d->product_error, d->product_bound);
  if (!(d->sum_error <= d->sum_bound))
    return cli_fail(CLI_FAILED, "the sum is wrong by %g, above its bound %g", d->sum_error, d->sum_bound);
  if (d->alignment.score != KNOWN_SCORE || strcmp(d->cigar, known_cigar) != 0)
    return cli_fail(CLI_FAILED, "the alignment is wrong: score %d and columns %s instead of %d and %s",
                    (int)d->alignment.score, d->cigar, KNOWN_SCORE, known_cigar);
  return CLI_OK;
}

/* ---- output ---- */

static double gflops(const demo *d) {
  return 2e-9 * (double)d->n * (double)d->n * (double)d->n / d->product_seconds;
}

static void print_tiles(const davit_level3_report *product) {
  if (product->products == 1 && product->devices[0].device == DAVIT_HOST)
    printf("  The CPU computed it as a whole.\n");
  else if (product->products == 1)
    printf("  Device %d computed it as a whole.\n", product->devices[0].device);
  if (product->products == 1)
    return;
  printf("  It was split into %" PRId64 " products of tiles, each of at most %" PRId64 " x %" PRId64
         " of the result and %" PRId64 " terms of its sums:\n  ",
         product->products, product->tile_m, product->tile_n, product->tile_k);
  for (int i = 0; i < product->device_count; i++)
    printf("%s%" PRId64 " on device %d", i ? ", " : "", product->devices[i].products,
           product->devices[i].device);
  printf(".\n");
}

static void print(const void *state) {
  const demo *d = state;
  printf("davit runs on\n");
  cli_devices_print(&d->job.devices, stdout, "  ");
  printf("\nA product of two %" PRId64 " x %" PRId64 " matrices of float64: %.3f s, %.1f GFLOP/s.\n", d->n,
         d->n, d->product_seconds, gflops(d));
  print_tiles(&d->product);
  printf("  C x and A (B x) differ by %.2g, where rounding may add up to %.2g.\n", d->product_error,
         d->product_bound);
  printf("\nThe sum of %" PRId64 " numbers of float64, on the same devices: %.3f s, %.1f GB/s.\n", d->numbers,
         d->sum_seconds, 8e-9 * (double)d->numbers / d->sum_seconds);
  printf("  It is %.17g; the sum in long double differs by %.2g, and rounding may add up to %.2g.\n", d->sum,
         d->sum_error, d->sum_bound);
  printf("\nThe best local alignment of %s with %s, by BLOSUM50, on the host: score %d, columns %s.\n", query,
         target, (int)d->alignment.score, d->cigar);
  printf("  This is the example of Durbin et al., Biological Sequence Analysis, and their answer.\n");
  printf("\nAll three are right. 'davit help' lists what else there is.\n");
}

static void report(cli_json *json, const void *state) {
  const demo *d = state;
  cli_json_integer(json, "n", d->n);
  cli_json_real(json, "gflops", gflops(d));
  cli_json_integer(json, "tile", d->product.tile);
  cli_json_real(json, "product_error", d->product_error);
  cli_json_real(json, "product_bound", d->product_bound);
  cli_json_integer(json, "numbers", d->numbers);
  cli_json_real(json, "sum", d->sum);
  cli_json_real(json, "sum_error", d->sum_error);
  cli_json_real(json, "sum_bound", d->sum_bound);
  cli_json_integer(json, "score", d->alignment.score);
  cli_json_string(json, "cigar", d->cigar);
}

static void release(void *state) {
  demo *d = state;
  davit_free(d->cigar);
}

const cli_command cli_command_demo = {
    .name = "demo",
    .summary = "a matrix product, a sum and an alignment, checked, and what ran where",
    .description = "Multiplies two random matrices and sums random numbers on the devices, aligns two "
                   "sequences on the host, checks each result independently, and says what ran where. The "
                   "exit code is 1 if a result is wrong.",
    .examples = "davit demo\n"
                "davit demo --size 500 --seed 7 --json\n",
    .options = CLI_OPTIONS(
        CLI_OPTION(WHOLE, demo, n, "--size", "N", .minimum = 1, .maximum = 100000, .value = "1500",
                   .help = "rows and columns of the matrices; the sum has 4000 N numbers")),
    .common = CLI_COMMON_DEVICES | CLI_COMMON_SEED | CLI_COMMON_THREADS | CLI_COMMON_JSON | CLI_COMMON_QUIET,
    .state = sizeof(demo),
    .read = load,
    .run = run,
    .print = print,
    .report = report,
    .release = release,
};
