/* What all sub-commands share: the table row, the exit codes and the one way to fail.
 *
 * A sub-command is one file that defines `const cli_command cli_command_NAME` and one entry in
 * CLI_COMMANDS below; help, dispatch and the common options come from the row. */
#ifndef DAVIT_SRC_CLI_FRAME_COMMAND_H
#define DAVIT_SRC_CLI_FRAME_COMMAND_H

#include <davit/status.h>

/* The order is that of `davit help`. */
#define CLI_COMMANDS(X)                                                                                      \
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
  X(align)                                                                                                   \
  X(features)                                                                                                \
  X(detect)                                                                                                  \
  X(closest)                                                                                                 \
  X(points)                                                                                                  \
  X(occupancy)                                                                                               \
  X(tune)                                                                                                    \
  X(bench)

/* Exit codes that scripts rely on. CLI_HELP never leaves the process: main() turns it into the usage
 * text and CLI_OK. */
enum {
  CLI_HELP = -1,
  CLI_OK = 0,
  CLI_FAILED = 1, /* a check, a computation or the writing of a result failed */
  CLI_USAGE = 2,
  CLI_INPUT = 3, /* unreadable or malformed input */
  CLI_DEVICE = 4 /* device or memory failure */
};

typedef struct cli_command cli_command;
struct cli_command {
  const char *name;
  const char *summary; /* one line */
  const char *usage;   /* synopsis and own options; the common ones are added by `davit help` */
  unsigned common;     /* bits of cli_common_option that the command takes */
  int (*run)(const cli_command *self, int argc, char **argv); /* argv[0] is the command's name */
};

#define CLI_DECLARE_COMMAND(name) extern const cli_command cli_command_##name;
CLI_COMMANDS(CLI_DECLARE_COMMAND)
#undef CLI_DECLARE_COMMAND

/* Names the running sub-command in the messages of cli_fail(); NULL for none. */
void cli_fail_name(const char *command);

/* Prints one line, "davit COMMAND: …", on standard error and returns `code`. Control characters, which
 * a file name may hold, are printed as '?', so that a message is always one line. */
int cli_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for a status of the library that is not DAVIT_SUCCESS: its sentence, and the exit code for
 * its kind. */
int cli_fail_status(davit_status status);

#endif
