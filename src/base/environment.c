/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "src/base/environment.h"

#include <stdlib.h>

const char *dvt_environment(const char *name) {
  return secure_getenv(name);
}
