/* SPDX-License-Identifier: Apache-2.0 */
/* Cholesky's factorisation where there is no library for it: blocks of the diagonal are factored on the host, the rest
 * is level 3 in target regions. */
#include "offload/solve.h"

#include <omp.h>
#include <stdlib.h>

#include "offload/blas.h"
#include "src/base/allocate.h"

enum { BLOCK = 256 }; /* what a host takes about as long for as a GPU for the rest */

typedef struct diagonal {
  const dvt_site *site;
  dvt_potrf block; /* on the device */
  void *copy;      /* on the host, dense */
} diagonal;

/* Between the device and the copy; only whole columns of the block, whose other half comes back as it was. */
static davit_status move(const diagonal *d, bool up) {
  const size_t element = davit_type_bytes(d->block.type), n = (size_t)d->block.n;
  const size_t volume[] = {n, n * element}, none[] = {0, 0}, dense[] = {n, n * element},
               pitched[] = {n, (size_t)d->block.lda * element};
  const int host = omp_get_initial_device(), device = d->site->device;
  const int failed =
      up ? omp_target_memcpy_rect(d->block.a, d->copy, 1, 2, volume, none, none, pitched, dense, device, host)
         : omp_target_memcpy_rect(d->copy, d->block.a, 1, 2, volume, none, none, dense, pitched, host,
                                  device);
  return failed ? davit_fail(DAVIT_DEVICE_ERROR, "potrf: a block of the diagonal cannot be copied")
                : DAVIT_SUCCESS;
}

static davit_status factor_diagonal(diagonal *d, int *info) {
  const dvt_site host = {.device = d->site->device, .threads = 1};
  dvt_potrf copy = d->block;
  copy.a = d->copy;
  copy.lda = copy.n;
  copy.info = info;
  DVT_TRY(move(d, false));
  DVT_TRY(dvt_potrf_host(&host, &copy));
  return move(d, true);
}

static davit_status factor(const dvt_site *site, const dvt_potrf *p, void *copy, int *info) {
  const size_t element = davit_type_bytes(p->type);
  for (int64_t j = 0; j < p->n && *info == 0; j += BLOCK) {
    diagonal d = {site, *p, copy};
    d.block.n = p->n - j < BLOCK ? p->n - j : BLOCK;
    d.block.a = (char *)p->a + (size_t)(j + j * p->lda) * element;
    DVT_TRY(factor_diagonal(&d, info));
    const int64_t n = d.block.n, rest = p->n - j - n;
    if (*info)
      *info += (int)j;
    if (*info || rest == 0)
      return DAVIT_SUCCESS;
    char *beside = (char *)d.block.a + (size_t)(p->uplo == 'L' ? n : n * p->lda) * element,
         *behind = (char *)d.block.a + (size_t)(n + n * p->lda) * element;
    const dvt_level3 solve = dvt_potrf_solve(p->type, p->uplo, n, rest, d.block.a, p->lda, beside, p->lda),
                     update = dvt_potrf_update(p->type, p->uplo, rest, n, beside, p->lda, behind, p->lda);
    DVT_TRY(dvt_level3_region(site, &solve));
    DVT_TRY(dvt_level3_region(site, &update));
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_potrf_region(const dvt_site *site, const void *potrf) {
  const dvt_potrf *p = potrf;
  const size_t n = p->n < BLOCK ? (size_t)p->n : BLOCK;
  void *copy = dvt_allocate_raw(n * n * davit_type_bytes(p->type));
  int info = 0;
  if (!copy)
    return DAVIT_OUT_OF_HOST_MEMORY;
  const davit_status status = factor(site, p, copy, &info);
  free(copy);
  DVT_TRY(status);
  if (!p->on_device) {
    *p->info = info;
    return DAVIT_SUCCESS;
  }
  return omp_target_memcpy(p->info, &info, sizeof info, 0, 0, site->device, omp_get_initial_device())
             ? davit_fail(DAVIT_DEVICE_ERROR, "potrf: the result cannot be written")
             : DAVIT_SUCCESS;
}
