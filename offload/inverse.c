/* SPDX-License-Identifier: Apache-2.0 */
/* Inverses where there is no library for them. */
#include "offload/inverse.h"

#include <omp.h>

#include "offload/blas.h"

enum { BLOCK = 256 }; /* as of offload/solve.c */

static davit_status level3(const dvt_inverter *on, const dvt_level3 *g) {
  return dvt_level3_region(on->context, g);
}

static davit_status copy(const dvt_inverter *on, dvt_inverse_way way, void *to, size_t to_pitch,
                         const void *from, size_t from_pitch, size_t row_bytes, size_t cols) {
  const dvt_site *site = on->context;
  const size_t volume[] = {cols, row_bytes}, none[] = {0, 0}, there[] = {cols, to_pitch},
               here[] = {cols, from_pitch};
  const int host = omp_get_initial_device();
  return omp_target_memcpy_rect(to, from, 1, 2, volume, none, none, there, here,
                                way == DVT_TO_HOST ? host : site->device,
                                way == DVT_FROM_HOST ? host : site->device)
             ? davit_fail(DAVIT_DEVICE_ERROR, "inverse: a part of the matrix cannot be copied")
             : DAVIT_SUCCESS;
}

davit_status dvt_inverse_region(const dvt_site *site, const void *inverse) {
  dvt_site own = *site;
  const dvt_inverter device = {&own, BLOCK, DVT_INVERSE_COLUMNS, level3, dvt_inverse_fetched, copy};
  return dvt_inverse_by(&device, inverse);
}
