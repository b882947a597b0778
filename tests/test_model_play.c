/* SPDX-License-Identifier: Apache-2.0 */
/* The play of a plan on a model, and the model's functions, with times computed by hand: plans of one tile or a few, on
 * a machine of round figures where all but what a case is about takes no time. */
#include "tests/plans.h"

enum { N = 4000 }; /* rows and columns of a tile */
static const double tile_bytes = 128e6, row_bytes = 32e3;

/* A product of three tiles takes 2 ms, a copy of one 1 ms over the host's link and 0.2 ms to another device. */
static dvt_model round_model(int devices) {
  dvt_model model;
  memset(&model, 0, sizeof model);
  for (int d = 0; d < devices; d++)
    model.device[d] = (dvt_model_device){
        .rate = 64e12, .up = 128e9, .down = 128e9, .both = 256e9, .peer = 640e9, .memory = 1e12};
  for (int x = 0; x < DVT_POOLS; x++)
    model.on_host[x] = true;
  model.all_up = model.all_down = 1e15;
  model.all_both = 2e15;
  model.host_copy = 1e15;
  return model;
}

/* The same, where arithmetic takes no time. */
static dvt_model link_model(int devices) {
  dvt_model model = round_model(devices);
  for (int d = 0; d < devices; d++)
    model.device[d].rate = 1e30;
  return model;
}

/* A product of so many tiles in m, n and k; every matrix is in place on every device. */
static dvt_plan_shape shape_in_place(int m, int n, int k, int devices) {
  dvt_plan_shape shape = large_shape(0, devices);
  set_shape(&shape, (int64_t)m * N, (int64_t)n * N, (int64_t)k * N);
  for (int d = 0; d < devices; d++)
    for (int x = 0; x < DVT_POOLS; x++)
      shape.device[d].resident[x] = true;
  return shape;
}

/* The matrix is on the host, or on that device alone. */
static void move(dvt_plan_shape *shape, int matrix, int to) {
  for (int d = 0; d < shape->devices; d++)
    shape->device[d].resident[matrix] = d == to;
}

/* In the memory of that device; -1: of one that has no part in the call. */
static void put_on(dvt_model *model, dvt_plan_shape *shape, int matrix, int device) {
  model->on_host[matrix] = false;
  model->owner[matrix] = device;
  move(shape, matrix, device);
}

static void expect_near(double is, double right) {
  if (!(fabs(is - right) <= 1e-8 * fabs(right)))
    fail_msg("%.9g, by hand %.9g", is, right);
}

static void expect_seconds(const dvt_model *model, const dvt_plan_shape *shape, dvt_plan_choice choice,
                           double seconds) {
  expect_near(played(model, shape, &choice), seconds);
}

/* One row of tiles for each device. */
static void expect_rows(const dvt_model *model, const dvt_plan_shape *shape, double seconds) {
  expect_seconds(model, shape, square_choice(shape->devices, 1, 1, N), seconds);
}

/* Steps without waits on the streams of their roles. */
static void expect_steps(const dvt_model *model, const dvt_plan_shape *shape, dvt_step *steps, int count,
                         double seconds) {
  int64_t start[] = {0, N, 2 * N};
  const dvt_plan plan = {
      .cut = {{2, start}, {2, start}, {2, start}}, .devices = shape->devices, .steps = count, .step = steps};
  dvt_prediction prediction;
  CHECK(dvt_simulate(model, shape, &plan, &prediction));
  expect_near(prediction.seconds, seconds);
}

#define LOAD(number, what, at)                                                                               \
  {.kind = DVT_STEP_LOAD, .device = (number), .role = DVT_ROLE_LOAD, .out = {(what), 'N', (at), 0}}
#define STORE(number, at)                                                                                    \
  {.kind = DVT_STEP_STORE, .device = (number), .role = DVT_ROLE_STORE, .out = {DVT_C, 'N', (at), 0}}

/* ---- functions ---- */

static dvt_model host_of(double up, double down, double both) {
  dvt_model model = round_model(1);
  model.all_up = up;
  model.all_down = down;
  model.all_both = both;
  return model;
}

/* One way alone, up to what the memory takes that way, whatever it takes both ways. */
CASE(test_host_load_of_one_way) {
  static const double both[] = {50e9, 170e9, 300e9, 1e12};
  for (int i = 0; i < COUNT(both); i++) {
    const dvt_model model = host_of(170e9, 170e9, both[i]), uneven = host_of(100e9, 50e9, both[i]);
    expect_near(dvt_model_host_load(&model, 170e9, 0), 1);
    expect_near(dvt_model_host_load(&model, 0, 170e9), 1);
    expect_near(dvt_model_host_load(&model, 85e9, 0), 0.5);
    expect_near(dvt_model_host_load(&uneven, 100e9, 0), 1);
    expect_near(dvt_model_host_load(&uneven, 0, 50e9), 1);
  }
}

/* Both ways at once: half of all_both each way, where that is more than one way alone takes; else the ways share. */
CASE(test_host_load_of_both_ways) {
  const dvt_model model = host_of(170e9, 170e9, 300e9), small = host_of(170e9, 170e9, 50e9);
  expect_near(dvt_model_host_load(&model, 150e9, 150e9), 1);
  expect_near(dvt_model_host_load(&model, 75e9, 75e9), 0.5);
  assert_true(dvt_model_host_load(&model, 150e9, 150e9) < 150 / 170.0 + 150 / 170.0);
  expect_near(dvt_model_host_load(&small, 85e9, 85e9), 1);
  /* (1 / 100 + 1 / 50) / 2 * 120 = 1.8 times one way alone, but down is never more than 50 */
  const dvt_model uneven = host_of(100e9, 50e9, 120e9);
  expect_near(dvt_model_host_load(&uneven, 100e9, 40e9), 1);
  expect_near(dvt_model_host_load(&uneven, 90e9, 45e9), 1);
  expect_near(dvt_model_host_load(&uneven, 60e9, 60e9), 1.2);
}

/* The threads that copy are the bound of the matrices that they copy alone. */
CASE(test_floor_of_pageable_memory) {
  const double bytes = 1000.0 * 1000 * 8;
  dvt_model model = round_model(1);
  dvt_plan_shape shape = large_shape(1000, 1);
  dvt_prediction floors = {0};
  model.host_copy = 1e9;
  dvt_model_floors(&model, &shape, 1, &floors);
  expect_near(floors.floor_link, fmax(2 * bytes / 128e9, 3 * bytes / 256e9));
  model.pageable[DVT_B] = true;
  dvt_model_floors(&model, &shape, 1, &floors);
  expect_near(floors.floor_link, bytes / 1e9);
  model.pageable[DVT_C] = shape.load_c = true;
  dvt_model_floors(&model, &shape, 1, &floors);
  expect_near(floors.floor_link, 3 * bytes / 1e9);
}

CASE(test_rows_apart) {
  const dvt_model_device d = {.row = 1500, .far_row = 10000}, even = {.row = 1500};
  expect_near(dvt_model_strided(&d, 40000, 40000), 1); /* they follow each other */
  expect_near(dvt_model_strided(&d, 65536, 65536), 1);
  expect_near(dvt_model_strided(&d, 0, 65536), 1);
  expect_near(dvt_model_strided(&d, 1500, 32768), 2);
  expect_near(dvt_model_strided(&d, 6000, 32768), 1.25);
  expect_near(dvt_model_strided(&d, 30000, 32768), 1.05);
  expect_near(dvt_model_strided(&d, 1500, 65528), 2);
  static const double pitches[] = {65536, 65544, 2 * 65536, 300000};
  for (size_t i = 0; i < COUNT(pitches); i++) {
    const double pitch = pitches[i];
    expect_near(dvt_model_strided(&d, 1500, pitch), 2 + 0.62);
    expect_near(dvt_model_strided(&d, 8000, pitch), 9.5 / 8 + 0.62);
    expect_near(dvt_model_strided(&d, 10000, pitch), 1.15 + 0.25 + 0.12);
    expect_near(dvt_model_strided(&d, 12000, pitch), 13.5 / 12 + 0.12);
    expect_near(dvt_model_strided(&d, 16000, pitch), 17.5 / 16 + 0.12);
    expect_near(dvt_model_strided(&d, 20000, pitch), 1.075 + 0.06);
    expect_near(dvt_model_strided(&d, 24000, pitch), 25.5 / 24);
    expect_near(dvt_model_strided(&even, 1500, pitch), 2);
  }
}

/* Of rows whose distance is no multiple of 64 KiB, what lies between them costs nothing in the host's memory. */
CASE(test_weight_of_rows) {
  const dvt_model_device d = {.row = 1500, .far_row = 10000};
  expect_near(dvt_model_weight(&d, 1500, 1500), 1);
  expect_near(dvt_model_weight(&d, 0, 65536), 1);
  expect_near(dvt_model_weight(&d, 1500, 65536), sqrt(2 + 0.62));
  expect_near(dvt_model_weight(&d, 12000, 3 * 65536), sqrt(13.5 / 12 + 0.12));
  expect_near(dvt_model_weight(&d, 1500, 65544), sqrt(2));
  expect_near(dvt_model_weight(&d, 6000, 300000), sqrt(1.25));
}

CASE(test_product) {
  const dvt_model_device d = {.rate = 1e12, .area = 1e6, .depth = 1000, .launch = 1e-3};
  expect_near(dvt_model_product(&d, 1000, 1000, 1000), 1e-3 + 4 * 2e-3); /* half the rate for each */
  expect_near(dvt_model_product(&d, 3000, 1000, 3000), 1e-3 + 18e-3 * (4.0 / 3) * (4.0 / 3));
  expect_near(dvt_model_product(&d, 1000, 1000, 0), 1e-3);
  const dvt_model_device wide = {.rate = 1e12, .tall = 1000};
  expect_near(dvt_model_product(&wide, 1000, 2000, 1000), 4e-3);
  expect_near(dvt_model_product(&wide, 2000, 1000, 1000), 1.15 * 4e-3);
}

/* ---- arithmetic ---- */

CASE(test_time_of_a_product) {
  const dvt_plan_shape shape = shape_in_place(1, 1, 1, 1);
  dvt_model model = round_model(1);
  expect_seconds(&model, &shape, square_choice(1, 1, 1, N), 2e-3);
  model.device[0].area = 16e6;
  model.device[0].depth = 4000;
  model.device[0].launch = 1e-3;
  expect_seconds(&model, &shape, square_choice(1, 1, 1, N), 9e-3);
}

/* Two products on the two streams of a device have half of it each: they end together, and their tiles of C go home one
 * after the other. */
CASE(test_products_share_a_device) {
  const dvt_model model = round_model(1);
  dvt_plan_shape shape = shape_in_place(2, 1, 1, 1);
  expect_seconds(&model, &shape, square_choice(1, 1, 1, N), 2 * 2e-3);
  move(&shape, DVT_C, DAVIT_HOST);
  expect_seconds(&model, &shape, square_choice(1, 1, 1, N), 2 * 2e-3 + 2 * 1e-3);
}

CASE(test_devices_compute_beside_each_other) {
  dvt_model model = round_model(3);
  const dvt_plan_shape shape = shape_in_place(3, 1, 1, 3);
  expect_rows(&model, &shape, 2e-3);
  model.device[1].rate = 32e12;
  expect_rows(&model, &shape, 4e-3);
}

/* Device 1 computes half of k, device 0 copies the partial sum and adds it: two reads and a write. */
CASE(test_time_of_a_partial_sum) {
  dvt_model model = round_model(2);
  dvt_plan_shape shape = shape_in_place(1, 1, 2, 2);
  move(&shape, DVT_C, 0);
  model.device[0].launch = 1e-3;
  model.device[0].rate = 1e30; /* it waits for the other */
  expect_seconds(&model, &shape, square_choice(1, 1, 2, N), 2e-3 + 0.2e-3 + 1e-3 + 3 * tile_bytes / 1e12);
}

/* Without streams one thing is done after another, and nothing is enqueued ahead. */
CASE(test_serial_device) {
  dvt_model model = round_model(1);
  dvt_plan_shape shape = shape_in_place(2, 1, 1, 1);
  const dvt_plan_choice choice = square_choice(1, 1, 1, N);
  dvt_prediction prediction;
  dvt_plan plan;
  move(&shape, DVT_A, DAVIT_HOST);
  move(&shape, DVT_C, DAVIT_HOST);
  model.device[0].serial = true;
  model.enqueue = 1;
  CHECK(dvt_plan_build(&shape, &choice, &plan));
  CHECK(dvt_simulate(&model, &shape, &plan, &prediction));
  dvt_plan_free(&plan);
  expect_near(prediction.seconds, 2 * (1e-3 + 2e-3 + 1e-3));
  expect_near(prediction.load, 2 * 1e-3);
  expect_near(prediction.store, 2 * 1e-3);
  expect_near(prediction.arithmetic, 2 * 2e-3);
  expect_near(prediction.floor_arithmetic, 2 * 2e-3);
  assert_true(prediction.peer == 0);
}

/* A step waits for the threads that enqueue, a stream for what it waits for, a copy for its latency. */
CASE(test_time_around_the_work) {
  dvt_model model = round_model(2);
  dvt_plan_shape shape = shape_in_place(2, 1, 1, 2);
  model.start = 1e-3;
  model.start_device = 10e-3;
  model.enqueue = 100e-3;
  model.enqueue_beside = 1000e-3;
  model.react = 10;
  expect_rows(&model, &shape, 1e-3 + 10e-3 + 1100e-3 + 2e-3);
  move(&shape, DVT_C, DAVIT_HOST); /* a second step for each, on another stream */
  expect_rows(&model, &shape, 1e-3 + 10e-3 + 2 * 1100e-3 + 10 + 1e-3);
  model.enqueue_beside = 0;
  model.device[1].latency = 100;
  expect_rows(&model, &shape, 1e-3 + 10e-3 + 2 * 100e-3 + 10 + 100 + 1e-3);
}

CASE(test_step_that_cannot_start) {
  const dvt_model model = round_model(1);
  const dvt_plan_shape shape = shape_in_place(1, 1, 1, 1);
  int64_t start[] = {0, N};
  int32_t wait[] = {0};
  dvt_step steps[] = {LOAD(0, DVT_A, 0)};
  dvt_prediction prediction;
  steps[0].waits = 1; /* for itself */
  const dvt_plan plan = {.cut = {{1, start}, {1, start}, {1, start}},
                         .devices = 1,
                         .steps = 1,
                         .step = steps,
                         .waits = 1,
                         .wait = wait};
  CHECK_FAILS(dvt_simulate(&model, &shape, &plan, &prediction), DAVIT_INTERNAL_ERROR, "can never start");
}

static void expect_kernel(const dvt_model *model, dvt_routine kernel, double seconds) {
  const dvt_plan_shape shape = shape_in_place(1, 1, 1, 1);
  dvt_step step = {
      .kind = DVT_STEP_PRODUCT,
      .role = DVT_ROLE_PRODUCT,
      .out = {DVT_C, 'N', 0, 0},
      .term = {.kernel = (uint8_t)kernel, .left = {DVT_A, 'N', 0, 0}, .right = {DVT_B, 'N', 0, 0}}};
  expect_steps(model, &shape, &step, 1, seconds);
}

/* Half the flops: at a product's rate, at 0.8 of it, and at half of it after a time for each row. */
CASE(test_kernels) {
  dvt_model model = round_model(1);
  expect_kernel(&model, DVT_GEMM, 2e-3);
  expect_kernel(&model, DVT_SYMM, 2e-3);
  expect_kernel(&model, DVT_SYRK, 1e-3);
  expect_kernel(&model, DVT_HERK, 1e-3);
  expect_kernel(&model, DVT_TRMM, 1.25e-3);
  expect_kernel(&model, DVT_TRSM, 2e-3);
  model.device[0].solve = 1e-6;
  expect_kernel(&model, DVT_TRMM, 1.25e-3);
  expect_kernel(&model, DVT_TRSM, 4e-3 + 2e-3);
}

/* ---- links between devices ---- */

/* Others than device 0 load their rows of A from it at the same time: it has one link for all. */
CASE(test_a_device_gives_to_all) {
  for (int takers = 1; takers <= 3; takers++) {
    dvt_model model = link_model(takers + 1);
    dvt_plan_shape shape = shape_in_place(takers + 1, 1, 1, takers + 1);
    put_on(&model, &shape, DVT_A, 0);
    expect_rows(&model, &shape, takers * 0.2e-3);
  }
}

/* What two devices copy between them goes at the rate of the slower one. */
CASE(test_slow_peers) {
  for (int slow = 0; slow < 2; slow++) {
    dvt_model model = link_model(2);
    dvt_plan_shape shape = shape_in_place(2, 1, 1, 2);
    put_on(&model, &shape, DVT_A, 0);
    model.device[slow].peer /= 4;
    expect_rows(&model, &shape, 4 * 0.2e-3);
  }
}

/* The same of tiles of C that go home to it. */
CASE(test_a_device_takes_from_all) {
  for (int givers = 1; givers <= 3; givers++) {
    dvt_model model = link_model(givers + 1);
    dvt_plan_shape shape = shape_in_place(givers + 1, 1, 1, givers + 1);
    put_on(&model, &shape, DVT_C, 0);
    expect_rows(&model, &shape, givers * 0.2e-3);
  }
}

/* A device that may not use its matrix in place, as it will be replaced, copies it in its own memory: both that and the
 * others' copies need no link of the others. */
CASE(test_copy_in_a_device) {
  for (int devices = 1; devices <= 2; devices++) {
    dvt_model model = link_model(devices);
    dvt_plan_shape shape = shape_in_place(devices, 1, 1, devices);
    put_on(&model, &shape, DVT_A, 0);
    move(&shape, DVT_A, DAVIT_HOST);
    expect_rows(&model, &shape, 2 * tile_bytes / 1e12);
    model.device[0].memory = 1e13;
    expect_rows(&model, &shape, devices == 1 ? 2 * tile_bytes / 1e13 : 0.2e-3);
  }
}

/* Device 1 loads A from device 0, which loads B from device 1: each gives and takes at the link's full rate. */
CASE(test_devices_give_and_take_at_once) {
  dvt_model model = link_model(2);
  dvt_plan_shape shape = shape_in_place(2, 1, 1, 2);
  put_on(&model, &shape, DVT_A, 0);
  put_on(&model, &shape, DVT_B, 1);
  expect_rows(&model, &shape, 0.2e-3);
}

/* A load from device 0 shares with a copy of what the device has in a tile buffer; one from a device that is not
 * used shares with others from there alone. */
CASE(test_loads_share_with_copies_from_their_device) {
  dvt_model model = link_model(3);
  dvt_plan_shape shape = shape_in_place(1, 1, 1, 3);
  dvt_step steps[] = {LOAD(1, DVT_A, 0),
                      {.kind = DVT_STEP_PEER, .device = 2, .role = DVT_ROLE_PEER, .out = {DVT_B, 'N', 0, 0}}};
  put_on(&model, &shape, DVT_A, 0);
  expect_steps(&model, &shape, steps, 2, 2 * 0.2e-3);
  put_on(&model, &shape, DVT_A, 2);
  expect_steps(&model, &shape, steps, 2, 0.2e-3);
  put_on(&model, &shape, DVT_A, -1);
  expect_steps(&model, &shape, steps, 2, 0.2e-3);
  dvt_step loads[] = {LOAD(1, DVT_A, 0), LOAD(2, DVT_A, 1)};
  expect_steps(&model, &shape, loads, 2, 2 * 0.2e-3);
}

/* ---- host links ---- */

CASE(test_ways_of_a_link_share) {
  dvt_model model = round_model(1);
  const dvt_plan_shape shape = shape_in_place(1, 1, 1, 1);
  dvt_step steps[] = {LOAD(0, DVT_A, 0), STORE(0, 0)};
  expect_steps(&model, &shape, steps, 2, 1e-3);
  model.device[0].both = 128e9;
  expect_steps(&model, &shape, steps, 2, 2e-3);
  model.device[0].down = 256e9; /* not while data goes both ways */
  expect_steps(&model, &shape, steps, 2, 2e-3);
  model.device[0].down = 32e9; /* less than half of both */
  expect_steps(&model, &shape, steps, 2, 4e-3);
}

/* Each device loads its rows of A, and the host's memory is slower than the links together. */
CASE(test_loads_share_the_host) {
  for (int devices = 1; devices <= 4; devices++) {
    dvt_model model = link_model(devices);
    dvt_plan_shape shape = shape_in_place(devices, 1, 1, devices);
    move(&shape, DVT_A, DAVIT_HOST);
    expect_rows(&model, &shape, 1e-3);
    model.all_up = 64e9;
    model.all_both = 128e9;
    expect_rows(&model, &shape, devices * tile_bytes / 64e9);
  }
}

/* One device loads, the other stores; all_both is the sum of the ways. */
CASE(test_ways_share_the_host) {
  dvt_model model = round_model(2);
  const dvt_plan_shape shape = shape_in_place(1, 1, 1, 2);
  dvt_step steps[] = {LOAD(0, DVT_A, 0), STORE(1, 0)};
  model.all_up = model.all_down = 128e9;
  model.all_both = 256e9;
  expect_steps(&model, &shape, steps, 2, 1e-3);
  model.all_both = 160e9;
  expect_steps(&model, &shape, steps, 2, 2 * tile_bytes / 160e9);
  model.all_both = 10e9; /* no less than one way alone */
  expect_steps(&model, &shape, steps, 2, 2 * tile_bytes / 128e9);
}

/* Rows that take the link four times as long cost the host's memory twice their bytes. */
CASE(test_short_rows) {
  dvt_model model = link_model(2);
  dvt_plan_shape shape = shape_in_place(2, 1, 1, 2);
  move(&shape, DVT_A, DAVIT_HOST);
  model.device[0].row = model.device[1].row = 3 * row_bytes;
  expect_rows(&model, &shape, 4e-3);
  model.all_up = 32e9;
  model.all_both = 64e9;
  expect_rows(&model, &shape, 2 * (2 * tile_bytes) / 32e9);
  /* The links carry 32 GB/s and 128, which cost the memory 2 * 32 + 128. It gives half of that for 2 ms, then device 0
   * has its link's 32 for the 96 MB that are left. */
  model.device[1].row = 0;
  model.all_up = 96e9;
  model.all_both = 192e9;
  expect_rows(&model, &shape, 2e-3 + 3e-3);
}

CASE(test_pageable_copies_share) {
  dvt_model model = link_model(3);
  dvt_plan_shape shape = shape_in_place(3, 1, 1, 3);
  move(&shape, DVT_A, DAVIT_HOST);
  model.pageable[DVT_A] = true;
  for (int d = 0; d < 3; d++)
    model.device[d].row = 3 * row_bytes;
  expect_rows(&model, &shape, 1e-3);
  model.host_copy = 96e9;
  expect_rows(&model, &shape, 3 * tile_bytes / 96e9);
  dvt_step steps[] = {LOAD(0, DVT_A, 0), STORE(1, 0)}; /* C is pinned */
  model.device[1].row = 0;
  expect_steps(&model, &shape, steps, 2, tile_bytes / 96e9);
}
