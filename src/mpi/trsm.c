/* SPDX-License-Identifier: Apache-2.0 */
/* Side 'R' is side 'L' of the transposes: op(A)ᵀ Xᵀ = alpha Bᵀ. Block by block of A, from the corner where
 * the solution is known: the process row that has this block of B solves for it and hands the solution down
 * the process columns, in memory that they share or by a broadcast, and each rank takes A's column of blocks times it
 * from the rest of B. Where there is one process row, the solution is used where it is. Panels of A are broadcast
 * ahead. */
#include <davit/level3.h>
#include <davit/memory.h>

#include "src/base/arithmetic.h"
#include "src/base/check.h"
#include "src/mpi/multiply.h"
#include "src/mpi/panel.h"
#include "src/mpi/redistribute.h"

typedef struct solution {
  davit_mpi_grid *grid;
  davit_type type;
  char uplo, diag; /* of op(A) */
  int64_t m, n;
  double alpha;
  dvt_view a, b; /* op(A) and B for side 'L' */
  int devices[DVT_MPI_DEVICES], device_count;

  dvt_local_panels locals;
  dvt_panel panel; /* columns of op(A): the block on the diagonal, and those that are solved for later */
  dvt_channel x;   /* of the process column: what is solved in a step, if it is handed on */
  int64_t solved, stored; /* of the rank's rows, in the order in which they are solved */
  dvt_error failure;
} solution;

/* ---- a step ---- */

/* A block of A's columns, and what of the rank's rows they concern. */
typedef struct step {
  int64_t begin, end;
  int64_t row, rows; /* of the panel */
  dvt_row_range corner, rest;
} step;

/* The block that begins, or for an upper triangle ends, at `at`. */
static step step_at(const solution *s, int64_t at) {
  const dvt_distribution *cols = &s->a.distribution[1], *rows = &s->a.distribution[0];
  const bool lower = s->uplo == 'L';
  const int64_t block = (cols->offset + (lower ? at : at - 1)) / cols->block * cols->block - cols->offset;
  step t = {.begin = dvt_at_least(block, 0), .end = dvt_at_most(block + cols->block, s->m)};
  const int me = s->grid->at[0];
  const int64_t first = dvt_distribution_below(rows, me, t.begin),
                after = dvt_distribution_below(rows, me, t.end), all = dvt_distribution_below(rows, me, s->m);
  t.row = lower ? first : 0;
  t.rows = lower ? all - first : after;
  t.corner = (dvt_row_range){first, after - first, first - t.row};
  t.rest = lower ? (dvt_row_range){after, all - after, after - t.row} : (dvt_row_range){0, first, 0};
  return t;
}

static bool is_last(const solution *s, const step *t) {
  return s->uplo == 'L' ? t->end == s->m : t->begin == 0;
}

static davit_status post(solution *s, const step *t) {
  DVT_TRY(dvt_panel_post(&s->panel, t->begin, t->end, t->row, t->rows, &s->failure));
  return dvt_panel_publish(&s->panel, &s->failure);
}

static bool is_handed_on(const solution *s) {
  return s->grid->size[0] > 1;
}

static int owner_of(const solution *s, const step *t) {
  return dvt_distribution_owner(&s->a.distribution[0], t->begin);
}

/* The buffer of step i. The owner writes to shared memory when all have met in step i - 1; before that, at the end
 * of step i - 2, they have waited for what reads the buffer of step i - 4. */
static char *buffer(const solution *s, const step *t, int64_t i) {
  return dvt_channel_part(&s->x, owner_of(s, t), i);
}

/* Down the process column, to where the solution of all columns is a contiguous matrix; in columns of it, so that no
 * count is too large for MPI. */
static davit_status hand_on(solution *s, const step *t, char *x) {
  const int owner = owner_of(s, t);
  const MPI_Datatype type = dvt_grid_type(s->type);
  const int64_t height = t->end - t->begin, cols = dvt_mpi_columns_at_once(height);
  if (t->corner.rows > 0 && s->locals.cols > 0)
    dvt_error_keep(&s->failure, dvt_local_panels_read(&s->locals, t->corner.row, t->corner.rows, x));
  for (int64_t j = 0; j < s->locals.cols && !s->x.shared; j += cols) {
    const int64_t width = dvt_at_most(s->locals.cols - j, cols);
    DVT_TRY_MPI(MPI_Bcast(x + (size_t)(j * height) * davit_type_bytes(s->type), (int)(width * height), type,
                          owner, s->grid->line[0]));
  }
  DVT_TRY(dvt_channel_publish(&s->x));
  return dvt_channel_await(&s->x);
}

/* Many rows at once, because short columns are copied at a low rate. */
static davit_status store(solution *s, bool last) {
  enum { ROWS = 1024 };
  const int64_t count = s->solved - s->stored;
  if (count < ROWS && !last)
    return DAVIT_SUCCESS;
  const int64_t row = s->uplo == 'L' ? s->stored : s->locals.rows - s->solved;
  s->stored = s->solved;
  return dvt_local_panels_store_rows(&s->locals, row, count);
}

/* Where this block of B is. */
static davit_status solve(solution *s, int64_t panel, const step *t) {
  DVT_TRY(dvt_local_panels_fetch_left(&s->locals, panel, t->rows, t->end - t->begin, s->panel.piece_count,
                                      s->panel.pieces));
  DVT_TRY(dvt_local_panels_solve(&s->locals, panel, t->corner, s->uplo, s->diag));
  s->solved += t->corner.rows;
  return store(s, is_last(s, t));
}

/* Takes A's blocks times the solution, which lies in `x` if it was handed on, from the rest. */
static davit_status update(solution *s, int64_t panel, const step *t, const char *x) {
  const bool here = s->x.shared && s->x.shared->separate && owner_of(s, t) == s->grid->at[0];
  const dvt_piece piece = {t->end - t->begin, t->end - t->begin, x, here};
  if (!is_handed_on(s))
    dvt_local_panels_take_rows(&s->locals, panel, t->corner.row);
  else if (t->rest.rows > 0)
    DVT_TRY(dvt_local_panels_fetch_right(&s->locals, panel, &(dvt_right){.count = 1, .pieces = &piece}));
  return dvt_local_panels_multiply(&s->locals, panel, t->rest, -1, 1);
}

/* After a failure no product is enqueued any more, but the other ranks still need this one's messages. */
static davit_status steps(solution *s) {
  step t = step_at(s, s->uplo == 'L' ? 0 : s->m);
  DVT_TRY(post(s, &t));
  for (int64_t i = 0;; i++) {
    char *x = buffer(s, &t, i);
    DVT_TRY(dvt_panel_arrive(&s->panel));
    if (s->failure.status == DAVIT_SUCCESS)
      dvt_error_keep(&s->failure, solve(s, i, &t));
    if (is_handed_on(s))
      DVT_TRY(hand_on(s, &t, x));
    if (s->failure.status == DAVIT_SUCCESS)
      dvt_error_keep(&s->failure, update(s, i, &t, x));
    if (is_last(s, &t))
      return DAVIT_SUCCESS;
    t = step_at(s, s->uplo == 'L' ? t.end : t.begin);
    dvt_error_keep(&s->failure, dvt_local_panels_wait(&s->locals, i - 2));
    DVT_TRY(post(s, &t));
  }
}

/* ---- the whole ---- */

static davit_status open(void *call, dvt_local_panels *locals) {
  solution *s = call;
  const int64_t width = dvt_at_most(s->a.distribution[1].block, s->m);
  DVT_TRY(dvt_local_panels_open(locals, s->grid, &s->b, width, s->devices, s->device_count));
  return s->alpha != 0 ? dvt_local_panels_load(locals) : DAVIT_SUCCESS;
}

/* Collective in the process column, all of which have as many columns. */
static davit_status open_solutions(solution *s) {
  const size_t bytes = (size_t)(s->locals.width * s->locals.cols) * davit_type_bytes(s->type);
  return dvt_channel_open(&s->x, s->grid, 0, is_handed_on(s) ? bytes : 0, 1, &s->locals.transport,
                          &s->failure);
}

static davit_status compute(solution *s) {
  davit_status status = dvt_local_panels_agree(s->grid, &s->locals, open, s);
  if (status == DAVIT_SUCCESS && s->alpha != 1) /* once, where B is worked on in place */
    dvt_error_keep(&s->failure, dvt_local_panels_scale(&s->locals, s->alpha));
  if (status == DAVIT_SUCCESS)
    status = dvt_panel_open(&s->panel, s->grid, &s->a, s->locals.width, &s->locals.transport, &s->failure);
  if (status == DAVIT_SUCCESS)
    status = open_solutions(s);
  if (status == DAVIT_SUCCESS)
    status = dvt_mpi_agree(s->grid->comm, dvt_error_report(&s->failure));
  if (status == DAVIT_SUCCESS && s->alpha != 0)
    status = steps(s);
  else if (status == DAVIT_SUCCESS)
    dvt_error_keep(&s->failure, dvt_local_panels_store(&s->locals));
  dvt_error_keep(&s->failure, dvt_local_panels_close(&s->locals));
  dvt_panel_close(&s->panel);
  dvt_channel_close(&s->x);
  return status == DAVIT_SUCCESS ? dvt_mpi_agree(s->grid->comm, dvt_error_report(&s->failure)) : status;
}

static davit_status fit_a(solution *s, void **memory) {
  if (s->a.axis[0] == 0 && s->a.unit == 0 && dvt_has_square_blocks(&s->a))
    return DAVIT_SUCCESS;
  dvt_view to = dvt_layout(s->grid, &s->a, 0, 0);
  DVT_TRY(dvt_move(s->grid, &s->a, &to, memory));
  s->a = to;
  return DAVIT_SUCCESS;
}

static davit_status run(solution *s) {
  void *a = NULL, *b = NULL;
  const dvt_view given = s->b;
  davit_status status = fit_a(s, &a);
  const bool moved = given.axis[0] != 0 || given.unit != 0 ||
                     !dvt_distributions_equal(&given.distribution[0], &s->a.distribution[0]);
  if (status == DAVIT_SUCCESS && moved) {
    dvt_view to = dvt_layout(s->grid, &given, 0, 0);
    to.distribution[0] = s->a.distribution[0];
    status = dvt_move(s->grid, &given, &to, &b);
    s->b = to;
  }
  if (status == DAVIT_SUCCESS)
    status = compute(s);
  if (status == DAVIT_SUCCESS && moved)
    status = dvt_move_back(s->grid, &s->b, &given);
  davit_free(a);
  davit_free(b);
  return status;
}

static char other(char uplo) {
  return uplo == 'L' ? 'U' : 'L';
}

typedef struct call {
  char side, uplo, transa, diag;
  dvt_submatrix a, b;
} call;

static davit_status check(solution *s, call *c, uint64_t *digest, const davit_mpi_options *options) {
  int64_t panel;
  DVT_TRY(dvt_check_letter("side", c->side, "LR", &c->side));
  DVT_TRY(dvt_check_letter("uplo", c->uplo, "UL", &c->uplo));
  DVT_TRY(dvt_check_trans("transa", s->type, c->transa, &c->transa));
  DVT_TRY(dvt_check_letter("diag", c->diag, "UN", &c->diag));
  DVT_TRY(dvt_check_length("m", s->m));
  DVT_TRY(dvt_check_length("n", s->n));
  const int64_t order = c->side == 'L' ? s->m : s->n;
  *digest = DVT_MPI_DIGEST_NUMBERS(s->type, c->side, c->uplo, c->transa, c->diag, s->m, s->n);
  *digest = DVT_MPI_DIGEST(*digest, s->alpha);
  DVT_TRY(dvt_grid_view(s->grid, s->type, "a", &c->a, order, order, &s->a, digest));
  DVT_TRY(dvt_grid_view(s->grid, s->type, "b", &c->b, s->m, s->n, &s->b, digest));
  const bool transpose = (c->transa == 'T') != (c->side == 'R');
  s->a = transpose ? dvt_view_transposed(&s->a) : s->a;
  s->uplo = transpose ? other(c->uplo) : c->uplo;
  s->diag = c->diag;
  return dvt_grid_options(s->grid, options, order, &panel, s->devices, &s->device_count);
}

/* One process alone has no panels to broadcast. */
static davit_status run_single(const solution *s, const call *c) {
  const davit_level3_options options = {.devices = s->devices, .device_count = s->device_count};
  const int64_t lda = dvt_view_ld(&s->a), ldb = dvt_view_ld(&s->b);
  const void *a = s->a.data;
  void *b = s->b.data;
  return s->type == DAVIT_FLOAT ? davit_strsm(c->side, c->uplo, c->transa, c->diag, s->m, s->n,
                                              (float)s->alpha, a, lda, b, ldb, &options)
                                : davit_dtrsm(c->side, c->uplo, c->transa, c->diag, s->m, s->n, s->alpha, a,
                                              lda, b, ldb, &options);
}

static davit_status trsm(solution *s, call *c, const davit_mpi_options *options) {
  uint64_t digest = 0;
  DVT_TRY(dvt_check_pointer("grid", s->grid));
  DVT_TRY(dvt_mpi_check(s->grid->comm));
  const davit_status status = check(s, c, &digest, options);
  DVT_TRY(dvt_mpi_agree_on(s->grid->comm, status, digest));
  if (s->m == 0 || s->n == 0)
    return DAVIT_SUCCESS;
  if (dvt_grid_single(s->grid))
    return run_single(s, c);
  if (c->side == 'R') {
    const int64_t m = s->m;
    s->m = s->n;
    s->n = m;
    s->b = dvt_view_transposed(&s->b);
  }
  return run(s);
}

#define DEFINE_TRSM(LETTER, T, TYPE)                                                                         \
  davit_status davit_mpi_##LETTER##trsm(davit_mpi_grid *grid, char side, char uplo, char transa, char diag,  \
                                        int64_t m, int64_t n, T alpha, const T *a, int64_t ia, int64_t ja,   \
                                        const int desca[9], T *b, int64_t ib, int64_t jb,                    \
                                        const int descb[9], const davit_mpi_options *options) {              \
    solution s = {.grid = grid, .type = TYPE, .m = m, .n = n, .alpha = (double)alpha};                       \
    call c = {side, uplo, transa, diag, {a, ia, ja, desca}, {b, ib, jb, descb}};                             \
    return trsm(&s, &c, options);                                                                            \
  }
DEFINE_TRSM(d, double, DAVIT_DOUBLE)
DEFINE_TRSM(s, float, DAVIT_FLOAT)
