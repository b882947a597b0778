/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/inject.h"

#include <stdatomic.h>

static atomic_int remaining[DVT_INJECTIONS];

void dvt_inject(dvt_injection kind, int n) {
  atomic_store(&remaining[kind], n);
}

bool dvt_injected(dvt_injection kind) {
  const int left = atomic_load_explicit(&remaining[kind], memory_order_relaxed);
  if (left <= 0)
    return left == DVT_INJECT_ALWAYS;
  return atomic_fetch_sub(&remaining[kind], 1) == 1;
}
