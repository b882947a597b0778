/* SPDX-License-Identifier: Apache-2.0 */
#include "src/dropin/library.h"

#include <dlfcn.h>

dvt_library_functions dvt_library;

const char *dvt_library_load(void) {
  void *library = dlopen(DVT_DROPIN_DAVIT, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return dlerror();
#define FIND(member, name)                                                                                   \
  dvt_library.member = (__typeof__(name) *)(uintptr_t)dlsym(library, #name);                                 \
  if (!dvt_library.member)                                                                                   \
    return "libdavit has no " #name;
#define FIND_NAME(name) FIND(name, name)
#define FIND_ROUTINE(t, name) FIND(t##name, davit_##t##name)
  DVT_LIBRARY(FIND_NAME)
  DVT_ALL_ROUTINES(FIND_ROUTINE)
  DVT_ALL_LAPACK(FIND_ROUTINE)
#undef FIND
#undef FIND_NAME
#undef FIND_ROUTINE
  return NULL;
}

#define RESULT davit_status
#define OPTIONS const davit_level3_options
#define NO_FORM DAVIT_UNSUPPORTED
#define CALL(t, name, ...) return dvt_library.t##name(__VA_ARGS__, options)
#define COMPLEX_FLOAT davit_complex_float
#define COMPLEX_DOUBLE davit_complex_double
#define TRANS(letter) letter
#define SIDE g->side
#define UPLO g->uplo
#define DIAG g->diag
#define OF_SQUARE
#define OTHER_TRANS
#define SCALAR(pointer) *(pointer)
#define MATRIX(x) x, g->ld##x
#include "src/dropin/call.inc"

davit_status dvt_library_call(const dvt_call *call, const davit_level3_options *options) {
  const dvt_arithmetic before = dvt_arithmetic_hold();
  const davit_status status = compute(call, options);
  dvt_arithmetic_release(&before);
  return status;
}
