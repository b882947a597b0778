/* SPDX-License-Identifier: Apache-2.0 */
/* Covariance on the CPU: plain loops, each element of S one sum divided at the end. */

#include "ref/ref.h"

#define DEFINE(p, T)                                                                                         \
  void dvt_ref_##p##covariance(char trans, int64_t rows, int64_t cols, const T *d, int64_t ldd,              \
                               double mean_divisor, double divisor, T *mean, T *centred, int64_t ldc, T *s,  \
                               int64_t lds) {                                                                \
    int64_t d_row = trans == 'N' ? 1 : ldd, d_col = trans == 'N' ? ldd : 1;                                  \
    int64_t c_row = trans == 'N' ? 1 : ldc, c_col = trans == 'N' ? ldc : 1;                                  \
    for (int64_t j = 0; j < cols; j++) {                                                                     \
      T sum = 0;                                                                                             \
      for (int64_t i = 0; i < rows; i++)                                                                     \
        sum += d[i * d_row + j * d_col];                                                                     \
      mean[j] = sum / (T)mean_divisor;                                                                       \
      for (int64_t i = 0; i < rows; i++)                                                                     \
        centred[i * c_row + j * c_col] = d[i * d_row + j * d_col] - mean[j];                                 \
    }                                                                                                        \
    for (int64_t j = 0; j < cols; j++)                                                                       \
      for (int64_t i = j; i < cols; i++) {                                                                   \
        T sum = 0;                                                                                           \
        for (int64_t k = 0; k < rows; k++)                                                                   \
          sum += centred[k * c_row + i * c_col] * centred[k * c_row + j * c_col];                            \
        s[i + j * lds] = s[j + i * lds] = sum / (T)divisor;                                                  \
      }                                                                                                      \
  }

DEFINE(d, double)
DEFINE(s, float)
