/* SPDX-License-Identifier: Apache-2.0 */
/* Tall matrices on an NVIDIA stream. Arguments: ref/cholesky_qr.h; pointers are the device's, but that of what a pass
 * has found. */
#ifndef DAVIT_OFFLOAD_CHOLESKY_QR_H
#define DAVIT_OFFLOAD_CHOLESKY_QR_H

#include "ref/cholesky_qr.h"

davit_status dvt_cholesky_qr_stream(const dvt_site *site, const void *cholesky_qr);
davit_status dvt_reconstruct_stream(const dvt_site *site, const void *reconstruct);

/* The steps that are kernels. */
extern const dvt_cholesky_qr_forms dvt_cholesky_qr_kernels;

#endif
