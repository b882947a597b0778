/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory the process may have. An allocation above that would fail, or end the process, when the
 * memory is written. */
#ifndef DAVIT_SRC_BASE_LIMIT_H
#define DAVIT_SRC_BASE_LIMIT_H

#include <davit/status.h>
#include <stddef.h>

/* DAVIT_OUT_OF_HOST_MEMORY where the machine, or the process's memory cgroup, has less than `bytes`. */
davit_status dvt_check_memory(size_t bytes);

/* Bytes; files are those below `root`, which is "" but in tests. */
size_t dvt_memory_limit(const char *root);

/* Of these, what nobody uses now: memory that is touched beyond it may end the process. `root` as above. */
size_t dvt_memory_available(const char *root);

/* For tests: what the machine has at most; 0: all of it. */
void dvt_memory_allow(size_t bytes);

#endif
