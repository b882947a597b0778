/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions and scans of one piece, as commands on a lane, for any monoid.
 *
 * The built-in monoids are enqueued on the lane's stream where it has one. Everything else runs on a host
 * thread: on the CPU with its threads where the device shares the host's memory, as a target region
 * elsewhere. */
#ifndef DAVIT_SRC_MONOID_H
#define DAVIT_SRC_MONOID_H

#include <davit/monoid.h>

#include "src/base/check.h"
#include "src/runtime/operation.h"
#include "src/runtime/tuning.h"

/* `values` = 0: `result`, anywhere, gets the reduction. `values` = 1: `result`, host memory that devices
 * reach, gets the values of the tiles, dvt_monoid_values() of them; 2: those of tiles of tiles. `threads`:
 * what a CPU may use; 0: all of the lane. x is reachable, n > 0. */
typedef struct dvt_reduce {
  const davit_monoid *monoid;
  int64_t n;
  const void *x;
  int64_t values;
  void *result;
  int64_t teams, rows; /* of a GPU's kernel, as dvt_reduce_submit() finds them tuned */
} dvt_reduce;
davit_status dvt_reduce_submit(dvt_lane *lane, const dvt_reduce *reduce, int threads);

/* Reduces at once: an array of the host's on the calling thread and its team, others on a lane of the device. */
davit_status dvt_reduce_now(int device, const dvt_reduce *reduce, int threads);

int64_t dvt_monoid_values(const davit_monoid *monoid, int64_t n, int64_t values);

/* Reduces values on the calling thread's host. */
davit_status dvt_reduce_values(const davit_monoid *monoid, int64_t count, const void *values, void *result);

/* carry_in (NULL: nothing is before x) is read, carry_out (NULL: not wanted) written when the command runs:
 * both in host memory that devices reach. n > 0. */
typedef struct dvt_scan {
  const davit_monoid *monoid;
  davit_scan_kind kind;
  int64_t n;
  const void *x;
  const uint8_t *flags; /* NULL: not segmented */
  void *y;
  const void *carry_in;
  void *carry_out;
  int64_t threads, rows; /* of a GPU's kernel, as dvt_scan_submit() finds them tuned */
} dvt_scan;
davit_status dvt_scan_submit(dvt_lane *lane, const dvt_scan *scan, int threads);

/* Scans at once, as dvt_reduce_now() reduces. */
davit_status dvt_scan_now(int device, const dvt_scan *scan, int threads);

/* y_i = carry_in ∘ y_i for n elements. */
davit_status dvt_prepend_submit(dvt_lane *lane, const dvt_scan *scan);

/* The one lane that can do all of an operation where the arrays lie: their device, or, for host memory where
 * all chosen devices share it, the first with the threads of all. False if the arrays have to travel. */
bool dvt_monoid_home(const void *const arrays[], int count, const int *chosen, int chosen_count, bool any,
                     int *device, int *threads);

/* Elements of the pieces in which an array travels: whole tiles of `tile` elements, at least one, in the
 * bytes that are tuned as `which` says. */
int64_t dvt_monoid_piece(const davit_monoid *monoid, int64_t tile, int device, dvt_tunable which);

/* For tests: arrays are streamed even where they need not travel. */
void dvt_monoid_travel(bool always);

#endif
