/* SPDX-License-Identifier: Apache-2.0 */
/* The command line, read by a command's rows.
 *
 * `--name value` and `--name=value` are the same; a one-letter name is written `-o value`. `--` ends the
 * options; `-` is an operand (standard input or output). Names are not abbreviated. A later option overrides
 * an earlier one. Numbers are read whole: trailing characters and overflow are usage errors. Whole numbers
 * may be written with an exponent, such as 1e6. */
#ifndef DAVIT_SRC_CLI_FRAME_OPTIONS_H
#define DAVIT_SRC_CLI_FRAME_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/cli/frame/command.h"

/* The values of the common options; every state begins with them. */
typedef struct cli_common {
  const char *devices; /* as given; cli_device_set_parse() reads it */
  int threads;         /* 0: not given */
  const char *trace;   /* a file, or NULL */
  bool json;
  bool check;
  bool quiet;
  bool verbose;
  bool force;
  int64_t repeat;
  int64_t warmup;
  uint64_t seed;
  cli_reading reading; /* of the first operand; cli_reading_of_other() of the others */
  uint64_t given;      /* bit i: the option cli_option_row(command, i) was given */
} cli_common;

/* Reads argv[1 …] into `state`, which is zeros. Returns CLI_OK, CLI_HELP when --help or -h is given, or
 * CLI_USAGE after a message. */
int cli_options_parse(const cli_command *command, int argc, char **argv, void *state);

/* Frees the lists that the parser made. */
void cli_options_free(const cli_command *command, void *state);

/* Row number `index` of the command's own options and then of the common ones it takes; NULL after the
 * last. */
const cli_option *cli_option_row(const cli_command *command, int index);

bool cli_is_given(const cli_command *command, const cli_common *common, const char *name);

/* The name of the choice with this value; there must be one. */
const char *cli_choice_name(const cli_choice *choices, int value);

enum { CLI_OPTION_TEXT = 256 };

/* The default, as it would be written; false if there is none. */
bool cli_option_default(const cli_command *command, const cli_option *option,
                        char text[static CLI_OPTION_TEXT]);

/* The range: "from 1 to 100", "above 0, at most 10"; "" without one. */
void cli_option_range(const cli_option *option, char text[static CLI_OPTION_TEXT]);

/* What the option takes: "sum, prod, min or max", "auto or a whole number", "a number". */
void cli_option_values(const cli_option *option, char text[static CLI_OPTION_TEXT]);

#endif
