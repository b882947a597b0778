/* SPDX-License-Identifier: Apache-2.0 */
#include "offload/occupancy.h"

#include <stdio.h>

#ifdef DAVIT_WITH_CUDA
#include <cuda_runtime_api.h>

/* The last four members are nowhere to be asked for. They hold for every device that CUDA 12.8 knows, 5.0 and
 * later. */
static davit_status describe(const dvt_device *device, davit_occupancy_card *card) {
  struct cudaDeviceProp p;
  davit_status status =
      dvt_cuda_status(cudaGetDeviceProperties(&p, device->ordinal), "properties of the device");
  if (status != DAVIT_SUCCESS)
    return status;
  int capability = 10 * p.major + p.minor;
  *card = (davit_occupancy_card){.compute_capability = capability,
                                 .warp_size = p.warpSize,
                                 .block_threads = p.maxThreadsPerBlock,
                                 .threads = p.maxThreadsPerMultiProcessor,
                                 .warps = p.maxThreadsPerMultiProcessor / p.warpSize,
                                 .blocks = p.maxBlocksPerMultiProcessor,
                                 .registers = p.regsPerMultiprocessor,
                                 .block_registers = p.regsPerBlock,
                                 .shared_bytes = p.sharedMemPerMultiprocessor,
                                 .block_shared_bytes = p.sharedMemPerBlockOptin,
                                 .block_reserved_bytes = p.reservedSharedMemPerBlock,
                                 .thread_registers = 255,
                                 .register_unit = 256,
                                 .warp_unit = capability == 60 ? 2 : 4,
                                 .shared_unit = capability >= 80 ? 128 : 256};
  snprintf(card->name, sizeof card->name, "%s", p.name);
  return DAVIT_SUCCESS;
}
#endif

davit_status dvt_device_card(const dvt_device *device, davit_occupancy_card *card) {
#ifdef DAVIT_WITH_CUDA
  if (device->ordinal >= 0)
    return describe(device, card);
#else
  (void)card;
#endif
  return davit_fail(DAVIT_UNSUPPORTED, "device %d, %s, is no NVIDIA device", device->info.device,
                    device->info.name);
}
