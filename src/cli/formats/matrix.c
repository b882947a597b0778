/* Substitution matrices. */
#include "src/cli/formats/matrix.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/fail.h"
#include "src/cli/formats/lines.h"

enum { LEAST_SCORE = -128, LARGEST_SCORE = 127 };

static void set_letters(cli_matrix *m, const char *letters, int count) {
  memset(m, 0, sizeof *m);
  memset(m->code, CLI_FOREIGN_LETTER, sizeof m->code);
  m->symbols = count;
  for (int i = 0; i < count; i++) {
    const int letter = toupper((unsigned char)letters[i]);
    m->letters[i] = (char)letter;
    m->code[letter] = m->code[tolower(letter)] = (uint8_t)i;
  }
}

/* Letters that the matrix lacks count as one that it has. */
static void count_as(cli_matrix *m, const char *letters, char as) {
  for (; *letters; letters++)
    m->code[toupper((unsigned char)*letters)] = m->code[tolower((unsigned char)*letters)] =
        m->code[(unsigned char)as];
}

/* ---- built in ---- */

/* The lower triangle, which is symmetric. S. Henikoff and J. G. Henikoff, Amino Acid Substitution Matrices from Protein Blocks
 * (1992); B, Z, X and * as NCBI distributes them. */
static const char blosum62_letters[] = "ARNDCQEGHILKMFPSTWYVBZX*";
static const int8_t blosum62[] = {
    // clang-format off
    /* A */ 4,
    /* R */ -1, 5,
    /* N */ -2, 0, 6,
    /* D */ -2, -2, 1, 6,
    /* C */ 0, -3, -3, -3, 9,
    /* Q */ -1, 1, 0, 0, -3, 5,
    /* E */ -1, 0, 0, 2, -4, 2, 5,
    /* G */ 0, -2, 0, -1, -3, -2, -2, 6,
    /* H */ -2, 0, 1, -1, -3, 0, 0, -2, 8,
    /* I */ -1, -3, -3, -3, -1, -3, -3, -4, -3, 4,
    /* L */ -1, -2, -3, -4, -1, -2, -3, -4, -3, 2, 4,
    /* K */ -1, 2, 0, -1, -3, 1, 1, -2, -1, -3, -2, 5,
    /* M */ -1, -1, -2, -3, -1, 0, -2, -3, -2, 1, 2, -1, 5,
    /* F */ -2, -3, -3, -3, -2, -3, -3, -3, -1, 0, 0, -3, 0, 6,
    /* P */ -1, -2, -2, -1, -3, -1, -1, -2, -2, -3, -3, -1, -2, -4, 7,
    /* S */ 1, -1, 1, 0, -1, 0, 0, 0, -1, -2, -2, 0, -1, -2, -1, 4,
    /* T */ 0, -1, 0, -1, -1, -1, -1, -2, -2, -1, -1, -1, -1, -2, -1, 1, 5,
    /* W */ -3, -3, -4, -4, -2, -2, -3, -2, -2, -3, -2, -3, -1, 1, -4, -3, -2, 11,
    /* Y */ -2, -2, -2, -3, -2, -1, -2, -3, 2, -1, -1, -2, -1, 3, -3, -2, -2, 2, 7,
    /* V */ 0, -3, -3, -3, -1, -2, -2, -3, -3, 3, 1, -2, 1, -1, -2, -2, 0, -3, -1, 4,
    /* B */ -2, -1, 3, 4, -3, 0, 1, -1, 0, -3, -4, 0, -3, -3, -2, 0, -1, -4, -3, -3, 4,
    /* Z */ -1, 0, 0, 1, -3, 3, 4, -2, 0, -3, -3, 1, -1, -3, -1, 0, -1, -3, -2, -2, 1, 4,
    /* X */ 0, -1, -1, -1, -2, -1, -1, -1, -1, -1, -1, -1, -1, -1, -2, 0, 0, -2, -1, -1, -1, -1, -1,
    /* * */ -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, -4, 1,
    // clang-format on
};

void cli_matrix_blosum62(cli_matrix *matrix) {
  const int count = (int)strlen(blosum62_letters);
  const int8_t *next = blosum62;
  set_letters(matrix, blosum62_letters, count);
  for (int q = 0; q < count; q++)
    for (int t = 0; t <= q; t++, next++)
      matrix->scores[q + t * count] = matrix->scores[t + q * count] = *next;
  count_as(matrix, "UOJ", 'X'); /* residues that databases have: unknown, as in BLAST */
}

void cli_matrix_dna(int8_t match, int8_t mismatch, cli_matrix *matrix) {
  enum { BASES = 4, LETTERS = 5 };
  set_letters(matrix, "ACGTN", LETTERS);
  count_as(matrix, "U", 'T');
  count_as(matrix, "RYSWKMBDHV",
           'N'); /* bases that are not known for certain (IUPAC), as genomes have some */
  for (int q = 0; q < LETTERS; q++)
    for (int t = 0; t < LETTERS; t++)
      matrix->scores[q + t * LETTERS] = q == t && q < BASES ? match : mismatch;
}

/* ---- files ---- */

/* The next word of the line, whose bytes are at *word; its length, 0 at the end. */
static int next_word(const char **at, const char **word) {
  *word = *at + strspn(*at, " \t");
  const size_t length = strcspn(*word, " \t");
  *at = *word + length;
  return (int)length;
}

/* The next line that says something, or the end. */
static int next_row(cli_lines *lines) {
  int code;
  do
    code = cli_lines_next(lines);
  while (code == CLI_OK && !lines->end &&
         (lines->text[0] == '#' || !lines->text[strspn(lines->text, " \t")]));
  if (code == CLI_OK && memchr(lines->text ? lines->text : "", 0, (size_t)lines->length))
    return cli_lines_fail(lines, "expected text, found a zero byte");
  return code;
}

static int read_letters(cli_lines *lines, cli_matrix *m) {
  char letters[DAVIT_ALIGN_MOST_SYMBOLS];
  const char *at = lines->text, *word;
  int count = 0, length;
  if (lines->end)
    return cli_lines_fail(lines, "expected a row of letters, found the end of the file");
  while ((length = next_word(&at, &word))) {
    if (length != 1 || !isgraph((unsigned char)*word))
      return cli_lines_fail(lines, "expected single letters, found '%.*s'", length > 40 ? 40 : length, word);
    if (count == DAVIT_ALIGN_MOST_SYMBOLS)
      return cli_lines_fail(lines, "expected at most %d letters", DAVIT_ALIGN_MOST_SYMBOLS);
    const char letter = (char)toupper((unsigned char)*word);
    if (memchr(letters, letter, (size_t)count))
      return cli_lines_fail(lines, "expected each letter once, found '%c' again", letter);
    letters[count++] = letter;
  }
  set_letters(m, letters, count);
  return CLI_OK;
}

static int read_score(const cli_lines *lines, const char *word, int length, int8_t *score) {
  char *end;
  errno = 0;
  const long value = strtol(word, &end, 10);
  if (end != word + length || errno || value < LEAST_SCORE || value > LARGEST_SCORE)
    return cli_lines_fail(lines, "expected a whole number from %d to %d, found '%.*s'", LEAST_SCORE,
                          LARGEST_SCORE, length > 40 ? 40 : length, word);
  *score = (int8_t)value;
  return CLI_OK;
}

static int read_row(cli_lines *lines, cli_matrix *m, bool *seen) {
  const char *at = lines->text, *word;
  int length = next_word(&at, &word);
  const int q = length == 1 ? m->code[(unsigned char)*word] : CLI_FOREIGN_LETTER;
  if (q == CLI_FOREIGN_LETTER)
    return cli_lines_fail(lines, "expected a letter out of %s, found '%.*s'", m->letters,
                          length > 40 ? 40 : length, word);
  if (seen[q])
    return cli_lines_fail(lines, "expected one row for each letter, found '%c' again", m->letters[q]);
  seen[q] = true;
  for (int t = 0; t < m->symbols; t++) {
    if (!(length = next_word(&at, &word)))
      return cli_lines_fail(lines, "expected %d scores, found %d", m->symbols, t);
    const int code = read_score(lines, word, length, &m->scores[q + t * m->symbols]);
    if (code != CLI_OK)
      return code;
  }
  return next_word(&at, &word) ? cli_lines_fail(lines, "expected %d scores, found more", m->symbols) : CLI_OK;
}

static int read_rows(cli_lines *lines, cli_matrix *m) {
  bool seen[DAVIT_ALIGN_MOST_SYMBOLS] = {false};
  for (int row = 0; row < m->symbols; row++) {
    int code = next_row(lines);
    if (code == CLI_OK && lines->end)
      code = cli_lines_fail(lines, "expected %d rows, found the end of the file after %d", m->symbols, row);
    if (code == CLI_OK)
      code = read_row(lines, m, seen);
    if (code != CLI_OK)
      return code;
  }
  const int code = next_row(lines);
  return code == CLI_OK && !lines->end
             ? cli_lines_fail(lines, "expected the end of the file after %d rows", m->symbols)
             : code;
}

int cli_matrix_read(const char *path, cli_matrix *matrix) {
  cli_lines lines;
  int code = cli_lines_open(path, &lines);
  if (code == CLI_OK)
    code = next_row(&lines);
  if (code == CLI_OK)
    code = read_letters(&lines, matrix);
  if (code == CLI_OK)
    code = read_rows(&lines, matrix);
  cli_lines_close(&lines);
  return code;
}
