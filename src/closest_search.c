/* SPDX-License-Identifier: Apache-2.0 */
/* Where a search among points runs: on the lane of a queue, on one device, or spread over several. */
#include "src/closest_search.h"

#include <stdlib.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "ref/closest_pair.h"
#include "src/base/allocate.h"
#include "src/base/team.h"
#include "src/runtime/copy.h"
#include "src/runtime/memory.h"
#include "src/runtime/split.h"
#include "src/runtime/tuning.h"
#include "src/shape.h"

enum {
  MIN_GRID = 64,  /* points; fewer are compared with each other */
  FEW_GPU = 8192, /* AUTO compares all pairs of so many */
  FEW_CPU = 512,
  TEAMS = 16, /* on a multiprocessor; a thread takes every so many-th point */
  UNITS = 132 /* multiprocessors of a device that does not tell */
};

static size_t point_bytes(const dvt_closest_problem *p) {
  return (size_t)p->dim * davit_type_bytes(p->type);
}

davit_status dvt_closest_check(const dvt_closest_problem *p) {
  DVT_TRY(dvt_check_floating(p->type));
  DVT_TRY(dvt_check_dim(p->dim));
  DVT_TRY(dvt_check_length("n", p->n));
  if (p->n < 2)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "n is %lld, less than 2", (long long)p->n);
  if (!p->points)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "points is NULL");
  if ((unsigned)p->algorithm > DAVIT_CLOSEST_PAIR_GRID)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "options->algorithm is %d, which is none", (int)p->algorithm);
  return DAVIT_SUCCESS;
}

static davit_closest_pair_algorithm algorithm_of(const dvt_closest_problem *p, bool gpu) {
  davit_closest_pair_algorithm chosen = p->algorithm;
  const int64_t few = gpu && p->single ? FEW_GPU : FEW_CPU;
  if (chosen == DAVIT_CLOSEST_PAIR_AUTO)
    chosen = p->n <= few ? DAVIT_CLOSEST_PAIR_BRUTE : DAVIT_CLOSEST_PAIR_GRID;
  if (chosen == DAVIT_CLOSEST_PAIR_GRID && p->n < MIN_GRID)
    return DAVIT_CLOSEST_PAIR_BRUTE;
  /* Places in the grid have 32 bits. */
  return chosen == DAVIT_CLOSEST_PAIR_GRID && p->n >= UINT32_MAX ? DAVIT_CLOSEST_PAIR_DIVIDE : chosen;
}

/* The last stage that the search may reach. */
static dvt_closest_stage last_stage(const dvt_closest_problem *p, davit_closest_pair_algorithm algorithm) {
  if (algorithm == DAVIT_CLOSEST_PAIR_GRID)
    return p->single ? DVT_CLOSEST_EQUAL : DVT_CLOSEST_COLLECT;
  return algorithm == DAVIT_CLOSEST_PAIR_BRUTE && p->single ? DVT_CLOSEST_BRUTE : DVT_CLOSEST_BOX;
}

/* ---- the search ---- */

davit_status dvt_closest_stage_run(dvt_closest_search *s, dvt_closest_stage which) {
  s->state.pair = DVT_NO_PAIR;
  s->state.ranks = s->state.bound = 0;
  s->state.stop = s->state.counter = 0;
  s->state.found = 0;
  s->state.members = 0;
  DVT_TRY(s->perform(s->context, which, &s->state));
  if (s->state.bad < s->p->n)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "points: point %lld has a coordinate that is not finite",
                      (long long)s->state.bad);
  return DAVIT_SUCCESS;
}

/* ---- on the host ---- */

davit_status dvt_closest_on_host(const dvt_closest_problem *p, dvt_closest_host_work *work, void *context) {
  const int threads = p->threads ? p->threads : dvt_device_threads(DAVIT_HOST),
            place = dvt_place_of(p->points);
  const size_t bytes = (size_t)p->n * point_bytes(p);
  if (dvt_place_is_host(place))
    return work(p, p->points, threads, context);
  void *points;
  DVT_TRY(dvt_malloc(bytes, DAVIT_PAGEABLE, &points));
  const dvt_copy copy = dvt_copy_bytes(bytes, p->points, place, points, DAVIT_PAGEABLE);
  davit_status status = dvt_copy_now(&copy);
  if (status == DAVIT_SUCCESS)
    status = work(p, points, threads, context);
  davit_free(points);
  return status;
}

/* ---- on one lane ---- */

static int teams_of(int device) {
  const int units = dvt_device_find(device)->info.compute_units;
  return (int)dvt_tuned(device, DVT_TUNE_CLOSEST_PAIR_TEAMS, TEAMS) * (units > 0 ? units : UNITS);
}

davit_status dvt_closest_kernel(int device, dvt_stream *stream, dvt_kernel_fit *fit) {
  (void)device;
  return dvt_closest_fit(stream, DAVIT_DOUBLE, 2, fit);
}

/* Alone. */
static dvt_closest_site site_of(const dvt_lane *lane, const dvt_closest_problem *p, const void *points) {
  const bool gpu = dvt_place_any_gpu(&lane->device, 1);
  return (dvt_closest_site){.device = lane->device,
                            .gpu = gpu,
                            .threads = p->threads ? p->threads : dvt_device_threads(lane->device),
                            .teams = gpu ? teams_of(lane->device) : 0,
                            .stream = gpu && dvt_path_of(lane, NULL) == DVT_ON_STREAM ? lane->stream : NULL,
                            .type = p->type,
                            .dim = p->dim,
                            .n = p->n,
                            .points = points,
                            .parts = 1,
                            .capacity = p->capacity};
}

static davit_status perform_here(void *context, dvt_closest_stage which, dvt_closest_state *state) {
  return dvt_closest_perform(context, which, state);
}

static davit_status find_in_team(dvt_closest_search *s, dvt_closest_site *here,
                                 davit_closest_pair_algorithm algorithm) {
  const dvt_team team = dvt_team_begin(here->threads);
  here->threads = team.threads;
  davit_status status = s->p->find(s, algorithm);
  dvt_team_end(&team);
  return status;
}

/* For the pairs that `parts` devices collect. */
static davit_status make_room(const dvt_closest_problem *p, int parts, davit_closest_pair_result **pairs) {
  *pairs = p->capacity ? dvt_allocate((size_t)p->capacity * (size_t)parts, sizeof **pairs) : NULL;
  return *pairs || !p->capacity ? DAVIT_SUCCESS : DAVIT_OUT_OF_HOST_MEMORY;
}

static davit_status run_here(const dvt_site *site, const void *arguments) {
  const dvt_closest_problem *p = arguments;
  dvt_closest_site here = site_of(site->owner, p, p->points);
  dvt_closest_search s = {.p = p, .perform = perform_here, .context = &here};
  const davit_closest_pair_algorithm algorithm = algorithm_of(p, here.gpu);
  DVT_TRY(site->workspace(site, dvt_closest_bytes(&here, last_stage(p, algorithm)), &here.memory));
  DVT_TRY(make_room(p, 1, &s.pairs));
  davit_status status = DAVIT_SUCCESS;
  if (here.stream)
    status = dvt_malloc(sizeof *here.staged, DAVIT_PINNED, (void **)&here.staged);
  if (status == DAVIT_SUCCESS)
    status = here.gpu ? p->find(&s, algorithm) : find_in_team(&s, &here, algorithm);
  davit_free(here.staged);
  free(s.pairs);
  return status;
}

static davit_status run_alone(const dvt_closest_problem *p, int device) {
  dvt_lane *lane;
  DVT_TRY(dvt_lane_open(device, &lane));
  return dvt_lane_end(lane, dvt_lane_submit(lane, DVT_BLOCKING, run_here, p, sizeof *p));
}

/* ---- on several devices ---- */

/* Each device has all points. From the host each fetches a share, and the others' shares from them, so that
 * the host's links carry the points once. A share is fetched in pieces, and one piece passed on while the next
 * comes. */
enum { PIECES = 4 };
static const size_t piece_bytes = 8 << 20; /* of a share of more than one piece, at least */

typedef struct spread {
  const dvt_closest_problem *p;
  int count, pieces;
  dvt_lane *lane[DVT_MAX_DEVICES];
  dvt_lane *others[DVT_MAX_DEVICES]; /* on which a device copies from the others */
  void *points[DVT_MAX_DEVICES];     /* owned */
  dvt_record *fetched[DVT_MAX_DEVICES][PIECES];
  dvt_record *complete[DVT_MAX_DEVICES];
  dvt_closest_site site[DVT_MAX_DEVICES];
  dvt_closest_state state[DVT_MAX_DEVICES];
  dvt_closest_stage last;
  davit_closest_pair_result *pairs; /* owned: a command that goes on after a failure may still write them */
} spread;

typedef struct stage_command {
  spread *all;
  int which;
  dvt_closest_stage stage;
} stage_command;

static davit_status run_stage(const dvt_site *site, const void *arguments) {
  const stage_command *c = arguments;
  dvt_closest_site *here = &c->all->site[c->which];
  DVT_TRY(site->workspace(site, dvt_closest_bytes(here, c->all->last), &here->memory));
  if (here->gpu)
    return dvt_closest_perform(here, c->stage, &c->all->state[c->which]);
  const dvt_team team = dvt_team_begin(here->threads);
  here->threads = team.threads;
  davit_status status = dvt_closest_perform(here, c->stage, &c->all->state[c->which]);
  dvt_team_end(&team);
  return status;
}

/* Pairs that the devices have collected, one device's after the other's. */
static void join_pairs(const spread *all, dvt_closest_state *state) {
  for (int d = 1; d < all->count; d++) {
    const dvt_closest_state *other = &all->state[d];
    if (other->held > 0)
      memmove(state->pairs + state->held, other->pairs, (size_t)other->held * sizeof *other->pairs);
    state->held += other->held;
    state->found += other->found;
  }
}

/* Each device knows its own slab alone: a crowd in one is a crowd for all. */
static void join(const spread *all, dvt_closest_state *state) {
  *state = all->state[0];
  for (int d = 0; d < all->count; d++) {
    const dvt_closest_state *other = &all->state[d];
    state->stop |= dvt_closest_is_crowded(other);
    dvt_pair_offer(other->pair.distance, other->pair.i, other->pair.j, &state->pair);
  }
}

static davit_status perform_everywhere(void *context, dvt_closest_stage which, dvt_closest_state *state) {
  spread *all = context;
  davit_status status = DAVIT_SUCCESS;
  for (int d = 0; d < all->count && status == DAVIT_SUCCESS; d++) {
    all->state[d] = *state;
    all->state[d].pairs = state->pairs ? state->pairs + d * all->p->capacity : NULL;
    const stage_command c = {all, d, which};
    status = dvt_lane_submit(all->lane[d], DVT_BLOCKING, run_stage, &c, sizeof c);
  }
  davit_status end = dvt_lanes_synchronize(all->lane, all->count);
  if (status != DAVIT_SUCCESS || end != DAVIT_SUCCESS)
    return status == DAVIT_SUCCESS ? end : status;
  join(all, state);
  if (which == DVT_CLOSEST_COLLECT)
    join_pairs(all, state);
  return DAVIT_SUCCESS;
}

/* A piece of a share. */
static davit_status fetch(spread *all, dvt_lane *lane, void *to, const void *from, int share, int piece) {
  const dvt_range whole = dvt_range_of(all->p->n, share, all->count),
                  range = dvt_range_of(whole.end - whole.begin, piece, all->pieces);
  const size_t each = point_bytes(all->p), begin = (size_t)(whole.begin + range.begin) * each,
               bytes = (size_t)(range.end - range.begin) * each;
  if (bytes == 0)
    return DAVIT_SUCCESS;
  const char *source = (const char *)from + begin;
  const dvt_copy copy = dvt_copy_bytes(bytes, source, dvt_place_of(source), (char *)to + begin, lane->device);
  return dvt_copy_submit(lane, &copy);
}

/* The waits come first: each that follows other commands would begin a task of its own. */
static davit_status fetch_from_others(spread *all, int d, int piece) {
  for (int k = 1; k < all->count; k++)
    DVT_TRY(dvt_lane_wait(all->others[d], all->fetched[(d + k) % all->count][piece]));
  for (int k = 1; k < all->count; k++) {
    const int from = (d + k) % all->count;
    DVT_TRY(fetch(all, all->others[d], all->points[d], all->points[from], from, piece));
  }
  return DAVIT_SUCCESS;
}

static davit_status fetch_all(spread *all) {
  const size_t bytes = (size_t)all->p->n * point_bytes(all->p),
               pieces = bytes / (size_t)all->count / piece_bytes;
  all->pieces = pieces < 1 ? 1 : pieces < PIECES ? (int)pieces : PIECES;
  for (int d = 0; d < all->count; d++)
    DVT_TRY(dvt_malloc(bytes, all->lane[d]->device, &all->points[d]));
  for (int piece = 0; piece < all->pieces; piece++) {
    for (int d = 0; d < all->count; d++) {
      DVT_TRY(fetch(all, all->lane[d], all->points[d], all->p->points, d, piece));
      DVT_TRY(dvt_lane_record(all->lane[d], false, &all->fetched[d][piece]));
    }
    for (int d = 0; d < all->count; d++)
      DVT_TRY(fetch_from_others(all, d, piece));
  }
  for (int d = 0; d < all->count; d++) {
    DVT_TRY(dvt_lane_record(all->others[d], false, &all->complete[d]));
    DVT_TRY(dvt_lane_wait(all->lane[d], all->complete[d]));
  }
  return DAVIT_SUCCESS;
}

static davit_status search_spread(spread *all, davit_closest_pair_algorithm algorithm) {
  dvt_closest_search s = {.p = all->p, .perform = perform_everywhere, .context = all};
  DVT_TRY(make_room(all->p, all->count, &all->pairs));
  s.pairs = all->pairs;
  DVT_TRY(fetch_all(all));
  for (int d = 0; d < all->count; d++) {
    all->site[d] = site_of(all->lane[d], all->p, all->points[d]);
    all->site[d].part = d;
    all->site[d].parts = all->count;
    if (all->site[d].stream)
      DVT_TRY(dvt_malloc(sizeof *all->site[d].staged, DAVIT_PINNED, (void **)&all->site[d].staged));
  }
  return all->p->find(&s, algorithm);
}

static davit_status spread_over(const dvt_closest_problem *p, const int *devices, int count) {
  dvt_error first = {.status = DAVIT_SUCCESS};
  spread *all = dvt_allocate(1, sizeof *all);
  if (!all)
    return DAVIT_OUT_OF_HOST_MEMORY;
  all->p = p;
  for (int d = 0; d < count && first.status == DAVIT_SUCCESS; d++) {
    dvt_error_keep(&first, dvt_lane_open(devices[d], &all->lane[d]));
    all->count += first.status == DAVIT_SUCCESS;
    if (first.status == DAVIT_SUCCESS)
      dvt_error_keep(&first, dvt_lane_open(devices[d], &all->others[d]));
  }
  const davit_closest_pair_algorithm algorithm = algorithm_of(p, dvt_place_any_gpu(devices, count));
  all->last = last_stage(p, algorithm);
  if (first.status == DAVIT_SUCCESS)
    dvt_error_keep(&first, search_spread(all, algorithm));
  for (int d = 0; d < all->count; d++) {
    for (int piece = 0; piece < all->pieces; piece++)
      dvt_record_drop(all->fetched[d][piece]);
    dvt_record_drop(all->complete[d]);
  }
  for (int d = 0; d < all->count; d++) {
    if (all->others[d])
      dvt_error_keep(&first, dvt_lane_close(all->others[d]));
    dvt_error_keep(&first, dvt_lane_close(all->lane[d]));
  }
  for (int d = 0; d < all->count; d++) {
    davit_free(all->points[d]);
    davit_free(all->site[d].staged);
  }
  free(all->pairs);
  free(all);
  return dvt_error_report(&first);
}

static davit_status use_mapped(dvt_closest_problem *p, int device) {
  void *points = (void *)(uintptr_t)p->points;
  DVT_TRY(dvt_use_mapped(device, "points", &points));
  p->points = points;
  return DAVIT_SUCCESS;
}

/* Where the search goes: to one device, or to all that are chosen. */
typedef struct places {
  int chosen[DVT_MAX_DEVICES], count;
  bool alone;
  int device; /* the one */
} places;

/* p->threads too. */
static davit_status find_places(dvt_closest_problem *p, const davit_closest_pair_options *options,
                                places *w) {
  const dvt_where where = DVT_WHERE(options);
  DVT_TRY(dvt_choose_devices(where, w->chosen, &w->count));
  if (where.mapped)
    DVT_TRY(use_mapped(p, w->chosen[0]));
  w->device = DAVIT_HOST;
  w->alone = p->algorithm == DAVIT_CLOSEST_PAIR_DIVIDE && dvt_place_is_host(dvt_place_of(p->points));
  if (w->alone)
    return DAVIT_SUCCESS;
  w->alone =
      dvt_home_of(&p->points, 1, w->chosen, w->count, where.devices || where.mapped, &w->device, &p->threads);
  if (!w->alone)
    p->threads = 0;
  return DAVIT_SUCCESS;
}

davit_status dvt_closest_run(dvt_closest_problem *p, const davit_closest_pair_options *options) {
  places w;
  DVT_TRY(find_places(p, options, &w));
  return w.alone ? run_alone(p, w.device) : spread_over(p, w.chosen, w.count);
}

davit_status dvt_closest_submit(davit_queue *queue, const dvt_closest_problem *p,
                                const davit_closest_pair_options *options) {
  const dvt_where where = DVT_WHERE(options);
  dvt_lane *lane;
  DVT_TRY(dvt_choose_lane(queue, where, &lane));
  dvt_closest_problem there = *p;
  if (where.mapped)
    DVT_TRY(use_mapped(&there, lane->device));
  return dvt_lane_submit(lane, DVT_BLOCKING, run_here, &there, sizeof there);
}

davit_status dvt_closest_plan(dvt_closest_problem *p, const davit_closest_pair_options *options,
                              davit_closest_pair_algorithm *algorithm) {
  places w;
  DVT_TRY(find_places(p, options, &w));
  *algorithm =
      algorithm_of(p, w.alone ? dvt_place_any_gpu(&w.device, 1) : dvt_place_any_gpu(w.chosen, w.count));
  return DAVIT_SUCCESS;
}
