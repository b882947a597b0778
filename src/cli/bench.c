/* SPDX-License-Identifier: Apache-2.0 */
/* davit bench: runs the benchmark programs, bench_NAME.
 *
 * They are in the directory that DAVIT_BENCH_DIR names, else beside this executable in a build tree; they
 * are not installed. Each writes one JSON object to its standard output and tables to its standard error.
 * With --json this command prints the objects, else the tables. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/allocate.h"
#include "src/base/environment.h"
#include "src/cli/clock.h"
#include "src/cli/frame/job.h"

static const char prefix[] = "bench_";
enum { PREFIX = sizeof prefix - 1 };

typedef struct benchmarks {
  cli_job job;
  cli_list names; /* as given; none means all */
  bool peers, list;
  char folder[PATH_MAX];
  struct dirent **programs; /* all in `folder`, sorted */
  int program_count;
  FILE **documents; /* with --json: the output of the programs that succeeded */
  int document_count;
} benchmarks;

/* ---- programs ---- */

static int is_program(const struct dirent *entry) {
  return !strncmp(entry->d_name, prefix, PREFIX) && entry->d_name[PREFIX] && !strchr(entry->d_name, '.');
}

static void release(void *state) {
  benchmarks *b = state;
  for (int i = 0; i < b->program_count; i++)
    free(b->programs[i]);
  free(b->programs);
  b->programs = NULL;
  b->program_count = 0;
  for (int i = 0; i < b->document_count; i++)
    fclose(b->documents[i]);
}

static int find_programs(benchmarks *b) {
  const char *given = dvt_environment("DAVIT_BENCH_DIR");
  if (given && *given) {
    snprintf(b->folder, sizeof b->folder, "%s", given);
  } else {
    const ssize_t length = readlink("/proc/self/exe", b->folder, sizeof b->folder - 1);
    if (length < 0)
      return cli_fail(CLI_FAILED, "/proc/self/exe cannot be read: %s", strerror(errno));
    b->folder[length] = 0;
    *strrchr(b->folder, '/') = 0;
  }
  b->program_count = scandir(b->folder, &b->programs, is_program, alphasort);
  if (b->program_count > 0)
    return CLI_OK;
  return cli_fail(
      CLI_USAGE,
      "there are no benchmarks (bench_*) in '%s': they are not installed, ./run bench in a clone of davit "
      "builds and runs them, and DAVIT_BENCH_DIR names another directory",
      b->folder);
}

/* Whether the name as given belongs to the program: "reduction-ladder" is bench_reduction_ladder. */
static bool is_name_of(const char *name, const char *program) {
  for (program += PREFIX; *name && *program; name++, program++)
    if (*name != *program && !(*name == '-' && *program == '_'))
      return false;
  return !*name && !*program;
}

static const char *find_program(const benchmarks *b, const char *name) {
  for (int i = 0; i < b->program_count; i++)
    if (is_name_of(name, b->programs[i]->d_name))
      return b->programs[i]->d_name;
  return NULL;
}

static int unknown(const benchmarks *b, const char *name) {
  char list[1024] = "";
  size_t used = 0;
  for (int i = 0; i < b->program_count && used < sizeof list; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, " %s", b->programs[i]->d_name + PREFIX);
  for (char *c = list; *c; c++)
    if (*c == '_')
      *c = '-';
  return cli_fail(CLI_USAGE, "there is no benchmark '%s' in '%s'; there are:%s", name, b->folder, list);
}

/* ---- one run ---- */

/* The child's two streams: text to our standard output, or JSON to `document` and text where ours goes. */
static int connect_streams(posix_spawn_file_actions_t *actions, FILE *document) {
  int error = posix_spawn_file_actions_init(actions);
  if (!error && document)
    return posix_spawn_file_actions_adddup2(actions, fileno(document), STDOUT_FILENO);
  if (!error)
    error = posix_spawn_file_actions_adddup2(actions, STDOUT_FILENO, STDERR_FILENO);
  return error ? error : posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
}

static int start(const benchmarks *b, const char *program, FILE *document, pid_t *child) {
  char *path = dvt_allocate_text("%s/%s", b->folder, program);
  if (!path)
    return ENOMEM;
  char json[] = "--json", peers[] = "--peers", *arguments[4] = {path};
  int count = 1;
  if (b->job.common.json)
    arguments[count++] = json;
  if (b->peers)
    arguments[count++] = peers;
  posix_spawn_file_actions_t actions;
  int error = connect_streams(&actions, document);
  fflush(NULL);
  if (!error)
    error = posix_spawn(child, path, &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  free(path);
  return error;
}

static int wait_for(pid_t child, const char *program) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return cli_fail(CLI_FAILED, "%s: cannot be waited for: %s", program, strerror(errno));
  if (WIFSIGNALED(status))
    return cli_fail(CLI_FAILED, "%s: ended by signal %d", program, WTERMSIG(status));
  const int code = WEXITSTATUS(status);
  return code ? cli_fail(code == CLI_DEVICE ? CLI_DEVICE : CLI_FAILED, "%s: failed with exit status %d",
                         program, code)
              : CLI_OK;
}

static int run_program(benchmarks *b, const char *program) {
  FILE *document = b->job.common.json ? tmpfile() : NULL;
  if (b->job.common.json && !document)
    return cli_fail(CLI_FAILED, "no temporary file can be made: %s", strerror(errno));
  pid_t child;
  const int error = start(b, program, document, &child);
  int code = error ? cli_fail(CLI_FAILED, "%s: cannot be run: %s", program, strerror(error))
                   : wait_for(child, program);
  if (code == CLI_OK && document && !cli_json_is_object(document))
    code = cli_fail(CLI_FAILED, "%s: expected one JSON object on its standard output", program);
  if (code == CLI_OK && document)
    b->documents[b->document_count++] = document;
  else if (document)
    fclose(document);
  return code;
}

/* ---- command ---- */

static int load(void *state) {
  benchmarks *b = state;
  int code = find_programs(b);
  for (int i = 0; code == CLI_OK && i < b->names.count; i++)
    if (!find_program(b, b->names.values[i]))
      code = unknown(b, b->names.values[i]);
  const int most = b->names.count > b->program_count ? b->names.count : b->program_count;
  b->documents = cli_job_memory(&b->job, (size_t)most, sizeof *b->documents);
  return b->documents ? code : CLI_DEVICE;
}

static int print_list(const benchmarks *b) {
  for (int i = 0; i < b->program_count; i++) {
    for (const char *c = b->programs[i]->d_name + PREFIX; *c; c++)
      putchar(*c == '_' ? '-' : *c);
    putchar('\n');
  }
  return CLI_OK;
}

/* A failure does not stop the programs that follow; the first one is the exit code. The devices are looked
 * up at the end: until then this process does not touch them. */
static int run(void *state) {
  benchmarks *b = state;
  const double start_s = cli_now();
  if (b->list)
    return print_list(b);
  const int count = b->names.count ? b->names.count : b->program_count;
  for (int i = 0; i < count; i++) {
    const char *program = b->names.count ? find_program(b, b->names.values[i]) : b->programs[i]->d_name;
    if (!b->job.common.json)
      printf("== %s\n", program);
    const int code = run_program(b, program);
    b->job.code = b->job.code ? b->job.code : code;
  }
  b->job.seconds.median = cli_now() - start_s;
  return b->job.common.json ? cli_device_set_parse("all", &b->job.devices) : CLI_OK;
}

static void json(cli_json *json, const void *state) {
  const benchmarks *b = state;
  cli_json_open_array(json, "benchmarks");
  for (int i = 0; i < b->document_count; i++)
    cli_json_copy(json, NULL, b->documents[i]);
  cli_json_close_array(json);
}

const cli_command cli_command_bench = {
    .name = "bench",
    .summary = "run the benchmarks",
    .description = "Runs the benchmark programs bench_NAME. They are beside davit in a build tree, or in the "
                   "directory that the environment variable DAVIT_BENCH_DIR names; they are not installed. "
                   "With --json, what each of them measured is an object of \"benchmarks\". A program that "
                   "fails is named, the others run all the same; the exit code is 4 if it was 4, else 1.",
    .examples = "davit bench --list\ndavit bench queue --json\n",
    .operands =
        CLI_PLACES({.name = "NAME",
                    .at = offsetof(benchmarks, names),
                    .many = true,
                    .words = "",
                    .help = "the benchmarks to run, reduction-ladder for bench_reduction_ladder; none: all"}),
    .options = CLI_OPTIONS(CLI_OPTION(FLAG, benchmarks, list, "--list", NULL, .excludes = "--json",
                                      .help = "print the names of the benchmarks, and run none"),
                           CLI_OPTION(FLAG, benchmarks, peers, "--peers", NULL,
                                      .help = "measure what davit is compared with as well")),
    .common = CLI_COMMON_JSON,
    .state = sizeof(benchmarks),
    .read = load,
    .run = run,
    .json = json,
    .release = release,
};
