/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a covariance on devices: centring, columns of the product, and conversion of the product to
 * the form that was asked for.
 *
 * Pointers are the device's, arguments have been checked. The site says where a step runs: enqueued on an
 * NVIDIA stream, on threads of the CPU, or as target regions; the last two return when the step is done. */
#ifndef DAVIT_OFFLOAD_COVARIANCE_H
#define DAVIT_OFFLOAD_COVARIANCE_H

#include <davit/covariance.h>
#include <stdbool.h>

#include "offload/runtime/launch.h"
#include "src/base/operation.h"

typedef struct dvt_covariance {
  davit_type type;
  char trans;
  int64_t rows, cols;
  const void *d;
  int64_t ldd;
  double mean_divisor, divisor;
  void *mean, *centred;
  int64_t ldc;
  davit_covariance_form triangle;
  void *s;
  int64_t lds;
  int64_t teams;    /* of a GPU, that share the centring where variables are rows; 0: davit's own choice */
  int64_t all_cols; /* of the data that these are columns of, which the order of sums depends on; 0: cols */
} dvt_covariance;

/* Centring of op(D) into centred, which may be D, and mean; neither is NULL. Needs scratch. */
size_t dvt_centre_scratch(const dvt_covariance *g);
davit_status dvt_centre(const dvt_site *site, const dvt_covariance *g, void *scratch);

/* What the kernel that sums the observations takes of the stream's device. */
davit_status dvt_centre_fit(dvt_stream *stream, davit_type type, dvt_kernel_fit *fit);

/* Columns [begin, end) of the lower triangle of S, from the centred data: rows from `begin` on, to `s`. What
 * stands above the diagonal there is undefined afterwards. */
davit_status dvt_product(const dvt_site *site, const dvt_covariance *g, int64_t begin, int64_t end, void *s,
                         int64_t lds);

/* `to` (cols × rows) becomes the transpose of `from`; with `mirror` only of what lies below its diagonal, so
 * that `to` may be `from`. */
davit_status dvt_transpose(const dvt_site *site, davit_type type, int64_t rows, int64_t cols,
                           const void *from, int64_t ld_from, void *to, int64_t ld_to, bool mirror);

/* What stands below the diagonal of the first `width` columns of a square of `side`, column by column without
 * gaps. */
davit_status dvt_pack(const dvt_site *site, davit_type type, int64_t side, int64_t width, const void *from,
                      int64_t ld, void *packed);

#endif
