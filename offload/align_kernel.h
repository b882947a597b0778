/* Local alignment on a GPU: a text for one type of scores and one width. Included, where DVT_GPU is defined, with
 *   DVT_WORD     the scores: dvt_pair (two alignments side by side in 16 bits each), float or int32_t
 *   DVT_FLOATS   where these are floats
 *   DVT_COLUMNS  columns of a thread, a multiple of 4
 *   DVT_SCORES   where profiles are of bytes: DVT_SCORES(a, b, k) makes the scores of bytes k of words of two rows
 *   DVT_SYMBOL   what strings are made of: uint8_t or uint16_t
 *   DVT_N(name)  the name for all that
 *
 * A string runs down the rows of the recurrence; a profile tells what each of its symbols scores in each column. `width` lanes of a
 * warp, a power of two, work on one string (two, of pairs): lane g has the columns from g DVT_COLUMNS on in registers, and is one row
 * behind lane g - 1, which passes it score and gap of its last column. Profiles lie in team memory, a row for each symbol and one
 * more of zeros, which is the symbol of rows before the first and after the last: zeros change no maximum.
 *
 * A row of a profile has a chunk for each lane: DVT_COLUMNS words, or as many bytes, padded to 16 or 32. In the latter the halves are
 * exchanged in the chunks of lanes 4 … 7 of each 8, so that 8 lanes that read a row read different banks.
 *
 * What costs time on Hopper, as measured: the unit that takes maxima (of two, of three, of a sum and another) and permutes bytes
 * has half of the full rate and is bound first, with 4.5 instructions for a pair of cells and 3.5 for a cell of floats. Sums alone
 * go to another unit. So
 *  - the best score is sought among matches, which is enough as gaps only cost: two cells share an instruction, and a sum that is
 *    used twice is not fused with one maximum where another could have taken three operands;
 *  - floats are compared as whole numbers, of which there are maxima of three. Where one is not negative that is right; of two
 *    negative ones the wrong one may be taken, but only what is above zero ever comes into a score. */

#define DVT_CHUNK DVT_N(CHUNK)
#ifdef DVT_SCORES
enum { DVT_CHUNK = DVT_COLUMNS <= 16 ? 16 : 32 };
#else
enum { DVT_CHUNK = DVT_COLUMNS * 4 };
#endif

/* What a lane keeps from row to row. */
typedef struct DVT_N(column_state) {
  DVT_WORD h[DVT_COLUMNS], f[DVT_COLUMNS], best;
  DVT_WORD corner;         /* the score left of the columns, in the row before */
  DVT_WORD last_h, last_e; /* of the last column: for the next lane */
} DVT_N(column_state);

DVT_INLINE DVT_WORD DVT_N(larger)(DVT_WORD a, DVT_WORD b) {
#ifdef DVT_FLOATS
  int32_t of_a, of_b;
  __builtin_memcpy(&of_a, &a, sizeof a);
  __builtin_memcpy(&of_b, &b, sizeof b);
  const int32_t most = __builtin_elementwise_max(of_a, of_b);
  __builtin_memcpy(&a, &most, sizeof a);
  return a;
#else
  return __builtin_elementwise_max(a, b);
#endif
}

DVT_INLINE DVT_WORD DVT_N(passed)(DVT_WORD word, int from) {
  uint32_t bits;
  __builtin_memcpy(&bits, &word, sizeof bits);
  bits = dvt_shuffle(bits, from);
  __builtin_memcpy(&word, &bits, sizeof bits);
  return word;
}

/* One cell. What gaps cost is added, so it is negative: there is an instruction that adds pairs, and none that subtracts
 * them. `diagonal` and `e` are those that enter it, and become those that enter the next of the row. */
DVT_INLINE void DVT_N(cell)(DVT_N(column_state) * s, int c, DVT_WORD match, DVT_WORD open, DVT_WORD extend,
                            DVT_WORD *diagonal, DVT_WORD *e) {
  const DVT_WORD zero = {0}, matched = *diagonal + match,
                 h = DVT_N(larger)(DVT_N(larger)(DVT_N(larger)(matched, *e), s->f[c]), zero);
  const DVT_WORD gap = h + open;
  s->best = DVT_N(larger)(s->best, matched);
  *diagonal = s->h[c];
  s->h[c] = h;
  *e = DVT_N(larger)(*e + extend, gap);
  s->f[c] = DVT_N(larger)(s->f[c] + extend, gap);
}

/* A row: `a` is the lane's chunk of the row of the string's symbol, `b` that of the other string of a pair. `swapped`: the halves
 * of the chunk are exchanged. */
DVT_INLINE void DVT_N(row)(DVT_N(column_state) * s, const DVT_TEAM char *a, const DVT_TEAM char *b,
                           int swapped, DVT_WORD open, DVT_WORD extend, DVT_WORD diagonal, DVT_WORD e) {
#ifdef DVT_SCORES
#pragma unroll
  for (int part = 0; part < DVT_COLUMNS; part += 16) {
    uint32_t of_a[4], of_b[4];
    dvt_load_team_16(a + (part ^ swapped), of_a);
    dvt_load_team_16(b + (part ^ swapped), of_b);
#pragma unroll
    for (int c = part; c < part + 16 && c < DVT_COLUMNS; c++)
      DVT_N(cell)(s, c, DVT_SCORES(of_a[(c - part) / 4], of_b[(c - part) / 4], c % 4), open, extend,
                  &diagonal, &e);
  }
#else
  (void)b, (void)swapped;
#pragma unroll
  for (int part = 0; part < DVT_COLUMNS; part += 4) {
    uint32_t of_a[4];
    dvt_load_team_16(a + 4 * part, of_a);
#pragma unroll
    for (int c = part; c < part + 4; c++) {
      DVT_WORD match;
      __builtin_memcpy(&match, &of_a[c - part], sizeof match);
      DVT_N(cell)(s, c, match, open, extend, &diagonal, &e);
    }
  }
#endif
  s->last_h = s->h[DVT_COLUMNS - 1];
  s->last_e = e;
}

/* A string, or two: the second may have length 0. */
typedef struct DVT_N(strings) {
  const DVT_SYMBOL *a, *b;
  int length_a, length_b;
} DVT_N(strings);

/* What passes a border between strips of columns: one for each row. */
typedef struct DVT_N(border) {
  DVT_WORD h, e;
} DVT_N(border);

/* What a group works on. Rows come from `border` where `enters`, else from zeros, and leave there where `leaves`. */
typedef struct DVT_N(work) {
  const DVT_TEAM char *profile;
  int pitch, zeros, width; /* `zeros`: where the row of zeros begins */
  DVT_N(strings) of;
  DVT_WORD open, extend;
  DVT_N(border) * border;
  bool enters, leaves;
} DVT_N(work);

/* Where the row of symbol i begins. */
DVT_INLINE int DVT_N(row_of)(const DVT_N(work) * w, const DVT_SYMBOL *string, int length, int i) {
  return (uint32_t)i < (uint32_t)length ? string[i] * w->pitch : w->zeros;
}

/* The rows that a lane goes through next. */
typedef struct DVT_N(rows) {
  int i, a, b;
} DVT_N(rows);

DVT_INLINE void DVT_N(step)(const DVT_N(work) * w, int g, DVT_N(rows) * at, DVT_N(column_state) * s) {
  const int left = dvt_lane_number() - 1, swapped = DVT_CHUNK == 32 ? (g & 4) << 2 : 0;
  const DVT_TEAM char *chunk = w->profile + g * DVT_CHUNK;
  const bool inside = (uint32_t)at->i < (uint32_t)w->of.length_a;
  DVT_WORD h = DVT_N(passed)(s->last_h, left), e = DVT_N(passed)(s->last_e, left);
  if (g == 0) {
    h = e = (DVT_WORD){0};
    if (w->enters && inside) {
      h = w->border[at->i].h;
      e = w->border[at->i].e;
    }
  }
  const DVT_N(rows) now = *at;
  const DVT_WORD corner = s->corner;
  s->corner = h;
  at->i++;
  at->a = DVT_N(row_of)(w, w->of.a, w->of.length_a, at->i);
  at->b = DVT_N(row_of)(w, w->of.b, w->of.length_b, at->i);
  DVT_N(row)(s, chunk + now.a, chunk + now.b, swapped, w->open, w->extend, corner, e);
  if (w->leaves && g == w->width - 1 && inside)
    w->border[now.i] = (DVT_N(border)){s->last_h, s->last_e};
}

/* The scores of the strings in the columns of the profile, in all lanes of the group. Whole warps call, and their groups with the
 * same `rows`, no less than any of them has. */
DVT_INLINE DVT_WORD DVT_N(align)(const DVT_N(work) * w, int rows) {
  const int lane = dvt_lane_number(), g = lane & (w->width - 1);
  DVT_N(column_state) s = {0};
  DVT_N(rows)
  at = {-g, DVT_N(row_of)(w, w->of.a, w->of.length_a, -g), DVT_N(row_of)(w, w->of.b, w->of.length_b, -g)};
  /* Two at a time, as registers that change their roles in one step change back in the next. */
  for (int t = 0; t < rows + w->width - 1; t += 2) {
    DVT_N(step)(w, g, &at, &s);
    DVT_N(step)(w, g, &at, &s);
  }
  for (int apart = 1; apart < w->width; apart *= 2)
    s.best = DVT_N(larger)(s.best, DVT_N(passed)(s.best, lane ^ apart));
  return s.best;
}
