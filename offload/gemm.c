/* SPDX-License-Identifier: Apache-2.0 */
/* C = alpha op(A) op(B) + beta C as a target region: 2 m n k flops.
 *
 * A team of SIDE_M × SIDE_N threads computes one TILE_M × TILE_N tile of C after another. It loads TILE_K
 * columns of op(A) and rows of op(B) into team memory, which removes transposition and edges (cells outside
 * the matrices are 0 and never reach C), and each thread sums MICRO × MICRO elements in registers: rows
 * SIDE_M and columns SIDE_N apart, so that neighbours read neighbouring cells of team memory and write
 * neighbouring rows of C. Each element is summed in ascending k, whatever the number of teams. Reads m n k (1
 * / TILE_M + 1 / TILE_N) elements of A and B through the caches, and C once if beta is not 0. A team of
 * another size (the host's runtime gives what it has) computes one element at a time. */
#include <omp.h>

#include "offload/gemm.h"

#include "offload/kernel/gpu.h"
#include "offload/kernel/instance.h"
#include "src/base/arithmetic.h"

enum {
  SIDE_M = 16,
  SIDE_N = 8,
  THREADS = SIDE_M * SIDE_N,
  MICRO = 8,
  TILE_M = SIDE_M * MICRO,
  TILE_N = SIDE_N * MICRO,
  TILE_K = 8,
  PAD = 2, /* spreads a transposed store over the banks */
  MAX_TEAMS = 65536
};

/* Which cells of a tile of `lines` rows of op(A) or columns of op(B), TILE_K deep, a thread loads: the first
 * and the way to the next. Neighbouring threads take neighbouring addresses. */
typedef struct share {
  int line, line_step, depth, depth_step;
} share;

static inline share deal(int thread, bool lines_contiguous, int lines) {
  return lines_contiguous ? (share){thread % lines, 0, thread / lines, THREADS / lines}
                          : (share){thread / TILE_K, THREADS / TILE_K, thread % TILE_K, 0};
}

static inline int smaller(int64_t value, int most) {
  return value < most ? (int)value : most;
}

#define EACH "offload/gemm.inc"
#include "offload/each_floating.inc"

#define TARGET(...) DVT_PRAGMA(__VA_ARGS__)
#define REGION gemm
#define ORDERED
#define EACH "offload/gemm_region.inc"
#include "offload/each_floating.inc"
#undef REGION
#undef ORDERED

#define REGION gemm_task
#define ORDERED nowait depend(inout : *order)
#define EACH "offload/gemm_region.inc"
#include "offload/each_floating.inc"

void dvt_gemm_region(int device, const dvt_level3 *g) {
  (g->type == DAVIT_DOUBLE ? double_gemm : float_gemm)(device, NULL, g);
}

void dvt_gemm_task(int device, char *order, const dvt_level3 *g) {
  (g->type == DAVIT_DOUBLE ? double_gemm_task : float_gemm_task)(device, order, g);
}
