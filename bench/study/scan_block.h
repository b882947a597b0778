/* The lecture's scans, corrected, for one monoid and one block size. Included with
 *   ELEMENT, COMBINE(left, right), IDENTITY
 *   BLOCK         threads of a block, 1 … 1024, any number
 *   NAME(name)    names of their own
 *   HOST_ONLY     defined where no target regions are wanted
 *
 * Values always stand right of those before them. A kernel scans tile `team` of x for itself; y may be x.
 * `totals`, where it is not NULL, gets the sum of each tile, which is never taken from an exclusive
 * result: that lacks the last element. The identity stands for elements from n on. */

enum { NAME(threads) = WARPS_OF(BLOCK) * 32, NAME(each) = 8 };

static inline ELEMENT NAME(read)(const ELEMENT *x, int64_t n, int64_t i) {
  return i < n ? x[i] : IDENTITY;
}

/* P1, inclusive: after the step of `offset` each value holds the sum of 2 offset. A barrier between
 * reading and writing, one between the steps. θ(n log n) combinations. */
static inline void NAME(naive)(int64_t team, int64_t n, const ELEMENT *x, ELEMENT *y, ELEMENT *totals,
                               int exclusive) {
  SHARED(ELEMENT, values, BLOCK);
  PRIVATE(ELEMENT, left, BLOCK);
  (void)exclusive;
  PHASE(t, BLOCK)
  values[t] = NAME(read)(x, n, team * BLOCK + t);
  BARRIER();
  for (int offset = 1; offset < BLOCK; offset *= 2) {
    PHASE(t, BLOCK)
    OWN(left, t) = t >= offset ? values[t - offset] : IDENTITY;
    BARRIER();
    PHASE(t, BLOCK)
    if (t >= offset) {
      NOTE_COMBINE(t, t - offset, t);
      ELEMENT right = values[t];
      values[t] = COMBINE(OWN(left, t), right);
    }
    BARRIER();
  }
  PHASE(t, BLOCK) {
    if (team * BLOCK + t < n)
      y[team * BLOCK + t] = values[t];
    if (totals && t == BLOCK - 1)
      totals[team] = values[t];
  }
}

/* P2: each warp scans its 32 values, which become inclusive sums whatever the kind; own[] is what the kind
 * asks for. `count` is a multiple of 32; all threads of the block come here. */
static inline void NAME(scan_warps)(SPACE ELEMENT *values, int count, int exclusive, ELEMENT *own) {
  PRIVATE(ELEMENT, left, NAME(threads));
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    PHASE(t, count)
    OWN(left, t) = (t & 31) >= d ? values[t - d] : IDENTITY;
    WARP_BARRIER();
    PHASE(t, count)
    if ((t & 31) >= d) {
      NOTE_COMBINE(t, t - d, t);
      ELEMENT right = values[t];
      values[t] = COMBINE(OWN(left, t), right);
    }
    WARP_BARRIER();
  }
  PHASE(t, count)
  OWN(own, t) = !exclusive ? values[t] : (t & 31) > 0 ? values[t - 1] : IDENTITY;
}

static inline void NAME(warps)(int64_t team, int64_t n, const ELEMENT *x, ELEMENT *y, ELEMENT *totals,
                               int exclusive) {
  SHARED(ELEMENT, values, NAME(threads));
  PRIVATE(ELEMENT, own, NAME(threads));
  (void)totals;
  PHASE(t, NAME(threads))
  values[t] = NAME(read)(x, n, team * NAME(threads) + t);
  WARP_BARRIER();
  NAME(scan_warps)(values, NAME(threads), exclusive, own);
  PHASE(t, NAME(threads))
  if (team * NAME(threads) + t < n)
    y[team * NAME(threads) + t] = OWN(own, t);
}

/* P3: the warps (1), their totals (2), the exclusive scan of these by one warp (3), and each value with
 * the total of all warps before on its left (4). The printed step 3 leaves inclusive totals and drops the
 * exclusive ones; the printed step 4 puts them on the right. totals[] has 32 entries of its own, all
 * written. */
static inline void NAME(scan_block)(SPACE ELEMENT *values, SPACE ELEMENT *totals, int exclusive,
                                    ELEMENT *own) {
  PRIVATE(ELEMENT, before, NAME(threads));
  NAME(scan_warps)(values, NAME(threads), exclusive, own);
  BARRIER();
  PHASE(t, NAME(threads)) {
    if ((t & 31) == 31)
      totals[t / 32] = values[t];
    if (t < 32 && t >= NAME(threads) / 32)
      totals[t] = IDENTITY;
  }
  BARRIER();
  NAME(scan_warps)(totals, 32, 1, before);
  WARP_BARRIER();
  PHASE(t, 32)
  totals[t] = OWN(before, t);
  BARRIER();
  PHASE(t, NAME(threads))
  if (t >= 32) {
    NOTE_COMBINE(t, t / 32, t);
    ELEMENT prefix = totals[t / 32];
    OWN(own, t) = COMBINE(prefix, OWN(own, t));
  }
  BARRIER();
}

static inline void NAME(block)(int64_t team, int64_t n, const ELEMENT *x, ELEMENT *y, ELEMENT *totals,
                               int exclusive) {
  SHARED(ELEMENT, values, NAME(threads));
  SHARED(ELEMENT, warp_totals, 32);
  PRIVATE(ELEMENT, own, NAME(threads));
  const int64_t first = team * BLOCK, end = first + BLOCK < n ? first + BLOCK : n;
  PHASE(t, NAME(threads))
  values[t] = NAME(read)(x, end, first + t);
  BARRIER();
  NAME(scan_block)(values, warp_totals, exclusive, own);
  PHASE(t, NAME(threads)) {
    if (first + t < end)
      y[first + t] = OWN(own, t);
    if (totals && t == NAME(threads) - 1) {
      ELEMENT prefix = warp_totals[t / 32], warp = values[t];
      totals[team] = COMBINE(prefix, warp);
    }
  }
}

/* Cost-optimal: a thread scans several elements in turn, the block scans the threads' sums exclusively,
 * and each thread puts its sum of all before to the left of what it wrote. About 2 combinations an
 * element. */
static inline void NAME(several)(int64_t team, int64_t n, const ELEMENT *x, ELEMENT *y, ELEMENT *totals,
                                 int exclusive) {
  SHARED(ELEMENT, values, NAME(threads));
  SHARED(ELEMENT, warp_totals, 32);
  PRIVATE(ELEMENT, before, NAME(threads));
  const int64_t tile = team * BLOCK * NAME(each);
  PHASE(t, NAME(threads)) {
    ELEMENT sum = IDENTITY;
    for (int k = 0; k < NAME(each) && t < BLOCK; k++) {
      const int64_t i = tile + t * NAME(each) + k;
      if (i < n) {
        ELEMENT next = x[i];
        if (k > 0)
          NOTE_COMBINE(t, t, t);
        sum = k > 0 ? COMBINE(sum, next) : next;
        y[i] = sum;
      }
    }
    values[t] = sum;
  }
  BARRIER();
  NAME(scan_block)(values, warp_totals, 1, before);
  PHASE(t, NAME(threads)) {
    /* From the end, so that the exclusive form finds the element before as it was. */
    for (int k = NAME(each) - 1; k >= 0 && t < BLOCK; k--) {
      const int64_t i = tile + t * NAME(each) + k;
      if (i < n && (k > 0 || !exclusive)) {
        NOTE_COMBINE(t, t, t);
        ELEMENT own = y[exclusive ? i - 1 : i];
        y[i] = COMBINE(OWN(before, t), own);
      } else if (i < n) {
        y[i] = OWN(before, t);
      }
    }
    if (totals && t == NAME(threads) - 1) {
      ELEMENT prefix = warp_totals[t / 32], warp = values[t];
      totals[team] = COMBINE(prefix, warp);
    }
  }
}

/* The last step of P4: y[i] gets the sum of all tiles before its own on the left. */
static inline void NAME(shift)(int64_t team, int64_t n, int64_t tile, const ELEMENT *prefixes, ELEMENT *y) {
  PHASE(t, BLOCK) {
    const int64_t i = team * BLOCK + t;
    if (i < n) {
      NOTE_COMBINE(t, t, t);
      ELEMENT prefix = prefixes[i / tile], own = y[i];
      y[i] = COMBINE(prefix, own);
    }
  }
}

/* ---- the kernels as functions of one type: a block on the CPU, a grid on a GPU ---- */

#ifdef DVT_GPU
#define RUN(kernel) NAME(kernel)(first + dvt_team(), n, x, y, totals, (int)exclusive)
#define RUN_SHIFT() NAME(shift)(first + dvt_team(), n, tile, prefixes, y)
#else
#define RUN(kernel) ((void)first, (void)n, (void)x, (void)y, (void)totals, (void)exclusive)
#define RUN_SHIFT() ((void)first, (void)n, (void)tile, (void)prefixes, (void)y)
#endif

#define BLOCK_OF(kernel)                                                                                     \
  static void NAME(kernel##_block)(int64_t team, int64_t n, const void *x, void *y, void *totals,            \
                                   int exclusive) {                                                          \
    NAME(kernel)(team, n, x, y, totals, exclusive);                                                          \
  }

#ifdef HOST_ONLY
#define FORM(kernel) BLOCK_OF(kernel)
#define ROW(kernel) {NAME(kernel##_block), NULL}
#else
#define FORM(kernel)                                                                                         \
  BLOCK_OF(kernel)                                                                                           \
  static inline void NAME(kernel##_body)(int64_t first, int64_t n, const ELEMENT *x, ELEMENT *y,             \
                                         ELEMENT *totals, int64_t exclusive) {                               \
    RUN(kernel);                                                                                             \
  }                                                                                                          \
  static void NAME(kernel##_grid)(int device, int teams, int64_t first, int64_t n, const void *from,         \
                                  void *to, void *sums, int64_t exclusive) {                                 \
    const ELEMENT *x = from;                                                                                 \
    ELEMENT *y = to, *totals = sums;                                                                         \
    PRAGMA(omp target teams ompx_bare num_teams(teams) thread_limit(NAME(threads)) device(device)            \
               is_device_ptr(x, y, totals))                                                                  \
    NAME(kernel##_body)(first, n, x, y, totals, exclusive);                                                  \
  }
#define ROW(kernel) {NAME(kernel##_block), NAME(kernel##_grid)}

static inline void NAME(shift_body)(int64_t first, int64_t n, int64_t tile, const ELEMENT *prefixes,
                                    ELEMENT *y) {
  RUN_SHIFT();
}

static void NAME(shift_grid)(int device, int teams, int64_t first, int64_t n, int64_t tile, const void *sums,
                             void *to) {
  const ELEMENT *prefixes = sums;
  ELEMENT *y = to;
#pragma omp target teams ompx_bare num_teams(teams) thread_limit(NAME(threads)) device(device)               \
    is_device_ptr(prefixes, y)
  NAME(shift_body)(first, n, tile, prefixes, y);
}
#endif

static void NAME(shift_block)(int64_t team, int64_t n, int64_t tile, const void *prefixes, void *y) {
  NAME(shift)(team, n, tile, prefixes, y);
}

FORM(naive)
FORM(warps)
FORM(block)
FORM(several)

static const dvt_study_scan_forms NAME(forms) = {
    {ROW(naive), ROW(warps), ROW(block), ROW(several)},
    NAME(shift_block),
#ifdef HOST_ONLY
    NULL,
#else
    NAME(shift_grid),
#endif
};
#undef RUN
#undef RUN_SHIFT
#undef BLOCK_OF
#undef FORM
#undef ROW
