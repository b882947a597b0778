/* SPDX-License-Identifier: Apache-2.0 */
/* The routines of level 3 as operations: one row each, for one call on one lane. */
#ifndef DAVIT_SRC_LEVEL3_ARGUMENTS_H
#define DAVIT_SRC_LEVEL3_ARGUMENTS_H

#include <davit/level3.h>

#include "offload/blas.h"
#include "src/runtime/operation.h"

extern const dvt_operation dvt_level3_operations[DVT_ROUTINES];

/* C = C + A, which adds partial sums. */
extern const dvt_operation dvt_add_operation;

#endif
