/* SPDX-License-Identifier: Apache-2.0 */
#include "src/monoid.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "offload/monoid.h"
#include "offload/runtime/device.h"
#include "offload/runtime/space.h"
#include "src/base/arithmetic.h"
#include "src/base/team.h"
#include "src/runtime/copy.h"
#include "src/runtime/memory.h"
#include "src/shape.h"

/* ---- the built-in monoids ---- */

typedef struct kernels {
  const dvt_builtin_reduce *reduce;
  const dvt_builtin_scan *scan;
} kernels;

static davit_monoid builtin[DAVIT_OPERATOR_COUNT][DVT_MONOID_TYPES];
static kernels builtin_kernels[DAVIT_OPERATOR_COUNT][DVT_MONOID_TYPES];

static void make_builtin(void) {
  for (int op = 0; op < DAVIT_OPERATOR_COUNT; op++)
    for (int type = 0; type < DVT_MONOID_TYPES; type++) {
      const dvt_builtin_reduce *reduce = &dvt_builtin_reduces[op][type];
      const dvt_builtin_scan *scan = &dvt_builtin_scans[op][type];
      builtin_kernels[op][type] = (kernels){reduce, scan};
      builtin[op][type] = (davit_monoid){.version = DAVIT_MONOID_VERSION,
                                         .name = davit_operator_string((davit_operator)op),
                                         .bytes = scan->bytes,
                                         .identity = scan->identity,
                                         .combine = scan->combine,
                                         .reduce = reduce->task,
                                         .scan = scan->scan,
                                         .prepend = scan->prepend,
                                         .reduce_tile = reduce->tile,
                                         .scan_tile = scan->tile,
                                         .slot_bytes = scan->slot_bytes,
                                         .kernels = &builtin_kernels[op][type]};
    }
}

davit_status davit_monoid_builtin(davit_operator op, davit_type type, const davit_monoid **monoid) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (!monoid)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "monoid is NULL");
  if ((unsigned)op >= DAVIT_OPERATOR_COUNT)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "op is %d, which is no operator", (int)op);
  if ((unsigned)type >= DAVIT_TYPE_COUNT)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "type is %d, which is no type", (int)type);
  if ((unsigned)type >= DVT_MONOID_TYPES)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "type is %s, which has no operators", davit_type_string(type));
  pthread_once(&once, make_builtin);
  *monoid = &builtin[op][type];
  return DAVIT_SUCCESS;
}

/* ---- checks and choices ---- */

static atomic_bool always_travel;

void dvt_monoid_travel(bool always) {
  atomic_store(&always_travel, always);
}

bool dvt_monoid_home(const void *const arrays[], int count, const int *chosen, int chosen_count, bool any,
                     int *device, int *threads) {
  bool on_host = true;
  if (atomic_load(&always_travel))
    return false;
  for (int i = 0; i < count; i++)
    on_host = on_host && dvt_place_is_host(dvt_place_of(arrays[i]));
  if (on_host) {
    *threads = 0;
    for (int i = 0; i < chosen_count; i++) {
      if (!dvt_device_find(chosen[i])->shares_host_memory)
        return false;
      *threads += dvt_device_threads(chosen[i]);
    }
    *device = chosen[0];
    return true;
  }
  const int place = dvt_place_of(arrays[0]);
  for (int i = 1; i < count; i++)
    if (dvt_place_of(arrays[i]) != place)
      return false;
  bool among = any;
  for (int i = 0; i < chosen_count; i++)
    among = among || chosen[i] == place;
  *device = place;
  *threads = dvt_device_threads(place);
  return among && place >= 0;
}

int64_t dvt_monoid_piece(const davit_monoid *monoid, int64_t tile, int device, dvt_tunable which) {
  enum { PIECE_BYTES = 32 << 20 };
  const int64_t tiles = dvt_tuned(device, which, PIECE_BYTES) / (int64_t)monoid->bytes / tile;
  return dvt_at_least(tiles, 1) * tile;
}

/* Waking a second thread takes longer than one thread needs for n elements. What a user's operator costs is not
 * known. */
static bool is_short(const davit_monoid *monoid, int64_t n) {
  enum { SHORT_BYTES = 1 << 19 };
  return monoid->kernels && (size_t)n <= SHORT_BYTES / monoid->bytes;
}

/* Whether the monoid's regions were compiled as they must be. The built-in ones were. */
static davit_status check_works(const dvt_site *site, const davit_monoid *monoid) {
  if (monoid->kernels || monoid->works(site->device))
    return DAVIT_SUCCESS;
  return davit_fail(DAVIT_UNSUPPORTED,
                    "monoid %s has no code for device %d: compile its source with offloading and "
                    "-fopenmp-cuda-mode",
                    monoid->name, site->device);
}

/* ---- reduce ---- */

static int64_t tiles_of(int64_t n, int64_t tile) {
  return dvt_divide_up(n, tile);
}

int64_t dvt_monoid_values(const davit_monoid *monoid, int64_t n, int64_t values) {
  for (; values > 0; values--)
    n = tiles_of(n, monoid->reduce_tile);
  return n;
}

/* Values of all levels, and of all but the first: each of the latter has a counter. */
static void count_levels(const davit_monoid *monoid, int64_t n, int64_t stop, int64_t *all,
                         int64_t *counted) {
  *all = *counted = 0;
  for (int64_t level = 1; n > 1 || level <= stop || level == 1; level++) {
    n = tiles_of(n, monoid->reduce_tile);
    *all += n;
    *counted += level > 1 ? n : 0;
  }
}

/* The first value of the level that is wanted. */
static int64_t first_of_level(const davit_monoid *monoid, int64_t n, int64_t values) {
  int64_t first = 0;
  for (int64_t level = 1; level < values; level++)
    first += n = tiles_of(n, monoid->reduce_tile);
  return first;
}

static davit_status run_reduce_stream(const dvt_site *site, const void *arguments) {
  const dvt_reduce *r = arguments;
  const davit_monoid *monoid = r->monoid;
  const dvt_builtin_reduce *kernel = ((const kernels *)monoid->kernels)->reduce;
  int64_t all, counted;
  void *levels;
  uint32_t *counters;
  count_levels(monoid, r->n, r->values, &all, &counted);
  DVT_TRY(site->workspace(site, (size_t)all * monoid->bytes, &levels));
  DVT_TRY(site->counters(site, &counters));
  if (counted > DVT_SITE_COUNTERS)
    return davit_fail(DAVIT_UNSUPPORTED, "n is %lld, too many elements for one reduction", (long long)r->n);
  const int64_t tiles = tiles_of(r->n, monoid->reduce_tile),
                teams = r->teams > 0 ? dvt_at_most(r->teams, tiles) : tiles;
  DVT_TRY(dvt_launch(&kernel->kernels[dvt_reduce_kernel(r->teams, r->rows)], site->stream, teams,
                     kernel->threads, 0, DVT_ARGUMENTS(r->n, r->x, levels, counters, r->result, r->values)));
  if (r->values == 0)
    return DAVIT_SUCCESS;
  size_t bytes = (size_t)dvt_monoid_values(monoid, r->n, r->values) * monoid->bytes;
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
    bytes = (size_t)dvt_monoid_values(r->monoid, r->n, r->values) * element;
    from = (const char *)task.levels + (size_t)first_of_level(r->monoid, r->n, r->values) * element;
  }
  const dvt_copy copy = dvt_copy_bytes(bytes, from, DAVIT_PAGEABLE, r->result, dvt_place_of(r->result));
  return dvt_copy_now(&copy);
}

static davit_status run_reduce_region(const dvt_site *site, const void *arguments) {
  const dvt_reduce *r = arguments;
  DVT_TRY(check_works(site, r->monoid));
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
    bytes = (size_t)dvt_monoid_values(r->monoid, r->n, r->values) * element;
    from = levels + (size_t)first_of_level(r->monoid, r->n, r->values) * element;
  }
  const dvt_copy copy = dvt_copy_bytes(bytes, from, site->device, r->result, dvt_place_of(r->result));
  return dvt_copy_now(&copy);
}

/* The built-in monoids have kernels for streams; a user's runs as a region on every GPU. */
static const dvt_operation builtin_reduce = {.name = "reduce",
                                             .bytes = sizeof(dvt_reduce),
                                             .stream = run_reduce_stream,
                                             .host = run_reduce_host,
                                             .region = run_reduce_region};
static const dvt_operation user_reduce = {
    .name = "reduce", .bytes = sizeof(dvt_reduce), .host = run_reduce_host, .region = run_reduce_region};

static const dvt_operation *reduce_of(const dvt_reduce *r) {
  return r->monoid->kernels ? &builtin_reduce : &user_reduce;
}

static bool reduce_is_short(const dvt_reduce *r) {
  return is_short(r->monoid, r->n);
}

/* Memory of the host that the stream's device does not write: a thread would have to wait for the stream to copy the
 * result there. */
static bool is_out_of_reach(int device, const void *result) {
  const int place = dvt_place_of(result);
  return dvt_device_find(device)->ordinal >= 0 && dvt_place_is_host(place) && !dvt_place_is_streamable(place);
}

davit_status dvt_reduce_now(int device, const dvt_reduce *r, int threads) {
  const size_t bytes =
      (size_t)(r->values ? dvt_monoid_values(r->monoid, r->n, r->values) : 1) * r->monoid->bytes;
  dvt_reduce near = *r;
  void *memory = NULL;
  dvt_lane *lane;
  threads = reduce_is_short(r) ? DVT_ALONE : threads;
  if (dvt_operation_runs_here(device, reduce_of(r), threads))
    return dvt_operation_run_here(device, reduce_of(r), r, threads);
  if (is_out_of_reach(device, r->result)) {
    DVT_TRY(dvt_malloc(bytes, DAVIT_PINNED, &memory));
    near.result = memory;
  }
  davit_status status = dvt_lane_open(device, &lane);
  if (status == DAVIT_SUCCESS)
    status = dvt_lane_end(lane, dvt_reduce_submit(lane, &near, threads));
  if (status == DAVIT_SUCCESS && memory)
    memcpy(r->result, memory, bytes);
  davit_free(memory);
  return status;
}

davit_status dvt_reduce_submit(dvt_lane *lane, const dvt_reduce *r, int threads) {
  dvt_reduce tuned = *r;
  tuned.teams =
      dvt_tuned(lane->device, DVT_TUNE_REDUCE_TEAMS, 0) * dvt_device_find(lane->device)->info.compute_units;
  tuned.rows = dvt_tuned(lane->device, DVT_TUNE_REDUCE_ROWS, 0);
  return dvt_operation_submit_result(lane, reduce_of(r), &tuned, reduce_is_short(r) ? DVT_ALONE : threads,
                                     &tuned.result, r->monoid->bytes);
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

davit_status dvt_reduce_values(const davit_monoid *monoid, int64_t count, const void *values, void *result) {
  int64_t all, counted;
  davit_monoid_task task = {.device = DAVIT_HOST, .n = count, .x = values};
  count_levels(monoid, count, 0, &all, &counted);
  DVT_TRY(dvt_malloc((size_t)(all + 1) * monoid->bytes, DAVIT_PAGEABLE, &task.levels));
  task.result = (char *)task.levels + (size_t)all * monoid->bytes;
  const dvt_team team = is_short(monoid, count) ? DVT_NO_TEAM : dvt_team_begin(dvt_threads());
  task.threads = team.threads;
  monoid->reduce(&task);
  dvt_team_end(&team);
  davit_status status = davit_copy(monoid->bytes, task.result, result);
  davit_free(task.levels);
  return status;
}

/* ---- scan ---- */

static int64_t modes_of(const dvt_scan *s) {
  enum { EXCLUSIVE = 1, ALIGNED = 2, BEGINS = 4 };
  const bool fits = (((uintptr_t)s->x | (uintptr_t)s->y) & 15) == 0 && ((uintptr_t)s->flags & 3) == 0;
  const int exclusive = s->carry_in ? EXCLUSIVE : EXCLUSIVE | BEGINS;
  return (s->kind == DAVIT_SCAN_EXCLUSIVE ? exclusive : 0) | (fits ? ALIGNED : 0);
}

/* The usual kernel, or the one that is tuned, if there is such a one. */
static dvt_scan_shape shape_of(const dvt_scan *s) {
  const dvt_builtin_scan *kernel = ((const kernels *)s->monoid->kernels)->scan;
  const int64_t threads = s->threads > 0 ? s->threads : kernel->threads,
                rows = s->rows > 0 ? s->rows : DVT_SCAN_ROWS;
  for (int type = 0; type < DVT_MONOID_TYPES && !s->flags; type++)
    if (s->monoid == &builtin[DAVIT_SUM][type])
      for (int i = 0; i < DVT_SCAN_SHAPES; i++) {
        const dvt_scan_shape *shape = &dvt_sum_scan_shapes[type][i];
        if (shape->threads == threads && shape->rows == rows)
          return *shape;
      }
  return (dvt_scan_shape){kernel->threads, DVT_SCAN_ROWS, kernel->tile,
                          s->flags ? kernel->segmented : kernel->kernel};
}

davit_status dvt_scan_kernel(int device, dvt_stream *stream, dvt_kernel_fit *fit) {
  const davit_monoid *sum;
  DVT_TRY(davit_monoid_builtin(DAVIT_SUM, DAVIT_DOUBLE, &sum));
  const dvt_scan s = {.monoid = sum,
                      .threads = dvt_tuned(device, DVT_TUNE_SCAN_TEAM_THREADS, 0),
                      .rows = dvt_tuned(device, DVT_TUNE_SCAN_ROWS, 0)};
  const dvt_scan_shape shape = shape_of(&s);
  DVT_TRY(dvt_launch_fit_of(shape.kernel, stream, shape.threads, 0, fit));
  if ((s.threads > 0 && shape.threads != s.threads) || (s.rows > 0 && shape.rows != s.rows))
    fit->teams = 0; /* there is no such kernel */
  return DAVIT_SUCCESS;
}

static davit_status run_scan_stream(const dvt_site *site, const void *arguments) {
  const dvt_scan *s = arguments;
  const dvt_builtin_scan *kernel = ((const kernels *)s->monoid->kernels)->scan;
  const dvt_scan_shape shape = shape_of(s);
  const int64_t tiles = tiles_of(s->n, shape.tile);
  const size_t slots = (size_t)tiles * kernel->slot_bytes;
  void *sums;
  DVT_TRY(site->workspace(site, 2 * slots, &sums));
  DVT_TRY(dvt_stream_fill(site->stream, sums, 0, 2 * slots));
  return dvt_launch(shape.kernel, site->stream, tiles + 1, shape.threads, 0,
                    DVT_ARGUMENTS(s->n, s->x, s->flags, sums, (char *)sums + slots, s->carry_in, s->carry_out,
                                  s->y, modes_of(s)));
}

static davit_status run_scan_host(const dvt_site *site, const void *arguments) {
  const dvt_scan *s = arguments;
  davit_monoid_task task = {.device = site->device,
                            .threads = site->threads,
                            .n = s->n,
                            .x = s->x,
                            .flags = s->flags,
                            .y = s->y,
                            .carry_in = s->carry_in,
                            .carry_out = s->carry_out,
                            .modes = modes_of(s)};
  s->monoid->scan(&task);
  return DAVIT_SUCCESS;
}

/* One element between the host and the lane's device. */
static davit_status move(const dvt_site *site, const davit_monoid *monoid, void *to, const void *from,
                         bool in) {
  const dvt_copy copy = dvt_copy_bytes(monoid->bytes, from, in ? dvt_place_of(from) : site->device, to,
                                       in ? site->device : dvt_place_of(to));
  return dvt_copy_now(&copy);
}

static davit_status run_scan_region(const dvt_site *site, const void *arguments) {
  const dvt_scan *s = arguments;
  DVT_TRY(check_works(site, s->monoid));
  const size_t slots = dvt_aligned_up((size_t)tiles_of(s->n, s->monoid->scan_tile) * s->monoid->slot_bytes);
  const size_t element = dvt_aligned_up(s->monoid->bytes);
  void *memory;
  DVT_TRY(site->workspace(site, 2 * slots + 2 * element, &memory));
  DVT_TRY(dvt_space_fill(memory, site->device, 0, 2 * slots));
  char *carry_in = (char *)memory + 2 * slots, *carry_out = carry_in + element;
  if (s->carry_in)
    DVT_TRY(move(site, s->monoid, carry_in, s->carry_in, true));
  davit_monoid_task task = {.device = site->device,
                            .gpu = true,
                            .n = s->n,
                            .x = s->x,
                            .flags = s->flags,
                            .y = s->y,
                            .sums = memory,
                            .prefixes = (uint64_t *)(void *)((char *)memory + slots),
                            .carry_in = s->carry_in ? carry_in : NULL,
                            .carry_out = carry_out,
                            .modes = modes_of(s)};
  s->monoid->scan(&task);
  return s->carry_out ? move(site, s->monoid, s->carry_out, carry_out, false) : DAVIT_SUCCESS;
}

static const dvt_operation builtin_scan = {.name = "scan",
                                           .bytes = sizeof(dvt_scan),
                                           .stream = run_scan_stream,
                                           .host = run_scan_host,
                                           .region = run_scan_region};
static const dvt_operation user_scan = {
    .name = "scan", .bytes = sizeof(dvt_scan), .host = run_scan_host, .region = run_scan_region};

static const dvt_operation *scan_of(const dvt_scan *s) {
  return s->monoid->kernels ? &builtin_scan : &user_scan;
}

static bool scan_is_short(const dvt_scan *s) {
  return is_short(s->monoid, s->n);
}

davit_status dvt_scan_now(int device, const dvt_scan *s, int threads) {
  dvt_lane *lane;
  threads = scan_is_short(s) ? DVT_ALONE : threads;
  if (dvt_operation_runs_here(device, scan_of(s), threads))
    return dvt_operation_run_here(device, scan_of(s), s, threads);
  DVT_TRY(dvt_lane_open(device, &lane));
  return dvt_lane_end(lane, dvt_scan_submit(lane, s, threads));
}

davit_status dvt_scan_submit(dvt_lane *lane, const dvt_scan *s, int threads) {
  dvt_scan tuned = *s;
  tuned.threads = dvt_tuned(lane->device, DVT_TUNE_SCAN_TEAM_THREADS, 0);
  tuned.rows = dvt_tuned(lane->device, DVT_TUNE_SCAN_ROWS, 0);
  return dvt_operation_submit(lane, scan_of(s), &tuned, scan_is_short(s) ? DVT_ALONE : threads);
}

/* ---- prepend ---- */

static davit_status run_prepend_stream(const dvt_site *site, const void *arguments) {
  enum { MAX_TEAMS = 2048 };
  const dvt_scan *s = arguments;
  const dvt_builtin_scan *kernel = ((const kernels *)s->monoid->kernels)->scan;
  const int64_t teams = tiles_of(s->n, kernel->threads);
  return dvt_launch(kernel->prepend_kernel, site->stream, teams < MAX_TEAMS ? teams : MAX_TEAMS,
                    kernel->threads, 0, DVT_ARGUMENTS(s->n, s->carry_in, s->y));
}

static davit_status run_prepend(const dvt_site *site, const void *arguments) {
  const dvt_scan *s = arguments;
  davit_monoid_task task = {.device = site->device, .threads = site->threads, .n = s->n, .y = s->y};
  task.gpu = site->threads == 0;
  DVT_TRY(site->workspace(site, s->monoid->bytes, &task.result));
  if (task.gpu)
    DVT_TRY(move(site, s->monoid, task.result, s->carry_in, true));
  else
    memcpy(task.result, s->carry_in, s->monoid->bytes);
  s->monoid->prepend(&task);
  return DAVIT_SUCCESS;
}

static const dvt_operation builtin_prepend = {.name = "prepend",
                                              .bytes = sizeof(dvt_scan),
                                              .stream = run_prepend_stream,
                                              .host = run_prepend,
                                              .region = run_prepend};
static const dvt_operation user_prepend = {
    .name = "prepend", .bytes = sizeof(dvt_scan), .host = run_prepend, .region = run_prepend};

davit_status dvt_prepend_submit(dvt_lane *lane, const dvt_scan *s) {
  return dvt_operation_submit(lane, s->monoid->kernels ? &builtin_prepend : &user_prepend, s, 0);
}
