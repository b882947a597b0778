/* SPDX-License-Identifier: Apache-2.0 */
/* davit tune: measures which values of a capability's parameters are fastest on the devices of this
 * machine, and writes them to the tuning file. The search is in tune_search.c, what is measured in
 * tune_work.c, the report in tune_report.c; here are the values to try, the file, and the command. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <davit/version.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/error.h"
#include "src/base/replace.h"
#include "src/base/tuning_file.h"
#include "src/cli/formats/input.h"
#include "src/cli/formats/names.h"
#include "src/cli/frame/nearest.h"
#include "src/cli/tune.h"

/* ---- the searches ---- */

static bool runs_here(const tuning *t, const tune_capability *c) {
  return t->gpu ? c->gpu_size > 0 : c->host_size > 0;
}

/* The searches of the capability that the devices allow. */
static int choose_capability(tuning *t) {
  char names[256] = "";
  cli_nearest nearest = {.word = t->name};
  size_t used = 0;
  bool known = false;
  for (const tune_capability *c = tune_capabilities; c->name; c++) {
    const bool wanted = !strcmp(c->name, t->name);
    known |= wanted;
    if (wanted && runs_here(t, c) && t->runs < TUNE_MOST_SEARCHES)
      t->run[t->runs++].capability = c;
    if (c == tune_capabilities || strcmp(c->name, c[-1].name) != 0)
      used += (size_t)snprintf(names + used, sizeof names - used, " %s", c->name);
    cli_nearest_try(&nearest, c->name);
  }
  return known ? CLI_OK
               : cli_fail(CLI_USAGE, "'%s' cannot be tuned; %s%s%sthe choices are:%s", t->name,
                          nearest.name ? "did you mean " : "", nearest.name ? nearest.name : "",
                          nearest.name ? "? " : "", names);
}

static int check_devices(tuning *t) {
  const cli_device_set *devices = &t->job.devices;
  if (devices->reference)
    return cli_fail(CLI_USAGE,
                    "--devices cpu is the reference, which has no parameters to tune; -1 is the host");
  for (int i = 0; i < devices->count; i++) {
    davit_device_info info;
    CLI_TRY(cli_status(davit_device_describe(devices->ids[i], &info)));
    t->gpu |= info.kind != DAVIT_DEVICE_CPU && info.kind != DAVIT_DEVICE_HOST_OFFLOAD;
  }
  return CLI_OK;
}

/* gemm's figures are measured on any device, and compared where there is a product to choose for. */
static void choose_figures(tuning *t, unsigned devices) {
  t->figures.wanted = !strcmp(t->name, "gemm");
  if (!t->figures.wanted || devices == TUNE_HOST_ALONE)
    return;
  t->figures.run = (tune_run){.capability = t->run[0].capability, .size = t->run[0].size};
  t->figures.run.other = t->run[0].size / 4;
}

/* The square of a size must fit 64 bits; no machine has that much memory. */
static int choose_size(tuning *t) {
  for (tune_run *r = t->run; r < t->run + t->runs; r++) {
    const int64_t most = (int64_t)1 << (r->capability->dimensions[0] == 2 ? 24 : 48);
    r->size = t->size ? t->size : t->gpu ? r->capability->gpu_size : r->capability->host_size;
    r->other = t->size || !t->gpu ? 0 : r->capability->gpu_other;
    r->search.workloads = r->other ? 2 : 1;
    if (r->size > most)
      return cli_fail(CLI_USAGE, "--size takes at most %" PRId64, most);
  }
  return CLI_OK;
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

/* Narrows the range to useful values: at most 4096 chunks or 16 panels a dimension, none larger than the
 * problem. Shapes of teams are as they are. */
static void narrow_range(const tuning *t, const tune_run *r, const tune_parameter *p, int64_t *least,
                         int64_t *most) {
  const int64_t most_chunks = 4096, most_panels = 16;
  int64_t all = r->capability->dimensions[0] == 2 && p->spacing != TUNE_FINER ? r->size * r->size : r->size;
  int64_t pieces = p->spacing == TUNE_FINER ? most_panels : most_chunks;
  if (r->capability->place == TUNE_ON_DEVICE || r->capability->open)
    return;
  if (strstr(p->name, "bytes"))
    all *= (int64_t)sizeof(double);
  if (p->spacing == TUNE_COUNTING) {
    all = p->devices & TUNE_GPUS && t->gpu ? INT64_MAX : dvt_threads();
    pieces = INT64_MAX;
  }
  *most = *most < all ? *most : all;
  const int64_t useful = all / pieces < *most / 16 ? all / pieces : *most / 16;
  *least = *least > useful ? *least : useful;
}

static void fill_axis(tune_axis *axis, tune_spacing spacing, int64_t least, int64_t most) {
  const bool between = spacing != TUNE_DOUBLING;
  for (int64_t value = 1; value <= most && value < INT64_MAX / 4; value *= 2) {
    if (value >= least && axis->count < TUNE_MOST_VALUES)
      axis->value[axis->count++] = value;
    if (between && value > 1 && value / 2 * 3 >= least && value / 2 * 3 <= most &&
        axis->count < TUNE_MOST_VALUES)
      axis->value[axis->count++] = value / 2 * 3;
  }
  if (spacing == TUNE_COUNTING && axis->count > 0 && axis->count < TUNE_MOST_VALUES &&
      axis->value[axis->count - 1] < most)
    axis->value[axis->count++] = most; /* all processors */
}

static void choose_run_axes(const tuning *t, tune_run *r, unsigned devices) {
  for (int i = 0; i < TUNE_MOST_AXES && r->capability->parameters[i].name; i++) {
    const tune_parameter *p = &r->capability->parameters[i];
    tune_axis axis = {.count = 0};
    int64_t least, most;
    if (!(p->devices & devices))
      continue;
    find_range(r->capability->key, p->name, &least, &most);
    narrow_range(t, r, p, &least, &most);
    fill_axis(&axis, p->spacing, least, most);
    if (axis.count > 1 && p->own_too) {
      memmove(axis.value + 1, axis.value, (size_t)axis.count * sizeof *axis.value);
      axis.value[0] = 0;
      axis.count++;
    }
    if (axis.count > 1) {
      r->axis_name[r->search.axes] = p->name;
      r->search.axis[r->search.axes++] = axis;
    }
  }
}

/* Searches without any values are left out. */
static int choose_axes(tuning *t) {
  const unsigned devices = t->gpu ? TUNE_GPUS : t->job.devices.count > 1 ? TUNE_HOSTS : TUNE_HOST_ALONE;
  int kept = 0;
  choose_figures(t, devices);
  for (int i = 0; i < t->runs; i++) {
    choose_run_axes(t, &t->run[i], devices);
    if (t->run[i].search.axes > 0)
      t->run[kept++] = t->run[i];
  }
  t->runs = kept;
  if (kept > 0 || t->figures.wanted)
    return CLI_OK;
  return cli_fail(CLI_USAGE, "%s has no parameters to tune %s", t->name,
                  devices == TUNE_GPUS    ? "on these devices"
                  : devices == TUNE_HOSTS ? "on host devices"
                                          : "on one host device");
}

/* ---- searching ---- */

static davit_status set_values(const tuning *t, const tune_run *r, const int64_t *values, double seconds) {
  for (int i = 0; i < t->job.devices.count; i++)
    for (int axis = 0; axis < r->search.axes; axis++)
      DVT_TRY(davit_tuning_set(t->job.devices.ids[i], r->capability->key, r->axis_name[axis], values[axis],
                               seconds));
  return DAVIT_SUCCESS;
}

static int measure(void *state, int workload, const int64_t *values, double *seconds) {
  tuning *t = state;
  cli_progress_at(&t->job.progress, t->now->search.runs, 0, "runs");
  CLI_TRY(cli_status(set_values(t, t->now, values, 0)));
  return cli_status(tune_measure(t, workload, seconds));
}

/* The shape of the kernel with these values. */
static davit_status find_shape(const tuning *t, const int64_t *values, davit_tuning_shape *shape) {
  DVT_TRY(set_values(t, t->now, values, 0));
  return davit_tuning_kernel(t->job.devices.ids[0], t->now->capability->key, shape);
}

/* A shape that takes fewer of a multiprocessor's places than this is no candidate. */
static const double LEAST_OCCUPANCY = 0.1;

static const tune_parameter *parameter_of(const tune_run *r, int axis) {
  const tune_parameter *p = r->capability->parameters;
  while (strcmp(p->name, r->axis_name[axis]) != 0)
    p++;
  return p;
}

static int fits(void *state, const int64_t *values, bool *fits) {
  const tuning *t = state;
  davit_tuning_shape shape;
  const davit_status status = find_shape(t, values, &shape);
  *fits = status == DAVIT_SUCCESS && shape.teams > 0 && shape.occupancy >= LEAST_OCCUPANCY;
  for (int axis = 0; axis < t->now->search.axes; axis++)
    if (parameter_of(t->now, axis)->resident && values[axis] > shape.teams)
      *fits = false;
  return cli_status(status);
}

static double clock_of(void *state) {
  (void)state;
  return dvt_now();
}

/* Whether the kernel's shape depends on what is searched for, and is known. */
static bool has_shapes(const tuning *t) {
  davit_tuning_shape shape;
  return t->gpu && t->now->capability->place != TUNE_PINNED &&
         davit_tuning_kernel(t->job.devices.ids[0], t->now->capability->key, &shape) == DAVIT_SUCCESS;
}

static int search(tuning *t, double budget) {
  static const int64_t own[TUNE_MOST_AXES] = {0};
  tune_run *r = t->now;
  tune_search *s = &r->search;
  r->has_shapes = has_shapes(t);
  s->repeat = (int)t->repeat;
  s->budget = budget;
  s->measure = measure;
  s->fits = r->has_shapes ? fits : NULL;
  s->now = clock_of;
  s->state = t;
  CLI_TRY(cli_status(set_values(t, r, own, 0)));
  CLI_TRY(cli_status(tune_open(t)));
  CLI_TRY(tune_search_run(s));
  if (r->has_shapes) {
    CLI_TRY(cli_status(find_shape(t, own, &r->own_shape)));
    CLI_TRY(cli_status(find_shape(t, s->winner.value, &r->shape)));
  }
  tune_close(t); /* after a failure `release` does it */
  return cli_status(set_values(t, r, s->winner.value, s->winner.seconds));
}

/* Searches that are left share what is left of the budget. */
static int search_all(tuning *t) {
  const double end = dvt_now() + t->budget;
  if (t->figures.wanted)
    CLI_TRY(tune_measure_figures(t));
  for (int i = 0; i < t->runs; i++) {
    t->now = &t->run[i];
    CLI_TRY(search(t, fmax(end - dvt_now(), 0) / (t->runs - i)));
  }
  return CLI_OK;
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

/* The values of the table. */
static int list_entries(tuning *t, davit_tuning_entry **entries, int *count) {
  CLI_TRY(cli_status(davit_tuning_list(0, NULL, count)));
  CLI_ROOM(&t->job, *entries, *count);
  return cli_status(davit_tuning_list(*count, *entries, count));
}

enum { FIRST_LINE = 256 };

/* The first line, or what there is room for, without its end. */
static int read_first_line(const char *path, char line[static FIRST_LINE]) {
  FILE *file = fopen(path, "re");
  const bool read = file && fgets(line, FIRST_LINE, file);
  const int why = errno;
  if (file)
    fclose(file);
  line[read ? strcspn(line, "\n") : 0] = 0;
  return read ? CLI_OK : cli_input_unreadable(path, why);
}

/* What other versions measured may mean something else. */
static int read_tuning_file(const tuning *t) {
  static const char begin[] = DVT_TUNING_FILE "\t";
  const char *version;
  char line[FIRST_LINE];
  CLI_TRY(read_first_line(t->path, line));
  if (strncmp(line, begin, sizeof begin - 1) != 0)
    return cli_fail(CLI_USAGE, "%s: expected a tuning file or a new name: another file is not replaced",
                    t->path);
  version = line + sizeof begin - 1;
  if (!strcmp(version, DAVIT_VERSION))
    return davit_tuning_load(t->path) == DAVIT_SUCCESS ? CLI_OK
                                                       : cli_fail(CLI_INPUT, "%s", davit_last_error());
  cli_remark("%s: its values are of davit %s; they are not used, and are dropped when new ones are written",
             t->path, version);
  return cli_status(davit_tuning_clear());
}

/* Values that the file already has stay in it. */
static int read_file(const tuning *t) {
  struct stat status;
  if (stat(t->path, &status))
    return cli_status(davit_tuning_clear());
  if (!S_ISREG(status.st_mode))
    return cli_fail(CLI_INPUT, "%s: expected a regular file", t->path);
  return status.st_size ? read_tuning_file(t) : cli_status(davit_tuning_clear());
}

static int open_file(tuning *t) {
  if (t->output && !strcmp(t->output, "-"))
    return cli_fail(CLI_USAGE, "-o: the tuning file is also read, so it cannot be standard output");
  if (t->output && strlen(t->output) >= sizeof t->path)
    return cli_fail(CLI_USAGE, "-o: the name is too long");
  if (t->output)
    strcpy(t->path, t->output);
  else if (davit_tuning_path(PATH_MAX, t->path) != DAVIT_SUCCESS || !*t->path)
    return cli_fail(CLI_USAGE, "there is no tuning file (DAVIT_TUNING_FILE is empty); name one with -o");
  CLI_TRY(read_file(t));
  return list_entries(t, &t->entries, &t->entry_count);
}

/* A file without any news stays as it is. */
static int write_file(tuning *t) {
  davit_tuning_entry *now;
  int count;
  CLI_TRY(list_entries(t, &now, &count));
  t->written = count != t->entry_count || memcmp(now, t->entries, (size_t)count * sizeof *now) != 0;
  return !t->written || davit_tuning_save(t->output) == DAVIT_SUCCESS
             ? CLI_OK
             : cli_fail(CLI_FAILED, "%s", davit_last_error());
}

/* ---- --show ---- */

/* The values that the library would use. */
static int list_values(tuning *t) {
  CLI_TRY(cli_status(davit_tuning_path(PATH_MAX, t->path)));
  return list_entries(t, &t->entries, &t->entry_count);
}

static void print_values(const tuning *t) {
  cli_write_plain(stdout, *t->path ? t->path : "no tuning file");
  putchar('\n');
  for (const davit_tuning_entry *e = t->entries; e < t->entries + t->entry_count; e++)
    printf("%s %s = %" PRId64 " on %s (%.6g s)\n", tune_name_of(e->capability), e->parameter, e->value,
           e->device, e->seconds);
}

static void json_values(cli_json *json, const tuning *t) {
  char warning[1024] = "";
  davit_tuning_warning(sizeof warning, warning);
  tune_json_entries(json, "entries", t->entries, t->entry_count, true);
  cli_json_string(json, "warning", warning);
}

/* ---- command ---- */

static int load(void *state) {
  static int (*const steps[])(tuning *t) = {check_devices, choose_capability, choose_size,
                                            choose_axes,   open_file,         check_place};
  tuning *t = state;
  if (t->show == !!t->name)
    return cli_fail(CLI_USAGE, "expected either a capability or --show");
  for (size_t i = 0; !t->show && i < sizeof steps / sizeof *steps; i++)
    CLI_TRY(steps[i](t));
  return CLI_OK;
}

static int run(void *state) {
  tuning *t = state;
  const double start = dvt_now();
  const int code = t->show ? list_values(t) : search_all(t);
  t->job.seconds.median = dvt_now() - start;
  return code == CLI_OK && !t->show ? write_file(t) : code;
}

static void print(const void *state) {
  const tuning *t = state;
  (t->show ? print_values : tune_print)(t);
}

static void json(cli_json *json, const void *state) {
  const tuning *t = state;
  cli_json_string(json, "path", t->path);
  (t->show ? json_values : tune_json)(json, t);
}

static void release(void *state) {
  tune_close(state);
}

const cli_command cli_command_tune = {
    .name = "tune",
    .summary = "find the fastest parameters on this machine, and write the tuning file",
    .description =
        "Measures different values of a capability's parameters, and writes those that are faster "
        "than davit's own choice to the tuning file, which every program that uses davit reads: "
        "$DAVIT_TUNING_FILE, else $XDG_CONFIG_HOME/davit/tuning.tsv, else "
        "~/.config/davit/tuning.tsv. Other values in the file are kept, except those of another version of "
        "davit. If nothing is faster, the file stays as it is, except that older values of the same "
        "search are removed. A file that is not a tuning file is never replaced.",
    .examples = "davit tune gemm --devices -1 --budget 1 -o tuning.tsv\n"
                "davit tune --show\n",
    .operands = CLI_PLACES(
        {.name = "CAPABILITY",
         .at = offsetof(tuning, name),
         .optional = true,
         .words = "gemm gemv axpy reduce scan stencil atax covariance align detect closest copy",
         .help =
             "gemm, gemv, axpy, reduce, scan, stencil, atax, covariance, align, detect, closest or copy"}),
    .options = CLI_OPTIONS(CLI_OPTION(WHOLE, tuning, size, "--size", "N", .minimum = 1,
                                      .otherwise = "depends on the capability and the devices",
                                      .help = "length of vectors, or rows and columns of matrices"),
                           CLI_OPTION(REAL, tuning, budget, "--budget", "S", .maximum = INFINITY,
                                      .value = "60", .help = "start no trial after S seconds"),
                           CLI_OPTION(WHOLE, tuning, repeat, "--repeat", "R", .minimum = 1,
                                      .maximum = TUNE_MOST_REPEATS, .value = "5", .help = "runs per trial"),
                           CLI_OPTION(TEXT, tuning, output, "-o", "FILE", .otherwise = "as above",
                                      .help = "the tuning file to read and write"),
                           CLI_OPTION(FLAG, tuning, show, "--show", NULL, .excludes = "-o",
                                      .help = "print the name of the tuning file and the values in use")),
    .common = CLI_COMMON_DEVICES | CLI_COMMON_THREADS | CLI_COMMON_JSON | CLI_COMMON_QUIET,
    .state = sizeof(tuning),
    .read = load,
    .run = run,
    .print = print,
    .json = json,
    .release = release,
};
