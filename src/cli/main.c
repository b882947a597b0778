/* SPDX-License-Identifier: Apache-2.0 */
/* davit: the command-line tool. Dispatches to one sub-command; docs/cli.md is the user's page. */
#include <davit/tuning.h>
#include <davit/version.h>
#include <stdio.h>
#include <string.h>

#include "src/cli/frame/help.h"
#include "src/cli/frame/job.h"
#include "src/cli/frame/nearest.h"

#define COMMAND_ROW(name) &cli_command_##name,
static const cli_command *const commands[] = {CLI_COMMANDS(COMMAND_ROW)};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

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
  return cli_fail(CLI_USAGE, "unknown command '%s'; %s%s%s'davit help' lists the commands", name,
                  nearest.name ? "did you mean " : "", nearest.name ? nearest.name : "",
                  nearest.name ? "? " : "");
}

static void print_overview(void) {
  printf("usage: davit COMMAND [operands] [options]\n\n");
  for (int i = 0; i < COMMANDS; i++)
    printf("  %-12s %s\n", commands[i]->name, commands[i]->summary);
  printf("  %-12s %s\n\n", "help", "this text, or 'davit help COMMAND'");
  printf("Arrays are NumPy .npy files or dense Matrix Market .mtx files; '-' is standard input or output.\n"
         "Exit: 0 done, 1 check or computation failed, 2 usage, 3 malformed input, 4 device or memory "
         "failure.\n");
}

static int help(int argc, char **argv) {
  if (argc > 2)
    return cli_fail(CLI_USAGE, "help takes one command");
  if (argc < 2) {
    print_overview();
    return CLI_OK;
  }
  const cli_command *command = find_command(argv[1]);
  if (!command)
    return unknown_command(argv[1]);
  cli_help_print(command);
  return CLI_OK;
}

static int dispatch(int argc, char **argv) {
  if (argc < 1)
    return cli_fail(CLI_USAGE, "no command given; 'davit help' lists the commands");
  if (!strcmp(argv[0], "help") || !strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"))
    return help(argc, argv);
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

int main(int argc, char **argv) {
  const int code = dispatch(argc - 1, argv + 1);
  print_warning();
  if ((fflush(stdout) || ferror(stdout)) && code == CLI_OK)
    return cli_fail(CLI_FAILED, "cannot write to standard output");
  return code;
}
