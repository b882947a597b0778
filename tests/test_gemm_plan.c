/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of the tiled product by itself: random shapes, devices and caches, each plan replayed on a model
 * that knows what every slot holds. A plan is right if every product finds its operands, each product is done
 * once, k ascends, and every tile of C goes home once, complete. */
#include "tests/support.h"

#include "src/gemm/plan.h"

enum { NOTHING = -1 };

/* What a slot holds: a tile's number, with how many products went into a tile of C. */
typedef struct content {
  int64_t tile;
  int matrix;
  int64_t products;
} content;

typedef struct model {
  const dvt_plan_shape *shape;
  const dvt_plan *plan;
  content *slot[DVT_PLAN_DEVICES];
  int64_t *resident_products; /* of tiles of C that are worked on in place */
  unsigned char *stored;
  int64_t loads[DVT_PLAN_DEVICES];
} model;

static int64_t tile_of(const dvt_plan *p, int matrix, const dvt_step *s) {
  return matrix == DVT_A   ? s->i + s->k * p->tiles_m
         : matrix == DVT_B ? s->k + s->j * p->tiles_k
                           : s->i + s->j * p->tiles_m;
}

static void fill(model *m, int device, int32_t slot, int matrix, int64_t tile) {
  assert_in_range(slot, 0, m->plan->slots[device] - 1);
  content *c = &m->slot[device][slot];
  if (c->matrix == DVT_C && c->tile != NOTHING) /* a tile of C may only be replaced after it went home */
    assert_true(m->stored[c->tile]);
  *c = (content){tile, matrix, 0};
}

static void replay_product(model *m, const dvt_step *s) {
  const dvt_plan *p = m->plan;
  const bool *resident = m->shape->device[s->device].resident;
  int64_t *products = &m->resident_products[tile_of(p, DVT_C, s)];
  if (!resident[DVT_C]) {
    content *c = &m->slot[s->device][s->slot[DVT_C]];
    if (s->first && !m->shape->load_c)
      fill(m, s->device, s->slot[DVT_C], DVT_C, tile_of(p, DVT_C, s));
    assert_int_equal(c->matrix, DVT_C);
    assert_int_equal(c->tile, tile_of(p, DVT_C, s));
    products = &c->products;
  } else {
    assert_int_equal(s->slot[DVT_C], -1);
  }
  assert_int_equal(*products, s->k); /* each once, in ascending k */
  assert_int_equal(s->first, s->k == 0);
  assert_int_equal(s->last, s->k == p->tiles_k - 1);
  (*products)++;
  for (int x = DVT_A; x <= DVT_B && m->shape->k > 0; x++) {
    if (resident[x]) {
      assert_int_equal(s->slot[x], -1);
      continue;
    }
    content *c = &m->slot[s->device][s->slot[x]];
    assert_int_equal(c->matrix, x);
    assert_int_equal(c->tile, tile_of(p, x, s));
  }
}

static void replay(model *m, const dvt_step *s) {
  const dvt_plan *p = m->plan;
  switch ((dvt_step_kind)s->kind) {
  case DVT_STEP_LOAD:
    fill(m, s->device, s->slot[s->matrix], s->matrix, tile_of(p, s->matrix, s));
    m->loads[s->device]++;
    break;
  case DVT_STEP_PEER: {
    content *from = &m->slot[s->from_device][s->from_slot];
    assert_int_not_equal(s->from_device, s->device);
    assert_int_equal(from->matrix, s->matrix);
    assert_int_equal(from->tile, tile_of(p, s->matrix, s));
    fill(m, s->device, s->slot[s->matrix], s->matrix, from->tile);
    break;
  }
  case DVT_STEP_PRODUCT:
    replay_product(m, s);
    break;
  case DVT_STEP_STORE: {
    content *c = &m->slot[s->device][s->slot[DVT_C]];
    assert_int_equal(c->matrix, DVT_C);
    assert_int_equal(c->tile, tile_of(p, DVT_C, s));
    assert_int_equal(c->products, p->tiles_k);
    assert_false(m->stored[c->tile]);
    m->stored[c->tile] = 1;
    break;
  }
  }
}

static void check_plan(const dvt_plan_shape *shape, const dvt_plan *plan) {
  SCOPE;
  model m = {.shape = shape, .plan = plan};
  size_t tiles = (size_t)(plan->tiles_m * plan->tiles_n);
  int64_t products = 0;
  m.resident_products = kept_zeros(tiles * sizeof *m.resident_products);
  m.stored = kept_zeros(tiles);
  for (int d = 0; d < plan->devices; d++) {
    assert_true(plan->slots[d] <= shape->device[d].slots);
    m.slot[d] = kept(((size_t)plan->slots[d] + 1) * sizeof(content));
    for (int64_t s = 0; s < plan->slots[d]; s++)
      m.slot[d][s] = (content){NOTHING, DVT_A, 0};
  }
  for (int64_t i = 0; i < plan->steps; i++) {
    replay(&m, &plan->step[i]);
    products += plan->step[i].kind == DVT_STEP_PRODUCT;
  }
  assert_int_equal(products, plan->tiles_m * plan->tiles_n * plan->tiles_k);
  for (size_t t = 0; t < tiles; t++)
    assert_true(m.stored[t] || m.resident_products[t] == plan->tiles_k);
}

CASE(test_random_plans) {
  srand(1);
  int refused = 0, evicting = 0;
  for (int trial = 0; trial < 3000; trial++) {
    dvt_plan_shape shape = {.m = 1 + rand() % 700,
                            .n = 1 + rand() % 700,
                            .k = rand() % 700,
                            .tile = 32 << rand() % 4,
                            .load_c = rand() % 2,
                            .peers = rand() % 2,
                            .devices = 1 + rand() % 6};
    for (int d = 0; d < shape.devices; d++) {
      shape.device[d].slots = rand() % 2 ? 10000 : 2 + rand() % 30;
      for (int x = 0; x < DVT_MATRICES; x++)
        shape.device[d].resident[x] = rand() % 4 == 0;
    }
    dvt_plan plan;
    davit_status status = dvt_plan_build(&shape, &plan);
    if (status == DAVIT_OUT_OF_DEVICE_MEMORY) {
      refused++; /* only where fewer slots were given than one product needs */
      bool few = false;
      for (int d = 0; d < shape.devices; d++)
        few = few || shape.device[d].slots < 3;
      assert_true(few);
      continue;
    }
    assert_int_equal(status, DAVIT_SUCCESS);
    check_plan(&shape, &plan);
    evicting += plan.evictions > 0;
    dvt_plan_free(&plan);
  }
  assert_true(refused > 0 && evicting > 0);
}

/* With peers and room for all, each tile of A and B crosses the host link once, in equal shares. */
CASE(test_each_tile_is_loaded_once) {
  for (int devices = 1; devices <= 8; devices *= 2) {
    dvt_plan_shape shape = {.m = 4096, .n = 4096, .k = 4096, .tile = 256, .peers = true, .devices = devices};
    dvt_plan plan;
    for (int d = 0; d < devices; d++)
      shape.device[d].slots = 1000000;
    assert_int_equal(dvt_plan_build(&shape, &plan), DAVIT_SUCCESS);
    int64_t loads[DVT_PLAN_DEVICES] = {0}, sum = 0;
    for (int64_t i = 0; i < plan.steps; i++)
      if (plan.step[i].kind == DVT_STEP_LOAD)
        loads[plan.step[i].device]++;
    for (int d = 0; d < devices; d++)
      sum += loads[d];
    assert_int_equal(sum, 2 * 16 * 16);
    for (int d = 0; d < devices; d++)
      assert_in_range(loads[d], sum / devices - 2, sum / devices + 2);
    assert_int_equal(plan.evictions, 0);
    dvt_plan_free(&plan);
  }
}

CASE(test_same_shape_same_plan) {
  dvt_plan_shape shape = {.m = 1000, .n = 900, .k = 800, .tile = 64, .peers = true, .devices = 4};
  for (int d = 0; d < 4; d++)
    shape.device[d].slots = 40;
  dvt_plan one, two;
  assert_int_equal(dvt_plan_build(&shape, &one), DAVIT_SUCCESS);
  assert_int_equal(dvt_plan_build(&shape, &two), DAVIT_SUCCESS);
  assert_int_equal(one.steps, two.steps);
  for (int64_t i = 0; i < one.steps; i++)
    assert_memory_equal(&one.step[i], &two.step[i], sizeof(dvt_step));
  dvt_plan_free(&one);
  dvt_plan_free(&two);
}
