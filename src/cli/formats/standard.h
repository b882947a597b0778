/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAVIT_SRC_CLI_FORMATS_STANDARD_H
#define DAVIT_SRC_CLI_FORMATS_STANDARD_H

#include <stdbool.h>

/* Whether the operand `path` is standard input, "-", which one operand and one process alone may read, and
 * its name for messages. A CLI code. */
int cli_standard_input(const char *path, bool *standard, const char **name);

#endif
