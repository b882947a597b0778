/* SPDX-License-Identifier: Apache-2.0 */
/* Level 3 in tiles on devices with streams, without a GPU: host-offload devices get the streams of tests/stream.h,
 * whose work is done by BLIS a little later. Every wait between streams counts here: a product that starts before its
 * tiles have come is wrong. Pageable operands pass through the ring of pinned strips. What comes out is compared with
 * BLIS on the whole matrices. */
#define DELAYED_OF 4 /* otherwise delays are most of the time that the test takes */
#include "tests/stream_blas.h"

#include "src/base/inject.h"
#include "src/level3/arguments.h"
#include "src/level3/rule.h"
#include "tests/problem.h"

/* ---- the BLAS of the streams: stands in for offload/blas_stream.c ---- */

typedef struct blas_work {
  bool adds;
  dvt_level3 level3;
  dvt_add add;
} blas_work;

static void run_blas(void *argument) {
  const dvt_site site = {.device = DAVIT_HOST, .threads = 1};
  blas_work *w = argument;
  w->adds ? dvt_add_host(&site, &w->add) : dvt_level3_host(&site, &w->level3);
  free(w);
}

static atomic_bool without_handles; /* a product was enqueued before any handle was made */

static davit_status push_blas(const dvt_site *site, blas_work work) {
  DVT_TRY(device_call());
  if (atomic_load(&device_calls.handles) == 0)
    atomic_store(&without_handles, true);
  blas_work *w = malloc(sizeof *w);
  *w = work;
  push(site->stream, (item){.run = run_blas, .argument = w});
  return DAVIT_SUCCESS;
}

davit_status dvt_level3_stream(const dvt_site *site, const void *level3) {
  return push_blas(site, (blas_work){.level3 = *(const dvt_level3 *)level3});
}

davit_status dvt_add_stream(const dvt_site *site, const void *add) {
  return push_blas(site, (blas_work){.adds = true, .add = *(const dvt_add *)add});
}

/* ---- problems ---- */

/* The routines of real types. */
static const dvt_routine routines[] = {DVT_GEMM, DVT_SYMM, DVT_SYRK, DVT_SYR2K, DVT_TRMM, DVT_TRSM};

/* A third of those with a length of tiles has memory for some tiles alone: gemm for 3 at least, others need more. */
static product random_product(uint64_t *seed, dvt_routine routine) {
  static const double scalars[] = {0, 1, -1, 0.7};
  const bool summed = routine == DVT_GEMM || routine == DVT_SYRK || routine == DVT_SYR2K;
  product p = {.g = {.routine = routine,
                     .type = DAVIT_DOUBLE,
                     .side = random_below(seed, 2) ? 'L' : 'R',
                     .uplo = random_below(seed, 2) ? 'L' : 'U',
                     .transa = random_below(seed, 2) ? 'T' : 'N',
                     .transb = random_below(seed, 2) ? 'T' : 'N',
                     .diag = random_below(seed, 2) ? 'N' : 'U',
                     .m = 1 + random_below(seed, 300),
                     .n = 1 + random_below(seed, 300),
                     .k = summed ? 1 + random_below(seed, 600) : 0,
                     .alpha = scalars[random_below(seed, 3) + 1],
                     .beta = scalars[random_below(seed, 4)]}};
  if (is_update(p.g.routine))
    p.g.m = p.g.n;
  if (is_triangular(p.g.routine))
    p.g.beta = 0;
  if (is_square(p.g.routine))
    p.g.transa = 'N';
  for (int i = 0; i < 3; i++)
    p.place[i] = random_below(seed, 2) ? DAVIT_PAGEABLE : DAVIT_PINNED;
  p.options = (davit_level3_options){.devices = devices,
                                     .device_count = 1 + random_below(seed, spread),
                                     .tile = random_below(seed, 3) ? 32 << random_below(seed, 3) : 0,
                                     .cache_bytes = (size_t)1 << 28,
                                     .separate_memory = true};
  const int least = routine == DVT_GEMM ? 3 : 12;
  if (p.options.tile && random_below(seed, 3) == 0)
    p.options.cache_bytes = (size_t)((least + random_below(seed, 20)) * p.options.tile * p.options.tile) * 8;
  return p;
}

/* ---- cases ---- */

static void count(void *counted, int64_t done, int64_t all) {
  assert_true(done == ++*(int64_t *)counted && done <= all);
}

/* Every other one counts its products. */
static void try_random(dvt_routine routine, int trials, uint64_t seed) {
  int64_t evictions = 0;
  for (int trial = 0; trial < trials; trial++) {
    SCOPE;
    product p = random_product(&seed, routine);
    davit_level3_report report;
    int64_t counted = 0;
    p.options.report = &report;
    p.options.progress = trial % 2 ? count : NULL;
    p.options.progress_context = &counted;
    product_make(&p);
    CHECK(product_call(&p, NULL));
    product_expect(&p);
    assert_true(counted == (trial % 2 ? report.products : 0));
    evictions += report.evictions;
  }
  assert_true(evictions > 0 || trials < 30);
}

CASE(test_random_products) {
  try_random(DVT_GEMM, scaled(100), 1);
}

CASE(test_random_routines) {
  for (int r = 1; r < COUNT(routines); r++)
    try_random(routines[r], scaled(60), (uint64_t)r);
}

/* Several strips to a tile, and columns longer than a strip. */
CASE(test_strips_of_pageable_memory) {
  static const int64_t shapes[][3] = {{700, 650, 520}, {150000, 3, 5}, {5, 300, 40000}};
  for (int i = 0; i < COUNT(shapes); i++) {
    SCOPE;
    product p = {.g = {.routine = DVT_GEMM,
                       .type = DAVIT_DOUBLE,
                       .transa = 'N',
                       .transb = i == 1 ? 'T' : 'N',
                       .m = shapes[i][0],
                       .n = shapes[i][1],
                       .k = shapes[i][2],
                       .alpha = 1,
                       .beta = 0.7},
                 .place = {DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PAGEABLE}};
    p.options = (davit_level3_options){.devices = devices,
                                       .device_count = spread,
                                       .tile = i ? 200000 : 400,
                                       .cache_bytes = (size_t)1 << 30,
                                       .separate_memory = true};
    product_make(&p);
    CHECK(product_call(&p, NULL));
    product_expect(&p);
  }
}

/* Before the first product, and so beside the loads. */
CASE(test_handles_are_made_beside_loads) {
  for (int pinned = 0; pinned < 2; pinned++) {
    SCOPE;
    const int place = pinned ? DAVIT_PINNED : DAVIT_PAGEABLE;
    product p = {.g = {DVT_GEMM, .type = DAVIT_DOUBLE, .transa = 'N', .transb = 'N', .m = 200, .n = 200,
                       .k = 200, .alpha = 1},
                 .place = {place, place, place},
                 .options = {.devices = devices, .device_count = 1, .tile = 100, .separate_memory = true}};
    atomic_store(&device_calls.handles, 0);
    atomic_store(&without_handles, false);
    product_make(&p);
    CHECK(product_call(&p, NULL));
    product_expect(&p);
    assert_false(atomic_load(&without_handles));
    assert_int_equal(atomic_load(&device_calls.handles), 2); /* one for each stream of products */
  }
}

CASE(test_same_bits) {
  uint64_t seed = 5;
  for (int trial = 0; trial < scaled(20); trial++) {
    SCOPE;
    product p = random_product(&seed, routines[trial % COUNT(routines)]);
    p.g.beta = is_triangular(p.g.routine) ? 0 : 0.7;
    product_make(&p);
    CHECK(product_call(&p, NULL));
    dense_take(&p.o[2]);
    for (int repeat = 0; repeat < 2; repeat++) {
      product again = p;
      product_make(&again);
      CHECK(product_call(&again, NULL));
      dense_take(&again.o[2]);
      assert_memory_equal(again.o[2].image, p.o[2].image, p.o[2].bytes);
    }
  }
}

static void *compute_often(void *argument) {
  product *p = argument;
  for (int i = 0; i < scaled(10); i++)
    CHECK(product_call(p, NULL));
  return NULL;
}

/* Of routines that may be repeated. */
CASE(test_several_threads_at_once) {
  enum { CALLERS = 4 };
  product p[CALLERS];
  pthread_t threads[CALLERS];
  uint64_t seed = 9;
  for (int i = 0; i < CALLERS; i++) {
    p[i] = random_product(&seed, routines[i]);
    p[i].g.beta = 0;
    product_make(&p[i]);
  }
  for (int i = 0; i < CALLERS; i++)
    threads[i] = start_thread(compute_often, &p[i]);
  for (int i = 0; i < CALLERS; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < CALLERS; i++)
    product_expect(&p[i]);
}

/* ---- failures ---- */

/* Every kind of injection, and a call of the streams. */
enum { STREAM_CALL = DVT_INJECTIONS, FAILURES };

static void arm(int failure, int n) {
  if (failure == STREAM_CALL)
    atomic_store(&device_calls.until_lost, n);
  else
    dvt_inject((dvt_injection)failure, n);
}

/* Whether the failure has not happened. */
static bool disarm(int failure) {
  return failure == STREAM_CALL ? atomic_exchange(&device_calls.until_lost, 0) != 0
                                : dvt_inject((dvt_injection)failure, 0) != 0;
}

/* The n-th passage fails; false if there were fewer. Threads are kept, so that a new one is needed after the library
 * has stopped alone. */
static bool fail_once(const product *wanted, int failure, int n, int refused[FAILURES]) {
  SCOPE;
  product p = *wanted;
  int64_t counted = 0;
  p.options.progress_context = &counted;
  product_make(&p);
  if (failure == DVT_INJECT_THREAD)
    davit_finalize();
  arm(failure, n);
  const davit_status status = product_call(&p, NULL);
  const bool happened = !disarm(failure);
  refused[failure] += status != DAVIT_SUCCESS;
  assert_true(happened || status == DAVIT_SUCCESS);
  if (status == DAVIT_SUCCESS)
    product_expect(&p);
  return happened;
}

static void try_failures(dvt_routine routine, int place, int device_count, int64_t tile) {
  int refused[FAILURES] = {0};
  product p = {.g = {.routine = routine,
                     .type = DAVIT_DOUBLE,
                     .side = 'L',
                     .uplo = 'L',
                     .transa = 'N',
                     .transb = 'T',
                     .diag = 'N',
                     .m = 50,
                     .n = 50,
                     .k = 55,
                     .alpha = 0.7},
               .place = {place, place, place},
               .options = {.devices = devices,
                           .device_count = device_count,
                           .tile = tile,
                           .cache_bytes = (size_t)1 << 28,
                           .separate_memory = true,
                           .progress = count}};
  for (int failure = 0; failure < FAILURES; failure++)
    for (int n = 1; failure != DVT_INJECT_UNPACK && fail_once(&p, failure, n, refused); n++) {
    }
  assert_int_equal(refused[DVT_INJECT_PINNED_MEMORY], 0);
  assert_true(refused[DVT_INJECT_HOST_MEMORY] > 0 && refused[DVT_INJECT_RUN] > 0 && refused[STREAM_CALL] > 0);
  assert_int_equal(refused[DVT_INJECT_THREAD], 0); /* who enqueues does without */
  product_make(&p);
  int64_t counted = 0;
  p.options.progress_context = &counted;
  CHECK(product_call(&p, NULL));
  product_expect(&p);
}

/* Every allocation, thread, step and call of a stream fails once, whatever the scale: a status, no hang, and the next
 * call works. Where only pinned memory or threads are missing, the result is right all the same. */
CASE(test_failures) {
  for (int r = 0; r < COUNT(routines); r++) {
    SCOPE;
    try_failures(routines[r], DAVIT_PAGEABLE, 2, 30);
  }
  try_failures(DVT_GEMM, DAVIT_PINNED, spread, 24);
  try_failures(DVT_TRSM, DAVIT_PINNED, spread, 24);
}

/* A host that has no pinned memory left. */
CASE(test_no_pinned_memory) {
  uint64_t seed = 4;
  for (int trial = 0; trial < scaled(6); trial++) {
    SCOPE;
    product p = random_product(&seed, routines[trial % COUNT(routines)]);
    p.place[0] = p.place[1] = p.place[2] = DAVIT_PAGEABLE;
    product_make(&p);
    CHECK(davit_memory_trim(DAVIT_PINNED));
    dvt_inject(DVT_INJECT_PINNED_MEMORY, DVT_INJECT_ALWAYS);
    const davit_status status = product_call(&p, NULL);
    void *pinned;
    const davit_status refused = davit_malloc(1 << 20, DAVIT_PINNED, &pinned);
    dvt_inject(DVT_INJECT_PINNED_MEMORY, 0);
    assert_int_equal(refused, DAVIT_OUT_OF_HOST_MEMORY);
    CHECK(status);
    product_expect(&p);
  }
}

int main(void) {
  return run_cases(give_streams, finalize);
}
