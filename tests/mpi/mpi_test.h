/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of programs with several ranks: each prints what fails, and all end with the same status. */
#ifndef DAVIT_TESTS_MPI_MPI_TEST_H
#define DAVIT_TESTS_MPI_MPI_TEST_H

#include <davit/status.h>
#include <mpi.h>
#include <stdio.h>

static int mpi_test_failures, mpi_test_checks;

#define EXPECT(condition, ...)                                                                               \
  do {                                                                                                       \
    mpi_test_checks++;                                                                                       \
    if (!(condition) && mpi_test_failures++ < 10) {                                                          \
      int rank;                                                                                              \
      char text[400];                                                                                        \
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);                                                                  \
      snprintf(text, sizeof text, __VA_ARGS__);                                                              \
      fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, rank, text);                               \
    }                                                                                                        \
  } while (0)

#define CHECK(call) EXPECT((call) == DAVIT_SUCCESS, "%s: %s", #call, davit_last_error())

static inline void mpi_test_begin(int *argc, char ***argv, int *me, int *ranks) {
  int provided;
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, me);
  MPI_Comm_size(MPI_COMM_WORLD, ranks);
}

static inline int mpi_test_end(void) {
  int here[2] = {mpi_test_failures, mpi_test_checks}, all[2], me;
  MPI_Allreduce(here, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  if (me == 0)
    printf("%d of %d checks failed\n", all[0], all[1]);
  MPI_Finalize();
  return all[0] > 0 || all[1] == 0;
}

#endif
