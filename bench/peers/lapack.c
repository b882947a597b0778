/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/peers/lapack.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef void potrf_function(const char *uplo, const int *n, void *a, const int *lda, int *info,
                            size_t length);
typedef void posv_function(const char *uplo, const int *n, const int *nrhs, void *a, const int *lda, void *b,
                           const int *ldb, int *info, size_t length);

static struct {
  const char *name;
  potrf_function *dpotrf, *spotrf;
  posv_function *dposv;
} loaded[2];
static int count;

static void load(const char *name, const char *file) {
  void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return;
  loaded[count].name = name;
  loaded[count].dpotrf = (potrf_function *)dlsym(library, "dpotrf_");
  loaded[count].spotrf = (potrf_function *)dlsym(library, "spotrf_");
  loaded[count].dposv = (posv_function *)dlsym(library, "dposv_");
  if (loaded[count].dpotrf && loaded[count].spotrf && loaded[count].dposv)
    count++;
}

int peer_lapack_load(int threads) {
  static const char *const variables[] = {"BLIS_NUM_THREADS", "OPENBLAS_NUM_THREADS"};
  char number[16];
  snprintf(number, sizeof number, "%d", threads);
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
    setenv(variables[i], number, 0);
  load("openblas", "libopenblas.so.0");
  load("lapack", "liblapack.so.3");
  return count;
}

const char *peer_lapack_name(int which) {
  return loaded[which].name;
}

davit_status peer_lapack_factor(int which, davit_type type, char uplo, int64_t n, void *a, void *b) {
  const int order = (int)n, one = 1;
  int info = 0;
  if (b)
    loaded[which].dposv(&uplo, &order, &one, a, &order, b, &order, &info, 1);
  else
    (type == DAVIT_DOUBLE ? loaded[which].dpotrf : loaded[which].spotrf)(&uplo, &order, a, &order, &info, 1);
  return info ? davit_fail(DAVIT_WORK_FAILED, "%s: info %d", loaded[which].name, info) : DAVIT_SUCCESS;
}
