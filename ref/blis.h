/* SPDX-License-Identifier: Apache-2.0 */
/* BLIS's typed functions by element type: their prototypes differ in the types behind pointers alone. */
#ifndef DAVIT_REF_BLIS_H
#define DAVIT_REF_BLIS_H

#include <blis.h>

#define DVT_BLIS(type, name, ...)                                                                            \
  ((type) == DAVIT_DOUBLE           ? bli_d##name(__VA_ARGS__)                                               \
   : (type) == DAVIT_FLOAT          ? bli_s##name(__VA_ARGS__)                                               \
   : (type) == DAVIT_COMPLEX_DOUBLE ? bli_z##name(__VA_ARGS__)                                               \
                                    : bli_c##name(__VA_ARGS__))

/* What BLIS calls an element type. */
static inline num_t dvt_blis_type(davit_type type) {
  return type == DAVIT_DOUBLE           ? BLIS_DOUBLE
         : type == DAVIT_FLOAT          ? BLIS_FLOAT
         : type == DAVIT_COMPLEX_DOUBLE ? BLIS_DCOMPLEX
                                        : BLIS_SCOMPLEX;
}

#endif
