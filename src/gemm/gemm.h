/* The product as the parts of src/ hand it around: one struct for both types. */
#ifndef DAVIT_SRC_GEMM_GEMM_H
#define DAVIT_SRC_GEMM_GEMM_H

#include <davit/gemm.h>

#include "src/runtime/lane.h"

typedef struct dvt_gemm {
  char type;           /* 'd' or 's' */
  char transa, transb; /* 'N' or 'T' once checked */
  int64_t m, n, k;
  double alpha, beta; /* a float is exact in a double */
  const void *a, *b;
  void *c;
  int64_t lda, ldb, ldc;
} dvt_gemm;

size_t dvt_element_bytes(char type);

/* Enqueues the product on a lane; operands are memory the lane's device reaches. */
davit_status dvt_gemm_submit(dvt_lane *lane, const dvt_gemm *g);

/* The tiled product over several devices; arguments checked, options complete but for the defaults. */
davit_status dvt_gemm_run(const dvt_gemm *g, const davit_gemm_options *options);

#endif
