/* SPDX-License-Identifier: Apache-2.0 */
/* One routine of level 3 on one lane: its check and its row. */
#include "src/level3/arguments.h"

/* A matrix as it is stored. `read` is false where the values do not count, so that it may be NULL. */
typedef struct stored {
  const char *name, *ld_name;
  const void *memory;
  int64_t ld, rows, cols;
  bool read;
} stored;

static bool is_triangular(const dvt_level3 *g) {
  return g->routine == DVT_TRMM || g->routine == DVT_TRSM;
}

static bool is_update(const dvt_level3 *g) {
  return g->routine >= DVT_SYRK && g->routine <= DVT_HER2K;
}

/* Of symm, hemm, syrk and their kin: which transposes are meant by the matrix that is made. */
static davit_status check_update(dvt_level3 *g) {
  const bool hermitian = g->routine == DVT_HERK || g->routine == DVT_HER2K,
             real = g->type < DAVIT_COMPLEX_FLOAT;
  DVT_TRY(dvt_check_letter("uplo", g->uplo, "UL", &g->uplo));
  if (real)
    DVT_TRY(dvt_check_trans("trans", g->type, g->transa, &g->transa));
  else
    DVT_TRY(dvt_check_letter("trans", g->transa, hermitian ? "NC" : "NT", &g->transa));
  DVT_TRY(dvt_check_length("n", g->n));
  return dvt_check_length("k", g->k);
}

static davit_status check_flags(dvt_level3 *g) {
  if (is_update(g))
    return check_update(g);
  if (g->routine != DVT_GEMM) {
    DVT_TRY(dvt_check_letter("side", g->side, "LR", &g->side));
    DVT_TRY(dvt_check_letter("uplo", g->uplo, "UL", &g->uplo));
  }
  if (g->routine == DVT_GEMM || is_triangular(g))
    DVT_TRY(dvt_check_trans("transa", g->type, g->transa, &g->transa));
  if (g->routine == DVT_GEMM)
    DVT_TRY(dvt_check_trans("transb", g->type, g->transb, &g->transb));
  if (is_triangular(g))
    DVT_TRY(dvt_check_letter("diag", g->diag, "NU", &g->diag));
  DVT_TRY(dvt_check_length("m", g->m));
  DVT_TRY(dvt_check_length("n", g->n));
  return g->routine == DVT_GEMM ? dvt_check_length("k", g->k) : DAVIT_SUCCESS;
}

static stored block(const char *name, const char *ld_name, const void *memory, int64_t ld, char trans,
                    int64_t rows, int64_t cols, bool read) {
  return trans == 'N' ? (stored){name, ld_name, memory, ld, rows, cols, read}
                      : (stored){name, ld_name, memory, ld, cols, rows, read};
}

/* The matrices in the order of the call, C last; returns how many. */
static int matrices(const dvt_level3 *g, stored list[3]) {
  const bool read = !dvt_level3_vanishes(g), right = g->side == 'R';
  const int64_t order = right ? g->n : g->m;
  if (is_triangular(g)) {
    list[0] = block("a", "lda", g->a, g->lda, 'N', order, order, read);
    list[1] = block("b", "ldb", g->c, g->ldc, 'N', g->m, g->n, true);
    return 2;
  }
  int count = 0;
  if (g->routine == DVT_GEMM) {
    list[count++] = block("a", "lda", g->a, g->lda, g->transa, g->m, g->k, read);
    list[count++] = block("b", "ldb", g->b, g->ldb, g->transb, g->k, g->n, read);
  } else if (is_update(g)) {
    list[count++] = block("a", "lda", g->a, g->lda, g->transa, g->n, g->k, read);
    if (g->routine == DVT_SYR2K || g->routine == DVT_HER2K)
      list[count++] = block("b", "ldb", g->b, g->ldb, g->transa, g->n, g->k, read);
  } else {
    list[count++] = block("a", "lda", g->a, g->lda, 'N', order, order, read);
    list[count++] = block("b", "ldb", g->b, g->ldb, 'N', g->m, g->n, read);
  }
  list[count++] = block("c", "ldc", g->c, g->ldc, 'N', g->m, g->n, true);
  return count;
}

static davit_status check(void *arguments) {
  dvt_level3 *g = arguments;
  stored list[3];
  DVT_TRY(check_flags(g));
  const int count = matrices(g, list);
  const stored *out = &list[count - 1];
  for (int i = 0; i < count; i++)
    DVT_TRY(dvt_check_ld(list[i].ld_name, list[i].ld, list[i].rows, list[i].cols));
  if (g->m == 0 || g->n == 0)
    return DAVIT_SUCCESS;
  for (int i = 0; i < count; i++)
    if (list[i].read)
      DVT_TRY(dvt_check_pointer(list[i].name, list[i].memory));
  for (int i = 0; i < count - 1; i++)
    if (list[i].read && dvt_blocks_overlap(out->memory, out->ld, out->rows, out->cols, list[i].memory,
                                           list[i].ld, list[i].rows, list[i].cols, davit_type_bytes(g->type)))
      return davit_fail(DAVIT_INVALID_ARGUMENT, "%s overlaps %s", out->name, list[i].name);
  return DAVIT_SUCCESS;
}

static void measure(const void *arguments, int device, int ranges, dvt_extents *e) {
  enum { A, B, C };
  const dvt_level3 *g = arguments;
  (void)device;
  (void)ranges;
  e->skipped = dvt_level3_vanishes(g) ? 1U << A | 1U << B : 0;
}

#define ROW(routine, ...)                                                                                    \
  {.name = routine,                                                                                          \
   .bytes = sizeof(dvt_level3),                                                                              \
   .check = check,                                                                                           \
   .stream = dvt_level3_stream,                                                                              \
   .host = dvt_level3_host,                                                                                  \
   .region = dvt_level3_region,                                                                              \
   .region_on_host = true,                                                                                   \
   .prepare = dvt_blas_prepare,                                                                              \
   .array = {DVT_ARRAY(dvt_level3, a, DVT_MATRIX), DVT_ARRAY(dvt_level3, b, DVT_MATRIX),                     \
             DVT_ARRAY(dvt_level3, c, DVT_MATRIX)},                                                          \
   .size = {offsetof(dvt_level3, m), offsetof(dvt_level3, n)},                                               \
   .measure = measure,                                                                                       \
   __VA_ARGS__}
const dvt_operation dvt_level3_operations[DVT_ROUTINES] = {
    [DVT_GEMM] = ROW("gemm", .tasks = dvt_gemm_tasks, .has_tasks = dvt_gemm_has_tasks),
    [DVT_SYMM] = ROW("symm"),
    [DVT_HEMM] = ROW("hemm"),
    [DVT_SYRK] = ROW("syrk"),
    [DVT_HERK] = ROW("herk"),
    [DVT_SYR2K] = ROW("syr2k"),
    [DVT_HER2K] = ROW("her2k"),
    [DVT_TRMM] = ROW("trmm"),
    [DVT_TRSM] = ROW("trsm")};

static davit_status accept(void *arguments) {
  (void)arguments; /* made by the planner */
  return DAVIT_SUCCESS;
}

const dvt_operation dvt_add_operation = {.name = "add",
                                         .bytes = sizeof(dvt_add),
                                         .check = accept,
                                         .stream = dvt_add_stream,
                                         .prepare = dvt_blas_prepare,
                                         .host = dvt_add_host,
                                         .region = dvt_add_region,
                                         .region_on_host = true};
