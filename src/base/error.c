/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/error.h"

#include <stdio.h>

void dvt_error_keep(dvt_error *first, davit_status status) {
  if (status == DAVIT_SUCCESS || first->status != DAVIT_SUCCESS)
    return;
  first->status = status;
  snprintf(first->message, sizeof first->message, "%s", davit_last_error());
}

davit_status dvt_error_report(const dvt_error *error) {
  return error->status == DAVIT_SUCCESS ? DAVIT_SUCCESS : davit_fail(error->status, "%s", error->message);
}
