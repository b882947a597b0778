/* SPDX-License-Identifier: Apache-2.0 */
/* The tables, memory and lanes of a factorisation by blocks. */
#ifndef DAVIT_SRC_FACTOR_MEMORY_H
#define DAVIT_SRC_FACTOR_MEMORY_H

#include "src/factor/blocks.h"

/* NULL: no memory. */
dvt_factoring *dvt_factor_new(dvt_factor_call *call);

/* How long blocks are, memory of the devices, lanes. */
davit_status dvt_factor_prepare(dvt_factoring *f);

/* The first block that does not fit beside those from `first` on, which get their places. */
int64_t dvt_factor_slab_end(dvt_factoring *f, int64_t first);

/* Bytes of block k on its device, without what is beside it. */
size_t dvt_factor_dense_bytes(const dvt_factoring *f, const dvt_blocks *b, int64_t k);

/* Behind all tasks. */
void dvt_factor_free(dvt_factoring *f);

#endif
