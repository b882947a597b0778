/* SPDX-License-Identifier: Apache-2.0 */
/* Extensions of pairs with an X-drop: one pass over the cells that count, which notes the steps if columns are wanted.
 * Side by side where 16 bits hold what counts (offload/align_pairs_extend.h), else alone (align_pairs_single.h
 * there). */
#include "src/align_pairs.h"
#include "src/base/arithmetic.h"

enum { MOST_CELLS = 1 << 22 /* of a pair side by side with others, whose steps are kept */ };

/* By the lengths, the band and the cost of a gap from one row to the other. Cells far from each other may count for long
 * where sequences resemble themselves, or X is large beside the scores: then more do. */
int64_t dvt_pairs_drop_rows(const dvt_pairs *p, const dvt_pair_part *a) {
  return dvt_at_most(dvt_at_most(dvt_at_most(a->m, a->n) + 1, (a->high - a->low) / 2 + 1),
                     p->x_drop / p->scoring.gap_extend + 8);
}

int64_t dvt_pairs_drop_cells(const dvt_pairs *p, const dvt_pair_part *a) {
  return dvt_at_most(a->m * a->n, (a->m + a->n) * dvt_pairs_drop_rows(p, a));
}

bool dvt_pairs_extends_in_lanes(const dvt_pairs *p, const dvt_pair_part *a) {
  return a->m > 0 && a->n > 0 && dvt_at_least(a->m, a->n) <= DVT_PAIR_LONGEST &&
         dvt_at_most(a->m, a->n) * p->largest <= DVT_PAIR_RANGE && p->x_drop <= DVT_PAIR_RANGE &&
         (!p->strings || dvt_pairs_drop_cells(p, a) <= MOST_CELLS);
}

/* Steps of a lane, or of a pair that is alone. */
typedef struct extended {
  const dvt_pair_trail *trail;
  int lane;
} extended;

static int step_of(const void *steps, int64_t i, int64_t j) {
  const extended *e = steps;
  return dvt_pair_trail_step(e->trail, e->lane, i, j);
}

static davit_status keep(dvt_pairs_worker *w, dvt_pairs_place *at, const dvt_pair_extension *found,
                         int lane) {
  const dvt_pairs *p = w->pairs;
  const dvt_pair_part *a = &at->part,
                      extension = dvt_pair_between(a, 0, found->end.row, 0, found->end.column);
  p->results[at->which] = (davit_align_result){.score = (int32_t)found->end.score,
                                               .banded = dvt_pairs_is_cut(a),
                                               .query_end = found->end.row,
                                               .target_end = found->end.column,
                                               .dropped = found->dropped};
  return p->strings ? dvt_pairs_walk(w, at, &extension, step_of, &(extended){&w->trail, lane})
                    : DAVIT_SUCCESS;
}

davit_status dvt_pairs_extend(dvt_pairs_worker *w, int count, dvt_pairs_place *at) {
  const dvt_pairs *p = w->pairs;
  const dvt_pair_extend extend = {&p->scoring, count, p->x_drop, p->full};
  dvt_pair_part parts[DVT_PAIR_LANES];
  dvt_pair_extension found[DVT_PAIR_LANES];
  for (int l = 0; l < count; l++)
    parts[l] = at[l].part;
  if (!dvt_pair_extend_lanes(&extend, parts, &w->memory, p->strings ? &w->trail : NULL, found))
    return DAVIT_OUT_OF_HOST_MEMORY;
  for (int l = 0; l < count; l++)
    DVT_TRY(keep(w, &at[l], &found[l], l));
  return DAVIT_SUCCESS;
}

davit_status dvt_pairs_extend_alone(dvt_pairs_worker *w, dvt_pairs_place *at) {
  const dvt_pairs *p = w->pairs;
  const dvt_pair_part *a = &at->part;
  const dvt_pair_single single = {&p->scoring, DVT_PAIR_BEGIN, p->x_drop, dvt_pairs_is_wide(p, a)};
  dvt_pair_extension found;
  return dvt_pair_single_pass(&single, a, &w->memory, p->strings ? &w->trail : NULL, &found)
             ? keep(w, at, &found, -1)
             : DAVIT_OUT_OF_HOST_MEMORY;
}
