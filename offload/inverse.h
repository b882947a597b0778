/* SPDX-License-Identifier: Apache-2.0 */
/* Inverses on devices. Arguments: ref/inverse.h; A and the scratch memory are the device's, the rest is on the host.
 * Both forms wait for the device, as they look at the diagonal first. */
#ifndef DAVIT_OFFLOAD_INVERSE_H
#define DAVIT_OFFLOAD_INVERSE_H

#include "ref/inverse.h"

/* cuSOLVER for blocks of the diagonal, cuBLAS for the rest. */
davit_status dvt_inverse_stream(const dvt_site *site, const void *inverse);

/* On devices without it: the blocks of the diagonal on the host, the rest by davit's regions of level 3. */
davit_status dvt_inverse_region(const dvt_site *site, const void *inverse);

#endif
