/* davit bench: runs the benchmark programs, bench_NAME.
 *
 * They lie in the directory that DAVIT_BENCH_DIR names, else beside this executable in a build tree; they are not
 * installed. Each writes one JSON object to its standard output and tables for people to its standard error; the one
 * or the other becomes the output of this command. */
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/cli/clock.h"
#include "src/cli/frame/device_set.h"
#include "src/cli/frame/json.h"
#include "src/cli/frame/old_options.h"

enum { MOST_NAMES = 64 };

static const char prefix[] = "bench_";
enum { PREFIX = sizeof prefix - 1 };

typedef struct benchmarks {
  cli_common common;
  bool peers;
  const char *names[MOST_NAMES]; /* as given; none means all */
  int name_count;
  char folder[PATH_MAX];
  struct dirent **programs; /* all that lie in `folder`, sorted */
  int program_count;
  cli_json json;
} benchmarks;

/* ---- programs ---- */

static int is_program(const struct dirent *entry) {
  return !strncmp(entry->d_name, prefix, PREFIX) && entry->d_name[PREFIX] && !strchr(entry->d_name, '.');
}

static void drop_programs(benchmarks *b) {
  for (int i = 0; i < b->program_count; i++)
    free(b->programs[i]);
  free(b->programs);
  b->programs = NULL;
  b->program_count = 0;
}

static int find_programs(benchmarks *b) {
  const char *given = getenv("DAVIT_BENCH_DIR");
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

/* A name as given, "reduction-ladder", is that of bench_reduction_ladder. */
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
  char *path;
  if (asprintf(&path, "%s/%s", b->folder, program) < 0)
    return ENOMEM;
  char json[] = "--json", peers[] = "--peers", *arguments[4] = {path};
  int count = 1;
  if (b->common.json)
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
  FILE *document = b->common.json ? tmpfile() : NULL;
  if (b->common.json && !document)
    return cli_fail(CLI_FAILED, "no temporary file can be made: %s", strerror(errno));
  pid_t child;
  const int error = start(b, program, document, &child);
  int code = error ? cli_fail(CLI_FAILED, "%s: cannot be run: %s", program, strerror(error))
                   : wait_for(child, program);
  if (code == CLI_OK && document && !cli_json_copy(&b->json, NULL, document))
    code = cli_fail(CLI_FAILED, "%s: expected one JSON object on its standard output", program);
  if (document)
    fclose(document);
  return code;
}

/* ---- command ---- */

/* Runs what was asked for. A failure does not stop those that follow; the first one is the exit code. */
static int run_all(benchmarks *b) {
  int first = CLI_OK;
  const int count = b->name_count ? b->name_count : b->program_count;
  for (int i = 0; i < count; i++) {
    const char *program = b->name_count ? find_program(b, b->names[i]) : b->programs[i]->d_name;
    if (!b->common.json)
      printf("== %s\n", program);
    const int code = run_program(b, program);
    first = first == CLI_OK ? code : first;
  }
  return first;
}

/* The devices are looked for when all is measured: until then this process leaves them alone. */
static int finish_json(cli_json *json, double seconds) {
  cli_device_set devices;
  const int code = cli_device_set_parse("all", &devices);
  cli_json_close_array(json);
  cli_json_open_array(json, "devices");
  for (int i = 0; code == CLI_OK && i < devices.count; i++)
    cli_json_integer(json, NULL, devices.ids[i]);
  cli_json_close_array(json);
  cli_json_real(json, "seconds", seconds);
  cli_json_close_object(json);
  putchar('\n');
  return code;
}

static int run_benchmarks(benchmarks *b) {
  int code = find_programs(b);
  for (int i = 0; code == CLI_OK && i < b->name_count; i++)
    if (!find_program(b, b->names[i]))
      code = unknown(b, b->names[i]);
  if (code != CLI_OK)
    return code;
  b->json = (cli_json){.file = stdout};
  if (b->common.json) {
    cli_json_open_object(&b->json, NULL);
    cli_json_string(&b->json, "command", "bench");
    cli_json_open_array(&b->json, "benchmarks");
  }
  const double start_s = cli_now();
  code = run_all(b);
  const int ending = b->common.json ? finish_json(&b->json, cli_now() - start_s) : CLI_OK;
  return code == CLI_OK ? ending : code;
}

static int run(const cli_command *self, int argc, char **argv) {
  benchmarks b = {0};
  const cli_old_option options[] = {{"peers", CLI_OLD_FLAG, &b.peers}, {0}};
  int code = cli_old_parse_list(self, options, argc, argv, &b.common, b.names, MOST_NAMES, &b.name_count);
  if (code == CLI_OK)
    code = run_benchmarks(&b);
  drop_programs(&b);
  return code;
}

const cli_command cli_command_bench = {
    .name = "bench",
    .summary = "runs the benchmarks",
    .usage =
        "davit bench [NAME ...] [options]\n\n"
        "Runs the benchmark programs bench_NAME, all of them if none is named; 'reduction-ladder' stands "
        "for\n"
        "bench_reduction_ladder. They lie beside davit in a build tree, or in the directory that the\n"
        "environment variable DAVIT_BENCH_DIR names; they are not installed. With --json, what each of them\n"
        "measured is an object of \"benchmarks\".\n\n"
        "  --peers          measure what davit is compared with as well\n",
    .common = CLI_COMMON_JSON,
    .old_run = run,
};
