/* SPDX-License-Identifier: Apache-2.0 */
/* davit bench: runs the benchmark programs, bench_NAME, or reads what they wrote (--from).
 *
 * The programs are in the directory that DAVIT_BENCH_DIR names, else beside this executable in a build tree;
 * they are not installed. Each writes one JSON object to its standard output and tables to its standard
 * error. With --json this command prints the objects, for --report and --compare it reads them; else it
 * prints the tables. */
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
#include "src/cli/bench_compare.h"
#include "src/cli/bench_report.h"
#include "src/cli/clock.h"
#include "src/cli/formats/names.h"
#include "src/cli/frame/job.h"

static const char prefix[] = "bench_";
enum { PREFIX = sizeof prefix - 1 };

typedef struct benchmarks {
  cli_job job;
  cli_list names; /* as given; none means all but those of the study */
  cli_list from;  /* files of results to take in place of a run */
  bool peers, list;
  const char *compare; /* older results, or NULL */
  double noise;        /* in percent */
  cli_output report;
  char folder[PATH_MAX];
  struct dirent **programs; /* all in `folder`, sorted */
  int program_count;
  FILE **documents; /* the output of the programs that succeeded, or the contents of --from */
  int document_count;
  cli_results results, before;
  bench_comparison found;
} benchmarks;

/* Whether the results are to be understood, and not only printed. */
static bool is_read(const benchmarks *b) {
  return b->compare || b->report.path;
}

static bool is_captured(const benchmarks *b) {
  return b->job.common.json || is_read(b);
}

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
  bench_comparison_free(&b->found);
  cli_results_free(&b->before);
  cli_results_free(&b->results);
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

/* The step-by-step programs of bench/study, which take minutes: they run when they are named. */
static bool is_of_study(const char *program) {
  static const char *const endings[] = {"_study", "_ladder"};
  bool found = false;
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    const size_t length = strlen(program), end = strlen(endings[i]);
    found |= length > end && !strcmp(program + length - end, endings[i]);
  }
  return found;
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
  if (is_captured(b))
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

static FILE *temporary(void) {
  FILE *file = tmpfile();
  if (!file)
    cli_fail(CLI_FAILED, "no temporary file can be made: %s", strerror(errno));
  return file;
}

static int check_document(benchmarks *b, const char *program, FILE *document) {
  if (!cli_json_is_object(document))
    return cli_fail(CLI_FAILED, "%s: expected one JSON object on its standard output", program);
  const int code = is_read(b) ? cli_results_read_stream(document, program, &b->results) : CLI_OK;
  return code == CLI_INPUT ? CLI_FAILED : code;
}

static int run_program(benchmarks *b, const char *program) {
  FILE *document = is_captured(b) ? temporary() : NULL;
  if (is_captured(b) && !document)
    return CLI_FAILED;
  pid_t child;
  const int error = start(b, program, document, &child);
  int code = error ? cli_fail(CLI_FAILED, "%s: cannot be run: %s", program, strerror(error))
                   : wait_for(child, program);
  if (code == CLI_OK && document)
    code = check_document(b, program, document);
  if (code == CLI_OK && document)
    b->documents[b->document_count++] = document;
  else if (document)
    fclose(document);
  return code;
}

/* For the programs: davit's threads, and those of peers that use OpenMP. */
static int limit_threads(const benchmarks *b) {
  char text[16];
  snprintf(text, sizeof text, "%d", b->job.common.threads);
  if (b->job.common.threads && (setenv("DAVIT_THREADS", text, 1) || setenv("OMP_NUM_THREADS", text, 1)))
    return cli_fail(CLI_FAILED, "--threads: the environment cannot be set: %s", strerror(errno));
  return CLI_OK;
}

/* ---- command ---- */

static int check_options(const benchmarks *b) {
  if (b->from.count && b->names.count)
    return cli_fail(CLI_USAGE, "NAME and --from exclude each other");
  if (b->from.count && b->job.common.threads)
    return cli_fail(CLI_USAGE, "--threads and --from exclude each other");
  if (b->from.count && !is_captured(b))
    return cli_fail(CLI_USAGE, "--from needs --report, --compare or --json");
  return CLI_OK;
}

/* The contents of all files as one text, for --json. */
static int copy_documents(benchmarks *b) {
  FILE *file = b->results.count ? temporary() : NULL;
  if (!file)
    return b->results.count ? CLI_FAILED : CLI_OK;
  b->documents[b->document_count++] = file;
  for (size_t i = 0; i < b->results.count; i++) {
    fputs(i ? ", " : "", file);
    if (json_dumpf(b->results.documents[i].json, file, 0))
      return cli_fail(CLI_DEVICE, "not enough memory to print the results");
  }
  return CLI_OK;
}

static int read_files(benchmarks *b) {
  int code = CLI_OK;
  for (int i = 0; code == CLI_OK && i < b->from.count; i++)
    code = cli_results_read(b->from.values[i], &b->results);
  return code == CLI_OK && b->job.common.json ? copy_documents(b) : code;
}

static int find_named(benchmarks *b) {
  int code = find_programs(b);
  for (int i = 0; code == CLI_OK && i < b->names.count; i++)
    if (!find_program(b, b->names.values[i]))
      code = unknown(b, b->names.values[i]);
  return code;
}

/* The older results are read before anything runs, so that a malformed file is noticed at once. */
static int load(void *state) {
  benchmarks *b = state;
  int code = check_options(b);
  if (code == CLI_OK && !b->from.count)
    code = find_named(b);
  if (code == CLI_OK)
    code = limit_threads(b);
  const int most = b->names.count > b->program_count ? b->names.count : b->program_count;
  b->documents = cli_job_memory(&b->job, (size_t)most + 1, sizeof *b->documents);
  if (!b->documents)
    return CLI_DEVICE;
  if (code == CLI_OK && b->compare)
    code = cli_results_read(b->compare, &b->before);
  return code == CLI_OK ? read_files(b) : code;
}

static int print_list(const benchmarks *b) {
  for (int i = 0; i < b->program_count; i++) {
    char *name = b->programs[i]->d_name + PREFIX;
    for (char *c = name; *c; c++)
      *c = *c == '_' ? '-' : *c;
    cli_write_plain(stdout, name);
    putchar('\n');
  }
  return CLI_OK;
}

/* A failure does not stop the programs that follow; the first one is the exit code. */
static void run_programs(benchmarks *b) {
  const int count = b->names.count ? b->names.count : b->program_count;
  for (int i = 0; i < count; i++) {
    const char *program = b->names.count ? find_program(b, b->names.values[i]) : b->programs[i]->d_name;
    if (!b->names.count && is_of_study(program))
      continue;
    if (!is_captured(b)) {
      fputs("== ", stdout);
      cli_write_plain(stdout, program);
      putchar('\n');
    }
    const int code = run_program(b, program);
    b->job.code = b->job.code ? b->job.code : code;
  }
}

/* Without any results there is nothing to write. */
static int compare(benchmarks *b) {
  if (is_read(b) && !b->results.count && b->job.code)
    return b->job.code;
  int code = is_read(b) ? cli_results_finish(&b->results) : CLI_OK;
  if (code != CLI_OK || !b->compare)
    return code;
  code = cli_results_finish(&b->before);
  if (code == CLI_OK)
    code = bench_compare(&b->before, &b->results, b->noise / 100, &b->found);
  if (code == CLI_OK && !b->job.code)
    b->job.code = bench_comparison_code(&b->found);
  return code;
}

/* The devices are looked up at the end: until then this process does not touch them. */
static int run(void *state) {
  benchmarks *b = state;
  const double start_s = cli_now();
  if (b->list)
    return print_list(b);
  if (!b->from.count)
    run_programs(b);
  b->job.seconds.median = cli_now() - start_s;
  const int code = compare(b);
  if (b->from.count)
    b->job.devices.count = 0;
  else if (code == CLI_OK && b->job.common.json)
    return cli_device_set_parse("all", &b->job.devices);
  return code;
}

static bool write_report(FILE *file, const void *state) {
  const benchmarks *b = state;
  return bench_report(file, &b->results, b->compare ? &b->found : NULL, b->from.count > 0);
}

static void print(const void *state) {
  const benchmarks *b = state;
  if (!b->compare)
    return;
  if (!b->report.path || strcmp(b->report.path, "-") != 0)
    bench_comparison_print(&b->found, stdout);
  bench_comparison_complain(&b->found);
}

static void json(cli_json *json, const void *state) {
  const benchmarks *b = state;
  cli_json_open_array(json, "benchmarks");
  for (int i = 0; i < b->document_count; i++)
    cli_json_copy(json, NULL, b->documents[i]);
  cli_json_close_array(json);
  if (!b->compare)
    return;
  bench_comparison_json(&b->found, json);
  bench_comparison_complain(&b->found);
}

const cli_command cli_command_bench = {
    .name = "bench",
    .summary = "run the benchmarks, draw their results, compare them with older ones",
    .description =
        "Runs the benchmark programs bench_NAME. They are beside davit in a build tree, or in the directory "
        "that the environment variable DAVIT_BENCH_DIR names; they are not installed. With --json, what each "
        "of them measured is an object of \"benchmarks\". A program that fails is named, the others run all "
        "the same; the exit code is 4 if it was 4, else 1.\n\n"
        "--report writes the results as a page with plots against size, against the peers and against the "
        "limit of the machine. It is one file without scripts. --peers adds the peers. --from takes results "
        "from files, and runs nothing.\n\n"
        "--compare prints the rows that became slower or faster than in an older file, beyond the noise, and "
        "exits with 1 if any became slower. Rows are compared if they measured the same, on devices of the "
        "same name and size. If there is none, the exit code is 3.",
    .examples = "davit bench --list\ndavit bench queue --json\n"
                "davit bench --peers --report bench.html\n"
                "davit bench scan --compare old.json\n"
                "davit bench --from new.json --compare old.json --report bench.html\n",
    .operands = CLI_PLACES(
        {.name = "NAME",
         .at = offsetof(benchmarks, names),
         .many = true,
         .words = "",
         .help = "the benchmarks to run, reduction-ladder for bench_reduction_ladder; none: all but "
                 "reduction-ladder and those that end in -study, which take minutes"}),
    .options = CLI_OPTIONS(
        CLI_OPTION(FLAG, benchmarks, list, "--list", NULL, .excludes = "--json",
                   .help = "print the names of the benchmarks, and run none"),
        CLI_OPTION(FLAG, benchmarks, peers, "--peers", NULL, .excludes = "--from",
                   .help = "measure what davit is compared with as well"),
        CLI_OPTION(OUTPUT, benchmarks, report, "--report", "FILE", .write = write_report,
                   .excludes = "--list", .help = "write the results as a page, FILE.html"),
        CLI_OPTION(TEXT, benchmarks, compare, "--compare", "FILE", .excludes = "--list",
                   .help = "compare with older results: what davit bench --json or a benchmark printed"),
        CLI_OPTION(REAL, benchmarks, noise, "--noise", "PERCENT", .minimum = 0, .maximum = 1000, .value = "5",
                   .needs = "--compare",
                   .help =
                       "smallest change of a time that counts; more where a row's own times vary more, by "
                       "its median over its fastest run"),
        CLI_OPTION(LIST, benchmarks, from, "--from", "FILE ...", .excludes = "--list",
                   .help = "take the results from files, as for --compare, in place of a run")),
    .common = CLI_COMMON_THREADS | CLI_COMMON_JSON,
    .state = sizeof(benchmarks),
    .read = load,
    .run = run,
    .print = print,
    .json = json,
    .release = release,
};
