/* y = alpha x + y on the CPU, by BLIS on the calling thread: 2 n flops, reads x and y and writes y once.
 *
 * As in the reference BLAS, alpha = 0 does not read x, and a negative increment walks back from the end of the
 * vector, where BLIS wants the pointer to its first element in walking order. */
#include <blis.h>

#include "ref/ref.h"

#define DEFINE(p, T)                                                                                         \
  void dvt_ref_##p##axpy(int64_t n, T alpha, const T *x, int64_t incx, T *y, int64_t incy) {                 \
    if (n <= 0 || alpha == 0)                                                                                \
      return;                                                                                                \
    if (incx < 0)                                                                                            \
      x -= (n - 1) * incx;                                                                                   \
    if (incy < 0)                                                                                            \
      y -= (n - 1) * incy;                                                                                   \
    bli_##p##axpyv_ex(BLIS_NO_CONJUGATE, n, &alpha, (T *)x, incx, y, incy, NULL, NULL);                      \
  }

DEFINE(d, double)
DEFINE(s, float)
