/* Reduction for the built-in operators: instances of kernel/tree.h.
 *
 * The file includes itself once for each operator and type: the part after #else. */
#ifndef DVT_EACH

#include "offload/kernel/gpu.h"
#include "offload/monoid.h"
#include "src/base/cpu.h"

#define DVT_EACH "offload/reduce.c"
#include "offload/builtin.h"

#define ENTRY(op, type)                                                                                      \
  {dvt_##type##_##op##_tree_task, &dvt_##type##_##op##_tree_kernel, dvt_##type##_##op##_lanes,               \
   dvt_##type##_##op##_chunk}
#define ENTRIES(op) {ENTRY(op, float), ENTRY(op, double), ENTRY(op, int32), ENTRY(op, int64)}

const dvt_builtin_reduce dvt_builtin_reduces[DAVIT_OPERATOR_COUNT][DAVIT_TYPE_COUNT] = {
    ENTRIES(sum), ENTRIES(prod), ENTRIES(min), ENTRIES(max)};

#else
#include "offload/kernel/tree.h"
#define QUOTE_(name) #name
#define QUOTE(name) QUOTE_(name)
static dvt_kernel DVT_M(tree_kernel) = {.function = QUOTE(DVT_M(tree_region))};
#undef QUOTE
#undef QUOTE_
#endif
