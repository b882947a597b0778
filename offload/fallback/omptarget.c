/* SPDX-License-Identifier: Apache-2.0 */
/* The offload runtime of a machine that has none: a library with libomptarget's name and entry points,
 * and no devices.
 *
 * libdavit.so names the folder of this file last in its run path, so the dynamic linker takes it only
 * where the real libomptarget of that version is not found. Then every target region runs on the host, as
 * OpenMP says of a region whose device does not exist, and davit_device_describe() says why there are no
 * devices (dvt_offload_missing).
 *
 * It has what libdavit calls in any build, and what regions of tests and users call: launches and data
 * directives. The initial device is the number of devices, 0; LLVM's libomp says -1 too. Memory of the
 * initial device is the host's. All other devices do not exist, and calls that name one fail.
 * OMP_TARGET_OFFLOAD=MANDATORY changes nothing here: davit has no devices then, and launches no region. */
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { OFFLOAD_SUCCESS = 0, OFFLOAD_FAIL = -1 };

/* Found by offload/runtime/device.c. */
EXPORT extern const char dvt_offload_missing[];
const char dvt_offload_missing[] =
    "the OpenMP offload runtime " DAVIT_OMPTARGET_NAME " is not installed; davit computes on "
    "the CPU";

static int is_host(int device) {
  return device == 0 || device == -1;
}

/* ---- launches: what fails is run on the host by the code around it ---- */

EXPORT void __tgt_register_lib(void *descriptor) {
  (void)descriptor;
}

EXPORT void __tgt_unregister_lib(void *descriptor) {
  (void)descriptor;
}

EXPORT void __tgt_register_requires(int64_t flags) {
  (void)flags;
}

EXPORT int __tgt_target_kernel(void *where, int64_t device, int32_t teams, int32_t threads, void *host,
                               void *arguments) {
  (void)where, (void)device, (void)teams, (void)threads, (void)host, (void)arguments;
  return OFFLOAD_FAIL;
}

/* Data directives on the host leave everything where it is. */
#define DATA(name)                                                                                           \
  EXPORT void name(void *where, int64_t device, int32_t count, void **bases, void **begins, int64_t *sizes,  \
                   int64_t *types, void **names, void **mappers) {                                           \
    (void)where, (void)device, (void)count, (void)bases, (void)begins, (void)sizes, (void)types,             \
        (void)names;                                                                                         \
    (void)mappers;                                                                                           \
  }
DATA(__tgt_target_data_begin_mapper)
DATA(__tgt_target_data_end_mapper)
DATA(__tgt_target_data_update_mapper)
#undef DATA

#define DATA_NOWAIT(name)                                                                                    \
  EXPORT void name(void *where, int64_t device, int32_t count, void **bases, void **begins, int64_t *sizes,  \
                   int64_t *types, void **names, void **mappers, int32_t waits, void *wait_list,             \
                   int32_t others, void *other_list) {                                                       \
    (void)where, (void)device, (void)count, (void)bases, (void)begins, (void)sizes, (void)types,             \
        (void)names;                                                                                         \
    (void)mappers, (void)waits, (void)wait_list, (void)others, (void)other_list;                             \
  }
DATA_NOWAIT(__tgt_target_data_begin_nowait_mapper)
DATA_NOWAIT(__tgt_target_data_end_nowait_mapper)
DATA_NOWAIT(__tgt_target_data_update_nowait_mapper)
#undef DATA_NOWAIT

EXPORT void __tgt_interop_init(void *where, int32_t thread, void **interop, int32_t type, int32_t device,
                               int32_t count, void *waits, int32_t nowait) {
  (void)where, (void)thread, (void)type, (void)device, (void)count, (void)waits, (void)nowait;
  *interop = NULL;
}

EXPORT void *omp_get_interop_ptr(const omp_interop_t interop, omp_interop_property_t property, int *result) {
  (void)interop, (void)property;
  if (result)
    *result = omp_irc_empty;
  return NULL;
}

/* ---- devices and their memory ---- */

EXPORT int omp_get_num_devices(void) {
  return 0;
}

EXPORT int omp_get_initial_device(void) {
  return 0;
}

EXPORT int omp_get_device_num(void) {
  return 0;
}

EXPORT void *omp_target_alloc(size_t bytes, int device) {
  return is_host(device) && bytes > 0 ? malloc(bytes) : NULL;
}

EXPORT void omp_target_free(void *pointer, int device) {
  if (is_host(device))
    free(pointer);
}

EXPORT int omp_target_is_present(const void *pointer, int device) {
  return pointer && is_host(device);
}

EXPORT void *omp_get_mapped_ptr(const void *pointer, int device) {
  return is_host(device) ? (void *)(uintptr_t)pointer : NULL;
}

EXPORT int omp_target_memcpy(void *destination, const void *source, size_t bytes, size_t destination_at,
                             size_t source_at, int destination_device, int source_device) {
  if (!is_host(destination_device) || !is_host(source_device) || ((!destination || !source) && bytes > 0))
    return OFFLOAD_FAIL;
  if (bytes > 0)
    memmove((char *)destination + destination_at, (const char *)source + source_at, bytes);
  return OFFLOAD_SUCCESS;
}

/* Bytes of one index of the first of `count` dimensions. */
static size_t stride(size_t element, int count, const size_t *dimensions) {
  for (int i = 1; i < count; i++)
    element *= dimensions[i];
  return element;
}

EXPORT int omp_target_memcpy_rect(void *destination, const void *source, size_t element, int count,
                                  const size_t *volume, const size_t *destination_at, const size_t *source_at,
                                  const size_t *destination_dimensions, const size_t *source_dimensions,
                                  int destination_device, int source_device) {
  if (!destination && !source)
    return INT32_MAX; /* dimensions: no limit */
  if (count < 1 || !is_host(destination_device) || !is_host(source_device))
    return OFFLOAD_FAIL;
  const size_t to = stride(element, count, destination_dimensions),
               from = stride(element, count, source_dimensions);
  char *first = (char *)destination + destination_at[0] * to;
  const char *given = (const char *)source + source_at[0] * from;
  if (count == 1)
    return omp_target_memcpy(first, given, element * volume[0], 0, 0, destination_device, source_device);
  int result = OFFLOAD_SUCCESS;
  for (size_t i = 0; i < volume[0] && result == OFFLOAD_SUCCESS; i++)
    result = omp_target_memcpy_rect(first + i * to, given + i * from, element, count - 1, volume + 1,
                                    destination_at + 1, source_at + 1, destination_dimensions + 1,
                                    source_dimensions + 1, destination_device, source_device);
  return result;
}

EXPORT void *omp_target_memset(void *pointer, int value, size_t bytes, int device) {
  return is_host(device) && pointer ? memset(pointer, value, bytes) : pointer;
}
