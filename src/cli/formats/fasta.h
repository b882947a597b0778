/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences from FASTA and FASTQ files, compressed or not (lines.h).
 *
 * FASTA: a line ">NAME description", then lines of letters up to the next such line. FASTQ: "@NAME description",
 * lines of letters, a line that begins with "+", and lines with as many quality characters as there were letters,
 * which are checked and dropped. The first record decides which format a file has. Names end at the first blank;
 * several records may have the same, as the two reads of a pair do. Blanks between letters, and lines without letters
 * between records, are skipped. */
#ifndef DAVIT_SRC_CLI_FORMATS_FASTA_H
#define DAVIT_SRC_CLI_FORMATS_FASTA_H

#include <davit/align.h>
#include <stdbool.h>
#include <stddef.h>

#include "src/cli/formats/names.h"

typedef struct cli_record {
  size_t name;  /* where it begins in `names` */
  int64_t line; /* of the file, where the record begins */
} cli_record;

/* Where a file has a symbol, as its letter. */
typedef struct cli_symbol_use {
  int64_t count;       /* in all records */
  int64_t line, first; /* of the first one; the place among all symbols of the file */
} cli_symbol_use;

typedef struct cli_sequences {
  const char *file; /* for messages */
  int64_t count;
  int64_t *offsets; /* count + 1 */
  uint8_t *symbols; /* as the alphabet numbers letters */
  char *letters;    /* the letters themselves, in upper case, where they are kept; else NULL */
  cli_symbol_use uses[DAVIT_ALIGN_SYMBOLS_MAXIMUM];
  cli_record *records;
  char *names; /* each with a zero byte */
  size_t name_bytes;
  int64_t symbol_room, letter_room, name_room, record_room, offset_room;
} cli_sequences;

/* Reads all records of `path` ("-": standard input), with the letters of `alphabet`, which are kept if `keep`.
 * CLI_INPUT, after naming file, line and record, when a letter is foreign, a record empty, a name missing, or the
 * file ends too early; the caller frees what was read till then. */
int cli_sequences_read(const char *path, const davit_align_matrix *alphabet, bool keep,
                       cli_sequences *sequences);

/* One record of `length` symbols, which the caller fills in, of a file of another kind. Its name is that of `path`
 * without folder and ending, up to the first blank, or "query" where nothing is left. */
int cli_sequences_make(const char *file, const char *path, int64_t length, cli_sequences *sequences,
                       uint8_t **symbols);

/* CLI_INPUT, after naming file, lines and name, when two records have the same name. */
int cli_sequences_check_distinct(const cli_sequences *sequences);

/* The same when `format` cannot hold a name: the first in the file. */
int cli_sequences_check_names(const cli_sequences *sequences, cli_name_format format);

/* {0} is allowed. */
void cli_sequences_free(cli_sequences *sequences);

const char *cli_sequences_name(const cli_sequences *sequences, int64_t index);

static inline int64_t cli_sequences_length(const cli_sequences *sequences, int64_t index) {
  return sequences->offsets[index + 1] - sequences->offsets[index];
}

#endif
