/* SPDX-License-Identifier: Apache-2.0 */
/* Scans on a GPU without one: the kernels of offload/kernel/scan.inc thread by thread, all teams at the same
 * time, against the reference. */
#include "tests/emulator.h"
/* The source under test. */
#define dvt_builtin_scans emulated_builtin_scans
#include "offload/scan.c"
#define dvt_sum_scan_shapes emulated_sum_scan_shapes
#include "offload/scan_shapes.c"
#include "ref/ref.h"
#include "tests/elements.h"

const emulator_kernel emulator_kernels[] = {{0}}; /* bodies are run directly */

typedef struct launch {
  int64_t n, modes;
  const void *x, *carry_in;
  const uint8_t *flags;
  uint64_t *sums, *prefixes;
  void *carry_out, *y;
} launch;

#define BODY(type, T)                                                                                        \
  static void run_##type(void *argument) {                                                                   \
    const launch *l = argument;                                                                              \
    dvt_##type##_sum_scan_body(l->n, l->x, l->flags, l->sums, l->prefixes, l->carry_in, l->carry_out, l->y,  \
                               l->modes, l->flags);                                                          \
  }
BODY(float, float)
BODY(double, double)
BODY(int64, int64_t)

/* The other shapes of a sum: their bodies in the order of the table. */
#define SHAPED_BODY(type, T, shape)                                                                          \
  static void run_##type##_##shape(void *argument) {                                                         \
    const launch *l = argument;                                                                              \
    dvt_##type##_sum_##shape##_scan_body(l->n, l->x, NULL, l->sums, l->prefixes, l->carry_in, l->carry_out,  \
                                         l->y, l->modes, false);                                             \
  }
#define SHAPED_BODIES(type, T)                                                                               \
  SHAPED_BODY(type, T, 2_8)                                                                                  \
  SHAPED_BODY(type, T, 8_8)                                                                                  \
  SHAPED_BODY(type, T, 4_4)                                                                                  \
  SHAPED_BODY(type, T, 8_4)                                                                                  \
  SHAPED_BODY(type, T, 4_16)                                                                                 \
  static void (*const shaped_##type[DVT_SCAN_SHAPES])(void *) = {                                            \
      run_##type##_2_8, run_##type##_8_8, run_##type##_4_4, run_##type##_8_4, run_##type##_4_16};
SHAPED_BODIES(float, float)
SHAPED_BODIES(double, double)
SHAPED_BODIES(int64, int64_t)

typedef struct scan_case {
  davit_type type;
  davit_scan_kind kind;
  int64_t n, shift; /* elements by which x and y are off a multiple of 16 bytes */
  bool segmented, carried;
  int shape; /* of those beside the usual one, which is -1 */
} scan_case;

/* Elements whose sums are exact, and zeros of both signs, with heads here and there. */
static void fill(const scan_case *c, void *x, uint8_t *flags, uint64_t *seed) {
  const bool zeros = is_floating(c->type) && random_below(seed, 2);
  for (int64_t i = 0; i < c->n; i++) {
    const double value = random_below(seed, 100) - 50;
    element_set(c->type, x, i, !zeros ? value : random_below(seed, 900) ? -0.0 : 0.0);
    flags[i] = random_below(seed, 700) == 0;
  }
}

/* The reference's result for x with the carry before it. */
static void refer(const scan_case *c, const void *carry, const void *x, const uint8_t *flags, void *y) {
  const size_t element = davit_type_bytes(c->type), bytes = (size_t)c->n * element;
  char *longer = kept(bytes + element), *result = kept(bytes + element);
  uint8_t *marks = kept_zeros((size_t)c->n + 1);
  const int64_t before = c->carried;
  memcpy(longer, carry, element);
  memcpy(longer + (size_t)before * element, x, bytes);
  memcpy(marks + before, flags, (size_t)c->n);
  dvt_ref_scan(DAVIT_SUM, c->type, c->kind, c->n + before, longer, c->segmented ? marks : NULL, result);
  memcpy(y, result + (size_t)before * element, bytes);
}

static void expect_scan(const scan_case *c, uint64_t *seed) {
  SCOPE;
  const dvt_builtin_scan *kernel = &emulated_builtin_scans[DAVIT_SUM][c->type];
  const size_t element = davit_type_bytes(c->type), bytes = (size_t)(c->n + c->shift) * element;
  const dvt_scan_shape usual = {.threads = kernel->threads, .tile = kernel->tile},
                       *shape = c->shape < 0 ? &usual : &emulated_sum_scan_shapes[c->type][c->shape];
  const int64_t tiles = (c->n + shape->tile - 1) / shape->tile;
  char *x = (char *)kept(bytes) + (size_t)c->shift * element,
       *y = (char *)kept(bytes) + (size_t)c->shift * element;
  uint8_t *flags = kept((size_t)c->n);
  char carry[8], *should = kept(bytes);
  uint64_t *slots = kept_zeros(2 * (size_t)tiles * kernel->slot_bytes);
  fill(c, x, flags, seed);
  element_set(c->type, carry, 0, -0.0);
  refer(c, carry, x, flags, should);
  const bool exclusive = c->kind == DAVIT_SCAN_EXCLUSIVE;
  launch l = {.n = c->n,
              .modes = exclusive | (c->shift == 0) << 1 | (exclusive && !c->carried) << 2,
              .x = x,
              .carry_in = c->carried ? carry : NULL,
              .flags = c->segmented ? flags : NULL,
              .sums = slots,
              .prefixes = slots + (size_t)tiles * kernel->slot_bytes / sizeof *slots,
              .y = y};
  void (*const *bodies)(void *) = c->type == DAVIT_FLOAT    ? shaped_float
                                  : c->type == DAVIT_DOUBLE ? shaped_double
                                                            : shaped_int64;
  void (*body)(void *) = c->type == DAVIT_FLOAT    ? run_float
                         : c->type == DAVIT_DOUBLE ? run_double
                                                   : run_int64;
  emulator_run_together((int)tiles + 1, shape->threads, c->shape < 0 ? body : bodies[c->shape], &l);
  char label[120];
  snprintf(label, sizeof label, "type %d kind %d n %lld shift %lld segmented %d carried %d shape %d",
           (int)c->type, (int)c->kind, (long long)c->n, (long long)c->shift, c->segmented, c->carried,
           c->shape);
  expect_elements(c->type, c->n, y, should, label);
}

CASE(test_other_shapes) {
  static const davit_type types[] = {DAVIT_FLOAT, DAVIT_DOUBLE, DAVIT_INT64};
  static const int64_t sizes[] = {1, 33, 2048, 4097, 9000, 16385};
  uint64_t seed = 32;
  for (int shape = 0; shape < DVT_SCAN_SHAPES; shape++)
    for (int turn = 0; turn < scaled(24); turn++) {
      const scan_case c = {.type = types[turn % 3],
                           .kind = (davit_scan_kind)(turn / 3 % 2),
                           .n = sizes[random_below(&seed, COUNT(sizes))],
                           .shift = random_below(&seed, 2),
                           .carried = random_below(&seed, 2),
                           .shape = shape};
      expect_scan(&c, &seed);
    }
}

CASE(test_against_reference) {
  static const davit_type types[] = {DAVIT_FLOAT, DAVIT_DOUBLE, DAVIT_INT64};
  static const int64_t sizes[] = {1, 2, 33, 500, 2048, 4096, 4097, 9000};
  uint64_t seed = 31;
  for (int turn = 0; turn < scaled(160); turn++) {
    const scan_case c = {.type = types[turn % 3],
                         .kind = (davit_scan_kind)(turn / 2 % 2),
                         .n = sizes[random_below(&seed, COUNT(sizes))],
                         .shift = random_below(&seed, 2),
                         .segmented = random_below(&seed, 2),
                         .carried = random_below(&seed, 3) == 0,
                         .shape = -1};
    expect_scan(&c, &seed);
  }
}
