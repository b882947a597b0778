/* SPDX-License-Identifier: Apache-2.0 */
/* Target regions enqueued on a stream.
 *
 * The OpenMP runtime launches a region on a stream of its own choice and waits for it. To keep regions in
 * order with the other work of a stream, without a wait, the kernel that the compiler made of the region is
 * looked up in the device images of this library and placed in the stream directly. The region itself stays
 * plain OpenMP: on devices without streams, and in programs of other make, it is launched as such.
 *
 * A region that is launched so
 *   - stands alone in a function whose name is unique in the library;
 *   - is `target teams ompx_bare` and consists of one call whose arguments are, in order, the region's:
 *     pointers (is_device_ptr), 64-bit integers, doubles. The compiler passes them to the kernel in the order
 *     in which the region names them, each in 8 bytes.
 * A kernel has at most DVT_MAX_ARGUMENTS arguments. */
#ifndef DAVIT_OFFLOAD_RUNTIME_LAUNCH_H
#define DAVIT_OFFLOAD_RUNTIME_LAUNCH_H

#include <davit/status.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "offload/runtime/stream.h"
#include "src/base/operation.h"

enum { DVT_MAX_ARGUMENTS = 24 };

/* One for each region, static: = DVT_KERNEL(name of the function). */
typedef struct dvt_kernel {
  const char *function;
  _Atomic(void *) handle[DVT_MAX_ORDINALS];
} dvt_kernel;
#define DVT_KERNEL(function_name) DVT_KERNEL_(function_name)
#define DVT_KERNEL_(function_name) {.function = #function_name}

/* An argument as the kernel gets it: a pointer, an integer or a double in 8 bytes. */
typedef uint64_t dvt_argument;

static inline dvt_argument dvt_argument_of_pointer(const void *value) {
  return (dvt_argument)(uintptr_t)value;
}

static inline dvt_argument dvt_argument_of_integer(int64_t value) {
  return (dvt_argument)value;
}

static inline dvt_argument dvt_argument_of_double(double value) {
  dvt_argument argument;
  memcpy(&argument, &value, sizeof argument);
  return argument;
}

/* DVT_ARGUMENTS(a, b, …): the last two arguments of dvt_launch(), from those of the kernel in their order. */
#define DVT_ARGUMENTS(...)                                                                                   \
  (const dvt_argument[]){DVT_CONVERTED(__VA_ARGS__)},                                                        \
      (int)(sizeof((const dvt_argument[]){DVT_CONVERTED(__VA_ARGS__)}) / sizeof(dvt_argument))
#define DVT_ARGUMENT(x)                                                                                      \
  _Generic((x),                                                                                              \
      double: dvt_argument_of_double,                                                                        \
      bool: dvt_argument_of_integer,                                                                         \
      int: dvt_argument_of_integer,                                                                          \
      unsigned: dvt_argument_of_integer,                                                                     \
      int64_t: dvt_argument_of_integer,                                                                      \
      default: dvt_argument_of_pointer)(x)
/* Applies DVT_ARGUMENT to each of up to 28 arguments. A macro is not expanded inside itself, but DVT_CONVERT
 * leaves one that every rescan expands to the next DVT_CONVERT. */
#define DVT_CONVERTED(...) DVT_RESCAN_27(DVT_CONVERT(__VA_ARGS__))
#define DVT_CONVERT(x, ...) DVT_ARGUMENT(x) __VA_OPT__(, DVT_CONVERT_NEXT DVT_NO_ARGUMENTS(__VA_ARGS__))
#define DVT_CONVERT_NEXT() DVT_CONVERT
#define DVT_NO_ARGUMENTS ()
#define DVT_RESCAN_27(...) DVT_RESCAN_9(DVT_RESCAN_9(DVT_RESCAN_9(__VA_ARGS__)))
#define DVT_RESCAN_9(...) DVT_RESCAN_3(DVT_RESCAN_3(DVT_RESCAN_3(__VA_ARGS__)))
#define DVT_RESCAN_3(...) DVT_RESCAN_1(DVT_RESCAN_1(DVT_RESCAN_1(__VA_ARGS__)))
#define DVT_RESCAN_1(...) __VA_ARGS__

/* The shape of a launch: teams, their threads, and each team's dynamic memory beyond the static (the device
 * may give more than 48 KiB). */
typedef struct dvt_grid {
  int64_t teams;
  int threads;
  size_t shared_bytes;
  int cluster;    /* teams of a cluster, which divide `teams`; 0: no clusters */
  bool dependent; /* may begin before the kernel in front of it has ended: the kernel waits by itself */
} dvt_grid;

/* Enqueues the kernel. Reads `arguments` before it returns. */
davit_status dvt_launch_grid(dvt_kernel *kernel, dvt_stream *stream, const dvt_grid *grid,
                             const dvt_argument *arguments, int count);

static inline davit_status dvt_launch(dvt_kernel *kernel, dvt_stream *stream, int64_t teams, int threads,
                                      size_t shared_bytes, const dvt_argument *arguments, int count) {
  return dvt_launch_grid(kernel, stream,
                         &(dvt_grid){.teams = teams, .threads = threads, .shared_bytes = shared_bytes},
                         arguments, count);
}

/* Runs a region where the site says: enqueued on the stream, or as the region. Returns the status if the
 * launch fails. DVT_RUN_DEPENDENT: for kernels that call dvt_wait_for_earlier() before anything else. */
#define DVT_RUN(...) DVT_RUN_AS(false, __VA_ARGS__)
#define DVT_RUN_DEPENDENT(...) DVT_RUN_AS(true, __VA_ARGS__)
#define DVT_RUN_AS(depends, site, region, team_count, thread_count, ...)                                     \
  do {                                                                                                       \
    static dvt_kernel dvt_run_kernel = DVT_KERNEL(region);                                                   \
    const dvt_grid dvt_run_grid = {.teams = team_count, .threads = thread_count, .dependent = depends};      \
    if ((site)->stream)                                                                                      \
      DVT_TRY(dvt_launch_grid(&dvt_run_kernel, (site)->stream, &dvt_run_grid, DVT_ARGUMENTS(__VA_ARGS__)));  \
    else                                                                                                     \
      region((site)->device, (int)dvt_run_grid.teams, __VA_ARGS__);                                          \
  } while (0)

/* Teams of that shape that run at once on all of the stream's device. */
davit_status dvt_launch_residents(dvt_kernel *kernel, dvt_stream *stream, int threads, size_t shared_bytes,
                                  int *teams);

/* Clusters of that shape that run at once on all of the stream's device; 0 where it has none or they do not
 * fit. `grid->teams` is not read. Called before clusters of more than eight teams are launched. */
davit_status dvt_launch_clusters(dvt_kernel *kernel, dvt_stream *stream, const dvt_grid *grid, int *clusters);

/* The most team memory that a team on the stream's device may have, static and dynamic. */
davit_status dvt_launch_team_bytes(dvt_stream *stream, size_t *bytes);

/* What a kernel takes: its registers and team memory, and how many of its teams of that shape CUDA says a
 * multiprocessor holds. `threads` is lowered to the most that the kernel allows, and `teams` is 0 then. */
typedef struct dvt_kernel_fit {
  const char *name;
  int threads, registers;
  size_t static_bytes, dynamic_bytes;
  int teams; /* on a multiprocessor */
} dvt_kernel_fit;

/* Of a kernel, on the stream's device. */
davit_status dvt_launch_fit_of(dvt_kernel *kernel, dvt_stream *stream, int threads, size_t shared_bytes,
                               dvt_kernel_fit *fit);

/* Of the library's `index`-th kernel, for tests of davit_occupancy(): teams of the lowered size.
 * DAVIT_INVALID_ARGUMENT where there is no such kernel. */
davit_status dvt_launch_fit(dvt_stream *stream, int index, int threads, size_t shared_bytes,
                            dvt_kernel_fit *fit);

#endif
