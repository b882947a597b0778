/* Scan for one monoid on the CPU. Included after words.h and scan.h of the monoid; needs <omp.h>. All keep
 * the operands' order. */

enum {
  DVT_M(strips) = 8, /* worked on side by side, so that one chain of operations does not wait for itself */
  DVT_M(strip) =
      sizeof(DVT_T) <= 8
          ? 528
          : 144, /* a multiple of 16, but no power of two, or all strips would share a few sets of the cache */
  DVT_M(piece) = DVT_M(strips) * DVT_M(strip), /* fits the first-level cache */
  DVT_M(block) = DVT_M(piece) * 8,             /* of a thread, fits the second-level cache */
  DVT_M(most_threads) = 256
};

/* The last head among n elements, -1 if there is none. */
static inline __attribute__((always_inline)) int64_t DVT_M(host_last_head)(int64_t n, const uint8_t *flags) {
  for (uint64_t eight; n >= 8; n -= 8) {
    __builtin_memcpy(&eight, flags + n - 8, 8);
    if (eight)
      break;
  }
  while (n > 0 && !flags[n - 1])
    n--;
  return n - 1;
}

#ifdef DVT_REGROUP
/* Sum of n > 0 elements for an operation that commutes: so many sums side by side that the compiler uses vectors. */
static inline __attribute__((always_inline)) DVT_T DVT_M(fold_strip)(int64_t n, const DVT_T *x) {
  enum { LANES = 16 };
  DVT_T lane[LANES], sum = x[0];
  int64_t i = 1;
  if (n >= LANES) {
    for (int l = 0; l < LANES; l++)
      lane[l] = x[l];
    for (i = LANES; i + LANES <= n; i += LANES)
      for (int l = 0; l < LANES; l++)
        lane[l] = DVT_COMBINE(lane[l], x[i + l]);
    for (int l = 1; l < LANES; l++)
      sum = DVT_COMBINE(l == 1 ? lane[0] : sum, lane[l]);
  }
  for (; i < n; i++)
    sum = DVT_COMBINE(sum, x[i]);
  return sum;
}
#endif

/* Sums of the strips of a piece, each from its last head on; heads[s] tells whether strip s has one. Without flags there are none. */
static inline __attribute__((always_inline)) void DVT_M(fold_strips)(const DVT_T *x, const uint8_t *flags,
                                                                     DVT_T sum[DVT_M(strips)],
                                                                     bool heads[DVT_M(strips)]) {
#ifdef DVT_REGROUP
  for (int s = 0; s < DVT_M(strips); s++) {
    const int64_t head = flags ? DVT_M(host_last_head)(DVT_M(strip), flags + s * DVT_M(strip)) : -1;
    const DVT_T *strip = x + s * DVT_M(strip);
    heads[s] = head >= 0;
    sum[s] = head < 0 ? DVT_M(fold_strip)(DVT_M(strip), strip)
                      : DVT_M(fold_strip)(DVT_M(strip) - head, strip + head);
  }
#else
  for (int i = 0; i < DVT_M(strip); i++)
    for (int s = 0; s < DVT_M(strips); s++) {
      const int at = s * DVT_M(strip) + i;
      const bool head = flags && flags[at];
      sum[s] = head || i == 0 ? x[at] : DVT_COMBINE(sum[s], x[at]);
      heads[s] = head || (i > 0 && heads[s]);
    }
#endif
}

/* Sum of n elements after `sum`; the sums of the strips of whole pieces are kept. */
static inline __attribute__((always_inline)) DVT_T DVT_M(fold_pieces)(int64_t n, const DVT_T *x, DVT_T sum,
                                                                      DVT_T *kept) {
  for (; n >= DVT_M(piece); n -= DVT_M(piece), x += DVT_M(piece)) {
    DVT_T strip[DVT_M(strips)];
    bool heads[DVT_M(strips)];
    DVT_M(fold_strips)(x, NULL, strip, heads);
    for (int s = 0; s < DVT_M(strips); s++) {
      sum = DVT_COMBINE(sum, strip[s]);
      if (kept)
        *kept++ = strip[s];
    }
  }
  for (int64_t i = 0; i < n; i++)
    sum = DVT_COMBINE(sum, x[i]);
  return sum;
}

/* flags may be NULL. */
static DVT_T DVT_M(host_run)(int64_t n, const DVT_T *x, const uint8_t *flags, DVT_T in, DVT_T *y,
                             bool exclusive) {
  for (int64_t i = 0; i < n; i++) {
    const bool head = flags && flags[i];
    DVT_T left = head ? (DVT_T)DVT_IDENTITY : in;
    in = head ? x[i] : DVT_COMBINE(in, x[i]);
    y[i] = exclusive ? left : in;
  }
  return in;
}

#ifdef DVT_REGROUP
/* Eight elements, of one strip or of eight. */
typedef DVT_T DVT_M(eight) __attribute__((ext_vector_type(8)));
typedef DVT_T DVT_M(eight_in_memory) __attribute__((ext_vector_type(8), aligned(sizeof(DVT_T))));
typedef DVT_ARITHMETIC DVT_M(eight_arithmetic) __attribute__((ext_vector_type(8)));
typedef __typeof__((DVT_M(eight)){0} == (DVT_M(eight)){0}) DVT_M(eight_choices); /* -1: yes, 0: no */
typedef uint64_t DVT_M(eight_words) __attribute__((ext_vector_type(8)));

/* Rows become columns: quarters, halves of them and single elements change places. */
static inline __attribute__((always_inline)) void DVT_M(transpose)(DVT_M(eight) v[8]) {
#define LIST(...) __VA_ARGS__
#define EXCHANGE(apart, low, high)                                                                           \
  for (int k = 0; k < 8; k++)                                                                                \
    if (!(k & (apart))) {                                                                                    \
      const DVT_M(eight) a = v[k], b = v[k + (apart)];                                                       \
      v[k] = __builtin_shufflevector(a, b, LIST low);                                                        \
      v[k + (apart)] = __builtin_shufflevector(a, b, LIST high);                                             \
    }
#pragma unroll
  EXCHANGE(4, (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15))
#pragma unroll
  EXCHANGE(2, (0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15))
#pragma unroll
  EXCHANGE(1, (0, 8, 2, 10, 4, 12, 6, 14), (1, 9, 3, 11, 5, 13, 7, 15))
#undef EXCHANGE
#undef LIST
}

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wconversion" /* it takes a choice in each lane for one */

/* The strips of a piece side by side, each in a lane; entering[s] enters strip s. Whether flags is NULL, and `exclusive`, are
 * constants where this is inlined. passing: y lies at a multiple of a line, and goes past the caches, which is fast by whole lines
 * alone. The next piece is `ahead` elements off (0: none). With flags it is fetched meanwhile: the folds read only the strips' ends, and
 * strips are too short for the processor to foresee. */
static inline __attribute__((always_inline)) void
DVT_M(run_strips)(const DVT_T *x, const uint8_t *flags, DVT_T *y, const DVT_T entering[DVT_M(strips)],
                  const bool exclusive, const bool passing, int ahead) {
  enum { LINE = sizeof(DVT_T) < 8 ? 8 / sizeof(DVT_T) : 1 }; /* eights of a line */
  const DVT_M(eight) identity = (DVT_T)DVT_IDENTITY;
  DVT_M(eight) running, v[LINE][DVT_M(strips)];
  for (int s = 0; s < DVT_M(strips); s++)
    running[s] = entering[s];
  for (int i = 0; i < DVT_M(strip); i += 8 * LINE) {
#pragma unroll
    for (int e = 0; e < LINE; e++) {
#pragma unroll
      for (int s = 0; s < DVT_M(strips); s++)
        v[e][s] = *(const DVT_M(eight_in_memory) *)(x + s * DVT_M(strip) + i + 8 * e);
      DVT_M(transpose)(v[e]);
      DVT_M(eight_words) marks = 0; /* the flags of eight elements of a strip, a byte each */
#pragma unroll
      for (int s = 0; s < DVT_M(strips) && flags; s++) {
        uint64_t word;
        __builtin_memcpy(&word, flags + s * DVT_M(strip) + i + 8 * e, 8);
        if (e == 0) {
          __builtin_prefetch(x + s * DVT_M(strip) + i + ahead);
          __builtin_prefetch(flags + s * DVT_M(strip) + i + ahead);
        }
        marks[s] = word;
      }
#pragma unroll
      for (int k = 0; k < 8; k++) {
        DVT_M(eight) next = DVT_OPERATE(DVT_M(eight), DVT_M(eight_arithmetic), running, v[e][k]);
        if (flags) {
          const DVT_M(eight_choices) head =
              __builtin_convertvector((marks & UINT64_C(0xff) << 8 * k) != 0, DVT_M(eight_choices));
          next = head ? v[e][k] : next;
          running = head ? identity : running;
        }
        v[e][k] = exclusive ? running : next;
        running = next;
      }
      DVT_M(transpose)(v[e]);
    }
#pragma unroll
    for (int s = 0; s < DVT_M(strips); s++)
#pragma unroll
      for (int e = 0; e < LINE; e++)
        if (passing)
          __builtin_nontemporal_store(v[e][s], (DVT_M(eight) *)(y + s * DVT_M(strip) + i + 8 * e));
        else
          *(DVT_M(eight_in_memory) *)(y + s * DVT_M(strip) + i + 8 * e) = v[e][s];
  }
}
#pragma clang diagnostic pop

/* Whether what is written should go past the caches: it begins at a multiple of a line, is not what is read, and more than they hold. */
static inline bool DVT_M(passes)(int64_t n, const DVT_T *x, const DVT_T *y) {
  const int64_t much = INT64_C(1) << 25;
  return (uintptr_t)y % 64 == 0 && x != y && n * (int64_t)sizeof(DVT_T) > much;
}
#else
/* The strips of a piece side by side; running[s] is what enters strip s. `exclusive` is a constant where this is inlined. */
static inline __attribute__((always_inline)) void
DVT_M(run_strips)(const DVT_T *x, const uint8_t *flags, DVT_T *y, const DVT_T entering[DVT_M(strips)],
                  const bool exclusive, const bool passing, int ahead) {
  (void)passing, (void)ahead;
  DVT_T running[DVT_M(strips)];
  for (int s = 0; s < DVT_M(strips); s++)
    running[s] = entering[s];
  for (int i = 0; i < DVT_M(strip); i++)
#pragma unroll
    for (int s = 0; s < DVT_M(strips); s++) {
      const int at = s * DVT_M(strip) + i;
      const bool head = flags && flags[at];
      DVT_T left = head ? (DVT_T)DVT_IDENTITY : running[s];
      running[s] = head ? x[at] : DVT_COMBINE(running[s], x[at]);
      y[at] = exclusive ? left : running[s];
    }
}

static inline bool DVT_M(passes)(int64_t n, const DVT_T *x, const DVT_T *y) {
  (void)n, (void)x, (void)y;
  return false;
}
#endif

/* `flags` may be NULL; so may `kept`, else the sums of the strips, none of which has a head. */
static inline __attribute__((always_inline)) DVT_T DVT_M(run_pieces)(int64_t n, const DVT_T *x,
                                                                     const uint8_t *flags, DVT_T in, DVT_T *y,
                                                                     bool exclusive, bool passing,
                                                                     const DVT_T *kept) {
  for (; n >= DVT_M(piece); n -= DVT_M(piece), x += DVT_M(piece), y += DVT_M(piece)) {
    DVT_T sums[DVT_M(strips)], entering[DVT_M(strips)];
    bool heads[DVT_M(strips)] = {false}, any = false;
    const int ahead = n >= 2 * DVT_M(piece) ? DVT_M(piece) : 0;
    if (!kept)
      DVT_M(fold_strips)(x, flags, sums, heads);
    for (int s = 0; s < DVT_M(strips); s++) {
      DVT_T sum = kept ? *kept++ : sums[s];
      entering[s] = in;
      in = heads[s] ? sum : DVT_COMBINE(in, sum);
      any |= heads[s];
    }
    if (any && exclusive)
      DVT_M(run_strips)(x, flags, y, entering, true, passing, ahead);
    else if (any)
      DVT_M(run_strips)(x, flags, y, entering, false, passing, ahead);
    else if (exclusive)
      DVT_M(run_strips)(x, NULL, y, entering, true, passing, ahead);
    else
      DVT_M(run_strips)(x, NULL, y, entering, false, passing, ahead);
    if (flags)
      flags += DVT_M(piece);
  }
  return DVT_M(host_run)(n, x, flags, in, y, exclusive);
}

#if defined(DVT_REGROUP) && defined(DVT_CPU_VARIANTS)
/* Both by the best instructions that the processor has. */
#define VARIANT(number, attributes)                                                                          \
  attributes static DVT_T DVT_M(fold_pieces_##number)(int64_t n, const DVT_T *x, DVT_T sum, DVT_T *kept) {   \
    return DVT_M(fold_pieces)(n, x, sum, kept);                                                              \
  }                                                                                                          \
  attributes static DVT_T DVT_M(run_pieces_##number)(int64_t n, const DVT_T *x, const uint8_t *flags,        \
                                                     DVT_T in, DVT_T *y, bool exclusive, bool passing,       \
                                                     const DVT_T *kept) {                                    \
    return DVT_M(run_pieces)(n, x, flags, in, y, exclusive, passing, kept);                                  \
  }
DVT_CPU_VARIANTS(VARIANT)
#undef VARIANT

static DVT_T DVT_M(host_fold)(int64_t n, const DVT_T *x, DVT_T sum, DVT_T *kept) {
  static DVT_T (*const variants[])(int64_t, const DVT_T *, DVT_T, DVT_T *) = {
#define VARIANT(number, attributes) DVT_M(fold_pieces_##number),
      DVT_CPU_VARIANTS(VARIANT)
#undef VARIANT
  };
  return variants[dvt_cpu_best()](n, x, sum, kept);
}

static DVT_T DVT_M(host_run_pieces)(int64_t n, const DVT_T *x, const uint8_t *flags, DVT_T in, DVT_T *y,
                                    bool exclusive, bool passing, const DVT_T *kept) {
  static DVT_T (*const variants[])(int64_t, const DVT_T *, const uint8_t *, DVT_T, DVT_T *, bool, bool,
                                   const DVT_T *) = {
#define VARIANT(number, attributes) DVT_M(run_pieces_##number),
      DVT_CPU_VARIANTS(VARIANT)
#undef VARIANT
  };
  return variants[dvt_cpu_best()](n, x, flags, in, y, exclusive, passing, kept);
}
#else
static DVT_T DVT_M(host_fold)(int64_t n, const DVT_T *x, DVT_T sum, DVT_T *kept) {
  return DVT_M(fold_pieces)(n, x, sum, kept);
}

static DVT_T DVT_M(host_run_pieces)(int64_t n, const DVT_T *x, const uint8_t *flags, DVT_T in, DVT_T *y,
                                    bool exclusive, bool passing, const DVT_T *kept) {
  return DVT_M(run_pieces)(n, x, flags, in, y, exclusive, passing, kept);
}
#endif

/* Each thread takes a block at a time, the threads' blocks next to each other: it sums its block from the last head on, learns the
 * others' sums, and writes while the block is still in its cache. So memory is read once. */
static void DVT_M(host_scan)(int threads, int64_t n, const DVT_T *x, const uint8_t *flags,
                             const DVT_T *carry_in, DVT_T *carry_out, DVT_T *y, bool exclusive) {
  DVT_T sums[2][DVT_M(most_threads)], carry = carry_in ? *carry_in : (DVT_T)DVT_IDENTITY;
  bool heads[2][DVT_M(most_threads)];
  const int wanted = n < 2 * DVT_M(block) ? 1 : threads < DVT_M(most_threads) ? threads : DVT_M(most_threads);
  const bool passing = DVT_M(passes)(n, x, y);
#pragma omp parallel num_threads(wanted)
  {
    const int thread = omp_get_thread_num(), team = omp_get_num_threads();
    DVT_T in = carry, kept[DVT_M(block) / DVT_M(strip)];
    int turn = 0;
    for (int64_t first = 0; first < n; first += (int64_t)team * DVT_M(block), turn = !turn) {
      int64_t begin = first + (int64_t)thread * DVT_M(block), end = begin + DVT_M(block);
      begin = begin < n ? begin : n;
      end = end < n ? end : n;
      const uint8_t *marks = flags ? flags + begin : NULL;
      if (team > 1) {
        const int64_t head = flags ? DVT_M(host_last_head)(end - begin, marks) : -1, from = begin + head + 1;
        sums[turn][thread] = DVT_M(host_fold)(
            end - from, x + from, head < 0 ? (DVT_T)DVT_IDENTITY : x[from - 1], head < 0 ? kept : NULL);
        heads[turn][thread] = head >= 0;
        marks = head < 0 ? NULL : marks;
#pragma omp barrier
      }
      DVT_T own = in;
      for (int t = 0; t < team && team > 1; t++) {
        if (t == thread)
          own = in;
        in = heads[turn][t] ? sums[turn][t] : DVT_COMBINE(in, sums[turn][t]);
      }
      DVT_T out = DVT_M(host_run_pieces)(end - begin, x + begin, marks, own, y + begin, exclusive, passing,
                                         team > 1 && !marks ? kept : NULL);
      if (team == 1)
        in = out;
    }
#if defined(__x86_64__) && !defined(DVT_GPU)
    if (passing)
      __builtin_ia32_sfence(); /* stores that went past the caches keep no order with others */
#endif
    if (thread == 0)
      carry = in;
  }
  if (carry_out)
    *carry_out = carry;
}

static void DVT_M(host_prepend)(int threads, int64_t n, const DVT_T *left, DVT_T *y) {
  const DVT_T first = *left;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < n; i++)
    y[i] = DVT_COMBINE(first, y[i]);
}
