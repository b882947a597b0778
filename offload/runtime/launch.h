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
 *     pointers
 *     (is_device_ptr), 64-bit integers, doubles. The compiler passes them to the kernel in the order in which
 *     the region
 *     names them, each in 8 bytes.
 * A kernel has at most DVT_MOST_ARGUMENTS arguments. */
#ifndef DAVIT_OFFLOAD_RUNTIME_LAUNCH_H
#define DAVIT_OFFLOAD_RUNTIME_LAUNCH_H

#include <davit/status.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "offload/runtime/stream.h"

enum { DVT_MOST_ARGUMENTS = 24 };

/* One for each region, static: {"name_of_the_function"}. */
typedef struct dvt_kernel {
  const char *function;
  _Atomic(void *) handle[DVT_MOST_ORDINALS];
} dvt_kernel;

/* An argument as the kernel gets it. */
typedef uint64_t dvt_argument;

static inline dvt_argument dvt_pointer_argument(const void *value) {
  return (dvt_argument)(uintptr_t)value;
}

static inline dvt_argument dvt_integer_argument(int64_t value) {
  return (dvt_argument)value;
}

dvt_argument dvt_double_argument(double value);

/* Enqueues `teams` teams of `threads` threads, each team with shared_bytes of dynamic team memory beyond the
 * static (the device may give more than 48 KiB). Reads `arguments` before it returns. */
davit_status dvt_launch(dvt_kernel *kernel, dvt_stream *stream, int64_t teams, int threads,
                        size_t shared_bytes, const dvt_argument *arguments, int count);

/* Teams of that shape that run at once on all of the stream's device. */
davit_status dvt_launch_residents(dvt_kernel *kernel, dvt_stream *stream, int threads, size_t shared_bytes,
                                  int *teams);

/* The most team memory that a team on the stream's device may have, static and dynamic. */
davit_status dvt_launch_team_bytes(dvt_stream *stream, size_t *bytes);

/* What became of the library's `index`-th kernel on the stream's device, for tests of davit_occupancy(): its
 * registers and static team memory, and how many of its teams of that shape CUDA says a multiprocessor holds.
 * `threads` is lowered to the most that the kernel allows. DAVIT_INVALID_ARGUMENT where there is no such
 * kernel. */
typedef struct dvt_kernel_fit {
  const char *name;
  int threads, registers;
  size_t static_bytes;
  int teams; /* on a multiprocessor */
} dvt_kernel_fit;
davit_status dvt_launch_fit(dvt_stream *stream, int index, int threads, size_t shared_bytes,
                            dvt_kernel_fit *fit);

#endif
