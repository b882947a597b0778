/* SPDX-License-Identifier: Apache-2.0 */
/* How davit align scores: what the options say, and where they are silent, what the letters say. Functions
 * that return an exit code print what is wrong first. */
#ifndef DAVIT_SRC_CLI_ALIGN_SCHEME_H
#define DAVIT_SRC_CLI_ALIGN_SCHEME_H

#include <davit/align.h>

#include "src/cli/formats/fasta.h"

typedef struct align_sentence {
  char text[320];
} align_sentence;

/* Letters that decide. The rule: sequences are of bases if all letters are IUPAC's for bases (ACGTUN RYSWKM BDHV), and
 * at least 90 % of those of query and target together are from ACGTUN. */
typedef struct align_letters {
  int64_t all, plain; /* how many there are, and from ACGTUN */
  char letter;        /* the first that is no base; else the first ambiguous one; 0: there is none */
  bool foreign;       /* it is no base */
  const char *file;   /* that has it, */
  int64_t line;       /* in this line */
} align_letters;

typedef struct align_scheme {
  const char *matrix_name; /* options; NULL and 0: not given */
  int match, mismatch;
  bool dna, protein;
  int32_t gap_open, gap_extend;
  bool by_letters, bases; /* the letters decide; the sequences are of bases */
  align_letters found;    /* with by_letters */
  davit_align_matrix matrix, letters;
  davit_align_scoring scoring; /* with `matrix` */
} align_scheme;

/* The alphabet to read with, in *alphabet, which is part of the scheme. */
int align_scheme_begin(align_scheme *scheme, const davit_align_matrix **alphabet);

/* Completes the scheme, and numbers the sequences' letters as its matrix does. */
void align_scheme_settle(align_scheme *scheme, cli_sequences *query, cli_sequences *target);

/* Says on standard error what the letters have decided, and which of them; nothing where an option has. */
void align_scheme_say(const align_scheme *scheme);

/* Usage error: `what` needs bases. Says why the sequences are of amino acids. */
int align_scheme_needs_bases(const align_scheme *scheme, const char *what);

/* The complement of a letter of bases, and of a symbol. */
char align_complement_letter(char letter);
uint8_t align_complement(const align_scheme *scheme, uint8_t symbol);

/* Of scores of local alignments between random sequences (S. Karlin and S. F. Altschul, Methods for Assessing
 * the Statistical Significance of Molecular Sequence Features by Using General Scoring Schemes, 1990). */
typedef struct align_statistics {
  double lambda, k; /* 0: unknown for this scheme */
  bool even;        /* of even scores; odd ones are taken for the next lower one */
} align_statistics;

align_statistics align_statistics_of(const align_scheme *scheme);

/* Why a scheme has none. */
void align_statistics_missing(const align_scheme *scheme, align_sentence *sentence);

/* The expected number of alignments of at least that score between random sequences with m and n symbols. */
double align_expect(const align_statistics *statistics, int32_t score, int64_t m, int64_t n);

double align_bits(const align_statistics *statistics, int32_t score);

#endif
