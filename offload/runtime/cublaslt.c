/* SPDX-License-Identifier: Apache-2.0 */
/* Loading cuBLASLt. `entries` and `missing` are written once. */
#include "offload/runtime/cublaslt.h"

#ifdef DAVIT_WITH_CUDA
#include <pthread.h>
#include <stdio.h>

#include "offload/runtime/cublas.h"
#include "src/base/library.h"

static dvt_cublaslt_function entries[DVT_CUBLASLT_COUNT];
static char missing[256];

static void load(void) {
#define NAME(name) "cublasLt" #name,
  static const char *const libraries[] = DVT_CUDA_NAMES("libcublasLt.so", "13", "12"),
                           *const names[DVT_CUBLASLT_COUNT] = {DVT_CUBLASLT_FUNCTIONS(NAME)};
#undef NAME
  char reason[sizeof missing];
  void *library = dvt_library_open(libraries, reason, sizeof reason);
  const char *lacks = library ? dvt_library_find(library, names, DVT_CUBLASLT_COUNT, entries) : NULL;
  if (!library)
    snprintf(missing, sizeof missing, "cuBLASLt cannot be loaded: %s", reason);
  else if (lacks)
    snprintf(missing, sizeof missing, "the cuBLASLt found has no %s", lacks);
}

davit_status dvt_cublaslt_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return missing[0] ? davit_fail(DAVIT_UNSUPPORTED, "%s", missing) : DAVIT_SUCCESS;
}

dvt_cublaslt_function dvt_cublaslt_entry(int number) {
  return entries[number];
}
#endif
