/* SPDX-License-Identifier: Apache-2.0 */
/* Loading cuBLAS, its handles and its errors.
 *
 * Invariant: `entries` and `missing` are written once, under pthread_once, before any handle exists, and
 * only read afterwards. */
#include "offload/runtime/cublas.h"

#ifdef DAVIT_WITH_CUDA
#include <cublas_v2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "src/base/library.h"

static dvt_cublas_function entries[DVT_CUBLAS_COUNT];
static char missing[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_bool is_loaded;

static void load(void) {
#define NAME(name) "cublas" #name,
  static const char *const libraries[] = DVT_CUDA_NAMES("libcublas.so", "13", "12"),
                           *const names[DVT_CUBLAS_COUNT] = {DVT_CUBLAS_FUNCTIONS(NAME)};
#undef NAME
  char reason[sizeof missing];
  void *library = dvt_library_open(libraries, reason, sizeof reason);
  const char *lacks = library ? dvt_library_find(library, names, DVT_CUBLAS_COUNT, entries) : NULL;
  if (!library)
    snprintf(missing, sizeof missing, "cuBLAS cannot be loaded: %s", reason);
  else if (lacks)
    snprintf(missing, sizeof missing, "the cuBLAS found is older than CUDA 12: it has no %s", lacks);
}

void dvt_cublas_load(void) {
  pthread_once(&once, load);
  atomic_store(&is_loaded, true);
}

bool dvt_cublas_is_loaded(void) {
  return atomic_load(&is_loaded);
}

dvt_cublas_function dvt_cublas_entry(enum dvt_cublas_number number) {
  return entries[number];
}

davit_status dvt_cublas_status(int result, const char *operation) {
  static const struct {
    cublasStatus_t result;
    davit_status status;
  } table[] = {
      {CUBLAS_STATUS_ALLOC_FAILED, DAVIT_OUT_OF_DEVICE_MEMORY},
      {CUBLAS_STATUS_INVALID_VALUE, DAVIT_INVALID_ARGUMENT},
      {CUBLAS_STATUS_ARCH_MISMATCH, DAVIT_UNSUPPORTED},
      {CUBLAS_STATUS_NOT_SUPPORTED, DAVIT_UNSUPPORTED},
      {CUBLAS_STATUS_LICENSE_ERROR, DAVIT_UNSUPPORTED},
  };
  if (result == CUBLAS_STATUS_SUCCESS)
    return DAVIT_SUCCESS;
  (void)cudaGetLastError(); /* what CUDA has told cuBLAS */
  davit_status status = DAVIT_DEVICE_ERROR;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if ((int)table[i].result == result)
      status = table[i].status;
  return davit_fail(status, "%s: cuBLAS says: %s", operation,
                    DVT_CUBLAS(GetStatusString)((cublasStatus_t)result));
}

davit_status dvt_cublas_move(void *handle, void *cuda_stream) {
  return dvt_cublas_status((int)DVT_CUBLAS(SetStream_v2)(handle, cuda_stream),
                           "giving cuBLAS another stream");
}

davit_status dvt_cublas_create(void *cuda_stream, void **handle) {
  dvt_cublas_load();
  if (missing[0])
    return davit_fail(DAVIT_UNSUPPORTED, "%s", missing);
  cublasHandle_t made = NULL;
  cublasStatus_t result = DVT_CUBLAS(Create_v2)(&made);
  if (result != CUBLAS_STATUS_SUCCESS)
    return dvt_cublas_status((int)result, "making a cuBLAS handle");
  result = DVT_CUBLAS(SetStream_v2)(made, cuda_stream);
  if (result == CUBLAS_STATUS_SUCCESS)
    result = DVT_CUBLAS(SetPointerMode_v2)(made, CUBLAS_POINTER_MODE_HOST);
  if (result == CUBLAS_STATUS_SUCCESS)
    result = DVT_CUBLAS(SetMathMode)(made, CUBLAS_DEFAULT_MATH);
  if (result != CUBLAS_STATUS_SUCCESS) {
    dvt_cublas_destroy(made);
    return dvt_cublas_status((int)result, "setting up a cuBLAS handle");
  }
  *handle = made;
  return DAVIT_SUCCESS;
}

void dvt_cublas_destroy(void *handle) {
  if (handle)
    DVT_CUBLAS(Destroy_v2)(handle);
}

#else

void dvt_cublas_load(void) {
}

bool dvt_cublas_is_loaded(void) {
  return true; /* there is none */
}

davit_status dvt_cublas_create(void *cuda_stream, void **handle) {
  (void)cuda_stream, (void)handle;
  return davit_fail(DAVIT_UNSUPPORTED, "this build has no CUDA");
}

void dvt_cublas_destroy(void *handle) {
  (void)handle;
}
#endif
