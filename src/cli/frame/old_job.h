/* A job: what the commands that compute have in common. It knows the devices, the output file, the
 * timing and the form of the report, and runs in this order: open (devices, output), the command reads its
 * operands, measure, check, finish (write, report). cli_old_job_run() is the last three; a command with work of its own
 * between them calls them one by one. Every function returns an exit code. */
#ifndef DAVIT_SRC_CLI_FRAME_OLD_JOB_H
#define DAVIT_SRC_CLI_FRAME_OLD_JOB_H

#include "src/cli/formats/array.h"
#include "src/cli/frame/device_set.h"
#include "src/cli/frame/json.h"
#include "src/cli/frame/old_options.h"
#include "src/cli/frame/output.h"
#include "src/cli/frame/progress.h"

typedef struct cli_old_job {
  const cli_command *command;
  cli_common common;
  cli_device_set devices;
  cli_memory memory; /* where operands should live for these devices */
  cli_output output;
  cli_output second;                            /* of a command with two results */
  const cli_array *second_result;               /* what goes there */
  bool (*write)(FILE *file, const void *state); /* of a command whose result is a text: writes it */
  cli_progress progress;                        /* runs while the job is measured or checked */
  double seconds;                               /* median over the repetitions */
  cli_check check;
} cli_old_job;

/* What a command adds to the report; `state` is the command's own. */
typedef struct cli_old_job_report {
  void (*text)(FILE *file, const void *state);
  void (*json)(cli_json *json, const void *state);
} cli_old_job_report;

/* The steps of a command whose operands are read. */
typedef struct cli_old_job_steps {
  void (*prepare)(void *state);
  davit_status (*work)(void *state);
  int (*check)(void *state, cli_check *check); /* NULL: the command takes no --check */
  cli_old_job_report report;
} cli_old_job_steps;

/* Devices and output of job->common. `path` is the output's or NULL. */
int cli_old_job_open(cli_old_job *job, const cli_command *command, const char *path);

/* The file at `path` (NULL: none), which the option --`name` gave, gets `result` when the job is finished;
 * both files are written or neither is. */
int cli_old_job_open_second(cli_old_job *job, const char *name, const char *path, const cli_array *result);

/* Runs `work` warmup + repeat times, each after `prepare`, which is not timed, and sets job->seconds. */
int cli_old_job_measure(cli_old_job *job, davit_status (*work)(void *state), void (*prepare)(void *state),
                        void *state);

/* The same for a part of the work, one of several: adds to job->seconds, and shows no progress. */
int cli_old_job_measure_part(cli_old_job *job, davit_status (*work)(void *state),
                             void (*prepare)(void *state), void *state);

/* Runs `reference` (what --check compares with) under the progress line, if the check is wanted. */
int cli_old_job_reference(cli_old_job *job, int (*reference)(void *state, cli_check *check), void *state);

/* Writes `result` (NULL: nothing) if the check holds, then prints the report; CLI_FAILED when it does not
 * hold, and nothing is written then. */
int cli_old_job_finish(cli_old_job *job, const cli_array *result, const cli_old_job_report *report,
                       const void *state);

/* cli_old_job_measure(), cli_old_job_reference(), cli_old_job_finish(). */
int cli_old_job_run(cli_old_job *job, const cli_old_job_steps *steps, const cli_array *result, void *state);

/* Ends the job; of an output that is not finished nothing remains. */
void cli_old_job_close(cli_old_job *job);

#endif
