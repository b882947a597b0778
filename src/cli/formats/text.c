/* SPDX-License-Identifier: Apache-2.0 */
/* Text of an input file, line by line. */
#include "src/cli/formats/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/cli/fail.h"

const char *cli_text_after_blanks(const char *at) {
  return at + strspn(at, " \t\r");
}

void cli_text_free(cli_text *text) {
  free(text->line);
  *text = (cli_text){0};
}

int cli_text_fail(cli_text *text, const char *expected) {
  return cli_text_fail_more(text, expected, "");
}

int cli_text_fail_more(cli_text *text, const char *expected, const char *more) {
  const char *name = text->input->name;
  if (ferror(text->input->file))
    return cli_input_fail(text->input, "%s", expected);
  return text->end ? cli_fail(CLI_INPUT, "%s: line %" PRId64 ": expected %s, found the end of the file", name,
                              text->number, expected)
                   : cli_fail(CLI_INPUT, "%s: line %" PRId64 ": expected %s, found '%.40s'%s", name,
                              text->number, expected, text->line, more);
}

/* Room for one more character and the zero byte. */
static int make_room(cli_text *text, size_t length) {
  enum { FIRST = DVT_BUFFER(4096, 64) };
  if (length + 1 < text->capacity)
    return CLI_OK;
  const size_t capacity = text->capacity ? 2 * text->capacity : FIRST;
  char *line = dvt_reallocate(text->line, capacity, 1);
  if (!line)
    return cli_fail(CLI_DEVICE, "not enough memory for a line");
  text->line = line;
  text->capacity = capacity;
  return CLI_OK;
}

static int too_long(cli_text *text) {
  char expected[64];
  snprintf(expected, sizeof expected, "a line of less than %d characters", CLI_TEXT_LINE);
  return cli_text_fail(text, expected);
}

int cli_text_next(cli_text *text) {
  size_t length = 0;
  int byte, code = make_room(text, 0);
  text->number++;
  while (code == CLI_OK && (byte = cli_input_byte(text->input)) != EOF && byte != '\n') {
    text->line[length] = 0;
    if (!byte)
      return cli_text_fail(text, "text without zero bytes");
    if (length == CLI_TEXT_LINE - 1)
      return too_long(text);
    text->line[length++] = (char)byte;
    code = make_room(text, length);
  }
  if (code != CLI_OK)
    return code;
  text->line[length] = 0;
  text->end = byte == EOF && !length;
  const size_t mark = text->number == 1 ? cli_mark_length(text->line, length) : 0;
  if (mark)
    memmove(text->line, text->line + mark, length + 1 - mark);
  return ferror(text->input->file) ? cli_text_fail(text, "more data") : CLI_OK;
}

int cli_text_next_content(cli_text *text, char comment) {
  char first;
  int code;
  do {
    code = cli_text_next(text);
    if (code != CLI_OK || text->end)
      return code;
    first = *cli_text_after_blanks(text->line);
  } while (!first || first == comment);
  return code;
}
