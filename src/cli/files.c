/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/files.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/cli/fail.h"

typedef struct file {
  dev_t device;
  ino_t number;
  const char *option; /* NULL: an input */
  const char *name;
} file;

static file *files;
static int64_t count, room;

/* Two names of one file, an output and an input. */
static int refuse(const file *output, const file *input) {
  const bool same = !strcmp(output->name, input->name);
  return cli_fail(CLI_USAGE, "%s %s: the command reads this file%s%s", output->option, output->name,
                  same ? "" : ", as ", same ? "" : input->name);
}

static int note(const file *new) {
  for (const file *f = files; f < files + count; f++)
    if (f->number == new->number && f->device == new->device && !f->option != !new->option)
      return new->option ? refuse(new, f) : refuse(f, new);
  if (!dvt_grow(&files, &room, count + 1, 8, sizeof *files))
    return cli_fail(CLI_DEVICE, "not enough memory for the names of %lld files", (long long)count + 1);
  files[count++] = *new;
  return CLI_OK;
}

int cli_files_read(const char *name, const struct stat *status) {
  const file input = {status->st_dev, status->st_ino, NULL, name};
  return S_ISREG(status->st_mode) ? note(&input) : CLI_OK;
}

int cli_files_read_path(const char *name, const char *path) {
  struct stat status;
  return stat(path, &status) ? CLI_OK : cli_files_read(name, &status);
}

int cli_files_written(const char *option, const char *path, const struct stat *status) {
  const file output = {status->st_dev, status->st_ino, option, path};
  return S_ISREG(status->st_mode) ? note(&output) : CLI_OK;
}

void cli_files_forget(void) {
  free(files);
  files = NULL;
  count = room = 0;
}
