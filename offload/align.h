/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of a query with many targets. Arguments are valid. */
#ifndef DAVIT_OFFLOAD_ALIGN_H
#define DAVIT_OFFLOAD_ALIGN_H

#include <davit/align.h>

#include "offload/align_sweep.h"
#include "offload/runtime/launch.h"
#include "src/base/operation.h"

/* The query, and what columns score. */
typedef struct dvt_align_query {
  const davit_align_scoring *scoring; /* gap_extend is not more than gap_open */
  int64_t m;
  const uint8_t *symbols; /* with a profile only the places count, unless columns are wanted */
  int largest;            /* entry of the matrix or profile, at least 0 */
} dvt_align_query;

/* What place j of the query scores with target symbol t. */
static inline int8_t dvt_align_entry(const dvt_align_query *q, int64_t j, int t) {
  const davit_align_scoring *s = q->scoring;
  return s->profile ? s->profile[j + t * q->m] : s->matrix[q->symbols[j] + t * s->symbols];
}

/* For sweeps over its matrix with one target (align_sweep.h). */
static inline dvt_align_costs dvt_align_costs_of(const dvt_align_query *q) {
  const davit_align_scoring *s = q->scoring;
  return (dvt_align_costs){.matrix = s->matrix,
                           .symbols = s->symbols,
                           .largest = q->largest,
                           .first = s->gap_open - s->gap_extend,
                           .extend = s->gap_extend,
                           .profile = s->profile,
                           .query = q->symbols,
                           .m = q->m};
}

/* A vector of the CPU holds so many targets in its narrowest words. */
enum { DVT_ALIGN_LANES = 64, DVT_ALIGN_PAD = 255 };

/* Targets, the longest first. The first `singles` are so long, or so much longer than those that follow, that they
 * are aligned one by one; the rest goes in batches. For the CPU `lanes` has rows of DVT_ALIGN_LANES symbols:
 * rows[k] … rows[k + 1] - 1 are a target that is folded, one of the first `folds`, whose symbols l height …
 * (l + 1) height - 1 lie in lane l, height being the number of its rows; rows[folds + b] … are batch b, with a
 * target of those from singles + b DVT_ALIGN_LANES on in each lane. DVT_ALIGN_PAD is where a target has ended. */
typedef struct dvt_align_targets {
  int64_t count, singles, folds, batches;
  int64_t *offsets;
  uint8_t *symbols;
  int64_t *rows;
  uint8_t *lanes;
} dvt_align_targets;

static inline int64_t dvt_align_length(const dvt_align_targets *t, int64_t k) {
  return t->offsets[k + 1] - t->offsets[k];
}

/* Targets in a device's memory, as in dvt_align_targets, and room for one score more than they have. Symbols may be
 * read up to the next multiple of 4 bytes. */
typedef struct dvt_align_device {
  int64_t *offsets;
  uint8_t *symbols;
  int32_t *scores;
} dvt_align_device;

/* The operation: one query with the targets of one device. */
typedef struct dvt_align_work {
  const dvt_align_query *query;
  const dvt_align_targets *targets;
  const dvt_align_device *device; /* not read on the CPU */
  int32_t *scores;        /* the host's, best pinned, in the order of the targets; room for one more */
  int64_t threads, teams; /* of a GPU's team; teams at most; 0: davit's own choice */
} dvt_align_work;

/* Its forms. All wait for the scores. The stream form leaves a query that its kernels cannot take to the
 * region form. */
davit_status dvt_align_host(const dvt_site *site, const void *work);
davit_status dvt_align_stream(const dvt_site *site, const void *work);
davit_status dvt_align_region(const dvt_site *site, const void *work);

/* The local score of one pair by one thread; `memory` is aligned, and dvt_align_score_bytes(query) long. false: there
 * is no memory for a team. */
size_t dvt_align_score_bytes(const dvt_align_query *query);
bool dvt_align_score(const dvt_align_query *query, int64_t n, const uint8_t *target, void *memory,
                     int32_t *score);

/* A target in DVT_ALIGN_LANES lanes of dvt_divide_up(n, DVT_ALIGN_LANES) rows. */
void dvt_align_fold(int64_t n, const uint8_t *target, uint8_t *lanes);

/* Whether a target of n symbols is so much longer than the query that dvt_align_best_folded() is the way to take. */
bool dvt_align_is_folded(const dvt_align_query *query, int64_t n);

/* dvt_align_best() from the edge of a local alignment, by folding the target; team, h and d as there. */
davit_status dvt_align_best_folded(const dvt_align_query *query, int64_t n, const uint8_t *target,
                                   int threads, dvt_align_team *team, int64_t *h, int64_t *d,
                                   dvt_align_cell *best);

/* How many of so many threads the host form has work for. */
int dvt_align_host_threads(const dvt_align_targets *targets, const dvt_align_query *query, int threads);

/* What the kernel for so many columns takes of the stream's device, for an alphabet of so many symbols. */
davit_status dvt_align_fit(dvt_stream *stream, int64_t columns, int symbols, int64_t threads,
                           dvt_kernel_fit *fit);

#endif
