/* SPDX-License-Identifier: Apache-2.0 */
/* y = opᵀ(A) (op(A) x) on devices. Pointers are the device's, arguments have been checked. */
#ifndef DAVIT_OFFLOAD_ATAX_H
#define DAVIT_OFFLOAD_ATAX_H

#include <davit/atax.h>

#include "offload/runtime/launch.h"
#include "src/base/operation.h"

typedef struct dvt_atax {
  davit_type type;
  char trans;
  int64_t m, n;
  const void *a;
  int64_t lda;
  const void *x;
  void *tmp, *y; /* tmp may be NULL */
  bool add;      /* to what y holds */
  int64_t teams; /* of the one-pass kernel of 'T', at most; 0: as many as run at once */
} dvt_atax;

/* The lengths of tmp, and of x and y. */
static inline int64_t dvt_atax_inner(const dvt_atax *g) {
  return g->trans == 'N' ? g->m : g->n;
}

static inline int64_t dvt_atax_outer(const dvt_atax *g) {
  return g->trans == 'N' ? g->n : g->m;
}

/* On a GPU: enqueued on the site's stream, or as target regions, which run on any device. */
davit_status dvt_atax_device(const dvt_site *site, const void *atax);
davit_status dvt_atax_host(const dvt_site *site, const void *atax);

/* What the one-pass kernel for that shape takes of the stream's device. DAVIT_UNSUPPORTED: there is none. */
davit_status dvt_atax_fit(dvt_stream *stream, const dvt_atax *g, dvt_kernel_fit *fit);

#endif
