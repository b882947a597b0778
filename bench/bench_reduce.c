/* SPDX-License-Identifier: Apache-2.0 */
/* Reduction: on a queue against CUB (NVIDIA) and an OpenMP loop (CPU; there the plain form as well), in parts over
 * several devices, of pinned host data, and what a launch costs. Clocks, ceilings and the options of all programs:
 * bench/measure.h.
 *
 * --parts is the number of elements of the whole (strong) and of each device (weak), --plain that of the array in
 * pinned memory. `of_read` is the time at the rate of a plain read, by the time. The launch rows: a reduction of
 * one element and an empty CUDA kernel, back to back on the device; the call alone and the way there and back, on
 * the host; `share` is the part of the time of 2^18 doubles that each is. */
#include <stdio.h>

#include "bench/peers/loops.h"
#include "bench/series.h"

typedef struct problem {
  const bench_site *site;
  davit_operator op;
  davit_type type;
  int64_t n, whole; /* of --parts */
  void *x, *result, *temp;
  size_t temp_bytes;
  davit_reduce_part parts[BENCH_MOST];
  bench_spread spread;
  double host_result;
} problem;

static davit_status here_call(void *argument) {
  const problem *p = argument;
  return davit_reduce(p->op, p->type, p->n, p->x, p->result,
                      &(davit_reduce_options){.devices = &p->site->device, .device_count = 1});
}

static davit_status queue_call(void *argument) {
  const problem *p = argument;
  return davit_queue_reduce(p->site->queue, p->op, p->type, p->n, p->x, p->result, NULL);
}

static davit_status round_trip(void *argument) {
  const problem *p = argument;
  davit_status status = queue_call(argument), end = davit_queue_synchronize(p->site->queue);
  return status != DAVIT_SUCCESS ? status : end;
}

/* The first call finds temporary memory. */
static davit_status cub_call(void *argument) {
  problem *p = argument;
  for (;;) {
    const int result = p->site->cub->reduce(p->site->stream, p->op, p->type, (int)p->n, p->x, p->result,
                                            p->temp, &p->temp_bytes);
    if (result != 0 || p->temp)
      return bench_cuda(result, "CUB");
    if (!(p->temp = bench_memory(bench_place(p->site), p->temp_bytes)))
      return davit_fail(DAVIT_OUT_OF_DEVICE_MEMORY, "no temporary memory");
  }
}

static davit_status empty_kernel(void *argument) {
  const problem *p = argument;
  return bench_cuda(p->site->cub->nothing(p->site->stream), "empty kernel");
}

static davit_status loop_call(void *argument) {
  const problem *p = argument;
  peer_loop_reduce(p->op, p->type, p->n, p->x, p->result);
  return DAVIT_SUCCESS;
}

static davit_status parts_call(void *argument) {
  problem *p = argument;
  return davit_reduce_parts(p->op, p->type, p->spread.count, p->parts, &p->host_result);
}

static davit_status plain_call(void *argument) {
  problem *p = argument;
  return davit_reduce(p->op, p->type, p->n, p->x, &p->host_result,
                      &(davit_reduce_options){.devices = p->spread.devices, .device_count = p->spread.count});
}

/* ---- on one device ---- */

static bench_case case_of(const problem *p, const char *form) {
  return (bench_case){.operation = "reduce",
                      .type = bench_type_name(p->type),
                      .variant = davit_operator_string(p->op),
                      .form = form,
                      .rows = p->n,
                      .bytes = (double)p->n * (double)davit_type_bytes(p->type)};
}

static void measure(problem *p) {
  const bench_case what = case_of(p, "queue");
  const bench_peers peers = {"cub", p->site->cub ? cub_call : NULL, "loop", loop_call};
  const bench_time time = bench_queue_row(p->site, &what, queue_call, &peers, p);
  if (p->site->read > 0 && time.median > 0)
    bench_number("of_read", what.bytes / p->site->read / time.median);
  bench_plain_row(p->site, &what, here_call, &peers, p);
  davit_free(p->temp);
  p->temp = NULL;
}

static void on_device(problem *p) {
  static const davit_operator ops[] = {DAVIT_SUM, DAVIT_MIN};
  const bench_values sizes =
      bench_sizes("sizes", p->site->gpu ? "4096,65536,262144,1048576,16777216,268435456,1073741824"
                                        : "4096,262144,4194304,67108864");
  const bench_kinds types = bench_types("dsil");
  p->result = bench_memory(bench_place(p->site), 256);
  for (int t = 0; t < types.count && p->result; t++) {
    p->type = types.at[t];
    p->x = bench_vector(bench_place(p->site), p->type, bench_largest(&sizes));
    for (size_t o = 0; o < sizeof ops / sizeof *ops && p->x; o++)
      for (int i = 0; i < sizes.count; i++) {
        p->op = ops[o];
        p->n = sizes.at[i];
        measure(p);
      }
    davit_free(p->x);
  }
  davit_free(p->result);
}

/* ---- launches ---- */

static void launch_row(const problem *p, const char *form, const bench_time *time, const bench_time *large) {
  bench_case what = {.operation = "launch", .form = form, .rows = 1};
  bench_report(p->site, &what, time, NULL, NULL);
  if (large->median > 0)
    bench_number("share", time->median / large->median);
}

/* What the caller waits until the call has returned. */
static bench_time call_alone(problem *p) {
  const int calls = 100;
  double times[BENCH_MOST];
  bench_time result = {.median = 0};
  for (int r = -1; r < p->site->repeats; r++) {
    davit_status status = DAVIT_SUCCESS;
    double start = bench_now();
    for (int i = 0; i < calls && status == DAVIT_SUCCESS; i++)
      status = queue_call(p);
    times[r < 0 ? 0 : r] = (bench_now() - start) / calls;
    davit_status end = davit_queue_synchronize(p->site->queue);
    if (status != DAVIT_SUCCESS || end != DAVIT_SUCCESS) {
      snprintf(result.error, sizeof result.error, "%s", davit_last_error());
      return result;
    }
  }
  result.median = bench_median(times, p->site->repeats);
  result.best = times[0];
  return result;
}

static void launches(problem *p) {
  p->op = DAVIT_SUM;
  p->type = DAVIT_DOUBLE;
  p->n = 1 << 18;
  p->x = bench_vector(bench_place(p->site), p->type, p->n);
  p->result = bench_memory(bench_place(p->site), 256);
  if (p->x && p->result) {
    bench_time large = bench_queue_time(p->site, queue_call, p);
    p->n = 1;
    bench_time one = bench_queue_time(p->site, queue_call, p), call = call_alone(p),
               trip = bench_wall_time(p->site, round_trip, p);
    launch_row(p, "device", &one, &large);
    launch_row(p, "call", &call, &large);
    launch_row(p, "round trip", &trip, &large);
  }
  if (p->x && p->result && p->site->cub) {
    p->n = 1 << 18;
    bench_time large = bench_queue_time(p->site, queue_call, p),
               nothing = bench_stream_time(p->site, empty_kernel, p);
    launch_row(p, "empty kernel", &nothing, &large);
  }
  davit_free(p->x);
  davit_free(p->result);
}

/* ---- over several devices ---- */

static bench_case divide(void *argument, bool weak) {
  problem *p = argument;
  const int64_t tile = 16384, share = weak ? p->whole : p->whole / p->spread.count;
  const int64_t each = share > tile ? share / tile * tile : share;
  for (int d = 0; d < p->spread.count; d++)
    p->parts[d].n = each;
  p->n = each * p->spread.count;
  return case_of(p, weak ? "parts, weak" : "parts, strong");
}

static void in_parts(problem *p) {
  const bench_kinds types = bench_types("ds");
  bench_slab slabs[BENCH_MOST];
  p->whole = bench_whole("parts", p->site->gpu ? 1 << 30 : 1 << 24);
  p->op = DAVIT_SUM;
  for (int t = 0; t < types.count && p->whole > 0; t++) {
    p->type = types.at[t];
    if (!bench_slabs_open(&p->spread, p->type, (int64_t[4]){p->whole}, slabs))
      continue;
    for (int d = 0; d < p->spread.most; d++)
      p->parts[d].x = slabs[d].operand[0];
    bench_both_series(&p->spread, p->site, 1, divide, parts_call, p);
    bench_slabs_close(&p->spread, slabs);
  }
}

/* From pinned memory ("plain") or pageable one. */
static void from_host(problem *p, int place) {
  const char *form = place == DAVIT_PINNED ? "plain" : "pageable";
  p->n = bench_whole("plain", p->site->gpu ? 1 << 27 : 1 << 22);
  p->op = DAVIT_SUM;
  p->type = DAVIT_DOUBLE;
  if (p->n < 1 || !(p->x = bench_vector(place, p->type, p->n)))
    return;
  bench_case what = case_of(p, form);
  what.link_bytes = what.bytes;
  bench_series(&p->spread, p->site, what, plain_call, p);
  davit_free(p->x);
  davit_memory_trim(DAVIT_PINNED);
}

static void measure_site(const bench_site *site, const bench_spread *spread) {
  problem p = {.site = site};
  on_device(&p);
  launches(&p);
  if (!spread)
    return;
  p.spread = *spread;
  in_parts(&p);
  from_host(&p, DAVIT_PINNED);
  from_host(&p, DAVIT_PAGEABLE);
}

static const char usage[] =
    "bench_reduce [--sizes 4096,65536,...] [--parts 1073741824] [--plain 134217728]\n" BENCH_OPTIONS;

int main(int argc, char **argv) {
  return bench_run("reduce", usage, argc, argv, measure_site);
}
