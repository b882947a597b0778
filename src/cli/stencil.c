/* davit stencil: a 3 × 3 stencil on an image. */
#include <davit/stencil.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ref/ref.h"
#include "src/cli/formats/compare.h"
#include "src/cli/formats/operand.h"
#include "src/cli/frame/job.h"

/* The library's matrices are column-major. What lies there of a C-order image is its transpose, whose stencil
 * has the transposed coefficients, so no element moves before the result is written. */
typedef struct image {
  cli_job job;
  cli_array a, b;
  cli_array reference;    /* b of --check */
  cli_operand matrix;     /* a as it lies there */
  double coefficients[9]; /* for `matrix`, column by column */
  davit_stencil_border border;
} image;

/* ---- operands ---- */

typedef struct arguments {
  const char *path, *border, *coefficients, *output;
} arguments;

static int parse_border(const char *text, davit_stencil_border *border) {
  *border = DAVIT_STENCIL_BORDER_COPY;
  if (!text || !strcmp(text, "keep"))
    return CLI_OK;
  *border = DAVIT_STENCIL_BORDER_ZERO;
  return strcmp(text, "zero") ? cli_fail(CLI_USAGE, "--border takes keep or zero, not '%s'", text) : CLI_OK;
}

static int load(image *p, const arguments *given) {
  const int code = cli_read_matrix(given->path, p->job.memory, NULL, &p->a);
  if (code != CLI_OK)
    return code;
  p->matrix = cli_operand_of(&p->a, false);
  const int created = cli_array_create(p->a.type, 2, p->a.shape[0], p->a.shape[1], p->job.memory, &p->b);
  p->b.fortran = p->a.fortran;
  return created;
}

/* The nine, column by column: those of the file, or the library's own. */
static int read_coefficients(const char *path, cli_type type, double values[9]) {
  cli_array file;
  memcpy(values, davit_stencil_coefficients, sizeof davit_stencil_coefficients);
  if (!path)
    return CLI_OK;
  int code = cli_read_numbers(path, CLI_MEMORY_PLAIN, &file);
  if (code == CLI_OK && (file.ndim != 2 || file.shape[0] != 3 || file.shape[1] != 3))
    code = cli_shape_fail(path, &file, "a matrix of 3 x 3 coefficients");
  for (int i = 0; code == CLI_OK && i < 9; i++) {
    values[i] =
        (double)cli_number(&file, i % 3 * cli_array_row_stride(&file) + i / 3 * cli_array_col_stride(&file));
    if (type == CLI_F4 && isfinite(values[i]) && fabs(values[i]) > (double)FLT_MAX)
      code = cli_fail(CLI_INPUT, "%s: expected coefficients in the range of float32 as the image, found %g",
                      path, values[i]);
  }
  cli_array_free(&file);
  return code;
}

static int load_coefficients(image *p, const arguments *given) {
  double values[9];
  const int code = read_coefficients(given->coefficients, p->a.type, values);
  for (int i = 0; code == CLI_OK && i < 9; i++)
    p->coefficients[i] = values[p->a.fortran ? i : i / 3 + i % 3 * 3];
  return code;
}

/* ---- work ---- */

static davit_status convolve(const image *p, cli_array *b, bool reference) {
  const cli_operand *a = &p->matrix;
  if (!reference)
    return davit_stencil(
        cli_number_type(p->a.type), a->rows, a->cols, p->a.data, a->ld, p->coefficients, b->data, a->ld,
        &(davit_stencil_options){
            .border = p->border, .devices = p->job.devices.ids, .device_count = p->job.devices.count});
  if (p->a.type == CLI_F8)
    dvt_ref_dstencil(a->rows, a->cols, p->a.data, a->ld, p->coefficients, p->border, b->data, a->ld);
  else
    dvt_ref_sstencil(a->rows, a->cols, p->a.data, a->ld, p->coefficients, p->border, b->data, a->ld);
  return DAVIT_SUCCESS;
}

static void prepare(void *state) {
  image *p = state;
  cli_restore(&p->b, NULL);
}

static davit_status work(void *state) {
  image *p = state;
  return convolve(p, &p->b, p->job.devices.reference);
}

/* The bits are the same on every device. */
static int check(void *state, cli_check *check) {
  image *p = state;
  const int code =
      cli_array_create(p->a.type, 2, p->a.shape[0], p->a.shape[1], CLI_MEMORY_PLAIN, &p->reference);
  if (code != CLI_OK)
    return code;
  cli_restore(&p->reference, NULL);
  convolve(p, &p->reference, true);
  *check = (cli_check){.measure = "count of b_ij != b_ref_ij = 0",
                       .error = (double)cli_differences(&p->b, &p->reference)};
  return CLI_OK;
}

/* ---- report ---- */

static double gbytes_per_s(const image *p) {
  return 1e-9 * (double)(p->a.bytes + p->b.bytes) / p->job.seconds;
}

static void print_text(FILE *file, const void *state) {
  const image *p = state;
  fprintf(file, "A %" PRId64 " x %" PRId64 ", %s\n%.6g s, %.6g GB/s\n", p->a.shape[0], p->a.shape[1],
          cli_type_name(p->a.type), p->job.seconds, gbytes_per_s(p));
}

static void print_json(cli_json *json, const void *state) {
  const image *p = state;
  cli_json_integer(json, "rows", p->a.shape[0]);
  cli_json_integer(json, "cols", p->a.shape[1]);
  cli_json_real(json, "gbytes_per_s", gbytes_per_s(p));
}

/* ---- command ---- */

static int compute(image *p, const cli_command *self, const arguments *given) {
  static const cli_job_report report = {print_text, print_json};
  int code = cli_job_open(&p->job, self, given->output);
  if (code == CLI_OK)
    code = load(p, given);
  if (code == CLI_OK)
    code = load_coefficients(p, given);
  if (code == CLI_OK)
    code = cli_job_measure(&p->job, work, prepare, p);
  if (code == CLI_OK)
    code = cli_job_reference(&p->job, check, p);
  if (code == CLI_OK && given->output)
    code = cli_array_to_fortran(&p->b);
  return code == CLI_OK ? cli_job_finish(&p->job, &p->b, &report, p) : code;
}

static int run(const cli_command *self, int argc, char **argv) {
  image p = {0};
  arguments given = {0};
  const cli_option options[] = {{"o", CLI_OPTION_TEXT, &given.output},
                                {"border", CLI_OPTION_TEXT, &given.border},
                                {"coefficients", CLI_OPTION_TEXT, &given.coefficients},
                                {0}};
  int code = cli_options_parse(self, options, argc, argv, &p.job.common, &given.path, 1);
  if (code == CLI_OK)
    code = parse_border(given.border, &p.border);
  if (code == CLI_OK)
    code = compute(&p, self, &given);
  cli_job_close(&p.job);
  cli_array *const arrays[] = {&p.a, &p.b, &p.reference};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
    cli_array_free(arrays[i]);
  return code;
}

const cli_command cli_command_stencil = {
    .name = "stencil",
    .summary = "3 x 3 stencil (convolution) on a matrix",
    .usage = "davit stencil A [-o B] [options]\n\n"
             "B[i, j] = sum of C[r, c] A[i + r - 1, j + c - 1] over r, c = 0, 1, 2; no flipping. A is a "
             "float64 or\n"
             "float32 matrix.\n\n"
             "  -o B             write the result (.npy, or .mtx when the name ends so)\n"
             "  --border KIND    first and last row and column of B: keep (default), those of A, or zero\n"
             "  --coefficients C 3 x 3 numbers of any type (default: rows 0.2 0.5 -0.8, -0.3 0.6 -0.9, 0.4 "
             "0.7 0.1)\n",
    .common = CLI_COMMON_NUMERIC,
    .run = run,
};
