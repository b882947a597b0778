/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the course report, corrected, and their launches. */
#include "bench/study/dense/dense.h"

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

/* ---- grids ---- */

/* What a kernel gets beside the team: two sizes, a third number, two inputs and an output, as far as it has
 * them. */
#define PARAMETERS int64_t p, int64_t q, double r, const double *in, const double *in2, double *out
#define ARGUMENTS p, q, r, in, in2, out

typedef void kernel(const study_site *site, int64_t teams, PARAMETERS);

GRID(run_convolution, (int)(r *r), (in, in2, out), convolution(team, (int64_t)r, p, q, in, out))
GRID(run_means, THREADS, (in, in2, out), means(team, p, q, r, in, out))
GRID(run_centre, THREADS, (in, in2, out), centre(team, p, q, in, out))

/* Kernels of one size of a team. */
typedef struct sized {
  kernel *run[2];
} sized;
#define FORMS sized

/* Threads of a team that share a row of A x. */
#define LANES_OF(block) ((block) < 32 ? (block) : 32)

#define GROUP atax
#define TEXT "bench/study/dense/atax.inc"
#define WANTED(block) ((block) >= 16 && (block) <= 512 && (block) != 48)
#include "bench/study/common/forms.inc"
#undef GROUP
#undef TEXT
#undef WANTED

#define GROUP product
#define TEXT "bench/study/dense/product.inc"
#define WANTED(side) ((side) >= 8 && (side) <= 32)
#include "bench/study/common/forms.inc"

/* ---- launches ---- */

/* One launch and its end, and how long it took unless times is NULL. */
static davit_status launch(kernel *k, const study_site *site, int64_t teams, study_dense_times *times,
                           int phase, PARAMETERS) {
  davit_status status = study_check_teams(teams);
  double since = omp_get_wtime();
  if (status == DAVIT_SUCCESS)
    k(site, teams, ARGUMENTS);
  if (times)
    times->phase_ms[phase] = study_lap(&since);
  return status;
}

/* The site, and a sentence if there are no kernels for the size. */
static davit_status begin(const char *name, int size, bool there, int smallest, int largest, int device,
                          study_site *site) {
  return there ? study_site_of(device, site)
               : davit_fail(DAVIT_INVALID_ARGUMENT, "%s is %d, not a power of two from %d to %d", name, size,
                            smallest, largest);
}

davit_status study_convolution(int device, int side, int64_t ni, int64_t nj, const double *a, double *b,
                               study_dense_times *times) {
  study_site site;
  davit_status status = begin("side", side, product_forms(side), 8, 32, device, &site);
  return status == DAVIT_SUCCESS
             ? launch(run_convolution, &site, study_quotient_up(ni, side) * study_quotient_up(nj, side),
                      times, 0, ni, nj, side, a, a, b)
             : status;
}

davit_status study_atax(int device, int block, int64_t nx, int64_t ny, const double *a, const double *x,
                        double *tmp, double *y, study_dense_times *times) {
  study_site site;
  const sized *forms = atax_forms(block);
  davit_status status = begin("block", block, forms, 16, 512, device, &site);
  if (status == DAVIT_SUCCESS)
    status = launch(forms->run[0], &site, study_quotient_up(nx, block / LANES_OF(block)), times, 0, nx, ny, 0,
                    a, x, tmp);
  if (status == DAVIT_SUCCESS)
    status = launch(forms->run[1], &site, study_quotient_up(ny, block), times, 1, nx, ny, 0, a, tmp, y);
  return status;
}

davit_status study_covariance(int device, int side, int64_t m, int64_t n, double divisor, double *data,
                              double *mean, double *symmat, study_dense_times *times) {
  study_site site;
  const sized *forms = product_forms(side);
  const int64_t tiles = study_quotient_up(n, side < 1 ? 1 : side);
  davit_status status = begin("side", side, forms, 8, 32, device, &site);
  if (status == DAVIT_SUCCESS)
    status =
        launch(run_means, &site, study_quotient_up(n, THREADS), times, 0, m, n, divisor, data, data, mean);
  if (status == DAVIT_SUCCESS)
    status =
        launch(run_centre, &site, study_quotient_up(m * n, THREADS), times, 1, m, n, 0, mean, mean, data);
  if (status == DAVIT_SUCCESS)
    status = launch(forms->run[0], &site, tiles * tiles, times, 2, m, n, 0, data, data, symmat);
  return status;
}
