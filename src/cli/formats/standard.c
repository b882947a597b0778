/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/formats/standard.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/cli/fail.h"
#include "src/cli/ranks.h"

int cli_standard_input(const char *path, bool *standard, const char **name) {
  static bool taken;
  *standard = !strcmp(path, "-");
  *name = *standard ? "standard input" : path;
  if (!*standard)
    return CLI_OK;
  if (taken)
    return cli_fail(CLI_USAGE, "standard input ('-') can stand for one operand only");
  taken = cli_ranks_one_reader() == CLI_OK;
  if (taken && isatty(STDIN_FILENO))
    fprintf(stderr, "davit: waiting for standard input, which is a terminal; Ctrl-D ends it\n");
  return taken ? CLI_OK : CLI_USAGE;
}
