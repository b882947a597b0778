/* SPDX-License-Identifier: Apache-2.0 */
/* Exact products beside native ones of the same shape, and beside cuBLAS's own emulation of doubles on the device.
 *
 * Elements are (random - 1/2) exp(phi normal), of either part; they come in no order from 2^16 numbers.
 *
 * `error` is the largest of |C - A B| / (u |A||B|) over some elements, of either part, with sums in twice the
 * precision; `bound` is what it may be: k of a native product, min(k, 64) of an exact one, which ends the program
 * where it is more.
 *
 * Floors of exact products: 8-bit operations at 1440 TOPS for each device (three products of parts for complex
 * numbers); the host's link, for all products, as bench_gemm has it. `joules` are those of a product, over --energy
 * seconds. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/energy.h"
#include "bench/peers/cublasxt.h"

enum { POOL = 1 << 16 };
static const double operations = 1440e12; /* of 8 bits, in a second */

typedef struct setup {
  char type; /* d s z c */
  int64_t n;
  int devices, repeats, samples;
  const char *place;
  double phi, energy;
  char *on_host[2]; /* A and B */
  char *a, *b, *c;  /* where they are multiplied */
} setup;

/* A way to multiply; `who` is for people. */
typedef struct way {
  const char *who;
  davit_arithmetic arithmetic;
  int moduli;
  bool emulated; /* by cuBLAS */
} way;

/* ---- elements ---- */

static int parts_of(const setup *s) {
  return s->type == 'z' || s->type == 'c' ? 2 : 1;
}

static bool is_long(const setup *s) {
  return s->type == 'd' || s->type == 'z';
}

static size_t element(const setup *s) {
  return (size_t)parts_of(s) * (is_long(s) ? sizeof(double) : sizeof(float));
}

static double part_at(const setup *s, const char *x, int64_t i) {
  return is_long(s) ? ((const double *)(const void *)x)[i] : (double)((const float *)(const void *)x)[i];
}

static uint64_t next_random(uint64_t *state) { /* SplitMix64 */
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

static double uniform(uint64_t *state) { /* above 0, below 1 */
  return ((double)(next_random(state) >> 12) + 0.5) * 0x1p-52;
}

static void fill(const setup *s, int64_t count, uint64_t seed, char *x) {
  static double pool[POOL];
  static float short_pool[POOL];
  uint64_t state = seed;
  for (int i = 0; i < POOL; i++) {
    const double normal = sqrt(-2 * log(uniform(&state))) * cos(2 * acos(-1) * uniform(&state));
    pool[i] = (uniform(&state) - 0.5) * exp(s->phi * normal);
    short_pool[i] = (float)pool[i];
  }
  uint64_t bits = 0;
  for (int64_t i = 0; i < count * parts_of(s); i++, bits >>= 16) {
    bits = i % 4 == 0 ? next_random(&state) : bits;
    const size_t at = bits % POOL;
    if (is_long(s))
      ((double *)(void *)x)[i] = pool[at];
    else
      ((float *)(void *)x)[i] = short_pool[at];
  }
}

/* ---- the error ---- */

/* A sum in twice the precision, and that of absolute values. */
typedef struct sum {
  double high, low, absolute;
} sum;

static void add_product(sum *s, double a, double b) {
  const double product = a * b, rest = fma(a, b, -product), high = s->high + product, was = high - product;
  s->low += (s->high - was) + (product - (high - was)) + rest;
  s->high = high;
  s->absolute += fabs(product);
}

/* Part `part` of an element of A B, and of |A||B| with |x| = |re| + |im|. */
static sum sum_of(const setup *s, int64_t row, int64_t col, int part) {
  const int parts = parts_of(s);
  sum all = {0}, other = {0};
  for (int64_t l = 0; l < s->n; l++) {
    const int64_t a = (row + l * s->n) * parts, b = (l + col * s->n) * parts;
    const double re = part_at(s, s->on_host[0], a), x = part_at(s, s->on_host[1], b);
    if (parts == 1) {
      add_product(&all, re, x);
      continue;
    }
    const double im = part_at(s, s->on_host[0], a + 1), y = part_at(s, s->on_host[1], b + 1);
    add_product(&all, re, part ? y : x);
    add_product(&all, part ? im : -im, part ? x : y);
    add_product(&other, re, part ? x : y);
    add_product(&other, im, part ? y : x);
  }
  all.absolute += other.absolute;
  return all;
}

static double error_of(const setup *s) {
  const double unit = is_long(s) ? 0x1p-53 : 0x1p-24;
  double worst = 0;
  uint64_t state = 5;
  for (int i = 0; i < s->samples; i++) {
    const int64_t row = (int64_t)(next_random(&state) % (uint64_t)s->n),
                  col = (int64_t)(next_random(&state) % (uint64_t)s->n);
    double found[2];
    bench_check(davit_copy(element(s), s->c + (size_t)(row + col * s->n) * element(s), found), "copy");
    for (int part = 0; part < parts_of(s); part++) {
      const sum right = sum_of(s, row, col, part);
      const double off = fabs(part_at(s, (const char *)found, part) - right.high - right.low);
      worst = off / (unit * right.absolute) <= worst ? worst : off / (unit * right.absolute); /* NaN stays */
    }
  }
  return worst;
}

/* ---- products ---- */

static davit_status multiply_by_davit(const setup *s, const way *w, davit_level3_report *report) {
  int devices[BENCH_MOST];
  for (int i = 0; i < s->devices; i++)
    devices[i] = bench_is_gpu(0) ? i : DAVIT_HOST;
  const davit_level3_options options = {.devices = devices,
                                        .device_count = s->devices,
                                        .arithmetic = w->arithmetic,
                                        .moduli = w->moduli,
                                        .exact_bits = true,
                                        .report = report};
  const int64_t n = s->n;
  const void *a = s->a, *b = s->b;
  void *c = s->c;
#define MULTIPLY(LETTER, T) davit_##LETTER##gemm('N', 'N', n, n, n, (T)1, a, n, b, n, (T)0, c, n, &options)
  switch (s->type) {
  case 'd':
    return MULTIPLY(d, double);
  case 's':
    return MULTIPLY(s, float);
  case 'z':
    return MULTIPLY(z, davit_complex_double);
  default:
    return MULTIPLY(c, davit_complex_float);
  }
}

/* Seconds; negative where cuBLAS does not. */
static double multiply(const setup *s, const way *w, davit_level3_report *report) {
  if (w->emulated)
    return peer_cublas_emulated(s->n, s->a, s->b, s->c);
  const double start = bench_now();
  bench_check(multiply_by_davit(s, w, report), w->who);
  return bench_now() - start;
}

/* Of a product, over at least that many seconds. */
static double joules_of(const setup *s, const way *w) {
  davit_level3_report report;
  const double start = bench_now(), before = bench_joules(s->devices);
  int products = 0;
  do {
    (void)multiply(s, w, &report);
    products++;
  } while (bench_now() - start < s->energy);
  const double after = bench_joules(s->devices);
  return before < 0 || after < 0 ? -1 : (after - before) / products;
}

static void print_floors(const setup *s, const davit_level3_report *report) {
  const double n = (double)s->n, bytes = n * n * (double)element(s);
  if (report->moduli > 0)
    bench_number("floor_arithmetic_ms",
                 1e3 * 2 * n * n * n * report->moduli * (parts_of(s) == 2 ? 3 : 1) / operations / s->devices);
  if (strcmp(s->place, "device") != 0)
    bench_number("floor_link_ms", 1e3 * 2 * bytes / 55e9 / s->devices);
}

static void print_row(const setup *s, const way *w, double first, double *times,
                      const davit_level3_report *report) {
  const double flops = (parts_of(s) == 2 ? 8 : 2) * pow((double)s->n, 3), error = error_of(s);
  const bool exact = report->arithmetic == DAVIT_ARITHMETIC_EXACT;
  const double bound = fmin((double)s->n, exact ? 64 : INFINITY), median = bench_median(times, s->repeats),
               joules = s->energy > 0 ? joules_of(s, w) : -1;
  bench_row();
  bench_text("who", w->emulated ? "cublas" : "davit");
  bench_text("arithmetic", w->emulated ? "emulated" : exact ? "exact" : "native");
  bench_text("type", s->type == 'd' ? "f64" : s->type == 's' ? "f32" : s->type == 'z' ? "c128" : "c64");
  bench_text("place", s->place);
  bench_number("m", (double)s->n);
  bench_number("n", (double)s->n);
  bench_number("k", (double)s->n);
  bench_number("devices", s->devices);
  bench_number("phi", s->phi);
  bench_number("moduli", report->moduli);
  if (report->why_native)
    bench_text("note", report->why_native);
  bench_number("first_ms", 1e3 * first);
  bench_number("median_ms", 1e3 * median);
  bench_number("best_ms", 1e3 * times[0]); /* they are sorted */
  bench_number("tflops", 1e-12 * flops / median);
  bench_number("error", error);
  bench_number("bound", bound);
  if (joules >= 0)
    bench_number("joules", joules);
  print_floors(s, report);
  fprintf(stderr,
          "%-9s %c %6lld %-8s devices %d moduli %2d: first %8.2f median %8.3f best %8.3f ms %7.2f TFLOP/s, "
          "error %.3g of %g",
          w->who, s->type, (long long)s->n, s->place, s->devices, report->moduli, 1e3 * first, 1e3 * median,
          1e3 * times[0], 1e-12 * flops / median, error, bound);
  if (joules >= 0)
    fprintf(stderr, ", %.1f J", joules);
  fprintf(stderr, "%s%s\n", report->why_native ? ", " : "", report->why_native ? report->why_native : "");
  if (exact && !(error <= bound))
    bench_check(davit_fail(DAVIT_INTERNAL_ERROR, "an exact product is off by %.3g u |A||B|", error), w->who);
}

static void run_way(const setup *s, const way *w) {
  davit_level3_report report = {.moduli = 0};
  double times[BENCH_MOST];
  bench_check(davit_fill((size_t)(s->n * s->n) * element(s), 0xff, s->c), "fill"); /* NaN */
  const double first = multiply(s, w, &report);
  for (int i = 0; i < s->repeats && first >= 0; i++)
    times[i] = multiply(s, w, &report);
  if (first >= 0)
    print_row(s, w, first, times, &report);
}

static void run_size(const setup *s, const bench_values *moduli) {
  const bool on_device = strcmp(s->place, "device") == 0;
  run_way(s, &(way){.who = "native"});
  for (int i = 0; i < moduli->count; i++)
    run_way(s, &(way){"exact", DAVIT_ARITHMETIC_EXACT, (int)moduli->at[i], false});
  if (on_device && s->type == 'd' && s->devices == 1 && peer_cublas_emulated)
    run_way(s, &(way){.who = "emulated", .emulated = true});
}

/* ---- memory ---- */

static char *allocated(size_t bytes, int place) {
  void *memory;
  bench_check(davit_malloc(bytes, place, &memory), "memory");
  return memory;
}

/* All sizes on operands that are as large as the largest of them. */
static void run_place(setup s, const bench_values *sizes, const bench_values *counts,
                      const bench_values *moduli) {
  const size_t bytes = (size_t)(bench_largest(sizes) * bench_largest(sizes)) * element(&s);
  const bool on_device = strcmp(s.place, "device") == 0;
  const int place = on_device ? 0 : strcmp(s.place, "pageable") == 0 ? DAVIT_PAGEABLE : DAVIT_PINNED;
  int present = 0;
  bench_check(davit_device_count(&present), "devices");
  s.a = allocated(bytes, place);
  s.b = allocated(bytes, place);
  s.c = allocated(bytes, place);
  bench_check(davit_copy(bytes, s.on_host[0], s.a), "copy");
  bench_check(davit_copy(bytes, s.on_host[1], s.b), "copy");
  for (int i = 0; i < sizes->count; i++)
    for (int d = 0; d < counts->count; d++) {
      s.n = sizes->at[i];
      s.devices = (int)counts->at[d];
      if (s.devices <= present)
        run_size(&s, moduli);
    }
  davit_free(s.a);
  davit_free(s.b);
  davit_free(s.c);
}

static void run_type(setup s, const char *places, const bench_values *sizes, const bench_values *counts,
                     const bench_values *moduli) {
  const int64_t count = bench_largest(sizes) * bench_largest(sizes);
  char list[64];
  snprintf(list, sizeof list, "%s", places);
  for (int i = 0; i < 2; i++) {
    s.on_host[i] = allocated((size_t)count * element(&s), DAVIT_PAGEABLE);
    fill(&s, count, (uint64_t)i + 1, s.on_host[i]);
  }
  for (char *place = strtok(list, ","); place; place = strtok(NULL, ",")) {
    s.place = place;
    run_place(s, sizes, counts, moduli);
  }
  for (int i = 0; i < 2; i++)
    davit_free(s.on_host[i]);
}

static const char usage[] =
    "bench_exact [--sizes 2048,4096] [--types d,s,z,c] [--place device,pinned,pageable] [--devices 1,2]\n"
    "            [--phi 0.5] [--moduli 0,18] [--samples 100] [--energy 2] [--repeats 5]\n"
    "--moduli asks for at least so many (0: as many as are needed); --energy is for how many seconds each "
    "product\n"
    "is repeated for the energy that it takes (0: not).\n";

int main(int argc, char **argv) {
  bench_options(usage, argc, argv);
  const bench_values sizes = bench_sizes("sizes", "1024,2048"), counts = bench_sizes("devices", "1"),
                     moduli = bench_list("moduli", "0");
  bench_begin("exact");
  for (const char *type = bench_option("types", "d,s,z"); *type; type++)
    if (*type != ',')
      run_type((setup){.type = *type,
                       .repeats = bench_count("repeats", 5),
                       .samples = (int)bench_whole("samples", 100),
                       .phi = atof(bench_option("phi", "0.5")),
                       .energy = atof(bench_option("energy", "0"))},
               bench_option("place", bench_is_gpu(0) ? "device,pinned" : "pageable"), &sizes, &counts,
               &moduli);
  return bench_finish();
}
