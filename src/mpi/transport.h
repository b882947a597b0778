/* SPDX-License-Identifier: Apache-2.0 */
/* Where panels lie that go from one process to others: in pinned host memory, or on the rank's device. */
#ifndef DAVIT_SRC_MPI_TRANSPORT_H
#define DAVIT_SRC_MPI_TRANSPORT_H

#include "src/mpi/shared.h"

/* `place` is where MPI sends and receives panels of a rank with these devices, `share` what processes of one machine
 * share in place of messages. Where all ranks are on one machine, devices read each other's memory, which is faster
 * than messages from there; where they are on several, and MPI takes the memory of GPUs, panels are on the rank's
 * device if it has one alone, no host; else in pinned memory. DAVIT_MPI_TRANSPORT in the environment decides in
 * their place: `direct`, `peer`, `shared` or `staged`. */
typedef struct dvt_transport {
  int place;
  dvt_share share;
  int device; /* of DVT_SHARE_DEVICE */
} dvt_transport;

davit_status dvt_transport_choose(const int *devices, int count, bool one_machine, dvt_transport *transport);

#endif
