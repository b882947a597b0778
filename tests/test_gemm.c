/* The tiled product against BLIS, by the bound of SLATE's testers,
 *
 *   ||C - Cref||_F <= 3 eps (sqrt(k + 2) |alpha| ||A||_F ||B||_F + 2 |beta| ||C0||_F),
 *
 * over sizes round tile edges, all transposes, scalars, placements, numbers of devices and caches too small for the
 * matrices; what must stay untouched is compared byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <davit/davit.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/blas.h"
#include "ref/ref.h"

enum { GUARD = 5, MOST_DEVICES = 4 };
enum { HOST_PAGEABLE, HOST_PINNED, FIRST_DEVICE, LAST_DEVICE, PLACES };

typedef struct matrix {
  int64_t rows, cols, ld;
  size_t bytes;
  void *host; /* what the matrix held at first */
  void *data; /* where the product finds it */
} matrix;

typedef struct problem {
  char type, transa, transb;
  int64_t m, n, k, extra_ld;
  double alpha, beta;
  int place[3]; /* of a, b, c */
  davit_gemm_options options;
  matrix a, b, c;
} problem;

static int device_count;
static int devices[MOST_DEVICES];

static void check(davit_status status) {
  if (status != DAVIT_SUCCESS)
    fail_msg("%s", davit_last_error());
}

static int find_devices(void **state) {
  (void)state;
  check(davit_device_defaults(MOST_DEVICES, devices, &device_count));
  device_count = device_count < MOST_DEVICES ? device_count : MOST_DEVICES;
  return 0;
}

static size_t element(char type) {
  return type == 'd' ? sizeof(double) : sizeof(float);
}

static int place_number(int place) {
  return place == HOST_PAGEABLE  ? DAVIT_PAGEABLE
         : place == HOST_PINNED  ? DAVIT_PINNED
         : place == FIRST_DEVICE ? devices[0]
                                 : devices[device_count - 1];
}

/* Random numbers in [-0.5, 0.5) everywhere, the space between the columns included. */
static matrix make(char type, int64_t rows, int64_t cols, int64_t extra_ld, int place, uint64_t seed) {
  matrix x = {rows, cols, (rows > 0 ? rows : 1) + extra_ld, 0, NULL, NULL};
  int64_t count = x.ld * cols + GUARD;
  x.bytes = (size_t)count * element(type);
  x.host = malloc(x.bytes);
  assert_non_null(x.host);
  check(type == 'd' ? davit_random(DAVIT_DOUBLE, count, seed, x.host)
                    : davit_random(DAVIT_FLOAT, count, seed, x.host));
  for (int64_t i = 0; i < count; i++)
    if (type == 'd')
      ((double *)x.host)[i] -= 0.5;
    else
      ((float *)x.host)[i] -= 0.5f;
  check(davit_malloc(x.bytes, place_number(place), &x.data));
  check(davit_copy(x.bytes, x.host, x.data));
  return x;
}

static void drop(matrix *x) {
  check(davit_free(x->data));
  free(x->host);
}

static double at(char type, const void *x, int64_t i) {
  return type == 'd' ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static double frobenius(char type, const matrix *x, const void *content) {
  double sum = 0;
  for (int64_t j = 0; j < x->cols; j++)
    for (int64_t i = 0; i < x->rows; i++)
      sum += at(type, content, i + j * x->ld) * at(type, content, i + j * x->ld);
  return sqrt(sum);
}

static void prepare(problem *p) {
  bool na = p->transa == 'N', nb = p->transb == 'N';
  p->a = make(p->type, na ? p->m : p->k, na ? p->k : p->m, p->extra_ld, p->place[0], 1);
  p->b = make(p->type, nb ? p->k : p->n, nb ? p->n : p->k, p->extra_ld, p->place[1], 2);
  p->c = make(p->type, p->m, p->n, p->extra_ld, p->place[2], 3);
}

static davit_status run(problem *p) {
  if (p->type == 'd')
    return davit_dgemm(p->transa, p->transb, p->m, p->n, p->k, p->alpha, p->a.data, p->a.ld, p->b.data,
                       p->b.ld, p->beta, p->c.data, p->c.ld, &p->options);
  return davit_sgemm(p->transa, p->transb, p->m, p->n, p->k, (float)p->alpha, p->a.data, p->a.ld, p->b.data,
                     p->b.ld, (float)p->beta, p->c.data, p->c.ld, &p->options);
}

static void reference(const problem *p, void *c) {
  if (p->type == 'd')
    dvt_gemm_host(&(dvt_site){.threads = 1},
                  &(dvt_gemm){DAVIT_DOUBLE, p->transa, p->transb, p->m, p->n, p->k, p->alpha, p->a.host,
                              p->a.ld, p->b.host, p->b.ld, p->beta, c, p->c.ld});
  else
    dvt_gemm_host(&(dvt_site){.threads = 1},
                  &(dvt_gemm){DAVIT_FLOAT, p->transa, p->transb, p->m, p->n, p->k, (float)p->alpha, p->a.host,
                              p->a.ld, p->b.host, p->b.ld, (float)p->beta, c, p->c.ld});
}

static void *fetched(const matrix *x) {
  void *copy = malloc(x->bytes);
  assert_non_null(copy);
  check(davit_copy(x->bytes, x->data, copy));
  return copy;
}

static void assert_untouched(const matrix *x) {
  void *now = fetched(x);
  assert_memory_equal(now, x->host, x->bytes);
  free(now);
}

/* The bytes of C below its rows and behind its columns. */
static void assert_gaps_untouched(const problem *p, const void *now) {
  size_t size = element(p->type);
  const char *is = now, *was = p->c.host;
  for (int64_t j = 0; j < p->n; j++) {
    size_t gap = (size_t)(p->m + j * p->c.ld) * size;
    assert_memory_equal(is + gap, was + gap, (size_t)(p->c.ld - p->m) * size);
  }
  assert_memory_equal(is + p->c.bytes - GUARD * size, was + p->c.bytes - GUARD * size, GUARD * size);
}

static void assert_result(const problem *p) {
  void *now = fetched(&p->c), *expected = malloc(p->c.bytes);
  assert_non_null(expected);
  memcpy(expected, p->c.host, p->c.bytes);
  reference(p, expected);
  double error = 0, eps = p->type == 'd' ? DBL_EPSILON : (double)FLT_EPSILON;
  for (int64_t j = 0; j < p->n; j++)
    for (int64_t i = 0; i < p->m; i++) {
      double d = at(p->type, now, i + j * p->c.ld) - at(p->type, expected, i + j * p->c.ld);
      error += d * d;
    }
  double c0 = p->beta == 0 ? 0 : 2 * fabs(p->beta) * frobenius(p->type, &p->c, p->c.host);
  double product =
      p->alpha == 0 ? 0 : frobenius(p->type, &p->a, p->a.host) * frobenius(p->type, &p->b, p->b.host);
  double bound = 3 * eps * (sqrt((double)p->k + 2) * fabs(p->alpha) * product + c0);
  if (!(sqrt(error) <= bound))
    fail_msg("%cgemm %c%c m %lld n %lld k %lld tile %lld devices %d: error %g above %g", p->type, p->transa,
             p->transb, (long long)p->m, (long long)p->n, (long long)p->k, (long long)p->options.tile,
             p->options.device_count, sqrt(error), bound);
  assert_gaps_untouched(p, now);
  free(now);
  free(expected);
}

static void drop_all(problem *p) {
  drop(&p->a);
  drop(&p->b);
  drop(&p->c);
}

static void run_and_check(problem p) {
  davit_gemm_report report;
  p.options.report = &report;
  prepare(&p);
  check(run(&p));
  assert_result(&p);
  assert_untouched(&p.a);
  assert_untouched(&p.b);
  drop_all(&p);
}

static problem basic(char type, int64_t m, int64_t n, int64_t k) {
  return (problem){.type = type,
                   .transa = 'N',
                   .transb = 'N',
                   .m = m,
                   .n = n,
                   .k = k,
                   .extra_ld = 3,
                   .alpha = 0.7,
                   .beta = -1,
                   .options = {.devices = devices, .device_count = device_count, .tile = 64}};
}

/* ---- results ---- */

static void test_sizes_round_tile_edges(void **state) {
  (void)state;
  static const int64_t sizes[] = {1, 2, 31, 63, 64, 65, 131};
  enum { COUNT = sizeof sizes / sizeof *sizes };
  for (int i = 0; i < COUNT; i++)
    for (int j = 0; j < COUNT; j++)
      for (int l = 0; l < COUNT; l++) {
        problem p = basic((i + j + l) % 3 ? 'd' : 's', sizes[i], sizes[j], sizes[l]);
        p.options.separate_memory = (i + j) % 2;
        run_and_check(p);
      }
}

static void test_primes_and_transposes(void **state) {
  (void)state;
  static const char letters[] = "NTCntc";
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) {
      problem p = basic(j % 2 ? 'd' : 's', 289, 307, 353);
      p.transa = i % 3 ? 'T' : 'N'; /* as the reference takes them */
      p.transb = j % 3 ? 'T' : 'N';
      p.options.separate_memory = true;
      prepare(&p);
      problem spelled = p;
      spelled.transa = letters[i];
      spelled.transb = letters[j];
      check(run(&spelled));
      assert_result(&p);
      drop_all(&p);
    }
}

static void test_scalars(void **state) {
  (void)state;
  static const double scalars[] = {0, 1, -1, 0.7};
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      for (int separate = 0; separate < 2; separate++) {
        problem p = basic(separate ? 'd' : 's', 130, 67, 100);
        p.alpha = scalars[i];
        p.beta = scalars[j];
        p.options.separate_memory = separate;
        run_and_check(p);
      }
}

static void poison(const problem *p, matrix *x) {
  for (int64_t j = 0; j < x->cols; j++)
    for (int64_t i = 0; i < x->rows; i++)
      if (p->type == 'd')
        ((double *)x->host)[i + j * x->ld] = NAN;
      else
        ((float *)x->host)[i + j * x->ld] = NAN;
  check(davit_copy(x->bytes, x->host, x->data));
}

static void test_beta_zero_does_not_read_c(void **state) {
  (void)state;
  for (int separate = 0; separate < 2; separate++) {
    problem p = basic("ds"[separate], 100, 90, 80);
    p.beta = 0;
    p.options.separate_memory = separate;
    prepare(&p);
    poison(&p, &p.c);
    check(run(&p));
    assert_result(&p);
    drop_all(&p);
  }
}

static void test_alpha_zero_does_not_read_a_and_b(void **state) {
  (void)state;
  for (int separate = 0; separate < 2; separate++) {
    problem p = basic("ds"[separate], 100, 90, 80);
    p.alpha = 0;
    p.options.separate_memory = separate;
    prepare(&p);
    poison(&p, &p.a);
    poison(&p, &p.b);
    check(run(&p));
    assert_result(&p);
    drop_all(&p);
  }
}

static void test_zero_sizes(void **state) {
  (void)state;
  for (int which = 0; which < 3; which++) {
    problem p = basic('d', which == 0 ? 0 : 70, which == 1 ? 0 : 70, which == 2 ? 0 : 70);
    p.options.separate_memory = true;
    run_and_check(p);
  }
}

static void test_placements(void **state) {
  (void)state;
  for (int a = 0; a < PLACES; a++)
    for (int b = 0; b < PLACES; b++)
      for (int c = 0; c < PLACES; c++) {
        problem p = basic((a + b + c) % 2 ? 'd' : 's', 200, 150, 170);
        p.place[0] = a;
        p.place[1] = b;
        p.place[2] = c;
        p.options.separate_memory = (a + b) % 2;
        run_and_check(p);
      }
}

static void test_device_counts(void **state) {
  (void)state;
  for (int count = 1; count <= device_count; count++)
    for (int64_t tile = 32; tile <= 512; tile *= 4) {
      problem p = basic('d', 300, 260, 180);
      p.options.device_count = count;
      p.options.tile = tile;
      p.options.separate_memory = true;
      run_and_check(p);
    }
}

/* The CPU itself beside all devices. */
static void test_host_and_devices_together(void **state) {
  (void)state;
  int all[MOST_DEVICES + 1] = {DAVIT_HOST};
  memcpy(all + 1, devices, sizeof devices);
  problem p = basic('d', 310, 280, 190);
  p.options.devices = all;
  p.options.device_count = device_count + 1;
  run_and_check(p);
}

static void test_small_caches_evict(void **state) {
  (void)state;
  const int64_t tile = 64;
  int64_t evictions = 0;
  for (int slots = 3; slots < 12; slots++)
    for (int trans = 0; trans < 4; trans++) {
      davit_gemm_report report;
      problem p = basic(trans % 2 ? 'd' : 's', 400, 330, 500);
      p.transa = trans & 1 ? 'T' : 'N';
      p.transb = trans & 2 ? 'T' : 'N';
      p.options.separate_memory = true;
      p.options.cache_bytes = (size_t)(slots * tile * tile) * element(p.type);
      p.options.report = &report;
      prepare(&p);
      check(run(&p));
      assert_result(&p);
      evictions += report.evictions;
      assert_true(report.cache_bytes <= (int64_t)p.options.cache_bytes * report.device_count);
      drop_all(&p);
    }
  assert_true(evictions > 0);
}

static void test_cache_too_small_is_refused(void **state) {
  (void)state;
  problem p = basic('d', 200, 200, 200);
  p.options.separate_memory = true;
  p.options.cache_bytes = 2 * 64 * 64 * sizeof(double);
  prepare(&p);
  assert_int_equal(run(&p), DAVIT_OUT_OF_DEVICE_MEMORY);
  assert_non_null(strstr(davit_last_error(), "tiles"));
  assert_untouched(&p.c);
  drop_all(&p);
}

static void test_chosen_tile(void **state) {
  (void)state;
  for (int separate = 0; separate < 2; separate++) {
    problem p = basic('d', 700, 650, 600);
    p.options.tile = 0;
    p.options.separate_memory = separate;
    run_and_check(p);
  }
}

static void test_same_call_same_bits(void **state) {
  (void)state;
  for (int slots = 4; slots < 2000; slots *= 20) {
    problem p = basic('d', 500, 480, 520);
    p.options.separate_memory = true;
    p.options.cache_bytes = (size_t)slots * 64 * 64 * sizeof(double);
    prepare(&p);
    check(run(&p));
    void *once = fetched(&p.c);
    for (int repeat = 0; repeat < 5; repeat++) {
      check(davit_copy(p.c.bytes, p.c.host, p.c.data));
      check(run(&p));
      void *again = fetched(&p.c);
      assert_memory_equal(again, once, p.c.bytes);
      free(again);
    }
    free(once);
    drop_all(&p);
  }
}

/* Blocks of one array that lie side by side do not overlap, however their byte ranges mix. */
static void test_blocks_of_one_array(void **state) {
  (void)state;
  enum { N = 96 };
  double *array = malloc(sizeof(double) * 2 * N * 2 * N), *expected = malloc(sizeof(double) * 2 * N * 2 * N);
  assert_non_null(array);
  assert_non_null(expected);
  check(davit_random(DAVIT_DOUBLE, 4 * N * N, 5, array));
  memcpy(expected, array, sizeof(double) * 4 * N * N);
  davit_gemm_options options = {.devices = devices, .device_count = device_count, .tile = 32};
  check(davit_dgemm('N', 'N', N, N, N, -1, array + N, 2 * N, array + 2 * N * N, 2 * N, 1,
                    array + 2 * N * N + N, 2 * N, &options));
  dvt_gemm_host(&(dvt_site){.threads = 1},
                &(dvt_gemm){DAVIT_DOUBLE, 'N', 'N', N, N, N, -1, expected + N, 2 * N, expected + 2 * N * N,
                            2 * N, 1, expected + 2 * N * N + N, 2 * N});
  for (int i = 0; i < 4 * N * N; i++)
    assert_true(fabs(array[i] - expected[i]) < 1e-12);
  free(array);
  free(expected);
}

/* davit's own target regions in place of cuBLAS and BLIS. */
static void test_own_kernels(void **state) {
  (void)state;
  setenv("DAVIT_BLAS", "target", 1);
  for (int trans = 0; trans < 4; trans++) {
    problem p = basic(trans % 2 ? 'd' : 's', 150, 140, 130);
    p.transa = trans & 1 ? 'T' : 'N';
    p.transb = trans & 2 ? 'T' : 'N';
    p.options.separate_memory = true;
    run_and_check(p);
  }
  unsetenv("DAVIT_BLAS");
}

static void test_on_a_queue(void **state) {
  (void)state;
  for (int d = DAVIT_HOST; d < device_count; d++) {
    int device = d == DAVIT_HOST ? DAVIT_HOST : devices[d];
    davit_queue *queue;
    check(davit_queue_create(device, &queue, &(davit_queue_options){.subqueues = 2}));
    for (int trans = 0; trans < 4; trans++) {
      problem p = basic(trans % 2 ? 'd' : 's', 61, 83, 47);
      p.transa = trans & 1 ? 'T' : 'N';
      p.transb = trans & 2 ? 'T' : 'N';
      prepare(&p);
      void *on[3];
      const matrix *x[3] = {&p.a, &p.b, &p.c};
      for (int i = 0; i < 3; i++) {
        check(davit_malloc(x[i]->bytes, device == DAVIT_HOST ? DAVIT_PAGEABLE : device, &on[i]));
        check(davit_queue_copy(queue, x[i]->bytes, x[i]->host, on[i]));
      }
      if (p.type == 'd')
        check(davit_queue_dgemm(queue, p.transa, p.transb, p.m, p.n, p.k, p.alpha, on[0], p.a.ld, on[1],
                                p.b.ld, p.beta, on[2], p.c.ld, NULL));
      else
        check(davit_queue_sgemm(queue, p.transa, p.transb, p.m, p.n, p.k, (float)p.alpha, on[0], p.a.ld,
                                on[1], p.b.ld, (float)p.beta, on[2], p.c.ld, NULL));
      check(davit_queue_copy(queue, p.c.bytes, on[2], p.c.data));
      check(davit_queue_synchronize(queue));
      assert_result(&p);
      for (int i = 0; i < 3; i++)
        check(davit_free(on[i]));
      drop_all(&p);
    }
    check(davit_queue_destroy(queue));
  }
}

/* ---- arguments ---- */

static void assert_refused(davit_status status, davit_status expected, const char *name) {
  assert_int_equal(status, expected);
  if (!strstr(davit_last_error(), name))
    fail_msg("\"%s\" does not name %s", davit_last_error(), name);
}

static void test_bad_arguments(void **state) {
  (void)state;
  enum { N = 8 };
  double a[N * N] = {1}, b[N * N] = {1}, c[N * N], before[N * N];
  for (int i = 0; i < N * N; i++)
    c[i] = before[i] = i;
  const davit_status bad = DAVIT_INVALID_ARGUMENT;
  assert_refused(davit_dgemm('X', 'N', N, N, N, 1, a, N, b, N, 0, c, N, NULL), bad, "transa");
  assert_refused(davit_dgemm('N', 0, N, N, N, 1, a, N, b, N, 0, c, N, NULL), bad, "transb");
  assert_refused(davit_dgemm('N', 'N', -1, N, N, 1, a, N, b, N, 0, c, N, NULL), bad, "m is -1");
  assert_refused(davit_dgemm('N', 'N', N, -2, N, 1, a, N, b, N, 0, c, N, NULL), bad, "n is -2");
  assert_refused(davit_dgemm('N', 'N', N, N, -3, 1, a, N, b, N, 0, c, N, NULL), bad, "k is -3");
  assert_refused(davit_dgemm('N', 'N', N, N, N, 1, a, N - 1, b, N, 0, c, N, NULL), bad, "lda");
  assert_refused(davit_dgemm('N', 'T', N, N, N, 1, a, N, b, N - 1, 0, c, N, NULL), bad, "ldb");
  assert_refused(davit_dgemm('N', 'N', N, N, N, 1, a, N, b, N, 0, c, N - 1, NULL), bad, "ldc");
  assert_refused(davit_dgemm('N', 'N', N, N, N, 1, NULL, N, b, N, 0, c, N, NULL), bad, "a is NULL");
  assert_refused(davit_dgemm('N', 'N', N, N, N, 1, a, N, NULL, N, 0, c, N, NULL), bad, "b is NULL");
  assert_refused(davit_dgemm('N', 'N', N, N, N, 1, a, N, b, N, 0, NULL, N, NULL), bad, "c is NULL");
  assert_refused(davit_dgemm('N', 'N', N, N, N, 1, c, N, b, N, 0, c, N, NULL), bad, "c overlaps a");
  assert_refused(davit_dgemm('N', 'N', N / 2, N / 2, N / 2, 1, a, N, c + 1, N, 0, c, N, NULL), bad,
                 "c overlaps b");
  davit_gemm_options tile = {.tile = -5};
  assert_refused(davit_dgemm('N', 'N', N, N, N, 1, a, N, b, N, 0, c, N, &tile), bad, "tile");
  int wrong[] = {1000}, twice[] = {devices[0], devices[0]};
  davit_gemm_options unknown = {.devices = wrong, .device_count = 1};
  assert_refused(davit_dgemm('N', 'N', N, N, N, 1, a, N, b, N, 0, c, N, &unknown), DAVIT_UNKNOWN_DEVICE,
                 "1000");
  davit_gemm_options doubled = {.devices = twice, .device_count = 2};
  assert_refused(davit_dgemm('N', 'N', N, N, N, 1, a, N, b, N, 0, c, N, &doubled), bad, "twice");
  assert_refused(davit_queue_dgemm(NULL, 'N', 'N', N, N, N, 1, a, N, b, N, 0, c, N, NULL), bad, "queue");
  assert_memory_equal(c, before, sizeof c);
}

static int stop(void **state) {
  (void)state;
  return davit_finalize() == DAVIT_SUCCESS ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes_round_tile_edges),
      cmocka_unit_test(test_primes_and_transposes),
      cmocka_unit_test(test_scalars),
      cmocka_unit_test(test_beta_zero_does_not_read_c),
      cmocka_unit_test(test_alpha_zero_does_not_read_a_and_b),
      cmocka_unit_test(test_zero_sizes),
      cmocka_unit_test(test_placements),
      cmocka_unit_test(test_device_counts),
      cmocka_unit_test(test_host_and_devices_together),
      cmocka_unit_test(test_small_caches_evict),
      cmocka_unit_test(test_cache_too_small_is_refused),
      cmocka_unit_test(test_chosen_tile),
      cmocka_unit_test(test_same_call_same_bits),
      cmocka_unit_test(test_blocks_of_one_array),
      cmocka_unit_test(test_own_kernels),
      cmocka_unit_test(test_on_a_queue),
      cmocka_unit_test(test_bad_arguments),
  };
  return cmocka_run_group_tests(tests, find_devices, stop);
}
