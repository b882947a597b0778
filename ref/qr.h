/* SPDX-License-Identifier: Apache-2.0 */
/* Householder's QR factorisation: its arguments, products with reflectors, and the host forms. */
#ifndef DAVIT_REF_QR_H
#define DAVIT_REF_QR_H

#include "ref/blas.h"

/* A = Q R, m × n, in place, as LAPACK's geqrf: R in the upper triangle (trapezoid), its diagonal real; below it the
 * vectors v of the reflectors H = I - tau v v', whose first element 1 is not stored; their factors in tau, min(m, n)
 * elements of the type. Q = H1 H2 …; ' is the conjugate transpose. 2 n² (m - n / 3) flops where m >= n. */
typedef struct dvt_geqrf {
  davit_type type;
  int64_t m, n;
  void *a;
  int64_t lda;
  void *tau;
} dvt_geqrf;

davit_status dvt_geqrf_host(const dvt_site *site, const void *geqrf);

/* Prepares k reflectors as geqrf leaves them, m × k with m >= k, for products by whole matrices: the k × k square at
 * the top is copied to `top`, and `a` becomes V, with 1 on the diagonal and 0 above it. `t` becomes the T of LAPACK's
 * larft (forward, columnwise), upper triangular with 0 below its diagonal: H1 H2 … Hk = I - V T V'. `top` and `t` are
 * k × k and dense. tau may be 0: H is I. */
typedef struct dvt_reflect {
  davit_type type;
  int64_t m, k;
  void *a;
  int64_t lda;
  const void *tau;
  void *top, *t;
} dvt_reflect;

davit_status dvt_reflect_host(const dvt_site *site, const void *reflect);

/* C = (I - V T V') C, or with `right` C (I - V T V'); with `adjoint` T' in place of T. C is m × n, V m × k (`right`:
 * n × k), and both it and T are as dvt_reflect makes them. */
typedef struct dvt_reflector {
  davit_type type;
  bool right, adjoint;
  int64_t m, n, k;
  const void *v;
  int64_t ldv;
  const void *t;
  void *c;
  int64_t ldc;
} dvt_reflector;

/* Three products, each by `form`, a form of level 3 on the site. `work` has room for 2 k n elements (`right`: 2 m k):
 * forms multiply by T faster as gemm, which needs another matrix for the result, than as trmm in place. */
typedef davit_status (*dvt_level3_form)(const dvt_site *site, const void *level3);
davit_status dvt_reflector_apply(const dvt_site *site, const dvt_reflector *r, void *work,
                                 dvt_level3_form form);

davit_status dvt_reflector_host(const dvt_site *site, const void *reflector);

#endif
