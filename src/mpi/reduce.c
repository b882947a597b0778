/* SPDX-License-Identifier: Apache-2.0 */
/* Reduction over ranks, in the tree of <davit/reduce.h> over the whole array.
 *
 * A chunk of the tree belongs to the rank where it begins. What a rank holds of a chunk that began before
 * goes there; then each rank reduces its chunks, and their values are the array of the next level. Fewer than
 * a chunk of values go to all ranks, and each does the rest. */
#include <davit_mpi.h>
#include <string.h>

#include "src/base/arithmetic.h"
#include "src/base/check.h"
#include "src/mpi/agree.h"

typedef struct reduction {
  MPI_Comm comm;
  int me, ranks;
  const davit_monoid *monoid;
  int64_t chunk;     /* elements */
  int64_t *offsets;  /* ranks + 1: where each rank's piece begins */
  int *counts;       /* 4 arrays of `ranks`: sent, where from, received, where to */
  char *head;        /* what is sent: less than a chunk */
  char *last;        /* the chunk that goes on in the next ranks */
  char *values[2];   /* of the chunks of this level, and of the one before */
  MPI_Datatype type; /* of an element */
} reduction;

static int64_t chunks_before(const reduction *r, int64_t offset) {
  return dvt_divide_up(offset, r->chunk);
}

/* The rank that has element i. */
static int rank_of(const reduction *r, int64_t i) {
  int low = 0, high = r->ranks - 1;
  while (low < high) {
    const int middle = low + (high - low + 1) / 2;
    if (r->offsets[middle] <= i)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* How many elements rank `rank` holds of a chunk that began before its piece. */
static int64_t head_of(const reduction *r, int rank) {
  const int64_t begin = r->offsets[rank], end = r->offsets[rank + 1];
  const int64_t next = chunks_before(r, begin) * r->chunk;
  return dvt_at_most(next, end) - begin;
}

/* Sends heads to where their chunks begin. `held` elements of the last chunk are in r->last already. */
static davit_status exchange_heads(reduction *r, int64_t held) {
  int *send = r->counts, *from = send + r->ranks, *receive = from + r->ranks, *to = receive + r->ranks;
  memset(send, 0, 4 * (size_t)r->ranks * sizeof *send);
  for (int rank = 0; rank < r->ranks; rank++) {
    const int64_t head = head_of(r, rank);
    if (head == 0)
      continue;
    const int owner = rank_of(r, r->offsets[rank] / r->chunk * r->chunk);
    if (rank == r->me)
      send[owner] = (int)head;
    if (owner == r->me) {
      receive[rank] = (int)head;
      to[rank] = (int)held;
      held += head;
    }
  }
  return dvt_mpi_status(MPI_Alltoallv(r->head, send, from, r->type, r->last, receive, to, r->type, r->comm));
}

/* One level: x becomes values[0], and the offsets those of the values. */
static davit_status level(reduction *r, const char *x, dvt_error *failure) {
  const size_t bytes = r->monoid->bytes;
  const int64_t begin = r->offsets[r->me], end = r->offsets[r->me + 1], total = r->offsets[r->ranks];
  const int64_t head = head_of(r, r->me);
  const int64_t first = chunks_before(r, begin), after = chunks_before(r, end); /* chunks that begin here */
  const int64_t tail = dvt_at_most(after * r->chunk, total) - end;              /* that lies elsewhere */
  const int64_t whole = after - first - (tail > 0 && after > first);
  const char *own = x + (size_t)head * bytes;
  const char *rest = own + (size_t)(whole * r->chunk) * bytes;
  int64_t held = 0;
  if (head > 0)
    dvt_error_keep(failure, davit_copy((size_t)head * bytes, x, r->head));
  if (after - first > whole) {
    held = end - (after - 1) * r->chunk;
    dvt_error_keep(failure, davit_copy((size_t)held * bytes, rest, r->last));
  }
  DVT_TRY(exchange_heads(r, held));
  if (whole > 0) {
    const int64_t here = dvt_at_most(end - begin - head, whole * r->chunk);
    dvt_error_keep(failure, davit_monoid_reduce_chunks(r->monoid, here, own, r->values[0]));
  }
  if (after - first > whole)
    dvt_error_keep(failure, davit_monoid_reduce_chunks(r->monoid, held + tail, r->last,
                                                       r->values[0] + (size_t)whole * bytes));
  for (int rank = 0; rank <= r->ranks; rank++)
    r->offsets[rank] = chunks_before(r, r->offsets[rank]);
  return DAVIT_SUCCESS;
}

/* At most one chunk is left. */
static davit_status finish(reduction *r, const char *x, void *result, dvt_error *failure) {
  int *count = r->counts, *at = count + r->ranks;
  const size_t bytes = r->monoid->bytes;
  const int64_t here = r->offsets[r->me + 1] - r->offsets[r->me], total = r->offsets[r->ranks];
  for (int rank = 0; rank < r->ranks; rank++) {
    at[rank] = (int)r->offsets[rank];
    count[rank] = (int)(r->offsets[rank + 1] - r->offsets[rank]);
  }
  if (here > 0)
    dvt_error_keep(failure, davit_copy((size_t)here * bytes, x, r->head));
  DVT_TRY_MPI(MPI_Allgatherv(r->head, (int)here, r->type, r->last, count, at, r->type, r->comm));
  if (failure->status == DAVIT_SUCCESS)
    dvt_error_keep(failure, total == 0 ? davit_copy(bytes, r->monoid->identity, result)
                                       : davit_monoid_reduce_chunks(r->monoid, total, r->last, result));
  return DAVIT_SUCCESS;
}

static davit_status run(reduction *r, const void *x, void *result) {
  dvt_error failure = {.status = DAVIT_SUCCESS};
  const char *now = x;
  while (r->offsets[r->ranks] > r->chunk) {
    DVT_TRY(level(r, now, &failure));
    char *spare = r->values[1];
    r->values[1] = r->values[0];
    r->values[0] = spare;
    now = r->values[1];
  }
  DVT_TRY(finish(r, now, result, &failure));
  return dvt_mpi_agree(r->comm, dvt_error_report(&failure));
}

static davit_status allocate(reduction *r, int64_t n, void **memory) {
  const size_t bytes = r->monoid->bytes, ranks = (size_t)r->ranks, chunk = (size_t)r->chunk * bytes;
  const size_t values = (size_t)(n / r->chunk + 2) * bytes;
  const size_t offsets = (ranks + 1) * sizeof *r->offsets, counts = 4 * ranks * sizeof *r->counts;
  const size_t sizes[] = {chunk, chunk, values, values, offsets, counts};
  char *parts[6];
  size_t total = 0;
  for (int i = 0; i < 6; i++)
    total += dvt_aligned_up(sizes[i]);
  DVT_TRY(davit_malloc(total, DAVIT_PINNED, memory));
  char *at = *memory;
  for (int i = 0; i < 6; at += dvt_aligned_up(sizes[i]), i++)
    parts[i] = at;
  r->head = parts[0];
  r->last = parts[1];
  r->values[0] = parts[2];
  r->values[1] = parts[3];
  r->offsets = (int64_t *)(void *)parts[4];
  r->counts = (int *)(void *)parts[5];
  return DAVIT_SUCCESS;
}

static davit_status check(const davit_monoid *monoid, int64_t n, const void *x, const void *result) {
  DVT_TRY(dvt_check_monoid(monoid));
  DVT_TRY(dvt_check_length("n", n));
  if (n > 0)
    DVT_TRY(dvt_check_pointer("x", x));
  return dvt_check_pointer("result", result);
}

static davit_status make_type(const davit_monoid *monoid, MPI_Datatype *type) {
  DVT_TRY_MPI(MPI_Type_contiguous((int)monoid->bytes, MPI_BYTE, type));
  return dvt_mpi_status(MPI_Type_commit(type));
}

static davit_status with_memory(reduction *r, int64_t n, const void *x, void *result) {
  DVT_TRY_MPI(MPI_Allgather(&n, 1, MPI_INT64_T, r->offsets + 1, 1, MPI_INT64_T, r->comm));
  r->offsets[0] = 0;
  for (int rank = 0; rank < r->ranks; rank++)
    r->offsets[rank + 1] += r->offsets[rank];
  return run(r, x, result);
}

/* `arguments` is a digest of what says which monoid it is. */
static davit_status reduce(MPI_Comm comm, const davit_monoid *monoid, int64_t n, const void *x, void *result,
                           davit_status status, uint64_t arguments) {
  void *memory = NULL;
  reduction r = {.comm = comm, .monoid = monoid, .type = MPI_DATATYPE_NULL};
  MPI_Comm_rank(comm, &r.me);
  MPI_Comm_size(comm, &r.ranks);
  if (status == DAVIT_SUCCESS)
    status = check(monoid, n, x, result);
  if (status == DAVIT_SUCCESS) {
    r.chunk = monoid->reduce_tile;
    arguments = DVT_MPI_DIGEST(DVT_MPI_DIGEST(arguments, monoid->bytes), monoid->reduce_tile);
    status = allocate(&r, n, &memory);
  }
  if (status == DAVIT_SUCCESS)
    status = make_type(monoid, &r.type);
  status = dvt_mpi_agree_on(comm, status, arguments);
  if (status == DAVIT_SUCCESS)
    status = with_memory(&r, n, x, result);
  if (r.type != MPI_DATATYPE_NULL)
    MPI_Type_free(&r.type);
  davit_free(memory);
  return status;
}

davit_status davit_mpi_monoid_reduce(MPI_Comm comm, const davit_monoid *monoid, int64_t n, const void *x,
                                     void *result) {
  DVT_TRY(dvt_mpi_check(comm));
  return reduce(comm, monoid, n, x, result, DAVIT_SUCCESS, 0);
}

davit_status davit_mpi_reduce(MPI_Comm comm, davit_operator op, davit_type type, int64_t n, const void *x,
                              void *result) {
  const davit_monoid *monoid = NULL;
  DVT_TRY(dvt_mpi_check(comm));
  const davit_status status = davit_monoid_builtin(op, type, &monoid);
  return reduce(comm, monoid, n, x, result, status, DVT_MPI_DIGEST_NUMBERS(op, type));
}
