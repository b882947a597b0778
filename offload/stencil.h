/* SPDX-License-Identifier: Apache-2.0 */
/* The stencil on devices: the forms, for one rectangle of b.
 *
 * The rectangle may be part of a larger matrix: `edges` says which of its sides are borders of the matrix.
 * Beyond the other sides a has one more row or column, which is read. Pointers are the device's, arguments
 * have been checked. */
#ifndef DAVIT_OFFLOAD_STENCIL_H
#define DAVIT_OFFLOAD_STENCIL_H

#include <davit/stencil.h>

#include "offload/runtime/launch.h"
#include "src/base/operation.h"

enum { DVT_TOP = 1, DVT_BOTTOM = 2, DVT_LEFT = 4, DVT_RIGHT = 8 };

typedef struct dvt_stencil {
  davit_type type;
  int64_t rows, cols;
  const void *a;
  int64_t lda;
  double coefficients[9];
  davit_stencil_border border;
  int edges;
  void *b;
  int64_t ldb;
  int64_t threads, columns; /* of a GPU's team: threads, columns of b; 0: davit's own choice */
} dvt_stencil;

/* On a GPU: enqueued on the site's stream, or as a target region. */
davit_status dvt_stencil_device(const dvt_site *site, const void *stencil);
davit_status dvt_stencil_host(const dvt_site *site, const void *stencil);

/* What the kernel for this rectangle takes of the stream's device. */
davit_status dvt_stencil_fit(dvt_stream *stream, const dvt_stencil *s, dvt_kernel_fit *fit);

#endif
