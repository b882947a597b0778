/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that call libdavit_mpi until the launcher ends them; one of them is killed inside a call.
 *
 *   killed CALL VICTIM      CALL is reduce, scan or gemm, VICTIM a rank
 *
 * Each rank prints its process number. A rank that still ranges of columns after a minute ends by SIGALRM. */
#include <davit/davit.h>
#include <davit_mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LENGTH = 1 << 18, N = 200, BLOCK = 30, CALLS = 5 };
static atomic_int calls;      /* that have ended */
static atomic_bool in_a_call; /* of libdavit_mpi */
static double x[LENGTH], y[LENGTH];

/* Kills this process while a call ranges of columns, after the first CALLS. */
static void *killer(void *unused) {
  (void)unused;
  for (;;) {
    nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
    if (atomic_load(&calls) >= CALLS && atomic_load(&in_a_call))
      raise(SIGKILL);
  }
}

static davit_status call_reduce(davit_mpi_grid *grid, const int desc[9]) {
  (void)grid;
  (void)desc;
  return davit_mpi_reduce(MPI_COMM_WORLD, DAVIT_SUM, DAVIT_DOUBLE, LENGTH, x, y);
}

static davit_status call_scan(davit_mpi_grid *grid, const int desc[9]) {
  (void)grid;
  (void)desc;
  return davit_mpi_scan(MPI_COMM_WORLD, DAVIT_SUM, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, LENGTH, x, y);
}

static davit_status call_gemm(davit_mpi_grid *grid, const int desc[9]) {
  return davit_mpi_dgemm(grid, 'N', 'T', N, N, N, 1, x, 1, 1, desc, x, 1, 1, desc, 0, y, 1, 1, desc, NULL);
}

static const struct {
  const char *name;
  davit_status (*call)(davit_mpi_grid *grid, const int desc[9]);
} table[] = {{"reduce", call_reduce}, {"scan", call_scan}, {"gemm", call_gemm}};

int main(int argc, char **argv) {
  int provided, me, ranks, desc[9];
  size_t which = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  while (which < 3 && (argc != 3 || strcmp(argv[1], table[which].name) != 0))
    which++;
  davit_mpi_grid *grid = NULL;
  if (which == 3 || davit_mpi_grid_create(MPI_COMM_WORLD, 1, ranks, &grid) != DAVIT_SUCCESS ||
      davit_mpi_descriptor(grid, N, N, BLOCK, BLOCK, 0, 0, N, desc) != DAVIT_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 2);
  printf("%ld\n", (long)getpid());
  fflush(stdout);
  pthread_t thread;
  if (me == atoi(argv[2]))
    pthread_create(&thread, NULL, killer, NULL);
  alarm(60);
  for (;;) {
    atomic_store(&in_a_call, true);
    const davit_status status = table[which].call(grid, desc);
    atomic_store(&in_a_call, false);
    atomic_fetch_add(&calls, 1);
    if (status != DAVIT_SUCCESS) {
      fprintf(stderr, "rank %d: %s\n", me, davit_last_error());
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
  }
}
