/* SPDX-License-Identifier: Apache-2.0 */
/* Systems whose matrix is factored in a shorter type, on one device. */
#ifndef DAVIT_SRC_FACTOR_REFINE_H
#define DAVIT_SRC_FACTOR_REFINE_H

#include "offload/refine.h"
#include "src/factor/plain.h"

/* Solves call.a X = call.b, whose places are known, into call.b where it converges: *solved. Else they are as they
 * were, and the native form has to be computed. uplo: of a positive definite matrix; 0: LU. */
davit_status dvt_plain_refine(dvt_plain *p, char uplo, bool at_home, bool *solved);

#endif
