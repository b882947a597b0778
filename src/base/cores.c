/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "src/base/cores.h"

#include <stdio.h>

#include "src/base/cgroup.h"

/* The processors of a core have one list, which begins with the same of them. */
int dvt_cores(const char *root, const cpu_set_t *processors) {
  cpu_set_t first_ones;
  CPU_ZERO(&first_ones);
  for (size_t i = 0; i < CPU_SETSIZE; i++) {
    char folder[512];
    double first;
    if (!CPU_ISSET(i, processors))
      continue;
    snprintf(folder, sizeof folder, "%s/sys/devices/system/cpu/cpu%zu/topology", root, i);
    const bool known = dvt_cgroup_numbers(folder, "thread_siblings_list", 1, &first) && first >= 0;
    CPU_SET(known ? (size_t)first : i, &first_ones);
  }
  const int cores = CPU_COUNT(&first_ones), quota = dvt_cgroup_processors(root);
  return quota > 0 && quota < cores ? quota : cores;
}
