/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of devices and links: those that were measured on this machine (`davit tune gemm`), else those of
 * the kind of device. */
#include "src/level3/parameters.h"

#include <math.h>
#include <stdio.h>

#include "offload/runtime/device.h"
#include "src/base/check.h"
#include "src/base/team.h"
#include "src/runtime/place.h"
#include "src/runtime/staging.h"

/* An H200 of a host with PCIe 5 (docs/notes/gemm.md, What bounds a product, Parameters): rates under
 * sustained load, when power is the limit. */
static const dvt_model_device nvidia = {.rate = 53.5e12,
                                        .area = 150e3,
                                        .depth = 64,
                                        .launch = 4e-6,
                                        .solve = 0.11e-6,
                                        .up = 55e9,
                                        .down = 55e9,
                                        .both = 99e9,
                                        .row = 800,
                                        .far_row = 20e3,
                                        .latency = 5e-6,
                                        .peer = 389e9,
                                        .memory = 4.0e12};

/* Rows of a product. cuBLAS's zgemm on an H200 (docs/notes/gemm.md, Complex doubles): 53 to 57 TFLOP/s for
 * 2048 × 1024, 2048 × 2048 and 2048 × 4096, 43 to 50 for
 * 4096 × 1024, 4096 × 2048 and 3072 × 3072. Products of other types are no slower for more rows. */
static const double tall_complex = 2048;

/* A device that davit's own target regions run on, one thing after another. These values are assumptions: no device of
 * this kind has been measured, and `davit tune gemm` measures NVIDIA's alone. They only have to order choices of tiles,
 * so orders of magnitude do. Units as in model.h. */
static const dvt_model_device other = {
    .serial = true,
    .rate = 5e12,     /* flop/s: a tenth of an H200's, because no vendor's product runs */
    .area = 500e3,    /* elements: three times an H200's, for the same reason */
    .depth = 64,      /* elements: an H200's */
    .launch = 40e-6,  /* s: a blocking region; ten times a launch on an H200's stream */
    .up = 10e9,       /* bytes/s: about that of PCIe 3 x16 */
    .down = 10e9,     /* bytes/s: the same link */
    .both = 10e9,     /* bytes/s: no more, because copies block */
    .row = 4096,      /* bytes: five times an H200's, because the runtime may copy row by row */
    .latency = 20e-6, /* s: a blocking copy; four times an H200's */
    .peer = 20e9,     /* bytes/s: twice the link's, so that tiles come from peers if they can */
    .memory = 1e12,   /* bytes/s: a quarter of an H200's */
};

/* One thread of the host, by BLIS; its rate is `thread_rate` below. The other values are assumptions as well, because
 * `davit tune gemm` does not measure them: small against all products that are long enough to matter. */
static const dvt_model_device host_thread = {
    .serial = true,
    .area = 4096,    /* elements: a C of 64 x 64 runs at half the rate */
    .depth = 32,     /* elements: packing costs as much as a k of 32 */
    .launch = 3e-6,  /* s: a call of BLIS; one of 4 x 4 takes 4.2e-6 (2026-11-22-dropin-cpu.json) */
    .up = 5e9,       /* bytes/s: less than half of `thread_copy`, as tiles are copied row by row */
    .down = 5e9,     /* bytes/s: as up, the same memory */
    .both = 5e9,     /* bytes/s: as up, the same thread */
    .row = 64,       /* bytes: a line of the cache */
    .latency = 1e-6, /* s: a command passes to another thread */
    .peer = 5e9,     /* bytes/s: as up, the same memory */
    .memory = 5e9,   /* bytes/s: as up; dvt_model_host() counts up to 8 threads, which fill most memories */
};

/* ---- the table's parameters in the model's units ---- */

typedef struct figure {
  dvt_tunable which;
  size_t offset; /* in dvt_model_device, or in `machine` */
  double scale;  /* of the table's unit */
  const char *name, *unit;
} figure;

#define MEGA 1e6
#define NANO 1e-9

static const figure of_device[] = {
    {DVT_TUNE_GEMM_RATE, offsetof(dvt_model_device, rate), MEGA, "rate", "flop/s"},
    {DVT_TUNE_GEMM_AREA, offsetof(dvt_model_device, area), 1, "area", "elements"},
    {DVT_TUNE_GEMM_DEPTH, offsetof(dvt_model_device, depth), 1, "depth", "elements"},
    {DVT_TUNE_GEMM_LAUNCH, offsetof(dvt_model_device, launch), NANO, "launch", "s"},
    {DVT_TUNE_GEMM_UP, offsetof(dvt_model_device, up), MEGA, "up", "bytes/s"},
    {DVT_TUNE_GEMM_DOWN, offsetof(dvt_model_device, down), MEGA, "down", "bytes/s"},
    {DVT_TUNE_GEMM_BOTH, offsetof(dvt_model_device, both), MEGA, "both", "bytes/s"},
    {DVT_TUNE_GEMM_ROW, offsetof(dvt_model_device, row), 1, "row", "bytes"},
    {DVT_TUNE_GEMM_LATENCY, offsetof(dvt_model_device, latency), NANO, "latency", "s"},
    {DVT_TUNE_GEMM_PEER, offsetof(dvt_model_device, peer), MEGA, "peer", "bytes/s"},
    {DVT_TUNE_GEMM_MEMORY, offsetof(dvt_model_device, memory), MEGA, "memory", "bytes/s"}};
enum { OF_DEVICE = sizeof of_device / sizeof *of_device };

/* What does not belong to one device. */
typedef struct machine {
  double thread_rate, thread_copy, copy, all_up, all_down, all_both, enqueue;
} machine;

/* Seconds, fitted with measured choices on H200s (docs/notes/gemm.md, Parameters). */
static const double enqueue_beside = 5e-6, react = 4e-6, start = 20e-6, start_device = 60e-6;

/* The host of the H200s of docs/notes/gemm.md, What bounds a product. */
static const machine usual = {.thread_rate = 16e9,
                              .thread_copy = 11.7e9,
                              .copy = 85e9,
                              .all_up = 171e9,
                              .all_down = 123e9,
                              .all_both = 147e9,
                              .enqueue = 6e-6};

static const figure of_machine[] = {
    {DVT_TUNE_GEMM_THREAD_RATE, offsetof(machine, thread_rate), MEGA, "thread rate", "flop/s"},
    {DVT_TUNE_GEMM_THREAD_COPY, offsetof(machine, thread_copy), MEGA, "thread copy", "bytes/s"},
    {DVT_TUNE_GEMM_COPY, offsetof(machine, copy), MEGA, "copy", "bytes/s"},
    {DVT_TUNE_GEMM_ALL_UP, offsetof(machine, all_up), MEGA, "all up", "bytes/s"},
    {DVT_TUNE_GEMM_ALL_DOWN, offsetof(machine, all_down), MEGA, "all down", "bytes/s"},
    {DVT_TUNE_GEMM_ALL_BOTH, offsetof(machine, all_both), MEGA, "all both", "bytes/s"},
    {DVT_TUNE_GEMM_ENQUEUE, offsetof(machine, enqueue), NANO, "enqueue", "s"}};
enum { OF_MACHINE = sizeof of_machine / sizeof *of_machine };

/* Puts the table's parameters of the device in place of those in `into`. */
static void take_measured(int device, const figure *parameters, int count, void *into) {
  for (int i = 0; i < count; i++) {
    const int64_t value = dvt_tuned(device, parameters[i].which, 0);
    if (value > 0)
      *(double *)(void *)((char *)into + parameters[i].offset) = parameters[i].scale * (double)value;
  }
}

static machine machine_now(void) {
  machine m = usual;
  take_measured(DAVIT_HOST, of_machine, OF_MACHINE, &m);
  return m;
}

/* Bytes a second that the threads which stage pageable memory copy together. */
static double copy_of_threads(const machine *m) {
  const double threads = dvt_stage_threads();
  return threads * m->thread_copy / (1 + threads * m->thread_copy / m->copy);
}

static dvt_model_device device_of(const dvt_device *device) {
  dvt_model_device d = device->ordinal >= 0 ? nvidia : other;
  take_measured(device->info.device, of_device, OF_DEVICE, &d);
  return d;
}

static bool is_single(davit_type type) {
  return type == DAVIT_FLOAT || type == DAVIT_COMPLEX_FLOAT;
}

static bool is_complex(davit_type type) {
  return type == DAVIT_COMPLEX_FLOAT || type == DAVIT_COMPLEX_DOUBLE;
}

dvt_model_device dvt_model_host(int threads, davit_type type) {
  dvt_model_device d = host_thread;
  d.rate = machine_now().thread_rate * threads * (is_single(type) ? 2 : 1) / (is_complex(type) ? 4 : 1);
  d.area *= threads;
  d.memory *= threads < 8 ? threads : 8;
  return d;
}

static dvt_model_device device_for(const dvt_device *device, davit_type type) {
  dvt_model_device d = device_of(device);
  if (is_single(type))
    d.rate =
        MEGA * (double)dvt_tuned(device->info.device, DVT_TUNE_GEMM_SINGLE_RATE, (int64_t)(d.rate / MEGA));
  if (is_complex(type))
    d.rate /= 4; /* four products of real numbers for one */
  if (type == DAVIT_COMPLEX_DOUBLE && device->ordinal >= 0)
    d.tall = tall_complex;
  return d;
}

void dvt_model_of(const int *devices, int count, davit_type type, dvt_model *model) {
  const machine m = machine_now();
  int hosts = 0;
  for (int i = 0; i < count; i++)
    hosts += dvt_device_find(devices[i])->shares_host_memory;
  for (int i = 0; i < count; i++) {
    const dvt_device *device = dvt_device_find(devices[i]);
    const int threads = dvt_threads() / (hosts > 0 ? hosts : 1);
    model->device[i] = device->shares_host_memory ? dvt_model_host(threads > 0 ? threads : 1, type)
                                                  : device_for(device, type);
  }
  model->all_up = m.all_up;
  model->all_down = m.all_down;
  model->all_both = m.all_both;
  model->host_copy = copy_of_threads(&m);
  model->enqueue = m.enqueue;
  model->enqueue_beside = enqueue_beside;
  model->react = react;
  model->start = start;
  model->start_device = start_device;
}

/* ---- the parameters from times ---- */

static int64_t whole(double value) {
  return value < 1 ? 1 : value < 9e15 ? (int64_t)(value + 0.5) : INT64_C(9000000000000000);
}

static void set(dvt_parameters *f, dvt_tunable which, double value, double scale) {
  f->value[which] = whole(value / scale);
}

/* Bytes per second of many bytes, and seconds of a copy of few. */
static davit_status measure_links(const dvt_microbenchmark *m, int index, bool peer, dvt_parameters *f) {
  enum { COPIES = 64 };
  const double bytes = 256 << 20, few = 4096, row = 2048, cols = 8192;
  double latency, seconds, up;
  DVT_TRY(m->copy(m->state, index, DVT_MICROBENCHMARK_UP, few, 1, false, COPIES, &latency));
  DVT_TRY(m->copy(m->state, index, DVT_MICROBENCHMARK_UP, bytes, 1, false, 1, &seconds));
  up = bytes / fmax(seconds - latency, 0.5 * seconds);
  latency = fmax(latency - few / up, 0);
  set(f, DVT_TUNE_GEMM_LATENCY, latency, NANO);
  set(f, DVT_TUNE_GEMM_UP, up, MEGA);
  DVT_TRY(m->copy(m->state, index, DVT_MICROBENCHMARK_DOWN, bytes, 1, false, 1, &seconds));
  set(f, DVT_TUNE_GEMM_DOWN, bytes / fmax(seconds - latency, 0.5 * seconds), MEGA);
  DVT_TRY(m->copy(m->state, index, DVT_MICROBENCHMARK_BOTH, bytes, 1, false, 1, &seconds));
  set(f, DVT_TUNE_GEMM_BOTH, 2 * bytes / fmax(seconds - latency, 0.5 * seconds), MEGA);
  DVT_TRY(m->copy(m->state, index, DVT_MICROBENCHMARK_UP, row, cols, true, 1, &seconds));
  set(f, DVT_TUNE_GEMM_ROW, row * ((seconds - latency) * up / (row * cols) - 1), 1);
  DVT_TRY(m->copy(m->state, index, DVT_MICROBENCHMARK_MEMORY, bytes, 1, false, 1, &seconds));
  set(f, DVT_TUNE_GEMM_MEMORY, 2 * bytes / seconds, MEGA);
  if (!peer)
    return DAVIT_SUCCESS;
  DVT_TRY(m->copy(m->state, index, DVT_MICROBENCHMARK_PEER, bytes, 1, false, 1, &seconds));
  set(f, DVT_TUNE_GEMM_PEER, bytes / seconds, MEGA);
  return DAVIT_SUCCESS;
}

/* dvt_model_product() turned round: from the times of a large product, of one with a small C, of one with
 * a short k and of a tiny one. Each parameter needs the others, which change little after a few rounds. */
static davit_status measure_products(const dvt_microbenchmark *m, int index, dvt_parameters *f) {
  enum { ROUNDS = 20 };
  const double n = m->most, side = n / 16, shallow = n / 64, tiny = 16;
  double whole_time, narrow, flat, single, least, launch, rate = 1, area = 1, depth = 1;
  DVT_TRY(m->product(m->state, index, DAVIT_DOUBLE, tiny, tiny, tiny, &least));
  launch = least;
  DVT_TRY(m->product(m->state, index, DAVIT_DOUBLE, side, side, n, &narrow));
  DVT_TRY(m->product(m->state, index, DAVIT_DOUBLE, n, n, shallow, &flat));
  DVT_TRY(m->product(m->state, index, DAVIT_DOUBLE, n, n, n, &whole_time));
  DVT_TRY(m->product(m->state, index, DAVIT_FLOAT, n, n, n, &single));
  for (int i = 0; i < ROUNDS; i++) {
    const double large = (1 + area / (n * n)) * (1 + depth / n);
    rate = 2 * n * n * n / (whole_time - launch) * large;
    area = fmax(side * side * ((narrow - launch) * rate / (2 * side * side * n * (1 + depth / n)) - 1), 1);
    launch = fmax(least - 2 * tiny * tiny * tiny / rate * (1 + area / (tiny * tiny)) * (1 + depth / tiny), 0);
    depth = fmax(shallow * ((flat - launch) * rate / (2 * n * n * shallow * (1 + area / (n * n))) - 1), 1);
  }
  set(f, DVT_TUNE_GEMM_RATE, rate, MEGA);
  set(f, DVT_TUNE_GEMM_SINGLE_RATE, rate * (whole_time - launch) / (single - launch), MEGA);
  set(f, DVT_TUNE_GEMM_AREA, area, 1);
  set(f, DVT_TUNE_GEMM_DEPTH, depth, 1);
  set(f, DVT_TUNE_GEMM_LAUNCH, launch, NANO);
  return DAVIT_SUCCESS;
}

davit_status dvt_parameters_of_device(const dvt_microbenchmark *m, int index, bool peer, dvt_parameters *f) {
  DVT_TRY(measure_links(m, index, peer, f));
  return measure_products(m, index, f);
}

davit_status dvt_parameters_of_host(const dvt_microbenchmark *m, dvt_parameters *f) {
  const double bytes = 256 << 20, n = 1024, threads = m->threads;
  const dvt_model_device thread = host_thread;
  double seconds, one, all, limit = 0, area = thread.area * threads;
  DVT_TRY(m->host_product(m->state, n, &seconds));
  set(f, DVT_TUNE_GEMM_THREAD_RATE,
      2 * n * n * n / seconds * (1 + area / (n * n)) * (1 + thread.depth / n) / threads, MEGA);
  DVT_TRY(m->host_copy(m->state, 1, bytes, &seconds));
  one = bytes / seconds;
  set(f, DVT_TUNE_GEMM_THREAD_COPY, one, MEGA);
  /* From all = t one / (1 + t one / limit), the largest of some numbers of threads: too many copy less. Perfect scaling
   * shows no limit, and one thread neither. */
  for (int t = m->threads; t > 1 && 4 * t >= m->threads; t /= 2) {
    DVT_TRY(m->host_copy(m->state, t, bytes, &seconds));
    all = bytes / seconds;
    if (all < 0.99 * t * one)
      limit = fmax(limit, 1 / (1 / all - 1 / (t * one)));
  }
  if (m->threads > 1)
    set(f, DVT_TUNE_GEMM_COPY, limit > 0 ? limit : 100 * threads * one, MEGA);
  if (m->devices == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(m->enqueue(m->state, &seconds));
  set(f, DVT_TUNE_GEMM_ENQUEUE, seconds, NANO);
  if (m->devices == 1)
    return DAVIT_SUCCESS;
  DVT_TRY(m->copy_all(m->state, DVT_MICROBENCHMARK_UP, bytes, &seconds));
  set(f, DVT_TUNE_GEMM_ALL_UP, m->devices * bytes / seconds, MEGA);
  DVT_TRY(m->copy_all(m->state, DVT_MICROBENCHMARK_DOWN, bytes, &seconds));
  set(f, DVT_TUNE_GEMM_ALL_DOWN, m->devices * bytes / seconds, MEGA);
  DVT_TRY(m->copy_all(m->state, DVT_MICROBENCHMARK_BOTH, bytes, &seconds));
  set(f, DVT_TUNE_GEMM_ALL_BOTH, 2 * m->devices * bytes / seconds, MEGA);
  return DAVIT_SUCCESS;
}

/* ---- the list ---- */

static void describe(int device, const figure *f, const void *in, davit_level3_figure *to) {
  *to = (davit_level3_figure){.value = *(const double *)(const void *)((const char *)in + f->offset),
                              .measured = dvt_tuned(device, f->which, 0) > 0};
  snprintf(to->name, sizeof to->name, "%s", f->name);
  snprintf(to->unit, sizeof to->unit, "%s", f->unit);
}

/* What follows from two of the others. */
static void describe_threads(const machine *m, davit_level3_figure *to) {
  *to = (davit_level3_figure){.name = "all threads copy",
                              .unit = "bytes/s",
                              .value = copy_of_threads(m),
                              .measured = dvt_tuned(DAVIT_HOST, DVT_TUNE_GEMM_THREAD_COPY, 0) > 0};
}

davit_status davit_level3_figures(int device, int capacity, davit_level3_figure *figures, int *count) {
  DVT_TRY(dvt_check_list("figures", capacity, figures, count));
  DVT_TRY(dvt_resolve_device(device, &device));
  const dvt_device *found = dvt_device_find(device);
  const machine m = machine_now();
  const dvt_model_device d = device_of(found);
  *count = found->shares_host_memory ? OF_MACHINE + 1 : OF_DEVICE;
  for (int i = 0; i < *count && i < capacity; i++) {
    if (!found->shares_host_memory)
      describe(device, &of_device[i], &d, &figures[i]);
    else if (i < OF_MACHINE)
      describe(DAVIT_HOST, &of_machine[i], &m, &figures[i]);
    else
      describe_threads(&m, &figures[i]);
  }
  return DAVIT_SUCCESS;
}
