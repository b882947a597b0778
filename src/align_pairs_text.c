/* SPDX-License-Identifier: Apache-2.0 */
/* The strings of many pairs: from the steps of an alignment, and those of a block in the order of its pairs. */
#include <stdlib.h>
#include <string.h>

#include "src/align_pairs.h"
#include "src/base/allocate.h"

bool dvt_pairs_reserve_text(dvt_pairs_text *t, int64_t more) {
  return dvt_grow(&t->at, &t->room, t->used + more, 4096, 1);
}

static bool reserve_columns(dvt_pairs_worker *w, int64_t count) {
  if (count <= w->room)
    return true;
  free(w->columns);
  w->room = 0;
  w->columns = dvt_allocate_raw(2 * (size_t)count);
  w->room = w->columns ? 2 * count : 0;
  return w->columns != NULL;
}

/* The string of `count` columns. */
static davit_status keep_columns(dvt_pairs_worker *w, dvt_pairs_place *at, int64_t count) {
  if (!dvt_pairs_reserve_text(&w->strings, 2 * count + 1))
    return DAVIT_OUT_OF_HOST_MEMORY;
  char *begin = w->strings.at + w->strings.used;
  at->string = w->strings.used;
  at->count = dvt_put_columns(w->columns, count, begin) + 1 - begin;
  w->strings.used += at->count;
  return DAVIT_SUCCESS;
}

davit_status dvt_pairs_walk(dvt_pairs_worker *w, dvt_pairs_place *at, const dvt_pair_part *p,
                            dvt_step_at *step_at, const void *steps) {
  const dvt_align_stretch s = {p->query, p->target, p->m, p->n, 1};
  if (!reserve_columns(w, p->m + p->n))
    return DAVIT_OUT_OF_HOST_MEMORY;
  return keep_columns(w, at, dvt_walk_back(&s, DVT_ALIGN_BOTH, step_at, steps, w->columns));
}

davit_status dvt_pairs_order_strings(dvt_pairs_worker *w, int64_t first, int64_t count, dvt_pairs_text *to) {
  if (!dvt_pairs_reserve_text(to, w->strings.used))
    return DAVIT_OUT_OF_HOST_MEMORY;
  for (int64_t k = 0; k < count; k++) /* by their places among the pairs */
    w->pairs->results[w->places[k].which].cigar = k;
  for (int64_t k = first; k < first + count; k++) {
    const dvt_pairs_place *at = &w->places[w->pairs->results[k].cigar];
    memcpy(to->at + to->used, w->strings.at + at->string, (size_t)at->count);
    w->pairs->results[k].cigar = to->used;
    to->used += at->count;
  }
  w->strings.used = 0;
  return DAVIT_SUCCESS;
}
