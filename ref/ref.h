/* The CPU reference: the operations davit runs on the host and on host-offload devices, and the yardstick
 * of its tests. BLIS where the operation is BLAS, plain loops elsewhere.
 *
 * Arguments are those of the public operation and have been checked. `threads` is how many threads one
 * call may use (at least 1). Functions with a status fail only for want of memory. */
#ifndef DAVIT_REF_REF_H
#define DAVIT_REF_REF_H

#include <davit/status.h>
#include <stdint.h>

#define DVT_REF_DECLARE(p, T)                                                                                \
  void dvt_ref_##p##gemm(char transa, char transb, int64_t m, int64_t n, int64_t k, T alpha, const T *a,     \
                         int64_t lda, const T *b, int64_t ldb, T beta, T *c, int64_t ldc, int threads);      \
  void dvt_ref_##p##gemv(char trans, int64_t m, int64_t n, T alpha, const T *a, int64_t lda, const T *x,     \
                         int64_t incx, T beta, T *y, int64_t incy);                                          \
  void dvt_ref_##p##axpy(int64_t n, T alpha, const T *x, int64_t incx, T *y, int64_t incy);                  \
  T dvt_ref_##p##dot(int64_t n, const T *x, int64_t incx, const T *y, int64_t incy);

DVT_REF_DECLARE(d, double)
DVT_REF_DECLARE(s, float)
#undef DVT_REF_DECLARE

/* Elements first … first+count-1 of the Philox4x32-10 sequence of davit_random_double / _float. */
void dvt_ref_random_double(double *pointer, int64_t first, int64_t count, uint64_t seed);
void dvt_ref_random_float(float *pointer, int64_t first, int64_t count, uint64_t seed);

#endif
