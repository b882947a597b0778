/* The ladder's kernels for one element type and one block size. Included with
 *   ELEMENT, COMBINE(left, right), IDENTITY
 *   BLOCK             threads of a block, a power of two, 2 … 1024
 *   NAME(name)        names of their own
 *   COMMUTES          defined where K3 … K6 may be had: they change the order of the operands
 *   HOST_ONLY         defined where no target regions are wanted
 *
 * A kernel reduces tile `team` of the input (K6: every teams-th tile) to output[team]. Elements from n on
 * are not read; the identity stands for them. */

enum { NAME(threads) = WARPS_OF(BLOCK) * 32 };

static inline ELEMENT NAME(load)(const ELEMENT *input, int64_t n, int64_t i, int t) {
  (void)t;
  if (i >= n)
    return IDENTITY;
  NOTE_LOAD(t, i);
  return input[i];
}

static inline void NAME(fold)(SPACE ELEMENT *s, int t, int left, int right) {
  (void)t;
  NOTE_COMBINE(t, left, right);
  ELEMENT a = s[left], b = s[right];
  s[left] = COMBINE(a, b);
}

/* Interleaved addressing: thread t is active if t is a multiple of 2 step. The remainder costs what it did
 * on the source's cards: without OPAQUE the compiler makes a mask of it. */
static inline void NAME(k1)(int64_t team, int64_t teams, ELEMENT *output, const ELEMENT *input, int64_t n) {
  SHARED(ELEMENT, s, BLOCK);
  (void)teams;
  PHASE(t, BLOCK)
  s[t] = NAME(load)(input, n, team * BLOCK + t, t);
  BARRIER();
#pragma nounroll
  for (int step = 1; step < BLOCK; step *= 2) {
    unsigned stride = 2 * (unsigned)step;
    OPAQUE(stride);
    PHASE(t, BLOCK)
    if ((unsigned)t % stride == 0)
      NAME(fold)(s, t, t, t + step);
    BARRIER();
  }
  PHASE(t, 1)
  output[team] = s[t];
}

/* The same pairs, by the first BLOCK / (2 step) threads. */
static inline void NAME(k2)(int64_t team, int64_t teams, ELEMENT *output, const ELEMENT *input, int64_t n) {
  SHARED(ELEMENT, s, BLOCK);
  (void)teams;
  PHASE(t, BLOCK)
  s[t] = NAME(load)(input, n, team * BLOCK + t, t);
  BARRIER();
#pragma nounroll
  for (int step = 1; step < BLOCK; step *= 2) {
    PHASE(t, BLOCK) {
      int i = 2 * t * step;
      if (i < BLOCK)
        NAME(fold)(s, t, i, i + step);
    }
    BARRIER();
  }
  PHASE(t, 1)
  output[team] = s[t];
}

#ifdef COMMUTES
/* Sequential addressing, in a loop. */
static inline void NAME(halve)(SPACE ELEMENT *s) {
#pragma nounroll
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    PHASE(t, half)
    NAME(fold)(s, t, t, t + half);
    BARRIER();
  }
}

static inline void NAME(k3)(int64_t team, int64_t teams, ELEMENT *output, const ELEMENT *input, int64_t n) {
  SHARED(ELEMENT, s, BLOCK);
  (void)teams;
  PHASE(t, BLOCK)
  s[t] = NAME(load)(input, n, team * BLOCK + t, t);
  BARRIER();
  NAME(halve)(s);
  PHASE(t, 1)
  output[team] = s[t];
}

/* A tile of 2 BLOCK elements, so half the blocks: the first addition is done while loading. */
static inline void NAME(load_two)(int64_t team, SPACE ELEMENT *s, const ELEMENT *input, int64_t n) {
  PHASE(t, BLOCK) {
    int64_t i = team * (2 * BLOCK) + t;
    ELEMENT a = NAME(load)(input, n, i, t), b = NAME(load)(input, n, i + BLOCK, t);
    s[t] = COMBINE(a, b);
  }
  BARRIER();
}

static inline void NAME(k4)(int64_t team, int64_t teams, ELEMENT *output, const ELEMENT *input, int64_t n) {
  SHARED(ELEMENT, s, BLOCK);
  (void)teams;
  NAME(load_two)(team, s, input, n);
  NAME(halve)(s);
  PHASE(t, 1)
  output[team] = s[t];
}

/* One stage of the unrolled tree, and its barrier. */
#define STAGE(half, barrier)                                                                                 \
  if (BLOCK >= 2 * (half)) {                                                                                 \
    PHASE(t, half)                                                                                           \
    NAME(fold)(s, t, t, t + (half));                                                                         \
    barrier();                                                                                               \
  }

static inline void NAME(unrolled_to_warp)(SPACE ELEMENT *s) {
  (void)s;
  STAGE(512, BARRIER)
  STAGE(256, BARRIER)
  STAGE(128, BARRIER)
  STAGE(64, BARRIER)
}

/* The last warp with barriers of the warp. The source has none, lets all 32 threads add in every stage,
 * and so reads what others write, and past the array where BLOCK is below 64; here a stage has as many
 * threads as sums. */
static inline void NAME(last_by_barriers)(SPACE ELEMENT *s, ELEMENT *result) {
  if (FIRST_WARP()) {
    STAGE(32, WARP_BARRIER)
    STAGE(16, WARP_BARRIER)
    STAGE(8, WARP_BARRIER)
    STAGE(4, WARP_BARRIER)
    STAGE(2, WARP_BARRIER)
    STAGE(1, WARP_BARRIER)
  }
  PHASE(t, 1)
  *result = s[t];
}

/* The last warp in registers: the lanes hand each other their sums, which needs neither memory nor
 * barrier. */
static inline void NAME(last_by_shuffles)(SPACE ELEMENT *s, ELEMENT *result) {
  PRIVATE(ELEMENT, value, 32);
  PRIVATE(ELEMENT, other, 32);
  if (FIRST_WARP()) {
    PHASE(t, 32) {
      OWN(value, t) = t < BLOCK ? s[t] : IDENTITY;
      if (BLOCK >= 64) {
        NOTE_COMBINE(t, t, t + 32);
        ELEMENT right = s[(t + 32) % BLOCK];
        OWN(value, t) = COMBINE(OWN(value, t), right);
      }
    }
#pragma unroll
    for (int distance = BLOCK < 32 ? BLOCK / 2 : 16; distance > 0; distance /= 2) {
#ifndef DVT_GPU
      WARP_BARRIER(); /* a step of the record: the shuffle itself holds the lanes together */
#endif
      PHASE(t, 32)
      OWN(other, t) = FROM_LANE(ELEMENT, value, t, t + distance);
      PHASE(t, 32) {
        NOTE_COMBINE(t, t, (t + distance) & 31);
        OWN(value, t) = COMBINE(OWN(value, t), OWN(other, t));
      }
    }
    PHASE(t, 1)
    *result = OWN(value, t);
  }
}

#define UNROLLED(kernel, load, last)                                                                         \
  static inline void NAME(kernel)(int64_t team, int64_t teams, ELEMENT *output, const ELEMENT *input,        \
                                  int64_t n) {                                                               \
    SHARED(ELEMENT, s, BLOCK);                                                                               \
    (void)teams;                                                                                             \
    load;                                                                                                    \
    NAME(unrolled_to_warp)(s);                                                                               \
    NAME(last)(s, &output[team]);                                                                            \
  }

/* Several elements a thread: tiles team, team + teams, …. The identity is the operator's; the source
 * writes 0. */
static inline void NAME(load_many)(int64_t team, int64_t teams, SPACE ELEMENT *s, const ELEMENT *input,
                                   int64_t n) {
  PHASE(t, BLOCK) {
    s[t] = IDENTITY;
    for (int64_t i = team * (2 * BLOCK) + t; i < n; i += teams * (2 * BLOCK)) {
      ELEMENT a = NAME(load)(input, n, i, t), b = NAME(load)(input, n, i + BLOCK, t), both = COMBINE(a, b);
      s[t] = COMBINE(s[t], both);
    }
  }
  BARRIER();
}

UNROLLED(k5_barriers, NAME(load_two)(team, s, input, n), last_by_barriers)
UNROLLED(k5_shuffles, NAME(load_two)(team, s, input, n), last_by_shuffles)
UNROLLED(k6_barriers, NAME(load_many)(team, teams, s, input, n), last_by_barriers)
UNROLLED(k6_shuffles, NAME(load_many)(team, teams, s, input, n), last_by_shuffles)
#undef STAGE
#undef UNROLLED
#endif

/* ---- the kernels as functions of one type: a block on the CPU, a grid on a GPU ---- */

#ifdef DVT_GPU
#define RUN(kernel) NAME(kernel)(dvt_team(), dvt_teams(), output, input, n)
#else
#define RUN(kernel) ((void)output, (void)input, (void)n) /* never launched on a CPU */
#endif

#define BLOCK_OF(kernel)                                                                                     \
  static void NAME(kernel##_block)(int64_t team, int64_t teams, void *output, const void *input,             \
                                   int64_t n) {                                                              \
    NAME(kernel)(team, teams, output, input, n);                                                             \
  }

#ifdef HOST_ONLY
#define FORM(kernel) BLOCK_OF(kernel)
#define ROW(kernel) {NAME(kernel##_block), NULL}
#else
#define FORM(kernel)                                                                                         \
  BLOCK_OF(kernel)                                                                                           \
  static inline void NAME(kernel##_body)(ELEMENT * output, const ELEMENT *input, int64_t n) {                \
    RUN(kernel);                                                                                             \
  }                                                                                                          \
  static void NAME(kernel##_grid)(int device, int teams, void *partials, const void *elements, int64_t n) {  \
    ELEMENT *output = partials;                                                                              \
    const ELEMENT *input = elements;                                                                         \
    PRAGMA(omp target teams ompx_bare num_teams(teams) thread_limit(NAME(threads)) device(device)            \
               is_device_ptr(output, input))                                                                 \
    NAME(kernel##_body)(output, input, n);                                                                   \
  }
#define ROW(kernel) {NAME(kernel##_block), NAME(kernel##_grid)}
#endif

FORM(k1)
FORM(k2)
#ifdef COMMUTES
FORM(k3)
FORM(k4)
FORM(k5_barriers)
FORM(k5_shuffles)
FORM(k6_barriers)
FORM(k6_shuffles)
#endif

static const dvt_study_reduce_form NAME(forms)[DVT_STUDY_REDUCE_FORMS] = {
    ROW(k1), ROW(k2),
#ifdef COMMUTES
    ROW(k3), ROW(k4), ROW(k5_barriers), ROW(k5_shuffles), ROW(k6_barriers), ROW(k6_shuffles),
#endif
};
#undef RUN
#undef BLOCK_OF
#undef FORM
#undef ROW
