/* SPDX-License-Identifier: Apache-2.0 */
#include "src/base/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

void *dvt_library_open(const char *const *names, char *reason, size_t bytes) {
  for (size_t i = 0; names[i]; i++) {
    void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library)
      return library;
    const char *text = dlerror();
    if (i == 0)
      snprintf(reason, bytes, "%s", text ? text : names[i]);
  }
  return NULL;
}

const char *dvt_library_find(void *library, const char *const *names, size_t count, void *entries) {
  const char *missing = NULL;
  for (size_t i = 0; i < count; i++) {
    void *entry = dlsym(library, names[i]); /* POSIX's way round object and function pointers */
    memcpy((char *)entries + i * sizeof entry, &entry, sizeof entry);
    missing = missing || entry ? missing : names[i];
  }
  return missing;
}
