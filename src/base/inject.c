/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/inject.h"

#include <stdatomic.h>

static atomic_int remaining[DVT_INJECTIONS];

int dvt_inject(dvt_injection kind, int n) {
  return atomic_exchange(&remaining[kind], n);
}

/* Counts down to 0 and no further, also if several threads count. */
bool dvt_injected(dvt_injection kind) {
  int left = atomic_load_explicit(&remaining[kind], memory_order_relaxed);
  while (left > 0 && !atomic_compare_exchange_weak(&remaining[kind], &left, left - 1)) {
  }
  return left == 1 || left == DVT_INJECT_ALWAYS;
}
