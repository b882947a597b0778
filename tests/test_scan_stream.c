/* SPDX-License-Identifier: Apache-2.0 */
/* Scans on a GPU without one: the kernels of offload/kernel/scan.inc thread by thread, all teams at the same
 * time, against the reference. */
#include "tests/emulator.h"
/* The source under test. */
#define dvt_builtin_scans emulated_builtin_scans
#include "offload/scan.c"
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
    if (l->modes & 8)                                                                                        \
      dvt_##type##_sum_scan_body(l->n, l->x, l->flags, l->sums, l->prefixes, l->carry_in, l->carry_out,      \
                                 l->y, l->modes, l->flags, true);                                            \
    else                                                                                                     \
      dvt_##type##_sum_scan_body(l->n, l->x, l->flags, l->sums, l->prefixes, l->carry_in, l->carry_out,      \
                                 l->y, l->modes, l->flags, false);                                           \
  }
BODY(float, float)
BODY(double, double)
BODY(int64, int64_t)

typedef struct scan_case {
  davit_type type;
  davit_scan_kind kind;
  int64_t n, shift; /* elements by which x and y are off a multiple of 16 bytes */
  bool segmented, carried;
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

/* What a kernel must give: the reference's result, or, where sums round, that of the CPU. */
static void expect_scan(const scan_case *c, bool rough, uint64_t *seed) {
  SCOPE;
  const dvt_builtin_scan *kernel = &emulated_builtin_scans[DAVIT_SUM][c->type];
  const size_t element = davit_type_bytes(c->type), bytes = (size_t)(c->n + c->shift) * element;
  const int64_t tiles = (c->n + kernel->tile - 1) / kernel->tile;
  char *x = (char *)kept(bytes) + (size_t)c->shift * element,
       *y = (char *)kept(bytes) + (size_t)c->shift * element;
  uint8_t *flags = kept((size_t)c->n);
  char carry[8], *should = kept(bytes);
  uint64_t *slots = kept_zeros(2 * (size_t)tiles * kernel->slot_bytes);
  fill(c, x, flags, seed);
  element_set(c->type, carry, 0, rough ? 0.7 : -0.0);
  if (rough)
    memcpy(x, rough_data(DAVIT_SUM, c->type, c->n, next_random(seed)), (size_t)c->n * element);
  else
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
  void (*body)(void *) = c->type == DAVIT_FLOAT    ? run_float
                         : c->type == DAVIT_DOUBLE ? run_double
                                                   : run_int64;
  emulator_run_together((int)tiles + 1, kernel->threads, body, &l);
  if (rough) /* any number of threads */
    kernel->scan(&(davit_monoid_task){.threads = 1 + random_below(seed, 4),
                                      .n = c->n,
                                      .x = x,
                                      .flags = l.flags,
                                      .carry_in = l.carry_in,
                                      .y = should,
                                      .modes = l.modes});
  char label[120];
  snprintf(label, sizeof label, "type %d kind %d n %lld shift %lld segmented %d carried %d", (int)c->type,
           (int)c->kind, (long long)c->n, (long long)c->shift, c->segmented, c->carried);
  expect_elements(c->type, c->n, y, should, label);
}

/* Sums that round, over several tiles, and once over more than a group of 32. */
CASE(test_bits_of_the_cpu) {
  uint64_t seed = 33;
  for (int turn = 0; turn < 13; turn++) {
    const davit_type type = turn % 2 ? DAVIT_FLOAT : DAVIT_DOUBLE;
    const int64_t tile = emulated_builtin_scans[DAVIT_SUM][type].tile, tiles = turn == 12 ? 33 : turn / 4;
    const scan_case c = {.type = type,
                         .kind = (davit_scan_kind)(turn / 2 % 2),
                         .n = tiles * tile + 1 + random_below(&seed, (int)tile),
                         .shift = turn % 3 == 0,
                         .segmented = turn % 5 == 1 || turn % 5 == 2,
                         .carried = turn % 4 < 2};
    expect_scan(&c, true, &seed);
  }
}

/* The sums of whole groups, and of what is carried on over them. */
CASE(test_sums_of_groups) {
  uint64_t seed = 35;
  for (int turn = 0; turn < 4; turn++) {
    const davit_type type = turn % 2 ? DAVIT_FLOAT : DAVIT_DOUBLE;
    const dvt_builtin_scan *kernel = &emulated_builtin_scans[DAVIT_SUM][type];
    const int64_t tiles = 64, n = tiles * kernel->tile;
    const bool segmented = turn / 2;
    uint8_t *flags = kept_zeros((size_t)n);
    flags[n / 3] = 1;
    double sums[2], should[2];
    launch l = {.n = n,
                .modes = 8 | 2,
                .x = rough_data(DAVIT_SUM, type, n, next_random(&seed)),
                .flags = segmented ? flags : NULL,
                .sums = kept_zeros((size_t)tiles * kernel->slot_bytes),
                .y = sums};
    emulator_run_together((int)tiles + kernel->sum_teams, kernel->threads,
                          type == DAVIT_FLOAT ? run_float : run_double, &l);
    kernel->scan(
        &(davit_monoid_task){.threads = 2, .n = n, .x = l.x, .flags = l.flags, .y = should, .modes = 8});
    expect_elements(type, 2, sums, should, segmented ? "segmented" : "plain");
  }
}

typedef struct carry {
  int64_t count;
  const double *in, *sums;
  double *out;
} carry;

static void run_carry(void *argument) {
  const carry *c = argument;
  dvt_double_sum_carry_body(c->count, c->in, c->sums, c->out);
}

CASE(test_carry) {
  static const int64_t counts[] = {1, 2, 127, 1023, 1024, 1025, 3000};
  const double in = 0.7, *sums = rough_data(DAVIT_SUM, DAVIT_DOUBLE, 3000, 36);
  for (int turn = 0; turn < 2 * COUNT(counts); turn++) {
    double should = turn % 2 ? in : -0.0, out;
    carry c = {counts[turn / 2], turn % 2 ? &in : NULL, sums, &out};
    for (int64_t i = 0; i < c.count; i++)
      should += sums[i];
    emulator_run(1, dvt_double_sum_threads, run_carry, &c);
    assert_memory_equal(&out, &should, sizeof out);
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
                         .carried = random_below(&seed, 3) == 0};
    expect_scan(&c, false, &seed);
  }
}
