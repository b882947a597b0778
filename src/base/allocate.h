/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory of the library and of the tool, for free(). Every allocation comes through here, so that
 * failure injection reaches it; tests/outside/layers.py refuses malloc() and its relatives elsewhere. NULL
 * sets the thread's sentence. */
#ifndef DAVIT_SRC_BASE_ALLOCATE_H
#define DAVIT_SRC_BASE_ALLOCATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* count * bytes bytes, zeroed. */
void *dvt_allocate(size_t count, size_t bytes);

/* Not zeroed: for what is allocated often, or large and written in full. */
void *dvt_allocate_raw(size_t bytes);

/* Not zeroed, at a multiple of DVT_ALIGNMENT. */
void *dvt_allocate_aligned(size_t bytes);

/* Zeroed, for dvt_unmap(): from a multiple of DVT_LARGE_PAGE on, in pages of so many bytes where the system has them,
 * which are touched in a third of the time. A child after fork() does not have it. No bytes are no memory, and no
 * failure. */
enum { DVT_LARGE_PAGE = 2 << 20 };
void *dvt_map(size_t bytes);
void dvt_unmap(void *memory, size_t bytes);

/* Makes an array larger, NULL included; if that fails, the array stays as it is. */
void *dvt_reallocate(void *array, size_t count, size_t bytes);

/* Gives an array of *room elements of so many bytes, to whose pointer `array` points, room for `wanted` at least: for
 * twice as many as before, or `first`, if that is more. False when memory is short; the array stays as it is then. */
bool dvt_grow(void *array, int64_t *room, int64_t wanted, int64_t first, size_t bytes);

/* A text of its own. */
char *dvt_allocate_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
