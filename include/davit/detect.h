/* Effects in a stream: short sequences of feature vectors, searched in a long one by alignment, with their
 * significance.
 *
 * The stream is cut into windows of `window` frames, one every `hop` frames; the last is the first that reaches the
 * end, and is shorter if the end cuts it. In each window each effect is aligned: two frames are as similar as 100
 * times the cosine of the angle between their feature vectors (0 where one of them is all 0), rounded to the nearest
 * integer if `round` is set; what is less than `threshold` becomes -threshold; the first frame of a gap costs 100 +
 * gap_penalty and each further one gap_penalty.
 *
 * The score is compared with the scores of the same window with its frames in random order, in blocks of `block`
 * frames that stay together, as neighbouring frames of any sound are alike: permutation r = 1 … permutations, drawn
 * from Philox4x32-10 with key `seed` and counter r, so all windows of one length, all effects and all devices use the
 * same. p_value is (1 + the number of permutations that score no less) / (permutations + 1). An effect is detected
 * where p_value is at most alpha and the score at least `coverage` of what the effect scores against itself, 100 for
 * each of its frames, and more than 0: docs/detect.md shows what either rule is for.
 *
 * The same inputs give the same bits on every device. Source: docs/detect.md; affine gaps after O. Gotoh (1982), rank
 * p-values after B. Phipson and G. Smyth, Permutation P-values Should Never Be Zero (2010). Cost: windows x effects x
 * (permutations + 1) x window x effect frames cells. Thread safety: any thread. */
#ifndef DAVIT_DETECT_H
#define DAVIT_DETECT_H

#include <davit/device.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  DAVIT_DETECT_WINDOW_MAXIMUM = 65535, /* frames */
  DAVIT_DETECT_PERMUTATIONS_MAXIMUM = 1000000,
  DAVIT_DETECT_GAP_PENALTY_MAXIMUM = 10000
};

typedef struct davit_detect_options {
  int64_t window;       /* frames, 1 … 65535 */
  int64_t hop;          /* frames, 1 … window; 0: as window */
  double threshold;     /* 0 … 100 */
  double gap_penalty;   /* more than 0, at most 10^4 */
  int64_t permutations; /* 1 … 10^6 */
  int64_t block;        /* frames, 1 … 65535; of blocks no shorter than the window there is one */
  bool round;
  double alpha;    /* 0 … 1 */
  double coverage; /* 0 … 1 */
  uint64_t seed;
} davit_detect_options;

/* 200, 0, 50, 33, 100, 3, false, 0.01, 0.3, 0. */
DAVIT_API davit_detect_options davit_detect_defaults(void);

/* frames x width features, frame after frame, host memory. */
typedef struct davit_effect {
  int64_t frames; /* 1 … window */
  const float *features;
} davit_effect;

/* What was found of one effect in one window. */
typedef struct davit_detection {
  int64_t window;
  int effect;
  /* The stream's frames [onset, offset) of the best alignment, of several the one that ends first; both the window's
   * first frame where the score is 0. */
  int64_t onset, offset;
  double score;
  double null_mean, null_sd; /* of the permutations' scores; sd with divisor permutations - 1, 0 for one */
  double z; /* (score - null_mean) / null_sd; 0 where both are 0, infinite where null_sd alone is */
  double p_value;
  bool detected;
} davit_detection;

/* Windows of a stream of so many frames; 0 if options are invalid. options NULL: the defaults. */
DAVIT_API int64_t davit_detect_windows(int64_t frames, const davit_detect_options *options);

/* Looks for `effect_count` effects in a stream of `frames` frames of `width` features (host memory), on devices (NULL
 * and 0: davit_device_defaults()). detections has davit_detect_windows() times effect_count elements, window after
 * window. A feature that is not finite is DAVIT_INVALID_ARGUMENT, and the sentence names its place. */
DAVIT_API davit_status davit_detect(int width, int64_t frames, const float *stream, int effect_count,
                                    const davit_effect *effects, const davit_detect_options *options,
                                    const int *devices, int device_count, davit_detection *detections);

/* Permutation r of a window of n frames, 1 <= n <= 65535, in blocks of 1 <= block <= 65535: order[i] is the frame
 * that comes i-th. r = 0 is the window as it is. */
DAVIT_API davit_status davit_detect_permutation(uint64_t seed, int64_t r, int64_t n, int64_t block,
                                                uint16_t *order);

#ifdef __cplusplus
}
#endif
#endif
