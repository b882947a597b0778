/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of gemm's model: that they follow from the times of simulated machines, that the model uses
 * those in the tuning table, that other figures lead to other choices, and that results keep their bits.
 * Host-offload devices pose as GPUs of another make (tests/CMakeLists.txt), which have figures of their
 * own. */
#include "tests/support.h"

#include "src/level3/parameters.h"
#include "src/runtime/staging.h"

/* ---- simulated machines ---- */

typedef struct simulated {
  dvt_model_device device;
  double single, enqueue, thread_rate, thread_copy, copy, all_up, all_down, all_both;
  int devices, threads, stalls; /* so many threads copy a third; 0: none do */
  int64_t most;
} simulated;

static davit_status simulate_product(void *state, int index, davit_type type, double m, double n, double k,
                                     double *seconds) {
  const simulated *s = state;
  dvt_model_device d = s->device;
  (void)index;
  assert_true(m <= (double)s->most && n <= (double)s->most && k <= (double)s->most);
  d.rate = type == DAVIT_FLOAT ? s->single : d.rate;
  *seconds = dvt_model_product(&d, m, n, k);
  return DAVIT_SUCCESS;
}

static davit_status simulate_copy(void *state, int index, dvt_microbenchmark_way way, double row, double cols,
                                  bool apart, int copies, double *seconds) {
  const simulated *s = state;
  const double bytes = row * cols * (apart ? (row + s->device.row) / row : 1);
  (void)index, (void)copies;
  switch (way) {
  case DVT_MICROBENCHMARK_UP:
    *seconds = s->device.latency + bytes / s->device.up;
    break;
  case DVT_MICROBENCHMARK_DOWN:
    *seconds = s->device.latency + bytes / s->device.down;
    break;
  case DVT_MICROBENCHMARK_BOTH:
    *seconds = s->device.latency + 2 * bytes / s->device.both;
    break;
  case DVT_MICROBENCHMARK_PEER:
    *seconds = bytes / s->device.peer;
    break;
  default:
    *seconds = 2 * bytes / s->device.memory;
  }
  return DAVIT_SUCCESS;
}

static davit_status simulate_copy_all(void *state, dvt_microbenchmark_way way, double bytes,
                                      double *seconds) {
  const simulated *s = state;
  const double rate = way == DVT_MICROBENCHMARK_UP     ? s->all_up
                      : way == DVT_MICROBENCHMARK_DOWN ? s->all_down
                                                       : s->all_both;
  *seconds = s->devices * bytes * (way == DVT_MICROBENCHMARK_BOTH ? 2 : 1) / rate;
  return DAVIT_SUCCESS;
}

static davit_status simulate_enqueue(void *state, double *seconds) {
  *seconds = ((const simulated *)state)->enqueue;
  return DAVIT_SUCCESS;
}

static davit_status simulate_host_copy(void *state, int threads, double bytes, double *seconds) {
  const simulated *s = state;
  *seconds = (threads == s->stalls ? 3 : 1) * bytes *
             (threads == 1 ? 1 / s->thread_copy : 1 / (threads * s->thread_copy) + 1 / s->copy);
  return DAVIT_SUCCESS;
}

static davit_status simulate_host_product(void *state, double n, double *seconds) {
  const simulated *s = state;
  const dvt_model_device d = {.rate = s->thread_rate * s->threads, .area = 4096.0 * s->threads, .depth = 32};
  *seconds = dvt_model_product(&d, n, n, n);
  return DAVIT_SUCCESS;
}

static dvt_microbenchmark meter_of(simulated *s) {
  return (dvt_microbenchmark){.state = s,
                              .devices = s->devices,
                              .threads = s->threads,
                              .most = (double)s->most,
                              .product = simulate_product,
                              .copy = simulate_copy,
                              .copy_all = simulate_copy_all,
                              .enqueue = simulate_enqueue,
                              .host_copy = simulate_host_copy,
                              .host_product = simulate_host_product};
}

static const simulated large = {.device = {.rate = 53.5e12,
                                           .area = 150e3,
                                           .depth = 64,
                                           .launch = 4e-6,
                                           .up = 55e9,
                                           .down = 52e9,
                                           .both = 99e9,
                                           .row = 1500,
                                           .latency = 5e-6,
                                           .peer = 389e9,
                                           .memory = 4e12},
                                .single = 50e12,
                                .enqueue = 6e-6,
                                .thread_rate = 16e9,
                                .thread_copy = 11.7e9,
                                .copy = 85e9,
                                .all_up = 171e9,
                                .all_down = 123e9,
                                .all_both = 147e9,
                                .devices = 4,
                                .threads = 64,
                                .most = 8192};

/* A card for games, whose doubles are slow, on an older bus. */
static const simulated small = {.device = {.rate = 1.3e12,
                                           .area = 40e3,
                                           .depth = 20,
                                           .launch = 3e-6,
                                           .up = 12e9,
                                           .down = 13e9,
                                           .both = 20e9,
                                           .row = 700,
                                           .latency = 9e-6,
                                           .memory = 0.9e12},
                                .single = 80e12,
                                .enqueue = 9e-6,
                                .thread_rate = 30e9,
                                .thread_copy = 9e9,
                                .copy = 30e9,
                                .devices = 1,
                                .threads = 8,
                                .most = 4096};

static void expect_figure(const dvt_parameters *f, dvt_tunable which, double wanted, double unit) {
  const double is = unit * (double)f->value[which];
  if (fabs(is - wanted) > 0.02 * wanted)
    fail_msg("figure %d is %g, not %g", (int)which, is, wanted);
}

static void expect_machine(simulated s) {
  const dvt_microbenchmark microbenchmark = meter_of(&s);
  const double mega = 1e6, nano = 1e-9;
  dvt_parameters device = {{0}}, host = {{0}};
  CHECK(dvt_parameters_of_device(&microbenchmark, 0, s.devices > 1, &device));
  CHECK(dvt_parameters_of_host(&microbenchmark, &host));
  expect_figure(&device, DVT_TUNE_GEMM_RATE, s.device.rate, mega);
  expect_figure(&device, DVT_TUNE_GEMM_SINGLE_RATE, s.single, mega);
  expect_figure(&device, DVT_TUNE_GEMM_AREA, s.device.area, 1);
  expect_figure(&device, DVT_TUNE_GEMM_DEPTH, s.device.depth, 1);
  expect_figure(&device, DVT_TUNE_GEMM_LAUNCH, s.device.launch, nano);
  expect_figure(&device, DVT_TUNE_GEMM_UP, s.device.up, mega);
  expect_figure(&device, DVT_TUNE_GEMM_DOWN, s.device.down, mega);
  expect_figure(&device, DVT_TUNE_GEMM_BOTH, s.device.both, mega);
  expect_figure(&device, DVT_TUNE_GEMM_ROW, s.device.row, 1);
  expect_figure(&device, DVT_TUNE_GEMM_LATENCY, s.device.latency, nano);
  expect_figure(&device, DVT_TUNE_GEMM_MEMORY, s.device.memory, mega);
  expect_figure(&host, DVT_TUNE_GEMM_THREAD_RATE, s.thread_rate, mega);
  expect_figure(&host, DVT_TUNE_GEMM_THREAD_COPY, s.thread_copy, mega);
  expect_figure(&host, DVT_TUNE_GEMM_COPY, s.copy, mega);
  s.stalls = s.threads; /* all of them copy less than half of them */
  CHECK(dvt_parameters_of_host(&microbenchmark, &host));
  expect_figure(&host, DVT_TUNE_GEMM_COPY, s.copy, mega);
  s.stalls = 0;
  expect_figure(&host, DVT_TUNE_GEMM_ENQUEUE, s.enqueue, nano);
  if (s.devices > 1) {
    expect_figure(&device, DVT_TUNE_GEMM_PEER, s.device.peer, mega);
    expect_figure(&host, DVT_TUNE_GEMM_ALL_UP, s.all_up, mega);
    expect_figure(&host, DVT_TUNE_GEMM_ALL_DOWN, s.all_down, mega);
    expect_figure(&host, DVT_TUNE_GEMM_ALL_BOTH, s.all_both, mega);
  } else {
    assert_int_equal(device.value[DVT_TUNE_GEMM_PEER], 0);
    for (int i = DVT_TUNE_GEMM_ALL_UP; i <= DVT_TUNE_GEMM_ALL_BOTH; i++)
      assert_int_equal(host.value[i], 0);
  }
}

CASE(test_figures_of_simulated_machines) {
  expect_machine(large);
  expect_machine(small);
  simulated one = small; /* one thread shows no limit of copies */
  dvt_parameters host = {{0}};
  one.threads = 1;
  one.devices = 0;
  const dvt_microbenchmark microbenchmark = meter_of(&one);
  CHECK(dvt_parameters_of_host(&microbenchmark, &host));
  assert_int_equal(host.value[DVT_TUNE_GEMM_COPY], 0);
  assert_int_equal(host.value[DVT_TUNE_GEMM_ENQUEUE], 0);
  one.threads = 16; /* memory that feeds them all */
  one.copy = 1e18;
  const dvt_microbenchmark of_many = meter_of(&one);
  CHECK(dvt_parameters_of_host(&of_many, &host));
  expect_figure(&host, DVT_TUNE_GEMM_COPY, 1600 * one.thread_copy, 1e6);
}

static davit_status refuse_copy(void *state, int index, dvt_microbenchmark_way way, double row, double cols,
                                bool apart, int copies, double *seconds) {
  (void)state, (void)index, (void)way, (void)row, (void)cols, (void)apart, (void)copies, (void)seconds;
  return davit_fail(DAVIT_DEVICE_LOST, "device 0 does not answer");
}

CASE(test_failures_are_reported) {
  simulated s = large;
  dvt_microbenchmark microbenchmark = meter_of(&s);
  dvt_parameters f = {{0}};
  microbenchmark.copy = refuse_copy;
  CHECK_FAILS(dvt_parameters_of_device(&microbenchmark, 0, true, &f), DAVIT_DEVICE_LOST, "does not answer");
}

/* ---- the table ---- */

/* On both devices, whose names differ, or on the host. */
static void set_figure(int device, const char *name, int64_t value) {
  CHECK(davit_tuning_set(device, "gemm", name, value, 0));
  if (device == 0)
    CHECK(davit_tuning_set(1, "gemm", name, value, 0));
}

static double figure_named(int device, const char *name, bool *measured) {
  davit_level3_figure figures[32];
  int count = 0;
  CHECK(davit_level3_figures(device, COUNT(figures), figures, &count));
  for (int i = 0; i < count; i++)
    if (strcmp(figures[i].name, name) == 0) {
      *measured = figures[i].measured;
      return figures[i].value;
    }
  fail_msg("device %d has no figure %s", device, name);
  return 0;
}

CASE(test_model_reads_the_table) {
  const int devices[] = {0, 1};
  dvt_model builtin, measured;
  bool is_measured;
  CHECK(davit_tuning_clear());
  dvt_model_of(devices, 2, DAVIT_DOUBLE, &builtin);
  assert_true(figure_named(0, "up", &is_measured) == builtin.device[0].up && !is_measured);
  set_figure(0, "rate_mflops", 7000000);
  set_figure(0, "single_mflops", 9000000);
  set_figure(0, "up_mbytes_s", 3000);
  set_figure(0, "latency_ns", 1234);
  set_figure(DAVIT_HOST, "all_up_mbytes_s", 5000);
  set_figure(DAVIT_HOST, "all_both_mbytes_s", 6000);
  set_figure(DAVIT_HOST, "enqueue_ns", 777);
  dvt_model_of(devices, 2, DAVIT_DOUBLE, &measured);
  for (int d = 0; d < 2; d++) {
    assert_true(measured.device[d].rate == 7e12 && measured.device[d].up == 3e9);
    assert_true(fabs(measured.device[d].latency - 1234e-9) < 1e-15);
    assert_true(measured.device[d].down == builtin.device[d].down);
  }
  assert_true(measured.all_up == 5e9 && measured.all_both == 6e9 && measured.all_down == builtin.all_down);
  assert_true(fabs(measured.enqueue - 777e-9) < 1e-15);
  assert_true(measured.host_copy == builtin.host_copy);
  assert_true(figure_named(0, "up", &is_measured) == 3e9 && is_measured);
  assert_true(figure_named(DAVIT_HOST, "all up", &is_measured) == 5e9 && is_measured);
  assert_true(figure_named(DAVIT_HOST, "all threads copy", &is_measured) == builtin.host_copy &&
              !is_measured);
  dvt_model_of(devices, 2, DAVIT_FLOAT, &measured);
  assert_true(measured.device[0].rate == 9e12);
  dvt_model_of(devices, 2, DAVIT_COMPLEX_DOUBLE, &measured);
  assert_true(measured.device[0].rate == 7e12 / 4);
  CHECK(davit_tuning_clear());
  dvt_model_of(devices, 2, DAVIT_DOUBLE, &measured);
  assert_memory_equal(&measured.device, &builtin.device, 2 * sizeof builtin.device[0]);
}

/* A quarter of the threads is left to enqueue, and 32 are enough. */
CASE(test_threads_that_copy) {
  static const struct {
    int threads, copying;
  } cases[] = {{1, 1}, {2, 2}, {4, 3}, {16, 12}, {32, 24}, {48, 32}, {64, 32}, {1000, 32}};
  bool is_measured;
  double last = 0;
  CHECK(davit_tuning_clear());
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CHECK(davit_set_threads(cases[i].threads));
    assert_int_equal(dvt_stage_threads(), cases[i].copying);
    const double rate = figure_named(DAVIT_HOST, "all threads copy", &is_measured);
    assert_true(cases[i].threads > 48 ? rate == last : rate > last);
    last = rate;
  }
  CHECK(davit_set_threads(0));
}

enum { N = 512 };

static int devices_used(const double *a, const double *b, double *c) {
  const int devices[] = {0, 1};
  davit_level3_report report;
  const davit_level3_options options = {.devices = devices, .device_count = 2, .report = &report};
  CHECK(davit_dgemm('N', 'N', N, N, N, 1, a, N, b, N, 0, c, N, &options));
  int used = 0;
  for (int d = 0; d < report.device_count; d++)
    used += report.devices[d].products > 0;
  return used;
}

/* Where all but the start of a second device takes no time, one device is chosen; where products take
 * long, two. The same figures give the same bits. */
CASE(test_other_figures_other_choices) {
  double *a = kept(sizeof(double) * N * N), *b = kept(sizeof(double) * N * N),
         *c[3] = {kept(sizeof(double) * N * N), kept(sizeof(double) * N * N), kept(sizeof(double) * N * N)};
  uint64_t seed = 5;
  for (int i = 0; i < N * N; i++) {
    a[i] = random_unit(&seed);
    b[i] = random_unit(&seed);
  }
  CHECK(davit_tuning_clear());
  set_figure(0, "rate_mflops", 10);
  assert_int_equal(devices_used(a, b, c[0]), 2);
  assert_int_equal(devices_used(a, b, c[1]), 2);
  assert_memory_equal(c[0], c[1], sizeof(double) * N * N);
  static const char *const rates[] = {"rate_mflops",   "up_mbytes_s",   "down_mbytes_s",
                                      "both_mbytes_s", "peer_mbytes_s", "memory_mbytes_s"};
  static const char *const times[] = {"launch_ns", "latency_ns", "row_bytes", "area", "depth"};
  for (int i = 0; i < COUNT(rates); i++)
    set_figure(0, rates[i], 100000000);
  for (int i = 0; i < COUNT(times); i++)
    set_figure(0, times[i], 1);
  assert_int_equal(devices_used(a, b, c[2]), 1);
  for (int i = 0; i < N * N; i++)
    assert_true(fabs(c[2][i] - c[0][i]) <= 1e-12 * fabs(c[0][i]) + 1e-12);
  CHECK(davit_tuning_clear());
}

/* The machine's own: here the host's alone. */
CASE(test_measuring) {
  bool measured;
  CHECK(davit_tuning_clear());
  CHECK(davit_level3_measure(NULL));
  assert_true(figure_named(DAVIT_HOST, "thread rate", &measured) > 1e6 && measured);
  assert_true(figure_named(DAVIT_HOST, "thread copy", &measured) > 1e6 && measured);
  CHECK(davit_tuning_clear());
}

int main(void) {
  setenv("DAVIT_SIMULATE", "amd", 1);
  return run_cases(NULL, NULL);
}
