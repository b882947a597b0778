/* SPDX-License-Identifier: Apache-2.0 */
#include "src/cli/frame/options.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/allocate.h"
#include "src/base/team.h"
#include "src/cli/frame/nearest.h"
#include "src/cli/frame/output.h"

/* ---- rows ---- */

enum { MAX_REPEAT = 1000000 }; /* the times of all runs are kept for the median */

static const cli_choice decimals[] = {{".", CLI_DECIMAL_POINT, NULL}, {",", CLI_DECIMAL_COMMA, NULL}, {0}};
static const cli_choice missings[] = {{"refuse", CLI_MISSING_REFUSE, "stop with exit code 3"},
                                      {"skip", CLI_MISSING_SKIP, "leave the line out, also if it has NaN"},
                                      {0}};

static const struct {
  unsigned bit;
  cli_option row;
} common_rows[] = {
    {CLI_COMMON_RAW,
     CLI_OPTION(TEXT, cli_common, reading.dtype, "--dtype", "T",
                .words = "f2 f4 f8 c8 c16 i1 i2 i4 i8 u1 u2 u4 u8 b1",
                .help = "read the first operand as elements of this type without a header, in C order: f2 f4 "
                        "f8 c8 c16 i1 i2 i4 i8 u1 u2 u4 u8 or b1; > before it means big-endian")},
    {CLI_COMMON_RAW, CLI_OPTION(TEXT, cli_common, reading.shape, "--shape", "SHAPE", .words = "",
                                .needs = "--dtype", .otherwise = "one vector of all elements",
                                .help = "the shape of that operand, such as 1000x3")},
    {CLI_COMMON_TABLE,
     CLI_OPTION(
         CHOICE, cli_common, reading.decimal, "--decimal", "MARK", .choices = decimals, .value = ".",
         .help =
             "the decimal mark in CSV; with a comma, fields are separated by semicolons, tabs or spaces")},
    {CLI_COMMON_TABLE, CLI_OPTION(CHOICE, cli_common, reading.missing, "--missing", "HOW",
                                  .choices = missings, .value = "refuse",
                                  .help = "what to do with a CSV line that lacks a number (an empty field, "
                                          "NA, N/A, NULL, None, ?, - or .)")},
    {CLI_COMMON_DEVICES,
     CLI_OPTION(
         TEXT, cli_common, devices, "--devices", "LIST", .value = "all", .words = "all gpu host cpu",
         .help = "where to compute: all (the GPUs, or else host), gpu, host (the CPU in place of GPUs), cpu "
                 "(the CPU reference, without offload), or numbers from 'davit devices', such as 0,2")},
    {CLI_COMMON_THREADS,
     CLI_OPTION(WHOLE, cli_common, threads, "--threads", "N", .minimum = 1, .maximum = DVT_MAX_THREADS,
                .otherwise = "DAVIT_THREADS, else OMP_NUM_THREADS, else the available processors",
                .help = "use at most N host threads")},
    {CLI_COMMON_CHECK,
     CLI_OPTION(FLAG, cli_common, check, "--check", NULL,
                .help = "check the result on the CPU; exit with 1 if the error is above its bound")},
    {CLI_COMMON_REPEAT,
     CLI_OPTION(WHOLE, cli_common, repeat, "--repeat", "R", .minimum = 1, .maximum = MAX_REPEAT, .value = "1",
                .help = "time R runs; print the median, the range and the rate on standard error")},
    {CLI_COMMON_REPEAT, CLI_OPTION(WHOLE, cli_common, warmup, "--warmup", "W", .maximum = MAX_REPEAT,
                                   .value = "0", .help = "run W times first, without timing")},
    {CLI_COMMON_TRACE, CLI_OPTION(TEXT, cli_common, trace, "--trace", "FILE",
                                  .help = "write a timeline of the devices, for https://ui.perfetto.dev")},
    {CLI_COMMON_SEED, CLI_OPTION(WHOLE, cli_common, seed, "--seed", "S", .maximum = 0x1p64, .value = "0",
                                 .help = "seed of the random numbers")},
    {CLI_COMMON_JSON,
     CLI_OPTION(FLAG, cli_common, json, "--json", NULL, .help = "print one JSON object on standard output")},
    {CLI_COMMON_FORCE, CLI_OPTION(FLAG, cli_common, force, "-f", NULL, .also = "--force",
                                  .help = "write binary output even to a terminal")},
    {CLI_COMMON_VERBOSE, CLI_OPTION(FLAG, cli_common, verbose, "-v", NULL, .also = "--verbose",
                                    .help = "print devices, times and rates on standard error")},
    {CLI_COMMON_QUIET, CLI_OPTION(FLAG, cli_common, quiet, "--quiet", NULL,
                                  .help = "print no progress and no remarks on standard error")},
};

const cli_option *cli_option_row(const cli_command *command, int index) {
  for (const cli_option *row = command->options; row && row->name; row++)
    if (index-- == 0)
      return row;
  for (size_t i = 0; i < sizeof common_rows / sizeof *common_rows; i++)
    if ((command->common & common_rows[i].bit) && index-- == 0)
      return &common_rows[i].row;
  return NULL;
}

static bool is_name(const char *its, const char *name, size_t length) {
  return its && strlen(its) == length && !memcmp(its, name, length);
}

/* The index of the row with this name, of `length` characters; -1: there is none. */
static int find_row(const cli_command *command, const char *name, size_t length) {
  const cli_option *row;
  for (int i = 0; (row = cli_option_row(command, i)); i++)
    if (is_name(row->name, name, length) || is_name(row->also, name, length))
      return i;
  return -1;
}

bool cli_is_given(const cli_command *command, const cli_common *common, const char *name) {
  return common->given >> find_row(command, name, strlen(name)) & 1;
}

/* ---- texts ---- */

const char *cli_choice_name(const cli_choice *choices, int value) {
  while (choices->value != value)
    choices++;
  return choices->name;
}

static bool has_range(const cli_option *option) {
  return option->kind == CLI_WHOLE || (option->kind == CLI_REAL && option->maximum > option->minimum);
}

static bool has_maximum(const cli_option *option) {
  return option->maximum > option->minimum && option->maximum < 0x1p63;
}

void cli_option_range(const cli_option *option, char text[static CLI_OPTION_TEXT]) {
  *text = 0;
  if (!has_range(option))
    return;
  const int used =
      snprintf(text, CLI_OPTION_TEXT, "%s %.15g", option->above ? "above" : "from", option->minimum);
  if (has_maximum(option))
    snprintf(text + used, CLI_OPTION_TEXT - (size_t)used, "%s %.15g", option->above ? ", at most" : " to",
             option->maximum);
}

/* What a value of the kind is called. */
static const char *noun_of(const cli_option *option) {
  return option->kind == CLI_WHOLE     ? "a whole number"
         : option->kind == CLI_COMPLEX ? "a number, such as 2 or 1+2j"
         : option->kind == CLI_REAL    ? "a number"
         : option->kind == CLI_CHOICE  ? NULL
                                       : "a value";
}

void cli_option_values(const cli_option *option, char text[static CLI_OPTION_TEXT]) {
  const char *noun = noun_of(option);
  size_t used = 0;
  for (const cli_choice *choice = option->choices; choice && choice->name; choice++) {
    const char *before = choice == option->choices ? "" : choice[1].name || noun ? ", " : " or ";
    used += (size_t)snprintf(text + used, CLI_OPTION_TEXT - used, "%s%s", before, choice->name);
  }
  if (noun)
    snprintf(text + used, CLI_OPTION_TEXT - used, "%s%s", used ? " or " : "", noun);
}

/* The choice that is likely to be meant, NULL if there is none: one that is misspelt, or with which the text
 * begins, as maximum with max. */
static const char *choice_like(const cli_option *option, const char *text) {
  enum { LEAST_LETTERS = 3 };
  cli_nearest nearest = {.word = text};
  for (const cli_choice *choice = option->choices; choice && choice->name; choice++) {
    const size_t length = strlen(choice->name);
    if (length >= LEAST_LETTERS && !strncasecmp(text, choice->name, length))
      return choice->name;
    cli_nearest_try(&nearest, choice->name);
  }
  return nearest.name;
}

static int bad_value(const cli_option *option, const char *text) {
  char values[CLI_OPTION_TEXT], range[CLI_OPTION_TEXT];
  const char *like = choice_like(option, text);
  cli_option_values(option, values);
  cli_option_range(option, range);
  return cli_fail(CLI_USAGE, "%s takes %s%s%s, not '%s'%s%s%s", option->name, values, *range ? " " : "",
                  range, text, like ? "; did you mean " : "", like ? like : "", like ? "?" : "");
}

/* ---- values ---- */

static const cli_choice *find_choice(const cli_option *option, const char *text) {
  for (const cli_choice *choice = option->choices; text && choice && choice->name; choice++)
    if (!(isupper((unsigned char)*choice->name) ? strcasecmp : strcmp)(choice->name, text))
      return choice;
  return NULL;
}

static void store_whole(const cli_option *option, void *member, long double value) {
  if (option->bytes == sizeof(int))
    *(int *)member = (int)value;
  else if (option->maximum > 0x1p63)
    *(uint64_t *)member = (uint64_t)value;
  else
    *(int64_t *)member = (int64_t)value;
}

/* A long double holds every 64-bit number. */
static int set_whole(const cli_option *option, void *member, const char *text) {
  const long double limit = option->bytes == sizeof(int) ? INT_MAX
                            : option->maximum > 0x1p63   ? UINT64_MAX
                                                         : INT64_MAX;
  const long double maximum = has_maximum(option) ? (long double)option->maximum : limit;
  char *end;
  const long double value = strtold(text, &end);
  if (*text == '+' || strspn(text, "0123456789.eE+-") != strlen(text) || end == text || *end ||
      value != floorl(value) || value < (long double)option->minimum || value > maximum)
    return bad_value(option, text);
  store_whole(option, member, value);
  return CLI_OK;
}

static int set_real(const cli_option *option, void *member, const char *text) {
  char *end;
  errno = 0;
  const double value = strtod(text, &end);
  const bool overflow = errno == ERANGE && (value > 1 || value < -1);
  if (end == text || *end || strchr(" \t\n\v\f\r", *text) || overflow)
    return bad_value(option, text);
  if (has_range(option) &&
      !((option->above ? value > option->minimum : value >= option->minimum) && value <= option->maximum))
    return bad_value(option, text);
  if (option->choices)
    *(cli_real_or_choice *)member = (cli_real_or_choice){.value = value};
  else
    *(double *)member = value;
  return CLI_OK;
}

/* As Python writes complex numbers, without brackets. */
static int set_complex(const cli_option *option, double _Complex *member, const char *text) {
  double parts[2] = {0};
  errno = 0;
  const bool good = !isspace((unsigned char)*text) && cli_parse_complex(text, parts);
  for (int k = 0; k < 2; k++)
    if (!good || (errno == ERANGE && isinf(parts[k])))
      return bad_value(option, text);
  memcpy(member, parts, sizeof *member);
  return CLI_OK;
}

static int set_choice(const cli_option *option, void *member, const cli_choice *choice) {
  if (option->kind == CLI_REAL)
    *(cli_real_or_choice *)member = (cli_real_or_choice){.chosen = choice->value};
  else if (option->kind == CLI_WHOLE)
    store_whole(option, member, choice->value);
  else
    *(int *)member = choice->value;
  return CLI_OK;
}

/* `room` is how many values a list may get. */
static int add_value(cli_list *list, int room, const char *text) {
  if (!list->values)
    list->values = dvt_allocate((size_t)room, sizeof *list->values);
  if (!list->values)
    return cli_fail(CLI_DEVICE, "not enough memory for the arguments");
  list->values[list->count++] = text;
  return CLI_OK;
}

static int set_value(const cli_option *option, char *state, int room, const char *text) {
  void *member = state + option->at;
  const cli_choice *choice = find_choice(option, text);
  if (option->kind == CLI_FLAG)
    return cli_fail(CLI_USAGE, "%s takes no value", option->name);
  if (!*text)
    return bad_value(option, text);
  if (choice)
    return set_choice(option, member, choice);
  switch (option->kind) {
  case CLI_LIST:
    return add_value(member, room, text);
  case CLI_WHOLE:
    return set_whole(option, member, text);
  case CLI_REAL:
    return set_real(option, member, text);
  case CLI_COMPLEX:
    return set_complex(option, member, text);
  case CLI_TEXT:
    *(const char **)member = text;
    return CLI_OK;
  case CLI_OUTPUT:
    ((cli_output *)member)->path = text;
    return CLI_OK;
  default:
    return bad_value(option, text);
  }
}

/* ---- arguments ---- */

typedef struct parser {
  const cli_command *command;
  char *state;
  cli_common *common; /* where the state begins */
  char **argv;
  int argc, at;
  const cli_place *place; /* of the next operand */
} parser;

/* '-' is a value. */
static bool is_option(const char *argument) {
  return argument[0] == '-' && argument[1];
}

static int unknown_option(const parser *p, const char *argument) {
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(argument, "="), argument);
  cli_nearest nearest = {.word = name};
  const cli_option *row;
  for (int i = 0; (row = cli_option_row(p->command, i)); i++) {
    if (row->name[1] == '-')
      cli_nearest_try(&nearest, row->name);
    if (row->also)
      cli_nearest_try(&nearest, row->also);
  }
  return cli_fail(CLI_USAGE, "unknown option '%s'; %s%s%s'davit help %s' lists the options", argument,
                  nearest.name ? "did you mean " : "", nearest.name ? nearest.name : "",
                  nearest.name ? "? " : "", p->command->name);
}

/* Reads the option at p->at, and leaves p->at at the last argument that it used. */
static int read_option(parser *p) {
  const char *argument = p->argv[p->at];
  const size_t length = strcspn(argument, "=");
  const int index = find_row(p->command, argument, length);
  if (index < 0)
    return unknown_option(p, argument);
  const cli_option *option = cli_option_row(p->command, index);
  p->common->given |= UINT64_C(1) << index;
  if (argument[length])
    return set_value(option, p->state, p->argc, argument + length + 1);
  if (option->kind == CLI_FLAG) {
    *(bool *)(p->state + option->at) = true;
    return CLI_OK;
  }
  const char *next = p->at + 1 < p->argc ? p->argv[p->at + 1] : NULL;
  if (option->implied && !find_choice(option, next))
    return set_value(option, p->state, p->argc, option->implied);
  if (!next)
    return cli_fail(CLI_USAGE, "%s needs a value", argument);
  p->at++;
  int code = set_value(option, p->state, p->argc, next);
  while (code == CLI_OK && option->kind == CLI_LIST && p->at + 1 < p->argc && !is_option(p->argv[p->at + 1]))
    code = set_value(option, p->state, p->argc, p->argv[++p->at]);
  return code;
}

static int read_operand(parser *p, const char *argument) {
  if (!p->place || !p->place->name)
    return cli_fail(CLI_USAGE, "unexpected operand '%s'; see 'davit help %s'", argument, p->command->name);
  if (p->place->many)
    return add_value((cli_list *)(p->state + p->place->at), p->argc, argument);
  *(const char **)(p->state + p->place->at) = argument;
  p->place++;
  return CLI_OK;
}

static int read_arguments(parser *p) {
  bool only_operands = false;
  int code = CLI_OK;
  for (p->at = 1; p->at < p->argc && code == CLI_OK; p->at++) {
    const char *argument = p->argv[p->at];
    if (only_operands || !is_option(argument))
      code = read_operand(p, argument);
    else if (!strcmp(argument, "--"))
      only_operands = true;
    else if (!strcmp(argument, "--help") || !strcmp(argument, "-h"))
      code = CLI_HELP;
    else
      code = read_option(p);
  }
  return code;
}

/* What the rows say of several options, and of what is missing. */
static int check_rows(const parser *p) {
  const cli_command *command = p->command;
  const cli_option *row;
  if (p->place && p->place->name && !p->place->optional && !p->place->many)
    return cli_fail(CLI_USAGE, "operand %s is missing; see 'davit help %s'", p->place->name, command->name);
  for (int i = 0; (row = cli_option_row(command, i)); i++) {
    const bool given = p->common->given >> i & 1;
    if (!given && row->required)
      return cli_fail(CLI_USAGE, "%s is missing", row->name);
    if (given && row->needs && !cli_is_given(command, p->common, row->needs))
      return cli_fail(CLI_USAGE, "%s needs %s", row->name, row->needs);
    if (given && row->excludes && cli_is_given(command, p->common, row->excludes))
      return cli_fail(CLI_USAGE, "%s and %s exclude each other", row->name, row->excludes);
  }
  return CLI_OK;
}

/* What is an output's default depends on --json; job.c sets it. */
static int set_defaults(const cli_command *command, int argc, void *state) {
  const cli_option *row;
  int code = CLI_OK;
  if (command->defaults)
    command->defaults(state);
  for (int i = 0; code == CLI_OK && (row = cli_option_row(command, i)); i++)
    if (row->value && row->kind != CLI_OUTPUT)
      code = set_value(row, state, argc, row->value);
  return code;
}

int cli_options_parse(const cli_command *command, int argc, char **argv, void *state) {
  parser p = {.command = command,
              .state = state,
              .common = state,
              .argv = argv,
              .argc = argc,
              .place = command->operands};
  CLI_TRY(set_defaults(command, argc, state));
  CLI_TRY(read_arguments(&p));
  return check_rows(&p);
}

/* The default that the library sets, as it would be written; "0" for kinds without one. */
static void print_number(const cli_option *option, const void *member, char text[static CLI_OPTION_TEXT]) {
  double value = 0;
  if (option->kind == CLI_REAL)
    value = *(const double *)member;
  else if (option->kind == CLI_WHOLE)
    value = option->bytes == sizeof(int) ? *(const int *)member : (double)*(const int64_t *)member;
  snprintf(text, CLI_OPTION_TEXT, "%.15g", value);
}

bool cli_option_default(const cli_command *command, const cli_option *option,
                        char text[static CLI_OPTION_TEXT]) {
  const bool leaves_small = command->small_bytes && option->at == offsetof(cli_common, devices);
  const char *written = leaves_small        ? "all; if there are GPUs, small files are left to the CPU"
                        : option->otherwise ? option->otherwise
                                            : option->value;
  char *state = command->defaults ? dvt_allocate(1, command->state) : NULL;
  snprintf(text, CLI_OPTION_TEXT, "%s", written ? written : "0");
  if (!written && state) {
    command->defaults(state);
    print_number(option, state + option->at, text);
  }
  free(state);
  return written || strcmp(text, "0");
}

void cli_options_free(const cli_command *command, void *state) {
  const cli_option *row;
  for (int i = 0; (row = cli_option_row(command, i)); i++)
    if (row->kind == CLI_LIST)
      free(((cli_list *)((char *)state + row->at))->values);
  for (const cli_place *place = command->operands; place && place->name; place++)
    if (place->many)
      free(((cli_list *)((char *)state + place->at))->values);
}
