/* All kernels of detection, and the regions that launch them. */
#ifndef DAVIT_OFFLOAD_DETECT_KERNELS_H
#define DAVIT_OFFLOAD_DETECT_KERNELS_H

#include "offload/align_pair.h"
#include "offload/profile.h"
#include "ref/similarity.h"

enum { DETECT_THREADS = 256, DETECT_ROWS = 4 /* of a profile, made by one thread */ };

/* ---- profiles ---- */

/* How the profiles of a launch lie: `lanes` chunks of `chunk` bytes a row. */
typedef struct detect_profile {
  int64_t features, window, hop, frames, columns, lanes, chunk;
  float threshold;
  bool bytes, rounded;
} detect_profile;

#ifdef DVT_GPU
/* DETECT_ROWS rows of one column: x are the unit vectors of the window's frames, y those of the effect, transposed. */
DVT_INLINE void detect_make_cells(const detect_profile *p, const float *x, const float *y, int64_t i,
                                  int64_t j, char *row) {
  float cosine[DETECT_ROWS] = {0};
  if (j < p->frames)
    for (int64_t k = 0; k < p->features; k++) {
      const float of_effect = y[k * p->frames + j];
#pragma unroll
      for (int r = 0; r < DETECT_ROWS; r++) {
        const int64_t frame = i + r < p->window ? i + r : p->window - 1;
        cosine[r] = __builtin_fmaf(x[frame * p->features + k], of_effect, cosine[r]);
      }
    }
#pragma unroll
  for (int r = 0; r < DETECT_ROWS; r++) {
    const bool inside = i + r < p->window && j < p->frames;
    const float s = inside ? dvt_similarity_of(cosine[r], p->threshold, p->rounded) : 0;
    char *to = row + r * p->lanes * p->chunk + dvt_profile_place(j, p->columns, p->chunk, p->bytes);
    if (i + r <= p->window) {
      if (p->bytes)
        *to = (char)(int8_t)s;
      else
        *(float *)(void *)to = s;
    }
  }
}

DVT_INLINE void detect_make_profiles(const float *x, const float *y, char *profiles, int64_t features,
                                     int64_t window, int64_t hop, int64_t windows, int64_t frames,
                                     int64_t columns, int64_t lanes, int64_t chunk, int64_t bytes,
                                     int64_t rounded, double threshold, int64_t threads) {
  const detect_profile p = {features, window,           hop,   frames, columns, lanes,
                            chunk,    (float)threshold, bytes, rounded};
  const int64_t width = lanes * columns, blocks = (window + DETECT_ROWS) / DETECT_ROWS, pitch = lanes * chunk;
  for (int64_t at = dvt_team() * threads + dvt_thread(); at < windows * blocks * width;
       at += dvt_teams() * threads) {
    const int64_t j = at % width, i = at / width % blocks * DETECT_ROWS, w = at / width / blocks;
    detect_make_cells(&p, x + w * hop * features, y, i, j, profiles + (w * (window + 1) + i) * pitch);
  }
}
#define PROFILES detect_make_profiles
#else
#define PROFILES no_body
#endif

#ifndef DVT_EMULATED
__attribute__((used)) static void detect_profiles_region(int device, int teams, const float *x,
                                                         const float *y, char *profiles, int64_t features,
                                                         int64_t window, int64_t hop, int64_t windows,
                                                         int64_t frames, int64_t columns, int64_t lanes,
                                                         int64_t chunk, int64_t bytes, int64_t rounded,
                                                         double threshold, int64_t threads) {
#pragma omp target teams ompx_bare num_teams(teams) thread_limit(DETECT_THREADS) device(device)              \
    is_device_ptr(x, y, profiles)
  {
    PROFILES(x, y, profiles, features, window, hop, windows, frames, columns, lanes, chunk, bytes, rounded,
             threshold, threads);
  }
}
#endif
#undef PROFILES

/* ---- scores ---- */

#define DVT_SYMBOL uint16_t

#define DVT_KERNEL "offload/detect_kernel.h"
#define DVT_KIND pair
#define DVT_PAIRED
#include "offload/each_shape.h"

#define DVT_KERNEL "offload/detect_kernel.h"
#define DVT_KIND float
#define DVT_WORD float
#define DVT_FLOATS
#include "offload/each_shape.h"

#undef DVT_SYMBOL

#endif
