/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/searches.h"

float uniform(uint64_t *state) {
  return (float)(next_random(state) >> 40) * 0x1p-24f;
}

float *random_frames(uint64_t seed, int width, int64_t frames) {
  float *x = kept((size_t)(frames * width) * sizeof *x);
  for (int64_t i = 0; i < frames * width; i++)
    x[i] = uniform(&seed) - 0.3f;
  return x;
}

float *axes(int width, int count, const int *order, float scale) {
  float *x = kept_zeros((size_t)(count * width) * sizeof *x);
  for (int k = 0; k < count; k++)
    x[k * width + order[k]] = scale;
  return x;
}

int64_t windows_of(int64_t frames, const davit_detect_options *options) {
  int64_t windows = -1;
  CHECK(davit_detect_windows(frames, &windows, options));
  return windows;
}

davit_status detect(const search *s, const int *devices, int count, davit_detect_hit *detections) {
  davit_detect_options o = s->o;
  o.devices = count ? devices : NULL;
  o.device_count = count;
  davit_detector *detector = NULL;
  davit_status status = davit_detector_create(s->width, s->count, s->effects, &detector, &o);
  if (status == DAVIT_SUCCESS)
    status = davit_detect(detector, s->frames, s->stream, detections);
  davit_status end = davit_detector_destroy(detector);
  return status == DAVIT_SUCCESS ? end : status;
}

davit_detect_hit *detections_on(const search *s, const int *devices, int count) {
  const int64_t hits = windows_of(s->frames, &s->o) * s->count;
  davit_detect_hit *d = kept((size_t)(hits + 1) * sizeof *d);
  const davit_detect_hit guard = d[hits];
  CHECK(detect(s, devices, count, d));
  assert_memory_equal(&guard, &d[hits], sizeof guard);
  return d;
}

davit_detect_hit *on_host(const search *s) {
  return detections_on(s, &(int){DAVIT_HOST}, 1);
}

float *powers(uint64_t seed, int bands, int64_t frames) {
  float *x = kept_zeros((size_t)(frames * 2 * bands) * sizeof *x);
  for (int64_t i = 0; i < frames; i++)
    for (int k = 0; k < bands; k++)
      x[i * 2 * bands + k] = powf(uniform(&seed), 6) * (float)(1 + k % 3);
  return x;
}

void copy_frames(int width, float *stream, int64_t at, const float *sound, int64_t frames) {
  memcpy(stream + at * width, sound, (size_t)(frames * width) * sizeof *stream);
}
