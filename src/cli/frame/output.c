/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "src/cli/frame/output.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/cli/fail.h"
#include "src/cli/files.h"
#include "src/cli/formats/array_file.h"

/* ---- outputs that replace a file ---- */

static cli_output *volatile open_outputs[CLI_MAX_OUTPUTS];

static void remove_and_die(int number) {
  for (int i = 0; i < CLI_MAX_OUTPUTS; i++)
    if (open_outputs[i])
      dvt_replacement_unlink(&open_outputs[i]->replacement);
  raise(number); /* SA_RESETHAND: the default action follows when this handler returns */
}

/* Replaces `from` in the table by `to`; NULL is a free place. */
static void exchange(const cli_output *from, cli_output *to) {
  for (int i = 0; i < CLI_MAX_OUTPUTS; i++)
    if (open_outputs[i] == from) {
      open_outputs[i] = to;
      return;
    }
}

static void watch(cli_output *output) {
  static const int numbers[] = {SIGINT,  SIGTERM, SIGHUP,  SIGPIPE, SIGXFSZ,  SIGQUIT,
                                SIGUSR1, SIGUSR2, SIGXCPU, SIGALRM, SIGVTALRM};
  const struct sigaction action = {.sa_handler = remove_and_die, .sa_flags = (int)SA_RESETHAND};
  exchange(NULL, output);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    struct sigaction old;
    if (!sigaction(numbers[i], NULL, &old) && old.sa_handler == SIG_DFL)
      sigaction(numbers[i], &action, NULL);
  }
}

/* Whether another output that is open replaces the same file. */
static bool is_taken(const cli_output *output) {
  bool taken = false;
  for (int i = 0; i < CLI_MAX_OUTPUTS; i++)
    taken = taken || (open_outputs[i] && open_outputs[i] != output &&
                      !strcmp(open_outputs[i]->replacement.target, output->replacement.target));
  return taken;
}

/* A file that is, or is to be, a regular one. */
static bool is_replaced(const char *path) {
  struct stat status;
  return stat(path, &status) || S_ISREG(status.st_mode);
}

static bool is_standard(const char *path) {
  return !strcmp(path, "-");
}

/* An output that exists must be no input. */
static int check_inputs(const char *option, const char *path) {
  struct stat status;
  const bool exists = !(is_standard(path) ? fstat(STDOUT_FILENO, &status) : stat(path, &status));
  return exists ? cli_files_written(option, path, &status) : CLI_OK;
}

static int open_fail(const char *path, const char *why) {
  return cli_fail(errno == ENOMEM ? CLI_DEVICE : CLI_FAILED, "%s: cannot be written: %s",
                  is_standard(path) ? "standard output" : path, why);
}

bool cli_output_ends_in(const char *path, const char *ending) {
  const size_t length = strlen(path), end = strlen(ending);
  return is_standard(path) || !is_replaced(path) ||
         (length > end && !strcasecmp(path + length - end, ending));
}

/* ---- outputs that others write ---- */

static bool leads_nowhere(const char *path) {
  struct stat status;
  return !lstat(path, &status) && stat(path, &status) && errno == ENOENT;
}

int cli_output_check_other(const char *option, const char *path) {
  cli_output other = {.path = path};
  if (!path || !is_replaced(path))
    return CLI_OK;
  const char *why = dvt_replacement_open(path, &other.replacement);
  const bool taken = !why && is_taken(&other);
  dvt_replacement_discard(&other.replacement);
  if (why && leads_nowhere(path))
    return open_fail(path, why);
  return taken ? cli_fail(CLI_USAGE, "%s %s: this file is another output of the command", option, path)
               : check_inputs(option, path);
}

/* ---- opening ---- */

static int open_file(const char *path, cli_output *output) {
  if (!is_replaced(path)) {
    output->file = fopen(path, "wbe");
    return output->file ? CLI_OK : open_fail(path, strerror(errno));
  }
  watch(output);
  const char *why = dvt_replacement_open(path, &output->replacement);
  if (why)
    return open_fail(path, why);
  if (is_taken(output))
    return cli_files_are_one(path);
  output->file = dvt_replacement_stream(&output->replacement);
  return output->file ? CLI_OK : open_fail(path, strerror(errno));
}

int cli_output_open(const char *option, cli_output *output) {
  if (!output->path)
    return CLI_OK;
  CLI_TRY(check_inputs(option, output->path));
  if (is_standard(output->path)) {
    output->file = stdout;
    return CLI_OK;
  }
  const int code = open_file(output->path, output);
  if (code != CLI_OK)
    cli_output_discard(output);
  return code;
}

/* ---- ending ---- */

void cli_output_discard(cli_output *output) {
  if (output->file && output->file != stdout)
    fclose(output->file);
  dvt_replacement_discard(&output->replacement);
  exchange(output, NULL);
  *output = (cli_output){0};
}

static int end_fail(cli_output *output) {
  const int code = open_fail(output->path, strerror(errno));
  cli_output_discard(output);
  return code;
}

/* Flushes and closes: everything that fails if the disk is full. */
static bool close_file(cli_output *output) {
  FILE *file = output->file;
  const bool flushed =
      !ferror(file) && !fflush(file) && (!output->replacement.target || !fsync(fileno(file)));
  if (file == stdout)
    return flushed;
  output->file = NULL;
  return !fclose(file) && flushed;
}

/* An empty text would not say the shape, and is read by nothing. */
static int empty_fail(cli_output *output, const cli_array *array) {
  char shape[CLI_SHAPE_TEXT];
  cli_shape_text(array, shape);
  cli_fail(CLI_FAILED, "%s: CSV cannot represent %s, which has no elements; .npy can", output->path, shape);
  cli_output_discard(output);
  return CLI_FAILED;
}

int cli_output_write(cli_output *output, const cli_array *array) {
  if (!output->file)
    return CLI_OK;
  cli_array_writer *write = cli_writer_of(output->path);
  if (write == cli_csv_write && !cli_array_count(array))
    return empty_fail(output, array);
  return write(output->file, array) && close_file(output) ? CLI_OK : end_fail(output);
}

int cli_output_write_text(cli_output *output, bool (*write)(FILE *file, const void *state),
                          const void *state) {
  if (!output->file)
    return CLI_OK;
  return write(output->file, state) && close_file(output) ? CLI_OK : end_fail(output);
}

int cli_outputs_commit(void) {
  static bool (*const steps[])(dvt_replacement *) = {dvt_replacement_name, dvt_replacement_place};
  for (size_t step = 0; step < sizeof steps / sizeof *steps; step++)
    for (int i = 0; i < CLI_MAX_OUTPUTS; i++)
      if (open_outputs[i] && !steps[step](&open_outputs[i]->replacement))
        return end_fail(open_outputs[i]);
  for (int i = 0; i < CLI_MAX_OUTPUTS; i++)
    if (open_outputs[i])
      dvt_replacement_keep(&open_outputs[i]->replacement);
  return CLI_OK;
}

int cli_output_flush(void) {
  errno = 0;
  const bool failed = fflush(stdout) || ferror(stdout);
  return failed ? open_fail("-", errno ? strerror(errno) : "an earlier part failed") : CLI_OK;
}
