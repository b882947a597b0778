/* SPDX-License-Identifier: Apache-2.0 */
/* The formats in which davit align writes what it found. */
#ifndef DAVIT_SRC_CLI_ALIGN_ROWS_H
#define DAVIT_SRC_CLI_ALIGN_ROWS_H

#include <davit/align.h>
#include <stdio.h>

#include "src/cli/align_scheme.h"
#include "src/cli/formats/fasta.h"

typedef enum align_strand { ALIGN_PLUS, ALIGN_MINUS, ALIGN_STRANDS } align_strand;

typedef struct align_hit {
  davit_align_hit hit;
  align_strand strand; /* minus: of the query's reverse complement */
} align_hit;

/* A line of the result. The alignment's places in the query are those of the strand. */
typedef struct align_row {
  int64_t query;
  align_hit found;
  davit_align_result alignment;
  char *cigar;         /* NULL where nobody wants it */
  davit_status status; /* of the trace */
} align_row;

typedef enum align_format { ALIGN_TSV, ALIGN_JSON, ALIGN_SAM, ALIGN_PAF, ALIGN_BLAST6 } align_format;

typedef struct align_table {
  const cli_sequences *query, *target; /* for SAM, the query with its letters */
  align_statistics statistics;
  const align_row *rows; /* query after query, the best first */
  int64_t count;
  bool cigar; /* the column of TSV is filled */
} align_table;

/* false on a write error. */
bool align_write(FILE *file, align_format format, const align_table *table);

#endif
