/* davit covariance: the covariance matrix of the columns of a data set. */
#include <davit/covariance.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ref/ref.h"
#include "src/cli/formats/compare.h"
#include "src/cli/formats/operand.h"
#include "src/cli/frame/job.h"

typedef struct covariance {
  cli_job job;
  cli_array d, mean, s;
  cli_array centred, full; /* of the reference: C, and S that is not packed */
  cli_operand matrix;
  double mean_divisor, divisor;
  davit_covariance_form triangle;
} covariance;

/* ---- operands ---- */

/* "rows", "rows-1" or a number. */
typedef struct divisor {
  bool from_rows;
  double value; /* what is subtracted from the rows, or the number */
} divisor;

typedef struct arguments {
  const char *path, *output, *mean, *divisor_text, *mean_divisor_text;
  divisor divisor, mean_divisor;
  bool packed;
} arguments;

static int parse_divisor(const char *name, const char *text, bool less, divisor *d) {
  *d = (divisor){.from_rows = !strcmp(text, "rows") || (less && !strcmp(text, "rows-1")),
                 .value = strcmp(text, "rows-1") ? 0 : 1};
  if (d->from_rows)
    return CLI_OK;
  cli_real number;
  if (!cli_real_parse(text, &number))
    return cli_fail(CLI_USAGE, "--%s takes rows, %sor a number, not '%s'", name, less ? "rows-1 " : "", text);
  if (number.value == 0 || isnan(number.value))
    return cli_fail(CLI_USAGE, "--%s cannot be %s: nothing can be divided by it", name, text);
  d->value = number.value;
  return CLI_OK;
}

static int parse(arguments *given) {
  const char *text = given->divisor_text ? given->divisor_text : "rows-1";
  const char *mean_text = given->mean_divisor_text ? given->mean_divisor_text : "rows";
  const int code = parse_divisor("divisor", text, true, &given->divisor);
  return code == CLI_OK ? parse_divisor("mean-divisor", mean_text, false, &given->mean_divisor) : code;
}

static int set_divisor(const covariance *c, const char *name, const char *path, const divisor *d,
                       double *value) {
  *value = d->from_rows ? (double)c->d.shape[0] - d->value : d->value;
  if (d->from_rows && *value <= 0)
    return cli_shape_fail(path, &c->d, "at least %d rows for the divisor %s", d->value > 0 ? 2 : 1,
                          d->value > 0 ? "rows-1" : "rows");
  return isinf(c->d.type == CLI_F8 ? 1 / *value : (double)(float)(1 / *value))
             ? cli_fail(CLI_USAGE, "--%s cannot be %g: 1 / %g is beyond the range of %s", name, *value,
                        *value, cli_type_name(c->d.type))
             : CLI_OK;
}

static int load(covariance *c, const arguments *given) {
  int code = cli_read_matrix(given->path, c->job.memory, NULL, &c->d);
  if (code == CLI_OK)
    code = set_divisor(c, "divisor", given->path, &given->divisor, &c->divisor);
  if (code == CLI_OK)
    code = set_divisor(c, "mean-divisor", given->path, &given->mean_divisor, &c->mean_divisor);
  c->matrix = cli_operand_of(&c->d, false);
  c->triangle = given->packed ? DAVIT_COVARIANCE_PACKED : DAVIT_COVARIANCE_FULL;
  return code;
}

/* Elements of the strict upper triangle. */
static int64_t packed_count(int64_t cols) {
  return cols % 2 ? (cols - 1) / 2 * cols : cols / 2 * (cols - 1);
}

/* The reference wants room for C, and knows no packed form. */
static int create_scratch(covariance *c, cli_type type) {
  const int64_t rows = c->d.shape[0], cols = c->d.shape[1];
  const int code = cli_array_create(type, 2, rows, cols, CLI_MEMORY_PLAIN, &c->centred);
  return code == CLI_OK ? cli_array_create(type, 2, cols, cols, CLI_MEMORY_PLAIN, &c->full) : code;
}

static int create_results(covariance *c) {
  const int64_t cols = c->d.shape[1];
  const bool packed = c->triangle == DAVIT_COVARIANCE_PACKED;
  int code = cli_array_create(c->d.type, 1, cols, 1, CLI_MEMORY_PLAIN, &c->mean);
  if (code == CLI_OK)
    code = packed ? cli_array_create(c->d.type, 1, packed_count(cols), 1, c->job.memory, &c->s)
                  : cli_array_create(c->d.type, 2, cols, cols, c->job.memory, &c->s);
  return code == CLI_OK && c->job.devices.reference ? create_scratch(c, c->d.type) : code;
}

/* ---- work ---- */

/* lds of all of S; it is not read for the packed form. */
static int64_t leading(const covariance *c) {
  return c->d.shape[1] > 0 ? c->d.shape[1] : 1;
}

#define DEFINE_REFERENCE(p, T)                                                                               \
  static void reference_##p(covariance *c, void *s) {                                                        \
    const cli_operand *d = &c->matrix;                                                                       \
    dvt_ref_##p##covariance(d->trans, d->op_rows, d->op_cols, c->d.data, d->ld, c->mean_divisor, c->divisor, \
                            c->mean.data, c->centred.data, d->ld, s, leading(c));                            \
  }
CLI_FOR_PRECISIONS(DEFINE_REFERENCE)
#undef DEFINE_REFERENCE

static davit_status reference(covariance *c) {
  const bool packed = c->triangle == DAVIT_COVARIANCE_PACKED;
  (c->d.type == CLI_F8 ? reference_d : reference_s)(c, packed ? c->full.data : c->s.data);
  return packed ? davit_covariance_pack(cli_number_type(c->d.type), c->d.shape[1], c->full.data, leading(c),
                                        c->s.data, NULL)
                : DAVIT_SUCCESS;
}

static void prepare(void *state) {
  covariance *c = state;
  cli_restore(&c->mean, NULL);
  cli_restore(&c->s, NULL);
}

static davit_status work(void *state) {
  covariance *c = state;
  const cli_operand *d = &c->matrix;
  if (c->job.devices.reference)
    return reference(c);
  return davit_covariance(cli_number_type(c->d.type), d->trans, d->op_rows, d->op_cols, c->d.data, d->ld,
                          c->mean.data, NULL, d->ld, c->s.data, leading(c),
                          &(davit_covariance_options){.mean_divisor = c->mean_divisor,
                                                      .divisor = c->divisor,
                                                      .form = c->triangle,
                                                      .devices = c->job.devices.ids,
                                                      .device_count = c->job.devices.count});
}

/* ---- check ---- */

static long double square(long double x) {
  return x * x;
}

/* Columns that are not finite make no bound. */
static long double finite_square(long double x) {
  return isfinite(x) ? x * x : 0;
}

/* 2-norms over the columns, of the sums of C and of |D|. */
typedef struct column_norms {
  double sums, magnitudes;
} column_norms;

/* C in double, from means in long double. */
static column_norms centre(covariance *c) {
  const int64_t rows = c->d.shape[0], row = cli_array_row_stride(&c->d), col = cli_array_col_stride(&c->d);
  long double sums = 0, magnitudes = 0;
  double *to = c->centred.data;
  for (int64_t j = 0; j < c->d.shape[1]; j++) {
    cli_running running = cli_running_start(DAVIT_SUM);
    for (int64_t i = 0; i < rows; i++)
      cli_running_add(&running, cli_number(&c->d, i * row + j * col));
    const long double sum = running.value + running.rest, mean = sum / (long double)c->mean_divisor;
    for (int64_t i = 0; i < rows; i++)
      *to++ = (double)(cli_number(&c->d, i * row + j * col) - mean);
    sums += finite_square(sum - (long double)rows * mean);
    magnitudes += finite_square(running.magnitude);
  }
  return (column_norms){.sums = (double)sqrtl(sums), .magnitudes = (double)sqrtl(magnitudes)};
}

/* Frobenius norm of the difference of S, all of it or packed, and the reference, of which the lower triangle
 * is there. */
static double distance(const covariance *c) {
  const int64_t cols = c->d.shape[1];
  const double *lower = c->full.data;
  long double sum = 0;
  for (int64_t j = 0; j < cols; j++)
    for (int64_t i = j; i < cols; i++) {
      const double wanted = lower[i + j * cols];
      if (c->triangle == DAVIT_COVARIANCE_FULL)
        sum += square(cli_difference(cli_number(&c->s, i + j * cols), wanted));
      if (i > j)
        sum += square(cli_difference(cli_number(&c->s, c->triangle == DAVIT_COVARIANCE_FULL
                                                           ? j + i * cols
                                                           : davit_covariance_packed_index(cols, j, i)),
                                     wanted));
    }
  return (double)sqrtl(sum);
}

/* The product has the bound of gemm, and so have the means, all together e; that moves whole columns of C, so
 * what it changes in the product are sums of columns. The reference adds from left to right, where the error
 * of a sum of numbers of one sign grows with their count. What may be lost to underflow is the least normal number: in
 * reciprocals of divisors, in products, in means and elements of S. */
static double bound(const covariance *c, const column_norms *columns) {
  const double rows = (double)c->d.shape[0], cols = (double)c->d.shape[1], eps = cli_epsilon(c->d.type),
               least = cli_smallest(c->d.type), norm = cli_norm(&c->centred, CLI_NONFINITE_PASSES);
  const double growth = c->job.devices.reference ? rows : sqrt(rows + 2);
  const double e = (eps * growth / fabs(c->mean_divisor) + least) * columns->magnitudes + least * sqrt(cols);
  return 3 *
             (eps * sqrt(rows + 2) * norm * norm + 2 * e * columns->sums + rows * e * e +
              least * rows * cols) /
             fabs(c->divisor) +
         least * (norm * norm + cols);
}

#define MEASURE(growth)                                                                                      \
  "||S - S_ref||_F <= 3 (eps sqrt(rows + 2) ||C||_F^2 + 2 e ||v||_2 + rows e^2) / |divisor|, e = "           \
  "eps " growth " ||w||_2 / |mean divisor|, v and w the sums of the columns of C and |D|; and underflow"

static int check(void *state, cli_check *check) {
  covariance *c = state;
  const int64_t rows = c->d.shape[0], cols = c->d.shape[1];
  column_norms columns = {0};
  cli_array_free(&c->centred);
  cli_array_free(&c->full);
  const int code = create_scratch(c, CLI_F8);
  if (code != CLI_OK)
    return code;
  cli_restore(&c->full, NULL);
  if (c->d.bytes) {
    columns = centre(c);
    dvt_ref_dsyrk('T', cols, rows, 1 / c->divisor, c->centred.data, rows, c->full.data, cols, cli_threads());
  }
  *check = (cli_check){.measure = c->job.devices.reference ? MEASURE("rows") : MEASURE("sqrt(rows + 2)"),
                       .error = distance(c),
                       .bound = bound(c, &columns)};
  return CLI_OK;
}

/* ---- report ---- */

static double gflops(const covariance *c) {
  const double rows = (double)c->d.shape[0], cols = (double)c->d.shape[1];
  return 1e-9 * rows * cols * (cols + 1) / c->job.seconds;
}

static void print_text(FILE *file, const void *state) {
  const covariance *c = state;
  fprintf(file,
          "%" PRId64 " observations of %" PRId64 " variables, %s, divisor %.17g\n%.6g s, %.6g GFLOP/s\n",
          c->d.shape[0], c->d.shape[1], cli_type_name(c->d.type), c->divisor, c->job.seconds, gflops(c));
}

static void print_json(cli_json *json, const void *state) {
  const covariance *c = state;
  cli_json_real(json, "gflops", gflops(c));
  cli_json_integer(json, "rows", c->d.shape[0]);
  cli_json_integer(json, "cols", c->d.shape[1]);
  cli_json_real(json, "divisor", c->divisor);
  cli_json_real(json, "mean_divisor", c->mean_divisor);
}

/* ---- command ---- */

static int compute(covariance *c, const cli_command *self, const arguments *given) {
  static const cli_job_steps steps = {prepare, work, check, {print_text, print_json}};
  int code = cli_job_open(&c->job, self, given->output);
  if (code == CLI_OK && given->mean)
    code = cli_job_open_second(&c->job, "mean", given->mean, &c->mean);
  if (code == CLI_OK)
    code = load(c, given);
  if (code == CLI_OK)
    code = create_results(c);
  return code == CLI_OK ? cli_job_run(&c->job, &steps, &c->s, c) : code;
}

static int run(const cli_command *self, int argc, char **argv) {
  covariance c = {0};
  arguments given = {0};
  const cli_option options[] = {{"o", CLI_OPTION_TEXT, &given.output},
                                {"divisor", CLI_OPTION_TEXT, &given.divisor_text},
                                {"mean-divisor", CLI_OPTION_TEXT, &given.mean_divisor_text},
                                {"packed", CLI_OPTION_FLAG, &given.packed},
                                {"mean", CLI_OPTION_TEXT, &given.mean},
                                {0}};
  int code = cli_options_parse(self, options, argc, argv, &c.job.common, &given.path, 1);
  if (code == CLI_OK)
    code = parse(&given);
  if (code == CLI_OK)
    code = compute(&c, self, &given);
  cli_job_close(&c.job);
  cli_array *const arrays[] = {&c.d, &c.mean, &c.s, &c.centred, &c.full};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
    cli_array_free(arrays[i]);
  return code;
}

const cli_command cli_command_covariance = {
    .name = "covariance",
    .summary = "covariance matrix of the columns of a data set",
    .usage = "davit covariance D [-o S] [options]\n\n"
             "S = C^T C / divisor, C = D less the mean of each column. D is a float64 or float32 matrix "
             "whose rows\n"
             "are observations.\n\n"
             "  -o S             write the result (.npy, or .mtx when the name ends so)\n"
             "  --divisor X      rows-1 (default), rows or a number\n"
             "  --mean-divisor X sums of columns by this are the means: rows (default) or a number\n"
             "  --packed         write the elements above the diagonal alone, row by row\n"
             "  --mean FILE      write the means\n",
    .common = CLI_COMMON_NUMERIC,
    .run = run,
};
