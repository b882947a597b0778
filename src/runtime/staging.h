/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between pageable host memory and a device with streams, through two pinned buffers: while one
 * travels the host thread packs or unpacks the other. The floor is the host's memcpy or the link, whichever
 * is slower; blocking. */
#ifndef DAVIT_SRC_RUNTIME_STAGING_H
#define DAVIT_SRC_RUNTIME_STAGING_H

#include <davit/status.h>
#include <stddef.h>

davit_status dvt_stage_up(int device, void *destination, size_t destination_pitch, const void *source,
                          size_t source_pitch, size_t row_bytes, size_t cols);
davit_status dvt_stage_down(int device, void *destination, size_t destination_pitch, const void *source,
                            size_t source_pitch, size_t row_bytes, size_t cols);

#endif
