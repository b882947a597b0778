/* Alignment on the CPU of one pair, the query striped over the lanes of vectors (M. Farrar, Striped Smith-Waterman Speeds Database
 * Searches Six Times over Other SIMD Implementations, 2007): a text for one type of scores, int16_t or int32_t. Included with
 *   DVT_T           the type of scores
 *   DVT_N(name)     the name for that type
 *   DVT_OPEN(h, o)  h - o, or 0 where that is negative
 * and a constant STRETCH, of symbols.
 *
 * Lane l holds symbols l `steps` … (l + 1) `steps` - 1 of the query. Gaps along the query that pass from lane to lane are
 * made good after each symbol of the target, which is seldom more than a few steps. */

enum { DVT_N(LANES) = 64 / (int)sizeof(DVT_T) };
typedef DVT_T DVT_N(lanes) __attribute__((vector_size(64)));

typedef struct DVT_N(striped) {
  int64_t steps;
  DVT_N(lanes) * profile; /* steps for each symbol */
  DVT_N(lanes) * h, *e;
} DVT_N(striped);

/* One lane up; 0 comes into the first. */
static inline __attribute__((always_inline)) void DVT_N(shift)(DVT_N(lanes) * v) {
  DVT_T moved[DVT_N(LANES) + 1];
  moved[0] = 0;
  memcpy(moved + 1, v, sizeof *v);
  memcpy(v, moved, sizeof *v);
}

static inline __attribute__((always_inline)) bool DVT_N(any)(const DVT_N(lanes) * a, const DVT_N(lanes) * b) {
  return __builtin_reduce_or(*a > *b) != 0;
}

/* f, come out of the last step, goes on in the next lanes as long as it matters. */
static inline __attribute__((always_inline)) void DVT_N(go_on)(const DVT_N(striped) * s, DVT_T gap_open,
                                                               DVT_T gap_extend, DVT_N(lanes) * rest) {
  const DVT_N(lanes) open = (DVT_N(lanes)){0} + gap_open, extend = (DVT_N(lanes)){0} + gap_extend;
  for (int lane = 0; lane < DVT_N(LANES); lane++) {
    DVT_N(shift)(rest);
    for (int64_t j = 0; j < s->steps; j++) {
      const DVT_N(lanes) gap = DVT_OPEN(s->h[j], open);
      if (!DVT_N(any)(rest, &gap))
        return;
      s->h[j] = __builtin_elementwise_max(s->h[j], *rest);
      *rest -= extend;
    }
  }
}

/* The next symbol of the target. Scores of the last one are overwritten where they were read: of a long query each array is one more
 * that comes from the second cache. */
static inline __attribute__((always_inline)) void
DVT_N(advance)(DVT_N(striped) * s, int symbol, DVT_T gap_open, DVT_T gap_extend, DVT_N(lanes) * best) {
  const DVT_N(lanes) open = (DVT_N(lanes)){0} + gap_open, extend = (DVT_N(lanes)){0} + gap_extend,
                     *match = s->profile + symbol * s->steps;
  DVT_N(lanes) h = s->h[s->steps - 1], f = {0}, most = *best;
  DVT_N(shift)(&h);
  for (int64_t j = 0; j < s->steps; j++) {
    const DVT_N(lanes) e = s->e[j], before = s->h[j];
    h = __builtin_elementwise_max(__builtin_elementwise_max(h + match[j], e), f);
    most = __builtin_elementwise_max(most, h);
    s->h[j] = h;
    const DVT_N(lanes) gap = DVT_OPEN(h, open);
    s->e[j] = __builtin_elementwise_max(e - extend, gap);
    f = __builtin_elementwise_max(f - extend, gap);
    h = before;
  }
  *best = most;
  DVT_N(go_on)(s, gap_open, gap_extend, &f);
}

static inline __attribute__((always_inline)) void DVT_N(prepare)(DVT_N(striped) * s,
                                                                 const dvt_align_query *query, void *memory) {
  const davit_scoring *scoring = query->scoring;
  s->steps = (query->m + DVT_N(LANES) - 1) / DVT_N(LANES);
  s->profile = memory;
  s->h = s->profile + scoring->symbols * s->steps;
  s->e = s->h + s->steps;
  memset(s->h, 0, 2 * (size_t)s->steps * sizeof *s->h);
  for (int t = 0; t < scoring->symbols; t++)
    for (int64_t j = 0; j < s->steps; j++)
      for (int64_t l = 0, q = j; l < DVT_N(LANES); l++, q += s->steps)
        ((DVT_T *)&s->profile[t * s->steps + j])[l] =
            q < query->m ? scoring->matrix[query->symbols[q] + t * scoring->symbols] : 0;
}

/* The score, not exact where it passes the type's largest value less the matrix's: words of 16 bits then stop within STRETCH
 * symbols, as the pair is done again. `memory` as bytes_of(). */
static inline __attribute__((always_inline)) int32_t DVT_N(pair)(const dvt_align_query *query, int64_t n,
                                                                 const uint8_t *target, void *memory) {
  const DVT_T largest = (DVT_T)((1U << (8 * sizeof(DVT_T) - 1)) - 1);
  const davit_scoring *scoring = query->scoring;
  const DVT_T open = (DVT_T)(scoring->gap_open < largest ? scoring->gap_open : largest),
              extend = (DVT_T)(scoring->gap_extend < largest ? scoring->gap_extend : largest);
  DVT_N(striped) s;
  DVT_N(lanes) best = {0};
  DVT_N(prepare)(&s, query, memory);
  for (int64_t i = 0; i < n; i++) {
    if (sizeof(DVT_T) == 2 && i % STRETCH == 0 && __builtin_reduce_max(best) > largest - query->largest)
      break;
    DVT_N(advance)(&s, target[i], open, extend, &best);
  }
  return __builtin_reduce_max(best);
}

#define VARIANT(number, attributes)                                                                          \
  attributes static int32_t DVT_N(pair_##number)(const dvt_align_query *query, int64_t n,                    \
                                                 const uint8_t *target, void *memory) {                      \
    return DVT_N(pair)(query, n, target, memory);                                                            \
  }
DVT_CPU_VARIANTS(VARIANT)
#undef VARIANT

static const pair_function DVT_N(pairs)[] = {
#define VARIANT(number, attributes) DVT_N(pair_##number),
    DVT_CPU_VARIANTS(VARIANT)
#undef VARIANT
};

#undef DVT_T
#undef DVT_N
#undef DVT_OPEN
