/* SPDX-License-Identifier: Apache-2.0 */
/* Manual pages in the language of man(7), and completion for shells, from the rows of the commands. */
#ifndef DAVIT_SRC_CLI_FRAME_MAN_H
#define DAVIT_SRC_CLI_FRAME_MAN_H

#include "src/cli/frame/help.h"

/* The page davit(1). */
void cli_man_overview(cli_commands commands);

/* The page davit-NAME(1). */
void cli_man_print(const cli_command *command);

/* The function that bash, or zsh, calls to complete a command line of davit's. */
void cli_complete_bash(cli_commands commands);
void cli_complete_zsh(cli_commands commands);

#endif
