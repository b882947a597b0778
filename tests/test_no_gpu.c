/* SPDX-License-Identifier: Apache-2.0 */
/* The reason why there is no GPU, with a driver that says what the case wants. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/no_gpu.h"
#include "tests/support.h"

static const cli_gpu_build built = {.targets = "host x86_64-pc-linux-gnu, NVIDIA sm_80 sm_90",
                                    .cuda = "13.0.48",
                                    .driver = DAVIT_TEST_DRIVER};

static void set(const char *name, int value) {
  void *library = dlopen(DAVIT_TEST_DRIVER, RTLD_NOW);
  assert_non_null(library);
  int *variable = dlsym(library, name);
  assert_non_null(variable);
  *variable = value;
}

static void driver_says(int result, int version, int count) {
  set("stand_in_result", result);
  set("stand_in_version", version);
  set("stand_in_count", count);
}

static void expect_reason(const cli_gpu_build *build, const char *reason) {
  char text[CLI_NO_GPU_TEXT];
  cli_no_gpu(build, text);
  assert_string_equal(text, reason);
}

CASE(test_build) {
  expect_reason(
      &(cli_gpu_build){.targets = "host x86_64-pc-linux-gnu", .cuda = "-", .driver = DAVIT_TEST_DRIVER},
      "davit was built without code for GPUs");
  expect_reason(&(cli_gpu_build){.targets = "host a, AMD gfx90a", .cuda = "-", .driver = DAVIT_TEST_DRIVER},
                "the OpenMP runtime finds none of AMD's; davit was built for host a, AMD gfx90a");
}

CASE(test_driver) {
  cli_gpu_build none = built;
  none.driver = "libdavit_no_such_driver.so.1";
  expect_reason(&none, "there is no NVIDIA driver (libdavit_no_such_driver.so.1 cannot be loaded)");
  driver_says(0, 12040, 1);
  expect_reason(&built,
                "the NVIDIA driver is too old: it supports CUDA 12.4, davit was built with CUDA 13.0.48");
  driver_says(100, 13000, 1);
  expect_reason(&built, "the NVIDIA driver says: no CUDA-capable device is detected (error 100)");
  driver_says(999, 13000, 1);
  expect_reason(&built, "the NVIDIA driver says: unknown error (error 999)");
}

CASE(test_cards) {
  driver_says(0, 13000, 0);
  unsetenv("CUDA_VISIBLE_DEVICES");
  expect_reason(&built, "the NVIDIA driver lists none");
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  expect_reason(&built, "the NVIDIA driver lists none: CUDA_VISIBLE_DEVICES is ''");
  driver_says(0, 14000, 1);
  expect_reason(
      &built, "the NVIDIA driver lists Old card 0, sm_70, but the OpenMP runtime does not use it; davit was "
              "built for host x86_64-pc-linux-gnu, NVIDIA sm_80 sm_90");
  setenv("OMP_TARGET_OFFLOAD", "disabled", 1);
  expect_reason(&built, "OMP_TARGET_OFFLOAD is DISABLED");
  unsetenv("OMP_TARGET_OFFLOAD");
}
