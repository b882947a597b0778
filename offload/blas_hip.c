/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/blas_hip.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "offload/runtime/hip.h"
#include "src/base/environment.h"

/* hipBLAS' prototypes, with pointers of any type. */
typedef int (*gemm_function)(void *handle, int transa, int transb, int m, int n, int k, const void *alpha,
                             const void *a, int lda, const void *b, int ldb, const void *beta, void *c,
                             int ldc);
typedef int (*syrk_function)(void *handle, int uplo, int trans, int n, int k, const void *alpha,
                             const void *a, int lda, const void *beta, void *c, int ldc);
typedef int (*gemv_function)(void *handle, int trans, int m, int n, const void *alpha, const void *a, int lda,
                             const void *x, int incx, const void *beta, void *y, int incy);
typedef int (*axpy_function)(void *handle, int n, const void *alpha, const void *x, int incx, void *y,
                             int incy);
typedef int (*dot_function)(void *handle, int n, const void *x, int incx, const void *y, int incy,
                            void *result);

static int operation(char trans) {
  return trans == 'N' ? DVT_HIPBLAS_N : trans == 'T' ? DVT_HIPBLAS_T : DVT_HIPBLAS_C;
}

static dvt_hipblas_function entry(dvt_hipblas_number first, davit_type type) {
  const int behind = type == DAVIT_DOUBLE           ? 0
                     : type == DAVIT_FLOAT          ? 1
                     : type == DAVIT_COMPLEX_DOUBLE ? 2
                                                    : 3;
  return dvt_hipblas_entry((dvt_hipblas_number)((int)first + behind));
}

static bool fits(const int64_t *lengths, int count) {
  bool all = true;
  for (int i = 0; i < count; i++)
    all = all && lengths[i] <= INT_MAX && lengths[i] >= -INT_MAX;
  return all;
}
#define FIT(...) fits((const int64_t[]){__VA_ARGS__}, (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)))

bool dvt_hip_is_used(int device) {
  const char *forced = dvt_environment("DAVIT_BLAS");
  return !(forced && strcmp(forced, "target") == 0) && dvt_device_find(device)->hip_ordinal >= 0;
}

static bool begin(int device, bool result_on_device, dvt_hip_work *work) {
  return dvt_hip_is_used(device) &&
         dvt_hip_begin(dvt_device_find(device)->hip_ordinal, result_on_device, work);
}

/* What vanishes (A and B stay unread then) is left to the region. */
bool dvt_level3_hip(int device, const dvt_level3 *g, davit_status *status) {
  const dvt_scalar alpha = dvt_scalar_of(g->type, g->alpha), beta = dvt_scalar_of(g->type, g->beta);
  const int m = (int)g->m, n = (int)g->n, k = (int)g->k, lda = (int)g->lda, ldb = (int)g->ldb,
            ldc = (int)g->ldc;
  dvt_hip_work work;
  int result;
  if ((g->routine != DVT_GEMM && g->routine != DVT_SYRK) || dvt_level3_vanishes(g) ||
      !FIT(g->m, g->n, g->k, g->lda, g->ldb, g->ldc) || !begin(device, false, &work))
    return false;
  if (g->routine == DVT_GEMM)
    result = ((gemm_function)entry(DVT_HIPBLAS_Dgemm, g->type))(work.handle, operation(g->transa),
                                                                operation(g->transb), m, n, k, &alpha, g->a,
                                                                lda, g->b, ldb, &beta, g->c, ldc);
  else
    result = ((syrk_function)entry(DVT_HIPBLAS_Dsyrk, g->type))(
        work.handle, g->uplo == 'L' ? DVT_HIPBLAS_LOWER : DVT_HIPBLAS_UPPER, operation(g->transa), n, k,
        &alpha, g->a, lda, &beta, g->c, ldc);
  *status = dvt_hip_end(&work, result, g->routine == DVT_GEMM ? "gemm" : "syrk");
  return true;
}

bool dvt_gemv_hip(int device, const dvt_gemv *g, davit_status *status) {
  const dvt_scalar alpha = dvt_scalar_of(g->type, g->alpha), beta = dvt_scalar_of(g->type, g->beta);
  dvt_hip_work work;
  if (g->alpha == 0 || !FIT(g->m, g->n, g->lda, g->incx, g->incy) || !begin(device, false, &work))
    return false;
  const int result = ((gemv_function)entry(DVT_HIPBLAS_Dgemv, g->type))(
      work.handle, operation(g->trans), (int)g->m, (int)g->n, &alpha, g->a, (int)g->lda, g->x, (int)g->incx,
      &beta, g->y, (int)g->incy);
  *status = dvt_hip_end(&work, result, "gemv");
  return true;
}

bool dvt_axpy_hip(int device, const dvt_axpy *g, davit_status *status) {
  const dvt_scalar alpha = dvt_scalar_of(g->type, g->alpha);
  dvt_hip_work work;
  if (!FIT(g->n, g->incx, g->incy) || !begin(device, false, &work))
    return false;
  const int result = ((axpy_function)entry(DVT_HIPBLAS_Daxpy, g->type))(work.handle, (int)g->n, &alpha, g->x,
                                                                        (int)g->incx, g->y, (int)g->incy);
  *status = dvt_hip_end(&work, result, "axpy");
  return true;
}

bool dvt_dot_hip(int device, const dvt_dot *g, davit_status *status) {
  dvt_hip_work work;
  if (g->n <= 0 || !FIT(g->n, g->incx, g->incy) || !begin(device, g->on_device, &work))
    return false;
  const bool complex = g->type == DAVIT_COMPLEX_DOUBLE || g->type == DAVIT_COMPLEX_FLOAT;
  const int behind = g->conjugate && complex ? 2 : 0; /* dotc stands behind dotu */
  const int result = ((dot_function)entry((dvt_hipblas_number)(DVT_HIPBLAS_Ddot + behind), g->type))(
      work.handle, (int)g->n, g->x, (int)g->incx, g->y, (int)g->incy, g->result);
  *status = dvt_hip_end(&work, result, "dot");
  return true;
}
