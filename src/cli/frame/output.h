/* SPDX-License-Identifier: Apache-2.0 */
/* Output files, written whole or not at all.
 *
 * Opening begins the file that is to replace the target (src/base/replace.h), so that an unwritable place is
 * an error before any work is done; writing fills it and flushes it to the disk; committing puts it in place.
 * Whatever ends the program before that, signals included, leaves the target as it was, and nothing beside
 * it. A target that exists and is not a regular file (/dev/null, a pipe) is written directly, and so is
 * standard output ("-"). Outputs that belong together are all written before the first is committed. */
#ifndef DAVIT_SRC_CLI_FRAME_OUTPUT_H
#define DAVIT_SRC_CLI_FRAME_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "src/base/replace.h"
#include "src/cli/formats/array.h"

enum { CLI_MAX_OUTPUTS = 3 }; /* that are open at a time */

typedef struct cli_output {
  const char *path;            /* as given; NULL: no output wanted */
  dvt_replacement replacement; /* not open when written directly */
  FILE *file;
} cli_output;

/* Opens output->path, the value of `option`, if there is one. CLI_FAILED if it cannot be written, CLI_USAGE if the
 * command reads that file (files.h). */
int cli_output_open(const char *option, cli_output *output);

/* Whether the name of this output ends so, or says nothing of the contents: standard output, a pipe, a device. */
bool cli_output_ends_in(const char *path, const char *ending);

/* Writes `array` in the format that the name decides, and closes the file. CLI_FAILED, and an output
 * that is discarded, if that cannot be done. Without a path, nothing. */
int cli_output_write(cli_output *output, const cli_array *array);

/* The same for what `write` makes of `state`; it returns false on a write error, with errno. */
int cli_output_write_text(cli_output *output, bool (*write)(FILE *file, const void *state),
                          const void *state);

/* Puts all outputs that are open, and were written, in place; CLI_FAILED if that fails. */
int cli_outputs_commit(void);

/* Checks that the file `path` (NULL: none), which `option` has written by other means, is none of the outputs
 * that are open and no file that the command reads, under whatever name; CLI_USAGE, after a message, if it is.
 * CLI_FAILED if it is a link to a file that does not exist. */
int cli_output_check_other(const char *option, const char *path);

/* Flushes standard output; CLI_FAILED, after a message, if what was printed could not be written. */
int cli_output_flush(void);

/* Removes an output that is not committed. {0} and a committed output are allowed. */
void cli_output_discard(cli_output *output);

#endif
