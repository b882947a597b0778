/* SPDX-License-Identifier: Apache-2.0 */
/* The definition of the features of sound, short of the transform: window, bands, what a spectral line is
 * worth and where its power goes. docs/features.md says why so.
 *
 * Line k of a frame of n samples lies at k rate / n and stands for the interval half a spacing to either side
 * of it, as far as that is in [0, rate / 2]. So the intervals cover that range once, and no power is lost
 * below the last edge. */
#ifndef DAVIT_REF_BANDS_H
#define DAVIT_REF_BANDS_H

#include <davit/features.h>
#include <math.h>

/* What the difference of two frames is multiplied with. */
#define DVT_CHANGE 0.375f

/* Band b is [edges[b], edges[b + 1]), the last with both ends; empty bands have equal edges. */
typedef struct dvt_band_edges {
  double at[DAVIT_FEATURES_BANDS + 1];
} dvt_band_edges;

static inline dvt_band_edges dvt_band_edges_for(double rate) {
  dvt_band_edges edges = {{0}};
  for (int b = 1; b <= DAVIT_FEATURES_BANDS; b++)
    edges.at[b] = fmin(b < DAVIT_FEATURES_BANDS ? 62.5 * exp2(0.25 * (b - 1)) : 11025, rate / 2);
  return edges;
}

/* Hamming's window. */
static inline double dvt_hamming(int64_t i, int64_t n) {
  return 0.54 - 0.46 * cos(6.283185307179586 * (double)i / (double)(n - 1));
}

/* What |X|^2 of a line is multiplied with: all lines together then are the mean square of the samples,
 * weighted by the squared window, whose sum is `squares`. Lines between 0 and rate / 2 stand for their mirror
 * images too. */
static inline double dvt_line_weight(int64_t line, int64_t n, double squares) {
  return (line == 0 || 2 * line == n ? 1 : 2) / ((double)n * squares);
}

/* The share of a line's power that belongs to [low, high), which is the band that ends at `end` if its last
 * one. */
static inline double dvt_band_share(int64_t line, const davit_features_options *o, double low, double high,
                                    double end) {
  const double spacing = o->rate / (double)o->frame, centre = (double)line * o->rate / (double)o->frame;
  if (o->binning == DAVIT_FEATURES_BINNING_HARD)
    return centre >= low && (centre < high || (centre <= end && low < high && high >= end)) ? 1 : 0;
  const double from = fmax(centre - spacing / 2, 0), to = fmin(centre + spacing / 2, o->rate / 2);
  return fmax(fmin(to, high) - fmax(from, low), 0) / (to - from);
}

#endif
