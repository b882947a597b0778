/* SPDX-License-Identifier: Apache-2.0 */
/* The command lines of several ranks: what shapes the result has to be the same on all.
 *
 * An option counts by its value, an output by its name. A file to read may have another name on each rank (its
 * contents are compared when it is read), so only whether there is one counts, and of a list how many. What a
 * rank does in its own way may differ: its threads, its devices (but --devices cpu, which says who computes),
 * and what rank 0 alone does with it: the trace, remarks and progress, binary output to a terminal. */
#ifndef DAVIT_SRC_CLI_FRAME_SAME_H
#define DAVIT_SRC_CLI_FRAME_SAME_H

#include "src/cli/frame/command.h"

/* Collective, on all ranks that parsed the command line of one command into `state`. CLI_USAGE, after a message
 * that names the option or operand, where this rank has another one than rank 0. */
int cli_options_compare(const cli_command *command, const void *state);

#endif
