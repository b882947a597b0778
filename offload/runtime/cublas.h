/* SPDX-License-Identifier: Apache-2.0 */
/* cuBLAS, loaded at run time: programs and machines without it lose nothing but the NVIDIA path.
 *
 * Internal to offload/. The table of entry points is filled once, on the first handle, from the 64-bit
 * interface of CUDA 12 and later; a library that lacks one of them counts as no library. Sentences
 * name the operation. Without CUDA in the build everything fails with DAVIT_UNSUPPORTED. */
#ifndef DAVIT_OFFLOAD_RUNTIME_CUBLAS_H
#define DAVIT_OFFLOAD_RUNTIME_CUBLAS_H

#include <davit/operator.h>
#include <stdbool.h>
#include <stdint.h>

/* Loads the library, as the first handle does; it takes 60 ms, in which another thread can prepare what the handle is
 * for. Whether that has been done. */
void dvt_cublas_load(void);
bool dvt_cublas_is_loaded(void);

/* A handle on the current device bound to `cuda_stream` (a cudaStream_t): scalars on the host, FP32 and FP64
 * arithmetic as such (no TF32). cuBLAS keeps a workspace for each handle (32 MiB on Hopper). */
davit_status dvt_cublas_create(void *cuda_stream, void **handle);

/* Waits for the handle's device, which must be current; NULL is allowed. */
void dvt_cublas_destroy(void *handle);

#ifdef DAVIT_WITH_CUDA

/* Names of a library of CUDA 13 or 12, or of any, for dvt_library_open(): as the linker finds it, or where the toolkit
 * was that davit was built with. */
#define DVT_CUDA_FILES(stem, of_13, of_12) stem "." of_13, stem "." of_12, stem
#ifdef DAVIT_CUDA_LIBRARY_DIR
#define DVT_CUDA_NAMES(stem, of_13, of_12)                                                                   \
  {DVT_CUDA_FILES(stem, of_13, of_12), DVT_CUDA_FILES(DAVIT_CUDA_LIBRARY_DIR "/" stem, of_13, of_12), NULL}
#else
#define DVT_CUDA_NAMES(stem, of_13, of_12) {DVT_CUDA_FILES(stem, of_13, of_12), NULL}
#endif

/* The handle works on another stream of its device. */
davit_status dvt_cublas_move(void *handle, void *cuda_stream);

/* Entry points by type, in the order D, S, Z, C: the numbers of a routine are its first one and those behind. */
#define DVT_CUBLAS_FUNCTIONS(X)                                                                              \
  X(Create_v2)                                                                                               \
  X(Destroy_v2)                                                                                              \
  X(SetStream_v2)                                                                                            \
  X(SetPointerMode_v2)                                                                                       \
  X(SetMathMode)                                                                                             \
  X(GetStatusString)                                                                                         \
  X(Dgeam_64)                                                                                                \
  X(Sgeam_64)                                                                                                \
  X(Zgeam_64)                                                                                                \
  X(Cgeam_64)                                                                                                \
  X(Dgemm_v2_64)                                                                                             \
  X(Sgemm_v2_64)                                                                                             \
  X(Zgemm_v2_64)                                                                                             \
  X(Cgemm_v2_64)                                                                                             \
  X(DgemmStridedBatched_64)                                                                                  \
  X(Dsymm_v2_64)                                                                                             \
  X(Ssymm_v2_64)                                                                                             \
  X(Zsymm_v2_64)                                                                                             \
  X(Csymm_v2_64)                                                                                             \
  X(Dsyrk_v2_64)                                                                                             \
  X(Ssyrk_v2_64)                                                                                             \
  X(Zsyrk_v2_64)                                                                                             \
  X(Csyrk_v2_64)                                                                                             \
  X(Dsyr2k_v2_64)                                                                                            \
  X(Ssyr2k_v2_64)                                                                                            \
  X(Zsyr2k_v2_64)                                                                                            \
  X(Csyr2k_v2_64)                                                                                            \
  X(Dtrmm_v2_64)                                                                                             \
  X(Strmm_v2_64)                                                                                             \
  X(Ztrmm_v2_64)                                                                                             \
  X(Ctrmm_v2_64)                                                                                             \
  X(Dtrsm_v2_64)                                                                                             \
  X(Strsm_v2_64)                                                                                             \
  X(Ztrsm_v2_64)                                                                                             \
  X(Ctrsm_v2_64)                                                                                             \
  X(Dgemv_v2_64)                                                                                             \
  X(Sgemv_v2_64)                                                                                             \
  X(Zgemv_v2_64)                                                                                             \
  X(Cgemv_v2_64)                                                                                             \
  X(Daxpy_v2_64)                                                                                             \
  X(Saxpy_v2_64)                                                                                             \
  X(Zaxpy_v2_64)                                                                                             \
  X(Caxpy_v2_64)                                                                                             \
  X(Dscal_v2_64)                                                                                             \
  X(Sscal_v2_64)                                                                                             \
  X(Zscal_v2_64)                                                                                             \
  X(Cscal_v2_64)                                                                                             \
  X(Zhemm_v2_64)                                                                                             \
  X(Chemm_v2_64)                                                                                             \
  X(Zherk_v2_64)                                                                                             \
  X(Cherk_v2_64)                                                                                             \
  X(Zher2k_v2_64)                                                                                            \
  X(Cher2k_v2_64)                                                                                            \
  X(Ddot_v2_64)                                                                                              \
  X(Sdot_v2_64)                                                                                              \
  X(Zdotu_v2_64)                                                                                             \
  X(Cdotu_v2_64)                                                                                             \
  X(Zdotc_v2_64)                                                                                             \
  X(Cdotc_v2_64)                                                                                             \
  X(Dnrm2_v2_64)                                                                                             \
  X(Snrm2_v2_64)                                                                                             \
  X(Dznrm2_v2_64)                                                                                            \
  X(Scnrm2_v2_64)                                                                                            \
  X(Dasum_v2_64)                                                                                             \
  X(Sasum_v2_64)                                                                                             \
  X(Dzasum_v2_64)                                                                                            \
  X(Scasum_v2_64)

#define DVT_CUBLAS_NUMBER(name) DVT_CUBLAS_##name,
enum dvt_cublas_number { DVT_CUBLAS_FUNCTIONS(DVT_CUBLAS_NUMBER) DVT_CUBLAS_COUNT };
#undef DVT_CUBLAS_NUMBER

/* The entry point cublas<name>; there is one as soon as there is a handle. Callers include <cublas_v2.h>,
 * which gives DVT_CUBLAS(name) its type. */
typedef void (*dvt_cublas_function)(void);
dvt_cublas_function dvt_cublas_entry(enum dvt_cublas_number number);
#define DVT_CUBLAS(name) ((__typeof__(cublas##name) *)dvt_cublas_entry(DVT_CUBLAS_##name))

/* The entry point for a type of the routine whose first one is `name`, Dgemm_v2_64 or Zherk_v2_64. All have
 * its prototype if pointers are given as void *. */
#define DVT_CUBLAS_OF(type, name)                                                                            \
  ((__typeof__(cublas##name) *)dvt_cublas_entry(                                                             \
      (enum dvt_cublas_number)((int)DVT_CUBLAS_##name + dvt_cublas_behind(type, #name[0] == 'Z'))))
static inline int dvt_cublas_behind(davit_type type, bool complex_only) {
  return (type == DAVIT_FLOAT || type == DAVIT_COMPLEX_FLOAT) +
         (!complex_only && type >= DAVIT_COMPLEX_FLOAT ? 2 : 0);
}

/* Turns a cublasStatus_t into a status with a sentence that names the operation. */
davit_status dvt_cublas_status(int result, const char *operation);

#endif
#endif
