/* The two products of atax for one size of a block. Included with
 *   BLOCK        threads of a block, a power of two
 *   NAME(name)   names of their own
 *
 * What a block needs of the vector passes through its memory, BLOCK elements at a time. In A x a row has the lanes of a
 * warp, and in Aᵀ tmp a column has a thread: either way neighbours read neighbours. A sum's order depends on the lanes of a
 * row alone, so all blocks from 32 on give the same bits. */

enum { NAME(lanes) = LANES_OF(BLOCK) };

static inline void NAME(rows)(int64_t team, int64_t nx, int64_t ny, const double *a, const double *x,
                              double *tmp) {
  SHARED(double, staged, BLOCK);
  SHARED(double, sums, BLOCK);
  PRIVATE(double, sum, BLOCK);
  const int64_t row0 = team * (BLOCK / NAME(lanes));
  PHASE(t, BLOCK)
  OWN(sum, t) = 0;
  for (int64_t first = 0; first < ny; first += BLOCK) {
    const int count = ny - first < BLOCK ? (int)(ny - first) : BLOCK;
    PHASE(t, count)
    staged[t] = x[first + t];
    BARRIER();
    PHASE(t, BLOCK) {
      const int64_t row = row0 + t / NAME(lanes);
      for (int e = t % NAME(lanes); e < count && row < nx; e += NAME(lanes))
        OWN(sum, t) += a[row * ny + first + e] * staged[e];
    }
    BARRIER();
  }
  PHASE(t, BLOCK)
  sums[t] = OWN(sum, t);
  WARP_BARRIER();
  for (int half = NAME(lanes) / 2; half > 0; half /= 2) {
    PHASE(t, BLOCK)
    if (t % NAME(lanes) < half)
      sums[t] += sums[t + half];
    WARP_BARRIER();
  }
  PHASE(t, BLOCK)
  if (t % NAME(lanes) == 0 && row0 + t / NAME(lanes) < nx)
    tmp[row0 + t / NAME(lanes)] = sums[t];
}

static inline void NAME(columns)(int64_t team, int64_t nx, int64_t ny, const double *a, const double *tmp,
                                 double *y) {
  SHARED(double, staged, BLOCK);
  PRIVATE(double, sum, BLOCK);
  PHASE(t, BLOCK)
  OWN(sum, t) = 0;
  for (int64_t first = 0; first < nx; first += BLOCK) {
    const int count = nx - first < BLOCK ? (int)(nx - first) : BLOCK;
    PHASE(t, count)
    staged[t] = tmp[first + t];
    BARRIER();
    PHASE(t, BLOCK) {
      const int64_t col = team * BLOCK + t;
      for (int e = 0; e < count && col < ny; e++)
        OWN(sum, t) += a[(first + e) * ny + col] * staged[e];
    }
    BARRIER();
  }
  PHASE(t, BLOCK)
  if (team * BLOCK + t < ny)
    y[team * BLOCK + t] = OWN(sum, t);
}

FORM(NAME(rows), p, q, in, in2, out)
FORM(NAME(columns), p, q, in, in2, out)
