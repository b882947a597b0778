/* SPDX-License-Identifier: Apache-2.0 */
/* The small programs of the source's introduction to GPUs: vector addition, a picture, matrix products, a sum
 * of two scalars, atomics from compare-and-swap, copies and kernels in two streams, and one array laid out in
 * several ways.
 *
 * Pointers are memory of the device (host memory for the CPU and host-offload devices). GPUs run target
 * regions, one block of threads after another on the CPU otherwise; calls return when all is done. They are
 * here to be studied. */
#ifndef DAVIT_STUDY_CLOSEST_BACKGROUND_H
#define DAVIT_STUDY_CLOSEST_BACKGROUND_H

#include <davit/queue.h>

#include "bench/study/closest/point.h"

/* ---- shapes of a grid ---- */

enum { STUDY_MOST_THREADS = 1024 }; /* of a block */

typedef struct study_shape {
  int64_t blocks;
  int threads; /* of a block */
} study_shape;

/* ceil(n / threads) blocks. */
study_shape study_shape_for(int64_t n, int threads);

/* Threads that have no element. */
int64_t study_shape_idle(study_shape shape, int64_t n);

/* Blocks of side × side threads that cover a picture, in x and in y. */
void study_shape_2d(int64_t width, int64_t height, int side, int64_t *across, int64_t *down);

/* ---- kernels ---- */

/* c = a + b. DAVIT_INVALID_ARGUMENT for a shape that no device runs (dimGrid and dimBlock in each other's
 * places, as the source has them three times) or that has fewer threads than n. */
davit_status study_vector_add(int device, study_shape shape, int64_t n, const float *a, const float *b,
                              float *c);

/* out = 2 in for a picture of width × height, row-major, by blocks of side × side threads (8, 16 or 32). */
davit_status study_picture(int device, int side, int64_t width, int64_t height, const float *in, float *out);

/* C = A B of n × n, row-major; tiled: 16 × 16 tiles of A and B pass through shared memory. */
davit_status study_square_product(int device, bool tiled, int64_t n, const float *a, const float *b,
                                  float *c);

/* Arithmetic operations for each access to global memory in the product's inner loop: 1 and 16. */
double study_square_product_ratio(bool tiled);

/* *c = a + b, c on the device. */
davit_status study_scalar_add(int device, int32_t a, int32_t b, int32_t *c);

/* ---- atomics ---- */

/* *at = value if *at is `compare`. Returns the old value. */
STUDY_INLINE uint32_t study_cas(uint32_t *at, uint32_t compare, uint32_t value) {
  (void)__atomic_compare_exchange_n(at, &compare, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return compare;
}

STUDY_INLINE uint32_t study_bits(float value) {
  uint32_t word;
  __builtin_memcpy(&word, &value, sizeof word);
  return word;
}

STUDY_INLINE float study_float(uint32_t word) {
  float value;
  __builtin_memcpy(&value, &word, sizeof value);
  return value;
}

/* One attempt of the minimum below: true when *at is no greater than value. *assumed is the last value read
 * from *at. The attempt fails if *at has changed since, and updates *assumed. */
STUDY_INLINE bool study_atomic_min_try(uint32_t *at, float value, uint32_t *assumed) {
  if (!(value < study_float(*assumed)))
    return true;
  uint32_t old = study_cas(at, *assumed, study_bits(value));
  bool done = old == *assumed;
  *assumed = old;
  return done;
}

/* The word at `at` holds a float: it becomes the smaller one of that and value. */
STUDY_INLINE void study_atomic_min(uint32_t *at, float value) {
  uint32_t assumed = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (!study_atomic_min_try(at, value, &assumed))
    continue;
}

/* *minimum, the bits of a float, becomes the minimum of itself and x[0 … n), every thread with an atomic of
 * its own. */
davit_status study_atomic_minimum(int device, int64_t n, const float *x, uint32_t *minimum);

/* ---- layouts ---- */

typedef enum study_layout {
  STUDY_AOS,        /* r g b r g b …: 3 bytes a pixel */
  STUDY_AOS_PADDED, /* r g b - r g b - …: one access of 4 bytes a pixel */
  STUDY_SOA,        /* all r, all g, all b */
  STUDY_LAYOUTS
} study_layout;

/* Bytes of n pixels, and the place of channel 0 … 2 of pixel i. */
int64_t study_pixels_bytes(study_layout layout, int64_t n);
int64_t study_pixel_at(study_layout layout, int64_t n, int64_t i, int channel);

/* out[i] = (r + g + b) / 3, which needs all channels, or r alone. */
davit_status study_grey(int device, study_layout layout, int64_t n, const uint8_t *pixels, uint8_t *out);
davit_status study_red(int device, study_layout layout, int64_t n, const uint8_t *pixels, uint8_t *out);

/* out[i] = |x| + |y| of point i: points side by side, or all x and then all y. */
davit_status study_norms(int device, bool soa, int64_t n, const float *points, float *out);

/* ---- unified memory ---- */

/* Memory that the host and the device reach under one address, and that moves to whoever uses it; the OpenMP
 * runtime's (CUDA: managed memory). NULL where there is none. It is not memory of davit. */
void *study_unified_memory(int device, size_t bytes);
void study_unified_free(int device, void *memory);

/* ---- streams: copy in, kernel, copy out, of halves in two sub-queues ---- */

typedef struct study_streams {
  davit_queue *queue; /* with at least two sub-queues */
  bool breadth_first; /* both copies in, both kernels, both copies out; else one half after the other */
  int64_t n;
  const int32_t *input; /* host memory, pinned for copies that overlap */
  int32_t *output;
  int32_t *device_input, *device_output;
} study_streams;

/* What the kernel (100 blocks of 512 threads) makes of an element. */
STUDY_INLINE int32_t study_streams_kernel(int32_t x) {
  return (int32_t)(3u * (uint32_t)x + 1u);
}

/* elapsed_ms: from an event before the first command to one behind the last. Other sub-queues may be in use
 * meanwhile. */
davit_status study_streams_run(const study_streams *s, double *elapsed_ms);

#endif
