/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for CUDA's driver in programs that fork: preloaded, it is found under the driver's name. As on a
 * machine with a GPU, the OpenMP runtime's offloading is of no use to a child, which is ended as soon as it
 * calls that runtime, and the driver's handlers at exit crash there. (What a real driver does in a child was
 * seen on an H200.) */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pid_t owner;

static void crash_in_a_child(void) {
  if (getpid() != owner)
    abort();
}

__attribute__((constructor)) static void open_driver(void) {
  owner = getpid();
  atexit(crash_in_a_child);
}

__attribute__((destructor)) static void close_driver(void) {
  crash_in_a_child();
}

static int find_runtime(struct dl_phdr_info *library, size_t unused, void *found) {
  (void)unused;
  if (strstr(library->dlpi_name, "/libomptarget.so"))
    *(const char **)found = library->dlpi_name;
  return *(const char **)found != NULL;
}

/* The OpenMP runtime's function of that name. It may have been loaded for a library of its own (Python),
 * where RTLD_NEXT does not look. It is opened when the list of libraries is not held any more: a thread that opens
 * one takes the locks in the other order. */
static void *forward(const char *name) {
  const char *path = NULL;
  void *runtime = NULL, *function = NULL;
  if (getpid() != owner)
    fprintf(stderr, "a child calls %s()\n", name);
  else if (dl_iterate_phdr(find_runtime, &path))
    runtime = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (runtime)
    function = dlsym(runtime, name);
  if (!function)
    abort();
  return function;
}

#define FORWARD(type, name, parameters, ...)                                                                 \
  type name parameters {                                                                                     \
    return ((type(*) parameters)forward(#name))(__VA_ARGS__);                                                \
  }
FORWARD(int, omp_get_num_devices, (void), )
FORWARD(int, omp_get_initial_device, (void), )
FORWARD(void *, omp_target_alloc, (size_t bytes, int device), bytes, device)
FORWARD(void *, omp_target_memset, (void *pointer, int value, size_t bytes, int device), pointer, value,
        bytes, device)
FORWARD(int, omp_target_memcpy,
        (void *to, const void *from, size_t bytes, size_t to_offset, size_t from_offset, int to_device,
         int from_device),
        to, from, bytes, to_offset, from_offset, to_device, from_device)
FORWARD(int, omp_target_memcpy_rect,
        (void *to, const void *from, size_t element, int dimensions, const size_t *volume,
         const size_t *to_offsets, const size_t *from_offsets, const size_t *to_extent,
         const size_t *from_extent, int to_device, int from_device),
        to, from, element, dimensions, volume, to_offsets, from_offsets, to_extent, from_extent, to_device,
        from_device)
FORWARD(int, __tgt_target_kernel,
        (void *place, int64_t device, int32_t teams, int32_t threads, void *region, void *arguments), place,
        device, teams, threads, region, arguments)
FORWARD(int, __tgt_target_kernel_nowait,
        (void *place, int64_t device, int32_t teams, int32_t threads, void *region, void *arguments,
         int32_t depend_count, void *depend, int32_t other_count, void *other),
        place, device, teams, threads, region, arguments, depend_count, depend, other_count, other)

void omp_target_free(void *pointer, int device) {
  ((void (*)(void *, int))forward("omp_target_free"))(pointer, device);
}
