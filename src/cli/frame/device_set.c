/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/frame/device_set.h"

#include <davit/device.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/environment.h"
#include "src/cli/ranks.h"

static int parse_default(cli_device_set *set) {
  CLI_TRY(cli_status(davit_device_defaults(CLI_MAX_DEVICES, set->ids, &set->count)));
  if (set->count > CLI_MAX_DEVICES)
    set->count = CLI_MAX_DEVICES;
  return CLI_OK;
}

/* All host-offload devices of the runtime, or all others. */
static int parse_kind(bool host, cli_device_set *set) {
  int count;
  CLI_TRY(cli_status(davit_device_count(&count)));
  for (int device = 0; device < count && set->count < CLI_MAX_DEVICES; device++) {
    davit_device_info info;
    CLI_TRY(cli_status(davit_device_describe(device, &info)));
    if ((info.kind == DAVIT_DEVICE_HOST_OFFLOAD) == host)
      set->ids[set->count++] = device;
  }
  if (!set->count && !host)
    return cli_fail(CLI_USAGE, "--devices gpu: there is no GPU; 'davit devices' says why");
  if (!set->count)
    set->ids[set->count++] = DAVIT_HOST;
  return CLI_OK;
}

static int add_device(long device, cli_device_set *set) {
  for (int i = 0; i < set->count; i++)
    if (set->ids[i] == device)
      return cli_fail(CLI_USAGE, "--devices names device %ld twice", device);
  if (set->count == CLI_MAX_DEVICES)
    return cli_fail(CLI_USAGE, "--devices takes at most %d devices", CLI_MAX_DEVICES);
  davit_device_info info;
  CLI_TRY(cli_status(davit_device_describe((int)device, &info)));
  set->ids[set->count++] = (int)device;
  return CLI_OK;
}

static int parse_numbers(const char *text, cli_device_set *set) {
  for (const char *at = text;; at++) {
    char *end;
    errno = 0;
    const long device = strtol(at, &end, 10);
    if (end == at || strspn(at, "-0123456789") < (size_t)(end - at) || errno || device < DAVIT_HOST ||
        device > INT_MAX || (*end && *end != ','))
      return cli_fail(CLI_USAGE, "--devices takes all, gpu, host, cpu or numbers such as 0,2, not '%s'",
                      text);
    const int code = add_device(device, set);
    if (code != CLI_OK || !*end)
      return code;
    at = end;
  }
}

int cli_device_set_parse(const char *text, cli_device_set *set) {
  *set = (cli_device_set){0};
  if (!strcmp(text, "cpu")) {
    *set = (cli_device_set){.reference = true, .count = 1, .ids = {DAVIT_HOST}};
    return CLI_OK;
  }
  if (!strcmp(text, "all"))
    return parse_default(set);
  if (!strcmp(text, "gpu") || !strcmp(text, "host"))
    return parse_kind(*text == 'h', set);
  return parse_numbers(text, set);
}

int cli_devices_alike(const cli_device_set *set, int first) {
  int length = 0;
  davit_device_info info;
  while (first + length < set->count && set->ids[first + length] == set->ids[first] + length &&
         davit_device_describe(set->ids[first + length], &info) == DAVIT_SUCCESS &&
         info.kind == DAVIT_DEVICE_HOST_OFFLOAD)
    length++;
  return length > 1 ? length : 1;
}

void cli_devices_print(const cli_device_set *set, FILE *file, const char *margin) {
  for (int i = 0, length; i < set->count; i += length) {
    davit_device_info info;
    length = cli_devices_alike(set, i);
    if (davit_device_describe(set->ids[i], &info) != DAVIT_SUCCESS)
      continue;
    if (length > 1)
      fprintf(file, "%sdevices %d to %d: the CPU, as %d host-offload devices, %s\n", margin, set->ids[i],
              set->ids[i + length - 1], length, info.name);
    else
      fprintf(file, "%sdevice %d: %s, %s\n", margin, info.device, davit_device_kind_string(info.kind),
              info.name);
  }
}

/* ---- work for the CPU alone ---- */

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
