/* SPDX-License-Identifier: Apache-2.0 */
/* LU, QR and what is done with their factors on an NVIDIA stream, by cuSOLVER and cuBLAS. */
#include "offload/factored.h"

#ifdef DAVIT_WITH_CUDA
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <limits.h>

#include "offload/blas.h"
#include "offload/runtime/cublas.h"
#include "offload/runtime/cusolver.h"
#include "offload/runtime/stream.h"
#include "src/base/arithmetic.h"

/* Scratch memory of a routine: elements, and an integer that it writes its own status to. */
static davit_status find_scratch(const dvt_site *site, davit_type type, int elements, void **scratch,
                                 int **status) {
  const size_t bytes = dvt_aligned_up((size_t)(elements > 0 ? elements : 1) * davit_type_bytes(type));
  DVT_TRY(site->workspace(site, bytes + sizeof **status, scratch));
  *status = (int *)(void *)((char *)*scratch + bytes);
  return DAVIT_SUCCESS;
}

/* Its integers have 32 bits. */
static davit_status check_lengths(const char *name, int64_t a, int64_t b, int64_t c) {
  return a > INT_MAX || b > INT_MAX || c > INT_MAX
             ? davit_fail(DAVIT_UNSUPPORTED,
                          "%s: a length or leading dimension is more than cuSOLVER's integers hold", name)
             : DAVIT_SUCCESS;
}

static cublasOperation_t operation(davit_type type, char trans) {
  return trans == 'N'                                                  ? CUBLAS_OP_N
         : trans == 'T' || type == DAVIT_DOUBLE || type == DAVIT_FLOAT ? CUBLAS_OP_T
                                                                       : CUBLAS_OP_C;
}

davit_status dvt_getrf_stream(const dvt_site *site, const void *getrf) {
  const dvt_getrf *p = getrf;
  void *handle, *scratch;
  int elements = 0, *unused;
  if (p->m == 0 || p->n == 0)
    return dvt_stream_fill(site->stream, p->info, 0, sizeof *p->info);
  DVT_TRY(check_lengths("getrf", p->m, p->n, p->lda));
  const int m = (int)p->m, n = (int)p->n, ld = (int)p->lda;
  DVT_TRY(dvt_stream_cusolver(site->stream, &handle));
  DVT_TRY(DVT_CUSOLVER_CALL(p->type, Dgetrf_bufferSize, m, n, p->a, ld, &elements));
  DVT_TRY(find_scratch(site, p->type, elements, &scratch, &unused));
  return DVT_CUSOLVER_CALL(p->type, Dgetrf, m, n, p->a, ld, scratch, p->ipiv, p->info);
}

davit_status dvt_getrs_stream(const dvt_site *site, const void *getrs) {
  const dvt_getrs *p = getrs;
  void *handle, *scratch;
  int *status;
  if (p->n == 0 || p->nrhs == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(check_lengths("getrs", p->n, p->lda, p->ldb));
  DVT_TRY(check_lengths("getrs", p->nrhs, 0, 0));
  DVT_TRY(dvt_stream_cusolver(site->stream, &handle));
  DVT_TRY(find_scratch(site, p->type, 0, &scratch, &status));
  return DVT_CUSOLVER_CALL(p->type, Dgetrs, operation(p->type, p->trans), (int)p->n, (int)p->nrhs, p->a,
                           (int)p->lda, p->ipiv, p->b, (int)p->ldb, status);
}

davit_status dvt_geqrf_stream(const dvt_site *site, const void *geqrf) {
  const dvt_geqrf *p = geqrf;
  void *handle, *scratch;
  int elements = 0, *status;
  if (p->m == 0 || p->n == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(check_lengths("geqrf", p->m, p->n, p->lda));
  const int m = (int)p->m, n = (int)p->n, ld = (int)p->lda;
  DVT_TRY(dvt_stream_cusolver(site->stream, &handle));
  DVT_TRY(DVT_CUSOLVER_CALL(p->type, Dgeqrf_bufferSize, m, n, p->a, ld, &elements));
  DVT_TRY(find_scratch(site, p->type, elements, &scratch, &status));
  return DVT_CUSOLVER_CALL(p->type, Dgeqrf, m, n, p->a, ld, p->tau, scratch, elements, status);
}

davit_status dvt_ormqr_stream(const dvt_site *site, const void *ormqr) {
  const dvt_ormqr *p = ormqr;
  const cublasSideMode_t side = p->side == 'R' ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT;
  const cublasOperation_t op = operation(p->type, p->trans);
  void *handle, *scratch;
  int elements = 0, *status;
  if (p->m == 0 || p->n == 0 || p->k == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(check_lengths("ormqr", p->m, p->n, p->k));
  DVT_TRY(check_lengths("ormqr", p->lda, p->ldc, 0));
  const int m = (int)p->m, n = (int)p->n, k = (int)p->k, lda = (int)p->lda, ldc = (int)p->ldc;
  DVT_TRY(dvt_stream_cusolver(site->stream, &handle));
  DVT_TRY(DVT_CUSOLVER_CALL(p->type, Dormqr_bufferSize, side, op, m, n, k, p->a, lda, p->tau, p->c, ldc,
                            &elements));
  DVT_TRY(find_scratch(site, p->type, elements, &scratch, &status));
  return DVT_CUSOLVER_CALL(p->type, Dormqr, side, op, m, n, k, p->a, lda, p->tau, p->c, ldc, scratch,
                           elements, status);
}

davit_status dvt_orgqr_stream(const dvt_site *site, const void *orgqr) {
  const dvt_orgqr *p = orgqr;
  void *handle, *scratch;
  int elements = 0, *status;
  if (p->m == 0 || p->n == 0)
    return DAVIT_SUCCESS;
  if (p->k == 0)
    return dvt_unit_device(site, &(dvt_unit){p->type, p->m, p->n, p->a, p->lda, 0, true});
  DVT_TRY(check_lengths("orgqr", p->m, p->n, p->lda));
  const int m = (int)p->m, n = (int)p->n, k = (int)p->k, ld = (int)p->lda;
  DVT_TRY(dvt_stream_cusolver(site->stream, &handle));
  DVT_TRY(DVT_CUSOLVER_CALL(p->type, Dorgqr_bufferSize, m, n, k, p->a, ld, p->tau, &elements));
  DVT_TRY(find_scratch(site, p->type, elements, &scratch, &status));
  return DVT_CUSOLVER_CALL(p->type, Dorgqr, m, n, k, p->a, ld, p->tau, scratch, elements, status);
}

/* T is zero below its diagonal, which larft does not write. */
davit_status dvt_reflect_stream(const dvt_site *site, const void *reflect) {
  const dvt_reflect *p = reflect;
  const size_t row = (size_t)p->k * davit_type_bytes(p->type);
  const cudaDataType type = DVT_CUDA_TYPE(p->type);
  const dvt_unit unit = {p->type, p->k, p->k, p->a, p->lda, 0, false};
  size_t device_bytes = 0, host_bytes = 0;
  void *handle, *scratch;
  if (p->k == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_stream_cusolver(site->stream, &handle));
  DVT_TRY(dvt_stream_fill(site->stream, p->t, 0, row * (size_t)p->k));
  DVT_TRY(dvt_cusolver_status((int)DVT_CUSOLVER(Xlarft_bufferSize)(handle, NULL, CUBLAS_DIRECT_FORWARD,
                                                                   CUBLAS_STOREV_COLUMNWISE, p->m, p->k, type,
                                                                   p->a, p->lda, type, p->tau, type, p->t,
                                                                   p->k, type, &device_bytes, &host_bytes),
                              "Xlarft_bufferSize"));
  if (host_bytes > 0)
    return davit_fail(DAVIT_UNSUPPORTED, "cuSOLVER's larft wants memory of the host");
  DVT_TRY(site->workspace(site, device_bytes + 1, &scratch));
  DVT_TRY(dvt_cusolver_status((int)DVT_CUSOLVER(Xlarft)(handle, NULL, CUBLAS_DIRECT_FORWARD,
                                                        CUBLAS_STOREV_COLUMNWISE, p->m, p->k, type, p->a,
                                                        p->lda, type, p->tau, type, p->t, p->k, type, scratch,
                                                        device_bytes, NULL, 0),
                              "Xlarft"));
  DVT_TRY(dvt_stream_copy(site->stream, p->top, row, p->a, (size_t)p->lda * davit_type_bytes(p->type), row,
                          (size_t)p->k));
  return dvt_unit_device(site, &unit);
}

davit_status dvt_reflector_stream(const dvt_site *site, const void *reflector) {
  const dvt_reflector *r = reflector;
  void *work;
  if (r->m == 0 || r->n == 0 || r->k == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(site->workspace(site, dvt_reflector_bytes(r), &work));
  return dvt_reflector_apply(site, r, work, dvt_level3_stream);
}

davit_status dvt_adjoint_stream(const dvt_site *site, const void *adjoint) {
  const dvt_adjoint *p = adjoint;
  const dvt_scalar one = dvt_scalar_of(p->type, 1), zero = dvt_scalar_of(p->type, 0);
  void *handle;
  if (p->m == 0 || p->n == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_stream_cublas(site->stream, &handle));
  return dvt_cublas_status((int)DVT_CUBLAS_OF(p->type, Dgeam_64)(
                               handle, operation(p->type, 'C'), CUBLAS_OP_N, p->n, p->m, (const void *)&one,
                               p->a, p->lda, (const void *)&zero, p->b, p->ldb, p->b, p->ldb),
                           "geam");
}

#else
#define NO_CUDA(name)                                                                                        \
  davit_status dvt_##name##_stream(const dvt_site *site, const void *arguments) {                            \
    (void)site, (void)arguments;                                                                             \
    return davit_fail(DAVIT_UNSUPPORTED, "this build has no CUDA");                                          \
  }
NO_CUDA(getrf)
NO_CUDA(getrs)
NO_CUDA(geqrf)
NO_CUDA(ormqr)
NO_CUDA(orgqr)
NO_CUDA(reflect)
NO_CUDA(reflector)
NO_CUDA(adjoint)
#endif
