/* Detection on the CPU, a window in each lane of a vector: a text for one type of scores, int16_t or float, included by
 * detect.c with the parameters of lanes.h.
 *
 * All windows are permuted alike, so the lanes go through their similarities in step: those of LANES windows lie
 * side by side, S[i][j][lane]. A row of the recurrence is a frame of the window, in the order of the permutation. */

#include "offload/lanes.h"

/* Vectors of similarities before they are rounded, and how many of them are computed together: so many that their sums do not
 * wait for themselves. */
enum { DVT_N(PARTS) = (int)(sizeof(float) / sizeof(DVT_T)), DVT_N(ABREAST) = 8 / DVT_N(PARTS) };

#define LANES DVT_N(LANES)
#define ROWS DVT_N(ROWS)

/* The scores of one order. */
static inline __attribute__((always_inline)) void DVT_N(run)(int64_t window, int64_t effect,
                                                             const DVT_N(lanes) * s, const uint16_t *order,
                                                             DVT_T gap_open, DVT_T gap_extend,
                                                             DVT_N(borders) * border, DVT_N(lanes) * best) {
  *best = (DVT_N(lanes)){0};
  DVT_N(clear)(effect, border);
  const DVT_N(lanes) * row[ROWS];
  int64_t i = 0;
  for (; i + ROWS <= window; i += ROWS) {
    for (int k = 0; k < ROWS; k++)
      row[k] = s + order[i + k] * effect;
    DVT_N(rows)(effect, row, NULL, gap_open, gap_extend, border, best, ROWS);
  }
  for (; i < window; i++) {
    row[0] = s + order[i] * effect;
    DVT_N(rows)(effect, row, NULL, gap_open, gap_extend, border, best, 1);
  }
}

/* S[i][j][·] of `abreast` frames of the effect: x is [feature][lane] for frame i of all windows. */
static inline __attribute__((always_inline)) void DVT_N(similar)(int width, const float_lanes *x,
                                                                 const float *y, float threshold,
                                                                 bool rounded, DVT_N(lanes) * s,
                                                                 const int abreast) {
  enum { PARTS = DVT_N(PARTS) };
  float_lanes cosine[DVT_N(ABREAST)][PARTS];
#pragma unroll
  for (int a = 0; a < abreast; a++)
#pragma unroll
    for (int p = 0; p < PARTS; p++)
      cosine[a][p] = (float_lanes){0};
  for (int k = 0; k < width; k++)
#pragma unroll
    for (int a = 0; a < abreast; a++)
#pragma unroll
      for (int p = 0; p < PARTS; p++)
        cosine[a][p] =
            __builtin_elementwise_fma(x[k * PARTS + p], (float_lanes){0} + y[a * width + k], cosine[a][p]);
#pragma unroll
  for (int a = 0; a < abreast; a++)
#pragma unroll
    for (int p = 0; p < PARTS; p++) {
      float_lanes v = 100 * cosine[a][p];
      v = rounded ? __builtin_elementwise_rint(v) : v;
#pragma unroll
      for (int l = 0; l < FLOATS; l++)
        ((DVT_T *)&s[a])[p * FLOATS + l] = (DVT_T)(v[l] < threshold ? -threshold : v[l]);
    }
}

static inline __attribute__((always_inline)) void DVT_N(similarities)(int width, const float_lanes *x,
                                                                      int64_t effect, const float *y,
                                                                      float threshold, bool rounded,
                                                                      DVT_N(lanes) * s) {
  int64_t j = 0;
  for (; j + DVT_N(ABREAST) <= effect; j += DVT_N(ABREAST))
    DVT_N(similar)(width, x, y + j * width, threshold, rounded, s + j, DVT_N(ABREAST));
  for (; j < effect; j++)
    DVT_N(similar)(width, x, y + j * width, threshold, rounded, s + j, 1);
}

/* x becomes frame i of windows first … first + count - 1, [feature][lane]; lanes without a window repeat the last. */
static inline __attribute__((always_inline)) void DVT_N(frames)(const dvt_detect_task *t, int64_t first,
                                                                int64_t count, int64_t i, float *x) {
  for (int k = 0; k < t->width; k++)
    for (int l = 0; l < LANES; l++)
      x[k * LANES + l] = t->stream[((first + (l < count ? l : count - 1)) * t->hop + i) * t->width + k];
}

/* Runs [begin, end) of one effect in windows first … first + count - 1, count <= LANES. `memory` as bytes_of(). */
static inline __attribute__((always_inline)) void DVT_N(block)(const dvt_detect_task *t, int e, int64_t first,
                                                               int64_t count, int64_t begin, int64_t end,
                                                               void *memory) {
  const dvt_detect_effect *effect = &t->effects[e];
  DVT_N(lanes) *s = memory;
  DVT_N(borders) *border = (DVT_N(borders) *)(s + t->window * effect->frames);
  float *x = (float *)(border + effect->frames);
  for (int64_t i = 0; i < t->window; i++) {
    DVT_N(frames)(t, first, count, i, x);
    DVT_N(similarities)(t->width, (const float_lanes *)x, effect->frames, effect->features, t->threshold,
                        t->round, s + i * effect->frames);
  }
  for (int64_t r = begin; r < end; r++) {
    DVT_N(lanes) best;
    DVT_N(run)(t->window, effect->frames, s, t->orders + r * t->window, (DVT_T)t->gap_open,
               (DVT_T)t->gap_extend, border, &best);
    for (int64_t l = 0; l < count; l++)
      t->scores[((first + l) * t->effect_count + e) * t->runs + r] = (float)best[l];
  }
}

typedef void (*DVT_N(block_function))(const dvt_detect_task *, int, int64_t, int64_t, int64_t, int64_t,
                                      void *);
#define VARIANT(number, attributes)                                                                          \
  attributes static void DVT_N(block_##number)(const dvt_detect_task *t, int e, int64_t first,               \
                                               int64_t count, int64_t begin, int64_t end, void *memory) {    \
    DVT_N(block)(t, e, first, count, begin, end, memory);                                                    \
  }
DVT_CPU_VARIANTS(VARIANT)
#undef VARIANT

static const DVT_N(block_function) DVT_N(blocks)[] = {
#define VARIANT(number, attributes) DVT_N(block_##number),
    DVT_CPU_VARIANTS(VARIANT)
#undef VARIANT
};

#undef LANES
#undef ROWS
#undef DVT_T
#undef DVT_N
#undef DVT_OPEN
#undef DVT_MATCH
#undef DVT_SCORE
