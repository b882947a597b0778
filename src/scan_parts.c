/* SPDX-License-Identifier: Apache-2.0 */
/* Scan of an array in parts.
 *
 * Groups count from the beginning of the whole array, and what enters a group is the sum of those before, from the
 * left: so the order of operations, and the bits, are those of one device. A part consists of
 *   - a head, which completes the group that parts before it began: the host gathers the group and scans it;
 *   - whole groups, and a tail, which begins a group: where they lie.
 * Whole groups without heads of segments are summed first, and scanned when what enters them is known: x is read twice.
 * Nothing comes through a group with a head from before, so the groups behind the first one are scanned at once.
 *
 * Parts without heads, tails and flags need no host in between: devices sum and scan them in the order of
 * scan_schedule.h, and what enters a part is carried on where it is wanted. */
#include <davit/scan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/monoid.h"
#include "src/runtime/graph.h"
#include "src/runtime/memory.h"
#include "src/scan_schedule.h"

typedef struct part_plan {
  int64_t head, groups, tail; /* elements, groups, elements */
  int64_t first;              /* groups that wait for the parts before */
  bool cut;                   /* the last of these has a head */
  char *sums;                 /* of these groups, in pinned memory */
  char *tail_x, *tail_flags;  /* copies on the host */
  int lane;                   /* of the schedule */
  bool summed;                /* there: `sums` are those of all groups */
} part_plan;

typedef struct parts_run {
  const davit_monoid *monoid;
  davit_scan_kind kind;
  bool segmented;
  int count, last; /* parts that are not empty, and the last one */
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
  for (int p = 0; p < run->count; p++) {
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

static davit_status run_by_host(parts_run *run) {
  DVT_TRY(open_parts(run));
  for (int p = 0; p < run->count; p++)
    DVT_TRY(start_part(run, p));
  DVT_TRY(synchronize(run));
  for (int p = 0; p < run->count; p++)
    DVT_TRY(finish_part(run, p));
  return synchronize(run);
}

/* ---- without the host ---- */

/* out = in ∘ sums[0] ∘ … ∘ sums[count - 1], from the left. in may be NULL. Memory of the host that devices reach. */
typedef struct carry {
  const davit_monoid *monoid;
  int64_t count;
  const void *in, *sums;
  void *out;
} carry;

static davit_status run_carry_stream(const dvt_site *site, const void *arguments) {
  const carry *c = arguments;
  const dvt_monoid_key *key = c->monoid->kernels;
  const dvt_builtin_scan *scan = &dvt_builtin_scans[key->op][key->type];
  return dvt_launch(scan->carry, site->stream, 1, scan->threads, 0,
                    DVT_ARGUMENTS(c->count, c->in, c->sums, c->out));
}

static davit_status run_carry_host(const dvt_site *site, const void *arguments) {
  const carry *c = arguments;
  const size_t bytes = c->monoid->bytes;
  _Alignas(16) char sum[256], next[256];
  (void)site;
  memcpy(sum, c->in ? c->in : c->sums, bytes);
  for (int64_t g = c->in ? 0 : 1; g < c->count; g++) {
    c->monoid->combine(sum, (const char *)c->sums + (size_t)g * bytes, next);
    memcpy(sum, next, bytes);
  }
  memcpy(c->out, sum, bytes);
  return DAVIT_SUCCESS;
}

static const dvt_operation *carry_operation(const davit_monoid *monoid) {
#define CARRY(...)                                                                                           \
  {.name = "carry",                                                                                          \
   .bytes = DVT_BYTES_OF(carry),                                                                             \
   .host = run_carry_host,                                                                                   \
   .region = run_carry_host,                                                                                 \
   __VA_ARGS__}
  static const dvt_operation built_in = CARRY(.stream = run_carry_stream), users = CARRY();
#undef CARRY
  return monoid->kernels ? &built_in : &users;
}

/* Tasks of the graph: number p sums part p. Another carries on to p what enters the part before, and its sums; one
 * scans p. */
static int carry_to(const parts_run *run, int p) {
  return run->count + p;
}

static int scan_of_part(const parts_run *run, int p) {
  return 2 * run->count + p;
}

/* The task that writes what enters part p > 0. */
static int32_t writer(const parts_run *run, int p) {
  return run->plans[p - 1].summed ? carry_to(run, p) : scan_of_part(run, p - 1);
}

static const void *known(const parts_run *run, int p) {
  return p > 0 || run->carried ? entering(run, p) : NULL;
}

static davit_status enqueue_sums(const parts_run *run, dvt_graph *graph, int p) {
  dvt_scan sums = scan_of(run, p, 0, run->parts[p].n);
  const dvt_graph_task task = {p, run->plans[p].lane, NULL, 0, true};
  sums.y = run->plans[p].sums;
  sums.groups = true;
  run->plans[p].summed = true;
  return dvt_graph_operation(graph, &task, dvt_scan_operation(run->monoid), &sums, 0);
}

/* On the lane that waits for it. */
static davit_status enqueue_carry(const parts_run *run, dvt_graph *graph, int p, int lane) {
  const part_plan *before = &run->plans[p - 1];
  const int32_t follows[] = {p - 1, p > 1 ? writer(run, p - 1) : 0};
  const dvt_graph_task task = {carry_to(run, p), lane, follows, p > 1 ? 2 : 1, true};
  const carry c = {run->monoid, before->groups, known(run, p - 1), before->sums, entering(run, p)};
  return dvt_graph_operation(graph, &task, carry_operation(run->monoid), &c, 0);
}

static davit_status enqueue_scan(const parts_run *run, dvt_graph *graph, int p, int *entered) {
  const part_plan *plan = &run->plans[p];
  for (; *entered < p; ++*entered)
    if (run->plans[*entered].summed)
      DVT_TRY(enqueue_carry(run, graph, *entered + 1, plan->lane));
  const int32_t follows = p > 0 ? writer(run, p) : 0;
  const dvt_graph_task task = {scan_of_part(run, p), plan->lane, &follows, p > 0, true};
  dvt_scan scan = scan_of(run, p, 0, run->parts[p].n);
  scan.carry_in = known(run, p);
  scan.carry_out = p < run->last && !plan->summed ? entering(run, p + 1) : NULL;
  return dvt_graph_operation(graph, &task, dvt_scan_operation(run->monoid), &scan, 0);
}

/* Lanes of the graph: one for each device. */
static davit_status add_lanes(parts_run *run, dvt_graph *graph, int *lanes) {
  for (int p = 0; p < run->count; p++) {
    const int place = dvt_place_of(run->parts[p].y), device = place < 0 ? DAVIT_HOST : place;
    int l = 0;
    while (l < *lanes && graph->lane[l]->device != device)
      l++;
    if (l == *lanes)
      DVT_TRY(dvt_graph_add_lane(graph, (*lanes)++, device, DVT_STREAM_MIXED));
    run->plans[p].lane = l;
  }
  return DAVIT_SUCCESS;
}

static davit_status make_schedule(const parts_run *run, int lanes, dvt_scan_step *steps, int *used) {
  int64_t *n = dvt_allocate((size_t)run->count, sizeof *n);
  int *lane = dvt_allocate((size_t)run->count, sizeof *lane);
  for (int p = 0; n && lane && p < run->count; p++) {
    n[p] = run->parts[p].n;
    lane[p] = run->plans[p].lane;
  }
  const davit_status status =
      n && lane ? dvt_scan_schedule(run->count, n, lane, lanes, steps, used) : DAVIT_OUT_OF_HOST_MEMORY;
  free(n);
  free(lane);
  return status;
}

static davit_status enqueue_all(parts_run *run, dvt_graph *graph, dvt_scan_step *steps) {
  int lanes = 0, used, entered = 0;
  DVT_TRY(add_lanes(run, graph, &lanes));
  DVT_TRY(make_schedule(run, lanes, steps, &used));
  for (int i = 0; i < used; i++)
    DVT_TRY(steps[i].sums ? enqueue_sums(run, graph, steps[i].part)
                          : enqueue_scan(run, graph, steps[i].part, &entered));
  return DAVIT_SUCCESS;
}

static davit_status run_by_schedule(parts_run *run) {
  dvt_graph graph;
  dvt_scan_step *steps = dvt_allocate(2 * (size_t)run->count, sizeof *steps);
  davit_status status = dvt_graph_open(&graph, run->count, 3 * (int64_t)run->count);
  if (!steps)
    status = DAVIT_OUT_OF_HOST_MEMORY;
  if (run->carried)
    memcpy(entering(run, 0), run->carry, run->monoid->bytes);
  status = dvt_graph_wait(&graph, status == DAVIT_SUCCESS ? enqueue_all(run, &graph, steps) : status);
  dvt_graph_close(&graph);
  free(steps);
  return status;
}

/* Whether groups begin and end with parts. */
static bool is_whole(const parts_run *run) {
  for (int p = 0; p < run->count; p++)
    if (run->plans[p].head > 0 || wants_tail(run, p))
      return false;
  return !run->segmented;
}

static davit_status run_parts(parts_run *run) {
  void *pinned = NULL, *tails = NULL;
  dvt_error first = {.status = DAVIT_SUCCESS};
  run->lanes = dvt_allocate((size_t)run->count, sizeof *run->lanes);
  run->plans = dvt_allocate((size_t)run->count, sizeof *run->plans);
  dvt_error_keep(&first,
                 run->lanes && run->plans ? plan_parts(run, &pinned, &tails) : DAVIT_OUT_OF_HOST_MEMORY);
  if (first.status == DAVIT_SUCCESS)
    dvt_error_keep(&first, is_whole(run) ? run_by_schedule(run) : run_by_host(run));
  for (int p = 0; run->lanes && p < run->count; p++)
    if (run->lanes[p])
      dvt_error_keep(&first, dvt_lane_close(run->lanes[p]));
  davit_free(pinned);
  free(tails);
  free(run->plans);
  free(run->lanes);
  return dvt_error_report(&first);
}

davit_status davit_monoid_scan_onward(const davit_monoid *monoid, davit_scan_kind kind, const void *carry,
                                      int count, const davit_scan_part *parts) {
  DVT_TRY(check_parts(monoid, kind, count, parts));
  DVT_TRY(dvt_start());
  DVT_TRY(check_places(count, parts));
  if (count == 0)
    return DAVIT_SUCCESS;
  davit_scan_part *const full = dvt_allocate((size_t)count, sizeof *full);
  parts_run run = {.monoid = monoid,
                   .kind = kind,
                   .parts = full,
                   .group = dvt_monoid_group(monoid),
                   .carried = carry != NULL};
  if (carry)
    memcpy(run.carry, carry, monoid->bytes);
  for (int p = 0; full && p < count; p++)
    if (parts[p].n > 0)
      full[run.count++] = parts[p];
  run.last = run.count - 1;
  davit_status status = full ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
  if (run.count > 0) {
    run.segmented = full[0].flags != NULL;
    status = run_parts(&run);
  }
  free(full);
  return status;
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
