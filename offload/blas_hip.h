/* SPDX-License-Identifier: Apache-2.0 */
/* hipBLAS on AMD GPUs, for the region forms of BLAS (offload/blas.h): each returns true if it has taken the
 * operation, with its outcome in *status, and false if the region has to: there is no hipBLAS, it lacks the
 * operation, or a length does not fit hipBLAS' 32-bit integers. DAVIT_BLAS=target prefers the regions. */
#ifndef DAVIT_OFFLOAD_BLAS_HIP_H
#define DAVIT_OFFLOAD_BLAS_HIP_H

#include "ref/blas.h"

/* Whether they may take any on the device. */
bool dvt_hip_is_used(int device);

bool dvt_level3_hip(int device, const dvt_level3 *g, davit_status *status);
bool dvt_gemv_hip(int device, const dvt_gemv *g, davit_status *status);
bool dvt_axpy_hip(int device, const dvt_axpy *g, davit_status *status);
bool dvt_dot_hip(int device, const dvt_dot *g, davit_status *status);

#endif
