/* SPDX-License-Identifier: Apache-2.0 */
/* Output files, written whole or not at all. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "src/cli/frame/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/allocate.h"
#include "src/cli/fail.h"
#include "src/cli/formats/array_file.h"

/* ---- removal on signals ---- */

static char *volatile doomed[CLI_MAX_OUTPUTS]; /* temporary files to remove when a signal ends the program */

static void remove_and_die(int number) {
  for (int i = 0; i < CLI_MAX_OUTPUTS; i++)
    if (doomed[i])
      unlink(doomed[i]);
  raise(number); /* SA_RESETHAND: the default action follows when this handler returns */
}

/* Replaces `from` in the table by `to`; NULL is a free place. */
static void exchange(const char *from, char *to) {
  for (int i = 0; i < CLI_MAX_OUTPUTS; i++)
    if (doomed[i] == from) {
      doomed[i] = to;
      return;
    }
}

static void watch(char *temporary) {
  static const int numbers[] = {SIGINT,  SIGTERM, SIGHUP,  SIGPIPE, SIGXFSZ,  SIGQUIT,
                                SIGUSR1, SIGUSR2, SIGXCPU, SIGALRM, SIGVTALRM};
  const struct sigaction action = {.sa_handler = remove_and_die, .sa_flags = (int)SA_RESETHAND};
  exchange(NULL, temporary);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    struct sigaction old;
    if (!sigaction(numbers[i], NULL, &old) && old.sa_handler == SIG_DFL)
      sigaction(numbers[i], &action, NULL);
  }
}

/* ---- opening ---- */

/* Of the name of a temporary file, after its target's. */
static const char suffix[] = ".davit-XXXXXX";

/* Whether an output that is open has this target. */
static bool is_open(const char *target) {
  const size_t length = strlen(target);
  bool open = false;
  for (int i = 0; i < CLI_MAX_OUTPUTS; i++)
    open = open || (doomed[i] && strlen(doomed[i]) == length + sizeof suffix - 1 &&
                    !strncmp(doomed[i], target, length));
  return open;
}

/* The path with all links of its folder followed, whether the file exists or not; NULL with errno. */
static char *resolve(const char *path, bool exists) {
  if (exists)
    return realpath(path, NULL);
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  char *folder = slash ? dvt_allocate_text("%.*s", (int)(slash - path) + 1, path) : dvt_allocate_text(".");
  char *real = folder ? realpath(folder, NULL) : NULL;
  char *resolved = real ? dvt_allocate_text("%s/%s", strcmp(real, "/") ? real : "", name) : NULL;
  free(folder);
  free(real);
  return resolved;
}

static int open_fail(const char *path) {
  return cli_fail(CLI_FAILED, "%s: cannot be written: %s", path, strerror(errno));
}

/* mkstemp() creates files with mode 600; the result gets the mode that open() would give. */
static void set_mode(int file, const struct stat *existing) {
  mode_t mode;
  if (existing) {
    mode = existing->st_mode & 07777;
  } else {
    const mode_t mask = umask(0);
    umask(mask);
    mode = 0666 & ~mask;
  }
  (void)fchmod(file, mode); /* a file system without modes keeps its own */
}

static int open_temporary(cli_output *output, const struct stat *existing) {
  output->temporary = dvt_allocate_text("%s%s", output->target, suffix);
  if (!output->temporary)
    return cli_fail(CLI_DEVICE, "not enough memory for a file name");
  const int file = mkostemp(output->temporary, O_CLOEXEC);
  if (file < 0) {
    free(output->temporary);
    output->temporary = NULL;
    return open_fail(output->path);
  }
  watch(output->temporary);
  set_mode(file, existing);
  output->file = fdopen(file, "wb");
  return output->file ? CLI_OK : open_fail(output->path);
}

static int open_file(const char *path, cli_output *output) {
  struct stat status, link;
  const bool exists = !stat(path, &status);
  if (!exists && !lstat(path, &link))
    return cli_fail(CLI_FAILED, "%s: cannot be written: it is a link to a file that does not exist", path);
  if (exists && !S_ISREG(status.st_mode)) {
    output->file = fopen(path, "wbe");
    return output->file ? CLI_OK : open_fail(path);
  }
  if (exists && access(path, W_OK))
    return open_fail(path);
  output->target = resolve(path, exists);
  if (!output->target)
    return open_fail(path);
  if (is_open(output->target))
    return cli_fail(CLI_USAGE, "%s: two outputs of the command are this file", path);
  return open_temporary(output, exists ? &status : NULL);
}

int cli_output_open(cli_output *output) {
  if (!output->path)
    return CLI_OK;
  if (!strcmp(output->path, "-")) {
    output->file = stdout;
    return CLI_OK;
  }
  const int code = open_file(output->path, output);
  if (code != CLI_OK)
    cli_output_discard(output);
  return code;
}

/* ---- ending ---- */

static void forget(cli_output *output) {
  if (output->temporary)
    exchange(output->temporary, NULL);
  free(output->temporary);
  free(output->target);
  *output = (cli_output){0};
}

void cli_output_discard(cli_output *output) {
  if (output->file && output->file != stdout)
    fclose(output->file);
  if (output->temporary)
    unlink(output->temporary);
  forget(output);
}

static int end_fail(cli_output *output) {
  const int code = open_fail(output->path);
  cli_output_discard(output);
  return code;
}

/* Flushes and closes: everything that fails if the disk is full. */
static bool close_file(cli_output *output) {
  FILE *file = output->file;
  const bool flushed = !ferror(file) && !fflush(file) && (!output->temporary || !fsync(fileno(file)));
  if (file == stdout)
    return flushed;
  output->file = NULL;
  return !fclose(file) && flushed;
}

int cli_output_write(cli_output *output, const cli_array *array) {
  if (!output->file)
    return CLI_OK;
  const bool written = cli_writer_of(output->path)(output->file, array) && close_file(output);
  return written ? CLI_OK : end_fail(output);
}

int cli_output_write_text(cli_output *output, bool (*write)(FILE *file, const void *state),
                          const void *state) {
  if (!output->file)
    return CLI_OK;
  return write(output->file, state) && close_file(output) ? CLI_OK : end_fail(output);
}

int cli_output_commit(cli_output *output) {
  if (output->temporary && rename(output->temporary, output->target))
    return end_fail(output);
  forget(output);
  return CLI_OK;
}
