/* SPDX-License-Identifier: Apache-2.0 */
/* davit stencil: a 3 × 3 stencil on an image. */
#include <davit/stencil.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "ref/ref.h"
#include "src/cli/frame/job.h"

/* The library's matrices are column-major. A C-order image is in memory the transpose of such a matrix, and
 * its stencil has the transposed coefficients, so no element moves before the result is written. */
typedef struct image {
  cli_job job;
  const char *a_path, *coefficients_path;
  davit_stencil_border border;
  double coefficients[9]; /* for A as it is in memory, column by column */
  cli_array a, b, file;   /* `file`: coefficients */
} image;

/* The nine, column by column: those of the file, or the library's own. */
static int read_coefficients(image *p, double values[9]) {
  const char *path = p->coefficients_path;
  cli_array *file = &p->file;
  memcpy(values, davit_stencil_coefficients, sizeof davit_stencil_coefficients);
  if (!path)
    return CLI_OK;
  const cli_reading other = cli_reading_of_other(&p->job.common.reading);
  CLI_TRY(cli_operand_read(CLI_NUMBERS_REAL, 0, path, &other, CLI_MEMORY_PLAIN, NULL, NULL, file));
  if (file->ndim != 2 || file->shape[0] != 3 || file->shape[1] != 3)
    return cli_shape_fail(path, file, "a matrix of 3 x 3 coefficients");
  for (int i = 0; i < 9; i++) {
    values[i] =
        (double)cli_number(file, i % 3 * cli_array_row_stride(file) + i / 3 * cli_array_col_stride(file));
    if (p->a.type == CLI_F4 && isfinite(values[i]) && fabs(values[i]) > (double)FLT_MAX)
      return cli_fail(CLI_INPUT, "%s: expected coefficients in the range of float32, the type of A, found %g",
                      cli_fail_place(path), values[i]);
  }
  return CLI_OK;
}

/* B has the order of A. */
static int create(void *state) {
  image *p = state;
  double values[9];
  p->b.fortran = p->a.fortran;
  CLI_TRY(read_coefficients(p, values));
  for (int i = 0; i < 9; i++)
    p->coefficients[i] = values[p->a.fortran ? i : i / 3 + i % 3 * 3];
  return CLI_OK;
}

static davit_status work(void *state, cli_array *b, bool reference) {
  const image *p = state;
  const cli_operand a = cli_operand_of(&p->a, false);
  if (!reference)
    return davit_stencil(cli_number_type(p->a.type), a.rows, a.cols, p->a.data, a.ld, p->coefficients,
                         b->data, a.ld, &(davit_stencil_options){.border = p->border, CLI_DEVICES(p)});
#define CONVOLVE(l, T)                                                                                       \
  dvt_ref_##l##stencil(a.rows, a.cols, p->a.data, a.ld, p->coefficients, p->border, b->data, a.ld)
  CLI_OF_PRECISION(b->type, CONVOLVE);
  return DAVIT_SUCCESS;
}

/* Matrices are written in Fortran order. */
static int finish(void *state) {
  image *p = state;
  return p->job.output.path ? cli_array_to_fortran(&p->b) : CLI_OK;
}

static const cli_choice borders[] = {
    {"keep", DAVIT_STENCIL_BORDER_COPY, "copied from A"}, {"zero", DAVIT_STENCIL_BORDER_ZERO, "zeros"}, {0}};

const cli_command cli_command_stencil = {
    .name = "stencil",
    .summary = "3 x 3 stencil (convolution) on a matrix",
    .description =
        "Computes B[i, j] = sum of C[r, c] A[i + r - 1, j + c - 1] over r, c = 0, 1, 2, without flipping C.",
    .examples = "davit stencil A.npy -o B.npy\n"
                "davit stencil A.npy --coefficients C3.npy --border zero -o B.npy\n",
    .operands = CLI_PLACES(CLI_PLACE(image, a_path, "A", "a float64 or float32 matrix")),
    .options = CLI_OPTIONS(
        CLI_RESULT_OPTION("B"),
        CLI_OPTION(
            CHOICE, image, border, "--border", "KIND", .choices = borders, .value = "keep",
            .help = "first and last row and column of B, or all of B if A has fewer than 3 rows or columns"),
        CLI_OPTION(TEXT, image, coefficients_path, "--coefficients", "C",
                   .help = "C, a 3 x 3 matrix of any real type",
                   .otherwise = "the rows 0.2 0.5 -0.8, -0.3 0.6 -0.9, 0.4 0.7 0.1")),
    .common = CLI_COMMON_RAW | CLI_COMMON_ARRAYS,
    .small_bytes = 4 << 20,
    .state = sizeof(image),
    .arrays = CLI_ARRAYS(CLI_OPERAND(image, a, FLOATING, "rc"), CLI_CREATED(image, b, "rc"),
                         CLI_FREED(image, file)),
    .result = offsetof(image, b),
    .sizes = {"rows", "cols"},
    .unit = CLI_GBYTES,
    .create = create,
    .work = work,
    .measure = "count of b_ij != b_ref_ij = 0", /* the bits are the same on every device */
    .finish = finish,
};
