/* Local alignment on the CPU with an alignment in each lane of a vector: rows of the recurrence, a text for one type of
 * scores. Included with
 *   DVT_T              the type of scores: int8_t, int16_t, int32_t or float
 *   DVT_N(name)        the name for that type
 *   DVT_OPEN(h, o)     what a gap that opens is worth, and
 *   DVT_MATCH(x)       what a match is worth: one of them is 0 where it would be less
 *   DVT_SCORE(row, at, j)  the similarities in column j of a row for all lanes
 *
 * ROWS rows are worked on together, so that what passes from row to row through memory is touched once for ROWS cells. Cost of a
 * cell for all lanes: 9 vector operations, or 10, and the load of the similarities. With integers gaps never count for less than
 * 0, which changes no score, comes with the saturating subtraction, and spares the comparison of each cell with 0; of the 9 the 6
 * that are no plain addition go to the one or two ports of an x86 core that have such units, which is the bound. With float the chain
 * from cell to cell is, so there the comparison is kept out of it. */

enum { DVT_N(LANES) = 64 / (int)sizeof(DVT_T), DVT_N(ROWS) = 4 };
typedef DVT_T DVT_N(lanes) __attribute__((vector_size(64)));

typedef struct DVT_N(borders) {
  DVT_N(lanes) h, f; /* of the row before: scores, and gaps that go down from it */
} DVT_N(borders);

/* Rows 0 … rows - 1; *so_far is the best score of all so far. */
static inline __attribute__((always_inline)) void DVT_N(rows)(int64_t columns, const DVT_N(lanes) *const *row,
                                                              const uint8_t *at, DVT_T gap_open,
                                                              DVT_T gap_extend, DVT_N(borders) * border,
                                                              DVT_N(lanes) * so_far, const int rows) {
  (void)at; /* DVT_SCORE need not use it */
  const DVT_N(lanes) zero = {0}, open = zero + gap_open, extend = zero + gap_extend;
  DVT_N(lanes) left[DVT_N(ROWS)], e[DVT_N(ROWS)], corner = zero, best = *so_far;
#pragma unroll
  for (int k = 0; k < rows; k++)
    left[k] = e[k] = zero;
  for (int64_t j = 0; j < columns; j++) {
    DVT_N(lanes) diagonal = corner, h = border[j].h, f = border[j].f;
    corner = h;
#pragma unroll
    for (int k = 0; k < rows; k++) {
      h = __builtin_elementwise_max(DVT_MATCH(diagonal + DVT_SCORE(row[k], at, j)), e[k]);
      h = __builtin_elementwise_max(h, f);
      best = __builtin_elementwise_max(best, h);
      diagonal = left[k];
      left[k] = h;
      const DVT_N(lanes) gap = DVT_OPEN(h, open);
      e[k] = __builtin_elementwise_max(e[k] - extend, gap);
      f = __builtin_elementwise_max(f - extend, gap);
    }
    border[j].h = h;
    border[j].f = f;
  }
  *so_far = best;
}

static inline __attribute__((always_inline)) void DVT_N(clear)(int64_t columns, DVT_N(borders) * border) {
  for (int64_t j = 0; j < columns; j++)
    border[j].h = border[j].f = (DVT_N(lanes)){0};
}
