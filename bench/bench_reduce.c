/* SPDX-License-Identifier: Apache-2.0 */
/* Reduction: on a queue against CUB (NVIDIA) and an OpenMP loop (CPU), in parts over several devices, of pinned host
 * data, and what a launch costs. Clocks, ceilings and the options of all programs: bench/measure.h.
 *
 * --parts is the number of elements of the whole (strong) and of each device (weak), --plain that of the array in
 * pinned memory. `of_read` is the time at the rate of a plain read, by the time. The launch rows: a reduction of one
 * element and an empty CUDA kernel, back to back on the device; the call alone and the way there and back, on the
 * host; `share` is the part of the time of 2^18 doubles that each is. */
#include <stdio.h>

#include "bench/measure.h"
#include "bench/peers/loops.h"

typedef struct problem {
  const bench_site *site;
  davit_operator op;
  davit_type type;
  int64_t n;
  void *x, *result, *temp;
  size_t temp_bytes;
  davit_reduce_part parts[BENCH_MOST];
  int devices[BENCH_MOST], device_count;
  double host_result;
} problem;

static davit_status queue_call(void *argument) {
  const problem *p = argument;
  return davit_queue_reduce(p->site->queue, p->op, p->type, p->n, p->x, p->result, NULL);
}

static davit_status round_trip(void *argument) {
  const problem *p = argument;
  davit_status status = queue_call(argument), end = davit_queue_synchronize(p->site->queue);
  return status != DAVIT_SUCCESS ? status : end;
}

static davit_status cub_call(void *argument) {
  problem *p = argument;
  return bench_cuda(p->site->cub->reduce(p->site->stream, p->op, p->type, (int)p->n, p->x, p->result, p->temp,
                                         &p->temp_bytes),
                    "CUB");
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
  return davit_reduce_parts(p->op, p->type, p->device_count, p->parts, &p->host_result);
}

static davit_status plain_call(void *argument) {
  problem *p = argument;
  return davit_reduce(p->op, p->type, p->n, p->x, &p->host_result,
                      &(davit_reduce_options){.devices = p->devices, .device_count = p->device_count});
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

static void print(const problem *p, const bench_time *time, const char *peer, const bench_time *peer_time) {
  bench_case what = case_of(p, "queue");
  bench_report(p->site, &what, time, peer, peer_time);
  if (p->site->read > 0 && time->median > 0)
    bench_number("of_read", what.bytes / p->site->read / time->median);
}

static void against_cub(problem *p, const bench_time *time) {
  p->temp = NULL;
  p->temp_bytes = 0;
  bench_time peer = {.error = "no temporary memory"};
  if (cub_call(p) == DAVIT_SUCCESS && (p->temp = bench_memory(bench_place(p->site), p->temp_bytes)))
    peer = bench_stream_time(p->site, cub_call, p);
  print(p, time, "cub", &peer);
  davit_free(p->temp);
}

static void measure(problem *p) {
  bench_time time = bench_queue_time(p->site, queue_call, p);
  if (p->site->cub) {
    against_cub(p, &time);
  } else if (!p->site->gpu && p->site->peers) {
    bench_time peer = bench_wall_time(p->site, loop_call, p);
    print(p, &time, "loop", &peer);
  } else {
    print(p, &time, NULL, NULL);
  }
}

static void on_device(const bench_settings *settings, problem *p) {
  static const davit_operator ops[] = {DAVIT_SUM, DAVIT_MIN};
  int64_t sizes[BENCH_MOST];
  davit_type types[DAVIT_TYPE_COUNT];
  int size_count =
      bench_sizes(settings, "sizes", p->site->gpu, "4096,65536,262144,1048576,16777216,268435456,1073741824",
                  "4096,262144,4194304,67108864", sizes);
  int type_count = bench_types(settings, "dsil", types);
  p->result = bench_memory(bench_place(p->site), 256);
  for (int t = 0; t < type_count && p->result; t++) {
    p->type = types[t];
    p->x = bench_vector(bench_place(p->site), p->type, bench_largest(sizes, size_count));
    for (size_t o = 0; o < sizeof ops / sizeof *ops && p->x; o++)
      for (int i = 0; i < size_count; i++) {
        p->op = ops[o];
        p->n = sizes[i];
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

static void parts_series(problem *p, bool weak, int64_t whole, const int *counts, int count_count) {
  bench_series series = {.bytes = 0};
  for (int i = 0; i < count_count; i++) {
    const int64_t tile = 16384;
    int64_t each = weak ? whole : whole / counts[i];
    each = each > tile ? each / tile * tile : each;
    p->device_count = counts[i];
    for (int d = 0; d < counts[i]; d++)
      p->parts[d].n = each;
    p->n = each * counts[i];
    bench_case what = case_of(p, weak ? "parts, weak" : "parts, strong");
    what.devices = counts[i];
    bench_series_row(&series, p->site, &what, parts_call, p);
  }
}

static void in_parts(const bench_settings *settings, problem *p) {
  int counts[BENCH_MOST], most = 0, have = 0;
  davit_type types[DAVIT_TYPE_COUNT];
  int64_t whole = bench_size(settings, "parts", p->site->gpu, 1 << 30, 1 << 24);
  int count_count = bench_spread(settings, p->devices, counts);
  int type_count = whole > 0 ? bench_types(settings, "ds", types) : 0;
  for (int i = 0; i < count_count; i++)
    most = counts[i] > most ? counts[i] : most;
  p->op = DAVIT_SUM;
  for (int t = 0; t < type_count; t++) {
    p->type = types[t];
    for (have = 0; have < most; have++)
      if (!(p->parts[have].x = bench_vector(p->devices[have], p->type, whole)))
        break;
    if (have == most) {
      parts_series(p, false, whole, counts, count_count);
      parts_series(p, true, whole, counts, count_count);
    }
    while (have > 0)
      davit_free((void *)(uintptr_t)p->parts[--have].x);
  }
}

static void from_host(const bench_settings *settings, problem *p) {
  int counts[BENCH_MOST];
  bench_series series = {.bytes = 0};
  p->n = bench_size(settings, "plain", p->site->gpu, 1 << 27, 1 << 22);
  p->op = DAVIT_SUM;
  p->type = DAVIT_DOUBLE;
  int count_count = bench_spread(settings, p->devices, counts);
  if (p->n < 1 || !(p->x = bench_vector(DAVIT_PINNED, p->type, p->n)))
    return;
  for (int i = 0; i < count_count; i++) {
    p->device_count = counts[i];
    bench_case what = case_of(p, "plain");
    what.devices = counts[i];
    what.link_bytes = what.bytes;
    bench_series_row(&series, p->site, &what, plain_call, p);
  }
  davit_free(p->x);
  davit_memory_trim(DAVIT_PINNED);
}

static const char usage[] =
    "bench_reduce [--sizes 4096,65536,...] [--parts 1073741824] [--plain 134217728]\n" BENCH_OPTIONS;

int main(int argc, char **argv) {
  bench_settings settings;
  bench_settings_read(&settings, usage, argc, argv);
  bench_begin("reduce", argc, argv);
  for (int i = 0; i < settings.device_count; i++) {
    bench_site site;
    if (!bench_site_open(&settings, settings.devices[i], &site))
      continue;
    problem p = {.site = &site};
    on_device(&settings, &p);
    launches(&p);
    if (i == 0) {
      in_parts(&settings, &p);
      from_host(&settings, &p);
    }
    bench_site_close(&site);
  }
  bench_end();
  bench_check(davit_finalize(), "finalize");
  return 0;
}
