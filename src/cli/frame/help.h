/* SPDX-License-Identifier: Apache-2.0 */
/* Help texts, manual pages and completion, written from the rows of the commands. */
#ifndef DAVIT_SRC_CLI_FRAME_HELP_H
#define DAVIT_SRC_CLI_FRAME_HELP_H

#include "src/cli/frame/options.h"

/* All commands of the tool; the last is NULL. */
typedef const cli_command *const *cli_commands;

/* What `davit help` prints: the commands and their summaries. */
void cli_help_overview(cli_commands commands);

/* All of a command's rows on standard output: usage, description, operands, options with ranges and
 * defaults, and examples. */
void cli_help_print(const cli_command *command);

/* ---- manual pages in the language of man(7), and completion for shells ---- */

/* The page davit(1). */
void cli_man_overview(cli_commands commands);

/* The page davit-NAME(1). */
void cli_man_print(const cli_command *command);

/* The function that bash, or zsh, calls to complete a command line of davit's. */
void cli_complete_bash(cli_commands commands);
void cli_complete_zsh(cli_commands commands);

/* ---- parts of the texts ---- */

enum { CLI_HELP_TEXT = 4 * CLI_OPTION_TEXT };

/* What may be said of arrays in one sentence, and the exit codes, a row for each; the last has no text. */
extern const char cli_help_arrays[];
typedef struct cli_help_exit {
  int code;
  const char *text;
} cli_help_exit;
extern const cli_help_exit cli_help_exits[];

/* The placeholder of the option's value, in brackets if the value may be left out; "" for a flag. */
void cli_help_argument(const cli_option *option, char text[static CLI_OPTION_TEXT]);

/* Help, choices without a text of their own, range and default. */
void cli_help_option(const cli_command *command, const cli_option *option, char text[static CLI_HELP_TEXT]);

/* Whether the choices have texts of their own. */
bool cli_help_has_choices(const cli_option *option);

#endif
