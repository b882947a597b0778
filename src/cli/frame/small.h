/* SPDX-License-Identifier: Apache-2.0 */
/* Work that the CPU has done before a GPU is opened. */
#ifndef DAVIT_SRC_CLI_FRAME_SMALL_H
#define DAVIT_SRC_CLI_FRAME_SMALL_H

#include "src/cli/frame/options.h"

/* Whether the CPU alone should do the work, because to open a GPU takes longer (a third of a second): there may be a
 * GPU, the user has asked neither for devices nor for what is measured on them, and the operands are files of at most
 * the command's `small_bytes` in all. `state` begins with the common options. Opens no GPU. */
bool cli_is_small(const cli_command *command, const cli_common *state);

#endif
