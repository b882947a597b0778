/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions on a GPU without one: the kernels of offload/kernel/tree.inc thread by thread, bit for bit
 * against the same tree on the CPU. */
#include "tests/emulator.h"
/* The source under test. */
#define dvt_builtin_reduces emulated_builtin_reduces
#include "offload/reduce.c"
#include "tests/elements.h"

const emulator_kernel emulator_kernels[] = {{0}}; /* bodies are run directly */

typedef struct launch {
  int64_t n, stop;
  const void *x;
  void *levels, *result;
  uint32_t *counters;
  int rows;
} launch;

enum { SECTIONS = 16 /* rows in flight of teams that have a section each; of one tile, of the one team */ };

/* Rows in flight are constants where a kernel is compiled. Without `rows` the teams share the tiles. */
#define BODY(type, op)                                                                                       \
  static void run_##type##_##op(void *argument) {                                                            \
    const launch *l = argument;                                                                              \
    if (l->rows == SECTIONS && l->n <= dvt_##type##_##op##_reduce_tile)                                      \
      dvt_##type##_##op##_reduce_one(l->n, l->x, l->result);                                                 \
    else if (l->rows == SECTIONS)                                                                            \
      dvt_##type##_##op##_reduce_sections(l->n, l->x, l->levels, l->counters, l->result);                    \
    else if (l->rows == 0)                                                                                   \
      dvt_##type##_##op##_reduce_shares(l->n, l->x, l->levels, l->counters, l->result, l->stop, 8);          \
    else if (l->rows == 2)                                                                                   \
      dvt_##type##_##op##_reduce_body(l->n, l->x, l->levels, l->counters, l->result, l->stop, 2);            \
    else if (l->rows == 4)                                                                                   \
      dvt_##type##_##op##_reduce_body(l->n, l->x, l->levels, l->counters, l->result, l->stop, 4);            \
    else                                                                                                     \
      dvt_##type##_##op##_reduce_body(l->n, l->x, l->levels, l->counters, l->result, l->stop, 8);            \
  }
BODY(float, sum)
BODY(double, sum)
BODY(float, max)
BODY(int32, prod)

static const struct {
  davit_operator op;
  davit_type type;
  void (*body)(void *argument);
} kernels[] = {{DAVIT_SUM, DAVIT_FLOAT, run_float_sum},
               {DAVIT_SUM, DAVIT_DOUBLE, run_double_sum},
               {DAVIT_MAX, DAVIT_FLOAT, run_float_max},
               {DAVIT_PROD, DAVIT_INT32, run_int32_prod}};

static void *elements_of(davit_operator op, davit_type type, int64_t n, bool zeros, uint64_t seed) {
  void *x = is_floating(type) ? rough_data(op, type, n, seed) : exact_data(op, type, n, seed);
  for (int64_t i = 0; i < n && zeros; i++)
    element_set(type, x, i, -0.0);
  return x;
}

/* A launch: what `davit tune` may choose. */
typedef struct way {
  int teams, rows; /* teams 0: one for each tile */
} way;

static void expect_reduction(int k, int64_t n, int64_t shift, int64_t stop, bool zeros, way how,
                             uint64_t *seed) {
  SCOPE;
  const davit_type type = kernels[k].type;
  const dvt_builtin_reduce *kernel = &emulated_builtin_reduces[kernels[k].op][type];
  const size_t element = davit_type_bytes(type);
  const int64_t tiles = (n + kernel->tile - 1) / kernel->tile, values = tiles * kernel->tile_groups + 2;
  const char *x = elements_of(kernels[k].op, type, n + shift, zeros, next_random(seed));
  x += (size_t)shift * element;
  char should[8], result[8], *levels = kept((size_t)values * element),
                             *right = kept((size_t)values * element);
  uint32_t counters[4] = {0};
  kernel->task(&(davit_monoid_task){
      .device = DAVIT_HOST, .threads = 2, .n = n, .x = x, .levels = right, .result = should, .stop = stop});
  launch l = {.n = n,
              .stop = stop,
              .x = x,
              .levels = levels,
              .result = result,
              .counters = counters,
              .rows = how.rows};
  const bool sections = how.rows == SECTIONS && tiles > 1;
  emulator_run(sections                         ? (int)tiles * kernel->tile_sections
               : how.teams && how.teams < tiles ? how.teams
                                                : (int)tiles,
               sections ? kernel->section_threads : kernel->threads, kernels[k].body, &l);
  char label[120];
  snprintf(label, sizeof label, "kernel %d n %lld shift %lld stop %lld teams %d rows %d", k, (long long)n,
           (long long)shift, (long long)stop, how.teams, how.rows);
  expect_elements(type, stop ? tiles : 1, stop ? levels : result, stop ? right : should, label);
  for (int i = 0; i < COUNT(counters); i++)
    assert_int_equal(counters[i], 0);
  if (zeros && !stop)
    assert_true(signbit(element_at(type, result, 0)));
}

CASE(test_same_bits_as_the_cpu) {
  static const int64_t sizes[] = {1, 2, 31, 1023, 16384, 16385, 32768, 32769, 70001};
  static const way ways[] = {{0, 4}, {1, 0}, {0, 2}, {0, 8}, {2, 0}, {3, 0}};
  uint64_t seed = 41;
  for (int k = 0; k < COUNT(kernels); k++)
    for (int s = 0; s < COUNT(sizes); s++)
      for (int64_t turn = 0; turn < 4; turn++) {
        const bool zeros = kernels[k].op == DAVIT_SUM && turn % 2;
        expect_reduction(k, sizes[s], turn / 2, turn == 3, zeros, ways[turn], &seed);
        expect_reduction(k, sizes[s], 0, 0, zeros, ways[2 + turn], &seed);
        expect_reduction(k, sizes[s], turn / 2, 0, zeros, (way){0, SECTIONS}, &seed);
      }
}

/* As many tiles as the teams of sections take, and one less, with a last one of any length. */
CASE(test_many_sections) {
  uint64_t seed = 43;
  for (int k = 0; k < COUNT(kernels); k++) {
    const int64_t most =
        DVT_REDUCE_SHORT_TILES * emulated_builtin_reduces[kernels[k].op][kernels[k].type].tile;
    expect_reduction(k, most, 0, 0, false, (way){0, SECTIONS}, &seed);
    expect_reduction(k, most - 30001, k % 2, 0, false, (way){0, SECTIONS}, &seed);
  }
}
