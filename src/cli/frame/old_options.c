/* Long options from a table; see options.h for the grammar. */
#include "src/cli/frame/old_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/formats/operand.h"

/* Times of all repetitions are kept for the median. */
enum { MAX_REPEAT = 1000000 };

enum { COMMON_OPTIONS = 7 };

typedef struct common_row {
  unsigned bit;
  cli_old_option option;
  const char *help;
} common_row;

static void common_table(cli_common *common, common_row rows[COMMON_OPTIONS]) {
  const common_row table[COMMON_OPTIONS] = {
      {CLI_COMMON_DEVICES,
       {"devices", CLI_OLD_TEXT, &common->devices},
       "--devices LIST   all (default), gpu, host, cpu (no offload) or numbers such as 0,2"},
      {CLI_COMMON_JSON, {"json", CLI_OLD_FLAG, &common->json}, "--json           print one JSON object"},
      {CLI_COMMON_CHECK,
       {"check", CLI_OLD_FLAG, &common->check},
       "--check          compare with the CPU reference; exit 1 when the bound is broken"},
      {CLI_COMMON_REPEAT,
       {"repeat", CLI_OLD_SIZE, &common->repeat},
       "--repeat R       run R times and report the median time (default 1)"},
      {CLI_COMMON_REPEAT,
       {"warmup", CLI_OLD_COUNT, &common->warmup},
       "--warmup W       run W times first, without timing (default 0)"},
      {CLI_COMMON_SEED,
       {"seed", CLI_OLD_SEED, &common->seed},
       "--seed S         seed of random numbers (default 0)"},
      {CLI_COMMON_QUIET,
       {"quiet", CLI_OLD_FLAG, &common->quiet},
       "--quiet          no progress on standard error"},
  };
  memcpy(rows, table, sizeof table);
}

void cli_old_print_common(unsigned common) {
  cli_common unused;
  common_row rows[COMMON_OPTIONS];
  common_table(&unused, rows);
  for (int i = 0; i < COMMON_OPTIONS; i++)
    if (common & rows[i].bit)
      printf("  %s\n", rows[i].help);
}

static int bad_value(const char *name, const char *text, const char *expected) {
  return cli_fail(CLI_USAGE, "%s%s takes %s, not '%s'", name[1] ? "--" : "-", name, expected, text);
}

static int read_integer(const char *name, const char *text, int64_t least, int64_t *value) {
  const char *expected = least > 0 ? "a whole number from 1" : "a whole number from 0";
  if (!*text || strspn(text, "0123456789") != strlen(text))
    return bad_value(name, text, expected);
  errno = 0;
  const long long parsed = strtoll(text, NULL, 10);
  if (errno || parsed < least)
    return bad_value(name, text, expected);
  *value = parsed;
  return CLI_OK;
}

static int read_seed(const char *name, const char *text, uint64_t *value) {
  errno = 0;
  if (!*text || strspn(text, "0123456789") != strlen(text))
    return bad_value(name, text, "a whole number from 0 to 2^64-1");
  *value = strtoull(text, NULL, 10);
  return errno ? bad_value(name, text, "a whole number from 0 to 2^64-1") : CLI_OK;
}

bool cli_real_parse(const char *text, cli_old_real *real) {
  char *end;
  errno = 0;
  const double value = strtod(text, &end);
  const bool overflow = errno == ERANGE && (value > 1 || value < -1);
  if (end == text || *end || strchr(" \t\n\v\f\r", *text) || overflow)
    return false;
  *real = (cli_old_real){value, true};
  return true;
}

int cli_scalar(const cli_old_real *option, const char *name, cli_type type, double fallback, double *value) {
  *value = option->given ? option->value : fallback;
  return cli_check_scalar(name, *value, type);
}

int cli_operator(const char *text, davit_operator *op) {
  *op = DAVIT_SUM;
  if (!text)
    return CLI_OK;
  while (*op < DAVIT_OPERATOR_COUNT && strcmp(text, davit_operator_string(*op)))
    ++*op;
  return *op < DAVIT_OPERATOR_COUNT ? CLI_OK
                                    : cli_fail(CLI_USAGE, "--op takes sum, prod, min or max, not '%s'", text);
}

static bool is_transpose(const char *text) {
  return text && *text && strchr("NTCntc", *text) && !text[1];
}

static int read_value(const cli_old_option *option, const char *text) {
  switch (option->kind) {
  case CLI_OLD_FLAG:
    return cli_fail(CLI_USAGE, "--%s takes no value", option->name);
  case CLI_OLD_TEXT:
    *(const char **)option->target = text;
    return *text ? CLI_OK : bad_value(option->name, text, "a value");
  case CLI_OLD_LIST: {
    cli_list *list = option->target;
    list->values[list->count++] = text;
    return *text ? CLI_OK : bad_value(option->name, text, "a value");
  }
  case CLI_OLD_REAL:
    return cli_real_parse(text, option->target) ? CLI_OK : bad_value(option->name, text, "a number");
  case CLI_OLD_SIZE:
    return read_integer(option->name, text, 1, option->target);
  case CLI_OLD_COUNT:
    return read_integer(option->name, text, 0, option->target);
  case CLI_OLD_AUTO_SIZE:
    if (strcmp(text, "auto"))
      return read_integer(option->name, text, 1, option->target);
    *(int64_t *)option->target = 0;
    return CLI_OK;
  case CLI_OLD_SEED:
    return read_seed(option->name, text, option->target);
  case CLI_OLD_TRANSPOSE:
    *(bool *)option->target = *text != 'N' && *text != 'n';
    return is_transpose(text) ? CLI_OK : bad_value(option->name, text, "N, T or C");
  }
  return CLI_USAGE;
}

/* The row named `name` (of `length` characters), in the command's own table or among its common options. */
static bool find_option(const cli_command *command, const cli_old_option *options, cli_common *common,
                        const char *name, size_t length, cli_old_option *found) {
  for (const cli_old_option *option = options; option->name; option++)
    if (strlen(option->name) == length && !memcmp(option->name, name, length)) {
      *found = *option;
      return true;
    }
  common_row rows[COMMON_OPTIONS];
  common_table(common, rows);
  for (int i = 0; i < COMMON_OPTIONS; i++) {
    *found = rows[i].option;
    if ((command->common & rows[i].bit) && strlen(found->name) == length &&
        !memcmp(found->name, name, length))
      return true;
  }
  return false;
}

/* '-' is a value. */
static bool is_option(const char *argument) {
  return argument[0] == '-' && argument[1];
}

/* Reads the option argv[*at] and moves *at to the last argument it used. */
static int read_option(const cli_command *command, const cli_old_option *options, cli_common *common,
                       int argc, char **argv, int *at) {
  const char *argument = argv[*at];
  const bool is_long = argument[1] == '-';
  const char *name = argument + 1 + is_long;
  const size_t length = strcspn(name, "=");
  cli_old_option option;
  if ((length > 1) != is_long || !find_option(command, options, common, name, length, &option))
    return cli_fail(CLI_USAGE, "unknown option '%s'; 'davit help %s' lists them", argument, command->name);
  if (name[length] == '=')
    return read_value(&option, name + length + 1);
  const char *next = *at + 1 < argc ? argv[*at + 1] : NULL;
  if (option.kind == CLI_OLD_FLAG || (option.kind == CLI_OLD_TRANSPOSE && !is_transpose(next))) {
    *(bool *)option.target = true;
    return CLI_OK;
  }
  if (!next)
    return cli_fail(CLI_USAGE, "%s needs a value", argument);
  ++*at;
  int code = read_value(&option, next);
  while (code == CLI_OK && option.kind == CLI_OLD_LIST && *at + 1 < argc && !is_option(argv[*at + 1]))
    code = read_value(&option, argv[++*at]);
  return code;
}

/* What stands between the options. */
typedef struct operand_list {
  const char **values;
  int least, most, count;
} operand_list;

static int read_arguments(const cli_command *command, const cli_old_option *options, int argc, char **argv,
                          cli_common *common, operand_list *operands) {
  bool only_operands = false;
  for (int i = 1; i < argc; i++) {
    const bool option = !only_operands && is_option(argv[i]);
    if (option && !strcmp(argv[i], "--")) {
      only_operands = true;
    } else if (option && (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))) {
      return CLI_HELP;
    } else if (option) {
      const int code = read_option(command, options, common, argc, argv, &i);
      if (code != CLI_OK)
        return code;
    } else if (operands->count < operands->most) {
      operands->values[operands->count++] = argv[i];
    } else {
      return cli_fail(CLI_USAGE, "unexpected operand '%s'; see 'davit help %s'", argv[i], command->name);
    }
  }
  if (operands->count < operands->least)
    return cli_fail(CLI_USAGE, "%d of %d operands are missing; see 'davit help %s'",
                    operands->least - operands->count, operands->least, command->name);
  return CLI_OK;
}

static int parse(const cli_command *command, const cli_old_option *options, int argc, char **argv,
                 cli_common *common, operand_list *operands) {
  *common = (cli_common){.devices = "all", .repeat = 1};
  const int code = read_arguments(command, options, argc, argv, common, operands);
  if (code == CLI_OK && (common->repeat > MAX_REPEAT || common->warmup > MAX_REPEAT))
    return cli_fail(CLI_USAGE, "--repeat and --warmup take at most %d", MAX_REPEAT);
  return code;
}

int cli_old_parse(const cli_command *command, const cli_old_option *options, int argc, char **argv,
                  cli_common *common, const char **operands, int operand_count) {
  operand_list list = {.values = operands, .least = operand_count, .most = operand_count};
  return parse(command, options, argc, argv, common, &list);
}

int cli_old_parse_list(const cli_command *command, const cli_old_option *options, int argc, char **argv,
                       cli_common *common, const char **operands, int most, int *count) {
  operand_list list = {.values = operands, .most = most};
  const int code = parse(command, options, argc, argv, common, &list);
  *count = list.count;
  return code;
}
