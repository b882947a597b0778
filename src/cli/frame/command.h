/* What all sub-commands share: the table row.
 *
 * A sub-command is one file that defines `const cli_command cli_command_NAME` and one entry in
 * CLI_COMMANDS below; help, dispatch and the common options come from the row. */
#ifndef DAVIT_SRC_CLI_FRAME_COMMAND_H
#define DAVIT_SRC_CLI_FRAME_COMMAND_H

#include "src/cli/fail.h"

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

#endif
