/* SPDX-License-Identifier: Apache-2.0 */
/* LU factorisation: its arguments, and the host forms of it and of what a distributed one needs besides level 3. */
#ifndef DAVIT_REF_LU_H
#define DAVIT_REF_LU_H

#include "ref/blas.h"

/* A = P L U, m × n, in place, with partial pivoting: LAPACK's getrf. ipiv: min(m, n) numbers of rows of `a` from 1 on;
 * row j was exchanged with row ipiv[j], in that order. *info is 0, or the first k for which U(k, k) is exactly 0; the
 * factorisation is completed all the same. The pivot is the first of the largest |real| + |imaginary part|. A NaN in
 * the pivot's place stays there, elsewhere it is never the pivot, as in the reference BLAS. n² (m - n / 3) flops,
 * n <= m. */
typedef struct dvt_getrf {
  davit_type type;
  int64_t m, n;
  void *a;
  int64_t lda;
  int *ipiv;
  int *info;
  bool on_device; /* ipiv and info lie in the memory of the site's device */
} dvt_getrf;

davit_status dvt_getrf_host(const dvt_site *site, const void *getrf);

/* Rows of a matrix of n columns in a new order: row to[i] gets what row from[i] had, i < count. `to` and `from` have
 * the same set of numbers, from 0 on. The site's threads share the columns. */
typedef struct dvt_permute {
  davit_type type;
  int64_t n;
  void *a;
  int64_t lda;
  int64_t count;
  const int *to, *from;
} dvt_permute;

davit_status dvt_permute_host(const dvt_site *site, const void *permute);

/* That order of a sequence of interchanges: rows first + j and ipiv[j] - 1 + base are exchanged for j = 0 … count - 1.
 * Writes at most 2 * count pairs to `to` and `from`, without the rows that stay, and returns how many. All rows are
 * below `rows`, and `scratch`, which needs no values, has room for so many; O(count). */
int64_t dvt_pivots_to_rows(const int *ipiv, int64_t first, int64_t base, int64_t count, int64_t rows,
                           int *scratch, int *to, int *from);

#endif
