/* SPDX-License-Identifier: Apache-2.0 */
/* The course report's three kernels, corrected: what printed.h has, as it was meant. Row-major, double
 * precision, 64-bit indices, any sizes, no access outside; what all blocks must have finished is a launch of
 * its own. They are here to be studied; the library's own are <davit/stencil.h>, <davit/atax.h> and
 * <davit/covariance.h>.
 *
 * Pointers are memory of the device (host memory for the CPU and host-offload devices). GPUs run target
 * regions, one block after another on the CPU otherwise; calls return when all is done. */
#ifndef DAVIT_STUDY_DENSE_DENSE_H
#define DAVIT_STUDY_DENSE_DENSE_H

#include <davit/status.h>
#include <stddef.h>
#include <stdint.h>

/* Milliseconds of each launch, its end waited for (one, two or three of them), and of the copies of a run.
 * Functions that give them take NULL where they are not wanted. */
typedef struct study_dense_times {
  double phase_ms[3], transfer_ms;
} study_dense_times;

/* ---- on a device ---- */

/* 3×3 stencil of ni × nj elements, a thread an element, blocks of side × side threads, side 8, 16 or 32. The
 * border of b is left as it is. */
davit_status study_convolution(int device, int side, int64_t ni, int64_t nj, const double *a, double *b,
                               study_dense_times *times);

/* tmp = A x, then y = Aᵀ tmp, A of nx × ny, block a power of two from 16 to 512. A row by a warp (by half of
 * one where the block has 16 threads), a column by a thread: both read neighbours. */
davit_status study_atax(int device, int block, int64_t nx, int64_t ny, const double *a, const double *x,
                        double *tmp, double *y, study_dense_times *times);

/* The means of the n columns of data (m × n) with the given divisor, data minus the means, and symmat = Dᵀ D
 * (n × n) of that, in tiles of side × side elements, side 8, 16 or 32. */
davit_status study_covariance(int device, int side, int64_t m, int64_t n, double divisor, double *data,
                              double *mean, double *symmat, study_dense_times *times);

/* ---- the same with host memory: allocations, copies both ways ---- */

typedef struct study_dense {
  int block;           /* the convolution's side (0: 16), atax's block (256), the covariance's side (16) */
  size_t memory_bytes; /* most that the arrays on the device may take; 0: what is free there */
} study_dense;

/* What the arrays take on the device. */
double study_convolution_bytes(int64_t ni, int64_t nj);
double study_atax_bytes(int64_t nx, int64_t ny);
double study_covariance_bytes(int64_t m, int64_t n);

/* Whether so many bytes may be taken: DAVIT_OUT_OF_DEVICE_MEMORY, with both numbers, if not. Runs ask before
 * they touch anything. */
davit_status study_dense_room(const study_dense *d, int device, double bytes);

/* Errors beside those above: DAVIT_OUT_OF_DEVICE_MEMORY, also where an allocation fails after all. */
davit_status study_convolution_run(const study_dense *d, int device, int64_t ni, int64_t nj, const double *a,
                                   double *b, study_dense_times *times);
davit_status study_atax_run(const study_dense *d, int device, int64_t nx, int64_t ny, const double *a,
                            const double *x, double *tmp, double *y, study_dense_times *times);
davit_status study_covariance_run(const study_dense *d, int device, int64_t m, int64_t n, double divisor,
                                  double *data, double *mean, double *symmat, study_dense_times *times);

/* ---- on the CPU, host memory ---- */

/* The handout's serial programs: plain loops in its order. That of the convolution, which is not known, goes
 * by rows; the product of the covariance goes down the columns, of one triangle, and is mirrored. */
void study_convolution_handout(int64_t ni, int64_t nj, const double *a, double *b);
void study_atax_handout(int64_t nx, int64_t ny, const double *a, const double *x, double *tmp, double *y);
void study_covariance_handout(int64_t m, int64_t n, double divisor, double *data, double *mean,
                              double *symmat);

/* Loops in the best order, with the processor's vectors, on so many threads: 1 is the fair serial program, 0
 * takes all. The covariance multiplies one triangle. Fails for want of memory, which each thread of atax but
 * the first needs. */
void study_convolution_cpu(int threads, int64_t ni, int64_t nj, const double *a, double *b);
davit_status study_atax_cpu(int threads, int64_t nx, int64_t ny, const double *a, const double *x,
                            double *tmp, double *y);
void study_covariance_cpu(int threads, int64_t m, int64_t n, double divisor, double *data, double *mean,
                          double *symmat);

#endif
