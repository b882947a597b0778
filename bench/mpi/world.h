/* SPDX-License-Identifier: Apache-2.0 */
/* What the figures of several ranks have in common: the ranks, their grid and threads, clocks and rows.
 *
 * A time is that of the slowest rank, after a barrier; a figure is the median over the rounds, after two
 * calls that are not counted. What is compared takes stage buffers in the same rounds. All ranks measure, rank 0
 * prints.
 *
 * The processors of a machine are divided among its ranks, unless DAVIT_THREADS is set or the launcher has
 * bound them; davit and the peer's BLAS get as many threads. */
#ifndef DAVIT_BENCH_MPI_WORLD_H
#define DAVIT_BENCH_MPI_WORLD_H

#include <davit_mpi.h>

#include "bench/rows.h"

typedef struct world {
  int me, ranks;
  int rows, cols, row, col; /* of the grid, which is as near to a square as the ranks allow */
  MPI_Comm line[2];         /* along each axis of the grid; axis 0 counts process rows */
  davit_mpi_grid *grid;
  int node_ranks, processors, threads; /* of this rank's machine; threads of a rank */
  int devices[16], device_count;       /* of this rank */
  bool gpu;
  int repeats;
  double patience; /* seconds that the rounds of one work may take */
  bool peer;       /* ScaLAPACK is there and wanted */
} world;

/* Starts MPI; what calls world_close() ends it after davit. */
void world_open(world *w);
void world_close(world *w);

/* Seconds a call of each work; `first` bench_time of a work that fails has its error. What prepares a call, unless
 * NULL, is not counted. */
typedef davit_status (*world_work)(void *argument);
typedef void (*world_preparation)(void *argument);
enum { WORLD_WORKS = 4 };
void world_time(const world *w, int count, const world_work *works, world_preparation prepare, void *argument,
                bench_time *times);

/* Rank 0 ranges of columns the work with the threads of all ranks of its machine, while the others wait without using a
 * processor. */
void world_time_alone(const world *w, world_work work, world_preparation prepare, void *argument,
                      bench_time *time);

/* Until all ranks are here; those that wait sleep. */
void world_rest(void);

/* The row of `what`, and what a row of several ranks has more. `floor`: seconds that the ceilings leave, 0:
 * unknown. With a peer its time. Rank 0 alone prints. The row stays open for more. */
void world_report(const world *w, const bench_case *what, int ranks, double floor, const bench_time *time,
                  const char *peer, const bench_time *peer_time);

/* Where vectors and local operands lie. */
int world_place(const world *w);

/* Ends all ranks if it is NULL. */
void *world_memory(int place, size_t bytes);
void *world_random(int place, davit_type type, int64_t n, uint64_t seed);

#endif
