/* SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <davit/level3.h>
#include <davit/memory.h>

#include "src/base/arithmetic.h"
#include "src/base/check.h"
#include "src/mpi/multiply.h"

typedef struct product {
  davit_mpi_grid *grid;
  davit_type type;
  int64_t k;
  char transa, transb;
  double _Complex alpha, beta;
  dvt_view a, b,
      c; /* op(A) and, with its indices exchanged, op(B): index 1 is the inner one; not conjugated */
  int64_t width;
  davit_arithmetic arithmetic;
  davit_level3_report *report;
  int devices[DVT_MPI_DEVICES], device_count;
} product;

/* ---- by panels ---- */

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
    dvt_error_keep(&failure, scale(locals, creal(p->beta)));
  else
    DVT_TRY(dvt_multiply(p->grid, locals, &p->a, &p->b, creal(p->alpha), creal(p->beta), &failure));
  dvt_error_keep(&failure, dvt_local_panels_close(locals));
  return dvt_mpi_agree(p->grid->comm, dvt_error_report(&failure));
}

static davit_status run_panels(product *p) {
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

/* ---- by calls of libdavit's ---- */

/* Stored as the call of libdavit's has it. */
typedef struct operand {
  char trans;
  const void *data;
  int64_t ld;
} operand;

/* Of all processes of the line, by the columns that they have. */
static davit_status gather_parts(const davit_mpi_grid *grid, const dvt_view *part, int64_t rows,
                                 const void *own, void *all) {
  const int axis = part->axis[1], count = grid->size[axis];
  const int64_t k = part->distribution[1].n, block = part->distribution[1].block;
  int counts[count], at[count];
  MPI_Datatype column;
  for (int p = 0; p < count; p++) {
    at[p] = (int)dvt_at_most(p * block, k);
    counts[p] = (int)dvt_at_most(block, k - at[p]);
  }
  DVT_TRY_MPI(MPI_Type_contiguous((int)rows, dvt_grid_type(part->type), &column));
  DVT_TRY_MPI(MPI_Type_commit(&column));
  DVT_TRY_MPI(MPI_Allgatherv(own, counts[grid->at[axis]], column, all, counts, at, column, grid->line[axis]));
  return dvt_mpi_status(MPI_Type_free(&column));
}

/* The outer indices that belong to this rank's part of C, with all inner ones, contiguous in *memory, for davit_free().
 * Each process of the line gets a range of the inner indices, and then those of the others. */
static davit_status gather(const davit_mpi_grid *grid, const dvt_distribution *outer, int axis,
                           const dvt_view *view, void **memory) {
  const int count = grid->size[1 - axis];
  const int64_t k = view->distribution[1].n, block = dvt_divide_up(k, count);
  dvt_view part = {.axis = {axis, 1 - axis}, .unit = 0};
  void *own = NULL;
  part.distribution[0] = *outer;
  part.distribution[1] = (dvt_distribution){.n = k, .block = block, .count = count};
  davit_status status = dvt_move(grid, view, &part, &own);
  const int64_t rows = dvt_grid_local(grid, &part, 0);
  if (status == DAVIT_SUCCESS)
    status = dvt_mpi_agree(grid->comm,
                           davit_malloc((size_t)(dvt_at_least(rows, 1) * k) * davit_type_bytes(view->type),
                                        DAVIT_PINNED, memory));
  if (status == DAVIT_SUCCESS)
    status = gather_parts(grid, &part, rows, own, *memory);
  davit_free(own);
  return status;
}

static void maxima(void *context, int count, double *values) {
  const davit_mpi_grid *grid = context;
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_MAX, grid->comm);
}

static davit_status multiply(const product *p, const operand *a, const operand *b) {
  const davit_level3_processes processes = {maxima, p->grid};
  const davit_level3_options options = {.devices = p->devices,
                                        .device_count = p->device_count,
                                        .arithmetic = p->arithmetic,
                                        .exact_bits = p->arithmetic == DAVIT_ARITHMETIC_EXACT,
                                        .processes = dvt_grid_single(p->grid) ? NULL : &processes,
                                        .report = p->report};
  const int64_t m = dvt_grid_local(p->grid, &p->c, 0), n = dvt_grid_local(p->grid, &p->c, 1);
  void *c = p->c.data;
#define MULTIPLY(LETTER, T)                                                                                  \
  davit_##LETTER##gemm(a->trans, b->trans, m, n, p->k, (T)p->alpha, a->data, a->ld, b->data, b->ld,          \
                       (T)p->beta, c, dvt_view_ld(&p->c), &options)
  switch (p->type) {
  case DAVIT_FLOAT:
    return MULTIPLY(s, float);
  case DAVIT_DOUBLE:
    return MULTIPLY(d, double);
  case DAVIT_COMPLEX_FLOAT:
    return MULTIPLY(c, davit_complex_float);
  default:
    return MULTIPLY(z, davit_complex_double);
  }
}

/* One process alone has the operands whole, as they are. */
static davit_status run_single(const product *p) {
  const operand a = {p->transa, p->a.data, dvt_view_ld(&p->a)},
                b = {p->transb, p->b.data, dvt_view_ld(&p->b)};
  return multiply(p, &a, &b);
}

/* BLAS conjugates what it transposes, and gathered operands of op(A) are not. */
static void conjugate(davit_type type, int64_t count, void *numbers) {
  for (int64_t i = 1; i < 2 * count; i += 2)
    if (type == DAVIT_COMPLEX_FLOAT)
      ((float *)numbers)[i] = -((float *)numbers)[i];
    else
      ((double *)numbers)[i] = -((double *)numbers)[i];
}

static davit_status run_whole(const product *p) {
  const int64_t m = dvt_grid_local(p->grid, &p->c, 0), n = dvt_grid_local(p->grid, &p->c, 1);
  const bool reads = p->alpha != 0 && p->k > 0;
  void *memory[2] = {NULL, NULL};
  davit_status status = DAVIT_SUCCESS;
  if (reads)
    status = gather(p->grid, &p->c.distribution[0], 0, &p->a, &memory[0]);
  if (reads && status == DAVIT_SUCCESS)
    status = gather(p->grid, &p->c.distribution[1], 1, &p->b, &memory[1]);
  if (reads && status == DAVIT_SUCCESS && p->transa == 'C')
    conjugate(p->type, m * p->k, memory[0]);
  if (status == DAVIT_SUCCESS) {
    const operand a = {'N', memory[0], dvt_at_least(m, 1)},
                  b = {p->transb == 'C' ? 'C' : 'T', memory[1], dvt_at_least(n, 1)};
    status = dvt_mpi_agree(p->grid->comm, multiply(p, &a, &b));
  }
  davit_free(memory[0]);
  davit_free(memory[1]);
  return status;
}

/* ---- the call ---- */

/* What a call is told, but the parts of a rank. */
typedef struct call {
  char transa, transb;
  int64_t m, n, k;
  double _Complex alpha, beta;
  int64_t ia, ja, ib, jb, ic, jc;
  const int *desca, *descb, *descc;
} call;

static uint64_t digest_of(const product *p, const call *c) {
  uint64_t digest = DVT_MPI_DIGEST_NUMBERS(p->type, p->arithmetic, c->transa, c->transb, c->m, c->n, c->k,
                                           c->ia, c->ja, c->ib, c->jb, c->ic, c->jc, p->width);
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
  const bool ta = c->transa != 'N', tb = c->transb != 'N';
  DVT_TRY(dvt_grid_view(p->grid, p->type, "a", a, ta ? c->k : c->m, ta ? c->m : c->k, c->ia, c->ja, c->desca,
                        &p->a));
  DVT_TRY(dvt_grid_view(p->grid, p->type, "b", b, tb ? c->n : c->k, tb ? c->k : c->n, c->ib, c->jb, c->descb,
                        &p->b));
  DVT_TRY(dvt_grid_view(p->grid, p->type, "c", data, c->m, c->n, c->ic, c->jc, c->descc, &p->c));
  p->a = ta ? dvt_view_transposed(&p->a) : p->a;
  p->b = tb ? p->b : dvt_view_transposed(&p->b);
  p->transa = c->transa;
  p->transb = c->transb;
  if (options && options->arithmetic != DAVIT_ARITHMETIC_NATIVE &&
      options->arithmetic != DAVIT_ARITHMETIC_EXACT)
    return davit_fail(DAVIT_INVALID_ARGUMENT,
                      "options->arithmetic is %d, not DAVIT_ARITHMETIC_NATIVE or _EXACT",
                      (int)options->arithmetic);
  p->arithmetic = options ? options->arithmetic : DAVIT_ARITHMETIC_NATIVE;
  p->report = options ? options->report : NULL;
  DVT_TRY(dvt_panel_width(options, c->k, &p->width));
  return dvt_grid_devices(p->grid, options, p->devices, &p->device_count);
}

static davit_status gemm(davit_mpi_grid *grid, davit_type type, call *c, const void *a, const void *b,
                         void *data, const davit_mpi_options *options) {
  DVT_TRY(dvt_check_pointer("grid", grid));
  DVT_TRY(dvt_mpi_check(grid->comm));
  product p = {.grid = grid, .type = type, .k = c->k, .alpha = c->alpha, .beta = c->beta};
  const davit_status status = check(&p, c, a, b, data, options);
  DVT_TRY(dvt_mpi_agree_on(grid->comm, status, digest_of(&p, c)));
  if (c->m == 0 || c->n == 0)
    return DAVIT_SUCCESS;
  if (dvt_grid_single(grid))
    return run_single(&p);
  return type < DAVIT_COMPLEX_FLOAT && p.arithmetic == DAVIT_ARITHMETIC_NATIVE ? run_panels(&p)
                                                                               : run_whole(&p);
}

#define DEFINE_GEMM(LETTER, T, TYPE)                                                                         \
  davit_status davit_mpi_##LETTER##gemm(                                                                     \
      davit_mpi_grid *grid, char transa, char transb, int64_t m, int64_t n, int64_t k, T alpha, const T *a,  \
      int64_t ia, int64_t ja, const int desca[9], const T *b, int64_t ib, int64_t jb, const int descb[9],    \
      T beta, T *c, int64_t ic, int64_t jc, const int descc[9], const davit_mpi_options *options) {          \
    call arguments = {                                                                                       \
        transa, transb, m,     n,     k,    (double _Complex)alpha, (double _Complex)beta, ia, ja, ib, jb,   \
        ic,     jc,     desca, descb, descc};                                                                \
    return gemm(grid, TYPE, &arguments, a, b, c, options);                                                   \
  }
DEFINE_GEMM(d, double, DAVIT_DOUBLE)
DEFINE_GEMM(s, float, DAVIT_FLOAT)
DEFINE_GEMM(z, davit_complex_double, DAVIT_COMPLEX_DOUBLE)
DEFINE_GEMM(c, davit_complex_float, DAVIT_COMPLEX_FLOAT)
