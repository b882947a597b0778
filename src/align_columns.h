/* SPDX-License-Identifier: Apache-2.0 */
/* A trace, which src/align_trace.c begins, and its last step: the columns of the alignment. */
#ifndef DAVIT_SRC_ALIGN_COLUMNS_H
#define DAVIT_SRC_ALIGN_COLUMNS_H

#include "offload/align_pass.h"
#include "offload/align_wave.h"
#include "src/align.h"

typedef struct dvt_trace {
  dvt_align_costs costs;
  dvt_align_stretch all;
  davit_align_mode mode;
  int threads;
  int64_t cells; /* of a rectangle that is traced through a matrix */
  dvt_align_team team;
  const dvt_align_wave *wave; /* NULL: the host alone */
  int64_t *vectors, *h, *d;   /* 4 vectors of m + 1; the first two */
} dvt_trace;

/* Seconds of a pass on the host, by so many threads. */
static inline double dvt_trace_host_seconds(int64_t m, int64_t n, int threads) {
  return (double)m * (double)n / (6e9 * threads);
}

/* The columns of the global alignment of a part of both sequences, as a string for the user. */
davit_status dvt_trace_columns(dvt_trace *t, const dvt_align_stretch *s, char **cigar);

#endif
