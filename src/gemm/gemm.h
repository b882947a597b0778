/* SPDX-License-Identifier: Apache-2.0 */
/* The product as the parts of src/gemm share it. */
#ifndef DAVIT_SRC_GEMM_GEMM_H
#define DAVIT_SRC_GEMM_GEMM_H

#include <davit/gemm.h>

#include "offload/blas.h"
#include "src/runtime/operation.h"

extern const dvt_operation dvt_gemm_operation;

/* Enqueues the product on a lane; operands are memory the lane's device reaches. */
davit_status dvt_gemm_submit(dvt_lane *lane, const dvt_gemm *g);

/* The tiled product over several devices; arguments checked, options complete but for the defaults. */
davit_status dvt_gemm_run(const dvt_gemm *g, const davit_gemm_options *options);

#endif
