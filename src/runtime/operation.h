/* SPDX-License-Identifier: Apache-2.0 */
/* Operations as commands: which form a lane takes, and what the fronts of all operations share. */
#ifndef DAVIT_SRC_RUNTIME_OPERATION_H
#define DAVIT_SRC_RUNTIME_OPERATION_H

#include "src/base/check.h"
#include "src/runtime/queue.h"

/* ---- options ---- */

/* The devices that options (NULL allowed) name, or the default ones; the options' reserved words are checked.
 * `chosen` has room for DVT_MAX_DEVICES. */
enum { DVT_MAX_DEVICES = 16 };
#define DVT_CHOOSE_DEVICES(options, chosen, count)                                                           \
  (DVT_CHECK_OPTIONS(options) != DAVIT_SUCCESS                                                               \
       ? DAVIT_INVALID_ARGUMENT                                                                              \
       : dvt_choose_devices((options) ? (options)->devices : NULL, (options) ? (options)->device_count : 0,  \
                            chosen, count))
davit_status dvt_choose_devices(const int *devices, int device_count, int *chosen, int *count);

/* The same where options->mapped may say that OpenMP has mapped the operands: on one device, which is named or the
 * calling thread's current one. */
#define DVT_MAPPED(options) ((options) && (options)->mapped)
#define DVT_CHOOSE_WITH_MAPPED(options, chosen, count)                                                       \
  (!DVT_MAPPED(options) ? DVT_CHOOSE_DEVICES(options, chosen, count)                                         \
   : DVT_CHECK_OPTIONS(options) != DAVIT_SUCCESS                                                             \
       ? DAVIT_INVALID_ARGUMENT                                                                              \
       : dvt_choose_mapped((options)->devices, (options)->device_count, chosen, count))
davit_status dvt_choose_mapped(const int *devices, int device_count, int *chosen, int *count);

/* An operand that may be mapped: its name, the address of the pointer to it, and whether the call leaves it alone. */
typedef struct dvt_mappable {
  const char *name;
  void *pointer;
  bool unused;
} dvt_mappable;

/* The pointers that follow become those of the device's copies; NULL stays. */
#define DVT_USE_MAPPED(device, ...)                                                                          \
  dvt_use_mapped(device, sizeof(dvt_mappable[]){__VA_ARGS__} / sizeof(dvt_mappable),                         \
                 (const dvt_mappable[]){__VA_ARGS__})
davit_status dvt_use_mapped(int device, size_t count, const dvt_mappable *operands);

/* Options of a queue form: reserved words are 0 and no devices are named. */
#define DVT_CHECK_QUEUE_OPTIONS(options)                                                                     \
  (DVT_CHECK_OPTIONS(options) != DAVIT_SUCCESS ? DAVIT_INVALID_ARGUMENT                                      \
   : (options) ? dvt_check_no_devices((options)->devices, (options)->device_count)                           \
               : DAVIT_SUCCESS)
davit_status dvt_check_no_devices(const int *devices, int device_count);

/* ---- commands ---- */

typedef enum dvt_path { DVT_ON_STREAM, DVT_ON_HOST, DVT_AS_REGION } dvt_path;

/* The form that the operation takes on a lane. DAVIT_BLAS=target in the environment prefers the region form,
 * except on DAVIT_HOST, whose number OpenMP takes for the default device. NULL: an operation that has all
 * forms everywhere. What a library computes that has to be prepared takes the region form where the process ends: the
 * destructors of that library may have run. */
dvt_path dvt_path_of(const dvt_lane *lane, const dvt_operation *operation);

/* The same on a device, with a stream at hand or without. */
dvt_path dvt_path_on(int device, bool stream, const dvt_operation *operation);

/* Threads of a host form, in place of their number: the calling thread alone, whichever it is. For short work, which is
 * done sooner than others can be told: it waits for no turn among davit's teams (src/base/team.h) and makes no call of
 * OpenMP (offload/kernel/threads.h). On a lane it is one thread. */
enum { DVT_ALONE = -1 };

/* Enqueues the form that fits the lane. `threads` of the host form; 0: the tuned number, or all of the lane.
 */
davit_status dvt_operation_submit(dvt_lane *lane, const dvt_operation *operation, const void *arguments,
                                  int threads);

/* The same for an operation that writes `bytes` bytes to *result, a member of `arguments`: a result in
 * pageable memory, which a stream does not reach, goes through pinned memory. */
davit_status dvt_operation_submit_result(dvt_lane *lane, const dvt_operation *operation,
                                         const void *arguments, int threads, void *const *result,
                                         size_t bytes);

/* Does now, on the calling thread, what would hold up the lane's first command of the operation. */
davit_status dvt_operation_prepare(dvt_lane *lane, const dvt_operation *operation);

/* Runs the form that fits the site's lane, inside a BLOCKING command: for operations whose stream form waits.
 * */
davit_status dvt_operation_run(const dvt_site *site, const dvt_operation *operation, const void *arguments);

/* Whether a plain form may compute on the calling thread, DVT_ALONE or with a team of so many threads that it leads (0:
 * all of the device's), instead of on a lane, whose way there and back is longer than short calls; and does that. The
 * form may ask for scratch memory once. */
bool dvt_operation_runs_here(int device, const dvt_operation *operation, int threads);
davit_status dvt_operation_run_here(int device, const dvt_operation *operation, const void *arguments,
                                    int threads);

/* Checks the arguments and enqueues the operation on the calling thread's lane of the queue. `mapped`: OpenMP has mapped
 * its operands. */
davit_status dvt_operation_enqueue(davit_queue *queue, const dvt_operation *operation, void *arguments,
                                   bool mapped);

#endif
