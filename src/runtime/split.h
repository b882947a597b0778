/* SPDX-License-Identifier: Apache-2.0 */
/* The plain forms of operations: where one runs, and how it is split over devices.
 *
 * An operation runs as a whole where all its operands lie. Where some have to travel it is split: devices get ranges
 * of its results, in chunks that go to a few lanes of each, so that one chunk is computed while the next is loaded and
 * the last is stored. A lane has a buffer for each operand that its device does not reach: what a buffer holds already
 * is not loaded again, and what was written is stored when the buffer is wanted for something else. The commands of a
 * lane run in order, so chunks need no events, except where each follows the one before. */
#ifndef DAVIT_SRC_RUNTIME_SPLIT_H
#define DAVIT_SRC_RUNTIME_SPLIT_H

#include "src/runtime/operation.h"

/* Checks the arguments and computes, on the devices of the options. */
davit_status dvt_operation_call(const dvt_operation *operation, void *arguments, dvt_where where);

/* Computes as a whole on the device, which reaches all operands but a result: on the calling thread, with so many
 * threads, or on a lane. */
davit_status dvt_operation_now(int device, const dvt_operation *operation, const void *arguments,
                               int threads);

/* The one device that reaches all arrays: theirs, or, for memory of the host where all devices share it, the first
 * with the threads of all. False: the arrays have to travel, or host devices that were `named` share the work. */
bool dvt_home_of(const void *const arrays[], int count, const int *devices, int device_count, bool named,
                 int *device, int *threads);

/* The part of n elements that `index` of `count` gets. */
dvt_range dvt_range_of(int64_t n, int index, int count);

/* For tests: operations are split even where no operand has to travel. */
void dvt_split_always(bool always);

#endif
