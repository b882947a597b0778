/* SPDX-License-Identifier: Apache-2.0 */
/* Effects in a sound track by alignment, with the scores of permuted windows: the source's programs,
 * corrected. They are here to be studied and measured; the library's own detection is <davit/detect.h>.
 *
 * A movie is cut into windows of `window` frames. For each window and each effect (a pattern of frames) a
 * program makes the similarity matrix D, aligns the two (SW), and aligns them again for every permutation of
 * the window's frames, through an index array: nothing is moved. A frame is a vector of features, D is
 * ref/similarity.h, a gap costs 100 + penalty for its first frame and penalty for each further one.
 *
 *   SERIAL  one core, full matrices: D, and the alignment's H, E and F
 *   CPU     one row of H and F as V2, 16 permutations side by side, all cores: the peer of a GPU
 *   V1      a device thread for each (window, effect): D, then 1 + permutations alignments, full matrices
 *   V2      as V1 with E in a scalar and one row of H and F; each value of D is read once
 *   V3      a team for each (window, effect): thread 0 has the real alignment, thread r permutation r, each
 *           with matrices of its own, D too
 *   V4A     as V1, the matrices from the device's heap, by the thread itself
 *   V4B     as V1, the matrices in memory that the host allocated, one thread's after another's
 *   V5      a team as V3's, D in its shared memory a tile of columns at a time; every alignment goes through
 *           a tile, then the next; H and E of the border are kept
 *
 * Invariant: all of them give the same bits on every device, from either source of random numbers. Alignments
 * add, subtract and compare floats in one order; D's sums are fused explicitly.
 *
 * Matrices have a row for each frame of the window and a column for each one of the pattern, and row and
 * column 0, which are 0 and stay in their place. Frames beyond the last whole window are left out. */
#ifndef DAVIT_STUDY_ALIGN_ALIGN_H
#define DAVIT_STUDY_ALIGN_ALIGN_H

#include <davit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum study_align_program {
  STUDY_ALIGN_SERIAL,
  STUDY_ALIGN_CPU,
  STUDY_ALIGN_V1,
  STUDY_ALIGN_V2,
  STUDY_ALIGN_V3,
  STUDY_ALIGN_V4A,
  STUDY_ALIGN_V4B,
  STUDY_ALIGN_V5,
  STUDY_ALIGN_PROGRAMS
} study_align_program;

/* Where permutations are drawn: on the host, before the launch, one set for all; or by each thread on the
 * device, when it needs one. */
typedef enum study_align_random { STUDY_ALIGN_BY_HOST, STUDY_ALIGN_BY_DEVICE } study_align_random;

/* Element k of the matrices of thread t lies at t size + k, or at k threads + t, as in the local memory of
 * GPU threads. */
typedef enum study_align_layout {
  STUDY_ALIGN_NATURAL, /* INTERLEAVED on GPUs, APART elsewhere; V4A and V4B are always APART */
  STUDY_ALIGN_APART,
  STUDY_ALIGN_INTERLEAVED
} study_align_layout;

typedef struct study_align {
  study_align_program program;
  study_align_random random; /* SERIAL and CPU: no difference */
  study_align_layout layout;
  int64_t window;      /* frames, 1 … 65535 */
  float threshold;     /* 0 … 100 */
  float penalty;       /* 0 or more; rounded scores are whole if it is */
  bool rounded;        /* similarities are rounded, as in the source's text but not in its code */
  int permutations;    /* 0 … 10^6 */
  uint64_t seed;       /* permutation r of ref/permutation.h */
  int threads;         /* CPU: 0 for all */
  int tile_columns;    /* V5: 0 for 55, or as many as a tile has room for */
  size_t memory_bytes; /* maximum for the matrices of a launch; 0: half of a GPU's free memory, else 64 MiB */
  size_t heap_bytes;   /* V4A: maximum that a thread may ask the heap for; 0: any */
} study_align;

/* V1 as the source has it: windows of 200, gaps of 133 and 33, 100 permutations by the device, not rounded;
 * threshold 50, which the source does not give. */
study_align study_align_defaults(void);

typedef struct study_effect {
  int64_t frames; /* at least 1; also more than a window */
  const float *features;
} study_effect;

/* Features frame after frame, `width` for each, all finite. */
typedef struct study_align_input {
  int width;
  int64_t frames;
  const float *movie;
  int effect_count;
  const study_effect *effects;
} study_align_input;

/* Milliseconds. total: unit vectors, permutations of the host, copies both ways, launches; allocations not. */
typedef struct study_align_times {
  double prepare_ms, transfer_ms, kernel_ms, total_ms;
  int64_t launches;
} study_align_times;

/* Whole windows. */
int64_t study_align_windows(int64_t frames, int64_t window);

/* Cells of all alignments. */
double study_align_cells(const study_align *a, const study_align_input *input);

/* scores[(w effect_count + e)(permutations + 1) + r]: window w, effect e, permutation r, 0 for the window as
 * it is. times: NULL allowed. SERIAL and CPU run on the host whatever the device. Errors:
 * DAVIT_INVALID_ARGUMENT names the member; DAVIT_OUT_OF_DEVICE_MEMORY, for V4A of the heap as well;
 * DAVIT_UNSUPPORTED: V5's window has more rows than a tile. */
davit_status study_align_run(const study_align *a, int device, const study_align_input *input, float *scores,
                             study_align_times *times);

#endif
