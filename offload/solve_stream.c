/* SPDX-License-Identifier: Apache-2.0 */
/* Cholesky's factorisation on an NVIDIA stream, by cuSOLVER. */
#include "offload/solve.h"

#ifdef DAVIT_WITH_CUDA
#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <limits.h>

#include "offload/factored.h"
#include "offload/runtime/cusolver.h"
#include "offload/runtime/device.h"
#include "offload/runtime/stream.h"

davit_status dvt_solve_prepare(const dvt_site *site) {
  void *handle;
  DVT_TRY(dvt_stream_cusolver(site->stream, &handle));
  return dvt_stream_cublas(site->stream, &handle);
}

/* cuSOLVER writes what it finds to the device's memory; a result in pinned memory is reached from there. Its integers
 * have 32 bits. It goes on with NaN. */
davit_status dvt_potrf_stream(const dvt_site *site, const void *potrf) {
  const dvt_potrf *p = potrf;
  const cublasFillMode_t uplo = p->uplo == 'L' ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
  void *handle, *scratch;
  int elements = 0;
  if (p->n > INT_MAX || p->lda > INT_MAX)
    return davit_fail(DAVIT_UNSUPPORTED, "potrf: order %lld is more than cuSOLVER's integers hold",
                      (long long)p->n);
  const int n = (int)p->n, ld = (int)p->lda;
  DVT_TRY(dvt_stream_cusolver(site->stream, &handle));
  DVT_TRY(DVT_CUSOLVER_CALL(p->type, Dpotrf_bufferSize, uplo, n, p->a, ld, &elements));
  DVT_TRY(site->workspace(site, (size_t)(elements > 0 ? elements : 1) * davit_type_bytes(p->type), &scratch));
  DVT_TRY(DVT_CUSOLVER_CALL(p->type, Dpotrf, uplo, n, p->a, ld, scratch, elements, p->info));
  return dvt_find_nan_device(site, p->type, p->a, p->lda, p->n, p->info);
}

#else

davit_status dvt_solve_prepare(const dvt_site *site) {
  (void)site;
  return davit_fail(DAVIT_UNSUPPORTED, "this build has no CUDA");
}

davit_status dvt_potrf_stream(const dvt_site *site, const void *potrf) {
  (void)potrf;
  return dvt_solve_prepare(site);
}
#endif
