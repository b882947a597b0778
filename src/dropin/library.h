/* SPDX-License-Identifier: Apache-2.0 */
/* libdavit, loaded by dlopen(). */
#ifndef DAVIT_SRC_DROPIN_LIBRARY_H
#define DAVIT_SRC_DROPIN_LIBRARY_H

#include <davit/davit.h>

#include "src/dropin/dropin.h"

/* The functions that are used; the headers give their types. */
/* clang-format off */
#define DVT_LIBRARY_REAL(DO, t)                                                                              \
  DO(davit_##t##gemm) DO(davit_##t##symm) DO(davit_##t##syrk) DO(davit_##t##syr2k)                           \
  DO(davit_##t##trmm) DO(davit_##t##trsm)
#define DVT_LIBRARY_COMPLEX(DO, t)                                                                           \
  DVT_LIBRARY_REAL(DO, t) DO(davit_##t##hemm) DO(davit_##t##herk) DO(davit_##t##her2k)
#define DVT_LIBRARY(DO)                                                                                      \
  DO(davit_device_count) DO(davit_device_defaults) DO(davit_device_describe) DO(davit_last_error)            \
  DO(davit_level3_figures)                                                                                   \
  DVT_LIBRARY_REAL(DO, s) DVT_LIBRARY_REAL(DO, d) DVT_LIBRARY_COMPLEX(DO, c) DVT_LIBRARY_COMPLEX(DO, z)
/* clang-format on */

typedef struct dvt_library_functions {
#define DVT_LIBRARY_MEMBER(name) __typeof__(name) *name;
  DVT_LIBRARY(DVT_LIBRARY_MEMBER)
#undef DVT_LIBRARY_MEMBER
} dvt_library_functions;

extern dvt_library_functions dvt_library;

/* NULL, or why not. To be called once. */
const char *dvt_library_load(void);

davit_status dvt_library_call(const dvt_call *call, const davit_level3_options *options);

#endif
