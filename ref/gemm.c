/* SPDX-License-Identifier: Apache-2.0 */
/* C = alpha op(A) op(B) + beta C on the CPU, by BLIS.
 *
 * BLIS splits the work over m and n, never over k, and any number of threads may call at the same time: each
 * call has its own thread count, and BLIS initialises itself once under a lock. */
#include <blis.h>
#include <limits.h>
#include <omp.h>

#include "ref/blas.h"

/* BLIS aborts the process when a parallel region gives it several threads but fewer than it asked for. With
 * the runtime's dynamic adjustment off, OMP_THREAD_LIMIT takes threads away: outside of parallel regions it
 * says how many there are, inside of them the other threads' share is unknown. (LLVM's
 * KMP_DEVICE_THREAD_LIMIT counts the whole process, and cannot be asked for: it must not be set below what
 * all calls use.) */
int dvt_ref_threads(int threads) {
  int limit = omp_get_thread_limit();
  if (omp_in_parallel() && limit < INT_MAX)
    return 1;
  return threads < limit ? threads : limit;
}

davit_status dvt_gemm_host(const dvt_site *site, const void *gemm) {
  const dvt_gemm *g = gemm;
  if (g->m == 0 || g->n == 0)
    return DAVIT_SUCCESS;
  const trans_t opa = g->transa == 'N' ? BLIS_NO_TRANSPOSE : BLIS_TRANSPOSE;
  const trans_t opb = g->transb == 'N' ? BLIS_NO_TRANSPOSE : BLIS_TRANSPOSE;
  void *a = (void *)(uintptr_t)g->a, *b = (void *)(uintptr_t)g->b;
  double alpha = g->alpha, beta = g->beta;
  float alpha_s = (float)alpha, beta_s = (float)beta;
  rntm_t runtime = BLIS_RNTM_INITIALIZER;
  bli_rntm_set_num_threads(dvt_ref_threads(site->threads), &runtime);
  int dynamic = omp_get_dynamic();
  omp_set_dynamic(0);
  if (g->type == DAVIT_DOUBLE)
    bli_dgemm_ex(opa, opb, g->m, g->n, g->k, &alpha, a, 1, g->lda, b, 1, g->ldb, &beta, g->c, 1, g->ldc, NULL,
                 &runtime);
  else
    bli_sgemm_ex(opa, opb, g->m, g->n, g->k, &alpha_s, a, 1, g->lda, b, 1, g->ldb, &beta_s, g->c, 1, g->ldc,
                 NULL, &runtime);
  omp_set_dynamic(dynamic);
  return DAVIT_SUCCESS;
}
