/* SPDX-License-Identifier: Apache-2.0 */
/* davit axpy: z = alpha x + y. */
#include <complex.h>
#include <davit/axpy.h>
#include <float.h>
#include <math.h>

#include "ref/blas.h"
#include "src/cli/blas_options.h"
#include "src/cli/formats/compare.h"
#include "src/cli/frame/job.h"

typedef struct sum {
  cli_job job;
  const char *x_path, *y_path;
  double _Complex alpha;
  cli_array x, y, z;
} sum;

static davit_status work(void *state, cli_array *z, bool reference) {
  const sum *s = state;
  const int64_t n = s->x.shape[0];
  const void *x = s->x.data;
  const davit_axpy_options options = {CLI_DEVICES(s)};
#define ADD(p, T) davit_##p##axpy(n, (T)s->alpha, x, 1, z->data, 1, &options)
  return reference ? dvt_axpy_host(NULL, &(dvt_axpy){cli_number_type(z->type), n, s->alpha, x, 1, z->data, 1})
                   : CLI_OF_FIELD(z->type, ADD);
}

/* Largest error of an element, relative to the magnitudes that were added; NaN if one is NaN. */
static double worst_error(const void *state) {
  const sum *s = state;
  double worst = 0;
  for (int64_t i = 0; i < s->x.shape[0] && !isnan(worst); i++) {
    const long double size =
        cabsl(s->alpha * cli_element(&s->x, i)) + cabsl(cli_element(&s->y, i)) + (long double)DBL_MIN;
    const double error = (double)(cabsl(cli_element(&s->z, i) - cli_element(&s->job.reference, i)) / size);
    worst = error <= worst ? worst : error;
  }
  return worst;
}

/* Each side rounds twice at most, by eps/2 of a number below |alpha x| + |y|; together 2 eps. */
static double bound(const void *state) {
  return 2 * cli_rounding(((const sum *)state)->x.type);
}

const cli_command cli_command_axpy = {
    .name = "axpy",
    .summary = "scaled vector addition, z = alpha x + y",
    .description = "Computes z = alpha x + y.",
    .examples = "davit axpy x.npy y.npy --alpha 0.5 -o z.npy\n",
    .operands = CLI_PLACES(CLI_PLACE(sum, x_path, "X", "a float64, float32, complex128 or complex64 vector"),
                           CLI_PLACE(sum, y_path, "Y", "a vector of the same length and type")),
    .options = CLI_OPTIONS(CLI_RESULT_OPTION("Z"), CLI_ALPHA_OPTION(sum)),
    .common = CLI_COMMON_ARRAYS,
    .small_bytes = 4 << 20,
    .state = sizeof(sum),
    .arrays = CLI_ARRAYS(CLI_OPERAND(sum, x, FIELD, "n"), CLI_OPERAND(sum, y, FIELD, "n"),
                         CLI_CREATED(sum, z, "n")),
    .result = offsetof(sum, z),
    .initial = offsetof(sum, y),
    .sizes = {"n"},
    .unit = CLI_GFLOPS,
    .work = work,
    .measure = "max_i |z_i - z_ref_i| / (|alpha x_i| + |y_i|) <= 2 eps",
    .error = worst_error,
    .bound = bound,
};
