/* SPDX-License-Identifier: Apache-2.0 */
/* Completion for bash and zsh. Values that are names of files are completed as such, others by the words of
 * their rows; numbers have none. */
#include <string.h>

#include "src/cli/frame/help.h"

/* Whether the value is a file's name. */
static bool takes_file(const cli_option *option) {
  return option->kind == CLI_OUTPUT || option->kind == CLI_LIST ||
         (option->kind == CLI_TEXT && !option->words);
}

static void print_values(const cli_option *option) {
  const char *before = "";
  for (const cli_choice *choice = option->choices; choice && choice->name; choice++, before = " ")
    printf("%s%s", before, choice->name);
  printf("%s%s", option->words ? before : "", option->words ? option->words : "");
}

/* ---- bash ---- */

static const char bash_begin[] =
    "# Completion of davit's command lines for bash, written by 'davit --completion bash'.\n"
    "_davit() {\n"
    "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}\n"
    "  local commands options= values= operands=file\n"
    "  COMPREPLY=()\n";

/* bash separates --name=value at the equals sign. */
static const char bash_end[] = "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                               "    COMPREPLY=($(compgen -W \"$commands help --version\" -- \"$word\"))\n"
                               "    return\n"
                               "  fi\n"
                               "  if [ \"$word\" = = ]; then\n"
                               "    word=\n"
                               "  elif [ \"$before\" = = ]; then\n"
                               "    before=${COMP_WORDS[COMP_CWORD - 2]}\n"
                               "  fi\n"
                               "  _davit_values\n"
                               "  case $values in\n"
                               "  operand)\n"
                               "    case $word in\n"
                               "    -*) values=$options ;;\n"
                               "    *) values=$operands ;;\n"
                               "    esac\n"
                               "    ;;\n"
                               "  esac\n"
                               "  case $values in\n"
                               "  file)\n"
                               "    compopt -o filenames 2>/dev/null\n"
                               "    mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
                               "    ;;\n"
                               "  *) COMPREPLY=($(compgen -W \"$values\" -- \"$word\")) ;;\n"
                               "  esac\n"
                               "}\n"
                               "complete -F _davit davit\n";

static void print_bash_command(const cli_command *command) {
  const cli_option *option;
  const cli_place *place = command->operands;
  printf("  %s)\n    options='", command->name);
  for (int i = 0; (option = cli_option_row(command, i)); i++)
    printf("%s%s%s ", option->name, option->also ? " " : "", option->also ? option->also : "");
  printf("--help'\n");
  if (!place || place->words)
    printf("    operands='%s'\n", place ? place->words : "");
  printf("    case $before in\n");
  for (int i = 0; (option = cli_option_row(command, i)); i++)
    if (option->kind != CLI_FLAG && !option->implied) { /* else an operand may follow */
      printf("    %s) values='", option->name);
      print_values(option);
      printf("%s' ;;\n", takes_file(option) ? "file" : "");
    }
  printf("    esac\n    ;;\n");
}

void cli_complete_bash(cli_commands commands) {
  printf("%s  commands='", bash_begin);
  for (cli_commands command = commands; *command; command++)
    printf("%s%s", command == commands ? "" : " ", (*command)->name);
  printf("'\n%s\n# Sets `options`, `operands` and `values` of the function above: 'file', 'operand' for what "
         "follows no option, or words.\n_davit_values() {\n  values=operand\n  case $command in\n",
         bash_end);
  for (cli_commands command = commands; *command; command++)
    print_bash_command(*command);
  printf("  help)\n    operands=$commands\n    ;;\n  esac\n}\n");
}

/* ---- zsh ---- */

/* Text within brackets and single quotes, up to where it says more than one thing. */
static void print_explanation(const char *text) {
  const size_t length = strcspn(text, ";:.");
  for (size_t i = 0; i < length; i++)
    if (text[i] == '\'')
      printf("'\\''");
    else
      printf(strchr("[]\\", text[i]) ? "\\%c" : "%c", text[i]);
}

static void print_zsh_option(const cli_option *option) {
  const bool flag = option->kind == CLI_FLAG;
  if (option->also)
    printf(" \\\n      '(%s %s)'{%s,%s}'[", option->name, option->also, option->name, option->also);
  else
    printf(" \\\n      '%s%s[", option->name, !flag && option->name[1] == '-' ? "=" : "");
  print_explanation(option->help);
  printf("]");
  if (!flag) {
    printf(":%s:%s", option->argument, takes_file(option) ? "_files" : "(");
    print_values(option);
    printf("%s", takes_file(option) ? "" : ")");
  }
  printf("'");
}

static void print_zsh_command(const cli_command *command) {
  const cli_option *option;
  printf("  %s)\n    _arguments", command->name);
  for (int i = 0; (option = cli_option_row(command, i)); i++)
    print_zsh_option(option);
  printf(" \\\n      '(-h --help)'{-h,--help}'[print the help]'");
  int number = 1;
  for (const cli_place *place = command->operands; place && place->name; place++) {
    if (place->many)
      printf(" \\\n      '*:%s:", place->name);
    else
      printf(" \\\n      '%d:%s:", number++, place->name);
    printf(place->words ? "(%s)'" : "_files'", place->words);
  }
  printf("\n    ;;\n");
}

void cli_complete_zsh(cli_commands commands) {
  printf(
      "#compdef davit\n# Completion of davit's command lines for zsh, written by 'davit --completion zsh'.\n"
      "_davit() {\n  local -a commands\n  commands=(\n");
  for (cli_commands command = commands; *command; command++) {
    printf("    '%s:", (*command)->name);
    print_explanation((*command)->summary);
    printf("'\n");
  }
  printf("    'help:texts of the commands'\n  )\n  if ((CURRENT == 2)); then\n    _describe command "
         "commands\n    return\n"
         "  fi\n  shift words\n  ((CURRENT--))\n  case $words[1] in\n");
  for (cli_commands command = commands; *command; command++)
    print_zsh_command(*command);
  printf("  help)\n    _describe command commands\n    ;;\n  esac\n}\n_davit \"$@\"\n");
}
