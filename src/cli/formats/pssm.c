/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/formats/pssm.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/base/buffer.h"
#include "src/cli/fail.h"
#include "src/cli/formats/lines.h"
#include "src/cli/formats/matrix.h"

enum {
  AMINO = 20,
  LINE_BYTES = DVT_BUFFER(1 << 16, 1 << 10),
  FIRST_PLACES = DVT_BUFFER(256, 2),
  STOP = -4,
  UNKNOWN = -1
};

static const char amino[] = "ARNDCQEGHILKMFPSTWYV";

/* A place of the query; scores in the order of the file's letters. */
typedef struct place {
  uint8_t symbol;
  int8_t scores[AMINO];
} place;

typedef struct reader {
  cli_lines lines;
  const davit_align_matrix *alphabet;
  char letters[AMINO]; /* of the scores */
  bool percentages;
  place *places;
  int64_t count, room;
} reader;

/* A word in a message. */
#define WORD "'%.*s'"
static int shown(int length) {
  return length > 40 ? 40 : length;
}

/* The next line, which is `end` or has no zero byte. */
static int next_line(reader *r) {
  CLI_TRY(cli_lines_next(&r->lines));
  return cli_lines_check_text(&r->lines);
}

static bool is_empty(const reader *r) {
  return !r->lines.text[strspn(r->lines.text, " \t")];
}

/* ---- letters ---- */

static int not_letters(reader *r) {
  return r->lines.end
             ? cli_lines_fail(&r->lines, "expected a PSSM as psiblast -out_ascii_pssm writes it, found the "
                                         "end of the file")
             : cli_lines_fail(&r->lines,
                              "expected the letters of 20 amino acids, as psiblast -out_ascii_pssm writes "
                              "them, found '%.40s'",
                              r->lines.text);
}

/* One for each word of the line, at most twice AMINO; their number, or 0. */
static int read_letters(const reader *r, char letters[2 * AMINO]) {
  const char *at = r->lines.text, *word;
  int count = 0, length;
  while ((length = cli_next_word(&at, &word))) {
    if (length != 1 || count == 2 * AMINO || !strchr(amino, *word))
      return 0;
    letters[count++] = *word;
  }
  return count;
}

static int read_head(reader *r) {
  static const char title[] = "Last position-specific";
  char letters[2 * AMINO];
  do
    CLI_TRY(next_line(r));
  while (!r->lines.end && (is_empty(r) || !strncmp(r->lines.text, title, sizeof title - 1)));
  const int count = r->lines.end ? 0 : read_letters(r, letters);
  r->percentages = count == 2 * AMINO;
  if (count != AMINO && !r->percentages)
    return not_letters(r);
  memcpy(r->letters, letters, AMINO);
  for (int k = 0; k < AMINO; k++)
    if (memchr(letters, letters[k], (size_t)k) || (r->percentages && letters[AMINO + k] != letters[k]))
      return not_letters(r);
  return CLI_OK;
}

/* ---- places ---- */

/* What is left of a line; of a kind of number so many. */
static int too_few(const reader *r, int wanted, const char *what, int found) {
  return cli_lines_fail(&r->lines, "expected %d %s, found %d", wanted, what, found);
}

/* A score of minus infinity is "-I". */
static int read_scores(const reader *r, const char **at, int8_t *scores) {
  for (int k = 0; k < AMINO; k++) {
    const char *word;
    const int length = cli_next_word(at, &word);
    if (!length)
      return too_few(r, AMINO, "scores", k);
    if (length == 2 && !memcmp(word, "-I", 2))
      scores[k] = INT8_MIN;
    else
      CLI_TRY(cli_matrix_score(&r->lines, word, length, &scores[k]));
  }
  return CLI_OK;
}

static bool is_number(const char *word, int length, double *value) {
  char *end;
  *value = strtod(word, &end);
  return end == word + length;
}

/* Percentages, and what psiblast knows else: information, and the weight of the observed letters. */
static int check_rest(const reader *r, const char *at) {
  const int most = (r->percentages ? AMINO : 0) + 2;
  const char *word;
  int count = 0, length;
  double value;
  for (; (length = cli_next_word(&at, &word)); count++) {
    if (!is_number(word, length, &value))
      return cli_lines_fail(&r->lines, "expected a number, found " WORD, shown(length), word);
    if (count == most)
      return cli_lines_fail(&r->lines, "expected the end of the line, found " WORD, shown(length), word);
  }
  return count < most - 2 ? too_few(r, AMINO, "percentages", count) : CLI_OK;
}

static int read_place(reader *r) {
  const char *at = r->lines.text, *word;
  char number[24];
  int length = cli_next_word(&at, &word);
  snprintf(number, sizeof number, "%" PRId64, r->count + 1);
  if ((size_t)length != strlen(number) || memcmp(word, number, (size_t)length))
    return cli_lines_fail(&r->lines, "expected position %s, found " WORD, number, shown(length), word);
  if (!dvt_grow(&r->places, &r->room, r->count + 1, FIRST_PLACES, sizeof *r->places))
    return cli_fail(CLI_DEVICE, "not enough memory for %" PRId64 " positions of a PSSM", r->count + 1);
  place *p = &r->places[r->count];
  length = cli_next_word(&at, &word);
  p->symbol = length == 1 ? r->alphabet->code[(unsigned char)*word] : DAVIT_ALIGN_NO_SYMBOL;
  if (p->symbol == DAVIT_ALIGN_NO_SYMBOL)
    return cli_lines_fail(&r->lines, "expected a letter out of %s, found " WORD, r->alphabet->letters,
                          shown(length), word);
  CLI_TRY(read_scores(r, &at, p->scores));
  CLI_TRY(check_rest(r, at));
  r->count++;
  return CLI_OK;
}

static int read_places(reader *r) {
  CLI_TRY(next_line(r));
  while (!r->lines.end && !is_empty(r)) {
    CLI_TRY(read_place(r));
    CLI_TRY(next_line(r));
  }
  return r->count ? CLI_OK
                  : cli_lines_fail(&r->lines, "expected position 1, found %s",
                                   r->lines.end ? "the end of the file" : "an empty line");
}

/* ---- statistics ---- */

enum { LINES = 4 };
static const char *const titles[LINES] = {"Standard Ungapped", "Standard Gapped", "PSI Ungapped",
                                          "PSI Gapped"};

/* "K Lambda", or one of the titles and two numbers. */
static int read_statistics_line(reader *r, cli_pssm_statistics *all, bool *seen) {
  const char *at = r->lines.text, *first, *word, *end;
  int length = cli_next_word(&at, &first), which = 0;
  double value[2];
  if (length == 1 && *first == 'K')
    return CLI_OK;
  length = cli_next_word(&at, &end);
  const size_t title = (size_t)(end + length - first);
  while (which < LINES && (strlen(titles[which]) != title || memcmp(titles[which], first, title)))
    which++;
  for (int k = 0; k < 2 && which < LINES; k++) {
    length = cli_next_word(&at, &word);
    if (!length || !is_number(word, length, &value[k]))
      which = LINES;
  }
  if (which == LINES || cli_next_word(&at, &word))
    return cli_lines_fail(&r->lines, "expected K and lambda after a title such as '%s', found '%.40s'",
                          titles[LINES - 1], r->lines.text);
  seen[which] = true;
  if (isfinite(value[0]) && isfinite(value[1]) && value[0] > 0 && value[1] > 0)
    all[which] = (cli_pssm_statistics){value[0], value[1]};
  return CLI_OK;
}

static int read_statistics(reader *r, cli_pssm *pssm) {
  cli_pssm_statistics all[LINES] = {0};
  bool seen[LINES] = {false};
  while (!r->lines.end) {
    if (!is_empty(r))
      CLI_TRY(read_statistics_line(r, all, seen));
    CLI_TRY(next_line(r));
  }
  for (int k = 0; k < LINES; k++)
    if (!seen[k])
      return cli_lines_fail(&r->lines, "expected K and lambda after '%s', found the end of the file",
                            titles[k]);
  pssm->standard = all[1];
  pssm->own = all[LINES - 1];
  return CLI_OK;
}

/* ---- the whole ---- */

static int score_of(const reader *r, const place *p, char letter) {
  const char *at = memchr(r->letters, letter, AMINO);
  return at ? p->scores[at - r->letters] : letter == '*' ? STOP : UNKNOWN;
}

/* Of two letters, rounded down. */
static int mean_of(const reader *r, const place *p, char one, char other) {
  const int sum = score_of(r, p, one) + score_of(r, p, other);
  return (sum - (sum & 1)) / 2;
}

static void fill_scores(const reader *r, int8_t *scores) {
  for (int t = 0; t < r->alphabet->symbols; t++)
    for (int64_t j = 0; j < r->count; j++) {
      const char letter = r->alphabet->letters[t];
      const place *p = &r->places[j];
      scores[j + t * r->count] = (int8_t)(letter == 'B'   ? mean_of(r, p, 'N', 'D')
                                          : letter == 'Z' ? mean_of(r, p, 'Q', 'E')
                                                          : score_of(r, p, letter));
    }
}

static int give(const reader *r, const char *path, cli_pssm *pssm, cli_sequences *query) {
  uint8_t *symbols;
  CLI_TRY(cli_sequences_make(r->lines.name, path, r->count, query, &symbols));
  for (int64_t j = 0; j < r->count; j++)
    symbols[j] = r->places[j].symbol;
  pssm->length = r->count;
  pssm->scores = dvt_allocate((size_t)(r->count * r->alphabet->symbols), 1);
  if (!pssm->scores)
    return cli_fail(CLI_DEVICE, "not enough memory for %" PRId64 " positions of a PSSM", r->count);
  fill_scores(r, pssm->scores);
  return CLI_OK;
}

int cli_pssm_read(const char *path, const davit_align_matrix *alphabet, cli_pssm *pssm,
                  cli_sequences *query) {
  reader r = {.alphabet = alphabet};
  int code = cli_lines_open(path, &r.lines);
  r.lines.most = LINE_BYTES;
  *pssm = (cli_pssm){0};
  if (code == CLI_OK)
    code = read_head(&r);
  if (code == CLI_OK)
    code = read_places(&r);
  if (code == CLI_OK)
    code = read_statistics(&r, pssm);
  if (code == CLI_OK)
    code = give(&r, path, pssm, query);
  cli_lines_close(&r.lines);
  free(r.places);
  return code;
}

void cli_pssm_free(cli_pssm *pssm) {
  free(pssm->scores);
  *pssm = (cli_pssm){0};
}
