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
#include "src/cli/formats/input.h"
#include "src/cli/formats/standard.h"

enum { HEADER_BYTES = 18, LAST_BLOCK_BYTES = 28 };

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
  const int code = cli_standard_input(path, &standard, &lines->name);
  if (code != CLI_OK)
    return code;
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

static bool append(cli_lines *lines, size_t used, const char *bytes, size_t count) {
  if (used + count + 1 > lines->capacity) {
    const size_t capacity = 2 * (used + count + 1);
    char *buffer = dvt_reallocate(lines->buffer, capacity, 1);
    if (!buffer)
      return false;
    lines->buffer = buffer;
    lines->capacity = capacity;
  }
  memcpy(lines->buffer + used, bytes, count);
  return true;
}

/* The next bytes that htslib has unpacked; false at the end and on failure. */
static bool fill_block(cli_lines *lines) {
  BGZF *bgzf = lines->file;
  if (bgzf->block_offset < bgzf->block_length)
    return true;
  bgzf->block_offset = bgzf->block_length = 0;
  lines->padded = lines->padded || take_padding(bgzf);
  return !lines->padded && !bgzf_read_block(bgzf) && bgzf->block_length > 0;
}

/* The length of the next line with its end; -1: there is none, -2: it cannot be read. */
static int64_t line_of_blocks(cli_lines *lines) {
  BGZF *bgzf = lines->file;
  size_t used = 0;
  bool ended = false;
  while (!ended && fill_block(lines)) {
    const char *at = (const char *)bgzf->uncompressed_block + bgzf->block_offset;
    const size_t left = (size_t)(bgzf->block_length - bgzf->block_offset);
    const char *end = memchr(at, '\n', left);
    const size_t count = end ? (size_t)(end - at) + 1 : left;
    if (!append(lines, used, at, count))
      return -2;
    used += count;
    bgzf->block_offset += (int)count;
    ended = end;
  }
  return bgzf->errcode ? -2 : used ? (int64_t)used : -1;
}

static int64_t line_of_stream(cli_lines *lines) {
  const ssize_t got = getline(&lines->buffer, &lines->capacity, lines->unpacked);
  return got >= 0 ? got : ferror(lines->unpacked) ? -2 : -1;
}

/* The same without its end. */
static int64_t get_line(cli_lines *lines) {
  int64_t length = lines->unpacked ? line_of_stream(lines) : line_of_blocks(lines);
  for (const char *end = "\n\r"; *end && length > 0; end++)
    length -= lines->buffer[length - 1] == *end;
  if (length >= 0)
    lines->buffer[length] = 0;
  return length;
}

int cli_lines_next(cli_lines *lines) {
  const int64_t got = get_line(lines);
  if (got < -1)
    return cli_lines_fail(lines, "expected more data, but the file is truncated, damaged or unreadable");
  lines->end = got == -1;
  lines->text = lines->buffer;
  lines->length = lines->end ? 0 : got;
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
