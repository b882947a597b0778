/* The covariance's product Dᵀ D for one size of a tile. Included with
 *   SIDE         threads of a block are SIDE × SIDE, and so many elements are a tile of the result
 *   NAME(name)   names of their own
 *
 * Two strips of columns of D pass through the block's memory, SIDE rows at a time. A sum runs over the rows in their order,
 * whatever the tile. */

static inline void NAME(product)(int64_t team, int64_t m, int64_t n, const double *data, double *symmat) {
  SHARED(double, left, SIDE *SIDE);
  SHARED(double, right, SIDE *SIDE);
  PRIVATE(double, sum, SIDE *SIDE);
  const int64_t wide = (n + SIDE - 1) / SIDE, row0 = team / wide * SIDE, col0 = team % wide * SIDE;
  PHASE(t, SIDE * SIDE)
  OWN(sum, t) = 0;
  for (int64_t k0 = 0; k0 < m; k0 += SIDE) {
    PHASE(t, SIDE * SIDE) {
      const int64_t k = k0 + t / SIDE, i = row0 + t % SIDE, j = col0 + t % SIDE;
      left[t] = k < m && i < n ? data[k * n + i] : 0;
      right[t] = k < m && j < n ? data[k * n + j] : 0;
    }
    BARRIER();
    PHASE(t, SIDE * SIDE)
    for (int k = 0; k < SIDE; k++)
      OWN(sum, t) += left[k * SIDE + t / SIDE] * right[k * SIDE + t % SIDE];
    BARRIER();
  }
  PHASE(t, SIDE * SIDE)
  if (row0 + t / SIDE < n && col0 + t % SIDE < n)
    symmat[(row0 + t / SIDE) * n + col0 + t % SIDE] = OWN(sum, t);
}

FORM(NAME(product), p, q, in, out)
