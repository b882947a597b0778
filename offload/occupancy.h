/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a multiprocessor, from an NVIDIA device's runtime. */
#ifndef DAVIT_OFFLOAD_OCCUPANCY_H
#define DAVIT_OFFLOAD_OCCUPANCY_H

#include <davit/occupancy.h>

#include "offload/runtime/device.h"

davit_status dvt_device_card(const dvt_device *device, davit_occupancy_card *card);

#endif
