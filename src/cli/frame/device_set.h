/* SPDX-License-Identifier: Apache-2.0 */
/* The devices that --devices names. */
#ifndef DAVIT_SRC_CLI_FRAME_DEVICE_SET_H
#define DAVIT_SRC_CLI_FRAME_DEVICE_SET_H

#include <stdbool.h>
#include <stdio.h>

#include "src/cli/frame/options.h"

enum { CLI_MAX_DEVICES = 64 };

typedef struct cli_device_set {
  bool reference; /* "cpu": dvt_ref_* on this process's threads; the library's offload is not started */
  int count;      /* at least 1 */
  int ids[CLI_MAX_DEVICES]; /* of "cpu": DAVIT_HOST */
} cli_device_set;

/* Reads "all", "gpu", "host", "cpu" or a list of numbers (DAVIT_HOST is -1), each of which must exist and
 * be named once. */
int cli_device_set_parse(const char *text, cli_device_set *set);

/* How many devices from the first on are host-offload ones with numbers that follow each other; at least 1. */
int cli_devices_alike(const cli_device_set *set, int first);

/* Whether the CPU alone should do the work, because to open a GPU takes longer (a third of a second): there may be a
 * GPU, the user has asked neither for devices nor for what is measured on them, and the operands are files of at most
 * the command's `small_bytes` in all. `state` begins with the common options. Opens no GPU. */
bool cli_is_small(const cli_command *command, const cli_common *state);

/* A line for each device, after `margin`. Host-offload devices, which are one processor several times, have one
 * line together. */
void cli_devices_print(const cli_device_set *set, FILE *file, const char *margin);

#endif
