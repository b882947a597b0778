/* SPDX-License-Identifier: Apache-2.0 */
/* What the steps of the search for a closest pair share: their arguments, words that several threads change,
 * and what threads compute together. On the CPU a step runs in each thread of a parallel region, and a thread
 * is a team of its own. */
#ifndef DAVIT_OFFLOAD_CLOSEST_PAIR_WORK_H
#define DAVIT_OFFLOAD_CLOSEST_PAIR_WORK_H

#include <omp.h>

#include "offload/closest_pair_grid.h"
#include "offload/kernel/gpu.h"

#ifndef DVT_CLOSEST_CACHE
#define DVT_CLOSEST_CACHE (48 << 20) /* bytes of records that a GPU places at once */
#endif

enum {
  THREADS = 256,
  BLOCK = 2 * THREADS,
  LINE = 128,         /* points that the CPU compares with one before it looks whether one of them is near */
  TILE = 8 * THREADS, /* records of a team's step */
  PART_BITS = 8,      /* of a step: a part for each thread of a team */
  PARTS = 1 << 2 * PART_BITS,
  WINDOW_BITS = 10,
  WINDOW = 1 << WINDOW_BITS,
  PARTIAL_BYTES = 64,
  TURN = 1024,
  HELD = 64 /* pairs that a thread of the CPU holds back */
};

static const uint32_t nobody = UINT32_MAX; /* in a slot of DVT_CLOSEST_EQUAL */

/* The arguments of a step. Each uses those that it needs. */
typedef struct work {
  int64_t n;
  int64_t begin, end; /* which points are counted */
  dvt_closest_state *s;
  const void *points;
  uint32_t *table; /* counters, then ends of buckets; slots of DVT_CLOSEST_EQUAL */
  uint16_t *ranks;
  void *records;
  char *partials; /* of a GPU: PARTIAL_BYTES for each team */
} work;

/* ---- words that several threads change ---- */

#define RELAXED __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE

/* How many have been counted before. */
INLINE uint32_t next_rank(uint32_t *counter) {
#ifndef DVT_GPU
  if (omp_get_num_threads() == 1)
    return (*counter)++;
#endif
  return __scoped_atomic_fetch_add(counter, 1, RELAXED);
}

/* The minimum distance published so far. */
INLINE double bound_of(const dvt_closest_state *s, double known) {
  const double bound = from_bits(~__scoped_atomic_load_n(&s->bound, RELAXED));
  return bound < known ? bound : known; /* all bits set are NaN */
}

INLINE void publish_bound(dvt_closest_state *s, double distance) {
  __scoped_atomic_fetch_max(&s->bound, ~bits_of(distance), RELAXED);
}

/* ---- pairs that are collected ---- */

/* A thread's. On the CPU it gives several pairs at once to the others' array. */
typedef struct collector {
  dvt_closest_state *s;
  davit_closest_pair_result limit, *pairs;
  uint64_t capacity, counted; /* counted: without an array, or held back */
#ifndef DVT_GPU
  davit_closest_pair_result held[HELD];
#endif
} collector;

INLINE collector collector_of(const work *w) {
  collector c;
  c.s = w->s;
  c.limit = w->s->limit;
  c.pairs = (davit_closest_pair_result *)(void *)w->partials;
  c.capacity = (uint64_t)w->s->capacity;
  c.counted = 0;
  return c;
}

/* What comes is not kept: all threads may stop. */
INLINE bool is_full(const collector *c) {
  return c->capacity > 0 && __scoped_atomic_load_n(&c->s->found, RELAXED) > c->capacity;
}

#ifndef DVT_GPU
INLINE void give_held(collector *c) {
  const uint64_t at = __scoped_atomic_fetch_add(&c->s->found, c->counted, RELAXED);
  for (uint64_t k = 0; k < c->counted && at + k < c->capacity; k++)
    c->pairs[at + k] = c->held[k];
  c->counted = 0;
}
#endif

INLINE void collect(collector *c, davit_closest_pair_result pair) {
  if (c->capacity == 0) {
    c->counted++;
    return;
  }
#ifdef DVT_GPU
  const uint64_t at = __scoped_atomic_fetch_add(&c->s->found, 1, RELAXED);
  if (at < c->capacity)
    c->pairs[at] = pair;
#else
  c->held[c->counted++] = pair;
  if (c->counted == HELD)
    give_held(c);
#endif
}

/* ---- placing in steps ---- */

typedef uint32_t quad __attribute__((ext_vector_type(4))); /* a record of floats */

/* What the first step and the second take. */
typedef enum source { FROM_POINTS, FROM_MEMBERS, FROM_RECORDS } source;

/* Records and their places, two arrays of each. Parts are numbered by the bits of a place from shift[] on.
 * The cursor of a part counts the records that have been written to it. */
typedef struct parting {
  int shift[2], bits[2];
  quad *records[2];
  uint32_t *places[2], *cursors[2];
} parting;

INLINE bool is_parted(int64_t n, size_t record_bytes) {
  return record_bytes == sizeof(quad) && (size_t)n * sizeof(quad) > DVT_CLOSEST_CACHE;
}

/* Memory for n records, of which there are `taken`. */
INLINE parting parting_of(void *memory, int64_t n, int64_t taken) {
  const int bits = hash_bits(taken), all = bits > WINDOW_BITS + 2 ? bits : WINDOW_BITS + 2,
            both = all - WINDOW_BITS < 2 * PART_BITS ? all - WINDOW_BITS : 2 * PART_BITS;
  quad *records = memory;
  uint32_t *places = (uint32_t *)(void *)(records + 2 * n);
  return (parting){.shift = {all - both / 2, all - both},
                   .bits = {both / 2, both - both / 2},
                   .records = {records, records + n},
                   .places = {places, places + n},
                   .cursors = {places + 2 * n, places + 2 * n + PARTS}};
}

static size_t parting_bytes(int64_t n) {
  return 2 * ((size_t)n * (sizeof(quad) + sizeof(uint32_t)) + PARTS * sizeof(uint32_t));
}

/* ---- what threads compute together ---- */

/* FOR_OWN(i, begin, end): a loop over the numbers of [begin, end) that belong to this thread. FOR_TURNS is
 * the same in small pieces, which are spread over the threads. */
#ifdef DVT_GPU
#define FOR_OWN(i, begin, end) for (int64_t i = (begin) + global_thread(); i < (end); i += global_threads())
#define FOR_TURNS FOR_OWN

/* The number of the thread among all, and how many there are. */
INLINE int64_t global_thread(void) {
  return (int64_t)dvt_team() * THREADS + dvt_thread();
}

INLINE int64_t global_threads(void) {
  return (int64_t)dvt_teams() * THREADS;
}

INLINE bool is_first_thread(void) {
  return dvt_thread() == 0;
}

/* Whether the team is the last to come here; then it sees what the others' first threads wrote before. */
INLINE bool is_last_team(dvt_closest_state *s) {
  DVT_SHARED uint32_t last;
  if (dvt_thread() == 0) {
    dvt_fence();
    last = dvt_atomic_add(&s->counter, 1) == (uint32_t)dvt_teams() - 1;
    if (last)
      s->counter = 0;
    dvt_fence();
  }
  dvt_barrier();
  return last;
}

/* The first of the team's pairs, in thread 0. */
INLINE davit_closest_pair_result team_pair(davit_closest_pair_result best) {
  DVT_SHARED double distance[THREADS];
  DVT_SHARED int64_t first[THREADS], second[THREADS];
  const int thread = dvt_thread();
  distance[thread] = best.distance;
  first[thread] = best.i;
  second[thread] = best.j;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    dvt_barrier();
    if (thread < half) {
      dvt_pair_offer(distance[thread + half], first[thread + half], second[thread + half], &best);
      distance[thread] = best.distance;
      first[thread] = best.i;
      second[thread] = best.j;
    }
  }
  dvt_barrier();
  return best;
}

/* The state's pair becomes the first of all threads' pairs. */
INLINE void conclude(dvt_closest_state *s, davit_closest_pair_result best, char *partials) {
  best = team_pair(best);
  if (dvt_thread() == 0) {
    uint64_t *mine = (uint64_t *)(void *)(partials + (int64_t)dvt_team() * PARTIAL_BYTES);
    mine[0] = bits_of(best.distance);
    mine[1] = (uint64_t)best.i;
    mine[2] = (uint64_t)best.j;
  }
  if (!is_last_team(s))
    return;
  best = DVT_NO_PAIR;
  for (int t = dvt_thread(); t < dvt_teams(); t += THREADS) {
    const uint64_t *at = (const uint64_t *)(const void *)(partials + (int64_t)t * PARTIAL_BYTES);
    dvt_pair_offer(from_bits(dvt_load_word(at)), (int64_t)dvt_load_word(at + 1),
                   (int64_t)dvt_load_word(at + 2), &best);
  }
  best = team_pair(best);
  if (dvt_thread() == 0)
    s->pair = best;
}

/* The minimum of the team's values, in thread 0. */
INLINE double team_minimum(double value) {
  DVT_SHARED double all[THREADS];
  const int thread = dvt_thread();
  all[thread] = value;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    dvt_barrier();
    if (thread < half && all[thread + half] < all[thread])
      all[thread] = all[thread + half];
  }
  value = all[thread];
  dvt_barrier();
  return value;
}

/* The sum of the team's values, in thread 0. */
INLINE uint64_t team_sum(uint64_t value) {
  DVT_SHARED uint64_t all[THREADS];
  const int thread = dvt_thread();
  all[thread] = value;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    dvt_barrier();
    if (thread < half)
      all[thread] += all[thread + half];
  }
  value = all[thread];
  dvt_barrier();
  return value;
}

/* The thread has no more. */
INLINE void collected(collector *c) {
  const uint64_t counted = team_sum(c->counted);
  if (dvt_thread() == 0 && counted > 0)
    __scoped_atomic_fetch_add(&c->s->found, counted, RELAXED);
}

/* The sum of the values of the threads before this one. */
INLINE uint32_t team_before(uint32_t value) {
  DVT_SHARED uint32_t warps[THREADS / 32];
  const int thread = dvt_thread(), lane = dvt_lane_number();
  uint32_t upto = value;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const uint32_t other = dvt_shuffle(upto, lane - d);
    upto += lane >= d ? other : 0;
  }
  if (lane == 31)
    warps[thread / 32] = upto;
  dvt_barrier();
  for (int w = 0; w < thread / 32; w++)
    upto += warps[w];
  dvt_barrier();
  return upto - value;
}
#else
#define FOR_OWN(i, begin, end)                                                                               \
  for (int64_t i = own_begin(begin, end, 0), i##_end = own_begin(begin, end, 1); i < i##_end; i++)

#define FOR_TURNS(i, begin, end)                                                                             \
  for (int64_t i##_first = (begin) + (int64_t)omp_get_thread_num() * TURN; i##_first < (end);                \
       i##_first += (int64_t)omp_get_num_threads() * TURN)                                                   \
    for (int64_t i = i##_first; i < (end) && i < i##_first + TURN; i++)

INLINE int64_t own_begin(int64_t begin, int64_t end, int next) {
  return begin + share_of(end - begin, omp_get_thread_num() + next, omp_get_num_threads());
}

INLINE bool is_first_thread(void) {
  return true;
}

INLINE uint64_t team_sum(uint64_t value) {
  return value;
}

INLINE void collected(collector *c) {
  if (c->capacity > 0)
    give_held(c);
  else
    __scoped_atomic_fetch_add(&c->s->found, c->counted, RELAXED);
}

INLINE void conclude(dvt_closest_state *s, davit_closest_pair_result best, char *partials) {
  (void)partials;
#pragma omp critical(closest_pair)
  dvt_pair_offer(best.distance, best.i, best.j, &s->pair);
}
#endif

#endif
