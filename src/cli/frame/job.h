/* SPDX-License-Identifier: Apache-2.0 */
/* The driver: runs a command in the steps that command.h describes. */
#ifndef DAVIT_SRC_CLI_FRAME_JOB_H
#define DAVIT_SRC_CLI_FRAME_JOB_H

#include "src/base/team.h"
#include "src/cli/frame/command.h"
#include "src/cli/frame/device_set.h"
#include "src/cli/frame/options.h"
#include "src/cli/frame/output.h"
#include "src/cli/frame/progress.h"

/* Seconds of the runs of one piece of work. */
typedef struct cli_times {
  double median, minimum, maximum, deviation;
} cli_times;

/* What a second of work achieves: the unit, and how much of it a run does (flops, bytes, cells). */
typedef enum cli_unit { CLI_NO_RATE, CLI_GFLOPS, CLI_GBYTES, CLI_GCUPS } cli_unit;

typedef struct cli_rate {
  cli_unit unit;
  double amount;
} cli_rate;

/* The part of every state that the driver uses; the state's first member. */
typedef struct cli_job {
  cli_common common; /* first: the parser fills it in */
  const cli_command *command;
  cli_device_set devices;
  cli_memory memory; /* where operands should be for these devices */
  cli_rate rate;     /* set by the command */
  cli_progress progress;
  cli_times seconds; /* without reading and writing files */
  cli_check check;
  cli_array reference; /* of cli_job_reference() */
  double *run_seconds; /* of the runs of cli_job_measure() */
  struct cli_block *blocks;
  int code; /* what a command that reports returns in the end */
} cli_job;

/* The members of an options struct of the library that name the devices; `state` is a pointer. */
#define CLI_DEVICES(state) .devices = (state)->job.devices.ids, .device_count = (state)->job.devices.count

/* Runs the command; argv[0] is its name. Returns the exit code, or CLI_HELP. */
int cli_job_run(const cli_command *command, int argc, char **argv);

/* ---- for commands; `job` is the state's first member ---- */

/* Memory of zeros that the driver frees, count × size bytes; NULL, after a message, when memory is short. */
void *cli_job_memory(cli_job *job, size_t count, size_t size);

/* The work is done in host memory, whatever the devices are. */
void cli_job_on_host(cli_job *job);

/* Runs the command's `work` warmup + repeat times, each time with the result as it was before the first run,
 * and adds the times to job->seconds. `run` of commands without one of their own. */
int cli_job_measure(cli_job *job);

/* For a command's `divides`: always; or unless it computes on the CPU, whose order of operations is that of
 * one process. */
int cli_divides(const void *job, bool *divided);
int cli_divides_on_devices(const void *job, bool *divided);

/* Writes one element; a complex one as an array of its two parts. */
void cli_json_element(cli_json *json, const char *key, const cli_array *array, int64_t index);

/* Creates job->reference like the command's result and lets `work` compute it by the CPU reference. */
int cli_job_reference(cli_job *job);

#endif
