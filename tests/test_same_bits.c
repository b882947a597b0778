/* SPDX-License-Identifier: Apache-2.0 */
/* Results whose bits do not depend on the number of threads, as docs/interface.md says in its table: each operation
 * gives the same bytes with 1, 2, 3 and 7 threads, on DAVIT_HOST and where no device is named. The data round, and are
 * long enough for several threads. */
#include "tests/paths.h"
#include "tests/searches.h"

/* Sums of doubles whose rounding shows the order; a monoid of the program's own. */
static inline double add_doubles(double a, double b) {
  return a + b;
}

#define DAVIT_MONOID own_sum
#define DAVIT_MONOID_TYPE double
#define DAVIT_MONOID_IDENTITY (-0.0)
#define DAVIT_MONOID_COMBINE add_doubles
#include <davit/define_monoid.h>

/* Works on `count` devices and writes so many bytes to `out`, which is OUT_BYTES long and all 0 before. */
typedef size_t work(const int *devices, int count, char *out);
enum { OUT_BYTES = 16 << 20 };
#define OPTIONS(T, ...) (&(T){.devices = devices, .device_count = count, __VA_ARGS__})

/* ---- arrays ---- */

enum { ELEMENTS = 300007 };

static size_t scans_with(const int *devices, int count, char *out, int pattern) {
  char *to = out;
  EACH_OPERATOR(op)
    EACH_REAL(type) {
      SCOPE;
      const davit_scan_kind kind = type == DAVIT_DOUBLE ? DAVIT_SCAN_INCLUSIVE : DAVIT_SCAN_EXCLUSIVE;
      const void *x = rough_data(op, type, ELEMENTS, 1 + (uint64_t)op);
      const uint8_t *flags = pattern < 0 ? NULL : make_flags((flag_pattern)pattern, ELEMENTS, 2);
      CHECK(flags ? davit_segmented_scan(op, type, kind, ELEMENTS, x, flags, to, OPTIONS(davit_scan_options))
                  : davit_scan(op, type, kind, ELEMENTS, x, to, OPTIONS(davit_scan_options)));
      to += (ELEMENTS + 1) * davit_type_bytes(type); /* even, so that each type is aligned */
    }
  return (size_t)(to - out);
}

static size_t scans(const int *devices, int count, char *out) {
  return scans_with(devices, count, out, -1);
}

static size_t segmented_scans(const int *devices, int count, char *out) {
  return scans_with(devices, count, out, FLAGS_LONG);
}

/* Segments as long as some blocks of offload/kernel/scan_host.inc, with heads anywhere in a block. */
static size_t scans_of_long_segments(const int *devices, int count, char *out) {
  const double *x = rough_data(DAVIT_SUM, DAVIT_DOUBLE, ELEMENTS, 3);
  uint8_t *flags = kept_zeros(ELEMENTS);
  for (int64_t i = 12345; i < ELEMENTS; i += 71003)
    flags[i] = 1;
  CHECK(davit_segmented_scan(DAVIT_SUM, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, ELEMENTS, x, flags, out,
                             OPTIONS(davit_scan_options)));
  return ELEMENTS * sizeof *x;
}

static size_t scans_by_queue(const int *devices, int count, char *out) {
  const int device = count > 0 ? devices[0] : 0;
  zone x = zone_of(rough_data(DAVIT_SUM, DAVIT_DOUBLE, ELEMENTS, 4), ELEMENTS * sizeof(double),
                   place_for(device), 0);
  davit_queue *queue = new_queue(device, 1);
  CHECK(davit_queue_scan(queue, DAVIT_SUM, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, ELEMENTS, zone_data(&x),
                         zone_data(&x), NULL));
  finish(queue);
  zone_take(&x, out);
  return ELEMENTS * sizeof(double);
}

static size_t scans_in_parts(const int *devices, int count, char *out) {
  enum { CUT = 180001 };
  (void)devices, (void)count;
  double *x = rough_data(DAVIT_SUM, DAVIT_DOUBLE, ELEMENTS, 5), *y = (double *)(void *)out;
  const davit_scan_part parts[] = {{.n = CUT, .x = x, .y = y},
                                   {.n = ELEMENTS - CUT, .x = x + CUT, .y = y + CUT}};
  CHECK(davit_scan_parts(DAVIT_SUM, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, 2, parts));
  return ELEMENTS * sizeof *x;
}

static size_t own_scans(const int *devices, int count, char *out) {
  const double *x = rough_data(DAVIT_SUM, DAVIT_DOUBLE, ELEMENTS, 6);
  const uint8_t *flags = make_flags(FLAGS_LONG, ELEMENTS, 7);
  const size_t bytes = ELEMENTS * sizeof *x;
  CHECK(
      davit_monoid_scan(&own_sum, DAVIT_SCAN_INCLUSIVE, ELEMENTS, x, NULL, out, OPTIONS(davit_scan_options)));
  CHECK(davit_monoid_scan(&own_sum, DAVIT_SCAN_INCLUSIVE, ELEMENTS, x, flags, out + bytes,
                          OPTIONS(davit_scan_options)));
  return 2 * bytes;
}

static size_t reductions(const int *devices, int count, char *out) {
  char *to = out;
  EACH_OPERATOR(op)
    EACH_REAL(type) {
      SCOPE;
      CHECK(davit_reduce(op, type, ELEMENTS, rough_data(op, type, ELEMENTS, 8), to,
                         OPTIONS(davit_reduce_options)));
      to += 8;
    }
  return (size_t)(to - out);
}

static size_t own_reductions(const int *devices, int count, char *out) {
  const double *x = rough_data(DAVIT_SUM, DAVIT_DOUBLE, ELEMENTS, 9);
  CHECK(davit_monoid_reduce(&own_sum, ELEMENTS, x, out, OPTIONS(davit_reduce_options)));
  CHECK(davit_monoid_reduce(&own_sum, ELEMENTS - 5, x, out + 8, OPTIONS(davit_reduce_options)));
  return 16;
}

static size_t fills(const int *devices, int count, char *out) {
  enum { N = 1000003 };
  (void)devices, (void)count;
  CHECK(davit_random(DAVIT_DOUBLE, N, 10, out));
  CHECK(davit_random(DAVIT_FLOAT, 2 * N, 10, out + N * sizeof(double)));
  return 2 * N * sizeof(double);
}

/* ---- level 1, 2 and 3 ---- */

static size_t vectors(const int *devices, int count, char *out) {
  enum { N = 1500001 };
  const double *x = rough_data(DAVIT_SUM, DAVIT_DOUBLE, N, 11);
  double *y = (double *)(void *)out, *sums = y + N;
  memcpy(y, rough_data(DAVIT_SUM, DAVIT_DOUBLE, N, 12), N * sizeof *y);
  CHECK(davit_daxpy(N, 1 / 3.0, x, 1, y, 1, OPTIONS(davit_axpy_options)));
  CHECK(davit_dscal(N, 0.7, y, 1, OPTIONS(davit_scal_options)));
  CHECK(davit_ddot(N, x, 1, y, 1, sums, OPTIONS(davit_dot_options)));
  CHECK(davit_dnrm2(N, x, 1, sums + 1, OPTIONS(davit_norm_options)));
  CHECK(davit_dasum(N, x, 1, sums + 2, OPTIONS(davit_norm_options)));
  return (N + 3) * sizeof *y;
}

static size_t matrix_vector(const int *devices, int count, char *out) {
  enum { M = 1501, N = 1203 };
  const double *a = rough_data(DAVIT_SUM, DAVIT_DOUBLE, M * N, 13),
               *x = rough_data(DAVIT_SUM, DAVIT_DOUBLE, M, 14);
  double *y = (double *)(void *)out;
  CHECK(davit_dgemv('N', M, N, 1.1, a, M, x, 1, 0, y, 1, OPTIONS(davit_gemv_options)));
  CHECK(davit_dgemv('T', M, N, 1.1, a, M, x, 1, 0, y + M, 1, OPTIONS(davit_gemv_options)));
  return (M + N) * sizeof *y;
}

/* ---- dense kernels ---- */

static size_t stencils(const int *devices, int count, char *out) {
  enum { ROWS = 803, COLS = 1001 };
  EACH_REAL(type)
    CHECK(davit_stencil(type, ROWS, COLS, rough_data(DAVIT_SUM, type, ROWS * COLS, 20), ROWS, NULL,
                        out + (type == DAVIT_DOUBLE) * (ROWS * COLS + 1) * sizeof(float), ROWS,
                        OPTIONS(davit_stencil_options, .border = DAVIT_STENCIL_BORDER_COPY)));
  return (ROWS * COLS + 1) * sizeof(float) + ROWS * COLS * sizeof(double);
}

/* ---- points ---- */

/* Points of a plane, spread evenly or, with many equal distances, on a lattice. */
static const double *some_points(bool lattice, int64_t n) {
  double *points = rough_data(DAVIT_SUM, DAVIT_DOUBLE, 2 * n, 22);
  for (int64_t i = 0; lattice && i < 2 * n; i++)
    points[i] = floor(200 * points[i]);
  return points;
}

static size_t closest(const int *devices, int count, char *out) {
  davit_closest_pair_result *r = (davit_closest_pair_result *)(void *)out;
  for (int lattice = 0; lattice < 2; lattice++)
    for (int algorithm = DAVIT_CLOSEST_PAIR_BRUTE; algorithm <= DAVIT_CLOSEST_PAIR_GRID; algorithm++) {
      const int64_t n = algorithm == DAVIT_CLOSEST_PAIR_BRUTE ? 5003 : 100003;
      CHECK(davit_closest_pair(
          DAVIT_DOUBLE, 2, n, some_points(lattice, n), r++,
          OPTIONS(davit_closest_pair_options, .algorithm = (davit_closest_pair_algorithm)algorithm)));
    }
  return (size_t)((char *)r - out);
}

static size_t closest_many(const int *devices, int count, char *out) {
  enum { N = 20003, K = 20000 };
  davit_closest_pair_result *r = (davit_closest_pair_result *)(void *)out;
  for (int lattice = 0; lattice < 2; lattice++)
    for (int algorithm = DAVIT_CLOSEST_PAIR_DIVIDE; algorithm <= DAVIT_CLOSEST_PAIR_GRID; algorithm++) {
      int64_t found;
      CHECK(davit_closest_pairs(
          DAVIT_DOUBLE, 2, N, some_points(lattice, N), K, INFINITY, r, &found,
          OPTIONS(davit_closest_pair_options, .algorithm = (davit_closest_pair_algorithm)algorithm)));
      r += found;
    }
  return (size_t)((char *)r - out);
}

/* ---- sequences and sounds ---- */

static size_t alignments(const int *devices, int count, char *out) {
  enum { TARGETS = 200, LENGTH = 700, M = 300 };
  uint8_t *symbols = kept(TARGETS * LENGTH);
  int64_t offsets[TARGETS + 1];
  uint64_t seed = 22;
  davit_align_matrix matrix;
  davit_align_database *database;
  davit_align_result *result = (davit_align_result *)(void *)(out + TARGETS * sizeof(int32_t));
  char *cigar;
  CHECK(davit_align_matrix_find("NUC.4.4", &matrix));
  for (int i = 0; i < TARGETS * LENGTH; i++)
    symbols[i] = (uint8_t)random_below(&seed, 4);
  for (int t = 0; t <= TARGETS; t++)
    offsets[t] = (int64_t)t * LENGTH;
  const davit_align_scoring scoring = {
      .symbols = matrix.symbols, .matrix = matrix.scores, .gap_open = 10, .gap_extend = 1};
  const davit_align_sequences targets = {TARGETS, offsets, symbols};
  CHECK(davit_align_database_create(&targets, matrix.symbols, &database,
                                    OPTIONS(davit_align_database_options)));
  CHECK(davit_align_scores(database, &scoring, M, symbols + 77, (int32_t *)(void *)out));
  CHECK(davit_align_database_destroy(database));
  CHECK(davit_align_trace(&scoring, 20 * LENGTH, symbols, 20 * LENGTH, symbols + 40 * LENGTH, result, &cigar,
                          OPTIONS(davit_align_trace_options)));
  const size_t length = strlen(cigar);
  memcpy(result + 1, cigar, length);
  CHECK(davit_free(cigar));
  return (size_t)((char *)(result + 1) - out) + length;
}

/* Long enough for several blocks of pairs; strings and where they begin. */
static size_t pairs(const int *devices, int count, char *out) {
  enum { PAIRS = 500, LENGTH = 90 };
  uint8_t *symbols = kept(2 * PAIRS * LENGTH);
  int64_t offsets[PAIRS + 1];
  uint64_t seed = 23;
  davit_align_result *results = (davit_align_result *)(void *)out;
  char *cigars;
  for (int i = 0; i < 2 * PAIRS * LENGTH; i++)
    symbols[i] = (uint8_t)random_below(&seed, 4);
  for (int k = 0; k <= PAIRS; k++)
    offsets[k] = (int64_t)k * LENGTH;
  static const int8_t match[16] = {2, -3, -3, -3, -3, 2, -3, -3, -3, -3, 2, -3, -3, -3, -3, 2};
  const davit_align_scoring scoring = {.symbols = 4, .matrix = match, .gap_open = 7, .gap_extend = 2};
  const davit_align_sequences queries = {PAIRS, offsets, symbols},
                              targets = {PAIRS, offsets, symbols + PAIRS * LENGTH};
  CHECK(davit_align_pairs(&scoring, &queries, &targets, NULL, results, &cigars,
                          OPTIONS(davit_align_pairs_options, .mode = DAVIT_ALIGN_GLOBAL)));
  const size_t length = (size_t)results[PAIRS - 1].cigar;
  memcpy(results + PAIRS, cigars, length);
  CHECK(davit_free(cigars));
  return PAIRS * sizeof *results + length;
}

static size_t features(const int *devices, int count, char *out) {
  (void)devices, (void)count;
  const float *samples = rough_data(DAVIT_SUM, DAVIT_FLOAT, 1 << 20, 23);
  CHECK(davit_features(1 << 20, samples, (float *)(void *)out, NULL));
  return (size_t)((1 << 20) / DAVIT_FEATURES_FRAME) * DAVIT_FEATURES_WIDTH * sizeof(float);
}

static size_t detections(const int *devices, int count, char *out) {
  enum { FRAMES = 3000, LENGTH = 40 };
  davit_detect_hit *hits = (davit_detect_hit *)(void *)out;
  for (int null = DAVIT_DETECT_NULL_WINDOW; null <= DAVIT_DETECT_NULL_STREAM; null++) {
    SCOPE;
    float *stream = powers(24, WIDTH / 2, FRAMES);
    const float *sound = powers(25, WIDTH / 2, LENGTH);
    copy_frames(WIDTH, stream, 1234, sound, LENGTH);
    const search s = SEARCH(WIDTH, FRAMES, stream, LENGTH, sound, .null = (davit_detect_null)null,
                            .permutations = 99, .bands = null == DAVIT_DETECT_NULL_STREAM ? WIDTH / 2 : 0);
    CHECK(detect(&s, devices, count, hits));
    hits += windows_of(FRAMES, &s.o);
  }
  return (size_t)((char *)hits - out);
}

/* ---- all of them ---- */

static void expect_same(work *compute, const char *name) {
  static const int threads[] = {1, 2, 3, 7};
  static const int host = DAVIT_HOST;
  for (int anywhere = 0; anywhere < 2; anywhere++) {
    SCOPE;
    char *first = kept(OUT_BYTES), *again = kept(OUT_BYTES);
    size_t bytes = 0;
    for (int t = 0; t < COUNT(threads); t++) {
      char *out = t == 0 ? first : again;
      memset(out, 0, OUT_BYTES);
      CHECK(davit_set_threads(threads[t]));
      const size_t written = compute(anywhere ? NULL : &host, anywhere ? 0 : 1, out);
      assert_true(written > 0 && written <= OUT_BYTES);
      bytes = t == 0 ? written : bytes;
      if (written != bytes || memcmp(first, again, t > 0 ? bytes : 0) != 0) {
        size_t at = 0;
        while (at < bytes && first[at] == again[at])
          at++;
        fail_msg("%s, %s: byte %zu of %zu differs with %d threads", name,
                 anywhere ? "no device named" : "DAVIT_HOST", at, bytes, threads[t]);
      }
    }
    CHECK(davit_set_threads(0));
  }
}

#define SAME(work)                                                                                           \
  CASE(test_##work) {                                                                                        \
    expect_same(work, #work);                                                                                \
  }
SAME(scans)
SAME(segmented_scans)
SAME(scans_of_long_segments)
SAME(scans_by_queue)
SAME(scans_in_parts)
SAME(own_scans)
SAME(reductions)
SAME(own_reductions)
SAME(fills)
SAME(vectors)
SAME(matrix_vector)
SAME(stencils)
SAME(closest)
SAME(closest_many)
SAME(alignments)
SAME(pairs)
SAME(features)
SAME(detections)
