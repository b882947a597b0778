/* SPDX-License-Identifier: Apache-2.0 */
/* The tiled product against cuBLASXt (best block size) and cuBLAS with data on the device, in one run.
 *
 * Floors printed with each row, from the figures of the machine the run was on: arithmetic = the rate of
 * cuBLAS on one device times the devices; link = bytes that must cross the host link (A and B in, C out; each
 * once) at 55 GB/s per device and direction. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/peers/cublasxt.h"

typedef struct setup {
  char type;
  int64_t n;
  int devices, repeats;
  void *a, *b, *c;
  double one_device; /* seconds of cuBLAS, negative: unknown */
} setup;

static size_t element(char type) {
  return type == 'd' ? sizeof(double) : sizeof(float);
}

static davit_status multiply(const setup *s, const davit_gemm_options *options) {
  int64_t n = s->n;
  return s->type == 'd' ? davit_dgemm('N', 'N', n, n, n, 1, s->a, n, s->b, n, 0, s->c, n, options)
                        : davit_sgemm('N', 'N', n, n, n, 1, s->a, n, s->b, n, 0, s->c, n, options);
}

static void row(const setup *s, const char *who, int64_t tile, double first, double *times, int count) {
  double best = times[0], flops = 2.0 * (double)s->n * (double)s->n * (double)s->n;
  for (int i = 1; i < count; i++)
    best = times[i] < best ? times[i] : best;
  double median = bench_median(times, count);
  bench_row();
  bench_text("who", who);
  bench_text("type", s->type == 'd' ? "f64" : "f32");
  bench_number("n", (double)s->n);
  bench_number("devices", s->devices);
  bench_number("tile", (double)tile);
  bench_number("first_ms", 1e3 * first);
  bench_number("median_ms", 1e3 * median);
  bench_number("best_ms", 1e3 * best);
  bench_number("tflops", 1e-12 * flops / median);
  if (s->one_device > 0)
    bench_number("floor_arithmetic_ms", 1e3 * s->one_device / s->devices);
  bench_number("floor_link_ms",
               1e3 * 2 * (double)element(s->type) * (double)s->n * (double)s->n / 55e9 / s->devices);
  fprintf(stderr,
          "%-10s %c n %6lld devices %d tile %5lld: first %8.2f median %8.2f best %8.2f ms %8.2f TFLOP/s\n",
          who, s->type, (long long)s->n, s->devices, (long long)tile, 1e3 * first, 1e3 * median, 1e3 * best,
          1e-12 * flops / median);
}

static void run_davit(const setup *s, int64_t tile) {
  double times[BENCH_MOST], first = 0;
  int devices[BENCH_MOST];
  davit_gemm_report report;
  for (int i = 0; i < s->devices; i++)
    devices[i] = i;
  davit_gemm_options options = {
      .devices = devices, .device_count = s->devices, .tile = tile, .report = &report};
  for (int i = 0; i <= s->repeats; i++) {
    double start = bench_now();
    bench_check(multiply(s, &options), "gemm");
    *(i ? &times[i - 1] : &first) = bench_now() - start;
  }
  row(s, "davit", report.tile, first, times, s->repeats);
}

static void run_xt(const setup *s) {
  double best[BENCH_MOST] = {0}, best_first = 0;
  int64_t best_block = 0;
  if (!peer_cublasxt_open || !peer_cublasxt_open(s->devices))
    return;
  for (int64_t block = 2048; block <= 8192 && block <= s->n / 2; block *= 2) {
    if (s->n / block > 16)
      continue; /* never its best: 8 times as slow at n = 32768 */
    double times[BENCH_MOST], first = peer_cublasxt_gemm(s->type, s->n, block, s->a, s->b, s->c);
    for (int i = 0; i < s->repeats; i++)
      times[i] = peer_cublasxt_gemm(s->type, s->n, block, s->a, s->b, s->c);
    double copy[BENCH_MOST];
    memcpy(copy, times, sizeof copy);
    if (first > 0 && (best_block == 0 || bench_median(copy, s->repeats) < bench_median(best, s->repeats))) {
      memcpy(best, times, sizeof best);
      best_block = block;
      best_first = first;
    }
  }
  peer_cublasxt_close();
  if (best_block)
    row(s, "cublasxt", best_block, best_first, best, s->repeats);
}

static void *matrix(const setup *s, const char *place) {
  void *pointer = NULL;
  size_t bytes = (size_t)s->n * (size_t)s->n * element(s->type);
  int where = strcmp(place, "device") == 0     ? 0
              : strcmp(place, "pageable") == 0 ? DAVIT_PAGEABLE
                                               : DAVIT_PINNED;
  bench_check(davit_malloc(bytes, where, &pointer), "memory");
  bench_check(s->type == 'd' ? davit_random(DAVIT_DOUBLE, s->n * s->n, 1 + (uint64_t)(s->n & 7), pointer)
                             : davit_random(DAVIT_FLOAT, s->n * s->n, 1, pointer),
              "fill");
  return pointer;
}

static void run(setup *s, const char *place, const bench_values *tiles, const bench_values *counts) {
  int present = 0;
  bench_check(davit_device_count(&present), "devices");
  s->a = matrix(s, place);
  s->b = matrix(s, place);
  s->c = matrix(s, place);
  s->one_device = peer_cublas_gemm ? peer_cublas_gemm(s->type, s->n < 16384 ? s->n : 16384, 3) : -1;
  if (s->n > 16384 && s->one_device > 0) {
    double scale = (double)s->n / 16384;
    s->one_device *= scale * scale * scale;
  }
  for (int i = 0; i < counts->count; i++) {
    s->devices = (int)counts->at[i];
    if (s->devices > present)
      continue;
    for (int t = 0; t < tiles->count; t++)
      run_davit(s, tiles->at[t]);
    if (strcmp(place, "pinned") == 0)
      run_xt(s);
  }
  davit_free(s->a);
  davit_free(s->b);
  davit_free(s->c);
}

static const char usage[] =
    "bench_gemm [--sizes 8192,16384] [--devices 1,2,4] [--types d,s] [--tiles 0,1024,2048] [--repeats 5]\n"
    "           [--place pinned|pageable|device]\n";

int main(int argc, char **argv) {
  bench_options(usage, argc, argv);
  const char *types = bench_option("types", "d"), *place = bench_option("place", "pinned");
  const bench_values sizes = bench_sizes("sizes", "1024,2048"), counts = bench_sizes("devices", "1,2,4"),
                     tiles = bench_list("tiles", "0");
  bench_begin("gemm");
  for (const char *type = types; *type; type++)
    for (int i = 0; i < sizes.count && *type != ','; i++) {
      setup s = {.type = *type, .n = sizes.at[i], .repeats = bench_count("repeats", 5)};
      run(&s, place, &tiles, &counts);
      bench_check(davit_memory_trim(DAVIT_PINNED), "trim");
    }
  return bench_finish();
}
