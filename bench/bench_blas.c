/* SPDX-License-Identifier: Apache-2.0 */
/* BLAS on a queue with data on the device, against cuBLAS called directly (NVIDIA), BLIS on one thread (the
 * CPU and host-offload devices) and davit's own target kernels; and the plain forms of gemv, axpy and dot
 * on pinned host data over several devices. Double precision, random operands, one run for all.
 *
 * Sizes are by default those that fill a GPU, and small ones where there is none; 0 leaves an operation
 * out. --bandwidth (10^9 bytes/s of the device's memory; 0: as the device tells), --link (of the host link,
 * each direction and device) and --peak (10^12 flop/s; 0: known for Hopper alone) give the floors; on the
 * CPU, whose caches hold part of the operands, there are none. A row's time is the median over the repeats
 * of a batch of calls, waited for together, divided by their number. `ratio` is the peer's time by this
 * time (above 1: faster than the peer); for the plain forms the peer is the plain form on the first number
 * of devices. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "offload/blas.h"
#include "offload/runtime/cublas.h"
#include "offload/runtime/device.h"
#include "src/runtime/lane.h"

#ifdef DAVIT_WITH_CUDA
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#endif

enum { MOST = 64 };

typedef enum operation { GEMM, GEMV, AXPY, DOT, OPERATIONS } operation;
static const char *const names[] = {"gemm", "gemv", "axpy", "dot"};

/* Operands: gemm a b c, gemv a (matrix) b (x) c (y), axpy a (x) c (y), dot a b c (the result). */
typedef struct problem {
  operation what;
  int64_t n;
  int device, batch, repeats;
  bool gpu;
  davit_queue *queue;
  double *a, *b, *c;
  int devices[MOST], device_count;
  double bandwidth, link, peak; /* per second: bytes of device memory, bytes of the link, flops; 0: unknown */
  void *stream, *cublas;
} problem;

/* ---- one batch of each form ---- */

static davit_status enqueue(const problem *p) {
  int64_t n = p->n;
  switch (p->what) {
  case GEMM:
    return davit_queue_dgemm(p->queue, 'N', 'N', n, n, n, 1, p->a, n, p->b, n, 0, p->c, n, NULL);
  case GEMV:
    return davit_queue_dgemv(p->queue, 'N', n, n, 1, p->a, n, p->b, 1, 0, p->c, 1, NULL);
  case AXPY:
    return davit_queue_daxpy(p->queue, n, 0.5, p->a, 1, p->c, 1, NULL);
  default:
    return davit_queue_ddot(p->queue, n, p->a, 1, p->b, 1, p->c, NULL);
  }
}

static void run_queue(const problem *p) {
  for (int i = 0; i < p->batch; i++)
    bench_check(enqueue(p), "enqueue");
  bench_check(davit_queue_synchronize(p->queue), "synchronize");
}

/* A batch of a form that returns when it is done, with the same arguments. */
static void run_forms(const problem *p, const dvt_form forms[OPERATIONS], const dvt_site *site) {
  const int64_t n = p->n;
  const dvt_gemm gemm = {DAVIT_DOUBLE, 'N', 'N', n, n, n, 1, p->a, n, p->b, n, 0, p->c, n};
  const dvt_gemv gemv = {DAVIT_DOUBLE, 'N', n, n, 1, p->a, n, p->b, 1, 0, p->c, 1};
  const dvt_axpy axpy = {DAVIT_DOUBLE, n, 0.5, p->a, 1, p->c, 1};
  const dvt_dot dot = {DAVIT_DOUBLE, n, p->a, 1, p->b, 1, p->c};
  const void *const arguments[OPERATIONS] = {&gemm, &gemv, &axpy, &dot};
  for (int i = 0; i < p->batch; i++)
    bench_check(forms[p->what](site, arguments[p->what]), names[p->what]);
}

static void run_target(const problem *p) {
  static const dvt_form forms[] = {dvt_gemm_region, dvt_gemv_region, dvt_axpy_region, dvt_dot_region};
  run_forms(p, forms, &(dvt_site){.device = p->device});
}

static void run_blis(const problem *p) {
  static const dvt_form forms[] = {dvt_gemm_host, dvt_gemv_host, dvt_axpy_host, dvt_dot_host};
  run_forms(p, forms, &(dvt_site){.device = DAVIT_HOST, .threads = 1});
}

static davit_status plain(const problem *p) {
  const int64_t n = p->n;
  const davit_gemv_options gemv = {.devices = p->devices, .device_count = p->device_count};
  const davit_axpy_options axpy = {.devices = p->devices, .device_count = p->device_count};
  const davit_dot_options dot = {.devices = p->devices, .device_count = p->device_count};
  return p->what == GEMV   ? davit_dgemv('N', n, n, 1, p->a, n, p->b, 1, 0, p->c, 1, &gemv)
         : p->what == AXPY ? davit_daxpy(n, 0.5, p->a, 1, p->c, 1, &axpy)
                           : davit_ddot(n, p->a, 1, p->b, 1, p->c, &dot);
}

static void run_plain(const problem *p) {
  for (int i = 0; i < p->batch; i++)
    bench_check(plain(p), "plain");
}

#ifdef DAVIT_WITH_CUDA
static void must(bool ok, const char *what) {
  if (!ok) {
    fprintf(stderr, "raw %s failed\n", what);
    exit(4);
  }
}

static void open_cublas(problem *p) {
  cudaStream_t stream;
  must(cudaSetDevice(dvt_device_find(p->device)->ordinal) == cudaSuccess, "device");
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess, "stream");
  bench_check(dvt_cublas_create(stream, &p->cublas), "cuBLAS");
  p->stream = stream;
  must(DVT_CUBLAS(SetPointerMode_v2)(p->cublas, p->what == DOT
                                                    ? CUBLAS_POINTER_MODE_DEVICE
                                                    : CUBLAS_POINTER_MODE_HOST) == CUBLAS_STATUS_SUCCESS,
       "pointer mode");
}

static void close_cublas(problem *p) {
  must(cudaSetDevice(dvt_device_find(p->device)->ordinal) == cudaSuccess, "device");
  dvt_cublas_destroy(p->cublas);
  cudaStreamDestroy(p->stream);
}

static void run_cublas(const problem *p) {
  double one = 1, zero = 0, half = 0.5;
  int64_t n = p->n;
  cublasHandle_t h = p->cublas;
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  must(cudaSetDevice(dvt_device_find(p->device)->ordinal) == cudaSuccess, "device");
  for (int i = 0; i < p->batch && status == CUBLAS_STATUS_SUCCESS; i++)
    switch (p->what) {
    case GEMM:
      status = DVT_CUBLAS(Dgemm_v2_64)(h, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, p->a, n, p->b, n, &zero,
                                       p->c, n);
      break;
    case GEMV:
      status = DVT_CUBLAS(Dgemv_v2_64)(h, CUBLAS_OP_N, n, n, &one, p->a, n, p->b, 1, &zero, p->c, 1);
      break;
    case AXPY:
      status = DVT_CUBLAS(Daxpy_v2_64)(h, n, &half, p->a, 1, p->c, 1);
      break;
    default:
      status = DVT_CUBLAS(Ddot_v2_64)(h, n, p->a, 1, p->b, 1, p->c);
      break;
    }
  must(status == CUBLAS_STATUS_SUCCESS && cudaStreamSynchronize(p->stream) == cudaSuccess, "cuBLAS");
}
#endif

/* ---- rows ---- */

static double flops_of(const problem *p) {
  double n = (double)p->n;
  return p->what == GEMM ? 2 * n * n * n : p->what == GEMV ? 2 * n * n : 2 * n;
}

static double bytes_of(const problem *p) {
  double n = (double)p->n;
  return 8 * (p->what == GEMM   ? 3 * n * n
              : p->what == GEMV ? n * n + 2 * n
              : p->what == AXPY ? 3 * n
                                : 2 * n);
}

/* What goes to the devices, which is never less than what comes back. */
static double link_bytes_of(const problem *p) {
  double n = (double)p->n;
  return 8 * (p->what == GEMV ? n * n + n * p->device_count : 2 * n);
}

/* Seconds below which the hardware cannot go; 0 if unknown. */
static double floor_of(const problem *p, bool over_link) {
  if (over_link && p->link > 0)
    return link_bytes_of(p) / (p->link * p->device_count);
  double arithmetic = p->peak > 0 ? flops_of(p) / p->peak : 0;
  double memory = p->bandwidth > 0 ? bytes_of(p) / p->bandwidth : 0;
  if (p->what == GEMM && p->peak <= 0)
    return 0;
  return arithmetic > memory ? arithmetic : memory;
}

/* Measures a form and prints its row; `peer` is the peer's seconds, 0: none. Returns its seconds. */
static double measure(const problem *p, const char *form, void (*run)(const problem *), double peer,
                      double least) {
  double times[MOST];
  for (int r = -1; r < p->repeats; r++) {
    double start = bench_now();
    run(p);
    times[r < 0 ? 0 : r] = (bench_now() - start) / p->batch;
  }
  double median = bench_median(times, p->repeats);
  bench_row();
  bench_text("backend", dvt_backend_name());
  bench_text("operation", names[p->what]);
  bench_text("form", form);
  bench_number("n", (double)p->n);
  bench_number("devices", p->device_count);
  bench_number("median_ms", 1e3 * median);
  bench_number("best_ms", 1e3 * times[0]); /* sorted by the median */
  bench_number("gflops", 1e-9 * flops_of(p) / median);
  bench_number("gbs", 1e-9 * bytes_of(p) / median);
  if (peer > 0)
    bench_number("ratio", peer / median);
  if (least > 0)
    bench_number("floor_ms", 1e3 * least);
  fprintf(stderr, "%-5s %-7s n %10lld devices %d: %10.4f ms %10.1f GFLOP/s %8.1f GB/s", names[p->what], form,
          (long long)p->n, p->device_count, 1e3 * median, 1e-9 * flops_of(p) / median,
          1e-9 * bytes_of(p) / median);
  if (peer > 0)
    fprintf(stderr, "  ratio %5.3f", peer / median);
  if (least > 0)
    fprintf(stderr, "  floor/time %5.3f", least / median);
  fputc('\n', stderr);
  return median;
}

/* ---- runs ---- */

static double *vector(int64_t count, int place) {
  void *pointer;
  bench_check(davit_malloc((size_t)count * sizeof(double), place, &pointer), "memory");
  bench_check(davit_random(DAVIT_DOUBLE, count, (uint64_t)count + 3, pointer), "fill");
  return pointer;
}

static void make_operands(problem *p, int place) {
  int64_t n = p->n, square = n * n;
  p->a = vector(p->what == GEMM || p->what == GEMV ? square : n, place);
  p->b = p->what == AXPY ? NULL : vector(p->what == GEMM ? square : n, place);
  p->c = vector(p->what == GEMM ? square : p->what == DOT ? 1 : n, place);
}

static void free_operands(problem *p, int place) {
  bench_check(davit_free(p->a), "memory");
  bench_check(davit_free(p->b), "memory");
  bench_check(davit_free(p->c), "memory");
  bench_check(davit_memory_trim(place), "trim");
}

static void on_device(problem *p) {
  p->device_count = 1;
  p->batch = p->what == GEMM ? 1 : p->gpu ? 10 : 3;
  make_operands(p, p->device);
  double peer = 0, least = floor_of(p, false);
#ifdef DAVIT_WITH_CUDA
  if (dvt_device_find(p->device)->ordinal >= 0) {
    open_cublas(p);
    peer = measure(p, "cublas", run_cublas, 0, least);
    close_cublas(p);
  }
#endif
  if (!p->gpu)
    peer = measure(p, "blis", run_blis, 0, least);
  measure(p, "queue", run_queue, peer, least);
  if (p->device != DAVIT_HOST)
    measure(p, "target", run_target, peer, least);
  free_operands(p, p->device);
}

static void spread(problem *p, const int64_t *counts, int count_count) {
  int present;
  bench_check(davit_device_defaults(MOST, p->devices, &present), "devices");
  p->batch = 1;
  make_operands(p, DAVIT_PINNED);
  double one = 0;
  for (int i = 0; i < count_count; i++)
    if (counts[i] >= 1 && counts[i] <= present && counts[i] <= MOST) {
      p->device_count = (int)counts[i];
      double seconds = measure(p, "plain", run_plain, one, floor_of(p, true));
      one = one > 0 ? one : seconds; /* the ratio is the speedup over the first number of devices */
    }
  free_operands(p, DAVIT_PINNED);
}

/* What a copy on the device moves, read and written: what its memory gives in practice. */
static void copy_on_device(const problem *p) {
  const int copies = 8;
  size_t bytes = (size_t)1 << (p->gpu ? 30 : 25);
  void *from, *to;
  double times[MOST];
  bench_check(davit_malloc(bytes, p->device, &from), "memory");
  bench_check(davit_malloc(bytes, p->device, &to), "memory");
  bench_check(davit_fill(bytes, 1, from), "fill");
  for (int r = -1; r < p->repeats; r++) {
    double start = bench_now();
    for (int i = 0; i < copies; i++)
      bench_check(davit_queue_copy(p->queue, bytes, from, to), "copy");
    bench_check(davit_queue_synchronize(p->queue), "synchronize");
    times[r < 0 ? 0 : r] = (bench_now() - start) / copies;
  }
  bench_check(davit_free(from), "memory");
  bench_check(davit_free(to), "memory");
  double rate = 2 * (double)bytes / bench_median(times, p->repeats);
  bench_row();
  bench_text("backend", dvt_backend_name());
  bench_text("operation", "copy on the device");
  bench_number("gbs", 1e-9 * rate);
  if (p->bandwidth > 0)
    bench_number("bandwidth", 1e-9 * p->bandwidth);
  fprintf(stderr, "copy on the device: %.1f GB/s read and written\n", 1e-9 * rate);
}

/* The memory's pins times their rate; 0 where nothing tells. */
static double bandwidth_of(int device) {
#ifdef DAVIT_WITH_CUDA
  int ordinal = dvt_device_find(device)->ordinal, kilohertz = 0, bits = 0;
  if (ordinal >= 0 &&
      cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, ordinal) == cudaSuccess &&
      cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, ordinal) == cudaSuccess)
    return 2e3 * kilohertz * bits / 8;
#else
  (void)device;
#endif
  return 0;
}

static void configure(problem *p, int argc, char **argv) {
  int first, count;
  char fallback[16];
  davit_device_info info;
  bench_check(davit_device_defaults(1, &first, &count), "devices");
  snprintf(fallback, sizeof fallback, "%d", first);
  p->device = atoi(bench_option(argc, argv, "device", fallback));
  bench_check(davit_device_describe(p->device, &info), "device");
  p->gpu = info.kind != DAVIT_DEVICE_CPU && info.kind != DAVIT_DEVICE_HOST_OFFLOAD;
  p->repeats = atoi(bench_option(argc, argv, "repeats", "5"));
  p->repeats = p->repeats < 1 ? 1 : p->repeats > MOST ? MOST : p->repeats;
  bench_check(davit_queue_create(p->device, &p->queue, NULL), "queue");
  p->link = p->gpu ? 1e9 * atof(bench_option(argc, argv, "link", "55")) : 0;
  p->peak = 1e12 * atof(bench_option(argc, argv, "peak", info.compute_capability == 90 ? "66.9" : "0"));
  p->bandwidth = 1e9 * atof(bench_option(argc, argv, "bandwidth", "0"));
  if (p->bandwidth <= 0)
    p->bandwidth = bandwidth_of(p->device);
}

static const char usage[] = "bench_blas [--device 0] [--devices 1,2,4] [--repeats 5] [--gemm 8192] [--gemv "
                            "16384] [--axpy 268435456]\n"
                            "           [--dot 268435456] [--bandwidth 0] [--link 55] [--peak 0]\n";

int main(int argc, char **argv) {
  bench_options(usage, argc, argv);
  problem p = {.what = GEMM};
  int64_t counts[MOST];
  int count_count = bench_list(bench_option(argc, argv, "devices", "1,2,4"), counts, MOST);
  configure(&p, argc, argv);
  const char *fallbacks[OPERATIONS] = {p.gpu ? "8192" : "384", p.gpu ? "16384" : "2048",
                                       p.gpu ? "268435456" : "2097152", p.gpu ? "268435456" : "2097152"};
  bench_begin("blas", argc, argv);
  copy_on_device(&p);
  for (p.what = GEMM; p.what < OPERATIONS; p.what++) {
    p.n = atoll(bench_option(argc, argv, names[p.what], fallbacks[p.what]));
    if (p.n < 1)
      continue;
    on_device(&p);
    if (p.what != GEMM)
      spread(&p, counts, count_count);
  }
  bench_end();
  bench_check(davit_queue_destroy(p.queue), "queue");
  bench_check(davit_finalize(), "finalize");
  return 0;
}
