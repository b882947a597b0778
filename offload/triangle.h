/* SPDX-License-Identifier: Apache-2.0 */
/* trsm and trmm on an NVIDIA stream, where davit's are faster than cuBLAS's. */
#ifndef DAVIT_OFFLOAD_TRIANGLE_H
#define DAVIT_OFFLOAD_TRIANGLE_H

#include "ref/blas.h"

/* Enqueues `count` products of the shape of `first`, a gemm of doubles; the next one's A, B and C lie so many
 * elements behind. */
typedef davit_status (*dvt_products)(const dvt_site *site, const dvt_level3 *first, int64_t count,
                                     int64_t apart_a, int64_t apart_b, int64_t apart_c);

/* Whether dvt_solve() has been measured to be faster: doubles, many rows and many right-hand sides, on a device whose
 * teams have the memory. */
bool dvt_solve_takes(const dvt_site *site, const dvt_level3 *trsm);

/* `trsm` with m, n > 0 and alpha ≠ 0, enqueued, and so are its products. */
davit_status dvt_solve(const dvt_site *site, const dvt_level3 *trsm, dvt_products products);

/* The same of trmm whose B is C, or does not overlap it. */
bool dvt_triangle_product_takes(const dvt_site *site, const dvt_level3 *trmm);
davit_status dvt_triangle_product(const dvt_site *site, const dvt_level3 *trmm, dvt_products products);

#endif
