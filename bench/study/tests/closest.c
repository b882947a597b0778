/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/study/tests/closest.h"

#define INPUT_NAME(name) #name,
const char *const input_names[INPUTS] = {INPUTS_LIST(INPUT_NAME)};
const int closest_blocks[BLOCKS] = {2, 32, 64, 128, 256, 512, 1024};

void generate(study_distribution distribution, int v, int bits, uint64_t seed, int64_t n, study_point *p) {
  CHECK(study_points_make(&(study_points){distribution, v, bits, seed}, n, p));
}

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

/* What an input makes of a uniform point. */
static study_point changed(input which, int64_t n, const study_point *p, int64_t i, uint64_t *random) {
  study_point q = p[i];
  if (which == VERTICAL)
    q.x = 0.5f;
  if (which == HORIZONTAL)
    q.y = -3;
  if (which == COLUMNS)
    q.x = (float)random_below(random, 5);
  if (which == EQUAL)
    q = p[0];
  if (which == DUPLICATES)
    q = p[random_below(random, (int)(n / 2) + 1)];
  if (which == CLUSTERS) {
    q.x = 0.001f * q.x + (float)random_below(random, 3);
    q.y = 0.001f * q.y + (float)random_below(random, 3);
  }
  return q;
}

study_point *points_of(input which, int64_t n, uint64_t seed) {
  study_point *p = host_memory(n, sizeof *p);
  uint64_t random = seed;
  if (which == WIDE_ROW)
    wide_row(n, seed, p);
  else
    generate(which == SIGNED                          ? STUDY_SIGNED
             : which == NORMAL_1 || which == NORMAL_5 ? STUDY_NORMAL
                                                      : STUDY_UNIFORM,
             which == NORMAL_5 ? 5 : 1,
             which == NORMAL_5  ? 16
             : which == LATTICE ? bits_for(n)
                                : 0,
             seed, n, p);
  for (int64_t i = 0; i < n; i++)
    p[i] = changed(which, n, p, i, &random);
  return p;
}

static bool has_point(int64_t n, const study_point *p, float x, float y) {
  for (int64_t i = 0; i < n; i++)
    if (p[i].x == x && p[i].y == y)
      return true;
  return false;
}

void is_closest(const study_closest *is, float distance, int64_t n, const study_point *p, const char *what) {
  study_point a = {is->pair.x1, is->pair.y1}, b = {is->pair.x2, is->pair.y2};
  if (is->distance != distance || between(&is->pair) != distance || !has_point(n, p, a.x, a.y) ||
      !has_point(n, p, b.x, b.y))
    fail_msg("%s, n %lld: %.9g for (%g, %g) (%g, %g), not %.9g", what, (long long)n, (double)is->distance,
             (double)a.x, (double)a.y, (double)b.x, (double)b.y, (double)distance);
}

float right_distance(int64_t n, const study_point *p) {
  study_closest result;
  CHECK(study_closest_cpu(n, p, &result));
  return result.distance;
}

candidates candidates_at(int device, int64_t count, const float *dist, const study_two_points *pairs) {
  return (candidates){.count = count,
                      .on_dist = there(device, dist, count * (int64_t)sizeof *dist),
                      .on_pairs = there(device, pairs, count * (int64_t)sizeof *pairs)};
}

void candidates_take(candidates *c) {
  c->dist = taken(c->on_dist, c->count * (int64_t)sizeof *c->dist);
  c->pairs = taken(c->on_pairs, c->count * (int64_t)sizeof *c->pairs);
}

float between(const study_two_points *pair) {
  return study_distance((study_point){pair->x1, pair->y1}, (study_point){pair->x2, pair->y2});
}

void sort_batches(study_key key, int64_t batches, int64_t length, study_point *p) {
  for (int64_t b = 0; b < batches; b++)
    study_points_sort(key, length, p + b * length);
}

void divides(const study_divide *d, int device, int64_t n, const study_point *p, float right,
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
}
