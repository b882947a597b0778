/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in monoids: what offload/reduce.c and offload/scan.c give for each operator and type. */
#ifndef DAVIT_OFFLOAD_MONOID_H
#define DAVIT_OFFLOAD_MONOID_H

#include <davit/monoid.h>

#include "offload/runtime/launch.h"
#include "src/base/operator.h"

/* Kernels of a reduction: with few, the usual number of, and many rows of a tile in flight; and with
 * many, for teams that share the tiles. */
enum { DVT_REDUCE_FEW, DVT_REDUCE_USUAL, DVT_REDUCE_MANY, DVT_REDUCE_SHARES, DVT_REDUCE_KERNELS };

/* Tiles of the longest array that has several teams for each: on an H200 as many as it has multiprocessors. */
enum { DVT_REDUCE_SHORT_TILES = 32 };

typedef struct dvt_builtin_reduce {
  void (*task)(const davit_monoid_task *task);
  dvt_kernel *kernels; /* DVT_REDUCE_KERNELS; arguments: n, x, levels, counters, result, stop */
  int threads;
  int64_t tile;
  dvt_kernel *one; /* for one tile; arguments: n, x, result */
  /* For few tiles: arguments n, x, the values of groups, a counter that is 0, result; teams and groups of a tile. */
  dvt_kernel *sections;
  int section_threads, tile_sections, tile_groups;
} dvt_builtin_reduce;

typedef struct dvt_builtin_scan {
  size_t bytes, slot_bytes;
  const void *identity;
  void (*combine)(const void *a, const void *b, void *result);
  void (*scan)(const davit_monoid_task *task);
  /* Arguments n, x, flags, sums, prefixes, carry_in, carry_out, y, modes; the latter two for the sums of groups. */
  dvt_kernel *kernel, *segmented, *sums, *segmented_sums;
  dvt_kernel *carry;      /* count, in, sums, out: scan_carry.inc */
  int threads, sum_teams; /* sum_teams: beside those of tiles, where groups are summed */
  int64_t tile;
} dvt_builtin_scan;

/* The number of the kernel with at most so many rows in flight (0: the usual one), for so many teams (0:
 * one for each tile). */
static inline int dvt_reduce_kernel(int64_t teams, int64_t rows) {
  enum { USUAL = 4 };
  const int64_t wanted = rows > 0 ? rows : USUAL;
  return teams > 0            ? DVT_REDUCE_SHARES
         : wanted < USUAL     ? DVT_REDUCE_FEW
         : wanted < 2 * USUAL ? DVT_REDUCE_USUAL
                              : DVT_REDUCE_MANY;
}

extern const dvt_builtin_reduce dvt_builtin_reduces[DAVIT_OPERATOR_COUNT][DVT_MONOID_TYPES];
extern const dvt_builtin_scan dvt_builtin_scans[DAVIT_OPERATOR_COUNT][DVT_MONOID_TYPES];

#endif
