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

davit_status dvt_transport_choose(const int *devices, int count, bool one_machine, dvt_transport *t) {
  const bool direct = is_wanted("direct"), peer = is_wanted("peer"), any = is_wanted("");
  if (!any && !direct && !peer && !is_wanted("shared") && !is_wanted("staged"))
    return davit_fail(DAVIT_INVALID_ARGUMENT,
                      "DAVIT_MPI_TRANSPORT is '%s', not direct, peer, shared or staged",
                      dvt_environment("DAVIT_MPI_TRANSPORT"));
  const bool device = count == 1 && devices[0] != DAVIT_HOST,
             sends = device && (direct || (any && !one_machine && mpi_takes_device_memory()));
  *t = (dvt_transport){.place = sends ? devices[0] : DAVIT_PINNED, .share = DVT_SHARE_HOST};
  if (sends || is_wanted("staged"))
    t->share = DVT_SHARE_NOTHING;
  else if (device && (any || peer))
    t->share = peer ? DVT_SHARE_PARTS : DVT_SHARE_DEVICE;
  t->device = device ? devices[0] : DAVIT_HOST;
  return DAVIT_SUCCESS;
}
