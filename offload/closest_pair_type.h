/* SPDX-License-Identifier: Apache-2.0 */
/* One kind of points of closest_pair.c: of T (float, double) in DIM dimensions (2, 3). Their records, what is compared with
 * what, the kernels, and the same on the CPU. */
typedef struct NAME(record) {
  _Alignas(DIM * sizeof(T) + 4 > 16 ? 32 : 16) T at[DIM];
  uint32_t index;
} NAME(record);

INLINE point NAME(point_at)(const void *points, int64_t i) {
  const T *at = (const T *)points + i * DIM;
#if DIM == 2
  if (((uintptr_t)points & (2 * sizeof(T) - 1)) == 0) {
    typedef T pair __attribute__((ext_vector_type(2)));
    const pair both = *(const pair *)(const void *)at;
    return (point){(double)both[0], (double)both[1], 0};
  }
#endif
  return (point){(double)at[0], (double)at[1], DIM > 2 ? (double)at[DIM - 1] : 0};
}

/* Records travel as they are, 16 bytes at a time. */
INLINE NAME(record) NAME(fetch)(const NAME(record) * r) {
#ifdef DVT_GPU
  NAME(record) fetched;
  uint32_t words[sizeof fetched / 4];
#pragma unroll
  for (size_t w = 0; w < sizeof words / 4; w += 4)
    dvt_load_constant_16((const char *)r + 4 * w, words + w);
  memcpy(&fetched, words, sizeof fetched);
  return fetched;
#else
  return *r;
#endif
}

INLINE point NAME(point_of)(const NAME(record) * r) {
  return (point){(double)r->at[0], (double)r->at[1], DIM > 2 ? (double)r->at[DIM - 1] : 0};
}

INLINE NAME(record) NAME(made)(point p, int64_t index) {
  NAME(record) made = {.index = (uint32_t)index};
  made.at[0] = (T)p.x;
  made.at[1] = (T)p.y;
  if (DIM > 2)
    made.at[DIM - 1] = (T)p.z;
  return made;
}

INLINE void NAME(put)(NAME(record) * r, point p, int64_t index) {
  const NAME(record) made = NAME(made)(p, index);
#ifdef DVT_GPU
  uint32_t words[sizeof made / 4];
  memcpy(words, &made, sizeof made);
#pragma unroll
  for (size_t w = 0; w < sizeof words / 4; w += 4)
    dvt_store_16((char *)r + 4 * w, words + w);
#else
  *r = made;
#endif
}

/* ---- of one point ---- */

/* A point, and the least pair so far of the thread that compares it with others. */
typedef struct NAME(search) {
  point own;
  int64_t index;
  double limit;
  bool nearer; /* than anything before: to be told */
  davit_closest_pair_result best;
} NAME(search);

INLINE void NAME(compare)(NAME(search) * c, const NAME(record) * records, uint32_t from, uint32_t to) {
#pragma unroll 1
  for (; from < to; from++) {
    const NAME(record) other = NAME(fetch)(records + from);
    const point p = NAME(point_of)(&other);
    const double dx = c->own.x - p.x, dy = c->own.y - p.y, dz = c->own.z - p.z;
    if (dvt_pair_square(dx, dy, dz) > c->limit || other.index == c->index)
      continue;
    const double distance = dvt_pair_distance(dx, dy, dz);
    if (distance < c->best.distance) {
      c->limit = dvt_pair_limit(distance);
      c->nearer = true;
    }
    dvt_pair_offer(distance, c->index, other.index, &c->best);
  }
}

INLINE void NAME(compare_dense)(NAME(search) * c, const dvt_closest_grid *g, const uint32_t *table,
                                const NAME(record) * records, uint32_t position) {
  const int64_t bucket = dense_bucket(g, c->own, DIM);
  NAME(compare)(c, records, position + 1, table[bucket + 1]);
#pragma unroll 1
  for (int row = 0; row < (DIM > 2 ? 4 : 1); row++) {
    const int64_t middle = bucket + (row == 0  ? g->pitch[0]
                                     : DIM > 2 ? (row - 2) * g->pitch[0] + g->pitch[1]
                                               : 0);
    NAME(compare)(c, records, table[middle - 2], table[middle + 1]);
  }
}

/* Cells x - 1 to x + 1, which are in one run or in two. */
INLINE void NAME(compare_run)(NAME(search) * c, const dvt_closest_grid *g, const uint32_t *table,
                              const NAME(record) * records, int64_t x, int64_t y, int64_t z) {
  for (int64_t run = (x - 1) >> 5; run <= (x + 1) >> 5; run++) {
    const int64_t base = hashed_run(g, run, y, z), first = run * RUN, low = x - 1 > first ? x - 1 - first : 0,
                  high = x + 1 < first + RUN ? x + 1 - first : RUN - 1;
    NAME(compare)(c, records, table[base + low - 1], table[base + high]);
  }
}

INLINE void NAME(compare_hashed)(NAME(search) * c, const dvt_closest_grid *g, const uint32_t *table,
                                 const NAME(record) * records, uint32_t position) {
  const int64_t x = hashed_cell(g, c->own.x), y = hashed_cell(g, c->own.y),
                z = DIM > 2 ? hashed_cell(g, c->own.z) : 0;
  const int64_t offset = x & (RUN - 1), bucket = hashed_run(g, x >> 5, y, z) + offset;
  NAME(compare)(c, records, position + 1, table[offset < RUN - 1 ? bucket + 1 : bucket]);
  if (offset == RUN - 1) {
    const int64_t next = hashed_run(g, (x >> 5) + 1, y, z);
    NAME(compare)(c, records, table[next - 1], table[next]);
  }
#pragma unroll 1
  for (int row = 0; row < (DIM > 2 ? 4 : 1); row++)
    NAME(compare_run)(c, g, table, records, x, row == 0 ? y + 1 : y + row - 2, row == 0 ? z : z + 1);
}

INLINE void NAME(search_for)(NAME(search) * c, dvt_closest_state *s, const dvt_closest_grid *g,
                             const uint32_t *table, const NAME(record) * records, uint32_t position,
                             double known, bool hashed) {
  const NAME(record) own = NAME(fetch)(records + position);
  c->own = NAME(point_of)(&own);
  c->index = own.index;
  c->nearer = false;
  c->limit = dvt_pair_limit(bound_of(s, known));
  if (hashed)
    NAME(compare_hashed)(c, g, table, records, position);
  else
    NAME(compare_dense)(c, g, table, records, position);
}

/* The first record of the k-th of `parts` shares, which begins with a bucket. */
INLINE int64_t NAME(share)(const dvt_closest_grid *g, const uint32_t *table, const NAME(record) * records,
                           int64_t n, int64_t k, int64_t parts) {
  const int64_t at = share_of(n, k, parts);
  if (at == 0 || at == n)
    return at;
  return table[bucket_of(g, NAME(point_of)(&records[at]), DIM) - 1];
}

INLINE int64_t NAME(slot)(point p, int64_t mask) {
  return (int64_t)mixed(mixed(mixed(bits_of(p.x)) + bits_of(p.y)) + bits_of(p.z)) & mask;
}

/* Slots hold the least point so far of those that are equal to each other, in the first slot from that of their hash on
 * that was not taken by others. */
INLINE void NAME(insert_point)(const void *points, uint32_t *slots, int64_t mask, int64_t i) {
  const point p = NAME(point_at)(points, i);
  for (int64_t slot = NAME(slot)(p, mask);; slot = (slot + 1) & mask) {
    uint32_t holder = __scoped_atomic_load_n(&slots[slot], RELAXED);
    if (holder == nobody && __scoped_atomic_compare_exchange_n(&slots[slot], &holder, (uint32_t)i, false,
                                                               __ATOMIC_RELAXED, RELAXED))
      return;
    if (!is_same(p, NAME(point_at)(points, holder)))
      continue;
    if (i < holder)
      __scoped_atomic_fetch_min(&slots[slot], (uint32_t)i, RELAXED);
    return;
  }
}

/* The least point that is equal to point i. */
INLINE int64_t NAME(least_equal)(const void *points, const uint32_t *slots, int64_t mask, int64_t i) {
  const point p = NAME(point_at)(points, i);
  int64_t slot = NAME(slot)(p, mask);
  while (slots[slot] != i && !is_same(p, NAME(point_at)(points, slots[slot])))
    slot = (slot + 1) & mask;
  return slots[slot];
}

/* ---- kernels ---- */

#ifdef DVT_GPU
#define STATE dvt_closest_state *s

/* The least of the team's values, in thread 0. */
INLINE void NAME(team_box)(double value[2 * DIM + 1]) {
  DVT_SHARED double all[2 * DIM + 1][THREADS];
  const int thread = dvt_thread();
#pragma unroll
  for (int k = 0; k <= 2 * DIM; k++)
    all[k][thread] = value[k];
  for (int half = THREADS / 2; half > 0; half /= 2) {
    dvt_barrier();
    if (thread < half)
#pragma unroll
      for (int k = 0; k <= 2 * DIM; k++) {
        value[k] = all[k][thread + half] < value[k] ? all[k][thread + half] : value[k];
        all[k][thread] = value[k];
      }
  }
  dvt_barrier();
}

INLINE void NAME(box_body)(int64_t n, STATE, const void *points, uint32_t *table, uint16_t *ranks,
                           void *records, char *partials) {
  (void)table, (void)ranks, (void)records;
  double least[2 * DIM + 1];
  int64_t bad = INT64_MAX;
#pragma unroll
  for (int k = 0; k <= 2 * DIM; k++)
    least[k] = __builtin_inf();
#pragma unroll 4
  for (int64_t i = global_thread(); i < n; i += global_threads()) {
    const point p = NAME(point_at)(points, i);
    const double at[3] = {p.x, p.y, p.z};
#pragma unroll
    for (int k = 0; k < DIM; k++) {
      if (!(__builtin_fabs(at[k]) < __builtin_inf()) && i < bad)
        bad = i;
      least[k] = at[k] < least[k] ? at[k] : least[k];
      least[DIM + k] = -at[k] < least[DIM + k] ? -at[k] : least[DIM + k];
    }
  }
  least[2 * DIM] = (double)bad; /* numbers of points below 2^53 are doubles */
  NAME(team_box)(least);
  double *mine = (double *)(void *)(partials + (int64_t)dvt_team() * PARTIAL_BYTES);
  if (dvt_thread() == 0)
#pragma unroll
    for (int k = 0; k <= 2 * DIM; k++)
      mine[k] = least[k];
  if (!is_last_team(s))
    return;
#pragma unroll
  for (int k = 0; k <= 2 * DIM; k++)
    least[k] = __builtin_inf();
  for (int t = dvt_thread(); t < dvt_teams(); t += THREADS)
#pragma unroll
    for (int k = 0; k <= 2 * DIM; k++) {
      const double other =
          from_bits(dvt_load_word((const uint64_t *)(const void *)(partials + (int64_t)t * PARTIAL_BYTES) + k));
      least[k] = other < least[k] ? other : least[k];
    }
  NAME(team_box)(least);
  if (dvt_thread() > 0)
    return;
#pragma unroll
  for (int k = 0; k < DIM; k++) {
    s->low[k] = least[k];
    s->high[k] = -least[DIM + k];
  }
  s->bad = least[2 * DIM] < 0x1p62 ? (int64_t)least[2 * DIM] : INT64_MAX;
}

INLINE void NAME(gather_body)(int64_t n, STATE, const void *points, uint32_t *table, uint16_t *ranks,
                              void *records, char *partials) {
  (void)table, (void)ranks, (void)partials;
  for (int64_t k = global_thread(); k < s->sample; k += global_threads()) {
    const int64_t i = shuffled(k, n, s->seed);
#pragma unroll
    for (int a = 0; a < DIM; a++)
      ((T *)records)[k * DIM + a] = ((const T *)points)[i * DIM + a];
  }
}

/* Two points of a thread against a tile, CHUNK of its points at a time: whether one of them is within what the team has reached, and
 * only then which. */
INLINE void NAME(brute_body)(int64_t n, STATE, const void *points, uint32_t *table, uint16_t *ranks,
                             void *records, char *partials) {
  enum { CHUNK = 16 };
  DVT_SHARED double tile[DIM][BLOCK];
  DVT_SHARED uint64_t reached; /* the bits of a distance */
  (void)table, (void)ranks, (void)records;
  /* Each device goes through all of a sample, and so knows the same. */
  const int64_t blocks = (n + BLOCK - 1) / BLOCK, parts = s->sample ? 1 : s->parts,
                part = s->sample ? 0 : s->part;
  const double known = s->known;
  davit_closest_pair_result best = DVT_NO_PAIR;
  for (int64_t unit = dvt_team(); unit < blocks * blocks; unit += dvt_teams()) {
    const int64_t row = unit / blocks, column = unit % blocks, first = row * BLOCK, second = column * BLOCK;
    if (column < row || row % parts != part) /* shares are rows of tiles, on the host as well */
      continue;
    const int64_t mine[2] = {first + dvt_thread(), first + dvt_thread() + THREADS};
    point own[2];
    dvt_barrier();
#pragma unroll
    for (int k = 0; k < 2; k++) {
      const int at = dvt_thread() + k * THREADS;
      point p = {__builtin_nan(""), 0, 0}; /* near nobody */
      if (second + at < n)
        p = NAME(point_at)(points, second + at);
      tile[0][at] = p.x;
      tile[1][at] = p.y;
      if (DIM > 2)
        tile[DIM - 1][at] = p.z;
      own[k] = NAME(point_at)(points, mine[k] < n ? mine[k] : n - 1);
    }
    if (dvt_thread() == 0)
      reached = bits_of(bound_of(s, known));
    dvt_barrier();
#pragma unroll 1
    for (int begin = 0; begin < BLOCK; begin += CHUNK) {
      const double least =
                       from_bits(__scoped_atomic_load_n(&reached, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP)),
                   limit = dvt_pair_limit(least);
      if (s->sample && least == 0)
        break; /* of a sample the distance is all */
      bool near = false;
#pragma unroll
      for (int t = begin; t < begin + CHUNK; t++) {
        const double x = tile[0][t], y = tile[1][t], z = DIM > 2 ? tile[DIM - 1][t] : 0;
#pragma unroll
        for (int k = 0; k < 2; k++)
          near |= dvt_pair_square(own[k].x - x, own[k].y - y, own[k].z - z) <= limit;
      }
      if (!near)
        continue;
#pragma unroll 1
      for (int t = begin; t < begin + CHUNK; t++) {
        const double x = tile[0][t], y = tile[1][t], z = DIM > 2 ? tile[DIM - 1][t] : 0;
#pragma unroll
        for (int k = 0; k < 2; k++) {
          const double dx = own[k].x - x, dy = own[k].y - y, dz = own[k].z - z;
          if (!(dvt_pair_square(dx, dy, dz) <= limit) || mine[k] >= second + t)
            continue;
          const double distance = dvt_pair_distance(dx, dy, dz);
          if (distance < best.distance)
            __scoped_atomic_fetch_min(&reached, bits_of(distance), __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
          dvt_pair_offer(distance, mine[k], second + t, &best);
        }
      }
    }
    dvt_barrier();
    if (dvt_thread() == 0 && from_bits(reached) < bound_of(s, known))
      tell_bound(s, from_bits(reached));
  }
  conclude(s, best, partials);
}

INLINE void NAME(plan_dense_body)(int64_t n, STATE, const void *points, uint32_t *table, uint16_t *ranks,
                                  void *records, char *partials) {
  (void)points, (void)table, (void)ranks, (void)records, (void)partials;
  if (dvt_thread() == 0)
    s->stop = !plan_dense(s, n, DIM);
}

INLINE void NAME(plan_hashed_body)(int64_t n, STATE, const void *points, uint32_t *table, uint16_t *ranks,
                                   void *records, char *partials) {
  (void)points, (void)table, (void)ranks, (void)records, (void)partials;
  if (dvt_thread() == 0)
    s->stop = !plan_hashed(s, n);
}

INLINE void NAME(count_body)(int64_t n, STATE, const void *points, uint32_t *table, uint16_t *ranks,
                             void *records, char *partials) {
  (void)records, (void)partials;
  const dvt_closest_grid g = s->grid;
  uint64_t pairs = 0;
  for (int64_t i = global_thread(); i < n && !__scoped_atomic_load_n(&s->stop, RELAXED);
       i += global_threads()) {
    const int64_t bucket = bucket_of(&g, NAME(point_at)(points, i), DIM);
    const uint32_t rank = next_rank(&table[bucket], false);
    ranks[i] = (uint16_t)rank;
    pairs += rank;
    if (rank >= g.crowd)
      __scoped_atomic_store_n(&s->stop, 1, RELAXED);
  }
  pairs = team_sum(pairs);
  if (dvt_thread() == 0)
    __scoped_atomic_fetch_add(&s->ranks, pairs, RELAXED);
}

INLINE void NAME(place_body)(int64_t n, STATE, const void *points, uint32_t *table, uint16_t *ranks,
                             void *records, char *partials) {
  (void)partials;
  const dvt_closest_grid g = s->grid;
  if (dvt_closest_is_crowded(s))
    return;
  for (int64_t i = global_thread(); i < n; i += global_threads()) {
    const point p = NAME(point_at)(points, i);
    const uint32_t to = table[bucket_of(&g, p, DIM)] - 1 - ranks[i];
    NAME(put)((NAME(record) *)records + to, p, i);
  }
}

#ifdef PARTED
_Static_assert(sizeof(NAME(record)) == sizeof(quad), "a record is 16 bytes");

/* One step of records to their places: from the points, or from the first step's parts. A team takes TILE at a time, brings them
 * into the order of their parts in its own memory, and writes each part's share in one piece. */
INLINE void NAME(part)(int64_t n, STATE, const void *points, const uint32_t *table, const uint16_t *ranks,
                       char *records, bool from_points, DVT_TEAM quad *tile, DVT_TEAM uint32_t *places,
                       DVT_TEAM uint32_t *counts, DVT_TEAM uint32_t *bases) {
  const parting to = parting_of(records, n);
  const int step = from_points ? 0 : 1, shift = to.shift[step], thread = dvt_thread();
  const uint32_t mask = (1U << to.bits[step]) - 1;
  const dvt_closest_grid g = s->grid;
  if (dvt_closest_is_crowded(s))
    return;
  for (int64_t first = (int64_t)dvt_team() * TILE; first < n; first += (int64_t)dvt_teams() * TILE) {
    uint32_t place[TILE / THREADS], rank[TILE / THREADS];
    quad own[TILE / THREADS];
    counts[thread] = 0;
    dvt_barrier();
#pragma unroll
    for (int k = 0; k < TILE / THREADS; k++) {
      const int64_t i = first + k * THREADS + thread;
      if (i >= n)
        continue;
      if (from_points) {
        const point p = NAME(point_at)(points, i);
        const NAME(record) made = NAME(made)(p, i);
        memcpy(&own[k], &made, sizeof made);
        place[k] = table[bucket_of(&g, p, DIM)] - 1 - ranks[i];
      } else {
        own[k] = fetch_quad(to.records[0] + i);
        place[k] = to.places[0][i];
      }
    }
#pragma unroll
    for (int k = 0; k < TILE / THREADS; k++)
      if (first + k * THREADS + thread < n)
        rank[k] = __scoped_atomic_fetch_add(&counts[place[k] >> shift & mask], 1, __ATOMIC_RELAXED,
                                            __MEMORY_SCOPE_WRKGRP);
    dvt_barrier();
    /* A tile of the second step lies in one part of the first. */
    const uint32_t count = counts[thread], before = team_before(count),
                   outer = from_points ? 0 : (uint32_t)(first >> to.shift[0]) << to.bits[1],
                   part = outer + (uint32_t)thread;
    if (count > 0)
      bases[thread] = (part << shift) + dvt_atomic_add(&to.cursors[step][part], count) - before;
    counts[thread] = before;
    dvt_barrier();
#pragma unroll
    for (int k = 0; k < TILE / THREADS; k++)
      if (first + k * THREADS + thread < n) {
        const uint32_t at = counts[place[k] >> shift & mask] + rank[k];
        places[at] = place[k];
        tile[at] = own[k];
      }
    dvt_barrier();
#pragma unroll
    for (int k = 0; k < TILE / THREADS; k++) {
      const uint32_t from = (uint32_t)(k * THREADS + thread);
      if (first + from >= n)
        continue;
      const uint32_t at = places[from], target = bases[at >> shift & mask] + from;
      to.places[step][target] = at;
      put_quad(to.records[step] + target, tile[from]);
    }
    dvt_barrier();
  }
}

/* The team's memory of a step. Each kernel has its own: what several kernels share, the linker counts for all. */
#define TEAM_MEMORY                                                                                          \
  DVT_SHARED quad tile[TILE];                                                                                \
  DVT_SHARED uint32_t places[TILE], counts[THREADS], bases[THREADS]

INLINE void NAME(part_points_body)(int64_t n, STATE, const void *points, uint32_t *table, uint16_t *ranks,
                                   void *records, char *partials) {
  TEAM_MEMORY;
  (void)partials;
  NAME(part)(n, s, points, table, ranks, records, true, tile, places, counts, bases);
}

INLINE void NAME(part_records_body)(int64_t n, STATE, const void *points, uint32_t *table, uint16_t *ranks,
                                    void *records, char *partials) {
  TEAM_MEMORY;
  (void)partials;
  NAME(part)(n, s, points, table, ranks, records, false, tile, places, counts, bases);
}
#undef TEAM_MEMORY

/* The last step: a window of places at a time, out of the part it lies in. */
INLINE void NAME(settle_body)(int64_t n, STATE, const void *points, uint32_t *table, uint16_t *ranks,
                              void *records, char *partials) {
  DVT_SHARED quad window[WINDOW];
  (void)points, (void)table, (void)ranks, (void)partials;
  const parting to = parting_of(records, n);
  if (dvt_closest_is_crowded(s))
    return;
  for (int64_t first = (int64_t)dvt_team() * WINDOW; first < n; first += (int64_t)dvt_teams() * WINDOW) {
    const int64_t begin = first >> to.shift[1] << to.shift[1], after = begin + (INT64_C(1) << to.shift[1]),
                  end = after < n ? after : n;
    for (int64_t i = begin + dvt_thread(); i < end; i += THREADS) {
      const uint32_t at = to.places[1][i] - (uint32_t)first;
      if (at < WINDOW)
        window[at] = fetch_quad(to.records[1] + i);
    }
    dvt_barrier();
#pragma unroll
    for (int k = 0; k < WINDOW / THREADS; k++) {
      const int at = k * THREADS + dvt_thread();
      if (first + at < n)
        put_quad(to.records[0] + first + at, window[at]);
    }
    dvt_barrier();
  }
}
#endif

INLINE void NAME(search_body)(int64_t n, STATE, uint32_t *table, const NAME(record) * records, char *partials,
                              bool hashed) {
  const dvt_closest_grid g = s->grid;
  const double known = s->known;
  if (dvt_closest_is_crowded(s))
    return;
  const int64_t begin = NAME(share)(&g, table, records, n, s->part, s->parts),
                end = NAME(share)(&g, table, records, n, s->part + 1, s->parts);
  NAME(search) c = {.best = DVT_NO_PAIR};
  bool told = false;
  for (int64_t first = begin + (int64_t)dvt_team() * THREADS; first < end; first += global_threads()) {
    if (first + dvt_thread() < end)
      NAME(search_for)(&c, s, &g, table, records, (uint32_t)(first + dvt_thread()), known, hashed);
    if (!told) {
      const double least = team_least(c.best.distance);
      if (dvt_thread() == 0)
        tell_bound(s, least);
      told = true;
    } else if (c.nearer) {
      tell_bound(s, c.best.distance);
    }
  }
  conclude(s, c.best, partials);
}

INLINE void NAME(search_dense_body)(int64_t n, STATE, const void *points, uint32_t *table, uint16_t *ranks,
                                    void *records, char *partials) {
  (void)points, (void)ranks;
  NAME(search_body)(n, s, table, records, partials, false);
}

INLINE void NAME(search_hashed_body)(int64_t n, STATE, const void *points, uint32_t *table, uint16_t *ranks,
                                     void *records, char *partials) {
  (void)points, (void)ranks;
  NAME(search_body)(n, s, table, records, partials, true);
}

INLINE void NAME(insert_body)(int64_t n, STATE, const void *points, uint32_t *slots, uint16_t *ranks,
                              void *records, char *partials) {
  (void)ranks, (void)records, (void)partials;
  for (int64_t i = global_thread(); i < n; i += global_threads())
    NAME(insert_point)(points, slots, s->slots - 1, i);
}

INLINE void NAME(equal_body)(int64_t n, STATE, const void *points, uint32_t *slots, uint16_t *ranks,
                             void *records, char *partials) {
  (void)ranks, (void)records;
  davit_closest_pair_result best = DVT_NO_PAIR;
  const int64_t end = share_of(n, s->part + 1, s->parts);
  for (int64_t i = share_of(n, s->part, s->parts) + global_thread(); i < end; i += global_threads()) {
    const int64_t first = NAME(least_equal)(points, slots, s->slots - 1, i);
    if (first < i)
      dvt_pair_offer(0, first, i, &best);
  }
  conclude(s, best, partials);
}
#undef STATE
#endif

/* ---- the same on the CPU ---- */

static void NAME(box_host)(int threads, int64_t n, dvt_closest_state *s, const void *points, uint32_t *table,
                           uint16_t *ranks, void *records) {
  (void)table, (void)ranks, (void)records;
  double low[3] = {__builtin_inf(), __builtin_inf(), __builtin_inf()},
         high[3] = {-__builtin_inf(), -__builtin_inf(), -__builtin_inf()};
  int64_t bad = INT64_MAX;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(min : low, bad) reduction(max : high)
  for (int64_t i = 0; i < n; i++)
    for (int k = 0; k < DIM; k++) {
      const double at = (double)((const T *)points)[i * DIM + k];
      low[k] = at < low[k] ? at : low[k];
      high[k] = at > high[k] ? at : high[k];
      if (!(__builtin_fabs(at) < __builtin_inf()) && i < bad)
        bad = i;
    }
  memcpy(s->low, low, sizeof low);
  memcpy(s->high, high, sizeof high);
  s->bad = bad;
}

static void NAME(gather_host)(int threads, int64_t n, dvt_closest_state *s, const void *points,
                              uint32_t *table, uint16_t *ranks, void *records) {
  (void)table, (void)ranks;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t k = 0; k < s->sample; k++)
    memcpy((T *)records + k * DIM, (const T *)points + shuffled(k, n, s->seed) * DIM, DIM * sizeof(T));
}

static void NAME(count_host)(int threads, int64_t n, dvt_closest_state *s, const void *points,
                             uint32_t *table, uint16_t *ranks, void *records) {
  (void)records;
  const dvt_closest_grid g = s->grid;
  uint64_t pairs = 0;
#pragma omp parallel num_threads(threads) reduction(+ : pairs)
  {
    const int64_t team = omp_get_num_threads(), end = share_of(n, omp_get_thread_num() + 1, team);
    for (int64_t i = share_of(n, omp_get_thread_num(), team);
         i < end && !__scoped_atomic_load_n(&s->stop, RELAXED); i++) {
      const uint32_t rank = next_rank(&table[bucket_of(&g, NAME(point_at)(points, i), DIM)], team == 1);
      ranks[i] = (uint16_t)rank;
      pairs += rank;
      if (rank >= g.crowd)
        __scoped_atomic_store_n(&s->stop, 1, RELAXED);
    }
  }
  s->ranks = pairs;
}

static void NAME(place_host)(int threads, int64_t n, dvt_closest_state *s, const void *points,
                             uint32_t *table, uint16_t *ranks, void *records) {
  const dvt_closest_grid g = s->grid;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < n; i++) {
    const point p = NAME(point_at)(points, i);
    NAME(put)((NAME(record) *)records + (table[bucket_of(&g, p, DIM)] - 1 - ranks[i]), p, i);
  }
}

INLINE void NAME(search_host)(int threads, int64_t n, dvt_closest_state *s, const uint32_t *table,
                              const NAME(record) * records, bool hashed) {
  const dvt_closest_grid g = s->grid;
  const double known = s->known;
  const int64_t begin = NAME(share)(&g, table, records, n, s->part, s->parts),
                end = NAME(share)(&g, table, records, n, s->part + 1, s->parts);
#pragma omp parallel num_threads(threads)
  {
    NAME(search) c = {.best = DVT_NO_PAIR};
#pragma omp for schedule(dynamic, 4096)
    for (int64_t p = begin; p < end; p++) {
      NAME(search_for)(&c, s, &g, table, records, (uint32_t)p, known, hashed);
      if (c.nearer)
        tell_bound(s, c.best.distance);
    }
#pragma omp critical(closest_pair)
    dvt_pair_offer(c.best.distance, c.best.i, c.best.j, &s->pair);
  }
}

static void NAME(search_dense_host)(int threads, int64_t n, dvt_closest_state *s, const void *points,
                                    uint32_t *table, uint16_t *ranks, void *records) {
  (void)points, (void)ranks;
  NAME(search_host)(threads, n, s, table, records, false);
}

static void NAME(search_hashed_host)(int threads, int64_t n, dvt_closest_state *s, const void *points,
                                     uint32_t *table, uint16_t *ranks, void *records) {
  (void)points, (void)ranks;
  NAME(search_host)(threads, n, s, table, records, true);
}

static void NAME(insert_host)(int threads, int64_t n, dvt_closest_state *s, const void *points,
                              uint32_t *slots, uint16_t *ranks, void *records) {
  (void)ranks, (void)records;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < n; i++)
    NAME(insert_point)(points, slots, s->slots - 1, i);
}

static void NAME(equal_host)(int threads, int64_t n, dvt_closest_state *s, const void *points,
                             uint32_t *slots, uint16_t *ranks, void *records) {
  (void)ranks, (void)records;
  const int64_t begin = share_of(n, s->part, s->parts), end = share_of(n, s->part + 1, s->parts);
#pragma omp parallel num_threads(threads)
  {
    davit_closest_pair_result best = DVT_NO_PAIR;
#pragma omp for schedule(static)
    for (int64_t i = begin; i < end; i++) {
      const int64_t first = NAME(least_equal)(points, slots, s->slots - 1, i);
      if (first < i)
        dvt_pair_offer(0, first, i, &best);
    }
#pragma omp critical(closest_pair)
    dvt_pair_offer(best.distance, best.i, best.j, &s->pair);
  }
}

/* ---- all pairs on the CPU ---- */

/* Whether one of `count` points is within `limit`. */
INLINE bool NAME(any_near)(const double *x, int64_t stride, int64_t count, point own, double limit) {
  const double *y = x + stride, *z = x + 2 * stride;
  int64_t near = 0;
  for (int64_t t = 0; t < count; t++) {
    const double dx = own.x - x[t], dy = own.y - y[t], dz = DIM > 2 ? own.z - z[t] : 0;
    near |= dx * dx + dy * dy + dz * dz <= limit;
  }
  return near != 0;
}

/* Point i against those behind it: each line of them in vectors first. */
INLINE void NAME(brute_row)(const double *x, int64_t n, int64_t i, dvt_closest_state *s,
                            davit_closest_pair_result *best) {
  const point own = {x[i], x[n + i], DIM > 2 ? x[2 * n + i] : 0};
  double limit = dvt_pair_limit(bound_of(s, s->known));
  for (int64_t first = i + 1; first < n; first += LINE) {
    const int64_t end = first + LINE < n ? first + LINE : n;
    if (!(end - first == LINE ? NAME(any_near)(x + first, n, LINE, own, limit)
                              : NAME(any_near)(x + first, n, end - first, own, limit)))
      continue;
    for (int64_t j = first; j < end; j++) {
      const double distance =
          dvt_pair_distance(own.x - x[j], own.y - x[n + j], DIM > 2 ? own.z - x[2 * n + j] : 0);
      const bool nearer = distance < best->distance;
      dvt_pair_offer(distance, i, j, best);
      if (nearer) {
        const double closer = dvt_pair_limit(distance);
        limit = closer < limit ? closer : limit;
        tell_bound(s, distance);
      }
    }
  }
}

typedef void NAME(brute_variant)(const double *x, int64_t n, int64_t i, dvt_closest_state *s,
                                 davit_closest_pair_result *best);
#define VARIANT(number, attributes)                                                                          \
  attributes static void NAME(brute_row_##number)(const double *x, int64_t n, int64_t i,                     \
                                                  dvt_closest_state *s, davit_closest_pair_result *best) {   \
    NAME(brute_row)(x, n, i, s, best);                                                                       \
  }
DVT_CPU_VARIANTS(VARIANT)
#undef VARIANT

static void NAME(brute_host)(int threads, int64_t n, dvt_closest_state *s, const void *points,
                             uint32_t *table, uint16_t *ranks, void *records) {
  static NAME(brute_variant) *const variants[] = {
#define VARIANT(number, attributes) NAME(brute_row_##number),
      DVT_CPU_VARIANTS(VARIANT)
#undef VARIANT
  };
  NAME(brute_variant) *const row = variants[dvt_cpu_best()];
  double *x = records;
  (void)table, (void)ranks;
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static)
    for (int64_t i = 0; i < n; i++)
      for (int k = 0; k < DIM; k++)
        x[k * n + i] = (double)((const T *)points)[i * DIM + k];
    davit_closest_pair_result best = DVT_NO_PAIR;
#pragma omp for schedule(dynamic, 16)
    for (int64_t i = 0; i < n; i++)
      if (i / BLOCK % s->parts == s->part)
        row(x, n, i, s, &best);
#pragma omp critical(closest_pair)
    dvt_pair_offer(best.distance, best.i, best.j, &s->pair);
  }
}

/* ---- regions ---- */

#ifdef DVT_EMULATED /* kernels are run by others */
#define PRAGMA(...)
#else
#define PRAGMA(...) _Pragma(#__VA_ARGS__)
#endif
#define REGION(name)                                                                                         \
  __attribute__((used)) static void NAME(name)(int device, int teams, int64_t n, dvt_closest_state *s,       \
                                               const void *points, uint32_t *table, uint16_t *ranks,         \
                                               void *records, char *partials) {                              \
    (void)device, (void)teams;                                                                               \
    PRAGMA(omp target teams ompx_bare num_teams(teams) thread_limit(THREADS) device(device)                  \
               is_device_ptr(s, points, table, ranks, records, partials)) {                                  \
      BODY(name##_body)(n, s, points, table, ranks, records, partials);                                      \
    }                                                                                                        \
  }                                                                                                          \
  static dvt_kernel NAME(name##_kernel) = {.function = TEXT(NAME(name))};
REGION(box)
REGION(gather)
REGION(brute)
REGION(plan_dense)
REGION(plan_hashed)
REGION(count)
REGION(place)
#ifdef PARTED
REGION(part_points)
REGION(part_records)
REGION(settle)
#endif
REGION(search_dense)
REGION(search_hashed)
REGION(insert)
REGION(equal)
#undef REGION
#undef PRAGMA

#define STEP(host_function, name) {&NAME(name##_kernel), NAME(name), host_function}
static const kind NAME(kind) = {.point_bytes = DIM * sizeof(T),
                                .record_bytes = sizeof(NAME(record)),
                                .step = {[BOX] = STEP(NAME(box_host), box),
                                         [GATHER] = STEP(NAME(gather_host), gather),
                                         [BRUTE] = STEP(NAME(brute_host), brute),
                                         [PLAN_DENSE] = STEP(NULL, plan_dense),
                                         [PLAN_HASHED] = STEP(NULL, plan_hashed),
                                         [COUNT] = STEP(NAME(count_host), count),
                                         [PLACE] = STEP(NAME(place_host), place),
#ifdef PARTED
                                         [PART_POINTS] = STEP(NULL, part_points),
                                         [PART_RECORDS] = STEP(NULL, part_records),
                                         [SETTLE] = STEP(NULL, settle),
#endif
                                         [SEARCH_DENSE] = STEP(NAME(search_dense_host), search_dense),
                                         [SEARCH_HASHED] = STEP(NAME(search_hashed_host), search_hashed),
                                         [INSERT] = STEP(NAME(insert_host), insert),
                                         [EQUAL] = STEP(NAME(equal_host), equal)}};
#undef STEP
