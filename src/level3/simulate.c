/* SPDX-License-Identifier: Apache-2.0 */
/* The simulation of a plan. What a stream's step still needs is brought up to date when its speed changes, so that a
 * moment at which one step ends costs a look at each stream, and work only for those that shared with it. */
#include <math.h>
#include <stdlib.h>

#include "src/base/allocate.h"
#include "src/base/error.h"
#include "src/level3/model.h"

enum { STREAMS = DVT_PLAN_DEVICES * DVT_ROLES, OUTSIDE = DVT_PLAN_DEVICES };

/* What a step uses. */
typedef enum resource { UP, DOWN, PEER_LINK, ARITHMETIC, RESOURCES } resource;

typedef struct stream {
  int32_t head;  /* the step at its front, -1: none */
  int32_t met;   /* of that step's waits, these are over */
  bool runs;     /* that step has started */
  bool copies;   /* pageable memory */
  resource uses; /* all below: of the step that runs */
  int from, to;  /* of PEER_LINK: devices, or OUTSIDE; the same: a copy in a device's memory */
  double left;   /* of its work at the time `at`: bytes, or seconds of the whole device */
  double at;
  double begins; /* latency is over */
  double slower; /* than bytes that follow each other: on the link, */
  double weight; /* and in the host's memory */
  double speed, due;
} stream;

typedef struct simulation {
  const dvt_model *model;
  const dvt_plan_shape *shape;
  const dvt_plan *plan;
  int streams;
  stream stream[STREAMS];
  int32_t *next;       /* of each step: the next one of its stream, -1 at the end */
  double *issue, *end; /* of each step */
  /* How many steps use what at the moment. */
  int arithmetic[DVT_PLAN_DEVICES], up[DVT_PLAN_DEVICES], down[DVT_PLAN_DEVICES], copies;
  int given[DVT_PLAN_DEVICES + 1], taken[DVT_PLAN_DEVICES + 1];
  bool changed[RESOURCES]; /* DOWN with UP */
  double spent[DVT_PLAN_DEVICES][RESOURCES];
  double now;
} simulation;

static int stream_of(const simulation *y, const dvt_step *step) {
  return step->device * DVT_ROLES + (y->model->device[step->device].serial ? 0 : step->role);
}

static davit_status open_simulation(simulation *y) {
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
    y->stream[s].head = last[s] = -1;
  for (int d = 0; d < DVT_PLAN_DEVICES; d++)
    enqueued[d] = y->model->start + d * y->model->start_device;
  for (int32_t i = 0; i < y->plan->steps; i++) {
    const dvt_step *step = &y->plan->step[i];
    const int s = stream_of(y, step);
    *(last[s] < 0 ? &y->stream[s].head : &y->next[last[s]]) = i;
    last[s] = i;
    y->next[i] = -1;
    enqueued[step->device] += y->model->device[step->device].serial ? 0 : enqueue;
    y->issue[i] = enqueued[step->device];
    y->end[i] = INFINITY;
  }
  return DAVIT_SUCCESS;
}

static void close_simulation(simulation *y) {
  free(y->next);
  free(y->issue);
  free(y->end);
}

/* ---- a step begins, and ends ---- */

/* When the step at the front can begin, as far as is known. */
static double ready_at(const simulation *y, stream *s) {
  const dvt_step *one = &y->plan->step[s->head];
  while (s->met < one->waits && y->end[y->plan->wait[one->first_wait + s->met]] <= y->now)
    s->met++;
  return s->met == one->waits ? y->issue[s->head] : INFINITY;
}

static double copy_bytes(const simulation *y, const dvt_step *step) {
  return (double)dvt_tile_rows(y->plan, &step->out) * (double)dvt_tile_cols(y->plan, &step->out) *
         (double)y->shape->element;
}

/* The rate of trmm on a tile beside that of a product, fitted as the others in docs/notes/gemm.md, Parameters. */
static const double trmm_rate = 0.8;

static double product_work(const simulation *y, const dvt_step *step) {
  const dvt_model_device *d = &y->model->device[step->device];
  const dvt_term *t = &step->term;
  const double m = (double)dvt_tile_rows(y->plan, &step->out), n = (double)dvt_tile_cols(y->plan, &step->out);
  if (step->kind == DVT_STEP_ADD)
    return d->launch + 3 * m * n * (double)y->shape->element / d->memory;
  double k = 0;
  if (t->left.matrix >= 0)
    k = (double)(t->left.trans == 'N' ? dvt_tile_cols(y->plan, &t->left) : dvt_tile_rows(y->plan, &t->left));
  /* Half the flops: at about the rate of other products, of trmm at trmm_rate of it, of trsm at half of it, so as
   * long. */
  if (t->kernel == DVT_SYRK || t->kernel == DVT_HERK)
    k /= 2;
  if (t->kernel == DVT_TRMM)
    k /= 2 * trmm_rate;
  return dvt_model_product(d, m, n, k);
}

/* The device whose memory a matrix is in. */
static int owner_of(const simulation *y, int pool) {
  const int owner = y->model->owner[pool];
  return owner >= 0 && owner < y->plan->devices ? owner : OUTSIDE;
}

/* Counts a step that begins, or one that ends. */
static void count(simulation *y, const stream *s, int device, int by) {
  y->changed[s->uses == DOWN ? UP : s->uses] = true;
  y->arithmetic[device] += s->uses == ARITHMETIC ? by : 0;
  y->up[device] += s->uses == UP ? by : 0;
  y->down[device] += s->uses == DOWN ? by : 0;
  y->copies += s->copies ? by : 0;
  if (s->uses == PEER_LINK && s->from != s->to) {
    y->given[s->from] += by;
    y->taken[s->to] += by;
  }
}

static void begin(simulation *y, stream *s) {
  const dvt_step *step = &y->plan->step[s->head];
  const dvt_model_device *d = &y->model->device[step->device];
  const int pool = dvt_pool_of(step->out.matrix);
  const bool home = step->kind == DVT_STEP_LOAD || step->kind == DVT_STEP_STORE;
  s->runs = true;
  s->at = y->now;
  s->begins = y->now + (step->waits > 0 ? y->model->react : 0);
  s->copies = home && y->model->pageable[pool];
  s->speed = 0;
  s->due = INFINITY;
  s->slower = s->weight = 1;
  if (step->kind == DVT_STEP_PRODUCT || step->kind == DVT_STEP_ADD) {
    s->uses = ARITHMETIC;
    s->left = product_work(y, step);
    /* It has a part of the device meanwhile: half of it, if another product runs. */
    if (step->kind == DVT_STEP_PRODUCT && step->term.kernel == DVT_TRSM)
      s->begins += d->solve * (double)dvt_tile_rows(y->plan, &step->term.left);
  } else {
    s->begins += d->latency;
    s->uses = home && y->model->on_host[pool] ? (step->kind == DVT_STEP_LOAD ? UP : DOWN) : PEER_LINK;
    s->from = step->kind == DVT_STEP_PEER   ? step->from_device
              : step->kind == DVT_STEP_LOAD ? owner_of(y, pool)
                                            : step->device;
    s->to = step->kind == DVT_STEP_STORE ? owner_of(y, pool) : step->device;
    s->left = copy_bytes(y, step);
    if (home && !s->copies) {
      const double row = (double)dvt_tile_rows(y->plan, &step->out) * (double)y->shape->element;
      s->slower = dvt_model_strided(d, row, (double)y->shape->pitch[pool]);
      s->weight = dvt_model_weight(d, row, (double)y->shape->pitch[pool]);
    }
  }
  count(y, s, step->device, 1);
}

/* Work that is done at the speed until now. */
static void settle(simulation *y, stream *s, int device) {
  const double since = s->begins > s->at ? s->begins : s->at;
  y->spent[device][s->uses] += (y->now - s->at) * (s->uses == ARITHMETIC ? s->speed : 1);
  if (y->now > since)
    s->left -= (y->now - since) * s->speed;
  s->at = y->now;
}

static void end(simulation *y, stream *s, int device) {
  settle(y, s, device);
  count(y, s, device, -1);
  y->end[s->head] = y->now;
  s->head = y->next[s->head];
  s->runs = false;
  s->met = 0;
}

/* ---- who shares what ---- */

static void set_speed(simulation *y, stream *s, int device, double speed) {
  if (speed == s->speed)
    return;
  settle(y, s, device);
  s->speed = speed;
  s->due = (s->begins > y->now ? s->begins : y->now) + s->left / speed;
}

static bool does(const stream *s, resource which) {
  return s->runs && s->uses == which;
}

static void share_devices(simulation *y) {
  for (int i = 0; i < y->streams; i++)
    if (does(&y->stream[i], ARITHMETIC))
      set_speed(y, &y->stream[i], i / DVT_ROLES, 1.0 / y->arithmetic[i / DVT_ROLES]);
}

/* That of the slower device. */
static double peer_rate(const simulation *y, const stream *s) {
  const double from = s->from == OUTSIDE ? INFINITY : y->model->device[s->from].peer;
  const double to = s->to == OUTSIDE ? INFINITY : y->model->device[s->to].peer;
  return fmin(from, to);
}

static void share_peers(simulation *y) {
  for (int i = 0; i < y->streams; i++) {
    stream *s = &y->stream[i];
    if (!does(s, PEER_LINK))
      continue;
    const int given = y->given[s->from], taken = y->taken[s->to];
    set_speed(y, s, i / DVT_ROLES,
              s->from == s->to ? y->model->device[s->from].memory / 2
                               : peer_rate(y, s) / (given > taken ? given : taken));
  }
}

/* The speed on the device's link, or of the threads that copy pageable memory. */
static double home_speed(const simulation *y, const stream *s, int device) {
  const dvt_model_device *d = &y->model->device[device];
  double one = s->uses == UP ? d->up : d->down;
  if (y->up[device] > 0 && y->down[device] > 0 && d->both / 2 < one)
    one = d->both / 2;
  one /= s->slower;
  return s->copies ? fmin(one, y->model->host_copy / y->copies) : one;
}

/* All together, as the host's memory allows. */
static void share_host(simulation *y) {
  double total[2] = {0}, speed[STREAMS];
  for (int i = 0; i < y->streams; i++) {
    const stream *s = &y->stream[i];
    if (!does(s, UP) && !does(s, DOWN))
      continue;
    speed[i] = home_speed(y, s, i / DVT_ROLES);
    total[s->uses] += speed[i] * s->weight;
  }
  const double up = fmin(total[UP], y->model->all_up), down = fmin(total[DOWN], y->model->all_down);
  const double busy = fmax(dvt_model_host_load(y->model, up, down), 1);
  const double part[] = {up / total[UP] / busy,
                         down / total[DOWN] / busy}; /* of a way without steps: unused */
  for (int i = 0; i < y->streams; i++)
    if (does(&y->stream[i], UP) || does(&y->stream[i], DOWN))
      set_speed(y, &y->stream[i], i / DVT_ROLES, speed[i] * part[y->stream[i].uses]);
}

static void share(simulation *y) {
  if (y->changed[ARITHMETIC])
    share_devices(y);
  if (y->changed[PEER_LINK])
    share_peers(y);
  if (y->changed[UP])
    share_host(y);
  for (int r = 0; r < RESOURCES; r++)
    y->changed[r] = false;
}

/* On to the next moment at which something ends or may begin; false when all is over. */
static bool tick(simulation *y) {
  const double instant = 1e-9;
  double next = INFINITY;
  for (int i = 0; i < y->streams; i++) {
    stream *s = &y->stream[i];
    if (s->head < 0 || s->runs)
      continue;
    const double ready = ready_at(y, s);
    if (ready <= y->now)
      begin(y, s);
    else
      next = fmin(next, ready);
  }
  share(y);
  for (int i = 0; i < y->streams; i++)
    if (y->stream[i].runs)
      next = fmin(next, y->stream[i].due);
  if (isinf(next))
    return false;
  y->now = fmax(next, y->now);
  for (int i = 0; i < y->streams; i++) {
    stream *s = &y->stream[i];
    if (s->runs && s->due <= y->now + instant)
      end(y, s, i / DVT_ROLES);
  }
  return true;
}

davit_status dvt_simulate(const dvt_model *model, const dvt_plan_shape *shape, const dvt_plan *plan,
                          dvt_prediction *prediction) {
  simulation *y = dvt_allocate(1, sizeof *y);
  if (!y)
    return DAVIT_OUT_OF_HOST_MEMORY;
  y->model = model;
  y->shape = shape;
  y->plan = plan;
  davit_status status = open_simulation(y);
  while (status == DAVIT_SUCCESS && tick(y)) {
  }
  *prediction = (dvt_prediction){.seconds = y->now};
  for (int d = 0; d < plan->devices; d++) {
    prediction->load = fmax(prediction->load, y->spent[d][UP]);
    prediction->store = fmax(prediction->store, y->spent[d][DOWN]);
    prediction->peer = fmax(prediction->peer, y->spent[d][PEER_LINK]);
    prediction->arithmetic = fmax(prediction->arithmetic, y->spent[d][ARITHMETIC]);
  }
  for (int i = 0; i < y->streams && status == DAVIT_SUCCESS; i++)
    if (y->stream[i].head >= 0)
      status = davit_fail(DAVIT_INTERNAL_ERROR, "step %d of a plan can never %s", (int)y->stream[i].head,
                          y->stream[i].runs ? "end" : "start");
  close_simulation(y);
  free(y);
  dvt_model_floors(model, shape, plan->devices, prediction);
  return status;
}
