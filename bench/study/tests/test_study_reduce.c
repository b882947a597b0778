/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder of reduction kernels: every kernel, size of a team and awkward length against a loop; what the
 * kernels access and in which order; the defects of the printed kernels beside the corrected ones; the
 * lecture's figures and model. */
#include "bench/study/tests/study.h"

#include <math.h>

#include "bench/study/reduce/cpu.h"
#include "bench/study/reduce/model.h"
#include "bench/study/reduce/printed.h"
#include "bench/study/reduce/reduce.h"
#include "ref/ref.h"

static const int blocks[] = {2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};

static study_reduction reduction(int kernel, int block, study_last_warp last_warp) {
  return (study_reduction){.kernel = kernel, .block = block, .last_warp = last_warp};
}

/* Kernels, sizes of a team and variants in turn, `at` from 0 on; false when all have been. */
static bool next_reduction(int *at, study_reduction *r) {
  static const study_reduction forms[] = {{.kernel = 1},
                                          {.kernel = 2},
                                          {.kernel = 3},
                                          {.kernel = 4},
                                          {.kernel = 5},
                                          {.kernel = 6},
                                          {.kernel = 5, .last_warp = STUDY_SHUFFLES},
                                          {.kernel = 6, .last_warp = STUDY_SHUFFLES}};
  while (*at < COUNT(forms) * COUNT(blocks)) {
    *r = forms[*at / COUNT(blocks)];
    r->block = blocks[*at % COUNT(blocks)];
    ++*at;
    if (r->kernel >= 5 || r->block >= 32)
      return true;
  }
  return false;
}

/* Random elements on the host and on a device, and their reduction. */
typedef struct data {
  int64_t n;
  void *host, *x;
  uint64_t right;
} data;

static data data_of(study_operator op, int device, int64_t n, uint64_t seed) {
  const int64_t bytes = n * (int64_t)study_monoid_of(op)->bytes;
  data d = {.n = n, .host = random_words(2 * n, seed)};
  d.x = there(device, d.host, bytes);
  study_reference_reduce(op, n, d.host, &d.right);
  return d;
}

static void reduces(const study_reduction *r, int device, const data *d) {
  uint64_t is = r->op == STUDY_SUM ? (uint32_t)~d->right : ~d->right; /* a sum has 32 bits */
  CHECK(study_reduce(r, device, d->n, d->x, &is));
  if (is != d->right)
    fail_msg("device %d, K%d, block %d, variant %d, n %lld: %llx, not %llx", device, r->kernel, r->block,
             (int)r->last_warp, (long long)d->n, (unsigned long long)is, (unsigned long long)d->right);
}

/* ---- results ---- */

CASE(test_every_kernel_block_and_length) {
  static const int64_t sizes[] = {0, 1, 2, 31, 33, 63, 65, 1000, 1023, 2047, 2049, 100003};
  EACH_PLACE(device)
    for (int s = 0; s < COUNT(sizes); s++) {
      data x = data_of(STUDY_SUM, device, sizes[s], (uint64_t)s);
      study_reduction r;
      for (int at = 0; next_reduction(&at, &r);)
        reduces(&r, device, &x);
    }
}

/* Integers of any size; floating elements whose results are exact in any order: a product has few factors
 * that are not 1 or -1. */
static void *library_data(davit_operator op, davit_type type, int64_t n, uint64_t seed) {
  void *x = exact_data(op, type, n, seed);
  for (int64_t i = 0; i < n && op == DAVIT_PROD && is_floating(type); i++)
    element_set(type, x, i, (next_random(&seed) >> 20 & 1 ? -1 : 1) * (i % 5000 == 17 ? 2 : 1));
  return x;
}

/* Every operator of the library over each of its types, by every kernel. The lengths leave threads and whole
 * teams without elements, so an identity that is 0 for a minimum or a product shows. */
CASE(test_every_operator_and_type) {
  static const int64_t sizes[] = {0, 1, 200, 511, 513, 70001};
  EACH_PLACE(device)
    EACH(int64_t, n, sizes)
      EACH_TYPE(type)
        EACH_OPERATOR(op) {
          SCOPE;
          const size_t bytes = davit_type_bytes(type);
          const void *host = library_data(op, type, n, (uint64_t)n + 1);
          const void *x = there(device, host, n * (int64_t)bytes);
          uint64_t right = 0;
          study_reduction r;
          dvt_ref_reduce(op, type, n, host, &right);
          for (int at = 0; next_reduction(&at, &r);) {
            uint64_t is = 0;
            char label[80];
            if (r.block != STUDY_LIBRARY_BLOCK)
              continue;
            r.op = STUDY_LIBRARY(op, type);
            CHECK(study_reduce(&r, device, n, x, &is));
            snprintf(label, sizeof label, "K%d, variant %d, %s of %s, n %lld", r.kernel, (int)r.last_warp,
                     davit_operator_string(op), davit_type_string(type), (long long)n);
            expect_elements(type, 1, &is, &right, label);
          }
        }
}

CASE(test_levels_and_cpu_threshold) {
  static const int64_t thresholds[] = {0, 1, 64, 4096, INT64_MAX};
  EACH_PLACE(device) {
    data x = data_of(STUDY_SUM, device, on_gpu(device) ? 1 << 24 : 1000003, 5);
    for (int kernel = 1; kernel <= 6; kernel++)
      EACH(int64_t, threshold, thresholds) {
        study_reduction r = reduction(kernel, 256, STUDY_SHUFFLES);
        r.cpu_threshold = threshold;
        reduces(&r, device, &x);
      }
  }
}

static int64_t up(int64_t n, int64_t by) {
  return (n + by - 1) / by;
}

/* A grid writes as many partial results as it has teams, each the sum of the team's own elements, and no
 * others. */
CASE(test_partials_of_a_grid) {
  study_reduction r;
  EACH_PLACE(device)
    for (int at = 0; next_reduction(&at, &r);) {
      int64_t n = 5 * r.block + 3, two = 2 * (int64_t)r.block;
      r.grid = 2; /* K6's; the others have no choice */
      int64_t count = study_partials(&r, n), tile = r.kernel < 4 ? r.block : two;
      assert_int_equal(count, r.kernel < 4 ? up(n, r.block) : r.kernel < 6 ? up(n, two) : 2);
      data x = data_of(STUDY_SUM, device, n, 7);
      const int32_t *host = x.host;
      int32_t *partials = there(device, NULL, count * (int64_t)sizeof *partials);
      CHECK(study_reduce_grid(&r, device, n, x.x, partials));
      const int32_t *got = taken(partials, count * (int64_t)sizeof *got);
      for (int64_t b = 0; b < count; b++) {
        int32_t right = 0;
        for (int64_t i = b * tile; i < n; i += count * tile)
          for (int64_t j = i; j < i + tile && j < n && (r.kernel == 6 || i == b * tile); j++)
            right = study_add(right, host[j]);
        assert_int_equal(got[b], right);
      }
    }
}

CASE(test_elements_of_a_thread) {
  study_reduction r = reduction(6, 256, STUDY_BARRIERS);
  assert_int_equal(study_partials(&r, 1 << 20), (1 << 20) / 256 / 8);
  r.each = 64;
  assert_int_equal(study_partials(&r, 1 << 20), (1 << 20) / 256 / 64);
  assert_int_equal(study_partials(&r, 3), 1);
  r.grid = 1000;
  assert_int_equal(study_partials(&r, 1 << 20), 1000);
  assert_int_equal(study_partials(&r, 513), 2); /* no more than have something to do */
}

CASE(test_repeats_are_identical) {
  EACH_PLACE(device) {
    int repeats = on_gpu(device) ? scaled(1000) : 3;
    data x = data_of(STUDY_SUM, device, 70001, 11);
    for (int i = 0; i < repeats; i++)
      for (int kernel = 5; kernel <= 6; kernel++)
        for (int v = 0; v < 2; v++) {
          study_reduction r = reduction(kernel, blocks[i % COUNT(blocks)], (study_last_warp)v);
          reduces(&r, device, &x);
        }
  }
}

CASE(test_clause) {
  EACH_PLACE(device) {
    data x = data_of(STUDY_SUM, device, 100003, 13);
    assert_int_equal((uint32_t)study_clause_sum(device, x.n, x.x), x.right);
  }
}

/* ---- order ---- */

CASE(test_order_of_combination) {
  char order[257], letters[257];
  study_reduction r;
  for (int at = 0; next_reduction(&at, &r);) {
    study_reduction eight = r;
    eight.block = 8;
    CHECK(study_combination_order(&eight, "abcdefgh", order));
    assert_string_equal(order, r.kernel < 3 ? "abcdefgh" : "aecgbfdh");
    for (int i = 0; i < 256; i++)
      letters[i] = (char)('!' + i % 90);
    letters[r.block < 256 ? r.block : 256] = 0;
    CHECK(study_combination_order(&r, letters, order));
    assert_int_equal(strlen(order), strlen(letters));
    if (r.kernel < 3)
      assert_string_equal(order, letters);
    else if (r.block > 2)
      assert_string_not_equal(order, letters);
  }
  study_reduction k3 = reduction(3, 4, STUDY_BARRIERS);
  REFUSED(study_combination_order(&k3, "abcde", order), "letters");
}

/* The left map is applied first. */
CASE(test_composition_of_maps) {
  uint64_t f = study_affine(3, 5), g = study_affine(7, 11), both = study_compose(f, g);
  for (uint32_t x = 0; x < 100; x++)
    assert_int_equal((uint32_t)(both >> 32) * x + (uint32_t)both, 7 * (3 * x + 5) + 11);
  assert_true(study_compose(STUDY_COMPOSE_IDENTITY, f) == f);
  assert_true(study_compose(f, STUDY_COMPOSE_IDENTITY) == f);
}

CASE(test_operators_that_do_not_commute) {
  static const int64_t sizes[] = {0, 1, 33, 1000, 50001};
  study_reduction r;
  EACH_PLACE(device)
    EACH(int64_t, n, sizes) {
      data x = data_of(STUDY_COMPOSE, device, n, 17);
      for (int at = 0; next_reduction(&at, &r);) {
        uint64_t is;
        r.op = STUDY_COMPOSE;
        if (r.kernel > 2) {
          CHECK_FAILS(study_reduce(&r, device, x.n, x.x, &is), DAVIT_UNSUPPORTED, "commute");
        } else {
          reduces(&r, device, &x);
          r.cpu_threshold = 40; /* the CPU keeps the order as well */
          reduces(&r, device, &x);
        }
      }
    }
}

/* Ranks have contiguous parts, so a stand-in for MPI_Reduce with commute = 0 keeps the order too. */
CASE(test_ranks) {
  int devices[4] = {first_device(), DAVIT_HOST, first_device(), first_device()};
  for (int64_t n = 0; n < 4000; n += n < 5 ? 1 : 1333) {
    uint64_t sum, right, *host = random_words(2 * n, 19);
    for (study_operator op = STUDY_SUM; op <= STUDY_COMPOSE; op++)
      for (int ranks = 1; ranks <= 4; ranks++) {
        study_reduction r = reduction(2, 64, STUDY_BARRIERS);
        r.op = op;
        sum = right = 0;
        study_reference_reduce(r.op, n, host, &right);
        CHECK(study_reduce_ranks(&r, ranks, devices, n, host, &sum));
        assert_true(sum == right);
      }
  }
}

/* ---- traces ---- */

/* Phases run from the last thread to the first give the same bits: no thread reads what another writes in its
 * phase. */
CASE(test_phases_in_any_order) {
  int64_t n = 3000;
  int32_t *x = random_words(n, 23);
  study_reduction r;
  for (int at = 0; next_reduction(&at, &r);) {
    study_trace *down = new_trace(true);
    int32_t up_partials[1500], down_partials[1500];
    CHECK(study_reduce_grid(&r, DAVIT_HOST, n, x, up_partials));
    study_record(down);
    CHECK(study_reduce_grid(&r, DAVIT_HOST, n, x, down_partials));
    study_stop();
    assert_false(down->full);
    assert_true(down->combination_count > 0);
    assert_memory_equal(up_partials, down_partials, (size_t)study_partials(&r, n) * sizeof *x);
  }
}

static study_trace *traced(int kernel, int block, int64_t n) {
  study_trace *trace = new_trace(false);
  study_reduction r = reduction(kernel, block, STUDY_BARRIERS);
  int32_t *x = random_words(n, 29);
  CHECK(study_trace_block(&r, n, x, trace));
  return trace;
}

/* The table's index expressions, step by step. */
CASE(test_access_pattern) {
  for (int kernel = 1; kernel <= 5; kernel++)
    for (int b = 4; b < COUNT(blocks); b++) {
      int block = blocks[b];
      const study_trace *trace = traced(kernel, block, 2 * block);
      int64_t at = 0;
      for (int i = 0, s = kernel < 3 ? 1 : block / 2; kernel < 3 ? s < block : s > 0;
           i++, s = kernel < 3 ? 2 * s : s / 2)
        for (int tid = 0; tid < block; tid++) {
          int left = kernel == 2 ? 2 * tid * s : tid;
          if (kernel == 1 ? tid % (2 * s) == 0 : kernel == 2 ? left < block : tid < s) {
            const study_combination *c = &trace->combinations[at++];
            assert_true(at <= trace->combination_count && c->thread == tid && c->left == left);
            assert_int_equal(c->right, left + s);
            assert_int_equal(c->step, i + 1);
          }
        }
      assert_int_equal(at, trace->combination_count);
      assert_int_equal(at, block - 1);
      assert_int_equal(trace->load_count, kernel < 4 ? block : 2 * block);
    }
}

/* K6 with 3 blocks: block 0 reads tiles 0, 3, 6, …, and stops at n. */
CASE(test_grid_stride_loads) {
  enum { N = 1000, BLOCK = 32 };
  study_trace *trace = new_trace(false);
  study_reduction r = reduction(6, BLOCK, STUDY_SHUFFLES);
  int32_t *x = random_words(N, 31);
  int64_t at = 0;
  r.grid = 3;
  CHECK(study_trace_block(&r, N, x, trace));
  for (int tid = 0; tid < BLOCK; tid++)
    for (int64_t i = tid; i < N; i += 3 * 2 * BLOCK)
      for (int64_t j = i; j <= i + BLOCK && j < N; j += BLOCK) {
        assert_true(at < trace->load_count && trace->loads[at].thread == tid);
        assert_int_equal(trace->loads[at++].index, j);
      }
  assert_int_equal(at, trace->load_count);
}

static void expect_ways(int block, const int *ways, int count) {
  const study_trace *trace = traced(2, block, block);
  for (int i = 0; i < count; i++)
    assert_int_equal(study_conflict_ways(trace, i + 1, 0), ways[i]);
  assert_int_equal(trace->step, count + 1); /* a barrier after the loads, and one for each step */
}

/* The lanes of a warp ask for words `apart` from each other, on the left and on the right. */
static int ways_of(int left_apart, int right_apart) {
  study_trace *trace = new_trace(false);
  study_record(trace);
  for (int lane = 0; lane < 32; lane++)
    study_note_combine(32 + lane, left_apart * lane, right_apart * lane);
  study_stop();
  int ways = study_conflict_ways(trace, 0, 1);
  assert_int_equal(study_conflict_ways(trace, 0, 0), 0);
  return ways;
}

CASE(test_model_of_banks) {
  assert_int_equal(ways_of(0, 0), 1); /* one word for all */
  assert_int_equal(ways_of(1, 33), 1);
  assert_int_equal(ways_of(2, 1), 2);
  assert_int_equal(ways_of(1, 8), 8);
  assert_int_equal(ways_of(32, 3), 32);
}

CASE(test_counters) {
  static const int divergent[] = {47, 5, 5, 5}, of_256[] = {2, 4, 8, 8, 8, 4, 2, 1},
                   of_1024[] = {2, 4, 8, 16, 32, 16, 8, 4, 2, 1};
  for (int kernel = 1; kernel <= 4; kernel++) {
    const study_trace *trace = traced(kernel, 256, 512);
    assert_int_equal(study_divergent_warps(trace), divergent[kernel - 1]);
    if (kernel != 2) /* neighbouring addresses, or in K1 addresses so far apart that few threads ask */
      for (int step = 1; step <= 8; step++)
        assert_int_equal(study_conflict_ways(trace, step, 0), 1);
  }
  expect_ways(256, of_256, COUNT(of_256));
  expect_ways(1024, of_1024, COUNT(of_1024));
  study_reduction k3 = reduction(3, 256, 0), k4 = reduction(4, 256, 0);
  assert_int_equal(study_launched_warps(&k3, 1 << 22), (1 << 22) / 32);
  assert_int_equal(study_launched_warps(&k4, 1 << 22), (1 << 22) / 64);
}

/* The lecture says blockDim.x / s threads work in a step of K2; it is half of that. */
CASE(test_active_threads_of_k2) {
  const study_trace *trace = traced(2, 256, 256);
  for (int i = 0; i < 8; i++) {
    int last, active = study_active(trace, i + 1, &last);
    assert_int_equal(active, 256 / (2 << i));
    assert_int_equal(last, active - 1);
  }
}

/* The stages with shuffles keep all lanes busy; the ones with barriers leave idle lanes in a warp. */
CASE(test_shuffles_do_not_diverge) {
  int32_t x[512] = {0};
  for (int v = 0; v < 2; v++) {
    study_trace *trace = new_trace(false);
    study_reduction r = reduction(5, 256, (study_last_warp)v);
    CHECK(study_trace_block(&r, 512, x, trace));
    assert_int_equal(study_divergent_warps(trace), v == STUDY_SHUFFLES ? 0 : 5);
    assert_int_equal(trace->step,
                     v == STUDY_SHUFFLES ? 8 : 9); /* the first 32 + 32 need no step of their own */
    r.block = 8;
    CHECK(study_trace_block(&r, 16, x, trace));
    assert_int_equal(trace->step, 4); /* no stage is there for lanes that are not */
  }
}

/* ---- the printed kernels ---- */

typedef struct printed_run {
  study_guard input, shared;
  int32_t partials[64], sum;
} printed_run;

static printed_run print_run(int kernel, study_printed_launch launch, int64_t length, const int32_t *x) {
  printed_run run = {.sum = 0};
  assert_true(launch.teams <= COUNT(run.partials));
  study_printed_reduce(kernel, &launch, length, x, length, run.partials, &run.input, &run.shared);
  for (int64_t i = 0; i < launch.teams; i++)
    run.sum = study_add(run.sum, run.partials[i]);
  return run;
}

/* Where sizes divide and lanes run in step, as on the lecture's cards, K1, K3 … K6 are right; so is the
 * model. */
CASE(test_printed_kernels_where_they_hold) {
  enum { N = 4096 };
  int32_t right, *x = random_words(N, 37);
  study_reference_reduce(STUDY_SUM, N, x, &right);
  for (int kernel = 1; kernel <= 6; kernel++)
    for (int block = 64; block <= 1024 && kernel != 2; block *= 2) {
      study_printed_launch launch = {block, kernel < 4 ? N / block : N / block / 2, true, false};
      printed_run run = print_run(kernel, launch, N, x);
      assert_int_equal(run.sum, right);
      assert_int_equal(run.input.outside, 0);
      assert_int_equal(run.shared.outside, 0);
      launch.descending = true;
      assert_int_equal(print_run(kernel, launch, N, x).sum, right);
    }
}

/* Printed, K2's barrier stands behind the loop: warps that run ahead add sums that are not there yet. */
CASE(test_printed_k2_has_its_barrier_outside) {
  int32_t x[256], right = 256 * 257 / 2, is;
  for (int i = 0; i < 256; i++)
    x[i] = i + 1;
  study_printed_launch launch = {256, 1, true, false};
  assert_int_not_equal(print_run(2, launch, 256, x).sum, right);
  launch.descending = true; /* the one order of warps that happens to be right */
  assert_int_equal(print_run(2, launch, 256, x).sum, right);
  study_reduction corrected = reduction(2, 256, STUDY_BARRIERS);
  for (int down = 0; down < 2; down++) {
    study_trace *trace = new_trace(down);
    study_record(trace);
    CHECK(study_reduce_grid(&corrected, DAVIT_HOST, 256, x, &is));
    study_stop();
    assert_int_equal(is, right);
  }
}

/* No kernel looks at n: all read past an array that is no multiple of the tile, K6 with its second load
 * alone. */
CASE(test_printed_kernels_read_past_the_end) {
  enum { N = 1000, BLOCK = 64 };
  int32_t right, *x = random_words(N, 41);
  study_reference_reduce(STUDY_SUM, N, x, &right);
  for (int kernel = 1; kernel <= 6; kernel++) {
    int64_t tile = kernel < 4 ? BLOCK : 2 * BLOCK;
    study_printed_launch launch = {BLOCK, kernel < 6 ? up(N, tile) : 3, true, true};
    printed_run run = print_run(kernel, launch, N, x);
    assert_int_equal(run.input.outside, 1024 - N);
    assert_int_equal(run.input.highest, 1023);
    assert_int_not_equal(run.sum, right);
    study_reduction corrected = reduction(kernel, BLOCK, STUDY_BARRIERS);
    data d = {.n = N, .x = x, .right = (uint32_t)right};
    reduces(&corrected, DAVIT_HOST, &d);
  }
}

/* The lecture's own warning: K4 launched with K3's number of blocks. */
CASE(test_printed_k4_with_a_full_grid) {
  enum { N = 1024, BLOCK = 64 };
  int32_t *x = random_words(N, 43);
  printed_run run = print_run(4, (study_printed_launch){BLOCK, N / BLOCK, true, false}, N, x);
  assert_int_equal(run.input.outside, N);
  assert_int_equal(run.input.highest, 2 * N - 1);
  study_reduction k3 = reduction(3, BLOCK, 0), k4 = reduction(4, BLOCK, 0);
  assert_int_equal(study_partials(&k3, N), 2 * study_partials(&k4, N));
}

/* Below 64 threads the last warp reads past the block's memory: by 16 entries of 32, by 8 of 16 …. */
CASE(test_printed_last_warp_of_small_blocks) {
  int32_t *x = random_words(128, 47);
  for (int kernel = 5; kernel <= 6; kernel++)
    for (int block = 2; block <= 64; block *= 2) {
      printed_run run = print_run(kernel, (study_printed_launch){block, 1, true, false}, 2 * block, x);
      assert_int_equal(run.shared.highest, block < 64 ? block + block / 2 - 1 : 63);
      assert_true((run.shared.outside > 0) == (block < 64));
      for (int v = 0; v < 2; v++) {
        study_trace *trace = new_trace(false);
        study_reduction corrected = reduction(kernel, block, (study_last_warp)v);
        CHECK(study_trace_block(&corrected, 2 * block, x, trace));
        for (int64_t i = 0; i < trace->combination_count && v == STUDY_BARRIERS; i++)
          assert_true(trace->combinations[i].right < block);
      }
    }
}

/* Lanes that are not in step, as they may be since Volta, break the last warp without barriers. */
CASE(test_printed_last_warp_needs_lanes_in_step) {
  int32_t x[512], right = 512 * 513 / 2;
  for (int i = 0; i < 512; i++)
    x[i] = i + 1;
  for (int kernel = 5; kernel <= 6; kernel++)
    for (int down = 0; down < 2; down++) {
      study_printed_launch launch = {256, 1, true, down};
      assert_int_equal(print_run(kernel, launch, 512, x).sum, right);
      launch.lockstep = false;
      assert_int_not_equal(print_run(kernel, launch, 512, x).sum, right);
    }
}

/* ---- theory ---- */

CASE(test_model) {
  for (int64_t p = 1; p <= 4096; p *= 2)
    for (int64_t n = p; n <= 1 << 20; n *= 2) {
      study_cost c = study_cost_of(n, p);
      assert_true(fabs(c.efficiency * c.cost - c.sequential) < 1e-9 * c.sequential);
      assert_true(fabs(c.speedup * c.parallel - c.sequential) < 1e-9 * c.sequential);
      assert_true(fabs(c.cost - ((double)n + (double)p * log2((double)p))) < 1e-6 * c.cost);
      assert_true(c.optimal == ((double)n >= (double)p * log2((double)p)));
      assert_true(!c.optimal || c.cost <= 2 * c.sequential);
    }
  assert_true(study_cost_of(1 << 20, 1 << 20).parallel == 21);
  assert_false(study_cost_of(8, 8).optimal);
  assert_true(study_cost_of(8, 4).optimal);
}

/* The lecture: p = n / log n = 341 for 2048 elements, rounded to 256, so 8 elements a thread. The rule gives
 * 186; 341 is the sixth part; both round to 256. */
CASE(test_choice_of_workers) {
  assert_int_equal(study_workers(2048), 186);
  assert_int_equal(2048 / 6, 341);
  assert_int_equal(study_block_for(186), 256);
  assert_int_equal(study_block_for(341), 256);
  assert_int_equal(2048 / study_block_for(study_workers(2048)), 8);
  assert_int_equal(study_workers(0), 1);
  assert_int_equal(study_workers(1), 1);
  assert_int_equal(study_workers(2), 2);
  assert_int_equal(study_block_for(0), 1);
  assert_int_equal(study_block_for(1), 1);
  assert_int_equal(study_block_for(1000000), 1024);
  for (int64_t n = 4; n < 1 << 20; n = 3 * n / 2)
    assert_true(study_cost_of(n, study_workers(n)).optimal);
}

CASE(test_cost_optimal_reduction) {
  static const int64_t sizes[] = {0, 1, 2, 7, 1000, 2048};
  EACH(int64_t, n, sizes)
    for (int64_t p = 1; p <= 300; p += p < 10 ? 1 : 59) {
      int64_t used = p < n ? p : n, levels = 0;
      uint64_t right, is = 0, *x = random_words(2 * n, 53);
      study_work work;
      study_reference_reduce(STUDY_COMPOSE, n, x, &right);
      assert_true(study_workers_reduce(STUDY_COMPOSE, p, n, x, &is, &work));
      assert_true(is == right);
      while ((INT64_C(1) << levels) < used)
        levels++;
      assert_int_equal(work.combinations, n > 0 ? n - 1 : 0);
      assert_int_equal(work.depth, n > 0 ? up(n, used) - 1 + levels : 0);
    }
}

/* ---- the CPU ---- */

CASE(test_cpu_forms) {
  static const int64_t sizes[] = {0, 1, 31, 1000, 100003};
  EACH(int64_t, n, sizes)
    for (int threads = 1; threads <= 5; threads++) {
      int32_t right, minimum = INT32_MAX, maximum = INT32_MIN, *x = random_words(n, 59);
      study_reference_reduce(STUDY_SUM, n, x, &right);
      for (int64_t i = 0; i < n; i++) {
        minimum = x[i] < minimum ? x[i] : minimum;
        maximum = x[i] > maximum ? x[i] : maximum;
      }
      for (study_cpu_form form = 0; form < STUDY_CPU_FORMS; form++)
        assert_int_equal(study_cpu_sum(form, threads, n, x), right);
      assert_int_equal(study_cpu_min(threads, n, x), minimum);
      assert_int_equal(study_cpu_max(threads, n, x), maximum);
    }
}

CASE(test_cpu_products) {
  enum { N = 1001 };
  uint64_t seed = 61;
  static study_matrix any[N], commuting[N];
  study_matrix right = {{{1, 0}, {0, 1}}}, right_commuting = right, reversed = right;
  for (int i = 0; i < N; i++) {
    uint32_t a = (uint32_t)next_random(&seed), b = (uint32_t)next_random(&seed);
    any[i] = (study_matrix){{{a, b}, {(uint32_t)next_random(&seed), a ^ b}}};
    any[i].at[0][0] |= 1; /* so that products do not die out modulo 2^32 */
    any[i].at[1][1] |= 1;
    any[i].at[0][1] &= ~1u;
    commuting[i] = (study_matrix){{{a, b}, {b, a}}}; /* all polynomials of one matrix */
    commuting[i].at[0][0] = 2 * a + 1;
    commuting[i].at[1][1] = 2 * a + 1;
    commuting[i].at[0][1] = commuting[i].at[1][0] = 2 * b;
    right = study_matrix_product(right, any[i]);
    reversed = study_matrix_product(any[i], reversed);
    right_commuting = study_matrix_product(right_commuting, commuting[i]);
  }
  assert_memory_not_equal(&right, &reversed, sizeof right);
  for (int threads = 1; threads <= 5; threads++) {
    study_matrix is = study_cpu_product_in_order(threads, N, any);
    assert_memory_equal(&is, &right, sizeof is);
    is = study_cpu_product_in_order(threads, N, commuting);
    assert_memory_equal(&is, &right_commuting, sizeof is);
    is = study_cpu_product(threads, N, commuting);
    assert_memory_equal(&is, &right_commuting, sizeof is);
  }
}

/* ---- refusals ---- */

CASE(test_bad_arguments) {
  int32_t x[4] = {1, 2, 3, 4}, result = 5;
  int devices[1] = {DAVIT_HOST};
  const study_reduction good = reduction(6, 32, STUDY_SHUFFLES);
  static const struct {
    study_reduction r;
    const char *words;
  } bad[] = {{{.kernel = 7, .block = 32}, "kernel is 7"},
             {{.kernel = 0, .block = 32}, "kernel is 0"},
             {{.kernel = 6, .block = -2}, "block is -2"},
             {{.kernel = 6, .block = 0}, "block is 0"},
             {{.kernel = 6, .block = 1}, "block is 1"},
             {{.kernel = 6, .block = 3}, "block is 3"},
             {{.kernel = 6, .block = 48}, "block is 48"},
             {{.kernel = 6, .block = 2048}, "block is 2048"},
             {{.kernel = 1, .block = 16}, "block is 16"},
             {{.kernel = 2, .block = 16}, "block is 16"},
             {{.kernel = 3, .block = 16}, "block is 16"},
             {{.kernel = 4, .block = 16}, "block is 16"},
             {{STUDY_SEGMENTS, 6, .block = 32}, "op is 2"},
             {{STUDY_ALL_OPERATORS, 6, .block = 256}, "op is 19"},
             {{STUDY_LIBRARY(DAVIT_MIN, DAVIT_FLOAT), 6, .block = 128}, "the library's operators have 256"},
             {{.kernel = 6, .block = 32, .last_warp = 2}, "last_warp"},
             {{.kernel = 6, .block = 32, .each = 1}, "each"}};
  for (int i = 0; i < COUNT(bad); i++)
    REFUSED(study_reduce(&bad[i].r, DAVIT_HOST, 4, x, &result), bad[i].words);
  REFUSED(study_reduce(&good, DAVIT_HOST, -1, x, &result), "n is -1");
  CHECK_FAILS(study_reduce(&good, -7, 4, x, &result), DAVIT_UNKNOWN_DEVICE, "-7");
  REFUSED(study_reduce_grid(&good, DAVIT_HOST, 0, x, &result), "n is 0");
  REFUSED(study_reduce_ranks(&good, 0, devices, 4, x, &result), "ranks");
  CHECK_FAILS(study_reduce(&good, DAVIT_HOST, INT64_C(1) << 60, x, &result), DAVIT_OUT_OF_HOST_MEMORY,
              "bytes");
  assert_int_equal(result, 5);
}
