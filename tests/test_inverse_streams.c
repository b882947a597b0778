/* SPDX-License-Identifier: Apache-2.0 */
/* Inverses on devices with streams, without a GPU: as test_solve_streams. Every wait for a stream counts: of the host
 * for a diagonal or a block, and of what is computed for a block that the host gives back. */
#include "tests/stream_blas.h"

#undef DAVIT_WITH_CUDA /* triangles that cuSOLVER inverts on a GPU */
#include "offload/factored.h"
#include "offload/inverse_stream.c"
#include "offload/refine.h"
#include "offload/solve.h"
#include "ref/inverse.h"

/* ---- stands in for offload/blas_stream.c and solve_stream.c ---- */

LEVEL3_STANDS_IN

davit_status dvt_potrf_stream(const dvt_site *site, const void *potrf) {
  return dvt_level3_stream(site, potrf); /* nobody's */
}

davit_status dvt_solve_prepare(const dvt_site *site) {
  return dvt_blas_prepare(site);
}

NO_FORM(add)
NO_FORM(getrf)
NO_FORM(getrs)
NO_FORM(geqrf)
NO_FORM(ormqr)
NO_FORM(orgqr)
NO_FORM(reflect)
NO_FORM(reflector)
NO_FORM(adjoint)
NO_FORM(refine)

/* ---- cases ---- */

typedef struct problem {
  dvt_inverse arguments;
  double *a, *expected;
  int *ipiv, info;
} problem;

/* The inverse by the host form, of every third matrix none. */
static problem problem_new(uint64_t *seed) {
  const dvt_site site = {.device = DAVIT_HOST, .threads = 1};
  const int64_t n = 1 + random_below(seed, 400), ld = n + random_below(seed, 3);
  const size_t bytes = (size_t)(n * ld) * sizeof(double);
  problem p = {.a = kept_at(bytes, random_below(seed, 2) ? DAVIT_PAGEABLE : DAVIT_PINNED),
               .expected = kept(bytes),
               .ipiv = kept((size_t)n * sizeof(int))};
  for (int64_t i = 0; i < n * ld; i++)
    p.a[i] = random_unit(seed) / 8;
  for (int64_t i = 0; i < n; i++) {
    p.a[i + i * ld] = 2 + random_unit(seed);
    p.ipiv[i] = (int)i + 1 + random_below(seed, (int)(n - i));
  }
  const int at = random_below(seed, (int)n);
  if (random_below(seed, 3) == 0)
    p.a[at + at * ld] = 0;
  p.arguments = (dvt_inverse){.kind = (dvt_inverse_kind)random_below(seed, DVT_INVERSES),
                              .type = DAVIT_DOUBLE,
                              .uplo = random_below(seed, 2) ? 'L' : 'U',
                              .diag = 'N',
                              .n = n,
                              .a = memcpy(p.expected, p.a, bytes),
                              .lda = ld,
                              .ipiv = p.ipiv,
                              .info = &p.info};
  if (p.arguments.kind == DVT_GETRI)
    p.arguments.uplo = 'U';
  p.arguments.scratch = kept(dvt_inverse_scratch(&p.arguments, DVT_INVERSE_COLUMNS));
  CHECK(dvt_inverse_host(&site, &p.arguments));
  return p;
}

static void expect(const problem *p, const char *what, int count) {
  const dvt_inverse *g = &p->arguments;
  for (int64_t i = 0; i < g->n * g->lda; i++)
    if (!(fabs(p->a[i] - p->expected[i]) <= 1e-11 * (1 + fabs(p->expected[i]))))
      fail_msg("%s, kind %d, n %lld, %d devices, %c: element %lld is %g in place of %g", what, (int)g->kind,
               (long long)g->n, count, g->uplo, (long long)i, p->a[i], p->expected[i]);
}

static void try_plain(uint64_t *seed) {
  SCOPE;
  problem p = problem_new(seed);
  const dvt_inverse *g = &p.arguments;
  davit_solve_report report;
  const int count = 1 + random_below(seed, spread);
  const davit_solve_options options = {.devices = devices,
                                       .device_count = count,
                                       .block = 16 << random_below(seed, 4),
                                       .cache_bytes = random_below(seed, 2) ? (size_t)1 << 28 : 1 << 20,
                                       .separate_memory = true,
                                       .report = &report};
  const davit_status status = g->kind == DVT_TRTRI   ? davit_dtrtri(g->uplo, 'N', g->n, p.a, g->lda, &options)
                              : g->kind == DVT_POTRI ? davit_dpotri(g->uplo, g->n, p.a, g->lda, &options)
                                                     : davit_dgetri(g->n, p.a, g->lda, p.ipiv, &options);
  assert_int_equal(report.failed, p.info);
  assert_int_equal(status, p.info ? DAVIT_SINGULAR : DAVIT_SUCCESS);
  expect(&p, "plain", count);
}

static void drop_queue(void *queue) {
  CHECK(davit_queue_destroy(queue));
}

/* What is enqueued before it is there when the diagonal is looked at, and what comes behind it finds the inverse. */
static void try_queue(uint64_t *seed) {
  SCOPE;
  problem p = problem_new(seed);
  const dvt_inverse *g = &p.arguments;
  const size_t bytes = (size_t)(g->n * g->lda) * sizeof *p.a;
  double *there = kept_at(bytes, devices[0]);
  int info = -1;
  davit_queue *queue;
  CHECK(davit_queue_create(devices[0], &queue, NULL));
  keep(queue, drop_queue);
  CHECK(davit_queue_copy(queue, bytes, p.a, there));
  CHECK(g->kind == DVT_TRTRI   ? davit_queue_dtrtri(queue, g->uplo, 'N', g->n, there, g->lda, &info, NULL)
        : g->kind == DVT_POTRI ? davit_queue_dpotri(queue, g->uplo, g->n, there, g->lda, &info, NULL)
                               : davit_queue_dgetri(queue, g->n, there, g->lda, p.ipiv, &info, NULL));
  CHECK(davit_queue_copy(queue, bytes, there, p.a));
  CHECK(davit_queue_synchronize(queue));
  assert_int_equal(info, p.info);
  expect(&p, "queue", 1);
}

CASE(test_random) {
  uint64_t seed = 1;
  for (int trial = 0; trial < scaled(60); trial++) {
    try_plain(&seed);
    try_queue(&seed);
  }
}

int main(void) {
  return run_cases(give_streams, finalize);
}
