/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/peers/cublasxt.h"

#include <cublasXt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "bench/bench.h"

/* The functions used: F(member, name in the library). */
#define FUNCTIONS(F)                                                                                         \
  F(create, cublasXtCreate)                                                                                  \
  F(destroy, cublasXtDestroy)                                                                                \
  F(select, cublasXtDeviceSelect)                                                                            \
  F(block, cublasXtSetBlockDim)                                                                              \
  F(dgemm, cublasXtDgemm)                                                                                    \
  F(sgemm, cublasXtSgemm)                                                                                    \
  F(one_create, cublasCreate_v2)                                                                             \
  F(one_destroy, cublasDestroy_v2)                                                                           \
  F(one_dgemm, cublasDgemm_v2)                                                                               \
  F(one_sgemm, cublasSgemm_v2)
#define MEMBER(member, name) __typeof__(&name) member;
#define LOAD(member, name) all = (api.member = dlsym(library, #name)) && all;
static struct {
  FUNCTIONS(MEMBER)
} api;

static cublasXtHandle_t handle;

static bool load(void) {
  static void *library;
  if (!library)
    library = dlopen("libcublas.so.13", RTLD_NOW);
  if (!library)
    library = dlopen(DAVIT_CUDA_LIBRARY_DIR "/libcublas.so", RTLD_NOW);
  if (!library)
    return false;
  bool all = true;
  FUNCTIONS(LOAD)
  return all;
}

bool peer_cublasxt_open(int devices) {
  int numbers[64], present = 0;
  if (cudaGetDeviceCount(&present) != cudaSuccess || present < devices || devices > 64 || !load())
    return false;
  for (int i = 0; i < devices; i++)
    numbers[i] = i;
  return api.create(&handle) == CUBLAS_STATUS_SUCCESS &&
         api.select(handle, devices, numbers) == CUBLAS_STATUS_SUCCESS;
}

void peer_cublasxt_close(void) {
  api.destroy(handle);
}

double peer_cublasxt_gemm(char type, int64_t n, int64_t block, const void *a, const void *b, void *c) {
  size_t size = (size_t)n;
  double one = 1, zero = 0;
  float onef = 1, zerof = 0;
  if (api.block(handle, (int)block) != CUBLAS_STATUS_SUCCESS)
    return -1;
  double start = bench_now();
  cublasStatus_t status = type == 'd' ? api.dgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, size, size, size, &one, a,
                                                  size, b, size, &zero, c, size)
                                      : api.sgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, size, size, size, &onef,
                                                  a, size, b, size, &zerof, c, size);
  return status == CUBLAS_STATUS_SUCCESS ? bench_now() - start : -1;
}

double peer_cublas_gemm(char type, int64_t n, int repeats) {
  cublasHandle_t one;
  size_t bytes = (size_t)n * (size_t)n * (type == 'd' ? 8 : 4);
  void *m[3] = {0};
  int size = (int)n;
  double alpha = 1, beta = 0, best = -1;
  float alphaf = 1, betaf = 0;
  if (!load() || cudaSetDevice(0) != cudaSuccess || api.one_create(&one) != CUBLAS_STATUS_SUCCESS)
    return -1;
  bool ok = true;
  for (int i = 0; i < 3; i++)
    ok = ok && cudaMalloc(&m[i], bytes) == cudaSuccess;
  for (int i = 0; i < 2 && ok; i++) /* random operands: zeros run faster than real data */
    bench_check(type == 'd' ? davit_random(DAVIT_DOUBLE, n * n, 7, m[i])
                            : davit_random(DAVIT_FLOAT, n * n, 7, m[i]),
                "fill");
  for (int i = 0; i <= repeats && ok; i++) {
    cudaDeviceSynchronize();
    double start = bench_now();
    ok = (type == 'd' ? api.one_dgemm(one, CUBLAS_OP_N, CUBLAS_OP_N, size, size, size, &alpha, m[0], size,
                                      m[1], size, &beta, m[2], size)
                      : api.one_sgemm(one, CUBLAS_OP_N, CUBLAS_OP_N, size, size, size, &alphaf, m[0], size,
                                      m[1], size, &betaf, m[2], size)) == CUBLAS_STATUS_SUCCESS &&
         cudaDeviceSynchronize() == cudaSuccess;
    double seconds = bench_now() - start;
    if (i > 0 && (best < 0 || seconds < best))
      best = seconds;
  }
  for (int i = 0; i < 3; i++)
    cudaFree(m[i]);
  api.one_destroy(one);
  return ok ? best : -1;
}
