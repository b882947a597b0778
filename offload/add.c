/* SPDX-License-Identifier: Apache-2.0 */
/* C = C + A as target regions: one y = x + y if both are dense, else one for each column. */
#include "offload/blas.h"

davit_status dvt_add_region(const dvt_site *site, const void *add) {
  const dvt_add *g = add;
  const bool dense = g->lda == g->m && g->ldc == g->m;
  const int64_t length = dense ? g->m * g->n : g->m, columns = dense ? 1 : g->n;
  const size_t element = davit_type_bytes(g->type);
  for (int64_t j = 0; j < columns; j++) {
    const dvt_axpy column = {.type = g->type,
                             .n = length,
                             .alpha = 1,
                             .x = (const char *)g->a + (size_t)(j * g->lda) * element,
                             .incx = 1,
                             .y = (char *)g->c + (size_t)(j * g->ldc) * element,
                             .incy = 1};
    DVT_TRY(dvt_axpy_region(site, &column));
  }
  return DAVIT_SUCCESS;
}
