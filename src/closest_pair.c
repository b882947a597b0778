/* SPDX-License-Identifier: Apache-2.0 */
/* The closest pair: checks, the choice of the algorithm, and the order of the stages of the search by cells.
 *
 *   dense grid   over the box of all points, about two a cell. Finished if a pair is found that is closer than a
 *                cell is wide and no cell is crowded, as for all evenly spread points in a box of any shape.
 *   sample       Otherwise the closest pair of about sqrt(n) random points gives a bound.
 *   hashed grid  Cells as wide as the bound hold few points: if many pairs were closer, the sample would have
 *                had one. If the cells are crowded all the same, a larger sample is taken.
 *   equal        A bound of 0 means that there are equal points: these are found by hashing the coordinates.
 *   divide       If cells are still crowded, divide and conquer on the host. */
#include <davit/closest_pair.h>
#include <math.h>
#include <stdlib.h>

#include "ref/closest_pair.h"
#include "ref/ref.h"
#include "src/base/allocate.h"
#include "src/base/team.h"
#include "src/closest_search.h"

/* ---- by cells ---- */

static davit_status by_dense_grid(dvt_closest_search *s, bool *found) {
  DVT_TRY(dvt_closest_stage_run(s, DVT_CLOSEST_DENSE));
  if (dvt_closest_is_crowded(&s->state))
    return DAVIT_SUCCESS;
  /* The margin is for the rounding of (x - origin) scale, below 2^32. */
  *found = s->state.pair.distance * (1 + 0x1p-16) <= s->state.grid.width;
  s->state.known = s->state.pair.distance;
  return DAVIT_SUCCESS;
}

static davit_status by_hashed_grid(dvt_closest_search *s, int round, bool *found) {
  const bool sampled = round > 0 || isinf(s->state.known);
  s->state.sample = sampled ? dvt_closest_sample(s->p->n, round) : 0;
  s->state.seed = round;
  if (s->state.known > 0)
    DVT_TRY(dvt_closest_stage_run(s, DVT_CLOSEST_HASHED));
  s->state.sample = 0;
  if (s->state.known == 0) {
    *found = true;
    return dvt_closest_stage_run(s, DVT_CLOSEST_EQUAL);
  }
  *found = !dvt_closest_is_crowded(&s->state);
  return DAVIT_SUCCESS;
}

static bool is_one_place(const dvt_closest_search *s) {
  bool one = true;
  for (int k = 0; k < s->p->dim; k++)
    one = one && s->state.low[k] == s->state.high[k];
  return one;
}

/* Leaves the pair in the state; not *found: the grids are of no use. */
static davit_status by_grids(dvt_closest_search *s, bool *found) {
  DVT_TRY(by_dense_grid(s, found));
  if (is_one_place(s)) {
    *found = true;
    s->state.pair = (davit_closest_pair_result){0, 1, 0};
  }
  for (int round = 0; round < DVT_CLOSEST_ROUNDS && !*found; round++)
    DVT_TRY(by_hashed_grid(s, round, found));
  return DAVIT_SUCCESS;
}

/* ---- by an algorithm ---- */

static davit_status divide(const dvt_closest_problem *p, const void *points, int threads, void *unused) {
  (void)unused;
  void *scratch = dvt_allocate(1, dvt_ref_closest_scratch(p->n));
  if (!scratch)
    return DAVIT_OUT_OF_HOST_MEMORY;
  const dvt_team team = dvt_team_begin(threads);
  *p->pairs = dvt_ref_closest_divide(p->type, p->dim, p->n, points, team.threads, scratch);
  dvt_team_end(&team);
  free(scratch);
  return DAVIT_SUCCESS;
}

static davit_status find(dvt_closest_search *s, davit_closest_pair_algorithm algorithm) {
  bool found = algorithm == DAVIT_CLOSEST_PAIR_BRUTE;
  s->state = (dvt_closest_state){.known = INFINITY};
  if (algorithm == DAVIT_CLOSEST_PAIR_GRID)
    DVT_TRY(by_grids(s, &found));
  else /* the box, to see that points are finite */
    DVT_TRY(dvt_closest_stage_run(s, found ? DVT_CLOSEST_BRUTE : DVT_CLOSEST_BOX));
  if (!found)
    return dvt_closest_on_host(s->p, divide, NULL);
  *s->p->pairs = s->state.pair;
  return DAVIT_SUCCESS;
}

/* ---- calls ---- */

/* options NULL: the defaults. */
static dvt_closest_problem problem_of(davit_type type, int dim, int64_t n, const void *points,
                                      const davit_closest_pair_options *options,
                                      davit_closest_pair_result *result) {
  return (dvt_closest_problem){.type = type,
                               .dim = dim,
                               .n = n,
                               .points = points,
                               .algorithm = options ? options->algorithm : DAVIT_CLOSEST_PAIR_AUTO,
                               .find = find,
                               .single = true,
                               .pairs = result};
}

davit_status davit_closest_pair(davit_type type, int dim, int64_t n, const void *points,
                                davit_closest_pair_result *result,
                                const davit_closest_pair_options *options) {
  dvt_closest_problem p = problem_of(type, dim, n, points, options, result);
  DVT_TRY(dvt_closest_check(&p));
  DVT_TRY(dvt_check_pointer("result", result));
  return dvt_closest_run(&p, options);
}

davit_status davit_queue_closest_pair(davit_queue *queue, davit_type type, int dim, int64_t n,
                                      const void *points, davit_closest_pair_result *result,
                                      const davit_closest_pair_options *options) {
  const dvt_closest_problem p = problem_of(type, dim, n, points, options, result);
  if (!dvt_queue_lane(queue))
    return DAVIT_INVALID_ARGUMENT;
  DVT_TRY(dvt_closest_check(&p));
  DVT_TRY(dvt_check_pointer("result", result));
  return dvt_closest_submit(queue, &p, options);
}

davit_status davit_closest_pair_plan(davit_type type, int dim, int64_t n, const void *points,
                                     davit_closest_pair_algorithm *algorithm,
                                     const davit_closest_pair_options *options) {
  dvt_closest_problem p = problem_of(type, dim, n, points, options, NULL);
  DVT_TRY(dvt_closest_check(&p));
  DVT_TRY(dvt_check_pointer("algorithm", algorithm));
  return dvt_closest_plan(&p, options, algorithm);
}
