/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of local alignment (cell.inc) of scalars, for the reference and plain target regions. Scores of
 * symbols are integers: gaps stay at 0 or more, so that no penalty, however large, overflows. Scores of
 * frames are floats. */
#ifndef DAVIT_REF_CELL_H
#define DAVIT_REF_CELL_H

#include <stdint.h>

static inline int32_t dvt_int_larger(int32_t a, int32_t b) {
  return a > b ? a : b;
}

static inline float dvt_float_larger(float a, float b) {
  return a > b ? a : b;
}

#define T int32_t
#define NAME(x) dvt_int_##x
#define LARGER(a, b) dvt_int_larger(a, b)
#define OPENED(h, open) dvt_int_larger((h) - (open), 0)
#include "ref/cell.inc"
#undef T
#undef NAME

#define T float
#define NAME(x) dvt_float_##x
#define LARGER(a, b) dvt_float_larger(a, b)
#define MATCHED(x) dvt_float_larger(x, 0)
#define STEP int32_t
#define WHERE(condition) (-(condition))
#define NOTE uint8_t
#define NOTED(step) ((uint8_t)(step))
#include "ref/cell.inc"
#undef T
#undef NAME

#endif
