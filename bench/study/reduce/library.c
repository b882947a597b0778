/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder's kernels for each operator of the library over each of its types. */
#include "bench/study/common/kernel.h"
#include "bench/study/reduce/reduce.h"

#define BLOCK STUDY_LIBRARY_BLOCK
#define COMMUTES
#define EACH "bench/study/reduce/reduce.inc"
#pragma clang diagnostic ignored "-Wtautological-compare" /* integers that are no NaN */
#include "offload/each_monoid.inc"

const study_reduce_forms *study_library_forms(study_operator op) {
#define FORMS_OF(OPERATOR, op, TYPE, type)                                                                   \
  [STUDY_LIBRARY(OPERATOR, TYPE) - STUDY_OPERATORS] = &dvt_##type##_##op##_forms,
  static const study_reduce_forms *const of[] = {DVT_EACH_MONOID(FORMS_OF)};
  return of[op - STUDY_OPERATORS];
}
