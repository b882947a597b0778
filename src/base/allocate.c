/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/allocate.h"

#include <davit/status.h>
#include <stdlib.h>

#include "src/base/inject.h"

void *dvt_allocate(size_t count, size_t bytes) {
  void *pointer = dvt_injected(DVT_INJECT_HOST_MEMORY) ? NULL : calloc(count, bytes);
  if (!pointer)
    davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no host memory for %zu bytes", count * bytes);
  return pointer;
}
