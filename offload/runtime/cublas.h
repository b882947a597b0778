/* SPDX-License-Identifier: Apache-2.0 */
/* cuBLAS, loaded at run time: programs and machines without it lose nothing but the NVIDIA path.
 *
 * Internal to offload/. The table of entry points is filled once, on the first handle, from the 64-bit
 * interface of CUDA 12 and later; a library that lacks one of them counts as no library. Sentences
 * name the operation. Without CUDA in the build everything fails with DAVIT_UNSUPPORTED. */
#ifndef DAVIT_OFFLOAD_RUNTIME_CUBLAS_H
#define DAVIT_OFFLOAD_RUNTIME_CUBLAS_H

#include <davit/status.h>
#include <stdint.h>

/* A handle on the current device bound to `cuda_stream` (a cudaStream_t): scalars on the host, FP32 and FP64
 * arithmetic as such (no TF32). cuBLAS keeps a workspace for each handle (32 MiB on Hopper). */
davit_status dvt_cublas_create(void *cuda_stream, void **handle);

/* Waits for the handle's device, which must be current; NULL is allowed. */
void dvt_cublas_destroy(void *handle);

#ifdef DAVIT_WITH_CUDA

/* Entry points by type: the one for float follows the one for double. */
#define DVT_CUBLAS_FUNCTIONS(X)                                                                              \
  X(Create_v2)                                                                                               \
  X(Destroy_v2)                                                                                              \
  X(SetStream_v2)                                                                                            \
  X(SetPointerMode_v2)                                                                                       \
  X(SetMathMode)                                                                                             \
  X(GetStatusString)                                                                                         \
  X(Dgeam_64)                                                                                                \
  X(Sgeam_64)                                                                                                \
  X(Dgemm_v2_64)                                                                                             \
  X(Sgemm_v2_64)                                                                                             \
  X(Dgemv_v2_64)                                                                                             \
  X(Sgemv_v2_64)                                                                                             \
  X(Daxpy_v2_64)                                                                                             \
  X(Saxpy_v2_64)                                                                                             \
  X(Ddot_v2_64)                                                                                              \
  X(Sdot_v2_64)                                                                                              \
  X(Dsyrk_v2_64)                                                                                             \
  X(Ssyrk_v2_64)

#define DVT_CUBLAS_NUMBER(name) DVT_CUBLAS_##name,
enum dvt_cublas_number { DVT_CUBLAS_FUNCTIONS(DVT_CUBLAS_NUMBER) DVT_CUBLAS_COUNT };
#undef DVT_CUBLAS_NUMBER

/* The entry point cublas<name>; there is one as soon as there is a handle. Callers include <cublas_v2.h>,
 * which gives DVT_CUBLAS(name) its type. */
typedef void (*dvt_cublas_function)(void);
dvt_cublas_function dvt_cublas_entry(enum dvt_cublas_number number);
#define DVT_CUBLAS(name) ((__typeof__(cublas##name) *)dvt_cublas_entry(DVT_CUBLAS_##name))

/* The same for cublasD<name> or cublasS<name> by type; both have the prototype of the former if pointers are
 * given as void *. */
#define DVT_CUBLAS_OF(type, name)                                                                            \
  ((__typeof__(cublasD##name) *)dvt_cublas_entry(DVT_CUBLAS_D##name + ((type) == DAVIT_FLOAT)))

/* Turns a cublasStatus_t into a status with a sentence that names the operation. */
davit_status dvt_cublas_status(int result, const char *operation);

#endif
#endif
