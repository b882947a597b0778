/* SPDX-License-Identifier: Apache-2.0 */
/* Features of sound: the MPEG-7 audio spectrum envelope of each frame, and how it changes.
 *
 * The samples are cut into frames of `frame` samples without overlap; an incomplete frame at the end is
 * dropped. For each frame, under a Hamming window, the power spectrum is summed over 31 bands: one below 62.5
 * Hz, then quarter octaves up to 11025 Hz (the last one is narrower, and ends at rate / 2 where that is
 * less). These are 31 values. 31 more are their change: 0.375 times (the next frame's value - this frame's
 * value), 0 in the last frame.
 *
 * Source: ISO/IEC 15938-4, AudioSpectrumEnvelope; docs/features.md has the parameters. Cost: one real transform of
 * `frame` samples for each frame. Thread safety: any thread. */
#ifndef DAVIT_FEATURES_H
#define DAVIT_FEATURES_H

#include <davit/device.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  DAVIT_FEATURES_BANDS = 31,
  DAVIT_FEATURES_WIDTH = 2 * DAVIT_FEATURES_BANDS, /* features of a frame */
  DAVIT_FEATURES_RATE = 22050,                     /* the default rate */
  DAVIT_FEATURES_FRAME = 1024,                     /* the default frame */
  DAVIT_FEATURES_FRAME_MAXIMUM = 1 << 24
};

/* A spectral line stands for the interval of half a line spacing to either side. Where it crosses the edge of
 * a band, its power goes … */
typedef enum davit_features_binning {
  DAVIT_FEATURES_BINNING_SHARED, /* to each band in proportion to the overlap (the standard's rule) */
  DAVIT_FEATURES_BINNING_HARD    /* to the band in which the line itself lies */
} davit_features_binning;

typedef struct davit_features_options {
  double rate;   /* samples per second, more than 0; 0: DAVIT_FEATURES_RATE */
  int64_t frame; /* samples, 2 to DAVIT_FEATURES_FRAME_MAXIMUM; 0: DAVIT_FEATURES_FRAME */
  davit_features_binning binning;
  uint64_t reserved[4]; /* 0 */
} davit_features_options;

/* Computes the features of `count` samples of one channel: features[(count / frame) * DAVIT_FEATURES_WIDTH], frame
 * after frame, first the bands, then their changes. Host memory; runs on the host's threads. If a sample is not finite,
 * or beyond ±2^63, so that its square does not fit into a float, the call returns DAVIT_INVALID_ARGUMENT, and the
 * sentence names the sample. */
DAVIT_API davit_status davit_features(int64_t count, const float *samples, float *features,
                                      const davit_features_options *options);

#ifdef __cplusplus
}
#endif
#endif
