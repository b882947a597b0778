/* SPDX-License-Identifier: Apache-2.0 */
/* What the reference library exports and BLIS lacks, and xerbla_. */
#include <stdio.h>
#include <stdlib.h>

#include "src/dropin/dropin.h"

/* The netlib testers of CBLAS refer to these. */
DVT_EXPORT int CBLAS_CallFromC;
DVT_EXPORT int RowMajorStrg;

void crotg_(void *a, const void *b, float *c, void *s);
void zrotg_(void *a, const void *b, double *c, void *s);
void csrot_(const dvt_int *n, void *x, const dvt_int *incx, void *y, const dvt_int *incy, const float *c,
            const float *s);
void zdrot_(const dvt_int *n, void *x, const dvt_int *incx, void *y, const dvt_int *incy, const double *c,
            const double *s);
float scabs1_(const void *z);
double dcabs1_(const void *z);

DVT_EXPORT void cblas_crotg(void *a, void *b, float *c, void *s);
DVT_EXPORT void cblas_zrotg(void *a, void *b, double *c, void *s);
DVT_EXPORT void cblas_csrot(dvt_int n, void *x, dvt_int incx, void *y, dvt_int incy, float c, float s);
DVT_EXPORT void cblas_zdrot(dvt_int n, void *x, dvt_int incx, void *y, dvt_int incy, double c, double s);
DVT_EXPORT float cblas_scabs1(const void *z);
DVT_EXPORT double cblas_dcabs1(const void *z);
DVT_EXPORT void scabs1sub_(const void *z, float *result);
DVT_EXPORT void dcabs1sub_(const void *z, double *result);
DVT_EXPORT void xerbla_(const char *name, const dvt_int *argument, size_t length);

void cblas_crotg(void *a, void *b, float *c, void *s) {
  DVT_BLIS(crotg_)(a, b, c, s);
}

void cblas_zrotg(void *a, void *b, double *c, void *s) {
  DVT_BLIS(zrotg_)(a, b, c, s);
}

void cblas_csrot(dvt_int n, void *x, dvt_int incx, void *y, dvt_int incy, float c, float s) {
  DVT_BLIS(csrot_)(&n, x, &incx, y, &incy, &c, &s);
}

void cblas_zdrot(dvt_int n, void *x, dvt_int incx, void *y, dvt_int incy, double c, double s) {
  DVT_BLIS(zdrot_)(&n, x, &incx, y, &incy, &c, &s);
}

float cblas_scabs1(const void *z) {
  return DVT_BLIS(scabs1_)(z);
}

double cblas_dcabs1(const void *z) {
  return DVT_BLIS(dcabs1_)(z);
}

void scabs1sub_(const void *z, float *result) {
  *result = DVT_BLIS(scabs1_)(z);
}

void dcabs1sub_(const void *z, double *result) {
  *result = DVT_BLIS(dcabs1_)(z);
}

/* Reports the first wrong argument of a routine by its number, and stops the program, as the BLAS standard
 * has it. The program's own xerbla_ comes first: in an executable because its names are found before those
 * of libraries, in a library that this one was preloaded before (Octave's, LAPACK's, NumPy's) because it is
 * asked for here. `length` is the hidden length of the Fortran string `name`, which ends in blanks and in no
 * NUL; callers from C may have passed none. */
void xerbla_(const char *name, const dvt_int *argument, size_t length) {
  void (*next)(const char *, const dvt_int *, size_t) =
      (void (*)(const char *, const dvt_int *, size_t))(uintptr_t)dvt_next_xerbla();
  if (next) {
    next(name, argument, length);
    return;
  }
  int visible = 0;
  while (visible < 32 && (size_t)visible < length && name[visible] > ' ')
    visible++;
  fprintf(stderr, " ** On entry to %.*s parameter number %2lld had an illegal value\n", visible, name,
          (long long)*argument);
  exit(EXIT_FAILURE);
}
