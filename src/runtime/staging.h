/* SPDX-License-Identifier: Apache-2.0 */
/* How pageable memory passes to and from a device: through pinned memory, in strips that several threads of the host
 * pack and unpack. The floor is the host's memory or the link, whichever is slower. */
#ifndef DAVIT_SRC_RUNTIME_STAGING_H
#define DAVIT_SRC_RUNTIME_STAGING_H

#include "offload/runtime/stream.h"
#include "src/runtime/place.h"

/* Copies between pageable memory and the stream's device, behind what the stream holds. Over when the memory may be
 * used again: what goes up may be in the stream still, what comes down has come. Then over(argument, status) is called,
 * on another thread or, where none can be had, on the calling one. Nobody else uses the stream until then, and the
 * calling thread is inside (src/base/ending.h). */
davit_status dvt_stage_begin(dvt_stream *stream, const dvt_copy *copy, dvt_notify over, void *argument);

/* The same, and waits. */
davit_status dvt_stage(dvt_stream *stream, const dvt_copy *copy);

/* Threads of the host that copy. */
int dvt_stage_threads(void);

#endif
