/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that the BLAS commands share. The state has members of the options' names. */
#ifndef DAVIT_SRC_CLI_BLAS_OPTIONS_H
#define DAVIT_SRC_CLI_BLAS_OPTIONS_H

#include "src/cli/frame/command.h"

#define CLI_ALPHA_OPTION(type)                                                                               \
  CLI_OPTION(COMPLEX, type, alpha, "--alpha", "X", .value = "1",                                             \
             .help = "factor of the product, such as 2, or 1+2j for complex operands")

/* `start` is the result as it was before. */
#define CLI_BETA_OPTION(type, start)                                                                         \
  CLI_OPTION(COMPLEX, type, beta, "--beta", "X", .value = "1", .help = "factor of " start)

static const cli_choice cli_transposes[] = {{"N", 0, "the matrix itself"},
                                            {"T", CLI_TRANSPOSED, "its transpose"},
                                            {"C", CLI_CONJUGATED, "its conjugate transpose"},
                                            {0}};

#define CLI_TRANSPOSE_OPTION(type, option, matrix)                                                           \
  CLI_OPTION(CHOICE, type, option, "--" #option, "N|T|C", .choices = cli_transposes, .implied = "T",         \
             .otherwise = "N", .help = "op(" matrix "); T if no letter follows")

#endif
