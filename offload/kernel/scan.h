/* Scan and segmented scan for one monoid on a GPU: the text of two regions. Included once for each monoid after words.h of its
 * type, with
 *   DVT_T                 the element type
 *   DVT_COMBINE(a, b)     a ∘ b, a stands left of b
 *   DVT_IDENTITY          a value
 *   DVT_N(name)           names of the element type's own, DVT_M(name) names of the monoid's own
 *
 * One pass: x is read once and y written once. A team takes a tile: each warp ROWS rows, a row being 16 bytes of each of its
 * 32 lanes, and keeps the elements in registers. It tells the sum of its tile, waits for the sum of all tiles before, and
 * writes.
 *
 * Team 0 has no tile: its warps turn the tiles' sums into the sums of all before, 32 tiles at a time, and each tile waits for its
 * own slot only. (In Merrill and Garland's look-back every tile looks through its predecessors' slots itself; on an
 * H200 the hundreds of warps that look through the same slots hold each other up.) A team is started no sooner than
 * those with lower numbers, so what a tile waits for is always being worked on.
 *
 * The order in which values are combined depends on n alone, so results are the same from run to run: within a lane from the
 * left; lanes, and groups of 32 tiles, in a Kogge-Stone tree; rows, warps and groups from the left. A value stands always
 * right of those before it.
 *
 * In the segmented scan a sum is that of what follows the last head, and a bit tells whether there was one. */

enum {
  /* Measured on an H200 for elements of 4 and 8 bytes: 8 rows in registers leave room for 8 teams on a multiprocessor. Large
   * elements: a team has at most 48 KiB for a sum of each lane and row. */
  DVT_M(rows) = sizeof(DVT_T) <= 16    ? 8
                : sizeof(DVT_T) <= 32  ? 4
                : sizeof(DVT_T) <= 128 ? 2
                                       : 1,
  DVT_M(warps) = 4,
  DVT_M(threads) = 32 * DVT_M(warps),
  DVT_M(row) = 32 * DVT_N(width),
  DVT_M(tile) = DVT_M(warps) * DVT_M(rows) * DVT_M(row)
};

#ifdef DVT_GPU
/* Sum of all lanes up to and with this one, from the last lane at `head` or after it. */
DVT_INLINE DVT_T DVT_M(scan_lanes)(DVT_T value, int lane, int head) {
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    DVT_T left = DVT_N(shuffle)(value, lane - distance);
    if (lane - distance >= head)
      value = DVT_COMBINE(left, value);
  }
  return value;
}

/* The last lane up to this one whose bit is set, 0 if none. */
DVT_INLINE int DVT_M(last_head)(uint32_t heads, int lane) {
  uint32_t before = heads & (~0u >> (31 - lane));
  return before ? 31 - __builtin_clz(before) : 0;
}

/* Team 0: prefixes[t] = carry ∘ sums[0] ∘ … ∘ sums[t-1]. State 2 of a sum: there is a head in the tile. */
DVT_INLINE void DVT_M(serve)(int64_t tiles, const uint64_t *sums, uint64_t *prefixes, const DVT_T *carry_in,
                             DVT_T *carry_out) {
  DVT_SHARED DVT_T carry;
  DVT_SHARED volatile uint32_t turn; /* the group of 32 tiles that `carry` enters */
  const int lane = dvt_lane_number(), warp = dvt_thread() / 32;
  if (dvt_thread() == 0) {
    carry = carry_in ? *carry_in : (DVT_T)DVT_IDENTITY;
    turn = 0;
  }
  dvt_barrier();
  for (int64_t group = warp; group * 32 < tiles; group += DVT_M(warps)) {
    const int64_t tile = group * 32 + lane;
    DVT_T sum = DVT_IDENTITY;
    uint32_t state = tile < tiles ? 0 : 1;
    for (;;) {
      if (state == 0)
        state = DVT_N(hear)(sums + tile * DVT_N(slot_words), &sum);
      if (dvt_ballot(state == 0) == 0)
        break;
    }
    const uint32_t heads = dvt_ballot(state == 2);
    DVT_T upto = DVT_M(scan_lanes)(sum, lane, DVT_M(last_head)(heads, lane));
    DVT_T before = DVT_N(shuffle)(upto, lane - 1), all = DVT_N(shuffle)(upto, 31);
    while (turn != (uint32_t)group)
      ;
    dvt_fence_team();
    DVT_T in = carry;
    DVT_T out = heads ? all : DVT_COMBINE(in, all);
    dvt_barrier_warp();
    if (lane == 0) {
      carry = out;
      dvt_fence_team();
      turn = (uint32_t)group + 1;
      if (carry_out && group * 32 + 32 >= tiles)
        *carry_out = out;
    }
    if (lane == 0)
      before = in;
    else if ((heads & (~0u >> (32 - lane))) == 0)
      before = DVT_COMBINE(in, before);
    if (tile < tiles)
      DVT_N(tell)(prefixes + tile * DVT_N(slot_words), 1, before);
  }
}

/* The lane's elements from `at` on in a tile that n cuts; the identity stands for those from n on. */
DVT_INLINE DVT_N(pack) DVT_M(read_cut)(const DVT_T *x, int64_t n, int64_t at) {
  DVT_N(pack) pack;
#pragma unroll
  for (int k = 0; k < DVT_N(width); k++)
    pack.at[k] = at + k < n ? x[at + k] : (DVT_T)DVT_IDENTITY;
  return pack;
}

DVT_INLINE void DVT_M(write_cut)(DVT_T *y, int64_t n, int64_t at, DVT_N(pack) pack) {
#pragma unroll
  for (int k = 0; k < DVT_N(width); k++)
    if (at + k < n)
      y[at + k] = pack.at[k];
}

/* The flags of the lane's elements from `at` on, a byte each, in one word. */
DVT_INLINE uint32_t DVT_M(read_flags)(const uint8_t *flags, int64_t at) {
  if (DVT_N(width) == 4)
    return *(const uint32_t *)(const void *)(flags + at);
  if (DVT_N(width) == 2)
    return *(const uint16_t *)(const void *)(flags + at);
  return flags[at];
}

DVT_INLINE uint32_t DVT_M(read_flags_cut)(const uint8_t *flags, int64_t n, int64_t at) {
  uint32_t word = 0;
#pragma unroll
  for (int k = 0; k < DVT_N(width); k++)
    word |= at + k < n ? (uint32_t)flags[at + k] << 8 * k : 0;
  return word;
}

DVT_INLINE bool DVT_M(is_head)(uint32_t word, int k) {
  return word & (0xffu << 8 * k);
}

/* Where the sum of lane `lane` of row `row` stands in the warp's part of team memory: a word is left out after each row, so that
 * neither a row nor the sums that one lane rakes lie in one bank. */
DVT_INLINE int DVT_M(place)(int row, int lane) {
  return row * 33 + lane;
}

/* Bit 0 of `modes`: exclusive; bit 1: x and y are multiples of 16 and flags one of the width. `segmented` is a constant where
 * this is inlined.
 *
 * Each lane sums its elements of each row; then it rakes up `rows` neighbouring sums of the warp, so that one scan of lanes is
 * enough for all rows; when what enters the tile is known, it spreads what enters each of the sums it raked. */
DVT_INLINE void DVT_M(scan_tile)(int64_t n, const DVT_T *x, const uint8_t *flags, uint64_t *sums,
                                 uint64_t *prefixes, DVT_T *y, int64_t modes, bool segmented) {
  DVT_SHARED DVT_T team_sums[DVT_M(warps)][DVT_M(rows) * 33];
  DVT_SHARED DVT_T warp_sum[DVT_M(warps)];
  DVT_SHARED uint32_t warp_heads[DVT_M(warps)];
  DVT_SHARED DVT_T prefix;
  const int lane = dvt_lane_number(), warp = dvt_thread() / 32;
  const int64_t tile = dvt_team() - 1, first = tile * DVT_M(tile);
  const int64_t base = first + warp * DVT_M(rows) * DVT_M(row) + lane * DVT_N(width);
  const bool whole = (modes & 2) && first + DVT_M(tile) <= n;
  __attribute__((address_space(3))) DVT_T *const shared = team_sums[warp];
  DVT_N(pack) value[DVT_M(rows)];
  uint32_t own[DVT_M(rows)]; /* the flags of the lane's elements */

  if (whole) {
#pragma unroll
    for (int r = 0; r < DVT_M(rows); r++)
      own[r] = segmented ? DVT_M(read_flags)(flags, base + r * DVT_M(row)) : 0;
#pragma unroll
    for (int r = 0; r < DVT_M(rows); r++)
      value[r] = DVT_N(load)(x + base + r * DVT_M(row));
  } else {
#pragma unroll
    for (int r = 0; r < DVT_M(rows); r++) {
      own[r] = segmented ? DVT_M(read_flags_cut)(flags, n, base + r * DVT_M(row)) : 0;
      value[r] = DVT_M(read_cut)(x, n, base + r * DVT_M(row));
    }
  }

  uint32_t row_heads = 0; /* lane r has those of row r */
#pragma unroll
  for (int r = 0; r < DVT_M(rows); r++) {
    DVT_T sum = value[r].at[0];
#pragma unroll
    for (int k = 1; k < DVT_N(width); k++)
      sum = DVT_M(is_head)(own[r], k) ? value[r].at[k] : DVT_COMBINE(sum, value[r].at[k]);
    shared[DVT_M(place)(r, lane)] = sum;
    if (segmented) {
      uint32_t heads = dvt_ballot(own[r] != 0);
      row_heads = lane == r ? heads : row_heads;
    }
  }
  dvt_barrier_warp();

  const int raked_row = lane * DVT_M(rows) / 32, raked_lane = lane * DVT_M(rows) % 32;
  const uint32_t raked_heads = segmented ? dvt_shuffle(row_heads, raked_row) >> raked_lane : 0;
  DVT_T raked[DVT_M(rows)];
#pragma unroll
  for (int j = 0; j < DVT_M(rows); j++)
    raked[j] = shared[DVT_M(place)(raked_row, raked_lane) + j];
  DVT_T upto = raked[0];
#pragma unroll
  for (int j = 1; j < DVT_M(rows); j++)
    upto = raked_heads >> j & 1 ? raked[j] : DVT_COMBINE(upto, raked[j]);
  const uint32_t heads = segmented ? dvt_ballot((raked_heads & (~0u >> (32 - DVT_M(rows)))) != 0) : 0;
  upto = DVT_M(scan_lanes)(upto, lane, segmented ? DVT_M(last_head)(heads, lane) : 0);
  DVT_T before = DVT_N(shuffle)(upto, lane - 1);
  if (lane == 31) {
    warp_sum[warp] = upto;
    warp_heads[warp] = heads;
  }
  dvt_barrier();
  if (dvt_thread() == 0) {
    DVT_T all = warp_sum[0];
    uint32_t in_tile = warp_heads[0];
#pragma unroll
    for (int w = 1; w < DVT_M(warps); w++) {
      all = segmented && warp_heads[w] ? warp_sum[w] : DVT_COMBINE(all, warp_sum[w]);
      in_tile |= warp_heads[w];
    }
    DVT_N(tell)(sums + tile * DVT_N(slot_words), segmented && in_tile ? 2 : 1, all);
    DVT_T sum_before;
    while (DVT_N(hear)(prefixes + tile * DVT_N(slot_words), &sum_before) == 0)
      dvt_pause();
    prefix = sum_before;
  }
  dvt_barrier();

  DVT_T running = prefix;
  for (int w = 0; w < warp; w++)
    running = segmented && warp_heads[w] ? warp_sum[w] : DVT_COMBINE(running, warp_sum[w]);
  if (lane > 0)
    running = segmented && (heads & (~0u >> (32 - lane))) ? before : DVT_COMBINE(running, before);
#pragma unroll
  for (int j = 0; j < DVT_M(rows); j++) {
    shared[DVT_M(place)(raked_row, raked_lane) + j] = running;
    running = raked_heads >> j & 1 ? raked[j] : DVT_COMBINE(running, raked[j]);
  }
  dvt_barrier_warp();
#pragma unroll
  for (int r = 0; r < DVT_M(rows); r++) {
    DVT_N(pack) out;
    running = shared[DVT_M(place)(r, lane)];
#pragma unroll
    for (int k = 0; k < DVT_N(width); k++) {
      const bool head = segmented && DVT_M(is_head)(own[r], k);
      DVT_T left = head ? (DVT_T)DVT_IDENTITY : running;
      running = head ? value[r].at[k] : DVT_COMBINE(running, value[r].at[k]);
      out.at[k] = modes & 1 ? left : running;
    }
    if (whole)
      DVT_N(store)(y + base + r * DVT_M(row), out);
    else
      DVT_M(write_cut)(y, n, base + r * DVT_M(row), out);
  }
}

DVT_INLINE void DVT_M(scan_body)(int64_t n, const DVT_T *x, const uint8_t *flags, uint64_t *sums,
                                 uint64_t *prefixes, const DVT_T *carry_in, DVT_T *carry_out, DVT_T *y,
                                 int64_t modes, bool segmented) {
  if (dvt_team() == 0)
    DVT_M(serve)((n + DVT_M(tile) - 1) / DVT_M(tile), sums, prefixes, carry_in, carry_out);
  else
    DVT_M(scan_tile)(n, x, flags, sums, prefixes, y, modes, segmented);
}
#else
/* Never launched on a CPU: see gpu.h. */
static inline void DVT_M(scan_body)(int64_t n, const DVT_T *x, const uint8_t *flags, uint64_t *sums,
                                    uint64_t *prefixes, const DVT_T *carry_in, DVT_T *carry_out, DVT_T *y,
                                    int64_t modes, bool segmented) {
  (void)n, (void)x, (void)flags, (void)sums, (void)prefixes, (void)carry_in, (void)carry_out, (void)y;
  (void)modes, (void)segmented;
}
#endif

/* sums and prefixes: a slot of DVT_N(slot_words) words for each tile, all 0. flags is not read by the first. */
static void DVT_M(scan_region)(int device, int64_t n, const DVT_T *x, const uint8_t *flags, uint64_t *sums,
                               uint64_t *prefixes, const DVT_T *carry_in, DVT_T *carry_out, DVT_T *y,
                               int64_t modes) {
  const int teams = (int)((n + DVT_M(tile) - 1) / DVT_M(tile)) + 1;
#pragma omp target teams ompx_bare num_teams(teams) thread_limit(DVT_M(threads)) device(device)              \
    is_device_ptr(x, flags, sums, prefixes, carry_in, carry_out, y)
  DVT_M(scan_body)(n, x, flags, sums, prefixes, carry_in, carry_out, y, modes, false);
}

static void DVT_M(segmented_region)(int device, int64_t n, const DVT_T *x, const uint8_t *flags,
                                    uint64_t *sums, uint64_t *prefixes, const DVT_T *carry_in,
                                    DVT_T *carry_out, DVT_T *y, int64_t modes) {
  const int teams = (int)((n + DVT_M(tile) - 1) / DVT_M(tile)) + 1;
#pragma omp target teams ompx_bare num_teams(teams) thread_limit(DVT_M(threads)) device(device)              \
    is_device_ptr(x, flags, sums, prefixes, carry_in, carry_out, y)
  DVT_M(scan_body)(n, x, flags, sums, prefixes, carry_in, carry_out, y, modes, true);
}
