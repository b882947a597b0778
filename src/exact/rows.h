/* SPDX-License-Identifier: Apache-2.0 */
/* The operations that an exact product is made of. */
#ifndef DAVIT_SRC_EXACT_ROWS_H
#define DAVIT_SRC_EXACT_ROWS_H

#include "offload/exact.h"

extern const dvt_operation dvt_exact_measure_operation, dvt_exact_cut_operation, dvt_exact_multiply_operation,
    dvt_exact_mirror_operation;

#endif
