/* SPDX-License-Identifier: Apache-2.0 */
/* Scan and segmented scan on the CPU, from left to right: n operations, reads x (and flags) once and writes y
 * once. */
#include <stdbool.h>

#include "ref/ref.h"
#include "src/base/operator.h"

/* y may be x: element i is read before it is written. */
#define DEFINE(OPERATOR, op, TYPE, type)                                                                     \
  static void scan_##op##_##type(bool exclusive, int64_t n, const void *x, const uint8_t *flags, void *y) {  \
    typedef DVT_C_##type T;                                                                                  \
    const T identity = (T)DVT_IDENTITY_##op(type);                                                           \
    T sum = identity;                                                                                        \
    for (int64_t i = 0; i < n; i++) {                                                                        \
      const bool head = i == 0 || (flags && flags[i]);                                                       \
      const T element = ((const T *)x)[i], before = head ? identity : sum;                                   \
      sum = head ? element : dvt_##op##_##type(sum, element);                                                \
      ((T *)y)[i] = exclusive ? before : sum;                                                                \
    }                                                                                                        \
  }
DVT_EACH_MONOID(DEFINE)

typedef void scan(bool exclusive, int64_t n, const void *x, const uint8_t *flags, void *y);
#define ENTRY(OPERATOR, op, TYPE, type) [OPERATOR][TYPE] = scan_##op##_##type,
static scan *const table[DAVIT_OPERATOR_COUNT][DAVIT_TYPE_COUNT] = {DVT_EACH_MONOID(ENTRY)};

void dvt_ref_scan(davit_operator op, davit_type type, davit_scan_kind kind, int64_t n, const void *x,
                  const uint8_t *flags, void *y) {
  table[op][type](kind == DAVIT_SCAN_EXCLUSIVE, n, x, flags, y);
}
