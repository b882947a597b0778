/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/peers/lapack.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef void potrf_function(const char *uplo, const int *n, void *a, const int *lda, int *info,
                            size_t length);
typedef void posv_function(const char *uplo, const int *n, const int *nrhs, void *a, const int *lda, void *b,
                           const int *ldb, int *info, size_t length);
typedef void getrf_function(const int *m, const int *n, void *a, const int *lda, int *ipiv, int *info);
typedef void gesv_function(const int *n, const int *nrhs, void *a, const int *lda, int *ipiv, void *b,
                           const int *ldb, int *info);
typedef void geqrf_function(const int *m, const int *n, void *a, const int *lda, void *tau, void *work,
                            const int *lwork, int *info);
typedef void gels_function(const char *trans, const int *m, const int *n, const int *nrhs, void *a,
                           const int *lda, void *b, const int *ldb, void *work, const int *lwork, int *info,
                           size_t length);

/* The functions used: F(type, name). */
#define FUNCTIONS(F)                                                                                         \
  F(potrf_function, dpotrf_)                                                                                 \
  F(potrf_function, spotrf_)                                                                                 \
  F(posv_function, dposv_)                                                                                   \
  F(getrf_function, dgetrf_)                                                                                 \
  F(getrf_function, sgetrf_)                                                                                 \
  F(gesv_function, dgesv_)                                                                                   \
  F(geqrf_function, dgeqrf_)                                                                                 \
  F(geqrf_function, sgeqrf_)                                                                                 \
  F(gels_function, dgels_)
#define MEMBER(type, name) type *name;
#define LOAD(type, name) all = (api->name = (type *)dlsym(library, #name)) && all;

typedef struct lapack {
  const char *name;
  FUNCTIONS(MEMBER)
} lapack;
static lapack loaded[2];
static int count;

static void load(const char *name, const char *file) {
  lapack *api = &loaded[count];
  void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  bool all = library;
  if (!library)
    return;
  api->name = name;
  FUNCTIONS(LOAD)
  count += all;
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

static const int one = 1;

static int cholesky(const lapack *api, const peer_factor *w, void *a, void *b) {
  const int n = (int)w->n;
  int info = 0;
  if (b)
    api->dposv_(&w->uplo, &n, &one, a, &n, b, &n, &info, 1);
  else
    (w->type == DAVIT_DOUBLE ? api->dpotrf_ : api->spotrf_)(&w->uplo, &n, a, &n, &info, 1);
  return info;
}

static int lu(const lapack *api, const peer_factor *w, void *a, void *b, int *ipiv) {
  const int n = (int)w->n;
  int info = 0;
  if (b)
    api->dgesv_(&n, &one, a, &n, ipiv, b, &n, &info);
  else
    (w->type == DAVIT_DOUBLE ? api->dgetrf_ : api->sgetrf_)(&n, &n, a, &n, ipiv, &info);
  return info;
}

/* `work` NULL: writes the best length of it to *length. */
static int qr(const lapack *api, const peer_factor *w, void *a, void *b, void *tau, void *work, int *length) {
  const int m = (int)w->m, n = (int)w->n, elements = work ? *length : -1;
  double best = 0;
  void *to = work ? work : &best;
  int info = 0;
  if (b)
    api->dgels_("N", &m, &n, &one, a, &m, b, &m, to, &elements, &info, 1);
  else
    (w->type == DAVIT_DOUBLE ? api->dgeqrf_ : api->sgeqrf_)(&m, &n, a, &m, tau, to, &elements, &info);
  if (!work)
    *length = w->type == DAVIT_DOUBLE ? (int)best : (int)*(float *)(void *)&best;
  return info;
}

davit_status peer_lapack_factor(int which, const peer_factor *what, void *a, void *b) {
  const lapack *api = &loaded[which];
  void *beside = malloc((size_t)what->n * sizeof(double)), *work = NULL; /* pivots or tau */
  int info = 0, length = 0;
  if (what->kind == PEER_QR) {
    qr(api, what, a, b, beside, NULL, &length);
    work = malloc((size_t)length * sizeof(double));
  }
  if (beside && (work || what->kind != PEER_QR))
    info = what->kind == PEER_CHOLESKY ? cholesky(api, what, a, b)
           : what->kind == PEER_LU     ? lu(api, what, a, b, beside)
                                       : qr(api, what, a, b, beside, work, &length);
  else
    info = -1;
  free(work);
  free(beside);
  return info ? davit_fail(DAVIT_WORK_FAILED, "%s: info %d", api->name, info) : DAVIT_SUCCESS;
}
