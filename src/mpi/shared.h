/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that the processes of a line of the grid share, where all run on one machine: a panel that one writes there is
 * there for all. */
#ifndef DAVIT_SRC_MPI_SHARED_H
#define DAVIT_SRC_MPI_SHARED_H

#include <davit/status.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct dvt_shared {
  char *memory; /* NULL: none */
  size_t bytes;
  bool pinned;
} dvt_shared;

/* Makes it at least so large, the same on all processes; it stays for the next call. Its memory is NULL if they cannot
 * share any. It is pinned, where there are GPUs. Collective. */
davit_status dvt_shared_open(MPI_Comm comm, size_t bytes, dvt_shared *shared);

/* What this process has written there is written for all: once the request is complete, so it is of all processes. */
davit_status dvt_shared_publish(MPI_Comm comm, MPI_Request *request);

/* Waits for requests, and for what others have written there before. */
davit_status dvt_shared_await(int64_t count, MPI_Request *requests);

/* For this process alone. */
void dvt_shared_close(dvt_shared *shared);

#endif
