/* SPDX-License-Identifier: Apache-2.0 */
/* What the states of all commands begin with. */
#ifndef DAVIT_SRC_CLI_FRAME_STATE_H
#define DAVIT_SRC_CLI_FRAME_STATE_H

#include <davit/device.h>

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

typedef struct cli_rate {
  cli_unit unit;
  double amount;
} cli_rate;

/* A size of the operands, and what of it is here: part `index` of `count`, all where one rank works. */
typedef struct cli_size {
  int64_t whole, begin, here;
  int index, count;
} cli_size;

/* The part of every state that the driver uses; the state's first member. */
typedef struct cli_job {
  cli_common common; /* first: the parser fills it in */
  const cli_command *command;
  cli_output output; /* of -o, where the command has it */
  cli_device_set devices;
  cli_memory memory; /* where operands should be for these devices */
  cli_rate rate;
  cli_size sizes[CLI_SIZES + 1]; /* command->sizes; the others are 1 */
  cli_array first;               /* the first operand, whole, without elements */
  double bytes;                  /* of all operands, whole */
  cli_progress progress;
  cli_times seconds; /* without reading and writing files */
  cli_check check;
  cli_array reference; /* of cli_job_compare() */
  double *run_seconds; /* of the runs of cli_job_measure() */
  struct cli_block *blocks;
  int code; /* what a command that reports returns in the end */
} cli_job;

/* The members of an options struct of the library that name the devices; `state` is a pointer. */
#define CLI_DEVICES(state) .devices = (state)->job.devices.ids, .device_count = (state)->job.devices.count

/* The member of a state at this place. */
static inline void *cli_member(cli_job *job, size_t at) {
  return (char *)job + at;
}

/* The work is done in host memory, whatever the devices are. */
static inline void cli_job_on_host(cli_job *job) {
  job->devices = (cli_device_set){.count = 1, .ids = {DAVIT_HOST}};
  job->memory = CLI_MEMORY_PLAIN;
}

#endif
