/* SPDX-License-Identifier: Apache-2.0 */
/* Inverses by halves, down to blocks that are done column by column (Du Croz and Higham, "Stability of methods for
 * matrix inversion", IMA J. Numer. Anal. 12, 1992; the order of the work is LAPACK's). */
#include "ref/inverse.h"

#include <stdlib.h>
#include <string.h>

#include "ref/solve.h"
#include "src/base/allocate.h"

enum { BLOCK = 48 }; /* as of ref/solve.c */

static char *at(const dvt_inverse *p, int64_t i, int64_t j) {
  return (char *)p->a + (size_t)(i + j * p->lda) * davit_type_bytes(p->type);
}

/* A square on the diagonal. */
static dvt_inverse part_of(const dvt_inverse *p, dvt_inverse_kind kind, int64_t first, int64_t n) {
  dvt_inverse part = *p;
  part.kind = kind;
  part.a = at(p, first, first);
  part.n = n;
  return part;
}

/* ---- small blocks ---- */

/* A column of the inverse of a triangle is minus the product of the inverse behind it (before it, of 'U') with the
 * column, over its element of the diagonal. An element of L' L is the product of two columns from the diagonal on; a
 * column of U U' the sum of the columns from it on. */
#define DEFINE(name, T, CONJ, REAL)                                                                          \
  static void add_##name(int64_t n, T factor, const T *x, T *y) {                                            \
    for (int64_t i = 0; i < n; i++)                                                                          \
      y[i] += factor * x[i];                                                                                 \
  }                                                                                                          \
                                                                                                             \
  static T invert_element_##name(bool unit, T *diagonal) {                                                   \
    if (unit)                                                                                                \
      return -1;                                                                                             \
    *diagonal = 1 / *diagonal;                                                                               \
    return -*diagonal;                                                                                       \
  }                                                                                                          \
                                                                                                             \
  static void invert_lower_##name(bool unit, int64_t n, T *a, int64_t ld) {                                  \
    for (int64_t j = n - 1; j >= 0; j--) {                                                                   \
      T *x = a + j * ld;                                                                                     \
      const T own = invert_element_##name(unit, x + j);                                                      \
      for (int64_t k = n - 1; k > j; k--) {                                                                  \
        add_##name(n - k - 1, x[k], a + k + 1 + k * ld, x + k + 1);                                          \
        x[k] *= unit ? 1 : a[k + k * ld];                                                                    \
      }                                                                                                      \
      for (int64_t i = j + 1; i < n; i++)                                                                    \
        x[i] *= own;                                                                                         \
    }                                                                                                        \
  }                                                                                                          \
                                                                                                             \
  static void invert_upper_##name(bool unit, int64_t n, T *a, int64_t ld) {                                  \
    for (int64_t j = 0; j < n; j++) {                                                                        \
      T *x = a + j * ld;                                                                                     \
      const T own = invert_element_##name(unit, x + j);                                                      \
      for (int64_t k = 0; k < j; k++) {                                                                      \
        add_##name(k, x[k], a + k * ld, x);                                                                  \
        x[k] *= unit ? 1 : a[k + k * ld];                                                                    \
      }                                                                                                      \
      for (int64_t i = 0; i < j; i++)                                                                        \
        x[i] *= own;                                                                                         \
    }                                                                                                        \
  }                                                                                                          \
                                                                                                             \
  static void square_lower_##name(int64_t n, T *a, int64_t ld) {                                             \
    for (int64_t j = 0; j < n; j++)                                                                          \
      for (int64_t i = j; i < n; i++) {                                                                      \
        T sum = 0;                                                                                           \
        for (int64_t k = i; k < n; k++)                                                                      \
          sum += CONJ(a[k + i * ld]) * a[k + j * ld];                                                        \
        a[i + j * ld] = i == j ? REAL(sum) : sum;                                                            \
      }                                                                                                      \
  }                                                                                                          \
                                                                                                             \
  static void square_upper_##name(int64_t n, T *a, int64_t ld) {                                             \
    for (int64_t j = 0; j < n; j++) {                                                                        \
      T *x = a + j * ld;                                                                                     \
      const T own = CONJ(x[j]);                                                                              \
      for (int64_t i = 0; i <= j; i++)                                                                       \
        x[i] *= own;                                                                                         \
      for (int64_t k = j + 1; k < n; k++)                                                                    \
        add_##name(j + 1, CONJ(a[j + k * ld]), a + k * ld, x);                                               \
      x[j] = REAL(x[j]);                                                                                     \
    }                                                                                                        \
  }                                                                                                          \
                                                                                                             \
  static int64_t find_zero_##name(int64_t n, const void *diagonal) {                                         \
    const T *d = diagonal;                                                                                   \
    int64_t i = 0;                                                                                           \
    while (i < n && d[i] != 0)                                                                               \
      i++;                                                                                                   \
    return i < n ? i + 1 : 0;                                                                                \
  }                                                                                                          \
                                                                                                             \
  static void small_##name(const dvt_inverse *p) {                                                           \
    const bool lower = p->uplo == 'L', unit = p->diag == 'U';                                                \
    if (p->kind == DVT_TRTRI)                                                                                \
      (lower ? invert_lower_##name : invert_upper_##name)(unit, p->n, p->a, p->lda);                         \
    else                                                                                                     \
      (lower ? square_lower_##name : square_upper_##name)(p->n, p->a, p->lda);                               \
  }
#define SAME(x) (x)
DEFINE(double, double, SAME, SAME)
DEFINE(float, float, SAME, SAME)
DEFINE(complex_double, double _Complex, ~, __real__)
DEFINE(complex_float, float _Complex, ~, __real__)

#define BY_TYPE(type, name)                                                                                  \
  ((type) == DAVIT_DOUBLE           ? name##_double                                                          \
   : (type) == DAVIT_FLOAT          ? name##_float                                                           \
   : (type) == DAVIT_COMPLEX_DOUBLE ? name##_complex_double                                                  \
                                    : name##_complex_float)

/* ---- halves ---- */

/* trmm or trsm in place: a block times, or over, the triangle `t`. */
static davit_status with_triangle(const dvt_inverter *on, dvt_routine routine, const dvt_inverse *t,
                                  char side, char trans, double alpha, int64_t m, int64_t n, void *block) {
  const dvt_level3 step = dvt_triangular_of(routine, t->type, side, t->uplo, trans, t->diag, m, n, alpha,
                                            t->a, t->lda, block, t->lda);
  return on->level3(on, &step);
}

typedef struct halves {
  dvt_inverse first, second;
  char *beside; /* of both: below the first, or above the second */
  int64_t m, n;
} halves;

static halves halves_of(const dvt_inverse *t, int64_t block) {
  const int64_t middle = t->n / 2, first = middle >= block ? middle / block * block : middle,
                rest = t->n - first;
  const bool lower = t->uplo == 'L';
  return (halves){part_of(t, t->kind, 0, first), part_of(t, t->kind, first, rest),
                  lower ? at(t, first, 0) : at(t, 0, first), lower ? rest : first, lower ? first : rest};
}

static davit_status invert(const dvt_inverter *on, const dvt_inverse *t) {
  if (t->n <= on->block)
    return on->small(on, t);
  const halves h = halves_of(t, on->block);
  const bool lower = t->uplo == 'L';
  DVT_TRY(with_triangle(on, DVT_TRSM, lower ? &h.second : &h.first, 'L', 'N', -1, h.m, h.n, h.beside));
  DVT_TRY(with_triangle(on, DVT_TRSM, lower ? &h.first : &h.second, 'R', 'N', 1, h.m, h.n, h.beside));
  DVT_TRY(invert(on, &h.first));
  return invert(on, &h.second);
}

static davit_status square(const dvt_inverter *on, const dvt_inverse *t) {
  if (t->n <= on->block)
    return on->small(on, t);
  const halves h = halves_of(t, on->block);
  const bool lower = t->uplo == 'L';
  const char adjoint = dvt_adjoint_of(t->type);
  DVT_TRY(square(on, &h.first));
  const dvt_level3 update = dvt_rank_k_of(t->type, t->uplo, lower ? adjoint : 'N', h.first.n, h.second.n, 1,
                                          h.beside, t->lda, 1, h.first.a, t->lda);
  DVT_TRY(on->level3(on, &update));
  DVT_TRY(with_triangle(on, DVT_TRMM, &h.second, lower ? 'L' : 'R', adjoint, 1, h.m, h.n, h.beside));
  return square(on, &h.second);
}

/* ---- X L = U^-1 ---- */

/* Rows `from` … `end` of X's columns j … minus those behind them, `known` …, times what is L's there, which is in the
 * scratch memory. What is below the columns' own rows was L, and counts as 0. */
static davit_status subtract_known(const dvt_inverter *on, const dvt_inverse *p, int64_t from, int64_t end,
                                   int64_t j, int64_t known, const void *l, double beta) {
  const int64_t rows = p->n - j;
  const dvt_level3 product = dvt_gemm_of(p->type, 'N', 'N', end - from, known - j, p->n - known, -1,
                                         at(p, from, known), p->lda, l, rows, beta, at(p, from, j), p->lda);
  return on->level3(on, &product);
}

/* Columns j to `end` of X, from those behind them. */
static davit_status solve_columns(const dvt_inverter *on, const dvt_inverse *p, int64_t j, int64_t end) {
  const size_t element = davit_type_bytes(p->type), rows = (size_t)(p->n - j), width = (size_t)(end - j);
  const dvt_inverse own = part_of(p, DVT_CLEAR, j, end - j);
  DVT_TRY(on->copy(on, DVT_WITHIN, p->scratch, rows * element, own.a, (size_t)p->lda * element,
                   rows * element, width));
  DVT_TRY(on->small(on, &own));
  if (end < p->n) {
    const char *below = (char *)p->scratch + width * element;
    DVT_TRY(subtract_known(on, p, 0, end, j, end, below, 1));
    DVT_TRY(subtract_known(on, p, end, p->n, j, end, below, 0));
  }
  const dvt_level3 solve = dvt_triangular_of(DVT_TRSM, p->type, 'R', 'L', 'N', 'U', p->n, end - j, 1,
                                             p->scratch, p->n - j, at(p, 0, j), p->lda);
  return on->level3(on, &solve);
}

/* Column j becomes what was column order[j]. Each cycle of columns takes one out of the way; afterwards order[j] is
 * j. */
static davit_status move_columns(const dvt_inverter *on, const dvt_inverse *p, int *order) {
  const size_t bytes = (size_t)p->n * davit_type_bytes(p->type);
  for (int64_t begin = 0; begin < p->n; begin++) {
    if (order[begin] == begin)
      continue;
    int64_t j = begin;
    DVT_TRY(on->copy(on, DVT_WITHIN, p->scratch, bytes, at(p, 0, j), bytes, bytes, 1));
    for (int64_t next; (next = order[j]) != begin; j = next) {
      DVT_TRY(on->copy(on, DVT_WITHIN, at(p, 0, j), bytes, at(p, 0, next), bytes, bytes, 1));
      order[j] = (int)j;
    }
    DVT_TRY(on->copy(on, DVT_WITHIN, at(p, 0, j), bytes, p->scratch, bytes, bytes, 1));
    order[j] = (int)j;
  }
  return DAVIT_SUCCESS;
}

/* Rows that getrf exchanged, from the first to the last, are columns of the inverse, from the last to the first. */
static davit_status read_pivots(const dvt_inverse *p, int *order) {
  for (int64_t i = 0; i < p->n; i++) {
    if (p->ipiv[i] < 1 || p->ipiv[i] > p->n)
      return davit_fail(DAVIT_INVALID_ARGUMENT, "ipiv[%lld] is %d, not 1 to %lld", (long long)i, p->ipiv[i],
                        (long long)p->n);
    order[i] = (int)i;
  }
  for (int64_t i = p->n - 2; i >= 0; i--) {
    const int other = p->ipiv[i] - 1, moved = order[i];
    order[i] = order[other];
    order[other] = moved;
  }
  return DAVIT_SUCCESS;
}

static davit_status invert_factors(const dvt_inverter *on, const dvt_inverse *p, int *order) {
  DVT_TRY(read_pivots(p, order));
  const dvt_inverse upper = part_of(p, DVT_TRTRI, 0, p->n);
  DVT_TRY(invert(on, &upper));
  for (int64_t end = p->n, j; end > 0; end = j) {
    j = (end - 1) / on->columns * on->columns;
    DVT_TRY(solve_columns(on, p, j, end));
  }
  return move_columns(on, p, order);
}

static davit_status invert_general(const dvt_inverter *on, const dvt_inverse *p) {
  int *order = dvt_allocate_raw((size_t)p->n * sizeof *order);
  if (!order)
    return DAVIT_OUT_OF_HOST_MEMORY;
  const davit_status status = invert_factors(on, p, order);
  free(order);
  return status;
}

size_t dvt_inverse_scratch(const dvt_inverse *p, int64_t columns) {
  const int64_t width = p->n < columns ? p->n : columns;
  return p->kind == DVT_GETRI ? (size_t)(p->n * width) * davit_type_bytes(p->type) : 0;
}

/* ---- the whole ---- */

static davit_status find_zero(const dvt_inverter *on, const dvt_inverse *p) {
  const size_t element = davit_type_bytes(p->type);
  *p->info = 0;
  if (p->diag == 'U')
    return DAVIT_SUCCESS;
  void *diagonal = dvt_allocate_raw((size_t)p->n * element);
  if (!diagonal)
    return DAVIT_OUT_OF_HOST_MEMORY;
  const davit_status status = on->copy(on, DVT_TO_HOST, diagonal, element, p->a,
                                       (size_t)(p->lda + 1) * element, element, (size_t)p->n);
  if (status == DAVIT_SUCCESS)
    *p->info = (int)BY_TYPE(p->type, find_zero)(p->n, diagonal);
  free(diagonal);
  return status;
}

davit_status dvt_inverse_by(const dvt_inverter *on, const dvt_inverse *p) {
  dvt_inverse t = *p;
  if (p->n == 0 || p->kind == DVT_LAUUM) {
    *p->info = 0;
    return p->n == 0 ? DAVIT_SUCCESS : square(on, p);
  }
  DVT_TRY(find_zero(on, p));
  if (*p->info)
    return DAVIT_SUCCESS;
  if (p->kind == DVT_GETRI)
    return invert_general(on, p);
  t.kind = DVT_TRTRI;
  DVT_TRY(invert(on, &t));
  t.kind = DVT_LAUUM;
  return p->kind == DVT_POTRI ? square(on, &t) : DAVIT_SUCCESS;
}

/* ---- the host ---- */

static davit_status level3_host(const dvt_inverter *on, const dvt_level3 *g) {
  return dvt_level3_host(on->context, g);
}

static davit_status small_host(const dvt_inverter *on, const dvt_inverse *block) {
  (void)on;
  if (block->kind == DVT_CLEAR)
    for (int64_t j = 0; j + 1 < block->n; j++)
      memset(at(block, j + 1, j), 0, (size_t)(block->n - j - 1) * davit_type_bytes(block->type));
  else
    BY_TYPE(block->type, small)(block);
  return DAVIT_SUCCESS;
}

static davit_status copy_host(const dvt_inverter *on, dvt_inverse_way way, void *to, size_t to_pitch,
                              const void *from, size_t from_pitch, size_t row_bytes, size_t cols) {
  (void)on, (void)way;
  for (size_t j = 0; j < cols; j++)
    memcpy((char *)to + j * to_pitch, (const char *)from + j * from_pitch, row_bytes);
  return DAVIT_SUCCESS;
}

static dvt_inverter inverter_on_host(dvt_site *site) {
  return (dvt_inverter){site, BLOCK, DVT_INVERSE_COLUMNS, level3_host, small_host, copy_host};
}

davit_status dvt_inverse_host(const dvt_site *site, const void *inverse) {
  dvt_site own = *site;
  const dvt_inverter host = inverter_on_host(&own);
  return dvt_inverse_by(&host, inverse);
}

static davit_status compute_fetched(const dvt_inverse *block) {
  dvt_site one = {.threads = 1};
  const dvt_inverter host = inverter_on_host(&one);
  return block->kind == DVT_CLEAR   ? small_host(&host, block)
         : block->kind == DVT_TRTRI ? invert(&host, block)
                                    : square(&host, block);
}

davit_status dvt_inverse_fetched(const dvt_inverter *on, const dvt_inverse *block) {
  const size_t row_bytes = (size_t)block->n * davit_type_bytes(block->type),
               pitch = (size_t)block->lda * davit_type_bytes(block->type);
  dvt_inverse copy = *block;
  copy.lda = block->n;
  copy.a = dvt_allocate_raw(row_bytes * (size_t)block->n);
  if (!copy.a)
    return DAVIT_OUT_OF_HOST_MEMORY;
  davit_status status =
      on->copy(on, DVT_TO_HOST, copy.a, row_bytes, block->a, pitch, row_bytes, (size_t)block->n);
  if (status == DAVIT_SUCCESS)
    status = compute_fetched(&copy);
  if (status == DAVIT_SUCCESS)
    status = on->copy(on, DVT_FROM_HOST, block->a, pitch, copy.a, row_bytes, row_bytes, (size_t)block->n);
  free(copy.a);
  return status;
}
