/* y = alpha op(A) x + beta y on the CPU, by BLIS on the calling thread: reads A once, 2 m n flops.
 *
 * As in the reference BLAS, y is left alone when m or n is 0, beta = 0 does not read y, alpha = 0 does not
 * read A and x, and a negative increment walks back from the end of the vector, where BLIS wants the
 * pointer to its first element in walking order. */
#include <blis.h>

#include "ref/ref.h"

#define DEFINE(p, T)                                                                                         \
  void dvt_ref_##p##gemv(char trans, int64_t m, int64_t n, T alpha, const T *a, int64_t lda, const T *x,     \
                         int64_t incx, T beta, T *y, int64_t incy) {                                         \
    if (m == 0 || n == 0)                                                                                    \
      return;                                                                                                \
    int64_t columns = trans == 'N' ? n : m, rows = trans == 'N' ? m : n;                                     \
    trans_t op = trans == 'N' ? BLIS_NO_TRANSPOSE : BLIS_TRANSPOSE;                                          \
    if (incx < 0)                                                                                            \
      x -= (columns - 1) * incx;                                                                             \
    if (incy < 0)                                                                                            \
      y -= (rows - 1) * incy;                                                                                \
    bli_##p##gemv_ex(op, BLIS_NO_CONJUGATE, m, n, &alpha, (T *)a, 1, lda, (T *)x, incx, &beta, y, incy,      \
                     NULL, NULL);                                                                            \
  }

DEFINE(d, double)
DEFINE(s, float)
