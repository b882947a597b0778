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
  X(Dgetrf_bufferSize)                                                                                       \
  X(Sgetrf_bufferSize)                                                                                       \
  X(Zgetrf_bufferSize)                                                                                       \
  X(Cgetrf_bufferSize)                                                                                       \
  X(Dgetrf)                                                                                                  \
  X(Sgetrf)                                                                                                  \
  X(Zgetrf)                                                                                                  \
  X(Cgetrf)                                                                                                  \
  X(Dgetrs)                                                                                                  \
  X(Sgetrs)                                                                                                  \
  X(Zgetrs)                                                                                                  \
  X(Cgetrs)                                                                                                  \
  X(Dgeqrf_bufferSize)                                                                                       \
  X(Sgeqrf_bufferSize)                                                                                       \
  X(Zgeqrf_bufferSize)                                                                                       \
  X(Cgeqrf_bufferSize)                                                                                       \
  X(Dgeqrf)                                                                                                  \
  X(Sgeqrf)                                                                                                  \
  X(Zgeqrf)                                                                                                  \
  X(Cgeqrf)                                                                                                  \
  X(Dormqr_bufferSize)                                                                                       \
  X(Sormqr_bufferSize)                                                                                       \
  X(Zunmqr_bufferSize)                                                                                       \
  X(Cunmqr_bufferSize)                                                                                       \
  X(Dormqr)                                                                                                  \
  X(Sormqr)                                                                                                  \
  X(Zunmqr)                                                                                                  \
  X(Cunmqr)                                                                                                  \
  X(Dorgqr_bufferSize)                                                                                       \
  X(Sorgqr_bufferSize)                                                                                       \
  X(Zungqr_bufferSize)                                                                                       \
  X(Cungqr_bufferSize)                                                                                       \
  X(Dorgqr)                                                                                                  \
  X(Sorgqr)                                                                                                  \
  X(Zungqr)                                                                                                  \
  X(Cungqr)                                                                                                  \
  X(Xlarft_bufferSize)                                                                                       \
  X(Xlarft)                                                                                                  \
  X(IRSParamsCreate)                                                                                         \
  X(IRSParamsDestroy)                                                                                        \
  X(IRSParamsSetSolverPrecisions)                                                                            \
  X(IRSParamsSetRefinementSolver)                                                                            \
  X(IRSParamsSetMaxIters)                                                                                    \
  X(IRSParamsDisableFallback)                                                                                \
  X(IRSInfosCreate)                                                                                          \
  X(IRSInfosDestroy)                                                                                         \
  X(IRSXgesv_bufferSize)                                                                                     \
  X(IRSXgesv)                                                                                                \
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

/* Calls that entry point with the variable `handle`. */
#define DVT_CUSOLVER_CALL(type, name, ...)                                                                   \
  dvt_cusolver_status((int)DVT_CUSOLVER_OF(type, name)(handle, __VA_ARGS__), #name)

/* The type as a cudaDataType, for entry points that serve all of them. */
#define DVT_CUDA_TYPE(type)                                                                                  \
  ((type) == DAVIT_DOUBLE           ? CUDA_R_64F                                                             \
   : (type) == DAVIT_FLOAT          ? CUDA_R_32F                                                             \
   : (type) == DAVIT_COMPLEX_DOUBLE ? CUDA_C_64F                                                             \
                                    : CUDA_C_32F)

#endif
#endif
