/* SPDX-License-Identifier: Apache-2.0 */
#include "src/factor/refine.h"

#include "src/base/ending.h"
#include "src/runtime/lane.h"
#include "src/runtime/memory.h"
#include "src/runtime/place.h"
#include "src/runtime/split.h"

static const dvt_operation refine_operation = {.name = "refine",
                                               .bytes = DVT_BYTES_OF(dvt_refine),
                                               .stream = dvt_refine_stream,
                                               .host = dvt_refine_host,
                                               .region = dvt_refine_host,
                                               .prepare = dvt_solve_prepare,
                                               .order = DVT_WHOLE};

/* X and, on a device, dense copies of A and B. */
typedef struct room {
  int device, place;
  void *a, *b, *x;
} room;

static davit_status carry(dvt_plain *p, const dvt_dense *m, void *dense, int place, bool back) {
  const size_t element = davit_type_bytes(p->call.type), rows = (size_t)m->rows * element;
  const dvt_columns matrix = {m->a, (size_t)m->ld * element, m->place}, own = {dense, rows, place};
  const dvt_copy copy = dvt_copy_columns(rows, (size_t)m->cols, back ? own : matrix, back ? matrix : own);
  if (!dvt_place_is_host(place))
    p->report.bytes_from_peers += (int64_t)(rows * copy.cols);
  return dvt_copy_now(&copy);
}

static davit_status find_room(dvt_plain *p, room *r, bool host) {
  const dvt_dense *a = &p->call.a, *b = &p->call.b;
  const size_t element = davit_type_bytes(p->call.type), sides = (size_t)(b->rows * b->cols) * element;
  DVT_TRY(dvt_malloc(sides, r->place, &r->x));
  if (host)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_malloc((size_t)(a->rows * a->cols) * element, r->place, &r->a));
  DVT_TRY(dvt_malloc(sides, r->place, &r->b));
  DVT_TRY(carry(p, a, r->a, r->place, false));
  return carry(p, b, r->b, r->place, false);
}

static davit_status run(dvt_plain *p, char uplo, room *r, bool host, bool *solved) {
  const dvt_dense *a = &p->call.a, *b = &p->call.b;
  const int64_t n = a->rows;
  int steps = -1;
  DVT_TRY(find_room(p, r, host));
  const dvt_refine refine = {.type = p->call.type,
                             .uplo = uplo,
                             .n = n,
                             .nrhs = b->cols,
                             .a = host ? a->a : r->a,
                             .lda = host ? a->ld : n,
                             .b = host ? b->a : r->b,
                             .ldb = host ? b->ld : n,
                             .x = r->x,
                             .ldx = n,
                             .iterations = &steps};
  DVT_TRY(dvt_operation_now(r->device, &refine_operation, &refine, 0));
  p->report.iterations = steps < 0 ? -steps : steps;
  if (steps < 0)
    return DAVIT_SUCCESS;
  p->report.written = true;
  DVT_TRY(carry(p, b, r->x, r->place, true));
  p->report.arithmetic = DAVIT_ARITHMETIC_MIXED;
  p->report.block = n;
  p->report.device_count = 1;
  *solved = true;
  return DAVIT_SUCCESS;
}

/* A device that computes LU in a shorter type by a library, for one right-hand side at a time, or the host. Where A is
 * on its way from the host, the native form, which does not wait for all of it, is as fast. */
davit_status dvt_plain_refine(dvt_plain *p, char uplo, bool at_home, bool *solved) {
  room r = {.device = p->home};
  *solved = false;
  if (!at_home)
    return DAVIT_SUCCESS;
  const bool streams = dvt_lane_has_stream(r.device), host = !streams && dvt_place_is_host(p->call.a.place);
  if (!host && (uplo || !streams || p->call.b.cols > 1))
    return DAVIT_SUCCESS;
  r.place = host ? DAVIT_PAGEABLE : dvt_place_for(r.device);
  DVT_TRY(dvt_may_wait());
  DVT_INSIDE_IF(!host);
  davit_status status = run(p, uplo, &r, host, solved);
  davit_free(r.a);
  davit_free(r.b);
  davit_free(r.x);
  /* A library or a GPU without the shorter type, or without room: what is wrong for the native form it will say. */
  if (!*solved && !p->report.written) {
    dvt_error_clear();
    status = DAVIT_SUCCESS;
  }
  return status;
}
