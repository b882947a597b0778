/* SPDX-License-Identifier: Apache-2.0 */
/* Text read line by line. */
#define _GNU_SOURCE /* fopencookie() */
#include "src/cli/formats/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <htslib/hfile.h>
#include <htslib/hts_log.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/allocate.h"
#include "src/cli/fail.h"
#include "src/cli/formats/gzip.h"

enum { HEADER_BYTES = 18, LAST_BLOCK_BYTES = 28 };

/* Room for a line at first. */
enum { FIRST_BYTES = DVT_BUFFER(1 << 16, 16) };

/* ---- opening ---- */

/* Whether a member of gzip that begins with this header is a block of bgzip. */
static bool is_block(const unsigned char header[HEADER_BYTES]) {
  static const unsigned char extra[6] = {6, 0, 'B', 'C', 2, 0};
  return cli_gzip_begins(header, HEADER_BYTES) && (header[3] & 4) &&
         !memcmp(header + 10, extra, sizeof extra);
}

static ssize_t read_file(void *file, char *bytes, size_t count) {
  return hread(file, bytes, count);
}

static int close_file(void *file) {
  return hclose(file);
}

/* htslib takes anything behind gzip's last member for damage, so gzip's files are read by gzip.h. */
static bool open_unpacked(hFILE *file, cli_lines *lines) {
  const cookie_io_functions_t functions = {.read = read_file, .close = close_file};
  FILE *packed = fopencookie(file, "r", functions);
  if (!packed)
    return false;
  lines->unpacked = cli_gzip_open(packed, NULL, 0);
  if (!lines->unpacked)
    fclose(packed);
  return lines->unpacked;
}

/* The file is closed if it cannot be opened. */
static bool open_text(hFILE *file, cli_lines *lines) {
  unsigned char header[HEADER_BYTES] = {0};
  const ssize_t count = hpeek(file, header, sizeof header);
  if (count > 2 && cli_gzip_begins(header, (size_t)count) && !is_block(header))
    return open_unpacked(file, lines);
  lines->file = bgzf_hopen(file, "r");
  if (!lines->file)
    hclose_abruptly(file);
  return lines->file;
}

/* A descriptor, because htslib takes some paths for remote addresses. */
int cli_lines_open(const char *path, cli_lines *lines) {
  bool standard;
  *lines = (cli_lines){0};
  CLI_TRY(cli_standard_input(path, &standard, &lines->name));
  hts_set_log_level(HTS_LOG_OFF);
  const int descriptor = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
  hFILE *file = descriptor >= 0 ? hdopen(descriptor, "r") : NULL;
  if (file && open_text(file, lines))
    return CLI_OK;
  const int error = errno;
  if (descriptor >= 0 && !file)
    close(descriptor);
  return cli_fail(CLI_INPUT, "%s: expected a readable file: %s", lines->name, strerror(error));
}

void cli_lines_close(cli_lines *lines) {
  if (lines->file)
    (void)bgzf_close(lines->file);
  if (lines->unpacked)
    fclose(lines->unpacked);
  free(lines->buffer);
  *lines = (cli_lines){0};
}

/* ---- reading ---- */

/* bgzip ends its files with an empty block, so a file that was cut between blocks is recognised by the last
 * block that was read. */
static int check_end(const cli_lines *lines) {
  return lines->file && !lines->padded && bgzf_compression(lines->file) == 2 && lines->file->no_eof_block
             ? cli_lines_fail(lines, "expected bgzip's last block, found the end of a truncated file")
             : CLI_OK;
}

/* Whether the next block is bgzip's last one, with zero bytes behind it, which htslib would take for another
 * block; takes both. Padding that ends in something else cannot be read. */
static bool take_padding(BGZF *bgzf) {
  static const unsigned char last[HEADER_BYTES] = {31,  139, 8, 4,   0,   0, 0, 0,  0,
                                                   255, 6,   0, 'B', 'C', 2, 0, 27, 0};
  unsigned char next[LAST_BLOCK_BYTES + 1];
  hFILE *file = bgzf->fp;
  if (bgzf_compression(bgzf) != 2 || hpeek(file, next, sizeof next) != sizeof next ||
      memcmp(next, last, sizeof last) != 0 || next[LAST_BLOCK_BYTES])
    return false;
  int byte = hread(file, next, sizeof next) != sizeof next;
  while (!byte && (byte = hgetc(file)) != EOF)
    ;
  if (byte != EOF || herrno(file))
    bgzf->errcode = BGZF_ERR_HEADER;
  return true;
}

static int too_long(cli_lines *lines) {
  char expected[64];
  snprintf(expected, sizeof expected, "a line of less than %" PRId64 " characters", lines->most + 1);
  lines->number++;
  lines->text = lines->buffer;
  return lines->input ? cli_lines_expected(lines, expected, "")
                      : cli_lines_fail(lines, "expected at most %" PRId64 " bytes in a line", lines->most);
}

static int append(cli_lines *lines, const char *bytes, size_t count) {
  const size_t wanted = lines->used + count + 1;
  if (lines->most && lines->used + count > (size_t)lines->most)
    return too_long(lines);
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

/* What is unpacked and not yet read. */
typedef struct piece {
  const char *bytes;
  size_t count;
} piece;

static int cannot_read(const cli_lines *lines) {
  return lines->input
             ? cli_lines_expected(lines, "more data", "")
             : cli_lines_fail(lines, "expected more data, but the file is truncated, damaged or unreadable");
}

/* The rest of htslib's block, or the next one; none at the end of the file. */
static int take_block(cli_lines *lines, piece *next) {
  BGZF *bgzf = lines->file;
  if (bgzf->block_offset == bgzf->block_length) {
    bgzf->block_offset = bgzf->block_length = 0;
    lines->padded = lines->padded || take_padding(bgzf);
    if ((!lines->padded && bgzf_read_block(bgzf)) || bgzf->errcode)
      return cannot_read(lines);
  }
  next->bytes = (const char *)bgzf->uncompressed_block + bgzf->block_offset;
  next->count = (size_t)(bgzf->block_length - bgzf->block_offset);
  return CLI_OK;
}

/* The same of gzip's file. */
static int take_stream(cli_lines *lines, piece *next) {
  if (lines->block_used == lines->block_bytes) {
    lines->block_used = 0;
    lines->block_bytes = fread(lines->block, 1, sizeof lines->block, lines->unpacked);
    if (ferror(lines->unpacked))
      return cannot_read(lines);
  }
  next->bytes = lines->block + lines->block_used;
  next->count = lines->block_bytes - lines->block_used;
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

static void pass(cli_lines *lines, size_t count) {
  if (lines->file)
    lines->file->block_offset += (int)count;
  else
    lines->block_used += count;
}

/* Appends what the piece has of the line, without its end. *more: the line goes on in the next piece. */
static int take(cli_lines *lines, const piece *next, bool *more) {
  const char *end = memchr(next->bytes, '\n', next->count);
  const size_t count = end ? (size_t)(end - next->bytes) : next->count;
  lines->zero = memchr(next->bytes, 0, count) != NULL;
  *more = !end && !lines->zero;
  const int code = append(lines, next->bytes, count);
  pass(lines, count + (end != NULL));
  return code;
}

static int read_line(cli_lines *lines) {
  bool more = true, any = false;
  int code = append(lines, NULL, 0);
  while (code == CLI_OK && more) {
    piece next;
    code = (lines->input ? take_input : lines->unpacked ? take_stream : take_block)(lines, &next);
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
  return lines->end ? check_end(lines) : CLI_OK;
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

int cli_lines_expected(const cli_lines *lines, const char *expected, const char *more) {
  if (ferror(lines->input->file))
    return cli_input_fail(lines->input, "%s", expected);
  return lines->end ? cli_lines_fail(lines, "expected %s, found the end of the file", expected)
                    : cli_lines_fail(lines, "expected %s, found '%.40s'%s", expected, lines->text, more);
}
