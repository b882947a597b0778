/* SPDX-License-Identifier: Apache-2.0 */
/* The 3 x 3 stencil: on a queue against a plain CUDA kernel (NVIDIA) and an OpenMP loop (CPU), over several devices,
 * each with its own slab of columns, and of pinned host data. Clocks, ceilings and the options of all programs:
 * bench/measure.h.
 *
 * Matrices are square, with ld = n. Bytes: each element read once and written once. --slabs is the order of the matrix
 * that the devices share (strong, with one column of a neighbour on each side) or that each has (weak); the rows are
 * timed by the host over a batch that all queues work off, then waited for together. */
#include <stdio.h>

#include "bench/measure.h"
#include "bench/peers/loops.h"

typedef struct slab {
  davit_queue *queue;
  void *a, *b;
  int64_t cols;
} slab;

typedef struct problem {
  const bench_site *site;
  davit_type type;
  int64_t n;
  void *a, *b;
  slab slabs[BENCH_MOST];
  int devices[BENCH_MOST], device_count, batch;
} problem;

static davit_status queue_call(void *argument) {
  const problem *p = argument;
  return davit_queue_stencil(p->site->queue, p->type, p->n, p->n, p->a, p->n, NULL, p->b, p->n, NULL);
}

static davit_status cuda_call(void *argument) {
  const problem *p = argument;
  return bench_cuda(p->site->cub->stencil(p->site->stream, p->type, (int)p->n, (int)p->n, p->a, (int)p->n,
                                          davit_stencil_coefficients, p->b, (int)p->n),
                    "plain kernel");
}

static davit_status loop_call(void *argument) {
  const problem *p = argument;
  peer_loop_stencil(p->type, p->n, p->n, p->a, p->n, davit_stencil_coefficients, p->b, p->n);
  return DAVIT_SUCCESS;
}

static davit_status enqueue_slab(const problem *p, const slab *s) {
  return davit_queue_stencil(s->queue, p->type, p->n, s->cols, s->a, p->n, NULL, s->b, p->n, NULL);
}

static davit_status slabs_call(void *argument) {
  const problem *p = argument;
  davit_status status = DAVIT_SUCCESS;
  for (int i = 0; i < p->batch && status == DAVIT_SUCCESS; i++)
    for (int d = 0; d < p->device_count && status == DAVIT_SUCCESS; d++)
      status = enqueue_slab(p, &p->slabs[d]);
  for (int d = 0; d < p->device_count; d++) {
    davit_status end = davit_queue_synchronize(p->slabs[d].queue);
    status = status == DAVIT_SUCCESS ? end : status;
  }
  return status;
}

static davit_status plain_call(void *argument) {
  const problem *p = argument;
  return davit_stencil(p->type, p->n, p->n, p->a, p->n, NULL, p->b, p->n,
                       &(davit_stencil_options){.devices = p->devices, .device_count = p->device_count});
}

static bench_case case_of(const problem *p, const char *form, int64_t cols) {
  const double elements = (double)p->n * (double)cols;
  return (bench_case){.operation = "stencil",
                      .type = bench_type_name(p->type),
                      .form = form,
                      .rows = p->n,
                      .cols = cols,
                      .bytes = 2 * elements * (double)davit_type_bytes(p->type),
                      .flops = 17 * elements};
}

/* ---- on one device ---- */

static void measure(problem *p) {
  bench_case what = case_of(p, "queue", p->n);
  bench_time time = bench_queue_time(p->site, queue_call, p), peer;
  if (p->site->cub) {
    peer = bench_stream_time(p->site, cuda_call, p);
    bench_report(p->site, &what, &time, "plain CUDA", &peer);
  } else if (!p->site->gpu && p->site->peers) {
    peer = bench_wall_time(p->site, loop_call, p);
    bench_report(p->site, &what, &time, "loop", &peer);
  } else {
    bench_report(p->site, &what, &time, NULL, NULL);
  }
}

static bool make_matrices(problem *p, int place, int64_t n) {
  p->a = bench_vector(place, p->type, n * n);
  p->b = p->a ? bench_vector(place, p->type, n * n) : NULL;
  return p->b;
}

static void free_matrices(problem *p) {
  davit_free(p->a);
  davit_free(p->b);
}

static void on_device(const bench_settings *settings, problem *p) {
  int64_t sizes[BENCH_MOST];
  davit_type types[DAVIT_TYPE_COUNT];
  int size_count =
      bench_sizes(settings, "sizes", p->site->gpu, "1024,4096,9000,9001,16384", "1024,4096,4097,8192", sizes);
  int type_count = bench_types(settings, "ds", types);
  for (int t = 0; t < type_count; t++) {
    p->type = types[t];
    if (make_matrices(p, bench_place(p->site), bench_largest(sizes, size_count)))
      for (int i = 0; i < size_count; i++) {
        p->n = sizes[i];
        measure(p);
      }
    free_matrices(p);
  }
}

/* ---- over several devices ---- */

static void slabs_series(problem *p, bool weak, const int *counts, int count_count) {
  bench_series series = {.batch = p->batch};
  for (int i = 0; i < count_count; i++) {
    const int64_t each = weak ? p->n : p->n / counts[i];
    p->device_count = counts[i];
    for (int d = 0; d < counts[i]; d++) /* one column more at each border that a neighbour has */
      p->slabs[d].cols = weak ? each : each + (d > 0) + (d + 1 < counts[i]);
    bench_case what = case_of(p, weak ? "slabs, weak" : "slabs, strong", each * counts[i]);
    what.devices = counts[i];
    bench_series_row(&series, p->site, &what, slabs_call, p);
  }
}

static bool open_slab(const problem *p, int device, slab *s) {
  *s = (slab){.a = bench_vector(device, p->type, p->n * p->n)};
  s->b = s->a ? bench_vector(device, p->type, p->n * p->n) : NULL;
  if (!s->b || davit_queue_create(device, &s->queue, NULL) == DAVIT_SUCCESS)
    return s->b;
  bench_failure("queue", davit_last_error());
  return false;
}

static void close_slab(slab *s) {
  davit_queue_destroy(s->queue);
  davit_free(s->a);
  davit_free(s->b);
}

static void in_slabs(const bench_settings *settings, problem *p) {
  int counts[BENCH_MOST], most = 0;
  davit_type types[DAVIT_TYPE_COUNT];
  const int count_count = bench_spread(settings, p->devices, counts);
  p->n = bench_size(settings, "slabs", p->site->gpu, 16384, 2048);
  p->batch = p->site->gpu ? 20 : 2;
  const int type_count = p->n > 2 ? bench_types(settings, "ds", types) : 0;
  for (int i = 0; i < count_count; i++)
    most = counts[i] > most ? counts[i] : most;
  for (int t = 0; t < type_count; t++) {
    int have = 0;
    bool complete = most > 0;
    p->type = types[t];
    for (; have < most && complete; have++)
      complete = open_slab(p, p->devices[have], &p->slabs[have]);
    if (complete) {
      slabs_series(p, false, counts, count_count);
      slabs_series(p, true, counts, count_count);
    }
    while (have > 0)
      close_slab(&p->slabs[--have]);
  }
}

static void from_host(const bench_settings *settings, problem *p) {
  int counts[BENCH_MOST];
  bench_series series = {.bytes = 0};
  const int count_count = bench_spread(settings, p->devices, counts);
  p->n = bench_size(settings, "plain", p->site->gpu, 9000, 2048);
  p->type = DAVIT_DOUBLE;
  bool made = p->n > 0 && make_matrices(p, DAVIT_PINNED, p->n);
  for (int i = 0; i < count_count && made; i++) {
    p->device_count = counts[i];
    bench_case what = case_of(p, "plain", p->n);
    what.devices = counts[i];
    what.link_bytes = what.bytes / 2;
    bench_series_row(&series, p->site, &what, plain_call, p);
  }
  if (p->n > 0)
    free_matrices(p);
  davit_memory_trim(DAVIT_PINNED);
}

static const char usage[] =
    "bench_stencil [--sizes 1024,4096,9000,9001,16384] [--slabs 16384] [--plain 9000]\n" BENCH_OPTIONS;

int main(int argc, char **argv) {
  bench_settings settings;
  bench_settings_read(&settings, usage, argc, argv);
  bench_begin("stencil", argc, argv);
  for (int i = 0; i < settings.device_count; i++) {
    bench_site site;
    if (!bench_site_open(&settings, settings.devices[i], &site))
      continue;
    problem p = {.site = &site};
    on_device(&settings, &p);
    if (i == 0) {
      in_slabs(&settings, &p);
      from_host(&settings, &p);
    }
    bench_site_close(&site);
  }
  bench_end();
  bench_check(davit_finalize(), "finalize");
  return 0;
}
