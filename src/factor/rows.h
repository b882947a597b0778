/* SPDX-License-Identifier: Apache-2.0 */
/* Factorisations, and what is done with the factors, as operations of one lane. */
#ifndef DAVIT_SRC_FACTOR_ROWS_H
#define DAVIT_SRC_FACTOR_ROWS_H

#include "offload/cholesky_qr.h"
#include "offload/factored.h"
#include "offload/solve.h"
#include "src/runtime/operation.h"

extern const dvt_operation dvt_potrf_operation, dvt_getrf_operation, dvt_getrs_operation, dvt_geqrf_operation,
    dvt_ormqr_operation, dvt_orgqr_operation;

/* Parts of them, whose arguments are right. */
extern const dvt_operation dvt_permute_operation, dvt_reflect_operation, dvt_reflector_operation,
    dvt_unit_operation, dvt_adjoint_operation, dvt_fetch_operation, dvt_cholesky_qr_operation,
    dvt_reconstruct_operation;

#endif
