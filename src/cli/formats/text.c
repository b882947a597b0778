/* SPDX-License-Identifier: Apache-2.0 */
/* Text of an input file, line by line. */
#include "src/cli/formats/text.h"

#include <inttypes.h>
#include <string.h>

#include "src/cli/fail.h"

const char *cli_text_after_blanks(const char *at) {
  return at + strspn(at, " \t\r");
}

int cli_text_fail(cli_text *text, const char *expected) {
  const char *name = text->input->name;
  if (ferror(text->input->file))
    return cli_input_fail(text->input, "%s", expected);
  return text->end ? cli_fail(CLI_INPUT, "%s: line %" PRId64 ": expected %s, found the end of the file", name,
                              text->number, expected)
                   : cli_fail(CLI_INPUT, "%s: line %" PRId64 ": expected %s, found '%.40s'", name,
                              text->number, expected, text->line);
}

int cli_text_next(cli_text *text) {
  int length = 0, byte;
  text->number++;
  while ((byte = cli_input_byte(text->input)) != EOF && byte != '\n') {
    text->line[length] = 0;
    if (!byte || length == CLI_TEXT_LINE - 1)
      return cli_text_fail(text, byte ? "a line of less than 4096 characters" : "text without zero bytes");
    text->line[length++] = (char)byte;
  }
  text->line[length] = 0;
  text->end = byte == EOF && !length;
  const size_t mark = text->number == 1 ? cli_mark_length(text->line, (size_t)length) : 0;
  if (mark)
    memmove(text->line, text->line + mark, (size_t)length + 1 - mark);
  return ferror(text->input->file) ? cli_text_fail(text, "more data") : CLI_OK;
}

int cli_text_next_content(cli_text *text, char comment) {
  for (;;) {
    const int code = cli_text_next(text);
    const char first = *cli_text_after_blanks(text->line);
    if (code != CLI_OK || text->end || (first && first != comment))
      return code;
  }
}
