/* SPDX-License-Identifier: Apache-2.0 */
#include "src/factor/memory.h"

#include <stdlib.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/runtime/lane.h"
#include "src/runtime/memory.h"
#include "src/runtime/place.h"
#include "src/runtime/pool.h"

enum { SMALLEST = 32 };

/* ---- what fits ---- */

size_t dvt_factor_dense_bytes(const dvt_factoring *f, const dvt_blocks *b, int64_t k) {
  return dvt_aligned_up((size_t)dvt_block_width(b, k) * (size_t)dvt_block_length(b, k) * f->element);
}

static size_t beside_bytes(const dvt_factoring *f, const dvt_blocks *b, int64_t k) {
  const bool panel = b == &f->a && f->rule->extra && k < f->panels;
  return panel ? dvt_aligned_up(f->rule->extra(f, k)) : 0;
}

static size_t bytes_of(const dvt_factoring *f, const dvt_blocks *b, int64_t k) {
  return dvt_factor_dense_bytes(f, b, k) + beside_bytes(f, b, k);
}

/* Any panel fits into as many bytes as the first one takes. */
static size_t slot_bytes(const dvt_factoring *f) {
  return bytes_of(f, &f->a, 0);
}

/* Blocks lie behind each other from the begin, what is beside them from the end. */
int64_t dvt_factor_slab_end(dvt_factoring *f, int64_t first) {
  size_t used[DVT_MAX_DEVICES] = {0}, beside[DVT_MAX_DEVICES] = {0};
  dvt_blocks *b = f->resident;
  int64_t k = first;
  for (; k < b->count; k++) {
    const int w = dvt_owner(f, k);
    const dvt_worker *e = &f->worker[w];
    const size_t dense = (size_t)dvt_block_width(b, k) * (size_t)dvt_block_length(b, k) * f->element;
    beside[w] += beside_bytes(f, b, k);
    if (used[w] + dense + beside[w] > e->block_bytes)
      return k;
    if (b->at && e->memory) {
      b->at[k] = e->memory + used[w];
      b->beside[k] = e->memory + e->block_bytes - beside[w];
    }
    used[w] += dense;
  }
  return k;
}

static size_t wanted_by(const dvt_factoring *f, const dvt_blocks *b, int w) {
  size_t wanted = 0;
  for (int64_t k = w; k < b->count; k += f->workers)
    wanted += bytes_of(f, b, k);
  return wanted;
}

/* How many bytes of blocks each device gets: all that are its own, or what is left of its memory beside the slots.
 * False: one block does not fit. Where all fit, what else has room beside them: lists of rows, and right-hand sides,
 * which are then solved with the factors. */
static bool divide_memory(dvt_factoring *f) {
  const bool factors = f->resident == &f->a;
  const size_t lists = factors && f->rule->whole_bytes ? dvt_aligned_up(f->rule->whole_bytes(f)) : 0;
  bool sides = factors;
  f->whole = true;
  for (int w = 0; w < f->workers; w++) {
    dvt_worker *e = &f->worker[w];
    const size_t wanted = wanted_by(f, f->resident, w), side = factors ? wanted_by(f, &f->b, w) : 0;
    size_t slots = DVT_SLOTS * slot_bytes(f);
    if (f->workers == 1 && factors && wanted <= e->bytes)
      slots = 0;
    else if (e->bytes < slots + bytes_of(f, f->resident, 0))
      return false;
    const size_t room = (e->bytes - slots) / DVT_ALIGNMENT * DVT_ALIGNMENT,
                 mine = wanted + side > 0 ? lists : 0;
    e->block_bytes = wanted < room ? wanted : room;
    f->whole &= wanted + mine <= room;
    sides &= wanted + mine + side <= room;
  }
  if (!sides && factors)
    f->b.count = 0;
  for (int w = 0; w < f->workers; w++) {
    const size_t side = sides ? wanted_by(f, &f->b, w) : 0;
    f->worker[w].side_bytes = side + (f->whole && f->worker[w].block_bytes + side > 0 ? lists : 0);
  }
  return true;
}

static bool has_slots(dvt_factoring *f) {
  return f->workers > 1 || f->resident != &f->a || dvt_factor_slab_end(f, 0) < f->a.count;
}

static davit_status find_bytes(dvt_factoring *f) {
  for (int w = 0; w < f->workers; w++) {
    dvt_worker *e = &f->worker[w];
    if ((e->bytes = f->call->options->cache_bytes) == 0)
      DVT_TRY(dvt_memory_usable(e->device, true, &e->bytes));
  }
  return DAVIT_SUCCESS;
}

static davit_status allocate_memory(dvt_factoring *f) {
  const size_t slots = has_slots(f) ? DVT_SLOTS * slot_bytes(f) : 0;
  for (int w = 0; w < f->workers; w++) {
    dvt_worker *e = &f->worker[w];
    void *memory;
    if (e->block_bytes == 0 && e->side_bytes == 0 && w >= f->panels)
      continue; /* it has no panels to bring either */
    DVT_TRY(dvt_malloc(e->block_bytes + e->side_bytes + slots, e->device, &memory));
    e->memory = memory;
    f->call->report->device_count++;
    for (int s = 0; s < DVT_SLOTS; s++)
      e->slot[s] = e->memory + e->block_bytes + e->side_bytes + (size_t)s * slot_bytes(f);
  }
  return DAVIT_SUCCESS;
}

static void free_memory(dvt_factoring *f) {
  for (int w = 0; w < f->workers; w++) {
    davit_free(f->worker[w].memory);
    f->worker[w].memory = NULL;
  }
  f->call->report->device_count = 0;
}

/* ---- how long blocks are ---- */

/* So long that products of blocks are fast, and so short that the first block does not keep all devices waiting: as
 * many for each device, of the lengths that were the fastest on one card at 8192 and 20000 (docs/notes/solve.md). */
static int64_t choose_width(const dvt_factor_rule *rule, int64_t n, int workers) {
  const int64_t shortest = 256;
  const int64_t even = dvt_divide_up(n, rule->count * workers);
  const int64_t width = even < shortest ? shortest : even > rule->longest ? rule->longest : even;
  return (width + 63) / 64 * 64;
}

/* Blocks of A; those of the right-hand sides or of what Q is multiplied with are as long where there are as many, and
 * else one for each device. Of the unit matrix they lie over those of A. */
static void cut(dvt_factoring *f) {
  const dvt_factor_call *c = f->call;
  f->a.count = dvt_divide_up(dvt_blocks_end(&f->a), f->a.width);
  f->panels = dvt_divide_up(dvt_blocks_end(&f->a) < dvt_blocks_length(&f->a) ? dvt_blocks_end(&f->a)
                                                                             : dvt_blocks_length(&f->a),
                            f->a.width);
  if (!c->b.a)
    return;
  const int64_t even = dvt_divide_up(dvt_blocks_end(&f->b), f->workers);
  f->b.width = c->work == DVT_GENERATE || (c->work == DVT_MULTIPLY && even > f->a.width) ? f->a.width : even;
  f->b.count = dvt_divide_up(dvt_blocks_end(&f->b), f->b.width);
}

/* Blocks become shorter, unless the caller has said how long they are, until a few fit; and where a device has less
 * memory than it said, half of that is used. */
static davit_status find_memory(dvt_factoring *f) {
  DVT_TRY(find_bytes(f));
  for (;;) {
    cut(f);
    const davit_status status =
        divide_memory(f)
            ? allocate_memory(f)
            : davit_fail(DAVIT_OUT_OF_DEVICE_MEMORY,
                         "%s: %zu bytes on device %d are too few for blocks of %lld", f->rule->name,
                         f->worker[0].bytes, f->worker[0].device, (long long)f->a.width);
    if (status != DAVIT_OUT_OF_DEVICE_MEMORY)
      return status;
    const bool refused = divide_memory(f);
    free_memory(f);
    if (refused && f->call->options->cache_bytes == 0)
      for (int w = 0; w < f->workers; w++)
        f->worker[w].bytes /= 2;
    else if (!f->call->options->block && f->a.width > SMALLEST)
      f->a.width /= 2;
    else
      return status;
  }
}

/* ---- tables ---- */

static int64_t count_slabs(dvt_factoring *f) {
  int64_t slabs = 0;
  for (int64_t first = 0; first < f->resident->count; slabs++)
    first = dvt_factor_slab_end(f, first);
  return slabs;
}

/* No fewer than there will be: for each panel in each slab its way to the devices, for each block and panel an update,
 * and the two triangles of the systems. */
static int64_t most_tasks(dvt_factoring *f) {
  const int64_t ways = 5 * f->workers + 12, steps = 5;
  return (count_slabs(f) + 2) * f->panels * ways + f->resident->count * (f->panels * steps + 8) +
         2 * f->b.count * (f->panels + 1) * steps;
}

static davit_status allocate_blocks(dvt_blocks *b) {
  const size_t count = (size_t)b->count;
  b->at = dvt_allocate(count, sizeof *b->at);
  b->beside = dvt_allocate(count, sizeof *b->beside);
  b->last = dvt_allocate_raw(count * sizeof *b->last);
  b->stored = dvt_allocate_raw(count * sizeof *b->stored);
  if (!b->at || !b->beside || !b->last || !b->stored)
    return DAVIT_OUT_OF_HOST_MEMORY;
  memset(b->last, DVT_NOTHING, count * sizeof *b->last);
  memset(b->stored, DVT_NOTHING, count * sizeof *b->stored);
  return DAVIT_SUCCESS;
}

/* Where the right-hand sides lie on the devices: one block on each. */
static void place_sides(dvt_factoring *f) {
  for (int64_t k = 0; k < f->b.count; k++) {
    const dvt_worker *e = &f->worker[dvt_owner(f, k)];
    f->b.at[k] = e->memory + e->block_bytes + e->side_bytes - bytes_of(f, &f->b, k);
  }
}

static davit_status allocate_tables(dvt_factoring *f) {
  const int64_t most = most_tasks(f);
  const size_t panels = (size_t)f->panels, pivots = f->call->ipiv ? panels * (size_t)f->a.width : 0;
  size_t rows = 0;
  for (int64_t k = 0; pivots && k < f->panels; k++)
    rows += 2 * (size_t)(f->whole ? dvt_first_rows(f, k) : dvt_last_rows(f, k));
  void *pinned;
  if (most > INT32_MAX)
    return davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "%s: blocks of %lld are too many", f->rule->name,
                      (long long)f->a.width);
  f->most_tasks = (int32_t)most;
  f->lane = dvt_allocate((size_t)f->most_tasks, sizeof *f->lane);
  f->factored = dvt_allocate_raw(panels * sizeof *f->factored);
  f->row_count = dvt_allocate(panels, sizeof *f->row_count);
  f->scratch = dvt_allocate_raw((pivots ? (size_t)dvt_blocks_length(&f->a) : 1) * sizeof *f->scratch);
  if (!f->lane || !f->factored || !f->row_count || !f->scratch)
    return DAVIT_OUT_OF_HOST_MEMORY;
  DVT_TRY(allocate_blocks(&f->a));
  DVT_TRY(allocate_blocks(&f->b));
  if (f->resident == &f->a)
    place_sides(f);
  DVT_TRY(dvt_malloc((panels + 5 * pivots + rows) * sizeof *f->info, DAVIT_PINNED, &pinned));
  f->info = memset(pinned, 0, panels * sizeof *f->info);
  f->pivots = f->info + panels;
  f->rows = f->pivots + pivots;
  f->lists = f->rows + 4 * pivots;
  return DAVIT_SUCCESS;
}

/* Streams that are not used would share the few queues of a GPU with those that are. */
static bool has_lane(const dvt_factoring *f, int w, int role) {
  const bool turns = dvt_takes_turns(&f->a) || dvt_takes_turns(&f->b);
  return role == 0 || (f->worker[w].streams && (role == DVT_PEER                            ? f->workers > 1
                                                : role == DVT_LOAD_2 || role == DVT_STORE_2 ? turns
                                                                                            : true));
}

static davit_status open_lanes(dvt_factoring *f) {
  static const dvt_stream_role stream_role[] = {
      [DVT_LOAD] = DVT_STREAM_LOADS,     [DVT_LOAD_2] = DVT_STREAM_LOADS, [DVT_STORE] = DVT_STREAM_STORES,
      [DVT_STORE_2] = DVT_STREAM_STORES, [DVT_PEER] = DVT_STREAM_PEERS,   [DVT_NEXT] = DVT_STREAM_KERNELS,
      [DVT_UPDATE] = DVT_STREAM_KERNELS};
  int threads = 0;
  DVT_TRY(dvt_graph_open(&f->graph, f->workers * DVT_FACTOR_ROLES + 1, f->most_tasks));
  for (int w = 0; w < f->workers; w++)
    for (int role = 0; role < DVT_FACTOR_ROLES; role++) {
      if (!has_lane(f, w, role))
        continue;
      threads += !f->worker[w].streams;
      DVT_TRY(
          dvt_graph_add_lane(&f->graph, w * DVT_FACTOR_ROLES + role, f->worker[w].device,
                             role == DVT_NEXT && f->rule->urgent ? DVT_STREAM_URGENT : stream_role[role]));
    }
  if (f->rule->finish && f->call->work == DVT_FACTOR) {
    const int place = f->a.matrix.place;
    threads++;
    DVT_TRY(dvt_graph_add_lane(&f->graph, f->workers * DVT_FACTOR_ROLES,
                               dvt_place_is_host(place) ? DAVIT_HOST : place, DVT_STREAM_MIXED));
  }
  return dvt_pool_reserve(threads);
}

davit_status dvt_factor_prepare(dvt_factoring *f) {
  DVT_TRY(find_memory(f));
  DVT_TRY(allocate_tables(f));
  return open_lanes(f);
}

/* ---- the whole ---- */

dvt_factoring *dvt_factor_new(dvt_factor_call *call) {
  dvt_factoring *f = dvt_allocate(1, sizeof *f);
  if (!f)
    return NULL;
  *f = (dvt_factoring){.call = call, .rule = call->rule, .workers = call->count};
  f->element = davit_type_bytes(call->type);
  f->adjoint = dvt_adjoint_of(call->type);
  f->a = (dvt_blocks){.matrix = call->a, .lower = call->rule->lower, .upper = call->rule->upper};
  f->b = (dvt_blocks){.matrix = call->b, .by_rows = call->side == 'R'};
  f->resident = call->work == DVT_FACTOR ? &f->a : &f->b;
  const int64_t end = dvt_blocks_end(&f->a),
                least = call->a.rows < call->a.cols ? call->a.rows : call->a.cols,
                wanted = call->options->block ? call->options->block
                                              : choose_width(call->rule, least, call->count);
  f->a.width = wanted < end ? wanted : end;
  for (int w = 0; w < f->workers; w++) {
    dvt_worker *e = &f->worker[w];
    e->device = call->devices[w];
    e->streams = dvt_lane_has_stream(call->devices[w]);
    memset(e->newest, DVT_NOTHING, sizeof e->newest);
    memset(e->readers, DVT_NOTHING, sizeof e->readers);
  }
  return f;
}

static void free_blocks(dvt_blocks *b) {
  free(b->at);
  free(b->beside);
  free(b->last);
  free(b->stored);
}

void dvt_factor_free(dvt_factoring *f) {
  dvt_graph_close(&f->graph);
  for (int w = 0; w < f->workers; w++)
    davit_free(f->worker[w].memory);
  davit_free(f->info);
  free_blocks(&f->a);
  free_blocks(&f->b);
  free(f->lane);
  free(f->factored);
  free(f->row_count);
  free(f->scratch);
  free(f);
}
