/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/study/reduce/cpu.h"

#include <omp.h>
#include <stdlib.h>

#include "bench/study/common/site.h"

/* ---- sequential references ---- */

void study_reference_reduce(study_operator op, int64_t n, const void *x, void *result) {
  const study_monoid *m = study_monoid_of(op);
  uint64_t sum = study_identity(m);
  for (int64_t i = 0; i < n; i++)
    sum = m->combine(sum, study_get(m, x, i));
  study_set(m, result, 0, sum);
}

void study_reference_scan(study_operator op, bool exclusive, int64_t n, const void *x, void *y) {
  const study_monoid *m = study_monoid_of(op);
  uint64_t sum = study_identity(m);
  for (int64_t i = 0; i < n; i++) {
    uint64_t with = m->combine(sum, study_get(m, x, i));
    study_set(m, y, i, exclusive ? sum : with);
    sum = with;
  }
}

void study_reference_segments(bool exclusive, int64_t n, const int32_t *a, const int32_t *segments,
                              int32_t *out) {
  int32_t sum = 0;
  for (int64_t i = 0; i < n; i++) {
    int32_t before = i > 0 && segments[i] == 0 ? sum : 0;
    sum = study_add(before, a[i]);
    out[i] = exclusive ? before : sum;
  }
}

/* ---- sums over the CPU's threads ---- */

enum { MAX_THREADS = 256, PAIR_OF_LINES = 32 /* words; the hardware fetches lines of 64 bytes in pairs */ };

static uint32_t sum_of_partials(int threads, int apart, int64_t n, const int32_t *x) {
  _Alignas(128) volatile uint32_t partials[MAX_THREADS * PAIR_OF_LINES] = {0};
  uint32_t sum = 0;
#pragma omp parallel num_threads(threads)
  {
    volatile uint32_t *own = &partials[omp_get_thread_num() * apart];
#pragma omp for schedule(static)
    for (int64_t i = 0; i < n; i++)
      *own += (uint32_t)x[i];
  }
  for (int t = 0; t < threads; t++)
    sum += partials[t * apart];
  return sum;
}

int32_t study_cpu_sum(study_cpu_form form, int threads, int64_t n, const int32_t *x) {
  threads = threads < MAX_THREADS ? threads : MAX_THREADS;
  if (form != STUDY_CPU_CLAUSE)
    return (int32_t)sum_of_partials(threads, form == STUDY_CPU_PADDED ? PAIR_OF_LINES : 1, n, x);
  uint32_t sum = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : sum)
  for (int64_t i = 0; i < n; i++)
    sum += (uint32_t)x[i];
  return (int32_t)sum;
}

/* ---- declare reduction ---- */

#pragma omp declare reduction(minimum:int32_t : omp_out = omp_in < omp_out ? omp_in : omp_out)               \
    initializer(omp_priv = INT32_MAX)
#pragma omp declare reduction(maximum:int32_t : omp_out = omp_in > omp_out ? omp_in : omp_out)               \
    initializer(omp_priv = INT32_MIN)

int32_t study_cpu_min(int threads, int64_t n, const int32_t *x) {
  int32_t result = INT32_MAX;
#pragma omp parallel for num_threads(threads) reduction(minimum : result)
  for (int64_t i = 0; i < n; i++)
    result = x[i] < result ? x[i] : result;
  return result;
}

int32_t study_cpu_max(int threads, int64_t n, const int32_t *x) {
  int32_t result = INT32_MIN;
#pragma omp parallel for num_threads(threads) reduction(maximum : result)
  for (int64_t i = 0; i < n; i++)
    result = x[i] > result ? x[i] : result;
  return result;
}

#define ONE ((study_matrix){{{1, 0}, {0, 1}}})

study_matrix study_matrix_product(study_matrix left, study_matrix right) {
  study_matrix product = {{{0, 0}, {0, 0}}};
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      for (int k = 0; k < 2; k++)
        product.at[i][j] += left.at[i][k] * right.at[k][j];
  return product;
}

#pragma omp declare reduction(product:study_matrix : omp_out = study_matrix_product(omp_out, omp_in))        \
    initializer(omp_priv = ONE)

study_matrix study_cpu_product(int threads, int64_t n, const study_matrix *x) {
  study_matrix result = ONE;
#pragma omp parallel for num_threads(threads) reduction(product : result)
  for (int64_t i = 0; i < n; i++)
    result = study_matrix_product(result, x[i]);
  return result;
}

study_matrix study_cpu_product_in_order(int threads, int64_t n, const study_matrix *x) {
  study_matrix partials[MAX_THREADS], result = ONE;
  threads = threads < MAX_THREADS ? threads : MAX_THREADS;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int part = 0; part < threads; part++) {
    study_matrix own = ONE;
    int64_t end = study_part_begin(n, threads, part + 1);
    for (int64_t i = study_part_begin(n, threads, part); i < end; i++)
      own = study_matrix_product(own, x[i]);
    partials[part] = own;
  }
  for (int part = 0; part < threads; part++)
    result = study_matrix_product(result, partials[part]);
  return result;
}

/* ---- p workers ---- */

static uint64_t combine(const study_monoid *m, uint64_t left, uint64_t right, int64_t *count) {
  ++*count;
  return m->combine(left, right);
}

bool study_workers_reduce(study_operator op, int64_t p, int64_t n, const void *x, void *result,
                          study_work *work) {
  const study_monoid *m = study_monoid_of(op);
  *work = (study_work){0, 0};
  p = p < n ? p : n;
  if (p < 1) {
    study_set(m, result, 0, study_identity(m));
    return true;
  }
  uint64_t *sums = malloc((size_t)p * sizeof *sums);
  if (!sums)
    return false;
  int64_t combinations = 0;
#pragma omp parallel for reduction(+ : combinations) schedule(static)
  for (int64_t k = 0; k < p; k++) {
    int64_t i = study_part_begin(n, p, k), end = study_part_begin(n, p, k + 1);
    sums[k] = study_get(m, x, i);
    while (++i < end)
      sums[k] = combine(m, sums[k], study_get(m, x, i), &combinations);
  }
  work->depth = n / p + (n % p != 0) - 1; /* the first part is the longest */
  for (int64_t apart = 1; apart < p; apart *= 2, work->depth++)
    for (int64_t k = 0; k + apart < p; k += 2 * apart)
      sums[k] = combine(m, sums[k], sums[k + apart], &combinations);
  work->combinations = combinations;
  study_set(m, result, 0, sums[0]);
  free(sums);
  return true;
}

/* Worker k's part: its own scan, in place of which y is; returns what goes to the workers after it. */
static uint64_t scan_part(const study_monoid *m, int64_t first, int64_t end, const void *x, void *y,
                          int64_t *combinations) {
  uint64_t sum = study_get(m, x, first);
  study_set(m, y, first, sum);
  for (int64_t i = first + 1; i < end; i++) {
    sum = combine(m, sum, study_get(m, x, i), combinations);
    study_set(m, y, i, sum);
  }
  return sum;
}

/* `before` to the left of the part; from its end, so that the exclusive form can take the element before. */
static void shift_part(const study_monoid *m, bool exclusive, int64_t first, int64_t end, uint64_t before,
                       void *y, int64_t *combinations) {
  for (int64_t i = end - 1; i >= first; i--) {
    int64_t from = exclusive ? i - 1 : i;
    study_set(m, y, i, from < first ? before : combine(m, before, study_get(m, y, from), combinations));
  }
}

bool study_workers_scan(study_operator op, bool exclusive, int64_t p, int64_t n, const void *x, void *y,
                        study_work *work) {
  const study_monoid *m = study_monoid_of(op);
  *work = (study_work){0, 0};
  p = p < n ? p : n;
  if (p < 1)
    return true;
  uint64_t *sums = malloc((size_t)p * sizeof *sums), before = study_identity(m);
  if (!sums)
    return false;
  int64_t combinations = 0;
#pragma omp parallel for reduction(+ : combinations) schedule(static)
  for (int64_t k = 0; k < p; k++)
    sums[k] = scan_part(m, study_part_begin(n, p, k), study_part_begin(n, p, k + 1), x, y, &combinations);
  for (int64_t k = 0; k < p; k++) {
    uint64_t sum = sums[k];
    sums[k] = before;
    before = combine(m, before, sum, &combinations);
  }
#pragma omp parallel for reduction(+ : combinations) schedule(static)
  for (int64_t k = 0; k < p; k++)
    shift_part(m, exclusive, study_part_begin(n, p, k), study_part_begin(n, p, k + 1), sums[k], y,
               &combinations);
  int64_t longest = n / p + (n % p != 0);
  *work = (study_work){combinations, 2 * longest - 1 + p};
  free(sums);
  return true;
}
