/* SPDX-License-Identifier: Apache-2.0 */
/* Reduction: on a queue, over several devices, and of an array in parts.
 *
 * An array that has to travel goes in pieces through three lanes a device; the devices leave the values of
 * the tree's first level, and the host folds them on. So the tree is the same as on one device. */
#include <davit/reduce.h>
#include <stdlib.h>

#include "src/base/allocate.h"
#include "src/monoid.h"
#include "src/runtime/memory.h"
#include "src/runtime/queue.h"
#include "src/runtime/spread.h"

static davit_status check_input(const davit_monoid *monoid, int64_t n, const void *x) {
  DVT_TRY(dvt_check_monoid(monoid));
  DVT_TRY(dvt_check_length("n", n));
  return n > 0 ? dvt_check_pointer("x", x) : DAVIT_SUCCESS;
}

static davit_status check(const davit_monoid *monoid, int64_t n, const void *x, const void *result) {
  DVT_TRY(check_input(monoid, n, x));
  return dvt_check_pointer("result", result);
}

davit_status davit_queue_monoid_reduce(davit_queue *queue, const davit_monoid *monoid, int64_t n,
                                       const void *x, void *result, const davit_reduce_options *options) {
  dvt_lane *lane = dvt_queue_lane(queue);
  if (!lane)
    return DAVIT_INVALID_ARGUMENT;
  DVT_TRY(DVT_CHECK_QUEUE_OPTIONS(options));
  DVT_TRY(check(monoid, n, x, result));
  if (DVT_MAPPED(options))
    DVT_TRY(DVT_USE_MAPPED(lane->device, {"x", &x, n == 0}));
  if (n == 0)
    return davit_queue_copy(queue, monoid->bytes, monoid->identity, result);
  return dvt_reduce_submit(lane, &(dvt_reduce){monoid, n, x, .values = 0, .result = result}, 0);
}

/* ---- streamed ---- */

static davit_status stream_piece(dvt_spread *run, dvt_spread_lane *lane, const davit_monoid *monoid,
                                 int64_t n, const char *x, void *values) {
  const size_t bytes = (size_t)n * monoid->bytes;
  void *here;
  size_t pitch;
  DVT_TRY(dvt_spread_operand(run, lane, 0, true, (void *)(uintptr_t)x, bytes, bytes, 1, &here, &pitch));
  return dvt_reduce_submit(lane->lane, &(dvt_reduce){monoid, n, here, .values = 1, .result = values}, 0);
}

static davit_status stream_all(dvt_spread *run, const davit_monoid *monoid, int64_t n, const char *x,
                               char *values) {
  const int64_t piece = (int64_t)(run->buffer_bytes / monoid->bytes);
  for (int64_t i = 0, begin = 0; begin < n; i++, begin += piece) {
    const int64_t turn = i / run->devices, size = n - begin < piece ? n - begin : piece;
    dvt_spread_lane *lane = &run->device[i % run->devices].lane[turn % DVT_SPREAD_LANES];
    DVT_TRY(stream_piece(run, lane, monoid, size, x + (size_t)begin * monoid->bytes,
                         values + (size_t)(begin / monoid->reduce_tile) * monoid->bytes));
  }
  return DAVIT_SUCCESS;
}

static davit_status streamed(const davit_monoid *monoid, int64_t n, const void *x, const int *devices,
                             int count, void *result) {
  const int64_t values = dvt_monoid_values(monoid, n, 1);
  const int64_t piece =
      dvt_monoid_piece(monoid, monoid->reduce_tile, devices[0], DVT_TUNE_REDUCE_PIECE_BYTES);
  void *memory;
  dvt_spread run;
  DVT_TRY(dvt_malloc((size_t)values * monoid->bytes, DAVIT_PINNED, &memory));
  davit_status status = dvt_spread_open(&run, devices, count, (size_t)piece * monoid->bytes);
  if (status == DAVIT_SUCCESS)
    status = dvt_spread_close(&run, stream_all(&run, monoid, n, x, memory));
  if (status == DAVIT_SUCCESS)
    status = dvt_reduce_values(monoid, values, memory, result);
  davit_free(memory);
  return status;
}

davit_status davit_monoid_reduce(const davit_monoid *monoid, int64_t n, const void *x, void *result,
                                 const davit_reduce_options *options) {
  int chosen[DVT_MAX_DEVICES], count, device, threads;
  DVT_TRY(check(monoid, n, x, result));
  DVT_TRY(DVT_CHOOSE_WITH_MAPPED(options, chosen, &count));
  if (DVT_MAPPED(options))
    DVT_TRY(DVT_USE_MAPPED(chosen[0], {"x", &x, n == 0}));
  if (n == 0)
    return davit_copy(monoid->bytes, monoid->identity, result);
  if (dvt_monoid_home(&x, 1, chosen, count, !options || (!options->devices && !options->mapped), &device,
                      &threads))
    return dvt_reduce_now(device, &(dvt_reduce){monoid, n, x, .result = result}, threads);
  return streamed(monoid, n, x, chosen, count, result);
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
    DVT_TRY(dvt_reduce_submit(
        run->lanes[p],
        &(dvt_reduce){run->monoid, parts[p].n, parts[p].x, .values = run->level, .result = run->values + at},
        0));
    at += (size_t)dvt_monoid_values(run->monoid, parts[p].n, run->level) * run->monoid->bytes;
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
    values += parts[p].n > 0 ? dvt_monoid_values(monoid, parts[p].n, run.level) : 0;
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
    dvt_error_keep(&first, dvt_reduce_values(monoid, values, memory, result));
  davit_free(memory);
  free(run.lanes);
  return dvt_error_report(&first);
}

davit_status davit_monoid_reduce_chunks(const davit_monoid *monoid, int64_t n, const void *x, void *values) {
  void *memory;
  DVT_TRY(check_input(monoid, n, x));
  DVT_TRY(dvt_check_pointer("values", values));
  DVT_TRY(dvt_start());
  if (n == 0)
    return DAVIT_SUCCESS;
  const size_t bytes = (size_t)dvt_monoid_values(monoid, n, 1) * monoid->bytes;
  const int place = dvt_place_of(x);
  DVT_TRY(dvt_malloc(bytes, DAVIT_PINNED, &memory));
  davit_status status = dvt_reduce_now(place < 0 ? DAVIT_HOST : place,
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
