/* SPDX-License-Identifier: Apache-2.0 */
/* Products by exact sums of integers (ref/exact.h) over devices: their vectors are brought, measured and cut once,
 * where they are used, and tiles of C are computed whole. */
#ifndef DAVIT_SRC_EXACT_EXACT_H
#define DAVIT_SRC_EXACT_EXACT_H

#include <davit/level3.h>

#include "ref/blas.h"

/* Computes the checked product, whose options name devices. Where that is not possible or does not pay,
 * report->why_native says why, C may have been written if it is not read, and the native product is due. */
davit_status dvt_exact_run(const dvt_level3 *g, const davit_level3_options *options,
                           davit_level3_report *report);

#endif
