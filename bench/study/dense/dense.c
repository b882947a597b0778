#include "bench/study/dense/dense.h"

#include <davit/device.h>
#include <omp.h>

#include "bench/study/common/kernel.h"
#include "bench/study/dense/point.h"

enum { THREADS = 256 }; /* of a block of the means and of the centring */

/* ---- kernels: one block each ---- */

static inline void convolution(int64_t team, int64_t side, int64_t ni, int64_t nj, const double *a,
                               double *b) {
  const int64_t wide = (nj + side - 1) / side;
  PHASE(t, (int)(side * side)) {
    const int64_t row = team / wide * side + t / side, col = team % wide * side + t % side;
    if (row > 0 && col > 0 && row < ni - 1 && col < nj - 1)
      b[row * nj + col] = study_convolve(&a[row * nj + col], nj);
  }
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

#define FORM(kernel, ...) FORM_OF(kernel, __VA_ARGS__) /* the kernel may be a macro */
#define FORM_OF(kernel, ...)                                                                                 \
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
FORM(means, p, q, r, in, out)
FORM(centre, p, q, in, out)

#define NAME_PASTED(name, size) name##_##size
#define NAME_EXPANDED(name, size) NAME_PASTED(name, size)

/* Threads of a block that share a row of A x. */
#define LANES_OF(block) ((block) < 32 ? (block) : 32)

#define NAME(name) NAME_EXPANDED(atax_##name, BLOCK)
#define BLOCK 16
#include "bench/study/dense/atax.inc"
#undef BLOCK
#define BLOCK 32
#include "bench/study/dense/atax.inc"
#undef BLOCK
#define BLOCK 64
#include "bench/study/dense/atax.inc"
#undef BLOCK
#define BLOCK 128
#include "bench/study/dense/atax.inc"
#undef BLOCK
#define BLOCK 256
#include "bench/study/dense/atax.inc"
#undef BLOCK
#define BLOCK 512
#include "bench/study/dense/atax.inc"
#undef BLOCK
#undef NAME

#define NAME(name) NAME_EXPANDED(name, SIDE)
#define SIDE 8
#include "bench/study/dense/product.inc"
#undef SIDE
#define SIDE 16
#include "bench/study/dense/product.inc"
#undef SIDE
#define SIDE 32
#include "bench/study/dense/product.inc"
#undef SIDE
#undef NAME

/* ---- launches ---- */

/* One launch and its end, and how long it took unless ms is NULL. */
static davit_status launch(const form *f, int device, int64_t teams, int threads, double *ms, PARAMETERS) {
  davit_device_info info;
  davit_status status = davit_device_describe(device, &info);
  if (status != DAVIT_SUCCESS)
    return status;
  if (teams > INT32_MAX)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%lld blocks are more than a grid has", (long long)teams);
  const double start = omp_get_wtime();
  if (teams > 0 && info.kind != DAVIT_DEVICE_CPU && info.kind != DAVIT_DEVICE_HOST_OFFLOAD)
    f->grid(device, (int)teams, threads, ARGUMENTS);
  else
    for (int64_t team = 0; team < teams; team++)
      f->block(team, ARGUMENTS);
  if (ms)
    *ms = 1e3 * (omp_get_wtime() - start);
  return DAVIT_SUCCESS;
}

static double *phase(study_dense_times *times, int number) {
  return times ? &times->phase_ms[number] : NULL;
}

static int64_t quotient_up(int64_t n, int64_t by) {
  return n / by + (n % by != 0);
}

/* Kernels of one size of a block. */
typedef struct sized {
  int size;
  const form *forms[2];
} sized;

/* Those of the size; NULL, with a sentence, if there are none. */
static const form *const *forms_of(const sized *table, int count, const char *name, int size) {
  for (int i = 0; i < count; i++)
    if (table[i].size == size)
      return table[i].forms;
  (void)davit_fail(DAVIT_INVALID_ARGUMENT, "%s is %d, not a power of two from %d to %d", name, size,
                   table[0].size, table[count - 1].size);
  return NULL;
}

davit_status study_convolution(int device, int side, int64_t ni, int64_t nj, const double *a, double *b,
                               study_dense_times *times) {
  if (side != 8 && side != 16 && side != 32)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "side is %d, not 8, 16 or 32", side);
  return launch(&convolution_form, device, quotient_up(ni, side) * quotient_up(nj, side), side * side,
                phase(times, 0), ni, nj, side, a, a, b);
}

davit_status study_atax(int device, int block, int64_t nx, int64_t ny, const double *a, const double *x,
                        double *tmp, double *y, study_dense_times *times) {
#define BOTH(block)                                                                                          \
  {                                                                                                          \
    block, {                                                                                                 \
      &atax_rows_##block##_form, &atax_columns_##block##_form                                                \
    }                                                                                                        \
  }
  static const sized table[] = {BOTH(16), BOTH(32), BOTH(64), BOTH(128), BOTH(256), BOTH(512)};
  const form *const *forms = forms_of(table, sizeof table / sizeof *table, "block", block);
  const int threads = 32 * WARPS_OF(block);
  if (!forms)
    return DAVIT_INVALID_ARGUMENT;
  davit_status status = launch(forms[0], device, quotient_up(nx, block / LANES_OF(block)), threads,
                               phase(times, 0), nx, ny, 0, a, x, tmp);
  if (status == DAVIT_SUCCESS)
    status = launch(forms[1], device, quotient_up(ny, block), threads, phase(times, 1), nx, ny, 0, a, tmp, y);
  return status;
}

davit_status study_covariance(int device, int side, int64_t m, int64_t n, double divisor, double *data,
                              double *mean, double *symmat, study_dense_times *times) {
  static const sized table[] = {{8, {&product_8_form}}, {16, {&product_16_form}}, {32, {&product_32_form}}};
  const form *const *forms = forms_of(table, sizeof table / sizeof *table, "side", side);
  if (!forms)
    return DAVIT_INVALID_ARGUMENT;
  const int64_t tiles = quotient_up(n, side);
  davit_status status = launch(&means_form, device, quotient_up(n, THREADS), THREADS, phase(times, 0), m, n,
                               divisor, data, data, mean);
  if (status == DAVIT_SUCCESS)
    status = launch(&centre_form, device, quotient_up(m * n, THREADS), THREADS, phase(times, 1), m, n, 0,
                    mean, mean, data);
  if (status == DAVIT_SUCCESS)
    status =
        launch(forms[0], device, tiles * tiles, side * side, phase(times, 2), m, n, 0, data, data, symmat);
  return status;
}
