/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for prefix sums in other shapes than that of offload/scan.c, for `davit tune` to choose from:
 * more or fewer warps of a team, more or fewer rows that a warp keeps in registers. Sums alone, and not
 * segmented ones, so that the library does not grow fivefold. The tile, and with it the order of the
 * additions, depends on the shape. */
#include "offload/kernel/gpu.h"
#include "offload/kernel/instance.h"
#include "offload/monoid.h"
#include "src/base/operator.h"

#define SHAPED_WARPS 2
#define SHAPED_ROWS 8
#include "offload/each_scan_shape.inc"
#define SHAPED_WARPS 8
#define SHAPED_ROWS 8
#include "offload/each_scan_shape.inc"
#define SHAPED_WARPS 4
#define SHAPED_ROWS 4
#include "offload/each_scan_shape.inc"
#define SHAPED_WARPS 8
#define SHAPED_ROWS 4
#include "offload/each_scan_shape.inc"
#define SHAPED_WARPS 4
#define SHAPED_ROWS 16
#include "offload/each_scan_shape.inc"

#define KERNEL(type, warps, rows)                                                                            \
  static dvt_kernel dvt_##type##_sum_##warps##_##rows##_kernel =                                             \
      DVT_KERNEL(dvt_##type##_sum_##warps##_##rows##_scan_region);
#define KERNELS(type)                                                                                        \
  KERNEL(type, 2, 8) KERNEL(type, 8, 8) KERNEL(type, 4, 4) KERNEL(type, 8, 4) KERNEL(type, 4, 16)
KERNELS(float)
KERNELS(double)
KERNELS(int32)
KERNELS(int64)

#define SHAPE(type, warps, rows)                                                                             \
  {dvt_##type##_sum_##warps##_##rows##_threads, rows, dvt_##type##_sum_##warps##_##rows##_tile,              \
   &dvt_##type##_sum_##warps##_##rows##_kernel}
#define SHAPES(type)                                                                                         \
  {SHAPE(type, 2, 8), SHAPE(type, 8, 8), SHAPE(type, 4, 4), SHAPE(type, 8, 4), SHAPE(type, 4, 16)}
const dvt_scan_shape dvt_sum_scan_shapes[DVT_MONOID_TYPES][DVT_SCAN_SHAPES] = {[DAVIT_FLOAT] = SHAPES(float),
                                                                               [DAVIT_DOUBLE] =
                                                                                   SHAPES(double),
                                                                               [DAVIT_INT32] = SHAPES(int32),
                                                                               [DAVIT_INT64] = SHAPES(int64)};
