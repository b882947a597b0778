/* Temporary: every window on the host, one after the other. */
#include "ref/detect.h"
#include "ref/permutation.h"
#include "ref/ref.h"

davit_detect_options davit_detect_defaults(void) {
  return (davit_detect_options){.window = 200,
                                .threshold = 50,
                                .gap_penalty = 33,
                                .permutations = 100,
                                .block = 3,
                                .alpha = 0.01,
                                .coverage = 0.3};
}

int64_t davit_detect_windows(int64_t frames, const davit_detect_options *options) {
  const davit_detect_options defaults = davit_detect_defaults();
  return dvt_detect_windows(frames, options ? options : &defaults);
}

davit_status davit_detect(int width, int64_t frames, const float *stream, int effect_count,
                          const davit_effect *effects, const davit_detect_options *options,
                          const int *devices, int device_count, davit_detection *detections) {
  const davit_detect_options defaults = davit_detect_defaults();
  (void)devices;
  (void)device_count;
  return dvt_ref_detect(width, frames, stream, effect_count, effects, options ? options : &defaults,
                        detections);
}

davit_status davit_detect_permutation(uint64_t seed, int64_t r, int64_t n, int64_t block, uint16_t *order) {
  dvt_block_permutation(seed, (uint64_t)r, (int)n, (int)block, order);
  return DAVIT_SUCCESS;
}
