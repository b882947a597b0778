/* SPDX-License-Identifier: Apache-2.0 */
/* --op of reduce and scan. */
#ifndef DAVIT_SRC_CLI_OPERATOR_H
#define DAVIT_SRC_CLI_OPERATOR_H

#include <davit/operator.h>

#include "src/cli/frame/command.h"

static const cli_choice cli_operators[] = {{"sum", DAVIT_SUM, NULL},
                                           {"prod", DAVIT_PROD, NULL},
                                           {"min", DAVIT_MIN, NULL},
                                           {"max", DAVIT_MAX, NULL},
                                           {0}};

/* The row; the state has a davit_operator `op`. */
#define CLI_OPERATOR_OPTION(type)                                                                            \
  CLI_OPTION(CHOICE, type, op, "--op", "OP", .choices = cli_operators, .value = "sum", .help = "the operator")

#endif
