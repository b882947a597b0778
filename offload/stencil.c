/* SPDX-License-Identifier: Apache-2.0 */
/* 3 × 3 stencil on a device: reads a once, writes b once, 17 flops an element.
 *
 * Invariant: every way computes the same bits. An element is the sum of nine terms in the order of the
 * coefficients, a product and eight fused additions (ref/stencil.h).
 *
 * stencil_kernel.inc has the kernels for GPUs, stencil_host.inc the CPU's way. */
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
  LINE = 64,
  BLOCK = 1 << 14 /* rows */
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

#define EACH "offload/stencil_host.inc"
#include "offload/each_floating.inc"

davit_status dvt_stencil_device(const dvt_site *site, const void *stencil) {
  static davit_status (*const runs[2][2])(const dvt_site *, const dvt_stencil *) = {
      {float_run_narrow, float_run_wide}, {double_run_narrow, double_run_wide}};
  const dvt_stencil *s = stencil;
  const uintptr_t element = davit_type_bytes(s->type);
  /* The kernels for wide rows need columns of both matrices that begin at multiples of 16 bytes. */
  const bool wide =
      ((uintptr_t)s->a | (uintptr_t)s->b | (uintptr_t)s->lda * element | (uintptr_t)s->ldb * element) % 16 ==
      0;
  return runs[s->type == DAVIT_DOUBLE][wide](site, s);
}

davit_status dvt_stencil_host(const dvt_site *site, const void *stencil) {
  const dvt_stencil *s = stencil;
  (s->type == DAVIT_DOUBLE ? double_stencil_host : float_stencil_host)(s, site->threads);
  return DAVIT_SUCCESS;
}
