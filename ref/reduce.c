/* SPDX-License-Identifier: Apache-2.0 */
/* Reduction on the CPU, from left to right: n operations, reads x once. */
#include "ref/ref.h"
#include "src/base/operator.h"

#define DEFINE(OPERATOR, op, TYPE, type)                                                                     \
  static void reduce_##op##_##type(int64_t n, const void *x, void *result) {                                 \
    typedef DVT_C_##type T;                                                                                  \
    T value = n > 0 ? *(const T *)x : (T)DVT_IDENTITY_##op(type);                                            \
    for (int64_t i = 1; i < n; i++)                                                                          \
      value = dvt_##op##_##type(value, ((const T *)x)[i]);                                                   \
    *(T *)result = value;                                                                                    \
  }
DVT_EACH_MONOID(DEFINE)

#define ENTRY(OPERATOR, op, TYPE, type) [OPERATOR][TYPE] = reduce_##op##_##type,
static void (*const table[DAVIT_OPERATOR_COUNT][DAVIT_TYPE_COUNT])(int64_t n, const void *x,
                                                                   void *result) = {DVT_EACH_MONOID(ENTRY)};

void dvt_ref_reduce(davit_operator op, davit_type type, int64_t n, const void *x, void *result) {
  table[op][type](n, x, result);
}
