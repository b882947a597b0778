/* SPDX-License-Identifier: Apache-2.0 */
/* Position-specific scoring matrices from the text that psiblast -out_ascii_pssm writes: a line that begins with "Last
 * position-specific", one with the letters of 20 amino acids, once for scores and once for percentages, and for each
 * place of the query its number, its letter, 20 scores, 20 percentages and up to two more numbers; behind an empty line
 * K and lambda of the scores. Percentages are not kept. */
#ifndef DAVIT_SRC_CLI_FORMATS_PSSM_H
#define DAVIT_SRC_CLI_FORMATS_PSSM_H

#include "src/cli/formats/fasta.h"

typedef struct cli_pssm_statistics {
  double k, lambda; /* 0: psiblast found none */
} cli_pssm_statistics;

typedef struct cli_pssm {
  int64_t length;
  int8_t *scores;               /* for davit_align_scoring: place j with symbol t: [j + t length] */
  cli_pssm_statistics standard; /* "Standard Gapped": those of psiblast's matrix and gaps, */
  cli_pssm_statistics own;      /* "PSI Gapped": and of these scores */
} cli_pssm;

/* Reads `path` ("-": standard input) with the letters of `alphabet`, the library's for amino acids. Those that the file
 * has no scores of: B scores as the mean of N and D, Z as that of Q and E, rounded down, '*' -4, all others -1, as
 * BLAST has X. The query's letters become the only record of *query, whose name is the file's without folder and
 * ending. CLI_INPUT, after naming file and line, when the file is not as described; the caller frees what was read till
 * then. */
int cli_pssm_read(const char *path, const davit_align_matrix *alphabet, cli_pssm *pssm, cli_sequences *query);

/* {0} is allowed. */
void cli_pssm_free(cli_pssm *pssm);

#endif
