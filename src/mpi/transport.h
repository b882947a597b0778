/* SPDX-License-Identifier: Apache-2.0 */
/* Where messages of matrices lie: in pinned host memory, or on the rank's device if MPI sends from there. */
#ifndef DAVIT_SRC_MPI_TRANSPORT_H
#define DAVIT_SRC_MPI_TRANSPORT_H

#include <davit/status.h>
#include <stdbool.h>

/* The place for the panels of a rank with these devices: its device if it has one alone, no host, and MPI
 * takes the memory of GPUs; else DAVIT_PINNED. DAVIT_MPI_TRANSPORT in the environment, `direct`, `shared` or `staged`,
 * decides in MPI's place. */
davit_status dvt_transport_place(const int *devices, int count, int *place);

/* Whether processes of one machine share the memory of panels that lie on the host. */
bool dvt_transport_shares(void);

#endif
