/* SPDX-License-Identifier: Apache-2.0 */
/* libdavit, loaded by dlopen(). */
#ifndef DAVIT_SRC_DROPIN_LIBRARY_H
#define DAVIT_SRC_DROPIN_LIBRARY_H

#include <davit/davit.h>

#include "src/dropin/dropin.h"

/* The functions that are used; the headers give their types. */
#define DVT_LIBRARY(DO)                                                                                      \
  DO(davit_device_count) DO(davit_device_defaults) DO(davit_device_describe) DO(davit_last_error)

typedef struct dvt_library_functions {
#define DVT_NAME(name) __typeof__(name) *name;
#define DVT_ROUTINE(t, name) __typeof__(davit_##t##name) *t##name;
  DVT_LIBRARY(DVT_NAME)
  DVT_ALL_ROUTINES(DVT_ROUTINE)
  DVT_ALL_LAPACK(DVT_ROUTINE)
#undef DVT_NAME
#undef DVT_ROUTINE
} dvt_library_functions;

extern dvt_library_functions dvt_library;

/* NULL, or why not. To be called once. */
const char *dvt_library_load(void);

/* The floating-point environment stays as it is: what davit plans with raises flags that say nothing of the call. */
davit_status dvt_library_call(const dvt_call *call, const davit_level3_options *options);

#endif
