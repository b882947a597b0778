/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/study/closest/printed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/study/closest/points.h"

/* ---- one core ---- */

float study_printed_closest_cpu(int64_t n, const study_point *points, const study_point *p1,
                                const study_point *p2, int64_t most, study_guard *reads) {
  float minimum = INFINITY;
  for (int64_t i = 0; i < n - 1; i++)
    for (int64_t j = i + 1; j * n; j++) {
      if (!study_inside(reads, j)) {
        if (reads->outside >= most)
          return sqrtf(minimum);
        continue;
      }
      float square = study_square(points[i], points[j]);
      if (square < minimum) {
        minimum = square;
        p1 = &points[i];
        p2 = &points[j];
      }
    }
  (void)p1, (void)p2; /* and the caller gets nothing */
  return sqrtf(minimum);
}

float study_printed_closest_blocked(int64_t n, int64_t b, const study_point *points, const study_point *p1,
                                    const study_point *p2) {
  float minimum = INFINITY;
  const int64_t blocks = (n + b - 1) / b;
  for (int64_t i = 0; i < blocks; i++)
    for (int64_t j = i; j < blocks; j++)
      for (int64_t jb = j * b; jb < n && jb < (j + 1) * b; jb++)
        for (int64_t ib = i == j ? jb + 1 : i * b; ib < n && ib < (i + 1) * b; ib++) {
          float square = study_square(points[jb], points[ib]);
          if (square < minimum) {
            minimum = square;
            p1 = &points[jb];
            p2 = &points[ib];
          }
        }
  (void)p1, (void)p2;
  return sqrtf(minimum);
}

/* Squares of the points in sx by all pairs. */
static float all_pairs(int64_t n, const study_point *const *p) {
  float minimum = INFINITY;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = i + 1; j < n; j++)
      minimum = fminf(minimum, study_square(*p[i], *p[j]));
  return minimum;
}

/* The square. nx and ny differ below a split on a line with several points. */
static float printed_divide(int64_t nx, const study_point *const *sx, int64_t ny,
                            const study_point *const *sy, int cutoff, const study_point **scratch) {
  if (nx <= cutoff)
    return all_pairs(nx, sx);
  const float middle = sx[nx / 2]->x;
  int64_t left = 0, right = 0;
  for (int64_t i = 0; i < ny; i++)
    left += sy[i]->x < middle;
  for (int64_t i = 0, l = 0; i < ny; i++)
    if (sy[i]->x < middle)
      scratch[l++] = sy[i];
    else
      scratch[left + right++] = sy[i];
  float minimum = printed_divide(nx / 2, sx, left, scratch, cutoff, scratch + ny);
  minimum =
      fminf(minimum, printed_divide(nx - nx / 2, sx + nx / 2, right, scratch + left, cutoff, scratch + ny));
  const float width = sqrtf(minimum);
  for (int64_t i = 0; i < ny; i++)
    for (int64_t j = 0; j < ny; j++) {
      const study_point *l = sy[i], *r = sy[j];
      if (l->x < middle && r->x >= middle && middle - l->x < width && r->x - middle < width &&
          fabsf(l->y - r->y) < width)
        minimum = fminf(minimum, study_square(*l, *r));
    }
  return minimum;
}

float study_printed_closest_divide(int64_t n, const study_point *const *sx, const study_point *const *sy,
                                   int cutoff) {
  enum { LEVELS = 64 };
  const study_point **scratch = malloc((size_t)n * LEVELS * sizeof *scratch);
  if (!scratch)
    abort();
  float minimum = printed_divide(n, sx, n, sy, cutoff, scratch);
  free(scratch);
  return sqrtf(minimum);
}

/* ---- P5 ---- */

typedef struct model {
  int defects;
  int64_t n, base, limit;
  study_point *sx, *sy;
  bool *flags;
  study_closest *candidates; /* of each block */
} model;

static void offer(study_closest *best, study_point a, study_point b) {
  float distance = study_distance(a, b);
  if (distance < best->distance)
    *best = (study_closest){distance, {a.x, a.y, b.x, b.y}};
}

static study_closest minimum_of(const model *m) {
  study_closest minimum = m->candidates[0];
  for (int64_t i = 1; i < m->n / m->base; i++)
    if (m->candidates[i].distance < minimum.distance)
      minimum = m->candidates[i];
  return minimum;
}

static void find_strip(model *m, int64_t length, float delta) {
  for (int64_t i = 0; i < m->n / m->base; i++) {
    const float middle = m->sx[i * m->base / length * length + length / 2].x;
    bool has = (m->defects & STUDY_ALWAYS_TRUE) != 0;
    for (int64_t k = i * m->base; k < (i + 1) * m->base; k++) {
      float from = m->sy[k].x - middle;
      has |= (m->defects & STUDY_NO_ABS ? from : fabsf(from)) <= delta;
    }
    m->flags[i] = has || (m->flags[i] && m->defects & STUDY_NEVER_RESET);
  }
}

static void compare_block(model *m, int64_t block, int64_t length, const study_closest *minimum) {
  const int64_t base = m->base, start = block * base / length * length;
  const float middle = m->sx[start + length / 2].x;
  const float delta =
      m->defects & STUDY_SQUARED_DELTA ? minimum->distance * minimum->distance : minimum->distance;
  study_closest best = *minimum;
  int64_t seen = 0;
  for (int64_t tile = block; tile < (start + length) / base && seen < m->limit; tile++) {
    seen += m->flags[tile];
    for (int64_t i = block * base; m->flags[tile] && i < (block + 1) * base; i++)
      for (int64_t j = tile == block ? i + 1 : tile * base; j < (tile + 1) * base; j++)
        if (fabsf(m->sy[i].x - middle) <= delta && fabsf(m->sy[j].x - middle) <= delta)
          offer(&best, m->sy[i], m->sy[j]);
  }
  m->candidates[block] = best;
}

static void join(model *m, int64_t length) {
  const study_closest minimum = minimum_of(m);
  memcpy(m->sy, m->sx, (size_t)m->n * sizeof *m->sy);
  for (int64_t start = 0; start < m->n; start += length)
    study_points_sort(STUDY_BY_Y, length, m->sy + start);
  find_strip(m, length,
             m->defects & STUDY_SQUARED_DELTA ? minimum.distance * minimum.distance : minimum.distance);
  for (int64_t block = 0; block < m->n / m->base; block++)
    if (m->flags[block])
      compare_block(m, block, length, &minimum);
}

study_closest study_printed_divide(int defects, int64_t n, int64_t base, int64_t limit,
                                   const study_point *points, int most, int *steps) {
  model m = {.defects = defects, .n = n, .base = base, .limit = limit};
  m.sx = malloc((size_t)n * sizeof *m.sx);
  m.sy = malloc((size_t)n * sizeof *m.sy);
  m.flags = calloc((size_t)(n / base), sizeof *m.flags);
  m.candidates = malloc((size_t)(n / base) * sizeof *m.candidates);
  if (!m.sx || !m.sy || !m.flags || !m.candidates)
    abort();
  memcpy(m.sx, points, (size_t)n * sizeof *m.sx);
  study_points_sort(STUDY_BY_X, n, m.sx);
  for (int64_t i = 0; i < n / base; i++) {
    m.candidates[i] = (study_closest){INFINITY, {0, 0, 0, 0}};
    for (int64_t a = i * base; a < (i + 1) * base; a++)
      for (int64_t b = a + 1; b < (i + 1) * base; b++)
        offer(&m.candidates[i], m.sx[a], m.sx[b]);
  }
  int64_t length = 2 * base;
  for (*steps = 0; length <= n && *steps < most; ++*steps) {
    if (length >= base && length > 1) /* smaller batches are no whole blocks: nothing that a block could do */
      join(&m, length);
    length = defects & STUDY_SHIFT_DOWN ? length >> 1 : length << 1;
  }
  study_closest minimum = minimum_of(&m);
  free(m.sx);
  free(m.sy);
  free(m.flags);
  free(m.candidates);
  return minimum;
}

int study_printed_strip_passes(bool early, int stale, int flagged) {
  int passes = 0;
  while (passes < flagged) {
    int seen = !early ? passes : passes == 0 ? stale : passes - 1;
    if (seen >= STUDY_FLAGGED_LIMIT)
      break;
    passes++;
  }
  return passes;
}

void study_printed_delta_race(const study_closest *found, float dist[2], study_two_points pairs[2]) {
  dist[0] = found->distance;
  const float delta = dist[0]; /* block 1 begins */
  const study_two_points pair = pairs[0];
  pairs[0] = found->pair;
  dist[1] = delta;
  pairs[1] = pair;
}

/* ---- P3 ---- */

/* Sequential addressing over `threads` words. */
static float tree(int threads, float *cache) {
  for (int half = threads / 2; half > 0; half >>= 1)
    for (int t = 0; t < half; t++)
      cache[t] = cache[t + half] < cache[t] ? cache[t + half] : cache[t];
  return cache[0];
}

float study_printed_candidate(int threads, int64_t n, const study_point *points, int64_t block, float stale,
                              int *arrived) {
  enum { MAX_THREADS = 1024 };
  float cache[MAX_THREADS];
  *arrived = 0;
  for (int t = 0; t < threads && t < MAX_THREADS; t++) {
    const int64_t row = block * threads + t;
    cache[t] = row < n ? INFINITY : stale;
    *arrived += row < n;
    for (int64_t j = row + 1; j < n; j++)
      cache[t] = fminf(cache[t], study_square(points[row], points[j]));
  }
  return tree(threads, cache);
}

float study_printed_min_dist(int threads, int64_t m, const float *dist, float outside, study_guard *reads) {
  enum { MAX_THREADS = 1024 };
  float cache[MAX_THREADS];
  for (int t = 0; t < threads && t < MAX_THREADS; t++) {
    cache[t] = study_inside(reads, t) ? dist[t] : outside;
    for (int64_t i = t + threads; i < m; i += threads)
      cache[t] = fminf(cache[t], dist[i]);
  }
  return tree(threads, cache);
}
