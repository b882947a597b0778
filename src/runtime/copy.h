/* SPDX-License-Identifier: Apache-2.0 */
/* A 2-D copy as a command: on the lane's stream if it reaches both places, else blocking on a host thread. */
#ifndef DAVIT_SRC_RUNTIME_COPY_H
#define DAVIT_SRC_RUNTIME_COPY_H

#include "src/runtime/lane.h"

typedef struct dvt_copy {
  void *destination;
  const void *source;
  size_t destination_pitch, source_pitch, row_bytes, cols; /* bytes; columns of row_bytes */
  int destination_place, source_place;
} dvt_copy;

davit_status dvt_copy_submit(dvt_lane *lane, const dvt_copy *copy);

#endif
