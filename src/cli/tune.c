/* davit tune: measures which values of a capability's parameters are fastest on the devices at hand, and
 * writes them to the tuning file. The search is tune_search.c's; here are what is measured, and the report.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <davit/davit.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/cli/clock.h"
#include "src/cli/frame/device_set.h"
#include "src/cli/frame/json.h"
#include "src/cli/frame/old_options.h"
#include "src/cli/frame/progress.h"
#include "src/cli/tune_search.h"

enum { BUFFERS = 3, NAME_BYTES = 24 };

/* The devices for which a parameter is read. */
enum { HOST_ALONE = 1, HOSTS = 2, GPUS = 4, ALL = HOST_ALONE | HOSTS | GPUS };

/* How values are spaced: powers of two; these and one between each two; 1, 2, 3, 4, 6, 8 … */
typedef enum spacing { DOUBLING, FINER, COUNTING } spacing;

typedef struct parameter {
  const char *name; /* of gemm's tile as long as it lacks size and devices */
  unsigned devices;
  spacing spacing;
} parameter;

typedef struct tuning tuning;

typedef struct capability {
  const char *name;
  const char *what;            /* is measured */
  int64_t gpu_size, host_size; /* n where none is given */
  int dimensions[BUFFERS];     /* of the operands: n, or n × n elements; 0: none */
  bool on_device;              /* operand 0 is pageable, operand 1 the first device's; else all are pinned */
  davit_status (*work)(tuning *t);
  parameter parameters[TUNE_MOST_AXES];
} capability;

struct tuning {
  cli_common common;
  cli_device_set devices;
  const capability *capability;
  int64_t size, repeat;
  cli_old_real budget;
  const char *output;
  bool show;
  bool gpu; /* among the devices */
  double *operand[BUFFERS];
  char name[TUNE_MOST_AXES][NAME_BYTES]; /* of the axes' parameters */
  tune_search search;
  char path[PATH_MAX]; /* of the tuning file */
  double seconds;
};

/* ---- what is measured ---- */

#define DEVICES(t) .devices = (t)->devices.ids, .device_count = (t)->devices.count

static davit_status work_gemm(tuning *t) {
  const int64_t n = t->size;
  const davit_gemm_options options = {.devices = t->devices.ids, .device_count = t->devices.count};
  return davit_dgemm('N', 'N', n, n, n, 1, t->operand[0], n, t->operand[1], n, 0, t->operand[2], n, &options);
}

static davit_status work_gemv(tuning *t) {
  const int64_t n = t->size;
  return davit_dgemv('N', n, n, 1, t->operand[0], n, t->operand[1], 1, 0, t->operand[2], 1,
                     &(davit_gemv_options){DEVICES(t)});
}

static davit_status work_axpy(tuning *t) {
  return davit_daxpy(t->size, 1e-3, t->operand[0], 1, t->operand[1], 1, &(davit_axpy_options){DEVICES(t)});
}

static davit_status work_reduce(tuning *t) {
  double sum;
  return davit_reduce(DAVIT_SUM, DAVIT_DOUBLE, t->size, t->operand[0], &sum,
                      &(davit_reduce_options){DEVICES(t)});
}

static davit_status work_scan(tuning *t) {
  return davit_scan(DAVIT_SUM, DAVIT_DOUBLE, DAVIT_SCAN_INCLUSIVE, t->size, t->operand[0], t->operand[1],
                    &(davit_scan_options){DEVICES(t)});
}

static davit_status work_stencil(tuning *t) {
  const int64_t n = t->size;
  return davit_stencil(DAVIT_DOUBLE, n, n, t->operand[0], n, NULL, t->operand[1], n,
                       &(davit_stencil_options){.border = DAVIT_STENCIL_BORDER_COPY, DEVICES(t)});
}

static davit_status work_atax(tuning *t) {
  const int64_t n = t->size;
  return davit_atax(DAVIT_DOUBLE, 'T', n, n, t->operand[0], n, t->operand[1], NULL, t->operand[2],
                    &(davit_atax_options){DEVICES(t)});
}

static davit_status work_closest_pair(tuning *t) {
  davit_closest_pair_result pair;
  return davit_closest_pair(DAVIT_DOUBLE, 2, t->size / 2, t->operand[1], &pair,
                            &(davit_closest_pair_options){.algorithm = DAVIT_CLOSEST_PAIR_GRID, DEVICES(t)});
}

static davit_status work_copy(tuning *t) {
  return davit_copy((size_t)t->size * sizeof(double), t->operand[0], t->operand[1]);
}

enum { MIB = 1 << 17 }; /* doubles */

static const capability capabilities[] = {
    {.name = "gemm",
     .what = "product of two n x n matrices",
     .gpu_size = 8192,
     .host_size = 1024,
     .dimensions = {2, 2, 2},
     .work = work_gemm,
     .parameters = {{"tile", HOSTS | GPUS, FINER}}},
    {.name = "gemv",
     .what = "n x n matrix times a vector",
     .gpu_size = 16384,
     .host_size = 4096,
     .dimensions = {2, 1, 1},
     .work = work_gemv,
     .parameters = {{"chunk", ALL, DOUBLING}}},
    {.name = "axpy",
     .what = "y += a x, vectors of n",
     .gpu_size = 512 * MIB,
     .host_size = 64 * MIB,
     .dimensions = {1, 1},
     .work = work_axpy,
     .parameters = {{"chunk", ALL, DOUBLING}}},
    {.name = "reduce",
     .what = "sum of n numbers",
     .gpu_size = 1024 * MIB,
     .host_size = 64 * MIB,
     .dimensions = {1},
     .work = work_reduce,
     .parameters = {{"piece_bytes", GPUS, DOUBLING}}},
    {.name = "scan",
     .what = "prefix sums of n numbers",
     .gpu_size = 512 * MIB,
     .host_size = 64 * MIB,
     .dimensions = {1, 1},
     .work = work_scan,
     .parameters = {{"piece_bytes", GPUS, DOUBLING}}},
    {.name = "stencil",
     .what = "3 x 3 stencil of an n x n matrix",
     .gpu_size = 16384,
     .host_size = 4096,
     .dimensions = {2, 2},
     .work = work_stencil,
     .parameters = {{"chunk_bytes", ALL, DOUBLING}, {"threads", HOST_ALONE | HOSTS, COUNTING}}},
    {.name = "atax",
     .what = "A (A' x), an n x n matrix",
     .gpu_size = 8192,
     .host_size = 4096,
     .dimensions = {2, 1, 1},
     .work = work_atax,
     .parameters = {{"chunk_bytes", HOSTS | GPUS, DOUBLING},
                    {"threads", HOST_ALONE | HOSTS, COUNTING},
                    {"teams", GPUS, COUNTING}}},
    {.name = "closest_pair",
     .what = "closest pair of n / 2 points of the plane",
     .gpu_size = 128 * MIB,
     .dimensions = {0, 1},
     .on_device = true,
     .work = work_closest_pair,
     .parameters = {{"teams", GPUS, COUNTING}}},
    {.name = "copy",
     .what = "copy of n pageable numbers to a device",
     .gpu_size = 256 * MIB,
     .dimensions = {1, 1},
     .on_device = true,
     .work = work_copy,
     .parameters = {{"stage_bytes", GPUS, DOUBLING}}},
};
enum { CAPABILITIES = sizeof capabilities / sizeof *capabilities };

static int choose_capability(tuning *t, const char *name) {
  char names[256] = "";
  size_t used = 0;
  for (int i = 0; i < CAPABILITIES; i++) {
    if (!strcmp(capabilities[i].name, name))
      t->capability = &capabilities[i];
    used += (size_t)snprintf(names + used, sizeof names - used, " %s", capabilities[i].name);
  }
  return t->capability ? CLI_OK
                       : cli_fail(CLI_USAGE, "there is nothing to tune in '%s'; there is in:%s", name, names);
}

static int choose_devices(tuning *t) {
  const int code = cli_device_set_parse(t->common.devices, &t->devices);
  if (code != CLI_OK)
    return code;
  if (t->devices.reference)
    return cli_fail(CLI_USAGE, "--devices cpu is the reference, which has no parameters; -1 is the host");
  for (int i = 0; i < t->devices.count; i++) {
    davit_device_info info;
    const davit_status status = davit_device_describe(t->devices.ids[i], &info);
    if (status != DAVIT_SUCCESS)
      return cli_status(status);
    t->gpu = t->gpu || (info.kind != DAVIT_DEVICE_CPU && info.kind != DAVIT_DEVICE_HOST_OFFLOAD);
  }
  return CLI_OK;
}

/* So that the squares of sizes are numbers; no machine has that much memory. */
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

/* What is of use for this problem: not more chunks than one can wait for, none larger than all there is. */
static void narrow_range(const tuning *t, const parameter *p, int64_t *least, int64_t *most) {
  const int64_t most_chunks = 4096, most_tiles = 16;
  int64_t all = t->capability->dimensions[0] == 2 && p->spacing != FINER ? t->size * t->size : t->size;
  int64_t pieces = p->spacing == FINER ? most_tiles : most_chunks;
  if (strstr(p->name, "bytes"))
    all *= (int64_t)sizeof(double);
  if (p->spacing == COUNTING) {
    all = p->devices & GPUS ? INT64_MAX : cli_threads();
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
  while (devices < 8 && t->devices.count >= 2 * devices)
    devices *= 2;
  snprintf(name, NAME_BYTES, "%s_%" PRId64 "_%d", p->name, size, devices);
}

static int choose_axes(tuning *t) {
  const unsigned devices = t->gpu ? GPUS : t->devices.count > 1 ? HOSTS : HOST_ALONE;
  for (int i = 0; i < TUNE_MOST_AXES && t->capability->parameters[i].name; i++) {
    const parameter *p = &t->capability->parameters[i];
    tune_axis axis = {.count = 0};
    int64_t least, most;
    if (!(p->devices & devices))
      continue;
    name_axis(t, p, t->name[t->search.axes]);
    find_range(t->capability->name, t->name[t->search.axes], &least, &most);
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
    const int place = !c->on_device ? DAVIT_PINNED : i == 0 ? DAVIT_PAGEABLE : t->devices.ids[0];
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
  for (int i = 0; i < t->devices.count; i++)
    for (int axis = 0; axis < t->search.axes && status == DAVIT_SUCCESS; axis++)
      status = davit_tuning_set(t->devices.ids[i], t->capability->name, t->name[axis], values[axis], seconds);
  return status;
}

static int measure(void *state, const int64_t *values, double *seconds) {
  tuning *t = state;
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
  s->budget = t->budget.value;
  s->measure = measure;
  s->now = clock_of;
  s->state = t;
  int code = open_operands(t);
  cli_progress progress;
  const double start = cli_now();
  cli_progress_start(&progress, "tune", t->common.quiet);
  if (code == CLI_OK)
    code = tune_search_run(s);
  cli_progress_stop(&progress);
  t->seconds = cli_now() - start;
  return code;
}

/* ---- the tuning file ---- */

static int unwritable(const char *path) {
  return cli_fail(CLI_FAILED, "%s: cannot be written", path);
}

/* An unwritable place is noticed before any work. The directory of the usual file is made when it is written.
 */
static int check_place(const tuning *t) {
  char folder[PATH_MAX];
  if (!access(t->path, F_OK))
    return access(t->path, W_OK) ? unwritable(t->path) : CLI_OK;
  if (!t->output)
    return CLI_OK;
  snprintf(folder, sizeof folder, "%s", t->path);
  char *last = strrchr(folder, '/');
  if (last)
    last[last == folder] = '\0';
  return access(last ? folder : ".", W_OK | X_OK) ? unwritable(t->path) : CLI_OK;
}

/* What the file holds already stays in it. */
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

static void print_text(const tuning *t) {
  const tune_search *s = &t->search;
  printf("%s: %s, n = %" PRId64 ", float64, on", t->capability->name, t->capability->what, t->size);
  for (int i = 0; i < t->devices.count; i++)
    printf(" %d", t->devices.ids[i]);
  printf("; medians of %" PRId64 " runs\n", t->repeat);
  for (int axis = 0; axis < s->axes; axis++)
    printf("  %14s", t->name[axis]);
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
        printf(" %s = %" PRId64, t->name[axis], s->winner.value[axis]);
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
    cli_json_integer(json, t->name[axis], trial->value[axis]);
  cli_json_close_object(json);
  cli_json_real(json, "seconds", trial->seconds);
  cli_json_real(json, "noise", trial->noise);
  cli_json_close_object(json);
}

static void json_head(cli_json *json, const tuning *t) {
  cli_json_open_object(json, NULL);
  cli_json_string(json, "command", "tune");
  cli_json_open_array(json, "devices");
  for (int i = 0; i < t->devices.count; i++)
    cli_json_integer(json, NULL, t->devices.ids[i]);
  cli_json_close_array(json);
  cli_json_real(json, "seconds", t->seconds);
  cli_json_string(json, "path", t->path);
}

static void print_json(const tuning *t) {
  const tune_search *s = &t->search;
  cli_json json = {.file = stdout};
  json_head(&json, t);
  cli_json_string(&json, "capability", t->capability->name);
  cli_json_integer(&json, "n", t->size);
  cli_json_integer(&json, "repeat", t->repeat);
  cli_json_bool(&json, "complete", s->complete);
  cli_json_bool(&json, "tuned", s->tuned);
  json_trial(&json, t, "own", &s->own);
  json_trial(&json, t, "winner", &s->winner);
  cli_json_open_array(&json, "trials");
  for (int i = 0; i < s->trials; i++)
    json_trial(&json, t, NULL, &s->trial[i]);
  cli_json_close_array(&json);
  cli_json_close_object(&json);
  putchar('\n');
}

/* ---- --show ---- */

static void show_text(const tuning *t, const davit_tuning_entry *entries, int count) {
  printf("%s\n", *t->path ? t->path : "no tuning file");
  for (int i = 0; i < count; i++)
    printf("%s %s = %" PRId64 " on %s (%.6g s)\n", entries[i].capability, entries[i].parameter,
           entries[i].value, entries[i].device, entries[i].seconds);
}

static void show_json(const tuning *t, const davit_tuning_entry *entries, int count) {
  char warning[1024] = "";
  cli_json json = {.file = stdout};
  davit_tuning_warning(sizeof warning, warning);
  json_head(&json, t);
  cli_json_open_array(&json, "entries");
  for (int i = 0; i < count; i++) {
    cli_json_open_object(&json, NULL);
    cli_json_string(&json, "device", entries[i].device);
    cli_json_string(&json, "capability", entries[i].capability);
    cli_json_string(&json, "parameter", entries[i].parameter);
    cli_json_integer(&json, "value", entries[i].value);
    cli_json_real(&json, "seconds", entries[i].seconds);
    cli_json_close_object(&json);
  }
  cli_json_close_array(&json);
  cli_json_string(&json, "warning", warning);
  cli_json_close_object(&json);
  putchar('\n');
}

/* What the library would read. */
static int show(tuning *t) {
  int count = 0;
  const double start = cli_now();
  davit_status status = davit_tuning_path(PATH_MAX, t->path);
  if (status == DAVIT_SUCCESS)
    status = davit_tuning_list(0, NULL, &count);
  davit_tuning_entry *entries = calloc((size_t)count + 1, sizeof *entries);
  if (!entries)
    return cli_fail(CLI_DEVICE, "not enough memory for %d entries", count);
  if (status == DAVIT_SUCCESS)
    status = davit_tuning_list(count, entries, &count);
  t->seconds = cli_now() - start;
  if (status == DAVIT_SUCCESS)
    (t->common.json ? show_json : show_text)(t, entries, count);
  free(entries);
  return cli_status(status);
}

/* ---- command ---- */

static int tune(tuning *t, const char *name) {
  int code = choose_capability(t, name);
  if (code == CLI_OK)
    code = choose_devices(t);
  if (code == CLI_OK)
    code = choose_size(t);
  if (code == CLI_OK)
    code = choose_axes(t);
  if (code == CLI_OK)
    code = open_file(t);
  if (code == CLI_OK)
    code = check_place(t);
  if (code == CLI_OK)
    code = search(t);
  if (code == CLI_OK)
    code = write_file(t);
  if (code == CLI_OK)
    (t->common.json ? print_json : print_text)(t);
  return code;
}

static int check_arguments(const tuning *t, int operands) {
  if (t->show ? operands > 0 || t->output : operands == 0)
    return cli_fail(CLI_USAGE, "takes a capability, or --show and neither that nor -o");
  if (t->repeat > TUNE_MOST_REPEATS)
    return cli_fail(CLI_USAGE, "--repeat takes at most %d", TUNE_MOST_REPEATS);
  if (!(t->budget.value >= 0))
    return cli_fail(CLI_USAGE, "--budget takes seconds, 0 or more");
  return CLI_OK;
}

static int run(const cli_command *self, int argc, char **argv) {
  tuning *t = calloc(1, sizeof *t);
  if (!t)
    return cli_fail(CLI_DEVICE, "not enough memory for the trials");
  const char *name = NULL;
  int operands = 0;
  t->repeat = 5;
  t->budget.value = 60;
  const cli_old_option options[] = {
      {"o", CLI_OLD_TEXT, &t->output},      {"size", CLI_OLD_SIZE, &t->size},
      {"budget", CLI_OLD_REAL, &t->budget}, {"repeat", CLI_OLD_SIZE, &t->repeat},
      {"show", CLI_OLD_FLAG, &t->show},     {0}};
  int code = cli_old_parse_list(self, options, argc, argv, &t->common, &name, 1, &operands);
  if (code == CLI_OK)
    code = check_arguments(t, operands);
  if (code == CLI_OK)
    code = t->show ? show(t) : tune(t, name);
  for (int i = 0; i < BUFFERS; i++)
    davit_free(t->operand[i]);
  free(t);
  return code;
}

const cli_command cli_command_tune = {
    .name = "tune",
    .summary = "measure the fastest tiles, pieces and threads, and write the tuning file",
    .usage =
        "davit tune CAPABILITY [options]\n"
        "       davit tune --show [--json]\n\n"
        "CAPABILITY is gemm, gemv, axpy, reduce, scan, stencil, atax, closest_pair or copy.\n"
        "Tries values of its parameters, and writes what is faster than davit's own choice to the tuning\n"
        "file, which every program that uses davit reads: $DAVIT_TUNING_FILE, else\n"
        "$XDG_CONFIG_HOME/davit/tuning.tsv, else ~/.config/davit/tuning.tsv. The file's other values "
        "stay.\n\n"
        "  --size N         length of vectors, or rows and columns of matrices\n"
        "  --budget S       begin no trial after S seconds (default 60)\n"
        "  --repeat R       runs of a trial (default 5)\n"
        "  -o FILE          the tuning file to read and write\n"
        "  --show           print the values in use\n",
    .common = CLI_COMMON_DEVICES | CLI_COMMON_JSON | CLI_COMMON_QUIET,
    .old_run = run,
};
