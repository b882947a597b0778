/* SPDX-License-Identifier: Apache-2.0 */
/* Alignment of sequences: a query against a database (local), one pair in full (local, global or semiglobal), and many
 * pairs (also extensions).
 *
 * A sequence is an array of symbols 0 … symbols - 1, one byte each. The score of an alignment is the sum over its
 * columns: the matrix's entry for two symbols, and -(gap_open + (k - 1) gap_extend) for a gap of k symbols. Gaps may
 * adjoin, so a gap_extend larger than gap_open counts as gap_open. The score of a pair is the maximum over all
 * alignments of a stretch of the query with a stretch of the target; the empty alignment scores 0. Scores are exact: if
 * a score does not fit the narrow words of the fast path, it is computed again in wider ones. Lengths m, n for which
 * min(m, n) times the largest entry of the matrix or the profile exceeds 2^31 - 1 are DAVIT_INVALID_ARGUMENT.
 *
 * Source: T. F. Smith and M. S. Waterman, Identification of Common Molecular Subsequences (1981); O. Gotoh, An Improved
 * Algorithm for Matching Biological Sequences (1982); linear memory after E. W. Myers and W. Miller, Optimal Alignments
 * in Linear Space (1988). Cost: m n cells, docs/align.md. Thread safety: any thread; calls on one database wait for
 * each other. */
#ifndef DAVIT_ALIGN_H
#define DAVIT_ALIGN_H

#include <davit/device.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  DAVIT_ALIGN_SYMBOLS_MAXIMUM = 32,
  DAVIT_ALIGN_NO_SYMBOL = 255 /* of a letter that a matrix lacks */
};

/* The scores of the columns of an alignment. They come from a matrix for two symbols or from a profile
 * (position-specific scoring matrix, PSSM), which has scores of the target's symbols for each of the query's m places;
 * the other is NULL. A profile belongs to one query; davit_align_pairs() takes none. With a profile
 * davit_align_scores() and davit_align_search() do not read the query's symbols, which may be NULL; davit_align_trace()
 * reads them to tell '=' from 'X'. If profile[j + t m] = matrix[query[j] + t symbols] for all j and t, the results are
 * those of the matrix. Source: M. Gribskov, A. D. McLachlan and D. Eisenberg, Profile Analysis: Detection of Distantly
 * Related Proteins (1987); psiblast makes profiles (S. F. Altschul et al., Gapped BLAST and PSI-BLAST, 1997). */
typedef struct davit_align_scoring {
  int symbols;          /* of the alphabet, 1 to DAVIT_ALIGN_SYMBOLS_MAXIMUM */
  const int8_t *matrix; /* query symbol q with target symbol t: [q + t symbols] */
  int32_t gap_open;     /* > 0: cost of the first symbol of a gap */
  int32_t gap_extend;   /* > 0: cost of each further symbol */
  const int8_t
      *profile; /* place j of the query, 0 … m - 1, with target symbol t: [j + t m]; m symbols entries */
  uint64_t reserved[3]; /* 0 */
} davit_align_scoring;

/* A substitution matrix by name. */
typedef struct davit_align_matrix {
  char name[16];
  int symbols;
  char letters[DAVIT_ALIGN_SYMBOLS_MAXIMUM + 1]; /* of the symbols, upper case, with a final 0 */
  uint8_t code[256]; /* the symbol of a letter, either case, or DAVIT_ALIGN_NO_SYMBOL */
  int8_t scores[DAVIT_ALIGN_SYMBOLS_MAXIMUM * DAVIT_ALIGN_SYMBOLS_MAXIMUM]; /* for davit_align_scoring */
  uint64_t reserved[4];                                                     /* 0 */
} davit_align_matrix;

/* Finds a matrix by name: BLOSUM45, BLOSUM50, BLOSUM62, BLOSUM80, BLOSUM90, PAM30, PAM70, PAM250 (amino acids) or
 * NUC.4.4 (bases). Only letters and digits count, in upper or lower case. An unknown name is DAVIT_INVALID_ARGUMENT,
 * and the sentence lists all names. The matrices of amino acids are NCBI's older revision: 24 letters, without J, and
 * the score of X depends on the other letter (in BLOSUM62 it is 0, -1 or -2; in the tables inside BLAST -1 throughout).
 * BLOSUM80 is in thirds of a bit, BLAST's in halves. */
DAVIT_API davit_status davit_align_matrix_find(const char *name, davit_align_matrix *matrix);

/* Lists all matrices: writes at most `capacity` to `matrices` (NULL allowed with capacity 0) and the full number to
 * `count`. */
DAVIT_API davit_status davit_align_matrix_list(int capacity, davit_align_matrix *matrices, int *count);

/* Sequence k is symbols[offsets[k]] … symbols[offsets[k + 1] - 1]; it may be empty. Host memory. */
typedef struct davit_align_sequences {
  int64_t count;
  const int64_t *offsets; /* count + 1 */
  const uint8_t *symbols;
} davit_align_sequences;

/* Targets prepared for searching, in the memory of the devices. */
typedef struct davit_align_database davit_align_database;

typedef struct davit_align_database_options {
  const int *devices; /* device numbers, DAVIT_HOST allowed; NULL: davit_device_defaults() */
  int device_count;   /* 0 with devices = NULL */
  size_t
      cache_bytes; /* maximum memory for targets on each device; 0: 80 % of what is free, 1 GiB where that is
                           unknown. The CPU has no limit */
  uint64_t reserved[3]; /* 0 */
} davit_align_database_options;

/* Copies `targets`, whose symbols are below `symbols`, to the devices, a share to each. `targets` may be freed after
 * the call. Targets that do not fit `cache_bytes` of a device stay in the host's memory; every query loads them part by
 * part, each while the device searches the part before. Results do not depend on that. Memory of the host: 9 bytes a
 * target and its symbols; targets that do not fit are pinned if possible. DAVIT_OUT_OF_DEVICE_MEMORY: `cache_bytes`, or
 * the free memory, is less than two of the longest targets take. */
DAVIT_API davit_status davit_align_database_create(const davit_align_sequences *targets, int symbols,
                                                   davit_align_database **database,
                                                   const davit_align_database_options *options);

/* NULL is no error. */
DAVIT_API davit_status davit_align_database_destroy(davit_align_database *database);

/* scores[k] becomes the score of the query, which has m symbols, with target k. Host memory. The query may be NULL if
 * `scoring` has a profile. */
DAVIT_API davit_status davit_align_scores(davit_align_database *database, const davit_align_scoring *scoring,
                                          int64_t m, const uint8_t *query, int32_t *scores);

typedef struct davit_align_hit {
  int64_t target;
  int32_t score;
} davit_align_hit;

/* Finds the `top` best targets with a score above 0. hits[top] gets them, best first; of equal scores the earlier
 * target comes first. *found becomes their number, at most `top`. */
DAVIT_API davit_status davit_align_search(davit_align_database *database, const davit_align_scoring *scoring,
                                          int64_t m, const uint8_t *query, int64_t top, davit_align_hit *hits,
                                          int64_t *found);

/* Which stretches of the query and the target are aligned.
 * LOCAL: the two that score best.
 * GLOBAL: the whole of both.
 * SEMIGLOBAL: the two that score best among those that begin where the query or the target begins, end where the query
 * or the target ends, and are not empty (also called overlap alignment: gaps before and behind cost nothing).
 * EXTENSION, only for davit_align_pairs(): the two that score best among those that begin where both begin, as after a
 * seed. */
typedef enum davit_align_mode {
  DAVIT_ALIGN_LOCAL,
  DAVIT_ALIGN_GLOBAL,
  DAVIT_ALIGN_SEMIGLOBAL,
  DAVIT_ALIGN_EXTENSION
} davit_align_mode;

typedef struct davit_align_trace_options {
  const int *devices;    /* device numbers, DAVIT_HOST allowed; NULL: davit_device_defaults() */
  int device_count;      /* 0 with devices = NULL */
  davit_align_mode mode; /* DAVIT_ALIGN_LOCAL */
  uint64_t reserved[4];  /* 0 */
} davit_align_trace_options;

/* One alignment: query symbols [query_begin, query_end) with target symbols [target_begin, target_end). */
typedef struct davit_align_result {
  int32_t score;
  int32_t banded; /* 1: the best of those within a band, which leaves out a part of the matrix; else 0 */
  int64_t query_begin, query_end;
  int64_t target_begin, target_end;
  int64_t cigar;        /* davit_align_pairs(): where its string begins in *cigars; else 0 */
  int32_t dropped;      /* 1: an X-drop has ended it before the end of the query or the target; else 0 */
  uint32_t reserved[1]; /* 0 */
} davit_align_result;

/* The best alignment of a pair, in memory linear in m + n. Long pairs are aligned on the first NVIDIA device of the
 * options if that is faster, all others on the host; the result is the same. Of several local alignments with the same
 * score the result is one that ends first in the target, then in the query. If `cigar` is not NULL, *cigar becomes the
 * alignment's columns as a string: runs of '=' (equal symbols), 'X' (different symbols), 'I' (query symbols without
 * target symbols) and 'D' (target symbols without query symbols), such as "12=1X3I5=". Free it with davit_free(). An
 * empty local or semiglobal alignment has score 0, empty stretches at 0 and the string "". Lengths and penalties for
 * which a global score may fall below -(2^31 - 1) are DAVIT_INVALID_ARGUMENT. Source of the other modes: S. B.
 * Needleman and C. D. Wunsch, A General Method Applicable to the Search for Similarities (1970), with Gotoh's gaps. */
DAVIT_API davit_status davit_align_trace(const davit_align_scoring *scoring, int64_t m, const uint8_t *query,
                                         int64_t n, const uint8_t *target, davit_align_result *result,
                                         char **cigar, const davit_align_trace_options *options);

typedef struct davit_align_pairs_options {
  const int *devices;    /* device numbers, DAVIT_HOST allowed; NULL: davit_device_defaults() */
  int device_count;      /* 0 with devices = NULL */
  davit_align_mode mode; /* DAVIT_ALIGN_LOCAL */
  int64_t band;          /* 0: all alignments count; w > 0: those within w diagonals, see below */
  int64_t x_drop; /* of extensions; 0: none; X > 0: lower scores than the best - X are left, see below */
  uint64_t reserved[3]; /* 0 */
} davit_align_pairs_options;

/* Many pairs at once: query k with target k; there are as many queries as targets. Sequences may be empty. Outputs may
 * be NULL, but not both of the first two:
 *   scores[k]   the score of pair k
 *   results[k]  the alignment of pair k: if several have this score, the one that davit_align_trace() returns; an
 *               extension ends first in the target, then in the query, and its columns are those of a global alignment
 *   *cigars     only with `results`: the columns of all pairs in one block of memory, each as a string of its own, as
 *               davit_align_trace() returns it; the string of pair k is at *cigars + results[k].cigar. Free the block
 *               with davit_free().
 *
 * `band` leaves out the cells (i, j) of the matrix, after i query and j target symbols, with j - i < min(0, n - m) -
 * band or j - i > max(0, n - m) + band. The result is the best alignment that passes through none of these, by the same
 * rule for equal scores; its `banded` is 1 if the band leaves out a part of the matrix.
 *
 * `x_drop`, only for extensions, leaves out cells whose score has dropped. Cell (i, j) counts if the best alignment
 * from the beginnings to it, through cells that count, scores at least B - X, where B is the best score of all cells
 * (i', j') that count with i' + j' < i + j. So each X has one result, whatever computes it; with a large X it is the
 * result without X-drop. An extension ends where no cell counts any more; `dropped` is 1 if no cell with i = m or j = n
 * counted. An X-drop may be combined with a band. Source: Z. Zhang, S. Schwartz, L. Wagner and W. Miller, A Greedy
 * Algorithm for Aligning DNA Sequences (2000), with Gotoh's gaps.
 *
 * Use it for many pairs of some hundreds of symbols: each pair is the work of one thread. The NVIDIA devices of the
 * options compute together if that is faster, otherwise the host does; the results are the same. Extensions with an
 * X-drop of more than 89 gap_extend run on the host.
 *
 * Operands are host memory of any kind. Memory of the host: 56 bytes a pair (4 if devices compute only scores), up to
 * 16 MiB for each thread (84 MiB with a band), and the strings twice. A banded pair whose scores may exceed 16 bits, or
 * whose band has more than 2^22 cells, takes 1.3 bytes for each cell of its band and 150 for each symbol; a pair without a
 * band of more than 2^20 cells what davit_align_trace() needs on one thread; extensions with an X-drop and strings up to
 * 16 bytes for each cell that counts in one of 16 pairs.
 * With devices: up to 72 MiB of pinned memory for each of up to eight lanes a device, and at most 80 % of each device's
 * free memory: 1 GiB a lane for pairs of 150 with 300. Longer sequences are staged in larger buffers. */
DAVIT_API davit_status davit_align_pairs(const davit_align_scoring *scoring,
                                         const davit_align_sequences *queries,
                                         const davit_align_sequences *targets, int32_t *scores,
                                         davit_align_result *results, char **cigars,
                                         const davit_align_pairs_options *options);

#ifdef __cplusplus
}
#endif
#endif
