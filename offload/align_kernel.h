/* Local alignment on a GPU: a text for one type of scores and one width. Included, where DVT_GPU is defined, with
 *   DVT_WORD     the scores: dvt_pair (two alignments side by side in 16 bits each), float or int32_t
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
 * Cost for a row of DVT_COLUMNS cells: 7 instructions for each cell or pair of cells (one more for float), and some 25. */

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
  return __builtin_elementwise_max(a, b);
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
  const DVT_WORD zero = {0};
  DVT_WORD h = DVT_N(larger)(DVT_N(larger)(*diagonal + match, *e), zero);
  h = DVT_N(larger)(h, s->f[c]);
  s->best = DVT_N(larger)(s->best, h);
  *diagonal = s->h[c];
  s->h[c] = h;
  const DVT_WORD gap = h + open;
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

/* Where row `symbol` of string `which` begins; `zeros` is the row of zeros. */
DVT_INLINE int DVT_N(row_of)(const DVT_SYMBOL *string, int64_t length, int64_t i, int pitch, int zeros) {
  return i >= 0 && i < length ? string[i] * pitch : zeros;
}

/* A string, or two: the second may have length 0. */
typedef struct DVT_N(strings) {
  const DVT_SYMBOL *a, *b;
  int64_t length_a, length_b;
} DVT_N(strings);

/* What passes a border between strips of columns: one for each row. */
typedef struct DVT_N(border) {
  DVT_WORD h, e;
} DVT_N(border);

/* The scores of the strings in the columns of the profile, in all lanes of the group. Rows come from `border` where `enters`, else from
 * zeros, and leave there where `leaves`. Whole warps call, and their groups with the same `steps`. */
DVT_INLINE DVT_WORD DVT_N(align)(const DVT_TEAM char *profile, int pitch, int zeros, int width,
                                 DVT_N(strings) of, int64_t steps, DVT_WORD open, DVT_WORD extend,
                                 DVT_N(border) * border, bool enters, bool leaves) {
  const int lane = dvt_lane_number(), g = lane & (width - 1), swapped = DVT_CHUNK == 32 ? (g & 4) << 2 : 0;
  const DVT_TEAM char *chunk = profile + g * DVT_CHUNK;
  DVT_N(column_state) s = {0};
  int a = DVT_N(row_of)(of.a, of.length_a, -g, pitch, zeros),
      b = DVT_N(row_of)(of.b, of.length_b, -g, pitch, zeros);
  for (int64_t t = 0; t < steps; t++) {
    const int64_t i = t - g;
    DVT_WORD h = DVT_N(passed)(s.last_h, lane - 1), e = DVT_N(passed)(s.last_e, lane - 1);
    const bool inside = i >= 0 && i < of.length_a;
    if (g == 0) {
      h = e = (DVT_WORD){0};
      if (enters && inside) {
        h = border[i].h;
        e = border[i].e;
      }
    }
    const DVT_WORD corner = s.corner;
    const int row_a = a, row_b = b;
    s.corner = h;
    a = DVT_N(row_of)(of.a, of.length_a, i + 1, pitch, zeros);
    b = DVT_N(row_of)(of.b, of.length_b, i + 1, pitch, zeros);
    DVT_N(row)(&s, chunk + row_a, chunk + row_b, swapped, open, extend, corner, e);
    if (leaves && g == width - 1 && inside)
      border[i] = (DVT_N(border)){s.last_h, s.last_e};
  }
  for (int apart = 1; apart < width; apart *= 2)
    s.best = DVT_N(larger)(s.best, DVT_N(passed)(s.best, lane ^ apart));
  return s.best;
}
