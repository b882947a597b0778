/* SPDX-License-Identifier: Apache-2.0 */
#include "src/exact/rows.h"

/* Devices whose kernels are not launched on streams have no form. */
static davit_status refuse(const dvt_site *site, const void *arguments) {
  (void)arguments;
  return davit_fail(DAVIT_UNSUPPORTED, "device %d has no exact products", site->device);
}

const dvt_operation dvt_exact_measure_operation = {.name = "measure",
                                                   .bytes = DVT_BYTES_OF(dvt_exact_vectors),
                                                   .stream = dvt_exact_measure_stream,
                                                   .host = dvt_exact_measure_host,
                                                   .region = refuse,
                                                   .order = DVT_WHOLE};

const dvt_operation dvt_exact_cut_operation = {.name = "cut",
                                               .bytes = DVT_BYTES_OF(dvt_exact_vectors),
                                               .stream = dvt_exact_cut_stream,
                                               .host = dvt_exact_cut_host,
                                               .region = refuse,
                                               .order = DVT_WHOLE};

const dvt_operation dvt_exact_multiply_operation = {.name = "exact product",
                                                    .bytes = DVT_BYTES_OF(dvt_exact_tile),
                                                    .stream = dvt_exact_multiply_stream,
                                                    .host = dvt_exact_multiply_host,
                                                    .region = refuse,
                                                    .prepare = dvt_exact_prepare,
                                                    .order = DVT_WHOLE};

const dvt_operation dvt_exact_mirror_operation = {.name = "mirror",
                                                  .bytes = DVT_BYTES_OF(dvt_exact_mirror),
                                                  .stream = dvt_exact_mirror_stream,
                                                  .host = dvt_exact_mirror_host,
                                                  .region = refuse,
                                                  .order = DVT_WHOLE};
