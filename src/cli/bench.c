/* SPDX-License-Identifier: Apache-2.0 */
/* davit bench: runs the benchmark programs, bench_NAME, or takes what they wrote (--from).
 *
 * The programs are in the directory that DAVIT_BENCH_DIR names, else beside this executable in a build tree;
 * they are not installed. Each writes one JSON object to its standard output and tables to its standard
 * error. With --json this command prints the objects; else it prints the tables. Python reads the objects for
 * --report, --compare and --from: report.py (bench/), which is installed. */
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
#include "src/base/clock.h"
#include "src/base/environment.h"
#include "src/cli/files.h"
#include "src/cli/formats/input.h"
#include "src/cli/formats/names.h"
#include "src/cli/frame/job.h"

static const char prefix[] = "bench_";
enum { PREFIX = sizeof prefix - 1 };

/* What report.py adds to davit's exit code where all is written, and where it has said what is wrong. */
enum { WRITTEN = 64, SAID = 96, CODES = 8 };

/* A file without a name; and its path, for report.py. */
typedef struct document {
  FILE *file;
  char path[PATH_MAX + 32]; /* after NAME= what the program printed, or a copy of that file */
} document;

typedef struct benchmarks {
  cli_job job;
  cli_list names; /* as given; none means all but those of the study */
  cli_list from;  /* files of results to take in place of a run */
  bool peers, list;
  const char *compare; /* older results, or NULL */
  double noise;        /* in percent */
  cli_output report;
  char folder[PATH_MAX], script[PATH_MAX + sizeof DAVIT_REPORT];
  struct dirent **programs; /* all in `folder`, sorted */
  int program_count;
  document *documents; /* of the programs that succeeded */
  int document_count;
  document page, answer; /* what report.py writes, and prints */
  document old;          /* a copy of `compare`, which may be a pipe */
  char percent[32];      /* `noise` for it */
} benchmarks;

/* Whether report.py takes part: the results are to be understood, and not only printed. */
static bool is_read(const benchmarks *b) {
  return b->compare || b->report.path || b->from.count;
}

/* Whether the programs' JSON is asked for, and not their tables. */
static bool is_captured(const benchmarks *b) {
  return b->job.common.json || is_read(b);
}

/* ---- documents ---- */

/* Its descriptor stays open in the programs that are run. `program` is the name of the one that writes it, or "". */
static int open_document(document *d, const char *program) {
  d->file = tmpfile();
  if (!d->file)
    return cli_fail(CLI_FAILED, "no temporary file can be made: %s", strerror(errno));
  snprintf(d->path, sizeof d->path, "%s%s/proc/self/fd/%d", program, *program ? "=" : "", fileno(d->file));
  return CLI_OK;
}

static void close_document(document *d) {
  if (d->file)
    fclose(d->file);
  d->file = NULL;
}

static bool copy(FILE *from, FILE *to) {
  rewind(from);
  for (int byte; (byte = getc(from)) != EOF;)
    putc(byte, to);
  return !ferror(from) && !ferror(to);
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
    close_document(&b->documents[i]);
  close_document(&b->page);
  close_document(&b->answer);
  close_document(&b->old);
}

/* The folder of this executable, and the script where it is in that of a build and of an installation. */
static int find_own_folder(benchmarks *b) {
  const ssize_t length = readlink("/proc/self/exe", b->folder, sizeof b->folder - 1);
  if (length < 0)
    return cli_fail(CLI_FAILED, "/proc/self/exe cannot be read: %s", strerror(errno));
  b->folder[length] = 0;
  *strrchr(b->folder, '/') = 0;
  snprintf(b->script, sizeof b->script, "%s/" DAVIT_REPORT, b->folder);
  return CLI_OK;
}

static int find_programs(benchmarks *b) {
  const char *given = dvt_environment("DAVIT_BENCH_DIR");
  if (given && *given)
    snprintf(b->folder, sizeof b->folder, "%s", given);
  b->program_count = scandir(b->folder, &b->programs, is_program, alphasort);
  if (b->program_count > 0)
    return CLI_OK;
  return cli_fail(CLI_USAGE,
                  "there are no benchmarks (bench_*) in '%s'; they are not installed: './run bench' in a "
                  "clone of davit builds and runs them, and DAVIT_BENCH_DIR names another directory",
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

/* The child's two streams: text to our standard output, or JSON to `output` and text where ours goes. */
static int connect_streams(posix_spawn_file_actions_t *actions, FILE *output) {
  int error = posix_spawn_file_actions_init(actions);
  if (!error && output)
    return posix_spawn_file_actions_adddup2(actions, fileno(output), STDOUT_FILENO);
  if (!error)
    error = posix_spawn_file_actions_adddup2(actions, STDOUT_FILENO, STDERR_FILENO);
  return error ? error : posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
}

/* Starts a program, which is looked up in PATH if its name has no slash. Returns 0 or why not. */
static int start(void *words, FILE *output, pid_t *child) {
  posix_spawn_file_actions_t actions;
  int error = connect_streams(&actions, output);
  fflush(NULL);
  if (!error)
    error = posix_spawnp(child, *(char **)words, &actions, NULL, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

static int wait_for(pid_t child, const char *program, int *status) {
  while (waitpid(child, status, 0) < 0)
    if (errno != EINTR)
      return cli_fail(CLI_FAILED, "%s: cannot be waited for: %s", program, strerror(errno));
  if (WIFSIGNALED(*status))
    return cli_fail(CLI_FAILED, "%s: ended by signal %d", program, WTERMSIG(*status));
  *status = WEXITSTATUS(*status);
  return CLI_OK;
}

static int measure(const benchmarks *b, const char *program, FILE *output) {
  char *path = dvt_allocate_text("%s/%s", b->folder, program);
  const char *words[4] = {path}, **word = words + 1;
  int status = 0;
  pid_t child;
  if (is_captured(b))
    *word++ = "--json";
  if (b->peers)
    *word++ = "--peers";
  const int error = path ? start(words, output, &child) : ENOMEM;
  free(path);
  CLI_TRY(error ? cli_fail(CLI_FAILED, "%s: cannot be run: %s", program, strerror(error))
                : wait_for(child, program, &status));
  return status ? cli_fail(status == CLI_DEVICE ? CLI_DEVICE : CLI_FAILED, "%s: failed with exit status %d",
                           program, status)
                : CLI_OK;
}

static int run_program(benchmarks *b, const char *program) {
  document found = {.file = NULL};
  int code = is_captured(b) ? open_document(&found, program) : CLI_OK;
  if (code == CLI_OK)
    code = measure(b, program, found.file);
  if (code == CLI_OK && found.file && !cli_json_is_object(found.file))
    code = cli_fail(CLI_FAILED, "%s: expected one JSON object on its standard output", program);
  if (code == CLI_OK && found.file)
    b->documents[b->document_count++] = found;
  else
    close_document(&found);
  return code;
}

/* ---- report.py ---- */

/* Without the environment's and the folder's influence on Python. */
static const char *const python[] = {"python3", "-I", "-S", "-X", "utf8"};
enum { PYTHON = sizeof python / sizeof *python };

static const char **append(const char **word, const char *option, const char *value) {
  *word++ = option;
  *word++ = value;
  return word;
}

static const char **append_options(const benchmarks *b, const char **word) {
  if (b->job.common.json)
    *word++ = "--json";
  word = b->page.file ? append(word, "--page", b->page.path) : word;
  word = b->compare ? append(word, "--noise", b->percent) : word;
  for (int i = 0; i < b->document_count; i++)
    word = append(word, "--program", b->documents[i].path);
  return word;
}

/* What report.py's exit status says. Another one is Python's own, or the shell's that stands for it. */
static int code_of(int status, bool *written) {
  *written = status >= WRITTEN && status < WRITTEN + CODES;
  if (*written)
    return status - WRITTEN;
  return status >= SAID && status < SAID + CODES
             ? status - SAID
             : cli_fail(CLI_USAGE,
                        "--report, --compare and --from need python3, which failed with exit status %d",
                        status);
}

/* Lets report.py read the older results, and if `all` the new ones in `count` files and those of programs, for all that
 * is asked for. */
static int run_script(benchmarks *b, bool all, const char *const *files, int count, bool *written) {
  const char **words;
  CLI_ROOM(&b->job, words, PYTHON + 10 + 2 * b->document_count + count);
  memcpy(words, python, sizeof python);
  const char **word = words + PYTHON;
  *word++ = b->script;
  word = b->compare ? append(word, "--compare", b->old.path) : word;
  word = all ? append_options(b, word) : word;
  *word++ = "--";
  for (int i = 0; i < count && all; i++)
    *word++ = files[i];
  if (access(b->script, R_OK))
    return cli_fail(CLI_USAGE, "%s: expected the program that reads the results of benchmarks: %s", b->script,
                    strerror(errno));
  pid_t child;
  int status = 0;
  const int error = start(words, b->answer.file, &child);
  if (error)
    return cli_fail(CLI_USAGE, "--report, --compare and --from need python3, which cannot be run: %s",
                    strerror(error));
  CLI_TRY(wait_for(child, "python3", &status));
  return code_of(status, written);
}

/* Malformed older results, and a Python that is missing, are noticed before anything runs. */
static int check_script(benchmarks *b) {
  bool written;
  return run_script(b, false, NULL, 0, &written);
}

/* Without any results there is nothing to write. */
static int make_answer(benchmarks *b) {
  if (b->job.code && !b->document_count)
    return b->job.code;
  bool written = false;
  const int code = run_script(b, true, b->from.values, b->from.count, &written);
  b->job.code = b->job.code == CLI_OK ? code : b->job.code;
  return written ? CLI_OK : b->job.code;
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
  if (b->from.count && !b->job.common.json && !b->compare && !b->report.path)
    return cli_fail(CLI_USAGE, "--from needs --report, --compare or --json");
  return CLI_OK;
}

/* More than report.py reads is not copied. */
static int copy_old(benchmarks *b) {
  const size_t most = (size_t)(16 << 20) + 1;
  cli_input old;
  int code = cli_input_open(b->compare, &old);
  if (code == CLI_OK)
    code = open_document(&b->old, old.name);
  size_t bytes = 0;
  for (int byte; code == CLI_OK && bytes < most && (byte = getc(old.file)) != EOF; bytes++)
    putc(byte, b->old.file);
  if (code == CLI_OK && ferror(old.file))
    code = cli_input_unreadable(old.name, errno);
  if (code == CLI_OK && fflush(b->old.file))
    code = cli_fail(CLI_FAILED, "no temporary file can be written: %s", strerror(errno));
  if (old.file)
    cli_input_close(&old);
  return code;
}

/* Standard input can stand for one file; of a terminal that is said. report.py opens the file. */
static int check_input(const char *path) {
  bool standard;
  const char *name;
  CLI_TRY(cli_standard_input(path, &standard, &name));
  return cli_files_read_path(name, standard ? "/dev/stdin" : path);
}

/* What --compare names is read now. */
static int check_inputs(benchmarks *b) {
  if (b->compare)
    CLI_TRY(copy_old(b));
  for (int i = 0; i < b->from.count; i++)
    CLI_TRY(check_input(b->from.values[i]));
  return CLI_OK;
}

static int find_named(benchmarks *b) {
  CLI_TRY(find_programs(b));
  for (int i = 0; i < b->names.count; i++)
    if (!find_program(b, b->names.values[i]))
      return unknown(b, b->names.values[i]);
  return CLI_OK;
}

static int open_answer(benchmarks *b) {
  if (is_read(b))
    CLI_TRY(open_document(&b->answer, ""));
  return b->report.path ? open_document(&b->page, "") : CLI_OK;
}

static int load(void *state) {
  benchmarks *b = state;
  CLI_TRY(check_options(b));
  snprintf(b->percent, sizeof b->percent, "%.17g", b->noise);
  CLI_TRY(find_own_folder(b));
  if (!b->from.count)
    CLI_TRY(find_named(b));
  CLI_TRY(check_inputs(b));
  CLI_TRY(limit_threads(b));
  const int most = b->names.count > b->program_count ? b->names.count : b->program_count;
  CLI_ROOM(&b->job, b->documents, most + 1);
  CLI_TRY(open_answer(b));
  return is_read(b) && !b->from.count ? check_script(b) : CLI_OK;
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

/* The devices are looked up at the end: until then this process does not touch them. */
static int run(void *state) {
  benchmarks *b = state;
  const double start_s = dvt_now();
  if (b->list)
    return print_list(b);
  if (!b->from.count)
    run_programs(b);
  b->job.seconds.median = dvt_now() - start_s;
  const int code = is_read(b) ? make_answer(b) : CLI_OK;
  if (b->from.count)
    b->job.devices.count = 0;
  else if (code == CLI_OK && b->job.common.json)
    return cli_device_set_parse("all", &b->job.devices);
  return code;
}

static bool write_report(FILE *file, const void *state) {
  const benchmarks *b = state;
  return copy(b->page.file, file);
}

static void print(const void *state) {
  const benchmarks *b = state;
  if (is_read(b) && !(b->report.path && !strcmp(b->report.path, "-")))
    copy(b->answer.file, stdout);
}

static void json(cli_json *json, const void *state) {
  const benchmarks *b = state;
  if (is_read(b)) {
    cli_json_copy(json, NULL, b->answer.file);
    return;
  }
  cli_json_open_array(json, "benchmarks");
  for (int i = 0; i < b->document_count; i++)
    cli_json_copy(json, NULL, b->documents[i].file);
  cli_json_close_array(json);
}

const cli_command cli_command_bench = {
    .name = "bench",
    .summary = "run the benchmarks, plot the results, compare them with older ones",
    .description =
        "Runs the benchmark programs bench_NAME, which are beside davit in a build tree, or in the directory "
        "$DAVIT_BENCH_DIR; they are not installed. With --json, the results of each program are an object in "
        "\"benchmarks\". If a program fails, davit names it and runs the others; the exit code is then 4 if "
        "the program's was 4, else 1.\n\n--report writes the results as one HTML file without scripts, which "
        "plots them against size, beside the limits of the machine and, with --peers, beside other "
        "software.\n\n--compare prints the rows that are slower or faster than in an older file by more than "
        "the noise, and exits with 1 if any is slower. It compares rows that measure the same on devices of "
        "the same name and size; if there are none, the exit code is 3.\n\n--report, --compare and --from "
        "need python3.",
    .examples = "davit bench --list\ndavit bench queue --json\n"
                "davit bench --peers --report bench.html\n"
                "davit bench scan --compare old.json\n"
                "davit bench --from new.json --compare old.json --report bench.html\n",
    .operands = CLI_PLACES(
        {.name = "NAME",
         .at = offsetof(benchmarks, names),
         .many = true,
         .words = "",
         .help = "the benchmarks to run, such as reduction-ladder for bench_reduction_ladder (default all "
                 "except reduction-ladder and those that end in -study, which take minutes)"}),
    .options = CLI_OPTIONS(
        CLI_OPTION(FLAG, benchmarks, list, "--list", NULL, .excludes = "--json",
                   .help = "print the names of the benchmarks, and run nothing"),
        CLI_OPTION(FLAG, benchmarks, peers, "--peers", NULL, .excludes = "--from",
                   .help = "also measure the software that davit is compared with"),
        CLI_OPTION(OUTPUT, benchmarks, report, "--report", "FILE", .write = write_report,
                   .excludes = "--list", .ending = ".html",
                   .help = "write the results as an HTML page; the name has to end in .html"),
        CLI_OPTION(TEXT, benchmarks, compare, "--compare", "FILE", .excludes = "--list",
                   .help = "compare with older results, as printed by davit bench --json or by a benchmark"),
        CLI_OPTION(REAL, benchmarks, noise, "--noise", "PERCENT", .minimum = 0, .maximum = 1000, .value = "5",
                   .needs = "--compare",
                   .help = "smallest change of a time that counts; larger for rows whose times vary more, by "
                           "their median over their fastest run"),
        CLI_OPTION(LIST, benchmarks, from, "--from", "FILE ...", .excludes = "--list",
                   .help = "take the results from files, as for --compare, and run nothing")),
    .common = CLI_COMMON_THREADS | CLI_COMMON_JSON,
    .state = sizeof(benchmarks),
    .read = load,
    .run = run,
    .print = print,
    .json = json,
    .release = release,
};
