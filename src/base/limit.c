/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/limit.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "src/base/cancel.h"
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
  DVT_UNCANCELLED;
  const size_t machine = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGE_SIZE);
  const double group = dvt_cgroup_smallest(root, "memory", group_limit);
  return group > 0 && group < (double)machine ? (size_t)group : machine;
}

static double group_rest(const char *folder, bool v2) {
  double limit, used;
  if (!dvt_cgroup_numbers(folder, v2 ? "memory.max" : "memory.limit_in_bytes", 1, &limit) ||
      !dvt_cgroup_numbers(folder, v2 ? "memory.current" : "memory.usage_in_bytes", 1, &used))
    return 0;
  return limit > used ? limit - used : 1;
}

/* Of the machine; 0: unknown. */
static double machine_rest(const char *root) {
  char line[128];
  double kib = 0;
  snprintf(line, sizeof line, "%s/proc/meminfo", root);
  FILE *file = fopen(line, "re");
  while (file && kib == 0 && fgets(line, sizeof line, file))
    if (sscanf(line, "MemAvailable: %lf kB", &kib) != 1)
      kib = 0;
  if (file)
    fclose(file);
  return 1024 * kib;
}

size_t dvt_memory_available(const char *root) {
  DVT_UNCANCELLED;
  const double machine = machine_rest(root), group = dvt_cgroup_smallest(root, "memory", group_rest);
  return (size_t)(group > 0 && group < machine ? group : machine);
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
