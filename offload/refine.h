/* SPDX-License-Identifier: Apache-2.0 */
/* Refined systems on devices. Arguments: ref/refine.h; pointers are the device's, but that of the iterations. */
#ifndef DAVIT_OFFLOAD_REFINE_H
#define DAVIT_OFFLOAD_REFINE_H

#include "ref/refine.h"

/* cuSOLVER, on an NVIDIA stream: general matrices. Waits for the stream. */
davit_status dvt_refine_stream(const dvt_site *site, const void *refine);

#endif
