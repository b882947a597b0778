/* SPDX-License-Identifier: Apache-2.0 */
/* A driver of GPUs that says what the test wants (tests/test_no_gpu.c). */
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

/* What cuInit() returns, what version the driver has, and how many GPUs there are. */
EXPORT int stand_in_result, stand_in_version, stand_in_count;

EXPORT int cuInit(unsigned flags) {
  return (int)flags + stand_in_result;
}

EXPORT int cuDriverGetVersion(int *version) {
  *version = stand_in_version;
  return 0;
}

EXPORT int cuDeviceGetCount(int *count) {
  *count = stand_in_count;
  return 0;
}

EXPORT int cuGetErrorString(int result, const char **sentence) {
  *sentence = "no CUDA-capable device is detected";
  return result == 100 ? 0 : 1;
}

EXPORT int cuDeviceGetName(char *name, int length, int device) {
  snprintf(name, (size_t)length, "Old card %d", device);
  return 0;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 75 ? 7 : device;
  return attribute == 75 || attribute == 76 ? 0 : 1;
}
