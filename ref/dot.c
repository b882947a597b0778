/* Sum of x[i] y[i] on the CPU, by BLIS on the calling thread: 2 n flops, reads x and y once.
 *
 * The float product accumulates in float, in as many partial sums as BLIS's kernel keeps, as BLAS libraries
 * do: the error bound is n eps |x|'|y|. A negative increment walks back from the end of the vector, where BLIS
 * wants the pointer to its first element in walking order. */
#include <blis.h>

#include "ref/ref.h"

#define DEFINE(p, T)                                                                                         \
  T dvt_ref_##p##dot(int64_t n, const T *x, int64_t incx, const T *y, int64_t incy) {                        \
    T sum = 0;                                                                                               \
    if (n <= 0)                                                                                              \
      return sum;                                                                                            \
    if (incx < 0)                                                                                            \
      x -= (n - 1) * incx;                                                                                   \
    if (incy < 0)                                                                                            \
      y -= (n - 1) * incy;                                                                                   \
    bli_##p##dotv_ex(BLIS_NO_CONJUGATE, BLIS_NO_CONJUGATE, n, (T *)x, incx, (T *)y, incy, &sum, NULL, NULL); \
    return sum;                                                                                              \
  }

DEFINE(d, double)
DEFINE(s, float)
