/* Substitution matrices and the alphabets that go with them. */
#ifndef DAVIT_SRC_CLI_FORMATS_MATRIX_H
#define DAVIT_SRC_CLI_FORMATS_MATRIX_H

#include <davit/align.h>

enum { CLI_FOREIGN_LETTER = 255 };

typedef struct cli_matrix {
  int symbols;
  char letters[DAVIT_ALIGN_MOST_SYMBOLS + 1]; /* of the symbols, upper case */
  uint8_t code[256];                          /* symbol of a byte, either case, or CLI_FOREIGN_LETTER */
  int8_t scores[DAVIT_ALIGN_MOST_SYMBOLS * DAVIT_ALIGN_MOST_SYMBOLS]; /* as davit_scoring wants them */
} cli_matrix;

/* BLOSUM62 of NCBI, 24 symbols. */
void cli_matrix_blosum62(cli_matrix *matrix);

/* A, C, G, T and N; U is T. N matches nothing, not even N. */
void cli_matrix_dna(int8_t match, int8_t mismatch, cli_matrix *matrix);

/* A file in NCBI's format: lines that begin with '#' are comments, the first other line holds the letters of targets, each further one a
 * letter of queries and its scores, whole numbers from -128 to 127. Both have the same letters, in any order. */
int cli_matrix_read(const char *path, cli_matrix *matrix);

#endif
