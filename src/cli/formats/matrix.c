/* SPDX-License-Identifier: Apache-2.0 */
/* Substitution matrices from files, and from the score of a match and of a mismatch. */
#include "src/cli/formats/matrix.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buffer.h"
#include "src/cli/fail.h"

enum { SMALLEST_SCORE = -128, LARGEST_SCORE = 127, LINE_BYTES = DVT_BUFFER(1 << 16, 1 << 10) };

static void set_letters(davit_align_matrix *m, const char *letters, int count) {
  memset(m, 0, sizeof *m);
  memset(m->code, DAVIT_ALIGN_NO_SYMBOL, sizeof m->code);
  m->symbols = count;
  for (int i = 0; i < count; i++) {
    const int letter = toupper((unsigned char)letters[i]);
    m->letters[i] = (char)letter;
    m->code[letter] = m->code[tolower(letter)] = (uint8_t)i;
  }
}

/* Letters that the matrix lacks count as one that it has. */
static void count_as(davit_align_matrix *m, const char *letters, char as) {
  for (; *letters; letters++)
    m->code[toupper((unsigned char)*letters)] = m->code[tolower((unsigned char)*letters)] =
        m->code[(unsigned char)as];
}

void cli_matrix_dna(int8_t match, int8_t mismatch, davit_align_matrix *matrix) {
  enum { BASES = 4, LETTERS = 5 };
  set_letters(matrix, "ACGTN", LETTERS);
  count_as(matrix, "U", 'T');
  count_as(matrix, "RYSWKMBDHV", 'N'); /* uncertain bases (IUPAC), which genomes have */
  for (int q = 0; q < LETTERS; q++)
    for (int t = 0; t < LETTERS; t++)
      matrix->scores[q + t * LETTERS] = q == t && q < BASES ? match : mismatch;
}

/* ---- files ---- */

/* Reads on to the next line that is neither blank nor a comment, or to the end. */
static int next_row(cli_lines *lines) {
  do
    CLI_TRY(cli_lines_next(lines));
  while (!lines->end && !lines->zero && (lines->text[0] == '#' || !lines->text[strspn(lines->text, " \t")]));
  return cli_lines_check_text(lines);
}

static int read_letters(cli_lines *lines, davit_align_matrix *m) {
  char letters[DAVIT_ALIGN_SYMBOLS_MAXIMUM];
  const char *at = lines->text, *word;
  int count = 0, length;
  if (lines->end)
    return cli_lines_fail(lines, "expected a row of letters, found the end of the file");
  while ((length = cli_next_word(&at, &word))) {
    if (length != 1 || !isgraph((unsigned char)*word))
      return cli_lines_fail(lines, "expected single letters, found '%.*s'", length > 40 ? 40 : length, word);
    if (count == DAVIT_ALIGN_SYMBOLS_MAXIMUM)
      return cli_lines_fail(lines, "expected at most %d letters", DAVIT_ALIGN_SYMBOLS_MAXIMUM);
    const char letter = (char)toupper((unsigned char)*word);
    if (memchr(letters, letter, (size_t)count))
      return cli_lines_fail(lines, "expected each letter once, found '%c' again", letter);
    letters[count++] = letter;
  }
  set_letters(m, letters, count);
  return CLI_OK;
}

int cli_matrix_score(const cli_lines *lines, const char *word, int length, int8_t *score) {
  char *end;
  errno = 0;
  const long value = strtol(word, &end, 10);
  if (end != word + length || errno || value < SMALLEST_SCORE || value > LARGEST_SCORE)
    return cli_lines_fail(lines, "expected a whole number from %d to %d, found '%.*s'", SMALLEST_SCORE,
                          LARGEST_SCORE, length > 40 ? 40 : length, word);
  *score = (int8_t)value;
  return CLI_OK;
}

static int read_row(cli_lines *lines, davit_align_matrix *m, bool *seen) {
  const char *at = lines->text, *word;
  int length = cli_next_word(&at, &word);
  const int q = length == 1 ? m->code[(unsigned char)*word] : DAVIT_ALIGN_NO_SYMBOL;
  if (q == DAVIT_ALIGN_NO_SYMBOL)
    return cli_lines_fail(lines, "expected a letter out of %s, found '%.*s'", m->letters,
                          length > 40 ? 40 : length, word);
  if (seen[q])
    return cli_lines_fail(lines, "expected one row for each letter, found '%c' again", m->letters[q]);
  seen[q] = true;
  for (int t = 0; t < m->symbols; t++) {
    if (!(length = cli_next_word(&at, &word)))
      return cli_lines_fail(lines, "expected %d score%s, found %d", m->symbols, CLI_PLURAL(m->symbols), t);
    CLI_TRY(cli_matrix_score(lines, word, length, &m->scores[q + t * m->symbols]));
  }
  return cli_next_word(&at, &word)
             ? cli_lines_fail(lines, "expected %d score%s, found more", m->symbols, CLI_PLURAL(m->symbols))
             : CLI_OK;
}

static int read_rows(cli_lines *lines, davit_align_matrix *m) {
  bool seen[DAVIT_ALIGN_SYMBOLS_MAXIMUM] = {false};
  for (int row = 0; row < m->symbols; row++) {
    CLI_TRY(next_row(lines));
    if (lines->end)
      return cli_lines_fail(lines, "expected %d row%s, found the end of the file after %d", m->symbols,
                            CLI_PLURAL(m->symbols), row);
    CLI_TRY(read_row(lines, m, seen));
  }
  CLI_TRY(next_row(lines));
  return lines->end ? CLI_OK
                    : cli_lines_fail(lines, "expected the end of the file after %d row%s", m->symbols,
                                     CLI_PLURAL(m->symbols));
}

int cli_matrix_read(const char *path, davit_align_matrix *matrix) {
  cli_lines lines;
  int code = cli_lines_open(path, &lines);
  lines.most = LINE_BYTES;
  if (code == CLI_OK)
    code = next_row(&lines);
  if (code == CLI_OK)
    code = read_letters(&lines, matrix);
  if (code == CLI_OK)
    code = read_rows(&lines, matrix);
  cli_lines_close(&lines);
  return code;
}
