/* SPDX-License-Identifier: Apache-2.0 */
/* LU, QR and what is done with their factors, on devices. Arguments: ref/factored.h; pointers are the device's. */
#ifndef DAVIT_OFFLOAD_FACTORED_H
#define DAVIT_OFFLOAD_FACTORED_H

#include "ref/factored.h"

/* cuSOLVER, on an NVIDIA stream. */
davit_status dvt_getrf_stream(const dvt_site *site, const void *getrf);
davit_status dvt_getrs_stream(const dvt_site *site, const void *getrs);
davit_status dvt_geqrf_stream(const dvt_site *site, const void *geqrf);
davit_status dvt_ormqr_stream(const dvt_site *site, const void *ormqr);
davit_status dvt_orgqr_stream(const dvt_site *site, const void *orgqr);
davit_status dvt_reflect_stream(const dvt_site *site, const void *reflect);

/* On devices without it: on the host, with copies of the operands. */
davit_status dvt_getrf_region(const dvt_site *site, const void *getrf);
davit_status dvt_getrs_region(const dvt_site *site, const void *getrs);
davit_status dvt_geqrf_region(const dvt_site *site, const void *geqrf);
davit_status dvt_ormqr_region(const dvt_site *site, const void *ormqr);
davit_status dvt_orgqr_region(const dvt_site *site, const void *orgqr);
davit_status dvt_reflect_region(const dvt_site *site, const void *reflect);
davit_status dvt_adjoint_region(const dvt_site *site, const void *adjoint);

/* Products by level 3 of the site, with so much scratch memory. */
static inline size_t dvt_reflector_bytes(const dvt_reflector *r) {
  return (size_t)(2 * r->k * (r->right ? r->m : r->n)) * davit_type_bytes(r->type);
}
davit_status dvt_reflector_stream(const dvt_site *site, const void *reflector);
davit_status dvt_reflector_region(const dvt_site *site, const void *reflector);
davit_status dvt_adjoint_stream(const dvt_site *site, const void *adjoint);

/* Waits for the site's stream, if it has one. */
davit_status dvt_site_wait(const dvt_site *site);

/* Kernels of davit's, on streams and as regions. */
davit_status dvt_permute_device(const dvt_site *site, const void *permute);
davit_status dvt_unit_device(const dvt_site *site, const void *unit);
davit_status dvt_fetch_device(const dvt_site *site, const void *fetch);

/* The number of the first NaN on the diagonal of A, of order n, from 1 on, to *info, unless that is less and not 0. For
 * streams. */
davit_status dvt_find_nan_device(const dvt_site *site, davit_type type, const void *a, int64_t ld, int64_t n,
                                 int *info);

#endif
