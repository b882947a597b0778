/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that are loaded when they are first wanted, so that a machine may be without them. They are never unloaded,
 * as handles and threads of theirs may outlive everything else. */
#ifndef DAVIT_BASE_LIBRARY_H
#define DAVIT_BASE_LIBRARY_H

#include <stddef.h>

/* The first library that can be loaded, of names that end with NULL. NULL: none can, and `reason` says why the first
 * one cannot. */
void *dvt_library_open(const char *const *names, char *reason, size_t bytes);

/* Fills an array, or a struct of pointers to functions, with the addresses of that many names. Returns the first name
 * that the library does not have, or NULL. */
const char *dvt_library_find(void *library, const char *const *names, size_t count, void *entries);

#endif
