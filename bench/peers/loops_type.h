/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of loops.c for one type; included there with
 *
 *   NAME(stem)   the name for this type
 *   T            the type, WRAPPING the type that its additions wrap around in
 *   SYRK         the reference's product of a matrix and its transpose, for floating types */

BEST static T NAME(sum)(int64_t n, const T *x) {
  WRAPPING sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; i++)
    sum += (WRAPPING)x[i];
  return (T)sum;
}

BEST static T NAME(least)(int64_t n, const T *x) {
  T least = x[0];
#pragma omp simd reduction(min : least)
  for (int64_t i = 1; i < n; i++)
    least = x[i] < least ? x[i] : least;
  return least;
}

BEST static T NAME(greatest)(int64_t n, const T *x) {
  T greatest = x[0];
#pragma omp simd reduction(max : greatest)
  for (int64_t i = 1; i < n; i++)
    greatest = x[i] > greatest ? x[i] : greatest;
  return greatest;
}

static T NAME(fold)(davit_operator op, int64_t n, const T *x) {
  return op == DAVIT_MIN ? NAME(least)(n, x) : op == DAVIT_MAX ? NAME(greatest)(n, x) : NAME(sum)(n, x);
}

/* n is at least the number of threads. */
static void NAME(reduce)(davit_operator op, int64_t n, const T *x, T *result) {
  T parts[MOST_THREADS];
  int used = 1;
#pragma omp parallel num_threads(threads_for(n))
  {
    int mine = omp_get_thread_num(), threads = omp_get_num_threads();
    int64_t begin = cut(n, mine, threads);
    parts[mine] = NAME(fold)(op, cut(n, mine + 1, threads) - begin, x + begin);
#pragma omp single
    used = threads;
  }
  *result = NAME(fold)(op, used, parts);
}

/* The sum since the last head, and whether there was one. */
static T NAME(tail)(int64_t n, const T *x, const uint8_t *flags, bool *head) {
  *head = false;
  if (!flags)
    return NAME(sum)(n, x);
  WRAPPING run = 0;
  for (int64_t i = 0; i < n; i++) {
    run = (flags[i] ? 0 : run) + (WRAPPING)x[i];
    *head |= flags[i] != 0;
  }
  return (T)run;
}

static void NAME(run)(davit_scan_kind kind, int64_t n, const T *x, const uint8_t *flags, WRAPPING run, T *y) {
  for (int64_t i = 0; i < n; i++) {
    WRAPPING before = flags && flags[i] ? 0 : run;
    run = before + (WRAPPING)x[i];
    y[i] = (T)(kind == DAVIT_SCAN_INCLUSIVE ? run : before);
  }
}

static void NAME(scan)(davit_scan_kind kind, int64_t n, const T *x, const uint8_t *flags, T *y) {
  T tails[MOST_THREADS];
  bool heads[MOST_THREADS];
#pragma omp parallel num_threads(threads_for(n))
  {
    int mine = omp_get_thread_num(), threads = omp_get_num_threads();
    int64_t begin = cut(n, mine, threads), count = cut(n, mine + 1, threads) - begin;
    const uint8_t *here = flags ? flags + begin : NULL;
    WRAPPING offset = 0;
    if (threads > 1)
      tails[mine] = NAME(tail)(count, x + begin, here, &heads[mine]);
#pragma omp barrier
    for (int i = 0; i < mine; i++)
      offset = (heads[i] ? 0 : offset) + (WRAPPING)tails[i];
    NAME(run)(kind, count, x + begin, here, offset, y + begin);
  }
}

#ifdef SYRK
BEST static void NAME(stencil_column)(int64_t rows, const T *a, int64_t lda, const T *c, T *b) {
  const T *l = a - lda, *r = a + lda;
#pragma omp simd
  for (int64_t i = 1; i < rows - 1; i++)
    b[i] = c[0] * l[i - 1] + c[1] * l[i] + c[2] * l[i + 1] + c[3] * a[i - 1] + c[4] * a[i] + c[5] * a[i + 1] +
           c[6] * r[i - 1] + c[7] * r[i] + c[8] * r[i + 1];
}

static void NAME(stencil)(int64_t rows, int64_t cols, const T *a, int64_t lda, const double *coefficients,
                          T *b, int64_t ldb) {
  T c[9];
  for (int i = 0; i < 9; i++)
    c[i] = (T)coefficients[i];
  int threads = threads_for(rows * cols);
#pragma omp parallel for num_threads(threads)
  for (int64_t j = 1; j < cols - 1; j++)
    NAME(stencil_column)(rows, a + j * lda, lda, c, b + j * ldb);
}

BEST static T NAME(dot)(int64_t n, const T *x, const T *y) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; i++)
    sum += x[i] * y[i];
  return sum;
}

BEST static void NAME(axpy)(int64_t n, T factor, const T *x, T *y) {
#pragma omp simd
  for (int64_t i = 0; i < n; i++)
    y[i] += factor * x[i];
}

/* Each thread adds its columns up in m elements of `own`. For 'T' a column's factor is its product with x,
 * found just before; for 'N' the products with tmp follow when tmp is whole. */
static void NAME(atax)(bool transposed, int64_t m, int64_t n, const T *a, int64_t lda, const T *x, T *tmp,
                       T *y, T *own) {
  T *sums = transposed ? y : tmp;
#pragma omp parallel num_threads(threads_for(m *n))
  {
    int mine = omp_get_thread_num(), threads = omp_get_num_threads();
    int64_t first = cut(n, mine, threads), last = cut(n, mine + 1, threads);
    int64_t begin = cut(m, mine, threads), count = cut(m, mine + 1, threads) - begin;
    T *part = own + m * mine;
    memset(part, 0, (size_t)m * sizeof *part);
    for (int64_t j = first; j < last; j++) {
      T factor = transposed ? NAME(dot)(m, a + j * lda, x) : x[j];
      if (transposed)
        tmp[j] = factor;
      NAME(axpy)(m, factor, a + j * lda, part);
    }
    memset(sums + begin, 0, (size_t)count * sizeof *sums);
#pragma omp barrier
    for (int i = 0; i < threads; i++)
      NAME(axpy)(count, 1, own + m * i + begin, sums + begin);
#pragma omp barrier
    for (int64_t j = first; !transposed && j < last; j++)
      y[j] = NAME(dot)(m, a + j * lda, tmp);
  }
}

static void NAME(covariance)(int64_t rows, int64_t cols, const T *d, T *s, T *centred) {
  int threads = threads_for(rows * cols);
#pragma omp parallel for num_threads(threads)
  for (int64_t j = 0; j < cols; j++) {
    T mean = NAME(sum)(rows, d + j * rows) / (T)rows;
    for (int64_t i = 0; i < rows; i++)
      centred[j * rows + i] = d[j * rows + i] - mean;
  }
  dvt_syrk_host(&(dvt_site){.threads = threads},
                &(dvt_syrk){SYRK, 'T', cols, rows, (T)1 / (T)(rows - 1), centred, rows, s, cols});
#pragma omp parallel for num_threads(threads)
  for (int64_t j = 0; j < cols; j++)
    for (int64_t i = 0; i < j; i++)
      s[j * cols + i] = s[i * cols + j];
}
#endif

#undef NAME
#undef T
#undef WRAPPING
#undef SYRK
