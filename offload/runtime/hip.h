/* SPDX-License-Identifier: Apache-2.0 */
/* HIP and hipBLAS of AMD's ROCm, loaded at run time: what a product and its like take on AMD GPUs in place of
 * davit's regions. None of this has run on an AMD GPU. Tests load a stand-in by the same way
 * (tests/outside/hipblas.c).
 *
 * The prototypes and constants are those of HIP's and hipBLAS' documentation, written here once more: no
 * header is needed to build. Memory is the OpenMP runtime's: both runtimes work on ROCr, which has one
 * address space in a process. So kernels of hipBLAS reach it; HIP's own copies, which look pointers up, are
 * not used. */
#ifndef DAVIT_OFFLOAD_RUNTIME_HIP_H
#define DAVIT_OFFLOAD_RUNTIME_HIP_H

#include <davit/status.h>
#include <stdbool.h>
#include <stddef.h>

/* Values of HIP, and of hipBLAS below. tests/outside/hip_headers.c compares them with its headers. */
enum {
  DVT_HIP_OUT_OF_MEMORY = 2, /* hipError_t */
  DVT_HIP_NO_DEVICE = 100,
  DVT_HIP_NON_BLOCKING = 1,    /* a flag of streams */
  DVT_HIP_MULTIPROCESSORS = 63 /* hipDeviceAttribute_t */
};

/* How many devices HIP has; 0 without HIP, and where the environment gives its devices other numbers than the
 * OpenMP runtime's. */
int dvt_hip_count(void);

/* Name, memory and compute units of HIP's device; what HIP does not say stays as it is. */
void dvt_hip_describe(int ordinal, char *name, size_t name_bytes, size_t *memory_bytes, int *units);

davit_status dvt_hip_memory(int ordinal, size_t *free_bytes, size_t *total_bytes);

/* ---- hipBLAS ---- */

/* The entry points of a type follow each other in the order D, S, Z, C. */
#define DVT_HIPBLAS_EACH(X, name) X(D##name) X(S##name) X(Z##name) X(C##name)
#define DVT_HIPBLAS_FUNCTIONS(X)                                                                             \
  DVT_HIPBLAS_EACH(X, gemm)                                                                                  \
  DVT_HIPBLAS_EACH(X, syrk)                                                                                  \
  DVT_HIPBLAS_EACH(X, gemv)                                                                                  \
  DVT_HIPBLAS_EACH(X, axpy)                                                                                  \
  X(Ddot) X(Sdot) X(Zdotu) X(Cdotu) X(Zdotc) X(Cdotc)
#define DVT_HIPBLAS_NUMBER(name) DVT_HIPBLAS_##name,
typedef enum dvt_hipblas_number {
  DVT_HIPBLAS_FUNCTIONS(DVT_HIPBLAS_NUMBER) DVT_HIPBLAS_COUNT
} dvt_hipblas_number;
#undef DVT_HIPBLAS_NUMBER

enum {
  DVT_HIPBLAS_N = 111, /* hipblasOperation_t */
  DVT_HIPBLAS_T = 112,
  DVT_HIPBLAS_C = 113,
  DVT_HIPBLAS_UPPER = 121, /* hipblasFillMode_t */
  DVT_HIPBLAS_LOWER = 122,
  DVT_HIPBLAS_ALLOC_FAILED = 2, /* hipblasStatus_t */
  DVT_HIPBLAS_INVALID_VALUE = 3,
  DVT_HIPBLAS_NOT_SUPPORTED = 7,
  DVT_HIPBLAS_ARCH_MISMATCH = 8
};

/* A handle on a stream of the device, which is HIP's current one, for the calling thread. */
typedef struct dvt_hip_work {
  struct dvt_hip_session *session;
  void *handle;
  int current; /* HIP's device before */
} dvt_hip_work;

/* Whether there is hipBLAS; false too if it has just failed to begin. */
bool dvt_hip_begin(int ordinal, bool result_on_device, dvt_hip_work *work);

typedef void (*dvt_hipblas_function)(void);
dvt_hipblas_function dvt_hipblas_entry(dvt_hipblas_number number);

/* Waits for what was enqueued; `result` is what hipBLAS has said. */
davit_status dvt_hip_end(const dvt_hip_work *work, int result, const char *operation);

#endif
