/* SPDX-License-Identifier: Apache-2.0 */
#include "src/mpi/agree.h"

davit_status dvt_mpi_status(int error) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  if (error == MPI_SUCCESS)
    return DAVIT_SUCCESS;
  MPI_Error_string(error, text, &length);
  return davit_fail(DAVIT_INTERNAL_ERROR, "MPI: %s", text);
}

davit_status dvt_mpi_check(MPI_Comm comm) {
  int initialized, finalized;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (!initialized || finalized)
    return davit_fail(DAVIT_INVALID_STATE, "MPI is %s", finalized ? "finalized" : "not initialized");
  if (comm == MPI_COMM_NULL)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "comm is MPI_COMM_NULL");
  return DAVIT_SUCCESS;
}

uint64_t dvt_mpi_digest(uint64_t digest, const void *bytes, size_t count) {
  /* FNV-1a, 64 bits. */
  for (size_t i = 0; i < count; i++)
    digest = (digest ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
  return digest;
}

/* The failure of rank `first`, told to all. */
static davit_status share_failure(MPI_Comm comm, int me, int first, davit_status mine) {
  dvt_error told = {.status = DAVIT_SUCCESS};
  if (me == first)
    dvt_error_keep(&told, mine);
  DVT_TRY_MPI(MPI_Bcast(&told, (int)sizeof told, MPI_BYTE, first, comm));
  return davit_fail(told.status, "rank %d: %s", first, told.message);
}

davit_status dvt_mpi_agree_on(MPI_Comm comm, davit_status mine, uint64_t arguments) {
  int me, size;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &size);
  const int64_t digest = (int64_t)(arguments >> 1);
  const int64_t have[3] = {mine == DAVIT_SUCCESS ? size : me, digest, -digest};
  int64_t least[3];
  DVT_TRY_MPI(MPI_Allreduce(have, least, 3, MPI_INT64_T, MPI_MIN, comm));
  if (least[0] < size)
    return share_failure(comm, me, (int)least[0], mine);
  if (least[1] != -least[2])
    return davit_fail(DAVIT_INVALID_ARGUMENT, "the ranks' arguments differ");
  return DAVIT_SUCCESS;
}

davit_status dvt_mpi_agree(MPI_Comm comm, davit_status mine) {
  return dvt_mpi_agree_on(comm, mine, 0);
}
