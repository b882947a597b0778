/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of effects in windows, of the windows as they are and permuted.
 *
 * What devices could compute differently comes from the host: feature vectors have unit length (or are 0),
 * orders are drawn; and similarities are a fixed sequence of fused operations (ref/similarity.h). So scores
 * are the same bits everywhere. */
#ifndef DAVIT_OFFLOAD_DETECT_H
#define DAVIT_OFFLOAD_DETECT_H

#include <davit/detect.h>

#include "offload/runtime/launch.h"
#include "src/base/operation.h"

/* An effect's frames among those of all effects. */
typedef struct dvt_detect_range {
  int64_t first, frames;
} dvt_detect_range;

/* Windows of one length that lie `hop` frames apart; pointers are host memory but for `transposed`. */
typedef struct dvt_detect_task {
  int width;
  int64_t windows, window, hop;
  const float *stream; /* of the first window: unit vectors, frame after frame */
  int effect_count;
  const dvt_detect_range *effects;
  const float *features; /* of all effects: unit vectors, frame after frame */
  const float
      *transposed; /* the same in the device's memory, each effect feature after feature; NULL on the CPU */
  int64_t runs;    /* 1 + permutations */
  const uint16_t *orders; /* runs x window; order 0 is the identity */
  float threshold, gap_open, gap_extend;
  bool round;
  float *scores;   /* runs for each effect for each window: scores[(w effect_count + e) runs + r] */
  int64_t threads; /* of a GPU's team, where there is work for many; 0: davit's own choice */
} dvt_detect_task;

static inline int64_t dvt_detect_longest(const dvt_detect_task *t) {
  int64_t longest = 0;
  for (int e = 0; e < t->effect_count; e++)
    longest = t->effects[e].frames > longest ? t->effects[e].frames : longest;
  return longest;
}

/* Whether the scores of an effect of so many frames fit signed 16-bit words: similarities and gaps are
 * integers, and no score is larger. */
bool dvt_detect_fits(const dvt_detect_task *task, int64_t frames);

/* The forms of the operation; the arguments are a dvt_detect_task. All wait for the scores. The stream form
 * leaves effects whose profile no team's memory can hold to regions. */
davit_status dvt_detect_host(const dvt_site *site, const void *task);
davit_status dvt_detect_stream(const dvt_site *site, const void *task);
davit_status dvt_detect_region(const dvt_site *site, const void *task);

/* What the kernel for an effect of so many frames takes of the stream's device. */
davit_status dvt_detect_fit(dvt_stream *stream, const dvt_detect_task *task, int64_t frames,
                            dvt_kernel_fit *fit);

/* Where the best alignments with effect e lie in windows first … first + count - 1, count <=
 * DVT_DETECT_TRACED: frames [begin, end) of each, from its own first. On the calling thread; `memory`, at a
 * multiple of 64, has dvt_detect_trace_bytes(). */
enum { DVT_DETECT_TRACED = 16 };
size_t dvt_detect_trace_bytes(const dvt_detect_task *task);
size_t dvt_detect_score_bytes(const dvt_detect_task *task); /* of a thread of dvt_detect_host() */
void dvt_detect_trace(const dvt_detect_task *task, int e, int64_t first, int64_t count, void *memory,
                      int64_t *begin, int64_t *end);

/* What lies in a device's memory during a task: the windows' frames, the orders, all scores, profiles for
 * kernels, similarities and states for regions. */
typedef struct dvt_detect_memory {
  float *x, *scores, *similarity, *state;
  uint16_t *orders;
  char *profiles;
  size_t bytes;
} dvt_detect_memory;

/* How they lie in `memory`, which is NULL if only the bytes are wanted. profile_bytes is 0 without kernels;
 * `regions`: regions compute some effect. */
dvt_detect_memory dvt_detect_lay_out(const dvt_detect_task *task, size_t profile_bytes, bool regions,
                                     char *memory);
size_t dvt_detect_frames_bytes(const dvt_detect_task *task);
size_t dvt_detect_orders_bytes(const dvt_detect_task *task);
size_t dvt_detect_scores_bytes(const dvt_detect_task *task);

/* Scores effect e by plain target regions, with all else in place. */
void dvt_detect_score(int device, const dvt_detect_task *task, int e, const dvt_detect_memory *m);

#endif
