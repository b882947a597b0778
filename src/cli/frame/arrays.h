/* SPDX-License-Identifier: Apache-2.0 */
/* Operands and results by the rows of a command (cli_array_row).
 *
 * Every dimension of an operand is one of the command's sizes. The first operand that has a size says what it is, the
 * others are checked against it. The first operand also says the type. Several ranks cut the sizes in `cut`, one among
 * all of them, two into a grid: every rank reads the parts of its operands that belong to its part of the sizes, and
 * the result is put together by the same cuts. */
#ifndef DAVIT_SRC_CLI_FRAME_ARRAYS_H
#define DAVIT_SRC_CLI_FRAME_ARRAYS_H

#include "src/cli/frame/state.h"

/* Reads the operands, creates the results, and sets sizes and rate. */
int cli_arrays_read(cli_job *job);

/* Several ranks: puts the result together on rank 0, which reads the operands whole for --check. */
int cli_arrays_gather(cli_job *job);

#endif
