/* SPDX-License-Identifier: Apache-2.0 */
/* Reduction: its row, on a queue, over devices, and of an array in parts. */
#include <davit/reduce.h>
#include <stdlib.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "offload/runtime/space.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/team.h"
#include "src/monoid.h"
#include "src/runtime/copy.h"
#include "src/runtime/memory.h"
#include "src/shape.h"

/* ---- the row ---- */

/* `values` = 0: `result`, anywhere, gets the reduction. `values` = 1: `result`, host memory that devices
 * reach, gets the values of the tiles, values_of() of them; 2: those of tiles of tiles. n > 0. */
typedef struct dvt_reduce {
  const davit_monoid *monoid;
  int64_t n;
  const void *x;
  int64_t values;
  void *result;
  int64_t teams, rows; /* of a GPU's kernel, as they are tuned */
} dvt_reduce;

static int64_t values_of(const davit_monoid *monoid, int64_t n, int64_t values) {
  for (; values > 0; values--)
    n = dvt_divide_up(n, monoid->reduce_tile);
  return n;
}

/* Values of all levels, and of all but the first: each of the latter has a counter. */
static void count_levels(const davit_monoid *monoid, int64_t n, int64_t stop, int64_t *all,
                         int64_t *counted) {
  *all = *counted = 0;
  for (int64_t level = 1; n > 1 || level <= stop || level == 1; level++) {
    n = dvt_divide_up(n, monoid->reduce_tile);
    *all += n;
    *counted += level > 1 ? n : 0;
  }
}

/* The first value of the level that is wanted. */
static int64_t first_of_level(const davit_monoid *monoid, int64_t n, int64_t values) {
  int64_t first = 0;
  for (int64_t level = 1; level < values; level++)
    first += n = dvt_divide_up(n, monoid->reduce_tile);
  return first;
}

/* One tile, or so few that each has several teams. */
static davit_status run_short_reduce(const dvt_site *site, const dvt_reduce *r,
                                     const dvt_builtin_reduce *kernel, int64_t tiles) {
  void *groups;
  uint32_t *counter;
  if (tiles == 1)
    return dvt_launch(kernel->one, site->stream, 1, kernel->threads, 0, DVT_ARGUMENTS(r->n, r->x, r->result));
  DVT_TRY(site->workspace(site, (size_t)tiles * (size_t)kernel->tile_groups * r->monoid->bytes, &groups));
  DVT_TRY(site->counters(site, &counter));
  return dvt_launch(kernel->sections, site->stream, tiles * kernel->tile_sections, kernel->section_threads, 0,
                    DVT_ARGUMENTS(r->n, r->x, groups, counter, r->result));
}

static davit_status run_reduce_stream(const dvt_site *site, const void *arguments) {
  const dvt_reduce *r = arguments;
  const davit_monoid *monoid = r->monoid;
  const dvt_monoid_key *key = monoid->kernels;
  const dvt_builtin_reduce *kernel = &dvt_builtin_reduces[key->op][key->type];
  const int64_t tiles = dvt_divide_up(r->n, monoid->reduce_tile);
  if (r->values == 0 && tiles <= DVT_REDUCE_SHORT_TILES)
    return run_short_reduce(site, r, kernel, tiles);
  int64_t all, counted;
  void *levels;
  uint32_t *counters;
  count_levels(monoid, r->n, r->values, &all, &counted);
  DVT_TRY(site->workspace(site, (size_t)all * monoid->bytes, &levels));
  DVT_TRY(site->counters(site, &counters));
  if (counted > DVT_SITE_COUNTERS)
    return davit_fail(DAVIT_UNSUPPORTED, "n is %lld, too many elements for one reduction", (long long)r->n);
  const int64_t teams = r->teams > 0 ? dvt_at_most(r->teams, tiles) : tiles;
  DVT_TRY(dvt_launch(&kernel->kernels[dvt_reduce_kernel(r->teams, r->rows)], site->stream, teams,
                     kernel->threads, 0, DVT_ARGUMENTS(r->n, r->x, levels, counters, r->result, r->values)));
  if (r->values == 0)
    return DAVIT_SUCCESS;
  size_t bytes = (size_t)values_of(monoid, r->n, r->values) * monoid->bytes;
  const char *values = (const char *)levels + (size_t)first_of_level(monoid, r->n, r->values) * monoid->bytes;
  return dvt_stream_copy_bytes(site->stream, r->result, values, bytes);
}

static davit_status run_reduce_host(const dvt_site *site, const void *arguments) {
  const dvt_reduce *r = arguments;
  davit_monoid_task task = {
      .device = site->device, .threads = site->threads, .n = r->n, .x = r->x, .stop = r->values};
  const size_t element = r->monoid->bytes;
  int64_t all, counted;
  void *memory;
  count_levels(r->monoid, r->n, r->values, &all, &counted);
  DVT_TRY(site->workspace(site, (size_t)(all + 1) * element, &memory));
  task.levels = memory;
  task.result = (char *)memory + (size_t)all * element;
  r->monoid->reduce(&task);
  const char *from = task.result;
  size_t bytes = element;
  if (r->values) {
    bytes = (size_t)values_of(r->monoid, r->n, r->values) * element;
    from = (const char *)task.levels + (size_t)first_of_level(r->monoid, r->n, r->values) * element;
  }
  const dvt_copy copy = dvt_copy_bytes(bytes, from, DAVIT_PAGEABLE, r->result, dvt_place_of(r->result));
  return dvt_copy_now(&copy);
}

static davit_status run_reduce_region(const dvt_site *site, const void *arguments) {
  const dvt_reduce *r = arguments;
  DVT_TRY(dvt_monoid_check_works(site, r->monoid));
  const size_t element = r->monoid->bytes;
  int64_t all, counted;
  void *memory;
  count_levels(r->monoid, r->n, r->values, &all, &counted);
  const size_t level_bytes = dvt_aligned_up((size_t)all * element),
               counter_bytes = dvt_aligned_up((size_t)counted * 4 + 4);
  DVT_TRY(site->workspace(site, level_bytes + counter_bytes + element, &memory));
  char *levels = memory;
  DVT_TRY(dvt_space_fill(levels + level_bytes, site->device, 0, counter_bytes));
  davit_monoid_task task = {.device = site->device,
                            .gpu = true,
                            .n = r->n,
                            .x = r->x,
                            .levels = levels,
                            .counters = (uint32_t *)(void *)(levels + level_bytes),
                            .result = levels + level_bytes + counter_bytes,
                            .stop = r->values};
  r->monoid->reduce(&task);
  size_t bytes = element;
  const char *from = task.result;
  if (r->values) {
    bytes = (size_t)values_of(r->monoid, r->n, r->values) * element;
    from = levels + (size_t)first_of_level(r->monoid, r->n, r->values) * element;
  }
  const dvt_copy copy = dvt_copy_bytes(bytes, from, site->device, r->result, dvt_place_of(r->result));
  return dvt_copy_now(&copy);
}

static davit_status check_reduce(void *arguments) {
  const dvt_reduce *r = arguments;
  DVT_TRY(dvt_check_monoid(r->monoid));
  DVT_TRY(dvt_check_length("n", r->n));
  if (r->n > 0)
    DVT_TRY(dvt_check_pointer("x", r->x));
  return dvt_check_pointer("result", r->result);
}

static void measure_reduce(const void *arguments, int device, int ranges, dvt_extents *e) {
  const dvt_reduce *r = arguments;
  (void)ranges;
  e->element = e->result_bytes = r->monoid->bytes;
  e->chunk[DVT_OUT] =
      dvt_monoid_piece(r->monoid, r->monoid->reduce_tile, device, DVT_TUNE_REDUCE_PIECE_BYTES);
  e->results = e->chunk[DVT_OUT] / r->monoid->reduce_tile;
}

/* A piece leaves the values of the tree's first level, and the host folds them on: the tree is that of one device. */
static void part_reduce(const void *arguments, const dvt_chunk *chunk, void *part) {
  (void)arguments;
  (void)chunk;
  ((dvt_reduce *)part)->values = 1;
}

/* Reduces values on the calling thread's host. */
static davit_status reduce_values(const davit_monoid *monoid, int64_t count, const void *values,
                                  void *result) {
  int64_t all, counted;
  davit_monoid_task task = {.device = DAVIT_HOST, .n = count, .x = values};
  count_levels(monoid, count, 0, &all, &counted);
  DVT_TRY(dvt_malloc((size_t)(all + 1) * monoid->bytes, DAVIT_PAGEABLE, &task.levels));
  task.result = (char *)task.levels + (size_t)all * monoid->bytes;
  const bool is_short = monoid->kernels && (size_t)count <= DVT_MONOID_SHORT_BYTES / monoid->bytes;
  const dvt_team team = is_short ? DVT_NO_TEAM : dvt_team_begin(dvt_threads());
  task.threads = team.threads;
  monoid->reduce(&task);
  dvt_team_end(&team);
  davit_status status = davit_copy(monoid->bytes, task.result, result);
  davit_free(task.levels);
  return status;
}

static davit_status merge_reduce(const void *arguments, void *results, int64_t count) {
  const dvt_reduce *r = arguments;
  return count == 0 ? davit_copy(r->monoid->bytes, r->monoid->identity, r->result)
                    : reduce_values(r->monoid, values_of(r->monoid, r->n, 1), results, r->result);
}

static void tune_reduce(void *arguments, int device) {
  dvt_reduce *r = arguments;
  r->teams = dvt_tuned(device, DVT_TUNE_REDUCE_TEAMS, 0) * dvt_device_find(device)->info.compute_units;
  r->rows = dvt_tuned(device, DVT_TUNE_REDUCE_ROWS, 0);
}

/* The built-in monoids have kernels for streams; a user's runs as a region on every GPU. */
#define REDUCE(...)                                                                                          \
  {.name = "reduce",                                                                                         \
   .bytes = DVT_BYTES_OF(dvt_reduce),                                                                        \
   .check = check_reduce,                                                                                    \
   .host = run_reduce_host,                                                                                  \
   .region = run_reduce_region,                                                                              \
   .tune = tune_reduce,                                                                                      \
   .array = {DVT_ARRAY(dvt_reduce, x, DVT_ALONG_OUT, .reads = true),                                         \
             DVT_ARRAY(dvt_reduce, result, DVT_RESULT)},                                                     \
   .size = {offsetof(dvt_reduce, n)},                                                                        \
   .measure = measure_reduce,                                                                                \
   .order = DVT_CHUNKS_TURN,                                                                                 \
   .part = part_reduce,                                                                                      \
   .merge = merge_reduce,                                                                                    \
   __VA_ARGS__}

static const dvt_operation *reduce_operation(const davit_monoid *monoid) {
  static const dvt_operation built_in =
                                 REDUCE(.stream = run_reduce_stream, .short_bytes = DVT_MONOID_SHORT_BYTES),
                             users = REDUCE();
  return monoid->kernels ? &built_in : &users;
}

davit_status dvt_tree_kernel(int device, dvt_stream *stream, dvt_kernel_fit *fit) {
  const dvt_builtin_reduce *sum = &dvt_builtin_reduces[DAVIT_SUM][DAVIT_DOUBLE];
  const int64_t teams = dvt_tuned(device, DVT_TUNE_REDUCE_TEAMS, 0),
                rows = dvt_tuned(device, DVT_TUNE_REDUCE_ROWS, 0);
  DVT_TRY(dvt_launch_fit_of(&sum->kernels[dvt_reduce_kernel(teams, rows)], stream, sum->threads, 0, fit));
  if (teams > 0 && rows > 0 && dvt_reduce_kernel(0, rows) != DVT_REDUCE_MANY)
    fit->teams = 0; /* there is no such kernel */
  return DAVIT_SUCCESS;
}

/* ---- the calls ---- */

davit_status davit_queue_monoid_reduce(davit_queue *queue, const davit_monoid *monoid, int64_t n,
                                       const void *x, void *result, const davit_reduce_options *options) {
  dvt_reduce r = {monoid, n, x, .result = result};
  dvt_lane *lane;
  DVT_TRY(dvt_check_monoid(monoid));
  if (n != 0)
    return dvt_operation_enqueue(queue, reduce_operation(monoid), &r, DVT_WHERE(options));
  DVT_TRY(dvt_choose_lane(queue, DVT_WHERE(options), &lane));
  DVT_TRY(dvt_check_pointer("result", result));
  return davit_queue_copy(queue, monoid->bytes, monoid->identity, result);
}

davit_status davit_monoid_reduce(const davit_monoid *monoid, int64_t n, const void *x, void *result,
                                 const davit_reduce_options *options) {
  DVT_TRY(dvt_check_monoid(monoid));
  return dvt_operation_call(reduce_operation(monoid), &(dvt_reduce){monoid, n, x, .result = result},
                            DVT_WHERE(options));
}

/* ---- in parts ---- */

/* How far each part goes up the tree by itself: parts that begin at whole tiles of tiles leave few values. */
static int64_t values_of_parts(const davit_monoid *monoid, int count, const davit_reduce_part *parts) {
  const int64_t twice = monoid->reduce_tile * monoid->reduce_tile;
  for (int p = 0; p + 1 < count; p++)
    if (parts[p].n % twice != 0)
      return 1;
  return 2;
}

typedef struct parts_run {
  const davit_monoid *monoid;
  int64_t level;
  int count;
  dvt_lane **lanes;
  char *values;
} parts_run;

static davit_status submit_parts(parts_run *run, const davit_reduce_part *parts) {
  size_t at = 0;
  for (int p = 0; p < run->count; p++) {
    if (parts[p].n == 0)
      continue;
    const int place = dvt_place_of(parts[p].x);
    const int device = dvt_place_is_host(place) && place < 0 ? DAVIT_HOST : place;
    DVT_TRY(dvt_lane_open(device, &run->lanes[p]));
    DVT_TRY(dvt_operation_submit(
        run->lanes[p], reduce_operation(run->monoid),
        &(dvt_reduce){run->monoid, parts[p].n, parts[p].x, .values = run->level, .result = run->values + at},
        0));
    at += (size_t)values_of(run->monoid, parts[p].n, run->level) * run->monoid->bytes;
  }
  return DAVIT_SUCCESS;
}

static davit_status check_parts(const davit_monoid *monoid, int count, const davit_reduce_part *parts,
                                const void *result) {
  DVT_TRY(dvt_check_monoid(monoid));
  if (count < 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "count is %d, less than 0", count);
  if (count > 0 && !parts)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "parts is NULL");
  for (int p = 0; p < count; p++)
    if (parts[p].n < 0 || (parts[p].n > 0 && !parts[p].x))
      return davit_fail(DAVIT_INVALID_ARGUMENT, "parts[%d].%s", p,
                        parts[p].n < 0 ? "n is less than 0" : "x is NULL");
  return result ? DAVIT_SUCCESS : davit_fail(DAVIT_INVALID_ARGUMENT, "result is NULL");
}

davit_status davit_monoid_reduce_parts(const davit_monoid *monoid, int count, const davit_reduce_part *parts,
                                       void *result) {
  DVT_TRY(check_parts(monoid, count, parts, result));
  DVT_TRY(dvt_start());
  parts_run run = {.monoid = monoid, .level = values_of_parts(monoid, count, parts), .count = count};
  int64_t values = 0;
  for (int p = 0; p < count; p++)
    values += parts[p].n > 0 ? values_of(monoid, parts[p].n, run.level) : 0;
  if (values == 0)
    return davit_copy(monoid->bytes, monoid->identity, result);
  void *memory = NULL;
  run.lanes = dvt_allocate((size_t)count, sizeof *run.lanes);
  davit_status status = run.lanes ? dvt_malloc((size_t)values * monoid->bytes, DAVIT_PINNED, &memory)
                                  : DAVIT_OUT_OF_HOST_MEMORY;
  dvt_error first = {.status = DAVIT_SUCCESS};
  run.values = memory;
  if (status == DAVIT_SUCCESS)
    status = submit_parts(&run, parts);
  dvt_error_keep(&first, status);
  for (int p = 0; run.lanes && p < count; p++)
    if (run.lanes[p])
      dvt_error_keep(&first, dvt_lane_close(run.lanes[p]));
  if (first.status == DAVIT_SUCCESS)
    dvt_error_keep(&first, reduce_values(monoid, values, memory, result));
  davit_free(memory);
  free(run.lanes);
  return dvt_error_report(&first);
}

davit_status davit_monoid_reduce_chunks(const davit_monoid *monoid, int64_t n, const void *x, void *values) {
  void *memory;
  DVT_TRY(dvt_check_monoid(monoid));
  DVT_TRY(dvt_check_length("n", n));
  if (n > 0)
    DVT_TRY(dvt_check_pointer("x", x));
  DVT_TRY(dvt_check_pointer("values", values));
  DVT_TRY(dvt_start());
  if (n == 0)
    return DAVIT_SUCCESS;
  const size_t bytes = (size_t)values_of(monoid, n, 1) * monoid->bytes;
  const int place = dvt_place_of(x);
  DVT_TRY(dvt_malloc(bytes, DAVIT_PINNED, &memory));
  davit_status status = dvt_operation_now(place < 0 ? DAVIT_HOST : place, reduce_operation(monoid),
                                          &(dvt_reduce){monoid, n, x, .values = 1, .result = memory}, 0);
  if (status == DAVIT_SUCCESS)
    status = davit_copy(bytes, memory, values);
  davit_free(memory);
  return status;
}

/* ---- built-in operators ---- */

davit_status davit_queue_reduce(davit_queue *queue, davit_operator op, davit_type type, int64_t n,
                                const void *x, void *result, const davit_reduce_options *options) {
  const davit_monoid *monoid;
  DVT_TRY(davit_monoid_builtin(op, type, &monoid));
  return davit_queue_monoid_reduce(queue, monoid, n, x, result, options);
}

davit_status davit_reduce(davit_operator op, davit_type type, int64_t n, const void *x, void *result,
                          const davit_reduce_options *options) {
  const davit_monoid *monoid;
  DVT_TRY(davit_monoid_builtin(op, type, &monoid));
  return davit_monoid_reduce(monoid, n, x, result, options);
}

davit_status davit_reduce_parts(davit_operator op, davit_type type, int count, const davit_reduce_part *parts,
                                void *result) {
  const davit_monoid *monoid;
  DVT_TRY(davit_monoid_builtin(op, type, &monoid));
  return davit_monoid_reduce_parts(monoid, count, parts, result);
}
