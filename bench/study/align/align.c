/* SPDX-License-Identifier: Apache-2.0 */
/* The host side of the programs on alignment: checks, memory, copies, launches of as many units as fit. */
#include "bench/study/align/align.h"

#include <davit/device.h>
#include <davit/memory.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "bench/study/align/launch.h"

enum { MAX_WINDOW = 65535, MAX_PERMUTATIONS = 1000000, WARP = 32, MAX_TEAM = 1024 };

static const size_t HOST_MEMORY_BYTES = (size_t)64 << 20;

study_align study_align_defaults(void) {
  return (study_align){.program = STUDY_ALIGN_V1,
                       .random = STUDY_ALIGN_BY_DEVICE,
                       .window = 200,
                       .threshold = 50,
                       .penalty = 33,
                       .permutations = 100};
}

int64_t study_align_windows(int64_t frames, int64_t window) {
  return window > 0 ? frames / window : 0;
}

double study_align_cells(const study_align *a, const study_align_input *input) {
  double columns = 0;
  for (int e = 0; e < input->effect_count; e++)
    columns += (double)input->effects[e].frames;
  return columns * (double)(study_align_windows(input->frames, a->window) * a->window) *
         (1.0 + a->permutations);
}

/* ---- arguments ---- */

static davit_status check_options(const study_align *a) {
  const int64_t room = a->window > 0 ? STUDY_TILE_FLOATS / (a->window + 1) : 0;
  STUDY_REQUIRE(a->program >= 0 && a->program < STUDY_ALIGN_PROGRAMS, "program is %d, which is none",
                (int)a->program);
  STUDY_REQUIRE(a->random == STUDY_ALIGN_BY_HOST || a->random == STUDY_ALIGN_BY_DEVICE,
                "random is %d, which is no source", (int)a->random);
  STUDY_REQUIRE(a->layout >= STUDY_ALIGN_NATURAL && a->layout <= STUDY_ALIGN_INTERLEAVED,
                "layout is %d, which is none", (int)a->layout);
  STUDY_REQUIRE(a->threads >= 0, "threads is %d", a->threads);
  STUDY_REQUIRE(a->window >= 1 && a->window <= MAX_WINDOW, "window is %lld, not 1 to %d",
                (long long)a->window, MAX_WINDOW);
  STUDY_REQUIRE(a->threshold >= 0 && a->threshold <= 100, "threshold is %g, not 0 to 100",
                (double)a->threshold);
  STUDY_REQUIRE(a->penalty >= 0 && a->penalty <= 1e4f, "penalty is %g, not 0 to 10000", (double)a->penalty);
  STUDY_REQUIRE(a->permutations >= 0 && a->permutations <= MAX_PERMUTATIONS,
                "permutations is %d, not 0 to %d", a->permutations, MAX_PERMUTATIONS);
  if (a->program == STUDY_ALIGN_V5 && room < 1)
    return davit_fail(DAVIT_UNSUPPORTED, "window is %lld: a column of V5's tile has at most %d frames",
                      (long long)a->window, STUDY_TILE_FLOATS - 1);
  STUDY_REQUIRE(a->tile_columns >= 0 &&
                    a->tile_columns <= (a->program == STUDY_ALIGN_V5 ? room : STUDY_TILE_FLOATS),
                "tile_columns is %d; a tile has room for %lld", a->tile_columns, (long long)room);
  return DAVIT_SUCCESS;
}

static davit_status check_finite(const char *name, int64_t frames, int width, const float *features) {
  for (int64_t i = 0; i < frames * width; i++)
    STUDY_REQUIRE(isfinite(features[i]), "%s has a feature that is not finite: frame %lld, feature %lld",
                  name, (long long)(i / width), (long long)(i % width));
  return DAVIT_SUCCESS;
}

static davit_status check_input(const study_align_input *input) {
  STUDY_REQUIRE(input->width > 0 && input->frames >= 0 && input->effect_count > 0,
                "width is %d, frames is %lld, effect_count is %d", input->width, (long long)input->frames,
                input->effect_count);
  DVT_TRY(check_finite("movie", input->frames, input->width, input->movie));
  for (int e = 0; e < input->effect_count; e++) {
    const study_effect *effect = &input->effects[e];
    STUDY_REQUIRE(effect->frames > 0, "effect %d has %lld frames", e, (long long)effect->frames);
    DVT_TRY(check_finite("an effect", effect->frames, input->width, effect->features));
  }
  return DAVIT_SUCCESS;
}

/* ---- a run ---- */

/* What one call works with. Host memory is prepared, device memory is what the task points to. */
typedef struct program {
  const study_align *a;
  const study_align_input *input;
  study_site site;               /* no GPU for a program for the host */
  int64_t units, batch, longest; /* batch: units that have matrices at a time */
  float *movie, *patterns;       /* unit vectors */
  int64_t *starts;
  uint16_t *orders;
  study_align_task task;
  study_align_times times;
} program;

static bool on_host(study_align_program number) {
  return number == STUDY_ALIGN_SERIAL || number == STUDY_ALIGN_CPU;
}

static bool by_team(study_align_program number) {
  return number == STUDY_ALIGN_V3 || number == STUDY_ALIGN_V5;
}

static bool host_draws(const study_align *a) {
  return a->random == STUDY_ALIGN_BY_HOST || on_host(a->program);
}

static int64_t windows_of(const program *p) {
  return study_align_windows(p->input->frames, p->a->window);
}

static int64_t pattern_frames(const program *p) {
  int64_t frames = 0;
  for (int e = 0; e < p->input->effect_count; e++)
    frames += p->input->effects[e].frames;
  return frames;
}

/* Floats that a unit needs for matrices. */
static int64_t unit_floats(const program *p) {
  const int64_t window = p->a->window, n = p->longest, full = study_align_full_floats(window, n);
  const int runs = p->task.runs;
  switch (p->a->program) {
  case STUDY_ALIGN_CPU:
    return study_align_cpu_floats(window, n, p->input->width);
  case STUDY_ALIGN_V2:
    return study_align_rows_floats(window, n);
  case STUDY_ALIGN_V3:
    return runs * full;
  case STUDY_ALIGN_V5:
    return runs * study_align_tile_run_floats(window, p->task.tile_columns) +
           (p->site.gpu ? 0 : STUDY_TILE_FLOATS);
  case STUDY_ALIGN_V4A: /* its heap; the host allocates nothing */
  default:
    return full;
  }
}

static int natural_tile(const study_align *a) {
  const int64_t room = STUDY_TILE_FLOATS / (a->window + 1);
  return a->tile_columns ? a->tile_columns : (int)(room < STUDY_TILE_COLUMNS ? room : STUDY_TILE_COLUMNS);
}

/* The members of the task but for pointers. */
static void describe(program *p) {
  const study_align *a = p->a;
  const bool team = by_team(a->program),
             apart = a->program == STUDY_ALIGN_V4A || a->program == STUDY_ALIGN_V4B;
  for (int e = 0; e < p->input->effect_count; e++)
    p->longest = p->input->effects[e].frames > p->longest ? p->input->effects[e].frames : p->longest;
  p->units = windows_of(p) * p->input->effect_count;
  p->task = (study_align_task){.window = a->window,
                               .width = p->input->width,
                               .effects = p->input->effect_count,
                               .runs = a->permutations + 1,
                               .threshold = a->threshold,
                               .open = 100 + a->penalty,
                               .extend = a->penalty,
                               .rounded = a->rounded,
                               .seed = a->seed,
                               .heap_bytes = a->heap_bytes};
  p->task.tile_columns = natural_tile(a);
  p->task.interleaved =
      !apart && !on_host(a->program) &&
      (a->layout == STUDY_ALIGN_NATURAL ? p->site.gpu : a->layout == STUDY_ALIGN_INTERLEAVED);
  p->task.slot_floats = unit_floats(p);
  p->task.slot_orders = a->window * (team ? p->task.runs : 1);
}

/* As many units a launch as memory allows; for a program for the host, its threads. */
static davit_status plan_batches(program *p) {
  if (on_host(p->a->program)) {
    p->batch = p->a->program == STUDY_ALIGN_SERIAL ? 1
               : p->a->threads                     ? p->a->threads
                                                   : omp_get_max_threads();
    return DAVIT_SUCCESS;
  }
  size_t room = p->a->memory_bytes, total;
  if (!room && p->site.gpu) {
    const davit_status status = davit_device_memory(p->site.device, &room, &total);
    if (status != DAVIT_SUCCESS && status != DAVIT_UNSUPPORTED)
      return status;
    room = status == DAVIT_SUCCESS ? room / 2 : 0; /* unknown */
  }
  room = room ? room : HOST_MEMORY_BYTES;
  const size_t unit = (size_t)p->task.slot_floats * sizeof(float) +
                      (host_draws(p->a) ? 0 : (size_t)p->task.slot_orders * sizeof(uint16_t));
  p->batch = (int64_t)(room / unit);
  if (p->batch < 1 && (p->site.gpu || p->a->memory_bytes))
    return davit_fail(DAVIT_OUT_OF_DEVICE_MEMORY,
                      "a window and an effect need %zu bytes for matrices, of %zu", unit, room);
  p->batch = p->batch < 1 ? 1 : p->batch > p->units ? p->units : p->batch;
  return DAVIT_SUCCESS;
}

/* ---- what the host prepares ---- */

static void unit_vectors(int64_t frames, int width, const float *features, float *units) {
  for (int64_t i = 0; i < frames; i++)
    dvt_unit_vector(width, features + i * width, units + i * width);
}

static void prepare(program *p) {
  const int width = p->input->width;
  unit_vectors(windows_of(p) * p->a->window, width, p->input->movie, p->movie);
  p->starts[0] = 0;
  for (int e = 0; e < p->input->effect_count; e++) {
    const study_effect *effect = &p->input->effects[e];
    unit_vectors(effect->frames, width, effect->features, p->patterns + p->starts[e] * width);
    p->starts[e + 1] = p->starts[e] + effect->frames;
  }
  for (int r = 1; host_draws(p->a) && r < p->task.runs; r++)
    dvt_permutation(p->a->seed, (uint64_t)r, (int)p->a->window, p->orders + (r - 1) * p->a->window);
}

/* ---- memory ---- */

/* What the host prepares and, in the same order, what the task points to. */
enum {
  MOVIE,
  PATTERNS,
  STARTS,
  ORDERS,
  PREPARED,
  THERE = PREPARED,
  SCORES = THERE + PREPARED,
  MATRICES,
  DRAWN,
  ARRAYS
};

static void arrays_of(program *p, study_block blocks[ARRAYS]) {
  const bool host = on_host(p->a->program), by_host = host_draws(p->a),
             heap = p->a->program == STUDY_ALIGN_V4A;
  const size_t width = (size_t)p->input->width * sizeof(float);
  const size_t bytes[PREPARED] = {
      (size_t)(windows_of(p) * p->a->window) * width, (size_t)pattern_frames(p) * width,
      ((size_t)p->input->effect_count + 1) * sizeof *p->starts,
      by_host ? (size_t)p->a->permutations * (size_t)p->a->window * sizeof *p->orders : 0};
  void *const prepared[PREPARED] = {&p->movie, &p->patterns, &p->starts, &p->orders};
  void *const there[PREPARED] = {&p->task.movie, &p->task.patterns, &p->task.starts, &p->task.orders};
  const int place = p->site.place;
  for (int i = 0; i < PREPARED; i++) {
    blocks[i] = (study_block){prepared[i], bytes[i], DAVIT_PAGEABLE};
    blocks[THERE + i] = (study_block){there[i], host ? 0 : bytes[i], place};
  }
  blocks[SCORES] = (study_block){&p->task.scores,
                                 host ? 0 : (size_t)p->units * (size_t)p->task.runs * sizeof(float), place};
  blocks[MATRICES] = (study_block){
      &p->task.matrices, heap ? 0 : (size_t)p->batch * (size_t)p->task.slot_floats * sizeof(float), place};
  blocks[DRAWN] = (study_block){
      &p->task.drawn, by_host ? 0 : (size_t)p->batch * (size_t)p->task.slot_orders * sizeof(uint16_t), place};
}

/* ---- programs for the host ---- */

static davit_status run_on_host(program *p, float *scores) {
  double since = omp_get_wtime();
  prepare(p);
  p->times.prepare_ms = study_lap(&since);
  study_align_task task = p->task;
  task.movie = p->movie;
  task.patterns = p->patterns;
  task.starts = p->starts;
  task.orders = p->orders;
  task.scores = scores;
  task.count = p->units;
  if (p->a->program == STUDY_ALIGN_SERIAL)
    study_align_cpu_serial(&task);
  else
    study_align_cpu_rows(&task, (int)p->batch);
  p->times.kernel_ms = study_lap(&since);
  return DAVIT_SUCCESS;
}

/* ---- programs for devices ---- */

static davit_status copy_in(program *p, const study_block blocks[ARRAYS]) {
  const void *const from[PREPARED] = {p->movie, p->patterns, p->starts, p->orders};
  const void *const to[PREPARED] = {p->task.movie, p->task.patterns, p->task.starts, p->task.orders};
  for (int i = 0; i < PREPARED; i++)
    DVT_TRY(davit_copy(blocks[i].bytes, from[i], (void *)to[i]));
  return DAVIT_SUCCESS;
}

static int at_most(int64_t value, int64_t most) {
  return (int)(value < most ? value : most);
}

/* On a GPU small teams, one for each unit or for each 32; on the CPU one team of all threads. */
static study_align_shape shape_of(const program *p) {
  const int device = p->site.device == DAVIT_HOST ? omp_get_initial_device() : p->site.device;
  if (!p->site.gpu)
    return (study_align_shape){device, 1, omp_get_num_procs()};
  if (!by_team(p->a->program))
    return (study_align_shape){device, at_most((p->task.count + WARP - 1) / WARP, INT32_MAX), WARP};
  const int whole_warps = (p->task.runs + WARP - 1) / WARP * WARP;
  return (study_align_shape){device, at_most(p->task.count, INT32_MAX), at_most(whole_warps, MAX_TEAM)};
}

static void launch(program *p) {
  static void (*const launches[STUDY_ALIGN_PROGRAMS])(const study_align_task *, study_align_shape) = {
      [STUDY_ALIGN_V1] = study_align_launch_full,  [STUDY_ALIGN_V2] = study_align_launch_rows,
      [STUDY_ALIGN_V3] = study_align_launch_team,  [STUDY_ALIGN_V4A] = study_align_launch_heap,
      [STUDY_ALIGN_V4B] = study_align_launch_full, [STUDY_ALIGN_V5] = study_align_launch_tiles};
  for (p->task.first = 0; p->task.first < p->units; p->task.first += p->batch) {
    const int64_t left = p->units - p->task.first;
    p->task.count = left < p->batch ? left : p->batch;
    launches[p->a->program](&p->task, shape_of(p));
    p->times.launches++;
  }
}

/* Whether a thread of V4A found the heap full. */
static davit_status check_heap(const program *p, const float *scores) {
  int64_t without = 0;
  for (int64_t unit = 0; unit < p->units; unit++)
    without += scores[unit * p->task.runs] == STUDY_ALIGN_NO_HEAP;
  if (without == 0)
    return DAVIT_SUCCESS;
  return davit_fail(DAVIT_OUT_OF_DEVICE_MEMORY,
                    "device %d: %lld of %lld threads got no memory from its heap, at most %lld at a time",
                    p->site.device, (long long)without, (long long)p->units, (long long)p->batch);
}

static davit_status run_on_device(program *p, const study_block blocks[ARRAYS], float *scores) {
  double since = omp_get_wtime();
  prepare(p);
  p->times.prepare_ms = study_lap(&since);
  DVT_TRY(copy_in(p, blocks));
  p->times.transfer_ms = study_lap(&since);
  launch(p);
  p->times.kernel_ms = study_lap(&since);
  DVT_TRY(davit_copy(blocks[SCORES].bytes, p->task.scores, scores));
  p->times.transfer_ms += study_lap(&since);
  return check_heap(p, scores);
}

/* All units, at least one. */
static davit_status run(program *p, float *scores) {
  study_block blocks[ARRAYS];
  DVT_TRY(plan_batches(p));
  arrays_of(p, blocks);
  DVT_TRY(study_allocate(blocks, ARRAYS));
  davit_status status = on_host(p->a->program) ? run_on_host(p, scores) : run_on_device(p, blocks, scores);
  study_free(blocks, ARRAYS);
  return status;
}

davit_status study_align_run(const study_align *a, int device, const study_align_input *input, float *scores,
                             study_align_times *times) {
  program p = {.a = a, .input = input};
  DVT_TRY(check_options(a));
  DVT_TRY(check_input(input));
  DVT_TRY(study_site_of(device, &p.site));
  if (on_host(a->program))
    p.site = (study_site){.device = DAVIT_HOST, .place = DAVIT_PAGEABLE};
  describe(&p);
  if (p.units > 0)
    DVT_TRY(run(&p, scores));
  p.times.total_ms = p.times.prepare_ms + p.times.transfer_ms + p.times.kernel_ms;
  if (times)
    *times = p.times;
  return DAVIT_SUCCESS;
}
