/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/peers/loops.h"
#include "offload/runtime/cublas.h"
#include "offload/runtime/device.h"
#include "src/base/error.h"
#include "src/runtime/lane.h"

#ifdef DAVIT_WITH_CUDA
#include <cuda_runtime_api.h>
#endif

static const size_t delay_bytes = (size_t)1 << 30;

/* ---- settings ---- */

bench_values bench_open(const char *usage, int argc, char **argv) {
  char fallback[16] = "-1";
  bench_options(usage, argc, argv);
  bench_let_threads_sleep(argv);
  const int first = bench_device();
  if (bench_is_gpu(first))
    snprintf(fallback, sizeof fallback, "%d,-1", first);
  return bench_list("device", fallback);
}

static const struct {
  char letter;
  davit_type type;
  const char *name;
} types_known[] = {{'d', DAVIT_DOUBLE, "f64"},
                   {'s', DAVIT_FLOAT, "f32"},
                   {'i', DAVIT_INT32, "i32"},
                   {'l', DAVIT_INT64, "i64"}};

bench_kinds bench_types(const char *allowed) {
  bench_kinds kinds = {.count = 0};
  for (const char *letter = bench_option("types", "d,s,i,l"); *letter && kinds.count < DVT_MONOID_TYPES;
       letter++)
    for (int i = 0; i < DVT_MONOID_TYPES; i++)
      if (types_known[i].letter == *letter && strchr(allowed, *letter))
        kinds.at[kinds.count++] = types_known[i].type;
  return kinds;
}

const char *bench_type_name(davit_type type) {
  for (int i = 0; i < DVT_MONOID_TYPES; i++)
    if (types_known[i].type == type)
      return types_known[i].name;
  return "unknown";
}

double bench_peak(int device) {
  davit_device_info info;
  const bool hopper = davit_device_describe(device, &info) == DAVIT_SUCCESS && info.compute_capability == 90;
  return 1e12 * atof(bench_option("peak", hopper ? "66.9" : "0"));
}

/* ---- memory ---- */

void *bench_memory(int place, size_t bytes) {
  void *pointer = NULL;
  if (davit_malloc(bytes, place, &pointer) == DAVIT_SUCCESS)
    return pointer;
  bench_failure("memory", davit_last_error());
  return NULL;
}

void *bench_vector(int place, davit_type type, int64_t n) {
  void *pointer = bench_memory(place, (size_t)n * davit_type_bytes(type));
  bool wide = davit_type_bytes(type) == sizeof(double);
  if (pointer &&
      (wide ? davit_random(DAVIT_DOUBLE, n, 7, pointer) : davit_random(DAVIT_FLOAT, n, 7, pointer))) {
    bench_failure("fill", davit_last_error());
    davit_free(pointer);
    pointer = NULL;
  }
  return pointer;
}

/* Plain memory for the CPU: nothing there profits from pinned memory. */
int bench_place(const bench_site *site) {
  return site->device == DAVIT_HOST ? DAVIT_PAGEABLE : site->device;
}

/* ---- clocks ---- */

typedef davit_status (*round_function)(const bench_site *site, bench_work work, void *argument, int batch,
                                       double *seconds);

static davit_status queue_points(const bench_site *site, bench_work work, void *argument, int batch) {
  if (site->gpu)
    DVT_TRY(davit_queue_copy(site->queue, site->bytes < delay_bytes ? site->bytes : delay_bytes, site->from,
                             site->to));
  DVT_TRY(davit_timer_start(site->timer, site->queue));
  for (int i = 0; i < batch; i++)
    DVT_TRY(work(argument));
  return davit_timer_stop(site->timer, site->queue);
}

static davit_status queue_round(const bench_site *site, bench_work work, void *argument, int batch,
                                double *seconds) {
  double milliseconds = 0;
  davit_status status = queue_points(site, work, argument, batch);
  if (status == DAVIT_SUCCESS)
    status = davit_timer_elapsed(site->timer, &milliseconds);
  davit_status end = davit_queue_synchronize(site->queue); /* its error is the cause of the timer's */
  *seconds = 1e-3 * milliseconds / batch;
  return end != DAVIT_SUCCESS ? end : status;
}

static davit_status wall_round(const bench_site *site, bench_work work, void *argument, int batch,
                               double *seconds) {
  (void)site;
  double start = bench_now();
  for (int i = 0; i < batch; i++)
    DVT_TRY(work(argument));
  *seconds = (bench_now() - start) / batch;
  return DAVIT_SUCCESS;
}

#ifdef DAVIT_WITH_CUDA
davit_status bench_cuda(int result, const char *what) {
  return dvt_cuda_status((unsigned)result, what);
}

static davit_status stream_points(const bench_site *site, bench_work work, void *argument, int batch) {
  size_t bytes = site->bytes < delay_bytes ? site->bytes : delay_bytes;
  DVT_TRY(bench_cuda(
      (int)cudaMemcpyAsync(site->to, site->from, bytes, cudaMemcpyDeviceToDevice, (cudaStream_t)site->stream),
      "copy"));
  DVT_TRY(bench_cuda((int)cudaEventRecord(site->start, site->stream), "event"));
  for (int i = 0; i < batch; i++)
    DVT_TRY(work(argument));
  return bench_cuda((int)cudaEventRecord(site->stop, site->stream), "event");
}

static davit_status stream_round(const bench_site *site, bench_work work, void *argument, int batch,
                                 double *seconds) {
  float milliseconds = 0;
  if (!site->stream)
    return davit_fail(DAVIT_UNSUPPORTED, "there is no stream for peers");
  DVT_TRY(bench_cuda((int)cudaSetDevice(dvt_device_find(site->device)->ordinal), "device"));
  if (site->cub) /* it has a CUDA runtime of its own */
    DVT_TRY(bench_cuda(site->cub->select(dvt_device_find(site->device)->ordinal), "device"));
  davit_status status = stream_points(site, work, argument, batch);
  davit_status end = bench_cuda((int)cudaStreamSynchronize(site->stream), "peer");
  DVT_TRY(status);
  DVT_TRY(end);
  DVT_TRY(bench_cuda((int)cudaEventElapsedTime(&milliseconds, site->start, site->stop), "event"));
  *seconds = 1e-3 * (double)milliseconds / batch;
  return DAVIT_SUCCESS;
}
#else
davit_status bench_cuda(int result, const char *what) {
  return result == 0 ? DAVIT_SUCCESS : davit_fail(DAVIT_UNSUPPORTED, "%s: this build has no CUDA", what);
}

static davit_status stream_round(const bench_site *site, bench_work work, void *argument, int batch,
                                 double *seconds) {
  (void)site, (void)work, (void)argument, (void)batch, (void)seconds;
  return davit_fail(DAVIT_UNSUPPORTED, "this build has no CUDA");
}
#endif

/* How many calls of `once` seconds take so many seconds, from 1 to `most`. */
static int calls_for(double once, double seconds, int most) {
  const double calls = once > 0 ? seconds / once : most;
  return calls < 1 ? 1 : calls > most ? most : (int)calls;
}

static davit_status rounds(const bench_site *site, round_function round, bench_work work, void *argument,
                           bench_time *time) {
  const double batch_seconds = site->gpu ? 2e-3 : 5e-3, patience = 2;
  double once, times[BENCH_MOST];
  DVT_TRY(round(site, work, argument, 1, &once));
  DVT_TRY(round(site, work, argument, 1, &once));
  const int batch = calls_for(once, batch_seconds, 20),
            repeats = calls_for(once * batch, patience, site->repeats);
  for (int r = 0; r < repeats; r++)
    DVT_TRY(round(site, work, argument, batch, &times[r]));
  time->median = bench_median(times, repeats);
  time->best = times[0]; /* sorted by the median */
  return DAVIT_SUCCESS;
}

static bench_time timed(const bench_site *site, round_function round, bench_work work, void *argument) {
  bench_time time = {.median = 0};
  bench_rest();
  if (rounds(site, round, work, argument, &time) != DAVIT_SUCCESS)
    snprintf(time.error, sizeof time.error, "%s", davit_last_error());
  return time;
}

bench_time bench_queue_time(const bench_site *site, bench_work work, void *argument) {
  return timed(site, queue_round, work, argument);
}

bench_time bench_stream_time(const bench_site *site, bench_work work, void *argument) {
  return timed(site, stream_round, work, argument);
}

bench_time bench_wall_time(const bench_site *site, bench_work work, void *argument) {
  return timed(site, wall_round, work, argument);
}

/* One work's turns. */
typedef struct turns {
  int batch; /* calls of a turn; 0: it failed */
  double wall[BENCH_MOST], processor[BENCH_MOST];
} turns;

static void take_turn(const bench_site *site, bench_work work, void *argument, int turn, turns *t,
                      bench_time *time) {
  const double before = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
  if (wall_round(site, work, argument, t->batch, &t->wall[turn]) != DAVIT_SUCCESS) {
    snprintf(time->error, sizeof time->error, "%s", davit_last_error());
    t->batch = 0;
    return;
  }
  t->processor[turn] = (bench_clock(CLOCK_PROCESS_CPUTIME_ID) - before) / t->batch;
}

void bench_wall_turns(const bench_site *site, int count, const bench_work *works, void *argument,
                      bench_time *times) {
  const double batch_seconds = 20e-3, patience = 20;
  turns all[BENCH_TURNS];
  double whole = 0;
  bench_rest();
  for (int w = 0; w < count; w++) {
    times[w] = (bench_time){.median = 0};
    all[w].batch = 1;
    take_turn(site, works[w], argument, 0, &all[w], &times[w]);
    if (all[w].batch > 0) {
      all[w].batch = calls_for(all[w].wall[0], batch_seconds, 20);
      whole += all[w].wall[0] * all[w].batch;
    }
  }
  const int repeats = calls_for(whole, patience, site->repeats);
  for (int r = 0; r < repeats; r++)
    for (int w = 0; w < count; w++)
      if (all[w].batch > 0)
        take_turn(site, works[w], argument, r, &all[w], &times[w]);
  for (int w = 0; w < count; w++)
    if (all[w].batch > 0) {
      times[w].median = bench_median(all[w].wall, repeats);
      times[w].best = all[w].wall[0];
      times[w].processor = bench_median(all[w].processor, repeats);
    }
}

double bench_core_clock(void) {
  const int64_t steps = 20000000;
  double best = 0;
  for (int round = 0; round < 3; round++) {
    volatile uint64_t factor = 6364136223846793005u, sink;
    const uint64_t by = factor;
    const double start = bench_clock(CLOCK_THREAD_CPUTIME_ID);
    uint64_t x = 1;
    for (int64_t i = 0; i < steps; i++)
      x = (x * by) ^ (uint64_t)i; /* no compiler may regroup these */
    sink = x;
    (void)sink;
    const double clock = 4 * (double)steps / (bench_clock(CLOCK_THREAD_CPUTIME_ID) - start);
    best = clock > best ? clock : best;
  }
  return best;
}

/* ---- sites ---- */

static davit_status copy_queue(void *argument) {
  const bench_site *site = argument;
  return davit_queue_copy(site->queue, site->bytes, site->from, site->to);
}

static davit_status copy_kernel(void *argument) {
  const bench_site *site = argument;
  return bench_cuda(site->cub->copy(site->stream, site->to, site->from, site->bytes), "copy kernel");
}

static davit_status read_kernel(void *argument) {
  const bench_site *site = argument;
  return bench_cuda(site->cub->read(site->stream, site->from, site->bytes), "read kernel");
}

static davit_status copy_loop(void *argument) {
  const bench_site *site = argument;
  peer_loop_copy(site->to, site->from, site->bytes);
  return DAVIT_SUCCESS;
}

static davit_status read_loop(void *argument) {
  const bench_site *site = argument;
  volatile double sum = peer_loop_read(site->from, site->bytes);
  (void)sum;
  return DAVIT_SUCCESS;
}

/* Prints the row, and keeps the rate if it is the best so far. */
static void ceiling(bench_site *site, const char *operation, const char *form, bench_time time, double passes,
                    double *best) {
  double bytes = passes * (double)site->bytes;
  bench_case what = {.operation = operation, .form = form, .rows = (int64_t)site->bytes / 8, .bytes = bytes};
  bench_report(site, &what, &time, NULL, NULL);
  if (time.median > 0 && bytes / time.median > *best)
    *best = bytes / time.median;
}

static void ceilings(bench_site *site) {
  double copy = 0, read = 0;
  ceiling(site, "copy", "queue", bench_queue_time(site, copy_queue, site), 2, &copy);
  if (!site->gpu) {
    ceiling(site, "copy", "loop", bench_wall_time(site, copy_loop, site), 2, &copy);
    ceiling(site, "read", "loop", bench_wall_time(site, read_loop, site), 1, &read);
  } else if (site->cub) {
    ceiling(site, "copy", "kernel", bench_stream_time(site, copy_kernel, site), 2, &copy);
    ceiling(site, "read", "kernel", bench_stream_time(site, read_kernel, site), 1, &read);
  }
  site->copy = copy;
  site->read = read;
}

static davit_status open_peers(bench_site *site) {
#ifdef DAVIT_WITH_CUDA
  int ordinal = dvt_device_find(site->device)->ordinal;
  cudaStream_t stream;
  cudaEvent_t start, stop;
  if (ordinal < 0 || !site->peers)
    return DAVIT_SUCCESS;
  DVT_TRY(bench_cuda((int)cudaSetDevice(ordinal), "device"));
  DVT_TRY(bench_cuda((int)cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream"));
  DVT_TRY(bench_cuda((int)cudaEventCreate(&start), "event"));
  DVT_TRY(bench_cuda((int)cudaEventCreate(&stop), "event"));
  site->stream = stream;
  site->start = start;
  site->stop = stop;
  site->cub = peer_cub_open();
  if (!site->cub)
    bench_failure("peer", "libdavit_peer_cub.so is not there: without CUB and plain kernels");
  else if (site->cub->select(ordinal) != 0)
    site->cub = NULL;
  if (dvt_cublas_create(stream, &site->cublas) != DAVIT_SUCCESS) {
    bench_failure("peer", davit_last_error());
    site->cublas = NULL;
  }
#else
  (void)site;
#endif
  return DAVIT_SUCCESS;
}

static davit_status open_memory(bench_site *site) {
  size_t free_bytes, total, most = (size_t)4 << 30;
  const davit_status status = davit_device_memory(site->device, &free_bytes, &total);
  if (status != DAVIT_SUCCESS && status != DAVIT_UNSUPPORTED)
    return status;
  if (status == DAVIT_UNSUPPORTED)
    free_bytes = most;
  site->bytes = site->gpu ? most : most / 8;
  while (site->bytes > free_bytes / 8 && site->bytes > 4096)
    site->bytes /= 2;
  DVT_TRY(davit_malloc(site->bytes, bench_place(site), &site->from));
  DVT_TRY(davit_malloc(site->bytes, bench_place(site), &site->to));
  return davit_random(DAVIT_DOUBLE, (int64_t)(site->bytes / sizeof(double)), 7, site->from);
}

static davit_status open_site(bench_site *site) {
  DVT_TRY(davit_queue_create(site->device, &site->queue, NULL));
  DVT_TRY(davit_timer_create(&site->timer));
  DVT_TRY(open_memory(site));
  return open_peers(site);
}

bool bench_site_open(int device, bench_site *site) {
  const bool gpu = bench_is_gpu(device);
  *site = (bench_site){.device = device,
                       .gpu = gpu,
                       .repeats = bench_count("repeats", gpu ? 7 : 3),
                       .peers = bench_whole("peers", 1) != 0,
                       .link = 1e9 * atof(bench_option("link", "55"))};
  if (open_site(site) == DAVIT_SUCCESS) {
    ceilings(site);
    return true;
  }
  bench_failure("device", davit_last_error());
  bench_site_close(site);
  return false;
}

void bench_site_close(bench_site *site) {
#ifdef DAVIT_WITH_CUDA
  if (site->stream) {
    cudaSetDevice(dvt_device_find(site->device)->ordinal);
    dvt_cublas_destroy(site->cublas);
    cudaEventDestroy(site->start);
    cudaEventDestroy(site->stop);
    cudaStreamDestroy(site->stream);
  }
#endif
  davit_free(site->from);
  davit_free(site->to);
  davit_timer_destroy(site->timer);
  davit_queue_destroy(site->queue);
  davit_memory_trim(bench_place(site));
}
