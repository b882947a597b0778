/* SPDX-License-Identifier: Apache-2.0 */
/* Versions: DAVIT_VERSION is that of the headers with which a program was compiled, davit_version() that of the library
 * with which it runs. */
#ifndef DAVIT_VERSION_H
#define DAVIT_VERSION_H

#include <davit/status.h>

#define DAVIT_VERSION_MAJOR 0
#define DAVIT_VERSION_MINOR 2
#define DAVIT_VERSION_PATCH 0
#define DAVIT_VERSION "0.2.0"

#ifdef __cplusplus
extern "C" {
#endif

/* "MAJOR.MINOR.PATCH" of the library. Never NULL. */
DAVIT_API const char *davit_version(void);

#ifdef __cplusplus
}
#endif
#endif
