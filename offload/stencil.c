/* SPDX-License-Identifier: Apache-2.0 */
/* 3 × 3 stencil on a device: reads a once, writes b once, 17 flops an element.
 *
 * Invariant: every way computes the same bits. An element is the sum of nine terms in the order of the
 * coefficients, a product and eight fused additions (ref/stencil.h).
 *
 * stencil_kernel.inc has the kernels for GPUs, stencil_cpu.inc the CPU's way. */
#include "offload/stencil.h"

#include <omp.h>
#include <stdbool.h>
#include <string.h>

#include "offload/kernel/gpu.h"
#include "offload/kernel/instance.h"
#include "offload/runtime/launch.h"
#include "ref/stencil.h"
#include "src/base/arithmetic.h"
#include "src/base/cpu.h"

enum {
  TEAM = 128, /* threads of a team, which is only a number of warps launched together */
  TILE = 8,   /* columns of b of a team */
  /* CPU */
  ABREAST = 6, /* columns */
  LINE = 64,
  BLOCK = 1 << 14, /* rows */
  BYPASS_BYTES = 4 << 20
};

/* Of the rows (or columns) of a rectangle: those of b that are no border, and those of a that may be read. */
typedef struct extent {
  int64_t first, end, first_read, end_read;
} extent;

static inline extent extent_of(int64_t length, bool low_border, bool high_border) {
  return (extent){low_border, high_border ? length - 1 : length, low_border ? 0 : -1,
                  high_border ? length : length + 1};
}

#define NAME(x) DVT_PASTE(TYPE, _##x, _wide)
#define WIDE (16 / (int)sizeof(T))
#define EACH "offload/stencil_kernel.inc"
#include "offload/each_floating.inc"
#undef WIDE

#define NAME(x) DVT_PASTE(TYPE, _##x, _narrow)
#define WIDE 1
#define EACH "offload/stencil_kernel.inc"
#include "offload/each_floating.inc"
#undef WIDE

#define EACH "offload/stencil_cpu.inc"
#include "offload/each_floating.inc"

/* Wide rows need columns of both matrices that begin at multiples of 16 bytes. */
static bool is_wide(const dvt_stencil *s) {
  const uintptr_t element = davit_type_bytes(s->type);
  return ((uintptr_t)s->a | (uintptr_t)s->b | (uintptr_t)s->lda * element | (uintptr_t)s->ldb * element) %
             16 ==
         0;
}

davit_status dvt_stencil_stream(const dvt_site *site, const void *stencil) {
  static davit_status (*const launches[2][2])(dvt_stream *, const dvt_stencil *) = {
      {float_launch_narrow, float_launch_wide}, {double_launch_narrow, double_launch_wide}};
  const dvt_stencil *s = stencil;
  return launches[s->type == DAVIT_DOUBLE][is_wide(s)](site->stream, s);
}

davit_status dvt_stencil_region(const dvt_site *site, const void *stencil) {
  static void (*const regions[2][2])(int, const dvt_stencil *) = {
      {float_stencil_narrow, float_stencil_wide}, {double_stencil_narrow, double_stencil_wide}};
  const dvt_stencil *s = stencil;
  regions[s->type == DAVIT_DOUBLE][is_wide(s)](site->device, s);
  return DAVIT_SUCCESS;
}

davit_status dvt_stencil_host(const dvt_site *site, const void *stencil) {
  const dvt_stencil *s = stencil;
  (s->type == DAVIT_DOUBLE ? double_stencil_host : float_stencil_host)(s, site->threads);
  return DAVIT_SUCCESS;
}
