/* SPDX-License-Identifier: Apache-2.0 */
#include <davit/level3.h>

#include "src/base/check.h"
#include "src/mpi/multiply.h"

/* One process alone has no panels to broadcast. */
static davit_status run_single(const dvt_product *p) {
  const davit_level3_options options = {.devices = p->devices, .device_count = p->device_count};
  const char transa = p->a.unit == 0 ? 'N' : 'T', transb = p->b.unit == 1 ? 'N' : 'T';
  const int64_t m = p->c.distribution[0].n, n = p->c.distribution[1].n, lda = dvt_view_ld(&p->a),
                ldb = dvt_view_ld(&p->b), ldc = dvt_view_ld(&p->c);
  const void *a = p->a.data, *b = p->b.data;
  void *c = p->c.data;
  return p->type == DAVIT_FLOAT
             ? davit_sgemm(transa, transb, m, n, p->k, (float)p->alpha, a, lda, b, ldb, (float)p->beta, c,
                           ldc, &options)
             : davit_dgemm(transa, transb, m, n, p->k, p->alpha, a, lda, b, ldb, p->beta, c, ldc, &options);
}

/* What a call is told, but the parts of a rank. */
typedef struct call {
  char transa, transb;
  int64_t m, n, k;
  double alpha, beta;
  int64_t ia, ja, ib, jb, ic, jc;
  const int *desca, *descb, *descc;
} call;

static uint64_t digest_of(davit_type type, const call *c, int64_t width) {
  uint64_t digest = DVT_MPI_DIGEST_NUMBERS(type, c->transa, c->transb, c->m, c->n, c->k, c->ia, c->ja, c->ib,
                                           c->jb, c->ic, c->jc, width);
  digest = DVT_MPI_DIGEST(DVT_MPI_DIGEST(digest, c->alpha), c->beta);
  return dvt_grid_digest(dvt_grid_digest(dvt_grid_digest(digest, c->desca), c->descb), c->descc);
}

static davit_status check(dvt_product *p, call *c, const void *a, const void *b, const void *data,
                          const davit_mpi_options *options) {
  DVT_TRY(dvt_check_trans("transa", p->type, c->transa, &c->transa));
  DVT_TRY(dvt_check_trans("transb", p->type, c->transb, &c->transb));
  DVT_TRY(dvt_check_length("m", c->m));
  DVT_TRY(dvt_check_length("n", c->n));
  DVT_TRY(dvt_check_length("k", c->k));
  const bool ta = c->transa == 'T', tb = c->transb == 'T';
  DVT_TRY(dvt_grid_view(p->grid, p->type, "a", a, ta ? c->k : c->m, ta ? c->m : c->k, c->ia, c->ja, c->desca,
                        &p->a));
  DVT_TRY(dvt_grid_view(p->grid, p->type, "b", b, tb ? c->n : c->k, tb ? c->k : c->n, c->ib, c->jb, c->descb,
                        &p->b));
  DVT_TRY(dvt_grid_view(p->grid, p->type, "c", data, c->m, c->n, c->ic, c->jc, c->descc, &p->c));
  p->a = ta ? dvt_view_transposed(&p->a) : p->a;
  p->b = tb ? p->b : dvt_view_transposed(&p->b);
  return dvt_grid_options(p->grid, options, c->k, &p->width, p->devices, &p->device_count);
}

static davit_status gemm(davit_mpi_grid *grid, davit_type type, call *c, const void *a, const void *b,
                         void *data, const davit_mpi_options *options) {
  DVT_TRY(dvt_check_pointer("grid", grid));
  DVT_TRY(dvt_mpi_check(grid->comm));
  dvt_product p = {.grid = grid, .type = type, .k = c->k, .alpha = c->alpha, .beta = c->beta};
  const davit_status status = check(&p, c, a, b, data, options);
  DVT_TRY(dvt_mpi_agree_on(grid->comm, status, digest_of(type, c, p.width)));
  if (c->m == 0 || c->n == 0)
    return DAVIT_SUCCESS;
  return dvt_grid_single(grid) ? run_single(&p) : dvt_multiply(&p);
}

#define DEFINE_GEMM(LETTER, T, TYPE)                                                                         \
  davit_status davit_mpi_##LETTER##gemm(                                                                     \
      davit_mpi_grid *grid, char transa, char transb, int64_t m, int64_t n, int64_t k, T alpha, const T *a,  \
      int64_t ia, int64_t ja, const int desca[9], const T *b, int64_t ib, int64_t jb, const int descb[9],    \
      T beta, T *c, int64_t ic, int64_t jc, const int descc[9], const davit_mpi_options *options) {          \
    call arguments = {transa, transb, m,  n,  k,  (double)alpha, (double)beta, ia,                           \
                      ja,     ib,     jb, ic, jc, desca,         descb,        descc};                       \
    return gemm(grid, TYPE, &arguments, a, b, c, options);                                                   \
  }
DEFINE_GEMM(d, double, DAVIT_DOUBLE)
DEFINE_GEMM(s, float, DAVIT_FLOAT)
