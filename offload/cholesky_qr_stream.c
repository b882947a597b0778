/* SPDX-License-Identifier: Apache-2.0 */
/* Q R of tall matrices on an NVIDIA stream: products, triangles and Cholesky's factorisation by cuBLAS and cuSOLVER,
 * the steps between by kernels. */
#include "offload/blas.h"
#include "offload/cholesky_qr.h"
#include "offload/runtime/stream.h"
#include "offload/solve.h"

static davit_status copy(const dvt_site *site, davit_type type, int64_t m, int64_t n, const void *from,
                         int64_t ldf, void *to) {
  const size_t element = davit_type_bytes(type), column = (size_t)m * element;
  return dvt_stream_copy(site->stream, to, column, from, (size_t)ldf * element, column, (size_t)n);
}

static dvt_cholesky_qr_forms on_stream(void) {
  dvt_cholesky_qr_forms forms = dvt_cholesky_qr_kernels;
  forms.level3 = dvt_level3_stream;
  forms.potrf = dvt_potrf_stream;
  forms.copy = copy;
  return forms;
}

davit_status dvt_cholesky_qr_stream(const dvt_site *site, const void *cholesky_qr) {
  const dvt_cholesky_qr_forms forms = on_stream();
  return dvt_cholesky_qr_steps(site, cholesky_qr, &forms);
}

davit_status dvt_reconstruct_stream(const dvt_site *site, const void *reconstruct) {
  const dvt_cholesky_qr_forms forms = on_stream();
  return dvt_reconstruct_steps(site, reconstruct, &forms);
}
