/* SPDX-License-Identifier: Apache-2.0 */
/* A trace, which src/align_trace.c begins, and its later steps: the cells that the alignment passes through, and
 * its columns. */
#ifndef DAVIT_SRC_ALIGN_COLUMNS_H
#define DAVIT_SRC_ALIGN_COLUMNS_H

#include "offload/align_sweep.h"
#include "offload/align_wavefront.h"
#include "src/align.h"
#include "src/base/arithmetic.h"

enum { DVT_TRACE_CROSSINGS = 32 };

typedef struct dvt_trace {
  dvt_align_costs costs;
  dvt_align_stretch all;
  davit_align_mode mode;
  int threads;
  int64_t cells; /* of a rectangle that is traced through a matrix */
  int64_t every; /* column of the forward sweep is kept; 0: none is */
  dvt_align_team team;
  const dvt_align_wavefront *wavefront;            /* NULL: the host alone */
  int64_t *vectors;                                /* 4 of m + 1: */
  int64_t *h, *d;                                  /* of a sweep, */
  int64_t *kh, *kd;                                /* and of a kept column */
  int32_t *kept;                                   /* the host's columns; NULL: the device has them */
  dvt_align_cell crosspoints[DVT_TRACE_CROSSINGS]; /* from the end on */
  int crossed;
} dvt_trace;

/* Whether no forward sweep is needed if the columns are wanted, as these have the score. */
static inline bool dvt_trace_is_scored_by_columns(const dvt_trace *t) {
  return t->mode == DAVIT_ALIGN_GLOBAL && t->every == 0;
}

/* Seconds of a sweep on the host: bands of the threads, each a block of columns behind the one above. */
static inline double dvt_trace_host_seconds(int64_t m, int64_t n, int threads) {
  enum { STRIP = 512 };
  const int64_t most = n < 2 * DVT_ALIGN_BLOCK ? 1 : dvt_at_most(m / STRIP, threads),
                bands = most > 1 ? most : 1;
  const double steps = (double)n + (double)((bands - 1) * DVT_ALIGN_BLOCK);
  return steps * (double)m / (6e9 * (double)bands);
}

/* Whether the device does a sweep sooner than the host. */
static inline bool dvt_trace_is_for_device(const dvt_trace *t, const dvt_align_stretch *s) {
  return t->wavefront &&
         dvt_align_wavefront_seconds(s->m, s->n) < dvt_trace_host_seconds(s->m, s->n, t->team.threads);
}

/* From cell *x, where the best alignment ends and which has its score, back through kept columns. *x becomes the last
 * cell of those that it passes through, with the score of what lies before; 0 where a local one begins. */
davit_status dvt_trace_cross(dvt_trace *t, dvt_align_cell *x);

/* The columns of the alignment as a string for the user. */
davit_status dvt_trace_columns(dvt_trace *t, davit_align_result *a, char **cigar);

/* The columns of a global alignment, in order, from the steps of its cells, which `step_at` reads; their number.
 * `state` is where the last cell is left: DVT_ALIGN_BOTH, or DVT_ALIGN_D within a gap of target symbols. columns: m +
 * n. */
typedef int dvt_step_at(const void *steps, int64_t i, int64_t j);
int64_t dvt_walk_back(const dvt_align_stretch *s, int state, dvt_step_at *step_at, const void *steps,
                      char *columns);

/* Columns as a string with a final 0, whose place is returned: 2 count + 1 characters at most. */
char *dvt_put_columns(const char *columns, int64_t count, char *at);

#endif
