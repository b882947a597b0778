/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/factored.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/allocate.h"

/* ---- systems ---- */

static dvt_level3 triangle_of(const dvt_getrs *s, char uplo) {
  return dvt_solve_left(s->type, uplo, s->trans, uplo == 'L' ? 'U' : 'N', s->n, s->nrhs, s->a, s->lda, s->b,
                        s->ldb);
}

davit_status dvt_getrs_host(const dvt_site *site, const void *getrs) {
  const dvt_getrs *s = getrs;
  const bool plain = s->trans == 'N';
  const dvt_level3 first = triangle_of(s, plain ? 'L' : 'U'), second = triangle_of(s, plain ? 'U' : 'L');
  const size_t n = (size_t)s->n;
  int *lists = dvt_allocate_raw((5 * n + 1) * sizeof *lists);
  if (!lists)
    return DAVIT_OUT_OF_HOST_MEMORY;
  int *to = lists + n, *from = to + 2 * n;
  const int64_t count = dvt_pivots_to_rows(s->ipiv, 0, 0, s->n, s->n, lists, to, from);
  const dvt_permute permute = {s->type, s->nrhs, s->b, s->ldb, count, plain ? to : from, plain ? from : to};
  davit_status status = plain ? dvt_permute_host(site, &permute) : DAVIT_SUCCESS;
  if (status == DAVIT_SUCCESS)
    status = dvt_level3_host(site, &first);
  if (status == DAVIT_SUCCESS)
    status = dvt_level3_host(site, &second);
  if (status == DAVIT_SUCCESS && !plain)
    status = dvt_permute_host(site, &permute);
  free(lists);
  return status;
}

/* ---- products with Q ---- */

enum { BLOCK = 96 }; /* reflectors at a time */

/* Reflectors of A from `first` on, as many as a block has, times C; `panel` has room for them, their squares and
 * tau. */
typedef struct multiplying {
  const dvt_site *site;
  davit_type type;
  bool right, adjoint;
  bool columns;   /* C has columns of the unit matrix, of which a block leaves those before it as they are */
  int64_t length; /* of a reflector */
  int64_t k;
  const char *a;
  int64_t lda;
  const char *tau;
  char *c;
  int64_t m, n, ldc;
  char *room;
} multiplying;

static davit_status multiply_block(const multiplying *q, int64_t first) {
  const size_t element = davit_type_bytes(q->type);
  const int64_t k = q->k - first < BLOCK ? q->k - first : BLOCK, rows = q->length - first;
  char *v = q->room, *t = v + (size_t)(rows * k) * element, *top = t + (size_t)(k * k) * element;
  for (int64_t j = 0; j < k; j++)
    memcpy(v + (size_t)(j * rows) * element, q->a + (size_t)(first + (first + j) * q->lda) * element,
           (size_t)rows * element);
  const dvt_reflect reflect = {q->type, rows, k, v, rows, q->tau + (size_t)first * element, top, t};
  DVT_TRY(dvt_reflect_host(q->site, &reflect));
  const dvt_reflector reflector = {
      .type = q->type,
      .right = q->right,
      .adjoint = q->adjoint,
      .m = q->right ? q->m : rows,
      .n = q->right     ? rows
           : q->columns ? q->n - first
                        : q->n,
      .k = k,
      .v = v,
      .ldv = rows,
      .t = t,
      .c = q->c + (size_t)((q->right ? 0 : first) + (q->right || q->columns ? first * q->ldc : 0)) * element,
      .ldc = q->ldc};
  return dvt_reflector_host(q->site, &reflector);
}

static davit_status multiply(multiplying *q, bool ascending) {
  const int64_t k = q->k < BLOCK ? q->k : BLOCK, blocks = (q->k + BLOCK - 1) / BLOCK;
  davit_status status = DAVIT_SUCCESS;
  q->room = dvt_allocate_raw(((size_t)(q->length * k) + 2 * (size_t)(k * k) + 1) * davit_type_bytes(q->type));
  if (!q->room)
    return DAVIT_OUT_OF_HOST_MEMORY;
  for (int64_t i = 0; i < blocks && status == DAVIT_SUCCESS; i++)
    status = multiply_block(q, (ascending ? i : blocks - 1 - i) * BLOCK);
  free(q->room);
  return status;
}

davit_status dvt_ormqr_host(const dvt_site *site, const void *ormqr) {
  const dvt_ormqr *p = ormqr;
  if (p->m == 0 || p->n == 0)
    return DAVIT_SUCCESS;
  multiplying q = {.site = site,
                   .type = p->type,
                   .right = p->side == 'R',
                   .adjoint = p->trans != 'N',
                   .length = p->side == 'R' ? p->n : p->m,
                   .k = p->k,
                   .a = p->a,
                   .lda = p->lda,
                   .tau = p->tau,
                   .c = p->c,
                   .m = p->m,
                   .n = p->n,
                   .ldc = p->ldc};
  return multiply(&q, q.right != q.adjoint);
}

davit_status dvt_orgqr_host(const dvt_site *site, const void *orgqr) {
  const dvt_orgqr *p = orgqr;
  const size_t element = davit_type_bytes(p->type);
  if (p->m == 0 || p->n == 0)
    return DAVIT_SUCCESS;
  char *v = dvt_allocate_raw((size_t)(p->m * p->k + 1) * element);
  if (!v)
    return DAVIT_OUT_OF_HOST_MEMORY;
  for (int64_t j = 0; j < p->k; j++)
    memcpy(v + (size_t)(j * p->m) * element, (const char *)p->a + (size_t)(j * p->lda) * element,
           (size_t)p->m * element);
  const dvt_unit unit = {p->type, p->m, p->n, p->a, p->lda, 0, true};
  multiplying q = {.site = site,
                   .type = p->type,
                   .columns = true,
                   .length = p->m,
                   .k = p->k,
                   .a = v,
                   .lda = p->m,
                   .tau = p->tau,
                   .c = p->a,
                   .m = p->m,
                   .n = p->n,
                   .ldc = p->lda};
  davit_status status = dvt_unit_host(site, &unit);
  if (status == DAVIT_SUCCESS)
    status = multiply(&q, false);
  free(v);
  return status;
}

/* ---- parts ---- */

davit_status dvt_fetch_host(const dvt_site *site, const void *fetch) {
  const dvt_fetch *f = fetch;
  (void)site;
  memcpy(f->to, f->from, (size_t)f->count * sizeof *f->to);
  return DAVIT_SUCCESS;
}

#define DEFINE(name, T, CONJ)                                                                                \
  static void unit_##name(const dvt_unit *u) {                                                               \
    T *a = u->a;                                                                                             \
    for (int64_t j = 0; j < u->n; j++)                                                                       \
      for (int64_t i = 0; i < u->m && (u->below || i <= j + u->diagonal); i++)                               \
        a[i + j * u->ld] = i == j + u->diagonal;                                                             \
  }                                                                                                          \
                                                                                                             \
  static void adjoint_##name(const dvt_adjoint *p) {                                                         \
    enum { SIDE = 32 };                                                                                      \
    const T *a = p->a;                                                                                       \
    T *b = p->b;                                                                                             \
    for (int64_t c = 0; c < p->n; c += SIDE)                                                                 \
      for (int64_t r = 0; r < p->m; r += SIDE)                                                               \
        for (int64_t i = r; i < r + SIDE && i < p->m; i++)                                                   \
          for (int64_t j = c; j < c + SIDE && j < p->n; j++)                                                 \
            b[j + i * p->ldb] = CONJ(a[i + j * p->lda]);                                                     \
  }
#define SAME(x) (x)
DEFINE(double, double, SAME)
DEFINE(float, float, SAME)
DEFINE(complex_double, double _Complex, ~)
DEFINE(complex_float, float _Complex, ~)

#define BY_TYPE(type, name)                                                                                  \
  ((type) == DAVIT_DOUBLE           ? name##double                                                           \
   : (type) == DAVIT_FLOAT          ? name##float                                                            \
   : (type) == DAVIT_COMPLEX_DOUBLE ? name##complex_double                                                   \
                                    : name##complex_float)

davit_status dvt_unit_host(const dvt_site *site, const void *unit) {
  const dvt_unit *u = unit;
  (void)site;
  BY_TYPE(u->type, unit_)(u);
  return DAVIT_SUCCESS;
}

davit_status dvt_adjoint_host(const dvt_site *site, const void *adjoint) {
  const dvt_adjoint *p = adjoint;
  (void)site;
  BY_TYPE(p->type, adjoint_)(p);
  return DAVIT_SUCCESS;
}
