/* SPDX-License-Identifier: Apache-2.0 */
/* nrm2 and asum on the CPU, in double. A sum of squares that is neither infinite nor so small that squares
 * may have been lost needs no scaling; else ref/norm.h computes it again. A complex vector is a real one of
 * twice the length: asum adds |real| + |imaginary part|, as BLAS does. LANES partial sums are added in a
 * fixed order. */
#include "ref/norm.h"

#include <float.h>

#include "ref/blas.h"

enum { LANES = 16 };

/* Elements i0 and i1 of a vector of `parts` real numbers each, i * step apart. */
#define DEFINE(T)                                                                                            \
  static double sum_##T(int64_t n, const T *x, int64_t step, int parts, bool squares) {                      \
    double lanes[LANES] = {0}, sum = 0;                                                                      \
    if (step == 1)                                                                                           \
      n *= parts, parts = 1;                                                                                 \
    for (int64_t i = 0; i < n; i++)                                                                          \
      for (int part = 0; part < parts; part++) {                                                             \
        const double value = (double)x[i * step * parts + part];                                             \
        lanes[i % LANES] += squares ? value * value : fabs(value);                                           \
      }                                                                                                      \
    for (int lane = 0; lane < LANES; lane++)                                                                 \
      sum += lanes[lane];                                                                                    \
    return sum;                                                                                              \
  }                                                                                                          \
                                                                                                             \
  static double norm_##T(int64_t n, const T *x, int64_t step, int parts) {                                   \
    const double sum = sum_##T(n, x, step, parts, true);                                                     \
    if (sum <= DBL_MAX && sum >= (double)n * (DBL_MIN / DBL_EPSILON))                                        \
      return sqrt(sum);                                                                                      \
    dvt_squares scaled = {0, 0, 0};                                                                          \
    for (int64_t i = 0; i < n; i++)                                                                          \
      for (int part = 0; part < parts; part++)                                                               \
        dvt_squares_add(&scaled, (double)x[i * step * parts + part]);                                        \
    return dvt_squares_root(&scaled);                                                                        \
  }
DEFINE(double)
DEFINE(float)

davit_status dvt_norm_host(const dvt_site *site, const void *norm) {
  const dvt_norm *g = norm;
  const int64_t n = g->n > 0 ? g->n : 0, step = g->incx < 0 ? -g->incx : g->incx;
  const int parts = g->type >= DAVIT_COMPLEX_FLOAT ? 2 : 1;
  (void)site;
  if (dvt_real_type(g->type) == DAVIT_DOUBLE)
    *(double *)g->result =
        (g->squares ? norm_double(n, g->x, step, parts) : sum_double(n, g->x, step, parts, false));
  else
    *(float *)g->result =
        (float)(g->squares ? norm_float(n, g->x, step, parts) : sum_float(n, g->x, step, parts, false));
  return DAVIT_SUCCESS;
}
