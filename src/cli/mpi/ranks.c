/* SPDX-License-Identifier: Apache-2.0 */
/* libdavit_ranks.so: the ranks of the tool (src/cli/ranks.h) by MPI. */
#include <davit/version.h>
#include <davit_mpi.h>
#include <time.h>

#include "src/base/arithmetic.h"
#include "src/cli/ranks_table.h"

static davit_status open_ranks(int *rank, int *count, int *local_rank, int *local_count) {
  int provided;
  MPI_Comm machine;
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
      provided < MPI_THREAD_FUNNELED)
    return davit_fail(DAVIT_UNSUPPORTED, "MPI does not take programs with threads");
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  MPI_Comm_size(MPI_COMM_WORLD, count);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  MPI_Comm_rank(machine, local_rank);
  MPI_Comm_size(machine, local_count);
  MPI_Comm_free(&machine);
  return DAVIT_SUCCESS;
}

static void close_ranks(void) {
  MPI_Finalize();
}

/* MPI_Wait() keeps a core busy, which another rank of this machine may need. */
static void wait_for(MPI_Request *request) {
  enum { EAGER = 1000, NAP_NS = 200000 };
  int done = 0;
  for (int i = 0; !done; i++) {
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (!done && i >= EAGER)
      nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
  }
}

static int agree(int code, size_t bytes, char *text, int *first) {
  int me, count, mine;
  MPI_Request request;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  mine = code ? me : count;
  MPI_Iallreduce(&mine, first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request);
  wait_for(&request);
  if (*first == count)
    return 0;
  MPI_Bcast(&code, 1, MPI_INT, *first, MPI_COMM_WORLD);
  if (me == *first && me > 0)
    MPI_Send(text, (int)bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  else if (me == 0 && *first > 0)
    MPI_Recv(text, (int)bytes, MPI_CHAR, *first, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return code;
}

/* MPI counts in int. */
enum { MOST = 1 << 30 };

static void share(size_t bytes, void *data) {
  for (size_t at = 0; at < bytes; at += MOST)
    MPI_Bcast((char *)data + at, (int)dvt_at_most((int64_t)(bytes - at), MOST), MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void send(size_t bytes, const void *data) {
  for (size_t at = 0; at < bytes; at += MOST)
    MPI_Send((const char *)data + at, (int)dvt_at_most((int64_t)(bytes - at), MOST), MPI_BYTE, 0, 0,
             MPI_COMM_WORLD);
}

static void receive(int rank, size_t bytes, void *data) {
  for (size_t at = 0; at < bytes; at += MOST)
    MPI_Recv((char *)data + at, (int)dvt_at_most((int64_t)(bytes - at), MOST), MPI_BYTE, rank, 0,
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static davit_status reduce(davit_operator op, davit_type type, int64_t n, const void *x, void *result) {
  return davit_mpi_reduce(MPI_COMM_WORLD, op, type, n, x, result);
}

static void maxima(void *context, int count, double *values) {
  MPI_Request request;
  (void)context;
  MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request);
  wait_for(&request);
}

static davit_status scan(davit_operator op, davit_type type, davit_scan_kind kind, int64_t n, const void *x,
                         const uint8_t *flags, void *y) {
  return flags ? davit_mpi_segmented_scan(MPI_COMM_WORLD, op, type, kind, n, x, flags, y)
               : davit_mpi_scan(MPI_COMM_WORLD, op, type, kind, n, x, y);
}

extern const cli_ranks_table cli_ranks_mpi;
__attribute__((visibility("default"))) const cli_ranks_table cli_ranks_mpi = {
    .version = DAVIT_VERSION,
    .open = open_ranks,
    .close = close_ranks,
    .agree = agree,
    .share = share,
    .send = send,
    .receive = receive,
    .reduce = reduce,
    .scan = scan,
    .maxima = maxima,
};
