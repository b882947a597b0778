/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of the real product. */
#ifndef DAVIT_OFFLOAD_GEMM_H
#define DAVIT_OFFLOAD_GEMM_H

#include "ref/blas.h"

void dvt_gemm_region(int device, const dvt_level3 *g);

/* In the generator: nowait depend(inout: *order). */
void dvt_gemm_task(int device, char *order, const dvt_level3 *g);

#endif
