/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/limit.h"

#include <stdatomic.h>
#include <unistd.h>

#include "src/base/cgroup.h"

static atomic_size_t allowed;

void dvt_memory_allow(size_t bytes) {
  atomic_store(&allowed, bytes);
}

static double group_limit(const char *folder, bool v2) {
  double limit;
  return dvt_cgroup_numbers(folder, v2 ? "memory.max" : "memory.limit_in_bytes", 1, &limit) ? limit : 0;
}

size_t dvt_memory_limit(const char *root) {
  const size_t machine = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGE_SIZE);
  const double group = dvt_cgroup_smallest(root, "memory", group_limit);
  return group > 0 && group < (double)machine ? (size_t)group : machine;
}

davit_status dvt_check_memory(size_t bytes) {
  enum { ALWAYS = 1 << 24 }; /* bytes that are never refused, so that small allocations read no file */
  if (bytes <= ALWAYS)
    return DAVIT_SUCCESS;
  const size_t chosen = atomic_load(&allowed), limit = chosen ? chosen : dvt_memory_limit("");
  return bytes <= limit ? DAVIT_SUCCESS
                        : davit_fail(DAVIT_OUT_OF_HOST_MEMORY,
                                     "no host memory for %zu bytes: the process may have %zu", bytes, limit);
}
