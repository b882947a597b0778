/* Features of sound: the MPEG-7 audio spectrum envelope of each frame, and how it changes.
 *
 * The samples are cut into frames of `frame` samples without overlap; what is left at the end is dropped. Of each frame, under a
 * Hamming window, the power spectrum is summed over 31 bands: below 62.5 Hz, and from there to 11025 Hz by quarter octaves (the
 * last one is narrower, and ends at rate / 2 where that is less). So there are 31 values, and 31 more are their
 * change: 0.375 times the next frame's value less this one's, 0 in the last frame.
 *
 * Source: ISO/IEC 15938-4, AudioSpectrumEnvelope; the parameters and the change are those of docs/features.md. Thread safety: any
 * thread. */
#ifndef DAVIT_FEATURES_H
#define DAVIT_FEATURES_H

#include <davit/device.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DAVIT_BANDS = 31, DAVIT_FEATURES = 2 * DAVIT_BANDS };

/* Where the power of a spectral line goes whose interval, half a line spacing to either side, crosses the edge of a band. */
typedef enum davit_binning {
  DAVIT_BINNING_SHARED, /* to each band in proportion to the overlap (the standard's rule) */
  DAVIT_BINNING_HARD    /* to the band in which the line itself lies */
} davit_binning;

typedef struct davit_features_options {
  double rate;   /* samples a second, more than 0 */
  int64_t frame; /* samples, 2 … 2^24 */
  davit_binning binning;
} davit_features_options;

/* 22050 Hz, 1024 samples, shared. */
DAVIT_API davit_features_options davit_features_defaults(void);

/* Features of the samples, mono, of which there are `count`: (count / options->frame) x DAVIT_FEATURES, frame after frame: first
 * the bands, then their changes. options NULL: the defaults. A sample that is not finite, or beyond +-2^63, whose square is no
 * float, is DAVIT_INVALID_ARGUMENT, and the sentence names it. Host memory; on the host's threads. */
DAVIT_API davit_status davit_features(int64_t count, const float *samples,
                                      const davit_features_options *options, float *features);

#ifdef __cplusplus
}
#endif
#endif
