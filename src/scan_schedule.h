/* SPDX-License-Identifier: Apache-2.0 */
/* In which order devices work on the parts of an array that is scanned. A pure function.
 *
 * A part can be scanned when what enters it is known. The part before says so when it has been scanned, in one pass
 * over its elements, or sooner, when it has been summed, which costs it a pass more. Where each device has one part,
 * all but the last are summed first. Where devices have many in turn, one scans its parts at once while the others sum
 * theirs ahead, until it is ahead of what is known, and sums. */
#ifndef DAVIT_SRC_SCAN_SCHEDULE_H
#define DAVIT_SRC_SCAN_SCHEDULE_H

#include <davit/status.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct dvt_scan_step {
  int part;
  bool sums; /* or scans */
} dvt_scan_step;

/* Part p has n[p] elements and lies on lane[p], one of `lanes`. steps: room for 2 count, in the order in which they
 * begin: what a step waits for comes before it. A lane scans its parts in order. */
davit_status dvt_scan_schedule(int count, const int64_t *n, const int *lane, int lanes, dvt_scan_step *steps,
                               int *used);

#endif
