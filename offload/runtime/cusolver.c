/* SPDX-License-Identifier: Apache-2.0 */
/* Loading cuSOLVER, its handles and its errors. `entries` and `missing` are written once, before any handle exists; the
 * library is never unloaded. */
#include "offload/runtime/cusolver.h"

#ifdef DAVIT_WITH_CUDA
#include <cusolverDn.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static dvt_cusolver_function entries[DVT_CUSOLVER_COUNT];
static char missing[256];

static void *open_library(void) {
  static const char *const names[] = {
      "libcusolver.so.12", /* of CUDA 13 */
      "libcusolver.so.11", /* of CUDA 12 */
      "libcusolver.so",
#ifdef DAVIT_CUDA_LIBRARY_DIR
      DAVIT_CUDA_LIBRARY_DIR "/libcusolver.so.12",
      DAVIT_CUDA_LIBRARY_DIR "/libcusolver.so.11",
      DAVIT_CUDA_LIBRARY_DIR "/libcusolver.so",
#endif
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library)
      return library;
    if (i == 0) {
      const char *reason = dlerror();
      snprintf(missing, sizeof missing, "cuSOLVER cannot be loaded: %s", reason ? reason : names[i]);
    }
  }
  return NULL;
}

static void load(void) {
#define NAME(name) "cusolverDn" #name,
  static const char *const names[DVT_CUSOLVER_COUNT] = {DVT_CUSOLVER_FUNCTIONS(NAME)};
#undef NAME
  void *library = open_library();
  if (!library)
    return;
  missing[0] = '\0';
  for (int i = 0; i < DVT_CUSOLVER_COUNT; i++) {
    *(void **)&entries[i] = dlsym(library, names[i]);
    if (!entries[i] && !missing[0])
      snprintf(missing, sizeof missing, "the cuSOLVER found has no %s", names[i]);
  }
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
