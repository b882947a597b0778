/* SPDX-License-Identifier: Apache-2.0 */
/* cuSOLVER, loaded at run time by the first factorisation, as cuBLAS is by the first product (cublas.h). */
#ifndef DAVIT_OFFLOAD_RUNTIME_CUSOLVER_H
#define DAVIT_OFFLOAD_RUNTIME_CUSOLVER_H

#include <davit/operator.h>

/* A handle on the current device bound to `cuda_stream` (a cudaStream_t). */
davit_status dvt_cusolver_create(void *cuda_stream, void **handle);

/* NULL is allowed. */
void dvt_cusolver_destroy(void *handle);

#ifdef DAVIT_WITH_CUDA

/* Entry points by type, in the order D, S, Z, C. */
#define DVT_CUSOLVER_FUNCTIONS(X)                                                                            \
  X(Create)                                                                                                  \
  X(Destroy)                                                                                                 \
  X(SetStream)                                                                                               \
  X(Dpotrf_bufferSize)                                                                                       \
  X(Spotrf_bufferSize)                                                                                       \
  X(Zpotrf_bufferSize)                                                                                       \
  X(Cpotrf_bufferSize)                                                                                       \
  X(Dpotrf)                                                                                                  \
  X(Spotrf)                                                                                                  \
  X(Zpotrf)                                                                                                  \
  X(Cpotrf)                                                                                                  \
  X(Dlauum_bufferSize)                                                                                       \
  X(Slauum_bufferSize)                                                                                       \
  X(Zlauum_bufferSize)                                                                                       \
  X(Clauum_bufferSize)                                                                                       \
  X(Dlauum)                                                                                                  \
  X(Slauum)                                                                                                  \
  X(Zlauum)                                                                                                  \
  X(Clauum)                                                                                                  \
  X(Xtrtri_bufferSize)                                                                                       \
  X(Xtrtri)

#define DVT_CUSOLVER_NUMBER(name) DVT_CUSOLVER_##name,
enum dvt_cusolver_number { DVT_CUSOLVER_FUNCTIONS(DVT_CUSOLVER_NUMBER) DVT_CUSOLVER_COUNT };
#undef DVT_CUSOLVER_NUMBER

/* The entry point cusolverDn<name>; there is one as soon as there is a handle. Callers include <cusolverDn.h>. */
typedef void (*dvt_cusolver_function)(void);
dvt_cusolver_function dvt_cusolver_entry(int number);
#define DVT_CUSOLVER(name) ((__typeof__(cusolverDn##name) *)dvt_cusolver_entry(DVT_CUSOLVER_##name))

/* The entry point for a type of the routine whose first one is `name`; all have its prototype if pointers are given as
 * void *. */
#define DVT_CUSOLVER_OF(type, name)                                                                          \
  ((__typeof__(cusolverDn##name) *)dvt_cusolver_entry(                                                       \
      DVT_CUSOLVER_##name + ((type) == DAVIT_FLOAT || (type) == DAVIT_COMPLEX_FLOAT) +                       \
      ((type) >= DAVIT_COMPLEX_FLOAT ? 2 : 0)))

/* Turns a cusolverStatus_t into a status with a sentence that names the operation. */
davit_status dvt_cusolver_status(int result, const char *operation);

#endif
#endif
