/* SPDX-License-Identifier: Apache-2.0 */
/* The planner of level 3 by itself: random routines, shapes, devices, caches and choices, each plan replayed on a
 * model that knows what every slot holds and which steps are over when a step starts.
 *
 * A plan is right if every product finds its operands, each term of the routine's rule is added once (in place:
 * in the rule's order, and from finished tiles), every output goes home once, complete, no tile is loaded that an
 * output has replaced, and no two steps that touch the same slot, or the same tile of the caller's C, may run at the
 * same time: one of them has to come before the other by the order of a stream or by a wait. */
#include "tests/support.h"

#include "src/level3/choose.h"
#include "src/level3/rule.h"

enum { NOTHING = -1, MOST_STREAMS = DVT_PLAN_DEVICES * DVT_ROLES, MOST_READS = 64 };

/* What a slot holds. `sums` are bits of the terms that have gone into a tile of C, by their numbers. */
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
  return o->row + (int64_t)o->col * p->cut[p->rows[o->matrix]].tiles;
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
  assert_in_range(slot, 0, m->plan->slots[device][pool] - 1);
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
  return s->rule->dealing(s) != DVT_DEAL_TRIANGLE || (s->uplo == 'L' ? i >= j : i <= j);
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

static bool same_operand(const dvt_operand *x, const dvt_operand *y) {
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
  if (s->out_slot < 0) {
    assert_true(m->shape->device[s->device].resident[DVT_C]);
    return &m->home[tile];
  }
  content *c = at(m, s->device, DVT_C, s->out_slot);
  if (c->matrix != DVT_C || c->tile != tile) { /* a fresh tile, which nobody has loaded */
    assert_true(s->kind == DVT_STEP_PRODUCT && s->term.beta != DVT_ONE && m->shape->rule->uniform);
    assert_true(s->term.beta == DVT_ZERO || !m->shape->load_c);
    /* the other half of a tile on the diagonal goes home, too */
    assert_true(m->shape->rule->dealing(m->shape) != DVT_DEAL_TRIANGLE || s->out.row != s->out.col);
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
  replay_operand(m, s, &s->term.left, s->left_slot, number);
  replay_operand(m, s, &s->term.right, s->right_slot, number);
}

static void replay(model *m, int32_t number) {
  const dvt_step *s = &m->plan->step[number];
  const int64_t tile = tile_of(m->plan, &s->out);
  tick(m, number);
  switch ((dvt_step_kind)s->kind) {
  case DVT_STEP_LOAD: {
    content *to = at(m, s->device, s->out.matrix, s->out_slot);
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
    content *from = at(m, s->from_device, s->out.matrix, s->from_slot);
    content *to = at(m, s->device, s->out.matrix, s->out_slot);
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
    content *c = output(m, s, number), *partial = at(m, s->device, DVT_SUM, s->left_slot);
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

static void check_plan(const dvt_plan_shape *shape, const dvt_plan *plan) {
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
      m.slot[d][x] = new_contents(&m, plan->slots[d][x]);
      bytes += (size_t)plan->slots[d][x] * plan->slot_bytes[x];
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

/* ---- random plans ---- */

static uint64_t seed = 1;

/* Lengths of a routine with a square or triangular operand, or result. */
static void make_square(dvt_plan_shape *shape, dvt_routine routine) {
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

static dvt_plan_shape random_shape(dvt_routine routine) {
  dvt_plan_shape shape = {.rule = dvt_rule_of(routine),
                          .length = {1 + random_below(&seed, 700), 1 + random_below(&seed, 700),
                                     random_below(&seed, 12) ? 1 + random_below(&seed, 900) : 0},
                          .side = random_below(&seed, 2) ? 'L' : 'R',
                          .uplo = random_below(&seed, 2) ? 'L' : 'U',
                          .transa = random_below(&seed, 2) ? 'T' : 'N',
                          .transb = random_below(&seed, 2) ? 'T' : 'N',
                          .element = 8,
                          .load_c = random_below(&seed, 2),
                          .devices = 1 + random_below(&seed, 8)};
  const bool peers = random_below(&seed, 4) > 0, equal = random_below(&seed, 2);
  for (int d = 0; d < shape.devices; d++) {
    const size_t tile = 64 * 64 * 8;
    shape.device[d].bytes =
        random_below(&seed, 2) ? (size_t)1 << 30 : tile * (2 + (size_t)random_below(&seed, 40));
    shape.device[d].rate = equal ? 1 : 1 + random_below(&seed, 5);
    for (int x = 0; x < DVT_POOLS; x++)
      shape.device[d].resident[x] = random_below(&seed, 5) == 0;
    for (int e = 0; e < shape.devices; e++)
      shape.peer[d][e] = peers;
  }
  make_square(&shape, routine);
  return shape;
}

static dvt_plan_choice random_choice(const dvt_plan_shape *shape) {
  dvt_plan_choice choice = {.grid = {1, 1, 1}};
  const dvt_dealing dealing = shape->rule->dealing(shape);
  const bool may_split = shape->peer[0][0] && shape->length[DVT_DIM_K] > 0 && shape->rule->splits_k;
  for (int i = 0; i < 3; i++) {
    const int dim = dealing == DVT_DEAL_ROWS     ? DVT_DIM_M
                    : dealing != DVT_DEAL_BLOCKS ? DVT_DIM_N
                                                 : random_below(&seed, may_split ? 3 : 2);
    const int used = choice.grid[0] * choice.grid[1] * choice.grid[2] / choice.grid[dim];
    const int more = 1 + random_below(&seed, shape->devices / used);
    choice.grid[dim] = more;
  }
  for (int x = 0; x < DVT_DIMS; x++)
    choice.tile[x] = 32 << random_below(&seed, 4);
  choice.lead = random_below(&seed, 2) ? choice.tile[DVT_DIM_K] / 4 : 0;
  choice.last = random_below(&seed, 2) ? choice.tile[DVT_DIM_N] / 4 : 0;
  choice.by_tile = random_below(&seed, 5);
  return choice;
}

/* Every other plan is one of gemm, the rest are of all routines in turn. */
CASE(test_random_plans) {
  int refused = 0, evicting[DVT_ROUTINES] = {0}, divided = 0;
  seed = 1;
  for (int trial = 0; trial < scaled(100000); trial++) {
    const dvt_routine routine = trial % 2 ? (dvt_routine)(trial / 2 % DVT_ROUTINES) : DVT_GEMM;
    const dvt_plan_shape shape = random_shape(routine);
    const dvt_plan_choice choice = random_choice(&shape);
    dvt_plan plan;
    davit_status status = dvt_plan_build(&shape, &choice, &plan);
    if (status == DAVIT_OUT_OF_DEVICE_MEMORY) {
      refused++;
      continue;
    }
    assert_int_equal(status, DAVIT_SUCCESS);
    check_plan(&shape, &plan);
    evicting[routine] += plan.evictions > 0;
    divided += choice.grid[DVT_DIM_K] > 1;
    dvt_plan_free(&plan);
  }
  assert_true(refused > 0 && divided > 0);
  for (int r = 0; r < DVT_ROUTINES; r++)
    assert_true(evicting[r] > 0);
}

/* ---- properties ---- */

static dvt_plan_shape large_shape(int64_t n, int devices) {
  dvt_plan_shape shape = {.rule = &dvt_gemm_rule,
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

static dvt_plan_choice square_choice(int rows, int cols, int parts, int64_t tile) {
  return (dvt_plan_choice){.grid = {rows, cols, parts}, .tile = {tile, tile, tile}};
}

static void count_loads(const dvt_plan *plan, int64_t loads[DVT_PLAN_DEVICES]) {
  memset(loads, 0, DVT_PLAN_DEVICES * sizeof *loads);
  for (int64_t i = 0; i < plan->steps; i++)
    if (plan->step[i].kind == DVT_STEP_LOAD)
      loads[plan->step[i].device]++;
}

/* Products before the first tile of C goes home, of 4 × 4 tiles and 4 of k: all of some quarters of k, then those of
 * one tile. */
CASE(test_order_of_products) {
  static const int products[] = {2 * 16 + 2, 3 * 16 + 1, 2 * 16 + 2, 16 + 3,
                                 4}; /* by quarters; 0 is the usual order */
  const dvt_plan_shape shape = large_shape(4096, 1);
  for (int quarters = 0; quarters < COUNT(products); quarters++) {
    dvt_plan_choice choice = square_choice(1, 1, 1, 1024);
    dvt_plan plan;
    int before = 0;
    choice.by_tile = quarters;
    assert_int_equal(dvt_plan_build(&shape, &choice, &plan), DAVIT_SUCCESS);
    for (int64_t i = 0; plan.step[i].kind != DVT_STEP_STORE; i++)
      before += plan.step[i].kind == DVT_STEP_PRODUCT;
    assert_int_equal(before, products[quarters]);
    dvt_plan_free(&plan);
  }
}

/* Long tiles are multiples of 512, short ones of 32, and no longer than was asked for. */
CASE(test_lengths_of_tiles) {
  static const struct {
    int64_t n, tile, lengths[5];
  } cases[] = {{8192, 3072, {3072, 3072, 2048}},
               {4000, 1024, {1024, 1024, 1024, 928}},
               {4100, 1024, {832, 832, 832, 832, 772}},
               {2049, 1024, {704, 704, 641}},
               {1000, 300, {256, 256, 256, 232}}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    const dvt_plan_shape shape = large_shape(cases[i].n, 1);
    const dvt_plan_choice choice = square_choice(1, 1, 1, cases[i].tile);
    dvt_plan plan;
    assert_int_equal(dvt_plan_build(&shape, &choice, &plan), DAVIT_SUCCESS);
    for (int x = 0; x < DVT_DIMS; x++)
      for (int t = 0; t < plan.cut[x].tiles; t++)
        assert_int_equal(dvt_cut_length(&plan.cut[x], t), cases[i].lengths[t]);
    dvt_plan_free(&plan);
  }
}

/* With peers and room for all, each tile of A and B crosses the host link once, in equal shares. */
CASE(test_each_tile_is_loaded_once) {
  static const int grids[][3] = {{1, 1, 1}, {2, 1, 1}, {2, 2, 1}, {4, 2, 1}, {1, 1, 4}, {2, 1, 2}};
  for (int g = 0; g < COUNT(grids); g++) {
    const int devices = grids[g][0] * grids[g][1] * grids[g][2];
    const dvt_plan_shape shape = large_shape(4096, devices);
    const dvt_plan_choice choice = square_choice(grids[g][0], grids[g][1], grids[g][2], 256);
    dvt_plan plan;
    int64_t loads[DVT_PLAN_DEVICES], sum = 0;
    assert_int_equal(dvt_plan_build(&shape, &choice, &plan), DAVIT_SUCCESS);
    count_loads(&plan, loads);
    for (int d = 0; d < devices; d++)
      sum += loads[d];
    assert_int_equal(sum, 2 * 16 * 16);
    for (int d = 0; d < devices; d++)
      assert_in_range(loads[d], sum / devices - 2, sum / devices + 2);
    assert_int_equal(plan.evictions, 0);
    dvt_plan_free(&plan);
  }
}

/* Where tiles have to make room, devices still share: fewer bytes cross the host link than without peers. */
CASE(test_sharing_survives_eviction) {
  int64_t sums[2] = {0};
  for (int peers = 0; peers < 2; peers++) {
    dvt_plan_shape shape = large_shape(4096, 4);
    const dvt_plan_choice choice = square_choice(2, 2, 1, 256);
    dvt_plan plan;
    int64_t loads[DVT_PLAN_DEVICES];
    for (int d = 0; d < 4; d++) {
      shape.device[d].bytes = (size_t)60 * 256 * 256 * 8;
      for (int e = 0; e < 4; e++)
        shape.peer[d][e] = peers;
    }
    assert_int_equal(dvt_plan_build(&shape, &choice, &plan), DAVIT_SUCCESS);
    assert_true(plan.evictions > 0);
    count_loads(&plan, loads);
    for (int d = 0; d < 4; d++) {
      sums[peers] += loads[d];
      assert_true(loads[d] > 0);
    }
    dvt_plan_free(&plan);
  }
  assert_true(10 * sums[1] < 7 * sums[0]);
}

/* A device that is three times as fast gets three times as much. */
CASE(test_shares_follow_the_rates) {
  dvt_plan_shape shape = large_shape(4096, 2);
  const dvt_plan_choice choice = square_choice(1, 2, 1, 256);
  dvt_plan plan;
  double flops[2] = {0};
  shape.device[0].rate = 3;
  shape.device[1].rate = 1;
  assert_int_equal(dvt_plan_build(&shape, &choice, &plan), DAVIT_SUCCESS);
  for (int64_t i = 0; i < plan.steps; i++)
    if (plan.step[i].kind == DVT_STEP_PRODUCT)
      flops[plan.step[i].device] +=
          (double)dvt_tile_rows(&plan, &plan.step[i].out) * (double)dvt_tile_cols(&plan, &plan.step[i].out);
  assert_true(flops[0] > 2.8 * flops[1] && flops[0] < 3.2 * flops[1]);
  dvt_plan_free(&plan);
}

/* ---- choices ---- */

/* Figures of a made-up card, fast links between two of them. */
static dvt_model made_up_model(int devices) {
  dvt_model model;
  memset(&model, 0, sizeof model);
  for (int d = 0; d < devices; d++)
    model.device[d] = (dvt_model_device){.rate = 50e12,
                                         .area = 150e3,
                                         .depth = 64,
                                         .launch = 4e-6,
                                         .up = 55e9,
                                         .down = 55e9,
                                         .both = 100e9,
                                         .row = 1500,
                                         .latency = 5e-6,
                                         .peer = 400e9,
                                         .memory = 4e12};
  for (int x = 0; x < DVT_POOLS; x++)
    model.on_host[x] = true;
  model.all_up = model.all_down = 170e9;
  model.all_both = 300e9;
  model.host_copy = 70e9;
  model.enqueue = model.enqueue_beside = 5e-6;
  model.start = model.start_device = 50e-6;
  return model;
}

static int64_t random_length(double most) {
  const double unit = 0.5 + 0.5 * random_unit(&seed);
  return (int64_t)(64 * exp(unit * log(most / 64)));
}

static void set_shape(dvt_plan_shape *shape, int64_t m, int64_t n, int64_t k) {
  memcpy(shape->length, (int64_t[]){m, n, k}, sizeof shape->length);
  shape->pitch[DVT_A] = shape->pitch[DVT_C] = (size_t)m * 8;
  shape->pitch[DVT_B] = (size_t)k * 8;
}

/* A routine on a card or several: shapes up to 60000, of a call that finds its operands on the host, and so much
 * memory that all of it fits, or less. */
static dvt_plan_shape shape_to_choose_for(dvt_routine routine, int64_t m, int64_t n, int64_t k, size_t bytes,
                                          int devices) {
  dvt_plan_shape shape = large_shape(0, devices);
  shape.rule = dvt_rule_of(routine);
  set_shape(&shape, m, n, k);
  shape.side = m < n ? 'L' : 'R';
  shape.uplo = k < n ? 'L' : 'U';
  make_square(&shape, routine);
  set_shape(&shape, shape.length[DVT_DIM_M], shape.length[DVT_DIM_N], shape.length[DVT_DIM_K]);
  for (int d = 0; d < devices; d++) {
    shape.device[d].bytes = bytes;
    shape.device[d].resident[DVT_B] = routine == DVT_SYRK || routine == DVT_HERK; /* there is none */
  }
  return shape;
}

/* The best choice is hardly slower than one of fewer devices, and no faster than the floors; its plan is right. Returns
 * its time, or that of fewer devices if that is shorter. */
static double check_choice(const dvt_plan_shape *shape, double before, int *evicting) {
  const double most_slower = 1.03;
  const dvt_model model = made_up_model(shape->devices);
  dvt_chosen chosen;
  dvt_prediction floors = {0};
  dvt_plan plan;
  assert_int_equal(dvt_choose(&model, shape, 0, false, &chosen), DAVIT_SUCCESS);
  dvt_model_floors(&model, shape, shape->devices, &floors);
  const dvt_candidate *best = &chosen.candidate[0];
  if (!(best->seconds <= most_slower * before && best->seconds >= floors.floor_arithmetic &&
        best->seconds >= floors.floor_link))
    fail_msg("%s m %lld n %lld k %lld, %d devices of %zu bytes: %g s, on fewer %g, floors %g and %g",
             shape->rule->name, (long long)shape->length[0], (long long)shape->length[1],
             (long long)shape->length[2], shape->devices, shape->device[0].bytes, best->seconds, before,
             floors.floor_arithmetic, floors.floor_link);
  assert_int_equal(dvt_plan_build(shape, &best->choice, &plan), DAVIT_SUCCESS);
  check_plan(shape, &plan);
  *evicting += plan.evictions > 0;
  dvt_plan_free(&plan);
  return fmin(best->seconds, before);
}

/* Every other shape is one of gemm, the rest are of all routines in turn. */
CASE(test_choices_for_random_shapes) {
  static const size_t memories[] = {(size_t)1 << 40, (size_t)64 << 30, (size_t)4 << 30};
  const int trials = scaled(400);
  int evicting = 0;
  seed = 11;
  for (int trial = 0; trial < trials; trial++) {
    const dvt_routine routine = trial % 2 ? (dvt_routine)(trial / 2 % DVT_ROUTINES) : DVT_GEMM;
    const int64_t m = random_length(60000), n = random_length(60000), k = random_length(60000);
    const size_t bytes = memories[random_below(&seed, COUNT(memories))];
    double seconds = INFINITY;
    for (int devices = 1; devices <= (trial % 16 ? 8 : DVT_PLAN_DEVICES); devices++) {
      const dvt_plan_shape shape = shape_to_choose_for(routine, m, n, k, bytes, devices);
      seconds = check_choice(&shape, seconds, &evicting);
    }
  }
  assert_true(evicting > 0 || trials < 20);
}

/* A small C and a long k: k is divided, and the devices share the work of the link. */
CASE(test_long_k_is_divided) {
  double seconds[5] = {0};
  for (int devices = 1; devices <= 4; devices *= 2) {
    const dvt_model model = made_up_model(devices);
    dvt_plan_shape shape = large_shape(0, devices);
    dvt_chosen chosen;
    set_shape(&shape, 500, 500, 200000);
    assert_int_equal(dvt_choose(&model, &shape, 0, false, &chosen), DAVIT_SUCCESS);
    assert_true(devices == 1 || chosen.candidate[0].choice.grid[DVT_DIM_K] > 1);
    seconds[devices] = chosen.candidate[0].seconds;
  }
  assert_true(seconds[2] < 0.6 * seconds[1] && seconds[4] < 0.4 * seconds[1]);
}

static double played(const dvt_model *model, const dvt_plan_shape *shape, const dvt_plan_choice *choice) {
  dvt_plan plan;
  dvt_prediction p;
  assert_int_equal(dvt_plan_build(shape, choice, &plan), DAVIT_SUCCESS);
  assert_int_equal(dvt_model_play(model, shape, &plan, &p), DAVIT_SUCCESS);
  dvt_plan_free(&plan);
  return p.seconds;
}

/* The least of all orders, of tiles of all lengths that are a power of two, with short ones at the ends and without. */
static double least_of_all(const dvt_model *model, const dvt_plan_shape *shape, const int grid[DVT_DIMS]) {
  enum { SHORTEST = 512, LENGTHS = 5, MOST_TILES = 128 };
  double least = INFINITY;
  for (int i = 0; i < LENGTHS * LENGTHS * LENGTHS * 8; i++) {
    const int length[] = {i / 8 % LENGTHS, i / 8 / LENGTHS % LENGTHS, i / 8 / LENGTHS / LENGTHS};
    dvt_plan_choice choice = {.by_tile = i % 4 + 1};
    double tiles = 1;
    for (int x = 0; x < DVT_DIMS; x++) {
      choice.grid[x] = grid[x];
      choice.tile[x] = (int64_t)SHORTEST << length[x];
      tiles *= ceil((double)shape->length[x] / grid[x] / (double)choice.tile[x]);
    }
    choice.lead = i / 4 % 2 ? choice.tile[DVT_DIM_K] / 4 : 0;
    choice.last = i / 4 % 2 ? choice.tile[DVT_DIM_N] / 4 : 0;
    if ((int64_t)tiles <= MOST_TILES)
      least = fmin(least, played(model, shape, &choice));
  }
  return least;
}

/* What is chosen is hardly slower than the best of some thousands of choices, whether the links, the host's memory or
 * arithmetic is the bound. */
CASE(test_choice_is_near_the_best) {
  static const struct {
    int64_t m, n, k;
    int devices;
  } cases[] = {{2000, 2000, 2000, 1}, {4000, 4000, 4000, 1}, {4000, 4000, 4000, 2},  {4000, 4000, 4000, 4},
               {8192, 8192, 8192, 2}, {8192, 8192, 8192, 4}, {3000, 3000, 15000, 4}, {12000, 2000, 1300, 4}};
  static const int grids[][DVT_DIMS] = {{1, 1, 1}, {1, 2, 1}, {2, 1, 1}, {1, 1, 2}, {2, 2, 1},
                                        {1, 4, 1}, {4, 1, 1}, {1, 2, 2}, {2, 1, 2}, {1, 1, 4}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    dvt_model model = made_up_model(cases[i].devices);
    dvt_plan_shape shape = large_shape(0, cases[i].devices);
    dvt_chosen chosen;
    double least = INFINITY;
    model.all_both = 150e9; /* so that four cards share the host's memory */
    set_shape(&shape, cases[i].m, cases[i].n, cases[i].k);
    assert_int_equal(dvt_choose(&model, &shape, 0, false, &chosen), DAVIT_SUCCESS);
    const dvt_candidate *best = &chosen.candidate[0];
    assert_true(best->seconds == played(&model, &shape, &best->choice));
    for (size_t g = 0; g < COUNT(grids); g++)
      if (grids[g][0] * grids[g][1] * grids[g][2] == cases[i].devices)
        least = fmin(least, least_of_all(&model, &shape, grids[g]));
    if (best->seconds > 1.05 * least)
      fail_msg("%lld %lld %lld on %d devices: %.3f ms, the best %.3f; order %d", (long long)cases[i].m,
               (long long)cases[i].n, (long long)cases[i].k, cases[i].devices, 1e3 * best->seconds,
               1e3 * least, best->choice.by_tile);
  }
}

/* Dimensions that share a cut are chosen one length of tiles. What is left of the time of a triangular routine
 * beside its arithmetic, half of gemm's, is small: it needs short tiles, and few of C to begin with. */
CASE(test_choices_for_routines) {
  const int64_t n = 16384;
  double gemm = 0;
  for (int r = 0; r < DVT_ROUTINES; r++) {
    const dvt_model model = made_up_model(1);
    dvt_plan_shape shape = large_shape(0, 1);
    uint8_t rows[DVT_MATRICES], cols[DVT_MATRICES], same[DVT_DIMS];
    dvt_chosen chosen;
    dvt_plan plan;
    shape.rule = dvt_rule_of((dvt_routine)r);
    shape.side = shape.uplo = 'L';
    shape.load_c = !shape.rule->uniform;
    set_shape(&shape, n, n, n);
    shape.rule->layout(&shape, rows, cols, same);
    assert_int_equal(dvt_choose(&model, &shape, 0, false, &chosen), DAVIT_SUCCESS);
    for (int i = 0; i < chosen.count; i++) {
      const dvt_plan_choice *choice = &chosen.candidate[i].choice;
      for (int x = 0; x < DVT_DIMS; x++)
        assert_int_equal(choice->tile[x], choice->tile[same[x]]);
      assert_true(same[DVT_DIM_K] == DVT_DIM_K || choice->lead == 0);
      assert_true(same[DVT_DIM_N] == DVT_DIM_N || choice->last == 0);
    }
    assert_int_equal(dvt_plan_build(&shape, &chosen.candidate[0].choice, &plan), DAVIT_SUCCESS);
    check_plan(&shape, &plan);
    dvt_plan_free(&plan);
    gemm = r == DVT_GEMM ? chosen.candidate[0].seconds : gemm;
    assert_true((r != DVT_TRMM && r != DVT_TRSM) || chosen.candidate[0].seconds < 0.63 * gemm);
  }
}

/* Member by member, for the bytes between members may differ. */
static void assert_same_choice(const dvt_plan_choice *x, const dvt_plan_choice *y) {
  assert_memory_equal(x->grid, y->grid, sizeof x->grid);
  assert_memory_equal(x->tile, y->tile, sizeof x->tile);
  assert_int_equal(x->lead, y->lead);
  assert_int_equal(x->last, y->last);
  assert_int_equal(x->by_tile, y->by_tile);
}

static bool same_term(const dvt_term *x, const dvt_term *y) {
  return x->kernel == y->kernel && x->alpha == y->alpha && x->beta == y->beta &&
         same_operand(&x->left, &y->left) && same_operand(&x->right, &y->right);
}

static void assert_same_step(const dvt_step *x, const dvt_step *y) {
  assert_true(x->kind == y->kind && x->device == y->device && x->role == y->role &&
              x->from_device == y->from_device && x->marked == y->marked);
  assert_true(same_term(&x->term, &y->term) && same_operand(&x->out, &y->out));
  assert_true(x->out_slot == y->out_slot && x->left_slot == y->left_slot && x->right_slot == y->right_slot &&
              x->from_slot == y->from_slot);
  assert_true(x->first_wait == y->first_wait && x->waits == y->waits);
}

CASE(test_what_was_chosen_is_remembered) {
  const dvt_model model = made_up_model(2);
  dvt_plan_shape shape = large_shape(0, 2);
  dvt_chosen first, again;
  set_shape(&shape, 5000, 4000, 3000);
  assert_int_equal(dvt_choose(&model, &shape, 0, true, &first), DAVIT_SUCCESS);
  assert_int_equal(dvt_choose(&model, &shape, 0, true, &again), DAVIT_SUCCESS);
  assert_same_choice(&first.candidate[0].choice, &again.candidate[0].choice);
  assert_true(first.candidate[0].seconds == again.candidate[0].seconds);
}

CASE(test_same_shape_same_plan) {
  dvt_plan_shape shape = large_shape(1000, 4);
  const dvt_plan_choice choice = {.grid = {1, 2, 2}, .tile = {64, 96, 128}, .lead = 32, .last = 32};
  dvt_plan one, two;
  assert_int_equal(dvt_plan_build(&shape, &choice, &one), DAVIT_SUCCESS);
  assert_int_equal(dvt_plan_build(&shape, &choice, &two), DAVIT_SUCCESS);
  assert_int_equal(one.steps, two.steps);
  assert_memory_equal(one.wait, two.wait, (size_t)one.waits * sizeof *one.wait);
  for (int64_t i = 0; i < one.steps; i++)
    assert_same_step(&one.step[i], &two.step[i]);
  dvt_plan_free(&one);
  dvt_plan_free(&two);
}
