/* SPDX-License-Identifier: Apache-2.0 */
/* Choices of devices, grids and tiles, on made-up machines: how near they are to the best, what they have to be for
 * routines, and what is remembered. Their plans are replayed (tests/plans.h). */
#include "tests/plans.h"

#include "src/level3/choose.h"

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

static uint64_t seed = 1;

static int64_t random_length(double most) {
  const double unit = 0.5 + 0.5 * random_unit(&seed);
  return (int64_t)(64 * exp(unit * log(most / 64)));
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

/* The host's memory is the bound for more than a few devices, and each takes 0.3 ms to start: however many there are,
 * all together lose no more than 1 %. */
CASE(test_more_devices_lose_little) {
  double least = INFINITY;
  for (int devices = 1; devices <= DVT_PLAN_DEVICES; devices++) {
    dvt_model model = made_up_model(devices);
    dvt_plan_shape shape = large_shape(0, devices);
    dvt_chosen chosen;
    model.start_device = 300e-6;
    set_shape(&shape, 20000, 20000, 20000);
    CHECK(dvt_choose(&model, &shape, 0, false, &chosen));
    const double seconds = chosen.candidate[0].seconds;
    if (seconds > 1.01 * least)
      fail_msg("%d devices: %.3f ms, of fewer %.3f", devices, 1e3 * seconds, 1e3 * least);
    least = fmin(seconds, least);
  }
}

/* Four devices have the lowest floor, but of these only two have memory. */
CASE(test_devices_without_memory) {
  const dvt_model model = made_up_model(4);
  dvt_plan_shape shape = large_shape(0, 4);
  dvt_chosen chosen;
  dvt_plan plan;
  set_shape(&shape, 30000, 30000, 30000);
  shape.device[2].bytes = shape.device[3].bytes = 0;
  dvt_error_clear();
  CHECK(dvt_choose(&model, &shape, 0, false, &chosen));
  assert_string_equal(davit_last_error(), "");
  const dvt_plan_choice *best = &chosen.candidate[0].choice;
  assert_int_equal(best->grid[0] * best->grid[1] * best->grid[2], 2);
  CHECK(dvt_plan_build(&shape, best, &plan));
  check_plan(&shape, &plan);
  dvt_plan_free(&plan);
  shape.device[0].bytes = 0;
  CHECK_FAILS(dvt_choose(&model, &shape, 0, false, &chosen), DAVIT_OUT_OF_DEVICE_MEMORY, "the cache holds 0");
}

static double chosen_seconds(const dvt_model *model, const dvt_plan_shape *shape) {
  dvt_chosen chosen;
  CHECK(dvt_choose(model, shape, 0, false, &chosen));
  return chosen.candidate[0].seconds;
}

/* Two devices that hold few tiles would slow down the others. */
CASE(test_devices_with_little_memory) {
  static const double gib[] = {0.05, 0.1};
  for (size_t i = 0; i < COUNT(gib); i++) {
    double seconds = INFINITY;
    for (int devices = 2; devices <= 4; devices += 2) {
      const dvt_model model = made_up_model(devices);
      dvt_plan_shape shape = large_shape(0, devices);
      set_shape(&shape, 16000, 16000, 16000);
      for (int d = 2; d < devices; d++)
        shape.device[d].bytes = (size_t)(gib[i] * (1 << 30));
      const double now = chosen_seconds(&model, &shape);
      assert_true(now <= 1.01 * seconds);
      seconds = now;
    }
  }
}

/* Operands on a device whose links to others are slow: what the others could do would come too late. */
CASE(test_slow_links_between_devices) {
  for (int64_t n = 2000; n <= 8000; n *= 2) {
    double seconds = INFINITY;
    for (int devices = 1; devices <= 4; devices++) {
      dvt_model model = made_up_model(devices);
      dvt_plan_shape shape = large_shape(0, devices);
      set_shape(&shape, n, n, n);
      for (int d = 0; d < devices; d++)
        model.device[d].peer = 25e9;
      for (int x = DVT_A; x <= DVT_B; x++) {
        shape.device[0].resident[x] = true;
        model.on_host[x] = false;
      }
      const double now = chosen_seconds(&model, &shape);
      assert_true(now <= 1.03 * seconds);
      seconds = fmin(now, seconds);
    }
  }
}

static double received(const dvt_plan_shape *shape, const int grid[DVT_DIMS]) {
  const double m = (double)shape->length[0], n = (double)shape->length[1], k = (double)shape->length[2];
  return (m * k / grid[0] + k * n / grid[1]) / grid[2] + (grid[2] > 1 ? m * n / grid[0] / grid[1] : 0);
}

/* Of all grids of so many devices. */
static double least_received(const dvt_plan_shape *shape, int devices) {
  double least = INFINITY;
  for (int rows = 1; rows <= devices; rows++)
    for (int cols = 1; rows * cols <= devices; cols++)
      if (devices % (rows * cols) == 0)
        least = fmin(least, received(shape, (const int[]){rows, cols, devices / (rows * cols)}));
  return least;
}

/* The margins of a candidate follow from it alone, whatever numbers of devices were tried after it. */
CASE(test_scores) {
  seed = 5;
  for (int trial = 0; trial < 20; trial++) {
    const dvt_model model = made_up_model(4);
    dvt_plan_shape shape = large_shape(0, 4);
    dvt_chosen chosen;
    set_shape(&shape, 2100 + random_below(&seed, 7000), 2100 + random_below(&seed, 7000),
              2100 + random_below(&seed, 7000));
    CHECK(dvt_choose(&model, &shape, 0, false, &chosen));
    for (int i = 0; i < chosen.count; i++) {
      const dvt_candidate *c = &chosen.candidate[i];
      const int *grid = c->choice.grid, devices = grid[0] * grid[1] * grid[2];
      const double each = fmin(30e-6 / c->seconds - 0.01, 0.02);
      const double more = received(&shape, grid) / least_received(&shape, devices) - 1;
      const double score = c->seconds * (1 + fmax(each * (devices - 1), -0.01) + fmin(0.04 * more, 0.01));
      assert_true(fabs(c->score - score) <= 1e-12 * score);
    }
  }
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

/* What is chosen is not much slower than the best of some thousands of choices, whether the links, the host's memory or
 * arithmetic is the bound: by at most 5 %, in two cases 8 and 13 %, and 4 % in the
 * mean. */
CASE(test_choice_is_near_the_best) {
  static const struct {
    int64_t m, n, k;
    int devices;
    double most;
  } cases[] = {{2000, 2000, 2000, 1, 1.05},  {4000, 4000, 4000, 1, 1.05}, {4000, 4000, 4000, 2, 1.08},
               {4000, 4000, 4000, 4, 1.13},  {8192, 8192, 8192, 2, 1.05}, {8192, 8192, 8192, 4, 1.05},
               {3000, 3000, 15000, 4, 1.05}, {12000, 2000, 1300, 4, 1.05}};
  static const int grids[][DVT_DIMS] = {{1, 1, 1}, {1, 2, 1}, {2, 1, 1}, {1, 1, 2}, {2, 2, 1},
                                        {1, 4, 1}, {4, 1, 1}, {1, 2, 2}, {2, 1, 2}, {1, 1, 4}};
  const int step = scaled(20) > 1 ? 1 : 2; /* each takes a second, and under sanitizers three */
  double logarithms = 0;
  for (int i = 0; i < COUNT(cases); i += step) {
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
    logarithms += log(best->seconds / least);
    if (best->seconds > cases[i].most * least)
      fail_msg("%lld %lld %lld on %d devices: %.3f ms, the best %.3f; order %d", (long long)cases[i].m,
               (long long)cases[i].n, (long long)cases[i].k, cases[i].devices, 1e3 * best->seconds,
               1e3 * least, best->choice.by_tile);
  }
  assert_true(logarithms < COUNT(cases) / step * log(1.04));
}

/* Dimensions that share a cut are chosen one length of tiles. What is left of the time of a triangular routine
 * beside its arithmetic, half of gemm's, is small: it needs short tiles, and few of C to begin with. */
CASE(test_choices_for_routines) {
  const int64_t n = 16384;
  double gemm = 0;
  for (int r = 0; r < DVT_ROUTINES; r++) {
    const dvt_model model = made_up_model(1);
    dvt_plan_shape shape = large_shape(0, 1);
    dvt_chosen chosen;
    dvt_plan plan;
    shape.rule = dvt_rule_of((dvt_routine)r);
    shape.side = shape.uplo = 'L';
    shape.load_c = !shape.rule->uniform;
    set_shape(&shape, n, n, n);
    const dvt_layout layout = shape.rule->layout(&shape);
    const uint8_t *same = layout.same;
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

/* A search would find that nothing fits. */
CASE(test_what_was_chosen_is_remembered) {
  const dvt_model model = made_up_model(2);
  dvt_plan_shape shape = large_shape(0, 2);
  dvt_chosen first, again;
  set_shape(&shape, 5000, 4000, 3000);
  shape.device[0].bytes = shape.device[1].bytes = (8 << 20) - 1;
  CHECK(dvt_choose(&model, &shape, 0, true, &first));
  shape.device[0].bytes = shape.device[1].bytes = 4 << 20; /* the same power of two */
  CHECK_FAILS(dvt_choose(&model, &shape, 0, false, &again), DAVIT_OUT_OF_DEVICE_MEMORY, "the cache holds");
  CHECK(dvt_choose(&model, &shape, 0, true, &again));
  assert_same_choice(&first.candidate[0].choice, &again.candidate[0].choice);
  assert_true(first.candidate[0].seconds == again.candidate[0].seconds);
}
