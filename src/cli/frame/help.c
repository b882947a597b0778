/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/frame/help.h"

#include <string.h>

const char cli_help_arrays[] =
    "Arrays are .npy, .npz, dense Matrix Market or CSV files; '-' is standard input or output.";
const cli_help_exit cli_help_exits[] = {
    {CLI_OK, "done"},
    {CLI_FAILED, "the check or the computation failed, or an output cannot be written"},
    {CLI_USAGE, "wrong usage"},
    {CLI_INPUT, "unreadable or unsuitable input"},
    {CLI_DEVICE, "a device failed, or memory ran out"},
    {0, NULL}};

enum {
  WIDTH = 100,
  MARGIN = 2, /* before names of operands and options */
  COLUMN = 19 /* where their texts begin */
};

/* Prints the words of `text` from column `at` on, in lines that begin at column `indent`; a line feed ends a
 * paragraph. */
static void print_wrapped(const char *text, int at, int indent) {
  while (*text) {
    const size_t length = strcspn(text, " \n");
    if (at > indent && at + 1 + (int)length > WIDTH) {
      printf("\n%*s", indent, "");
      at = indent;
    } else if (at > indent) {
      at += printf(" ");
    }
    at += printf("%.*s", (int)length, text);
    text += length;
    for (; *text == ' ' || *text == '\n'; text++)
      if (*text == '\n') {
        printf("\n%*s", text[1] == '\n' ? 0 : indent, "");
        at = indent;
      }
  }
  printf("\n");
}

/* "  NAME", and what it means in the column beside it. */
static void print_row(const char *name, const char *text) {
  int at = printf("%*s%s", MARGIN, "", name);
  if (at >= COLUMN) {
    printf("\n");
    at = 0;
  }
  printf("%*s", COLUMN - at, "");
  print_wrapped(text, COLUMN, COLUMN);
}

/* ---- options ---- */

void cli_help_argument(const cli_option *option, char text[static CLI_OPTION_TEXT]) {
  const char *argument = option->argument ? option->argument : "";
  snprintf(text, CLI_OPTION_TEXT, "%s%s%s", option->implied ? "[" : "", argument, option->implied ? "]" : "");
}

static void name_of(const cli_option *option, char text[static CLI_OPTION_TEXT]) {
  char argument[CLI_OPTION_TEXT];
  cli_help_argument(option, argument);
  snprintf(text, CLI_OPTION_TEXT, "%s%s%s%s%s", option->name, option->also ? ", " : "",
           option->also ? option->also : "", *argument ? " " : "", argument);
}

bool cli_help_has_choices(const cli_option *option) {
  return option->choices && option->choices->help;
}

void cli_help_option(const cli_command *command, const cli_option *option, char text[static CLI_HELP_TEXT]) {
  char range[CLI_OPTION_TEXT], value[CLI_OPTION_TEXT], choices[CLI_OPTION_TEXT] = "";
  cli_option_range(option, range);
  if (option->choices && !cli_help_has_choices(option))
    cli_option_values(option, choices);
  const bool has_default = cli_option_default(command, option, value), brackets = *range || has_default;
  snprintf(text, CLI_HELP_TEXT, "%s%s%s%s%s%s%s%s%s", option->help, *choices ? ": " : "", choices,
           brackets ? " (" : "", range, *range && has_default ? "; " : "", has_default ? "default " : "",
           has_default ? value : "", brackets ? ")" : "");
}

static void print_choices(const cli_option *option) {
  for (const cli_choice *choice = option->choices; choice->name; choice++) {
    const int at = printf("%*s%-10s", COLUMN + MARGIN, "", choice->name);
    print_wrapped(choice->help, at, COLUMN + MARGIN + 10);
  }
}

static void print_option(const cli_command *command, const cli_option *option) {
  char name[CLI_OPTION_TEXT], text[CLI_HELP_TEXT];
  name_of(option, name);
  cli_help_option(command, option, text);
  print_row(name, text);
  if (cli_help_has_choices(option))
    print_choices(option);
}

/* ---- usage ---- */

static void print_usage(const cli_command *command) {
  const cli_option *option;
  printf("usage: davit %s", command->name);
  for (const cli_place *place = command->operands; place && place->name; place++)
    printf(place->many ? " [%s ...]" : place->optional ? " [%s]" : " %s", place->name);
  for (int i = 0; (option = cli_option_row(command, i)); i++)
    if (option->required || option->kind == CLI_OUTPUT) {
      char name[CLI_OPTION_TEXT];
      name_of(option, name);
      printf(option->required ? " %s" : " [%s]", name);
    }
  printf(" [options]\n\n");
}

void cli_help_print(const cli_command *command) {
  const cli_option *option;
  print_usage(command);
  print_wrapped(command->description, 0, 0);
  if (command->operands)
    printf("\noperands:\n");
  for (const cli_place *place = command->operands; place && place->name; place++)
    print_row(place->name, place->help);
  printf("\noptions:\n");
  for (int i = 0; (option = cli_option_row(command, i)); i++)
    print_option(command, option);
  print_row("-h, --help", "print this text");
  printf("\nexamples:\n");
  for (const char *line = command->examples; *line; line += strcspn(line, "\n") + 1)
    printf("%*s%.*s\n", MARGIN, "", (int)strcspn(line, "\n"), line);
}

void cli_help_overview(cli_commands commands) {
  printf("usage: davit COMMAND [operands] [options]\n\n");
  for (; *commands; commands++)
    printf("  %-12s %s\n", (*commands)->name, (*commands)->summary);
  printf("  %-12s %s\n\n%s\nExit codes:\n", "help", "this list; 'davit help COMMAND' explains one command",
         cli_help_arrays);
  for (const cli_help_exit *row = cli_help_exits; row->text; row++)
    printf("  %d  %s\n", row->code, row->text);
}
