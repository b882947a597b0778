/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting networks: counts and stages, the 0-1 principle, what a network does to given sequences. */
#include "tests/support.h"

#include "bench/study/closest/network.h"

static const study_network_kind sorts[] = {STUDY_BUBBLE, STUDY_BITONIC_SORT, STUDY_ODD_EVEN_SORT};

static study_network *made(study_network_kind kind, int n) {
  study_network *network = NULL;
  CHECK(study_network_make(kind, n, &network));
  return network;
}

/* The comparators of the stage, again in another network but one. */
static void add_stage(study_network *to, const study_network *from, int stage, int64_t without) {
  CHECK(study_network_stage(to));
  for (int64_t i = from->first[stage]; i < from->first[stage + 1]; i++)
    if (i != without)
      CHECK(study_network_add(to, from->comparators[i].smaller, from->comparators[i].larger));
}

static bool is_sorted(int n, const float *values) {
  for (int i = 0; i + 1 < n; i++)
    if (values[i] > values[i + 1])
      return false;
  return true;
}

/* Whether it sorts; a sequence that it does not sort. */
static bool sorts_all(const study_network *network, uint32_t *witness) {
  bool all;
  CHECK(study_network_sorts(network, &all, witness));
  return all;
}

static int log_of(int n) {
  int log = 0;
  while (1 << log < n)
    log++;
  return log;
}

static void has_counts(study_network_kind kind, int n, int64_t comparators, int stages) {
  study_network *network = made(kind, n);
  assert_int_equal(network->n, n);
  assert_int_equal(network->count, comparators);
  assert_int_equal(network->stages, stages);
  study_network_free(network);
}

CASE(test_counts) {
  for (int n = 2; n <= 40; n++)
    has_counts(STUDY_BUBBLE, n, n * (n - 1) / 2, 2 * n - 3);
  has_counts(STUDY_BUBBLE, 1, 0, 0);
  int64_t odd_even_sort = 0; /* T(n) = 2 T(n/2) + the merge */
  for (int n = 2; n <= 1024; n *= 2) {
    int log = log_of(n);
    int64_t merge = n / 2 * (log - 1) + 1;
    odd_even_sort = 2 * odd_even_sort + merge;
    has_counts(STUDY_HALF_CLEANER, n, n / 2, 1);
    has_counts(STUDY_BITONIC_MERGE, n, (int64_t)n / 2 * log, log);
    has_counts(STUDY_BITONIC_SORT, n, (int64_t)n * log * (log + 1) / 4, log * (log + 1) / 2);
    has_counts(STUDY_ODD_EVEN_MERGE, n, merge, log);
    has_counts(STUDY_ODD_EVEN_SORT, n, odd_even_sort, log * (log + 1) / 2);
  }
}

/* Every stage has disjoint comparators, and the stages together have all of them. */
CASE(test_stages_are_disjoint) {
  for (int m = 0; m < COUNT(sorts); m++) {
    study_network *network = made(sorts[m], 32);
    for (int stage = 0; stage < network->stages; stage++) {
      int used[32] = {0};
      assert_true(network->first[stage] < network->first[stage + 1]);
      for (int64_t i = network->first[stage]; i < network->first[stage + 1]; i++) {
        assert_int_equal(used[network->comparators[i].smaller]++, 0);
        assert_int_equal(used[network->comparators[i].larger]++, 0);
      }
    }
    assert_int_equal(network->first[network->stages], network->count);
    study_network_free(network);
  }
}

CASE(test_sort_all_zeros_and_ones) {
  for (int n = 1; n <= 16; n++)
    for (int m = 0; m < ((n & (n - 1)) == 0 ? COUNT(sorts) : 1); m++) {
      uint32_t witness;
      study_network *network = made(sorts[m], n);
      assert_true(sorts_all(network, &witness));
      study_network_free(network);
    }
}

static int ascending(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

CASE(test_sort_numbers) {
  uint64_t seed = 1;
  for (int m = 0; m < COUNT(sorts); m++)
    for (int n = 1; n <= 256; n *= 2) {
      float values[256], right[256];
      for (int i = 0; i < n; i++)
        values[i] = right[i] = (float)random_below(&seed, 2 * n);
      qsort(right, (size_t)n, sizeof *right, ascending);
      study_network *network = made(sorts[m], n);
      study_network_apply(network, values);
      assert_memory_equal(values, right, (size_t)n * sizeof *values);
      study_network_free(network);
    }
}

/* Without any one of its comparators a sorting network that has no redundant ones does not sort; nor does it
 * sort the witness. */
CASE(test_witness) {
  study_network *whole = made(STUDY_ODD_EVEN_SORT, 8);
  for (int64_t without = 0; without < whole->count; without++) {
    study_network *part;
    float values[8];
    uint32_t witness = 0;
    CHECK(study_network_create(8, &part));
    for (int stage = 0; stage < whole->stages; stage++)
      add_stage(part, whole, stage, without);
    assert_false(sorts_all(part, &witness));
    for (int i = 0; i < 8; i++)
      values[i] = (float)(witness >> i & 1);
    study_network_apply(part, values);
    assert_false(is_sorted(8, values));
    study_network_free(part);
  }
  study_network_free(whole);
}

/* More elements than fit in one word of the check: a network for all but the last one. */
CASE(test_witness_of_many_elements) {
  for (int n = 7; n <= 16; n++) {
    study_network *network = made(STUDY_BUBBLE, n - 1), *wider;
    uint32_t witness = 0;
    CHECK(study_network_create(n, &wider));
    for (int stage = 0; stage < network->stages; stage++)
      add_stage(wider, network, stage, -1);
    assert_false(sorts_all(wider, &witness));
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
CASE(test_example) {
  static const int stages[2][4] = {{1, 3, -1, -1}, {2, 1, -1, -1}};
  static const float after[] = {6, 5, 1, 8};
  float values[] = {6, 8, 5, 1};
  study_network *network = of_stages(4, stages, 2);
  study_network_apply(network, values);
  assert_memory_equal(values, after, sizeof values);
  study_network_free(network);
}

/* A network that sorts many sequences and not 3, 1, 4, 2: an odd-even merge sort without its last
 * comparator. */
CASE(test_counterexample) {
  static const int stages[3][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {1, 2, -1, -1}};
  static const float after[2][4] = {{1, 3, 2, 4}, {1, 2, 3, 4}};
  for (int whole = 0; whole < 2; whole++) {
    uint32_t witness = 0;
    float values[] = {3, 1, 4, 2};
    study_network *network = of_stages(4, stages, 2 + whole);
    study_network_apply(network, values);
    assert_memory_equal(values, after[whole], sizeof values);
    assert_true(sorts_all(network, &witness) == whole);
    study_network_free(network);
  }
}

/* Zeros and ones that go up at most once and down at most once, as on a circle. */
static bool is_bitonic(int n, uint32_t sequence) {
  int changes = 0;
  for (int i = 0; i < n; i++)
    changes += (sequence >> i & 1) != (sequence >> ((i + 1) % n) & 1);
  return changes <= 2;
}

/* The theorem on bitonic sequences: the half-cleaner leaves two bitonic halves, of which one is constant, and
 * no element of the lower half is larger than one of the upper half. The merge sorts them all. */
CASE(test_half_cleaner_and_merge) {
  for (int n = 2; n <= 16; n *= 2) {
    study_network *cleaner = made(STUDY_HALF_CLEANER, n);
    study_network *merge = made(STUDY_BITONIC_MERGE, n);
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
      assert_true(is_sorted(n, merged));
    }
    study_network_free(cleaner);
    study_network_free(merge);
  }
}

/* An odd-even merge sorts two sorted halves, and is no sorting network. */
CASE(test_odd_even_merge) {
  for (int n = 2; n <= 32; n *= 2) {
    study_network *merge = made(STUDY_ODD_EVEN_MERGE, n);
    for (int low = 0; low <= n / 2; low++)
      for (int high = 0; high <= n / 2; high++) {
        float values[32];
        for (int i = 0; i < n / 2; i++) {
          values[i] = i >= low;
          values[n / 2 + i] = i >= high;
        }
        study_network_apply(merge, values);
        assert_true(is_sorted(n, values));
      }
    uint32_t witness = 0;
    assert_true(n == 2 || n > 16 || !sorts_all(merge, &witness));
    study_network_free(merge);
  }
}

CASE(test_bad_arguments) {
  study_network *network = NULL;
  bool all;
  uint32_t witness;
  REFUSED(study_network_create(0, &network), "n is 0");
  REFUSED(study_network_make(STUDY_HALF_CLEANER, 7, &network), "no halves"); /* printed: n odd */
  REFUSED(study_network_make(STUDY_BITONIC_SORT, 12, &network), "power of two");
  REFUSED(study_network_make(STUDY_BITONIC_MERGE, 0, &network), "power of two");
  REFUSED(study_network_make(STUDY_ODD_EVEN_SORT, 3, &network), "power of two");
  REFUSED(study_network_make(STUDY_ODD_EVEN_MERGE, -4, &network), "power of two");
  assert_null(network);
  CHECK(study_network_create(4, &network));
  REFUSED(study_network_add(network, 0, 1), "no stage");
  CHECK(study_network_stage(network));
  CHECK(study_network_add(network, 0, 1));
  REFUSED(study_network_add(network, 1, 2), "shares");
  REFUSED(study_network_add(network, 2, 2), "no comparator");
  REFUSED(study_network_add(network, 2, 4), "no comparator");
  CHECK(study_network_add(network, 3, 2));
  assert_int_equal(network->count, 2);
  study_network_free(network);
  CHECK(study_network_create(31, &network));
  REFUSED(study_network_sorts(network, &all, &witness), "too many");
  study_network_free(network);
  study_network_free(NULL);
}
