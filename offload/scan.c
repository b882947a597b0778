/* Scan and segmented scan for the built-in operators: instances of kernel/scan.h and kernel/host.h.
 *
 * The file includes itself once for each operator and type: the part after #else. */
#ifndef DVT_EACH

#include <omp.h>

#include "offload/kernel/gpu.h"
#include "offload/monoid.h"
#include "src/base/cpu.h"

#define DVT_EACH "offload/scan.c"
#include "offload/builtin.h"

#define ENTRY(op, type)                                                                                      \
  {.bytes = sizeof dvt_##type##_##op##_identity,                                                             \
   .slot_bytes = dvt_##type##_n_slot_words * sizeof(uint64_t),                                               \
   .identity = &dvt_##type##_##op##_identity,                                                                \
   .combine = dvt_##type##_##op##_combine_task,                                                              \
   .scan = dvt_##type##_##op##_scan_task,                                                                    \
   .prepend = dvt_##type##_##op##_prepend_task,                                                              \
   .kernel = &dvt_##type##_##op##_scan_kernel,                                                               \
   .segmented = &dvt_##type##_##op##_segmented_kernel,                                                       \
   .prepend_kernel = &dvt_##type##_##op##_prepend_kernel,                                                    \
   .threads = dvt_##type##_##op##_threads,                                                                   \
   .tile = dvt_##type##_##op##_tile}
#define ENTRIES(op) {ENTRY(op, float), ENTRY(op, double), ENTRY(op, int32), ENTRY(op, int64)}

const dvt_builtin_scan dvt_builtin_scans[DAVIT_OPERATOR_COUNT][DAVIT_TYPE_COUNT] = {
    ENTRIES(sum), ENTRIES(prod), ENTRIES(min), ENTRIES(max)};

#else
/* In this order. */
#include "offload/kernel/scan.h"

#include "offload/kernel/prepend.h"

#include "offload/kernel/host.h"

#include "offload/kernel/tasks.h"

#define QUOTE_(name) #name
#define QUOTE(name) QUOTE_(name)
static dvt_kernel DVT_M(scan_kernel) = {.function = QUOTE(DVT_M(scan_region))};
static dvt_kernel DVT_M(segmented_kernel) = {.function = QUOTE(DVT_M(segmented_region))};
static dvt_kernel DVT_M(prepend_kernel) = {.function = QUOTE(DVT_M(prepend_region))};
#undef QUOTE
#undef QUOTE_
#endif
