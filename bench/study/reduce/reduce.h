/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder of reduction kernels, K1 … K6, as the lecture has them: each removes the bottleneck of the one
 * before. They are here to be studied and measured; the library's own reduction is <davit/reduce.h>.
 *
 *   K1  interleaved addressing, active threads by remainder: divergent warps
 *   K2  the same pairs by contiguous threads: conflicts of shared memory's banks
 *   K3  sequential addressing: half of the threads only load
 *   K4  first addition while loading, half the blocks: the loop's own cost
 *   K5  loop unrolled, last warp apart: two elements a thread, so not cost-optimal
 *   K6  several elements a thread
 *
 * Corrected against the source: any n, no reliance on lanes that run in step, the operator's identity. K1 and
 * K2 keep the order of the operands; K3 … K6 change it and refuse operators that do not commute.
 *
 * Reductions go level by level: a grid leaves one element for each block, which the next grid reduces, until
 * one is left, or few enough for the CPU. GPUs run target regions, one block after another on the CPU
 * otherwise. Errors: DAVIT_INVALID_ARGUMENT names the member; DAVIT_UNSUPPORTED: the operator does not
 * commute. */
#ifndef DAVIT_STUDY_REDUCE_REDUCE_H
#define DAVIT_STUDY_REDUCE_REDUCE_H

#include "bench/study/common/site.h"
#include "bench/study/common/trace.h"
#include "bench/study/reduce/operator.h"

/* How the last warp is kept together; K5 and K6 alone have one. */
typedef enum study_last_warp { STUDY_BARRIERS, STUDY_SHUFFLES } study_last_warp;

enum { STUDY_LIBRARY_BLOCK = 256 }; /* threads of a team for the library's operators */

typedef struct study_reduction {
  study_operator op;         /* SUM, COMPOSE or one of the library */
  int kernel;                /* 1 … 6 */
  int block;                 /* a power of two: 32 … 1024, for K5 and K6 from 2; STUDY_LIBRARY_BLOCK */
  study_last_warp last_warp; /* of K5 and K6 */
  int64_t grid;              /* K6: blocks, as far as there is work for them; 0: by `each` */
  int64_t each;              /* K6 with grid 0: elements a thread, at least 2; 0: 8 */
  int64_t cpu_threshold;     /* that many elements or fewer are reduced by the CPU; below 1: 1 */
} study_reduction;

/* Blocks of the first grid, and so elements that it leaves: ceil(n / block), ceil(n / 2 block) from K4 on, K6
 * as asked. */
int64_t study_partials(const study_reduction *r, int64_t n);

/* Warps of the first grid. */
int64_t study_launched_warps(const study_reduction *r, int64_t n);

/* One grid: partials[i] = reduction of what block i takes. Memory of the device; returns when it is done. n >
 * 0. */
davit_status study_reduce_grid(const study_reduction *r, int device, int64_t n, const void *input,
                               void *partials);

/* All levels. x lies on the device (host memory for the CPU and host-offload devices); result on the host. */
davit_status study_reduce(const study_reduction *r, int device, int64_t n, const void *x, void *result);

/* A kernel that does nothing, with the arguments of the others: what a launch costs. Nothing on the CPU. */
davit_status study_empty_grid(int device, int64_t n, const void *input, void *partials);

/* The record of block 0 of a grid over n elements of SUM. The trace is zeroed, or was used before. */
davit_status study_trace_block(const study_reduction *r, int64_t n, const int32_t *input, study_trace *trace);

/* A stand-in for a reduction over the processes of a distributed memory: rank i owns the i-th contiguous part
 * of x (host memory), copies it to devices[i], reduces it there, and the results are combined in the order of
 * the ranks, as MPI_Reduce does for an operator made with commute = 0. One process and no MPI; ranks take
 * their turns. */
davit_status study_reduce_ranks(const study_reduction *r, int ranks, const int *devices, int64_t n,
                                const void *x, void *result);

/* The sum by the compiler's `reduction` clause on the device. */
int32_t study_clause_sum(int device, int64_t n, const int32_t *x);

/* ---- for the files of the ladder ---- */

typedef enum study_reduce_form {
  STUDY_K1,
  STUDY_K2,
  STUDY_K3,
  STUDY_K4,
  STUDY_K5_BARRIERS,
  STUDY_K5_SHUFFLES,
  STUDY_K6_BARRIERS,
  STUDY_K6_SHUFFLES,
  STUDY_REDUCE_FORMS
} study_reduce_form;

/* The kernels of one operator and one number of threads; NULL where an operator does not have them. */
typedef struct study_reduce_forms {
  void (*form[STUDY_REDUCE_FORMS])(const study_site *site, int64_t teams, void *output, const void *input,
                                   int64_t n);
} study_reduce_forms;

/* Those of an operator of the library. */
const study_reduce_forms *study_library_forms(study_operator op);

/* The order in which a block's letters are combined, up to 256 of them: `letters` reduced by concatenation.
 * Any kernel and block size; `order` has room for strlen(letters) + 1. CPU alone. */
davit_status study_combination_order(const study_reduction *r, const char *letters, char *order);

/* Checks the members and gives the form. `any_operator`: the order does not matter. */
davit_status study_reduction_find(const study_reduction *r, bool any_operator, study_reduce_form *form);

#endif
