/* y = alpha x + y on a device: 2 n flops; reads x and y and writes y once, 3 n elements in all.
 *
 * As in the reference BLAS, alpha = 0 does not read x. dvt_cublas_* is cuBLAS; dvt_target_* spreads the elements
 * over all threads of the device, neighbours to neighbours.
 *
 * The file includes itself once for each type: the part after #else is the kernel of type REAL. */
#ifndef REAL

#include "offload/blas.h"
#include "offload/runtime/cublas.h"

#ifdef DAVIT_WITH_CUDA
#include <cublas_v2.h>

#define DEFINE(p, P, T)                                                                                      \
  davit_status dvt_cublas_##p##axpy(dvt_stream *stream, int64_t n, T alpha, const T *x, int64_t incx, T *y,  \
                                    int64_t incy) {                                                          \
    if (n <= 0 || alpha == 0)                                                                                \
      return DAVIT_SUCCESS;                                                                                  \
    void *handle;                                                                                            \
    davit_status status = dvt_stream_cublas(stream, &handle);                                                \
    if (status != DAVIT_SUCCESS)                                                                             \
      return status;                                                                                         \
    return dvt_cublas_status((int)DVT_CUBLAS(P##axpy_v2_64)(handle, n, &alpha, x, incx, y, incy),            \
                             #p "axpy");                                                                     \
  }
#else
#define DEFINE(p, P, T)                                                                                      \
  davit_status dvt_cublas_##p##axpy(dvt_stream *stream, int64_t n, T alpha, const T *x, int64_t incx, T *y,  \
                                    int64_t incy) {                                                          \
    (void)stream, (void)n, (void)alpha, (void)x, (void)incx, (void)y, (void)incy;                            \
    return davit_fail(DAVIT_UNSUPPORTED, #p "axpy: this build has no CUDA");                                 \
  }
#endif

DEFINE(d, D, double)
DEFINE(s, S, float)

#define REAL double
#define PUBLIC(operation) dvt_target_d##operation
#include "offload/axpy.c"
#undef REAL
#undef PUBLIC
#define REAL float
#define PUBLIC(operation) dvt_target_s##operation
#include "offload/axpy.c"

#else /* the kernel of one type */

davit_status PUBLIC(axpy)(int device, int64_t n, REAL alpha, const REAL *x, int64_t incx, REAL *y,
                          int64_t incy) {
  if (n <= 0 || alpha == 0)
    return DAVIT_SUCCESS;
  if (incx < 0)
    x -= (n - 1) * incx;
  if (incy < 0)
    y -= (n - 1) * incy;
#pragma omp target teams distribute parallel for device(device) is_device_ptr(x, y)
  for (int64_t i = 0; i < n; i++)
    y[i * incy] += alpha * x[i * incx];
  return DAVIT_SUCCESS;
}

#endif
