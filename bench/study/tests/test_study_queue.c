/* SPDX-License-Identifier: Apache-2.0 */
/* dgemm, dgemv and daxpy by tiles over queues, against plain loops: whole numbers, so that every order of
 * summation gives the same bits. Each problem runs twice with other operands, so that what a missing wait would
 * leave in a tile is wrong. */
#include "bench/study/queue/tiled.h"
#include "bench/study/tests/study.h"

typedef struct problem {
  study_routine routine;
  int64_t n, counts[3];
  study_operands operands;
  double *memory[3], *wanted; /* the three in pinned memory, as the library's queues want it */
} problem;

static problem new_problem(study_routine routine, int64_t n) {
  problem p = {.routine = routine, .n = n};
  study_tiled_counts(routine, n, p.counts);
  for (int x = 0; x < 3; x++)
    p.memory[x] = kept_at((size_t)p.counts[x] * sizeof(double) + 1, DAVIT_PINNED);
  p.wanted = kept((size_t)p.counts[2] * sizeof(double));
  return p;
}

static void fill(problem *p, uint64_t *seed) {
  for (int x = 0; x < 3; x++)
    for (int64_t i = 0; i < p->counts[x]; i++)
      p->memory[x][i] = random_below(seed, 11) - 5;
  p->operands = (study_operands){.alpha = 1 + random_below(seed, 3),
                                 .beta = random_below(seed, 4) - 1,
                                 .a = p->memory[0],
                                 .b = p->memory[1],
                                 .c = p->memory[2]};
  if (p->operands.beta == 0 && p->routine != STUDY_DAXPY)
    for (int64_t i = 0; i < p->counts[2]; i++)
      p->memory[2][i] = NAN;
}

static double product_at(const problem *p, int64_t i, int64_t j) {
  const study_operands *o = &p->operands;
  double sum = 0;
  if (p->routine == STUDY_DAXPY)
    return o->a[i];
  for (int64_t k = 0; k < p->n; k++)
    sum += o->a[i + k * p->n] * o->b[k + j * p->n];
  return sum;
}

static void expect_after(const problem *p) {
  const study_operands *o = &p->operands;
  const double beta = p->routine == STUDY_DAXPY ? 1 : o->beta;
  for (int64_t at = 0; at < p->counts[2]; at++)
    p->wanted[at] = o->alpha * product_at(p, at % p->n, at / p->n) + (beta == 0 ? 0 : beta * o->c[at]);
}

static void run_twice(problem *p, study_tiled *tiled, uint64_t *seed) {
  for (int run = 0; run < 2; run++) {
    fill(p, seed);
    expect_after(p);
    CHECK(study_tiled_run(tiled, &p->operands));
    for (int64_t i = 0; i < p->counts[2]; i++)
      if (!(p->operands.c[i] == p->wanted[i]))
        fail_msg("%s, n %lld, run %d: element %lld is %g, not %g", study_routine_names[p->routine],
                 (long long)p->n, run, (long long)i, p->operands.c[i], p->wanted[i]);
  }
}

/* The first devices, or the CPU. */
static int some_devices(int count, int *devices) {
  for (int i = 0; i < count && i < device_count(); i++)
    devices[i] = i;
  if (device_count() == 0)
    devices[0] = DAVIT_HOST;
  return device_count() == 0 ? 1 : count < device_count() ? count : device_count();
}

static const study_routine routines[] = {STUDY_DGEMM, STUDY_DGEMV, STUDY_DAXPY};

CASE(test_routines) {
  static const int64_t sizes[] = {1, 37, 130};
  static const int subqueues[] = {1, 2, 4, 8}, counts[] = {1, 2, 3};
  uint64_t seed = 1;
  EACH(study_routine, routine, routines)
    EACH(int64_t, n, sizes)
      EACH(int, subqueue, subqueues)
        EACH(int, count, counts) {
          SCOPE;
          int devices[3];
          problem p = new_problem(routine, n);
          const study_tiled_options options = {devices, some_devices(count, devices), subqueue,
                                               1 + random_below(&seed, (int)n)};
          study_tiled *tiled;
          if (n > options.tile * 12) /* thousands of tiles take long on the host's devices */
            continue;
          CHECK(study_tiled_open(routine, n, &options, &tiled));
          run_twice(&p, tiled, &seed);
          CHECK(study_tiled_close(tiled));
        }
}

/* Chosen tiles; of dgemm an eighth, in bounds, of the others a quarter. */
CASE(test_tiles) {
  uint64_t seed = 2;
  assert_int_equal(study_tiled_tile(STUDY_DGEMM, 16384), 2048);
  assert_int_equal(study_tiled_tile(STUDY_DGEMM, 600), 512);
  assert_int_equal(study_tiled_tile(STUDY_DGEMM, 100000), 4096);
  assert_int_equal(study_tiled_tile(STUDY_DGEMV, 32768), 8192);
  assert_int_equal(study_tiled_tile(STUDY_DGEMV, 65536), 8192);
  assert_int_equal(study_tiled_tile(STUDY_DAXPY, 524289), 131073);
  EACH(study_routine, routine, routines) {
    SCOPE;
    int devices[2];
    problem p = new_problem(routine, 70);
    const study_tiled_options options = {devices, some_devices(2, devices), 2, 0};
    study_tiled *tiled;
    CHECK(study_tiled_open(routine, 70, &options, &tiled));
    run_twice(&p, tiled, &seed);
    CHECK(study_tiled_close(tiled));
  }
}

CASE(test_bad_arguments) {
  int devices[] = {DAVIT_HOST, 12345};
  study_tiled *tiled = NULL;
  REFUSED(study_tiled_open(STUDY_DGEMM, 0, &(study_tiled_options){devices, 1, 1, 0}, &tiled), "n is 0");
  REFUSED(study_tiled_open(STUDY_DGEMM, 9, &(study_tiled_options){devices, 0, 1, 0}, &tiled),
          "device_count is 0");
  REFUSED(study_tiled_open(STUDY_DGEMM, 9, &(study_tiled_options){devices, 17, 1, 0}, &tiled),
          "device_count is 17");
  REFUSED(study_tiled_open(STUDY_DGEMM, 9, &(study_tiled_options){devices, 1, 65, 0}, &tiled), "subqueues");
  REFUSED(study_tiled_open(STUDY_DGEMM, 9, &(study_tiled_options){devices, 1, 1, -1}, &tiled), "tile is -1");
  CHECK_FAILS(study_tiled_open(STUDY_DGEMM, 9, &(study_tiled_options){devices, 2, 1, 0}, &tiled),
              DAVIT_UNKNOWN_DEVICE, "12345");
  assert_null(tiled);
  CHECK(study_tiled_close(NULL));
}

/* ---- failures ---- */

static davit_status use_tiles(void *argument) {
  enum { N = 40 };
  static double a[N * N], b[N * N], c[N * N];
  const study_operands operands = {1, 0, a, b, c};
  int devices[2];
  study_tiled *tiled;
  (void)argument;
  const study_tiled_options options = {devices, some_devices(2, devices), 2, 16};
  DVT_TRY(study_tiled_open(STUDY_DGEMM, N, &options, &tiled));
  const davit_status status = study_tiled_run(tiled, &operands);
  const davit_status end = study_tiled_close(tiled);
  return status == DAVIT_SUCCESS ? end : status;
}

CASE(test_failures) {
  fail_everywhere(use_tiles, NULL);
}
