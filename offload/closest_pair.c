/* SPDX-License-Identifier: Apache-2.0 */
/* The search for a closest pair by cells, on GPUs and on the CPU's threads: the same steps with the same
 * numbers.
 *
 * Points are sorted by their cells, by counting: atomic additions count the points of a cell, and also give
 * each point its rank in its cell; a scan (that of davit/scan.h) gives the ends of the cells; each point goes
 * to the place that is its rank from there, as a record of 16 bytes (32 for doubles) with its index. Then
 * each point is compared with those behind it in its own cell and with those of the next cells: in 2-D 4 of
 * the 8 neighbours, in 3-D 13 of 26. Cells that follow each other in x have records that do, so these are 2
 * or 5 runs.
 *
 * Bytes of a point, 2-D floats: 8 read three times, 2 of the rank written and read, a counter of 4 changed
 * and read at a random place, 16 written at a random place and read about 5 times (from caches).
 *
 * Writes of 16 bytes at random places are slow where all records together do not fit a GPU's cache, as each
 * first loads 64 bytes from memory (of 32 bytes they are no slower than what follows). There records approach
 * their places in three steps. In each step what leaves a team at once goes to few parts of the array: by the
 * first bits of their places, by the next, and within parts of WINDOW records through the team's memory. As
 * places are known, the parts are equal, whatever the points are. That writes and reads 80 bytes a point
 * more, and takes three fifths of the time.
 *
 * A cell with too many points would make the search slow, and the counting too, as atomics on one address
 * wait for each other. The addition returns how many points are there already: from `crowd` on all threads
 * stop, and nothing is placed or searched. The same where the sum of these ranks, the number of pairs within
 * cells, is more than `ranks`. GPUs count PROBED points first, and most crowds show there: of all points half
 * a million are in flight before the first is known to be too many.
 *
 * Devices that share a grid have all points and take the same grid. Each then selects the points of its slab
 * and of the cells next to it, as records, and does all that follows with these alone. The slabs have as many
 * points, by a sample of SAMPLED: their borders are the coordinates of sampled points, along the longest side
 * of the box.
 *
 * All pairs: tiles of BLOCK points against tiles of BLOCK points; on the CPU LINE points at a time in
 * vectors. n^2 / 2 distances of 5 or 8 flops.
 *
 * A pair is examined more closely only if its square is within the distance known to be reached
 * (dvt_pair_limit), which the threads publish to each other in `bound`; that spares nearly all square roots,
 * and the answer does not depend on it.
 *
 * The grid is chosen where the points are, between two kernels, so that a stage is enqueued as a whole
 * (closest_pair_grid.h). closest_pair.inc has the steps for one kind of points. */
#include "offload/closest_pair.h"

#include <davit/monoid.h>
#include <omp.h>
#include <string.h>

#include "offload/closest_pair_work.h"
#include "offload/kernel/instance.h"
#include "offload/runtime/launch.h"
#include "offload/runtime/space.h"
#include "offload/scan_here.h"
#include "ref/ref.h"
#include "src/base/arithmetic.h"
#include "src/base/cpu.h"
#include "src/base/error.h"

/* ---- the kinds of points ---- */

#define STEPS_OF_ALL(X)                                                                                      \
  X(BOX, box)                                                                                                \
  X(GATHER, gather)                                                                                          \
  X(BRUTE, brute)                                                                                            \
  X(PLAN_DENSE, plan_dense)                                                                                  \
  X(PLAN_HASHED, plan_hashed)                                                                                \
  X(SELECT, select)                                                                                          \
  X(COUNT, count)                                                                                            \
  X(COUNT_SLAB, count_slab)                                                                                  \
  X(PLACE, place)                                                                                            \
  X(PLACE_SLAB, place_slab)                                                                                  \
  X(SEARCH_DENSE, search_dense)                                                                              \
  X(SEARCH_HASHED, search_hashed)                                                                            \
  X(COLLECT, collect)                                                                                        \
  X(INSERT, insert)                                                                                          \
  X(EQUAL, equal)
#define STEPS_OF_GPUS(X)                                                                                     \
  X(PART_POINTS, part_points)                                                                                \
  X(PART_MEMBERS, part_members)                                                                              \
  X(PART_RECORDS, part_records)                                                                              \
  X(SETTLE, settle)
#define ENUMERATOR(STEP, name) STEP,
typedef enum step { STEPS_OF_ALL(ENUMERATOR) STEPS_OF_GPUS(ENUMERATOR) STEPS } step;

/* All kernels have the same arguments, those of `work`. */
typedef void region(int device, int teams, int64_t n, int64_t begin, int64_t end, dvt_closest_state *s,
                    const void *points, uint32_t *table, uint16_t *ranks, void *records, char *partials);

typedef struct kind {
  size_t point_bytes, record_bytes;
  struct {
    dvt_kernel *kernel;
    region *region;
    void (*host)(const work *w); /* in each thread */
  } step[STEPS];
} kind;

#define NAME(x) DVT_PASTE(closest_, T, DVT_PASTE(DIM, _, x))
#define T float
#define PARTED
#define DIM 2
#include "offload/closest_pair.inc"
#undef DIM
#define DIM 3
#include "offload/closest_pair.inc"
#undef DIM
#undef PARTED
#undef T
#define T double
#define DIM 2
#include "offload/closest_pair.inc"
#undef DIM
#define DIM 3
#include "offload/closest_pair.inc"
#undef DIM
#undef T
#undef NAME

static const kind *kind_of(const dvt_closest_site *site) {
  static const kind *const kinds[2][2] = {{&closest_float2_kind, &closest_float3_kind},
                                          {&closest_double2_kind, &closest_double3_kind}};
  return kinds[site->type == DAVIT_DOUBLE][site->dim == 3];
}

static dvt_here here_of(const dvt_closest_site *site) {
  return (dvt_here){site->device, site->gpu, site->threads, site->stream};
}

/* ---- memory ---- */

/* 8 sqrt(n), then 32 sqrt(n). A set of k pairs of which none is in a sample of m points has about n^2 / m^2
 * pairs: n / 64, then n / 1024. */
int64_t dvt_closest_sample(int64_t n, int round) {
  const int64_t wanted = (int64_t)(8 * __builtin_sqrt((double)n)) << 2 * round;
  return dvt_at_most(wanted, n);
}

/* Of DVT_CLOSEST_EQUAL, at most half of them taken. */
static int64_t slots_of(int64_t n) {
  return INT64_C(2) << hash_bits(n);
}

/* Offsets: state, partials, table, slots of the scan, ranks, records, or what other stages need in their
 * place, and on a GPU the pairs that are collected. */
typedef struct layout {
  size_t partials, table, slots, ranks, records, pairs, end;
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
    l.ranks = l.slots + (site->gpu ? dvt_scan_bytes(DAVIT_INT32, buckets) : 0);
    l.records = l.ranks + dvt_aligned_up((size_t)n * sizeof(uint16_t));
    records = site->gpu && is_parted(n, k->record_bytes)
                  ? parting_bytes(n)
                  : (size_t)n * k->record_bytes * (site->parts > 1 ? 2 : 1); /* members behind them */
    records = records > slots ? records : slots;
    records = records > samples ? records : samples;
  }
  l.pairs = l.end = l.records + dvt_aligned_up(records);
  if (last == DVT_CLOSEST_COLLECT && site->gpu)
    l.end += (size_t)site->capacity * sizeof(davit_closest_pair_result);
  return l;
}

size_t dvt_closest_bytes(const dvt_closest_site *site, dvt_closest_stage last) {
  return layout_of(site, last).end;
}

/* ---- steps: at once on the CPU and as regions, enqueued on a stream ---- */

/* Teams of a GPU, as many as have work. */
static int teams_of(const dvt_closest_site *site, step which, int64_t n) {
  enum { BOX_POINTS = 8 }; /* of a thread, where only the box is wanted */
  const int64_t each = which == BRUTE ? BLOCK
                       : which == BOX ? BOX_POINTS * THREADS
                                      : THREADS,
                blocks = dvt_divide_up(n, each);
  const bool one = which == PLAN_DENSE || which == PLAN_HASHED;
  return (int)dvt_at_most(one              ? 1
                          : which == BRUTE ? dvt_at_most(blocks, site->teams) * blocks
                                           : blocks,
                          site->teams);
}

static davit_status run_step(const dvt_closest_site *site, step which, work w) {
  const kind *k = kind_of(site);
  if (!site->gpu) {
    const int threads = which == PLAN_DENSE || which == PLAN_HASHED ? 1 : site->threads;
#pragma omp parallel num_threads(threads)
    k->step[which].host(&w);
    return DAVIT_SUCCESS;
  }
  const int teams = teams_of(site, which, which == COUNT || which == COUNT_SLAB ? w.end - w.begin : w.n);
  if (site->stream)
    return dvt_launch(
        k->step[which].kernel, site->stream, teams, THREADS, 0,
        DVT_ARGUMENTS(w.n, w.begin, w.end, w.s, w.points, w.table, w.ranks, w.records, w.partials));
  k->step[which].region(site->device, teams, w.n, w.begin, w.end, w.s, w.points, w.table, w.ranks, w.records,
                        w.partials);
  return DAVIT_SUCCESS;
}

davit_status dvt_closest_fit(dvt_stream *stream, davit_type type, int dim, dvt_kernel_fit *fit) {
  const dvt_closest_site site = {.type = type, .dim = dim};
  return dvt_launch_fit_of(kind_of(&site)->step[SEARCH_DENSE].kernel, stream, THREADS, 0, fit);
}

/* ---- stages ---- */

enum { PROBED = 1 << 14 };

static davit_status place_records(const dvt_closest_site *site, work w) {
  const dvt_here here = here_of(site);
  const bool slab = site->parts > 1;
  if (!site->gpu || !is_parted(w.n, kind_of(site)->record_bytes))
    return run_step(site, slab ? PLACE_SLAB : PLACE, w);
  DVT_TRY(dvt_fill_words(&here, parting_of(w.records, w.n, w.n).cursors[0], 2 * PARTS, 0));
  DVT_TRY(run_step(site, slab ? PART_MEMBERS : PART_POINTS, w));
  DVT_TRY(run_step(site, PART_RECORDS, w));
  return run_step(site, SETTLE, w);
}

/* Counts PROBED points, then all others. */
static davit_status count_points(const dvt_closest_site *site, const work *w) {
  const int64_t probed = site->gpu && w->n / 16 >= PROBED ? PROBED : 0;
  const step count = site->parts > 1 ? COUNT_SLAB : COUNT;
  work first = *w, rest = *w;
  first.end = rest.begin = probed;
  rest.end = w->n;
  if (probed > 0)
    DVT_TRY(run_step(site, count, first));
  return run_step(site, count, rest);
}

/* Plans a grid, sorts the points into its cells, and searches there. The CPU stops at a crowd; on a GPU the
 * later kernels do nothing then. There the table is as large as a grid may become: the host does not know the
 * grid. */
static davit_status search_grid(const dvt_closest_site *site, work w, char *slots, step search) {
  const dvt_here here = here_of(site);
  const bool hashed = search != SEARCH_DENSE;
  DVT_TRY(run_step(site, hashed ? PLAN_HASHED : PLAN_DENSE, w));
  if (!site->gpu && w.s->stop)
    return DAVIT_SUCCESS;
  const int64_t buckets = site->gpu ? most_buckets(w.n, hashed) : w.s->grid.buckets;
  if (site->parts > 1)
    DVT_TRY(run_step(site, SELECT, w));
  DVT_TRY(dvt_fill_words(&here, w.table, buckets, 0));
  DVT_TRY(count_points(site, &w));
  if (!site->gpu && dvt_closest_is_crowded(w.s))
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_scan_here(&here, DAVIT_INT32, w.table, buckets, slots));
  DVT_TRY(place_records(site, w));
  return run_step(site, search, w);
}

/* The closest pair of the sample, which is gathered where records will be. */
static davit_status search_sample(const dvt_closest_site *site, work w, int64_t sample) {
  DVT_TRY(run_step(site, GATHER, w));
  if (!site->gpu) {
    const size_t bytes = (size_t)sample * kind_of(site)->point_bytes;
    w.s->pair = dvt_ref_closest_divide(site->type, site->dim, sample, w.records, site->threads,
                                       (char *)w.records + dvt_aligned_up(bytes));
    return DAVIT_SUCCESS;
  }
  w.n = sample;
  w.points = w.records;
  return run_step(site, BRUTE, w);
}

/* `used` is the state that the steps use: on a GPU its copy. */
static davit_status search_stage(const dvt_closest_site *site, dvt_closest_stage stage,
                                 const dvt_closest_state *s, dvt_closest_state *used) {
  const dvt_here here = here_of(site);
  const layout l = layout_of(site, stage);
  char *memory = site->memory;
  work w = {.n = site->n,
            .s = used,
            .points = site->points,
            .table = (uint32_t *)(void *)(memory + (stage == DVT_CLOSEST_EQUAL ? l.records : l.table)),
            .ranks = (uint16_t *)(void *)(memory + l.ranks),
            .records = memory + l.records,
            .partials = memory + l.partials};
  if (stage <= DVT_CLOSEST_DENSE)
    DVT_TRY(run_step(site, BOX, w));
  switch (stage) {
  case DVT_CLOSEST_BOX:
    return DAVIT_SUCCESS;
  case DVT_CLOSEST_BRUTE:
    return run_step(site, BRUTE, w);
  case DVT_CLOSEST_DENSE:
    return search_grid(site, w, memory + l.slots, SEARCH_DENSE);
  case DVT_CLOSEST_HASHED:
    if (s->sample)
      DVT_TRY(search_sample(site, w, s->sample));
    return search_grid(site, w, memory + l.slots, SEARCH_HASHED);
  case DVT_CLOSEST_COLLECT:
    w.partials = site->gpu ? memory + l.pairs : (char *)s->pairs;
    return search_grid(site, w, memory + l.slots, COLLECT);
  default:
    DVT_TRY(dvt_fill_words(&here, w.table, s->slots, 0xff));
    DVT_TRY(run_step(site, INSERT, w));
    return run_step(site, EQUAL, w);
  }
}

/* Between the host's state and the device's. */
static davit_status copy_state(const dvt_closest_site *site, dvt_closest_state *s, bool in) {
  const size_t bytes = sizeof *s;
  void *to = in ? site->memory : (void *)s, *from = in ? (void *)s : site->memory;
  if (site->stream)
    return dvt_stream_copy_bytes(site->stream, to, from, bytes);
  return dvt_space_copy(to, bytes, in ? site->device : DAVIT_PAGEABLE, from, bytes,
                        in ? DAVIT_PAGEABLE : site->device, bytes, 1);
}

/* The pairs that a GPU has collected go to the host, which knows how many. */
static davit_status fetch_pairs(const dvt_closest_site *site, dvt_closest_state *s) {
  const uint64_t room = (uint64_t)s->capacity;
  s->held = (int64_t)(s->found < room ? s->found : room);
  if (!site->gpu || s->held == 0)
    return DAVIT_SUCCESS;
  const size_t bytes = (size_t)s->held * sizeof *s->pairs;
  const char *from = (const char *)site->memory + layout_of(site, DVT_CLOSEST_COLLECT).pairs;
  if (!site->stream)
    return dvt_space_copy(s->pairs, bytes, DAVIT_PAGEABLE, from, bytes, site->device, bytes, 1);
  davit_status status = dvt_stream_copy_bytes(site->stream, s->pairs, from, bytes),
               end = dvt_stream_synchronize(site->stream);
  return status == DAVIT_SUCCESS ? end : status;
}

static davit_status perform_there(const dvt_closest_site *site, dvt_closest_stage stage,
                                  dvt_closest_state *state) {
  if (!site->gpu)
    return search_stage(site, stage, state, state);
  dvt_closest_state *copied = site->stream ? site->staged : state;
  *copied = *state;
  davit_status status = copy_state(site, copied, true);
  if (status == DAVIT_SUCCESS)
    status = search_stage(site, stage, state, site->memory);
  if (status == DAVIT_SUCCESS)
    status = copy_state(site, copied, false);
  if (!site->stream)
    return status;
  davit_status end = dvt_stream_synchronize(site->stream);
  if (status == DAVIT_SUCCESS && end == DAVIT_SUCCESS)
    *state = *site->staged;
  return status == DAVIT_SUCCESS ? end : status;
}

davit_status dvt_closest_perform(const dvt_closest_site *site, dvt_closest_stage stage,
                                 dvt_closest_state *state) {
  state->part = site->part;
  state->parts = site->parts;
  state->slots = slots_of(site->n);
  state->collects = stage == DVT_CLOSEST_COLLECT;
  state->capacity = site->capacity;
  DVT_TRY(perform_there(site, stage, state));
  return stage == DVT_CLOSEST_COLLECT ? fetch_pairs(site, state) : DAVIT_SUCCESS;
}
