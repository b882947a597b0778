/* Sum of x[i] y[i] on a device: 2 n flops; reads x and y once.
 *
 * dvt_cublas_*: cuBLAS writes the result itself, so that the call need not wait: `result` is memory the device
 * reaches (its own, or pinned); for pageable memory the answer is DAVIT_UNSUPPORTED and the caller stages it.
 *
 * dvt_target_*: the range is cut into at most MOST_CHUNKS chunks, as its length alone decides. A team takes a
 * chunk: LANES lanes stride through it and their sums meet in team memory in a fixed tree. A second region
 * adds the chunks' sums in ascending order. So the bits depend on n alone, neither on the device nor on the
 * number of teams or threads, as far as the multiplication and addition contract alike. The result may live
 * on the host or, where the device runtime tells (NVIDIA), on a device.
 *
 * The file includes itself once for each type: the part after #else is the kernels of type REAL. */
#ifndef REAL

#include <omp.h>

#include "offload/blas.h"
#include "offload/runtime/cublas.h"
#include "offload/runtime/space.h"

#ifdef DAVIT_WITH_CUDA
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "offload/runtime/device.h"

/* `result` as the stream's device sees it. */
static davit_status reachable(void *result, void **pointer) {
  struct cudaPointerAttributes attributes;
  davit_status status =
      dvt_cuda_status(cudaPointerGetAttributes(&attributes, result), "dot: looking at the result");
  if (status != DAVIT_SUCCESS)
    return status;
  if (attributes.type == cudaMemoryTypeUnregistered || !attributes.devicePointer)
    return davit_fail(DAVIT_UNSUPPORTED, "dot: the device does not reach the result");
  *pointer = attributes.devicePointer;
  return DAVIT_SUCCESS;
}

#define DEFINE(p, P, T)                                                                                      \
  davit_status dvt_cublas_##p##dot(dvt_stream *stream, int64_t n, const T *x, int64_t incx, const T *y,      \
                                   int64_t incy, T *result) {                                                \
    void *handle, *sum;                                                                                      \
    davit_status status = dvt_stream_cublas(stream, &handle);                                                \
    if (status == DAVIT_SUCCESS)                                                                             \
      status = reachable(result, &sum);                                                                      \
    if (status != DAVIT_SUCCESS)                                                                             \
      return status;                                                                                         \
    if (n <= 0)                                                                                              \
      return dvt_stream_fill(stream, sum, 0, sizeof *result);                                                \
    cublasStatus_t failed = DVT_CUBLAS(SetPointerMode_v2)(handle, CUBLAS_POINTER_MODE_DEVICE);               \
    if (failed == CUBLAS_STATUS_SUCCESS)                                                                     \
      failed = DVT_CUBLAS(P##dot_v2_64)(handle, n, x, incx, y, incy, sum);                                   \
    /* Every other operation counts on scalars of the host. */                                               \
    cublasStatus_t restored = DVT_CUBLAS(SetPointerMode_v2)(handle, CUBLAS_POINTER_MODE_HOST);               \
    return dvt_cublas_status((int)(failed != CUBLAS_STATUS_SUCCESS ? failed : restored), #p "dot");          \
  }
#else
#define DEFINE(p, P, T)                                                                                      \
  davit_status dvt_cublas_##p##dot(dvt_stream *stream, int64_t n, const T *x, int64_t incx, const T *y,      \
                                   int64_t incy, T *result) {                                                \
    (void)stream, (void)n, (void)x, (void)incx, (void)y, (void)incy, (void)result;                           \
    return davit_fail(DAVIT_UNSUPPORTED, #p "dot: this build has no CUDA");                                  \
  }
#endif

DEFINE(d, D, double)
DEFINE(s, S, float)

/* 1023 sums and the result fit into the 8 KiB that omp_target_alloc() serves without asking the driver. */
enum { LANES = 256, LEAST_CHUNK = 16 * LANES, MOST_CHUNKS = 1023 };

/* On a GPU the team's arrays are placed in its fast memory; a CPU's runtime warns about the request, and a
 * variable of the teams region is shared by the team's threads there anyway. */
#if defined(__NVPTX__) || defined(__AMDGCN__)
#define GPU
#endif

#define REAL double
#define NAME(operation) d##operation
#define PUBLIC(operation) dvt_target_d##operation
#include "offload/dot.c"
#undef REAL
#undef NAME
#undef PUBLIC
#define REAL float
#define NAME(operation) s##operation
#define PUBLIC(operation) dvt_target_s##operation
#include "offload/dot.c"

#else /* the kernels of one type */

/* sums[i] = product of chunk i. */
static void NAME(dot_chunks)(int device, int64_t n, const REAL *x, int64_t incx, const REAL *y, int64_t incy,
                             int64_t chunk, int chunks, REAL *sums) {
#pragma omp target teams num_teams(chunks) thread_limit(LANES) device(device) is_device_ptr(x, y, sums)
  {
    REAL lanes[LANES];
#ifdef GPU
#pragma omp allocate(lanes) allocator(omp_pteam_mem_alloc)
#endif
#pragma omp parallel num_threads(LANES)
    for (int c = omp_get_team_num(); c < chunks; c += omp_get_num_teams()) {
      int64_t first = c * chunk, end = first + chunk < n ? first + chunk : n;
      int thread = omp_get_thread_num(), threads = omp_get_num_threads();
      for (int lane = thread; lane < LANES; lane += threads) {
        REAL sum = 0;
#pragma unroll 8
        for (int64_t i = first + lane; i < end; i += LANES)
          sum += x[i * incx] * y[i * incy];
        lanes[lane] = sum;
      }
      for (int half = LANES / 2; half > 0; half /= 2) {
#pragma omp barrier
        for (int lane = thread; lane < half; lane += threads)
          lanes[lane] += lanes[lane + half];
      }
      if (thread == 0)
        sums[c] = lanes[0];
#pragma omp barrier
    }
  }
}

static void NAME(dot_sum)(int device, int chunks, const REAL *sums, REAL *total) {
#pragma omp target device(device) is_device_ptr(sums, total)
  {
    REAL sum = 0;
#pragma unroll 16
    for (int c = 0; c < chunks; c++)
      sum += sums[c];
    *total = sum;
  }
}

davit_status PUBLIC(dot)(int device, int64_t n, const REAL *x, int64_t incx, const REAL *y, int64_t incy,
                         REAL *result) {
  if (n > 0 && incx < 0)
    x -= (n - 1) * incx;
  if (n > 0 && incy < 0)
    y -= (n - 1) * incy;
  int64_t chunk = (n + MOST_CHUNKS - 1) / MOST_CHUNKS;
  if (chunk < LEAST_CHUNK)
    chunk = LEAST_CHUNK;
  int chunks = n > 0 ? (int)((n + chunk - 1) / chunk) : 0;
  REAL *sums = omp_target_alloc((size_t)(chunks + 1) * sizeof *sums, device);
  if (!sums)
    return davit_fail(DAVIT_OUT_OF_DEVICE_MEMORY, "dot: no memory for %d partial sums", chunks);
  if (chunks > 0)
    NAME(dot_chunks)(device, n, x, incx, y, incy, chunk, chunks, sums);
  NAME(dot_sum)(device, chunks, sums, sums + chunks);
  int place = dvt_space_place(result);
  int failed = omp_target_memcpy(result, sums + chunks, sizeof *result, 0, 0,
                                 place >= 0 ? place : omp_get_initial_device(), device);
  omp_target_free(sums, device);
  return failed ? davit_fail(DAVIT_DEVICE_ERROR, "dot: copying the result failed") : DAVIT_SUCCESS;
}

#endif
