/* SPDX-License-Identifier: Apache-2.0 */
/* C = C + A, which adds partial sums. */
#ifndef DAVIT_SRC_LEVEL3_ADD_H
#define DAVIT_SRC_LEVEL3_ADD_H

#include "offload/blas.h"

extern const dvt_operation dvt_add_operation;

#endif
