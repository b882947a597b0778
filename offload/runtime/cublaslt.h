/* SPDX-License-Identifier: Apache-2.0 */
/* cuBLASLt, which cuBLAS loads as well; a handle of cuBLAS is one of it. */
#ifndef DAVIT_OFFLOAD_RUNTIME_CUBLASLT_H
#define DAVIT_OFFLOAD_RUNTIME_CUBLASLT_H

#include <davit/operator.h>

#ifdef DAVIT_WITH_CUDA

/* Loads the library; there are entry points after a success. */
davit_status dvt_cublaslt_load(void);

#define DVT_CUBLASLT_FUNCTIONS(X)                                                                            \
  X(Matmul)                                                                                                  \
  X(MatmulAlgoGetHeuristic)                                                                                  \
  X(MatmulDescCreate)                                                                                        \
  X(MatmulDescDestroy)                                                                                       \
  X(MatmulDescSetAttribute)                                                                                  \
  X(MatmulPreferenceCreate)                                                                                  \
  X(MatmulPreferenceDestroy)                                                                                 \
  X(MatmulPreferenceSetAttribute)                                                                            \
  X(MatrixLayoutCreate)                                                                                      \
  X(MatrixLayoutDestroy)                                                                                     \
  X(MatrixLayoutSetAttribute)

#define DVT_CUBLASLT_NUMBER(name) DVT_CUBLASLT_##name,
enum dvt_cublaslt_number { DVT_CUBLASLT_FUNCTIONS(DVT_CUBLASLT_NUMBER) DVT_CUBLASLT_COUNT };
#undef DVT_CUBLASLT_NUMBER

/* The entry point cublasLt<name>. Callers include <cublasLt.h>. */
typedef void (*dvt_cublaslt_function)(void);
dvt_cublaslt_function dvt_cublaslt_entry(int number);
#define DVT_CUBLASLT(name) ((__typeof__(cublasLt##name) *)dvt_cublaslt_entry(DVT_CUBLASLT_##name))

#endif
#endif
