/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix product.
 *
 * Reference BLAS semantics, column-major. The plain form takes operands in any memory (pageable, pinned,
 * any device, mixed), spreads the work over several devices and returns when the result is there. The
 * queue form enqueues on the queue's device and returns; its operands must be memory that the device
 * reaches, and stay valid until the command has run. NVIDIA devices run cuBLAS, the CPU and host-offload
 * devices BLIS, other devices target regions of davit.
 * Thread safety: any thread, any number of calls at the same time on distinct outputs.
 *
 * Row-major: for C = A B with C arrays a[m][k], b[k][n], c[m][n] exchange the operands: davit_dgemm('N',
 * 'N', n, m, k, alpha, b, n, a, k, beta, c, n, options), because the transpose of a product is the product
 * of the transposes in reverse order. */
#ifndef DAVIT_GEMM_H
#define DAVIT_GEMM_H

#include <davit/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct davit_gemm_report davit_gemm_report;

typedef struct davit_gemm_options {
  const int *devices; /* device numbers, DAVIT_HOST allowed; NULL: davit_device_defaults() */
  int device_count;   /* 0 with devices = NULL */
  /* The queue form reads none of the members below; they must be 0 there. */
  int64_t tile;              /* rows and columns of a tile; 0: chosen from the shape and the devices */
  size_t cache_bytes;        /* maximum memory to use on each device; 0: 80 % of what is free */
  bool separate_memory;      /* treat host-offload devices as if they had memory of their own, as GPUs have */
  davit_gemm_report *report; /* filled on success; NULL: not wanted */
  uint64_t reserved[4];      /* 0 */
} davit_gemm_options;

/* What a call did. Bytes are sums over all devices. */
struct davit_gemm_report {
  double seconds;
  int64_t tile;
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
  } devices[16];        /* the first device_count are filled */
  uint64_t reserved[4]; /* 0 */
};

/* C = alpha op(A) op(B) + beta C. op(A) is m × k, op(B) k × n, C m × n; op is the matrix ('N') or its
 * transpose ('T', 'C'). lda >= the rows of A as stored (m for 'N', else k), likewise ldb; ldc >= m. k = 0
 * or alpha = 0 does not read A and B; beta = 0 does not read C. Otherwise NaN and infinities propagate as
 * in IEEE 754, on every device: 0 times one is NaN. C must not overlap A or B. The bytes of C beyond its
 * rows stay untouched. Operands may be larger than device memory. The same call on the same devices gives
 * the same bits. Accuracy: the bound of a conventional product; a tile's products are summed in ascending
 * k. Algorithm: each device gets blocks of tiles of C; a tile of A or B is fetched once from the host and
 * copied on between devices (docs/gemm.md). */
DAVIT_API davit_status davit_dgemm(char transa, char transb, int64_t m, int64_t n, int64_t k, double alpha,
                                   const double *a, int64_t lda, const double *b, int64_t ldb, double beta,
                                   double *c, int64_t ldc, const davit_gemm_options *options);
DAVIT_API davit_status davit_sgemm(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha,
                                   const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                                   float *c, int64_t ldc, const davit_gemm_options *options);
DAVIT_API davit_status davit_queue_dgemm(davit_queue *queue, char transa, char transb, int64_t m, int64_t n,
                                         int64_t k, double alpha, const double *a, int64_t lda,
                                         const double *b, int64_t ldb, double beta, double *c, int64_t ldc,
                                         const davit_gemm_options *options);
DAVIT_API davit_status davit_queue_sgemm(davit_queue *queue, char transa, char transb, int64_t m, int64_t n,
                                         int64_t k, float alpha, const float *a, int64_t lda, const float *b,
                                         int64_t ldb, float beta, float *c, int64_t ldc,
                                         const davit_gemm_options *options);

#ifdef __cplusplus
}
#endif
#endif
