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

GRID(convolution_grid, (int)(r *r), (in, in2, out), convolution(team, (int64_t)r, p, q, in, out))
GRID(means_grid, THREADS, (in, in2, out), means(team, p, q, r, in, out))
GRID(centre_grid, THREADS, (in, in2, out), centre(team, p, q, in, out))

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

/* One launch and its end, and how long it took. */
static davit_status launch(kernel *k, const study_site *site, int64_t teams, double *ms, PARAMETERS) {
  DVT_TRY(study_check_teams(teams));
  double since = omp_get_wtime();
  k(site, teams, ARGUMENTS);
  *ms = study_lap(&since);
  return DAVIT_SUCCESS;
}

static davit_status run_convolution(const study_site *site, int side, const study_dense_data *d, double *ms) {
  const int64_t teams = study_quotient_up(d->rows, side) * study_quotient_up(d->cols, side);
  return launch(convolution_grid, site, teams, &ms[0], d->rows, d->cols, side, d->a, d->a, d->out);
}

static davit_status run_atax(const study_site *site, int block, const study_dense_data *d, double *ms) {
  kernel *const *kernels = atax_forms(block)->run;
  const int64_t teams = study_quotient_up(d->rows, block / LANES_OF(block));
  DVT_TRY(launch(kernels[0], site, teams, &ms[0], d->rows, d->cols, 0, d->a, d->x, d->tmp));
  return launch(kernels[1], site, study_quotient_up(d->cols, block), &ms[1], d->rows, d->cols, 0, d->a,
                d->tmp, d->out);
}

static davit_status run_covariance(const study_site *site, int side, const study_dense_data *d, double *ms) {
  const int64_t m = d->rows, n = d->cols, tiles = study_quotient_up(n, side);
  DVT_TRY(
      launch(means_grid, site, study_quotient_up(n, THREADS), &ms[0], m, n, d->divisor, d->a, d->a, d->tmp));
  DVT_TRY(
      launch(centre_grid, site, study_quotient_up(m * n, THREADS), &ms[1], m, n, 0, d->tmp, d->tmp, d->a));
  return launch(product_forms(side)->run[0], site, d->symmetric ? tiles * (tiles + 1) / 2 : tiles * tiles,
                &ms[2], m, n, d->symmetric, d->a, d->a, d->out);
}

davit_status study_dense_kernels(study_exercise e, int device, int block, const study_dense_data *data,
                                 study_dense_times *times) {
  static davit_status (*const runs[])(const study_site *, int, const study_dense_data *, double *) = {
      [STUDY_CONVOLUTION] = run_convolution, [STUDY_ATAX] = run_atax, [STUDY_COVARIANCE] = run_covariance};
  study_site site;
  study_dense_times own = {.transfer_ms = 0};
  STUDY_REQUIRE((e == STUDY_ATAX ? atax_forms : product_forms)(block), "%s is %d, not a power of two from %s",
                e == STUDY_ATAX ? "block" : "side", block, e == STUDY_ATAX ? "16 to 512" : "8 to 32");
  DVT_TRY(study_site_of(device, &site));
  DVT_TRY(runs[e](&site, block, data, own.phase_ms));
  if (times)
    *times = own;
  return DAVIT_SUCCESS;
}
