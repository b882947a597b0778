/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions and scans with an operator of your own.
 *
 * A monoid is a type, an associative operation on it and the operation's identity. Combining with the identity must not
 * change any bit of the other operand (for a sum of double the identity is -0.0). The operation need not be
 * commutative: operands keep their order everywhere. You define a monoid by four macros and a header, in a source that
 * is compiled with the flags of docs/monoid.md (target davit::monoid in CMake), because its kernels are compiled there.
 * (Without -fopenmp-cuda-mode Clang 19 removes the kernels' bodies; the calls then fail with DAVIT_UNSUPPORTED.)
 *
 *   typedef struct pair { int32_t m, n; } pair;
 *   static inline pair product(pair a, pair b) { ... }
 *
 *   #define DAVIT_MONOID bicyclic
 *   #define DAVIT_MONOID_TYPE pair
 *   #define DAVIT_MONOID_IDENTITY ((pair){0, 0})
 *   #define DAVIT_MONOID_COMBINE product
 *   #include <davit/define_monoid.h>
 *
 *   davit_monoid_scan(&bicyclic, DAVIT_SCAN_INCLUSIVE, n, x, NULL, y, NULL);
 *
 * The include defines `static const davit_monoid bicyclic`, and names that begin with dvt_bicyclic_. The type
 * is plain data whose size is a multiple of 4 bytes, at most 256; the function must be one that a target
 * region can call. Define as many monoids as you like, each once in a source file.
 *
 * The built-in operators are monoids too: davit_reduce() is davit_monoid_reduce() with davit_monoid_builtin(). On
 * NVIDIA devices those are enqueued on the queue's stream; a monoid of your own runs as a region, once everything
 * before it is finished. Meaning, order and cost are those of <davit/reduce.h> and <davit/scan.h>. A reduction that
 * rounds has the same bits from run to run on any number of devices of one kind and with any number of threads, but the
 * bits of a CPU differ from those of a GPU. */
#ifndef DAVIT_MONOID_H
#define DAVIT_MONOID_H

#include <stdbool.h>

#include <davit/reduce.h>
#include <davit/scan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Filled in by <davit/define_monoid.h>; programs use its address only. */
typedef struct davit_monoid_task davit_monoid_task;
enum { DAVIT_MONOID_VERSION = 2 };

/* Tiles (scan_tile elements) of a group: a scan knows what enters an element where its group begins. */
enum { DAVIT_MONOID_GROUP_TILES = 32 };

typedef struct davit_monoid {
  int64_t version; /* DAVIT_MONOID_VERSION of the headers that it was compiled with; the calls check it */
  const char *name;
  size_t bytes; /* of an element */
  const void *identity;
  void (*combine)(const void *a, const void *b, void *result); /* result = a ∘ b, on the host */
  void (*reduce)(const davit_monoid_task *task);
  void (*scan)(const davit_monoid_task *task);
  bool (*works)(int device);      /* whether the tasks run as regions on the device */
  int64_t reduce_tile, scan_tile; /* elements */
  size_t slot_bytes;
  const void *kernels; /* NULL: the tasks are the only way */
} davit_monoid;

/* The monoid of a built-in operator; DAVIT_INVALID_ARGUMENT names an unknown operator or type. */
DAVIT_API davit_status davit_monoid_builtin(davit_operator op, davit_type type, const davit_monoid **monoid);

/* As davit_reduce(), davit_scan() and their forms. `flags` NULL: not segmented (for parts: those of the
 * first part). */
DAVIT_API davit_status davit_monoid_reduce(const davit_monoid *monoid, int64_t n, const void *x, void *result,
                                           const davit_reduce_options *options);
DAVIT_API davit_status davit_queue_monoid_reduce(davit_queue *queue, const davit_monoid *monoid, int64_t n,
                                                 const void *x, void *result,
                                                 const davit_reduce_options *options);
DAVIT_API davit_status davit_monoid_reduce_parts(const davit_monoid *monoid, int count,
                                                 const davit_reduce_part *parts, void *result);
DAVIT_API davit_status davit_monoid_scan(const davit_monoid *monoid, davit_scan_kind kind, int64_t n,
                                         const void *x, const uint8_t *flags, void *y,
                                         const davit_scan_options *options);
DAVIT_API davit_status davit_queue_monoid_scan(davit_queue *queue, const davit_monoid *monoid,
                                               davit_scan_kind kind, int64_t n, const void *x,
                                               const uint8_t *flags, void *y,
                                               const davit_scan_options *options);
DAVIT_API davit_status davit_monoid_scan_parts(const davit_monoid *monoid, davit_scan_kind kind, int count,
                                               const davit_scan_part *parts);

/* The first level of the tree: values[i] is the reduction of the i-th chunk of monoid->reduce_tile elements of x,
 * computed where x lies; `values` gets one value for each chunk. Programs whose array lies in several processes reduce
 * the values again, in the same way, until one is left: it has the bits of davit_monoid_reduce(). */
DAVIT_API davit_status davit_monoid_reduce_chunks(const davit_monoid *monoid, int64_t n, const void *x,
                                                  void *values);

/* The two steps of a scan for programs whose array lies in several processes. davit_monoid_scan_groups(): sums[g] is
 * the sum of the g-th whole group of x, from its last head on, done where x lies. davit_monoid_scan_onward(): as
 * davit_monoid_scan_parts(), of an array that begins with a group of a longer one; `carry`, host memory, enters it: the
 * sum of all groups before, combined from left to right from the last head on. NULL: there are none. */
DAVIT_API davit_status davit_monoid_scan_groups(const davit_monoid *monoid, int64_t n, const void *x,
                                                const uint8_t *flags, void *sums);
DAVIT_API davit_status davit_monoid_scan_onward(const davit_monoid *monoid, davit_scan_kind kind,
                                                const void *carry, int count, const davit_scan_part *parts);

/* One piece of work, on the host or as a target region; between the library and <davit/define_monoid.h>. */
struct davit_monoid_task {
  int device;
  bool gpu; /* as a region on `device`; else here, with `threads` threads */
  int threads;
  int64_t n;
  const void *x;
  const uint8_t *flags; /* NULL: not segmented */
  void *y;
  /* reduce: see offload/kernel/levels.inc */
  void *levels, *result;
  uint32_t *counters;
  int64_t stop;
  /* scan: see offload/kernel/scan.inc */
  uint64_t *sums, *prefixes;
  const void *carry_in;
  void *carry_out;
  int64_t modes;
};

#ifdef __cplusplus
}
#endif
#endif
