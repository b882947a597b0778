/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/plans.h"

/* ---- the replay of a plan ---- */

enum { NOTHING = -1, MOST_STREAMS = DVT_PLAN_DEVICES * DVT_ROLES, MOST_READS = 64 };

/* What a tile buffer holds. `sums` are bits of the terms that have gone into a tile of C, by their numbers. */
typedef struct content {
  int matrix;
  int64_t tile;
  uint64_t *sums;
  int32_t writer;
  int32_t reads;
  int32_t read[MOST_READS];
} content;

typedef struct model {
  const dvt_plan_shape *shape;
  const dvt_plan *plan;
  int64_t words; /* of an output's bits */
  content *slot[DVT_PLAN_DEVICES][DVT_POOLS];
  content *home; /* tiles of C in the caller's memory */
  unsigned char *stored;
  int32_t (*clock)[MOST_STREAMS]; /* of each step: the newest step of each stream that is over before it */
  int32_t last[MOST_STREAMS];
} model;

static int stream_of(const dvt_step *s) {
  return s->device * DVT_ROLES + s->role;
}

static int64_t tile_of(const dvt_plan *p, const dvt_operand *o) {
  return o->row + (int64_t)o->col * p->cut[p->layout.rows[o->matrix]].tiles;
}

static void tick(model *m, int32_t number) {
  const dvt_step *s = &m->plan->step[number];
  int32_t *clock = m->clock[number];
  for (int i = 0; i < MOST_STREAMS; i++)
    clock[i] = -1;
  const int32_t before = m->last[stream_of(s)];
  for (int w = -1; w < s->waits; w++) {
    const int32_t other = w < 0 ? before : m->plan->wait[s->first_wait + w];
    if (other < 0)
      continue;
    assert_in_range(other, 0, number - 1);
    for (int i = 0; i < MOST_STREAMS; i++)
      clock[i] = m->clock[other][i] > clock[i] ? m->clock[other][i] : clock[i];
    const int stream = stream_of(&m->plan->step[other]);
    assert_true(w < 0 || m->plan->step[other].marked);
    clock[stream] = other > clock[stream] ? other : clock[stream];
  }
  m->last[stream_of(s)] = number;
}

static void expect_over(const model *m, int32_t number, int32_t other) {
  if (other >= 0 && other != number)
    assert_true(m->clock[number][stream_of(&m->plan->step[other])] >= other);
}

static void reads(model *m, content *c, int32_t number) {
  expect_over(m, number, c->writer);
  assert_true(c->reads < MOST_READS);
  c->read[c->reads++] = number;
}

static void writes(model *m, content *c, int32_t number) {
  expect_over(m, number, c->writer);
  for (int32_t i = 0; i < c->reads; i++)
    expect_over(m, number, c->read[i]);
  c->reads = 0;
  c->writer = number;
}

static content *at(model *m, int device, int matrix, int32_t slot) {
  const int pool = dvt_pool_of(matrix);
  assert_in_range(slot, 0, m->plan->buffers[device][pool] - 1);
  return &m->slot[device][pool][slot];
}

static void fill(model *m, content *c, int matrix, int64_t tile, int32_t number) {
  if (c->matrix == DVT_C && c->tile != NOTHING && c->sums[0]) { /* begun, so stored or added by now */
    bool added = m->stored[c->tile];
    for (int32_t i = 0; i < c->reads; i++)
      added = added || m->plan->step[c->read[i]].kind == DVT_STEP_PEER;
    assert_true(added);
  }
  writes(m, c, number);
  c->matrix = matrix;
  c->tile = tile;
  memset(c->sums, 0, (size_t)m->words * sizeof *c->sums);
}

/* ---- terms ---- */

static bool is_output(const model *m, int64_t i, int64_t j) {
  const dvt_plan_shape *s = m->shape;
  return s->rule->distribution(s) != DVT_DISTRIBUTE_TRIANGLE || (s->uplo == 'L' ? i >= j : i <= j);
}

static int64_t terms_of(const model *m, int64_t i, int64_t j) {
  const dvt_rule *rule = m->shape->rule;
  const int64_t per_k = rule->terms_per_k > 0 ? rule->terms_per_k : 1;
  return rule->uniform ? per_k * m->plan->cut[DVT_DIM_K].tiles : rule->terms(m->shape, m->plan, i, j);
}

/* A term as the rule says it is, without the factors that the planner sets. */
static dvt_term term_of(const model *m, int64_t i, int64_t j, int64_t number) {
  dvt_term t = {.alpha = DVT_ALPHA, .left.matrix = -1, .right.matrix = -1};
  m->shape->rule->term(m->shape, m->plan, i, j, number, &t);
  if (m->shape->rule->uniform && m->shape->length[DVT_DIM_K] == 0)
    t.left.matrix = t.right.matrix = -1;
  return t;
}

bool same_operand(const dvt_operand *x, const dvt_operand *y) {
  return x->matrix == y->matrix && x->trans == y->trans && x->row == y->row && x->col == y->col;
}

static bool has_bit(const content *c, int64_t number) {
  return c->sums[number / 64] >> (number % 64) & 1;
}

static bool is_begun(const model *m, const content *c) {
  bool any = false;
  for (int64_t w = 0; w < m->words; w++)
    any = any || c->sums[w];
  return any;
}

static bool is_finished(const model *m, const content *c, int64_t i, int64_t j) {
  for (int64_t number = 0; number < terms_of(m, i, j); number++)
    if (term_of(m, i, j, number).kernel != DVT_ROUTINES && !has_bit(c, number))
      return false;
  return true;
}

/* Which of the rule's terms a step adds: of terms without operands the first that is missing. */
static int64_t number_of(const model *m, const dvt_step *s, const content *c) {
  for (int64_t number = 0; number < terms_of(m, s->out.row, s->out.col); number++) {
    const dvt_term t = term_of(m, s->out.row, s->out.col, number);
    if (t.kernel == s->term.kernel && t.alpha == s->term.alpha && same_operand(&t.left, &s->term.left) &&
        same_operand(&t.right, &s->term.right) && !(t.left.matrix < 0 && has_bit(c, number)))
      return number;
  }
  fail_msg("%s: a product that is no term of its tile", m->shape->rule->name);
  return -1;
}

static content *output(model *m, const dvt_step *s, int32_t number) {
  const int64_t tile = tile_of(m->plan, &s->out);
  if (s->out_buffer < 0) {
    assert_true(m->shape->device[s->device].resident[DVT_C]);
    return &m->home[tile];
  }
  content *c = at(m, s->device, DVT_C, s->out_buffer);
  if (c->matrix != DVT_C || c->tile != tile) { /* a fresh tile, which nobody has loaded */
    assert_true(s->kind == DVT_STEP_PRODUCT && s->term.beta != DVT_ONE && m->shape->rule->uniform);
    assert_true(s->term.beta == DVT_ZERO || !m->shape->load_c);
    /* the other half of a tile on the diagonal goes home, too */
    assert_true(m->shape->rule->distribution(m->shape) != DVT_DISTRIBUTE_TRIANGLE ||
                s->out.row != s->out.col);
    fill(m, c, DVT_C, tile, number);
  }
  return c;
}

/* An operand that is another tile of C is finished. */
static void expect_state(const model *m, const dvt_operand *o, const content *c) {
  assert_true(o->matrix != DVT_C || is_finished(m, c, o->row, o->col));
}

static void replay_operand(model *m, const dvt_step *s, const dvt_operand *o, int32_t slot, int32_t number) {
  if (o->matrix < 0)
    return;
  if (m->shape->device[s->device].resident[dvt_pool_of(o->matrix)]) {
    assert_int_equal(slot, -1);
    return;
  }
  content *c = at(m, s->device, o->matrix, slot);
  assert_int_equal(c->matrix, o->matrix);
  assert_int_equal(c->tile, tile_of(m->plan, o));
  expect_state(m, o, c);
  reads(m, c, number);
}

static void replay_product(model *m, const dvt_step *s, int32_t number) {
  content *c = output(m, s, number);
  const int64_t term = number_of(m, s, c);
  assert_true(is_output(m, s->out.row, s->out.col));
  writes(m, c, number);
  assert_false(has_bit(c, term)); /* each term once */
  if (m->shape->rule->uniform)
    assert_int_equal(is_begun(m, c), s->term.beta == DVT_ONE);
  else
    assert_true(s->term.beta == term_of(m, s->out.row, s->out.col, term).beta &&
                (term == 0 || has_bit(c, term - 1)));
  c->sums[term / 64] |= UINT64_C(1) << (term % 64);
  replay_operand(m, s, &s->term.left, s->left_buffer, number);
  replay_operand(m, s, &s->term.right, s->right_buffer, number);
}

static void replay(model *m, int32_t number) {
  const dvt_step *s = &m->plan->step[number];
  const int64_t tile = tile_of(m->plan, &s->out);
  tick(m, number);
  switch ((dvt_step_kind)s->kind) {
  case DVT_STEP_LOAD: {
    content *to = at(m, s->device, s->out.matrix, s->out_buffer);
    fill(m, to, s->out.matrix, tile, number);
    if (s->out.matrix == DVT_C) {
      reads(m, &m->home[tile], number);
      memcpy(to->sums, m->home[tile].sums, (size_t)m->words * sizeof *to->sums);
    } else if (s->out.matrix == DVT_B && m->shape->rule->over_b) { /* C will replace it */
      reads(m, &m->home[tile], number);
      assert_false(m->stored[tile]);
    }
    break;
  }
  case DVT_STEP_PEER: {
    content *from = at(m, s->from_device, s->out.matrix, s->from_buffer);
    content *to = at(m, s->device, s->out.matrix, s->out_buffer);
    assert_true(m->shape->peer[s->from_device][s->device]);
    assert_int_equal(from->matrix, s->out.matrix);
    assert_int_equal(from->tile, tile);
    reads(m, from, number);
    fill(m, to, s->out.matrix == DVT_C ? DVT_SUM : s->out.matrix, tile, number);
    memcpy(to->sums, from->sums, (size_t)m->words * sizeof *to->sums);
    break;
  }
  case DVT_STEP_PRODUCT:
    replay_product(m, s, number);
    break;
  case DVT_STEP_ADD: {
    content *c = output(m, s, number), *partial = at(m, s->device, DVT_SUM, s->left_buffer);
    assert_int_equal(partial->matrix, DVT_SUM);
    assert_int_equal(partial->tile, tile);
    reads(m, partial, number);
    writes(m, c, number);
    for (int64_t w = 0; w < m->words; w++) {
      assert_true((c->sums[w] & partial->sums[w]) == 0);
      c->sums[w] |= partial->sums[w];
    }
    break;
  }
  case DVT_STEP_STORE: {
    content *c = output(m, s, number);
    reads(m, c, number);
    assert_true(is_finished(m, c, s->out.row, s->out.col));
    assert_false(m->stored[tile]);
    m->stored[tile] = 1;
    writes(m, &m->home[tile], number);
    memcpy(m->home[tile].sums, c->sums, (size_t)m->words * sizeof *c->sums);
    break;
  }
  }
}

static content *new_contents(const model *m, int64_t count) {
  content *made = kept_zeros(((size_t)count + 1) * sizeof *made);
  uint64_t *sums = kept_zeros(((size_t)count + 1) * (size_t)m->words * sizeof *sums);
  for (int64_t i = 0; i < count; i++) {
    made[i].sums = sums + i * m->words;
    made[i].tile = made[i].writer = NOTHING;
  }
  return made;
}

void check_plan(const dvt_plan_shape *shape, const dvt_plan *plan) {
  SCOPE;
  model m = {.shape = shape, .plan = plan};
  const int64_t rows = plan->cut[DVT_DIM_M].tiles, cols = plan->cut[DVT_DIM_N].tiles, tiles = rows * cols;
  m.words = (2 * plan->cut[DVT_DIM_K].tiles + rows + cols) / 64 + 1; /* enough for every rule */
  m.home = new_contents(&m, tiles);
  m.stored = kept_zeros((size_t)tiles);
  m.clock = kept(((size_t)plan->steps + 1) * sizeof *m.clock);
  for (int i = 0; i < MOST_STREAMS; i++)
    m.last[i] = -1;
  for (int d = 0; d < plan->devices; d++) {
    size_t bytes = 0;
    for (int x = 0; x < DVT_POOLS; x++) {
      m.slot[d][x] = new_contents(&m, plan->buffers[d][x]);
      bytes += (size_t)plan->buffers[d][x] * plan->buffer_bytes[x];
    }
    assert_true(bytes <= shape->device[d].bytes);
  }
  for (int32_t i = 0; i < plan->steps; i++)
    replay(&m, i);
  for (int64_t t = 0; t < tiles; t++)
    if (is_output(&m, t % rows, t / rows))
      assert_true(m.stored[t] || is_finished(&m, &m.home[t], t % rows, t / rows));
    else
      assert_false(m.stored[t]);
}

/* ---- shapes and choices ---- */

dvt_plan_shape large_shape(int64_t n, int devices) {
  dvt_plan_shape shape = {.rule = dvt_rule_of(DVT_GEMM),
                          .length = {n, n, n},
                          .transa = 'N',
                          .transb = 'N',
                          .element = 8,
                          .devices = devices};
  for (int d = 0; d < devices; d++) {
    shape.device[d].bytes = (size_t)1 << 40;
    for (int e = 0; e < devices; e++)
      shape.peer[d][e] = true;
  }
  return shape;
}

void set_shape(dvt_plan_shape *shape, int64_t m, int64_t n, int64_t k) {
  memcpy(shape->length, (int64_t[]){m, n, k}, sizeof shape->length);
  shape->pitch[DVT_A] = shape->pitch[DVT_C] = (size_t)m * 8;
  shape->pitch[DVT_B] = (size_t)k * 8;
}

void make_square(dvt_plan_shape *shape, dvt_routine routine) {
  int64_t *length = shape->length;
  if (routine >= DVT_SYRK && routine <= DVT_HER2K)
    length[DVT_DIM_M] = length[DVT_DIM_N];
  else if (routine != DVT_GEMM)
    length[DVT_DIM_K] = length[shape->side == 'R' ? DVT_DIM_N : DVT_DIM_M];
  if (shape->rule->uniform && !shape->rule->over_b)
    return;
  shape->load_c = !shape->rule->uniform; /* as the call has it */
  for (int d = 0; d < shape->devices; d++)
    shape->device[d].resident[DVT_B] = shape->device[d].resident[DVT_C] = false;
}

dvt_plan_choice square_choice(int rows, int cols, int parts, int64_t tile) {
  return (dvt_plan_choice){.grid = {rows, cols, parts}, .tile = {tile, tile, tile}};
}

double played(const dvt_model *model, const dvt_plan_shape *shape, const dvt_plan_choice *choice) {
  dvt_plan plan;
  dvt_prediction p;
  assert_int_equal(dvt_plan_build(shape, choice, &plan), DAVIT_SUCCESS);
  assert_int_equal(dvt_simulate(model, shape, &plan, &p), DAVIT_SUCCESS);
  dvt_plan_free(&plan);
  return p.seconds;
}
