/* SPDX-License-Identifier: Apache-2.0 */
/* What a sub-command is: rows of constants, from which everything that all commands share follows.
 *
 * A sub-command is one file. It defines a state, which begins with a cli_job and contains a member for each
 * operand, each option and each array, and `const cli_command cli_command_NAME`, which says
 *
 *   what the user reads      name, summary, description, examples;
 *   what the user gives      the operands and the options, a row each, and which common options are taken;
 *   what there is to free    the arrays of the state;
 *   what is done             functions, each with the state as its first argument.
 *
 * An option's row has its name, placeholder, kind, range, default, choices, relations to other options,
 * help, and the place of its value in the state. The parser (options.h) reads the command line into the
 * state by the rows and checks all of that; help texts (help.h) and messages are written from the same rows.
 * So a range or a default stands once, and a command checks by itself only what depends on several options
 * or on operands.
 *
 * The driver (job.h) runs every command in the same steps:
 *
 *   parse     the command line into a state of zeros
 *   open      the devices of --devices, then the outputs, before any work
 *   read      operands by their rows, create results, set job->rate; or the command's own `read`
 *   run       work, warmup + repeat times, each timed; or the command's own `run`
 *   gather    with several ranks: bring together what they have, on rank 0
 *   check     with --check: compare with the reference, set job->check
 *   finish    command: what the result still needs before it is written
 *   write     all outputs, then give all of them their names; nothing if the check failed
 *   report    --json: one object on standard output; else the result on standard output; once that is
 *             written, on standard error, the command's `remark`, and with -v devices, figures and times
 *   free      outputs, arrays, the job's memory, and what `release` frees
 *
 * A step that returns anything but CLI_OK ends the command with that exit code; `free` always runs. Functions
 * that a command does not need are NULL.
 *
 * With several ranks (ranks.h) a command that `divides` goes through these steps on all of them: `open`
 * gives each rank devices of its own, `read` reads its part alone and notes the whole
 * (cli_ranks_note()), which has to be the same on all, `run` does its part; outputs,
 * `check`, `finish` and `report` are rank 0's, where the result is whole after `gather`. Other commands
 * run on rank 0. */
#ifndef DAVIT_SRC_CLI_FRAME_COMMAND_H
#define DAVIT_SRC_CLI_FRAME_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "src/cli/fail.h"
#include "src/cli/formats/operand.h"
#include "src/cli/frame/json.h"

/* The order is that of `davit help`. */
#define CLI_COMMANDS(X)                                                                                      \
  X(demo)                                                                                                    \
  X(devices)                                                                                                 \
  X(gemm)                                                                                                    \
  X(gemv)                                                                                                    \
  X(axpy)                                                                                                    \
  X(dot)                                                                                                     \
  X(reduce)                                                                                                  \
  X(scan)                                                                                                    \
  X(stencil)                                                                                                 \
  X(atax)                                                                                                    \
  X(covariance)                                                                                              \
  X(solve)                                                                                                   \
  X(factor)                                                                                                  \
  X(align)                                                                                                   \
  X(features)                                                                                                \
  X(detect)                                                                                                  \
  X(closest)                                                                                                 \
  X(neighbors)                                                                                               \
  X(cluster)                                                                                                 \
  X(points)                                                                                                  \
  X(occupancy)                                                                                               \
  X(tune)                                                                                                    \
  X(bench)                                                                                                   \
  X(version)

/* ---- rows ---- */

/* The kind of an option's value, and the type of the state's member. */
typedef enum cli_kind {
  CLI_FLAG,    /* bool: true if given; takes no value */
  CLI_TEXT,    /* const char *; NULL: not given */
  CLI_LIST,    /* cli_list: all arguments up to the next option; may be repeated */
  CLI_CHOICE,  /* int or an enumeration: one of `choices` */
  CLI_WHOLE,   /* int, int64_t or uint64_t: a whole number in the range, or the value of one of `choices` */
  CLI_REAL,    /* double: a number in the range; with choices, cli_real_or_choice */
  CLI_COMPLEX, /* double _Complex: a number, 1+2j or 2j */
  CLI_OUTPUT   /* cli_output: a file to write */
} cli_kind;

typedef struct cli_list {
  const char **values;
  int count;
} cli_list;

/* A number, or the value of one of the choices (`chosen`, not 0), which has no number. */
typedef struct cli_real_or_choice {
  double value;
  int chosen;
} cli_real_or_choice;

/* A name for a value; a list of them ends with a row without a name. A name in capitals may be given in
 * either case. */
typedef struct cli_choice {
  const char *name;
  int value;
  const char *help; /* may be NULL */
} cli_choice;

/* A list of options ends with a row without a name. What is not given is zero. */
typedef struct cli_option {
  const char *name;     /* "--gap-open", "-o" */
  const char *also;     /* of CLI_FLAG: a second name, "--verbose" of "-v"; may be NULL */
  const char *argument; /* placeholder of the value in help texts */
  cli_kind kind;
  size_t at, bytes;        /* of the value in the state: CLI_AT() */
  double minimum, maximum; /* of numbers; where maximum <= minimum, CLI_WHOLE has none, CLI_REAL no range */
  bool above;              /* the value must be above the minimum */
  const cli_choice *choices;
  const char *value;     /* default, as it would be written on the command line */
  const char *otherwise; /* default in words, for help texts */
  const char *implied;   /* the value where none of the choices follows */
  bool required;
  const char *needs, *excludes; /* another option that must be, or must not be, given too */
  size_t array; /* of CLI_OUTPUT: place in the state of the array to write; 0: the command's result */
  bool (*write)(FILE *file, const void *state); /* of CLI_OUTPUT, in place of the command's `write` */
  const char *ending;                           /* of CLI_OUTPUT: of the name of a regular file; NULL: any */
  const char *words; /* of CLI_TEXT, for completion: what the value may be; NULL: the name of a file */
  const char *help;
} cli_option;

/* A list of operands ends with a row without a name. */
typedef struct cli_place {
  const char *name;
  size_t at;         /* of a const char *, or of a cli_list if there are many */
  bool optional;     /* after those that are not */
  bool many;         /* any number; the last row */
  const char *words; /* for completion: what the operand may be; NULL: the name of a file */
  const char *help;
} cli_place;

/* Place and size of a member of a state, for a row. */
#define CLI_AT(type, member) .at = offsetof(type, member), .bytes = sizeof(((type *)0)->member)

/* The row of an option whose value is `member` of the state `type`; KIND is WHOLE, TEXT … The other members
 * of the row follow. */
#define CLI_OPTION(KIND, type, member, its_name, its_argument, ...)                                          \
  {.kind = CLI_##KIND, CLI_AT(type, member), .name = (its_name), .argument = (its_argument), __VA_ARGS__}

#define CLI_ARRAY_FORMATS ".npy, .mtx or .csv, by the ending of the name; .npy if it has none"

/* The row of -o for the command's result. */
#define CLI_RESULT_OPTION(its_argument)                                                                      \
  CLI_OPTION(OUTPUT, cli_job, output, "-o", its_argument, .help = "write the result: " CLI_ARRAY_FORMATS)

/* The row of -o for rows of text, which are printed where it is not given. */
#define CLI_ROWS_OPTION                                                                                      \
  CLI_OPTION(OUTPUT, cli_job, output, "-o", "FILE", .value = "-", .otherwise = "standard output",            \
             .help = "write the rows to FILE; with --json, they are written only if this is given")

#define CLI_OPTIONS(...)                                                                                     \
  (const cli_option[]) {                                                                                     \
    __VA_ARGS__, {0}                                                                                         \
  }

/* The row of an operand. */
#define CLI_PLACE(type, member, its_name, its_help)                                                          \
  {.name = (its_name), .at = offsetof(type, member), .help = (its_help)}

#define CLI_PLACES(...)                                                                                      \
  (const cli_place[]) {                                                                                      \
    __VA_ARGS__, {0}                                                                                         \
  }

/* ---- arrays ---- */

/* An array of the state. One with a path is an operand, and is read if the path is given; one that has a shape alone is
 * created, of the first operand's type; one without either is only freed. */
typedef struct cli_array_row {
  size_t at;           /* of the cli_array in the state */
  size_t path;         /* of the const char * */
  const char *shape;   /* of op(A): the first letters of its sizes; "" is a scalar */
  cli_numbers numbers; /* that an operand may have */
  size_t trans;        /* of the value of --trans, where the operand has that option */
  size_t factor;       /* of a double _Complex, which is 0 where the operand is not given */
  bool scratch;        /* of the host alone */
  bool vector;         /* an operand that may also be a vector, a matrix of one column */
} cli_array_row;

#define CLI_OPERAND(type, member, its_numbers, its_shape, ...)                                               \
  {.at = offsetof(type, member),                                                                             \
   .path = offsetof(type, member##_path),                                                                    \
   .numbers = CLI_NUMBERS_##its_numbers,                                                                     \
   .shape = (its_shape),                                                                                     \
   __VA_ARGS__}
#define CLI_CREATED(type, member, its_shape, ...)                                                            \
  {.at = offsetof(type, member), .shape = (its_shape), __VA_ARGS__}
#define CLI_FREED(type, member) {.at = offsetof(type, member)}

#define CLI_ARRAYS(...)                                                                                      \
  (const cli_array_row[]) {                                                                                  \
    __VA_ARGS__, {0}                                                                                         \
  }

/* ---- commands ---- */

/* Which common options a command takes; their rows stand in options.c. */
typedef enum cli_common_option {
  CLI_COMMON_DEVICES = 1,
  CLI_COMMON_JSON = 2,
  CLI_COMMON_CHECK = 4,
  CLI_COMMON_REPEAT = 8, /* --repeat and --warmup */
  CLI_COMMON_SEED = 16,
  CLI_COMMON_QUIET = 32,
  CLI_COMMON_VERBOSE = 64,
  CLI_COMMON_FORCE = 128,
  CLI_COMMON_THREADS = 256,
  CLI_COMMON_RAW = 512, /* --dtype and --shape, of the first operand */
  CLI_COMMON_TRACE = 1024,
  CLI_COMMON_TABLE = 2048, /* --decimal and --missing, of all operands that are CSV */
  CLI_COMMON_RUN = CLI_COMMON_JSON | CLI_COMMON_QUIET | CLI_COMMON_VERBOSE,
  CLI_COMMON_COMPUTE = CLI_COMMON_RUN | CLI_COMMON_DEVICES | CLI_COMMON_THREADS | CLI_COMMON_CHECK |
                       CLI_COMMON_REPEAT | CLI_COMMON_TRACE,
  CLI_COMMON_ARRAYS = CLI_COMMON_TABLE | CLI_COMMON_COMPUTE | CLI_COMMON_FORCE
} cli_common_option;

/* What a second of work achieves: the unit of how much of it a run does (flops, bytes, cells). */
typedef enum cli_unit { CLI_NO_RATE, CLI_GFLOPS, CLI_GBYTES, CLI_GCUPS } cli_unit;

enum { CLI_SIZES = 3 };

/* What --check found. */
typedef struct cli_check {
  const char *measure; /* a formula: "||C - C_ref||_F <= …"; NULL: nothing was checked */
  double error;
  double bound;
  bool overflow; /* the result has NaN, though all operands and factors are finite */
  const char
      *factor; /* the option, if one is not finite, and the result has NaN or is not within the bound */
} cli_check;

typedef struct cli_command cli_command;
struct cli_command {
  const char *name;
  const char *summary;     /* one line, for the overview */
  const char *description; /* paragraphs, which help texts wrap; between them an empty line */
  const char *examples;    /* command lines, each ended by a line feed; the tests run them */
  const cli_place *operands;
  const cli_option *options;
  unsigned common; /* bits of cli_common_option */
  /* Operands of at most so many bytes in all are left to the CPU (device_set.h); 0: never. Not where one of the options
   * `of_devices` is given, whose names end with NULL. */
  int64_t small_bytes;
  const char *const *of_devices;

  size_t state;                /* bytes */
  const cli_array_row *arrays; /* first the operands */
  size_t result, initial; /* of these: what `work` computes, and its contents before each run (0: zeros) */
  void (*restore)(void *state, cli_array *result); /* in place of `initial`: what runs change, as it was */
  const char *sizes[CLI_SIZES + 1]; /* of the operands, in the order of job->sizes; names in the report */
  cli_unit unit;                    /* of the rate */
  const char
      *cut;     /* first letters of the sizes, one or two, that several ranks divide; their parts begin at */
  int64_t step; /* multiples of this */
  bool ranks_on_host; /* several ranks compute in host memory, whatever the devices are */

  void (*defaults)(void *state); /* sets defaults that the library knows, in place of their rows' `value` */
  /* In place of reading by the rows of `arrays`; or after it, also when rank 0 reads whole operands again; and what
   * the rows do not create. */
  int (*read)(void *state);
  int (*prepare)(void *state), (*create)(void *state);
  int (*run)(void *state); /* in place of `work` */
  /* Computes the result, on the devices or by the CPU reference, into `result`: the command's array of
   * results or the reference's (cli_job_compare()); NULL for a command that has no such array. */
  davit_status (*work)(void *state, cli_array *result, bool reference);
  int (*divides)(const void *state, bool *divided); /* whether ranks share the work; NULL: never */
  int (*gather)(void *state);                       /* in place of what `cut` says */
  /* For --check: the formula, the error and its bound, after the reference has run. NULL: the number of elements that
   * differ, and 0. `check` stands in place of all three. */
  const char *measure;
  double (*error)(const void *state), (*bound)(const void *state);
  int (*check)(void *state, cli_check *check);
  bool check_on_all; /* ranks: not on rank 0 alone */
  int (*finish)(void *state);
  bool (*write)(FILE *file, const void *state); /* to outputs that are no array; false on a write error */
  void (*print)(const void *state);             /* the result, on standard output … */
  bool print_is_aside;                          /* … or something beside the result, which goes to a file */
  void (*json)(cli_json *json, const void *state);   /* the same, as members of the object */
  void (*report)(cli_json *json, const void *state); /* further figures, for --json and -v */
  void (*remark)(const void *state);                 /* what else the user should know, on standard error */
  void (*release)(void *state);
};

#define CLI_DECLARE_COMMAND(name) extern const cli_command cli_command_##name;
CLI_COMMANDS(CLI_DECLARE_COMMAND)
#undef CLI_DECLARE_COMMAND

#endif
