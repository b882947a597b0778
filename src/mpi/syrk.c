/* SPDX-License-Identifier: Apache-2.0 */
/* The product of A and its transpose, in memory of its own; then the triangle is added to C. */
#include <davit/level3.h>
#include <davit/memory.h>

#include "src/base/check.h"
#include "src/mpi/multiply.h"

typedef struct update {
  davit_mpi_grid *grid;
  davit_type type;
  char uplo;
  int64_t n, k;
  double alpha, beta;
  dvt_view a, c; /* op(A), index 1 is the inner one */
  int64_t width;
  int devices[DVT_MPI_DEVICES], device_count;
} update;

/* Rows of column l, by position, that are in the triangle. */
static void rows_of(const update *u, int64_t l, int64_t *begin, int64_t *end) {
  const dvt_deal *rows = &u->c.deal[0];
  const int at = u->grid->at[0];
  const int64_t j = dvt_deal_index(&u->c.deal[1], u->grid->at[1], l);
  *begin = u->uplo == 'L' ? dvt_deal_below(rows, at, j) : 0;
  *end = dvt_deal_below(rows, at, u->uplo == 'L' ? u->n : j + 1);
}

#define DEFINE_MERGE(NAME, T)                                                                                \
  static void NAME(T *c, const T *product, int64_t n, T beta) {                                              \
    for (int64_t i = 0; i < n; i++)                                                                          \
      c[i] = beta == 0 ? product[i] : product[i] + beta * c[i];                                              \
  }
DEFINE_MERGE(merge_float, float)
DEFINE_MERGE(merge_double, double)

/* The triangle of `c` = the product + beta times itself; `product` has as many rows. Both lie in the
 * host's memory. */
static void merge(const update *u, const dvt_view *c, const char *product) {
  const size_t bytes = davit_type_bytes(u->type);
  const int64_t rows = dvt_grid_local(u->grid, c, 0), cols = dvt_grid_local(u->grid, c, 1);
  for (int64_t l = 0; l < cols; l++) {
    int64_t begin, end;
    rows_of(u, l, &begin, &end);
    void *to = c->data + (size_t)(begin + l * c->stride[1]) * bytes;
    const void *from = product + (size_t)(begin + l * rows) * bytes;
    if (u->type == DAVIT_FLOAT)
      merge_float(to, from, end - begin, (float)u->beta);
    else
      merge_double(to, from, end - begin, u->beta);
  }
}

/* C may lie on a device. Then it comes to the host and goes back, the other triangle with it as it is. */
static davit_status merge_anywhere(const update *u, const char *product) {
  void *memory = NULL;
  dvt_view c = u->c;
  davit_status status = dvt_to_host(u->grid, &c, true, &memory);
  if (status == DAVIT_SUCCESS) {
    merge(u, &c, product);
    status = dvt_from_host(u->grid, &u->c, memory);
  }
  davit_free(memory);
  return status;
}

/* Divides strips, so that little is computed beside the triangle. */
static void set_ranges(const update *u, dvt_strips *strips) {
  for (int i = 0; i < strips->count; i++) {
    dvt_strip *strip = &strips->strip[i];
    strip->ranges = 0;
    for (int r = 0; r < DVT_STRIP_RANGES; r++) {
      const int64_t first = strip->cols * r / DVT_STRIP_RANGES,
                    end = strip->cols * (r + 1) / DVT_STRIP_RANGES;
      dvt_range *range = &strip->range[strip->ranges];
      if (first == end)
        continue;
      range->first = first;
      range->cols = end - first;
      rows_of(u, strip->first + (u->uplo == 'L' ? first : end - 1), &range->row, &range->end);
      strip->ranges++;
    }
  }
}

static davit_status compute(const update *u, const dvt_view *right, dvt_strips *strips, void **memory) {
  dvt_error failure = {.status = DAVIT_SUCCESS};
  const int64_t rows = dvt_grid_local(u->grid, &u->c, 0), cols = dvt_grid_local(u->grid, &u->c, 1);
  dvt_error_keep(&failure,
                 davit_malloc((size_t)(rows * cols) * davit_type_bytes(u->type), DAVIT_PINNED, memory));
  dvt_error_keep(&failure, dvt_strips_open(strips, u->type, rows, cols, *memory, rows, u->width, u->devices,
                                           u->device_count));
  DVT_TRY(dvt_mpi_agree(u->grid->comm, dvt_error_report(&failure)));
  set_ranges(u, strips);
  DVT_TRY(dvt_multiply(u->grid, strips, &u->a, right, u->alpha, 0, &failure));
  if (failure.status == DAVIT_SUCCESS)
    dvt_error_keep(&failure, dvt_strips_store(strips));
  dvt_error_keep(&failure, dvt_strips_close(strips));
  DVT_TRY(dvt_mpi_agree(u->grid->comm, dvt_error_report(&failure)));
  dvt_error_keep(&failure, merge_anywhere(u, *memory));
  return dvt_mpi_agree(u->grid->comm, dvt_error_report(&failure));
}

/* Only beta C is left to compute. */
static davit_status scale(const update *u) {
  dvt_error failure = {.status = DAVIT_SUCCESS};
  const int64_t rows = dvt_grid_local(u->grid, &u->c, 0), cols = dvt_grid_local(u->grid, &u->c, 1);
  const size_t bytes = (size_t)(rows * cols) * davit_type_bytes(u->type);
  void *memory = NULL;
  dvt_error_keep(&failure, davit_malloc(bytes, DAVIT_PAGEABLE, &memory));
  if (failure.status == DAVIT_SUCCESS && bytes > 0)
    dvt_error_keep(&failure, davit_fill(bytes, 0, memory));
  if (failure.status == DAVIT_SUCCESS)
    dvt_error_keep(&failure, merge_anywhere(u, memory));
  davit_free(memory);
  return dvt_mpi_agree(u->grid->comm, dvt_error_report(&failure));
}

static davit_status run(update *u) {
  void *a = NULL, *transposed = NULL, *memory = NULL;
  dvt_strips strips = {.count = 0};
  if (u->alpha == 0 || u->k == 0)
    return u->beta == 1 ? DAVIT_SUCCESS : scale(u);
  dvt_view right = u->a;
  davit_status status = dvt_fit(u->grid, &u->c.deal[1], 1, 1, &right, &transposed);
  if (status == DAVIT_SUCCESS)
    status = dvt_fit(u->grid, &u->c.deal[0], 0, 0, &u->a, &a);
  if (status == DAVIT_SUCCESS)
    status = compute(u, &right, &strips, &memory);
  dvt_strips_close(&strips);
  davit_free(memory);
  davit_free(a);
  davit_free(transposed);
  return status;
}

/* One process alone has no panels to broadcast. */
static davit_status run_single(const update *u) {
  const davit_level3_options options = {.devices = u->devices, .device_count = u->device_count};
  const char trans = u->a.unit == 0 ? 'N' : 'T';
  const int64_t lda = dvt_view_ld(&u->a), ldc = dvt_view_ld(&u->c);
  void *c = u->c.data;
  return u->type == DAVIT_FLOAT
             ? davit_ssyrk(u->uplo, trans, u->n, u->k, (float)u->alpha,
                           (const float *)(const void *)u->a.data, lda, (float)u->beta, c, ldc, &options)
             : davit_dsyrk(u->uplo, trans, u->n, u->k, u->alpha, (const double *)(const void *)u->a.data, lda,
                           u->beta, c, ldc, &options);
}

static davit_status check(update *u, char *uplo, char *trans, const void *a, int64_t ia, int64_t ja,
                          const int *desca, const void *c, int64_t ic, int64_t jc, const int *descc,
                          const davit_mpi_options *options) {
  DVT_TRY(dvt_check_letter("uplo", *uplo, "UL", uplo));
  DVT_TRY(dvt_check_trans("trans", u->type, *trans, trans));
  DVT_TRY(dvt_check_length("n", u->n));
  DVT_TRY(dvt_check_length("k", u->k));
  const bool t = *trans == 'T';
  DVT_TRY(dvt_grid_view(u->grid, u->type, "a", a, t ? u->k : u->n, t ? u->n : u->k, ia, ja, desca, &u->a));
  DVT_TRY(dvt_grid_view(u->grid, u->type, "c", c, u->n, u->n, ic, jc, descc, &u->c));
  u->a = t ? dvt_view_transposed(&u->a) : u->a;
  u->uplo = *uplo;
  DVT_TRY(dvt_panel_width(options, u->k, &u->width));
  return dvt_grid_devices(u->grid, options, u->devices, &u->device_count);
}

static davit_status syrk(update *u, char uplo, char trans, const void *a, int64_t ia, int64_t ja,
                         const int *desca, const void *c, int64_t ic, int64_t jc, const int *descc,
                         const davit_mpi_options *options) {
  DVT_TRY(dvt_check_pointer("grid", u->grid));
  DVT_TRY(dvt_mpi_check(u->grid->comm));
  const davit_status status = check(u, &uplo, &trans, a, ia, ja, desca, c, ic, jc, descc, options);
  uint64_t digest = DVT_MPI_DIGEST_NUMBERS(u->type, uplo, trans, u->n, u->k, ia, ja, ic, jc, u->width);
  digest = dvt_grid_digest(dvt_grid_digest(digest, desca), descc);
  DVT_TRY(dvt_mpi_agree_on(u->grid->comm, status, DVT_MPI_DIGEST(DVT_MPI_DIGEST(digest, u->alpha), u->beta)));
  if (u->n == 0)
    return DAVIT_SUCCESS;
  return dvt_grid_single(u->grid) ? run_single(u) : run(u);
}

#define DEFINE_SYRK(LETTER, T, TYPE)                                                                         \
  davit_status davit_mpi_##LETTER##syrk(davit_mpi_grid *grid, char uplo, char trans, int64_t n, int64_t k,   \
                                        T alpha, const T *a, int64_t ia, int64_t ja, const int desca[9],     \
                                        T beta, T *c, int64_t ic, int64_t jc, const int descc[9],            \
                                        const davit_mpi_options *options) {                                  \
    update u = {.grid = grid, .type = TYPE, .n = n, .k = k, .alpha = (double)alpha, .beta = (double)beta};   \
    return syrk(&u, uplo, trans, a, ia, ja, desca, c, ic, jc, descc, options);                               \
  }
DEFINE_SYRK(d, double, DAVIT_DOUBLE)
DEFINE_SYRK(s, float, DAVIT_FLOAT)
