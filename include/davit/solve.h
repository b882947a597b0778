/* SPDX-License-Identifier: Apache-2.0 */
/* Systems of linear equations, least squares and inverses by Cholesky, LU and QR factorisations, in the types d
 * (double), s (float), z (davit_complex_double) and c (davit_complex_float).
 *
 * Names, letters and the order of the arguments are LAPACK's; matrices are column-major. Letters may be lower case. A
 * leading dimension is at least the number of rows, and at least 1.
 *
 * The plain forms take operands in any memory (pageable, pinned, any device), even larger than a device's memory. They
 * spread the work over several devices and return when the result is there. The queue forms enqueue on the queue's
 * device and return; the device must reach their operands, which must stay valid until the command has run. NVIDIA
 * devices use cuSOLVER to factor a block and cuBLAS for the rest; the CPU and host-offload devices use BLIS.
 * Thread safety: any thread, any number of calls at the same time on distinct outputs.
 *
 * Row-major: the lower half of a symmetric C array a[n][n] is the upper half of the column-major matrix in the same
 * memory. For a complex A the factor is then that of the conjugate. */
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
 * Hermitian, and positive definite; `uplo` names the half of A that is stored. The other half is neither read nor
 * changed, and the imaginary parts of the diagonal count as 0. n³ / 3 flops, four times that for complex types; the
 * stored half crosses the link once each way. If the leading minor of order k is not positive definite, or contains a
 * NaN, the call returns DAVIT_NOT_POSITIVE_DEFINITE with k in report->failed. The blocks of columns before the block of
 * column k then hold the factor; the others may be unchanged or partly factored. The same call on the same devices,
 * with the same block and number of threads, gives the same bits.
 *
 * The queue form writes k, or 0, to *info, which is in host memory or on the device and must stay valid until the
 * command has run. The command itself does not fail; if k is not 0, A is partly factored.
 *
 * Algorithm: block columns are distributed over the devices cyclically. Each block is factored, copied to the other
 * devices, and used to update the blocks behind it, the next one first (right-looking with lookahead: Golub and Van
 * Loan, Matrix Computations, 4.2). */
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

/* B = A^-1 B with the factor that potrf has written to `a`; B is n × nrhs. 2 n² nrhs flops. */
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

/* Solves A X = B by potrf and potrs. A becomes the factor and B the solution; if A is not positive definite, B is
 * unchanged. If report->arithmetic is MIXED, A is unchanged. The queue form writes *info as potrf does; if that is not
 * 0, B is undefined. */
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

/* A = P L U, m × n, in place, with partial pivoting; n² (m - n / 3) flops where m >= n. ipiv has min(m, n) ints and may
 * be in any memory: row i was exchanged with row ipiv[i - 1], for i = 1, 2, … in this order. If U(k, k)
 * is exactly 0, the call still factors A, and returns DAVIT_SINGULAR with the first such k in report->failed.
 *
 * The queue form writes k, or 0, to *info as potrf does; its device must reach ipiv.
 *
 * Algorithm: block columns are distributed as in potrf. Each is factored on one device (on the CPU as in Toledo,
 * "Locality of reference in LU decomposition with partial pivoting", SIAM J. Matrix Anal. Appl. 18, 1997), and sent to
 * the others with its row exchanges. */
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

/* B = op(A)^-1 B with the factors that getrf has written to `a` and ipiv; B is n × nrhs. trans 'N': A, 'T': its
 * transpose, 'C': its conjugate transpose. 2 n² nrhs flops. */
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

/* Solves A X = B by getrf and getrs. B becomes the solution; if A is singular, B is unchanged. If report->arithmetic is
 * MIXED, A is unchanged and ipiv is undefined; one device computed the solution. This is a GPU that holds A and a copy
 * of it, for one right-hand side (cuSOLVER factors in TF32 and refines by GMRES), or the CPU, which factors in single
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
 * reflectors H = I - tau v v'. The first element of v is 1 and is not stored. tau gets the factors of the reflectors
 * and may be in any memory. Q = H1 H2 …; 2 n² (m - n / 3) flops where m >= n, four times that for complex types, and
 * more for products of blocks of reflectors.
 *
 * Algorithm: block columns are distributed as in potrf. The reflectors of a block are applied to the others together,
 * as I - V T V' (Schreiber and Van Loan, "A storage-efficient WY representation for products of Householder
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

/* C = op(Q) C (side 'L') or C op(Q) ('R') with the k reflectors that geqrf has written to `a` and tau. C is m × n. A
 * has k columns and as many rows as Q: m for 'L', n for 'R', at least k. trans 'N': Q; 'T' for real, 'C' for complex
 * types: the (conjugate) transpose of Q. C must not overlap A. 4 m n k - 2 k² n flops with 'L'. */
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

/* A becomes the first n columns of Q, m × n. Q is the product of the k reflectors that geqrf has written to the first
 * columns of A and to tau; m >= n >= k. */
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

/* Least squares with an m × n matrix A of full rank. With trans 'N' and m >= n, X has for each column b of B the x with
 * the minimum ‖b - A x‖; with m < n, the solution of A x = b with the minimum norm. trans 'T' (real types) or 'C'
 * (complex types) does the same for the (conjugate) transpose of A. B has max(m, n) rows. Its first rows hold the
 * right-hand sides and become X. If there are more equations than unknowns, the rows after X have the norm of the
 * residual in each column. A becomes its QR (m >= n) or LQ factorisation, without its tau. If m or n is 0, all of B
 * becomes 0, as in LAPACK. If R(k, k) is exactly 0, the call returns DAVIT_SINGULAR with k in report->failed, and B is
 * undefined. B must not overlap A.
 *
 * The queue form writes k, or 0, to *info as potrf does, and holds its queue until X is there. */
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
 * k, or 0, to *info as potrf does, and do not fail.
 *
 * One device that reaches A, or has room for two matrices of its size, inverts all of it; the stored half (for getri
 * all of A) then crosses the link once each way. Several named devices, or one with less room, work on parts: each
 * product of parts is a call of level 3, and the first device inverts triangles of `block` rows. Without blocks `block`
 * of the report is n. NVIDIA devices use cuSOLVER for triangles on the diagonal and cuBLAS for the rest. The queue
 * forms hold their queue until the inverse is there.
 *
 * Algorithm: recursive halving, down to blocks that are inverted column by column (Du Croz and Higham, "Stability of
 * methods for matrix inversion", IMA J. Numer. Anal. 12, 1992). */

/* The inverse of a triangle, the half `uplo` of A. With diag = 'U' its diagonal is all 1 and is not stored. The other
 * half is neither read nor changed. n³ / 3 flops, four times that for complex types, as below. */
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

/* The inverse of a positive definite matrix, with the factor that potrf has written to `a`. The same half of `a`
 * becomes that half of the inverse. 2 n³ / 3 flops. */
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

/* The inverse of a general matrix, with the factors and ipiv that getrf has written: L below the diagonal (its own
 * diagonal is 1), U from the diagonal on, and in ipiv[i - 1] the row, from 1 to n, with which row i was exchanged. ipiv
 * may be in any memory; the queue form reads it when the command runs. 4 n³ / 3 flops. Scratch memory: 256 columns of
 * A. */
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
