/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of rows and columns that lie in the triangle are computed in C. What the triangle's edge cuts is computed
 * separate from C, and what of it is in the triangle is added then. */
#include <davit/level3.h>
#include <davit/memory.h>

#include "src/base/arithmetic.h"
#include "src/base/check.h"
#include "src/mpi/multiply.h"

/* ---- the triangle ---- */

/* Of column l, by position: for 'L' the first row in the triangle, for 'U' the one after the last. */
static int64_t edge_of(const dvt_product *u, int64_t l) {
  const int64_t j = dvt_distribution_index(&u->c.distribution[1], u->grid->at[1], l);
  return dvt_distribution_below(&u->c.distribution[0], u->grid->at[0], u->uplo == 'L' ? j : j + 1);
}

#define DEFINE_MERGE(NAME, T)                                                                                \
  static void NAME(T *c, const T *product, int64_t n, T beta) {                                              \
    for (int64_t i = 0; i < n; i++)                                                                          \
      c[i] = (product ? product[i] : 0) + (beta == 0 ? 0 : beta * c[i]);                                     \
  }
DEFINE_MERGE(merge_float, float)
DEFINE_MERGE(merge_double, double)

/* What of columns from `first` on, rows from `row` to `end`, is in the triangle: the product, or NULL, + beta times
 * itself. `c` is the first of these elements of C; the product is contiguous. Both lie in the host's memory. */
static void merge(const dvt_product *u, int64_t first, int64_t cols, int64_t row, int64_t end,
                  const char *product, char *c, int64_t ldc) {
  const size_t bytes = davit_type_bytes(u->type);
  for (int64_t l = 0; l < cols; l++) {
    const int64_t edge = dvt_at_most(dvt_at_least(edge_of(u, first + l), row), end);
    const int64_t from = (u->uplo == 'L' ? edge : row) - row,
                  count = u->uplo == 'L' ? end - edge : edge - row;
    void *to = c + (size_t)(from + l * ldc) * bytes;
    const void *added = product ? product + (size_t)(from + l * (end - row)) * bytes : NULL;
    if (u->type == DAVIT_FLOAT)
      merge_float(to, added, count, (float)u->beta);
    else
      merge_double(to, added, count, u->beta);
  }
}

/* The same, wherever C lies. It comes to the host and goes back, the other triangle with it as it is. */
static davit_status merge_anywhere(const dvt_product *u, int64_t first, int64_t cols, int64_t row,
                                   int64_t end, const char *product) {
  const size_t bytes = davit_type_bytes(u->type);
  const int64_t ldc = u->c.stride[1], rows = end - row;
  char *c = u->c.data + (size_t)(row + first * ldc) * bytes;
  int place = DAVIT_PAGEABLE;
  void *memory = NULL;
  if (rows == 0 || cols == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(davit_pointer_place(c, &place));
  if (place < 0) {
    merge(u, first, cols, row, end, product, c, ldc);
    return DAVIT_SUCCESS;
  }
  DVT_TRY(davit_malloc((size_t)(rows * cols) * bytes, DAVIT_PINNED, &memory));
  davit_status status = davit_copy_2d(rows, cols, bytes, c, ldc, memory, rows);
  if (status == DAVIT_SUCCESS) {
    merge(u, first, cols, row, end, product, memory, rows);
    status = davit_copy_2d(rows, cols, bytes, memory, rows, c, ldc);
  }
  davit_free(memory);
  return status;
}

/* ---- ranges ---- */

enum { LEAVES = 32, LEAF_MINIMUM = 16, DEVICE_LEAF_MINIMUM = 512 /* smaller products are slow on a GPU */ };

typedef struct cover {
  const dvt_product *u;
  int64_t first, leaf; /* of the local panel; columns that are not divided any more */
  dvt_block_range ranges[3 * LEAVES];
  int64_t count;
} cover;

static void add(cover *t, int64_t first, int64_t end_col, int64_t row, int64_t end, bool separate) {
  if (first < end_col && row < end)
    t->ranges[t->count++] = (dvt_block_range){first, end_col - first, row, end, separate, NULL};
}

/* What lies between the edge and row `far`, which is beyond it in all columns from l0 to l1; they are halved until few
 * are left. */
static void divide(cover *t, int64_t l0, int64_t l1, int64_t far) {
  const bool lower = t->u->uplo == 'L';
  const int64_t low = edge_of(t->u, t->first + l0), high = edge_of(t->u, t->first + l1 - 1);
  const int64_t rows = lower ? far - high : low - far;
  if (l1 - l0 <= t->leaf || low == high) {
    const bool few = rows < high - low; /* are not worth a product of their own */
    add(t, l0, l1, !lower && few ? far : low, lower && few ? far : high, true);
    if (!few)
      add(t, l0, l1, lower ? high : far, lower ? far : low, false);
    return;
  }
  const int64_t middle = l0 + (l1 - l0) / 2, edge = edge_of(t->u, t->first + middle);
  if (lower)
    add(t, l0, middle, edge, far, false);
  else
    add(t, middle, l1, far, edge, false);
  divide(t, l0, middle, lower ? edge : far);
  divide(t, middle, l1, lower ? far : edge);
}

static davit_status divide_all(const dvt_product *u, dvt_local_panels *locals) {
  for (int i = 0; i < locals->count; i++) {
    dvt_local_panel *local = &locals->local[i];
    cover t = {.u = u, .first = local->first};
    t.leaf = dvt_at_least((local->cols + LEAVES - 1) / LEAVES,
                          local->device == DAVIT_HOST ? LEAF_MINIMUM : DEVICE_LEAF_MINIMUM);
    if (local->cols > 0)
      divide(&t, 0, local->cols, u->uplo == 'L' ? locals->rows : 0);
    DVT_TRY(dvt_local_panels_divide(locals, local, t.ranges, t.count));
  }
  return DAVIT_SUCCESS;
}

/* What was computed separate from C. */
static davit_status merge_local(const dvt_product *u, const dvt_local_panels *locals,
                                const dvt_local_panel *local) {
  void *memory = NULL;
  davit_status status = DAVIT_SUCCESS;
  const char *product = local->separate;
  if (product && local->device != DAVIT_HOST) {
    const size_t bytes = (size_t)local->separate_elements * locals->bytes;
    DVT_TRY(davit_malloc(bytes, DAVIT_PINNED, &memory));
    status = davit_copy(bytes, product, memory);
    product = memory;
  }
  for (int64_t r = 0; r < local->ranges && status == DAVIT_SUCCESS; r++) {
    const dvt_block_range *range = &local->range[r];
    if (range->separate)
      status = merge_anywhere(u, local->first + range->first, range->cols, range->row, range->end,
                              product + (range->memory - local->separate));
  }
  davit_free(memory);
  return status;
}

/* ---- the whole ---- */

static davit_status merge_all(const dvt_product *u, const dvt_local_panels *locals) {
  for (int i = 0; i < locals->count; i++)
    DVT_TRY(merge_local(u, locals, &locals->local[i]));
  return DAVIT_SUCCESS;
}

static davit_status run(dvt_product *u) {
  const int64_t rows = dvt_grid_local(u->grid, &u->c, 0), cols = dvt_grid_local(u->grid, &u->c, 1);
  if (u->alpha != 0 && u->k > 0)
    return dvt_multiply(u);
  return u->beta == 1 ? DAVIT_SUCCESS
                      : dvt_mpi_agree(u->grid->comm, merge_anywhere(u, 0, cols, 0, rows, NULL));
}

/* One process alone has no panels to broadcast. */
static davit_status run_single(const dvt_product *u) {
  const davit_level3_options options = {.devices = u->devices, .device_count = u->device_count};
  const char trans = u->a.unit == 0 ? 'N' : 'T';
  const int64_t n = u->c.distribution[0].n, lda = dvt_view_ld(&u->a), ldc = dvt_view_ld(&u->c);
  void *c = u->c.data;
  const void *a = u->a.data;
  return u->type == DAVIT_FLOAT
             ? davit_ssyrk(u->uplo, trans, n, u->k, (float)u->alpha, a, lda, (float)u->beta, c, ldc, &options)
             : davit_dsyrk(u->uplo, trans, n, u->k, u->alpha, a, lda, u->beta, c, ldc, &options);
}

static davit_status check(dvt_product *u, char *trans, int64_t n, const dvt_submatrix *a,
                          const dvt_submatrix *c, const davit_mpi_options *options) {
  DVT_TRY(dvt_check_letter("uplo", u->uplo, "UL", &u->uplo));
  DVT_TRY(dvt_check_trans("trans", u->type, *trans, trans));
  DVT_TRY(dvt_check_length("n", n));
  DVT_TRY(dvt_check_length("k", u->k));
  u->digest = DVT_MPI_DIGEST_NUMBERS(u->type, u->uplo, *trans, n, u->k);
  u->digest = DVT_MPI_DIGEST(DVT_MPI_DIGEST(u->digest, u->alpha), u->beta);
  const bool t = *trans == 'T';
  DVT_TRY(dvt_grid_view(u->grid, u->type, "a", a, t ? u->k : n, t ? n : u->k, &u->a, &u->digest));
  DVT_TRY(dvt_grid_view(u->grid, u->type, "c", c, n, n, &u->c, &u->digest));
  u->a = t ? dvt_view_transposed(&u->a) : u->a;
  return dvt_grid_options(u->grid, options, u->k, &u->width, u->devices, &u->device_count);
}

static davit_status syrk(dvt_product *u, char trans, int64_t n, dvt_submatrix a, dvt_submatrix c,
                         const davit_mpi_options *options) {
  DVT_TRY(dvt_check_pointer("grid", u->grid));
  DVT_TRY(dvt_mpi_check(u->grid->comm));
  u->divide = divide_all;
  u->merge = merge_all;
  const davit_status status = check(u, &trans, n, &a, &c, options);
  DVT_TRY(dvt_mpi_agree_on(u->grid->comm, status, DVT_MPI_DIGEST(u->digest, u->width)));
  if (n == 0)
    return DAVIT_SUCCESS;
  return dvt_grid_single(u->grid) ? run_single(u) : run(u);
}

#define DEFINE_SYRK(LETTER, T, TYPE)                                                                         \
  davit_status davit_mpi_##LETTER##syrk(davit_mpi_grid *grid, char uplo, char trans, int64_t n, int64_t k,   \
                                        T alpha, const T *a, int64_t ia, int64_t ja, const int desca[9],     \
                                        T beta, T *c, int64_t ic, int64_t jc, const int descc[9],            \
                                        const davit_mpi_options *options) {                                  \
    dvt_product u = {grid, TYPE, uplo, (double)alpha, (double)beta, .k = k};                                 \
    return syrk(&u, trans, n, (dvt_submatrix){a, ia, ja, desca}, (dvt_submatrix){c, ic, jc, descc},          \
                options);                                                                                    \
  }
DEFINE_SYRK(d, double, DAVIT_DOUBLE)
DEFINE_SYRK(s, float, DAVIT_FLOAT)
