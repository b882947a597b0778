/* SPDX-License-Identifier: Apache-2.0 */
#include "src/fftw.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>

/* A handle, or NULL with the reason why the first name could not be loaded. */
static void *open_library(char *reason, size_t bytes) {
  static const char *const names[] = {"libfftw3f.so.3", DAVIT_FFTW_LIBRARY};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library)
      return library;
    const char *text = dlerror();
    if (i == 0)
      snprintf(reason, bytes, "%s", text ? text : names[i]);
  }
  return NULL;
}

davit_status dvt_fftw_load(const dvt_fftw **fftw) {
#define NAME(name) "fftwf_" #name,
  static const char *const names[] = {DVT_FFTW_FUNCTIONS(NAME)};
#undef NAME
  enum { COUNT = sizeof names / sizeof *names };
  static union { /* all members of dvt_fftw are pointers to functions */
    void *entries[COUNT];
    dvt_fftw functions;
  } loaded;
  _Static_assert(sizeof loaded.entries == sizeof loaded.functions, "one entry for each function");
  static bool complete;
  char reason[160];
  void *library = complete ? NULL : open_library(reason, sizeof reason);
  if (!complete && !library)
    return davit_fail(DAVIT_UNSUPPORTED, "features need FFTW in single precision: %s", reason);
  for (int i = 0; i < COUNT && !complete; i++) {
    loaded.entries[i] = dlsym(library, names[i]);
    if (!loaded.entries[i])
      return davit_fail(DAVIT_UNSUPPORTED, "the FFTW found has no %s", names[i]);
  }
  complete = true;
  *fftw = &loaded.functions;
  return DAVIT_SUCCESS;
}
