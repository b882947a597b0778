/* SPDX-License-Identifier: Apache-2.0 */
/* Text read line by line. */
#include "src/cli/formats/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <htslib/hts_log.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/cli/fail.h"
#include "src/cli/formats/input.h"
#include "src/cli/formats/standard.h"

/* A descriptor, because htslib takes some paths for remote addresses. */
int cli_lines_open(const char *path, cli_lines *lines) {
  bool standard;
  *lines = (cli_lines){0};
  const int code = cli_standard_input(path, &standard, &lines->name);
  if (code != CLI_OK)
    return code;
  hts_set_log_level(HTS_LOG_OFF);
  const int descriptor = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0)
    lines->file = bgzf_dopen(descriptor, "r");
  if (lines->file)
    return CLI_OK;
  const int error = errno;
  if (descriptor >= 0)
    close(descriptor);
  return cli_fail(CLI_INPUT, "%s: expected a readable file: %s", lines->name, strerror(error));
}

void cli_lines_close(cli_lines *lines) {
  if (lines->file)
    (void)bgzf_close(lines->file);
  free(lines->buffer.s);
  *lines = (cli_lines){0};
}

/* bgzip ends its files with an empty block, so a file that was cut between blocks is recognised by the last
 * block that was read. */
static int check_end(const cli_lines *lines) {
  return bgzf_compression(lines->file) == 2 && lines->file->no_eof_block
             ? cli_lines_fail(lines, "expected bgzip's last block, found the end of a truncated file")
             : CLI_OK;
}

int cli_lines_next(cli_lines *lines) {
  const int got = bgzf_getline(lines->file, '\n', &lines->buffer);
  if (got < -1 || lines->file->errcode) /* damage may end a line early, without another sign */
    return cli_lines_fail(lines, "expected more data, but the file is truncated, damaged or unreadable");
  lines->end = got == -1;
  lines->text = lines->buffer.s;
  lines->length = lines->end ? 0 : (int64_t)lines->buffer.l;
  lines->number += !lines->end;
  if (lines->number == 1) {
    const size_t mark = cli_mark_length(lines->text, (size_t)lines->length);
    lines->text += mark;
    lines->length -= (int64_t)mark;
  }
  return lines->end ? check_end(lines) : CLI_OK;
}

int cli_lines_fail(const cli_lines *lines, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return lines->number ? cli_fail(CLI_INPUT, "%s: line %" PRId64 ": %s", lines->name, lines->number, text)
                       : cli_fail(CLI_INPUT, "%s: %s", lines->name, text);
}
