/* SPDX-License-Identifier: Apache-2.0 */
/* Scans and segmented scans: results that are exact in any order, bit for bit against the reference;
 * properties that need no reference; |error| <= (5120 + n / 512) eps sum |x_j| over the elements that go into
 * y_i, as on a CPU 512 to 4095 of them are added one after another, and so are the sums of strips of 512. */
#include "tests/paths.h"

/* ---- results ---- */

/* The source's example. */
CASE(test_two_segments) {
  const int32_t x[] = {1, 2, 3, 4, 5, 6, 7, 8}, inclusive[] = {1, 3, 6, 4, 9, 15, 22, 30};
  const int32_t exclusive[] = {0, 1, 3, 0, 4, 9, 15, 22};
  for (int first = 0; first < 2; first++) {
    const uint8_t flags[] = {(uint8_t)first, 0, 0, 1, 0, 0, 0, 0};
    int32_t y[8];
    CHECK(davit_segmented_scan(DAVIT_SUM, DAVIT_INT32, DAVIT_SCAN_INCLUSIVE, 8, x, flags, y, NULL));
    assert_memory_equal(y, inclusive, sizeof y);
    CHECK(davit_segmented_scan(DAVIT_SUM, DAVIT_INT32, DAVIT_SCAN_EXCLUSIVE, 8, x, flags, y, NULL));
    assert_memory_equal(y, exclusive, sizeof y);
  }
}

/* ---- properties ---- */

CASE(test_exclusive_and_inclusive_and_reduction) {
  enum { N = 200003 };
  EACH_OPERATOR(op) {
    int32_t *x = exact_data(op, DAVIT_INT32, N, 7), *in = kept(sizeof *in * N), *ex = kept(sizeof *ex * N),
            last, step;
    CHECK(davit_scan(op, DAVIT_INT32, DAVIT_SCAN_INCLUSIVE, N, x, in, NULL));
    CHECK(davit_scan(op, DAVIT_INT32, DAVIT_SCAN_EXCLUSIVE, N, x, ex, NULL));
    CHECK(davit_reduce(op, DAVIT_INT32, N, x, &last, NULL));
    assert_int_equal(last, in[N - 1]);
    for (int i = 0; i < N; i++) {
      const int32_t pair[] = {ex[i], x[i]};
      dvt_ref_reduce(op, DAVIT_INT32, 2, pair, &step);
      assert_true(step == in[i] && (i == 0 || ex[i] == in[i - 1]));
    }
  }
}

/* `should` is the result in long double, then the sum of the sizes of what went into it. */
static void within_bound(const job *j, void *y, const void *should, const char *path, int where) {
  const long double *exact = should, *size = exact + j->n;
  for (int64_t i = 0; i < j->n; i++) {
    const long double error = fabsl((long double)element_at(j->type, y, i) - exact[i]);
    const double bound = (5120 + (double)j->n / 512) * element_epsilon(j->type) * (double)size[i];
    if (!((double)error <= bound))
      fail_msg("%s: element %lld: error %g > %g", job_label(j, path, where), (long long)i, (double)error,
               bound);
  }
}

CASE(test_error_bound) {
  static const int64_t sizes[] = {5000, 100001, 1000003};
  uint64_t seed = 8;
  for (int turn = 0; turn < 12; turn++) {
    if (left_out())
      continue;
    job j = scan_of(DAVIT_SUM, (davit_type)(turn % 2), (davit_scan_kind)(turn / 2 % 2), sizes[turn / 4]);
    j.in_place = turn % 4 == 1;
    void *x = rough_data(DAVIT_SUM, j.type, j.n, next_random(&seed));
    uint8_t *flags = turn % 3 == 2 ? make_flags(FLAGS_LONG, j.n, next_random(&seed)) : NULL;
    long double *should = kept((size_t)j.n * 2 * sizeof *should), sum = 0, size = 0;
    for (int64_t i = 0; i < j.n; i++) {
      const long double term = (long double)element_at(j.type, x, i);
      if (flags && flags[i])
        sum = size = 0;
      should[i] = j.kind == DAVIT_SCAN_EXCLUSIVE ? sum : sum + term;
      sum += term;
      size += fabsl(term);
      should[j.n + i] = size;
    }
    j.x = x;
    j.flags = flags;
    walk_all_paths(&j, 1, within_bound, should, &seed);
    walk_streamed(&j, within_bound, should, &seed);
  }
}

/* ---- equal bits ---- */

/* Where results round, all paths have the bits of one thread of the CPU: other numbers of threads, devices, parts cut
 * anywhere, pieces of any length. */
static void expect_one_order(job j, uint64_t *seed) {
  SCOPE;
  const davit_scan_options *here = ON(davit_scan_options, &(int){DAVIT_HOST}, 1);
  char *should = kept(job_bytes(&j)), *y = kept(job_bytes(&j));
  j.x = rough_data(j.op, j.type, j.n, next_random(seed));
  for (int threads = 1; threads <= 8; threads += threads > 2 ? 2 : 1) {
    CHECK(davit_set_threads(threads));
    CHECK(j.flags ? davit_segmented_scan(j.op, j.type, j.kind, j.n, j.x, j.flags, y, here)
                  : davit_scan(j.op, j.type, j.kind, j.n, j.x, y, here));
    if (threads == 1)
      memcpy(should, y, job_bytes(&j));
    same_bits(&j, y, should, "threads", threads);
  }
  CHECK(davit_set_threads(0));
  walk_all_paths(&j, 1, same_bits, should, seed);
  walk_streamed(&j, same_bits, should, seed);
}

CASE(test_one_order) {
  static const int64_t sizes[] = {700, 9000, 140001, 700001};
  static const flag_pattern patterns[] = {FLAGS_NONE, FLAGS_LONG, FLAGS_SHORT};
  uint64_t seed = 9;
  EACH_DEVICE(device) /* pieces of two groups */
    CHECK(davit_tuning_set(device, "scan", "piece_bytes", 1 << 20, 0));
  for (int turn = 0; turn < 24; turn++) {
    if (left_out())
      continue;
    job j = scan_of(turn % 8 == 3 ? DAVIT_PROD : DAVIT_SUM, (davit_type)(turn % 2),
                    (davit_scan_kind)(turn / 2 % 2), sizes[turn % 4]);
    j.in_place = turn % 5 == 1;
    j.shift = turn % 7 == 2;
    j.flags = turn % 3 ? make_flags(patterns[turn / 3 % 3], j.n, next_random(&seed)) : NULL;
    expect_one_order(j, &seed);
  }
  CHECK(davit_tuning_clear());
}

/* Parts that end where a group does, with and without a head in their last group. */
CASE(test_parts_of_whole_groups) {
  enum { GROUP = 1 << 17, N = 5 * GROUP };
  const float *x = rough_data(DAVIT_SUM, DAVIT_FLOAT, N, 12);
  float *should = kept(N * sizeof *should), *y = kept(N * sizeof *y);
  davit_scan_part parts[4];
  for (int turn = 0; turn < 4; turn++) {
    uint8_t *flags = kept_zeros(N);
    flags[GROUP + 100] = turn > 0;
    flags[3 * GROUP - 100] = turn > 1;
    flags[3 * GROUP + 7] = turn > 2;
    CHECK(davit_segmented_scan(DAVIT_SUM, DAVIT_FLOAT, DAVIT_SCAN_INCLUSIVE, N, x, flags, should, NULL));
    for (int p = 0, at = 0; p < COUNT(parts); at += p == 2 ? 2 * GROUP : GROUP, p++)
      parts[p] = (davit_scan_part){p == 2 ? 2 * GROUP : GROUP, x + at, flags + at, y + at};
    CHECK(davit_segmented_scan_parts(DAVIT_SUM, DAVIT_FLOAT, DAVIT_SCAN_INCLUSIVE, COUNT(parts), parts));
    assert_memory_equal(y, should, N * sizeof *y);
  }
}

/* Parts of whole groups in turn on all devices, so that devices sum some and scan others at once; the last one is as long
 * as it is. Behind a carry, too, and with an operator whose order shows. */
CASE(test_parts_in_turn) {
  enum { GROUP = 1 << 16, PARTS = 11, N = (PARTS + 2) * GROUP + 777 };
  const int devices = device_count();
  const double carry = 0.7, *x = rough_data(DAVIT_SUM, DAVIT_DOUBLE, N, 14);
  double *should = kept((N + GROUP) * sizeof *should), *y = kept(N * sizeof *y);
  for (int turn = 0; turn < 6; turn++) {
    const int count = turn < 4 ? PARTS : 2; /* of two, the first is summed */
    const davit_scan_kind kind = (davit_scan_kind)(turn % 2);
    const davit_monoid *sum;
    arrays a[PARTS];
    davit_scan_part parts[PARTS + 1] = {{0}};
    CHECK(davit_monoid_builtin(DAVIT_SUM, DAVIT_DOUBLE, &sum));
    sum->scan(&(davit_monoid_task){.device = DAVIT_HOST,
                                   .threads = 1,
                                   .n = N,
                                   .x = x,
                                   .y = should,
                                   .carry_in = turn / 2 == 1 ? &carry : NULL,
                                   .modes = kind == DAVIT_SCAN_EXCLUSIVE});
    for (int64_t p = 0, at = 0, n; p < count; p++, at += n) {
      n = p == count - 1 ? N - at : p == 4 ? 3 * GROUP : GROUP;
      const job j = {.op = DAVIT_SUM, .scan = true, .type = DAVIT_DOUBLE, .n = n, .x = x + at};
      const int place = devices > 0 ? place_for((int)p % devices) : DAVIT_HOST;
      a[p] = job_place(&j, 0, n, place, place, place);
      parts[p + (p > 5)] = (davit_scan_part){.n = n, .x = zone_data(&a[p].x), .y = zone_data(&a[p].y)};
    }
    CHECK(davit_monoid_scan_onward(sum, kind, turn / 2 == 1 ? &carry : NULL, count + (count > 5), parts));
    for (int64_t p = 0, at = 0, n; p < count; p++, at += n) {
      n = parts[p + (p > 5)].n;
      const job j = {.op = DAVIT_SUM, .scan = true, .type = DAVIT_DOUBLE, .n = n, .x = x + at};
      job_take(&j, &a[p], 0, y + at);
    }
    assert_memory_equal(y, should, N * sizeof *y);
  }
}

/* ---- again and again ---- */

/* On a GPU every tile waits for what others publish; whatever their order, the bits are the same. */
CASE(test_same_bits_again_and_again) {
  enum { N = 400001, EVERY = 25 };
  float *x = rough_data(DAVIT_SUM, DAVIT_FLOAT, N, 10), *first = kept(sizeof *x * N),
        *again = kept(sizeof *x * N);
  uint8_t *flags = make_flags(FLAGS_LONG, N, 11);
  EACH_DEVICE(device)
    for (int segmented = 0; segmented < 2; segmented++) {
      const job j = {.scan = true, .n = N, .x = x, .flags = segmented ? flags : NULL};
      const int place = place_for(device), repeats = scaled(is_gpu(device) ? 1000 : 30);
      arrays a = job_place(&j, 0, N, place, place, place);
      davit_queue *queue = new_queue(device, 1);
      for (int r = 0; r < repeats; r++) {
        CHECK(davit_queue_fill(queue, a.y.bytes, 0xff, zone_data(&a.y)));
        CHECK(job_call(&j, queue, &a, NULL, 0));
        if (r % EVERY != 0 && r + 1 != repeats && !is_gpu(device))
          continue;
        CHECK(davit_queue_copy(queue, a.y.bytes, zone_data(&a.y), r == 0 ? first : again));
        CHECK(davit_queue_synchronize(queue));
        if (r > 0)
          same_bits(&j, again, first, "repeat", r);
      }
      finish(queue);
      job_take(&j, &a, 0, again);
    }
}

/* Commands of one queue, one after another on the same memory. */
CASE(test_in_order_on_a_queue) {
  enum { N = 50000 };
  EACH_DEVICE(device) {
    int32_t *x = exact_data(DAVIT_SUM, DAVIT_INT32, N, 13), *y = kept(sizeof *x * N), total = 0, right;
    zone there = zone_of(x, sizeof *x * N, place_for(device), 0);
    davit_queue *queue = new_queue(device, 1);
    for (int r = 0; r < 5; r++) {
      CHECK(davit_queue_scan(queue, DAVIT_SUM, DAVIT_INT32, DAVIT_SCAN_INCLUSIVE, r % 2 ? N : N / 3,
                             zone_data(&there), zone_data(&there), NULL));
      dvt_ref_scan(DAVIT_SUM, DAVIT_INT32, DAVIT_SCAN_INCLUSIVE, r % 2 ? N : N / 3, x, NULL, x);
    }
    CHECK(davit_queue_reduce(queue, DAVIT_SUM, DAVIT_INT32, N, zone_data(&there), &total, NULL));
    finish(queue);
    zone_take(&there, y);
    expect_elements(DAVIT_INT32, N, y, x, "scans in order");
    dvt_ref_reduce(DAVIT_SUM, DAVIT_INT32, N, x, &right);
    assert_int_equal(total, right);
  }
}

/* ---- sizes ---- */

CASE(test_nothing) {
  const davit_scan_part nothing[2] = {{0}};
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  CHECK(davit_scan(DAVIT_SUM, DAVIT_FLOAT, DAVIT_SCAN_INCLUSIVE, 0, NULL, NULL, NULL));
  CHECK(davit_segmented_scan(DAVIT_SUM, DAVIT_FLOAT, DAVIT_SCAN_INCLUSIVE, 0, NULL, NULL, NULL, NULL));
  CHECK(davit_queue_scan(queue, DAVIT_SUM, DAVIT_FLOAT, DAVIT_SCAN_EXCLUSIVE, 0, NULL, NULL, NULL));
  CHECK(davit_queue_segmented_scan(queue, DAVIT_SUM, DAVIT_FLOAT, DAVIT_SCAN_EXCLUSIVE, 0, NULL, NULL, NULL,
                                   NULL));
  CHECK(davit_scan_parts(DAVIT_SUM, DAVIT_FLOAT, DAVIT_SCAN_EXCLUSIVE, 0, NULL));
  CHECK(davit_scan_parts(DAVIT_SUM, DAVIT_FLOAT, DAVIT_SCAN_EXCLUSIVE, 2, nothing));
  CHECK(davit_segmented_scan_parts(DAVIT_SUM, DAVIT_FLOAT, DAVIT_SCAN_EXCLUSIVE, 2, nothing));
  CHECK(davit_queue_destroy(queue));
}

/* y_i = (i + 1) c of constant elements c, modulo 2^32; windows of it are looked at. */
CASE(test_beyond_two_to_the_31) {
  enum { WINDOW = 20000 };
  const int64_t n = (INT64_C(1) << 31) + 12345, head = (INT64_C(1) << 31) - 7777;
  const int device = some_gpu((size_t)n * 5 + (size_t)(1 << 30));
  const int64_t begins[] = {0, 1000000007, head - WINDOW / 2, INT32_MAX - WINDOW / 2, n - WINDOW};
  int32_t *x = kept_at((size_t)n * 4, device), window[WINDOW];
  uint8_t *flags = kept_at((size_t)n, device), one = 1;
  CHECK(davit_fill((size_t)n, 0, flags));
  CHECK(davit_copy(1, &one, flags + head));
  for (int segmented = 0; segmented < 2; segmented++) {
    CHECK(davit_fill((size_t)n * 4, 1, x));
    CHECK(segmented ? davit_segmented_scan(DAVIT_SUM, DAVIT_INT32, DAVIT_SCAN_INCLUSIVE, n, x, flags, x,
                                           ON(davit_scan_options, &device, 1))
                    : davit_scan(DAVIT_SUM, DAVIT_INT32, DAVIT_SCAN_INCLUSIVE, n, x, x, NULL));
    for (int b = 0; b < COUNT(begins); b++) {
      CHECK(davit_copy(sizeof window, x + begins[b], window));
      for (int64_t i = 0; i < WINDOW; i++) {
        const int64_t at = begins[b] + i, terms = segmented && at >= head ? at - head + 1 : at + 1;
        assert_int_equal((uint32_t)window[i], 0x01010101u * (uint32_t)terms);
      }
    }
  }
}

/* ---- segments ---- */

CASE(test_segments_round_trip) {
  enum { N = 10007 };
  uint64_t seed = 14;
  int64_t starts[N], again[N], count;
  uint8_t flags[N];
  for (int density = 1; density < 2000; density *= 3) {
    int64_t made = 0;
    for (int64_t i = 0; i < N; i++)
      if (i == 0 || random_below(&seed, density) == 0)
        starts[made++] = i;
    memset(flags, 7, sizeof flags);
    CHECK(davit_scan_flags(made, starts, N, flags));
    for (int64_t i = 0; i < N; i++)
      assert_true(flags[i] <= 1);
    CHECK(davit_scan_starts(N, flags, N, again, &count));
    assert_int_equal(count, made);
    assert_memory_equal(again, starts, (size_t)made * sizeof *starts);
    CHECK(davit_scan_starts(N, flags, 0, NULL, &count));
    assert_int_equal(count, made);
  }
  memset(again, 0xff, sizeof again);
  memset(flags, 3, sizeof flags);
  flags[0] = 0; /* a start whatever its flag */
  CHECK(davit_scan_starts(N, flags, 5, again, &count));
  assert_int_equal(count, N);
  for (int i = 0; i < 10; i++)
    assert_int_equal(again[i], i < 5 ? i : -1);
  CHECK(davit_scan_flags(0, NULL, 0, NULL));
  CHECK(davit_scan_starts(0, NULL, 0, NULL, &count));
  assert_int_equal(count, 0);
}

CASE(test_segments_refused) {
  uint8_t flags[8] = {9, 9, 9, 9, 9, 9, 9, 9};
  const int64_t empty[] = {0, 3, 3, 5}, falling[] = {0, 5, 4}, beyond[] = {0, 8}, late[] = {1, 3},
                before[] = {-1, 2};
  REFUSED(davit_scan_flags(4, empty, 8, flags), "starts[2] is 3 after 3");
  REFUSED(davit_scan_flags(4, empty, 8, flags), "empty segment");
  REFUSED(davit_scan_flags(3, falling, 8, flags), "not ascending");
  REFUSED(davit_scan_flags(2, beyond, 8, flags), "starts[1] is 8, not in 0 … n - 1, n = 8");
  REFUSED(davit_scan_flags(2, late, 8, flags), "does not begin with 0");
  REFUSED(davit_scan_flags(1, (const int64_t[]){-3}, 0, flags), "starts[0] is -3");
  REFUSED(davit_scan_flags(2, before, 8, flags), "does not begin with 0");
  REFUSED(davit_scan_flags(0, NULL, 8, flags), "does not begin with 0");
  REFUSED(davit_scan_flags(1, late, 0, NULL), "starts");
  REFUSED(davit_scan_flags(-1, late, 8, flags), "count is -1");
  REFUSED(davit_scan_flags(1, NULL, 8, flags), "starts is NULL");
  REFUSED(davit_scan_flags(1, empty, 8, NULL), "flags is NULL");
  REFUSED(davit_scan_flags(1, empty, -8, flags), "n is -8");
  for (int i = 0; i < 8; i++)
    assert_int_equal(flags[i], 9);
}

/* ---- refusals and failures ---- */

#define FLOAT_SUM DAVIT_SUM, DAVIT_FLOAT, DAVIT_SCAN_INCLUSIVE

CASE(test_bad_arguments) {
  float x[16] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {42};
  uint8_t flags[8] = {0};
  const int wrong = -7;
  const davit_scan_kind no_kind = (davit_scan_kind)2;
  davit_queue *queue = new_queue(DAVIT_HOST, 1);
  REFUSED(davit_scan((davit_operator)-1, DAVIT_FLOAT, DAVIT_SCAN_INCLUSIVE, 8, x, y, NULL), "op is -1");
  REFUSED(davit_scan(DAVIT_SUM, DAVIT_COMPLEX_FLOAT, DAVIT_SCAN_INCLUSIVE, 8, x, y, NULL), "complex_float");
  REFUSED(davit_scan(DAVIT_SUM, DAVIT_TYPE_COUNT, DAVIT_SCAN_INCLUSIVE, 8, x, y, NULL), "type is 6");
  REFUSED(davit_scan(DAVIT_SUM, DAVIT_FLOAT, no_kind, 8, x, y, NULL), "kind is 2");
  REFUSED(davit_scan(FLOAT_SUM, 8, x, x + 1, NULL), "y overlaps x");
  REFUSED(davit_scan(FLOAT_SUM, 8, x + 7, x, NULL), "y overlaps x");
  REFUSED(davit_segmented_scan(FLOAT_SUM, 8, x, (uint8_t *)y + 31, y, NULL), "y overlaps flags");
  CHECK_FAILS(davit_scan(FLOAT_SUM, 8, x, y, ON(davit_scan_options, &wrong, 1)), DAVIT_UNKNOWN_DEVICE, "-7");
  REFUSED(davit_queue_scan(queue, DAVIT_SUM, DAVIT_FLOAT, no_kind, 8, x, y, NULL), "kind is 2");
  REFUSED(davit_queue_scan(queue, FLOAT_SUM, 8, x, x + 3, NULL), "y overlaps x");
  REFUSED(davit_queue_segmented_scan(queue, DAVIT_OPERATOR_COUNT, DAVIT_FLOAT, DAVIT_SCAN_INCLUSIVE, 8, x,
                                     flags, y, NULL),
          "op is 4");
  finish(queue);
  assert_true(y[0] == 42);
  /* neighbours are no overlap */
  CHECK(davit_scan(FLOAT_SUM, 8, x, x + 8, NULL));
  assert_true(x[15] == 36);
}

CASE(test_bad_parts) {
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {42};
  uint8_t flags[8] = {0};
  davit_scan_part parts[] = {{.n = 0}, {.n = 4, .x = x, .y = y}, {.n = 4, .x = x + 4, .y = y + 4}};
  const struct {
    davit_scan_part part;
    const char *words;
  } bad[] = {{{.n = -1, .x = x + 4, .y = y + 4}, "parts[2].n is -1"},
             {{.n = 4, .y = y + 4}, "parts[2].x is NULL"},
             {{.n = 4, .x = x + 4}, "parts[2].y is NULL"},
             {{.n = 4, .x = x + 4, .y = x + 5}, "parts[2].y overlaps x"},
             {{.n = 4, .x = x + 4, .y = y + 4, .flags = flags}, "parts[2].flags is not NULL"}};
  REFUSED(davit_scan_parts(DAVIT_SUM, DAVIT_FLOAT, (davit_scan_kind)-1, 3, parts), "kind is -1");
  for (int i = 0; i < COUNT(bad); i++) {
    parts[2] = bad[i].part;
    REFUSED(davit_scan_parts(FLOAT_SUM, 3, parts), bad[i].words);
  }
  REFUSED(davit_segmented_scan_parts(FLOAT_SUM, 3, parts), "parts[1].flags is NULL");
  const davit_monoid *sum;
  CHECK(davit_monoid_builtin(DAVIT_SUM, DAVIT_FLOAT, &sum));
  REFUSED(davit_monoid_scan_parts(sum, DAVIT_SCAN_INCLUSIVE, 3, parts),
          "parts[2].flags is not NULL, unlike that of parts[1]");
  parts[1].flags = flags;
  parts[2].flags = (uint8_t *)(y + 7);
  REFUSED(davit_segmented_scan_parts(FLOAT_SUM, 3, parts), "parts[2].y overlaps flags");
  assert_true(y[0] == 42);
  parts[1].flags = parts[2].flags = NULL;
  parts[0].flags = flags; /* of an empty part: not looked at */
  CHECK(davit_monoid_scan_parts(sum, DAVIT_SCAN_INCLUSIVE, 3, parts));
  assert_true(y[7] == 36);
}

/* Parts whose arrays lie on different sides of the link. */
CASE(test_parts_in_two_places) {
  const int device = some_gpu(1 << 20);
  int32_t x[4] = {1, 2, 3, 4}, *there = kept_at(sizeof x, device);
  const davit_scan_part parts[] = {{.n = 4, .x = x, .y = x}, {.n = 4, .x = x, .y = there}};
  REFUSED(davit_scan_parts(DAVIT_SUM, DAVIT_INT32, DAVIT_SCAN_INCLUSIVE, 2, parts),
          "parts[1].x lies in another place");
}

enum { SCENARIO_N = 70003, CUT = 30001 };
#define INT32_SUM DAVIT_SUM, DAVIT_INT32, DAVIT_SCAN_INCLUSIVE

typedef struct scenario {
  int32_t *x, *right, *y;
  uint8_t *flags;
} scenario;

/* A scan on the queue, then one in two parts. */
static davit_status scan_on_device(davit_queue *queue, void *there, void *argument) {
  scenario *s = argument;
  const size_t bytes = SCENARIO_N * sizeof *s->y;
  uint8_t *flags = (uint8_t *)there + bytes;
  DVT_TRY(davit_queue_copy(queue, bytes, s->x, there));
  DVT_TRY(davit_queue_copy(queue, SCENARIO_N, s->flags, flags));
  DVT_TRY(davit_queue_segmented_scan(queue, INT32_SUM, CUT, there, flags, there, NULL));
  DVT_TRY(davit_queue_synchronize(queue));
  DVT_TRY(davit_copy(bytes, s->x, there));
  const davit_scan_part parts[] = {
      {.n = CUT, .x = there, .y = there, .flags = flags},
      {.n = SCENARIO_N - CUT, .x = s->x + CUT, .y = s->y + CUT, .flags = s->flags + CUT}};
  DVT_TRY(davit_segmented_scan_parts(INT32_SUM, 2, parts));
  return davit_copy(CUT * sizeof *s->y, there, s->y);
}

static davit_status scan_all(void *argument) {
  scenario *s = argument;
  DVT_TRY(with_queue(SCENARIO_N * (sizeof *s->y + 1), scan_on_device, s));
  expect_elements(DAVIT_INT32, SCENARIO_N, s->y, s->right, "on a device");
  memset(s->y, 0xff, SCENARIO_N * sizeof *s->y);
  dvt_split_always(true);
  davit_status status = davit_segmented_scan(INT32_SUM, SCENARIO_N, s->x, s->flags, s->y, NULL);
  dvt_split_always(false);
  DVT_TRY(status);
  expect_elements(DAVIT_INT32, SCENARIO_N, s->y, s->right, "streamed");
  const davit_scan_part parts[] = {{.n = 5, .x = s->y, .y = s->y}, {.n = 100, .x = s->y + 5, .y = s->y + 5}};
  return davit_scan_parts(INT32_SUM, 2, parts);
}

CASE(test_failures) {
  scenario s = {.x = exact_data(DAVIT_SUM, DAVIT_INT32, SCENARIO_N, 15),
                .right = kept(SCENARIO_N * sizeof(int32_t)),
                .y = kept(SCENARIO_N * sizeof(int32_t)),
                .flags = make_flags(FLAGS_LONG, SCENARIO_N, 16)};
  s.flags[CUT] = s.flags[CUT + 1] = 0;
  dvt_ref_scan(INT32_SUM, SCENARIO_N, s.x, s.flags, s.right);
  fail_everywhere(scan_all, &s);
}
