/* SPDX-License-Identifier: Apache-2.0 */
/* The back end of one host thread for each lane, and what any thread may do of it. */
#ifndef DAVIT_SRC_RUNTIME_BACKEND_THREADS_H
#define DAVIT_SRC_RUNTIME_BACKEND_THREADS_H

#include "src/runtime/backend.h"

extern dvt_backend dvt_backend_threads;

/* Runs a command to its end on the calling thread, when everything before it on its lane is over. */
void dvt_command_run(dvt_command *command);

#endif
