/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/peers/cublasxt.h"

#include <cublasXt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "bench/bench.h"

#if CUDART_VERSION >= 13000
#define EMULATION(F) F(strategy, cublasSetEmulationStrategy)
#else
#define EMULATION(F)
#endif

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
  F(one_sgemm, cublasSgemm_v2)                                                                               \
  F(one_gemm, cublasGemmEx)                                                                                  \
  EMULATION(F)
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

double peer_cublasxt_gemm(const peer_product *p, int64_t block, const void *a, const void *b, void *c) {
  const size_t m = (size_t)p->m, n = (size_t)p->n, k = (size_t)p->k;
  const bool na = p->transa == 'N', nb = p->transb == 'N';
  const cublasOperation_t opa = na ? CUBLAS_OP_N : CUBLAS_OP_T, opb = nb ? CUBLAS_OP_N : CUBLAS_OP_T;
  const size_t lda = na ? m : k, ldb = nb ? k : n;
  double one = 1, zero = 0;
  float onef = 1, zerof = 0;
  if (api.block(handle, (int)block) != CUBLAS_STATUS_SUCCESS)
    return -1;
  double start = bench_now();
  cublasStatus_t status = p->type == 'd'
                              ? api.dgemm(handle, opa, opb, m, n, k, &one, a, lda, b, ldb, &zero, c, m)
                              : api.sgemm(handle, opa, opb, m, n, k, &onef, a, lda, b, ldb, &zerof, c, m);
  return status == CUBLAS_STATUS_SUCCESS ? bench_now() - start : -1;
}

/* Three matrices of n × n on device 0, the first two random: zeros run faster than real data. */
typedef struct square {
  cublasHandle_t handle;
  void *m[3];
  char type;
  int n;
} square;

static bool open_square(square *s, char type, int64_t n) {
  const size_t bytes = (size_t)n * (size_t)n * (type == 'd' ? 8 : 4);
  *s = (square){.type = type, .n = (int)n};
  if (!load() || cudaSetDevice(0) != cudaSuccess || api.one_create(&s->handle) != CUBLAS_STATUS_SUCCESS)
    return false;
  bool ok = true;
  for (int i = 0; i < 3; i++)
    ok = ok && cudaMalloc(&s->m[i], bytes) == cudaSuccess;
  for (int i = 0; i < 2 && ok; i++)
    bench_check(davit_random(type == 'd' ? DAVIT_DOUBLE : DAVIT_FLOAT, n * n, 7, s->m[i]), "fill");
  return ok;
}

static void close_square(square *s) {
  for (int i = 0; i < 3; i++)
    cudaFree(s->m[i]);
  api.one_destroy(s->handle);
}

static bool multiply(square *s, double beta) {
  const cublasOperation_t n = CUBLAS_OP_N;
  const int size = s->n;
  const double alpha = 1;
  const float alphaf = 1, betaf = (float)beta;
  return (s->type == 'd' ? api.one_dgemm(s->handle, n, n, size, size, size, &alpha, s->m[0], size, s->m[1],
                                         size, &beta, s->m[2], size)
                         : api.one_sgemm(s->handle, n, n, size, size, size, &alphaf, s->m[0], size, s->m[1],
                                         size, &betaf, s->m[2], size)) == CUBLAS_STATUS_SUCCESS;
}

/* Not cudaDeviceSynchronize(): in a process of davit's that sleeps, which costs tens of microseconds. */
static bool wait(void) {
  cudaError_t error;
  do
    error = cudaStreamQuery(NULL);
  while (error == cudaErrorNotReady);
  return error == cudaSuccess;
}

double peer_cublas_gemm(char type, int64_t n, int repeats) {
  square s;
  double times[BENCH_MOST];
  bool ok = repeats <= BENCH_MOST && open_square(&s, type, n);
  for (int i = -1; i < repeats && ok; i++) {
    ok = wait();
    const double start = bench_now();
    ok = ok && multiply(&s, 0) && wait();
    if (i >= 0)
      times[i] = bench_now() - start;
  }
  close_square(&s);
  return ok ? bench_median(times, repeats) : -1;
}

/* CUDA 13 has it. By itself cuBLAS multiplies natively where it takes that to be faster, so it is told not to. */
double peer_cublas_emulated(int64_t n, const void *a, const void *b, void *c) {
#if CUDART_VERSION >= 13000
  static cublasHandle_t emulating;
  const int size = (int)n;
  const double one = 1, zero = 0;
  if (!load() || cudaSetDevice(0) != cudaSuccess ||
      (!emulating && (api.one_create(&emulating) != CUBLAS_STATUS_SUCCESS ||
                      api.strategy(emulating, CUBLAS_EMULATION_STRATEGY_EAGER) != CUBLAS_STATUS_SUCCESS)) ||
      !wait())
    return -1;
  const double start = bench_now();
  const cublasStatus_t status = api.one_gemm(
      emulating, CUBLAS_OP_N, CUBLAS_OP_N, size, size, size, &one, a, CUDA_R_64F, size, b, CUDA_R_64F, size,
      &zero, c, CUDA_R_64F, size, CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT, CUBLAS_GEMM_DEFAULT);
  return status == CUBLAS_STATUS_SUCCESS && wait() ? bench_now() - start : -1;
#else
  (void)n, (void)a, (void)b, (void)c;
  return -1;
#endif
}

double peer_cublas_sustained(char type, double seconds) {
  enum { N = 4096, TOGETHER = 20 };
  square s;
  bool ok = open_square(&s, type, N);
  double start = bench_now(), middle = 0, now = start;
  int64_t products = 0;
  while (ok && now - start < seconds) {
    for (int i = 0; i < TOGETHER && ok; i++)
      ok = multiply(&s, 1e-3); /* C stays finite */
    ok = ok && cudaDeviceSynchronize() == cudaSuccess;
    now = bench_now();
    if (middle > 0)
      products += TOGETHER;
    else if (now - start > seconds / 2)
      middle = now;
  }
  close_square(&s);
  return ok && products > 0 ? 2.0 * (double)N * (double)N * (double)N * (double)products / (now - middle)
                            : -1;
}
