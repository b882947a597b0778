#include "offload/study/dense.h"

#include <davit/device.h>
#include <omp.h>

#include "offload/study/phase.h"

enum { THREADS = 256, ROWS = THREADS / 32, SIDE = 16 };

/* ---- kernels: one block each ---- */

static inline void convolution(int64_t team, int64_t side, int64_t ni, int64_t nj, const double *a,
                               double *b) {
  /* [row][column] of the neighbour; the report writes c21 for column 2, row 1. */
  const double coefficients[3][3] = {{+0.2, +0.5, -0.8}, {-0.3, +0.6, -0.9}, {+0.4, +0.7, +0.1}};
  const int64_t wide = (nj + side - 1) / side;
  PHASE(t, (int)(side * side)) {
    const int64_t row = team / wide * side + t / side, col = team % wide * side + t % side;
    if (row > 0 && col > 0 && row < ni - 1 && col < nj - 1) {
      double sum = 0;
#pragma unroll
      for (int s = 0; s < 3; s++)
#pragma unroll
        for (int r = 0; r < 3; r++)
          sum += coefficients[r][s] * a[(row + r - 1) * nj + col + s - 1];
      b[row * nj + col] = sum;
    }
  }
}

static inline void atax_rows(int64_t team, int64_t nx, int64_t ny, const double *a, const double *x,
                             double *tmp) {
  SHARED(double, sums, THREADS);
  PHASE(t, THREADS) {
    const int64_t row = team * ROWS + t / 32;
    double sum = 0;
    for (int64_t j = t % 32; j < ny && row < nx; j += 32)
      sum += a[row * ny + j] * x[j];
    sums[t] = sum;
  }
  WARP_BARRIER();
  for (int half = 16; half > 0; half /= 2) {
    PHASE(t, THREADS)
    if (t % 32 < half)
      sums[t] += sums[t + half];
    WARP_BARRIER();
  }
  PHASE(t, THREADS)
  if (t % 32 == 0 && team * ROWS + t / 32 < nx)
    tmp[team * ROWS + t / 32] = sums[t];
}

static inline void atax_columns(int64_t team, int64_t nx, int64_t ny, const double *a, const double *tmp,
                                double *y) {
  SHARED(double, staged, THREADS);
  PRIVATE(double, sum, THREADS);
  PHASE(t, THREADS)
  OWN(sum, t) = 0;
  for (int64_t first = 0; first < nx; first += THREADS) {
    const int count = nx - first < THREADS ? (int)(nx - first) : THREADS;
    PHASE(t, count)
    staged[t] = tmp[first + t];
    BARRIER();
    PHASE(t, THREADS) {
      const int64_t col = team * THREADS + t;
      for (int e = 0; e < count && col < ny; e++)
        OWN(sum, t) += a[(first + e) * ny + col] * staged[e];
    }
    BARRIER();
  }
  PHASE(t, THREADS)
  if (team * THREADS + t < ny)
    y[team * THREADS + t] = OWN(sum, t);
}

static inline void means(int64_t team, int64_t m, int64_t n, double divisor, const double *data,
                         double *mean) {
  PHASE(t, THREADS) {
    const int64_t col = team * THREADS + t;
    double sum = 0;
    for (int64_t i = 0; i < m && col < n; i++)
      sum += data[i * n + col];
    if (col < n)
      mean[col] = sum / divisor;
  }
}

static inline void centre(int64_t team, int64_t m, int64_t n, const double *mean, double *data) {
  PHASE(t, THREADS) {
    const int64_t i = team * THREADS + t;
    if (i < m * n)
      data[i] -= mean[i % n];
  }
}

/* A tile of SIDE × SIDE elements of Dᵀ D: two strips of columns of D, SIDE rows at a time. */
static inline void product(int64_t team, int64_t m, int64_t n, const double *data, double *symmat) {
  SHARED(double, left, THREADS);
  SHARED(double, right, THREADS);
  PRIVATE(double, sum, THREADS);
  const int64_t wide = (n + SIDE - 1) / SIDE, row0 = team / wide * SIDE, col0 = team % wide * SIDE;
  PHASE(t, THREADS)
  OWN(sum, t) = 0;
  for (int64_t k0 = 0; k0 < m; k0 += SIDE) {
    PHASE(t, THREADS) {
      const int64_t k = k0 + t / SIDE, i = row0 + t % SIDE, j = col0 + t % SIDE;
      left[t] = k < m && i < n ? data[k * n + i] : 0;
      right[t] = k < m && j < n ? data[k * n + j] : 0;
    }
    BARRIER();
    PHASE(t, THREADS)
    for (int k = 0; k < SIDE; k++)
      OWN(sum, t) += left[k * SIDE + t / SIDE] * right[k * SIDE + t % SIDE];
    BARRIER();
  }
  PHASE(t, THREADS)
  if (row0 + t / SIDE < n && col0 + t % SIDE < n)
    symmat[(row0 + t / SIDE) * n + col0 + t % SIDE] = OWN(sum, t);
}

/* ---- grids: every kernel once as a region for GPUs and once as a block for the CPU ---- */

/* What a kernel gets beside the team: two sizes, a third number, two inputs and an output, as far as it
 * has them. */
#define PARAMETERS int64_t p, int64_t q, double r, const double *in, const double *in2, double *out
#define ARGUMENTS p, q, r, in, in2, out

#ifdef DVT_GPU
#define ON_GPU(kernel, ...) kernel(dvt_team(), __VA_ARGS__)
#else
#define ON_GPU(kernel, ...) ((void)0)
#endif

typedef struct form {
  void (*block)(int64_t team, PARAMETERS);
  void (*grid)(int device, int teams, int threads, PARAMETERS);
} form;

#define FORM(kernel, ...)                                                                                    \
  static inline void kernel##_body(PARAMETERS) {                                                             \
    (void)p, (void)q, (void)r, (void)in, (void)in2, (void)out; /* not all kernels have all */                \
    ON_GPU(kernel, __VA_ARGS__);                                                                             \
  }                                                                                                          \
  static void kernel##_grid(int device, int teams, int threads, PARAMETERS) {                                \
    PRAGMA(omp target teams ompx_bare num_teams(teams) thread_limit(threads) device(device)                  \
               is_device_ptr(in, in2, out))                                                                  \
    kernel##_body(ARGUMENTS);                                                                                \
  }                                                                                                          \
  static void kernel##_block(int64_t team, PARAMETERS) {                                                     \
    (void)r, (void)in2;                                                                                      \
    kernel(team, __VA_ARGS__);                                                                               \
  }                                                                                                          \
  static const form kernel##_form = {kernel##_block, kernel##_grid};

FORM(convolution, (int64_t)r, p, q, in, out)
FORM(atax_rows, p, q, in, in2, out)
FORM(atax_columns, p, q, in, in2, out)
FORM(means, p, q, r, in, out)
FORM(centre, p, q, in, out)
FORM(product, p, q, in, out)

static davit_status launch(const form *f, int device, int64_t teams, int threads, PARAMETERS) {
  davit_device_info info;
  davit_status status = davit_device_describe(device, &info);
  if (status != DAVIT_SUCCESS)
    return status;
  if (teams > INT32_MAX)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%lld blocks are more than a grid has", (long long)teams);
  if (teams > 0 && info.kind != DAVIT_DEVICE_CPU && info.kind != DAVIT_DEVICE_HOST_OFFLOAD)
    f->grid(device, (int)teams, threads, ARGUMENTS);
  else
    for (int64_t team = 0; team < teams; team++)
      f->block(team, ARGUMENTS);
  return DAVIT_SUCCESS;
}

static int64_t quotient_up(int64_t n, int64_t by) {
  return n / by + (n % by != 0);
}

davit_status dvt_study_convolution(int device, int side, int64_t ni, int64_t nj, const double *a, double *b) {
  if (side != 8 && side != 16 && side != 32)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "side is %d, not 8, 16 or 32", side);
  return launch(&convolution_form, device, quotient_up(ni, side) * quotient_up(nj, side), side * side, ni, nj,
                side, a, a, b);
}

davit_status dvt_study_atax(int device, int64_t nx, int64_t ny, const double *a, const double *x, double *tmp,
                            double *y) {
  davit_status status = launch(&atax_rows_form, device, quotient_up(nx, ROWS), THREADS, nx, ny, 0, a, x, tmp);
  if (status != DAVIT_SUCCESS)
    return status;
  return launch(&atax_columns_form, device, quotient_up(ny, THREADS), THREADS, nx, ny, 0, a, tmp, y);
}

davit_status dvt_study_covariance(int device, int64_t m, int64_t n, double divisor, double *data,
                                  double *mean, double *symmat) {
  int64_t side = quotient_up(n, SIDE);
  davit_status status =
      launch(&means_form, device, quotient_up(n, THREADS), THREADS, m, n, divisor, data, data, mean);
  if (status == DAVIT_SUCCESS)
    status = launch(&centre_form, device, quotient_up(m * n, THREADS), THREADS, m, n, 0, mean, mean, data);
  if (status == DAVIT_SUCCESS)
    status = launch(&product_form, device, side * side, THREADS, m, n, 0, data, data, symmat);
  return status;
}
