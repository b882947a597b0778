/* Alignment on the CPU, a target in each lane of a vector: a text for one type of scores, int8_t or int16_t, included by
 * align.c with the parameters of lanes.h.
 *
 * A row of the recurrence is a symbol of each target, a column one of the query. What the symbols of a row score against
 * every symbol of the alphabet is looked up once, before the row is gone through. */
#include "offload/lanes.h"

#define LANES DVT_N(LANES)
#define ROWS DVT_N(ROWS)

/* Lanes first … first + LANES - 1 of the rows of a batch, all columns; `best` is not exact where it passes the type's largest
 * value less the matrix's. `memory` as bytes_of(). */
static inline __attribute__((always_inline)) void DVT_N(batch)(const query_tables *t, const uint8_t *rows,
                                                               int64_t count, int first, void *memory,
                                                               DVT_N(lanes) * best) {
  const DVT_T most = (DVT_T)((1U << (8 * sizeof(DVT_T) - 1)) - 1);
  const davit_scoring *s = t->query->scoring;
  const DVT_T open = (DVT_T)(s->gap_open < most ? s->gap_open : most),
              extend = (DVT_T)(s->gap_extend < most ? s->gap_extend : most);
  DVT_N(lanes) *tables = memory;
  DVT_N(borders) *border = (DVT_N(borders) *)(tables + ROWS * DAVIT_ALIGN_MOST_SYMBOLS);
  const DVT_N(lanes) * row[ROWS];
  *best = (DVT_N(lanes)){0};
  DVT_N(clear)(t->query->m, border);
  for (int64_t i = 0; i < count; i += ROWS) {
    const int here = count - i < ROWS ? (int)(count - i) : ROWS;
    for (int k = 0; k < here; k++) {
      int8_t narrow[DAVIT_ALIGN_MOST_SYMBOLS * DVT_ALIGN_LANES] __attribute__((aligned(64)));
      t->look_up(t, rows + (i + k) * DVT_ALIGN_LANES, narrow);
      DVT_T *wide = (DVT_T *)(tables + k * DAVIT_ALIGN_MOST_SYMBOLS);
      for (int q = 0; q < s->symbols; q++)
        for (int l = 0; l < LANES; l++)
          wide[q * LANES + l] = narrow[q * DVT_ALIGN_LANES + first + l];
      row[k] = tables + k * DAVIT_ALIGN_MOST_SYMBOLS;
    }
    if (here == ROWS)
      DVT_N(rows)(t->query->m, row, t->query->symbols, open, extend, border, best, ROWS);
    else
      for (int k = 0; k < here; k++)
        DVT_N(rows)(t->query->m, row + k, t->query->symbols, open, extend, border, best, 1);
  }
}

#define VARIANT(number, attributes)                                                                          \
  attributes static void DVT_N(batch_##number)(const query_tables *t, const uint8_t *rows, int64_t count,    \
                                               int first, void *memory, int32_t *best) {                     \
    DVT_N(lanes) narrow;                                                                                     \
    DVT_N(batch)(t, rows, count, first, memory, &narrow);                                                    \
    for (int l = 0; l < LANES; l++)                                                                          \
      best[first + l] = narrow[l];                                                                           \
  }
DVT_CPU_VARIANTS(VARIANT)
#undef VARIANT

static const batch_function DVT_N(batches)[] = {
#define VARIANT(number, attributes) DVT_N(batch_##number),
    DVT_CPU_VARIANTS(VARIANT)
#undef VARIANT
};

#undef LANES
#undef ROWS
#undef DVT_T
#undef DVT_N
#undef DVT_OPEN
#undef DVT_MATCH
#undef DVT_SCORE
