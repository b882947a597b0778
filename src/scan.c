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
  const dvt_builtin_scan *kernel = kernels_of(s->monoid);
  const int64_t tiles = dvt_divide_up(s->n, kernel->tile);
  const size_t slots = (size_t)tiles * kernel->slot_bytes;
  void *sums;
  DVT_TRY(site->workspace(site, 2 * slots, &sums));
  DVT_TRY(dvt_stream_fill(site->stream, sums, 0, 2 * slots));
  return dvt_launch(s->flags ? kernel->segmented : kernel->kernel, site->stream, tiles + 1, kernel->threads,
                    0,
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

/* ---- in parts ----
 *
 * Groups count from the beginning of the whole array, and what enters a group is the sum of those before, from the
 * left: so the order of operations, and the bits, are those of one device. A part consists of
 *   - a head, which completes the group that parts before it began: the host gathers the group and scans it;
 *   - whole groups, and a tail, which begins a group: where they lie.
 * Whole groups without heads of segments are summed first, and scanned when what enters them is known: x is read twice.
 * Nothing comes through a group with a head from before, so the groups behind the first one are scanned at once. */

typedef struct part_plan {
  int64_t head, groups, tail; /* elements, groups, elements */
  int64_t first;              /* groups that wait for the parts before */
  bool cut;                   /* the last of these has a head */
  char *sums;                 /* of these groups, in pinned memory */
  char *tail_x, *tail_flags;  /* copies on the host */
} part_plan;

typedef struct parts_run {
  const davit_monoid *monoid;
  davit_scan_kind kind;
  bool segmented;
  int count, last; /* parts, and the last one that is not empty */
  const davit_scan_part *parts;
  int64_t group; /* elements */
  dvt_lane **lanes;
  part_plan *plans;
  char *pinned; /* of each part: what enters its groups, what leaves them */
  char *tails;
  /* The group that is not whole yet: its elements so far, their results, and what enters it. */
  int64_t begun;
  char *x, *y, *flags;
  bool carried;
  _Alignas(16) char carry[256];
} parts_run;

static size_t bytes_of(const parts_run *run, int64_t elements) {
  return (size_t)elements * run->monoid->bytes;
}

static char *entering(const parts_run *run, int part) {
  return run->pinned + bytes_of(run, 2 * part);
}

static char *leaving(const parts_run *run, int part) {
  return run->pinned + bytes_of(run, 2 * part + 1);
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
    dvt_scan part = {monoid, kind, parts[p].n, parts[p].x, parts[p].flags, parts[p].y, NULL, NULL, false};
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

/* How the part that begins with element `at` of the array is divided. */
static davit_status plan_part(const parts_run *run, int p, int64_t at) {
  const davit_scan_part *part = &run->parts[p];
  part_plan *plan = &run->plans[p];
  plan->head = dvt_at_most(part->n, (run->group - at % run->group) % run->group);
  plan->first = plan->groups = (part->n - plan->head) / run->group;
  plan->tail = part->n - plan->head - plan->groups * run->group;
  if (!run->segmented || plan->groups == 0)
    return DAVIT_SUCCESS;
  int64_t before;
  DVT_TRY(first_head(plan->groups * run->group, part->flags + plan->head, &before));
  plan->cut = before < plan->groups * run->group;
  plan->first = plan->cut ? before / run->group + 1 : plan->groups;
  return DAVIT_SUCCESS;
}

/* Sums of `first` groups are wanted where something comes after them. */
static bool wants_sums(const parts_run *run, int p) {
  return run->plans[p].first > 0 && (run->plans[p].cut || p < run->last);
}

static bool wants_tail(const parts_run *run, int p) {
  return p < run->last && run->plans[p].tail > 0;
}

static davit_status plan_parts(parts_run *run, void **pinned, void **tails) {
  int64_t at = 0, sums = 2 * run->count, kept = 0;
  for (int p = 0; p < run->count; p++)
    if (run->parts[p].n > 0) {
      DVT_TRY(plan_part(run, p, at));
      at += run->parts[p].n;
      sums += wants_sums(run, p) ? run->plans[p].first : 0;
      kept += wants_tail(run, p) ? run->plans[p].tail : 0;
    }
  const int64_t begun = at > run->group ? run->group : at; /* elements of a group that parts share */
  DVT_TRY(dvt_malloc(bytes_of(run, sums), DAVIT_PINNED, pinned));
  *tails = dvt_allocate((size_t)(kept + begun) * (run->monoid->bytes + 1) + bytes_of(run, begun), 1);
  if (!*tails)
    return DAVIT_OUT_OF_HOST_MEMORY;
  run->pinned = *pinned;
  run->tails = *tails;
  run->x = run->tails + bytes_of(run, kept);
  run->y = run->x + bytes_of(run, begun);
  run->flags = run->y + bytes_of(run, begun);
  char *next = run->pinned + bytes_of(run, 2 * run->count), *x = run->tails, *flags = run->flags + begun;
  for (int p = 0; p < run->count; p++) {
    part_plan *plan = &run->plans[p];
    plan->sums = next;
    plan->tail_x = x;
    plan->tail_flags = flags;
    next += wants_sums(run, p) ? bytes_of(run, plan->first) : 0;
    x += wants_tail(run, p) ? bytes_of(run, plan->tail) : 0;
    flags += wants_tail(run, p) ? plan->tail : 0;
  }
  return DAVIT_SUCCESS;
}

/* A scan of n elements of a part, from element `begin` on. */
static dvt_scan scan_of(const parts_run *run, int p, int64_t begin, int64_t n) {
  const davit_scan_part *part = &run->parts[p];
  return (dvt_scan){.monoid = run->monoid,
                    .kind = run->kind,
                    .n = n,
                    .x = (const char *)part->x + bytes_of(run, begin),
                    .flags = run->segmented ? part->flags + begin : NULL,
                    .y = (char *)part->y + bytes_of(run, begin)};
}

static davit_status submit(const parts_run *run, int p, const dvt_scan *scan) {
  return dvt_operation_submit(run->lanes[p], dvt_scan_operation(run->monoid), scan, 0);
}

/* Where the groups of a part begin that are scanned at once. */
static int64_t begin_of_rest(const parts_run *run, int p) {
  return run->plans[p].head + run->plans[p].first * run->group;
}

/* What needs nothing of the parts before. */
static davit_status start_part(const parts_run *run, int p) {
  const davit_scan_part *part = &run->parts[p];
  const part_plan *plan = &run->plans[p];
  if (wants_sums(run, p)) {
    dvt_scan sums = scan_of(run, p, plan->head, plan->first * run->group);
    sums.y = plan->sums;
    sums.groups = true;
    DVT_TRY(submit(run, p, &sums));
  }
  if (wants_tail(run, p)) {
    const int64_t begin = part->n - plan->tail;
    DVT_TRY(
        davit_copy(bytes_of(run, plan->tail), (const char *)part->x + bytes_of(run, begin), plan->tail_x));
    if (run->segmented)
      DVT_TRY(davit_copy((size_t)plan->tail, part->flags + begin, plan->tail_flags));
  }
  const int64_t begin = begin_of_rest(run, p);
  if (!plan->cut || begin == part->n)
    return DAVIT_SUCCESS;
  dvt_scan rest = scan_of(run, p, begin, part->n - begin);
  rest.carry_in = plan->sums + bytes_of(run, plan->first - 1);
  rest.carry_out = leaving(run, p);
  return submit(run, p, &rest);
}

/* The group that parts before began goes on in this one: on the host, from the group's begin. */
static davit_status scan_head(parts_run *run, int p) {
  const davit_scan_part *part = &run->parts[p];
  const int64_t head = run->plans[p].head, n = run->begun + head;
  const size_t before = bytes_of(run, run->begun), bytes = bytes_of(run, head);
  _Alignas(16) char after[256];
  DVT_TRY(davit_copy(bytes, part->x, run->x + before));
  if (run->segmented)
    DVT_TRY(davit_copy((size_t)head, part->flags, run->flags + run->begun));
  run->monoid->scan(&(davit_monoid_task){.device = DAVIT_HOST,
                                         .threads = 1,
                                         .n = n,
                                         .x = run->x,
                                         .flags = run->segmented ? (const uint8_t *)run->flags : NULL,
                                         .y = run->y,
                                         .carry_in = run->carried ? run->carry : NULL,
                                         .carry_out = after,
                                         .modes = run->kind == DAVIT_SCAN_EXCLUSIVE});
  run->begun = n % run->group;
  if (run->begun == 0) {
    memcpy(run->carry, after, run->monoid->bytes);
    run->carried = true;
  }
  return davit_copy(bytes, run->y + before, part->y);
}

/* Sums of groups, from the left. */
static void carry_on(parts_run *run, const part_plan *plan) {
  for (int64_t g = plan->cut ? plan->first - 1 : 0; g < plan->first; g++) {
    const char *sum = plan->sums + bytes_of(run, g);
    _Alignas(16) char next[256];
    if (run->carried && !plan->cut)
      run->monoid->combine(run->carry, sum, next);
    else
      memcpy(next, sum, run->monoid->bytes);
    memcpy(run->carry, next, run->monoid->bytes);
    run->carried = true;
  }
}

/* What waits for the parts before, which is known now. */
static davit_status finish_part(parts_run *run, int p) {
  const int64_t n = run->parts[p].n;
  const part_plan *plan = &run->plans[p];
  if (plan->head > 0)
    DVT_TRY(scan_head(run, p));
  const int64_t end = plan->cut ? begin_of_rest(run, p) : n;
  if (end > plan->head) {
    dvt_scan scan = scan_of(run, p, plan->head, end - plan->head);
    memcpy(entering(run, p), run->carry, run->monoid->bytes);
    scan.carry_in = run->carried ? entering(run, p) : NULL;
    DVT_TRY(submit(run, p, &scan));
  }
  if (p == run->last || n == plan->head)
    return DAVIT_SUCCESS;
  carry_on(run, plan);
  if (plan->cut && end < n)
    memcpy(run->carry, leaving(run, p), run->monoid->bytes);
  run->begun = plan->tail;
  if (plan->tail > 0) {
    memcpy(run->x, plan->tail_x, bytes_of(run, plan->tail));
    memcpy(run->flags, plan->tail_flags, (size_t)plan->tail);
  }
  return DAVIT_SUCCESS;
}

static davit_status run_parts(parts_run *run) {
  for (int p = 0; p < run->count; p++)
    if (run->parts[p].n > 0)
      DVT_TRY(start_part(run, p));
  DVT_TRY(synchronize(run));
  for (int p = 0; p < run->count; p++)
    if (run->parts[p].n > 0)
      DVT_TRY(finish_part(run, p));
  return synchronize(run);
}

davit_status davit_monoid_scan_onward(const davit_monoid *monoid, davit_scan_kind kind, const void *carry,
                                      int count, const davit_scan_part *parts) {
  DVT_TRY(check_parts(monoid, kind, count, parts));
  DVT_TRY(dvt_start());
  DVT_TRY(check_places(count, parts));
  if (count == 0)
    return DAVIT_SUCCESS;
  parts_run run = {.monoid = monoid,
                   .kind = kind,
                   .count = count,
                   .parts = parts,
                   .group = dvt_monoid_group(monoid),
                   .carried = carry != NULL};
  if (carry)
    memcpy(run.carry, carry, monoid->bytes);
  for (int p = 0; p < count; p++)
    if (parts[p].n > 0) {
      run.segmented = parts[p].flags != NULL;
      run.last = p;
    }
  void *pinned = NULL, *tails = NULL;
  dvt_error first = {.status = DAVIT_SUCCESS};
  run.lanes = dvt_allocate((size_t)count, sizeof *run.lanes);
  run.plans = dvt_allocate((size_t)count, sizeof *run.plans);
  dvt_error_keep(&first,
                 run.lanes && run.plans ? plan_parts(&run, &pinned, &tails) : DAVIT_OUT_OF_HOST_MEMORY);
  if (first.status == DAVIT_SUCCESS)
    dvt_error_keep(&first, open_parts(&run));
  if (first.status == DAVIT_SUCCESS)
    dvt_error_keep(&first, run_parts(&run));
  for (int p = 0; run.lanes && p < count; p++)
    if (run.lanes[p])
      dvt_error_keep(&first, dvt_lane_close(run.lanes[p]));
  davit_free(pinned);
  free(tails);
  free(run.plans);
  free(run.lanes);
  return dvt_error_report(&first);
}

davit_status davit_monoid_scan_parts(const davit_monoid *monoid, davit_scan_kind kind, int count,
                                     const davit_scan_part *parts) {
  return davit_monoid_scan_onward(monoid, kind, NULL, count, parts);
}

davit_status davit_monoid_scan_groups(const davit_monoid *monoid, int64_t n, const void *x,
                                      const uint8_t *flags, void *sums) {
  void *memory;
  DVT_TRY(dvt_check_monoid(monoid));
  DVT_TRY(dvt_check_length("n", n));
  const int64_t groups = n / dvt_monoid_group(monoid);
  const size_t bytes = (size_t)groups * monoid->bytes;
  if (groups > 0) {
    DVT_TRY(dvt_check_pointer("x", x));
    DVT_TRY(dvt_check_pointer("sums", sums));
  }
  DVT_TRY(dvt_start());
  if (groups == 0)
    return DAVIT_SUCCESS;
  const int place = dvt_place_of(x);
  DVT_TRY(dvt_malloc(bytes, DAVIT_PINNED, &memory));
  const dvt_scan scan = {.monoid = monoid,
                         .n = groups * dvt_monoid_group(monoid),
                         .x = x,
                         .flags = flags,
                         .y = memory,
                         .groups = true};
  davit_status status =
      dvt_operation_now(place < 0 ? DAVIT_HOST : place, dvt_scan_operation(monoid), &scan, 0);
  if (status == DAVIT_SUCCESS)
    status = davit_copy(bytes, memory, sums);
  davit_free(memory);
  return status;
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
