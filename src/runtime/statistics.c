/* SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/statistics.h"

#include <stdalign.h>
#include <stdatomic.h>

#include "src/base/check.h"

enum { COPIES = 16 };

static struct copy {
  alignas(64) atomic_llong count[DVT_COUNTS];
} copies[COPIES];

void dvt_count_add(dvt_count what, int64_t by) {
  static atomic_uint threads;
  static _Thread_local unsigned mine;
  if (mine == 0)
    mine = 1 + atomic_fetch_add(&threads, 1) % COPIES;
  atomic_fetch_add_explicit(&copies[mine - 1].count[what], by, memory_order_relaxed);
}

static int64_t sum(dvt_count what) {
  int64_t total = 0;
  for (int i = 0; i < COPIES; i++)
    total += atomic_load_explicit(&copies[i].count[what], memory_order_relaxed);
  return total;
}

davit_status davit_statistics_read(davit_statistics *statistics) {
  DVT_TRY(dvt_check_pointer("statistics", statistics));
  *statistics = (davit_statistics){.waits = sum(DVT_COUNT_WAITS),
                                   .wait_seconds = 1e-9 * (double)sum(DVT_COUNT_WAIT_NS),
                                   .unrecorded_waits = sum(DVT_COUNT_UNRECORDED_WAITS),
                                   .backend_calls = sum(DVT_COUNT_BACKEND_CALLS)};
  return DAVIT_SUCCESS;
}
