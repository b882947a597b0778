/* SPDX-License-Identifier: Apache-2.0 */
/* x = alpha x on the CPU. Every element is multiplied, so that a NaN or an infinity stays one for alpha = 0
 * as well, where BLIS writes zeros. */
#include "ref/blas.h"

/* Complex numbers are multiplied as in BLAS, by four products. */
#define DEFINE(T)                                                                                            \
  static void scale_##T(int64_t n, T alpha, T *x, int64_t step) {                                            \
    for (int64_t i = 0; i < n; i++)                                                                          \
      x[i * step] *= alpha;                                                                                  \
  }                                                                                                          \
  static void scale_complex_##T(int64_t n, T _Complex alpha, T *x, int64_t step) {                           \
    const T a = __real__ alpha, b = __imag__ alpha;                                                          \
    for (int64_t i = 0; i < 2 * n * step; i += 2 * step) {                                                   \
      const T real = x[i], imaginary = x[i + 1];                                                             \
      x[i] = a * real - b * imaginary;                                                                       \
      x[i + 1] = a * imaginary + b * real;                                                                   \
    }                                                                                                        \
  }
DEFINE(double)
DEFINE(float)

davit_status dvt_scal_host(const dvt_site *site, const void *scal) {
  const dvt_scal *g = scal;
  const int64_t step = g->incx < 0 ? -g->incx : g->incx;
  const dvt_scalar alpha = dvt_scalar_of(g->type, g->alpha);
  (void)site;
  if (g->n <= 0 || g->alpha == 1)
    return DAVIT_SUCCESS;
  if (g->type == DAVIT_DOUBLE)
    scale_double(g->n, alpha.d, g->x, step);
  else if (g->type == DAVIT_FLOAT)
    scale_float(g->n, alpha.s, g->x, step);
  else if (g->type == DAVIT_COMPLEX_DOUBLE)
    scale_complex_double(g->n, alpha.z, g->x, step);
  else
    scale_complex_float(g->n, alpha.c, g->x, step);
  return DAVIT_SUCCESS;
}
