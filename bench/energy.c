/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/energy.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

/* NVML's own header is not needed: 0 is success, and a device is a pointer. */
static struct {
  int (*start)(void);
  int (*find)(unsigned index, void **device);
  int (*energy)(void *device, unsigned long long *millijoules);
} nvml;

static bool load(void) {
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (!library)
    return false;
  nvml.start = (int (*)(void))dlsym(library, "nvmlInit_v2");
  nvml.find = (int (*)(unsigned, void **))dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
  nvml.energy = (int (*)(void *, unsigned long long *))dlsym(library, "nvmlDeviceGetTotalEnergyConsumption");
  return nvml.start && nvml.find && nvml.energy && nvml.start() == 0;
}

double bench_joules(int devices) {
  static bool tried, loaded;
  double joules = 0;
  if (!tried)
    loaded = load();
  tried = true;
  for (int i = 0; i < devices && loaded; i++) {
    void *device = NULL;
    unsigned long long millijoules = 0;
    if (nvml.find((unsigned)i, &device) != 0 || nvml.energy(device, &millijoules) != 0)
      return -1;
    joules += 1e-3 * (double)millijoules;
  }
  return loaded ? joules : -1;
}
