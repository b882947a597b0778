/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of local alignment on the CPU, cell by cell, with one column of the matrix at a time: h[i] is the
 * score of query symbol i with the target symbol of the column, e[i] the gap of query symbol i that goes on
 * in the next one. Cost: m n cells, 8 m bytes. */
#include "ref/cell.h"
#include "ref/ref.h"

int32_t dvt_ref_align_score(const davit_align_scoring *scoring, int64_t m, const uint8_t *query, int64_t n,
                            const uint8_t *target, int32_t *scratch) {
  int32_t *h = scratch, *e = scratch + m, best = 0;
  for (int64_t i = 0; i < 2 * m; i++)
    scratch[i] = 0;
  for (int64_t j = 0; j < n; j++) {
    const int8_t *column = scoring->matrix + (int64_t)target[j] * scoring->symbols;
    int32_t diagonal = 0, f = 0;
    for (int64_t i = 0; i < m; i++) {
      const int32_t matched = diagonal + column[query[i]];
      diagonal = h[i];
      h[i] = dvt_int_cell(matched, scoring->gap_open, scoring->gap_extend, &e[i], &f, &best);
    }
  }
  return best;
}
