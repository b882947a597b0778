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

typedef struct call {
  char transa, transb;
  int64_t m, n;
  dvt_submatrix a, b, c;
} call;

static davit_status check(dvt_product *p, call *c, const davit_mpi_options *options) {
  DVT_TRY(dvt_check_trans("transa", p->type, c->transa, &c->transa));
  DVT_TRY(dvt_check_trans("transb", p->type, c->transb, &c->transb));
  DVT_TRY(dvt_check_length("m", c->m));
  DVT_TRY(dvt_check_length("n", c->n));
  DVT_TRY(dvt_check_length("k", p->k));
  p->digest = DVT_MPI_DIGEST_NUMBERS(p->type, c->transa, c->transb, c->m, c->n, p->k);
  p->digest = DVT_MPI_DIGEST(DVT_MPI_DIGEST(p->digest, p->alpha), p->beta);
  const bool ta = c->transa == 'T', tb = c->transb == 'T';
  const int64_t m = c->m, n = c->n, k = p->k;
  DVT_TRY(dvt_grid_view(p->grid, p->type, "a", &c->a, ta ? k : m, ta ? m : k, &p->a, &p->digest));
  DVT_TRY(dvt_grid_view(p->grid, p->type, "b", &c->b, tb ? n : k, tb ? k : n, &p->b, &p->digest));
  DVT_TRY(dvt_grid_view(p->grid, p->type, "c", &c->c, m, n, &p->c, &p->digest));
  p->a = ta ? dvt_view_transposed(&p->a) : p->a;
  p->b = tb ? p->b : dvt_view_transposed(&p->b);
  return dvt_grid_options(p->grid, options, k, &p->width, p->devices, &p->device_count);
}

static davit_status gemm(dvt_product *p, call *c, const davit_mpi_options *options) {
  DVT_TRY(dvt_check_pointer("grid", p->grid));
  DVT_TRY(dvt_mpi_check(p->grid->comm));
  const davit_status status = check(p, c, options);
  DVT_TRY(dvt_mpi_agree_on(p->grid->comm, status, DVT_MPI_DIGEST(p->digest, p->width)));
  if (c->m == 0 || c->n == 0)
    return DAVIT_SUCCESS;
  return dvt_grid_single(p->grid) ? run_single(p) : dvt_multiply(p);
}

#define DEFINE_GEMM(LETTER, T, TYPE)                                                                         \
  davit_status davit_mpi_##LETTER##gemm(                                                                     \
      davit_mpi_grid *grid, char transa, char transb, int64_t m, int64_t n, int64_t k, T alpha, const T *a,  \
      int64_t ia, int64_t ja, const int desca[9], const T *b, int64_t ib, int64_t jb, const int descb[9],    \
      T beta, T *c, int64_t ic, int64_t jc, const int descc[9], const davit_mpi_options *options) {          \
    dvt_product p = {.grid = grid, .type = TYPE, .k = k, .alpha = (double)alpha, .beta = (double)beta};      \
    call of = {transa, transb, m, n, {a, ia, ja, desca}, {b, ib, jb, descb}, {c, ic, jc, descc}};            \
    return gemm(&p, &of, options);                                                                           \
  }
DEFINE_GEMM(d, double, DAVIT_DOUBLE)
DEFINE_GEMM(s, float, DAVIT_FLOAT)
