/* SPDX-License-Identifier: Apache-2.0 */
/* trsm on an NVIDIA stream, where that is faster than cuBLAS's. */
#ifndef DAVIT_OFFLOAD_SOLVE_H
#define DAVIT_OFFLOAD_SOLVE_H

#include "ref/blas.h"

/* Whether dvt_solve() has been measured to be faster: doubles, many rows and many right-hand sides. */
bool dvt_solve_takes(const dvt_level3 *trsm);

/* `trsm` with m, n > 0 and alpha ≠ 0, enqueued, and so are its products, by `multiply`. */
davit_status dvt_solve(const dvt_site *site, const dvt_level3 *trsm, dvt_form multiply);

#endif
