/* SPDX-License-Identifier: Apache-2.0 */
/* Inverses: their arguments, the recursion that all forms share, and the host form. */
#ifndef DAVIT_REF_INVERSE_H
#define DAVIT_REF_INVERSE_H

#include "ref/blas.h"

typedef enum dvt_inverse_kind {
  DVT_TRTRI, /* of a triangle */
  DVT_POTRI, /* of a matrix whose Cholesky factor is given: the same half of the inverse */
  DVT_GETRI, /* of a matrix that is given as L U, with the pivots of its rows */
  DVT_INVERSES,
  /* Steps of those above: */
  DVT_LAUUM =
      DVT_INVERSES, /* L' L of a lower triangle L, U U' of an upper one; ' is the conjugate transpose */
  DVT_CLEAR         /* what is below the diagonal becomes 0 */
} dvt_inverse_kind;

/* In place, as LAPACK has it. *info is 0, or the number, from 1, of the first 0 on the diagonal: then A is as it was.
 * Of a triangle the other half is not used. */
typedef struct dvt_inverse {
  dvt_inverse_kind kind;
  davit_type type;
  char uplo, diag;
  int64_t n;
  void *a;
  int64_t lda;
  const int *ipiv; /* of getri, on the host */
  int *info;       /* on the host */
  void *
      scratch; /* of getri: dvt_inverse_scratch() bytes where A is, or on the host where `level3` takes both */
} dvt_inverse;

/* Bytes of scratch memory, where getri takes `columns` columns at a time. */
size_t dvt_inverse_scratch(const dvt_inverse *p, int64_t columns);

/* Where a matrix is inverted: what the recursion calls there. */
typedef enum dvt_inverse_way { DVT_WITHIN, DVT_TO_HOST, DVT_FROM_HOST } dvt_inverse_way;

typedef struct dvt_inverter dvt_inverter;
struct dvt_inverter {
  void *context;
  int64_t block;   /* the order of a triangle that is no longer halved */
  int64_t columns; /* that getri takes at a time */
  davit_status (*level3)(const dvt_inverter *on, const dvt_level3 *g);
  /* trtri, lauum or clear of one block. */
  davit_status (*small)(const dvt_inverter *on, const dvt_inverse *block);
  /* Columns of contiguous bytes; the host may use what has come there on the return, and change what has left. */
  davit_status (*copy)(const dvt_inverter *on, dvt_inverse_way way, void *to, size_t to_pitch,
                       const void *from, size_t from_pitch, size_t row_bytes, size_t cols);
};

davit_status dvt_inverse_by(const dvt_inverter *on, const dvt_inverse *p);

/* A `small` that copies the block to the host and back; what is not the block's comes back as it was. */
davit_status dvt_inverse_fetched(const dvt_inverter *on, const dvt_inverse *block);

enum { DVT_INVERSE_COLUMNS = 256 }; /* of the host form and those of devices */
davit_status dvt_inverse_host(const dvt_site *site, const void *inverse);

#endif
