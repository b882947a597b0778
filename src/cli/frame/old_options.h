/* Long options from a table.
 *
 * `--name value` and `--name=value` are the same; a one-letter name is written `-o value`. `--` ends the
 * options; `-` is an operand (standard input or output). Names are not abbreviated. A later option
 * overrides an earlier one. Numbers are read whole: trailing characters, overflow and, where a count is
 * meant, anything but decimal digits are usage errors. */
#ifndef DAVIT_SRC_CLI_FRAME_OLD_OPTIONS_H
#define DAVIT_SRC_CLI_FRAME_OLD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/cli/formats/array.h"
#include "src/cli/frame/options.h"

typedef enum cli_old_kind {
  CLI_OLD_FLAG,      /* bool: becomes true */
  CLI_OLD_TEXT,      /* const char * */
  CLI_OLD_LIST,      /* cli_list: takes all arguments up to the next option, and may be repeated */
  CLI_OLD_REAL,      /* cli_old_real: any double, infinities and NaN included */
  CLI_OLD_SIZE,      /* int64_t, at least 1 */
  CLI_OLD_COUNT,     /* int64_t, at least 0 */
  CLI_OLD_AUTO_SIZE, /* int64_t, at least 1, or "auto", which is 0 */
  CLI_OLD_SEED,      /* uint64_t */
  CLI_OLD_TRANSPOSE  /* bool: true; "N", "T" or "C" may follow, and "N" means false */
} cli_old_kind;

/* A number that knows whether it was given. */
typedef struct cli_old_real {
  double value;
  bool given;
} cli_old_real;

/* Reads a number, all of `text`; false if it is none. */
bool cli_real_parse(const char *text, cli_old_real *real);

/* The option's value or `fallback`; a finite one must be finite in `type` too. */
int cli_scalar(const cli_old_real *option, const char *name, cli_type type, double fallback, double *value);

/* "sum", "prod", "min", "max"; NULL is sum. */
int cli_operator(const char *text, davit_operator *op);

/* One row; the type behind `target` is the kind's. A table ends with a row whose name is NULL. */
typedef struct cli_old_option {
  const char *name;
  cli_old_kind kind;
  void *target;
} cli_old_option;

#define CLI_COMMON_NUMERIC                                                                                   \
  (CLI_COMMON_DEVICES | CLI_COMMON_JSON | CLI_COMMON_CHECK | CLI_COMMON_REPEAT | CLI_COMMON_QUIET)

/* Reads argv[1 …] into the targets of `options` and into `common` (defaults are set first), and exactly
 * `operand_count` operands into `operands`. Returns CLI_OK, CLI_HELP when --help or -h stands there, or
 * CLI_USAGE after saying what is wrong. */
int cli_old_parse(const cli_command *command, const cli_old_option *options, int argc, char **argv,
                  cli_common *common, const char **operands, int operand_count);

/* The same for any number of operands up to `most`; `count` tells how many there are. */
int cli_old_parse_list(const cli_command *command, const cli_old_option *options, int argc, char **argv,
                       cli_common *common, const char **operands, int most, int *count);

/* The help lines of the common options in `common`. */
void cli_old_print_common(unsigned common);

#endif
