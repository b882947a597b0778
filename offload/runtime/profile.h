/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges that profilers show: NVIDIA's annotations (NVTX), in the domain "davit". A tool, as Nsight Systems, attaches
 * itself when the first range begins; where none does, or without CUDA, all this does nothing.
 *
 * Source: NVTX 3, the header-only library of the CUDA toolkit, https://github.com/NVIDIA/NVTX. */
#ifndef DAVIT_OFFLOAD_RUNTIME_PROFILE_H
#define DAVIT_OFFLOAD_RUNTIME_PROFILE_H

#include <stdint.h>

/* What the calling thread does until the range is popped. Ranges of a thread nest. */
void dvt_profile_push(const char *name);
void dvt_profile_pop(void);

/* Any thread may end what another one has begun. */
uint64_t dvt_profile_begin(const char *name);
void dvt_profile_end(uint64_t range);

#endif
