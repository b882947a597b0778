/* SPDX-License-Identifier: Apache-2.0 */
/* The first k pairs within a radius, in the order of (distance, i, j).
 *
 * Pairs are collected up to a limit, a pair itself, in a hashed grid whose cells are a little wider than its
 * distance (stage _COLLECT). The first limit is a guess from k and the box of the points. Then
 *   too few      it grows by what evenly spread points would need;
 *   too many     for the room that there is: of any that were kept the k-th is the next limit, so the limit
 *                falls fast and k pairs are certain to be within it;
 *   a crowd      a cell has more points than can be counted: the limit's distance falls.
 * With a limit that leaves at least k pairs and at most as many as there is room for, these are sorted.
 * Where limits do not settle, as among many equal points, the host sorts and sweeps.
 *
 * The answer does not depend on the guesses, nor on which pairs were kept. */
#include <davit/closest_pair.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/closest_pair.h"
#include "ref/ref.h"
#include "src/base/allocate.h"
#include "src/base/team.h"
#include "src/closest_search.h"
#include "src/runtime/place.h"

enum {
  ROOM = 1 << 16, /* pairs beyond 2 k that a device keeps */
  ROUNDS = 200    /* limits that are tried */
};

/* ---- on the host ---- */

typedef struct host_work {
  bool brute;
  dvt_pair_list *list;
} host_work;

static davit_status sweep(const dvt_closest_problem *p, const void *points, int threads, void *context) {
  const host_work *h = context;
  if (h->brute) {
    dvt_ref_pairs_brute(p->type, p->dim, p->n, points, h->list);
    return DAVIT_SUCCESS;
  }
  void *scratch = dvt_allocate(1, dvt_ref_closest_scratch(p->n));
  if (!scratch)
    return DAVIT_OUT_OF_HOST_MEMORY;
  dvt_ref_pairs_sweep(p->type, p->dim, p->n, points, threads, scratch, h->list);
  free(scratch);
  return DAVIT_SUCCESS;
}

/* ---- limits ---- */

static davit_closest_pair_result all_within(double distance) {
  return (davit_closest_pair_result){INT64_MAX, INT64_MAX, distance};
}

/* What is known: fewer than k pairs are within `low`; there is a crowd within `high`. */
typedef struct bracket {
  double low, high;
} bracket;

/* A radius within which 2 k pairs of evenly spread points are expected. */
static double guess(const dvt_closest_search *s) {
  static const double ball[] = {1, 2, 3.14, 4.19};
  const double n = (double)s->p->n;
  double sum = 0;
  int sides = 0;
  for (int a = 0; a < s->p->dim; a++) {
    const double half = s->state.high[a] / 2 - s->state.low[a] / 2;
    sum += half > 0 ? log(half) + log(2) : 0;
    sides += half > 0;
  }
  return sides ? exp((log(4 * (double)s->p->k / n / n / ball[sides]) + sum) / sides) : 0;
}

static double above(const dvt_closest_search *s, const bracket *b) {
  const double missing = 1.5 * (double)s->p->k / (double)(s->state.found > 0 ? s->state.found : 1),
               factor = fmin(fmax(pow(missing, 1.0 / s->p->dim), 1.2), 1024),
               grown = b->low > 0 ? b->low * factor : DBL_TRUE_MIN;
  return grown < b->high ? grown : sqrt(b->low) * sqrt(b->high);
}

static double below(const bracket *b) {
  return b->low > 0 ? sqrt(b->low) * sqrt(b->high) : b->high / 256;
}

/* Whether the pairs that were kept have the answer among them; else the limit is the next, or, not *goes_on,
 * there is none. */
static bool settles(dvt_closest_search *s, bracket *b, bool *goes_on) {
  dvt_closest_state *state = &s->state;
  const double tried = state->limit.distance, radius = s->p->radius;
  const bool whole = state->limit.i < INT64_MAX || tried >= radius;
  if (state->stop) {
    b->high = tried;
    state->limit = all_within(below(b));
    *goes_on = state->limit.distance < tried && state->limit.distance > b->low;
    return false;
  }
  if (state->found > (uint64_t)state->held) {
    dvt_ref_pairs_select(state->pairs, state->held, s->p->k);
    state->limit = state->pairs[s->p->k - 1];
    *goes_on = state->limit.distance > 0; /* the host has equal points in order */
    return false;
  }
  if (state->held >= s->p->k || whole)
    return true;
  b->low = tried;
  state->limit = all_within(fmin(above(s, b), radius));
  *goes_on = state->limit.distance > tried;
  return false;
}

static davit_status collect(dvt_closest_search *s) {
  s->state.known = fmax(s->state.limit.distance, DBL_TRUE_MIN);
  return dvt_closest_stage_run(s, DVT_CLOSEST_COLLECT);
}

/* Leaves the pairs in the state; not *found: grids are of no use, or of no more. */
static davit_status by_grids(dvt_closest_search *s, bool *found) {
  bracket b = {-1, INFINITY};
  bool goes_on = true;
  s->state.limit = all_within(fmin(guess(s), s->p->radius));
  for (int round = 0; round < ROUNDS && goes_on && !*found; round++) {
    goes_on = s->state.limit.distance < 0x1p1022;
    if (goes_on) {
      DVT_TRY(collect(s));
      *found = settles(s, &b, &goes_on);
    }
  }
  return DAVIT_SUCCESS;
}

static davit_status count_by_grid(dvt_closest_search *s, bool *found) {
  s->state.limit = all_within(s->p->radius);
  if (!(s->p->radius < 0x1p1022))
    return DAVIT_SUCCESS;
  DVT_TRY(collect(s));
  *found = !s->state.stop;
  return DAVIT_SUCCESS;
}

/* ---- the search ---- */

static void give(const dvt_closest_problem *p, davit_closest_pair_result *pairs, int64_t held) {
  const int64_t count = held < p->k ? held : p->k;
  if (count > 0) {
    const dvt_team team = dvt_team_begin(p->threads ? p->threads : dvt_device_threads(DAVIT_HOST));
    dvt_ref_pairs_sort(pairs, held, count, team.threads);
    dvt_team_end(&team);
    memcpy(p->pairs, pairs, (size_t)count * sizeof *pairs);
  }
  *p->count = count;
}

static davit_status find(dvt_closest_search *s, davit_closest_pair_algorithm algorithm) {
  const dvt_closest_problem *p = s->p;
  bool found = false;
  s->state = (dvt_closest_state){.known = INFINITY, .limit = all_within(p->radius), .pairs = s->pairs};
  DVT_TRY(dvt_closest_stage_run(s, DVT_CLOSEST_BOX)); /* to see that points are finite, too */
  if (algorithm == DAVIT_CLOSEST_PAIR_GRID)
    DVT_TRY((p->k ? by_grids : count_by_grid)(s, &found));
  const bool certain =
      p->k > 0 && !found && s->state.limit.i < INT64_MAX; /* that k pairs are within the limit */
  dvt_pair_list list = {certain ? s->state.limit : all_within(p->radius), s->state.pairs, p->k, p->capacity,
                        0};
  host_work h = {algorithm == DAVIT_CLOSEST_PAIR_BRUTE, &list};
  if (!found)
    DVT_TRY(dvt_closest_on_host(p, sweep, &h));
  if (p->k)
    give(p, s->state.pairs, found ? s->state.held : list.count);
  else
    *p->count = found ? (int64_t)s->state.found : list.count;
  return DAVIT_SUCCESS;
}

/* ---- calls ---- */

/* n (n - 1) / 2, or the maximum. */
static int64_t all_pairs(int64_t n) {
  int64_t product;
  const bool even = n % 2 == 0;
  return __builtin_mul_overflow(even ? n / 2 : n, even ? n - 1 : (n - 1) / 2, &product) ? INT64_MAX : product;
}

/* k 0: counting. */
static dvt_closest_problem problem_of(davit_type type, int dim, int64_t n, const void *points, int64_t k,
                                      double radius, davit_closest_pair_result *pairs, int64_t *count,
                                      const davit_closest_pair_options *options) {
  const int64_t all = n > 1 ? all_pairs(n) : 0, wanted = k < all ? k : all;
  return (dvt_closest_problem){.type = type,
                               .dim = dim,
                               .n = n,
                               .points = points,
                               .algorithm = options ? options->algorithm : DAVIT_CLOSEST_PAIR_AUTO,
                               .find = find,
                               .k = wanted,
                               .radius = radius,
                               .capacity = wanted > 0 ? 2 * wanted + ROOM : 0,
                               .pairs = pairs,
                               .count = count};
}

static davit_status check(const dvt_closest_problem *p, int64_t k) {
  DVT_TRY(dvt_closest_check(p));
  if (k < 1 || k > INT64_C(1) << 56)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "k is %lld, not from 1 to 2^56", (long long)k);
  if (!(p->radius >= 0))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "radius is %g, not 0 or above", p->radius);
  return dvt_check_pointer("count", p->count);
}

davit_status davit_closest_pairs(davit_type type, int dim, int64_t n, const void *points, int64_t k,
                                 double radius, davit_closest_pair_result *pairs, int64_t *count,
                                 const davit_closest_pair_options *options) {
  dvt_closest_problem p = problem_of(type, dim, n, points, k, radius, pairs, count, options);
  DVT_TRY(check(&p, k));
  DVT_TRY(dvt_check_pointer("pairs", pairs));
  return dvt_closest_run(&p, options);
}

davit_status davit_queue_closest_pairs(davit_queue *queue, davit_type type, int dim, int64_t n,
                                       const void *points, int64_t k, double radius,
                                       davit_closest_pair_result *pairs, int64_t *count,
                                       const davit_closest_pair_options *options) {
  const dvt_closest_problem p = problem_of(type, dim, n, points, k, radius, pairs, count, options);
  if (!dvt_queue_lane(queue))
    return DAVIT_INVALID_ARGUMENT;
  DVT_TRY(check(&p, k));
  DVT_TRY(dvt_check_pointer("pairs", pairs));
  return dvt_closest_submit(queue, &p, options);
}

davit_status davit_closest_pairs_count(davit_type type, int dim, int64_t n, const void *points, double radius,
                                       int64_t *count, const davit_closest_pair_options *options) {
  dvt_closest_problem p = problem_of(type, dim, n, points, 0, radius, NULL, count, options);
  DVT_TRY(check(&p, 1));
  return dvt_closest_run(&p, options);
}

davit_status davit_queue_closest_pairs_count(davit_queue *queue, davit_type type, int dim, int64_t n,
                                             const void *points, double radius, int64_t *count,
                                             const davit_closest_pair_options *options) {
  const dvt_closest_problem p = problem_of(type, dim, n, points, 0, radius, NULL, count, options);
  if (!dvt_queue_lane(queue))
    return DAVIT_INVALID_ARGUMENT;
  DVT_TRY(check(&p, 1));
  return dvt_closest_submit(queue, &p, options);
}
