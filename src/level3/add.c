/* SPDX-License-Identifier: Apache-2.0 */
#include "src/level3/add.h"

static davit_status accept(void *arguments) {
  (void)arguments; /* made by the planner */
  return DAVIT_SUCCESS;
}

const dvt_operation dvt_add_operation = {.name = "add",
                                         .bytes = sizeof(dvt_add),
                                         .check = accept,
                                         .stream = dvt_add_stream,
                                         .prepare = dvt_blas_prepare,
                                         .host = dvt_add_host,
                                         .region = dvt_add_region,
                                         .region_on_host = true};
