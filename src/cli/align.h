/* SPDX-License-Identifier: Apache-2.0 */
/* What the sources of davit align share: the command's state (align.c), how it scores (align_scheme.c), pairs instead of all with all
 * (align_pairs.c), the rows that it collects, and how several ranks share them (align_list.c), and the formats in which
 * it writes them (align_rows.c). */
#ifndef DAVIT_SRC_CLI_ALIGN_H
#define DAVIT_SRC_CLI_ALIGN_H

#include <davit/align.h>
#include <stdio.h>

#include "src/cli/formats/fasta.h"
#include "src/cli/formats/pssm.h"
#include "src/cli/frame/job.h"

/* ---- scores ----
 *
 * What the options say, and where they are silent, what the letters say. Functions that return an exit code print what
 * is wrong first. */

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
  bool dna, protein, pssm;
  int32_t gap_open, gap_extend;
  bool by_letters, bases; /* the letters decide; the sequences are of bases */
  align_letters found;    /* with by_letters */
  davit_align_matrix matrix, letters;
  cli_pssm profile;            /* with `pssm`: in the place of the matrix's scores */
  davit_align_scoring scoring; /* with `matrix`, or with `profile` */
} align_scheme;

/* The alphabet to read with, in *alphabet, which is part of the scheme. A PSSM is still to be read. */
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

/* ---- formats ---- */

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

/* ---- rows ---- */

/* Rows without alignments, until they are traced. */
typedef struct align_list {
  align_row *at;
  int64_t count, room;
} align_list;

/* Rows of a query behind those of the queries before. */
davit_status align_list_add(align_list *list, int64_t query, int64_t count, const align_hit *found);

/* {0} is allowed. */
void align_list_free(align_list *list);

/* For qsort(). The order of align_hit: the best first, and of equals the first target, and the plus strand; and of
 * align_row: query after query. */
int align_compare_hits(const void *a, const void *b);
int align_compare_rows(const void *a, const void *b);

/* ---- the command ---- */

typedef enum align_strands { ALIGN_SEARCH_PLUS, ALIGN_SEARCH_MINUS, ALIGN_SEARCH_BOTH } align_strands;

/* Ranks divide the targets. */
typedef struct align_comparison {
  cli_job job;
  const char *query_path, *target_path;
  align_scheme scheme;
  align_statistics statistics;
  align_strands strands;
  align_format format;
  davit_align_mode mode;
  int64_t top, minimum_score;
  double maximum_expect; /* 0: not given */
  bool cigar, pairs;
  int64_t band, x_drop; /* of pairs, of extensions; 0: none */
  cli_sequences query, target;
  uint8_t *reverse;     /* the queries' reverse complements; NULL unless the minus strand is searched */
  int64_t first, count; /* the targets of this rank */
  davit_align_database *database; /* of them; NULL for the reference */
  davit_align_hit *hits;          /* of a query's strand: one for each target */
  align_hit *found;               /* of a query: of both strands */
  int64_t found_count;
  int32_t *scores; /* of a query's strand */
  int32_t *expected;
  int64_t *scratch;       /* of the reference, for each thread */
  align_list rows, right; /* found, and with --check what the reference finds */
  double wrong;           /* scores */
  double create_seconds, trace_seconds;
} align_comparison;

/* Writes the rows as c->format says; false on a write error. */
bool align_write(FILE *file, const align_comparison *c);

/* ---- pairs ----
 *
 * Query k with target k (align_pairs.c). Of all queries one strand is aligned. */

/* Of the pairs of this rank. */
davit_status align_pairs_score(const align_comparison *c, int32_t *scores);

/* The reference's score of pair k; scratch: so many words for the m symbols of the query. */
#define ALIGN_SCRATCH_WORDS(m) (4 * ((m) + 3))
int32_t align_pairs_reference(const align_comparison *c, int64_t k, int64_t *scratch);

/* Completes this rank's rows, every so many of c->rows, with the columns if they are wanted. */
davit_status align_pairs_trace(const align_comparison *c, bool columns);

/* ---- collective ----
 *
 * On one rank nothing happens. Where a rank has another code than CLI_OK, all return the first such code. */

/* Gives all ranks the rows of all of them, and of these the best `top` of each query. */
int align_list_share(int code, align_list *list, int64_t top);

/* Brings to rank 0 the alignments that the others have traced; row k is rank k mod count's. */
int align_list_gather(align_list *list);

#endif
