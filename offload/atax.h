/* y = opᵀ(A) (op(A) x) on devices, in the ways there are.
 *
 * Pointers are the device's, arguments have been checked; m and n are not 0. Scratch memory is the caller's. */
#ifndef DAVIT_OFFLOAD_ATAX_H
#define DAVIT_OFFLOAD_ATAX_H

#include <davit/atax.h>
#include <stdbool.h>

#include "offload/runtime/stream.h"

typedef struct dvt_atax {
  davit_type type;
  char trans;
  int64_t m, n;
  const void *a;
  int64_t lda;
  const void *x;
  void *tmp, *y; /* tmp may be NULL */
  bool add;      /* to what y holds */
} dvt_atax;

/* How an NVIDIA device goes about it, as it depends on the device. */
typedef struct dvt_atax_plan {
  int shape; /* of the one-pass kernel; -1: two products by cuBLAS */
  int threads, teams;
  size_t shared_bytes;
  size_t scratch_bytes;
} dvt_atax_plan;

davit_status dvt_stream_atax_plan(dvt_stream *stream, const dvt_atax *g, dvt_atax_plan *plan);
davit_status dvt_stream_atax(dvt_stream *stream, const dvt_atax *g, const dvt_atax_plan *plan, void *scratch);

/* On any device, by davit's own products; returns when it is done. Needs scratch for tmp where that is NULL. */
size_t dvt_target_atax_scratch(const dvt_atax *g);
davit_status dvt_target_atax(int device, const dvt_atax *g, void *scratch);

/* On the CPU. The bits depend on `threads`, not on how many of them there are in the end. */
size_t dvt_cpu_atax_scratch(const dvt_atax *g, int threads);
void dvt_cpu_atax(const dvt_atax *g, int threads, void *scratch);

#endif
