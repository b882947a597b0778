/* SPDX-License-Identifier: Apache-2.0 */
/* One status for all ranks, so that none waits for one that has given up. */
#ifndef DAVIT_SRC_MPI_AGREE_H
#define DAVIT_SRC_MPI_AGREE_H

#include <davit/status.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/error.h"

/* MPI is there to be called, and there is a communicator. Not collective. */
davit_status dvt_mpi_check(MPI_Comm comm);

/* Collective: `mine` of the first rank that failed, with its sentence, on every rank. Between two agreements
 * a rank that fails keeps its first dvt_error and goes on to take part in what all do. */
davit_status dvt_mpi_agree(MPI_Comm comm, davit_status mine);

/* The same, and DAVIT_INVALID_ARGUMENT if `arguments`, a digest of what has to be the same, is not. */
davit_status dvt_mpi_agree_on(MPI_Comm comm, davit_status mine, uint64_t arguments);

/* Adds bytes to a digest, which begins as 0. */
uint64_t dvt_mpi_digest(uint64_t digest, const void *bytes, size_t count);
#define DVT_MPI_DIGEST(digest, variable) dvt_mpi_digest(digest, &(variable), sizeof(variable))
#define DVT_MPI_DIGEST_NUMBERS(...)                                                                          \
  dvt_mpi_digest(0, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}))

/* The status of a call of MPI. */
davit_status dvt_mpi_status(int error);
#define DVT_TRY_MPI(call) DVT_TRY(dvt_mpi_status(call))

#endif
