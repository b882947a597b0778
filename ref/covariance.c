/* Covariance on the CPU: plain loops, each element of S one sum divided at the end; and the product of a matrix by its own
 * transpose by BLIS, n (n + 1) k flops. */
#include <blis.h>
#include <omp.h>

#include "ref/ref.h"

#define DEFINE(p, T)                                                                                         \
  void dvt_ref_##p##syrk(char trans, int64_t n, int64_t k, T alpha, const T *a, int64_t lda, T *c,           \
                         int64_t ldc, int threads) {                                                         \
    T zero = 0;                                                                                              \
    rntm_t runtime = BLIS_RNTM_INITIALIZER;                                                                  \
    bli_rntm_set_num_threads(dvt_ref_threads(threads), &runtime);                                            \
    int dynamic = omp_get_dynamic();                                                                         \
    omp_set_dynamic(0);                                                                                      \
    bli_##p##syrk_ex(BLIS_LOWER, trans == 'N' ? BLIS_NO_TRANSPOSE : BLIS_TRANSPOSE, n, k, &alpha, (T *)a, 1, \
                     lda, &zero, c, 1, ldc, NULL, &runtime);                                                 \
    omp_set_dynamic(dynamic);                                                                                \
  }                                                                                                          \
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
