/* Local alignment on the CPU: Gotoh's recurrence, cell by cell, with one column of the matrix at a time.
 *
 * h[i] is the best score of an alignment that ends in query symbol i and the target symbol of the column (or is empty), e[i] that of one
 * that ends in a gap of the query. Scores below 0 are those of no alignment worth going on with, so all are kept at 0
 * or more, which no gap, however dear, can make overflow. */
#include "ref/ref.h"

static int32_t larger(int32_t a, int32_t b) {
  return a > b ? a : b;
}

int32_t dvt_ref_align_score(const davit_scoring *scoring, int64_t m, const uint8_t *query, int64_t n,
                            const uint8_t *target, int32_t *scratch) {
  const int32_t open = scoring->gap_open, extend = scoring->gap_extend;
  int32_t *h = scratch, *e = scratch + m + 1, best = 0;
  for (int64_t i = 0; i <= m; i++)
    h[i] = e[i] = 0;
  for (int64_t j = 0; j < n; j++) {
    const int8_t *column = scoring->matrix + (int64_t)target[j] * scoring->symbols;
    int32_t diagonal = 0, f = 0;
    for (int64_t i = 1; i <= m; i++) {
      e[i] = larger(0, larger(h[i] - open, e[i] - extend));
      f = larger(0, larger(h[i - 1] - open, f - extend));
      const int32_t both = diagonal + column[query[i - 1]];
      diagonal = h[i];
      h[i] = larger(both, larger(e[i], f));
      best = larger(best, h[i]);
    }
  }
  return best;
}
