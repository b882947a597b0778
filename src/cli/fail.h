/* SPDX-License-Identifier: Apache-2.0 */
/* Exit codes and failures of the tool. Every other file of the tool may use this one; it uses none of
 * them. */
#ifndef DAVIT_SRC_CLI_FAIL_H
#define DAVIT_SRC_CLI_FAIL_H

#include <davit/status.h>
#include <stdbool.h>

/* Exit codes that scripts rely on. CLI_HELP never leaves the process: main() prints the help and returns
 * CLI_OK. */
enum {
  CLI_HELP = -1,
  CLI_OK = 0,
  CLI_FAILED = 1, /* a check, a computation or the writing of a result failed */
  CLI_USAGE = 2,
  CLI_INPUT = 3, /* unreadable or malformed input */
  CLI_DEVICE = 4 /* device or memory failure */
};

/* The end of the noun behind a count: "1 frame", "2 frames", "0 frames". */
#define CLI_PLURAL(count) ((count) == 1 ? "" : "s")

/* Sets the sub-command that the messages of cli_fail() name; NULL for none. */
void cli_fail_name(const char *command);

/* Prints one line, "davit COMMAND: …", on standard error and returns `code`. Control characters, which
 * a file name may contain, are printed as '?', so that a message is always one line. */
int cli_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What messages call the operand `path`: "standard input" if it is "-". */
const char *cli_fail_place(const char *path);

/* Prints one line of the same form that is no failure, "davit COMMAND: …", unless the tool is quiet. */
void cli_remark(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_be_quiet(bool quiet);

/* While messages are kept nothing is printed; kept() is the first of them since it was called, "" if there
 * is none. */
void cli_fail_keep(bool keep);
const char *cli_fail_kept(void);

/* CLI_OK for DAVIT_SUCCESS; else prints the library's sentence and returns the exit code for that status. */
int cli_status(davit_status status);

/* Formats the arguments behind `format` into the array `text`; <stdarg.h> and <stdio.h> are needed. */
#define CLI_FORMAT(text, format)                                                                             \
  do {                                                                                                       \
    va_list cli_arguments;                                                                                   \
    va_start(cli_arguments, format);                                                                         \
    vsnprintf(text, sizeof(text), format, cli_arguments);                                                    \
    va_end(cli_arguments);                                                                                   \
  } while (0)

/* Returns from a function that returns an exit code, if this one is not CLI_OK. */
#define CLI_TRY(call)                                                                                        \
  do {                                                                                                       \
    const int cli_try_code = (call);                                                                         \
    if (cli_try_code != CLI_OK)                                                                              \
      return cli_try_code;                                                                                   \
  } while (0)

#endif
