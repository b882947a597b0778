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

#include "src/base/allocate.h"
#include "src/base/buffer.h"
#include "src/cli/fail.h"
#include "src/cli/formats/input.h"
#include "src/cli/formats/standard.h"

/* Room for a line at first. */
enum { FIRST_BYTES = DVT_BUFFER(1 << 16, 16) };

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
  free(lines->buffer);
  *lines = (cli_lines){0};
}

/* bgzip ends its files with an empty block, so a file that was cut between blocks is recognised by the last
 * block that was read. */
static int check_end(const cli_lines *lines) {
  return bgzf_compression(lines->file) == 2 && lines->file->no_eof_block
             ? cli_lines_fail(lines, "expected bgzip's last block, found the end of a truncated file")
             : CLI_OK;
}

static int append(cli_lines *lines, const char *bytes, size_t count) {
  const size_t wanted = lines->used + count + 1;
  if (lines->most && lines->used + count > (size_t)lines->most) {
    lines->number++;
    return cli_lines_fail(lines, "expected at most %" PRId64 " bytes in a line", lines->most);
  }
  if (wanted > lines->room) {
    const size_t room = wanted < 2 * lines->room ? 2 * lines->room : wanted + FIRST_BYTES;
    char *grown = dvt_reallocate(lines->buffer, room, 1);
    if (!grown)
      return cli_fail(CLI_DEVICE, "%s: not enough memory for a line of more than %zu bytes", lines->name,
                      lines->used);
    lines->buffer = grown;
    lines->room = room;
  }
  if (count)
    memcpy(lines->buffer + lines->used, bytes, count);
  lines->used += count;
  lines->buffer[lines->used] = 0;
  return CLI_OK;
}

/* Makes bytes of the next block ready, or leaves none at the end of the file. */
static int fill(const cli_lines *lines) {
  BGZF *file = lines->file;
  if (file->block_offset < file->block_length)
    return CLI_OK;
  file->block_offset = file->block_length = 0;
  if (bgzf_read_block(file) || file->errcode)
    return cli_lines_fail(lines, "expected more data, but the file is truncated, damaged or unreadable");
  return CLI_OK;
}

/* Appends what the block has of the line, without its end. *more: the line goes on in the next block. */
static int take(cli_lines *lines, bool *more) {
  BGZF *file = lines->file;
  const char *bytes = (const char *)file->uncompressed_block + file->block_offset;
  const size_t ready = (size_t)(file->block_length - file->block_offset);
  const char *end = memchr(bytes, '\n', ready);
  const size_t count = end ? (size_t)(end - bytes) : ready;
  lines->zero = memchr(bytes, 0, count) != NULL;
  *more = !end && !lines->zero;
  file->block_offset += (int)count + (end != NULL);
  return append(lines, bytes, count);
}

static int read_line(cli_lines *lines) {
  bool more = true, any = false;
  int code = append(lines, NULL, 0);
  while (code == CLI_OK && more) {
    code = fill(lines);
    if (code != CLI_OK || lines->file->block_length == 0)
      break;
    any = true;
    code = take(lines, &more);
  }
  lines->end = !any;
  return code;
}

int cli_lines_next(cli_lines *lines) {
  lines->used = 0;
  lines->zero = false;
  const int code = read_line(lines);
  if (code != CLI_OK)
    return code;
  if (lines->used > 0 && lines->buffer[lines->used - 1] == '\r')
    lines->buffer[--lines->used] = 0;
  lines->text = lines->buffer;
  lines->length = (int64_t)lines->used;
  lines->number += !lines->end;
  if (lines->number == 1) {
    const size_t mark = cli_mark_length(lines->text, (size_t)lines->length);
    lines->text += mark;
    lines->length -= (int64_t)mark;
  }
  return lines->end ? check_end(lines) : CLI_OK;
}

int cli_lines_check_text(const cli_lines *lines) {
  return lines->zero ? cli_lines_fail(lines, "expected text, found a zero byte") : CLI_OK;
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
