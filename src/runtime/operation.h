/* SPDX-License-Identifier: Apache-2.0 */
/* Operations as commands: which form a lane takes, and what the fronts of all operations share. */
#ifndef DAVIT_SRC_RUNTIME_OPERATION_H
#define DAVIT_SRC_RUNTIME_OPERATION_H

#include <string.h>

#include "src/base/check.h"
#include "src/runtime/lane.h"

/* ---- options ---- */

/* What options (NULL allowed) say about devices: DVT_WHERE(options), or DVT_DEVICES() of those that cannot say that
 * OpenMP has mapped the operands. */
typedef struct dvt_where {
  davit_status status; /* of the reserved words */
  const int *devices;
  int device_count;
  bool mapped; /* operands are the device's copies of what is mapped */
} dvt_where;
#define DVT_DEVICES(options)                                                                                 \
  ((options) ? (dvt_where){.status = DVT_CHECK_OPTIONS(options),                                             \
                           .devices = (options)->devices,                                                    \
                           .device_count = (options)->device_count}                                          \
             : (dvt_where){.status = DAVIT_SUCCESS})
#define DVT_WHERE(options)                                                                                   \
  ((options) ? (dvt_where){DVT_CHECK_OPTIONS(options), (options)->devices, (options)->device_count,          \
                           (options)->mapped}                                                                \
             : (dvt_where){.status = DAVIT_SUCCESS})

/* The devices, or the default ones; with `mapped` one, which is named or the calling thread's current one. `chosen` has
 * room for DVT_MAX_DEVICES. */
enum { DVT_MAX_DEVICES = 16 };
davit_status dvt_choose_devices(dvt_where where, int *chosen, int *count);

/* The lane of a queue, whose options name no devices. */
davit_status dvt_choose_lane(davit_queue *queue, dvt_where where, dvt_lane **lane);

/* *pointer, which is not NULL, becomes that of the device's copy of what is mapped. */
davit_status dvt_use_mapped(int device, const char *name, void **pointer);

/* ---- operands ---- */

void dvt_operation_measure(const dvt_operation *operation, const void *arguments, int device, int ranges,
                           dvt_extents *extents);
bool dvt_extents_are_empty(const dvt_extents *extents);

/* Of the operands that are accessed; a result does not count. */
size_t dvt_operation_bytes(const dvt_operation *operation, const dvt_extents *extents);

/* The pointer to an operand in the arguments, and another one in its place. */
static inline void *dvt_array_pointer(const dvt_array *array, const void *arguments) {
  void *pointer;
  memcpy(&pointer, (const char *)arguments + array->pointer, sizeof pointer);
  return pointer;
}

static inline void dvt_array_point(const dvt_array *array, void *arguments, void *pointer) {
  memcpy((char *)arguments + array->pointer, &pointer, sizeof pointer);
}

/* The operand that is a value; NULL: there is none. */
const dvt_array *dvt_operation_result(const dvt_operation *operation);

davit_status dvt_operation_use_mapped(const dvt_operation *operation, void *arguments, int device);

/* ---- commands ---- */

typedef enum dvt_path { DVT_ON_STREAM, DVT_ON_HOST, DVT_AS_REGION } dvt_path;

/* The form that the operation takes on a lane. DAVIT_BLAS=target in the environment prefers the region form,
 * except on DAVIT_HOST, whose number OpenMP takes for the default device. NULL: an operation that has all
 * forms everywhere. What a library computes that has to be prepared takes the region form where the process ends: the
 * destructors of that library may have run. */
dvt_path dvt_path_of(const dvt_lane *lane, const dvt_operation *operation);

/* The same on any lane of a device. */
dvt_path dvt_path_on(int device, const dvt_operation *operation);

/* Threads of a host form, in place of their number: the calling thread alone, whichever it is. For short work, which is
 * done sooner than others can be told: it waits for no turn among davit's teams (src/base/team.h) and makes no call of
 * OpenMP (offload/kernel/threads.h). On a lane it is one thread. */
enum { DVT_ALONE = -1 };

/* Enqueues the form that fits the lane. `threads` of the host form; 0: the tuned number, or all of the lane. A
 * result in pageable memory, which a stream does not reach, goes through pinned memory. */
davit_status dvt_operation_submit(dvt_lane *lane, const dvt_operation *operation, const void *arguments,
                                  int threads);

/* Does now, on the calling thread, what would hold up the lane's first command of the operation. */
davit_status dvt_operation_prepare(dvt_lane *lane, const dvt_operation *operation);

/* Runs the form that fits the site's lane, inside a BLOCKING command: for operations whose stream form waits. */
davit_status dvt_operation_run(const dvt_site *site, const dvt_operation *operation, const void *arguments);

/* Whether a plain form may compute on the calling thread, DVT_ALONE or with a team of so many threads that it leads (0:
 * all of the device's), instead of on a lane, whose way there and back is longer than short calls; and does that. The
 * form may ask for scratch memory once. */
bool dvt_operation_runs_here(int device, const dvt_operation *operation, int threads);
davit_status dvt_operation_run_here(int device, const dvt_operation *operation, const void *arguments,
                                    int threads);

/* Checks the arguments and enqueues the operation on the calling thread's lane of the queue. */
davit_status dvt_operation_enqueue(davit_queue *queue, const dvt_operation *operation, void *arguments,
                                   dvt_where where);

#endif
