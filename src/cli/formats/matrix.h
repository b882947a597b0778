/* SPDX-License-Identifier: Apache-2.0 */
/* Substitution matrices that the library does not have by name. */
#ifndef DAVIT_SRC_CLI_FORMATS_MATRIX_H
#define DAVIT_SRC_CLI_FORMATS_MATRIX_H

#include <davit/align.h>

#include "src/cli/formats/lines.h"

/* A, C, G, T and N; U is T, other letters of uncertain bases are N. N matches nothing, not even N. */
void cli_matrix_dna(int8_t match, int8_t mismatch, davit_align_matrix *matrix);

/* A file in NCBI's format: lines that begin with '#' are comments, the first other line holds the letters of
 * targets, each further one a letter of queries and its scores, whole numbers from -128 to 127. Both have
 * the same letters, in any order. */
int cli_matrix_read(const char *path, davit_align_matrix *matrix);

/* A word of the line as a score, or CLI_INPUT after a message. */
int cli_matrix_score(const cli_lines *lines, const char *word, int length, int8_t *score);

#endif
