/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/allocate.h"

#include <davit/status.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/arithmetic.h"
#include "src/base/inject.h"
#include "src/base/limit.h"

static size_t product(size_t count, size_t bytes) {
  size_t total;
  return __builtin_mul_overflow(count, bytes, &total) ? SIZE_MAX : total;
}

static void *checked(void *pointer, size_t bytes) {
  if (!pointer)
    davit_fail(DAVIT_OUT_OF_HOST_MEMORY, "no host memory for %zu bytes", bytes);
  return pointer;
}

/* Sets the thread's sentence. */
static bool refused(size_t bytes) {
  if (dvt_injected(DVT_INJECT_HOST_MEMORY))
    checked(NULL, bytes);
  else if (dvt_check_memory(bytes) == DAVIT_SUCCESS)
    return false;
  errno = ENOMEM;
  return true;
}

void *dvt_allocate(size_t count, size_t bytes) {
  const size_t total = product(count, bytes);
  return refused(total) ? NULL : checked(calloc(count, bytes), total);
}

void *dvt_allocate_raw(size_t bytes) {
  return refused(bytes) ? NULL : checked(malloc(bytes), bytes);
}

void *dvt_allocate_aligned(size_t bytes) {
  return refused(bytes) ? NULL : checked(aligned_alloc(DVT_ALIGNMENT, dvt_aligned_up(bytes)), bytes);
}

static size_t rounded_up(size_t bytes, size_t page) {
  return (bytes + page - 1) / page * page;
}

static size_t mapped_bytes(size_t bytes) {
  return rounded_up(bytes, (size_t)sysconf(_SC_PAGESIZE));
}

void *dvt_map(size_t bytes) {
  if (bytes == 0 || refused(bytes))
    return NULL;
  if (bytes > PTRDIFF_MAX - 2 * (size_t)DVT_LARGE_PAGE) {
    errno = ENOMEM;
    return checked(NULL, bytes);
  }
  const size_t length = mapped_bytes(bytes), all = length + DVT_LARGE_PAGE;
  char *memory = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return checked(NULL, bytes);
  const size_t before = rounded_up((uintptr_t)memory, DVT_LARGE_PAGE) - (uintptr_t)memory;
  if (before > 0)
    munmap(memory, before);
  munmap(memory + before + length, DVT_LARGE_PAGE - before);
  (void)madvise(memory + before, length, MADV_HUGEPAGE); /* else short pages */
  (void)madvise(memory + before, length, MADV_DONTFORK);
  return memory + before;
}

void dvt_unmap(void *memory, size_t bytes) {
  if (memory)
    munmap(memory, mapped_bytes(bytes));
}

void *dvt_reallocate(void *array, size_t count, size_t bytes) {
  const size_t total = product(count, bytes);
  return refused(total) ? NULL : checked(realloc(array, total), total);
}

bool dvt_grow(void *array, int64_t *room, int64_t wanted, int64_t first, size_t bytes) {
  const int64_t larger = dvt_at_least(dvt_at_least(wanted, 2 * *room), first);
  void *at;
  if (wanted <= *room)
    return true;
  memcpy(&at, array, sizeof at);
  at = dvt_reallocate(at, (size_t)larger, bytes);
  if (!at)
    return false;
  memcpy(array, &at, sizeof at);
  *room = larger;
  return true;
}

char *dvt_allocate_text(const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const size_t bytes = (size_t)vsnprintf(NULL, 0, format, arguments) + 1;
  char *text = dvt_allocate_raw(bytes);
  if (text)
    vsnprintf(text, bytes, format, again);
  va_end(again);
  va_end(arguments);
  return text;
}
