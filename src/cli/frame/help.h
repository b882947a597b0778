/* SPDX-License-Identifier: Apache-2.0 */
/* Help texts, written from the rows of a command. */
#ifndef DAVIT_SRC_CLI_FRAME_HELP_H
#define DAVIT_SRC_CLI_FRAME_HELP_H

#include "src/cli/frame/command.h"

/* All of a command's rows on standard output: usage, description, operands, options with ranges and
 * defaults, and examples. */
void cli_help_print(const cli_command *command);

#endif
