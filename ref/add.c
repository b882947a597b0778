/* SPDX-License-Identifier: Apache-2.0 */
/* C = C + A on the CPU. */
#include "ref/blas.h"

#define ADD(T)                                                                                               \
  static void add_##T(const dvt_add *g, int threads) {                                                       \
    _Pragma("omp parallel for num_threads(threads)") for (int64_t j = 0; j < g->n; j++) {                    \
      const T *a = (const T *)g->a + j * g->lda;                                                             \
      T *c = (T *)g->c + j * g->ldc;                                                                         \
      for (int64_t i = 0; i < g->m; i++)                                                                     \
        c[i] += a[i];                                                                                        \
    }                                                                                                        \
  }
ADD(double)
ADD(float)

davit_status dvt_add_host(const dvt_site *site, const void *add) {
  const dvt_add *g = add;
  g->type == DAVIT_DOUBLE ? add_double(g, site->threads) : add_float(g, site->threads);
  return DAVIT_SUCCESS;
}
