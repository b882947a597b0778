/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/frame/help.h"

#include <davit/version.h>
#include <string.h>

/* ---- text ---- */

/* Prints text as man(7) shows it unchanged. A line of a page must not begin with a dot or an apostrophe;
 * `names` also keeps hyphens from becoming typographic, as names that are copied must. */
static void print_escaped(const char *text, size_t length, bool names, bool begins) {
  for (size_t i = 0; i < length; i++) {
    const char c = text[i];
    if (begins && (c == '.' || c == '\''))
      printf("\\&");
    if (c == '\\')
      printf("\\e");
    else if (c == '-' && (names || (i + 1 < length &&
                                    (text[i + 1] == '-' || (text[i + 1] >= '0' && text[i + 1] <= '9')))))
      printf("\\-");
    else if (c == '~' || c == '^' || c == '\'' || c == '`')
      printf(c == '~' ? "\\(ti" : c == '^' ? "\\(ha" : c == '`' ? "\\(ga" : "\\(aq");
    else
      putchar(c);
    begins = c == '\n';
  }
}

static void print_line(const char *text) {
  print_escaped(text, strlen(text), false, true);
  putchar('\n');
}

/* Paragraphs; between them is an empty line. */
static void print_paragraphs(const char *text) {
  while (*text) {
    const char *end = strstr(text, "\n\n");
    const size_t length = end ? (size_t)(end - text) : strlen(text);
    print_escaped(text, length, false, true);
    printf(end ? "\n.PP\n" : "\n");
    text += length + (end ? 2 : 0);
  }
}

/* Bold ('B') or italic ('I'), as part of a line that has begun. */
static void print_font(char font, const char *text) {
  printf("\\f%c", font);
  print_escaped(text, strlen(text), true, false);
  printf("\\fR");
}

/* A name, and its meaning. */
static void print_row(char font, const char *name, const char *text) {
  printf(".TP\n");
  print_font(font, name);
  putchar('\n');
  print_line(text);
}

static void begin(const char *command, const char *summary) {
  printf(".TH DAVIT%s", command ? "\\-" : "");
  for (const char *c = command ? command : ""; *c; c++)
    putchar(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
  printf(" 1 \"\" \"davit %s\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\ndavit%s%s \\- ", davit_version(),
         command ? "\\-" : "", command ? command : "");
  print_escaped(summary, strlen(summary), false, false);
  putchar('\n');
}

static void end(const char *others) {
  printf(".SH EXIT STATUS\n");
  for (const cli_help_exit *row = cli_help_exits; row->text; row++) {
    printf(".TP 4\n.B %d\n", row->code);
    print_line(row->text);
  }
  printf(".SH SEE ALSO\n%s", others);
}

/* ---- a command ---- */

static void print_option_name(const cli_option *option) {
  char argument[CLI_OPTION_TEXT];
  cli_help_argument(option, argument);
  print_font('B', option->name);
  if (option->also) {
    printf(", ");
    print_font('B', option->also);
  }
  if (*argument) {
    putchar(' ');
    print_font('I', argument);
  }
}

static void print_synopsis(const cli_command *command) {
  const cli_option *option;
  printf(".SH SYNOPSIS\n");
  print_font('B', "davit ");
  print_font('B', command->name);
  for (const cli_place *place = command->operands; place && place->name; place++) {
    const bool bracket = place->many || place->optional;
    printf(bracket ? " [" : " ");
    print_font('I', place->name);
    printf("%s%s", place->many ? " ..." : "", bracket ? "]" : "");
  }
  for (int i = 0; (option = cli_option_row(command, i)); i++)
    if (option->required || option->kind == CLI_OUTPUT) {
      printf(option->required ? " " : " [");
      print_option_name(option);
      printf(option->required ? "" : "]");
    }
  printf(" [\\fIoptions\\fR]\n");
}

static void print_option(const cli_command *command, const cli_option *option) {
  char text[CLI_HELP_TEXT];
  cli_help_option(command, option, text);
  printf(".TP\n");
  print_option_name(option);
  putchar('\n');
  print_line(text);
  if (!cli_help_has_choices(option))
    return;
  printf(".RS\n");
  for (const cli_choice *choice = option->choices; choice->name; choice++)
    print_row('B', choice->name, choice->help);
  printf(".RE\n");
}

void cli_man_print(const cli_command *command) {
  const cli_option *option;
  begin(command->name, command->summary);
  print_synopsis(command);
  printf(".SH DESCRIPTION\n");
  print_paragraphs(command->description);
  if (command->operands)
    printf(".SH OPERANDS\n");
  for (const cli_place *place = command->operands; place && place->name; place++)
    print_row('I', place->name, place->help);
  printf(".SH OPTIONS\n");
  for (int i = 0; (option = cli_option_row(command, i)); i++)
    print_option(command, option);
  printf(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nprint these rows\n.SH EXAMPLES\n.nf\n");
  print_escaped(command->examples, strlen(command->examples), true, true);
  printf(".fi\n");
  end(".BR davit (1)\n");
}

/* ---- the tool ---- */

void cli_man_overview(cli_commands commands) {
  begin(NULL, "matrix products, reductions, scans, alignment and more on several accelerators");
  printf(
      ".SH SYNOPSIS\n\\fBdavit\\fR \\fIcommand\\fR [\\fIoperands\\fR] [\\fIoptions\\fR]\n.SH DESCRIPTION\n");
  print_line("Runs one of the commands below on all GPUs, or on the CPU if there is none. Each has its own "
             "page, davit-COMMAND. Standard output is data; remarks and failures go to standard error.");
  printf(".PP\n");
  print_line(cli_help_arrays);
  printf(".SH COMMANDS\n");
  for (cli_commands command = commands; *command; command++)
    print_row('B', (*command)->name, (*command)->summary);
  print_row('B', "help", "the list of the commands, or what 'davit COMMAND --help' prints");
  printf(".SH OPTIONS\n");
  print_row('B', "--version", "the same as 'davit version'");
  print_row('B', "--man", "write this page, or the page of the command that follows, as man(7) source");
  print_row('B', "--completion", "write completion for the shell that follows, bash or zsh");
  printf(".SH ENVIRONMENT\n");
  print_row('B', "DAVIT_THREADS, OMP_NUM_THREADS", "the number of host threads that davit uses");
  print_row('B', "DAVIT_TUNING_FILE", "the tuning file; empty: none");
  print_row('B', "DAVIT_BACKEND", "what executes commands: openmp or threads");
  print_row('B', "DAVIT_BLAS", "target: target regions instead of cuBLAS and BLIS");
  printf(".SH FILES\n");
  print_row('B', "~/.config/davit/tuning.tsv", "the parameters that 'davit tune' found");
  end("");
  for (cli_commands command = commands; *command; command++)
    printf(".BR davit\\-%s (1)%s\n", (*command)->name, command[1] ? "," : "");
}
