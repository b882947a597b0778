/* SPDX-License-Identifier: Apache-2.0 */
#include "src/factor/rows.h"

#include "src/base/arithmetic.h"

static void measure_info(const void *arguments, int device, int ranges, dvt_extents *e) {
  (void)arguments, (void)device, (void)ranges;
  e->result_bytes = sizeof(int);
}

/* ---- Cholesky ---- */

static davit_status check_potrf(void *arguments) {
  dvt_potrf *p = arguments;
  DVT_TRY(dvt_check_letter("uplo", p->uplo, "UL", &p->uplo));
  DVT_TRY(dvt_check_length("n", p->n));
  DVT_TRY(dvt_check_ld("lda", p->lda, p->n, p->n));
  if (p->n > 0)
    DVT_TRY(dvt_check_pointer("a", p->a));
  return dvt_check_pointer("info", p->info);
}

static davit_status no_potrf(const void *arguments, void *results, int64_t count) {
  (void)results, (void)count;
  *((const dvt_potrf *)arguments)->info = 0;
  return DAVIT_SUCCESS;
}

const dvt_operation dvt_potrf_operation = {
    .name = "potrf",
    .bytes = DVT_BYTES_OF(dvt_potrf),
    .check = check_potrf,
    .stream = dvt_potrf_stream,
    .host = dvt_potrf_host,
    .region = dvt_potrf_region,
    .region_on_host = true,
    .prepare = dvt_solve_prepare,
    .short_bytes = 32 << 10,
    .array = {DVT_ARRAY(dvt_potrf, a, DVT_MATRIX, .reads = true, .writes = true,
                        .step = offsetof(dvt_potrf, lda)),
              DVT_ARRAY(dvt_potrf, info, DVT_RESULT, .step = offsetof(dvt_potrf, on_device))},
    .typed = true,
    .size = {offsetof(dvt_potrf, n), offsetof(dvt_potrf, n)},
    .measure = measure_info,
    .merge = no_potrf,
    .order = DVT_WHOLE};

/* ---- LU ---- */

static davit_status check_getrf(void *arguments) {
  dvt_getrf *p = arguments;
  DVT_TRY(dvt_check_length("m", p->m));
  DVT_TRY(dvt_check_length("n", p->n));
  DVT_TRY(dvt_check_ld("lda", p->lda, p->m, p->n));
  if (p->m > 0 && p->n > 0) {
    DVT_TRY(dvt_check_pointer("a", p->a));
    DVT_TRY(dvt_check_pointer("ipiv", p->ipiv));
  }
  return dvt_check_pointer("info", p->info);
}

static davit_status no_getrf(const void *arguments, void *results, int64_t count) {
  (void)results, (void)count;
  *((const dvt_getrf *)arguments)->info = 0;
  return DAVIT_SUCCESS;
}

const dvt_operation dvt_getrf_operation = {
    .name = "getrf",
    .bytes = DVT_BYTES_OF(dvt_getrf),
    .check = check_getrf,
    .stream = dvt_getrf_stream,
    .host = dvt_getrf_host,
    .region = dvt_getrf_region,
    .region_on_host = true,
    .prepare = dvt_solve_prepare,
    .short_bytes = 32 << 10,
    .array = {DVT_ARRAY(dvt_getrf, a, DVT_MATRIX, .reads = true, .writes = true,
                        .step = offsetof(dvt_getrf, lda)),
              DVT_ARRAY(dvt_getrf, ipiv, DVT_ALONG_OUT, .writes = true, .element = sizeof(int)),
              DVT_ARRAY(dvt_getrf, info, DVT_RESULT, .step = offsetof(dvt_getrf, on_device))},
    .typed = true,
    .size = {offsetof(dvt_getrf, n), offsetof(dvt_getrf, m)},
    .measure = measure_info,
    .merge = no_getrf,
    .order = DVT_WHOLE};

static davit_status check_getrs(void *arguments) {
  dvt_getrs *p = arguments;
  DVT_TRY(dvt_check_letter("trans", p->trans, "NTC", &p->trans));
  DVT_TRY(dvt_check_length("n", p->n));
  DVT_TRY(dvt_check_length("nrhs", p->nrhs));
  DVT_TRY(dvt_check_ld("lda", p->lda, p->n, p->n));
  DVT_TRY(dvt_check_ld("ldb", p->ldb, p->n, p->nrhs));
  if (p->n == 0 || p->nrhs == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_check_pointer("a", p->a));
  DVT_TRY(dvt_check_pointer("ipiv", p->ipiv));
  return dvt_check_pointer("b", p->b);
}

const dvt_operation dvt_getrs_operation = {
    .name = "getrs",
    .bytes = DVT_BYTES_OF(dvt_getrs),
    .check = check_getrs,
    .stream = dvt_getrs_stream,
    .host = dvt_getrs_host,
    .region = dvt_getrs_region,
    .region_on_host = true,
    .prepare = dvt_solve_prepare,
    .array = {DVT_ARRAY(dvt_getrs, a, DVT_MATRIX, .reads = true, .step = offsetof(dvt_getrs, lda)),
              DVT_ARRAY(dvt_getrs, ipiv, DVT_ALONG_OUT, .reads = true, .element = sizeof(int)),
              DVT_ARRAY(dvt_getrs, b, DVT_MATRIX, .reads = true, .writes = true,
                        .step = offsetof(dvt_getrs, ldb))},
    .typed = true,
    .size = {offsetof(dvt_getrs, n), offsetof(dvt_getrs, nrhs)},
    .order = DVT_WHOLE};

/* ---- QR ---- */

static davit_status check_geqrf(void *arguments) {
  dvt_geqrf *p = arguments;
  DVT_TRY(dvt_check_length("m", p->m));
  DVT_TRY(dvt_check_length("n", p->n));
  DVT_TRY(dvt_check_ld("lda", p->lda, p->m, p->n));
  if (p->m == 0 || p->n == 0)
    return DAVIT_SUCCESS;
  DVT_TRY(dvt_check_pointer("a", p->a));
  return dvt_check_pointer("tau", p->tau);
}

const dvt_operation dvt_geqrf_operation = {
    .name = "geqrf",
    .bytes = DVT_BYTES_OF(dvt_geqrf),
    .check = check_geqrf,
    .stream = dvt_geqrf_stream,
    .host = dvt_geqrf_host,
    .region = dvt_geqrf_region,
    .region_on_host = true,
    .prepare = dvt_solve_prepare,
    .short_bytes = 32 << 10,
    .array = {DVT_ARRAY(dvt_geqrf, a, DVT_MATRIX, .reads = true, .writes = true,
                        .step = offsetof(dvt_geqrf, lda)),
              DVT_ARRAY(dvt_geqrf, tau, DVT_ALONG_OUT, .writes = true)},
    .typed = true,
    .size = {offsetof(dvt_geqrf, n), offsetof(dvt_geqrf, m)},
    .order = DVT_WHOLE};

static davit_status check_ormqr(void *arguments) {
  dvt_ormqr *p = arguments;
  const bool real = p->type == DAVIT_DOUBLE || p->type == DAVIT_FLOAT;
  DVT_TRY(dvt_check_letter("side", p->side, "LR", &p->side));
  DVT_TRY(dvt_check_letter("trans", p->trans, real ? "NT" : "NC", &p->trans));
  DVT_TRY(dvt_check_length("m", p->m));
  DVT_TRY(dvt_check_length("n", p->n));
  DVT_TRY(dvt_check_length("k", p->k));
  const int64_t order = p->side == 'L' ? p->m : p->n;
  if (p->k > order)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "k is %lld, but %s is %lld: more reflectors than Q's order",
                      (long long)p->k, p->side == 'L' ? "m" : "n", (long long)order);
  DVT_TRY(dvt_check_ld("lda", p->lda, order, p->k));
  DVT_TRY(dvt_check_ld("ldc", p->ldc, p->m, p->n));
  if (p->m == 0 || p->n == 0)
    return DAVIT_SUCCESS;
  if (p->k > 0) {
    DVT_TRY(dvt_check_pointer("a", p->a));
    DVT_TRY(dvt_check_pointer("tau", p->tau));
  }
  return dvt_check_pointer("c", p->c);
}

const dvt_operation dvt_ormqr_operation = {
    .name = "ormqr",
    .bytes = DVT_BYTES_OF(dvt_ormqr),
    .check = check_ormqr,
    .stream = dvt_ormqr_stream,
    .host = dvt_ormqr_host,
    .region = dvt_ormqr_region,
    .region_on_host = true,
    .prepare = dvt_solve_prepare,
    .array = {DVT_ARRAY(dvt_ormqr, a, DVT_MATRIX, .reads = true, .step = offsetof(dvt_ormqr, lda)),
              DVT_ARRAY(dvt_ormqr, tau, DVT_ALONG_OUT, .reads = true),
              DVT_ARRAY(dvt_ormqr, c, DVT_MATRIX, .reads = true, .writes = true,
                        .step = offsetof(dvt_ormqr, ldc))},
    .typed = true,
    .size = {offsetof(dvt_ormqr, n), offsetof(dvt_ormqr, m)},
    .order = DVT_WHOLE};

static davit_status check_orgqr(void *arguments) {
  dvt_orgqr *p = arguments;
  DVT_TRY(dvt_check_length("m", p->m));
  DVT_TRY(dvt_check_length("n", p->n));
  DVT_TRY(dvt_check_length("k", p->k));
  if (p->n > p->m || p->k > p->n)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "m is %lld, n is %lld, k is %lld, not in descending order",
                      (long long)p->m, (long long)p->n, (long long)p->k);
  DVT_TRY(dvt_check_ld("lda", p->lda, p->m, p->n));
  if (p->n > 0)
    DVT_TRY(dvt_check_pointer("a", p->a));
  return p->k > 0 ? dvt_check_pointer("tau", p->tau) : DAVIT_SUCCESS;
}

const dvt_operation dvt_orgqr_operation = {
    .name = "orgqr",
    .bytes = DVT_BYTES_OF(dvt_orgqr),
    .check = check_orgqr,
    .stream = dvt_orgqr_stream,
    .host = dvt_orgqr_host,
    .region = dvt_orgqr_region,
    .region_on_host = true,
    .prepare = dvt_solve_prepare,
    .array = {DVT_ARRAY(dvt_orgqr, a, DVT_MATRIX, .reads = true, .writes = true,
                        .step = offsetof(dvt_orgqr, lda)),
              DVT_ARRAY(dvt_orgqr, tau, DVT_ALONG_OUT, .reads = true)},
    .typed = true,
    .size = {offsetof(dvt_orgqr, n), offsetof(dvt_orgqr, m)},
    .order = DVT_WHOLE};

/* ---- parts ---- */

static davit_status check_nothing(void *arguments) {
  (void)arguments;
  return DAVIT_SUCCESS;
}

#define PART(part_name, device_form, host_only_region, preparation)                                          \
  const dvt_operation dvt_##part_name##_operation = {.name = #part_name,                                     \
                                                     .bytes = DVT_BYTES_OF(dvt_##part_name),                 \
                                                     .check = check_nothing,                                 \
                                                     .stream = dvt_##part_name##_##device_form,              \
                                                     .host = dvt_##part_name##_host,                         \
                                                     .region = dvt_##part_name##_##host_only_region,         \
                                                     .prepare = preparation,                                 \
                                                     .order = DVT_WHOLE}
PART(permute, device, device, NULL);
PART(unit, device, device, NULL);
PART(fetch, device, device, NULL);
PART(reflect, stream, region, dvt_solve_prepare);
PART(reflector, stream, region, dvt_solve_prepare);
PART(adjoint, stream, region, dvt_solve_prepare);
PART(cholesky_qr, stream, host, dvt_solve_prepare);
PART(reconstruct, stream, host, dvt_solve_prepare);
