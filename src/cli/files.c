/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/files.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/cli/fail.h"

typedef struct file {
  dev_t device;
  ino_t number;
  const char *option; /* of an output */
  const char *name;
} file;

typedef struct list {
  file *files;
  int64_t count, room;
} list;

static list inputs, outputs;

static const file *find(const list *l, const file *wanted) {
  for (int64_t i = 0; i < l->count; i++) {
    const file *f = &l->files[i];
    if (f->number == wanted->number && f->device == wanted->device)
      return f;
  }
  return NULL;
}

/* Files are opened several times. */
static int add(list *l, const file *new) {
  if (find(l, new))
    return CLI_OK;
  if (!dvt_grow(&l->files, &l->room, l->count + 1, 8, sizeof *new))
    return cli_fail(CLI_DEVICE, "not enough memory for the names of %lld files", (long long)l->count + 1);
  l->files[l->count++] = *new;
  return CLI_OK;
}

static int refuse(const file *output, const file *input) {
  const bool same = !strcmp(output->name, input->name);
  return cli_fail(CLI_USAGE, "%s %s: the command reads this file%s%s", output->option, output->name,
                  same ? "" : ", as ", same ? "" : input->name);
}

int cli_files_read(const char *name, const struct stat *status) {
  const file input = {status->st_dev, status->st_ino, NULL, name};
  if (!S_ISREG(status->st_mode))
    return CLI_OK;
  const file *output = find(&outputs, &input);
  return output ? refuse(output, &input) : add(&inputs, &input);
}

int cli_files_read_path(const char *name, const char *path) {
  struct stat status;
  return stat(path, &status) ? CLI_OK : cli_files_read(name, &status);
}

int cli_files_written(const char *option, const char *path, const struct stat *status) {
  const file output = {status->st_dev, status->st_ino, option, path};
  if (!S_ISREG(status->st_mode))
    return CLI_OK;
  const file *input = find(&inputs, &output), *other = find(&outputs, &output);
  if (other && strcmp(other->option, option) != 0)
    return cli_files_are_one(path);
  return input ? refuse(&output, input) : add(&outputs, &output);
}

int cli_files_are_one(const char *path) {
  return cli_fail(CLI_USAGE, "%s: this file is two outputs of the command", path);
}

static void forget(list *l) {
  free(l->files);
  *l = (list){0};
}

void cli_files_forget(void) {
  forget(&inputs);
  forget(&outputs);
}
