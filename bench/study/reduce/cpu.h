/* SPDX-License-Identifier: Apache-2.0 */
/* The lecture's CPU side: sequential references, OpenMP reductions, and the cost-optimal forms with p
 * workers. */
#ifndef DAVIT_STUDY_REDUCE_CPU_H
#define DAVIT_STUDY_REDUCE_CPU_H

#include "bench/study/reduce/operator.h"

/* ---- sequential references ---- */

/* result = x_0 ∘ … ∘ x_{n-1}, the identity for n = 0. */
void study_reference_reduce(study_operator op, int64_t n, const void *x, void *result);

/* y_i = x_0 ∘ … ∘ x_i, or up to x_{i-1}. y may be x. */
void study_reference_scan(study_operator op, bool exclusive, int64_t n, const void *x, void *y);

/* Sums that start at each i with segments[i] != 0; segments[0] does not matter, n may be 0. In exclusive
 * form, which the lecture does not have, the first element of a segment gets 0. out may be a. */
void study_reference_segments(bool exclusive, int64_t n, const int32_t *a, const int32_t *segments,
                              int32_t *out);

/* ---- sums over the CPU's threads ---- */

typedef enum study_cpu_form {
  STUDY_CPU_CLAUSE,   /* reduction(+ : sum); the lecture prints the parts of the clause in the wrong order */
  STUDY_CPU_PADDED,   /* a partial sum a thread, in cache lines of its own; added by one thread */
  STUDY_CPU_UNPADDED, /* the partial sums side by side, so that threads share cache lines */
  STUDY_CPU_FORMS
} study_cpu_form;

/* On at most 256 threads. Partial sums are kept in memory, not in registers, because their place is compared. */
int32_t study_cpu_sum(study_cpu_form form, int threads, int64_t n, const int32_t *x);

/* ---- reductions of a type and an operator of one's own, by `declare reduction` ---- */

typedef struct study_matrix {
  uint32_t at[2][2]; /* modulo 2^32 */
} study_matrix;

study_matrix study_matrix_product(study_matrix left, study_matrix right);

int32_t study_cpu_min(int threads, int64_t n, const int32_t *x); /* INT32_MAX for n = 0 */
int32_t study_cpu_max(int threads, int64_t n, const int32_t *x); /* INT32_MIN for n = 0 */

/* The product of matrices that commute with each other: OpenMP may combine the threads' products in any
 * order. */
study_matrix study_cpu_product(int threads, int64_t n, const study_matrix *x);

/* The product of any matrices: partial products of contiguous parts, combined in the parts' order. */
study_matrix study_cpu_product_in_order(int threads, int64_t n, const study_matrix *x);

/* ---- p workers for n elements, p < n ---- */

typedef struct study_work {
  int64_t combinations; /* in all */
  int64_t depth;        /* of them one after another */
} study_work;

/* Each worker reduces a contiguous part; a tree of p leaves reduces the results. Any p >= 1; 1 worker for
 * each element at most. Keeps the order of the operands. Returns false when there is no memory. */
bool study_workers_reduce(study_operator op, int64_t p, int64_t n, const void *x, void *result,
                          study_work *work);

/* The lecture's cost-optimal scan: each worker scans its part, the last sums of the parts are scanned
 * exclusively, each worker puts its sum of all before to the left of what it has. Threads of the CPU are the
 * workers; y may be x. The scan of the parts' sums is done by one thread, and counted so. */
bool study_workers_scan(study_operator op, bool exclusive, int64_t p, int64_t n, const void *x, void *y,
                        study_work *work);

#endif
