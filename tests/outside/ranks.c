/* SPDX-License-Identifier: Apache-2.0 */
/* A program outside of davit that uses libdavit_mpi, as tests/outside/install.sh builds it: the sum of an
 * array of which each rank has a piece. */
#include <davit/davit.h>
#include <davit_mpi.h>
#include <stdio.h>

enum { LENGTH = 1000 }; /* of a piece */

int main(int argc, char **argv) {
  int provided, rank, ranks;
  double x[LENGTH], sum = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < LENGTH; i++)
    x[i] = (double)(rank * LENGTH + i + 1);
  const davit_status status = davit_mpi_reduce(MPI_COMM_WORLD, DAVIT_SUM, DAVIT_DOUBLE, LENGTH, x, &sum);
  const double n = (double)ranks * LENGTH;
  const int right = status == DAVIT_SUCCESS && sum == n * (n + 1) / 2;
  if (!right)
    fprintf(stderr, "rank %d: %g: %s\n", rank, sum, davit_last_error());
  else if (rank == 0)
    printf("ranks: %d, sum: %g\n", ranks, sum);
  MPI_Finalize();
  return !right;
}
