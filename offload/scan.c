/* SPDX-License-Identifier: Apache-2.0 */
/* Scan and segmented scan of the built-in monoids: the instances of kernel/scan.inc, and the table of their
 * functions and kernels. Cost: kernel/scan.inc, on the CPU kernel/scan_host.inc. */
#include <sched.h>

#include "offload/kernel/gpu.h"
#include "offload/kernel/instance.h"
#include "offload/kernel/threads.h"
#include "offload/monoid.h"
#include "src/base/cpu.h"
#include "src/base/operator.h"

#define EACH "offload/kernel/scan.inc"
#include "offload/each_monoid.inc"

#define EACH "offload/scan_carry.inc"
#include "offload/each_monoid.inc"

#define OBJECTS(OPERATOR, op, TYPE, type)                                                                    \
  static const DVT_C_##type dvt_##type##_##op##_identity = DVT_IDENTITY_##op(type);                          \
  static dvt_kernel dvt_##type##_##op##_kernels[] = {                                                        \
      DVT_KERNEL(dvt_##type##_##op##_scan_region), DVT_KERNEL(dvt_##type##_##op##_segmented_region),         \
      DVT_KERNEL(dvt_##type##_##op##_sums_region), DVT_KERNEL(dvt_##type##_##op##_segmented_sums_region),    \
      DVT_KERNEL(dvt_##type##_##op##_carry_region)};
DVT_EACH_MONOID(OBJECTS)

#define ENTRY(OPERATOR, op, TYPE, type)                                                                      \
  [OPERATOR][TYPE] = {.bytes = sizeof(DVT_C_##type),                                                         \
                      .slot_bytes = DVT_SLOT_WORDS(DVT_C_##type) * sizeof(uint64_t),                         \
                      .identity = &dvt_##type##_##op##_identity,                                             \
                      .combine = dvt_##type##_##op##_combine_task,                                           \
                      .scan = dvt_##type##_##op##_scan_task,                                                 \
                      .kernel = &dvt_##type##_##op##_kernels[0],                                             \
                      .segmented = &dvt_##type##_##op##_kernels[1],                                          \
                      .sums = &dvt_##type##_##op##_kernels[2],                                               \
                      .segmented_sums = &dvt_##type##_##op##_kernels[3],                                     \
                      .carry = &dvt_##type##_##op##_kernels[4],                                              \
                      .sum_teams = dvt_##type##_##op##_sum_teams,                                            \
                      .threads = dvt_##type##_##op##_threads,                                                \
                      .tile = dvt_##type##_##op##_tile},
const dvt_builtin_scan dvt_builtin_scans[DAVIT_OPERATOR_COUNT][DVT_MONOID_TYPES] = {DVT_EACH_MONOID(ENTRY)};
