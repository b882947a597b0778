/* The search for a closest pair by cells, on GPUs and on the CPU's threads: the same steps with the same numbers.
 *
 * Points are brought into the order of their cells by a counting sort: counts by atomic addition, which also gives each point its
 * rank in its cell, a scan (that of davit/scan.h) to where cells end, and each point to the place that is its rank from there,
 * as a record of 16 bytes (32 of doubles) with its index. Then each point is compared with those behind it in its own cell and with
 * those of the next cells: in 2-D 4 of the 8 neighbours, in 3-D 13 of 26. Cells that follow each other in x have records that
 * do, so these are 2 or 5 runs.
 *
 * In bytes a point, 2-D floats: 8 read three times, 2 of the rank written and read, a counter of 4 changed and read at a random place,
 * and 16 written at a random place, which is most of the time, and read about 5 times (from caches).
 *
 * A cell that holds too many points would make the search slow, and the counting too, as atomics on one address
 * wait for each other. The addition tells how many are there already: from `crowd` on all stop, and nothing is placed or
 * searched. The same where the sum of these ranks, the number of pairs within cells, is more than `ranks`.
 *
 * All pairs: tiles of BLOCK points against tiles of BLOCK points; on the CPU LINE points at a time in vectors.
 *
 * A pair is looked at more closely only if its square is within what is known to be reached (dvt_pair_limit), which the
 * threads tell each other through `bound`; that spares nearly all square roots, and the answer does not depend on it. At first
 * all threads have something to tell, and would wait for each other longer than all the rest takes, so each team tells once.
 *
 * The file includes itself for each type and number of dimensions (DIM). */
#ifndef DIM

#include "offload/closest_pair.h"

#include <davit/monoid.h>
#include <omp.h>
#include <string.h>

#include "offload/arithmetic.h"
#include "offload/cpu.h"
#include "offload/kernel/gpu.h"
#include "offload/launch.h"
#include "offload/monoid.h"
#include "offload/space.h"
#include "ref/closest_pair.h"
#include "ref/ref.h"

enum {
  THREADS = 256,
  BLOCK = 2 * THREADS,
  LINE = 128,     /* points that the CPU compares with one before it looks whether one of them is near */
  RUN = 32,       /* cells with neighbouring buckets */
  BOX_POINTS = 8, /* of a thread at least, where only the box is sought */
  PARTIAL_BYTES = 64,
  LEAST_BITS = 7
};

#define INLINE static inline __attribute__((always_inline))

static const uint32_t nobody = UINT32_MAX; /* in a slot of DVT_CLOSEST_EQUAL */

/* ---- words that several threads change ---- */

#define RELAXED __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE

/* How many have come before; `alone`: no other thread counts. */
INLINE uint32_t next_rank(uint32_t *counter, bool alone) {
  return alone ? (*counter)++ : __scoped_atomic_fetch_add(counter, 1, RELAXED);
}

INLINE double bound_of(const dvt_closest_state *s, double known) {
  const uint64_t bits = ~__scoped_atomic_load_n(&s->bound, RELAXED);
  double bound;
  memcpy(&bound, &bits, sizeof bound);
  return bound < known ? bound : known; /* all bits set are NaN */
}

INLINE void tell_bound(dvt_closest_state *s, double distance) {
  uint64_t bits;
  memcpy(&bits, &distance, sizeof bits);
  __scoped_atomic_fetch_max(&s->bound, ~bits, RELAXED);
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

INLINE uint64_t bits_of(double x) {
  uint64_t bits;
  x += 0.0; /* both zeros are one */
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

INLINE bool is_same(point a, point b) {
  return a.x == b.x && a.y == b.y && a.z == b.z;
}

/* ---- what a GPU's teams agree on ---- */

#ifdef DVT_GPU
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
INLINE davit_pair team_pair(davit_pair best) {
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
INLINE void conclude(dvt_closest_state *s, davit_pair best, char *partials) {
  best = team_pair(best);
  if (dvt_thread() == 0) {
    uint64_t *mine = (uint64_t *)(void *)(partials + (int64_t)dvt_team() * PARTIAL_BYTES), bits;
    memcpy(&bits, &best.distance, sizeof bits);
    mine[0] = bits;
    mine[1] = (uint64_t)best.i;
    mine[2] = (uint64_t)best.j;
  }
  if (!is_last_team(s))
    return;
  best = DVT_NO_PAIR;
  for (int t = dvt_thread(); t < dvt_teams(); t += THREADS) {
    const uint64_t *at = (const uint64_t *)(const void *)(partials + (int64_t)t * PARTIAL_BYTES),
                   bits = dvt_observe(at);
    double distance;
    memcpy(&distance, &bits, sizeof distance);
    dvt_pair_offer(distance, (int64_t)dvt_observe(at + 1), (int64_t)dvt_observe(at + 2), &best);
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
  COUNT,
  PLACE,
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
#define DIM 2
#include "offload/closest_pair.c"
#undef DIM
#define DIM 3
#include "offload/closest_pair.c"
#undef DIM
#undef T
#define T double
#define DIM 2
#include "offload/closest_pair.c"
#undef DIM
#define DIM 3
#include "offload/closest_pair.c"
#undef DIM
#undef T

static const kind *kind_of(const dvt_closest_site *site) {
  static const kind *const kinds[2][2] = {{&closest_float2_kind, &closest_float3_kind},
                                          {&closest_double2_kind, &closest_double3_kind}};
  return kinds[site->type == DAVIT_DOUBLE][site->dim == 3];
}

/* ---- memory ---- */

int dvt_closest_hash_bits(int64_t n) {
  int bits = LEAST_BITS;
  while (INT64_C(1) << bits < n)
    bits++;
  return bits;
}

/* 8 sqrt(n), then 32 sqrt(n). A set of k pairs of which none is in a sample of m points has about n^2 / m^2 pairs: n / 64,
 * then n / 1024. */
int64_t dvt_closest_sample(int64_t n, int round) {
  const int64_t wanted = (int64_t)(8 * __builtin_sqrt((double)n)) << 2 * round;
  return dvt_at_most(wanted, n);
}

int64_t dvt_closest_buckets(int64_t n) {
  return 1 + (INT64_C(1) << dvt_closest_hash_bits(n)) + RUN;
}

/* Of DVT_CLOSEST_EQUAL, at most half of them taken. */
static int64_t slots_of(int64_t n) {
  return INT64_C(2) << dvt_closest_hash_bits(n);
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
    const int64_t buckets = dvt_closest_buckets(n);
    const size_t slots = sizeof(uint32_t) * (size_t)slots_of(n),
                 samples = (size_t)sample * k->point_bytes +
                           (site->gpu ? 0 : DVT_ALIGNMENT + dvt_ref_closest_scratch(sample));
    l.slots = l.table + dvt_aligned_up((size_t)buckets * sizeof(uint32_t));
    l.ranks =
        l.slots +
        (site->gpu ? 2 * dvt_aligned_up((size_t)scan_tiles(buckets) * scan_of_counts()->slot_bytes) : 0);
    l.records = l.ranks + dvt_aligned_up((size_t)n * sizeof(uint16_t));
    records = (size_t)n * k->record_bytes;
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

static void host_perform(const dvt_closest_site *site, dvt_closest_stage stage, dvt_closest_state *s) {
  const kind *k = kind_of(site);
  const layout l = layout_of(site, stage == DVT_CLOSEST_GRID ? DVT_CLOSEST_EQUAL : stage);
  char *memory = site->memory;
  uint32_t *table = (uint32_t *)(void *)(memory + l.table), *slots = (void *)(memory + l.records);
  uint16_t *ranks = (uint16_t *)(void *)(memory + l.ranks);
  void *records = memory + l.records;
  const int threads = site->threads;
  switch (stage) {
  case DVT_CLOSEST_BOX:
    k->step[BOX].host(threads, site->n, s, site->points, NULL, NULL, NULL);
    break;
  case DVT_CLOSEST_SAMPLE:
    k->step[GATHER].host(threads, site->n, s, site->points, NULL, NULL, records);
    s->pair = dvt_ref_closest_divide(site->type, site->dim, s->sample, records, threads,
                                     (char *)records + dvt_aligned_up((size_t)s->sample * k->point_bytes));
    break;
  case DVT_CLOSEST_BRUTE:
    k->step[BRUTE].host(threads, site->n, s, site->points, NULL, NULL, records);
    break;
  case DVT_CLOSEST_GRID:
    host_fill(threads, table, s->grid.buckets, 0);
    k->step[COUNT].host(threads, site->n, s, site->points, table, ranks, NULL);
    if (dvt_closest_is_crowded(s))
      break;
    host_scan(site, table, s->grid.buckets);
    k->step[PLACE].host(threads, site->n, s, site->points, table, ranks, records);
    k->step[s->grid.hashed ? SEARCH_HASHED : SEARCH_DENSE].host(threads, site->n, s, NULL, table, NULL,
                                                                records);
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
                units = which == BRUTE ? dvt_at_most(blocks, site->teams) * blocks : blocks;
  const int teams = (int)dvt_at_most(units, site->teams);
  if (!site->stream) {
    k->step[which].region(site->device, teams, n, site->memory, points, table, ranks, records, partials);
    return DAVIT_SUCCESS;
  }
  const dvt_argument arguments[] = {dvt_integer_argument(n),       dvt_pointer_argument(memory),
                                    dvt_pointer_argument(points),  dvt_pointer_argument(table),
                                    dvt_pointer_argument(ranks),   dvt_pointer_argument(records),
                                    dvt_pointer_argument(partials)};
  return dvt_launch(k->step[which].kernel, site->stream, teams, THREADS, 0, arguments, 7);
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
  const dvt_argument arguments[] = {
      dvt_integer_argument(buckets), dvt_pointer_argument(table),         dvt_pointer_argument(NULL),
      dvt_pointer_argument(slots),   dvt_pointer_argument(slots + bytes), dvt_pointer_argument(NULL),
      dvt_pointer_argument(NULL),    dvt_pointer_argument(table),         dvt_integer_argument(ALIGNED)};
  return dvt_launch(scan->kernel, site->stream, tiles + 1, scan->threads, 0, arguments, 9);
}

/* Enqueues the stage's work. */
static davit_status gpu_stage(const dvt_closest_site *site, dvt_closest_stage stage,
                              const dvt_closest_state *s) {
  const layout l = layout_of(site, stage == DVT_CLOSEST_GRID ? DVT_CLOSEST_EQUAL : stage);
  const void *points = site->points;
  const int64_t n = site->n;
  char *memory = site->memory, *records = memory + l.records;
  uint32_t *table = (uint32_t *)(void *)(memory + l.table), *slots = (uint32_t *)(void *)records;
  uint16_t *ranks = (uint16_t *)(void *)(memory + l.ranks);
  davit_status status = DAVIT_SUCCESS;
#define THEN(call)                                                                                           \
  do {                                                                                                       \
    if (status == DAVIT_SUCCESS)                                                                             \
      status = (call);                                                                                       \
  } while (0)
  switch (stage) {
  case DVT_CLOSEST_BOX:
    THEN(gpu_step(site, BOX, n, points, NULL, NULL, NULL));
    break;
  case DVT_CLOSEST_SAMPLE:
    THEN(gpu_step(site, GATHER, n, points, NULL, NULL, records));
    THEN(gpu_step(site, BRUTE, s->sample, records, NULL, NULL, NULL));
    break;
  case DVT_CLOSEST_BRUTE:
    THEN(gpu_step(site, BRUTE, n, points, NULL, NULL, NULL));
    break;
  case DVT_CLOSEST_GRID:
    THEN(gpu_fill(site, table, 0, (size_t)s->grid.buckets * sizeof *table));
    THEN(gpu_step(site, COUNT, n, points, table, ranks, NULL));
    THEN(gpu_scan(site, table, s->grid.buckets, memory + l.slots));
    THEN(gpu_step(site, PLACE, n, points, table, ranks, records));
    THEN(gpu_step(site, s->grid.hashed ? SEARCH_HASHED : SEARCH_DENSE, n, NULL, table, NULL, records));
    break;
  default:
    THEN(gpu_fill(site, slots, 0xff, (size_t)s->slots * sizeof *slots));
    THEN(gpu_step(site, INSERT, n, points, slots, NULL, NULL));
    THEN(gpu_step(site, EQUAL, n, points, slots, NULL, NULL));
  }
#undef THEN
  return status;
}

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

#else

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

INLINE void NAME(put)(NAME(record) * r, point p, int64_t index) {
  NAME(record) made = {.index = (uint32_t)index};
  made.at[0] = (T)p.x;
  made.at[1] = (T)p.y;
  if (DIM > 2)
    made.at[DIM - 1] = (T)p.z;
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
  davit_pair best;
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
      const uint64_t bits =
          dvt_observe((const uint64_t *)(const void *)(partials + (int64_t)t * PARTIAL_BYTES) + k);
      double other;
      memcpy(&other, &bits, sizeof other);
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

/* Two points of a thread against a tile. */
INLINE void NAME(brute_body)(int64_t n, STATE, const void *points, uint32_t *table, uint16_t *ranks,
                             void *records, char *partials) {
  DVT_SHARED double tile[DIM][BLOCK];
  (void)table, (void)ranks, (void)records;
  const int64_t blocks = (n + BLOCK - 1) / BLOCK, parts = s->parts;
  const double known = s->known;
  davit_pair best = DVT_NO_PAIR;
  for (int64_t unit = dvt_team(); unit < blocks * blocks; unit += dvt_teams()) {
    const int64_t row = unit / blocks, column = unit % blocks, first = row * BLOCK, second = column * BLOCK;
    if (column < row || row % parts != s->part) /* shares are rows of tiles, on the host as well */
      continue;
    const int64_t left = n - second;
    const int count = left < BLOCK ? (int)left : BLOCK;
    const int64_t mine[2] = {first + dvt_thread(), first + dvt_thread() + THREADS};
    point own[2];
    dvt_barrier();
#pragma unroll
    for (int k = 0; k < 2; k++) {
      const int at = dvt_thread() + k * THREADS;
      if (at < count) {
        const point p = NAME(point_at)(points, second + at);
        tile[0][at] = p.x;
        tile[1][at] = p.y;
        if (DIM > 2)
          tile[DIM - 1][at] = p.z;
      }
      own[k] = NAME(point_at)(points, mine[k] < n ? mine[k] : n - 1);
    }
    dvt_barrier();
    double limit = dvt_pair_limit(bound_of(s, known));
#pragma unroll 2
    for (int t = 0; t < count; t++) {
      const double x = tile[0][t], y = tile[1][t], z = DIM > 2 ? tile[DIM - 1][t] : 0;
#pragma unroll
      for (int k = 0; k < 2; k++) {
        const double dx = own[k].x - x, dy = own[k].y - y, dz = own[k].z - z;
        if (dvt_pair_square(dx, dy, dz) > limit || mine[k] >= second + t)
          continue;
        const double distance = dvt_pair_distance(dx, dy, dz);
        const bool nearer = distance < best.distance;
        dvt_pair_offer(distance, mine[k], second + t, &best);
        if (nearer) {
          limit = dvt_pair_limit(distance);
          tell_bound(s, distance);
        }
      }
    }
  }
  conclude(s, best, partials);
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
  davit_pair best = DVT_NO_PAIR;
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
    davit_pair best = DVT_NO_PAIR;
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
INLINE void NAME(brute_row)(const double *x, int64_t n, int64_t i, dvt_closest_state *s, davit_pair *best) {
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
                                 davit_pair *best);
#define VARIANT(number, attributes)                                                                          \
  attributes static void NAME(brute_row_##number)(const double *x, int64_t n, int64_t i,                     \
                                                  dvt_closest_state *s, davit_pair *best) {                  \
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
    davit_pair best = DVT_NO_PAIR;
#pragma omp for schedule(dynamic, 16)
    for (int64_t i = 0; i < n; i++)
      if (i / BLOCK % s->parts == s->part)
        row(x, n, i, s, &best);
#pragma omp critical(closest_pair)
    dvt_pair_offer(best.distance, best.i, best.j, &s->pair);
  }
}

/* ---- regions ---- */

#define PRAGMA(...) _Pragma(#__VA_ARGS__)
#define REGION(name)                                                                                         \
  __attribute__((used)) static void NAME(name)(int device, int teams, int64_t n, dvt_closest_state *s,       \
                                               const void *points, uint32_t *table, uint16_t *ranks,         \
                                               void *records, char *partials) {                              \
    PRAGMA(omp target teams ompx_bare num_teams(teams) thread_limit(THREADS) device(device)                  \
               is_device_ptr(s, points, table, ranks, records, partials)) {                                  \
      BODY(name##_body)(n, s, points, table, ranks, records, partials);                                      \
    }                                                                                                        \
  }                                                                                                          \
  static dvt_kernel NAME(name##_kernel) = {.function = TEXT(NAME(name))};
REGION(box)
REGION(gather)
REGION(brute)
REGION(count)
REGION(place)
REGION(search_dense)
REGION(search_hashed)
REGION(insert)
REGION(equal)
#undef REGION
#undef PRAGMA

#define STEP(host_function, name) {&NAME(name##_kernel), NAME(name), NAME(host_function)}
static const kind NAME(kind) = {.point_bytes = DIM * sizeof(T),
                                .record_bytes = sizeof(NAME(record)),
                                .step = {[BOX] = STEP(box_host, box),
                                         [GATHER] = STEP(gather_host, gather),
                                         [BRUTE] = STEP(brute_host, brute),
                                         [COUNT] = STEP(count_host, count),
                                         [PLACE] = STEP(place_host, place),
                                         [SEARCH_DENSE] = STEP(search_dense_host, search_dense),
                                         [SEARCH_HASHED] = STEP(search_hashed_host, search_hashed),
                                         [INSERT] = STEP(insert_host, insert),
                                         [EQUAL] = STEP(equal_host, equal)}};
#undef STEP
#endif
