/* SPDX-License-Identifier: Apache-2.0 */
/* Several processes under MPI: reductions, scans, level 3 of BLAS and Cholesky and LU factorisations, each rank with
 * devices of its own.
 *
 * These functions are in a separate library, libdavit_mpi; libdavit does not need MPI. The MPI form of a call has its
 * arguments after the communicator or the grid.
 *
 * Every function with a communicator or a grid is collective: all ranks call it, in the same order, with the same
 * arguments, except those that say where a rank's data lies (n, pointers, leading dimensions, devices). A failure of
 * one rank is returned by all of them, with the same status and a sentence that begins with the rank. If ranks disagree
 * about an argument, all return DAVIT_INVALID_ARGUMENT. Errors of MPI itself are handled as the communicator says,
 * which by default ends the job.
 *
 * MPI must be initialised, with MPI_THREAD_FUNNELED or more, because davit has threads of its own; they do
 * not call MPI. Thread safety: as MPI; calls on distinct communicators and grids from several threads need
 * MPI_THREAD_MULTIPLE. */
#ifndef DAVIT_MPI_H
#define DAVIT_MPI_H

#include <davit/level3.h>
#include <davit/monoid.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reductions and scans ----
 *
 * The array consists of the pieces of all ranks, in the order of the ranks; n, which may be 0, is the length of the
 * calling rank's piece. davit works on a piece where it lies, as in davit_reduce_parts(). */

/* Every rank gets the result. Built-in operators give the bits of davit_reduce() over the whole array, however it is
 * divided. Cost: reads x once; messages of at most 128 KiB for each rank. */
DAVIT_API davit_status davit_mpi_reduce(MPI_Comm comm, davit_operator op, davit_type type, int64_t n,
                                        const void *x, void *result);
DAVIT_API davit_status davit_mpi_monoid_reduce(MPI_Comm comm, const davit_monoid *monoid, int64_t n,
                                               const void *x, void *result);

/* y may be x. Order and bits are those of davit_scan_parts() over the whole array, however it is divided. Cost: reads x
 * twice and writes y once; one message from rank to rank, with one element and the part of a group of elements that the
 * rank has begun, at most 512 KiB. A segmented scan reads twice little more than the elements from a piece's last head
 * on. The first element of the whole array always is a head. */
DAVIT_API davit_status davit_mpi_scan(MPI_Comm comm, davit_operator op, davit_type type, davit_scan_kind kind,
                                      int64_t n, const void *x, void *y);
DAVIT_API davit_status davit_mpi_segmented_scan(MPI_Comm comm, davit_operator op, davit_type type,
                                                davit_scan_kind kind, int64_t n, const void *x,
                                                const uint8_t *flags, void *y);

/* flags NULL: no heads in this rank's piece; on all ranks: not segmented. */
DAVIT_API davit_status davit_mpi_monoid_scan(MPI_Comm comm, const davit_monoid *monoid, davit_scan_kind kind,
                                             int64_t n, const void *x, const uint8_t *flags, void *y);

/* A monoid for MPI's own collective calls: a type of `monoid->bytes` contiguous bytes that carries the monoid, and the
 * operation on it, created as not commutative unless the monoid is a built-in one. Both belong to the caller, who frees
 * them with MPI_Type_free() and MPI_Op_free(). Not collective. */
DAVIT_API davit_status davit_mpi_operator(const davit_monoid *monoid, MPI_Datatype *type, MPI_Op *op);

/* ---- matrices ----
 *
 * A grid of rows × cols processes: rank r of the communicator is in row r / cols and column r % cols; later ranks are
 * not in the grid, and get NULL. Matrices are distributed over it in blocks as in ScaLAPACK, and described by
 * ScaLAPACK's descriptor of nine numbers: {1, context, rows, cols, row block, column block, first process row, first
 * process column, leading dimension of the calling rank's part}. The context of BLACS is not read: the grid takes its
 * place, which is that of Cblacs_gridinit(…, "Row", rows, cols). */
typedef struct davit_mpi_grid davit_mpi_grid;
DAVIT_API davit_status davit_mpi_grid_create(MPI_Comm comm, int rows, int cols, davit_mpi_grid **grid);
DAVIT_API davit_status davit_mpi_grid_destroy(davit_mpi_grid *grid);
DAVIT_API davit_status davit_mpi_grid_position(const davit_mpi_grid *grid, int *row, int *col);

/* How many of n rows (or columns) lie on process `position` of `count`, if they are distributed in blocks from process
 * `first` on: ScaLAPACK's NUMROC. 0 for arguments that make no sense. */
DAVIT_API int64_t davit_mpi_local_size(int64_t n, int64_t block, int position, int first, int count);

/* Fills a descriptor: ScaLAPACK's DESCINIT. Not collective. */
DAVIT_API davit_status davit_mpi_descriptor(const davit_mpi_grid *grid, int64_t rows, int64_t cols,
                                            int64_t row_block, int64_t col_block, int first_row,
                                            int first_col, int64_t ld, int descriptor[9]);

typedef struct davit_mpi_options {
  const int *devices; /* of the calling rank, DAVIT_HOST allowed; NULL: its share of the node's devices */
  int device_count;   /* 0 with devices = NULL */
  int64_t panel;      /* columns of A at a time, the same on all ranks; 0: 512, or 1024 from k = 16384 on */
  davit_arithmetic arithmetic; /* of gemm, the same on all ranks: NATIVE, or EXACT with exact bits */
  davit_level3_report *report; /* of gemm by calls of libdavit's: what this rank did; NULL: not wanted */
  uint64_t reserved[2];        /* 0 */
} davit_mpi_options;

/* C = alpha op(A) op(B) + beta C for submatrices: C is the m × n one that begins at row ic and column jc,
 * counted from 1, of the matrix that descriptor c describes; A and B alike. As ScaLAPACK's PDGEMM, PSGEMM, PZGEMM and
 * PCGEMM, for any blocks and any alignment. The parts of a rank lie anywhere.
 *
 * Cost: each rank gets the rows of op(A) and columns of op(B) that belong to its part of C, panel by panel,
 * the next while the devices multiply: SUMMA (R. van de Geijn and J. Watts, SUMMA: Scalable Universal Matrix
 * Multiplication Algorithm, 1997). An operand that is transposed, or whose blocks do not fit those of C, is
 * copied once into a layout that does. Same call on the same grid and devices, same bits.
 *
 * Exact products, and those of complex numbers: each rank gets complete rows of op(A) and columns of op(B), in pinned
 * memory, and multiplies them by a call of libdavit. options->panel is not used. An exact product has the bits of one
 * process on every grid, with any blocks and devices; if one rank cannot, all multiply natively, and the report says
 * why. */
DAVIT_API davit_status davit_mpi_dgemm(davit_mpi_grid *grid, char transa, char transb, int64_t m, int64_t n,
                                       int64_t k, double alpha, const double *a, int64_t ia, int64_t ja,
                                       const int desca[9], const double *b, int64_t ib, int64_t jb,
                                       const int descb[9], double beta, double *c, int64_t ic, int64_t jc,
                                       const int descc[9], const davit_mpi_options *options);
DAVIT_API davit_status davit_mpi_sgemm(davit_mpi_grid *grid, char transa, char transb, int64_t m, int64_t n,
                                       int64_t k, float alpha, const float *a, int64_t ia, int64_t ja,
                                       const int desca[9], const float *b, int64_t ib, int64_t jb,
                                       const int descb[9], float beta, float *c, int64_t ic, int64_t jc,
                                       const int descc[9], const davit_mpi_options *options);
DAVIT_API davit_status davit_mpi_zgemm(davit_mpi_grid *grid, char transa, char transb, int64_t m, int64_t n,
                                       int64_t k, davit_complex_double alpha, const davit_complex_double *a,
                                       int64_t ia, int64_t ja, const int desca[9],
                                       const davit_complex_double *b, int64_t ib, int64_t jb,
                                       const int descb[9], davit_complex_double beta, davit_complex_double *c,
                                       int64_t ic, int64_t jc, const int descc[9],
                                       const davit_mpi_options *options);
DAVIT_API davit_status davit_mpi_cgemm(davit_mpi_grid *grid, char transa, char transb, int64_t m, int64_t n,
                                       int64_t k, davit_complex_float alpha, const davit_complex_float *a,
                                       int64_t ia, int64_t ja, const int desca[9],
                                       const davit_complex_float *b, int64_t ib, int64_t jb,
                                       const int descb[9], davit_complex_float beta, davit_complex_float *c,
                                       int64_t ic, int64_t jc, const int descc[9],
                                       const davit_mpi_options *options);

/* The triangle `uplo` ('U', 'L') of C = alpha A Aᵀ + beta C (trans 'N', A is n × k) or alpha Aᵀ A + beta C
 * ('T', 'C', k × n); the other triangle is not touched. As PDSYRK and PSSYRK. */
DAVIT_API davit_status davit_mpi_dsyrk(davit_mpi_grid *grid, char uplo, char trans, int64_t n, int64_t k,
                                       double alpha, const double *a, int64_t ia, int64_t ja,
                                       const int desca[9], double beta, double *c, int64_t ic, int64_t jc,
                                       const int descc[9], const davit_mpi_options *options);
DAVIT_API davit_status davit_mpi_ssyrk(davit_mpi_grid *grid, char uplo, char trans, int64_t n, int64_t k,
                                       float alpha, const float *a, int64_t ia, int64_t ja,
                                       const int desca[9], float beta, float *c, int64_t ic, int64_t jc,
                                       const int descc[9], const davit_mpi_options *options);

/* Solves op(A) X = alpha B (side 'L', A is m × m) or X op(A) = alpha B ('R', n × n) for a triangular A; X
 * replaces the m × n B. As PDTRSM and PSTRSM. */
DAVIT_API davit_status davit_mpi_dtrsm(davit_mpi_grid *grid, char side, char uplo, char transa, char diag,
                                       int64_t m, int64_t n, double alpha, const double *a, int64_t ia,
                                       int64_t ja, const int desca[9], double *b, int64_t ib, int64_t jb,
                                       const int descb[9], const davit_mpi_options *options);
DAVIT_API davit_status davit_mpi_strsm(davit_mpi_grid *grid, char side, char uplo, char transa, char diag,
                                       int64_t m, int64_t n, float alpha, const float *a, int64_t ia,
                                       int64_t ja, const int desca[9], float *b, int64_t ib, int64_t jb,
                                       const int descb[9], const davit_mpi_options *options);

/* A = L L' ('L') or U' U ('U') of the n × n submatrix, in place, where ' is the (conjugate) transpose. The half that
 * `uplo` does not name may hold anything, and stays as it is. If the leading minor of order k is not positive definite,
 * all ranks return DAVIT_NOT_POSITIVE_DEFINITE with k in the sentence; the blocks of columns (rows) before that of
 * column k are those of the factor. As PDPOTRF.
 *
 * A rank computes on the first of its devices; options->panel is not used. A block of columns of the descriptor is
 * factored by the process column that has it, and sent while the others are updated with the one before. A matrix whose
 * blocks are not square, smaller than 32 or larger than 1024 is copied once into a layout of 256 and back. */
DAVIT_API davit_status davit_mpi_dpotrf(davit_mpi_grid *grid, char uplo, int64_t n, double *a, int64_t ia,
                                        int64_t ja, const int desca[9], const davit_mpi_options *options);
DAVIT_API davit_status davit_mpi_spotrf(davit_mpi_grid *grid, char uplo, int64_t n, float *a, int64_t ia,
                                        int64_t ja, const int desca[9], const davit_mpi_options *options);
DAVIT_API davit_status davit_mpi_zpotrf(davit_mpi_grid *grid, char uplo, int64_t n, davit_complex_double *a,
                                        int64_t ia, int64_t ja, const int desca[9],
                                        const davit_mpi_options *options);
DAVIT_API davit_status davit_mpi_cpotrf(davit_mpi_grid *grid, char uplo, int64_t n, davit_complex_float *a,
                                        int64_t ia, int64_t ja, const int desca[9],
                                        const davit_mpi_options *options);

/* A = P L U of the m × n submatrix, in place, with partial pivoting. ipiv is tied to A's rows, as in ScaLAPACK: for
 * each local row of the matrix that is one of the submatrix's first min(m, n) it has the number, from 1 on, of the
 * matrix's row with which it was exchanged; the ranks of a process row get the same. It has one element for each row of
 * the matrix that the rank has, in any memory; the other elements are not touched. If U(k, k) is exactly 0, all ranks
 * return DAVIT_SINGULAR with the first such k in the sentence; A is factored all the same. As PDGETRF.
 *
 * Devices, blocks and layouts as in potrf. A block of columns is factored as a whole on one rank, which needs room for
 * two of them, m × block, in host memory. */
DAVIT_API davit_status davit_mpi_dgetrf(davit_mpi_grid *grid, int64_t m, int64_t n, double *a, int64_t ia,
                                        int64_t ja, const int desca[9], int *ipiv,
                                        const davit_mpi_options *options);
DAVIT_API davit_status davit_mpi_sgetrf(davit_mpi_grid *grid, int64_t m, int64_t n, float *a, int64_t ia,
                                        int64_t ja, const int desca[9], int *ipiv,
                                        const davit_mpi_options *options);
DAVIT_API davit_status davit_mpi_zgetrf(davit_mpi_grid *grid, int64_t m, int64_t n, davit_complex_double *a,
                                        int64_t ia, int64_t ja, const int desca[9], int *ipiv,
                                        const davit_mpi_options *options);
DAVIT_API davit_status davit_mpi_cgetrf(davit_mpi_grid *grid, int64_t m, int64_t n, davit_complex_float *a,
                                        int64_t ia, int64_t ja, const int desca[9], int *ipiv,
                                        const davit_mpi_options *options);

#ifdef __cplusplus
}
#endif
#endif
