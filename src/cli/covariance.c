/* SPDX-License-Identifier: Apache-2.0 */
/* davit covariance: the covariance matrix of the columns of a data set. */
#include <davit/covariance.h>
#include <math.h>

#include "ref/blas.h"
#include "ref/ref.h"
#include "src/cli/formats/compare.h"
#include "src/cli/frame/job.h"

typedef struct covariance {
  cli_job job;
  const char *d_path;
  cli_output mean_output;
  cli_real_or_choice divisor_given, mean_divisor_given;
  bool packed;
  double mean_divisor, divisor;
  cli_array d, mean, s;
  cli_array centred, full; /* of the reference: C, and S that is not packed */
} covariance;

/* ---- operands ---- */

enum { ROWS = 1, ROWS_LESS_1 };

static int set_divisor(const covariance *c, const char *name, const cli_real_or_choice *given,
                       double *value) {
  const double less = given->chosen == ROWS_LESS_1 ? 1 : 0;
  *value = given->chosen ? (double)c->d.shape[0] - less : given->value;
  if (given->chosen && *value <= 0)
    return cli_shape_fail(c->d_path, &c->d, "at least %s for the divisor %s", less > 0 ? "2 rows" : "1 row",
                          less > 0 ? "rows-1" : "rows");
  if (*value == 0 || isnan(*value) || isinf(c->d.type == CLI_F8 ? 1 / *value : (double)(float)(1 / *value)))
    return cli_fail(CLI_USAGE, "--%s cannot be %g: 1 / %g is beyond the range of %s", name, *value, *value,
                    cli_type_name(c->d.type));
  return CLI_OK;
}

/* Elements of the strict upper triangle. */
static int64_t packed_count(int64_t cols) {
  return cols % 2 ? (cols - 1) / 2 * cols : cols / 2 * (cols - 1);
}

/* The reference needs memory for C, and has no packed form. */
static int create_scratch(covariance *c, cli_type type) {
  const int64_t rows = c->d.shape[0], cols = c->d.shape[1];
  CLI_TRY(cli_array_create(type, 2, rows, cols, CLI_MEMORY_PLAIN, &c->centred));
  return cli_array_create(type, 2, cols, cols, CLI_MEMORY_PLAIN, &c->full);
}

static int prepare(void *state) {
  covariance *c = state;
  const double rows = (double)c->d.shape[0], cols = (double)c->d.shape[1];
  c->job.rate.amount = rows * cols * (cols + 1);
  CLI_TRY(set_divisor(c, "divisor", &c->divisor_given, &c->divisor));
  return set_divisor(c, "mean-divisor", &c->mean_divisor_given, &c->mean_divisor);
}

static int create(void *state) {
  covariance *c = state;
  const int64_t cols = c->d.shape[1];
  cli_restore(&c->mean, NULL);
  CLI_TRY(c->packed ? cli_array_create(c->d.type, 1, packed_count(cols), 1, c->job.memory, &c->s)
                    : cli_array_create(c->d.type, 2, cols, cols, c->job.memory, &c->s));
  return c->job.devices.reference ? create_scratch(c, c->d.type) : CLI_OK;
}

/* ---- work ---- */

/* lds of the full S; the packed form does not read it. */
static int64_t leading(const covariance *c) {
  return c->d.shape[1] > 0 ? c->d.shape[1] : 1;
}

static davit_status by_reference(covariance *c, void *s) {
  const cli_operand d = cli_operand_of(&c->d, false);
  void *full = c->packed ? c->full.data : s;
#define COMPUTE(l, T)                                                                                        \
  dvt_ref_##l##covariance(d.trans, d.op_rows, d.op_cols, c->d.data, d.ld, c->mean_divisor, c->divisor,       \
                          c->mean.data, c->centred.data, d.ld, full, leading(c))
  CLI_OF_PRECISION(c->d.type, COMPUTE);
  return c->packed ? davit_covariance_pack(cli_number_type(c->d.type), d.op_cols, full, leading(c), s, NULL)
                   : DAVIT_SUCCESS;
}

static davit_status work(void *state, cli_array *s, bool reference) {
  covariance *c = state;
  const cli_operand d = cli_operand_of(&c->d, false);
  if (reference)
    return by_reference(c, s->data);
  const davit_covariance_options options = {.mean_divisor = c->mean_divisor,
                                            .divisor = c->divisor,
                                            .form =
                                                c->packed ? DAVIT_COVARIANCE_PACKED : DAVIT_COVARIANCE_FULL,
                                            CLI_DEVICES(c)};
  return davit_covariance(cli_number_type(c->d.type), d.trans, d.op_rows, d.op_cols, c->d.data, d.ld,
                          c->mean.data, NULL, d.ld, s->data, leading(c), &options);
}

/* ---- check ---- */

static long double square(long double x) {
  return x * x;
}

/* 2-norms over the columns that are finite, of the sums of C and of |D|. */
typedef struct column_norms {
  long double sums, magnitudes;
} column_norms;

/* The CPU reference adds from left to right, where the error of a sum of numbers of one sign grows with their
 * count. */
static long double growth_of(const covariance *c) {
  const long double rows = (long double)c->d.shape[0];
  return c->job.devices.reference ? rows : sqrtl(rows + 2);
}

/* The error of the means of columns whose sums of |D| have the 2-norm `magnitude`. Reciprocals of divisors
 * and means may each lose the smallest normal number to underflow. */
static long double mean_error(const covariance *c, long double magnitude, int64_t cols) {
  const long double least = (long double)cli_smallest(c->d.type), eps = (long double)cli_epsilon(c->d.type);
  return (eps * growth_of(c) / (long double)fabs(c->mean_divisor) + least) * magnitude +
         least * sqrtl((long double)cols);
}

/* How large the 2-norm of a column of C may be, by its own and the error of its mean; infinite if the sum,
 * the mean or an element of C may overflow. */
static long double reach_of(const covariance *c, const cli_running *sum, long double norm) {
  const int64_t rows = c->d.shape[0];
  const long double largest = sum->magnitude * (1 + 1 / (long double)fabs(c->mean_divisor));
  return cli_overflows(c->d.type, largest, rows)
             ? (long double)INFINITY
             : norm + sqrtl((long double)rows) * mean_error(c, sum->magnitude, 1);
}

/* C in double, from means in long double; and of each column what it may reach. */
static column_norms centre(covariance *c, long double *reach) {
  const int64_t rows = c->d.shape[0], row = cli_array_row_stride(&c->d), col = cli_array_col_stride(&c->d);
  long double sums = 0, magnitudes = 0;
  double *to = c->centred.data;
  for (int64_t j = 0; j < c->d.shape[1]; j++) {
    cli_running running = cli_running_start(DAVIT_SUM);
    for (int64_t i = 0; i < rows; i++)
      cli_running_add(&running, cli_number(&c->d, i * row + j * col));
    const long double sum = cli_running_value(&running), mean = sum / (long double)c->mean_divisor;
    long double squares = 0;
    for (int64_t i = 0; i < rows; i++) {
      const long double centred = cli_number(&c->d, i * row + j * col) - mean;
      squares += square(centred);
      *to++ = (double)centred;
    }
    reach[j] = reach_of(c, &running, isfinite(mean) ? sqrtl(squares) : 0);
    if (isfinite(mean)) {
      sums += square(sum - (long double)rows * mean);
      magnitudes += square(running.magnitude);
    }
  }
  return (column_norms){.sums = sqrtl(sums), .magnitudes = sqrtl(magnitudes)};
}

/* Frobenius norm of the difference between S, full or packed, and the reference, which has the lower
 * triangle. By Cauchy and Schwarz no partial result of an element is beyond the product of what its columns
 * reach. */
static double distance(const covariance *c, const long double *reach) {
  const int64_t rows = c->d.shape[0], cols = c->d.shape[1];
  const long double scale = fmaxl(1, 1 / (long double)fabs(c->divisor));
  const double *lower = c->full.data;
  long double sum = 0;
  for (int64_t j = 0; j < cols; j++)
    for (int64_t i = j; i < cols; i++) {
      const double wanted = lower[i + j * cols];
      const bool overflows = cli_overflows(c->d.type, reach[i] * reach[j] * scale, rows);
      if (!c->packed)
        sum += square((long double)cli_error(c->d.type, wanted, cli_number(&c->s, i + j * cols), overflows));
      if (i > j) {
        const int64_t upper = c->packed ? davit_covariance_packed_index(cols, j, i) : j + i * cols;
        sum += square((long double)cli_error(c->d.type, wanted, cli_number(&c->s, upper), overflows));
      }
    }
  return (double)sqrtl(sum);
}

/* The product has the bound of gemm. The error of the means, e for all columns together, shifts whole
 * columns of C, so it changes the product by sums of columns. Products and elements of S may each lose the
 * smallest normal number to underflow. */
static double bound(const covariance *c, const column_norms *columns) {
  const long double rows = (long double)c->d.shape[0], cols = (long double)c->d.shape[1],
                    eps = (long double)cli_epsilon(c->d.type), least = (long double)cli_smallest(c->d.type),
                    norm = (long double)cli_norm(&c->centred, CLI_NONFINITE_PASSES);
  const long double e = mean_error(c, columns->magnitudes, c->d.shape[1]);
  const long double absolute =
      3 * (eps * sqrtl(rows + 2) * norm * norm + 2 * e * columns->sums + rows * e * e + least * rows * cols);
  return cli_bound(0, absolute / (long double)fabs(c->divisor) + least * (norm * norm + cols));
}

#define MEASURE(growth)                                                                                      \
  "||S - S_ref||_F <= 3 (eps sqrt(rows + 2) ||C||_F^2 + 2 e ||v||_2 + rows e^2) / |divisor|, e = "           \
  "eps " growth " ||w||_2 / |mean divisor|, v and w the sums of the columns of C and |D|; and underflow"

static int check(void *state, cli_check *check) {
  covariance *c = state;
  const int64_t rows = c->d.shape[0], cols = c->d.shape[1];
  column_norms columns = {0};
  long double *reach;
  CLI_ROOM(&c->job, reach, cols);
  cli_array_free(&c->centred);
  cli_array_free(&c->full);
  CLI_TRY(create_scratch(c, CLI_F8));
  cli_restore(&c->full, NULL);
  if (c->d.bytes) {
    columns = centre(c, reach);
    const dvt_level3 product = dvt_rank_k_of(DAVIT_DOUBLE, 'L', 'T', cols, rows, 1 / c->divisor,
                                             c->centred.data, rows, 0, c->full.data, cols);
    dvt_level3_host(&(dvt_site){.threads = dvt_threads()}, &product);
  }
  *check = (cli_check){.measure = c->job.devices.reference ? MEASURE("rows") : MEASURE("sqrt(rows + 2)"),
                       .error = distance(c, reach),
                       .bound = bound(c, &columns)};
  return CLI_OK;
}

/* ---- report ---- */

static void report(cli_json *json, const void *state) {
  const covariance *c = state;
  cli_job_report_sizes(json, &c->job);
  cli_json_real(json, "divisor", c->divisor);
  cli_json_real(json, "mean_divisor", c->mean_divisor);
}

/* ---- command ---- */

static const cli_choice divisors[] = {{"rows", ROWS, NULL}, {"rows-1", ROWS_LESS_1, NULL}, {0}};
static const cli_choice mean_divisors[] = {{"rows", ROWS, NULL}, {0}};

const cli_command cli_command_covariance = {
    .name = "covariance",
    .summary = "covariance matrix of the columns of a data set",
    .description = "Computes S = C^T C / divisor, where C is D minus the mean of each column.",
    .examples = "davit covariance D.npy -o S.npy --mean m.npy\n"
                "davit covariance D.npy --divisor rows --packed -o p.npy\n",
    .operands =
        CLI_PLACES(CLI_PLACE(covariance, d_path, "D", "a float64 or float32 matrix; rows are observations")),
    .options = CLI_OPTIONS(
        CLI_RESULT_OPTION("S"),
        CLI_OPTION(OUTPUT, covariance, mean_output, "--mean", "FILE", .array = offsetof(covariance, mean),
                   .help = "write the means; with -o, both files are written or neither"),
        CLI_OPTION(REAL, covariance, divisor_given, "--divisor", "X", .choices = divisors, .value = "rows-1",
                   .help = "divisor of the products, not 0"),
        CLI_OPTION(REAL, covariance, mean_divisor_given, "--mean-divisor", "X", .choices = mean_divisors,
                   .value = "rows", .help = "divisor of the column sums for the means, not 0"),
        CLI_OPTION(
            FLAG, covariance, packed, "--packed", NULL,
            .help = "write only the elements above the diagonal, row by row: S[numpy.triu_indices(n, 1)]")),
    .common = CLI_COMMON_RAW | CLI_COMMON_ARRAYS,
    .small_bytes = 1 << 20,
    .state = sizeof(covariance),
    .arrays = CLI_ARRAYS(CLI_OPERAND(covariance, d, FLOATING, "rc"),
                         CLI_CREATED(covariance, mean, "c", .scratch = true), CLI_FREED(covariance, s),
                         CLI_FREED(covariance, centred), CLI_FREED(covariance, full)),
    .result = offsetof(covariance, s),
    .sizes = {"rows", "cols"},
    .unit = CLI_GFLOPS,
    .prepare = prepare,
    .create = create,
    .work = work,
    .check = check,
    .report = report,
};
