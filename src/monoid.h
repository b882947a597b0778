/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions and scans, for any monoid, as rows of operations.
 *
 * The built-in monoids are enqueued on the lane's stream where it has one. Everything else runs on a host
 * thread: on the CPU with its threads where the device shares the host's memory, as a target region
 * elsewhere. */
#ifndef DAVIT_SRC_MONOID_H
#define DAVIT_SRC_MONOID_H

#include <davit/monoid.h>

#include "offload/monoid.h"
#include "src/runtime/split.h"
#include "src/runtime/tuning.h"

/* What davit_monoid's `kernels` points to, of a built-in one: its place in the tables of offload/monoid.h. */
typedef struct dvt_monoid_key {
  davit_operator op;
  davit_type type;
} dvt_monoid_key;

/* Waking a second thread takes longer than one thread needs for so many bytes of an array. What a user's operator costs
 * is not known. */
enum { DVT_MONOID_SHORT_BYTES = 1 << 19 };

/* Elements of the pieces in which an array travels: whole tiles of `tile` elements, at least one, in the bytes that
 * are tuned as `which` says. */
int64_t dvt_monoid_piece(const davit_monoid *monoid, int64_t tile, int device, dvt_tunable which);

/* Whether the monoid's regions were compiled as they must be. The built-in ones were. */
davit_status dvt_monoid_check_works(const dvt_site *site, const davit_monoid *monoid);

/* x begins with a group (DAVIT_MONOID_GROUP_TILES). carry_in (NULL: nothing is before x) enters it; carry_out (NULL:
 * not wanted) gets what enters the first group that is not whole. They are read and written when the command runs; both
 * lie in host memory that devices reach. `groups`: y, in such memory, too, gets the sums of whole groups, and nothing
 * else is written. n > 0. */
typedef struct dvt_scan {
  const davit_monoid *monoid;
  davit_scan_kind kind;
  int64_t n;
  const void *x;
  const uint8_t *flags; /* NULL: not segmented */
  void *y;
  const void *carry_in;
  void *carry_out;
  bool groups;
} dvt_scan;
int64_t dvt_monoid_group(const davit_monoid *monoid); /* elements */
const dvt_operation *dvt_scan_operation(const davit_monoid *monoid);

#endif
