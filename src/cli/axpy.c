/* SPDX-License-Identifier: Apache-2.0 */
/* davit axpy: z = alpha x + y. */
#include <complex.h>
#include <davit/axpy.h>
#include <float.h>
#include <math.h>

#include "ref/blas.h"
#include "src/cli/blas_options.h"
#include "src/cli/formats/compare.h"
#include "src/cli/formats/operand.h"
#include "src/cli/frame/job.h"

typedef struct sum {
  cli_job job;
  const char *x_path, *y_path;
  cli_output output;
  double _Complex alpha;
  cli_array x, y, z;
} sum;

static int load(void *state) {
  sum *s = state;
  int code =
      cli_read_vector(CLI_COMPLEX_NUMBERS, s->x_path, &s->job.common.reading, s->job.memory, NULL, &s->x);
  if (code == CLI_OK)
    code = cli_check_scalar("alpha", s->alpha, s->x.type);
  if (code == CLI_OK)
    code = cli_read_vector_of(CLI_COMPLEX_NUMBERS, s->x.shape[0], s->y_path, &s->job.common.reading,
                              CLI_MEMORY_PLAIN, &s->x, &s->y);
  s->job.rate = (cli_rate){CLI_GFLOPS, cli_flops(s->x.type) * (double)s->x.shape[0]};
  return code == CLI_OK ? cli_array_create(s->x.type, 1, s->x.shape[0], 1, s->job.memory, &s->z) : code;
}

#define DEFINE_ADD(p, T)                                                                                     \
  static davit_status add_##p(const sum *s, T *z, bool reference) {                                          \
    const int64_t n = s->x.shape[0];                                                                         \
    if (!reference)                                                                                          \
      return davit_##p##axpy(n, (T)s->alpha, s->x.data, 1, z, 1, &(davit_axpy_options){CLI_DEVICES(s)});     \
    return dvt_axpy_host(NULL, &(dvt_axpy){cli_number_type(s->x.type), n, s->alpha, s->x.data, 1, z, 1});    \
  }
CLI_FOR_FIELDS(DEFINE_ADD)
#undef DEFINE_ADD

static davit_status work(void *state, cli_array *z, bool reference) {
  const sum *s = state;
  return CLI_CALL_FIELD(s->x.type, add, s, z->data, reference);
}

/* Largest error of an element, relative to the magnitudes that were added; NaN if one is NaN. */
static double worst_error(const sum *s) {
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
static int check(void *state, cli_check *check) {
  sum *s = state;
  const int code = cli_job_reference(&s->job);
  if (code == CLI_OK)
    *check = (cli_check){.measure = "max_i |z_i - z_ref_i| / (|alpha x_i| + |y_i|) <= 2 eps",
                         .error = worst_error(s),
                         .bound = 2 * cli_rounding(s->x.type)};
  return code;
}

static void report(cli_json *json, const void *state) {
  const sum *s = state;
  cli_json_integer(json, "n", s->x.shape[0]);
}

const cli_command cli_command_axpy = {
    .name = "axpy",
    .summary = "scaled vector addition, z = alpha x + y",
    .description = "Computes z = alpha x + y.",
    .examples = "davit axpy x.npy y.npy --alpha 0.5 -o z.npy\n",
    .operands = CLI_PLACES(CLI_PLACE(sum, x_path, "X", "a float64, float32, complex128 or complex64 vector"),
                           CLI_PLACE(sum, y_path, "Y", "a vector of the same length and type")),
    .options = CLI_OPTIONS(CLI_RESULT_OPTION(sum, "Z"), CLI_ALPHA_OPTION(sum)),
    .common = CLI_COMMON_TABLE | CLI_COMMON_COMPUTE | CLI_COMMON_FORCE,
    .small_bytes = 4 << 20,
    .state = sizeof(sum),
    CLI_ARRAYS(sum, x, z),
    .result = offsetof(sum, z),
    .initial = offsetof(sum, y),
    .read = load,
    .work = work,
    .check = check,
    .report = report,
};
