/* SPDX-License-Identifier: Apache-2.0 */
/* 2-D copies between known places (place.h): at once, or as a command. */
#ifndef DAVIT_SRC_RUNTIME_COPY_H
#define DAVIT_SRC_RUNTIME_COPY_H

#include "src/runtime/lane.h"
#include "src/runtime/place.h"

/* Copies and waits. Pageable memory is staged through pinned buffers if a device is at the other end. */
davit_status dvt_copy_now(const dvt_copy *copy);

/* Enqueues the copy: on the lane's stream if it reaches both places, else blocking on a host thread. */
davit_status dvt_copy_submit(dvt_lane *lane, const dvt_copy *copy);

#endif
