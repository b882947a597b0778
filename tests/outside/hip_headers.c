/* SPDX-License-Identifier: Apache-2.0 */
/* davit loads HIP and hipBLAS by name and has no need of their headers. Where a machine has them, this source
 * compiles only if prototypes and values are those that offload/runtime/hip.c and offload/blas_hip.c assume.
 * Debian 12 has HIP's headers (libamdhip64-dev), but not hipBLAS'. */
#include <hip/hip_runtime_api.h>

#include "offload/runtime/hip.h"

#define SAME_TYPE(name, result, ...)                                                                         \
  _Static_assert(__builtin_types_compatible_p(__typeof__(name), result(__VA_ARGS__)),                        \
                 #name " has another prototype")
#define SAME_VALUE(name, value) _Static_assert((int)(name) == (int)(value), #name " has another value")

_Static_assert(sizeof(hipError_t) == sizeof(int) && sizeof(hipDeviceAttribute_t) == sizeof(int) &&
                   sizeof(hipStream_t) == sizeof(void *),
               "HIP's types have another size");
SAME_TYPE(hipGetDeviceCount, hipError_t, int *);
SAME_TYPE(hipGetDevice, hipError_t, int *);
SAME_TYPE(hipSetDevice, hipError_t, int);
SAME_TYPE(hipDeviceGetName, hipError_t, char *, int, int);
SAME_TYPE(hipDeviceTotalMem, hipError_t, size_t *, int);
SAME_TYPE(hipDeviceGetAttribute, hipError_t, int *, hipDeviceAttribute_t, int);
SAME_TYPE(hipMemGetInfo, hipError_t, size_t *, size_t *);
SAME_TYPE(hipStreamCreateWithFlags, hipError_t, hipStream_t *, unsigned);
SAME_TYPE(hipStreamSynchronize, hipError_t, hipStream_t);
SAME_TYPE(hipGetErrorString, const char *, hipError_t);
SAME_VALUE(hipSuccess, 0);
SAME_VALUE(hipErrorOutOfMemory, DVT_HIP_OUT_OF_MEMORY);
SAME_VALUE(hipErrorNoDevice, DVT_HIP_NO_DEVICE);
SAME_VALUE(hipStreamNonBlocking, DVT_HIP_NON_BLOCKING);
SAME_VALUE(hipDeviceAttributeMultiprocessorCount, DVT_HIP_MULTIPROCESSORS);

#if __has_include(<hipblas/hipblas.h>)
#include <hipblas/hipblas.h>

_Static_assert(sizeof(hipblasStatus_t) == sizeof(int) && sizeof(hipblasOperation_t) == sizeof(int) &&
                   sizeof(hipblasFillMode_t) == sizeof(int) && sizeof(hipblasPointerMode_t) == sizeof(int) &&
                   sizeof(hipblasHandle_t) == sizeof(void *),
               "hipBLAS' types have another size");
SAME_TYPE(hipblasCreate, hipblasStatus_t, hipblasHandle_t *);
SAME_TYPE(hipblasSetStream, hipblasStatus_t, hipblasHandle_t, hipStream_t);
SAME_TYPE(hipblasSetPointerMode, hipblasStatus_t, hipblasHandle_t, hipblasPointerMode_t);
SAME_TYPE(hipblasDgemm, hipblasStatus_t, hipblasHandle_t, hipblasOperation_t, hipblasOperation_t, int, int,
          int, const double *, const double *, int, const double *, int, const double *, double *, int);
SAME_TYPE(hipblasDsyrk, hipblasStatus_t, hipblasHandle_t, hipblasFillMode_t, hipblasOperation_t, int, int,
          const double *, const double *, int, const double *, double *, int);
SAME_TYPE(hipblasDgemv, hipblasStatus_t, hipblasHandle_t, hipblasOperation_t, int, int, const double *,
          const double *, int, const double *, int, const double *, double *, int);
SAME_TYPE(hipblasDaxpy, hipblasStatus_t, hipblasHandle_t, int, const double *, const double *, int, double *,
          int);
SAME_TYPE(hipblasDdot, hipblasStatus_t, hipblasHandle_t, int, const double *, int, const double *, int,
          double *);
SAME_VALUE(HIPBLAS_STATUS_SUCCESS, 0);
SAME_VALUE(HIPBLAS_STATUS_ALLOC_FAILED, DVT_HIPBLAS_ALLOC_FAILED);
SAME_VALUE(HIPBLAS_STATUS_INVALID_VALUE, DVT_HIPBLAS_INVALID_VALUE);
SAME_VALUE(HIPBLAS_STATUS_NOT_SUPPORTED, DVT_HIPBLAS_NOT_SUPPORTED);
SAME_VALUE(HIPBLAS_STATUS_ARCH_MISMATCH, DVT_HIPBLAS_ARCH_MISMATCH);
SAME_VALUE(HIPBLAS_POINTER_MODE_HOST, false);
SAME_VALUE(HIPBLAS_POINTER_MODE_DEVICE, true);
SAME_VALUE(HIPBLAS_OP_N, DVT_HIPBLAS_N);
SAME_VALUE(HIPBLAS_OP_T, DVT_HIPBLAS_T);
SAME_VALUE(HIPBLAS_OP_C, DVT_HIPBLAS_C);
SAME_VALUE(HIPBLAS_FILL_MODE_UPPER, DVT_HIPBLAS_UPPER);
SAME_VALUE(HIPBLAS_FILL_MODE_LOWER, DVT_HIPBLAS_LOWER);
#endif
