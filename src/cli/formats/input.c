/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/formats/input.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/buffer.h"
#include "src/cli/fail.h"
#include "src/cli/files.h"
#include "src/cli/formats/archive.h"
#include "src/cli/formats/gzip.h"
#include "src/cli/ranks.h"

int cli_standard_input(const char *path, bool *standard, const char **name) {
  static bool taken;
  *standard = !strcmp(path, "-");
  *name = cli_fail_place(path);
  if (!*standard)
    return CLI_OK;
  if (taken)
    return cli_fail(CLI_USAGE, "standard input ('-') can stand for one operand only");
  taken = cli_ranks_one_reader() == CLI_OK;
  if (taken && isatty(STDIN_FILENO))
    fprintf(stderr, "davit: waiting for standard input, which is a terminal; Ctrl-D ends it\n");
  return taken ? CLI_OK : CLI_USAGE;
}

int cli_input_unreadable(const char *name, int error) {
  return cli_fail(CLI_INPUT, "%s: expected a readable file: %s", name, strerror(error));
}

int cli_input_open(const char *path, cli_input *input) {
  bool standard;
  *input = (cli_input){.start = -1};
  CLI_TRY(cli_standard_input(path, &standard, &input->name));
  if (!standard && cli_archive_named(path)) {
    input->sized = true;
    return cli_archive_open(path, &input->file, &input->size);
  }
  input->file = standard ? stdin : fopen(path, "rbe");
  struct stat status;
  const bool found = input->file && !fstat(fileno(input->file), &status);
  if (!found || S_ISDIR(status.st_mode)) {
    const int why = found ? EISDIR : errno;
    cli_input_close(input);
    return cli_input_unreadable(input->name, why);
  }
  const int code = cli_files_read(input->name, &status);
  if (code != CLI_OK) {
    cli_input_close(input);
    return code;
  }
  const off_t start = S_ISREG(status.st_mode) ? ftello(input->file) : -1;
  if (start >= 0 && start <= status.st_size) {
    input->sized = true;
    input->size = (uint64_t)(status.st_size - start);
    input->start = start;
  }
  return CLI_OK;
}

void cli_input_close(cli_input *input) {
  if (input->file && input->file != stdin)
    fclose(input->file);
  input->file = NULL;
}

/* ---- the beginning ---- */

/* Nothing but white space after a byte order mark. */
static bool is_blank(const cli_input *input) {
  size_t i = cli_mark_length((const char *)input->head, input->head_count);
  while (i < input->head_count && isspace(input->head[i]))
    i++;
  return i == input->head_count;
}

void cli_input_look(cli_input *input) {
  int byte = 0;
  if (input->head_count)
    return;
  while (input->head_count < CLI_INPUT_HEAD && (input->sized || byte != '\n' || is_blank(input)) &&
         (byte = getc(input->file)) != EOF)
    input->head[input->head_count++] = (unsigned char)byte;
}

static int unpack(cli_input *input) {
  FILE *unpacked = cli_gzip_open(input->file, input->head, input->head_count);
  if (!unpacked)
    return cli_fail(CLI_DEVICE, "not enough memory for a compressed file");
  input->file = unpacked;
  input->sized = false;
  input->size = 0;
  input->start = -1;
  input->head_count = 0;
  return CLI_OK;
}

int cli_input_open_packed(const char *path, cli_input *input) {
  CLI_TRY(cli_input_open(path, input));
  cli_input_look(input);
  return cli_gzip_begins(input->head, input->head_count) ? unpack(input) : CLI_OK;
}

/* ---- reading ---- */

int cli_input_seek(cli_input *input, uint64_t offset) {
  input->head_count = input->head_at = 0;
  if (fseeko(input->file, input->start + (off_t)offset, SEEK_SET))
    return cli_input_fail(input, "expected a seekable file");
  input->offset = offset;
  return CLI_OK;
}

int cli_input_peek(cli_input *input) {
  if (input->head_at < input->head_count)
    return input->head[input->head_at];
  const int byte = getc(input->file);
  return byte == EOF ? EOF : ungetc(byte, input->file);
}

int cli_input_fail(cli_input *input, const char *format, ...) {
  if (ferror(input->file))
    return cli_fail(CLI_INPUT, "%s: offset %llu: expected more data, but reading failed: %s", input->name,
                    (unsigned long long)input->offset,
                    errno == EBADMSG || errno == ENODATA ? "the compressed data are truncated or damaged"
                                                         : strerror(errno));
  char text[1024];
  CLI_FORMAT(text, format);
  return cli_fail(CLI_INPUT, "%s: offset %llu: %s", input->name, (unsigned long long)input->offset, text);
}

size_t cli_input_take(cli_input *input, void *bytes, size_t count) {
  const size_t ahead = input->head_count - input->head_at, taken = count < ahead ? count : ahead;
  size_t got = taken;
  if (taken)
    memcpy(bytes, input->head + input->head_at, taken);
  input->head_at += taken;
  if (got < count && !feof(input->file)) /* a terminal would be asked for more */
    got += fread((char *)bytes + taken, 1, count - taken, input->file);
  input->offset += got;
  return got;
}

int cli_input_read(cli_input *input, void *bytes, size_t count, const char *what) {
  const size_t got = cli_input_take(input, bytes, count);
  return got == count ? CLI_OK
                      : cli_input_fail(input, "expected %zu more byte%s of %s, found the end of the file",
                                       count - got, CLI_PLURAL(count - got), what);
}

size_t cli_input_room(const cli_input *input, size_t used, size_t total) {
  const size_t first = DVT_BUFFER((size_t)64 << 20, 256);
  const size_t next = used < first ? first : 2 * used;
  return input->sized || next > total ? total : next;
}
