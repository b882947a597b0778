/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/peers/cusolver.h"

#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <dlfcn.h>

/* The functions used: F(member, name in the library, or in cuBLAS, which it depends on). */
#define FUNCTIONS(F)                                                                                         \
  F(create, cusolverDnCreate)                                                                                \
  F(destroy, cusolverDnDestroy)                                                                              \
  F(dpotrf_buffer, cusolverDnDpotrf_bufferSize)                                                              \
  F(spotrf_buffer, cusolverDnSpotrf_bufferSize)                                                              \
  F(dpotrf, cusolverDnDpotrf)                                                                                \
  F(spotrf, cusolverDnSpotrf)                                                                                \
  F(dpotrs, cusolverDnDpotrs)                                                                                \
  F(dgetrf_buffer, cusolverDnDgetrf_bufferSize)                                                              \
  F(sgetrf_buffer, cusolverDnSgetrf_bufferSize)                                                              \
  F(dgetrf, cusolverDnDgetrf)                                                                                \
  F(sgetrf, cusolverDnSgetrf)                                                                                \
  F(dgetrs, cusolverDnDgetrs)                                                                                \
  F(dgeqrf_buffer, cusolverDnDgeqrf_bufferSize)                                                              \
  F(sgeqrf_buffer, cusolverDnSgeqrf_bufferSize)                                                              \
  F(dgeqrf, cusolverDnDgeqrf)                                                                                \
  F(sgeqrf, cusolverDnSgeqrf)                                                                                \
  F(dormqr_buffer, cusolverDnDormqr_bufferSize)                                                              \
  F(dormqr, cusolverDnDormqr)                                                                                \
  F(create_blas, cublasCreate_v2)                                                                            \
  F(destroy_blas, cublasDestroy_v2)                                                                          \
  F(dtrsm, cublasDtrsm_v2)
#define MEMBER(member, name) __typeof__(&name) member;
#define LOAD(member, name) all = (api.member = (__typeof__(&name))dlsym(library, #name)) && all;
static struct {
  FUNCTIONS(MEMBER)
} api;

static struct {
  peer_factor what;
  cusolverDnHandle_t handle;
  cublasHandle_t blas; /* of least squares */
  bool on_host;
  cublasFillMode_t uplo;
  int elements; /* of the workspace */
  size_t a_bytes, b_bytes;
  void *workspace, *a, *b; /* a and b: of operands on the host */
  void *beside;            /* pivots or tau */
  int *info;
} solver;

static bool is_double(void) {
  return solver.what.type == DAVIT_DOUBLE;
}

static bool load(void) {
  static const char *const names[] = {"libcusolver.so.12", "libcusolver.so.11",
                                      DAVIT_CUDA_LIBRARY_DIR "/libcusolver.so"};
  static void *library;
  for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
    library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return false;
  bool all = true;
  FUNCTIONS(LOAD)
  return all;
}

static bool find_elements(void) {
  const peer_factor *w = &solver.what;
  const int m = (int)w->m, n = (int)w->n;
  int by_q = 0, *elements = &solver.elements;
  cusolverStatus_t status;
  if (w->kind == PEER_CHOLESKY)
    status = (is_double() ? api.dpotrf_buffer(solver.handle, solver.uplo, n, NULL, n, elements)
                          : api.spotrf_buffer(solver.handle, solver.uplo, n, NULL, n, elements));
  else if (w->kind == PEER_LU)
    status = is_double() ? api.dgetrf_buffer(solver.handle, m, n, NULL, m, elements)
                         : api.sgetrf_buffer(solver.handle, m, n, NULL, m, elements);
  else
    status = is_double() ? api.dgeqrf_buffer(solver.handle, m, n, NULL, m, elements)
                         : api.sgeqrf_buffer(solver.handle, m, n, NULL, m, elements);
  if (w->kind == PEER_QR && w->solves && status == CUSOLVER_STATUS_SUCCESS)
    status = api.dormqr_buffer(solver.handle, CUBLAS_SIDE_LEFT, CUBLAS_OP_T, m, 1, n, NULL, m, NULL, NULL, m,
                               &by_q);
  *elements = by_q > *elements ? by_q : *elements;
  return status == CUSOLVER_STATUS_SUCCESS;
}

static bool allocate(void) {
  const size_t element = davit_type_bytes(solver.what.type);
  return cudaMalloc(&solver.workspace, (size_t)solver.elements * element + 1) == cudaSuccess &&
         cudaMalloc(&solver.beside, (size_t)solver.what.n * element) == cudaSuccess &&
         cudaMalloc((void **)&solver.info, sizeof *solver.info) == cudaSuccess &&
         (!solver.on_host || (cudaMalloc(&solver.a, solver.a_bytes) == cudaSuccess &&
                              cudaMalloc(&solver.b, solver.b_bytes) == cudaSuccess));
}

bool peer_cusolver_open(int ordinal, const peer_factor *what, bool on_host) {
  solver.what = *what;
  solver.on_host = on_host;
  solver.uplo = what->uplo == 'L' ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
  solver.b_bytes = (size_t)what->m * davit_type_bytes(what->type);
  solver.a_bytes = (size_t)what->n * solver.b_bytes;
  return load() && cudaSetDevice(ordinal) == cudaSuccess &&
         api.create(&solver.handle) == CUSOLVER_STATUS_SUCCESS &&
         (what->kind != PEER_QR || !what->solves || api.create_blas(&solver.blas) == CUBLAS_STATUS_SUCCESS) &&
         find_elements() && allocate();
}

void peer_cusolver_close(void) {
  cudaFree(solver.workspace);
  cudaFree(solver.beside);
  cudaFree(solver.info);
  cudaFree(solver.a);
  cudaFree(solver.b);
  if (solver.handle)
    api.destroy(solver.handle);
  if (solver.blas)
    api.destroy_blas(solver.blas);
  (void)cudaGetLastError(); /* of an allocation that failed */
  solver.handle = NULL;
  solver.blas = NULL;
  solver.workspace = solver.beside = solver.a = solver.b = NULL;
  solver.info = NULL;
}

static cusolverStatus_t factor(void *a) {
  const int m = (int)solver.what.m, n = (int)solver.what.n, elements = solver.elements;
  void *work = solver.workspace, *beside = solver.beside;
  int *info = solver.info;
  switch (solver.what.kind) {
  case PEER_CHOLESKY:
    return is_double() ? api.dpotrf(solver.handle, solver.uplo, n, a, n, work, elements, info)
                       : api.spotrf(solver.handle, solver.uplo, n, a, n, work, elements, info);
  case PEER_LU:
    return is_double() ? api.dgetrf(solver.handle, m, n, a, m, work, beside, info)
                       : api.sgetrf(solver.handle, m, n, a, m, work, beside, info);
  case PEER_QR:
    break;
  }
  return is_double() ? api.dgeqrf(solver.handle, m, n, a, m, beside, work, elements, info)
                     : api.sgeqrf(solver.handle, m, n, a, m, beside, work, elements, info);
}

/* Writes 0 to info. */
static bool solve(void *a, void *b) {
  const int m = (int)solver.what.m, n = (int)solver.what.n;
  const double one = 1;
  switch (solver.what.kind) {
  case PEER_CHOLESKY:
    return api.dpotrs(solver.handle, solver.uplo, n, 1, a, n, b, n, solver.info) == CUSOLVER_STATUS_SUCCESS;
  case PEER_LU:
    return api.dgetrs(solver.handle, CUBLAS_OP_N, n, 1, a, n, solver.beside, b, n, solver.info) ==
           CUSOLVER_STATUS_SUCCESS;
  case PEER_QR:
    break;
  }
  return api.dormqr(solver.handle, CUBLAS_SIDE_LEFT, CUBLAS_OP_T, m, 1, n, a, m, solver.beside, b, m,
                    solver.workspace, solver.elements, solver.info) == CUSOLVER_STATUS_SUCCESS &&
         api.dtrsm(solver.blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT,
                   n, 1, &one, a, m, b, m) == CUBLAS_STATUS_SUCCESS;
}

/* Not cudaDeviceSynchronize(): in a process of davit's that sleeps, which costs tens of microseconds. */
static bool wait(void) {
  cudaError_t error;
  do
    error = cudaStreamQuery(NULL);
  while (error == cudaErrorNotReady);
  return error == cudaSuccess;
}

static bool copied(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
  return cudaMemcpy(to, from, bytes, kind) == cudaSuccess;
}

davit_status peer_cusolver_factor(void *a, void *b) {
  const bool there = solver.on_host;
  void *on_device = there ? solver.a : a, *sides = there ? solver.b : b;
  int info = 0;
  bool ok = !there || (copied(solver.a, a, solver.a_bytes, cudaMemcpyHostToDevice) &&
                       (!b || copied(solver.b, b, solver.b_bytes, cudaMemcpyHostToDevice)));
  ok = ok && factor(on_device) == CUSOLVER_STATUS_SUCCESS && (!b || solve(on_device, sides)) && wait() &&
       copied(&info, solver.info, sizeof info, cudaMemcpyDeviceToHost);
  ok = ok && (!there || (copied(a, solver.a, solver.a_bytes, cudaMemcpyDeviceToHost) &&
                         (!b || copied(b, solver.b, solver.b_bytes, cudaMemcpyDeviceToHost))));
  return ok && info == 0 ? DAVIT_SUCCESS : davit_fail(DAVIT_WORK_FAILED, "cuSOLVER: info %d", info);
}
