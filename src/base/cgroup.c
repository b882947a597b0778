/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/cgroup.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 1024 /* characters of a folder's path */ };

bool dvt_cgroup_numbers(const char *folder, const char *name, int count, double *numbers) {
  char path[LONGEST];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "re");
  bool all = file != NULL;
  for (int i = 0; all && i < count; i++)
    all = fscanf(file, "%lf", &numbers[i]) == 1;
  if (file)
    fclose(file);
  return all;
}

static double smaller(double a, double b) {
  return b > 0 && (a <= 0 || b < a) ? b : a;
}

/* `folder` is that of the group; its first `mount` characters are the hierarchy's. */
static double smallest_upwards(char *folder, size_t mount, bool v2, dvt_cgroup_limit *limit) {
  double smallest = 0;
  for (size_t length = strlen(folder); length >= mount;) {
    folder[length] = '\0';
    smallest = smaller(smallest, limit(folder, v2));
    do
      length--;
    while (length >= mount && folder[length] != '/');
  }
  return smallest;
}

/* A line is NUMBER:CONTROLLERS:GROUP; version 2 has the number 0 and no controllers. */
double dvt_cgroup_smallest(const char *root, const char *controller, dvt_cgroup_limit *limit) {
  char line[LONGEST], folder[2 * LONGEST];
  double smallest = 0;
  snprintf(folder, sizeof folder, "%s/proc/self/cgroup", root);
  FILE *file = fopen(folder, "re");
  while (file && fgets(line, sizeof line, file)) {
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
      continue;
    *group++ = '\0';
    *controllers++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    const bool v2 = !strcmp(line, "0") && !*controllers;
    if (!v2 && !strstr(controllers, controller))
      continue;
    const int mount =
        snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s%s", root, v2 ? "" : "/", controllers);
    snprintf(folder + mount, sizeof folder - (size_t)mount, "%s", group);
    smallest = smaller(smallest, smallest_upwards(folder, (size_t)mount, v2, limit));
  }
  if (file)
    fclose(file);
  return smallest;
}

static double quota_of(const char *folder, bool v2) {
  double quota[2];
  const bool any = v2 ? dvt_cgroup_numbers(folder, "cpu.max", 2, quota)
                      : dvt_cgroup_numbers(folder, "cpu.cfs_quota_us", 1, quota) &&
                            dvt_cgroup_numbers(folder, "cpu.cfs_period_us", 1, quota + 1);
  return any && quota[0] > 0 && quota[1] > 0 ? quota[0] / quota[1] : 0;
}

int dvt_cgroup_processors(const char *root) {
  const double quota = dvt_cgroup_smallest(root, "cpu", quota_of);
  return quota < INT_MAX ? (int)quota + ((int)quota < quota) : 0;
}
