/* SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <davit/level3.h>
#include <davit/memory.h>

#include "src/base/arithmetic.h"
#include "src/base/check.h"
#include "src/mpi/multiply.h"
#include "src/mpi/redistribute.h"

/* By panels, if numbers are real and the product is native. */
typedef struct product {
  dvt_product panels; /* index 1 of operands is the inner one; they are not conjugated */
  char transa, transb;
  double _Complex alpha, beta;
  davit_arithmetic arithmetic;
  davit_level3_report *report;
} product;

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
  const davit_level3_processes processes = {maxima, p->panels.grid};
  const davit_level3_options options = {.devices = p->panels.devices,
                                        .device_count = p->panels.device_count,
                                        .arithmetic = p->arithmetic,
                                        .exact_bits = p->arithmetic == DAVIT_ARITHMETIC_EXACT,
                                        .processes = dvt_grid_single(p->panels.grid) ? NULL : &processes,
                                        .report = p->report};
  const int64_t m = dvt_grid_local(p->panels.grid, &p->panels.c, 0),
                n = dvt_grid_local(p->panels.grid, &p->panels.c, 1);
  void *c = p->panels.c.data;
#define MULTIPLY(LETTER, T)                                                                                  \
  davit_##LETTER##gemm(a->trans, b->trans, m, n, p->panels.k, (T)p->alpha, a->data, a->ld, b->data, b->ld,   \
                       (T)p->beta, c, dvt_view_ld(&p->panels.c), &options)
  switch (p->panels.type) {
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
  const operand a = {p->transa, p->panels.a.data, dvt_view_ld(&p->panels.a)},
                b = {p->transb, p->panels.b.data, dvt_view_ld(&p->panels.b)};
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
  const int64_t m = dvt_grid_local(p->panels.grid, &p->panels.c, 0),
                n = dvt_grid_local(p->panels.grid, &p->panels.c, 1);
  const bool reads = p->alpha != 0 && p->panels.k > 0;
  void *memory[2] = {NULL, NULL};
  davit_status status = DAVIT_SUCCESS;
  if (reads)
    status = gather(p->panels.grid, &p->panels.c.distribution[0], 0, &p->panels.a, &memory[0]);
  if (reads && status == DAVIT_SUCCESS)
    status = gather(p->panels.grid, &p->panels.c.distribution[1], 1, &p->panels.b, &memory[1]);
  if (reads && status == DAVIT_SUCCESS && p->transa == 'C')
    conjugate(p->panels.type, m * p->panels.k, memory[0]);
  if (status == DAVIT_SUCCESS) {
    const operand a = {'N', memory[0], dvt_at_least(m, 1)},
                  b = {p->transb == 'C' ? 'C' : 'T', memory[1], dvt_at_least(n, 1)};
    status = dvt_mpi_agree(p->panels.grid->comm, multiply(p, &a, &b));
  }
  davit_free(memory[0]);
  davit_free(memory[1]);
  return status;
}

/* ---- the call ---- */

typedef struct call {
  char transa, transb;
  int64_t m, n;
  dvt_submatrix a, b, c;
} call;

static davit_status check(product *p, call *c, const davit_mpi_options *options) {
  dvt_product *q = &p->panels;
  DVT_TRY(dvt_check_trans("transa", q->type, c->transa, &c->transa));
  DVT_TRY(dvt_check_trans("transb", q->type, c->transb, &c->transb));
  DVT_TRY(dvt_check_length("m", c->m));
  DVT_TRY(dvt_check_length("n", c->n));
  DVT_TRY(dvt_check_length("k", q->k));
  if (options && options->arithmetic != DAVIT_ARITHMETIC_NATIVE &&
      options->arithmetic != DAVIT_ARITHMETIC_EXACT)
    return davit_fail(DAVIT_INVALID_ARGUMENT,
                      "options->arithmetic is %d, not DAVIT_ARITHMETIC_NATIVE or _EXACT",
                      (int)options->arithmetic);
  p->arithmetic = options ? options->arithmetic : DAVIT_ARITHMETIC_NATIVE;
  p->report = options ? options->report : NULL;
  p->transa = c->transa;
  p->transb = c->transb;
  q->digest = DVT_MPI_DIGEST_NUMBERS(q->type, p->arithmetic, c->transa, c->transb, c->m, c->n, q->k);
  q->digest = DVT_MPI_DIGEST(DVT_MPI_DIGEST(q->digest, p->alpha), p->beta);
  const bool ta = c->transa != 'N', tb = c->transb != 'N';
  const int64_t m = c->m, n = c->n, k = q->k;
  DVT_TRY(dvt_grid_view(q->grid, q->type, "a", &c->a, ta ? k : m, ta ? m : k, &q->a, &q->digest));
  DVT_TRY(dvt_grid_view(q->grid, q->type, "b", &c->b, tb ? n : k, tb ? k : n, &q->b, &q->digest));
  DVT_TRY(dvt_grid_view(q->grid, q->type, "c", &c->c, m, n, &q->c, &q->digest));
  q->a = ta ? dvt_view_transposed(&q->a) : q->a;
  q->b = tb ? q->b : dvt_view_transposed(&q->b);
  return dvt_grid_options(q->grid, options, k, &q->width, q->devices, &q->device_count);
}

static davit_status gemm(product *p, call *c, const davit_mpi_options *options) {
  const davit_mpi_grid *grid = p->panels.grid;
  DVT_TRY(dvt_check_pointer("grid", grid));
  DVT_TRY(dvt_mpi_check(grid->comm));
  const davit_status status = check(p, c, options);
  DVT_TRY(dvt_mpi_agree_on(grid->comm, status, DVT_MPI_DIGEST(p->panels.digest, p->panels.width)));
  if (c->m == 0 || c->n == 0)
    return DAVIT_SUCCESS;
  if (dvt_grid_single(grid))
    return run_single(p);
  return p->panels.type < DAVIT_COMPLEX_FLOAT && p->arithmetic == DAVIT_ARITHMETIC_NATIVE
             ? dvt_multiply(&p->panels)
             : run_whole(p);
}

#define DEFINE_GEMM(LETTER, T, TYPE)                                                                         \
  davit_status davit_mpi_##LETTER##gemm(                                                                     \
      davit_mpi_grid *grid, char transa, char transb, int64_t m, int64_t n, int64_t k, T alpha, const T *a,  \
      int64_t ia, int64_t ja, const int desca[9], const T *b, int64_t ib, int64_t jb, const int descb[9],    \
      T beta, T *c, int64_t ic, int64_t jc, const int descc[9], const davit_mpi_options *options) {          \
    product p = {.panels = {.grid = grid, .type = TYPE, .k = k},                                             \
                 .alpha = (double _Complex)alpha,                                                            \
                 .beta = (double _Complex)beta};                                                             \
    p.panels.alpha = creal(p.alpha);                                                                         \
    p.panels.beta = creal(p.beta);                                                                           \
    call of = {transa, transb, m, n, {a, ia, ja, desca}, {b, ib, jb, descb}, {c, ic, jc, descc}};            \
    return gemm(&p, &of, options);                                                                           \
  }
DEFINE_GEMM(d, double, DAVIT_DOUBLE)
DEFINE_GEMM(s, float, DAVIT_FLOAT)
DEFINE_GEMM(z, davit_complex_double, DAVIT_COMPLEX_DOUBLE)
DEFINE_GEMM(c, davit_complex_float, DAVIT_COMPLEX_FLOAT)
