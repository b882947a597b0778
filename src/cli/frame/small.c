/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/frame/small.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/environment.h"
#include "src/cli/ranks.h"

/* By the files through which drivers are reached: NVIDIA's, AMD's, and that of Linux on Windows. Devices that pose as
 * GPUs count. */
static bool may_have_gpu(void) {
  const char *simulated = dvt_environment("DAVIT_SIMULATE");
  return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/kfd", F_OK) == 0 ||
         access("/dev/dxg", F_OK) == 0 || (simulated && *simulated);
}

static bool asks_for_devices(const cli_command *command, const cli_common *common) {
  bool asks = common->trace || cli_is_given(command, common, "--devices") ||
              cli_is_given(command, common, "--repeat");
  for (const char *const *name = command->of_devices; name && *name && !asks; name++)
    asks = cli_is_given(command, common, *name);
  return asks;
}

/* What a compressed file holds is not known: arrays and sequences rarely shrink by more. */
static int64_t weight(const char *path) {
  enum { SHRINKS_BY = 32 };
  const size_t length = strlen(path);
  return length > 0 && path[length - 1] == 'z' ? SHRINKS_BY : 1;
}

bool cli_is_small(const cli_command *command, const cli_common *state) {
  int64_t left = command->small_bytes;
  if (left == 0 || cli_ranks_several() || asks_for_devices(command, state) || !may_have_gpu())
    return false;
  for (const cli_place *place = command->operands; place->name && left >= 0; place++) {
    const char *path = *(const char *const *)((const char *)state + place->at);
    struct stat file;
    if (place->many || (path && (stat(path, &file) != 0 || !S_ISREG(file.st_mode))))
      return false;
    const int64_t bytes = path ? (int64_t)file.st_size : 0;
    left = bytes > left ? -1 : left - bytes * weight(path ? path : "");
  }
  return left >= 0;
}
