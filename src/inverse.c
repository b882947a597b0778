/* SPDX-License-Identifier: Apache-2.0 */
/* Inverses: where they are computed, and the public calls.
 *
 * A device that reaches the matrix inverts it in place. Else one that has room for it gets it, inverts it, and gives it
 * back. Else the recursion of ref/inverse.h runs here, over calls of level 3 on all devices, down to blocks that the
 * first device gets, inverts, and gives back. */
#include <davit/solve.h>
#include <stdlib.h>

#include "offload/inverse.h"
#include "offload/runtime/device.h"
#include "offload/solve.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"
#include "src/base/cancel.h"
#include "src/base/clock.h"
#include "src/base/ending.h"
#include "src/base/team.h"
#include "src/factor/plain.h"
#include "src/runtime/backend.h"
#include "src/runtime/copy.h"
#include "src/runtime/memory.h"
#include "src/runtime/place.h"

/* ---- one lane ---- */

static davit_status check(void *arguments) {
  dvt_inverse *p = arguments;
  DVT_TRY(dvt_check_letter("uplo", p->uplo, "UL", &p->uplo));
  DVT_TRY(dvt_check_letter("diag", p->diag, "NU", &p->diag));
  DVT_TRY(dvt_check_length("n", p->n));
  DVT_TRY(dvt_check_ld("lda", p->lda, p->n, p->n));
  if (p->n > 0)
    DVT_TRY(dvt_check_pointer("a", p->a));
  if (p->n > 0 && p->kind == DVT_GETRI)
    DVT_TRY(dvt_check_pointer("ipiv", p->ipiv));
  return dvt_check_pointer("info", p->info);
}

#define ROW(kind, title)                                                                                     \
  [kind] = {.name = title,                                                                                   \
            .bytes = DVT_BYTES_OF(dvt_inverse),                                                              \
            .check = check,                                                                                  \
            .stream = dvt_inverse_stream,                                                                    \
            .host = dvt_inverse_host,                                                                        \
            .region = dvt_inverse_region,                                                                    \
            .region_on_host = true,                                                                          \
            .prepare = dvt_solve_prepare,                                                                    \
            .array = {DVT_ARRAY(dvt_inverse, a, DVT_MATRIX, .reads = true, .writes = true,                   \
                                .step = offsetof(dvt_inverse, lda))},                                        \
            .size = {offsetof(dvt_inverse, n), offsetof(dvt_inverse, n)},                                    \
            .order = DVT_WHOLE}
static const dvt_operation operations[] = {ROW(DVT_TRTRI, "trtri"), ROW(DVT_POTRI, "potri"),
                                           ROW(DVT_GETRI, "getri"), ROW(DVT_LAUUM, "lauum")};

/* The host exchanges rows. */
static davit_status lend_pivots(dvt_inverse *p, dvt_lent *lent) {
  DVT_TRY(dvt_lend((void *)(uintptr_t)p->ipiv, (size_t)p->n * sizeof(int), DAVIT_HOST, true, lent));
  p->ipiv = lent->pointer;
  return DAVIT_SUCCESS;
}

/* Inside a BLOCKING command, as all forms wait. */
static davit_status run_form(const dvt_site *site, const void *arguments) {
  dvt_inverse p = *(const dvt_inverse *)arguments;
  const size_t bytes = dvt_inverse_scratch(&p, DVT_INVERSE_COLUMNS);
  int info = 0;
  dvt_lent ipiv;
  p.info = &info;
  p.scratch = NULL; /* of the caller, where this is a part */
  DVT_TRY(lend_pivots(&p, &ipiv));
  davit_status status =
      bytes > 0 ? dvt_malloc(bytes, dvt_place_for(site->device), &p.scratch) : DAVIT_SUCCESS;
  if (status == DAVIT_SUCCESS)
    status = dvt_operation_run(site, &operations[p.kind], &p);
  davit_free(p.scratch);
  const davit_status back = dvt_lent_back(&ipiv, false);
  DVT_TRY(status);
  DVT_TRY(back);
  int *const wanted = ((const dvt_inverse *)arguments)->info;
  const dvt_copy found = dvt_copy_bytes(sizeof info, &info, DAVIT_PAGEABLE, wanted, dvt_place_of(wanted));
  return dvt_copy_now(&found);
}

static davit_status submit(dvt_lane *lane, const dvt_inverse *p) {
  const dvt_work work = {
      .form = run_form, .name = operations[p->kind].name, .stream = true, .threads = lane->threads};
  return dvt_lane_submit_work(lane, DVT_BLOCKING, &work, p, sizeof *p);
}

/* ---- one device ---- */

typedef struct call {
  dvt_plain plain;
  const dvt_inverse *arguments; /* checked, n > 0 */
  size_t bytes;                 /* that may be used on each device */
} call;

static size_t bytes_of(const dvt_inverse *p) {
  return (size_t)(p->n * p->n) * davit_type_bytes(p->type);
}

/* A short matrix of the host's is inverted by the calling thread. */
static davit_status invert_in_place(call *c, int device) {
  const dvt_inverse *p = c->arguments;
  const dvt_operation *operation = &operations[p->kind];
  dvt_lane *lane;
  c->plain.report.block = p->n;
  c->plain.report.device_count = 1;
  c->plain.report.written = true;
  if (dvt_operation_runs_here(device, operation, 0)) {
    dvt_inverse own = *p;
    const size_t bytes = dvt_inverse_scratch(p, DVT_INVERSE_COLUMNS), few = 32 << 10;
    if (bytes > 0 && !(own.scratch = dvt_allocate_raw(bytes)))
      return DAVIT_OUT_OF_HOST_MEMORY;
    const bool is_short = bytes_of(p) <= few;
    const davit_status status = dvt_operation_run_here(device, operation, &own, is_short ? DVT_ALONE : 0);
    free(own.scratch);
    return status;
  }
  DVT_TRY(dvt_lane_open(device, &lane));
  return dvt_lane_end(lane, submit(lane, p));
}

/* Between the matrix and its copy of leading dimension n: of triangles what lies on and beside the blocks of the
 * diagonal. */
static davit_status move(call *c, dvt_lane *lane, const dvt_inverse *p, char *copy, bool back) {
  enum { COLUMNS = 512 };
  const size_t element = davit_type_bytes(p->type), ld = (size_t)p->lda * element,
               dense = (size_t)p->n * element;
  const int there = dvt_place_for(lane->device);
  const bool from_host = dvt_place_is_host(c->plain.call.a.place), whole = p->kind == DVT_GETRI;
  int64_t *bytes = !from_host ? &c->plain.report.bytes_from_peers
                   : back     ? &c->plain.report.bytes_to_host
                              : &c->plain.report.bytes_from_host;
  for (int64_t j = 0; j < p->n; j += COLUMNS) {
    const int64_t end = dvt_at_most(j + COLUMNS, p->n), top = whole || p->uplo == 'U' ? 0 : j,
                  bottom = whole || p->uplo == 'L' ? p->n : end;
    const size_t down = (size_t)top * element;
    const dvt_columns matrix = {(const char *)p->a + down + (size_t)j * ld, ld, c->plain.call.a.place},
                      own = {copy + down + (size_t)j * dense, dense, there};
    const dvt_copy part = dvt_copy_columns((size_t)(bottom - top) * element, (size_t)(end - j),
                                           back ? own : matrix, back ? matrix : own);
    *bytes += (int64_t)(part.row_bytes * part.cols);
    DVT_TRY(dvt_copy_submit(lane, &part));
  }
  return DAVIT_SUCCESS;
}

static davit_status invert_copy(call *c, dvt_lane *lane, const dvt_inverse *p, void *copy) {
  dvt_inverse there = *p;
  there.a = copy;
  there.lda = p->n;
  DVT_TRY(move(c, lane, p, copy, false));
  DVT_TRY(submit(lane, &there));
  DVT_TRY(dvt_lanes_synchronize(&lane, 1));
  if (*p->info)
    return DAVIT_SUCCESS;
  c->plain.report.written = true;
  return move(c, lane, p, copy, true);
}

static davit_status invert_elsewhere(call *c, const dvt_inverse *p) {
  const int device = c->plain.call.devices[0];
  dvt_lane *lane;
  void *copy;
  DVT_TRY(dvt_malloc(bytes_of(p), dvt_place_for(device), &copy));
  davit_status status = dvt_lane_open(device, &lane);
  if (status == DAVIT_SUCCESS)
    status = dvt_lane_end(lane, invert_copy(c, lane, p, copy));
  davit_free(copy);
  return status;
}

/* ---- parts ---- */

static davit_status level3(const dvt_inverter *on, const dvt_level3 *g) {
  dvt_level3 own = *g;
  return dvt_plain_level3(&((call *)on->context)->plain, &own);
}

static davit_status small(const dvt_inverter *on, const dvt_inverse *block) {
  call *c = on->context;
  if (block->kind != DVT_CLEAR)
    return invert_elsewhere(c, block);
  c->plain.report.written = true;
  return dvt_inverse_fetched(on, block);
}

static davit_status copy(const dvt_inverter *on, dvt_inverse_way way, void *to, size_t to_pitch,
                         const void *from, size_t from_pitch, size_t row_bytes, size_t cols) {
  (void)on, (void)way;
  const dvt_copy part = {to,        from, to_pitch,         from_pitch,
                         row_bytes, cols, dvt_place_of(to), dvt_place_of(from)};
  return dvt_copy_now(&part);
}

/* So long that a device is fast, and so short that the others do not wait for it for long. */
static int64_t choose_block(const call *c) {
  const int64_t shortest = 64, longest = 4096, eighth = (c->arguments->n / 8 + 63) / 64 * 64;
  int64_t block = dvt_at_most(dvt_at_least(eighth, shortest), longest);
  while (block > 1 && 2 * (size_t)(block * block) * davit_type_bytes(c->arguments->type) > c->bytes)
    block /= 2;
  return c->plain.call.options->block ? c->plain.call.options->block : block;
}

static davit_status invert_parts(call *c) {
  dvt_inverse p = *c->arguments;
  const int64_t block = choose_block(c);
  const dvt_inverter parts = {c, block, block, level3, small, copy};
  const size_t bytes = dvt_inverse_scratch(&p, block);
  const davit_solve_options *given = c->plain.given;
  davit_solve_options named = *c->plain.call.options; /* level 3 would choose for itself */
  named.devices = c->plain.call.devices;
  named.device_count = c->plain.call.count;
  c->plain.report.block = block;
  c->plain.report.device_count = 1;
  if (bytes > 0)
    DVT_TRY(dvt_malloc(bytes, DAVIT_PAGEABLE, &p.scratch));
  c->plain.given = &named;
  const davit_status status = dvt_inverse_by(&parts, &p);
  c->plain.given = given;
  davit_free(p.scratch);
  return status;
}

/* ---- where ---- */

/* The least that a device has; none is asked where two matrices fit into what any has. */
static davit_status find_bytes(call *c) {
  const bool fits = 2 * bytes_of(c->arguments) <= (size_t)1 << 30;
  if ((c->bytes = c->plain.call.options->cache_bytes) > 0)
    return DAVIT_SUCCESS;
  c->bytes = SIZE_MAX;
  for (int i = 0; i < c->plain.call.count; i++) {
    size_t bytes;
    DVT_TRY(dvt_memory_usable(c->plain.call.devices[i], !fits, &bytes));
    c->bytes = bytes < c->bytes ? bytes : c->bytes;
  }
  return DAVIT_SUCCESS;
}

/* The matrix, and as much beside it, which is more than libraries ask for. A device that refuses it gets parts. */
static davit_status invert_on_devices(call *c) {
  const dvt_inverse *p = c->arguments;
  DVT_TRY(find_bytes(c));
  if ((c->plain.any_device || c->plain.call.count == 1) && 2 * bytes_of(p) <= c->bytes) {
    c->plain.report.block = p->n;
    c->plain.report.device_count = 1;
    const davit_status status = invert_elsewhere(c, p);
    if (status != DAVIT_OUT_OF_DEVICE_MEMORY || c->plain.report.written || c->plain.call.options->cache_bytes)
      return status;
    c->bytes /= 4;
  }
  return invert_parts(c);
}

static davit_status travel(call *c) {
  DVT_UNCANCELLED;
  DVT_TRY(dvt_may_wait());
  dvt_backend_hold();
  DVT_INSIDE_IF(dvt_place_any_gpu(c->plain.call.devices, c->plain.call.count));
  const davit_status status = invert_on_devices(c);
  dvt_backend_drop();
  return status;
}

/* ---- the two forms ---- */

/* A product's flops, in sixths, that an inverse takes. */
static double sixths_of(const dvt_inverse *p) {
  return p->kind == DVT_TRTRI ? 1 : p->kind == DVT_POTRI ? 2 : 4;
}

static davit_status compute(call *c) {
  dvt_plain *p = &c->plain;
  const bool at_home = dvt_plain_is_at_home(p);
  const davit_status status = at_home ? invert_in_place(c, p->home) : travel(c);
  return dvt_plain_goes_home(p, status) ? invert_in_place(c, p->home) : status;
}

static davit_status invert(call *c, dvt_inverse *p) {
  const double n = (double)p->n;
  void *ipiv = (void *)(uintptr_t)p->ipiv;
  int info = 0;
  dvt_lent lent;
  p->info = &info;
  if (c->plain.given)
    DVT_TRY(DVT_CHECK_OPTIONS(c->plain.given));
  DVT_TRY(check(p));
  DVT_TRY(dvt_plain_begin(&c->plain));
  if (p->n == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_plain_mapped(&c->plain, "a", &p->a));
  DVT_TRY(dvt_plain_mapped(&c->plain, "ipiv", &ipiv));
  p->ipiv = ipiv;
  c->plain.call.type = p->type;
  c->plain.call.a = (dvt_dense){p->a, p->n, p->n, p->lda, 0};
  c->plain.flops = 2 * n * n * n * sixths_of(p) / 6;
  c->plain.elements = p->kind == DVT_GETRI ? n * n : n * n / 2;
  DVT_TRY(lend_pivots(p, &lent));
  const davit_status status = compute(c), back = dvt_lent_back(&lent, false);
  DVT_TRY(status);
  DVT_TRY(back);
  c->plain.report.failed = info;
  if (info == 0)
    return DAVIT_SUCCESS;
  c->plain.report.written = false;
  return davit_fail(DAVIT_SINGULAR, "element %d of the diagonal is 0", info);
}

static davit_status run(dvt_inverse *p, const davit_solve_options *options) {
  const int64_t begin = dvt_now_ns();
  call c = {.plain = {.given = options}, .arguments = p};
  return dvt_plain_end(&c.plain, begin, invert(&c, p));
}

static davit_status enqueue(davit_queue *queue, dvt_inverse *p, const davit_solve_options *options) {
  const dvt_where where = DVT_WHERE(options);
  dvt_lane *lane;
  DVT_TRY(dvt_queue_options(options));
  DVT_TRY(dvt_choose_lane(queue, where, &lane));
  DVT_TRY(check(p));
  if (where.mapped)
    DVT_TRY(dvt_operation_use_mapped(&operations[p->kind], p, lane->device));
  return submit(lane, p);
}

/* ---- the calls ---- */

/* Both forms of a call: its parameters, and what they give. */
#define CALL(p, name, PARAMETERS, ...)                                                                       \
  davit_status davit_##p##name(DVT_UNPACK PARAMETERS, const davit_solve_options *options) {                  \
    return run(&(dvt_inverse){__VA_ARGS__}, options);                                                        \
  }                                                                                                          \
  davit_status davit_queue_##p##name(davit_queue *queue, DVT_UNPACK PARAMETERS, int *info,                   \
                                     const davit_solve_options *options) {                                   \
    return enqueue(queue, &(dvt_inverse){__VA_ARGS__, .info = info}, options);                               \
  }
#define DVT_UNPACK(...) __VA_ARGS__

#define MATRIX .n = n, .a = a, .lda = lda
#define CALLS(p, T, TYPE)                                                                                    \
  CALL(p, trtri, (char uplo, char diag, int64_t n, T *a, int64_t lda), .kind = DVT_TRTRI, .type = TYPE,      \
       .uplo = uplo, .diag = diag, MATRIX)                                                                   \
  CALL(p, potri, (char uplo, int64_t n, T *a, int64_t lda), .kind = DVT_POTRI, .type = TYPE, .uplo = uplo,   \
       .diag = 'N', MATRIX)                                                                                  \
  CALL(p, getri, (int64_t n, T *a, int64_t lda, const int *ipiv), .kind = DVT_GETRI, .type = TYPE,           \
       .uplo = 'U', .diag = 'N', MATRIX, .ipiv = ipiv)
CALLS(d, double, DAVIT_DOUBLE)
CALLS(s, float, DAVIT_FLOAT)
CALLS(z, davit_complex_double, DAVIT_COMPLEX_DOUBLE)
CALLS(c, davit_complex_float, DAVIT_COMPLEX_FLOAT)
