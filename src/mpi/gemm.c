/* SPDX-License-Identifier: Apache-2.0 */
#include <davit/level3.h>

#include "src/base/check.h"
#include "src/mpi/multiply.h"

typedef struct product {
  davit_mpi_grid *grid;
  davit_type type;
  int64_t k;
  double alpha, beta;
  dvt_view a, b, c; /* op(A) and, with its indices exchanged, op(B): index 1 is the inner one */
  int64_t width;
  int devices[DVT_MPI_DEVICES], device_count;
} product;

static davit_status scale(dvt_local_panels *locals, double beta) {
  DVT_TRY(dvt_local_panels_scale(locals, beta));
  return dvt_local_panels_store(locals);
}

static davit_status open(void *call, dvt_local_panels *locals) {
  const product *p = call;
  DVT_TRY(dvt_local_panels_open(locals, p->grid, p->type, dvt_grid_local(p->grid, &p->c, 0),
                                dvt_grid_local(p->grid, &p->c, 1), p->c.data, p->c.stride[1], p->width,
                                p->devices, p->device_count));
  return p->beta != 0 ? dvt_local_panels_load(locals) : DAVIT_SUCCESS;
}

static davit_status compute(product *p, dvt_local_panels *locals) {
  dvt_error failure = {.status = DAVIT_SUCCESS};
  DVT_TRY(dvt_local_panels_agree(p->grid, locals, open, p));
  if (p->alpha == 0 || p->k == 0)
    dvt_error_keep(&failure, scale(locals, p->beta));
  else
    DVT_TRY(dvt_multiply(p->grid, locals, &p->a, &p->b, p->alpha, p->beta, &failure));
  dvt_error_keep(&failure, dvt_local_panels_close(locals));
  return dvt_mpi_agree(p->grid->comm, dvt_error_report(&failure));
}

static davit_status run(product *p) {
  void *a = NULL, *b = NULL;
  dvt_local_panels locals = {.count = 0};
  davit_status status = DAVIT_SUCCESS;
  if (p->alpha != 0 && p->k > 0) {
    status = dvt_fit(p->grid, &p->c.distribution[0], 0, 0, &p->a, &a);
    if (status == DAVIT_SUCCESS)
      status = dvt_fit(p->grid, &p->c.distribution[1], 1, 1, &p->b, &b);
  }
  if (status == DAVIT_SUCCESS)
    status = compute(p, &locals);
  dvt_local_panels_close(&locals);
  davit_free(a);
  davit_free(b);
  return status;
}

/* One process alone has no panels to broadcast. */
static davit_status run_single(const product *p) {
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

static davit_status check(product *p, call *c, const void *a, const void *b, const void *data,
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
  DVT_TRY(dvt_panel_width(options, c->k, &p->width));
  return dvt_grid_devices(p->grid, options, p->devices, &p->device_count);
}

static davit_status gemm(davit_mpi_grid *grid, davit_type type, call *c, const void *a, const void *b,
                         void *data, const davit_mpi_options *options) {
  DVT_TRY(dvt_check_pointer("grid", grid));
  DVT_TRY(dvt_mpi_check(grid->comm));
  product p = {.grid = grid, .type = type, .k = c->k, .alpha = c->alpha, .beta = c->beta};
  const davit_status status = check(&p, c, a, b, data, options);
  DVT_TRY(dvt_mpi_agree_on(grid->comm, status, digest_of(type, c, p.width)));
  if (c->m == 0 || c->n == 0)
    return DAVIT_SUCCESS;
  return dvt_grid_single(grid) ? run_single(&p) : run(&p);
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
