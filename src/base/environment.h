/* SPDX-License-Identifier: Apache-2.0 */
/* Environment variables of the library and of the tool; tests/outside/layers.py refuses getenv() elsewhere. */
#ifndef DAVIT_SRC_BASE_ENVIRONMENT_H
#define DAVIT_SRC_BASE_ENVIRONMENT_H

/* The variable's value. NULL if it is not set, and in a program that has more rights than its user (setuid):
 * its user chooses the environment, and could name files that only the program may read. */
const char *dvt_environment(const char *name);

#endif
