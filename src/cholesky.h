/* SPDX-License-Identifier: Apache-2.0 */
/* Cholesky's factorisation: as an operation of one lane; over several devices, or of a matrix that does not lie on the
 * device, as tasks of a graph. */
#ifndef DAVIT_SRC_CHOLESKY_H
#define DAVIT_SRC_CHOLESKY_H

#include <davit/solve.h>

#include "offload/solve.h"
#include "src/runtime/operation.h"

extern const dvt_operation dvt_potrf_operation;

typedef struct dvt_cholesky {
  const dvt_potrf *arguments; /* checked, n > 0 */
  const davit_solve_options *options;
  int devices[DVT_MAX_DEVICES], count;
  int place; /* of the matrix */
  davit_solve_report *report;
} dvt_cholesky;

/* *info as potrf has it. The report is filled but for seconds. */
davit_status dvt_cholesky_run(dvt_cholesky *call, int *info);

#endif
