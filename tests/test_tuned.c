/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the tuning table that operations use: other tiles, chunks and teams give the same results, and where
 * it is promised the same bits. */
#include "src/monoid.h"
#include "src/runtime/tuning.h"
#include "tests/support.h"

/* The minimum values, or larger ones, for all parameters on all devices: sizes by `more`, numbers of threads
 * by 1. */
static void set_all(int more) {
  davit_tuning_parameter parameters[128];
  int count = 0, devices[MAX_PLACES], device_count = all_devices(devices);
  CHECK(davit_tuning_parameters(COUNT(parameters), parameters, &count));
  for (int d = 0; d < device_count; d++)
    for (int i = 0; i < count; i++)
      CHECK(davit_tuning_set(devices[d], parameters[i].capability, parameters[i].parameter,
                             parameters[i].minimum + (parameters[i].maximum > 2048 ? more : more > 0), 0));
}

typedef struct results {
  double reduced;
  double scanned[3], stencil[3], axpy[3], gemv[3], atax[3];
  davit_closest_pair_result pair;
} results;

static void some_of(const double *x, int64_t n, double out[3]) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++)
    sum += x[i] * (double)(i % 97 + 1);
  out[0] = sum;
  out[1] = x[n / 2];
  out[2] = x[n - 1];
}

/* Whole numbers, so that no order of additions matters. */
static results run_all(void) {
  enum { N = 700, LENGTH = N * N }; /* several of the smallest pieces */
  double *a = kept_at(sizeof(double) * LENGTH, DAVIT_PINNED);
  double *b = kept_at(sizeof(double) * LENGTH, DAVIT_PINNED);
  results r;
  for (int i = 0; i < LENGTH; i++)
    a[i] = (double)(i % 13);
  const double coefficients[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  dvt_split_always(true);
  CHECK(davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, LENGTH, a, &r.reduced, NULL));
  CHECK(davit_scan(DAVIT_SUM, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, LENGTH, a, b, NULL));
  dvt_split_always(false);
  some_of(b, LENGTH, r.scanned);
  CHECK(davit_stencil(DAVIT_DOUBLE, N, N, a, N, coefficients, b, N,
                      &(davit_stencil_options){.border = DAVIT_STENCIL_BORDER_COPY}));
  some_of(b, LENGTH, r.stencil);
  CHECK(davit_copy(sizeof(double) * LENGTH, a, b));
  CHECK(davit_daxpy(LENGTH, 2, a, 1, b, 1, NULL));
  some_of(b, LENGTH, r.axpy);
  CHECK(davit_dgemv('N', N, N, 1, a, N, a, 1, 0, b, 1, NULL));
  some_of(b, N, r.gemv);
  CHECK(davit_atax(DAVIT_DOUBLE, 'T', N, N, a, N, a, NULL, b, NULL));
  some_of(b, N, r.atax);
  for (int i = 0; i < LENGTH; i++)
    a[i] = (double)(i * INT64_C(7919) % LENGTH);
  CHECK(davit_closest_pair(DAVIT_DOUBLE, 2, LENGTH / 2, a, &r.pair,
                           &(davit_closest_pair_options){.algorithm = DAVIT_CLOSEST_PAIR_GRID}));
  return r;
}

CASE(test_results_stay) {
  CHECK(davit_tuning_clear());
  results own = run_all();
  for (int more = 0; more < 2000; more += 1001) { /* which is no multiple of anything */
    set_all(more);
    results tuned = run_all();
    assert_memory_equal(&own, &tuned, sizeof own);
    CHECK(davit_tuning_clear());
  }
}

/* ---- bits ---- */

/* What promises the same bits, of data whose sums round. */
typedef struct bits {
  double sum, aligned_off;
  float single;
  double stencil[3];
  float small_stencil[5];
  int32_t scores[40];
  davit_closest_pair_result pair;
  double detected[8];
} bits;

enum { LENGTH = 3 * 16384 + 77, SIDE = 333, TARGETS = 40, FRAMES = 60 * 20, WIDTH = 6 };

static void scores_of(int device, int32_t *scores) {
  static uint8_t symbols[TARGETS * 50];
  int64_t offsets[TARGETS + 1];
  uint64_t seed = 3;
  for (int i = 0; i < COUNT(symbols); i++)
    symbols[i] = (uint8_t)random_below(&seed, 4);
  for (int k = 0; k <= TARGETS; k++)
    offsets[k] = k * 50;
  static const int8_t matrix[16] = {2, -3, -3, -3, -3, 2, -3, -3, -3, -3, 2, -3, -3, -3, -3, 2};
  const davit_align_sequences targets = {.count = TARGETS, .offsets = offsets, .symbols = symbols};
  const davit_align_scoring scoring = {.symbols = 4, .matrix = matrix, .gap_open = 5, .gap_extend = 2};
  davit_align_database *database;
  CHECK(davit_align_database_create(&targets, 4, &database,
                                    &(davit_align_database_options){.devices = &device, .device_count = 1}));
  CHECK(davit_align_scores(database, &scoring, 120, symbols + 25, scores));
  CHECK(davit_align_database_destroy(database));
}

static void detections_of(int device, double *detected) {
  static float stream[FRAMES * WIDTH];
  davit_detect_hit hits[8];
  uint64_t seed = 4;
  for (int i = 0; i < COUNT(stream); i++)
    stream[i] = (float)random_unit(&seed) - 0.3f;
  const davit_detect_effect effect = {40, stream + 100 * WIDTH};
  davit_detector *detector;
  CHECK(davit_detector_create(
      WIDTH, 1, &effect, &detector,
      &(davit_detect_options){
          .window = 150, .permutations = 3000, .round = true, .devices = &device, .device_count = 1}));
  CHECK(davit_detect(detector, FRAMES, stream, hits));
  CHECK(davit_detector_destroy(detector));
  for (int i = 0; i < 8; i++)
    detected[i] = hits[i].score + hits[i].null_mean + hits[i].null_sd;
}

static void stencils_of(int device, bits *b) {
  double *a = kept_at(sizeof(double) * SIDE * (SIDE + 1), device),
         *to = kept_at(sizeof(double) * SIDE * SIDE, device);
  double *home = kept(sizeof(double) * SIDE * SIDE);
  davit_queue *queue = new_queue(device, 1);
  CHECK(davit_random(DAVIT_DOUBLE, SIDE * (SIDE + 1), 2, a));
  const davit_stencil_options options = {.border = DAVIT_STENCIL_BORDER_COPY};
  CHECK(davit_queue_stencil(queue, DAVIT_DOUBLE, SIDE, SIDE, a, SIDE + 1, NULL, to, SIDE, &options));
  CHECK(davit_queue_synchronize(queue));
  CHECK(davit_copy(sizeof(double) * SIDE * SIDE, to, home));
  some_of(home, SIDE * SIDE, b->stencil);
  CHECK(
      davit_queue_stencil(queue, DAVIT_FLOAT, 2 * SIDE, SIDE, a, 2 * SIDE + 2, NULL, to, 2 * SIDE, &options));
  finish(queue);
  CHECK(davit_copy(sizeof(float) * 2 * SIDE * SIDE, to, home));
  const float *small = (const float *)(const void *)home;
  for (int i = 0; i < 5; i++)
    b->small_stencil[i] = small[(i + 1) * 2 * SIDE * SIDE / 6];
}

static bits all_bits(int device) {
  bits b;
  memset(&b, 0, sizeof b);
  double *x = kept_at(sizeof(double) * (LENGTH + 1), device);
  CHECK(davit_random(DAVIT_DOUBLE, LENGTH + 1, 1, x));
  const davit_reduce_options reduce = {.devices = &device, .device_count = 1};
  CHECK(davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, LENGTH, x, &b.sum, &reduce));
  CHECK(davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, LENGTH, x + 1, &b.aligned_off, &reduce));
  CHECK(davit_reduce(DAVIT_SUM, DAVIT_FLOAT, 2 * LENGTH, x, &b.single, &reduce));
  stencils_of(device, &b);
  scores_of(device, b.scores);
  detections_of(device, b.detected);
  CHECK(davit_closest_pair(DAVIT_DOUBLE, 2, LENGTH / 2, x, &b.pair,
                           &(davit_closest_pair_options){
                               .algorithm = DAVIT_CLOSEST_PAIR_GRID, .devices = &device, .device_count = 1}));
  return b;
}

CASE(test_bits_stay) {
  static const struct {
    const char *capability, *parameter;
    int64_t value[5];
  } choices[] = {{"reduce", "teams", {1, 2, 7, 32}},
                 {"reduce", "rows", {2, 4, 5, 8}},
                 {"stencil", "team_threads", {32, 64, 100, 256, 512}},
                 {"stencil", "columns", {4, 7, 8, 16}},
                 {"align", "team_threads", {32, 96, 256}},
                 {"align", "teams", {1, 3}},
                 {"detect", "team_threads", {32, 64, 128, 256}},
                 {"closest_pair", "teams", {1, 5, 64}}};
  int devices[MAX_PLACES];
  const int device = devices[all_devices(devices) > 1]; /* a GPU where there is one */
  CHECK(davit_tuning_clear());
  const bits own = all_bits(device);
  for (int i = 0; i < COUNT(choices); i++)
    for (int k = 0; k < COUNT(choices[i].value) && choices[i].value[k]; k++) {
      CHECK(davit_tuning_set(device, choices[i].capability, choices[i].parameter, choices[i].value[k], 0));
      const bits tuned = all_bits(device);
      if (memcmp(&own, &tuned, sizeof own) != 0)
        fail_msg("%s %s = %d changes bits", choices[i].capability, choices[i].parameter,
                 (int)choices[i].value[k]);
    }
  CHECK(davit_tuning_clear());
}

/* What the kernels take of an NVIDIA device; no other has them. */
CASE(test_kernels) {
  static const char *const names[] = {"reduce",     "scan",  "stencil", "atax",
                                      "covariance", "align", "detect",  "closest_pair"};
  davit_tuning_shape shape;
  int devices[MAX_PLACES];
  const int count = all_devices(devices);
  CHECK(davit_tuning_clear());
  REFUSED(davit_tuning_kernel(DAVIT_HOST, "gemm", &shape), "'gemm'");
  REFUSED(davit_tuning_kernel(DAVIT_HOST, NULL, &shape), "capability");
  REFUSED(davit_tuning_kernel(DAVIT_HOST, "scan", NULL), "shape");
  for (int i = 0; i < COUNT(names); i++)
    for (int d = 0; d < count; d++) {
      davit_device_info info;
      CHECK(davit_device_describe(devices[d], &info));
      if (info.kind != DAVIT_DEVICE_NVIDIA) {
        CHECK_FAILS(davit_tuning_kernel(devices[d], names[i], &shape), DAVIT_UNSUPPORTED, "no NVIDIA device");
        continue;
      }
      CHECK(davit_tuning_kernel(devices[d], names[i], &shape));
      assert_true(shape.threads >= 32 && shape.registers > 0 && shape.teams > 0 && shape.occupancy > 0);
      if (strcmp(names[i], "stencil") == 0) { /* as many threads as the table asks for */
        CHECK(davit_tuning_set(devices[d], "stencil", "team_threads", 256, 0));
        CHECK(davit_tuning_kernel(devices[d], names[i], &shape));
        assert_int_equal(shape.threads, 256);
        CHECK(davit_tuning_clear());
      }
    }
}

static atomic_bool stop;

static void *change_values(void *unused) {
  (void)unused;
  for (int i = 0; !atomic_load(&stop); i++) {
    CHECK(davit_tuning_set(DAVIT_HOST, "axpy", "chunk", 4096 + i % 2, 0));
    if (i % 8 == 0)
      CHECK(davit_tuning_clear());
  }
  return NULL;
}

CASE(test_threads) {
  atomic_store(&stop, false);
  pthread_t thread = start_thread(change_values, NULL);
  for (int i = 0; i < scaled(100000); i++) {
    int64_t value = dvt_tuned(DAVIT_HOST, DVT_TUNE_AXPY_CHUNK, 1);
    assert_true(value == 1 || value == 4096 || value == 4097);
  }
  atomic_store(&stop, true);
  join_thread(thread);
  CHECK(davit_tuning_clear());
}
