/* SPDX-License-Identifier: Apache-2.0 */
/* Inverses on an NVIDIA stream: triangles on the diagonal by cuSOLVER, the rest by level 3. A build without CUDA has no
 * streams but those of tests, whose triangles the host inverts. */
#include "offload/inverse.h"

#include "offload/blas.h"
#include "offload/runtime/stream.h"

static dvt_stream *stream_of(const dvt_inverter *on) {
  return ((const dvt_site *)on->context)->stream;
}

static davit_status level3(const dvt_inverter *on, const dvt_level3 *g) {
  return dvt_level3_stream(on->context, g);
}

static davit_status copy(const dvt_inverter *on, dvt_inverse_way way, void *to, size_t to_pitch,
                         const void *from, size_t from_pitch, size_t row_bytes, size_t cols) {
  DVT_TRY(dvt_stream_copy(stream_of(on), to, to_pitch, from, from_pitch, row_bytes, cols));
  return way == DVT_WITHIN ? DAVIT_SUCCESS : dvt_stream_synchronize(stream_of(on));
}

#ifdef DAVIT_WITH_CUDA
#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <limits.h>
#include <stdlib.h>

#include "offload/runtime/cusolver.h"
#include "src/base/allocate.h"
#include "src/base/arithmetic.h"

enum { BLOCK = 4096, INFO_BYTES = 256 /* as cudaMalloc() aligns */ };

/* Scratch memory of a routine, behind a number that it writes; the diagonal has no 0, so that it is not read. */
static davit_status take_workspace(const dvt_inverter *on, size_t bytes, int **info, void **memory) {
  const dvt_site *site = on->context;
  void *both;
  DVT_TRY(site->workspace(site, bytes + INFO_BYTES, &both));
  *info = both;
  *memory = (char *)both + INFO_BYTES;
  return DAVIT_SUCCESS;
}

static cublasFillMode_t half_of(const dvt_inverse *t) {
  return t->uplo == 'L' ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
}

/* The diagonal, which cuSOLVER sets to 1 where it counts as that, goes to scratch memory and comes back. */
static davit_status keep_diagonal(const dvt_inverter *on, const dvt_inverse *t, void *kept, bool back) {
  const size_t element = davit_type_bytes(t->type), pitch = (size_t)(t->lda + 1) * element;
  if (t->diag != 'U')
    return DAVIT_SUCCESS;
  return dvt_stream_copy(stream_of(on), back ? t->a : kept, back ? pitch : element, back ? kept : t->a,
                         back ? element : pitch, element, (size_t)t->n);
}

/* Memory of the host that cuSOLVER asks for is used until the stream is idle. */
static davit_status invert(const dvt_inverter *on, const dvt_inverse *t, void *handle) {
  const cublasFillMode_t uplo = half_of(t);
  const cublasDiagType_t diag = t->diag == 'U' ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
  const cudaDataType type = DVT_CUDA_TYPE(t->type);
  size_t bytes = 0, host_bytes = 0;
  int *info;
  void *memory, *on_host = NULL;
  DVT_TRY(dvt_cusolver_status(
      (int)DVT_CUSOLVER(Xtrtri_bufferSize)(handle, uplo, diag, t->n, type, t->a, t->lda, &bytes, &host_bytes),
      "trtri"));
  bytes = dvt_aligned_up(bytes);
  DVT_TRY(take_workspace(on, bytes + (size_t)t->n * davit_type_bytes(t->type), &info, &memory));
  DVT_TRY(keep_diagonal(on, t, (char *)memory + bytes, false));
  if (host_bytes > 0 && !(on_host = dvt_allocate_raw(host_bytes)))
    return DAVIT_OUT_OF_HOST_MEMORY;
  davit_status status =
      dvt_cusolver_status((int)DVT_CUSOLVER(Xtrtri)(handle, uplo, diag, t->n, type, t->a, t->lda, memory,
                                                    bytes, on_host, host_bytes, info),
                          "trtri");
  if (status == DAVIT_SUCCESS)
    status = keep_diagonal(on, t, (char *)memory + bytes, true);
  if (on_host && dvt_stream_synchronize(stream_of(on)) != DAVIT_SUCCESS)
    status = DAVIT_DEVICE_ERROR;
  free(on_host);
  return status;
}

static davit_status square(const dvt_inverter *on, const dvt_inverse *t, void *handle) {
  const cublasFillMode_t uplo = half_of(t);
  const int n = (int)t->n, ld = (int)t->lda;
  int elements = 0, *info;
  void *memory;
  DVT_TRY(DVT_CUSOLVER_CALL(t->type, Dlauum_bufferSize, uplo, n, t->a, ld, &elements));
  DVT_TRY(take_workspace(on, (size_t)elements * davit_type_bytes(t->type), &info, &memory));
  return DVT_CUSOLVER_CALL(t->type, Dlauum, uplo, n, t->a, ld, memory, elements, info);
}

static davit_status small(const dvt_inverter *on, const dvt_inverse *block) {
  void *handle;
  if (block->kind == DVT_CLEAR || block->lda > INT_MAX)
    return dvt_inverse_fetched(on, block);
  DVT_TRY(dvt_stream_cusolver(stream_of(on), &handle));
  return block->kind == DVT_TRTRI ? invert(on, block, handle) : square(on, block, handle);
}

#else

enum { BLOCK = 48 };

static davit_status small(const dvt_inverter *on, const dvt_inverse *block) {
  return dvt_inverse_fetched(on, block);
}
#endif

davit_status dvt_inverse_stream(const dvt_site *site, const void *inverse) {
  dvt_site own = *site;
  const dvt_inverter device = {&own, BLOCK, DVT_INVERSE_COLUMNS, level3, small, copy};
  const davit_status status = dvt_inverse_by(&device, inverse), end = dvt_stream_synchronize(site->stream);
  return status != DAVIT_SUCCESS ? status : end; /* either way nothing uses the scratch memory any more */
}
