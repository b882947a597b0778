/* SPDX-License-Identifier: Apache-2.0 */
/* davit_level3_measure(): the microbenchmark of a real machine. It uses what plans use: copies and products on
 * streams of the devices, the host's product by BLIS, and memcpy() on the host's threads. Everything is
 * done once before it is timed; times are the minimum of some, but for products, which are repeated until
 * the device is warm. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "offload/runtime/stream.h"
#include "src/base/cancel.h"
#include "src/base/ending.h"
#include "src/base/error.h"
#include "src/base/team.h"
#include "src/level3/arguments.h"
#include "src/level3/parameters.h"
#include "src/runtime/backend.h"
#include "src/runtime/lane.h"
#include "src/runtime/memory.h"
#include "src/runtime/operation.h"

enum {
  MOST_BYTES = 256 << 20, /* of a copy */
  LONGEST = 8192,         /* side of the largest product: 1.5 GiB of operands */
  SHORTEST = 1024,
  TIMES = 3
};
static const double WARM_SECONDS = 0.5; /* of products, after which power limits a device */

typedef struct bench {
  int devices[DVT_MAX_DEVICES], count;    /* NVIDIA devices */
  dvt_stream *stream[DVT_MAX_DEVICES][2]; /* loads and products; stores */
  char *memory[DVT_MAX_DEVICES];          /* three matrices, or two copies' bytes */
  char *host[DVT_MAX_DEVICES][2];         /* pinned: to and from each device, of one at least */
  char *plain;                            /* pageable */
  int64_t side;
} bench;

static size_t matrix_bytes(const bench *b) {
  return (size_t)(b->side * b->side) * sizeof(double);
}

/* ---- products ---- */

static davit_status run_products(bench *b, int index, const dvt_level3 *product, int count, double *seconds) {
  dvt_stream *stream = b->stream[index][0];
  const dvt_site site = {.device = b->devices[index], .stream = stream};
  const double start = dvt_now();
  for (int i = 0; i < count; i++)
    DVT_TRY(dvt_level3_operations[DVT_GEMM].stream(&site, product));
  DVT_TRY(dvt_stream_synchronize(stream));
  *seconds = (dvt_now() - start) / count;
  return DAVIT_SUCCESS;
}

static davit_status product(void *state, int index, davit_type type, double m, double n, double k,
                            double *seconds) {
  enum { FEW = 4, MOST = 1000 };
  bench *b = state;
  const int64_t rows = (int64_t)m, inner = (int64_t)k;
  const dvt_level3 g =
      dvt_gemm_of(type, 'N', 'N', rows, (int64_t)n, inner, 1, b->memory[index], rows,
                  b->memory[index] + matrix_bytes(b), inner, 1, b->memory[index] + 2 * matrix_bytes(b), rows);
  double once;
  DVT_TRY(run_products(b, index, &g, 1, &once));
  DVT_TRY(run_products(b, index, &g, FEW, &once));
  const double count = fmin(fmax(WARM_SECONDS / once, (double)FEW), (double)MOST);
  DVT_TRY(run_products(b, index, &g, (int)count, &once));
  return run_products(b, index, &g, (int)count / FEW + 1, seconds);
}

/* ---- copies ---- */

typedef struct request {
  int index;
  dvt_microbenchmark_way way;
  size_t row, cols, pitch;
} request;

static davit_status enqueue_copies(bench *b, const request *r) {
  char *here = b->memory[r->index], *const *home = b->host[b->host[r->index][0] ? r->index : 0];
  if (r->way == DVT_MICROBENCHMARK_MEMORY || r->way == DVT_MICROBENCHMARK_PEER) {
    dvt_stream *stream = b->stream[r->index][0];
    const int next = (r->index + 1) % b->count;
    return r->way == DVT_MICROBENCHMARK_PEER
               ? dvt_stream_copy_peer(stream, dvt_stream_device(b->stream[next][0]), here, r->row,
                                      b->memory[next], r->row, r->row, r->cols)
               : dvt_stream_copy(stream, here, r->row, here + MOST_BYTES, r->row, r->row, r->cols);
  }
  if (r->way != DVT_MICROBENCHMARK_DOWN)
    DVT_TRY(dvt_stream_copy(b->stream[r->index][0], here, r->row, home[0], r->pitch, r->row, r->cols));
  if (r->way != DVT_MICROBENCHMARK_UP)
    DVT_TRY(dvt_stream_copy(b->stream[r->index][1], home[1], r->pitch, here + MOST_BYTES, r->row, r->row,
                            r->cols));
  return DAVIT_SUCCESS;
}

static davit_status wait_for(const bench *b, int index) {
  DVT_TRY(dvt_stream_synchronize(b->stream[index][0]));
  return dvt_stream_synchronize(b->stream[index][1]);
}

static davit_status copy(void *state, int index, dvt_microbenchmark_way way, double row, double cols,
                         bool apart, int copies, double *seconds) {
  enum { APART = 8, MARGIN = 192 }; /* as columns of a larger matrix are; no multiple of 64 KiB */
  bench *b = state;
  const size_t pitch = apart ? APART * (size_t)row + MARGIN : (size_t)row;
  const request r = {index, way, (size_t)row, (size_t)cols, pitch};
  *seconds = INFINITY;
  for (int i = 0; i <= TIMES; i++) {
    const double start = dvt_now();
    for (int k = 0; k < copies; k++)
      DVT_TRY(enqueue_copies(b, &r));
    DVT_TRY(wait_for(b, index));
    if (i > 0)
      *seconds = fmin(*seconds, (dvt_now() - start) / copies);
  }
  return DAVIT_SUCCESS;
}

static davit_status copy_all(void *state, dvt_microbenchmark_way way, double bytes, double *seconds) {
  bench *b = state;
  *seconds = INFINITY;
  for (int i = 0; i <= TIMES; i++) {
    const double start = dvt_now();
    for (int d = 0; d < b->count; d++)
      DVT_TRY(enqueue_copies(b, &(request){d, way, (size_t)bytes, 1, (size_t)bytes}));
    for (int d = 0; d < b->count; d++)
      DVT_TRY(wait_for(b, d));
    if (i > 0)
      *seconds = fmin(*seconds, dvt_now() - start);
  }
  return DAVIT_SUCCESS;
}

/* A load: the copy, an event behind it, and another stream that waits for the event. */
static davit_status enqueue(void *state, double *seconds) {
  enum { STEPS = 200, FEW_BYTES = 4096 };
  bench *b = state;
  *seconds = INFINITY;
  for (int i = 0; i <= TIMES; i++) {
    const double start = dvt_now();
    for (int k = 0; k < STEPS; k++) {
      dvt_device_event *event;
      DVT_TRY(enqueue_copies(b, &(request){0, DVT_MICROBENCHMARK_UP, FEW_BYTES, 1, FEW_BYTES}));
      DVT_TRY(dvt_stream_record(b->stream[0][0], &event));
      const davit_status status = dvt_stream_wait(b->stream[0][1], event);
      dvt_device_event_free(event);
      DVT_TRY(status);
    }
    const double end = dvt_now();
    DVT_TRY(wait_for(b, 0));
    if (i > 0)
      *seconds = fmin(*seconds, (end - start) / (double)STEPS);
  }
  return DAVIT_SUCCESS;
}

/* ---- the host ---- */

static void copy_in_parts(char *to, const char *from, size_t bytes, int threads) {
#pragma omp parallel num_threads(threads)
  {
    const size_t count = (size_t)omp_get_num_threads(), part = (size_t)omp_get_thread_num();
    const size_t begin = bytes / count * part, end = part + 1 == count ? bytes : bytes / count * (part + 1);
    memcpy(to + begin, from + begin, end - begin);
  }
}

static davit_status host_copy(void *state, int threads, double bytes, double *seconds) {
  bench *b = state;
  const dvt_team team = dvt_team_begin(threads);
  *seconds = INFINITY;
  for (int i = 0; i <= TIMES; i++) {
    const double start = dvt_now();
    copy_in_parts(b->host[0][0], b->plain, (size_t)bytes, team.threads);
    if (i > 0)
      *seconds = fmin(*seconds, dvt_now() - start);
  }
  dvt_team_end(&team);
  return DAVIT_SUCCESS;
}

static davit_status host_product(void *state, double n, double *seconds) {
  bench *b = state;
  const int64_t side = (int64_t)n;
  const size_t matrix = (size_t)(side * side) * sizeof(double);
  const dvt_level3 g = dvt_gemm_of(DAVIT_DOUBLE, 'N', 'N', side, side, side, 1, b->plain, side,
                                   b->plain + matrix, side, 0, b->plain + 2 * matrix, side);
  const dvt_site site = {.device = DAVIT_HOST, .threads = dvt_threads()};
  *seconds = INFINITY;
  for (int i = 0; i <= TIMES; i++) {
    const double start = dvt_now();
    DVT_TRY(dvt_host_form(dvt_level3_operations[DVT_GEMM].host, &site, &g));
    if (i > 0)
      *seconds = fmin(*seconds, dvt_now() - start);
  }
  return DAVIT_SUCCESS;
}

/* ---- opening ---- */

/* As large a product as half of the device's free memory allows. */
static davit_status choose_side(bench *b) {
  b->side = LONGEST;
  for (int i = 0; i < b->count; i++) {
    size_t available, total;
    DVT_TRY(davit_device_memory(b->devices[i], &available, &total));
    while (b->side > SHORTEST && 3 * matrix_bytes(b) > available / 2)
      b->side /= 2;
  }
  return DAVIT_SUCCESS;
}

static davit_status open_device(bench *b, int index) {
  const int device = b->devices[index];
  const size_t bytes =
      3 * matrix_bytes(b) > 2 * (size_t)MOST_BYTES ? 3 * matrix_bytes(b) : 2 * (size_t)MOST_BYTES;
  for (int i = 0; i < 2; i++)
    DVT_TRY(dvt_stream_acquire(device, DVT_STREAM_MIXED, &b->stream[index][i]));
  DVT_TRY(dvt_malloc(bytes, device, (void **)&b->memory[index]));
  return davit_random(DAVIT_DOUBLE, (int64_t)(bytes / sizeof(double)), (uint64_t)index, b->memory[index]);
}

static davit_status open_host(bench *b, int index) {
  for (int i = 0; i < 2; i++) {
    DVT_TRY(dvt_malloc(MOST_BYTES, DAVIT_PINNED, (void **)&b->host[index][i]));
    memset(b->host[index][i], 1, MOST_BYTES);
  }
  return DAVIT_SUCCESS;
}

/* The device copies to and from the first one's. */
static void share_host(bench *b, int index) {
  davit_free(b->host[index][0]);
  b->host[index][0] = NULL;
  dvt_error_clear();
}

static davit_status open_bench(bench *b) {
  DVT_TRY(open_host(b, 0));
  for (int i = 1; i < b->count; i++) {
    const davit_status status = open_host(b, i);
    if (status == DAVIT_OUT_OF_HOST_MEMORY)
      share_host(b, i);
    else
      DVT_TRY(status);
  }
  DVT_TRY(dvt_malloc(MOST_BYTES, DAVIT_PAGEABLE, (void **)&b->plain));
  DVT_TRY(davit_random(DAVIT_DOUBLE, MOST_BYTES / (int64_t)sizeof(double), 7, b->plain));
  if (b->count > 0)
    DVT_TRY(choose_side(b));
  for (int i = 0; i < b->count; i++)
    DVT_TRY(open_device(b, i));
  return DAVIT_SUCCESS;
}

static void close_bench(bench *b) {
  for (int i = 0; i < DVT_MAX_DEVICES; i++)
    for (int k = 0; k < 2; k++) {
      if (b->stream[i][k]) {
        dvt_stream_synchronize(b->stream[i][k]);
        dvt_stream_release(b->stream[i][k]);
      }
      davit_free(b->host[i][k]);
    }
  for (int i = 0; i < b->count; i++)
    davit_free(b->memory[i]);
  davit_free(b->plain);
  (void)davit_memory_trim(DAVIT_PINNED);
}

/* ---- the call ---- */

static davit_status keep(int device, const dvt_parameters *f) {
  davit_tuning_parameter all[DVT_TUNE_COUNT];
  int count;
  DVT_TRY(davit_tuning_parameters(DVT_TUNE_COUNT, all, &count));
  for (int i = 0; i < count; i++) {
    const int64_t value = f->value[i];
    if (value > 0)
      DVT_TRY(davit_tuning_set(device, all[i].capability, all[i].parameter,
                               value < all[i].maximum ? value : all[i].maximum, 0));
  }
  return DAVIT_SUCCESS;
}

static davit_status measure_all(bench *b) {
  const dvt_microbenchmark microbenchmark = {.state = b,
                                             .devices = b->count,
                                             .threads = dvt_threads(),
                                             .most = (double)b->side,
                                             .product = product,
                                             .copy = copy,
                                             .copy_all = copy_all,
                                             .enqueue = enqueue,
                                             .host_copy = host_copy,
                                             .host_product = host_product};
  dvt_parameters host = {{0}};
  DVT_TRY(dvt_parameters_of_host(&microbenchmark, &host));
  DVT_TRY(keep(DAVIT_HOST, &host));
  for (int i = 0; i < b->count; i++) {
    const dvt_device *one = dvt_device_find(b->devices[i]),
                     *next = dvt_device_find(b->devices[(i + 1) % b->count]);
    bool known = false;
    for (int k = 0; k < i; k++)
      known |= strcmp(dvt_device_find(b->devices[k])->info.name, one->info.name) == 0;
    dvt_parameters f = {{0}};
    if (known)
      continue;
    DVT_TRY(dvt_parameters_of_device(&microbenchmark, i, one != next && dvt_device_peers(one, next), &f));
    DVT_TRY(keep(b->devices[i], &f));
  }
  return DAVIT_SUCCESS;
}

davit_status davit_level3_measure(const davit_level3_measure_options *options) {
  DVT_UNCANCELLED;
  int chosen[DVT_MAX_DEVICES], count;
  bench b = {.count = 0};
  DVT_TRY(dvt_choose_devices(DVT_DEVICES(options), chosen, &count));
  DVT_TRY(dvt_may_wait());
  for (int i = 0; i < count; i++)
    if (dvt_device_find(chosen[i])->ordinal >= 0)
      b.devices[b.count++] = chosen[i];
  DVT_INSIDE;
  DVT_KEEP_CURRENT;
  davit_status status = open_bench(&b);
  if (status == DAVIT_SUCCESS)
    status = measure_all(&b);
  close_bench(&b);
  return status;
}
