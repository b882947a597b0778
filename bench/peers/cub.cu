/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/peers/cub.h"

#include <climits>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

namespace {

cudaStream_t stream_of(void *stream) {
  return static_cast<cudaStream_t>(stream);
}

int select_device(int ordinal) {
  return cudaSetDevice(ordinal);
}

/* Calls the function with a value of the type. */
template <class F> int by_type(davit_type type, F function) {
  switch (type) {
  case DAVIT_FLOAT:
    return function(float());
  case DAVIT_DOUBLE:
    return function(double());
  case DAVIT_INT32:
    return function(int32_t());
  case DAVIT_INT64:
    return function(int64_t());
  default:
    return cudaErrorNotSupported;
  }
}

/* ---- CUB ---- */

int reduce(void *stream, davit_operator op, davit_type type, int n, const void *x, void *result, void *temp,
           size_t *bytes) {
  return by_type(type, [=](auto value) -> int {
    using T = decltype(value);
    const T *in = static_cast<const T *>(x);
    T *out = static_cast<T *>(result);
    switch (op) {
    case DAVIT_SUM:
      return cub::DeviceReduce::Sum(temp, *bytes, in, out, n, stream_of(stream));
    case DAVIT_MIN:
      return cub::DeviceReduce::Min(temp, *bytes, in, out, n, stream_of(stream));
    case DAVIT_MAX:
      return cub::DeviceReduce::Max(temp, *bytes, in, out, n, stream_of(stream));
    default:
      return cudaErrorNotSupported;
    }
  });
}

int scan(void *stream, davit_type type, davit_scan_kind kind, int n, const void *x, void *y, void *temp,
         size_t *bytes) {
  return by_type(type, [=](auto value) -> int {
    using T = decltype(value);
    const T *in = static_cast<const T *>(x);
    T *out = static_cast<T *>(y);
    return kind == DAVIT_SCAN_INCLUSIVE
               ? cub::DeviceScan::InclusiveSum(temp, *bytes, in, out, n, stream_of(stream))
               : cub::DeviceScan::ExclusiveSum(temp, *bytes, in, out, n, stream_of(stream));
  });
}

int scan_by_key(void *stream, davit_type type, int n, const int32_t *keys, const void *x, void *y, void *temp,
                size_t *bytes) {
  return by_type(type, [=](auto value) -> int {
    using T = decltype(value);
    return cub::DeviceScan::InclusiveSumByKey(temp, *bytes, keys, static_cast<const T *>(x),
                                              static_cast<T *>(y), n, ::cuda::std::equal_to<>{},
                                              stream_of(stream));
  });
}

/* ---- plain kernels ---- */

template <class T> struct nine {
  T c[9];
};

template <class T>
__global__ void stencil_kernel(int rows, int cols, const T *__restrict__ a, int lda, nine<T> k,
                               T *__restrict__ b, int ldb) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) + 1;
  const int j = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y) + 1;
  if (i >= rows - 1 || j >= cols - 1)
    return;
  const T *p = a + static_cast<size_t>(j - 1) * lda + (i - 1);
  T sum = 0;
#pragma unroll
  for (int c = 0; c < 3; c++)
#pragma unroll
    for (int r = 0; r < 3; r++)
      sum += k.c[r + 3 * c] * p[static_cast<size_t>(c) * lda + r];
  b[static_cast<size_t>(j) * ldb + i] = sum;
}

template <class T>
int stencil_of(cudaStream_t stream, int rows, int cols, const void *a, int lda, const double *coefficients,
               void *b, int ldb) {
  nine<T> k;
  for (int i = 0; i < 9; i++)
    k.c[i] = static_cast<T>(coefficients[i]);
  const dim3 block(32, 8);
  const dim3 grid((static_cast<unsigned>(rows) + 29) / 32, (static_cast<unsigned>(cols) + 5) / 8);
  stencil_kernel<T>
      <<<grid, block, 0, stream>>>(rows, cols, static_cast<const T *>(a), lda, k, static_cast<T *>(b), ldb);
  return cudaGetLastError();
}

int stencil(void *stream, davit_type type, int rows, int cols, const void *a, int lda,
            const double *coefficients, void *b, int ldb) {
  return by_type(type, [=](auto value) {
    return stencil_of<decltype(value)>(stream_of(stream), rows, cols, a, lda, coefficients, b, ldb);
  });
}

enum { THREADS = 256, EACH = 4 }; /* of 16 bytes */

__global__ void copy_kernel(uint4 *__restrict__ to, const uint4 *__restrict__ from, size_t n) {
  const size_t first = static_cast<size_t>(blockIdx.x) * THREADS * EACH + threadIdx.x;
  uint4 v[EACH];
#pragma unroll
  for (int i = 0; i < EACH; i++)
    if (first + i * THREADS < n)
      v[i] = from[first + i * THREADS];
#pragma unroll
  for (int i = 0; i < EACH; i++)
    if (first + i * THREADS < n)
      to[first + i * THREADS] = v[i];
}

/* The bits of all that was read must be looked at, or nothing would be read; no data has this pattern. */
__global__ void read_kernel(const uint4 *__restrict__ from, size_t n, unsigned *never) {
  const size_t first = static_cast<size_t>(blockIdx.x) * THREADS * EACH + threadIdx.x;
  uint4 v[EACH];
#pragma unroll
  for (int i = 0; i < EACH; i++)
    v[i] = first + i * THREADS < n ? from[first + i * THREADS] : make_uint4(0, 0, 0, 0);
  unsigned bits = 0;
#pragma unroll
  for (int i = 0; i < EACH; i++)
    bits |= v[i].x & v[i].y & v[i].z & v[i].w;
  if (bits == UINT_MAX)
    *never = bits;
}

__global__ void empty_kernel() {
}

unsigned blocks_of(size_t bytes) {
  return static_cast<unsigned>((bytes / 16 + THREADS * EACH - 1) / (THREADS * EACH));
}

int copy(void *stream, void *to, const void *from, size_t bytes) {
  copy_kernel<<<blocks_of(bytes), THREADS, 0, stream_of(stream)>>>(
      static_cast<uint4 *>(to), static_cast<const uint4 *>(from), bytes / 16);
  return cudaGetLastError();
}

int read(void *stream, const void *from, size_t bytes) {
  read_kernel<<<blocks_of(bytes), THREADS, 0, stream_of(stream)>>>(
      static_cast<const uint4 *>(from), bytes / 16,
      const_cast<unsigned *>(static_cast<const unsigned *>(from)));
  return cudaGetLastError();
}

int nothing(void *stream) {
  empty_kernel<<<1, 32, 0, stream_of(stream)>>>();
  return cudaGetLastError();
}

} // namespace

extern "C" __attribute__((visibility("default")))
const peer_cub davit_peer_cub = {select_device, reduce, scan, scan_by_key, stencil, copy, read, nothing};
