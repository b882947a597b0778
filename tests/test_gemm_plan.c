/* SPDX-License-Identifier: Apache-2.0 */
/* The planner of level 3 by itself: random routines, shapes, devices, caches and choices, each plan replayed
 * (tests/plans.h), and what plans of some shapes are like. */
#include "tests/plans.h"

/* ---- random plans ---- */

static uint64_t seed = 1;

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
  const dvt_distribution_kind dealing = shape->rule->distribution(shape);
  const bool may_split = shape->peer[0][0] && shape->length[DVT_DIM_K] > 0 && shape->rule->splits_k;
  for (int i = 0; i < 3; i++) {
    const int dim = dealing == DVT_DISTRIBUTE_ROWS     ? DVT_DIM_M
                    : dealing != DVT_DISTRIBUTE_BLOCKS ? DVT_DIM_N
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

/* Where a dimension's tiles have the length of the longest block, each block is one tile, and no shorter length does
 * that. */
CASE(test_longest_block) {
  seed = 3;
  for (int trial = 0; trial < 1000; trial++) {
    const int parts = 1 + random_below(&seed, 8), dim = random_below(&seed, 2);
    dvt_plan_shape shape = large_shape(65 * parts + random_below(&seed, 4000), parts);
    const int64_t longest = dvt_longest_block(shape.length[dim], parts);
    for (int shorter = 0; shorter < 2; shorter++) {
      dvt_plan_choice choice = square_choice(dim == 0 ? parts : 1, dim == 1 ? parts : 1, 1, 1 << 20);
      dvt_plan plan;
      choice.tile[dim] = longest - shorter;
      CHECK(dvt_plan_build(&shape, &choice, &plan));
      assert_true(shorter ? plan.cut[dim].tiles > parts : plan.cut[dim].tiles == parts);
      dvt_plan_free(&plan);
    }
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

static bool same_term(const dvt_term *x, const dvt_term *y) {
  return x->kernel == y->kernel && x->alpha == y->alpha && x->beta == y->beta &&
         same_operand(&x->left, &y->left) && same_operand(&x->right, &y->right);
}

static void assert_same_step(const dvt_step *x, const dvt_step *y) {
  assert_true(x->kind == y->kind && x->device == y->device && x->role == y->role &&
              x->from_device == y->from_device && x->marked == y->marked);
  assert_true(same_term(&x->term, &y->term) && same_operand(&x->out, &y->out));
  assert_true(x->out_buffer == y->out_buffer && x->left_buffer == y->left_buffer &&
              x->right_buffer == y->right_buffer && x->from_buffer == y->from_buffer);
  assert_true(x->first_wait == y->first_wait && x->waits == y->waits);
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
