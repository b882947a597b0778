/* SPDX-License-Identifier: Apache-2.0 */
/* The regular files that a command reads and writes: none is both, and none is two outputs,
 * whatever the names.
 *
 * Where an input is opened, and where an output is, its file is noted by device and inode; the later of the two
 * is refused. Other files (pipes, devices) are not noted. Names are kept, not copied. Not for several threads.
 * Used by src/cli/formats/ (inputs) and src/cli/frame/ (outputs). */
#ifndef DAVIT_SRC_CLI_FILES_H
#define DAVIT_SRC_CLI_FILES_H

#include <sys/stat.h>

/* An input, `name` in messages. CLI_USAGE, after a message, if it is one of the outputs; CLI_DEVICE without memory. */
int cli_files_read(const char *name, const struct stat *status);

/* The same of what is to be read from `path`; nothing where there is no file. */
int cli_files_read_path(const char *name, const char *path);

/* The output `path` of `option`. CLI_USAGE, after a message, if it is one of the inputs or another output; CLI_DEVICE
 * without memory. */
int cli_files_written(const char *option, const char *path, const struct stat *status);

/* CLI_USAGE, after a message: two outputs are the file `path`. */
int cli_files_are_one(const char *path);

/* Forgets all of them, and the names. */
void cli_files_forget(void);

#endif
