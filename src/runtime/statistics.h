/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of what the library does, for davit_statistics_read(). Counting costs a few nanoseconds: a thread
 * adds to one of a few copies, so that threads do not meet. */
#ifndef DAVIT_SRC_RUNTIME_STATISTICS_H
#define DAVIT_SRC_RUNTIME_STATISTICS_H

#include <davit/trace.h>

typedef enum dvt_count {
  DVT_COUNT_BACKEND_CALLS,
  DVT_COUNT_UNRECORDED_WAITS,
  DVT_COUNT_WAITS,
  DVT_COUNT_WAIT_NS,
  DVT_COUNTS
} dvt_count;

void dvt_count_add(dvt_count what, int64_t by);

#endif
