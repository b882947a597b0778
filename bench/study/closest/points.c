/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/study/closest/points.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ref/philox.h"

enum { MAX_BITS = 24 };

double study_points_deviation(int v) {
  return pow(0.1, v - 1);
}

static int by_x(const void *a, const void *b) {
  const study_point *p = a, *q = b;
  return study_before(*q, *p, STUDY_BY_X) - study_before(*p, *q, STUDY_BY_X);
}

static int by_y(const void *a, const void *b) {
  const study_point *p = a, *q = b;
  return study_before(*q, *p, STUDY_BY_Y) - study_before(*p, *q, STUDY_BY_Y);
}

void study_points_sort(study_key key, int64_t n, study_point *points) {
  qsort(points, (size_t)n, sizeof *points, key == STUDY_BY_X ? by_x : by_y);
}

/* Four random words for attempt `attempt` at point i. */
static dvt_philox_block words_of(const study_points *p, int64_t i, uint32_t attempt) {
  dvt_philox_block counter = {{(uint32_t)i, (uint32_t)((uint64_t)i >> 32), attempt, 0}};
  return dvt_philox(counter, (uint32_t)p->seed, (uint32_t)(p->seed >> 32));
}

/* In (0, 1], in steps of 2^-bits. */
static float step_of(uint32_t word, int bits) {
  return (float)((word >> (32 - bits)) + 1) * ldexpf(1, -bits);
}

static study_point uniform_point(const study_points *p, int bits, int64_t i, uint32_t attempt) {
  dvt_philox_block w = words_of(p, i, attempt);
  study_point point = {step_of(w.word[0], bits), step_of(w.word[1], bits)};
  if (p->distribution == STUDY_SIGNED) {
    point.x = w.word[2] & 1 ? -point.x : point.x;
    point.y = w.word[2] & 2 ? -point.y : point.y;
  }
  return point;
}

/* Box and Muller: two independent normal numbers of two uniform ones. */
static study_point normal_point(const study_points *p, double deviation, int64_t i) {
  for (uint32_t attempt = 0;; attempt++) {
    dvt_philox_block w = words_of(p, i, attempt);
    double radius = deviation * sqrt(-2 * log(((double)w.word[0] + 1) * 0x1p-32));
    double angle = 2 * acos(-1) * (double)w.word[1] * 0x1p-32;
    study_point point = {(float)(radius * cos(angle)), (float)(radius * sin(angle))};
    if (p->bits)
      point = (study_point){ldexpf(roundf(ldexpf(point.x, p->bits)), -p->bits),
                            ldexpf(roundf(ldexpf(point.y, p->bits)), -p->bits)};
    if (fabsf(point.x) <= 1 && fabsf(point.y) <= 1)
      return point;
  }
}

/* ---- no two equal ---- */

typedef struct entry {
  uint64_t key; /* both coordinates' bits */
  int64_t i;
} entry;

static entry entry_of(const study_point *points, int64_t i) {
  uint32_t words[2];
  memcpy(words, &points[i], sizeof words);
  return (entry){(uint64_t)words[0] << 32 | words[1], i};
}

static int by_key(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return (x->i > y->i) - (x->i < y->i);
}

/* Draws all points again that are equal to an earlier one; returns how many. */
static int64_t draw_equal(const study_points *p, int bits, int64_t n, uint32_t attempt, entry *entries,
                          study_point *points) {
  int64_t drawn = 0;
  for (int64_t i = 0; i < n; i++)
    entries[i] = entry_of(points, i);
  qsort(entries, (size_t)n, sizeof *entries, by_key);
  for (int64_t i = 1; i < n; i++)
    if (entries[i].key == entries[i - 1].key) {
      points[entries[i].i] = uniform_point(p, bits, entries[i].i, attempt);
      drawn++;
    }
  return drawn;
}

static davit_status make_distinct(const study_points *p, int bits, int64_t n, study_point *points) {
  entry *entries = malloc((size_t)n * sizeof *entries);
  if (!entries)
    return davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no memory for %lld points", (long long)n);
  for (int64_t i = 0; i < n; i++)
    points[i] = uniform_point(p, bits, i, 0);
  for (uint32_t attempt = 1; draw_equal(p, bits, n, attempt, entries, points) > 0; attempt++)
    continue;
  free(entries);
  return DAVIT_SUCCESS;
}

davit_status study_points_make(const study_points *p, int64_t n, study_point *points) {
  int bits = p->bits ? p->bits : MAX_BITS;
  STUDY_REQUIRE((unsigned)p->distribution < STUDY_DISTRIBUTIONS, "distribution is %d, which is none",
                (int)p->distribution);
  STUDY_REQUIRE(bits >= 1 && bits <= MAX_BITS, "bits is %d, not 1 to 24", bits);
  STUDY_REQUIRE(p->distribution != STUDY_NORMAL || (p->v >= 1 && p->v <= 5), "v is %d, not 1 to 5", p->v);
  int64_t places = (int64_t)1 << (2 * bits + (p->distribution == STUDY_SIGNED ? 2 : 0));
  STUDY_REQUIRE(n >= 0 && (p->distribution == STUDY_NORMAL || n <= places / 2),
                "n is %lld, and there are %lld places", (long long)n, (long long)places);
  if (n == 0)
    return DAVIT_SUCCESS;
  if (p->distribution != STUDY_NORMAL)
    return make_distinct(p, bits, n, points);
  double deviation = study_points_deviation(p->v);
  for (int64_t i = 0; i < n; i++)
    points[i] = normal_point(p, deviation, i);
  return DAVIT_SUCCESS;
}
