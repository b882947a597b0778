/* SPDX-License-Identifier: Apache-2.0 */
/* The control groups of the process, of version 1 and 2, for limits that they set. */
#ifndef DAVIT_SRC_BASE_CGROUP_H
#define DAVIT_SRC_BASE_CGROUP_H

#include <stdbool.h>

/* The numbers that a group's folder limits something to, 0: none. */
typedef double dvt_cgroup_limit(const char *folder, bool v2);

/* The smallest limit of the process's group for a controller, in files below `root` ("" but in tests), and of
 * the groups that it is in; 0: none. A container may see its own group as the root. */
double dvt_cgroup_smallest(const char *root, const char *controller, dvt_cgroup_limit *limit);

/* Processors that the quotas of the process's groups allow, rounded up; 0: no quota. */
int dvt_cgroup_processors(const char *root);

/* The first `count` numbers of a folder's file; false if there are fewer, as where v2 says "max". */
bool dvt_cgroup_numbers(const char *folder, const char *name, int count, double *numbers);

#endif
