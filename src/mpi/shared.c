/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "src/mpi/shared.h"

#include <davit/memory.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/mpi/agree.h"

/* Where the first process has the memory, which begins with the token until all have found it. */
typedef struct offer {
  uint64_t token[2];
  int64_t process;
  int file; /* -1: nowhere */
} offer;

static char *map(int file, size_t bytes) {
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

/* Memory without a name, which ends with the last process that has it. */
static char *make(size_t bytes, offer *o) {
  *o = (offer){.process = getpid(), .file = memfd_create("davit", MFD_CLOEXEC)};
  char *memory = NULL;
  if (o->file >= 0 && ftruncate(o->file, (off_t)bytes) == 0 &&
      getrandom(o->token, sizeof o->token, 0) == (ssize_t)sizeof o->token)
    memory = map(o->file, bytes);
  if (memory)
    memcpy(memory, o->token, sizeof o->token);
  return memory;
}

/* On another machine, or where processes do not see each other, there is no such file, or another one. */
static char *find(size_t bytes, const offer *o) {
  char path[64], *memory = NULL;
  struct stat status;
  snprintf(path, sizeof path, "/proc/%lld/fd/%d", (long long)o->process, o->file);
  const int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return NULL;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && (size_t)status.st_size == bytes)
    memory = map(file, bytes);
  close(file);
  if (memory && memcmp(memory, o->token, sizeof o->token) != 0) {
    munmap(memory, bytes);
    memory = NULL;
  }
  return memory;
}

davit_status dvt_shared_open(MPI_Comm comm, size_t bytes, dvt_shared *shared) {
  int me, mine, all = 0;
  offer o = {.file = -1};
  if (shared->bytes >= bytes)
    return DAVIT_SUCCESS;
  dvt_shared_close(shared);
  bytes = bytes < sizeof o.token ? sizeof o.token : bytes;
  MPI_Comm_rank(comm, &me);
  char *memory = me == 0 ? make(bytes, &o) : NULL;
  DVT_TRY_MPI(MPI_Bcast(&o, (int)sizeof o, MPI_BYTE, 0, comm));
  if (me > 0 && o.file >= 0)
    memory = find(bytes, &o);
  mine = memory != NULL;
  DVT_TRY_MPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, comm));
  if (me == 0 && o.file >= 0)
    close(o.file);
  if (memory && !all)
    munmap(memory, bytes);
  *shared = (dvt_shared){.memory = all ? memory : NULL, .bytes = bytes};
  if (!all)
    return DAVIT_SUCCESS;
  /* By all threads, before it is pinned. Where either fails, copies are slower. */
  if (me == 0)
    (void)davit_fill(bytes, 0, memory);
  shared->pinned = davit_pin(memory, bytes) == DAVIT_SUCCESS;
  return dvt_mpi_status(MPI_Barrier(comm));
}

davit_status dvt_shared_publish(MPI_Comm comm, MPI_Request *request) {
  atomic_thread_fence(memory_order_seq_cst);
  return dvt_mpi_status(MPI_Ibarrier(comm, request));
}

davit_status dvt_shared_await(int64_t count, MPI_Request *requests) {
  const davit_status status = dvt_mpi_status(MPI_Waitall((int)count, requests, MPI_STATUSES_IGNORE));
  atomic_thread_fence(memory_order_seq_cst);
  return status;
}

void dvt_shared_close(dvt_shared *shared) {
  if (shared->pinned)
    davit_unpin(shared->memory);
  if (shared->memory)
    munmap(shared->memory, shared->bytes);
  *shared = (dvt_shared){NULL, 0, false};
}
