/* SPDX-License-Identifier: Apache-2.0 */
/* Several processes that compute parts of one product, and choose as one process would: they meet, and each gets the
 * maxima of what all need. All of them meet equally often, whatever happens to one: a process that has ended its part,
 * or has none, goes on meeting until nobody is at work. */
#ifndef DAVIT_SRC_EXACT_PROCESSES_H
#define DAVIT_SRC_EXACT_PROCESSES_H

#include <davit/level3.h>

#include "ref/exact.h"

/* How a process has ended its part; of several the largest counts. */
typedef enum dvt_exact_end { DVT_EXACT_DONE, DVT_EXACT_NATIVE, DVT_EXACT_FAILED } dvt_exact_end;

/* Of a process at work. False: another one is not, and has to be followed. NULL: there is one process. */
bool dvt_exact_share(const davit_level3_processes *processes, dvt_exact_need *need);

/* The last meeting of a process, which may be many: how all have ended. */
dvt_exact_end dvt_exact_leave(const davit_level3_processes *processes, dvt_exact_end end);

#endif
