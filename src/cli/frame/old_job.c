/* What the commands that compute have in common. */
#include "src/cli/frame/old_job.h"

#include <davit/device.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/clock.h"

static bool is_standard(const char *path) {
  return path && !strcmp(path, "-");
}

int cli_old_job_open(cli_old_job *job, const cli_command *command, const char *path) {
  job->command = command;
  if (is_standard(path) && job->common.json)
    return cli_fail(CLI_USAGE, "--json and -o - both want standard output");
  const int code = cli_device_set_parse(job->common.devices, &job->devices);
  if (code != CLI_OK)
    return code;
  job->memory = job->devices.reference ? CLI_MEMORY_PLAIN : CLI_MEMORY_PINNED;
  return cli_output_open(path, &job->output);
}

int cli_old_job_open_second(cli_old_job *job, const char *name, const char *path, const cli_array *result) {
  if (is_standard(path) && job->common.json)
    return cli_fail(CLI_USAGE, "--json and --%s - both want standard output", name);
  if (path && job->output.path && !strcmp(path, job->output.path))
    return cli_fail(CLI_USAGE, "-o and --%s both want '%s'", name, path);
  job->second_result = result;
  return cli_output_open(path, &job->second);
}

void cli_old_job_close(cli_old_job *job) {
  cli_output_discard(&job->output);
  cli_output_discard(&job->second);
}

/* ---- timing ---- */

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, size_t count) {
  qsort(values, count, sizeof *values, compare_doubles);
  return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

int cli_old_job_measure_part(cli_old_job *job, davit_status (*work)(void *state),
                             void (*prepare)(void *state), void *state) {
  const int64_t repeat = job->common.repeat;
  double *seconds = malloc((size_t)repeat * sizeof *seconds);
  if (!seconds)
    return cli_fail(CLI_DEVICE, "not enough memory for %lld times", (long long)repeat);
  davit_status status = DAVIT_SUCCESS;
  for (int64_t i = -job->common.warmup; i < repeat && status == DAVIT_SUCCESS; i++) {
    prepare(state);
    const double start = cli_now();
    status = work(state);
    if (i >= 0)
      seconds[i] = cli_now() - start;
  }
  if (status == DAVIT_SUCCESS)
    job->seconds += median(seconds, (size_t)repeat);
  free(seconds);
  return cli_status(status);
}

int cli_old_job_measure(cli_old_job *job, davit_status (*work)(void *state), void (*prepare)(void *state),
                        void *state) {
  cli_progress_start(&job->progress, job->command->name, job->common.quiet);
  job->seconds = 0;
  const int code = cli_old_job_measure_part(job, work, prepare, state);
  cli_progress_stop(&job->progress);
  return code;
}

int cli_old_job_reference(cli_old_job *job, int (*reference)(void *state, cli_check *check), void *state) {
  if (!job->common.check)
    return CLI_OK;
  cli_progress_start(&job->progress, "check", job->common.quiet);
  const int code = reference(state, &job->check);
  cli_progress_stop(&job->progress);
  return code;
}

/* ---- report ---- */

static void print_json(const cli_old_job *job, const cli_old_job_report *report, const void *state) {
  cli_json json = {.file = stdout};
  cli_json_open_object(&json, NULL);
  cli_json_string(&json, "command", job->command->name);
  cli_json_open_array(&json, "devices");
  for (int i = 0; i < job->devices.count; i++)
    cli_json_integer(&json, NULL, job->devices.ids[i]);
  cli_json_close_array(&json);
  cli_json_real(&json, "seconds", job->seconds);
  report->json(&json, state);
  if (job->check.measure) {
    cli_json_string(&json, "check", job->check.measure);
    cli_json_real(&json, "error", job->check.error);
    cli_json_real(&json, "bound", job->check.bound);
  }
  cli_json_close_object(&json);
  putchar('\n');
}

static void print_devices(FILE *file, const cli_device_set *devices) {
  if (devices->reference)
    fprintf(file, "cpu: reference on %d threads\n", cli_threads());
  for (int i = 0; i < devices->count && !devices->reference; i++) {
    davit_device_info info;
    if (davit_device_describe(devices->ids[i], &info) == DAVIT_SUCCESS)
      fprintf(file, "device %d: %s, %s\n", info.device, davit_device_kind_string(info.kind), info.name);
  }
}

static void print_text(FILE *file, const cli_old_job *job, const cli_old_job_report *report,
                       const void *state) {
  print_devices(file, &job->devices);
  report->text(file, state);
  if (job->check.measure)
    fprintf(file, "error %.3g of bound %.3g: %s\n", job->check.error, job->check.bound, job->check.measure);
}

static int write_results(cli_old_job *job, const cli_array *result, const void *state) {
  int code = CLI_OK;
  if (job->write)
    code = cli_output_write_text(&job->output, job->write, state);
  else if (result)
    code = cli_output_write(&job->output, result);
  if (code == CLI_OK && job->second_result)
    code = cli_output_write(&job->second, job->second_result);
  if (code == CLI_OK)
    code = cli_output_commit(&job->output);
  return code == CLI_OK ? cli_output_commit(&job->second) : code;
}

/* Whether the check, if there was one, holds; an error that is NaN does not. */
static bool check_holds(const cli_old_job *job) {
  return !job->check.measure || job->check.error <= job->check.bound;
}

int cli_old_job_finish(cli_old_job *job, const cli_array *result, const cli_old_job_report *report,
                       const void *state) {
  const bool holds = check_holds(job);
  FILE *text = job->output.file == stdout || job->second.file == stdout ? stderr : stdout;
  const int code = holds ? write_results(job, result, state) : CLI_OK;
  if (code != CLI_OK)
    return code;
  if (job->common.json)
    print_json(job, report, state);
  else
    print_text(text, job, report, state);
  return holds ? CLI_OK
               : cli_fail(CLI_FAILED, "check failed: error %.3g of bound %.3g: %s", job->check.error,
                          job->check.bound, job->check.measure);
}

int cli_old_job_run(cli_old_job *job, const cli_old_job_steps *steps, const cli_array *result, void *state) {
  int code = cli_old_job_measure(job, steps->work, steps->prepare, state);
  if (code == CLI_OK)
    code = cli_old_job_reference(job, steps->check, state);
  return code == CLI_OK ? cli_old_job_finish(job, result, &steps->report, state) : code;
}
