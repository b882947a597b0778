/* SPDX-License-Identifier: Apache-2.0 */
/* BLAS on NVIDIA streams: cuBLAS, which keeps the rules of the reference BLAS for beta = 0. Where the product
 * vanishes (alpha = 0 or k = 0) C or y is scaled without it, so that A, B and x stay unread, which the manual
 * does not promise. */
#include "offload/blas.h"

#ifdef DAVIT_WITH_CUDA
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "offload/runtime/cublas.h"
#include "offload/runtime/device.h"
#include "offload/runtime/stream.h"

/* A scalar of an operation's type, for cuBLAS to read on the host. */
typedef union scalar {
  double d;
  float s;
} scalar;

static scalar scalar_of(davit_type type, double value) {
  return type == DAVIT_DOUBLE ? (scalar){.d = value} : (scalar){.s = (float)value};
}

static cublasOperation_t operation(char trans) {
  return trans == 'N' ? CUBLAS_OP_N : CUBLAS_OP_T;
}

/* Calls cublasD<name> or cublasS<name>, whose prototypes differ in the types behind pointers alone. */
#define CALL(type, name, ...) dvt_cublas_status((int)DVT_CUBLAS_OF(type, name)(handle, __VA_ARGS__), #name)

/* C = factor C, m × n, in place; geam reads no operand whose factor is 0. */
static davit_status scale(void *handle, davit_type type, int64_t m, int64_t n, double factor, void *c,
                          int64_t ldc) {
  const scalar alpha = scalar_of(type, factor), zero = scalar_of(type, 0);
  return CALL(type, geam_64, CUBLAS_OP_N, CUBLAS_OP_N, m, n, (const void *)&alpha, c, ldc,
              (const void *)&zero, c, ldc, c, ldc);
}

davit_status dvt_gemm_stream(const dvt_site *site, const void *gemm) {
  const dvt_gemm *g = gemm;
  const bool vanishes = g->alpha == 0 || g->k == 0;
  void *handle;
  if (g->m == 0 || g->n == 0 || (vanishes && g->beta == 1))
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_stream_cublas(site->stream, &handle));
  if (vanishes)
    return scale(handle, g->type, g->m, g->n, g->beta, g->c, g->ldc);
  const scalar alpha = scalar_of(g->type, g->alpha), beta = scalar_of(g->type, g->beta);
  return CALL(g->type, gemm_v2_64, operation(g->transa), operation(g->transb), g->m, g->n, g->k,
              (const void *)&alpha, g->a, g->lda, g->b, g->ldb, (const void *)&beta, g->c, g->ldc);
}

davit_status dvt_gemv_stream(const dvt_site *site, const void *gemv) {
  const dvt_gemv *g = gemv;
  void *handle;
  if (g->m == 0 || g->n == 0 || (g->alpha == 0 && g->beta == 1))
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_stream_cublas(site->stream, &handle));
  if (g->alpha == 0) { /* y as a matrix: of one column if dense, else of one row, its columns |incy| apart */
    const int64_t length = g->trans == 'N' ? g->m : g->n, step = g->incy < 0 ? -g->incy : g->incy;
    return step == 1 ? scale(handle, g->type, length, 1, g->beta, g->y, length)
                     : scale(handle, g->type, 1, length, g->beta, g->y, step);
  }
  const scalar alpha = scalar_of(g->type, g->alpha), beta = scalar_of(g->type, g->beta);
  return CALL(g->type, gemv_v2_64, operation(g->trans), g->m, g->n, (const void *)&alpha, g->a, g->lda, g->x,
              g->incx, (const void *)&beta, g->y, g->incy);
}

davit_status dvt_axpy_stream(const dvt_site *site, const void *axpy) {
  const dvt_axpy *g = axpy;
  void *handle;
  if (g->n <= 0 || g->alpha == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_stream_cublas(site->stream, &handle));
  const scalar alpha = scalar_of(g->type, g->alpha);
  return CALL(g->type, axpy_v2_64, g->n, (const void *)&alpha, g->x, g->incx, g->y, g->incy);
}

/* `result` as the stream's device sees it. */
static davit_status reachable(void *result, void **pointer) {
  struct cudaPointerAttributes attributes;
  DVT_TRY(dvt_cuda_status(cudaPointerGetAttributes(&attributes, result), "dot: looking at the result"));
  if (attributes.type == cudaMemoryTypeUnregistered || !attributes.devicePointer)
    return davit_fail(DAVIT_UNSUPPORTED, "dot: the device does not reach the result");
  *pointer = attributes.devicePointer;
  return DAVIT_SUCCESS;
}

/* cuBLAS writes the result itself, so that the call need not wait. */
davit_status dvt_dot_stream(const dvt_site *site, const void *dot) {
  const dvt_dot *g = dot;
  void *handle, *sum;
  DVT_TRY(dvt_stream_cublas(site->stream, &handle));
  DVT_TRY(reachable(g->result, &sum));
  if (g->n <= 0)
    return dvt_stream_fill(site->stream, sum, 0, davit_type_bytes(g->type));
  DVT_TRY(dvt_cublas_status((int)DVT_CUBLAS(SetPointerMode_v2)(handle, CUBLAS_POINTER_MODE_DEVICE), "dot"));
  davit_status status = CALL(g->type, dot_v2_64, g->n, g->x, g->incx, g->y, g->incy, sum);
  /* Every other operation reads its scalars from the host. */
  davit_status restored =
      dvt_cublas_status((int)DVT_CUBLAS(SetPointerMode_v2)(handle, CUBLAS_POINTER_MODE_HOST), "dot");
  return status != DAVIT_SUCCESS ? status : restored;
}

davit_status dvt_syrk_stream(const dvt_site *site, const void *syrk) {
  const dvt_syrk *g = syrk;
  void *handle;
  DVT_TRY(dvt_stream_cublas(site->stream, &handle));
  const scalar alpha = scalar_of(g->type, g->alpha), zero = scalar_of(g->type, 0);
  return CALL(g->type, syrk_v2_64, CUBLAS_FILL_MODE_LOWER, operation(g->trans), g->n, g->k,
              (const void *)&alpha, g->a, g->lda, (const void *)&zero, g->c, g->ldc);
}

#else

/* Without CUDA there are no streams, and nothing calls these. */
#define NO_FORM(name)                                                                                        \
  davit_status dvt_##name##_stream(const dvt_site *site, const void *arguments) {                            \
    (void)site, (void)arguments;                                                                             \
    return davit_fail(DAVIT_UNSUPPORTED, #name ": this build has no CUDA");                                  \
  }
NO_FORM(gemm)
NO_FORM(gemv)
NO_FORM(axpy)
NO_FORM(dot)
NO_FORM(syrk)

#endif
