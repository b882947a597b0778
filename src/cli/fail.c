/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"

static const char *command_name;
static bool keeping, is_quiet;
static char kept[4096]; /* the first message since it was asked for */

void cli_fail_name(const char *command) {
  command_name = command;
}

void cli_fail_keep(bool keep) {
  keeping = keep;
}

const char *cli_fail_kept(void) {
  static char text[sizeof kept];
  memcpy(text, kept, sizeof kept);
  *kept = 0;
  return text;
}

/* The line, on standard error. */
static void print(const char *text) {
  if (command_name)
    fprintf(stderr, "davit %s: %s\n", command_name, text);
  else
    fprintf(stderr, "davit: %s\n", text);
}

int cli_fail(int code, const char *format, ...) {
  char text[sizeof kept];
  CLI_FORMAT(text, format);
  dvt_make_printable(text);
  if (keeping && *kept)
    return code;
  if (keeping)
    memcpy(kept, text, sizeof kept);
  else
    print(text);
  return code;
}

const char *cli_fail_place(const char *path) {
  return strcmp(path, "-") ? path : "standard input";
}

void cli_be_quiet(bool quiet) {
  is_quiet = quiet;
}

void cli_remark(const char *format, ...) {
  char text[sizeof kept];
  CLI_FORMAT(text, format);
  dvt_make_printable(text);
  if (!is_quiet)
    print(text);
}

static int exit_code(davit_status status) {
  switch (status) {
  case DAVIT_INVALID_ARGUMENT:
  case DAVIT_UNKNOWN_DEVICE:
    return CLI_USAGE;
  case DAVIT_OUT_OF_HOST_MEMORY:
  case DAVIT_OUT_OF_DEVICE_MEMORY:
  case DAVIT_DEVICE_ERROR:
  case DAVIT_DEVICE_LOST:
    return CLI_DEVICE;
  default:
    return CLI_FAILED;
  }
}

int cli_status(davit_status status) {
  if (status == DAVIT_SUCCESS)
    return CLI_OK;
  const char *sentence = davit_last_error();
  return cli_fail(exit_code(status), "%s", *sentence ? sentence : davit_status_string(status));
}
