/* Scores of effects in windows, of the windows as they are and permuted: what a device does for detection.
 *
 * Everything that devices could see differently has been settled on the host: feature vectors have unit
 * length (or are 0), orders are drawn, and similarities are a fixed sequence of fused operations
 * (ref/similarity.h). So scores are the same bits everywhere. */
#ifndef DAVIT_OFFLOAD_DETECT_H
#define DAVIT_OFFLOAD_DETECT_H

#include <davit/detect.h>
#include <stddef.h>

#include "offload/runtime/stream.h"

/* An effect; `features` are unit vectors, frame after frame. */
typedef struct dvt_detect_effect {
  int64_t frames;
  const float *features;
  const float *transposed; /* width x frames: feature after feature */
} dvt_detect_effect;

/* Windows of one length that lie `hop` frames apart; all pointers are host memory. */
typedef struct dvt_detect_task {
  int width;
  int64_t windows, window, hop;
  const float *stream; /* of the first window: unit vectors, frame after frame */
  int effect_count;
  const dvt_detect_effect *effects;
  int64_t runs;           /* 1 + permutations */
  const uint16_t *orders; /* runs x window; order 0 is the identity */
  float threshold, gap_open, gap_extend;
  bool round;
  float *scores; /* runs for each effect for each window: scores[(w effect_count + e) runs + r] */
} dvt_detect_task;

static inline int64_t dvt_detect_longest(const dvt_detect_task *t) {
  int64_t most = 0;
  for (int e = 0; e < t->effect_count; e++)
    most = t->effects[e].frames > most ? t->effects[e].frames : most;
  return most;
}

/* Whether the scores of an effect fit signed 16-bit words: similarities and gaps are integers, and no score
 * is larger. */
bool dvt_detect_fits(const dvt_detect_task *task, int64_t effect);

/* On the CPU with so many threads. */
davit_status dvt_detect_cpu(const dvt_detect_task *task, int threads);

/* Where the best alignments with effect e lie in windows first … first + count - 1, count <=
 * DVT_DETECT_TRACED: frames [begin, end) of each, from its own first. On the calling thread; `memory`, at a
 * multiple of 64, has dvt_detect_trace_bytes(). */
enum { DVT_DETECT_TRACED = 16 };
size_t dvt_detect_trace_bytes(const dvt_detect_task *task);
void dvt_detect_trace(const dvt_detect_task *task, int e, int64_t first, int64_t count, void *memory,
                      int64_t *begin, int64_t *end);

/* On an NVIDIA device, if dvt_detect_streams(): its team memory holds the profiles of some effect. The others
 * go to dvt_detect_target(). Returns when it is done. `memory` is the device's, of dvt_detect_stream_bytes().
 * Task memory that is pinned is copied without a detour. */
bool dvt_detect_streams(dvt_stream *stream, const dvt_detect_task *task);
size_t dvt_detect_stream_bytes(dvt_stream *stream, const dvt_detect_task *task);
davit_status dvt_detect_stream(dvt_stream *stream, int device, const dvt_detect_task *task, void *memory);

/* Effects begin … end - 1 on any device, by plain target regions; returns when it is done. */
davit_status dvt_detect_target(int device, const dvt_detect_task *task, int begin, int end);

#endif
