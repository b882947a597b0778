/* BLAS on devices: dvt_cublas_* enqueue on an NVIDIA stream and return; dvt_target_* run davit's own target
 * regions on any OpenMP device and return when they are done.
 *
 * Arguments are those of the public operation and have been checked; pointers are the device's. The
 * `result` of dot may live on the host or on the device. */
#ifndef DAVIT_OFFLOAD_BLAS_H
#define DAVIT_OFFLOAD_BLAS_H

#include "offload/runtime/stream.h"

#define DVT_BLAS_DECLARE(p, T)                                                                               \
  davit_status dvt_cublas_##p##gemm(dvt_stream *stream, char transa, char transb, int64_t m, int64_t n,      \
                                    int64_t k, T alpha, const T *a, int64_t lda, const T *b, int64_t ldb,    \
                                    T beta, T *c, int64_t ldc);                                              \
  davit_status dvt_cublas_##p##gemv(dvt_stream *stream, char trans, int64_t m, int64_t n, T alpha,           \
                                    const T *a, int64_t lda, const T *x, int64_t incx, T beta, T *y,         \
                                    int64_t incy);                                                           \
  davit_status dvt_cublas_##p##axpy(dvt_stream *stream, int64_t n, T alpha, const T *x, int64_t incx, T *y,  \
                                    int64_t incy);                                                           \
  davit_status dvt_cublas_##p##dot(dvt_stream *stream, int64_t n, const T *x, int64_t incx, const T *y,      \
                                   int64_t incy, T *result);                                                 \
  davit_status dvt_target_##p##gemm(int device, char transa, char transb, int64_t m, int64_t n, int64_t k,   \
                                    T alpha, const T *a, int64_t lda, const T *b, int64_t ldb, T beta, T *c, \
                                    int64_t ldc);                                                            \
  davit_status dvt_target_##p##gemv(int device, char trans, int64_t m, int64_t n, T alpha, const T *a,       \
                                    int64_t lda, const T *x, int64_t incx, T beta, T *y, int64_t incy);      \
  davit_status dvt_target_##p##axpy(int device, int64_t n, T alpha, const T *x, int64_t incx, T *y,          \
                                    int64_t incy);                                                           \
  davit_status dvt_target_##p##dot(int device, int64_t n, const T *x, int64_t incx, const T *y,              \
                                   int64_t incy, T *result);

DVT_BLAS_DECLARE(d, double)
DVT_BLAS_DECLARE(s, float)
#undef DVT_BLAS_DECLARE

#endif
