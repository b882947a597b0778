/* SPDX-License-Identifier: Apache-2.0 */
/* Detection of effects in a stream: short sequences of feature vectors are found in a long one by alignment, with their
 * significance.
 *
 * The stream is cut into windows of `window` frames, one every `hop` frames. The last window is the first that reaches
 * the end of the stream, and may be shorter. In each window each effect is aligned. Two frames score 100 times the
 * cosine of the angle between their feature vectors (0 if one of them is all 0), rounded to the nearest integer if
 * `round` is set; a score below `threshold` becomes -threshold. The first frame of a gap costs 100 + gap_penalty, each
 * further frame gap_penalty.
 *
 * The alignment's score is compared with the scores of the same window with its frames in random order. Blocks of
 * `block` frames stay together, because neighbouring frames of any sound are similar. Permutation r = 1 … permutations
 * comes from Philox4x32-10 with key `seed` and counter r, so all windows of one length, all effects and all devices use
 * the same permutations. p_value is (1 + the number of permutations that score at least as much) / (permutations + 1).
 * An effect is reported as detected if p_value is at most alpha, and its score is above 0 and at least `coverage` times
 * the effect's score against itself. That score is 100 for each frame of the effect that is not below effect_floor_db
 * (without that floor for each frame, silent ones included). docs/detect.md explains both rules.
 *
 * With DAVIT_DETECT_NULL_STREAM the score is compared with the scores of windows drawn from the stream instead; each
 * effect has its own null distribution. A drawn window is made of blocks of neighbouring frames, four times as long as
 * the effect, from random places of the stream. Alignments that stand out from the rest of the stream are left out
 * before, because they may be the effect. Draw r = 1 … permutations has counter r as well. Frames whose level is
 * `floor_db` below the mean of the stream match nothing, nor do frames of an effect that are `effect_floor_db` below
 * the effect's mean. The level of a frame is the length of its feature vector, which is a power for davit_features().
 *
 * With `bands` above 0 the first `bands` features of a frame are powers, as from davit_features(), and as many features
 * after them are their changes. Then davit compares what is unusual in the stream: bands are whitened by their mean
 * powers over the stream, and a frame of the effect is weighted by how far it stands out from the stream's usual sound,
 * at most 1. An effect's score against itself is 100 times the sum of these weights.
 *
 * Copies: if samples are available, davit_detect_correlate() compares them, and davit_detect_copies() adds the exact
 * copies of effects to the result of davit_detect(). Copies may be quieter than the sound around them.
 *
 * The same inputs give the same bits on every device. Source: docs/detect.md; affine gaps after O. Gotoh (1982),
 * p-values after B. Phipson and G. Smyth, Permutation P-values Should Never Be Zero (2010). Cost: windows x effects x
 * (permutations + 1) x window x frames of the effect cells. Thread safety: any thread, several threads on one detector
 * as well. */
#ifndef DAVIT_DETECT_H
#define DAVIT_DETECT_H

#include <davit/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a score is compared with. */
typedef enum davit_detect_null {
  DAVIT_DETECT_NULL_WINDOW, /* the window itself with its frames in random order */
  DAVIT_DETECT_NULL_STREAM  /* windows drawn from the stream */
} davit_detect_null;

/* Stands for 0 in options whose 0 means another value. */
#define DAVIT_DETECT_ZERO (-1.0)

enum {
  DAVIT_DETECT_WINDOW_MAXIMUM = 65535, /* frames */
  DAVIT_DETECT_PERMUTATIONS_MAXIMUM = 1000000,
  DAVIT_DETECT_GAP_PENALTY_MAXIMUM = 10000,
  DAVIT_DETECT_CLIP_MAXIMUM = 1 << 24 /* samples */
};

typedef struct davit_detect_options {
  int64_t window;       /* frames, 1 to DAVIT_DETECT_WINDOW_MAXIMUM; 0: 200 */
  int64_t hop;          /* frames, 1 to window; 0: window */
  double threshold;     /* above 0, at most 100; 0: 50, 30 with bands; DAVIT_DETECT_ZERO: 0 */
  double gap_penalty;   /* above 0, at most DAVIT_DETECT_GAP_PENALTY_MAXIMUM; 0: 33 */
  int64_t permutations; /* 1 to DAVIT_DETECT_PERMUTATIONS_MAXIMUM; 0: 100, 999 with NULL_STREAM */
  int64_t block;   /* frames, 1 to DAVIT_DETECT_WINDOW_MAXIMUM, the window is one block if longer; 0: 3 */
  double alpha;    /* above 0, at most 1; 0: 0.01; DAVIT_DETECT_ZERO: 0 */
  double coverage; /* above 0, at most 1; 0: 0.3, 0.2 with bands; DAVIT_DETECT_ZERO: 0 */
  uint64_t seed;
  davit_detect_null null;
  /* 0 and more, INFINITY: no floor; 0: 40 and 25 with NULL_STREAM, else INFINITY; DAVIT_DETECT_ZERO: 0 */
  double floor_db, effect_floor_db;
  const int *devices;   /* device numbers, DAVIT_HOST allowed; NULL: davit_device_defaults() */
  int device_count;     /* 0 with devices = NULL */
  bool round;           /* similarities to whole numbers */
  int64_t bands;        /* of powers, 2 bands at most the width; 0: features are compared as they are */
  uint64_t reserved[3]; /* 0 */
} davit_detect_options;

/* Writes the options that {0} stands for. hop stays 0, which stands for `window`. */
DAVIT_API davit_status davit_detect_defaults(davit_detect_options *options);

/* Features of `frames` frames, frame after frame, host memory. */
typedef struct davit_detect_effect {
  int64_t frames; /* 1 to window */
  const float *features;
} davit_detect_effect;

/* One effect in one window. */
typedef struct davit_detect_hit {
  int64_t window;
  int effect;
  /* The stream's frames [onset, offset) of the best alignment, of several the one that ends first; both the
   * window's first frame if the score is 0. */
  int64_t onset, offset;
  double score;
  double null_mean, null_sd; /* of the permutations' scores; sd with divisor permutations - 1, 0 for one */
  double z;                  /* (score - null_mean) / null_sd; 0 if both are 0, infinite if only null_sd is */
  double p_value;
  double level_db;    /* mean level of the frames [onset, offset) over the stream's; 0 if there are none */
  double correlation; /* of a copy, from davit_detect_copies(), above 0; else 0 */
  bool detected;
} davit_detect_hit;

/* Effects prepared for searching, in the memory of the devices, with the options of the search. */
typedef struct davit_detector davit_detector;

/* Prepares `effect_count` effects with `width` features in each frame. The effects may be freed after the call. options
 * may be NULL. A feature that is not finite is DAVIT_INVALID_ARGUMENT, and the sentence names its place. */
DAVIT_API davit_status davit_detector_create(int width, int effect_count, const davit_detect_effect *effects,
                                             davit_detector **detector, const davit_detect_options *options);

/* NULL is no error. */
DAVIT_API davit_status davit_detector_destroy(davit_detector *detector);

/* Searches the effects in a stream of `frames` frames (host memory, all features finite) on the detector's devices.
 * Fills detections[windows * effect_count], window after window. */
DAVIT_API davit_status davit_detect(const davit_detector *detector, int64_t frames, const float *stream,
                                    davit_detect_hit *detections);

/* The samples of an effect. An effect with count 0 is not compared. */
typedef struct davit_detect_clip {
  int64_t count; /* at most DAVIT_DETECT_CLIP_MAXIMUM */
  const float *samples;
} davit_detect_clip;

/* Compares the samples of a stream with those of effects, at each place of the stream: 0 is not alike at all, 1 is an
 * exact copy, which may be louder or quieter or inverted. A place is the sample of the stream at which the clip begins.
 * peaks[clip_count * frames], one clip after the other, get the highest value of the places in each frame of `frame`
 * samples, where frames = count / frame. If the stream ends before the clip, the value is multiplied by the square root
 * of the fraction of the clip that is in the stream.
 *
 * Both sounds are whitened in blocks by the stream's spectrum. The value is the smallest normalized cross-correlation
 * in four frequency ranges, each with a quarter of the clip's energy, so a tone that is in both sounds is no copy. From
 * 0.076, 14.3 n^-0.5 and 100 n^-0.7 on, for clips of n samples, all four must also have the same sign at one sample:
 * this holds for copies, but not for other sounds with the same tones. Host memory; runs on the host's threads, by FFTW
 * in single precision. Cost: for each clip, four transforms of an eighth of the length, for about as many samples of
 * the stream. A sample that is not finite, or above 2^31, is DAVIT_INVALID_ARGUMENT. */
DAVIT_API davit_status davit_detect_correlate(int64_t frame, int64_t count, const float *stream,
                                              int clip_count, const davit_detect_clip *clips, float *peaks);

/* The result of davit_detect_correlate() for an effect. */
typedef struct davit_detect_peaks {
  int64_t frames;     /* of the clip, 1 and more; 0: the effect is not compared */
  int64_t samples;    /* of the clip, 1 and more */
  const float *peaks; /* one for each frame of the stream */
} davit_detect_peaks;

/* Finds copies; call it after davit_detect() with the same stream and options, and with peaks[effect_count]. A window's
 * peak is the highest peak of the frames at which an effect can begin so that it ends in the window, in the last window
 * of all frames up to the end of the stream. If it stands out from the peaks of the rest of the stream (docs/detect.md
 * has the rule), the window has a copy of the effect: onset, offset, level_db and correlation become those of the copy,
 * p_value becomes 1 / (permutations + 1), and `detected` says whether that is at most alpha. As this is a second test,
 * the p_value of other windows grows by as much, and they are no longer detected if it exceeds alpha. */
DAVIT_API davit_status davit_detect_copies(int width, int64_t frames, const float *stream, int effect_count,
                                           const davit_detect_peaks *peaks, davit_detect_hit *detections,
                                           const davit_detect_options *options);

/* Number of windows of a stream of `frames` frames. */
DAVIT_API davit_status davit_detect_windows(int64_t frames, int64_t *windows,
                                            const davit_detect_options *options);

/* Permutation r of a window of n frames in blocks of `block` frames, both 1 to DAVIT_DETECT_WINDOW_MAXIMUM:
 * order[i] is the frame that comes i-th. r = 0 is the window as it is. */
DAVIT_API davit_status davit_detect_permutation(uint64_t seed, int64_t r, int64_t n, int64_t block,
                                                uint16_t *order);

#ifdef __cplusplus
}
#endif
#endif
