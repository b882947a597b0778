/* SPDX-License-Identifier: Apache-2.0 */
/* Cholesky's factorisation by blocks of columns ('L') or rows ('U'), which go to the devices in turn.
 *
 * A block is loaded, factored, copied to the other devices, and stored when it is known that it could be factored; on
 * every device it updates the blocks behind it. The next block has a lane of its own, so that it is updated and
 * factored while the others are updated. The calling thread looks whether a block was factored when the tasks of the
 * next one are enqueued, so that no device runs dry.
 *
 * A device that has the matrix computes the whole by one operation.
 *
 * What does not fit into the devices' memory is done in slabs: as many blocks as fit are loaded, updated with all
 * blocks before the slab, which come from the host once more, and factored. */
#include "src/cholesky.h"

#include <stdlib.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/level3/arguments.h"
#include "src/runtime/graph.h"
#include "src/runtime/lane.h"
#include "src/runtime/memory.h"
#include "src/runtime/place.h"
#include "src/runtime/pool.h"

/* ---- one lane ---- */

static davit_status check(void *arguments) {
  dvt_potrf *p = arguments;
  DVT_TRY(dvt_check_letter("uplo", p->uplo, "UL", &p->uplo));
  DVT_TRY(dvt_check_length("n", p->n));
  DVT_TRY(dvt_check_ld("lda", p->lda, p->n, p->n));
  if (p->n > 0)
    DVT_TRY(dvt_check_pointer("a", p->a));
  return dvt_check_pointer("info", p->info);
}

static void measure(const void *arguments, int device, int ranges, dvt_extents *e) {
  (void)arguments, (void)device, (void)ranges;
  e->result_bytes = sizeof(int);
}

static davit_status nothing_failed(const void *arguments, void *results, int64_t count) {
  (void)results, (void)count;
  *((const dvt_potrf *)arguments)->info = 0;
  return DAVIT_SUCCESS;
}

const dvt_operation dvt_potrf_operation = {
    .name = "potrf",
    .bytes = DVT_BYTES_OF(dvt_potrf),
    .check = check,
    .stream = dvt_potrf_stream,
    .host = dvt_potrf_host,
    .region = dvt_potrf_region,
    .region_on_host = true,
    .prepare = dvt_solve_prepare,
    .short_bytes = 32 << 10,
    .array = {DVT_ARRAY(dvt_potrf, a, DVT_MATRIX, .reads = true, .writes = true,
                        .step = offsetof(dvt_potrf, lda)),
              DVT_ARRAY(dvt_potrf, info, DVT_RESULT, .step = offsetof(dvt_potrf, on_device))},
    .typed = true,
    .size = {offsetof(dvt_potrf, n), offsetof(dvt_potrf, n)},
    .measure = measure,
    .merge = nothing_failed,
    .order = DVT_WHOLE};

/* ---- several lanes ---- */

/* Lanes of a device. Loads alternate between two, and so do stores: one block of pageable memory is on its way while
 * the host is busy with the end of another. */
enum { LOAD, LOAD_2, STORE, STORE_2, PEER, NEXT, UPDATE, LANES };
enum { SLOTS = 3, NOTHING = -1, SMALLEST = 32 };

/* A block that other blocks are updated with, as a device has it: `origin` is its first row ('U': column). */
typedef struct panel {
  char *pointer;
  int64_t ld, origin;
  int32_t ready; /* task */
} panel;

typedef struct worker {
  int device;
  bool streams;
  size_t bytes;       /* that it may use, */
  size_t block_bytes; /* and those for blocks */
  char *memory, *slot[SLOTS];
  int32_t newest[LANES];
  /* Newest tasks that read a slot: copies of other devices, NEXT, UPDATE. */
  int32_t readers[SLOTS][DVT_MAX_DEVICES + 2];
  panel panel;
  bool prepared[LANES];
} worker;

typedef struct factorization {
  const dvt_cholesky *call;
  dvt_potrf matrix;
  size_t element;
  bool lower;
  int64_t block, blocks;
  worker worker[DVT_MAX_DEVICES];
  int workers;
  dvt_graph graph;
  int32_t tasks, most_tasks;
  int16_t *lane;   /* of each task */
  int32_t *last;   /* task that has written each block */
  int32_t *stored; /* task that has stored it */
  char **place;    /* of the blocks of the slab */
  int *info;       /* of each block, in pinned memory */
  int32_t *factored;
} factorization;

/* ---- blocks ---- */

static int64_t start_of(const factorization *f, int64_t k) {
  return k < f->blocks ? k * f->block : f->matrix.n;
}

static int64_t width_of(const factorization *f, int64_t k) {
  return start_of(f, k + 1) - start_of(f, k);
}

/* From the diagonal to the end of the matrix. */
static int64_t length_of(const factorization *f, int64_t k) {
  return f->matrix.n - start_of(f, k);
}

static size_t bytes_of(const factorization *f, int64_t k) {
  return dvt_aligned_up((size_t)width_of(f, k) * (size_t)length_of(f, k) * f->element);
}

static int owner_of(const factorization *f, int64_t k) {
  return (int)(k % f->workers);
}

static int64_t ld_of(const factorization *f, int64_t k) {
  return f->lower ? length_of(f, k) : width_of(f, k);
}

/* Where a block of leading dimension ld has row (column) `at` behind its first one. */
static char *behind(const factorization *f, char *block, int64_t ld, int64_t at) {
  return block + (size_t)(f->lower ? at : at * ld) * f->element;
}

static char *in_matrix(const factorization *f, int64_t k, int64_t from) {
  const int64_t s = start_of(f, k), row = f->lower ? from : s, col = f->lower ? s : from;
  return (char *)f->matrix.a + (size_t)(row + col * f->matrix.lda) * f->element;
}

/* ---- tasks ---- */

typedef struct follows {
  int32_t task[DVT_MAX_DEVICES * LANES + 8];
  int count;
} follows;

static void follow(follows *all, int32_t task) {
  if (task != NOTHING)
    all->task[all->count++] = task;
}

static int lane_of(const factorization *f, int w, int role) {
  return w * LANES + (f->worker[w].streams ? role : 0);
}

/* Tasks of its own lane it follows anyway. */
static dvt_graph_task new_task(factorization *f, int w, int role, follows *all) {
  const int lane = lane_of(f, w, role);
  int count = 0;
  for (int i = 0; i < all->count; i++)
    if (f->lane[all->task[i]] != lane)
      all->task[count++] = all->task[i];
  f->lane[f->tasks] = (int16_t)lane;
  f->worker[w].newest[role] = f->tasks;
  return (dvt_graph_task){
      .number = f->tasks++, .lane = lane, .follows = all->task, .count = count, .awaited = true};
}

static davit_status compute(factorization *f, int w, int role, follows *all, const dvt_operation *operation,
                            const void *arguments, double flops, int32_t *number) {
  worker *e = &f->worker[w];
  dvt_lane *lane = f->graph.lane[lane_of(f, w, role)];
  if (!e->prepared[role])
    DVT_TRY(dvt_operation_prepare(lane, operation));
  e->prepared[role] = true;
  const dvt_graph_task task = new_task(f, w, role, all);
  *number = (int32_t)task.number;
  return dvt_graph_operation(&f->graph, &task, operation, arguments,
                             dvt_level3_threads(flops, lane->threads));
}

static davit_status level3(factorization *f, int w, int role, follows *all, const dvt_level3 *g,
                           int32_t *number) {
  return compute(f, w, role, all, &dvt_level3_operations[g->routine], g,
                 2 * (double)g->m * (double)g->n * (double)g->k, number);
}

/* Rows (columns) from `from` on of block k, between two places with their leading dimensions. */
static davit_status copy(factorization *f, int w, int role, follows *all, int64_t k, int64_t from, char *to,
                         int64_t to_ld, int to_place, char *source, int64_t source_ld, int source_place,
                         int32_t *number) {
  const size_t length = (size_t)(f->matrix.n - from), width = (size_t)width_of(f, k);
  const dvt_copy c = {.destination = to,
                      .source = source,
                      .destination_pitch = (size_t)to_ld * f->element,
                      .source_pitch = (size_t)source_ld * f->element,
                      .row_bytes = (f->lower ? length : width) * f->element,
                      .cols = f->lower ? width : length,
                      .destination_place = to_place,
                      .source_place = source_place};
  davit_solve_report *report = f->call->report;
  *(role == PEER || !dvt_place_is_host(f->call->place) ? &report->bytes_from_peers
    : role == LOAD || role == LOAD_2                   ? &report->bytes_from_host
                                     : &report->bytes_to_host) += (int64_t)(c.row_bytes * c.cols);
  const dvt_graph_task task = new_task(f, w, role, all);
  *number = (int32_t)task.number;
  return dvt_graph_copy(&f->graph, &task, &c);
}

/* ---- steps ---- */

static davit_status load(factorization *f, int64_t k, const follows *before) {
  const int w = owner_of(f, k);
  follows all = *before;
  return copy(f, w, k / f->workers % 2 ? LOAD_2 : LOAD, &all, k, start_of(f, k), f->place[k], ld_of(f, k),
              dvt_place_for(f->worker[w].device), in_matrix(f, k, start_of(f, k)), f->matrix.lda,
              f->call->place, &f->last[k]);
}

static davit_status store(factorization *f, int64_t k) {
  const int w = owner_of(f, k);
  follows all = {.count = 0};
  follow(&all, f->last[k]);
  f->call->report->written = true;
  return copy(f, w, k / f->workers % 2 ? STORE_2 : STORE, &all, k, start_of(f, k),
              in_matrix(f, k, start_of(f, k)), f->matrix.lda, f->call->place, f->place[k], ld_of(f, k),
              dvt_place_for(f->worker[w].device), &f->stored[k]);
}

static davit_status factor(factorization *f, int64_t k) {
  const int w = owner_of(f, k);
  const int64_t n = width_of(f, k), rest = length_of(f, k) - n, ld = ld_of(f, k);
  const dvt_potrf diagonal = {f->matrix.type, f->matrix.uplo, n, f->place[k], ld, &f->info[k], false};
  follows all = {.count = 0};
  follow(&all, f->last[k]);
  DVT_TRY(compute(f, w, NEXT, &all, &dvt_potrf_operation, &diagonal, (double)n * (double)n * (double)n / 3,
                  &f->factored[k]));
  f->last[k] = f->factored[k];
  if (rest == 0)
    return DAVIT_SUCCESS;
  const dvt_level3 solve = dvt_potrf_solve(f->matrix.type, f->matrix.uplo, n, rest, f->place[k], ld,
                                           behind(f, f->place[k], ld, n), ld);
  all.count = 0;
  return level3(f, w, NEXT, &all, &solve, &f->last[k]);
}

/* A slot that nobody reads any more. */
static char *take_slot(factorization *f, int w, int64_t k, follows *all) {
  worker *e = &f->worker[w];
  int32_t *readers = e->readers[k % SLOTS];
  for (int i = 0; i < DVT_MAX_DEVICES + 2; i++) {
    follow(all, readers[i]);
    readers[i] = NOTHING;
  }
  return e->slot[k % SLOTS];
}

static bool needs(const factorization *f, int w, int64_t from, int64_t end) {
  for (int64_t k = from; k < end && k < from + f->workers; k++)
    if (owner_of(f, k) == w)
      return true;
  return false;
}

static void read_slot(factorization *f, int w, int64_t k, int reader, int32_t task) {
  f->worker[w].readers[k % SLOTS][reader] = task;
}

/* Gives block k, from the row (column) on where block `from` begins, to all devices that have one of the blocks up to
 * `end`. Its owner has it in place, or gets it from the host. */
static davit_status distribute(factorization *f, int64_t k, int64_t from, int64_t end, bool in_place) {
  const int w = owner_of(f, k);
  const int64_t origin = start_of(f, from), ld = f->lower ? f->matrix.n - origin : width_of(f, k);
  worker *owner = &f->worker[w];
  if (in_place) {
    owner->panel = (panel){f->place[k], ld_of(f, k), start_of(f, k), f->last[k]};
  } else {
    follows all = {.count = 0};
    owner->panel = (panel){take_slot(f, w, k, &all), ld, origin, NOTHING};
    follow(&all, f->stored[k]);
    DVT_TRY(copy(f, w, LOAD, &all, k, origin, owner->panel.pointer, ld, dvt_place_for(owner->device),
                 in_matrix(f, k, origin), f->matrix.lda, f->call->place, &owner->panel.ready));
  }
  for (int i = 0; i < f->workers; i++) {
    worker *e = &f->worker[i];
    if (i == w || !needs(f, i, from, end))
      continue;
    follows all = {.count = 0};
    e->panel = (panel){take_slot(f, i, k, &all), ld, origin, NOTHING};
    follow(&all, owner->panel.ready);
    DVT_TRY(copy(f, i, PEER, &all, k, origin, e->panel.pointer, ld, dvt_place_for(e->device),
                 behind(f, owner->panel.pointer, owner->panel.ld, origin - owner->panel.origin),
                 owner->panel.ld, dvt_place_for(owner->device), &e->panel.ready));
    if (!in_place)
      read_slot(f, w, k, i, e->panel.ready);
  }
  return DAVIT_SUCCESS;
}

/* Block `to` minus the product of the parts of block k that lie beside its rows and columns. */
static davit_status update(factorization *f, int64_t k, int64_t to, int role, bool in_place) {
  const int w = owner_of(f, to);
  const panel *p = &f->worker[w].panel;
  const davit_type type = f->matrix.type;
  const int64_t n = width_of(f, to), rest = length_of(f, to) - n, ld = ld_of(f, to), width = width_of(f, k);
  char *beside = behind(f, p->pointer, p->ld, start_of(f, to) - p->origin),
       *below = behind(f, beside, p->ld, n);
  const dvt_level3 diagonal =
      dvt_potrf_update(type, f->matrix.uplo, n, width, beside, p->ld, f->place[to], ld);
  follows all = {.count = 0};
  follow(&all, p->ready);
  follow(&all, f->last[to]);
  DVT_TRY(level3(f, w, role, &all, &diagonal, &f->last[to]));
  if (rest > 0) {
    const dvt_level3 others = {.routine = DVT_GEMM,
                               .type = type,
                               .transa = f->lower ? 'N' : dvt_adjoint_of(type),
                               .transb = f->lower ? dvt_adjoint_of(type) : 'N',
                               .m = f->lower ? rest : n,
                               .n = f->lower ? n : rest,
                               .k = width,
                               .alpha = -1,
                               .a = f->lower ? below : beside,
                               .lda = p->ld,
                               .b = f->lower ? beside : below,
                               .ldb = p->ld,
                               .beta = 1,
                               .c = behind(f, f->place[to], ld, n),
                               .ldc = ld};
    all.count = 0;
    DVT_TRY(level3(f, w, role, &all, &others, &f->last[to]));
  }
  if (!in_place || owner_of(f, k) != w)
    read_slot(f, w, k, DVT_MAX_DEVICES + (role == UPDATE), f->last[to]);
  return DAVIT_SUCCESS;
}

/* Whether block k could be factored; then it is stored. */
static davit_status settle(factorization *f, int64_t k, int *info) {
  DVT_TRY(dvt_graph_await(&f->graph, f->factored[k]));
  if (f->info[k]) {
    *info = (int)start_of(f, k) + f->info[k];
    return DAVIT_SUCCESS;
  }
  return store(f, k);
}

/* ---- slabs ---- */

/* The first block that does not fit beside those from `first` on; their places, where there is memory for them. */
static int64_t end_of_slab(factorization *f, int64_t first) {
  size_t used[DVT_MAX_DEVICES] = {0};
  int64_t k = first;
  for (; k < f->blocks; k++) {
    const int w = owner_of(f, k);
    if (used[w] + bytes_of(f, k) > f->worker[w].block_bytes)
      return k;
    if (f->place && f->worker[w].memory)
      f->place[k] = f->worker[w].memory + used[w];
    used[w] += bytes_of(f, k);
  }
  return k;
}

/* The blocks before the slab, which are finished. */
static davit_status update_slab(factorization *f, int64_t first, int64_t end) {
  for (int64_t k = 0; k < first; k++) {
    DVT_TRY(distribute(f, k, first, end, false));
    for (int64_t to = first; to < end; to++)
      DVT_TRY(update(f, k, to, UPDATE, false));
  }
  return DAVIT_SUCCESS;
}

static davit_status factor_slab(factorization *f, int64_t first, int64_t end, int *info) {
  for (int64_t k = first; k < end && *info == 0; k++) {
    DVT_TRY(factor(f, k));
    if (k + 1 < end)
      DVT_TRY(distribute(f, k, k + 1, end, true));
    for (int64_t to = k + 1; to < end; to++)
      DVT_TRY(update(f, k, to, to == k + 1 ? NEXT : UPDATE, true));
    if (k > first)
      DVT_TRY(settle(f, k - 1, info));
  }
  return *info ? DAVIT_SUCCESS : settle(f, end - 1, info);
}

static davit_status run_slabs(factorization *f, int *info) {
  follows before = {.count = 0};
  for (int64_t first = 0, end; first < f->blocks && *info == 0; first = end) {
    end = end_of_slab(f, first);
    for (int64_t k = first; k < end; k++)
      DVT_TRY(load(f, k, &before));
    DVT_TRY(update_slab(f, first, end));
    DVT_TRY(factor_slab(f, first, end, info));
    before.count = 0; /* the next slab takes the place of this one */
    for (int w = 0; w < f->workers; w++)
      for (int role = 0; role < LANES; role++)
        follow(&before, f->worker[w].newest[role]);
  }
  return DAVIT_SUCCESS;
}

/* ---- memory ---- */

/* Any block fits into as many bytes as the first one takes. */
static size_t slot_bytes(const factorization *f) {
  return bytes_of(f, 0);
}

/* How many bytes of blocks each device gets: all that are its own, or what is left of its memory beside the slots.
 * False: one block does not fit. */
static bool divide_memory(factorization *f) {
  for (int w = 0; w < f->workers; w++) {
    worker *e = &f->worker[w];
    size_t wanted = 0;
    for (int64_t k = w; k < f->blocks; k += f->workers)
      wanted += bytes_of(f, k);
    const size_t slots = SLOTS * slot_bytes(f);
    if (f->workers == 1 && wanted <= e->bytes) {
      e->block_bytes = wanted;
      continue;
    }
    if (e->bytes < slots + bytes_of(f, 0))
      return false;
    e->block_bytes = wanted < e->bytes - slots ? wanted : e->bytes - slots;
  }
  return true;
}

static bool has_slots(factorization *f) {
  return f->workers > 1 || end_of_slab(f, 0) < f->blocks;
}

/* Steps are counted as run_slabs() makes them. */
static int64_t count_tasks(factorization *f) {
  int64_t tasks = 0;
  for (int64_t first = 0, end; first < f->blocks; first = end) {
    end = end_of_slab(f, first);
    tasks += (end - first) * 4 + end * (f->workers + 2 * (end - first));
  }
  return tasks;
}

static davit_status find_bytes(factorization *f) {
  for (int w = 0; w < f->workers; w++) {
    size_t *bytes = &f->worker[w].bytes, total;
    if ((*bytes = f->call->options->cache_bytes) > 0)
      continue;
    const davit_status status = davit_device_memory(f->worker[w].device, bytes, &total);
    if (status != DAVIT_SUCCESS && status != DAVIT_UNSUPPORTED)
      return status;
    *bytes = status == DAVIT_SUCCESS ? *bytes / 10 * 8 : (size_t)1 << 30;
  }
  return DAVIT_SUCCESS;
}

static davit_status allocate_memory(factorization *f) {
  const bool slots = has_slots(f);
  for (int w = 0; w < f->workers; w++) {
    worker *e = &f->worker[w];
    void *memory;
    if (e->block_bytes == 0)
      continue;
    DVT_TRY(dvt_malloc(e->block_bytes + (slots ? SLOTS * slot_bytes(f) : 0), e->device, &memory));
    e->memory = memory;
    f->call->report->device_count++;
    for (int s = 0; s < SLOTS; s++)
      e->slot[s] = e->memory + e->block_bytes + (size_t)s * slot_bytes(f);
  }
  return DAVIT_SUCCESS;
}

static void free_memory(factorization *f) {
  for (int w = 0; w < f->workers; w++) {
    davit_free(f->worker[w].memory);
    f->worker[w].memory = NULL;
  }
  f->call->report->device_count = 0;
}

/* Blocks become shorter, unless the caller has said how long they are, until a few fit; and where a device has less
 * memory than it said, half of that is used. */
static davit_status find_memory(factorization *f) {
  DVT_TRY(find_bytes(f));
  for (;;) {
    f->blocks = dvt_divide_up(f->matrix.n, f->block);
    const davit_status status =
        divide_memory(f) ? allocate_memory(f)
                         : davit_fail(DAVIT_OUT_OF_DEVICE_MEMORY,
                                      "potrf: %zu bytes on device %d are too few for blocks of %lld",
                                      f->worker[0].bytes, f->worker[0].device, (long long)f->block);
    if (status != DAVIT_OUT_OF_DEVICE_MEMORY)
      return status;
    const bool refused = divide_memory(f);
    free_memory(f);
    if (refused && f->call->options->cache_bytes == 0)
      for (int w = 0; w < f->workers; w++)
        f->worker[w].bytes /= 2;
    else if (!f->call->options->block && f->block > SMALLEST)
      f->block /= 2;
    else
      return status;
  }
}

/* ---- the whole ---- */

/* So long that products of blocks are fast, and so short that the first block does not keep all devices waiting: twelve
 * for each device, of the lengths that were the fastest on one card at 8192 and 20000 (docs/notes/solve.md). */
static int64_t choose_block(int64_t n, int workers) {
  const int64_t shortest = 256, longest = 1536;
  const int64_t even = dvt_divide_up(n, 12 * (int64_t)workers);
  const int64_t block = even < shortest ? shortest : even > longest ? longest : even;
  return (block + 63) / 64 * 64;
}

static davit_status open_lanes(factorization *f) {
  int threads = 0;
  DVT_TRY(dvt_graph_open(&f->graph, f->workers * LANES, f->most_tasks));
  for (int w = 0; w < f->workers; w++)
    for (int role = 0; role < (f->worker[w].streams ? LANES : 1); role++) {
      threads += !f->worker[w].streams;
      DVT_TRY(dvt_graph_add_lane(&f->graph, w * LANES + role, f->worker[w].device));
    }
  return dvt_pool_reserve(threads);
}

static davit_status allocate_tables(factorization *f) {
  const size_t blocks = (size_t)f->blocks, int_bytes = blocks * sizeof(int32_t);
  f->most_tasks = (int32_t)count_tasks(f);
  f->lane = dvt_allocate((size_t)f->most_tasks, sizeof *f->lane);
  f->last = dvt_allocate_raw(int_bytes);
  f->stored = dvt_allocate_raw(int_bytes);
  f->factored = dvt_allocate_raw(int_bytes);
  f->place = dvt_allocate(blocks, sizeof *f->place);
  if (!f->lane || !f->last || !f->stored || !f->factored || !f->place)
    return DAVIT_OUT_OF_HOST_MEMORY;
  memset(f->last, NOTHING, int_bytes);
  memset(f->stored, NOTHING, int_bytes);
  void *info;
  DVT_TRY(dvt_malloc(blocks * sizeof *f->info, DAVIT_PINNED, &info));
  f->info = memset(info, 0, blocks * sizeof *f->info);
  return DAVIT_SUCCESS;
}

static davit_status carry_out(factorization *f, int *info) {
  DVT_TRY(find_memory(f));
  f->call->report->block = f->block;
  DVT_TRY(allocate_tables(f));
  DVT_TRY(open_lanes(f));
  return run_slabs(f, info);
}

static void close_all(factorization *f) {
  dvt_graph_close(&f->graph);
  for (int w = 0; w < f->workers; w++)
    davit_free(f->worker[w].memory);
  davit_free(f->info);
  free(f->lane);
  free(f->last);
  free(f->stored);
  free(f->factored);
  free(f->place);
}

davit_status dvt_cholesky_run(dvt_cholesky *call, int *info) {
  factorization *f = dvt_allocate(1, sizeof *f);
  if (!f)
    return DAVIT_OUT_OF_HOST_MEMORY;
  *f = (factorization){.call = call, .matrix = *call->arguments, .workers = call->count};
  f->element = davit_type_bytes(f->matrix.type);
  f->lower = f->matrix.uplo == 'L';
  f->block = call->options->block ? call->options->block : choose_block(f->matrix.n, call->count);
  for (int w = 0; w < f->workers; w++) {
    f->worker[w].device = call->devices[w];
    f->worker[w].streams = dvt_lane_has_stream(call->devices[w]);
    memset(f->worker[w].newest, NOTHING, sizeof f->worker[w].newest);
    memset(f->worker[w].readers, NOTHING, sizeof f->worker[w].readers);
  }
  *info = 0;
  davit_status status = dvt_graph_wait(&f->graph, carry_out(f, info));
  dvt_error error = {.status = DAVIT_SUCCESS};
  dvt_error_keep(&error, status);
  close_all(f);
  free(f);
  return dvt_error_report(&error);
}
