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

#define NAME(x) DVT_PASTE(LETTER, x, _wide)
#define WIDE (16 / (int)sizeof(T))
#define EACH "offload/stencil_kernel.inc"
#include "offload/each_floating.inc"
#undef WIDE

#define NAME(x) DVT_PASTE(LETTER, x, _narrow)
#define WIDE 1
#define EACH "offload/stencil_kernel.inc"
#include "offload/each_floating.inc"
#undef WIDE

#define EACH "offload/stencil_cpu.inc"
#include "offload/each_floating.inc"

typedef struct form {
  davit_status (*launch)(dvt_stream *stream, const dvt_stencil *s);
  void (*region)(int device, const dvt_stencil *s);
} form;

/* Wide rows need columns of both matrices that begin at multiples of 16 bytes. */
static form form_of(const dvt_stencil *s) {
  static const form forms[2][2] = {{{slaunch_narrow, sstencil_narrow}, {slaunch_wide, sstencil_wide}},
                                   {{dlaunch_narrow, dstencil_narrow}, {dlaunch_wide, dstencil_wide}}};
  const uintptr_t element = davit_type_bytes(s->type), bits = (uintptr_t)s->a | (uintptr_t)s->b |
                                                              (uintptr_t)s->lda * element |
                                                              (uintptr_t)s->ldb * element;
  return forms[s->type == DAVIT_DOUBLE][bits % 16 == 0];
}

davit_status dvt_stream_stencil(dvt_stream *stream, const dvt_stencil *s) {
  return form_of(s).launch(stream, s);
}

davit_status dvt_target_stencil(int device, const dvt_stencil *s) {
  form_of(s).region(device, s);
  return DAVIT_SUCCESS;
}

void dvt_cpu_stencil(const dvt_stencil *s, int threads) {
  (s->type == DAVIT_DOUBLE ? dstencil_cpu : sstencil_cpu)(s, threads);
}
