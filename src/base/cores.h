/* SPDX-License-Identifier: Apache-2.0 */
/* The cores of the machine. With _GNU_SOURCE, which cpu_set_t takes. */
#ifndef DAVIT_SRC_BASE_CORES_H
#define DAVIT_SRC_BASE_CORES_H

#include <sched.h>

/* Cores that have one of the processors, no more than the quotas of the process's control groups allow. The system's
 * files are below `root` ("" but in tests); a processor of which they say nothing counts as a core. */
int dvt_cores(const char *root, const cpu_set_t *processors);

#endif
