/* SPDX-License-Identifier: Apache-2.0 */
/* The closest pair's programs P1 … P4 against each other on easy and on awkward inputs; kernels and sorts
 * against the CPU; the generators of points. */
#include "bench/study/tests/closest.h"

/* ---- types and indices ---- */

CASE(test_types) {
  assert_int_equal(sizeof(study_point), 8);
  assert_int_equal(_Alignof(study_point), 8);
  assert_int_equal(sizeof(study_two_points), 16);
  assert_int_equal(_Alignof(study_two_points), 16);
  assert_int_equal((32 << 10) / sizeof(study_point), 4096); /* points in 32 KiB; the source prints 512 */
}

CASE(test_shifts_and_masks) {
  uint64_t seed = 1;
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
  study_point *p = host_memory(n, sizeof *p);
  int64_t equal = 0;
  memcpy(p, points, (size_t)n * sizeof *p);
  qsort(p, (size_t)n, sizeof *p, by_bits);
  for (int64_t i = 1; i < n; i++)
    equal += by_bits(&p[i - 1], &p[i]) == 0;
  return equal;
}

CASE(test_uniform_points) {
  enum { N = 20000 };
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

CASE(test_normal_points) {
  enum { N = 20000 };
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

CASE(test_points_by_seed) {
  study_point a[1000], b[2000];
  for (study_distribution d = 0; d < STUDY_DISTRIBUTIONS; d++) {
    generate(d, 1, 0, 11, 1000, a);
    generate(d, 1, 0, 11, 2000, b);
    assert_memory_equal(a, b, sizeof a); /* point i does not depend on n */
    generate(d, 1, 0, 12, 2000, b);
    assert_memory_not_equal(a, b, sizeof a);
  }
}

CASE(test_points_bad_arguments) {
  study_point p[4];
  REFUSED(study_points_make(&(study_points){STUDY_DISTRIBUTIONS, 1, 0, 1}, 4, p), "distribution");
  REFUSED(study_points_make(&(study_points){STUDY_NORMAL, 6, 0, 1}, 4, p), "v is 6");
  REFUSED(study_points_make(&(study_points){STUDY_UNIFORM, 0, 25, 1}, 4, p), "bits is 25");
  REFUSED(study_points_make(&(study_points){STUDY_UNIFORM, 0, 1, 1}, 3, p), "n is 3");
  CHECK(study_points_make(&(study_points){STUDY_UNIFORM, 0, 1, 1}, 2, p));
  CHECK(study_points_make(&(study_points){STUDY_UNIFORM, 0, 1, 1}, 0, p));
}

/* ---- P1, P2 ---- */

CASE(test_p1) {
  study_closest is;
  static const study_point ties[] = {{0, 0}, {5, 0}, {10, 0}, {10, 1}, {0, 1}, {5, 1}};
  CHECK(study_closest_cpu(6, ties, &is));
  assert_true(is.distance == 1 && is.pair.x1 == 0 && is.pair.y1 == 0 && is.pair.x2 == 0 && is.pair.y2 == 1);
  static const study_point same[] = {{1, 2}, {7, 7}, {1, 2}};
  CHECK(study_closest_cpu(3, same, &is));
  assert_true(is.distance == 0 && is.pair.x1 == 1 && is.pair.y2 == 2);
  for (input which = 0; which < INPUTS; which++) {
    study_point *p = points_of(which, 300, 3);
    double minimum = INFINITY;
    for (int i = 0; i < 300; i++)
      for (int j = 0; j < i; j++)
        minimum = fmin(minimum, hypot((double)p[i].x - (double)p[j].x, (double)p[i].y - (double)p[j].y));
    CHECK(study_closest_cpu(300, p, &is));
    assert_true(fabs((double)is.distance - minimum) <= 1e-6 * minimum);
    is_closest(&is, is.distance, 300, p, input_names[which]);
  }
}

CASE(test_p2) {
  static const int64_t sizes[] = {2, 3, 17, 64, 100},
                       blocks[] = {1, 2, 3, 16, 17, 64, 99, 100, 1000, INT64_MAX / 2};
  EACH(int64_t, n, sizes)
    EACH(int64_t, block, blocks)
      for (input which = 0; which < INPUTS; which++) {
        study_point *p = points_of(which, n, 9);
        study_closest is;
        CHECK(study_closest_blocked(n, block, p, &is));
        is_closest(&is, right_distance(n, p), n, p, input_names[which]);
        uint8_t visits[100 * 100] = {0};
        study_blocked_visits(n, block, visits);
        for (int64_t i = 0; i < n; i++)
          for (int64_t j = 0; j < n; j++)
            assert_int_equal(visits[i * n + j], i != j);
      }
}

/* ---- P3, P3b ---- */

CASE(test_p3) {
  static const int64_t sizes[] = {2, 3, 31, 33, 64, 257, 1000, 1025, 2500}, teams[] = {0, 1, 3, 1000};
  for (int s = 0; s < COUNT(sizes); s++) {
    int64_t n = sizes[s];
    study_point *p = points_of((input)(s % INPUTS), n, 13);
    float right = right_distance(n, p);
    EACH_PLACE(device)
      EACH(int, block, closest_blocks)
        EACH(int64_t, team_count, teams)
          for (int balanced = 0; balanced < 2; balanced++) {
            study_brute b = {block, team_count, balanced};
            study_closest is;
            CHECK(study_closest_brute(&b, device, n, p, &is, NULL, NULL));
            is_closest(&is, right, n, p, balanced ? "balanced" : "rows");
          }
  }
}

CASE(test_p3_inputs) {
  for (input which = 0; which < INPUTS; which++) {
    study_point *p = points_of(which, 777, 17);
    for (int balanced = 0; balanced < 2; balanced++) {
      study_closest is;
      CHECK(study_closest_brute(&(study_brute){64, 0, balanced}, first_device(), 777, p, &is, NULL, NULL));
      is_closest(&is, right_distance(777, p), 777, p, input_names[which]);
    }
  }
}

/* Each candidate is the minimum over the rows of its team, and no others are written. */
CASE(test_candidates) {
  enum { N = 1003, THREADS = 64 };
  study_point *p = points_of(UNIFORM, N, 19);
  EACH_PLACE(device)
    for (int balanced = 0; balanced < 2; balanced++) {
      study_brute b = {THREADS, 3, balanced};
      int64_t rows = study_brute_rows(&b, N), count = study_brute_candidates(&b, N);
      assert_int_equal(rows, balanced ? 501 : N);
      assert_int_equal(count, balanced ? 8 : 16);
      candidates c = candidates_at(device, count, NULL, NULL);
      study_point *points = there(device, p, N * sizeof *p);
      CHECK(study_compare_points(&b, device, N, points, c.on_dist, c.on_pairs, NULL));
      candidates_take(&c);
      for (int64_t k = 0; k < count; k++) {
        float minimum = INFINITY;
        for (int64_t t = k * THREADS; t < (k + 1) * THREADS && t < rows; t++)
          for (int half = 0; half <= balanced; half++) /* N is odd: the last row is empty */
            for (int64_t i = half ? N - 2 - t : t, j = i + 1; j < N; j++)
              minimum = fminf(minimum, study_square(p[i], p[j]));
        assert_true(c.dist[k] == minimum && between(&c.pairs[k]) == sqrtf(minimum));
      }
    }
}

/* P3: row i has n - 1 - i comparisons. P3b: all threads the same, n - 1 or, for odd n, n; the sum is the
 * same. */
CASE(test_balance) {
  static const int64_t sizes[] = {2, 3, 5, 64, 100, 129, 1000, 1001};
  EACH_PLACE(device)
    EACH(int64_t, n, sizes)
      for (int balanced = 0; balanced < 2; balanced++) {
        int64_t sum = 0, comparisons[1001];
        study_point *p = points_of(UNIFORM, n, 23);
        study_brute b = {32, 2, balanced};
        study_closest is;
        CHECK(study_closest_brute(&b, device, n, p, &is, comparisons, NULL));
        int64_t rows = study_brute_rows(&b, n);
        assert_int_equal(rows, balanced ? n / 2 : n);
        for (int64_t i = 0; i < rows; i++) {
          assert_int_equal(comparisons[i], !balanced ? n - 1 - i : n % 2 ? n : n - 1);
          sum += comparisons[i];
        }
        assert_int_equal(sum, n * (n - 1) / 2);
      }
}

/* ---- minDistReduction ---- */

CASE(test_min_dist) {
  static const int64_t sizes[] = {1, 2, 31, 32, 33, 64, 100, 1024, 1025, 5000};
  uint64_t seed = 3;
  EACH_PLACE(device)
    EACH(int, block, closest_blocks)
      EACH(int64_t, m, sizes)
        for (int last = 0; last < 2; last++) {
          const int64_t at = last ? m - 1 : random_below(&seed, (int)m);
          float *dist = host_memory(m, sizeof *dist);
          study_two_points *pairs = host_memory(m, sizeof *pairs);
          for (int64_t i = 0; i < m; i++) {
            dist[i] = i == at ? 0.5f : i % 3 ? (float)(1 + random_below(&seed, 1000)) : INFINITY;
            pairs[i] = (study_two_points){(float)i, dist[i], 1, 2};
          }
          candidates c = candidates_at(device, m, dist, pairs);
          CHECK(study_min_dist(device, block, m, c.on_dist, c.on_pairs));
          candidates_take(&c);
          assert_true(c.dist[0] == 0.5f);
          assert_memory_equal(&c.pairs[0], &pairs[at], sizeof *pairs);
        }
}

/* ---- P4 ---- */

CASE(test_p4) {
  static const int64_t sizes[] = {2, 3, 4, 9, 17, 100, 1000};
  static const int cutoffs[] = {2, 3, 8, 100};
  for (input which = 0; which < INPUTS; which++)
    EACH(int64_t, n, sizes)
      EACH(int, cutoff, cutoffs)
        for (int repeat = 0; repeat < 5; repeat++) {
          study_point *p = points_of(which, n, 100 + (uint64_t)repeat);
          study_closest is;
          study_divide_cpu report;
          CHECK(study_closest_divide_cpu(n, p, cutoff, &is, &report));
          is_closest(&is, right_distance(n, p), n, p, input_names[which]);
          assert_int_equal(report.sorts, 2); /* by x and by y, and never in the recursion */
        }
}

CASE(test_p4_cost) {
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
}

/* ---- sorts ---- */

static void sorts_right(study_sort sort, study_key key, int device, int64_t batches, int64_t length,
                        input which, bool in_place) {
  int64_t n = batches * length;
  const int64_t bytes = n * (int64_t)sizeof(study_point);
  SCOPE;
  study_point *p = points_of(which, n, 31), *right = host_memory(n, sizeof *p);
  if (n > 3)
    p[n / 3] = p[n / 2] = (study_point){INFINITY, INFINITY};
  memcpy(right, p, (size_t)bytes);
  sort_batches(key, batches, length, right);
  study_point *source = there(device, p, bytes), *sorted = in_place ? source : there(device, NULL, bytes);
  CHECK(study_sort_points(sort, key, device, batches, length, source, sorted));
  if (memcmp(taken(sorted, bytes), right, (size_t)bytes) != 0)
    fail_msg("sort %d, key %d, %lld batches of %lld", (int)sort, (int)key, (long long)batches,
             (long long)length);
  if (!in_place)
    assert_memory_equal(taken(source, bytes), p, bytes);
}

CASE(test_sorts) {
  EACH_PLACE(device)
    for (study_sort sort = 0; sort < STUDY_SORTS; sort++)
      for (int key = 0; key < 2; key++) {
        int most = on_gpu(device) ? 20 : 13;
        for (int log = 0; log <= most; log++)
          sorts_right(sort, (study_key)key, device, 1, (int64_t)1 << log, UNIFORM, log % 2);
        for (int64_t length = 1; length <= 4096; length *= 4)
          for (int64_t batches = 2; batches <= 7; batches += 5)
            sorts_right(sort, (study_key)key, device, batches, length, COLUMNS, false);
        sorts_right(sort, (study_key)key, device, 300, 16, EQUAL, true);
      }
  EACH_PLACE(device)
    CHECK(study_sort_points(STUDY_BITONIC, STUDY_BY_X, device, 0, 8, NULL, NULL));
  if (on_gpu(first_device()))
    for (study_sort sort = 0; sort < STUDY_SORTS; sort++)
      sorts_right(sort, STUDY_BY_Y, first_device(), 2, 1 << 23, UNIFORM, false);
}

/* The networks' own formulas; a launch for each stage beyond a tile. */
CASE(test_sort_counts) {
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

/* ---- bad arguments ---- */

CASE(test_bad_arguments) {
  study_point p[4] = {{0, 0}, {1, 1}, {2, NAN}, {INFINITY, 0}};
  study_closest is = {5, {0, 0, 0, 0}};
  float dist[4];
  study_two_points pairs[4];
  bool flags[4];
  for (int64_t n = -1; n < 2; n++) {
    REFUSED(study_closest_cpu(n, p, &is), "n is");
    REFUSED(study_closest_blocked(n, 8, p, &is), "n is");
    REFUSED(study_closest_divide_cpu(n, p, 8, &is, NULL), "n is");
    REFUSED(study_closest_brute(&(study_brute){32, 0, false}, DAVIT_HOST, n, p, &is, NULL, NULL), "n is");
    REFUSED(study_closest_divide(&(study_divide){.base = 32}, DAVIT_HOST, n, p, &is, NULL), "n is");
  }
  REFUSED(study_closest_cpu(3, p, &is), "points[2]");
  p[2].y = 0;
  REFUSED(study_closest_divide(&(study_divide){.base = 32}, DAVIT_HOST, 4, p, &is, NULL), "points[3]");
  REFUSED(study_closest_blocked(2, 0, p, &is), "b is 0");
  REFUSED(study_closest_divide_cpu(2, p, 1, &is, NULL), "cutoff is 1");
  REFUSED(study_closest_brute(&(study_brute){48, 0, false}, DAVIT_HOST, 2, p, &is, NULL, NULL),
          "threads is 48");
  REFUSED(study_closest_brute(&(study_brute){32, -1, false}, DAVIT_HOST, 2, p, &is, NULL, NULL),
          "teams is -1");
  REFUSED(study_closest_divide(&(study_divide){.base = 16}, DAVIT_HOST, 2, p, &is, NULL), "base is 16");
  REFUSED(study_closest_divide(&(study_divide){.base = 32, .sort = 7}, DAVIT_HOST, 2, p, &is, NULL),
          "sort is 7");
  REFUSED(study_closest_divide(&(study_divide){.base = 2, .counting = true, .strip_test = STUDY_STRIP_MERGED},
                               DAVIT_HOST, 3, p, &is, NULL),
          "counts");
  REFUSED(study_closest_divide(&(study_divide){.base = 32, .every_block = true}, DAVIT_HOST, 2, p, &is, NULL),
          "every_block");
  CHECK_FAILS(study_closest_divide(&(study_divide){.base = 32}, 77, 2, p, &is, NULL), DAVIT_UNKNOWN_DEVICE,
              "77");
  REFUSED(study_min_dist(DAVIT_HOST, 32, 0, dist, pairs), "m is 0");
  REFUSED(study_sort_points(STUDY_BITONIC, STUDY_BY_X, DAVIT_HOST, 1, 3, p, p), "length is 3");
  REFUSED(study_brute_blocks(DAVIT_HOST, 2, 0, 3, p, dist, pairs), "n is 3");
  REFUSED(study_find_strip(DAVIT_HOST, 2, 0, 4, 2, 1, p, p, flags), "length is 2");
  REFUSED(study_find_strip(DAVIT_HOST, 2, 0, 4, 8, 1, p, p, flags), "length is 8");
  REFUSED(study_compare_strip(&(study_strip){.base = 2, .n = 4, .length = 4, .limit = 0}, DAVIT_HOST, p, p,
                              flags, dist, pairs, NULL),
          "limit is 0");
  assert_true(is.distance == 5);
}
