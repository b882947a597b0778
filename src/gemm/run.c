/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out a plan: every step becomes commands on lanes, every dependence a record.
 *
 * A device has one lane for loads, one for copies from peers, one for stores and a few for products, so that
 * link, copy engines and arithmetic work at the same time. The state of a slot says who wrote it and who
 * reads it:
 *
 *   ready     the record of the write that filled it; readers on other lanes wait for it once
 *   readers   the newest read of each lane, kept only where slots are given to other tiles; who overwrites
 *             the slot waits for them
 *
 * Steps are submitted in the plan's order by the calling thread, which never waits for work until all is
 * submitted; slots are allocated before the first step, so that a full device is met with C untouched.
 * Pageable operands pass through a ring of pinned buffers, packed by host threads on lanes of their own. */
#include <stdlib.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "src/base/allocate.h"
#include "src/base/team.h"
#include "src/gemm/gemm.h"
#include "src/gemm/plan.h"
#include "src/runtime/copy.h"
#include "src/runtime/memory.h"
#include "src/runtime/operation.h"
#include "src/runtime/tuning.h"

enum { MAX_PRODUCT_LANES = 64, STREAM_PRODUCT_LANES = 2, PACK_LANES = 4, RING = 8, LANE_WORDS = 24 };

/* A lane with a number, for the sets of lanes that have waited. */
typedef struct worker {
  dvt_lane *lane;
  int number;
} worker;

typedef struct reader {
  int lane;
  dvt_record *record;
} reader;

typedef struct slot_state {
  void *memory;
  dvt_record *ready;
  int ready_lane;
  uint64_t waited[LANE_WORDS];
  reader *readers;
  int reader_count, reader_capacity;
} slot_state;

/* A pinned buffer on the way of pageable tiles. */
typedef struct ring_buffer {
  void *memory;
  dvt_record *consumed;
} ring_buffer;

typedef struct engine {
  int device;
  bool streams;
  worker load, peer, store;
  worker product[MAX_PRODUCT_LANES];
  int product_lanes;
  worker pack[PACK_LANES];
  slot_state *slot;
  ring_buffer ring[RING];
  int ring_next;
} engine;

typedef struct run {
  dvt_gemm g;
  const davit_gemm_options *options;
  dvt_plan_shape shape;
  dvt_plan plan;
  size_t element, slot_bytes;
  int place[DVT_MATRICES];
  engine engine[DVT_PLAN_DEVICES];
  dvt_lane *lanes[DVT_PLAN_DEVICES * (MAX_PRODUCT_LANES + PACK_LANES + 3)];
  int lane_count;
  davit_gemm_report report;
} run;

/* ---- slots, lanes and records ---- */

static bool has_waited(const slot_state *s, int lane) {
  return s->waited[lane / 64] >> (lane % 64) & 1;
}

/* Holds the lane until the slot's content is there. */
static davit_status use(slot_state *s, const worker *w) {
  if (!s->ready || s->ready_lane == w->number || has_waited(s, w->number))
    return DAVIT_SUCCESS;
  s->waited[w->number / 64] |= UINT64_C(1) << (w->number % 64);
  return dvt_lane_wait(w->lane, s->ready);
}

/* Holds the lane until nobody needs the slot's content any more. */
static davit_status overwrite(slot_state *s, const worker *w) {
  DVT_TRY(use(s, w));
  for (int i = 0; i < s->reader_count; i++) {
    if (s->readers[i].lane != w->number)
      DVT_TRY(dvt_lane_wait(w->lane, s->readers[i].record));
    dvt_record_drop(s->readers[i].record);
    s->readers[i].record = NULL;
  }
  s->reader_count = 0;
  return DAVIT_SUCCESS;
}

/* The lane has just enqueued the write that fills the slot. */
static davit_status produced(slot_state *s, const worker *w) {
  dvt_record *record;
  DVT_TRY(dvt_lane_record(w->lane, false, &record));
  dvt_record_drop(s->ready);
  s->ready = record;
  s->ready_lane = w->number;
  memset(s->waited, 0, sizeof s->waited);
  return DAVIT_SUCCESS;
}

/* The lane has just enqueued a read of the slot, which `record` follows. */
static davit_status add_reader(slot_state *s, const worker *w, dvt_record *record) {
  for (int i = 0; i < s->reader_count; i++)
    if (s->readers[i].lane == w->number) {
      dvt_record_drop(s->readers[i].record);
      s->readers[i].record = dvt_record_hold(record);
      return DAVIT_SUCCESS;
    }
  if (s->reader_count == s->reader_capacity) {
    int capacity = s->reader_capacity ? 2 * s->reader_capacity : 4;
    reader *grown = dvt_allocate((size_t)capacity, sizeof *grown);
    if (!grown)
      return DAVIT_OUT_OF_HOST_MEMORY;
    if (s->reader_count)
      memcpy(grown, s->readers, (size_t)s->reader_count * sizeof *grown);
    free(s->readers);
    s->readers = grown;
    s->reader_capacity = capacity;
  }
  s->readers[s->reader_count++] = (reader){w->number, dvt_record_hold(record)};
  return DAVIT_SUCCESS;
}

/* One record for the reads of up to two slots. */
static davit_status was_read(run *r, int device, const worker *w, slot_state *first, slot_state *second) {
  if (!r->plan.evicts[device] || (!first && !second))
    return DAVIT_SUCCESS;
  dvt_record *record;
  DVT_TRY(dvt_lane_record(w->lane, false, &record));
  davit_status status = first ? add_reader(first, w, record) : DAVIT_SUCCESS;
  if (status == DAVIT_SUCCESS && second)
    status = add_reader(second, w, record);
  dvt_record_drop(record);
  return status;
}

/* ---- tiles in the caller's matrices ---- */

typedef struct tile_view {
  char *pointer;
  int64_t rows, cols, ld; /* as stored */
} tile_view;

static tile_view view(const run *r, dvt_matrix matrix, const dvt_step *step) {
  const dvt_gemm *g = &r->g;
  const dvt_plan *p = &r->plan;
  int64_t mi = dvt_tile_length(g->m, p->tile_m, step->i), nj = dvt_tile_length(g->n, p->tile_n, step->j);
  int64_t kk = dvt_tile_length(g->k, p->tile_k, step->k);
  int64_t row, col;
  tile_view v;
  char *base;
  if (matrix == DVT_A) {
    row = step->i * p->tile_m, col = step->k * p->tile_k;
    v = (tile_view){NULL, mi, kk, g->lda};
    base = (char *)(uintptr_t)g->a;
  } else if (matrix == DVT_B) {
    row = step->k * p->tile_k, col = step->j * p->tile_n;
    v = (tile_view){NULL, kk, nj, g->ldb};
    base = (char *)(uintptr_t)g->b;
  } else {
    row = step->i * p->tile_m, col = step->j * p->tile_n;
    v = (tile_view){NULL, mi, nj, g->ldc};
    base = g->c;
  }
  if ((matrix == DVT_A && g->transa != 'N') || (matrix == DVT_B && g->transb != 'N')) {
    int64_t swap = row;
    row = col, col = swap;
    swap = v.rows, v.rows = v.cols, v.cols = swap;
  }
  if (base)
    v.pointer = base + (size_t)(row + col * v.ld) * r->element;
  return v;
}

/* ---- copies ---- */

/* The two halves of a copy through a pinned buffer: `first` on one lane, then the rest on the other. */
static davit_status through_ring(engine *e, dvt_copy t, const worker *store_or_load, bool up) {
  int at = e->ring_next;
  ring_buffer *buffer = &e->ring[at];
  const worker *pack = &e->pack[at % PACK_LANES];
  e->ring_next = (at + 1) % RING;
  const worker *one = up ? pack : store_or_load, *two = up ? store_or_load : pack;
  if (buffer->consumed)
    DVT_TRY(dvt_lane_wait(one->lane, buffer->consumed));
  dvt_copy first = t, second = t;
  first.destination = buffer->memory;
  second.source = buffer->memory;
  first.destination_pitch = second.source_pitch = t.row_bytes;
  first.destination_place = second.source_place = DAVIT_PINNED;
  DVT_TRY(dvt_copy_submit(one->lane, &first));
  dvt_record *filled;
  DVT_TRY(dvt_lane_record(one->lane, false, &filled));
  davit_status status = dvt_lane_wait(two->lane, filled);
  dvt_record_drop(filled);
  DVT_TRY(status);
  DVT_TRY(dvt_copy_submit(two->lane, &second));
  dvt_record_drop(buffer->consumed);
  buffer->consumed = NULL;
  return dvt_lane_record(two->lane, false, &buffer->consumed);
}

static bool needs_ring(const run *r, const engine *e, dvt_matrix matrix) {
  return e->streams && dvt_place_is_host(r->place[matrix]) && r->place[matrix] != DAVIT_PINNED;
}

/* ---- steps ---- */

static davit_status run_load(run *r, const dvt_step *step) {
  engine *e = &r->engine[step->device];
  dvt_matrix matrix = (dvt_matrix)step->matrix;
  slot_state *s = &e->slot[step->slot[matrix]];
  tile_view v = view(r, matrix, step);
  dvt_copy t = {.destination = s->memory,
                .source = v.pointer,
                .destination_pitch = (size_t)v.rows * r->element,
                .source_pitch = (size_t)v.ld * r->element,
                .row_bytes = (size_t)v.rows * r->element,
                .cols = (size_t)v.cols,
                .destination_place = e->device,
                .source_place = r->place[matrix]};
  *(dvt_place_is_host(t.source_place) ? &r->report.bytes_from_host : &r->report.bytes_from_peers) +=
      (int64_t)(t.row_bytes * t.cols);
  DVT_TRY(overwrite(s, &e->load));
  DVT_TRY(needs_ring(r, e, matrix) ? through_ring(e, t, &e->load, true) : dvt_copy_submit(e->load.lane, &t));
  return produced(s, &e->load);
}

static davit_status run_peer(run *r, const dvt_step *step) {
  engine *e = &r->engine[step->device], *from = &r->engine[step->from_device];
  dvt_matrix matrix = (dvt_matrix)step->matrix;
  slot_state *s = &e->slot[step->slot[matrix]], *source = &from->slot[step->from_slot];
  tile_view v = view(r, matrix, step);
  size_t row_bytes = (size_t)v.rows * r->element;
  dvt_copy t = {.destination = s->memory,
                .source = source->memory,
                .destination_pitch = row_bytes,
                .source_pitch = row_bytes,
                .row_bytes = row_bytes,
                .cols = (size_t)v.cols,
                .destination_place = e->device,
                .source_place = from->device};
  r->report.bytes_from_peers += (int64_t)(t.row_bytes * t.cols);
  DVT_TRY(overwrite(s, &e->peer));
  DVT_TRY(use(source, &e->peer));
  DVT_TRY(dvt_copy_submit(e->peer.lane, &t));
  DVT_TRY(produced(s, &e->peer));
  return was_read(r, step->from_device, &e->peer, source, NULL);
}

/* Where a product finds a tile: in its slot, dense, or in the caller's matrix. */
static slot_state *operand(const run *r, const engine *e, const dvt_step *step, dvt_matrix matrix,
                           void **pointer, int64_t *ld) {
  tile_view v = view(r, matrix, step);
  slot_state *s = step->slot[matrix] >= 0 ? &e->slot[step->slot[matrix]] : NULL;
  *pointer = s ? s->memory : v.pointer;
  *ld = s ? v.rows > 1 ? v.rows : 1 : v.ld;
  return s;
}

static davit_status run_product(run *r, const dvt_step *step) {
  engine *e = &r->engine[step->device];
  const dvt_plan *p = &r->plan;
  /* All products of a tile of C take the same lane, so k ascends without a record. */
  const worker *w = &e->product[(step->i + step->j * p->tiles_m) % e->product_lanes];
  dvt_gemm g = r->g;
  void *a, *b;
  g.m = dvt_tile_length(r->g.m, p->tile_m, step->i);
  g.n = dvt_tile_length(r->g.n, p->tile_n, step->j);
  g.k = dvt_tile_length(r->g.k, p->tile_k, step->k);
  g.beta = step->first ? r->g.beta : 1;
  slot_state *c = operand(r, e, step, DVT_C, &g.c, &g.ldc);
  if (c && step->first)
    DVT_TRY(r->shape.load_c ? use(c, w) : overwrite(c, w));
  slot_state *sa = operand(r, e, step, DVT_A, &a, &g.lda), *sb = operand(r, e, step, DVT_B, &b, &g.ldb);
  g.a = a;
  g.b = b;
  if (sa)
    DVT_TRY(use(sa, w));
  if (sb)
    DVT_TRY(use(sb, w));
  DVT_TRY(dvt_gemm_submit(w->lane, &g));
  r->report.products++;
  r->report.devices[step->device].products++;
  DVT_TRY(was_read(r, step->device, w, sa, sb));
  return c && step->last ? produced(c, w) : DAVIT_SUCCESS;
}

static davit_status run_store(run *r, const dvt_step *step) {
  engine *e = &r->engine[step->device];
  slot_state *s = &e->slot[step->slot[DVT_C]];
  tile_view v = view(r, DVT_C, step);
  dvt_copy t = {.destination = v.pointer,
                .source = s->memory,
                .destination_pitch = (size_t)v.ld * r->element,
                .source_pitch = (size_t)v.rows * r->element,
                .row_bytes = (size_t)v.rows * r->element,
                .cols = (size_t)v.cols,
                .destination_place = r->place[DVT_C],
                .source_place = e->device};
  *(dvt_place_is_host(t.destination_place) ? &r->report.bytes_to_host : &r->report.bytes_from_peers) +=
      (int64_t)(t.row_bytes * t.cols);
  DVT_TRY(use(s, &e->store));
  DVT_TRY(needs_ring(r, e, DVT_C) ? through_ring(e, t, &e->store, false)
                                  : dvt_copy_submit(e->store.lane, &t));
  return was_read(r, step->device, &e->store, s, NULL);
}

static davit_status run_steps(run *r) {
  static davit_status (*const steps[])(run *, const dvt_step *) = {[DVT_STEP_LOAD] = run_load,
                                                                   [DVT_STEP_PEER] = run_peer,
                                                                   [DVT_STEP_PRODUCT] = run_product,
                                                                   [DVT_STEP_STORE] = run_store};
  for (int64_t i = 0; i < r->plan.steps; i++)
    DVT_TRY(steps[r->plan.step[i].kind](r, &r->plan.step[i]));
  return DAVIT_SUCCESS;
}

/* ---- before and after ---- */

static davit_status open_worker(run *r, int device, worker *w) {
  DVT_TRY(dvt_lane_open(device, &w->lane));
  w->number = r->lane_count;
  r->lanes[r->lane_count++] = w->lane;
  return DAVIT_SUCCESS;
}

static int product_lanes(const run *r, int device, bool streams) {
  if (streams)
    return STREAM_PRODUCT_LANES;
  if (!dvt_device_find(device)->shares_host_memory || device == DAVIT_HOST)
    return 1; /* target regions fill the device, the CPU's own product uses all cores */
  int lanes = dvt_threads() / (r->plan.devices * dvt_device_threads(device));
  return lanes < 1 ? 1 : lanes > MAX_PRODUCT_LANES ? MAX_PRODUCT_LANES : lanes;
}

static davit_status open_ring(run *r, engine *e) {
  for (int i = 0; i < PACK_LANES; i++)
    DVT_TRY(open_worker(r, DAVIT_HOST, &e->pack[i]));
  for (int i = 0; i < RING; i++)
    DVT_TRY(davit_malloc(r->slot_bytes, DAVIT_PINNED, &e->ring[i].memory));
  return DAVIT_SUCCESS;
}

static davit_status open_engine(run *r, int index) {
  engine *e = &r->engine[index];
  const bool *resident = r->shape.device[index].resident;
  e->device = r->options->devices[index];
  r->report.devices[index].device = e->device;
  e->slot = dvt_allocate((size_t)r->plan.slots[index] + 1, sizeof *e->slot);
  if (!e->slot)
    return DAVIT_OUT_OF_HOST_MEMORY;
  for (int64_t i = 0; i < r->plan.slots[index]; i++) {
    DVT_TRY(davit_malloc(r->slot_bytes, e->device, &e->slot[i].memory));
    r->report.cache_bytes += (int64_t)r->slot_bytes;
  }
  DVT_TRY(open_worker(r, e->device, &e->product[0]));
  e->streams = e->product[0].lane->stream != NULL;
  e->product_lanes = product_lanes(r, e->device, e->streams);
  for (int i = 1; i < e->product_lanes; i++)
    DVT_TRY(open_worker(r, e->device, &e->product[i]));
  if (r->plan.slots[index] == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(open_worker(r, e->device, &e->load));
  DVT_TRY(open_worker(r, e->device, &e->peer));
  DVT_TRY(open_worker(r, e->device, &e->store));
  for (int x = 0; x < DVT_MATRICES; x++)
    if (!resident[x] && needs_ring(r, e, (dvt_matrix)x))
      return open_ring(r, e);
  return DAVIT_SUCCESS;
}

static void close_engine(run *r, int index) {
  engine *e = &r->engine[index];
  for (int64_t i = 0; e->slot && i < r->plan.slots[index]; i++) {
    slot_state *s = &e->slot[i];
    dvt_record_drop(s->ready);
    for (int j = 0; j < s->reader_count; j++)
      dvt_record_drop(s->readers[j].record);
    free(s->readers);
    davit_free(s->memory);
  }
  free(e->slot);
  for (int i = 0; i < RING; i++) {
    dvt_record_drop(e->ring[i].consumed);
    davit_free(e->ring[i].memory);
  }
}

/* Closing waits for what was submitted, in failure too, so that no command outlives its memory. */
static davit_status close_all(run *r, davit_status status) {
  dvt_error first = {.status = DAVIT_SUCCESS};
  dvt_error_keep(&first, status);
  for (int i = 0; i < r->lane_count; i++) {
    davit_status end = dvt_lane_close(r->lanes[i]);
    dvt_error_keep(&first, end);
  }
  for (int i = 0; i < r->plan.devices; i++)
    close_engine(r, i);
  return dvt_error_report(&first);
}

static davit_status carry_out(run *r) {
  davit_status status = DAVIT_SUCCESS;
  for (int i = 0; i < r->plan.devices && status == DAVIT_SUCCESS; i++)
    status = open_engine(r, i);
  if (status == DAVIT_SUCCESS)
    status = run_steps(r);
  return close_all(r, status);
}

/* ---- sizes ---- */

static bool is_resident(const run *r, int device, dvt_matrix matrix) {
  if (r->place[matrix] == device && device != DAVIT_HOST)
    return true;
  return !r->options->separate_memory && dvt_device_find(device)->shares_host_memory &&
         dvt_place_is_host(r->place[matrix]);
}

/* What a tile costs beside the arithmetic it holds, relative to the largest: small tiles run at a lower rate
 * and ask for more submissions. Measured: on H200s from n = 8192 to 16384 (docs/gemm.md), on the CPU at n =
 * 2048. */
typedef struct tile_cost {
  int64_t tile;
  double factor;
} tile_cost;

static const tile_cost stream_tiles[] = {{4096, 1.0}, {2048, 1.12}, {1024, 1.3}, {512, 1.8}, {256, 2.6}};
static const tile_cost host_tiles[] = {{1024, 1.0}, {512, 1.03}, {256, 1.25}};

/* The tile for which the device with the largest block is done first. */
static int64_t choose_tile(const run *r, int64_t longest) {
  bool in_place = r->shape.devices == 1, streams = r->engine[0].streams;
  for (int x = 0; x < DVT_MATRICES; x++)
    in_place = in_place && is_resident(r, r->options->devices[0], (dvt_matrix)x);
  if (in_place) /* nothing to move and nobody to share with: one product */
    return longest;
  int64_t tuned = dvt_tuned_tile(r->options->devices[0], r->shape.devices, longest);
  if (tuned > 0)
    return tuned;
  const tile_cost *table = streams ? stream_tiles : host_tiles;
  size_t count =
      streams ? sizeof stream_tiles / sizeof *stream_tiles : sizeof host_tiles / sizeof *host_tiles;
  int64_t best = table[0].tile;
  double least = 0;
  for (size_t i = 0; i < count; i++) {
    double cost =
        table[i].factor * (double)dvt_plan_largest_block(r->g.m, r->g.n, table[i].tile, r->shape.devices);
    if (i == 0 || cost < least) {
      least = cost;
      best = table[i].tile;
    }
  }
  return best;
}

static davit_status shape_devices(run *r) {
  r->shape.peers = true;
  for (int i = 0; i < r->shape.devices; i++) {
    const dvt_device *device = dvt_device_find(r->options->devices[i]);
    dvt_plan_device *d = &r->shape.device[i];
    for (int x = 0; x < DVT_MATRICES; x++)
      d->resident[x] = is_resident(r, r->options->devices[i], (dvt_matrix)x);
    size_t bytes = r->options->cache_bytes, total;
    if (bytes == 0) {
      DVT_TRY(davit_device_memory(device->info.device, &bytes, &total));
      bytes = bytes / 10 * 8;
    }
    d->slots = (int64_t)(bytes / r->slot_bytes);
    for (int j = 0; j < i; j++) {
      const dvt_device *other = dvt_device_find(r->options->devices[j]);
      bool same = device->shares_host_memory && other->shares_host_memory;
      r->shape.peers =
          r->shape.peers && (same || (dvt_device_peers(device, other) && dvt_device_peers(other, device)));
    }
  }
  return DAVIT_SUCCESS;
}

static davit_status build(run *r) {
  bool chosen = r->options->tile == 0;
  int64_t longest = r->g.m > r->g.n ? r->g.m : r->g.n;
  longest = longest > r->g.k ? longest : r->g.k;
  for (r->shape.tile = chosen ? choose_tile(r, longest) : r->options->tile;; r->shape.tile /= 2) {
    size_t edge = (size_t)(r->shape.tile < longest ? r->shape.tile : longest);
    if (__builtin_mul_overflow(edge, edge, &r->slot_bytes) ||
        __builtin_mul_overflow(r->slot_bytes, r->element, &r->slot_bytes))
      r->slot_bytes = SIZE_MAX; /* no slot fits; operands in place need none */
    DVT_TRY(shape_devices(r));
    davit_status status = dvt_plan_build(&r->shape, &r->plan);
    /* A chosen tile may shrink until the cache holds a product; a given one may not. */
    if (status != DAVIT_OUT_OF_DEVICE_MEMORY || !chosen || r->shape.tile <= 64)
      return status;
  }
}

static davit_status prepare_and_carry_out(run *r) {
  int64_t start = dvt_now_ns();
  r->shape.m = r->g.m;
  r->shape.n = r->g.n;
  r->shape.k = r->g.k;
  r->shape.load_c = r->g.beta != 0;
  r->shape.devices = r->options->device_count;
  r->element = davit_type_bytes(r->g.type);
  r->place[DVT_A] = r->g.k > 0 ? dvt_place_of(r->g.a) : DAVIT_PAGEABLE;
  r->place[DVT_B] = r->g.k > 0 ? dvt_place_of(r->g.b) : DAVIT_PAGEABLE;
  r->place[DVT_C] = dvt_place_of(r->g.c);
  r->engine[0].streams = dvt_device_find(r->options->devices[0])->ordinal >= 0;
  DVT_TRY(build(r));
  davit_status status = carry_out(r);
  r->report.tile = r->shape.tile;
  r->report.evictions = r->plan.evictions;
  r->report.device_count = r->plan.devices;
  r->report.seconds = 1e-9 * (double)(dvt_now_ns() - start);
  dvt_plan_free(&r->plan);
  if (status == DAVIT_SUCCESS && r->options->report)
    *r->options->report = r->report;
  return status;
}

davit_status dvt_gemm_run(const dvt_gemm *g, const davit_gemm_options *options) {
  if (g->m == 0 || g->n == 0) {
    if (options->report)
      *options->report = (davit_gemm_report){0};
    return DAVIT_SUCCESS;
  }
  run *r = dvt_allocate(1, sizeof *r);
  if (!r)
    return DAVIT_OUT_OF_HOST_MEMORY;
  r->g = *g;
  r->options = options;
  davit_status status = prepare_and_carry_out(r);
  free(r);
  return status;
}
