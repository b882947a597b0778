/* SPDX-License-Identifier: Apache-2.0 */
/* The tiled product against cuBLASXt (best block size of 1024 … 8192) in one run: squares, shapes that are
 * not square, and shapes drawn at random; operands in pinned or pageable memory or on one device, where
 * cuBLAS itself is the peer.
 *
 * Floors printed with each row, of the machine that the run is on: arithmetic = 2 m n k over the devices
 * times the rate that cuBLAS sustains on one of them in this run; link = bytes that must cross the host link
 * (A and B in, C out; each once) at 55 GB/s per device and direction.
 *
 * The result of every row of davit's is checked, which begins with NaN in all of C: C x against op(A) (op(B) x)
 * for a random x, which davit_dgemv() computes. `error` is the largest difference over eps times the largest
 * element; the program ends with a failure if that is more than n + k, the bound for sums of positive numbers in
 * any order. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/peers/cublasxt.h"

enum { MOST_SHAPES = 256 };

typedef struct setup {
  peer_product p;
  int devices, repeats;
  const char *place;
  char *a, *b, *c;
  bool alone;       /* no peers */
  double sustained; /* flops per second of one device; negative: unknown */
} setup;

static size_t element(char type) {
  return type == 'd' ? sizeof(double) : sizeof(float);
}

static davit_type type_of(char type) {
  return type == 'd' ? DAVIT_DOUBLE : DAVIT_FLOAT;
}

static bool is_on_device(const setup *s) {
  return strcmp(s->place, "device") == 0;
}

static size_t bytes_of(const peer_product *p) {
  return (size_t)(p->m * p->k + p->k * p->n + p->m * p->n) * element(p->type);
}

static davit_status multiply(const setup *s, const davit_level3_options *options) {
  const peer_product *p = &s->p;
  const int64_t lda = p->transa == 'N' ? p->m : p->k, ldb = p->transb == 'N' ? p->k : p->n;
  return p->type == 'd' ? davit_dgemm(p->transa, p->transb, p->m, p->n, p->k, 1, (double *)s->a, lda,
                                      (double *)s->b, ldb, 0, (double *)s->c, p->m, options)
                        : davit_sgemm(p->transa, p->transb, p->m, p->n, p->k, 1, (float *)s->a, lda,
                                      (float *)s->b, ldb, 0, (float *)s->c, p->m, options);
}

/* error: negative where none is known. */
static void row(const setup *s, const char *who, int64_t tile, double first, double *times, int count,
                double error) {
  const peer_product *p = &s->p;
  const double flops = 2 * (double)p->m * (double)p->n * (double)p->k;
  double best = times[0];
  for (int i = 1; i < count; i++)
    best = times[i] < best ? times[i] : best;
  const double median = bench_median(times, count);
  bench_row();
  bench_text("who", who);
  bench_text("type", p->type == 'd' ? "f64" : "f32");
  bench_text("place", s->place);
  bench_text("op", (char[]){p->transa, p->transb, 0});
  bench_number("m", (double)p->m);
  bench_number("n", (double)p->n);
  bench_number("k", (double)p->k);
  bench_number("devices", s->devices);
  bench_number("tile", (double)tile);
  bench_number("first_ms", 1e3 * first);
  bench_number("median_ms", 1e3 * median);
  bench_number("best_ms", 1e3 * best);
  bench_number("tflops", 1e-12 * flops / median);
  if (error >= 0)
    bench_number("error", error);
  if (s->sustained > 0)
    bench_number("floor_arithmetic_ms", 1e3 * flops / s->sustained / s->devices);
  if (!is_on_device(s)) {
    const double up = (double)((p->m * p->k + p->k * p->n) * (int64_t)element(p->type));
    const double down = (double)(p->m * p->n * (int64_t)element(p->type));
    bench_number("floor_link_ms", 1e3 * (up > down ? up : down) / 55e9 / s->devices);
  }
  fprintf(
      stderr,
      "%-10s %c %c%c %6lld x %6lld x %6lld %-8s devices %d tile %5lld: first %8.2f median %8.3f best %8.3f "
      "ms %7.2f TFLOP/s\n",
      who, p->type, p->transa, p->transb, (long long)p->m, (long long)p->n, (long long)p->k, s->place,
      s->devices, (long long)tile, 1e3 * first, 1e3 * median, 1e3 * best, 1e-12 * flops / median);
}

/* ---- the check ---- */

static davit_status times_vector(const setup *s, char trans, int64_t rows, int64_t cols, const void *matrix,
                                 int64_t ld, const void *x, void *y) {
  return s->p.type == 'd' ? davit_dgemv(trans, rows, cols, 1, matrix, ld, x, 1, 0, y, 1, NULL)
                          : davit_sgemv(trans, rows, cols, 1, matrix, ld, x, 1, 0, y, 1, NULL);
}

/* op(X) x, where op(X) has `rows` rows. */
static davit_status apply(const setup *s, char trans, int64_t rows, int64_t cols, const void *matrix,
                          const void *x, void *y) {
  return trans == 'N' ? times_vector(s, 'N', rows, cols, matrix, rows, x, y)
                      : times_vector(s, 'T', cols, rows, matrix, cols, x, y);
}

static void *allocated(size_t bytes, int place) {
  void *memory;
  bench_check(davit_malloc(bytes, place, &memory), "memory");
  return memory;
}

/* A vector where the operands are, or at least within reach of them. */
static void *vector(const setup *s, int64_t n) {
  return allocated((size_t)n * element(s->p.type), is_on_device(s) ? 0 : DAVIT_PAGEABLE);
}

static void *on_host(const setup *s, int64_t n, const void *x) {
  const size_t bytes = (size_t)n * element(s->p.type);
  void *copy = allocated(bytes, DAVIT_PAGEABLE);
  bench_check(davit_copy(bytes, x, copy), "copy");
  return copy;
}

static double at(char type, const void *x, int64_t i) {
  return type == 'd' ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/* The largest difference between C x and op(A) (op(B) x), in eps of the largest element. */
static double error_of(const setup *s) {
  const peer_product *p = &s->p;
  void *x = vector(s, p->n), *bx = vector(s, p->k), *abx = vector(s, p->m), *cx = vector(s, p->m);
  bench_check(davit_random(type_of(p->type), p->n, 11, x), "fill");
  bench_check(apply(s, p->transb, p->k, p->n, s->b, x, bx), "check");
  bench_check(apply(s, p->transa, p->m, p->k, s->a, bx, abx), "check");
  bench_check(apply(s, 'N', p->m, p->n, s->c, x, cx), "check");
  void *expected = on_host(s, p->m, abx), *found = on_host(s, p->m, cx);
  double largest = 0, difference = 0;
  for (int64_t i = 0; i < p->m; i++) {
    const double should = at(p->type, expected, i), off = fabs(at(p->type, found, i) - should);
    largest = fmax(largest, fabs(should));
    difference = isnan(difference) || off <= difference ? difference : off; /* NaN stays */
  }
  void *all[] = {x, bx, abx, cx, expected, found};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    davit_free(all[i]);
  const double error = difference / largest / (p->type == 'd' ? 0x1p-53 : 0x1p-24);
  if (!(error <= (double)(p->n + p->k)))
    bench_check(davit_fail(DAVIT_INTERNAL_ERROR, "C x is off by %.3g eps, more than n + k", error), "gemm");
  return error;
}

static double run_davit(const setup *s, int64_t tile) {
  double times[BENCH_MOST], first = 0;
  int devices[BENCH_MOST];
  davit_level3_report report;
  for (int i = 0; i < s->devices; i++)
    devices[i] = i;
  davit_level3_options options = {
      .devices = devices, .device_count = s->devices, .tile = tile, .report = &report};
  bench_check(davit_fill((size_t)(s->p.m * s->p.n) * element(s->p.type), 0xff, s->c), "fill"); /* NaN */
  for (int i = 0; i <= s->repeats; i++) {
    double start = bench_now();
    bench_check(multiply(s, &options), "gemm");
    *(i ? &times[i - 1] : &first) = bench_now() - start;
  }
  row(s, "davit", report.tile, first, times, s->repeats, error_of(s));
  return bench_median(times, s->repeats);
}

/* The best of the block sizes, each as often as davit; one that is four times as slow as the best so far is
 * not tried further. Seconds, negative without cuBLASXt. */
static double run_xt(const setup *s) {
  double best[BENCH_MOST] = {0}, best_first = 0, least = -1;
  int64_t best_block = 0;
  if (s->alone || !peer_cublasxt_open || !peer_cublasxt_open(s->devices))
    return -1;
  for (int64_t block = 8192; block >= 1024; block /= 2) {
    double times[BENCH_MOST], first = peer_cublasxt_gemm(&s->p, block, s->a, s->b, s->c);
    if (first < 0 || (least > 0 && first > 4 * least))
      continue;
    for (int i = 0; i < s->repeats; i++)
      times[i] = peer_cublasxt_gemm(&s->p, block, s->a, s->b, s->c);
    const double median = bench_median(times, s->repeats);
    if (least < 0 || median < least) {
      memcpy(best, times, sizeof best);
      least = median;
      best_block = block;
      best_first = first;
    }
  }
  peer_cublasxt_close();
  if (best_block)
    row(s, "cublasxt", best_block, best_first, best, s->repeats, -1);
  return least;
}

static char *memory(const char *place, char type, size_t bytes) {
  void *pointer = allocated(bytes, strcmp(place, "device") == 0     ? 0
                                   : strcmp(place, "pageable") == 0 ? DAVIT_PAGEABLE
                                                                    : DAVIT_PINNED);
  bench_check(davit_random(type_of(type), (int64_t)(bytes / element(type)), 1, pointer), "fill");
  return pointer;
}

/* What shapes together say of one number of devices. */
typedef struct summary {
  int devices, compared, before; /* before: the number of devices that `slower` compares with */
  double logarithms, least;      /* of cuBLASXt's time over davit's */
  double slower;                 /* the largest ratio to the time on `before` devices */
} summary;

static void add_ratio(summary *of, double ratio) {
  of->least = of->compared == 0 || ratio < of->least ? ratio : of->least;
  of->logarithms += log(ratio);
  of->compared++;
}

static void print(const summary *of) {
  if (of->before > 0)
    fprintf(stderr, "%d devices: at most %.2f times the time of %d\n", of->devices, of->slower, of->before);
  if (of->compared > 1)
    fprintf(stderr, "%d devices: cuBLASXt over davit, geometric mean %.2f, minimum %.2f\n", of->devices,
            exp(of->logarithms / of->compared), of->least);
}

/* One shape on so many devices, with each of the tiles; the time with the last of these. */
static double run_shape(const setup *s, const bench_values *tiles, summary *of) {
  double mine = 0;
  for (int t = 0; t < tiles->count; t++)
    mine = run_davit(s, tiles->at[t]);
  const bool square = s->p.m == s->p.n && s->p.n == s->p.k;
  if (is_on_device(s) && square && s->devices == 1 && !s->alone && peer_cublas_gemm) {
    double one = peer_cublas_gemm(s->p.type, s->p.n, 20);
    row(s, "cublas", s->p.n, one, &one, 1, -1);
  }
  const double xt = strcmp(s->place, "pinned") == 0 ? run_xt(s) : -1;
  if (xt > 0)
    add_ratio(of, xt / mine);
  return mine;
}

/* All shapes with operands cut from one piece of memory, which takes a while to pin, and C from another: products that
 * became operands of others would grow without bound. */
static void run(setup s, const peer_product *shapes, int count, const bench_values *tiles,
                const bench_values *counts) {
  int present = 0;
  size_t most = 0, most_c = 0;
  summary of[BENCH_MOST] = {{0}};
  bench_check(davit_device_count(&present), "devices");
  for (int i = 0; i < count; i++) {
    const size_t c = (size_t)(shapes[i].m * shapes[i].n) * element(shapes[i].type);
    most = bytes_of(&shapes[i]) - c > most ? bytes_of(&shapes[i]) - c : most;
    most_c = c > most_c ? c : most_c;
  }
  char *all = memory(s.place, shapes[0].type, most + 1024),
       *c = memory(s.place, shapes[0].type, most_c + 1024);
  for (int i = 0; i < count; i++) {
    const summary *former = NULL;
    double before = 0;
    s.p = shapes[i];
    s.a = all;
    s.b = s.a + (size_t)(s.p.m * s.p.k) * element(s.p.type);
    s.c = c;
    for (int d = 0; d < counts->count; d++) {
      s.devices = of[d].devices = (int)counts->at[d];
      if (s.devices > present)
        continue;
      const double mine = run_shape(&s, tiles, &of[d]);
      if (former) {
        of[d].before = former->devices;
        of[d].slower = fmax(of[d].slower, mine / before);
      }
      former = &of[d];
      before = mine;
    }
  }
  for (int d = 0; d < counts->count && count > 1; d++)
    print(&of[d]);
  davit_free(all);
  davit_free(c);
  bench_check(davit_memory_trim(DAVIT_PINNED), "trim");
}

/* ---- shapes ---- */

static uint64_t next_random(uint64_t *state) { /* SplitMix64 */
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

/* Log-uniform in 64 … 60000. */
static int64_t random_length(uint64_t *state) {
  const double unit = (double)(next_random(state) >> 11) * 0x1p-53;
  return (int64_t)(64 * exp(unit * log(60000.0 / 64)));
}

static int draw(char type, int count, uint64_t seed, double most_bytes, peer_product *shapes) {
  for (int i = 0; i < count;) {
    peer_product p = {type, 'N', 'N', random_length(&seed), random_length(&seed), random_length(&seed)};
    const uint64_t letters = next_random(&seed);
    p.transa = letters & 1 ? 'T' : 'N';
    p.transb = letters & 2 ? 'T' : 'N';
    if ((double)bytes_of(&p) <= most_bytes)
      shapes[i++] = p;
  }
  return count;
}

static int named(char type, const bench_values *sizes, bool thin, peer_product *shapes) {
  int count = 0;
  for (int i = 0; i < sizes->count && !thin; i++)
    shapes[count++] = (peer_product){type, 'N', 'N', sizes->at[i], sizes->at[i], sizes->at[i]};
  if (thin) {
    shapes[count++] = (peer_product){type, 'N', 'N', 20000, 20000, 500};
    shapes[count++] = (peer_product){type, 'N', 'N', 500, 500, 200000};
    shapes[count++] = (peer_product){type, 'N', 'N', 30000, 500, 30000};
    shapes[count++] = (peer_product){type, 'T', 'N', 3000, 3000, 15000};
  }
  return count;
}

static const char usage[] =
    "bench_gemm [--sizes 8192,16384] [--devices 1,2,4] [--types d,s] [--tiles 0,1024,2048] [--repeats 5]\n"
    "           [--place pinned|pageable|device] [--thin 1] [--shapes 60] [--seed 1] [--gigabytes 24]\n"
    "           [--alone 1]\n"
    "--thin 1 measures four shapes that are far from square, --shapes that many drawn at random, m, n and k\n"
    "log-uniform in 64 ... 60000 and all transposes, of at most --gigabytes. --alone 1 leaves out cuBLAS "
    "and\n"
    "cuBLASXt, so that the first call is the process's first product.\n";

int main(int argc, char **argv) {
  bench_options(usage, argc, argv);
  const char *types = bench_option("types", "d");
  const bool thin = bench_whole("thin", 0) > 0, alone = bench_whole("alone", 0) > 0;
  const bench_values sizes = bench_sizes("sizes", "1024,2048"), counts = bench_sizes("devices", "1,2,4"),
                     tiles = bench_list("tiles", "0");
  const int drawn = bench_whole("shapes", 0) > 0 ? bench_count("shapes", 1) : 0;
  static peer_product shapes[MOST_SHAPES];
  bench_begin("gemm");
  for (const char *type = types; *type; type++) {
    if (*type == ',')
      continue;
    setup s = {
        .repeats = bench_count("repeats", 5), .place = bench_option("place", "pinned"), .alone = alone};
    /* The smallest shape has 0.1 MB: some are always small enough. */
    const double gigabytes = fmax(atof(bench_option("gigabytes", "24")), 1e-3);
    const int count = drawn ? draw(*type, drawn, (uint64_t)bench_whole("seed", 1), 1e9 * gigabytes, shapes)
                            : named(*type, &sizes, thin, shapes);
    s.sustained = peer_cublas_sustained && !alone ? peer_cublas_sustained(*type, 1.5) : -1;
    if (s.sustained > 0)
      fprintf(stderr, "cuBLAS sustains %.1f TFLOP/s on one device\n", 1e-12 * s.sustained);
    run(s, shapes, count, &tiles, &counts);
  }
  return bench_finish();
}
