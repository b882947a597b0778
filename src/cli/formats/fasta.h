/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences from FASTA and FASTQ files, compressed or not (lines.h).
 *
 * FASTA: a line ">NAME description", then lines of letters up to the next such line. FASTQ: "@NAME
 * description", lines of letters, a line that begins with "+", and lines with as many quality characters as
 * there were letters, which are checked and dropped. The first record decides which format a file has. Names
 * end at the first blank. Blanks between letters, and lines without letters between records, are skipped. */
#ifndef DAVIT_SRC_CLI_FORMATS_FASTA_H
#define DAVIT_SRC_CLI_FORMATS_FASTA_H

#include <davit/align.h>
#include <stddef.h>

#include "src/cli/formats/matrix.h"

typedef struct cli_record {
  size_t name;  /* where it begins in `names` */
  int64_t line; /* of the file, where the record begins */
} cli_record;

typedef struct cli_sequences {
  int64_t count;
  int64_t *offsets; /* count + 1 */
  uint8_t *symbols; /* as the alphabet numbers letters */
  cli_record *records;
  char *names; /* each with a zero byte */
  size_t symbol_room, name_room, name_bytes;
  int64_t record_room;
} cli_sequences;

/* Reads all records of `path` ("-": standard input), with the letters of `alphabet`. CLI_INPUT, after naming
 * file, line and record, when a letter is foreign, a record empty, a name missing or not the only one of its
 * kind, or the file ends too early; the caller frees what was read till then. */
int cli_sequences_read(const char *path, const davit_align_matrix *alphabet, cli_sequences *sequences);

/* {0} is allowed. */
void cli_sequences_free(cli_sequences *sequences);

const char *cli_sequences_name(const cli_sequences *sequences, int64_t index);

/* The public form of them. */
davit_align_sequences cli_sequences_view(const cli_sequences *sequences);

#endif
