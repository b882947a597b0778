/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's driver is asked through its library, by the names and numbers of CUDA's driver interface, so
 * that no header of a vendor is needed here. What comes first in the chain from the program to the card is
 * the reason. */
#include "src/cli/no_gpu.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/environment.h"

/* CUresult, 0 for success. */
typedef struct driver {
  int (*init)(unsigned flags);
  int (*version)(int *version);
  int (*count)(int *count);
  int (*error)(int result, const char **sentence);
  int (*name)(char *name, int length, int device);
  int (*attribute)(int *value, int attribute, int device);
} driver;

enum { CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76 }; /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_… */

static bool find(void *library, const char *name, void *entry) {
  *(void **)entry = dlsym(library, name);
  return *(void **)entry != NULL;
}

/* The library stays loaded: who loads a driver of GPUs does not unload it. */
static bool load(const char *file, driver *d) {
  void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  return library && find(library, "cuInit", &d->init) && find(library, "cuDriverGetVersion", &d->version) &&
         find(library, "cuDeviceGetCount", &d->count) && find(library, "cuGetErrorString", &d->error) &&
         find(library, "cuDeviceGetName", &d->name) && find(library, "cuDeviceGetAttribute", &d->attribute);
}

static bool is_disabled(void) {
  const char *offload = dvt_environment("OMP_TARGET_OFFLOAD");
  return offload && !strcasecmp(offload, "DISABLED");
}

/* CUDA 13.0 is version 13000. A driver runs programs of its own major version and of those before. */
static bool is_too_old(const driver *d, const char *cuda, char text[static CLI_NO_GPU_TEXT]) {
  int version = 0;
  if (d->version(&version) != 0 || version / 1000 >= atoi(cuda))
    return false;
  snprintf(text, CLI_NO_GPU_TEXT,
           "the NVIDIA driver is too old: it supports CUDA %d.%d, davit was built with CUDA %s",
           version / 1000, version % 1000 / 10, cuda);
  return true;
}

static bool does_not_start(const driver *d, char text[static CLI_NO_GPU_TEXT]) {
  const char *sentence = NULL;
  const int result = d->init(0);
  if (result == 0)
    return false;
  if (d->error(result, &sentence) != 0 || !sentence)
    sentence = "unknown error";
  snprintf(text, CLI_NO_GPU_TEXT, "the NVIDIA driver says: %s (error %d)", sentence, result);
  return true;
}

static void describe_first(const driver *d, const cli_gpu_build *build, char text[static CLI_NO_GPU_TEXT]) {
  char name[96] = "device 0";
  int count = 0, major = 0, minor = 0;
  if (d->count(&count) != 0 || count == 0) {
    const char *visible = dvt_environment("CUDA_VISIBLE_DEVICES");
    snprintf(text, CLI_NO_GPU_TEXT, "the NVIDIA driver lists none%s%s%s",
             visible ? ": CUDA_VISIBLE_DEVICES is '" : "", visible ? visible : "", visible ? "'" : "");
    return;
  }
  (void)d->name(name, sizeof name, 0);
  (void)d->attribute(&major, CAPABILITY_MAJOR, 0);
  (void)d->attribute(&minor, CAPABILITY_MINOR, 0);
  snprintf(
      text, CLI_NO_GPU_TEXT,
      "the NVIDIA driver lists %s, sm_%d%d, but the OpenMP runtime does not use it; davit was built for %s",
      name, major, minor, build->targets);
}

void cli_no_gpu(const cli_gpu_build *build, char text[static CLI_NO_GPU_TEXT]) {
  driver d;
  const bool nvidia = strstr(build->targets, "NVIDIA"), amd = strstr(build->targets, "AMD");
  if (!nvidia && !amd)
    snprintf(text, CLI_NO_GPU_TEXT, "davit was built without code for GPUs");
  else if (is_disabled())
    snprintf(text, CLI_NO_GPU_TEXT, "OMP_TARGET_OFFLOAD is DISABLED");
  else if (!nvidia)
    snprintf(text, CLI_NO_GPU_TEXT, "the OpenMP runtime finds none of AMD's; davit was built for %s",
             build->targets);
  else if (!load(build->driver, &d))
    snprintf(text, CLI_NO_GPU_TEXT, "there is no NVIDIA driver (%s cannot be loaded)", build->driver);
  else if (!is_too_old(&d, build->cuda, text) && !does_not_start(&d, text))
    describe_first(&d, build, text);
}
