/* SPDX-License-Identifier: Apache-2.0 */
/* Factorisations by blocks on devices with streams, without a GPU: as test_gemm_streams. Every wait between streams
 * counts: a block that is updated before a panel has come, or loaded over one that is still read, is wrong. */
#include "tests/stream_blas.h"

#include "offload/cholesky_qr.h"
#include "offload/factored.h"
#include "offload/solve.h"
#include "src/base/arithmetic.h"
#include "src/base/inject.h"
#include "src/factor/blocks.h"

/* ---- stands in for what enqueues on a GPU: the host form, a little later ---- */

typedef davit_status form(const dvt_site *site, const void *arguments);

typedef struct work {
  form *form;
  _Alignas(16) char arguments[DVT_ARGUMENT_BYTES];
} work;

static atomic_bool starved; /* a host form had no memory, which a GPU would not have asked for */

static void run_work(void *argument) {
  const dvt_site site = {.device = DAVIT_HOST, .threads = 1};
  work *w = argument;
  if (w->form(&site, w->arguments) != DAVIT_SUCCESS)
    atomic_store(&starved, true);
  free(w);
}

static davit_status push_work(const dvt_site *site, form *run, const void *arguments, size_t bytes) {
  DVT_TRY(device_call());
  work *w = malloc(sizeof *w);
  w->form = run;
  memcpy(w->arguments, arguments, bytes);
  push(site->stream, (item){.run = run_work, .argument = w});
  return DAVIT_SUCCESS;
}

#define STAND_IN(function, name)                                                                             \
  davit_status function(const dvt_site *site, const void *arguments);                                        \
  davit_status function(const dvt_site *site, const void *arguments) {                                       \
    return push_work(site, dvt_##name##_host, arguments, sizeof(dvt_##name));                                \
  }
STAND_IN(dvt_level3_stream, level3)
STAND_IN(dvt_potrf_stream, potrf)
STAND_IN(dvt_getrf_stream, getrf)
STAND_IN(dvt_getrs_stream, getrs)
STAND_IN(dvt_geqrf_stream, geqrf)
STAND_IN(dvt_ormqr_stream, ormqr)
STAND_IN(dvt_orgqr_stream, orgqr)
STAND_IN(dvt_reflect_stream, reflect)
STAND_IN(dvt_adjoint_stream, adjoint)
STAND_IN(dvt_cholesky_qr_stream, cholesky_qr)
STAND_IN(dvt_reconstruct_stream, reconstruct)
/* The linker puts these in the place of what would launch kernels. */
STAND_IN(__wrap_dvt_permute_device, permute)
STAND_IN(__wrap_dvt_unit_device, unit)
STAND_IN(__wrap_dvt_fetch_device, fetch)

/* Its products and scratch memory are the real ones. */
davit_status dvt_reflector_stream(const dvt_site *site, const void *reflector) {
  void *room;
  DVT_TRY(site->workspace(site, dvt_reflector_bytes(reflector), &room));
  return dvt_reflector_apply(site, reflector, room, dvt_level3_stream);
}

davit_status dvt_solve_prepare(const dvt_site *site) {
  return dvt_blas_prepare(site);
}

NO_FORM(add)
NO_FORM(refine)

/* ---- problems ---- */

static const dvt_site host = {.device = DAVIT_HOST, .threads = 1};

/* A matrix in memory of the host, and a copy. */
typedef struct pair {
  int64_t m, n, ld;
  double *a, *whole;
} pair;

static pair random_pair(uint64_t *seed, int64_t m, int64_t n) {
  pair p = {.m = m, .n = n, .ld = m + random_below(seed, 3)};
  const size_t bytes = (size_t)(p.ld * n) * sizeof *p.a;
  p.a = kept_at(bytes, random_below(seed, 2) ? DAVIT_PAGEABLE : DAVIT_PINNED);
  for (int64_t i = 0; i < p.ld * n; i++)
    p.a[i] = random_unit(seed);
  p.whole = memcpy(kept(bytes), p.a, bytes);
  return p;
}

/* How the work is spread; half of it with slots and some blocks alone. */
typedef struct spreading {
  davit_solve_options options;
  davit_solve_report report;
} spreading;

static size_t one_block(int64_t rows, int64_t block, size_t beside) {
  return dvt_aligned_up((size_t)(rows * block) * sizeof(double)) + dvt_aligned_up(beside);
}

static size_t beside_lu(int64_t block) {
  return 5 * (size_t)block * sizeof(int);
}

static size_t beside_qr(int64_t block) {
  return (2 * (size_t)block + 1) * (size_t)block * sizeof(double);
}

static void spread_randomly(spreading *s, uint64_t *seed, int64_t rows, size_t (*beside)(int64_t block)) {
  const int64_t block = 8 << random_below(seed, 4);
  s->options = (davit_solve_options){.devices = devices,
                                     .device_count = 1 + random_below(seed, spread),
                                     .block = block,
                                     .cache_bytes = (size_t)1 << 28,
                                     .separate_memory = true,
                                     .report = &s->report};
  if (random_below(seed, 2))
    s->options.cache_bytes =
        (size_t)(4 + random_below(seed, 6)) * one_block(rows, block, beside ? beside(block) : 0);
}

/* What the call has left is what the host form leaves of the whole, and both leave alone the same. */
static void expect_as_whole(const char *what, const pair *p, const spreading *s, double tolerance) {
  double most = 1;
  for (int64_t j = 0; j < p->n; j++)
    for (int64_t i = 0; i < p->m; i++)
      most = fabs(p->whole[i + j * p->ld]) > most ? fabs(p->whole[i + j * p->ld]) : most;
  for (int64_t i = 0; i < p->ld * p->n; i++)
    if (!(fabs(p->a[i] - p->whole[i]) <= tolerance * most))
      fail_msg("%s, %lld × %lld, block %lld, %d devices, %zu bytes: element %lld, %lld is %g in place of %g",
               what, (long long)p->m, (long long)p->n, (long long)s->options.block, s->options.device_count,
               s->options.cache_bytes, (long long)(i % p->ld), (long long)(i / p->ld), p->a[i], p->whole[i]);
}

/* ---- Cholesky ---- */

static void try_cholesky(uint64_t *seed) {
  SCOPE;
  const int64_t n = 1 + random_below(seed, 400);
  const int bad = random_below(seed, 4) ? -1 : random_below(seed, (int)n);
  const char uplo = random_below(seed, 2) ? 'L' : 'U';
  spreading s;
  pair p = random_pair(seed, n, n);
  int info;
  spread_randomly(&s, seed, n, NULL);
  for (int64_t i = 0; i < n; i++)
    p.a[i + i * p.ld] = p.whole[i + i * p.ld] = i == bad ? -1 : 2 * (double)n;
  CHECK(dvt_potrf_host(&host, &(dvt_potrf){DAVIT_DOUBLE, uplo, n, p.whole, p.ld, &info, false}));
  assert_int_equal(info, bad + 1);
  const davit_status status = davit_dpotrf(uplo, n, p.a, p.ld, &s.options);
  assert_int_equal(s.report.failed, info);
  if (bad >= 0) {
    assert_int_equal(status, DAVIT_NOT_POSITIVE_DEFINITE);
    return;
  }
  CHECK(status);
  expect_as_whole("potrf", &p, &s, 1e-12 * (double)n);
}

/* ---- LU ---- */

static void try_lu(uint64_t *seed) {
  SCOPE;
  const int64_t m = 1 + random_below(seed, 300), n = random_below(seed, 3) ? 1 + random_below(seed, 300) : m,
                least = m < n ? m : n, nrhs = 1 + random_below(seed, 60);
  const size_t bytes = (size_t)least * sizeof(int);
  int *pivots = kept(bytes), *whole = kept(bytes), info;
  spreading s;
  pair p = random_pair(seed, m, n), b = random_pair(seed, m, nrhs);
  spread_randomly(&s, seed, m, beside_lu);
  CHECK(dvt_getrf_host(&host, &(dvt_getrf){DAVIT_DOUBLE, m, n, p.whole, p.ld, whole, &info, false}));
  /* Level 3 has no tiles for the systems where there is little memory. */
  const bool solves = m == n && s.options.cache_bytes == (size_t)1 << 28;
  CHECK(solves ? davit_dgesv(n, nrhs, p.a, p.ld, pivots, b.a, b.ld, &s.options)
               : davit_dgetrf(m, n, p.a, p.ld, pivots, &s.options));
  assert_memory_equal(pivots, whole, bytes);
  expect_as_whole("getrf", &p, &s, 1e-8);
  if (!solves)
    return;
  CHECK(dvt_getrs_host(&host, &(dvt_getrs){DAVIT_DOUBLE, 'N', n, nrhs, p.whole, p.ld, whole, b.whole, b.ld}));
  expect_as_whole("gesv", &b, &s, 1e-8);
}

/* ---- QR ---- */

static void try_products(uint64_t *seed, const pair *p, const double *tau, int64_t k) {
  const char side = random_below(seed, 2) ? 'L' : 'R', trans = random_below(seed, 2) ? 'N' : 'T';
  const int64_t other = 1 + random_below(seed, 200), m = side == 'L' ? p->m : other,
                n = side == 'L' ? other : p->m;
  spreading s;
  pair c = random_pair(seed, m, n);
  spread_randomly(&s, seed, p->m, beside_qr);
  CHECK(dvt_ormqr_host(&host,
                       &(dvt_ormqr){DAVIT_DOUBLE, side, trans, m, n, k, p->a, p->ld, tau, c.whole, c.ld}));
  CHECK(davit_dormqr(side, trans, m, n, k, p->a, p->ld, tau, c.a, c.ld, &s.options));
  expect_as_whole(side == 'L' ? "ormqr, L" : "ormqr, R", &c, &s, 1e-10);
}

static void try_qr(uint64_t *seed) {
  SCOPE;
  const int64_t m = 1 + random_below(seed, 300), n = 1 + random_below(seed, 300), least = m < n ? m : n,
                k = random_below(seed, (int)least + 1);
  const size_t bytes = (size_t)least * sizeof(double);
  spreading s;
  pair p = random_pair(seed, m, n), tau = {.m = least, .n = 1, .ld = least};
  tau.a = kept_at(bytes, random_below(seed, 2) ? DAVIT_PAGEABLE : DAVIT_PINNED);
  tau.whole = kept(bytes);
  spread_randomly(&s, seed, m, beside_qr);
  if (random_below(seed, 3) == 0) { /* columns that are not independent */
    const size_t column = (size_t)(random_below(seed, (int)n) * p.ld), rows = (size_t)m * sizeof *p.a;
    memset(p.a + column, 0, rows);
    memset(p.whole + column, 0, rows);
  }
  CHECK(dvt_geqrf_host(&host, &(dvt_geqrf){DAVIT_DOUBLE, m, n, p.whole, p.ld, tau.whole}));
  CHECK(davit_dgeqrf(m, n, p.a, p.ld, tau.a, &s.options));
  expect_as_whole("geqrf", &p, &s, 1e-8);
  expect_as_whole("tau", &tau, &s, 1e-8);
  try_products(seed, &p, tau.a, k);
  p.n = least;
  memcpy(p.whole, p.a, (size_t)(p.ld * least) * sizeof *p.a);
  spread_randomly(&s, seed, m, beside_qr);
  CHECK(dvt_orgqr_host(&host, &(dvt_orgqr){DAVIT_DOUBLE, m, least, k, p.whole, p.ld, tau.a}));
  CHECK(davit_dorgqr(m, least, k, p.a, p.ld, tau.a, &s.options));
  expect_as_whole("orgqr", &p, &s, 1e-10);
}

/* The same systems by a call without devices of its own: on the host. A is well conditioned. */
static void try_least_squares(uint64_t *seed) {
  SCOPE;
  const int64_t m = 1 + random_below(seed, 200), n = 1 + random_below(seed, 200),
                nrhs = 1 + random_below(seed, 60), most = m > n ? m : n;
  const char trans = random_below(seed, 2) ? 'N' : 'T';
  const davit_solve_options at_home = {.devices = (const int[]){DAVIT_HOST}, .device_count = 1};
  spreading s;
  pair p = random_pair(seed, m, n), b = random_pair(seed, most, nrhs);
  for (int64_t i = 0; i < m && i < n; i++)
    p.a[i + i * p.ld] = p.whole[i + i * p.ld] = 20;
  spread_randomly(&s, seed, most, beside_qr);
  s.options.cache_bytes = (size_t)1 << 28;
  CHECK(davit_dgels(trans, m, n, nrhs, p.whole, p.ld, b.whole, b.ld, &at_home));
  CHECK(davit_dgels(trans, m, n, nrhs, p.a, p.ld, b.a, b.ld, &s.options));
  expect_as_whole("gels, A", &p, &s, 1e-10);
  expect_as_whole("gels, B", &b, &s, 1e-10);
}

/* ---- cases ---- */

static void repeat(void (*try)(uint64_t *seed), int trials) {
  uint64_t seed = 1;
  for (int trial = 0; trial < scaled(trials); trial++)
    try(&seed);
}

CASE(test_cholesky) {
  repeat(try_cholesky, 100);
}

CASE(test_lu) {
  repeat(try_lu, 100);
}

CASE(test_qr) {
  repeat(try_qr, 100);
}

CASE(test_least_squares) {
  repeat(try_least_squares, 50);
}

static void try_lame(int stream, int count) {
  SCOPE;
  enum { N = 120 };
  uint64_t seed = (uint64_t)stream;
  int pivots[N], whole[N], info;
  const spreading s = {
      .options = {.devices = devices, .device_count = count, .block = 8, .separate_memory = true}};
  pair p = random_pair(&seed, N, N);
  CHECK(dvt_getrf_host(&host, &(dvt_getrf){DAVIT_DOUBLE, N, N, p.whole, p.ld, whole, &info, false}));
  atomic_store(&lame, stream);
  CHECK(davit_dgetrf(N, N, p.a, p.ld, pivots, &s.options));
  atomic_store(&lame, 0);
  assert_memory_equal(pivots, whole, sizeof pivots);
  expect_as_whole("getrf", &p, &s, 1e-8);
}

/* Whichever stream is late, the others wait for it: with streams enough for the lanes of all devices, and callbacks. */
CASE(test_lame_streams) {
  for (int stream = 1; stream <= 2 * DVT_FACTOR_ROLES * spread; stream++)
    for (int turn = 0; turn < 2; turn++)
      if (!left_out())
        try_lame(stream, turn ? spread : 1);
}

/* ---- failures ---- */

enum { ORDER = 24, SIDES = 3 };

static davit_status factor_in_slabs(double *a, double *b, const davit_solve_options *o) {
  int pivots[ORDER];
  davit_solve_options slabs = *o;
  (void)b;
  slabs.cache_bytes = 4 * one_block(ORDER, o->block, beside_lu(o->block));
  slabs.device_count = 1;
  return davit_dgetrf(ORDER, ORDER, a, ORDER, pivots, &slabs);
}

static davit_status solve_with_lu(double *a, double *b, const davit_solve_options *o) {
  int pivots[ORDER];
  return davit_dgesv(ORDER, SIDES, a, ORDER, pivots, b, ORDER, o);
}

static davit_status solve_with_qr(double *a, double *b, const davit_solve_options *o) {
  return davit_dgels('N', ORDER, ORDER, SIDES, a, ORDER, b, ORDER, o);
}

static davit_status make_q(double *a, double *b, const davit_solve_options *o) {
  return davit_dorgqr(ORDER, ORDER, ORDER, a, ORDER, b, o);
}

typedef davit_status call(double *a, double *b, const davit_solve_options *o);

/* What a call works on, what it had, and what it leaves. */
typedef struct story {
  call *call;
  pair a, b;
  double before[ORDER * (ORDER + SIDES)];
} story;

static davit_status tell(story *s, const spreading *c) {
  memcpy(s->a.a, s->before, ORDER * ORDER * sizeof(double));
  memcpy(s->b.a, s->before + ORDER * ORDER, ORDER * SIDES * sizeof(double));
  return s->call(s->a.a, s->b.a, &c->options);
}

/* The n-th passage of a kind of injection, or call of a stream (DVT_INJECTIONS), fails; false if there were fewer. */
static bool fail_once(story *s, const spreading *c, int kind, int n, int *failures) {
  const bool of_stream = kind == DVT_INJECTIONS;
  if (of_stream)
    atomic_store(&device_calls.until_lost, n);
  else
    dvt_inject((dvt_injection)kind, n);
  const davit_status status = tell(s, c);
  const int left =
      of_stream ? atomic_exchange(&device_calls.until_lost, 0) : dvt_inject((dvt_injection)kind, 0);
  *failures += status != DAVIT_SUCCESS;
  assert_true(left == 0 || status == DAVIT_SUCCESS);
  if (!atomic_exchange(&starved, false) && status == DAVIT_SUCCESS) {
    expect_as_whole("after a failure, A", &s->a, c, 1e-12);
    expect_as_whole("after a failure, B", &s->b, c, 1e-12);
  }
  return left == 0;
}

static void fail_often(call *f) {
  SCOPE;
  uint64_t seed = 7;
  int failures[DVT_INJECTIONS + 1] = {0};
  const spreading c = {.options = {.devices = devices,
                                   .device_count = spread < 2 ? spread : 2,
                                   .block = 8,
                                   .cache_bytes = (size_t)1 << 28,
                                   .separate_memory = true}};
  story s = {f, {ORDER, ORDER, ORDER, NULL, NULL}, {ORDER, SIDES, ORDER, NULL, NULL}, {0}};
  s.a.a = kept(ORDER * ORDER * sizeof(double));
  s.b.a = kept(ORDER * SIDES * sizeof(double));
  for (int i = 0; i < COUNT(s.before); i++)
    s.before[i] = random_unit(&seed);
  CHECK(tell(&s, &c));
  s.a.whole = memcpy(kept(ORDER * ORDER * sizeof(double)), s.a.a, ORDER * ORDER * sizeof(double));
  s.b.whole = memcpy(kept(ORDER * SIDES * sizeof(double)), s.b.a, ORDER * SIDES * sizeof(double));
  for (int kind = 0; kind <= DVT_INJECTIONS; kind++)
    for (int n = 1; kind != DVT_INJECT_UNPACK && (left_out() || fail_once(&s, &c, kind, n, &failures[kind]));
         n++) {
    }
  assert_true(failures[DVT_INJECT_HOST_MEMORY] > 0 && failures[DVT_INJECT_RUN] > 0 &&
              failures[DVT_INJECTIONS] > 0);
  CHECK(tell(&s, &c));
}

/* Allocations, steps and calls of a stream fail: a status, no hang, and the next call works. */
CASE(test_failures) {
  call *const calls[] = {factor_in_slabs, solve_with_lu, solve_with_qr, make_q};
  for (int i = 0; i < COUNT(calls); i++)
    fail_often(calls[i]);
}

int main(void) {
  return run_cases(give_streams, finalize);
}
