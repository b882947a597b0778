/* SPDX-License-Identifier: Apache-2.0 */
/* The driver: runs a command in the steps that command.h describes. */
#ifndef DAVIT_SRC_CLI_FRAME_JOB_H
#define DAVIT_SRC_CLI_FRAME_JOB_H

#include "src/cli/frame/state.h"

/* Runs the command; argv[0] is its name. Returns the exit code, or CLI_HELP. */
int cli_job_run(const cli_command *command, int argc, char **argv);

/* ---- for commands; `job` is the state's first member ---- */

/* Memory of zeros that the driver frees, count × size bytes; NULL, after a message, when memory is short. */
void *cli_job_memory(cli_job *job, size_t count, size_t size);

/* Makes a pointer point to such memory of `count` elements, or returns CLI_DEVICE from the function. */
#define CLI_ROOM(job, pointer, count)                                                                        \
  do {                                                                                                       \
    (pointer) = cli_job_memory(job, (size_t)(count), sizeof *(pointer));                                     \
    if (!(pointer))                                                                                          \
      return CLI_DEVICE;                                                                                     \
  } while (0)

/* Whether the command line has this option. */
static inline bool cli_job_given(const cli_job *job, const char *option) {
  return cli_is_given(job->command, &job->common, option);
}

/* Runs the command's `work` warmup + repeat times, each time with the result as it was before the first run,
 * and adds the times to job->seconds. `run` of commands without one of their own. */
int cli_job_measure(cli_job *job);

/* For a command's `divides`: always; or unless it computes on the CPU, whose order of operations is that of
 * one process. */
int cli_divides(const void *job, bool *divided);
int cli_divides_on_devices(const void *job, bool *divided);

/* Writes one element; a complex one as an array of its two parts. */
void cli_json_element(cli_json *json, const char *key, const cli_array *array, int64_t index);

/* Creates job->reference like the command's result, lets `work` compute it by the CPU reference, and compares by the
 * command's `measure`, `error` and `bound`. */
int cli_job_compare(cli_job *job, cli_check *check);

/* For a command's `error`: the 2-norm of the difference between result and reference, NaN if one has NaN. */
double cli_job_distance(const void *job);

/* Writes command->sizes; `report` of commands without one of their own. */
void cli_job_report_sizes(cli_json *json, const cli_job *job);

#endif
