/* SPDX-License-Identifier: Apache-2.0 */
/* Exact products whose parts several processes compute: they have the bits of the whole. Here the processes are
 * threads, which meet at a barrier. */
#include "ref/exact.h"
#include "tests/support.h"

enum { M = 72, N = 60, K = 90, PARTS = 6 };

/* ---- meetings ---- */

typedef struct meeting {
  pthread_barrier_t barrier;
  pthread_mutex_t mutex;
  double values[16];
  int count, meetings;
} meeting;

static meeting all;

static void find_maxima(void *context, int count, double *values) {
  meeting *m = context;
  pthread_barrier_wait(&m->barrier);
  pthread_mutex_lock(&m->mutex);
  for (int i = 0; i < count; i++)
    m->values[i] = m->count == 0 || values[i] > m->values[i] ? values[i] : m->values[i];
  m->count++;
  pthread_mutex_unlock(&m->mutex);
  pthread_barrier_wait(&m->barrier);
  memcpy(values, m->values, (size_t)count * sizeof *values);
  pthread_barrier_wait(&m->barrier);
  m->count = 0;
  m->meetings++;
}

/* ---- parts of a product ---- */

typedef struct part {
  int64_t row, rows, col, cols;
  double beta;
  size_t cache_bytes;
  bool fails, single; /* in floats */
  int moduli;
  davit_status status;
  davit_level3_report report;
} part;

static double a[M * K], b[K * N], c0[M * N], c[M * N], whole[M * N];
static float short_a[M * K], short_b[K * N], short_c[M * N];
static const int host = DAVIT_HOST;

static void *compute(void *argument) {
  part *p = argument;
  static const davit_level3_processes processes = {find_maxima, &all};
  const davit_level3_options options = {.devices = &host,
                                        .device_count = 1,
                                        .arithmetic = DAVIT_ARITHMETIC_EXACT,
                                        .exact_bits = true,
                                        .cache_bytes = p->cache_bytes,
                                        .moduli = p->moduli,
                                        .report = &p->report,
                                        .processes = &processes};
  if (p->single)
    p->status = davit_sgemm('N', 'N', p->rows, p->cols, K, 0.7f, short_a + p->row, M, short_b + p->col * K, K,
                            (float)p->beta, short_c + p->row + p->col * M, M, &options);
  else
    p->status = davit_dgemm(p->fails ? '?' : 'N', 'N', p->rows, p->cols, K, 0.7, a + p->row, M,
                            b + p->col * K, K, p->beta, c + p->row + p->col * M, M, &options);
  return NULL;
}

/* Parts in `grid_m` rows and `grid_n` columns; `beta` of all. */
static int divide(part *parts, int grid_m, int grid_n, double beta) {
  for (int i = 0; i < grid_m; i++)
    for (int j = 0; j < grid_n; j++) {
      const int64_t row = M * i / grid_m, col = N * j / grid_n;
      parts[i * grid_n + j] = (part){.row = row,
                                     .rows = M * (i + 1) / grid_m - row,
                                     .col = col,
                                     .cols = N * (j + 1) / grid_n - col,
                                     .beta = beta};
    }
  return grid_m * grid_n;
}

static void compute_all(part *parts, int count) {
  pthread_t thread[PARTS];
  memcpy(c, c0, sizeof c);
  all = (meeting){.mutex = PTHREAD_MUTEX_INITIALIZER};
  pthread_barrier_init(&all.barrier, NULL, (unsigned)count);
  for (int i = 0; i < count; i++)
    assert_int_equal(pthread_create(&thread[i], NULL, compute, &parts[i]), 0);
  for (int i = 0; i < count; i++)
    pthread_join(thread[i], NULL);
  pthread_barrier_destroy(&all.barrier);
}

static davit_level3_report compute_whole(double beta) {
  davit_level3_report report;
  const davit_level3_options options = {.devices = &host,
                                        .device_count = 1,
                                        .arithmetic = DAVIT_ARITHMETIC_EXACT,
                                        .exact_bits = true,
                                        .report = &report};
  memcpy(whole, c0, sizeof whole);
  CHECK(davit_dgemm('N', 'N', M, N, K, 0.7, a, M, b, K, beta, whole, M, &options));
  return report;
}

/* Every division has the bits and the moduli of the whole, and takes few meetings. */
static int expect_same_bits(const char *what) {
  static const int grids[][2] = {{1, 1}, {2, 1}, {1, 3}, {6, 1}, {2, 3}};
  part parts[PARTS];
  int moduli = 0;
  for (int beta = 0; beta < 2; beta++) {
    const davit_level3_report right = compute_whole(beta ? -0.3 : 0);
    moduli = right.moduli;
    for (int g = 0; g < COUNT(grids); g++) {
      const int count = divide(parts, grids[g][0], grids[g][1], beta ? -0.3 : 0);
      compute_all(parts, count);
      for (int i = 0; i < count; i++) {
        assert_int_equal(parts[i].status, DAVIT_SUCCESS);
        if (parts[i].report.moduli != right.moduli || parts[i].report.arithmetic != right.arithmetic)
          fail_msg("%s: part %d of %d in %d moduli, not %d", what, i, count, parts[i].report.moduli,
                   right.moduli);
      }
      if (right.moduli && memcmp(c, whole, sizeof c))
        fail_msg("%s: %d x %d parts have other bits", what, grids[g][0], grids[g][1]);
    }
  }
  return moduli;
}

static uint64_t seed = 1;
static double noise(void) {
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(seed >> 11) * 0x1p-53 - 0.5;
}

static double spread(double phi) {
  return noise() * exp(phi * 4 * noise());
}

static void fill(double phi) {
  for (int i = 0; i < M * K; i++)
    a[i] = spread(phi);
  for (int i = 0; i < K * N; i++)
    b[i] = spread(phi);
  for (int i = 0; i < M * N; i++)
    c0[i] = noise();
}

/* Whole numbers, so that nothing of these rows is rounded. */
static void fill_whole_rows(int first, int end, double most) {
  for (int k = 0; k < K; k++)
    for (int i = first; i < end; i++)
      a[i + k * M] = rint(most * noise());
}

CASE(parts_have_the_bits_of_the_whole) {
  fill(0.5);
  assert_true(expect_same_bits("all alike") > 8);
  fill(3);
  assert_true(expect_same_bits("spread") > 8);
}

/* Some processes would round nothing, others have to. */
CASE(parts_with_whole_numbers_follow_the_others) {
  fill(0.5);
  for (int i = 0; i < K * N; i++)
    b[i] = rint(0x1p30 * noise());
  fill_whole_rows(0, M, 0x1p20);
  assert_true(expect_same_bits("whole numbers") > 0);
  for (double most = 0x1p20; most < 0x1p60; most *= 0x1p10) {
    fill(0.5);
    for (int i = 0; i < K * N; i++)
      b[i] = rint(0x1p30 * noise());
    fill_whole_rows(0, M / 2, most);
    expect_same_bits("whole numbers above");
  }
}

/* In some rows large numbers meet small ones alone, which one window of coarse values takes for 0. */
CASE(parts_look_through_as_many_windows) {
  fill(0.5);
  for (int k = 0; k < K; k++)
    for (int i = 0; i < 12; i++)
      a[i + k * M] *= k % 2 ? 0x1p-12 : 1;
  for (int j = 0; j < N; j++)
    for (int k = 0; k < K; k++)
      b[k + j * K] *= k % 2 ? 1 : 0x1p-12;
  assert_true(expect_same_bits("far apart in some rows") > 0);
}

CASE(one_process_that_is_native_takes_all_with_it) {
  part parts[PARTS];
  fill(0.5);
  a[5 + 7 * M] = NAN;
  const davit_level3_report right = compute_whole(1);
  assert_true(right.why_native && right.moduli == 0);
  const int count = divide(parts, 2, 3, 1);
  compute_all(parts, count);
  for (int i = 0; i < count; i++) {
    assert_int_equal(parts[i].status, DAVIT_SUCCESS);
    assert_int_equal(parts[i].report.arithmetic, DAVIT_ARITHMETIC_NATIVE);
    assert_string_equal(parts[i].report.why_native, right.why_native);
  }
  for (int i = 0; i < M; i++)
    assert_int_equal(isnan(c[i]), i == 5);
}

/* Little memory, in which nothing fits: C is read, and still there for the native product. */
CASE(one_process_without_memory_takes_all_with_it) {
  part parts[PARTS];
  for (int beta = 0; beta < 2; beta++) {
    fill(0.5);
    const int count = divide(parts, 3, 1, beta);
    parts[1].cache_bytes = 64 << 10;
    compute_all(parts, count);
    for (int i = 0; i < count; i++) {
      assert_int_equal(parts[i].status, DAVIT_SUCCESS);
      assert_int_equal(parts[i].report.arithmetic, DAVIT_ARITHMETIC_NATIVE);
      assert_non_null(strstr(parts[i].report.why_native, i == 1 ? "too little memory" : "another process"));
    }
    CHECK(davit_dgemm('N', 'N', M, N, K, 0.7, a, M, b, K, beta, memcpy(whole, c0, sizeof c0), M,
                      &(davit_level3_options){.devices = &host, .device_count = 1}));
    for (int i = 0; i < M * N; i++)
      assert_true(fabs(c[i] - whole[i]) <= 1e-13);
  }
}

/* It has memory to look at C, but not for as many moduli as are needed then. */
CASE(nobody_computes_before_all_have_memory) {
  part parts[PARTS];
  fill(0.5);
  for (int i = 0; i < M * K; i++)
    short_a[i] = (float)a[i];
  for (int i = 0; i < K * N; i++)
    short_b[i] = (float)b[i];
  for (int i = 0; i < M * N; i++)
    short_c[i] = (float)c0[i];
  const int count = divide(parts, 3, 1, -1);
  for (int i = 0; i < count; i++) {
    parts[i].single = true;
    parts[i].moduli = 10;
    parts[i].cache_bytes = i == 1 ? 80 << 10 : 0;
  }
  compute_all(parts, count);
  for (int i = 0; i < count; i++) {
    assert_int_equal(parts[i].status, DAVIT_SUCCESS);
    assert_non_null(strstr(parts[i].report.why_native, i == 1 ? "too little memory" : "another process"));
  }
  CHECK(davit_dgemm('N', 'N', M, N, K, 0.7, a, M, b, K, -1, memcpy(whole, c0, sizeof c0), M,
                    &(davit_level3_options){.devices = &host, .device_count = 1}));
  for (int i = 0; i < M * N; i++)
    assert_true(fabs((double)short_c[i] - whole[i]) <= 1e-5);
}

CASE(a_process_without_a_part_or_with_a_failure_leaves_nobody_waiting) {
  part parts[PARTS];
  fill(0.5);
  const int count = divide(parts, 2, 1, 0);
  compute_whole(0);
  parts[count] = (part){.rows = 0, .cols = N};
  compute_all(parts, count + 1);
  for (int i = 0; i <= count; i++)
    assert_int_equal(parts[i].status, DAVIT_SUCCESS);
  assert_memory_equal(c, whole, sizeof c);
  assert_null(parts[0].report.why_native);
  assert_int_equal(parts[count].report.arithmetic, DAVIT_ARITHMETIC_NATIVE);
  assert_non_null(parts[count].report.why_native);
  assert_string_equal(parts[count].report.why_native, "nothing is multiplied");
  parts[1].fails = true;
  compute_all(parts, count);
  assert_int_equal(parts[0].status, DAVIT_SUCCESS);
  assert_int_equal(parts[1].status, DAVIT_INVALID_ARGUMENT);
}
