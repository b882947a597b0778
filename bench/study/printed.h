/* The sources' code as it is printed, defects and all, run by a model of a GPU on the CPU.
 *
 * Nothing here has undefined behaviour: accesses outside an array are counted by a guard (trace.h), give a
 * value that is told beforehand, and change nothing; a loop that does not end is given up. What the
 * printed code leaves to chance (which block or warp runs first, whether lanes run in step) is an
 * argument, and any value of it is what a real device may do. */
#ifndef DAVIT_BENCH_STUDY_PRINTED_H
#define DAVIT_BENCH_STUDY_PRINTED_H

#include "bench/study/trace.h"

/* What an int that was never written, or lies outside its array, is found to be. */
enum { DVT_STUDY_POISON = 0x01010101 };

/* ---- reduction ---- */

typedef struct dvt_study_printed_launch {
  int block;
  int64_t teams;
  bool lockstep;   /* lanes of a warp run in step, as before Volta; else each runs on to the next barrier */
  bool descending; /* warps, and lanes that are not in step, take their turns from the last to the first */
} dvt_study_printed_launch;

/* K1 … K6 over an array of `length` ints; `size` is K6's argument. partials: one for each team. `input`
 * counts the reads of the array, `shared` the accesses to a block's memory of `block` ints. */
void dvt_study_printed_reduce(int kernel, const dvt_study_printed_launch *launch, int64_t length,
                              const int32_t *x, int64_t size, int32_t *partials, dvt_study_guard *input,
                              dvt_study_guard *shared);

/* ---- scans ---- */

/* s holds what it holds before the call: the printed loop adds to it. n > 0. */
void dvt_study_printed_sequential_scan(int64_t n, const int32_t *a, int32_t *s);

/* P1 in one block of n threads; false: still running after `most_steps` steps of its loop. */
bool dvt_study_printed_naive_scan(int n, uint32_t *values, int64_t most_steps);

/* P2 in one warp of 32: `values` become what the function leaves in memory, `returned` what it returns. */
void dvt_study_printed_warp_scan(bool exclusive, bool lockstep, uint32_t values[32], uint32_t returned[32]);

typedef struct dvt_study_printed_block {
  bool exclusive;
  bool aliased;    /* sdata is the memory that the values are in, as with one dynamic shared array for both */
  bool descending; /* in step 2 the last warp comes first */
} dvt_study_printed_block;

/* P3 in one block of n threads, at most 1024, in step: on numbers with +, on numbers with ×, and on words,
 * joined end to end. Values become what the function returns; `unwritten` counts the entries of sdata that
 * are read before they are written. */
void dvt_study_printed_block_scan(const dvt_study_printed_block *how, int n, uint32_t *values,
                                  int *unwritten);
void dvt_study_printed_block_scan_product(const dvt_study_printed_block *how, int n, uint32_t *values,
                                          int *unwritten);

enum { DVT_STUDY_PRINTED_LETTERS = 128 };
typedef struct dvt_study_printed_word {
  char text[4 * DVT_STUDY_PRINTED_LETTERS];
} dvt_study_printed_word;
void dvt_study_printed_block_scan_words(const dvt_study_printed_block *how, int n,
                                        dvt_study_printed_word *values, int *unwritten);

/* P4 as the lecture tells it, block scans being right: "the last element of each block" is taken from what
 * the block's scan returned. */
void dvt_study_printed_grid_scan(bool exclusive, int block, int64_t n, const uint32_t *x, uint32_t *y);

/* The sequential segmented scan; the guards count the reads of `a`. */
void dvt_study_printed_segments(int64_t n, const int32_t *a, const int32_t *segments, int32_t *out,
                                dvt_study_guard *reads);

/* ---- dense kernels: row-major, double precision ---- */

/* 3×3 stencil; blocks of side × side threads. Elements of the border of b are not written. */
void dvt_study_printed_convolution(int side, int64_t ni, int64_t nj, const double *a, double *b,
                                   dvt_study_guard *reads);

/* One kernel for tmp = A x, y = Aᵀ tmp, block after block from the first (or from the last). What is read
 * outside of A, x or tmp is `outside`. */
void dvt_study_printed_atax(int block, bool descending, int64_t nx, int64_t ny, const double *a,
                            const double *x, double outside, double *tmp, double *y, dvt_study_guard *reads);

/* What is mended in the printed covariance, so that the other defects show. */
enum {
  DVT_STUDY_COLUMN_RESET = 1, /* Col begins anew before each of the three parts */
  DVT_STUDY_ONE_ROW = 2,      /* one row of threads subtracts the means */
  DVT_STUDY_LAUNCHES = 4,     /* the three parts are three launches */
  DVT_STUDY_TRANSPOSED = 8,   /* the product is Dᵀ D */
  DVT_STUDY_COVARIANCE_ALL = 15
};

typedef struct dvt_study_printed_covariance {
  int mended;      /* an or of the above */
  int side;        /* of a block and a tile; at most 32 */
  bool descending; /* blocks from the last to the first */
  int64_t m, n;    /* rows and columns of data; symmat is n × n */
  double divisor;
  double outside; /* what is read outside of data or mean */
} dvt_study_printed_covariance;

/* The guards count reads of data, and writes of symmat. */
void dvt_study_printed_covariance_run(const dvt_study_printed_covariance *p, double *data, double *mean,
                                      double *symmat, dvt_study_guard *reads, dvt_study_guard *writes);

#endif
