/* SPDX-License-Identifier: Apache-2.0 */
/* Products of 8-bit integers on an NVIDIA stream, by cuBLASLt.
 *
 * Its first proposal is up to a third slower than its best, so for each shape, in powers of two, all proposals are
 * tried once on a part of the product, and the fastest is kept for the process. Integers do not depend on it. */
#include "offload/exact.h"

#ifdef DAVIT_WITH_CUDA
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <pthread.h>

#include "offload/runtime/cublas.h"
#include "offload/runtime/cublaslt.h"
#include "offload/runtime/device.h"
#include "offload/runtime/stream.h"
#include "src/base/arithmetic.h"

enum { PROPOSALS = 16, KEPT = 64, SCRATCH = 32 << 20 };

#define CALL(name, ...) dvt_cublas_status((int)DVT_CUBLASLT(name)(__VA_ARGS__), #name)

/* A product as cuBLASLt has it. */
typedef struct call {
  const dvt_exact_integers *product;
  cublasLtHandle_t handle;
  cudaStream_t stream;
  void *scratch;
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t a, b, c;
} call;

static davit_status describe_matrix(cublasLtMatrixLayout_t *layout, cudaDataType_t type, int64_t rows,
                                    int64_t columns, int64_t ld, int count, int64_t plane) {
  DVT_TRY(CALL(MatrixLayoutCreate, layout, type, (uint64_t)rows, (uint64_t)columns, ld));
  DVT_TRY(CALL(MatrixLayoutSetAttribute, *layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
  return CALL(MatrixLayoutSetAttribute, *layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &plane,
              sizeof plane);
}

static davit_status describe(call *c) {
  const dvt_exact_integers *p = c->product;
  const cublasOperation_t transposed = CUBLAS_OP_T;
  DVT_TRY(CALL(MatmulDescCreate, &c->operation, CUBLAS_COMPUTE_32I, CUDA_R_32I));
  DVT_TRY(CALL(MatmulDescSetAttribute, c->operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
               sizeof transposed));
  DVT_TRY(describe_matrix(&c->a, CUDA_R_8I, p->length, p->m, p->pitch, p->count, p->plane_a));
  DVT_TRY(describe_matrix(&c->b, CUDA_R_8I, p->length, p->n, p->pitch, p->count, p->plane_b));
  return describe_matrix(&c->c, CUDA_R_32I, p->m, p->n, p->m, p->count, p->plane_c);
}

static void forget(const call *c) {
  if (c->operation)
    DVT_CUBLASLT(MatmulDescDestroy)(c->operation);
  if (c->a)
    DVT_CUBLASLT(MatrixLayoutDestroy)(c->a);
  if (c->b)
    DVT_CUBLASLT(MatrixLayoutDestroy)(c->b);
  if (c->c)
    DVT_CUBLASLT(MatrixLayoutDestroy)(c->c);
}

static davit_status multiply(const call *c, const cublasLtMatmulAlgo_t *how) {
  const int one = 1, zero = 0;
  return CALL(Matmul, c->handle, c->operation, &one, c->product->a, c->a, c->product->b, c->b, &zero,
              c->product->c, c->c, c->product->c, c->c, how, c->scratch, SCRATCH, c->stream);
}

static davit_status propose(const call *c, cublasLtMatmulHeuristicResult_t *found, int *count) {
  const size_t scratch = SCRATCH;
  cublasLtMatmulPreference_t preference;
  DVT_TRY(CALL(MatmulPreferenceCreate, &preference));
  davit_status status = CALL(MatmulPreferenceSetAttribute, preference,
                             CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &scratch, sizeof scratch);
  if (status == DAVIT_SUCCESS)
    status = CALL(MatmulAlgoGetHeuristic, c->handle, c->operation, c->a, c->b, c->c, c->c, preference,
                  PROPOSALS, found, count);
  DVT_CUBLASLT(MatmulPreferenceDestroy)(preference);
  return status == DAVIT_SUCCESS && *count == 0
             ? davit_fail(DAVIT_UNSUPPORTED, "cuBLAS proposes nothing for products of 8-bit integers")
             : status;
}

/* ---- the fastest proposal ---- */

static struct kept {
  int device, count;
  int64_t m, n, length;
  cublasLtMatmulAlgo_t how;
} kept[KEPT];
static unsigned kept_turn; /* how often one was kept: the oldest gives way */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int64_t power_of(int64_t length) {
  int64_t power = 1;
  while (power < length)
    power *= 2;
  return power;
}

static bool look_up(const struct kept *wanted, cublasLtMatmulAlgo_t *how) {
  bool found = false;
  pthread_mutex_lock(&lock);
  for (unsigned i = 0; i < KEPT && i < kept_turn && !found; i++) {
    const struct kept *k = &kept[i];
    found = k->device == wanted->device && k->count == wanted->count && k->m == wanted->m &&
            k->n == wanted->n && k->length == wanted->length;
    if (found)
      *how = k->how;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

static void keep(const struct kept *made) {
  pthread_mutex_lock(&lock);
  kept[kept_turn++ % KEPT] = *made;
  pthread_mutex_unlock(&lock);
}

static davit_status time_product(const call *c, const cublasLtMatmulAlgo_t *how, const cudaEvent_t event[2],
                                 float *time) {
  DVT_TRY(dvt_cuda_status(cudaEventRecord(event[0], c->stream), "recording"));
  DVT_TRY(multiply(c, how));
  DVT_TRY(dvt_cuda_status(cudaEventRecord(event[1], c->stream), "recording"));
  DVT_TRY(dvt_cuda_status(cudaEventSynchronize(event[1]), "waiting for a product"));
  return dvt_cuda_status(cudaEventElapsedTime(time, event[0], event[1]), "timing a product");
}

/* One after the other in turns, as the clock of a device falls when it is busy; the first turn does not count. Not
 * every proposal does what it says. */
static int find_fastest(const call *c, const cublasLtMatmulHeuristicResult_t *found, int count,
                        const cudaEvent_t event[2]) {
  enum { TURNS = 3 };
  float sum[PROPOSALS] = {0};
  bool fails[PROPOSALS] = {false};
  int fastest = -1;
  for (int turn = 0; turn < TURNS; turn++)
    for (int i = 0; i < count; i++) {
      float time = 0;
      if (!fails[i] && time_product(c, &found[i].algo, event, &time) != DAVIT_SUCCESS) {
        dvt_error_clear();
        fails[i] = true;
      }
      sum[i] += turn > 0 ? time : 0;
    }
  for (int i = 0; i < count; i++)
    if (!fails[i] && (fastest < 0 || sum[i] < sum[fastest]))
      fastest = i;
  return fastest;
}

static davit_status choose(const call *c, const cublasLtMatmulHeuristicResult_t *found, int count,
                           int *chosen) {
  cudaEvent_t event[2] = {NULL, NULL};
  davit_status status = DAVIT_SUCCESS;
  for (int i = 0; i < 2 && status == DAVIT_SUCCESS; i++)
    status = dvt_cuda_status(cudaEventCreate(&event[i]), "creating an event");
  *chosen = status == DAVIT_SUCCESS ? find_fastest(c, found, count, event) : 0;
  for (int i = 0; i < 2 && event[i]; i++)
    cudaEventDestroy(event[i]);
  return *chosen < 0 ? davit_fail(DAVIT_UNSUPPORTED, "cuBLAS computes no product of 8-bit integers here")
                     : status;
}

/* Proposals are those for the whole; they are timed on a part of it. */
static davit_status find(const dvt_site *site, const call *c, cublasLtMatmulAlgo_t *how) {
  enum { PART = 4096, PLANES = 8 };
  cublasLtMatmulHeuristicResult_t found[PROPOSALS];
  struct kept k = {.device = dvt_stream_ordinal(site->stream),
                   .count = c->product->count,
                   .m = power_of(c->product->m),
                   .n = power_of(c->product->n),
                   .length = power_of(c->product->length)};
  int count = 0, chosen = 0;
  if (look_up(&k, how))
    return DAVIT_SUCCESS;
  DVT_TRY(propose(c, found, &count));
  dvt_exact_integers part = *c->product;
  part.m = dvt_at_most(part.m, PART);
  part.n = dvt_at_most(part.n, PART);
  part.count = (int)dvt_at_most(part.count, PLANES);
  call trial = {.product = &part, .handle = c->handle, .stream = c->stream, .scratch = c->scratch};
  davit_status status = describe(&trial);
  if (status == DAVIT_SUCCESS)
    status = choose(&trial, found, count, &chosen);
  forget(&trial);
  DVT_TRY(status);
  *how = k.how = found[chosen].algo;
  keep(&k);
  return DAVIT_SUCCESS;
}

davit_status dvt_exact_prepare(const dvt_site *site) {
  void *handle;
  DVT_TRY(dvt_stream_cublas(site->stream, &handle));
  return dvt_cublaslt_load();
}

davit_status dvt_exact_integers_stream(const dvt_site *site, const dvt_exact_integers *product) {
  call c = {.product = product, .stream = dvt_stream_native(site->stream)};
  cublasLtMatmulAlgo_t how;
  void *handle;
  DVT_TRY(dvt_cublaslt_load());
  DVT_TRY(dvt_stream_cublas(site->stream, &handle)); /* which is one of cuBLASLt, too */
  c.handle = handle;
  DVT_TRY(site->workspace(site, SCRATCH, &c.scratch));
  davit_status status = describe(&c);
  if (status == DAVIT_SUCCESS)
    status = find(site, &c, &how);
  if (status == DAVIT_SUCCESS)
    status = multiply(&c, &how);
  forget(&c);
  return status;
}

#else

davit_status dvt_exact_prepare(const dvt_site *site) {
  (void)site;
  return davit_fail(DAVIT_UNSUPPORTED, "this build has no CUDA");
}

davit_status dvt_exact_integers_stream(const dvt_site *site, const dvt_exact_integers *product) {
  (void)product;
  return dvt_exact_prepare(site);
}
#endif
