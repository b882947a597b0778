/* SPDX-License-Identifier: Apache-2.0 */
/* Loading cuSOLVER, its handles and its errors. `entries` and `missing` are written once, before any handle exists. */
#include "offload/runtime/cusolver.h"

#ifdef DAVIT_WITH_CUDA
#include <cusolverDn.h>
#include <pthread.h>
#include <stdio.h>

#include "offload/runtime/cublas.h"
#include "src/base/library.h"

static dvt_cusolver_function entries[DVT_CUSOLVER_COUNT];
static char missing[256];

static void load(void) {
#define NAME(name) "cusolverDn" #name,
  static const char *const libraries[] = DVT_CUDA_NAMES("libcusolver.so", "12", "11"),
                           *const names[DVT_CUSOLVER_COUNT] = {DVT_CUSOLVER_FUNCTIONS(NAME)};
#undef NAME
  char reason[sizeof missing];
  void *library = dvt_library_open(libraries, reason, sizeof reason);
  const char *lacks = library ? dvt_library_find(library, names, DVT_CUSOLVER_COUNT, entries) : NULL;
  if (!library)
    snprintf(missing, sizeof missing, "cuSOLVER cannot be loaded: %s", reason);
  else if (lacks)
    snprintf(missing, sizeof missing, "the cuSOLVER found has no %s", lacks);
}

dvt_cusolver_function dvt_cusolver_entry(int number) {
  return entries[number];
}

davit_status dvt_cusolver_status(int result, const char *operation) {
  if (result == CUSOLVER_STATUS_SUCCESS)
    return DAVIT_SUCCESS;
  (void)cudaGetLastError(); /* what CUDA has told cuSOLVER */
  const davit_status status =
      result == CUSOLVER_STATUS_ALLOC_FAILED    ? DAVIT_OUT_OF_DEVICE_MEMORY
      : result == CUSOLVER_STATUS_INVALID_VALUE ? DAVIT_INVALID_ARGUMENT
      : result == CUSOLVER_STATUS_ARCH_MISMATCH || result == CUSOLVER_STATUS_NOT_SUPPORTED
          ? DAVIT_UNSUPPORTED
          : DAVIT_DEVICE_ERROR;
  return davit_fail(status, "%s: cuSOLVER says: status %d", operation, result);
}

davit_status dvt_cusolver_create(void *cuda_stream, void **handle) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  if (missing[0])
    return davit_fail(DAVIT_UNSUPPORTED, "%s", missing);
  cusolverDnHandle_t made = NULL;
  int result = (int)DVT_CUSOLVER(Create)(&made);
  if (result == CUSOLVER_STATUS_SUCCESS)
    result = (int)DVT_CUSOLVER(SetStream)(made, cuda_stream);
  if (result != CUSOLVER_STATUS_SUCCESS) {
    dvt_cusolver_destroy(made);
    return dvt_cusolver_status(result, "making a cuSOLVER handle");
  }
  *handle = made;
  return DAVIT_SUCCESS;
}

void dvt_cusolver_destroy(void *handle) {
  if (handle)
    DVT_CUSOLVER(Destroy)(handle);
}

#else

davit_status dvt_cusolver_create(void *cuda_stream, void **handle) {
  (void)cuda_stream, (void)handle;
  return davit_fail(DAVIT_UNSUPPORTED, "this build has no CUDA");
}

void dvt_cusolver_destroy(void *handle) {
  (void)handle;
}
#endif
