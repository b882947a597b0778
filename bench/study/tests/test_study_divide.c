/* SPDX-License-Identifier: Apache-2.0 */
/* P5, the closest pair by divide and conquer on the device: the whole, the source's example, every kernel
 * against the CPU, counters, limit and order. */
#include "bench/study/tests/closest.h"

CASE(test_p5) {
  static const int64_t sizes[] = {2, 3, 31, 64, 65, 128, 1000, 2048, 3333};
  for (input which = 0; which < INPUTS; which++)
    for (int s = 0; s < COUNT(sizes); s++) {
      int64_t n = sizes[s];
      study_point *p = points_of(which, n, 37);
      float right = right_distance(n, p);
      for (int d = 0; d < 2; d++)
        for (int k = ((int)which + s + d) % 2; k < BLOCKS; k += 2) {
          study_divide divide = {.base = closest_blocks[k], .sort = (study_sort)((s + k / 2) % 2)};
          divide.strip_test = (study_strip_test)(((int)which + k / 2) % 2);
          divides(&divide, study_place(d), n, p, right, input_names[which]);
          divide.unlimited = true;
          divides(&divide, study_place(d), n, p, right, input_names[which]);
        }
    }
}

/* All that can be chosen, on inputs that have it all: powers of two and others, 2 base and more. */
CASE(test_p5_choices) {
  static const int64_t sizes[] = {64, 1000, 4096};
  EACH(int64_t, n, sizes)
    for (int i = 0; i < 3; i++) {
      input which = ((input[]){UNIFORM, WIDE_ROW, DUPLICATES})[i];
      study_point *p = points_of(which, n, 41);
      float right = right_distance(n, p);
      for (int c = 0; c < 16; c++) {
        study_divide divide = {.base = 32, .sort = c & 1, .unlimited = c & 2, .strip_test = c >> 2 & 1};
        divide.counting = (c & 12) == 8;
        divides(&divide, first_device(), n, p, right, input_names[which]);
        divide.every_block = divide.unlimited;
        divides(&divide, first_device(), n, p, right, input_names[which]);
      }
    }
}

/* Many small sets, where everything happens at borders. */
CASE(test_p5_small) {
  uint64_t seed = 43;
  for (int repeat = 0; repeat < scaled(600); repeat++) {
    int64_t n = 2 + random_below(&seed, 60);
    input which = (input)random_below(&seed, INPUTS);
    study_point *p = points_of(which, n, next_random(&seed));
    study_divide divide = {.base = 2, .sort = repeat & 1, .unlimited = repeat % 5 == 0};
    divides(&divide, study_place(repeat & 1), n, p, right_distance(n, p), input_names[which]);
  }
}

CASE(test_p5_large) {
  bool gpu = on_gpu(first_device());
  int64_t sizes[] = {gpu ? 1 << 20 : 1 << 14, gpu ? 1000001 : 10001};
  EACH(int64_t, n, sizes)
    for (study_distribution distribution = 0; distribution < STUDY_DISTRIBUTIONS; distribution++) {
      study_point *p = host_memory(n, sizeof *p);
      study_closest right, is;
      study_divide divide = {.base = 128};
      generate(distribution, 2, 0, 47, n, p);
      CHECK(study_closest_divide_cpu(n, p, 8, &right, NULL));
      CHECK(study_closest_divide(&divide, first_device(), n, p, &is, NULL));
      assert_true(is.distance == right.distance);
      study_point a = {is.pair.x1, is.pair.y1}, b = {is.pair.x2, is.pair.y2};
      assert_true(study_distance(a, b) == is.distance);
    }
}

/* ---- P5: the source's example ---- */

/* x, y of 16 points: as given, by x, and in the order of each step. */
static const float example[32] = {4, 0, 9, 12, 10, 7,  0,  8,  14, 10, 8,  14, 3,  1, 7,  3,
                                  1, 9, 2, 13, 6,  11, 12, 15, 5,  2,  13, 4,  15, 6, 11, 5};
static const float example_x[32] = {0, 8,  1, 9,  2,  13, 3,  1, 4,  0,  5,  2, 6,  11, 7,  3,
                                    8, 14, 9, 12, 10, 7,  11, 5, 12, 15, 13, 4, 14, 10, 15, 6};
static const float example_y[3][32] = {{3,  1, 0,  8, 1, 9,  2, 13, 4,  0, 5,  2, 7,  3,  6,  11,
                                        11, 5, 10, 7, 9, 12, 8, 14, 13, 4, 15, 6, 14, 10, 12, 15},
                                       {4,  0, 3,  1, 5,  2, 7,  3, 0,  8,  1, 9,  6, 11, 2,  13,
                                        13, 4, 11, 5, 15, 6, 10, 7, 14, 10, 9, 12, 8, 14, 12, 15},
                                       {4, 0, 3, 1, 5,  2,  7, 3,  13, 4,  11, 5,  15, 6,  10, 7,
                                        0, 8, 1, 9, 14, 10, 6, 11, 9,  12, 2,  13, 8,  14, 12, 15}};

static void watch_example(void *context, const study_step_arrays *a) {
  int *step = context;
  assert_int_equal(a->n, 16);
  assert_int_equal(a->blocks, 8);
  assert_int_equal(a->length, 4 << *step);
  assert_memory_equal(a->sx, example_x, sizeof example_x);
  assert_memory_equal(a->sy, example_y[*step], sizeof example_x);
  if (a->length == 8) { /* the middle lines */
    assert_true(a->sx[4].x == 4);
    assert_true(a->sx[12].x == 12);
  }
  for (int block = 0; block < 8; block++) {
    float middle = a->sx[block * 2 / a->length * a->length + a->length / 2].x;
    bool has = false;
    /* delta is sqrt 2 from the first step on: (0, 8) and (1, 9) are a block */
    for (int i = 2 * block; i < 2 * block + 2; i++)
      has |= fabsf(a->sy[i].x - middle) <= sqrtf(2);
    assert_int_equal(a->flags[block], has);
  }
  ++*step;
}

CASE(test_p5_example) {
  study_point points[16];
  memcpy(points, example, sizeof points);
  EACH_PLACE(device)
    for (study_sort sort = 0; sort < STUDY_SORTS; sort++) {
      int step = 0;
      study_divide divide = {.base = 2, .sort = sort, .watch = watch_example, .context = &step};
      divides(&divide, device, 16, points, sqrtf(2), "example");
      assert_int_equal(step, 3);
    }
  /* The last batch of the figure for lengths 4 and 8 is printed as it is in Sx, not sorted by y. */
  assert_memory_not_equal(&example_y[0][2 * 12], &example_x[2 * 12], 4 * sizeof *points);
  for (int i = 12; i < 15; i++)
    assert_true(example_y[0][2 * i + 1] <= example_y[0][2 * i + 3]);
  assert_true(example_x[2 * 12 + 1] > example_x[2 * 13 + 1]);
}

/* ---- P5: kernel by kernel ---- */

CASE(test_brute_blocks) {
  enum { N = 2048 };
  static const int64_t teams[] = {0, 1, 5};
  study_point *p = points_of(NORMAL_1, N, 53);
  sort_batches(STUDY_BY_X, 1, N, p);
  EACH_PLACE(device)
    EACH(int, base, closest_blocks)
      EACH(int64_t, team_count, teams) {
        candidates c = candidates_at(device, N / base, NULL, NULL);
        study_point *sx = there(device, p, N * sizeof *p);
        CHECK(study_brute_blocks(device, base, team_count, N, sx, c.on_dist, c.on_pairs));
        candidates_take(&c);
        for (int64_t b = 0; b < N / base; b++) {
          study_closest is = {c.dist[b], c.pairs[b]};
          is_closest(&is, right_distance(base, p + b * base), base, p + b * base, "block");
        }
      }
}

/* Sx and Sy of a step and what findVerticalStrip and compareStripPoints must make of them. */
typedef struct strip {
  int64_t n, length;
  int base;
  float delta;
  study_two_points pair;
  study_point *sx, *sy;
  bool *flags;
} strip;

static strip strip_of(input which, int64_t n, int base, int64_t length, float delta) {
  strip s = {.n = n, .length = length, .base = base, .delta = delta};
  s.sx = points_of(which, n, 59);
  s.sy = host_memory(n, sizeof *s.sy);
  s.flags = host_memory(n / base, sizeof *s.flags);
  sort_batches(STUDY_BY_X, 1, n, s.sx);
  memcpy(s.sy, s.sx, (size_t)n * sizeof *s.sy);
  sort_batches(STUDY_BY_Y, n / length, length, s.sy);
  for (int64_t b = 0; b < n / base; b++) {
    s.flags[b] = false;
    for (int64_t i = b * base; i < (b + 1) * base; i++)
      s.flags[b] |= fabsf(s.sy[i].x - s.sx[i / length * length + length / 2].x) <= delta;
  }
  return s;
}

CASE(test_find_strip) {
  enum { N = 4096 };
  static const int64_t teams[] = {0, 1, 7};
  EACH_PLACE(device)
    EACH(int, base, closest_blocks)
      EACH(int64_t, team_count, teams) {
        for (int64_t length = 2 * base; length <= N; length *= 8) {
          strip s = strip_of(UNIFORM, N, base, length, 0.01f);
          bool *on_flags = there(device, NULL, N / base);
          CHECK(study_find_strip(device, base, team_count, N, length, s.delta,
                                 there(device, s.sx, N * sizeof *s.sx), there(device, s.sy, N * sizeof *s.sy),
                                 on_flags));
          const bool *flags = taken(on_flags, N / base);
          for (int64_t b = 0; b < N / base; b++)
            assert_int_equal(flags[b], s.flags[b]);
        }
      }
}

/* compareStripPoints of a block, by the definition. */
static study_strip_count compare_on_host(const strip *s, int64_t block, int limit, int thread,
                                         float *minimum) {
  study_strip_count count = {1, 0, 0, 0, 0};
  int64_t own = block * s->base + thread, start = own / s->length * s->length;
  float middle = s->sx[start + s->length / 2].x, before = s->delta;
  bool inside = fabsf(s->sy[own].x - middle) <= s->delta;
  int seen = 0;
  count.inside = inside;
  for (int64_t tile = block; tile < (start + s->length) / s->base && seen < limit; tile++) {
    seen += s->flags[tile];
    for (int64_t i = tile == block ? own + 1 : tile * s->base;
         s->flags[tile] && inside && i < (tile + 1) * s->base; i++) {
      count.tests++;
      if (fabsf(s->sy[i].x - middle) > s->delta)
        continue;
      count.taken++;
      float distance = study_distance(s->sy[own], s->sy[i]);
      count.nearer += distance < before;
      before = distance < before ? distance : before;
    }
  }
  *minimum = before < *minimum ? before : *minimum;
  return count;
}

static void compares_right(const strip *s, int device, int64_t teams, int limit, study_strip_test test,
                           bool counting) {
  const int64_t count = s->n / s->base;
  const study_strip how = {s->base, teams, s->n, s->length, limit, test, {s->delta, {7, 7, 7, 7}}};
  const int64_t bytes = s->n * (int64_t)sizeof *s->sx,
                count_bytes = counting ? s->n * (int64_t)sizeof(study_strip_count) : 0;
  SCOPE;
  candidates c = candidates_at(device, count, NULL, NULL);
  study_strip_count *on_counts = counting ? there(device, NULL, count_bytes) : NULL;
  CHECK(study_compare_strip(&how, device, there(device, s->sx, bytes), there(device, s->sy, bytes),
                            there(device, s->flags, count), c.on_dist, c.on_pairs, on_counts));
  candidates_take(&c);
  const study_strip_count *counts = counting ? taken(on_counts, count_bytes) : NULL;
  for (int64_t b = 0; b < count; b++) {
    static const uint32_t poison = UINT32_MAX;
    const study_two_points *pair = &c.pairs[b];
    float minimum = s->delta;
    for (int t = 0; t < s->base && s->flags[b]; t++) {
      study_strip_count right = compare_on_host(s, b, limit, t, &minimum);
      if (counting)
        assert_memory_equal(&counts[b * s->base + t], &right, sizeof right);
    }
    if (!s->flags[b]) /* no team writes its candidate */
      assert_memory_equal(&c.dist[b], &poison, sizeof poison);
    else if (minimum == s->delta)
      assert_true(c.dist[b] == minimum && pair->x1 == 7 && pair->y2 == 7);
    else
      assert_true(c.dist[b] == minimum && between(pair) == minimum);
  }
}

CASE(test_compare_strip) {
  enum { N = 2048 };
  static const int64_t teams[] = {0, 1, 5};
  static const float deltas[] = {0.1f, 0.02f, 0};
  EACH_PLACE(device)
    EACH(int, base, closest_blocks)
      for (int e = 0; e < COUNT(deltas); e++) {
        for (int64_t length = 2 * base; length <= N; length *= 4) {
          strip s = strip_of(SIGNED, N, base, length, deltas[e]);
          compares_right(&s, device, teams[e], 8, STUDY_STRIP_SEPARATE, true);
          compares_right(&s, device, teams[e], 8, STUDY_STRIP_SEPARATE, false);
          compares_right(&s, device, teams[e], INT32_MAX, STUDY_STRIP_MERGED, false);
          compares_right(&s, device, teams[e], 1, STUDY_STRIP_MERGED, false);
        }
      }
}

/* ---- P5: counters, limit, order ---- */

/* With the limit the same answer for fewer comparisons, in every step; the sums of the counts are those of
 * the definition. */
CASE(test_limit_and_counters) {
  enum { N = 8192, BASE = 32 };
  study_point *p = points_of(COLUMNS, N, 61); /* a strip has a whole column */
  study_divide_report report[3];
  study_closest is[3];
  for (int v = 0; v < 3; v++) {
    study_divide divide = {.base = BASE, .unlimited = v > 0, .every_block = v > 1, .counting = true};
    CHECK(study_closest_divide(&divide, first_device(), N, p, &is[v], &report[v]));
  }
  assert_true(is[0].distance == is[1].distance && is[0].distance == is[2].distance);
  assert_int_equal(report[0].steps, 8);
  bool fewer = false;
  for (int s = 0; s < report[0].steps; s++) {
    const study_step *limited = &report[0].step[s], *all = &report[1].step[s];
    assert_true(limited->delta == all->delta);
    assert_int_equal(limited->flagged, all->flagged);
    assert_true(limited->tests <= all->tests && limited->taken <= all->taken);
    fewer |= limited->tests < all->tests;
    const study_step *every = &report[2].step[s];
    assert_int_equal(every->flagged, N / BASE);
    assert_true(every->tests >= all->tests);
    assert_int_equal(every->taken, all->taken); /* what is flagged has all points of the strip */
    assert_int_equal(limited->worked, limited->flagged * BASE);
    assert_int_equal(limited->warps, limited->flagged);
    assert_true(limited->divergent_warps <= limited->warps);
    assert_true(limited->inside >= limited->flagged && limited->taken <= limited->tests);
  }
  assert_true(fewer);
}

typedef struct counted {
  study_step step[STUDY_MOST_STEPS];
  int steps;
} counted;

static void count_on_host(void *context, const study_step_arrays *a) {
  counted *c = context;
  study_step *step = &c->step[c->steps++];
  int base = (int)(a->n / a->blocks);
  strip s = {.n = a->n,
             .length = a->length,
             .base = base,
             .delta = step->delta,
             .sx = (study_point *)(uintptr_t)a->sx,
             .sy = (study_point *)(uintptr_t)a->sy,
             .flags = (bool *)(uintptr_t)a->flags};
  for (int64_t b = 0; b < a->blocks; b++)
    for (int warp = 0; a->flags[b] && warp < base; warp += 32) {
      uint32_t inside = 0;
      for (int t = warp; t < warp + 32; t++) {
        float minimum = INFINITY;
        study_strip_count count = compare_on_host(&s, b, STUDY_FLAGGED_LIMIT, t, &minimum);
        step->tests += count.tests;
        step->taken += count.taken;
        step->nearer += count.nearer;
        inside += count.inside;
      }
      step->inside += inside;
      step->divergent_warps += inside > 0 && inside < 32;
    }
}

CASE(test_counters_against_host) {
  enum { N = 2048 };
  study_point *p = points_of(CLUSTERS, N, 67);
  for (int base = 32; base <= 128; base *= 2) {
    counted on_host = {.steps = 0};
    study_closest is;
    study_divide_report report;
    study_divide divide = {.base = base, .counting = true};
    CHECK(study_closest_divide(&divide, first_device(), N, p, &is, &report));
    for (int s = 0; s < report.steps; s++)
      on_host.step[s].delta = report.step[s].delta;
    divide.watch = count_on_host;
    divide.context = &on_host;
    CHECK(study_closest_divide(&divide, first_device(), N, p, &is, &report));
    assert_int_equal(on_host.steps, report.steps);
    for (int s = 0; s < report.steps; s++) {
      assert_int_equal(report.step[s].tests, on_host.step[s].tests);
      assert_int_equal(report.step[s].taken, on_host.step[s].taken);
      assert_int_equal(report.step[s].nearer, on_host.step[s].nearer);
      assert_int_equal(report.step[s].inside, on_host.step[s].inside);
      assert_int_equal(report.step[s].divergent_warps, on_host.step[s].divergent_warps);
    }
  }
}

/* Times and counts of a run: the parts are within the whole; comparators are those of a sort by x and of one
 * by y in each step, which is more than n log2 n: sorting in each step costs n log^3 n. */
CASE(test_report) {
  enum { N = 1 << 14, BASE = 64 };
  study_point *p = points_of(UNIFORM, N, 71);
  study_closest is;
  study_divide_report report;
  study_brute_times times;
  CHECK(study_closest_divide(&(study_divide){.base = BASE}, first_device(), N, p, &is, &report));
  study_divide_shares sum = study_divide_sum(&report);
  double parts =
      report.transfer_ms + sum.sort_ms + sum.brute_ms + sum.reduce_ms + sum.strip_ms + sum.compare_ms;
  assert_true(sum.sort_ms > 0 && sum.brute_ms > 0 && sum.reduce_ms >= 0 && sum.strip_ms >= 0 &&
              sum.compare_ms > 0);
  assert_true(fabs(parts - report.total_ms) <= 1e-6 * report.total_ms);
  int64_t comparators = study_sort_comparators(STUDY_BITONIC, 1, N);
  for (int64_t length = 2 * BASE; length <= N; length *= 2)
    comparators += study_sort_comparators(STUDY_BITONIC, N / length, length);
  assert_int_equal(report.comparators, comparators);
  assert_true(report.comparators > 10 * N * 14);
  CHECK(study_closest_brute(&(study_brute){64, 0, false}, first_device(), 1000, p, &is, NULL, &times));
  assert_true(times.compare_ms > 0 && times.transfer_ms >= 0 && times.reduce_ms >= 0);
  assert_true(fabs(times.transfer_ms + times.compare_ms + times.reduce_ms - times.total_ms) <=
              1e-6 * times.total_ms);
}

/* No thread depends on what another one does in the same phase: with the threads in reverse order all arrays
 * are the same. And on a GPU a hundred runs are. */
CASE(test_order_of_threads) {
  study_trace *trace = new_trace(true);
  study_closest is[2];
  for (input which = 0; which < INPUTS; which++) {
    study_point *p = points_of(which, 1500, 73);
    for (int program = 0; program < 6; program++) {
      for (int descending = 0; descending < 2; descending++) {
        if (descending)
          study_record(trace);
        if (program < 2)
          CHECK(study_closest_brute(&(study_brute){64, 0, program}, DAVIT_HOST, 1500, p, &is[descending],
                                    NULL, NULL));
        else
          CHECK(study_closest_divide(
              &(study_divide){.base = 64, .sort = program & 1, .strip_test = program >> 1 & 1}, DAVIT_HOST,
              1500, p, &is[descending], NULL));
        study_stop();
      }
      assert_memory_equal(&is[0].distance, &is[1].distance, sizeof(float));
      assert_memory_equal(&is[0].pair, &is[1].pair, sizeof is[0].pair);
    }
  }
}

CASE(test_repeats_are_identical) {
  int64_t n = on_gpu(first_device()) ? 200000 : 5000;
  study_point *p = points_of(COLUMNS, n, 79);
  study_closest first[2], is;
  int repeats = on_gpu(first_device()) ? scaled(100) : 2;
  for (int i = -1; i < repeats; i++)
    for (int limit = 0; limit < 2; limit++) {
      study_divide divide = {.base = 128, .unlimited = limit};
      CHECK(study_closest_divide(&divide, first_device(), n, p, &is, NULL));
      if (i < 0)
        first[limit] = is;
      assert_true(is.distance == first[limit].distance);
      assert_memory_equal(&is.pair, &first[limit].pair, sizeof is.pair);
    }
}
