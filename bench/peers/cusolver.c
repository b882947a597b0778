/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/peers/cusolver.h"

#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <dlfcn.h>

/* The functions used: F(member, name in the library). */
#define FUNCTIONS(F)                                                                                         \
  F(create, cusolverDnCreate)                                                                                \
  F(destroy, cusolverDnDestroy)                                                                              \
  F(dbuffer, cusolverDnDpotrf_bufferSize)                                                                    \
  F(sbuffer, cusolverDnSpotrf_bufferSize)                                                                    \
  F(dpotrf, cusolverDnDpotrf)                                                                                \
  F(spotrf, cusolverDnSpotrf)                                                                                \
  F(dpotrs, cusolverDnDpotrs)
#define MEMBER(member, name) __typeof__(&name) member;
#define LOAD(member, name) all = (api.member = (__typeof__(&name))dlsym(library, #name)) && all;
static struct {
  FUNCTIONS(MEMBER)
} api;

static struct {
  cusolverDnHandle_t handle;
  bool is_double, on_host;
  cublasFillMode_t uplo;
  int n, elements; /* of the workspace */
  size_t a_bytes, b_bytes;
  void *workspace, *a, *b; /* a and b: of operands on the host */
  int *info;
} solver;

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

bool peer_cusolver_open(int ordinal, davit_type type, char uplo, int64_t n, bool on_host) {
  const size_t element = davit_type_bytes(type);
  solver.is_double = type == DAVIT_DOUBLE;
  solver.on_host = on_host;
  solver.uplo = uplo == 'L' ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
  solver.n = (int)n;
  solver.a_bytes = (size_t)(n * n) * element;
  solver.b_bytes = (size_t)n * element;
  return load() && cudaSetDevice(ordinal) == cudaSuccess &&
         api.create(&solver.handle) == CUSOLVER_STATUS_SUCCESS &&
         (solver.is_double
              ? api.dbuffer(solver.handle, solver.uplo, solver.n, NULL, solver.n, &solver.elements)
              : api.sbuffer(solver.handle, solver.uplo, solver.n, NULL, solver.n, &solver.elements)) ==
             CUSOLVER_STATUS_SUCCESS &&
         cudaMalloc(&solver.workspace, (size_t)solver.elements * element + 1) == cudaSuccess &&
         cudaMalloc((void **)&solver.info, sizeof *solver.info) == cudaSuccess &&
         (!on_host || (cudaMalloc(&solver.a, solver.a_bytes) == cudaSuccess &&
                       cudaMalloc(&solver.b, solver.b_bytes) == cudaSuccess));
}

void peer_cusolver_close(void) {
  cudaFree(solver.workspace);
  cudaFree(solver.info);
  cudaFree(solver.a);
  cudaFree(solver.b);
  if (solver.handle)
    api.destroy(solver.handle);
  (void)cudaGetLastError(); /* of an allocation that failed */
  solver.handle = NULL;
  solver.workspace = solver.a = solver.b = NULL;
  solver.info = NULL;
}

static cusolverStatus_t solve(void *a, void *b) {
  const int n = solver.n;
  cusolverStatus_t status =
      solver.is_double
          ? api.dpotrf(solver.handle, solver.uplo, n, a, n, solver.workspace, solver.elements, solver.info)
          : api.spotrf(solver.handle, solver.uplo, n, a, n, solver.workspace, solver.elements, solver.info);
  if (b && status == CUSOLVER_STATUS_SUCCESS) /* writes 0 to info */
    status = api.dpotrs(solver.handle, solver.uplo, n, 1, a, n, b, n, solver.info);
  return status;
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
  int info = 0;
  bool ok = !there || (copied(solver.a, a, solver.a_bytes, cudaMemcpyHostToDevice) &&
                       (!b || copied(solver.b, b, solver.b_bytes, cudaMemcpyHostToDevice)));
  ok = ok && solve(there ? solver.a : a, there && b ? solver.b : b) == CUSOLVER_STATUS_SUCCESS && wait() &&
       copied(&info, solver.info, sizeof info, cudaMemcpyDeviceToHost);
  ok = ok && (!there || (copied(a, solver.a, solver.a_bytes, cudaMemcpyDeviceToHost) &&
                         (!b || copied(b, solver.b, solver.b_bytes, cudaMemcpyDeviceToHost))));
  return ok && info == 0 ? DAVIT_SUCCESS : davit_fail(DAVIT_WORK_FAILED, "cuSOLVER: info %d", info);
}
