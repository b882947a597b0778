/* SPDX-License-Identifier: Apache-2.0 */
/* davit points: random points.
 *
 * Point i depends on the kind, the seed and i alone, by Philox (ref/philox.h) and operations that IEEE 754
 * rounds correctly, so the bits are the same everywhere.
 *
 * Uniform points are all different. A coordinate is one of 2^b values, b = 24 for float32 and 53 for
 * float64. The first two coordinates of point i are the image of i under a Feistel network with Philox as
 * its round function, which is a permutation of the 2^2b pairs. So distinct points need no memory and no
 * look-up. Normal coordinates follow Marsaglia's polar method (1964) and are drawn again until they are
 * within [-1, 1]. */
#include <math.h>

#include "ref/philox.h"
#include "src/cli/frame/job.h"

typedef enum kind { UNIFORM, SIGNED, NORMAL } kind;

typedef struct generator {
  cli_job job;
  kind kind;
  cli_type type;
  int64_t n;
  int dim;
  double sigma;
  cli_array points;
} generator;

/* ---- numbers ---- */

/* What a block of random words is for; no block is used twice. */
enum { FEISTEL = 1, REST, SIGN, DRAW, ROUNDS = 6 };

static dvt_philox_block words(uint64_t i, uint32_t purpose, uint32_t number, uint64_t seed) {
  dvt_philox_block counter = {{(uint32_t)i, (uint32_t)(i >> 32), number, purpose}};
  return dvt_philox(counter, (uint32_t)seed, (uint32_t)(seed >> 32));
}

static uint64_t first_word(dvt_philox_block block) {
  return (uint64_t)block.word[1] << 32 | block.word[0];
}

/* Numbers in (0, 1] of `bits` bits each. The pairs (at[0], at[1]) of any two i differ. */
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

/* The natural logarithm by the series of artanh: the same bits with any library. */
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

static davit_status work(void *state, cli_array *points, bool reference) {
  const generator *g = state;
  (void)reference; /* there is one way */
#pragma omp parallel for num_threads(dvt_threads()) schedule(static)
  for (int64_t i = 0; i < g->n; i++) {
    double at[3];
    draw(g, i, at);
    for (int k = 0; k < g->dim; k++)
      if (g->type == CLI_F4)
        ((float *)points->data)[i + k * g->n] = (float)at[k];
      else
        ((double *)points->data)[i + k * g->n] = at[k];
  }
  return DAVIT_SUCCESS;
}

/* ---- command ---- */

static int load(void *state) {
  generator *g = state;
  if (cli_job_given(&g->job, "--sigma") && g->kind != NORMAL)
    return cli_fail(CLI_USAGE, "--sigma needs --kind normal");
  if (g->type == CLI_F4 && g->kind != NORMAL && g->n > INT64_C(1) << 48)
    return cli_fail(CLI_USAGE, "float32 has only 2^48 different points");
  return cli_array_create(g->type, 2, g->n, g->dim, CLI_MEMORY_PLAIN, &g->points);
}

static const cli_choice kinds[] = {{"uniform", UNIFORM, "in (0, 1], all different"},
                                   {"signed", SIGNED, "in [-1, 0) and (0, 1], all different"},
                                   {"normal", NORMAL, "around 0, within [-1, 1]"},
                                   {0}};
static const cli_choice types[] = {{"float32", CLI_F4, NULL}, {"float64", CLI_F8, NULL}, {0}};

static void report(cli_json *json, const void *state) {
  const generator *g = state;
  cli_json_string(json, "kind", cli_choice_name(kinds, (int)g->kind));
  cli_json_integer(json, "n", g->n);
  cli_json_integer(json, "dim", g->dim);
}

const cli_command cli_command_points = {
    .name = "points",
    .summary = "random points",
    .description = "Generates N random points, as an N x 2 or N x 3 matrix. The same seed gives the same "
                   "points everywhere.",
    .examples = "davit points -n 1e5 -o P.npy\n"
                "davit points -n 1000 --kind normal --sigma 0.1 --dim 3 --seed 7 -o P.csv\n",
    .options = CLI_OPTIONS(CLI_OPTION(WHOLE, generator, n, "-n", "N", .minimum = 1, .required = true,
                                      .help = "number of points"),
                           CLI_OPTION(OUTPUT, generator, job.output, "-o", "P", .required = true,
                                      .help = "write the points: " CLI_ARRAY_FORMATS),
                           CLI_OPTION(CHOICE, generator, kind, "--kind", "KIND", .choices = kinds,
                                      .value = "uniform", .help = "distribution of the points"),
                           CLI_OPTION(REAL, generator, sigma, "--sigma", "X", .maximum = 10, .above = true,
                                      .value = "1", .help = "standard deviation of normal points"),
                           CLI_OPTION(WHOLE, generator, dim, "--dim", "D", .minimum = 2, .maximum = 3,
                                      .value = "2", .help = "dimensions"),
                           CLI_OPTION(CHOICE, generator, type, "--type", "TYPE", .choices = types,
                                      .value = "float32", .help = "type of the coordinates")),
    .common = CLI_COMMON_THREADS | CLI_COMMON_RUN | CLI_COMMON_SEED | CLI_COMMON_FORCE,
    .state = sizeof(generator),
    .arrays = CLI_ARRAYS(CLI_FREED(generator, points)),
    .result = offsetof(generator, points),
    .read = load,
    .work = work,
    .report = report,
};
