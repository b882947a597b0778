/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the library's own device images, by the name of the function they were written in.
 *
 * Invariant: a handle is looked up once for each kernel and device and never changes; images are loaded once
 * for each device. The images are those that the OpenMP runtime registers as well. The driver shares nothing
 * between the two loads, so that device globals would exist twice; kernels here have none. */
#include "offload/runtime/launch.h"

#include "offload/runtime/device.h"
#include "offload/runtime/image.h"

#ifdef DAVIT_WITH_CUDA
#include <cuda_runtime_api.h>
#include <elf.h>
#include <pthread.h>
#include <stdlib.h>

#include "src/base/allocate.h"

#if CUDART_VERSION < 12080
#error "davit needs CUDA 12.8 or later"
#endif

typedef struct kernel_list {
  unsigned count;
  cudaKernel_t *kernels;
  int architecture; /* that the image was compiled for: 90 is sm_90 */
} kernel_list;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kernel_list lists[DVT_MAX_ORDINALS]; /* guarded by lock */

/* The image's kernels if the current device runs them. */
static bool load(const unsigned char *image, kernel_list *list) {
  cudaLibrary_t library;
  unsigned count = 0;
  if (!dvt_cuda_ok(cudaLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0)))
    return false;
  cudaKernel_t *kernels = NULL;
  struct cudaFuncAttributes attributes;
  if (dvt_cuda_ok(cudaLibraryGetKernelCount(&count, library)) && count > 0 &&
      (kernels = dvt_allocate(count, sizeof *kernels)) != NULL &&
      dvt_cuda_ok(cudaLibraryEnumerateKernels(kernels, count, library)) &&
      dvt_cuda_ok(cudaFuncGetAttributes(&attributes, (const void *)kernels[0]))) {
    *list = (kernel_list){count, kernels, attributes.binaryVersion};
    return true;
  }
  free(kernels);
  (void)dvt_cuda_ok(cudaLibraryUnload(library));
  return false;
}

static davit_status find_list(int ordinal, const kernel_list **found) {
  kernel_list *list = &lists[ordinal];
  /* Newer architectures come last, and at most one image of a major version fits a device better than
   * another. */
  for (int i = dvt_device_images.count - 1; i >= 0 && !list->kernels; i--) {
    const dvt_image *image = &dvt_device_images.images[i];
    if (dvt_image_machine(image) == EM_CUDA)
      (void)load(dvt_image_unwrap(image), list);
  }
  if (!list->kernels)
    return davit_fail(DAVIT_UNSUPPORTED, "davit was built without code for the device's architecture");
  *found = list;
  return DAVIT_SUCCESS;
}

/* Clang calls a region's kernel __omp_offloading_<file>_<function>_l<line>. */
static bool is_region_of(const char *kernel, const char *function) {
  const char *line = strrchr(kernel, '_');
  size_t length = strlen(function);
  return line && line[1] == 'l' && (size_t)(line - kernel) > length && line[-(ptrdiff_t)length - 1] == '_' &&
         memcmp(line - length, function, length) == 0;
}

static davit_status find(dvt_kernel *kernel, int ordinal, const void **handle) {
  *handle = atomic_load_explicit(&kernel->handle[ordinal], memory_order_acquire);
  if (*handle)
    return DAVIT_SUCCESS;
  pthread_mutex_lock(&lock);
  const kernel_list *list = NULL;
  davit_status status = find_list(ordinal, &list);
  for (unsigned i = 0; status == DAVIT_SUCCESS && i < list->count && !*handle; i++) {
    const char *name = NULL;
    status = dvt_cuda_status(cudaFuncGetName(&name, (const void *)list->kernels[i]), "looking for a kernel");
    if (status == DAVIT_SUCCESS && is_region_of(name, kernel->function)) {
      *handle = (const void *)list->kernels[i];
      atomic_store_explicit(&kernel->handle[ordinal], (void *)list->kernels[i], memory_order_release);
    }
  }
  pthread_mutex_unlock(&lock);
  if (status == DAVIT_SUCCESS && !*handle)
    status = davit_fail(DAVIT_INTERNAL_ERROR, "no kernel %s in davit's device code", kernel->function);
  return status;
}

/* Allows a kernel its team memory, on the current device. What is allowed only grows: another lane may be
 * about to launch the kernel with more. */
static davit_status allow(const void *handle, const char *name, size_t shared_bytes) {
  struct cudaFuncAttributes attributes;
  pthread_mutex_lock(&lock);
  davit_status status = dvt_cuda_status(cudaFuncGetAttributes(&attributes, handle), name);
  if (status == DAVIT_SUCCESS && (int)shared_bytes > attributes.maxDynamicSharedSizeBytes)
    status = dvt_cuda_status(
        cudaFuncSetAttribute(handle, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared_bytes), name);
  pthread_mutex_unlock(&lock);
  return status;
}

/* Finds the kernel and allows it its team memory. */
static davit_status prepare(dvt_kernel *kernel, dvt_stream *stream, size_t shared_bytes,
                            const void **handle) {
  enum { ALWAYS_ALLOWED = 48 << 10 };
  davit_status status = dvt_stream_use(stream);
  if (status == DAVIT_SUCCESS)
    status = find(kernel, dvt_stream_ordinal(stream), handle);
  if (status == DAVIT_SUCCESS && shared_bytes > ALWAYS_ALLOWED)
    status = allow(*handle, kernel->function, shared_bytes);
  return status;
}

/* Whether the code that the stream's device runs has clusters and dependent launches. The list does not
 * change once a kernel of it was found. */
static bool has_clusters(dvt_stream *stream) {
  return lists[dvt_stream_ordinal(stream)].architecture >= 90;
}

/* What the grid asks for and the device's code has. */
static cudaLaunchConfig_t configuration(dvt_stream *stream, const dvt_grid *grid,
                                        cudaLaunchAttribute attributes[2]) {
  cudaLaunchConfig_t c = {.gridDim = {(unsigned)grid->teams, 1, 1},
                          .blockDim = {(unsigned)grid->threads, 1, 1},
                          .dynamicSmemBytes = grid->shared_bytes,
                          .stream = dvt_stream_native(stream),
                          .attrs = attributes};
  if (grid->cluster > 0)
    attributes[c.numAttrs++] = (cudaLaunchAttribute){.id = cudaLaunchAttributeClusterDimension,
                                                     .val.clusterDim = {(unsigned)grid->cluster, 1, 1}};
  if (grid->dependent && has_clusters(stream))
    attributes[c.numAttrs++] = (cudaLaunchAttribute){.id = cudaLaunchAttributeProgrammaticStreamSerialization,
                                                     .val.programmaticStreamSerializationAllowed = 1};
  return c;
}

davit_status dvt_launch_grid(dvt_kernel *kernel, dvt_stream *stream, const dvt_grid *grid,
                             const dvt_argument *arguments, int count) {
  /* First comes a pointer that bare kernels do not read, last what the region captures for its clauses. */
  enum { CLAUSES = 4 };
  static const dvt_argument none = 0;
  const void *slots[1 + DVT_MAX_ARGUMENTS + CLAUSES];
  if (grid->teams < 1)
    return DAVIT_SUCCESS;
  if (grid->teams > INT32_MAX || count > DVT_MAX_ARGUMENTS)
    return davit_fail(DAVIT_INTERNAL_ERROR, "%s: too many teams or arguments", kernel->function);
  for (int i = 0; i < 1 + DVT_MAX_ARGUMENTS + CLAUSES; i++)
    slots[i] = i >= 1 && i <= count ? &arguments[i - 1] : &none;
  const void *handle;
  davit_status status = prepare(kernel, stream, grid->shared_bytes, &handle);
  if (status != DAVIT_SUCCESS)
    return status;
  cudaLaunchAttribute attributes[2];
  const cudaLaunchConfig_t configured = configuration(stream, grid, attributes);
  return dvt_cuda_status(cudaLaunchKernelExC(&configured, handle, (void **)slots), kernel->function);
}

davit_status dvt_launch_clusters(dvt_kernel *kernel, dvt_stream *stream, const dvt_grid *grid,
                                 int *clusters) {
  enum { ANY_DEVICE = 8 }; /* teams of a cluster that all devices with clusters have */
  const void *handle;
  *clusters = 0;
  DVT_TRY(prepare(kernel, stream, grid->shared_bytes, &handle));
  if (!has_clusters(stream))
    return DAVIT_SUCCESS;
  if (grid->cluster > ANY_DEVICE)
    DVT_TRY(dvt_cuda_status(cudaFuncSetAttribute(handle, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
                            kernel->function));
  const dvt_grid one = {.teams = grid->cluster,
                        .threads = grid->threads,
                        .shared_bytes = grid->shared_bytes,
                        .cluster = grid->cluster};
  cudaLaunchAttribute attributes[2];
  const cudaLaunchConfig_t configured = configuration(stream, &one, attributes);
  return dvt_cuda_status(cudaOccupancyMaxActiveClusters(clusters, handle, &configured), kernel->function);
}

davit_status dvt_launch_residents(dvt_kernel *kernel, dvt_stream *stream, int threads, size_t shared_bytes,
                                  int *teams) {
  const void *handle;
  int units = 0, each = 0;
  davit_status status = prepare(kernel, stream, shared_bytes, &handle);
  if (status == DAVIT_SUCCESS)
    status = dvt_cuda_status(
        cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, dvt_stream_ordinal(stream)),
        kernel->function);
  if (status == DAVIT_SUCCESS)
    status =
        dvt_cuda_status(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, handle, threads, shared_bytes),
                        kernel->function);
  if (status == DAVIT_SUCCESS && each < 1)
    status = davit_fail(DAVIT_UNSUPPORTED, "%s: a team does not fit on the device", kernel->function);
  *teams = units * each;
  return status;
}

davit_status dvt_launch_team_bytes(dvt_stream *stream, size_t *bytes) {
  int most = 0;
  davit_status status = dvt_cuda_status(
      cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, dvt_stream_ordinal(stream)),
      "team memory");
  *bytes = (size_t)most;
  return status;
}

static davit_status measure(const void *handle, int threads, size_t shared_bytes, dvt_kernel_fit *fit) {
  struct cudaFuncAttributes attributes;
  davit_status status = dvt_cuda_status(cudaFuncGetName(&fit->name, handle), "looking at a kernel");
  if (status == DAVIT_SUCCESS)
    status = dvt_cuda_status(cudaFuncGetAttributes(&attributes, handle), fit->name);
  if (status != DAVIT_SUCCESS)
    return status;
  fit->threads = threads < attributes.maxThreadsPerBlock ? threads : attributes.maxThreadsPerBlock;
  fit->registers = attributes.numRegs;
  fit->static_bytes = attributes.sharedSizeBytes;
  fit->dynamic_bytes = shared_bytes;
  status = allow(handle, fit->name, shared_bytes);
  if (status == DAVIT_SUCCESS)
    status = dvt_cuda_status(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit->teams, handle, fit->threads, shared_bytes),
        fit->name);
  return status;
}

davit_status dvt_launch_fit_of(dvt_kernel *kernel, dvt_stream *stream, int threads, size_t shared_bytes,
                               dvt_kernel_fit *fit) {
  size_t most;
  const void *handle;
  davit_status status = dvt_stream_use(stream);
  if (status == DAVIT_SUCCESS)
    status = find(kernel, dvt_stream_ordinal(stream), &handle);
  if (status == DAVIT_SUCCESS)
    status = dvt_launch_team_bytes(stream, &most);
  if (status != DAVIT_SUCCESS)
    return status;
  const bool has_memory = shared_bytes <= most;
  status = measure(handle, threads, has_memory ? shared_bytes : 0, fit);
  fit->dynamic_bytes = shared_bytes;
  if (fit->threads < threads || !has_memory)
    fit->teams = 0;
  return status;
}

davit_status dvt_launch_fit(dvt_stream *stream, int index, int threads, size_t shared_bytes,
                            dvt_kernel_fit *fit) {
  const kernel_list *list = NULL;
  davit_status status = dvt_stream_use(stream);
  if (status != DAVIT_SUCCESS)
    return status;
  pthread_mutex_lock(&lock);
  status = find_list(dvt_stream_ordinal(stream), &list);
  pthread_mutex_unlock(&lock);
  if (status != DAVIT_SUCCESS)
    return status;
  if (index < 0 || index >= (int)list->count)
    return davit_fail(DAVIT_INVALID_ARGUMENT, "index is %d; there are %u kernels", index, list->count);
  return measure(list->kernels[index], threads, shared_bytes, fit);
}

#else

davit_status dvt_launch_grid(dvt_kernel *kernel, dvt_stream *stream, const dvt_grid *grid,
                             const dvt_argument *arguments, int count) {
  (void)stream, (void)grid, (void)arguments, (void)count;
  return davit_fail(DAVIT_UNSUPPORTED, "%s: this build has no CUDA", kernel->function);
}

davit_status dvt_launch_clusters(dvt_kernel *kernel, dvt_stream *stream, const dvt_grid *grid,
                                 int *clusters) {
  (void)stream, (void)grid, (void)clusters;
  return davit_fail(DAVIT_UNSUPPORTED, "%s: this build has no CUDA", kernel->function);
}

davit_status dvt_launch_residents(dvt_kernel *kernel, dvt_stream *stream, int threads, size_t shared_bytes,
                                  int *teams) {
  (void)stream, (void)threads, (void)shared_bytes, (void)teams;
  return davit_fail(DAVIT_UNSUPPORTED, "%s: this build has no CUDA", kernel->function);
}

davit_status dvt_launch_team_bytes(dvt_stream *stream, size_t *bytes) {
  (void)stream, (void)bytes;
  return davit_fail(DAVIT_UNSUPPORTED, "this build has no CUDA");
}

davit_status dvt_launch_fit_of(dvt_kernel *kernel, dvt_stream *stream, int threads, size_t shared_bytes,
                               dvt_kernel_fit *fit) {
  (void)stream, (void)threads, (void)shared_bytes, (void)fit;
  return davit_fail(DAVIT_UNSUPPORTED, "%s: this build has no CUDA", kernel->function);
}

davit_status dvt_launch_fit(dvt_stream *stream, int index, int threads, size_t shared_bytes,
                            dvt_kernel_fit *fit) {
  (void)stream, (void)index, (void)threads, (void)shared_bytes, (void)fit;
  return davit_fail(DAVIT_UNSUPPORTED, "this build has no CUDA");
}
#endif
