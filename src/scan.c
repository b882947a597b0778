/* SPDX-License-Identifier: Apache-2.0 */
/* Scan: on a queue, streamed through several devices, and of an array in parts.
 *
 * What a piece passes on to the next, its carry, lies in pinned memory: the device that scans a piece reads
 * one and writes the next, so pieces follow each other without the host, also from device to device. */
#include <davit/scan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/monoid.h"
#include "src/runtime/copy.h"
#include "src/runtime/memory.h"
#include "src/runtime/queue.h"
#include "src/runtime/spread.h"

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

static davit_status check(const davit_monoid *monoid, davit_scan_kind kind, int64_t n, const void *x,
                          const uint8_t *flags, const void *y) {
  DVT_TRY(dvt_check_monoid(monoid));
  DVT_TRY(dvt_check_kind(kind));
  DVT_TRY(dvt_check_length("n", n));
  if (n > 0 && (!x || !y))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s is NULL", x ? "y" : "x");
  return n > 0 ? check_overlap(monoid->bytes, n, x, flags, y) : DAVIT_SUCCESS;
}

davit_status davit_queue_monoid_scan(davit_queue *queue, const davit_monoid *monoid, davit_scan_kind kind,
                                     int64_t n, const void *x, const uint8_t *flags, void *y,
                                     const davit_scan_options *options) {
  dvt_lane *lane = dvt_queue_lane(queue);
  if (!lane)
    return DAVIT_INVALID_ARGUMENT;
  DVT_TRY(DVT_CHECK_QUEUE_OPTIONS(options));
  DVT_TRY(check(monoid, kind, n, x, flags, y));
  if (DVT_MAPPED(options))
    DVT_TRY(DVT_USE_MAPPED(lane->device, {"x", &x, n == 0}, {"flags", &flags, n == 0}, {"y", &y, n == 0}));
  if (n == 0)
    return DAVIT_SUCCESS;
  const dvt_scan scan = {.monoid = monoid, .kind = kind, .n = n, .x = x, .flags = flags, .y = y};
  return dvt_scan_submit(lane, &scan, 0);
}

/* ---- streamed ---- */

/* The records of the last pieces: a piece waits for the one before. */
static davit_status stream_piece(dvt_spread *run, dvt_spread_lane *lane, const dvt_scan *s,
                                 dvt_record **last) {
  const size_t bytes = (size_t)s->n * s->monoid->bytes, flag_bytes = (size_t)s->n;
  void *x, *y, *flags = NULL;
  size_t pitch;
  DVT_TRY(dvt_spread_operand(run, lane, 0, true, (void *)(uintptr_t)s->x, bytes, bytes, 1, &x, &pitch));
  DVT_TRY(dvt_spread_operand(run, lane, 1, false, s->y, bytes, bytes, 1, &y, &pitch));
  if (s->flags)
    DVT_TRY(dvt_spread_operand(run, lane, 2, true, (void *)(uintptr_t)s->flags, flag_bytes, flag_bytes, 1,
                               &flags, &pitch));
  dvt_scan here = *s;
  here.x = x;
  here.y = y;
  here.flags = flags;
  if (*last)
    DVT_TRY(dvt_lane_wait(lane->lane, *last));
  DVT_TRY(dvt_scan_submit(lane->lane, &here, 0));
  dvt_record_drop(*last);
  *last = NULL;
  DVT_TRY(dvt_lane_record(lane->lane, false, last));
  return dvt_spread_store(lane, y, bytes, s->y, bytes, bytes, 1);
}

static davit_status stream_all(dvt_spread *run, const dvt_scan *s, char *carries) {
  const size_t element = s->monoid->bytes;
  const int64_t piece = (int64_t)(run->buffer_bytes / element);
  dvt_record *last = NULL;
  davit_status status = DAVIT_SUCCESS;
  for (int64_t i = 0, begin = 0; begin < s->n && status == DAVIT_SUCCESS; i++, begin += piece) {
    dvt_spread_lane *lane = &run->device[i % run->devices].lane[i / run->devices % DVT_SPREAD_LANES];
    dvt_scan part = *s;
    part.n = s->n - begin < piece ? s->n - begin : piece;
    part.x = (const char *)s->x + (size_t)begin * element;
    part.y = (char *)s->y + (size_t)begin * element;
    part.flags = s->flags ? s->flags + begin : NULL;
    part.carry_in = i > 0 ? carries + (size_t)i * element : NULL;
    part.carry_out = carries + (size_t)(i + 1) * element;
    status = stream_piece(run, lane, &part, &last);
  }
  dvt_record_drop(last);
  return status;
}

static davit_status streamed(const dvt_scan *s, const int *devices, int count) {
  const davit_monoid *monoid = s->monoid;
  const int64_t piece = dvt_monoid_piece(monoid, monoid->scan_tile, devices[0], DVT_TUNE_SCAN_PIECE_BYTES);
  const int64_t pieces = (s->n + piece - 1) / piece;
  void *carries;
  dvt_spread run;
  DVT_TRY(dvt_malloc((size_t)(pieces + 1) * monoid->bytes, DAVIT_PINNED, &carries));
  davit_status status = dvt_spread_open(&run, devices, count, (size_t)piece * monoid->bytes);
  if (status == DAVIT_SUCCESS)
    status = dvt_spread_close(&run, stream_all(&run, s, carries));
  davit_free(carries);
  return status;
}

davit_status davit_monoid_scan(const davit_monoid *monoid, davit_scan_kind kind, int64_t n, const void *x,
                               const uint8_t *flags, void *y, const davit_scan_options *options) {
  int chosen[DVT_MAX_DEVICES], count, device, threads;
  DVT_TRY(check(monoid, kind, n, x, flags, y));
  DVT_TRY(DVT_CHOOSE_WITH_MAPPED(options, chosen, &count));
  if (DVT_MAPPED(options))
    DVT_TRY(DVT_USE_MAPPED(chosen[0], {"x", &x, n == 0}, {"flags", &flags, n == 0}, {"y", &y, n == 0}));
  if (n == 0)
    return DAVIT_SUCCESS;
  dvt_scan scan = {.monoid = monoid, .kind = kind, .n = n, .x = x, .flags = flags, .y = y};
  const void *const arrays[] = {x, y, flags};
  if (dvt_monoid_home(arrays, flags ? 3 : 2, chosen, count,
                      !options || (!options->devices && !options->mapped), &device, &threads))
    return dvt_scan_now(device, &scan, threads);
  return streamed(&scan, chosen, count);
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
    davit_status status = check(monoid, kind, parts[p].n, parts[p].x, parts[p].flags, parts[p].y);
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
      DVT_TRY(dvt_reduce_submit(run->lanes[p],
                                &(dvt_reduce){run->monoid, part->n, part->x, .result = sum_of(run, p)}, 0));
  }
  DVT_TRY(synchronize(run));
  const void *carry = NULL;
  for (int p = 0; p < run->count; p++) {
    if (run->parts[p].n == 0)
      continue;
    dvt_scan scan = scan_of(run, p);
    scan.carry_in = carry;
    DVT_TRY(dvt_scan_submit(run->lanes[p], &scan, 0));
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
  return fix.n > 0 ? dvt_prepend_submit(run->lanes[p], &fix) : DAVIT_SUCCESS;
}

static davit_status scan_then_fix_up(parts_run *run) {
  for (int p = 0; p < run->count; p++)
    if (run->parts[p].n > 0) {
      dvt_scan scan = scan_of(run, p);
      scan.carry_out = sum_of(run, p);
      DVT_TRY(dvt_scan_submit(run->lanes[p], &scan, 0));
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
