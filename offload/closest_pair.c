/* SPDX-License-Identifier: Apache-2.0 */
/* The search for a closest pair by cells, on GPUs and on the CPU's threads: the same steps with the same numbers.
 *
 * Points are brought into the order of their cells by a counting sort: counts by atomic addition, which also gives each point its
 * rank in its cell, a scan (that of davit/scan.h) to where cells end, and each point to the place that is its rank from there,
 * as a record of 16 bytes (32 of doubles) with its index. Then each point is compared with those behind it in its own cell and with
 * those of the next cells: in 2-D 4 of the 8 neighbours, in 3-D 13 of 26. Cells that follow each other in x have records that
 * do, so these are 2 or 5 runs.
 *
 * In bytes a point, 2-D floats: 8 read three times, 2 of the rank written and read, a counter of 4 changed and read at a random place,
 * and 16 written at a random place and read about 5 times (from caches).
 *
 * Writes of 16 bytes at random places are slow where all records together do not fit a GPU's cache, as each brings 64 bytes from
 * memory first (of 32 bytes they are no slower than what follows). There records approach their places in three steps, in each of
 * which what leaves a team at once goes to few parts of the array: by the first bits of their places, by the next, and within parts of
 * WINDOW records, by way of the team's memory. As places are known, the parts are equal, whatever the points are. That writes and reads
 * 80 bytes a point more, and takes three fifths of the time.
 *
 * A cell that holds too many points would make the search slow, and the counting too, as atomics on one address
 * wait for each other. The addition tells how many are there already: from `crowd` on all stop, and nothing is placed or
 * searched. The same where the sum of these ranks, the number of pairs within cells, is more than `ranks`. GPUs count PROBED
 * points first, and most crowds show there: of all points half a million are on their way before the first is known to be too many.
 *
 * All pairs: tiles of BLOCK points against tiles of BLOCK points; on the CPU LINE points at a time in vectors.
 *
 * A pair is looked at more closely only if its square is within what is known to be reached (dvt_pair_limit), which the
 * threads tell each other through `bound`; that spares nearly all square roots, and the answer does not depend on it. At first
 * all threads have something to tell, and would wait for each other longer than all the rest takes, so each team tells once.
 *
 * The grid is chosen where the points are, between two kernels, so that a stage is enqueued as a whole. All devices of a search choose
 * the same: products are not fused, and there is no function but sqrt.
 *
 * What depends on the type and the number of dimensions is in closest_pair_type.h. */
#include "offload/closest_pair.h"

#include <davit/monoid.h>
#include <omp.h>
#include <string.h>

#include "offload/kernel/gpu.h"
#include "offload/monoid.h"
#include "offload/runtime/launch.h"
#include "offload/runtime/space.h"
#include "ref/closest_pair.h"
#include "ref/ref.h"
#include "src/base/arithmetic.h"
#include "src/base/cpu.h"

#ifndef DVT_CLOSEST_CACHE
#define DVT_CLOSEST_CACHE (48 << 20) /* bytes of records that a GPU places at once */
#endif

enum {
  THREADS = 256,
  BLOCK = 2 * THREADS,
  LINE = 128,         /* points that the CPU compares with one before it looks whether one of them is near */
  RUN = 32,           /* cells with neighbouring buckets */
  BOX_POINTS = 8,     /* of a thread at least, where only the box is sought */
  TILE = 8 * THREADS, /* records of a team's step */
  PART_BITS = 8,      /* of a step: a part for each thread of a team */
  PARTS = 1 << 2 * PART_BITS,
  WINDOW_BITS = 10,
  WINDOW = 1 << WINDOW_BITS,
  PROBED = 1 << 14, /* points that are counted before all others */
  PARTIAL_BYTES = 64,
  LEAST_BITS = 7,
  PER_CELL = 2,        /* points, in a dense grid of evenly spread ones */
  DENSE_BUCKETS = 128, /* beyond the number of points: the rims of small grids */
  CROWD_DENSE = 1024,
  RANKS_DENSE = 8, /* times n */
  CROWD_HASHED = 4096,
  RANKS_HASHED = 32
};

#define INLINE static inline __attribute__((always_inline))

static const uint32_t nobody = UINT32_MAX; /* in a slot of DVT_CLOSEST_EQUAL */

/* ---- the bits of numbers ---- */

INLINE uint64_t bits_of(double x) {
  uint64_t bits;
  x += 0.0; /* both zeros are one */
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

INLINE double from_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* ---- words that several threads change ---- */

#define RELAXED __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE

/* How many have come before; `alone`: no other thread counts. */
INLINE uint32_t next_rank(uint32_t *counter, bool alone) {
  return alone ? (*counter)++ : __scoped_atomic_fetch_add(counter, 1, RELAXED);
}

INLINE double bound_of(const dvt_closest_state *s, double known) {
  const double bound = from_bits(~__scoped_atomic_load_n(&s->bound, RELAXED));
  return bound < known ? bound : known; /* all bits set are NaN */
}

INLINE void tell_bound(dvt_closest_state *s, double distance) {
  __scoped_atomic_fetch_max(&s->bound, ~bits_of(distance), RELAXED);
}

/* ---- points and cells ---- */

typedef struct point {
  double x, y, z;
} point;

INLINE uint64_t mixed(uint64_t h) {
  h ^= h >> 32;
  h *= UINT64_C(0xd6e8feb86659fd93);
  h ^= h >> 32;
  h *= UINT64_C(0xd6e8feb86659fd93);
  return h ^ h >> 32;
}

/* The number of the cell along one axis. */
INLINE int64_t hashed_cell(const dvt_closest_grid *g, double x) {
  if (__builtin_fabs(x) > g->most) {
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
  }
  const double u = x * g->factor[0] * g->factor[1];
  const int64_t cell = (int64_t)u;
  return cell - ((double)cell > u);
}

INLINE int64_t hashed_run(const dvt_closest_grid *g, int64_t run, int64_t y, int64_t z) {
  const uint64_t h = mixed(mixed(mixed((uint64_t)run) + (uint64_t)y) + (uint64_t)z);
  return 1 + (int64_t)(h >> g->shift);
}

INLINE int64_t dense_bucket(const dvt_closest_grid *g, point p, int dim) {
  const int64_t x = (int64_t)((p.x - g->origin[0]) * g->scale),
                y = (int64_t)((p.y - g->origin[1]) * g->scale),
                z = dim > 2 ? (int64_t)((p.z - g->origin[2]) * g->scale) : 0;
  return g->first + x + y * g->pitch[0] + (dim > 2 ? z * g->pitch[1] : 0);
}

INLINE int64_t hashed_bucket(const dvt_closest_grid *g, point p, int dim) {
  const int64_t x = hashed_cell(g, p.x);
  return hashed_run(g, x >> 5, hashed_cell(g, p.y), dim > 2 ? hashed_cell(g, p.z) : 0) + (x & (RUN - 1));
}

INLINE int64_t bucket_of(const dvt_closest_grid *g, point p, int dim) {
  return g->hashed ? hashed_bucket(g, p, dim) : dense_bucket(g, p, dim);
}

/* Where k of `parts` shares of the buckets' n records begin, in whole buckets. `at` is the record at n k / parts. */
INLINE int64_t share_of(int64_t n, int64_t k, int64_t parts) {
  return n / parts * k + n % parts * k / parts;
}

/* Points in a random order: a permutation of the numbers below n, by a Feistel network on the next even number of bits,
 * repeated until the number is below n. */
INLINE int64_t shuffled(int64_t k, int64_t n, int64_t seed) {
  int half = 1;
  while (INT64_C(1) << 2 * half < n)
    half++;
  const uint64_t low = (UINT64_C(1) << half) - 1;
  uint64_t x = (uint64_t)k;
  do {
    uint64_t a = x >> half, b = x & low;
    for (int round = 0; round < 4; round++) {
      const uint64_t c = a ^ (mixed(b + ((uint64_t)(seed * 4 + round) << 40)) & low);
      a = b;
      b = c;
    }
    x = a << half | b;
  } while (x >= (uint64_t)n);
  return (int64_t)x;
}

INLINE bool is_same(point a, point b) {
  return a.x == b.x && a.y == b.y && a.z == b.z;
}

/* ---- the choice of a grid ---- */

INLINE int hash_bits(int64_t n) {
  int bits = LEAST_BITS;
  while (INT64_C(1) << bits < n)
    bits++;
  return bits;
}

/* The most buckets of a grid. A hashed one has them all: 2^hash_bits(), a run, and bucket 0. */
INLINE int64_t most_buckets(int64_t n, bool hashed) {
  const int64_t all = 1 + (INT64_C(1) << hash_bits(n)) + RUN;
  return hashed || n + DENSE_BUCKETS > all ? all : n + DENSE_BUCKETS;
}

/* ---- placing in steps ---- */

typedef uint32_t quad __attribute__((ext_vector_type(4))); /* a record of floats */

/* Records and their places, two of each; parts are numbered by the bits of a place from shift[] on, and each has a cursor: how many
 * of its records have come. */
typedef struct parting {
  int shift[2], bits[2];
  quad *records[2];
  uint32_t *places[2], *cursors[2];
} parting;

INLINE bool is_parted(int64_t n, size_t record_bytes) {
  return record_bytes == sizeof(quad) && (size_t)n * sizeof(quad) > DVT_CLOSEST_CACHE;
}

INLINE parting parting_of(void *memory, int64_t n) {
  const int all = hash_bits(n), both = all - WINDOW_BITS < 2 * PART_BITS ? all - WINDOW_BITS : 2 * PART_BITS;
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

/* 2^k; no subnormal number is asked for. */
INLINE double power_of_two(int k) {
  return k > 1023 ? __builtin_inf() : from_bits((uint64_t)(k + 1023) << 52);
}

/* The least e such that x < 2^e, of positive x. */
INLINE int exponent_above(double x) {
  const bool tiny = x < 0x1p-1022;
  return (int)(bits_of(tiny ? x * 0x1p54 : x) >> 52) - 1022 - (tiny ? 54 : 0);
}

/* The third root of x from 0 to 1 by Newton's method, to about 14 digits; of x below 2^-1000 it is 0. */
INLINE double cube_root(double x) {
#pragma STDC FP_CONTRACT OFF
  if (!(x > 0x1p-1000))
    return 0;
  double root = from_bits(bits_of(x) / 3 + UINT64_C(0x2a9f7893782da1ce));
  for (int i = 0; i < 4; i++)
    root = (root + root + x / (root * root)) / 3;
  return root;
}

/* The width of a cell, of which there are about `cells` in the box; the longest side is 1. Sides shorter than a cell are
 * one cell wide. */
INLINE double cell_of(double a, double b, double c, double cells) {
#pragma STDC FP_CONTRACT OFF
  const double most = a > b ? a : b, least = a > b ? b : a;
  const double middle = c > most ? most : c > least ? c : least;
  const double shortest = c < least ? c : least;
  const double solid = cube_root(middle * shortest / cells), flat = __builtin_sqrt(middle / cells);
  if (shortest >= solid && solid > 0)
    return solid;
  return middle >= flat && flat > 0 ? flat : 1 / cells;
}

/* A dense grid of the box; false if there is none. */
INLINE bool plan_dense(dvt_closest_state *s, int64_t n, int dim) {
#pragma STDC FP_CONTRACT OFF
  const int64_t most = most_buckets(n, false);
  double extent[3] = {0, 0, 0}, longest = 0;
#pragma unroll
  for (int k = 0; k < 3; k++) {
    extent[k] = k < dim ? s->high[k] - s->low[k] : 0;
    longest = extent[k] > longest ? extent[k] : longest;
  }
  double width = longest * cell_of(extent[0] / longest, extent[1] / longest, extent[2] / longest,
                                   (double)n / (double)PER_CELL);
  if (s->bad < n || !(width > 0x1p-1000 && longest < 0x1p1000))
    return false;
  double cells[3], buckets;
  for (;; width *= 1.0625) {
#pragma unroll
    for (int k = 0; k < 3; k++)
      cells[k] = __builtin_floor(extent[k] * (1 / width)) + 1;
    buckets = 1 + (cells[0] + 2) * (cells[1] + 2) * (dim > 2 ? cells[2] + 2 : 1);
    if (buckets <= (double)most)
      break;
  }
  const int64_t row = (int64_t)cells[0] + 2, layer = row * ((int64_t)cells[1] + 2);
  s->grid = (dvt_closest_grid){.buckets = (int64_t)buckets,
                               .origin = {s->low[0], s->low[1], dim > 2 ? s->low[2] : 0},
                               .width = width,
                               .scale = 1 / width,
                               .first = 2 + row + (dim > 2 ? layer : 0),
                               .pitch = {row, layer},
                               .crowd = CROWD_DENSE,
                               .ranks = RANKS_DENSE * n};
  return true;
}

/* Cells of the least power of two that is more than the distance known; false if that is 0, or none below 2^1022. */
INLINE bool plan_hashed(dvt_closest_state *s, int64_t n) {
  if (s->sample) {
    s->known = s->pair.distance < s->known ? s->pair.distance : s->known;
    s->pair = DVT_NO_PAIR;
    s->bound = 0;
  }
  if (!(s->known > 0 && s->known < 0x1p1022))
    return false;
  const int exponent = exponent_above(s->known);
  s->grid =
      (dvt_closest_grid){.hashed = 1,
                         .buckets = most_buckets(n, true),
                         .factor = {power_of_two(-(exponent / 2)), power_of_two(exponent / 2 - exponent)},
                         .most = power_of_two(53 + exponent),
                         .shift = 64 - hash_bits(n),
                         .crowd = CROWD_HASHED,
                         .ranks = RANKS_HASHED * n};
  return true;
}

/* ---- what a GPU's teams agree on ---- */

#ifdef DVT_GPU
INLINE quad fetch_quad(const quad *at) {
  uint32_t word[4];
  dvt_load_constant_16(at, word);
  return (quad){word[0], word[1], word[2], word[3]};
}

INLINE void put_quad(quad *at, quad value) {
  const uint32_t word[4] = {value[0], value[1], value[2], value[3]};
  dvt_store_16(at, word);
}

/* The index of the thread among all, and how many there are. */
INLINE int64_t global_thread(void) {
  return (int64_t)dvt_team() * THREADS + dvt_thread();
}

INLINE int64_t global_threads(void) {
  return (int64_t)dvt_teams() * THREADS;
}

/* Whether the team is the last to come here; what the others' first threads wrote before can be observed then. */
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

/* The least of the team's pairs, in thread 0. */
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

/* The state's pair is the least of all threads'. */
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

/* The least of the team's values, in thread 0. */
INLINE double team_least(double value) {
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

/* How much the threads before this one have. */
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
#define BODY(operation) NAME(operation)
#else
/* Stands for the kernels' bodies where no GPU code is made, so that the regions have the same arguments. */
static inline void no_body(int64_t first, ...) {
  (void)first;
}
#define BODY(operation) no_body
#endif

/* ---- the kinds of points ---- */

/* All kernels have the same arguments and take of them what they need. */
typedef void region(int device, int teams, int64_t n, dvt_closest_state *s, const void *points,
                    uint32_t *table, uint16_t *ranks, void *records, char *partials);
typedef void host_step(int threads, int64_t n, dvt_closest_state *s, const void *points, uint32_t *table,
                       uint16_t *ranks, void *records);

typedef enum step {
  BOX,
  GATHER,
  BRUTE,
  PLAN_DENSE,
  PLAN_HASHED,
  COUNT,
  PLACE,
  PART_POINTS,
  PART_RECORDS,
  SETTLE,
  SEARCH_DENSE,
  SEARCH_HASHED,
  INSERT,
  EQUAL,
  STEPS
} step;

typedef struct kind {
  size_t point_bytes, record_bytes;
  struct {
    dvt_kernel *kernel;
    region *region;
    host_step *host;
  } step[STEPS];
} kind;

#define PASTE_(a, b, c, d) a##b##c##d
#define PASTE(a, b, c, d) PASTE_(a, b, c, d)
#define NAME(name) PASTE(closest_, T, DIM, _##name)
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

#define T float
#define PARTED
#define DIM 2
#include "offload/closest_pair_type.h"
#undef DIM
#define DIM 3
#include "offload/closest_pair_type.h"
#undef DIM
#undef PARTED
#undef T
#define T double
#define DIM 2
#include "offload/closest_pair_type.h"
#undef DIM
#define DIM 3
#include "offload/closest_pair_type.h"
#undef DIM
#undef T

static const kind *kind_of(const dvt_closest_site *site) {
  static const kind *const kinds[2][2] = {{&closest_float2_kind, &closest_float3_kind},
                                          {&closest_double2_kind, &closest_double3_kind}};
  return kinds[site->type == DAVIT_DOUBLE][site->dim == 3];
}

/* ---- memory ---- */

/* 8 sqrt(n), then 32 sqrt(n). A set of k pairs of which none is in a sample of m points has about n^2 / m^2 pairs: n / 64,
 * then n / 1024. */
int64_t dvt_closest_sample(int64_t n, int round) {
  const int64_t wanted = (int64_t)(8 * __builtin_sqrt((double)n)) << 2 * round;
  return dvt_at_most(wanted, n);
}

/* Of DVT_CLOSEST_EQUAL, at most half of them taken. */
static int64_t slots_of(int64_t n) {
  return INT64_C(2) << hash_bits(n);
}

static const dvt_builtin_scan *scan_of_counts(void) {
  return &dvt_builtin_scans[DAVIT_SUM][DAVIT_INT32];
}

static int64_t scan_tiles(int64_t buckets) {
  return (buckets + scan_of_counts()->tile - 1) / scan_of_counts()->tile;
}

/* state, partials, table, slots of the scan, ranks, and records: or what is needed in their place by the other stages */
typedef struct layout {
  size_t partials, table, slots, ranks, records, end;
} layout;

static layout layout_of(const dvt_closest_site *site, dvt_closest_stage last) {
  const kind *k = kind_of(site);
  const int64_t n = site->n, sample = dvt_closest_sample(n, DVT_CLOSEST_ROUNDS - 1);
  layout l = {.partials = dvt_aligned_up(sizeof(dvt_closest_state))};
  l.table = l.slots = l.ranks = l.records = l.partials + dvt_aligned_up((size_t)site->teams * PARTIAL_BYTES);
  size_t records = 0;
  if (last == DVT_CLOSEST_BRUTE && !site->gpu)
    records = 3 * sizeof(double) * (size_t)n;
  if (last > DVT_CLOSEST_BRUTE) {
    const int64_t buckets = most_buckets(n, true);
    const size_t slots = sizeof(uint32_t) * (size_t)slots_of(n),
                 samples = (size_t)sample * k->point_bytes +
                           (site->gpu ? 0 : DVT_ALIGNMENT + dvt_ref_closest_scratch(sample));
    l.slots = l.table + dvt_aligned_up((size_t)buckets * sizeof(uint32_t));
    l.ranks =
        l.slots +
        (site->gpu ? 2 * dvt_aligned_up((size_t)scan_tiles(buckets) * scan_of_counts()->slot_bytes) : 0);
    l.records = l.ranks + dvt_aligned_up((size_t)n * sizeof(uint16_t));
    records = site->gpu && is_parted(n, k->record_bytes) ? parting_bytes(n) : (size_t)n * k->record_bytes;
    records = records > slots ? records : slots;
    records = records > samples ? records : samples;
  }
  l.end = l.records + records;
  return l;
}

size_t dvt_closest_bytes(const dvt_closest_site *site, dvt_closest_stage last) {
  return layout_of(site, last).end;
}

/* ---- stages on the CPU ---- */

static void host_scan(const dvt_closest_site *site, uint32_t *table, int64_t buckets) {
  const davit_monoid_task task = {
      .device = site->device, .threads = site->threads, .n = buckets, .x = table, .y = table};
  scan_of_counts()->scan(&task);
}

static void host_fill(int threads, uint32_t *words, int64_t count, uint32_t value) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < count; i++)
    words[i] = value;
}

/* Sorts the points into the cells of the state's grid, and searches there. */
static void host_grid(const dvt_closest_site *site, const layout *l, dvt_closest_state *s) {
  const kind *k = kind_of(site);
  char *memory = site->memory, *records = memory + l->records;
  uint32_t *table = (uint32_t *)(void *)(memory + l->table);
  uint16_t *ranks = (uint16_t *)(void *)(memory + l->ranks);
  const int threads = site->threads;
  if (s->stop)
    return;
  host_fill(threads, table, s->grid.buckets, 0);
  k->step[COUNT].host(threads, site->n, s, site->points, table, ranks, NULL);
  if (dvt_closest_is_crowded(s))
    return;
  host_scan(site, table, s->grid.buckets);
  k->step[PLACE].host(threads, site->n, s, site->points, table, ranks, records);
  k->step[s->grid.hashed ? SEARCH_HASHED : SEARCH_DENSE].host(threads, site->n, s, NULL, table, NULL,
                                                              records);
}

static void host_perform(const dvt_closest_site *site, dvt_closest_stage stage, dvt_closest_state *s) {
  const kind *k = kind_of(site);
  const layout l = layout_of(site, stage);
  char *records = (char *)site->memory + l.records;
  uint32_t *slots = (uint32_t *)(void *)records;
  const int threads = site->threads;
  if (stage <= DVT_CLOSEST_DENSE)
    k->step[BOX].host(threads, site->n, s, site->points, NULL, NULL, NULL);
  switch (stage) {
  case DVT_CLOSEST_BOX:
    break;
  case DVT_CLOSEST_BRUTE:
    k->step[BRUTE].host(threads, site->n, s, site->points, NULL, NULL, records);
    break;
  case DVT_CLOSEST_DENSE:
    s->stop = !plan_dense(s, site->n, site->dim);
    host_grid(site, &l, s);
    break;
  case DVT_CLOSEST_HASHED:
    if (s->sample) {
      k->step[GATHER].host(threads, site->n, s, site->points, NULL, NULL, records);
      s->pair = dvt_ref_closest_divide(site->type, site->dim, s->sample, records, threads,
                                       records + dvt_aligned_up((size_t)s->sample * k->point_bytes));
    }
    s->stop = !plan_hashed(s, site->n);
    host_grid(site, &l, s);
    break;
  default:
    host_fill(threads, slots, s->slots, nobody);
    k->step[INSERT].host(threads, site->n, s, site->points, slots, NULL, NULL);
    k->step[EQUAL].host(threads, site->n, s, site->points, slots, NULL, NULL);
  }
}

/* ---- stages on a GPU ---- */

static davit_status gpu_step(const dvt_closest_site *site, step which, int64_t n, const void *points,
                             uint32_t *table, uint16_t *ranks, char *records) {
  const kind *k = kind_of(site);
  char *memory = site->memory;
  void *partials = memory + layout_of(site, DVT_CLOSEST_BOX).partials;
  const int64_t each = which == BRUTE ? BLOCK
                       : which == BOX ? BOX_POINTS * THREADS
                                      : THREADS,
                blocks = (n + each - 1) / each,
                units = which == PLAN_DENSE || which == PLAN_HASHED ? 1
                        : which == BRUTE ? dvt_at_most(blocks, site->teams) * blocks
                                         : blocks;
  const int teams = (int)dvt_at_most(units, site->teams);
  if (!site->stream) {
    k->step[which].region(site->device, teams, n, site->memory, points, table, ranks, records, partials);
    return DAVIT_SUCCESS;
  }
  return dvt_launch(k->step[which].kernel, site->stream, teams, THREADS, 0,
                    DVT_ARGUMENTS(n, memory, points, table, ranks, records, partials));
}

static davit_status gpu_fill(const dvt_closest_site *site, void *pointer, int value, size_t bytes) {
  return site->stream ? dvt_stream_fill(site->stream, pointer, value, bytes)
                      : dvt_space_fill(pointer, site->device, value, bytes);
}

static davit_status gpu_scan(const dvt_closest_site *site, uint32_t *table, int64_t buckets, char *slots) {
  enum { ALIGNED = 2 };
  const dvt_builtin_scan *scan = scan_of_counts();
  const int64_t tiles = scan_tiles(buckets);
  const size_t bytes = dvt_aligned_up((size_t)tiles * scan->slot_bytes);
  davit_status status = gpu_fill(site, slots, 0, 2 * bytes);
  if (status != DAVIT_SUCCESS)
    return status;
  if (!site->stream) {
    const davit_monoid_task task = {.device = site->device,
                                    .gpu = true,
                                    .n = buckets,
                                    .x = table,
                                    .y = table,
                                    .sums = (uint64_t *)(void *)slots,
                                    .prefixes = (uint64_t *)(void *)(slots + bytes),
                                    .modes = ALIGNED};
    scan->scan(&task);
    return DAVIT_SUCCESS;
  }
  return dvt_launch(scan->kernel, site->stream, tiles + 1, scan->threads, 0,
                    DVT_ARGUMENTS(buckets, table, NULL, slots, slots + bytes, NULL, NULL, table, ALIGNED));
}

#define THEN(call)                                                                                           \
  do {                                                                                                       \
    davit_status then = (call);                                                                              \
    if (then != DAVIT_SUCCESS)                                                                               \
      return then;                                                                                           \
  } while (0)

/* The table is as large as a grid may become: which one it is the host does not know. */
static davit_status gpu_grid(const dvt_closest_site *site, const layout *l, bool hashed) {
  const kind *k = kind_of(site);
  const void *points = site->points;
  const int64_t n = site->n, buckets = most_buckets(n, hashed), probed = n / 16 < PROBED ? 0 : PROBED;
  char *memory = site->memory, *records = memory + l->records;
  uint32_t *table = (uint32_t *)(void *)(memory + l->table);
  uint16_t *ranks = (uint16_t *)(void *)(memory + l->ranks);
  THEN(gpu_step(site, hashed ? PLAN_HASHED : PLAN_DENSE, n, NULL, NULL, NULL, NULL));
  THEN(gpu_fill(site, table, 0, (size_t)buckets * sizeof *table));
  if (probed > 0)
    THEN(gpu_step(site, COUNT, probed, points, table, ranks, NULL));
  THEN(gpu_step(site, COUNT, n - probed, (const char *)points + (size_t)probed * k->point_bytes, table,
                ranks + probed, NULL));
  THEN(gpu_scan(site, table, buckets, memory + l->slots));
  if (is_parted(n, k->record_bytes)) {
    THEN(gpu_fill(site, parting_of(records, n).cursors[0], 0, 2 * PARTS * sizeof(uint32_t)));
    THEN(gpu_step(site, PART_POINTS, n, points, table, ranks, records));
    THEN(gpu_step(site, PART_RECORDS, n, NULL, NULL, NULL, records));
    THEN(gpu_step(site, SETTLE, n, NULL, NULL, NULL, records));
  } else {
    THEN(gpu_step(site, PLACE, n, points, table, ranks, records));
  }
  return gpu_step(site, hashed ? SEARCH_HASHED : SEARCH_DENSE, n, NULL, table, NULL, records);
}

/* Enqueues the stage's work. */
static davit_status gpu_stage(const dvt_closest_site *site, dvt_closest_stage stage,
                              const dvt_closest_state *s) {
  const layout l = layout_of(site, stage);
  const void *points = site->points;
  const int64_t n = site->n;
  char *records = (char *)site->memory + l.records;
  uint32_t *slots = (uint32_t *)(void *)records;
  if (stage <= DVT_CLOSEST_DENSE)
    THEN(gpu_step(site, BOX, n, points, NULL, NULL, NULL));
  switch (stage) {
  case DVT_CLOSEST_BOX:
    return DAVIT_SUCCESS;
  case DVT_CLOSEST_BRUTE:
    return gpu_step(site, BRUTE, n, points, NULL, NULL, NULL);
  case DVT_CLOSEST_DENSE:
    return gpu_grid(site, &l, false);
  case DVT_CLOSEST_HASHED:
    if (s->sample) {
      THEN(gpu_step(site, GATHER, n, points, NULL, NULL, records));
      THEN(gpu_step(site, BRUTE, s->sample, records, NULL, NULL, NULL));
    }
    return gpu_grid(site, &l, true);
  default:
    THEN(gpu_fill(site, slots, 0xff, (size_t)s->slots * sizeof *slots));
    THEN(gpu_step(site, INSERT, n, points, slots, NULL, NULL));
    return gpu_step(site, EQUAL, n, points, slots, NULL, NULL);
  }
}
#undef THEN

static davit_status copy_state(const dvt_closest_site *site, dvt_closest_state *s, bool in) {
  const size_t bytes = sizeof *s;
  if (site->stream)
    return dvt_stream_copy_bytes(site->stream, in ? site->memory : (void *)site->staged,
                                 in ? (void *)site->staged : site->memory, bytes);
  return dvt_space_copy(in ? site->memory : s, bytes, in ? site->device : DAVIT_PAGEABLE,
                        in ? s : site->memory, bytes, in ? DAVIT_PAGEABLE : site->device, bytes, 1);
}

davit_status dvt_closest_perform(const dvt_closest_site *site, dvt_closest_stage stage,
                                 dvt_closest_state *state) {
  state->slots = slots_of(site->n);
  if (!site->gpu) {
    host_perform(site, stage, state);
    return DAVIT_SUCCESS;
  }
  if (site->stream)
    *site->staged = *state;
  davit_status status = copy_state(site, state, true);
  if (status == DAVIT_SUCCESS)
    status = gpu_stage(site, stage, state);
  if (status == DAVIT_SUCCESS)
    status = copy_state(site, state, false);
  if (!site->stream)
    return status;
  davit_status end = dvt_stream_synchronize(site->stream);
  if (status == DAVIT_SUCCESS && end == DAVIT_SUCCESS)
    *state = *site->staged;
  return status == DAVIT_SUCCESS ? end : status;
}
