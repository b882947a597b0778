/* SPDX-License-Identifier: Apache-2.0 */
/* davit: the command-line tool. Dispatches to one sub-command; docs/cli.md is the user's page. */
#include <davit/tuning.h>
#include <davit/version.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/cli/frame/help.h"
#include "src/cli/frame/job.h"
#include "src/cli/frame/nearest.h"
#include "src/cli/frame/openmp_environment.h"
#include "src/cli/frame/output.h"
#include "src/cli/ranks.h"

#define COMMAND_ROW(name) &cli_command_##name,
static const cli_command *const commands[] = {CLI_COMMANDS(COMMAND_ROW) NULL};
enum { COMMANDS = sizeof commands / sizeof commands[0] - 1 };

static const cli_command *find_command(const char *name) {
  for (int i = 0; i < COMMANDS; i++)
    if (!strcmp(commands[i]->name, name))
      return commands[i];
  return NULL;
}

static int unknown_command(const char *name) {
  cli_nearest nearest = {.word = name};
  for (int i = 0; i < COMMANDS; i++)
    cli_nearest_try(&nearest, commands[i]->name);
  cli_nearest_try(&nearest, "help");
  cli_nearest_try(&nearest, "--version");
  cli_nearest_try(&nearest, "--help");
  return cli_fail(CLI_USAGE, "unknown command '%s'; %s%s%s'davit help' lists the commands", name,
                  nearest.name ? "did you mean " : "", nearest.name ? nearest.name : "",
                  nearest.name ? "? " : "");
}

/* Prints something of one command, or of all of them; `name` is that of the option. */
static int describe(int argc, char **argv, const char *name, void (*overview)(cli_commands),
                    void (*print)(const cli_command *)) {
  const bool all = argc < 2 || (argc == 2 && !strcmp(name, "help") && !strcmp(argv[1], "help"));
  const cli_command *command = all ? NULL : find_command(argv[1]);
  if (argc > 2)
    return cli_fail(CLI_USAGE, "%s takes one command", name);
  if (!all && !command)
    return unknown_command(argv[1]);
  if (command)
    print(command);
  else
    overview(commands);
  return CLI_OK;
}

/* davit --completion SHELL. */
static int write_completion(int argc, char **argv) {
  const bool bash = argc == 2 && !strcmp(argv[1], "bash");
  if (!bash && (argc != 2 || strcmp(argv[1], "zsh")))
    return cli_fail(CLI_USAGE, "--completion takes bash or zsh");
  (bash ? cli_complete_bash : cli_complete_zsh)(commands);
  return CLI_OK;
}

static int dispatch(int argc, char **argv) {
  if (argc < 1)
    return cli_fail(CLI_USAGE, "no command given; 'davit help' lists the commands");
  if (!strcmp(argv[0], "help") || !strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"))
    return describe(argc, argv, "help", cli_help_overview, cli_help_print);
  if (!strcmp(argv[0], "--man")) /* what the build installs, as --completion */
    return describe(argc, argv, "--man", cli_man_overview, cli_man_print);
  if (!strcmp(argv[0], "--completion"))
    return write_completion(argc, argv);
  const cli_command *command = find_command(strcmp(argv[0], "--version") ? argv[0] : "version");
  if (!command)
    return unknown_command(argv[0]);
  cli_fail_name(command->name);
  const int code = cli_job_run(command, argc, argv);
  if (code != CLI_HELP)
    return code;
  cli_help_print(command);
  return CLI_OK;
}

/* What the library could not use of its tuning file. */
static void print_warning(void) {
  char text[1024];
  if (davit_tuning_warning(sizeof text, text) == DAVIT_SUCCESS && *text)
    fprintf(stderr, "davit: %s\n", text);
}

/* Occupies standard descriptors that are closed, so that no file gets their numbers and with them what is printed.
 * They are opened for the other direction, so reading and writing them fails as before. */
static void occupy_closed_descriptors(void) {
  for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
    if (fcntl(file, F_GETFD) < 0)
      (void)!open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv) {
  occupy_closed_descriptors();
  int code = cli_ranks_open(argc > 1 ? argv[1] : NULL);
  if (cli_ranks_lead())
    cli_openmp_environment_report();
  if (code == CLI_OK)
    code = dispatch(argc - 1, argv + 1);
  if (cli_ranks_lead())
    print_warning();
  if (code == CLI_OK)
    code = cli_output_flush();
  return cli_ranks_close(code);
}
