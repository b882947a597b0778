/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/study/closest/background.h"

#include <davit/event.h>
#include <davit/timer.h>
#include <dlfcn.h>
#include <omp.h>
#include <string.h>

#include "bench/study/closest/product.inc"
#include "bench/study/common/kernel.h"

enum { THREADS = 256, STREAM_BLOCKS = 100, STREAM_THREADS = 512 };

/* ---- shapes ---- */

study_shape study_shape_for(int64_t n, int threads) {
  return (study_shape){study_quotient_up(n, threads), threads};
}

int64_t study_shape_idle(study_shape shape, int64_t n) {
  return shape.blocks * shape.threads - n;
}

void study_shape_2d(int64_t width, int64_t height, int side, int64_t *across, int64_t *down) {
  *across = study_quotient_up(width, side);
  *down = study_quotient_up(height, side);
}

/* ---- kernels: one block each ---- */

STUDY_INLINE void vector_add(int64_t team, int64_t threads, int64_t n, const float *a, const float *b,
                             float *c) {
  PHASE(t, (int)threads) {
    const int64_t i = team * threads + t;
    if (i < n)
      c[i] = a[i] + b[i];
  }
}

STUDY_INLINE void picture(int64_t team, int64_t side, int64_t width, int64_t height, const float *in,
                          float *out) {
  const int64_t across = (width + side - 1) / side;
  PHASE(t, (int)(side * side)) {
    const int64_t i = team % across * side + t % side, j = team / across * side + t / side;
    if (i < width && j < height)
      out[j * width + i] = 2 * in[j * width + i];
  }
}

STUDY_INLINE void scalar_add(int64_t team, int64_t a, int64_t b, int32_t *c) {
  (void)team;
  PHASE(t, 1)
  c[t] = (int32_t)(a + b);
}

STUDY_INLINE void atomic_minimum(int64_t team, int64_t n, const float *x, uint32_t *minimum) {
  PHASE(t, THREADS)
  if (team * THREADS + t < n)
    study_atomic_min(minimum, x[team * THREADS + t]);
}

STUDY_INLINE int64_t channel_at(int layout, int64_t n, int64_t i, int channel) {
  return layout == STUDY_SOA ? channel * n + i : (layout == STUDY_AOS ? 3 : 4) * i + channel;
}

STUDY_INLINE void pixels(int64_t team, const int layout, const bool grey, int64_t n, const uint8_t *in,
                         uint8_t *out) {
  PHASE(t, THREADS) {
    const int64_t i = team * THREADS + t;
    if (i < n) {
      unsigned r, g = 0, b = 0;
      if (layout == STUDY_AOS_PADDED) {
        const uint32_t word = ((const uint32_t *)(const void *)in)[i];
        r = word & 255;
        g = word >> 8 & 255;
        b = word >> 16 & 255;
      } else {
        r = in[channel_at(layout, n, i, 0)];
        if (grey) {
          g = in[channel_at(layout, n, i, 1)];
          b = in[channel_at(layout, n, i, 2)];
        }
      }
      out[i] = (uint8_t)(grey ? (r + g + b) / 3 : r);
    }
  }
}

STUDY_INLINE void norms(int64_t team, const bool soa, int64_t n, const float *in, float *out) {
  PHASE(t, THREADS) {
    const int64_t i = team * THREADS + t;
    if (i < n) {
      study_point p;
      if (soa)
        p = (study_point){in[i], in[n + i]};
      else
        __builtin_memcpy(&p, __builtin_assume_aligned(in + 2 * i, sizeof p), sizeof p);
      out[i] = __builtin_fabsf(p.x) + __builtin_fabsf(p.y);
    }
  }
}

STUDY_INLINE void stream_kernel(int64_t team, int64_t n, const int32_t *in, int32_t *out) {
  PHASE(t, STREAM_THREADS)
  for (int64_t i = team * STREAM_THREADS + t; i < n; i += STREAM_BLOCKS * STREAM_THREADS)
    out[i] = study_streams_kernel(in[i]);
}

/* ---- grids ---- */

/* What a kernel gets beside the team: three sizes, two inputs and an output, as far as it has them. */
#define PARAMETERS int64_t p, int64_t q, int64_t r, const void *in, const void *in2, void *out
#define ARGUMENTS p, q, r, in, in2, out

typedef void kernel(const study_site *site, int64_t teams, PARAMETERS);

#define RUN(name, threads, call) GRID(name, threads, (in, in2, out), call)
RUN(run_vector_add, (int)(WARPS_OF(p) * 32), vector_add(team, p, q, in, in2, out))
RUN(run_picture, (int)(p *p), picture(team, p, q, r, in, out))
RUN(run_product, SIDE *SIDE, product(team, p, in, in2, out))
RUN(run_product_tiled, SIDE *SIDE, product_tiled(team, p, in, in2, out))
RUN(run_scalar_add, 32, scalar_add(team, p, q, out))
RUN(run_atomic_minimum, THREADS, atomic_minimum(team, p, in, out))
RUN(grey_aos, THREADS, pixels(team, STUDY_AOS, true, p, in, out))
RUN(grey_padded, THREADS, pixels(team, STUDY_AOS_PADDED, true, p, in, out))
RUN(grey_soa, THREADS, pixels(team, STUDY_SOA, true, p, in, out))
RUN(red_aos, THREADS, pixels(team, STUDY_AOS, false, p, in, out))
RUN(red_padded, THREADS, pixels(team, STUDY_AOS_PADDED, false, p, in, out))
RUN(red_soa, THREADS, pixels(team, STUDY_SOA, false, p, in, out))
RUN(norms_aos, THREADS, norms(team, false, p, in, out))
RUN(norms_soa, THREADS, norms(team, true, p, in, out))
RUN(run_stream_kernel, STREAM_THREADS, stream_kernel(team, p, in, out))

static davit_status launch(kernel *k, int device, int64_t teams, PARAMETERS) {
  study_site site;
  DVT_TRY(study_site_of(device, &site));
  DVT_TRY(study_check_teams(teams));
  k(&site, teams, ARGUMENTS);
  return DAVIT_SUCCESS;
}

davit_status study_vector_add(int device, study_shape shape, int64_t n, const float *a, const float *b,
                              float *c) {
  STUDY_REQUIRE(shape.threads >= 1 && shape.threads <= STUDY_MOST_THREADS, "threads is %d, not 1 to %d",
                shape.threads, STUDY_MOST_THREADS);
  STUDY_REQUIRE(shape.blocks >= 0 && study_shape_idle(shape, n) >= 0,
                "blocks is %lld: too few threads for n = %lld", (long long)shape.blocks, (long long)n);
  return launch(run_vector_add, device, shape.blocks, shape.threads, n, 0, a, b, c);
}

davit_status study_picture(int device, int side, int64_t width, int64_t height, const float *in, float *out) {
  int64_t across, down;
  STUDY_REQUIRE(side == 8 || side == 16 || side == 32, "side is %d, not 8, 16 or 32", side);
  study_shape_2d(width, height, side, &across, &down);
  return launch(run_picture, device, across * down, side, width, height, in, in, out);
}

davit_status study_square_product(int device, bool tiled, int64_t n, const float *a, const float *b,
                                  float *c) {
  int64_t side = study_quotient_up(n, SIDE);
  return launch(tiled ? run_product_tiled : run_product, device, side * side, n, 0, 0, a, b, c);
}

double study_square_product_ratio(bool tiled) {
  return tiled ? SIDE : 1; /* two operations for two accesses, which SIDE threads share */
}

davit_status study_scalar_add(int device, int32_t a, int32_t b, int32_t *c) {
  return launch(run_scalar_add, device, 1, a, b, 0, c, c, c);
}

davit_status study_atomic_minimum(int device, int64_t n, const float *x, uint32_t *minimum) {
  return launch(run_atomic_minimum, device, study_quotient_up(n, THREADS), n, 0, 0, x, x, minimum);
}

int64_t study_pixels_bytes(study_layout layout, int64_t n) {
  return (layout == STUDY_AOS_PADDED ? 4 : 3) * n;
}

int64_t study_pixel_at(study_layout layout, int64_t n, int64_t i, int channel) {
  return channel_at((int)layout, n, i, channel);
}

static davit_status of_pixels(kernel *const kernels[STUDY_LAYOUTS], int device, study_layout layout,
                              int64_t n, const uint8_t *in, uint8_t *out) {
  STUDY_REQUIRE((unsigned)layout < STUDY_LAYOUTS, "layout is %d, which is none", (int)layout);
  return launch(kernels[layout], device, study_quotient_up(n, THREADS), n, 0, 0, in, in, out);
}

davit_status study_grey(int device, study_layout layout, int64_t n, const uint8_t *in, uint8_t *out) {
  static kernel *const kernels[] = {grey_aos, grey_padded, grey_soa};
  return of_pixels(kernels, device, layout, n, in, out);
}

davit_status study_red(int device, study_layout layout, int64_t n, const uint8_t *in, uint8_t *out) {
  static kernel *const kernels[] = {red_aos, red_padded, red_soa};
  return of_pixels(kernels, device, layout, n, in, out);
}

davit_status study_norms(int device, bool soa, int64_t n, const float *points, float *out) {
  return launch(soa ? norms_soa : norms_aos, device, study_quotient_up(n, THREADS), n, 0, 0, points, points,
                out);
}

/* ---- unified memory ---- */

/* The host is a device of OpenMP as well. */
static int omp_device(int device) {
  return device == DAVIT_HOST ? omp_get_initial_device() : device;
}

/* LLVM's OpenMP runtime has the function; one without offload does not. */
static void *find_function(const char *name, void *function, size_t bytes) {
  void *found = dlsym(RTLD_DEFAULT, name);
  memcpy(function, &found, bytes);
  return found;
}

void *study_unified_memory(int device, size_t bytes) {
  void *(*allocate)(size_t bytes, int device);
  return find_function("llvm_omp_target_alloc_shared", &allocate, sizeof allocate)
             ? allocate(bytes, omp_device(device))
             : NULL;
}

void study_unified_free(int device, void *memory) {
  void (*release)(void *memory, int device);
  if (find_function("llvm_omp_target_free_shared", &release, sizeof release))
    release(memory, omp_device(device));
}

/* ---- streams ---- */

enum { STREAMS = 2 };

/* One half; lives until the queue has run it. */
typedef struct part {
  study_site site;
  int64_t n;
  const int32_t *input;
  int32_t *output, *device_input, *device_output;
} part;

static davit_status kernel_of_part(int device, void *argument) {
  const part *p = argument;
  run_stream_kernel(&p->site, STREAM_BLOCKS, p->n, 0, 0, p->device_input, p->device_input, p->device_output);
  return DAVIT_SUCCESS;
}

/* Command 0, 1 or 2 of a half in its sub-queue: copy in, kernel, copy out. */
static davit_status enqueue(davit_queue *queue, int stream, int command, part *p) {
  const size_t bytes = (size_t)p->n * sizeof *p->input;
  DVT_TRY(davit_queue_set_subqueue(queue, stream));
  return command == 0   ? davit_queue_copy(queue, bytes, p->input, p->device_input)
         : command == 1 ? davit_queue_region(queue, kernel_of_part, p)
                        : davit_queue_copy(queue, bytes, p->device_output, p->output);
}

/* What sub-queue `to` does next waits for what is in sub-queue `from` now. */
static davit_status follow(davit_queue *queue, int from, int to, davit_event *point) {
  DVT_TRY(davit_queue_set_subqueue(queue, from));
  DVT_TRY(davit_event_record(point, queue));
  DVT_TRY(davit_queue_set_subqueue(queue, to));
  return davit_queue_wait(queue, point);
}

/* All commands in the order of the issue, between start and stop in sub-queue 0. */
static davit_status issue(const study_streams *s, part parts[STREAMS], davit_event *point,
                          davit_timer *timer) {
  enum { COMMANDS = 3 };
  DVT_TRY(davit_queue_set_subqueue(s->queue, 0));
  DVT_TRY(davit_timer_start(timer, s->queue));
  DVT_TRY(follow(s->queue, 0, 1, point));
  for (int i = 0; i < STREAMS * COMMANDS; i++) {
    const int stream = s->breadth_first ? i % STREAMS : i / COMMANDS;
    DVT_TRY(enqueue(s->queue, stream, s->breadth_first ? i / STREAMS : i % COMMANDS, &parts[stream]));
  }
  DVT_TRY(follow(s->queue, 1, 0, point));
  return davit_timer_stop(timer, s->queue);
}

davit_status study_streams_run(const study_streams *s, double *elapsed_ms) {
  int device;
  study_site site;
  part parts[STREAMS];
  davit_event *point = NULL;
  davit_timer *timer = NULL;
  DVT_TRY(davit_queue_device(s->queue, &device));
  DVT_TRY(study_site_of(device, &site));
  for (int i = 0; i < STREAMS; i++) {
    int64_t first = i * (s->n / STREAMS), count = i + 1 < STREAMS ? s->n / STREAMS : s->n - first;
    parts[i] = (part){
        site, count, s->input + first, s->output + first, s->device_input + first, s->device_output + first};
  }
  davit_status status = davit_event_create(&point);
  if (status == DAVIT_SUCCESS)
    status = davit_timer_create(&timer);
  if (status == DAVIT_SUCCESS)
    status = issue(s, parts, point, timer);
  davit_status done =
      davit_queue_synchronize(s->queue); /* whatever failed, the parts are still in use until now */
  if (status == DAVIT_SUCCESS)
    status = done;
  if (status == DAVIT_SUCCESS)
    status = davit_timer_elapsed(timer, elapsed_ms);
  (void)davit_event_destroy(point);
  if (timer)
    (void)davit_timer_destroy(timer);
  return status;
}
