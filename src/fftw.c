/* SPDX-License-Identifier: Apache-2.0 */
#include "src/fftw.h"

#include <stdbool.h>

#include "src/base/fork.h"
#include "src/base/library.h"

pthread_mutex_t dvt_fftw_planner = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void hold_at_fork(void) {
  static const dvt_fork_part part = {.lock = &dvt_fftw_planner};
  dvt_on_fork(DVT_FORK_PLANNER, &part);
}

davit_status dvt_fftw_load(const dvt_fftw **fftw) {
#define NAME(name) "fftwf_" #name,
  static const char *const names[] = {DVT_FFTW_FUNCTIONS(NAME)};
#undef NAME
  static const char *const libraries[] = {"libfftw3f.so.3", DAVIT_FFTW_LIBRARY, NULL};
  enum { COUNT = sizeof names / sizeof *names };
  static dvt_fftw functions; /* all members are pointers to functions */
  _Static_assert(sizeof functions == COUNT * sizeof(void *), "one entry for each function");
  static bool complete;
  char reason[160];
  void *library = complete ? NULL : dvt_library_open(libraries, reason, sizeof reason);
  if (!complete && !library)
    return davit_fail(DAVIT_UNSUPPORTED, "features need FFTW in single precision: %s", reason);
  const char *lacks = complete ? NULL : dvt_library_find(library, names, COUNT, &functions);
  if (lacks)
    return davit_fail(DAVIT_UNSUPPORTED, "the FFTW found has no %s", lacks);
  complete = true;
  *fftw = &functions;
  return DAVIT_SUCCESS;
}
