/* SPDX-License-Identifier: Apache-2.0 */
/* 3 × 3 stencil on a device: reads a once, writes b once, 17 flops an element.
 *
 * Invariant: every way computes the same bits. An element is the sum of nine terms in the order of the
 * coefficients, a product and eight fused additions (ref/stencil.h).
 *
 * stencil_kernel.inc has the kernels for GPUs, stencil_host.inc the CPU's way. */
#include "offload/stencil.h"

#include <stdbool.h>
#include <string.h>

#include "offload/kernel/gpu.h"
#include "offload/kernel/instance.h"
#include "offload/kernel/threads.h"
#include "offload/runtime/launch.h"
#include "ref/stencil.h"
#include "src/base/arithmetic.h"
#include "src/base/cpu.h"
#include "src/base/error.h"

enum {
  /* Threads of a team, which is only a number of warps launched together, and columns of b of a team:
   * measured on an H200. `davit tune` may have found others. */
  THREADS = 128,
  MOST_THREADS = 512,
  COLUMNS = 8,
  /* CPU */
  LINE = 64,
  BLOCK = 1 << 14,      /* rows */
  AHEAD_BYTES = 2 << 10 /* of what is prefetched */
};

/* Of the rows (or columns) of a rectangle: those of b that are no border, and those of a that may be read. */
typedef struct extent {
  int64_t first, end, first_read, end_read;
} extent;

static inline extent extent_of(int64_t length, bool low_border, bool high_border) {
  return (extent){low_border, high_border ? length - 1 : length, low_border ? 0 : -1,
                  high_border ? length : length + 1};
}

#define TILE 4
#include "offload/each_stencil.inc"
#define TILE 8
#include "offload/each_stencil.inc"
#define TILE 16
#include "offload/each_stencil.inc"

#define EACH "offload/stencil_host.inc"
#include "offload/each_floating.inc"

/* The kernels for tiles of one width: of float and double, for narrow and wide rows. */
typedef struct variant {
  int columns;
  dvt_kernel *kernel[2][2];
  davit_status (*run[2][2])(const dvt_site *site, const dvt_stencil *s, int threads);
} variant;

#define VARIANT(n)                                                                                           \
  {                                                                                                          \
    n,                                                                                                       \
        {{&float_kernel_narrow_##n, &float_kernel_wide_##n},                                                 \
         {&double_kernel_narrow_##n, &double_kernel_wide_##n}},                                              \
    {                                                                                                        \
      {float_run_narrow_##n, float_run_wide_##n}, {                                                          \
        double_run_narrow_##n, double_run_wide_##n                                                           \
      }                                                                                                      \
    }                                                                                                        \
  }
static const variant variants[] = {VARIANT(4), VARIANT(8), VARIANT(16)};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* The widest tiles that are no wider than wanted. */
static const variant *variant_of(const dvt_stencil *s) {
  const int64_t wanted = s->columns > 0 ? s->columns : COLUMNS;
  int best = 0;
  while (best + 1 < VARIANTS && variants[best + 1].columns <= wanted)
    best++;
  return &variants[best];
}

static int threads_of(const dvt_stencil *s) {
  return s->threads > 0 ? (int)dvt_at_least(dvt_at_most(s->threads, MOST_THREADS) / 32, 1) * 32 : THREADS;
}

/* Rows of 16 bytes need columns of both matrices that begin at multiples of 16 bytes. */
static bool is_wide(const dvt_stencil *s) {
  const uintptr_t element = davit_type_bytes(s->type);
  return ((uintptr_t)s->a | (uintptr_t)s->b | (uintptr_t)s->lda * element | (uintptr_t)s->ldb * element) %
             16 ==
         0;
}

/* Tuned threads may be more than the registers of this device, or of this type's kernel, allow. */
static int fitting_threads(const dvt_site *site, const dvt_stencil *s) {
  int threads = threads_of(s), residents;
  dvt_kernel *kernel = variant_of(s)->kernel[s->type == DAVIT_DOUBLE][is_wide(s)];
  while (threads > THREADS &&
         dvt_launch_residents(kernel, site->stream, threads, 0, &residents) != DAVIT_SUCCESS) {
    threads = (int)dvt_at_least(threads / 64, THREADS / 32) * 32;
    dvt_error_clear();
  }
  return threads;
}

davit_status dvt_stencil_device(const dvt_site *site, const void *stencil) {
  const dvt_stencil *s = stencil;
  /* A region has as many threads as its text says. */
  const int threads = site->stream ? fitting_threads(site, s) : MOST_THREADS;
  return variant_of(s)->run[s->type == DAVIT_DOUBLE][is_wide(s)](site, s, threads);
}

davit_status dvt_stencil_fit(dvt_stream *stream, const dvt_stencil *s, dvt_kernel_fit *fit) {
  return dvt_launch_fit_of(variant_of(s)->kernel[s->type == DAVIT_DOUBLE][is_wide(s)], stream, threads_of(s),
                           0, fit);
}

davit_status dvt_stencil_host(const dvt_site *site, const void *stencil) {
  const dvt_stencil *s = stencil;
  (s->type == DAVIT_DOUBLE ? double_stencil_host : float_stencil_host)(s, site->threads);
  return DAVIT_SUCCESS;
}
