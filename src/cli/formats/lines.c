/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/formats/lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/cli/fail.h"

/* Room for a line at first. */
enum { FIRST_BYTES = DVT_BUFFER(1 << 16, 16) };

int cli_lines_open(const char *path, cli_lines *lines) {
  *lines = (cli_lines){0};
  const int code = cli_input_open_packed(path, &lines->file);
  lines->name = lines->file.name;
  return code;
}

void cli_lines_close(cli_lines *lines) {
  cli_input_close(&lines->file);
  free(lines->buffer);
  *lines = (cli_lines){0};
}

/* ---- reading ---- */

static int too_long(cli_lines *lines) {
  char expected[64];
  snprintf(expected, sizeof expected, "a line of fewer than %" PRId64 " characters", lines->most + 1);
  lines->number++;
  lines->text = lines->buffer;
  return lines->input ? cli_lines_expected(lines, expected, "")
                      : cli_lines_fail(lines, "expected at most %" PRId64 " bytes in a line", lines->most);
}

static int append(cli_lines *lines, const char *bytes, size_t count) {
  if (lines->most && lines->used + count > (size_t)lines->most)
    return too_long(lines);
  if (!dvt_grow(&lines->buffer, &lines->room, (int64_t)(lines->used + count + 1), FIRST_BYTES, 1))
    return cli_fail(CLI_DEVICE, "%s: not enough memory for a line of more than %zu bytes", lines->name,
                    lines->used);
  if (count)
    memcpy(lines->buffer + lines->used, bytes, count);
  lines->used += count;
  lines->buffer[lines->used] = 0;
  return CLI_OK;
}

/* What is unpacked and not yet read. */
typedef struct piece {
  const char *bytes;
  size_t count;
} piece;

/* bgzip ends its files with an empty block: one that was cut between blocks lacks it. */
static int cannot_read(const cli_lines *lines) {
  return lines->input
             ? cli_lines_expected(lines, "more data", "")
             : cli_lines_fail(lines, "%s",
                              errno == ENODATA
                                  ? "expected bgzip's last block, found the end of a truncated file"
                                  : "expected more data, but the file is truncated, damaged or unreadable");
}

/* The rest of the block, or the next one; none at the end of the file. */
static int take_block(cli_lines *lines, piece *next) {
  if (lines->block_used == lines->block_bytes) {
    lines->block_used = 0;
    lines->block_bytes = cli_input_take(&lines->file, lines->block, sizeof lines->block);
    if (lines->block_bytes == 0 && ferror(lines->file.file))
      return cannot_read(lines);
  }
  *next = (piece){lines->block + lines->block_used, lines->block_bytes - lines->block_used};
  return CLI_OK;
}

/* The same of an input, no more than a line: the next one may take long to come. */
static int take_input(cli_lines *lines, piece *next) {
  size_t count = 0;
  for (int byte = 0;
       count < sizeof lines->block && byte != '\n' && (byte = cli_input_byte(lines->input)) != EOF;)
    lines->block[count++] = (char)byte;
  *next = (piece){lines->block, count};
  return ferror(lines->input->file) ? cannot_read(lines) : CLI_OK;
}

/* Appends what the piece has of the line, without its end. *more: the line goes on in the next piece. */
static int take(cli_lines *lines, const piece *next, bool *more) {
  const char *end = memchr(next->bytes, '\n', next->count);
  const size_t count = end ? (size_t)(end - next->bytes) : next->count;
  lines->zero = memchr(next->bytes, 0, count) != NULL;
  *more = !end && !lines->zero;
  lines->block_used += count + (end != NULL);
  return append(lines, next->bytes, count);
}

static int read_line(cli_lines *lines) {
  bool more = true, any = false;
  int code = append(lines, NULL, 0);
  while (code == CLI_OK && more) {
    piece next;
    code = (lines->input ? take_input : take_block)(lines, &next);
    if (code != CLI_OK || next.count == 0)
      break;
    any = true;
    code = take(lines, &next, &more);
  }
  lines->end = !any;
  return code;
}

int cli_lines_next(cli_lines *lines) {
  lines->used = 0;
  lines->zero = false;
  CLI_TRY(read_line(lines));
  if (!lines->input && lines->used > 0 && lines->buffer[lines->used - 1] == '\r')
    lines->buffer[--lines->used] = 0;
  lines->text = lines->buffer;
  lines->length = (int64_t)lines->used;
  lines->number += !lines->end || lines->input;
  if (lines->number == 1) {
    const size_t mark = cli_mark_length(lines->text, (size_t)lines->length);
    lines->text += mark;
    lines->length -= (int64_t)mark;
  }
  if (lines->input && lines->zero)
    return cli_lines_expected(lines, "text without zero bytes", "");
  return CLI_OK;
}

const char *cli_after_blanks(const char *at) {
  return at + strspn(at, " \t\r");
}

int cli_lines_next_content(cli_lines *lines, char comment) {
  char first;
  do {
    CLI_TRY(cli_lines_next(lines));
    first = *cli_after_blanks(lines->text);
  } while (!lines->end && (!first || first == comment));
  return CLI_OK;
}

int cli_next_word(const char **at, const char **word) {
  *word = *at + strspn(*at, " \t");
  const size_t length = strcspn(*word, " \t");
  *at = *word + length;
  return (int)length;
}

int cli_lines_check_text(const cli_lines *lines) {
  return lines->zero ? cli_lines_fail(lines, "expected text, found a zero byte") : CLI_OK;
}

int cli_lines_fail(const cli_lines *lines, const char *format, ...) {
  char text[1024];
  CLI_FORMAT(text, format);
  return lines->number ? cli_fail(CLI_INPUT, "%s: line %" PRId64 ": %s", lines->name, lines->number, text)
                       : cli_fail(CLI_INPUT, "%s: %s", lines->name, text);
}

int cli_lines_expected(const cli_lines *lines, const char *expected, const char *more) {
  if (ferror(lines->input->file))
    return cli_input_fail(lines->input, "%s", expected);
  return lines->end ? cli_lines_fail(lines, "expected %s, found the end of the file", expected)
                    : cli_lines_fail(lines, "expected %s, found '%.40s'%s", expected, lines->text, more);
}
