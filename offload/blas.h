/* SPDX-License-Identifier: Apache-2.0 */
/* BLAS on devices: the stream forms enqueue cuBLAS on an NVIDIA stream, the region forms run davit's own
 * target regions on any OpenMP device. Arguments: ref/blas.h; pointers are the device's. The result of a dot
 * product or a norm may lie on the host or on the device. */
#ifndef DAVIT_OFFLOAD_BLAS_H
#define DAVIT_OFFLOAD_BLAS_H

#include "ref/blas.h"

davit_status dvt_level3_stream(const dvt_site *site, const void *level3);
davit_status dvt_blas_prepare(const dvt_site *site);
davit_status dvt_add_stream(const dvt_site *site, const void *add);
davit_status dvt_gemv_stream(const dvt_site *site, const void *gemv);
davit_status dvt_axpy_stream(const dvt_site *site, const void *axpy);
davit_status dvt_dot_stream(const dvt_site *site, const void *dot);
davit_status dvt_scal_stream(const dvt_site *site, const void *scal);
davit_status dvt_norm_stream(const dvt_site *site, const void *norm);

davit_status dvt_level3_region(const dvt_site *site, const void *level3);

/* The real product as a task. */
bool dvt_gemm_has_tasks(int device, const void *level3);
davit_status dvt_gemm_tasks(const dvt_site *site, const void *level3);
davit_status dvt_add_region(const dvt_site *site, const void *add);
davit_status dvt_gemv_region(const dvt_site *site, const void *gemv);
davit_status dvt_axpy_region(const dvt_site *site, const void *axpy);
davit_status dvt_dot_region(const dvt_site *site, const void *dot);
davit_status dvt_scal_region(const dvt_site *site, const void *scal);
davit_status dvt_norm_region(const dvt_site *site, const void *norm);

#endif
