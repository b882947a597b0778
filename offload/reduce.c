/* SPDX-License-Identifier: Apache-2.0 */
/* Reduction for the built-in monoids: the instances of kernel/tree.inc, and the table of their functions and
 * kernels. */
#include <string.h>

#include "offload/kernel/gpu.h"
#include "offload/kernel/instance.h"
#include "offload/kernel/threads.h"
#include "offload/monoid.h"
#include "src/base/cpu.h"
#include "src/base/operator.h"

#define EACH "offload/kernel/tree.inc"
#include "offload/each_monoid.inc"

#define KERNEL(OPERATOR, op, TYPE, type)                                                                     \
  static dvt_kernel dvt_##type##_##op##_kernels[] = {DVT_KERNEL(dvt_##type##_##op##_reduce_region_few),      \
                                                     DVT_KERNEL(dvt_##type##_##op##_reduce_region),          \
                                                     DVT_KERNEL(dvt_##type##_##op##_reduce_region_many),     \
                                                     DVT_KERNEL(dvt_##type##_##op##_reduce_region_shares)};  \
  static dvt_kernel dvt_##type##_##op##_short_kernels[] = {                                                  \
      DVT_KERNEL(dvt_##type##_##op##_reduce_region_one),                                                     \
      DVT_KERNEL(dvt_##type##_##op##_reduce_region_sections)};
DVT_EACH_MONOID(KERNEL)

#define ENTRY(OPERATOR, op, TYPE, type)                                                                      \
  [OPERATOR][TYPE] = {.task = dvt_##type##_##op##_reduce_levels,                                             \
                      .kernels = dvt_##type##_##op##_kernels,                                                \
                      .threads = dvt_##type##_##op##_reduce_threads,                                         \
                      .tile = dvt_##type##_##op##_reduce_tile,                                               \
                      .one = &dvt_##type##_##op##_short_kernels[0],                                          \
                      .sections = &dvt_##type##_##op##_short_kernels[1],                                     \
                      .section_threads = dvt_##type##_##op##_section_threads,                                \
                      .tile_sections = dvt_##type##_##op##_sections,                                         \
                      .tile_groups = dvt_##type##_##op##_groups},
const dvt_builtin_reduce dvt_builtin_reduces[DAVIT_OPERATOR_COUNT][DVT_MONOID_TYPES] = {
    DVT_EACH_MONOID(ENTRY)};
