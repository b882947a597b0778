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
  enum { EXCLUSIVE = 1, ALIGNED = 2, BEGINS = 4 };
  const bool fits = (((uintptr_t)s->x | (uintptr_t)s->y) & 15) == 0 && ((uintptr_t)s->flags & 3) == 0;
  const int exclusive = s->carry_in ? EXCLUSIVE : EXCLUSIVE | BEGINS;
  return (s->kind == DAVIT_SCAN_EXCLUSIVE ? exclusive : 0) | (fits ? ALIGNED : 0);
}

static const dvt_builtin_scan *kernels_of(const davit_monoid *monoid) {
  const dvt_monoid_key *key = monoid->kernels;
  return &dvt_builtin_scans[key->op][key->type];
}

/* The usual kernel, or the one that is tuned, if there is such a one. */
static dvt_scan_shape shape_of(const dvt_scan *s) {
  const dvt_monoid_key *key = s->monoid->kernels;
  const dvt_builtin_scan *kernel = kernels_of(s->monoid);
  const int64_t threads = s->threads > 0 ? s->threads : kernel->threads,
                rows = s->rows > 0 ? s->rows : DVT_SCAN_ROWS;
  for (int i = 0; i < DVT_SCAN_SHAPES && !s->flags && key->op == DAVIT_SUM; i++) {
    const dvt_scan_shape *shape = &dvt_sum_scan_shapes[key->type][i];
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
  const dvt_builtin_scan *kernel = kernels_of(s->monoid);
  const dvt_scan_shape shape = shape_of(s);
  const int64_t tiles = dvt_divide_up(s->n, shape.tile);
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
  DVT_TRY(dvt_monoid_check_works(site, s->monoid));
  const size_t slots =
      dvt_aligned_up((size_t)dvt_divide_up(s->n, s->monoid->scan_tile) * s->monoid->slot_bytes);
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
  e->chunk[DVT_OUT] = dvt_monoid_piece(monoid, monoid->scan_tile, device, DVT_TUNE_SCAN_PIECE_BYTES);
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

static void tune_scan(void *arguments, int device) {
  dvt_scan *s = arguments;
  s->threads = dvt_tuned(device, DVT_TUNE_SCAN_TEAM_THREADS, 0);
  s->rows = dvt_tuned(device, DVT_TUNE_SCAN_ROWS, 0);
}

#define SCAN(...)                                                                                            \
  {.name = "scan",                                                                                           \
   .bytes = DVT_BYTES_OF(dvt_scan),                                                                          \
   .check = check_scan,                                                                                      \
   .host = run_scan_host,                                                                                    \
   .region = run_scan_region,                                                                                \
   .tune = tune_scan,                                                                                        \
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

/* ---- prepend ---- */

static davit_status run_prepend_stream(const dvt_site *site, const void *arguments) {
  enum { MAX_TEAMS = 2048 };
  const dvt_scan *s = arguments;
  const dvt_builtin_scan *kernel = kernels_of(s->monoid);
  const int64_t teams = dvt_divide_up(s->n, kernel->threads);
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

#define PREPEND(...)                                                                                         \
  {.name = "prepend",                                                                                        \
   .bytes = DVT_BYTES_OF(dvt_scan),                                                                          \
   .host = run_prepend,                                                                                      \
   .region = run_prepend,                                                                                    \
   __VA_ARGS__}

const dvt_operation *dvt_prepend_operation(const davit_monoid *monoid) {
  static const dvt_operation built_in = PREPEND(.stream = run_prepend_stream), users = PREPEND();
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

/* ---- in parts ----
 *
 * Part p > 0 needs the sum of all before. Not segmented: every part but the last is reduced first, then all
 * are scanned with their carry; memory is read twice and written once. Segmented: a head cuts what comes from
 * before, so each part is scanned at once, and the elements up to its first head are fixed up afterwards;
 * usually few. */

typedef struct parts_run {
  const davit_monoid *monoid;
  davit_scan_kind kind;
  bool segmented;
  int count;
  const davit_scan_part *parts;
  dvt_lane **lanes;
  char *carries; /* count sums of the parts, then count of what lies before the end of a part; pinned */
} parts_run;

static void *sum_of(const parts_run *run, int part) {
  return run->carries + (size_t)part * run->monoid->bytes;
}

/* What enters the part after this one, if `carry` enters this one; NULL: nothing. */
static const void *carry_after(const parts_run *run, int part, const void *carry) {
  void *next = sum_of(run, run->count + part);
  if (!carry)
    return sum_of(run, part);
  run->monoid->combine(carry, sum_of(run, part), next);
  return next;
}

static davit_status check_parts(const davit_monoid *monoid, davit_scan_kind kind, int count,
                                const davit_scan_part *parts) {
  DVT_TRY(dvt_check_monoid(monoid));
  DVT_TRY(dvt_check_kind(kind));
  if (count < 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "count is %d, less than 0", count);
  if (count > 0 && !parts)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "parts is NULL");
  const davit_scan_part *first = NULL; /* that is not empty */
  for (int p = 0; p < count; p++) {
    dvt_scan part = {monoid, kind, parts[p].n, parts[p].x, parts[p].flags, parts[p].y, NULL, NULL, 0, 0};
    davit_status status = dvt_scan_operation(monoid)->check(&part);
    if (status == DAVIT_SUCCESS && parts[p].n > 0) {
      first = first ? first : &parts[p];
      if (!parts[p].flags != !first->flags)
        status = davit_fail(DAVIT_INVALID_ARGUMENT, "flags is %sNULL, unlike that of parts[%d]",
                            parts[p].flags ? "not " : "", (int)(first - parts));
    }
    if (status != DAVIT_SUCCESS) {
      char sentence[160];
      snprintf(sentence, sizeof sentence, "%s", davit_last_error());
      return davit_fail(status, "parts[%d].%s", p, sentence);
    }
  }
  return DAVIT_SUCCESS;
}

/* All pointers of a part lie in one place, or in the host's memory. */
static davit_status check_places(int count, const davit_scan_part *parts) {
  for (int p = 0; p < count; p++) {
    const void *const arrays[] = {parts[p].x, parts[p].flags};
    const int place = parts[p].n > 0 ? dvt_place_of(parts[p].y) : 0;
    for (int i = 0; i < 2 && parts[p].n > 0; i++) {
      const int other = arrays[i] ? dvt_place_of(arrays[i]) : place;
      if (other != place && !(dvt_place_is_host(other) && dvt_place_is_host(place)))
        return davit_fail(DAVIT_INVALID_ARGUMENT, "parts[%d].%s lies in another place than y", p,
                          i == 0 ? "x" : "flags");
    }
  }
  return DAVIT_SUCCESS;
}

static davit_status open_parts(parts_run *run) {
  for (int p = 0; p < run->count; p++) {
    const int place = dvt_place_of(run->parts[p].y);
    if (run->parts[p].n > 0)
      DVT_TRY(dvt_lane_open(place < 0 ? DAVIT_HOST : place, &run->lanes[p]));
  }
  return DAVIT_SUCCESS;
}

static davit_status synchronize(const parts_run *run) {
  dvt_error first = {.status = DAVIT_SUCCESS};
  for (int p = 0; p < run->count; p++)
    if (run->lanes[p])
      dvt_error_keep(&first, dvt_lanes_synchronize(&run->lanes[p], 1));
  return dvt_error_report(&first);
}

static dvt_scan scan_of(const parts_run *run, int p) {
  const davit_scan_part *part = &run->parts[p];
  return (dvt_scan){.monoid = run->monoid,
                    .kind = run->kind,
                    .n = part->n,
                    .x = part->x,
                    .flags = run->segmented ? part->flags : NULL,
                    .y = part->y};
}

static davit_status scan_after_reducing(parts_run *run) {
  for (int p = 0; p + 1 < run->count; p++) {
    const davit_scan_part *part = &run->parts[p];
    if (part->n > 0)
      DVT_TRY(dvt_operation_submit(run->lanes[p], dvt_reduce_operation(run->monoid),
                                   &(dvt_reduce){run->monoid, part->n, part->x, .result = sum_of(run, p)},
                                   0));
  }
  DVT_TRY(synchronize(run));
  const void *carry = NULL;
  for (int p = 0; p < run->count; p++) {
    if (run->parts[p].n == 0)
      continue;
    dvt_scan scan = scan_of(run, p);
    scan.carry_in = carry;
    DVT_TRY(dvt_operation_submit(run->lanes[p], dvt_scan_operation(run->monoid), &scan, 0));
    if (p + 1 < run->count)
      carry = carry_after(run, p, carry);
  }
  return synchronize(run);
}

/* Elements before the first head, looked for in windows that are copied here. */
static davit_status first_head(int64_t n, const uint8_t *flags, int64_t *before) {
  enum { LEAST = 1 << 12, MOST = 1 << 24 };
  davit_status status = DAVIT_SUCCESS;
  uint8_t *window = NULL;
  *before = 0;
  for (int64_t size = LEAST; *before < n && status == DAVIT_SUCCESS; size = size < MOST ? 16 * size : size) {
    const int64_t left = n - *before, length = left < size ? left : size;
    uint8_t *larger = dvt_reallocate(window, (size_t)length, 1);
    if (!larger) {
      status = DAVIT_OUT_OF_HOST_MEMORY;
      break;
    }
    window = larger;
    status = davit_copy((size_t)length, flags + *before, window);
    int64_t i = 0;
    while (status == DAVIT_SUCCESS && i < length && !window[i])
      i++;
    *before += i;
    if (i < length)
      break;
  }
  free(window);
  return status;
}

/* `carry` enters the first `before` elements of a scanned part. An exclusive scan put the identity into the
 * first one. */
static davit_status fix_up(const parts_run *run, int p, int64_t before, const void *carry) {
  dvt_scan fix = scan_of(run, p);
  fix.n = before;
  fix.carry_in = carry;
  if (run->kind == DAVIT_SCAN_EXCLUSIVE) {
    const size_t bytes = run->monoid->bytes;
    const dvt_copy first = dvt_copy_bytes(bytes, carry, DAVIT_PINNED, fix.y, dvt_place_of(fix.y));
    DVT_TRY(dvt_copy_submit(run->lanes[p], &first));
    fix.y = (char *)fix.y + bytes;
    fix.n--;
  }
  return fix.n > 0 ? dvt_operation_submit(run->lanes[p], dvt_prepend_operation(run->monoid), &fix, 0)
                   : DAVIT_SUCCESS;
}

static davit_status scan_then_fix_up(parts_run *run) {
  for (int p = 0; p < run->count; p++)
    if (run->parts[p].n > 0) {
      dvt_scan scan = scan_of(run, p);
      scan.carry_out = sum_of(run, p);
      DVT_TRY(dvt_operation_submit(run->lanes[p], dvt_scan_operation(run->monoid), &scan, 0));
    }
  DVT_TRY(synchronize(run));
  const void *carry = NULL;
  for (int p = 0; p < run->count; p++) {
    const int64_t n = run->parts[p].n;
    int64_t before = 0;
    if (n == 0)
      continue;
    DVT_TRY(first_head(n, run->parts[p].flags, &before));
    if (carry && before > 0)
      DVT_TRY(fix_up(run, p, before, carry));
    carry = carry_after(run, p, before < n ? NULL : carry);
  }
  return synchronize(run);
}

davit_status davit_monoid_scan_parts(const davit_monoid *monoid, davit_scan_kind kind, int count,
                                     const davit_scan_part *parts) {
  DVT_TRY(check_parts(monoid, kind, count, parts));
  DVT_TRY(dvt_start());
  DVT_TRY(check_places(count, parts));
  if (count == 0)
    return DAVIT_SUCCESS;
  parts_run run = {.monoid = monoid, .kind = kind, .count = count, .parts = parts};
  for (int p = 0; p < count; p++)
    run.segmented = run.segmented || (parts[p].n > 0 && parts[p].flags);
  void *memory = NULL;
  dvt_error first = {.status = DAVIT_SUCCESS};
  run.lanes = dvt_allocate((size_t)count, sizeof *run.lanes);
  dvt_error_keep(&first, run.lanes ? dvt_malloc(2 * (size_t)count * monoid->bytes, DAVIT_PINNED, &memory)
                                   : DAVIT_OUT_OF_HOST_MEMORY);
  run.carries = memory;
  if (first.status == DAVIT_SUCCESS)
    dvt_error_keep(&first, open_parts(&run));
  if (first.status == DAVIT_SUCCESS)
    dvt_error_keep(&first, run.segmented ? scan_then_fix_up(&run) : scan_after_reducing(&run));
  for (int p = 0; run.lanes && p < count; p++)
    if (run.lanes[p])
      dvt_error_keep(&first, dvt_lane_close(run.lanes[p]));
  davit_free(memory);
  free(run.lanes);
  return dvt_error_report(&first);
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

davit_status davit_scan_parts(davit_operator op, davit_type type, davit_scan_kind kind, int count,
                              const davit_scan_part *parts) {
  const davit_monoid *monoid;
  DVT_TRY(davit_monoid_builtin(op, type, &monoid));
  for (int p = 0; p < count && parts; p++)
    if (parts[p].flags)
      return davit_fail(DAVIT_INVALID_ARGUMENT,
                        "parts[%d].flags is not NULL: call davit_segmented_scan_parts", p);
  return davit_monoid_scan_parts(monoid, kind, count, parts);
}

davit_status davit_segmented_scan_parts(davit_operator op, davit_type type, davit_scan_kind kind, int count,
                                        const davit_scan_part *parts) {
  const davit_monoid *monoid;
  DVT_TRY(davit_monoid_builtin(op, type, &monoid));
  for (int p = 0; p < count && parts; p++)
    if (parts[p].n > 0 && !parts[p].flags)
      return davit_fail(DAVIT_INVALID_ARGUMENT, "parts[%d].flags is NULL", p);
  return davit_monoid_scan_parts(monoid, kind, count, parts);
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
