/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/limit.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST = 1024 /* characters of a group's path that is looked at */ };

static atomic_size_t allowed;

void dvt_memory_allow(size_t bytes) {
  atomic_store(&allowed, bytes);
}

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

/* The number in a file; SIZE_MAX if there is none: no limit is written as "max". */
static size_t number_in(const char *path) {
  size_t number = SIZE_MAX;
  FILE *file = fopen(path, "re");
  if (file && fscanf(file, "%zu", &number) != 1)
    number = SIZE_MAX;
  if (file)
    fclose(file);
  return number;
}

/* The minimum over a group and those above it. In a container the path may be that of the host, of which only
 * the top is visible. */
static size_t group_limit(const char *folder, char *group, const char *name) {
  size_t limit = SIZE_MAX;
  for (char *end = group + strlen(group); end; end = strrchr(group, '/')) {
    char path[LONGEST + 64];
    *end = 0;
    snprintf(path, sizeof path, "%s%s/%s", folder, group, name);
    limit = smaller(limit, number_in(path));
  }
  return limit;
}

/* Lines of /proc/self/cgroup are NUMBER:CONTROLLERS:PATH; version 2 has one without controllers. */
static size_t cgroup_limit(void) {
  char line[LONGEST];
  size_t limit = SIZE_MAX;
  FILE *groups = fopen("/proc/self/cgroup", "re");
  while (groups && fgets(line, sizeof line, groups)) {
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
      continue;
    *group++ = 0;
    group[strcspn(group, "\n")] = 0;
    if (!controllers[1])
      limit = smaller(limit, group_limit("/sys/fs/cgroup", group, "memory.max"));
    else if (strstr(controllers, "memory"))
      limit = smaller(limit, group_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
  }
  if (groups)
    fclose(groups);
  return limit;
}

davit_status dvt_check_memory(size_t bytes) {
  enum { ALWAYS = 1 << 24 }; /* bytes that are never refused, so that small allocations read no file */
  if (bytes <= ALWAYS)
    return DAVIT_SUCCESS;
  const size_t chosen = atomic_load(&allowed);
  const size_t machine = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGE_SIZE),
               limit = chosen ? chosen : smaller(machine, cgroup_limit());
  return bytes <= limit ? DAVIT_SUCCESS
                        : davit_fail(DAVIT_OUT_OF_HOST_MEMORY,
                                     "no host memory for %zu bytes: the process may have %zu", bytes, limit);
}
