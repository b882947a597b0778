/* SPDX-License-Identifier: Apache-2.0 */
/* Cholesky's factorisation by blocks on devices with streams, without a GPU: as test_gemm_streams. Every wait between
 * streams counts: a block that is updated before a panel has come, or loaded over one that is still read, is wrong. */
#include "tests/stream_blas.h"

#include "offload/solve.h"

/* ---- stands in for offload/blas_stream.c and solve_stream.c ---- */

typedef struct work {
  bool factors;
  dvt_level3 level3;
  dvt_potrf potrf;
} work;

static void run_work(void *argument) {
  const dvt_site site = {.device = DAVIT_HOST, .threads = 1};
  work *w = argument;
  w->factors ? dvt_potrf_host(&site, &w->potrf) : dvt_level3_host(&site, &w->level3);
  free(w);
}

static davit_status push_work(const dvt_site *site, work given) {
  DVT_TRY(device_call());
  work *w = malloc(sizeof *w);
  *w = given;
  push(site->stream, (item){.run = run_work, .argument = w});
  return DAVIT_SUCCESS;
}

davit_status dvt_level3_stream(const dvt_site *site, const void *level3) {
  return push_work(site, (work){.level3 = *(const dvt_level3 *)level3});
}

davit_status dvt_potrf_stream(const dvt_site *site, const void *potrf) {
  return push_work(site, (work){.factors = true, .potrf = *(const dvt_potrf *)potrf});
}

davit_status dvt_solve_prepare(const dvt_site *site) {
  return dvt_blas_prepare(site);
}

NO_FORM(add)

/* ---- cases ---- */

static double *random_matrix(int64_t n, int64_t ld, uint64_t *seed, int place) {
  double *a = kept_at((size_t)(n * ld) * sizeof *a, place);
  for (int64_t i = 0; i < n * ld; i++)
    a[i] = random_unit(seed);
  for (int64_t i = 0; i < n; i++)
    a[i + i * ld] = 2 * (double)n;
  return a;
}

/* Against the whole by the host form; what both leave alone is equal, too. */
static void try_random(uint64_t *seed) {
  SCOPE;
  const int64_t n = 1 + random_below(seed, 400), ld = n + random_below(seed, 3),
                block = 8 << random_below(seed, 4);
  const int bad = random_below(seed, 4) ? -1 : random_below(seed, (int)n),
            count = 1 + random_below(seed, spread);
  const char uplo = random_below(seed, 2) ? 'L' : 'U';
  double *a = random_matrix(n, ld, seed, random_below(seed, 2) ? DAVIT_PAGEABLE : DAVIT_PINNED),
         *whole = kept((size_t)(n * ld) * sizeof *whole);
  davit_solve_report report;
  davit_solve_options options = {.devices = devices,
                                 .device_count = count,
                                 .block = block,
                                 .cache_bytes = (size_t)1 << 28,
                                 .separate_memory = true,
                                 .report = &report};
  if (random_below(seed, 2)) /* slots, and some blocks */
    options.cache_bytes =
        (size_t)(4 + random_below(seed, 6)) * (((size_t)(n * block) * sizeof(double) + 4095) & ~(size_t)4095);
  if (bad >= 0)
    a[bad + bad * ld] = -1;
  memcpy(whole, a, (size_t)(n * ld) * sizeof *a);
  int info;
  const dvt_site site = {.device = DAVIT_HOST, .threads = 1};
  CHECK(dvt_potrf_host(&site, &(dvt_potrf){DAVIT_DOUBLE, uplo, n, whole, ld, &info, false}));
  assert_int_equal(info, bad + 1);
  const davit_status status = davit_dpotrf(uplo, n, a, ld, &options);
  assert_int_equal(report.failed, info);
  if (bad >= 0) {
    assert_int_equal(status, DAVIT_NOT_POSITIVE_DEFINITE);
    return;
  }
  CHECK(status);
  for (int64_t i = 0; i < n * ld; i++)
    if (!(fabs(a[i] - whole[i]) <= 1e-12 * (double)n))
      fail_msg("n %lld, block %lld, %d devices, %zu bytes, %c: element %lld is %g in place of %g",
               (long long)n, (long long)block, count, options.cache_bytes, uplo, (long long)i, a[i],
               whole[i]);
}

CASE(test_random) {
  uint64_t seed = 1;
  for (int trial = 0; trial < scaled(100); trial++)
    try_random(&seed);
}

int main(void) {
  return run_cases(give_streams, finalize);
}
