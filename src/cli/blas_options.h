/* Rows that the BLAS commands share. The state has members of the options' names. */
#ifndef DAVIT_SRC_CLI_BLAS_OPTIONS_H
#define DAVIT_SRC_CLI_BLAS_OPTIONS_H

#include "src/cli/frame/command.h"

#define CLI_ALPHA_OPTION(type)                                                                               \
  {.name = "alpha",                                                                                          \
   .argument = "X",                                                                                          \
   .kind = CLI_REAL,                                                                                         \
   CLI_AT(type, alpha),                                                                                      \
   .value = "1",                                                                                             \
   .help = "factor of the product"}

/* The result as it was before, which the state reads from `start_path`. */
#define CLI_BETA_OPTION(type, start)                                                                         \
  {.name = "beta",                                                                                           \
   .argument = "X",                                                                                          \
   .kind = CLI_REAL,                                                                                         \
   CLI_AT(type, beta),                                                                                       \
   .value = "1",                                                                                             \
   .help = "factor of " start}

static const cli_choice cli_transposes[] = {{"N", false, NULL}, {"T", true, NULL}, {"C", true, NULL}, {0}};

#define CLI_TRANSPOSE_OPTION(type, option, matrix)                                                           \
  {.name = #option,                                                                                          \
   .argument = "N|T|C",                                                                                      \
   .kind = CLI_CHOICE,                                                                                       \
   CLI_AT(type, option),                                                                                     \
   .choices = cli_transposes,                                                                                \
   .implied = "T",                                                                                           \
   .help = "use the transpose of " matrix " (T, C), or not (N)"}

#endif
