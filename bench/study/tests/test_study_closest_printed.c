/* SPDX-License-Identifier: Apache-2.0 */
/* The defects of the printed listings on the closest pair, beside the corrected programs. */
#include "bench/study/tests/closest.h"

#include "bench/study/closest/printed.h"

CASE(test_printed_p1_and_p2) {
  enum { N = 50, MOST = 1000 };
  study_point *p = points_of(UNIFORM, N, 83);
  const study_point *p1 = NULL, *p2 = NULL;
  study_guard reads = study_guard_of(N);
  study_printed_closest_cpu(N, p, p1, p2, MOST, &reads);
  assert_int_equal(reads.outside, MOST); /* `j * N` is never 0: the loop leaves the array and goes on */
  assert_true(reads.highest >= N + MOST - 1);
  assert_true(study_printed_closest_blocked(N, 16, p, p1, p2) == right_distance(N, p));
  assert_true(p1 == NULL && p2 == NULL); /* the distance is right, and no pair comes back */
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
  const study_point **sx = host_memory(n, sizeof *sx), **sy = host_memory(n, sizeof *sy);
  for (int64_t i = 0; i < n; i++)
    sx[i] = sy[i] = &p[i];
  qsort(sx, (size_t)n, sizeof *sx, by_x_alone);
  qsort(sy, (size_t)n, sizeof *sy, by_y_alone);
  float distance = study_printed_closest_divide(n, sx, sy, 8);
  return distance;
}

/* Right as long as no two x are equal; wrong on most sets of few columns, and on almost every vertical line.
 * test_p4() has the corrected program on the same inputs. */
CASE(test_printed_p4) {
  int wrong[INPUTS] = {0};
  for (input which = 0; which < INPUTS; which++)
    for (uint64_t seed = 0; seed < 40; seed++) {
      study_point *p = points_of(which, 64, seed);
      study_closest corrected;
      float right = right_distance(64, p);
      float printed = printed_p4(64, p);
      assert_true(printed >= right);
      wrong[which] += printed > right;
      CHECK(study_closest_divide_cpu(64, p, 8, &corrected, NULL));
      assert_true(corrected.distance == right);
    }
  assert_int_equal(wrong[UNIFORM], 0);
  assert_int_equal(wrong[SIGNED], 0);
  assert_int_equal(wrong[HORIZONTAL], 0);
  assert_true(wrong[VERTICAL] >= 20);
  assert_true(wrong[COLUMNS] >= 20);
}

CASE(test_printed_p5_loop) {
  enum { N = 256, MOST = 100 };
  int steps;
  study_point *p = points_of(WIDE_ROW, N, 3);
  study_closest is = study_printed_divide(STUDY_SHIFT_DOWN, N, 8, 8, p, MOST, &steps);
  assert_int_equal(steps, MOST);                   /* batchLength >> 1 ends at 0, which is below N for ever */
  assert_true(is.distance > right_distance(N, p)); /* and never joins the halves */
  is = study_printed_divide(0, N, 8, 8, p, MOST, &steps);
  assert_int_equal(steps, 5);
  assert_true(is.distance == right_distance(N, p));
}

/* The limit of 8 flagged blocks is only right if a flagged block has a point of the strip. On the wide row
 * the three defects of the flags give wrong answers; on uniform points none shows. Without the limit none
 * does. */
CASE(test_printed_flags) {
  static const int defects[] = {0, STUDY_NO_ABS, STUDY_ALWAYS_TRUE, STUDY_NEVER_RESET};
  enum { N = 1024, BASE = 8, SETS = 20 };
  for (int defect = 0; defect < COUNT(defects); defect++) {
    int wrong[2] = {0, 0}, steps;
    for (uint64_t seed = 0; seed < SETS; seed++)
      for (int wide = 0; wide < 2; wide++) {
        study_point *p = points_of(wide ? WIDE_ROW : UNIFORM, N, seed);
        float right = right_distance(N, p);
        wrong[wide] += study_printed_divide(defects[defect], N, BASE, 8, p, 99, &steps).distance != right;
        assert_true(study_printed_divide(defects[defect], N, BASE, N, p, 99, &steps).distance == right);
      }
    assert_int_equal(wrong[0], 0);
    assert_int_equal(wrong[1], defect ? SETS : 0);
  }
}

/* The same input, which the source's base sizes reach with more points: the kernels are right. */
CASE(test_wide_row) {
  for (int64_t n = 4096; n <= 8192; n *= 2)
    for (uint64_t seed = 0; seed < 3; seed++) {
      study_point *p = points_of(WIDE_ROW, n, seed);
      int steps;
      float right = right_distance(n, p);
      study_divide divide = {.base = 32, .counting = true};
      divides(&divide, first_device(), n, p, right, "wide row");
      assert_true(study_printed_divide(STUDY_ALWAYS_TRUE, n, 32, 8, p, 99, &steps).distance > right);
      assert_true(study_printed_divide(STUDY_NO_ABS, n, 32, 8, p, 99, &steps).distance > right);
      assert_true(study_printed_divide(STUDY_NEVER_RESET, n, 32, 8, p, 99, &steps).distance > right);
    }
}

/* A squared delta as a width: too narrow below 1. */
CASE(test_printed_squares) {
  int wrong = 0, steps;
  for (uint64_t seed = 0; seed < 20; seed++) {
    study_point *p = points_of(UNIFORM, 256, seed);
    wrong += study_printed_divide(STUDY_SQUARED_DELTA, 256, 2, 8, p, 99, &steps).distance !=
             right_distance(256, p);
  }
  assert_true(wrong > 0);
}

/* Warps that read block_count at another moment leave the loop after another pass: the rest waits at a
 * barrier for ever, or a whole warp compares nothing. In the corrected kernel the count is every thread's
 * own, and test_compare_strip() sees all comparisons. */
CASE(test_printed_block_count) {
  assert_int_equal(study_printed_strip_passes(false, 0, 20), 8);
  assert_int_equal(study_printed_strip_passes(true, 0, 20), 9);
  assert_int_equal(study_printed_strip_passes(true, 8, 20), 0);
  assert_int_equal(study_printed_strip_passes(false, 8, 20), 8);
  assert_int_equal(study_printed_strip_passes(true, 0, 5), 5); /* nothing shows before the limit is reached */
}

CASE(test_printed_delta) {
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
CASE(test_printed_p3) {
  enum { N = 100 };
  int arrived;
  study_point *p = points_of(HORIZONTAL, N, 89);
  for (int i = 0; i < N; i++)
    p[i].x = (float)(i * i); /* the nearest neighbour of row i is i + 1, and row 0 is nearest of all */
  float right = study_square(p[0], p[1]);
  assert_true(study_printed_candidate(64, 64, p, 0, 0, &arrived) == right);
  assert_int_equal(arrived, 64);
  assert_true(study_printed_candidate(64, N, p, 1, 0.25f, &arrived) == 0.25f); /* the stale value */
  assert_int_equal(arrived, 36); /* of the 64 threads that the barrier waits for */
  p[3].x = p[2].x;               /* word 2 of 96 is dropped when 3 words are halved */
  assert_true(study_printed_candidate(96, N, p, 0, INFINITY, &arrived) > 0);
  assert_true(study_printed_candidate(128, N, p, 0, INFINITY, &arrived) == 0);
  study_closest is;
  EACH(int, block, closest_blocks) {
    CHECK(study_closest_brute(&(study_brute){block, 0, false}, first_device(), N, p, &is, NULL, NULL));
    assert_true(is.distance == 0);
  }
}

CASE(test_printed_min_dist) {
  static const float dist[] = {4, 3, 5};
  study_guard reads = study_guard_of(3);
  assert_true(study_printed_min_dist(32, 3, dist, 1, &reads) == 1); /* not one of the three */
  assert_int_equal(reads.outside, 29);
  reads = study_guard_of(3);
  assert_true(study_printed_min_dist(2, 3, dist, 1, &reads) == 3);
  assert_int_equal(reads.outside, 0);
}
