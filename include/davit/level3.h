/* SPDX-License-Identifier: Apache-2.0 */
/* Level 3 of BLAS: matrix products and triangular solves, in the types d (double), s (float), z (davit_complex_double)
 * and c (davit_complex_float).
 *
 * Reference BLAS semantics, column-major. The plain form takes operands in any memory (pageable, pinned, any device,
 * mixed), spreads the work over several devices and returns when the result is there. The queue form enqueues on the
 * queue's device and returns, so that calls can be chained: the next one on the queue uses the result without the host
 * waiting, and davit_event_record() gives an event for which other queues can wait. Its operands must be memory that
 * the device reaches, and stay valid until the command has run. NVIDIA devices run cuBLAS, the CPU and host-offload
 * devices BLIS, other devices target regions of davit.
 * Thread safety: any thread, any number of calls at the same time on distinct outputs.
 *
 * For all routines: letters may be lower case. The leading dimension of a matrix is at least its rows as stored. alpha
 * = 0, or k = 0 where the sums run over k, does not read the input matrices; beta = 0 does not read C. Otherwise NaN
 * and infinities propagate. If beta is NaN, or has a NaN part, every element that is written becomes NaN; the same
 * holds for alpha, except for k = 0. An output must not overlap an input. An output's bytes beyond its rows, and the
 * half of a symmetric, hermitian or triangular matrix that `uplo` does not name, are neither read nor written. An
 * infinity in an input does not affect elements that do not depend on it (cuBLAS does not promise this of its trmm).
 * Operands may be larger than device memory. The same call on the same devices with the same number of threads gives
 * the same bits.
 *
 * Row-major: a C array x[rows][cols] is the transpose of a column-major cols × rows matrix. For C = A B with a[m][k],
 * b[k][n], c[m][n] exchange the operands: davit_dgemm('N', 'N', n, m, k, alpha, b, n, a, k, beta, c, n, options),
 * because the transpose of a product is the product of the transposes in reverse order. The comment of each other
 * routine says what to pass. */
#ifndef DAVIT_LEVEL3_H
#define DAVIT_LEVEL3_H

#include <davit/arithmetic.h>
#include <davit/complex.h>
#include <davit/queue.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct davit_level3_report davit_level3_report;
typedef struct davit_level3_explanation davit_level3_explanation;

/* `done` of `all` products of tiles are computed. Called by any thread, one call at a time, `done` from 1 to `all` in
 * turn, and never after the davit call has returned. It delays the work, so it should be short. It must not call davit
 * or a device's runtime, and it must return. */
typedef void (*davit_level3_progress)(void *context, int64_t done, int64_t all);

/* Several processes that compute parts of the same product, each by a call of its own with the same type, k, alpha and
 * beta. With EXACT they choose as one process that computes the whole would, so the parts have the same bits. */
typedef struct davit_level3_processes {
  /* Replaces the values by their maxima over all processes. Called by the thread of the davit call, equally often in
   * every process, whatever happens; it must return. */
  void (*maxima)(void *context, int count, double *values);
  void *context;
} davit_level3_processes;

typedef struct davit_level3_options {
  const int *devices; /* device numbers, DAVIT_HOST allowed; NULL: davit_device_defaults() */
  int device_count;   /* 0 with devices = NULL */
  bool mapped;        /* operands are mapped by OpenMP: docs/openmp.md */
  /* Of the members below the queue form reads `arithmetic`, `moduli` and `exact_bits`; the others must be 0 there. */
  int64_t tile;         /* rows and columns of a tile; 0: chosen from the shape and the devices */
  size_t cache_bytes;   /* maximum memory to use on each device; 0: 80 % of what is free, 1 GiB where that is
                           unknown, and less if the device refuses that much */
  bool separate_memory; /* treat host-offload devices as if they had memory of their own, as GPUs have */
  davit_level3_report *report;           /* filled on success, `written` always; NULL: not wanted */
  davit_level3_explanation *explanation; /* why this way was chosen; filled on success; NULL: not wanted */
  davit_level3_progress progress;        /* called as products finish; NULL: not wanted */
  void *progress_context;                /* for `progress` */
  int predict_threads; /* > 0: nothing is computed; the explanation says how long the call would take, and how long
                           BLIS would on this many host threads */
  davit_arithmetic arithmetic; /* NATIVE, or EXACT where it exists and is faster (docs/exact.md) */
  int moduli; /* with EXACT: at least this many, without the preference for exact results; 0: as needed */
  bool exact_bits; /* with EXACT: also where it is slower, for the same bits everywhere */
  const davit_level3_processes
      *processes;       /* with EXACT: who computes the other parts; NULL: there are none */
  uint64_t reserved[1]; /* 0 */
} davit_level3_options;

/* What a call was predicted to take, in seconds, and what else was considered. */
struct davit_level3_explanation {
  double seconds;                       /* of what was done */
  double arithmetic, load, peer, store; /* how long the busiest device does each; they overlap */
  double floor_arithmetic, floor_link;  /* on the devices used no choice is faster */
  int count;                            /* of choices; 0: the whole on one device, without tiles */
  struct {
    int grid_m, grid_n, grid_k;     /* devices: rows and columns of blocks of C, and parts of k */
    int64_t tile_m, tile_n, tile_k; /* maximum lengths of tiles */
    double seconds;
  } choices[8]; /* the one that was taken, then the best others */
  double host; /* BLIS on options->predict_threads threads; where no choice is faster, `seconds` is a floor */
  uint64_t reserved[3]; /* 0 */
};

/* What a call did. Bytes are sums over all devices. If there were no tiles, the lengths of tiles are those of the whole
 * product, and there is one product. After a failure only `written` is set: if it is false, the output is unchanged,
 * and the call can be repeated elsewhere. */
struct davit_level3_report {
  double seconds;
  int64_t tile; /* the longest of tile_m, tile_n and tile_k */
  int device_count;
  int64_t products;         /* tile products C += A B */
  int64_t evictions;        /* cached tiles given up for others */
  int64_t bytes_from_host;  /* host to devices */
  int64_t bytes_to_host;    /* devices to host */
  int64_t bytes_from_peers; /* device to device */
  int64_t cache_bytes;      /* device memory used, all devices */
  struct {
    int device;
    int64_t products;
  } devices[16];                  /* the first device_count are filled */
  int64_t tile_m, tile_n, tile_k; /* maximum lengths of tiles: of C's rows and columns, and of k */
  bool written;                   /* the output may have been written */
  /* With EXACT: the arithmetic that was used and the number of moduli. If it was NATIVE, why_native gives the reason,
   * a sentence that stays valid; else it is NULL. */
  davit_arithmetic arithmetic;
  int moduli;
  const char *why_native;
  uint32_t reserved[2]; /* 0 */
};

/* A figure of a device or of the host from which plans are chosen. */
typedef struct davit_level3_figure {
  char name[24], unit[16];
  double value;
  bool measured;        /* on this machine; else it is built in */
  uint64_t reserved[2]; /* 0 */
} davit_level3_figure;

/* The figures that are in use for the device (DAVIT_HOST: those of the host, and of all devices together):
 * writes at most `capacity` (NULL allowed with capacity 0) and their full number to `count`. */
DAVIT_API davit_status davit_level3_figures(int device, int capacity, davit_level3_figure *figures,
                                            int *count);

typedef struct davit_level3_measure_options {
  const int *devices;   /* device numbers, DAVIT_HOST allowed; NULL: davit_device_defaults() */
  int device_count;     /* 0 with devices = NULL */
  uint64_t reserved[4]; /* 0 */
} davit_level3_measure_options;

/* Measures the figures of the host and of the NVIDIA devices among these, one of each kind, and sets them in the tuning
 * table (davit/tuning.h); davit_tuning_save() writes them to a file. Takes some seconds, 2 GiB of each device's memory
 * and 1 GiB of the host's, and needs a machine without other load. Calls that run meanwhile use the old figures or the
 * new ones. */
DAVIT_API davit_status davit_level3_measure(const davit_level3_measure_options *options);

/* C = alpha op(A) op(B) + beta C. op(A) is m × k, op(B) k × n, C m × n; op is the matrix ('N'), its transpose ('T') or
 * its conjugate transpose ('C'). A 0 in one operand times an infinity in the other is NaN on every device. Accuracy:
 * the bound of a conventional product; a tile's products are summed in ascending k.
 * Algorithm: each device gets blocks of tiles of C; a tile of A or B is fetched once from the host and then copied
 * between devices (docs/gemm.md). */
DAVIT_API davit_status davit_dgemm(char transa, char transb, int64_t m, int64_t n, int64_t k, double alpha,
                                   const double *a, int64_t lda, const double *b, int64_t ldb, double beta,
                                   double *c, int64_t ldc, const davit_level3_options *options);
DAVIT_API davit_status davit_sgemm(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha,
                                   const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                                   float *c, int64_t ldc, const davit_level3_options *options);
DAVIT_API davit_status davit_zgemm(char transa, char transb, int64_t m, int64_t n, int64_t k,
                                   davit_complex_double alpha, const davit_complex_double *a, int64_t lda,
                                   const davit_complex_double *b, int64_t ldb, davit_complex_double beta,
                                   davit_complex_double *c, int64_t ldc, const davit_level3_options *options);
DAVIT_API davit_status davit_cgemm(char transa, char transb, int64_t m, int64_t n, int64_t k,
                                   davit_complex_float alpha, const davit_complex_float *a, int64_t lda,
                                   const davit_complex_float *b, int64_t ldb, davit_complex_float beta,
                                   davit_complex_float *c, int64_t ldc, const davit_level3_options *options);
DAVIT_API davit_status davit_queue_dgemm(davit_queue *queue, char transa, char transb, int64_t m, int64_t n,
                                         int64_t k, double alpha, const double *a, int64_t lda,
                                         const double *b, int64_t ldb, double beta, double *c, int64_t ldc,
                                         const davit_level3_options *options);
DAVIT_API davit_status davit_queue_sgemm(davit_queue *queue, char transa, char transb, int64_t m, int64_t n,
                                         int64_t k, float alpha, const float *a, int64_t lda, const float *b,
                                         int64_t ldb, float beta, float *c, int64_t ldc,
                                         const davit_level3_options *options);
DAVIT_API davit_status davit_queue_zgemm(davit_queue *queue, char transa, char transb, int64_t m, int64_t n,
                                         int64_t k, davit_complex_double alpha, const davit_complex_double *a,
                                         int64_t lda, const davit_complex_double *b, int64_t ldb,
                                         davit_complex_double beta, davit_complex_double *c, int64_t ldc,
                                         const davit_level3_options *options);
DAVIT_API davit_status davit_queue_cgemm(davit_queue *queue, char transa, char transb, int64_t m, int64_t n,
                                         int64_t k, davit_complex_float alpha, const davit_complex_float *a,
                                         int64_t lda, const davit_complex_float *b, int64_t ldb,
                                         davit_complex_float beta, davit_complex_float *c, int64_t ldc,
                                         const davit_level3_options *options);

/* C = alpha A B + beta C (side 'L') or alpha B A + beta C ('R'). B and C are m × n; A is symmetric, m × m for
 * 'L' and n × n for 'R', and only its triangle `uplo` ('U' or 'L') is read. Row-major: exchange m and n, 'L'
 * and 'R' of side, and 'U' and 'L' of uplo. */
DAVIT_API davit_status davit_dsymm(char side, char uplo, int64_t m, int64_t n, double alpha, const double *a,
                                   int64_t lda, const double *b, int64_t ldb, double beta, double *c,
                                   int64_t ldc, const davit_level3_options *options);
DAVIT_API davit_status davit_ssymm(char side, char uplo, int64_t m, int64_t n, float alpha, const float *a,
                                   int64_t lda, const float *b, int64_t ldb, float beta, float *c,
                                   int64_t ldc, const davit_level3_options *options);
DAVIT_API davit_status davit_zsymm(char side, char uplo, int64_t m, int64_t n, davit_complex_double alpha,
                                   const davit_complex_double *a, int64_t lda, const davit_complex_double *b,
                                   int64_t ldb, davit_complex_double beta, davit_complex_double *c,
                                   int64_t ldc, const davit_level3_options *options);
DAVIT_API davit_status davit_csymm(char side, char uplo, int64_t m, int64_t n, davit_complex_float alpha,
                                   const davit_complex_float *a, int64_t lda, const davit_complex_float *b,
                                   int64_t ldb, davit_complex_float beta, davit_complex_float *c, int64_t ldc,
                                   const davit_level3_options *options);
DAVIT_API davit_status davit_queue_dsymm(davit_queue *queue, char side, char uplo, int64_t m, int64_t n,
                                         double alpha, const double *a, int64_t lda, const double *b,
                                         int64_t ldb, double beta, double *c, int64_t ldc,
                                         const davit_level3_options *options);
DAVIT_API davit_status davit_queue_ssymm(davit_queue *queue, char side, char uplo, int64_t m, int64_t n,
                                         float alpha, const float *a, int64_t lda, const float *b,
                                         int64_t ldb, float beta, float *c, int64_t ldc,
                                         const davit_level3_options *options);
DAVIT_API davit_status davit_queue_zsymm(davit_queue *queue, char side, char uplo, int64_t m, int64_t n,
                                         davit_complex_double alpha, const davit_complex_double *a,
                                         int64_t lda, const davit_complex_double *b, int64_t ldb,
                                         davit_complex_double beta, davit_complex_double *c, int64_t ldc,
                                         const davit_level3_options *options);
DAVIT_API davit_status davit_queue_csymm(davit_queue *queue, char side, char uplo, int64_t m, int64_t n,
                                         davit_complex_float alpha, const davit_complex_float *a, int64_t lda,
                                         const davit_complex_float *b, int64_t ldb, davit_complex_float beta,
                                         davit_complex_float *c, int64_t ldc,
                                         const davit_level3_options *options);

/* The same for a hermitian A; the imaginary parts of its diagonal count as 0. Row-major: as symm. */
DAVIT_API davit_status davit_zhemm(char side, char uplo, int64_t m, int64_t n, davit_complex_double alpha,
                                   const davit_complex_double *a, int64_t lda, const davit_complex_double *b,
                                   int64_t ldb, davit_complex_double beta, davit_complex_double *c,
                                   int64_t ldc, const davit_level3_options *options);
DAVIT_API davit_status davit_chemm(char side, char uplo, int64_t m, int64_t n, davit_complex_float alpha,
                                   const davit_complex_float *a, int64_t lda, const davit_complex_float *b,
                                   int64_t ldb, davit_complex_float beta, davit_complex_float *c, int64_t ldc,
                                   const davit_level3_options *options);
DAVIT_API davit_status davit_queue_zhemm(davit_queue *queue, char side, char uplo, int64_t m, int64_t n,
                                         davit_complex_double alpha, const davit_complex_double *a,
                                         int64_t lda, const davit_complex_double *b, int64_t ldb,
                                         davit_complex_double beta, davit_complex_double *c, int64_t ldc,
                                         const davit_level3_options *options);
DAVIT_API davit_status davit_queue_chemm(davit_queue *queue, char side, char uplo, int64_t m, int64_t n,
                                         davit_complex_float alpha, const davit_complex_float *a, int64_t lda,
                                         const davit_complex_float *b, int64_t ldb, davit_complex_float beta,
                                         davit_complex_float *c, int64_t ldc,
                                         const davit_level3_options *options);

/* C = alpha A Aᵀ + beta C (trans 'N', A is n × k) or alpha Aᵀ A + beta C ('T', A is k × n; 'C' is the same
 * for real types and refused for complex ones). C is symmetric, n × n; only its triangle `uplo` is read and
 * written. Row-major: exchange 'N' and 'T', 'U' and 'L'. */
DAVIT_API davit_status davit_dsyrk(char uplo, char trans, int64_t n, int64_t k, double alpha, const double *a,
                                   int64_t lda, double beta, double *c, int64_t ldc,
                                   const davit_level3_options *options);
DAVIT_API davit_status davit_ssyrk(char uplo, char trans, int64_t n, int64_t k, float alpha, const float *a,
                                   int64_t lda, float beta, float *c, int64_t ldc,
                                   const davit_level3_options *options);
DAVIT_API davit_status davit_zsyrk(char uplo, char trans, int64_t n, int64_t k, davit_complex_double alpha,
                                   const davit_complex_double *a, int64_t lda, davit_complex_double beta,
                                   davit_complex_double *c, int64_t ldc, const davit_level3_options *options);
DAVIT_API davit_status davit_csyrk(char uplo, char trans, int64_t n, int64_t k, davit_complex_float alpha,
                                   const davit_complex_float *a, int64_t lda, davit_complex_float beta,
                                   davit_complex_float *c, int64_t ldc, const davit_level3_options *options);
DAVIT_API davit_status davit_queue_dsyrk(davit_queue *queue, char uplo, char trans, int64_t n, int64_t k,
                                         double alpha, const double *a, int64_t lda, double beta, double *c,
                                         int64_t ldc, const davit_level3_options *options);
DAVIT_API davit_status davit_queue_ssyrk(davit_queue *queue, char uplo, char trans, int64_t n, int64_t k,
                                         float alpha, const float *a, int64_t lda, float beta, float *c,
                                         int64_t ldc, const davit_level3_options *options);
DAVIT_API davit_status davit_queue_zsyrk(davit_queue *queue, char uplo, char trans, int64_t n, int64_t k,
                                         davit_complex_double alpha, const davit_complex_double *a,
                                         int64_t lda, davit_complex_double beta, davit_complex_double *c,
                                         int64_t ldc, const davit_level3_options *options);
DAVIT_API davit_status davit_queue_csyrk(davit_queue *queue, char uplo, char trans, int64_t n, int64_t k,
                                         davit_complex_float alpha, const davit_complex_float *a, int64_t lda,
                                         davit_complex_float beta, davit_complex_float *c, int64_t ldc,
                                         const davit_level3_options *options);

/* C = alpha A Aᴴ + beta C (trans 'N') or alpha Aᴴ A + beta C ('C'), with real factors. C is hermitian; the
 * imaginary parts of its diagonal count as 0 and become 0, whatever k and the factors are. Row-major: exchange
 * 'N' and 'C', 'U' and 'L': Cᵀ is the conjugate of C. */
DAVIT_API davit_status davit_zherk(char uplo, char trans, int64_t n, int64_t k, double alpha,
                                   const davit_complex_double *a, int64_t lda, double beta,
                                   davit_complex_double *c, int64_t ldc, const davit_level3_options *options);
DAVIT_API davit_status davit_cherk(char uplo, char trans, int64_t n, int64_t k, float alpha,
                                   const davit_complex_float *a, int64_t lda, float beta,
                                   davit_complex_float *c, int64_t ldc, const davit_level3_options *options);
DAVIT_API davit_status davit_queue_zherk(davit_queue *queue, char uplo, char trans, int64_t n, int64_t k,
                                         double alpha, const davit_complex_double *a, int64_t lda,
                                         double beta, davit_complex_double *c, int64_t ldc,
                                         const davit_level3_options *options);
DAVIT_API davit_status davit_queue_cherk(davit_queue *queue, char uplo, char trans, int64_t n, int64_t k,
                                         float alpha, const davit_complex_float *a, int64_t lda, float beta,
                                         davit_complex_float *c, int64_t ldc,
                                         const davit_level3_options *options);

/* C = alpha A Bᵀ + alpha B Aᵀ + beta C (trans 'N', A and B are n × k) or alpha Aᵀ B + alpha Bᵀ A + beta C
 * ('T', k × n); otherwise as syrk. A and B may be the same matrix. */
DAVIT_API davit_status davit_dsyr2k(char uplo, char trans, int64_t n, int64_t k, double alpha,
                                    const double *a, int64_t lda, const double *b, int64_t ldb, double beta,
                                    double *c, int64_t ldc, const davit_level3_options *options);
DAVIT_API davit_status davit_ssyr2k(char uplo, char trans, int64_t n, int64_t k, float alpha, const float *a,
                                    int64_t lda, const float *b, int64_t ldb, float beta, float *c,
                                    int64_t ldc, const davit_level3_options *options);
DAVIT_API davit_status davit_zsyr2k(char uplo, char trans, int64_t n, int64_t k, davit_complex_double alpha,
                                    const davit_complex_double *a, int64_t lda, const davit_complex_double *b,
                                    int64_t ldb, davit_complex_double beta, davit_complex_double *c,
                                    int64_t ldc, const davit_level3_options *options);
DAVIT_API davit_status davit_csyr2k(char uplo, char trans, int64_t n, int64_t k, davit_complex_float alpha,
                                    const davit_complex_float *a, int64_t lda, const davit_complex_float *b,
                                    int64_t ldb, davit_complex_float beta, davit_complex_float *c,
                                    int64_t ldc, const davit_level3_options *options);
DAVIT_API davit_status davit_queue_dsyr2k(davit_queue *queue, char uplo, char trans, int64_t n, int64_t k,
                                          double alpha, const double *a, int64_t lda, const double *b,
                                          int64_t ldb, double beta, double *c, int64_t ldc,
                                          const davit_level3_options *options);
DAVIT_API davit_status davit_queue_ssyr2k(davit_queue *queue, char uplo, char trans, int64_t n, int64_t k,
                                          float alpha, const float *a, int64_t lda, const float *b,
                                          int64_t ldb, float beta, float *c, int64_t ldc,
                                          const davit_level3_options *options);
DAVIT_API davit_status davit_queue_zsyr2k(davit_queue *queue, char uplo, char trans, int64_t n, int64_t k,
                                          davit_complex_double alpha, const davit_complex_double *a,
                                          int64_t lda, const davit_complex_double *b, int64_t ldb,
                                          davit_complex_double beta, davit_complex_double *c, int64_t ldc,
                                          const davit_level3_options *options);
DAVIT_API davit_status davit_queue_csyr2k(davit_queue *queue, char uplo, char trans, int64_t n, int64_t k,
                                          davit_complex_float alpha, const davit_complex_float *a,
                                          int64_t lda, const davit_complex_float *b, int64_t ldb,
                                          davit_complex_float beta, davit_complex_float *c, int64_t ldc,
                                          const davit_level3_options *options);

/* C = alpha A Bᴴ + conj(alpha) B Aᴴ + beta C (trans 'N') or alpha Aᴴ B + conj(alpha) Bᴴ A + beta C ('C'),
 * with a real beta; otherwise as herk. Row-major: as herk, with conj(alpha). */
DAVIT_API davit_status davit_zher2k(char uplo, char trans, int64_t n, int64_t k, davit_complex_double alpha,
                                    const davit_complex_double *a, int64_t lda, const davit_complex_double *b,
                                    int64_t ldb, double beta, davit_complex_double *c, int64_t ldc,
                                    const davit_level3_options *options);
DAVIT_API davit_status davit_cher2k(char uplo, char trans, int64_t n, int64_t k, davit_complex_float alpha,
                                    const davit_complex_float *a, int64_t lda, const davit_complex_float *b,
                                    int64_t ldb, float beta, davit_complex_float *c, int64_t ldc,
                                    const davit_level3_options *options);
DAVIT_API davit_status davit_queue_zher2k(davit_queue *queue, char uplo, char trans, int64_t n, int64_t k,
                                          davit_complex_double alpha, const davit_complex_double *a,
                                          int64_t lda, const davit_complex_double *b, int64_t ldb,
                                          double beta, davit_complex_double *c, int64_t ldc,
                                          const davit_level3_options *options);
DAVIT_API davit_status davit_queue_cher2k(davit_queue *queue, char uplo, char trans, int64_t n, int64_t k,
                                          davit_complex_float alpha, const davit_complex_float *a,
                                          int64_t lda, const davit_complex_float *b, int64_t ldb, float beta,
                                          davit_complex_float *c, int64_t ldc,
                                          const davit_level3_options *options);

/* B = alpha op(A) B (side 'L') or alpha B op(A) ('R'). B is m × n; A is triangular, m × m or n × n: only its triangle
 * `uplo` is read. With diag = 'U' its diagonal is not read either, and counts as ones; 'N' reads it. alpha = 0 makes B
 * 0 without reading A or B. Row-major: exchange m and n, 'L' and 'R' of side, and 'U' and 'L' of uplo. */
DAVIT_API davit_status davit_dtrmm(char side, char uplo, char transa, char diag, int64_t m, int64_t n,
                                   double alpha, const double *a, int64_t lda, double *b, int64_t ldb,
                                   const davit_level3_options *options);
DAVIT_API davit_status davit_strmm(char side, char uplo, char transa, char diag, int64_t m, int64_t n,
                                   float alpha, const float *a, int64_t lda, float *b, int64_t ldb,
                                   const davit_level3_options *options);
DAVIT_API davit_status davit_ztrmm(char side, char uplo, char transa, char diag, int64_t m, int64_t n,
                                   davit_complex_double alpha, const davit_complex_double *a, int64_t lda,
                                   davit_complex_double *b, int64_t ldb, const davit_level3_options *options);
DAVIT_API davit_status davit_ctrmm(char side, char uplo, char transa, char diag, int64_t m, int64_t n,
                                   davit_complex_float alpha, const davit_complex_float *a, int64_t lda,
                                   davit_complex_float *b, int64_t ldb, const davit_level3_options *options);
DAVIT_API davit_status davit_queue_dtrmm(davit_queue *queue, char side, char uplo, char transa, char diag,
                                         int64_t m, int64_t n, double alpha, const double *a, int64_t lda,
                                         double *b, int64_t ldb, const davit_level3_options *options);
DAVIT_API davit_status davit_queue_strmm(davit_queue *queue, char side, char uplo, char transa, char diag,
                                         int64_t m, int64_t n, float alpha, const float *a, int64_t lda,
                                         float *b, int64_t ldb, const davit_level3_options *options);
DAVIT_API davit_status davit_queue_ztrmm(davit_queue *queue, char side, char uplo, char transa, char diag,
                                         int64_t m, int64_t n, davit_complex_double alpha,
                                         const davit_complex_double *a, int64_t lda, davit_complex_double *b,
                                         int64_t ldb, const davit_level3_options *options);
DAVIT_API davit_status davit_queue_ctrmm(davit_queue *queue, char side, char uplo, char transa, char diag,
                                         int64_t m, int64_t n, davit_complex_float alpha,
                                         const davit_complex_float *a, int64_t lda, davit_complex_float *b,
                                         int64_t ldb, const davit_level3_options *options);

/* Solves op(A) X = alpha B (side 'L') or X op(A) = alpha B ('R') for X, which replaces B; otherwise as trmm. A is not
 * tested for singularity: division by a zero on the diagonal gives infinities and NaN. NVIDIA devices may multiply by
 * the reciprocals of the diagonal, which are infinite for subnormal numbers. */
DAVIT_API davit_status davit_dtrsm(char side, char uplo, char transa, char diag, int64_t m, int64_t n,
                                   double alpha, const double *a, int64_t lda, double *b, int64_t ldb,
                                   const davit_level3_options *options);
DAVIT_API davit_status davit_strsm(char side, char uplo, char transa, char diag, int64_t m, int64_t n,
                                   float alpha, const float *a, int64_t lda, float *b, int64_t ldb,
                                   const davit_level3_options *options);
DAVIT_API davit_status davit_ztrsm(char side, char uplo, char transa, char diag, int64_t m, int64_t n,
                                   davit_complex_double alpha, const davit_complex_double *a, int64_t lda,
                                   davit_complex_double *b, int64_t ldb, const davit_level3_options *options);
DAVIT_API davit_status davit_ctrsm(char side, char uplo, char transa, char diag, int64_t m, int64_t n,
                                   davit_complex_float alpha, const davit_complex_float *a, int64_t lda,
                                   davit_complex_float *b, int64_t ldb, const davit_level3_options *options);
DAVIT_API davit_status davit_queue_dtrsm(davit_queue *queue, char side, char uplo, char transa, char diag,
                                         int64_t m, int64_t n, double alpha, const double *a, int64_t lda,
                                         double *b, int64_t ldb, const davit_level3_options *options);
DAVIT_API davit_status davit_queue_strsm(davit_queue *queue, char side, char uplo, char transa, char diag,
                                         int64_t m, int64_t n, float alpha, const float *a, int64_t lda,
                                         float *b, int64_t ldb, const davit_level3_options *options);
DAVIT_API davit_status davit_queue_ztrsm(davit_queue *queue, char side, char uplo, char transa, char diag,
                                         int64_t m, int64_t n, davit_complex_double alpha,
                                         const davit_complex_double *a, int64_t lda, davit_complex_double *b,
                                         int64_t ldb, const davit_level3_options *options);
DAVIT_API davit_status davit_queue_ctrsm(davit_queue *queue, char side, char uplo, char transa, char diag,
                                         int64_t m, int64_t n, davit_complex_float alpha,
                                         const davit_complex_float *a, int64_t lda, davit_complex_float *b,
                                         int64_t ldb, const davit_level3_options *options);

#ifdef __cplusplus
}
#endif
#endif
