/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of BLAS' four element types, on the host and in target regions. TYPE stands for float, double,
 * complex_float and complex_double.
 *
 *   TYPE_times(a, b)           a b; a complex one by four multiplications, with infinities as in BLAS, not as in C
 *   TYPE_add(sum, a, b)        sum + a b, in one expression, so that the compiler may fuse it
 *   TYPE_conjugate(a, wanted)  a, conjugated if wanted
 *   TYPE_over(a, b)            a / b; a complex one by Smith's method, which does not overflow on the way
 *   TYPE_make(real, imaginary) of the two parts; regions get the parts, as numbers of 8 bytes or less are passed to
 *                              them by value
 *   TYPE_of(value)             a scalar of ref/blas.h in the type
 *   TYPE_real(a)               the real part, as a T
 *   TYPE_real_part(a), TYPE_imaginary_part(a)   as a float or double */
#ifndef DAVIT_OFFLOAD_COMPLEX_H
#define DAVIT_OFFLOAD_COMPLEX_H

#include <stdbool.h>

#define DVT_REAL_ARITHMETIC(T)                                                                               \
  static inline T T##_times(T a, T b) {                                                                      \
    return a * b;                                                                                            \
  }                                                                                                          \
  static inline T T##_add(T sum, T a, T b) {                                                                 \
    return sum + a * b;                                                                                      \
  }                                                                                                          \
  static inline T T##_over(T a, T b) {                                                                       \
    return a / b;                                                                                            \
  }                                                                                                          \
  static inline T T##_conjugate(T a, bool wanted) {                                                          \
    (void)wanted;                                                                                            \
    return a;                                                                                                \
  }                                                                                                          \
  static inline T T##_make(T real, T imaginary) {                                                            \
    (void)imaginary;                                                                                         \
    return real;                                                                                             \
  }                                                                                                          \
  static inline T T##_real(T a) {                                                                            \
    return a;                                                                                                \
  }                                                                                                          \
  static inline T T##_real_part(T a) {                                                                       \
    return a;                                                                                                \
  }                                                                                                          \
  static inline T T##_imaginary_part(T a) {                                                                  \
    (void)a;                                                                                                 \
    return 0;                                                                                                \
  }                                                                                                          \
  static inline T T##_of(double _Complex value) {                                                            \
    return (T) __real__ value;                                                                               \
  }
DVT_REAL_ARITHMETIC(float)
DVT_REAL_ARITHMETIC(double)
#undef DVT_REAL_ARITHMETIC

#define DVT_COMPLEX_ARITHMETIC(T)                                                                            \
  static inline T _Complex complex_##T##_make(T real, T imaginary) {                                         \
    T _Complex made;                                                                                         \
    __real__ made = real;                                                                                    \
    __imag__ made = imaginary;                                                                               \
    return made;                                                                                             \
  }                                                                                                          \
  static inline T _Complex complex_##T##_times(T _Complex a, T _Complex b) {                                 \
    return complex_##T##_make(__real__ a * __real__ b - __imag__ a * __imag__ b,                             \
                              __real__ a * __imag__ b + __imag__ a * __real__ b);                            \
  }                                                                                                          \
  static inline T _Complex complex_##T##_add(T _Complex sum, T _Complex a, T _Complex b) {                   \
    return complex_##T##_make(__real__ sum + __real__ a * __real__ b - __imag__ a * __imag__ b,              \
                              __imag__ sum + __real__ a * __imag__ b + __imag__ a * __real__ b);             \
  }                                                                                                          \
  static inline T _Complex complex_##T##_over(T _Complex a, T _Complex b) {                                  \
    const T c = __real__ b, d = __imag__ b;                                                                  \
    if ((c < 0 ? -c : c) >= (d < 0 ? -d : d)) {                                                              \
      const T ratio = d / c, length = c + d * ratio;                                                         \
      return complex_##T##_make((__real__ a + __imag__ a * ratio) / length,                                  \
                                (__imag__ a - __real__ a * ratio) / length);                                 \
    }                                                                                                        \
    const T ratio = c / d, length = c * ratio + d;                                                           \
    return complex_##T##_make((__real__ a * ratio + __imag__ a) / length,                                    \
                              (__imag__ a * ratio - __real__ a) / length);                                   \
  }                                                                                                          \
  static inline T _Complex complex_##T##_conjugate(T _Complex a, bool wanted) {                              \
    return complex_##T##_make(__real__ a, wanted ? -__imag__ a : __imag__ a);                                \
  }                                                                                                          \
  static inline T _Complex complex_##T##_real(T _Complex a) {                                                \
    return complex_##T##_make(__real__ a, 0);                                                                \
  }                                                                                                          \
  static inline T complex_##T##_real_part(T _Complex a) {                                                    \
    return __real__ a;                                                                                       \
  }                                                                                                          \
  static inline T complex_##T##_imaginary_part(T _Complex a) {                                               \
    return __imag__ a;                                                                                       \
  }                                                                                                          \
  static inline T _Complex complex_##T##_of(double _Complex value) {                                         \
    return complex_##T##_make((T) __real__ value, (T) __imag__ value);                                       \
  }
DVT_COMPLEX_ARITHMETIC(float)
DVT_COMPLEX_ARITHMETIC(double)
#undef DVT_COMPLEX_ARITHMETIC

/* The instance of a function of offload/each_blas.inc for a type. */
#define DVT_BY_TYPE(type, name)                                                                              \
  ((type) == DAVIT_DOUBLE           ? double_##name                                                          \
   : (type) == DAVIT_FLOAT          ? float_##name                                                           \
   : (type) == DAVIT_COMPLEX_DOUBLE ? complex_double_##name                                                  \
                                    : complex_float_##name)

#endif
