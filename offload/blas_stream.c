/* SPDX-License-Identifier: Apache-2.0 */
/* BLAS on NVIDIA streams: cuBLAS, which keeps the rules of the reference BLAS for beta = 0, but for large
 * triangles (triangle.h). Where the product vanishes (alpha = 0 or k = 0) C or y is scaled without it, so
 * that A, B and x stay unread, which the manual does not promise. Nor does it say what becomes of a factor that is
 * NaN: then C or y is filled. */
#include "offload/blas.h"

#ifdef DAVIT_WITH_CUDA
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "offload/runtime/cublas.h"
#include "offload/runtime/device.h"
#include "offload/runtime/stream.h"
#include "offload/triangle.h"

static cublasOperation_t operation(char trans) {
  return trans == 'N' ? CUBLAS_OP_N : trans == 'T' ? CUBLAS_OP_T : CUBLAS_OP_C;
}

/* Calls cublas<name> for the type, whose prototypes differ in the types behind pointers alone. */
#define CALL(type, name, ...) dvt_cublas_status((int)DVT_CUBLAS_OF(type, name)(handle, __VA_ARGS__), #name)

/* C = alpha A + beta C, m × n; geam reads no operand whose factor is 0. */
static davit_status add_scaled(void *handle, davit_type type, int64_t m, int64_t n, double _Complex alpha,
                               const void *a, int64_t lda, double _Complex beta, void *c, int64_t ldc) {
  const dvt_scalar alphas = dvt_scalar_of(type, alpha), betas = dvt_scalar_of(type, beta);
  return CALL(type, Dgeam_64, CUBLAS_OP_N, CUBLAS_OP_N, m, n, (const void *)&alphas, a, lda,
              (const void *)&betas, c, ldc, c, ldc);
}

static davit_status scale(void *handle, davit_type type, int64_t m, int64_t n, double _Complex factor,
                          void *c, int64_t ldc) {
  return add_scaled(handle, type, m, n, factor, c, ldc, 0, c, ldc);
}

/* Every byte 0xff is a NaN of either type, or two. */
static davit_status fill_nan(const dvt_site *site, davit_type type, int64_t m, int64_t n, void *c,
                             int64_t ldc) {
  const size_t element = davit_type_bytes(type);
  return dvt_cuda_status(cudaMemset2DAsync(c, (size_t)ldc * element, 0xff, (size_t)m * element, (size_t)n,
                                           dvt_stream_native(site->stream)),
                         "filling with NaN");
}

/* A triangle is filled column by column. */
static davit_status fill_triangle(const dvt_site *site, const dvt_level3 *g) {
  const size_t element = davit_type_bytes(g->type);
  for (int64_t j = 0; j < g->n; j++) {
    const int64_t first = g->uplo == 'L' ? j : 0, end = g->uplo == 'L' ? g->n : j + 1;
    DVT_TRY(fill_nan(site, g->type, end - first, 1, (char *)g->c + (size_t)(first + j * g->ldc) * element,
                     g->ldc));
  }
  return DAVIT_SUCCESS;
}

/* A sum over nothing makes syrk and its kin scale their triangle; no other routine has one. */
static davit_status call_routine(void *handle, const dvt_level3 *g, int64_t k) {
  const dvt_scalar alphas = dvt_scalar_of(g->type, g->alpha), betas = dvt_scalar_of(g->type, g->beta);
  const void *alpha = &alphas, *beta = &betas, *a = g->a, *b = g->b;
  const cublasSideMode_t side = g->side == 'R' ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT;
  const cublasFillMode_t uplo = g->uplo == 'L' ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
  const cublasDiagType_t diag = g->diag == 'U' ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
  const cublasOperation_t opa = operation(g->transa);
  const davit_type type = g->type;
  switch (g->routine) {
  case DVT_GEMM:
    return CALL(type, Dgemm_v2_64, opa, operation(g->transb), g->m, g->n, k, alpha, a, g->lda, b, g->ldb,
                beta, g->c, g->ldc);
  case DVT_SYMM:
    return CALL(type, Dsymm_v2_64, side, uplo, g->m, g->n, alpha, a, g->lda, b, g->ldb, beta, g->c, g->ldc);
  case DVT_HEMM:
    return CALL(type, Zhemm_v2_64, side, uplo, g->m, g->n, alpha, a, g->lda, b, g->ldb, beta, g->c, g->ldc);
  case DVT_SYRK:
    return CALL(type, Dsyrk_v2_64, uplo, opa, g->n, k, alpha, a, g->lda, beta, g->c, g->ldc);
  case DVT_HERK:
    return CALL(type, Zherk_v2_64, uplo, opa, g->n, k, alpha, a, g->lda, beta, g->c, g->ldc);
  case DVT_SYR2K:
    return CALL(type, Dsyr2k_v2_64, uplo, opa, g->n, k, alpha, a, g->lda, b, g->ldb, beta, g->c, g->ldc);
  case DVT_HER2K:
    return CALL(type, Zher2k_v2_64, uplo, opa, g->n, k, alpha, a, g->lda, b, g->ldb, beta, g->c, g->ldc);
  case DVT_TRMM:
    return CALL(type, Dtrmm_v2_64, side, uplo, opa, diag, g->m, g->n, alpha, a, g->lda, b, g->ldb, g->c,
                g->ldc);
  default:
    return CALL(type, Dtrsm_v2_64, side, uplo, opa, diag, g->m, g->n, alpha, a, g->lda, g->c, g->ldc);
  }
}

/* The imaginary parts of a Hermitian C's diagonal count as 0, but cuBLAS lets a NaN there into the result. */
static davit_status clear_imaginary_diagonal(const dvt_site *site, const dvt_level3 *g) {
  const size_t element = davit_type_bytes(g->type), half = element / 2;
  return dvt_cuda_status(cudaMemset2DAsync((char *)g->c + half, ((size_t)g->ldc + 1) * element, 0, half,
                                           (size_t)g->n, dvt_stream_native(site->stream)),
                         "clearing a diagonal");
}

static davit_status multiply_doubles(const dvt_site *site, const dvt_level3 *g, int64_t count,
                                     int64_t apart_a, int64_t apart_b, int64_t apart_c) {
  const double alpha = __real__ g->alpha, beta = __real__ g->beta;
  void *handle;
  if (count == 1)
    return dvt_level3_stream(site, g);
  DVT_TRY(dvt_stream_cublas(site->stream, &handle));
  return dvt_cublas_status(
      (int)DVT_CUBLAS(DgemmStridedBatched_64)(handle, operation(g->transa), operation(g->transb), g->m, g->n,
                                              g->k, &alpha, g->a, g->lda, apart_a, g->b, g->ldb, apart_b,
                                              &beta, g->c, g->ldc, apart_c, count),
      "products");
}

/* C = alpha op(A) B + beta C, which cuBLAS has for beta = 0 alone. */
static davit_status multiply_triangle(const dvt_site *site, void *handle, const dvt_level3 *g) {
  if (dvt_triangle_product_takes(site, g))
    return dvt_triangle_product(site, g, multiply_doubles);
  if (g->beta == 0)
    return call_routine(handle, g, g->k);
  dvt_level3 product = *g;
  product.ldc = g->m;
  DVT_TRY(site->workspace(site, (size_t)g->m * (size_t)g->n * davit_type_bytes(g->type), &product.c));
  DVT_TRY(call_routine(handle, &product, g->k));
  return add_scaled(handle, g->type, g->m, g->n, 1, product.c, product.ldc, g->beta, g->c, g->ldc);
}

/* C = beta C of what is stored. */
static davit_status scale_alone(const dvt_site *site, void *handle, const dvt_level3 *g) {
  if (g->beta == 1)
    return DAVIT_SUCCESS;
  if (!dvt_level3_is_update(g))
    return dvt_is_nan(g->beta) ? fill_nan(site, g->type, g->m, g->n, g->c, g->ldc)
                               : scale(handle, g->type, g->m, g->n, g->beta, g->c, g->ldc);
  if (dvt_is_nan(g->beta))
    return fill_triangle(site, g);
  dvt_level3 nothing = *g; /* there may be no A and B, and alpha does not count */
  nothing.alpha = 0;
  nothing.a = nothing.b = g->c;
  nothing.lda = nothing.ldb = g->n;
  return call_routine(handle, &nothing, 0);
}

/* The first handle of a process loads cuBLAS. */
davit_status dvt_blas_prepare(const dvt_site *site) {
  void *handle;
  return dvt_stream_cublas(site->stream, &handle);
}

/* The imaginary parts of a diagonal become 0 before cuBLAS reads them, and once more where it may not have written
 * them: of a sum over nothing. */
davit_status dvt_level3_stream(const dvt_site *site, const void *level3) {
  const dvt_level3 settled = dvt_level3_settled(level3), *g = &settled;
  const bool hermitian = dvt_level3_is_hermitian(g);
  void *handle;
  if (dvt_level3_is_done(g))
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_stream_cublas(site->stream, &handle));
  if (hermitian && g->beta != 0)
    DVT_TRY(clear_imaginary_diagonal(site, g));
  if (dvt_level3_vanishes(g)) {
    DVT_TRY(scale_alone(site, handle, g));
    return hermitian ? clear_imaginary_diagonal(site, g) : DAVIT_SUCCESS;
  }
  return g->routine == DVT_TRMM                               ? multiply_triangle(site, handle, g)
         : g->routine == DVT_TRSM && dvt_solve_takes(site, g) ? dvt_solve(site, g, multiply_doubles)
                                                              : call_routine(handle, g, g->k);
}

davit_status dvt_add_stream(const dvt_site *site, const void *add) {
  const dvt_add *g = add;
  void *handle;
  if (g->m == 0 || g->n == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_stream_cublas(site->stream, &handle));
  return add_scaled(handle, g->type, g->m, g->n, 1, g->a, g->lda, 1, g->c, g->ldc);
}

davit_status dvt_gemv_stream(const dvt_site *site, const void *gemv) {
  const dvt_gemv settled = dvt_gemv_settled(gemv), *g = &settled;
  void *handle;
  if (g->m == 0 || g->n == 0 || (g->alpha == 0 && g->beta == 1))
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_stream_cublas(site->stream, &handle));
  if (g->alpha == 0) { /* y as a matrix: of one column if dense, else of one row, its columns |incy| apart */
    const int64_t length = g->trans == 'N' ? g->m : g->n, step = g->incy < 0 ? -g->incy : g->incy;
    if (dvt_is_nan(g->beta))
      return step == 1 ? fill_nan(site, g->type, length, 1, g->y, length)
                       : fill_nan(site, g->type, 1, length, g->y, step);
    return step == 1 ? scale(handle, g->type, length, 1, g->beta, g->y, length)
                     : scale(handle, g->type, 1, length, g->beta, g->y, step);
  }
  const dvt_scalar alpha = dvt_scalar_of(g->type, g->alpha), beta = dvt_scalar_of(g->type, g->beta);
  return CALL(g->type, Dgemv_v2_64, operation(g->trans), g->m, g->n, (const void *)&alpha, g->a, g->lda, g->x,
              g->incx, (const void *)&beta, g->y, g->incy);
}

davit_status dvt_axpy_stream(const dvt_site *site, const void *axpy) {
  const dvt_axpy *g = axpy;
  void *handle;
  if (g->n <= 0 || g->alpha == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_stream_cublas(site->stream, &handle));
  const dvt_scalar alpha = dvt_scalar_of(g->type, g->alpha);
  return CALL(g->type, Daxpy_v2_64, g->n, (const void *)&alpha, g->x, g->incx, g->y, g->incy);
}

/* `result` as the stream's device sees it. */
static davit_status reachable(void *result, void **pointer) {
  struct cudaPointerAttributes attributes;
  DVT_TRY(dvt_cuda_status(cudaPointerGetAttributes(&attributes, result), "looking at the result"));
  if (attributes.type == cudaMemoryTypeUnregistered || !attributes.devicePointer)
    return davit_fail(DAVIT_UNSUPPORTED, "the device does not reach the result");
  *pointer = attributes.devicePointer;
  return DAVIT_SUCCESS;
}

/* cuBLAS writes results itself, so that the calls need not wait. Every other operation reads its scalars from
 * the host. */
static davit_status set_results_on_device(void *handle, bool on_device) {
  return dvt_cublas_status((int)DVT_CUBLAS(SetPointerMode_v2)(handle, on_device ? CUBLAS_POINTER_MODE_DEVICE
                                                                                : CUBLAS_POINTER_MODE_HOST),
                           "a result");
}

static davit_status call_dot(void *handle, const dvt_dot *g, void *sum) {
  return g->conjugate && g->type >= DAVIT_COMPLEX_FLOAT
             ? CALL(g->type, Zdotc_v2_64, g->n, g->x, g->incx, g->y, g->incy, sum)
             : CALL(g->type, Ddot_v2_64, g->n, g->x, g->incx, g->y, g->incy, sum);
}

davit_status dvt_dot_stream(const dvt_site *site, const void *dot) {
  const dvt_dot *g = dot;
  void *handle, *sum;
  DVT_TRY(dvt_stream_cublas(site->stream, &handle));
  DVT_TRY(reachable(g->result, &sum));
  if (g->n <= 0)
    return dvt_stream_fill(site->stream, sum, 0, davit_type_bytes(g->type));
  DVT_TRY(set_results_on_device(handle, true));
  const davit_status status = call_dot(handle, g, sum), restored = set_results_on_device(handle, false);
  return status != DAVIT_SUCCESS ? status : restored;
}

/* cuBLAS counts no elements where the increment is negative. */
davit_status dvt_norm_stream(const dvt_site *site, const void *norm) {
  const dvt_norm *g = norm;
  const int64_t step = g->incx < 0 ? -g->incx : g->incx;
  void *handle, *sum;
  DVT_TRY(dvt_stream_cublas(site->stream, &handle));
  DVT_TRY(reachable(g->result, &sum));
  if (g->n <= 0)
    return dvt_stream_fill(site->stream, sum, 0, davit_type_bytes(dvt_real_type(g->type)));
  DVT_TRY(set_results_on_device(handle, true));
  const davit_status status = g->squares ? CALL(g->type, Dnrm2_v2_64, g->n, g->x, step, sum)
                                         : CALL(g->type, Dasum_v2_64, g->n, g->x, step, sum),
                     restored = set_results_on_device(handle, false);
  return status != DAVIT_SUCCESS ? status : restored;
}

davit_status dvt_scal_stream(const dvt_site *site, const void *scal) {
  const dvt_scal *g = scal;
  void *handle;
  if (g->n <= 0 || g->alpha == 1)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_stream_cublas(site->stream, &handle));
  const dvt_scalar alpha = dvt_scalar_of(g->type, g->alpha);
  return CALL(g->type, Dscal_v2_64, g->n, (const void *)&alpha, g->x, g->incx < 0 ? -g->incx : g->incx);
}

#else

/* Without CUDA there are no streams, and nothing calls these. */
#define NO_FORM(name)                                                                                        \
  davit_status dvt_##name##_stream(const dvt_site *site, const void *arguments) {                            \
    (void)site, (void)arguments;                                                                             \
    return davit_fail(DAVIT_UNSUPPORTED, #name ": this build has no CUDA");                                  \
  }
NO_FORM(level3)
NO_FORM(add)
NO_FORM(gemv)
NO_FORM(axpy)
NO_FORM(dot)
NO_FORM(scal)
NO_FORM(norm)

davit_status dvt_blas_prepare(const dvt_site *site) {
  return dvt_level3_stream(site, NULL);
}

#endif
