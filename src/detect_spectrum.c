/* SPDX-License-Identifier: Apache-2.0 */
#include "src/detect_spectrum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/cpu.h"
#include "src/base/error.h"

#pragma STDC FP_CONTRACT OFF

enum {
  LANES = 16, /* columns that are transformed together */
  ROWS = 128, /* at most: the longest transform that FFTW does in one step */
  PAD = 8,    /* columns: rows would use the same sets of a cache otherwise */
  STEPS = 3,  /* lags of a sample: the highest lines turn by a twelfth of a circle in half of that */
  LAGS = 2 * DVT_SPECTRUM_REACH * STEPS + 1
};
static const double pi = 3.14159265358979323846;

/* ---- plans and tables ---- */

static void turn_to(double turns, fftwf_complex z) {
  z[0] = (float)cos(2 * pi * turns);
  z[1] = (float)sin(2 * pi * turns);
}

static fftwf_complex *new_lines(int64_t count) {
  return dvt_allocate_aligned((size_t)count * sizeof(fftwf_complex));
}

static bool make_twiddles(int64_t rows, int64_t columns, double shift, dvt_spectrum_twiddles *t) {
  const int64_t groups = columns / LANES;
  const double n = (double)(rows * columns);
  t->base = new_lines(rows * groups);
  t->step = new_lines(rows * LANES);
  if (!t->base || !t->step)
    return false;
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t g = 0; g < groups; g++)
      turn_to((double)(r * g * LANES) / n, t->base[r * groups + g]);
    for (int j = 0; j < LANES; j++)
      turn_to((double)r * (j + shift) / n, t->step[r * LANES + j]);
  }
  return true;
}

static bool make_tables(dvt_spectra *s) {
  bool made = make_twiddles(s->rows, s->columns, 0, &s->whole);
  for (int h = 0; h < DVT_SPECTRUM_PLACES; h++)
    made = make_twiddles(s->rows, s->range_columns, h / (double)DVT_SPECTRUM_PLACES, &s->part[h]) && made;
  s->turn = new_lines(s->columns);
  s->row_turn = new_lines(s->rows);
  s->half_step = new_lines(s->range_columns);
  s->lag_first = new_lines(s->columns + LANES);
  s->lag_step = new_lines(s->columns + LANES);
  if (!made || !s->turn || !s->row_turn || !s->half_step || !s->lag_first || !s->lag_step)
    return false;
  for (int64_t c = 0; c < s->columns; c++)
    turn_to((double)c / (double)(2 * s->columns), s->turn[c]);
  for (int64_t r = 0; r < s->rows; r++)
    turn_to(0.25 + (double)r / (double)(2 * s->lines), s->row_turn[r]);
  for (int64_t c = 0; c < s->range_columns; c++)
    turn_to((double)c / (double)(2 * s->range_columns), s->half_step[c]);
  for (int64_t c = 0; c < s->columns + LANES; c++) {
    const double sample = ((double)c + 0.5) / (double)(2 * s->columns);
    turn_to(-sample * (double)DVT_SPECTRUM_REACH, s->lag_first[c]);
    turn_to(sample / (double)STEPS, s->lag_step[c]);
  }
  return true;
}

/* Rows of a range that are transformed together. */
static int64_t rows_at_once(const dvt_spectra *s) {
  return dvt_at_most(s->rows, LANES);
}

/* FFTW_ESTIMATE: the same plans, and so the same bits, each time. */
static void make_plans(dvt_spectra *s, const dvt_spectrum_memory *m) {
  const int rows = (int)s->rows, columns = (int)s->columns, part = (int)s->range_columns,
            many = (int)rows_at_once(s);
  fftwf_complex *a = m->near, *b = m->between;
  s->columns_forward = s->fftw->plan_many_dft(1, &rows, LANES, a, NULL, LANES, 1, a, NULL, LANES, 1,
                                              FFTW_FORWARD, FFTW_ESTIMATE);
  s->columns_backward = s->fftw->plan_many_dft(1, &rows, LANES, a, NULL, LANES, 1, a, NULL, LANES, 1,
                                               FFTW_BACKWARD, FFTW_ESTIMATE);
  s->row_forward = s->fftw->plan_many_dft(1, &columns, 1, b, NULL, 1, columns, a, NULL, 1, columns,
                                          FFTW_FORWARD, FFTW_ESTIMATE);
  s->row_backward = s->fftw->plan_many_dft(1, &columns, 1, b, NULL, 1, columns, a, NULL, 1, columns,
                                           FFTW_BACKWARD, FFTW_ESTIMATE);
  s->range_rows = s->fftw->plan_many_dft(1, &part, many, a, NULL, 1, part, a, NULL, 1, part, FFTW_BACKWARD,
                                         FFTW_ESTIMATE);
}

static davit_status plan(dvt_spectra *s) {
  dvt_spectrum_memory m;
  const bool reserved = dvt_spectrum_reserve(s, &m);
  davit_status status = reserved ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
  if (reserved) {
    pthread_mutex_lock(&dvt_fftw_planner);
    status = dvt_fftw_load(&s->fftw);
    if (status == DAVIT_SUCCESS)
      make_plans(s, &m);
    pthread_mutex_unlock(&dvt_fftw_planner);
  }
  dvt_spectrum_release(&m);
  if (status == DAVIT_SUCCESS &&
      (!s->columns_forward || !s->columns_backward || !s->row_forward || !s->row_backward || !s->range_rows))
    return davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no host memory for a transform of %lld samples",
                      (long long)(2 * s->lines));
  return status;
}

davit_status dvt_spectra_make(int64_t each, int bands, int range_bands, dvt_spectra *s) {
  *s = (dvt_spectra){.lines = each * bands, .range = each * range_bands, .rows = dvt_at_most(each, ROWS)};
  s->columns = s->lines / s->rows;
  s->range_columns = s->range / s->rows;
  s->pitch = s->columns + PAD;
  return make_tables(s) ? plan(s) : DAVIT_OUT_OF_HOST_MEMORY;
}

static void release_plan(const dvt_spectra *s, fftwf_plan plan) {
  if (plan)
    s->fftw->destroy_plan(plan);
}

static void release_twiddles(dvt_spectrum_twiddles *t) {
  free(t->base);
  free(t->step);
}

void dvt_spectra_release(dvt_spectra *s) {
  pthread_mutex_lock(&dvt_fftw_planner);
  release_plan(s, s->columns_forward);
  release_plan(s, s->columns_backward);
  release_plan(s, s->row_forward);
  release_plan(s, s->row_backward);
  release_plan(s, s->range_rows);
  pthread_mutex_unlock(&dvt_fftw_planner);
  release_twiddles(&s->whole);
  for (int h = 0; h < DVT_SPECTRUM_PLACES; h++)
    release_twiddles(&s->part[h]);
  free(s->turn);
  free(s->row_turn);
  free(s->half_step);
  free(s->lag_first);
  free(s->lag_step);
}

size_t dvt_spectrum_bytes(const dvt_spectra *s) {
  return (size_t)(s->rows * s->pitch) * sizeof(fftwf_complex);
}

/* `near` holds LANES columns of both halves of a range, as many of its rows, or two rows; these are more than what
 * dvt_spectrum_agreement() needs, a column and a row of a range. */
bool dvt_spectrum_reserve(const dvt_spectra *s, dvt_spectrum_memory *m) {
  const int64_t columns = DVT_SPECTRUM_PLACES * s->rows * LANES,
                parts = DVT_SPECTRUM_PLACES * rows_at_once(s) * s->range_columns;
  *m = (dvt_spectrum_memory){.between = dvt_allocate_aligned(dvt_spectrum_bytes(s)),
                             .near = new_lines(dvt_at_least(dvt_at_least(columns, parts), 2 * s->pitch))};
  return m->between && m->near;
}

void dvt_spectrum_release(dvt_spectrum_memory *m) {
  free(m->between);
  free(m->near);
}

/* ---- LANES complex numbers ---- */

/* to = from * base * step, or times the conjugate of base * step. */
DVT_CPU_INLINE void twiddle(const fftwf_complex *restrict from, const fftwf_complex base,
                            const fftwf_complex *restrict step, float sign, fftwf_complex *restrict to) {
  const float a = base[0], b = base[1];
  for (int j = 0; j < LANES; j++) {
    const float re = a * step[j][0] - b * step[j][1], im = sign * (a * step[j][1] + b * step[j][0]),
                x = from[j][0], y = from[j][1];
    to[j][0] = x * re - y * im;
    to[j][1] = x * im + y * re;
  }
}

DVT_CPU_INLINE void twiddle_row(const dvt_spectrum_twiddles *t, int64_t row, int64_t columns,
                                const fftwf_complex *from, fftwf_complex *to) {
  const int64_t groups = columns / LANES;
  for (int64_t g = 0; g < groups; g++)
    twiddle(from + g * LANES, t->base[row * groups + g], t->step + row * LANES, 1, to + g * LANES);
}

/* LANES columns of an array with rows of `pitch` from `from` on, one row after the other. */
DVT_CPU_INLINE void gather(int64_t rows, int64_t pitch, const fftwf_complex *from, fftwf_complex *near) {
  for (int64_t r = 0; r < rows; r++)
    memcpy(near + r * LANES, from + r * pitch, LANES * sizeof *near);
}

/* ---- forward ---- */

/* The samples [at, at + 2 LANES), with silence from number `count` on. */
static void gather_end(const float *samples, int64_t count, int64_t at, fftwf_complex *near) {
  for (int64_t i = 0; i < 2 * LANES; i++)
    near[i / 2][i % 2] = at + i < count ? samples[at + i] : 0;
}

/* As gather(), of samples, two to a complex number. */
DVT_CPU_INLINE void gather_samples(const dvt_spectra *s, const float *samples, int64_t count, int64_t column,
                                   fftwf_complex *near) {
  for (int64_t r = 0; r < s->rows; r++) {
    const int64_t at = 2 * (r * s->columns + column);
    if (at + 2 * LANES <= count) {
      __builtin_prefetch(samples + at + 4 * LANES);
      __builtin_prefetch(samples + at + 5 * LANES);
      memcpy(near + r * LANES, samples + at, LANES * sizeof *near);
    } else
      gather_end(samples, count, at, near + r * LANES);
  }
}

/* Lines of a row of real samples from its row z of the transform of pairs, and the mirrored row: mirror[-c] goes with
 * z[c]. */
DVT_CPU_INLINE void separate(const dvt_spectra *s, int64_t row, const fftwf_complex *restrict z,
                             const fftwf_complex *restrict mirror, fftwf_complex *restrict lines,
                             float *restrict power) {
  const float a = s->row_turn[row][0], b = s->row_turn[row][1];
  const fftwf_complex *turn = s->turn;
  for (int64_t c = 0; c < s->columns; c++) {
    const float re = a * turn[c][0] - b * turn[c][1], im = -(a * turn[c][1] + b * turn[c][0]),
                even_re = z[c][0] + mirror[-c][0], even_im = z[c][1] - mirror[-c][1],
                odd_re = z[c][0] - mirror[-c][0], odd_im = z[c][1] + mirror[-c][1],
                x = 0.5F * (even_re + (odd_re * re - odd_im * im)),
                y = 0.5F * (even_im + (odd_re * im + odd_im * re));
    lines[c][0] = x;
    lines[c][1] = y;
    power[c] += x * x + y * y;
  }
}

DVT_CPU_INLINE int transform_inline(const dvt_spectra *s, const float *samples, int64_t count,
                                    const dvt_spectrum_memory *m, fftwf_complex *lines, float *power) {
  const int64_t groups = s->columns / LANES;
  for (int64_t g = 0; g < groups; g++) {
    gather_samples(s, samples, count, g * LANES, m->near);
    s->fftw->execute_dft(s->columns_forward, m->near, m->near);
    for (int64_t r = 0; r < s->rows; r++)
      twiddle(m->near + r * LANES, s->whole.base[r * groups + g], s->whole.step + r * LANES, -1,
              m->between + r * s->pitch + g * LANES);
  }
  memset(power, 0, (size_t)s->columns * sizeof *power);
  for (int64_t r = 0; r <= s->rows / 2; r++) {
    const int64_t back = (s->rows - r) % s->rows, last = s->columns - (r > 0);
    fftwf_complex *one = m->near, *other = m->near + (back == r ? 0 : s->pitch);
    s->fftw->execute_dft(s->row_forward, m->between + r * s->pitch, one);
    if (back != r)
      s->fftw->execute_dft(s->row_forward, m->between + back * s->pitch, other);
    memcpy(one + s->columns, one, sizeof *one); /* for row 0 */
    separate(s, r, one, other + last, lines + r * s->pitch, power);
    if (back != r)
      separate(s, back, other, one + last, lines + back * s->pitch, power);
  }
  memset(lines + s->columns, 0, sizeof *lines); /* the last line, for dvt_spectrum_energies() */
  return 0;
}

DVT_CPU_DISPATCH(int, transform, transform_inline,
                 (const dvt_spectra *s, const float *samples, int64_t count, const dvt_spectrum_memory *m,
                  fftwf_complex *lines, float *power),
                 (s, samples, count, m, lines, power))

void dvt_spectrum_transform(const dvt_spectra *s, const float *samples, int64_t count,
                            const dvt_spectrum_memory *m, fftwf_complex *lines, float *power) {
  transform(s, samples, count, m, lines, power);
}

/* ---- backward ---- */

/* A row of the transform of pairs from lines of real samples: separate() backwards, but for a factor of 2. */
DVT_CPU_INLINE void combine(const dvt_spectra *s, int64_t row, const fftwf_complex *restrict lines,
                            const fftwf_complex *restrict mirror, const float *restrict root,
                            const float *restrict mirror_root, fftwf_complex *restrict z) {
  const float a = s->row_turn[row][0], b = s->row_turn[row][1];
  const fftwf_complex *turn = s->turn;
  for (int64_t c = 0; c < s->columns; c++) {
    const float re = a * turn[c][0] - b * turn[c][1], im = a * turn[c][1] + b * turn[c][0],
                x = lines[c][0] * root[c], y = lines[c][1] * root[c],
                mirror_x = mirror[-c][0] * mirror_root[-c], mirror_y = mirror[-c][1] * mirror_root[-c],
                even_re = x + mirror_x, even_im = y - mirror_y, odd_re = x - mirror_x, odd_im = y + mirror_y;
    z[c][0] = even_re + (odd_re * re - odd_im * im);
    z[c][1] = even_im + (odd_re * im + odd_im * re);
  }
}

DVT_CPU_INLINE float squares(const float *x) {
  float sums[DVT_SPECTRUM_SPACING / 2];
  for (int j = 0; j < DVT_SPECTRUM_SPACING / 2; j++)
    sums[j] = x[j] * x[j] + x[j + DVT_SPECTRUM_SPACING / 2] * x[j + DVT_SPECTRUM_SPACING / 2];
  for (int half = DVT_SPECTRUM_SPACING / 4; half > 0; half /= 2)
    for (int j = 0; j < half; j++)
      sums[j] += sums[j + half];
  return sums[0];
}

/* Squares of LANES columns; before they are added up, energy[k + 1] is that of cell k. */
DVT_CPU_INLINE void measure_cells(const dvt_spectra *s, int64_t column, const fftwf_complex *near,
                                  double *energy) {
  enum { CELLS = 2 * LANES / DVT_SPECTRUM_SPACING };
  for (int64_t r = 0; r < s->rows; r++) {
    const int64_t cell = 2 * (r * s->columns + column) / DVT_SPECTRUM_SPACING;
    const float *x = (const float *)(near + r * LANES);
    for (int k = 0; k < CELLS; k++)
      energy[cell + k + 1] = (double)squares(x + k * DVT_SPECTRUM_SPACING);
  }
}

DVT_CPU_INLINE int energies_inline(const dvt_spectra *s, const fftwf_complex *lines, const float *root,
                                   const dvt_spectrum_memory *m, double *energy, float *white) {
  for (int64_t r = 0; r < s->rows; r++) {
    const int64_t back = (s->rows - r) % s->rows, last = s->columns - (r > 0);
    fftwf_complex *row = m->between + r * s->pitch;
    combine(s, r, lines + r * s->pitch, lines + back * s->pitch + last, root, root + last, row);
    s->fftw->execute_dft(s->row_backward, row, m->near);
    twiddle_row(&s->whole, r, s->columns, m->near, row);
  }
  for (int64_t c = 0; c < s->columns; c += LANES) {
    gather(s->rows, s->pitch, m->between + c, m->near);
    s->fftw->execute_dft(s->columns_backward, m->near, m->near);
    measure_cells(s, c, m->near, energy);
    for (int64_t r = 0; white && r < s->rows; r++)
      memcpy(white + 2 * (r * s->columns + c), m->near + r * LANES, LANES * sizeof *m->near);
  }
  return 0;
}

DVT_CPU_DISPATCH(int, energies, energies_inline,
                 (const dvt_spectra *s, const fftwf_complex *lines, const float *root,
                  const dvt_spectrum_memory *m, double *energy, float *white),
                 (s, lines, root, m, energy, white))

void dvt_spectrum_energies(const dvt_spectra *s, const fftwf_complex *lines, const float *root,
                           const dvt_spectrum_memory *m, double *energy, float *white) {
  energies(s, lines, root, m, energy, white);
  energy[0] = 0;
  for (int64_t k = 0; k < 2 * s->lines / DVT_SPECTRUM_SPACING; k++)
    energy[k + 1] += energy[k];
}

/* ---- ranges ---- */

/* The product x conj(y) weight of `count` lines of a row, and, for places between, the same turned by half a step; 0
 * behind them. */
DVT_CPU_INLINE void multiply(int64_t count, int64_t columns, const fftwf_complex *restrict x,
                             const fftwf_complex *restrict y, const float *restrict weight,
                             const fftwf_complex *restrict half_step, fftwf_complex *restrict whole,
                             fftwf_complex *restrict half) {
  for (int64_t c = 0; c < count; c++) {
    const float re = (x[c][0] * y[c][0] + x[c][1] * y[c][1]) * weight[c],
                im = (x[c][1] * y[c][0] - x[c][0] * y[c][1]) * weight[c];
    whole[c][0] = re;
    whole[c][1] = im;
    half[c][0] = re * half_step[c][0] - im * half_step[c][1];
    half[c][1] = re * half_step[c][1] + im * half_step[c][0];
  }
  memset(whole + count, 0, (size_t)(columns - count) * sizeof *whole);
  memset(half + count, 0, (size_t)(columns - count) * sizeof *half);
}

/* Of rows and columns of a range's places, as far as there are: least[2 c] and least[2 c + 1]. */
DVT_CPU_INLINE void take_least(int64_t count, const fftwf_complex *restrict whole,
                               const fftwf_complex *restrict half, float scale, float *restrict least) {
  for (int64_t c = 0; c < count; c++) {
    const float one = (whole[c][0] * whole[c][0] + whole[c][1] * whole[c][1]) * scale,
                other = (half[c][0] * half[c][0] + half[c][1] * half[c][1]) * scale;
    least[2 * c] = one < least[2 * c] ? one : least[2 * c];
    least[2 * c + 1] = other < least[2 * c + 1] ? other : least[2 * c + 1];
  }
}

/* The range's lines begin + r, begin + r + rows, and so on are a row of it. */
DVT_CPU_INLINE void transform_rows(const dvt_spectra *s, const fftwf_complex *x, const fftwf_complex *y,
                                   const float *weight, const dvt_spectrum_range *range, int64_t first,
                                   const dvt_spectrum_memory *m) {
  const int64_t many = rows_at_once(s), columns = s->range_columns, pitch = columns + PAD;
  fftwf_complex *whole = m->near, *half = m->near + many * columns;
  for (int64_t k = 0; k < many; k++) {
    const int64_t line = range->begin + first + k, at = dvt_spectrum_at(s, line),
                  left = dvt_divide_up(dvt_at_least(range->end - line, 0), s->rows),
                  next = dvt_spectrum_at(s, line + 2);
    for (int64_t j = 0; j < columns; j += 8) {
      __builtin_prefetch(y + next + j);
      __builtin_prefetch(x + next + j);
    }
    multiply(left, columns, x + at, y + at, weight + line / s->rows, s->half_step, whole + k * columns,
             half + k * columns);
  }
  s->fftw->execute_dft(s->range_rows, whole, whole);
  s->fftw->execute_dft(s->range_rows, half, half);
  for (int64_t k = 0; k < many; k++) {
    fftwf_complex *to = m->between + (first + k) * pitch;
    twiddle_row(&s->part[0], first + k, columns, whole + k * columns, to);
    twiddle_row(&s->part[1], first + k, columns, half + k * columns, to + s->rows * pitch);
  }
}

DVT_CPU_INLINE int correlate_inline(const dvt_spectra *s, const fftwf_complex *x, const fftwf_complex *y,
                                    const float *weight, const dvt_spectrum_range *range, float scale,
                                    int64_t count, const dvt_spectrum_memory *m, float *least) {
  const int64_t columns = s->range_columns, pitch = columns + PAD;
  fftwf_complex *whole = m->near, *half = m->near + s->rows * LANES;
  for (int64_t r = 0; r < s->rows; r += rows_at_once(s))
    transform_rows(s, x, y, weight, range, r, m);
  for (int64_t c = 0; c < columns; c += LANES) {
    gather(s->rows, pitch, m->between + c, whole);
    gather(s->rows, pitch, m->between + s->rows * pitch + c, half);
    s->fftw->execute_dft(s->columns_backward, whole, whole);
    s->fftw->execute_dft(s->columns_backward, half, half);
    for (int64_t r = 0; r < s->rows && 2 * (r * columns + c) < count; r++)
      take_least(LANES, whole + r * LANES, half + r * LANES, scale, least + 2 * (r * columns + c));
  }
  return 0;
}

DVT_CPU_DISPATCH(int, correlate, correlate_inline,
                 (const dvt_spectra *s, const fftwf_complex *x, const fftwf_complex *y, const float *weight,
                  const dvt_spectrum_range *range, float scale, int64_t count, const dvt_spectrum_memory *m,
                  float *least),
                 (s, x, y, weight, range, scale, count, m, least))

void dvt_spectrum_correlate(const dvt_spectra *s, const fftwf_complex *x, const fftwf_complex *y,
                            const float *weight, const dvt_spectrum_range *range, float scale, int64_t count,
                            const dvt_spectrum_memory *m, float *least) {
  correlate(s, x, y, weight, range, scale, count, m, least);
}

/* ---- agreement ---- */

/* Columns of a range, LANES of them and as many again. */
typedef struct stretch {
  int64_t first, count;
} stretch;

static stretch stretch_of(const dvt_spectra *s, const dvt_spectrum_range *range) {
  const int64_t first = range->begin / s->rows, last = (range->end - 1) / s->rows;
  return (stretch){first, dvt_divide_up(last + 1 - first, LANES) * LANES};
}

/* The product x conj(y) weight of the range's lines, turned to the place by the rows' part of that, summed up over the
 * rows of each column. */
DVT_CPU_INLINE void sum_columns(const dvt_spectra *s, const fftwf_complex *x, const fftwf_complex *y,
                                const float *weight, const dvt_spectrum_range *range, stretch columns,
                                const fftwf_complex *turns, fftwf_complex *restrict sums) {
  memset(sums, 0, (size_t)columns.count * sizeof *sums);
  for (int64_t r = 0; r < s->rows; r++) {
    const int64_t from = dvt_divide_up(range->begin - r, s->rows),
                  upto = dvt_divide_up(range->end - r, s->rows);
    const fftwf_complex *a = x + r * s->pitch, *b = y + r * s->pitch;
    const float turn_re = turns[r][0], turn_im = turns[r][1];
    fftwf_complex *row = sums + from - columns.first;
    for (int64_t c = from; c < upto; c++) {
      const float re = (a[c][0] * b[c][0] + a[c][1] * b[c][1]) * weight[c],
                  im = (a[c][1] * b[c][0] - a[c][0] * b[c][1]) * weight[c];
      row[c - from][0] += re * turn_re - im * turn_im;
      row[c - from][1] += re * turn_im + im * turn_re;
    }
  }
}

/* e^(pi i k / lines) for a line k of 2 lines. */
static void turn_line(const dvt_spectra *s, int64_t line, fftwf_complex z) {
  const int64_t column = line / s->rows;
  const float *row = s->row_turn[line % s->rows], *turn = s->turn[column % s->columns],
              sign = column < s->columns ? 1 : -1;
  z[0] = sign * (row[1] * turn[0] + row[0] * turn[1]); /* row_turn has a factor of i */
  z[1] = sign * (row[1] * turn[1] - row[0] * turn[0]);
}

/* Turns the sums by the columns' part, to the first lag. */
static void turn_columns(const dvt_spectra *s, int64_t place, stretch columns, fftwf_complex *sums) {
  const int64_t circle = 2 * s->columns, each = place * DVT_SPECTRUM_SPACING % circle;
  for (int64_t k = 0; k < columns.count; k++) {
    const int64_t at = each * (columns.first + k) % circle;
    const float *turn = s->turn[at % s->columns], *lag = s->lag_first[columns.first + k],
                sign = at < s->columns ? 1 : -1, re = sign * (turn[0] * lag[0] - turn[1] * lag[1]),
                im = sign * (turn[0] * lag[1] + turn[1] * lag[0]), a = sums[k][0], b = sums[k][1];
    sums[k][0] = a * re - b * im;
    sums[k][1] = a * im + b * re;
  }
}

/* The real part of the sum of all columns at each lag. */
DVT_CPU_INLINE void sum_lags(const dvt_spectra *s, stretch columns, fftwf_complex *restrict sums,
                             float *values) {
  const fftwf_complex *restrict step = s->lag_step + columns.first;
  for (int lag = 0; lag < LAGS; lag++) {
    float lanes[LANES] = {0};
    for (int64_t c = 0; c < columns.count; c += LANES)
      for (int j = 0; j < LANES; j++) {
        const float a = sums[c + j][0], b = sums[c + j][1], re = step[c + j][0], im = step[c + j][1];
        lanes[j] += a;
        sums[c + j][0] = a * re - b * im;
        sums[c + j][1] = a * im + b * re;
      }
    for (int half = LANES / 2; half > 0; half /= 2)
      for (int j = 0; j < half; j++)
        lanes[j] += lanes[j + half];
    values[lag] = lanes[0];
  }
}

DVT_CPU_INLINE float agreement_inline(const dvt_spectra *s, const fftwf_complex *x, const fftwf_complex *y,
                                      const float *weight, int count, const dvt_spectrum_range *ranges,
                                      int64_t place, const dvt_spectrum_memory *m) {
  fftwf_complex *turns = m->near, *sums = m->near + dvt_divide_up(s->rows, LANES) * LANES;
  float values[LAGS], above[LAGS], below[LAGS], most = 0;
  for (int64_t r = 0; r < s->rows; r++)
    turn_line(s, place * DVT_SPECTRUM_SPACING * r % (2 * s->lines), turns[r]);
  for (int j = 0; j < count; j++) {
    const stretch columns = stretch_of(s, &ranges[j]);
    sum_columns(s, x, y, weight, &ranges[j], columns, turns, sums);
    turn_columns(s, place, columns, sums);
    sum_lags(s, columns, sums, values);
    for (int lag = 0; lag < LAGS; lag++) {
      const float value = values[lag] / (float)ranges[j].energy;
      above[lag] = j == 0 || value < above[lag] ? value : above[lag];
      below[lag] = j == 0 || -value < below[lag] ? -value : below[lag];
    }
  }
  for (int lag = 0; lag < LAGS; lag++) {
    most = above[lag] > most ? above[lag] : most;
    most = below[lag] > most ? below[lag] : most;
  }
  return most;
}

DVT_CPU_DISPATCH(float, agreement, agreement_inline,
                 (const dvt_spectra *s, const fftwf_complex *x, const fftwf_complex *y, const float *weight,
                  int count, const dvt_spectrum_range *ranges, int64_t place, const dvt_spectrum_memory *m),
                 (s, x, y, weight, count, ranges, place, m))

float dvt_spectrum_agreement(const dvt_spectra *s, const fftwf_complex *x, const fftwf_complex *y,
                             const float *weight, int count, const dvt_spectrum_range *ranges, int64_t place,
                             const dvt_spectrum_memory *m) {
  return agreement(s, x, y, weight, count, ranges, place, m);
}
