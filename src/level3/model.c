/* SPDX-License-Identifier: Apache-2.0 */
#include "src/level3/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"
#include "src/base/error.h"
#include "src/level3/rule.h"

double dvt_model_product(const dvt_model_device *d, double m, double n, double k) {
  if (m <= 0 || n <= 0 || k <= 0)
    return d->launch;
  const double area = m * n / (m * n + d->area), depth = k / (k + d->depth);
  return d->launch + 2 * m * n * k / (d->rate * area * depth);
}

static double least(double a, double b) {
  return a < b ? a : b;
}

/* The share of the host's memory that takes so many bytes a second to and from devices. */
static double host_load(const dvt_model *model, double up, double down) {
  const double both = model->all_both * (1 / model->all_up + 1 / model->all_down) / 2;
  return (up / model->all_up + down / model->all_down) / both;
}

/* ---- the play ---- */

enum { STREAMS = DVT_PLAN_DEVICES * DVT_ROLES };

/* What a step uses. */
typedef enum resource { UP, DOWN, PEER_LINK, ARITHMETIC, RESOURCES } resource;

typedef struct player {
  const dvt_model *model;
  const dvt_plan_shape *shape;
  const dvt_plan *plan;
  int streams;
  int32_t *next;          /* of each step: the next one of its stream, -1 at the end */
  int32_t head[STREAMS];  /* of each stream: the step at its front, -1: none */
  bool running[STREAMS];  /* that step has started */
  double left[STREAMS];   /* of its work: bytes, or seconds of the whole device */
  double begins[STREAMS]; /* latency is over */
  double slower[STREAMS]; /* than bytes that follow each other, on the link */
  double speed[STREAMS];
  resource uses[STREAMS];
  bool copies[STREAMS]; /* of pageable memory */
  double *issue, *end;  /* of each step */
  double spent[DVT_PLAN_DEVICES][RESOURCES];
  double now;
} player;

static int stream_of(const player *y, const dvt_step *step) {
  return step->device * DVT_ROLES + (y->model->device[step->device].serial ? 0 : step->role);
}

static davit_status open_player(player *y) {
  const size_t steps = (size_t)y->plan->steps + 1;
  y->next = dvt_allocate_raw(steps * sizeof *y->next);
  y->issue = dvt_allocate_raw(steps * sizeof *y->issue);
  y->end = dvt_allocate_raw(steps * sizeof *y->end);
  if (!y->next || !y->issue || !y->end)
    return DAVIT_OUT_OF_HOST_MEMORY;
  int32_t last[STREAMS];
  double enqueued[DVT_PLAN_DEVICES];
  const double enqueue = y->model->enqueue + (y->plan->devices - 1) * y->model->enqueue_beside;
  y->streams = y->plan->devices * DVT_ROLES;
  for (int s = 0; s < STREAMS; s++)
    y->head[s] = last[s] = -1;
  for (int d = 0; d < DVT_PLAN_DEVICES; d++)
    enqueued[d] = y->model->start + d * y->model->start_device;
  for (int32_t i = 0; i < y->plan->steps; i++) {
    const dvt_step *step = &y->plan->step[i];
    const int s = stream_of(y, step);
    *(last[s] < 0 ? &y->head[s] : &y->next[last[s]]) = i;
    last[s] = i;
    y->next[i] = -1;
    enqueued[step->device] += y->model->device[step->device].serial ? 0 : enqueue;
    y->issue[i] = enqueued[step->device];
    y->end[i] = INFINITY;
  }
  return DAVIT_SUCCESS;
}

static void close_player(player *y) {
  free(y->next);
  free(y->issue);
  free(y->end);
}

static bool is_ready(const player *y, int32_t step) {
  const dvt_step *one = &y->plan->step[step];
  for (int32_t i = 0; i < one->waits; i++)
    if (!(y->end[y->plan->wait[one->first_wait + i]] <= y->now))
      return false;
  return y->issue[step] <= y->now;
}

/* How much longer a link takes for rows than for as many bytes that follow each other. Where the host's memory is the
 * bound, it is the square root of that: so come out the many choices for 8192 and 16384 that were measured on four
 * cards. */
static double strided(const dvt_model_device *d, double row, double pitch) {
  const double aligned = 65536;
  if (row <= 0 || row >= pitch)
    return 1;
  const double shorter = fmin(fmax(3 - 2.5 * row / fmax(d->aligned_row, 1), 0), 1);
  return (row + d->row) / row * (fmod(pitch, aligned) == 0 ? 1 + 0.5 * shorter : 1);
}

static double copy_bytes(const player *y, const dvt_step *step) {
  return (double)dvt_tile_rows(y->plan, &step->out) * (double)dvt_tile_cols(y->plan, &step->out) *
         (double)y->shape->element;
}

static double product_work(const player *y, const dvt_step *step) {
  const dvt_model_device *d = &y->model->device[step->device];
  const dvt_term *t = &step->term;
  const double m = (double)dvt_tile_rows(y->plan, &step->out), n = (double)dvt_tile_cols(y->plan, &step->out);
  if (step->kind == DVT_STEP_ADD)
    return d->launch + 3 * m * n * (double)y->shape->element / d->memory;
  double k = 0;
  if (t->left.matrix >= 0)
    k = (double)(t->left.trans == 'N' ? dvt_tile_cols(y->plan, &t->left) : dvt_tile_rows(y->plan, &t->left));
  if (t->kernel == DVT_SYRK || t->kernel == DVT_HERK || t->kernel == DVT_TRMM || t->kernel == DVT_TRSM)
    k /= 2; /* half the flops, at a somewhat lower rate */
  return dvt_model_product(d, m, n, k);
}

static void begin(player *y, int s) {
  const dvt_step *step = &y->plan->step[y->head[s]];
  const dvt_model_device *d = &y->model->device[step->device];
  const int pool = dvt_pool_of(step->out.matrix);
  const bool home = step->kind == DVT_STEP_LOAD || step->kind == DVT_STEP_STORE;
  y->running[s] = true;
  y->begins[s] = y->now + (step->waits > 0 ? y->model->react : 0);
  y->copies[s] = home && y->model->pageable[pool];
  if (step->kind == DVT_STEP_PRODUCT || step->kind == DVT_STEP_ADD) {
    y->uses[s] = ARITHMETIC;
    y->left[s] = product_work(y, step);
    /* It has a part of the device meanwhile: half of it, if another product runs. */
    if (step->kind == DVT_STEP_PRODUCT && step->term.kernel == DVT_TRSM)
      y->begins[s] += d->solve * (double)dvt_tile_rows(y->plan, &step->term.left);
    return;
  }
  y->begins[s] += d->latency;
  y->uses[s] = home && y->model->on_host[pool] ? (step->kind == DVT_STEP_LOAD ? UP : DOWN) : PEER_LINK;
  y->left[s] = copy_bytes(y, step);
  y->slower[s] = 1;
  if (home && !y->copies[s])
    y->slower[s] = strided(d, (double)dvt_tile_rows(y->plan, &step->out) * (double)y->shape->element,
                           (double)y->shape->pitch[pool]);
}

/* Who shares what at the moment. */
typedef struct sharing {
  int up[DVT_PLAN_DEVICES], down[DVT_PLAN_DEVICES], given[DVT_PLAN_DEVICES], arithmetic[DVT_PLAN_DEVICES];
  int copies;
  double total[2]; /* up and down: of the host's memory, by the speeds */
} sharing;

/* The device from which a stream's copy comes, of those that it shares its links with. */
static int giver_of(const player *y, int s) {
  const dvt_step *step = &y->plan->step[y->head[s]];
  return step->kind == DVT_STEP_PEER ? step->from_device : step->device;
}

static void share(player *y) {
  sharing all = {.copies = 0};
  for (int s = 0; s < y->streams; s++) {
    const int d = s / DVT_ROLES;
    if (!y->running[s])
      continue;
    all.up[d] += y->uses[s] == UP;
    all.down[d] += y->uses[s] == DOWN;
    all.given[giver_of(y, s)] += y->uses[s] == PEER_LINK;
    all.arithmetic[d] += y->uses[s] == ARITHMETIC;
    all.copies += y->copies[s];
  }
  for (int s = 0; s < y->streams; s++) {
    const dvt_model_device *d = &y->model->device[s / DVT_ROLES];
    const bool both = all.up[s / DVT_ROLES] && all.down[s / DVT_ROLES];
    if (!y->running[s])
      continue;
    if (y->uses[s] == ARITHMETIC) {
      y->speed[s] = 1.0 / all.arithmetic[s / DVT_ROLES];
    } else if (y->uses[s] == PEER_LINK) {
      y->speed[s] = d->peer / all.given[giver_of(y, s)];
    } else {
      const double one = y->uses[s] == UP ? d->up : d->down;
      y->speed[s] = (both && d->both / 2 < one ? d->both / 2 : one) / y->slower[s];
      if (y->copies[s] && y->model->host_copy / all.copies < y->speed[s])
        y->speed[s] = y->model->host_copy / all.copies;
      all.total[y->uses[s] == DOWN] += y->speed[s] * sqrt(y->slower[s]);
    }
  }
  const double up = least(all.total[0], y->model->all_up), down = least(all.total[1], y->model->all_down);
  const double busy = fmax(host_load(y->model, up, down), 1);
  for (int s = 0; s < y->streams; s++)
    if (y->running[s] && (y->uses[s] == UP || y->uses[s] == DOWN))
      y->speed[s] *= (y->uses[s] == UP ? up / all.total[0] : down / all.total[1]) / busy;
}

/* On to the next moment at which something ends or may begin; false when all is over. */
static bool tick(player *y) {
  double step = INFINITY;
  for (int s = 0; s < y->streams; s++)
    if (y->head[s] >= 0 && !y->running[s] && is_ready(y, y->head[s]))
      begin(y, s);
  share(y);
  for (int s = 0; s < y->streams; s++) {
    if (y->head[s] < 0)
      continue;
    double until = INFINITY;
    if (y->running[s])
      until = (y->begins[s] > y->now ? y->begins[s] - y->now : 0) + y->left[s] / y->speed[s];
    else if (y->issue[y->head[s]] > y->now)
      until = y->issue[y->head[s]] - y->now;
    step = until < step ? until : step;
  }
  if (isinf(step))
    return false;
  const double now = y->now + step;
  for (int s = 0; s < y->streams; s++) {
    if (y->head[s] < 0 || !y->running[s])
      continue;
    const double worked = now - (y->begins[s] > y->now ? y->begins[s] : y->now);
    y->spent[s / DVT_ROLES][y->uses[s]] += y->uses[s] == ARITHMETIC ? step * y->speed[s] : step;
    if (worked > 0)
      y->left[s] -= worked * y->speed[s];
    if (y->left[s] <= 1e-9 * y->speed[s] && worked >= 0) {
      y->end[y->head[s]] = now;
      y->head[s] = y->next[y->head[s]];
      y->running[s] = false;
    }
  }
  y->now = now;
  return true;
}

davit_status dvt_model_play(const dvt_model *model, const dvt_plan_shape *shape, const dvt_plan *plan,
                            dvt_prediction *prediction) {
  player *y = dvt_allocate(1, sizeof *y);
  if (!y)
    return DAVIT_OUT_OF_HOST_MEMORY;
  y->model = model;
  y->shape = shape;
  y->plan = plan;
  davit_status status = open_player(y);
  while (status == DAVIT_SUCCESS && tick(y)) {
  }
  *prediction = (dvt_prediction){.seconds = y->now};
  for (int d = 0; d < plan->devices; d++) {
    prediction->load = fmax(prediction->load, y->spent[d][UP]);
    prediction->store = fmax(prediction->store, y->spent[d][DOWN]);
    prediction->peer = fmax(prediction->peer, y->spent[d][PEER_LINK]);
    prediction->arithmetic = fmax(prediction->arithmetic, y->spent[d][ARITHMETIC]);
  }
  for (int s = 0; s < y->streams && status == DAVIT_SUCCESS; s++)
    if (y->head[s] >= 0)
      status = davit_fail(DAVIT_INTERNAL_ERROR, "step %d of a plan can never start", (int)y->head[s]);
  close_player(y);
  free(y);
  dvt_model_floors(model, shape, plan->devices, prediction);
  return status;
}

/* ---- floors and the formula ---- */

/* Elements of matrices as their tiles are read. */
static void volumes(const dvt_plan_shape *shape, double elements[DVT_POOLS]) {
  const double m = (double)shape->length[0], n = (double)shape->length[1], k = (double)shape->length[2];
  uint8_t rows[DVT_MATRICES], cols[DVT_MATRICES], same[DVT_DIMS];
  const double length[] = {m, n, k};
  shape->rule->layout(shape, rows, cols, same);
  for (int x = 0; x < DVT_POOLS; x++)
    elements[x] = length[rows[x]] * length[cols[x]];
  const dvt_dealing dealing = shape->rule->dealing(shape);
  if (dealing == DVT_DEAL_TRIANGLE)
    elements[DVT_C] /= 2;
  else if (dealing != DVT_DEAL_BLOCKS)
    elements[DVT_A] /= 2;
  if (!shape->rule->uniform)
    elements[DVT_B] = 0; /* C is in its place */
}

static double flops(const dvt_plan_shape *shape) {
  const double all = 2 * (double)shape->length[0] * (double)shape->length[1] * (double)shape->length[2];
  return shape->rule->dealing(shape) == DVT_DEAL_BLOCKS ? all : all / 2;
}

void dvt_model_floors(const dvt_model *model, const dvt_plan_shape *shape, int devices,
                      dvt_prediction *prediction) {
  double rate = 0, up = 0, down = 0, both = 0, elements[DVT_POOLS], to = 0, from = 0;
  volumes(shape, elements);
  for (int d = 0; d < devices; d++) {
    rate += model->device[d].rate;
    up += model->device[d].up;
    down += model->device[d].down;
    both += model->device[d].both;
  }
  for (int x = 0; x < DVT_POOLS; x++)
    if (model->on_host[x] && !shape->device[0].resident[x]) {
      const double bytes = elements[x] * (double)shape->element;
      to += x != DVT_C || shape->load_c ? bytes : 0;
      from += x == DVT_C ? bytes : 0;
    }
  up = fmin(up, model->all_up);
  down = fmin(down, model->all_down);
  prediction->floor_arithmetic = flops(shape) / rate;
  prediction->floor_link = fmax(fmax(to / up, from / down), (to + from) / both);
  prediction->floor_link = fmax(prediction->floor_link, host_load(model, to, from));
  for (int x = 0; x < DVT_POOLS; x++)
    if (model->pageable[x] && !shape->device[0].resident[x])
      prediction->floor_link = fmax(prediction->floor_link, (to + from) / model->host_copy);
}

/* What the formula knows of a choice: a device's block and the tiles in it. */
typedef struct guess {
  double block[DVT_DIMS], tile[DVT_DIMS], tiles[DVT_DIMS];
  double bytes[DVT_POOLS];  /* of each matrix on the host links, all devices together */
  double slower[DVT_POOLS]; /* than bytes that follow each other */
  double copies;
} guess;

static void guess_links(const dvt_model *model, const dvt_plan_shape *shape, guess *g) {
  uint8_t rows[DVT_MATRICES], cols[DVT_MATRICES], same[DVT_DIMS];
  double elements[DVT_POOLS];
  shape->rule->layout(shape, rows, cols, same);
  volumes(shape, elements);
  for (int x = 0; x < DVT_POOLS; x++) {
    g->bytes[x] = 0;
    g->slower[x] = 1;
    if (shape->device[0].resident[x] || !model->on_host[x] || elements[x] == 0)
      continue;
    const double row = g->tile[rows[x]] * (double)shape->element;
    g->bytes[x] = elements[x] * (double)shape->element;
    if (!model->pageable[x])
      g->slower[x] = strided(&model->device[0], row, (double)shape->pitch[x]);
    g->copies += g->tiles[rows[x]] * g->tiles[cols[x]];
  }
}

double dvt_model_guess(const dvt_model *model, const dvt_plan_shape *shape, const dvt_plan_choice *choice) {
  const int *grid = choice->grid, devices = grid[0] * grid[1] * grid[2];
  const dvt_model_device *d = &model->device[devices - 1]; /* the slowest */
  const double element = (double)shape->element;
  guess g = {.copies = 0};
  double count = 1, volume = 1, elements[DVT_POOLS];
  for (int x = 0; x < DVT_DIMS; x++) {
    g.block[x] = (double)shape->length[x] / grid[x];
    g.tile[x] = least(g.block[x], (double)choice->tile[x]);
    g.tiles[x] = g.tile[x] > 0 ? ceil(g.block[x] / g.tile[x]) : 1;
    count *= g.tiles[x];
    volume *= fmax((double)shape->length[x], 1);
    g.tile[x] = g.block[x] / g.tiles[x]; /* cuts are even */
  }
  guess_links(model, shape, &g);
  volumes(shape, elements);
  const double lead = choice->lead > 0 ? least((double)choice->lead, g.tile[2]) : g.tile[2];
  const double last = choice->last > 0 ? least((double)choice->last, g.tile[1]) : g.tile[1];
  double arithmetic =
      count * dvt_model_product(d, g.tile[0], g.tile[1], g.tile[2]) * flops(shape) / (2 * volume);
  arithmetic =
      fmax(arithmetic, (count + g.copies) * (model->enqueue + (devices - 1) * model->enqueue_beside));
  /* Links carry each tile once, or, without peers, what each device needs. */
  const bool shares = devices == 1 || shape->peer[0][devices - 1];
  const double more = shares ? 1 : 0.5 * (grid[0] + grid[1]);
  double way[2] = {0}, work[2] = {0}; /* up and down: what they cost the host's memory, and the links */
  for (int x = 0; x < DVT_POOLS; x++)
    for (int down = 0; down < 2; down++) {
      const double bytes = x != DVT_C              ? (down ? 0 : g.bytes[x] * more)
                           : down || shape->load_c ? g.bytes[x]
                                                   : 0;
      way[down] += bytes * sqrt(g.slower[x]);
      work[down] += bytes * g.slower[x];
    }
  double link = fmax(work[0] / (devices * d->up), work[1] / (devices * d->down));
  link = fmax(link, (work[0] + work[1]) / (devices * d->both));
  link = fmax(link, fmax(way[0] / model->all_up, way[1] / model->all_down));
  link = fmax(link, host_load(model, way[0], way[1]));
  for (int x = 0; x < DVT_POOLS; x++)
    if (model->pageable[x] && g.bytes[x] > 0)
      link = fmax(link, (way[0] + way[1]) / model->host_copy);
  link += g.copies * d->latency;
  const double start = (g.bytes[DVT_A] > 0 ? g.tile[0] * lead * element / d->up + d->latency : 0) +
                       (g.bytes[DVT_B] > 0 ? lead * g.tile[1] * element / d->up + d->latency : 0);
  const double end = g.bytes[DVT_C] > 0 ? g.tile[0] * last * element / d->down + d->latency : 0;
  const double sums =
      grid[2] > 1 ? (grid[2] - 1) * (elements[DVT_C] / (grid[0] * grid[1]) * element / (d->peer * grid[2]) +
                                     2 * (d->latency + d->launch))
                  : 0;
  const double shorter = least(arithmetic, link), longer = fmax(arithmetic, link);
  const double overlap = longer > 0 ? 0.35 * shorter * (shorter / longer) * (shorter / longer) : 0;
  return model->start + (devices - 1) * model->start_device + start + end + sums +
         (d->serial ? arithmetic + link : longer + overlap);
}
