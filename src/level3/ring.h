/* SPDX-License-Identifier: Apache-2.0 */
/* How pageable memory passes to and from a device: through a ring of pinned strips. */
#ifndef DAVIT_SRC_LEVEL3_RING_H
#define DAVIT_SRC_LEVEL3_RING_H

#include "src/level3/running.h"

/* Whether a load or store of the device passes through the ring. */
bool dvt_ring_takes(const dvt_engine *engine, const dvt_step *step);

/* Whether any load of the device does. */
bool dvt_ring_takes_loads(const dvt_engine *engine);

/* Opens the ring and starts its threads, if any of the device's steps needs it. */
davit_status dvt_ring_open(dvt_engine *engine);

/* When its threads have ended. */
void dvt_ring_close(dvt_engine *engine);

#endif
