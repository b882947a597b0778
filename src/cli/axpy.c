/* davit axpy: z = alpha x + y. */
#include <davit/axpy.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "ref/ref.h"
#include "src/cli/formats/operand.h"
#include "src/cli/frame/job.h"

typedef struct sum {
  cli_job job;
  cli_array x, y, z;
  cli_array reference; /* z of --check */
  double alpha;
} sum;

/* ---- operands ---- */

typedef struct arguments {
  cli_real alpha;
  const char *paths[2], *output;
} arguments;

static int load(sum *s, const arguments *given) {
  int code = cli_read_vector(given->paths[0], s->job.memory, NULL, &s->x);
  if (code == CLI_OK)
    code = cli_scalar(&given->alpha, "alpha", s->x.type, 1, &s->alpha);
  if (code == CLI_OK)
    code = cli_read_vector(given->paths[1], CLI_MEMORY_PLAIN, &s->x, &s->y);
  if (code != CLI_OK)
    return code;
  if (s->y.shape[0] != s->x.shape[0])
    return cli_shape_fail(given->paths[1], &s->y, "a vector of %" PRId64, s->x.shape[0]);
  return cli_array_create(s->x.type, 1, s->x.shape[0], 1, s->job.memory, &s->z);
}

/* ---- work ---- */

#define DEFINE_ADD(p, T)                                                                                     \
  static davit_status add_##p(const sum *s, cli_array *z, bool reference) {                                  \
    const int64_t n = s->x.shape[0];                                                                         \
    if (!reference)                                                                                          \
      return davit_##p##axpy(                                                                                \
          n, (T)s->alpha, s->x.data, 1, z->data, 1,                                                          \
          &(davit_axpy_options){.devices = s->job.devices.ids, .device_count = s->job.devices.count});       \
    dvt_ref_##p##axpy(n, (T)s->alpha, s->x.data, 1, z->data, 1);                                             \
    return DAVIT_SUCCESS;                                                                                    \
  }                                                                                                          \
  /* Largest error of an element, relative to the magnitudes that were added. */                             \
  static double error_##p(const sum *s) {                                                                    \
    const T *x = s->x.data, *y = s->y.data, *z = s->z.data, *reference = s->reference.data;                  \
    double worst = 0;                                                                                        \
    for (int64_t i = 0; i < s->x.shape[0]; i++) {                                                            \
      const double size = fabs(s->alpha * (double)x[i]) + fabs((double)y[i]) + DBL_MIN;                      \
      const double error = fabs((double)z[i] - (double)reference[i]) / size;                                 \
      worst = error <= worst ? worst : error; /* NaN becomes the worst and stays it */                       \
      if (isnan(worst))                                                                                      \
        break;                                                                                               \
    }                                                                                                        \
    return worst;                                                                                            \
  }
CLI_FOR_PRECISIONS(DEFINE_ADD)
#undef DEFINE_ADD

static void prepare(void *state) {
  sum *s = state;
  cli_restore(&s->z, &s->y);
}

static davit_status work(void *state) {
  sum *s = state;
  return (s->x.type == CLI_F8 ? add_d : add_s)(s, &s->z, s->job.devices.reference);
}

/* Each side rounds twice at most, by eps/2 of a number below |alpha x| + |y|; together 2 eps. */
static int check(void *state, cli_check *check) {
  sum *s = state;
  const int code = cli_array_create(s->x.type, 1, s->x.shape[0], 1, CLI_MEMORY_PLAIN, &s->reference);
  if (code != CLI_OK)
    return code;
  cli_restore(&s->reference, &s->y);
  (s->x.type == CLI_F8 ? add_d : add_s)(s, &s->reference, true);
  *check = (cli_check){.measure = "max_i |z_i - z_ref_i| / (|alpha x_i| + |y_i|) <= 2 eps",
                       .error = (s->x.type == CLI_F8 ? error_d : error_s)(s),
                       .bound = 2 * cli_epsilon(s->x.type)};
  return CLI_OK;
}

/* ---- report ---- */

static double gflops(const sum *s) {
  return 2e-9 * (double)s->x.shape[0] / s->job.seconds;
}

static void print_text(FILE *file, const void *state) {
  const sum *s = state;
  fprintf(file, "n %" PRId64 ", %s\n%.6g s, %.6g GFLOP/s\n", s->x.shape[0], cli_type_name(s->x.type),
          s->job.seconds, gflops(s));
}

static void print_json(cli_json *json, const void *state) {
  const sum *s = state;
  cli_json_real(json, "gflops", gflops(s));
  cli_json_integer(json, "n", s->x.shape[0]);
}

/* ---- command ---- */

static int compute(sum *s, const cli_command *self, const arguments *given) {
  static const cli_job_steps steps = {prepare, work, check, {print_text, print_json}};
  int code = cli_job_open(&s->job, self, given->output);
  if (code == CLI_OK)
    code = load(s, given);
  return code == CLI_OK ? cli_job_run(&s->job, &steps, &s->z, s) : code;
}

static int run(const cli_command *self, int argc, char **argv) {
  sum s = {0};
  arguments given = {0};
  const cli_option options[] = {
      {"o", CLI_OPTION_TEXT, &given.output}, {"alpha", CLI_OPTION_REAL, &given.alpha}, {0}};
  int code = cli_options_parse(self, options, argc, argv, &s.job.common, given.paths, 2);
  if (code == CLI_OK)
    code = compute(&s, self, &given);
  cli_job_close(&s.job);
  cli_array *const arrays[] = {&s.x, &s.y, &s.z, &s.reference};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
    cli_array_free(arrays[i]);
  return code;
}

const cli_command cli_command_axpy = {
    .name = "axpy",
    .summary = "scaled vector addition, z = alpha x + y",
    .usage = "davit axpy X Y [-o Z] [options]\n\n"
             "z = alpha x + y. X and Y are float64 or float32 vectors of one length and type.\n\n"
             "  -o Z             write the result (.npy, or .mtx when the name ends so)\n"
             "  --alpha X        default 1\n",
    .common = CLI_COMMON_NUMERIC,
    .run = run,
};
