/* SPDX-License-Identifier: Apache-2.0 */
/* davit_tuning_kernel(): the table of the capabilities whose kernels' shapes are tuned. */
#include "src/shape.h"

#include <davit/occupancy.h>
#include <davit/tuning.h>
#include <stdio.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "src/base/check.h"
#include "src/base/ending.h"
#include "src/runtime/place.h"

static const struct {
  const char *capability;
  davit_status (*fit)(int device, dvt_stream *stream, dvt_kernel_fit *fit);
} kernels[] = {{"reduce", dvt_tree_kernel},           {"scan", dvt_scan_kernel},
               {"stencil", dvt_stencil_kernel},       {"atax", dvt_atax_kernel},
               {"covariance", dvt_covariance_kernel}, {"align", dvt_align_kernel},
               {"detect", dvt_detect_kernel},         {"closest_pair", dvt_closest_kernel}};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static davit_status fit_on_stream(int which, int device, dvt_kernel_fit *fit) {
  dvt_stream *stream;
  DVT_INSIDE;
  DVT_KEEP_CURRENT;
  davit_status status = dvt_stream_acquire(device, DVT_STREAM_MIXED, &stream);
  if (status == DAVIT_SUCCESS) {
    status = kernels[which].fit(device, stream, fit);
    dvt_stream_release(stream);
  }
  return status;
}

/* By the rule of davit_occupancy(). */
static davit_status find_occupancy(int device, const dvt_kernel_fit *fit, double *occupancy) {
  davit_occupancy_card card;
  davit_occupancy_result result;
  DVT_TRY(davit_occupancy_card_describe(device, &card));
  DVT_TRY(davit_occupancy(&card,
                          &(davit_occupancy_block){.threads = fit->threads,
                                                   .registers = fit->registers,
                                                   .shared_bytes = fit->static_bytes + fit->dynamic_bytes},
                          &result, NULL));
  *occupancy = fit->teams > 0 ? result.occupancy : 0;
  return DAVIT_SUCCESS;
}

davit_status davit_tuning_kernel(int device, const char *capability, davit_tuning_shape *shape) {
  int which = 0;
  DVT_TRY(dvt_check_pointer("capability", capability));
  DVT_TRY(dvt_check_pointer("shape", shape));
  DVT_TRY(dvt_resolve_device(device, &device));
  while (which < KERNELS && strcmp(kernels[which].capability, capability) != 0)
    which++;
  if (which == KERNELS)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "capability is '%.40s', which has no kernel to tune",
                      capability);
  if (dvt_device_find(device)->ordinal < 0)
    return davit_fail(DAVIT_UNSUPPORTED, "device %d, %s, is no NVIDIA device", device,
                      dvt_device_find(device)->info.name);
  dvt_kernel_fit fit;
  DVT_TRY(fit_on_stream(which, device, &fit));
  *shape = (davit_tuning_shape){.threads = fit.threads,
                                .registers = fit.registers,
                                .team_bytes = fit.static_bytes + fit.dynamic_bytes,
                                .teams = fit.teams};
  return find_occupancy(device, &fit, &shape->occupancy);
}
