/* SPDX-License-Identifier: Apache-2.0 */
/* The tiled product on devices with streams, without a GPU: host-offload devices get the streams of
 * tests/stream.h, whose work is done by BLIS a little later. Every wait between streams counts here: a
 * product that starts before its tiles have come is wrong. Pageable operands pass through the ring of pinned
 * strips. */
#include "tests/stream.h"

#include "src/base/inject.h"
#include "src/level3/add.h"
#include "src/level3/routine.h"
#include "tests/dense.h"

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

static davit_status push_blas(const dvt_site *site, blas_work work) {
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

#define NO_FORM(name)                                                                                        \
  davit_status dvt_##name##_stream(const dvt_site *site, const void *arguments) {                            \
    (void)site, (void)arguments;                                                                             \
    return davit_fail(DAVIT_UNSUPPORTED, #name " has no stand-in");                                          \
  }
NO_FORM(gemv)
NO_FORM(axpy)
NO_FORM(dot)

/* ---- problems ---- */

enum { MOST = 4 };
static int devices[MOST], spread;

static int give_streams(void **state) {
  (void)state;
  const int all = device_count();
  for (int d = 0; d < all && spread < MOST; d++) {
    dvt_device *device = (dvt_device *)(uintptr_t)dvt_device_find(d);
    if (!device->shares_host_memory)
      continue;
    device->ordinal = spread;
    devices[spread++] = d;
  }
  return 0;
}

typedef struct problem {
  char transa, transb;
  int64_t m, n, k;
  double alpha, beta;
  int place[3]; /* of A, B and C */
  davit_level3_options options;
  dense a, b, c;
} problem;

static problem random_problem(uint64_t *seed) {
  static const double scalars[] = {0, 1, -1, 0.7};
  problem p = {.transa = random_below(seed, 2) ? 'T' : 'N',
               .transb = random_below(seed, 2) ? 'T' : 'N',
               .m = 1 + random_below(seed, 300),
               .n = 1 + random_below(seed, 300),
               .k = 1 + random_below(seed, 600),
               .alpha = scalars[random_below(seed, 3) + 1],
               .beta = scalars[random_below(seed, 4)]};
  for (int i = 0; i < 3; i++)
    p.place[i] = random_below(seed, 2) ? DAVIT_PAGEABLE : DAVIT_PINNED;
  p.options = (davit_level3_options){.devices = devices,
                                     .device_count = 1 + random_below(seed, spread),
                                     .tile = random_below(seed, 3) ? 32 << random_below(seed, 3) : 0,
                                     .cache_bytes = (size_t)1 << 28,
                                     .separate_memory = true};
  if (p.options.tile && random_below(seed, 3) == 0)
    p.options.cache_bytes = (size_t)((3 + random_below(seed, 20)) * p.options.tile * p.options.tile) * 8;
  return p;
}

static void prepare(problem *p) {
  const bool na = p->transa == 'N', nb = p->transb == 'N';
  p->a = dense_new(DAVIT_DOUBLE, na ? p->m : p->k, na ? p->k : p->m, 3, 0, p->place[0], 1);
  p->b = dense_new(DAVIT_DOUBLE, nb ? p->k : p->n, nb ? p->n : p->k, 3, 0, p->place[1], 2);
  p->c = dense_new(DAVIT_DOUBLE, p->m, p->n, 3, 0, p->place[2], p->beta == 0 ? UNSET : 3);
}

static davit_status multiply(const problem *p) {
  return davit_dgemm(p->transa, p->transb, p->m, p->n, p->k, p->alpha, dense_there(&p->a), p->a.ld,
                     dense_there(&p->b), p->b.ld, p->beta, dense_there(&p->c), p->c.ld, &p->options);
}

static void expect_product(problem *p) {
  const double bound = product_bound(p->k, p->alpha, &p->a, &p->b, p->beta, &p->c);
  double error = 0;
  dense_take(&p->c);
  const dvt_level3 g = {.routine = DVT_GEMM,
                        .type = DAVIT_DOUBLE,
                        .transa = p->transa,
                        .transb = p->transb,
                        .m = p->m,
                        .n = p->n,
                        .k = p->k,
                        .alpha = p->alpha,
                        .a = dense_image(&p->a),
                        .lda = p->a.ld,
                        .b = dense_image(&p->b),
                        .ldb = p->b.ld,
                        .beta = p->beta,
                        .c = p->c.before + p->c.start,
                        .ldc = p->c.ld};
  CHECK(dvt_level3_host(&(dvt_site){.threads = 1}, &g));
  for (int64_t j = 0; j < p->n; j++)
    for (int64_t i = 0; i < p->m; i++)
      error += pow(dense_at(&p->c, i, j) - dense_was(&p->c, i, j), 2);
  if (!(sqrt(error) <= bound))
    fail_msg("gemm %c%c m %lld n %lld k %lld alpha %g beta %g places %d %d %d tile %lld devices %d cache "
             "%zu: error "
             "%g above %g",
             p->transa, p->transb, (long long)p->m, (long long)p->n, (long long)p->k, p->alpha, p->beta,
             p->place[0], p->place[1], p->place[2], (long long)p->options.tile, p->options.device_count,
             p->options.cache_bytes, sqrt(error), bound);
  assert_true(dense_as_image(&p->a) && dense_as_image(&p->b));
}

/* ---- cases ---- */

static void count(void *counted, int64_t done, int64_t all) {
  assert_true(done == ++*(int64_t *)counted && done <= all);
}

/* Every other one counts its products. */
CASE(test_random_products) {
  uint64_t seed = 1;
  for (int trial = 0; trial < scaled(100); trial++) {
    SCOPE;
    problem p = random_problem(&seed);
    davit_level3_report report;
    int64_t counted = 0;
    p.options.report = &report;
    p.options.progress = trial % 2 ? count : NULL;
    p.options.progress_context = &counted;
    prepare(&p);
    CHECK(multiply(&p));
    expect_product(&p);
    assert_true(counted == (trial % 2 ? report.products : 0));
  }
}

/* Several strips to a tile, and columns longer than a strip. */
CASE(test_strips_of_pageable_memory) {
  static const int64_t shapes[][3] = {{700, 650, 520}, {150000, 3, 5}, {5, 300, 40000}};
  for (int i = 0; i < COUNT(shapes); i++) {
    SCOPE;
    problem p = {.transa = 'N',
                 .transb = i == 1 ? 'T' : 'N',
                 .m = shapes[i][0],
                 .n = shapes[i][1],
                 .k = shapes[i][2],
                 .alpha = 1,
                 .beta = 0.7,
                 .place = {DAVIT_PAGEABLE, DAVIT_PAGEABLE, DAVIT_PAGEABLE}};
    p.options = (davit_level3_options){.devices = devices,
                                       .device_count = spread,
                                       .tile = i ? 200000 : 400,
                                       .cache_bytes = (size_t)1 << 30,
                                       .separate_memory = true};
    prepare(&p);
    CHECK(multiply(&p));
    expect_product(&p);
  }
}

CASE(test_same_bits) {
  uint64_t seed = 5;
  for (int trial = 0; trial < scaled(10); trial++) {
    SCOPE;
    problem p = random_problem(&seed);
    p.beta = 0.7;
    prepare(&p);
    CHECK(multiply(&p));
    dense_take(&p.c);
    for (int repeat = 0; repeat < 2; repeat++) {
      problem again = p;
      again.c = dense_new(DAVIT_DOUBLE, p.m, p.n, 3, 0, p.place[2], 3);
      CHECK(multiply(&again));
      dense_take(&again.c);
      for (int64_t j = 0; j < p.n; j++)
        for (int64_t i = 0; i < p.m; i++)
          assert_true(dense_at(&again.c, i, j) == dense_at(&p.c, i, j));
    }
  }
}

static void *multiply_often(void *argument) {
  problem *p = argument;
  for (int i = 0; i < scaled(10); i++)
    CHECK(multiply(p));
  return NULL;
}

CASE(test_several_threads_at_once) {
  enum { CALLERS = 4 };
  problem p[CALLERS];
  pthread_t threads[CALLERS];
  uint64_t seed = 9;
  for (int i = 0; i < CALLERS; i++) {
    p[i] = random_problem(&seed);
    p[i].beta = 0;
    prepare(&p[i]);
  }
  for (int i = 0; i < CALLERS; i++)
    threads[i] = start_thread(multiply_often, &p[i]);
  for (int i = 0; i < CALLERS; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < CALLERS; i++)
    expect_product(&p[i]);
}

/* Every allocation, thread and step fails once: a status, no hang, and the next call works. Where only pinned
 * memory or some threads of the ring are missing, the product is right all the same. */
CASE(test_failures) {
  uint64_t seed = 3;
  int refused[DVT_INJECTIONS] = {0};
  problem p = random_problem(&seed);
  p.options.tile = 64;
  p.options.device_count = spread;
  p.options.cache_bytes = (size_t)1 << 28;
  p.place[0] = p.place[1] = p.place[2] = DAVIT_PAGEABLE;
  p.beta = 0;
  prepare(&p);
  CHECK(multiply(&p));
  for (int kind = 0; kind < DVT_INJECTIONS; kind++) {
    if (kind == DVT_INJECT_UNPACK)
      continue;
    for (int n = 1; n < scaled(200); n += 1 + n / 3) {
      dvt_inject((dvt_injection)kind, n);
      const davit_status status = multiply(&p);
      dvt_inject((dvt_injection)kind, 0);
      refused[kind] += status != DAVIT_SUCCESS;
      if (status == DAVIT_SUCCESS) {
        SCOPE;
        problem copy = p;
        prepare(&copy);
        CHECK(multiply(&copy));
        expect_product(&copy);
      }
    }
  }
  assert_int_equal(refused[DVT_INJECT_PINNED_MEMORY], 0);
  assert_true(refused[DVT_INJECT_HOST_MEMORY] > 0 && refused[DVT_INJECT_RUN] > 0);
  CHECK(multiply(&p));
  expect_product(&p);
}

/* A host that has no pinned memory left. */
CASE(test_no_pinned_memory) {
  uint64_t seed = 4;
  for (int trial = 0; trial < scaled(3); trial++) {
    SCOPE;
    problem p = random_problem(&seed);
    p.place[0] = p.place[1] = p.place[2] = DAVIT_PAGEABLE;
    prepare(&p);
    CHECK(davit_memory_trim(DAVIT_PINNED));
    dvt_inject(DVT_INJECT_PINNED_MEMORY, DVT_INJECT_ALWAYS);
    const davit_status status = multiply(&p);
    void *pinned;
    const davit_status refused = davit_malloc(1 << 20, DAVIT_PINNED, &pinned);
    dvt_inject(DVT_INJECT_PINNED_MEMORY, 0);
    assert_int_equal(refused, DAVIT_OUT_OF_HOST_MEMORY);
    CHECK(status);
    expect_product(&p);
  }
}

int main(void) {
  return run_cases(give_streams, finalize);
}
