/* Tiles of an alignment's matrix on the CPU: a text for one type of scores, int16_t, int32_t or int64_t, included by align_tile.c with
 *   DVT_T        the type of scores
 *   DVT_N(name)  the name for that type
 *
 * The rows of a strip are striped over the lanes of vectors: lane l has rows l `vectors` … (l + 1) `vectors` - 1. A column is gone
 * through in two turns: first as if no gap of query symbols came from lane to lane, then with the gaps that do. What comes into a lane is
 * what leaves the one before, unless a gap passes through a whole lane; then the best of all lanes before is found by doubling the
 * distance. So every score is exact, those of gaps included, at a cost that hardly depends on them: 13 vector operations for a cell of
 * each lane, 7 of them maxima.
 *
 * Rows beyond those of the strip score 0 with every symbol. They lie below all others, so nothing depends on them, and of the cells with
 * one score none of theirs is the first. */

#define LANES DVT_N(LANES)
#define INLINE static inline __attribute__((always_inline))

enum { LANES = 64 / (int)sizeof(DVT_T) };
typedef DVT_T DVT_N(lanes) __attribute__((vector_size(64)));
typedef uint8_t DVT_N(bytes) __attribute__((vector_size(64 / sizeof(DVT_T))));

/* A tile at work; scores count from `base`. */
typedef struct DVT_N(work) {
  const dvt_align_tile *tile;
  stripes shape;
  int64_t base;
  DVT_T none; /* less than any score */
  DVT_T bar;  /* the best score so far */
  DVT_T gap;  /* of query symbols: what comes from above, then what goes on below */
  DVT_N(lanes) open, extend, least;
  DVT_N(lanes) whole;      /* what a gap loses in a lane, */
  DVT_N(lanes) slope;      /* and from lane 0 to each */
  DVT_N(lanes) h[VECTORS]; /* of the column, */
  DVT_N(lanes) d[VECTORS];
  DVT_N(lanes) notes[VECTORS]; /* and its steps */
  DVT_N(lanes) most;           /* the best of the column */
  DVT_N(lanes) top[VECTORS];   /* h of the column that has the best score so far */
  DVT_N(lanes) profile[DAVIT_ALIGN_MOST_SYMBOLS * VECTORS]; /* `vectors` for each symbol of targets */
} DVT_N(work);

/* So many lanes up; `first` comes into the lowest. */
INLINE void DVT_N(shift)(DVT_N(lanes) * v, const int lanes, DVT_T first) {
  DVT_N(lanes) moved = (DVT_N(lanes)){0} + first;
#pragma unroll
  for (int l = lanes; l < LANES; l++)
    moved[l] = (*v)[l - lanes];
  *v = moved;
}

INLINE bool DVT_N(any)(const DVT_N(lanes) * a, const DVT_N(lanes) * b) {
  return __builtin_reduce_or(*a > *b) != 0;
}

INLINE DVT_T DVT_N(relative)(const DVT_N(work) * w, int64_t score) {
  return (DVT_T)dvt_at_least(score - w->base, w->none);
}

/* ---- a column ---- */

/* The first turn; *gap is what leaves each lane. */
INLINE void DVT_N(turn)(DVT_N(work) * w, const DVT_N(lanes) * match, DVT_T corner, const bool noting,
                        DVT_N(lanes) * gap) {
  const DVT_N(lanes) open = w->open, extend = w->extend, least = w->least;
  const int vectors = w->shape.vectors;
  DVT_N(lanes) diagonal = w->h[vectors - 1], passing = (DVT_N(lanes)){0} + w->none;
  DVT_N(shift)(&diagonal, 1, corner);
  for (int k = 0; k < vectors; k++) {
    const DVT_N(lanes) before = w->h[k], longer = w->d[k] - extend, opened = before - open;
    const DVT_N(lanes) down = __builtin_elementwise_max(longer, opened), both = diagonal + match[k];
    const DVT_N(lanes) rest = __builtin_elementwise_max(__builtin_elementwise_max(both, least), down);
    const DVT_N(lanes) here = __builtin_elementwise_max(rest, passing);
    w->d[k] = down;
    w->h[k] = here;
    if (noting)
      w->notes[k] = ((here > rest) & DVT_ALIGN_I) | ((here == rest) & (rest > both) & DVT_ALIGN_D) |
                    ((longer > opened) & DVT_ALIGN_D_EXTENDS);
    passing = __builtin_elementwise_max(passing - extend, rest - open);
    diagonal = before;
  }
  *gap = passing;
}

/* Of the gaps that come into the lanes from the one before, the best from any before. */
INLINE void DVT_N(pass_on)(const DVT_N(work) * w, DVT_N(lanes) * gap) {
  *gap += w->slope;
#pragma unroll
  for (int distance = 1; distance < LANES; distance *= 2) {
    DVT_N(lanes) from = *gap;
    DVT_N(shift)(&from, distance, w->none);
    *gap = __builtin_elementwise_max(*gap, from);
  }
  *gap -= w->slope;
}

/* The second turn, with the gaps that come into the lanes; they become what is left of them behind. */
INLINE void DVT_N(turn_again)(DVT_N(work) * w, const bool noting, DVT_N(lanes) * gap) {
  const DVT_N(lanes) open = w->open, extend = w->extend;
  DVT_N(lanes) passing = *gap, most = w->h[0];
  for (int k = 0; k < w->shape.vectors; k++) {
    const DVT_N(lanes) before = w->h[k], here = __builtin_elementwise_max(before, passing);
    w->h[k] = here;
    most = __builtin_elementwise_max(most, here);
    const DVT_N(lanes) longer = passing - extend, opened = here - open;
    if (noting)
      w->notes[k] = (w->notes[k] & ~((passing > before) & DVT_ALIGN_ORIGIN)) |
                    ((passing > before) & DVT_ALIGN_I) | ((longer > opened) & DVT_ALIGN_I_EXTENDS);
    /* What opens in the lane has been reckoned with, but not noted. */
    passing = noting ? __builtin_elementwise_max(longer, opened) : longer;
  }
  w->most = most;
  *gap = passing;
}

INLINE void DVT_N(advance)(DVT_N(work) * w, const DVT_N(lanes) * match, DVT_T corner, const bool noting) {
  DVT_N(lanes) gap;
  DVT_N(turn)(w, match, corner, noting, &gap);
  const DVT_N(lanes) leaving = gap;
  DVT_N(shift)(&gap, 1, w->gap);
  const DVT_N(lanes) through = gap - w->whole;
  if (DVT_N(any)(&through, &leaving))
    DVT_N(pass_on)(w, &gap);
  DVT_N(turn_again)(w, noting, &gap);
  w->gap = gap[LANES - 1] > leaving[LANES - 1] ? gap[LANES - 1] : leaving[LANES - 1];
}

/* ---- what goes in and out ---- */

/* Places of the strip's rows among the words of its vectors. */
INLINE int64_t DVT_N(place)(const DVT_N(work) * w, int64_t row) {
  return row % w->shape.vectors * LANES + row / w->shape.vectors;
}

INLINE void DVT_N(take)(DVT_N(work) * w) {
  const dvt_align_tile *t = w->tile;
  DVT_T *h = (DVT_T *)w->h, *d = (DVT_T *)w->d;
  for (int l = 0, row = 0; l < LANES; l++)
    for (int k = 0; k < w->shape.vectors; k++, row++) {
      h[k * LANES + l] = row < t->rows ? DVT_N(relative)(w, t->h[t->row + 1 + row]) : w->none;
      d[k * LANES + l] = row < t->rows ? DVT_N(relative)(w, t->d[t->row + 1 + row]) : w->none;
    }
}

INLINE void DVT_N(leave)(const DVT_N(work) * w) {
  const dvt_align_tile *t = w->tile;
  const DVT_T *h = (const DVT_T *)w->h, *d = (const DVT_T *)w->d;
  for (int l = 0, row = 0; l < LANES; l++)
    for (int k = 0; k < w->shape.vectors && row < t->rows; k++, row++) {
      t->h[t->row + 1 + row] = w->base + h[k * LANES + l];
      t->d[t->row + 1 + row] = w->base + d[k * LANES + l];
    }
}

INLINE void DVT_N(write_steps)(const DVT_N(work) * w, int64_t column) {
  const stripes *shape = &w->shape;
  uint8_t *steps = w->tile->steps + place_of(w->tile->s, w->tile->row, shape, column);
  for (int k = 0; k < shape->vectors; k++) {
    const DVT_N(bytes) narrow = __builtin_convertvector(w->notes[k], DVT_N(bytes));
    memcpy(steps + k * shape->lanes, &narrow, sizeof narrow);
  }
}

INLINE void DVT_N(note_best)(const DVT_N(work) * w, int64_t column) {
  const dvt_align_tile *t = w->tile;
  const DVT_T *top = (const DVT_T *)w->top;
  int64_t row = 0;
  while (top[DVT_N(place)(w, row)] != w->bar)
    row++;
  const dvt_align_cell found = {w->base + w->bar, t->row + 1 + row, column};
  if (dvt_align_better(&found, t->best))
    *t->best = found;
}

/* ---- a tile ---- */

INLINE void DVT_N(fill_profile)(DVT_N(work) * w) {
  const dvt_align_tile *t = w->tile;
  const int count = w->shape.vectors * LANES, symbols = t->costs->symbols;
  uint8_t query[VECTORS * LANES];
  memset(query, DAVIT_ALIGN_MOST_SYMBOLS, sizeof query);
  for (int64_t row = 0; row < t->rows; row++)
    query[DVT_N(place)(w, row)] = t->s->query[(t->row + row) * t->s->step];
  for (int k = 0; k < symbols; k++) {
    int8_t column[DAVIT_ALIGN_MOST_SYMBOLS + 1] = {0};
    DVT_T *profile = (DVT_T *)(w->profile + k * w->shape.vectors);
    memcpy(column, t->costs->matrix + k * symbols, (size_t)symbols);
    for (int at = 0; at < count; at++)
      profile[at] = column[query[at]];
  }
}

INLINE void DVT_N(prepare)(DVT_N(work) * w, const dvt_align_tiling *tiling, const dvt_align_tile *t) {
  const DVT_N(lanes) zero = {0};
  w->tile = t;
  w->shape = stripes_of(tiling, t->rows);
  w->none = (DVT_T)-tiling->span;
  w->open = zero + (DVT_T)(t->costs->first + t->costs->extend);
  w->extend = zero + (DVT_T)t->costs->extend;
  w->whole = zero + (DVT_T)(w->shape.vectors * t->costs->extend);
  for (int l = 0; l < LANES; l++)
    w->slope[l] = (DVT_T)(l * w->shape.vectors * t->costs->extend);
  DVT_N(fill_profile)(w);
}

/* Whether the column is better than those before. */
INLINE bool DVT_N(is_better)(DVT_N(work) * w) {
  const DVT_N(lanes) bar = (DVT_N(lanes)){0} + w->bar;
  if (!DVT_N(any)(&w->most, &bar))
    return false;
  w->bar = __builtin_reduce_max(w->most);
  memcpy(w->top, w->h, (size_t)w->shape.vectors * sizeof *w->top);
  return true;
}

/* Scores count from the corner before column `first`. Cells that score as much as the best may be better if that is in the columns
 * to come. */
INLINE void DVT_N(begin)(DVT_N(work) * w, int64_t first, int64_t corner) {
  const dvt_align_cell *best = w->tile->best;
  const int64_t largest = (int64_t)((UINT64_C(1) << (8 * sizeof(DVT_T) - 1)) - 1);
  w->base = corner;
  w->least = (DVT_N(lanes)){0} + DVT_N(relative)(w, w->tile->least);
  w->bar = (DVT_T)dvt_at_most(dvt_at_least(best->score - (best->column >= first) - corner, w->none), largest);
  DVT_N(take)(w);
}

/* Columns first … last, from the corner *corner, which becomes that of the columns behind. */
INLINE void DVT_N(go)(DVT_N(work) * w, int64_t first, int64_t last, int64_t *corner, const bool noting) {
  const dvt_align_tile *t = w->tile;
  const int vectors = w->shape.vectors;
  int64_t best_column = 0;
  DVT_T before = 0;
  DVT_N(begin)(w, first, *corner);
  for (int64_t j = first; j <= last; j++) {
    const int64_t at = j - t->first;
    const DVT_T above = DVT_N(relative)(w, t->above->h[at]);
    w->gap = DVT_N(relative)(w, t->above->gap[at]);
    DVT_N(advance)(w, w->profile + t->s->target[(j - 1) * t->s->step] * vectors, before, noting);
    t->below->h[at] = w->base + w->h[vectors - 1][LANES - 1];
    t->below->gap[at] = w->base + w->gap;
    before = above;
    if (noting)
      DVT_N(write_steps)(w, j);
    if (DVT_N(is_better)(w))
      best_column = j;
  }
  *corner = w->base + before;
  DVT_N(leave)(w);
  if (best_column > 0)
    DVT_N(note_best)(w, best_column);
}

INLINE void DVT_N(tile)(const dvt_align_tiling *tiling, const dvt_align_tile *t, const bool noting) {
  DVT_N(work) w;
  int64_t corner = t->corner;
  DVT_N(prepare)(&w, tiling, t);
  for (int64_t first = t->first; first <= t->last; first += tiling->reach)
    DVT_N(go)(&w, first, dvt_at_most(first + tiling->reach - 1, t->last), &corner, noting);
}

#define VARIANT(number, attributes)                                                                          \
  attributes static void DVT_N(tile_##number)(const dvt_align_tiling *tiling, const dvt_align_tile *t) {     \
    if (t->steps)                                                                                            \
      DVT_N(tile)(tiling, t, true);                                                                          \
    else                                                                                                     \
      DVT_N(tile)(tiling, t, false);                                                                         \
  }
DVT_CPU_VARIANTS(VARIANT)
#undef VARIANT

static const tile_function DVT_N(tiles)[] = {
#define VARIANT(number, attributes) DVT_N(tile_##number),
    DVT_CPU_VARIANTS(VARIANT)
#undef VARIANT
};

#undef INLINE
#undef LANES
#undef DVT_T
#undef DVT_N
