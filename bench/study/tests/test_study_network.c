/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting networks: counts and stages, the 0-1 principle, what a network does to given sequences. */
#include "tests/support.h"

#include "bench/study/closest/network.h"

typedef davit_status (*maker)(int n, study_network **network);

static study_network *made(maker make, int n) {
  study_network *network = NULL;
  CHECK(make(n, &network));
  return network;
}

static int log_of(int n) {
  int log = 0;
  while (1 << log < n)
    log++;
  return log;
}

static void has_counts(maker make, int n, int64_t comparators, int stages) {
  study_network *network = made(make, n);
  assert_int_equal(study_network_width(network), n);
  assert_int_equal(study_network_comparators(network), comparators);
  assert_int_equal(study_network_stages(network), stages);
  study_network_free(network);
}

static void test_counts(void **state) {
  (void)state;
  for (int n = 2; n <= 40; n++)
    has_counts(study_network_bubble, n, n * (n - 1) / 2, 2 * n - 3);
  has_counts(study_network_bubble, 1, 0, 0);
  int64_t odd_even_sort = 0; /* T(n) = 2 T(n/2) + the merge */
  for (int n = 2; n <= 1024; n *= 2) {
    int log = log_of(n);
    int64_t merge = n / 2 * (log - 1) + 1;
    odd_even_sort = 2 * odd_even_sort + merge;
    has_counts(study_network_half_cleaner, n, n / 2, 1);
    has_counts(study_network_bitonic_merge, n, (int64_t)n / 2 * log, log);
    has_counts(study_network_bitonic_sort, n, (int64_t)n * log * (log + 1) / 4, log * (log + 1) / 2);
    has_counts(study_network_odd_even_merge, n, merge, log);
    has_counts(study_network_odd_even_sort, n, odd_even_sort, log * (log + 1) / 2);
  }
}

/* Every stage is one of disjoint comparators, and the stages together are all of them. */
static void test_stages_are_disjoint(void **state) {
  static const maker makers[] = {study_network_bubble, study_network_bitonic_sort,
                                 study_network_odd_even_sort};
  (void)state;
  for (int m = 0; m < COUNT(makers); m++) {
    study_network *network = made(makers[m], 32);
    int64_t all = 0;
    for (int stage = 0; stage < study_network_stages(network); stage++) {
      int count, used[32] = {0};
      const study_comparator *c = study_network_stage_at(network, stage, &count);
      assert_true(count > 0);
      for (int i = 0; i < count; i++) {
        assert_int_equal(used[c[i].smaller]++, 0);
        assert_int_equal(used[c[i].larger]++, 0);
      }
      all += count;
    }
    assert_int_equal(all, study_network_comparators(network));
    study_network_free(network);
  }
}

static void test_sort_all_zeros_and_ones(void **state) {
  (void)state;
  for (int n = 1; n <= 16; n++) {
    static const maker makers[] = {study_network_bubble, study_network_bitonic_sort,
                                   study_network_odd_even_sort};
    for (int m = 0; m < COUNT(makers); m++) {
      bool sorts = false;
      uint32_t witness;
      if (m > 0 && (n & (n - 1)) != 0)
        continue;
      study_network *network = made(makers[m], n);
      CHECK(study_network_sorts(network, &sorts, &witness));
      assert_true(sorts);
      study_network_free(network);
    }
  }
}

static int ascending(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static void test_sort_numbers(void **state) {
  static const maker makers[] = {study_network_bubble, study_network_bitonic_sort,
                                 study_network_odd_even_sort};
  uint64_t seed = 1;
  (void)state;
  for (int m = 0; m < COUNT(makers); m++)
    for (int n = 1; n <= 256; n *= 2) {
      float values[256], right[256];
      for (int i = 0; i < n; i++)
        values[i] = right[i] = (float)random_below(&seed, 2 * n);
      qsort(right, (size_t)n, sizeof *right, ascending);
      study_network *network = made(makers[m], n);
      study_network_apply(network, values);
      assert_memory_equal(values, right, (size_t)n * sizeof *values);
      study_network_free(network);
    }
}

/* Take any one comparator away from a sorting network without redundant ones, and it no longer sorts; what
 * it is said not to sort, it does not sort. */
static void test_witness(void **state) {
  (void)state;
  study_network *whole = made(study_network_odd_even_sort, 8);
  for (int64_t without = 0; without < study_network_comparators(whole); without++) {
    study_network *part;
    int64_t at = 0;
    bool sorts = true;
    uint32_t witness = 0;
    CHECK(study_network_create(8, &part));
    for (int stage = 0; stage < study_network_stages(whole); stage++) {
      int count;
      const study_comparator *c = study_network_stage_at(whole, stage, &count);
      CHECK(study_network_stage(part));
      for (int i = 0; i < count; i++)
        if (at++ != without)
          CHECK(study_network_add(part, c[i].smaller, c[i].larger));
    }
    CHECK(study_network_sorts(part, &sorts, &witness));
    assert_false(sorts);
    float values[8];
    bool sorted = true;
    for (int i = 0; i < 8; i++)
      values[i] = (float)(witness >> i & 1);
    study_network_apply(part, values);
    for (int i = 0; i < 7; i++)
      sorted &= values[i] <= values[i + 1];
    assert_false(sorted);
    study_network_free(part);
  }
  study_network_free(whole);
}

/* More elements than fit in one word of the check. */
static void test_witness_of_many_elements(void **state) {
  (void)state;
  for (int n = 7; n <= 16; n++) {
    study_network *network;
    bool sorts = true;
    uint32_t witness = 0;
    CHECK(study_network_bubble(n - 1, &network)); /* sorts all but the last element */
    study_network *wider;
    CHECK(study_network_create(n, &wider));
    for (int stage = 0; stage < study_network_stages(network); stage++) {
      int count;
      const study_comparator *c = study_network_stage_at(network, stage, &count);
      CHECK(study_network_stage(wider));
      for (int i = 0; i < count; i++)
        CHECK(study_network_add(wider, c[i].smaller, c[i].larger));
    }
    CHECK(study_network_sorts(wider, &sorts, &witness));
    assert_false(sorts);
    assert_int_equal(witness >> (n - 1), 0); /* the last element must be smaller than another */
    assert_true(witness != 0);
    study_network_free(network);
    study_network_free(wider);
  }
}

static study_network *of_stages(int n, const int stages[][4], int stage_count) {
  study_network *network;
  CHECK(study_network_create(n, &network));
  for (int s = 0; s < stage_count; s++) {
    CHECK(study_network_stage(network));
    for (int c = 0; c < 4 && stages[s][c] >= 0; c += 2)
      CHECK(study_network_add(network, stages[s][c], stages[s][c + 1]));
  }
  return network;
}

/* The source's example: [1:3] and then [2:1] on 6, 8, 5, 1. */
static void test_example(void **state) {
  static const int stages[2][4] = {{1, 3, -1, -1}, {2, 1, -1, -1}};
  static const float after[] = {6, 5, 1, 8};
  float values[] = {6, 8, 5, 1};
  (void)state;
  study_network *network = of_stages(4, stages, 2);
  study_network_apply(network, values);
  assert_memory_equal(values, after, sizeof values);
  study_network_free(network);
}

/* A network that sorts many sequences and not 3, 1, 4, 2: an odd-even merge sort without its last
 * comparator. */
static void test_counterexample(void **state) {
  static const int stages[3][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {1, 2, -1, -1}};
  static const float unsorted[] = {1, 3, 2, 4}, sorted[] = {1, 2, 3, 4};
  bool sorts = true;
  uint32_t witness = 0;
  (void)state;
  study_network *network = of_stages(4, stages, 2);
  float values[] = {3, 1, 4, 2};
  study_network_apply(network, values);
  assert_memory_equal(values, unsorted, sizeof values);
  CHECK(study_network_sorts(network, &sorts, &witness));
  assert_false(sorts);
  study_network_free(network);
  network = of_stages(4, stages, 3);
  float again[] = {3, 1, 4, 2};
  study_network_apply(network, again);
  assert_memory_equal(again, sorted, sizeof again);
  CHECK(study_network_sorts(network, &sorts, &witness));
  assert_true(sorts);
  study_network_free(network);
}

/* Zeros and ones that go up at most once and down at most once, as on a circle. */
static bool is_bitonic(int n, uint32_t sequence) {
  int changes = 0;
  for (int i = 0; i < n; i++)
    changes += (sequence >> i & 1) != (sequence >> ((i + 1) % n) & 1);
  return changes <= 2;
}

/* The theorem on bitonic sequences: the half-cleaner leaves two bitonic halves, of which one is constant,
 * and no element of the lower half is larger than one of the upper half. The merge sorts them all. */
static void test_half_cleaner_and_merge(void **state) {
  (void)state;
  for (int n = 2; n <= 16; n *= 2) {
    study_network *cleaner = made(study_network_half_cleaner, n);
    study_network *merge = made(study_network_bitonic_merge, n);
    for (uint32_t sequence = 0; sequence < 1u << n; sequence++) {
      float values[16], merged[16];
      if (!is_bitonic(n, sequence))
        continue;
      for (int i = 0; i < n; i++)
        values[i] = merged[i] = (float)(sequence >> i & 1);
      study_network_apply(cleaner, values);
      uint32_t low = 0, high = 0, all = (1u << (n / 2)) - 1;
      for (int i = 0; i < n / 2; i++) {
        low |= (uint32_t)values[i] << i;
        high |= (uint32_t)values[n / 2 + i] << i;
      }
      assert_true(is_bitonic(n / 2, low) && is_bitonic(n / 2, high));
      assert_true(low == 0 || high == all);
      study_network_apply(merge, merged);
      for (int i = 0; i + 1 < n; i++)
        assert_true(merged[i] <= merged[i + 1]);
    }
    study_network_free(cleaner);
    study_network_free(merge);
  }
}

/* An odd-even merge sorts two sorted halves, and is no sorting network. */
static void test_odd_even_merge(void **state) {
  (void)state;
  for (int n = 2; n <= 32; n *= 2) {
    study_network *merge = made(study_network_odd_even_merge, n);
    for (int low = 0; low <= n / 2; low++)
      for (int high = 0; high <= n / 2; high++) {
        float values[32];
        for (int i = 0; i < n / 2; i++) {
          values[i] = i >= low;
          values[n / 2 + i] = i >= high;
        }
        study_network_apply(merge, values);
        for (int i = 0; i + 1 < n; i++)
          assert_true(values[i] <= values[i + 1]);
      }
    if (n > 2 && n <= 16) {
      bool sorts = true;
      uint32_t witness = 0;
      CHECK(study_network_sorts(merge, &sorts, &witness));
      assert_false(sorts);
    }
    study_network_free(merge);
  }
}

static void test_bad_arguments(void **state) {
  study_network *network = NULL;
  bool sorts;
  uint32_t witness;
  (void)state;
  CHECK_FAILS(study_network_create(0, &network), DAVIT_INVALID_ARGUMENT, "n is 0");
  CHECK_FAILS(study_network_half_cleaner(7, &network), DAVIT_INVALID_ARGUMENT,
              "no halves"); /* printed: n odd */
  CHECK_FAILS(study_network_bitonic_sort(12, &network), DAVIT_INVALID_ARGUMENT, "power of two");
  CHECK_FAILS(study_network_bitonic_merge(0, &network), DAVIT_INVALID_ARGUMENT, "power of two");
  CHECK_FAILS(study_network_odd_even_sort(3, &network), DAVIT_INVALID_ARGUMENT, "power of two");
  CHECK_FAILS(study_network_odd_even_merge(-4, &network), DAVIT_INVALID_ARGUMENT, "power of two");
  assert_null(network);
  CHECK(study_network_create(4, &network));
  CHECK_FAILS(study_network_add(network, 0, 1), DAVIT_INVALID_ARGUMENT, "no stage");
  CHECK(study_network_stage(network));
  CHECK(study_network_add(network, 0, 1));
  CHECK_FAILS(study_network_add(network, 1, 2), DAVIT_INVALID_ARGUMENT, "shares");
  CHECK_FAILS(study_network_add(network, 2, 2), DAVIT_INVALID_ARGUMENT, "no comparator");
  CHECK_FAILS(study_network_add(network, 2, 4), DAVIT_INVALID_ARGUMENT, "no comparator");
  CHECK(study_network_add(network, 3, 2));
  assert_int_equal(study_network_comparators(network), 2);
  study_network_free(network);
  CHECK(study_network_create(31, &network));
  CHECK_FAILS(study_network_sorts(network, &sorts, &witness), DAVIT_INVALID_ARGUMENT, "too many");
  study_network_free(network);
  study_network_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_counts),
      cmocka_unit_test(test_stages_are_disjoint),
      cmocka_unit_test(test_sort_all_zeros_and_ones),
      cmocka_unit_test(test_sort_numbers),
      cmocka_unit_test(test_witness),
      cmocka_unit_test(test_witness_of_many_elements),
      cmocka_unit_test(test_example),
      cmocka_unit_test(test_counterexample),
      cmocka_unit_test(test_half_cleaner_and_merge),
      cmocka_unit_test(test_odd_even_merge),
      cmocka_unit_test(test_bad_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
