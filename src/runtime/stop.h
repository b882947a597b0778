/* SPDX-License-Identifier: Apache-2.0 */
/* What is done each time the library has stopped: davit_finalize() (backend.c) calls what other files have set. */
#ifndef DAVIT_SRC_RUNTIME_STOP_H
#define DAVIT_SRC_RUNTIME_STOP_H

/* Functions are called in the order of registration. At most DVT_MAX_STOPS, each registered once, by a constructor. */
enum { DVT_MAX_STOPS = 4 };
void dvt_on_stop(void (*function)(void));

/* Calls them. */
void dvt_stopped(void);

#endif
