/* SPDX-License-Identifier: Apache-2.0 */
#include "src/mpi/transport.h"

#include <davit/device.h>
#include <davit/memory.h>
#include <mpi.h>
#include <stdbool.h>
#include <string.h>

#include "src/base/environment.h"
#include "src/base/error.h"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

/* Open MPI alone says so, and at run time. */
static bool mpi_takes_device_memory(void) {
#ifdef MPIX_CUDA_AWARE_SUPPORT
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

static bool is_wanted(const char *transport) {
  const char *wanted = dvt_environment("DAVIT_MPI_TRANSPORT");
  return strcmp(wanted ? wanted : "", transport) == 0;
}

davit_status dvt_transport_place(const int *devices, int count, int *place) {
  const bool direct = is_wanted("direct"), any = is_wanted("");
  if (!any && !direct && !is_wanted("shared") && !is_wanted("staged"))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "DAVIT_MPI_TRANSPORT is '%s', not direct, shared or staged",
                      dvt_environment("DAVIT_MPI_TRANSPORT"));
  const bool device = count == 1 && devices[0] != DAVIT_HOST;
  *place = device && (direct || (any && mpi_takes_device_memory())) ? devices[0] : DAVIT_PINNED;
  return DAVIT_SUCCESS;
}

bool dvt_transport_shares(void) {
  return !is_wanted("staged");
}
