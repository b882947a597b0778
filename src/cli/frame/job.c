/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/frame/job.h"

#include <davit/device.h>
#include <davit/trace.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/allocate.h"
#include "src/base/clock.h"
#include "src/cli/files.h"
#include "src/cli/formats/array_file.h"
#include "src/cli/formats/compare.h"
#include "src/cli/frame/arrays.h"
#include "src/cli/frame/same.h"
#include "src/cli/ranks.h"

/* ---- the state ---- */

/* The common options are where the state begins. */
_Static_assert(offsetof(cli_job, common) == 0,
               "the parser finds the common options at the state's beginning");

static cli_array *array_at(cli_job *job, size_t at) {
  return at ? cli_member(job, at) : NULL;
}

/* The command's result, or NULL. */
static const cli_array *result_of(const cli_job *job) {
  return job->command->result ? (const cli_array *)((const char *)job + job->command->result) : NULL;
}

/* The rows of the command's outputs, one after the other; NULL after the last. */
static const cli_option *next_output(const cli_job *job, const cli_option *row) {
  row = row ? row + 1 : job->command->options;
  while (row && row->name && row->kind != CLI_OUTPUT)
    row++;
  return row && row->name ? row : NULL;
}

struct cli_block {
  struct cli_block *next;
  max_align_t memory[];
};

void *cli_job_memory(cli_job *job, size_t count, size_t size) {
  size_t bytes = 0;
  struct cli_block *block = NULL;
  if (!__builtin_mul_overflow(count, size, &bytes) && bytes <= SIZE_MAX - sizeof *block)
    block = dvt_allocate(1, sizeof *block + bytes);
  if (!block) {
    cli_fail(CLI_DEVICE, "not enough memory for %zu x %zu bytes", count, size);
    return NULL;
  }
  block->next = job->blocks;
  job->blocks = block;
  return block->memory;
}

static void free_state(cli_job *job) {
  const cli_command *command = job->command;
  for (const cli_option *row = NULL; (row = next_output(job, row));)
    cli_output_discard(cli_member(job, row->at));
  if (command->release)
    command->release(job);
  for (const cli_array_row *row = command->arrays; row && row->at; row++)
    cli_array_free(array_at(job, row->at));
  cli_array_free(&job->reference);
  while (job->blocks) {
    struct cli_block *next = job->blocks->next;
    free(job->blocks);
    job->blocks = next;
  }
  cli_options_free(command, job);
  cli_files_forget();
  free(job);
}

/* ---- open ---- */

/* The ranks of a machine divide its devices; where there are more ranks, several have the same. Ranks may find
 * different numbers of devices, so this asks no other rank. */
static void divide_devices(cli_device_set *set) {
  int rank, ranks;
  cli_ranks_local(&rank, &ranks);
  const int begin = set->count * rank / ranks, end = set->count * (rank + 1) / ranks;
  set->count = end > begin ? end - begin : 1;
  memmove(set->ids, set->ids + begin, (size_t)set->count * sizeof *set->ids);
}

static int open_devices(cli_job *job) {
  const bool chosen = job->command->common & CLI_COMMON_DEVICES;
  davit_set_threads(job->common.threads);
  dvt_threads_set(job->common.threads); /* of the references, which the tool has in itself */
  int code = CLI_OK;
  if (chosen && cli_is_small(job->command, &job->common))
    cli_job_on_host(job);
  else
    code = cli_device_set_parse(chosen ? job->common.devices : "cpu", &job->devices);
  const bool on_cpu = job->devices.count == 1 && job->devices.ids[0] == DAVIT_HOST;
  job->memory = on_cpu ? CLI_MEMORY_PLAIN : CLI_MEMORY_PINNED;
  if (code == CLI_OK)
    divide_devices(&job->devices);
  return code;
}

static bool is_standard(const cli_output *output) {
  return output->path && !strcmp(output->path, "-");
}

/* What is no array is text. */
static bool is_array(const cli_job *job, const cli_option *row) {
  return row->array || job->command->result;
}

static int check_output(cli_job *job, const cli_option *row) {
  const cli_output *output = cli_member(job, row->at);
  if (!output->path)
    return CLI_OK;
  if (is_array(job, row) && !cli_writer_of(output->path))
    return cli_fail(CLI_USAGE, "%s %s: expected a name that ends in " CLI_WRITTEN, row->name, output->path);
  if (row->ending && !cli_output_ends_in(output->path, row->ending))
    return cli_fail(CLI_USAGE, "%s %s: expected a name that ends in %s", row->name, output->path,
                    row->ending);
  for (const cli_option *other = NULL; (other = next_output(job, other)) != row;) {
    const cli_output *earlier = cli_member(job, other->at);
    if (earlier->path && !strcmp(output->path, earlier->path))
      return cli_fail(CLI_USAGE, "%s and %s both write to '%s'", other->name, row->name, output->path);
  }
  if (is_standard(output) && job->common.json)
    return cli_fail(CLI_USAGE, "--json and %s - both write to standard output", row->name);
  if (is_standard(output) && is_array(job, row) && !job->common.force && isatty(STDOUT_FILENO))
    return cli_fail(CLI_USAGE,
                    "%s -: the result is binary, and standard output is a terminal; -f writes it there",
                    row->name);
  return CLI_OK;
}

/* The library writes the trace as the work goes on, so all that can be wrong with its place is seen before. */
static int check_trace(const char *path) {
  return path && !strcmp(path, "-")
             ? cli_fail(CLI_USAGE, "--trace -: a trace goes to a file, not to standard output")
             : cli_output_check_other("--trace", path);
}

static int open_outputs(cli_job *job) {
  for (const cli_option *row = NULL; (row = next_output(job, row));) {
    cli_output *output = cli_member(job, row->at);
    if (!cli_ranks_lead())
      *output = (cli_output){0};
    else if (!output->path && !job->common.json)
      output->path = row->value;
    CLI_TRY(check_output(job, row));
    CLI_TRY(cli_output_open(row->name, output));
  }
  return cli_ranks_lead() ? check_trace(job->common.trace) : CLI_OK;
}

/* ---- run ---- */

/* The memory for times is taken here, because no rank may fail alone before `work`, which may wait for
 * all ranks. */
static int read_operands(cli_job *job) {
  const int64_t repeat = job->common.repeat ? job->common.repeat : 1;
  CLI_ROOM(job, job->run_seconds, repeat);
  if (job->command->read)
    return job->command->read(job);
  return job->command->arrays ? cli_arrays_read(job) : CLI_OK;
}

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void add_times(cli_times *times, double *values, size_t count) {
  qsort(values, count, sizeof *values, compare_doubles);
  double mean = 0, squares = 0;
  for (size_t i = 0; i < count; i++)
    mean += values[i] / (double)count;
  for (size_t i = 0; i < count; i++)
    squares += (values[i] - mean) * (values[i] - mean);
  times->median += (values[(count - 1) / 2] + values[count / 2]) / 2;
  times->minimum += values[0];
  times->maximum += values[count - 1];
  times->deviation = hypot(times->deviation, count > 1 ? sqrt(squares / (double)(count - 1)) : 0);
}

static void restore(cli_job *job, cli_array *result) {
  const cli_array *initial = array_at(job, job->command->initial);
  if (job->command->restore)
    job->command->restore(job, result);
  else if (result)
    cli_restore(result, initial && initial->data ? initial : NULL);
}

int cli_job_measure(cli_job *job) {
  const int64_t repeat = job->common.repeat ? job->common.repeat : 1, all = repeat + job->common.warmup;
  cli_array *result = array_at(job, job->command->result);
  double *seconds = job->run_seconds;
  for (int64_t i = 0; i < all; i++) {
    if (all > 1 && !job->command->run)
      cli_progress_at(&job->progress, (double)i, (double)all, "runs");
    restore(job, result);
    const double start = dvt_now();
    CLI_TRY(cli_status(job->command->work(job, result, job->devices.reference)));
    if (i >= job->common.warmup)
      seconds[i - job->common.warmup] = dvt_now() - start;
  }
  add_times(&job->seconds, seconds, (size_t)repeat);
  return CLI_OK;
}

static bool is_traced(const cli_job *job) {
  return job->common.trace && cli_ranks_lead();
}

/* A step of its own, so that the other ranks do not wait in `run` for rank 0. The argument that may be refused is the
 * file's path: an output that cannot be written. */
static int start_trace(cli_job *job) {
  const davit_status status = is_traced(job) ? davit_trace_start(job->common.trace) : DAVIT_SUCCESS;
  return status == DAVIT_INVALID_ARGUMENT ? cli_fail(CLI_FAILED, "--trace: %s", davit_last_error())
                                          : cli_status(status);
}

static int run(cli_job *job) {
  int code = CLI_OK;
  cli_progress_start(&job->progress, job->command->name, job->common.quiet);
  if (job->command->run)
    code = job->command->run(job);
  else if (job->command->work)
    code = cli_job_measure(job);
  const davit_status status = is_traced(job) ? davit_trace_stop() : DAVIT_SUCCESS;
  cli_progress_stop(&job->progress);
  return code == CLI_OK ? cli_status(status) : code;
}

static int gather(cli_job *job) {
  if (!cli_ranks_several())
    return CLI_OK;
  return job->command->gather ? job->command->gather(job)
         : job->command->cut  ? cli_arrays_gather(job)
                              : CLI_OK;
}

/* ---- check ---- */

double cli_job_distance(const void *job) {
  return cli_distance(result_of(job), &((const cli_job *)job)->reference, CLI_NONFINITE_FAILS);
}

int cli_job_compare(cli_job *job, cli_check *check) {
  const cli_command *command = job->command;
  const cli_array *result = result_of(job);
  CLI_TRY(cli_array_create_like(result->type, result, CLI_MEMORY_PLAIN, &job->reference));
  restore(job, &job->reference);
  CLI_TRY(cli_status(command->work(job, &job->reference, true)));
  *check = (cli_check){.measure = command->measure,
                       .error = command->error ? command->error(job)
                                               : (double)cli_differences(result, &job->reference),
                       .bound = command->bound ? command->bound(job) : 0};
  return CLI_OK;
}

/* An error that is NaN does not hold. */
static bool check_holds(const cli_job *job) {
  return !job->check.measure || job->check.error <= job->check.bound;
}

/* Whether an element is NaN, or also infinite. */
static bool has(const cli_array *whole, bool infinite) {
  const cli_array parts = cli_array_parts(whole), *array = &parts;
  bool found = false;
  for (int64_t i = 0; i < cli_array_count(array) && cli_is_floating(array->type) && !found; i++)
    found = infinite ? !isfinite(cli_number(array, i)) : isnan(cli_number(array, i));
  return found;
}

/* The operands are the arrays before the result. */
static bool has_overflow(cli_job *job) {
  const cli_array *result = result_of(job);
  bool found = result && has(result, false);
  for (const cli_array_row *row = job->command->arrays; found && row->at != job->command->result; row++)
    found = !has(array_at(job, row->at), true);
  return found;
}

/* A factor (--alpha) that is NaN or infinite, or NULL. */
static const char *infinite_factor(const cli_job *job) {
  const char *found = NULL;
  for (const cli_option *row = job->command->options; row && row->name && !found; row++) {
    const double *parts = (const double *)(const void *)((const char *)job + row->at);
    if (row->kind == CLI_COMPLEX && !(isfinite(parts[0]) && isfinite(parts[1])))
      found = row->name;
  }
  return found;
}

/* Why the result has NaN, or is not what it should be. */
static void explain_nan(cli_job *job) {
  const cli_array *result = result_of(job);
  const bool wrong = !check_holds(job) || (result && has(result, false));
  job->check.factor = wrong ? infinite_factor(job) : NULL;
  job->check.overflow = !job->check.factor && has_overflow(job);
}

static int check(cli_job *job) {
  int code = CLI_OK;
  if (!job->common.check || !(cli_ranks_lead() || job->command->check_on_all))
    return code;
  if (job->command->check || job->command->measure) {
    cli_progress_start(&job->progress, "check", job->common.quiet);
    code = job->command->check ? job->command->check(job, &job->check) : cli_job_compare(job, &job->check);
    cli_progress_stop(&job->progress);
    if (job->check.measure)
      explain_nan(job);
  }
  if (!check_holds(job))
    job->code = CLI_FAILED;
  return code;
}

/* ---- write ---- */

static int finish(cli_job *job) {
  return job->command->finish && cli_ranks_lead() ? job->command->finish(job) : CLI_OK;
}

static int write_output(cli_job *job, const cli_option *row) {
  cli_output *output = cli_member(job, row->at);
  const cli_array *array = array_at(job, row->array ? row->array : job->command->result);
  return array ? cli_output_write(output, array)
               : cli_output_write_text(output, row->write ? row->write : job->command->write, job);
}

static int write_outputs(cli_job *job) {
  if (!check_holds(job))
    return CLI_OK;
  for (const cli_option *row = NULL; (row = next_output(job, row));)
    CLI_TRY(write_output(job, row));
  return cli_outputs_commit();
}

/* ---- report ---- */

/* A result of one value, or NULL. */
static const cli_array *value_of(const cli_job *job) {
  return next_output(job, NULL) ? NULL : result_of(job);
}

static void print_value(const cli_array *value) {
  cli_element_write(stdout, value, 0, cli_type_digits(value->type));
  putchar('\n');
}

void cli_json_element(cli_json *json, const char *key, const cli_array *array, int64_t index) {
  const cli_array parts = cli_array_parts(array);
  if (cli_is_complex(array->type)) {
    cli_json_open_array(json, key);
    cli_json_real(json, NULL, (double)cli_number(&parts, 2 * index));
    cli_json_real(json, NULL, (double)cli_number(&parts, 2 * index + 1));
    cli_json_close_array(json);
  } else if (cli_is_floating(array->type)) {
    cli_json_real(json, key, (double)cli_number(array, index));
  } else {
    cli_json_integer(json, key, cli_integer(array, index));
  }
}

void cli_job_report_sizes(cli_json *json, const cli_job *job) {
  for (int i = 0; job->command->sizes[i]; i++)
    cli_json_integer(json, job->command->sizes[i], job->sizes[i].whole);
}

static const struct {
  const char *key, *name;
} units[] = {[CLI_GFLOPS] = {"gflops", "GFLOP/s"},
             [CLI_GBYTES] = {"gbytes_per_s", "GB/s"},
             [CLI_GCUPS] = {"gcups", "GCUPS"}};

/* Members that have the same form in JSON and for people. */
static void report_figures(cli_json *json, const cli_job *job) {
  cli_json_real(json, "seconds", job->seconds.median);
  if (job->common.repeat > 1) {
    cli_json_real(json, "seconds_minimum", job->seconds.minimum);
    cli_json_real(json, "seconds_maximum", job->seconds.maximum);
    cli_json_real(json, "seconds_deviation", job->seconds.deviation);
  }
  if (job->rate.unit)
    cli_json_real(json, units[job->rate.unit].key, 1e-9 * job->rate.amount / job->seconds.median);
  if (result_of(job))
    cli_json_string(json, "type", cli_type_name(result_of(job)->type));
  if (job->command->report)
    job->command->report(json, job);
  else
    cli_job_report_sizes(json, job);
}

static void print_json(const cli_job *job) {
  cli_json json = {.file = stdout};
  cli_json_open_object(&json, NULL);
  cli_json_string(&json, "command", job->command->name);
  cli_json_open_array(&json, "devices");
  for (int i = 0; i < job->devices.count; i++)
    cli_json_integer(&json, NULL, job->devices.ids[i]);
  cli_json_close_array(&json);
  if (cli_ranks_several())
    cli_json_integer(&json, "ranks", cli_ranks_count());
  report_figures(&json, job);
  if (job->command->json)
    job->command->json(&json, job);
  else if (value_of(job))
    cli_json_element(&json, "result", value_of(job), 0);
  if (job->check.measure) {
    cli_json_string(&json, "check", job->check.measure);
    cli_json_real(&json, "error", job->check.error);
    cli_json_real(&json, "bound", job->check.bound);
  }
  cli_json_close_object(&json);
  putchar('\n');
}

/* A time in a unit that suits the median; at least three digits of it. */
static void print_time(double seconds, double scale) {
  fprintf(stderr, seconds * scale < 1000 ? "%.3g" : "%.0f", seconds * scale);
}

/* "median 252 ms (168 … 382), 13.7 GFLOP/s" */
static void print_repeated(const cli_job *job) {
  const cli_times *times = &job->seconds;
  const double scale = times->median < 1e-3 ? 1e6 : times->median < 1 ? 1e3 : 1;
  fprintf(stderr, "median ");
  print_time(times->median, scale);
  fprintf(stderr, " %s (", scale > 1e3 ? "µs" : scale > 1 ? "ms" : "s");
  print_time(times->minimum, scale);
  fprintf(stderr, " … ");
  print_time(times->maximum, scale);
  fprintf(stderr, ")");
  if (job->rate.unit)
    fprintf(stderr, ", %.3g %s", 1e-9 * job->rate.amount / times->median, units[job->rate.unit].name);
  fprintf(stderr, "\n");
}

static void print_details(const cli_job *job) {
  cli_json lines = {.file = stderr, .lines = true};
  const bool chosen = job->command->common & CLI_COMMON_DEVICES;
  if (chosen && job->devices.reference)
    fprintf(stderr, "cpu: reference on %d thread%s\n", dvt_threads(), CLI_PLURAL(dvt_threads()));
  if (chosen && !job->devices.reference)
    cli_devices_print(&job->devices, stderr, "");
  cli_json_open_object(&lines, NULL);
  report_figures(&lines, job);
  cli_json_close_object(&lines);
}

/* Work whose result is not kept anywhere is rarely meant. */
static void remark_lost_result(const cli_job *job) {
  const cli_option *first = next_output(job, NULL);
  bool kept = !first || (job->command->print && !job->command->print_is_aside);
  for (const cli_option *row = NULL; (row = next_output(job, row));)
    kept |= cli_job_given(job, row->name) || row->value;
  if (!kept)
    cli_remark("the result was not kept; %s %s writes it", first->name, first->argument);
}

static void print_output(const cli_job *job, bool holds) {
  if (job->common.json)
    print_json(job);
  else if (holds && job->command->print)
    job->command->print(job);
  else if (holds && value_of(job))
    print_value(value_of(job));
}

static int report(cli_job *job) {
  if (!cli_ranks_lead())
    return CLI_OK;
  const bool holds = check_holds(job);
  const cli_check *found = &job->check;
  const double error = fabs(found->error); /* a NaN is written without a sign */
  const char *reason = found->factor     ? " is not finite"
                       : found->overflow ? "the result has NaN from finite operands: partial results overflow"
                                         : "";
  const char *factor = found->factor ? found->factor : "", *mark = *reason ? "; " : "";
  print_output(job, holds);
  const int flushed = cli_output_flush();
  if (flushed != CLI_OK)
    return flushed;
  if (job->command->remark)
    job->command->remark(job);
  if (holds && job->common.repeat > 1 && !job->common.json && !job->common.quiet)
    print_repeated(job);
  if (job->common.verbose && !job->common.json)
    print_details(job);
  if (!holds)
    return cli_fail(job->code, "check failed: error %.3g, bound %.3g: %s%s%s%s", error, found->bound,
                    found->measure, mark, factor, reason);
  if (job->common.json)
    return job->code;
  if (found->measure && !job->common.quiet)
    fprintf(stderr, "error %.3g, bound %.3g: %s%s%s%s\n", error, found->bound, found->measure, mark, factor,
            reason);
  remark_lost_result(job);
  return job->code;
}

/* ---- all of it ---- */

/* Rank 0 alone prints. */
static void be_quiet(cli_common *common) {
  common->quiet = true;
  common->verbose = false;
}

int cli_divides(const void *job, bool *divided) {
  (void)job;
  *divided = true;
  return CLI_OK;
}

int cli_divides_on_devices(const void *job, bool *divided) {
  *divided = strcmp(((const cli_job *)job)->common.devices, "cpu") != 0;
  return CLI_OK;
}

/* What cannot be divided is done by rank 0, which decides: ranks that saw different files would not do the same
 * steps. */
static int share_out(cli_job *job, bool *takes_part) {
  *takes_part = true;
  if (!cli_ranks_several())
    return CLI_OK;
  if (!cli_ranks_lead())
    be_quiet(&job->common);
  bool divided = false;
  CLI_TRY(cli_ranks_agree(job->command->divides ? job->command->divides(job, &divided) : CLI_OK));
  cli_ranks_share(sizeof divided, &divided);
  *takes_part = divided || cli_ranks_alone();
  return CLI_OK;
}

static int compare_files(cli_job *job) {
  (void)job;
  return cli_ranks_compare_notes();
}

/* The state, with what the command line says; NULL after a message that is still to be agreed on. */
static int parse(const cli_command *command, int argc, char **argv, cli_job **job) {
  *job = dvt_allocate(1, command->state);
  if (!*job)
    return cli_fail(CLI_DEVICE, "not enough memory for %zu bytes", command->state);
  (*job)->command = command;
  return cli_options_parse(command, argc, argv, *job);
}

int cli_job_run(const cli_command *command, int argc, char **argv) {
  static int (*const steps[])(cli_job *job) = {open_devices, open_outputs,  read_operands, compare_files,
                                               start_trace,  run,           gather,        check,
                                               finish,       write_outputs, report};
  cli_job *job;
  bool takes_part = true;
  int code = cli_ranks_agree(parse(command, argc, argv, &job));
  if (code == CLI_OK)
    code = cli_ranks_agree(cli_options_compare(command, job));
  if (code == CLI_OK)
    code = share_out(job, &takes_part);
  if (code == CLI_OK)
    cli_be_quiet(job->common.quiet);
  if (code == CLI_OK && takes_part)
    for (size_t i = 0; i < sizeof steps / sizeof *steps && code == CLI_OK; i++)
      code = cli_ranks_agree(steps[i](job));
  if (job)
    free_state(job);
  return code;
}
