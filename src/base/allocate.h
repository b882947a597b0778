/* SPDX-License-Identifier: Apache-2.0 */
/* The library's own host memory: malloc and calloc under failure injection, with the sentence set. */
#ifndef DAVIT_SRC_BASE_ALLOCATE_H
#define DAVIT_SRC_BASE_ALLOCATE_H

#include <stddef.h>

/* Zeroed memory for free(); NULL sets the thread's sentence. */
void *dvt_allocate(size_t count, size_t bytes);

#endif
