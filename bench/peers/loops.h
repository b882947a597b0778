/* SPDX-License-Identifier: Apache-2.0 */
/* What the CPU is measured against: the loops that one writes with OpenMP, on all processors, in the best of
 * three instruction sets; and what the machine's memory gives to a copy and to a sum.
 *
 * The product of the covariance is BLIS's syrk. Functions with a status fail for want of memory, which they
 * keep for the next call. One call at a time. */
#ifndef DAVIT_BENCH_PEERS_LOOPS_H
#define DAVIT_BENCH_PEERS_LOOPS_H

#include <davit/operator.h>
#include <davit/scan.h>
#include <stdint.h>

/* A part of the memory for each thread: memcpy(), and a sum of the doubles. */
void peer_loop_copy(void *to, const void *from, size_t bytes);
double peer_loop_read(const void *from, size_t bytes);

/* Sum, minimum, maximum (the sum for any other operator). */
void peer_loop_reduce(davit_operator op, davit_type type, int64_t n, const void *x, void *result);

/* Sums, in two passes: of each thread's part, then each part again from its offset. flags NULL: not
 * segmented. */
void peer_loop_scan(davit_type type, davit_scan_kind kind, int64_t n, const void *x, const uint8_t *flags,
                    void *y);

/* The others take DAVIT_DOUBLE and DAVIT_FLOAT. The border is untouched. */
void peer_loop_stencil(davit_type type, int64_t rows, int64_t cols, const void *a, int64_t lda,
                       const double *coefficients, void *b, int64_t ldb);

/* trans 'N' or 'T'; columns are dealt to the threads. Reads A once for 'T', twice for 'N'. */
davit_status peer_loop_atax(davit_type type, char trans, int64_t m, int64_t n, const void *a, int64_t lda,
                            const void *x, void *tmp, void *y);

/* davit_covariance() with 'N', the divisors of statistics and the whole of S; ldd = rows, lds = cols. */
davit_status peer_loop_covariance(davit_type type, int64_t rows, int64_t cols, const void *d, void *s);

#endif
