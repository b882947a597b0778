/* Reduction for one monoid on a GPU that keeps the operands' order. Included after scan.h of the same monoid.
 *
 * A team folds a tile and the tiles' sums are folded in tiles again, and so on: the team that finds itself the last of its tile of
 * sums goes on with them. The shape of that tree depends on n alone. */

#ifdef DVT_GPU
/* Sum of a tile of `size` elements, in thread 0. `others`: other teams have just written it, so it is read past the cache
 * of the multiprocessor. */
DVT_INLINE DVT_T DVT_M(fold_tile)(const DVT_T *x, int64_t size, bool aligned, bool others) {
  DVT_SHARED DVT_T team_sums[DVT_M(warps)][DVT_M(rows) * 33];
  DVT_SHARED DVT_T warp_sum[DVT_M(warps)];
  const int lane = dvt_lane_number(), warp = dvt_thread() / 32;
  const int base = warp * DVT_M(rows) * DVT_M(row) + lane * DVT_N(width);
  __attribute__((address_space(3))) DVT_T *const shared = team_sums[warp];
  DVT_N(pack) value[DVT_M(rows)];
  if (aligned && !others && size == DVT_M(tile)) {
#pragma unroll
    for (int r = 0; r < DVT_M(rows); r++)
      value[r] = DVT_N(load)(x + base + r * DVT_M(row));
  } else {
#pragma unroll
    for (int r = 0; r < DVT_M(rows); r++)
#pragma unroll
      for (int k = 0; k < DVT_N(width); k++) {
        const int at = base + r * DVT_M(row) + k;
        value[r].at[k] = DVT_IDENTITY;
        if (at < size)
          value[r].at[k] = others ? DVT_N(peek)(x + at) : x[at];
      }
  }
#pragma unroll
  for (int r = 0; r < DVT_M(rows); r++) {
    DVT_T sum = value[r].at[0];
#pragma unroll
    for (int k = 1; k < DVT_N(width); k++)
      sum = DVT_COMBINE(sum, value[r].at[k]);
    shared[DVT_M(place)(r, lane)] = sum;
  }
  dvt_barrier_warp();
  const int first = DVT_M(place)(lane * DVT_M(rows) / 32, lane * DVT_M(rows) % 32);
  DVT_T sum = shared[first];
#pragma unroll
  for (int j = 1; j < DVT_M(rows); j++)
    sum = DVT_COMBINE(sum, shared[first + j]);
  sum = DVT_M(scan_lanes)(sum, lane, 0);
  if (lane == 31)
    warp_sum[warp] = sum;
  dvt_barrier();
  sum = warp_sum[0];
#pragma unroll
  for (int w = 1; w < DVT_M(warps); w++)
    sum = DVT_COMBINE(sum, warp_sum[w]);
  dvt_barrier();
  return sum;
}

DVT_INLINE void DVT_M(reduce_body)(int64_t n, const DVT_T *x, DVT_T *levels, uint32_t *counters,
                                   DVT_T *result, int64_t stop) {
  const int64_t size = n - (int64_t)dvt_team() * DVT_M(tile);
  DVT_T sum = DVT_M(fold_tile)(x + (int64_t)dvt_team() * DVT_M(tile), size < DVT_M(tile) ? size : DVT_M(tile),
                               ((uintptr_t)x & 15) == 0, false);
  int64_t index = dvt_team(), count = n > 0 ? (n + DVT_M(tile) - 1) / DVT_M(tile) : 1;
  DVT_SHARED uint32_t last;
  for (int64_t level = 1; level <= stop || count > 1; level++) {
    const int64_t group = index / DVT_M(tile);
    const int64_t left = count - group * DVT_M(tile), members = left < DVT_M(tile) ? left : DVT_M(tile);
    if (dvt_thread() == 0)
      levels[index] = sum;
    if (level == stop)
      return;
    if (dvt_thread() == 0) {
      dvt_fence();
      last = dvt_atomic_add(&counters[group], 1) == (uint32_t)members - 1;
      if (last)
        counters[group] = 0;
      dvt_fence();
    }
    dvt_barrier();
    if (!last)
      return;
    sum = DVT_M(fold_tile)(levels + group * DVT_M(tile), members, false, true);
    levels += count;
    index = group;
    count = (count + DVT_M(tile) - 1) / DVT_M(tile);
    counters += count;
  }
  if (dvt_thread() == 0)
    *result = sum;
}
#else
static inline void DVT_M(reduce_body)(int64_t n, const DVT_T *x, DVT_T *levels, uint32_t *counters,
                                      DVT_T *result, int64_t stop) {
  (void)n, (void)x, (void)levels, (void)counters, (void)result, (void)stop;
}
#endif

/* levels: room for the sums of all levels; counters: one for each tile of each level but the first, all 0, left at 0. The result is
 * written where stop = 0; stop = 1 leaves the sums of the tiles at `levels`, stop = 2 those of tiles of tiles behind them. */
static void DVT_M(reduce_region)(int device, int64_t n, const DVT_T *x, DVT_T *levels, uint32_t *counters,
                                 DVT_T *result, int64_t stop) {
  const int teams = n > 0 ? (int)((n + DVT_M(tile) - 1) / DVT_M(tile)) : 1;
#pragma omp target teams ompx_bare num_teams(teams) thread_limit(DVT_M(threads)) device(device)              \
    is_device_ptr(x, levels, counters, result)
  DVT_M(reduce_body)(n, x, levels, counters, result, stop);
}
