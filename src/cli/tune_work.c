/* SPDX-License-Identifier: Apache-2.0 */
/* What `davit tune` measures: the table of the searches, and their workloads.
 *
 * Kernels are measured with operands on the device and enqueued on a queue, some calls at a time, so that
 * what a call costs the host does not hide them; align, detect and the closest pair have results on the
 * host and wait for each call. All data come from Philox with fixed seeds. */
#include "src/base/clock.h"
#include "src/base/error.h"
#include <string.h>

#include "src/cli/tune.h"

/* ---- on the host ---- */

static davit_status work_gemm(tuning *t) {
  const int64_t n = t->n;
  const davit_level3_options options = {CLI_DEVICES(t)};
  return davit_dgemm('N', 'N', n, n, n, 1, t->operand[0], n, t->operand[1], n, 0, t->operand[2], n, &options);
}

static davit_status work_gemv(tuning *t) {
  const int64_t n = t->n;
  return davit_dgemv('N', n, n, 1, t->operand[0], n, t->operand[1], 1, 0, t->operand[2], 1,
                     &(davit_gemv_options){CLI_DEVICES(t)});
}

static davit_status work_axpy(tuning *t) {
  return davit_daxpy(t->n, 1e-3, t->operand[0], 1, t->operand[1], 1, &(davit_axpy_options){CLI_DEVICES(t)});
}

static davit_status work_copy(tuning *t) {
  return davit_copy((size_t)t->n * sizeof(double), t->operand[0], t->operand[1]);
}

static davit_status work_closest_pair(tuning *t) {
  davit_closest_pair_result pair;
  return davit_closest_pair(DAVIT_DOUBLE, 2, t->n / 2, t->operand[0], &pair,
                            &(davit_closest_pair_options){.devices = t->job.devices.ids,
                                                          .device_count = 1,
                                                          .algorithm = DAVIT_CLOSEST_PAIR_GRID});
}

/* ---- on the host, or enqueued on a device ---- */

#define CALL(name, ...)                                                                                      \
  (t->queue ? davit_queue_##name(t->queue, __VA_ARGS__, NULL)                                                \
            : davit_##name(__VA_ARGS__, &(davit_##name##_options){CLI_DEVICES(t)}))

static davit_status work_reduce(tuning *t) {
  double sum;
  return CALL(reduce, DAVIT_SUM, DAVIT_DOUBLE, t->n, t->operand[0], t->queue ? t->operand[1] : &sum);
}

static davit_status work_scan(tuning *t) {
  return CALL(scan, DAVIT_SUM, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, t->n, t->operand[0], t->operand[1]);
}

static davit_status work_stencil(tuning *t) {
  const int64_t n = t->n;
  const davit_stencil_options enqueued = {.border = DAVIT_STENCIL_BORDER_COPY},
                              divided = {.border = DAVIT_STENCIL_BORDER_COPY, CLI_DEVICES(t)};
  double *a = t->operand[0], *b = t->operand[1];
  return t->queue ? davit_queue_stencil(t->queue, DAVIT_DOUBLE, n, n, a, n, NULL, b, n, &enqueued)
                  : davit_stencil(DAVIT_DOUBLE, n, n, a, n, NULL, b, n, &divided);
}

static davit_status work_atax(tuning *t) {
  const int64_t n = t->n;
  return CALL(atax, DAVIT_DOUBLE, 'T', n, n, t->operand[0], n, t->operand[1], NULL, t->operand[2]);
}

static davit_status work_covariance(tuning *t) {
  const int64_t n = t->n;
  return CALL(covariance, DAVIT_DOUBLE, 'T', n, n, t->operand[0], n, NULL, NULL, 0, t->operand[1], n);
}

/* ---- align: n residues of targets, and a query; the one of the other workload is longer ---- */

enum { PROTEIN = 300, LONG_PROTEIN = 1000, RESIDUES = 20, TARGET = 360 };

static uint8_t *bytes_of(double *operand) {
  return (uint8_t *)(void *)operand;
}

/* Operands: the targets' residues, their offsets, scores. */
static davit_status make_targets(tuning *t, int64_t count) {
  const size_t bytes[TUNE_BUFFERS] = {(size_t)(count * TARGET), ((size_t)count + 1) * sizeof(int64_t),
                                      (size_t)count * sizeof(int32_t)};
  for (int i = 0; i < TUNE_BUFFERS; i++)
    DVT_TRY(davit_malloc(bytes[i], DAVIT_PAGEABLE, (void **)&t->operand[i]));
  uint64_t state = 1;
  for (int64_t i = 0; i < count * TARGET; i++) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    bytes_of(t->operand[0])[i] = (uint8_t)((state >> 40) * RESIDUES >> 24);
  }
  for (int64_t k = 0; k <= count; k++)
    ((int64_t *)(void *)t->operand[1])[k] = k * TARGET;
  return DAVIT_SUCCESS;
}

static davit_status open_align(tuning *t) {
  const int64_t least = LONG_PROTEIN / TARGET + 1, wanted = t->now->size / TARGET,
                count = wanted > least ? wanted : least;
  DVT_TRY(make_targets(t, count));
  DVT_TRY(davit_align_matrix_find("BLOSUM62", &t->matrix));
  t->scoring = (davit_align_scoring){
      .symbols = t->matrix.symbols, .matrix = t->matrix.scores, .gap_open = 11, .gap_extend = 1};
  const davit_align_sequences targets = {
      .count = count, .offsets = (int64_t *)(void *)t->operand[1], .symbols = bytes_of(t->operand[0])};
  return davit_align_database_create(
      &targets, t->matrix.symbols, &t->database,
      &(davit_align_database_options){.devices = t->job.devices.ids, .device_count = 1});
}

static davit_status work_align(tuning *t) {
  return davit_align_scores(t->database, &t->scoring, t->workload ? LONG_PROTEIN : PROTEIN,
                            bytes_of(t->operand[0]), (int32_t *)(void *)t->operand[2]);
}

/* ---- detect: one effect in n windows ---- */

enum { WINDOW = 200, EFFECT = 108, WIDTH = 62, PERMUTATIONS = 10000 };

/* Operands: the windows' features, of which the first are the effect's, too; hits. */
static davit_status open_detect(tuning *t) {
  const int64_t windows = t->now->size > t->now->other ? t->now->size : t->now->other,
                count = windows * WINDOW * WIDTH;
  DVT_TRY(davit_malloc((size_t)count * sizeof(float), DAVIT_PAGEABLE, (void **)&t->operand[0]));
  DVT_TRY(davit_malloc((size_t)windows * sizeof(davit_detect_hit), DAVIT_PAGEABLE, (void **)&t->operand[1]));
  DVT_TRY(davit_random(DAVIT_FLOAT, count, 1, t->operand[0]));
  const davit_detect_effect effect = {EFFECT, (const float *)(const void *)t->operand[0]};
  return davit_detector_create(
      WIDTH, 1, &effect, &t->detector,
      &(davit_detect_options){
          .permutations = PERMUTATIONS, .round = true, .devices = t->job.devices.ids, .device_count = 1});
}

static davit_status work_detect(tuning *t) {
  return davit_detect(t->detector, t->n * WINDOW, (const float *)(const void *)t->operand[0],
                      (davit_detect_hit *)(void *)t->operand[1]);
}

/* ---- the table ---- */

enum { MIB = 1 << 17 }; /* doubles */

/* A search: name, key in the tuning file, what is measured, where; n on GPUs, in the other workload, on
 * hosts; dimensions; its function that opens, its function that works. */
#define KEYED(its_name, its_key, its_what, its_place, gpu, other, host, a, b, c, opens, works, ...)          \
  {                                                                                                          \
    .name = its_name, .key = its_key, .what = its_what, .place = TUNE_##its_place, .gpu_size = gpu,          \
    .gpu_other = other, .host_size = host, .dimensions = {a, b, c}, .open = opens, .work = works,            \
    .parameters = {                                                                                          \
      __VA_ARGS__                                                                                            \
    }                                                                                                        \
  }
#define SEARCH(its_name, ...) KEYED(its_name, its_name, __VA_ARGS__)
#define ON(its_devices, its_spacing) .devices = its_devices, .spacing = TUNE_##its_spacing
enum { GPUS = TUNE_GPUS, SEVERAL = TUNE_HOSTS | TUNE_GPUS, HOSTS = TUNE_HOST_ALONE | TUNE_HOSTS };
// clang-format off
const tune_capability tune_capabilities[] = {
    SEARCH("gemm", "product of two n x n matrices",
           PINNED, 8192, 0, 1024, 2, 2, 2, NULL, work_gemm, {0}), /* for its figures */
    SEARCH("gemv", "n x n matrix times a vector",
           PINNED, 16384, 0, 4096, 2, 1, 1, NULL, work_gemv, {"chunk", ON(TUNE_ALL, DOUBLING)}),
    SEARCH("axpy", "y += a x, vectors of n",
           PINNED, 256 * MIB, 0, 64 * MIB, 1, 1, 0, NULL, work_axpy, {"chunk", ON(TUNE_ALL, DOUBLING)}),
    SEARCH("reduce", "sum of n numbers on a device",
           ON_DEVICE, 2048 * MIB, 32 * MIB, 0, 1, 1, 0, NULL, work_reduce,
           {"teams", ON(GPUS, COUNTING), .own_too = true}, {"rows", ON(GPUS, DOUBLING)}),
    SEARCH("reduce", "sum of n numbers on the host",
           PINNED, 512 * MIB, 0, 64 * MIB, 1, 0, 0, NULL, work_reduce, {"piece_bytes", ON(GPUS, DOUBLING)}),
    SEARCH("scan", "prefix sums of n numbers on the host",
           PINNED, 256 * MIB, 0, 64 * MIB, 1, 1, 0, NULL, work_scan, {"piece_bytes", ON(GPUS, DOUBLING)}),
    SEARCH("stencil", "3 x 3 stencil of an n x n matrix on a device",
           ON_DEVICE, 12288, 2048, 0, 2, 2, 0, NULL, work_stencil,
           {"team_threads", ON(GPUS, DOUBLING)}, {"columns", ON(GPUS, DOUBLING)}),
    SEARCH("stencil", "3 x 3 stencil of an n x n matrix on the host",
           PINNED, 8192, 0, 4096, 2, 2, 0, NULL, work_stencil,
           {"chunk_bytes", ON(SEVERAL, DOUBLING)}, {"threads", ON(HOSTS, COUNTING)}),
    SEARCH("atax", "A (A' x), an n x n matrix on a device",
           ON_DEVICE, 8192, 2048, 0, 2, 1, 1, NULL, work_atax,
           {"teams", ON(GPUS, COUNTING), .resident = true}),
    SEARCH("atax", "A (A' x), an n x n matrix on the host",
           PINNED, 8192, 0, 4096, 2, 1, 1, NULL, work_atax,
           {"chunk_bytes", ON(SEVERAL, DOUBLING)}, {"threads", ON(HOSTS, COUNTING)}),
    SEARCH("covariance", "covariance of n observations of n variables on a device",
           ON_DEVICE, 3000, 1000, 0, 2, 2, 0, NULL, work_covariance, {"teams", ON(GPUS, COUNTING)}),
    SEARCH("covariance", "covariance of n observations of n variables on the host",
           PINNED, 6000, 0, 1000, 2, 2, 0, NULL, work_covariance, {"panel", ON(SEVERAL, FINER)}),
    SEARCH("align", "a protein of 300 residues against n residues",
           PAGEABLE, 1 << 26, 1 << 26, 0, 0, 0, 0, open_align, work_align,
           {"team_threads", ON(GPUS, DOUBLING)}, {"teams", ON(GPUS, COUNTING), .resident = true}),
    SEARCH("detect", "an effect in n windows, 10000 permutations",
           PAGEABLE, 400, 60, 0, 0, 0, 0, open_detect, work_detect, {"team_threads", ON(GPUS, DOUBLING)}),
    KEYED("closest", "closest_pair", "closest pair of n / 2 points of the plane on a device",
           ON_DEVICE, 256 * MIB, 16 * MIB, 0, 1, 0, 0, NULL, work_closest_pair,
           {"teams", ON(GPUS, COUNTING)}),
    SEARCH("copy", "copy of n pageable numbers to a device",
           PAGEABLE, 256 * MIB, 0, 0, 1, 1, 0, NULL, work_copy, {"stage_bytes", ON(GPUS, DOUBLING)}),
    {0}};
// clang-format on

const char *tune_name_of(const char *key) {
  const tune_capability *c = tune_capabilities;
  while (c->name && strcmp(c->key, key) != 0)
    c++;
  return c->name ? c->name : key;
}

/* ---- operands ---- */

static davit_status make_operand(tuning *t, int i) {
  const tune_capability *c = t->now->capability;
  const int64_t n = t->now->size > t->now->other ? t->now->size : t->now->other,
                count = c->dimensions[i] == 2 ? n * n : n;
  const bool device = c->place == TUNE_ON_DEVICE || (c->place == TUNE_PAGEABLE && i > 0);
  const int place = device                      ? t->job.devices.ids[0]
                    : c->place == TUNE_PAGEABLE ? DAVIT_PAGEABLE
                                                : DAVIT_PINNED;
  DVT_TRY(davit_malloc((size_t)count * sizeof(double), place, (void **)&t->operand[i]));
  return davit_random(DAVIT_DOUBLE, count, (uint64_t)i, t->operand[i]);
}

/* A run of a workload lasts this long, so that the clock and the host count little. */
static const double RUN_SECONDS = 4e-3;
static const double MOST_CALLS = 200;

static davit_status choose_calls(tuning *t, int workload) {
  double seconds;
  t->calls[workload] = 1;
  DVT_TRY(tune_measure(t, workload, &seconds)); /* the first call may be a slow one */
  DVT_TRY(tune_measure(t, workload, &seconds));
  const double calls = seconds > 0 ? RUN_SECONDS / seconds : MOST_CALLS;
  t->calls[workload] = (int)(calls < 1 ? 1 : calls > MOST_CALLS ? MOST_CALLS : calls);
  return DAVIT_SUCCESS;
}

davit_status tune_open(tuning *t) {
  const tune_capability *c = t->now->capability;
  for (int i = 0; i < TUNE_BUFFERS; i++)
    if (c->dimensions[i])
      DVT_TRY(make_operand(t, i));
  if (c->place == TUNE_ON_DEVICE)
    DVT_TRY(davit_queue_create(t->job.devices.ids[0], &t->queue, NULL));
  if (c->open)
    DVT_TRY(c->open(t));
  for (int workload = 0; workload < t->now->search.workloads; workload++)
    DVT_TRY(choose_calls(t, workload));
  return DAVIT_SUCCESS;
}

void tune_close(tuning *t) {
  davit_queue_destroy(t->queue);
  davit_align_database_destroy(t->database);
  davit_detector_destroy(t->detector);
  t->queue = NULL;
  t->database = NULL;
  t->detector = NULL;
  for (int i = 0; i < TUNE_BUFFERS; i++) {
    davit_free(t->operand[i]);
    t->operand[i] = NULL;
  }
}

davit_status tune_measure(tuning *t, int workload, double *seconds) {
  davit_status status = DAVIT_SUCCESS;
  t->workload = workload;
  t->n = workload ? t->now->other : t->now->size;
  const double start = dvt_now();
  for (int i = 0; i < t->calls[workload] && status == DAVIT_SUCCESS; i++)
    status = t->now->capability->work(t);
  if (t->queue) {
    const davit_status end = davit_queue_synchronize(t->queue);
    status = status == DAVIT_SUCCESS ? end : status;
  }
  *seconds = (dvt_now() - start) / t->calls[workload];
  return status;
}
