/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/align.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/base/text.h"
#include "src/cli/fail.h"
#include "src/cli/formats/matrix.h"

/* blastn's: a gap of k symbols costs 5 + 2 k. */
enum { MATCH = 2, MISMATCH = -3, BASES_OPEN = 7, BASES_EXTEND = 2, AMINO_OPEN = 11, AMINO_EXTEND = 1 };
enum { PSSM_OPEN = 12 }; /* psiblast's, so that the statistics of its file hold */

/* Letters that the matrix of amino acids counts as others. */
static const char rare[] = "JOU";

/* ---- the matrix ---- */

static void set_code(davit_align_matrix *m, char letter, uint8_t symbol) {
  m->code[toupper((unsigned char)letter)] = m->code[tolower((unsigned char)letter)] = symbol;
}

static int find_amino(davit_align_matrix *m) {
  return cli_status(davit_align_matrix_find("blosum62", m));
}

static int find_named(const char *name, davit_align_matrix *m) {
  const bool path = strchr(name, '/') || !strcmp(name, "-");
  if (!path && davit_align_matrix_find(name, m) == DAVIT_SUCCESS)
    return CLI_OK;
  return path || access(name, F_OK) == 0
             ? cli_matrix_read(name, m)
             : cli_fail(CLI_INPUT, "--matrix: %s; and there is no such file", davit_last_error());
}

/* All letters of amino acids, among which those of bases are, each a symbol of its own. */
static int make_letters(align_scheme *s) {
  const int code = find_amino(&s->letters);
  for (const char *at = rare; code == CLI_OK && *at; at++) {
    s->letters.letters[s->letters.symbols] = *at;
    set_code(&s->letters, *at, (uint8_t)s->letters.symbols++);
  }
  return code;
}

int align_scheme_begin(align_scheme *s, const davit_align_matrix **alphabet) {
  *alphabet = &s->matrix;
  if (s->pssm && (s->match || s->dna || s->matrix_name))
    return cli_fail(CLI_USAGE, "--pssm and %s exclude each other: a PSSM scores amino acids",
                    s->match ? "--match"
                    : s->dna ? "--dna"
                             : "--matrix");
  if (s->match || (s->dna && !s->matrix_name)) {
    s->bases = true;
    cli_matrix_dna((int8_t)(s->match ? s->match : MATCH), (int8_t)(s->match ? s->mismatch : MISMATCH),
                   &s->matrix);
    return CLI_OK;
  }
  if (s->matrix_name) {
    const int code = find_named(s->matrix_name, &s->matrix);
    s->bases = code == CLI_OK && (s->dna || !strcmp(s->matrix.name, "NUC.4.4"));
    return code;
  }
  if (s->protein || s->pssm)
    return find_amino(&s->matrix);
  s->by_letters = true;
  *alphabet = &s->letters;
  return make_letters(s);
}

/* ---- what the letters say ---- */

/* Where the letter stands: in the query before the target, then by its first place. */
typedef struct place {
  int file;
  int64_t first;
} place;

static bool comes_before(const place *a, const place *b) {
  return a->file < b->file || (a->file == b->file && a->first < b->first);
}

static bool is_among(char letter, const char *letters) {
  return strchr(letters, letter) != NULL;
}

/* Counts the letters of a file, and notes the one that decides. */
static void look_at(align_scheme *s, const cli_sequences *sequences, int file, place *at) {
  align_letters *found = &s->found;
  for (int symbol = 0; symbol < s->letters.symbols; symbol++) {
    const cli_symbol_use *use = &sequences->uses[symbol];
    const char letter = s->letters.letters[symbol];
    const bool plain = is_among(letter, "ACGTUN"), foreign = !plain && !is_among(letter, "RYSWKMBDHV");
    const place here = {file, use->first};
    found->all += use->count;
    found->plain += plain ? use->count : 0;
    if (plain || !use->count || foreign < found->foreign)
      continue;
    if (!found->letter || foreign > found->foreign || comes_before(&here, at)) {
      *at = here;
      found->letter = letter;
      found->foreign = foreign;
      found->file = sequences->file;
      found->line = use->line;
    }
  }
}

static bool are_bases(align_scheme *s, const cli_sequences *query, const cli_sequences *target) {
  place at = {0};
  s->found = (align_letters){0};
  look_at(s, query, 0, &at);
  look_at(s, target, 1, &at);
  return !s->found.foreign && 10 * s->found.plain >= 9 * s->found.all;
}

/* What decided, in words. */
static void put_reason(const align_scheme *s, align_sentence *reason) {
  const align_letters *l = &s->found;
  char *text = reason->text;
  const size_t room = sizeof reason->text;
  if (!l->letter)
    snprintf(text, room, "all letters are from ACGTUN");
  else if (l->foreign)
    snprintf(text, room, "'%c' (%.120s, line %" PRId64 ") is not a base", l->letter, l->file, l->line);
  else
    snprintf(text, room,
             "%s%.4g %% of the letters are from ACGTUN, %s are ambiguous bases, the first '%c' (%.120s, line "
             "%" PRId64 ")",
             s->bases ? "" : "only ", floor(1e4 * (double)l->plain / (double)l->all) / 100,
             s->bases ? "the others" : "more than 10 %", l->letter, l->file, l->line);
  dvt_make_printable(text);
}

void align_scheme_say(const align_scheme *s) {
  align_sentence reason;
  if (!s->by_letters)
    return;
  put_reason(s, &reason);
  if (s->bases)
    cli_remark("the letters count as DNA or RNA: %s; a match scores %d, a mismatch %d, a gap of k symbols "
               "-(%d + %d (k - 1)); --protein scores them as amino acids",
               reason.text, MATCH, MISMATCH, (int)s->scoring.gap_open, (int)s->scoring.gap_extend);
  else
    cli_remark("the letters count as amino acids: %s; BLOSUM62, a gap of k symbols scores -(%d + %d (k - "
               "1)); --dna scores them as bases",
               reason.text, (int)s->scoring.gap_open, (int)s->scoring.gap_extend);
}

int align_scheme_needs_bases(const align_scheme *s, const char *what) {
  align_sentence reason;
  if (s->by_letters) {
    put_reason(s, &reason);
    return cli_fail(CLI_USAGE, "%s: %s; --dna says that the letters are bases", what, reason.text);
  }
  if (s->pssm)
    return cli_fail(CLI_USAGE, "%s, but --pssm says that the letters are amino acids", what);
  return s->matrix_name
             ? cli_fail(CLI_USAGE, "%s; --dna says that the letters of --matrix %s are bases", what,
                        s->matrix_name)
             : cli_fail(CLI_USAGE, "%s, but --protein says that the letters are amino acids", what);
}

static void renumber(const align_scheme *s, cli_sequences *sequences) {
  for (int64_t i = 0; i < sequences->offsets[sequences->count]; i++)
    sequences->symbols[i] = s->matrix.code[(unsigned char)s->letters.letters[sequences->symbols[i]]];
}

void align_scheme_settle(align_scheme *s, cli_sequences *query, cli_sequences *target) {
  if (s->by_letters) {
    s->bases = are_bases(s, query, target);
    if (s->bases)
      cli_matrix_dna(MATCH, MISMATCH, &s->matrix);
    else
      find_amino(&s->matrix); /* it was found before */
    renumber(s, query);
    renumber(s, target);
  }
  const bool dna = s->bases && strcmp(s->matrix.name, "NUC.4.4") != 0;
  s->scoring = (davit_align_scoring){
      .symbols = s->matrix.symbols,
      .matrix = s->pssm ? NULL : s->matrix.scores,
      .profile = s->profile.scores,
      .gap_open = s->gap_open ? s->gap_open
                  : dna       ? BASES_OPEN
                  : s->pssm   ? PSSM_OPEN
                              : AMINO_OPEN,
      .gap_extend = s->gap_extend ? s->gap_extend
                    : dna         ? BASES_EXTEND
                                  : AMINO_EXTEND,
  };
}

char align_complement_letter(char letter) {
  static const char bases[] = "ACGTRYKMBVDHU", complements[] = "TGCAYRMKVBHDA"; /* S, W and N are their own */
  const char *at = strchr(bases, letter);
  return at && *at ? complements[at - bases] : letter;
}

uint8_t align_complement(const align_scheme *s, uint8_t symbol) {
  const char complement = align_complement_letter(s->matrix.letters[symbol]);
  const uint8_t found = s->matrix.code[(unsigned char)complement];
  return found == DAVIT_ALIGN_NO_SYMBOL ? symbol : found;
}

/* ---- statistics ---- */

/* As BLAST tabulates them (NCBI's blast_stat.c). Its gap of k symbols costs existence + k extension. Its BLOSUM80 is
 * another matrix than the library's: in halves of a bit, not in thirds. The others' scales are the library's: without
 * gaps, lambda follows from a matrix and the frequencies of amino acids, and is the one that BLAST has. */
static const struct {
  const char *matrix;
  int existence, extension;
  double lambda, k;
} published[] = {
    {"BLOSUM45", 13, 3, 0.207, 0.049}, {"BLOSUM45", 12, 3, 0.199, 0.039}, {"BLOSUM45", 11, 3, 0.190, 0.031},
    {"BLOSUM45", 10, 3, 0.179, 0.023}, {"BLOSUM45", 16, 2, 0.210, 0.051}, {"BLOSUM45", 15, 2, 0.203, 0.041},
    {"BLOSUM45", 14, 2, 0.195, 0.032}, {"BLOSUM45", 13, 2, 0.185, 0.024}, {"BLOSUM45", 12, 2, 0.171, 0.016},
    {"BLOSUM45", 19, 1, 0.205, 0.040}, {"BLOSUM45", 18, 1, 0.198, 0.032}, {"BLOSUM45", 17, 1, 0.189, 0.024},
    {"BLOSUM45", 16, 1, 0.176, 0.016}, {"BLOSUM50", 13, 3, 0.212, 0.063}, {"BLOSUM50", 12, 3, 0.206, 0.055},
    {"BLOSUM50", 11, 3, 0.197, 0.042}, {"BLOSUM50", 10, 3, 0.186, 0.031}, {"BLOSUM50", 9, 3, 0.172, 0.022},
    {"BLOSUM50", 16, 2, 0.215, 0.066}, {"BLOSUM50", 15, 2, 0.210, 0.058}, {"BLOSUM50", 14, 2, 0.202, 0.045},
    {"BLOSUM50", 13, 2, 0.193, 0.035}, {"BLOSUM50", 12, 2, 0.181, 0.025}, {"BLOSUM50", 19, 1, 0.212, 0.057},
    {"BLOSUM50", 18, 1, 0.207, 0.050}, {"BLOSUM50", 17, 1, 0.198, 0.037}, {"BLOSUM50", 16, 1, 0.186, 0.025},
    {"BLOSUM50", 15, 1, 0.171, 0.015}, {"BLOSUM62", 11, 2, 0.297, 0.082}, {"BLOSUM62", 10, 2, 0.291, 0.075},
    {"BLOSUM62", 9, 2, 0.279, 0.058},  {"BLOSUM62", 8, 2, 0.264, 0.045},  {"BLOSUM62", 7, 2, 0.239, 0.027},
    {"BLOSUM62", 6, 2, 0.201, 0.012},  {"BLOSUM62", 13, 1, 0.292, 0.071}, {"BLOSUM62", 12, 1, 0.283, 0.059},
    {"BLOSUM62", 11, 1, 0.267, 0.041}, {"BLOSUM62", 10, 1, 0.243, 0.024}, {"BLOSUM62", 9, 1, 0.206, 0.010},
    {"BLOSUM90", 9, 2, 0.310, 0.12},   {"BLOSUM90", 8, 2, 0.300, 0.099},  {"BLOSUM90", 7, 2, 0.283, 0.072},
    {"BLOSUM90", 6, 2, 0.259, 0.048},  {"BLOSUM90", 11, 1, 0.302, 0.093}, {"BLOSUM90", 10, 1, 0.290, 0.075},
    {"BLOSUM90", 9, 1, 0.265, 0.044},  {"PAM30", 7, 2, 0.305, 0.15},      {"PAM30", 6, 2, 0.287, 0.11},
    {"PAM30", 5, 2, 0.264, 0.079},     {"PAM30", 10, 1, 0.309, 0.15},     {"PAM30", 9, 1, 0.294, 0.11},
    {"PAM30", 8, 1, 0.270, 0.072},     {"PAM70", 8, 2, 0.301, 0.12},      {"PAM70", 7, 2, 0.286, 0.093},
    {"PAM70", 6, 2, 0.264, 0.064},     {"PAM70", 11, 1, 0.305, 0.12},     {"PAM70", 10, 1, 0.291, 0.091},
    {"PAM70", 9, 1, 0.270, 0.060},     {"PAM250", 15, 3, 0.205, 0.049},   {"PAM250", 14, 3, 0.200, 0.043},
    {"PAM250", 13, 3, 0.194, 0.036},   {"PAM250", 12, 3, 0.186, 0.029},   {"PAM250", 11, 3, 0.174, 0.020},
    {"PAM250", 17, 2, 0.204, 0.047},   {"PAM250", 16, 2, 0.198, 0.038},   {"PAM250", 15, 2, 0.191, 0.031},
    {"PAM250", 14, 2, 0.182, 0.024},   {"PAM250", 13, 2, 0.171, 0.017},   {"PAM250", 21, 1, 0.205, 0.045},
    {"PAM250", 20, 1, 0.199, 0.037},   {"PAM250", 19, 1, 0.192, 0.029},   {"PAM250", 18, 1, 0.183, 0.021},
    {"PAM250", 17, 1, 0.171, 0.014},   {"2/-3", 4, 4, 0.63, 0.42},        {"2/-3", 2, 4, 0.615, 0.37},
    {"2/-3", 0, 4, 0.55, 0.21},        {"2/-3", 3, 3, 0.615, 0.37},       {"2/-3", 6, 2, 0.63, 0.42},
    {"2/-3", 5, 2, 0.625, 0.41},       {"2/-3", 4, 2, 0.61, 0.35},        {"2/-3", 2, 2, 0.515, 0.14},
};

enum { PUBLISHED = sizeof published / sizeof *published };

static bool is_even(const align_scheme *s) {
  return s->bases && !s->matrix_name && s->scoring.matrix[0] == MATCH && s->scoring.matrix[1] == MISMATCH;
}

static const char *published_name(const align_scheme *s) {
  return is_even(s) ? "2/-3" : s->matrix.name;
}

/* Those of the file, if the gaps are psiblast's: those for which its matrix has the file's standard ones. */
static align_statistics statistics_of_pssm(const align_scheme *s) {
  const double apart = 5e-4;
  for (int i = 0; i < PUBLISHED; i++)
    if (published[i].extension == s->scoring.gap_extend &&
        published[i].existence == s->scoring.gap_open - s->scoring.gap_extend &&
        fabs(published[i].lambda - s->profile.standard.lambda) < apart &&
        fabs(published[i].k - s->profile.standard.k) < apart)
      return (align_statistics){s->profile.own.lambda, s->profile.own.k, false};
  return (align_statistics){0};
}

align_statistics align_statistics_of(const align_scheme *s) {
  const davit_align_scoring *scoring = &s->scoring;
  if (s->pssm)
    return statistics_of_pssm(s);
  const char *name = published_name(s);
  for (int i = 0; i < PUBLISHED; i++)
    if (!strcmp(published[i].matrix, name) && published[i].extension == scoring->gap_extend &&
        published[i].existence == scoring->gap_open - scoring->gap_extend)
      return (align_statistics){published[i].lambda, published[i].k, is_even(s)};
  return (align_statistics){0};
}

void align_statistics_missing(const align_scheme *s, align_sentence *sentence) {
  char *text = sentence->text;
  const size_t room = sizeof sentence->text;
  size_t used = 0;
  if (s->pssm) {
    snprintf(text, room,
             "the PSSM has no statistics for --gap-open %" PRId32 " and --gap-extend %" PRId32
             "; psiblast's own costs are 12 and 1",
             s->scoring.gap_open, s->scoring.gap_extend);
    return;
  }
  if (!strcmp(s->matrix.name, "BLOSUM80")) {
    snprintf(text, room,
             "the published statistics are for BLAST's BLOSUM80, in half bits; davit's is in third bits");
    return;
  }
  used += (size_t)snprintf(text, room,
                           "there are no statistics for these scores with --gap-open %" PRId32
                           " and --gap-extend %" PRId32,
                           s->scoring.gap_open, s->scoring.gap_extend);
  const char *before = ", only with";
  for (int i = 0; i < PUBLISHED; i++)
    if (!strcmp(published[i].matrix, published_name(s)) && used < room) {
      used += (size_t)snprintf(text + used, room - used, "%s %d/%d", before,
                               published[i].existence + published[i].extension, published[i].extension);
      before = "";
    }
}

static double counted(const align_statistics *s, int32_t score) {
  return s->even ? score - score % 2 : score;
}

double align_expect(const align_statistics *s, int32_t score, int64_t m, int64_t n) {
  return s->k * (double)m * (double)n * exp(-s->lambda * counted(s, score));
}

double align_bits(const align_statistics *s, int32_t score) {
  return (s->lambda * counted(s, score) - log(s->k)) / log(2);
}
