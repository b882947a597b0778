/* SPDX-License-Identifier: Apache-2.0 */
/* BLAS on devices: the stream forms enqueue cuBLAS on an NVIDIA stream, the region forms run davit's own
 * target regions on any OpenMP device. Arguments: ref/blas.h; pointers are the device's. The result of a dot
 * product may lie on the host or on the device. */
#ifndef DAVIT_OFFLOAD_BLAS_H
#define DAVIT_OFFLOAD_BLAS_H

#include "ref/blas.h"

davit_status dvt_gemm_stream(const dvt_site *site, const void *gemm);
davit_status dvt_gemv_stream(const dvt_site *site, const void *gemv);
davit_status dvt_axpy_stream(const dvt_site *site, const void *axpy);
davit_status dvt_dot_stream(const dvt_site *site, const void *dot);
davit_status dvt_syrk_stream(const dvt_site *site, const void *syrk);

davit_status dvt_gemm_region(const dvt_site *site, const void *gemm);
davit_status dvt_gemv_region(const dvt_site *site, const void *gemv);
davit_status dvt_axpy_region(const dvt_site *site, const void *axpy);
davit_status dvt_dot_region(const dvt_site *site, const void *dot);

#endif
