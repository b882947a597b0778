/* SPDX-License-Identifier: Apache-2.0 */
/* Refined systems on an NVIDIA stream, by cuSOLVER: LU in TF32 on tensor cores, GMRES preconditioned with it. */
#include "offload/refine.h"

#ifdef DAVIT_WITH_CUDA
#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <limits.h>

#include "offload/runtime/cusolver.h"
#include "offload/runtime/stream.h"
#include "src/base/arithmetic.h"

#define CALL(name, ...) dvt_cusolver_status((int)DVT_CUSOLVER(name)(__VA_ARGS__), #name)

typedef struct refinement {
  void *handle;
  cusolverDnIRSParams_t settings;
  cusolverDnIRSInfos_t found;
} refinement;

static davit_status set(refinement *r, davit_type type) {
  const bool real = type == DAVIT_DOUBLE;
  DVT_TRY(CALL(IRSParamsCreate, &r->settings));
  DVT_TRY(CALL(IRSInfosCreate, &r->found));
  DVT_TRY(CALL(IRSParamsSetSolverPrecisions, r->settings, real ? CUSOLVER_R_64F : CUSOLVER_C_64F,
               real ? CUSOLVER_R_TF32 : CUSOLVER_C_TF32));
  DVT_TRY(CALL(IRSParamsSetRefinementSolver, r->settings, CUSOLVER_IRS_REFINE_GMRES));
  DVT_TRY(CALL(IRSParamsSetMaxIters, r->settings, DVT_REFINE_MOST));
  return CALL(IRSParamsDisableFallback, r->settings);
}

static davit_status run(refinement *r, const dvt_site *site, const dvt_refine *c) {
  const int n = (int)c->n, nrhs = (int)c->nrhs;
  size_t bytes = 0;
  void *scratch;
  cusolver_int_t steps = -1;
  DVT_TRY(set(r, c->type));
  DVT_TRY(CALL(IRSXgesv_bufferSize, r->handle, r->settings, n, nrhs, &bytes));
  bytes = dvt_aligned_up(bytes);
  DVT_TRY(site->workspace(site, bytes + sizeof(int), &scratch));
  DVT_TRY(CALL(IRSXgesv, r->handle, r->settings, r->found, n, nrhs, c->a, (int)c->lda,
               (void *)(uintptr_t)c->b, (int)c->ldb, c->x, (int)c->ldx, scratch, bytes, &steps,
               (int *)(void *)((char *)scratch + bytes)));
  *c->iterations = steps;
  return dvt_stream_synchronize(site->stream);
}

davit_status dvt_refine_stream(const dvt_site *site, const void *refine) {
  const dvt_refine *c = refine;
  refinement r = {.settings = NULL};
  *c->iterations = -1;
  if (c->n > INT_MAX || c->nrhs > INT_MAX || c->lda > INT_MAX || c->ldb > INT_MAX || c->ldx > INT_MAX)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_stream_cusolver(site->stream, &r.handle));
  const davit_status status = run(&r, site, c);
  if (r.settings)
    DVT_CUSOLVER(IRSParamsDestroy)(r.settings);
  if (r.found)
    DVT_CUSOLVER(IRSInfosDestroy)(r.found);
  return status;
}

#else

davit_status dvt_refine_stream(const dvt_site *site, const void *refine) {
  (void)site, (void)refine;
  return davit_fail(DAVIT_UNSUPPORTED, "this build has no CUDA");
}
#endif
