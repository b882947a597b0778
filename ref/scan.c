/* Scan and segmented scan on the CPU, from left to right: n operations, reads x (and flags) once and writes y once. */
#include <stdbool.h>

#include "ref/operator.h"
#include "ref/ref.h"

/* y may be x: element i is read before it is written. */
#define DEFINE(OPERATOR, op, TYPE, type, T)                                                                  \
  static void scan_##op##_##type(bool exclusive, int64_t n, const void *x, const uint8_t *flags, void *y) {  \
    const T identity = (T)DVT_REF_IDENTITY_##op(type);                                                       \
    T sum = identity;                                                                                        \
    for (int64_t i = 0; i < n; i++) {                                                                        \
      const bool head = i == 0 || (flags && flags[i]);                                                       \
      const T element = ((const T *)x)[i], before = head ? identity : sum;                                   \
      sum = head ? element : dvt_ref_##op##_##type(sum, element);                                            \
      ((T *)y)[i] = exclusive ? before : sum;                                                                \
    }                                                                                                        \
  }
DVT_REF_EACH_OPERATOR(DEFINE)

#define ENTRY(OPERATOR, op, TYPE, type, T) [OPERATOR][TYPE] = scan_##op##_##type,
static void (*const table[DAVIT_OPERATOR_COUNT][DAVIT_TYPE_COUNT])(bool exclusive, int64_t n, const void *x,
                                                                   const uint8_t *flags,
                                                                   void *y) = {DVT_REF_EACH_OPERATOR(ENTRY)};

void dvt_ref_scan(davit_operator op, davit_type type, davit_scan_kind kind, int64_t n, const void *x,
                  const uint8_t *flags, void *y) {
  table[op][type](kind == DAVIT_SCAN_EXCLUSIVE, n, x, flags, y);
}
