/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is, by its first bytes. */
#include "src/cli/formats/kind.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "src/cli/formats/input.h"

static const char utf16[] = "text in UTF-16, which must be saved as UTF-8";

static const struct {
  const char *bytes; /* '?' stands for any */
  size_t length;
  const char *kind;
} marks[] = {
    {"\x93NUMPY", 6, "a NumPy array"},
    {"%%MatrixMarket", 14, "a Matrix Market file"},
    {"PK\3\4", 4, "a zip archive, such as .npz"},
    {"\x1f\x8b", 2, "a file compressed by gzip"},
    {"BZh", 3, "a file compressed by bzip2"},
    {"\3757zXZ", 5, "a file compressed by xz"},
    {"\x28\xb5\x2f\xfd", 4, "a file compressed by zstd"},
    {"RIFF????WAVE", 12, "a sound (WAV)"},
    {"RIFX????WAVE", 12, "a sound (WAV)"},
    {"RF64????WAVE", 12, "a sound (WAV)"},
    {"RIFF", 4, "a RIFF file, such as a sound (WAV)"},
    {"fLaC", 4, "a sound (FLAC)"},
    {"OggS", 4, "a sound (Ogg)"},
    {"ID3", 3, "a sound (MP3)"},
    {"\x89HDF", 4, "an HDF5 file"},
    {"\xff\xfe", 2, utf16},
    {"\xfe\xff", 2, utf16},
    {"MATLAB ", 7, "a MATLAB file"},
    {"\x89PNG", 4, "a picture (PNG)"},
    {"\xff\xd8\xff", 3, "a picture (JPEG)"},
    {"%PDF", 4, "a PDF document"},
    {"\177ELF", 4, "a program"},
};

static bool is_text(const char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (iscntrl((unsigned char)bytes[i]) && !strchr("\t\n\v\f\r", bytes[i] ? bytes[i] : 1))
      return false;
  return true;
}

static size_t count_blanks(const char *text, size_t count) {
  size_t blanks = 0;
  while (blanks < count && isspace((unsigned char)text[blanks]))
    blanks++;
  return blanks;
}

/* By the first line that is not blank. */
static const char *kind_of_text(const char *text, size_t count) {
  const char *const end = text + count;
  text += count_blanks(text, count);
  size_t length = 0;
  bool separated = false;
  for (; text + length < end && text[length] != '\n'; length++)
    separated = separated || strchr(",;\t", text[length]);
  if (!length)
    return "blank lines";
  switch (*text) {
  case '>':
    return "sequences (FASTA)";
  case '@':
    return "sequences (FASTQ or SAM)";
  case '{':
  case '[':
    return "JSON";
  case '<':
    return "XML or HTML";
  default:
    return separated ? "a table in text (CSV or TSV)" : "text";
  }
}

/* Without a byte order mark: every second byte of the first characters is zero, as they are ASCII. */
static bool is_utf16(const char *bytes, size_t count) {
  return count >= 4 &&
         ((bytes[0] && !bytes[1] && bytes[2] && !bytes[3]) ||
          (!bytes[0] && bytes[1] && !bytes[2] && bytes[3])) &&
         is_text((const char[]){bytes[0] ? bytes[0] : bytes[1], bytes[2] ? bytes[2] : bytes[3]}, 2);
}

static bool has_mark(const char *text, const char *mark, size_t length) {
  size_t i = 0;
  while (i < length && (mark[i] == '?' || text[i] == mark[i]))
    i++;
  return i == length;
}

const char *cli_kind_marked(const char *bytes, size_t count, size_t shortest) {
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
    if (count >= marks[i].length && marks[i].length >= shortest &&
        has_mark(bytes, marks[i].bytes, marks[i].length))
      return marks[i].kind;
  return shortest <= 2 && is_utf16(bytes, count) ? utf16 : NULL;
}

bool cli_kind_may_be_table(const char *bytes, size_t count) {
  const char *end = memchr(bytes, '\n', count);
  const size_t line = end ? (size_t)(end - bytes) : count, mark = cli_mark_length(bytes, count);
  const size_t blank = count_blanks(bytes + mark, count - mark);
  return !cli_kind_marked(bytes, count, 1) && is_text(bytes, line) && mark + blank < count &&
         !strchr(">@{[<", bytes[mark + blank]);
}

const char *cli_kind_of(const char *bytes, size_t count) {
  const char *marked = cli_kind_marked(bytes, count, 1);
  const size_t mark = cli_mark_length(bytes, count);
  if (marked)
    return marked;
  if (!count)
    return "the end of the file";
  return is_text(bytes, count) ? kind_of_text(bytes + mark, count - mark) : "an unknown format";
}
