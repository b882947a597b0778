/* SPDX-License-Identifier: Apache-2.0 */
/* Features of sound by the definition: in double, each line a sum over all samples, n^2 of them a frame. */
#include <stdlib.h>

#include "ref/bands.h"
#include "ref/ref.h"
#include "src/base/allocate.h"

enum { COSINE, SINE, WINDOW, WINDOWED, TABLES };

/* Tables of one turn, and the samples of a frame under the window; `n` doubles each. */
static double fill_tables(int64_t n, double *tables) {
  double squares = 0;
  for (int64_t i = 0; i < n; i++) {
    const double angle = 6.283185307179586 * (double)i / (double)n, w = dvt_hamming(i, n);
    tables[COSINE * n + i] = cos(angle);
    tables[SINE * n + i] = sin(angle);
    tables[WINDOW * n + i] = w;
    squares += w * w;
  }
  return squares;
}

static double line_square(int64_t line, int64_t n, const double *tables) {
  const double *x = tables + WINDOWED * n;
  double re = 0, im = 0;
  for (int64_t i = 0, turn = 0; i < n; i++, turn = (turn + line) % n) {
    re += x[i] * tables[COSINE * n + turn];
    im -= x[i] * tables[SINE * n + turn];
  }
  return re * re + im * im;
}

static void fill_bands(const davit_features_options *o, const float *samples, double squares, double *tables,
                       float *bands) {
  const int64_t n = o->frame;
  const dvt_band_edges edges = dvt_band_edges_for(o->rate);
  double sums[DAVIT_FEATURES_BANDS] = {0};
  for (int64_t i = 0; i < n; i++)
    tables[WINDOWED * n + i] = (double)samples[i] * tables[WINDOW * n + i];
  for (int64_t line = 0; line <= n / 2; line++) {
    const double power = line_square(line, n, tables) * dvt_line_weight(line, n, squares);
    for (int b = 0; b < DAVIT_FEATURES_BANDS; b++)
      sums[b] +=
          power * dvt_band_share(line, o, edges.at[b], edges.at[b + 1], edges.at[DAVIT_FEATURES_BANDS]);
  }
  for (int b = 0; b < DAVIT_FEATURES_BANDS; b++)
    bands[b] = (float)sums[b];
}

davit_status dvt_ref_features(int64_t count, const float *samples, const davit_features_options *options,
                              float *features) {
  const int64_t n = options->frame, frames = count / n;
  double *tables = dvt_allocate((size_t)n, TABLES * sizeof *tables);
  if (!tables)
    return DAVIT_OUT_OF_HOST_MEMORY;
  const double squares = fill_tables(n, tables);
  for (int64_t f = 0; f < frames; f++)
    fill_bands(options, samples + f * n, squares, tables, features + f * DAVIT_FEATURES_WIDTH);
  for (int64_t f = 0; f < frames; f++)
    for (int b = 0; b < DAVIT_FEATURES_BANDS; b++) {
      float *here = features + f * DAVIT_FEATURES_WIDTH + b;
      here[DAVIT_FEATURES_BANDS] = f + 1 < frames ? DVT_CHANGE * (here[DAVIT_FEATURES_WIDTH] - here[0]) : 0;
    }
  free(tables);
  return DAVIT_SUCCESS;
}
