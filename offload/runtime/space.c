/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of OpenMP devices, of CUDA devices through the CUDA runtime (the OpenMP runtime's row-wise 2-D copy
 * reaches 2 GB/s where one pitched copy reaches the link's 55), and of the host. */
#include "offload/runtime/space.h"

#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "offload/runtime/device.h"
#include "ref/philox.h"
#include "ref/ref.h"
#include "src/base/allocate.h"
#include "src/base/error.h"
#include "src/base/fork.h"
#include "src/base/limit.h"
#include "src/base/team.h"
#include "src/base/thread.h"

#ifdef DAVIT_WITH_CUDA
#include <cuda_runtime_api.h>
#endif

static bool on_host(int place) {
  const dvt_device *device = place >= 0 ? dvt_device_find(place) : NULL;
  return !device || device->shares_host_memory;
}

#ifdef DAVIT_WITH_CUDA
/* Not a device that shares the host's memory, though one has streams in tests, and so a number. */
static bool is_nvidia(int place) {
  return !on_host(place) && dvt_device_find(place)->ordinal >= 0;
}
_Static_assert(sizeof(cudaIpcMemHandle_t) == DVT_SPACE_HANDLE, "CUDA's handles");

static int first_ordinal(void) {
  int count;
  const dvt_device *devices = dvt_devices(&count);
  for (int i = 0; i < count; i++)
    if (is_nvidia(i))
      return devices[i + 1].ordinal;
  return -1;
}

/* Whether CUDA allocates at the place: the OpenMP runtime would print when a device is full. */
static bool is_cuda(int place) {
  return is_nvidia(place) || (place == DAVIT_PINNED && first_ordinal() >= 0);
}

/* ---- pinned memory ----
 *
 * CUDA makes 2.4 GiB of it a second on a host of four GPUs, and does no copy meanwhile. Memory in large pages that
 * several threads touch first is registered at 17 GB/s there. */

enum { LEAST_MAPPED = 4 << 20, TOUCHED_AT_ONCE = 32 << 20, MOST_TOUCHERS = 16 };

typedef struct part {
  volatile char *at;
  size_t bytes;
} part;

static void *touch(void *argument) {
  const part *p = argument;
  const size_t page = 4096;
  for (size_t i = 0; i < p->bytes; i += page)
    p->at[i] = 0;
  return NULL;
}

/* What no thread can be made for, the calling one does. */
static void touch_all(char *memory, size_t bytes) {
  const size_t most = bytes / TOUCHED_AT_ONCE < MOST_TOUCHERS ? bytes / TOUCHED_AT_ONCE : MOST_TOUCHERS;
  const size_t threads = (size_t)dvt_threads() < most ? (size_t)dvt_threads() : most;
  const size_t each = threads > 1 ? bytes / threads / DVT_LARGE_PAGE * DVT_LARGE_PAGE : 0;
  pthread_t thread[MOST_TOUCHERS];
  part parts[MOST_TOUCHERS];
  size_t count = 0;
  for (; each > 0 && count + 1 < threads; count++) {
    parts[count] = (part){memory + count * each, each};
    if (dvt_thread_start(touch, &parts[count], &thread[count]) != DAVIT_SUCCESS) {
      dvt_error_clear();
      break;
    }
  }
  touch(&(part){memory + count * each, bytes - count * each});
  for (size_t i = 0; i < count; i++)
    pthread_join(thread[i], NULL);
}

/* Sets no sentence: what cannot be mapped CUDA may still have. */
static void *map_pinned(size_t bytes) {
  char *memory = dvt_map(bytes);
  if (!memory) {
    dvt_error_clear();
    return NULL;
  }
  touch_all(memory, bytes);
  if (dvt_cuda_ok(cudaHostRegister(memory, bytes, cudaHostRegisterPortable)))
    return memory;
  dvt_unmap(memory, bytes);
  return NULL;
}

/* None is mapped where little would be left: who touches what is not there ends, and CUDA only refuses. */
static cudaError_t pinned_alloc(size_t bytes, void **memory, bool *mapped) {
  *memory = bytes >= LEAST_MAPPED && bytes <= dvt_memory_available("") / 8 * 7 ? map_pinned(bytes) : NULL;
  *mapped = *memory;
  return *mapped ? cudaSuccess : cudaHostAlloc(memory, bytes, cudaHostAllocPortable);
}

/* What CUDA still has registered stays mapped: its devices may reach it. */
static cudaError_t pinned_free(void *memory, size_t bytes, bool mapped) {
  if (!mapped)
    return cudaFreeHost(memory);
  const cudaError_t result = cudaHostUnregister(memory);
  if (result == cudaSuccess)
    dvt_unmap(memory, bytes);
  return result;
}

static cudaError_t select_place(int place) {
  return cudaSetDevice(place >= 0 ? dvt_device_find(place)->ordinal : first_ordinal());
}

static void *cuda_alloc(size_t bytes, int place, bool *mapped) {
  void *pointer = NULL;
  DVT_KEEP_CURRENT;
  cudaError_t result = select_place(place);
  if (result == cudaSuccess)
    result = place >= 0 ? cudaMalloc(&pointer, bytes) : pinned_alloc(bytes, &pointer, mapped);
  const bool done = dvt_cuda_ok(result);
  return done ? pointer : NULL;
}

static void cuda_free(void *pointer, size_t bytes, int place, bool mapped) {
  DVT_KEEP_CURRENT;
  if (dvt_cuda_ok(select_place(place)))
    (void)dvt_cuda_ok(place >= 0 ? cudaFree(pointer) : pinned_free(pointer, bytes, mapped));
}
#endif

/* The OpenMP runtime promises no alignment. */
static void *openmp_alloc(size_t bytes, int place, size_t *skipped) {
  enum { ALIGNMENT = 256 };
  char *pointer = omp_target_alloc(bytes, place);
  if (!pointer || (uintptr_t)pointer % ALIGNMENT == 0 || bytes > SIZE_MAX - ALIGNMENT)
    return pointer;
  omp_target_free(pointer, place);
  pointer = omp_target_alloc(bytes + ALIGNMENT, place);
  if (pointer)
    *skipped = (ALIGNMENT - (uintptr_t)pointer % ALIGNMENT) % ALIGNMENT;
  return pointer ? pointer + *skipped : NULL;
}

void *dvt_space_alloc(size_t bytes, int place, dvt_space_origin *origin) {
  *origin = (dvt_space_origin){.skipped = 0};
#ifdef DAVIT_WITH_CUDA
  if (is_cuda(place))
    return cuda_alloc(bytes, place, &origin->mapped);
#endif
  return on_host(place) ? dvt_allocate_aligned(bytes) : openmp_alloc(bytes, place, &origin->skipped);
}

void dvt_space_free(void *pointer, size_t bytes, const dvt_space_origin *origin, int place) {
#ifdef DAVIT_WITH_CUDA
  if (is_cuda(place)) {
    cuda_free(pointer, bytes, place, origin->mapped);
    return;
  }
#else
  (void)bytes;
#endif
  if (on_host(place))
    free(pointer);
  else
    omp_target_free((char *)pointer - origin->skipped, place);
}

int dvt_space_place(const void *pointer) {
#ifdef DAVIT_WITH_CUDA
  struct cudaPointerAttributes attributes;
  if (!dvt_devices_are_known() && !dvt_driver_is_loaded())
    return DAVIT_PAGEABLE; /* nobody can have got it from CUDA */
  if (first_ordinal() < 0)
    return DAVIT_PAGEABLE;
  if (!dvt_cuda_ok(cudaPointerGetAttributes(&attributes, pointer)))
    return DAVIT_PAGEABLE;
  if (attributes.type == cudaMemoryTypeHost)
    return DAVIT_PINNED;
  if (attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged) {
    int count;
    const dvt_device *devices = dvt_devices(&count);
    for (int i = 1; i <= count; i++)
      if (devices[i].ordinal == attributes.device)
        return devices[i].info.device;
  }
#else
  (void)pointer;
#endif
  return DAVIT_PAGEABLE;
}

davit_status dvt_space_pin(void *pointer, size_t bytes) {
#ifdef DAVIT_WITH_CUDA
  if (first_ordinal() >= 0) {
    cudaError_t result = cudaHostRegister(pointer, bytes, cudaHostRegisterPortable);
    if (dvt_cuda_ok(result))
      return DAVIT_SUCCESS;
    if (result == cudaErrorHostMemoryAlreadyRegistered)
      return davit_fail(DAVIT_INVALID_STATE, "these pages are pinned already");
    if (result == cudaErrorMemoryAllocation)
      return davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no more memory can be pinned");
    return dvt_cuda_report(result, "pinning memory");
  }
#else
  (void)pointer, (void)bytes;
#endif
  return DAVIT_SUCCESS;
}

davit_status dvt_space_unpin(void *pointer) {
#ifdef DAVIT_WITH_CUDA
  if (first_ordinal() >= 0) {
    return dvt_cuda_status(cudaHostUnregister(pointer), "unpinning memory");
  }
#else
  (void)pointer;
#endif
  return DAVIT_SUCCESS;
}

davit_status dvt_space_export(const void *pointer, int place, unsigned char handle[DVT_SPACE_HANDLE]) {
#ifdef DAVIT_WITH_CUDA
  if (is_nvidia(place)) {
    cudaIpcMemHandle_t native;
    const davit_status status =
        dvt_cuda_status(cudaIpcGetMemHandle(&native, (void *)pointer), "exporting memory");
    if (status == DAVIT_SUCCESS)
      memcpy(handle, &native, sizeof native);
    return status;
  }
#else
  (void)pointer, (void)handle;
#endif
  return davit_fail(DAVIT_UNSUPPORTED, "memory of place %d cannot be exported to other processes", place);
}

davit_status dvt_space_map(const unsigned char handle[DVT_SPACE_HANDLE], int device, void **pointer) {
#ifdef DAVIT_WITH_CUDA
  if (is_nvidia(device) && !dvt_peers_wanted())
    return davit_fail(DAVIT_UNSUPPORTED, "DAVIT_PEERS is off, so no device reaches another process's memory");
  if (is_nvidia(device)) {
    cudaIpcMemHandle_t native;
    memcpy(&native, handle, sizeof native);
    DVT_KEEP_CURRENT;
    cudaError_t result = cudaSetDevice(dvt_device_find(device)->ordinal);
    if (result == cudaSuccess)
      result = cudaIpcOpenMemHandle(pointer, native, cudaIpcMemLazyEnablePeerAccess);
    const char *reason = cudaGetErrorString(result);
    const davit_status status = dvt_cuda_status(result, "importing memory");
    return status == DAVIT_DEVICE_ERROR
               ? davit_fail(DAVIT_UNSUPPORTED, "device %d does not reach the memory of the handle: %s",
                            device, reason)
               : status;
  }
#else
  (void)handle, (void)pointer;
#endif
  return davit_fail(DAVIT_UNSUPPORTED, "place %d cannot import memory of other processes", device);
}

void dvt_space_unmap(void *pointer, int device) {
#ifdef DAVIT_WITH_CUDA
  DVT_KEEP_CURRENT;
  if (dvt_cuda_ok(cudaSetDevice(dvt_device_find(device)->ordinal)))
    (void)dvt_cuda_ok(cudaIpcCloseMemHandle(pointer));
#else
  (void)pointer, (void)device;
#endif
}

static davit_status host_copy(char *destination, size_t destination_pitch, const char *source,
                              size_t source_pitch, size_t row_bytes, size_t cols) {
  if (destination_pitch == row_bytes && source_pitch == row_bytes)
    memcpy(destination, source, row_bytes * cols);
  else
    for (size_t j = 0; j < cols; j++)
      memcpy(destination + j * destination_pitch, source + j * source_pitch, row_bytes);
  return DAVIT_SUCCESS;
}

#ifdef DAVIT_WITH_CUDA
/* On the calling thread's own stream, so that concurrent callers do not wait for each other. */
static davit_status cuda_copy(void *destination, size_t destination_pitch, const void *source,
                              size_t source_pitch, size_t row_bytes, size_t cols, int device) {
  DVT_KEEP_CURRENT;
  (void)dvt_cuda_ok(cudaSetDevice(dvt_device_find(device)->ordinal)); /* the copy fails then, too */
  bool linear = cols == 1 || (destination_pitch == row_bytes && source_pitch == row_bytes);
  cudaError_t result =
      linear ? cudaMemcpyAsync(destination, source, row_bytes * cols, cudaMemcpyDefault, cudaStreamPerThread)
             : cudaMemcpy2DAsync(destination, destination_pitch, source, source_pitch, row_bytes, cols,
                                 cudaMemcpyDefault, cudaStreamPerThread);
  if (result == cudaSuccess)
    result = cudaStreamSynchronize(cudaStreamPerThread);
  return dvt_cuda_status(result, "copy");
}
#endif

davit_status dvt_space_copy(void *destination, size_t destination_pitch, int destination_place,
                            const void *source, size_t source_pitch, int source_place, size_t row_bytes,
                            size_t cols) {
  if (row_bytes == 0 || cols == 0)
    return DAVIT_SUCCESS;
  bool to_host = on_host(destination_place), from_host = on_host(source_place);
  if (to_host && from_host)
    return host_copy(destination, destination_pitch, source, source_pitch, row_bytes, cols);
#ifdef DAVIT_WITH_CUDA
  if ((to_host || is_nvidia(destination_place)) && (from_host || is_nvidia(source_place)))
    return cuda_copy(destination, destination_pitch, source, source_pitch, row_bytes, cols,
                     to_host ? source_place : destination_place);
#endif
  int host = omp_get_initial_device();
  size_t volume[2] = {cols, row_bytes}, zero[2] = {0, 0};
  if (destination_pitch == row_bytes && source_pitch == row_bytes) {
    volume[0] = 1;
    volume[1] = cols * row_bytes;
  }
  size_t destination_extent[2] = {volume[0], destination_pitch > volume[1] ? destination_pitch : volume[1]};
  size_t source_extent[2] = {volume[0], source_pitch > volume[1] ? source_pitch : volume[1]};
  int failed =
      omp_target_memcpy_rect(destination, source, 1, 2, volume, zero, zero, destination_extent, source_extent,
                             to_host ? host : destination_place, from_host ? host : source_place);
  return failed ? davit_fail(DAVIT_DEVICE_ERROR, "copy from place %d to place %d failed", source_place,
                             destination_place)
                : DAVIT_SUCCESS;
}

davit_status dvt_space_fill(void *pointer, int place, int value, size_t bytes) {
  if (bytes == 0)
    return DAVIT_SUCCESS;
  if (on_host(place)) {
    memset(pointer, value, bytes);
    return DAVIT_SUCCESS;
  }
#ifdef DAVIT_WITH_CUDA
  if (is_nvidia(place)) {
    DVT_KEEP_CURRENT;
    (void)dvt_cuda_ok(cudaSetDevice(dvt_device_find(place)->ordinal)); /* the fill fails then, too */
    cudaError_t result = cudaMemsetAsync(pointer, value, bytes, cudaStreamPerThread);
    if (result == cudaSuccess)
      result = cudaStreamSynchronize(cudaStreamPerThread);
    return dvt_cuda_status(result, "fill");
  }
#endif
  return omp_target_memset(pointer, value, bytes, place)
             ? DAVIT_SUCCESS
             : davit_fail(DAVIT_DEVICE_ERROR, "filling memory of device %d failed", place);
}

/* Both fills write one Philox block (2 doubles, 4 floats) per iteration: the device's floor is the bytes
 * written, the generator's ten rounds cost about 60 integer operations a block. */
static davit_status random_double(double *pointer, int place, int64_t count, uint64_t seed) {
  int64_t blocks = (count + 1) / 2;
  DVT_KEEP_CURRENT;
#pragma omp target teams distribute parallel for device(place) is_device_ptr(pointer)
  for (int64_t block = 0; block < blocks; block++) {
    double values[2];
    dvt_philox_double((uint64_t)block, seed, values);
    pointer[2 * block] = values[0];
    if (2 * block + 1 < count)
      pointer[2 * block + 1] = values[1];
  }
  return DAVIT_SUCCESS;
}

static davit_status random_float(float *pointer, int place, int64_t count, uint64_t seed) {
  int64_t blocks = (count + 3) / 4;
  DVT_KEEP_CURRENT;
#pragma omp target teams distribute parallel for device(place) is_device_ptr(pointer)
  for (int64_t block = 0; block < blocks; block++) {
    float values[4];
    dvt_philox_float((uint64_t)block, seed, values);
    for (int i = 0; i < 4; i++)
      if (4 * block + i < count)
        pointer[4 * block + i] = values[i];
  }
  return DAVIT_SUCCESS;
}

davit_status dvt_space_random(davit_type type, void *x, int place, int64_t n, uint64_t seed) {
  return type == DAVIT_DOUBLE ? random_double(x, place, n, seed) : random_float(x, place, n, seed);
}
