/* SPDX-License-Identifier: Apache-2.0 */
/* What the other parts of the library know of queues. */
#ifndef DAVIT_SRC_RUNTIME_QUEUE_H
#define DAVIT_SRC_RUNTIME_QUEUE_H

#include <davit/queue.h>

#include "src/runtime/lane.h"

/* The calling thread's current lane in the queue; a NULL queue sets the sentence and gives NULL. */
dvt_lane *dvt_queue_lane(davit_queue *queue);

#endif
