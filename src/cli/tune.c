/* SPDX-License-Identifier: Apache-2.0 */
/* davit tune: measures which values of a capability's parameters are fastest on the devices of this machine,
 * and writes them to the tuning file. The search is in tune_search.c; here is what is measured, and the
 * report. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <davit/davit.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/replace.h"
#include "src/cli/clock.h"
#include "src/cli/frame/job.h"
#include "src/cli/frame/nearest.h"
#include "src/cli/tune_search.h"

enum { BUFFERS = 3, NAME_BYTES = 24 };

/* The devices for which a parameter is read. */
enum { HOST_ALONE = 1, HOSTS = 2, GPUS = 4, ALL = HOST_ALONE | HOSTS | GPUS };

/* How values are spaced: powers of two; these and one between each two; 1, 2, 3, 4, 6, 8 … and the
 * maximum. */
typedef enum spacing { DOUBLING, FINER, COUNTING } spacing;

typedef struct parameter {
  const char *name; /* for gemm's tile, without size and devices */
  unsigned devices;
  spacing spacing;
} parameter;

typedef struct tuning tuning;

typedef struct capability {
  const char *name;
  const char *what; /* what is measured */
  int64_t gpu_size; /* n where none is given */
  /* The same for hosts. 0: this is for GPUs; operand 0 is pageable, operand 1 the first device's. Else all
   * operands are pinned. */
  int64_t host_size;
  int dimensions[BUFFERS]; /* of the operands: n, or n × n elements; 0: none */
  davit_status (*work)(tuning *t);
  parameter parameters[TUNE_MOST_AXES];
} capability;

struct tuning {
  cli_job job;
  const char *name, *output;
  int64_t size, repeat;
  double budget;
  bool show;
  const capability *capability;
  bool gpu; /* among the devices */
  double *operand[BUFFERS];
  char axis_name[TUNE_MOST_AXES][NAME_BYTES]; /* of the axes' parameters */
  tune_search search;
  char path[PATH_MAX];         /* of the tuning file */
  davit_tuning_entry *entries; /* of --show */
  int entry_count;
};

/* ---- what is measured ---- */

static davit_status work_gemm(tuning *t) {
  const int64_t n = t->size;
  const davit_level3_options options = {CLI_DEVICES(t)};
  return davit_dgemm('N', 'N', n, n, n, 1, t->operand[0], n, t->operand[1], n, 0, t->operand[2], n, &options);
}

static davit_status work_gemv(tuning *t) {
  const int64_t n = t->size;
  return davit_dgemv('N', n, n, 1, t->operand[0], n, t->operand[1], 1, 0, t->operand[2], 1,
                     &(davit_gemv_options){CLI_DEVICES(t)});
}

static davit_status work_axpy(tuning *t) {
  return davit_daxpy(t->size, 1e-3, t->operand[0], 1, t->operand[1], 1,
                     &(davit_axpy_options){CLI_DEVICES(t)});
}

static davit_status work_reduce(tuning *t) {
  double sum;
  return davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, t->size, t->operand[0], &sum,
                      &(davit_reduce_options){CLI_DEVICES(t)});
}

static davit_status work_scan(tuning *t) {
  return davit_scan(DAVIT_SUM, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, t->size, t->operand[0], t->operand[1],
                    &(davit_scan_options){CLI_DEVICES(t)});
}

static davit_status work_stencil(tuning *t) {
  const int64_t n = t->size;
  return davit_stencil(DAVIT_DOUBLE, n, n, t->operand[0], n, NULL, t->operand[1], n,
                       &(davit_stencil_options){.border = DAVIT_STENCIL_BORDER_COPY, CLI_DEVICES(t)});
}

static davit_status work_atax(tuning *t) {
  const int64_t n = t->size;
  return davit_atax(DAVIT_DOUBLE, 'T', n, n, t->operand[0], n, t->operand[1], NULL, t->operand[2],
                    &(davit_atax_options){CLI_DEVICES(t)});
}

static davit_status work_closest_pair(tuning *t) {
  davit_closest_pair_result pair;
  return davit_closest_pair(
      DAVIT_DOUBLE, 2, t->size / 2, t->operand[1], &pair,
      &(davit_closest_pair_options){.algorithm = DAVIT_CLOSEST_PAIR_GRID, CLI_DEVICES(t)});
}

static davit_status work_copy(tuning *t) {
  return davit_copy((size_t)t->size * sizeof(double), t->operand[0], t->operand[1]);
}

enum { MIB = 1 << 17 }; /* doubles */

#define CAPABILITY(its_name, its_what, gpu, host, a, b, c, ...)                                              \
  {                                                                                                          \
    .name = #its_name, .what = its_what, .gpu_size = gpu, .host_size = host, .dimensions = {a, b, c},        \
    .work = work_##its_name, .parameters = {                                                                 \
      __VA_ARGS__                                                                                            \
    }                                                                                                        \
  }
static const capability capabilities[] = {
    CAPABILITY(gemm, "product of two n x n matrices", 8192, 1024, 2, 2, 2, {"tile", HOSTS | GPUS, FINER}),
    CAPABILITY(gemv, "n x n matrix times a vector", 16384, 4096, 2, 1, 1, {"chunk", ALL, DOUBLING}),
    CAPABILITY(axpy, "y += a x, vectors of n", 512 * MIB, 64 * MIB, 1, 1, 0, {"chunk", ALL, DOUBLING}),
    CAPABILITY(reduce, "sum of n numbers", 1024 * MIB, 64 * MIB, 1, 0, 0, {"piece_bytes", GPUS, DOUBLING}),
    CAPABILITY(scan, "prefix sums of n numbers", 512 * MIB, 64 * MIB, 1, 1, 0,
               {"piece_bytes", GPUS, DOUBLING}),
    CAPABILITY(stencil, "3 x 3 stencil of an n x n matrix", 16384, 4096, 2, 2, 0,
               {"chunk_bytes", ALL, DOUBLING}, {"threads", HOST_ALONE | HOSTS, COUNTING}),
    CAPABILITY(atax, "A (A' x), an n x n matrix", 8192, 4096, 2, 1, 1,
               {"chunk_bytes", HOSTS | GPUS, DOUBLING}, {"threads", HOST_ALONE | HOSTS, COUNTING},
               {"teams", GPUS, COUNTING}),
    CAPABILITY(closest_pair, "closest pair of n / 2 points of the plane", 128 * MIB, 0, 0, 1, 0,
               {"teams", GPUS, COUNTING}),
    CAPABILITY(copy, "copy of n pageable numbers to a device", 256 * MIB, 0, 1, 1, 0,
               {"stage_bytes", GPUS, DOUBLING}),
};
enum { CAPABILITIES = sizeof capabilities / sizeof *capabilities };

static int choose_capability(tuning *t) {
  char names[256] = "";
  cli_nearest nearest = {.word = t->name};
  size_t used = 0;
  for (int i = 0; i < CAPABILITIES; i++) {
    if (!strcmp(capabilities[i].name, t->name))
      t->capability = &capabilities[i];
    used += (size_t)snprintf(names + used, sizeof names - used, " %s", capabilities[i].name);
    cli_nearest_try(&nearest, capabilities[i].name);
  }
  return t->capability ? CLI_OK
                       : cli_fail(CLI_USAGE, "there is nothing to tune in '%s'; %s%s%sthere is in:%s",
                                  t->name, nearest.name ? "did you mean " : "",
                                  nearest.name ? nearest.name : "", nearest.name ? "? " : "", names);
}

static int check_devices(tuning *t) {
  const cli_device_set *devices = &t->job.devices;
  davit_status status = DAVIT_SUCCESS;
  if (devices->reference)
    return cli_fail(CLI_USAGE, "--devices cpu is the reference, which has no parameters; -1 is the host");
  for (int i = 0; i < devices->count && status == DAVIT_SUCCESS; i++) {
    davit_device_info info;
    status = davit_device_describe(devices->ids[i], &info);
    t->gpu |=
        status == DAVIT_SUCCESS && info.kind != DAVIT_DEVICE_CPU && info.kind != DAVIT_DEVICE_HOST_OFFLOAD;
  }
  return cli_status(status);
}

/* The square of a size must fit 64 bits; no machine has that much memory. */
static int choose_size(tuning *t) {
  const int64_t most = (int64_t)1 << (t->capability->dimensions[0] == 2 ? 24 : 48);
  if (!t->size)
    t->size = t->gpu ? t->capability->gpu_size : t->capability->host_size;
  return t->size <= most ? CLI_OK : cli_fail(CLI_USAGE, "--size takes at most %" PRId64, most);
}

/* ---- the values to try ---- */

static void find_range(const char *capability, const char *name, int64_t *least, int64_t *most) {
  davit_tuning_parameter all[256];
  int count = 0;
  *least = *most = 0;
  if (davit_tuning_parameters(256, all, &count) != DAVIT_SUCCESS)
    return;
  for (int i = 0; i < count && i < 256; i++)
    if (!strcmp(all[i].capability, capability) && !strcmp(all[i].parameter, name)) {
      *least = all[i].minimum;
      *most = all[i].maximum;
    }
}

/* Narrows the range to useful values: at most 4096 chunks or 16 tiles a dimension, none larger than the
 * problem. */
static void narrow_range(const tuning *t, const parameter *p, int64_t *least, int64_t *most) {
  const int64_t most_chunks = 4096, most_tiles = 16;
  int64_t all = t->capability->dimensions[0] == 2 && p->spacing != FINER ? t->size * t->size : t->size;
  int64_t pieces = p->spacing == FINER ? most_tiles : most_chunks;
  if (strstr(p->name, "bytes"))
    all *= (int64_t)sizeof(double);
  if (p->spacing == COUNTING) {
    all = p->devices & GPUS ? INT64_MAX : dvt_threads();
    pieces = INT64_MAX;
  }
  *most = *most < all ? *most : all;
  const int64_t useful = all / pieces < *most / 16 ? all / pieces : *most / 16;
  *least = *least > useful ? *least : useful;
}

static void fill_axis(tune_axis *axis, spacing spacing, int64_t least, int64_t most) {
  const bool between = spacing != DOUBLING;
  for (int64_t value = 1; value <= most && value < INT64_MAX / 4; value *= 2) {
    if (value >= least && axis->count < TUNE_MOST_VALUES)
      axis->value[axis->count++] = value;
    if (between && value > 1 && value / 2 * 3 >= least && value / 2 * 3 <= most &&
        axis->count < TUNE_MOST_VALUES)
      axis->value[axis->count++] = value / 2 * 3;
  }
  if (spacing == COUNTING && axis->count > 0 && axis->count < TUNE_MOST_VALUES &&
      axis->value[axis->count - 1] < most)
    axis->value[axis->count++] = most; /* all processors */
}

/* gemm's tile is one for each size and number of devices, both rounded down to a power of two. */
static void name_axis(const tuning *t, const parameter *p, char name[static NAME_BYTES]) {
  if (p->spacing != FINER) {
    snprintf(name, NAME_BYTES, "%s", p->name);
    return;
  }
  int64_t size = 1024;
  int devices = 1;
  while (size < 32768 && t->size >= 2 * size)
    size *= 2;
  while (devices < 8 && t->job.devices.count >= 2 * devices)
    devices *= 2;
  snprintf(name, NAME_BYTES, "%s_%" PRId64 "_%d", p->name, size, devices);
}

static int choose_axes(tuning *t) {
  const unsigned devices = t->gpu ? GPUS : t->job.devices.count > 1 ? HOSTS : HOST_ALONE;
  for (int i = 0; i < TUNE_MOST_AXES && t->capability->parameters[i].name; i++) {
    const parameter *p = &t->capability->parameters[i];
    tune_axis axis = {.count = 0};
    int64_t least, most;
    if (!(p->devices & devices))
      continue;
    name_axis(t, p, t->axis_name[t->search.axes]);
    find_range(t->capability->name, t->axis_name[t->search.axes], &least, &most);
    narrow_range(t, p, &least, &most);
    fill_axis(&axis, p->spacing, least, most);
    if (axis.count > 1)
      t->search.axis[t->search.axes++] = axis;
  }
  if (t->search.axes)
    return CLI_OK;
  return cli_fail(CLI_USAGE, "%s has nothing to choose %s for n = %" PRId64, t->capability->name,
                  devices == GPUS    ? "on these devices"
                  : devices == HOSTS ? "on host devices"
                                     : "on one host device",
                  t->size);
}

/* ---- measuring ---- */

static int open_operands(tuning *t) {
  const capability *c = t->capability;
  for (int i = 0; i < BUFFERS; i++) {
    if (!c->dimensions[i])
      continue;
    const int64_t count = c->dimensions[i] == 2 ? t->size * t->size : t->size;
    const int place = c->host_size ? DAVIT_PINNED : i == 0 ? DAVIT_PAGEABLE : t->job.devices.ids[0];
    davit_status status = davit_malloc((size_t)count * sizeof(double), place, (void **)&t->operand[i]);
    if (status == DAVIT_SUCCESS)
      status = davit_random(DAVIT_DOUBLE, count, (uint64_t)i, t->operand[i]);
    if (status != DAVIT_SUCCESS)
      return cli_status(status);
  }
  return CLI_OK;
}

static davit_status set_values(const tuning *t, const int64_t *values, double seconds) {
  davit_status status = DAVIT_SUCCESS;
  for (int i = 0; i < t->job.devices.count; i++)
    for (int axis = 0; axis < t->search.axes && status == DAVIT_SUCCESS; axis++)
      status = davit_tuning_set(t->job.devices.ids[i], t->capability->name, t->axis_name[axis], values[axis],
                                seconds);
  return status;
}

static int measure(void *state, const int64_t *values, double *seconds) {
  tuning *t = state;
  cli_progress_at(&t->job.progress, t->search.trials, 0, "trials");
  davit_status status = set_values(t, values, 0);
  const double start = cli_now();
  if (status == DAVIT_SUCCESS)
    status = t->capability->work(t);
  *seconds = cli_now() - start;
  return cli_status(status);
}

static double clock_of(void *state) {
  (void)state;
  return cli_now();
}

static int search(tuning *t) {
  tune_search *s = &t->search;
  s->repeat = (int)t->repeat;
  s->budget = t->budget;
  s->measure = measure;
  s->now = clock_of;
  s->state = t;
  const int code = open_operands(t);
  return code == CLI_OK ? tune_search_run(s) : code;
}

/* ---- the tuning file ---- */

/* An unwritable place is an error before any work. The directory of the usual file is created when it is
 * written. */
static int check_place(tuning *t) {
  dvt_replacement trial;
  if (!t->output && access(t->path, F_OK))
    return CLI_OK;
  const char *why = dvt_replacement_open(t->path, &trial);
  dvt_replacement_discard(&trial);
  return why ? cli_fail(CLI_FAILED, "%s: cannot be written: %s", t->path, why) : CLI_OK;
}

/* Values that the file already has stay in it. */
static int open_file(tuning *t) {
  if (t->output && !strcmp(t->output, "-"))
    return cli_fail(CLI_USAGE, "-o: the tuning file is read as well and cannot be standard output");
  if (t->output && strlen(t->output) >= sizeof t->path)
    return cli_fail(CLI_USAGE, "-o: the name is too long");
  if (t->output)
    strcpy(t->path, t->output);
  else if (davit_tuning_path(PATH_MAX, t->path) != DAVIT_SUCCESS || !*t->path)
    return cli_fail(CLI_USAGE, "there is no tuning file (DAVIT_TUNING_FILE is empty); -o names one");
  if (access(t->path, F_OK)) {
    const davit_status status = davit_tuning_clear();
    return cli_status(status);
  }
  return davit_tuning_load(t->path) == DAVIT_SUCCESS ? CLI_OK : cli_fail(CLI_INPUT, "%s", davit_last_error());
}

static int write_file(const tuning *t) {
  const davit_status status = set_values(t, t->search.winner.value, t->search.winner.seconds);
  if (status != DAVIT_SUCCESS)
    return cli_status(status);
  return davit_tuning_save(t->output) == DAVIT_SUCCESS ? CLI_OK
                                                       : cli_fail(CLI_FAILED, "%s", davit_last_error());
}

/* ---- report of a search ---- */

static void print_value(int64_t value) {
  if (value)
    printf("  %14" PRId64, value);
  else
    printf("  %14s", "-");
}

static void print_trial(const tuning *t, const tune_trial *trial, double reference) {
  for (int axis = 0; axis < t->search.axes; axis++)
    print_value(trial->value[axis]);
  printf("  %11.6g  %9.2g  %8.3f\n", trial->seconds, trial->noise, reference / trial->seconds);
}

static void print_search(const tuning *t) {
  const tune_search *s = &t->search;
  printf("%s: %s, n = %" PRId64 ", float64, on", t->capability->name, t->capability->what, t->size);
  for (int i = 0; i < t->job.devices.count; i++)
    printf(" %d", t->job.devices.ids[i]);
  printf("; medians of %" PRId64 " runs\n", t->repeat);
  for (int axis = 0; axis < s->axes; axis++)
    printf("  %14s", t->axis_name[axis]);
  printf("  %11s  %9s  %8s\n", "seconds", "noise", "speed-up");
  for (int i = 0; i < s->trials; i++)
    print_trial(t, &s->trial[i], s->trial[0].seconds);
  if (!s->complete)
    printf("the budget of %g s is spent; there may be better values\n", s->budget);
  if (s->tuned) {
    printf("fastest, %.6g s against %.6g s of davit's own choice, run in turn:", s->winner.seconds,
           s->own.seconds);
    for (int axis = 0; axis < s->axes; axis++)
      if (s->winner.value[axis])
        printf(" %s = %" PRId64, t->axis_name[axis], s->winner.value[axis]);
    printf("\n");
  } else {
    printf("nothing is faster than davit's own choice by more than the noise\n");
  }
  printf("%s\n", t->path);
}

static void json_trial(cli_json *json, const tuning *t, const char *key, const tune_trial *trial) {
  cli_json_open_object(json, key);
  cli_json_open_object(json, "values");
  for (int axis = 0; axis < t->search.axes; axis++)
    cli_json_integer(json, t->axis_name[axis], trial->value[axis]);
  cli_json_close_object(json);
  cli_json_real(json, "seconds", trial->seconds);
  cli_json_real(json, "noise", trial->noise);
  cli_json_close_object(json);
}

static void json_search(cli_json *json, const tuning *t) {
  const tune_search *s = &t->search;
  cli_json_string(json, "capability", t->capability->name);
  cli_json_integer(json, "n", t->size);
  cli_json_integer(json, "repeat", t->repeat);
  cli_json_bool(json, "complete", s->complete);
  cli_json_bool(json, "tuned", s->tuned);
  json_trial(json, t, "own", &s->own);
  json_trial(json, t, "winner", &s->winner);
  cli_json_open_array(json, "trials");
  for (int i = 0; i < s->trials; i++)
    json_trial(json, t, NULL, &s->trial[i]);
  cli_json_close_array(json);
}

/* ---- --show ---- */

/* The values that the library would use. */
static int list_values(tuning *t) {
  davit_status status = davit_tuning_path(PATH_MAX, t->path);
  if (status == DAVIT_SUCCESS)
    status = davit_tuning_list(0, NULL, &t->entry_count);
  if (status != DAVIT_SUCCESS)
    return cli_status(status);
  t->entries = cli_job_memory(&t->job, (size_t)t->entry_count, sizeof *t->entries);
  return t->entries ? cli_status(davit_tuning_list(t->entry_count, t->entries, &t->entry_count)) : CLI_DEVICE;
}

static void print_values(const tuning *t) {
  printf("%s\n", *t->path ? t->path : "no tuning file");
  for (const davit_tuning_entry *e = t->entries; e < t->entries + t->entry_count; e++)
    printf("%s %s = %" PRId64 " on %s (%.6g s)\n", e->capability, e->parameter, e->value, e->device,
           e->seconds);
}

static void json_values(cli_json *json, const tuning *t) {
  char warning[1024] = "";
  davit_tuning_warning(sizeof warning, warning);
  cli_json_open_array(json, "entries");
  for (const davit_tuning_entry *e = t->entries; e < t->entries + t->entry_count; e++) {
    cli_json_open_object(json, NULL);
    cli_json_string(json, "device", e->device);
    cli_json_string(json, "capability", e->capability);
    cli_json_string(json, "parameter", e->parameter);
    cli_json_integer(json, "value", e->value);
    cli_json_real(json, "seconds", e->seconds);
    cli_json_close_object(json);
  }
  cli_json_close_array(json);
  cli_json_string(json, "warning", warning);
}

/* ---- command ---- */

static int load(void *state) {
  static int (*const steps[])(tuning *t) = {choose_capability, check_devices, choose_size,
                                            choose_axes,       open_file,     check_place};
  tuning *t = state;
  if (t->show == !!t->name)
    return cli_fail(CLI_USAGE, "takes a capability, or --show alone");
  int code = CLI_OK;
  for (size_t i = 0; !t->show && i < sizeof steps / sizeof *steps && code == CLI_OK; i++)
    code = steps[i](t);
  return code;
}

static int run(void *state) {
  tuning *t = state;
  const double start = cli_now();
  const int code = t->show ? list_values(t) : search(t);
  t->job.seconds.median = cli_now() - start;
  return code == CLI_OK && !t->show ? write_file(t) : code;
}

static void print(const void *state) {
  const tuning *t = state;
  (t->show ? print_values : print_search)(t);
}

static void json(cli_json *json, const void *state) {
  const tuning *t = state;
  cli_json_string(json, "path", t->path);
  (t->show ? json_values : json_search)(json, t);
}

static void release(void *state) {
  tuning *t = state;
  for (int i = 0; i < BUFFERS; i++)
    davit_free(t->operand[i]);
}

const cli_command cli_command_tune = {
    .name = "tune",
    .summary = "measure the fastest tiles, pieces and threads, and write the tuning file",
    .description =
        "Tries values of a capability's parameters, and writes those that are faster than davit's own choice "
        "to the tuning file, which every program that uses davit reads: $DAVIT_TUNING_FILE, else "
        "$XDG_CONFIG_HOME/davit/tuning.tsv, else ~/.config/davit/tuning.tsv. The file's other values stay.",
    .examples = "davit tune axpy --size 1e5 --budget 1 -o tuning.tsv\n"
                "davit tune --show\n",
    .operands = CLI_PLACES({.name = "CAPABILITY",
                            .at = offsetof(tuning, name),
                            .optional = true,
                            .words = "gemm gemv axpy reduce scan stencil atax closest_pair copy",
                            .help = "gemm, gemv, axpy, reduce, scan, stencil, atax, closest_pair or copy"}),
    .options = CLI_OPTIONS(
        CLI_OPTION(WHOLE, tuning, size, "--size", "N", .minimum = 1,
                   .otherwise = "depends on capability and devices",
                   .help = "length of vectors, or rows and columns of matrices"),
        CLI_OPTION(REAL, tuning, budget, "--budget", "S", .maximum = INFINITY, .value = "60",
                   .help = "begin no trial after S seconds"),
        CLI_OPTION(WHOLE, tuning, repeat, "--repeat", "R", .minimum = 1, .maximum = TUNE_MOST_REPEATS,
                   .value = "5", .help = "runs of a trial"),
        CLI_OPTION(TEXT, tuning, output, "-o", "FILE", .otherwise = "as above",
                   .help = "the tuning file to read and write"),
        CLI_OPTION(FLAG, tuning, show, "--show", NULL, .excludes = "-o", .help = "print the values in use")),
    .common = CLI_COMMON_DEVICES | CLI_COMMON_THREADS | CLI_COMMON_JSON | CLI_COMMON_QUIET,
    .state = sizeof(tuning),
    .read = load,
    .run = run,
    .print = print,
    .json = json,
    .release = release,
};
