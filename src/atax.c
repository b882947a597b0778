/* SPDX-License-Identifier: Apache-2.0 */
/* y = opᵀ(A) (op(A) x): 4 m n flops over m n elements of A, each read
 * once by a device: where A lies on the host the link's m n elements are the floor. */
#include <davit/atax.h>

#include "offload/atax.h"
#include "offload/blas.h"
#include "offload/runtime/device.h"
#include "src/base/arithmetic.h"
#include "src/runtime/memory.h"
#include "src/runtime/split.h"
#include "src/runtime/tuning.h"
#include "src/shape.h"

/* Whether the vector, an output, shares an element with another argument. */
static davit_status check_output(const dvt_atax *g, const char *name, const void *vector, int64_t length) {
  size_t element = davit_type_bytes(g->type);
  if (dvt_vectors_overlap(vector, length, 1, g->x, dvt_atax_outer(g), 1, element))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s overlaps x", name);
  if (dvt_blocks_overlap(g->a, g->lda, g->m, g->n, vector, length > 0 ? length : 1, length, 1, element))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s overlaps a", name);
  return DAVIT_SUCCESS;
}

static davit_status check_pointers(const dvt_atax *g) {
  bool empty = g->m == 0 || g->n == 0;
  if (!empty && (!g->a || !g->x))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "%s is NULL", g->a ? "x" : "a");
  if (!g->y && dvt_atax_outer(g) > 0)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "y is NULL");
  if (g->tmp && dvt_vectors_overlap(g->tmp, dvt_atax_inner(g), 1, g->y, dvt_atax_outer(g), 1,
                                    davit_type_bytes(g->type)))
    return davit_fail(DAVIT_INVALID_ARGUMENT, "tmp overlaps y");
  if (empty)
    return DAVIT_SUCCESS;
  DVT_TRY(check_output(g, "y", g->y, dvt_atax_outer(g)));
  return g->tmp ? check_output(g, "tmp", g->tmp, dvt_atax_inner(g)) : DAVIT_SUCCESS;
}

static davit_status check(void *arguments) {
  dvt_atax *g = arguments;
  DVT_TRY(dvt_check_floating(g->type));
  DVT_TRY(dvt_check_trans("trans", g->type, g->trans, &g->trans));
  DVT_TRY(dvt_check_length("m", g->m));
  DVT_TRY(dvt_check_length("n", g->n));
  DVT_TRY(dvt_check_ld("lda", g->lda, g->m, g->n));
  return check_pointers(g);
}

/* A chunk of A is some columns of op(A)ᵀ, one at least. Each adds to the y of its lane. */
enum { CHUNK_BYTES = 32 << 20, SHORT_BYTES = 1 << 22 };

static void measure(const void *arguments, int device, int ranges, dvt_extents *e) {
  const dvt_atax *g = arguments;
  const int64_t row = dvt_atax_outer(g) * (int64_t)e->element;
  (void)ranges;
  e->rows = g->trans == 'N' ? DVT_OUT : DVT_IN;
  e->length[DVT_OUT] = dvt_atax_inner(g);
  e->length[DVT_IN] = e->chunk[DVT_IN] = dvt_atax_outer(g);
  e->result_bytes = (size_t)row;
  e->chunk[DVT_OUT] =
      dvt_at_least(dvt_tuned(device, DVT_TUNE_ATAX_CHUNK_BYTES, CHUNK_BYTES) / dvt_at_least(row, 1), 1);
}

static void part(const void *arguments, const dvt_chunk *chunk, void *part) {
  (void)arguments;
  ((dvt_atax *)part)->add = !chunk->first;
}

/* In the order of the lanes. Sums over nothing are 0. */
static davit_status merge(const void *arguments, void *totals, int64_t count) {
  const dvt_atax *g = arguments;
  const int64_t length = dvt_atax_outer(g);
  const size_t element = davit_type_bytes(g->type), bytes = (size_t)length * element,
               tmp_bytes = (size_t)dvt_atax_inner(g) * element;
  double *doubles = totals;
  float *floats = totals;
  if (count == 0 && g->tmp && tmp_bytes > 0)
    DVT_TRY(davit_fill(tmp_bytes, 0, g->tmp));
  if (count == 0)
    return bytes > 0 ? davit_fill(bytes, 0, g->y) : DAVIT_SUCCESS;
  for (int64_t k = 1; k < count; k++)
    for (int64_t i = 0; i < length; i++)
      if (g->type == DAVIT_DOUBLE)
        doubles[i] += doubles[k * length + i];
      else
        floats[i] += floats[k * length + i];
  return davit_copy(bytes, totals, g->y);
}

static void tune(void *arguments, int device) {
  ((dvt_atax *)arguments)->teams =
      dvt_tuned(device, DVT_TUNE_ATAX_TEAMS, 0) * dvt_device_find(device)->info.compute_units;
}

static const dvt_operation operation = {
    .name = "atax",
    .bytes = DVT_BYTES_OF(dvt_atax),
    .typed = true,
    .check = check,
    .stream = dvt_atax_device,
    .prepare = dvt_blas_prepare,
    .host = dvt_atax_host,
    .region = dvt_atax_device,
    .region_on_host = true,
    .tune = tune,
    .tuned_threads = DVT_TUNE_ATAX_THREADS,
    .short_bytes = SHORT_BYTES,
    .array = {DVT_ARRAY(dvt_atax, a, DVT_MATRIX, .step = offsetof(dvt_atax, lda), .reads = true),
              DVT_ARRAY(dvt_atax, x, DVT_ALONG_IN, .reads = true),
              DVT_ARRAY(dvt_atax, tmp, DVT_ALONG_OUT, .writes = true),
              DVT_ARRAY(dvt_atax, y, DVT_TOTAL, .writes = true)},
    .size = {offsetof(dvt_atax, m), offsetof(dvt_atax, n)},
    .measure = measure,
    .order = DVT_CHUNKS_STAY,
    .part = part,
    .merge = merge};

/* Of columns of 8192. */
davit_status dvt_atax_kernel(int device, dvt_stream *stream, dvt_kernel_fit *fit) {
  (void)device;
  return dvt_atax_fit(stream, &(dvt_atax){.type = DAVIT_DOUBLE, .trans = 'T', .m = 8192, .n = 8192}, fit);
}

davit_status davit_queue_atax(davit_queue *queue, davit_type type, char trans, int64_t m, int64_t n,
                              const void *a, int64_t lda, const void *x, void *tmp, void *y,
                              const davit_atax_options *options) {
  return dvt_operation_enqueue(queue, &operation, &(dvt_atax){type, trans, m, n, a, lda, x, tmp, y, false, 0},
                               DVT_WHERE(options));
}

davit_status davit_atax(davit_type type, char trans, int64_t m, int64_t n, const void *a, int64_t lda,
                        const void *x, void *tmp, void *y, const davit_atax_options *options) {
  return dvt_operation_call(&operation, &(dvt_atax){type, trans, m, n, a, lda, x, tmp, y, false, 0},
                            DVT_WHERE(options));
}
