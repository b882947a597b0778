/* SPDX-License-Identifier: Apache-2.0 */
/* Q R of a tall matrix by Cholesky's factorisation of its Gram matrix, and Householder's reflectors of that Q: products
 * of whole matrices in place of a column at a time. Sources: Yamamoto, Nakatsukasa, Yanagisawa and Fukaya, "Roundoff
 * error analysis of the CholeskyQR2 algorithm", ETNA 44, 2015; Ballard, Demmel, Grigori, Jacquelin, Nguyen and Solomonik,
 * "Reconstructing Householder vectors from tall-skinny QR", IPDPS 2014. The order of the steps is written once, for any
 * site (dvt_cholesky_qr_forms). */
#ifndef DAVIT_REF_CHOLESKY_QR_H
#define DAVIT_REF_CHOLESKY_QR_H

#include "ref/blas.h"

/* What a pass has found of its Q. */
enum {
  DVT_ORTHONORMAL, /* but for a difference E of Q' Q from the unit matrix that one correction removes */
  DVT_NEARLY,      /* another pass makes it so */
  DVT_DEPENDENT /* the columns are too near to dependent ones, or not finite: another method has to do it */
};

/* A pass: Q, m × n with m > n > 0, dense, is multiplied by the inverse of the Cholesky factor of `gram` = Q' Q; R,
 * n × n, dense, is multiplied by that factor from the left. The first pass, with `a`, begins with Q = A and R = 1; A =
 * Q R. `gram`, n × n, dense, is Q' Q before and behind each pass. *found, which the host reads, is what the pass has
 * found. 4 m n² flops, the first one 6 m n². */
typedef struct dvt_cholesky_qr {
  davit_type type;
  int64_t m, n;
  const void *a; /* or NULL */
  int64_t lda;
  void *q, *r, *gram;
  int *found;
} dvt_cholesky_qr;

davit_status dvt_cholesky_qr_host(const dvt_site *site, const void *cholesky_qr);

/* From a Q that was found to be orthonormal what geqrf and dvt_reflect make of A: V in `a`, R and the reflectors in
 * `top`, their T and tau, with LAPACK's signs. Overwrites R and `gram`. 2 m n² flops and 3 n³. */
typedef struct dvt_reconstruct {
  davit_type type;
  int64_t m, n;
  const void *q;
  void *r, *gram;
  void *a;
  int64_t lda;
  void *tau, *top, *t;
} dvt_reconstruct;

davit_status dvt_reconstruct_host(const dvt_site *site, const void *reconstruct);

/* ---- the order of the steps ---- */

/* How a site takes a step; matrices are n × n and dense where nothing else is said. */
typedef struct dvt_cholesky_qr_forms {
  davit_status (*level3)(const dvt_site *site, const void *level3);
  davit_status (*potrf)(const dvt_site *site, const void *potrf); /* *info where the host reads it */
  davit_status (*copy)(const dvt_site *site, davit_type type, int64_t m, int64_t n, const void *from,
                       int64_t ldf, void *to); /* m × n */
  /* R becomes the upper triangle of A, with 0 below. */
  davit_status (*upper)(const dvt_site *site, davit_type type, int64_t n, const void *a, void *r);
  /* *found is 0, or what potrf has found: becomes what the distance of `gram`'s upper triangle from 1 says. */
  davit_status (*judge)(const dvt_site *site, davit_type type, int64_t n, const void *gram, int *found);
  /* With E = gram - 1 and its half H, upper, of half the diagonal: `gram` becomes 1 + H, T becomes 1 - H. */
  davit_status (*correct)(const dvt_site *site, davit_type type, int64_t n, void *gram, void *t);
  /* S, of leading dimension ld and order n <= `narrow`, minus signs on the diagonal, becomes L and U; each sign is the
   * opposite of what stands on the diagonal then. */
  davit_status (*eliminate)(const dvt_site *site, davit_type type, int64_t n, void *s, int64_t ld);
  int64_t (*narrow)(davit_type type);
  /* `gram` is L and U, and R the triangle without LAPACK's signs: top, tau, the top of `a`; and T = -U S. */
  davit_status (*finish)(const dvt_site *site, const dvt_reconstruct *r);
} dvt_cholesky_qr_forms;

davit_status dvt_cholesky_qr_steps(const dvt_site *site, const dvt_cholesky_qr *c,
                                   const dvt_cholesky_qr_forms *forms);
davit_status dvt_reconstruct_steps(const dvt_site *site, const dvt_reconstruct *r,
                                   const dvt_cholesky_qr_forms *forms);

/* The judgement: `most` is the largest difference of an element of Q' Q from those of the unit matrix. A correction by
 * H leaves H' H, of which each element is below n most². */
static inline int dvt_cholesky_qr_found(int64_t n, double most, double epsilon) {
  return (double)n * most * most <= epsilon ? DVT_ORTHONORMAL : most < 0.5 ? DVT_NEARLY : DVT_DEPENDENT;
}

#endif
