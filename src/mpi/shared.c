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

/* What a process offers to the others: memory of the host, which begins with the token until all have found it. If it
 * offers memory of a device, that of the host only shows that all run on one machine. */
typedef struct offer {
  uint64_t token[2];
  int64_t process;
  int file; /* -1: nowhere */
  bool on_device;
  davit_memory_handle handle;
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

static davit_status agree(MPI_Comm comm, bool mine, bool *all) {
  int one = mine, both = 0;
  DVT_TRY_MPI(MPI_Allreduce(&one, &both, 1, MPI_INT, MPI_LAND, comm));
  *all = both;
  return DAVIT_SUCCESS;
}

static void unmap(char *memory, size_t bytes) {
  if (memory)
    munmap(memory, bytes);
}

/* ---- one memory ---- */

static davit_status open_host(MPI_Comm comm, int me, dvt_shared *s) {
  offer o = {.file = -1};
  bool all;
  char *memory = me == 0 ? make(s->bytes, &o) : NULL;
  DVT_TRY_MPI(MPI_Bcast(&o, (int)sizeof o, MPI_BYTE, 0, comm));
  if (me > 0 && o.file >= 0)
    memory = find(s->bytes, &o);
  DVT_TRY(agree(comm, memory, &all));
  if (me == 0 && o.file >= 0)
    close(o.file);
  if (!all) {
    unmap(memory, s->bytes);
    return DAVIT_SUCCESS;
  }
  /* By all threads, before it is pinned. Where either fails, copies are slower. */
  if (me == 0)
    (void)davit_fill(s->bytes, 0, memory);
  s->pinned = davit_pin(memory, s->bytes) == DAVIT_SUCCESS;
  for (int p = 0; p < s->count; p++)
    s->part[p] = memory;
  return dvt_mpi_status(MPI_Barrier(comm));
}

/* ---- parts ---- */

/* The host's memory of a process that offers its device's. */
enum { TOKEN_BYTES = 4096 };

/* This process's part; NULL if it has none to offer. */
static char *make_part(const dvt_shared *s, offer *o, char **token) {
  void *memory = NULL;
  char *host;
  *o = (offer){.file = -1};
  *token = NULL;
  if (davit_malloc(s->bytes, s->device, &memory) == DAVIT_SUCCESS) {
    davit_memory_handle handle;
    if (davit_memory_export(memory, &handle) == DAVIT_SUCCESS && (*token = make(TOKEN_BYTES, o))) {
      o->on_device = true;
      o->handle = handle;
      return memory;
    }
    davit_free(memory);
  }
  if (s->wish == DVT_SHARE_PARTS && o->file < 0 && (host = make(s->bytes, o)))
    return host;
  return NULL;
}

/* Another process's part. */
static char *find_part(const dvt_shared *s, const offer *o) {
  void *memory = NULL;
  char *host = find(o->on_device ? TOKEN_BYTES : s->bytes, o);
  if (!host || !o->on_device)
    return host;
  unmap(host, TOKEN_BYTES);
  return davit_memory_import(&o->handle, s->device, &memory) == DAVIT_SUCCESS ? memory : NULL;
}

/* Also of parts that were not found. */
static void drop_part(const dvt_shared *s, char *part) {
  int place = DAVIT_PAGEABLE;
  if (!part)
    return;
  if (davit_pointer_place(part, &place) == DAVIT_SUCCESS && place >= 0)
    davit_free(part);
  else
    unmap(part, s->bytes);
}

static void drop_parts(dvt_shared *s) {
  for (int p = 0; p < s->count; p++) {
    drop_part(s, s->part[p]);
    s->part[p] = NULL;
  }
}

static davit_status open_parts(MPI_Comm comm, int me, dvt_shared *s, offer *offers) {
  char *token;
  bool all = false;
  s->part[me] = make_part(s, &offers[me], &token);
  davit_status status =
      dvt_mpi_status(MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, offers, (int)sizeof *offers, MPI_BYTE, comm));
  bool found = s->part[me];
  for (int p = 0; p < s->count && status == DAVIT_SUCCESS; p++)
    if (p != me)
      found = (s->part[p] = offers[p].file < 0 ? NULL : find_part(s, &offers[p])) && found;
  if (status == DAVIT_SUCCESS)
    status = agree(comm, found, &all);
  unmap(token, TOKEN_BYTES);
  if (offers[me].file >= 0)
    close(offers[me].file);
  s->separate = status == DAVIT_SUCCESS && all;
  if (!s->separate)
    drop_parts(s);
  return status;
}

/* ---- both ---- */

static davit_status open_some(MPI_Comm comm, int me, dvt_shared *s, offer *offers) {
  if (s->wish >= DVT_SHARE_DEVICE)
    DVT_TRY(open_parts(comm, me, s, offers));
  return s->separate ? DAVIT_SUCCESS : open_host(comm, me, s);
}

davit_status dvt_shared_open(MPI_Comm comm, size_t bytes, dvt_share wish, int device, dvt_shared *shared) {
  int me, count, mine[2] = {(int)wish, shared->device == device}, all[2];
  void *parts = NULL, *offers = NULL;
  DVT_TRY_MPI(MPI_Allreduce(mine, all, 2, MPI_INT, MPI_MIN, comm));
  /* The size and the wish of before are the same on all. */
  if (shared->wish == (dvt_share)all[0] && shared->bytes >= bytes && (all[1] || all[0] < DVT_SHARE_DEVICE))
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_shared_close(comm, shared));
  if (all[0] == DVT_SHARE_NOTHING)
    return DAVIT_SUCCESS;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &count);
  *shared = (dvt_shared){.count = count,
                         .bytes = bytes < TOKEN_BYTES ? TOKEN_BYTES : bytes,
                         .wish = (dvt_share)all[0],
                         .device = device};
  bool enough = davit_malloc((size_t)count * sizeof *shared->part, DAVIT_PAGEABLE, &parts) == DAVIT_SUCCESS &&
                davit_malloc((size_t)count * sizeof(offer), DAVIT_PAGEABLE, &offers) == DAVIT_SUCCESS;
  davit_status status = agree(comm, enough, &enough);
  if (status == DAVIT_SUCCESS && enough) {
    shared->part = parts;
    for (int p = 0; p < count; p++)
      shared->part[p] = NULL;
    status = open_some(comm, me, shared, offers);
  }
  if (status != DAVIT_SUCCESS || !enough || !shared->part[me]) {
    davit_free(parts);
    shared->part = NULL;
  }
  if (status != DAVIT_SUCCESS || !enough)
    shared->bytes = 0; /* another call may have more luck */
  davit_free(offers);
  return status;
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

davit_status dvt_shared_close(MPI_Comm comm, dvt_shared *s) {
  int me = 0;
  davit_status status = DAVIT_SUCCESS;
  MPI_Comm_rank(comm, &me);
  if (s->part && !s->separate) {
    if (s->pinned)
      davit_unpin(s->part[me]);
    unmap(s->part[me], s->bytes);
  } else if (s->part) {
    for (int p = 0; p < s->count; p++)
      if (p != me)
        drop_part(s, s->part[p]);
    status = dvt_mpi_status(MPI_Barrier(comm)); /* nobody reaches this process's part any more */
    drop_part(s, s->part[me]);
  }
  davit_free(s->part);
  *s = (dvt_shared){.part = NULL};
  return status;
}
