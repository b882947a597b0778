/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into the tool, it makes calls of the C library fail that DAVIT_SHIM names, in a machine where
 * they succeed:
 *   create   files with temporary names in /tmp       fill   reserving room for a file
 *   execute  mapping a file executable                unnamed   files without a name (O_TMPFILE) */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static bool fails(const char *name, int error) {
  const char *named = getenv("DAVIT_SHIM");
  if (!named || strcmp(named, name) != 0)
    return false;
  errno = error;
  return true;
}

int mkstemp(char *name) {
  return fails("create", EROFS) ? -1 : ((int (*)(char *))dlsym(RTLD_NEXT, "mkstemp"))(name);
}

int mkostemp(char *name, int flags) {
  return fails("create", EROFS) ? -1 : ((int (*)(char *, int))dlsym(RTLD_NEXT, "mkostemp"))(name, flags);
}

int posix_fallocate(int file, off_t offset, off_t length) {
  if (fails("fill", ENOSPC))
    return ENOSPC;
  return ((int (*)(int, off_t, off_t))dlsym(RTLD_NEXT, "posix_fallocate"))(file, offset, length);
}

void *mmap(void *address, size_t length, int protection, int flags, int file, off_t offset) {
  typedef void *function(void *, size_t, int, int, int, off_t);
  if ((protection & PROT_EXEC) && file >= 0 && fails("execute", EPERM))
    return MAP_FAILED;
  return ((function *)dlsym(RTLD_NEXT, "mmap"))(address, length, protection, flags, file, offset);
}

int openat(int folder, const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const int mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, int) : 0;
  va_end(arguments);
  if ((flags & O_TMPFILE) == O_TMPFILE && fails("unnamed", EOPNOTSUPP))
    return -1;
  return ((int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat"))(folder, path, flags, mode);
}
