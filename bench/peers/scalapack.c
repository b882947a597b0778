/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* dladdr */
#include "bench/peers/scalapack.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* ScaLAPACK has no C header. Scalars and matrices are of the call's type. */
typedef void multiply_function(const char *, const char *, const int *, const int *, const int *,
                               const void *, const void *, const int *, const int *, const int *,
                               const void *, const int *, const int *, const int *, const void *, void *,
                               const int *, const int *, const int *);
typedef void update_function(const char *, const char *, const int *, const int *, const void *, const void *,
                             const int *, const int *, const int *, const void *, void *, const int *,
                             const int *, const int *);
typedef void solve_function(const char *, const char *, const char *, const char *, const int *, const int *,
                            const void *, const void *, const int *, const int *, const int *, void *,
                            const int *, const int *, const int *);
typedef void cholesky_function(const char *, const int *, void *, const int *, const int *, const int *,
                               int *);
typedef void lu_function(const int *, const int *, void *, const int *, const int *, const int *, int *,
                         int *);

static struct {
  void (*get)(int context, int what, int *value);
  void (*open)(int *context, const char *order, int rows, int cols);
  void (*close)(int context);
  multiply_function *gemm[2]; /* double, float */
  update_function *syrk[2];
  solve_function *trsm[2];
  cholesky_function *potrf[2];
  lu_function *getrf[2];
  void *blas;
} library;
static int context;

static bool find_all(void *handle) {
  const struct {
    void *at;
    const char *name;
  } names[] = {{&library.get, "Cblacs_get"},        {&library.open, "Cblacs_gridinit"},
               {&library.close, "Cblacs_gridexit"}, {&library.gemm[0], "pdgemm_"},
               {&library.gemm[1], "psgemm_"},       {&library.syrk[0], "pdsyrk_"},
               {&library.syrk[1], "pssyrk_"},       {&library.trsm[0], "pdtrsm_"},
               {&library.trsm[1], "pstrsm_"},       {&library.potrf[0], "pdpotrf_"},
               {&library.potrf[1], "pspotrf_"},     {&library.getrf[0], "pdgetrf_"},
               {&library.getrf[1], "psgetrf_"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    void *symbol = dlsym(handle, names[i].name);
    if (!symbol)
      return false;
    memcpy(names[i].at, &symbol, sizeof symbol);
  }
  /* As the dynamic linker resolves it: what the program has already comes first. */
  library.blas = dlsym(RTLD_DEFAULT, "dgemm_");
  if (!library.blas)
    library.blas = dlsym(handle, "dgemm_");
  return true;
}

bool peer_scalapack_load(void) {
  static const char *const names[] = {"libscalapack-openmpi.so.2.2", "libscalapack-openmpi.so.2.1",
                                      "libscalapack-openmpi.so", "libscalapack.so.2.2", "libscalapack.so"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    void *handle = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
    if (handle)
      return find_all(handle);
  }
  return false;
}

/* The real name of the file that has the symbol. */
static const char *file_of(void *symbol, char path[4096]) {
  Dl_info info;
  if (!symbol || !dladdr(symbol, &info) || !info.dli_fname || !realpath(info.dli_fname, path))
    return "";
  return path;
}

const char *peer_scalapack_blas(void) {
  static char path[4096];
  return file_of(library.blas, path);
}

const char *peer_scalapack_file(void) {
  static char path[4096];
  void *symbol = NULL;
  memcpy(&symbol, &library.gemm[0], sizeof symbol);
  return file_of(symbol, path);
}

void peer_scalapack_open(int rows, int cols) {
  library.get(-1, 0, &context);
  library.open(&context, "Row", rows, cols);
}

void peer_scalapack_close(void) {
  library.close(context);
}

void peer_scalapack_run(const peer_scalapack_call *call) {
  static const double one_d = 1, zero_d = 0;
  static const float one_s = 1, zero_s = 0;
  const bool single = call->type == 's';
  const void *one = single ? (const void *)&one_s : &one_d, *zero = single ? (const void *)&zero_s : &zero_d;
  const int first = 1, *n = &call->n;
  int d[9], info;
  memcpy(d, call->descriptor, sizeof d);
  d[1] = context;
  if (call->routine == 'g')
    library.gemm[single]("N", "N", n, n, n, one, call->a, &first, &first, d, call->b, &first, &first, d, zero,
                         call->c, &first, &first, d);
  else if (call->routine == 's')
    library.syrk[single]("L", "N", n, n, one, call->a, &first, &first, d, zero, call->c, &first, &first, d);
  else if (call->routine == 'c')
    library.potrf[single]("L", n, call->c, &first, &first, d, &info);
  else if (call->routine == 'l')
    library.getrf[single](n, n, call->c, &first, &first, d, call->ipiv, &info);
  else
    library.trsm[single]("L", "L", "N", "N", n, n, one, call->a, &first, &first, d, call->c, &first, &first,
                         d);
}
