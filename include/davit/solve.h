/* SPDX-License-Identifier: Apache-2.0 */
/* Systems of linear equations, least squares and inverses by Cholesky, LU and QR factorisations, in the types d
 * (double), s (float), z (davit_complex_double) and c (davit_complex_float).
 *
 * LAPACK's names, letters and order of the arguments, column-major. Letters may be lower case. Leading dimensions are
 * at least the number of rows, and 1.
 *
 * The plain forms take operands in any memory (pageable, pinned, any device, larger than a device's memory), spread the
 * work over several devices and return when the result is there. The queue forms enqueue on the queue's device and
 * return; their operands must be memory that the device reaches, and stay valid until the command has run. NVIDIA
 * devices run cuSOLVER to factor a block and cuBLAS for the rest, the CPU and host-offload devices BLIS.
 * Thread safety: any thread, any number of calls at the same time on distinct outputs.
 *
 * Row-major: the lower half of a C array a[n][n] is the upper half of the column-major matrix in the same memory. For a
 * complex A the factor is then that of the conjugate. */
#ifndef DAVIT_SOLVE_H
#define DAVIT_SOLVE_H

#include <davit/arithmetic.h>
#include <davit/complex.h>
#include <davit/queue.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct davit_solve_report davit_solve_report;

typedef struct davit_solve_options {
  const int *devices; /* device numbers, DAVIT_HOST allowed; NULL: davit_device_defaults() */
  int device_count;   /* 0 with devices = NULL */
  bool mapped;        /* operands are mapped by OpenMP: docs/openmp.md */
  /* The queue form reads none of the members below; they must be 0 there. */
  int64_t block;        /* columns of a block; at most all; 0: chosen */
  size_t cache_bytes;   /* maximum memory to use on each device; 0: 80 % of what is free, 1 GiB where that is
                                 unknown, and less if the device refuses that much */
  bool separate_memory; /* treat host-offload devices as if they had memory of their own, as GPUs have */
  davit_solve_report *report; /* filled whatever the status; NULL: not wanted */
  davit_arithmetic arithmetic;
  uint64_t reserved[3]; /* 0 */
} davit_solve_options;

/* What a call did. Bytes are sums over all devices. If there were no blocks, `block` is n. */
struct davit_solve_report {
  double seconds;
  int64_t failed; /* LAPACK's info: the minor not positive definite, or the element exactly 0; 0: none */
  int64_t block;
  int device_count;
  bool written;                /* an output may have been written */
  int64_t bytes_from_host;     /* host to devices */
  int64_t bytes_to_host;       /* devices to host */
  int64_t bytes_from_peers;    /* device to device */
  int64_t iterations;          /* of a refinement */
  davit_arithmetic arithmetic; /* of what gave the solution */
  uint64_t reserved[2];        /* 0 */
};

/* ---- Cholesky ---- */

/* A = L L' ('L') or U' U ('U'), in place, where ' is the (conjugate) transpose. A is symmetric, for complex types
 * Hermitian, and positive definite; `uplo` names the half of it that is stored. The other half is neither read nor
 * changed, and the imaginary parts of the diagonal count as 0. n³ / 3 flops, four times that for complex types; the
 * stored half crosses the link once each way. If the leading minor of order k is not positive definite, or contains a
 * NaN, the call returns DAVIT_NOT_POSITIVE_DEFINITE with k in report->failed: the blocks of columns before that
 * of column k are those of the factor, the others may be unchanged. The same call on the same devices, with the same
 * block and number of threads, gives the same bits.
 *
 * The queue form writes k, or 0, to *info, which is on the device, in pinned or in pageable memory and stays valid
 * until the command has run; the command itself does not fail. A is then partly factored.
 *
 * Algorithm: block columns go to the devices in turn; each block is factored, copied to the other devices, and updates
 * the blocks behind it, the next one first (right-looking with lookahead: Golub and Van Loan, Matrix Computations,
 * 4.2). */
DAVIT_API davit_status davit_dpotrf(char uplo, int64_t n, double *a, int64_t lda,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_spotrf(char uplo, int64_t n, float *a, int64_t lda,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_zpotrf(char uplo, int64_t n, davit_complex_double *a, int64_t lda,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_cpotrf(char uplo, int64_t n, davit_complex_float *a, int64_t lda,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_queue_dpotrf(davit_queue *queue, char uplo, int64_t n, double *a, int64_t lda,
                                          int *info, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_spotrf(davit_queue *queue, char uplo, int64_t n, float *a, int64_t lda,
                                          int *info, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_zpotrf(davit_queue *queue, char uplo, int64_t n, davit_complex_double *a,
                                          int64_t lda, int *info, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_cpotrf(davit_queue *queue, char uplo, int64_t n, davit_complex_float *a,
                                          int64_t lda, int *info, const davit_solve_options *options);

/* B = A^-1 B from the factor that potrf has left in `a`; B is n × nrhs. 2 n² nrhs flops. */
DAVIT_API davit_status davit_dpotrs(char uplo, int64_t n, int64_t nrhs, const double *a, int64_t lda,
                                    double *b, int64_t ldb, const davit_solve_options *options);
DAVIT_API davit_status davit_spotrs(char uplo, int64_t n, int64_t nrhs, const float *a, int64_t lda, float *b,
                                    int64_t ldb, const davit_solve_options *options);
DAVIT_API davit_status davit_zpotrs(char uplo, int64_t n, int64_t nrhs, const davit_complex_double *a,
                                    int64_t lda, davit_complex_double *b, int64_t ldb,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_cpotrs(char uplo, int64_t n, int64_t nrhs, const davit_complex_float *a,
                                    int64_t lda, davit_complex_float *b, int64_t ldb,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_queue_dpotrs(davit_queue *queue, char uplo, int64_t n, int64_t nrhs,
                                          const double *a, int64_t lda, double *b, int64_t ldb,
                                          const davit_solve_options *options);
DAVIT_API davit_status davit_queue_spotrs(davit_queue *queue, char uplo, int64_t n, int64_t nrhs,
                                          const float *a, int64_t lda, float *b, int64_t ldb,
                                          const davit_solve_options *options);
DAVIT_API davit_status davit_queue_zpotrs(davit_queue *queue, char uplo, int64_t n, int64_t nrhs,
                                          const davit_complex_double *a, int64_t lda, davit_complex_double *b,
                                          int64_t ldb, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_cpotrs(davit_queue *queue, char uplo, int64_t n, int64_t nrhs,
                                          const davit_complex_float *a, int64_t lda, davit_complex_float *b,
                                          int64_t ldb, const davit_solve_options *options);

/* Solves A X = B: potrf and potrs. A becomes the factor, B the solution; if A is not positive definite, B is unchanged.
 * If mixed arithmetic gave the solution, which report->arithmetic says, A is unchanged. The queue form writes *info as
 * potrf does; if that is not 0, B is undefined. */
DAVIT_API davit_status davit_dposv(char uplo, int64_t n, int64_t nrhs, double *a, int64_t lda, double *b,
                                   int64_t ldb, const davit_solve_options *options);
DAVIT_API davit_status davit_sposv(char uplo, int64_t n, int64_t nrhs, float *a, int64_t lda, float *b,
                                   int64_t ldb, const davit_solve_options *options);
DAVIT_API davit_status davit_zposv(char uplo, int64_t n, int64_t nrhs, davit_complex_double *a, int64_t lda,
                                   davit_complex_double *b, int64_t ldb, const davit_solve_options *options);
DAVIT_API davit_status davit_cposv(char uplo, int64_t n, int64_t nrhs, davit_complex_float *a, int64_t lda,
                                   davit_complex_float *b, int64_t ldb, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_dposv(davit_queue *queue, char uplo, int64_t n, int64_t nrhs, double *a,
                                         int64_t lda, double *b, int64_t ldb, int *info,
                                         const davit_solve_options *options);
DAVIT_API davit_status davit_queue_sposv(davit_queue *queue, char uplo, int64_t n, int64_t nrhs, float *a,
                                         int64_t lda, float *b, int64_t ldb, int *info,
                                         const davit_solve_options *options);
DAVIT_API davit_status davit_queue_zposv(davit_queue *queue, char uplo, int64_t n, int64_t nrhs,
                                         davit_complex_double *a, int64_t lda, davit_complex_double *b,
                                         int64_t ldb, int *info, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_cposv(davit_queue *queue, char uplo, int64_t n, int64_t nrhs,
                                         davit_complex_float *a, int64_t lda, davit_complex_float *b,
                                         int64_t ldb, int *info, const davit_solve_options *options);

/* ---- LU ---- */

/* A = P L U, m × n, in place, with partial pivoting; n² (m - n / 3) flops where m >= n. ipiv, min(m, n) ints, gets the
 * numbers, from 1 on, of the rows with which rows 1, 2, … were exchanged, in that order; it may be in any memory. If
 * U(k, k) is exactly 0, the call returns DAVIT_SINGULAR with the first such k in report->failed; A is factored all the
 * same.
 *
 * The queue form writes k, or 0, to *info as potrf's does; ipiv is memory that the device reaches.
 *
 * Algorithm: block columns go to the devices in turn, as in potrf; each is factored on one device (on the CPU as in
 * Toledo, "Locality of reference in LU decomposition with partial pivoting", SIAM J. Matrix Anal. Appl. 18, 1997), and
 * its row exchanges are sent with it to the others. */
DAVIT_API davit_status davit_dgetrf(int64_t m, int64_t n, double *a, int64_t lda, int *ipiv,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_sgetrf(int64_t m, int64_t n, float *a, int64_t lda, int *ipiv,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_zgetrf(int64_t m, int64_t n, davit_complex_double *a, int64_t lda, int *ipiv,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_cgetrf(int64_t m, int64_t n, davit_complex_float *a, int64_t lda, int *ipiv,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_queue_dgetrf(davit_queue *queue, int64_t m, int64_t n, double *a, int64_t lda,
                                          int *ipiv, int *info, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_sgetrf(davit_queue *queue, int64_t m, int64_t n, float *a, int64_t lda,
                                          int *ipiv, int *info, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_zgetrf(davit_queue *queue, int64_t m, int64_t n, davit_complex_double *a,
                                          int64_t lda, int *ipiv, int *info,
                                          const davit_solve_options *options);
DAVIT_API davit_status davit_queue_cgetrf(davit_queue *queue, int64_t m, int64_t n, davit_complex_float *a,
                                          int64_t lda, int *ipiv, int *info,
                                          const davit_solve_options *options);

/* B = op(A)^-1 B from the factors that getrf has left in `a` and ipiv; B is n × nrhs. trans 'N': A, 'T': its transpose,
 * 'C': the conjugate transpose. 2 n² nrhs flops. */
DAVIT_API davit_status davit_dgetrs(char trans, int64_t n, int64_t nrhs, const double *a, int64_t lda,
                                    const int *ipiv, double *b, int64_t ldb,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_sgetrs(char trans, int64_t n, int64_t nrhs, const float *a, int64_t lda,
                                    const int *ipiv, float *b, int64_t ldb,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_zgetrs(char trans, int64_t n, int64_t nrhs, const davit_complex_double *a,
                                    int64_t lda, const int *ipiv, davit_complex_double *b, int64_t ldb,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_cgetrs(char trans, int64_t n, int64_t nrhs, const davit_complex_float *a,
                                    int64_t lda, const int *ipiv, davit_complex_float *b, int64_t ldb,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_queue_dgetrs(davit_queue *queue, char trans, int64_t n, int64_t nrhs,
                                          const double *a, int64_t lda, const int *ipiv, double *b,
                                          int64_t ldb, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_sgetrs(davit_queue *queue, char trans, int64_t n, int64_t nrhs,
                                          const float *a, int64_t lda, const int *ipiv, float *b, int64_t ldb,
                                          const davit_solve_options *options);
DAVIT_API davit_status davit_queue_zgetrs(davit_queue *queue, char trans, int64_t n, int64_t nrhs,
                                          const davit_complex_double *a, int64_t lda, const int *ipiv,
                                          davit_complex_double *b, int64_t ldb,
                                          const davit_solve_options *options);
DAVIT_API davit_status davit_queue_cgetrs(davit_queue *queue, char trans, int64_t n, int64_t nrhs,
                                          const davit_complex_float *a, int64_t lda, const int *ipiv,
                                          davit_complex_float *b, int64_t ldb,
                                          const davit_solve_options *options);

/* Solves A X = B: getrf and getrs. B becomes the solution; if A is singular, B is unchanged. If mixed arithmetic gave
 * the solution, which report->arithmetic says, A is unchanged and ipiv is undefined. One device computes it: the CPU,
 * or a GPU that holds A and its copy; cuSOLVER factors in TF32 and refines by GMRES, the CPU factors in single
 * precision (LAPACK's dsgesv; Langou et al., "Exploiting the performance of 32 bit floating point arithmetic in
 * obtaining 64 bit accuracy", SC 2006). The queue form writes *info as getrf does; if that is not 0, B is undefined. */
DAVIT_API davit_status davit_dgesv(int64_t n, int64_t nrhs, double *a, int64_t lda, int *ipiv, double *b,
                                   int64_t ldb, const davit_solve_options *options);
DAVIT_API davit_status davit_sgesv(int64_t n, int64_t nrhs, float *a, int64_t lda, int *ipiv, float *b,
                                   int64_t ldb, const davit_solve_options *options);
DAVIT_API davit_status davit_zgesv(int64_t n, int64_t nrhs, davit_complex_double *a, int64_t lda, int *ipiv,
                                   davit_complex_double *b, int64_t ldb, const davit_solve_options *options);
DAVIT_API davit_status davit_cgesv(int64_t n, int64_t nrhs, davit_complex_float *a, int64_t lda, int *ipiv,
                                   davit_complex_float *b, int64_t ldb, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_dgesv(davit_queue *queue, int64_t n, int64_t nrhs, double *a, int64_t lda,
                                         int *ipiv, double *b, int64_t ldb, int *info,
                                         const davit_solve_options *options);
DAVIT_API davit_status davit_queue_sgesv(davit_queue *queue, int64_t n, int64_t nrhs, float *a, int64_t lda,
                                         int *ipiv, float *b, int64_t ldb, int *info,
                                         const davit_solve_options *options);
DAVIT_API davit_status davit_queue_zgesv(davit_queue *queue, int64_t n, int64_t nrhs, davit_complex_double *a,
                                         int64_t lda, int *ipiv, davit_complex_double *b, int64_t ldb,
                                         int *info, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_cgesv(davit_queue *queue, int64_t n, int64_t nrhs, davit_complex_float *a,
                                         int64_t lda, int *ipiv, davit_complex_float *b, int64_t ldb,
                                         int *info, const davit_solve_options *options);

/* ---- QR ---- */

/* A = Q R, m × n, in place: R in the upper triangle (trapezoid), below its diagonal the vectors v of the min(m, n)
 * reflectors H = I - tau v v', whose first element 1 is not stored, and their factors in tau, which may be in any
 * memory. Q = H1 H2 …; 2 n² (m - n / 3) flops where m >= n, four times that for complex types, and more for products of
 * blocks of reflectors.
 *
 * Algorithm: block columns go to the devices in turn, as in potrf; the reflectors of a block are applied to the others
 * as one, I - V T V' (Schreiber and Van Loan, "A storage-efficient WY representation for products of Householder
 * transformations", SIAM J. Sci. Stat. Comput. 10, 1989). */
DAVIT_API davit_status davit_dgeqrf(int64_t m, int64_t n, double *a, int64_t lda, double *tau,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_sgeqrf(int64_t m, int64_t n, float *a, int64_t lda, float *tau,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_zgeqrf(int64_t m, int64_t n, davit_complex_double *a, int64_t lda,
                                    davit_complex_double *tau, const davit_solve_options *options);
DAVIT_API davit_status davit_cgeqrf(int64_t m, int64_t n, davit_complex_float *a, int64_t lda,
                                    davit_complex_float *tau, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_dgeqrf(davit_queue *queue, int64_t m, int64_t n, double *a, int64_t lda,
                                          double *tau, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_sgeqrf(davit_queue *queue, int64_t m, int64_t n, float *a, int64_t lda,
                                          float *tau, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_zgeqrf(davit_queue *queue, int64_t m, int64_t n, davit_complex_double *a,
                                          int64_t lda, davit_complex_double *tau,
                                          const davit_solve_options *options);
DAVIT_API davit_status davit_queue_cgeqrf(davit_queue *queue, int64_t m, int64_t n, davit_complex_float *a,
                                          int64_t lda, davit_complex_float *tau,
                                          const davit_solve_options *options);

/* C = op(Q) C (side 'L') or C op(Q) ('R') with the k reflectors that geqrf has left in `a` and tau; C is m × n, and A
 * has k columns and as many rows as Q has, m or n, which are at least k. trans 'N': Q; 'T' of real, 'C' of complex
 * types: its (conjugate) transpose. C must not overlap A. 4 m n k - 2 k² n flops with 'L'. */
DAVIT_API davit_status davit_dormqr(char side, char trans, int64_t m, int64_t n, int64_t k, const double *a,
                                    int64_t lda, const double *tau, double *c, int64_t ldc,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_sormqr(char side, char trans, int64_t m, int64_t n, int64_t k, const float *a,
                                    int64_t lda, const float *tau, float *c, int64_t ldc,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_zunmqr(char side, char trans, int64_t m, int64_t n, int64_t k,
                                    const davit_complex_double *a, int64_t lda,
                                    const davit_complex_double *tau, davit_complex_double *c, int64_t ldc,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_cunmqr(char side, char trans, int64_t m, int64_t n, int64_t k,
                                    const davit_complex_float *a, int64_t lda, const davit_complex_float *tau,
                                    davit_complex_float *c, int64_t ldc, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_dormqr(davit_queue *queue, char side, char trans, int64_t m, int64_t n,
                                          int64_t k, const double *a, int64_t lda, const double *tau,
                                          double *c, int64_t ldc, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_sormqr(davit_queue *queue, char side, char trans, int64_t m, int64_t n,
                                          int64_t k, const float *a, int64_t lda, const float *tau, float *c,
                                          int64_t ldc, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_zunmqr(davit_queue *queue, char side, char trans, int64_t m, int64_t n,
                                          int64_t k, const davit_complex_double *a, int64_t lda,
                                          const davit_complex_double *tau, davit_complex_double *c,
                                          int64_t ldc, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_cunmqr(davit_queue *queue, char side, char trans, int64_t m, int64_t n,
                                          int64_t k, const davit_complex_float *a, int64_t lda,
                                          const davit_complex_float *tau, davit_complex_float *c, int64_t ldc,
                                          const davit_solve_options *options);

/* A becomes the first n columns of Q, m × n, of the k reflectors that geqrf has left in its first columns and in tau;
 * m >= n >= k. */
DAVIT_API davit_status davit_dorgqr(int64_t m, int64_t n, int64_t k, double *a, int64_t lda,
                                    const double *tau, const davit_solve_options *options);
DAVIT_API davit_status davit_sorgqr(int64_t m, int64_t n, int64_t k, float *a, int64_t lda, const float *tau,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_zungqr(int64_t m, int64_t n, int64_t k, davit_complex_double *a, int64_t lda,
                                    const davit_complex_double *tau, const davit_solve_options *options);
DAVIT_API davit_status davit_cungqr(int64_t m, int64_t n, int64_t k, davit_complex_float *a, int64_t lda,
                                    const davit_complex_float *tau, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_dorgqr(davit_queue *queue, int64_t m, int64_t n, int64_t k, double *a,
                                          int64_t lda, const double *tau, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_sorgqr(davit_queue *queue, int64_t m, int64_t n, int64_t k, float *a,
                                          int64_t lda, const float *tau, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_zungqr(davit_queue *queue, int64_t m, int64_t n, int64_t k,
                                          davit_complex_double *a, int64_t lda,
                                          const davit_complex_double *tau,
                                          const davit_solve_options *options);
DAVIT_API davit_status davit_queue_cungqr(davit_queue *queue, int64_t m, int64_t n, int64_t k,
                                          davit_complex_float *a, int64_t lda, const davit_complex_float *tau,
                                          const davit_solve_options *options);

/* Least squares with a matrix of full rank, m × n: trans 'N' finds for each column b of B the x with the minimum ‖b - A
 * x‖ if m >= n, and otherwise the shortest x with A x = b; 'T' of real, 'C' of complex types do the same for A's
 * (conjugate) transpose. B has max(m, n) rows: the right-hand side in the first ones, which becomes X; if there are
 * more equations than unknowns, the norm of the rows after X in each column is that of the residual. A becomes its QR
 * (m >= n) or LQ factorisation, without its tau. With m or n 0 all of B becomes 0, as in LAPACK. If R(k, k) is exactly
 * 0, the call returns DAVIT_SINGULAR with k in report->failed, and B is undefined. B must not overlap A.
 *
 * The queue form writes k, or 0, to *info as potrf's does, and holds its queue until X is there. */
DAVIT_API davit_status davit_dgels(char trans, int64_t m, int64_t n, int64_t nrhs, double *a, int64_t lda,
                                   double *b, int64_t ldb, const davit_solve_options *options);
DAVIT_API davit_status davit_sgels(char trans, int64_t m, int64_t n, int64_t nrhs, float *a, int64_t lda,
                                   float *b, int64_t ldb, const davit_solve_options *options);
DAVIT_API davit_status davit_zgels(char trans, int64_t m, int64_t n, int64_t nrhs, davit_complex_double *a,
                                   int64_t lda, davit_complex_double *b, int64_t ldb,
                                   const davit_solve_options *options);
DAVIT_API davit_status davit_cgels(char trans, int64_t m, int64_t n, int64_t nrhs, davit_complex_float *a,
                                   int64_t lda, davit_complex_float *b, int64_t ldb,
                                   const davit_solve_options *options);
DAVIT_API davit_status davit_queue_dgels(davit_queue *queue, char trans, int64_t m, int64_t n, int64_t nrhs,
                                         double *a, int64_t lda, double *b, int64_t ldb, int *info,
                                         const davit_solve_options *options);
DAVIT_API davit_status davit_queue_sgels(davit_queue *queue, char trans, int64_t m, int64_t n, int64_t nrhs,
                                         float *a, int64_t lda, float *b, int64_t ldb, int *info,
                                         const davit_solve_options *options);
DAVIT_API davit_status davit_queue_zgels(davit_queue *queue, char trans, int64_t m, int64_t n, int64_t nrhs,
                                         davit_complex_double *a, int64_t lda, davit_complex_double *b,
                                         int64_t ldb, int *info, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_cgels(davit_queue *queue, char trans, int64_t m, int64_t n, int64_t nrhs,
                                         davit_complex_float *a, int64_t lda, davit_complex_float *b,
                                         int64_t ldb, int *info, const davit_solve_options *options);

/* ---- inverses ---- */

/* A becomes its inverse, in place. The three routines read the diagonal first: if its element k, counted from 1, is
 * exactly 0, the plain forms return DAVIT_SINGULAR with k in report->failed, and A is unchanged. The queue forms write
 * k, or 0, to *info as potrf's does, and do not fail.
 *
 * One device that reaches A, or has room for two matrices of its size, inverts it as a whole; the stored half, for
 * getri all of A, then crosses the link once each way. Several named devices, or one with less room, divide the
 * products of its parts: each is a call of level 3, down to triangles of `block` rows that the first device inverts.
 * Without blocks `block` of the report is n. NVIDIA devices run cuSOLVER for triangles on the diagonal and cuBLAS for
 * the rest; the queue forms hold their queue until the inverse is there.
 *
 * Algorithm: halves, down to blocks that are inverted column by column (Du Croz and Higham, "Stability of methods for
 * matrix inversion", IMA J. Numer. Anal. 12, 1992). */

/* The inverse of a triangle, the half `uplo` of A; with diag = 'U' its diagonal is 1 and is not stored. The other half
 * is neither read nor changed. n³ / 3 flops, four times that for complex types, as below. */
DAVIT_API davit_status davit_dtrtri(char uplo, char diag, int64_t n, double *a, int64_t lda,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_strtri(char uplo, char diag, int64_t n, float *a, int64_t lda,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_ztrtri(char uplo, char diag, int64_t n, davit_complex_double *a, int64_t lda,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_ctrtri(char uplo, char diag, int64_t n, davit_complex_float *a, int64_t lda,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_queue_dtrtri(davit_queue *queue, char uplo, char diag, int64_t n, double *a,
                                          int64_t lda, int *info, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_strtri(davit_queue *queue, char uplo, char diag, int64_t n, float *a,
                                          int64_t lda, int *info, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_ztrtri(davit_queue *queue, char uplo, char diag, int64_t n,
                                          davit_complex_double *a, int64_t lda, int *info,
                                          const davit_solve_options *options);
DAVIT_API davit_status davit_queue_ctrtri(davit_queue *queue, char uplo, char diag, int64_t n,
                                          davit_complex_float *a, int64_t lda, int *info,
                                          const davit_solve_options *options);

/* The inverse of a positive definite matrix from the factor that potrf has left in `a`; the same half of `a` becomes
 * that of the inverse. 2 n³ / 3 flops. */
DAVIT_API davit_status davit_dpotri(char uplo, int64_t n, double *a, int64_t lda,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_spotri(char uplo, int64_t n, float *a, int64_t lda,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_zpotri(char uplo, int64_t n, davit_complex_double *a, int64_t lda,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_cpotri(char uplo, int64_t n, davit_complex_float *a, int64_t lda,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_queue_dpotri(davit_queue *queue, char uplo, int64_t n, double *a, int64_t lda,
                                          int *info, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_spotri(davit_queue *queue, char uplo, int64_t n, float *a, int64_t lda,
                                          int *info, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_zpotri(davit_queue *queue, char uplo, int64_t n, davit_complex_double *a,
                                          int64_t lda, int *info, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_cpotri(davit_queue *queue, char uplo, int64_t n, davit_complex_float *a,
                                          int64_t lda, int *info, const davit_solve_options *options);

/* The inverse of a general matrix from the factors that getrf has left: L below the diagonal (L's own is 1), U from the
 * diagonal on, and in ipiv, which may be in any memory, the row, from 1 to n, with which row i was exchanged. The queue
 * form reads ipiv when the command runs. 4 n³ / 3 flops. Scratch memory: 256 columns of A. */
DAVIT_API davit_status davit_dgetri(int64_t n, double *a, int64_t lda, const int *ipiv,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_sgetri(int64_t n, float *a, int64_t lda, const int *ipiv,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_zgetri(int64_t n, davit_complex_double *a, int64_t lda, const int *ipiv,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_cgetri(int64_t n, davit_complex_float *a, int64_t lda, const int *ipiv,
                                    const davit_solve_options *options);
DAVIT_API davit_status davit_queue_dgetri(davit_queue *queue, int64_t n, double *a, int64_t lda,
                                          const int *ipiv, int *info, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_sgetri(davit_queue *queue, int64_t n, float *a, int64_t lda,
                                          const int *ipiv, int *info, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_zgetri(davit_queue *queue, int64_t n, davit_complex_double *a, int64_t lda,
                                          const int *ipiv, int *info, const davit_solve_options *options);
DAVIT_API davit_status davit_queue_cgetri(davit_queue *queue, int64_t n, davit_complex_float *a, int64_t lda,
                                          const int *ipiv, int *info, const davit_solve_options *options);

#ifdef __cplusplus
}
#endif
#endif
