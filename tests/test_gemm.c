/* SPDX-License-Identifier: Apache-2.0 */
/* The tiled product against BLIS, by the bound of SLATE's testers,
 *
 *   ||C - Cref||_F <= 3 eps (sqrt(k + 2) |alpha| ||A||_F ||B||_F + 2 |beta| ||C0||_F),
 *
 * over sizes round tile edges, all transposes, scalars, placements, numbers of devices and caches too small
 * for the matrices; what must stay untouched is compared byte by byte. */
#include "tests/problem.h"

static int devices[MAX_PLACES], spread;

static int find_devices(void **state) {
  (void)state;
  spread = spread_devices(devices);
  spread = spread < 4 ? spread : 4;
  return 0;
}

static void run_and_check(product p) {
  SCOPE;
  product_make(&p);
  CHECK(product_call(&p, NULL));
  product_expect(&p);
}

static product basic(int type, int64_t m, int64_t n, int64_t k) {
  product p = {.g = {.type = real_type(type), .transa = 'N', .transb = 'N', .m = m, .n = n, .k = k}};
  p.g.alpha = 0.7;
  p.g.beta = -1;
  for (int i = 0; i < 3; i++)
    p.place[i] = DAVIT_PAGEABLE;
  p.options = (davit_level3_options){.devices = devices, .device_count = spread, .tile = 64};
  return p;
}

/* In bits 0 and 1 of `which` is whether A and B are transposed. */
static product transposed(int which, int64_t m, int64_t n, int64_t k) {
  product p = basic(which, m, n, k);
  p.g.transa = which & 1 ? 'T' : 'N';
  p.g.transb = which & 2 ? 'T' : 'N';
  p.options.separate_memory = true;
  return p;
}

/* ---- results ---- */

CASE(test_small_caches_evict) {
  const int64_t tile = 64;
  int64_t evictions = 0;
  for (int slots = 3; slots < 12; slots++)
    for (int trans = 0; trans < 4; trans++) {
      davit_level3_report report;
      product p = transposed(trans, 400, 330, 500);
      p.options.cache_bytes = (size_t)(slots * tile * tile) * davit_type_bytes(p.g.type);
      p.options.report = &report;
      run_and_check(p);
      evictions += report.evictions;
      assert_true(report.cache_bytes <= (int64_t)p.options.cache_bytes * report.device_count);
    }
  assert_true(evictions > 0);
}

CASE(test_cache_too_small_is_refused) {
  product p = basic(1, 200, 200, 200);
  p.options.separate_memory = true;
  p.options.cache_bytes = 2 * 64 * 64 * sizeof(double);
  product_make(&p);
  CHECK_FAILS(product_call(&p, NULL), DAVIT_OUT_OF_DEVICE_MEMORY, "tiles");
  assert_true(dense_as_image(&p.o[2]));
}

/* Tiles shorter than those that are fast, where no others fit; no devices named: where the operands lie. */
CASE(test_little_memory) {
  for (int named = 0; named < 2; named++) {
    davit_level3_report report;
    product p = basic(1, 200, 190, 180);
    p.options.tile = 0;
    if (!named)
      p.options.devices = NULL, p.options.device_count = 0;
    p.options.separate_memory = named;
    p.options.cache_bytes = named ? 5 * 30 * 30 * sizeof(double) : 1;
    p.options.report = &report;
    run_and_check(p);
    assert_true(!named || (report.tile > 1 && report.tile < 30));
  }
}

/* A device that has less room than it should: the product takes less there, and is right. */
CASE(test_a_full_device_gets_fewer_tiles) {
  for (int chosen = 0; chosen < 2; chosen++) {
    davit_level3_report report;
    product p = basic(1, 500, 480, 520);
    p.options.tile = chosen ? 0 : 64;
    p.options.separate_memory = true;
    p.options.report = &report;
    CHECK(davit_finalize()); /* no block is kept that would serve again */
    product_make(&p);
    dvt_inject(DVT_INJECT_DEVICE_MEMORY, 2);
    CHECK(product_call(&p, NULL));
    assert_false(dvt_injected(DVT_INJECT_DEVICE_MEMORY));
    dvt_inject(DVT_INJECT_DEVICE_MEMORY, 0);
    assert_true(report.cache_bytes > 0); /* it has run by tiles */
    product_expect(&p);
  }
}

CASE(test_chosen_tile) {
  for (int separate = 0; separate < 2; separate++) {
    product p = basic(1, 700, 650, 600);
    p.options.tile = 0;
    p.options.separate_memory = separate;
    run_and_check(p);
  }
}

CASE(test_explanation) {
  davit_level3_explanation e = {.count = -1};
  product p = basic(1, 700, 650, 600);
  p.options.tile = 256;
  p.options.separate_memory = true;
  p.options.explanation = &e;
  run_and_check(p);
  assert_in_range(e.count, 1, 8);
  assert_true(e.seconds > 0 && e.seconds >= e.floor_arithmetic && e.arithmetic <= e.seconds);
  assert_int_equal(e.choices[0].tile_m, 256);
  assert_true(e.choices[0].grid_m * e.choices[0].grid_n * e.choices[0].grid_k <= spread);
}

/* A prediction is that of the call which follows, and nothing is computed or read for it. */
CASE(test_prediction) {
  static const int64_t shapes[][3] = {{700, 650, 600}, {40, 30, 20}};
  for (int s = 0; s < COUNT(shapes); s++)
    for (int tiles = 0; tiles < 2; tiles++) {
      davit_level3_explanation e, one = {.count = -1}, two = one, few;
      davit_level3_report report = {.products = -1};
      davit_level3_options o = {.devices = devices,
                                .device_count = spread,
                                .separate_memory = tiles,
                                .explanation = &one,
                                .report = &report,
                                .predict_threads = 1};
      const int64_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
      double *a = kept(sizeof(double) * (size_t)(m * k)), *b = kept(sizeof(double) * (size_t)(k * n)),
             *c = kept(sizeof(double) * (size_t)(m * n));
      memset(a, 0, sizeof(double) * (size_t)(m * k));
      memset(b, 0, sizeof(double) * (size_t)(k * n));
      c[0] = 77;
      CHECK(davit_dgemm('N', 'N', m, n, k, 1, a, m, b, k, 0, c, m, &o));
      assert_true(c[0] == 77 && report.products == -1 && !report.written);
      o.predict_threads = 4;
      o.explanation = &two;
      CHECK(davit_dgemm('N', 'N', m, n, k, 1, a, m, b, k, 0, c, m, &o));
      assert_true(one.host > two.host && two.host > one.host / 4);
      assert_true(one.seconds > 0 && (one.seconds == two.seconds || two.seconds >= two.host));
      o.predict_threads = 0;
      o.explanation = &e;
      CHECK(davit_dgemm('N', 'N', m, n, k, 1, a, m, b, k, 0, c, m, &o));
      assert_true(c[0] == 0 && e.host == 0);
      assert_true(one.seconds >= one.host || (one.seconds == e.seconds && one.count == e.count));
      o.predict_threads = 1000; /* BLIS may be faster than any choice on devices, by the floors */
      o.explanation = &few;
      CHECK(davit_dgemm('N', 'N', m, n, k, 1, a, m, b, k, 0, c, m, &o));
      const double floor = fmax(few.floor_arithmetic, few.floor_link);
      assert_true(floor < few.host || (few.seconds == floor && few.count == 0));
    }
}

/* BLIS's arithmetic in a triangle is half of that in a product, and twice that for two terms. */
CASE(test_prediction_of_updates) {
  davit_level3_explanation e;
  const davit_level3_options o = {
      .devices = devices, .device_count = spread, .explanation = &e, .predict_threads = 2};
  enum { N = 400 };
  double *a = kept(sizeof(double) * N * N), *c = kept(sizeof(double) * N * N), host[4];
  CHECK(davit_dgemm('N', 'T', N, N, N, 1, a, N, a, N, 0, c, N, &o));
  host[0] = e.host;
  CHECK(davit_dsyrk('U', 'N', N, N, 1, a, N, 0, c, N, &o));
  host[1] = e.host;
  CHECK(davit_dsyr2k('U', 'N', N, N, 1, a, N, a, N, 0, c, N, &o));
  host[2] = e.host;
  CHECK(davit_dtrsm('L', 'U', 'N', 'N', N, N, 1, a, N, c, N, &o));
  host[3] = e.host;
  assert_true(host[1] == host[0] / 2 && host[2] == host[0] && host[3] == host[1]);
}

/* The report has the tiles of the choice that was taken, and no two choices read alike. */
CASE(test_report_of_tiles) {
  static const int64_t shapes[][3] = {{700, 700, 700}, {1000, 150, 550}, {350, 950, 400}, {450, 450, 1250}};
  for (int s = 0; s < COUNT(shapes); s++) {
    davit_level3_explanation e = {.count = -1};
    davit_level3_report report;
    product p = basic(1, shapes[s][0], shapes[s][1], shapes[s][2]);
    p.options.tile = 0;
    p.options.separate_memory = true; /* so that there are tiles */
    p.options.explanation = &e;
    p.options.report = &report;
    run_and_check(p);
    assert_in_range(e.count, 1, 8);
    assert_int_equal(report.tile_m, e.choices[0].tile_m);
    assert_int_equal(report.tile_n, e.choices[0].tile_n);
    assert_int_equal(report.tile_k, e.choices[0].tile_k);
    for (int i = 0; i < e.count; i++)
      for (int j = 0; j < i; j++)
        assert_true(
            e.choices[i].grid_m != e.choices[j].grid_m || e.choices[i].grid_n != e.choices[j].grid_n ||
            e.choices[i].grid_k != e.choices[j].grid_k || e.choices[i].tile_m != e.choices[j].tile_m ||
            e.choices[i].tile_n != e.choices[j].tile_n || e.choices[i].tile_k != e.choices[j].tile_k);
  }
}

/* Of what is computed as a whole they are its lengths. */
CASE(test_report_of_the_whole) {
  davit_level3_report report;
  product p = basic(1, 70, 50, 90);
  p.options.tile = 0;
  p.options.report = &report;
  run_and_check(p);
  assert_int_equal(report.products, 1);
  assert_true(report.tile_m == 70 && report.tile_n == 50 && report.tile_k == 90 && report.tile == 90);
}

/* ---- progress ---- */

typedef struct progress_seen {
  int64_t done, all;
  bool in_turn; /* one after the other, all of the same number */
} progress_seen;

static void note_progress(void *context, int64_t done, int64_t all) {
  progress_seen *t = context;
  t->in_turn = t->in_turn && done == t->done + 1 && (!t->all || t->all == all);
  t->done = done;
  t->all = all;
}

static void expect_progress(const progress_seen *t, const davit_level3_report *report) {
  assert_true(t->in_turn);
  assert_int_equal(t->done, t->all);
  assert_int_equal(t->all, report->products);
}

CASE(test_progress) {
  for (int which = 0; which < 8; which++) {
    progress_seen t = {.in_turn = true};
    davit_level3_report report;
    product p = basic(which & 1, 300, 280, 260);
    p.options.tile = which & 2 ? 64 : 0;
    p.options.separate_memory = which & 4;
    p.options.report = &report;
    p.options.progress = note_progress;
    p.options.progress_context = &t;
    run_and_check(p);
    expect_progress(&t, &report);
  }
}

CASE(test_progress_of_a_solution) {
  enum { N = 200 };
  progress_seen t = {.in_turn = true};
  davit_level3_report report;
  const davit_level3_options options = {.devices = devices,
                                        .device_count = spread,
                                        .tile = 48,
                                        .report = &report,
                                        .progress = note_progress,
                                        .progress_context = &t};
  static double a[N * N], b[N * N];
  CHECK(davit_random(DAVIT_DOUBLE, N * N, 1, a));
  CHECK(davit_random(DAVIT_DOUBLE, N * N, 2, b));
  for (int i = 0; i < N; i++)
    a[i * N + i] = N;
  CHECK(davit_dtrsm('L', 'L', 'N', 'N', N, N, 1, a, N, b, N, &options));
  expect_progress(&t, &report);
  assert_true(t.all > 1);
}

/* A call that fails reports fewer products, and none later. */
CASE(test_progress_of_a_failure) {
  progress_seen t = {.in_turn = true};
  product p = basic(1, 300, 280, 260);
  p.options.separate_memory = true;
  p.options.progress = note_progress;
  p.options.progress_context = &t;
  product_make(&p);
  dvt_inject(DVT_INJECT_RUN, 40);
  CHECK_FAILS(product_call(&p, NULL), DAVIT_DEVICE_LOST, "does not answer");
  dvt_inject(DVT_INJECT_RUN, 0);
  assert_true(t.in_turn && (!t.all || t.done < t.all));
}

/* What a failure at the n-th passage leaves: where the report does not say that C may have been written, C is as it
 * was. False if there were fewer passages. */
static bool fail_at(dvt_injection kind, int n, bool separate, int count[2]) {
  SCOPE;
  product p = basic(1, 200, 210, 220);
  davit_level3_report report = {.written = true};
  p.options.separate_memory = separate;
  p.options.report = &report;
  product_make(&p);
  if (kind == DVT_INJECT_THREAD)
    davit_finalize(); /* its threads are kept otherwise */
  dvt_inject(kind, n);
  const davit_status status = product_call(&p, NULL);
  const bool happened = dvt_inject(kind, 0) == 0;
  if (status == DAVIT_SUCCESS)
    assert_true(report.written);
  else if (!report.written)
    assert_true(dense_as_image(&p.o[2]));
  if (status != DAVIT_SUCCESS)
    count[report.written]++;
  return happened;
}

CASE(test_what_a_failure_has_written) {
  for (int separate = 0; separate < 2; separate++) {
    int lost[2] = {0}, few[2] = {0};
    for (int n = 1; fail_at(DVT_INJECT_RUN, n, separate, lost); n++) {
    }
    for (int n = 1; fail_at(DVT_INJECT_THREAD, n, separate, few); n++) {
    }
    assert_true((lost[0] > 0 || !separate) && lost[1] > 0); /* in place both devices may begin at once */
    assert_true(few[1] == 0);                               /* threads come before the first step */
    davit_device_info first;
    CHECK(davit_device_describe(devices[0], &first));
    if (spread > 1 && first.kind != DAVIT_DEVICE_NVIDIA) /* whose streams need none */
      assert_true(few[0] > 0);
  }
  davit_level3_report report = {.written = true};
  CHECK_FAILS(davit_dgemm('X', 'N', 1, 1, 1, 1, &(double){1}, 1, &(double){1}, 1, 1, &(double){1}, 1,
                          &(davit_level3_options){.report = &report}),
              DAVIT_INVALID_ARGUMENT, "transa");
  assert_false(report.written);
}

CASE(test_same_call_same_bits) {
  for (int slots = 4; slots < 2000; slots *= 20) {
    product p = basic(1, 500, 480, 520);
    p.options.separate_memory = true;
    p.options.cache_bytes = (size_t)slots * 64 * 64 * sizeof(double);
    product_make(&p);
    CHECK(product_call(&p, NULL));
    dense_take(&p.o[2]);
    for (int repeat = 0; repeat < 5; repeat++) {
      CHECK(davit_copy(p.o[2].bytes, p.o[2].before, p.o[2].there));
      CHECK(product_call(&p, NULL));
      assert_true(dense_as_image(&p.o[2]));
    }
  }
}

/* Blocks of one array that lie side by side do not overlap, however their byte ranges mix. */
CASE(test_blocks_of_one_array) {
  enum { N = 96 };
  static double array[4 * N * N], expected[4 * N * N];
  CHECK(davit_random(DAVIT_DOUBLE, 4 * N * N, 5, array));
  memcpy(expected, array, sizeof array);
  davit_level3_options options = {.devices = devices, .device_count = spread, .tile = 32};
  CHECK(davit_dgemm('N', 'N', N, N, N, -1, array + N, 2 * N, array + 2 * N * N, 2 * N, 1,
                    array + 2 * N * N + N, 2 * N, &options));
  dvt_level3_host(&(dvt_site){.threads = 1}, &(dvt_level3){.type = DAVIT_DOUBLE,
                                                           .transa = 'N',
                                                           .transb = 'N',
                                                           .m = N,
                                                           .n = N,
                                                           .k = N,
                                                           .alpha = -1,
                                                           .a = expected + N,
                                                           .lda = 2 * N,
                                                           .b = expected + 2 * N * N,
                                                           .ldb = 2 * N,
                                                           .beta = 1,
                                                           .c = expected + 2 * N * N + N,
                                                           .ldc = 2 * N});
  for (int i = 0; i < 4 * N * N; i++)
    assert_true(fabs(array[i] - expected[i]) < 1e-12);
}

/* A NaN of A that is multiplied with zeros of B makes its row of C NaN, and nothing else. */
static void expect_nan_row(product p, davit_queue *queue, int64_t row, int64_t depth) {
  SCOPE;
  const bool na = p.g.transa == 'N', nb = p.g.transb == 'N';
  product_make(&p);
  dense_set(&p.o[0], na ? row : depth, na ? depth : row, NAN);
  for (int64_t j = 0; j < p.g.n; j++)
    dense_set(&p.o[1], nb ? depth : j, nb ? j : depth, 0);
  dense_give(&p.o[0]), dense_give(&p.o[1]);
  CHECK(product_call(&p, queue));
  if (queue)
    CHECK(davit_queue_synchronize(queue));
  dense_take(&p.o[2]);
  for (int64_t j = 0; j < p.g.n; j++)
    for (int64_t i = 0; i < p.g.m; i++)
      assert_true(isnan(dense_at(&p.o[2], i, j)) == (i == row));
}

static void nan_rows_on_all_paths(void) {
  static const int64_t sizes[] = {1, 2, 5, 9, 17, 70};
  uint64_t seed = 3;
  for (int device = DAVIT_HOST; device <= device_count(); device++) {
    const bool queued = device < device_count();
    const int place = queued ? place_for(device) : DAVIT_PAGEABLE;
    davit_queue *queue = queued ? new_queue(device, 1) : NULL;
    for (int turn = 0; turn < 48; turn++) {
      product p = transposed(turn, sizes[random_below(&seed, 6)], sizes[random_below(&seed, 6)],
                             sizes[random_below(&seed, 6)]);
      memcpy(p.place, (int[]){place, place, place}, sizeof p.place);
      expect_nan_row(p, queue, random_below(&seed, (int)p.g.m), random_below(&seed, (int)p.g.k));
    }
    if (queued)
      finish(queue);
  }
}

CASE(test_nan_times_zero) {
  nan_rows_on_all_paths();
  without_blas(nan_rows_on_all_paths);
}

/* ---- arguments ---- */

CASE(test_bad_arguments) {
  enum { N = 8 };
  double a[N * N] = {1}, b[N * N] = {1}, c[N * N], before[N * N];
  for (int i = 0; i < N * N; i++)
    c[i] = before[i] = i;
  REFUSED(davit_dgemm('N', 0, N, N, N, 1, a, N, b, N, 0, c, N, NULL), "transb");
  REFUSED(davit_dgemm('N', 'N', N, N, N, 1, a, N - 1, b, N, 0, c, N, NULL), "lda");
  REFUSED(davit_dgemm('N', 'T', N, N, N, 1, a, N, b, N - 1, 0, c, N, NULL), "ldb");
  REFUSED(davit_dgemm('N', 'N', N, N, N, 1, a, N, b, N, 0, c, N - 1, NULL), "ldc");
  REFUSED(davit_dgemm('N', 'N', N, N, N, 1, c, N, b, N, 0, c, N, NULL), "c overlaps a");
  REFUSED(davit_dgemm('N', 'N', N / 2, N / 2, N / 2, 1, a, N, c + 1, N, 0, c, N, NULL), "c overlaps b");
  const int64_t huge = INT64_C(1) << 30; /* squared, eight bytes each, more than 2^63 */
  REFUSED(davit_dgemm('N', 'N', huge, N, huge, 1, a, huge, b, huge, 0, c, huge, NULL), "lda is 1073741824");
  REFUSED(davit_dgemm('N', 'N', N, huge, huge, 1, a, N, b, huge, 0, c, N, NULL), "ldb is 1073741824");
  REFUSED(davit_dgemm('N', 'N', huge, huge, N, 1, a, huge, b, N, 0, c, huge, NULL),
          "more than any memory holds");
  REFUSED(davit_dgemm('N', 'N', N, INT64_MAX, N, 1, a, N, b, N, 0, c, N, NULL), "n is 9223372036854775807");
  const davit_level3_options with_progress = {.progress = note_progress}, negative = {.predict_threads = -1},
                             silent = {.predict_threads = 1},
                             of_several = {.processes = &(davit_level3_processes){0}};
  davit_queue *queue;
  CHECK(davit_queue_create(devices[0], &queue, NULL));
  REFUSED(davit_queue_dgemm(queue, 'N', 'N', N, N, N, 1, a, N, b, N, 0, c, N, &with_progress),
          "options->progress is set");
  REFUSED(davit_queue_dgemm(queue, 'N', 'N', N, N, N, 1, a, N, b, N, 0, c, N, &silent),
          "options->predict_threads is set");
  REFUSED(davit_queue_dgemm(queue, 'N', 'N', N, N, N, 1, a, N, b, N, 0, c, N, &of_several),
          "options->processes is set");
  CHECK(davit_queue_destroy(queue));
  davit_level3_options tile = {.tile = -5};
  REFUSED(davit_dgemm('N', 'N', N, N, N, 1, a, N, b, N, 0, c, N, &tile), "tile");
  int wrong[] = {1000}, twice[] = {devices[0], devices[0]};
  davit_level3_options unknown = {.devices = wrong, .device_count = 1};
  CHECK_FAILS(davit_dgemm('N', 'N', N, N, N, 1, a, N, b, N, 0, c, N, &unknown), DAVIT_UNKNOWN_DEVICE, "1000");
  davit_level3_options doubled = {.devices = twice, .device_count = 2};
  REFUSED(davit_dgemm('N', 'N', N, N, N, 1, a, N, b, N, 0, c, N, &doubled), "twice");
  REFUSED(davit_dgemm('N', 'N', N, N, N, 1, a, N, b, N, 0, c, N, &negative), "predict_threads is -1");
  REFUSED(davit_dgemm('N', 'N', N, N, N, 1, a, N, b, N, 0, c, N, &silent), "but no explanation");
  assert_memory_equal(c, before, sizeof c);
}

int main(void) {
  return run_cases(find_devices, finalize);
}
