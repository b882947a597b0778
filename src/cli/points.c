/* davit points: random points.
 *
 * Point i depends on the kind, the seed and i alone, by Philox (ref/philox.h) and operations that IEEE 754 rounds
 * correctly: the same bits everywhere.
 *
 * Uniform points are all different. A coordinate is one of 2^b values, b = 24 for float32, 53 for float64; the
 * first two of point i are what a Feistel network with Philox as its round function makes of i, a permutation of the 2^2b
 * pairs. So there is no more to keep or to look up than for points that may be equal. Normal coordinates are
 * Marsaglia's polar method (1964), drawn again until they are within [-1, 1]. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/philox.h"
#include "src/cli/formats/compare.h"
#include "src/cli/frame/old_job.h"

typedef enum kind { UNIFORM, SIGNED, NORMAL, KINDS } kind;

static const char *const kind_names[KINDS] = {"uniform", "signed", "normal"};

typedef struct generator {
  cli_old_job job;
  cli_array points;
  kind kind;
  cli_type type;
  int64_t n;
  int dim;
  double sigma;
} generator;

/* ---- numbers ---- */

/* What a block of random words is for, so that no two are the same. */
enum { FEISTEL = 1, REST, SIGN, DRAW, ROUNDS = 6 };

static dvt_philox_block words(uint64_t i, uint32_t purpose, uint32_t number, uint64_t seed) {
  dvt_philox_block counter = {{(uint32_t)i, (uint32_t)(i >> 32), number, purpose}};
  return dvt_philox(counter, (uint32_t)seed, (uint32_t)(seed >> 32));
}

static uint64_t first_word(dvt_philox_block block) {
  return (uint64_t)block.word[1] << 32 | block.word[0];
}

/* Numbers in (0, 1] of `bits` bits each: at[0] and at[1] are other ones for every i. */
static void draw_uniform(uint64_t i, int bits, int dim, uint64_t seed, double at[3]) {
  const uint64_t mask = (UINT64_C(1) << bits) - 1;
  uint64_t number[3] = {i & mask, i >> bits, 0};
  for (uint32_t round = 0; round < ROUNDS; round++) {
    const uint64_t next = number[0] ^ (first_word(words(number[1], FEISTEL, round, seed)) & mask);
    number[0] = number[1];
    number[1] = next;
  }
  number[2] = first_word(words(i, REST, 0, seed)) & mask;
  for (int k = 0; k < dim; k++)
    at[k] = ldexp((double)(number[k] + 1), -bits);
}

static void draw_signed(uint64_t i, int bits, int dim, uint64_t seed, double at[3]) {
  const uint32_t signs = words(i, SIGN, 0, seed).word[0];
  draw_uniform(i, bits, dim, seed, at);
  for (int k = 0; k < dim; k++)
    at[k] = signs >> k & 1 ? -at[k] : at[k];
}

/* The natural logarithm, by the series of the area tangent: the same bits with any library. */
static double logarithm(double x) {
#pragma STDC FP_CONTRACT OFF
  enum { TERMS = 12 };
  int exponent;
  double m = frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2;
    exponent--;
  }
  const double s = (m - 1) / (m + 1), square = s * s;
  double sum = 0;
  for (int term = TERMS; term >= 0; term--)
    sum = sum * square + 1.0 / (2 * term + 1);
  return (double)exponent * 0.69314718055994531 + 2 * s * sum;
}

/* In [0, 1). */
static double fraction(uint32_t high, uint32_t low) {
  return (double)((uint64_t)high << 21 | low >> 11) * 0x1p-53;
}

static double draw_normal(uint64_t i, uint32_t axis, double sigma, uint64_t seed) {
#pragma STDC FP_CONTRACT OFF
  for (uint32_t attempt = 0;; attempt++) {
    const dvt_philox_block w = words(i, DRAW + axis, attempt, seed);
    const double u = 2 * fraction(w.word[0], w.word[1]) - 1, v = 2 * fraction(w.word[2], w.word[3]) - 1;
    const double r = u * u + v * v;
    if (!(r > 0 && r < 1))
      continue;
    const double value = sigma * (u * sqrt(-2 * logarithm(r) / r));
    if (fabs(value) <= 1)
      return value;
  }
}

static void draw(const generator *g, int64_t i, double at[3]) {
  const int bits = g->type == CLI_F4 ? 24 : 53;
  const uint64_t seed = g->job.common.seed, index = (uint64_t)i;
  if (g->kind == UNIFORM)
    draw_uniform(index, bits, g->dim, seed, at);
  else if (g->kind == SIGNED)
    draw_signed(index, bits, g->dim, seed, at);
  else
    for (int k = 0; k < g->dim; k++)
      at[k] = draw_normal(index, (uint32_t)k, g->sigma, seed);
}

/* ---- work ---- */

static void prepare(void *state) {
  (void)state;
}

static davit_status work(void *state) {
  const generator *g = state;
#pragma omp parallel for num_threads(cli_threads()) schedule(static)
  for (int64_t i = 0; i < g->n; i++) {
    double at[3];
    draw(g, i, at);
    for (int k = 0; k < g->dim; k++)
      if (g->type == CLI_F4)
        ((float *)g->points.data)[i + k * g->n] = (float)at[k];
      else
        ((double *)g->points.data)[i + k * g->n] = at[k];
  }
  return DAVIT_SUCCESS;
}

/* ---- report ---- */

static void print_text(FILE *file, const void *state) {
  const generator *g = state;
  fprintf(file, "%lld points, %d-D, %s, %s\n%.6g s\n", (long long)g->n, g->dim, kind_names[g->kind],
          cli_type_name(g->type), g->job.seconds);
}

static void print_json(cli_json *json, const void *state) {
  const generator *g = state;
  cli_json_string(json, "kind", kind_names[g->kind]);
  cli_json_integer(json, "n", g->n);
  cli_json_integer(json, "dim", g->dim);
}

/* ---- command ---- */

typedef struct arguments {
  const char *output, *kind, *type;
  int64_t n, dim;
  cli_old_real sigma;
} arguments;

static int read_kind(const char *text, kind *found) {
  *found = UNIFORM;
  while (text && *found < KINDS && strcmp(text, kind_names[*found]))
    ++*found;
  return *found < KINDS ? CLI_OK
                        : cli_fail(CLI_USAGE, "--kind takes uniform, signed or normal, not '%s'", text);
}

static int read_arguments(generator *g, const arguments *given) {
  const int code = read_kind(given->kind, &g->kind);
  if (code != CLI_OK)
    return code;
  if (!given->n)
    return cli_fail(CLI_USAGE, "-n is missing");
  if (!given->output)
    return cli_fail(CLI_USAGE, "-o is missing");
  if (given->dim != 2 && given->dim != 3)
    return cli_fail(CLI_USAGE, "--dim takes 2 or 3, not %lld", (long long)given->dim);
  if (given->type && strcmp(given->type, "float32") && strcmp(given->type, "float64"))
    return cli_fail(CLI_USAGE, "--type takes float32 or float64, not '%s'", given->type);
  if (given->sigma.given && g->kind != NORMAL)
    return cli_fail(CLI_USAGE, "--sigma is for --kind normal");
  if (given->sigma.given && !(given->sigma.value > 0 && given->sigma.value <= 10))
    return cli_fail(CLI_USAGE, "--sigma takes a number above 0, at most 10");
  g->type = given->type && !strcmp(given->type, "float64") ? CLI_F8 : CLI_F4;
  if (g->type == CLI_F4 && g->kind != NORMAL && given->n > INT64_C(1) << 48)
    return cli_fail(CLI_USAGE, "there are no more than 2^48 different points in float32");
  g->n = given->n;
  g->dim = (int)given->dim;
  g->sigma = given->sigma.given ? given->sigma.value : 1;
  return CLI_OK;
}

static int generate(generator *g, const cli_command *self, const char *output) {
  static const cli_old_job_steps steps = {prepare, work, NULL, {print_text, print_json}};
  g->job.common.devices = "cpu";
  int code = cli_old_job_open(&g->job, self, output);
  if (code == CLI_OK)
    code = cli_array_create(g->type, 2, g->n, g->dim, CLI_MEMORY_PLAIN, &g->points);
  return code == CLI_OK ? cli_old_job_run(&g->job, &steps, &g->points, g) : code;
}

static int run(const cli_command *self, int argc, char **argv) {
  generator g = {0};
  arguments given = {.dim = 2};
  const cli_old_option options[] = {{"n", CLI_OLD_SIZE, &given.n},
                                    {"o", CLI_OLD_TEXT, &given.output},
                                    {"kind", CLI_OLD_TEXT, &given.kind},
                                    {"sigma", CLI_OLD_REAL, &given.sigma},
                                    {"dim", CLI_OLD_SIZE, &given.dim},
                                    {"type", CLI_OLD_TEXT, &given.type},
                                    {0}};
  int code = cli_old_parse(self, options, argc, argv, &g.job.common, NULL, 0);
  if (code == CLI_OK)
    code = read_arguments(&g, &given);
  if (code == CLI_OK)
    code = generate(&g, self, given.output);
  cli_old_job_close(&g.job);
  cli_array_free(&g.points);
  return code;
}

const cli_command cli_command_points = {
    .name = "points",
    .summary = "random points",
    .usage = "davit points -n N -o P [options]\n\n"
             "N random points, an N x 2 or N x 3 matrix. The same seed gives the same points everywhere.\n\n"
             "  -n N             points\n"
             "  -o P             the file (.npy, or .mtx or .csv when the name ends so)\n"
             "  --kind KIND      uniform (default): in (0, 1], no two alike; signed: in [-1, 0) and (0, 1], "
             "no two\n"
             "                   alike; normal: around 0, within [-1, 1]\n"
             "  --sigma X        standard deviation of normal, above 0 and at most 10 (default 1)\n"
             "  --dim D          2 (default) or 3 dimensions\n"
             "  --type TYPE      float32 (default) or float64\n",
    .common = CLI_COMMON_JSON | CLI_COMMON_SEED | CLI_COMMON_QUIET,
    .old_run = run,
};
