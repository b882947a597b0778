/* Local alignment of sequences: a query against a database, and one pair in full.
 *
 * A sequence is a string of symbols 0 … symbols - 1, one byte each. The score of an alignment is the sum over its
 * columns: the matrix's entry for two symbols, and for a gap of k symbols -(gap_open + (k - 1) gap_extend). Gaps may
 * adjoin, so a gap_extend larger than gap_open counts as gap_open. The score of a pair is the largest of all
 * alignments of a stretch of the query with a stretch of the target; the empty one scores 0. Scores are exact: what
 * does not fit the narrow words of the fast path is done again in wider ones. (The worst of all is limited to
 * 2^31 - 1: lengths m, n with min(m, n) times the matrix's largest entry beyond that are refused.)
 *
 * Source: T. F. Smith and M. S. Waterman, Identification of Common Molecular Subsequences (1981); O. Gotoh, An
 * Improved Algorithm for Matching Biological Sequences (1982); linear memory after E. W. Myers and W. Miller, Optimal
 * Alignments in Linear Space (1988). Cost: m n cells, docs/align.md. */
#ifndef DAVIT_ALIGN_H
#define DAVIT_ALIGN_H

#include <davit/device.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DAVIT_ALIGN_MOST_SYMBOLS = 32 };

/* What columns score. */
typedef struct davit_scoring {
  int symbols; /* of the alphabet, 1 … DAVIT_ALIGN_MOST_SYMBOLS */
  const int8_t *
      matrix; /* symbols x symbols, column-major: query symbol q against target symbol t at [q + t symbols] */
  int32_t gap_open;   /* > 0: the first symbol of a gap costs this, */
  int32_t gap_extend; /* > 0: each further one this */
} davit_scoring;

/* Sequence k is symbols[offsets[k]] … symbols[offsets[k + 1] - 1]; it may be empty. Host memory. */
typedef struct davit_sequences {
  int64_t count;
  const int64_t *offsets; /* count + 1 */
  const uint8_t *symbols;
} davit_sequences;

/* Targets made ready for searching: on the devices, in the order and shape that their kernels like. */
typedef struct davit_database davit_database;

/* Copies `targets`, whose symbols are below `symbols`, to the devices (NULL and 0: davit_device_defaults()), each a
 * share. */
DAVIT_API davit_status davit_database_create(const davit_sequences *targets, int symbols, const int *devices,
                                             int device_count, davit_database **database);

/* NULL is no error. */
DAVIT_API davit_status davit_database_destroy(davit_database *database);

/* scores[k] becomes the score of the query, of m symbols, with target k. Any thread; calls on one database wait for
 * each other. */
DAVIT_API davit_status davit_align_scores(davit_database *database, const davit_scoring *scoring, int64_t m,
                                          const uint8_t *query, int32_t *scores);

typedef struct davit_hit {
  int64_t target;
  int32_t score;
} davit_hit;

/* The `top` best targets with a score above 0, best first, of equal ones the earlier target first; *found tells how
 * many there are, at most `top`. */
DAVIT_API davit_status davit_align_search(davit_database *database, const davit_scoring *scoring, int64_t m,
                                          const uint8_t *query, int64_t top, davit_hit *hits, int64_t *found);

/* One alignment: query symbols [query_begin, query_end) with target symbols [target_begin, target_end). */
typedef struct davit_alignment {
  int32_t score;
  int64_t query_begin, query_end;
  int64_t target_begin, target_end;
} davit_alignment;

/* The best alignment of a pair, on the host, in memory linear in m + n. Of several that score the same it is one that
 * ends first in the target, then in the query. If cigar is not NULL, *cigar becomes its columns as a string to be
 * freed with free(): runs of '=' (equal symbols), 'X' (others), 'I' (query symbols in no target) and 'D' (target
 * symbols in no query), as "12=1X3I5=". An empty alignment has score 0, empty stretches at 0 and the string "". */
DAVIT_API davit_status davit_align_trace(const davit_scoring *scoring, int64_t m, const uint8_t *query,
                                         int64_t n, const uint8_t *target, davit_alignment *alignment,
                                         char **cigar);

#ifdef __cplusplus
}
#endif
#endif
