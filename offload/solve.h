/* SPDX-License-Identifier: Apache-2.0 */
/* Cholesky's factorisation on devices. Arguments: ref/solve.h; pointers are the device's, but that of the result. */
#ifndef DAVIT_OFFLOAD_SOLVE_H
#define DAVIT_OFFLOAD_SOLVE_H

#include "ref/solve.h"

/* cuSOLVER, on an NVIDIA stream. */
davit_status dvt_potrf_stream(const dvt_site *site, const void *potrf);
davit_status dvt_solve_prepare(const dvt_site *site);

/* On devices without it: the blocks of the diagonal on the host, the rest by davit's regions of level 3. */
davit_status dvt_potrf_region(const dvt_site *site, const void *potrf);

#endif
