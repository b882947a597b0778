/* SPDX-License-Identifier: Apache-2.0 */
/* The course report's three kernels: the corrected ones against loops, and each defect of the printed ones. */
#include "bench/study/tests/study.h"

#include "bench/study/dense/dense.h"
#include "bench/study/dense/point.h"
#include "bench/study/dense/printed.h"

static const double divisor = 3214212.01;

/* `n` doubles of the host, NaN, and a NaN on either side, which stays. */
static double *doubles(int64_t n) {
  return (double *)host_memory(n + 2, sizeof(double)) + 1;
}

static double *random_doubles(int64_t n, uint64_t seed) {
  double *x = doubles(n);
  for (int64_t i = 0; i < n; i++)
    x[i] = 0x1p-53 * (double)(next_random(&seed) >> 11) - 0.25;
  return x;
}

/* The handout's matrix, i j / n: symmetric, which hides a wrong transposition. */
static double *handout_matrix(int64_t n) {
  double *x = doubles(n * n);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      x[i * n + j] = (double)(i * j) / (double)n;
  return x;
}

/* Largest difference by the largest magnitude; infinite where one of them is no number. */
static double difference(int64_t n, const double *is, const double *right) {
  double largest = 0, off = 0;
  for (int64_t i = 0; i < n; i++) {
    if (!isfinite(is[i]) || !isfinite(right[i]))
      return INFINITY;
    largest = fmax(largest, fabs(right[i]));
    off = fmax(off, fabs(is[i] - right[i]));
  }
  return largest > 0 ? off / largest : off;
}

#define CLOSE 1e-12
#define FAR 1e-3

/* What was computed is right, and so is what lies around it. */
static void is_close(int64_t n, const double *is, const double *right, double tolerance) {
  assert_true(difference(n, is, right) < tolerance);
  assert_true(isnan(is[-1]) && isnan(is[n]));
}

/* ---- references ---- */

static void convolve(int64_t ni, int64_t nj, const double *a, double *b) {
  for (int64_t i = 1; i < ni - 1; i++)
    for (int64_t j = 1; j < nj - 1; j++)
      b[i * nj + j] = 0.2 * a[(i - 1) * nj + j - 1] + 0.5 * a[(i - 1) * nj + j] -
                      0.8 * a[(i - 1) * nj + j + 1] - 0.3 * a[i * nj + j - 1] + 0.6 * a[i * nj + j] -
                      0.9 * a[i * nj + j + 1] + 0.4 * a[(i + 1) * nj + j - 1] + 0.7 * a[(i + 1) * nj + j] +
                      0.1 * a[(i + 1) * nj + j + 1];
}

/* y = A v, or Aᵀ v. */
static void multiply(bool transposed, int64_t nx, int64_t ny, const double *a, const double *v, double *y) {
  for (int64_t i = 0; i < (transposed ? ny : nx); i++) {
    y[i] = 0;
    for (int64_t j = 0; j < (transposed ? nx : ny); j++)
      y[i] += (transposed ? a[j * ny + i] : a[i * ny + j]) * v[j];
  }
}

static void column_means(int64_t m, int64_t n, const double *data, double *mean) {
  for (int64_t j = 0; j < n; j++) {
    mean[j] = 0;
    for (int64_t i = 0; i < m; i++)
      mean[j] += data[i * n + j];
    mean[j] /= divisor;
  }
}

/* data - times mean */
static void subtract(int64_t m, int64_t n, double times, const double *mean, double *data) {
  for (int64_t i = 0; i < m * n; i++)
    data[i] -= times * mean[i % n];
}

/* Dᵀ D, or D D for a square D. */
static void square(bool transposed, int64_t m, int64_t n, const double *d, double *c) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      c[i * n + j] = 0;
      for (int64_t k = 0; k < m; k++)
        c[i * n + j] += (transposed ? d[k * n + i] : d[i * n + k]) * d[k * n + j];
    }
}

/* ---- exercises: data of the host, and what is right ---- */

typedef struct problem {
  study_exercise e;
  int64_t rows, cols, counts[STUDY_ARRAYS];
  study_dense_data given, is, right; /* the border of what is right is the one that is given */
} problem;

static bool symmetric; /* of the problems that are made */

static study_dense_data arrays_of(const problem *p) {
  study_dense_data data = {.rows = p->rows, .cols = p->cols, .divisor = divisor, .symmetric = symmetric};
  for (int i = 0; i < STUDY_ARRAYS; i++) {
    const bool input = i == STUDY_A || i == STUDY_X || p->e == STUDY_CONVOLUTION;
    data.array[i] = input ? random_doubles(p->counts[i], 1 + (uint64_t)i) : doubles(p->counts[i]);
  }
  return data;
}

static problem problem_new(study_exercise e, int64_t rows, int64_t cols) {
  problem p = {.e = e, .rows = rows, .cols = cols};
  study_dense_counts(e, rows, cols, p.counts);
  p.given = arrays_of(&p);
  p.is = arrays_of(&p);
  p.right = arrays_of(&p);
  const study_dense_data *r = &p.right;
  if (e == STUDY_CONVOLUTION) {
    convolve(rows, cols, r->a, r->out);
  } else if (e == STUDY_ATAX) {
    multiply(false, rows, cols, r->a, r->x, r->tmp);
    multiply(true, rows, cols, r->a, r->tmp, r->out);
  } else {
    column_means(rows, cols, r->a, r->tmp);
    subtract(rows, cols, 1, r->tmp, r->a);
    square(true, rows, cols, r->a, r->out);
  }
  return p;
}

static void check(const problem *p) {
  const double *is = p->is.out, *right = p->right.out;
  const int64_t rows = p->rows, cols = p->cols;
  const bool atax = p->e == STUDY_ATAX;
  is_close(p->counts[STUDY_A], p->is.a, p->right.a, p->e == STUDY_COVARIANCE ? CLOSE : DBL_MIN);
  is_close(p->counts[STUDY_X], p->is.x, p->right.x, DBL_MIN);
  is_close(p->counts[STUDY_TMP], p->is.tmp, p->right.tmp, atax ? CLOSE * (double)cols : CLOSE);
  is_close(p->counts[STUDY_OUT], is, right, p->e == STUDY_CONVOLUTION ? CLOSE : CLOSE * (double)rows);
  for (int64_t i = 0; i < rows && p->e == STUDY_CONVOLUTION; i++)
    for (int64_t j = 0; j < cols; j++)
      if (i == 0 || i == rows - 1 || j == 0 || j == cols - 1)
        assert_true(is[i * cols + j] == right[i * cols + j]);
  for (int64_t i = 0; i < cols && p->e == STUDY_COVARIANCE; i++)
    for (int64_t j = 0; j < i; j++)
      assert_true(is[i * cols + j] == is[j * cols + i]);
}

/* ---- corrected ---- */

/* The kernels, `repeats` times, each time on what is given; with what lies around the arrays. */
static void kernels_right(study_exercise e, int place, int block, int64_t rows, int64_t cols, int repeats) {
  problem p = problem_new(e, rows, cols);
  study_dense_data there = p.given;
  for (int r = 0; r < repeats; r++) {
    for (int i = 0; i < STUDY_ARRAYS; i++) {
      const size_t bytes = (size_t)(p.counts[i] + 2) * sizeof(double);
      there.array[i] = (double *)new_memory(bytes, place_for(place)) + 1;
      CHECK(davit_copy(bytes, p.given.array[i] - 1, there.array[i] - 1));
    }
    CHECK(study_dense_kernels(e, place, block, &there, NULL));
    for (int i = 0; i < STUDY_ARRAYS; i++) {
      CHECK(davit_copy((size_t)(p.counts[i] + 2) * sizeof(double), there.array[i] - 1, p.is.array[i] - 1));
      CHECK(davit_free(there.array[i] - 1));
    }
    check(&p);
  }
}

static void all_sizes(study_exercise e, int count, const int64_t sizes[][2], int block_count,
                      const int *blocks) {
  EACH_PLACE(device)
    for (int z = 0; z < count; z++)
      for (int b = 0; b < block_count; b++)
        kernels_right(e, device, blocks[b], sizes[z][0], sizes[z][1], 1);
}

static const int blocks[] = {16, 32, 64, 128, 256, 512}, sides[] = {8, 16, 32};

CASE(test_convolution) {
  static const int64_t sizes[][2] = {{1, 1}, {2, 9}, {9, 2}, {3, 3}, {16, 16}, {17, 33}, {64, 61}, {5, 200}};
  all_sizes(STUDY_CONVOLUTION, COUNT(sizes), sizes, COUNT(sides), sides);
}

CASE(test_atax) {
  static const int64_t sizes[][2] = {{1, 1}, {1, 300}, {300, 1}, {37, 101}, {101, 37}, {257, 256}, {520, 33}};
  all_sizes(STUDY_ATAX, COUNT(sizes), sizes, COUNT(blocks), blocks);
}

CASE(test_covariance) {
  static const int64_t sizes[][2] = {{1, 1}, {5, 17}, {17, 5}, {16, 16}, {48, 33}, {100, 70}, {1, 300}};
  all_sizes(STUDY_COVARIANCE, COUNT(sizes), sizes, COUNT(sides), sides);
}

/* One triangle of tiles gives the same bits as all of them. */
CASE(test_symmetric_covariance) {
  static const int64_t sizes[][2] = {{1, 1}, {5, 17}, {17, 5}, {16, 16}, {48, 33}, {30, 270}, {100, 70}};
  symmetric = true;
  all_sizes(STUDY_COVARIANCE, COUNT(sizes), sizes, COUNT(sides), sides);
  symmetric = false;
  EACH_PLACE(device) {
    problem p = problem_new(STUDY_COVARIANCE, 41, 67), q = problem_new(STUDY_COVARIANCE, 41, 67);
    q.is.symmetric = true;
    CHECK(study_dense_run(STUDY_COVARIANCE, &(study_dense){0}, device, &p.is, NULL));
    CHECK(study_dense_run(STUDY_COVARIANCE, &(study_dense){0}, device, &q.is, NULL));
    assert_memory_equal(p.is.out, q.is.out, 67 * 67 * sizeof(double));
  }
}

/* Every entry of a triangle has one number, also where a root of 53 bits is not enough to find its column. */
CASE(test_triangle_columns) {
  int64_t k = 0;
  for (int64_t column = 0; column < 300; column++)
    for (int64_t i = 0; i <= column; i++)
      assert_int_equal(triangle_column(k++), column);
  for (int64_t column = INT64_C(1) << 28; column < INT64_C(1) << 31; column = 3 * column / 2 + 1) {
    assert_int_equal(triangle_column(column * (column + 1) / 2), column);
    assert_int_equal(triangle_column(column * (column + 1) / 2 - 1), column - 1);
  }
}

CASE(test_bad_blocks) {
  const study_dense_data one = {.rows = 1, .cols = 1};
  REFUSED(study_dense_kernels(STUDY_CONVOLUTION, DAVIT_HOST, 7, &one, NULL), "side is 7");
  REFUSED(study_dense_kernels(STUDY_ATAX, DAVIT_HOST, 8, &one, NULL), "block is 8");
  REFUSED(study_dense_kernels(STUDY_COVARIANCE, DAVIT_HOST, 12, &one, NULL), "side is 12");
}

/* The corrected kernels on the CPU, beside printed ones. */
static void corrected(study_exercise e, int block, study_dense_data data) {
  CHECK(study_dense_kernels(e, DAVIT_HOST, block, &data, NULL));
}

/* Fields whose result is known: k gives 0.5 k, the column 0.5 col - 1.9, the row 0.5 row + 1.3. */
CASE(test_convolution_of_known_fields) {
  enum { NI = 11, NJ = 13 };
  for (int field = 0; field < 3; field++)
    for (int printed = 0; printed < 2; printed++) {
      double a[NI * NJ], b[NI * NJ];
      study_guard reads;
      for (int i = 0; i < NI * NJ; i++)
        a[i] = field == 0 ? 7 : field == 1 ? i % NJ : i / NJ;
      if (printed)
        study_printed_convolution(16, NI, NJ, a, b, &reads);
      else
        corrected(STUDY_CONVOLUTION, 16, (study_dense_data){.rows = NI, .cols = NJ, .a = a, .out = b});
      for (int i = 1; i < NI - 1; i++)
        for (int j = 1; j < NJ - 1; j++) {
          double right = field == 0 ? 3.5 : field == 1 ? 0.5 * j - 1.9 : 0.5 * i + 1.3;
          assert_true(fabs(b[i * NJ + j] - right) < 1e-13);
        }
    }
}

/* The second launch needs what all teams of the first one leave: more than 1000 teams in the first launch,
 * then in the second, many times. */
CASE(test_atax_waits_for_all_blocks) {
  enum { SMALLEST = 16, REPEATS = 100 };
  EACH_PLACE(device) {
    kernels_right(STUDY_ATAX, device, SMALLEST, 1100, 40, scaled(REPEATS));
    kernels_right(STUDY_ATAX, device, SMALLEST, 24, 16100, scaled(REPEATS));
  }
}

/* ---- on the CPU ---- */

/* Program 0 is the handout's, the others are loops on so many threads, 0: all. */
static const int programs[] = {0, 1, 3, 0};

static void run_on_cpu(study_exercise e, int program, const study_dense_data *data) {
  if (program == 0)
    study_dense_handout(e, data);
  else
    CHECK(study_dense_cpu(e, programs[program], data));
}

CASE(test_programs_for_the_cpu) {
  static const int64_t sizes[][2] = {{1, 1},  {2, 9},    {3, 3},    {37, 101}, {101, 37},
                                     {5, 70}, {100, 64}, {33, 130}, {257, 60}};
  EACH(const int64_t *, size, sizes)
    for (int program = 0; program < COUNT(programs); program++)
      for (study_exercise e = 0; e < STUDY_EXERCISES; e++) {
        problem p = problem_new(e, size[0], size[1]);
        run_on_cpu(p.e, program, &p.is);
        check(&p);
      }
}

/* The handout's A and x = j π have y_j = π j S² / n², S = Σ i². */
CASE(test_atax_of_the_handout) {
  static const int64_t sizes[] = {96, 4096};
  EACH(int64_t, size, sizes) {
    const double n = (double)size, s = (n - 1) * n * (2 * n - 1) / 6, pi = acos(-1);
    double *right = doubles(size);
    study_dense_data data = {size, size, .a = handout_matrix(size)};
    data.x = doubles(size);
    data.tmp = doubles(size);
    data.out = doubles(size);
    for (int64_t j = 0; j < size; j++) {
      data.x[j] = (double)j * pi;
      right[j] = pi * (double)j * s * s / n / n;
    }
    EACH_PLACE(device) {
      CHECK(study_dense_run(STUDY_ATAX, &(study_dense){0}, device, &data, NULL));
      assert_true(difference(size, data.out, right) < CLOSE);
    }
    for (int p = 0; p < COUNT(programs); p++) {
      run_on_cpu(STUDY_ATAX, p, &data);
      assert_true(difference(size, data.out, right) < CLOSE);
    }
  }
}

/* ---- runs: host memory, a budget ---- */

CASE(test_runs) {
  static const int block_or_side[] = {0, 16, 32}; /* 0: by default */
  EACH_PLACE(device)
    EACH(int, size, block_or_side)
      for (study_exercise e = 0; e < STUDY_EXERCISES; e++) {
        const study_dense how = {.block = size};
        study_dense_times times;
        problem p = problem_new(e, 37, 51);
        CHECK(study_dense_run(p.e, &how, device, &p.is, &times));
        check(&p);
        assert_true(times.transfer_ms >= 0);
        for (int phase = 0; phase < 3; phase++)
          assert_true(phase <= (int)e ? times.phase_ms[phase] >= 0 : times.phase_ms[phase] == 0);
      }
}

/* A run that has no room for its arrays. */
static void no_room(study_exercise e, size_t memory_bytes, int64_t rows, int64_t cols, const char *words) {
  const study_dense_data data = {.rows = rows, .cols = cols};
  CHECK_FAILS(study_dense_run(e, &(study_dense){.memory_bytes = memory_bytes}, DAVIT_HOST, &data, NULL),
              DAVIT_OUT_OF_DEVICE_MEMORY, words);
}

/* The report's card: 9000 × 9000 fits into 1536 MB, 10000 × 10000 does not into what is left of them. */
CASE(test_memory_budget) {
  const size_t card = (size_t)1536 << 20;
  assert_true(study_dense_bytes(STUDY_CONVOLUTION, 9000, 9000) == 1296000000.0);
  assert_true(study_dense_bytes(STUDY_CONVOLUTION, 10000, 10000) == 1.6e9);
  CHECK(study_dense_room(&(study_dense){.memory_bytes = card}, DAVIT_HOST,
                         study_dense_bytes(STUDY_CONVOLUTION, 9000, 9000)));
  no_room(STUDY_CONVOLUTION, 1599999999, 10000, 10000, "1600000000 bytes, and memory_bytes is 1599999999");
  no_room(STUDY_ATAX, card, 1 << 30, 1 << 30, "memory_bytes");
  no_room(STUDY_COVARIANCE, card, 1, 1 << 30, "memory_bytes");
  no_room(STUDY_CONVOLUTION, 0, 1 << 30, 1 << 30, "the device has");
}

/* To the byte; and an allocation that fails in spite of the budget. */
CASE(test_memory_that_is_not_there) {
  double a[12] = {0}, b[12];
  const study_dense_data data = {.rows = 3, .cols = 4, .a = a, .out = b};
  EACH_PLACE(device) {
    study_dense just = {.memory_bytes = 2 * sizeof a};
    CHECK(study_dense_run(STUDY_CONVOLUTION, &just, device, &data, NULL));
    just.memory_bytes--;
    CHECK_FAILS(study_dense_run(STUDY_CONVOLUTION, &just, device, &data, NULL), DAVIT_OUT_OF_DEVICE_MEMORY,
                "need 192 bytes");
  }
  CHECK(davit_memory_trim(first_device()));
  dvt_inject(DVT_INJECT_DEVICE_MEMORY, 1);
  CHECK_FAILS(study_dense_run(STUDY_CONVOLUTION, &(study_dense){0}, first_device(), &data, NULL),
              DAVIT_OUT_OF_DEVICE_MEMORY, "");
  dvt_inject(DVT_INJECT_DEVICE_MEMORY, 0);
}

/* ---- printed: Convolution ---- */

/* Right inside, whatever the sizes; b's border is never written. */
CASE(test_printed_convolution_leaves_the_border) {
  enum { NI = 19, NJ = 35 };
  double *a = random_doubles(NI * NJ, 6), b[NI * NJ], right[NI * NJ];
  study_guard reads;
  int untouched = 0;
  for (int i = 0; i < NI * NJ; i++)
    b[i] = right[i] = -77;
  convolve(NI, NJ, a, right);
  study_printed_convolution(16, NI, NJ, a, b, &reads);
  assert_true(difference(NI * NJ, b, right) < CLOSE);
  assert_int_equal(reads.outside, 0);
  for (int i = 0; i < NI * NJ; i++)
    untouched += b[i] == -77;
  assert_int_equal(untouched, 2 * NI + 2 * NJ - 4);
}

/* ---- printed: trans_norm_vector ---- */

enum { BLOCK = 16, ATAX_N = 48 };

/* Both loops multiply by Aᵀ. It does not show with the handout's A. */
CASE(test_printed_atax_multiplies_by_the_transposed_twice) {
  enum { N = BLOCK };
  double *matrices[] = {random_doubles(N * N, 7), handout_matrix(N)}, *x = random_doubles(N, 8);
  for (int i = 0; i < 2; i++) {
    double *a = matrices[i];
    double once[N], twice[N], right_tmp[N], right[N], tmp[N], y[N];
    study_guard reads;
    multiply(true, N, N, a, x, once);
    multiply(true, N, N, a, once, twice);
    multiply(false, N, N, a, x, right_tmp);
    multiply(true, N, N, a, right_tmp, right);
    study_printed_atax(BLOCK, false, N, N, a, x, NAN, tmp, y, &reads);
    assert_int_equal(reads.outside, 0);
    assert_true(difference(N, tmp, once) < CLOSE);
    assert_true(difference(N, y, twice) < CLOSE);
    assert_true((difference(N, y, right) > FAR) == (i == 0));
    corrected(STUDY_ATAX, 256, (study_dense_data){N, N, .a = a, .x = x, .tmp = tmp, .out = y});
    assert_true(difference(N, y, right) < CLOSE);
  }
}

/* The second loop reads what other blocks of the launch may not have written yet; the block that runs last is
 * right. */
CASE(test_printed_atax_does_not_wait_for_other_blocks) {
  double *a = handout_matrix(ATAX_N), *x = random_doubles(ATAX_N, 9);
  double right_tmp[ATAX_N], right[ATAX_N];
  multiply(false, ATAX_N, ATAX_N, a, x, right_tmp);
  multiply(true, ATAX_N, ATAX_N, a, right_tmp, right);
  for (int down = 0; down < 2; down++) {
    double tmp[ATAX_N], y[ATAX_N];
    study_guard reads;
    for (int i = 0; i < ATAX_N; i++)
      tmp[i] = NAN; /* as fresh memory may be */
    study_printed_atax(BLOCK, down, ATAX_N, ATAX_N, a, x, NAN, tmp, y, &reads);
    assert_int_equal(reads.outside, 0);
    assert_true(difference(ATAX_N, tmp, right_tmp) < CLOSE);
    int last = down ? 0 : ATAX_N - BLOCK;
    for (int i = 0; i < ATAX_N; i++)
      assert_true(isnan(y[i]) == (i < last || i >= last + BLOCK));
    assert_true(difference(BLOCK, y + last, right + last) < CLOSE);
  }
}

/* Where the block does not divide the size, A is read beyond its end, times 0: harmless unless what lies
 * there is no number. */
CASE(test_printed_atax_reads_past_the_end) {
  enum { N = 40 }; /* 3 blocks: threads to 48, rows to 48 */
  double *a = handout_matrix(N), *x = random_doubles(N, 10), right_tmp[N];
  multiply(false, N, N, a, x, right_tmp);
  for (int garbage = 0; garbage < 2; garbage++) {
    double tmp[N] = {0}, y[N];
    study_guard reads;
    study_printed_atax(BLOCK, false, N, N, a, x, garbage ? NAN : 5, tmp, y, &reads);
    assert_true(reads.outside > 0);
    assert_int_equal(reads.highest, 47 * N + 47);
    assert_true((difference(N, tmp, right_tmp) < CLOSE) == !garbage);
    double *on_x = doubles(N), *on_a = doubles(N * N), *on_tmp = doubles(N),
           *on_y = doubles(N); /* NaN around */
    memcpy(on_x, x, sizeof tmp);
    memcpy(on_a, a, N * N * sizeof *a);
    corrected(STUDY_ATAX, 256, (study_dense_data){N, N, .a = on_a, .x = on_x, .tmp = on_tmp, .out = on_y});
    assert_true(difference(N, on_tmp, right_tmp) < CLOSE);
  }
}

/* Rectangular matrices: neither A x nor Aᵀ x comes out, as rows are taken to be nx long and tmp to have ny
 * entries. */
CASE(test_printed_atax_is_for_squares) {
  enum { NX = 16, NY = 32 };
  double *a = random_doubles(NX * NY, 11), *x = random_doubles(NY, 12), right_tmp[NX], right[NY], tmp[NX],
         y[NY];
  study_guard reads;
  for (int i = 0; i < NY; i++)
    y[i] = -77;
  multiply(false, NX, NY, a, x, right_tmp);
  multiply(true, NX, NY, a, right_tmp, right);
  study_printed_atax(BLOCK, false, NX, NY, a, x, 0, tmp, y, &reads);
  assert_true(difference(NX, tmp, right_tmp) > FAR);
  for (int i = 0; i < NX; i++) { /* A taken for a matrix of ny rows of nx */
    double sum = 0;
    for (int j = 0; j < NY; j++)
      sum += a[i + j * NX] * x[j];
    assert_true(fabs(tmp[i] - sum) < 1e-12);
  }
  assert_true(reads.outside > 0); /* of tmp */
  for (int i = NX; i < NY; i++)
    assert_true(y[i] == -77); /* no thread's element */
  corrected(STUDY_ATAX, 256, (study_dense_data){NX, NY, .a = a, .x = x, .tmp = tmp, .out = y});
  assert_true(difference(NY, y, right) < CLOSE);
}

/* ---- printed: covariance ---- */

enum { SIDE = 16, N = 32 };

typedef struct covariance_run {
  double data[N * N], mean[N], symmat[N * N];
  study_guard reads, writes;
} covariance_run;

/* The printed kernel with some defects corrections, on `original`; what it does not write is NaN. */
static void run_printed(covariance_run *run, int corrections, bool descending, const double *original) {
  study_printed_covariance p = {corrections, SIDE, descending, N, N, 100, NAN}; /* a divisor that shows */
  memcpy(run->data, original, sizeof run->data);
  for (int i = 0; i < N * N; i++)
    run->symmat[i] = NAN;
  for (int i = 0; i < N; i++)
    run->mean[i] = NAN;
  study_printed_covariance_run(&p, run->data, run->mean, run->symmat, &run->reads, &run->writes);
}

/* What is right for the divisor above. */
static void right_covariance(const double *original, double *mean, double *centred, double *symmat) {
  for (int j = 0; j < N; j++) {
    mean[j] = 0;
    for (int i = 0; i < N; i++)
      mean[j] += original[i * N + j] / 100;
  }
  memcpy(centred, original, N * N * sizeof *centred);
  subtract(N, N, 1, mean, centred);
  square(true, N, N, centred, symmat);
}

static covariance_run run;
static double mean[N], centred[N * N], symmat[N * N];

/* Col stands at n after the loop of the means and is not set back: the loop that subtracts them never
 * begins. */
CASE(test_printed_covariance_does_not_centre) {
  double *original = random_doubles(N * N, 13);
  right_covariance(original, mean, centred, symmat);
  run_printed(&run, 0, false, original);
  assert_true(difference(N, run.mean, mean) < CLOSE);
  assert_memory_equal(run.data, original, sizeof run.data);
  assert_true(difference(N * N, run.data, centred) > FAR);
  run_printed(&run, STUDY_COVARIANCE_ALL, false, original);
  assert_true(difference(N * N, run.data, centred) < CLOSE);
}

/* In the product Col is a whole row too far: row 0 of the result is not written, a row behind its end is, and
 * data is read past its end. */
CASE(test_printed_covariance_writes_a_row_too_far) {
  double *original = random_doubles(N * N, 14);
  run_printed(&run, 0, false, original);
  for (int j = 0; j < N; j++)
    assert_true(isnan(run.symmat[j]));
  assert_int_equal(run.writes.outside, N);
  assert_int_equal(run.writes.highest, N * N + N - 1);
  assert_int_equal(run.reads.highest, N * N + N - 1);
  assert_true(isnan(run.symmat[N])); /* what was read there is in every sum */
  run_printed(&run, STUDY_COLUMN_RESET, false, original);
  assert_int_equal(run.writes.outside + run.reads.outside, 0);
}

/* With Col set back every row of threads subtracts the means: gridDim.y × blockDim.y times in all. */
CASE(test_printed_covariance_centres_many_times) {
  double *original = random_doubles(N * N, 15), many[N * N];
  right_covariance(original, mean, centred, symmat);
  memcpy(many, original, sizeof many);
  subtract(N, N, N / SIDE * SIDE, mean, many);
  run_printed(&run, STUDY_COLUMN_RESET | STUDY_LAUNCHES, false, original);
  assert_true(difference(N * N, run.data, many) < CLOSE);
  assert_true(difference(N * N, run.data, centred) > FAR);
}

/* One launch: blocks take the means of columns that others have centred already, or multiply columns that are
 * not centred yet. */
CASE(test_printed_covariance_does_not_wait_for_other_blocks) {
  double *original = random_doubles(N * N, 16);
  int corrections = STUDY_COVARIANCE_ALL & ~STUDY_LAUNCHES;
  right_covariance(original, mean, centred, symmat);
  run_printed(&run, corrections, false, original);
  assert_true(difference(N, run.mean, mean) > FAR);
  run_printed(&run, corrections, true, original);
  assert_true(difference(N * N, run.symmat, symmat) > FAR);
  for (int down = 0; down < 2; down++) {
    run_printed(&run, STUDY_COVARIANCE_ALL, down, original);
    assert_true(difference(N, run.mean, mean) < CLOSE);
    assert_true(difference(N * N, run.symmat, symmat) < CLOSE);
  }
}

/* The tiles give D D. With the handout's data it passes for Dᵀ D, or D Dᵀ, at the tolerances of such
 * tests. */
CASE(test_printed_covariance_multiplies_without_transposing) {
  double *originals[] = {random_doubles(N * N, 17), handout_matrix(N)}, wrong[N * N];
  int corrections = STUDY_COVARIANCE_ALL & ~STUDY_TRANSPOSED;
  for (int i = 0; i < 2; i++) {
    right_covariance(originals[i], mean, centred, symmat);
    square(false, N, N, centred, wrong);
    run_printed(&run, corrections, false, originals[i]);
    assert_true(difference(N * N, run.symmat, wrong) < CLOSE);
    if (i == 0)
      assert_true(difference(N * N, run.symmat, symmat) > FAR);
  }
  double *handout = handout_matrix(N), *right = doubles(N * N);
  column_means(N, N, handout, mean); /* by 3214212.01, as printed */
  subtract(N, N, 1, mean, handout);
  square(true, N, N, handout, right);
  square(false, N, N, handout, wrong);
  double off = difference(N * N, wrong, right);
  assert_true(off > 0 && off < 2e-5);
}

/* No load and no store of the product asks for the size; the test for k leaves one row too many. */
CASE(test_printed_covariance_goes_past_the_end) {
  enum { ODD = 28 };
  double *original = random_doubles(ODD * ODD, 18), *data = doubles(ODD * ODD), *result = doubles(ODD * ODD);
  double *right = doubles(ODD * ODD);
  study_guard reads, writes;
  memcpy(data, original, ODD * ODD * sizeof *data);
  study_printed_covariance p = {STUDY_COVARIANCE_ALL, SIDE, false, ODD, ODD, divisor, NAN};
  study_printed_covariance_run(&p, data, mean, result, &reads, &writes);
  assert_true(reads.outside > 0);
  assert_true(writes.outside > 0);
  assert_int_equal(writes.highest, 31 * ODD + 31);
  for (int i = 0; i < ODD * ODD; i++)
    assert_true(isnan(result[i])); /* row m of data, beyond its end, is in every sum */
  memcpy(data, original, ODD * ODD * sizeof *data);
  corrected(STUDY_COVARIANCE, 16,
            (study_dense_data){ODD, ODD, divisor, .a = data, .tmp = mean, .out = result});
  square(true, ODD, ODD, data, right);
  assert_true(difference(ODD * ODD, result, right) < 10 * CLOSE);
}

/* The grid is m wide while Col runs over n, and data's rows are taken to be m long: only squares work. */
CASE(test_printed_covariance_is_for_squares) {
  static const int64_t sizes[][2] = {{16, 32}, {32, 16}};
  for (int z = 0; z < 2; z++) {
    int64_t m = sizes[z][0], n = sizes[z][1];
    double *original = random_doubles(m * n, 19), *data = doubles(m * n), *result = doubles(n * n);
    double *right = doubles(n * n), means[N];
    study_guard reads, writes;
    memcpy(data, original, (size_t)(m * n) * sizeof *data);
    study_printed_covariance p = {STUDY_COVARIANCE_ALL, SIDE, false, m, n, divisor, 0};
    study_printed_covariance_run(&p, data, means, result, &reads, &writes);
    memcpy(data, original, (size_t)(m * n) * sizeof *data);
    corrected(STUDY_COVARIANCE, 16, (study_dense_data){m, n, divisor, .a = data, .tmp = means, .out = right});
    assert_true(difference(n * n, result, right) > FAR);
    assert_true(m > n ? writes.outside > 0
                      : isnan(result[n - 1])); /* columns from m on belong to no thread */
    square(true, m, n, data, result);
    assert_true(difference(n * n, right, result) < CLOSE * (double)m);
  }
}
