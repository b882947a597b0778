/* SPDX-License-Identifier: Apache-2.0 */
/* Scan: its row, on a queue, over devices, and of an array in parts. */
#include <davit/scan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/runtime/space.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/monoid.h"
#include "src/runtime/copy.h"
#include "src/runtime/memory.h"
#include "src/shape.h"

/* ---- the row ---- */

static int64_t modes_of(const dvt_scan *s) {
  enum { EXCLUSIVE = 1, ALIGNED = 2, BEGINS = 4, GROUPS = 8 };
  const uintptr_t x = (uintptr_t)s->x, y = s->groups ? 0 : (uintptr_t)s->y;
  const bool fits = ((x | y) & 15) == 0 && ((uintptr_t)s->flags & 3) == 0;
  const int exclusive = s->carry_in ? EXCLUSIVE : EXCLUSIVE | BEGINS;
  return s->groups ? GROUPS | (fits ? ALIGNED : 0)
                   : (s->kind == DAVIT_SCAN_EXCLUSIVE ? exclusive : 0) | (fits ? ALIGNED : 0);
}

static const dvt_builtin_scan *kernels_of(const davit_monoid *monoid) {
  const dvt_monoid_key *key = monoid->kernels;
  return &dvt_builtin_scans[key->op][key->type];
}

davit_status dvt_scan_kernel(int device, dvt_stream *stream, dvt_kernel_fit *fit) {
  const dvt_builtin_scan *sum = &dvt_builtin_scans[DAVIT_SUM][DAVIT_DOUBLE];
  (void)device;
  return dvt_launch_fit_of(sum->kernel, stream, sum->threads, 0, fit);
}

static davit_status run_scan_stream(const dvt_site *site, const void *arguments) {
  const dvt_scan *s = arguments;
  const dvt_builtin_scan *scan = kernels_of(s->monoid);
  const int64_t tiles = dvt_divide_up(s->n, scan->tile);
  const size_t slots = (size_t)tiles * scan->slot_bytes;
  dvt_kernel *const kernel = s->groups  ? s->flags ? scan->segmented_sums : scan->sums
                             : s->flags ? scan->segmented
                                        : scan->kernel;
  void *sums;
  DVT_TRY(site->workspace(site, 2 * slots, &sums));
  DVT_TRY(dvt_stream_fill(site->stream, sums, 0, 2 * slots));
  return dvt_launch(kernel, site->stream, tiles + (s->groups ? scan->sum_teams : 1), scan->threads, 0,
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

/* Between the host and the lane's device. */
static davit_status move(const dvt_site *site, size_t bytes, void *to, const void *from, bool in) {
  const dvt_copy copy = dvt_copy_bytes(bytes, from, in ? dvt_place_of(from) : site->device, to,
                                       in ? site->device : dvt_place_of(to));
  return dvt_copy_now(&copy);
}

static davit_status run_scan_region(const dvt_site *site, const void *arguments) {
  const dvt_scan *s = arguments;
  DVT_TRY(dvt_monoid_check_works(site, s->monoid));
  const size_t slots =
      dvt_aligned_up((size_t)dvt_divide_up(s->n, s->monoid->scan_tile) * s->monoid->slot_bytes);
  const size_t element = dvt_aligned_up(s->monoid->bytes),
               sums = s->groups ? (size_t)(s->n / dvt_monoid_group(s->monoid)) * s->monoid->bytes : 0;
  void *memory;
  DVT_TRY(site->workspace(site, 2 * slots + 2 * element + sums, &memory));
  DVT_TRY(dvt_space_fill(memory, site->device, 0, 2 * slots));
  char *carry_in = (char *)memory + 2 * slots, *carry_out = carry_in + element;
  if (s->carry_in)
    DVT_TRY(move(site, s->monoid->bytes, carry_in, s->carry_in, true));
  davit_monoid_task task = {.device = site->device,
                            .gpu = true,
                            .n = s->n,
                            .x = s->x,
                            .flags = s->flags,
                            .y = s->groups ? carry_out + element : s->y,
                            .sums = memory,
                            .prefixes = (uint64_t *)(void *)((char *)memory + slots),
                            .carry_in = s->carry_in ? carry_in : NULL,
                            .carry_out = carry_out,
                            .modes = modes_of(s)};
  s->monoid->scan(&task);
  if (s->groups)
    return move(site, sums, s->y, task.y, false);
  return s->carry_out ? move(site, s->monoid->bytes, s->carry_out, carry_out, false) : DAVIT_SUCCESS;
}

static davit_status check_overlap(size_t bytes, int64_t n, const void *x, const uint8_t *flags,
                                  const void *y) {
  const size_t size = (size_t)n * bytes;
  const uintptr_t a = (uintptr_t)x, b = (uintptr_t)y, f = (uintptr_t)flags;
  if (a != b && a < b + size && b < a + size)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "y overlaps x without being x");
  if (flags && f < b + size && b < f + (uintptr_t)n)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "y overlaps flags");
  return DAVIT_SUCCESS;
}

static davit_status check_scan(void *arguments) {
  const dvt_scan *s = arguments;
  DVT_TRY(dvt_check_monoid(s->monoid));
  DVT_TRY(dvt_check_kind(s->kind));
  DVT_TRY(dvt_check_length("n", s->n));
  if (s->n > 0 && (!s->x || !s->y))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s is NULL", s->x ? "y" : "x");
  return s->n > 0 ? check_overlap(s->monoid->bytes, s->n, s->x, s->flags, s->y) : DAVIT_SUCCESS;
}

static void measure_scan(const void *arguments, int device, int ranges, dvt_extents *e) {
  const davit_monoid *monoid = ((const dvt_scan *)arguments)->monoid;
  (void)ranges;
  e->element = e->result_bytes = monoid->bytes;
  e->chunk[DVT_OUT] = dvt_monoid_piece(monoid, dvt_monoid_group(monoid), device, DVT_TUNE_SCAN_PIECE_BYTES);
}

/* What a piece passes on to the next, its carry, lies among the results: the device that scans a piece reads one and
 * writes the next, so pieces follow each other without the host, also from device to device. */
static void part_scan(const void *arguments, const dvt_chunk *chunk, void *part) {
  const size_t bytes = ((const dvt_scan *)arguments)->monoid->bytes;
  dvt_scan *s = part;
  char *carry = chunk->results + (size_t)chunk->number * bytes;
  s->carry_in = chunk->number > 0 ? carry : NULL;
  s->carry_out = carry + bytes;
}

#define SCAN(...)                                                                                            \
  {.name = "scan",                                                                                           \
   .bytes = DVT_BYTES_OF(dvt_scan),                                                                          \
   .check = check_scan,                                                                                      \
   .host = run_scan_host,                                                                                    \
   .region = run_scan_region,                                                                                \
   .array = {DVT_ARRAY(dvt_scan, x, DVT_ALONG_OUT, .reads = true),                                           \
             DVT_ARRAY(dvt_scan, flags, DVT_ALONG_OUT, .reads = true, .element = 1),                         \
             DVT_ARRAY(dvt_scan, y, DVT_ALONG_OUT, .writes = true)},                                         \
   .size = {offsetof(dvt_scan, n)},                                                                          \
   .measure = measure_scan,                                                                                  \
   .order = DVT_CHUNKS_FOLLOW,                                                                               \
   .part = part_scan,                                                                                        \
   __VA_ARGS__}

const dvt_operation *dvt_scan_operation(const davit_monoid *monoid) {
  static const dvt_operation built_in =
                                 SCAN(.stream = run_scan_stream, .short_bytes = 2 * DVT_MONOID_SHORT_BYTES),
                             users = SCAN();
  return monoid->kernels ? &built_in : &users;
}

/* ---- the calls ---- */

davit_status davit_queue_monoid_scan(davit_queue *queue, const davit_monoid *monoid, davit_scan_kind kind,
                                     int64_t n, const void *x, const uint8_t *flags, void *y,
                                     const davit_scan_options *options) {
  dvt_scan s = {.monoid = monoid, .kind = kind, .n = n, .x = x, .flags = flags, .y = y};
  DVT_TRY(dvt_check_monoid(monoid));
  return dvt_operation_enqueue(queue, dvt_scan_operation(monoid), &s, DVT_WHERE(options));
}

davit_status davit_monoid_scan(const davit_monoid *monoid, davit_scan_kind kind, int64_t n, const void *x,
                               const uint8_t *flags, void *y, const davit_scan_options *options) {
  dvt_scan s = {.monoid = monoid, .kind = kind, .n = n, .x = x, .flags = flags, .y = y};
  DVT_TRY(dvt_check_monoid(monoid));
  return dvt_operation_call(dvt_scan_operation(monoid), &s, DVT_WHERE(options));
}

/* ---- built-in operators ---- */

static davit_status check_flags(int64_t n, const uint8_t *flags) {
  return n > 0 && !flags ? davit_fail(DAVIT_INVALID_ARGUMENT, "flags is NULL") : DAVIT_SUCCESS;
}

davit_status davit_queue_scan(davit_queue *queue, davit_operator op, davit_type type, davit_scan_kind kind,
                              int64_t n, const void *x, void *y, const davit_scan_options *options) {
  const davit_monoid *monoid;
  DVT_TRY(davit_monoid_builtin(op, type, &monoid));
  return davit_queue_monoid_scan(queue, monoid, kind, n, x, NULL, y, options);
}

davit_status davit_queue_segmented_scan(davit_queue *queue, davit_operator op, davit_type type,
                                        davit_scan_kind kind, int64_t n, const void *x, const uint8_t *flags,
                                        void *y, const davit_scan_options *options) {
  const davit_monoid *monoid;
  DVT_TRY(davit_monoid_builtin(op, type, &monoid));
  DVT_TRY(check_flags(n, flags));
  return davit_queue_monoid_scan(queue, monoid, kind, n, x, flags, y, options);
}

davit_status davit_scan(davit_operator op, davit_type type, davit_scan_kind kind, int64_t n, const void *x,
                        void *y, const davit_scan_options *options) {
  const davit_monoid *monoid;
  DVT_TRY(davit_monoid_builtin(op, type, &monoid));
  return davit_monoid_scan(monoid, kind, n, x, NULL, y, options);
}

davit_status davit_segmented_scan(davit_operator op, davit_type type, davit_scan_kind kind, int64_t n,
                                  const void *x, const uint8_t *flags, void *y,
                                  const davit_scan_options *options) {
  const davit_monoid *monoid;
  DVT_TRY(davit_monoid_builtin(op, type, &monoid));
  DVT_TRY(check_flags(n, flags));
  return davit_monoid_scan(monoid, kind, n, x, flags, y, options);
}

/* ---- segments ---- */

davit_status davit_scan_flags(int64_t count, const int64_t *starts, int64_t n, uint8_t *flags) {
  DVT_TRY(dvt_check_length("n", n));
  DVT_TRY(dvt_check_length("count", count));
  if (count > 0 && !starts)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "starts is NULL");
  if (n > 0 && !flags)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "flags is NULL");
  if (n > 0 && (count == 0 || starts[0] != 0))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "starts does not begin with 0");
  for (int64_t s = 0; s < count; s++) {
    if (s > 0 && starts[s] <= starts[s - 1])
      return davit_fail(DAVIT_INVALID_ARGUMENT, "starts[%lld] is %lld after %lld: %s", (long long)s,
                        (long long)starts[s], (long long)starts[s - 1],
                        starts[s] == starts[s - 1] ? "flags cannot represent an empty segment"
                                                   : "not ascending");
    if (starts[s] < 0 || starts[s] >= n)
      return davit_fail(DAVIT_INVALID_ARGUMENT, "starts[%lld] is %lld, not in 0 … n - 1, n = %lld",
                        (long long)s, (long long)starts[s], (long long)n);
  }
  if (n > 0)
    memset(flags, 0, (size_t)n);
  for (int64_t s = 0; s < count; s++)
    flags[starts[s]] = 1;
  return DAVIT_SUCCESS;
}

davit_status davit_scan_starts(int64_t n, const uint8_t *flags, int64_t capacity, int64_t *starts,
                               int64_t *count) {
  DVT_TRY(dvt_check_length("n", n));
  DVT_TRY(dvt_check_length("capacity", capacity));
  if (n > 0 && !flags)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "flags is NULL");
  if (capacity > 0 && !starts)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "starts is NULL");
  if (!count)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "count is NULL");
  int64_t found = 0;
  for (int64_t i = 0; i < n; i++)
    if (i == 0 || flags[i]) {
      if (found < capacity)
        starts[found] = i;
      found++;
    }
  *count = found;
  return DAVIT_SUCCESS;
}
