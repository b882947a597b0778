/* SPDX-License-Identifier: Apache-2.0 */
/* The closest pair's programs P1 … P5 against each other on kind and on ugly inputs; every kernel against
 * the CPU; counters; the source's example; the defects of the printed listings beside the corrected
 * programs. */
#include "tests/support.h"

#include <math.h>

#include "bench/study/closest/closest.h"
#include "bench/study/closest/points.h"
#include "bench/study/closest/printed.h"
#include "bench/study/common/trace.h"

enum { ZONE = 64, POISON = 0x2b };

static bool on_gpu(int device) {
  bool gpu;
  CHECK(study_closest_on_gpu(device, &gpu));
  return gpu;
}

static void *memory(size_t bytes) {
  void *pointer = malloc(bytes ? bytes : 1);
  assert_non_null(pointer);
  return pointer;
}

/* `bytes` of data on the device (NULL: POISON), followed by a zone of POISON. */
static void *on_device(int device, const void *data, size_t bytes) {
  char *host = memory(bytes + ZONE);
  void *there = new_memory(bytes + ZONE, place_for(device));
  memset(host, POISON, bytes + ZONE);
  if (data)
    memcpy(host, data, bytes);
  CHECK(davit_copy(bytes + ZONE, host, there));
  free(host);
  return there;
}

/* Copies `bytes` back, sees that the zone behind them is as it was, and frees. */
static void from_device(void *there, void *data, size_t bytes) {
  char *host = memory(bytes + ZONE);
  CHECK(davit_copy(bytes + ZONE, there, host));
  for (size_t i = 0; i < ZONE; i++)
    assert_int_equal(host[bytes + i], POISON);
  if (bytes)
    memcpy(data, host, bytes);
  free(host);
  CHECK(davit_free(there));
}

/* ---- inputs ---- */

typedef enum input {
  UNIFORM,
  SIGNED,
  NORMAL_1,
  NORMAL_5,
  LATTICE,
  VERTICAL,
  HORIZONTAL,
  COLUMNS,
  EQUAL,
  DUPLICATES,
  CLUSTERS,
  WIDE_ROW,
  INPUTS
} input;

static const char *const input_names[INPUTS] = {"uniform", "signed",     "normal 1",   "normal 5",
                                                "lattice", "vertical",   "horizontal", "columns",
                                                "equal",   "duplicates", "clusters",   "wide row"};

static void generate(study_distribution distribution, int v, int bits, uint64_t seed, int64_t n,
                     study_point *p) {
  CHECK(study_points_make(&(study_points){distribution, v, bits, seed}, n, p));
}

/* x = i and y within 0.1, in any order of y; one pair across the middle is nearer than the rest, and far
 * apart in y order. Few points of a batch are in its strip. */
static void wide_row(int64_t n, uint64_t seed, study_point *p) {
  for (int64_t i = 0; i < n; i++)
    p[i] = (study_point){(float)i, 0.01f + 0.08f * (float)random_below(&seed, 1 << 20) * 0x1p-20f};
  if (n > 2) {
    p[n / 2 - 1] = (study_point){(float)(n / 2) - 0.75f, 0};
    p[n / 2] = (study_point){(float)(n / 2) - 0.25f, 0.1f};
  }
}

static int bits_for(int64_t n) {
  int bits = 1;
  while ((int64_t)1 << (2 * bits) < 2 * n)
    bits++;
  return bits;
}

static study_point *points_of(input which, int64_t n, uint64_t seed) {
  study_point *p = memory((size_t)n * sizeof *p);
  uint64_t random = seed;
  switch (which) {
  case UNIFORM:
    generate(STUDY_UNIFORM, 0, 0, seed, n, p);
    break;
  case SIGNED:
    generate(STUDY_SIGNED, 0, 0, seed, n, p);
    break;
  case NORMAL_1:
    generate(STUDY_NORMAL, 1, 0, seed, n, p);
    break;
  case NORMAL_5:
    generate(STUDY_NORMAL, 5, 16, seed, n, p);
    break;
  case LATTICE:
    generate(STUDY_UNIFORM, 0, bits_for(n), seed, n, p);
    break;
  case WIDE_ROW:
    wide_row(n, seed, p);
    break;
  default:
    generate(STUDY_UNIFORM, 0, 0, seed, n, p);
    break;
  }
  for (int64_t i = 0; i < n; i++)
    switch (which) {
    case VERTICAL:
      p[i].x = 0.5f;
      break;
    case HORIZONTAL:
      p[i].y = -3;
      break;
    case COLUMNS:
      p[i].x = (float)random_below(&random, 5);
      break;
    case EQUAL:
      p[i] = p[0];
      break;
    case DUPLICATES:
      p[i] = p[random_below(&random, (int)(n / 2) + 1)];
      break;
    case CLUSTERS:
      p[i].x = 0.001f * p[i].x + (float)random_below(&random, 3);
      p[i].y = 0.001f * p[i].y + (float)random_below(&random, 3);
      break;
    default:
      break;
    }
  return p;
}

static bool has_point(int64_t n, const study_point *p, float x, float y) {
  for (int64_t i = 0; i < n; i++)
    if (p[i].x == x && p[i].y == y)
      return true;
  return false;
}

/* The result has this distance, and its pair has it and is one of the points'. */
static void is_closest(const study_closest *is, float distance, int64_t n, const study_point *p,
                       const char *what) {
  study_point a = {is->pair.x1, is->pair.y1}, b = {is->pair.x2, is->pair.y2};
  if (is->distance != distance || study_distance(a, b) != distance || !has_point(n, p, a.x, a.y) ||
      !has_point(n, p, b.x, b.y))
    fail_msg("%s, n %lld: %.9g for (%g, %g) (%g, %g), not %.9g", what, (long long)n, (double)is->distance,
             (double)a.x, (double)a.y, (double)b.x, (double)b.y, (double)distance);
}

static float right_distance(int64_t n, const study_point *p) {
  study_closest result;
  CHECK(study_closest_cpu(n, p, &result));
  return result.distance;
}

/* ---- types and indices ---- */

static void test_types(void **state) {
  (void)state;
  assert_int_equal(sizeof(study_point), 8);
  assert_int_equal(_Alignof(study_point), 8);
  assert_int_equal(sizeof(study_two_points), 16);
  assert_int_equal(_Alignof(study_two_points), 16);
  assert_int_equal((32 << 10) / sizeof(study_point), 4096); /* points in 32 KiB; the source prints 512 */
}

static void test_shifts_and_masks(void **state) {
  uint64_t seed = 1;
  (void)state;
  for (int log = 0; log < 40; log++)
    for (int repeat = 0; repeat < 50; repeat++) {
      int64_t power = (int64_t)1 << log, i = (int64_t)(next_random(&seed) >> (random_below(&seed, 40) + 2));
      assert_int_equal(study_shift_of(power), log);
      assert_true(study_quotient(i, power) == i / power);
      assert_true(study_remainder(i, power) == i % power);
      assert_true(study_batch_start(i, power) == i / power * power);
    }
}

/* ---- generators ---- */

static int by_bits(const void *a, const void *b) {
  return memcmp(a, b, sizeof(study_point));
}

static int64_t equal_points(int64_t n, const study_point *points) {
  study_point *p = memory((size_t)n * sizeof *p);
  int64_t equal = 0;
  memcpy(p, points, (size_t)n * sizeof *p);
  qsort(p, (size_t)n, sizeof *p, by_bits);
  for (int64_t i = 1; i < n; i++)
    equal += by_bits(&p[i - 1], &p[i]) == 0;
  free(p);
  return equal;
}

static void test_uniform_points(void **state) {
  enum { N = 20000 };
  (void)state;
  for (int s = 0; s < 2; s++)
    for (int bits = 8; bits <= 24; bits += 8) { /* with 8 bits almost a third of the places is taken */
      study_point p[N];
      double sum = 0, squares = 0;
      bool low = false, high = false;
      generate(s ? STUDY_SIGNED : STUDY_UNIFORM, 0, bits, 5, N, p);
      assert_int_equal(equal_points(N, p), 0);
      for (int i = 0; i < N; i++) {
        float x[2] = {p[i].x, p[i].y};
        for (int c = 0; c < 2; c++) {
          assert_true(x[c] != 0 && fabsf(x[c]) <= 1 && (s || x[c] > 0));
          assert_true(ldexpf(x[c], bits) == roundf(ldexpf(x[c], bits)));
          low |= x[c] < (s ? -0.9f : 0.1f);
          high |= x[c] > 0.9f;
          sum += (double)x[c];
          squares += (double)x[c] * (double)x[c];
        }
      }
      assert_true(low && high);
      assert_true(fabs(sum / (2 * N) - (s ? 0 : 0.5)) < 0.02);
      assert_true(fabs(squares / (2 * N) - 1. / 3) < 0.02);
    }
}

static void test_normal_points(void **state) {
  enum { N = 20000 };
  (void)state;
  for (int v = 1; v <= 5; v++) {
    study_point p[N];
    double sum = 0, squares = 0, deviation = study_points_deviation(v);
    generate(STUDY_NORMAL, v, 0, 7, N, p);
    for (int i = 0; i < N; i++) {
      assert_true(fabsf(p[i].x) <= 1 && fabsf(p[i].y) <= 1);
      sum += (double)p[i].x + (double)p[i].y;
      squares += (double)p[i].x * (double)p[i].x + (double)p[i].y * (double)p[i].y;
    }
    double right =
        v == 1 ? 0.5396 : deviation; /* within one deviation of the mean: what is left of the normal curve */
    assert_true(fabs(sum / (2 * N)) < 0.02 * deviation);
    assert_true(fabs(sqrt(squares / (2 * N)) / right - 1) < 0.02);
  }
  assert_true(fabs(study_points_deviation(3) - 0.01) < 1e-15);
  study_point p[N];
  generate(STUDY_NORMAL, 5, 16, 7, N, p);
  assert_true(equal_points(N, p) > 0); /* allowed, and with 16 bits not avoidable */
}

static void test_points_by_seed(void **state) {
  study_point a[1000], b[2000];
  (void)state;
  for (int d = 0; d < STUDY_DISTRIBUTIONS; d++) {
    generate((study_distribution)d, 1, 0, 11, 1000, a);
    generate((study_distribution)d, 1, 0, 11, 2000, b);
    assert_memory_equal(a, b, sizeof a); /* point i does not depend on n */
    generate((study_distribution)d, 1, 0, 12, 2000, b);
    assert_memory_not_equal(a, b, sizeof a);
  }
}

static void test_points_bad_arguments(void **state) {
  study_point p[4];
  (void)state;
  CHECK_FAILS(study_points_make(&(study_points){STUDY_DISTRIBUTIONS, 1, 0, 1}, 4, p), DAVIT_INVALID_ARGUMENT,
              "distribution");
  CHECK_FAILS(study_points_make(&(study_points){STUDY_NORMAL, 6, 0, 1}, 4, p), DAVIT_INVALID_ARGUMENT,
              "v is 6");
  CHECK_FAILS(study_points_make(&(study_points){STUDY_UNIFORM, 0, 25, 1}, 4, p), DAVIT_INVALID_ARGUMENT,
              "bits is 25");
  CHECK_FAILS(study_points_make(&(study_points){STUDY_UNIFORM, 0, 1, 1}, 3, p), DAVIT_INVALID_ARGUMENT,
              "n is 3");
  CHECK(study_points_make(&(study_points){STUDY_UNIFORM, 0, 1, 1}, 2, p));
  CHECK(study_points_make(&(study_points){STUDY_UNIFORM, 0, 1, 1}, 0, p));
}

/* ---- P1, P2 ---- */

static void test_p1(void **state) {
  (void)state;
  study_closest is;
  static const study_point ties[] = {{0, 0}, {5, 0}, {10, 0}, {10, 1}, {0, 1}, {5, 1}};
  CHECK(study_closest_cpu(6, ties, &is));
  assert_true(is.distance == 1 && is.pair.x1 == 0 && is.pair.y1 == 0 && is.pair.x2 == 0 && is.pair.y2 == 1);
  static const study_point same[] = {{1, 2}, {7, 7}, {1, 2}};
  CHECK(study_closest_cpu(3, same, &is));
  assert_true(is.distance == 0 && is.pair.x1 == 1 && is.pair.y2 == 2);
  for (int which = 0; which < INPUTS; which++) {
    study_point *p = points_of((input)which, 300, 3);
    double least = INFINITY;
    for (int i = 0; i < 300; i++)
      for (int j = 0; j < i; j++)
        least = fmin(least, hypot((double)p[i].x - (double)p[j].x, (double)p[i].y - (double)p[j].y));
    CHECK(study_closest_cpu(300, p, &is));
    assert_true(fabs((double)is.distance - least) <= 1e-6 * least);
    is_closest(&is, is.distance, 300, p, input_names[which]);
    free(p);
  }
}

static void test_p2(void **state) {
  static const int64_t sizes[] = {2, 3, 17, 64, 100},
                       blocks[] = {1, 2, 3, 16, 17, 64, 99, 100, 1000, INT64_MAX / 2};
  (void)state;
  for (int s = 0; s < COUNT(sizes); s++)
    for (int b = 0; b < COUNT(blocks); b++)
      for (int which = 0; which < INPUTS; which++) {
        int64_t n = sizes[s];
        study_point *p = points_of((input)which, n, 9);
        study_closest is;
        CHECK(study_closest_blocked(n, blocks[b], p, &is));
        is_closest(&is, right_distance(n, p), n, p, input_names[which]);
        free(p);
        uint8_t *visits = calloc((size_t)(n * n), 1);
        assert_non_null(visits);
        study_blocked_visits(n, blocks[b], visits);
        for (int64_t i = 0; i < n; i++)
          for (int64_t j = 0; j < n; j++)
            assert_int_equal(visits[i * n + j], i != j);
        free(visits);
      }
}

/* ---- P3, P3b ---- */

static void test_p3(void **state) {
  static const int64_t sizes[] = {2, 3, 31, 33, 64, 257, 1000, 1025, 2500}, teams[] = {0, 1, 3, 1000};
  (void)state;
  for (int s = 0; s < COUNT(sizes); s++) {
    int64_t n = sizes[s];
    study_point *p = points_of((input)(s % INPUTS), n, 13);
    float right = right_distance(n, p);
    for (int d = 0; d < 2; d++)
      for (int k = 0; k < STUDY_CLOSEST_BLOCKS; k++)
        for (int t = 0; t < COUNT(teams); t++)
          for (int balanced = 0; balanced < 2; balanced++) {
            study_brute b = {study_closest_blocks[k], teams[t], balanced};
            study_closest is;
            CHECK(study_closest_brute(&b, study_places[d], n, p, &is, NULL, NULL));
            is_closest(&is, right, n, p, balanced ? "balanced" : "rows");
          }
    free(p);
  }
}

static void test_p3_inputs(void **state) {
  (void)state;
  for (int which = 0; which < INPUTS; which++) {
    study_point *p = points_of((input)which, 777, 17);
    for (int balanced = 0; balanced < 2; balanced++) {
      study_closest is;
      CHECK(study_closest_brute(&(study_brute){64, 0, balanced}, study_places[1], 777, p, &is, NULL, NULL));
      is_closest(&is, right_distance(777, p), 777, p, input_names[which]);
    }
    free(p);
  }
}

/* Each candidate is the least over the rows of its block, and none is written beside them. */
static void test_candidates(void **state) {
  enum { N = 1003, THREADS = 64 };
  (void)state;
  study_point *p = points_of(UNIFORM, N, 19);
  for (int d = 0; d < 2; d++)
    for (int balanced = 0; balanced < 2; balanced++) {
      study_brute b = {THREADS, 3, balanced};
      int64_t rows = study_brute_rows(&b, N), count = study_brute_candidates(&b, N);
      assert_int_equal(rows, balanced ? 501 : N);
      assert_int_equal(count, balanced ? 8 : 16);
      float *dist = memory((size_t)count * sizeof *dist);
      study_two_points *pairs = memory((size_t)count * sizeof *pairs);
      void *points_there = on_device(study_places[d], p, N * sizeof *p);
      void *dist_there = on_device(study_places[d], NULL, (size_t)count * sizeof *dist);
      void *pairs_there = on_device(study_places[d], NULL, (size_t)count * sizeof *pairs);
      CHECK(study_compare_points(&b, study_places[d], N, points_there, dist_there, pairs_there, NULL));
      from_device(dist_there, dist, (size_t)count * sizeof *dist);
      from_device(pairs_there, pairs, (size_t)count * sizeof *pairs);
      CHECK(davit_free(points_there));
      for (int64_t k = 0; k < count; k++) {
        float least = INFINITY;
        for (int64_t t = k * THREADS; t < (k + 1) * THREADS && t < rows; t++)
          for (int half = 0; half <= balanced; half++)
            for (int64_t i = half ? N - 2 - t : t, j = i + 1; j < N;
                 j++) /* N is odd: the last row is empty */
              least = fminf(least, study_square(p[i], p[j]));
        assert_true(dist[k] == least);
        assert_true(least == study_square((study_point){pairs[k].x1, pairs[k].y1},
                                          (study_point){pairs[k].x2, pairs[k].y2}));
      }
      free(dist);
      free(pairs);
    }
  free(p);
}

/* P3: row i has n - 1 - i comparisons. P3b: all threads the same, n - 1 or, for odd n, n; the sum is the
 * same. */
static void test_balance(void **state) {
  static const int64_t sizes[] = {2, 3, 5, 64, 100, 129, 1000, 1001};
  (void)state;
  for (int d = 0; d < 2; d++)
    for (int s = 0; s < COUNT(sizes); s++)
      for (int balanced = 0; balanced < 2; balanced++) {
        int64_t n = sizes[s], sum = 0, comparisons[1001];
        study_point *p = points_of(UNIFORM, n, 23);
        study_brute b = {32, 2, balanced};
        study_closest is;
        CHECK(study_closest_brute(&b, study_places[d], n, p, &is, comparisons, NULL));
        int64_t rows = study_brute_rows(&b, n);
        assert_int_equal(rows, balanced ? n / 2 : n);
        for (int64_t i = 0; i < rows; i++) {
          assert_int_equal(comparisons[i], !balanced ? n - 1 - i : n % 2 ? n : n - 1);
          sum += comparisons[i];
        }
        assert_int_equal(sum, n * (n - 1) / 2);
        free(p);
      }
}

/* ---- minDistReduction ---- */

static void test_min_dist(void **state) {
  static const int64_t sizes[] = {1, 2, 31, 32, 33, 64, 100, 1024, 1025, 5000};
  uint64_t seed = 3;
  (void)state;
  for (int d = 0; d < 2; d++)
    for (int k = 0; k < STUDY_CLOSEST_BLOCKS; k++)
      for (int s = 0; s < COUNT(sizes); s++)
        for (int last = 0; last < 2; last++) {
          int64_t m = sizes[s], at = last ? m - 1 : random_below(&seed, (int)m);
          float *dist = memory((size_t)m * sizeof *dist);
          study_two_points *pairs = memory((size_t)m * sizeof *pairs);
          for (int64_t i = 0; i < m; i++) {
            dist[i] = i == at ? 0.5f : i % 3 ? (float)(1 + random_below(&seed, 1000)) : INFINITY;
            pairs[i] = (study_two_points){(float)i, dist[i], 1, 2};
          }
          void *dist_there = on_device(study_places[d], dist, (size_t)m * sizeof *dist);
          void *pairs_there = on_device(study_places[d], pairs, (size_t)m * sizeof *pairs);
          CHECK(study_min_dist(study_places[d], study_closest_blocks[k], m, dist_there, pairs_there));
          study_two_points right = pairs[at];
          from_device(dist_there, dist, (size_t)m * sizeof *dist);
          from_device(pairs_there, pairs, (size_t)m * sizeof *pairs);
          assert_true(dist[0] == 0.5f);
          assert_memory_equal(&pairs[0], &right, sizeof right);
          free(dist);
          free(pairs);
        }
}

/* ---- P4 ---- */

static void test_p4(void **state) {
  static const int64_t sizes[] = {2, 3, 4, 9, 17, 100, 1000};
  static const int cutoffs[] = {2, 3, 8, 100};
  (void)state;
  for (int which = 0; which < INPUTS; which++)
    for (int s = 0; s < COUNT(sizes); s++)
      for (int c = 0; c < COUNT(cutoffs); c++)
        for (int repeat = 0; repeat < 5; repeat++) {
          int64_t n = sizes[s];
          study_point *p = points_of((input)which, n, 100 + (uint64_t)repeat);
          study_closest is;
          study_divide_cpu report;
          CHECK(study_closest_divide_cpu(n, p, cutoffs[c], &is, &report));
          is_closest(&is, right_distance(n, p), n, p, input_names[which]);
          assert_int_equal(report.sorts, 2); /* by x and by y, and never in the recursion */
          free(p);
        }
}

static void test_p4_cost(void **state) {
  (void)state;
  int64_t n = 1 << 16;
  study_point *p = points_of(UNIFORM, n, 29);
  study_closest is, other;
  study_divide_cpu report;
  CHECK(study_closest_divide_cpu(n, p, 3, &is, &report));
  assert_int_equal(report.sorts, 2);
  assert_int_equal(report.depth, 16); /* 65536 points halved down to 2 or 3 */
  assert_true(report.comparisons < 8 * n);
  assert_true(report.sort_ms > 0 && report.search_ms > 0);
  CHECK(study_closest_divide_cpu(n, p, 8, &other, &report));
  assert_true(is.distance == other.distance);
  assert_int_equal(report.depth, 14);
  free(p);
}

/* ---- sorts ---- */

static bool comes_before(study_point a, study_point b, study_key key) {
  float ka = key == STUDY_BY_X ? a.x : a.y, kb = key == STUDY_BY_X ? b.x : b.y;
  float oa = key == STUDY_BY_X ? a.y : a.x, ob = key == STUDY_BY_X ? b.y : b.x;
  return ka < kb || (ka == kb && oa < ob);
}

static int by_x(const void *a, const void *b) {
  const study_point *p = a, *q = b;
  return comes_before(*q, *p, STUDY_BY_X) - comes_before(*p, *q, STUDY_BY_X);
}

static int by_y(const void *a, const void *b) {
  const study_point *p = a, *q = b;
  return comes_before(*q, *p, STUDY_BY_Y) - comes_before(*p, *q, STUDY_BY_Y);
}

static void sort_batches(study_key key, int64_t batches, int64_t length, study_point *p) {
  for (int64_t b = 0; b < batches; b++)
    qsort(p + b * length, (size_t)length, sizeof *p, key == STUDY_BY_X ? by_x : by_y);
}

static void sorts_right(study_sort sort, study_key key, int device, int64_t batches, int64_t length,
                        input which, bool in_place) {
  int64_t n = batches * length;
  study_point *p = points_of(which, n, 31), *right = memory((size_t)n * sizeof *p),
              *kept = memory((size_t)n * sizeof *p);
  if (n > 3)
    p[n / 3] = p[n / 2] = (study_point){INFINITY, INFINITY};
  memcpy(right, p, (size_t)n * sizeof *p);
  memcpy(kept, p, (size_t)n * sizeof *p);
  sort_batches(key, batches, length, right);
  void *source = on_device(device, p, (size_t)n * sizeof *p);
  void *sorted = in_place ? source : on_device(device, NULL, (size_t)n * sizeof *p);
  CHECK(study_sort_points(sort, key, device, batches, length, source, sorted));
  from_device(sorted, p, (size_t)n * sizeof *p);
  if (memcmp(p, right, (size_t)n * sizeof *p) != 0)
    fail_msg("sort %d, key %d, %lld batches of %lld", (int)sort, (int)key, (long long)batches,
             (long long)length);
  if (!in_place) {
    from_device(source, p, (size_t)n * sizeof *p);
    assert_memory_equal(p, kept, (size_t)n * sizeof *p);
  }
  free(p);
  free(right);
  free(kept);
}

static void test_sorts(void **state) {
  (void)state;
  for (int d = 0; d < 2; d++)
    for (int sort = 0; sort < STUDY_SORTS; sort++)
      for (int key = 0; key < 2; key++) {
        int most = on_gpu(study_places[d]) ? 20 : 13;
        for (int log = 0; log <= most; log++)
          sorts_right((study_sort)sort, (study_key)key, study_places[d], 1, (int64_t)1 << log, UNIFORM,
                      log % 2);
        for (int64_t length = 1; length <= 4096; length *= 4)
          for (int64_t batches = 2; batches <= 7; batches += 5)
            sorts_right((study_sort)sort, (study_key)key, study_places[d], batches, length, COLUMNS, false);
        sorts_right((study_sort)sort, (study_key)key, study_places[d], 300, 16, EQUAL, true);
      }
  for (int d = 0; d < 2; d++)
    CHECK(study_sort_points(STUDY_BITONIC, STUDY_BY_X, study_places[d], 0, 8, NULL, NULL));
  if (on_gpu(study_places[1]))
    for (int sort = 0; sort < STUDY_SORTS; sort++)
      sorts_right((study_sort)sort, STUDY_BY_Y, study_places[1], 2, 1 << 23, UNIFORM, false);
}

/* The networks' own formulas; a launch for each stage beyond a tile. */
static void test_sort_counts(void **state) {
  (void)state;
  int64_t odd_even = 0;
  for (int log = 1; log <= 24; log++) {
    int64_t n = (int64_t)1 << log, far = log > 10 ? log - 10 : 0;
    odd_even = 2 * odd_even + n / 2 * (log - 1) + 1;
    assert_int_equal(study_sort_comparators(STUDY_BITONIC, 1, n), n / 4 * log * (log + 1) + (log == 1));
    assert_int_equal(study_sort_comparators(STUDY_ODD_EVEN, 3, n), 3 * odd_even);
    assert_int_equal(study_sort_launches(STUDY_BITONIC, n), 1 + far * (far + 3) / 2);
    assert_int_equal(study_sort_launches(STUDY_ODD_EVEN, n), 1 + far * (far + 21) / 2);
  }
}

/* ---- P5: the whole ---- */

static float divides(const study_divide *d, int device, int64_t n, const study_point *p, float right,
                     const char *what) {
  study_closest is;
  study_divide_report report;
  CHECK(study_closest_divide(d, device, n, p, &is, &report));
  is_closest(&is, right, n, p, what);
  int steps = 0;
  for (int64_t length = 2 * (int64_t)d->base; length <= report.n; length *= 2)
    assert_int_equal(report.step[steps++].length, length);
  assert_int_equal(report.steps, steps); /* log2(n / base) */
  assert_true(report.n >= n && report.n >= d->base && (report.n & (report.n - 1)) == 0);
  assert_true(report.n == d->base || report.n < 2 * n);
  return is.distance;
}

static void test_p5(void **state) {
  static const int64_t sizes[] = {2, 3, 31, 64, 65, 128, 1000, 2048, 3333};
  (void)state;
  for (int which = 0; which < INPUTS; which++)
    for (int s = 0; s < COUNT(sizes); s++) {
      int64_t n = sizes[s];
      study_point *p = points_of((input)which, n, 37);
      float right = right_distance(n, p);
      for (int d = 0; d < 2; d++)
        for (int k = (which + s + d) % 2; k < STUDY_CLOSEST_BLOCKS; k += 2) {
          study_divide divide = {.base = study_closest_blocks[k], .sort = (study_sort)((s + k / 2) % 2)};
          divide.strip_test = (study_strip_test)((which + k / 2) % 2);
          divides(&divide, study_places[d], n, p, right, input_names[which]);
          divide.unlimited = true;
          divides(&divide, study_places[d], n, p, right, input_names[which]);
        }
      free(p);
    }
}

/* All that can be chosen, on inputs that have it all: powers of two and others, 2 base and more. */
static void test_p5_choices(void **state) {
  static const int64_t sizes[] = {64, 1000, 4096};
  (void)state;
  for (int s = 0; s < COUNT(sizes); s++)
    for (int i = 0; i < 3; i++) {
      input which = ((input[]){UNIFORM, WIDE_ROW, DUPLICATES})[i];
      study_point *p = points_of(which, sizes[s], 41);
      float right = right_distance(sizes[s], p);
      for (int c = 0; c < 16; c++) {
        study_divide divide = {.base = 32, .sort = c & 1, .unlimited = c & 2, .strip_test = c >> 2 & 1};
        divide.counting = (c & 12) == 8;
        divides(&divide, study_places[1], sizes[s], p, right, input_names[which]);
        divide.every_block = divide.unlimited;
        divides(&divide, study_places[1], sizes[s], p, right, input_names[which]);
      }
      free(p);
    }
}

/* Many small sets, where everything happens at borders. */
static void test_p5_small(void **state) {
  uint64_t seed = 43;
  (void)state;
  for (int repeat = 0; repeat < scaled(600); repeat++) {
    int64_t n = 2 + random_below(&seed, 60);
    input which = (input)random_below(&seed, INPUTS);
    study_point *p = points_of(which, n, next_random(&seed));
    study_divide divide = {.base = 2, .sort = repeat & 1, .unlimited = repeat % 5 == 0};
    divides(&divide, study_places[repeat & 1], n, p, right_distance(n, p), input_names[which]);
    free(p);
  }
}

static void test_p5_large(void **state) {
  (void)state;
  bool gpu = on_gpu(study_places[1]);
  int64_t sizes[] = {gpu ? 1 << 20 : 1 << 14, gpu ? 1000001 : 10001};
  for (int s = 0; s < COUNT(sizes); s++)
    for (int distribution = 0; distribution < STUDY_DISTRIBUTIONS; distribution++) {
      int64_t n = sizes[s];
      study_point *p = memory((size_t)n * sizeof *p);
      study_closest right, is;
      study_divide divide = {.base = 128};
      generate((study_distribution)distribution, 2, 0, 47, n, p);
      CHECK(study_closest_divide_cpu(n, p, 8, &right, NULL));
      CHECK(study_closest_divide(&divide, study_places[1], n, p, &is, NULL));
      assert_true(is.distance == right.distance);
      study_point a = {is.pair.x1, is.pair.y1}, b = {is.pair.x2, is.pair.y2};
      assert_true(study_distance(a, b) == is.distance);
      free(p);
    }
}

/* ---- P5: the source's example ---- */

static const study_point example[16] = {{4, 0}, {9, 12}, {10, 7}, {0, 8},  {14, 10}, {8, 14},
                                        {3, 1}, {7, 3},  {1, 9},  {2, 13}, {6, 11},  {12, 15},
                                        {5, 2}, {13, 4}, {15, 6}, {11, 5}};
static const study_point example_x[16] = {{0, 8},   {1, 9},  {2, 13},  {3, 1},  {4, 0},  {5, 2},
                                          {6, 11},  {7, 3},  {8, 14},  {9, 12}, {10, 7}, {11, 5},
                                          {12, 15}, {13, 4}, {14, 10}, {15, 6}};
static const study_point example_y[3][16] = {{{3, 1},
                                              {0, 8},
                                              {1, 9},
                                              {2, 13},
                                              {4, 0},
                                              {5, 2},
                                              {7, 3},
                                              {6, 11},
                                              {11, 5},
                                              {10, 7},
                                              {9, 12},
                                              {8, 14},
                                              {13, 4},
                                              {15, 6},
                                              {14, 10},
                                              {12, 15}},
                                             {{4, 0},
                                              {3, 1},
                                              {5, 2},
                                              {7, 3},
                                              {0, 8},
                                              {1, 9},
                                              {6, 11},
                                              {2, 13},
                                              {13, 4},
                                              {11, 5},
                                              {15, 6},
                                              {10, 7},
                                              {14, 10},
                                              {9, 12},
                                              {8, 14},
                                              {12, 15}},
                                             {{4, 0},
                                              {3, 1},
                                              {5, 2},
                                              {7, 3},
                                              {13, 4},
                                              {11, 5},
                                              {15, 6},
                                              {10, 7},
                                              {0, 8},
                                              {1, 9},
                                              {14, 10},
                                              {6, 11},
                                              {9, 12},
                                              {2, 13},
                                              {8, 14},
                                              {12, 15}}};

static void watch_example(void *context, const study_step_arrays *a) {
  int *step = context;
  assert_int_equal(a->n, 16);
  assert_int_equal(a->blocks, 8);
  assert_int_equal(a->length, 4 << *step);
  assert_memory_equal(a->sx, example_x, sizeof example_x);
  assert_memory_equal(a->sy, example_y[*step], sizeof example_x);
  if (a->length == 8) { /* the middle lines */
    assert_true(a->sx[4].x == 4);
    assert_true(a->sx[12].x == 12);
  }
  for (int block = 0; block < 8; block++) {
    float middle = a->sx[block * 2 / a->length * a->length + a->length / 2].x;
    bool has = false;
    for (int i = 2 * block; i < 2 * block + 2;
         i++) /* delta is sqrt 2 from the first step on: (0,8) (1,9) is a block */
      has |= fabsf(a->sy[i].x - middle) <= sqrtf(2);
    assert_int_equal(a->flags[block], has);
  }
  ++*step;
}

static void test_p5_example(void **state) {
  (void)state;
  for (int d = 0; d < 2; d++)
    for (int sort = 0; sort < STUDY_SORTS; sort++) {
      int step = 0;
      study_divide divide = {.base = 2, .sort = (study_sort)sort, .watch = watch_example, .context = &step};
      divides(&divide, study_places[d], 16, example, sqrtf(2), "example");
      assert_int_equal(step, 3);
    }
  /* The last batch of the figure for lengths 4 and 8 is printed as it is in Sx, not sorted by y. */
  assert_memory_not_equal(&example_y[0][12], &example_x[12], 4 * sizeof *example_x);
  for (int i = 12; i < 15; i++)
    assert_true(example_y[0][i].y <= example_y[0][i + 1].y);
  assert_true(example_x[12].y > example_x[13].y);
}

/* ---- P5: kernel by kernel ---- */

static void test_brute_blocks(void **state) {
  enum { N = 2048 };
  static const int64_t teams[] = {0, 1, 5};
  (void)state;
  study_point *p = points_of(NORMAL_1, N, 53);
  qsort(p, N, sizeof *p, by_x);
  for (int d = 0; d < 2; d++)
    for (int k = 0; k < STUDY_CLOSEST_BLOCKS; k++)
      for (int t = 0; t < COUNT(teams); t++) {
        int base = study_closest_blocks[k];
        size_t blocks = (size_t)(N / base);
        float dist[N / 2];
        study_two_points pairs[N / 2];
        void *sx = on_device(study_places[d], p, N * sizeof *p),
             *dist_there = on_device(study_places[d], NULL, blocks * sizeof *dist);
        void *pairs_there = on_device(study_places[d], NULL, blocks * sizeof *pairs);
        CHECK(study_brute_blocks(study_places[d], base, teams[t], N, sx, dist_there, pairs_there));
        from_device(dist_there, dist, blocks * sizeof *dist);
        from_device(pairs_there, pairs, blocks * sizeof *pairs);
        CHECK(davit_free(sx));
        for (size_t b = 0; b < blocks; b++) {
          study_closest is = {dist[b], pairs[b]};
          is_closest(&is, right_distance(base, p + b * (size_t)base), base, p + b * (size_t)base, "block");
        }
      }
  free(p);
}

/* Sx and Sy of a step and what findVerticalStrip and compareStripPoints must make of them. */
typedef struct strip {
  int64_t n, length;
  int base;
  float delta;
  study_two_points pair;
  study_point *sx, *sy;
  bool *flags;
} strip;

static strip strip_of(input which, int64_t n, int base, int64_t length, float delta) {
  strip s = {.n = n, .length = length, .base = base, .delta = delta};
  s.sx = points_of(which, n, 59);
  s.sy = memory((size_t)n * sizeof *s.sy);
  s.flags = memory((size_t)(n / base) * sizeof *s.flags);
  qsort(s.sx, (size_t)n, sizeof *s.sx, by_x);
  memcpy(s.sy, s.sx, (size_t)n * sizeof *s.sy);
  sort_batches(STUDY_BY_Y, n / length, length, s.sy);
  for (int64_t b = 0; b < n / base; b++) {
    s.flags[b] = false;
    for (int64_t i = b * base; i < (b + 1) * base; i++)
      s.flags[b] |= fabsf(s.sy[i].x - s.sx[i / length * length + length / 2].x) <= delta;
  }
  return s;
}

static void strip_free(strip *s) {
  free(s->sx);
  free(s->sy);
  free(s->flags);
}

static void test_find_strip(void **state) {
  enum { N = 4096 };
  static const int64_t teams[] = {0, 1, 7};
  (void)state;
  for (int d = 0; d < 2; d++)
    for (int k = 0; k < STUDY_CLOSEST_BLOCKS; k++)
      for (int t = 0; t < COUNT(teams); t++) {
        int base = study_closest_blocks[k];
        for (int64_t length = 2 * base; length <= N; length *= 8) {
          strip s = strip_of(UNIFORM, N, base, length, 0.01f);
          bool flags[N / 2];
          void *sx = on_device(study_places[d], s.sx, N * sizeof *s.sx),
               *sy = on_device(study_places[d], s.sy, N * sizeof *s.sy);
          void *flags_there = on_device(study_places[d], NULL, (size_t)(N / base)); /* POISON is true */
          CHECK(study_find_strip(study_places[d], base, teams[t], N, length, s.delta, sx, sy, flags_there));
          from_device(flags_there, flags, (size_t)(N / base));
          CHECK(davit_free(sx));
          CHECK(davit_free(sy));
          for (int64_t b = 0; b < N / base; b++)
            assert_int_equal(flags[b], s.flags[b]);
          strip_free(&s);
        }
      }
}

/* compareStripPoints of a block, by the definition. */
static study_strip_count compare_on_host(const strip *s, int64_t block, int limit, int thread, float *least) {
  study_strip_count count = {1, 0, 0, 0, 0};
  int64_t own = block * s->base + thread, start = own / s->length * s->length;
  float middle = s->sx[start + s->length / 2].x, before = s->delta;
  bool inside = fabsf(s->sy[own].x - middle) <= s->delta;
  int seen = 0;
  count.inside = inside;
  for (int64_t tile = block; tile < (start + s->length) / s->base && seen < limit; tile++) {
    seen += s->flags[tile];
    for (int64_t i = tile == block ? own + 1 : tile * s->base;
         s->flags[tile] && inside && i < (tile + 1) * s->base; i++) {
      count.tests++;
      if (fabsf(s->sy[i].x - middle) > s->delta)
        continue;
      count.taken++;
      float distance = study_distance(s->sy[own], s->sy[i]);
      count.nearer += distance < before;
      before = distance < before ? distance : before;
    }
  }
  *least = before < *least ? before : *least;
  return count;
}

static void compares_right(const strip *s, int device, int64_t teams, int limit, study_strip_test test,
                           bool counting) {
  size_t blocks = (size_t)(s->n / s->base), n = (size_t)s->n;
  float *dist = memory(blocks * sizeof *dist);
  study_two_points *pairs = memory(blocks * sizeof *pairs);
  study_strip_count *counts = memory(n * sizeof *counts);
  study_strip how = {s->base, teams, s->n, s->length, limit, test, {s->delta, {7, 7, 7, 7}}};
  void *sx = on_device(device, s->sx, n * sizeof *s->sx), *sy = on_device(device, s->sy, n * sizeof *s->sy);
  void *flags = on_device(device, s->flags, blocks),
       *dist_there = on_device(device, NULL, blocks * sizeof *dist);
  void *pairs_there = on_device(device, NULL, blocks * sizeof *pairs);
  void *counts_there = on_device(device, NULL, n * sizeof *counts);
  CHECK(study_compare_strip(&how, device, sx, sy, flags, dist_there, pairs_there,
                            counting ? counts_there : NULL));
  from_device(dist_there, dist, blocks * sizeof *dist);
  from_device(pairs_there, pairs, blocks * sizeof *pairs);
  from_device(counts_there, counts, n * sizeof *counts);
  CHECK(davit_free(sx));
  CHECK(davit_free(sy));
  CHECK(davit_free(flags));
  for (size_t b = 0; b < blocks; b++) {
    float least = s->delta;
    for (int t = 0; t < s->base && s->flags[b]; t++) {
      study_strip_count count = compare_on_host(s, (int64_t)b, limit, t, &least);
      if (counting)
        assert_memory_equal(&counts[b * (size_t)s->base + (size_t)t], &count, sizeof count);
    }
    if (!s->flags[b]) { /* nobody touches its candidate */
      int poison = 0;
      memcpy(&poison, &dist[b], sizeof poison);
      assert_int_equal(poison, 0x01010101 * POISON);
      continue;
    }
    assert_true(dist[b] == least);
    study_point first = {pairs[b].x1, pairs[b].y1}, second = {pairs[b].x2, pairs[b].y2};
    if (least == s->delta)
      assert_true(first.x == 7 && second.y == 7);
    else
      assert_true(study_distance(first, second) == least);
  }
  free(dist);
  free(pairs);
  free(counts);
}

static void test_compare_strip(void **state) {
  enum { N = 2048 };
  static const int64_t teams[] = {0, 1, 5};
  static const float deltas[] = {0.1f, 0.02f, 0};
  (void)state;
  for (int d = 0; d < 2; d++)
    for (int k = 0; k < STUDY_CLOSEST_BLOCKS; k++)
      for (int e = 0; e < COUNT(deltas); e++) {
        int base = study_closest_blocks[k];
        for (int64_t length = 2 * base; length <= N; length *= 4) {
          strip s = strip_of(SIGNED, N, base, length, deltas[e]);
          compares_right(&s, study_places[d], teams[e], 8, STUDY_STRIP_SEPARATE, true);
          compares_right(&s, study_places[d], teams[e], 8, STUDY_STRIP_SEPARATE, false);
          compares_right(&s, study_places[d], teams[e], INT32_MAX, STUDY_STRIP_MERGED, false);
          compares_right(&s, study_places[d], teams[e], 1, STUDY_STRIP_MERGED, false);
          strip_free(&s);
        }
      }
}

/* ---- P5: counters, limit, order ---- */

/* With the limit the same answer for fewer comparisons, in every step; the sums of the counts are those of
 * the definition. */
static void test_limit_and_counters(void **state) {
  enum { N = 8192, BASE = 32 };
  (void)state;
  study_point *p = points_of(COLUMNS, N, 61); /* a strip has a whole column */
  study_divide_report report[3];
  study_closest is[3];
  for (int v = 0; v < 3; v++) {
    study_divide divide = {.base = BASE, .unlimited = v > 0, .every_block = v > 1, .counting = true};
    CHECK(study_closest_divide(&divide, study_places[1], N, p, &is[v], &report[v]));
  }
  assert_true(is[0].distance == is[1].distance && is[0].distance == is[2].distance);
  assert_int_equal(report[0].steps, 8);
  bool fewer = false;
  for (int s = 0; s < report[0].steps; s++) {
    const study_step *limited = &report[0].step[s], *all = &report[1].step[s];
    assert_true(limited->delta == all->delta);
    assert_int_equal(limited->flagged, all->flagged);
    assert_true(limited->tests <= all->tests && limited->taken <= all->taken);
    fewer |= limited->tests < all->tests;
    const study_step *every = &report[2].step[s];
    assert_int_equal(every->flagged, N / BASE);
    assert_true(every->tests >= all->tests);
    assert_int_equal(every->taken, all->taken); /* what is flagged has all points of the strip */
    assert_int_equal(limited->worked, limited->flagged * BASE);
    assert_int_equal(limited->warps, limited->flagged);
    assert_true(limited->divergent_warps <= limited->warps);
    assert_true(limited->inside >= limited->flagged && limited->taken <= limited->tests);
  }
  assert_true(fewer);
  free(p);
}

typedef struct counted {
  study_step step[STUDY_MOST_STEPS];
  int steps;
} counted;

static void count_on_host(void *context, const study_step_arrays *a) {
  counted *c = context;
  study_step *step = &c->step[c->steps++];
  int base = (int)(a->n / a->blocks);
  strip s = {.n = a->n,
             .length = a->length,
             .base = base,
             .delta = step->delta,
             .sx = (study_point *)(uintptr_t)a->sx,
             .sy = (study_point *)(uintptr_t)a->sy,
             .flags = (bool *)(uintptr_t)a->flags};
  for (int64_t b = 0; b < a->blocks; b++)
    for (int warp = 0; a->flags[b] && warp < base; warp += 32) {
      uint32_t inside = 0;
      for (int t = warp; t < warp + 32; t++) {
        float least = INFINITY;
        study_strip_count count = compare_on_host(&s, b, STUDY_FLAGGED_LIMIT, t, &least);
        step->tests += count.tests;
        step->taken += count.taken;
        step->nearer += count.nearer;
        inside += count.inside;
      }
      step->inside += inside;
      step->divergent_warps += inside > 0 && inside < 32;
    }
}

static void test_counters_against_host(void **state) {
  enum { N = 2048 };
  (void)state;
  study_point *p = points_of(CLUSTERS, N, 67);
  for (int base = 32; base <= 128; base *= 2) {
    counted on_host = {.steps = 0};
    study_closest is;
    study_divide_report report;
    study_divide divide = {.base = base, .counting = true};
    CHECK(study_closest_divide(&divide, study_places[1], N, p, &is, &report));
    for (int s = 0; s < report.steps; s++)
      on_host.step[s].delta = report.step[s].delta;
    divide.watch = count_on_host;
    divide.context = &on_host;
    CHECK(study_closest_divide(&divide, study_places[1], N, p, &is, &report));
    assert_int_equal(on_host.steps, report.steps);
    for (int s = 0; s < report.steps; s++) {
      assert_int_equal(report.step[s].tests, on_host.step[s].tests);
      assert_int_equal(report.step[s].taken, on_host.step[s].taken);
      assert_int_equal(report.step[s].nearer, on_host.step[s].nearer);
      assert_int_equal(report.step[s].inside, on_host.step[s].inside);
      assert_int_equal(report.step[s].divergent_warps, on_host.step[s].divergent_warps);
    }
  }
  free(p);
}

/* Times and counts of a run: the parts are within the whole; comparators are those of a sort by x and of
 * one by y in each step, which is more than n log2 n: sorting anew costs n log^3 n. */
static void test_report(void **state) {
  enum { N = 1 << 14, BASE = 64 };
  (void)state;
  study_point *p = points_of(UNIFORM, N, 71);
  study_closest is;
  study_divide_report report;
  study_brute_times times;
  CHECK(study_closest_divide(&(study_divide){.base = BASE}, study_places[1], N, p, &is, &report));
  study_divide_shares sum = study_divide_sum(&report);
  double parts =
      report.transfer_ms + sum.sort_ms + sum.brute_ms + sum.reduce_ms + sum.strip_ms + sum.compare_ms;
  assert_true(sum.sort_ms > 0 && sum.brute_ms > 0 && sum.reduce_ms >= 0 && sum.strip_ms >= 0 &&
              sum.compare_ms > 0);
  assert_true(fabs(parts - report.total_ms) <= 1e-6 * report.total_ms);
  int64_t comparators = study_sort_comparators(STUDY_BITONIC, 1, N);
  for (int64_t length = 2 * BASE; length <= N; length *= 2)
    comparators += study_sort_comparators(STUDY_BITONIC, N / length, length);
  assert_int_equal(report.comparators, comparators);
  assert_true(report.comparators > 10 * N * 14);
  CHECK(study_closest_brute(&(study_brute){64, 0, false}, study_places[1], 1000, p, &is, NULL, &times));
  assert_true(times.compare_ms > 0 && times.transfer_ms >= 0 && times.reduce_ms >= 0);
  assert_true(fabs(times.transfer_ms + times.compare_ms + times.reduce_ms - times.total_ms) <=
              1e-6 * times.total_ms);
  free(p);
}

/* No thread depends on what another one does in the same phase: with the threads in reverse order all
 * arrays are the same. And on a GPU a hundred runs are. */
static void test_order_of_threads(void **state) {
  (void)state;
  study_trace trace = {.descending = true};
  study_closest is[2];
  for (int which = 0; which < INPUTS; which++) {
    study_point *p = points_of((input)which, 1500, 73);
    for (int program = 0; program < 6; program++) {
      for (int descending = 0; descending < 2; descending++) {
        if (descending)
          study_record(&trace);
        if (program < 2)
          CHECK(study_closest_brute(&(study_brute){64, 0, program}, DAVIT_HOST, 1500, p, &is[descending],
                                    NULL, NULL));
        else
          CHECK(study_closest_divide(
              &(study_divide){.base = 64, .sort = program & 1, .strip_test = program >> 1 & 1}, DAVIT_HOST,
              1500, p, &is[descending], NULL));
        study_stop();
      }
      assert_memory_equal(&is[0].distance, &is[1].distance, sizeof(float));
      assert_memory_equal(&is[0].pair, &is[1].pair, sizeof is[0].pair);
    }
    free(p);
  }
  study_trace_free(&trace);
}

static void test_repeats_are_identical(void **state) {
  (void)state;
  int64_t n = on_gpu(study_places[1]) ? 200000 : 5000;
  study_point *p = points_of(COLUMNS, n, 79);
  study_closest first[2], is;
  int repeats = on_gpu(study_places[1]) ? scaled(100) : 2;
  for (int i = -1; i < repeats; i++)
    for (int limit = 0; limit < 2; limit++) {
      study_divide divide = {.base = 128, .unlimited = limit};
      CHECK(study_closest_divide(&divide, study_places[1], n, p, &is, NULL));
      if (i < 0)
        first[limit] = is;
      assert_true(is.distance == first[limit].distance);
      assert_memory_equal(&is.pair, &first[limit].pair, sizeof is.pair);
    }
  free(p);
}

/* ---- printed listings ---- */

static void test_printed_p1_and_p2(void **state) {
  enum { N = 50, MOST = 1000 };
  (void)state;
  study_point *p = points_of(UNIFORM, N, 83);
  const study_point *p1 = NULL, *p2 = NULL;
  study_guard reads = study_guard_of(N);
  study_printed_closest_cpu(N, p, p1, p2, MOST, &reads);
  assert_int_equal(reads.outside, MOST); /* `j * N` is never 0: the loop leaves the array and goes on */
  assert_true(reads.highest >= N + MOST - 1);
  assert_true(study_printed_closest_blocked(N, 16, p, p1, p2) == right_distance(N, p));
  assert_true(p1 == NULL && p2 == NULL); /* the distance is right, and no pair comes back */
  free(p);
}

/* As the listing sorts: by one coordinate, whatever the other is. */
static int by_x_alone(const void *a, const void *b) {
  const study_point *p = *(const study_point *const *)a, *q = *(const study_point *const *)b;
  return p->x != q->x ? (p->x > q->x) - (p->x < q->x) : (p > q) - (p < q);
}

static int by_y_alone(const void *a, const void *b) {
  const study_point *p = *(const study_point *const *)a, *q = *(const study_point *const *)b;
  return p->y != q->y ? (p->y > q->y) - (p->y < q->y) : (p > q) - (p < q);
}

static float printed_p4(int64_t n, const study_point *p) {
  const study_point **sx = memory((size_t)n * sizeof *sx), **sy = memory((size_t)n * sizeof *sy);
  for (int64_t i = 0; i < n; i++)
    sx[i] = sy[i] = &p[i];
  qsort(sx, (size_t)n, sizeof *sx, by_x_alone);
  qsort(sy, (size_t)n, sizeof *sy, by_y_alone);
  float distance = study_printed_closest_divide(n, sx, sy, 8);
  free(sx);
  free(sy);
  return distance;
}

/* Right as long as no two x are equal; wrong on most sets of few columns, and on almost every vertical
 * line. test_p4() has the corrected program on the same inputs. */
static void test_printed_p4(void **state) {
  int wrong[INPUTS] = {0};
  (void)state;
  for (int which = 0; which < INPUTS; which++)
    for (uint64_t seed = 0; seed < 40; seed++) {
      study_point *p = points_of((input)which, 64, seed);
      study_closest mended;
      float right = right_distance(64, p);
      float printed = printed_p4(64, p);
      assert_true(printed >= right);
      wrong[which] += printed > right;
      CHECK(study_closest_divide_cpu(64, p, 8, &mended, NULL));
      assert_true(mended.distance == right);
      free(p);
    }
  assert_int_equal(wrong[UNIFORM], 0);
  assert_int_equal(wrong[SIGNED], 0);
  assert_int_equal(wrong[HORIZONTAL], 0);
  assert_true(wrong[VERTICAL] >= 20);
  assert_true(wrong[COLUMNS] >= 20);
}

static void test_printed_p5_loop(void **state) {
  enum { N = 256, MOST = 100 };
  (void)state;
  int steps;
  study_point *p = points_of(WIDE_ROW, N, 3);
  study_closest is = study_printed_divide(STUDY_SHIFT_DOWN, N, 8, 8, p, MOST, &steps);
  assert_int_equal(steps, MOST);                   /* batchLength >> 1 ends at 0, which is below N for ever */
  assert_true(is.distance > right_distance(N, p)); /* and never joins the halves */
  is = study_printed_divide(0, N, 8, 8, p, MOST, &steps);
  assert_int_equal(steps, 5);
  assert_true(is.distance == right_distance(N, p));
  free(p);
}

/* The limit of 8 flagged blocks is only right if a flagged block has a point of the strip. On the wide row
 * the three defects of the flags give wrong answers; on uniform points none shows. Without the limit none
 * does. */
static void test_printed_flags(void **state) {
  static const int defects[] = {0, STUDY_NO_ABS, STUDY_ALWAYS_TRUE, STUDY_NEVER_RESET};
  enum { N = 1024, BASE = 8, SETS = 20 };
  (void)state;
  for (int defect = 0; defect < COUNT(defects); defect++) {
    int wrong[2] = {0, 0}, steps;
    for (uint64_t seed = 0; seed < SETS; seed++)
      for (int wide = 0; wide < 2; wide++) {
        study_point *p = points_of(wide ? WIDE_ROW : UNIFORM, N, seed);
        float right = right_distance(N, p);
        wrong[wide] += study_printed_divide(defects[defect], N, BASE, 8, p, 99, &steps).distance != right;
        assert_true(study_printed_divide(defects[defect], N, BASE, N, p, 99, &steps).distance == right);
        free(p);
      }
    assert_int_equal(wrong[0], 0);
    assert_int_equal(wrong[1], defect ? SETS : 0);
  }
}

/* The same input, which the source's base sizes reach with more points: the kernels are right. */
static void test_wide_row(void **state) {
  (void)state;
  for (int64_t n = 4096; n <= 8192; n *= 2)
    for (uint64_t seed = 0; seed < 3; seed++) {
      study_point *p = points_of(WIDE_ROW, n, seed);
      int steps;
      float right = right_distance(n, p);
      study_divide divide = {.base = 32, .counting = true};
      divides(&divide, study_places[1], n, p, right, "wide row");
      assert_true(study_printed_divide(STUDY_ALWAYS_TRUE, n, 32, 8, p, 99, &steps).distance > right);
      assert_true(study_printed_divide(STUDY_NO_ABS, n, 32, 8, p, 99, &steps).distance > right);
      assert_true(study_printed_divide(STUDY_NEVER_RESET, n, 32, 8, p, 99, &steps).distance > right);
      free(p);
    }
}

/* A squared delta as a width: too narrow below 1. */
static void test_printed_squares(void **state) {
  (void)state;
  int wrong = 0, steps;
  for (uint64_t seed = 0; seed < 20; seed++) {
    study_point *p = points_of(UNIFORM, 256, seed);
    wrong += study_printed_divide(STUDY_SQUARED_DELTA, 256, 2, 8, p, 99, &steps).distance !=
             right_distance(256, p);
    free(p);
  }
  assert_true(wrong > 0);
}

/* Warps that read block_count at another moment leave the loop after another pass: the rest waits at a
 * barrier for ever, or a whole warp compares nothing. In the corrected kernel the count is every thread's
 * own, and test_compare_strip() sees all comparisons. */
static void test_printed_block_count(void **state) {
  (void)state;
  assert_int_equal(study_printed_strip_passes(false, 0, 20), 8);
  assert_int_equal(study_printed_strip_passes(true, 0, 20), 9);
  assert_int_equal(study_printed_strip_passes(true, 8, 20), 0);
  assert_int_equal(study_printed_strip_passes(false, 8, 20), 8);
  assert_int_equal(study_printed_strip_passes(true, 0, 5), 5); /* nothing shows before the limit is reached */
}

static void test_printed_delta(void **state) {
  (void)state;
  study_closest found = {1, {0, 0, 1, 0}};
  float dist[2] = {5, 9};
  study_two_points pairs[2] = {{0, 0, 3, 4}, {0, 0, 9, 0}};
  study_printed_delta_race(&found, dist, pairs);
  for (int i = 0; i < 2; i++) {
    float is =
        study_distance((study_point){pairs[i].x1, pairs[i].y1}, (study_point){pairs[i].x2, pairs[i].y2});
    assert_int_equal(is == dist[i], i == 0); /* block 1 has block 0's distance and the old pair */
  }
}

/* P3 as printed needs a whole number of blocks, and blocks of a power of two. */
static void test_printed_p3(void **state) {
  enum { N = 100 };
  (void)state;
  int arrived;
  study_point *p = points_of(HORIZONTAL, N, 89);
  for (int i = 0; i < N; i++)
    p[i].x = (float)(i * i); /* the nearest neighbour of row i is i + 1, and row 0 is nearest of all */
  float right = study_square(p[0], p[1]);
  assert_true(study_printed_candidate(64, 64, p, 0, 0, &arrived) == right);
  assert_int_equal(arrived, 64);
  assert_true(study_printed_candidate(64, N, p, 1, 0.25f, &arrived) == 0.25f); /* what somebody left there */
  assert_int_equal(arrived, 36); /* of the 64 threads that the barrier waits for */
  p[3].x = p[2].x;               /* word 2 of 96 is dropped when 3 words are halved */
  assert_true(study_printed_candidate(96, N, p, 0, INFINITY, &arrived) > 0);
  assert_true(study_printed_candidate(128, N, p, 0, INFINITY, &arrived) == 0);
  study_closest is;
  for (int k = 0; k < STUDY_CLOSEST_BLOCKS; k++) {
    CHECK(study_closest_brute(&(study_brute){study_closest_blocks[k], 0, false}, study_places[1], N, p, &is,
                              NULL, NULL));
    assert_true(is.distance == 0);
  }
  free(p);
}

static void test_printed_min_dist(void **state) {
  static const float dist[] = {4, 3, 5};
  (void)state;
  study_guard reads = study_guard_of(3);
  assert_true(study_printed_min_dist(32, 3, dist, 1, &reads) == 1); /* not one of the three */
  assert_int_equal(reads.outside, 29);
  reads = study_guard_of(3);
  assert_true(study_printed_min_dist(2, 3, dist, 1, &reads) == 3);
  assert_int_equal(reads.outside, 0);
}

/* ---- bad arguments ---- */

static void test_bad_arguments(void **state) {
  study_point p[4] = {{0, 0}, {1, 1}, {2, NAN}, {INFINITY, 0}};
  study_closest is = {5, {0, 0, 0, 0}};
  float dist[4];
  study_two_points pairs[4];
  bool flags[4];
  (void)state;
  for (int64_t n = -1; n < 2; n++) {
    CHECK_FAILS(study_closest_cpu(n, p, &is), DAVIT_INVALID_ARGUMENT, "n is");
    CHECK_FAILS(study_closest_blocked(n, 8, p, &is), DAVIT_INVALID_ARGUMENT, "n is");
    CHECK_FAILS(study_closest_divide_cpu(n, p, 8, &is, NULL), DAVIT_INVALID_ARGUMENT, "n is");
    CHECK_FAILS(study_closest_brute(&(study_brute){32, 0, false}, DAVIT_HOST, n, p, &is, NULL, NULL),
                DAVIT_INVALID_ARGUMENT, "n is");
    CHECK_FAILS(study_closest_divide(&(study_divide){.base = 32}, DAVIT_HOST, n, p, &is, NULL),
                DAVIT_INVALID_ARGUMENT, "n is");
  }
  CHECK_FAILS(study_closest_cpu(3, p, &is), DAVIT_INVALID_ARGUMENT, "points[2]");
  p[2].y = 0;
  CHECK_FAILS(study_closest_divide(&(study_divide){.base = 32}, DAVIT_HOST, 4, p, &is, NULL),
              DAVIT_INVALID_ARGUMENT, "points[3]");
  CHECK_FAILS(study_closest_blocked(2, 0, p, &is), DAVIT_INVALID_ARGUMENT, "b is 0");
  CHECK_FAILS(study_closest_divide_cpu(2, p, 1, &is, NULL), DAVIT_INVALID_ARGUMENT, "cutoff is 1");
  CHECK_FAILS(study_closest_brute(&(study_brute){48, 0, false}, DAVIT_HOST, 2, p, &is, NULL, NULL),
              DAVIT_INVALID_ARGUMENT, "threads is 48");
  CHECK_FAILS(study_closest_brute(&(study_brute){32, -1, false}, DAVIT_HOST, 2, p, &is, NULL, NULL),
              DAVIT_INVALID_ARGUMENT, "teams is -1");
  CHECK_FAILS(study_closest_divide(&(study_divide){.base = 16}, DAVIT_HOST, 2, p, &is, NULL),
              DAVIT_INVALID_ARGUMENT, "base is 16");
  CHECK_FAILS(study_closest_divide(&(study_divide){.base = 32, .sort = 7}, DAVIT_HOST, 2, p, &is, NULL),
              DAVIT_INVALID_ARGUMENT, "sort is 7");
  CHECK_FAILS(
      study_closest_divide(&(study_divide){.base = 2, .counting = true, .strip_test = STUDY_STRIP_MERGED},
                           DAVIT_HOST, 3, p, &is, NULL),
      DAVIT_INVALID_ARGUMENT, "counts");
  CHECK_FAILS(
      study_closest_divide(&(study_divide){.base = 32, .every_block = true}, DAVIT_HOST, 2, p, &is, NULL),
      DAVIT_INVALID_ARGUMENT, "every_block");
  CHECK_FAILS(study_closest_divide(&(study_divide){.base = 32}, 77, 2, p, &is, NULL), DAVIT_UNKNOWN_DEVICE,
              "77");
  CHECK_FAILS(study_min_dist(DAVIT_HOST, 32, 0, dist, pairs), DAVIT_INVALID_ARGUMENT, "m is 0");
  CHECK_FAILS(study_sort_points(STUDY_BITONIC, STUDY_BY_X, DAVIT_HOST, 1, 3, p, p), DAVIT_INVALID_ARGUMENT,
              "length is 3");
  CHECK_FAILS(study_brute_blocks(DAVIT_HOST, 2, 0, 3, p, dist, pairs), DAVIT_INVALID_ARGUMENT, "n is 3");
  CHECK_FAILS(study_find_strip(DAVIT_HOST, 2, 0, 4, 2, 1, p, p, flags), DAVIT_INVALID_ARGUMENT,
              "length is 2");
  CHECK_FAILS(study_find_strip(DAVIT_HOST, 2, 0, 4, 8, 1, p, p, flags), DAVIT_INVALID_ARGUMENT,
              "length is 8");
  CHECK_FAILS(study_compare_strip(&(study_strip){.base = 2, .n = 4, .length = 4, .limit = 0}, DAVIT_HOST, p,
                                  p, flags, dist, pairs, NULL),
              DAVIT_INVALID_ARGUMENT, "limit is 0");
  assert_true(is.distance == 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_types),
      cmocka_unit_test(test_shifts_and_masks),
      cmocka_unit_test(test_uniform_points),
      cmocka_unit_test(test_normal_points),
      cmocka_unit_test(test_points_by_seed),
      cmocka_unit_test(test_points_bad_arguments),
      cmocka_unit_test(test_p1),
      cmocka_unit_test(test_p2),
      cmocka_unit_test(test_p3),
      cmocka_unit_test(test_p3_inputs),
      cmocka_unit_test(test_candidates),
      cmocka_unit_test(test_balance),
      cmocka_unit_test(test_min_dist),
      cmocka_unit_test(test_p4),
      cmocka_unit_test(test_p4_cost),
      cmocka_unit_test(test_sorts),
      cmocka_unit_test(test_sort_counts),
      cmocka_unit_test(test_p5),
      cmocka_unit_test(test_p5_choices),
      cmocka_unit_test(test_p5_small),
      cmocka_unit_test(test_p5_large),
      cmocka_unit_test(test_p5_example),
      cmocka_unit_test(test_brute_blocks),
      cmocka_unit_test(test_find_strip),
      cmocka_unit_test(test_compare_strip),
      cmocka_unit_test(test_limit_and_counters),
      cmocka_unit_test(test_counters_against_host),
      cmocka_unit_test(test_report),
      cmocka_unit_test(test_order_of_threads),
      cmocka_unit_test(test_repeats_are_identical),
      cmocka_unit_test(test_printed_p1_and_p2),
      cmocka_unit_test(test_printed_p4),
      cmocka_unit_test(test_printed_p5_loop),
      cmocka_unit_test(test_printed_flags),
      cmocka_unit_test(test_wide_row),
      cmocka_unit_test(test_printed_squares),
      cmocka_unit_test(test_printed_block_count),
      cmocka_unit_test(test_printed_delta),
      cmocka_unit_test(test_printed_p3),
      cmocka_unit_test(test_printed_min_dist),
      cmocka_unit_test(test_bad_arguments),
  };
  return cmocka_run_group_tests(tests, find_study_places, NULL);
}
