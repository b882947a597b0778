/* SPDX-License-Identifier: Apache-2.0 */
/* What cells of pairs side by side score, each lane by its own two symbols: of a column, or of an anti-diagonal. */
#ifndef DAVIT_OFFLOAD_ALIGN_PAIRS_SCORES_H
#define DAVIT_OFFLOAD_ALIGN_PAIRS_SCORES_H

#include "ref/align_pair.h"

enum {
  DVT_PAIR_LANES = 16,
  DVT_PAIR_ROWS = 16 /* that are looked up together */
};

/* Whether they are few: the square of their number fits the table of two shuffles. */
static inline bool dvt_pair_few(const davit_align_scoring *scoring) {
  return scoring->symbols <= 5;
}

/* Members up to `few` are set by the owner, and `queries` and `targets` to memory. */
typedef struct dvt_pair_symbols {
  const davit_align_scoring *scoring;
  const dvt_pair_part *parts;
  int count;        /* of the parts */
  int64_t m, n;     /* of the longest query and target */
  bool across;      /* for anti-diagonals */
  bool few;         /* symbols */
  uint8_t *queries; /* few symbols: of each row for all lanes; else 16 rows of a lane, then of the next */
  uint8_t *
      targets; /* of each column for all lanes, across: the last one first; few symbols: times their number */
  int8_t table[DAVIT_ALIGN_SYMBOLS_MAXIMUM + 1]
              [32]; /* few symbols: 32 entries; else those of a target's symbol */
} dvt_pair_symbols;

/* Bytes of `queries` and `targets`, multiples of 64. */
size_t dvt_pair_query_bytes(int64_t m);
size_t dvt_pair_target_bytes(int64_t n);

/* Fills them and the table. */
void dvt_pair_fill_symbols(dvt_pair_symbols *s);

/* What rows `from` … `to` of column j score, those of all lanes from scores + i DVT_PAIR_LANES on; and perhaps some
 * rows more, up to the ends of the blocks of 16 rows from row 1 on, or one more. Rows and columns that a lane does not
 * have score 0. */
void dvt_pair_look_up(const dvt_pair_symbols *s, int64_t j, int64_t from, int64_t to, int8_t *scores);

/* The same of cells i, number - i for 0 <= number - i <= n; `few` and `across`. */
void dvt_pair_look_up_across(const dvt_pair_symbols *s, int64_t number, int64_t from, int64_t to,
                             int8_t *scores);

#endif
