/* SPDX-License-Identifier: Apache-2.0 */
/* LU and QR on devices without a library for them: on the host, with copies of the operands. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "offload/blas.h"
#include "offload/factored.h"
#include "src/base/allocate.h"

/* An operand: where its pointer, and its leading dimension (0: it is a vector), stand in the arguments. */
typedef struct operand {
  size_t pointer, ld, row_bytes;
  int64_t cols;
  bool reads, writes;
  bool on_host; /* it lies there already */
  void *copy, *there;
  size_t pitch;
} operand;

static davit_status move(const dvt_site *site, const operand *o, bool up) {
  const size_t cols = (size_t)o->cols, volume[] = {cols, o->row_bytes}, none[] = {0, 0},
               dense[] = {cols, o->row_bytes}, pitched[] = {cols, o->pitch};
  const int host = omp_get_initial_device(), device = site->device;
  if (cols == 0 || o->row_bytes == 0)
    return DAVIT_SUCCESS;
  const int failed =
      up ? omp_target_memcpy_rect(o->there, o->copy, 1, 2, volume, none, none, pitched, dense, device, host)
         : omp_target_memcpy_rect(o->copy, o->there, 1, 2, volume, none, none, dense, pitched, host, device);
  return failed ? davit_fail(DAVIT_DEVICE_ERROR, "an operand of a factorisation cannot be copied")
                : DAVIT_SUCCESS;
}

static davit_status bring(const dvt_site *site, operand *o, char *own, size_t element) {
  memcpy(&o->there, own + o->pointer, sizeof o->there);
  o->pitch = o->row_bytes;
  if (o->on_host)
    return DAVIT_SUCCESS;
  o->copy = dvt_allocate_raw(o->row_bytes * (size_t)o->cols + 1);
  if (!o->copy)
    return DAVIT_OUT_OF_HOST_MEMORY;
  memcpy(own + o->pointer, &o->copy, sizeof o->copy);
  if (o->ld) {
    int64_t ld, dense = (int64_t)(o->row_bytes / element);
    memcpy(&ld, own + o->ld, sizeof ld);
    o->pitch = (size_t)ld * element;
    dense = dense > 0 ? dense : 1;
    memcpy(own + o->ld, &dense, sizeof dense);
  }
  return o->reads ? move(site, o, false) : DAVIT_SUCCESS;
}

/* Runs the host form with copies of the operands. */
static davit_status on_host(const dvt_site *site, const void *arguments, size_t bytes, davit_type type,
                            dvt_form form, operand *operands, int count) {
  const dvt_site host = {.device = site->device, .threads = 1};
  _Alignas(16) char own[DVT_ARGUMENT_BYTES];
  davit_status status = DAVIT_SUCCESS;
  memcpy(own, arguments, bytes);
  for (int i = 0; i < count && status == DAVIT_SUCCESS; i++)
    status = bring(site, &operands[i], own, davit_type_bytes(type));
  if (status == DAVIT_SUCCESS)
    status = form(&host, own);
  for (int i = 0; i < count && status == DAVIT_SUCCESS; i++)
    if (operands[i].writes && !operands[i].on_host)
      status = move(site, &operands[i], true);
  for (int i = 0; i < count; i++)
    free(operands[i].copy);
  return status;
}

#define MATRIX(T, member, step, rows, columns, ...)                                                          \
  {.pointer = offsetof(T, member),                                                                           \
   .ld = offsetof(T, step),                                                                                  \
   .row_bytes = (size_t)(rows) * element,                                                                    \
   .cols = columns,                                                                                          \
   __VA_ARGS__}
#define VECTOR(T, member, bytes, ...)                                                                        \
  {.pointer = offsetof(T, member), .row_bytes = (size_t)(bytes), .cols = 1, __VA_ARGS__}
#define READS .reads = true
#define WRITES .writes = true
#define RUN(T, p, name)                                                                                      \
  on_host(site, p, sizeof *(p), (p)->type, dvt_##name##_host, operands,                                      \
          (int)(sizeof operands / sizeof *operands))

davit_status dvt_getrf_region(const dvt_site *site, const void *getrf) {
  const dvt_getrf *p = getrf;
  const size_t element = davit_type_bytes(p->type);
  operand operands[] = {MATRIX(dvt_getrf, a, lda, p->m, p->n, READS, WRITES),
                        VECTOR(dvt_getrf, ipiv, (size_t)(p->m < p->n ? p->m : p->n) * sizeof(int), WRITES),
                        VECTOR(dvt_getrf, info, sizeof(int), WRITES, .on_host = !p->on_device)};
  return RUN(dvt_getrf, p, getrf);
}

davit_status dvt_getrs_region(const dvt_site *site, const void *getrs) {
  const dvt_getrs *p = getrs;
  const size_t element = davit_type_bytes(p->type);
  operand operands[] = {MATRIX(dvt_getrs, a, lda, p->n, p->n, READS),
                        VECTOR(dvt_getrs, ipiv, (size_t)p->n * sizeof(int), READS),
                        MATRIX(dvt_getrs, b, ldb, p->n, p->nrhs, READS, WRITES)};
  return RUN(dvt_getrs, p, getrs);
}

davit_status dvt_geqrf_region(const dvt_site *site, const void *geqrf) {
  const dvt_geqrf *p = geqrf;
  const size_t element = davit_type_bytes(p->type);
  operand operands[] = {MATRIX(dvt_geqrf, a, lda, p->m, p->n, READS, WRITES),
                        VECTOR(dvt_geqrf, tau, (size_t)(p->m < p->n ? p->m : p->n) * element, WRITES)};
  return RUN(dvt_geqrf, p, geqrf);
}

davit_status dvt_ormqr_region(const dvt_site *site, const void *ormqr) {
  const dvt_ormqr *p = ormqr;
  const size_t element = davit_type_bytes(p->type);
  operand operands[] = {MATRIX(dvt_ormqr, a, lda, p->side == 'R' ? p->n : p->m, p->k, READS),
                        VECTOR(dvt_ormqr, tau, (size_t)p->k * element, READS),
                        MATRIX(dvt_ormqr, c, ldc, p->m, p->n, READS, WRITES)};
  return RUN(dvt_ormqr, p, ormqr);
}

davit_status dvt_orgqr_region(const dvt_site *site, const void *orgqr) {
  const dvt_orgqr *p = orgqr;
  const size_t element = davit_type_bytes(p->type);
  operand operands[] = {MATRIX(dvt_orgqr, a, lda, p->m, p->n, READS, WRITES),
                        VECTOR(dvt_orgqr, tau, (size_t)p->k * element, READS)};
  return RUN(dvt_orgqr, p, orgqr);
}

davit_status dvt_reflect_region(const dvt_site *site, const void *reflect) {
  const dvt_reflect *p = reflect;
  const size_t element = davit_type_bytes(p->type), square = (size_t)(p->k * p->k) * element;
  operand operands[] = {MATRIX(dvt_reflect, a, lda, p->m, p->k, READS, WRITES),
                        VECTOR(dvt_reflect, tau, (size_t)p->k * element, READS),
                        VECTOR(dvt_reflect, top, square, WRITES), VECTOR(dvt_reflect, t, square, WRITES)};
  return RUN(dvt_reflect, p, reflect);
}

davit_status dvt_adjoint_region(const dvt_site *site, const void *adjoint) {
  const dvt_adjoint *p = adjoint;
  const size_t element = davit_type_bytes(p->type);
  operand operands[] = {MATRIX(dvt_adjoint, a, lda, p->m, p->n, READS),
                        MATRIX(dvt_adjoint, b, ldb, p->n, p->m, WRITES)};
  return RUN(dvt_adjoint, p, adjoint);
}

davit_status dvt_reflector_region(const dvt_site *site, const void *reflector) {
  const dvt_reflector *r = reflector;
  void *work;
  DVT_TRY(site->workspace(site, dvt_reflector_bytes(r), &work));
  return dvt_reflector_apply(site, r, work, dvt_level3_region);
}
