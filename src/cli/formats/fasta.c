/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/formats/fasta.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/base/buffer.h"
#include "src/cli/fail.h"
#include "src/cli/formats/kind.h"
#include "src/cli/formats/lines.h"
#include "src/cli/ranks.h"

/* A name in a message. */
#define NAME "%.60s"

/* Bytes of the first line, so that a stream of something else without an end of a line is refused soon. */
enum { FIRST_LINE = DVT_BUFFER(1 << 20, 1 << 14) };

/* Room at first. */
enum { FEWEST_BYTES = DVT_BUFFER(4096, 16), FEWEST_RECORDS = DVT_BUFFER(64, 4) };

typedef struct reader {
  cli_lines lines;
  const davit_align_matrix *alphabet;
  cli_sequences *to;
  bool keep;       /* the letters themselves */
  int64_t letters; /* of the current record */
} reader;

/* ---- memory ---- */

/* `block` points to the pointer. */
static int grow(void *block, int64_t *room, size_t wanted) {
  return dvt_grow(block, room, (int64_t)wanted, FEWEST_BYTES, 1)
             ? CLI_OK
             : cli_fail(CLI_DEVICE, "not enough memory for %zu bytes of sequences", wanted);
}

static int room_for_record(cli_sequences *s) {
  if (!dvt_grow(&s->records, &s->record_room, s->count + 1, FEWEST_RECORDS, sizeof *s->records) ||
      !dvt_grow(&s->offsets, &s->offset_room, s->count + 2, FEWEST_RECORDS + 1, sizeof *s->offsets))
    return cli_fail(CLI_DEVICE, "not enough memory for %" PRId64 " sequences", s->count + 1);
  s->offsets[0] = 0;
  return CLI_OK;
}

void cli_sequences_free(cli_sequences *sequences) {
  free(sequences->offsets);
  free(sequences->symbols);
  free(sequences->letters);
  free(sequences->records);
  free(sequences->names);
  *sequences = (cli_sequences){0};
}

const char *cli_sequences_name(const cli_sequences *sequences, int64_t index) {
  return sequences->names + sequences->records[index].name;
}

/* ---- records ---- */

/* The name of the current record, the last one. */
static const char *name_of(const reader *r) {
  return cli_sequences_name(r->to, r->to->count - 1);
}

static bool is_blank(const cli_lines *lines) {
  for (int64_t i = 0; i < lines->length; i++)
    if (!isspace((unsigned char)lines->text[i]))
      return false;
  return true;
}

/* The current line begins with the record's mark. */
static int begin_record(reader *r) {
  cli_sequences *s = r->to;
  const char *name = r->lines.text + 1;
  int64_t length = 0;
  CLI_TRY(cli_lines_check_text(&r->lines));
  while (length < r->lines.length - 1 && !isspace((unsigned char)name[length]))
    length++;
  if (length == 0)
    return cli_lines_fail(&r->lines, "record %" PRId64 ": expected a name after '%c'", s->count + 1,
                          name[-1]);
  CLI_TRY(room_for_record(s));
  CLI_TRY(grow(&s->names, &s->name_room, s->name_bytes + (size_t)length + 1));
  memcpy(s->names + s->name_bytes, name, (size_t)length);
  s->names[s->name_bytes + (size_t)length] = 0;
  s->records[s->count] = (cli_record){s->name_bytes, r->lines.number};
  s->name_bytes += (size_t)length + 1;
  s->offsets[s->count + 1] = s->offsets[s->count];
  s->count++;
  r->letters = 0;
  return CLI_OK;
}

static int foreign(const reader *r, unsigned char letter) {
  char found[16];
  snprintf(found, sizeof found, isgraph(letter) ? "'%c'" : "byte %d", letter);
  return cli_lines_fail(&r->lines, "record '" NAME "', letter %" PRId64 ": expected one of %s%s, found %s",
                        name_of(r), r->letters + 1, r->alphabet->letters,
                        r->alphabet->code['U'] == r->alphabet->code['T'] &&
                                r->alphabet->code['U'] != DAVIT_ALIGN_NO_SYMBOL
                            ? " (or U)"
                            : "",
                        found);
}

static void count_use(cli_symbol_use *use, int64_t line, int64_t place) {
  if (!use->count++)
    *use = (cli_symbol_use){1, line, place};
}

static int take_letters(reader *r) {
  cli_sequences *s = r->to;
  int64_t *end = &s->offsets[s->count];
  const size_t room = (size_t)(*end + r->lines.length);
  CLI_TRY(grow(&s->symbols, &s->symbol_room, room));
  if (r->keep)
    CLI_TRY(grow(&s->letters, &s->letter_room, room));
  for (int64_t i = 0; i < r->lines.length; i++) {
    const unsigned char letter = (unsigned char)r->lines.text[i];
    if (letter == ' ' || letter == '\t')
      continue;
    const uint8_t symbol = r->alphabet->code[letter];
    if (symbol == DAVIT_ALIGN_NO_SYMBOL)
      return foreign(r, letter);
    count_use(&s->uses[symbol], r->lines.number, *end);
    if (r->keep)
      s->letters[*end] = (char)toupper(letter);
    s->symbols[(*end)++] = symbol;
    r->letters++;
  }
  return CLI_OK;
}

static int check_not_empty(const reader *r) {
  return r->letters
             ? CLI_OK
             : cli_fail(CLI_INPUT, "%s: line %" PRId64 ": record '" NAME "': expected letters, found none",
                        r->lines.name, r->to->records[r->to->count - 1].line, name_of(r));
}

/* Reads lines of letters up to a line that begins with `mark`, or to the end. */
static int read_letters(reader *r, char mark) {
  CLI_TRY(cli_lines_next(&r->lines));
  while (!r->lines.end && r->lines.text[0] != mark) {
    CLI_TRY(take_letters(r));
    CLI_TRY(cli_lines_next(&r->lines));
  }
  return check_not_empty(r);
}

static int count_qualities(const reader *r, int64_t *count) {
  for (int64_t i = 0; i < r->lines.length; i++, ++*count)
    if (!isgraph((unsigned char)r->lines.text[i]))
      return cli_lines_fail(&r->lines,
                            "record '" NAME "', quality %" PRId64
                            ": expected a character from '!' to '~', found byte %d",
                            name_of(r), *count + 1, (unsigned char)r->lines.text[i]);
  return CLI_OK;
}

/* The current line is that with '+'. Leaves the reader at the next record, or the end. */
static int skip_qualities(reader *r) {
  int64_t count = 0;
  if (r->lines.end)
    return cli_lines_fail(&r->lines, "record '" NAME "': expected a line with '+', found the end of the file",
                          name_of(r));
  CLI_TRY(cli_lines_check_text(&r->lines));
  while (count < r->letters && !r->lines.end) {
    CLI_TRY(cli_lines_next(&r->lines));
    if (!r->lines.end)
      CLI_TRY(count_qualities(r, &count));
  }
  return count == r->letters
             ? CLI_OK
             : cli_lines_fail(&r->lines,
                              "record '" NAME "': expected %" PRId64 " quality characters, found %" PRId64,
                              name_of(r), r->letters, count);
}

/* Reads on to the next line that is not blank, or to the end. */
static int skip_blank(reader *r) {
  int code;
  do
    code = cli_lines_next(&r->lines);
  while (code == CLI_OK && !r->lines.end && is_blank(&r->lines));
  return code;
}

/* The reader is at a record's first line. Leaves it at that of the next record, or at the end. */
static int read_record(reader *r, char mark) {
  if (r->lines.text[0] != mark)
    return cli_lines_fail(&r->lines, "record %" PRId64 ": expected '%c' and a name, found '%.40s'",
                          r->to->count + 1, mark, r->lines.text);
  const char *carriage_return = strchr(r->lines.text, '\r');
  if (carriage_return && carriage_return[1])
    return cli_lines_fail(&r->lines,
                          "record %" PRId64
                          ": expected lines that end with a line feed, found a carriage return alone",
                          r->to->count + 1);
  CLI_TRY(begin_record(r));
  CLI_TRY(read_letters(r, mark == '>' ? '>' : '+'));
  if (mark == '>')
    return CLI_OK;
  CLI_TRY(skip_qualities(r));
  return skip_blank(r);
}

/* ---- names ---- */

typedef struct named {
  const char *name;
  int64_t record;
} named;

static int compare_named(const void *x, const void *y) {
  const named *a = x, *b = y;
  const int order = strcmp(a->name, b->name);
  return order ? order : (a->record > b->record) - (a->record < b->record);
}

int cli_sequences_check_names(const cli_sequences *s, cli_name_format format) {
  for (int64_t k = 0; k < s->count; k++) {
    const char *why = cli_name_refused(format, cli_sequences_name(s, k));
    if (why)
      return cli_fail(CLI_INPUT, "%s: line %" PRId64 ": expected %s, found '" NAME "'", s->file,
                      s->records[k].line, why, cli_sequences_name(s, k));
  }
  return CLI_OK;
}

/* Reports the first record in the file whose name an earlier one has. */
int cli_sequences_check_distinct(const cli_sequences *s) {
  named *all = dvt_allocate((size_t)s->count, sizeof *all);
  if (!all)
    return cli_fail(CLI_DEVICE, "not enough memory for %" PRId64 " names", s->count);
  for (int64_t k = 0; k < s->count; k++)
    all[k] = (named){cli_sequences_name(s, k), k};
  qsort(all, (size_t)s->count, sizeof *all, compare_named);
  int64_t second = s->count, first = 0;
  for (int64_t k = 1; k < s->count; k++)
    if (all[k].record < second && !strcmp(all[k].name, all[k - 1].name)) {
      second = all[k].record;
      first = all[k - 1].record;
    }
  free(all);
  return second == s->count ? CLI_OK
                            : cli_fail(CLI_INPUT,
                                       "%s: line %" PRId64 ": expected a unique name, found '" NAME
                                       "', the name of the record in line %" PRId64,
                                       s->file, s->records[second].line, cli_sequences_name(s, second),
                                       s->records[first].line);
}

/* ---- other files ---- */

/* Without folder and ending, up to a blank; its length. */
static int stem_of(const char *path, const char **stem) {
  const char *slash = strrchr(path, '/');
  *stem = slash ? slash + 1 : path;
  const size_t word = strcspn(*stem, " \t");
  size_t length = word;
  while (length > 0 && (*stem)[length - 1] != '.')
    length--;
  length = length > 1 ? length - 1 : word;
  if (length == 0 || !strcmp(*stem, "-")) {
    *stem = "query";
    length = strlen(*stem);
  }
  return (int)length;
}

int cli_sequences_make(const char *file, const char *path, int64_t length, cli_sequences *s,
                       uint8_t **symbols) {
  const char *stem;
  const int name = stem_of(path, &stem);
  *s = (cli_sequences){.file = file};
  CLI_TRY(room_for_record(s));
  CLI_TRY(grow(&s->names, &s->name_room, (size_t)name + 1));
  CLI_TRY(grow(&s->symbols, &s->symbol_room, (size_t)length));
  snprintf(s->names, (size_t)name + 1, "%.*s", name, stem);
  s->name_bytes = (size_t)name + 1;
  s->records[0] = (cli_record){0, 1};
  s->offsets[1] = length;
  s->count = 1;
  *symbols = s->symbols;
  return CLI_OK;
}

/* ---- files ---- */

static int read_all(reader *r) {
  r->lines.most = FIRST_LINE;
  CLI_TRY(skip_blank(r));
  r->lines.most = 0;
  const char mark = r->lines.end ? 0 : r->lines.text[0];
  if (mark != '>' && mark != '@')
    return cli_lines_fail(&r->lines, "expected '>' (FASTA) or '@' (FASTQ), found %s",
                          cli_kind_of(r->lines.text, r->lines.end ? 0 : (size_t)r->lines.length));
  while (!r->lines.end)
    CLI_TRY(read_record(r, mark));
  return CLI_OK;
}

int cli_sequences_read(const char *path, const davit_align_matrix *alphabet, bool keep,
                       cli_sequences *sequences) {
  reader r = {.alphabet = alphabet, .to = sequences, .keep = keep};
  *sequences = (cli_sequences){0};
  int code = cli_lines_open(path, &r.lines);
  sequences->file = r.lines.name;
  if (code == CLI_OK)
    code = read_all(&r);
  cli_lines_close(&r.lines);
  if (code == CLI_OK)
    for (int64_t i = 0; i < sequences->count; i++)
      cli_ranks_note(sequences->offsets[i + 1]);
  return code;
}
