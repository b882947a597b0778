/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that the processes of a line of the grid share, where all run on one machine. Each writes in a part that all
 * read: what it writes there is there for all. The parts are one memory of the host, or each process has its part on
 * its device, which the devices of the others reach. */
#ifndef DAVIT_SRC_MPI_SHARED_H
#define DAVIT_SRC_MPI_SHARED_H

#include <davit/status.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a process wants to share; of the wishes of a line the least counts. */
typedef enum dvt_share {
  DVT_SHARE_NOTHING,
  DVT_SHARE_HOST,   /* memory of the host */
  DVT_SHARE_DEVICE, /* its device's; if the line cannot, that of the host */
  DVT_SHARE_PARTS   /* the same, but a device without handles for other processes has its part on the host */
} dvt_share;

typedef struct dvt_shared {
  char **part; /* where each process of the line writes; NULL: nothing is shared */
  int count;
  bool separate; /* the parts are different memory */
  size_t bytes;
  dvt_share wish; /* what was agreed upon, which need not be what came of it */
  int device;
  bool pinned;
} dvt_shared;

/* Makes each part at least so large; it stays for the next call with the same wish and device. The size is the same on
 * all processes. part is NULL if they cannot share anything. Memory of the host is pinned, where there are GPUs.
 * Collective. */
davit_status dvt_shared_open(MPI_Comm comm, size_t bytes, dvt_share wish, int device, dvt_shared *shared);

/* What this process has written there is written for all: once the request is complete, so it is of all processes. */
davit_status dvt_shared_publish(MPI_Comm comm, MPI_Request *request);

/* Waits for requests, and for what others have written there before. */
davit_status dvt_shared_await(int64_t count, MPI_Request *requests);

/* Collective where parts are separate. */
davit_status dvt_shared_close(MPI_Comm comm, dvt_shared *shared);

#endif
