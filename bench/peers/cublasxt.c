/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/peers/cublasxt.h"

#ifdef DAVIT_WITH_CUDA
#include <cublasXt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "bench/bench.h"

/* The functions used, by the names the library exports. */
static struct {
  __typeof__(&cublasXtCreate) create;
  __typeof__(&cublasXtDestroy) destroy;
  __typeof__(&cublasXtDeviceSelect) select;
  __typeof__(&cublasXtSetBlockDim) block;
  __typeof__(&cublasXtDgemm) dgemm;
  __typeof__(&cublasXtSgemm) sgemm;
  __typeof__(&cublasCreate_v2) one_create;
  __typeof__(&cublasDestroy_v2) one_destroy;
  __typeof__(&cublasDgemm_v2) one_dgemm;
  __typeof__(&cublasSgemm_v2) one_sgemm;
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
  api.create = dlsym(library, "cublasXtCreate");
  api.destroy = dlsym(library, "cublasXtDestroy");
  api.select = dlsym(library, "cublasXtDeviceSelect");
  api.block = dlsym(library, "cublasXtSetBlockDim");
  api.dgemm = dlsym(library, "cublasXtDgemm");
  api.sgemm = dlsym(library, "cublasXtSgemm");
  api.one_create = dlsym(library, "cublasCreate_v2");
  api.one_destroy = dlsym(library, "cublasDestroy_v2");
  api.one_dgemm = dlsym(library, "cublasDgemm_v2");
  api.one_sgemm = dlsym(library, "cublasSgemm_v2");
  return api.create && api.destroy && api.select && api.block && api.dgemm && api.sgemm && api.one_create &&
         api.one_destroy && api.one_dgemm && api.one_sgemm;
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

#else

bool peer_cublasxt_open(int devices) {
  (void)devices;
  return false;
}

void peer_cublasxt_close(void) {
}

double peer_cublasxt_gemm(char type, int64_t n, int64_t block, const void *a, const void *b, void *c) {
  (void)type, (void)n, (void)block, (void)a, (void)b, (void)c;
  return -1;
}

double peer_cublas_gemm(char type, int64_t n, int repeats) {
  (void)type, (void)n, (void)repeats;
  return -1;
}
#endif
