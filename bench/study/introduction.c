/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/study/introduction.h"

#include <davit/davit.h>
#include <math.h>
#include <string.h>

#include "bench/study/closest/background.h"

static void *device_memory(const study_options *o, int64_t bytes) {
  void *pointer;
  bench_check(davit_malloc((size_t)bytes, o->site.place, &pointer), "memory");
  bench_check(davit_fill((size_t)bytes, 1, pointer), "fill");
  return pointer;
}

/* A kernel over an array in one of the layouts: pixels, or points (`points`: AOS or SOA). */
typedef struct layout_job {
  int device;
  davit_status (*pixels)(int device, study_layout layout, int64_t n, const uint8_t *in, uint8_t *out);
  study_layout layout;
  int64_t n;
  void *in, *out;
} layout_job;

static double run_layout(void *argument) {
  const layout_job *j = argument;
  const double start = bench_now();
  bench_check(j->pixels ? j->pixels(j->device, j->layout, j->n, j->in, j->out)
                        : study_norms(j->device, j->layout == STUDY_SOA, j->n, j->in, j->out),
              "layout");
  return 1e3 * (bench_now() - start);
}

void study_table_layouts(const study_options *o) {
  static const char *const names[STUDY_LAYOUTS] = {"aos", "aos padded", "soa"};
  const int64_t n = bench_whole("elements", o->site.gpu ? 1 << 24 : 1 << 18);
  layout_job j = {
      .device = o->site.device, .n = n, .in = device_memory(o, 8 * n), .out = device_memory(o, 4 * n)};
  study_begin_table("layouts", "a launch that waits: all members wanted, and one");
  for (int points = 0; points < 2; points++)
    for (int l = 0; l < STUDY_LAYOUTS; l += 1 + points) {
      double ms[2] = {NAN, NAN};
      int repeats = 0;
      j.layout = (study_layout)l;
      for (int one = 0; one < 2 - points; one++) {
        j.pixels = points ? NULL : one ? study_red : study_grey;
        const study_time is = study_measure(o, run_layout, &j, 0);
        ms[one] = is.median;
        repeats = is.repeats;
      }
      study_row();
      study_text("data", points ? "points" : "pixels");
      study_text("layout", names[l]);
      study_number("n", 0, (double)n);
      study_number("repeats", 0, repeats);
      study_number("all_ms", 4, ms[0]);
      study_number("one_ms", 4, ms[1]);
    }
  bench_check(davit_free(j.in), "free");
  bench_check(davit_free(j.out), "free");
}

static double run_streams(void *argument) {
  double ms;
  bench_check(study_streams_run(argument, &ms), "streams");
  return ms;
}

void study_table_streams(const study_options *o) {
  static const char *const names[] = {"depth first", "breadth first"};
  const int64_t n = bench_whole("elements", o->site.gpu ? 1 << 24 : 1 << 18);
  const size_t bytes = (size_t)n * sizeof(int32_t);
  study_streams streams = {.n = n};
  const study_block blocks[] = {{&streams.input, bytes, DAVIT_PINNED},
                                {&streams.output, bytes, DAVIT_PINNED},
                                {&streams.device_input, bytes, o->site.place},
                                {&streams.device_output, bytes, o->site.place}};
  bench_check(study_allocate(blocks, 4), "memory");
  bench_check(davit_fill(bytes, 1, (void *)streams.input), "fill");
  bench_check(davit_queue_create(o->site.device, &streams.queue, &(davit_queue_options){.subqueues = 2}),
              "queue");
  study_begin_table("streams", "two streams: copy in, kernel, copy out of two halves, between events");
  for (int order = 0; order < 2; order++) {
    streams.breadth_first = order;
    const study_time ms = study_measure(o, run_streams, &streams, 0);
    study_row();
    study_text("order", names[order]);
    study_number("n", 0, (double)n);
    study_times(ms);
  }
  bench_check(davit_queue_destroy(streams.queue), "queue");
  study_free(blocks, 4);
}

/* A copy, or a kernel over n points. */
typedef struct memory_job {
  int device;
  int64_t n;
  const void *from;
  void *to;
  bool tiled; /* the product */
} memory_job;

static double run_copy(void *argument) {
  const memory_job *j = argument;
  const double start = bench_now();
  bench_check(davit_copy((size_t)j->n * sizeof(study_point), j->from, j->to), "copy");
  return 1e3 * (bench_now() - start);
}

static double run_norms(void *argument) {
  const memory_job *j = argument;
  const double start = bench_now();
  bench_check(study_norms(j->device, false, j->n, j->from, j->to), "norms");
  return 1e3 * (bench_now() - start);
}

static double run_product(void *argument) {
  const memory_job *j = argument;
  float *const a = j->to, *const b = a + j->n * j->n, *const c = b + j->n * j->n;
  const double start = bench_now();
  bench_check(study_square_product(j->device, j->tiled, j->n, a, b, c), "product");
  return 1e3 * (bench_now() - start);
}

/* The norms of what the CPU has just written, and of what the device has read before. */
static double run_norms_of_new(void *argument) {
  const memory_job *j = argument;
  memset((void *)(uintptr_t)j->from, 0, (size_t)j->n * sizeof(study_point));
  return run_norms(argument);
}

static void memory_row(const char *kind, const char *work, double bytes, const study_options *o,
                       double (*run)(void *), memory_job *j) {
  const study_time ms = study_measure(o, run, j, 0);
  study_row();
  study_text("memory", kind);
  study_text("work", work);
  study_times(ms);
  study_number("gbs", 1, 1e-6 * bytes / ms.median);
}

/* Memory that host and device share, and that moves to whoever reads it. */
static void unified_rows(const study_options *o, int64_t n, void *there) {
  const int device = o->site.device;
  const double bytes = (double)n * sizeof(study_point);
  void *unified = study_unified_memory(device, (size_t)bytes);
  if (!unified) {
    study_remark("no unified memory: the OpenMP runtime has none for this device");
    return;
  }
  memory_job j = {.device = device, .n = n, .from = unified, .to = there};
  memory_row("unified", "kernel that reads what the CPU wrote", bytes, o, run_norms_of_new, &j);
  memory_row("unified", "kernel that reads it again", bytes, o, run_norms, &j);
  study_unified_free(device, unified);
}

/* The kinds of memory of the introduction: host memory that is paged, pinned, and mapped; the device's; unified
 * memory; what a team shares. */
void study_table_memory(const study_options *o) {
  static const char *const names[] = {"pageable", "pinned", "device"};
  const int64_t n = bench_whole("elements", o->site.gpu ? 1 << 24 : 1 << 18), side = o->site.gpu ? 2048 : 64;
  const int places[] = {DAVIT_PAGEABLE, DAVIT_PINNED, o->site.place};
  const double bytes = (double)n * sizeof(study_point);
  void *memory[3];
  void *there = device_memory(o, (int64_t)bytes), *square = device_memory(o, 3 * side * side * 4);
  study_begin_table("memory", "copies to and from the device, and kernels, by the kind of memory");
  for (int k = 0; k < 3; k++) {
    bench_check(davit_malloc((size_t)bytes, places[k], &memory[k]), "memory");
    bench_check(davit_fill((size_t)bytes, 0, memory[k]), "fill");
    memory_job to = {.device = o->site.device, .n = n, .from = memory[k], .to = there},
               from = {.device = o->site.device, .n = n, .from = there, .to = memory[k]};
    memory_row(names[k], "copy to the device", bytes, o, run_copy, &to);
    memory_row(names[k], "copy from the device", bytes, o, run_copy, &from);
    if (k > 0) /* pinned memory is mapped: kernels reach it over the link */
      memory_row(k == 1 ? "mapped" : names[k], "kernel that reads it", bytes, o, run_norms, &to);
  }
  unified_rows(o, n, there);
  for (int tiled = 0; tiled < 2; tiled++) {
    memory_job j = {.device = o->site.device, .n = side, .to = square, .tiled = tiled};
    memory_row(tiled ? "shared" : "global", "product of matrices", 8 * pow((double)side, 3), o, run_product,
               &j);
  }
  for (int k = 0; k < 3; k++)
    bench_check(davit_free(memory[k]), "free");
  bench_check(davit_free(there), "free");
  bench_check(davit_free(square), "free");
}
