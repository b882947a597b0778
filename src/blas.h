/* What the BLAS operations share: argument checks in reference BLAS's order and words, and the choice of who
 * computes on a lane. */
#ifndef DAVIT_SRC_BLAS_H
#define DAVIT_SRC_BLAS_H

#include <davit/operator.h>

#include "src/runtime/lane.h"

typedef enum dvt_blas_path {
  DVT_BLAS_STREAM, /* cuBLAS on the lane's stream */
  DVT_BLAS_REF,    /* BLIS on the host */
  DVT_BLAS_TARGET  /* davit's own target regions */
} dvt_blas_path;

/* The path of a lane. DAVIT_BLAS=target in the environment takes davit's own regions on all devices (not on DAVIT_HOST, whose
 * number OpenMP takes for the default device). */
dvt_blas_path dvt_blas_path_of(const dvt_lane *lane);

/* The same operation for each path, indexed by dvt_blas_path; enqueues the one that fits the lane with a copy of the
 * arguments. */
typedef dvt_work dvt_blas_works[3];
davit_status dvt_blas_submit(dvt_lane *lane, const dvt_blas_works works, const void *arguments, size_t bytes);

/* Host threads that one operation of the device may use: all for the CPU, its share for one of several
 * host-offload devices. */
int dvt_blas_threads(int device);

/* 'n' and 'N' give 'N'; 't', 'T', 'c', 'C' give 'T' (real types); anything else fails naming `argument`. */
davit_status dvt_check_trans(const char *argument, char given, char *trans);

/* DAVIT_DOUBLE or DAVIT_FLOAT. */
davit_status dvt_check_floating(davit_type type);

/* length >= 0 and ld >= max(1, rows), with the argument's name in the sentence. */
davit_status dvt_check_length(const char *argument, int64_t given);
davit_status dvt_check_ld(const char *argument, int64_t given, int64_t rows);
davit_status dvt_check_increment(const char *argument, int64_t given);

/* Whether two column-major blocks of elements share an element. */
bool dvt_blocks_overlap(const void *a, int64_t lda, int64_t rows_a, int64_t cols_a, const void *b,
                        int64_t ldb, int64_t rows_b, int64_t cols_b, size_t element_bytes);

/* Whether two strided vectors may share an element (by their extents). */
bool dvt_vectors_overlap(const void *x, int64_t nx, int64_t incx, const void *y, int64_t ny, int64_t incy,
                         size_t element_bytes);

/* The caller's device list checked, or the default devices where there is none. `capacity` is DVT_MOST_DEVICES. */
enum { DVT_MOST_DEVICES = 16 };
davit_status dvt_choose_devices(const int *devices, int device_count, int *chosen, int *count);

#endif
