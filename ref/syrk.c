/* SPDX-License-Identifier: Apache-2.0 */
/* The product of a matrix by its own transpose on the CPU, by BLIS. */
#include <blis.h>
#include <omp.h>

#include "ref/blas.h"

davit_status dvt_syrk_host(const dvt_site *site, const void *syrk) {
  const dvt_syrk *g = syrk;
  const trans_t op = g->trans == 'N' ? BLIS_NO_TRANSPOSE : BLIS_TRANSPOSE;
  void *a = (void *)(uintptr_t)g->a;
  double alpha = g->alpha, zero = 0;
  float alpha_s = (float)alpha, zero_s = 0;
  rntm_t runtime = BLIS_RNTM_INITIALIZER;
  bli_rntm_set_num_threads(dvt_ref_threads(site->threads), &runtime);
  int dynamic = omp_get_dynamic();
  omp_set_dynamic(0);
  if (g->type == DAVIT_DOUBLE)
    bli_dsyrk_ex(BLIS_LOWER, op, g->n, g->k, &alpha, a, 1, g->lda, &zero, g->c, 1, g->ldc, NULL, &runtime);
  else
    bli_ssyrk_ex(BLIS_LOWER, op, g->n, g->k, &alpha_s, a, 1, g->lda, &zero_s, g->c, 1, g->ldc, NULL,
                 &runtime);
  omp_set_dynamic(dynamic);
  return DAVIT_SUCCESS;
}
