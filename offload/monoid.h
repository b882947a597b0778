/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in monoids: what offload/reduce.c and offload/scan.c give for each operator and type. */
#ifndef DAVIT_OFFLOAD_MONOID_H
#define DAVIT_OFFLOAD_MONOID_H

#include <davit/monoid.h>

#include "offload/runtime/launch.h"
#include "src/base/operator.h"

typedef struct dvt_builtin_reduce {
  void (*task)(const davit_monoid_task *task);
  dvt_kernel *kernel; /* arguments: n, x, levels, counters, result, stop */
  int threads;
  int64_t tile;
} dvt_builtin_reduce;

typedef struct dvt_builtin_scan {
  size_t bytes, slot_bytes;
  const void *identity;
  void (*combine)(const void *a, const void *b, void *result);
  void (*scan)(const davit_monoid_task *task);
  void (*prepend)(const davit_monoid_task *task);
  dvt_kernel *kernel, *segmented; /* n, x, flags, sums, prefixes, carry_in, carry_out, y, modes */
  dvt_kernel *prepend_kernel;     /* n, left, y */
  int threads;
  int64_t tile;
} dvt_builtin_scan;

extern const dvt_builtin_reduce dvt_builtin_reduces[DAVIT_OPERATOR_COUNT][DVT_MONOID_TYPES];
extern const dvt_builtin_scan dvt_builtin_scans[DAVIT_OPERATOR_COUNT][DVT_MONOID_TYPES];

#endif
