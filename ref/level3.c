/* SPDX-License-Identifier: Apache-2.0 */
/* Level 3 on the CPU, by BLIS.
 *
 * BLIS splits the work over the rows and columns of the result, never over the length of its sums, and any
 * number of threads may call at the same time: each call has its own thread count, and BLIS initialises
 * itself once under a lock. It does not read the half of a symmetric, hermitian or triangular matrix that is
 * not stored, nor a diagonal of ones, nor the imaginary parts of a hermitian diagonal. */
#include <limits.h>
#include <omp.h>

#include "ref/blas.h"
#include "ref/blis.h"
#include "src/base/fork.h"

/* BLIS aborts the process when a parallel region gives it several threads but fewer than it asked for. With
 * the runtime's dynamic adjustment off, OMP_THREAD_LIMIT takes threads away: outside of parallel regions it
 * says how many there are, inside of them the other threads' share is unknown. (LLVM's
 * KMP_DEVICE_THREAD_LIMIT counts the whole process, and cannot be asked for: it must not be set below what
 * all calls use.)
 *
 * On a thread that fork() has left, BLIS computes alone: the runtime may wait for threads of the parent. What shall have
 * more is handed to another thread (dvt_host_form()). */
int dvt_ref_threads(int threads) {
  if (dvt_thread_is_forked())
    return 1;
  int limit = omp_get_thread_limit();
  if (omp_in_parallel() && limit < INT_MAX)
    return 1;
  return threads < limit ? threads : limit;
}

static obj_t scalar_object(davit_type type, double _Complex value, dvt_scalar *memory) {
  obj_t object;
  *memory = dvt_scalar_of(type, value);
  bli_obj_create_1x1_with_attached_buffer(dvt_blis_type(type), memory, &object);
  return object;
}

/* A matrix whose op() is rows × cols. */
static obj_t matrix_object(davit_type type, char trans, int64_t rows, int64_t cols, const void *a,
                           int64_t lda) {
  obj_t object;
  bli_obj_create_with_attached_buffer(dvt_blis_type(type), trans == 'N' ? rows : cols,
                                      trans == 'N' ? cols : rows, (void *)(uintptr_t)a, 1, lda, &object);
  bli_obj_set_conjtrans(trans == 'N'   ? BLIS_NO_TRANSPOSE
                        : trans == 'T' ? BLIS_TRANSPOSE
                                       : BLIS_CONJ_TRANSPOSE,
                        &object);
  return object;
}

static void set_triangle(const dvt_level3 *g, struc_t structure, obj_t *object) {
  bli_obj_set_struc(structure, object);
  bli_obj_set_uplo(g->uplo == 'L' ? BLIS_LOWER : BLIS_UPPER, object);
}

/* C = alpha op(A) B + beta C, or in place. */
static void multiply_triangle(const dvt_level3 *g, side_t side, obj_t *alpha, obj_t *a, obj_t *beta, obj_t *c,
                              rntm_t *runtime) {
  if (g->b == g->c) {
    bli_trmm_ex(side, alpha, a, c, NULL, runtime);
    return;
  }
  obj_t b = matrix_object(g->type, 'N', g->m, g->n, g->b, g->ldb);
  bli_trmm3_ex(side, alpha, a, &b, beta, c, NULL, runtime);
}

static void call(const dvt_level3 *g, rntm_t *runtime) {
  dvt_scalar memory[2];
  const side_t side = g->side == 'R' ? BLIS_RIGHT : BLIS_LEFT;
  const int64_t order = g->side == 'R' ? g->n : g->m; /* of A, if it is square */
  obj_t alpha = scalar_object(g->type, g->alpha, &memory[0]),
        beta = scalar_object(g->type, g->beta, &memory[1]);
  obj_t c = matrix_object(g->type, 'N', g->m, g->n, g->c, g->ldc), a, b;
  switch (g->routine) {
  case DVT_GEMM:
    a = matrix_object(g->type, g->transa, g->m, g->k, g->a, g->lda);
    b = matrix_object(g->type, g->transb, g->k, g->n, g->b, g->ldb);
    bli_gemm_ex(&alpha, &a, &b, &beta, &c, NULL, runtime);
    return;
  case DVT_SYMM:
  case DVT_HEMM:
    a = matrix_object(g->type, 'N', order, order, g->a, g->lda);
    b = matrix_object(g->type, 'N', g->m, g->n, g->b, g->ldb);
    set_triangle(g, g->routine == DVT_SYMM ? BLIS_SYMMETRIC : BLIS_HERMITIAN, &a);
    (g->routine == DVT_SYMM ? bli_symm_ex : bli_hemm_ex)(side, &alpha, &a, &b, &beta, &c, NULL, runtime);
    return;
  case DVT_SYRK:
  case DVT_HERK:
    a = matrix_object(g->type, g->transa, g->n, g->k, g->a, g->lda);
    set_triangle(g, g->routine == DVT_SYRK ? BLIS_SYMMETRIC : BLIS_HERMITIAN, &c);
    (g->routine == DVT_SYRK ? bli_syrk_ex : bli_herk_ex)(&alpha, &a, &beta, &c, NULL, runtime);
    return;
  case DVT_SYR2K:
  case DVT_HER2K:
    a = matrix_object(g->type, g->transa, g->n, g->k, g->a, g->lda);
    b = matrix_object(g->type, g->transa, g->n, g->k, g->b, g->ldb);
    set_triangle(g, g->routine == DVT_SYR2K ? BLIS_SYMMETRIC : BLIS_HERMITIAN, &c);
    (g->routine == DVT_SYR2K ? bli_syr2k_ex : bli_her2k_ex)(&alpha, &a, &b, &beta, &c, NULL, runtime);
    return;
  default:
    a = matrix_object(g->type, g->transa, order, order, g->a, g->lda);
    set_triangle(g, BLIS_TRIANGULAR, &a);
    bli_obj_set_diag(g->diag == 'U' ? BLIS_UNIT_DIAG : BLIS_NONUNIT_DIAG, &a);
    if (g->routine == DVT_TRMM)
      multiply_triangle(g, side, &alpha, &a, &beta, &c, runtime);
    else
      bli_trsm_ex(side, &alpha, &a, &c, NULL, runtime);
  }
}

/* BLIS scales the whole of C before it clears the imaginary parts of a hermitian diagonal, and 0 times a NaN
 * there would reach the real parts. */
static void clear_imaginary_diagonal(const dvt_level3 *g) {
  for (int64_t i = 0; i < g->n; i++)
    if (g->type == DAVIT_COMPLEX_DOUBLE)
      __imag__((double _Complex *)g->c)[i * (g->ldc + 1)] = 0;
    else
      __imag__((float _Complex *)g->c)[i * (g->ldc + 1)] = 0;
}

davit_status dvt_level3_host(const dvt_site *site, const void *arguments) {
  const dvt_level3 *g = arguments;
  if (dvt_level3_is_done(g))
    return DAVIT_SUCCESS;
  rntm_t runtime = BLIS_RNTM_INITIALIZER;
  bli_rntm_set_num_threads(dvt_ref_threads(site->threads), &runtime);
  int dynamic = omp_get_dynamic();
  omp_set_dynamic(0);
  if (g->routine == DVT_HERK || g->routine == DVT_HER2K)
    clear_imaginary_diagonal(g);
  call(g, &runtime);
  omp_set_dynamic(dynamic);
  return DAVIT_SUCCESS;
}
