/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of powers, compared after whitening: the vectors that take the place of unit vectors where
 * options->bands is not 0. The reference and the library share these steps, so that both decide alike.
 *
 * P: the power of a band in a frame of the stream, G: its mean over the stream.
 *
 *   stream   x = (P / G + 0.1)^(1/4) - m, where m is the mean of the first term over the stream
 *   effect   y = (g P / G + m^4)^(1/4) - m: the effect in the stream's usual sound. g makes the mean of g P / G
 *            over the bands of the effect's loudest frame 10; it is 1 in the stream's mean frame.
 *
 * To both their changes from frame to frame are appended, 0 in the last frame. x gets unit length. y gets the
 * length w = min(1, |y| / r), where r is the root mean square of |y| over the effect. So a band that is always
 * loud says no more than a quiet one, and frames of the effect that the stream drowns weigh little.
 *
 * All on the host, in double precision, in one order of operations. */
#ifndef DAVIT_REF_DETECT_WHITE_H
#define DAVIT_REF_DETECT_WHITE_H

#include <stdbool.h>
#include <stdint.h>

/* A stream's usual sound. */
typedef struct dvt_detect_white {
  int bands, width; /* of frames of features; vectors have 2 bands, and 0 up to the width */
  double *gain;     /* 1 / G of each band; 0 for one that is always 0 */
  double *centre;   /* m */
} dvt_detect_white;

/* A negative power counts as 0. False: out of memory. */
bool dvt_detect_white_make(int width, int bands, int64_t frames, const float *features,
                           dvt_detect_white *white);
void dvt_detect_white_free(dvt_detect_white *white);

/* Writes the vectors of the frames [begin, end) of the stream's `frames` ones. False: out of memory. */
bool dvt_detect_white_frames(const dvt_detect_white *white, int64_t frames, const float *features,
                             int64_t begin, int64_t end, float *vectors);

/* Writes the vectors of an effect, and returns the effect's score against itself: 100 for each frame of full
 * length. */
double dvt_detect_white_effect(const dvt_detect_white *white, int64_t frames, const float *features,
                               float *vectors);

#endif
