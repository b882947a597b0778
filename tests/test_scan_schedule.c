/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which devices sum and scan parts: replayed with a clock of its own. */
#include "src/scan_schedule.h"
#include "tests/support.h"

enum { MOST = 64 };

/* The time of the steps, which must be complete and in order. A scan of an element takes 16, its sum 7. */
static double replay(int count, const int64_t *n, const int *lane, const dvt_scan_step *steps, int used) {
  double free[MOST] = {0}, summed[MOST], scanned[MOST], entered[MOST + 1] = {0}, end = 0;
  int last[MOST], scans = 0;
  for (int p = 0; p < count; p++)
    summed[p] = scanned[p] = -1, last[lane[p]] = -1;
  for (int i = 0; i < used; i++) {
    const int p = steps[i].part, l = lane[p];
    assert_true(p >= 0 && p < count && scanned[p] < 0);
    if (steps[i].sums) {
      assert_true(summed[p] < 0 && p < count - 1);
      summed[p] = free[l] += 7 * (double)n[p];
      continue;
    }
    for (int q = 0; q < p; q++) { /* what enters p */
      assert_true(summed[q] >= 0 || scanned[q] >= 0);
      const double known = summed[q] >= 0 ? fmax(entered[q], summed[q]) : scanned[q];
      entered[q + 1] = known;
    }
    assert_true(p > last[l]);
    last[l] = p;
    scanned[p] = free[l] = fmax(free[l], entered[p]) + 16 * (double)n[p];
    end = fmax(end, free[l]);
    scans++;
  }
  assert_int_equal(scans, count);
  return end;
}

static double time_of(int count, const int64_t *n, const int *lane, int lanes, int *sums) {
  dvt_scan_step steps[2 * MOST];
  int used;
  CHECK(dvt_scan_schedule(count, n, lane, lanes, steps, &used));
  *sums = used - count;
  return replay(count, n, lane, steps, used);
}

static double speedup(int lanes, int parts_of_each, int *sums) {
  int64_t n[MOST];
  int lane[MOST];
  const int count = lanes * parts_of_each;
  for (int p = 0; p < count; p++)
    n[p] = 1000, lane[p] = p % lanes;
  return 16 * 1000.0 * count / time_of(count, n, lane, lanes, sums);
}

CASE(test_one_part_of_each) {
  int sums;
  assert_true(fabs(speedup(1, 1, &sums) - 1) < 1e-9 && sums == 0);
  for (int lanes = 2; lanes <= 8; lanes *= 2) {
    const double bound = 16.0 * lanes / 23;
    assert_true(fabs(speedup(lanes, 1, &sums) - bound) < 1e-9);
    assert_int_equal(sums, lanes - 1);
  }
}

CASE(test_parts_in_turn) {
  int sums;
  assert_true(speedup(1, 9, &sums) == 1 && sums == 0);
  assert_true(speedup(2, 6, &sums) > 1.6);
  assert_true(speedup(2, 16, &sums) > 1.6);
  assert_true(speedup(4, 12, &sums) > 2.95);
}

/* Any lengths and lanes: never slower than if all parts but the last were summed first. */
CASE(test_any_parts) {
  uint64_t seed = 5;
  for (int turn = 0; turn < scaled(3000); turn++) {
    int64_t n[MOST];
    int lane[MOST], lanes = 1 + random_below(&seed, 5), count = 1 + random_below(&seed, MOST - 1), sums,
                    used = 0;
    dvt_scan_step first[2 * MOST];
    for (int p = 0; p < count; p++) {
      n[p] = 1 + random_below(&seed, random_below(&seed, 2) ? 10 : 1000);
      lane[p] = random_below(&seed, lanes);
    }
    for (int p = 0; p < 2 * count; p++)
      if (p != count - 1)
        first[used++] = (dvt_scan_step){p % count, p < count};
    const double bound = replay(count, n, lane, first, used);
    assert_true(time_of(count, n, lane, lanes, &sums) <= bound * (1 + 1e-9));
  }
}
